"""Measures made for incomplete judgments: Bpref and infAP, as trec_eval 9 computes them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fathoms.data.arrays import ratio, row_sums
from fathoms.data.qrels import JUDGED, NEGATIVE
from fathoms.evidence.evidence import Evidence, Floats, Ints, MixedGroups
from fathoms.measures.base import Binary


class Bpref(Binary):
    """Binary preference (Buckley and Voorhees 2004): judged non-relevant documents above the relevant ones.

    1/R sum over relevant retrieved documents of 1 - min(n, R) / min(N, R): n the judged non-relevant documents
    above, N those of the topic in all.
    """

    cutoff: ClassVar[str] = "none"

    def value(self, evidence: Evidence) -> Floats:
        relevant = self.relevant(evidence)[evidence.codes]
        above = np.cumsum(self._non_relevant(evidence)[evidence.codes], axis=1)
        R, limit = self._limits(evidence)
        penalty = ratio(np.minimum(above, R[:, None]), limit[:, None])
        return ratio((relevant * (1 - penalty)).sum(axis=1), R)

    def tie_value(self, evidence: Evidence) -> Floats:
        # Unjudged documents do not matter; which side of the others they stand on is all one.
        return self.relevant(evidence) - self._non_relevant(evidence)

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        """Of the n judged non-relevant documents in its group, 0..n stand above a relevant one, equally likely."""
        relevant, other = self.relevant(evidence), self._non_relevant(evidence)
        codes = evidence.codes[mixed.row, mixed.column]
        above = np.cumsum(other[evidence.codes], axis=1)[mixed.row, mixed.column]
        before = (above - other[codes])[mixed.start]
        R, limit = self._limits(evidence)
        row = mixed.row[mixed.start]
        found, n = mixed.totals(relevant[codes]), mixed.totals(other[codes])
        # Mean over x = 0..n of min(before + x, R): full steps up to R, then R each.
        free = np.clip(R[row] - before, 0, n + 1)
        mean = (free * before + free * (free - 1) / 2 + (n + 1 - free) * R[row]) / (n + 1)
        new = row_sums(row, found * ratio(mean, limit[row]), len(evidence))
        each = relevant[codes] * ratio(np.minimum(above, R[mixed.row]), limit[mixed.row])
        old = row_sums(mixed.row, each, len(evidence))
        return score - ratio(new - old, R)

    def _non_relevant(self, evidence: Evidence) -> Floats:
        table = np.zeros(JUDGED + len(evidence.levels))
        table[JUDGED:] = evidence.levels < self.rel
        return table

    def _limits(self, evidence: Evidence) -> tuple[Floats, Floats]:
        R = self.known_relevant(evidence)
        N = evidence.counts.sum(axis=1) - R
        return R, np.minimum(N, R)


class infAP(Binary):
    """Inferred AP (Yilmaz and Aslam 2006): precision above a relevant document estimated from a sampled pool.

    The only measure that tells a document in the qrels with a negative grade (pooled, not judged) from one that is
    not there at all (not pooled, taken as not relevant).
    """

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
