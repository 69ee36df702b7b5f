"""R-precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fathoms.base.arrays import ratio, row_sums
from fathoms.evidence.evidence import ALONE, Bools, Evidence, Floats, Ints, MixedGroups
from fathoms.measures.base import RangeKind
from fathoms.measures.counting import CountingOfAll
from fathoms.measures.ideal import from_zero

if TYPE_CHECKING:
    from fathoms.evidence.pairs import PairEvidence


class Rprec(CountingOfAll):
    """Precision at rank R, the number of relevant documents.

        Rprec = (1/R) (r_1 + ... + r_R)

    The range comes from a scan over the number of documents that turn out to be relevant, which moves the cut as well.
    """

    trec_eval = "Rprec"
    citation = "E. M. Voorhees, D. K. Harman (2005). TREC: Experiment and evaluation in information retrieval."
    cutoff: ClassVar[str] = "none"
    difference_claim: ClassVar[RangeKind] = "exact"

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

    def greatest_difference(self, pair: PairEvidence, limits: Ints) -> Floats | None:
        """Exact by a scan over M, the number of new relevant documents: then the cut is at R + M, and a document counts
        1 if only A has it above the cut, -1 if only B has."""
        evidence = pair.unranked
        open_ = pair.unjudged & self.can_be_relevant(evidence)
        known = self.relevant(evidence)[pair.codes] > 0
        R = self.known_relevant(evidence)[:, None].astype(np.int64)
        rank_a = np.where(pair.shared == ALONE, pair.rank_a, np.inf)
        rank_b = np.where(pair.shared == ALONE, pair.rank_b, np.inf)
        n = pair.width
        within = [
            [_down_to(rank, which, n) for rank in (rank_a, rank_b, np.maximum(rank_a, rank_b))]
            for which in (known, open_)
        ]
        others = np.where(self.can_be_relevant(evidence), pair.others, 0)[:, None]
        all_open = open_.sum(axis=1)[:, None]
        # Once the cut has passed the end of both runs, only what is divided by still grows: to its last value.
        most = all_open + others
        M = np.minimum(np.arange(open_.shape[1] + n + 1)[None, :], most)
        M = np.hstack([M, most])
        cut = np.minimum(R + M, n)
        known_a, known_b, _ = (np.take_along_axis(counts, cut, axis=1) for counts in within[0])
        new_a, new_b, new_both = (np.take_along_axis(counts, cut, axis=1) for counts in within[1])
        only_a, only_b = new_a - new_both, new_b - new_both
        forced = np.maximum(M - (all_open + others - only_b), 0)
        value = ratio(known_a - known_b + np.minimum(M, only_a) - forced, R + M)
        return np.stack([np.where(limit >= M, value, -np.inf).max(axis=1) for limit in limits.tolist()], axis=1)

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        total = self.known_relevant(evidence)
        flags = self.relevant(evidence)[evidence.codes[mixed.row, mixed.column]]
        surplus = (mixed.totals(flags) / mixed.size)[mixed.group] - flags
        inside = mixed.column < total[mixed.row]
        change = row_sums(mixed.row[inside], surplus[inside], len(evidence))
        return score + ratio(change, total)


def _down_to(rank: Floats, which: Bools, n: int) -> Ints:
    """[row, depth]: how many of the documents stand at ranks up to 0, 1, .. n."""
    at = np.where(which & (rank <= n), rank, n + 1).astype(np.int64)
    cells = at + np.arange(len(at))[:, None] * (n + 2)
    counts = np.bincount(cells.ravel(), minlength=len(at) * (n + 2)).reshape(len(at), n + 2)
    sums: Ints = np.cumsum(counts, axis=1)
    return sums
