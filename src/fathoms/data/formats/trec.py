"""TREC's lines: `topic Q0 document rank score tag` of a run, `topic iteration document grade` of judgments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathoms.data.column_names import Kind
from fathoms.data.formats.base import Content, FileFormat, Match
from fathoms.data.formats.text import TextFormat, by_score, check_ids, lines_of, places, whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.data.lines import Layout, Table
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run

RUN_COLUMNS, QRELS_COLUMNS = 6, 4


class Trec(TextFormat):
    name = "trec"
    about = (
        "TREC's lines, `topic Q0 document rank score tag` or `topic iteration document grade`, with "
        "[ir_metadata](ecosystem.md#ir_metadata) or without"
    )
    reads = ("run", "qrels", "values")
    writes = ("run", "qrels")
    endings = (".run", ".trec", ".txt", ".res", ".qrels", ".runs")
    loses = "iterations of judgments"
    fills = frozenset({"ranks", "tag"})
    no_iteration = "has 0 in its place"

    def recognise(self, content: Content) -> Match:
        fields = content.fields
        number = 4 if len(fields) >= RUN_COLUMNS else 3 if len(fields) == QRELS_COLUMNS else None
        return Match.LIKELY if number is not None and is_number(fields[number]) else Match.POSSIBLE

    def kinds(self, content: Content) -> frozenset[Kind]:
        n = len(content.fields)
        if n >= RUN_COLUMNS:
            return frozenset({"run"})
        return frozenset({"qrels"} if n == QRELS_COLUMNS else {"run", "qrels"})

    def read(self, content: Content, layout: Layout, source: str, *, lenient: bool) -> Table:
        from fathoms.data import lines

        if layout is lines.VALUES:  # a score or a grade is a value
            n = len(content.fields)
            layout = lines.RUN if n >= RUN_COLUMNS else lines.QRELS if n == QRELS_COLUMNS else layout
        return lines.parse(content.raw, layout, source, lenient=lenient)

    def write(self, data: Run | Qrels, rows: NDArray[np.int64] | None = None) -> bytes:
        from fathoms.data import metadata

        check_ids(data, self.name)
        if data.kind == "qrels":
            return data.lines().encode(errors="surrogateescape")
        return metadata.header(data.path) + run_lines(data)

    def ending(self, kind: Kind) -> str:
        return ".run" if kind == "run" else ".txt"


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def run_lines(run: Run, *, whole_scores: bool = False) -> bytes:
    """A run's lines in the order of its rows; where it has no ranks, places by score are written. With `whole_scores`
    a whole score is 1 and not 1.0."""
    import numpy as np
    import polars as pl

    from fathoms.data import columns

    frame = columns.exact_frame(run)
    if run.ranks is None:
        order = by_score(run)
        ranks = np.empty(len(run), dtype=np.int64)
        ranks[order] = places(run, order)
        frame = frame.with_columns(rank=pl.Series(ranks))
    tag = " ".join((run.tag or run.name).split()) or "run"
    score = whole("score") if whole_scores else pl.col("score")
    table = frame.select("topic", pl.lit("Q0").alias("Q0"), "document", "rank", score, pl.lit(tag).alias("tag"))
    return lines_of(table, " ")


TREC: FileFormat = Trec()
