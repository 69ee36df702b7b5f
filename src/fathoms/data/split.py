"""Where a large run file may be cut so that every part holds whole topics.

Parts are read, ranked and scored on their own, so that a run of any length goes through in the memory of a few parts,
and through a core's cache. A file whose topics do not stand together is only found out once parts have been read: one
topic is in two of them.
"""

from __future__ import annotations

import os
import re
from typing import BinaryIO

Span = tuple[int, int]  # first byte, and the first one after

SPAN = 4 << 20  # bytes: some eighty thousand lines
LOOK = 1 << 16  # bytes looked at a time for the next topic
_FIRST = re.compile(rb"([^\s#]\S*)[ \t]")


def topic_spans(path: str, size: int = SPAN) -> list[Span]:
    """Parts of a text file of some `size` bytes, or more where a topic is longer."""
    with open(path, "rb") as file:
        length = os.fstat(file.fileno()).st_size
        cuts = [0]
        while cuts[-1] + size < length:
            cut = _next_topic(file, cuts[-1] + size)
            if cut is None:
                break
            cuts.append(cut)
    return list(zip(cuts, [*cuts[1:], length], strict=True))


def read_span(path: str, span: Span) -> bytes:
    with open(path, "rb") as file:
        file.seek(span[0])
        return file.read(span[1] - span[0])


def _next_topic(file: BinaryIO, start: int) -> int | None:
    """Where, after a place in the file, the first line stands whose topic differs from that of the line before it."""
    file.seek(start)
    file.readline()  # the rest of a line
    at = file.tell()
    other = None
    while chunk := file.read(LOOK) + file.readline():
        if other is None:
            first = _FIRST.match(chunk)
            if first is None:  # not in the form that nearly all files have
                return None
            # Blank lines and comments belong to the topic above them. A byte order mark means nothing but at the start
            # of a file, so no part may start with one.
            other = re.compile(rb"\n(?!" + re.escape(first[1]) + rb"[ \t]|\s|#|\xef\xbb\xbf|\Z)")
        next_line = other.search(b"\n" + chunk)  # the chunk starts where a line does
        if next_line is not None:
            return at + next_line.start()
        at += len(chunk)
    return None
