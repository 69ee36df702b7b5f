"""Tables with one character between fields and quotes around those that need them: CSV and TSV with a first line of
names.

A field that starts with a quote ends with one, and a quote inside it is doubled; it may hold the separator, blanks and
line ends. Ids are what stands in the field, to the last blank.
"""

from __future__ import annotations

import csv
import io
import math
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fathoms.base.errors import InputError
from fathoms.base.text import pluralise
from fathoms.data import in_memory
from fathoms.data.column_names import (
    choice_note,
    column_for,
    missing_column,
    plain,
    run_columns,
    several_runs,
    twins,
    two_of_a_name,
)
from fathoms.data.formats.base import BOM
from fathoms.data.lines import Floats, Layout, Table, Text, number_of, report
from fathoms.data.widths import of_bytes

QUOTES = 'a field that starts with a quote (") has to end with one, and quotes inside it are doubled ("")'


_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")


class _Places(NamedTuple):
    """Where in a row things stand; -1: nowhere."""

    topic: int
    document: int
    number: int
    rank: int
    tag: int


def read_delimited(raw: bytes, start: int, separator: str, layout: Layout, source: str, *, lenient: bool) -> Table:
    """The rows of a text whose first line, at `start`, names the columns."""
    if b"\0" in raw:
        line = raw.count(b"\n", 0, raw.index(b"\0")) + 1
        raise InputError(f"holds binary data (byte 0x00), expected a {layout.kind} file", source, line)
    rows = _rows(raw, start, separator, source)
    first_line, names = next(rows)
    names = [name.strip() for name in names]
    if same := twins(layout.number, names):
        raise InputError(two_of_a_name(same, names), source, first_line)
    at = _places(names, layout, source)
    good: list[tuple[int, list[str]]] = []
    numbers: list[float] = []
    complaints: list[tuple[int, str]] = []
    unrated = 0
    number_in = _number_with_comma if separator == ";" else _plain_number
    for line, fields in rows:
        # Queries without a rating stand alone in CSV; in tables with tabs, blanks in place of tabs are more likely.
        if len(fields) > len(names) or (separator == "\t" and len(fields) < len(names)):
            complaints.append((line, f"expected {len(names)} fields ({', '.join(names)}), found {len(fields)}"))
            continue
        fields += [""] * (len(names) - len(fields))
        if layout.kind != "run" and not fields[at.number].strip():
            unrated += 1
            continue
        number = number_in(fields[at.number])
        if wrong := _wrong(fields, number, at, layout, names):
            complaints.append((line, wrong))
            continue
        good.append((line, fields))
        numbers.append(number)
    skipped = report(complaints, len(good), source, lenient)
    for column in run_columns(names) if layout.kind == "run" else ():
        _check_one_run(column, [fields[names.index(column)] for _, fields in good], [line for line, _ in good], source)
    if not good:
        rated = f" with a {layout.number}" if unrated else " after the names of its columns"
        raise InputError(f"has no row{rated}; expected a {layout.kind} file", source)
    if unrated:
        skipped.append(f"{source}: {pluralise(unrated, 'row')} without a {layout.number} left out: not judged")
    if separator == ";":
        skipped += _decimal_commas([fields[at.number] for _, fields in good], source)
    skipped += _not_utf8([fields[place] for _, fields in good for place in (at.topic, at.document)], source)
    ranks = np.array([number_in(fields[at.rank]) for _, fields in good]) if at.rank >= 0 else None
    lines = [line for line, _ in good]
    return Table(
        topic=byte_ids([fields[at.topic] for _, fields in good], "topic", source, lines),
        document=byte_ids([fields[at.document] for _, fields in good], "document", source, lines),
        # Of a run without scores the ranks are the order.
        number=np.array(numbers) * (-1 if at.number == at.rank else 1),
        source=source,
        rank=None if ranks is None or np.isnan(ranks).all() else ranks,
        tag=good[0][1][at.tag] if at.tag >= 0 else "",
        lines=np.array(lines),
        skipped=[*skipped, *choice_note(layout.number, names, source)],
    )


