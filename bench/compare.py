"""All-pairs comparisons: ours against a loop of scipy's, and volatility matrices.

    python bench/compare.py [--systems 129] [--topics 50] [--measures 6] [--depths 100]

The scores are random; what is timed is the testing and correlating. scipy's loop is timed on a sample of the pairs and
multiplied up (all of them would take the better part of an hour).
"""

from __future__ import annotations

import argparse
import itertools
import time

import numpy as np
from scipy.stats import kendalltau, ttest_rel
from timing import show, show_header

from fathoms.inference.correlation import correlation_matrix
from fathoms.inference.significance import paired_t

SAMPLE = 2_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("systems", 129), ("topics", 50), ("measures", 6), ("depths", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    scores = np.random.default_rng(0).random((args.measures, args.depths, args.systems, args.topics))
    pairs = list(itertools.combinations(range(args.systems), 2))
    total = len(pairs) * args.measures * args.depths

    start = time.perf_counter()
    results = [[paired_t(at_depth) for at_depth in measure] for measure in scores]
    ours = time.perf_counter() - start
    sample = pairs[:: max(1, len(pairs) // SAMPLE)]
    start = time.perf_counter()
    expected = [ttest_rel(scores[0, 0, i], scores[0, 0, j]).pvalue for i, j in sample]
    loop_seconds = (time.perf_counter() - start) / len(sample) * total
    worst = max(abs(results[0][0][i, j] - p) for (i, j), p in zip(sample, expected, strict=True))
    show_header()
    show(f"{total:,} t-tests", "fathoms", ours, ours)
    show(f"{total:,} t-tests", "a loop of scipy's", loop_seconds, ours)
    notes = [f"greatest difference of a p-value on {len(sample):,} pairs: {worst:.1e}"]

    means = scores.mean(axis=3)
    start = time.perf_counter()
    matrices = [correlation_matrix(measure) for measure in means]
    ours = time.perf_counter() - start
    cells = [(i, j) for i in range(0, args.depths, 7) for j in range(0, args.depths, 7)]
    start = time.perf_counter()
    expected = [kendalltau(means[0, i], means[0, j])[0] for i, j in cells]
    loop_seconds = (time.perf_counter() - start) / len(cells) * args.measures * args.depths**2
    worst = max(abs(matrices[0][i, j] - tau) for (i, j), tau in zip(cells, expected, strict=True))
    case = f"{args.measures} volatility matrices"
    show(case, "fathoms", ours, ours)
    show(case, "a loop of scipy's", loop_seconds, ours)
    print(*notes, f"greatest difference of a tau on {len(cells)} cells: {worst:.1e}", sep="\n")


if __name__ == "__main__":
    main()
