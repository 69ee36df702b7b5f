"""Measures of the run as a set, whatever its order: precision, recall, F and products of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fathoms.base.arrays import ratio
from fathoms.evidence.evidence import Evidence, Floats, Ints
from fathoms.measures.base import Basis, RangeKind
from fathoms.measures.counting import Counting, CountingOfAll
from fathoms.measures.params import param
from fathoms.measures.recall import R

if TYPE_CHECKING:
    from fathoms.evidence.pairs import PairEvidence


class SetP(Counting):
    """Precision of the whole run: relevant documents over documents retrieved."""

    trec_eval = "set_P"
    citation = "C. W. Cleverdon (1967). The Cranfield tests on index language devices."
    based_on: ClassVar[Basis] = "utility"
    cutoff: ClassVar[str] = "none"
    depends_on_order: ClassVar[bool] = False
    difference_claim: ClassVar[RangeKind] = "exact"

    def value(self, evidence: Evidence) -> Floats:
        return ratio(self.found(evidence), evidence.lengths)

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        return score, ratio(self.found(evidence) + self.unknown(evidence), evidence.lengths)

    def greatest_difference(self, pair: PairEvidence, limits: Ints) -> Floats | None:
        from fathoms.measures.differences import greatest_sum

        in_a, in_b = np.isfinite(pair.rank_a), np.isfinite(pair.rank_b)
        difference = ratio(in_a, pair.length_a[:, None]) - ratio(in_b, pair.length_b[:, None])
        base = (difference * self.relevant(pair.unranked)[pair.codes]).sum(axis=1)
        return greatest_sum(base, difference, pair.unjudged & self.can_be_relevant(pair.unranked), limits)


class SetRelP(CountingOfAll):
    """Precision of the whole run over the most that as many documents could have.

        SetRelP = relevant documents retrieved / min(documents retrieved, R)

    ir_measures' `SetP(relative=True)`.
    """

    trec_eval = "set_relative_P"
    citation = "C. W. Cleverdon (1967). The Cranfield tests on index language devices."
    cutoff: ClassVar[str] = "none"
    depends_on_order: ClassVar[bool] = False

    def value(self, evidence: Evidence) -> Floats:
        return ratio(self.found(evidence), np.minimum(evidence.lengths, self.known_relevant(evidence)))

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        """More relevant documents in the run raise it, whether R or the length divides; others never do."""
        found, total, unknown = self.found(evidence), self.known_relevant(evidence), self.unknown(evidence)
        return (
            ratio(found, np.minimum(evidence.lengths, total + self.outside(evidence))),
            ratio(found + unknown, np.minimum(evidence.lengths, total + unknown)),
        )


class SetAP(CountingOfAll):
    """Precision of the whole run times its recall.

    SetAP = SetP SetR
    """

    trec_eval = "set_map"
    citation = "C. J. van Rijsbergen (1979). Information retrieval, second edition."
    cutoff: ClassVar[str] = "none"
    depends_on_order: ClassVar[bool] = False

    def value(self, evidence: Evidence) -> Floats:
        return self._product(self.found(evidence), self.known_relevant(evidence), evidence.lengths)

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        found, total, unknown = self.found(evidence), self.known_relevant(evidence), self.unknown(evidence)
        return (
            self._product(found, total + self.outside(evidence), evidence.lengths),
            self._product(found + unknown, total + unknown, evidence.lengths),
        )

    def _product(self, found: Floats, total: Floats, retrieved: Ints) -> Floats:
        return ratio(found, retrieved) * ratio(found, total)


class SetR(R):
    """Recall of the whole run: relevant documents retrieved over all relevant documents."""

    trec_eval = "set_recall"
    citation = "C. W. Cleverdon (1967). The Cranfield tests on index language devices."
    based_on: ClassVar[Basis] = "recall"
    cutoff: ClassVar[str] = "none"
    depends_on_order: ClassVar[bool] = False
    difference_claim: ClassVar[RangeKind] = "exact"


class SetF(CountingOfAll):
    """Weighted harmonic mean of SetP and SetR; F1 with the default beta.

        SetF = (beta + 1) SetP SetR / (beta SetP + SetR)

    **beta is not squared**, as in trec_eval: the usual F_2 is `SetF(beta=4)`.
    """

    aliases = ("F1",)
    trec_eval = "set_F"
    examples = ("SetF", "SetF(beta=4)")
    citation = "C. J. van Rijsbergen (1979). Information retrieval, second edition."
    cutoff: ClassVar[str] = "none"
    depends_on_order: ClassVar[bool] = False
    difference_claim: ClassVar[RangeKind] = "exact"

    beta: float = param(1.0, "how much more recall counts than precision, not squared", check="positive")

    def value(self, evidence: Evidence) -> Floats:
        return self._mean(self.found(evidence), self.known_relevant(evidence), evidence.lengths)

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        found, total, unknown = self.found(evidence), self.known_relevant(evidence), self.unknown(evidence)
        return (
            self._mean(found, total + self.outside(evidence), evidence.lengths),
            self._mean(found + unknown, total + unknown, evidence.lengths),
        )

    def greatest_difference(self, pair: PairEvidence, limits: Ints) -> Floats | None:
        """For a number M of new relevant documents the weights are given: take the M best of those that only A has,
        both have (as good as the shorter run is A's), neither has, and only B has."""
        in_a, in_b = np.isfinite(pair.rank_a), np.isfinite(pair.rank_b)
        open_ = pair.unjudged & self.can_be_relevant(pair.unranked)
        known = self.relevant(pair.unranked)[pair.codes] > 0
        only_a, both, only_b = in_a & ~in_b, in_a & in_b, in_b & ~in_a
        kinds = [(kind & open_).sum(axis=1)[:, None] for kind in (only_a, both, only_b)]
        others = np.where(self.can_be_relevant(pair.unranked), pair.others, 0)[:, None]
        most = np.minimum(sum(kinds) + others, 2 * pair.codes.shape[1] + 1)
        M = np.arange(int(most.max(initial=0)) + 1)[None, :]
        total = self.known_relevant(pair.unranked)[:, None] + M
        weight_a, weight_b = (
            (1 + self.beta) / np.maximum(self.beta * total + length[:, None], 1e-300)
            for length in (pair.length_a, pair.length_b)
        )
        above = (known & in_a).sum(axis=1)[:, None] * weight_a - (known & in_b).sum(axis=1)[:, None] * weight_b
        left = np.broadcast_to(M, above.shape)
        shared_first = weight_a >= weight_b
        none = np.zeros_like(weight_a)
        for size, weight in (
            (kinds[0], weight_a),
            (np.where(shared_first, kinds[1], 0), weight_a - weight_b),
            (others, none),
            (np.where(shared_first, 0, kinds[1]), weight_a - weight_b),
            (kinds[2], -weight_b),
        ):
            some = np.minimum(left, size)
            above = above + some * weight
            left = left - some
        above = np.where(most >= M, above, -np.inf)
        best = np.maximum.accumulate(above, axis=1)
        return best[:, np.minimum(limits, best.shape[1] - 1)]

    def _mean(self, found: Floats, total: Floats, retrieved: Ints) -> Floats:
        return ratio((1 + self.beta) * found, self.beta * total + retrieved)
