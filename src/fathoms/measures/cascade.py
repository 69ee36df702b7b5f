"""Cascade measures: a reader goes from rank to rank and stops at a document with chance its gain."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fathoms.data.arrays import columns_at, row_sums
from fathoms.evidence.evidence import Evidence, Floats, Ints, MixedGroups
from fathoms.measures.base import Basis, RangeKind
from fathoms.measures.gains import Graded
from fathoms.measures.ties import mean_products


def stopping_terms(chances: Floats, effort: NDArray[Any]) -> Floats:
    """The chance to stop at each place, having passed those above, over the effort that it takes to get there."""
    terms = chances / effort
    terms[:, 1:] *= np.cumprod(1 - chances[:, :-1], axis=1)
    return terms


class Cascade(Graded):
    """Declares `effort`: a reader who stops at rank i gets 1 / effort(i) (Chapelle et al. 2009)."""

    based_on: ClassVar[Basis] = "utility"
    range_claim: ClassVar[RangeKind] = "exact"
    gains_at_most_one: ClassVar[bool] = True

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

    def predicted(self, evidence: Evidence, gains: Floats) -> Floats:
        return self._terms(self.filled(evidence, gains)[:, : self.depth_read(evidence)]).sum(axis=1)

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
