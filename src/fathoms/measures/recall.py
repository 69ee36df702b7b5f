"""Recall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fathoms.base.arrays import columns_at, ratio
from fathoms.evidence.evidence import Evidence, Floats, Ints, MixedGroups
from fathoms.measures.base import RangeKind
from fathoms.measures.counting import CountingOfAll

if TYPE_CHECKING:
    from fathoms.evidence.pairs import PairEvidence


class R(CountingOfAll):
    """Recall: the share of all relevant documents that is among the first k.

        R@k = (1/R) sum_{i<=k} r_i

    Least if only documents outside the first k turn out to be relevant, greatest if only those inside do.
    """

    aliases = ("recall",)
    trec_eval_at = "recall_{k}"
    examples = ("R@100", "R(rel=2)@1000")
    citation = "C. W. Cleverdon (1967). The Cranfield tests on index language devices."
    cutoff: ClassVar[str] = "required"
    difference_claim: ClassVar[RangeKind] = "exact"

    def value(self, evidence: Evidence) -> Floats:
        return ratio(self.found(evidence), self.known_relevant(evidence))

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        """Least with the documents outside relevant and those inside not, greatest the other way round."""
        found, total, unknown = self.found(evidence), self.known_relevant(evidence), self.unknown(evidence)
        return ratio(found, total + self.outside(evidence)), ratio(found + unknown, total + unknown)

    def greatest_difference(self, pair: PairEvidence, limits: Ints) -> Floats | None:
        from fathoms.measures.differences import greatest_ratio, largest_first, weight_differences

        n = pair.width if self.k is None else int(self.k)
        difference = weight_differences(pair, np.ones(n))
        total = self.known_relevant(pair.unranked)[:, None]
        base = (difference * self.relevant(pair.unranked)[pair.codes]).sum(axis=1)
        open_ = pair.unjudged & self.can_be_relevant(pair.unranked)
        return greatest_ratio(base, largest_first(difference, open_), pair.others, limits, lambda m: total + m)

    def at_depths(self, evidence: Evidence, depths: Sequence[int]) -> Floats:
        evidence = self.prepared(evidence).padded(max(depths))
        n_relevant = np.cumsum(self.relevant(evidence)[evidence.codes[:, : max(depths)]], axis=1)
        return ratio(columns_at(n_relevant, depths), self.known_relevant(evidence)[:, None])

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        return ratio(self.expected_found(evidence, mixed), self.known_relevant(evidence))
