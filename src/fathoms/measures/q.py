"""The Q-measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import columns_at, ratio, row_sums
from fathoms.base.tolerances import ROUNDING
from fathoms.data.qrels import JUDGED
from fathoms.evidence.evidence import Bools, Evidence, Floats, Ints, MixedGroups
from fathoms.measures.base import JudgingKind, RangeKind
from fathoms.measures.ideal import LayeredGains, from_zero, variant_of_R
from fathoms.measures.params import param
from fathoms.measures.scan import greatest, least
from fathoms.measures.ties import arranged, pair_change, sorted_codes

if TYPE_CHECKING:
    from fathoms.evidence.pairs import PairEvidence

LOOSE = 1e-4  # how much wider than need be a range may be that is only sound anyway


class Q(LayeredGains):
    """Sakai's Q-measure: AP, with precision blended with cumulated gain over the ideal's.

        Q@k = (1/N) sum_{i<=k} r_i (r_1 + ... + r_i + beta (g_1 + ... + g_i)) / (i + beta (g*_1 + ... + g*_i))

    g* are the gains of the ideal ranking, N is as in AP; after Lu, Moffat and Culpepper (2016).

    The range is exact with one positive gain. With several it is only sound: which ranks are worst depends on the
    gains around them, and the grades that help the ranking also raise its ideal, so the two are bounded separately. No
    range if a grade below `rel` has a positive gain.

    NTCIR's Q@10 is `Q(variant=b)@10`.
    """

    examples = ("Q", "Q(variant=b)@10", "Q(gain=binary)@10")
    citation = (
        "T. Sakai (2004). New performance metrics based on multigrade relevance: their application to question "
        "answering."
    )
    range_claim: ClassVar[RangeKind] = "sound"
    rel_counts: ClassVar[bool] = True
    quadratic_difference: ClassVar[bool] = True
    falls_with_others: ClassVar[bool] = False
    judging: ClassVar[JudgingKind] = "draws"

    variant: str = variant_of_R()
    ideal: str = param(
        "i",
        "the judgments that the ideal ranking is made of: i, all; ii, those of the pool of depth k",
        choices=("i", "ii"),
    )
    beta: float = param(1.0, "how much cumulated gain counts beside precision", check="positive")

    @property
    def range_is(self) -> RangeKind:
        kind = super().range_is
        one_gain = self.gain == "binary" and self.gains is None
        return "exact" if kind == "sound" and one_gain and not self.needs_pool else kind

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
        open_, never, V = self._unknowns(evidence, n, self.variant == "c")
        low, high = score.copy(), score.copy()
        others = self._others(evidence, n, V)
        rows = np.flatnonzero((open_ | never).any(axis=1) | (V > 0) | (others > 0))
        top = self.top_gain(evidence)
        if not len(rows) or evidence.max_grade < self.rel:
            return low, high
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

    def greatest_difference(self, pair: PairEvidence, limits: Ints) -> Floats | None:
        """Sound. Two relevant documents add w(deeper) (1 + beta gain of the upper one), w(i) = 1/(i + beta G*(i)).

        The ideal G* lies between that of the known gains and that with all unjudged documents of the greatest gain;
        where both systems have the pair's deeper document in one place, w is the same in both.
        """
        from fathoms.measures.differences import greatest_pairwise

        evidence = pair.unranked
        if self.needs_pool or ((self.level_gains(evidence) > 0) & (evidence.levels < self.rel)).any():
            return None
        if evidence.max_grade < self.rel:
            limits = np.zeros_like(limits)
        n = pair.width if self.k is None else int(self.k)
        layers, thickness = self.in_layer(evidence, evidence.counts), self.thickness(evidence)
        unknown = pair.unjudged.sum(axis=1) + pair.others
        greatest = 1 / self._blended(layers, thickness, n)
        least = 1 / self._blended(layers + np.minimum(unknown, n)[:, None], thickness, n)
        gains = self.table(evidence)[pair.codes]
        most_gain = 1 + self.beta * np.where(pair.unjudged, self.top_gain(evidence), gains)
        least_gain = 1 + self.beta * np.where(pair.unjudged, self.steps(evidence).min(initial=np.inf), gains)
        R = self._R(evidence)[:, None]

        def below(rows: Ints, m: Floats) -> tuple[Floats, Floats]:
            norm = self._norm(R[rows] + m)
            return norm, norm

        documents = Documents.of(pair, least, greatest, least_gain, most_gain)

        def coefficients(rows: Ints, left: Ints, right: Ints) -> Floats:
            return pairwise_coefficients(documents.at(rows, left), documents.at(rows, right))

        relevant = self._flag(evidence)[pair.codes] > 0
        differences = greatest_pairwise(pair, relevant, coefficients, limits, below, n)
        # Extreme ranks over ties may be equal, and then nobody knows which document is the upper one.
        return np.where(pair.has_ties[:, None] & pair.over_all_orders, np.inf, differences)

    def predicted(self, evidence: Evidence, gains: Floats) -> Floats:
        """Beyond the paper, as for AP: an unjudged document is one of the greatest gain with some chance."""
        n = self.depth_read(evidence)
        top = self.top_gain(evidence)
        unjudged = evidence.unjudged[:, :n]
        gains_here = self.filled(evidence, gains)[:, :n]
        flags = np.where(unjudged, ratio(gains_here, np.full(n, top)), self._flag(evidence)[evidence.codes[:, :n]])
        own = np.where(unjudged, top, gains_here)  # what the document is worth where it is relevant
        before = np.cumsum(flags + self.beta * gains_here, axis=1) - (flags + self.beta * gains_here)
        more = self.more(evidence, gains, self.variant == "c")
        in_ideal = self.more(evidence, gains, self.ideal == "ii")
        R = self.in_layer(evidence, self.counts(evidence, self.ideal == "ii")) + in_ideal[:, None]
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
        n, values = self.depth_read(evidence), self.joint_tie_value(evidence, best=True)
        mixed = evidence.mixed(values, n)
        if mixed is None or evidence.max_grade < self.rel:
            return high
        part = arranged(evidence, values, mixed, best=True)
        unjudged_first = self.table(part, unknown=np.inf)
        seen = np.cumsum(np.isinf(unjudged_first[sorted_codes(part, unjudged_first, n, best=True)[:, :n]]), axis=1)
        flags, gains = self._flag(part)[part.codes[:, :n]] > 0, self.table(part)[part.codes[:, :n]]
        none, rows = np.zeros(len(part)), mixed.rows
        high[rows] = np.maximum(high[rows], self._greatest(part, flags, gains, part.unjudged[:, :n], none, n, seen))
        if n < evidence.width and len(self.steps(evidence)) > 1:
            # In a group across the cut an unjudged document may take the place of a known one of less gain.
            high[evidence.tied[:, n] & evidence.unjudged.any(axis=1)] = 1.0
        return high

    @property
    def _one_pool(self) -> bool:
        """R and the ideal are made of the same documents."""
        return (self.variant == "c") == (self.ideal == "ii")

    def _unknowns(self, evidence: Evidence, n: int, pooled: bool) -> tuple[Bools, Bools, Floats]:
        """As `unknowns`. Where either R or the ideal is made of the pool, documents of the pool may turn out relevant
        in any universe, and then they count in the other one too."""
        open_, never, V = self.unknowns(evidence, n, pooled)
        if pooled or not self.needs_pool or evidence.pool is None:
            return open_, never, V
        in_pool = self.unknowns(evidence, n, True)[2]
        own_only = self.universe == "run" or evidence.unjudged_in_universe is None
        own = (evidence.unjudged[:, n:] & (evidence.pool.depth[:, n:] <= (self.k or 0))).sum(axis=1)
        return open_, never, V + in_pool - own if own_only else np.maximum(V, in_pool)

    def _others(self, evidence: Evidence, n: int, V: Floats) -> Floats:
        """Unjudged documents that may join the ideal without being one of the m: V, or all where pools differ."""
        if self._one_pool:
            return V
        places, never, others = self._unknowns(evidence, n, self.ideal == "ii")
        return others + (places | (never & (self.ideal == "i"))).sum(axis=1)

    def place_effects(self, gains: Floats, relevant: Floats, known: Evidence) -> Floats:
        """As for AP, with the blended ratio. A document's gain and its being relevant go together: per unit of gain it
        is relevant as often as the topic's documents are. The ideal ranking is held fixed."""
        n = gains.shape[1]
        read = n if self.k is None else min(int(self.k), n)
        hits, gain = relevant[:, :read], gains[:, :read]
        inverse = 1 / self._blend(known, read)
        both = hits + self.beta * gain
        above = np.cumsum(both, axis=1) - both
        weighted = hits * inverse
        below = np.cumsum(weighted[:, ::-1], axis=1)[:, ::-1] - weighted
        per_gain = float(relevant.sum() / max(gains.sum(), 1e-12)) if gains.any() else 1 / self.top_gain(known)
        effects = np.zeros(gains.shape)
        effects[:, :read] = inverse * (per_gain * (1 + above) + self.beta) + (per_gain + self.beta) * below
        return effects

    def divisor(self, known: Evidence) -> Floats:
        return self._norm(self._R(known))

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
        hits, gained = np.cumsum(flags, axis=1), np.cumsum(gains, axis=1)
        joins = float(self._one_pool or self.ideal == "i")
        ranks = np.arange(1, n + 1)
        upper_layers = self._blended(R_layers[:, 1:], thickness[1:], n)

        def weights(row: Ints, m: Ints) -> Floats:
            """One over the blended ideal of m new documents, which falls as m rises."""
            in_layer = R_layers[row, 0] + joins * m
            return 1 / (upper_layers[row] + self.beta * thickness[0] * np.minimum(ranks, in_layer[:, None]))

        known = flags * (hits + self.beta * gained)
        own = open_ * (hits + U + self.beta * (gained + top * U))
        m_at = from_zero(U)

        def bound(row: Ints, first: Ints, end: Ints) -> tuple[Floats, Floats]:
            """With the weights of the first m the values of all are running sums, as AP's are; none is less than it
            should be."""
            w = weights(row, first)
            below = np.cumsum((flags[row] * w)[:, ::-1], axis=1)[:, ::-1]  # an open place is not flagged itself
            added = np.cumsum(own[row] * w + (1 + self.beta * top) * open_[row] * below, axis=1)
            sums = from_zero(added) + np.einsum("ij,ij->i", known[row], w)[:, None]
            m = m_at[row]
            values = ratio(sums, self._norm(R[row, None] + m))
            at_first = (m == first[:, None]).argmax(axis=1)
            values[(m < first[:, None]) | (m > end[:, None])] = -np.inf
            return values[np.arange(len(row)), at_first], values.max(axis=1)

        def bound_with_seen(row: Ints, first: Ints, end: Ints) -> tuple[Floats, Floats]:
            """Gains are then no running sums; but no m has more than the last, nor greater weights than the first."""
            w = weights(row, first)

            def sums(m: Ints) -> Floats:
                new = np.minimum(U[row], m[:, None])
                chosen, count = flags[row] | (open_[row] & (U[row] <= m[:, None])), hits[row] + new
                gain = gained[row] + top * (new if seen is None else np.minimum(seen[row], m[:, None]))
                terms: Floats = chosen * (count + self.beta * np.minimum(gain, top * count)) * w
                return terms.sum(axis=1)

            norm = self._norm(R[row] + first)
            return ratio(sums(first), norm), ratio(sums(end), norm)

        tolerance = ROUNDING if len(thickness) == 1 else LOOSE
        enough = np.inf if self.needs_pool else 1.0
        found_by = bound if seen is None else bound_with_seen
        best = greatest(open_.sum(axis=1), found_by, n, tolerance, enough=enough)
        if not self.needs_pool:
            return np.minimum(best, 1.0)
        # Found outside a pool without relevant documents: they count once anything in the pool is relevant.
        terms = known / self._blended(R_layers, thickness, n)
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
        blend = np.cumsum(flags, axis=1) + self.beta * np.cumsum(gains, axis=1)
        each = 1 + self.beta * bottom  # what a new document adds to the blend from its place on
        last = open_.sum(axis=1)
        # Columns of the open places, the deepest first, and -1 where a topic has no more of them.
        column = np.where(open_, np.arange(n), -1)
        deepest = -np.sort(-column, axis=1)[:, : max(1, int(last.max(initial=0)))]
        none_left = deepest < 0
        m = np.arange(deepest.shape[1] + 1)

        def bound(row: Ints, first: Ints, end: Ints) -> tuple[Floats, Floats]:
            """With the weights of the last m the values of all are running sums; none is more than it should be."""
            in_layers = R_layers[row] + others[row, None] + (end[:, None] if self._one_pool else 0)
            inverse = 1 / self._blended(in_layers, thickness, n)
            known, places = flags[row] * inverse, deepest[row]
            below = np.cumsum(known[:, ::-1], axis=1)[:, ::-1]  # an open place is not flagged itself
            alone = np.take_along_axis(blend[row] * inverse + each * below, places, axis=1)
            weight = np.take_along_axis(inverse, places, axis=1)
            if len(thickness) > 1:
                alone[none_left[row]] = np.inf
                alone.sort(axis=1, kind="stable")
            base = np.einsum("ij,ij->i", blend[row], known)[:, None]
            # The j-th of the m new documents has m - j + 1 of them at its place or above it.
            sums = base + from_zero(np.cumsum(alone + each * np.cumsum(weight, axis=1), axis=1))
            values = ratio(sums, self._norm(R[row, None] + m))
            at_end = values[np.arange(len(row)), end]
            values[(m < first[:, None]) | (m > end[:, None])] = np.inf
            return at_end, values.min(axis=1)

        return least(last, bound, n, ROUNDING if len(thickness) == 1 else LOOSE, at_end=True)


