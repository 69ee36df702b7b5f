"""What is known of each ranked document: the one block of arrays that all measures work on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.data.arrays import distinct
from fathoms.data.qrels import JUDGED, NEGATIVE, PADDING, UNJUDGED

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

CHUNK_CELLS = 1 << 17  # a block of this many cells stays in a core's cache through a measure's arithmetic


@dataclass(frozen=True, eq=False)
class PoolEvidence:
    """What pooling the contributing runs to depth k would have known; for the measures that use R_k."""

    depth: NDArray[np.int32]  # [topic, rank]: least depth of the document over the contributing runs
    judged_depth: NDArray[np.int32]  # one a judgment
    judged_topic: NDArray[np.int32]
    judged_code: NDArray[np.int16]
    unjudged_depth: NDArray[np.int32]  # one a pooled document without a judgment
    unjudged_topic: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Evidence:
    """One system's rankings of some topics, a row a topic, with what the judgments say of each place.

    `codes` holds for each place PADDING (past the end of the ranking), UNJUDGED (not in the qrels), NEGATIVE (in the
    qrels with a negative grade, so unjudged too), EXCLUDED (not in the qrels, and never to be judged), or JUDGED plus
    the place of the grade in `levels`. A measure turns codes into gains with one look-up.
    """

    topics: list[str]
    codes: NDArray[np.int16]  # [topic, rank]
    tied: Bools  # [topic, rank]: has the score of the document above
    lengths: Ints  # documents retrieved
    levels: Floats  # grades in use, ascending from 0
    max_grade: float
    counts: Ints  # [topic, level]: judged documents in all
    unjudged_in_universe: Ints | None = None  # unjudged documents of all given runs; None: the run's own are all
    pool: PoolEvidence | None = None
    topic_numbers: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # in the whole collection
    seed: int = 0  # for what can only be simulated
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def width(self) -> int:
        return self.codes.shape[1]

    def __len__(self) -> int:
        return len(self.topics)

    def select(self, rows: Any) -> Evidence:
        """The same for some of the topics (a mask, indices or a slice)."""
        index = np.arange(len(self))[rows]
        pool = None if self.pool is None else replace(self.pool, depth=self.pool.depth[index])
        return replace(
            self,
            topics=[self.topics[i] for i in index],
            codes=self.codes[rows],
            tied=self.tied[rows],
            lengths=self.lengths[rows],
            counts=self.counts[rows],
            topic_numbers=self.topic_numbers[index],
            unjudged_in_universe=None if self.unjudged_in_universe is None else self.unjudged_in_universe[rows],
            pool=pool,
            _cache={},
        )

    def chunks(self) -> Iterator[Evidence]:
        """Blocks of topics small enough to be worked on in cache."""
        step = max(1, CHUNK_CELLS // max(1, self.width))
        if step >= len(self):
            yield self
            return
        for start in range(0, len(self), step):
            stop = min(start + step, len(self))
            width = max(1, int(self.lengths[start:stop].max()))
            part = self.select(slice(start, stop))
            yield part.cut(width)

    def cut(self, width: int) -> Evidence:
        """The first `width` places of each ranking."""
        pool = None if self.pool is None else replace(self.pool, depth=self.pool.depth[:, :width])
        return replace(self, codes=self.codes[:, :width], tied=self.tied[:, :width], pool=pool, _cache={})

    @cached_property
    def unjudged(self) -> Bools:
        """Places with a document that may yet be judged."""
        return (self.codes == UNJUDGED) | (self.codes == NEGATIVE)

    @cached_property
    def not_judged(self) -> Bools:
        """Places with a document that is not judged, whether it may yet be or not."""
        return (self.codes != PADDING) & (self.codes < JUDGED)

    @cached_property
    def first_unjudged(self) -> Ints:
        """The rank of each topic's first unjudged document: one past the end of the ranking where all are judged."""
        return np.where(self.unjudged.any(axis=1), self.unjudged.argmax(axis=1), self.lengths) + 1

    @cached_property
    def condensed(self) -> Evidence:
        """The run with its unjudged documents taken out (LMC-depth section 2, "condensed runs")."""
        keep = self.codes >= JUDGED
        order = np.argsort(~keep, axis=1, kind="stable")
        lengths = keep.sum(axis=1)
        codes = np.take_along_axis(self.codes, order, axis=1)
        codes[np.arange(self.width) >= lengths[:, None]] = PADDING
        group = np.take_along_axis(np.cumsum(~self.tied, axis=1), order, axis=1)
        tied = np.zeros_like(self.tied)
        tied[:, 1:] = (group[:, 1:] == group[:, :-1]) & (codes[:, 1:] != PADDING)
        width = max(1, int(lengths.max(initial=0)))
        pool = self.pool
        if pool is not None:
            pool = replace(pool, depth=np.take_along_axis(pool.depth, order, axis=1)[:, :width])
        return replace(self, codes=codes[:, :width], tied=tied[:, :width], lengths=lengths, pool=pool, _cache={})

    def padded(self, width: int) -> Evidence:
        """At least `width` places a topic, those past the end empty."""
        if width <= self.width:
            return self
        extra = ((0, 0), (0, width - self.width))
        pool = self.pool
        if pool is not None:
            pool = replace(pool, depth=np.pad(pool.depth, extra))
        return replace(
            self,
            codes=np.pad(self.codes, extra, constant_values=PADDING),
            tied=np.pad(self.tied, extra),
            pool=pool,
            _cache={},
        )

    def mixed(self, value: Floats, k: int) -> MixedGroups | None:
        """Tie groups that start above place k and hold documents of different value, or None.

        `value` gives each code's worth to a measure. Only such groups let another order change a score.
        """
        key = ("mixed", value.tobytes(), k)
        if key not in self._cache:
            self._cache[key] = _mixed_groups(self, value, k)
        found: MixedGroups | None = self._cache[key]
        return found


