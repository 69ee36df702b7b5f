"""Banded runs, and the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import fathoms as fm
from fathoms.evidence.align import Alignment
from fathoms.measures.banding import banded_score
from fathoms.measures.parse import parse_measure
from tests.support.commands import status as call


@pytest.fixture(scope="module")
def folder(simulated: Callable[..., Path]) -> Path:
    return simulated(systems=5, n_topics=6, n_docs=400, depth=70, pool_depth=12, unpooled=1, seed=5)


def test_a_banded_file_scores_what_the_bands_say(folder: Path, tmp_path: Path) -> None:
    assert call("band", folder / "runs", "--rho", "1.4", "-o", tmp_path / "banded", "--quiet") == 0
    qrels = fm.read_qrels(folder / "qrels.txt")
    names = ["RR", "RBP(p=0.85)", "AP", "nDCG@10"]
    frame = fm.evaluate(qrels, tmp_path / "banded", names, ties="expected", by_topic=True)
    align = Alignment(qrels, "run")
    runs = fm.read_runs(folder / "runs")
    assert sorted(frame["run"].unique()) == sorted(runs)
    for run in runs:
        evidence = align(runs[run]).evidence
        for name in names:
            part = frame.filter((frame["run"] == run) & (frame["measure"] == name) & (frame["topic"] != "all"))
            expected = banded_score(parse_measure(name), evidence, Fraction("1.4"))
            np.testing.assert_allclose(part["score"].to_numpy(), expected, atol=1e-12)
            if name != "RR":  # most first relevant documents stand alone in their band
                assert np.abs(expected - parse_measure(name).value(evidence)).max() > 0


def test_band_command(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("band", "-m", "RR", "-m", "RBP(p=0.5)", "--rho", "1.1", "--rho", "7/5", "--format", "json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [f"{row['worst_loss']:.4f}" for row in rows] == ["0.0038", "0.0417", "0.0002", "0.0429"]
    assert [row["safe_depth"] for row in rows] == [10, 2, 10, 2]
    assert call("band", "-m", "RR", "--loss", "0.05") == 0
    answer, _, _, row = capsys.readouterr().out.splitlines()
    assert answer == "RR: bands cost at most 0.0417 with rho 1.5."
    assert row.split() == ["RR", "1.5", "2", "0.0417"]
    assert call("band", folder / "runs", "--qrels", folder / "qrels.txt", "--rho", "1.4", "--format", "tsv") == 0
    done = capsys.readouterr()
    lines = [line.split("\t") for line in done.out.splitlines()]
    most = max((float(line[5]), line[0]) for line in lines[1:] if line[1] == "AP")
    mean = sum(float(line[5]) for line in lines[1:] if line[1] == "AP") / 5
    said = (
        f"fathoms: AP, rho 1.4: bands cost {most[1]} {most[0]:+.4f}, the most, and {mean:+z.4f} on average over 5 runs."
    )
    assert said in done.err.splitlines()
    assert lines[0] == ["run", "measure", "rho", "score", "banded", "loss", "worst_loss"]
    assert len(lines) == 1 + 5 * 4
    for line in lines[1:]:
        assert float(line[5]) == pytest.approx(float(line[3]) - float(line[4]), abs=1e-12)
        assert line[6] == "" if line[1] == "AP" else abs(float(line[5])) <= float(line[6])


def test_band_command_says_what_is_wrong(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs, qrels, target = folder / "runs", folder / "qrels.txt", tmp_path / "banded"
    for words, message in (
        (("--rho", "1"), "above 1"),
        (("--rho", "x"), "such as 1.4"),
        (("--loss", "-0.1"), "0 or more"),
        ((), "--rho --loss"),
        (("--rho", "1.4", "-m", "AP"), "--qrels"),
        (("--rho", "1.4", "-o", target), "none is given"),
        ((runs, "--rho", "1.4"), "-o DIR"),
        ((runs, "--loss", "0.1", "-o", target), "without runs"),
        ((runs, "--rho", "1.4", "--rho", "2", "-o", target), "one banding"),
        ((runs, "--rho", "1.4", "-o", qrels), "is a file"),
        ((tmp_path / "none", "--rho", "1.4", "-o", target), "no such file"),
    ):
        assert call("band", *words) == 2
        assert message in capsys.readouterr().err
    assert not target.exists()
