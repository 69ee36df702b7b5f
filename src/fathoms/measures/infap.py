"""Inferred average precision."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fathoms.base.arrays import ratio
from fathoms.data.qrels import JUDGED, NEGATIVE
from fathoms.evidence.evidence import Evidence, Floats, Ints
from fathoms.measures.base import Basis
from fathoms.measures.gains import Binary


class infAP(Binary):
    """Inferred AP: the precision above a relevant document is estimated from a sampled pool.

        infAP = (1/R) sum over relevant documents, at rank i, of
                1/i + (pooled above / i) (relevant above + e) / (judged above + 2e)        e = 0.00001

    The only measure that tells a document with a negative grade (pooled, not judged) from one that is not in the qrels
    (not pooled). No range: it is itself an estimate. As trec_eval 9.
    """

    trec_eval = "infAP"
    citation = "E. Yilmaz, J. A. Aslam (2006). Estimating average precision with incomplete and imperfect judgments."
    based_on: ClassVar[Basis] = "recall"
    cutoff: ClassVar[str] = "none"
    sorting_is_optimal = False
    epsilon: ClassVar[float] = 0.00001

    def value(self, evidence: Evidence) -> Floats:
        codes = evidence.codes
        relevant = self.relevant(evidence)[codes]
        judged = codes >= JUDGED
        r = np.cumsum(relevant, axis=1) - relevant  # judged relevant above
        judged_above: Ints = np.cumsum(judged, axis=1) - judged.astype(np.int64)
        pooled_above = judged_above + np.cumsum(codes == NEGATIVE, axis=1)
        above = np.arange(evidence.width)
        share = (r + self.epsilon) / (judged_above + 2 * self.epsilon)
        terms = relevant * (1 + np.where(above > 0, pooled_above * share, 0.0)) / (above + 1)
        return ratio(terms.sum(axis=1), self.known_relevant(evidence))

    def tie_value(self, evidence: Evidence) -> Floats:
        # All kinds of documents differ here, and relevant ones come first at best.
        table = self.relevant(evidence) * 4
        table[JUDGED:] += evidence.levels < self.rel
        table[NEGATIVE] = 2
        return table
