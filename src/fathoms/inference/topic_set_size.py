"""How many topics: Sakai's topic set size design, for the paired t-test, one-way ANOVA and confidence intervals.

Sakai (2016), Topic set size design, Information Retrieval Journal 19, takes Nagata's approximations. Here power is
exact for normally distributed scores: noncentral t and noncentral F. The readings chosen:

- The paired t-test is two-sided. `variance` is that of the difference between two systems on a topic, and `difference`
  the mean difference that is to be found significant (Sakai's minD_t).
- The one-way ANOVA tests whether all `systems` have the same mean. `variance` is that of one system's scores over
  topics (within-system variance), and `difference` that between the best and the worst of them (minD). Of all ways in
  which the others can lie, the least favourable one counts: all halfway. The noncentrality is then
  n minD^2 / (2 variance), with m - 1 and m (n - 1) degrees of freedom.
- An interval is that of the paired t-test, and its width the expected one, since the standard deviation that it will be
  made of varies.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from fathoms.base.arrays import Floats

MOST_TOPICS = 1_000_000
FAR = 30.0  # noncentrality up to which scipy's series is taken
NODES = 60  # of the quadrature beyond it


def power_of_t_test(topics: int, difference: Floats | float, variance: Floats | float, alpha: float) -> Floats:
    """The chance that the two-sided paired t-test is significant."""
    from scipy.special import chdtr, nctdtr, stdtrit

    freedom = topics - 1
    critical = float(-stdtrit(freedom, alpha / 2))
    difference, variance = np.broadcast_arrays(np.abs(np.asarray(difference, dtype=np.float64)), variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.where(difference == 0, 0.0, difference * np.sqrt(topics / variance))
    near = np.minimum(shift, FAR)
    power: Floats = 1 - nctdtr(freedom, near, critical) + nctdtr(freedom, near, -critical)
    far = (shift > FAR) | np.isnan(power)
    if far.any():
        # |t| > c where the variance is below that of ((shift + z) / c)^2, for each z of a normal distribution.
        z, weight = _nodes()
        power = np.array(power)
        power[far] = chdtr(freedom, freedom * ((shift[far][:, None] + z) / critical) ** 2) @ weight
    return np.clip(power, 0.0, 1.0)


@lru_cache(maxsize=1)
def _nodes() -> tuple[Floats, Floats]:
    """Of a quadrature over a normal distribution."""
    z, weight = np.polynomial.hermite_e.hermegauss(NODES)
    return z, weight / weight.sum()


def topics_for_t_test(difference: float, variance: float, alpha: float, power: float) -> int | None:
    """The fewest topics with that power; None where a million are not enough."""
    return fewest(lambda n: float(power_of_t_test(n, difference, variance, alpha)) >= power)


def detectable_by_t_test(topics: int, variance: float, alpha: float, power: float) -> float:
    """The least difference that so many topics find with that power."""
    return least(lambda d: float(power_of_t_test(topics, d, variance, alpha)) >= power, np.sqrt(variance / topics))


def power_of_anova(topics: int, difference: float, variance: float, systems: int, alpha: float) -> float:
    """The chance that the one-way ANOVA of so many systems is significant."""
    from scipy.special import fdtri, ncfdtr

    between, within = systems - 1, systems * (topics - 1)
    noncentrality = topics * difference**2 / (2 * variance) if variance > 0 else np.inf
    if not noncentrality < 1e4:
        return 1.0
    return float(1 - ncfdtr(between, within, noncentrality, fdtri(between, within, 1 - alpha)))


def topics_for_anova(difference: float, variance: float, systems: int, alpha: float, power: float) -> int | None:
    return fewest(lambda n: power_of_anova(n, difference, variance, systems, alpha) >= power)


def detectable_by_anova(topics: int, variance: float, systems: int, alpha: float, power: float) -> float:
    start = float(np.sqrt(variance / topics))
    return least(lambda d: power_of_anova(topics, d, variance, systems, alpha) >= power, start)


def expected_width(topics: int, variance: float, alpha: float) -> float:
    """Of the 1 - alpha interval of a mean difference: 2 t E(s) / sqrt(n), s being the standard deviation."""
    from scipy.special import gammaln, stdtrit

    freedom = topics - 1
    deviation = np.sqrt(2 * variance / freedom) * np.exp(gammaln(topics / 2) - gammaln(freedom / 2))
    return float(-2 * stdtrit(freedom, alpha / 2) * deviation / np.sqrt(topics))


def topics_for_interval(width: float, variance: float, alpha: float) -> int | None:
    """The fewest topics for which the interval is expected to be no wider."""
    return fewest(lambda n: expected_width(n, variance, alpha) <= width)


def fewest(enough: Callable[[int], bool], start: int = 2, most: int = MOST_TOPICS) -> int | None:
    """The least number from `start` on that is enough, where more are enough too; None if `most` are not."""
    high = start
    while not enough(high):
        if high >= most:
            return None
        high = min(2 * high, most)
    low = max(high // 2, start - 1)  # not enough, or below the start
    if high == start:
        return start
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def least(enough: Callable[[float], bool], start: float, tolerance: float = 1e-9) -> float:
    """The least positive number that is enough, where larger ones are too, up to a relative error; 0 from a start of
    0."""
    if start <= 0:
        return 0.0
    high = start
    while not enough(high):
        high *= 2
    low = high / 2
    while low > 0 and enough(low):
        low, high = low / 2, low
    while high - low > tolerance * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
