"""Labels against people: agreement, intervals, circular runs, judgments worth having, sentences, and the command."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from scipy import stats

import fathoms as fm
from fathoms.data.document_values import named_sources
from fathoms.inference import grade_agreement as agreement
from fathoms.questions.labels.budget import budget, calibration, judgments
from fathoms.questions.labels.circularity import followings, outliers, topic_correlations
from fathoms.questions.labels.result import COLUMNS
from fathoms.questions.labels.words import of_source
from tests.support.commands import Command
from tests.support.real import collection

Values = dict[str, dict[str, float]]
NOMINAL = 1 - np.eye(2)


# -- the same by plain loops ------------------------------------------------------------------------------------------


def slow_kappa(y: list[float], f: list[float], weight: Callable[[float, float], float]) -> float:
    n = len(y)
    observed = sum(weight(a, b) for a, b in zip(y, f, strict=True)) / n
    expected = sum(weight(a, b) for a in y for b in f) / n**2
    return 1 - observed / expected


def slow_alpha(y: list[float], f: list[float], ordinal: bool) -> float:
    """From all pairs of values, those of one document against those of all."""
    values = [*y, *f]
    count = Counter(values)
    levels = sorted(count)

    def distance(a: float, b: float) -> float:
        if not ordinal:
            return float(a != b)
        low, high = sorted((a, b))
        between = sum(count[level] for level in levels if low <= level <= high)
        return (between - (count[low] + count[high]) / 2) ** 2

    observed = sum(distance(a, b) for a, b in zip(y, f, strict=True)) / len(y)
    pairs = list(itertools.permutations(values, 2))
    return 1 - observed / (sum(distance(a, b) for a, b in pairs) / len(pairs))


def slow_auc(y: list[float], f: list[float]) -> float:
    pairs = [(a, b) for relevant, a in zip(y, f, strict=True) if relevant >= 1 for b in negatives(y, f)]
    return sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs) / len(pairs)


def negatives(y: list[float], f: list[float]) -> list[float]:
    return [b for grade, b in zip(y, f, strict=True) if grade < 1]


def drawn_lists(seed: int, n: int = 60) -> tuple[list[float], list[float]]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n).astype(float)
    f = np.clip(y + rng.integers(-2, 3, n), 0, 3)
    return y.tolist(), f.tolist()


def table_of(y: list[float], f: list[float]) -> agreement.Labelled:
    return agreement.counted(np.zeros(len(y), dtype=np.int64), np.array(y), np.array(f))


@pytest.mark.parametrize("seed", range(5))
def test_agreement_is_that_of_plain_loops(seed: int) -> None:
    from scipy.stats import spearmanr

    y, f = drawn_lists(seed)
    found = table_of(y, f)
    relevant, positive = found.grades >= 1, found.labels >= 1
    two = agreement.binary(found.total, relevant, positive)
    assert agreement.kappa(two, NOMINAL) == pytest.approx(
        slow_kappa(y, f, lambda a, b: float((a >= 1) != (b >= 1))), abs=1e-12
    )
    assert agreement.kappa(found.total, agreement.squared(found.grades, found.labels)) == pytest.approx(
        slow_kappa(y, f, lambda a, b: (a - b) ** 2), abs=1e-12
    )
    square = agreement.with_all_values(found).total
    for ordinal in (False, True):
        assert agreement.alpha(square, ordinal=ordinal) == pytest.approx(slow_alpha(y, f, ordinal), abs=1e-12)
    by_relevance = np.stack([found.total[~relevant].sum(axis=0), found.total[relevant].sum(axis=0)])
    assert agreement.auc(by_relevance) == pytest.approx(slow_auc(y, f), abs=1e-12)
    assert agreement.spearman(found.total) == pytest.approx(spearmanr(y, f).statistic, abs=1e-12)
    assert agreement.bias(found.total, found.grades, found.labels) == pytest.approx(np.mean(f) - np.mean(y), abs=1e-12)


def test_kappa_by_hand() -> None:
    """20 and 15 agree, 5 and 10 do not: p_o = 0.7, p_e = (25 * 30 + 25 * 20) / 50^2 = 0.5, kappa = 0.4."""
    assert agreement.kappa(np.array([[15.0, 10.0], [5.0, 20.0]]), NOMINAL) == pytest.approx(0.4, abs=1e-12)


def test_alpha_by_hand() -> None:
    """The two-coder binary example of Krippendorff (2011): ten units, alpha 0.095."""
    first = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    second = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    found = table_of(list(map(float, first)), list(map(float, second)))
    assert agreement.alpha(found.total, ordinal=False) == pytest.approx(0.095, abs=5e-4)
    # Two values are as far apart in the ordinal metric as in the nominal one, but for a factor.
    assert agreement.alpha(found.total, ordinal=True) == pytest.approx(0.095, abs=5e-4)


def test_sensitivity_and_specificity_by_grade() -> None:
    table = np.array([[8.0, 2.0], [3.0, 1.0], [1.0, 5.0]])  # grades 0, 1, 2; labels 0, 1
    positive = np.array([False, True])
    assert agreement.labelled_relevant(table, np.array([False, True, True]), positive) == pytest.approx(0.6)
    assert agreement.labelled_relevant(table, np.array([True, False, False]), positive) == pytest.approx(0.2)
    assert agreement.labelled_relevant(table, np.array([False, False, True]), positive) == pytest.approx(5 / 6)


def test_what_is_undefined_is_none() -> None:
    draws = agreement.resampled(3, 0, 50)
    counts = np.zeros((3, 2, 2), dtype=np.int64)
    counts[:, 1, 1] = 4  # all relevant, all labelled so
    assert agreement.interval(lambda t: agreement.kappa(t, NOMINAL), counts, draws) == agreement.Estimate(None)
    alone = agreement.interval(lambda t: agreement.kappa(t, NOMINAL), np.array([[[3, 1], [1, 3]]]), draws[:, :1])
    assert alone.value == pytest.approx(0.5)
    assert alone.low is None


def test_intervals_over_topics_cover() -> None:
    """Topics differ in how well they are labelled; the kappa of very many of them is what 95% of intervals hold."""
    rng = np.random.default_rng(8)

    def topics(n: int) -> Any:
        right = rng.beta(8, 3, size=n)  # the share of each topic's documents that is labelled as people do
        share = rng.beta(2, 4, size=n)
        counts = np.zeros((n, 2, 2), dtype=np.int64)
        relevant = rng.binomial(40, share)
        counts[:, 1, 1] = rng.binomial(relevant, right)
        counts[:, 1, 0] = relevant - counts[:, 1, 1]
        counts[:, 0, 0] = rng.binomial(40 - relevant, right)
        counts[:, 0, 1] = 40 - relevant - counts[:, 0, 0]
        return counts

    def kappa(table: Any) -> Any:
        return agreement.kappa(table, NOMINAL)

    truth = float(kappa(topics(100_000).sum(axis=0).astype(float)))
    hits = []
    for trial in range(300):
        one = agreement.interval(kappa, topics(20), agreement.resampled(20, trial, 400))
        assert one.low is not None
        assert one.high is not None
        hits.append(one.low <= truth <= one.high)
    assert 0.9 <= np.mean(hits) <= 0.985


def test_documents_of_a_topic_are_not_independent() -> None:
    """The same table twice as often in each topic: no more topics, no narrower interval."""
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 9, size=(12, 2, 2))
    draws = agreement.resampled(12, 0)
    once = agreement.interval(lambda t: agreement.kappa(t, NOMINAL), counts, draws)
    twice = agreement.interval(lambda t: agreement.kappa(t, NOMINAL), 2 * counts, draws)
    assert (once.low, once.high) == pytest.approx((twice.low, twice.high))


def test_scores_are_told_from_grades() -> None:
    assert not agreement.are_scores(np.array([0.0, 1, 2, 3, 10]))
    assert not agreement.are_scores(np.array([0.0, 0.5, 1, 1.5, 2]))
    assert agreement.are_scores(np.linspace(0, 1, 11))
    assert agreement.are_scores(np.arange(30.0))


def test_intervals_of_scores_by_groups_are_those_of_the_scores() -> None:
    rng = np.random.default_rng(14)
    topic, y = np.repeat(np.arange(10), 400), rng.integers(0, 2, 4000).astype(float)
    found = agreement.counted(topic, y, y + rng.normal(0, 1, 4000))
    grouped = agreement.coarse(found)
    assert len(grouped.labels) == 1000
    assert grouped.counts.sum() == 4000
    draws = agreement.resampled(10, 0, 300)
    exact, near = (agreement.interval(agreement.auc, one.counts, draws) for one in (found, grouped))
    assert (near.value, near.low, near.high) == pytest.approx((exact.value, exact.low, exact.high), abs=1e-3)


def test_thresholds_are_the_best() -> None:
    """All thresholds tried one by one."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 80).astype(float)
    f = np.round(y + rng.normal(0, 1, 80), 2)
    found = table_of(y.tolist(), f.tolist())
    thresholds = agreement.best_thresholds(found)
    for g, threshold in zip((1, 2), thresholds, strict=True):

        def kappa(t: float, g: int = g) -> float:
            return slow_kappa((y >= g).tolist(), (f >= t).tolist(), lambda a, b: float(a != b))

        assert kappa(threshold) == pytest.approx(max(kappa(t) for t in found.labels[1:]))
    assert thresholds[0] <= thresholds[1]
    graded = agreement.as_grades(np.array([thresholds[0] - 1, thresholds[0], thresholds[1]]), thresholds, found.grades)
    assert graded.tolist() == [0, 1, 2]


