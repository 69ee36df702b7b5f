"""The documents that a range ranges over: what all given runs leave unjudged, each once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fathoms.base import kernel
from fathoms.base.arrays import distinct
from fathoms.data.keys import Keys
from fathoms.data.qrels import NEGATIVE, UNJUDGED
from fathoms.evidence.evidence import Bools, Ints

if TYPE_CHECKING:
    from fathoms.evidence.align import Ranking

BATCH = 16_000_000  # keys gathered before those of one document are made one


@dataclass(frozen=True, eq=False)
class UnjudgedKeys:
    """Unjudged documents by their 64-bit keys, topic by topic.

    A key stands for its document here without a look at the string. Two of n documents of a topic share one with a
    probability of at most n^2 / 2^65, which is 3e-8 for a million; ids of up to eight bytes never do, since the key is
    then a permutation of the id.
    """

    keys: Keys
    counts: Ints  # of each topic of the judgments

    @cached_property
    def sorted(self) -> Keys:
        return np.sort(self.keys)

    def has(self, wanted: Keys) -> Bools:
        """Which of these keys are among them."""
        if not len(self.keys):
            return np.zeros(len(wanted), dtype=bool)
        place = np.minimum(np.searchsorted(self.sorted, wanted), len(self.keys) - 1)
        return self.sorted[place] == wanted


def unjudged_keys(ranked: Ranking, n_topics: int, depth: int | None = None) -> UnjudgedKeys:
    """What a run leaves unjudged, at any rank or in its first `depth`."""
    chosen = in_universe(ranked.codes, ranked.rank, depth)
    return UnjudgedKeys(ranked.keys[chosen], np.bincount(ranked.topic[chosen], minlength=n_topics))


def in_universe(codes: NDArray[np.int16], rank: Ints, depth: int | None) -> Bools:
    """Unjudged documents that count because of where this run has them.

    A document with a negative grade was chosen for judging, so it counts however deep it is found.
    """
    unjudged = codes == UNJUDGED
    return (unjudged if depth is None else unjudged & (rank <= depth)) | (codes == NEGATIVE)


def union(parts: Sequence[UnjudgedKeys]) -> UnjudgedKeys:
    """The documents of all parts, each once."""
    by_topic: list[list[Keys]] = [[] for _ in parts[0].counts]
    for part in parts:
        ends = np.cumsum(part.counts)
        for topic in np.flatnonzero(part.counts).tolist():
            by_topic[topic].append(part.keys[ends[topic] - part.counts[topic] : ends[topic]])
    none = np.empty(0, dtype=np.uint64)
    keys_by_topic = [distinct(np.concatenate(of_topic)) if of_topic else none for of_topic in by_topic]
    return UnjudgedKeys(np.concatenate(keys_by_topic), np.array([len(of_topic) for of_topic in keys_by_topic]))


def union_counts(parts: Sequence[UnjudgedKeys]) -> Ints:
    """How many documents of each topic all parts have together."""
    if kernel.compiled is None:
        return union(parts).counts
    ends = np.array([np.cumsum(part.counts) for part in parts])
    starts = ends - np.array([part.counts for part in parts])
    keys = [part.keys for part in parts]

    def of_topic(topic: int) -> int:
        return kernel.count_distinct(keys, np.stack([starts[:, topic], ends[:, topic]], axis=1)) or 0

    return np.array([of_topic(topic) for topic in range(ends.shape[1])], dtype=np.int64)


def gathered(parts: Iterable[UnjudgedKeys]) -> UnjudgedKeys:
    """The union of many parts, made whenever enough of them have come."""
    waiting: list[UnjudgedKeys] = []
    for part in parts:
        waiting.append(part)
        if sum(len(unmerged.keys) for unmerged in waiting[1:]) > BATCH:
            waiting = [union(waiting)]
    return union(waiting)


@dataclass(frozen=True, eq=False)
class Limit:
    """Says which unjudged documents of a run are outside the universe: those that no given run has in its first
    `depth` places."""

    depth: int
    documents: UnjudgedKeys | None  # that some given run has there; None where no other run is given

    def __call__(self, ranked: Ranking) -> Bools:
        outside = (ranked.codes == UNJUDGED) & (ranked.rank > self.depth)
        if self.documents is not None:
            outside[outside] = ~self.documents.has(ranked.keys[outside])
        return outside
