"""The share of judged documents."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fathoms.data.qrels import JUDGED
from fathoms.evidence.evidence import Evidence, Floats, MixedGroups
from fathoms.measures.base import Basis, Measure
from fathoms.measures.gains import code_table
from fathoms.measures.ties import expected_sum


class Judged(Measure):
    """The share of the first k documents that are judged.

        Judged@k = judged documents in the first k / min(k, documents retrieved)

    No range: it is about the judgments there are. Divided as in ir_measures, but a negative grade is unjudged here.
    """

    based_on: ClassVar[Basis] = "neither"
    cutoff: ClassVar[str] = "required"

    def tie_value(self, evidence: Evidence) -> Floats:
        return code_table(np.ones(len(evidence.levels)))

    def value(self, evidence: Evidence) -> Floats:
        judged = (evidence.codes[:, : self.depth_read(evidence)] >= JUDGED).sum(axis=1)
        return judged / self._read(evidence)

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        weights = np.ones(self.depth_read(evidence))
        judged = expected_sum(evidence, score * self._read(evidence), mixed, self.tie_value(evidence), weights)
        return judged / self._read(evidence)

    def _read(self, evidence: Evidence) -> Floats:
        return np.clip(evidence.lengths, 1, self.k).astype(np.float64)
