"""Confidence intervals that agree with the test and the correction."""

from __future__ import annotations

import numpy as np

from fathoms.base.arrays import Bools, Floats, Ints
from fathoms.inference.paired_tests import Intervals, paired_differences
from fathoms.inference.significance import (
    CORRECTION_METHODS,
    SIGNIFICANCE_TESTS,
    Correction,
    Paired,
    Test,
    corrected,
    p_corrected,
    p_values,
)


def intervals(
    scores: Floats,
    a: Ints,
    b: Ints,
    test: Test = "t",
    correction: Correction = "holm",
    alpha: float = 0.05,
    seed: int = 0,
    p: Floats | None = None,
) -> Intervals:
    """The confidence interval of each pair (a, b) of systems: it excludes 0 exactly where p_corrected < alpha.

    It is the inversion of the test at the level at which the correction tests that pair. Of what it is the interval
    says `SIGNIFICANCE_TESTS[test].about`: of the mean difference, but for Wilcoxon's and the sign test, which are not
    about means. `p` is that of these pairs, if it is known already.
    """
    p = p_values(scores, test, seed)[a, b] if p is None else p
    used = SIGNIFICANCE_TESTS[test]
    significant = p_corrected(p, test, correction) < alpha
    levels = tested_levels(p, test, correction, alpha)
    pairs = Paired(a, b, paired_differences(scores, a, b))
    low, high = used.intervals(scores, pairs, levels, seed)
    return _agreeing(low, high, significant, used.direction(pairs.differences), pairs.differences)


def tested_levels(p: Floats, test: Test, correction: Correction, alpha: float) -> Floats:
    """The level at which each pair is tested: its p is below exactly where p_corrected is below alpha."""
    if SIGNIFICANCE_TESTS[test].allows_for_all_pairs:
        return np.full(len(p), alpha)
    significant = corrected(p, correction) < alpha
    levels = CORRECTION_METHODS[correction].levels(p, alpha)
    # p times m below alpha, or p below alpha over m: rounding may tell these apart.
    return np.where(significant, np.maximum(levels, np.nextafter(p, 2.0)), np.minimum(levels, p))


def _agreeing(low: Floats, high: Floats, significant: Bools, direction: Floats, differences: Floats) -> Intervals:
    """Ends that are on the wrong side of 0 moved over it.

    Rounding puts them there, or differences of opposite sign and equal size, whose average of 0 counts half in a rank
    sum: then the interval goes from next to 0 to the least difference at least.
    """
    low, high = np.where(significant, low, np.minimum(low, 0.0)), np.where(significant, high, np.maximum(high, 0.0))
    crosses = significant & (low <= 0) & (high >= 0)
    next_to_0 = np.finfo(np.float64).tiny
    size = np.abs(differences)
    least = np.where(size > 0, size, np.inf).min(axis=1)
    up, down = crosses & (direction > 0), crosses & (direction < 0)
    high = np.where(up & (high <= 0), least, np.where(down, -next_to_0, high))
    low = np.where(down & (low >= 0), -least, np.where(up, next_to_0, low))
    return low, high
