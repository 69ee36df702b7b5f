"""Binary preference."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fathoms.base.arrays import ratio, row_sums
from fathoms.data.qrels import JUDGED
from fathoms.evidence.evidence import Evidence, Floats, MixedGroups
from fathoms.measures.base import Basis
from fathoms.measures.gains import Binary


class Bpref(Binary):
    """Binary preference: how many judged non-relevant documents are ranked above the relevant ones.

        Bpref = (1/R) sum over relevant retrieved documents of 1 - min(n, R) / min(N, R)

    n: judged non-relevant documents above it; N: those of the topic. No range: the measure leaves unjudged documents
    out by design. As trec_eval 9.
    """

    trec_eval = "bpref"
    citation = "C. Buckley, E. M. Voorhees (2004). Retrieval evaluation with incomplete information."
    based_on: ClassVar[Basis] = "recall"
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
        codes = mixed.code
        above = np.cumsum(other[evidence.codes], axis=1)[mixed.row, mixed.column]
        before = (above - other[codes])[mixed.start]
        R, limit = self._limits(evidence)
        row = mixed.row[mixed.start]
        n_relevant, n = mixed.totals(relevant[codes]), mixed.totals(other[codes])
        # Mean over x = 0..n of min(before + x, R): full steps up to R, then R each.
        free = np.clip(R[row] - before, 0, n + 1)
        mean = (free * before + free * (free - 1) / 2 + (n + 1 - free) * R[row]) / (n + 1)
        new = row_sums(row, n_relevant * ratio(mean, limit[row]), len(evidence))
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
