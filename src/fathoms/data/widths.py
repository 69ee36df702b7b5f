"""How long ids may be.

A column of ids is an array of byte strings that are all as wide as its longest id, which is what makes it fast. One
long id among many short ones must not make it large: an array may take TIMES the bytes of what it was read from, or
ALWAYS if that is more. The kernel has the same numbers, and leaves anything beyond them to numpy, which says so.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fathoms.base.errors import FathomsError, InputError

MOST_ID = 8192  # bytes of an id
TIMES = 16
ALWAYS = 1 << 30  # bytes

Text = NDArray[np.bytes_]


def width_for(longest: int) -> int:
    """The width of an array, a multiple of eight."""
    return max(8, -(-longest // 8) * 8)


def too_long(name: str, length: int) -> str:
    return f"{name} id has {length:,} bytes; the limit is {MOST_ID:,}; give it a shorter one"


def room_for(size: int, whole: int | None = None) -> int:
    """How many bytes an array of ids may take if it was read from `size` bytes, of the `whole` of a file."""
    return int(max(ALWAYS if whole is None else ALWAYS * size / max(whole, 1), TIMES * size))


def too_wide(name: str, rows: int, longest: int, room: int) -> str:
    """What to say about the ids of that many rows; nothing if they fit."""
    if longest > MOST_ID:
        return too_long(name, longest)
    if rows * width_for(longest) <= room:
        return ""
    return (
        f"{name} id has {longest:,} bytes among {rows:,} rows of much shorter ones; each would take as much memory as "
        f"the longest, {rows * width_for(longest) / 1e9:.1f} GB in all; give it a shorter id, or put its topic into a "
        "file of its own"
    )


def of_bytes(ids: Sequence[bytes], name: str, source: str, lines: Sequence[int]) -> Text:
    """Ids one by one as an array; `lines` says where each stands."""
    longest = max(range(len(ids)), key=lambda i: len(ids[i]))
    if message := too_wide(name, len(ids), len(ids[longest]), room_for(sum(map(len, ids)))):
        raise InputError(message, source, lines[longest])
    return np.array(ids, dtype=f"S{width_for(len(ids[longest]))}")


def lengths_of(ids: Text) -> NDArray[np.int64]:
    lengths: NDArray[np.int64] = np.char.str_len(ids)
    return lengths


def joined(parts: Sequence[Text]) -> Text:
    """The ids of several arrays in one, which is as wide as the widest of them."""
    rows, widest = sum(map(len, parts)), max(part.dtype.itemsize for part in parts)
    if message := too_wide("document", rows, widest, room_for(sum(part.nbytes for part in parts))):
        raise FathomsError(f"in all runs together: {message}")
    return np.concatenate(parts)
