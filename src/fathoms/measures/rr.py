"""Reciprocal rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fathoms.base.rounding import rounded
from fathoms.evidence.evidence import Bools, Evidence, Floats, Ints, MixedGroups
from fathoms.measures.base import Basis, JudgingKind, RangeKind
from fathoms.measures.cascade import stopping_effects, stopping_terms
from fathoms.measures.gains import Binary

if TYPE_CHECKING:
    from fathoms.evidence.pairs import PairEvidence
    from fathoms.evidence.sparse_places import Listed


class RR(Binary):
    """Reciprocal rank: 1 over the rank of the first relevant document (within the first k), 0 if there is none."""

    aliases = ("MRR",)
    trec_eval = "recip_rank"
    examples = ("RR", "RR@10")
    citation = "E. M. Voorhees (1999). The TREC-8 question answering track report."
    based_on: ClassVar[Basis] = "utility"
    range_claim: ClassVar[RangeKind] = "exact"
    difference_claim: ClassVar[RangeKind] = "exact"
    judging: ClassVar[JudgingKind] = "draws"
    sums_listed: ClassVar[bool] = True

    def _first(self, is_relevant: Bools) -> Floats:
        return np.where(is_relevant.any(axis=1), 1 / (is_relevant.argmax(axis=1) + 1), 0.0)

    def _found(self, evidence: Evidence) -> Bools:
        return evidence.worth_something(self.relevant(evidence), self.depth_read(evidence))

    def value(self, evidence: Evidence) -> Floats:
        return self._first(self._found(evidence))

    def attainable(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """0 or 1 over a rank, and the first k ranks are read."""
        last = np.inf if self.k is None else float(self.k)
        with np.errstate(divide="ignore"):
            worst, best = np.ceil(rounded(1 / low)), np.maximum(1, np.floor(rounded(1 / high)))
        return np.where(worst > last, 0.0, 1 / worst), np.where(high > 0, 1 / np.minimum(best, last), 0.0)

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        if not self.can_be_relevant(evidence):
            return score, score
        return score, self._first(self._found(evidence) | evidence.unjudged[:, : self.depth_read(evidence)])

    def predicted(self, evidence: Evidence, gains: Floats) -> Floats:
        chances = self.chances(evidence, gains)[:, : self.depth_read(evidence)]
        return stopping_terms(chances, np.arange(1, chances.shape[1] + 1)).sum(axis=1)

    def listed_sums(self, listed: Listed, values: Floats, known: Evidence) -> Floats:
        part = listed.cut(self.k)
        return part.greatest(1 / np.arange(1.0, part.depth + 1), values)

    def place_effects(self, gains: Floats, relevant: Floats, known: Evidence) -> Floats:
        n = gains.shape[1]
        read = n if self.k is None else min(int(self.k), n)
        effects = np.zeros(gains.shape)
        effects[:, :read] = stopping_effects(gains[:, :read], np.arange(1, read + 1))
        return effects

    def greatest_difference(self, pair: PairEvidence, limits: Ints) -> Floats | None:
        from fathoms.measures.differences import greatest_of_best

        n = pair.width if self.k is None else int(self.k)
        if not self.can_be_relevant(pair.unranked):
            limits = np.zeros_like(limits)
        return greatest_of_best(pair, 1 / np.arange(1, n + 1), self.relevant(pair.unranked), limits)

    def at_depths(self, evidence: Evidence, depths: Sequence[int]) -> Floats:
        evidence = self.prepared(evidence).cut(max(depths))
        first = self.replace(k=None).value(evidence)
        return np.where(first[:, None] * np.asarray(depths) >= 1 - 1e-9, first[:, None], 0.0)

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        """Where the first relevant document is one of t in a group of s: sum over its place j of P(j) / rank.

        P(first at j) = C(s-1-j, t-1) / C(s, t), from j = 0.
        """
        relevant = self.relevant(evidence)
        known = evidence.holding(relevant, evidence.width)
        first = known.column[known.start[mixed.rows]]  # a group that is mixed holds a relevant document
        top = mixed.column[mixed.start]
        row = mixed.row[mixed.start]
        first = first[mixed.local[mixed.start]]
        concerned = (top <= first) & (first < top + mixed.size)
        n_relevant = mixed.totals(relevant[mixed.code])[concerned]
        size, top, row = mixed.size[concerned].astype(float), top[concerned], row[concerned]
        expected = score.copy()
        if not len(row):
            return expected
        j = np.arange(int(size.max()))
        # The chance that places 0..j all hold nothing relevant, as a running product that stops at zero.
        next_too = np.maximum(size[:, None] - n_relevant[:, None] - j, 0) / np.maximum(size[:, None] - j, 1)
        none_through = np.cumprod(next_too, axis=1)
        none_before = np.hstack([np.ones((len(row), 1)), none_through[:, :-1]])
        rank = top[:, None] + j + 1
        read = rank <= self.depth_read(evidence)
        expected[row] = ((none_before - none_through) / rank * read).sum(axis=1)
        return expected
