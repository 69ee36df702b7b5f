"""The command `judge`: an assessor at a terminal, answers from files, killed processes, measures and labels."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import fathoms as fm
from fathoms.judging.log import Log
from fathoms.judging.select import STRATEGIES
from fathoms.judging.standings import expected_scores
from tests.support.commands import Command, Done, finished
from tests.support.paths import ROOT

SYSTEMS, DEPTH = 4, 20
NEVER = "0.999999999"  # a confidence that is not reached


@pytest.fixture(scope="module")
def made(simulated: Callable[..., Path]) -> Path:
    """A small simulated collection with texts."""
    return simulated(systems=SYSTEMS, n_topics=6, n_docs=200, depth=DEPTH, pool_depth=3, texts=True)


@pytest.fixture
def judge(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command, in a folder that holds a simulated collection `sim`; `stdin` is what the assessor types."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sim").symlink_to(made)
    monkeypatch.setenv("LOGNAME", "ann")

    def call(*words: str, stdin: Any = "", qrels: str = "none", runs: Sequence[str] = ("sim/runs",)) -> Done:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin) if isinstance(stdin, str) else stdin)
        return finished(capsys, "judge", qrels, *runs, *words)

    return call


def events(path: str | Path) -> list[tuple[Any, ...]]:
    """The log, read without any of our code."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT kind, topic, document, grade, undone, assessor, note FROM event").fetchall()


def test_an_assessor_at_work(judge: Command) -> None:
    words = ("--topic-texts", "sim/topics.jsonl", "--docs", "sim/docs.jsonl", "--max-grade", "2", "--export", "q.txt")
    lines = ["?", "2", "", "n  looks odd ", "0", "s in Dutch", "u", "1", "m", "q", "never read"]
    done = judge(*words, stdin="\n".join(lines))
    assert done.status == 0
    rows = events("fathoms-judging.db")
    assert [(row[0], row[3], row[4], row[6]) for row in rows] == [
        ("grade", 2, None, ""),
        ("grade", 0, None, "looks odd"),
        ("skip", None, None, "in Dutch"),
        ("undo", None, 3, ""),
        ("grade", 1, None, ""),
    ]
    assert rows[2][1:3] == rows[3][1:3] == rows[4][1:3]  # taken back, it comes again
    assert len({row[1:3] for row in rows}) == 3
    assert {row[5] for row in rows} == {"ann"}
    assert "0 to 2      the document's grade" in done.err
    assert f"Saved: topic {rows[0][1]}, document {rows[0][2]}: grade 2. 1 judged, " in done.err
    assert "The note will be saved" in done.err
    assert "That is all of it." in done.err
    topics = {one["id"]: one for one in map(json.loads, Path("sim/topics.jsonl").read_text().splitlines())}
    documents = {one["id"]: one for one in map(json.loads, Path("sim/docs.jsonl").read_text().splitlines())}
    assert f"Topic {rows[0][1]}: {topics[rows[0][1]]['title']}\n" in done.err
    assert f"Document {rows[0][2]}: {documents[rows[0][2]]['title']}\n" in done.err
    assert documents[rows[0][2]]["text"] in " ".join(done.err.split())
    assert done.out.startswith("3 judged (2 relevant)")
    assert "expected AP" in done.out
    assert "\x1b" not in done.err
    assert len(fm.read_qrels("q.txt")) == 3
    assert "judgments written to q.txt, who made them to q.txt.provenance.tsv" in done.err

    more = judge(*words[:4], "--resume", "--assessor", "bob", stdin="u\n0\n")
    assert more.status == 0
    assert "There is no answer of bob to take back." in more.err
    assert [row[5] for row in events("fathoms-judging.db")] == ["ann"] * 5 + ["bob"]
    assert more.out.startswith("4 judged (2 relevant)")
    assert "--resume --export FILE writes qrels" in more.err


