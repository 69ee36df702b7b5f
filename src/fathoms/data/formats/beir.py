"""BEIR's judgments, a table with its own names of columns; its runs are JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathoms.data.column_names import Kind
from fathoms.data.formats.base import Content, FileFormat, Match
from fathoms.data.formats.json import JSON
from fathoms.data.formats.named_columns import NamedColumns
from fathoms.data.formats.text import check_whole_grades, named_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run

COLUMNS = ["query-id", "corpus-id", "score"]


class Beir(NamedColumns):
    name = "beir"
    about = (
        "BEIR's judgments, a header `query-id<TAB>corpus-id<TAB>score` and lines of these, quoted as in CSV where "
        "needed; BEIR's runs are written as `json`"
    )
    writes = ("run", "qrels")
    endings = (".tsv",)
    carries = JSON.carries
    loses = "fractional grades"
    run_as = JSON.name

    def recognise(self, content: Content) -> Match:
        return Match.CERTAIN if content.fields == COLUMNS else Match.NO

    def write(self, data: Run | Qrels, rows: NDArray[np.int64] | None = None) -> bytes:
        if data.kind == "run":
            return JSON.write(data)
        check_whole_grades(data, "BEIR")
        return named_rows(data, dict(zip(("topic", "document", "grade"), COLUMNS, strict=True)), "\t")

    def ending(self, kind: Kind) -> str:
        return JSON.ending(kind) if kind == "run" else self.endings[0]


BEIR: FileFormat = Beir()
