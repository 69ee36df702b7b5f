"""Scores, separations and orderings by depth."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import fathoms as fm
from fathoms.inference.agreement import Evaluated, agreement
from fathoms.inference.correlation import correlation
from fathoms.questions.depth.analysis import (
    panes,
    reference_depth,
    scores_by_depth,
    volatility,
)
from fathoms.questions.depth.stability import stable_from
from fathoms.questions.depth.words import stability
from tests.support.commands import status


@pytest.fixture(scope="module")
def folder(simulated: Callable[..., Path]) -> Path:
    return simulated(systems=6, n_topics=8, n_docs=500, depth=60, pool_depth=15, unpooled=0, seed=2)


def test_every_depth_is_that_of_its_own_evaluation(folder: Path) -> None:
    qrels, runs = fm.read_qrels(folder / "qrels.txt"), fm.read_runs(folder / "runs")
    depths = [1, 3, 10, 15, 40]
    names = ["AP(variant=b)", "nDCG", "RBP(p=0.95)", "ERR", "RR", "P", "Q", "nDCG(judged_only=True)"]
    result = scores_by_depth(fm.Experiment(qrels, runs), names, depths)
    for name, scores in result.scores.items():
        for place, depth in enumerate(depths):
            frame = fm.evaluate(qrels, runs, f"{name}@{depth}", by_topic=True)
            expected = frame.filter(frame["topic"] != "all")["score"].to_numpy().reshape(6, 8)
            np.testing.assert_allclose(scores[:, :, place], expected, atol=1e-12)
    assert result.pooled == 15
    assert reference_depth(result) == 15
    rows = panes(result, "nDCG", 15)
    here, there = (Evaluated.of(result.scores["nDCG"][:, :, i]) for i in (3, 1))
    found = agreement(here, there)
    assert rows[1]["coverage"] == found.coverage
    assert rows[1]["inversion"] == found.inversion
    assert rows[1]["tau"] == pytest.approx(correlation(here.mean, there.mean, "tau"))
    assert rows[3] == {**rows[3], "coverage": 1.0, "inversion": 0.0, "tau": pytest.approx(1.0)}


def test_volatility_is_symmetric_with_itself_and_not_across(folder: Path) -> None:
    qrels, runs = fm.read_qrels(folder / "qrels.txt"), fm.read_runs(folder / "runs")
    result = scores_by_depth(fm.Experiment(qrels, runs), ["P", "RR"], range(1, 21))
    matrix = volatility(result, "P")
    np.testing.assert_allclose(matrix, matrix.T)
    np.testing.assert_allclose(np.diag(matrix), 1)
    across = volatility(result, "P", "RR")
    assert across.shape == (20, 20)
    assert across[4, 9] == pytest.approx(correlation(result.means("P")[4], result.means("RR")[9]))


def test_a_short_stretch_before_the_last_depth_is_not_called_stable() -> None:
    """Orders at neighbouring depths agree whatever the order does further down."""
    depths = [5, 26, 50]
    matrix = np.array([[1, 0.5, 0.5], [0.5, 1, 0.95], [0.5, 0.95, 1]])
    assert "stable from" not in stability("AP", matrix, depths, "tau")
    assert "agrees from depth 26 to 50, the deepest looked at" in stability("AP", matrix, depths, "tau")
    assert "is stable from depth 25 to 50, the deepest looked at" in stability("AP", matrix, [5, 25, 50], "tau")


def test_stable_from_is_the_first_depth_after_which_all_agree() -> None:
    matrix = np.array([[1, 0.5, 0.95], [0.5, 1, 0.92], [0.95, 0.92, 1]])
    assert stable_from(matrix, [1, 2, 3]) == 2
    assert stable_from(np.array([[1.0]]), [7]) == 7


def test_depth_command(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def call(*words: object) -> int:
        return status("depth", folder / "qrels.txt", folder / "runs", *words)

    assert call("--depths", "1:10", "--format", "tsv", "-o", tmp_path / "v.svg", "--scores", tmp_path / "s.tsv") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "measure\tdepth\tdiscrimination\tmedian_p\tcoverage\tinversion\ttau\tpearson\terror_rate\ttied"
    assert len(lines) == 11
    assert (tmp_path / "v.svg").read_text().startswith("<svg")
    assert len((tmp_path / "s.tsv").read_text().splitlines()) == 61
    assert call("-m", "P", "-m", "RR", "--cross", "--depths", "1,5,9", "-o", tmp_path / "v.tsv") == 0
    assert len((tmp_path / "v.tsv").read_text().splitlines()) == 10
    assert call("-m", "P@5") == 2
    assert call("--depths", "0:4") == 2
    assert call("-o", tmp_path / "v.doc") == 2


def test_one_run_has_no_order(folder: Path) -> None:
    run = min((folder / "runs").iterdir())
    with pytest.raises(fm.FathomsError, match="order of runs; give two or more"):
        fm.depth(folder / "qrels.txt", run)


def test_one_topic_has_no_halves() -> None:
    runs = {"a": {"1": {"d": 2.0, "e": 1.0}}, "b": {"1": {"e": 2.0, "d": 1.0}}}
    figures = fm.depth({"1": {"d": 1}}, runs, depths=[1, 2])
    assert figures["error_rate"].to_list() == figures["tied"].to_list() == [None, None]