# -- circular runs ----------------------------------------------------------------------------------------------------


def test_the_partial_correlation_is_that_of_residuals() -> None:
    rng = np.random.default_rng(4)
    grade, label = rng.integers(0, 2, 30), rng.normal(size=30)
    rank = rng.permutation(30).astype(np.float64) + 1
    h = -np.log(rank)
    x, e = h.copy(), label.copy()
    for g in (0, 1):
        x[grade == g] -= h[grade == g].mean()
        e[grade == g] -= label[grade == g].mean()
    expected = np.corrcoef(x, e)[0, 1]
    topic = np.zeros(30, dtype=np.int64)
    partial, plain = topic_correlations(topic, rank, grade, label, 2)
    assert partial[0] == pytest.approx(expected)
    assert plain[0] == pytest.approx(np.corrcoef(h, grade)[0, 1])
    assert np.isnan(partial[1])  # the run has nothing there


def family(rng: np.random.Generator, honest: int, circular: int, noise: float = 0.5) -> list[Any]:
    """20 topics of 40 documents, 0 to 2; labels are grades plus error. Honest runs know the grade, circular ones the
    label."""
    topic = np.repeat(np.arange(20), 40)
    grade = rng.integers(0, 3, len(topic))
    label = np.round(np.clip(grade + rng.normal(0, 0.8, len(topic)), 0, 2)).astype(np.float64)
    found = []
    for i in range(honest + circular):
        signal = grade + rng.normal(0, rng.uniform(0.5, 2), len(topic))
        if i >= honest:
            signal = label + rng.normal(0, noise, len(topic))
        order = np.lexsort((-signal, topic))
        rank = np.tile(np.arange(1.0, 41), 20)
        found.append(topic_correlations(topic[order], rank, grade[order], label[order], 20))
    names = [f"run{i}" for i in range(honest + circular)]
    return followings(names, np.stack([one[0] for one in found]), np.stack([one[1] for one in found]))


def test_a_circular_run_is_suspected_and_honest_ones_are_not() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        found = family(rng, 9, 1)
        assert [one.run for one in found if one.suspect] == ["run9"]
        assert found[9].p is not None
        assert found[9].p < 0.05


def test_several_circular_runs_do_not_hide_each_other() -> None:
    found = family(np.random.default_rng(6), 12, 4)
    assert [one.run for one in found if one.suspect] == ["run12", "run13", "run14", "run15"]


@pytest.mark.long
def test_honest_runs_are_seldom_suspected() -> None:
    rng = np.random.default_rng(7)
    assert sum(any(one.suspect for one in family(rng, 10, 0)) for _ in range(100)) <= 5


