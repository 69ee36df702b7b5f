"""Which documents a corpus holds: their ids as sorted 64-bit keys, from files of any size, a piece at a time.

A file has one id per line, or a column with ids: lines under a header, JSON lines, parquet, or a run or judgments.
Eight bytes are kept of each document. Ids are told apart by their keys alone: among a hundred million documents, if a
million ids that are absent are looked up, the chance that any of them is taken for present is about 5e-6.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import distinct
from fathoms.base.errors import InputError
from fathoms.base.files import opened
from fathoms.data.column_names import NAMES
from fathoms.data.columns import check_lengths, fixed_width
from fathoms.data.formats import registry
from fathoms.data.formats.base import BOM, HEAD, Content, Match
from fathoms.data.keys import Keys, document_keys
from fathoms.data.lines import QRELS, RUN, ZERO_BYTES, Text, byte_strings
from fathoms.data.load import load
from fathoms.data.sniff import kind_of
from fathoms.data.widths import room_for, too_wide

COLUMNS = (*NAMES["document"], "_id", "id", "did")
PIECE = 1 << 24  # bytes, or rows of a parquet file, that are looked at together


class CorpusIds:
    """The documents of a corpus, to ask whether others are among them."""

    def __init__(self, source: str, keys: Keys, first: str) -> None:
        self.source, self._keys, self.first = source, keys, first

    def __len__(self) -> int:
        return len(self._keys)

    def has(self, documents: Keys) -> NDArray[np.bool_]:
        wanted, inverse = np.unique(documents, return_inverse=True)  # keys in order are found many times as fast
        place = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return np.asarray((self._keys[place] == wanted)[inverse])


def read_corpus_ids(path: str | os.PathLike[str]) -> CorpusIds:
    source, keys, first = os.fspath(path), [], ""
    for ids in _pieces(source):
        first = first or (ids[0].decode(errors="surrogateescape") if len(ids) else "")
        keys.append(distinct(document_keys(ids)))
    if not first:
        raise InputError("holds no ids; expected one document id per line, or a column of them", source)
    return CorpusIds(source, distinct(np.concatenate(keys)), first)


def _pieces(source: str) -> Iterator[Text]:
    try:
        file = opened(source)
    except FileNotFoundError:
        raise InputError("no such file", source) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source) from None
    with file:
        content = Content(file.read(HEAD))
        if content.container == "parquet":
            yield from _of_parquet(source)
            return
        column = _column_of(content)
        if column is None and registry.recognise(content, ["run", "qrels"])[1] > Match.POSSIBLE:
            yield load(source, QRELS if kind_of(source) == "qrels" else RUN).document
            return
        for piece in _whole_lines(file, content.raw.removeprefix(BOM)):
            yield _lines(piece, source) if column is None else column(piece, source)


def _whole_lines(file: Any, start: bytes) -> Iterator[bytes]:
    """The file in pieces that end with a line."""
    rest = start
    while more := file.read(PIECE):
        piece = rest + more
        cut = piece.rfind(b"\n") + 1
        rest = piece[cut:]
        if cut:
            yield piece[:cut]
    if rest.strip():
        yield rest


def _lines(piece: bytes, source: str) -> Text:
    """One id per line, without the blanks around it."""
    raw = np.frombuffer(piece, dtype=np.uint8)
    ends = np.flatnonzero(raw == 10)
    if not piece.endswith(b"\n"):
        ends = np.append(ends, len(raw))
    starts = np.append(0, ends[:-1] + 1)
    while (blank := (starts < ends) & np.isin(raw[np.minimum(starts, len(raw) - 1)], (9, 13, 32))).any():
        starts = starts + blank
    while (blank := (starts < ends) & np.isin(raw[ends - 1], (9, 13, 32))).any():
        ends = ends - blank
    used = ends > starts
    starts, lengths = starts[used], (ends - starts)[used]
    if message := too_wide("document", len(lengths), int(lengths.max(initial=0)), room_for(len(piece))):
        raise InputError(message, source)
    return byte_strings(piece + bytes(ZERO_BYTES), starts, lengths)


def _column_of(content: Content) -> Any:
    """What takes the ids out of lines that have a column of them: JSON, or cells under a header."""
    if content.container == "json":
        record = content.json
        name = _name(record) if isinstance(record, dict) else None
        return None if name is None else lambda piece, source: _json_ids(piece, name, source)
    line = "" if content.line is None else content.line[0].decode(errors="replace")
    separator = "\t" if "\t" in line else ","
    header = [cell.strip().strip('"') for cell in line.split(separator)]
    name = _name(header) if len(header) > 1 else None
    if name is None:
        return None
    return lambda piece, source: _cells(piece, header.index(name), separator, name, source)


def _name(names: Any) -> str | None:
    return next((name for name in COLUMNS if name in names), None)


def _json_ids(piece: bytes, name: str, source: str) -> Text:
    import polars as pl

    try:
        frame = pl.read_ndjson(io.BytesIO(piece), schema={name: pl.String})
    except pl.exceptions.PolarsError as error:
        raise InputError(f"cannot be read as JSON lines: {error}", source) from None
    return _ids(frame[name].drop_nulls(), source)


def _cells(piece: bytes, place: int, separator: str, name: str, source: str) -> Text:
    import polars as pl

    try:
        frame = pl.read_csv(
            io.BytesIO(piece),
            has_header=False,
            separator=separator,
            columns=[place],
            infer_schema=False,
            quote_char='"' if separator == "," else None,
            encoding="utf8-lossy",
        )
    except pl.exceptions.PolarsError as error:
        raise InputError(f"cannot be read as cells: {error}", source) from None
    ids = frame.to_series().drop_nulls()
    return _ids(ids.filter(ids != name), source)


def _ids(column: Any, source: str) -> Text:
    check_lengths("document", column, source)
    return fixed_width(column)[0]


def _of_parquet(source: str) -> Iterator[Text]:
    import polars as pl

    names = pl.read_parquet_schema(source)
    name = _name(names)
    if name is None:
        raise InputError(f"has no column of document ids ({', '.join(COLUMNS)}); found {', '.join(names)}", source)
    scan = pl.scan_parquet(source).select(pl.col(name).cast(pl.String).drop_nulls())
    start = 0
    while len(part := scan.slice(start, PIECE).collect()[name]):
        yield _ids(part, source)
        start += PIECE
