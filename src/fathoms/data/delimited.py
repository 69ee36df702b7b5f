"""Tables with one character between fields and quotes around those that need them: CSV and TSV with a first line of
names.

A field that starts with a quote ends with one, and a quote inside it is doubled; it may hold the separator, blanks and
line ends. Ids are what stands in the field, to the last blank.
"""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from fathoms.data import in_memory
from fathoms.data.column_names import choice_note, column_for, missing_column
from fathoms.data.formats.base import BOM
from fathoms.data.lines import Floats, Layout, Table, Text, number_of, report
from fathoms.errors import InputError
from fathoms.text import pluralise

QUOTES = 'a field that starts with a quote (") has to end with one, and quotes inside it are doubled ("")'


def read_delimited(raw: bytes, start: int, separator: str, layout: Layout, source: str, *, lenient: bool) -> Table:
    """The rows of a text whose first line, at `start`, names the columns."""
    if b"\0" in raw:
        line = raw.count(b"\n", 0, raw.index(b"\0")) + 1
        raise InputError(f"holds binary data (byte 0x00), expected a {layout.kind} file", source, line)
    rows = _rows(raw, start, separator, source)
    _, names = next(rows)
    names = [name.strip() for name in names]
    wanted = [column_for(what, names) for what in ("topic", "document", layout.number)]
    ranked = column_for("rank", names) if "rank" in layout.columns else None
    is_ranked = wanted[2] is None and ranked is not None
    wanted[2] = ranked if is_ranked else wanted[2]
    for what, name in zip(("topic", "document", layout.number), wanted, strict=True):
        if name is None:
            raise InputError(missing_column(what, names), source)
    topic_at, document_at, number_at = (names.index(str(name)) for name in wanted)
    rank_at = names.index(ranked) if ranked is not None else -1
    tag_at = next((i for i, name in enumerate(names) if name.lower() == "tag"), -1) if "tag" in layout.columns else -1

    lines: list[int] = []
    topics: list[str] = []
    documents: list[str] = []
    numbers: list[float] = []
    ranks: list[float] = []
    tag: str | None = None
    complaints: list[tuple[int, str]] = []
    unrated = 0
    for line, fields in rows:
        # Queries without a rating stand alone in CSV; between tabs, blanks in place of them are more likely.
        if len(fields) > len(names) or (separator == "\t" and len(fields) < len(names)):
            complaints.append((line, f"expected {len(names)} fields ({', '.join(names)}), found {len(fields)}"))
            continue
        fields += [""] * (len(names) - len(fields))
        number = _number(fields[number_at])
        if not fields[number_at].strip() and layout.kind != "run":
            unrated += 1
            continue
        missing = "topic" if not fields[topic_at] else "document" if not fields[document_at] else ""
        if missing:
            complaints.append((line, f"expected a {missing}, found none"))
            continue
        if not (math.isfinite(number) if layout.finite else number == number):
            shown = fields[number_at].strip() or "none"
            complaints.append((line, f"{layout.expected_number} in the column {names[number_at]}, found {shown}"))
            continue
        lines.append(line)
        topics.append(fields[topic_at])
        documents.append(fields[document_at])
        numbers.append(-number if is_ranked else number)
        ranks.append(_number(fields[rank_at]))
        tag = fields[tag_at] if tag is None else tag
    skipped = report(complaints, len(numbers), source, lenient)
    if not numbers:
        rated = f" with a {layout.number}" if unrated else " after the names of its columns"
        raise InputError(f"has no row{rated}; expected a {layout.kind} file", source)
    if unrated:
        skipped.append(f"{source}: {pluralise(unrated, 'row')} without a {layout.number} left out: not judged")
    known = np.array(ranks)
    return Table(
        topic=byte_ids(topics),
        document=byte_ids(documents),
        number=np.array(numbers),
        source=source,
        rank=None if ranked is None or np.isnan(known).all() else known,
        tag=tag or "" if tag_at >= 0 else "",
        lines=np.array(lines),
        skipped=[*skipped, *choice_note(layout.number, names, source)],
    )


def rows_of(raw: bytes, separator: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Each row of a table with the line it starts in, the names of columns first if it has them."""
    return _rows(raw, len(BOM) if raw.startswith(BOM) else 0, separator, source)


def _rows(raw: bytes, start: int, separator: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Each row with the line it starts in; without empty lines, and without comments, lines that start with # and have
    no separator."""
    csv.field_size_limit(sys.maxsize)  # a column may hold whole documents
    text = raw[start:].decode(errors="surrogateescape")
    before = raw.count(b"\n", 0, start)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    line = 1
    while True:
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error:
            raise InputError(QUOTES, source, before + line) from None
        if any(fields) and not (len(fields) == 1 and fields[0].startswith("#")):
            yield before + line, fields
        line = reader.line_num + 1


def _number(field: str) -> float:
    return number_of(field.encode(errors="replace"))


def byte_ids(ids: list[str]) -> Text:
    """Ids as tables have them."""
    found = in_memory.ids_of(ids)
    if found is None:  # some are no UTF-8
        raw = [id.encode(errors="surrogateescape") for id in ids]
        found = np.array(raw, dtype=f"S{-(-max(map(len, raw)) // 8) * 8}")
    return found


def write_delimited(names: Sequence[str], rows: Iterable[Sequence[str]], separator: str) -> bytes:
    """Lines of fields, quoted where need be."""
    lines = (separator.join(quoted(field, separator) for field in row) + "\n" for row in (names, *rows))
    return "".join(lines).encode(errors="surrogateescape")


def quoted(field: str, separator: str) -> str:
    """A field as it has to be written; blanks at its ends are quoted for the sake of readers that cut them."""
    if not field or (field.isalnum() and field.isascii()):
        return field
    awkward = any(character in field for character in ('"', "\n", "\r", separator, "\ufeff"))
    return '"' + field.replace('"', '""') + '"' if awkward or field[0] == "#" or field != field.strip() else field


def shortest(numbers: Floats) -> list[str]:
    """Numbers as the shortest text that reads back as the same; 1 and not 1.0."""
    return [repr(number).removesuffix(".0") for number in numbers.tolist()]
