"""Success, also called hit rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fathoms.base.arrays import columns_at
from fathoms.base.rounding import to_multiples
from fathoms.evidence.evidence import Evidence, Floats, Ints, MixedGroups
from fathoms.measures.base import Basis, RangeKind
from fathoms.measures.counting import Counting
from fathoms.measures.ideal import from_zero

if TYPE_CHECKING:
    from fathoms.evidence.pairs import PairEvidence


class Success(Counting):
    """1 if any of the first k documents is relevant, else 0."""

    aliases = ("hit", "hits", "HitRate")
    trec_eval_at = "success_{k}"
    examples = ("Success@10", "Success(rel=2)@5")
    citation = "N. Craswell, D. Hawking (2004). Overview of the TREC 2004 web track."
    based_on: ClassVar[Basis] = "utility"
    cutoff: ClassVar[str] = "required"
    difference_claim: ClassVar[RangeKind] = "exact"

    def value(self, evidence: Evidence) -> Floats:
        return (self.found(evidence) > 0).astype(np.float64)

    def attainable(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        return to_multiples(low, high, 1.0)

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        return score, ((self.found(evidence) + self.unknown(evidence)) > 0).astype(np.float64)

    def greatest_difference(self, pair: PairEvidence, limits: Ints) -> Floats | None:
        from fathoms.measures.differences import greatest_of_best

        n = pair.width if self.k is None else int(self.k)
        if not self.can_be_relevant(pair.unranked):
            limits = np.zeros_like(limits)
        return greatest_of_best(pair, np.ones(n), self.relevant(pair.unranked), limits)

    def at_depths(self, evidence: Evidence, depths: Sequence[int]) -> Floats:
        evidence = self.prepared(evidence).padded(max(depths))
        n_relevant = np.cumsum(self.relevant(evidence)[evidence.codes[:, : max(depths)]], axis=1)
        return (columns_at(n_relevant, depths) > 0).astype(np.float64)

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        """A group with t relevant of s, c of its places inside: the chance of none there is C(s-t,c) / C(s,c)."""
        n = self.depth_read(evidence)
        relevant = self.relevant(evidence)
        top, row = mixed.column[mixed.start], mixed.row[mixed.start]
        t, s = mixed.totals(relevant[mixed.code]), mixed.size
        cut = top + s > n  # only a group across the cut can lose its relevant documents
        n_relevant = from_zero(np.cumsum(relevant[evidence.codes[:, :n]], axis=1))
        above = n_relevant[row[cut], top[cut]]
        expected = score.copy()
        inside = (n - top[cut]).astype(float)
        steps = np.arange(int(inside.max(initial=0)))
        lost = np.maximum(s[cut, None] - t[cut, None] - steps, 0) / np.maximum(s[cut, None] - steps, 1)
        none = np.prod(np.where(steps < inside[:, None], lost, 1.0), axis=1)
        expected[row[cut]] = np.where(above > 0, 1.0, 1 - none)
        return expected