def test_runs_with_few_judged_documents_are_not_suspected_for_their_noise() -> None:
    """Correlations of two runs are over a handful of documents, and on few topics."""
    rng = np.random.default_rng(13)
    for _ in range(50):
        partial = rng.normal(0, 0.05, size=(12, 20))
        partial[10] = rng.normal(0, 0.5, size=20)
        partial[11, 3:], partial[11, :3] = np.nan, 0.9
        plain = rng.normal(0.3, 0.05, size=(12, 20))
        found = followings([str(i) for i in range(12)], partial, plain)
        assert not any(one.suspect for one in found)
        assert found[11].p is None
        assert found[11].correlation == pytest.approx(0.9)


def test_outliers_keep_their_level() -> None:
    """Without the least excess too: normal values, 5% of families."""
    rng = np.random.default_rng(9)
    alarms = [bool(outliers(rng.normal(size=15), rng.normal(size=15))[2].any()) for _ in range(500)]
    assert np.mean(alarms) <= 0.08


def test_few_runs_say_nothing() -> None:
    found = family(np.random.default_rng(10), 4, 1)
    assert all(one.p is None and not one.suspect for one in found)


# -- judgments worth having -------------------------------------------------------------------------------------------


def test_judgments_by_hand() -> None:
    """Variance 0.25, half width 0.1: (1.96 * 0.5 / 0.1)^2 = 96.04 of endless documents, 96.04 / 1.9604 of a hundred."""
    assert judgments(0.25, 0.1, 10**9) == 97
    assert judgments(0.25, 0.1, 100) == 49
    assert judgments(0.0, 0.1, 100) == 0


def test_halving_by_hand() -> None:
    """Of 250 documents 50 are judged: 1/50 - 1/250 = 0.016, a quarter 0.004, so 1 / 0.008 = 125 in all."""
    table = np.array([[30.0, 10.0], [10.0, 30.0]])
    found = budget(table, np.array([False, True]), 250)
    assert found is not None
    assert found.to_halve(50) == 75
    with pytest.raises(fm.FathomsError, match="expected a number from 1 to 249, found 250"):
        found.to_halve(250)


def test_labels_that_are_the_judgments() -> None:
    human, _, runs = small(circular=False)
    found = fm.labels(human, {"same": human}, runs)
    source = found.source()
    assert source.figures["kappa"] == agreement.Estimate(1.0, 1.0, 1.0)
    assert [(effect.tau, effect.rmse, effect.swaps) for effect in source.effects] == [(1.0, 0.0, [])] * 2
    said = " ".join(found.sentences)
    assert "none of 28 pairs changes places" in said
    assert "It calls the same documents relevant as people do." in said
    assert "takes about 0 random human judgments" in said


def test_the_number_of_judgments_does_what_it_promises() -> None:
    """Judge so many at random, and 95% of the estimates are within the half width."""
    rng = np.random.default_rng(11)
    label = rng.integers(0, 4, 1000)
    y = (rng.random(1000) < np.array([0.1, 0.3, 0.7, 0.9])[label]).astype(float)
    table = agreement.counted(np.zeros(1000, dtype=np.int64), y, label.astype(float))
    found = budget(table.total, table.grades >= 1, 1000)
    assert found is not None
    n, unaided = found.needed[0.05]
    assert n < unaided
    for size, helped in ((n, True), (unaided, False)):
        errors = []
        for _ in range(1000):
            seen = rng.permutation(1000)[:size]
            expected = np.zeros(4)
            if helped:
                expected = np.bincount(label[seen], y[seen], 4) / np.bincount(label[seen], minlength=4)
            errors.append(expected[label].mean() + (y[seen] - expected[label[seen]]).mean() - y.mean())
        assert 0.92 <= np.mean(np.abs(errors) <= 0.05) <= 0.97


def test_calibration_separates_topics_from_documents() -> None:
    rng = np.random.default_rng(12)

    def drawn(spread: float) -> Any:
        """30 topics of 50 documents, none relevant; wrongly labelled ones by topic."""
        wrong = rng.binomial(50, np.clip(0.3 + spread * rng.normal(size=30), 0, 1))
        counts = np.zeros((30, 2, 2))
        counts[:, 0, 0], counts[:, 0, 1] = 50 - wrong, wrong
        return calibration(counts, np.array([False, True]), np.array([False, True]))

    alike, unlike = drawn(0.0), drawn(0.2)
    assert alike.topic_share < 0.5
    assert alike.se == pytest.approx(np.sqrt(0.3 * 0.7 / 1500), rel=0.4)
    assert unlike.topic_share > 0.8
    assert unlike.to_halve is None
    assert unlike.se == pytest.approx(np.sqrt(0.2**2 / 30 + 0.3 * 0.7 / 1500), rel=0.4)
    halved = drawn(0.0)
    if halved.topic_share == 0:
        assert halved.to_halve == 4500  # four times as many


# -- the whole --------------------------------------------------------------------------------------------------------


def small(n_runs: int = 8, seed: int = 0, circular: bool = True) -> tuple[Values, Values, dict[str, Values]]:
    """Human grades, a model's labels, and runs of which the last is the model's own order."""
    rng = np.random.default_rng(seed)
    human: Values = {}
    model: Values = {}
    runs: dict[str, Values] = {name: {} for name in [*(f"sys{i}" for i in range(n_runs)), *["own"][: int(circular)]]}
    for t in range(12):
        topic, names = str(t + 1), [f"d{i}" for i in range(30)]
        grade = rng.integers(0, 3, 30)
        label = np.clip(grade + rng.integers(-1, 2, 30), 0, 2)
        human[topic] = dict(zip(names, grade.tolist(), strict=True))
        model[topic] = dict(zip(names, label.tolist(), strict=True))
        for i, name in enumerate(runs):
            signal = label + rng.normal(0, 0.3, 30) if name == "own" else grade + rng.normal(0, 0.5 + 0.2 * i, 30)
            runs[name][topic] = dict(zip(names, signal.tolist(), strict=True))
    return human, model, runs


def test_scores_by_labels_are_those_of_the_labels_as_judgments() -> None:
    human, model, runs = small()
    found = fm.labels(human, {"model": model}, runs, ["nDCG@10", "AP", "ERR@10"]).source("model")
    for effect in found.effects:
        for qrels, scores in ((human, effect.human), (model, effect.labels)):
            assert scores.tolist() == pytest.approx(fm.evaluate(qrels, runs, effect.measure)["score"].to_list())


