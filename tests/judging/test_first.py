"""Documents that a judging session asks for first: from a file, from Python, and from `compare --explain-to`."""

from __future__ import annotations

from pathlib import Path

import pytest

import fathoms as fm
from fathoms.base.errors import InputError
from fathoms.cli.app import main
from fathoms.judging.session import Session

QRELS = {"1": {"a": 1}, "2": {"x": 1}}
RUNS = {
    "one": {"1": {"a": 3.0, "b": 2.0, "c": 1.0}, "2": {"x": 2.0, "y": 1.0}},
    "two": {"1": {"c": 3.0, "d": 2.0, "a": 1.0}, "2": {"z": 2.0, "x": 1.0}},
}


def judged(path: Path, **how: object) -> Session:
    return fm.Experiment(QRELS, RUNS).judge(path, **how)  # type: ignore[arg-type]


def told(session: Session) -> tuple[str, str] | None:
    task = session.next()
    return None if task is None else (task.topic, task.document)


def test_they_come_first_and_survive_skip_undo_and_resume(tmp_path: Path) -> None:
    (tmp_path / "first.txt").write_text("# topic document\n\n2 z 1 - 1 -0.5\n1 a\n1 d\n2 z\n1 b\n")
    session = judged(tmp_path / "s.db", first=tmp_path / "first.txt")
    asked = [session.documents.task(index)[1:] for index in session.documents.come_first(session.state)]
    assert asked == [("2", "z"), ("1", "d"), ("1", "b")]  # a is judged already
    session.grade("2", "z", 0, "me")
    session.skip("1", "d", "me")
    assert told(session) == ("1", "b")
    session.undo("me")
    assert told(session) == ("1", "d")
    session.close()
    session = judged(tmp_path / "s.db", resume=True)
    assert told(session) == ("1", "d")
    assert not session.settled()
    session.grade("1", "d", 1, "me")
    session.grade("1", "b", 0, "me")
    assert session.documents.come_first(session.state) == []
    task = session.next()
    assert task is None or task.document in ("c", "y")
    session.close()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 b\n1 nobody\n", "first.txt:2: topic 1, document nobody is in no"),
        ("#\n1\n", "first.txt:2: expected a topic and a document, found '1'"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "first.txt").write_text(text)
    with pytest.raises(InputError) as caught:
        judged(tmp_path / "s.db", first=tmp_path / "first.txt")
    assert message in str(caught.value)
    assert not (tmp_path / "s.db").exists()


def run(*words: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    assert stopped.value.code == 0


def test_compare_writes_what_judge_reads(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n1 0 n 0\n")
    (tmp_path / "a.run").write_text("1 Q0 a 1 9 a\n1 Q0 n 2 8 a\n")
    (tmp_path / "b.run").write_text("1 Q0 n 1 9 b\n1 Q0 u 2 8 b\n1 Q0 v 3 7 b\n1 Q0 a 4 6 b\n")
    files = [str(tmp_path / name) for name in ("qrels.txt", "a.run", "b.run")]
    out = tmp_path / "decisive.txt"
    for words in (["--explain", *files], [*files, "--explain"], [*files, "--explain-to", str(out)]):
        run("compare", *words, "-m", "P@3", "--draws", "0")
    lines = out.read_text().splitlines()
    assert lines[0].split("\t") == ["topic", "document", "grade", "rank_a", "rank_b", "change"]
    assert [line.split("\t")[:2] for line in lines[1:]] == [["1", "u"]]
    oracle = ["--oracle", files[0], "--session", str(tmp_path / "s.db"), "--budget", "1"]
    run("judge", *files, "--first", str(out), *oracle, "--export", str(tmp_path / "new.txt"))
    assert "1 0 u 0" in (tmp_path / "new.txt").read_text()
