"""The confidence interval of one mean over topics, if these are a random sample of the topics one cares about.

Values come as [mean, topic]; both ends are nan where the topics cannot say how far off a mean is: a single one, or
values that are all the same. The default, Student's t, does without scipy: `fathoms eval` starts faster so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from fathoms.base.arrays import Floats
from fathoms.base.rounding import rounded
from fathoms.base.tolerances import ROUNDING, SAME
from fathoms.inference.names import Interval

Intervals = tuple[Floats, Floats]
RESAMPLES = 9_999  # of the topics; one less than 10,000, so that 2.5% of them and one is a whole number
CELLS = 1 << 22  # of a block of means or of resamples
STEPS = 40  # of a bisection
FEW_BITS = 52  # of whole numbers whose sums are exact as doubles, in whatever order


def mean_intervals(values: Floats, method: Interval = "t", level: float = 0.95, seed: int = 0) -> Intervals:
    """The ends of the interval of each row's mean."""
    low, high = np.full(len(values), np.nan), np.full(len(values), np.nan)
    least, most = values.min(axis=1, initial=np.inf), values.max(axis=1, initial=-np.inf)
    varies = most - least > SAME * np.maximum(np.abs(least), np.abs(most))
    if method != "none" and varies.any():
        low[varies], high[varies] = MEAN_INTERVALS[method](values[varies], level, seed)
    return low, high


def drawn_intervals(drawn: Floats, level: float = 0.95) -> Intervals:
    """The same of values [draw, mean, topic] that are not known for certain, each draw of them as likely: a mean is
    distributed as Student's t around that of each draw, so that the doubt of both is in its interval."""
    from scipy.special import stdtr

    n = drawn.shape[2]
    low, high = np.full(drawn.shape[1], np.nan), np.full(drawn.shape[1], np.nan)
    if n < 2:
        return low, high
    mean, error = drawn.mean(axis=2), np.maximum(drawn.std(axis=2, ddof=1) / math.sqrt(n), ROUNDING)
    varies = error.max(axis=0) > SAME
    mean, error = mean[:, varies], error[:, varies]
    far = t_quantile(1 - (1 - level) / 10, n - 1) * error
    for end, share in ((low, (1 - level) / 2), (high, (1 + level) / 2)):
        left, right = (mean - far).min(axis=0), (mean + far).max(axis=0)
        for _ in range(STEPS):
            middle = (left + right) / 2
            below = stdtr(n - 1, (middle - mean) / error).mean(axis=0) < share
            left, right = np.where(below, middle, left), np.where(below, right, middle)
        end[varies] = (left + right) / 2
    return low, high


def student_interval(values: Floats, level: float, seed: int = 0) -> Intervals:
    n = values.shape[1]
    mean = values.mean(axis=1)
    half = t_quantile(level, n - 1) * values.std(axis=1, ddof=1) / math.sqrt(n)
    return mean - half, mean + half


def bootstrap_interval(values: Floats, level: float, seed: int) -> Intervals:
    """The percentile interval: the means of topics drawn anew, without as many of them at either end."""
    share = np.full(len(values), (1 - level) / 2)
    return _between_resampled(values, lambda means, rows: (share[rows], 1 - share[rows]), seed)


def bca_interval(values: Floats, level: float, seed: int) -> Intervals:
    """The same with a correction for bias and for skew (Efron 1987, Better Bootstrap Confidence Intervals, JASA 82)."""
    from scipy.special import ndtr, ndtri

    centred = values - values.mean(axis=1, keepdims=True)
    skew = (centred**3).sum(axis=1) / (6 * (centred**2).sum(axis=1) ** 1.5)
    ends = ndtri([(1 - level) / 2, (1 + level) / 2])

    def shares(below: Floats, rows: slice) -> tuple[Floats, Floats]:
        bias = ndtri(np.clip(below, 1 / (RESAMPLES + 1), RESAMPLES / (RESAMPLES + 1)))
        low, high = (ndtr(bias + (bias + end) / (1 - skew[rows] * (bias + end))) for end in ends)
        return low, high

    return _between_resampled(values, shares, seed)


