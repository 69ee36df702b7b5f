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
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fathoms as fm
from fathoms.cli.app import COMMANDS
from fathoms.data.convert import content as written
from fathoms.data.formats import registry
from tests.commands import Command

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
        same_rows(both, "diff", *runs, "--qrels", "%/qrels.csv", "--show", show)
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
