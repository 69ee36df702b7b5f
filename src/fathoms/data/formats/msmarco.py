"""MS MARCO's runs: three columns with tabs between them, the order of a topic's documents without scores."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from fathoms.data.formats.base import Content, FileFormat, Match
from fathoms.data.formats.text import TextFormat, by_score, check_ids, lines_of, places

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.data.lines import Layout, Table
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run

_LINE = rb"[^\t\s]+\t(?!Q0\t)[^\t\s]+\t[0-9]+\s*"


class MsMarco(TextFormat):
    name = "msmarco"
    about = "MS MARCO's `topic<TAB>document<TAB>rank`; the rank is the order"
    reads = ("run",)
    writes = ("run",)
    endings = (".tsv",)
    carries = frozenset({"ranks"})
    in_order = True

    def recognise(self, content: Content) -> Match:
        line = content.line
        return Match.NO if line is None or re.fullmatch(_LINE, line[0]) is None else Match.LIKELY

    def read(self, content: Content, layout: Layout, source: str, *, lenient: bool) -> Table:
        from fathoms.data import lines

        names = ("topic", "document", "rank")
        ranks = layout._replace(columns=names, number="rank", rest_in_last=False, finite=True)
        table = lines.parse(content.raw, ranks, source, lenient=lenient)
        return replace(table, number=-table.number, skipped=[*table.skipped, *_no_ranks(table)])

    def write(self, data: Run | Qrels, rows: NDArray[np.int64] | None = None) -> bytes:
        import polars as pl

        from fathoms.data import columns

        assert data.kind == "run"
        check_ids(data, self.name)
        order = by_score(data) if rows is None else rows
        ids = columns.exact_frame(data).select(pl.col("topic", "document").gather(order))
        return lines_of(ids.with_columns(rank=pl.Series(places(data, order))), "\t")


def _no_ranks(table: Table) -> list[str]:
    """A warning if the numbers of a topic do not count up from 1 or 0, line by line."""
    import numpy as np

    _, topic = np.unique(table.topic, return_inverse=True)
    order = np.argsort(topic, kind="stable")
    of_topic, ranks = topic[order], table.number[order]
    first = np.r_[True, of_topic[1:] != of_topic[:-1]]
    expected = np.where(first, np.isin(ranks, (0, 1)), np.r_[False, ranks[1:] == ranks[:-1] + 1])
    if expected.all():
        return []
    row = int(order[~expected].min())
    name = table.topic[row].decode(errors="replace")
    return [
        f"{table.source}: the third column is read as the rank, as in MS MARCO's runs, but in topic {name} it does not "
        f"count up from 1 line by line ({table.number[row]:g}); if it holds scores, put a first line "
        "topic<TAB>document<TAB>score above"
    ]


MSMARCO: FileFormat = MsMarco()
