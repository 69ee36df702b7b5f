"""Weighted measures: the sum of W(i) times the gain at rank i. The weight says it all; the rest follows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fathoms.base.arrays import columns_at
from fathoms.base.rounding import logs
from fathoms.evidence.evidence import Evidence, Floats, Ints, MixedGroups
from fathoms.measures.base import Basis, JudgingKind, RangeKind
from fathoms.measures.gains import Graded, code_table
from fathoms.measures.params import param
from fathoms.measures.ties import expected_sum

if TYPE_CHECKING:
    from fathoms.evidence.pairs import PairEvidence
    from fathoms.evidence.sparse_places import Listed
    from fathoms.measures.normalised import NormalisedSum


def discounts(kind: str, n: int, b: float | None = None) -> Floats:
    """D(i) for i = 1..n: 1/log2(i+1), or Zipf's 1/i (LMC-depth section 2); with b Järvelin and Kekäläinen's own."""
    ranks = np.arange(1, n + 1)
    if b is not None:
        return 1 / np.maximum(logs(ranks, b), 1.0)
    return 1 / logs(ranks + 1, 2) if kind == "log2" else 1 / ranks


class Discounted:
    """What rank i counts, for cumulated gain and what is made of it."""

    discount: str = param("log2", "what rank i counts: log2, 1/log2(i+1); zipf, 1/i", choices=("log2", "zipf"))
    b: float | None = param(
        None,
        "in place of `discount` that of Järvelin and Kekäläinen: ranks up to b count in full, deeper ones 1/log_b(i)",
        check="base",
    )

    def weight(self, n: int) -> Floats:
        return discounts(self.discount, n, self.b)


@lru_cache(maxsize=16)
def weights_of(measure: Weighted | NormalisedSum, n: int) -> Floats:
    """A measure's `weight`, made once for runs of the same length."""
    weights = measure.weight(n)
    weights.flags.writeable = False
    return weights


def padded(weights: Floats, n: int) -> Floats:
    """The weights of the first n ranks, 0 past the cut-off."""
    return np.append(weights[:n], np.zeros(max(0, n - len(weights))))


class Weighted(Graded):
    """Declares `weight` and, where it has one, `normaliser`: W(i) = weight(i) / normaliser(k)."""

    based_on: ClassVar[Basis] = "utility"
    range_claim: ClassVar[RangeKind] = "exact"
    difference_claim: ClassVar[RangeKind] = "exact"
    linear_in_gains: ClassVar[bool] = True
    sums_listed: ClassVar[bool] = True
    judging: ClassVar[JudgingKind] = "closed form"

    @abstractmethod
    def weight(self, n: int) -> Floats:
        """The weights of the first n ranks, none of them negative."""

    def normaliser(self, k: int, evidence: Evidence) -> float:
        return 1.0

    def tail(self, evidence: Evidence) -> Floats | float:
        """The weight of all that lies past the places read, where the measure has a tail."""
        return 0.0

    def weights(self, evidence: Evidence) -> Floats:
        n = self.depth_read(evidence)
        return weights_of(self, n) / self._normaliser(evidence)

    def _normaliser(self, evidence: Evidence) -> float:
        return self.normaliser(evidence.width if self.k is None else int(self.k), evidence)

    def largest(self, evidence: Evidence) -> Floats:
        """The greatest gain at every place: at all k, or where there is no cut-off at those of the run."""
        n, top = self.depth_read(evidence), self.top_gain(evidence)
        k = n if self.k is None else int(self.k)
        read = np.minimum(evidence.lengths, n) if self.k is None else np.full(len(evidence), k)
        total = np.cumsum(self.weight(k)) * top
        return total[np.maximum(read, 1) - 1] / self.normaliser(k, evidence) + top * self.tail(evidence)

    def value(self, evidence: Evidence) -> Floats:
        return self._sum(evidence, self.table(evidence))

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        n = self.depth_read(evidence)
        extra = evidence.unjudged[:, :n] @ weights_of(self, n) / self._normaliser(evidence) + self.tail(evidence)
        return score, score + self.top_gain(evidence) * extra

    def greatest_difference(self, pair: PairEvidence, limits: Ints) -> Floats | None:
        from fathoms.measures.differences import greatest_sum, weight_differences

        n = pair.width if self.k is None else int(self.k)
        weights = self.weight(n) / self.normaliser(n, pair.unranked)
        difference = weight_differences(pair, weights)
        base = (difference * self.table(pair.unranked)[pair.codes]).sum(axis=1)
        return greatest_sum(base, self.top_gain(pair.unranked) * difference, pair.unjudged, limits)

    def expected_range(self, evidence: Evidence) -> tuple[Floats | None, Floats | None]:
        """Unjudged documents share their group's weight, so the expected residual is again a weighted sum."""
        low = self._expected_sum(evidence, self.table(evidence))
        extra = self._expected_sum(evidence, self._unknown(evidence)) + self.tail(evidence)
        return low, low + self.top_gain(evidence) * extra

    def predicted(self, evidence: Evidence, gains: Floats) -> Floats:
        return self.filled(evidence, gains)[:, : self.depth_read(evidence)] @ self.weights(evidence)

    def listed_sums(self, listed: Listed, values: Floats, known: Evidence) -> Floats:
        part = listed.cut(self.k)
        depth = part.depth if self.k is None else int(self.k)
        return part.weighted_sums(self.weight(depth) / self.normaliser(depth, known), values)

    def place_effects(self, gains: Floats, relevant: Floats, known: Evidence) -> Floats:
        n = gains.shape[1]
        depth = n if self.k is None else int(self.k)
        weights = self.weight(depth) / self.normaliser(depth, known)
        return np.broadcast_to(padded(weights, n), gains.shape)

    def at_depths(self, evidence: Evidence, depths: Sequence[int]) -> Floats:
        evidence = self.prepared(evidence).padded(max(depths))
        n = max(depths)
        sums = np.cumsum(self.table(evidence)[evidence.codes[:, :n]] * self.weight(n), axis=1)
        scale = np.array([self.normaliser(k, evidence) for k in depths])
        return columns_at(sums, depths) / scale

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        return expected_sum(evidence, score, mixed, self.table(evidence), self.weights(evidence))

    def _sum(self, evidence: Evidence, table: Floats) -> Floats:
        n = self.depth_read(evidence)
        places = evidence.holding(table, n)
        return places.sums(table[places.code] * weights_of(self, n)[places.column]) / self._normaliser(evidence)

    def _expected_sum(self, evidence: Evidence, table: Floats) -> Floats:
        total = self._sum(evidence, table)
        mixed = evidence.mixed(table, self.depth_read(evidence))
        return total if mixed is None else expected_sum(evidence, total, mixed, table, self.weights(evidence))

    @staticmethod
    def _unknown(evidence: Evidence) -> Floats:
        return code_table(np.zeros(len(evidence.levels)), unknown=1.0)