def test_without_texts_and_quiet(judge: Command) -> None:
    done = judge("--quiet", stdin="1\n")
    assert done.status == 0
    assert done.err.count("no text available") == 4  # topic and document, twice
    assert "Saved" not in done.err
    assert "fathoms:" not in done.err


def test_where_texts_are_missing(judge: Command) -> None:
    Path("few.tsv").write_text("101\tone\nx\tnobody\n")
    done = judge("--topic-texts", "few.tsv", "--docs", "few.tsv")
    total = len({line.split()[2] for path in Path("sim/runs").iterdir() for line in path.read_text().splitlines()})
    assert "warning: 5 of 6 topics have no text" in done.err
    assert f"warning: {total} of {total} documents have no text" in done.err


@pytest.mark.parametrize(
    "flags",
    [
        ["--export", "s.db"],
        ["--export", "s.db-journal"],
        ["--export", "sim/runs/sys1.run"],
        ["--export", "link.txt"],  # another name of a run
        ["--export", "more"],  # beside which more.provenance.tsv is a text that is read
        ["--batch", "3", "--to", "s.db"],
        ["--batch", "3", "--to", "out.txt", "--export", "out.txt"],
        ["--web", "--links", "s.db"],
        ["--web", "--links", "sim/runs/sys1.run"],
    ],
)
def test_nothing_is_written_over_the_session_or_what_is_read(judge: Command, flags: list[str]) -> None:
    judge("--session", "s.db", stdin="1\n0\n")
    Path("link.txt").symlink_to("sim/runs/sys1.run")
    Path("more.provenance.tsv").write_text("101\tone\n")
    files = [Path("s.db"), Path("sim/runs/sys1.run"), Path("more.provenance.tsv")]
    before = [path.read_bytes() for path in files]
    done = judge("--session", "s.db", "--resume", "--topic-texts", "more.provenance.tsv", *flags)
    assert done.status == 2
    assert "; choose another name to write to" in done.err
    assert [path.read_bytes() for path in files] == before


def test_a_session_that_is_gone_at_the_end_is_said(judge: Command, tmp_path: Path) -> None:
    class Removing(io.StringIO):
        def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
            line = super().readline()
            if not line:
                (tmp_path / "s.db").unlink()
            return line

    done = judge("--session", "s.db", "--export", "q.txt", stdin=Removing("1\n"))
    assert Path("q.txt").read_text().endswith(" 1\n")
    assert "s.db: no longer exists" in done.err
    assert (done.status, "the answers are in" in done.err) == (2, False)


def test_a_text_that_cannot_be_read_can_be_skipped(judge: Command) -> None:
    """It would come again each time the session is resumed, and end it each time."""
    Path("docs").mkdir()
    for path in Path("sim/runs").iterdir():
        for line in path.read_text().splitlines():
            Path("docs", f"{line.split()[2]}.gz").write_bytes(b"\x1f\x8b is no gzip")
    done = judge("--docs", "docs", stdin="s cannot read it\n1\n")
    assert done.status == 0
    assert done.err.count("This text cannot be read: docs/DOC-") == 3
    assert done.err.count("Saved: ") == 2


def test_long_and_hostile_texts(judge: Command) -> None:
    names = {line.split()[2] for path in Path("sim/runs").iterdir() for line in path.read_text().splitlines()}
    words = " ".join(f"word{i}" for i in range(2000))
    evil = f"start \x1b[2J\x1b]0;owned\x07 \x9b31m \r over \u202egnp {words} end"
    Path("docs.jsonl").write_text("".join(json.dumps({"id": name, "text": evil}) + "\n" for name in names))
    Path("topics.tsv").write_text("".join(f"{i}\tT\x1b[5m\ttext\n" for i in range(101, 107)))
    short = judge("--docs", "docs.jsonl", "--topic-texts", "topics.tsv", stdin="")
    assert "start �[2J�]0;owned� �31m" in " ".join(short.err.split())
    assert "word2 " in short.err
    assert " end\n" not in short.err
    assert "more lines: m shows them]" in short.err
    long = judge("--docs", "docs.jsonl", "--session", "b.db", stdin="m\n" * 100)
    assert long.err.count(" end\n") == 1
    assert "That is all of it." in long.err
    for text in (short.err, long.err):
        assert not set(text) & set("\x1b\x07\x9b\r\u202e")


