"""All formats in order, and the questions that the rest of fathoms asks about them.

A new format is a file beside this one, and a line in FILES; one of Python objects has its line in `objects`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from typing import Any

from fathoms.base.files import PACKED_ENDINGS
from fathoms.data.column_names import Kind
from fathoms.data.formats.base import Content, FileFormat, Match, ObjectFormat
from fathoms.data.formats.beir import BEIR
from fathoms.data.formats.csv import CSV
from fathoms.data.formats.json import JSON
from fathoms.data.formats.jsonl import JSONL
from fathoms.data.formats.ltr import LTR
from fathoms.data.formats.msmarco import MSMARCO
from fathoms.data.formats.mteb import MTEB
from fathoms.data.formats.named_columns import NAMED_COLUMNS
from fathoms.data.formats.opensearch import OPENSEARCH
from fathoms.data.formats.parquet import PARQUET
from fathoms.data.formats.quepid import QUEPID, QUEPID_JSON
from fathoms.data.formats.rank_eval import RANK_EVAL
from fathoms.data.formats.rre import RRE
from fathoms.data.formats.sample_eval import SAMPLE_EVAL
from fathoms.data.formats.trec import TREC
from fathoms.data.formats.umbrela import UMBRELA
from fathoms.data.formats.values import VALUES

# Where two match equally well, the first wins.
FILES: tuple[FileFormat, ...] = (
    *(TREC, PARQUET, CSV, JSON, JSONL, NAMED_COLUMNS),
    *(QUEPID, QUEPID_JSON, RRE, OPENSEARCH, RANK_EVAL, LTR, UMBRELA),
    *(MSMARCO, BEIR, MTEB, SAMPLE_EVAL, VALUES),
)


@cache
def objects() -> tuple[ObjectFormat, ...]:
    """Formats of what is in memory, or of names other than file names."""
    from fathoms.data.formats.frames import ARROW, COLUMNS, DICT, PANDAS, POLARS, RANKINGS, ROWS
    from fathoms.data.formats.irds import IRDS
    from fathoms.data.formats.mteb import MTEB_DICT
    from fathoms.data.formats.ranx import RANX

    return POLARS, PANDAS, ARROW, DICT, RANKINGS, COLUMNS, ROWS, RANX, MTEB_DICT, IRDS


def recognise(content: Content, kinds: Iterable[Kind]) -> tuple[FileFormat, Match]:
    """The format that fits some bytes best, of those that are read as one of these kinds."""
    wanted = set(kinds)
    able = [format for format in FILES if format.container == content.container and wanted & set(format.reads)]
    matches = [(format, format.recognise(content)) for format in able]
    return max(matches, key=lambda pair: pair[1])


def of_object(data: Any, kind: Kind | None = None) -> ObjectFormat | None:
    """The format of a Python object, or of a name that stands for data; None if there is none, as for a file."""
    if isinstance(data, str) and os.path.exists(data):
        return None
    able = (format for format in objects() if kind is None or kind in format.reads)
    return next((format for format in able if format.recognise(data)), None)


def by_name(name: str) -> FileFormat:
    return next(format for format in FILES if format.name == name)


def by_ending(path: str, kind: Kind) -> FileFormat | None:
    """The format in which the ending of a file asks to be written, if it does."""
    name = path.lower()
    for ending in PACKED_ENDINGS:
        name = name.removesuffix(ending)
    able = [format for format in writable(kind) if kind != "run" or format.run_as is None]
    # The longest ending counts: .quepid.csv before .csv.
    able_by_length = [(len(ending), format) for format in able for ending in format.endings if name.endswith(ending)]
    return max(able_by_length, key=lambda pair: pair[0], default=(0, None))[1]


def writable(kind: Kind | None = None) -> list[FileFormat]:
    return [format for format in FILES if (format.writes if kind is None else kind in format.writes)]


def kinds_of_ending(format: FileFormat) -> list[Kind]:
    """The kinds for which its endings ask for this format; another one may have them for the rest."""
    return [kind for kind in format.writes if by_ending(format.endings[0], kind) is format]


def readable(kind: Kind) -> list[FileFormat]:
    return [format for format in FILES if kind in format.reads]


def endings() -> tuple[str, ...]:
    """All endings that name a format, and so are no part of a run's name."""
    return tuple(sorted({ending for format in FILES for ending in format.endings}, key=lambda text: (-len(text), text)))


def smallest_part() -> int:
    """Files up to this size, in bytes, are never split."""
    return min(format.part_bytes for format in FILES if format.part_bytes is not None)
