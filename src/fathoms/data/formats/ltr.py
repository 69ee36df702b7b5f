"""Lines for learning to rank, as RankLib, LETOR and Quepid have them: `3 qid:1 1:0.2 2:0.1 # document`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fathoms.data.formats.base import BOM, Content, FileFormat, Match
from fathoms.data.formats.text import check_ids, lines_of, whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.data.lines import Layout, Table
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run

EXPECTED = "expected `grade qid:TOPIC feature:value ... # DOCUMENT`"
# As text, since `re` compiles each when it is first needed.
_LINE = rb"(?s)\s*(\S+)\s+qid:(\S+)(?:\s+[^\s#]\S*)*\s*(?:#(.*))?"
# `docid = GX029-35-5894638 inc = ...` of LETOR, `9296 query` and `9296; "query"` of Quepid.
_DOCUMENT = rb'\s*(?:docid\s*=\s*)?(\S+?)(?:;(?=\s+")|(?=\s)|$)'


class Ltr(FileFormat):
    name = "ltr"
    about = "lines of RankLib, LETOR and Quepid, `3 qid:1 1:0.2 2:0.1 # document`; features are not kept"
    reads = ("qrels", "values")
    writes = ("qrels",)
    endings = (".ltr", ".letor")

    def recognise(self, content: Content) -> Match:
        fields = content.fields
        ours = len(fields) > 1 and fields[1].startswith("qid:") and fields[0].lstrip("+-").replace(".", "", 1).isdigit()
        return Match.CERTAIN if ours else Match.NO

    def read(self, content: Content, layout: Layout, source: str, *, lenient: bool) -> Table:
        import numpy as np

        from fathoms.data import widths
        from fathoms.data.lines import Table, number_of, report

        topics: list[bytes] = []
        documents: list[bytes] = []
        numbers: list[float] = []
        places: list[int] = []
        complaints: list[tuple[int, str]] = []
        for place, line in enumerate(content.raw.removeprefix(BOM).splitlines(), 1):
            if not line.strip() or line.lstrip().startswith(b"#"):
                continue
            match = re.fullmatch(_LINE, line)
            document = None if match is None else re.match(_DOCUMENT, match[3] or b"")
            number = float("nan") if match is None else number_of(match[1])
            if match is None or document is None or not np.isfinite(number):
                what = (
                    "no document behind a #"
                    if match is not None and document is None
                    else repr(line[:60].decode(errors="replace"))
                )
                complaints.append((place, f"{EXPECTED}, found {what}"))
                continue
            topics.append(match[2])
            documents.append(document[1])
            numbers.append(number)
            places.append(place)
        skipped = report(complaints, len(numbers), source, lenient)
        topic = widths.of_bytes(topics, "topic", source, places)
        document_ids = widths.of_bytes(documents, "document", source, places)
        return Table(topic, document_ids, np.array(numbers), source, lines=np.array(places), skipped=skipped)

    def write(self, data: Run | Qrels, rows: NDArray[np.int64] | None = None) -> bytes:
        import polars as pl

        from fathoms.data import columns

        check_ids(data, self.name)
        frame = columns.exact_frame(data)
        kind = frame["topic"].dtype
        topic = (pl.lit("qid:").cast(kind) + pl.col("topic")).alias("topic")
        return lines_of(frame.select(whole("grade"), topic, pl.lit("#").alias("#"), "document"), " ")


LTR: FileFormat = Ltr()
