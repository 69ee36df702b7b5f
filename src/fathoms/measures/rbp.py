"""Rank-biased precision."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fathoms.base.rounding import powers
from fathoms.evidence.evidence import Evidence, Floats
from fathoms.measures.gains import gain_param
from fathoms.measures.params import param
from fathoms.measures.weighted import Weighted


class RBP(Weighted):
    """Rank-biased precision: a reader goes on to the next document with chance p.

        RBP@k = (1 - p) sum_{i<=k} g_i p^(i-1)

    `high` adds the weight of the unjudged documents, and of the tail, p^n with n = min(k, documents retrieved), times
    the greatest gain. `high` - `low` is RBP's residual. ir_measures' RBP is graded unless `rel` is given.
    """

    examples = ("RBP(p=0.8)", "RBP(p=0.95)@100", "RBP(p=0.8,gain=linear)")
    citation = "A. Moffat, J. Zobel (2008). Rank-biased precision for measurement of retrieval effectiveness."

    has_tail: ClassVar[bool] = True

    p: float = param(0.8, "the chance to go on to the next document", check="share", always_shown=True)
    gain: str = gain_param("binary")

    def weight(self, n: int) -> Floats:
        return (1 - self.p) * powers(self.p, np.arange(n))

    def tail(self, evidence: Evidence) -> Floats | float:
        return powers(self.p, np.minimum(evidence.lengths, self.depth_read(evidence)))

    def largest(self, evidence: Evidence) -> Floats:
        return np.full(len(evidence), self.top_gain(evidence))  # weights and tail add up to 1
