"""Normalised measures: AP, nDCG and Q, which need to know how many relevant documents there are.

Their ranges are the hard ones: judging a document relevant raises the numerator and the denominator. For a fixed
number of new relevant documents the best completion takes the shallowest unjudged places and the worst the deepest,
so a scan over that number, by cumulative sums, finds the exact extremes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fathoms.data.arrays import columns_at, distinct, ratio, row_sums
from fathoms.data.qrels import JUDGED
from fathoms.errors import FathomsError
from fathoms.evidence.evidence import Bools, Evidence, Floats, Ints, MixedGroups
from fathoms.measures.base import Binary, Graded, Measure, arranged, code_table, param, sorted_codes
from fathoms.measures.weighted import discounts, expected_sum


def outside(evidence: Evidence, n: int, universe: str | float) -> Floats:
    """V: unjudged documents outside the first n places that may turn out relevant, a number a topic."""
    if universe == "run":
        return evidence.unjudged[:, n:].sum(axis=1).astype(np.float64)
    if universe == "all":
        if evidence.unjudged_in_all_runs is None:
            raise FathomsError("universe=all needs the unjudged documents of all runs")
        return evidence.unjudged_in_all_runs - evidence.unjudged[:, :n].sum(axis=1).astype(np.float64)
    return np.full(len(evidence), float(universe))


class Normalised(Measure):
    """What AP, nDCG and Q share: whose judgments the ideal is made of, and which documents may join it."""

    bounds: str = param("exact", order=6, choices=("exact", "rm"))
    universe: str | float = param("run", order=7)

    variant: str
    pooled_variants: ClassVar[tuple[str, ...]] = ()  # those whose R or ideal comes from the pool of depth k

    def check(self) -> None:
        super().check()
        check_universe(self)
        if self.needs_pool and self.k is None:
            raise FathomsError(f"{self.name}: what is pooled to depth k needs a cut-off, such as {self.name}@10")

    @property
    def needs_pool(self) -> bool:
        return self.variant in self.pooled_variants

    def counts(self, evidence: Evidence, pooled: bool) -> Ints:
        """Judged documents by topic and level: all, or those in the pool of depth k."""
        if not pooled:
            return evidence.counts
        pool = evidence.pool
        if pool is None:
            raise FathomsError(f"{self.name} needs the pool of the contributing runs")
        use = (pool.judged_depth <= (self.k or 0)) & (pool.judged_code >= JUDGED)
        return _count(evidence, pool.judged_topic[use], pool.judged_code[use] - JUDGED)

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
        in_pool = _count(evidence, others, np.zeros(len(others), dtype=np.int64))[:, 0]
        open_ = unjudged & in_top
        return open_, unjudged & ~in_top, (in_pool - open_.sum(axis=1)).astype(np.float64)


def check_universe(measure: Any) -> None:
    universe = measure.universe
    if universe not in ("run", "all") and not (isinstance(universe, int | float) and universe >= 0):
        raise FathomsError(
            f"{type(measure).__name__}: universe must be run, all, a number of documents or inf, found {universe!r}"
        )


def _count(evidence: Evidence, topic: NDArray[Any], level: NDArray[Any]) -> Ints:
    """How often each level occurs in each topic of the block, from rows of the whole collection."""
    here = evidence.topic_numbers
    place = np.full(max(int(topic.max(initial=0)), int(here.max(initial=0))) + 1, -1)
    place[here] = np.arange(len(here))
    row = place[topic]
    width = len(evidence.levels)
    cells = row[row >= 0] * width + level[row >= 0]
    return np.bincount(cells, minlength=len(evidence) * width).reshape(len(evidence), width)


# -- average precision ----------------------------------------------------------------------------------------


class AP(Binary, Normalised):
    """Average precision: the mean, over all relevant documents, of the precision where each was found.

    Truncated at k (LMC-depth Table 2, eqs. 1 and 2) the sum is over R_d (variant a), min(R_d, k) (b), or R_k, the
    relevant documents that pooling to depth k would have found (c).
    """

    variant: str = param("a", choices=("a", "b", "c"))
    range_is: ClassVar[str] = "exact"
    pooled_variants: ClassVar[tuple[str, ...]] = ("c",)

    def value(self, evidence: Evidence) -> Floats:
        relevant = self._known(evidence)
        ranks = np.arange(1, relevant.shape[1] + 1)
        found = np.cumsum(relevant, axis=1)
        return ratio((found * relevant) @ (1 / ranks), self._norm(self._R(evidence)))

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        n = self.depth_read(evidence)
        open_, never, V = self.unknowns(evidence, n, self.needs_pool)
        low, high = score.copy(), score.copy()
        rows = (open_ | never).any(axis=1) | (V > 0)
        if not rows.any() or not self.can_be_relevant(evidence):
            return low, high
        known, R = self._known(evidence)[rows], self._R(evidence)[rows]
        if self.bounds == "rm":
            missing = R - (known & ~never[rows]).sum(axis=1)
            filled = known | (open_[rows] & (np.cumsum(open_[rows], axis=1) <= missing[:, None]))
            top = (np.cumsum(filled, axis=1) * filled) @ (1 / np.arange(1, n + 1))
            high[rows] = ratio(top, self._norm(R))
            return low, high
        found = known | never[rows]
        high[rows] = self._greatest(found, open_[rows], R)
        if self.needs_pool:
            # Found outside a pool without relevant documents: they count once anything in the pool is relevant.
            alone = (R == 0) & (V[rows] > 0)
            high[rows] = np.maximum(
                high[rows], alone * ((found * np.cumsum(found, axis=1)) @ (1 / np.arange(1, n + 1)))
            )
        # Where nothing is known relevant, judging everything else not relevant leaves the score 0 of no R.
        low[rows] = np.where(R > 0, self._least(known, open_[rows], R + V[rows]), 0.0)
        return low, high

    def predicted(self, evidence: Evidence, gains: Floats) -> Floats:
        """Beyond the paper: the expected sum of precisions, documents independent, over the expected R.

        E[sum] = sum_i p_i (1 + sum_{j<i} p_j) / i; dividing it by E[R] is the approximation.
        """
        n = self.depth_read(evidence)
        p = self.chances(evidence, gains)
        more = np.where(evidence.unjudged, p, 0.0).sum(axis=1)
        head = p[:, :n]
        sums = (head * (1 + np.cumsum(head, axis=1) - head)) @ (1 / np.arange(1, n + 1))
        return ratio(sums, self._norm(self._R(evidence) + more))

    def at_depths(self, evidence: Evidence, depths: Sequence[int]) -> Floats:
        if self.needs_pool:
            return super().at_depths(evidence, depths)
        evidence = self.prepared(evidence).padded(max(depths))
        relevant = self.relevant(evidence)[evidence.codes[:, : max(depths)]] > 0
        sums = np.cumsum(relevant * np.cumsum(relevant, axis=1) / np.arange(1, max(depths) + 1), axis=1)
        R = self.known_relevant(evidence)[:, None]
        return ratio(columns_at(sums, depths), np.minimum(R, depths) if self.variant == "b" else R)

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        """McSherry and Najork (2008): place i of a group of s with t relevant, after R' relevant above, adds
        t/s (R' + 1 + (i-1)(t-1)/(s-1)) / rank."""
        relevant = self.relevant(evidence)
        change = pair_change(evidence, mixed, self.depth_read(evidence), relevant, relevant)
        change /= mixed.column + 1
        sums = row_sums(mixed.row, change, len(evidence))
        return score + ratio(sums, self._norm(self._R(evidence)))

    def _known(self, evidence: Evidence) -> Bools:
        return self.relevant(evidence)[evidence.codes[:, : self.depth_read(evidence)]] > 0

    def _R(self, evidence: Evidence) -> Floats:
        counts = self.counts(evidence, self.needs_pool)
        return counts[:, evidence.levels >= self.rel].sum(axis=1).astype(np.float64)

    def _norm(self, R: Floats) -> Floats:
        return np.minimum(R, self.k) if self.variant == "b" and self.k is not None else R

    def _greatest(self, known: Bools, open_: Bools, R: Floats) -> Floats:
        """max over m of N_up(m) / (R + m), the m shallowest open places relevant."""
        inverse = 1 / np.arange(1, known.shape[1] + 1)
        K, U = np.cumsum(known, axis=1), np.cumsum(open_, axis=1)
        reciprocal = np.cumsum(known * inverse, axis=1)
        base = (known * K) @ inverse
        # Making place q relevant adds its own precision, and 1/rank to each known relevant place below it.
        gain = open_ * ((K + U) * inverse + reciprocal[:, -1:] - reciprocal)
        scan = ratio(base[:, None] + np.cumsum(gain, axis=1), self._norm(R[:, None] + U))
        return np.maximum(scan.max(axis=1), ratio(base, self._norm(R)))

    def _least(self, known: Bools, open_: Bools, R: Floats) -> Floats:
        """min over m of N_down(m) / (R + V + m), the m deepest open places relevant; R includes V here."""
        inverse = 1 / np.arange(1, known.shape[1] + 1)
        K = np.cumsum(known, axis=1)
        below = np.cumsum((known | open_) * inverse, axis=1)
        base = (known * K) @ inverse
        gain = open_ * ((K + 1) * inverse + below[:, -1:] - below)
        from_below = np.cumsum(gain[:, ::-1], axis=1)[:, ::-1]
        m = np.cumsum(open_[:, ::-1], axis=1)[:, ::-1]
        scan = ratio(base[:, None] + from_below, self._norm(R[:, None] + m))
        return np.minimum(scan.min(axis=1), ratio(base, self._norm(R)))


class GMAP(AP):
    """Geometric mean of AP over topics, each at least 0.00001 as in trec_eval; a topic's value is that AP."""

    cutoff: ClassVar[str] = "none"
    aggregate: ClassVar[str] = "geometric"
    least: ClassVar[float] = 0.00001

    def value(self, evidence: Evidence) -> Floats:
        return np.maximum(super().value(evidence), self.least)

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        low, high = super().range(evidence, super().value(evidence))
        if low is None or high is None:
            return None, None
        return np.maximum(low, self.least), np.maximum(high, self.least)

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        raw = super().expected(evidence, AP.value(self, evidence), mixed)
        return None if raw is None else np.maximum(raw, self.least)


def pair_change(evidence: Evidence, mixed: MixedGroups, n: int, flag: Floats, gain: Floats) -> Floats:
    """At each place of mixed groups: the mean over tie orders of b_i sum_{j<=i} g_j, less its value as ranked.

    b = `flag`, g = `gain`, tables over codes. Two places of a group of s hold an ordered pair of different
    documents, so E[b_i g_j] = (sum b sum g - sum b g) / (s (s-1)). Places past n count nothing.
    """
    codes = evidence.codes[:, : mixed.column.max() + 1]
    total = np.cumsum(gain[codes], axis=1)
    b, g = flag[codes[mixed.row, mixed.column]], gain[codes[mixed.row, mixed.column]]
    before = (total[mixed.row, mixed.column] - g)[mixed.start]  # what stands above each group
    size = mixed.size.astype(np.float64)
    sum_b, sum_g, sum_bg = mixed.totals(b), mixed.totals(g), mixed.totals(b * g)
    pair = (sum_b * sum_g - sum_bg) / np.maximum(size * (size - 1), 1)
    expected = ((sum_b * before + sum_bg) / size)[mixed.group] + mixed.within * pair[mixed.group]
    as_ranked = b * total[mixed.row, mixed.column]
    return np.where(mixed.column < n, expected - as_ranked, 0.0)


MANY_GRADES = 32


# -- layers of gain -------------------------------------------------------------------------------------------


class LayeredGains(Graded, Normalised):
    """Gains seen as layers: a document of gain g lies in every layer up to g, and an ideal ranking is a sum over
    layers of what the documents in the layer would be worth at the top.

    With gain steps g_1 < g_2 < .. and R_l the judged documents of gain g_l or more, the ideal DCG is
    sum_l (g_l - g_{l-1}) C(R_l), C the cumulated discounts, and the ideal cumulated gain at rank i is
    sum_l (g_l - g_{l-1}) min(i, R_l).
    """

    exp_is_scaled: ClassVar[bool] = False

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

    def thickness(self, evidence: Evidence) -> Floats:
        return np.diff(self.steps(evidence), prepend=0.0)

    def in_layer(self, evidence: Evidence, counts: Ints) -> Floats:
        """R_l: judged documents in each layer, [topic, layer]."""
        inside = self.level_gains(evidence)[:, None] >= self.steps(evidence)[None, :]
        return (counts @ inside).astype(np.float64)

    def joint_tie_value(self, evidence: Evidence, best: bool) -> Floats:
        """Unjudged documents between those with a gain and those without, as for binary measures."""
        return self.table(evidence, unknown=self.steps(evidence).min(initial=1.0) / 2)

    def more(self, evidence: Evidence, gains: Floats) -> Floats:
        """As many documents of the greatest gain as the predicted gains of the unjudged ones add up to."""
        total = np.where(evidence.unjudged, gains[:, : evidence.width], 0.0).sum(axis=1)
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


class nDCG(LayeredGains):
    """DCG over the DCG of the ideal ranking (LMC-depth eq. 3), which at a cut-off k is cut there too.

    The ideal is made of all judgments (variant a), or of those that pooling to depth k would have given (b).
    """

    variant: str = param("a", choices=("a", "b"))
    discount: str = param("log2", choices=("log2", "zipf"))
    range_is: ClassVar[str] = "exact"
    pooled_variants: ClassVar[tuple[str, ...]] = ("b",)

    def value(self, evidence: Evidence) -> Floats:
        n = self.depth_read(evidence)
        found = self.table(evidence)[evidence.codes[:, :n]] @ discounts(self.discount, n)
        return ratio(found, self._ideal(evidence))

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        n = self.depth_read(evidence)
        open_, never, V = self.unknowns(evidence, n, self.needs_pool)
        low, high = score.copy(), score.copy()
        rows = (open_ | never).any(axis=1) | (V > 0)
        top = self.top_gain(evidence)
        if not rows.any() or top == 0:
            return low, high
        evidence, open_, never, V = evidence.select(rows), open_[rows], never[rows], V[rows]
        gains = self.table(evidence)[evidence.codes[:, :n]]
        D = discounts(self.discount, n)
        if self.bounds == "rm":
            filled = self.filled_gains(evidence, gains, open_, self.counts(evidence, self.needs_pool))
            high[rows] = ratio(filled @ D, self._ideal(evidence))
            return low, high
        found = np.where(never, top, gains)
        ideal = self._ideal(evidence)
        high[rows] = self._greatest(evidence, found, open_, D)
        if self.needs_pool:
            # Found outside a pool without relevant documents: they count once anything in the pool is relevant.
            alone = (ideal == 0) & (V > 0)
            high[rows] = np.where(
                alone, np.maximum(high[rows], self._greatest(evidence, found, open_, D, others=1)), high[rows]
            )
        low[rows] = np.where(ideal > 0, self._least(evidence, gains, open_, V, D), 0.0)
        return low, high

    def predicted(self, evidence: Evidence, gains: Floats) -> Floats:
        """Beyond the paper: expected DCG over the ideal that holds the expected documents too."""
        n = self.depth_read(evidence)
        found = self.filled(evidence, gains)[:, :n] @ discounts(self.discount, n)
        R = self.in_layer(evidence, self.counts(evidence, self.needs_pool)) + self.more(evidence, gains)[:, None]
        R = np.minimum(R, np.inf if self.k is None else self.k)
        C = self._cumulated(np.ceil(R.max(initial=0)))
        return ratio(found, np.interp(R, np.arange(len(C)), C) @ self.thickness(evidence))

    def at_depths(self, evidence: Evidence, depths: Sequence[int]) -> Floats:
        if self.needs_pool:
            return super().at_depths(evidence, depths)
        evidence = self.prepared(evidence).padded(max(depths))
        n = max(depths)
        found = np.cumsum(self.table(evidence)[evidence.codes[:, :n]] * discounts(self.discount, n), axis=1)
        R, thickness = self.in_layer(evidence, evidence.counts), self.thickness(evidence)
        C = self._cumulated(n)
        # C rises, so C(min(R, k)) is the lesser of C(R) and C(k).
        full, at_depth = C[np.minimum(R, n).astype(np.int64)], C[np.asarray(depths)]
        ideal = sum(size * np.minimum(full[:, [i]], at_depth) for i, size in enumerate(thickness.tolist()))
        return ratio(columns_at(found, depths), np.asarray(ideal))

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        n = self.depth_read(evidence)
        zero = np.zeros(len(evidence))
        change = expected_sum(evidence, zero, mixed, self.table(evidence), discounts(self.discount, n))
        return score + ratio(change, self._ideal(evidence))

    def _cumulated(self, n: float) -> Floats:
        """C(0) .. C(n), discounts cumulated."""
        return np.append(0.0, np.cumsum(discounts(self.discount, int(n))))

    def _ideal(self, evidence: Evidence) -> Floats:
        R = self._capped(self.in_layer(evidence, self.counts(evidence, self.needs_pool)))
        ideal: Floats = self._cumulated(R.max(initial=0))[R] @ self.thickness(evidence)
        return ideal

    def _capped(self, count: Floats) -> Ints:
        return np.minimum(count, np.inf if self.k is None else self.k).astype(np.int64)

    def _least(self, evidence: Evidence, gains: Floats, open_: Bools, V: Floats, D: Floats) -> Floats:
        """min over m, the m deepest open places and all V of the greatest gain.

        Exact: raising a gain helps the ideal more the higher it is already, so no grade in between pays.
        """
        if self.k is None and np.isinf(V).any():
            return np.zeros(len(gains))  # an ideal without end
        R, thickness = self.in_layer(evidence, self.counts(evidence, self.needs_pool)), self.thickness(evidence)
        found = gains @ D
        m = np.cumsum(open_[:, ::-1], axis=1)[:, ::-1]
        above = found[:, None] + self.top_gain(evidence) * np.cumsum((open_ * D)[:, ::-1], axis=1)[:, ::-1]
        above, m = np.hstack([above, found[:, None]]), np.hstack([m, np.zeros((len(m), 1))])
        C = self._cumulated(self._capped(R.max(axis=1) + m.max(axis=1) + V).max(initial=0))
        ideal = sum(step * C[self._capped(R[:, layer, None] + m + V[:, None])] for layer, step in enumerate(thickness))
        return ratio(above, np.asarray(ideal)).min(axis=1)

    def _greatest(self, evidence: Evidence, gains: Floats, open_: Bools, D: Floats, others: int = 0) -> Floats:
        """The greatest ratio over all grades of the open places, exact, by Dinkelbach's method over layers.

        For a trial value x, numerator - x ideal is a sum over layers, each of which takes its own best number m of
        shallowest open places. A lower layer holds more judged documents, so another one costs its ideal less and
        it takes at least as many: the layers nest, and the optimum is an assignment of grades in use. `others` is
        a number of documents outside the ranking of the least positive gain.
        """
        R, thickness = self.in_layer(evidence, self.counts(evidence, self.needs_pool)), self.thickness(evidence)
        R[:, 0] += others
        m = np.hstack([np.zeros((len(gains), 1), dtype=np.int64), np.cumsum(open_, axis=1)])
        added = np.hstack([np.zeros((len(gains), 1)), np.cumsum(open_ * D, axis=1)])
        C = self._cumulated(self._capped(R.max(axis=1) + m[:, -1]).max(initial=0))
        steps = self.steps(evidence)
        above = [((gains >= step) @ D)[:, None] + added for step in steps]
        below = [C[self._capped(R[:, layer, None] + m)] for layer in range(len(steps))]
        together = sum(step * part for step, part in zip(thickness, above, strict=True))
        ideal = sum(step * part for step, part in zip(thickness, below, strict=True))
        best = ratio(np.asarray(together), np.asarray(ideal)).max(axis=1)  # all layers with the same m: a start
        return best if len(steps) == 1 else _dinkelbach(thickness, above, below, best)

    def joint_high(self, evidence: Evidence, high: Floats) -> Floats:
        """Exact with one positive gain. With more, each layer has its own documents in front, then the unjudged.

        For a given judging the best order has, in each tie group, every layer's documents at the top. So a layer may
        take its shallowest unjudged places as in `_greatest`; but they need not nest, which makes the value sound only.
        """
        steps, thickness = self.steps(evidence), self.thickness(evidence)
        if len(steps) < 2:
            return super().joint_high(evidence, high)
        n = self.depth_read(evidence)
        rows = np.flatnonzero(evidence.tied.any(axis=1))
        block = evidence.select(rows)
        D, R = discounts(self.discount, n), self.in_layer(block, block.counts)
        above, below = [], []
        C = self._cumulated(self._capped(R.max(axis=1, initial=0) + block.unjudged.sum(axis=1)).max(initial=0))
        for layer, step in enumerate(steps):
            worth = code_table((self.level_gains(block) >= step).astype(np.float64), unknown=0.5)
            found = worth[sorted_codes(block, worth, n, best=True)[:, :n]]
            open_ = found == 0.5
            m, added = (from_zero(np.cumsum(part, axis=1)) for part in (open_, open_ * D))
            above.append(((found == 1) @ D)[:, None] + added)
            below.append(C[self._capped(R[:, layer, None] + m)])
        anew = high.copy()
        anew[rows] = _dinkelbach(thickness, above, below, high[rows])
        return anew

    def joint_low(self, evidence: Evidence, low: Floats) -> Floats:
        """As in `_least`, grades between 0 and the greatest do not pay; a document made of the greatest goes to the
        end of its group and moves the known ones above it up a place.

        What the c-th of a group adds to the sum depends on c alone, and adding the m least additions of a topic is
        the least for m documents if they rise with c. So they do, the discount being convex, and the value is exact
        but for a group across the cut-off that holds gains in between: there it is sound.
        """
        if len(self.steps(evidence)) < 2:
            return super().joint_low(evidence, low)
        n = self.depth_read(evidence)
        rows = np.flatnonzero(evidence.tied.any(axis=1) & (self._ideal(evidence) > 0))
        if not len(rows):
            return low
        anew = low.copy()
        block = evidence.select(rows)
        top, table = self.top_gain(block), self.table(block)
        D = np.append(discounts(self.discount, n), np.zeros(block.width - n))
        gains = table[sorted_codes(block, table, n, best=False)]
        column = np.broadcast_to(np.arange(block.width), block.tied.shape)
        start = np.maximum.accumulate(np.where(block.tied, 0, column), axis=1)
        group = np.cumsum(~block.tied).reshape(block.tied.shape) - 1
        last = np.zeros(int(group.max()) + 1, dtype=np.int64)
        last[group.ravel()] = column.ravel()  # the last place of a group is the last to be written
        unknown = block.unjudged & (start < n)
        of, row = group[unknown], np.nonzero(unknown)[0]
        c = np.arange(len(of)) - np.searchsorted(of, of) + 1
        extra = top * D[last[of] - c + 1] + _shifted_up(of, c, group[gains > 0], column[gains > 0], gains[gains > 0], D)
        in_topic = np.arange(len(row)) - np.searchsorted(row, row)
        least = np.full((len(rows), int(in_topic.max(initial=-1)) + 1), np.inf)
        least[row, in_topic] = extra
        sums = (gains @ D)[:, None] + from_zero(np.cumsum(np.sort(least, axis=1), axis=1))
        m = np.arange(sums.shape[1])
        V = outside(block, n, self.universe) + block.unjudged[:, :n].sum(axis=1) - unknown.sum(axis=1)
        if self.k is None and np.isinf(V).any():
            return low
        R, thickness = self.in_layer(block, block.counts), self.thickness(block)
        C = self._cumulated(self._capped(R.max(axis=1) + m[-1] + V).max(initial=0))
        ideal = sum(step * C[self._capped(R[:, layer, None] + m + V[:, None])] for layer, step in enumerate(thickness))
        anew[rows] = np.minimum(low[rows], ratio(sums, np.asarray(ideal)).min(axis=1))
        return anew


def _dinkelbach(thickness: Floats, above: list[Floats], below: list[Floats], best: Floats) -> Floats:
    """The greatest sum of step * above over sum of step * below, from `best` up; each layer chooses its column."""
    above = [np.where(below[0] > 0, above[0], -np.inf), *above[1:]]  # an ideal of nothing makes no ratio
    rows = np.arange(len(best))
    while True:
        numerator, denominator = np.zeros(len(best)), np.zeros(len(best))
        for step, part, cost in zip(thickness, above, below, strict=True):
            choice = (part - best[:, None] * cost).argmax(axis=1)
            numerator += step * part[rows, choice]
            denominator += step * cost[rows, choice]
        better = np.where(denominator > 0, ratio(numerator, denominator), 0.0)
        if not (better > best * (1 + 1e-14)).any():
            return best
        best = np.maximum(best, better)


def from_zero(sums: NDArray[Any]) -> NDArray[Any]:
    """Running sums with the sum of nothing in front."""
    return np.hstack([np.zeros((len(sums), 1), dtype=sums.dtype), sums])


def _shifted_up(of: Ints, c: Ints, group: Ints, column: Ints, gain: Floats, D: Floats) -> Floats:
    """For the c-th unjudged document of each group `of`: what the known gains get when they move up their c-th place.

    `group`, `column` and `gain` say where the known gains stand before any has moved, by group.
    """
    first = np.searchsorted(group, of)
    each = np.searchsorted(group, of, side="right") - first
    pair = np.repeat(np.arange(len(of)), each)
    known = np.arange(len(pair)) - np.repeat(np.cumsum(each) - each, each) + first[pair]
    at = column[known] - c[pair]
    return row_sums(pair, gain[known] * (D[at] - D[at + 1]), len(of))


# -- Q-measure ------------------------------------------------------------------------------------------------


class Q(LayeredGains):
    """Sakai's Q-measure: AP with precision blended with cumulated gain over the ideal's (LMC-depth Table 2).

    Q = 1/R sum_i b_i (sum_{j<=i} b_j + beta sum_{j<=i} G(j)) / (i + beta sum_{j<=i} G*(j)). R as in AP's variants
    a, b, c; the ideal G* from all judgments (i) or those pooled to depth k (ii).
    """

    variant: str = param("a", choices=("a", "b", "c"))
    ideal: str = param("i", choices=("i", "ii"))
    beta: float = param(1.0, check="positive")
    range_is: ClassVar[str] = "sound"
    rel_counts: ClassVar[bool] = True

    @property
    def needs_pool(self) -> bool:
        return self.variant == "c" or self.ideal == "ii"

    @property
    def sorting_is_optimal(self) -> bool:  # type: ignore[override]
        # Below `rel` a document has gain without counting as found; then sorting by grade need not be optimal.
        return self.rel <= 1 or self.gain == "binary"

    def value(self, evidence: Evidence) -> Floats:
        n = self.depth_read(evidence)
        codes = evidence.codes[:, :n]
        flags, gains = self._flag(evidence)[codes], self.table(evidence)[codes]
        terms = flags * (np.cumsum(flags, axis=1) + self.beta * np.cumsum(gains, axis=1))
        return ratio((terms / self._blend(evidence, n)).sum(axis=1), self._norm(self._R(evidence)))

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        levels, gains_of_levels = evidence.levels, self.level_gains(evidence)
        if ((gains_of_levels > 0) & (levels < self.rel)).any():
            return None, None  # gain without relevance: no bound is known to us
        n = self.depth_read(evidence)
        open_, never, V = self.unknowns(evidence, n, self.variant == "c")
        low, high = score.copy(), score.copy()
        others = self._others(evidence, n, V)
        rows = np.flatnonzero((open_ | never).any(axis=1) | (V > 0) | (others > 0))
        top = self.top_gain(evidence)
        if not len(rows) or evidence.max_grade < self.rel:
            return low, high
        # Topics with most open places first, so that a scan over m works on ever fewer rows from the top.
        rows = rows[np.argsort(-open_[rows].sum(axis=1), kind="stable")]
        block, open_, never, V = evidence.select(rows), open_[rows], never[rows], V[rows]
        others = others[rows]
        flags = self._flag(block)[block.codes[:, :n]] > 0
        gains = self.table(block)[block.codes[:, :n]]
        if self.bounds == "rm":
            filled = self.filled_gains(block, gains, open_, self.counts(block, self.variant == "c"))
            new = flags | (filled > gains)
            terms = new * (np.cumsum(new, axis=1) + self.beta * np.cumsum(filled, axis=1)) / self._blend(block, n)
            high[rows] = ratio(terms.sum(axis=1), self._norm(self._R(block)))
            return low, high
        high[rows] = self._greatest(block, flags | never, np.where(never, top, gains), open_, V, n)
        low[rows] = np.where(self._R(block) > 0, self._least(block, flags, gains, open_, V, others, n), 0.0)
        return low, high

    def predicted(self, evidence: Evidence, gains: Floats) -> Floats:
        """Beyond the paper, as for AP: an unjudged document is one of the greatest gain with some chance."""
        n = self.depth_read(evidence)
        top = self.top_gain(evidence)
        unjudged = evidence.unjudged[:, :n]
        gains_here = self.filled(evidence, gains)[:, :n]
        flags = np.where(unjudged, ratio(gains_here, np.full(n, top)), self._flag(evidence)[evidence.codes[:, :n]])
        own = np.where(unjudged, top, gains_here)  # what the document is worth where it is relevant
        before = np.cumsum(flags + self.beta * gains_here, axis=1) - (flags + self.beta * gains_here)
        more = self.more(evidence, gains)
        R = self.in_layer(evidence, self.counts(evidence, self.ideal == "ii")) + more[:, None]
        terms = flags * (1 + self.beta * own + before) / self._blended(R, self.thickness(evidence), n)
        return ratio(terms.sum(axis=1), self._norm(self._R(evidence) + more))

    def at_depths(self, evidence: Evidence, depths: Sequence[int]) -> Floats:
        if self.needs_pool:
            return super().at_depths(evidence, depths)
        n = max(depths)
        evidence = self.prepared(evidence).padded(n)
        codes = evidence.codes[:, :n]
        flags, gains = self._flag(evidence)[codes], self.table(evidence)[codes]
        terms = flags * (np.cumsum(flags, axis=1) + self.beta * np.cumsum(gains, axis=1))
        sums = columns_at(np.cumsum(terms / self._blend(evidence, n), axis=1), depths)
        R = self._R(evidence)[:, None]
        return ratio(sums, np.minimum(R, depths) if self.variant == "b" else R)

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        flag = self._flag(evidence)
        n = self.depth_read(evidence)
        pairs = pair_change(evidence, mixed, n, flag, flag + self.beta * self.table(evidence))
        blend = self._blend(evidence, n)
        change = pairs / blend[mixed.row, np.minimum(mixed.column, n - 1)]
        sums = row_sums(mixed.row, change, len(evidence))
        return score + ratio(sums, self._norm(self._R(evidence)))

    def joint_high(self, evidence: Evidence, high: Floats) -> Floats:
        """As `_greatest`, over orders too; exact where there is one positive gain.

        Relevant documents stand first in their tie group. How much gain has been seen at a place is at most that of
        the known ones in front and, again in front, the m new ones; and at most the greatest gain for each relevant.
        """
        high = super().joint_high(evidence, high)
        n, worth = self.depth_read(evidence), self.joint_tie_value(evidence, best=True)
        mixed = evidence.mixed(worth, n)
        if mixed is None or evidence.max_grade < self.rel:
            return high
        part = arranged(evidence, worth, mixed, best=True)
        most_open_first = np.argsort(-part.unjudged[:, :n].sum(axis=1), kind="stable")
        block = part.select(most_open_first)
        unjudged_first = self.table(block, unknown=np.inf)
        seen = np.cumsum(np.isinf(unjudged_first[sorted_codes(block, unjudged_first, n, best=True)[:, :n]]), axis=1)
        flags, gains = self._flag(block)[block.codes[:, :n]] > 0, self.table(block)[block.codes[:, :n]]
        none = np.zeros(len(block))
        rows = mixed.rows[most_open_first]
        high[rows] = np.maximum(high[rows], self._greatest(block, flags, gains, block.unjudged[:, :n], none, n, seen))
        return high

    @property
    def _one_pool(self) -> bool:
        """R and the ideal are made of the same documents."""
        return (self.variant == "c") == (self.ideal == "ii")

    def _others(self, evidence: Evidence, n: int, V: Floats) -> Floats:
        """Unjudged documents that may join the ideal without being one of the m: V, or all where pools differ."""
        if self._one_pool:
            return V
        places, never, others = self.unknowns(evidence, n, self.ideal == "ii")
        return others + (places | (never & (self.ideal == "i"))).sum(axis=1)

    def _flag(self, evidence: Evidence) -> Floats:
        flag = np.zeros(JUDGED + len(evidence.levels))
        flag[JUDGED:] = evidence.levels >= self.rel
        return flag

    def _R(self, evidence: Evidence) -> Floats:
        counts = self.counts(evidence, self.variant == "c")
        return counts[:, evidence.levels >= self.rel].sum(axis=1).astype(np.float64)

    def _norm(self, R: Floats) -> Floats:
        return np.minimum(R, self.k) if self.variant == "b" and self.k is not None else R

    def _blend(self, evidence: Evidence, n: int) -> Floats:
        """i + beta sum_{j<=i} G*(j) for the known judgments."""
        R = self.in_layer(evidence, self.counts(evidence, self.ideal == "ii"))
        return self._blended(R, self.thickness(evidence), n)

    def _blended(self, R: Floats, thickness: Floats, n: int) -> Floats:
        ranks = np.arange(1, n + 1)
        blend = np.broadcast_to(ranks.astype(np.float64), (len(R), n)).copy()
        for layer, step in enumerate(thickness):
            blend += self.beta * step * np.minimum(ranks, R[:, layer, None])
        return blend

    def _greatest(
        self, block: Evidence, flags: Bools, gains: Floats, open_: Bools, V: Floats, n: int, seen: Ints | None = None
    ) -> Floats:
        """max over m: the m shallowest open places of the greatest gain, m documents of the least in the ideal.

        Exact where there is one positive gain; else no completion is better, since none has as much in its
        ranking with as little in its ideal. `seen` counts the open places down to each one where that is more than
        there are, for documents in an order of their own.
        """
        R_layers, thickness = self.in_layer(block, self.counts(block, self.ideal == "ii")), self.thickness(block)
        R, top = self._R(block), self.top_gain(block)
        U = np.cumsum(open_, axis=1)
        found, gained = np.cumsum(flags, axis=1), np.cumsum(gains, axis=1)
        best = np.zeros(len(block))
        for m in range(int(U[:, -1].max(initial=0)) + 1):
            rows = slice(0, int((U[:, -1] >= m).sum()))
            extra = np.minimum(U[rows], m)
            chosen = flags[rows] | (open_[rows] & (U[rows] <= m))
            in_layers = R_layers[rows].copy()
            in_layers[:, 0] += m if self._one_pool or self.ideal == "i" else 0
            count, gain = found[rows] + extra, gained[rows] + top * extra
            if seen is not None:
                gain = np.minimum(gained[rows] + top * np.minimum(seen[rows], m), top * count)
            terms = chosen * (count + self.beta * gain)
            sums = (terms / self._blended(in_layers, thickness, n)).sum(axis=1)
            best[rows] = np.maximum(best[rows], ratio(sums, self._norm(R[rows] + m)))
        if not self.needs_pool:
            return np.minimum(best, 1.0)
        # Found outside a pool without relevant documents: they count once anything in the pool is relevant.
        terms = flags * (found + self.beta * gained) / self._blended(R_layers, thickness, n)
        return np.maximum(best, ((R == 0) & (V > 0)) * terms.sum(axis=1))

    def _least(
        self, block: Evidence, flags: Bools, gains: Floats, open_: Bools, V: Floats, others: Floats, n: int
    ) -> Floats:
        """min over m: m open places of the least gain, m + V documents of the greatest in the ideal.

        With one positive gain the m deepest places are the worst, and the value is exact. Else a place below a
        document of greater gain may be better than one above it, so the parts of the sum that the new documents
        make alone and with each other are each taken at their least.
        """
        R_layers, thickness = self.in_layer(block, self.counts(block, self.ideal == "ii")), self.thickness(block)
        R, bottom = self._R(block) + V, self.steps(block)[0]
        order = np.cumsum(open_[:, ::-1], axis=1)[:, ::-1]  # 1 for the deepest open place
        total = open_.sum(axis=1)
        blend = np.cumsum(flags, axis=1) + self.beta * np.cumsum(gains, axis=1)
        each = 1 + self.beta * bottom  # what a new document adds to the blend from its place on
        worst = np.full(len(block), np.inf)
        for m in range(int(total.max(initial=0)) + 1):
            rows = slice(0, int((total >= m).sum()))
            in_layers = R_layers[rows] + (m if self._one_pool else 0) + others[rows, None]
            inverse = 1 / self._blended(in_layers, thickness, n)
            new = open_[rows] & (order[rows] <= m)
            known = flags[rows] * inverse
            below = known.sum(axis=1, keepdims=True) - np.cumsum(known, axis=1)
            alone = blend[rows] * inverse + each * below
            if len(thickness) == 1:
                single = (alone * new).sum(axis=1)
            else:
                least = np.sort(np.where(open_[rows], alone, np.inf), axis=1)
                single = least[:, :m].sum(axis=1)
            together = each * (np.cumsum(new, axis=1) * new * inverse).sum(axis=1)
            sums = (blend[rows] * known).sum(axis=1) + single + together
            worst[rows] = np.minimum(worst[rows], ratio(sums, self._norm(R[rows] + m)))
        return worst
