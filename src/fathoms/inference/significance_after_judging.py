"""Will a difference still be there once everything is judged? From scores drawn [draw, system, topic].

Draws are joint over all systems, as `estimate.draws` makes them. Differences of means come from the means alone, and
significance is looked at draw by draw, so nothing of the size draws x pairs x topics is ever built.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from fathoms.base.arrays import Bools, Floats, Ints
from fathoms.base.tolerances import ROUNDING
from fathoms.inference.intervals import intervals, tested_levels
from fathoms.inference.paired_tests import paired_differences
from fathoms.inference.significance import (
    SIGNIFICANCE_TESTS,
    Correction,
    Test,
    mean_direction,
    p_corrected,
    p_values,
    sizes_of_t,
    tukey_statistics,
)

CELLS = 1 << 19  # of the blocks [draw, pair] worked on at a time


@dataclass(frozen=True, eq=False)
class Holding:
    """What the draws say of each pair (a, b) of systems; the difference is the mean of a less that of b."""

    estimate: Floats
    likely_low: Floats
    likely_high: Floats
    p_better: Floats  # share of draws in which the difference is above 0; equal means count half
    p_holds: Floats  # share of draws in which it is significant, on the side on which it was observed


def holding(
    scores: Floats,
    drawn: Floats,
    a: Ints,
    b: Ints,
    *,
    point: Floats | None = None,
    test: Test = "t",
    correction: Correction = "holm",
    alpha: float = 0.05,
    seed: int = 0,
    level: float = 0.95,
) -> Holding:
    """`scores` are those observed, [system, topic], `drawn` [draw, system, topic], `point` the estimate where it is not
    the mean of these; `level` is that of likely_low and likely_high."""
    means = drawn.mean(axis=2)
    center = means.mean(axis=0) if point is None else point.mean(axis=1)
    estimate, low, high, better = (np.empty(len(a)) for _ in range(4))
    step = max(1, CELLS // max(1, len(drawn)))
    for start in range(0, len(a), step):
        part = slice(start, start + step)
        differences = means[:, a[part]] - means[:, b[part]]
        estimate[part] = center[a[part]] - center[b[part]]
        ends = np.quantile(differences, [(1 - level) / 2, (1 + level) / 2], axis=0)
        low[part], high[part] = np.minimum(ends[0], estimate[part]), np.maximum(ends[1], estimate[part])
        better[part] = ((differences > ROUNDING) + 0.5 * (np.abs(differences) <= ROUNDING)).mean(axis=0)
    return Holding(estimate, low, high, better, p_holds(scores, drawn, a, b, test, correction, alpha, seed))


def p_holds(
    scores: Floats, drawn: Floats, a: Ints, b: Ints, test: Test, correction: Correction, alpha: float, seed: int = 0
) -> Floats:
    """The share of draws in which each pair is significant on the side on which it was observed.

    Each draw is tested and corrected as the observed scores are. Tests that resample, which would take too long, and
    Tukey's, whose table is dear to look up, are replaced by their statistic against critical values fixed once.
    """
    if scores.shape[1] < 2:
        return np.zeros(len(a))  # one topic shows nothing
    observed = mean_direction(paired_differences(scores, a, b))
    significant = _test_of_draws(scores, a, b, test, correction, alpha, seed)
    held = np.zeros(len(a))
    for draw in drawn:
        held += (significant(draw) == observed) & (observed != 0)
    return held / len(drawn)


def _test_of_draws(
    scores: Floats, a: Ints, b: Ints, test: Test, correction: Correction, alpha: float, seed: int
) -> Callable[[Floats], Floats]:
    """From the scores of a draw to -1, 0 or 1 for each pair: significant, and on which side."""
    used = SIGNIFICANCE_TESTS[test]
    if test == "tukey":
        from scipy.stats import studentized_range

        n_systems, n = scores.shape
        critical = studentized_range.isf(alpha, n_systems, max(1, (n_systems - 1) * (n - 1)))
        return lambda draw: _beyond(tukey_statistics(draw, a, b), -critical, critical)
    if used.resamples:
        low, high = critical_t(scores, a, b, test, correction, alpha, seed)
        return lambda draw: _beyond(t_statistics(draw, a, b), low, high)

    def tested(draw: Floats) -> Floats:
        p = p_corrected(p_values(draw, test, seed)[a, b], test, correction)
        mean = draw.mean(axis=1)
        side = np.sign(mean[a] - mean[b])
        if used.direction is not mean_direction:
            differences = paired_differences(draw, a, b)
            # Ranks that speak for one side and a mean on the other support neither.
            side = np.where(used.direction(differences) == side, side, 0.0)
        return np.where(p < alpha, side, 0.0)

    critical = _critical_sizes(len(a), scores.shape[1], test, correction, alpha)
    return tested if critical is None else partial(_tested_by_size, a, b, critical, tested)


def _critical_sizes(m: int, n: int, test: Test, correction: Correction, alpha: float) -> Floats | None:
    """What a t statistic has to exceed once so many of m comparisons on n topics are rejected; None where a test is not
    that simple."""
    from scipy.special import stdtrit

    divisors = {"none": np.ones(m), "bonferroni": np.full(m, float(m)), "holm": m - np.arange(float(m))}
    if test != "t" or correction not in divisors:
        return None
    return np.asarray(-stdtrit(n - 1, alpha / divisors[correction] / 2))


def _tested_by_size(
    a: Ints, b: Ints, critical: Floats, by_p_values: Callable[[Floats], Floats], draw: Floats
) -> Floats:
    """As by p-values, but for rounding: comparisons are rejected from the greatest t statistic down."""
    t, rough = sizes_of_t(draw, a, b)
    if rough.any():
        return by_p_values(draw)
    rejected, more = 0, int((t > critical[0]).sum())
    while rejected < more < len(t):
        rejected, more = more, int((t > critical[more]).sum())
    mean = draw.mean(axis=1)
    return np.where(t > critical[min(more, len(t) - 1)], np.sign(mean[a] - mean[b]), 0.0)


def _beyond(statistic: Floats, low: Floats | float, high: Floats | float) -> Floats:
    above: Bools = statistic > high
    below: Bools = statistic < low
    return above * 1.0 - below * 1.0


def t_statistics(scores: Floats, a: Ints, b: Ints) -> Floats:
    """Mean over standard error of each pair's differences; infinite where they are equal and not 0, 0 if they are 0."""
    differences = paired_differences(scores, a, b)
    mean = differences.mean(axis=1)
    error = differences.std(axis=1, ddof=1) / np.sqrt(differences.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean == 0, 0.0, mean / np.where(np.ptp(differences, axis=1) == 0, 0.0, error))


def critical_t(
    scores: Floats, a: Ints, b: Ints, test: Test, correction: Correction, alpha: float, seed: int
) -> tuple[Floats, Floats]:
    """Where the t statistic of each pair has to lie, below the first or above the second, for the test to reject.

    From the interval of the observed scores: the test would have rejected had the mean been further from 0 than the
    mean is from the interval's ends. In standard errors that is a critical t, at the level this pair is tested at.
    Where the observed differences do not vary it is Student's.
    """
    from scipy.special import stdtrit

    low, high = intervals(scores, a, b, test, correction, alpha, seed)
    differences = paired_differences(scores, a, b)
    n = differences.shape[1]
    mean, error = differences.mean(axis=1), differences.std(axis=1, ddof=1) / np.sqrt(n)
    flat = np.ptp(differences, axis=1) == 0
    p = p_values(scores, test, seed)[a, b]
    student = stdtrit(n - 1, tested_levels(p, test, correction, alpha) / 2)
    error = np.where(flat, 1.0, error)
    return np.where(flat, student, (mean - high) / error), np.where(flat, -student, (mean - low) / error)
