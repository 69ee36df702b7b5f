"""What is known about each ranked document: the one block of arrays that all measures work on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import Bools as Bools
from fathoms.base.arrays import Floats as Floats
from fathoms.base.arrays import Ints as Ints
from fathoms.base.arrays import distinct, row_sums
from fathoms.data.qrels import JUDGED, NEGATIVE, PADDING, UNJUDGED

if TYPE_CHECKING:
    from fathoms.data.subtopics import Subtopics


MANY_GRADES = 32  # above which grades that nobody has given are not tried
ALONE = -1  # the group of a document that is in no tie group shared by two runs
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
    """One system's rankings of some topics, a row a topic, with what the judgments say about each place.

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
    subtopics: Subtopics | None = None  # where judgments are by subtopic
    patterns: NDArray[np.int16] | None = None  # [topic, rank]: as codes, with patterns of grades by subtopic as levels
    topic_numbers: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # in the whole collection
    seed: int = 0  # for what can only be simulated
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_cache", {})  # what is remembered about other codes is useless to a changed copy

    @property
    def width(self) -> int:
        return self.codes.shape[1]

    def __len__(self) -> int:
        return len(self.topics)

    def select(self, rows: Any) -> Evidence:
        """The same for some of the topics (a mask, indices or a slice)."""
        index = np.arange(len(self))[rows]
        return self._with(
            topics=[self.topics[i] for i in index.tolist()],
            codes=self.codes[rows],
            tied=self.tied[rows],
            lengths=self.lengths[rows],
            counts=self.counts[rows],
            topic_numbers=self.topic_numbers[index],
            unjudged_in_universe=None if self.unjudged_in_universe is None else self.unjudged_in_universe[rows],
            patterns=None if self.patterns is None else self.patterns[rows],
            pool=None if self.pool is None else replace(self.pool, depth=self.pool.depth[index]),
        )

    def _with(self, **changes: Any) -> Evidence:
        """As `replace`, with nothing remembered, in a third of the time."""
        made = object.__new__(Evidence)
        values = self.__dict__
        made.__dict__.update({name: values[name] for name in FIELDS}, _cache={}, **changes)
        return made

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
        patterns = None if self.patterns is None else self.patterns[:, :width]
        return self._with(codes=self.codes[:, :width], tied=self.tied[:, :width], pool=pool, patterns=patterns)

    @cached_property
    def by_subtopic(self) -> Evidence:
        """The same with patterns of grades by subtopic as levels, where judgments are by subtopic."""
        if self.patterns is None or self.subtopics is None:
            return self
        return self._with(
            codes=self.patterns,
            levels=self.subtopics.levels,
            counts=self.subtopics.counts[self.topic_numbers],
            patterns=None,
        )

    @cached_property
    def unjudged(self) -> Bools:
        """Places with a document that may yet be judged."""
        return (self.codes == UNJUDGED) | (self.codes == NEGATIVE)

    @cached_property
    def has_ties(self) -> bool:
        return bool(self.tied.any())

    @cached_property
    def not_judged(self) -> Bools:
        """Places with a document that is not judged, whether or not it may yet be."""
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
        changes: dict[str, Any] = {"codes": codes[:, :width], "tied": tied[:, :width], "lengths": lengths, "pool": pool}
        if self.patterns is not None:
            patterns = np.take_along_axis(self.patterns, order, axis=1)[:, :width]
            changes["patterns"] = np.where(codes[:, :width] == PADDING, np.int16(PADDING), patterns)
        return replace(self, **changes, _cache={})

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
            patterns=None if self.patterns is None else np.pad(self.patterns, extra, constant_values=PADDING),
            pool=pool,
            _cache={},
        )

    def holding(self, worth: Floats, n: int) -> Places:
        """The places among the first n whose documents are worth something; `worth` is a table over codes.

        A thousand ranked documents hold a few dozen relevant ones, so sums over these places are quick. Measures that
        look at the same places share them.
        """
        key = ("holding", (worth > 0).tobytes(), n)
        if key not in self._cache:
            self._cache[key] = Places(self.codes[:, :n], self.worth_something(worth, n))
        places: Places = self._cache[key]
        return places

    def worth_something(self, worth: Floats, n: int) -> Bools:
        """Whether each of the first n places holds a document that is worth something, by a table over codes."""
        counts, codes = worth > 0, self.codes[:, :n]
        first = int(counts.argmax())
        # Mostly these are all grades from some grade on, and comparing is quicker than looking up.
        has_worth: Bools = codes >= first if counts[first:].all() else counts[codes]
        return has_worth

    def mixed(self, value: Floats, k: int) -> MixedGroups | None:
        """Tie groups that start above place k and hold documents of different value, or None.

        `value` gives what each code is worth to a measure. Only such groups let another order change a score.
        """
        worth = value.tobytes()
        key = ("mixed", worth, min(k, self.width))
        if key not in self._cache:
            if ("groups", worth) not in self._cache:
                self._cache["groups", worth] = _groups_of_different(self, value)
            top, size = self._cache["groups", worth]
            if k < self.width:
                early = top % self.width < k
                top, size = top[early], size[early]
            self._cache[key] = MixedGroups(self.codes, top, size) if len(top) else None
        groups: MixedGroups | None = self._cache[key]
        return groups

    @cached_property
    def _neighbours_tied(self) -> tuple[Ints, NDArray[Any], NDArray[Any]]:
        """Places, numbered through the block, with the score of the place above but another code; the codes of both."""
        codes, tied = self.codes.ravel(), self.tied.ravel()  # a row's first place is not tied
        places = np.flatnonzero(tied[1:] & (codes[1:] != codes[:-1]))
        return places + 1, codes[places], codes[places + 1]


