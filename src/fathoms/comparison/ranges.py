"""The range of the difference for all pairs of runs, and whether judging or tie-breaking could reverse its sign.

Few pairs get the best bounds there are (`differences.upper_bounds`). With many pairs and deep measures that would take
minutes, so each topic is looked at once for all pairs with a quick bound, made of the two runs' own ranges; where that
leaves the sign open, a judging that reverses it is looked for; and only where none is found come the best bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from fathoms.comparison.differences import (
    ENDLESS,
    comparable,
    difference,
    enumerated,
    listed_range,
    plain_witness,
    quick_witness,
    tie_witness,
    upper_bounds,
    witness,
)
from fathoms.data.arrays import distinct
from fathoms.data.qrels import Qrels
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.evidence.pairs import PairEvidence, RankedKeys, TopicRankings
from fathoms.measures.base import Measure, Scores
from fathoms.measures.differences import NO_LIMIT, at_ranks
from fathoms.measures.weighted import Weighted
from fathoms.parallel import parallel_map

NOTHING = 1e-9  # a difference this small is rounding, and proves nothing
CELLS = 2_000_000  # of pairs times documents worked on at a time
BEST = 100_000_000  # cells of pairs, topics and documents for which all pairs get the best bounds
BEST_QUADRATIC = 1_500_000_000  # the same where pairs of documents count
FIRST_TOPICS = 4  # of each pair, where a judging that reverses it is looked for; then twice as many, and so on
MANY = 200  # pairs from which on the quick bound is worth trying first

Changes = tuple[Ints, Floats]  # pairs, and how far each was brought


@dataclass(frozen=True)
class Universe:
    """The documents that a difference ranges over: those of the pair, or more."""

    kind: str | float = "pair"  # pair, all, or a number of unseen documents beside those of all runs (inf: any number)
    depth: int | None = None  # only documents in the first so many places of either run

    def others(self, topic: TopicRankings, a: Ints, b: Ints) -> Ints:
        """How many documents of the universe neither run of a pair has."""
        if self.kind == "pair":
            return np.zeros(len(a), dtype=np.int64)
        of_all = topic.unjudged_of_all(self.depth)
        unseen = 0 if self.kind == "all" else int(min(float(self.kind), ENDLESS))
        return np.maximum(of_all - topic.unjudged_of_both(self.depth)[a, b], 0) + unseen


@dataclass(frozen=True, eq=False)
class DifferenceRanges:
    """One measure's ranges for all pairs, means over topics."""

    low: Floats
    high: Floats
    reversible: list[str]  # no, yes or unknown; empty where the means are equal
    doubt: list[str]  # what could reverse the sign as far as is known: judging, ties, or nothing
    exact: bool  # whether some judging gives low, and some gives high
    topic_low: Floats  # [pair, topic]
    topic_high: Floats


