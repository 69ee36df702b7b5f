"""One run as trec_eval 9.0.8 sees it: what is relevant, where, out of how many, and the best order."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from fathoms.base.arrays import distinct, row_sums
from fathoms.data.qrels import JUDGED, NEGATIVE, UNJUDGED
from fathoms.evidence.evidence import Bools, Evidence, Floats, Ints

Gains = tuple[tuple[int, float], ...]  # pairs of grade and gain, as given


class Hits:
    """Documents with a gain other than 0, topic by topic and from the top."""

    def __init__(self, gain: Floats) -> None:
        self.shape = gain.shape
        self.row, self.column = np.nonzero(gain)
        self.gain: Floats = gain[self.row, self.column]
        size = np.bincount(self.row, minlength=len(gain))
        self.within: Ints = np.arange(len(self.row)) - (np.cumsum(size) - size)[self.row]
        self.most = max(1, int(size.max(initial=0)))

    def sums(self, values: Floats, use: Bools | None = None) -> Floats:
        """Sums by topic, added in order."""
        row = self.row if use is None else self.row[use]
        return row_sums(row, values if use is None else values[use], len(self))

    def block(self, values: Floats) -> Floats:
        """The values as a row a topic, zeros behind them."""
        block = np.zeros((len(self), self.most))
        block[self.row, self.within] = values
        return block

    def running(self, values: Floats) -> Floats:
        """At each hit the sum so far, its own value included."""
        return np.cumsum(self.block(values), axis=1)[self.row, self.within]

    @cached_property
    def discounted(self) -> Floats:
        return self.gain / log2_of_ranks(self.shape[1])[self.column]

    @cached_property
    def dcg(self) -> Floats:
        return self.sums(self.discounted)

    def __len__(self) -> int:
        return self.shape[0]


class Ideal:
    """The gains of the best ranking there could be, a row a topic, zeros behind them."""

    def __init__(self, gain: Floats) -> None:
        self.gain = gain
        self.size = (gain > 0).sum(axis=1)
        self.discounted = np.cumsum(gain / log2_of_ranks(gain.shape[1]), axis=1)  # the best sum after each place

    @property
    def dcg(self) -> Floats:
        return self.discounted[:, -1]


class Rankings:
    """Some topics of a run as trec_eval sees them: what is relevant, where, and out of how many."""

    def __init__(self, evidence: Evidence, level: int = 1, collection: int = 0) -> None:
        self.codes = evidence.codes
        self.grades = evidence.levels
        self.counts = evidence.counts
        self.collection = collection
        self.retrieved = evidence.lengths
        wanted = self.grades >= level
        self.other = np.append(np.zeros(JUDGED, dtype=bool), ~wanted)
        self.total: Ints = self.counts[:, wanted].sum(axis=1)
        self.total_other: Ints = self.counts[:, ~wanted].sum(axis=1)
        self.hits = Hits(np.append(np.zeros(JUDGED), wanted.astype(np.float64))[self.codes])
        self._gained: dict[Gains, tuple[Hits, Ideal]] = {}

    def __len__(self) -> int:
        return len(self.codes)

    def found_at(self, k: Any) -> Ints:
        """Relevant documents in the first k places; k is one number, or one a topic."""
        cut = k[self.hits.row] if isinstance(k, np.ndarray) else k
        return np.bincount(self.hits.row[self.hits.column < cut], minlength=len(self))

    @cached_property
    def found(self) -> Ints:
        return self.found_at(self.codes.shape[1])

    @cached_property
    def precisions(self) -> Floats:
        """Precision at each relevant document."""
        return (self.hits.within + 1) / (self.hits.column + 1)

    @cached_property
    def precisions_from(self) -> Floats:
        """In column c - 1 the greatest precision from the c-th relevant document on."""
        return np.maximum.accumulate(self.hits.block(self.precisions)[:, ::-1], axis=1)[:, ::-1]

    @cached_property
    def other_above(self) -> Ints:
        """Judged documents that are not relevant above each relevant one."""
        return self.above(self.other[self.codes])

    def above(self, which: Bools) -> Ints:
        """How many of some documents stand above each relevant one."""
        return np.cumsum(which, axis=1, dtype=np.int64)[self.hits.row, self.hits.column]

    def gained(self, gains: Gains) -> tuple[Hits, Ideal]:
        """The documents that have a gain, and the ideal; a grade is its own gain where none is given."""
        if gains not in self._gained:
            given = dict(gains)
            table = np.zeros(JUDGED + len(self.grades))
            table[UNJUDGED], table[NEGATIVE] = given.get(-1, 0.0), given.get(-2, 0.0)
            table[JUDGED:] = [given.get(int(grade), grade) for grade in self.grades]
            self._gained[gains] = Hits(table[self.codes]), Ideal(self._ideal(gains))
        return self._gained[gains]

    def _ideal(self, gains: Gains) -> Floats:
        """Level by level from the best down to the first without a gain above 0."""
        used = self.counts > 0
        last = used.shape[1] - 1 - used[:, ::-1].argmax(axis=1)
        gain, count = np.zeros(used.shape), np.zeros(used.shape, dtype=np.int64)
        # With gains given, the order of the levels depends on which there are.
        for highest in distinct(last):
            rows = np.flatnonzero(last == highest)
            order = from_the_best(gains, self.grades[: highest + 1])
            if not order:
                continue
            gain[rows, : len(order)] = [worth for _, worth in order]
            count[rows, : len(order)] = self.counts[rows][:, [level for level, _ in order]]
        ended = np.logical_or.accumulate((count > 0) & (gain <= 0), axis=1)
        count[ended] = 0
        size = count.sum(axis=1)
        ideal = np.zeros((len(self), max(1, int(size.max(initial=0)))))
        ideal[np.arange(ideal.shape[1]) < size[:, None]] = np.repeat(gain.ravel(), count.ravel())
        return ideal


def log2_of_ranks(n: int) -> Floats:
    """Discounts of the first n ranks, by the C library's logarithm: numpy's own can differ in the last bit."""
    return np.array([math.log2(rank) for rank in range(2, n + 2)])


def from_the_best(gains: Gains, grades: Floats) -> list[tuple[int, float]]:
    """Places in `grades` with their gains, greatest gain first, as trec_eval orders them.

    It compares two gains by their difference cut to a whole number, so gains less than 1 apart count as equal and stay
    where the C library's merge sort has them: those given first, then all whole grades up to the highest. Where the
    one that comes out best has no gain, it takes it that none has.
    """
    if not gains:
        return [(place, float(grades[place])) for place in range(len(grades) - 1, -1, -1)]
    given = dict(gains)
    levels = [*gains, *((grade, float(grade)) for grade in range(int(grades[-1]) + 1) if grade not in given)]
    place = {int(grade): i for i, grade in enumerate(grades)}
    best_first = _merge_sorted(levels)[::-1]
    return [(place[grade], gain) for grade, gain in best_first if grade in place] if best_first[0][1] > 0 else []


def _merge_sorted(levels: list[tuple[int, float]]) -> list[tuple[int, float]]:
    if len(levels) < 2:
        return levels
    middle = len(levels) // 2
    left, right = _merge_sorted(levels[:middle]), _merge_sorted(levels[middle:])
    merged = []
    while left and right:
        merged.append((left if int(left[0][1] - right[0][1]) <= 0 else right).pop(0))
    return merged + left + right
