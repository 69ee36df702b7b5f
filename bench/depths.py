"""All depths against one: six measures at every depth from 1 to 1,000, and at depth 1,000 alone.

    python bench/depths.py [FOLDER] [--depth 1000] [--runs 10] [--repeat 7]

FOLDER holds qrels.txt and runs/; without it a collection is simulated. What is counted is the time from evidence in
memory to scores by topic: the rankings are aligned before, and ranges and ties are no part of it. Both ways get the
same chunks of the same evidence, take turns, and the best of the repetitions counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from timing import show, show_header

from fathoms.data.qrels import read_qrels
from fathoms.data.runs import scan_runs
from fathoms.data.simulate import simulate
from fathoms.evidence.align import Alignment
from fathoms.evidence.evidence import Evidence
from fathoms.experiment.depths import depth_scores
from fathoms.measures.base import Measure
from fathoms.measures.parse import parse_measure

MEASURES = ("AP", "nDCG", "P", "RBP(p=0.95)", "ERR", "Q")


def at_one(measure: Measure, evidence: Evidence) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.concatenate([measure.value(measure.prepared(chunk)) for chunk in evidence.chunks()])


def fresh(evidence: Evidence) -> Evidence:
    """The same, and nothing remembered of what was worked out before."""
    return replace(evidence, _cache={})


def seconds(work: Callable[..., object], *arguments: object) -> float:
    start = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    for name, default in (("depth", 1000), ("runs", 10), ("repeat", 7)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    if args.folder is None:
        made = simulate(systems=args.runs, n_topics=50, n_docs=20_000, depth=args.depth, seed=0)
        qrels, runs = read_qrels(made.qrels), scan_runs(made.runs)
    else:
        qrels, runs = read_qrels(args.folder / "qrels.txt"), scan_runs(str(args.folder / "runs"))
    align = Alignment(qrels)
    names = list(runs)[:: max(1, len(runs) // args.runs)]
    evidences = [align(runs[name]).evidence for name in names]
    depths = range(1, args.depth + 1)
    totals = np.zeros(2)
    show_header()
    for name in MEASURES:
        measure = parse_measure(f"{name}@{args.depth}")
        for evidence in evidences:
            last = depth_scores(measure, evidence, depths)[:, -1]
            np.testing.assert_allclose(last, at_one(measure, evidence), atol=1e-12)
        best = np.full(2, np.inf)
        for _ in range(args.repeat):
            single = sum(seconds(at_one, measure, fresh(e)) for e in evidences)
            every = sum(seconds(depth_scores, measure, fresh(e), depths) for e in evidences)
            best = np.minimum(best, (single, every))
        totals += best
        both(name, best / len(names), args.depth)
    both(f"{len(MEASURES)} measures", totals / len(names), args.depth)
    print(f"a run of {len(qrels.topics)} topics, mean of {len(names)}; the ratio is to one depth alone")


def both(case: str, times: np.ndarray[tuple[int], np.dtype[np.float64]], depth: int) -> None:
    single, every = times.tolist()
    show(case, f"depth {depth:,} alone", single, single)
    show(case, f"depths 1 to {depth:,}", every, single)


if __name__ == "__main__":
    main()
