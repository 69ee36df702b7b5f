"""Interpolated precision."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fathoms.evidence.evidence import Evidence, Floats
from fathoms.measures.base import Basis
from fathoms.measures.gains import Binary


class IPrec(Binary):
    """Interpolated precision at a level of recall: the greatest precision at any rank that reaches it.

    Recall level x is reached where at least floor(x R + 0.9) relevant documents were found; the rounding is that of
    trec_eval 9. The "cut-off" is the recall level, from 0 to 1: `IPrec@0.1`. The range is not computed.
    """

    trec_eval_at = "iprec_at_recall_{k}"
    examples = ("IPrec@0.1", "IPrec@0")
    citation = "E. M. Voorhees, D. K. Harman (2005). TREC: Experiment and evaluation in information retrieval."
    based_on: ClassVar[Basis] = "recall"
    cutoff: ClassVar[str] = "recall"

    def value(self, evidence: Evidence) -> Floats:
        n_relevant = np.cumsum(self.relevant(evidence)[evidence.codes], axis=1)
        total = self.known_relevant(evidence)
        reached = n_relevant >= np.floor((self.k or 0) * total + 0.9)[:, None]
        precision = n_relevant / np.arange(1, evidence.width + 1)
        return np.where(total > 0, np.where(reached, precision, 0.0).max(axis=1), 0.0)

    def depth_read(self, evidence: Evidence) -> int:
        return evidence.width