@pytest.mark.filterwarnings("ignore::fathoms.base.errors.FathomsWarning")  # topics of runs that are not judged
def test_both_scores_are_of_the_same_documents() -> None:
    """What is judged and not labelled counts for neither; nor do topics without labels."""
    human, model, runs = small()
    part = {topic: dict(list(documents.items())[:20]) for topic, documents in list(model.items())[:9]}
    found = fm.labels(human, {"model": part}, runs, "AP").source()
    both = {topic: {d: human[topic][d] for d in documents} for topic, documents in part.items()}
    assert found.effects[0].human.tolist() == pytest.approx(fm.evaluate(both, runs, "AP")["score"].to_list())
    assert found.effects[0].labels.tolist() == pytest.approx(fm.evaluate(part, runs, "AP")["score"].to_list())
    assert (len(found.labelled), found.judged, found.topics, found.judged_topics) == (180, 360, 9, 12)
    assert "labels 180 of the 360 judged documents (50.0%), on 9 of 12 topics" in of_source(found)[0]


def test_unjudged_documents_of_the_runs_are_counted() -> None:
    human = {"1": {"a": 1, "b": 0}, "2": {"a": 0, "b": 1}}
    runs = {"x": {"1": {"a": 3.0, "u": 2.0, "v": 1.0}, "2": {"b": 1.0}}, "y": {"1": {"u": 1.0}, "2": {"w": 2.0}}}
    model = {"1": {"a": 1, "b": 0, "u": 1, "elsewhere": 1}, "2": {"a": 0, "b": 0, "w": 1}}
    found = fm.labels(human, {"m": model}, runs).source()
    assert (found.unjudged, found.unjudged_labelled) == (3, 2)
    assert "labels all 4 judged documents, and 2 of the 3 unjudged ones of the runs" in of_source(found)[0]


def test_the_models_own_run_is_found() -> None:
    human, model, runs = small()
    found = fm.labels(human, {"model": model}, runs)
    source = found.source()
    assert [one.run for one in source.suspects] == ["own"]
    gains = dict(zip(found.runs, source.effects[0].gains.tolist(), strict=True))
    said = next(sentence for sentence in found.sentences if "looks circular" in sentence)
    assert said.startswith("own looks circular")
    assert f"{gains['own']:+.3f} against the median run" in said
    assert found.score_points()["kind"].to_list().count("looks circular") == 1


def test_without_a_circular_run_none_is_named() -> None:
    human, model, runs = small(circular=False)
    said = " ".join(fm.labels(human, {"model": model}, runs).sentences)
    assert "No run looks circular: none of 8 follows" in said


def test_sentences_hold() -> None:
    """Each number in the sentences is that of the frame."""
    human, model, runs = small()
    found = fm.labels(human, {"model": model}, runs)
    value = {
        (statistic, item, measure): (number, low, high)
        for _, statistic, item, _, measure, number, low, high, _ in found.frame.iter_rows()
    }
    said = " ".join(found.sentences)
    kappa, low, high = value["kappa", "", ""]
    assert f"kappa {kappa:.2f} [{low:.2f}, {high:.2f}] on what is relevant" in said
    sensitivity, low, high = value["sensitivity", "", ""]
    assert f"It labels {sensitivity:.0%} [{low:.0%}, {high:.0%}] of what people call relevant" in said
    for measure in ("nDCG@10", "AP"):
        tau, tau_ap = value["tau", "", measure][0], value["tau_ap", "", measure][0]
        swaps, rmse = value["swaps", "", measure][0], value["rmse", "", measure][0]
        assert f"tau {tau:.2f}, tau_ap {tau_ap:.2f} over 9 runs; {swaps:.0f} of 36 pairs change" in said
        assert f"scores differ by {rmse:.3f} (RMSE)" in said
    few, many = value["judgments_needed", "0.05", ""][0], value["judgments_needed", "0.01", ""][0]
    assert "To know a run's P@10 to within 0.05 " in said
    assert f"takes about {few:.0f} random human judgments" in said
    assert f"To within 0.01 it takes {many:.0f}, against" in said
    # and the direction of the bias is that of the labels
    flat = [(human[t][d], model[t][d]) for t in human for d in human[t]]
    assert value["bias", "", ""][0] == pytest.approx(np.mean([b - a for a, b in flat]))


def test_the_frame_has_the_confusion_matrix() -> None:
    human = {"1": {"a": 2, "b": 1, "c": 0}, "2": {"a": 0, "b": 0, "c": 1}}
    model = {"1": {"a": 1, "b": 1, "c": 0}, "2": {"a": 0, "b": 1, "c": 1}}
    found = fm.labels(human, {"m": model})
    cells = found.frame.filter(pl.col("statistic") == "confusion").select("item", "other", "value").rows()
    assert cells == [("0", "0", 2), ("0", "1", 1), ("1", "0", 0), ("1", "1", 2), ("2", "0", 0), ("2", "1", 1)]
    assert tuple(found.frame.columns) == COLUMNS
    assert found.confusion_points()["share"].to_list()[:2] == pytest.approx([2 / 3, 1 / 3])


def test_scores_are_made_grades_and_said_to_be() -> None:
    rng = np.random.default_rng(2)
    human = {str(t): {f"d{i}": int(rng.integers(0, 3)) for i in range(20)} for t in range(5)}
    model = {t: {d: grade + rng.normal(0, 0.5) for d, grade in documents.items()} for t, documents in human.items()}
    with pytest.warns(fm.FathomsWarning, match="these are scores and not grades"):
        found = fm.labels(human, {"m": model})
    source = found.source()
    assert source.scores
    assert source.labelled.labels.tolist() == [0, 1, 2]
    y = [float(human[t][d]) for t in human for d in human[t]]
    f = [model[t][d] for t in human for d in human[t]]
    assert source.figures["auc"].value == pytest.approx(slow_auc(y, f))
    positive = [float(one >= source.relevant_from) for one in f]
    assert source.figures["kappa"].value == pytest.approx(
        slow_kappa([float(one >= 1) for one in y], positive, lambda a, b: float(a != b))
    )
    assert "Its labels are scores: AUC" in of_source(source)[0]
    with pytest.warns(fm.FathomsWarning):
        assert fm.labels(human, {"m": model}, label_rel=1.7).source().relevant_from == 1.7


