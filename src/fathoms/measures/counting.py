"""Measures that count the relevant documents in the first places, or in the run at all."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fathoms.evidence.evidence import Evidence, Floats, MixedGroups
from fathoms.measures.base import Basis, RangeKind
from fathoms.measures.gains import Binary
from fathoms.measures.ideal import outside, universe_param
from fathoms.measures.ties import expected_sum


class Counting(Binary):
    """Relevant documents among the first places, and what they are compared with."""

    range_claim: ClassVar[RangeKind] = "exact"

    def found(self, evidence: Evidence) -> Floats:
        places = evidence.codes[:, : self.depth_read(evidence)]
        return self.relevant(evidence)[places].sum(axis=1)

    def unknown(self, evidence: Evidence) -> Floats:
        """Unjudged documents among those places that could turn out relevant."""
        n = self.depth_read(evidence)
        return evidence.unjudged[:, :n].sum(axis=1) * float(self.can_be_relevant(evidence))

    def expected_found(self, evidence: Evidence, mixed: MixedGroups) -> Floats:
        weights = np.ones(self.depth_read(evidence))
        return expected_sum(evidence, self.found(evidence), mixed, self.relevant(evidence), weights)


class CountingOfAll(Counting):
    """Counting measures that depend on the number of relevant documents there are."""

    based_on: ClassVar[Basis] = "recall"
    universe: str | float = universe_param()

    def outside(self, evidence: Evidence) -> Floats:
        possible = outside(evidence, self.depth_read(evidence), self.universe)
        return possible if self.can_be_relevant(evidence) else np.zeros(len(evidence))
