"""The command line: what each kind of good and bad input prints, and with which exit status."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from fathoms.base import kernel
from fathoms.version import __version__
from tests.data.test_reading import QRELS, RUN
from tests.support.commands import Command
from tests.support.paths import ROOT

RANGES = ["low", "high", "tie_low", "tie_high", "tie_expected"]
COLUMNS = ["run", "topic", "measure", "score", *RANGES, "ci_low", "ci_high"]
TIED = b"1 Q0 b 1 1 t\n1 Q0 a 2 1 t\n2 Q0 a 1 7 t\n"


def process(folder: Path, *words: str, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "fathoms", *words]
    return subprocess.run(command, cwd=folder, input=stdin, env=os.environ | env, capture_output=True, check=False)


# -- the table of docs/input.md -----------------------------------------------------------------------------


class Bad(NamedTuple):
    """A row of the table: what is wrong, in which files, and what comes of it. No `lenient`: the same error."""

    title: str
    qrels: bytes = QRELS
    run: bytes = RUN
    error: str = ""  # part of the message; none means that a warning is all there is
    warning: str = ""  # part of the warning, without or with --lenient


TABLE = [
    Bad(
        "a line with too few columns",
        run=RUN + b"1 Q0 y 4 0.5\n",
        error="bad.run:6: expected 6 columns (topic Q0 document rank score tag), found 5: '1 Q0 y 4 0.5'",
        warning="bad.run: skipped 1 bad line: line 6: expected 6 columns",
    ),
    Bad(
        "a qrels line with too many columns",
        qrels=QRELS + b"2 0 e 1 2\n",
        error="bad.txt:6: expected 4 columns (topic iteration document grade), found 5: '2 0 e 1 2'",
        warning="bad.txt: skipped 1 bad line: line 6: expected 4 columns",
    ),
    Bad(
        "a score that is not a number",
        run=RUN + b"1 Q0 y 4 n/a t\n",
        error="bad.run:6: expected a number as score (column 5), found 'n/a'",
        warning="bad.run: skipped 1 bad line: line 6: expected a number",
    ),
    Bad(
        "a grade that is not a number, or infinite",
        qrels=QRELS + b"2 0 e inf\n",
        error="bad.txt:6: expected a finite number as grade (column 4), found 'inf'",
        warning="bad.txt: skipped 1 bad line: line 6: expected a finite number",
    ),
    Bad(
        "a document twice in one topic of a run",
        run=RUN + b"1 Q0 a 4 0.5 t\n",
        error="bad.run:6: topic 1: document a occurs twice (first in line 1); --lenient keeps the first",
        warning="bad.run: skipped 1 document that the topic had already, kept the first (line 6",
    ),
    Bad(
        "one document with two different grades",
        qrels=QRELS + b"1 0 a 0\n",
        error="bad.txt:6: topic 1, document a has grade 0, but 1 in line 1; decide on one (--lenient keeps the first; "
        "--subtopics reads judgments by subtopic)",
        warning="bad.txt: skipped 1 judgment that another one contradicts, kept the first (line 6",
    ),
    Bad(
        "the same judgment twice",
        qrels=QRELS + b"1 0 a 1\n",
        warning="bad.txt: 1 judgment repeated with the same grade; each counts once",
    ),
    Bad(
        "a negative grade",
        qrels=QRELS + b"2 0 x -1\n",
        warning="bad.txt: 1 judgment with a negative grade, which means unjudged",
    ),
    Bad(
        "a topic named `all`",
        qrels=QRELS + b"all 0 a 1\n",
        error="bad.txt:6: a topic is named `all`, which in the output names the mean over topics; rename it",
        warning="bad.txt: a topic is named `all`",
    ),
    Bad(
        "a key twice in a JSON object",
        run=b'{"1": {"a": 3, "a": 2}}',
        error="bad.run: the key 'a' occurs twice in one object; --lenient keeps the first",
        warning="bad.run: skipped 1 bad part: 1 repeated key, kept the first",
    ),
    Bad(
        "a JSON, parquet or frame row without topic, document or number",
        run=b'{"1": {"a": 3, "b": null}}',
        error="bad.run: row 2: topic 1, document b: expected a number as score, found None",
        warning="bad.run: skipped 1 bad row: row 2: topic 1, document b",
    ),
    Bad("no good line at all", run=b"hello\nworld\n", error="bad.run:1: expected 6 columns"),
    Bad("a qrels file given as a run", run=QRELS, error="this looks like a qrels file (4 more bad lines)"),
    Bad("a run given as the qrels", qrels=RUN, error="this looks like a run (4 more bad lines)"),
    Bad("an empty file", qrels=b"", error="bad.txt: the file is empty; expected a qrels file"),
    Bad(
        "an id of more than 8,192 bytes",
        run=RUN + b"2 Q0 " + b"x" * 8193 + b" 3 1 t\n",
        error="bad.run:6: document id has 8,193 bytes; the limit is 8,192",
        warning="bad.run: skipped 1 bad line: line 6: document id has 8,193 bytes; the limit is 8,192",
    ),
    Bad(
        "an id that is a fraction, infinite, a boolean, a list or a date",
        run=b'{"topic": "1", "document": true, "score": 1}',
        error="bad.run: column 'document' holds Boolean, expected text or whole numbers",
    ),
    Bad(
        "nothing but comments and blank lines",
        run=b"# none\n\n",
        error="bad.run: the file has no lines but blank ones and comments; expected a run file",
    ),
    Bad("binary data", run=RUN + b"\x00\x01\n", error="bad.run:6: holds binary data (byte 0x00), expected a run file"),
    Bad(
        "compressed data that is cut short",
        run=gzip.compress(RUN)[:-8],
        error="bad.run: the compressed data is damaged or cut short",
    ),
    Bad("damaged JSON or parquet", run=b'{"1": {"a": 3', error="bad.run:1: is not valid JSON"),
    Bad(
        "more than 32,000 different grades",
        qrels=b"".join(b"1 0 d%d %d\n" % (i, i) for i in range(32_001)),
        error="bad.txt: 32,001 different grades, expected at most 32,000",
    ),
    Bad(
        "a topic of the qrels that a run lacks",
        run=b"1 Q0 a 1 1 t\n",
        warning="judged topics in no run, 1 of 2, count 0 (AP of bad is 0.2500, but 0.5000 over the 1 answered topic); "
        "--topics intersect leaves them out: 2",
    ),
    Bad(
        "a topic of a run that is not in the qrels",
        run=RUN + b"9 Q0 a 1 1 t\n",
        warning="topics not in bad.txt are ignored: 9 of bad",
    ),
]


@pytest.mark.parametrize("bad", TABLE, ids=lambda bad: bad.title)
def test_each_row_of_the_table_of_bad_input(fathoms: Command, bad: Bad) -> None:
    Path("bad.txt").write_bytes(bad.qrels)
    Path("bad.run").write_bytes(bad.run)
    Path("old.tsv").write_text("old")
    words = ("eval", "bad.txt", "bad.run", "-m", "AP", "--format", "tsv", "-o", "old.tsv")
    strict = fathoms(*words)
    if bad.error:
        assert strict.status == 2
        assert strict.err.startswith("fathoms: bad.")
        assert bad.error in strict.err
        assert strict.err.count("\n") == 1
        assert Path("old.tsv").read_text() == "old"
    lenient = fathoms(*words, "--lenient")
    if bad.error and not bad.warning:
        assert lenient == strict
    else:
        assert lenient.status == 0
        assert f"fathoms: warning: {bad.warning}" in lenient.err
        assert bad.error or lenient == strict
        assert Path("old.tsv").read_text().startswith("run\t")
    assert not [name for name in os.listdir() if name.startswith(".")]

    found = fathoms("check", "bad.txt", "bad.run")
    assert found.status == bool(bad.error)
    assert ("error  " in found.out) == bool(bad.error)
    assert fathoms("check", "bad.txt", "bad.run", "--strict").status == 1


@pytest.mark.parametrize("bad", TABLE, ids=lambda bad: bad.title)
def test_each_row_stands_in_the_page(bad: Bad) -> None:
    page = (ROOT / "docs" / "input.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| {bad.title} |"))
    first, second = (cell.strip() for cell in row.split("|")[2:4])
    assert first.startswith("error" if bad.error else "warning")
    assert second.startswith("same") == (not bad.error or not bad.warning)


# -- usage --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("eval nope good.run", "nope: no such file"),
        ("eval . good.run", ".: is a folder, expected a file"),
        ("eval qrels.txt nope", "nope: no such file or folder"),
        ("eval qrels.txt no*pe", "no*pe: no file matches this pattern"),
        ("eval qrels.txt empty", "empty: the folder holds no files"),
        ("eval qrels.txt", "the following arguments are required: RUN"),
        ("eval - -", "QRELS and RUN cannot both be standard input"),
        ("check - -", "QRELS and RUN cannot both be standard input"),
        ("check qrels.txt nope", "nope: no such file or folder"),
        ("check nope good.run", "nope: no such file"),
        ("eval qrels.txt good.run -o qrels.txt", "qrels.txt: is one of the files to read"),
        ("pool good.run --qrels qrels.txt --depth 1 -o qrels.txt", "qrels.txt: is one of the files to read"),
        ("eval qrels.txt good.run -o -", "-: expected the name of a file to write; standard output is /dev/stdout"),
        ("pool good.run --depth 1 -o good.run", "good.run: is one of the files to read"),
        ("compare none good.run qrels.txt -o good.run", "good.run: is one of the files to read"),
        ("compare qrels.txt good.run . -o ./good.run", "good.run: is one of the files to read"),
        ("eval qrels.txt good.run --resume qrels.txt", "qrels.txt: is a file, expected a folder to write to"),
        ("eval qrels.txt good.run -m Foo", "unknown measure 'Foo'"),
        ("eval qrels.txt good.run -m ndgc", "Did you mean nDCG?"),
        ("eval qrels.txt good.run -m P", "P needs a cut-off, such as P@10"),
        ("eval qrels.txt good.run -m P@0", "must be a whole number from 1 on"),
        ("eval qrels.txt good.run -m RBP(p=1.5)", "p must lie between 0 and 1, found 1.5"),
        ("eval qrels.txt good.run -m AP(foo=1)", "AP has no parameter 'foo'; it takes"),
        ("eval qrels.txt good.run -m AP(variant=z)@5", "variant must be one of a, b, c"),
        ("eval qrels.txt good.run --universe many", "expected auto, run, pair, all, a number or inf, found 'many'"),
        ("eval qrels.txt good.run --universe pair", "universe: pair is for comparisons"),
        ("eval qrels.txt good.run --universe-depth 0", "expected a whole number from 1 on, found '0'"),
        ("eval qrels.txt good.run --universe=-1", "expected auto, run, pair, all, a number or inf"),
        ("eval qrels.txt good.run --universe nan", "expected auto, run, pair, all, a number or inf"),
        ("eval qrels.txt good.run --nonrelevant-grade 2", "expected a negative grade, such as -2, found '2'"),
        ("eval qrels.txt good.run --nonrelevant-grade spam", "argument --nonrelevant-grade"),
        ("eval qrels.txt good.run --workers 0", "expected a whole number from 1 on, found '0'"),
        ("eval qrels.txt good.run --seed=-1", "expected a whole number from 0 on, found '-1'"),
        (
            "eval qrels.txt good.run --format xml",
            "trec_eval, latex, md, html, found 'xml'",
        ),
        ("eval qrels.txt good.run --format parquet", "parquet is not for the screen; name a file with -o"),
        ("eval qrels.txt good.run -o empty", "empty: is a folder, expected the name of a file to write"),
        ("eval qrels.txt good.run -o nope/out", "nope/out: cannot be written: there is no folder nope"),
        ("check qrels.txt good.run -o nope/out", "there is no folder nope"),
        ("eval qrels.txt good.run --pooled nope", "nope: no such file"),
        ("eval qrels.txt good.run --pooled comments", "comments: names no run"),
        ("eval qrels.txt good.run --pooled others -m AP(variant=c)@5", "none of the contributing runs"),
        ("eval qrels.txt first.run --ties rank", "first.run: line 1: topic 1, document a: the rank is not a number"),
        ("eval qrels.txt good.json --ties rank", "good.json: has no rank column"),
        ("eval qrels.txt good.json --names tag", "good.json: has no run tag; use --names file"),
        ("eval qrels.txt - --names tag", "--names tag cannot be used with standard input"),
        ("eval qrels.txt good.run first.run --names tag", "good.run and first.run have the same tag 't'"),
        ("simulate -o empty", "empty exists already"),
        ("simulate -o qrels.txt/sim --systems 1 --n-topics 1", "qrels.txt/sim: cannot be written"),
        ("simulate -o sim --systems 0", "expected a whole number from 1 on, found '0'"),
        ("simulate -o sim --seed=-1", "expected a whole number from 0 on, found '-1'"),
        ("simulate -o sim --ties 2", "ties must be from 0 to 1: 2.0"),
        ("simulate -o sim --n-docs 99999999999999", "not enough memory"),
        ("nonsense", "there is no command 'nonsense'"),
        ("compair", "there is no command 'compair'; did you mean compare?"),
        (
            "eval qrels.txt good.run -o out.docx",
            "out.docx: .docx is not written; name a .csv, .tsv, .html or .txt file",
        ),
        ("--nonsense", "unrecognized arguments: --nonsense"),
    ],
)
def test_bad_usage_is_one_message_and_status_2(fathoms: Command, words: str, message: str) -> None:
    Path("empty").mkdir()
    Path("comments").write_text("# none\n\n")
    Path("others").write_text("bm25.run\n")
    Path("first.run").write_bytes(RUN.replace(b"a 1 3", b"a first 3"))
    Path("good.json").write_text('{"1": {"a": 3, "c": 2}, "2": {"a": 1}}')
    before = sorted(os.listdir())
    done = fathoms(*words.split())
    assert done.status == 2
    assert message in done.err
    assert sorted(os.listdir()) == before


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user whom permissions stop")
def test_a_file_that_may_not_be_read(fathoms: Command) -> None:
    Path("good.run").chmod(0)
    assert fathoms("eval", "qrels.txt", "good.run") == (2, "", "fathoms: good.run: cannot be read: Permission denied\n")


def test_help_and_version(fathoms: Command) -> None:
    assert fathoms().status == fathoms("--help").status == fathoms("eval", "--help").status == 0
    assert "fathoms eval qrels.txt runs/" in fathoms("eval", "--help").out
    look, whole = fathoms("compare", "-h").out, fathoms("compare", "--help").out
    flags = set(re.findall(r"^  .*?(--[a-z-]+)", whole, re.MULTILINE)) - {"--help"}
    assert flags <= set(re.findall(r"--[a-z-]+", look))  # a look names all of them, and explains those of the command
    assert "--universe auto|run" in whole
    assert "--universe auto|run" not in look
    assert "--baseline RUN" in look
    assert fathoms("--version").out == f"fathoms {__version__} ({kernel.description()})\n"


def scores(fathoms: Command, *words: str) -> list[list[str]]:
    done = fathoms("eval", *words, "--format", "tsv")
    assert done.status == 0, done.err
    return [line.split("\t") for line in done.out.splitlines()]


# -- runs and topics ----------------------------------------------------------------------------------------------


def names(rows: Sequence[Sequence[str]]) -> list[str]:
    return [row[0] for row in rows[1:]]


def test_names_of_runs(fathoms: Command) -> None:
    for folder in ("x", "y"):
        Path(folder).mkdir()
        Path(folder, "s.run.gz").write_bytes(gzip.compress(RUN.replace(b" t\n", f" tag {folder}\n".encode())))
    assert names(scores(fathoms, "qrels.txt", "x", "y/*.gz", "good.run", "-m", "AP")) == ["x/s", "y/s", "good"]
    assert names(scores(fathoms, "qrels.txt", "x", "y", "-m", "AP", "--names", "tag")) == ["tag x", "tag y"]
    Path("odd.run").write_bytes(b"\xef\xbb\xbf# made by hand\n\nbad line\n" + RUN)
    assert names(scores(fathoms, "qrels.txt", "odd.run", "-m", "AP", "--names", "tag", "--lenient")) == ["t"]


def test_contributing_runs_that_are_not_given_are_named(fathoms: Command) -> None:
    Path("pooled").write_text("# the pool\nruns/good.run.gz\nbm25\n")
    done = fathoms("eval", "qrels.txt", "good.run", "-m", "AP(variant=c)@5", "--pooled", "pooled")
    assert done.status == 0
    assert done.err == "fathoms: warning: pooled: 1 of 2 contributing runs are not given: bm25\n"


@pytest.mark.parametrize(("topics", "score"), [("all", "0.5"), ("intersect", "1.0")])
def test_missing_topics(fathoms: Command, topics: str, score: str) -> None:
    Path("one.run").write_bytes(b"1 Q0 a 2 2 t\n1 Q0 c 1 1 t\n")
    rows = scores(fathoms, "qrels.txt", "one.run", "-m", "AP", "--by-topic", "--topics", topics)
    assert rows[-1][:4] == ["one", "all", "AP", score]
    assert [row[1] for row in rows[1:]] == (["1", "2", "all"] if topics == "all" else ["1", "all"])


@pytest.mark.parametrize("topics", ["all", "intersect"])
@pytest.mark.parametrize("form", ["tsv", "table", "json", "trec_eval", "latex"])
def test_nothing_in_common(fathoms: Command, topics: str, form: str) -> None:
    Path("other.run").write_bytes(b"q9 Q0 a 1 1 t\n")
    done = fathoms("eval", "qrels.txt", "other.run", "--topics", topics, "--format", form)
    assert done.status == 2
    assert done.err == "fathoms: no topic of the runs is judged: the runs have q9; qrels.txt has 1, 2\n"


STRAY = {
    **dict.fromkeys(("eval", "rank", "compare", "gate", "predict", "depth", "ties", "audit", "plan"), "qrels.txt {}"),
    "report": "qrels.txt {} -o page.html",
    "labels": "qrels.txt qrels.txt --runs {}",
    "diff": "qrels.txt {}",
    "band": "--qrels qrels.txt --rho 1.4 {}",
    "pool": "--qrels qrels.txt --depth 2 {}",
    "papers": "ties qrels.txt {} -o study",
    "trec_eval": "qrels.txt q9.run",
}


@pytest.mark.parametrize("runs", ["q9.run q8.run", "good.run q9.run"])
@pytest.mark.parametrize("command", STRAY)
def test_a_run_of_other_topics_is_an_error_in_every_command(fathoms: Command, command: str, runs: str) -> None:
    """Beside sound runs too, where it would be a run that scores 0."""
    Path("q9.run").write_bytes(b"q9 Q0 a 1 1 t\n")
    Path("q8.run").write_bytes(b"q8 Q0 a 1 1 t\n")
    done = fathoms(command, *STRAY[command].format(runs).split())
    assert done.status == 2
    assert re.search(r"no topic (of the runs|of q9|in common)", done.err) or "have no topic in common" in done.err
    assert "q9" in done.err
    assert re.search(r"\b1\b", done.err) or "q8" in done.err
    assert not Path("page.html").exists()


@pytest.mark.parametrize("command", ["eval", "rank", "compare", "ties"])
def test_a_run_of_other_topics_scores_0_beside_others_if_that_is_asked_for(fathoms: Command, command: str) -> None:
    Path("q9.run").write_bytes(b"q9 Q0 a 1 1 t\n")
    done = fathoms(command, "qrels.txt", "good.run", "q9.run", "--lenient", "--verbose")
    assert done.status == 0
    assert "no topic of q9 is judged: q9 has q9; qrels.txt has 1, 2; it scores 0" in done.err
    alone = fathoms(command, "qrels.txt", "q9.run", "q9.run", "--lenient")
    assert alone.status == 2


BAD_RANKS = ["x", "nan", "-7", "1e999", "9" * 400, "NA"]


@pytest.mark.parametrize("rank", BAD_RANKS)
@pytest.mark.parametrize("ties", ["trec", "run", "expected"])
def test_a_rank_that_no_order_looks_at_is_no_error(fathoms: Command, rank: str, ties: str) -> None:
    """Nor where the others stand against the scores, which once made eval look at the column after all."""
    lines = ["1 Q0 a 9 3.0 t", "1 Q0 x 3 2.0 t", "1 Q0 c {} 1.0 t", "2 Q0 d 1 2.5 t", "2 Q0 a 2 1.5 t"]
    Path("ranks.run").write_text("\n".join(lines).format(rank))
    good = scores(fathoms, "qrels.txt", "good.run", "--ties", ties)
    assert [row[1:] for row in scores(fathoms, "qrels.txt", "ranks.run", "--ties", ties)] == [row[1:] for row in good]


@pytest.mark.parametrize("rank", ["x", "nan", "NA"])
@pytest.mark.parametrize("ties", ["rank", "score-rank"])
def test_an_order_by_ranks_refuses_what_is_no_number_and_names_the_line(fathoms: Command, rank: str, ties: str) -> None:
    Path("ranks.run").write_text(f"# ranks\n1 Q0 a 1 3.0 t\n\n1 Q0 x {rank} 2.0 t\n2 Q0 a {rank} 2 t\n")
    done = fathoms("eval", "qrels.txt", "ranks.run", "--ties", ties)
    assert done.status == 2
    assert "ranks.run: line 4: topic 1, document x: the rank is not a number" in done.err


@pytest.mark.parametrize("rank", ["[1]", "true", "null", '""', '{"a": 1}'])
def test_a_rank_in_records_that_no_order_looks_at_is_no_error(fathoms: Command, rank: str) -> None:
    rows = [("1", "a", 3, "1"), ("1", "x", 2, rank), ("1", "c", 1, "3"), ("2", "d", 2, "1"), ("2", "a", 1, "2")]
    records = (f'{{"topic": "{t}", "document": "{d}", "score": {s}, "rank": {r}}}\n' for t, d, s, r in rows)
    Path("ranks.jsonl").write_text("".join(records))
    good = scores(fathoms, "qrels.txt", "good.run")
    assert [row[1:] for row in scores(fathoms, "qrels.txt", "ranks.jsonl")] == [row[1:] for row in good]


def test_junk(fathoms: Command) -> None:
    Path("spam.txt").write_bytes(QRELS + b"1 0 x -2\n")
    unjudged = scores(fathoms, "spam.txt", "good.run", "-m", "AP")[1]
    judged = scores(fathoms, "spam.txt", "good.run", "-m", "AP", "--nonrelevant-grade", "-2")[1]
    assert judged[3] == judged[5] == unjudged[3] < unjudged[5]


def test_ids_that_are_no_utf8_leave_as_they_came(tmp_path: Path) -> None:
    (tmp_path / "q").write_bytes(b"\xe9 0 \xfc 1\n")
    (tmp_path / "r").write_bytes(b"\xe9 Q0 \xfc 1 1 \xff\n")
    for form in ("tsv", "csv", "table", "latex", "trec_eval"):
        words = ("eval", "q", "r", "-m", "RR", "-q", "--format", form, "--quiet")
        done = process(tmp_path, *words, PYTHONIOENCODING="ascii")
        assert (done.returncode, done.stderr) == (0, b""), form
        assert (b"{[}0xE9]" if form == "latex" else b"\xe9") in done.stdout
        process(tmp_path, *words, "-o", "out", LC_ALL="C")
        written = (tmp_path / "out").read_bytes()
        assert written.startswith(done.stdout)
        assert re.fullmatch(rb"(% fathoms: .*\n)?", written.removeprefix(done.stdout))  # what it was made with
    found = json.loads(process(tmp_path, "eval", "q", "r", "-m", "RR", "-q", "--format", "json").stdout)
    assert found[0]["topic"].encode(errors="surrogateescape") == b"\xe9"
    (tmp_path / "other").write_bytes(QRELS)
    assert b"topic \xe9 is not in other" in process(tmp_path, "check", "other", "r").stdout
    assert b"no topic of the runs is judged" in process(tmp_path, "eval", "other", "r").stderr


# -- check --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("qrels", "run", "level", "message"),
    [
        (QRELS, RUN, "note", "bad.txt: 2 topics, 5 judgments; grades 0: 2, 1: 2, 2: 1"),
        (QRELS, RUN, "note", "bad.run: judged: 80.0% of all"),
        (QRELS + b"3 0 a 0\n", RUN, "note", "topic 3 has no document judged relevant, so scores there are 0 for now"),
        (QRELS, RUN.replace(b"a 1 3", b"a first 3"), "warning", "has ranks that are not numbers"),
        (QRELS, b"1 Q0 a 1 1 t\n1 Q0 c 2 2 t\n", "warning", "the rank column contradicts the scores in 1 of 1 topics"),
        (QRELS, b"1 Q0 a 1 1 t\n1 Q0 c 2 2 t\n", "note", "scores rise from one line to the next 1 time;"),
        (QRELS, b"9 Q0 a 1 1 t\n", "warning", "no topic matches: the run has '9', the judgments '1'"),
        (QRELS, b"1 Q0 A 1 1 t\n", "warning", "no document id matches: the run has 'A', the judgments 'a'"),
        (QRELS, TIED, "note", "ties: 33.3% of the documents have the same score as the one before, in 1 of 2 topics"),
        (QRELS, RUN + b"1 Q0 a 9 9 t\n", "warning", "skipped 1 document that the topic had already"),
        (b"", RUN, "error", "bad.txt: the file is empty"),
    ],
)
def test_check_finds(fathoms: Command, qrels: bytes, run: bytes, level: str, message: str) -> None:
    Path("bad.txt").write_bytes(qrels)
    Path("bad.run").write_bytes(run)
    done = fathoms("check", "bad.txt", "bad.run")
    assert any(line.startswith(f"{level}  ") and message in line for line in done.out.splitlines()), done.out
    findings = json.loads(fathoms("check", "bad.txt", "bad.run", "--format", "json").out)
    assert [list(finding) for finding in findings] == [["level", "file", "message"]] * len(findings)
    levels = {finding["level"] for finding in findings}
    assert level in levels
    assert done.status == ("error" in levels)
    assert fathoms("check", "bad.txt", "bad.run", "--strict").status == bool(levels & {"error", "warning"})
    tsv = fathoms("check", "bad.txt", "bad.run", "--format", "tsv").out.splitlines()
    assert tsv[0] == "level\tfile\tmessage"
    assert len(tsv) == len(findings) + 1


def test_check_of_sound_files(fathoms: Command) -> None:
    Path("good.json").write_text('{"1": {"a": 3, "c": 2}, "2": {"a": 1}}')
    done = fathoms("check", "qrels.txt", "good.run", "good.json", "--strict")
    assert done.status == 0
    assert done.out.startswith("3 files checked, no errors or warnings; 3 notes.\n")
    assert done.err == ""
    Path("copy.run").write_bytes(RUN)
    assert "has the same documents and scores as good.run" in fathoms("check", "qrels.txt", "good.run", "copy.run").out


# -- real processes -----------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels.txt").write_bytes(QRELS)
    (tmp_path / "good.run").write_bytes(RUN)
    return tmp_path


def test_standard_input(folder: Path) -> None:
    words = ("-m", "AP", "--format", "csv", "--quiet")
    plain = process(folder, "eval", "qrels.txt", "good.run", *words).stdout
    assert process(folder, "eval", "-", "good.run", *words, stdin=QRELS).stdout == plain
    piped = process(folder, "eval", "qrels.txt", "-", *words, "--universe", "all", stdin=gzip.compress(RUN))
    assert (piped.returncode, piped.stderr) == (0, b"")
    assert b"stdin,all,AP(universe=all),0.666" in piped.stdout
    bad = process(folder, "check", "qrels.txt", "-", stdin=b"bad\n")
    assert bad.returncode == 1
    assert b"error    -: line 1: expected 6 columns" in bad.stdout


def shell(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    command = f"fathoms() {{ '{sys.executable}' -m fathoms \"$@\"; }}; {command}"
    return subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, encoding="utf-8", check=False)


def test_a_run_from_another_process(folder: Path) -> None:
    """`<(...)` is a pipe with a name: it can be read once only, also where two passes are needed."""
    done = shell(folder, "fathoms eval <(cat qrels.txt) <(cat good.run) -m AP --universe all --format csv --quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert ",all,AP(universe=all),0.666" in done.stdout


def test_a_reader_that_goes_away(folder: Path) -> None:
    lines = b"".join(b"%d 0 a 1\n" % i for i in range(20_000))
    (folder / "many").write_bytes(lines)
    done = shell(folder, "fathoms eval many good.run -q --format tsv --quiet | head -1; exit ${PIPESTATUS[0]}")
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, COLUMNS, "")


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs a device that is always full")
def test_standard_output_that_is_full(folder: Path) -> None:
    done = shell(folder, "fathoms eval qrels.txt good.run > /dev/full")
    assert (done.returncode, done.stderr) == (2, "fathoms: standard output: No space left on device\n")


def test_output_that_is_closed_is_an_error_unless_it_is_not_needed(folder: Path) -> None:
    done = shell(folder, "fathoms eval qrels.txt good.run >&-")
    assert done.returncode == 2
    assert done.stderr == "fathoms: standard output: not writable\n"
    assert shell(folder, "fathoms eval qrels.txt good.run --format tsv -o scores.tsv >&-").returncode == 0
    assert (folder / "scores.tsv").exists()


def test_an_error_has_no_traceback(folder: Path) -> None:
    (folder / "bad.run").write_bytes(b"1 Q0\n")
    done = process(folder, "eval", "qrels.txt", "bad.run", "good.run")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"fathoms: bad.run:1: expected 6 columns")
    assert done.stderr.count(b"\n") == 1


def test_simulate_makes_what_eval_reads(fathoms: Command) -> None:
    made = fathoms("simulate", "-o", "sim", "--systems", "2", "--n-topics", "3", "--n-docs", "200", "--depth", "50")
    assert made.status == 0
    assert "try: fathoms eval sim/qrels.txt sim/runs" in made.err
    assert fathoms("check", "sim/qrels.txt", "sim/runs", "--strict").status == 0
    assert names(scores(fathoms, "sim/qrels.txt", "sim/runs", "-m", "AP", "--pooled", "sim/pooled.txt")) == [
        "sys1",
        "sys2",
    ]


def test_standard_output_by_name_keeps_what_is_in_its_file(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("1 0 a 1\n")
    convert = f"{sys.executable} -m fathoms convert q.txt -o /dev/stdout --to csv --kind qrels"
    (tmp_path / "log").write_text("hi\n")
    shell(tmp_path, f"{convert} >> log")
    assert (tmp_path / "log").read_text() == "hi\ntopic,document,grade\n1,a,1\n"
    shell(tmp_path, f"(echo first; {convert}; echo last) > log2")
    assert (tmp_path / "log2").read_text() == "first\ntopic,document,grade\n1,a,1\nlast\n"


# -- names that would do something to a terminal or a spreadsheet ------------------------------------------------------


def test_control_characters_in_names_are_shown_and_not_obeyed(fathoms: Command) -> None:
    Path("a\x1b[31m.run").write_bytes(RUN)
    done = fathoms("eval", "qrels.txt", "a\x1b[31m.run", "-m", "AP")
    assert done.status == 0
    assert "\x1b" not in done.out + done.err
    assert r"a\x1b[31m" in done.out
    Path("b\x9b2J.run").write_text("bad\n")
    done = fathoms("eval", "qrels.txt", "b\x9b2J.run")
    assert done.status == 2
    assert r"b\x9b2J.run:1: expected 6 columns" in done.err


@pytest.mark.parametrize("name", ["=1+1", "+a", "-b", "@c"])
def test_text_that_looks_like_a_formula_is_guarded_in_csv(fathoms: Command, name: str) -> None:
    Path(f"./{name}.run").write_bytes(RUN)
    words = ["eval", "qrels.txt", f"./{name}.run", "-m", "AP", "--format"]
    csv, tsv = (fathoms(*words, form).out for form in ("csv", "tsv"))
    assert csv.splitlines()[1].startswith(f"'{name},all,AP,0.")
    assert tsv.splitlines()[1].startswith(f"{name}\tall\tAP\t0.")
    compared = fathoms("compare", "qrels.txt", "good.run", f"./{name}.run", "-m", "P@1", "--format", "csv").out
    assert compared.splitlines()[1].split(",")[:2] in (["good", f"'{name}"], [f"'{name}", "good"])


def test_closed_standard_input_is_an_error(fathoms: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    done = fathoms("eval", "qrels.txt", "-")
    assert (done.status, done.err) == (2, "fathoms: standard input: is closed, so nothing can be read from it\n")