def test_rel_and_label_rel() -> None:
    human, model, _ = small()
    found = fm.labels(human, {"model": model}, rel=2, label_rel=1).source()
    pairs = [(human[t][d] >= 2, model[t][d] >= 1) for t in human for d in human[t]]
    assert found.figures["sensitivity"].value == pytest.approx(np.mean([b for a, b in pairs if a]))
    assert found.figures["specificity"].value == pytest.approx(np.mean([not b for a, b in pairs if not a]))


def test_negative_labels_are_none() -> None:
    human = {"1": {"a": 1, "b": 0, "c": 1}, "2": {"a": 1, "b": 0}}
    model = {"1": {"a": 1, "b": -1, "c": -2}, "2": {"a": 1, "b": 0}}
    with pytest.warns(fm.FathomsWarning, match="2 negative labels"):
        assert len(fm.labels(human, {"m": model}).source().labelled) == 3
    with pytest.warns(fm.FathomsWarning, match="1 negative label,"):
        assert len(fm.labels(human, {"m": model}, junk=-2).source().labelled) == 4


def test_two_sources_are_compared_on_the_same_topics() -> None:
    human, model, _ = small()
    rng = np.random.default_rng(1)
    noise = {t: {d: int(rng.integers(0, 3)) for d in documents} for t, documents in human.items()}
    found = fm.labels(human, {"model": model, "noise": noise, "again": model})
    assert found.answer[0].startswith("Closest to people on what is relevant is model")
    assert "not distinguishable on these topics from again; noise agrees less" in found.answer[0]
    difference = found.source("model").kappa_difference(found.source("again"))
    assert difference == agreement.Estimate(0.0, 0.0, 0.0)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::fathoms.base.errors.FathomsWarning")
def test_whatever_comes_in_sentences_come_out() -> None:
    """Small and odd collections: one topic, constant labels, scores, holes, runs without documents in common."""
    rng = np.random.default_rng(15)

    def values(n_topics: int, n: int, draw: Callable[[], float]) -> Values:
        found = {str(t): {f"d{i}": draw() for i in range(n) if rng.random() < 0.8} for t in range(n_topics)}
        return {topic: documents for topic, documents in found.items() if documents}

    draws: list[Callable[[], float]] = [
        lambda: float(rng.integers(-1, 4)),
        lambda: float(rng.normal()),
        lambda: 1.0,
    ]
    done = 0
    for trial in range(60):
        n_topics, n = int(rng.integers(1, 6)), int(rng.integers(2, 15))
        human = values(n_topics, n, lambda: float(rng.choice([-1, 0, 0, 1, 2])))
        model = values(n_topics + 1, n + 2, draws[trial % 3])
        runs = {f"r{i}": values(n_topics, n + 1, lambda: float(rng.integers(0, 5))) for i in range(trial % 9)}
        given = {name: run for name, run in runs.items() if run} or None
        try:
            found = fm.labels(human, {"a": model, "b": model}, given, ["nDCG@3", "AP"])
        except fm.FathomsError:  # nothing relevant, nothing judged, or nothing in common
            continue
        done += 1
        assert len(found.frame) > 0
        assert not [said for said in found.sentences if "nan" in said.split() or "None" in said]
    assert done > 30


def test_names_of_sources(tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "gpt.txt").write_text("1 a 1\n")
    (tmp_path / "x" / "llama.tsv").write_text("1 a 1\n")
    assert list(named_sources(tmp_path / "x")) == ["gpt", "llama"]
    both = [str(tmp_path / folder / "gpt.txt") for folder in ("x", "y")]
    assert list(named_sources(both)) == both
    assert list(named_sources({"1": {"a": 1}})) == ["labels"]
    assert list(named_sources({"gpt": {"1": {"a": 1}}})) == ["gpt"]
    assert list(named_sources([{"1": {"a": 1}}, {"1": {"a": 0}}])) == ["labels 1", "labels 2"]


def test_an_experiment_without_runs_is_for_labels_only() -> None:
    exp = fm.Experiment({"1": {"a": 1, "b": 0}}, None)
    assert len(exp.labels({"1": {"a": 1, "b": 0}}).source().labelled) == 2
    with pytest.raises(fm.FathomsError, match="this needs runs, and the experiment has none"):
        exp.evaluate("AP")


