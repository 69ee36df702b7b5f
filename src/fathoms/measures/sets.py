"""Measures of the run as a set, whatever its order: precision, recall and F."""

from __future__ import annotations

from typing import ClassVar

from fathoms.data.arrays import ratio
from fathoms.evidence.evidence import Evidence, Floats, Ints
from fathoms.measures.base import Basis
from fathoms.measures.counting import Counting, CountingOfAll
from fathoms.measures.params import param
from fathoms.measures.recall import R


class SetP(Counting):
    """Precision of the whole run: relevant documents over documents retrieved."""

    trec_eval = "set_P"
    citation = "C. W. Cleverdon (1967). The Cranfield tests on index language devices."
    based_on: ClassVar[Basis] = "utility"
    cutoff: ClassVar[str] = "none"
    depends_on_order: ClassVar[bool] = False

    def value(self, evidence: Evidence) -> Floats:
        return ratio(self.found(evidence), evidence.lengths)

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        return score, ratio(self.found(evidence) + self.unknown(evidence), evidence.lengths)


class SetR(R):
    """Recall of the whole run: relevant documents retrieved over all relevant documents."""

    trec_eval = "set_recall"
    citation = "C. W. Cleverdon (1967). The Cranfield tests on index language devices."
    cutoff: ClassVar[str] = "none"
    depends_on_order: ClassVar[bool] = False


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

    beta: float = param(1.0, "how much more recall counts than precision, not squared", check="positive")

    def value(self, evidence: Evidence) -> Floats:
        return self._mean(self.found(evidence), self.known_relevant(evidence), evidence.lengths)

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        found, total, unknown = self.found(evidence), self.known_relevant(evidence), self.unknown(evidence)
        return (
            self._mean(found, total + self.outside(evidence), evidence.lengths),
            self._mean(found + unknown, total + unknown, evidence.lengths),
        )

    def _mean(self, found: Floats, total: Floats, retrieved: Ints) -> Floats:
        return ratio((1 + self.beta) * found, self.beta * total + retrieved)
