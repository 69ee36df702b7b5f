"""Records with named columns, one per line, or all in a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathoms.data.formats.base import Content, FileFormat, Match
from fathoms.data.formats.json import JsonFormat, check_fits, is_record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run


class Jsonl(JsonFormat):
    name = "jsonl"
    about = "records with the columns of `parquet`, one per line; a list of them is read too"
    reads = ("run", "qrels", "values")
    writes = ("run", "qrels")
    endings = (".jsonl",)
    carries = frozenset({"scores", "ranks", "tag"})

    def recognise(self, content: Content) -> Match:
        value = content.json
        first = value[0] if isinstance(value, list) and value else value
        return Match.LIKELY if is_record(first) else Match.NO

    def write(self, data: Run | Qrels, rows: NDArray[np.int64] | None = None) -> bytes:
        from fathoms.data import columns

        check_fits(data, self.name)
        text: str = columns.exact_frame(data).write_ndjson()
        return text.encode()


JSONL: FileFormat = Jsonl()
