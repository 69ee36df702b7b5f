"""Stretches of unjudged places, and sums over them: what AP's range is made of.

A thousand ranked documents have hundreds of unjudged ones, but these stand in far fewer stretches without a judged one
between them. Within a stretch sums of reciprocal ranks have a closed form, so there is no need to go place by place.

Sums are kept as whole numbers, of so many parts of 1: they are exact then, so that a row's do not depend on the rows
above it, and whole numbers are added up several times as fast.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fathoms.evidence.evidence import Bools, Floats, Ints

Number = TypeVar("Number", np.float64, np.int64)
PARTS = 2.0**58  # of 1, for sums of reciprocal ranks, which stay below 32 for any ranking that fits into memory


@lru_cache(maxsize=32)
def reciprocals(n: int) -> tuple[Ints, Ints]:
    """1/i for i = 1 .. n, and their sums from i = 0 on, in PARTS."""
    each = np.rint(PARTS / np.arange(1, n + 1)).astype(np.int64)
    sums = np.append(0, np.cumsum(each))
    for table in (each, sums):
        table.flags.writeable = False
    return each, sums


class Around(NamedTuple):
    """Known places around each stretch."""

    above: Ints  # how many stand above it
    below: Floats  # the sum of the reciprocal ranks of those below it


class Stretches:
    """The stretches of a mask [row, rank], row by row and from the top down; and what belongs to each of them."""

    def __init__(self, mask: Bools) -> None:
        rows, n = mask.shape
        edge = np.zeros((rows, n + 2), dtype=bool)  # one more place at either end, so that no stretch spans two rows
        edge[:, 1:-1] = mask
        flat = edge.ravel()
        change = np.flatnonzero(flat[1:] != flat[:-1])
        at = change // (n + 2)
        ranks = (change - at * (n + 2)).reshape(-1, 2)
        self.row: Ints = at[::2]
        self.above: Ints = ranks[:, 0].copy()  # places above the first one
        self.last: Ints = ranks[:, 1].copy()  # rank of the last one
        self.length: Ints = self.last - self.above
        self.parts = 2.0 ** (62 - n.bit_length())  # of 1, for sums that are at most n
        self._width = n
        self._start = np.searchsorted(self.row, np.arange(rows + 1))
        self._each = np.diff(self._start)  # stretches of each row
        self._sums = reciprocals(n)[1]
        self.reciprocals_in_parts: Ints = self._sums[self.last] - self._sums[self.above]
        self.reciprocals: Floats = self.reciprocals_in_parts / PARTS  # the sum over the stretch

    def of_row(self, values: NDArray[Number]) -> NDArray[Number]:
        """For each stretch the value of its row."""
        return np.repeat(values, self._each)

    def down_to(self, values: Ints) -> Ints:
        """The sum over a row's stretches from the first one to each one."""
        total = np.append(0, np.cumsum(values))
        return total[1:] - self.of_row(total[self._start[:-1]])

    def below(self, values: Ints) -> Ints:
        """The sum over a row's stretches that lie below each one."""
        total = np.append(0, np.cumsum(values))
        return self.of_row(total[self._start[1:]]) - total[1:]

    def summable(self, values: Floats) -> Ints:
        """As whole numbers of `parts`, for `down_to` and `below`."""
        return np.rint(values * self.parts).astype(np.int64)

    def extreme(self, values: Floats, best: np.ufunc, otherwise: Floats) -> Floats:
        """The greatest or the least value of each row, that of `otherwise` included."""
        found = otherwise.copy()
        rows, first = self.first_of_rows
        if len(rows):
            found[rows] = best(found[rows], best.reduceat(values, first))
        return found

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
        above = np.cumsum(known.ravel().view(np.int8), dtype=np.int32)[self.row * n + self.above]
        sums = np.append(0, np.cumsum(reciprocals(n)[0][place - row * n]))
        below = (self.of_row(sums[start[1:]]) - sums[above]) / PARTS
        return Around(above - self.of_row(start[:-1]), below)

    def expanded(self, chosen: Ints) -> tuple[Ints, Ints]:
        """For each place of the chosen stretches: its stretch, and which it is, from 1."""
        length = self.length[chosen]
        end = np.cumsum(length)
        return np.repeat(chosen, length), np.arange(1, end[-1] + 1) - np.repeat(end - length, length)

    def reciprocals_below(self, of: Ints, rank: Ints) -> Floats:
        """The sum over the places of some stretches that lie below these ranks."""
        return (self._sums[self.last[of]] - self._sums[rank]) / PARTS
