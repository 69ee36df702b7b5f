"""Queries as topics, and titles as documents: every command on a collection with blanks, quotes, commas, tabs and line
ends in its ids, held against the same collection with plain ones. What is written comes back as the same ids, or is
refused.

Tabs and line ends inside ids are allowed: CSV and TSV quote them, JSON and parquet have no trouble with them.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest

import fathoms as fm
from fathoms.base import charts
from fathoms.cli.app import COMMANDS
from fathoms.data.convert import content as written
from fathoms.data.formats import registry
from tests.support.commands import Command

TOPICS = sorted(
    ["star wars", 'naïve "quoted", comma', "日本 語", "a\tb", "#hash; semicolon", "two\r\nlines", " blanks around "],
    key=lambda topic: topic.encode(),
)
RUNS = ["r0", "r1", "r2"]
COVERED: set[str] = set()  # commands that some test here ran


def awkward(document: str) -> str:
    """Ids that sort as the plain ones do."""
    return f'A "title", with\ttab {document}'


def rename(data: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    names = dict(zip((f"t{i}" for i in range(len(TOPICS))), TOPICS, strict=True))
    return {names[topic]: {awkward(id): number for id, number in found.items()} for topic, found in data.items()}


def collection() -> tuple[dict[str, dict[str, float]], dict[str, dict[str, dict[str, float]]]]:
    """Three runs of some documents of each topic, with a third of them unjudged."""
    qrels: dict[str, dict[str, float]] = {}
    runs: dict[str, dict[str, dict[str, float]]] = {name: {} for name in RUNS}
    for t in range(len(TOPICS)):
        topic = f"t{t}"
        qrels[topic] = {f"d{d}": float((d * 7 + t) % 4 == 0) for d in range(12) if (d + t) % 3}
        for r, name in enumerate(RUNS):
            order = sorted(range(12), key=lambda d: (d * (5 + 2 * r) + t * 3) % 13)
            runs[name][topic] = {f"d{d}": float(12 - i) for i, d in enumerate(order[: 9 + r])}
    return qrels, runs


@pytest.fixture
def both(fathoms: Command) -> Command:
    """Two folders, `plain` and `odd`, with qrels.csv and runs/*.csv; and a command that is noted."""
    qrels, runs = collection()
    for folder, change in (("plain", lambda data: data), ("odd", rename)):
        (Path(folder) / "runs").mkdir(parents=True)
        (Path(folder) / "qrels.csv").write_bytes(written(fm.read_qrels(change(qrels)), "csv"))
        for name, ranking in runs.items():
            raw = written(fm.read_run(change(ranking), name=name), "csv")
            (Path(folder) / "runs" / f"{name}.csv").write_bytes(raw)

    def run(*words: object) -> Any:
        COVERED.add(str(words[0]))
        return fathoms(*words)

    return run


PLAIN = dict(zip(TOPICS, (f"t{i}" for i in range(len(TOPICS))), strict=True))


def plain(cell: Any) -> Any:
    """A cell of the odd collection as it is in the plain one."""
    if isinstance(cell, str):
        if cell in PLAIN:
            return PLAIN[cell]
        return cell.removeprefix('A "title", with\ttab ').replace("odd/", "plain/")
    return cell


def table(text: str, separator: str = "\t") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), delimiter=separator))


def same_rows(both: Command, *words: str, format: str = "tsv") -> list[dict[str, Any]]:
    """The rows of a command on both collections, which are the same but for the ids."""
    found = {}
    for folder in ("plain", "odd"):
        here = [word.replace("%", folder) for word in words]
        out = Path(folder) / f"out.{format}"
        done = both(*here, "--format", format, "-o", out, "--quiet")
        assert done.status == 0, done.err
        if format == "parquet":
            found[folder] = pl.read_parquet(out).to_dicts()
        elif format == "json":
            found[folder] = json.loads(out.read_text())
        else:
            found[folder] = table(out.read_bytes().decode(), "," if format == "csv" else "\t")
    assert found["plain"]
    assert [{name: plain(cell) for name, cell in row.items()} for row in found["odd"]] == found["plain"]
    rows: list[dict[str, Any]] = found["odd"]
    return rows


MEASURES = ("-m", "nDCG@5", "-m", "P@5")


@pytest.mark.parametrize("format", ["tsv", "csv", "json", "parquet"])
def test_eval_by_topic(both: Command, format: str) -> None:
    rows = same_rows(both, "eval", "%/qrels.csv", "%/runs", *MEASURES, "--by-topic", format=format)
    assert {row["topic"] for row in rows} == {*TOPICS, "all"}


def test_eval_for_people(both: Command) -> None:
    for format in ("table", "latex"):
        done = both("eval", "odd/qrels.csv", "odd/runs", *MEASURES, "--by-topic", "--format", format)
        assert done.status == 0
        assert "star wars" in done.out
        assert "日本 語" in done.out


def test_scores_come_back(both: Command) -> None:
    """What `eval --by-topic` writes is read by `plan --from-scores`."""
    for format in ("tsv", "csv", "json", "parquet"):
        out = f"scores.{format}"
        both("eval", "odd/qrels.csv", "odd/runs", "-m", "AP", "--by-topic", "--format", format, "-o", out)
        done = both("plan", "--from-scores", out, "-m", "AP", "--format", "tsv")
        assert done.status == 0, done.err
        assert set(fm.read_scores(out)["topic"]) == {*TOPICS, "all"}


def test_trec_evals_layout_refuses(both: Command) -> None:
    words = ("odd/qrels.csv", "odd/runs/r0.csv")
    done = both("eval", *words, "-m", "AP", "--by-topic", "--format", "trec_eval")
    assert done.status == 2
    assert "has a blank in it, so trec_eval's layout cannot carry it; `fathoms eval --by-topic` with" in done.err
    assert both("eval", *words, "-m", "AP", "--format", "trec_eval").status == 0  # means alone are no trouble
    done = both("trec_eval", "-q", *words)
    assert done.status == 2
    assert "trec_eval's layout cannot carry it" in done.err
    assert both("trec_eval", *words).status == 0


def test_trecs_text_refuses(both: Command) -> None:
    for words in (
        ("convert", "odd/qrels.csv", "-o", "out.txt"),
        ("convert", "odd/runs/r0.csv", "-o", "out.run"),
        ("pool", "odd/runs", "--qrels", "odd/qrels.csv", "--depth", 5, "-o", "out.txt"),
        ("ties", "odd/qrels.csv", "odd/runs", "--fix", "fixed"),
        ("band", "odd/runs/r0.csv", "--rho", "1.5", "-o", "banded"),
        ("judge", "odd/qrels.csv", "odd/runs", "--oracle", "odd/qrels.csv", "--export", "out.txt", "--session", "s.db"),
    ):
        done = both(*words)
        assert done.status == 2, words
        assert "has a blank in it, so" in done.err, done.err
        assert "csv, " in done.err
        assert not Path("out.txt").is_file()
        assert not Path("s.db").exists()  # found out before anything is judged


@pytest.mark.parametrize("kind", ["run", "qrels"])
def test_convert_between_all(both: Command, kind: str) -> None:
    source = "odd/qrels.csv" if kind == "qrels" else "odd/runs/r0.csv"
    read = fm.read_qrels if kind == "qrels" else fm.read_run
    expected = read(source).to_dict()
    carried = set()
    for format in registry.writable(kind):  # type: ignore[arg-type]
        out = Path(f"out{format.ending(kind)}")  # type: ignore[arg-type]
        done = both("convert", source, "-o", out, "--to", format.name, "--kind", kind)
        if done.status == 2:
            assert "has a blank in it" in done.err, done.err
            continue
        back = read(out).to_dict()
        if kind == "qrels" or "scores" in format.carries:
            assert back == expected, format.name
            carried.add(format.name)
        again = Path("again.csv")
        assert both("convert", out, "-o", again, "--kind", kind).status == 0
        assert read(again).to_dict() == back
    text = {"trec", "ltr", "sample-eval"} if kind == "qrels" else {"trec", "msmarco"}
    assert carried == {format.name for format in registry.writable(kind)} - text  # type: ignore[arg-type]


def test_compare_and_judge_first(both: Command) -> None:
    rows = same_rows(both, "compare", "%/qrels.csv", "%/runs", "-m", "nDCG@5", "--draws", "20")
    assert rows
    both("compare", "odd/qrels.csv", "odd/runs", "-m", "P@5", "--draws", "0", "--explain-to", "first.tsv")
    named = [(row["topic"], row["document"]) for row in table(Path("first.tsv").read_bytes().decode())]
    assert named
    assert {topic for topic, _ in named} <= set(TOPICS)
    shown = both("compare", "odd/qrels.csv", "odd/runs", "-m", "P@5", "--draws", "0", "--explain")
    assert shown.status == 0
    judged = ("--oracle", "odd/qrels.csv", "--budget", 3, "--session", "s.db")
    done = both("judge", "none", "odd/runs", "--first", "first.tsv", *judged, "--export", "out.csv")
    assert done.status == 0, done.err
    made = [(row["topic"], row["document"]) for row in table(Path("out.csv.provenance.tsv").read_bytes().decode())]
    assert made == list(dict.fromkeys(named))[:3]
    assert {(t, d) for t, found in fm.read_qrels("out.csv").to_dict().items() for d in found} == set(made)


@pytest.mark.parametrize("ending", [".csv", ".json", ".jsonl", ".quepid.csv", ".parquet"])
def test_judge_exports(both: Command, ending: str) -> None:
    out = f"out{ending}"
    words = ("--oracle", "odd/qrels.csv", "--budget", 4, "--session", "s.db", "--export", out)
    done = both("judge", "odd/qrels.csv", "odd/runs", *words)
    assert done.status == 0, done.err
    found, before = fm.read_qrels(out).to_dict(), fm.read_qrels("odd/qrels.csv").to_dict()
    assert {topic: found[topic] | before[topic] for topic in before} == found
    rows = table(Path(f"{out}.provenance.tsv").read_bytes().decode())
    assert {row["topic"] for row in rows} <= set(TOPICS)


def test_batches(both: Command) -> None:
    done = both("judge", "none", "odd/runs", "--batch", 5, "--to", "batch.tsv", "--session", "s.db")
    assert done.status == 0, done.err
    rows = table(Path("batch.tsv").read_bytes().decode())
    assert len(rows) == 5
    with open("batch.tsv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], delimiter="\t")
        writer.writeheader()
        writer.writerows({**row, "grade": 1} for row in rows)
    words = ("--answers", "batch.tsv", "--session", "s.db", "--resume", "--export", "out.csv")
    done = both("judge", "none", "odd/runs", *words)
    assert done.status == 0, done.err
    found = {(topic, id) for topic, ids in fm.read_qrels("out.csv").to_dict().items() for id in ids}
    assert found == {(row["topic"], row["document"]) for row in rows}


def test_pools_and_samples(both: Command) -> None:
    for folder in ("plain", "odd"):
        both("pool", f"{folder}/runs", "--depth", 4, "-o", f"{folder}/pool.tsv")
        both("pool", f"{folder}/runs", "--sample", 40, "--design", "depth", "-o", f"{folder}/sample.tsv")
    for name in ("pool.tsv", "sample.tsv"):
        odd, simple = (table(Path(folder, name).read_bytes().decode()) for folder in ("odd", "plain"))
        assert [{name: plain(cell) for name, cell in row.items()} for row in odd] == simple
    # `judge --first` takes either list.
    words = ("--oracle", "odd/qrels.csv", "--budget", 2, "--export", "out.csv")
    for name in ("pool.tsv", "sample.tsv"):
        done = both("judge", "none", "odd/runs", "--first", f"odd/{name}", *words, "--session", f"{name}.db")
        assert done.status == 0, done.err
    done = both("pool", "odd/runs", "--qrels", "odd/qrels.csv", "--depth", 3, "-o", "shallow.csv")
    assert done.status == 0, done.err
    assert set(fm.read_qrels("shallow.csv").topics) == set(TOPICS)


def test_estimates_from_a_sample(both: Command) -> None:
    for folder in ("plain", "odd"):
        both("pool", f"{folder}/runs", "--sample", 40, "--design", "depth", "-o", f"{folder}/sample.tsv")
        sample = [row for row in table(Path(folder, "sample.tsv").read_bytes().decode()) if row["sampled"] == "1"]
        grades: dict[str, dict[str, float]] = {}
        for i, row in enumerate(sample):
            grades.setdefault(row["topic"], {})[row["document"]] = float(i % 3 == 0)
        Path(folder, "judged.csv").write_bytes(written(fm.read_qrels(grades), "csv"))
    words = ("predict", "%/judged.csv", "%/runs", "-m", "P@5", "--sampled", "%/sample.tsv", "-q")
    assert {row["topic"] for row in same_rows(both, *words)} >= set(TOPICS)


def test_judge_of_a_sample(both: Command) -> None:
    oracle = {topic: {awkward(f"d{d}"): d % 2 for d in range(12)} for topic in TOPICS}
    Path("truth.csv").write_bytes(written(fm.read_qrels(oracle), "csv"))
    words = ("--oracle", "truth.csv", "--session", "s.db", "--export", "out.csv")
    done = both("judge", "none", "odd/runs", "--sample", 20, *words)
    assert done.status == 0, done.err
    done = both("predict", "out.csv", "odd/runs", "-m", "P@5", "--sampled", "out.csv.sample.tsv", "--format", "tsv")
    assert done.status == 0, done.err


def test_labels(both: Command) -> None:
    for folder, change in (("plain", lambda data: data), ("odd", rename)):
        labels = {topic: {id: 1 - grade for id, grade in found.items()} for topic, found in collection()[0].items()}
        Path(folder, "labels.jsonl").write_bytes(written(fm.read_qrels(change(labels)), "umbrela"))
    same_rows(both, "labels", "%/qrels.csv", "%/labels.jsonl", "--runs", "%/runs")
    words = ("predict", "%/qrels.csv", "%/runs", "-m", "P@5", "--labels", "%/labels.jsonl", "-q")
    assert {row["topic"] for row in same_rows(both, *words)} >= set(TOPICS)


@pytest.mark.parametrize(
    "words",
    [
        ("predict", "%/qrels.csv", "%/runs", "-m", "nDCG@5", "-q"),
        ("predict", "%/qrels.csv", "%/runs", "--probabilities"),
        ("ties", "%/qrels.csv", "%/runs", "-m", "AP", "--show", "scores"),
        ("depth", "%/qrels.csv", "%/runs", "-m", "P", "--depths", "1:4"),
        ("audit", "%/qrels.csv", "%/runs", "--depth", "2"),
        ("plan", "%/qrels.csv", "%/runs", "-m", "AP"),
        ("check", "%/qrels.csv", "%/runs"),
        ("band", "%/runs", "--rho", "1.5", "--qrels", "%/qrels.csv", "-m", "AP"),
    ],
    ids=lambda words: "-".join(word for word in words if word[0] not in "%-"),
)
def test_tables_are_the_same(both: Command, words: tuple[str, ...]) -> None:
    if words[0] in ("check", "audit", "band"):  # sentences name topics and files, or there is no -o
        for folder in ("plain", "odd"):
            done = both(*(word.replace("%", folder) for word in words), "--format", "tsv")
            assert done.status == 0, done.err
            assert "error" not in done.out
        return
    same_rows(both, *words)


def test_places_of_ties(both: Command) -> None:
    tied = {topic: dict.fromkeys(found, 1.0) for topic, found in rename(collection()[1]["r0"]).items()}
    Path("tied.csv").write_bytes(written(fm.read_run(tied), "csv"))
    done = both("ties", "odd/qrels.csv", "tied.csv", "-m", "P@5", "--show", "places", "--format", "tsv")
    assert done.status == 0, done.err
    rows = table(done.out)
    if rows and "topic" in rows[0]:
        assert {row["topic"] for row in rows} <= set(TOPICS)


def test_gate_diff_and_rank(both: Command) -> None:
    """With groups of topics, which name topics too; what the gate asks for first, `judge` reads."""
    for folder, topics in (("plain", [PLAIN[topic] for topic in TOPICS]), ("odd", TOPICS)):
        with open(f"{folder}/groups.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("query", "kind"), *((topic, f"k{i % 2}") for i, topic in enumerate(topics))])
    groups = ("--topic-groups", "%/groups.csv")
    same_rows(both, "eval", "%/qrels.csv", "%/runs", *MEASURES, *groups)
    same_rows(both, "compare", "%/qrels.csv", "%/runs", *MEASURES, *groups)
    same_rows(both, "rank", "%/qrels.csv", "%/runs", *MEASURES)
    runs = ("%/runs/r0.csv", "%/runs/r1.csv")
    for show in ("topics", "scores", "documents"):
        same_rows(both, "diff", "%/qrels.csv", *runs, "--show", show)
    same_rows(both, "doubt", "%/qrels.csv", *runs, "-m", "nDCG@5")
    found = {}
    for folder in ("plain", "odd"):
        words = [word.replace("%", folder) for word in ("gate", "%/qrels.csv", *runs, "-m", "nDCG@5", *groups)]
        done = both(*words, "--judge-first", f"{folder}.tsv", "--format", "json", "--draws", 0)
        told = json.loads(done.out)
        assert done.status == told["exit_code"]
        found[folder] = [{name: plain(cell) for name, cell in one.items()} for one in told["judge_first"]]
        assert [row["topic"] for row in table(Path(f"{folder}.tsv").read_bytes().decode())] == [
            one["topic"] for one in told["judge_first"]
        ]
    assert found["odd"] == found["plain"]
    if found["odd"]:
        batch = ("--first", "odd.tsv", "--batch", "2", "--to", "batch.csv")
        assert both("judge", "odd/qrels.csv", "odd/runs", *batch).status == 0
        assert Path("batch.csv").exists()


@pytest.mark.long
def test_report_and_papers(both: Command) -> None:
    done = both("report", "odd/qrels.csv", "odd/runs", "-m", "P@5", "-o", "report.html", "--quiet")
    assert done.status == 0, done.err
    page = Path("report.html").read_text(encoding="utf-8")
    assert "日本 語" in page or "\\u65e5\\u672c" in page
    done = both("papers", "ties", "odd/qrels.csv", "odd/runs", "-o", "paper", "--quiet")
    assert done.status == 0, done.err


def test_every_command_with_topics_is_here() -> None:
    """Runs last. Commands without a collection of one's own are named here."""
    if os.environ.get("PYTEST_XDIST_WORKER") or len(COVERED) < 3:
        pytest.skip("the tests above ran elsewhere")
    assert set(COMMANDS) - COVERED == {"measures", "demo", "simulate", "completion"}


# -- ids and numbers of other types ----------------------------------------------------------------------------------

RECORD = '{{"topic": {}, "document": {}, "score": {}}}\n'
NO_ID = "expected text or whole numbers"
BAD_RECORDS = {
    "lone surrogate": (['"1"', '"a\\ud800b"', "1"], r"not valid Unicode text, with a lone surrogate at 'a\\ud800b'"),
    "surrogate of a byte": (['"\\udce9"', '"a"', "1"], "not valid Unicode text"),
    "infinite": (["Infinity", '"a"', "1"], f"column 'topic' holds the number inf, {NO_ID}"),
    "nan": (["NaN", '"a"', "1"], "row 1: expected a topic, found none"),
    "null": (['"1"', "null", "1"], "row 1: expected a document, found none"),
    "fraction": (['"1"', "1.5", "1"], f"column 'document' holds the number 1.5, {NO_ID}"),
    "beyond 2^53": (['"1"', "1e20", "1"], rf"column 'document' holds the number 1e\+20, {NO_ID}"),
    "boolean": (['"1"', "true", "1"], f"column 'document' holds Boolean, {NO_ID}"),
    "list": (['"1"', '["a"]', "1"], rf"column 'document' holds List\(String\), {NO_ID}"),
    "digits": (['"1"', "9" * 10_000, "1"], "holds a whole number of thousands of digits"),
    "score of digits": (['"1"', '"a"', "9" * 10_000], "holds a whole number of thousands of digits"),
    "nested": (['"1"', '"a"', "[" * 100_000 + "]" * 100_000], "nested too deeply"),
    "zero byte": (['"1"', '"a\\u0000"', "1"], r"row 1: expected a document, found a\\0"),
    "empty": (['"1"', '""', "1"], "row 1: expected a document, found none"),
}
# Beside ids of another type, where a column has no type of its own.
BAD_BESIDE = {
    "boolean": ("true", f"column 'document' holds True, {NO_ID}"),
    "object": ('{"a": 1}', f"column 'document' holds {{'a': 1}}, {NO_ID}"),
    "list": ('["a"]', rf"column 'document' holds \['a'\], {NO_ID}"),
    "fraction": ("1.5", f"column 'document' holds the number 1.5, {NO_ID}"),
    "nan": ("NaN", "expected a document, found none"),
}


@pytest.mark.parametrize("case", BAD_RECORDS)
@pytest.mark.parametrize("command", ["eval", "check", "convert"])
def test_awkward_values_of_json_are_named(fathoms: Command, case: str, command: str) -> None:
    words, message = BAD_RECORDS[case]
    Path("odd.jsonl").write_text(RECORD.format(*words))
    call = (
        ["convert", "odd.jsonl", "--kind", "run", "-o", "o.run"]
        if command == "convert"
        else [command, "qrels.txt", "odd.jsonl"]
    )
    done = fathoms(*call)
    assert done.status == (1 if command == "check" else 2)
    assert re.search(message, done.err + done.out.replace("\\\\", "\\"))
    assert not Path("o.run").exists()


@pytest.mark.parametrize("case", BAD_BESIDE)
def test_awkward_values_beside_others_are_named(fathoms: Command, case: str) -> None:
    word, message = BAD_BESIDE[case]
    Path("odd.jsonl").write_text(RECORD.format('"1"', '"text"', 2) + RECORD.format('"1"', word, 1))
    done = fathoms("eval", "qrels.txt", "odd.jsonl")
    assert done.status == 2
    assert re.search(message, done.err)


@pytest.mark.parametrize(
    ("ids", "read"),
    [
        (["1", "2"], ["1", "2"]),
        (["1.0", "2.0"], ["1", "2"]),
        (["1", '"1a"', "2.0"], ["1", "1a", "2"]),
        (["18446744073709551617", "9007199254740993"], ["18446744073709551617", "9007199254740993"]),
        (['" "', '"\\t"'], [" ", "\t"]),
        (['"\\ud83d\\ude00"', '"é"', '"e\u0301"'], ["😀", "é", "e\u0301"]),
    ],
)
def test_numbers_and_blanks_are_ids_as_they_are_written(tmp_path: Path, ids: list[str], read: list[str]) -> None:
    (tmp_path / "x").write_text("".join(RECORD.format('"1"', id, 1) for id in ids))
    assert [document.decode() for document in fm.read_run(tmp_path / "x").documents] == read


def test_float_keys_of_a_dict_are_whole_numbers() -> None:
    assert fm.read_run({1.0: {2.0: 1.0}}).to_dict() == {"1": {"2": 1.0}}
    with pytest.raises(fm.InputError, match=NO_ID):
        fm.read_run({1.5: {"a": 1.0}})


TWICE = ["1", "1"]
COLUMNS: dict[str, tuple[dict[str, Any], str]] = {
    "dictionary": ({"document": pl.Series(["a", "b"], dtype=pl.Categorical)}, ""),
    "decimal score": ({"score": pl.Series([Decimal("1.10"), Decimal("2.25")])}, ""),
    "binary": ({"document": [b"\xff", b"b"]}, ""),
    "float32": ({"score": pl.Series([1, 2], dtype=pl.Float32)}, ""),
    "no ranks": ({"rank": pl.Series([None, None], dtype=pl.Null)}, ""),
    "binary score": ({"score": [b"1", b"2"]}, "'score' holds Binary, expected numbers"),
    "date": ({"document": [date(2020, 1, 1)] * 2}, f"'document' holds Date, {NO_ID}"),
    "time": ({"score": [datetime(2020, 1, 1)] * 2}, "'score' holds Datetime"),
    "list": ({"document": [["a"], ["b"]]}, rf"'document' holds List\(String\), {NO_ID}"),
    "struct": ({"score": [{"x": 1}] * 2}, "'score' holds Struct"),
    "null score": ({"score": pl.Series([None, None], dtype=pl.Null)}, "row 1: .*expected a number as score"),
    "null document": ({"document": pl.Series([None, None], dtype=pl.Null)}, "row 1: expected a document"),
    "boolean": ({"document": [True, False]}, f"'document' holds Boolean, {NO_ID}"),
    "infinite": ({"document": [float("inf"), 1.0]}, f"'document' holds the number inf, {NO_ID}"),
    "huge": ({"document": [1e300, 1.0]}, rf"'document' holds the number 1e\+300, {NO_ID}"),
    "zero byte": ({"document": ["a", "b\0"]}, "row 2: expected a document"),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_parquet_of_odd_types_is_read_right_or_refused(tmp_path: Path, case: str) -> None:
    columns, message = COLUMNS[case]
    plain_columns = {"topic": TWICE, "document": ["a", "b"], "score": [1.0, 2.0]}
    pl.DataFrame(plain_columns | columns).write_parquet(tmp_path / "x.parquet")
    if message:
        with pytest.raises(fm.InputError, match=message):
            fm.read_run(tmp_path / "x.parquet")
        return
    run = fm.read_run(tmp_path / "x.parquet")
    assert run.documents.tolist() == [
        id if isinstance(id, bytes) else b"ab"[i : i + 1]
        for i, id in enumerate(columns["document"] if case == "binary" else "ab")
    ]
    assert run.scores.tolist() == ([1.1, 2.25] if case == "decimal score" else [1, 2])


def test_parquet_that_is_cut_or_damaged_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pl.DataFrame({"topic": ["1"] * 300, "document": list(map(str, range(300))), "score": 1.0}).write_parquet(path)
    raw = path.read_bytes()
    footers = (raw[:-8] + size.to_bytes(4, "little") + b"PAR1" for size in (0, 1, len(raw) - 12, len(raw), 2**32 - 1))
    for damaged in (*(raw[:n] for n in (4, 8, 12, len(raw) // 2, len(raw) - 8, len(raw) - 1)), *footers):
        path.write_bytes(damaged)
        with pytest.raises(fm.InputError, match="is not a readable parquet file"):
            fm.read_run(path)


@pytest.mark.parametrize("name", ["", " ", "\0", "a\0b", "\n", "**\0"])
def test_awkward_names_of_files(name: str) -> None:
    for read in (fm.read_run, fm.read_runs, fm.read_qrels):
        with pytest.raises(fm.InputError, match=r"no such file|no file matches|cannot be read|found an empty one"):
            read(name)


def test_nesting_in_other_files_of_json(fathoms: Command) -> None:
    Path("deep.json").write_text("[" * 100_000 + "]" * 100_000)
    for words in ("eval qrels.txt good.run --topic-groups deep.json", "compare none deep.json"):
        done = fathoms(*words.split())
        assert done.status == 2
        assert "deep.json" in done.err


@pytest.mark.slow
@pytest.mark.skipif(not charts.available(), reason="needs the extra report")
@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux alone")
@pytest.mark.parametrize("words", ["report -o x.html", "rank -o x.svg", "papers ties -o x"])
def test_pictures_of_names_that_xml_cannot_hold(words: str, tmp_path: Path) -> None:
    """What draws them would end the process, which is therefore one of its own."""
    topics = ["1\x1b[31m", "2\ufffe", "3"]
    (tmp_path / "qrels.json").write_text(json.dumps({topic: {"a": 1, "b": 0} for topic in topics}))
    (tmp_path / "runs").mkdir()
    for i, name in enumerate((b"x\x1b[31m\xe9.json", b"y\xef\xbf\xbf.json")):
        ranking = {topic: {"a": i, "b": (i + t) % 2, "c": 0.5} for t, topic in enumerate(topics)}
        Path(os.fsdecode(bytes(tmp_path / "runs") + b"/" + name)).write_text(json.dumps(ranking))
    command, *rest = re.sub("(?= -o)", " qrels.json runs", words).split()
    done = subprocess.run([sys.executable, "-m", "fathoms", command, *rest], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr[-500:]
    made = [tmp_path / "x.html"] if command == "report" else [*tmp_path.rglob("*.svg")]
    drawn = [svg for file in made for svg in re.findall(r"<svg.*?</svg>", file.read_text(encoding="utf-8"), re.DOTALL)]
    for svg in drawn:
        ElementTree.fromstring(svg)
    assert any(r"x\x1b[31m\xe9" in svg and r"y\uffff" in svg for svg in drawn)