@dataclass(frozen=True, eq=False)
class MixedGroups:
    """The places of some tie groups, one after another, each group from its top place down."""

    row: Ints  # one a place: the topic's row
    column: Ints  # one a place: rank - 1
    group: Ints  # one a place: number of its group
    start: Ints  # one a group: where its places start in the arrays above
    size: Ints  # one a group

    @property
    def within(self) -> Ints:
        """Place inside the group, from 0."""
        return np.arange(len(self.row)) - self.start[self.group]

    def totals(self, values: Floats) -> Floats:
        """Sums over each group of values given for each place."""
        sums: Floats = np.add.reduceat(values, self.start)
        return sums

    @cached_property
    def rows(self) -> Ints:
        """The topics concerned."""
        return distinct(self.row)


def _mixed_groups(evidence: Evidence, value: Floats, k: int) -> MixedGroups | None:
    tied = evidence.tied
    if k < evidence.width:
        # A group that starts in the first k places may go on below them.
        goes_on = tied[:, k:]
        beyond = np.where(goes_on.all(axis=1), goes_on.shape[1], goes_on.argmin(axis=1))
        width = k + int(beyond.max(initial=0))
        tied = tied[:, :width].copy()
        past_group = np.arange(width) >= k + beyond[:, None]
        tied[past_group] = False
    else:
        width = evidence.width
        past_group = None
    if not tied.any():
        return None
    worth = value[evidence.codes[:, :width]]
    differs = tied[:, 1:] & (worth[:, 1:] != worth[:, :-1])
    if past_group is not None:
        differs &= ~past_group[:, 1:]
    if not differs.any():
        return None
    group = np.cumsum(~tied.ravel()) - 1
    is_mixed = np.zeros(int(group[-1]) + 1, dtype=bool)
    rows, columns = np.nonzero(differs)
    is_mixed[group[rows * width + columns + 1]] = True
    places = np.flatnonzero(is_mixed[group])
    numbers = group[places]
    first = np.ones(len(places), dtype=bool)
    first[1:] = numbers[1:] != numbers[:-1]
    start = np.flatnonzero(first)
    return MixedGroups(
        row=places // width,
        column=places % width,
        group=np.cumsum(first) - 1,
        start=start,
        size=np.diff(np.append(start, len(places))),
    )
