"""Average precision, and its geometric mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fathoms.base import kernel
from fathoms.base.arrays import columns_at, ratio, row_sums
from fathoms.base.errors import FathomsError
from fathoms.evidence.evidence import ALONE, Bools, Evidence, Floats, Ints, MixedGroups
from fathoms.measures.base import Basis, JudgingKind, RangeKind
from fathoms.measures.gains import Binary
from fathoms.measures.ideal import Normalised, any_rows, count_by_topic, variant_of_R
from fathoms.measures.stretches import Around, Stretches
from fathoms.measures.ties import pair_change

if TYPE_CHECKING:
    from fathoms.evidence.pairs import PairEvidence, RankingBlock
    from fathoms.evidence.sparse_places import Listed


# Places of a document that is not relevant, of a relevant and of an unjudged one, in `joint_tie_value`'s orders.
BEST, WORST = np.array([2, 0, 1]), np.array([0, 2, 1])


class AP(Binary, Normalised):
    """Average precision: the mean, over all relevant documents, of the precision where each was found.

        AP@k = (1/N) sum_{i<=k} r_i (r_1 + ... + r_i) / i        N = R (variant a), min(R, k) (b), R_k (c)

    For a given number m of newly relevant documents the sum is greatest if they are the m shallowest unjudged ones,
    least if they are the m deepest; a scan over m gives the range. The mean over ties is that of McSherry and Najork
    (2008), the variants are those of Lu, Moffat and Culpepper (2016).
    """

    aliases = ("MAP",)
    trec_eval = "map"
    trec_eval_at = "map_cut_{k}"
    examples = ("AP", "AP@100", "AP(variant=b)@20")
    citation = "E. M. Voorhees, D. K. Harman (2005). TREC: Experiment and evaluation in information retrieval."
    range_claim: ClassVar[RangeKind] = "exact"
    pooled_variants: ClassVar[tuple[str, ...]] = ("c",)
    sums_listed: ClassVar[bool] = True
    judging: ClassVar[JudgingKind] = "closed form"

    variant: str = variant_of_R()

    def value(self, evidence: Evidence) -> Floats:
        return ratio(self._sum(evidence), self._norm(self._R(evidence)))

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        n = self.depth_read(evidence)
        open_, never, V = self.unknowns(evidence, n, self.needs_pool)
        low, high = score.copy(), score.copy()
        rows = any_rows((open_ | never).any(axis=1) | (V > 0))
        if rows is None or not self.can_be_relevant(evidence):
            return low, high
        known, R, total = self._known(evidence)[rows], self._R(evidence)[rows], self._sum(evidence)[rows]
        open_, never, V = open_[rows], never[rows], V[rows]
        if self.bounds == "rm":
            missing = R - (known & ~never).sum(axis=1)
            filled = known | (open_ & (np.cumsum(open_, axis=1) <= missing[:, None]))
            high[rows] = ratio(_sum_of_precisions(filled), self._norm(R))
            return low, high
        stretches = Stretches(open_)
        in_k = known_around = stretches.around(known)
        most = total
        if self.needs_pool:
            scored = known | never
            in_k, most = stretches.around(scored), _sum_of_precisions(scored)
        high[rows] = self._greatest(stretches, in_k, R, most)
        if self.needs_pool:
            # Found outside a pool without relevant documents: they count once anything in the pool is relevant.
            high[rows] = np.maximum(high[rows], np.where((R == 0) & (V > 0), most, 0.0))
        # Where nothing is known relevant, judging everything else not relevant leaves the score 0 of no R.
        low[rows] = np.where(R > 0, self._least(stretches, known_around, R + V, total), 0.0)
        return low, high

    def greatest_difference(self, pair: PairEvidence, limits: Ints) -> Floats | None:
        """c_ij = 1/max(rA_i, rA_j) - 1/max(rB_i, rB_j): what two relevant documents add to the sums of precisions."""
        from fathoms.measures.differences import ANY, at_ranks, greatest_of_minima, greatest_pairwise, same_group, taken

        if self.needs_pool:
            return None
        evidence = pair.unranked
        if not self.can_be_relevant(evidence):
            limits = np.zeros_like(limits)
        R = self._R(evidence)[:, None]
        depth = pair.width if self.k is None else int(self.k)
        relevant, grouped = self.relevant(evidence)[pair.codes] > 0, (pair.shared != ALONE).any(axis=1)
        if grouped.any() and not grouped.all():
            greatest = np.empty((len(pair), len(limits)))
            for rows in (grouped, ~grouped):
                greatest[rows] = AP.greatest_difference(self, pair.rows(rows), limits)  # not that of a subclass
            return greatest

        def below(rows: Ints, m: Floats) -> tuple[Floats, Floats]:
            norm = self._norm(R[rows] + m)
            return norm, norm

        if not grouped.any() and limits.tolist() == [ANY]:
            return greatest_of_minima(pair, relevant, below, depth)[:, None]
        inverse = 1 / np.arange(1, depth + 1)
        of_a, of_b = (at_ranks(inverse, rank) for rank in (pair.rank_a, pair.rank_b))

        def coefficients(rows: Ints, left: Ints, right: Ints) -> Floats:
            c, b = (
                np.minimum(taken(of, rows, left)[:, :, None], taken(of, rows, right)[:, None, :]) for of in (of_a, of_b)
            )
            c -= b
            return np.where(same_group(pair, rows, left, right), 0.0, c) if grouped.any() else c

        return greatest_pairwise(pair, relevant, coefficients, limits, below, depth)

    def of_pairs(
        self, block: RankingBlock, a: Ints, b: Ints, others: Ints, *, witnesses: bool = False, over_ties: bool = False
    ) -> Floats | None:
        evidence = block.evidence()
        if type(self) is not AP or self.k is not None or self.bounds != "exact" or not self.can_be_relevant(evidence):
            return None
        holds = np.where(block.unjudged, 2, self.relevant(evidence)[block.code_rows]).astype(np.uint8)
        orders, rankings = None, (block.rank, block.place, holds, self._R(evidence))
        if over_ties:
            gain = self.tie_value(evidence)
            ranks = np.vstack([block.extreme_ranks(gain, best) for best in (True, False)])
            sorted_holds = np.vstack([block.sorted_in_groups(holds, order) for order in (BEST, WORST)])
            orders = kernel.Orders(block.shared_marks, (ranks - 1).astype(np.int32), sorted_holds)
        return kernel.precision_pairs(*rankings, a, b, others, witnesses=witnesses, orders=orders)

    def greatest_by_count(self, pair: PairEvidence, columns: Ints, others: Ints) -> Floats | None:
        from fathoms.measures.differences import at_ranks, greatest_quadratic

        unranked = pair.unranked
        if self.needs_pool or not self.can_be_relevant(unranked):
            return None
        inverse = 1 / np.arange(1, (pair.width if self.k is None else int(self.k)) + 1)
        known = (self.relevant(unranked)[pair.codes] > 0) & ~pair.unjudged
        of_a, of_b = (at_ranks(inverse, rank) for rank in (pair.rank_a, pair.rank_b))
        sums = greatest_quadratic(of_a, of_b, known, columns)
        m = np.arange(sums.shape[1])
        return ratio(sums, self._norm(self._R(unranked)[:, None] + m + others[:, None]))

    def predicted(self, evidence: Evidence, gains: Floats) -> Floats:
        """Beyond the paper: the expected sum of precisions, documents independent, over the expected R.

        E[sum] = sum_i p_i (1 + sum_{j<i} p_j) / i; dividing it by E[R] is the approximation.
        """
        n = self.depth_read(evidence)
        p = self.chances(evidence, gains)
        more = np.where(self.may_join(evidence, self.needs_pool), p, 0.0).sum(axis=1)
        head = p[:, :n]
        sums = (head * (1 + np.cumsum(head, axis=1) - head)) @ (1 / np.arange(1, n + 1))
        return ratio(sums, self._norm(self._R(evidence) + more))

    def listed_sums(self, listed: Listed, values: Floats, known: Evidence) -> Floats:
        part = listed.cut(self.k)
        return part.running_sums(1 / np.arange(1.0, part.depth + 1), values)

    def place_effects(self, gains: Floats, relevant: Floats, known: Evidence) -> Floats:
        """H of RTC section 2.1: a document has its own precision, and adds to that of all below it."""
        n = gains.shape[1]
        read = n if self.k is None else min(int(self.k), n)
        chance, inverse = gains[:, :read], 1 / np.arange(1, read + 1)
        above = np.cumsum(chance, axis=1) - chance
        weighted = chance * inverse
        below = np.cumsum(weighted[:, ::-1], axis=1)[:, ::-1] - weighted
        effects = np.zeros(gains.shape)
        effects[:, :read] = inverse * (1 + above) + below
        return effects

    def divisor(self, known: Evidence) -> Floats:
        return self._norm(self._R(known))

    def from_sums(self, sums: Floats, known: Evidence) -> Floats:
        return ratio(sums, self._norm(self._R(known)))

    def at_depths(self, evidence: Evidence, depths: Sequence[int]) -> Floats:
        evidence = self.prepared(evidence).padded(max(depths))
        relevant = self.relevant(evidence)[evidence.codes[:, : max(depths)]] > 0
        sums = np.cumsum(relevant * np.cumsum(relevant, axis=1) / np.arange(1, max(depths) + 1), axis=1)
        if self.needs_pool:
            return ratio(columns_at(sums, depths), self._pooled_R(evidence, depths))
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
        return evidence.worth_something(self.relevant(evidence), self.depth_read(evidence))

    def _sum(self, evidence: Evidence) -> Floats:
        """The sum of precisions."""
        return evidence.holding(self.relevant(evidence), self.depth_read(evidence)).precisions

    def _R(self, evidence: Evidence) -> Floats:
        return self.known_relevant(evidence, self.counts(evidence, self.needs_pool))

    def _pooled_R(self, evidence: Evidence, depths: Sequence[int]) -> Floats:
        """R_k for many depths k, one column each."""
        pool, deepest = evidence.pool, max(depths)
        if pool is None:
            raise FathomsError(f"{self.name} needs the pool of the contributing runs")
        use = (self.relevant(evidence)[pool.judged_code] > 0) & (pool.judged_depth <= deepest)
        by_depth = count_by_topic(evidence, pool.judged_topic[use], pool.judged_depth[use], deepest + 1)
        return np.cumsum(by_depth, axis=1)[:, np.asarray(depths)].astype(np.float64)

    def _norm(self, R: Floats) -> Floats:
        return np.minimum(R, self.k) if self.variant == "b" and self.k is not None else R

    def _greatest(self, open_: Stretches, known: Around, R: Floats, total: Floats) -> Floats:
        """max over m of N_up(m) / (R + m), the m shallowest open places relevant; `total` is N(0).

        The j-th place after `above` others, of which c are relevant, adds (c + j) / (above + j), and 1/rank to each
        known relevant place below it. Over a stretch that rises with j, so the ratio is greatest at one of its ends.
        """
        relevant = open_.places_down_to
        added = (known.above + relevant - open_.last) * open_.reciprocals
        added += open_.length * (known.below + 1)
        ratios = open_.of_row(total) + open_.down_to(added)
        ratios /= self._norm(open_.of_row(R) + relevant)
        greatest = open_.extreme(ratios, np.maximum, ratio(total, self._norm(R)))
        if self.needs_pool:
            # Without any in the pool there is no ratio before the first one, and that may be the greatest.
            rows, first = open_.first_of_rows
            with_first = total[rows] + (known.above[first] + 1) / (open_.above[first] + 1) + known.below[first]
            greatest[rows] = np.maximum(greatest[rows], with_first / self._norm(R[rows] + 1))
        return greatest

    def _least(self, open_: Stretches, known: Around, R: Floats, total: Floats) -> Floats:
        """min over m of N_down(m) / (R + V + m), the m deepest open places relevant; R includes V here.

        Going up a stretch, the place of rank q adds (K + 1) / q, K known relevant above it, and 1/rank to each relevant
        place below it. That rises too, so the ratio falls first, if at all, and its least value may be inside.
        """
        below = open_.reciprocals_below + known.below
        added = (known.above - open_.above) * open_.reciprocals
        added += open_.length * (below + 1)
        before = open_.of_row(total) + open_.below(added)
        R_before = open_.of_row(R) + open_.places_below
        R_after = R_before + open_.length
        after = (before + added) / self._norm(R_after)
        least = open_.extreme(after, np.minimum, ratio(total, self._norm(R)))
        # The few stretches in which less could be found still, and of these the ones where the ratio falls and rises.
        some = np.flatnonzero(before / self._norm(R_after) < open_.of_row(least))
        above, under = known.above[some], below[some]
        falls = ((above + 1) / open_.last[some] + under) * self._norm(R_before[some]) < before[some]
        rises = above / (open_.above[some] + 1) + under + open_.reciprocals[some] > after[some]
        if self.variant == "b":
            rises |= self._norm(R_after[some]) < R_after[some]
        inside = some[falls & rises]
        if len(inside):
            of, m, reciprocals = open_.upwards(inside)
            sums = before[of] + (known.above[of] - open_.last[of] + m) * reciprocals + m * (below[of] + 1)
            np.minimum.at(least, open_.row[of], sums / self._norm(R_before[of] + m))
        return least


def _sum_of_precisions(relevant: Bools) -> Floats:
    sums: Floats = (relevant * np.cumsum(relevant, axis=1)) @ (1 / np.arange(1, relevant.shape[1] + 1))
    return sums


class GMAP(AP):
    """Geometric mean of AP over topics, each AP at least 0.00001, as in trec_eval.

    A topic's value is that AP; the row `all` is the geometric mean, in every column but one. `variant` says nothing
    here, for there is no cut-off. Where ties matter, `tie_expected` of `all` is empty: the expectation of a geometric
    mean is not the geometric mean of the topics' expectations.
    """

    trec_eval = "gm_map"
    citation = "S. Robertson (2006). On GMAP: and other transformations."
    based_on: ClassVar[Basis] = "recall"
    cutoff: ClassVar[str] = "none"
    aggregate: ClassVar[str] = "geometric"
    judging: ClassVar[JudgingKind] = "none"
    least: ClassVar[float] = 0.00001

    def value(self, evidence: Evidence) -> Floats:
        return np.maximum(super().value(evidence), self.least)

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        low, high = super().range(evidence, super().value(evidence))
        if low is None or high is None:
            return None, None
        return np.maximum(low, self.least), np.maximum(high, self.least)

    def greatest_difference(self, pair: PairEvidence, limits: Ints) -> Floats | None:
        """Of ln A - ln B, from the most that A - B can be and the range of B."""
        most = super().greatest_difference(pair, limits)
        if most is None:
            return None
        b = pair.judged(pair.codes)[1]
        low, high = self.replace(universe="auto").range(b, self.value(b))
        if low is None or high is None:
            return None
        # A = B + d at the most. Where d is negative B is at least -d.
        ratios = []
        for value in (low, high):
            least = np.maximum(value[:, None], np.maximum(-most, self.least))
            ratios.append(np.maximum(least + most, self.least) / least)
        # The range of B is that of its order, and says nothing about others.
        return np.where(pair.has_ties[:, None] & pair.over_all_orders, np.inf, np.log(np.maximum(*ratios)))

    def greatest_by_count(self, pair: PairEvidence, columns: Ints, others: Ints) -> Floats | None:
        return None  # a difference of logarithms is no quadratic form

    def predicted(self, evidence: Evidence, gains: Floats) -> Floats:
        return np.maximum(super().predicted(evidence, gains), self.least)

    def from_sums(self, sums: Floats, known: Evidence) -> Floats:
        return np.maximum(super().from_sums(sums, known), self.least)

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        raw = super().expected(evidence, AP.value(self, evidence), mixed)
        return None if raw is None else np.maximum(raw, self.least)
