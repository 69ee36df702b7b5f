"""Text whose first line names its columns, in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathoms.data.column_names import NAMES, Kind, kinds_by_names
from fathoms.data.formats.base import Content, FileFormat, Match
from fathoms.data.formats.text import TextFormat, header_line, names_columns, read_named

if TYPE_CHECKING:
    from fathoms.data.lines import Layout, Table


class NamedColumns(TextFormat):
    name = "named-columns"
    about = "text whose first line names its columns, in any order, under [these names](input.md#json-and-parquet)"
    reads = ("run", "qrels", "values")

    def recognise(self, content: Content) -> Match:
        return Match.LIKELY if names_columns(content) else Match.NO

    def kinds(self, content: Content) -> frozenset[Kind]:
        return kinds_by_names(word.lower() for word in content.fields)

    def split(self, path: str, content: Content) -> list[tuple[Any, ...]]:
        """Text is cut where the first column changes, so that has to be the topic."""
        return super().split(path, content) if content.fields[0].lower() in NAMES["topic"] else []

    def header(self, content: Content) -> bytes:
        return header_line(content) if names_columns(content) else b""

    def read(self, content: Content, layout: Layout, source: str, *, lenient: bool) -> Table:
        return read_named(content, layout, source, lenient=lenient)


NAMED_COLUMNS: FileFormat = NamedColumns()
