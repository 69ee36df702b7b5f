"""Weighted measures: the sum of W(i) times the gain at rank i. The weight says it all; the rest follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from fathoms.data.arrays import columns_at, row_sums
from fathoms.data.qrels import JUDGED
from fathoms.evidence.evidence import Evidence, Floats, MixedGroups
from fathoms.measures.base import Graded, Measure, code_table, param


def discounts(kind: str, n: int) -> Floats:
    """D(i) for i = 1..n: 1/log2(i+1), or Zipf's 1/i (LMC-depth section 2)."""
    ranks = np.arange(1, n + 1)
    return 1 / np.log2(ranks + 1) if kind == "log2" else 1 / ranks


def expected_sum(evidence: Evidence, total: Floats, mixed: MixedGroups, table: Floats, weights: Floats) -> Floats:
    """A weighted sum's mean over tie orders: each place of a group gets the group's mean gain."""
    gains = table[evidence.codes[mixed.row, mixed.column]]
    surplus = (mixed.totals(gains) / mixed.size)[mixed.group] - gains
    read = mixed.column < len(weights)
    change = surplus[read] * weights[mixed.column[read]]
    return total + row_sums(mixed.row[read], change, len(evidence))


class Weighted(Graded):
    """Declares `decay` and `scale`: W(i) = decay(i) / scale(k)."""

    range_is: ClassVar[str] = "exact"

    def weight(self, n: int) -> Floats:
        raise NotImplementedError

    def normaliser(self, k: int, evidence: Evidence) -> float:
        return 1.0

    def tail(self, evidence: Evidence) -> Floats | float:
        """The weight of all that lies past the places read, where the measure has a tail."""
        return 0.0

    def weights(self, evidence: Evidence) -> Floats:
        n = self.depth_read(evidence)
        return self.weight(n) / self.normaliser(n if self.k is None else int(self.k), evidence)

    def value(self, evidence: Evidence) -> Floats:
        return self._sum(evidence, self.table(evidence))

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        extra = self._sum(evidence, self._unknown(evidence)) + self.tail(evidence)
        return score, score + self.top_gain(evidence) * extra

    def expected_range(self, evidence: Evidence) -> tuple[Floats | None, Floats | None]:
        """Unjudged documents share their group's weight, so the expected residual is again a weighted sum."""
        low = self._expected_sum(evidence, self.table(evidence))
        extra = self._expected_sum(evidence, self._unknown(evidence)) + self.tail(evidence)
        return low, low + self.top_gain(evidence) * extra

    def predicted(self, evidence: Evidence, gains: Floats) -> Floats:
        return self.filled(evidence, gains)[:, : self.depth_read(evidence)] @ self.weights(evidence)

    def at_depths(self, evidence: Evidence, depths: Sequence[int]) -> Floats:
        evidence = self.prepared(evidence).padded(max(depths))
        n = max(depths)
        sums = np.cumsum(self.table(evidence)[evidence.codes[:, :n]] * self.weight(n), axis=1)
        scale = np.array([self.normaliser(k, evidence) for k in depths])
        return columns_at(sums, depths) / scale

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        return expected_sum(evidence, score, mixed, self.table(evidence), self.weights(evidence))

    def _sum(self, evidence: Evidence, table: Floats) -> Floats:
        return table[evidence.codes[:, : self.depth_read(evidence)]] @ self.weights(evidence)

    def _expected_sum(self, evidence: Evidence, table: Floats) -> Floats:
        total = self._sum(evidence, table)
        mixed = evidence.mixed(table, self.depth_read(evidence))
        return total if mixed is None else expected_sum(evidence, total, mixed, table, self.weights(evidence))

    @staticmethod
    def _unknown(evidence: Evidence) -> Floats:
        return code_table(np.zeros(len(evidence.levels)), unknown=1.0)


class P(Weighted):
    """Precision: the share of relevant documents among the first k places (always divided by k)."""

    gain: str = param("binary", order=2, choices=("binary", "raw", "linear", "exp"))
    cutoff: ClassVar[str] = "required"

    def weight(self, n: int) -> Floats:
        return np.ones(n)

    def normaliser(self, k: int, evidence: Evidence) -> float:
        return float(k)


class RBP(Weighted):
    """Rank-biased precision (Moffat and Zobel 2008): a reader goes on to the next document with chance p."""

    p: float = param(0.8, check="share", always_shown=True)
    gain: str = param("binary", order=2, choices=("binary", "raw", "linear", "exp"))

    def weight(self, n: int) -> Floats:
        return (1 - self.p) * np.power(self.p, np.arange(n))

    def tail(self, evidence: Evidence) -> Floats | float:
        return self.p ** np.minimum(evidence.lengths, self.depth_read(evidence))


class DCG(Weighted):
    """Discounted cumulative gain (Järvelin and Kekäläinen 2002), not normalised."""

    discount: str = param("log2", choices=("log2", "zipf"))
    exp_is_scaled: ClassVar[bool] = False

    def weight(self, n: int) -> Floats:
        return discounts(self.discount, n)


class SDCG(DCG):
    """DCG@k over the most that any ranking of length k could have: the greatest gain at every place (RM section 3)."""

    cutoff: ClassVar[str] = "required"

    def normaliser(self, k: int, evidence: Evidence) -> float:
        return float(self.top_gain(evidence) * discounts(self.discount, k).sum())


class Judged(Measure):
    """The share of the first k documents that are judged (of all, where fewer were retrieved)."""

    cutoff: ClassVar[str] = "required"

    def tie_value(self, evidence: Evidence) -> Floats:
        return code_table(np.ones(len(evidence.levels)))

    def value(self, evidence: Evidence) -> Floats:
        judged = (evidence.codes[:, : self.depth_read(evidence)] >= JUDGED).sum(axis=1)
        return judged / self._read(evidence)

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        weights = np.ones(self.depth_read(evidence))
        judged = expected_sum(evidence, score * self._read(evidence), mixed, self.tie_value(evidence), weights)
        return judged / self._read(evidence)

    def _read(self, evidence: Evidence) -> Floats:
        return np.clip(evidence.lengths, 1, self.k).astype(np.float64)