BAD = [
    ({"labels": {"9": {"z": 1}}}, "none of its 1 document is judged: it has, for example, topic 9 with document z"),
    ({"labels": {}}, "no labels given"),
    ({"labels": {"gpt": {"9": {"z": 1}}}}, "gpt: none of its 1 document is judged"),
    ({"labels": {"1": {"a": 1}}, "rel": 5}, "no document of qrels has grade 5 or above; the greatest is 1"),
    ({"labels": {"1": {"a": 1}}, "rel": 0}, "rel: expected a number above 0, found 0"),
    ({"labels": {"1": {"a": 1}}, "label_rel": "x"}, "label_rel: expected a number, found 'x'"),
    ({"labels": {"1": {"a": 1}}, "measures": "AP(variant=c)@5"}, "takes R or its ideal from the pool"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(fm.FathomsError) as caught:
        fm.Experiment({"1": {"a": 1, "b": 0}}, None).labels(**arguments)
    assert message in str(caught.value)


# -- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path, fathoms: Command) -> Path:
    """Files of `small`, in the folder in which the command is called."""
    human, model, runs = small()
    (tmp_path / "qrels.txt").write_text(
        "".join(f"{t} 0 {d} {grade}\n" for t, documents in human.items() for d, grade in documents.items())
    )
    (tmp_path / "model.txt").write_text(
        "".join(f"{t} {d} {label}\n" for t, documents in model.items() for d, label in documents.items())
    )
    (tmp_path / "runs").mkdir()
    for name, topics in runs.items():
        (tmp_path / "runs" / f"{name}.run").write_text(
            "".join(
                f"{t} Q0 {d} 0 {score} {name}\n" for t, documents in topics.items() for d, score in documents.items()
            )
        )
    return tmp_path


def test_the_command_says_what_python_says(fathoms: Command, files: Path) -> None:
    done = fathoms("labels", "qrels.txt", "model.txt", "--runs", "runs")
    assert done.status == 0
    found = fm.labels("qrels.txt", "model.txt", "runs")
    for sentence in found.sentences:
        assert sentence in done.out
    assert "circular?" in done.out
    assert done.err == ""


@pytest.mark.parametrize("format", ["tsv", "csv", "json", "parquet"])
def test_formats(fathoms: Command, files: Path, format: str) -> None:
    name = f"audit.{format}"
    assert fathoms("labels", "qrels.txt", "model.txt", "--runs", "runs", "--format", format, "-o", name).status == 0
    expected = fm.labels("qrels.txt", "model.txt", "runs").frame
    if format == "parquet":
        rows = pl.read_parquet(name).rows()
    elif format == "json":
        records = json.loads(Path(name).read_text())
        assert list(records[0]) == list(COLUMNS)
        rows = [tuple(record.values()) for record in records]
    else:
        frame = pl.read_csv(name, separator="\t" if format == "tsv" else ",", infer_schema_length=None)
        rows = [tuple("" if v is None and i < 5 else v for i, v in enumerate(row)) for row in frame.rows()]
    assert len(rows) == len(expected)
    for row, wanted in zip(rows, expected.rows(), strict=True):
        assert [str(v) for v in row[:2]] == list(wanted[:2])
        assert row[5] == (pytest.approx(wanted[5]) if wanted[5] is not None else None)


def test_runs_among_the_labels_are_seen(fathoms: Command, files: Path) -> None:
    runs = sorted(str(path) for path in Path("runs").iterdir())
    mixed = fathoms("labels", "qrels.txt", "model.txt", *runs)
    assert mixed.status == 0
    assert "taken as runs, going by their columns: runs/own.run, runs/sys0.run" in mixed.err
    assert mixed.out == fathoms("labels", "qrels.txt", "model.txt", "--runs", "runs").out
    alone = fathoms("labels", "qrels.txt", runs[0])
    assert alone.status == 2
    assert "no labels given: runs/own.run looks like a run" in alone.err


def test_three_columns_are_labels_and_no_ranks(fathoms: Command, files: Path) -> None:
    """MS MARCO's runs look the same: topic, document and a whole number between tabs."""
    Path("tabs.tsv").write_text(Path("model.txt").read_text().replace(" ", "\t"))
    Path("model.txt").rename("spaces.txt")
    by_tabs, by_blanks = (fathoms("labels", "qrels.txt", name) for name in ("tabs.tsv", "spaces.txt"))
    assert (by_tabs.status, by_blanks.status) == (0, 0)
    assert [line.split()[1:] for line in by_tabs.out.splitlines()] == [
        line.split()[1:] for line in by_blanks.out.splitlines()
    ]
    found = fm.labels("qrels.txt", ["tabs.tsv", "spaces.txt"])
    assert found.source("tabs").figures == found.source("spaces").figures


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 d0 1\n1 d1 high\n", "bad.txt:2: expected a finite number as value (column 3), found 'high'"),
        ("1 d0 1\n1 d0 2\n", "bad.txt:2: topic 1, document d0 has a value already, in line 1"),
        ("1 d0 1\n1 d1\n", "bad.txt:2: expected 3 columns (topic document value)"),
        ("", "bad.txt: the file is empty"),
        ("77 d0 1\n", "bad.txt: none of its 1 document is judged"),
    ],
)
def test_bad_labels_are_errors_with_their_line(fathoms: Command, files: Path, content: str, message: str) -> None:
    Path("bad.txt").write_text(content)
    done = fathoms("labels", "qrels.txt", "bad.txt")
    assert done.status == 2
    assert message in done.err


def test_errors_of_usage(fathoms: Command, files: Path) -> None:
    assert fathoms("labels", "qrels.txt").status == 2
    assert "no such file or folder" in fathoms("labels", "qrels.txt", "nowhere.txt").err
    assert "is one of the files to read" in fathoms("labels", "qrels.txt", "model.txt", "-o", "model.txt").err
    assert "only one of QRELS, LABELS and RUN can be standard input" in fathoms("labels", "-", "-").err


def test_charts_draw(files: Path) -> None:
    pytest.importorskip("vl_convert")
    found = fm.labels("qrels.txt", "model.txt", "runs")
    points = found.score_points(measure="AP")
    assert points["human"].to_list() == pytest.approx(found.source().effects[1].human.tolist())
    assert found.chart(measure="AP").to_dict()["title"]
    assert fm.labels("qrels.txt", "model.txt").chart().to_dict()["title"]
    with pytest.raises(fm.FathomsError, match="there is no source 'x'; there are model"):
        found.chart("x")
    with pytest.raises(fm.FathomsError, match="there is no measure 'P@1' here"):
        found.chart(measure="P@1")


# -- labels of language models ----------------------------------------------------------------------------------------


def test_figures_of_language_models_are_those_of_other_packages() -> None:
    """scikit-learn 1.7's kappa, quadratic kappa and AUC, krippendorff 0.9's alphas, scipy's rank correlation."""
    folder = collection("llmjudge-dl23-labels")
    chosen = [folder / "llm_labels" / f"{name}.txt" for name in ("willia-umbrela1", "TREMA-rubric0")]
    found = fm.labels(folder / "llmjudge_test_qrel_idx.txt", [str(path) for path in chosen])
    expected = {
        "willia-umbrela1": (0.416112737, 0.504355667, 0.491793150, 0.284037446, 0.729561745, 0.506584139),
        "TREMA-rubric0": (0.171354352, 0.162284798, 0.103604109, 0.037510900, 0.590449435, 0.240282250),
    }
    names = ("kappa", "kappa_quadratic", "alpha_ordinal", "alpha_nominal", "auc", "spearman")
    for name, figures in expected.items():
        source = found.source(name)
        assert len(source.labelled) == 4423
        assert [source.figures[one].value for one in names] == pytest.approx(figures, abs=1e-8)
        assert all(source.figures[one].low < source.figures[one].value for one in names)  # type: ignore[operator]


