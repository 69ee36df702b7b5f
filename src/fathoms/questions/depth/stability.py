"""From which depth on the order of the runs is stable."""

from __future__ import annotations

from collections.abc import Sequence

from fathoms.evidence.evidence import Floats

STABLE = 0.9  # two orderings with a tau of this are taken for equivalent (Voorhees 2001)


def stable_from(matrix: Floats, depths: Sequence[int]) -> int | None:
    """The least depth from which on all orderings agree with a correlation of 0.9 or more; none if it is the deepest,
    which has only itself to agree with."""
    for place, depth in enumerate(depths[:-1] or depths):
        if (matrix[place:, place:] >= STABLE).all():
            return depth
    return None


def is_short(start: int, last: int) -> bool:
    """Whether orders that agree from one depth to the last say little: neighbouring depths share most of what they
    read, so the last should be twice as deep at least."""
    return start < last < 2 * start
