"""Comparisons: verdicts, what they rest on, and the command."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import fathoms as fm
from fathoms.data.simulate import simulate
from tests.support.commands import status


def as_run(ranking: list[str]) -> dict[str, dict[str, float]]:
    return {"1": {name: float(len(ranking) - i) for i, name in enumerate(ranking)}}


def many_topics(ranking: list[str], n: int = 20) -> dict[str, dict[str, float]]:
    return {str(t): as_run(ranking)["1"] for t in range(n)}


def verdict(judged: dict[str, int], a: list[str], b: list[str], n: int = 20, **how: object) -> str:
    qrels = {str(t): dict(judged) for t in range(n)}
    runs = {"a": many_topics(a, n), "b": many_topics(b, n)}
    return str(fm.compare(qrels, runs, "P@2", **how)["verdict"][0])  # type: ignore[arg-type]


def test_verdicts() -> None:
    assert verdict({"x": 1, "y": 0}, ["x"], ["y"]) == "certain"
    assert verdict({"x": 1, "y": 0}, ["x"], ["x"]) == "tie"
    # The same difference on all 20 topics is significant by its signs; u could make up for it, but hardly everywhere.
    assert verdict({"x": 1, "y": 0}, ["x"], ["y", "u"]) == "supported"
    assert verdict({"x": 1, "y": 0}, ["x"], ["y", "u"], draws=0) == "fragile"  # of which nothing is known without draws
    assert verdict({"x": 1, "y": 0}, ["x"], ["y", "u"], n=6) == "fragile"  # one or two of so few topics are enough
    # Nothing that is unjudged could: only a has such documents.
    assert verdict({"x": 1, "y": 0}, ["x", "u"], ["y"]) == "certain"


def test_ties_alone_make_a_difference_fragile() -> None:
    """Significant with x first; but w, tied with it, could stand there, and then b is ahead on its four topics."""
    judged = {str(t): {"x": int(t != 7), "w": 0, "y": 1, "z": 0} for t in range(20)}
    second = {str(t): {"y" if t < 4 else "z": 1.0} for t in range(20)}
    for score, expected in ((1.0, ("fragile", "ties", "yes")), (0.5, ("certain", "", "no"))):
        tied = {"a": {t: {"x": 1.0, "w": score} for t in judged}, "b": second}
        (pair,) = fm.Experiment(judged, tied).compare("P@1").pairs
        assert (pair.verdict, pair.reason, pair.reversible) == expected


def test_an_open_pair_says_how_many_topics_it_lacks() -> None:
    """With the same mean and spread of differences, so many topics find it in 4 of 5 cases."""
    rng = np.random.default_rng(3)
    hits = rng.random(30) < 0.6
    qrels = {str(t): {"x": int(hit), "y": int(not hit)} for t, hit in enumerate(hits)}
    runs = {"a": many_topics(["x"], 30), "b": many_topics(["y"], 30)}
    (pair,) = fm.Experiment(qrels, runs).compare("P@1").pairs
    assert (pair.verdict, pair.reversible) == ("open", "no")
    found = re.fullmatch(r"topics \(about ([\d,]+) in all\)", pair.reason)
    assert found is not None
    n = int(found[1].replace(",", ""))
    differences = np.where(hits, 1.0, -1.0)
    samples = rng.choice(differences, size=(4000, n))
    p = stats.ttest_1samp(samples, 0.0, axis=1).pvalue
    assert (p < 0.05).mean() == pytest.approx(0.8, abs=0.05)


def test_geometric_means_are_compared_as_logarithms() -> None:
    rng = np.random.default_rng(5)
    qrels = {str(t): {"x": 1, "y": 0, "z": int(rng.random() < 0.5)} for t in range(12)}
    runs = {"a": many_topics(["x", "y", "z"], 12), "b": many_topics(["y", "x", "z"], 12)}
    result = fm.Experiment(qrels, runs).compare("GMAP")
    (pair,) = result.pairs
    scores = fm.evaluate(qrels, runs, "GMAP")
    means = dict(zip(scores["run"], scores["score"], strict=True))
    assert np.exp(pair.diff) == pytest.approx(means["a"] / means["b"])
    assert any(f"a factor of {np.exp(pair.diff):.4f}" in sentence for sentence in result.remarks)


def test_expected_ties_are_what_is_compared() -> None:
    qrels = {str(t): {"x": 1, "y": 0, "z": 0} for t in range(6)}
    runs = {"a": {str(t): {"x": 1.0, "y": 1.0} for t in range(6)}, "b": many_topics(["z"], 6)}
    (pair,) = fm.Experiment(qrels, runs, ties="expected").compare("P@1").pairs
    assert pair.diff == pytest.approx(0.5)
    assert (pair.diff_low, pair.reversible) == (None, "yes")


def test_baseline_compares_with_it_alone() -> None:
    runs = {name: many_topics([document]) for name, document in (("a", "x"), ("b", "y"), ("c", "z"))}
    frame = fm.compare({str(t): {"x": 1} for t in range(20)}, runs, "P@1", baseline="b")
    assert frame.select("run_a", "run_b").rows() == [("a", "b"), ("c", "b")]
    with pytest.raises(fm.FathomsError, match="baseline"):
        fm.compare({"1": {"x": 1}}, runs, "P@1", baseline="nobody")


def test_compare_command(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    from pathlib import Path

    from fathoms.data.simulate import write

    folder = Path(str(tmp_path)) / "sim"
    write(simulate(systems=5, n_topics=8, n_docs=400, depth=50, pool_depth=10), folder)
    for words, expected in (
        (
            ["--format", "tsv"],
            "run_a\trun_b\tmeasure\tdiff\tdiff_low\tdiff_high\tci_low\tci_high\tp\tp_corrected\teffect\testimate\tlikely_low",
        ),
        (["-m", "P@10", "--test", "randomization"], "P@10: of 10 pairs"),
        (["--format", "latex"], r"\toprule"),
        (["--baseline", str(folder / "runs" / "sys1.run"), "-m", "RBP(p=0.8)"], "sys2"),
    ):
        assert status("compare", folder / "qrels.txt", folder / "runs", *words) == 0
        assert expected in capsys.readouterr().out


def test_zero_has_no_minus() -> None:
    qrels, a = {str(t): {"a": 1, "b": 1} for t in range(8)}, {str(t): {"a": 2.0, "b": 1.0} for t in range(8)}
    b = {topic: {"b": 2.0, "a": 1.0} for topic in a}
    said = " ".join(fm.Experiment(qrels, {"a": a, "b": b}).compare("P@2").sentences)
    assert "-0.0000" not in said
    from fathoms.cli.screen import cell
    from fathoms.questions.compare.command import SIGNED

    assert (cell(-1e-9, SIGNED), cell(-0.5, SIGNED)) == ("+0.0000", "-0.5000")


@pytest.mark.long
def test_no_verdict_rests_on_an_estimate_that_failed_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was supported by it becomes fragile, p_holds is empty, and the words say why."""
    from fathoms.estimate import estimates as calibrated
    from fathoms.estimate.backtest_fit import Margins
    from fathoms.estimate.self_check import self_check

    made = simulate(systems=6, n_topics=40, seed=4, depth=100)
    sound = fm.Experiment(made.qrels, made.runs).compare("AP")
    assert "supported" in {pair.verdict for pair in sound.pairs}

    def failing(*given: Any) -> Any:
        check = self_check(*given)
        return check and replace(check, margins=Margins(1.5, 1.0))

    monkeypatch.setattr(calibrated, "self_check", failing)
    failed = fm.Experiment(made.qrels, made.runs).compare("AP")
    for before, after in zip(sound.pairs, failed.pairs, strict=True):
        assert after.p_holds is None
        assert after.verdict == {"supported": "fragile"}.get(before.verdict, before.verdict)
        if before.likely_low is not None and before.likely_high is not None:
            assert after.likely_low is not None
            assert after.likely_high is not None
            assert after.likely_low < before.likely_low
            assert after.likely_high > before.likely_high
    assert any(one.startswith("p_holds: the probability that") for one in sound.remarks)
    assert not any(one.startswith("p_holds:") for one in failed.remarks)  # where there is no such figure
    said = " ".join(failed.remarks)
    assert (
        "intervals missed too often, so those of means are 1.5 times as wide here, and no verdict rests on them" in said
    )
