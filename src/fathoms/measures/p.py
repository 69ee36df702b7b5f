"""Precision."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fathoms.base.rounding import to_multiples
from fathoms.evidence.evidence import Evidence, Floats
from fathoms.measures.gains import gain_param
from fathoms.measures.weighted import Weighted


class P(Weighted):
    """Precision: the share of relevant documents among the first k.

        P@k = (1/k) sum_{i<=k} g_i

    Always divided by k, also where fewer documents were retrieved, as in trec_eval and ir_measures. For `low` and
    `high` every unjudged document has gain 0, or the greatest.
    """

    aliases = ("precision", "prec")
    trec_eval_at = "P_{k}"
    examples = ("P@10", "P(rel=2)@20")
    citation = "C. W. Cleverdon (1967). The Cranfield tests on index language devices."
    cutoff: ClassVar[str] = "required"

    gain: str = gain_param("binary")

    def weight(self, n: int) -> Floats:
        return np.ones(n)

    def normaliser(self, k: int, evidence: Evidence) -> float:
        return float(k)

    def attainable(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        return to_multiples(low, high, float(self.k or 1)) if self.gain == "binary" else (low, high)
