"""Is a mean difference above some bound? One-sided t-tests of differences whose judgments are not all known.

Differences are [.., topic]. `p_above` tests what is given; `mixed_p_above` averages over draws of the unjudged
documents, so that their doubt and that of the topics go into one p-value; `worst_p_above` is the greatest p over every
way of judging, where each topic's difference may be anything between two ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fathoms.base.arrays import Floats, Ints
from fathoms.base.tolerances import ROUNDING

STEPS = 60  # of a bisection: beyond the precision of a double
THIRDS = 40  # of a search for a minimum, near which little changes
LARGEST_T = 1e6


@dataclass(frozen=True, eq=False)
class Sample:
    """What the t-test needs of differences [.., topic], for as many bounds as there are to test."""

    mean: Floats
    error: Floats  # standard error of the mean; 0 where all topics have the same difference
    n: int  # topics

    @classmethod
    def of(cls, differences: Floats) -> Sample:
        n = differences.shape[-1]
        if n < 2:
            return cls(differences.mean(axis=-1), np.zeros(differences.shape[:-1]), n)
        flat = np.ptp(differences, axis=-1) <= ROUNDING
        error = differences.std(axis=-1, ddof=1) / np.sqrt(n)
        return cls(differences.mean(axis=-1), np.where(flat, 0.0, error), n)

    def p_above(self, bound: float) -> Floats:
        """The chance of a mean as far above the bound if the true mean were there.

        Differences that are the same on all n topics have p = 2^-n, that of their signs, if they are above the bound.
        """
        from scipy.special import stdtr

        mean = np.asarray(self.mean - bound)
        if self.n < 2:
            return np.ones(mean.shape)
        flat = self.error == 0
        p = stdtr(self.n - 1, -mean / np.where(flat, 1.0, self.error))
        return np.where(flat, np.where(mean > ROUNDING, 2.0**-self.n, 1.0), p)


def p_above(differences: Floats, bound: float) -> Floats:
    return Sample.of(differences).p_above(bound)


def mixed_p_above(drawn: Sequence[Sample], bound: float) -> float:
    """The mean of p over draws: the probability that the true mean is not above the bound, if each draw is as likely to
    be what the judgments will say and a mean's posterior is Student's; the greatest over several ways to draw."""
    return max(float(of_draws.p_above(bound).mean()) for of_draws in drawn)


def worst_p_above(low: Floats, high: Floats, bound: float) -> float:
    """The greatest p over all differences between two ends for each topic, or a little more; 1 where some judging puts
    the mean at the bound or below."""
    from scipy.special import stdtr

    n = len(low)
    if n < 2 or low.mean() - bound <= ROUNDING:
        return 1.0
    path = JudgingPath.of(low, high)
    t = _last(lambda t: path.least_bound(t) > bound, 0.0, LARGEST_T)
    return max(float(stdtr(n - 1, -t)), 2.0**-n)


@dataclass(frozen=True, eq=False)
class JudgingPath:
    """Sums and sums of squares of differences between two ends for each topic, as one topic after another goes from its
    low end to its high one: those with the greatest low + high first.

    For a given sum the sums of squares are greatest on this path, for with a linear function a S - b Q each topic
    decides by itself: high if low + high > a/b.
    """

    sums: Floats  # S before each topic, and at the end
    squares: Floats  # Q
    middle: float  # taken off all differences, lest squares lose what is left of them

    @classmethod
    def of(cls, low: Floats, high: Floats) -> JudgingPath:
        middle = float((low + high).mean() / 2)
        low, high = low - middle, high - middle
        order = np.argsort(-(low + high), kind="stable")
        sums = np.concatenate([[0.0], np.cumsum((high - low)[order])]) + low.sum()
        squares = np.concatenate([[0.0], np.cumsum((high**2 - low**2)[order])]) + (low**2).sum()
        return cls(sums, squares, middle)

    def least_bound(self, t: float) -> float:
        """The least of mean - t x standard error over all differences between the ends, or a little less; t is not
        negative.

        It is f = S/n - t sqrt((Q - S^2/n) / (n (n-1))), convex and falling with Q where t > 0. So its minimum over the
        convex hull of all (S, Q) lies on the path, and no judging is below it.
        """
        n = len(self.sums) - 1
        more, more_squares = np.diff(self.sums), np.diff(self.squares)

        def value(share: Floats | float, parts: Ints | slice) -> Floats:
            """On some parts of the path, so far along each."""
            total = self.sums[:-1][parts] + share * more[parts]
            square = self.squares[:-1][parts] + share * more_squares[parts]
            return np.asarray(total / n - t * np.sqrt(np.maximum(square - total**2 / n, 0.0) / (n * (n - 1))))

        first, half, last = (value(share, slice(None)) for share in (0.0, 0.5, 1.0))
        least = min(float(of.min()) for of in (first, half, last))
        # Convex along each part, so that it falls on one half of it by no more than it rises on the other.
        open_ = np.flatnonzero(2 * half - np.maximum(first, last) < least)
        left, right = np.zeros(len(open_)), np.ones(len(open_))
        for _ in range(THIRDS if len(open_) else 0):
            third = (right - left) / 3
            falls = value(left + third, open_) > value(right - third, open_)
            left, right = np.where(falls, left + third, left), np.where(falls, right, right - third)
        return self.middle + min(least, float(value((left + right) / 2, open_).min(initial=np.inf)))


def worst_lower_end(low: Floats, high: Floats, alpha: float) -> float:
    """The least lower end of a one-sided confidence interval over all differences between two ends for each topic."""
    from scipy.special import stdtrit

    n = len(low)
    return JudgingPath.of(low, high).least_bound(float(-stdtrit(n - 1, alpha))) if n > 1 else -np.inf


def lower_end(p: Callable[[float], float], alpha: float, least: float, most: float) -> float:
    """The greatest bound, between two, that p says the mean is above with confidence 1 - alpha."""
    return _last(lambda bound: p(bound) < alpha, least, most)


def _last(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The last number at which something holds that holds up to some number and not beyond."""
    if holds(high):
        return high
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
