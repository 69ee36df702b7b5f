"""Scores that another tool has computed: read them topic by topic, and test the differences.

Read are trec_eval's `-q` output, what `ir_measures -q` prints, and the tsv, csv, json and parquet of `fathoms eval`.
Scores alone do not tell what unjudged documents or ties would change, so there are no ranges here, and a
difference is `significant` and no more.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fathoms import choices
from fathoms.choices import checked
from fathoms.comparison.compare import Comparison, Pair, chosen_baseline, compared
from fathoms.comparison.intervals import intervals
from fathoms.comparison.paired_tests import effect_interval, effect_size, paired_differences
from fathoms.comparison.ranges import NOTHING
from fathoms.comparison.sentences import tested
from fathoms.comparison.significance import CORRECTIONS, TESTS, Correction, Test, p_corrected, p_values
from fathoms.data.arrays import frame_of_rows
from fathoms.data.file_names import stem
from fathoms.data.files import read_bytes
from fathoms.data.formats.base import BOM, Content, split_names
from fathoms.data.formats.json import reason
from fathoms.data.runs import expand
from fathoms.data.topics import topic_order
from fathoms.errors import FathomsError, InputError, warn
from fathoms.measures.parse import parse_measure
from fathoms.text import p_words, pluralise

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("run", "topic", "measure", "score")
TEXTS = ("runid", "relstring")  # of what trec_eval prints, those that are no numbers
MEAN = "all"  # the topic under which trec_eval and we have the mean

Row = tuple[str, str, str, float | None]


def read_scores(source: Any) -> pl.DataFrame:
    """Scores by run, topic and measure, from files, folders or globs of what evaluation tools print.

    A run has the name of its file, or its own where the file names it. Measures have our names where they are known:
    `map` is `AP`. The means that such files end with are rows of topic `all`.
    """
    patterns = [source] if isinstance(source, str | os.PathLike) else list(source)
    rows: list[Row] = []
    for path in expand([os.fspath(pattern) for pattern in patterns]):
        rows += _rows(read_bytes(path), path)
    seen: set[tuple[str, str, str]] = set()
    for row in rows:
        if row[:3] in seen:
            raise InputError(f"run {row[0]}, topic {row[1]}, {row[2]} has two scores; give each file once")
        seen.add(row[:3])
    return frame_of_rows(COLUMNS, rows, COLUMNS[:3])


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
        found = json.loads(text)
        found = found if isinstance(found, list) else [found]
    except (ValueError, RecursionError):
        try:
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
        except (ValueError, RecursionError) as error:
            raise InputError(f"is not valid JSON: {reason(error)}", path) from None
    if not all(isinstance(record, dict) for record in found):
        raise InputError("expected records with topic, measure and score", path)
    return found


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
    """Our name of a measure, or the one it came with."""
    return parse_measure(name).name if _known(name) else name


def compare_scores(
    scores: Any,
    measures: Sequence[Any] | Any | None = None,
    *,
    test: Test = "t",
    correction: Correction = "holm",
    alpha: float = 0.05,
    baseline: str | None = None,
    seed: int = 0,
) -> pl.DataFrame:
    """Compare runs by the scores that some tool gave them: files as for `read_scores`, or a frame as it returns.

    The columns are those of `compare`; diff_low and diff_high are null, and the verdict is `significant`, `tie` or
    `open`, since scores alone do not tell what unjudged documents and ties could change. Runs are paired by topic, on
    the topics that all of them have.

    >>> import fathoms as fm
    >>> import polars as pl
    >>> scores = {"run": ["a"] * 3 + ["b"] * 3, "topic": ["1", "2", "3"] * 2, "measure": ["AP"] * 6}
    >>> table = fm.compare_scores(pl.DataFrame(scores | {"score": [0.5, 0.4, 0.6, 0.3, 0.1, 0.4]}), "AP")
    >>> table.select("run_a", "run_b", "verdict").row(0)
    ('a', 'b', 'significant')
    """
    result = comparison_of_scores(
        scores, measures, test=test, correction=correction, alpha=alpha, baseline=baseline, seed=seed
    )
    for note in result.notes:
        warn(note)
    return result.frame


class ScoreComparison(Comparison):
    """A comparison of scores that were computed elsewhere: nothing is known of judgments and ties."""

    @property
    def answer(self) -> list[str]:
        measures = dict.fromkeys(pair.measure for pair in self.pairs)
        return [f"{measure}: {_different(self, measure)}" for measure in measures]

    @property
    def remarks(self) -> list[str]:
        return [
            f"Tested: {tested(self)}, alpha {self.alpha:g}, over {pluralise(self.topics, 'topic')}.",
            "Scores alone do not say what unjudged documents and ties could change; give QRELS and runs for that.",
        ]


def comparison_of_scores(
    scores: Any,
    measures: Sequence[Any] | Any | None = None,
    *,
    test: Test = "t",
    correction: Correction = "holm",
    alpha: float = 0.05,
    baseline: str | None = None,
    seed: int = 0,
) -> ScoreComparison:
    import polars as pl

    checked("test", choices.one_of, TESTS, test)
    checked("correction", choices.one_of, CORRECTIONS, correction)
    alpha = checked("alpha", choices.share, alpha)
    table = scores if isinstance(scores, pl.DataFrame) else read_scores(scores)
    table = table.filter(pl.col("topic") != MEAN, pl.col("score").is_not_null())
    runs = table["run"].unique(maintain_order=True).to_list()
    if len(runs) < 2:
        raise FathomsError(
            "a comparison needs the scores by topic of at least two runs (trec_eval prints them with -q)"
        )
    if baseline is not None and baseline not in runs:
        baseline = _name(baseline)
    baseline = chosen_baseline(baseline, runs)
    notes: list[str] = []
    pairs: list[Pair] = []
    n_topics = 0
    for measure in chosen_measures(measures, table):
        values, topics = topic_block(table.filter(pl.col("measure") == measure), measure, runs, notes)
        n_topics = max(n_topics, len(topics))
        pairs += _pairs(measure, runs, values, test, correction, alpha, baseline, seed)
    return ScoreComparison(pairs, alpha, test, correction, n_topics, notes, baseline=baseline)


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


def _pairs(
    measure: str,
    runs: list[str],
    values: Any,
    test: Test,
    correction: Correction,
    alpha: float,
    baseline: str | None,
    seed: int,
) -> list[Pair]:
    a, b = compared(runs, baseline)
    differences = paired_differences(values, a, b)
    diff = differences.mean(axis=1)
    p = p_values(values, test, seed)[a, b]
    p_all = p_corrected(p, test, correction)
    low, high = intervals(values, a, b, test, correction, alpha, seed, p)
    columns = [runs_of.tolist() for runs_of in (diff, low, high, p, p_all, effect_size(differences))]
    ends = [end.tolist() for end in effect_interval(differences, alpha)]
    pairs = []
    for i in range(len(a)):
        verdict = "tie" if abs(diff[i]) <= NOTHING else "significant" if p_all[i] < alpha else "open"
        numbers = dict(zip(("diff", "ci_low", "ci_high", "p", "p_corrected", "effect"), columns, strict=True))
        values_of: dict[str, Any] = {name: column[i] for name, column in numbers.items()}
        ends_of: dict[str, Any] = {"effect_low": ends[0][i], "effect_high": ends[1][i]}
        pairs.append(Pair(runs[a[i]], runs[b[i]], measure, **values_of, **ends_of, verdict=verdict))
    return pairs


def _different(result: Comparison, measure: str) -> str:
    """Who leads, and from whom that run differs: not by which test a run is the better one."""
    pairs = [pair for pair in result.pairs if pair.measure == measure]
    found = [pair for pair in pairs if pair.verdict == "significant"]
    if len(pairs) == 1:
        (pair,) = pairs
        if pair.verdict == "tie":
            return f"{pair.run_a} and {pair.run_b} have the same mean."
        ahead, behind = (pair.run_a, pair.run_b) if pair.diff > 0 else (pair.run_b, pair.run_a)
        size = f"the difference, {abs(pair.diff):.4f}, is {'' if found else 'not '}significant"
        return f"{ahead} is ahead of {behind}; {size} (p {p_words(pair.p_corrected)})."
    every = f"{len(found):,} of {len(pairs):,}"
    if result.baseline is not None:
        return f"{every} runs {'differs' if len(found) == 1 else 'differ'} significantly from {result.baseline}."
    standing = result.standing(measure)
    first = [run for run, above in standing if above >= standing[0][1] - NOTHING]
    differ = f"{every} pairs {'differs' if len(found) == 1 else 'differ'} significantly."
    if len(first) > 1:
        return f"{len(first):,} runs share the highest mean; {differ}"
    won = sum(first[0] in (pair.run_a, pair.run_b) for pair in found)
    return f"{first[0]} leads, and differs significantly from {won:,} of the {len(standing) - 1:,} others; {differ}"
