"""Two rankings side by side: overlap, RBO, documents gained and lost, ranks that moved. No judgments are needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fathoms.base.arrays import ratio
from fathoms.evidence.align import Ranked
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.inference.rank_overlap import RBO, rank_biased_overlap


@dataclass(frozen=True, eq=False)
class Side:
    """One run's documents by topic and rank, and where the other run has each of them."""

    ranked: Ranked
    other: Ints  # rank in the other run, 0 where it does not have the document
    ends: Ints  # topic t has places ends[t] .. ends[t+1] - 1

    @property
    def topic(self) -> Any:
        return self.ranked.topic

    @property
    def rank(self) -> Ints:
        return self.ranked.rank

    @cached_property
    def lengths(self) -> Ints:
        return np.diff(self.ends)

    def entering(self, depth: int) -> Bools:
        """Documents in this run's first places that are not in those of the other."""
        return (self.rank <= depth) & ((self.other == 0) | (self.other > depth))

    def per_topic(self, chosen: Bools) -> Ints:
        return np.bincount(self.topic[chosen], minlength=len(self.lengths))


def side_by_side(a: Ranked, b: Ranked, n_topics: int) -> tuple[Side, Side]:
    """Both runs, with the other one's rank of each document. A run has each key once, so equal keys, neighbours once
    all are sorted, are one from each run; looking up each key would take many times as long."""
    keys = np.concatenate([a.keys, b.keys])
    order = np.argsort(keys)
    same = keys[order[1:]] == keys[order[:-1]]
    pairs = np.sort(np.stack([order[:-1][same], order[1:][same]]), axis=0)
    in_a, in_b = pairs[0], pairs[1] - len(a.keys)
    other_a, other_b = np.zeros(len(a.keys), dtype=np.int64), np.zeros(len(b.keys), dtype=np.int64)
    other_a[in_a], other_b[in_b] = b.rank[in_b], a.rank[in_a]
    topics = np.arange(n_topics + 1)
    return Side(a, other_a, np.searchsorted(a.topic, topics)), Side(b, other_b, np.searchsorted(b.topic, topics))


@dataclass(frozen=True, eq=False)
class Changes:
    """How the rankings changed, one value for each topic that either run answers."""

    shared: Ints  # documents in both first k
    overlap: Floats  # of the first k: the share in both, over the longer of the two
    overlap_all: Floats
    rbo: RBO[Floats]
    gained: Ints
    new: Ints  # of the gained ones, those that A does not have at all
    lost: Ints
    gone: Ints
    mean_shift: Floats  # nan where no document that counts is in both runs
    rise: Ints  # largest, in ranks
    fall: Ints
    reordered: Bools  # the same documents in the first k, in another order


def changes(a: Side, b: Side, depth: int, p: float) -> Changes:
    n = len(a.lengths)
    within_a, within_b = np.minimum(a.lengths, depth), np.minimum(b.lengths, depth)
    common = b.other > 0
    shared = b.per_topic(common & (b.rank <= depth) & (b.other <= depth))
    # Only shifts that a user could see: in the first k of either run.
    counts = common & (np.minimum(b.rank, b.other) <= depth)
    topic, shift = b.topic[counts], (b.other - b.rank)[counts]
    rise, fall = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    np.maximum.at(rise, topic, shift)
    np.maximum.at(fall, topic, -shift)
    moved = np.bincount(topic, minlength=n)
    total = np.bincount(topic, weights=np.abs(shift), minlength=n)
    elsewhere = b.per_topic(common & (b.rank <= depth) & (b.other != b.rank))
    into, out = b.entering(depth), a.entering(depth)
    gained, lost = b.per_topic(into), a.per_topic(out)
    return Changes(
        shared,
        ratio(shared, np.maximum(within_a, within_b)),
        ratio(b.per_topic(common), np.maximum(a.lengths, b.lengths)),
        rank_biased_overlap(
            b.topic[common].astype(np.int64), np.maximum(b.rank, b.other)[common], a.lengths, b.lengths, p
        ),
        gained,
        b.per_topic(into & (b.other == 0)),
        lost,
        a.per_topic(out & (a.other == 0)),
        np.where(moved > 0, ratio(total, moved), np.nan),
        rise,
        fall,
        (gained == 0) & (lost == 0) & (elsewhere > 0),
    )