def test_end_by_budget_by_confidence_and_by_nothing_left(judge: Command) -> None:
    done = judge("--budget", "2", stdin="0\n0\n0\n")
    assert "The budget of 2 judgments is used up." in done.err
    assert len(events("fathoms-judging.db")) == 2
    more = judge("--budget", "3", "--resume", stdin="0\n0\n0\n")
    assert more.out.startswith("3 judged (0 relevant)")
    Path("a.run").write_text("1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n")
    Path("b.run").write_text("1 Q0 b 1 3 t\n1 Q0 a 2 2 t\n")
    few = judge(
        "--session", "few.db", "--confidence", NEVER, "--strategy", "pool", stdin="s\n1\n", runs=("a.run", "b.run")
    )
    assert "There is nothing left to judge but what was skipped." in few.err
    assert few.out.startswith("1 judged (1 relevant), 1 skipped; 0 of 1 pairs settled at 1.")


def grades_in(path: str) -> dict[tuple[str, str], int]:
    rows = [line.split() for line in Path(path).read_text().splitlines()]
    return {(topic, document): int(grade) for topic, _, document, grade in rows}


@pytest.mark.long
def test_answers_from_a_file(judge: Command) -> None:
    truth = grades_in("sim/truth.txt")
    done = judge("--oracle", "sim/truth.txt", "--export", "q.txt", "--budget", "30")
    assert done.status == 0
    rows = events("fathoms-judging.db")
    assert [row[3] for row in rows] == [truth[row[1], row[2]] for row in rows]
    assert {row[5] for row in rows} == {"oracle"}
    assert len(rows) == 30 or "all settled" in done.out or " 6 of 6 pairs settled" in done.out
    assert "count as grade 0" not in done.err
    assert Path("q.txt").read_text() == "".join(f"{row[1]} 0 {row[2]} {row[3]}\n" for row in rows)
    partial = judge("--oracle", "sim/qrels.txt", "--session", "p.db", "--confidence", NEVER)
    assert partial.err.count("documents that sim/qrels.txt does not judge count as grade 0") == 1
    known = grades_in("sim/qrels.txt")
    assert [row[3] for row in events("p.db")] == [known.get((row[1], row[2]), 0) for row in events("p.db")]


def test_judgments_there_are_count_from_the_start(judge: Command) -> None:
    known = fm.read_qrels("sim/qrels.txt")
    done = judge("--oracle", "sim/truth.txt", "--export", "q.txt", "--budget", "10", qrels="sim/qrels.txt")
    before, after = (Path(name).read_text().splitlines() for name in ("sim/qrels.txt", "q.txt"))
    assert after[: len(before)] == before
    judged = {(row[1], row[2]) for row in events("fathoms-judging.db")}
    assert judged
    assert not judged & grades_in("sim/qrels.txt").keys()
    assert len(after) == len(before) + len(judged)
    assert f"{len(known):,} known before" in done.out
    refused = judge("--resume", qrels="none")
    assert refused.status == 2
    assert "the content of the judgments has changed" in refused.err


@pytest.mark.long
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_resuming_chooses_as_if_never_interrupted(judge: Command, strategy: str) -> None:
    words = ("--strategy", strategy, "--oracle", "sim/truth.txt", "--confidence", NEVER)
    judge(*words, "--budget", "12", "--session", "whole.db")
    for budget in range(0, 13, 3):
        judge(*words, "--budget", str(budget), "--session", "parts.db", *(["--resume"] if budget else []))
    assert events("parts.db") == events("whole.db")


