"""CSV: a first line of names, commas (or semicolons, or bars) between fields, quotes around those that need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from fathoms.data.column_names import Kind, kinds_by_names
from fathoms.data.formats.base import Content, FileFormat, Match
from fathoms.data.formats.text import named_rows, read_named

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.data.lines import Layout, Table
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run

RUN = {name: name for name in ("topic", "document", "rank", "score", "tag")}
QRELS = {name: name for name in ("topic", "document", "grade")}


class Csv(FileFormat):
    name = "csv"
    about = (
        "a table with commas, semicolons or bars and quotes, its columns under [these names](input.md#csv-json-frames)"
    )
    reads = ("run", "qrels", "values")
    writes: ClassVar[tuple[Kind, ...]] = ("run", "qrels")
    endings = (".csv",)
    carries = frozenset({"scores", "ranks", "tag"})

    def recognise(self, content: Content) -> Match:
        return Match.LIKELY if names_of(content) else Match.NO

    def kinds(self, content: Content) -> frozenset[Kind]:
        return kinds_by_names(names_of(content))

    def read(self, content: Content, layout: Layout, source: str, *, lenient: bool) -> Table:
        return read_named(content, layout, source, lenient=lenient)

    def write(self, data: Run | Qrels, rows: NDArray[np.int64] | None = None) -> bytes:
        return named_rows(data, RUN if data.kind == "run" else QRELS, ",")


def names_of(content: Content) -> list[str]:
    """The names of the columns, if the first line has them with commas or the like between them."""
    header = content.header
    return [] if header is None or header[0] in (None, "\t") else header[1]


CSV: FileFormat = Csv()
