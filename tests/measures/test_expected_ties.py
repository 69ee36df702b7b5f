"""`--ties expected` means one thing, the mean over all orders of tied documents, wherever it is not refused."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fathoms as fm
from fathoms.base.errors import FathomsError
from fathoms.cli.app import COMMANDS
from tests.support.commands import finished

pytestmark = pytest.mark.filterwarnings("ignore::fathoms.FathomsWarning")

QRELS = {str(t): {"a": int(t != 2), "b": 0, "c": 1, "d": t % 2} for t in range(6)}
# Everything is tied in x, and nothing in y; under trec_eval's rule x ranks d, c, b, a.
RUNS = {
    "x": {t: dict.fromkeys("abcd", 1.0) for t in QRELS},
    "y": {t: {"b": 4.0, "a": 3.0, "c": 2.0, "u": 1.0} for t in QRELS},
}
REFUSAL = "needs one order of tied documents, and `expected` is the mean over all orders"

# What a command with --ties does, given its other arguments: it shows means over orders, or it refuses.
HONOURED: dict[str, list[str]] = {
    "eval": ["-m", "P@2"],
    "compare": ["-m", "P@2"],
    "rank": ["-m", "P@2"],
    "audit": ["-m", "P@2", "--depth", "2"],
}
REFUSED: dict[str, list[list[str]]] = {
    "gate": [["-m", "P@2"]],
    "diff": [["--qrels", "qrels"], []],
    "doubt": [["-m", "P@2"]],
    "predict": [["-m", "P@2"], ["--probabilities"], ["--confidence"], ["--method", "fusion"]],
    "depth": [["-m", "P", "--depths", "1:3"]],
    "report": [["-o", "report.html"]],
    "judge": [["--session", "new.session"]],
    "papers": [[paper, "-o", "out"] for paper in ("rm", "gain", "depth", "ties", "rtc", "estimates")],
    "pool": [["--depth", "2"]],
    "labels": [["-m", "P@2"]],
    "plan": [["-m", "P@2"]],
}


def takes_expected(command: str) -> bool:
    parser = ArgumentParser()
    import_module(f"fathoms.questions.{command}.command").add_arguments(parser)
    return any("--ties" in one.option_strings and "expected" in (one.choices or ()) for one in parser._actions)


def test_every_command_is_looked_at() -> None:
    offered = {command for command in COMMANDS if takes_expected(command)}
    assert offered == {*HONOURED, *REFUSED}, "say here what --ties expected does in it"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = [f"{t} 0 {doc} {grade}\n" for t, known in QRELS.items() for doc, grade in known.items()]
    Path("qrels").write_text("".join(lines))
    for name, run in RUNS.items():
        ranked = [(t, doc, score) for t, of_topic in run.items() for doc, score in of_topic.items()]
        Path(name).write_text("".join(f"{t} Q0 {doc} 0 {score} {name}\n" for t, doc, score in ranked))
    return tmp_path


@pytest.mark.parametrize(("command", "words"), [(c, words) for c, several in REFUSED.items() for words in several])
def test_what_needs_an_order_refuses_it(
    command: str, words: list[str], files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    others = {
        "pool": ["x", "y", "--qrels", "qrels"],
        "labels": ["qrels", "qrels", "--runs", "x", "y"],
        "diff": ["x", "y"],
    }
    inputs = others.get(command, ["qrels", "x", "y"])
    first, rest = (words[:1], words[1:]) if command == "papers" else ([], words)
    before = sorted(files.iterdir())
    done = finished(capsys, command, *first, *inputs, *rest, "--ties", "expected")
    assert done.status == 2
    assert REFUSAL in done.err
    assert "use trec, run, rank or score-rank" in done.err
    assert sorted(files.iterdir()) == before


CALLS: dict[str, Callable[[fm.Experiment], Any]] = {
    "predict": lambda exp: exp.predict("P@2"),
    "probabilities": lambda exp: exp.probabilities(),
    "confidence": lambda exp: exp.confidence("P@2"),
    "depth": lambda exp: exp.depth("P", "1:3"),
    "gate": lambda exp: exp.gate("P@2"),
    "diff": lambda exp: exp.diff(),
    "evaluate_depths": lambda exp: exp.evaluate_depths("P", "1:3"),
    "pool": lambda exp: exp.pool(depth=2),
    "report": lambda exp: exp.report(),
    "judge": lambda exp: exp.judge("never.session"),
}


@pytest.mark.parametrize("name", CALLS)
def test_so_do_the_methods(name: str) -> None:
    with pytest.raises(FathomsError, match=REFUSAL):
        CALLS[name](fm.Experiment(QRELS, RUNS, ties="expected"))


# -- where it is honoured: P@2 of x by hand is the share of relevant documents, since all four may be anywhere ------


def mean_of_x() -> float:
    return float(np.mean([sum(known.values()) / 4 for known in QRELS.values()]))


def test_eval_is_the_mean_over_orders() -> None:
    frame = fm.evaluate(QRELS, RUNS, ["P@2", "AP"], ties="expected")
    precision, ap = frame.filter(pl.col("run") == "x").sort("measure", descending=True).iter_rows(named=True)
    assert precision["score"] == precision["tie_expected"] == pytest.approx(mean_of_x())
    assert (precision["low"], precision["high"]) == (pytest.approx(mean_of_x()), pytest.approx(mean_of_x()))
    trec = fm.evaluate(QRELS, RUNS, "P@2").filter(pl.col("run") == "x")["score"][0]
    assert trec != pytest.approx(mean_of_x())
    assert ap["score"] == ap["tie_expected"]
    assert (ap["low"], ap["high"]) == (None, None)  # no expectation of AP's range is known


def test_compare_is_of_means_over_orders() -> None:
    frame = fm.compare(QRELS, RUNS, "P@2", ties="expected")
    y = fm.evaluate(QRELS, RUNS, "P@2").filter(pl.col("run") == "y")["score"][0]
    assert frame["diff"][0] == pytest.approx(mean_of_x() - y)


def test_rank_is_of_means_over_orders() -> None:
    frame = fm.rank(QRELS, RUNS, "P@2", ties="expected")
    assert frame.filter(pl.col("run") == "x")["score"][0] == pytest.approx(mean_of_x())


def test_audit_is_of_means_over_orders() -> None:
    found = fm.Experiment(QRELS, RUNS, ties="expected", pooled=["x", "y"]).audit("P@2", depth=4)
    scores = {row.run: row.full for row in found.run_out}
    assert scores["x"] == pytest.approx(mean_of_x())