def test_ends_at_a_line_that_is_no_answer(judge: Command) -> None:
    for line in ("3", "-1", "yes", "1 0", "s", "n", "٣"):
        Path("fathoms-judging.db").unlink(missing_ok=True)
        done = judge("--budget", "5", stdin=f"1\n{line}\n0\n")
        if line == "s":  # which is one
            assert done.status == 0
            continue
        assert done.status == 2
        assert "fathoms: standard input:2: expected a grade from 0 to 1, s, u, n TEXT, m, q or ?, found " in done.err
        assert [row[3] for row in events("fathoms-judging.db")] == [1]


def test_bad_usage(judge: Command) -> None:
    Path("bad.txt").write_text("101 0 DOC-0000001 0.5\n")
    Path("folder").mkdir()
    run = "sim/runs/sys1.run"
    for words, more, message in (
        ((), {"qrels": "-"}, "standard input is for the answers"),
        ((), {"runs": ("-",)}, "standard input is for the answers"),
        ((), {"runs": (run,)}, "it takes two runs or more"),
        ((), {"qrels": "absent.txt"}, "absent.txt: no such file"),
        (("--resume",), {}, "no session has been begun in this file; leave out --resume"),
        (("--session", "no/s.db"), {}, "there is no folder no"),
        (("--session", "folder"), {}, "is a folder"),
        (("--export", "no/q.txt"), {}, "there is no folder no"),
        (("--confidence", "0.5"), {}, "expected a probability between 0.5 and 1"),
        (("--confidence", "x"), {}, "expected a probability between 0.5 and 1"),
        (("--strategy", "best"), {}, "found 'best'"),
        (("--rel", "2"), {}, "rel must be a grade from 1 to 1"),
        (("--baseline", "sys9"), {}, "the baseline 'sys9' is not among the runs: sys1, sys2"),
        (("--docs", "absent"), {}, "absent: no such file"),
        (("--oracle", "absent"), {}, "absent: no such file"),
    ):
        done = judge(*words, stdin="1\n", **more)
        assert done.status == 2, words
        assert message in done.err
        assert not Path("fathoms-judging.db").exists()
    name = next(Path("sim/runs").iterdir()).read_text().split()[2]
    Path("bad.txt").write_text(f"101 0 {name} 0.5\n")
    assert "has fractional grades" in judge("--oracle", "bad.txt").err


def test_flags_that_contradict_the_session(judge: Command) -> None:
    judge("--depth", "10", "--baseline", "sim/runs/sys2.run", "--ties", "run", stdin="1\n")
    again = judge(stdin="1\n")
    assert again.status == 2
    assert "fathoms-judging.db: exists already; go on with --resume" in again.err
    for words, message in (
        (("--depth", "11"), "was begun with --depth 10, found 11"),
        (("--max-grade", "2"), "was begun with --max-grade 1, found 2"),
        (("--baseline", "sys1"), "was begun with --baseline sys2, found sys1"),
        (("--strategy", "mtc"), "was begun with --strategy"),
        (("--ties", "trec"), "was begun with --ties run, found trec"),
        (("--score-precision", "float32"), "was begun with --score-precision float64, found float32"),
        (("--seed", "4"), "was begun with --seed 0, found 4"),
    ):
        done = judge("--resume", *words, stdin="1\n")
        assert done.status == 2
        assert message in done.err
    assert len(events("fathoms-judging.db")) == 1
    done = judge("--resume", "--depth", "10", "--confidence", "0.99", stdin="1\n")
    assert done.status == 0
    assert "of 3 pairs settled at 0.99" in done.out
    other = judge("--resume", stdin="1\n", runs=("sim/runs/sys1.run", "sim/runs/sys2.run"))
    assert other.status == 2
    assert "the runs were 4 runs (sys1, sys2, sys3, sys4), and are now 2 runs (sys1, sys2)" in other.err


def test_topics_without_judgments_are_told(judge: Command) -> None:
    Path("q.txt").write_text("101 0 DOC-0000001 1\n101 0 DOC-0000002 -1\n")
    done = judge("--topics", "all", qrels="q.txt")
    assert "warning: 5 of 6 topics of the runs have no judgments yet: 102, 103, 104, 105, 106" in done.err
    assert "1 judgment with a negative grade" in done.err