@dataclass(frozen=True, eq=False)
class Ranges:
    """What all ranges of a comparison are made from: the runs and the pairs (a, b) of them."""

    runs: Sequence[RankedKeys]
    qrels: Qrels
    a: Ints
    b: Ints
    universe: Universe
    workers: int = 1

    @cached_property
    def topics(self) -> list[TopicRankings]:
        def one(number: int) -> TopicRankings:
            topic = TopicRankings.of(self.runs, self.qrels, number)
            topic.unjudged_of_both(self.universe.depth)
            return topic

        return parallel_map(one, range(len(self.qrels.topics)), workers=self.workers)

    def of_topics(self, places: Ints) -> Ranges:
        """The same of some topics only."""
        return self.with_topics([self.topics[place] for place in places.tolist()])

    def with_topics(self, topics: list[TopicRankings]) -> Ranges:
        """The same with rankings that are there already."""
        other = copy(self)
        other.__dict__["topics"] = topics
        return other

    def topic(self, place: int) -> TopicRankings:
        """One topic's rankings, without the large arrays that an earlier look at them has made."""
        return copy(self.topics[place])

    def _for_pairs(self, number: int, a: Ints, b: Ints) -> tuple[TopicRankings, Ints, Ints, Ints]:
        """One topic's rankings by the systems of some pairs, the places of A and B among these systems, and how many
        documents of the universe neither of them has."""
        topic = self.topic(number)
        others = self.universe.others(topic, a, b)
        used, place = np.unique(np.concatenate([a, b]), return_inverse=True)
        return topic.of_systems(used), place[: len(a)], place[len(a) :], others

    def of(
        self,
        measures: Sequence[Measure],
        differences: dict[Measure, Floats],
        scores: Mapping[Measure, Sequence[Scores]],
    ) -> dict[Measure, DifferenceRanges]:
        """Ranges of the measures that have one; `differences` are the mean differences of the pairs, and `scores` those
        of the systems, for measures that need the pool."""
        ranged = [m for m in measures if m.range_is in ("exact", "sound") and not m.needs_pool]
        pooled = [m for m in measures if m.range_is in ("exact", "sound") and m.needs_pool]
        quick = [measure for measure in ranged if not self.affordable(measure, len(self.a))]
        ends = self._by_topic({m: partial(self._ends, m, m in quick) for m in ranged}, self.a, self.b)
        found = {m: self._decided(m, ends[m], differences[m], m in quick) for m in ranged}
        return found | {m: self._of_pooled(scores[m], differences[m]) for m in pooled}

    def over_ties(self, measure: Measure, a: Ints, b: Ints) -> tuple[Floats, Floats]:
        """[pair, topic]: least and greatest A - B over every way of judging and every order of ties; sound."""
        work = partial(self._least, measure, False, True)
        low, high = self._of_some(measure, work, a, b), -self._of_some(measure, work, b, a)
        alike = [self.runs[one].alike(self.runs[other]) for one, other in zip(a, b, strict=True)]
        low[alike], high[alike] = 0.0, 0.0
        return low, high

    def least_leads(self, measure: Measure, front: Ints, back: Ints, scores: Sequence[Scores]) -> Floats | None:
        """Of each pair the least front - back over every way of judging and every order of ties, as far as is proved;
        None for measures without a range.

        All pairs get the quick bound. Where it leaves the order open, the best one follows, as far as there is time:
        for the pairs that are nearest to a proof, and for which no judging is found that reverses them.
        """
        if measure.range_is not in ("exact", "sound"):
            return None
        alike = np.array([self.runs[a].alike(self.runs[b]) for a, b in zip(front, back, strict=True)], dtype=bool)
        if measure.needs_pool:
            lead = self._pooled_leads(scores, front, back)
            lead[alike] = 0.0
            return lead
        lead = self._of_some(measure, partial(self._least, measure, True, True), front, back).mean(axis=-1)
        lead[alike] = 0.0
        open_ = np.flatnonzero((lead <= NOTHING) & ~alike)
        if isinstance(measure, Weighted) and len(open_):  # for which the quick bound is exact in the order used
            work = partial(self._least, measure, True, False)
            open_ = open_[self._of_some(measure, work, front[open_], back[open_]).mean(axis=-1) >= -NOTHING]
        open_ = open_[np.argsort(-lead[open_], kind="stable")]
        number = self._affordable_number(measure)
        if len(open_) > number:
            open_ = open_[:MANY]
            now = np.array([comparable(measure, one.score).mean() for one in scores])
            width = np.ones((len(front), len(self.qrels.topics)))
            found = self._reversed(measure, "plain", front, back, now[front] - now[back], width, open_)
            open_ = open_[~found][:number]
        if len(open_):
            work = partial(self._least, measure, False, True)
            best = self._of_some(measure, work, front[open_], back[open_]).mean(axis=-1)
            lead[open_] = np.maximum(lead[open_], best)
        return lead

    def _least(
        self, measure: Measure, quick: bool, over_ties: bool, topic: TopicRankings, a: Ints, b: Ints, others: Ints
    ) -> Floats:
        """[pair]: least A - B, in the order of ties used or over every order of them."""
        if over_ties and measure.depends_on_order:
            return self._lead_over_ties(measure, quick, topic, a, b, others)
        return self._ends(measure, quick, topic, a, b, others)[0]

    def _pooled_leads(self, scores: Sequence[Scores], front: Ints, back: Ints) -> Floats:
        """As `_of_pooled`: from the systems' own ranges, and nothing is proved of runs with ties."""
        low, high = (
            np.array([np.mean(one.score if end is None else end) for one, end in ends])
            for ends in ([(one, one.low) for one in scores], [(one, one.high) for one in scores])
        )
        tied = np.array([bool(run.tied.any()) for run in self.runs])
        return np.where(tied[front] | tied[back], -np.inf, low[front] - high[back])

    def _of_pooled(self, scores: Sequence[Scores], diff: Floats) -> DifferenceRanges:
        """From the systems' own ranges, over what the pool leaves unjudged; 0 where both have the same ranking."""
        low = np.stack([one.score if one.low is None else one.low for one in scores])
        high = np.stack([one.score if one.high is None else one.high for one in scores])
        ends = np.stack([low[self.a] - high[self.b], high[self.a] - low[self.b]])
        alike = [self.runs[a].same_as(self.runs[b]) for a, b in zip(self.a, self.b, strict=True)]
        ends[:, alike] = 0.0
        apart, lead = np.abs(diff) > NOTHING, _lead(ends, diff)
        tied = np.array([bool(run.tied.any()) for run in self.runs])
        proved = (lead > NOTHING) & ~(tied[self.a] | tied[self.b])
        means = ends.mean(axis=2)
        return DifferenceRanges(
            means[0],
            means[1],
            np.where(apart, np.where(proved, "no", "unknown"), "").tolist(),
            np.where(lead <= NOTHING, "judging", np.where(proved, "", "ties")).tolist(),
            False,
            ends[0],
            ends[1],
        )

    def affordable(self, measure: Measure, pairs: int) -> bool:
        """Whether that many pairs can all have the best bounds."""
        longest = max((int(np.diff(run.ends).max(initial=0)) for run in self.runs), default=0)
        depth = longest if measure.k is None else min(int(measure.k), longest)
        cells = pairs * len(self.topics) * 2 * depth
        if isinstance(measure, Weighted) and pairs > MANY:
            return False  # the quick way is exact too
        return cells * 2 * depth <= BEST_QUADRATIC if measure.quadratic_difference else cells <= BEST

    # -- topic by topic --------------------------------------------------------------------------------------------

    def _by_topic(self, work: dict[Measure, Callable[..., Floats]], a: Ints, b: Ints) -> dict[Measure, Floats]:
        """What `work` finds for the pairs (a, b) on each topic, stacked: the last axis is that of the topics."""

        def one(place: int) -> list[Floats]:
            topic, in_a, in_b, others = self._for_pairs(place, a, b)
            return [found(topic, in_a, in_b, others) for found in work.values()]

        n_topics = len(self.topics)  # made here, so that forks need not make them each
        found = parallel_map(one, range(n_topics), workers=self.workers) if work else []
        return {measure: np.stack([topic[i] for topic in found], axis=-1) for i, measure in enumerate(work)}

    def _of_some(self, measure: Measure, work: Callable[..., Floats], a: Ints, b: Ints) -> Floats:
        return self._by_topic({measure: work}, a, b)[measure]

    def _ends(self, measure: Measure, quick: bool, topic: TopicRankings, a: Ints, b: Ints, others: Ints) -> Floats:
        """[end, pair]: least and greatest A - B in the order of ties used."""
        if quick:
            return quick_ends(measure, topic, a, b, others, over_ties=False)
        return np.stack(
            [-self._upper(measure, False, topic, b, a, others), self._upper(measure, False, topic, a, b, others)]
        )

    def _lead_over_ties(
        self, measure: Measure, quick: bool, topic: TopicRankings, a: Ints, b: Ints, others: Ints
    ) -> Floats:
        """[pair]: least A - B over every order of ties."""
        if quick:
            return quick_ends(measure, topic, a, b, others, over_ties=True)[0]
        return -self._upper(measure, True, topic, b, a, others)

    def _upper(self, measure: Measure, over_ties: bool, topic: TopicRankings, a: Ints, b: Ints, others: Ints) -> Floats:
        found = np.empty(len(a))
        for rows, pair in pairs_to_depth(measure, topic, a, b, others, self.universe, over_ties=over_ties):
            found[rows] = upper_bounds(measure, pair, NO_LIMIT, over_ties)[:, 0]
        return found

    def _witnessed(self, measure: Measure, how: str, topic: TopicRankings, a: Ints, b: Ints, others: Ints) -> Floats:
        """[pair]: a value that A - B takes in some judging, and with `ties` in some other order of ties."""
        if how == "quick":
            return quick_witness(measure, topic, a, b)
        if how == "plain":
            return self._plainly_witnessed(measure, topic, a, b, others)
        found, has_ties = np.empty(len(a)), np.asarray(topic.tied.any(axis=1))
        for rows, pair in pairs_to_depth(measure, topic, a, b, others, self.universe, over_ties=how == "ties"):
            if how == "ties":
                tied = pair.has_ties if measure.k is not None else has_ties[pair.a] | has_ties[pair.b]
                found[rows] = np.maximum(difference(measure, pair, pair.codes), tie_witness(measure, pair, tied))
            else:
                value, best = witness(measure, pair).value, enumerated(measure, pair, NO_LIMIT, over_ties=False)[:, 0]
                found[rows] = np.where(np.isfinite(best), best, value)
        return found

    def _plainly_witnessed(self, measure: Measure, topic: TopicRankings, a: Ints, b: Ints, others: Ints) -> Floats:
        found, depth = np.empty(len(a)), _places_read(measure, topic)
        counted = others if "universe" in measure.params else np.zeros_like(others)
        for rows in _chunks(len(a), 2 * depth):
            pair = a[rows], b[rows], depth, counted[rows], self.universe.depth
            found[rows] = plain_witness(measure, topic, *pair)
        return found

    # -- can the sign be reversed? ---------------------------------------------------------------------------------

    def _decided(self, measure: Measure, ends: Floats, diff: Floats, quick: bool) -> DifferenceRanges:
        apart = np.abs(diff) > NOTHING
        exact = measure.difference_is == "exact" and (not quick or isinstance(measure, Weighted))
        front, back = np.where(diff > 0, self.a, self.b), np.where(diff > 0, self.b, self.a)
        lead = _lead(ends, diff)
        reversed_ = apart & exact & (lead <= NOTHING)
        if quick and not exact:
            cut_is_safe = measure.based_on == "recall" and measure.k is None
            for how in ("plain", "quick") if cut_is_safe else ("plain",):
                open_ = np.flatnonzero(apart & (lead <= NOTHING) & ~reversed_)
                reversed_[open_] = self._reversed(measure, how, front, back, np.abs(diff), ends[1] - ends[0], open_)
            open_ = np.flatnonzero(apart & (lead <= NOTHING) & ~reversed_)[: self._affordable_number(measure)]
            if len(open_):
                ends[:, open_] = self._of_some(
                    measure, partial(self._ends, measure, False), self.a[open_], self.b[open_]
                )
                lead = _lead(ends, diff)
        proved = apart & (lead > NOTHING)
        if measure.depends_on_order:
            proved = self._proved_over_ties(measure, front, back, proved, quick or len(diff) > MANY)
        by_judging = np.flatnonzero(apart & (lead <= NOTHING) & ~reversed_)
        by_ties = np.flatnonzero(apart & (lead > NOTHING) & ~proved)
        for rows, how in ((by_judging, "thorough"), (by_ties, "ties")):
            reversed_[rows] = self._reversed(measure, how, front, back, np.abs(diff), ends[1] - ends[0], rows)
        words = np.where(proved, "no", np.where(reversed_, "yes", "unknown"))
        means = ends.mean(axis=2)
        return DifferenceRanges(
            means[0],
            means[1],
            np.where(apart, words, "").tolist(),
            np.where(lead <= NOTHING, "judging", np.where(proved, "", "ties")).tolist(),
            exact,
            ends[0],
            ends[1],
        )

    def _proved_over_ties(self, measure: Measure, front: Ints, back: Ints, proved: Bools, quick: bool) -> Bools:
        """Which of the pairs whose sign no judging reverses keep it under every order of ties too."""
        found = np.zeros_like(proved)
        left = np.flatnonzero(proved)
        for quickly in (True, False) if quick else (False,):
            if len(left):
                work = partial(self._lead_over_ties, measure, quickly)
                sure = self._of_some(measure, work, front[left], back[left]).mean(axis=-1) > NOTHING
                found[left[sure]] = True
                left = left[~sure]
        return found

    def _affordable_number(self, measure: Measure) -> int:
        n = len(self.a)
        while n and not self.affordable(measure, n):
            n //= 2
        return n

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
        start, step = 0, n_topics if how == "ties" else FIRST_TOPICS
        while start < n_topics:
            left = total > NOTHING * n_topics
            if not left.any():
                break

            def change(number: int, due: Bools = left[:, None] & (turn >= start) & (turn < start + step)) -> Changes:
                rows = np.flatnonzero(due[:, number])
                if not len(rows):
                    return rows, np.empty(0)
                topic, a, b, others = self._for_pairs(number, back[rows], front[rows])
                now = comparable(measure, measure.value(topic.evidence()))
                return rows, np.maximum(self._witnessed(measure, how, topic, a, b, others) - (now[a] - now[b]), 0.0)

            for rows, changes in parallel_map(change, range(n_topics), workers=self.workers):
                total[rows] -= changes
            start, step = start + step, 2 * step
        return np.asarray(total <= NOTHING * n_topics)


