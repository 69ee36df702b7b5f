"""Scores that another tool computed, read topic by topic."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fathoms.base.arrays import frame_of_rows
from fathoms.base.errors import FathomsError, InputError
from fathoms.base.files import read_bytes
from fathoms.base.provenance import ENDING, KEY
from fathoms.base.text import pluralise
from fathoms.data.file_names import stem
from fathoms.data.formats.base import BOM, Content, split_names
from fathoms.data.formats.json import reason
from fathoms.data.runs import expand
from fathoms.data.topics import topic_order
from fathoms.measures.parse import parse_measure

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("run", "topic", "measure", "score")
TEXTS = ("runid", "relstring")  # what trec_eval prints that is not a number
MEAN = "all"  # the topic under which trec_eval and we have the mean
Row = tuple[str, str, str, float | None]


def read_scores(source: Any) -> pl.DataFrame:
    """Scores by run, topic and measure, from files, folders or globs of what evaluation tools print.

    A run has the name of its file, or its own where the file names it. Measures have our names where they are known:
    `map` is `AP`. The means that such files end with are rows of topic `all`.
    """
    patterns = [source] if isinstance(source, str | os.PathLike) else list(source)
    rows: list[Row] = []
    judged: dict[str, str] = {}  # by fingerprint of the judgments, the first file made with them
    for path in expand([os.fspath(pattern) for pattern in patterns]):
        if path.endswith(ENDING):
            continue
        raw = read_bytes(path)
        rows += _rows(raw, path)
        fingerprint = _judgments(raw, path)
        if fingerprint is not None:
            judged.setdefault(fingerprint, path)
    if len(judged) > 1:
        (judgments, first), (other, second), *_ = judged.items()
        raise FathomsError(
            f"{first} was scored with the judgments {judgments}, {second} with {other}; score both with the same ones"
        )
    seen: set[tuple[str, str, str]] = set()
    for row in rows:
        if row[:3] in seen:
            raise InputError(f"run {row[0]}, topic {row[1]}, {row[2]} has two scores; give each file once")
        seen.add(row[:3])
    return frame_of_rows(COLUMNS, rows, COLUMNS[:3])


def _judgments(raw: bytes, path: str) -> str | None:
    """The fingerprint of the judgments that scores were made with, where a file or the one beside it says so."""
    record = None
    if Content(raw).container == "parquet":
        import polars as pl

        record = pl.read_parquet_metadata(io.BytesIO(raw)).get(KEY)
    elif os.path.isfile(path + ENDING):
        record = read_bytes(path + ENDING).decode(errors="replace")
    try:
        return None if record is None else json.loads(record)["judgments"]["fingerprint"]
    except (ValueError, KeyError, TypeError):
        return None


def _name(path: str) -> str:
    return "stdin" if path == "-" else stem(path).removesuffix(".eval")


def _rows(raw: bytes, path: str) -> list[Row]:
    name = _name(path)
    container = Content(raw).container
    if container == "parquet":
        return _of_records(_parquet_records(raw, path), name, path)
    text = raw.removeprefix(BOM).decode(errors="surrogateescape")
    if not text.strip():
        raise InputError("the file is empty; expected scores by topic", path)
    if container == "json":
        return _of_records(_json_records(text, path), name, path)
    header = text.split("\n", 1)[0].rstrip("\r")
    for separator in ("\t", ","):
        if {"topic", "measure", "score"} <= set(split_names(header, separator)):
            return _of_records(list(csv.DictReader(io.StringIO(text), delimiter=separator)), name, path)
    return _of_lines(text, name, path)


def _parquet_records(raw: bytes, path: str) -> list[dict[str, Any]]:
    import polars as pl

    try:
        return pl.read_parquet(raw).to_dicts()
    except pl.exceptions.PolarsError as error:
        raise InputError(f"is not a readable parquet file ({error})", path) from None


def _json_records(text: str, path: str) -> list[dict[str, Any]]:
    """A list of records, or one per line, as `ir_measures -q --output jsonl` prints."""
    try:
        records = json.loads(text)
        records = records if isinstance(records, list) else [records]
    except (ValueError, RecursionError):
        try:
            records = [json.loads(line) for line in text.splitlines() if line.strip()]
        except (ValueError, RecursionError) as error:
            raise InputError(f"is not valid JSON: {reason(error)}", path) from None
    if not all(isinstance(record, dict) for record in records):
        raise InputError("expected records with topic, measure and score", path)
    return records


def _of_records(records: Sequence[Mapping[str, Any]], name: str, path: str) -> list[Row]:
    rows: list[Row] = []
    for number, record in enumerate(records, 1):
        topic, score = record.get("topic", record.get("query_id", MEAN)), record.get("score", record.get("value"))
        if "measure" not in record or not {"score", "value"} & record.keys():
            raise InputError(f"row {number}: expected topic, measure and score, found {', '.join(record)}", path)
        rows.append(
            (str(record.get("run", name)), str(topic), _measure(str(record["measure"])), _number(score, path, number))
        )
    return rows


def _of_lines(text: str, name: str, path: str) -> list[Row]:
    """Lines `measure topic score`, as trec_eval prints, or `topic measure score`, as ir_measures does."""
    numbered = enumerate(text.encode(errors="surrogateescape").splitlines(), 1)
    lines = [
        (number, [word.decode(errors="surrogateescape") for word in line.split()])  # at the blanks of ASCII alone
        for number, line in numbered
        if line.strip()
    ]
    for number, fields in lines:
        if len(fields) not in (2, 3) and fields[0] not in TEXTS:
            raise InputError(
                f"expected `measure topic score` as `trec_eval -q` prints, found {' '.join(fields)[:60]!r}",
                path,
                number,
            )
    # ir_measures has the measure second, or first in a line of two: its names parse, and topics' do not.
    threes = [fields for _, fields in lines if len(fields) == 3 and fields[0] not in TEXTS]
    measure_second = bool(threes) and all(fields[1] != MEAN and _known(fields[1]) for fields in threes)
    rows: list[Row] = []
    for number, fields in lines:
        if fields[0] in TEXTS:
            continue
        if len(fields) == 2:
            measure, topic = fields[0], MEAN
        else:
            measure, topic = (fields[1], fields[0]) if measure_second else (fields[0], fields[1])
        rows.append((name, topic, _measure(measure), _number(fields[-1], path, number)))
    return rows


def _number(value: Any, path: str, number: int) -> float | None:
    if value is None or value == "":
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"expected a number as score, found {value!r}", path, number) from None


def _known(name: str) -> bool:
    try:
        parse_measure(name)
    except FathomsError:
        return False
    return True


def _measure(name: str) -> str:
    """Our name for a measure, or the one it came with."""
    return parse_measure(name).name if _known(name) else name


def chosen_measures(measures: Sequence[Any] | Any | None, table: pl.DataFrame) -> list[str]:
    there = table["measure"].unique(maintain_order=True).to_list()
    if measures is None:
        return there
    several = measures if isinstance(measures, Sequence) and not isinstance(measures, str) else [measures]
    wanted = [_measure(str(measure)) for measure in several]
    for measure in wanted:
        if measure not in there:
            raise FathomsError(f"there are no scores of {measure}; there are those of {', '.join(there)}")
    return list(dict.fromkeys(wanted))


def topic_block(table: pl.DataFrame, measure: str, runs: list[str], notes: list[str]) -> tuple[Any, list[str]]:
    """Scores as [run, topic], on the topics that all runs have."""
    import polars as pl

    counts = table.group_by("topic", maintain_order=True).agg(pl.col("run").n_unique())
    shared = counts.filter(pl.col("run") == len(runs))["topic"].to_list()
    if not shared:
        raise FathomsError(f"{measure}: no topic has a score of every run; do all files hold it, topic by topic?")
    if len(shared) < len(counts):
        left = counts.filter(pl.col("run") < len(runs))["topic"].to_list()
        shown = ", ".join(left[:5]) + (", ..." if len(left) > 5 else "")
        notes.append(f"{measure}: left out {pluralise(len(left), 'topic')} without a score of every run: {shown}")
    topics = [shared[i] for i in topic_order(shared)]
    place = {topic: i for i, topic in enumerate(topics)}
    row = {run: i for i, run in enumerate(runs)}
    used = table.filter(pl.col("topic").is_in(shared))
    values = np.empty((len(runs), len(topics)))
    rows, columns = [row[run] for run in used["run"]], [place[topic] for topic in used["topic"]]
    values[rows, columns] = used["score"].to_numpy()
    return values, topics
