"""What draws of complete judgments say of differences, against plain loops; and what is never drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fathoms as fm
from fathoms.base.errors import FathomsError
from fathoms.inference.paired_tests import paired_differences
from fathoms.inference.significance import SIGNIFICANCE_TESTS, corrected, p_values
from fathoms.inference.significance_after_judging import critical_t, holding, p_holds, t_statistics
from tests.support.commands import status

Floats = np.ndarray[Any, np.dtype[np.float64]]


def some_draws(topics: int = 12, draws: int = 30, noise: float = 0.1) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(topics)
    scores = np.round(rng.random((4, topics)) * 10) / 10 + np.array([0.0, 0.1, 0.3, 0.35])[:, None]
    return scores, scores + np.round(rng.normal(0, noise, (draws, 4, topics)), 1)


@pytest.mark.parametrize("correction", ["none", "holm", "bh"])
@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign"])
def test_every_draw_is_tested_and_corrected_again(test: Any, correction: Any) -> None:
    scores, drawn = some_draws()
    a, b = np.triu_indices(4, 1)
    held = np.zeros(6)
    for draw in drawn:
        p = corrected(np.array([p_values(draw[[i, j]], test)[0, 1] for i, j in zip(a, b, strict=True)]), correction)
        for pair, (i, j) in enumerate(zip(a, b, strict=True)):
            same = np.sign(round(draw[i].mean() - draw[j].mean(), 9)) == np.sign(scores[i].mean() - scores[j].mean())
            speaks = SIGNIFICANCE_TESTS[test].direction(paired_differences(draw, np.array([i]), np.array([j])))[0]
            held[pair] += p[pair] < 0.05 and same and speaks == np.sign(draw[i].mean() - draw[j].mean())
    found = p_holds(scores, drawn, a, b, test, correction, 0.05)
    np.testing.assert_allclose(found, held / len(drawn))
    assert 0 < found.mean() < 1


def test_a_baseline_is_corrected_for_its_own_comparisons() -> None:
    scores, drawn = some_draws()
    a, b = np.array([3, 3]), np.array([0, 1])
    p = np.array([[p_values(draw[[3, j]], "t")[0, 1] for j in (0, 1)] for draw in drawn])
    held = [corrected(row, "bonferroni") < 0.05 for row in p]
    ahead = drawn.mean(axis=2)[:, [3]] > drawn.mean(axis=2)[:, :2]
    np.testing.assert_allclose(p_holds(scores, drawn, a, b, "t", "bonferroni", 0.05), (held & ahead).mean(axis=0))


@pytest.mark.parametrize("correction", ["none", "holm"])
@pytest.mark.parametrize("test", ["randomization", "bootstrap", "bayes", "tukey"])
def test_the_observed_scores_as_a_draw_hold_where_they_are_significant(test: Any, correction: Any) -> None:
    """The critical values come from these scores, so their statistics are beyond them exactly where p is small."""
    for topics in (12, 20):
        scores, _ = some_draws(topics)
        a, b = np.triu_indices(4, 1)
        p = p_values(scores, test)[a, b]
        p = p if test == "tukey" else corrected(p, correction)
        assert (p < 0.05).any()
        np.testing.assert_array_equal(p_holds(scores, scores[None], a, b, test, correction, 0.05), p < 0.05)


def test_critical_t_of_a_resampling_test_is_near_students() -> None:
    scores = np.random.default_rng(3).normal(size=(2, 40))
    pair = np.array([0]), np.array([1])
    low, high = critical_t(scores, *pair, "randomization", "none", 0.05, 0)
    assert high[0] == pytest.approx(2.02, abs=0.1)
    assert low[0] == pytest.approx(-2.02, abs=0.1)
    scores[1] = scores[0] + 0.1  # nothing varies: Student's
    low, high = critical_t(scores, *pair, "bootstrap", "none", 0.05, 0)
    assert (low[0], high[0]) == pytest.approx((-2.0227, 2.0227), abs=1e-3)
    assert t_statistics(scores, *pair)[0] == -np.inf


@pytest.mark.parametrize("test", SIGNIFICANCE_TESTS)
def test_equal_runs_and_single_topics_hold_nothing(test: Any) -> None:
    scores, drawn = some_draws()
    scores[1], drawn[:, 1] = scores[0], drawn[:, 0]
    pair = np.array([0]), np.array([1])
    found = holding(scores, drawn, *pair, test=test)
    assert (found.p_holds[0], found.p_better[0], found.estimate[0]) == (0, 0.5, 0)
    assert (found.likely_low[0], found.likely_high[0]) == (0, 0)
    assert holding(scores[:, :1], drawn[:, :, :1], *pair, test=test).p_holds[0] == 0


def test_estimates_intervals_and_shares_by_hand() -> None:
    scores, drawn = some_draws(5, 9)
    a, b = np.array([0, 2]), np.array([1, 3])
    found = holding(scores, drawn, a, b, level=0.5)
    differences = [[draw[i].mean() - draw[j].mean() for draw in drawn] for i, j in zip(a, b, strict=True)]
    np.testing.assert_allclose(found.estimate, [np.mean(d) for d in differences])
    # The quarters of the draws, and further where the estimate lies beyond: it is in its interval.
    np.testing.assert_allclose(found.likely_low, [min(sorted(d)[2], np.mean(d)) for d in differences])
    np.testing.assert_allclose(found.likely_high, [max(sorted(d)[6], np.mean(d)) for d in differences])
    of_point = holding(scores, drawn, a, b, point=scores + 5 * (np.arange(4) == 0)[:, None], level=0.5)
    assert (of_point.likely_high[0], of_point.likely_high[1]) == (of_point.estimate[0], found.likely_high[1])
    wins = [sum(1.0 if x > 1e-12 else 0.5 if x > -1e-12 else 0.0 for x in d) / 9 for d in differences]
    np.testing.assert_allclose(found.p_better, wins)


# -- what is never drawn --------------------------------------------------------------------------------------

QRELS = {str(t): {"a": 1, "b": 0} for t in range(4)}
RUNS = {"x": {t: {"a": 2.0, "u": 1.0} for t in QRELS}, "y": {t: {"v": 2.0, "b": 1.0} for t in QRELS}}


@pytest.mark.parametrize(
    ("measure", "why"),
    [
        ("Judged@2", "once everything is judged it is 1 for every run"),
        ("NumRet", "tells no runs apart"),
        ("NumRel", "tells no runs apart"),
        ("NumQ", "tells no runs apart"),
        ("infAP", "so use AP"),
        ("P(judged_only=True)@2", "so drop judged_only"),
        ("AP(variant=c)@2", "use another variant"),
    ],
)
def test_measures_without_a_meaning_under_complete_judgments_are_refused(measure: str, why: str) -> None:
    with pytest.raises(FathomsError, match=why):
        fm.confidence(QRELS, RUNS, measure, draws=5)


def test_the_command_refuses_them_too(tmp_path: Any) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n")
    for name in "xy":
        (tmp_path / name).write_text("1 Q0 a 1 2 x\n1 Q0 u 2 1 x\n2 Q0 b 1 2 x\n")
    args = ["predict", *(str(tmp_path / name) for name in ("qrels", "x", "y")), "--confidence", "-m"]
    assert status(*args, "Judged@2") == 2
    assert status(*args, "Bpref", "--draws", "5") == 0


@pytest.mark.parametrize("measure", ["Bpref", "NumRelRet", "AP", "GMAP"])
def test_measures_with_a_meaning_are_drawn(measure: str) -> None:
    frame = fm.confidence(QRELS, RUNS, measure, draws=20)
    assert 0 <= frame["p_better"][0] <= 1