@dataclass(frozen=True, eq=False)
class Documents:
    """What `pairwise_coefficients` needs of documents, [row, column]: ranks and orders, and bounds of w at these ranks
    and of 1 + beta gain. A document that one system lacks has the other one's order behind all that it has."""

    rank_a: NDArray[np.int32]
    rank_b: NDArray[np.int32]
    order_a: NDArray[np.int32]
    order_b: NDArray[np.int32]
    least_a: Floats
    greatest_a: Floats
    least_b: Floats
    low_gain: Floats
    high_gain: Floats

    @classmethod
    def of(cls, pair: PairEvidence, least: Floats, greatest: Floats, low_gain: Floats, high_gain: Floats) -> Documents:
        """`least` and `greatest` bound w by rank, which falls with it."""
        none = least.shape[1] + 1
        rank_a, rank_b = (np.minimum(rank, none).astype(np.int32) for rank in (pair.rank_a, pair.rank_b))

        def weight(w: Floats, rank: NDArray[np.int32]) -> Floats:
            return np.take_along_axis(np.pad(w, ((0, 0), (0, 1))), rank - 1, axis=1)

        return cls(
            rank_a,
            rank_b,
            np.where(rank_a < none, rank_a, none + rank_b),
            np.where(rank_b < none, rank_b, none + rank_a),
            weight(least, rank_a),
            weight(greatest, rank_a),
            weight(least, rank_b),
            low_gain,
            high_gain,
        )

    def at(self, rows: Ints, columns: Ints) -> Documents:
        """Some columns of each of the rows; for column -1 a document that no system has."""
        from fathoms.measures.differences import taken

        last = np.iinfo(np.int32).max
        nowhere = (last, last, last, last, 0.0, 0.0, 0.0, 1.0, 1.0)
        values = [getattr(self, field.name) for field in fields(self)]
        chosen: Any = [taken(value, rows, columns, fill) for value, fill in zip(values, nowhere, strict=True)]
        return Documents(*chosen)


