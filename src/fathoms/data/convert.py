"""Runs and judgments written to files of any format that can be written.

What a format cannot carry is reported in a note (`losses`), and what would come back as something else is an error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.base.errors import FathomsError
from fathoms.base.files import read_bytes
from fathoms.data import metadata
from fathoms.data.formats import registry
from fathoms.data.formats.base import RUN_PARTS, Content, Match
from fathoms.data.formats.trec import TREC
from fathoms.data.qrels import Qrels
from fathoms.data.runs import Run, RunFile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ITERATION = rb"(?m)^[ \t]*[^\s#]\S*[ \t]+(?!Q?0[ \t])(\S+)[ \t]"  # other than 0 and Q0


def content(data: Run | Qrels, to: str, rows: NDArray[np.int64] | None = None) -> bytes:
    """The file's bytes. `rows` is the order of the lines in formats that have no other way to express it."""
    format = registry.by_name(to)
    kind = data.kind
    if kind not in format.writes:
        others = ", ".join(other.name for other in registry.writable(kind))
        words = {"run": "runs", "qrels": "judgments", "values": "values"}
        raise FathomsError(
            f"{to} is a format of {' and '.join(words[able] for able in format.writes)}; formats of {words[kind]} are "
            f"{others}"
        )
    return format.write(data, rows)


def losses(data: Run | Qrels, to: str) -> list[str]:
    """What of this run, or of these judgments, a format does not carry, and what it makes up."""
    format = registry.by_name(to)
    source = data.source
    if data.kind == "qrels":
        iteration = _iteration(source)
        note = f"{source}: the iteration column is not kept (found {iteration}); {format.name} {format.no_iteration}"
        return [note] if iteration else []
    missing = {"ranks": data.ranks is None, "tag": not data.tag}
    lost = [part for part in RUN_PARTS if part not in format.carries and not missing.get(part)]
    if "metadata" in lost and not metadata.header(data.path):
        lost.remove("metadata")
    notes = [f"{source}: {format.name} does not carry {_listed(lost)}"] if lost else []
    if "ranks" in format.fills and missing["ranks"]:
        notes.append(f"{source}: has no ranks; places by descending score are written")
    if "tag" in format.fills and missing["tag"]:
        notes.append(f"{source}: has no tag; the name {data.name} is written")
    return notes


def _iteration(path: str) -> str:
    """The first iteration in a qrels file that is not the usual 0; nothing if there is none. No other part of fathoms
    looks at that column, so the file is read once more."""
    if not os.path.isfile(path):
        return ""
    content = Content(read_bytes(path))
    line = content.line
    if line is None or registry.recognise(content, ["qrels"]) != (TREC, Match.LIKELY):
        return ""
    other = re.compile(_ITERATION).search(content.raw, line.start())
    return other[1].decode(errors="replace") if other else ""


def _listed(parts: Sequence[str]) -> str:
    return ", ".join(RUN_PARTS[part] for part in parts)


def pack_in_parts(file: RunFile, to: str, target: Path) -> tuple[int, int, list[str]] | None:
    """A large run file to another format, with only a part of it in memory at a time; how many rows and topics it has,
    and what was lost. None if the file is small, or has to be looked at as a whole."""
    packed = registry.by_name(to).write_parts(file.parts, target) if len(file.parts) > 1 else None
    if packed is None:
        return None
    rows, topics, part = packed
    return rows, topics, losses(replace(part, path=file.path), to)
