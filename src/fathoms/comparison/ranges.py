"""The range of the difference for all pairs of runs, and whether judging or tie-breaking could reverse its sign.

Few pairs get the best bounds there are (`differences.upper_bounds`). With many pairs and deep measures that would take
minutes, so each topic is looked at once for all pairs with a quick bound, made of the two runs' own ranges; where that
leaves the sign open, a judging that reverses it is looked for; and only where none is found come the best bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathoms.comparison.differences import (
    ENDLESS,
    difference,
    listed_range,
    tie_witness,
    upper_bounds,
    witness,
)
from fathoms.data.arrays import distinct
from fathoms.data.qrels import Qrels
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.evidence.pairs import PairEvidence, RankedKeys, TopicRankings
from fathoms.measures.base import Measure
from fathoms.measures.differences import NO_LIMIT, at_ranks
from fathoms.measures.weighted import Weighted
from fathoms.parallel import parallel_map

NOTHING = 1e-9  # a difference this small is rounding, and proves nothing
CELLS = 2_000_000  # of pairs times documents worked on at a time
BEST = 100_000_000  # cells of pairs, topics and documents for which all pairs get the best bounds
BEST_QUADRATIC = 2_500_000_000  # the same where pairs of documents count
LOW, HIGH, ALL_LOW, ALL_HIGH = range(4)  # ends in the order of ties used, and over all orders


@dataclass(frozen=True)
class Universe:
    """The documents that a difference ranges over: those of the pair, or more."""

    kind: str | float = "pair"  # pair, all, or a number of unseen documents beside those of all runs (inf: any number)
    depth: int | None = None  # only documents in the first so many places of either run

    def others(self, topic: TopicRankings, a: Ints, b: Ints) -> Ints:
        """How many documents of the universe neither run of a pair has."""
        if self.kind == "pair":
            return np.zeros(len(a), dtype=np.int64)
        of_all = int(topic.unjudged_within(self.depth).any(axis=0).sum())
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

    def of(self, measures: Sequence[Measure], differences: dict[Measure, Floats]) -> dict[Measure, DifferenceRanges]:
        """Ranges of the measures that have one; `differences` are the mean differences of the pairs."""
        ranged = [measure for measure in measures if measure.range_is in ("exact", "sound")]
        everything = np.arange(len(self.a))
        quick = [measure for measure in ranged if not self.affordable(measure, len(everything))]
        ends = self.ends(ranged, everything, quick)
        return {m: self._decided(m, ends[m], differences[m], m in quick) for m in ranged}

    def unjudged(self) -> int:
        """The unjudged documents of all runs, each once."""
        found = parallel_map(self._unjudged, range(len(self.qrels.topics)), workers=1)
        return int(sum(found))

    def _unjudged(self, number: int) -> int:
        keys = [run.unjudged_keys(number) for run in self.runs]
        return len(np.unique(np.concatenate(keys)))

    # -- ends of ranges, topic by topic ----------------------------------------------------------------------------

    def ends(self, measures: Sequence[Measure], pairs: Ints, quick: Sequence[Measure] = ()) -> dict[Measure, Floats]:
        """[end, pair, topic] of each measure for some of the pairs."""
        a, b = self.a[pairs], self.b[pairs]

        def one(number: int) -> list[Floats]:
            topic = TopicRankings.of(self.runs, self.qrels, number)
            others = self.universe.others(topic, a, b)
            return [
                quick_ends(m, topic, a, b, others) if m in quick else best_ends(m, topic, a, b, others, self.universe)
                for m in measures
            ]

        found = parallel_map(one, range(len(self.qrels.topics)), workers=self.workers) if measures else []
        return {m: np.stack([topic[i] for topic in found], axis=2) for i, m in enumerate(measures)}

    def affordable(self, measure: Measure, pairs: int) -> bool:
        """Whether that many pairs can all have the best bounds."""
        longest = max((int(np.diff(run.ends).max(initial=0)) for run in self.runs), default=0)
        depth = longest if measure.k is None else min(int(measure.k), longest)
        cells = pairs * len(self.qrels.topics) * 2 * depth
        return cells * 2 * depth <= BEST_QUADRATIC if measure.quadratic_difference else cells <= BEST

    # -- can the sign be reversed? ---------------------------------------------------------------------------------

    def _decided(self, measure: Measure, ends: Floats, diff: Floats, quick: bool) -> DifferenceRanges:
        apart = np.abs(diff) > NOTHING
        exact = measure.difference_claim == "exact" and (not quick or isinstance(measure, Weighted))
        lead = self._leads(ends, diff)
        proved = apart & (lead[1] > NOTHING)
        reversed_ = apart & exact & (lead[0] <= NOTHING)
        if quick:
            open_ = np.flatnonzero(apart & ~proved & ~reversed_)
            reversed_[open_] = self._reversed(measure, open_, diff[open_], ends[:, open_], thorough=False)
            open_ = np.flatnonzero(apart & ~proved & ~reversed_)
            open_ = open_[: self._affordable_number(measure)]
            ends[:, open_] = self.ends([measure], open_)[measure]
            lead = self._leads(ends, diff)
            proved = apart & (lead[1] > NOTHING)
        open_ = np.flatnonzero(apart & ~proved & ~reversed_)
        reversed_[open_] = self._reversed(measure, open_, diff[open_], ends[:, open_], thorough=True)
        words = np.where(proved, "no", np.where(reversed_, "yes", "unknown"))
        means = ends.mean(axis=2)
        reversible = np.where(apart, words, "").tolist()
        lead = self._leads(ends, diff)
        doubt = np.where(lead[0] <= NOTHING, "judging", np.where(lead[1] <= NOTHING, "ties", "")).tolist()
        return DifferenceRanges(means[LOW], means[HIGH], reversible, doubt, exact, ends[LOW], ends[HIGH])

    @staticmethod
    def _leads(ends: Floats, diff: Floats) -> tuple[Floats, Floats]:
        """The least lead of whichever run is ahead, in the order of ties used and over all orders."""
        low, high, all_low, all_high = ends.mean(axis=2)
        return np.where(diff > 0, low, -high), np.where(diff > 0, all_low, -all_high)

    def _affordable_number(self, measure: Measure) -> int:
        n = len(self.a)
        while n and not self.affordable(measure, n):
            n //= 2
        return n

    def _reversed(self, measure: Measure, pairs: Ints, diff: Floats, ends: Floats, thorough: bool) -> Bools:
        """Whether a judging of the pairs' documents, or an order of ties, was found that reverses the sign.

        Topics in which most could change come first, and a pair is left out once it is reversed.
        """
        total = np.abs(diff) * len(self.qrels.topics)
        width = np.where(diff[:, None] > 0, -ends[LOW], ends[HIGH]).sum(axis=0) if len(pairs) else np.zeros(0)
        front, back = np.where(diff > 0, self.a[pairs], self.b[pairs]), np.where(diff > 0, self.b[pairs], self.a[pairs])
        order = np.argsort(-width, kind="stable")
        step = max(1, self.workers) if not thorough else len(order)
        for start in range(0, len(order), max(1, step)):
            left = np.flatnonzero(total > NOTHING * len(order))
            if not len(left):
                break
            some = order[start : start + step].tolist()
            search = _Search(self, measure, back[left], front[left], thorough)
            total[left] += np.sum(parallel_map(search, some, workers=self.workers), axis=0)
        return total <= NOTHING * len(order)


@dataclass(frozen=True, eq=False)
class _Search:
    """For the pairs (a, b): by how much A - B falls on a topic in the judging, or the order of ties, best for B."""

    ranges: Ranges
    measure: Measure
    b: Ints
    a: Ints
    thorough: bool

    @property
    def exact(self) -> bool:
        return self.measure.difference_claim == "exact"

    def __call__(self, number: int) -> Floats:
        ranges, measure = self.ranges, self.measure
        topic = TopicRankings.of(ranges.runs, ranges.qrels, number)
        change = np.zeros(len(self.a))
        others = ranges.universe.others(topic, self.a, self.b)
        # B against A: the greatest is wanted.
        for rows, pair in _pairs_to_depth(measure, topic, self.b, self.a, others, ranges.universe, over_ties=True):
            now = difference(measure, pair, pair.codes)
            if self.exact:
                found = upper_bounds(measure, pair, NO_LIMIT, over_ties=False)[:, 0]
            else:
                found = witness(measure, pair, thorough=self.thorough).value
            if self.thorough:
                found = np.maximum(found, tie_witness(measure, pair))
            change[rows] = np.minimum(now - found, 0.0)
        return change


def best_ends(measure: Measure, topic: TopicRankings, a: Ints, b: Ints, others: Ints, universe: Universe) -> Floats:
    """[end, pair] on one topic, each pair by itself."""
    ends = np.empty((4, len(a)))
    for rows, pair in _pairs_to_depth(measure, topic, a, b, others, universe, over_ties=False):
        ends[HIGH, rows] = upper_bounds(measure, pair, NO_LIMIT, over_ties=False)[:, 0]
        ends[LOW, rows] = -upper_bounds(measure, pair.swapped(), NO_LIMIT, over_ties=False)[:, 0]
    ends[ALL_LOW], ends[ALL_HIGH] = ends[LOW], ends[HIGH]
    tied = np.asarray(topic.tied.any(axis=1))
    again = np.flatnonzero((tied[a] | tied[b]) & measure.depends_on_order)
    for part, pair in _pairs_to_depth(measure, topic, a[again], b[again], others[again], universe, over_ties=True):
        rows = again[part]
        ends[ALL_HIGH, rows] = upper_bounds(measure, pair, NO_LIMIT, over_ties=True)[:, 0]
        ends[ALL_LOW, rows] = -upper_bounds(measure, pair.swapped(), NO_LIMIT, over_ties=True)[:, 0]
    return ends


def _pairs_to_depth(
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
    if depth >= topic.place.shape[1] or others is None:
        return topic.pairs(a, b, depth, others, universe.depth)
    pair = topic.pairs(a, b, depth, others, universe.depth)
    deeper = topic.unjudged_of_both(universe.depth)[a, b] - pair.unjudged.sum(axis=1)
    return pair.with_others(others + deeper)


def _depths(measure: Measure, topic: TopicRankings, a: Ints, b: Ints) -> tuple[Ints, Ints]:
    """How deep the documents of each pair matter: in the order used, and where tied ones may change places.

    Rounded up to a power of two times the cut-off, so that pairs of about the same depth go together.
    """
    width = topic.place.shape[1]
    if measure.k is None or measure.cutoff == "recall" or measure.k >= width:
        return np.full(len(a), width), np.full(len(a), width)
    k = int(measure.k)
    last = topic.groups[1][:, k - 1]
    needed = np.maximum(last[a], last[b])
    rounded = k * 2 ** np.ceil(np.log2(needed / k)).astype(np.int64)
    return np.full(len(a), k), np.minimum(rounded, width)


def _chunks(n: int, columns: int) -> list[slice]:
    step = max(1, CELLS // max(1, columns))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def quick_ends(measure: Measure, topic: TopicRankings, a: Ints, b: Ints, others: Ints) -> Floats:
    """[end, pair] on one topic from what each system can have by itself."""
    if isinstance(measure, Weighted):
        return _weighted_ends(measure, topic, a, b)
    together = topic.unjudged_of_both()[a, b] + others
    universe = np.zeros(len(topic), dtype=np.int64)
    np.maximum.at(universe, a, together)
    np.maximum.at(universe, b, together)
    evidence = topic.evidence(None, universe)
    ends = np.empty((4, len(a)))
    for low, high, over_ties in ((LOW, HIGH, False), (ALL_LOW, ALL_HIGH, True)):
        least, most = listed_range(measure, evidence, over_ties)
        ends[low] = -np.inf if least is None or most is None else least[a] - most[b]
        ends[high] = np.inf if least is None or most is None else most[a] - least[b]
    return ends


def _weighted_ends(measure: Weighted, topic: TopicRankings, a: Ints, b: Ints) -> Floats:
    """Exact in the order used: the sum of max(0, W_A - W_B) over unjudged documents is a city-block distance."""
    evidence = topic.evidence()
    scores = measure.scores(evidence)
    weights, top = measure.weights(evidence), measure.top_gain(evidence)
    some = topic.unjudged[:-1] & (topic.rank[:, :-1] > 0).any(axis=0)
    rank = topic.rank[:, :-1][:, some]
    ends = np.empty((4, len(a)))
    if scores.tie_low is None or scores.tie_high is None:
        raise ValueError("a weighted measure has values over ties")
    gain = measure.tie_value(evidence)
    extremes = [_at_documents(topic, topic.extreme_ranks(gain, best), rank) for best in (True, False)]
    for low, high, best, worst, least, most in (
        (LOW, HIGH, rank, rank, scores.score, scores.score),
        (ALL_LOW, ALL_HIGH, extremes[0], extremes[1], scores.tie_low, scores.tie_high),
    ):
        more = top * _surplus(*(at_ranks(weights, np.where(r > 0, r, np.inf)) for r in (best, worst)))
        ends[low] = least[a] - most[b] - more[b, a]
        ends[high] = most[a] - least[b] + more[a, b]
    return ends


def _at_documents(topic: TopicRankings, extreme: Floats, rank: NDArray[np.int32]) -> Floats:
    """Extreme ranks by document from those by place."""
    rows = np.arange(len(topic))[:, None]
    return np.where(rank > 0, extreme[rows, np.maximum(rank - 1, 0)], 0.0)


def _surplus(best: Floats, worst: Floats) -> Floats:
    """[A, B]: the sum of max(0, best of A - worst of B) over documents."""
    from scipy.spatial.distance import cdist

    # max(0, x) = (|x| + x) / 2
    difference = best.sum(axis=1)[:, None] - worst.sum(axis=1)[None, :]
    return np.asarray((cdist(best, worst, "cityblock") + difference) / 2)
