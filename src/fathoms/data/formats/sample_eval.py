"""Qrels of NIST's sample_eval, a sample of a pool: `topic 0 document stratum grade`, with grade -1 for what was not
drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathoms.base.text import pluralise
from fathoms.data.formats.base import Content, FileFormat, Match
from fathoms.data.formats.text import TextFormat, check_ids, lines_of, whole
from fathoms.data.formats.trec import is_number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.data.lines import Layout, Table
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run

COLUMNS = ("topic", "iteration", "document", "stratum", "grade")


class SampleEval(TextFormat):
    name = "sample-eval"
    about = (
        "sample_eval's `topic 0 document stratum grade`, a sample of a pool, -1 for what was not drawn; "
        "[estimates](sampling.md) use the strata"
    )
    reads = ("qrels", "values")
    writes = ("qrels",)
    endings = (".sample_eval",)
    loses = "strata, where `--sampled` does not name them"

    def recognise(self, content: Content) -> Match:
        fields = content.fields
        ours = len(fields) == len(COLUMNS) and fields[1].isdigit() and is_number(fields[4])
        return Match.LIKELY if ours else Match.NO

    def read(self, content: Content, layout: Layout, source: str, *, lenient: bool) -> Table:
        from dataclasses import replace

        import numpy as np

        from fathoms.data import lines

        named = layout._replace(columns=(*COLUMNS[:4], layout.number), number=layout.number, rest_in_last=False)
        table = lines.parse(content.raw, named, source, lenient=lenient)
        out = int((table.number < 0).sum())
        if layout.kind == "values":
            kept = table.number >= 0
            places = np.array([table.line(row) for row in np.flatnonzero(kept).tolist()])
            return replace(
                table, topic=table.topic[kept], document=table.document[kept], number=table.number[kept], lines=places
            )
        note = (
            f"{source}: {out:,} of {pluralise(len(table.number), 'document')} of the pool not in the sample (-1), so "
            f"unjudged; `predict --sampled {source}` estimates what the whole pool would have given"
        )
        return replace(table, negatives=note)

    def write(self, data: Run | Qrels, rows: NDArray[np.int64] | None = None) -> bytes:
        """All in one stratum, which is what a sample without strata is."""
        import polars as pl

        from fathoms.data import columns

        check_ids(data, self.name)
        frame = columns.exact_frame(data)
        zero, stratum = pl.lit("0").alias("iteration"), pl.lit("1").alias("stratum")
        return lines_of(frame.select("topic", zero, "document", stratum, whole("grade")), " ")


SAMPLE_EVAL: FileFormat = SampleEval()
