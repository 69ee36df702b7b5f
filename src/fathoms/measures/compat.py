"""Compatibility with an ideal ranking."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fathoms.base.arrays import ratio
from fathoms.base.rounding import powers
from fathoms.data.qrels import JUDGED
from fathoms.evidence.evidence import Evidence, Floats
from fathoms.measures.base import Basis, Measure
from fathoms.measures.gains import code_table
from fathoms.measures.params import param


class Compat(Measure):
    """Compatibility: the rank-biased overlap of the ranking with the ideal one that is most like it.

        Compat = sum_(i<=d) p^(i-1) X_i / i  /  sum_(i<=d) p^(i-1)

    X_i is how many documents the first i of both have in common, d the length of the longer one. The ideal ranking has
    the documents with a grade above 0, best first, and those of one grade in the order of the ranking. With
    `normalize` the value is divided by that of the ideal ranking itself, which is shorter than d. No range: what an
    unjudged document does to the ideal ranking, and to d, cannot be said for all of them at once.
    """

    examples = ("Compat(p=0.95)", "Compat(p=0.8)")
    citation = "C. L. A. Clarke, A. Vtyurina, M. D. Smucker (2021). Assessing top-k preferences."
    based_on: ClassVar[Basis] = "recall"
    cutoff: ClassVar[str] = "none"
    sorting_is_optimal = False

    p: float = param(0.95, "how far down the overlap counts: the weight of a rank over that above it", check="share",
                     always_shown=True)  # fmt: skip
    normalize: bool = param(True, "divide by the value of the ideal ranking")

    def tie_value(self, evidence: Evidence) -> Floats:
        return code_table(evidence.levels)

    def value(self, evidence: Evidence) -> Floats:
        graded = evidence.levels > 0
        total = evidence.counts @ graded
        depth = np.maximum(evidence.lengths, total)
        widest = max(1, int(depth.max(initial=0)))
        weights = powers(self.p, np.arange(widest)) / np.arange(1, widest + 1)
        below = np.append(np.cumsum(weights[::-1])[::-1], 0.0)  # what a document counts that both have from rank i on
        better = evidence.counts[:, ::-1].cumsum(axis=1)[:, ::-1] - evidence.counts  # judged with a higher grade
        score = np.zeros(len(evidence))
        for level in np.flatnonzero(graded).tolist():
            here = evidence.codes == JUDGED + level
            ideal = better[:, level, None] + np.cumsum(here, axis=1)
            both = np.maximum(ideal, np.arange(1, evidence.width + 1))
            counts = below[np.minimum(both, widest) - 1] - below[depth][:, None]
            score += np.where(here & (both <= depth[:, None]), counts, 0.0).sum(axis=1)
        if not self.normalize:
            return score / ((1 - powers(self.p, depth)) / (1 - self.p)).clip(min=1e-300)
        alone = np.minimum(np.arange(1, widest + 1), total[:, None]) * weights
        return ratio(score, np.where(np.arange(widest) < depth[:, None], alone, 0.0).sum(axis=1))