def _lead(ends: Floats, diff: Floats) -> Floats:
    """The least lead of whichever run is ahead, over every way of judging."""
    low, high = ends.mean(axis=2)
    return np.where(diff > 0, low, -high)


def pairs_to_depth(
    measure: Measure, topic: TopicRankings, a: Ints, b: Ints, others: Ints, universe: Universe, *, over_ties: bool
) -> Iterator[tuple[Ints, PairEvidence]]:
    """Pairs with the documents that the measure can see, some rows at a time."""
    needed = _depths(measure, topic, a, b)[1 if over_ties else 0]
    for depth in distinct(needed).tolist():
        of_depth = np.flatnonzero(needed == depth)
        for part in _chunks(len(of_depth), 2 * depth):
            rows = of_depth[part]
            counts = "universe" in measure.params
            yield rows, _pair(topic, a[rows], b[rows], depth, others[rows] if counts else None, universe)


def _pair(topic: TopicRankings, a: Ints, b: Ints, depth: int, others: Ints | None, universe: Universe) -> PairEvidence:
    """Pairs with the documents down to a depth; what lies deeper only counts, if the measure counts it."""
    pair = topic.pairs(a, b, depth, others, universe.depth)
    if depth >= topic.place.shape[1] or others is None:
        return pair
    deeper = topic.unjudged_of_both(universe.depth)[a, b] - pair.unjudged.sum(axis=1)
    return pair.with_others(others + deeper)


