"""The range of the difference for all pairs of runs, and whether judging or tie-breaking could reverse its sign.

A pair has one range, one witness and one answer, whoever else is in the table: the best bounds there are
(`differences.upper_bounds`), over the documents of its two runs. Up to `PAIRS` pairs all have them. With more pairs and
deep measures that would take minutes: each topic is then looked at once for all pairs with a quick bound, made of the
two runs' own ranges. What that proves the best bound proves too, but it is no range to show, so the range stays empty.
Where it leaves the sign open, a judging that reverses it is looked for, in the same ways as for few pairs; and what is
open then gets the best bounds if the quick ways leave little open, and no answer otherwise.

Who needs no more than what is proved (`proofs_alone`, as possible ranks do) has the same pairs proved, but judgings are
looked for only as far as they decide which pairs get the best bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import distinct, stretches
from fathoms.base.parallel import Where, one_worker, parallel_map
from fathoms.base.tolerances import SAME
from fathoms.data.qrels import Qrels
from fathoms.evidence.candidates import DocumentTable, topic_batches
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.evidence.pairs import PairEvidence, RankingBlock
from fathoms.measures.base import Measure, Scores
from fathoms.measures.differences import NO_LIMIT, at_ranks
from fathoms.measures.weighted import Weighted
from fathoms.pairs.differences import (
    ENDLESS,
    ENUMERATED,
    comparable,
    difference,
    enumerated,
    listed,
    listed_range,
    plain_witness,
    quick_witness,
    tie_witness,
    upper_bounds,
    witness,
)

CELLS = 1 << 18  # of rankings, or of pairs times documents, worked on at a time
PAIRS = 300  # up to so many pairs all have their ranges made; more of them where that is quick:
BEST = 100_000_000  # for so many cells of pairs, topics and documents,
BEST_QUADRATIC = 1_500_000_000  # or so many where pairs of documents count
LIGHT = 1 << 24  # cells of pairs that one process works on
OPEN_PAIRS = 50_000  # looked at together until there are too many
SAMPLED_PAIRS = 4_000  # that say beforehand if there will be far too many
FIRST_TOPICS = 4  # of each pair, where a judging that reverses it is looked for; then twice as many, and so on

Bound = Literal["quick", "plain", "best"]  # of the two runs' own ranges; of the pair; and of each order and judging
BOUNDS: tuple[Bound, ...] = ("quick", "plain", "best")
Words = NDArray[np.str_]


@dataclass(frozen=True)
class Universe:
    """The documents that a difference ranges over: those of the pair, or more."""

    kind: str | float = "pair"  # pair, all, or a number of unseen documents beside those of all runs (inf: any number)
    depth: int | None = None  # only documents in the first so many places of either run

    def others(self, block: RankingBlock, a: Ints, b: Ints) -> Ints:
        """How many documents of the universe neither of two rankings has; the table of the block has all given runs."""
        if self.kind == "pair":
            return np.zeros(len(a), dtype=np.int64)
        of_all = block.table.open_counts(self.depth)[block.topics[block.topic_of(a)]]
        unseen = 0 if self.kind == "all" else int(min(float(self.kind), ENDLESS))
        return np.maximum(of_all - block.unjudged_of_both(a, b, self.depth), 0) + unseen


@dataclass(frozen=True, eq=False)
class DifferenceRanges:
    """One measure's ranges for all pairs, means over topics."""

    low: Floats  # nan where the range is not made
    high: Floats
    least: Floats  # lead of the run that is ahead, over every way of judging and every order of ties: as far as proved
    reversible: Words  # no, yes or unknown; empty where the means are equal, and where it was not found out
    doubt: Words  # what could reverse the sign as far as is known: judging, ties, or nothing
    exact: bool  # whether some judging gives low, and some gives high
    topic_low: Floats  # [pair, topic]: sound, but wider than need be where the range is not made
    topic_high: Floats

    @property
    def made(self) -> Bools:
        """Which pairs have a range."""
        return ~np.isnan(self.low)

    @property
    def answered(self) -> Bools:
        """Of which pairs it was found out as well as can be if the sign can be reversed."""
        return np.asarray(self.made | (self.reversible != "") | (self.doubt == ""))


