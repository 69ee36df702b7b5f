"""Discounted cumulated gain, as it is and scaled."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fathoms.evidence.evidence import Evidence, Floats
from fathoms.measures.base import Basis
from fathoms.measures.weighted import Discounted, Weighted, discounts


class DCG(Discounted, Weighted):
    """Discounted cumulated gain, not normalised; can exceed 1.

    DCG@k = sum_{i<=k} g_i D(i)        D(i) = 1/log2(i+1), or 1/i with discount=zipf

    Gains are added up as they are, so values grow with the greatest grade and with k.
    """

    examples: ClassVar[tuple[str, ...]] = ("DCG@10", "DCG(gain=exp)@10")
    citation = "K. Järvelin, J. Kekäläinen (2002). Cumulated gain-based evaluation of IR techniques."
    exp_is_scaled: ClassVar[bool] = False


class SDCG(DCG):
    """Scaled DCG: DCG@k over the most that any ranking of length k could have, the greatest gain at every place.

        SDCG@k = DCG@k / sum_{i<=k} G D(i)        G the greatest gain

    ir_measures requires its `max_rel`; here gmax of the qrels is the default.
    """

    examples = ("SDCG@10",)
    citation = "S. D. Ravana, A. Moffat (2010). Estimating system effectiveness scores with incomplete evidence."
    based_on: ClassVar[Basis] = "utility"
    cutoff: ClassVar[str] = "required"

    def normaliser(self, k: int, evidence: Evidence) -> float:
        return float(self.top_gain(evidence) * discounts(self.discount, k, self.b).sum()) or 1.0  # no grade has a gain

    def largest(self, evidence: Evidence) -> Floats:
        return np.ones(len(evidence))
