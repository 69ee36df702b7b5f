"""Everything that is not TREC text: frames, dicts, parquet, JSON and ir_measures tuples, to one frame of columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from fathoms.data.trec import Layout, Table, Text
from fathoms.errors import InputError

NAMES = {
    "topic": ("topic", "query_id", "qid", "q_id", "query", "query-id", "topic_id"),
    "document": ("document", "doc", "doc_id", "docno", "docid", "corpus-id", "pid"),
    "score": ("score", "sim", "similarity"),
    "rank": ("rank",),
    "grade": ("grade", "relevance", "rel", "label", "score"),
}


def table_of(data: Any, layout: Layout, source: str) -> Table:
    """Rows from a polars or pandas frame, a {topic: {document: number}} dict, or ir_measures tuples."""
    if isinstance(data, Mapping):
        return _checked(_from_dict(data, layout, source), layout, source)
    if isinstance(data, pl.LazyFrame):
        data = data.collect()
    if isinstance(data, pl.DataFrame):
        return _checked(data, layout, source)
    if hasattr(data, "columns") and hasattr(data, "to_dict"):  # a pandas frame
        columns = {str(name): data[name].to_list() for name in data.columns}
        return _checked(pl.DataFrame(columns, strict=False), layout, source)
    if isinstance(data, Iterable):
        rows = [row._asdict() if hasattr(row, "_asdict") else row for row in data]
        if all(isinstance(row, Mapping) for row in rows):
            return _checked(pl.DataFrame(rows, infer_schema_length=None), layout, source)
    raise InputError(
        f"cannot read a {layout.kind} from {type(data).__name__}; give a file name, a polars or pandas frame, "
        "a dict {topic: {document: number}}, or ir_measures tuples",
        source,
    )


def parse_parquet(raw: bytes, layout: Layout, source: str) -> Table:
    try:
        frame = pl.read_parquet(raw)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"is not a readable parquet file ({error})", source) from None
    return _checked(frame, layout, source)


def parse_json(raw: bytes, layout: Layout, source: str) -> Table:
    """A {topic: {document: number}} object, a list of records, or one record a line (JSONL)."""
    try:
        data = json.loads(raw)
    except json.JSONDecodeError as whole:
        try:
            data = [json.loads(line) for line in raw.splitlines() if line.strip()]
        except json.JSONDecodeError:
            raise InputError(f"is not valid JSON: {whole.msg}", source, whole.lineno) from None
    if isinstance(data, list) and not all(isinstance(row, dict) for row in data):
        raise InputError("expected a list of records or an object {topic: {document: number}}", source)
    return table_of(data, layout, source)


def _from_dict(data: Mapping[Any, Any], layout: Layout, source: str) -> pl.DataFrame:
    topics: list[str] = []
    documents: list[str] = []
    numbers: list[float] = []
    for topic, ranking in data.items():
        if not isinstance(ranking, Mapping) or any(isinstance(number, Mapping) for number in ranking.values()):
            raise InputError(
                f"expected {{topic: {{document: {layout.number}}}}}, found {type(ranking).__name__} for {topic!r}",
                source,
            )
        topics += [str(topic)] * len(ranking)
        documents += map(str, ranking)
        numbers += ranking.values()
    try:
        column = pl.Series(numbers, dtype=pl.Float64, strict=True)
    except (TypeError, pl.exceptions.PolarsError):
        column = pl.Series([float(number) for number in numbers], dtype=pl.Float64)
    return pl.DataFrame({"topic": topics, "document": documents, layout.number: column})


def _checked(frame: pl.DataFrame, layout: Layout, source: str) -> Table:
    if frame.is_empty():
        raise InputError(f"has no rows; expected a {layout.kind}", source)
    columns: dict[str, pl.Series] = {}
    for wanted in ("topic", "document", layout.number):
        name = next((name for name in NAMES[wanted] if name in frame.columns), None)
        if name is None:
            raise InputError(
                f"has no column for the {wanted} (one of {', '.join(NAMES[wanted])}); "
                f"its columns are {', '.join(frame.columns)}",
                source,
            )
        columns[wanted] = frame[name]
    if "rank" in layout.columns and "rank" in frame.columns:
        columns["rank"] = frame["rank"]
    for name in ("topic", "document"):
        columns[name] = columns[name].cast(pl.String)
        if columns[name].null_count():
            raise InputError(f"row {columns[name].is_null().arg_max()} (from 0) has no {name}", source)
    numbers = {
        name: columns[name].cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy().copy()
        for name in (layout.number, "rank")
        if name in columns
    }
    bad = np.isnan(numbers[layout.number])
    if bad.any():
        row = int(bad.argmax())
        found = columns[layout.number][row]
        raise InputError(f"row {row} (from 0): expected a number as {layout.number}, found {found!r}", source)
    return Table(
        topic=_text(columns["topic"]),
        document=_text(columns["document"]),
        number=numbers[layout.number],
        source=source,
        rank=numbers.get("rank"),
        tag=str(frame["tag"][0]) if "tag" in layout.columns and "tag" in frame.columns else "",
    )


def _text(column: pl.Series) -> Text:
    encoded = [text.encode() for text in column.to_list()]
    width = -(-max(map(len, encoded)) // 8) * 8
    return np.array(encoded, dtype=f"S{max(8, width)}")