def _depths(measure: Measure, topic: TopicRankings, a: Ints, b: Ints) -> tuple[Ints, Ints]:
    """How deep the documents of each pair matter: in the order used, and where tied ones may change places.

    Rounded up to a power of two times the cut-off, so that pairs of about the same depth go together.
    """
    width, k = topic.place.shape[1], _places_read(measure, topic)
    if k == width:
        return np.full(len(a), width), np.full(len(a), width)
    last = topic.groups[1][:, k - 1]
    needed = np.maximum(last[a], last[b])
    rounded = k * 2 ** np.ceil(np.log2(needed / k)).astype(np.int64)
    return np.full(len(a), k), np.minimum(rounded, width)


def _places_read(measure: Measure, topic: TopicRankings) -> int:
    """How many places of the longest ranking count: those before the cut-off, and without one those before the weights
    have become so small that their running sum does not feel them."""
    width = topic.place.shape[1]
    if measure.k is not None:
        return width if measure.cutoff == "recall" else min(int(measure.k), width)
    if not isinstance(measure, Weighted):
        return width
    total = np.cumsum(measure.weight(width))
    places = int(np.searchsorted(total, total[-1])) + 1
    one = topic.evidence(np.zeros(1, dtype=np.int64))
    return places if measure.normaliser(places, one) == measure.normaliser(width, one) else width


