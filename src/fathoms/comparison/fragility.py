"""How many documents decide: the fewest unjudged documents that bring a mean difference to zero or past it.

For each topic there are two curves over the number of documents given a grade: the most by which the lead can fall
(from `upper_bounds`, so never too little) and by how much a judging that was evaluated makes it fall. Spending
documents where the concave majorants of the first fall fastest needs no more of them than any judging does: a lower
limit. Spending them along the second gives a judging that reverses the sign: an upper limit, and the documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fathoms.comparison.differences import counts_up_to, difference, upper_bounds
from fathoms.data.qrels import JUDGED
from fathoms.evidence.evidence import Floats, Ints
from fathoms.evidence.pairs import PairEvidence, TopicRankings
from fathoms.measures.base import Measure
from fathoms.parallel import parallel_map

if TYPE_CHECKING:
    from fathoms.comparison.ranges import Ranges

NEARLY = 1e-9  # what rounding may take from a sum
LISTED = 256  # documents of a topic that a judging is built of, one at a time


@dataclass(frozen=True, eq=False)
class Decisive:
    """A document that is to be judged, and with which grade it would help to reverse the difference."""

    topic: int  # number in the judgments
    key: int  # of the document
    grade: float
    rank_a: int | None
    rank_b: int | None
    change: float  # of the topic's difference A - B, with those listed before it


@dataclass(frozen=True, eq=False)
class TopicDifference:
    """Where a difference comes from: one topic."""

    topic: int
    score_a: float
    score_b: float
    low: float
    high: float
    unjudged: int


@dataclass(frozen=True, eq=False)
class Fragility:
    """What decides one comparison."""

    a: int
    b: int
    measure: Measure
    low: int | None  # at least so many documents; None where no judging reverses the sign, or there is none
    high: int | None  # so many do it; None where no judging that does was found
    documents: list[Decisive]  # most dangerous first: those that reverse the sign, or as many as were looked at
    topics: list[TopicDifference]


def fragility(ranges: Ranges, measure: Measure, means: Floats) -> list[Fragility]:
    """Of every pair of the ranges; `means` are those of the systems."""
    return [
        _of_pair(ranges, measure, int(a), int(b), float(means[a] - means[b]))
        for a, b in zip(ranges.a, ranges.b, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class _Curves:
    """One topic's part: how far A - B can fall with so many documents, and a list that makes it fall."""

    counts: Ints
    bound: Floats  # fall with at most counts[i] documents, at most
    reached: Floats  # fall with the first 1, 2, .. documents of the list
    documents: list[Decisive]
    topic: TopicDifference


def _of_pair(ranges: Ranges, measure: Measure, a: int, b: int, diff: float) -> Fragility:
    front, back = (a, b) if diff > 0 else (b, a)
    sign = 1.0 if diff > 0 else -1.0

    def one(number: int) -> _Curves:
        return _curves(ranges, measure, ranges.topic(number), front, back, sign)

    _ = ranges.topics  # made here, so that forks need not make them each
    curves = parallel_map(one, range(len(ranges.qrels.topics)), workers=ranges.workers)
    topics = [curve.topic for curve in curves]
    if diff == 0:
        return Fragility(a, b, measure, None, None, [], topics)
    needed = abs(diff) * len(curves)
    low = _fewest(curves, needed)
    chosen = _greedy(curves, needed)
    total = sum(len(taken) for taken in chosen)
    fallen = sum(float(c.reached[len(taken) - 1]) for c, taken in zip(curves, chosen, strict=True) if taken)
    reversed_ = low is not None and fallen >= needed - NEARLY
    documents = sorted((one for taken in chosen for one in taken), key=lambda one: one.change * sign)
    return Fragility(a, b, measure, low, total if reversed_ else None, documents, topics)


def _curves(ranges: Ranges, measure: Measure, topic: TopicRankings, front: int, back: int, sign: float) -> _Curves:
    """For the run in front against the one at the back; `sign` turns its lead into A - B again."""
    a, b = np.array([back]), np.array([front])
    others = ranges.universe.others(topic, a, b)
    pair = topic.pairs(a, b, None, others, ranges.universe.depth)
    now = difference(measure, pair, pair.codes)[0]
    counts = np.array([*counts_up_to(int(pair.unjudged.sum())), int(pair.unjudged.sum() + others[0])])
    bound = upper_bounds(measure, pair, counts, over_ties=False)[0] - now
    lead = -upper_bounds(measure, pair.swapped(), counts[-1:], over_ties=False)[0, 0]
    reached, documents = _list(measure, pair, sign)
    values = [measure.value(side)[0] for side in pair.judged(pair.codes)]  # of the run at the back, and in front
    score_a, score_b = (values[1], values[0]) if sign > 0 else (values[0], values[1])
    ends = (-(now + bound[-1]), -lead)
    low, high = ends if sign > 0 else (-ends[1], -ends[0])
    told = TopicDifference(topic.number, float(score_a), float(score_b), float(low), float(high), int(counts[-1]))
    return _Curves(counts, np.maximum(bound, 0.0), reached, documents, told)


