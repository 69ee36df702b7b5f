"""R and ideal rankings: what they are made of, which unjudged documents may join them, and gains in layers.

Measures that need them have the hard ranges: judging a document relevant raises the numerator and the denominator. For
a fixed number of new relevant documents the best completion takes the shallowest unjudged places and the worst the
deepest, so a scan over that number, by cumulative sums, finds the extremes.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import distinct, ratio
from fathoms.base.errors import FathomsError
from fathoms.data.qrels import JUDGED
from fathoms.evidence.evidence import MANY_GRADES, Bools, Evidence, Floats, Ints
from fathoms.measures.base import Basis, Measure
from fathoms.measures.gains import Graded, of_grades
from fathoms.measures.params import param

# -- the universe -------------------------------------------------------------------------------------------------


def universe_param() -> Any:
    return param(
        "auto",
        "unjudged documents that may turn out relevant: auto, those of all runs of the table; run, the run's own; all, "
        "those of all given runs; a number, those of all given runs and so many unseen ones per topic; inf, any number",
        order=7,
        check="universe",
    )


def outside(evidence: Evidence, n: int, universe: str | float) -> Floats:
    """V: for each topic, the unjudged documents outside the first n places that may turn out relevant."""
    unseen = 0.0 if isinstance(universe, str) else float(universe)
    if universe == "run" or evidence.unjudged_in_universe is None:
        return evidence.unjudged[:, n:].sum(axis=1) + unseen
    return evidence.unjudged_in_universe - evidence.unjudged[:, :n].sum(axis=1) + unseen


Rows = Bools | slice


def any_rows(wanted: Bools) -> Rows | None:
    """The rows that are wanted, to select them by: all of them without a copy, or None where there is none."""
    if wanted.all():
        return slice(None) if len(wanted) else None
    return wanted if wanted.any() else None


def from_zero(sums: NDArray[Any]) -> NDArray[Any]:
    """Running sums with the sum of nothing in front."""
    return np.hstack([np.zeros((len(sums), 1), dtype=sums.dtype), sums])


def running(values: NDArray[Any]) -> NDArray[Any]:
    """Running sums along the rows, with the sum of nothing in front; counts where values are True and False."""
    if values.dtype == bool:
        values = values.view(np.int8)
    kind = np.int32 if values.dtype == np.int8 else values.dtype
    sums = np.zeros((values.shape[0], values.shape[1] + 1), dtype=kind)
    np.cumsum(values, axis=1, dtype=kind, out=sums[:, 1:])
    return sums


# -- R, and the pool ----------------------------------------------------------------------------------------------


def variant_of_R() -> Any:
    """What AP and Q divide by at a cut-off (LMC-depth Table 2, eqs. 1 and 2)."""
    return param(
        "a",
        "what the sum is divided by: a, R; b, min(R, k), so that a perfect top k scores 1; c, R_k, the relevant "
        "documents that pooling to depth k would have found",
        choices=("a", "b", "c"),
    )


class Normalised(Measure):
    """What AP, nDCG and Q share: whose judgments the ideal is made of, and which documents may join it."""

    bounds: str = param(
        "exact",
        "how the range is made: exact, or rm for the approximation of Ravana and Moffat (2010)",
        order=6,
        choices=("exact", "rm"),
    )
    universe: str | float = universe_param()
    based_on: ClassVar[Basis] = "recall"

    variant: str = "a"
    pooled_variants: ClassVar[tuple[str, ...]] = ()  # those whose R or ideal comes from the pool of depth k

    def check(self) -> None:
        super().check()
        if self.needs_pool and self.k is None:
            raise FathomsError(f"{self.name}: what is pooled to depth k needs a cut-off, such as {self.name}@10")

    @property
    def needs_pool(self) -> bool:
        return self.variant in self.pooled_variants

    def largest(self, evidence: Evidence) -> Floats:
        """A run that did not contribute to the pool may have more than all that is in R_k."""
        return np.full(len(evidence), np.inf if self.needs_pool else 1.0)

    def counts(self, evidence: Evidence, pooled: bool) -> Ints:
        """Judged documents by topic and level: all, or those in the pool of depth k."""
        if not pooled:
            return evidence.counts
        pool = evidence.pool
        if pool is None:
            raise FathomsError(f"{self.name} needs the pool of the contributing runs")
        use = (pool.judged_depth <= (self.k or 0)) & (pool.judged_code >= JUDGED)
        return count_by_topic(evidence, pool.judged_topic[use], pool.judged_code[use] - JUDGED, len(evidence.levels))

    def may_join(self, evidence: Evidence, pooled: bool) -> Bools:
        """Unjudged places, at any rank, whose documents count in R if they are relevant."""
        if not pooled:
            return evidence.unjudged
        if evidence.pool is None:
            raise FathomsError(f"{self.name} needs the pool of the contributing runs")
        return evidence.unjudged & (evidence.pool.depth <= (self.k or 0))

    def unknowns(self, evidence: Evidence, n: int, pooled: bool) -> tuple[Bools, Bools, Floats]:
        """Unjudged places that may join R, unjudged places that never will, and V.

        With R_k only documents in the pool of depth k count in R; a run that did not contribute may have others.
        """
        unjudged = evidence.unjudged[:, :n]
        if not pooled:
            return unjudged, np.zeros_like(unjudged), outside(evidence, n, self.universe)
        pool = evidence.pool
        if pool is None:
            raise FathomsError(f"{self.name} needs the pool of the contributing runs")
        in_top = pool.depth[:, :n] <= (self.k or 0)
        others = pool.unjudged_topic[pool.unjudged_depth <= (self.k or 0)]
        in_pool = count_by_topic(evidence, others, np.zeros(len(others), dtype=np.int64), 1)[:, 0]
        open_ = unjudged & in_top
        return open_, unjudged & ~in_top, (in_pool - open_.sum(axis=1)).astype(np.float64)


def count_by_topic(evidence: Evidence, topic: NDArray[Any], value: NDArray[Any], width: int) -> Ints:
    """How often each value below `width` occurs in each topic of the block, from rows of the whole collection."""
    here = evidence.topic_numbers
    n = max(int(topic.max(initial=0)), int(here.max(initial=0))) + 1
    return np.bincount(topic.astype(np.int64) * width + value, minlength=n * width).reshape(n, width)[here]


# -- layers of gain -------------------------------------------------------------------------------------------


class LayeredGains(Graded, Normalised):
    """Gains seen as layers: a document of gain g lies in every layer up to g, and an ideal ranking is a sum over
    layers of what the documents in the layer would be worth at the top.

    With gain steps g_1 < g_2 < .. and R_l the judged documents of gain g_l or more, the ideal DCG is
    sum_l (g_l - g_{l-1}) C(R_l), C the cumulated discounts, and the ideal cumulated gain at rank i is
    sum_l (g_l - g_{l-1}) min(i, R_l).
    """

    exp_is_scaled: ClassVar[bool] = False

    @of_grades
    def steps(self, evidence: Evidence) -> Floats:
        """The positive gains a document may have, ascending: of the grades in use, and of those that could be."""
        top = self.top_grade(evidence)
        if self.gains is not None:
            could_be = np.array([grade for grade, _ in self.gains if grade <= top])
        else:
            # Whole grades, as many as a person would tell apart; beyond that the least and the greatest will do.
            could_be = np.arange(1.0, top + 1) if top <= MANY_GRADES else np.array([1.0])
        grades = np.concatenate([evidence.levels, could_be[could_be <= top], [top]])
        gains = self.gain_of(grades, top)
        return distinct(gains[gains > 0])

    @of_grades
    def thickness(self, evidence: Evidence) -> Floats:
        """How much gain each layer adds to the one below it."""
        return np.diff(self.steps(evidence), prepend=0.0)

    def in_layer(self, evidence: Evidence, counts: Ints) -> Floats:
        """R_l: judged documents in each layer, [topic, layer]."""
        return (counts @ self._inside(evidence)).astype(np.float64)

    @of_grades
    def _inside(self, evidence: Evidence) -> Bools:
        """Whether each grade in use lies in each layer."""
        return self.level_gains(evidence)[:, None] >= self.steps(evidence)[None, :]

    def joint_tie_value(self, evidence: Evidence, best: bool) -> Floats:
        """Unjudged documents between those with a gain and those without, as for binary measures."""
        return self.table(evidence, unknown=self.steps(evidence).min(initial=1.0) / 2)

    def more(self, evidence: Evidence, gains: Floats, pooled: bool) -> Floats:
        """As many documents of the greatest gain as the predicted gains of the unjudged ones add up to: of all, or of
        those in the pool of depth k."""
        total = np.where(self.may_join(evidence, pooled), gains[:, : evidence.width], 0.0).sum(axis=1)
        return ratio(total, np.full(len(evidence), self.top_gain(evidence)))

    def filled_gains(self, evidence: Evidence, gains: Floats, open_: Bools, counts: Ints) -> Floats:
        """RM's T: the judged gains not found in the ranking, greatest first, at its first unjudged places."""
        order = np.cumsum(open_, axis=1)
        filled = gains.copy()
        levels = self.level_gains(evidence)
        placed = np.zeros(len(gains))
        for level in reversed(range(len(levels))):
            if levels[level] <= 0:
                continue
            here = (evidence.codes[:, : gains.shape[1]] == JUDGED + level).sum(axis=1)
            missing = np.maximum(counts[:, level] - here, 0)
            chosen = open_ & (order > placed[:, None]) & (order <= (placed + missing)[:, None])
            filled[chosen] = levels[level]
            placed += missing
        return filled
