"""Expected reciprocal rank, as it is and normalised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import ratio
from fathoms.evidence.evidence import Evidence, Floats, Ints, MixedGroups
from fathoms.measures.base import Basis, JudgingKind, RangeKind
from fathoms.measures.cascade import Cascade
from fathoms.measures.gains import gain_param
from fathoms.measures.ideal import outside, universe_param

if TYPE_CHECKING:
    from fathoms.evidence.pairs import PairEvidence


class ERR(Cascade):
    """Expected reciprocal rank: the reader stops at a document with chance its gain.

        ERR@k = sum_{i<=k} (g_i / i) prod_{j<i} (1 - g_j)

    ERR never falls as a gain rises, so for `high` all unjudged documents have the greatest gain G, and the tail adds

        prod_{j<=n} (1 - g_j) * sum_{i>n} G (1 - G)^(i-n-1) / i        n = min(k, documents retrieved)

    gdeval, which ir_measures calls, takes 4 as the greatest grade whatever the qrels say: `ERR(max_grade=4)@20`.
    """

    examples = ("ERR@20", "ERR(max_grade=4)@20")
    citation = "O. Chapelle, D. Metzler, Y. Zhang, P. Grinspan (2009). Expected reciprocal rank for graded relevance."

    gain: str = gain_param("exp")

    def effort(self, ranks: Ints) -> NDArray[Any]:
        return ranks


class nERR(ERR):
    """ERR over the ERR of the ideal ranking of the judged documents, cut at k too; no tail.

    The range is sound: the least ERR over the greatest ideal, and the greatest ERR over the known ideal, at most 1;
    both parts cannot hold at once, so the true range may be narrower.

    NTCIR's nERR@10 with five grades is `nERR(gains={0:0,1:0.2,2:0.4,3:0.6,4:0.8})@10`: the chance to stop is
    g/(gmax+1).
    """

    examples = ("nERR@10", "nERR(gains={0:0,1:0.2,2:0.4,3:0.6,4:0.8})@10")
    citation = "O. Chapelle, D. Metzler, Y. Zhang, P. Grinspan (2009). Expected reciprocal rank for graded relevance."
    based_on: ClassVar[Basis] = "recall"
    range_claim: ClassVar[RangeKind] = "sound"
    needs_whole_documents: ClassVar[bool] = True
    has_tail: ClassVar[bool] = False
    multilinear: ClassVar[bool] = False
    sums_listed: ClassVar[bool] = False
    judging: ClassVar[JudgingKind] = "none"

    universe: str | float = universe_param()

    def largest(self, evidence: Evidence) -> Floats:
        return np.ones(len(evidence))

    def value(self, evidence: Evidence) -> Floats:
        return ratio(super().value(evidence), self._ideal(evidence, evidence.counts))

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        """Sound: least and greatest ERR over the greatest and the known ideal; not both can hold at once."""
        n = self.depth_read(evidence)
        raw = super().value(evidence)
        unjudged = evidence.unjudged[:, :n].sum(axis=1)
        high = self._stopping(evidence, self.table(evidence, unknown=self.top_gain(evidence)))[0]
        known = self._ideal(evidence, evidence.counts)
        most = self._ideal(evidence, evidence.counts, unjudged + outside(evidence, n, self.universe))
        # Nothing known: any document found relevant makes its own ideal.
        top = np.where(known > 0, np.minimum(ratio(high, known), 1.0), (unjudged > 0) * 1.0)
        return ratio(raw, most), np.where(unjudged > 0, np.maximum(top, score), score)

    def greatest_difference(self, pair: PairEvidence, limits: Ints) -> Floats | None:
        """ERR's difference over the least ideal, or where it is negative over the greatest."""
        most = super().greatest_difference(pair, limits)
        if most is None:
            return None
        evidence = pair.unranked
        least = self._ideal(evidence, evidence.counts)[:, None]
        greatest = self._ideal(evidence, evidence.counts, pair.unjudged.sum(axis=1) + pair.others)[:, None]
        return np.where(most > 0, np.where(least > 0, most / np.maximum(least, 1e-300), np.inf), ratio(most, greatest))

    def predicted(self, evidence: Evidence, gains: Floats) -> Floats:
        """Over the ideal with as many more documents of the greatest gain as the predictions are worth."""
        more = (np.where(evidence.unjudged, gains[:, : evidence.width], 0.0)).sum(axis=1) / self.top_gain(evidence)
        return ratio(super().predicted(evidence, gains), self._ideal(evidence, evidence.counts, np.rint(more)))

    def at_depths(self, evidence: Evidence, depths: Sequence[int]) -> Floats:
        evidence = self.prepared(evidence)
        scores = super().at_depths(evidence, depths)
        return ratio(scores, np.stack([self._ideal(evidence, evidence.counts, k=k) for k in depths], axis=1))

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        raw = super().expected(evidence, super().value(evidence), mixed)
        return None if raw is None else ratio(raw, self._ideal(evidence, evidence.counts))

    def _ideal(self, evidence: Evidence, counts: Ints, extra: Floats | float = 0, k: int | None = None) -> Floats:
        """ERR of the documents in order of falling gain, `extra` ones of the greatest grade first.

        Documents of one gain make a geometric run of chances, but divided by rank; summed place by place.
        """
        gains = self.level_gains(evidence)
        cut = k or self.k
        extra = np.broadcast_to(np.asarray(extra, dtype=float), (len(evidence),))
        sizes = np.column_stack([extra, counts[:, ::-1]])
        each = np.append(self.top_gain(evidence), gains[::-1])
        longest = sizes[:, np.append(True, gains[::-1] > 0)].sum(axis=1).max(initial=0)
        # Past some two thousand places the rest is below 1/2000 of nothing: the chance to get there is nil.
        width = int(min(longest, cut or np.inf, 100_000))
        ends = np.cumsum(sizes, axis=1)
        place = np.arange(width)
        level = (place[None, :, None] >= ends[:, None, :]).sum(axis=2) if width else np.zeros((len(evidence), 0), int)
        table = np.append(each, 0.0)
        ideal = table[np.minimum(level, len(each))]
        return self._terms(ideal).sum(axis=1)
