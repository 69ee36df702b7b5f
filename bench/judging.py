"""How many judgments `fathoms judge` takes for a measure, and how often it is right when it calls a pair settled.

    python bench/judging.py QRELS RUN... -m AP nDCG@10 [--strategy fusion mtc pool] [--trials 300] [--workers 2]

A trial is that of RTC section 4.3: some systems are drawn, documents of the first two are judged by the full judgments
until one is ahead with 95% confidence, and what was judged then has to do for all pairs of the systems drawn.
Incremental pooling stops where the default did, so that it is seen with as many judgments.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fathoms as fm
from fathoms.data.qrels import JUDGED, PADDING
from fathoms.evidence.candidates import Candidates, candidates
from fathoms.evidence.evidence import Evidence, Floats, Ints
from fathoms.inference.correlation import correlation
from fathoms.judging.engine import Engine
from fathoms.measures.base import Measure
from fathoms.measures.parse import parse_measure


class World(NamedTuple):
    """All candidates, their true levels, and all judged documents by topic and level."""

    candidates: Candidates
    level: Ints
    levels: Floats
    counts: Ints
    labels: Floats | None = None


class Row(NamedTuple):
    """What came of one measure and strategy in a trial."""

    measure: str
    strategy: str
    judged: int
    right: list[bool]  # the pair that was settled, with its documents judged, and with all; empty if it was not settled
    tau: float
    sure: Floats  # one a pair
    agree: Any  # whether the pair is the right way round
    seconds: float


def make_world(qrels: Any, runs: Any, depth: int) -> World:
    qrels, runs = fm.read_qrels(qrels), fm.read_runs(runs)
    positive = qrels.counts[:, qrels.levels > 0].sum(axis=1) > 0
    topics = [topic for topic, some in zip(qrels.topics, positive, strict=True) if some]
    documents = candidates(runs, depth, "trec", "float64", topics)
    levels = np.unique(np.append(0.0, np.maximum(qrels.levels, 0)))
    rows, _, number = documents.judgments(qrels)
    level = np.zeros(len(documents), dtype=np.int64)
    level[number[number >= 0]] = np.searchsorted(levels, qrels.grades[rows[number >= 0]])
    counts = np.zeros((len(topics), len(levels)), dtype=np.int64)
    counts[:, np.searchsorted(levels, np.maximum(qrels.levels, 0))] = qrels.counts[positive]
    return World(documents, level, levels, counts)


def scores(world: World, measure: Measure, known: Ints | None = None) -> Floats:
    """[system, topic] under all judgments, or where only some candidates are `known`."""
    documents, n_topics = world.candidates, len(world.candidates.topics)
    level, counts = world.level, world.counts
    if known is not None:
        level = np.zeros_like(level)
        level[known] = world.level[known]
        cells = documents.topic[known].astype(np.int64) * len(world.levels) + level[known]
        counts = np.bincount(cells, minlength=counts.size).reshape(counts.shape)
    codes = np.append(JUDGED + level, PADDING).astype(np.int16)
    values = []
    for place in documents.place:
        evidence = Evidence(
            topics=documents.topics,
            codes=codes[place],
            tied=np.zeros(place.shape, dtype=bool),
            lengths=(place >= 0).sum(axis=1),
            levels=world.levels,
            max_grade=float(world.levels[-1]),
            counts=counts,
        )
        values.append(measure.value(evidence))
    assert len(values[0]) == n_topics
    return np.stack(values)


def judge(world: World, engine: Engine) -> list[tuple[int, float]]:
    made: list[tuple[int, float]] = []
    while not engine.settled():
        number = engine.next()
        if number is None:
            break
        made.append((number, float(world.levels[world.level[number]])))
        engine.judge(*made[-1])
    return made


def pair_truth(world: World, measure: Measure, systems: list[int]) -> Floats:
    """Mean scores of two systems once their own documents are judged, which is what is settled."""
    own = np.unique(world.candidates.place[systems]).astype(np.int64)
    return scores(world._replace(candidates=_some(world.candidates, systems)), measure, own[own >= 0]).mean(axis=1)


def pooled(world: World, systems: list[int], budget: int) -> Ints:
    """The candidates that incremental pooling of these systems judges first: rank by rank over all topics."""
    by_rank = world.candidates.place[systems].transpose(2, 1, 0).ravel()
    return np.array(list(dict.fromkeys(by_rank[by_rank >= 0].tolist()))[:budget], dtype=np.int64)


def trial(world: World, names: Sequence[str], strategies: Sequence[str], k: int, truths: Any, number: int) -> list[Any]:
    rng = np.random.default_rng([0, number])
    systems = rng.choice(len(world.candidates.names), min(k, len(world.candidates.names)), replace=False).tolist()
    first, second = np.triu_indices(len(systems), 1)
    rows: list[Any] = []
    for name in names:
        measure, truth = parse_measure(name), truths[name][systems]
        of_pair = pair_truth(world, measure, systems[:2])
        budget = None
        for strategy in strategies:
            about: dict[str, Any] = {"measures": [measure], "grades": world.levels.tolist(), "labels": world.labels}
            start = time.perf_counter()
            right: list[bool] = []
            if strategy == "pool":  # no model: what is not judged is not relevant, and no confidence comes with it
                known = pooled(world, systems[:2], budget or 0)
                drawn = world._replace(candidates=_some(world.candidates, systems))
                expected = scores(drawn, measure, known).mean(axis=1)
                sure, n_judged = np.full(len(first), 0.5), len(known)
            else:
                engine = Engine(world.candidates, strategy, runs=systems[:2], seed=number, **about)
                made = judge(world, engine)
                n_judged = len(made)
                budget = n_judged if budget is None else budget
                if engine.settled():
                    ahead = bool(engine.confidence()[0, 1] > 0.5)
                    right = [
                        bool(means[0] != means[1] and ahead == (means[0] > means[1])) for means in (of_pair, truth)
                    ]
                whole = Engine(world.candidates, strategy, runs=systems, judgments=made, **about)
                expected = whole.expected()
                sure = whole.confidence()[first, second]
            seconds = time.perf_counter() - start
            agree = (expected[first] > expected[second]) == (truth[first] > truth[second])
            tau = correlation(expected, truth)
            rows.append(Row(name, strategy, n_judged, right, tau, np.maximum(sure, 1 - sure), agree, seconds))
    return rows


def _some(documents: Candidates, systems: list[int]) -> Candidates:
    return Candidates(
        [documents.names[i] for i in systems],
        documents.topics,
        documents.topic,
        documents.documents,
        documents.place[systems],
    )


def winnings(sure: Floats, right: Any) -> float:
    chance = np.minimum(sure, 1 - 1e-15)
    return float(np.where(right, 1.0, -np.minimum(chance / (1 - chance), 100.0)).mean())


def report(rows: list[Any], names: Sequence[str], strategies: Sequence[str]) -> None:
    print(
        "measure  strategy  median judged  settled right %, by all judgments %  (of)  tau  W",
        "pairs at .95+: right %  (of)  s a trial",
        sep="  ",
    )
    for name in names:
        for strategy in strategies:
            mine = [row for row in rows if (row.measure, row.strategy) == (name, strategy)]
            right = np.array([row.right for row in mine if row.right]).reshape(-1, 2)
            sure, agree = np.concatenate([row.sure for row in mine]), np.concatenate([row.agree for row in mine])
            high = sure >= 0.95
            figures = (
                f"{np.median([row.judged for row in mine]):g}",
                *(f"{100 * share:.1f}" for share in (right.mean(axis=0) if len(right) else ())),
                f"({len(right)})",
                f"{np.mean([row.tau for row in mine]):.3f}",
                f"{winnings(sure, agree):+.2f}",
                f"{100 * agree[high].mean() if high.any() else 0:.1f}  ({int(high.sum())})",
                f"{np.mean([row.seconds for row in mine]):.2f}",
            )
            print(name, strategy, *figures, sep="  ", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("qrels", type=Path)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("-m", nargs="+", default=["AP"])
    parser.add_argument("--strategy", nargs="+", default=["fusion"])
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--systems", type=int, default=10)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    world = make_world(args.qrels, args.runs, args.depth)
    truths = {name: scores(world, parse_measure(name)).mean(axis=1) for name in args.m}
    work = partial(trial, world, args.m, args.strategy, args.systems, truths)
    numbers = range(args.first, args.first + args.trials)
    if args.workers == 1:
        rows = [row for number in numbers for row in work(number)]
    else:
        with ProcessPoolExecutor(args.workers) as pool:
            rows = [row for of_trial in pool.map(work, numbers, chunksize=5) for row in of_trial]
    report(rows, args.m, args.strategy)


if __name__ == "__main__":
    main()