def test_interrupted(judge: Command) -> None:
    class Keyboard:
        lines: ClassVar = ["1\n"]

        def isatty(self) -> bool:
            return False

        def readline(self) -> str:
            if not self.lines:
                raise KeyboardInterrupt
            return self.lines.pop()

    done = judge(stdin=Keyboard())
    assert done.status == 130
    assert "all answers are saved in fathoms-judging.db; go on with --resume" in done.err
    assert len(events("fathoms-judging.db")) == 1


@pytest.mark.long
def test_at_a_terminal(judge: Command, tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    Path("topics.tsv").write_text("".join(f"{i}\tWhat are solar panels?\n" for i in range(101, 107)))
    names = {line.split()[2] for path in Path("sim/runs").iterdir() for line in path.read_text().splitlines()}
    Path("docs.tsv").write_text("".join(f"{name}\tA Solar\x1b[2J panel, PANELS, what are these?\n" for name in names))
    words = ("--topic-texts", "topics.tsv", "--docs", "docs.tsv", "--budget", "1")
    process = start(tmp_path, *words, stdin=theirs, stderr=theirs, TERM="xterm-256color", COLUMNS="90")
    os.close(theirs)

    def until_asked() -> str:
        text = ""
        while not text.endswith(" > "):
            text += os.read(ours, 4096).decode()
        return text

    first = until_asked().rpartition("\x1b[K")[2]  # a busy machine shows before how far it is
    assert set(re.findall("\x1b.?[^m]*.", first)) == {"\x1b[1m", "\x1b[1;33m", "\x1b[0m"}
    assert re.findall(r"\x1b\[1;33m(\w+)\x1b\[0m", first) == ["Solar", "panel", "PANELS"]
    os.write(ours, b"what?\n")
    assert "Expected a grade from 0 to 1" in until_asked()
    os.write(ours, b"1\n")
    assert "The budget of 1 judgments is used up.\r\nEnter finishes, u takes the last answer back > " in until_asked()
    os.write(ours, b"u\n")
    assert until_asked().endswith(first[first.index("Topic") :])  # the same document as before
    os.write(ours, b"0\n")
    until_asked()
    os.write(ours, b"\n")
    out, _ = process.communicate()
    os.close(ours)
    assert process.returncode == 0
    assert out.startswith("1 judged (0 relevant)")
    assert [row[3] for row in events("fathoms-judging.db")] == [1, None, 0]


# -- processes ----------------------------------------------------------------------------------------------------


def start(
    folder: Path, *words: str, stdin: int = subprocess.PIPE, stderr: int = subprocess.PIPE, **env: str
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "fathoms", "judge", "none", "sim/runs", "--confidence", NEVER, *words],
        cwd=folder,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env=os.environ | env,
    )


@pytest.mark.long
def test_a_second_process_is_refused(judge: Command, tmp_path: Path) -> None:
    first = start(tmp_path)
    assert first.stdin is not None
    assert first.stderr is not None
    first.stdin.write("1\n")
    first.stdin.flush()
    assert any(line.startswith("Saved") for line in first.stderr)
    second = judge("--resume", stdin="0\n")
    assert second.status == 2
    assert "fathoms-judging.db: is in use by another process" in second.err
    first.communicate("0\n")
    assert first.returncode == 0
    assert [row[3] for row in events("fathoms-judging.db")] == [1, 0]


def is_begun(path: str) -> bool:
    if not os.path.exists(path):
        return False
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def script(rng: random.Random, n: int) -> list[str]:
    """Answers of all kinds, each of which makes one event."""
    lines: list[str] = []
    stands = 0
    for _ in range(n):
        line = rng.choice(["0", "0", "0", "1", "1", "s why not", "u"]) if stands else "1"
        stands += -1 if line == "u" else 1
        lines.append(line)
    return lines