@pytest.mark.long
def test_a_reranking_by_a_language_model_is_found() -> None:
    """Runs made of human grades and noise, and one reranked by the labels, for several models."""
    folder = collection("llmjudge-dl23-labels")
    qrels = fm.read_qrels(folder / "llmjudge_test_qrel_idx.txt")
    rng = np.random.default_rng(1)
    keys = list(zip(qrels.topic.tolist(), (d.decode() for d in qrels.documents.tolist()), strict=True))
    for name in ("h2oloo-fewself", "Olz-gpt4o", "prophet-setting2"):
        labels = fm.read_qrels(folder / "llm_labels" / f"{name}.txt")
        value = {
            (labels.topics[t], d.decode()): grade
            for t, d, grade in zip(labels.topic, labels.documents.tolist(), labels.grades, strict=True)
        }
        runs: dict[str, Values] = {}
        for i in range(10):
            own = i == 9
            noise = rng.normal(0, 0.7 if own else rng.uniform(1, 3), len(keys))
            run: Values = {}
            for (t, document), grade, error in zip(keys, qrels.grades, noise, strict=True):
                topic = qrels.topics[t]
                signal = value.get((topic, document), 0.0) if own else grade
                run.setdefault(topic, {})[document] = float(signal + error)
            runs["own" if own else f"sys{i}"] = run
        found = fm.labels(qrels, {name: labels.to_dict()}, runs, "nDCG@10").source()
        assert [one.run for one in found.suspects] == ["own"]


# -- what is asked of a judge -----------------------------------------------------------------------------------------


def judge(n: int, right: float, seed: int = 0) -> tuple[Values, Values]:
    """Human grades of n documents of 20 topics, and labels that are right so often."""
    rng = np.random.default_rng(seed)
    grades: Values = {}
    labels: Values = {}
    for i in range(n):
        topic, document = f"t{i % 20}", f"d{i}"
        grade = float(rng.random() < 0.4)
        grades.setdefault(topic, {})[document] = grade
        labels.setdefault(topic, {})[document] = grade if rng.random() < right else 1 - grade
    return grades, labels


def test_a_judge_passes_fails_or_cannot_be_told() -> None:
    grades, labels = judge(1000, 0.85)
    exp = fm.Experiment(grades, None)
    figure = exp.labels(labels).sources[0].figures["kappa"]
    assert figure.value is not None
    assert figure.low is not None
    assert figure.high is not None
    for limit, outcome, code in (
        (figure.low - 0.01, "passes", 0),
        (figure.high + 0.01, "fails", 1),
        (figure.value - 0.005, "cannot tell", 3),
    ):
        audit = exp.labels(labels, min_kappa=limit)
        assert (audit.outcome, audit.exit_code) == (outcome, code)
        assert audit.answer[0].startswith({"passes": "Passes", "fails": "Fails", "cannot tell": "Cannot"}[outcome])
    assert exp.labels(labels).exit_code == 0  # nothing was asked
    few = exp.labels(labels, min_labels=1200)
    assert (few.exit_code, few.requirements[0].more) == (3, 200)
    assert "200 more are needed" in few.answer[0]


def test_as_many_more_labels_as_are_named_tell() -> None:
    """Over many judges: with what was said to be needed, three in four and more are told, with half of it far fewer."""
    told = []
    for seed in range(12):
        grades, labels = judge(200, 0.85, seed)
        [asked] = fm.Experiment(grades, None).labels(labels, min_kappa=0.62).requirements
        if asked.more is None or asked.more > 6000:
            continue
        limit_side = asked.value is not None and asked.value > 0.62
        grades, labels = judge(200 + asked.more, 0.85, 100 + seed)
        again = fm.Experiment(grades, None).labels(labels).sources[0].figures["kappa"]
        assert again.value is not None
        assert again.low is not None
        assert again.high is not None
        assert asked.low is not None
        assert asked.high is not None
        assert asked.value is not None
        # The end of the interval is as far from the figure as the limit was.
        distance = (again.value - again.low) if limit_side else (again.high - again.value)
        told.append(distance / abs(asked.value - 0.62))
    assert len(told) >= 5
    assert np.median(told) == pytest.approx(1, abs=0.2)


def test_a_bias_of_scores_is_with_its_interval_over_topics() -> None:
    human, labels, runs = small()
    audit = fm.Experiment(human, runs).labels(labels, ["P@10"], max_bias=0.001)
    [asked], [effect] = audit.requirements, audit.sources[0].effects
    assert asked.value == pytest.approx(float((effect.labels - effect.human).mean()))
    by_topic = []
    for qrels in (human, labels):
        scores = fm.evaluate(qrels, runs, "P@10", by_topic=True)
        rows = scores.filter(scores["topic"] != "all").group_by("topic").agg(pl.col("score").mean()).sort("topic")
        by_topic.append(rows["score"].to_numpy())
    off = by_topic[1] - by_topic[0]
    half = stats.t.ppf(0.975, len(off) - 1) * off.std(ddof=1) / np.sqrt(len(off))
    assert (asked.low, asked.high) == pytest.approx((off.mean() - half, off.mean() + half))
    with pytest.raises(fm.FathomsError, match="max_bias: is about what labels do to runs"):
        fm.Experiment(human, None).labels(labels, max_bias=0.1)


def test_a_circular_run_fails_the_gate_and_honest_ones_do_not() -> None:
    human, labels, runs = small()
    suspected = fm.Experiment(human, runs).labels(labels, ["P@10"], max_circularity=0.25)
    assert suspected.requirements[0].run == suspected.sources[0].suspects[0].run
    assert suspected.exit_code == 1
    human, labels, runs = small(circular=False)
    assert fm.Experiment(human, runs).labels(labels, ["P@10"], max_circularity=0.25).exit_code in (0, 3)


def test_sources_beside_each_other() -> None:
    """One source and its repetition, in which a tenth of the labels changed, all from 0 to 1."""
    rng = np.random.default_rng(2)
    grades, labels = judge(600, 0.8)
    again = {t: {d: 1.0 if v == 0 and rng.random() < 0.2 else v for d, v in of.items()} for t, of in labels.items()}
    again["t0"] |= {"unjudged": 1.0}
    labels["t0"] |= {"unjudged": 0.0}
    audit = fm.Experiment(grades, None).labels({"march": labels, "april": again})
    [pair] = audit.between
    x = np.array([v for t, of in labels.items() for v in of.values()])
    y = np.array([again[t][d] for t, of in labels.items() for d in of])
    assert pair.documents == len(x) == 601
    assert pair.kappa.value == pytest.approx(slow_kappa(x.tolist(), y.tolist(), lambda a, b: float(a != b)))
    assert pair.changed.value == pytest.approx((x != y).mean())
    assert pair.shift.value == pytest.approx(y.mean() - x.mean())
    assert any("april calls more documents relevant" in sentence for sentence in audit.sentences)


