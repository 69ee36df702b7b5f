"""The extreme over a number m of documents, without a look at every m: intervals of m, bounded as a whole, and split
where the bound leaves room for something better than what was found."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fathoms.base.tolerances import ROUNDING
from fathoms.evidence.evidence import Floats, Ints

CELLS = 1 << 15  # a batch of intervals works on blocks of about this many cells, which stay in a core's cache

# For rows, and an interval of m for each: the value at one end of it, and a bound on the values at all of its m.
Bound = Callable[[Ints, Ints, Ints], tuple[Floats, Floats]]


def greatest(
    last: Ints, bound: Bound, width: int, tolerance: float = ROUNDING, *, at_end: bool = False, enough: float = np.inf
) -> Floats:
    """For each row the greatest value over m = 0 .. last, or up to `tolerance` more; where that is more than `enough`,
    something between the two. The value that `bound` gives is at the first m of an interval, or `at_end` at the last.
    """
    best, beyond = np.full(len(last), -np.inf), np.full(len(last), -np.inf)
    row, first, end = _doubling(last)
    step = max(1, CELLS // max(1, width))
    while len(row):
        parts = [slice(at, at + step) for at in range(0, len(row), step)]
        bounds = [bound(row[part], first[part], end[part]) for part in parts]
        value, most = (np.concatenate(column) for column in zip(*bounds, strict=True))
        np.maximum.at(best, row, value)
        going_on = (end > first) & (most > best[row] + tolerance) & (best[row] < enough)
        np.maximum.at(beyond, row[~going_on], most[~going_on])
        row, first, end = row[going_on], first[going_on] + (not at_end), end[going_on] - at_end
        middle = (first + end) // 2
        split = middle < end
        row = np.concatenate([row, row[split]])
        first, end = np.concatenate([first, middle[split] + 1]), np.concatenate([middle, end[split]])
    # What was not looked at any more may be a little better than what was found; a bound has to say so.
    return best if tolerance <= ROUNDING else np.maximum(best, beyond)


def least(last: Ints, bound: Bound, width: int, tolerance: float = ROUNDING, *, at_end: bool = False) -> Floats:
    """For each row the least value over m = 0 .. last, or up to `tolerance` less."""

    def negated(row: Ints, first: Ints, end: Ints) -> tuple[Floats, Floats]:
        value, lowest = bound(row, first, end)
        return -value, -lowest

    return -greatest(last, negated, width, tolerance, at_end=at_end)


def _doubling(last: Ints) -> tuple[Ints, Ints, Ints]:
    """The intervals 0, 1, 2-3, 4-7, 8-15, ... of each row, the last one cut."""
    starts = np.concatenate([[0], 2 ** np.arange(int(last.max(initial=0)).bit_length())])
    row, which = np.nonzero(starts <= last[:, None])
    first = starts[which]
    return row, first, np.minimum(np.maximum(2 * first - 1, first), last[row])
