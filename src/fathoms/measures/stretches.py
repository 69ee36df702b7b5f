"""Stretches of unjudged places, and sums over them: what AP's range is made of.

A thousand ranked documents have hundreds of unjudged ones, but these stand in far fewer stretches without a judged one
between them. Within a stretch sums of reciprocal ranks have a closed form, so there is no need to go place by place.

Sums are kept as whole numbers, of so many parts of 1: they are exact then, so that a row's do not depend on the rows
above it, and whole numbers are added up several times as fast.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fathoms.evidence.evidence import Bools, Floats, Ints

Number = TypeVar("Number", np.float64, np.int64)
PARTS = 2.0**58  # of 1, for sums of reciprocal ranks, which stay below 32 for any ranking that fits into memory


@lru_cache(maxsize=32)
def reciprocals(n: int) -> tuple[Ints, Ints]:
    """1/i for i = 1 .. n, and their sums from i = 0 on, in PARTS."""
    each = np.rint(PARTS / np.arange(1, n + 1)).astype(np.int64)
    sums = sums_from_zero(each)
    for table in (each, sums):
        table.flags.writeable = False
    return each, sums


class Around:
    """Known places around each stretch."""

    def __init__(self, above: Floats, below: Floats) -> None:
        self.above = above  # how many stand above it
        self.below = below  # the sum of the reciprocal ranks of those below it


class Stretches:
    """The stretches of a mask [row, rank], row by row and from the top down; and what belongs to each of them."""

    def __init__(self, mask: Bools) -> None:
        rows, n = mask.shape
        edge = np.zeros((rows, n + 2), dtype=bool)  # one more place at either end, so that no stretch spans two rows
        edge[:, 1:-1] = mask
        flat = edge.ravel()
        change = np.flatnonzero(flat[1:] != flat[:-1])
        self.row: Ints = change[::2] // (n + 2)
        ends = self.row * (n + 2)
        self._above, self._last = change[::2] - ends, change[1::2] - ends
        self._length = self._last - self._above
        # As numbers to reckon with; whole numbers would be turned into such at every step.
        self.above = self._above.astype(np.float64)  # places above the first one
        self.last = self._last.astype(np.float64)  # rank of the last one
        self.length = self.last - self.above
        self._width = n
        self._parts = 2.0 ** (62 - n.bit_length())  # of 1, for sums that are at most n
        self._start = np.searchsorted(self.row, np.arange(rows + 1))
        self._each = np.diff(self._start)  # stretches of each row
        self._sums = reciprocals(n)[1]
        self._reciprocals = self._sums[self._last] - self._sums[self._above]
        self.reciprocals = self._reciprocals / PARTS  # the sum over the stretch

    def of_row(self, values: NDArray[Number]) -> NDArray[Number]:
        """For each stretch the value of its row."""
        return np.repeat(values, self._each)

    def down_to(self, values: Floats) -> Floats:
        """The sum over a row's stretches from the first one to each one, of values with a sum of at most n."""
        return self._down_to(np.rint(values * self._parts).astype(np.int64)) / self._parts

    def below(self, values: Floats) -> Floats:
        """The sum over a row's stretches that lie below each one, of values with a sum of at most n."""
        return self._below(np.rint(values * self._parts).astype(np.int64)) / self._parts

    @cached_property
    def places_down_to(self) -> Floats:
        """Places in a row's stretches from the first one to each one."""
        return self._down_to(self._length).astype(np.float64)

    @cached_property
    def places_below(self) -> Floats:
        """Places in the stretches that lie below each one."""
        return self._below(self._length).astype(np.float64)

    @cached_property
    def reciprocals_below(self) -> Floats:
        """The sum of the reciprocal ranks of these."""
        return self._below(self._reciprocals) / PARTS

    def _down_to(self, values: Ints) -> Ints:
        total = sums_from_zero(values)
        return total[1:] - self.of_row(total[self._start[:-1]])

    def _below(self, values: Ints) -> Ints:
        total = sums_from_zero(values)
        return self.of_row(total[self._start[1:]]) - total[1:]

    def extreme(self, values: Floats, best: np.ufunc, otherwise: Floats) -> Floats:
        """The greatest or the least value of each row, that of `otherwise` included."""
        extremes = otherwise.copy()
        rows, first = self.first_of_rows
        if len(rows):
            extremes[rows] = best(extremes[rows], best.reduceat(values, first))
        return extremes

    @cached_property
    def first_of_rows(self) -> tuple[Ints, Ints]:
        """The rows that have stretches, and the first of each."""
        rows = np.flatnonzero(self._each)
        return rows, self._start[rows]

    def around(self, known: Bools) -> Around:
        """Where the places of another mask stand, none of which lies in a stretch."""
        n = self._width
        place = np.flatnonzero(known)
        row = place // n
        start = np.searchsorted(row, np.arange(len(known) + 1))
        above = np.cumsum(known.ravel().view(np.int8), dtype=np.int32)[self.row * n + self._above]
        sums = sums_from_zero(reciprocals(n)[0][place - row * n])
        below = (self.of_row(sums[start[1:]]) - sums[above]) / PARTS
        return Around((above - self.of_row(start[:-1])).astype(np.float64), below)

    def upwards(self, chosen: Ints) -> tuple[Ints, Ints, Floats]:
        """For each place of the chosen stretches: its stretch, which it is from below, from 1, and the sum of the
        reciprocal ranks from there down to the last."""
        length = self._length[chosen]
        end = np.cumsum(length)
        of = np.repeat(chosen, length)
        number = np.arange(1, end[-1] + 1) - np.repeat(end - length, length)
        last = self._last[of]
        return of, number, (self._sums[last] - self._sums[last - number]) / PARTS


def sums_from_zero(values: Ints) -> Ints:
    sums = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(values, out=sums[1:])
    return sums
