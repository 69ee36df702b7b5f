"""Cascade measures: how much a place counts depends on what was found above it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from fathoms.data.arrays import columns_at, distinct, ratio, row_sums
from fathoms.errors import FathomsError
from fathoms.evidence.evidence import Evidence, Floats, Ints, MixedGroups
from fathoms.measures.base import Binary, Graded, code_table, param
from fathoms.measures.normalised import check_universe, outside


class RR(Binary):
    """Reciprocal rank: one over the rank of the first relevant document."""

    range_is: ClassVar[str] = "exact"

    def _first(self, evidence: Evidence, relevant: Floats) -> Floats:
        found = relevant[evidence.codes[:, : self.depth_read(evidence)]] > 0
        return np.where(found.any(axis=1), 1 / (found.argmax(axis=1) + 1), 0.0)

    def value(self, evidence: Evidence) -> Floats:
        return self._first(evidence, self.relevant(evidence))

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        if not self.can_be_relevant(evidence):
            return score, score
        return score, self._first(evidence, code_table((evidence.levels >= self.rel).astype(float), unknown=1.0))

    def predicted(self, evidence: Evidence, gains: Floats) -> Floats:
        return stopping_terms(self.chances(evidence, gains)[:, : self.depth_read(evidence)]).sum(axis=1)

    def at_depths(self, evidence: Evidence, depths: Sequence[int]) -> Floats:
        evidence = self.prepared(evidence).cut(max(depths))
        first = self.replace(k=None)._first(evidence, self.relevant(evidence))
        return np.where(first[:, None] * np.asarray(depths) >= 1 - 1e-9, first[:, None], 0.0)

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        """Where the first relevant document is one of t in a group of s: sum over its place j of P(j) / rank.

        P(first at j) = C(s-1-j, t-1) / C(s, t), from j = 0.
        """
        relevant = self.relevant(evidence)
        first = relevant[evidence.codes[:, : mixed.column.max() + 1]].argmax(axis=1)
        top = mixed.column[mixed.start]
        row = mixed.row[mixed.start]
        concerned = (top <= first[row]) & (first[row] < top + mixed.size)
        found = mixed.totals(relevant[evidence.codes[mixed.row, mixed.column]])[concerned]
        size, top, row = mixed.size[concerned].astype(float), top[concerned], row[concerned]
        expected = score.copy()
        if not len(row):
            return expected
        j = np.arange(int(size.max()))
        # The chance that places 0..j all hold nothing relevant, as a running product that stops at zero.
        next_too = np.maximum(size[:, None] - found[:, None] - j, 0) / np.maximum(size[:, None] - j, 1)
        none_through = np.cumprod(next_too, axis=1)
        none_before = np.hstack([np.ones((len(row), 1)), none_through[:, :-1]])
        rank = top[:, None] + j + 1
        read = rank <= self.depth_read(evidence)
        expected[row] = ((none_before - none_through) / rank * read).sum(axis=1)
        return expected


class ERR(Graded):
    """Expected reciprocal rank (Chapelle et al. 2009): the reader stops at a document with chance its gain."""

    gain: str = param("exp", order=2, choices=("binary", "raw", "linear", "exp"))
    range_is: ClassVar[str] = "exact"
    gains_at_most_one: ClassVar[bool] = True

    def value(self, evidence: Evidence) -> Floats:
        return self._stopping(evidence, self.table(evidence))[0]

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        top = self.top_gain(evidence)
        high, reach_end = self._stopping(evidence, self.table(evidence, unknown=top))
        return score, high + reach_end * self._tail(np.minimum(evidence.lengths, self.depth_read(evidence)), top)

    def predicted(self, evidence: Evidence, gains: Floats) -> Floats:
        return stopping_terms(self.filled(evidence, gains)[:, : self.depth_read(evidence)]).sum(axis=1)

    def at_depths(self, evidence: Evidence, depths: Sequence[int]) -> Floats:
        evidence = self.prepared(evidence).padded(max(depths))
        gains = self.table(evidence)[evidence.codes[:, : max(depths)]]
        return columns_at(np.cumsum(stopping_terms(gains), axis=1), depths)

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        """The chance to pass i places of a tie group is the mean, over its i-subsets, of the product of 1 - gain.

        Taking documents in one by one, the mean over i-subsets of the first m is a mixture of the means over the
        i-subsets and (i-1)-subsets of the first m - 1, so no large binomials appear.
        """
        table = self.table(evidence)
        n = self.depth_read(evidence)
        pass_on = 1 - table[evidence.codes]
        reach = np.hstack([np.ones((len(evidence), 1)), np.cumprod(pass_on, axis=1)])
        through = mean_products(pass_on[mixed.row, mixed.column], mixed)
        before = np.where(mixed.within == 0, 1.0, np.roll(through, 1))
        new = reach[mixed.row, mixed.column - mixed.within] * (before - through)
        old = reach[mixed.row, mixed.column] * (1 - pass_on[mixed.row, mixed.column])
        change = np.where(mixed.column < n, (new - old) / (mixed.column + 1), 0.0)
        return score + row_sums(mixed.row, change, len(evidence))

    def _stopping(self, evidence: Evidence, table: Floats) -> tuple[Floats, Floats]:
        """Sum of the chances to stop at each place over its rank, and the chance to go past the last one."""
        n = self.depth_read(evidence)
        gains = table[evidence.codes[:, :n]]
        return stopping_terms(gains).sum(axis=1), np.prod(1 - gains, axis=1)

    @staticmethod
    def _tail(read: Ints, gain: float) -> Floats:
        """sum_{i > n} G (1-G)^(i-n-1) / i for each n: what follows if every further document has gain G."""
        if gain <= 0:
            return np.zeros(len(read))
        steps = 1 if gain >= 1 else min(1_000_000, int(np.ceil(np.log(1e-18) / np.log1p(-gain))))
        lengths, place = np.unique(read, return_inverse=True)
        terms = gain * (1 - gain) ** np.arange(steps)
        sums = np.array([(terms / (n + 1 + np.arange(steps))).sum() for n in lengths])
        return sums[place]


def stopping_terms(chances: Floats) -> Floats:
    """The chance to stop at each place, having passed those above, over its rank."""
    terms = chances / np.arange(1, chances.shape[1] + 1)
    terms[:, 1:] *= np.cumprod(1 - chances[:, :-1], axis=1)
    return terms


def mean_products(factors: Floats, mixed: MixedGroups) -> Floats:
    """For place i (from 0) of each group: the mean over all (i+1)-subsets of the group of the product of factors."""
    out = np.empty(len(factors))
    for size in distinct(mixed.size):
        groups = np.flatnonzero(mixed.size == size)
        places = mixed.start[groups][:, None] + np.arange(size)
        members = factors[places]
        means = np.zeros((len(groups), size + 1))
        means[:, 0] = 1.0
        for m in range(1, size + 1):
            share = np.arange(1, m + 1) / m
            means[:, 1 : m + 1] = (1 - share) * means[:, 1 : m + 1] + share * members[:, m - 1 : m] * means[:, :m]
        out[places] = means[:, 1:]
    return out


class nERR(ERR):
    """ERR over the ERR of the ideal ranking of the judged documents."""

    range_is: ClassVar[str] = "sound"
    universe: str | float = param("run", order=7)

    def check(self) -> None:
        super().check()
        check_universe(self)

    def value(self, evidence: Evidence) -> Floats:
        return ratio(super().value(evidence), self._ideal(evidence, evidence.counts))

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        """Sound: least and greatest ERR over the greatest and the known ideal; not both can hold at once."""
        n = self.depth_read(evidence)
        raw = super().value(evidence)
        unjudged = evidence.unjudged[:, :n].sum(axis=1)
        high = self._stopping(evidence, self.table(evidence, unknown=self.top_gain(evidence)))[0]
        known = self._ideal(evidence, evidence.counts)
        most = self._ideal(evidence, evidence.counts, unjudged + outside(evidence, n, self.universe))
        # Nothing known: any document found relevant makes its own ideal.
        top = np.where(known > 0, np.minimum(ratio(high, known), 1.0), (unjudged > 0) * 1.0)
        return ratio(raw, most), np.where(unjudged > 0, np.maximum(top, score), score)

    def predicted(self, evidence: Evidence, gains: Floats) -> Floats:
        """Over the ideal with as many more documents of the greatest gain as the predictions are worth."""
        more = (np.where(evidence.unjudged, gains[:, : evidence.width], 0.0)).sum(axis=1) / self.top_gain(evidence)
        return ratio(super().predicted(evidence, gains), self._ideal(evidence, evidence.counts, np.rint(more)))

    def at_depths(self, evidence: Evidence, depths: Sequence[int]) -> Floats:
        evidence = self.prepared(evidence)
        found = super().at_depths(evidence, depths)
        return ratio(found, np.stack([self._ideal(evidence, evidence.counts, k=k) for k in depths], axis=1))

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        raw = super().expected(evidence, super().value(evidence), mixed)
        return None if raw is None else ratio(raw, self._ideal(evidence, evidence.counts))

    def _ideal(self, evidence: Evidence, counts: Ints, extra: Floats | float = 0, k: int | None = None) -> Floats:
        """ERR of the documents in order of falling gain, `extra` ones of the greatest grade first.

        Documents of one gain make a geometric run of chances, but divided by rank; summed place by place.
        """
        gains = self.level_gains(evidence)
        cut = k or self.k
        extra = np.broadcast_to(np.asarray(extra, dtype=float), (len(evidence),))
        sizes = np.column_stack([extra, counts[:, ::-1]])
        each = np.append(self.top_gain(evidence), gains[::-1])
        longest = sizes[:, np.append(True, gains[::-1] > 0)].sum(axis=1).max(initial=0)
        # Past some two thousand places the rest is below 1/2000 of nothing: the chance to get there is nil.
        width = int(min(longest, cut or np.inf, 100_000))
        ends = np.cumsum(sizes, axis=1)
        place = np.arange(width)
        level = (place[None, :, None] >= ends[:, None, :]).sum(axis=2) if width else np.zeros((len(evidence), 0), int)
        table = np.append(each, 0.0)
        ideal = table[np.minimum(level, len(each))]
        return stopping_terms(ideal).sum(axis=1)


class INST(Graded):
    """INST (Bailey et al. 2015): a reader who wants T documents' worth of gain goes on until it is found.

    C(i) = ((i + T + T_i - 1) / (i + T + T_i))^2, T_i = T minus the gain seen through rank i; the score is the mean
    gain under the weights V(1) = 1, V(i+1) = V(i) C(i), over a ranking without end.
    """

    T: float = param(1.0, check="positive", always_shown=True)
    gain: str = param("linear", order=2, choices=("binary", "raw", "linear", "exp"))
    range_is: ClassVar[str] = "exact"
    sorting_is_optimal = False
    gains_at_most_one: ClassVar[bool] = True

    def check(self) -> None:
        super().check()
        if self.T < 1:
            raise FathomsError(f"INST: T must be at least 1, found {self.T:g}")

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
        found = np.hstack([np.zeros((len(gains), 1)), np.cumsum(weights[:, :-1] * gains, axis=1)])
        total = np.hstack([np.zeros((len(gains), 1)), np.cumsum(weights[:, :-1], axis=1)])
        rest = self._rest(np.take_along_axis(weights, read, axis=1), np.take_along_axis(x, read, axis=1), 0.0)
        return np.take_along_axis(found, read, axis=1) / (np.take_along_axis(total, read, axis=1) + rest)

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