def _groups_of_different(evidence: Evidence, value: Floats) -> tuple[Ints, Ints]:
    """First places, numbered through the block, and sizes of the tie groups that hold documents of different value."""
    places, above, here = evidence._neighbours_tied
    places = places[value[above] != value[here]]
    if not len(places):
        return places, places
    tied = np.append(evidence.tied.ravel(), False)
    edges = np.flatnonzero(tied[1:] != tied[:-1])
    top, last = edges[::2], edges[1::2]
    group = distinct(np.searchsorted(last, places))
    return top[group], (last - top)[group] + 1


FIELDS = [field.name for field in fields(Evidence)]


class Places:
    """Some places of a block, row by row and from the top down."""

    def __init__(self, codes: NDArray[Any], there: Bools) -> None:
        rows, width = codes.shape
        place = np.flatnonzero(there)
        self.row: Ints = place // width
        self.column: Ints = place - self.row * width  # rank - 1
        self.code = codes.ravel()[place]
        # One a row, and one more: where its places start in the arrays above.
        self.start: Ints = np.searchsorted(self.row, np.arange(rows + 1))

    @cached_property
    def number(self) -> Ints:
        """Which of its row each one is, from 1."""
        return np.arange(1, len(self.row) + 1) - self.start[self.row]

    @cached_property
    def precisions(self) -> Floats:
        """The sum of each row of the precision at each place."""
        return self.sums(self.number / (self.column + 1))

    def sums(self, values: Floats) -> Floats:
        """The sum of each row of values given for each place."""
        return row_sums(self.row, values, len(self.start) - 1)

    def sums_above(self, values: Floats, row: Ints, column: Ints, width: int) -> Floats:
        """For other places of a block of this width: the sum of what stands above them in their row."""
        total = np.append(0.0, np.cumsum(values))
        at = np.searchsorted(self.row * width + self.column, row * width + column)
        sums: Floats = total[at] - total[self.start[row]]
        return sums


class MixedGroups:
    """The places of some tie groups, one after another, each group from its top place down."""

    def __init__(self, codes: NDArray[Any], top: Ints, size: Ints) -> None:
        """From the first places of groups, numbered through a block, and their sizes."""
        width = codes.shape[1]
        end = np.cumsum(size)
        self.size = size  # one a group
        self.start: Ints = end - size  # one a group: where its places start in the arrays below
        self.group: Ints = np.repeat(np.arange(len(top)), size)  # one a place: number of its group
        place = np.arange(end[-1]) + (top - self.start)[self.group]
        self.row: Ints = (top // width)[self.group]  # one a place: the topic's row
        self.column: Ints = place - self.row * width  # one a place: rank - 1
        self.code = codes.ravel()[place]  # one a place

    @cached_property
    def within(self) -> Ints:
        """Place inside the group, from 0."""
        return np.arange(len(self.row)) - self.start[self.group]

    def totals(self, values: Floats) -> Floats:
        """Sums over each group of values given for each place."""
        sums: Floats = np.add.reduceat(values, self.start)
        return sums

    def running(self, values: Floats) -> Floats:
        """Sums from the top of each group down to each place, of values given for each place."""
        total = np.cumsum(values)
        return total - (total - values)[self.start][self.group]

    @cached_property
    def rows(self) -> Ints:
        """The topics concerned."""
        return distinct(self.row[self.start])

    @cached_property
    def local(self) -> Ints:
        """One a place: which of the topics concerned it belongs to."""
        place = np.empty(int(self.rows[-1]) + 1, dtype=np.int64)
        place[self.rows] = np.arange(len(self.rows))
        return place[self.row]