def left_out(by_measure: Mapping[Measure, DifferenceRanges], command: str) -> list[str]:
    """A note on the ranges that are not made, and on what is not known without them."""
    notes = []
    for measure, ranges in by_measure.items():
        missing, unknown = int((~ranges.made).sum()), int((~ranges.made & ~ranges.answered).sum())
        if command == "compare" and missing:
            open_ = "" if not unknown else f", and for {unknown:,} of them it is not known if judging can reverse them"
            notes.append(
                f"{measure.name}: the ranges of {missing:,} of {len(ranges.low):,} differences are left out, since "
                f"they take long to make{open_}; --ranges all makes them"
            )
        elif unknown:
            notes.append(
                f"{measure.name}: possible ranks do without {unknown:,} of {len(ranges.low):,} pairs of runs, whose "
                "ranges take long to make, and may be wider for it; --ranges all makes them"
            )
    return notes


@dataclass(frozen=True, eq=False)
class Ranges:
    """What all ranges of a comparison are made from: the documents of the runs and the pairs (a, b) of runs."""

    documents: DocumentTable
    qrels: Qrels
    a: Ints
    b: Ints
    universe: Universe
    where: Where = field(default_factory=one_worker)
    every: bool = False  # make all ranges, however long that takes
    progress: Callable[[str], None] = lambda topic: None  # hears of each topic whose ranges are made
    chosen: Ints | None = None  # the topics that are looked at; None: all
    proofs_alone: bool = False  # only what is proved is wanted, and no judging that reverses the rest

    @property
    def topics(self) -> Ints:
        """Numbers of the topics that are looked at."""
        return np.arange(len(self.qrels.topics)) if self.chosen is None else self.chosen

    def of_topics(self, places: Ints) -> Ranges:
        """The same of some topics only."""
        return replace(self, chosen=self.topics[places])

    def block(self, topics: Ints, a: Ints, b: Ints) -> tuple[RankingBlock, Ints, Ints]:
        """Rankings of topics by the runs of some pairs, and of each run of A and of B its place among these."""
        used = np.zeros(len(self.documents.names), dtype=bool)
        used[a] = used[b] = True
        place = np.cumsum(used) - 1
        return RankingBlock.of(self.documents, self.qrels, topics, np.flatnonzero(used)), place[a], place[b]

    def batches(self, topics: Ints, runs: int) -> list[Ints]:
        """Topics by their numbers, as many at a time as make a block for that many runs."""
        return [topics[part] for part in topic_batches(self.documents, topics, runs, CELLS)]

    def count_shared(self, measures: Iterable[Measure]) -> None:
        """Have the table count what runs share, if that is needed: here, so that forks need not count it each."""
        if self.universe.kind != "pair":
            self.documents.open_counts(self.universe.depth)
        if self.universe.kind != "pair" or any("universe" in measure.params for measure in measures):
            for depth in {self.universe.depth, None}:
                self.documents.open_together(depth)

    def of(
        self,
        measures: Sequence[Measure],
        differences: dict[Measure, Floats],
        scores: Mapping[Measure, Sequence[Scores]],
    ) -> dict[Measure, DifferenceRanges]:
        """Ranges of the measures that have one; `differences` are the mean differences of the pairs, and `scores` those
        of the systems, for measures that need the pool."""
        ends = self.ends(measures, scores)
        return {
            m: self._of_pooled(of, differences[m]) if m.needs_pool else self._decided(m, of, differences[m])
            for m, of in ends.items()
        }

    def ends(self, measures: Sequence[Measure], scores: Mapping[Measure, Sequence[Scores]]) -> dict[Measure, Floats]:
        """[end, pair, topic], of the measures that have ranges; by quick bounds where there are too many pairs."""
        pooled = {m: self._pooled_ends(scores[m]) for m in measures if m.difference_is != "none" and m.needs_pool}
        ranged = [m for m in measures if m.difference_is != "none" and not m.needs_pool]
        work = {m: partial(self._ends, m, not self._makes_all(m, len(self.a))) for m in ranged}
        return self._by_topic(work, self.a, self.b, self.progress) | pooled

    def over_ties(self, measure: Measure, a: Ints, b: Ints) -> tuple[Floats, Floats]:
        """[pair, topic]: least and greatest A - B over every way of judging and every order of ties; sound."""
        in_order = partial(self._lead_in_order, measure, False)
        work = partial(self._lead_over_ties, measure, "best") if measure.depends_on_order else in_order
        low, high = self._of_some(measure, work, a, b), -self._of_some(measure, work, b, a)
        alike = [self.documents.alike(*runs) for runs in zip(a.tolist(), b.tolist(), strict=True)]
        low[alike], high[alike] = 0.0, 0.0
        return low, high

    def _pooled_ends(self, scores: Sequence[Scores]) -> Floats:
        """From the systems' own ranges, over what the pool leaves unjudged; 0 where both have the same ranking."""
        low = np.stack([of_run.score if of_run.low is None else of_run.low for of_run in scores])
        high = np.stack([of_run.score if of_run.high is None else of_run.high for of_run in scores])
        ends = np.stack([low[self.a] - high[self.b], high[self.a] - low[self.b]])
        ends[:, self._in_same_order] = 0.0
        return ends

    @cached_property
    def _in_same_order(self) -> Bools:
        """[pair]: whether both have the same ranking."""
        pairs = zip(self.a.tolist(), self.b.tolist(), strict=True)
        return np.array([self.documents.same_order(*runs) for runs in pairs], dtype=bool)

    def _of_pooled(self, ends: Floats, diff: Floats) -> DifferenceRanges:
        apart, lead = np.abs(diff) > SAME, _lead(ends, diff)
        tied: Bools = np.asarray(self.documents.tied.any(axis=(1, 2)))
        proved = (lead > SAME) & ~(tied[self.a] | tied[self.b])
        means = ends.mean(axis=2)
        return DifferenceRanges(
            means[0],
            means[1],
            np.where(proved | self._in_same_order, lead, -np.inf),
            np.where(apart, np.where(proved, "no", "unknown"), ""),
            np.where(lead <= SAME, "judging", np.where(proved, "", "ties")),
            False,
            ends[0],
            ends[1],
        )

    def _makes_all(self, measure: Measure, pairs: int) -> bool:
        """Whether that many pairs can all have the best bounds."""
        if self.every or pairs <= PAIRS or self._quickly_exact(measure):
            return True
        longest = self.documents.depth
        depth = longest if measure.k is None else min(int(measure.k), longest)
        cells = pairs * len(self.topics) * 2 * depth
        return cells * 2 * depth <= BEST_QUADRATIC if measure.quadratic_difference else cells <= BEST

    def _quickly_exact(self, measure: Measure) -> bool:
        """Whether the quick bound is the range itself."""
        return isinstance(measure, Weighted) and self.universe.depth is None

    # -- topic by topic --------------------------------------------------------------------------------------------

    def _by_topic(
        self,
        work: Mapping[Measure, Callable[..., Floats]],
        a: Ints,
        b: Ints,
        progress: Callable[[str], None] = lambda topic: None,
    ) -> dict[Measure, Floats]:
        """What `work` finds for the pairs (a, b) on each topic, stacked: the last axis is that of the topics."""

        runs = len(distinct(np.concatenate([a, b])))

        def of_batch(topics: Ints) -> list[Floats]:
            block, of_a, of_b = self.block(topics, a, b)
            rows_a, rows_b = block.rows_of(of_a).ravel(), block.rows_of(of_b).ravel()
            others = self.universe.others(block, rows_a, rows_b)
            by_row = [find(block, rows_a, rows_b, others) for find in work.values()]
            return [np.moveaxis(of.reshape(*of.shape[:-1], len(topics), len(a)), -2, -1) for of in by_row]

        def done(topics: Ints) -> None:
            for topic in topics.tolist():
                progress(self.qrels.topics[topic])

        if not work:
            return {}
        self.count_shared(work)
        batches = self.batches(self.topics, runs)
        where = self._where(len(a) * len(self.topics), work)
        by_batch = parallel_map(of_batch, batches, **where, doing="topics of the ranges of differences", progress=done)
        # Laid out alike wherever it was made, or means over topics would not be rounded alike.
        stacked = [np.ascontiguousarray(np.concatenate(of, axis=-1)) for of in zip(*by_batch, strict=True)]
        return dict(zip(work, stacked, strict=True))

    def _where(self, pairs: int, measures: Iterable[Measure]) -> Where:
        """Who works on so many pairs of rankings: forks cost more than they save where that is soon done."""
        longest = self.documents.depth
        depth = max(longest if m.k is None or m.cutoff == "recall" else min(int(m.k), longest) for m in measures)
        return self.where if pairs * 2 * depth > LIGHT else one_worker()

    def _of_some(self, measure: Measure, work: Callable[..., Floats], a: Ints, b: Ints) -> Floats:
        return self._by_topic({measure: work}, a, b)[measure]

    def _of_cells(self, measure: Measure, work: Callable[..., Floats], a: Ints, b: Ints, wanted: Bools) -> Floats:
        """What `work` finds for the pairs (a, b), each on the topics where it is `wanted` [pair, topic]: topic after
        topic, as the wanted cells of the transposed array are."""
        pairs, looked_at = np.flatnonzero(wanted.any(axis=1)), np.flatnonzero(wanted.any(axis=0))
        runs = len(distinct(np.concatenate([a[pairs], b[pairs]])))

        def of_part(part: slice) -> Floats:
            places = looked_at[part]
            topic, pair = np.nonzero(wanted[:, places].T)
            block, of_a, of_b = self.block(self.topics[places], a[pair], b[pair])
            rows_a, rows_b = (topic * len(block.runs) + run for run in (of_a, of_b))
            return work(block, rows_a, rows_b, self.universe.others(block, rows_a, rows_b))

        self.count_shared([measure])
        parts = topic_batches(self.documents, self.topics[looked_at], runs, CELLS)
        where = self._where(int(wanted.sum()), [measure])
        doing = "topics on which ties or judging may change differences"
        return np.concatenate([np.empty(0), *parallel_map(of_part, parts, **where, doing=doing)])

    def _ends(self, measure: Measure, quick: bool, block: RankingBlock, a: Ints, b: Ints, others: Ints) -> Floats:
        """[end, pair]: least and greatest A - B in the order of ties used."""
        if quick or self._quickly_exact(measure):
            return quick_ends(measure, block, a, b, others, over_ties=False)
        greatest = self._greatest_ends(measure, block, a, b, others)
        return np.stack([-greatest[1], greatest[0]])

    def _greatest_ends(self, measure: Measure, block: RankingBlock, a: Ints, b: Ints, others: Ints) -> Floats:
        """[end, pair]: the most that A - B can be, and the most that B - A can be."""
        if self.universe.depth is None and "universe" in measure.params:
            unjudged = block.unjudged_of_both(a, b)
            greatest = measure.of_pairs(block, a, b, unjudged + others, witnesses=False)
            if greatest is not None:
                endless = others >= ENDLESS  # what one divides by makes any difference vanish
                greatest[:, endless] = np.maximum(greatest[:, endless], 0.0)
                greatest[:, same_rankings(measure, block, a, b, False)] = 0.0
                few = np.flatnonzero(unjudged <= np.log2(ENUMERATED))
                for end, (front, back) in zip(greatest, ((a[few], b[few]), (b[few], a[few])), strict=True):
                    end[few] = self._upper(measure, False, block, front, back, others[few])
                return greatest
        return np.stack([self._upper(measure, False, block, *runs, others) for runs in ((a, b), (b, a))])

    def _lead_in_order(
        self, measure: Measure, quick: bool, block: RankingBlock, a: Ints, b: Ints, others: Ints
    ) -> Floats:
        """[pair]: least A - B in the order of ties used."""
        return self._ends(measure, quick, block, a, b, others)[0]

    def _lead_over_ties(
        self, measure: Measure, bound: Bound, block: RankingBlock, a: Ints, b: Ints, others: Ints
    ) -> Floats:
        """[pair]: least A - B over every order of ties."""
        if bound == "quick":
            return quick_ends(measure, block, a, b, others, over_ties=True)[0]
        return -self._upper(measure, True, block, b, a, others, one_by_one=bound == "best")

    def _upper(
        self,
        measure: Measure,
        over_ties: bool,
        block: RankingBlock,
        a: Ints,
        b: Ints,
        others: Ints,
        one_by_one: bool = True,
    ) -> Floats:
        bounds = np.zeros(len(a))
        apart = np.flatnonzero(~same_rankings(measure, block, a, b, over_ties))
        a, b, others = a[apart], b[apart], others[apart]
        if over_ties and self.universe.depth is None and "universe" in measure.params:
            unjudged = block.unjudged_of_both(a, b)
            quickly = measure.of_pairs(block, a, b, unjudged + others, over_ties=True)
            if quickly is not None:
                endless = others >= ENDLESS  # what one divides by makes any difference vanish
                bounds[apart] = np.where(endless, np.maximum(quickly, 0.0), quickly)
                left = np.isnan(quickly) | (one_by_one & (unjudged <= np.log2(ENUMERATED)))
                apart, a, b, others = apart[left], a[left], b[left], others[left]
        for rows, pair in pairs_to_depth(measure, block, a, b, others, self.universe, over_ties=over_ties):
            bounds[apart[rows]] = upper_bounds(measure, pair, NO_LIMIT, over_ties, one_by_one)[:, 0]
        return bounds

    def _witnessed(self, measure: Measure, how: str, block: RankingBlock, a: Ints, b: Ints, others: Ints) -> Floats:
        """[pair]: a value that A - B takes in some judging, and with `ties` in some other order of ties."""
        if how == "quick":
            return quick_witness(measure, block, a, b)
        if how == "plain":
            return self._plainly_witnessed(measure, block, a, b, others)
        values, has_ties = np.empty(len(a)), np.asarray(block.tied.any(axis=1))
        for rows, pair in pairs_to_depth(measure, block, a, b, others, self.universe, over_ties=how == "ties"):
            now = difference(measure, pair, pair.codes)
            if how == "ties":
                tied = pair.has_ties if measure.k is not None else has_ties[pair.a] | has_ties[pair.b]
                values[rows] = np.maximum(now, tie_witness(measure, pair, tied))
            elif how == "listed":
                values[rows] = now + listed(measure, pair, now)[1].max(axis=1, initial=0.0)
            else:
                value, best = witness(measure, pair).value, enumerated(measure, pair, NO_LIMIT, over_ties=False)[:, 0]
                values[rows] = np.where(np.isfinite(best), best, value)
        return values

    def _plainly_witnessed(self, measure: Measure, block: RankingBlock, a: Ints, b: Ints, others: Ints) -> Floats:
        values, depth = np.empty(len(a)), _places_read(measure, block)
        if self.universe.depth is None:
            at_once = measure.of_pairs(block, a, b, others, witnesses=True)
            if at_once is not None:
                return at_once
        counted = others if "universe" in measure.params else np.zeros_like(others)
        for rows in _chunks(len(a), 2 * depth):
            values[rows] = plain_witness(measure, block, a[rows], b[rows], depth, counted[rows], self.universe.depth)
        return values

    # -- can the sign be reversed? ---------------------------------------------------------------------------------

    def _decided(self, measure: Measure, ends: Floats, diff: Floats) -> DifferenceRanges:
        apart, made = np.abs(diff) > SAME, np.full(len(diff), self._makes_all(measure, len(diff)))
        exact = measure.difference_is == "exact"
        front, back = np.where(diff > 0, self.a, self.b), np.where(diff > 0, self.b, self.a)
        lead = _lead(ends, diff)
        reversed_ = apart & exact & made & (lead <= SAME)

        def look(how: str, pairs: Ints) -> None:
            reversed_[pairs] = self._reversed(measure, how, front, back, np.abs(diff), ends[1] - ends[0], pairs)

        open_ = apart & (lead <= SAME)
        left = np.flatnonzero(open_ & ~reversed_)
        few_left = self._quickly_reversed(measure, look, reversed_, left[~made[left] | (not self.proofs_alone)])
        if not self.proofs_alone:
            for how in ("thorough", "listed"):
                look(how, np.flatnonzero(open_ & ~reversed_))
        left = left[~reversed_[left] & ~made[left]]
        if len(left) and few_left:
            ends[:, left] = self._of_some(measure, partial(self._ends, measure, False), self.a[left], self.b[left])
            made[left] = True
            lead = _lead(ends, diff)
            reversed_[left] = exact & (lead[left] <= SAME)
        in_order = np.where(diff[:, None] > 0, ends[0], -ends[1])
        least, reversed_by_ties = self._least_over_ties(measure, front, back, in_order, made)
        proved = apart & (least > SAME)
        reversed_ |= apart & (lead > SAME) & reversed_by_ties
        if not self.proofs_alone:
            look("ties", np.flatnonzero(apart & (lead > SAME) & ~proved & ~reversed_))
        words = np.where(proved, "no", np.where(reversed_, "yes", np.where(made | (lead > SAME), "unknown", "")))
        means = np.where(made, ends.mean(axis=2), np.nan)
        return DifferenceRanges(
            means[0],
            means[1],
            least,
            np.where(apart, words, ""),
            np.where(proved | ~apart, "", np.where(lead <= SAME, "judging", "ties")),
            exact,
            ends[0],
            ends[1],
        )

    def _quickly_reversed(
        self, measure: Measure, look: Callable[[str, Ints], None], reversed_: Bools, pairs: Ints
    ) -> bool:
        """Look for judgings that reverse some pairs in the quick ways, and say whether so few are left that all can
        have the best bounds. Who wants proofs alone need not go on once there are too many."""
        cut_is_safe = measure.based_on == "recall" and measure.k is None

        def left_of(part: Ints) -> int:
            for how in ("plain", *(["quick"] if cut_is_safe else [])):
                look(how, part[~reversed_[part]])
            return int((~reversed_[part]).sum())

        if not self.proofs_alone:
            return self._makes_all(measure, left_of(pairs))
        spacing = max(1, len(pairs) // SAMPLED_PAIRS)
        n_left = left_of(pairs[::spacing]) * spacing // 2  # half of what the sample promises
        for start in range(0, len(pairs), OPEN_PAIRS):
            if not self._makes_all(measure, n_left):
                return False
            n_left = (n_left if start else 0) + left_of(pairs[start : start + OPEN_PAIRS])
        return self._makes_all(measure, n_left)

    def _least_over_ties(
        self, measure: Measure, front: Ints, back: Ints, in_order: Floats, made: Bools
    ) -> tuple[Floats, Bools]:
        """The least lead under every order of ties too, as far as is proved, where it is not negative in the order
        used; and which leads an order of ties is known to reverse, for which no dearer bound is made.

        On topics where no tie matters it is the lead `in_order` [pair, topic]. Elsewhere it is bounded quickly, where
        that is not enough without a look at all orders, and else as well as can be; these two on all topics of pairs
        whose range is not made.
        """
        lead = in_order.mean(axis=1)
        least, reversed_ = np.where(lead >= -SAME, lead, -np.inf), np.zeros(len(lead), dtype=bool)
        if not measure.depends_on_order:
            return least, reversed_
        tied = self._tied(measure)[front] | self._tied(measure)[back]
        least[tied.any(axis=1)] = -np.inf
        wanted = np.where(lead > SAME, SAME, -SAME)
        for bound in BOUNDS[:-1] if measure.difference_is == "exact" else BOUNDS:  # of which the plain one is the best
            left = np.flatnonzero((lead >= -SAME) & (least <= wanted) & ~reversed_)
            bounded = tied[left] | (~made[left, None] & (bound != "quick"))
            by_topic = in_order[left]
            work = partial(self._lead_over_ties, measure, bound)
            by_topic.T[bounded.T] = self._of_cells(measure, work, front[left], back[left], bounded)
            least[left] = np.maximum(least[left], by_topic.mean(axis=1))
            left = left[least[left] <= wanted[left]]
            if bound == "quick" and len(left) and measure.sorting_is_optimal:
                work = partial(_lead_in_worst_order, measure)
                as_judged = self._of_some(measure, work, front[left], back[left])
                reversed_[left] = as_judged.mean(axis=-1) < -SAME
        return least, reversed_

    def _tied(self, measure: Measure) -> Bools:
        """[run, topic]: whether the run has ties in the places that the measure reads, or across the last of them."""
        cut = None if measure.k is None or measure.cutoff == "recall" else int(measure.k) + 1
        return np.asarray(self.documents.tied[:, self.topics, :cut].any(axis=2))

    def _reversed(
        self, measure: Measure, how: str, front: Ints, back: Ints, lead: Floats, width: Floats, pairs: Ints
    ) -> Bools:
        """Whether a judging, or an order of ties, was found in which the run in front is so no longer; for some pairs.

        Each pair goes first to the topics where its range is widest, `width` [pair, topic], a few at a time, and is
        left out once it is reversed.
        """
        n_topics = len(self.topics)
        front, back, total = front[pairs], back[pairs], lead[pairs] * n_topics
        turn = np.argsort(np.argsort(-width[pairs], axis=1, kind="stable"), axis=1)

        def lead_lost(block: RankingBlock, a: Ints, b: Ints, others: Ints) -> Floats:
            now = comparable(measure, measure.value(block.evidence()))
            return np.maximum(self._witnessed(measure, how, block, a, b, others) - (now[a] - now[b]), 0.0)

        start, step = 0, n_topics if how == "ties" else FIRST_TOPICS
        while start < n_topics:
            left = total > SAME * n_topics
            if not left.any():
                break
            due = left[:, None] & (turn >= start) & (turn < start + step)
            lost = self._of_cells(measure, lead_lost, back, front, due)
            total -= np.bincount(np.nonzero(due.T)[1], lost, minlength=len(total))
            start, step = start + step, 2 * step
        return np.asarray(total <= SAME * n_topics)


PairRanges = tuple[Ranges, dict[Measure, DifferenceRanges]]  # what ranges are made from, and they themselves


def _lead(ends: Floats, diff: Floats) -> Floats:
    """The least lead of whichever run is ahead, over every way of judging."""
    low, high = ends.mean(axis=2)
    return np.where(diff > 0, low, -high)


def pairs_to_depth(
    measure: Measure, block: RankingBlock, a: Ints, b: Ints, others: Ints, universe: Universe, *, over_ties: bool
) -> Iterator[tuple[Ints, PairEvidence]]:
    """Pairs with the documents that the measure can see, some rows at a time."""
    needed = _depths(measure, block, a, b)[1 if over_ties else 0]
    for depth in distinct(needed).tolist():
        of_depth = np.flatnonzero(needed == depth)
        for part in _chunks(len(of_depth), 2 * depth):
            rows = of_depth[part]
            counts = "universe" in measure.params
            yield rows, _pair(block, a[rows], b[rows], depth, others[rows] if counts else None, universe)


def _pair(block: RankingBlock, a: Ints, b: Ints, depth: int, others: Ints | None, universe: Universe) -> PairEvidence:
    """Pairs with the documents down to a depth; what lies deeper only counts, if the measure counts it."""
    pair = block.pairs(a, b, depth, others, universe.depth)
    if depth >= block.width or others is None:
        return pair
    deeper = block.unjudged_of_both(a, b, universe.depth) - pair.unjudged.sum(axis=1)
    return pair.with_others(others + deeper)


def _depths(measure: Measure, block: RankingBlock, a: Ints, b: Ints) -> tuple[Ints, Ints]:
    """How deep the documents of each pair matter: in the order used, and where tied ones may change places.

    Rounded up to a power of two times the cut-off, so that pairs of about the same depth go together.
    """
    width, k = block.width, _places_read(measure, block)
    if k == width:
        return np.full(len(a), width), np.full(len(a), width)
    last = block.groups[1][:, k - 1]
    needed = np.maximum(last[a], last[b])
    rounded = k * 2 ** np.ceil(np.log2(needed / k)).astype(np.int64)
    return np.full(len(a), k), np.minimum(rounded, width)


def _places_read(measure: Measure, block: RankingBlock) -> int:
    """How many places of the longest ranking count: those before the cut-off, and without one those before the weights
    have become so small that their running sum does not feel them."""
    width = block.width
    if measure.k is not None:
        return width if measure.cutoff == "recall" else min(int(measure.k), width)
    if not isinstance(measure, Weighted):
        return width
    total = np.cumsum(measure.weight(width))
    places = int(np.searchsorted(total, total[-1])) + 1
    first_row = block.evidence(np.zeros(1, dtype=np.int64))
    return places if measure.normaliser(places, first_row) == measure.normaliser(width, first_row) else width


def same_rankings(measure: Measure, block: RankingBlock, a: Ints, b: Ints, over_ties: bool) -> Bools:
    """Which pairs of rows are the same as far as the measure reads, so that they have one score however one judges.

    With `over_ties`: the same to their ends, and with the same ties.
    """
    depth = None if over_ties or measure.cutoff == "recall" else measure.k
    same: Bools = block.place[a, 0] == block.place[b, 0]  # few are, and no others are looked at
    rows = np.flatnonzero(same)
    for values in (block.place, block.tied) if over_ties else (block.place,):
        same[rows] &= (values[a[rows], :depth] == values[b[rows], :depth]).all(axis=1)
    return same


def _chunks(n: int, columns: int) -> list[slice]:
    step = max(1, CELLS // max(1, columns))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def quick_ends(measure: Measure, block: RankingBlock, a: Ints, b: Ints, others: Ints, *, over_ties: bool) -> Floats:
    """[end, pair] from what each ranking can have by itself."""
    if isinstance(measure, Weighted):
        return _weighted_ends(measure, block, a, b, over_ties)
    universe = block.unjudged.sum(axis=1)
    if "universe" in measure.params:
        together = block.unjudged_of_both(a, b) + others
        np.maximum.at(universe, a, together)
        np.maximum.at(universe, b, together)
    low, high = listed_range(measure, block.evidence(None, universe), over_ties)
    if low is None or high is None:
        return np.stack([np.full(len(a), -np.inf), np.full(len(a), np.inf)])
    ends = np.stack([low[a] - high[b], high[a] - low[b]])
    if "universe" in measure.params and (others >= ENDLESS).any():
        # Without end, what one divides by makes any difference vanish.
        return np.stack([np.minimum(ends[0], 0.0), np.maximum(ends[1], 0.0)])
    return ends


def _lead_in_worst_order(measure: Measure, block: RankingBlock, a: Ints, b: Ints, others: Ints) -> Floats:
    """[pair]: what A - B is, as judged, in the order of ties that is worst for A and best for B: what reverses a lead.

    Some order is both if no document that adds to the score is tied in both: A's groups then say nothing about how B's
    are to be broken. Where there is such a document the order of the files is taken.
    """
    evidence = block.evidence()
    values = measure.scores(evidence, with_range=False)
    assert values.tie_low is not None
    assert values.tie_high is not None
    low, high, now = (comparable(measure, of) for of in (values.tie_low, values.tie_high, values.score))
    matter = block.tied_documents(measure.tie_value(evidence), measure.depth_read(evidence))
    both = np.asarray((matter @ matter.T)[a, b]).ravel() > 0
    return np.where(both, now[a] - now[b], low[a] - high[b])


def _weighted_ends(measure: Weighted, block: RankingBlock, a: Ints, b: Ints, over_ties: bool) -> Floats:
    """Exact in the order used: each unjudged document adds max(0, W_A - W_B)."""
    evidence, runs = block.evidence(), len(block.runs)
    weights, top = measure.weights(evidence)[: _places_read(measure, block)], measure.top_gain(evidence)
    low: Floats | None
    high: Floats | None
    low = high = measure.value(evidence)
    best = worst = np.broadcast_to(np.arange(1.0, block.width + 1), block.place.shape)
    if over_ties:
        scores, gain = measure.scores(evidence), measure.tie_value(evidence)
        low, high = scores.tie_low, scores.tie_high
        best, worst = (block.extreme_ranks(gain, which) for which in (True, False))
    if low is None or high is None:
        raise ValueError("a weighted measure has values over ties")
    row, place = np.nonzero((at_ranks(weights, best) > 0) & block.unjudged)
    number = block.place[row, place] + block.topic_of(row) * block.codes.shape[1]
    documents, column = np.unique(number, return_inverse=True)
    lighter = np.zeros((len(documents), runs))
    lighter[column, row % runs] = at_ranks(weights, worst[row, place])
    more = top * _surplus(at_ranks(weights, best[row, place]), row, column, lighter, len(block))
    return np.stack([low[a] - high[b] - more[b, a % runs], high[a] - low[b] + more[a, b % runs]])


def _surplus(best: Floats, row: Ints, document: Ints, worst: Floats, rows: int) -> Floats:
    """[row, run]: the sum of max(0, best of the row - worst of the run) over documents.

    What is best is listed, with its row (in order) and its document, for most rankings lack most documents, and what
    a ranking lacks adds nothing; worst is [document, run].
    """
    surplus = np.zeros((rows, worst.shape[1]))
    ends = np.searchsorted(row, np.arange(rows + 1))
    for start, stop in stretches(np.diff(ends) * worst.shape[1], CELLS):
        own = slice(ends[start], ends[stop])
        filled = start + np.flatnonzero(np.diff(ends[start : stop + 1]))
        if len(filled):
            more = np.maximum(best[own, None] - worst[document[own]], 0.0)
            surplus[filled] = np.add.reduceat(more, ends[filled] - ends[start], axis=0)
    return surplus
