"""The line for whoever waits at a terminal."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from fathoms.cli import waiting
from fathoms.data.simulate import simulate, write
from tests.support.terminals import on_terminal


def test_nothing_is_said_in_the_first_second_and_then_a_line_that_goes_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(waiting, "monotonic", lambda: now[0])
    monkeypatch.setattr(waiting, "_width", lambda: 20)
    line = waiting.Line()
    line.show("runs", 1, 1000)
    assert capsys.readouterr().err == ""
    now[0] = 1.0
    line.show("runs", 2, 1000)
    line.show("runs", 3, 1000)  # too soon for another one
    assert capsys.readouterr().err == "\rruns: 2 of 1,000\x1b[K"
    now[0] = 1.2
    line.show("topics of ranges", 10, 1000)
    assert capsys.readouterr().err == "\rtopics of ranges: 1\x1b[K"
    line.show("topics of ranges", 1000, 1000)
    line.clear()
    assert capsys.readouterr().err == "\r\x1b[K"


@pytest.mark.skipif(sys.platform != "linux", reason="pseudo-terminals as Linux has them")
def test_a_command_shows_how_far_it_is_on_a_terminal_and_there_alone(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    write(simulate(systems=3, n_topics=3, depth=20, seed=1), folder)
    code = "from fathoms.cli import app, waiting; waiting.SHORT = waiting.BETWEEN = 0; app.main()"
    words = [sys.executable, "-c", code, "compare", "qrels.txt", "runs", "-m", "AP", "--workers", "1"]
    status, shown = on_terminal(words, folder, os.environ)
    assert status == 0
    assert "\rreading runs: 0 of 3\x1b[K" in shown
    assert "\rparts of the estimates: " in shown
    answer = shown.rsplit("\x1b[K", 1)[1]
    assert answer.startswith("AP: ")
    _, quiet = on_terminal([*words, "--quiet"], folder, os.environ)
    assert "\x1b[K" not in quiet
