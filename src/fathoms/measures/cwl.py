"""Measures of readers who go on from rank to rank with some chance (C/W/L): BPM, INSQ and the four NERR.

Each is the mean gain of the documents read, weighted by the chance V to get to them: sum V g / sum V.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fathoms.base.errors import FathomsError
from fathoms.base.rounding import powers
from fathoms.base.tolerances import SAME
from fathoms.evidence.evidence import Evidence, Floats, Ints
from fathoms.measures.base import Basis, RangeKind
from fathoms.measures.gains import Graded, gain_param
from fathoms.measures.params import param
from fathoms.measures.weighted import Weighted

STEPS = 1_000_000  # of a sum without end, at most
NERR_PAPER = (
    "L. Azzopardi, J. Mackenzie, A. Moffat (2021). ERR is not C/W/L: exploring the relationship between expected "
    "reciprocal rank and other metrics."
)


def goal_weights(T: float, n: int) -> Floats:
    """V of INSQ: (2T / (2T + i - 1))^2 for i = 1..n."""
    return np.asarray((2 * T / (2 * T + np.arange(n))) ** 2)


def goal_rest(T: float, read: Any) -> Any:
    """The sum of V past so many ranks: the trigamma function."""
    from scipy.special import polygamma

    return 4 * T**2 * polygamma(1, 2 * T + read)


class INSQ(Weighted):
    """INSQ: a reader who wants T documents' worth of gain goes on ever more surely, whatever is found.

        INSQ = sum_i V_i g_i / sum_i V_i,   V_i = (2T / (2T + i - 1))^2

    Both sums go on for ever; past the last rank read gains are 0, and for `high` the greatest. cwl_eval, and so
    ir_measures, ends them at rank 1,000. INST is what became of it.
    """

    examples = ("INSQ(T=1)", "INSQ(T=2)@10")
    citation = "A. Moffat, F. Scholer, P. Thomas (2012). Models and metrics: IR evaluation as a user process."
    has_tail: ClassVar[bool] = True

    T: float = param(1.0, "how much gain the reader wants", check="positive", always_shown=True)
    gain: str = gain_param("linear")

    def weight(self, n: int) -> Floats:
        return goal_weights(self.T, n)

    def normaliser(self, k: int, evidence: Evidence) -> float:
        return float(goal_rest(self.T, 0))

    def tail(self, evidence: Evidence) -> Floats | float:
        read = np.minimum(evidence.lengths, self.depth_read(evidence))
        rest: Floats = goal_rest(self.T, read) / goal_rest(self.T, 0)
        return rest

    def largest(self, evidence: Evidence) -> Floats:
        return np.full(len(evidence), self.top_gain(evidence))  # weights and tail add up to 1


class BPM(Graded):
    """Bejeweled player model: a reader stops when T documents' worth of gain is found, or after k documents.

        BPM@k = (g_1 + ... + g_N) / N,   N the first rank with g_1 + ... + g_N >= T, or k

    Past the end of the ranking there are documents without gain. The static model, as in cwl_eval. The range is sound:
    more gain can end the reading sooner, with less on the whole.
    """

    examples = ("BPM@10", "BPM(T=2)@20")
    citation = (
        "F. Zhang, Y. Liu, X. Li, M. Zhang, Y. Xu, S. Ma (2017). Evaluating web search with a bejeweled player model."
    )
    based_on: ClassVar[Basis] = "utility"
    range_claim: ClassVar[RangeKind] = "sound"
    cutoff: ClassVar[str] = "required"
    sorting_is_optimal = False
    gains_at_most_one: ClassVar[bool] = True

    T: float = param(1.0, "how much gain the reader wants", check="positive")
    gain: str = gain_param("linear")

    def largest(self, evidence: Evidence) -> Floats:
        return np.full(len(evidence), self.top_gain(evidence))

    def value(self, evidence: Evidence) -> Floats:
        return self._mean_gain(evidence, self.table(evidence)[evidence.codes])

    def predicted(self, evidence: Evidence, gains: Floats) -> Floats:
        return self._mean_gain(evidence, self.filled(evidence, gains))

    def _mean_gain(self, evidence: Evidence, gains: Floats) -> Floats:
        found, places = self._running(evidence, gains)
        enough = found >= self.T - SAME
        enough[:, -1] = True
        stop = enough.argmax(axis=1)
        return np.take_along_axis(found, stop[:, None], axis=1)[:, 0] / places[stop]

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        """For each rank where a reader may stop, the least and the most gain that may be found by then."""
        top = self.top_gain(evidence)
        least, places = self._running(evidence, self.table(evidence)[evidence.codes])
        most, _ = self._running(evidence, self.table(evidence, unknown=top)[evidence.codes])
        gain = np.diff(most, axis=1, prepend=0.0)
        before = least - np.diff(least, axis=1, prepend=0.0)
        gets_there = before < self.T - SAME
        stops = gets_there & (most >= self.T - SAME)
        stops[:, -1] = gets_there[:, -1]
        floor = np.maximum(least, self.T)
        floor[:, -1] = least[:, -1]
        low = np.where(stops, floor / places, np.inf).min(axis=1)
        high = np.where(stops, np.minimum(most, self.T + gain) / places, -np.inf).max(axis=1)
        return np.minimum(low, score), np.maximum(high, score)

    def _running(self, evidence: Evidence, gains: Floats) -> tuple[Floats, Ints]:
        """Gain found by each of the first k ranks, and these; those past the end of all rankings are one column."""
        n = self.depth_read(evidence)
        gain = np.cumsum(gains[:, :n], axis=1)
        places = np.arange(1, n + 1)
        if n < int(self.k or 0):
            return np.hstack([gain, gain[:, -1:]]), np.append(places, int(self.k or 0))
        return gain, places


class Nearly(Graded):
    """Readers who stop at a document with chance its gain, and else go on as far as `reach` has it.

    V_i = D(i) (1 - g_1) ... (1 - g_(i-1)), D given by `reach`.

    No gain can be raised without raising the mean: raising g_j adds V_j to the gain found, and takes away at most
    what was found below, sum_(i>j) V_i g_i / (1 - g_j) <= V_j, since D does not rise; and it takes weight away.
    """

    based_on: ClassVar[Basis] = "utility"
    range_claim: ClassVar[RangeKind] = "exact"
    sorting_is_optimal = False
    gains_at_most_one: ClassVar[bool] = True

    gain: str = gain_param("linear")

    @abstractmethod
    def reach(self, n: int) -> Floats:
        """D(i) for i = 1..n; it does not rise."""

    @abstractmethod
    def rest(self, read: Ints) -> Floats:
        """The sum of D past so many ranks."""

    def largest(self, evidence: Evidence) -> Floats:
        return np.full(len(evidence), self.top_gain(evidence))

    def value(self, evidence: Evidence) -> Floats:
        return self._mean_gain(evidence, self.table(evidence)[evidence.codes], 0.0)

    def predicted(self, evidence: Evidence, gains: Floats) -> Floats:
        return self._mean_gain(evidence, self.filled(evidence, gains), 0.0)

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        top = self.top_gain(evidence)
        high = self._mean_gain(
            evidence, self.table(evidence, unknown=top)[evidence.codes], top if self.has_tail else 0.0
        )
        return score, high

    def _mean_gain(self, evidence: Evidence, gains: Floats, tail_gain: float) -> Floats:
        n = self.depth_read(evidence)
        read = np.minimum(evidence.lengths, n)
        gains = gains[:, :n]
        passed = np.cumprod(1 - gains, axis=1)
        weights = self.reach(n) * np.hstack([np.ones((len(gains), 1)), passed[:, :-1]])
        weights *= np.arange(n) < read[:, None]
        end = np.where(read > 0, np.take_along_axis(passed, np.maximum(read - 1, 0)[:, None], axis=1)[:, 0], 1.0)
        rest = end * (self._falling_rest(read, tail_gain) if tail_gain > 0 else self.rest(read))
        return ((weights * gains).sum(axis=1) + rest * tail_gain) / (weights.sum(axis=1) + rest)

    def _falling_rest(self, read: Ints, gain: float) -> Floats:
        """The sum of D(i) (1 - gain)^(i-n-1) over the ranks i past n, for each n."""
        steps = 1 if gain >= 1 else min(STEPS, int(np.ceil(np.log(1e-18) / np.log1p(-gain))))
        lengths, place = np.unique(read, return_inverse=True)
        falling = (1 - gain) ** np.arange(steps)
        reach = self.reach(int(lengths[-1]) + steps)
        sums: NDArray[np.float64] = np.array([falling @ reach[n : n + steps] for n in lengths.tolist()])
        return sums[place]


class CutNearly(Nearly):
    """Those who give up after k documents."""

    cutoff: ClassVar[str] = "required"

    def rest(self, read: Ints) -> Floats:
        total = np.append(0.0, np.cumsum(self.reach(int(self.k or 0))))
        return np.asarray(total[-1] - total[read])


class NERR8(CutNearly):
    """Nearly ERR, equation 8: a reader stops at a document with chance its gain, or after k.

    NERR8@k = sum_i V_i g_i / sum_i V_i,   V_i = (1 - g_1) ... (1 - g_(i-1)),  i = 1..k
    """

    citation = NERR_PAPER

    def reach(self, n: int) -> Floats:
        return np.ones(n)


class NERR9(CutNearly):
    """Nearly ERR, equation 9: as NERR8, and a reader goes on from rank i with chance i / (i + 1) at most.

    NERR9@k = sum_i V_i g_i / sum_i V_i,   V_i = (1 - g_1) ... (1 - g_(i-1)) / i,  i = 1..k
    """

    citation = NERR_PAPER

    def reach(self, n: int) -> Floats:
        return 1 / np.arange(1, n + 1)


class NERR10(Nearly):
    """Nearly ERR, equation 10: a reader stops at a document with chance its gain, and else goes on with chance p.

        NERR10 = sum_i V_i g_i / sum_i V_i,   V_i = p^(i-1) (1 - g_1) ... (1 - g_(i-1))

    Both sums go on for ever; past the last rank gains are 0, and for `high` the greatest.
    """

    citation = NERR_PAPER
    cutoff: ClassVar[str] = "none"
    has_tail: ClassVar[bool] = True

    p: float = param(0.9, "the chance to go on after a document without gain", check="share", always_shown=True)

    def reach(self, n: int) -> Floats:
        return powers(self.p, np.arange(n))

    def rest(self, read: Ints) -> Floats:
        return powers(self.p, read) / (1 - self.p)


class NERR11(Nearly):
    """Nearly ERR, equation 11: a reader stops at a document with chance its gain, and else goes on as INSQ's does.

        NERR11 = sum_i V_i g_i / sum_i V_i,   V_i = (2T / (2T + i - 1))^2 (1 - g_1) ... (1 - g_(i-1))

    Both sums go on for ever; past the last rank gains are 0, and for `high` the greatest. cwl_eval ends them at rank
    1,000.
    """

    citation = NERR_PAPER
    cutoff: ClassVar[str] = "none"
    has_tail: ClassVar[bool] = True

    T: float = param(1.0, "how much gain the reader wants", check="positive", always_shown=True)

    def check(self) -> None:
        super().check()
        if self.T < 0.5:
            raise FathomsError(f"NERR11: T must be at least 0.5, found {self.T:g}")

    def reach(self, n: int) -> Floats:
        return goal_weights(self.T, n)

    def rest(self, read: Ints) -> Floats:
        rest: Floats = goal_rest(self.T, read)
        return rest