@pytest.mark.long
def test_no_acknowledged_answer_is_lost_whenever_the_process_is_killed(judge: Command, tmp_path: Path) -> None:
    """Kill the command at random moments of its life, and go on each time with what is on disk."""
    rng = random.Random(7)
    answers = script(rng, 200)
    whole = start(tmp_path, "--session", "whole.db", "--export", "whole.txt")
    _, heard = whole.communicate("".join(f"{line}\n" for line in answers))
    expected = events("whole.db")
    assert heard.count("Saved: ") + heard.count("Taken back: ") == len(expected) == len(answers)

    kills = session = 0
    most = int(os.environ.get("FATHOMS_KILLS", "5"))
    while kills < most:
        session += 1
        name = f"{session}.db"
        on_disk: list[tuple[Any, ...]] = []
        while True:
            resumed = ["--resume"] if is_begun(name) else []
            process = start(tmp_path, "--session", name, "--export", f"{session}.txt", *resumed)
            assert process.stdin is not None
            assert process.stderr is not None
            process.stdin.write("".join(f"{line}\n" for line in answers[len(on_disk) :]))
            process.stdin.close()
            acknowledged, wait_for = 0, rng.choice([0, 1, 2, 3, 5])
            while acknowledged < wait_for and (line := process.stderr.readline()):
                acknowledged += line.startswith(("Saved: ", "Taken back: "))
            # Some die while they start, the others in the middle of an answer or between two.
            time_left = rng.uniform(0, 0.6) if not wait_for else rng.uniform(0, 0.02)
            try:
                process.wait(time_left)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
            acknowledged += sum(line.startswith(("Saved: ", "Taken back: ")) for line in process.stderr)
            status = process.wait()
            before = len(on_disk)
            on_disk = events(name) if is_begun(name) else []
            assert on_disk == expected[: len(on_disk)]  # the same documents, in the same order
            assert before + acknowledged <= len(on_disk) <= before + acknowledged + 1
            if status == 0:
                break
            assert status == -signal.SIGKILL
            kills += 1
            if kills == most:
                break
    if on_disk != expected:  # and once more, to the end
        resumed = ["--resume"] if is_begun(name) else []
        last = start(tmp_path, "--session", name, "--export", f"{session}.txt", *resumed)
        last.communicate("".join(f"{line}\n" for line in answers[len(on_disk) :]))
        assert last.returncode == 0
    assert events(name) == expected
    assert Path(f"{session}.txt").read_text() == Path("whole.txt").read_text()


def test_the_page_has_every_strategy() -> None:
    page = (ROOT / "docs" / "judge.md").read_text(encoding="utf-8")
    table = page.split("## Strategies")[1].split("##")[0]
    assert re.findall(r"^\| `(\w[\w-]*)` \|", table, re.MULTILINE) == list(STRATEGIES)


# -- measures and labels --------------------------------------------------------------------------------------------


@pytest.mark.long
def test_by_several_measures(judge: Command) -> None:
    """What the summary expects is what the engine does, and nothing is settled before it is by both."""
    done = judge("-m", "nDCG@5", "-m", "P@5", "--oracle", "sim/truth.txt", "--depth", str(DEPTH))
    assert done.status == 0
    head = re.match(r"(\d+) judged \((\d+) relevant\); (\d+) of (\d+) pairs settled at 0\.95\.\n", done.out)
    assert head is not None
    judged, _, settled, pairs = map(int, head.groups())
    assert pairs == SYSTEMS * (SYSTEMS - 1) // 2
    log = Log.open(Path("fathoms-judging.db"))
    assert log.settings().measures == ("nDCG@5", "P@5")
    log.close()
    exp = fm.Experiment(None, "sim/runs")
    session = exp.judge("fathoms-judging.db", resume=True)
    assert session.judged == judged
    by_pair: dict[frozenset[str], list[float]] = {}
    for pair in session.pairs():
        by_pair.setdefault(frozenset((pair.better, pair.other)), []).append(pair.confidence)
    assert {len(sure) for sure in by_pair.values()} == {2}
    assert sum(min(sure) >= 0.95 for sure in by_pair.values()) == settled
    for measure, column in enumerate((1, 2)):
        of_one = dict(expected_scores(session.engine, measure))
        shown = {line.split()[0]: line.split()[column] for line in done.out.split("\n\n")[1].splitlines()[1:]}
        assert shown == {name: f"{value:.4f}" for name, value in of_one.items()}
    session.close()


