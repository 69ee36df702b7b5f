"""INST."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.evidence.evidence import Evidence, Floats
from fathoms.measures.base import Basis, RangeKind
from fathoms.measures.gains import Graded, gain_param
from fathoms.measures.params import param


class INST(Graded):
    """INST: a reader who wants T documents' worth of gain goes on until it is found.

        INST = sum_i V_i g_i / sum_i V_i
        V_1 = 1,  V_(i+1) = V_i ((x_i - 1) / x_i)^2,  x_i = i + 2T - (g_1 + ... + g_i)

    Both sums go on for ever; past the last rank read gains are 0, and for `high` the greatest. The range is exact:
    with x_i > 1 a greater gain lowers the later weights by less than it adds, so INST rises with every gain.
    ir_measures requires its `max_rel`; here gmax of the qrels is the default.
    """

    examples = ("INST(T=1)", "INST(T=2)@10")
    citation = "P. Bailey, A. Moffat, F. Scholer, P. Thomas (2015). User variability and IR system evaluation."
    based_on: ClassVar[Basis] = "utility"
    range_claim: ClassVar[RangeKind] = "exact"
    sorting_is_optimal = False
    gains_at_most_one: ClassVar[bool] = True
    has_tail: ClassVar[bool] = True

    T: float = param(1.0, "how much gain the reader wants, at least 1", check="positive", always_shown=True)
    gain: str = gain_param("linear")

    def check(self) -> None:
        super().check()
        if self.T < 1:
            raise FathomsError(f"INST: T must be at least 1, found {self.T:g}")

    def largest(self, evidence: Evidence) -> Floats:
        return np.full(len(evidence), self.top_gain(evidence))

    def value(self, evidence: Evidence) -> Floats:
        return self._mean_gain(evidence, self.table(evidence)[evidence.codes], 0.0)

    def predicted(self, evidence: Evidence, gains: Floats) -> Floats:
        return self._mean_gain(evidence, self.filled(evidence, gains), 0.0)

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        """No gain can be raised without raising the mean, so all unknown gains at their extremes are the extremes.

        With x_i = i + T + T_i, more gain at j lowers the later weights, and the mean by at most
        sum_{l>=j} V_l 2/(x_l (x_l - 1)) sum_{i>l} V_i g_i / V_l. The inner sum is largest when all further gains
        are 1, (x-1)^2 / (2x-1); then the outer one is at most V_j x_j / (2 x_j - 1) < V_j for x_j > 1, less than
        the V_j that the gain itself adds.
        """
        top = self.top_gain(evidence)
        return score, self._mean_gain(evidence, self.table(evidence, unknown=top)[evidence.codes], top)

    def at_depths(self, evidence: Evidence, depths: Sequence[int]) -> Floats:
        evidence = self.prepared(evidence).padded(max(depths))
        gains = self.table(evidence)[evidence.codes[:, : max(depths)]]
        x, weights = self._walk(gains)
        read = np.minimum(np.asarray(depths), evidence.lengths[:, None])
        gained = np.hstack([np.zeros((len(gains), 1)), np.cumsum(weights[:, :-1] * gains, axis=1)])
        total = np.hstack([np.zeros((len(gains), 1)), np.cumsum(weights[:, :-1], axis=1)])
        rest = self._rest(np.take_along_axis(weights, read, axis=1), np.take_along_axis(x, read, axis=1), 0.0)
        return np.take_along_axis(gained, read, axis=1) / (np.take_along_axis(total, read, axis=1) + rest)

    def _mean_gain(self, evidence: Evidence, gains: Floats, tail_gain: float) -> Floats:
        n = self.depth_read(evidence)
        read = np.minimum(evidence.lengths, n)
        gains = gains[:, :n]
        x, weights = self._walk(gains)
        rows = np.arange(len(gains))
        rest = self._rest(weights[rows, read], x[rows, read], tail_gain)
        weights = weights[:, :-1] * (np.arange(n) < read[:, None])
        return ((weights * gains).sum(axis=1) + rest * tail_gain) / (weights.sum(axis=1) + rest)

    def _walk(self, gains: Floats) -> tuple[Floats, Floats]:
        """x_0 .. x_n, where x_i = i + T + T_i, and the weights V(1) .. V(n+1)."""
        seen = np.hstack([np.zeros((len(gains), 1)), np.cumsum(gains, axis=1)])
        x = np.arange(gains.shape[1] + 1) + 2 * self.T - seen
        return x, np.hstack([np.ones((len(gains), 1)), np.cumprod(((x[:, 1:] - 1) / x[:, 1:]) ** 2, axis=1)])

    @staticmethod
    def _rest(weight: Floats, x: Floats, gain: float) -> Floats:
        """The sum of V past rank n, if V(n+1) is `weight`, x_n is `x` and all further documents have that gain."""
        if gain == 0:  # V falls as x^2 / (x+m)^2, whose sum is the trigamma function
            from scipy.special import polygamma

            total: Floats = weight * x**2 * polygamma(1, x)
            return total
        if gain == 1:  # x stays as it is, so V falls geometrically
            return weight / (1 - ((x - 1) / x) ** 2)
        # x grows by 1 - gain a place: two thousand of them, and then the integral of x^(-2/(1-gain)).
        steps = x[..., None] + (1 - gain) * np.arange(1, 2001)
        weights = weight[..., None] * np.cumprod(((steps - 1) / steps) ** 2, axis=-1)
        return weight + weights[..., :-1].sum(axis=-1) + weights[..., -1] * (steps[..., -1] / (1 + gain) + 0.5)