def _chunks(n: int, columns: int) -> list[slice]:
    step = max(1, CELLS // max(1, columns))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def quick_ends(measure: Measure, topic: TopicRankings, a: Ints, b: Ints, others: Ints, *, over_ties: bool) -> Floats:
    """[end, pair] on one topic from what each system can have by itself."""
    if isinstance(measure, Weighted):
        return _weighted_ends(measure, topic, a, b, over_ties)
    universe = np.zeros(len(topic), dtype=np.int64)
    if "universe" in measure.params:
        together = topic.unjudged_of_both()[a, b] + others
        np.maximum.at(universe, a, together)
        np.maximum.at(universe, b, together)
    low, high = listed_range(measure, topic.evidence(None, universe), over_ties)
    if low is None or high is None:
        return np.stack([np.full(len(a), -np.inf), np.full(len(a), np.inf)])
    ends = np.stack([low[a] - high[b], high[a] - low[b]])
    if "universe" in measure.params and (others >= ENDLESS).any():
        # Without end, what one divides by makes any difference vanish.
        return np.stack([np.minimum(ends[0], 0.0), np.maximum(ends[1], 0.0)])
    return ends


def _weighted_ends(measure: Weighted, topic: TopicRankings, a: Ints, b: Ints, over_ties: bool) -> Floats:
    """Exact in the order used: each unjudged document adds max(0, W_A - W_B)."""
    evidence = topic.evidence()
    weights, top = measure.weights(evidence)[: _places_read(measure, topic)], measure.top_gain(evidence)
    low: Floats | None
    high: Floats | None
    low = high = measure.value(evidence)
    best = worst = np.broadcast_to(np.arange(1.0, topic.place.shape[1] + 1), topic.place.shape)
    if over_ties:
        scores, gain = measure.scores(evidence), measure.tie_value(evidence)
        low, high = scores.tie_low, scores.tie_high
        best, worst = (topic.extreme_ranks(gain, which) for which in (True, False))
    if low is None or high is None:
        raise ValueError("a weighted measure has values over ties")
    system, place = np.nonzero((at_ranks(weights, best) > 0) & topic.unjudged[topic.place])
    documents, column = np.unique(topic.place[system, place], return_inverse=True)
    lighter = np.zeros((len(documents), len(topic)))
    lighter[column, system] = at_ranks(weights, worst[system, place])
    more = top * _surplus(at_ranks(weights, best[system, place]), system, column, lighter)
    return np.stack([low[a] - high[b] - more[b, a], high[a] - low[b] + more[a, b]])


def _surplus(best: Floats, system: Ints, document: Ints, worst: Floats) -> Floats:
    """[A, B]: the sum of max(0, best of A - worst of B) over documents.

    What is best is listed, with its system (in order) and its document, for most systems lack most documents, and what
    A lacks adds nothing; worst is [document, system].
    """
    n = worst.shape[1]
    found = np.zeros((n, n))
    ends = np.searchsorted(system, np.arange(n + 1))
    for one in range(n):
        own = slice(ends[one], ends[one + 1])
        found[one] = np.maximum(best[own, None] - worst[document[own]], 0.0).sum(axis=0)
    return found