def _places(names: list[str], layout: Layout, source: str) -> _Places:
    ranked = column_for("rank", names) if "rank" in layout.columns else None
    places = []
    for wanted in ("topic", "document", layout.number):
        name = column_for(wanted, names) or (ranked if wanted == "score" else None)
        if name is None:
            raise InputError(missing_column(wanted, names), source)
        places.append(names.index(name))
    has_tag = "tag" in layout.columns and "tag" in map(plain, names)
    tag = [plain(name) for name in names].index("tag") if has_tag else -1
    topic, document, number = places
    return _Places(topic, document, number, -1 if ranked is None else names.index(ranked), tag)


def _check_one_run(column: str, values: list[str], lines: list[int], source: str) -> None:
    other = next((i for i, value in enumerate(values) if value != values[0]), None)
    if other is not None:
        raise InputError(several_runs(column, values), source, lines[other])


def _wrong(fields: list[str], number: float, at: _Places, layout: Layout, names: list[str]) -> str:
    """What is wrong with a row, if anything is."""
    for what, place in (("topic", at.topic), ("document", at.document)):
        if not fields[place]:
            return f"expected a {what}, found none"
    if math.isfinite(number) if layout.finite else number == number:
        return ""
    number_text = fields[at.number].strip() or "none"
    return f"{layout.expected_number} in the column {names[at.number]}, found {number_text}"


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


def _plain_number(field: str) -> float:
    return number_of(field.encode(errors="replace"))


def _number_with_comma(field: str) -> float:
    """Where semicolons separate fields, a comma is the decimal point of half of Europe."""
    return _plain_number(field.replace(",", ".") if _DECIMAL_COMMA.fullmatch(field.strip()) else field)


def _decimal_commas(numbers: list[str], source: str) -> list[str]:
    with_comma = [field.strip() for field in numbers if "," in field]
    if not with_comma:
        return []
    return [f"{source}: decimal commas are read as points: {with_comma[0]} as {with_comma[0].replace(',', '.')}"]


def _not_utf8(ids: list[str], source: str) -> list[str]:
    """Ids of another encoding match none that are UTF-8, though they may look the same."""
    try:
        "".join(ids).encode()
    except UnicodeEncodeError:
        first = next(id for id in ids if any("\ud800" <= character <= "\udfff" for character in id))
        shown = first.encode(errors="surrogateescape").decode(errors="replace")
        note = f"has ids that are not valid UTF-8, such as {shown}, and match only the same bytes; save it as UTF-8"
        return [f"{source}: {note}"]
    return []


def byte_ids(ids: list[str], name: str, source: str, lines: list[int]) -> Text:
    """Ids as tables have them."""
    plain_ids = in_memory.ids_of(ids)
    if plain_ids is None:  # some are no UTF-8, or too long
        plain_ids = of_bytes([id.encode(errors="surrogateescape") for id in ids], name, source, lines)
    return plain_ids


def write_delimited(names: Sequence[str], rows: Iterable[Sequence[str]], separator: str) -> bytes:
    """Lines of fields, quoted where need be."""
    lines = (separator.join(quoted(field, separator) for field in row) + "\n" for row in (names, *rows))
    return "".join(lines).encode(errors="surrogateescape")


def quoted(field: str, separator: str) -> str:
    """A field as it has to be written; blanks at its ends are quoted for readers that strip them."""
    if not field or (field.isalnum() and field.isascii()):
        return field
    awkward = any(character in field for character in ('"', "\n", "\r", separator, "\ufeff"))
    return '"' + field.replace('"', '""') + '"' if awkward or field[0] == "#" or field != field.strip() else field


def shortest(numbers: Floats) -> list[str]:
    """Numbers as the shortest text that reads back as the same; 1 and not 1.0."""
    return [repr(number).removesuffix(".0") for number in numbers.tolist()]
