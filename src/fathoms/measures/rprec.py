"""R-precision."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fathoms.data.arrays import ratio, row_sums
from fathoms.evidence.evidence import Evidence, Floats, MixedGroups
from fathoms.measures.counting import CountingOfAll
from fathoms.measures.ideal import from_zero


class Rprec(CountingOfAll):
    """Precision at rank R, the number of relevant documents.

        Rprec = (1/R) (r_1 + ... + r_R)

    The range comes from a scan over the number of documents that turn out to be relevant, which moves the cut as well.
    """

    trec_eval = "Rprec"
    citation = "E. M. Voorhees, D. K. Harman (2005). TREC: Experiment and evaluation in information retrieval."
    cutoff: ClassVar[str] = "none"

    def value(self, evidence: Evidence) -> Floats:
        total = self.known_relevant(evidence)
        relevant = self.relevant(evidence)[evidence.codes]
        inside = np.arange(evidence.width) < total[:, None]
        return ratio((relevant * inside).sum(axis=1), total)

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        """Exact by a scan over M, the number of documents that turn out relevant.

        Then the cut is at R + M. At best as many of the M as fit stand above it; at worst as few as can.
        """
        if not self.can_be_relevant(evidence):
            return score, score
        n = evidence.width
        total = self.known_relevant(evidence)
        known = from_zero(np.cumsum(self.relevant(evidence)[evidence.codes], axis=1))
        unjudged = from_zero(np.cumsum(evidence.unjudged, axis=1))
        all_unjudged = unjudged[:, -1:]
        V = self.outside(evidence)[:, None]
        # M up to where the cut passes the end of the run, and for the least value all of V, past that end.
        finite = np.where(np.isinf(V), 0.0, V)
        M = np.hstack([np.broadcast_to(np.arange(n + 1.0), (len(evidence), n + 1)), finite, all_unjudged])
        at = np.minimum(total[:, None] + M, n).astype(np.int64)
        K, U = np.take_along_axis(known, at, axis=1), np.take_along_axis(unjudged, at, axis=1)
        allowed = all_unjudged + V >= M
        high = np.where(allowed, ratio(K + np.minimum(M, U), total[:, None] + M), 0.0).max(axis=1)
        forced = np.maximum(M - (all_unjudged - U) - V, 0)
        low = np.where(allowed, ratio(K + forced, total[:, None] + M), np.inf).min(axis=1)
        low[np.isinf(V[:, 0])] = 0.0
        return np.minimum(low, score), np.maximum(high, score)

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        total = self.known_relevant(evidence)
        flags = self.relevant(evidence)[evidence.codes[mixed.row, mixed.column]]
        surplus = (mixed.totals(flags) / mixed.size)[mixed.group] - flags
        inside = mixed.column < total[mixed.row]
        change = row_sums(mixed.row[inside], surplus[inside], len(evidence))
        return score + ratio(change, total)
