"""Measures as sums over places, prepared once, so that a dict is scored in one go of the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partialmethod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fathoms.base import kernel
from fathoms.base.arrays import ratio
from fathoms.data.in_memory import DICTS, NUMBERS
from fathoms.evidence.align import Alignment
from fathoms.evidence.evidence import Evidence, Floats
from fathoms.evidence.order import default_precision
from fathoms.measures.base import Measure

if TYPE_CHECKING:
    from fathoms.evidence.sparse_places import Listed

DEPTH = 1000  # of the longest ranking that is scored so
JUDGMENTS = 1_000_000  # that are kept as dicts at the most


class ScoringPlan:
    """Scores runs of one kind: plain dicts, ranked by scores with ties as trec_eval has them."""

    def __init__(self, align: Alignment, plan: kernel.Plan) -> None:
        qrels = align.qrels
        self.topics, self.plan = qrels.index, plan
        self.single = (align.precision or default_precision(align.ties)) == "float32"
        self.judgments: list[dict[str, int]] = [{} for _ in qrels.topics]
        for topic, document, code in zip(
            qrels.topic.tolist(), qrels.documents.tolist(), qrels.codes.tolist(), strict=True
        ):
            self.judgments[topic][document.decode(errors="surrogateescape")] = code

    @classmethod
    def of(cls, align: Alignment, measures: Sequence[Measure]) -> ScoringPlan | None:
        """None where measures, judgments or ties ask for more than sums over places."""
        qrels = align.qrels
        if kernel.compiled is None or align.ties != "trec" or len(qrels.topic) > JUDGMENTS:
            return None
        if qrels.subtopics is not None or not align.is_plain:
            return None
        known = align.empty(qrels.topics)
        sums = [_sum_of(measure, known) for measure in measures]
        planned = [of for of in sums if of is not None]
        if not sums or len(planned) < len(sums):
            return None
        kinds, cuts = ([kernel.PLACE_SUMS[of.kind] for of in planned], [of.depth for of in planned])
        weights = np.stack([np.pad(of.weights, (0, DEPTH - len(of.weights))) for of in planned])
        worth = np.stack([measure.tie_value(known) for measure in measures])
        divisors = np.stack([measure.divisor(known).astype(np.float64) for measure in measures])
        return cls(align, kernel.Plan(np.array(kinds), np.array(cuts), weights, worth, divisors))

    def scores(self, run: Any) -> tuple[Floats, int] | None:
        """[measure, topic], and how many topics the run answers; None for what is no such run."""
        return kernel.score_dict(run, DICTS, NUMBERS, self.topics, self.judgments, self.plan, single=self.single)


@dataclass
class _SumOfPlaces:
    """Stands in for a list of places, and notes which sum over them a measure asks for."""

    depth: int
    kind: str = ""
    weights: Floats = field(default_factory=lambda: np.zeros(0))

    def cut(self, k: float | None) -> _SumOfPlaces:
        self.depth = self.depth if k is None else min(int(k), self.depth)
        return self

    def _noted(self, kind: str, weights: Floats, values: Floats) -> Floats:
        self.kind, self.weights = kind, weights[: self.depth]
        return values[:1]

    weighted_sums = partialmethod(_noted, "weighted")
    running_sums = partialmethod(_noted, "running")
    greatest = partialmethod(_noted, "greatest")
    stopping_sums = partialmethod(_noted, "stopping")


def _sum_of(measure: Measure, known: Evidence) -> _SumOfPlaces | None:
    """None where the score is something else than one such sum over a divisor, or its weights depend on the depth."""
    if not measure.sums_listed or measure.needs_pool or getattr(measure, "judged_only", False):
        return None
    values = measure.tie_value(known)[:, None]
    whole, half = (_SumOfPlaces(depth) for depth in (DEPTH, DEPTH // 2))
    for places in (whole, half):
        measure.listed_sums(cast("Listed", places), values, known)
    n = len(half.weights)
    divisor = measure.divisor(known)
    for sums in (np.zeros(len(known)), np.ones(len(known))):
        if not np.allclose(measure.from_sums(sums, known), ratio(sums, divisor), rtol=1e-12, atol=0.0):
            return None
    return whole if np.array_equal(whole.weights[:n], half.weights) else None
