"""Cascade measures: a reader goes from rank to rank and stops at a document with chance its gain."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import columns_at, row_sums
from fathoms.evidence.evidence import ALONE, Evidence, Floats, Ints, MixedGroups
from fathoms.measures.base import Basis, JudgingKind, RangeKind
from fathoms.measures.gains import Graded
from fathoms.measures.ties import mean_products

if TYPE_CHECKING:
    from fathoms.evidence.pairs import PairEvidence
    from fathoms.evidence.sparse_places import Listed


def stopping_terms(chances: Floats, effort: NDArray[Any]) -> Floats:
    """The chance to stop at each place, having passed those above, over the effort that it takes to get there."""
    terms = chances / effort
    terms[:, 1:] *= np.cumprod(1 - chances[:, :-1], axis=1)
    return terms


def stopping_effects(chances: Floats, effort: NDArray[Any]) -> Floats:
    """How much the sum of `stopping_terms` rises with the chance to stop at each place, in each of which it is linear.

    Whoever gets to place i stops there for 1 / effort(i), and else goes on for what lies below.
    """
    below = np.zeros(len(chances))
    effects = np.empty(chances.shape)
    for i in reversed(range(chances.shape[1])):
        effects[:, i] = 1 / effort[i] - below
        below = chances[:, i] / effort[i] + (1 - chances[:, i]) * below
    effects[:, 1:] *= np.cumprod(1 - chances[:, :-1], axis=1)
    return effects


class Cascade(Graded):
    """Declares `effort`: a reader who stops at rank i gets 1 / effort(i) (Chapelle et al. 2009)."""

    based_on: ClassVar[Basis] = "utility"
    range_claim: ClassVar[RangeKind] = "exact"
    gains_at_most_one: ClassVar[bool] = True
    has_tail: ClassVar[bool] = True
    multilinear: ClassVar[bool] = True
    judging: ClassVar[JudgingKind] = "draws"
    sums_listed: ClassVar[bool] = True

    @abstractmethod
    def effort(self, ranks: Ints) -> NDArray[Any]:
        """What it takes to get to these ranks, from 1 on; it must not fall from rank to rank."""

    def largest(self, evidence: Evidence) -> Floats:
        """Documents of the greatest gain without end."""
        return self._tail(np.zeros(len(evidence), dtype=np.int64), self.top_gain(evidence))

    def value(self, evidence: Evidence) -> Floats:
        return self._stopping(evidence, self.table(evidence))[0]

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        top = self.top_gain(evidence)
        high, reach_end = self._stopping(evidence, self.table(evidence, unknown=top))
        return score, high + reach_end * self._tail(np.minimum(evidence.lengths, self.depth_read(evidence)), top)

    def greatest_difference(self, pair: PairEvidence, limits: Ints) -> Floats | None:
        """Sound. Down to a place where both systems have shown the same documents, readers get on with the same chance.

        So the difference is a sum over the segments between such places, each times the chance to get there, which is
        least if all documents above have the greatest gain; a document that both have in the same place alone is a
        segment that adds nothing. Within a segment A has all the gain it can have, and B what is known.
        """
        evidence = pair.unranked
        n = pair.columns_a.shape[1] if self.k is None else min(int(self.k), pair.columns_a.shape[1])
        most, known = self.table(evidence, unknown=self.top_gain(evidence)), self.table(evidence)
        a, b = (np.take_along_axis(pair.codes, side[:, :n], axis=1) for side in (pair.columns_a, pair.columns_b))
        rank_b_of_a = np.take_along_axis(pair.rank_b, pair.columns_a[:, :n], axis=1)
        gain_a, gain_b, pass_a = most[a], known[b], known[a]
        if pair.over_all_orders:
            # In a tie group that both have, a place holds the same document in both: any one of the group.
            shared = np.take_along_axis(pair.shared, pair.columns_a[:, :n], axis=1)
            gain_a = _extremes(gain_a, shared, np.maximum)
            gain_b, pass_a = (_extremes(gain, shared, np.minimum) for gain in (gain_b, pass_a))
            rank_b_of_a = np.where(shared != ALONE, np.arange(1, n + 1), rank_b_of_a)
        together = np.maximum.accumulate(rank_b_of_a, axis=1) == np.arange(1, n + 1)
        inverse = 1 / self.effort(np.arange(1, n + 1))
        rows = len(pair)
        total, segment = np.zeros(rows), np.zeros(rows)
        left_a, left_b = np.ones(rows), np.ones(rows)  # the chance to go on, within the segment
        reach_most, reach_least = np.ones(rows), np.ones(rows)  # of getting to the segment
        pass_most, pass_least = np.ones(rows), np.ones(rows)  # of getting through it
        fresh = np.ones(rows, dtype=bool)
        for i in range(n):
            adds = (left_a * gain_a[:, i] - left_b * gain_b[:, i]) * inverse[i]
            segment += np.where(fresh & (rank_b_of_a[:, i] == i + 1), 0.0, adds)
            left_a, left_b = left_a * (1 - gain_a[:, i]), left_b * (1 - gain_b[:, i])
            pass_most, pass_least = pass_most * (1 - pass_a[:, i]), pass_least * (1 - gain_a[:, i])
            ends = together[:, i] | (i == n - 1)
            total += np.where(ends, segment * np.where(segment > 0, reach_most, reach_least), 0.0)
            reach_most, reach_least = (
                np.where(ends, reach * through, reach)
                for reach, through in ((reach_most, pass_most), (reach_least, pass_least))
            )
            segment = np.where(ends, 0.0, segment)
            left_a, left_b, pass_most, pass_least = (
                np.where(ends, 1.0, part) for part in (left_a, left_b, pass_most, pass_least)
            )
            fresh = ends
        if pair.over_all_orders:
            loose = pair.tied & (pair.shared == ALONE) & (np.minimum(pair.places_a[0], pair.places_b[0]) <= n)
            total = np.where(loose.any(axis=1), np.inf, total)
        return np.broadcast_to(total[:, None], (rows, len(limits)))

    def predicted(self, evidence: Evidence, gains: Floats) -> Floats:
        return self._terms(self.filled(evidence, gains)[:, : self.depth_read(evidence)]).sum(axis=1)

    def listed_sums(self, listed: Listed, values: Floats, known: Evidence) -> Floats:
        part = listed.cut(self.k)
        return part.stopping_sums(1 / self.effort(np.arange(1, part.depth + 1)), values)

    def place_effects(self, gains: Floats, relevant: Floats, known: Evidence) -> Floats:
        n = gains.shape[1]
        read = n if self.k is None else min(int(self.k), n)
        effects = np.zeros(gains.shape)
        effects[:, :read] = stopping_effects(gains[:, :read], self.effort(np.arange(1, read + 1)))
        return effects

    def at_depths(self, evidence: Evidence, depths: Sequence[int]) -> Floats:
        evidence = self.prepared(evidence).padded(max(depths))
        gains = self.table(evidence)[evidence.codes[:, : max(depths)]]
        return columns_at(np.cumsum(self._terms(gains), axis=1), depths)

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
        change = np.where(mixed.column < n, (new - old) / self.effort(mixed.column + 1), 0.0)
        return score + row_sums(mixed.row, change, len(evidence))

    def _terms(self, chances: Floats) -> Floats:
        return stopping_terms(chances, self.effort(np.arange(1, chances.shape[1] + 1)))

    def _stopping(self, evidence: Evidence, table: Floats) -> tuple[Floats, Floats]:
        """Sum of the chances to stop at each place over its effort, and the chance to go past the last one."""
        n = self.depth_read(evidence)
        gains = table[evidence.codes[:, :n]]
        return self._terms(gains).sum(axis=1), np.prod(1 - gains, axis=1)

    def _tail(self, read: Ints, gain: float) -> Floats:
        """sum_{i > n} G (1-G)^(i-n-1) / effort(i) for each n: what follows if every further document has gain G."""
        if gain <= 0:
            return np.zeros(len(read))
        steps = 1 if gain >= 1 else min(1_000_000, int(np.ceil(np.log(1e-18) / np.log1p(-gain))))
        lengths, place = np.unique(read, return_inverse=True)
        terms = gain * (1 - gain) ** np.arange(steps)
        sums = np.array([(terms / self.effort(n + 1 + np.arange(steps))).sum() for n in lengths])
        return sums[place]


def _extremes(values: Floats, group: Ints, extreme: np.ufunc) -> Floats:
    """[row, place]: values, but in a group (numbers that are not ALONE, places next to each other) their extreme."""
    starts = np.ones(values.shape, dtype=bool)
    starts[:, 1:] = (group[:, 1:] != group[:, :-1]) | (group[:, 1:] == ALONE)
    number = np.cumsum(starts.ravel()) - 1
    extremes: Floats = extreme.reduceat(values.ravel(), np.flatnonzero(starts.ravel()))[number]
    return extremes.reshape(values.shape)
