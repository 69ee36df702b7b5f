"""Weighted sums of gains over that of the ideal ranking, as nDCG is. The weight says it all; the rest follows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fathoms.base.arrays import columns_at, ratio, row_sums
from fathoms.evidence.evidence import Bools, Evidence, Floats, Ints, MixedGroups
from fathoms.measures.base import JudgingKind, RangeKind
from fathoms.measures.gains import code_table
from fathoms.measures.ideal import LayeredGains, Rows, any_rows, from_zero, outside, running
from fathoms.measures.params import param
from fathoms.measures.ties import expected_sum, sorted_codes
from fathoms.measures.weighted import padded, weights_of

if TYPE_CHECKING:
    from fathoms.evidence.pairs import PairEvidence
    from fathoms.evidence.sparse_places import Listed


class NormalisedSum(LayeredGains):
    """Declares `weight`: the weighted sum of the gains over that of the ideal ranking, which is cut at k too.

    `variant` says which judgments the ideal is made of: all (a), or those that pooling to depth k would give (b).
    """

    variant: str = param(
        "a",
        "the judgments that the ideal ranking is made of: a, all; b, those of the pool of depth k",
        choices=("a", "b"),
    )
    range_claim: ClassVar[RangeKind] = "exact"
    difference_claim: ClassVar[RangeKind] = "exact"
    sums_listed: ClassVar[bool] = True
    judging: ClassVar[JudgingKind] = "draws"
    pooled_variants: ClassVar[tuple[str, ...]] = ("b",)

    @abstractmethod
    def weight(self, n: int) -> Floats:
        """The weights of the first n ranks. The range is exact if they do not rise from rank to rank."""

    def value(self, evidence: Evidence) -> Floats:
        return ratio(self._sum(evidence), self._ideal(evidence))

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        n = self.depth_read(evidence)
        open_, never, V = self.unknowns(evidence, n, self.needs_pool)
        low, high = score.copy(), score.copy()
        rows = any_rows((open_ | never).any(axis=1) | (V > 0))
        if rows is None or self.top_gain(evidence) == 0:
            return low, high
        if self.bounds == "rm":
            block = evidence.select(rows)
            gains = self.table(block)[block.codes[:, :n]]
            filled = self.filled_gains(block, gains, open_[rows], self.counts(block, self.needs_pool))
            high[rows] = ratio(filled @ weights_of(self, n), self._ideal(block))
            return low, high
        open_, V = open_[rows], V[rows]
        R = self.in_layer(evidence, self.counts(evidence, self.needs_pool))[rows]
        high[rows] = self._greatest(evidence, rows, open_, never, R)
        is_empty = R[:, 0] == 0  # has a gain, as far as is known
        if self.needs_pool:
            # Found outside a pool without relevant documents: they count once anything in the pool is relevant.
            one_more = np.append(1.0, np.zeros(R.shape[1] - 1))
            with_one = np.maximum(high[rows], self._greatest(evidence, rows, open_, never, R + one_more))
            high[rows] = np.where(is_empty & (V > 0), with_one, high[rows])
        low[rows] = np.where(is_empty, 0.0, self._least(evidence, self._sum(evidence)[rows], open_, R, V))
        # What is scored is one of the judgings, and rounding shall not say otherwise.
        return np.minimum(low, score), np.maximum(high, score)

    def greatest_difference(self, pair: PairEvidence, limits: Ints) -> Floats | None:
        """Exact. Where A can be ahead, layers of gain choose their own number of documents, as in `_greatest`; they
        nest, since a lower layer holds more judged documents. Where B is ahead however one judges, gains between 0 and
        the greatest do not pay, as in `_least`, and all layers take the same documents."""
        from fathoms.measures.differences import greatest_ratio, largest_first, weight_differences

        if self.needs_pool:
            return None
        evidence, thickness, steps = pair.unranked, self.thickness(pair.unranked), self.steps(pair.unranked)
        n = pair.width if self.k is None else int(self.k)
        difference = weight_differences(pair, self.weight(n))
        gains = self.table(evidence)[pair.codes]
        top, R = self.top_gain(evidence), self.in_layer(evidence, evidence.counts)
        sums = largest_first(difference, pair.unjudged & (top > 0))
        C = self._cumulated(self._capped(R.max(axis=1) + sums.shape[1] + pair.others).max(initial=0))

        def ideal(m: Floats) -> Floats:
            layers = (step * C[self._capped(R[:, [i]] + m)] for i, step in enumerate(thickness))
            return np.asarray(sum(layers))

        base = (difference * gains).sum(axis=1)
        greatest = greatest_ratio(base, top * sums, pair.others, limits, ideal)
        if len(steps) == 1:
            return greatest
        m = np.arange(sums.shape[1], dtype=np.float64)[None, :]
        for i, limit in enumerate(limits.tolist()):
            ahead = np.flatnonzero(greatest[:, i] >= 0)
            width = min(limit + 1, sums.shape[1])
            part = np.where(np.isfinite(sums[ahead, :width]), sums[ahead, :width], -1e300)
            above = [(difference[ahead] * (gains[ahead] >= step)).sum(axis=1)[:, None] + part for step in steps]
            below = [C[self._capped(R[ahead][:, [layer]] + m[:, :width])] for layer in range(len(steps))]
            greatest[ahead, i] = _dinkelbach(thickness, above, below, greatest[ahead, i])
        return greatest

    def predicted(self, evidence: Evidence, gains: Floats) -> Floats:
        """Beyond the paper: the expected sum over the ideal that holds the expected documents too."""
        n = self.depth_read(evidence)
        total = self.filled(evidence, gains)[:, :n] @ self.weight(n)
        more = self.more(evidence, gains, self.needs_pool)
        R = self.in_layer(evidence, self.counts(evidence, self.needs_pool)) + more[:, None]
        return ratio(total, self._ideal_of(R, evidence))

    def listed_sums(self, listed: Listed, values: Floats, known: Evidence) -> Floats:
        part = listed.cut(self.k)
        return part.weighted_sums(self.weight(part.depth), values)

    def from_sums(self, sums: Floats, known: Evidence) -> Floats:
        return ratio(sums, self._ideal(known))

    def place_effects(self, gains: Floats, relevant: Floats, known: Evidence) -> Floats:
        n = gains.shape[1]
        return np.broadcast_to(padded(self.weight(n if self.k is None else int(self.k)), n), gains.shape)

    def divisor(self, known: Evidence) -> Floats:
        return self._ideal_of(self.in_layer(known, self.counts(known, self.needs_pool)), known)

    def _ideal_of(self, R: Floats, evidence: Evidence) -> Floats:
        """The ideal sum of as many documents in each layer, of which there may be fractions."""
        R = np.minimum(R, np.inf if self.k is None else self.k)
        C = self._cumulated(np.ceil(R.max(initial=0)))
        return np.interp(R, np.arange(len(C)), C) @ self.thickness(evidence)

    def at_depths(self, evidence: Evidence, depths: Sequence[int]) -> Floats:
        if self.needs_pool:
            return super().at_depths(evidence, depths)
        evidence = self.prepared(evidence).padded(max(depths))
        n = max(depths)
        sums = np.cumsum(self.table(evidence)[evidence.codes[:, :n]] * self.weight(n), axis=1)
        R, thickness = self.in_layer(evidence, evidence.counts), self.thickness(evidence)
        C = self._cumulated(n)
        # C rises, so C(min(R, k)) is the lesser of C(R) and C(k).
        full, at_depth = C[np.minimum(R, n).astype(np.int64)], C[np.asarray(depths)]
        ideal = sum(size * np.minimum(full[:, [i]], at_depth) for i, size in enumerate(thickness.tolist()))
        return ratio(columns_at(sums, depths), np.asarray(ideal))

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        n = self.depth_read(evidence)
        zero = np.zeros(len(evidence))
        change = expected_sum(evidence, zero, mixed, self.table(evidence), weights_of(self, n))
        return score + ratio(change, self._ideal(evidence))

    def _cumulated(self, n: float) -> Floats:
        """C(0) .. C(n), weights cumulated."""
        return cumulated_of(self, int(n))

    def _ideal(self, evidence: Evidence) -> Floats:
        R = self._capped(self.in_layer(evidence, self.counts(evidence, self.needs_pool)))
        ideal: Floats = self._cumulated(R.max(initial=0))[R] @ self.thickness(evidence)
        return ideal

    def _capped(self, count: Floats) -> Ints:
        return (count if self.k is None else np.minimum(count, self.k)).astype(np.int64)

    def _sum(self, evidence: Evidence) -> Floats:
        """The weighted sum of the gains."""
        n, table = self.depth_read(evidence), self.table(evidence)
        places = evidence.holding(table, n)
        return places.sums(table[places.code] * weights_of(self, n)[places.column])

    def _least(self, evidence: Evidence, total: Floats, open_: Bools, R: Floats, V: Floats) -> Floats:
        """min over m, the m deepest open places and all V of the greatest gain; R has the documents of each layer.

        Exact: raising a gain helps the ideal more the higher it is already, so no grade in between pays.
        """
        if self.k is None and np.isinf(V).any():
            return np.zeros(len(total))  # an ideal without end
        m, added = (running(part[:, ::-1]) for part in (open_, open_ * weights_of(self, open_.shape[1])))
        above = total[:, None] + self.top_gain(evidence) * added
        return ratio(above, self._ideals(evidence, R + V[:, None], m)).min(axis=1)

    def _greatest(self, evidence: Evidence, rows: Rows, open_: Bools, never: Bools, R: Floats) -> Floats:
        """The greatest ratio over all grades of the open places, exact, by Dinkelbach's method over layers.

        For a trial value x, numerator - x ideal is a sum over layers, each of which takes its own best number m of
        shallowest open places. A lower layer holds more judged documents, so another one costs its ideal less and
        it takes at least as many: the layers nest, and the optimum is an assignment of grades in use. R has the
        judged documents of each layer. Documents that are `never` in R have the greatest gain.
        """
        D, steps = weights_of(self, open_.shape[1]), self.steps(evidence)
        m, added = (running(part) for part in (open_, open_ * D))
        total = self._sum(evidence)[rows] + self.top_gain(evidence) * (never[rows] @ D)
        above = total[:, None] + self.top_gain(evidence) * added
        best = ratio(above, self._ideals(evidence, R, m)).max(axis=1)  # all layers with the same m: a start
        if len(steps) == 1:
            return best
        gains = self.table(evidence)[evidence.codes[rows, : open_.shape[1]]]
        C = self._cumulated(self._capped(R[:, 0] + m[:, -1]).max(initial=0))
        of_layers = [((gains >= step) | never[rows]) @ D for step in steps]
        below = [C[self._capped(R[:, layer, None] + m)] for layer in range(len(steps))]
        return _dinkelbach(self.thickness(evidence), [sums[:, None] + added for sums in of_layers], below, best)

    def _ideals(self, evidence: Evidence, R: Floats, m: Ints) -> Floats:
        """The ideal sums of R documents in each layer and m more of the greatest gain, [row, m]."""
        C = self._cumulated(self._capped(R[:, 0] + m[:, -1]).max(initial=0))
        thickness = self.thickness(evidence)
        ideals = thickness[0] * C[self._capped(R[:, :1] + m)]
        for layer in range(1, len(thickness)):
            ideals += thickness[layer] * C[self._capped(R[:, layer, None] + m)]
        return ideals

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
        D, R = self.weight(n), self.in_layer(block, block.counts)
        above, below = [], []
        C = self._cumulated(self._capped(R.max(axis=1, initial=0) + block.unjudged.sum(axis=1)).max(initial=0))
        for layer, step in enumerate(steps):
            values = code_table((self.level_gains(block) >= step).astype(np.float64), unknown=0.5)
            sorted_values = values[sorted_codes(block, values, n, best=True)[:, :n]]
            open_ = sorted_values == 0.5
            m, added = (from_zero(np.cumsum(part, axis=1)) for part in (open_, open_ * D))
            above.append(((sorted_values == 1) @ D)[:, None] + added)
            below.append(C[self._capped(R[:, layer, None] + m)])
        anew = high.copy()
        anew[rows] = _dinkelbach(thickness, above, below, high[rows])
        return anew

    def joint_low(self, evidence: Evidence, low: Floats) -> Floats:
        """As in `_least`, grades between 0 and the greatest do not pay; a document made of the greatest goes to the
        end of its group and moves the known ones above it up a place.

        What the c-th of a group adds to the sum depends on c alone, and adding the m least additions of a topic is
        the least for m documents if they rise with c. So they do where weights are convex, and the value is exact
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
        D = np.append(self.weight(n), np.zeros(block.width - n))
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


@lru_cache(maxsize=16)
def cumulated_of(measure: NormalisedSum, n: int) -> Floats:
    """A measure's weights cumulated, made once for ideals of the same length."""
    sums = np.append(0.0, np.cumsum(measure.weight(n)))
    sums.flags.writeable = False
    return sums


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
