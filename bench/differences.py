"""How good the ranges of differences are on a real collection, and how many documents decide.

For random pairs of runs: how often the bound of the range's end and a judging that was evaluated (a witness) meet, the
median gap between the two, and the fragility of the significant differences. Prints one line for each measure.

    python bench/differences.py QRELS RUNS [PAIRS]
"""

from __future__ import annotations

import sys
import time

import numpy as np

import fathoms as fm
from fathoms.comparison.differences import enumerated, upper_bounds, witness
from fathoms.comparison.fragility import fragility
from fathoms.comparison.paired_tests import paired_differences, student
from fathoms.comparison.ranges import Ranges, Universe, pairs_to_depth
from fathoms.evidence.evidence import Floats, Ints
from fathoms.evidence.pairs import RankedKeys, TopicRankings
from fathoms.measures.base import Measure
from fathoms.measures.differences import NO_LIMIT
from fathoms.parallel import parallel_map

MEASURES = {"AP": 1.0, "nDCG": 1.0, "nDCG@10": 1.0, "ERR@20": 1.0, "RR": 1.0, "Q": 0.1, "P@10": 1.0}  # share of pairs
SAME = 1e-6
WORKERS = 2


def ends(measure: Measure, topic: TopicRankings, a: Ints, b: Ints) -> Floats:
    """[bound or witness, pair]: the greatest A - B on one topic."""
    found = np.empty((2, len(a)))
    none = np.zeros(len(a), dtype=np.int64)
    for rows, pair in pairs_to_depth(measure, topic, a, b, none, Universe(), over_ties=False):
        found[0, rows] = upper_bounds(measure, pair, NO_LIMIT, over_ties=False)[:, 0]
        reached = found[0, rows] if measure.difference_is == "exact" else witness(measure, pair).value
        best = enumerated(measure, pair, NO_LIMIT, over_ties=False)[:, 0]
        found[1, rows] = np.where(np.isfinite(best), best, reached)
    return found


def main(qrels: str, runs: str, pairs: int) -> None:
    exp = fm.Experiment(qrels, runs, workers=WORKERS, memory_mb=0)
    measures = exp.measures(list(MEASURES), of_pairs=True)
    n_topics = len(exp.qrels.topics)

    def one(name: str) -> tuple[RankedKeys, list[Floats]]:
        ranked = exp.ranked(name)
        evidence = exp.alignment(measures, [], ranges=False).of(ranked).evidence
        return RankedKeys.of(ranked, n_topics), [measure.value(evidence) for measure in measures]

    systems = exp.map(one)
    rng = np.random.default_rng(0)
    a, b = np.triu_indices(len(systems), 1)
    for number, measure in enumerate(measures):
        values = np.stack([scores[number] for _, scores in systems])
        share = MEASURES[measure.name]
        chosen = np.sort(rng.choice(len(a), min(len(a), max(1, int(pairs * share))), replace=False))
        ranges = Ranges([keys for keys, _ in systems], exp.qrels, a[chosen], b[chosen], Universe(), workers=WORKERS)
        start = time.perf_counter()
        _ = ranges.topics

        def of_topic(topic: int, of: Ranges = ranges, by: Measure = measure) -> Floats:
            both = (ends(by, of.topic(topic), of.a, of.b), ends(by, of.topic(topic), of.b, of.a))
            return np.concatenate(both, axis=1)

        found = np.mean(parallel_map(of_topic, range(n_topics), workers=WORKERS), axis=0)
        gap = found[0] - found[1]
        took = (time.perf_counter() - start) / len(chosen)
        significant = student(paired_differences(values, ranges.a, ranges.b)) < 0.05
        few = np.flatnonzero(significant)[: max(4, int(20 * share))]
        some = Ranges(ranges.runs, exp.qrels, ranges.a[few], ranges.b[few], Universe(), workers=WORKERS)
        told = fragility(some, measure, values.mean(axis=1))
        low = [one.low for one in told if one.low is not None]
        high = [one.high for one in told if one.high is not None]
        quartiles = [np.percentile(part, [25, 50, 75]).astype(int).tolist() if part else None for part in (low, high)]
        print(
            f"{measure.name:8} {len(chosen):4} pairs: bound and witness meet {np.mean(gap < SAME):6.1%}, "
            f"median gap {np.median(gap):.5f}; {took:.2f} s a pair; fragility of {len(told)} significant: at least "
            f"{quartiles[0]}, at most {quartiles[1]}, irreversible {len(told) - len(low)}",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 100)