def pairwise_coefficients(left: Documents, right: Documents) -> Floats:
    """At least what documents i of `left` and j of `right`, [row, i, j], add to the sum of A less that of B."""

    def both(name: str, of: Callable[..., Any]) -> Any:
        return of(getattr(left, name)[:, :, None], getattr(right, name)[:, None, :])

    def of_upper(i_is_upper: Bools, name: str) -> Any:
        i, j = getattr(left, name), getattr(right, name)
        if i.size and (i == i.flat[0]).all() and (j == i.flat[0]).all():
            return i.flat[0]  # new documents have one gain
        return np.where(i_is_upper, i[:, :, None], j[:, None, :])

    i_first_a, i_first_b = both("order_a", np.less_equal), both("order_b", np.less_equal)
    deep_a, deep_b = both("rank_a", np.maximum), both("rank_b", np.maximum)
    greatest_a, least_b = both("greatest_a", np.minimum), both("least_b", np.minimum)  # of the deeper one
    # The same upper document: its gain counts in both. Where A has the deeper one further up, its w is the greater.
    coefficients: Floats = greatest_a - least_b
    np.minimum(coefficients, 0.0, out=coefficients, where=deep_a >= deep_b)
    coefficients[deep_a == deep_b] = 0.0
    coefficients *= np.where(coefficients > 0, of_upper(i_first_a, "high_gain"), of_upper(i_first_a, "low_gain"))
    other = np.nonzero(i_first_a != i_first_b)
    if len(other[0]):
        row, i, j = other
        upper_a, upper_b = i_first_a[other], i_first_b[other]
        high_a = np.where(upper_a, left.high_gain[row, i], right.high_gain[row, j])
        low_b = np.where(upper_b, left.low_gain[row, i], right.low_gain[row, j])
        most_a, gained = greatest_a[other], high_a - low_b
        in_one_place = gained * np.where(gained > 0, most_a, np.minimum(left.least_a[row, i], right.least_a[row, j]))
        apart = most_a * high_a - least_b[other] * low_b
        coefficients[other] = np.where(deep_a[other] == deep_b[other], in_one_place, apart)
    return coefficients
