"""One door for all input: whatever a run or a qrels comes as, it leaves here as a table of columns."""

from __future__ import annotations

import os
from typing import Any

from fathoms.data import trec
from fathoms.data.files import read_bytes
from fathoms.data.trec import Layout, Table


def load(source: Any, layout: Layout, *, lenient: bool = False, name: str | None = None) -> Table:
    """Rows of a file name, or of a frame, dict or list of tuples (`name` says what to call those in messages)."""
    if isinstance(source, str | os.PathLike):
        label = "standard input" if os.fspath(source) == "-" else os.fspath(source)
        return parse(read_bytes(source), layout, label, lenient=lenient)
    from fathoms.data import columns  # polars takes longer to import than most files to read

    return columns.table_of(source, layout, name or layout.kind, lenient=lenient)


def parse(raw: bytes, layout: Layout, source: str, *, lenient: bool = False) -> Table:
    """What the bytes are, they say themselves: parquet and JSON start as no TREC line would."""
    is_parquet = raw.startswith(b"PAR1")
    if is_parquet or raw[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        from fathoms.data import columns

        reader = columns.parse_parquet if is_parquet else columns.parse_json
        return reader(raw, layout, source, lenient=lenient)
    return trec.parse(raw, layout, source, lenient=lenient)
