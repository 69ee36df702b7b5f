"""Text whose first line names its columns, in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from fathoms.data.column_names import Kind, kinds_by_names
from fathoms.data.formats.base import Content, FileFormat, Match
from fathoms.data.formats.text import TextFormat, header_line, names_columns, read_named

if TYPE_CHECKING:
    from fathoms.data.lines import Layout, Table


class NamedColumns(TextFormat):
    name: ClassVar[str] = "named-columns"
    about: ClassVar[str] = "text whose first line names its columns, in any order, under the names below"
    reads: ClassVar[tuple[Kind, ...]] = ("run", "qrels", "values")

    def recognise(self, content: Content) -> Match:
        return Match.LIKELY if names_columns(content) else Match.NO

    def kinds(self, content: Content) -> frozenset[Kind]:
        return kinds_by_names(word.lower() for word in content.fields)

    def header(self, content: Content) -> bytes:
        return header_line(content) if names_columns(content) else b""

    def read(self, content: Content, layout: Layout, source: str, *, lenient: bool) -> Table:
        return read_named(content, layout, source, lenient=lenient)


NAMED_COLUMNS: FileFormat = NamedColumns()
