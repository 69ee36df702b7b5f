"""How many documents decide: the fewest unjudged documents that bring a mean difference to zero or past it.

For each topic there are two curves over the number of documents given a grade: the most by which the lead can fall
(from `upper_bounds`, so never too little) and by how much a judging that was evaluated makes it fall. Spending
documents where the concave majorants of the first fall fastest needs no more of them than any judging does: a lower
limit. Spending them along the second gives a judging that reverses the sign: an upper limit, and the documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fathoms.base.parallel import parallel_map
from fathoms.base.tolerances import SAME
from fathoms.evidence.evidence import Floats, Ints
from fathoms.evidence.pairs import PairEvidence, RankingBlock
from fathoms.measures.base import Measure
from fathoms.pairs.difference_ranges import Ranges, pairs_to_depth
from fathoms.pairs.differences import comparable, counts_up_to, difference, listed, upper_bounds


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
    documents: list[Decisive]  # most dangerous first: those that reverse the sign, or else those that come closest
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

    runs = np.array([back, front])

    def of_topic(topic: int) -> _Curves:
        block, of_back, of_front = ranges.block(np.array([topic]), runs[:1], runs[1:])
        return _curves(ranges, measure, block, of_back, of_front, sign)

    ranges.count_shared([measure])
    curves = parallel_map(of_topic, ranges.topics.tolist(), **ranges.where, doing="topics of documents that decide")
    topics = [curve.topic for curve in curves]
    if diff == 0:
        return Fragility(a, b, measure, None, None, [], topics)
    needed = abs(diff) * len(curves)
    low = _fewest(curves, needed)
    if low is None:
        return Fragility(a, b, measure, None, None, [], topics)
    chosen = _greedy(curves, needed)
    total = sum(len(taken) for taken in chosen)
    fallen = sum(float(c.reached[len(taken) - 1]) for c, taken in zip(curves, chosen, strict=True) if taken)
    reversed_ = low is not None and fallen >= needed - SAME
    documents = sorted(
        (document for taken in chosen for document in taken), key=lambda document: document.change * sign
    )
    return Fragility(a, b, measure, low, total if reversed_ else None, documents, topics)


def _curves(ranges: Ranges, measure: Measure, block: RankingBlock, a: Ints, b: Ints, sign: float) -> _Curves:
    """For the run in front, b, against the one at the back, a; `sign` turns its lead into A - B again."""
    others = ranges.universe.others(block, a, b)
    ((_, pair),) = pairs_to_depth(measure, block, a, b, others, ranges.universe, over_ties=False)
    # Deeper documents count among the others where the measure counts them.
    unjudged = int(block.unjudged_of_both(a, b, ranges.universe.depth)[0] + others[0])
    counts = np.array([*counts_up_to(int(pair.unjudged.sum())), int(pair.unjudged.sum() + pair.others[0])])
    values = [
        comparable(measure, measure.value(side))[0] for side in pair.judged(pair.codes)
    ]  # of the run at the back, and in front
    now = difference(measure, pair, pair.codes)[0]
    bound = upper_bounds(measure, pair, counts, over_ties=False)[0] - now
    lead = -upper_bounds(measure, pair.swapped(), counts[-1:], over_ties=False)[0, 0]
    reached, documents = _list(measure, pair, now, sign)
    score_a, score_b = (values[1], values[0]) if sign > 0 else (values[0], values[1])
    ends = (-(now + bound[-1]), -lead)
    low, high = ends if sign > 0 else (-ends[1], -ends[0])
    topic = TopicDifference(int(block.topics[0]), float(score_a), float(score_b), float(low), float(high), unjudged)
    return _Curves(counts, np.maximum(bound, 0.0), reached, documents, topic)


def _list(measure: Measure, pair: PairEvidence, now: float, sign: float) -> tuple[Floats, list[Decisive]]:
    """Documents of one row by how much each alone raises A - B, and how far the first 1, 2, .. together raise it."""
    of_row, raised = listed(measure, pair, np.array([now]))
    listed_here = of_row[0] >= 0
    columns, reached = of_row[:, listed_here], raised[0, listed_here]
    changes = -sign * np.diff(reached, prepend=0.0)
    ranks = [
        [int(rank) if np.isfinite(rank) else None for rank in of[0, columns[0]]] for of in (pair.rank_a, pair.rank_b)
    ]
    if sign > 0:  # the pair has the run in front second
        ranks.reverse()
    keys = pair.block.keys_of(pair.a, pair.documents[:, columns[0]])[0].tolist()
    grade, number = float(pair.levels[-1]), int(pair.block.topics[0])
    documents = zip(keys, *ranks, changes.tolist(), strict=True)
    return reached, [Decisive(number, key, grade, *ranks_and_change) for key, *ranks_and_change in documents]


def _majorant(x: Sequence[float], y: Sequence[float]) -> tuple[list[float], list[float]]:
    """Corners of the least concave and rising curve from (0, 0) on that no point (x, y), x ascending, lies above."""
    xs, ys = [0.0], [0.0]
    for at, value in zip(x, y, strict=True):
        if value <= ys[-1]:
            continue
        while len(xs) > 1 and (value - ys[-1]) * (xs[-1] - xs[-2]) >= (ys[-1] - ys[-2]) * (at - xs[-1]):
            xs.pop(), ys.pop()
        xs.append(at)
        ys.append(value)
    return xs, ys


def _steepest_first(corners: Sequence[tuple[list[float], list[float]]]) -> tuple[Floats, Floats, Ints]:
    """Slope and length of all parts between corners, and the curve of each; the steepest first."""
    slopes = [np.diff(ys) / np.diff(xs) for xs, ys in corners]
    slope = np.concatenate([*slopes, np.zeros(0)])
    length = np.concatenate([*(np.diff(xs) for xs, _ in corners), np.zeros(0)])
    curve = np.repeat(np.arange(len(corners)), [len(of_curve) for of_curve in slopes])
    order = np.argsort(-slope, kind="stable")
    return slope[order], length[order], curve[order]


def _fewest(curves: list[_Curves], needed: float) -> int | None:
    """No judging of fewer documents makes the lead fall as far as needed; None where none does at all.

    A topic's bound holds for up to counts[i] documents, and lies under its least concave majorant, so that taking the
    steepest parts of all majorants first falls fastest.
    """
    corners = []
    for curve in curves:
        # With one document more than the last count the next bound holds: as if it came at once.
        starts = np.maximum(np.append(0, curve.counts[:-1]) + 1, 1)
        corners.append(_majorant(starts.astype(np.float64).tolist(), curve.bound.tolist()))
    slope, length, _ = _steepest_first(corners)
    fallen = np.cumsum(slope * length)
    if not len(fallen) or fallen[-1] < needed - SAME:
        return None
    at = int((fallen >= needed - SAME).argmax())
    before = fallen[at] - slope[at] * length[at]
    return int(np.ceil(length[:at].sum() + (needed - SAME - before) / slope[at] - 1e-9))


def _greedy(curves: list[_Curves], needed: float) -> list[list[Decisive]]:
    """Documents of each topic's list, from the topics where each brings most, until the lead is gone."""
    numbers = [np.arange(1.0, len(curve.reached) + 1).tolist() for curve in curves]
    corners = [_majorant(x, curve.reached.tolist()) for x, curve in zip(numbers, curves, strict=True)]
    slope, length, of = _steepest_first(corners)
    fallen = np.cumsum(slope * length)
    enough = fallen >= needed - SAME
    parts = int(enough.argmax()) + 1 if enough.any() else len(fallen)
    taken = np.bincount(of[:parts], weights=length[:parts], minlength=len(curves)).astype(np.int64)
    if enough.any():
        # Of the last part no more than it takes.
        last = int(of[parts - 1])
        missing = needed - (fallen[parts - 1] - curves[last].reached[taken[last] - 1])
        taken[last] = int((curves[last].reached >= missing - SAME).argmax()) + 1
    return [curve.documents[:n] for curve, n in zip(curves, taken.tolist(), strict=True)]