def test_kappa_by_group_of_topics() -> None:
    grades, labels = judge(600, 0.8)
    groups = {"even": [f"t{i}" for i in range(0, 20, 2)], "odd": [f"t{i}" for i in range(1, 20, 2)]}
    given = {topic: group for group, topics in groups.items() for topic in topics}
    audit = fm.Experiment(grades, None, topic_groups=given).labels(labels)
    by_group = audit.sources[0].by_group
    for group, topics in groups.items():
        some = {t: grades[t] for t in topics}
        alone = fm.Experiment(some, None).labels(labels).sources[0].figures["kappa"]
        assert by_group[f"group={group}"].value == pytest.approx(alone.value)


def test_agreement_by_length_of_the_text(tmp_path: Path) -> None:
    """A judge that is right on short texts and tosses a coin on long ones, held against loops over the documents."""
    rng = np.random.default_rng(12)
    human, labels = dict[str, dict[str, float]](), dict[str, dict[str, float]]()
    length: dict[str, int] = {}
    for t in range(12):
        human[f"t{t}"], labels[f"t{t}"] = {}, {}
        for d in range(20):
            name = f"d{t}-{d}"
            length[name] = int(rng.integers(10, 700))
            human[f"t{t}"][name] = float(rng.integers(0, 2))
            labels[f"t{t}"][name] = human[f"t{t}"][name] if length[name] < 450 else float(rng.integers(0, 2))
    untold = sorted(length)[::17]  # have no text
    lines = [{"id": d, "title": "ab", "text": "x" * (n - 2)} for d, n in length.items() if d not in untold]
    texts = tmp_path / "docs.jsonl"
    texts.write_text("".join(json.dumps(line) + "\n" for line in lines))
    audit = fm.Experiment(human, None).labels({"judge": labels}, docs=texts)
    source = audit.source()
    ordered = sorted((n, d) for d, n in length.items() if d not in untold)
    first, second = (ordered[math.ceil(len(ordered) * share) - 1][0] for share in (1 / 3, 2 / 3))
    bounds = {"shortest": (0, first), "middle": (first, second), "longest": (second, 700)}
    assert source.with_text == len(ordered)
    assert source.by_length is not None
    for (third, (above, to)), part in zip(bounds.items(), source.by_length, strict=True):
        chosen = [d for n, d in ordered if above < n <= to]
        y, f = ([of[d.split("-")[0].replace("d", "t")][d] for d in chosen] for of in (human, labels))
        agreed = sum(a == b for a, b in zip(y, f, strict=True)) / len(y)
        assert (part.third, part.documents) == (third, len(chosen))
        assert (part.least, part.most) == (min(length[d] for d in chosen), max(length[d] for d in chosen))
        assert part.kappa.value == pytest.approx(slow_kappa(y, f, lambda a, b: float(a != b)))
        assert part.agreed.value == pytest.approx(agreed)
        row = audit.frame.filter(statistic="kappa_of_length", item=third).row(0, named=True)
        assert (row["value"], row["n"]) == (part.kappa.value, len(chosen))
    assert source.by_length[0].kappa.value == 1
    long = source.by_length[2].kappa
    assert long.high is not None
    assert long.high < 0.6
    line = next(line for line in audit.sentences if "Kappa by length of the text" in line)
    assert f"over the {len(ordered)} of 240 that have a text: 1.00 [1.00, 1.00] in the shortest third" in line
    texts.write_text("".join(json.dumps({"id": d, "text": "word"}) + "\n" for d in length))
    assert "too alike in length" in " ".join(fm.Experiment(human, None).labels(labels, docs=texts).sentences)
    texts.write_text(json.dumps({"id": "another", "text": "word"}))
    with pytest.raises(fm.InputError, match="none of the judged documents"):
        fm.Experiment(human, None).labels(labels, docs=texts)


def test_a_grade_that_only_some_runs_find_is_named() -> None:
    rng = np.random.default_rng(4)
    runs = {f"old{r}": {f"t{t}": {f"d{i}": rng.random() for i in range(30)} for t in range(10)} for r in range(6)} | {
        f"new{r}": {f"t{t}": {f"d{i}": rng.random() for i in range(20, 45)} for t in range(10)} for r in range(2)
    }
    human = {f"t{t}": {f"d{i}": float(rng.integers(0, 3)) for i in range(30)} for t in range(10)}
    mixed = {t: of | {f"d{i}": 3.0 for i in range(30, 40)} for t, of in human.items()}
    for qrels, names in ((human, []), (mixed, [("new0", "new1")])):
        audit = fm.Experiment(qrels, runs).labels(qrels, ["P@10"])
        assert [odd.runs for odd in audit.odd_grades] == names
        assert any("mixes people and a model" in sentence for sentence in audit.sentences) == bool(names)


def test_the_gate_on_the_command_line(fathoms: Command, tmp_path: Path) -> None:
    grades, labels = judge(400, 0.85)
    for name, of in (("qrels.txt", grades), ("judge.txt", labels)):
        lines = [f"{t} 0 {d} {int(g)}" for t, docs in of.items() for d, g in docs.items()]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    words = ("labels", tmp_path / "qrels.txt", tmp_path / "judge.txt", "--quiet")
    done = fathoms(*words, "--min-kappa", "0.95", "--markdown", tmp_path / "out.md", "--junit", tmp_path / "out.xml")
    assert done.status == 1
    assert "| kappa | 0.95 |" in (tmp_path / "out.md").read_text()
    suite = ElementTree.fromstring((tmp_path / "out.xml").read_text())
    assert (suite.get("failures"), suite.get("errors")) == ("1", "0")
    assert fathoms(*words, "--min-labels", "500").status == 3
    assert fathoms(*words, "--min-kappa", "0.2", "--min-labels", "400").status == 0