def test_measures_that_judging_cannot_go_by(judge: Command) -> None:
    for name in ("Bpref", "infAP", "AP(judged_only=True)", "nERR@10"):
        done = judge("-m", name, "--session", "no.db")
        assert done.status == 2
        assert "judging cannot go by" in done.err
        assert "P, RR, AP, nDCG, RBP, ERR, DCG, SDCG, Q" in done.err
        assert not Path("no.db").exists()


def test_another_measure_on_resuming(judge: Command) -> None:
    assert judge("-m", "RBP(p=0.8)", stdin="0\n").status == 0
    assert judge("-m", "RBP", "--resume", stdin="0\n").status == 0  # the same by another name
    done = judge("-m", "P@10", "--resume", stdin="0\n")
    assert done.status == 2
    assert "was begun with --measure RBP(p=0.8), found P@10;" in done.err


def test_labels(judge: Command) -> None:
    """The truth as a label says which documents are relevant; a session wants the same labels again."""
    truth = [line.split() for line in Path("sim/truth.txt").read_text().splitlines()]
    Path("labels.txt").write_text("".join(f"{topic} {document} {grade}\n" for topic, _, document, grade in truth))
    alone = judge("--oracle", "sim/truth.txt", "--budget", "30", "--confidence", NEVER, "--session", "alone.db")
    told = judge(
        *("--oracle", "sim/truth.txt", "--budget", "30", "--confidence", NEVER, "--session", "told.db"),
        *("--labels", "labels.txt"),
    )
    assert (alone.status, told.status) == (0, 0)
    exp = fm.Experiment(None, "sim/runs")
    relevant = {(topic, document) for topic, _, document, grade in truth if int(grade) > 0}
    errors = []
    for name, labels in (("alone.db", ()), ("told.db", ("labels.txt",))):
        session = exp.judge(name, resume=True, labels=labels)
        numbers, chance = session.engine.probabilities()
        tasks = [session.documents.task(int(number)) for number in numbers]
        true = np.array([(task.topic, task.document) in relevant for task in tasks])
        errors.append(float(((chance - true) ** 2).mean()))
        session.close()
    assert errors[1] < 0.5 * errors[0]
    done = judge("--resume", "--session", "told.db", stdin="0\n")
    assert done.status == 2
    assert "the content of the labels has changed" in done.err
    done = judge("--labels", "nowhere.txt", "--session", "other.db", stdin="0\n")
    assert done.status == 2


def test_the_command_says_which_topics_are_left_out(fathoms: Command) -> None:
    Path("a.run").write_text("1 Q0 a 1 2 t\n1 Q0 u 2 1 t\n9 Q0 v 1 1 t\n")
    Path("b.run").write_text("1 Q0 w 1 2 t\n8 Q0 v 1 1 t\n")
    done = fathoms("judge", "qrels.txt", "a.run", "b.run", "--batch", "9", "--to", "batch.tsv")
    assert done.status == 0, done.err
    assert (
        "2 topics of the runs without judgments are left out; begin with --topics all to judge all topics" in done.err
    )
    assert {line.split("\t")[0] for line in Path("batch.tsv").read_text().splitlines()[1:]} == {"1"}
    more = ("--topics", "all", "--session", "all.db", "--batch", "9", "--to", "all.tsv")
    assert fathoms("judge", "qrels.txt", "a.run", "b.run", *more).status == 0
    assert {line.split("\t")[0] for line in Path("all.tsv").read_text().splitlines()[1:]} == {"1", "8", "9"}
