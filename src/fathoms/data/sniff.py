"""A run or judgments? Told by content, where it is safe to tell."""

from __future__ import annotations

from typing import Literal

from fathoms.data.files import PARQUET, opened, read_bytes
from fathoms.data.load import NAMES, RANKS_LINE, first_line
from fathoms.data.mteb import MODEL
from fathoms.data.trec import QRELS, RUN

Kind = Literal["run", "qrels"]
RUN_NAMES = {"rank", "tag", "sim", "similarity"}
QRELS_NAMES = set(NAMES["grade"]) - {"score"}


def kind_of(path: str) -> Kind | None:
    """By the number of columns or by their names; None where both are possible."""
    try:
        with opened(path) as file:
            raw = file.read(1 << 16)
    except Exception:  # each codec has exceptions of its own
        raw = read_bytes(path)  # which says what is wrong
    if raw.startswith(PARQUET):
        return _by_names(_parquet_names(path))
    line = first_line(raw)
    if line is None:
        return None
    first = line[0].lstrip()
    if first[:1] in (b"{", b"["):
        head = raw.decode(errors="replace")
        if f'"{MODEL}"' in head:
            return "run"
        return _by_names({name for name in RUN_NAMES | QRELS_NAMES if f'"{name}":' in head})
    fields = first.decode(errors="replace").lower().split()
    topic, document = (set(NAMES[what]) & set(fields) for what in ("topic", "document"))
    if topic and document:  # a line that names the columns
        return _by_names(set(fields))
    if RANKS_LINE.fullmatch(first) or len(fields) >= len(RUN.columns):
        return "run"
    return "qrels" if len(fields) == len(QRELS.columns) else None


def _by_names(names: set[str]) -> Kind | None:
    run, qrels = bool(names & RUN_NAMES), bool(names & QRELS_NAMES)
    return None if run == qrels else "run" if run else "qrels"


def _parquet_names(path: str) -> set[str]:
    import polars as pl

    try:
        return set(pl.read_parquet_schema(path))
    except (pl.exceptions.PolarsError, OSError):
        return set()