def _list(measure: Measure, pair: PairEvidence, sign: float) -> tuple[Floats, list[Decisive]]:
    """Documents of one row by how much each alone raises A - B, and how far the first 1, 2, .. together raise it."""
    top = JUDGED + len(pair.levels) - 1
    now = difference(measure, pair, pair.codes)[0]
    codes = pair.codes.copy()
    candidates = np.flatnonzero(pair.unjudged[0])
    alone = _with_each(measure, pair, codes, candidates, top) if len(candidates) else np.zeros(0)
    order = np.argsort(-alone, kind="stable")[:LISTED]
    candidates = candidates[order][alone[order] > now]
    reached, documents = [], []
    value = now
    block = pair.rows(np.zeros(len(candidates), dtype=np.int64))
    steps = np.repeat(pair.codes, len(candidates), axis=0)
    inside = np.tri(len(candidates), dtype=bool)
    steps[:, candidates] = np.where(inside, top, steps[:, candidates])
    values = difference(measure, block, steps) if len(candidates) else np.zeros(0)
    for i, column in enumerate(candidates.tolist()):
        ranks = [int(rank[0, column]) if np.isfinite(rank[0, column]) else None for rank in (pair.rank_a, pair.rank_b)]
        if sign > 0:  # the pair has the run in front second
            ranks.reverse()
        key, change = pair.topic.keys[pair.documents[0, column]], -sign * float(values[i] - value)
        documents.append(Decisive(pair.topic.number, int(key), float(pair.levels[-1]), ranks[0], ranks[1], change))
        value = values[i]
        reached.append(value - now)
    return np.array(reached), documents


def _with_each(measure: Measure, pair: PairEvidence, codes: NDArray[np.int16], columns: Ints, code: int) -> Floats:
    """A - B of one row with each of the documents relevant, one at a time."""
    found = np.empty(len(columns))
    step = max(1, 2_000_000 // codes.shape[1])
    for start in range(0, len(columns), step):
        part = columns[start : start + step]
        rows = np.repeat(codes, len(part), axis=0)
        rows[np.arange(len(part)), part] = code
        found[start : start + step] = difference(measure, pair.rows(np.zeros(len(part), dtype=np.int64)), rows)
    return found


def _fewest(curves: list[_Curves], needed: float) -> int | None:
    """No judging of fewer documents makes the lead fall as far as needed; None where none does at all.

    A topic's bound holds for up to counts[i] documents, and lies under its least concave majorant, so that taking the
    steepest parts of all majorants first falls fastest.
    """
    slopes, sizes = [], []
    for curve in curves:
        # With one document more than the last count the next bound holds: as if it came at once.
        starts = np.append(0, curve.counts[:-1]) + (np.arange(len(curve.counts)) > 0)
        x, y = [0.0], [0.0]
        for start, value in zip(np.maximum(starts, 1).tolist(), curve.bound.tolist(), strict=True):
            while len(x) > 1 and (value - y[-1]) * (x[-1] - x[-2]) >= (y[-1] - y[-2]) * (start - x[-1]):
                x.pop(), y.pop()
            if value > y[-1]:
                if start <= x[-1]:
                    y[-1] = value
                else:
                    x.append(float(start))
                    y.append(value)
        for i in range(1, len(x)):
            slopes.append((y[i] - y[i - 1]) / (x[i] - x[i - 1]))
            sizes.append(x[i] - x[i - 1])
    order = np.argsort(-np.array(slopes)) if slopes else np.zeros(0, dtype=np.int64)
    fallen = used = 0.0
    for i in order.tolist():
        part = slopes[i] * sizes[i]
        if fallen + part >= needed - NEARLY:
            return int(np.ceil(used + (needed - NEARLY - fallen) / slopes[i] - 1e-9))
        fallen, used = fallen + part, used + sizes[i]
    return None


def _greedy(curves: list[_Curves], needed: float) -> list[list[Decisive]]:
    """Documents of each topic's list, from the topics where each brings most, until the lead is gone."""
    best = [np.maximum.accumulate(curve.reached) if len(curve.reached) else curve.reached for curve in curves]
    taken = [0] * len(curves)
    fallen = 0.0
    while fallen < needed - NEARLY:
        steps = []
        for i, curve in enumerate(best):
            rest = curve[taken[i] :]
            if len(rest):
                per_document = (rest - (curve[taken[i] - 1] if taken[i] else 0.0)) / np.arange(1, len(rest) + 1)
                enough = rest - (curve[taken[i] - 1] if taken[i] else 0.0) >= needed - NEARLY - fallen
                # As few as do it, else as many as bring most for each; of equal ones the fewest.
                at = int(enough.argmax() if enough.any() else (per_document >= per_document.max() - NEARLY).argmax())
                steps.append((float(per_document[at]), i, at + 1))
        gain, i, n = max(steps, default=(0.0, 0, 0))
        if gain <= 0:
            break
        taken[i] += n
        fallen += gain * n
    return [curve.documents[:n] for curve, n in zip(curves, taken, strict=True)]
