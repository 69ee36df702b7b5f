"""Judging: moments of a difference in AP, and one step of the engine.

    python bench/judge.py [--documents 2000] [--systems 10] [--topics 50] [--depth 1000] [--steps 200]

First, expectation and variance of a difference for one topic, against the same by matrices of all pairs of documents
and, at a few hundred documents, by the triple sum that the paper on robust test collections prints (multiplied up by
the cube of the size). Then, for each strategy, the time from one judgment to the next proposal with confidences of all
pairs, with and without the fit that comes with every tenth judgment.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from timing import show, show_header

from fathoms.data.qrels import read_qrels
from fathoms.data.runs import read_runs
from fathoms.data.simulate import simulate
from fathoms.estimate.distribution import Moments
from fathoms.evidence.candidates import Candidates, candidates
from fathoms.judging.engine import EVERY, Engine
from fathoms.judging.select import STRATEGIES

Floats = NDArray[np.float64]
SMALL = 300  # documents for the triple sum


def seconds(work: Callable[[], object], least: float = 1.0) -> float:
    """The median of as many runs as take that long, three at least."""
    times: list[float] = []
    while len(times) < 3 or sum(times) < least:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def topic_of(documents: int, seed: int = 0) -> tuple[Candidates, Floats, Floats]:
    """Two rankings of the same documents, their inverse ranks [system, document], and probabilities."""
    rng = np.random.default_rng(seed)
    orders = np.stack([rng.permutation(documents) for _ in range(2)]).astype(np.int32)
    names = np.array([f"d{doc:08}" for doc in range(documents)], dtype=bytes)
    documents_of_topic = Candidates(["a", "b"], ["1"], np.zeros(documents, dtype=np.int32), names, orders[:, None, :])
    return documents_of_topic, 1.0 / (1 + np.argsort(orders, axis=1)), rng.uniform(0.01, 0.99, documents)


def by_pairs(inverse: Floats, p: Floats) -> tuple[float, float]:
    """E and Var of S_a - S_b over matrices of all pairs (Hoeffding's decomposition)."""
    c = np.minimum(inverse[0][:, None], inverse[0]) - np.minimum(inverse[1][:, None], inverse[1])
    own = np.diag(c).copy()
    np.fill_diagonal(c, 0.0)
    v = p * (1 - p)
    cp = c @ p
    return float(own @ p + p @ cp / 2), float(v @ (own + cp) ** 2 + v @ c**2 @ v / 2)


def by_triples(inverse: Floats, p: Floats) -> float:
    """Var of S_a - S_b by the four printed sums, the last a sum over triples."""
    c = np.minimum(inverse[0][:, None], inverse[0]) - np.minimum(inverse[1][:, None], inverse[1])
    own = np.diag(c).copy()
    np.fill_diagonal(c, 0.0)
    q, pp = 1 - p, np.outer(p, p)
    total = float((own**2 * p * q).sum() + (c**2 * pp * (1 - pp)).sum() / 2 + 2 * (own * p * q) @ c @ p)
    for i in range(len(p)):
        both = np.outer(c[i] * p, c[i] * p)
        total += float(p[i] * q[i] * (both.sum() - np.trace(both)))  # 2 over k > j is all j != k
    return total


def moments(documents: int) -> None:
    documents_of_topic, inverse, p = topic_of(documents)
    block = documents_of_topic.block()
    start = time.perf_counter()
    kept = Moments(block, p[None])
    first = time.perf_counter() - start
    again = seconds(lambda: kept.set(p[None]))
    matrices = seconds(lambda: by_pairs(inverse, p))
    expectation, variance = by_pairs(inverse, p)
    S = (kept.first + kept.second)[0]
    off = abs((S[0, 0] + S[1, 1] - 2 * S[0, 1]) / variance - 1), abs((kept.S[0, 0] - kept.S[0, 1]) / expectation - 1)
    _, few, chance = topic_of(SMALL)
    triples = seconds(lambda: by_triples(few, chance)) * (documents / SMALL) ** 3
    apart = abs(by_triples(few, chance) / by_pairs(few, chance)[1] - 1)
    case = f"moments, {documents:,} documents"
    show_header()
    show(case, "fathoms", first, first)
    show(case, "fathoms, again", again, first)
    show(case, "all pairs", matrices, first)
    show(case, "all triples", triples, first)
    print(f"relative difference from all pairs {max(off):.0e}; of triples from pairs {apart:.0e}")
    column = int(np.argmax(kept.v[0]))
    before = p[None].copy()

    def judge() -> None:
        kept.p[0, column], kept.v[0, column] = before[0, column], before[0, column] * (1 - before[0, column])
        kept.judge(0, column, True)

    print(f"one judgment takes {1e3 * seconds(judge):.2f} ms")


def steps(documents: Candidates, relevant: NDArray[np.bool_], n: int) -> None:
    print(
        f"one step, {len(documents.names)} systems, {len(documents.topics)} topics, depth {documents.depth:,}, "
        f"{len(documents):,} candidates, {n} steps, ms:"
    )
    for strategy in STRATEGIES:
        start = time.perf_counter()
        engine = Engine(documents, strategy)
        begun = time.perf_counter() - start
        times: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(n):
            number = engine.next()
            assert number is not None
            start = time.perf_counter()
            engine.judge(number, bool(relevant[number]))
            engine.next()
            engine.confidence()
            times[engine.judged % EVERY == 0].append(1e3 * (time.perf_counter() - start))
        confidences = 1e3 * seconds(engine.confidence, 0.1)
        plain, fitted = (
            f"median {np.median(times[kind]):.2f}, greatest {max(times[kind]):.2f}" for kind in (False, True)
        )
        alone = f"all confidences alone {confidences:.2f}, the start {1e3 * begun:.0f}"
        print(f"{strategy}: {plain}; with the fit {fitted}; {alone}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("documents", 2_000), ("systems", 10), ("topics", 50), ("depth", 1_000), ("steps", 200)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    moments(args.documents)
    collection = simulate(systems=args.systems, n_topics=args.topics, depth=args.depth, max_grade=1)
    documents = candidates(read_runs(collection.runs), None, "trec", "float32")
    steps(documents, documents.judged_by(read_qrels(collection.truth))[1], args.steps)


if __name__ == "__main__":
    main()
