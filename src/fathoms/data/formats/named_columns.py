"""Text whose first line names its columns, in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathoms.base.errors import InputError
from fathoms.data.column_names import Kind, column_for, kinds_by_names
from fathoms.data.formats.base import Content, FileFormat, Match
from fathoms.data.formats.csv import QRELS, RUN
from fathoms.data.formats.text import TextFormat, header_line, named_rows, names_columns, read_named
from fathoms.data.split import read_span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.data.lines import Layout, Table
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run


class NamedColumns(TextFormat):
    name = "named-columns"
    about = (
        "text whose first line names its columns, in any order, under [these names](input.md#csv-json-frames); "
        "between tabs ids may have blanks and quotes as in CSV"
    )
    reads = ("run", "qrels", "values")
    writes = ("run", "qrels")
    endings = (".named.tsv",)
    carries = frozenset({"scores", "ranks", "tag"})

    def recognise(self, content: Content) -> Match:
        return Match.LIKELY if names_columns(content) else Match.NO

    def kinds(self, content: Content) -> frozenset[Kind]:
        return kinds_by_names(_names(content))

    def split(self, path: str, content: Content) -> list[tuple[Any, ...]]:
        """Text is cut where the first column changes, so that has to be the topic."""
        names = _names(content)
        return super().split(path, content) if column_for("topic", names) == names[0] else []

    def read_part(self, path: str, place: tuple[Any, ...], layout: Layout) -> Table:
        if b"\t" in place[2] and b'"' in read_span(path, place[:2]):
            raise InputError("has quotes, inside of which lines may end", path)
        return super().read_part(path, place, layout)

    def header(self, content: Content) -> bytes:
        return header_line(content) if names_columns(content) else b""

    def read(self, content: Content, layout: Layout, source: str, *, lenient: bool) -> Table:
        return read_named(content, layout, source, lenient=lenient)

    def write(self, data: Run | Qrels, rows: NDArray[np.int64] | None = None) -> bytes:
        return named_rows(data, RUN if data.kind == "run" else QRELS, "\t")


def _names(content: Content) -> list[str]:
    header = content.header
    return [] if header is None else header[1]


NAMED_COLUMNS: FileFormat = NamedColumns()
