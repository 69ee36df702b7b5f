"""Parquet as pyarrow writes it: columns of all types, missing values, and bytes that are flipped afterwards."""

from __future__ import annotations

import io
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz.case import Case, Plain, comparable, try_to_read

TEXTS = [pa.string(), pa.string(), pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())]
WHOLE = [pa.int64(), pa.int64(), pa.int8(), pa.int32(), pa.uint8(), pa.float64(), pa.decimal128(9, 2)]
REAL = [pa.float64(), pa.float64(), pa.float32(), pa.decimal128(20, 6), pa.float16()]
ANY = [
    pa.null(),
    pa.bool_(),
    pa.date32(),
    pa.timestamp("s"),
    pa.list_(pa.int64()),
    pa.int64(),
    pa.float64(),
    pa.string(),
]
PLAIN = (*TEXTS, pa.int64(), pa.int32(), pa.int8(), pa.uint8(), pa.float64(), pa.float32())


def make(rng: random.Random) -> Case:
    topics = [str(topic) for topic in range(1, rng.randint(2, 4))]
    rows = [(topic, f"d{id}") for topic in topics for id in rng.sample(range(12), rng.randint(1, 8))]
    names = rng.choice([("topic", "document"), ("query_id", "doc_id"), ("qid", "docno")])
    grades, plain_grades = _table(rng, rows, names, "grade", [rng.choice([0, 1, 2, 3]) for _ in rows], WHOLE)
    again = [(topic, f"d{id}") for topic in topics for id in rng.sample(range(12), rng.randint(1, 8))]
    numbers = [rng.choice([round(rng.gauss(3, 4), 2), 1.5]) for _ in again]
    scores, plain_scores = _table(rng, again, names, "score", numbers, REAL)
    facts = {"qrels": plain_grades, "run": plain_scores, "lenient": rng.random() < 0.2}
    return Case({"qrels": grades, "run": scores}, facts)


def _table(
    rng: random.Random, rows: list[tuple[str, str]], names: tuple[str, str], number: str, values: list[Any], types: Any
) -> tuple[bytes, Plain | None]:
    """A file, and what is in it where that is plain."""
    columns = {names[0]: [row[0] for row in rows], names[1]: [row[1] for row in rows], number: values}
    plain = True
    arrays: dict[str, Any] = {}
    for name, column in columns.items():
        type_ = rng.choice(types if name == number else TEXTS)
        if rng.random() < 0.03:
            type_ = rng.choice(ANY)
        if rng.random() < 0.03:
            column = [None if rng.random() < 0.2 else value for value in column]
        arrays[name] = _array(column, type_)
        plain = plain and type_ in PLAIN and arrays[name].null_count == 0
    if rng.random() < 0.05:
        arrays[rng.choice(["rank", "tag", "topic ", "other"])] = _array([None] * len(rows), rng.choice(ANY))
    if rng.random() < 0.03:
        del arrays[rng.choice(list(arrays))]
        plain = False
    buffer = io.BytesIO()
    compression = rng.choice(["snappy", "none", "zstd", "gzip", "lz4", "brotli"])
    pq.write_table(pa.table(arrays), buffer, compression=compression, row_group_size=rng.choice([None, 1, 5]))
    raw = bytearray(buffer.getvalue())
    if rng.random() < 0.25:
        plain = False
        for _ in range(rng.choice([1, 1, 2, 10])):
            raw[rng.randrange(4, len(raw))] ^= 1 << rng.randrange(8)
        if rng.random() < 0.1:
            del raw[rng.randrange(len(raw)) :]
    found: Plain = {}
    if plain:
        for (topic, document), value in zip(rows, arrays[number].to_pylist(), strict=True):
            found.setdefault(topic, {})[document] = float(value)
    return bytes(raw), found if plain else None


def _array(column: list[Any], type_: Any) -> Any:
    """Of the type where the values can be of it, else with nothing but missing ones."""
    if pa.types.is_decimal(type_) and isinstance(column[0], int | float):
        column = [None if value is None else Decimal(str(value)) for value in column]
    try:
        return pa.array(column, type_)
    except (pa.ArrowException, NotImplementedError, TypeError, ValueError):
        return pa.nulls(len(column), type_)


def check(case: Case) -> str:
    grades, scores = case.facts["qrels"], case.facts["run"]
    return try_to_read(case, grades if grades is not None and comparable(grades) else None, scores)