Shares = Callable[[Floats, slice], tuple[Floats, Floats]]


def _between_resampled(values: Floats, shares: Shares, seed: int) -> Intervals:
    """Two of the means of resampled topics, in their order: those with such shares of them below.

    `shares` gets which part of the means is below that of all topics. The values are taken as whole multiples of a
    power of two, so that sums are exact and the outcome is the same on every machine.
    """
    n = values.shape[1]
    bits = FEW_BITS - int(np.frexp(n * np.abs(values).max())[1])
    whole = np.rint(np.ldexp(values, bits))
    low, high = np.empty(len(values)), np.empty(len(values))
    step = max(1, CELLS // RESAMPLES)
    for start in range(0, len(values), step):
        rows = slice(start, start + step)
        sums, total = _resampled_sums(whole[rows], seed), whole[rows].sum(axis=1, keepdims=True)
        below = ((sums < total).sum(axis=1) + (sums == total).sum(axis=1) / 2) / RESAMPLES
        sums.sort(axis=1)
        for end, share in zip((low, high), shares(below, rows), strict=True):
            place = np.rint(rounded(share * (RESAMPLES + 1))).astype(np.int64) - 1
            end[rows] = np.ldexp(sums[np.arange(len(sums)), np.clip(place, 0, RESAMPLES - 1)], -bits) / n
    return low, high


def _resampled_sums(values: Floats, seed: int) -> Floats:
    """[mean, resample]; some resamples at a time, since each takes a number for every topic."""
    n = values.shape[1]
    rng, chance = np.random.default_rng(seed), np.full(n, 1 / n)
    sums = np.empty((len(values), RESAMPLES))
    step = max(1, CELLS // n)
    for start in range(0, RESAMPLES, step):
        count = min(step, RESAMPLES - start)
        sums[:, start : start + count] = values @ rng.multinomial(n, chance, size=count).T.astype(np.float64)
    return sums


MEAN_INTERVALS: dict[Interval, Callable[[Floats, float, int], Intervals]] = {
    "t": student_interval,
    "bootstrap": bootstrap_interval,
    "bca": bca_interval,
}


# -- Student's t ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def t_quantile(level: float, freedom: float) -> float:
    """How far from 0 Student's t is with probability 1 - level.

    The chance to be further away is convex, so Newton's steps from 0 come nearer from one side.
    """
    constant = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    t = 0.0
    for _ in range(200):
        density = math.exp(constant - (freedom + 1) / 2 * math.log1p(t * t / freedom))
        step = (_outside(t, freedom) - (1 - level)) / (2 * density)
        t += step
        if step <= ROUNDING * t:
            break
    return t


def _outside(t: float, freedom: float) -> float:
    """P(|T| > t), the regularised incomplete beta function I_x(freedom / 2, 1 / 2) at x = freedom / (freedom + t^2)."""
    if t == 0:
        return 1.0
    x, y = freedom / (freedom + t * t), t * t / (freedom + t * t)
    a, b = freedom / 2, 0.5
    factor = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(y))
    if x < (a + 1) / (a + b + 2):
        return factor / (a * _fraction(x, a, b))
    return 1 - factor / (b * _fraction(y, b, a))


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method."""
    value, upper, lower = 1.0, 1.0, 0.0
    for i in range(1, 100_000):
        m = i // 2
        if i % 2:
            term = -x * (a + m) * (a + b + m) / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = x * m * (b - m) / ((a + 2 * m - 1) * (a + 2 * m))
        lower = 1 / (1 + term * lower)
        upper = 1 + term / upper
        value *= upper * lower
        if abs(upper * lower - 1) < 1e-15:
            break
    return value
