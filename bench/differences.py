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
from fathoms.base.parallel import parallel_map
from fathoms.evidence.evidence import Floats, Ints
from fathoms.evidence.pairs import RankingBlock
from fathoms.inference.paired_tests import paired_differences, student
from fathoms.measures.base import Measure
from fathoms.measures.differences import NO_LIMIT
from fathoms.pairs.difference_ranges import Ranges, Universe, pairs_to_depth
from fathoms.pairs.differences import enumerated, upper_bounds, witness
from fathoms.pairs.fragility import fragility
from fathoms.pairs.scored_runs import observe

MEASURES = {"AP": 1.0, "nDCG": 1.0, "nDCG@10": 1.0, "ERR@20": 1.0, "RR": 1.0, "Q": 0.1, "P@10": 1.0}  # share of pairs
SAME = 1e-6
WORKERS = 2


def ends(measure: Measure, block: RankingBlock, a: Ints, b: Ints) -> Floats:
    """[bound or witness, pair]: the greatest A - B of pairs of rankings."""
    low_high = np.empty((2, len(a)))
    none = np.zeros(len(a), dtype=np.int64)
    for rows, pair in pairs_to_depth(measure, block, a, b, none, Universe(), over_ties=False):
        low_high[0, rows] = upper_bounds(measure, pair, NO_LIMIT, over_ties=False)[:, 0]
        reached = low_high[0, rows] if measure.difference_is == "exact" else witness(measure, pair).value
        best = enumerated(measure, pair, NO_LIMIT, over_ties=False)[:, 0]
        low_high[1, rows] = np.where(np.isfinite(best), best, reached)
    return low_high


def main(qrels: str, runs: str, pairs: int) -> None:
    exp = fm.Experiment(qrels, runs, workers=WORKERS)
    measures = exp.measures(list(MEASURES), of_pairs=True)
    table = exp.documents()
    seen = observe(exp, measures, Universe())
    rng = np.random.default_rng(0)
    a, b = np.triu_indices(len(table.names), 1)
    for measure, values in seen.values.items():
        share = MEASURES[measure.name]
        chosen = np.sort(rng.choice(len(a), min(len(a), max(1, int(pairs * share))), replace=False))
        ranges = Ranges(table, exp.qrels, a[chosen], b[chosen], Universe(), exp.options.where)
        start = time.perf_counter()
        ranges.count_shared([measure])

        def of_topic(topic: int, of: Ranges = ranges, by: Measure = measure) -> Floats:
            block, in_a, in_b = of.block(np.array([topic]), of.a, of.b)
            return np.concatenate((ends(by, block, in_a, in_b), ends(by, block, in_b, in_a)), axis=1)

        widths = np.mean(parallel_map(of_topic, ranges.topics.tolist(), workers=WORKERS), axis=0)
        gap = widths[0] - widths[1]
        took = (time.perf_counter() - start) / len(chosen)
        significant = student(paired_differences(values, ranges.a, ranges.b)) < 0.05
        few = np.flatnonzero(significant)[: max(4, int(20 * share))]
        some = Ranges(
            table, exp.qrels, ranges.a[few], ranges.b[few], Universe(), {"workers": WORKERS, "scheduler": None}
        )
        fragilities = fragility(some, measure, values.mean(axis=1))
        low = [fragile.low for fragile in fragilities if fragile.low is not None]
        high = [fragile.high for fragile in fragilities if fragile.high is not None]
        quartiles = [np.percentile(part, [25, 50, 75]).astype(int).tolist() if part else None for part in (low, high)]
        print(
            f"{measure.name:8} {len(chosen):4} pairs: bound and witness meet {np.mean(gap < SAME):6.1%}, "
            f"median gap {np.median(gap):.5f}; {took:.2f} s a pair; fragility of {len(fragilities)} significant: "
            f"at least {quartiles[0]}, at most {quartiles[1]}, irreversible {len(fragilities) - len(low)}",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 100)
