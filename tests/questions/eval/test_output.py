"""What `eval` prints, in every format."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import threading
from argparse import Namespace
from pathlib import Path

import polars as pl
import pytest

from fathoms.cli import output
from tests.data.test_reading import RUN
from tests.support.commands import Command

RANGES = ["low", "high", "tie_low", "tie_high", "tie_expected"]
COLUMNS = ["run", "topic", "measure", "score", *RANGES, "ci_low", "ci_high"]
TIED = b"1 Q0 b 1 1 t\n1 Q0 a 2 1 t\n2 Q0 a 1 7 t\n"


def scores(fathoms: Command, *words: str) -> list[list[str]]:
    done = fathoms("eval", *words, "--format", "tsv")
    assert done.status == 0, done.err
    return [line.split("\t") for line in done.out.splitlines()]


def test_rows_and_columns_in_every_format_for_programs(fathoms: Command) -> None:
    words = ("qrels.txt", "good.run", "-m", "AP", "-m", "Bpref", "--by-topic")
    header, *rows = scores(fathoms, *words)
    assert header == COLUMNS
    assert [row[:3] for row in rows] == [
        ["good", topic, measure] for topic in ("1", "2", "all") for measure in ("AP", "Bpref")
    ]
    assert float(rows[0][3]) == pytest.approx(5 / 6)
    assert float(rows[4][5]) == pytest.approx(0.75)
    assert rows[1][4:6] == ["", ""]  # no range

    def text(value: object) -> str:
        return "" if value is None else str(value)

    in_csv = list(csv.reader(io.StringIO(fathoms("eval", *words, "--format", "csv").out)))
    assert in_csv == [header, *rows]
    in_json = json.loads(fathoms("eval", *words, "--format", "json").out)
    assert [list(record) for record in in_json] == [COLUMNS] * 6
    assert [[text(value) for value in record.values()] for record in in_json] == rows
    assert fathoms("eval", *words, "--format", "parquet", "-o", "out.parquet", "--quiet") == (0, "", "")
    frame = pl.read_parquet("out.parquet")
    assert frame.columns == COLUMNS
    assert [[text(value) for value in row] for row in frame.rows()] == rows


def test_trec_eval_layout(fathoms: Command) -> None:
    done = fathoms(
        "eval", "qrels.txt", "good.run", "-m", "AP", "-m", "P@5", "-m", "NumRel", "-q", "--format", "trec_eval"
    )
    assert done.out.splitlines() == [
        "map                   \t1\t0.8333",
        "P_5                   \t1\t0.4000",
        "num_rel               \t1\t2",
        "map                   \t2\t0.5000",
        "P_5                   \t2\t0.2000",
        "num_rel               \t2\t1",
        "runid                 \tall\tt",
        "map                   \tall\t0.6667",
        "P_5                   \tall\t0.3000",
        "num_rel               \tall\t3",
    ]


def test_latex(fathoms: Command) -> None:
    Path("my_run.txt").write_bytes(RUN)
    done = fathoms("eval", "qrels.txt", "my_run.txt", "-m", "AP", "-m", "AP@1", "-m", "Bpref", "--format", "latex")
    assert r"my\_run & 0 & .6667 & 0 & .2500 & 0 & .5000 \\" in done.out.splitlines()


def test_the_table_and_its_remarks(fathoms: Command) -> None:
    Path("tied.run").write_bytes(TIED)
    Path("upside.run").write_bytes(b"1 Q0 a 1 1 t\n1 Q0 x 2 9 t\n")
    done = fathoms("eval", "qrels.txt", "good.run", "tied.run", "upside.run", "-m", "AP")
    answer, blank, header, *rest = done.out.splitlines()
    assert (
        answer
        == "AP: good leads with 0.6667 (95% interval over topics 0.0000 to 1.0000); its range is 0.6667 to 0.7500."
    )
    assert blank == ""
    assert header.split()[:11] == ["AP,", "2", "topics", "score", "ci_low", "ci_high", *RANGES]
    assert [line.split()[0] for line in rest[:3]] == ["good", "tied", "upside"]  # best first
    assert [line.split(":")[0] for line in rest[4:]] == [
        *("Ranges", "Intervals over topics", "Unjudged", "Ties", "Ranks", "Topics")
    ]
    assert "2 of 10" in rest[6]
    assert "changes 1 of 3 scores, by up to 0.1250 (AP of tied)" in rest[7]
    assert rest[8].startswith("Ranks: in upside the rank column contradicts the scores, ")
    assert "upside lacks 2" in done.err
    quiet = fathoms("eval", "qrels.txt", "good.run", "tied.run", "upside.run", "-m", "AP", "--quiet")
    assert quiet == (0, done.out, "")


def test_values_over_tie_orders_are_shown_where_they_differ(fathoms: Command) -> None:
    assert "tie_low" not in fathoms("eval", "qrels.txt", "good.run", "-m", "AP").out
    Path("tied.run").write_bytes(TIED)
    assert "tie_low" in fathoms("eval", "qrels.txt", "good.run", "tied.run", "-m", "AP").out


@pytest.mark.parametrize("form", ["tsv", "csv", "json", "trec_eval", "latex"])
def test_sentences_are_talk_where_standard_output_has_data(fathoms: Command, form: str) -> None:
    done = fathoms("eval", "qrels.txt", "good.run", "-m", "AP", "--format", form)
    assert done.err.startswith("fathoms: AP: good scores 0.6667")
    assert "good scores" not in done.out
    assert fathoms("eval", "qrels.txt", "good.run", "-m", "AP", "--format", form, "--quiet") == (0, done.out, "")


def test_warnings_are_few_and_alike_ones_are_one(fathoms: Command) -> None:
    """The same said of many files is said once; there are at most a handful, and all of them with --verbose."""
    bad = b"bad line\n" + RUN
    for i in range(4):
        Path(f"{i}.run").write_bytes(bad)
    words = ("eval", "qrels.txt", "0.run", "1.run", "2.run", "3.run", "-m", "AP", "--lenient")
    warnings = fathoms(*words).err.splitlines()
    (skipped,) = [line for line in warnings if "skipped" in line]
    assert skipped.startswith(
        "fathoms: warning: 4 files, such as 0.run: skipped 1 bad line: line 1: expected 6 columns"
    )
    assert len([line for line in fathoms(*words, "--verbose").err.splitlines() if "skipped" in line]) == 4
    args = Namespace(quiet=False, verbose=False)
    many = [f"warning of kind {chr(97 + i)}" for i in range(9)]
    assert output.warning_lines(many, args)[-1] == "fathoms: 4 more warnings; --verbose lists all"
    assert len(output.warning_lines(many, args)) == 6
    assert len(output.warning_lines(many, Namespace(quiet=False, verbose=True))) == 9


def test_topics_that_no_run_answers_come_first(fathoms: Command) -> None:
    Path("one.run").write_bytes(b"1 Q0 a 1 1 t\n")
    done = fathoms("eval", "qrels.txt", "one.run", "-m", "AP")
    assert done.err.startswith("fathoms: warning: judged topics in no run, 1 of 2, count 0 (AP of one is ")


def test_the_table_says_how_many_topics_each_mean_is_over(fathoms: Command) -> None:
    Path("short.run").write_bytes(b"1 Q0 a 1 1 t\n")
    words = ("eval", "qrels.txt", "short.run", "-m", "AP", "--topics", "intersect")
    assert "\nAP, 1 topic   score" in fathoms(*words).out
    assert "\nAP, 1 to 2 topics   score" in fathoms(*words, "good.run").out


def test_names_in_the_table_are_no_markup_and_not_cut(fathoms: Command) -> None:
    for name in ("[red]x[bold", ":cat:", "b" * 200):
        Path(name).write_bytes(RUN)
        out = fathoms("eval", "qrels.txt", name, "-m", "AP").out
        assert re.match(rf"{re.escape(name)} +0\.6667  0\.0000   1\.0000  0\.6667  0\.7500 ", out.splitlines()[3])


def test_an_output_file_is_written_and_a_pipe_is_not_replaced(fathoms: Command) -> None:
    words = ("eval", "qrels.txt", "good.run", "-m", "AP", "--format", "csv", "--quiet")
    assert fathoms(*words, "-o", "out.csv") == (0, "", "")
    expected = Path("out.csv").read_bytes()
    assert expected.decode() == fathoms("eval", "qrels.txt", "good.run", "-m", "AP", "--format", "csv").out
    os.mkfifo("pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(Path("pipe").read_bytes()), daemon=True)
    reader.start()
    assert fathoms("eval", "qrels.txt", "good.run", "-m", "AP", "--format", "csv", "-o", "pipe").status == 0
    reader.join(timeout=10)
    assert read == [expected]
    assert Path("pipe").is_fifo()
