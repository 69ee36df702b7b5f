"""The default estimate: its parts against slow versions, its intervals against known truth."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import fathoms as fm
from fathoms.data.qrels import JUDGED, UNJUDGED, read_qrels
from fathoms.data.simulate import simulate, write
from fathoms.estimate.backtest import FOLDS, LEFT_OUT, fit_drift, hidings
from fathoms.estimate.backtest_fit import Case, Prediction, calibrate, parts
from fathoms.estimate.documents import Documents, documents_of
from fathoms.estimate.estimates import run_estimates, suggested_depth
from fathoms.estimate.grades import fit_grades
from fathoms.estimate.mixed_logistic import MixedPrior, fit_mixed
from fathoms.estimate.scoring import Judging
from fathoms.estimate.self_check import Misses, interval, margins, self_check
from fathoms.estimate.words import calibrated_sentences, lines_by_measure
from fathoms.evidence.candidates import Candidates
from fathoms.evidence.pool import judged_depths
from fathoms.experiment.assumed_pool import AssumedPool
from fathoms.measures.parse import parse_measure
from tests.support.commands import status as run_cli

pytestmark = pytest.mark.filterwarnings("ignore::fathoms.base.errors.FathomsWarning")


# -- regression -----------------------------------------------------------------------------------------------


def regression(seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    n, topics = 120, 5
    X = np.column_stack([rng.normal(size=n), np.ones(n), rng.normal(size=n)])
    topic = rng.integers(topics, size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(-X[:, 0] - 0.5 * rng.normal(size=topics)[topic]))).astype(float)
    prior = MixedPrior(np.array([0.5, -0.2, 0.0]), np.array([1.0, 0.5, 2.0]), np.array([[0.8, 0.1], [0.1, 0.5]]))
    return X, X[:, [1, 0]], y, topic, topics, prior, rng.normal(size=n) * 0.3, rng.uniform(0.5, 2, size=n)


def minus_log_posterior(x: Any, X: Any, Z: Any, y: Any, topic: Any, topics: int, prior: Any, off: Any, w: Any) -> float:
    """With S as it is, written out."""
    b, u = x[: X.shape[1]], x[X.shape[1] :].reshape(topics, Z.shape[1])
    total = 0.0
    for i in range(len(y)):
        z = off[i] + X[i] @ b + Z[i] @ u[topic[i]]
        total += w[i] * (np.logaddexp(0, z) - y[i] * z)
    total += 0.5 * (prior.precision * (b - prior.mean) ** 2).sum()
    inverse = np.linalg.inv(prior.spread)
    return total + 0.5 * sum(one @ inverse @ one for one in u)


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1])
def test_the_regression_is_at_the_maximum_of_its_posterior(seed: int) -> None:
    X, Z, y, topic, topics, prior, offset, weight = regression(seed)
    fit = fit_mixed(X, Z, y, topic, topics, prior, offset=offset, weight=weight, rounds=1)
    args = (X, Z, y, topic, topics, prior, offset, weight)
    best = minimize(minus_log_posterior, np.zeros(3 + 2 * topics), args=args, method="BFGS", options={"gtol": 1e-7})
    found = np.concatenate([fit.coefficients, fit.effects.ravel()])
    assert np.abs(found - best.x).max() < 1e-3
    # Covariances: the inverse of the second derivatives, by finite differences.
    h, size = 1e-3, len(found)
    hessian = np.empty((size, size))
    unit = np.eye(size) * h
    for i in range(size):
        for j in range(size):
            hessian[i, j] = (
                minus_log_posterior(found + unit[i] + unit[j], *args)
                - minus_log_posterior(found + unit[i] - unit[j], *args)
                - minus_log_posterior(found - unit[i] + unit[j], *args)
                + minus_log_posterior(found - unit[i] - unit[j], *args)
            ) / (4 * h * h)
    covariance = np.linalg.inv(hessian)
    assert np.allclose(fit.shared, covariance[:3, :3], atol=2e-4)
    drawn = np.concatenate([part.reshape(20_000, -1) for part in fit.samples(20_000, np.random.default_rng(0))], axis=1)
    assert np.abs(drawn.mean(axis=0) - found).max() < 0.03
    assert np.abs(np.cov(drawn.T) - covariance).max() < 0.03


def test_the_spread_over_topics_is_learnt_from_them() -> None:
    rng = np.random.default_rng(3)
    topics, each = 150, 60
    effect = rng.normal(size=topics) * 1.5
    topic = np.repeat(np.arange(topics), each)
    y = (rng.random(len(topic)) < 1 / (1 + np.exp(-effect[topic]))).astype(float)
    X = np.ones((len(y), 1))
    prior = MixedPrior(np.zeros(1), np.ones(1), np.eye(1) * 0.2)
    fit = fit_mixed(X, X, y, topic, topics, prior, rounds=40)
    assert 1.3 < np.sqrt(fit.spread[0, 0]) < 1.7
    assert np.corrcoef(fit.effects[:, 0], effect)[0, 1] > 0.95


# -- documents and scores of sampled judgments ----------------------------------------------------------------


def world(seed: int, *, runs: int = 4, topics: int = 3, depth: int = 12) -> tuple[dict[str, Any], dict[str, Any]]:
    """Judgments of some documents, and runs of many."""
    rng = np.random.default_rng(seed)
    qrels: dict[str, dict[str, int]] = {}
    found: dict[str, dict[str, dict[str, float]]] = {f"r{i}": {} for i in range(runs)}
    for t in range(topics):
        names = [f"d{i}" for i in range(25)]
        qrels[str(t)] = {name: int(rng.integers(0, 3)) for name in rng.choice(names, 9, replace=False)}
        for run in found.values():
            length = int(rng.integers(3, depth + 1))
            run[str(t)] = {name: float(-i) for i, name in enumerate(rng.permutation(names)[:length])}
    return qrels, found


def gathered_world(qrels: Any, runs: Any, to_depth: int = 100) -> tuple[fm.Experiment, Candidates, Documents, Any]:
    exp = fm.Experiment(qrels, runs)
    exp.prepare()
    names = sorted(exp.runs)
    found = exp.documents(names)
    codes = np.full(len(found), UNJUDGED, dtype=np.int16)
    for i, (topic, document) in enumerate(zip(found.topic.tolist(), found.documents.tolist(), strict=True)):
        grade = qrels[found.topics[topic]].get(document.decode())
        if grade is not None:
            codes[i] = JUDGED + int(np.searchsorted(exp.qrels.levels, grade))
    everybody = np.ones(len(names), dtype=bool)
    return exp, found, documents_of(found, codes, everybody, to_depth, exp.qrels.levels), codes


LISTED = ["P@5", "RBP(p=0.8)", "DCG@5", "SDCG@4", "nDCG", "nDCG@5", "nDCG(gain=exp)@3", "AP", "AP@4", "AP(variant=b)@4"]
LISTED += ["AP(rel=2)", "GMAP", "P(rel=2)@3", "nDCG(discount=zipf)"]
WHOLE = ["RR", "ERR@5", "Q@5", "R@5", "Rprec", "Success@3", "SetF", "Bpref", "INST(T=2)@10"]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_scores_of_sampled_judgments_are_those_of_the_judgments(seed: int) -> None:
    """Whatever the open documents are given, the score is that of an evaluation with these judgments."""
    qrels, runs = world(seed)
    exp, found, documents, _ = gathered_world(qrels, runs)
    known, open_ = np.flatnonzero(documents.judged), np.flatnonzero(~documents.judged)
    elsewhere = np.zeros((len(found.topics), len(documents.levels)), dtype=np.int64)
    for t, topic in enumerate(found.topics):
        retrieved = {document for run in runs.values() for document in run.get(topic, {})}
        for document, grade in qrels[topic].items():
            if document not in retrieved:
                elsewhere[t, np.searchsorted(documents.levels, grade)] += 1
    judging = Judging(found, documents, known, open_, elsewhere, exp.qrels.max_grade)
    levels = np.random.default_rng(seed).integers(0, len(documents.levels), (3, len(open_))).astype(np.int16)
    measures = [parse_measure(name) for name in LISTED + WHOLE]
    scores = judging.scores(measures, levels)
    for draw in range(3):
        whole = {topic: dict(of) for topic, of in qrels.items()}
        for row, level in zip(open_.tolist(), levels[draw].tolist(), strict=True):
            number = documents.number[row]
            whole[found.topics[documents.topic[row]]][found.documents[number].decode()] = int(documents.levels[level])
        frame = fm.evaluate(whole, runs, measures, by_topic=True)
        expected = {(r, t, m): s for r, t, m, s in frame.select("run", "topic", "measure", "score").iter_rows()}
        for measure in measures:
            for r, run in enumerate(found.names):
                for t, topic in enumerate(found.topics):
                    assert scores[measure][0][draw, r, t] == pytest.approx(
                        expected[run, topic, measure.name], abs=1e-6
                    ), (measure.name, run, topic)


def test_the_ideal_alone_can_change() -> None:
    """Then nothing is gained, and R or the ideal may grow: never above the score, nor above that of the draw."""
    qrels, runs = world(1)
    exp, found, documents, _ = gathered_world(qrels, runs)
    known, open_ = np.flatnonzero(documents.judged), np.flatnonzero(~documents.judged)
    none = np.zeros((len(found.topics), len(documents.levels)), dtype=np.int64)
    judging = Judging(found, documents, known, open_, none, exp.qrels.max_grade)
    measures = [parse_measure(name) for name in ("nDCG", "AP", "Q@5", "P@5")]
    levels = np.stack([np.zeros(len(open_)), np.full(len(open_), 2)]).astype(np.int16)
    for measure, (free, ideal_alone) in judging.scores(measures, levels).items():
        assert np.allclose(free[0], ideal_alone[0])  # nothing drawn, nothing changes
        assert (ideal_alone[1] <= ideal_alone[0] + 1e-9).all(), measure.name
        assert (ideal_alone[1] <= free[1] + 1e-9).all(), measure.name
    p5 = judging.scores(measures[-1:], levels)[measures[-1]][1]
    assert np.allclose(p5[0], p5[1])  # precision has no ideal


@given(seed=st.integers(0, 10_000), depth=st.integers(1, 12))
@settings(max_examples=25, deadline=None)
def test_documents_know_their_least_ranks(seed: int, depth: int) -> None:
    qrels, runs = world(seed)
    _, found, documents, _ = gathered_world(qrels, runs, depth)
    for row in range(len(documents)):
        topic = found.topics[documents.topic[row]]
        name = found.documents[documents.number[row]].decode()
        ranks = [list(run[topic]).index(name) + 1 for run in runs.values() if name in run.get(topic, {})]
        assert documents.reach[row] == min(ranks) == documents.pooled[row]
        assert documents.judged[row] == (name in qrels[topic])
        assert documents.judged[row] or min(ranks) <= depth
        owner = found.names[documents.owner[row]]
        assert list(runs[owner][topic]).index(name) + 1 == min(ranks)


def test_features_are_of_a_document_alone() -> None:
    """Square roots of the share of runs and the mean height, 1, and the height in each run's ranking."""
    qrels = {"1": {"a": 1, "b": 0}}
    runs = {"x": {"1": {"a": 3.0, "b": 2.0, "c": 1.0}}, "y": {"1": {"c": 2.0, "a": 1.0}}}
    _, found, documents, _ = gathered_world(qrels, runs)
    rows = {found.documents[number].decode(): row for row, number in enumerate(documents.number.tolist())}
    features = documents.features(np.array([rows["a"], rows["b"]]))
    height = [1 - np.log(rank) / np.log(4) for rank in (1, 2, 3)]
    assert features[0] == pytest.approx(
        [1, np.sqrt((height[0] + height[1]) / 2), 1, 0.5 + 0.5 * height[0], 0.5 + 0.5 * height[1]], abs=1e-6
    )
    assert features[1] == pytest.approx([np.sqrt(0.5), np.sqrt(height[1] / 2), 1, 0.5 + 0.5 * height[1], 0], abs=1e-6)


# -- grades ---------------------------------------------------------------------------------------------------


def test_a_higher_grade_is_never_likelier_than_a_lower_one() -> None:
    made = simulate(systems=5, n_topics=8, n_docs=800, depth=100, max_grade=3, seed=4)
    qrels = {t: dict(zip(f["doc"], f["grade"], strict=True)) for (t,), f in made.qrels.group_by("topic")}
    _, _, documents, _ = gathered_world({str(t): of for t, of in qrels.items()}, made.runs, 50)
    model = fit_grades(documents, np.flatnonzero(documents.judged))
    open_ = np.flatnonzero(~documents.judged)
    chances = model.probabilities(open_)
    assert model.levels == [1, 2, 3]
    assert (chances[1:] <= chances[:-1]).all()
    sampler = model.sampler(open_, 60, 0)
    levels = sampler.levels()
    assert set(np.unique(levels)) <= {0, 1, 2, 3}
    # A draw is its own, however draws are cut into pieces.
    assert (model.sampler(open_, 60, 0, range(10, 20)).levels() == levels[10:20]).all()
    for step, level in enumerate(model.levels):
        expected, drawn = chances[step].sum(), (levels >= level).sum(axis=1).mean()
        assert 0.5 * expected < drawn < 2 * expected + 1


def test_grades_that_are_too_many_share_steps() -> None:
    qrels = {str(t): {f"d{i}": i for i in range(20)} for t in range(4)}
    runs = {"x": {str(t): {f"d{i}": float(i) for i in range(20)} for t in range(4)}}
    _, _, documents, _ = gathered_world(qrels, runs)
    model = fit_grades(documents, np.flatnonzero(documents.judged))
    assert len(model.levels) <= 8
    assert model.levels == sorted(set(model.levels))
    assert model.levels[0] >= 1
    assert model.levels[-1] <= 19


# -- backtests ------------------------------------------------------------------------------------------------


def pooled_world() -> tuple[Documents, Any]:
    made = simulate(systems=6, n_topics=5, n_docs=600, depth=60, max_grade=1, pool_depth=10, unpooled=0, seed=2)
    qrels = {t: dict(zip(f["doc"], f["grade"], strict=True)) for (t,), f in made.qrels.group_by("topic")}
    _, _, documents, _ = gathered_world({str(t): of for t, of in qrels.items()}, made.runs, 30)
    return documents, np.ones(6, dtype=bool)


def test_deeper_levels_of_the_pool_are_hidden() -> None:
    documents, everybody = pooled_world()
    found = hidings(documents, 10, everybody, list("abcdef"), deeper=True, outsiders=False)
    assert [one.depth for one in found] == [2, 5, 7]
    for one in found:
        assert set(one.known) | set(one.hidden) == set(np.flatnonzero(documents.judged))
        assert (documents.pooled[one.hidden] > one.depth).all()
        assert (documents.pooled[one.known] <= one.depth).all()


def test_what_only_some_runs_brought_in_is_hidden() -> None:
    documents, everybody = pooled_world()
    found = hidings(documents, 10, everybody, ["a", "a", "b", "b", "c", "c"], deeper=False, outsiders=True)
    assert len(found) == FOLDS
    ranks = documents.ranks.toarray()
    for one in found:
        assert one.name == LEFT_OUT
        for row in one.hidden:
            have = {"aabbcc"[run] for run in np.flatnonzero((ranks[row] > 0) & (ranks[row] <= 10))}
            assert len(have) == 1  # a team alone
    hidden = np.concatenate([one.hidden for one in found])
    assert len(set(hidden)) == len(hidden)


def test_a_random_third_is_hidden_where_there_is_no_pool() -> None:
    documents, everybody = pooled_world()
    found = hidings(documents, 0, everybody, list("abcdef"), deeper=True, outsiders=True)
    judged = np.flatnonzero(documents.judged)
    assert sorted(np.concatenate([one.hidden for one in found])) == judged.tolist()
    assert all(abs(len(one.hidden) - len(judged) / 3) <= 1 for one in found)


def test_drift_finds_that_relevance_falls_off_faster() -> None:
    """Logits that are too high by half a unit for each unit of log depth."""
    documents, everybody = pooled_world()
    found = hidings(documents, 10, everybody, list("abcdef"), deeper=True, outsiders=False)[:1]
    rng = np.random.default_rng(0)
    logits = rng.normal(size=len(found[0].hidden))
    distance = found[0].distance(documents)
    level = np.zeros(len(documents), dtype=np.int64)
    level[found[0].hidden] = rng.random(len(logits)) < 1 / (1 + np.exp(-(logits - 0.8 * distance)))
    object.__setattr__(documents, "codes", (JUDGED + level).astype(np.int16))
    documents.__dict__.pop("level", None)
    drift = fit_drift(documents, [(found[0], logits)])
    assert -1.0 < drift.mean < -0.4
    assert drift.spread >= 0.2


# -- calibration ----------------------------------------------------------------------------------------------


def case(seed: int, own: float, ideal: float, noise: float, runs: int = 15, topics: int = 40) -> Case:
    """A prediction whose change comes true in these shares, and whose deviations are too small by `noise`."""
    rng = np.random.default_rng(seed)
    score = rng.uniform(0.2, 0.6, (runs, topics))
    gained = np.abs(rng.normal(0.1, 0.03, (runs, topics)))
    lost = -np.abs(rng.normal(0.05, 0.03, (1, topics))) * score
    deviations = 0.02 * rng.standard_normal((60, runs, topics))
    truth = score + own * gained + ideal * lost + noise * 0.02 * rng.standard_normal((runs, topics))
    return Case(Prediction(score, gained, lost, deviations, 0.5), truth)


def test_shares_that_came_true_are_found() -> None:
    found = calibrate([case(seed, 0.6, 0.4, 1.0) for seed in range(3)])
    assert found.own == pytest.approx(0.6, abs=0.03)
    assert found.ideal == pytest.approx(0.4, abs=0.15)
    assert found.uses_model
    assert found.widening.of_topics == pytest.approx(1.0, abs=0.1)


def test_deviations_are_widened_until_they_explain_what_was_seen() -> None:
    found = calibrate([case(seed, 0.9, 0.9, 2.5) for seed in range(3)])
    assert found.widening.of_topics == pytest.approx(2.5, abs=0.25)
    assert found.widening.of_means == pytest.approx(2.5, abs=0.9)
    fresh = case(99, 0.9, 0.9, 2.5)
    drawn = found.draws(fresh.predicted, 0)
    low, high = interval(drawn, found.point(fresh.predicted, drawn))
    assert 0.9 < ((fresh.truth >= low) & (fresh.truth <= high)).mean() <= 1.0
    narrow = calibrate([case(seed, 0.9, 0.9, 0.0) for seed in range(3)])
    assert narrow.widening.of_topics == 1.0  # never narrower than the model itself


def test_where_the_model_is_of_no_use_the_score_is_the_estimate() -> None:
    rng = np.random.default_rng(0)
    cases = []
    for seed in range(3):
        made = case(seed, 0.0, 0.0, 0.0)
        cases.append(Case(made.predicted, made.predicted.score + 1e-3 * rng.standard_normal(made.truth.shape)))
    found = calibrate(cases)
    fresh = case(7, 0.0, 0.0, 0.0).predicted
    if found.uses_model:
        assert found.own < 0.05
    else:
        assert (found.point(fresh, found.draws(fresh, 0)) == fresh.score).all()


def test_what_no_draw_changes_is_not_changed() -> None:
    found = calibrate([case(seed, 0.6, 0.4, 2.0) for seed in range(2)])
    still = np.full((3, 4), 0.3)
    nothing = Prediction(still, np.zeros((3, 4)), np.zeros((3, 4)), np.zeros((20, 3, 4)), 0.0)
    drawn = found.draws(nothing, 0)
    assert (drawn == 0.3).all()
    assert (found.point(nothing, drawn) == 0.3).all()


def test_that_nothing_changes_stays_possible() -> None:
    """One document that is relevant in every twentieth draw: most often the score stays as it is."""
    score = np.full((1, 10), 0.5)
    drawn = np.repeat(score[None], 200, axis=0)
    drawn[::20, 0, 3] += 0.1
    mean = drawn.mean(axis=0)
    predicted = Prediction(score, mean - score, np.zeros_like(score), drawn - mean, 0.0)
    found = calibrate([case(seed, 1.3, 1.0, 0.5) for seed in range(2)])
    drawn = found.draws(predicted, 0)
    low, high = interval(drawn, found.point(predicted, drawn))
    assert (low <= 0.5).all()
    assert (high >= 0.5).all()


@given(seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_parts_add_up(seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(4, 3, 5))
    common, of_means, of_topics = parts(values)
    assert np.allclose(common + of_means + of_topics, values)
    assert np.allclose(of_topics.mean(axis=2), 0)
    assert np.allclose(of_means.mean(axis=1), 0)


# -- together -------------------------------------------------------------------------------------------------


def small(seed: int = 0, **more: Any) -> Any:
    settings: dict[str, Any] = {"systems": 6, "n_topics": 10, "n_docs": 1500, "depth": 100, "seed": seed}
    return simulate(**settings | more)


def widths(frame: Any) -> Any:
    return frame["likely_high"].to_numpy() - frame["likely_low"].to_numpy()


def test_everything_judged_leaves_nothing_to_estimate() -> None:
    made = small()
    result = fm.Experiment(made.truth, made.runs).predict(["AP", "nDCG@10", "P@10", "RR"])
    for row in result.frame.iter_rows(named=True):
        assert row["estimate"] == pytest.approx(row["score"], abs=1e-9)
        assert row["likely_low"] == pytest.approx(row["likely_high"], abs=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_estimates_and_intervals_lie_in_the_possible_range(seed: int) -> None:
    made = small(seed)
    frame = fm.predict(made.qrels, made.runs, ["AP", "nDCG@10", "P@10", "RR", "ERR@10", "Q@10"], by_topic=True)
    columns = ["low", "likely_low", "estimate", "likely_high", "high"]
    for lower, upper in pairwise(frame[name].to_numpy() for name in columns):
        assert (lower <= upper + 1e-9).all()
    assert frame["method"].unique().to_list() == ["calibrated"]


@pytest.mark.long
def test_a_difference_is_that_of_the_estimates() -> None:
    made = small(1)
    exp = fm.Experiment(made.qrels, made.runs)
    found = exp.predict(["AP", "P@10"], to_depth=40).frame
    value = {(run, measure): e for run, measure, e in found.select("run", "measure", "estimate").iter_rows()}
    for row in exp.compare(["AP", "P@10"], to_depth=40).frame.iter_rows(named=True):
        difference = value[row["run_a"], row["measure"]] - value[row["run_b"], row["measure"]]
        assert row["estimate"] == pytest.approx(difference, abs=1e-9)
        assert row["likely_low"] <= row["estimate"] <= row["likely_high"]


@pytest.mark.long
def test_the_order_of_runs_and_the_number_of_workers_do_not_matter() -> None:
    made = small(2)
    keys = ["run", "measure"]
    one = fm.predict(made.qrels, made.runs, ["AP", "nDCG@10"], workers=1).sort(keys)
    turned = dict(reversed(list(made.runs.items())))
    for other in (
        fm.predict(made.qrels, turned, ["AP", "nDCG@10"], workers=1),
        fm.predict(made.qrels, made.runs, ["AP", "nDCG@10"], workers=2),
    ):
        assert one.equals(other.sort(keys))


def test_judging_goes_as_deep_as_is_said() -> None:
    """Documents deeper than that count as not relevant: judging no deeper than the pool changes no pooled run."""
    made = small(3, pool_depth=10, unpooled=0)
    exp = fm.Experiment(made.qrels, made.runs, pooled=made.pooled)
    shallow = exp.predict(["P@10", "AP"], to_depth=10).frame
    assert np.abs(shallow["estimate"].to_numpy() - shallow["score"].to_numpy()).max() < 1e-9
    deep = exp.predict("AP", to_depth=60).frame
    deeper = exp.predict("AP", to_depth=90).frame
    found = [widths(frame).mean() for frame in (shallow.filter(measure="AP"), deep, deeper)]
    assert found[0] < found[1] < found[2]


def test_the_depth_of_judging_that_is_assumed() -> None:
    pool = AssumedPool(["x"], 20, 1.0, "", True)
    depths = {"P@10": 20, "P@50": 50, "RBP(p=0.95)": 90, "RBP(p=0.5)": 20, "AP": 100, "nDCG@10": 80, "RR": 100}
    assert {name: suggested_depth(parse_measure(name), pool, 1000) for name in depths} == depths
    assert suggested_depth(parse_measure("AP"), pool, 60) == 60
    # A pool of 5 is checked from 1, 2 and 4, five times as deep as the shallowest; one of 2 only twice as deep.
    cut = {depth: suggested_depth(parse_measure("nDCG@10"), replace(pool, depth=depth), 1000) for depth in (2, 5, 10)}
    assert cut == {2: 10, 5: 25, 10: 50}
    assert suggested_depth(parse_measure("P@10"), AssumedPool(["x"], 20, 1.0, "", False), 1000) == 10


@pytest.mark.long
def test_intervals_cover_the_truth_of_simulated_collections() -> None:
    """Six collections whose truth is known, 95% intervals of means, differences and topics: most of them, and the
    estimate comes closer than the score. Coverage on many more is in docs/trust.md."""
    measures = ["P@10", "nDCG@10", "AP"]
    inside: dict[str, list[float]] = {"means": [], "differences": [], "topics": []}
    errors: dict[str, list[float]] = {"estimate": [], "score": []}
    for seed in range(6):
        made = simulate(systems=10, n_topics=20, n_docs=3000, depth=100, seed=30 + seed, pool_depth=10)
        # What no run has is never judged.
        retrieved = pl.concat([run.select("topic", "doc") for run in made.runs.values()]).unique()
        truth = read_qrels(made.truth.join(retrieved, on=["topic", "doc"]))
        exp = fm.Experiment(made.qrels, made.runs, pooled=made.pooled)
        found = exp.predict(measures, to_depth=100).calibrated
        assert found is not None
        scores = fm.evaluate(truth, made.runs, measures, by_topic=True).filter(pl.col("topic") != "all")
        for name in measures:
            estimate = found[parse_measure(name)]
            of = {(r, t): s for r, t, s in scores.filter(measure=name).select("run", "topic", "score").iter_rows()}
            true = np.array([[of[run, topic] for topic in found.topics] for run in found.runs])
            a, b = np.triu_indices(len(found.runs), 1)
            means, center, mean = estimate.means, estimate.point_means, true.mean(axis=1)
            for what, draws, point, actual in (
                ("means", means, center, mean),
                ("differences", means[:, a] - means[:, b], center[a] - center[b], mean[a] - mean[b]),
                ("topics", estimate.draws, estimate.point, true),
            ):
                low, high = interval(draws, point)
                inside[what].append(float(((actual >= low - 1e-6) & (actual <= high + 1e-6)).mean()))
            errors["estimate"].append(float(((center - mean) ** 2).mean()))
            errors["score"].append(float(((estimate.score.mean(axis=1) - mean) ** 2).mean()))
    assert np.mean(inside["means"]) > 0.85
    assert np.mean(inside["differences"]) > 0.85
    assert np.mean(inside["topics"]) > 0.9
    assert np.sqrt(np.mean(errors["estimate"])) < 0.7 * np.sqrt(np.mean(errors["score"]))


def test_intervals_have_the_level_asked_for() -> None:
    made = small(4)
    exp = fm.Experiment(made.qrels, made.runs)
    wide, narrow = (exp.predict("AP", level=level).frame for level in (0.99, 0.5))
    assert (widths(wide) > widths(narrow)).all()
    assert wide["estimate"].equals(narrow["estimate"])
    with pytest.raises(fm.FathomsError, match="level: expected a number between 0 and 1, found 2"):
        exp.predict("AP", level=2)


def test_how_likely_a_score_is_at_most_some_number() -> None:
    made = small(5)
    found = fm.Experiment(made.qrels, made.runs).predict("AP")
    chances = [found.at_most(x).frame["probability"].to_numpy() for x in (-0.1, 0.1, 0.3, 0.6, 1.1)]
    assert (chances[0] == 0).all()
    assert (chances[-1] == 1).all()
    assert all((b >= a).all() for a, b in pairwise(chances))
    draws = found.draws("AP")
    assert draws.shape == (200, 6, 10)
    row = found.at_most(0.3).frame.filter(topic="all", run="sys2").row(0, named=True)
    assert row["probability"] == pytest.approx((draws[:, 1].mean(axis=1) <= 0.3).mean())


def test_labels_that_know_everything_narrow_the_intervals() -> None:
    made = small(6, systems=4)
    labels = {
        topic: dict(zip(f["doc"], f["grade"].cast(pl.Float64), strict=True))
        for (topic,), f in made.truth.group_by("topic")
    }
    exp = fm.Experiment(made.qrels, made.runs, pooled=made.pooled)
    plain, helped = (exp.predict("AP", to_depth=60, labels=one).frame for one in ((), [labels]))
    assert widths(helped).mean() < 0.7 * widths(plain).mean()


def test_a_collection_with_little_to_learn_from_is_wide_and_says_so() -> None:
    qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 0}}
    runs = {
        "x": {"1": {"a": 3.0, "u": 2.0, "v": 1.0}, "2": {"a": 2.0, "w": 1.0}},
        "y": {"1": {"b": 3.0, "u": 2.0}, "2": {"w": 1.0}},
    }
    result = fm.Experiment(qrels, runs).predict("P@2")
    assert any("could not be checked on this collection" in sentence for sentence in result.sentences)
    assert widths(result.frame).max() > 0.2


def test_lines_by_measure_are_the_sentences_with_the_checks_apart() -> None:
    made = small(7)
    estimates = fm.Experiment(made.qrels, made.runs, pooled=made.pooled).predict(["AP", "nDCG@10", "P@5"]).calibrated
    assert estimates is not None
    lines, sentences = lines_by_measure(estimates, 0.95), calibrated_sentences(estimates, 0.95)
    assert {line.measure for line in lines} == {None, "AP", "nDCG@10", "P@5"}
    assert [line.text for line in lines if line.measure is None] == [
        text for text in sentences if ", checked" not in text
    ]
    for line in lines:
        if line.measure is not None:
            assert line.text.startswith(line.measure)
            check = line.text.removeprefix(line.measure)
            [joined] = [text for text in sentences if text.endswith(check)]
            assert line.measure in joined.removesuffix(check)


def test_nothing_judged_is_an_error_with_a_reason() -> None:
    with pytest.raises(fm.FathomsError, match="nothing to learn from"):
        fm.predict({"1": {"z": 1}}, {"x": {"1": {"a": 1.0}}}, "P@2")


def test_measures_that_cannot_be_drawn_fall_back() -> None:
    made = small(7)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = fm.predict(made.qrels, made.runs, ["AP(variant=c)@10", "AP"], pooled=made.pooled)
    by_measure = {m: (low, e) for m, low, e in frame.select("measure", "likely_low", "estimate").iter_rows()}
    assert by_measure["AP(variant=c)@10"][0] is None
    assert by_measure["AP(variant=c)@10"][1] is not None
    assert by_measure["AP"][0] is not None
    assert any("RM's interpolated, without an interval" in str(one.message) for one in caught)


def test_run_estimates_takes_fewer_draws() -> None:
    made = small(8)
    exp = fm.Experiment(made.qrels, made.runs)
    measure = parse_measure("P@10")
    assert run_estimates(exp, [measure], draws=20)[measure].draws.shape == (20, 6, 10)


@pytest.mark.long
def test_all_methods_are_tried_on_fewer_judgments() -> None:
    """The figure of the plain score is worked out again: contributing runs, judgments cut, truth the whole pool's."""
    made = small(9, pool_depth=20, unpooled=2)
    exp = fm.Experiment(made.qrels, made.runs, pooled=made.pooled)
    found = exp.predict(["AP", "P@10"], "all")
    assert found.checks_depth == 5
    runs = {name: made.runs[name] for name in made.pooled}
    cut = exp.pool(depth=5).qrels
    now, then = (fm.evaluate(qrels, runs, "AP", by_topic=True) for qrels in (cut, made.qrels))
    both = now.join(then.select("run", "topic", truth="score"), on=["run", "topic"]).filter(pl.col("topic") != "all")
    error = np.sqrt(np.mean((both["score"].to_numpy() - both["truth"].to_numpy()) ** 2))
    assert found.checks["AP"]["the plain score"].error == pytest.approx(error)
    assert found.checks["AP"]["simplistic"].error == pytest.approx(error)
    said = next(sentence for sentence in found.sentences if sentence.startswith("AP: trust"))
    best = min(found.checks["AP"], key=lambda method: found.checks["AP"][method].error)
    assert said.startswith(f"AP: trust {best} (")
    assert exp.predict("AP").checks == {}


@pytest.mark.long
def test_eval_shows_the_likely_interval_if_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = small(10)
    write(made, tmp_path)
    files = (tmp_path / "qrels.txt", tmp_path / "runs")
    assert run_cli("eval", *files, "-m", "AP", "-m", "NumRet", "--likely", "--format", "tsv") == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert lines[0][-5:] == ["estimate", "likely_low", "likely_high", "combined_low", "combined_high"]
    expected = {(r, m): e for r, m, e in fm.predict(*files, "AP").select("run", "measure", "estimate").iter_rows()}
    for line in lines[1:]:
        if line[2] == "AP":
            assert float(line[-5]) == pytest.approx(expected[line[0], "AP"])
        else:
            assert line[-5:] == [""] * 5
    assert run_cli("eval", *files, "-m", "AP", "--likely") == 0
    assert "likely_high" in capsys.readouterr().out
    assert run_cli("eval", *files, "-m", "AP", "--likely", "--format", "latex") == 2


def test_predict_sampled_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sample is drawn, judged and estimated from; estimates and their intervals lie in the possible range."""
    made = small(11)
    write(made, tmp_path)
    runs, design = tmp_path / "runs", tmp_path / "design.tsv"
    assert run_cli("pool", runs, "--sample", 120, "--design", "depth", "--depth", 30, "-o", design) == 0
    truth = {tuple(row[:2]): row[2] for row in made.truth.select("topic", "doc", "grade").iter_rows()}
    rows = [line.split("\t") for line in design.read_text().splitlines()[1:]]
    judged = [f"{t} 0 {d} {truth[t, d]}\n" for t, d, *_, sampled in rows if sampled == "1"]
    (tmp_path / "judged.txt").write_text("".join(judged))
    capsys.readouterr()
    words = ("predict", tmp_path / "judged.txt", runs, "-m", "P@10", "-m", "AP", "--sampled", design)
    assert run_cli(*words, "--format", "tsv") == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == list(fm.Experiment(made.qrels, made.runs).predict("AP").columns)
    assert {line[6] for line in lines[1:]} == {"sampled", "assisted"}
    for line in lines[1:]:
        low, high = float(line[4]), float(line[5])
        estimate, first, last = (float(cell) for cell in line[7:])
        assert low - 1e-9 <= first <= last <= high + 1e-9
        assert low - 1e-9 <= estimate <= high + 1e-9
    assert run_cli(*words) == 0
    assert "assisted" in capsys.readouterr().out
    assert run_cli(*words, "--method", "fusion") == 2
    assert "--sampled has no use for --method" in capsys.readouterr().err


# -- how the judged documents were chosen ---------------------------------------------------------------------


def alone(seed: int) -> tuple[Any, Any, dict[str, Any]]:
    """Judgments of a pool of other teams, all judgments, and a run that did not contribute."""
    made = simulate(systems=12, n_topics=20, n_docs=3000, depth=100, seed=seed, max_grade=1)
    name = sorted(made.runs)[seed % 12]
    others = [run for run in made.runs if made.groups[run] != made.groups[name]]
    truth = read_qrels(made.truth)
    exp = fm.Experiment(truth, {run: made.runs[run] for run in (*others, name)})
    exp.prepare()
    by_others, by_all = (judged_depths(map(exp.ranked, runs), truth) for runs in (others, [*others, name]))
    return truth.keep(by_others <= 15), truth.keep(by_all <= 15), {name: made.runs[name]}


@pytest.mark.long
def test_a_run_given_alone_is_not_taken_for_a_sample() -> None:
    """What other runs found is judged; what they did not find is less often relevant. So the estimate is nearer to the
    score than the model thinks, and nearer to the truth than the score; and the output says so."""
    measure, errors, inside = parse_measure("P@10"), [], []
    for seed in range(8):
        known, truth, run = alone(seed)
        result = fm.Experiment(known, run).predict("P@10", to_depth=15)
        found = result.calibrated
        assert found is not None
        assert found.selection.name == "selected"
        assert found.selection.share == pytest.approx(0.3, abs=0.15)
        assert any(
            "Some judged documents seem to come from runs that are not given here" in sentence
            for sentence in result.sentences
        )
        actual = fm.evaluate(truth, run, "P@10")["score"][0]
        low, high = interval(found[measure].means, found[measure].point_means)
        inside.append(low[0] - 1e-9 <= actual <= high[0] + 1e-9)
        errors.append((found[measure].point_means[0] - actual, found[measure].score.mean() - actual))
    estimate, score = np.sqrt(np.mean(np.square(errors), axis=0))
    assert estimate < score
    assert sum(inside) >= 6


def test_a_random_sample_is_taken_at_its_word() -> None:
    made = simulate(systems=6, n_topics=20, n_docs=2000, depth=60, seed=3, max_grade=1)
    retrieved = pl.concat([run.select("topic", "doc") for run in made.runs.values()]).unique()
    truth = made.truth.join(retrieved, on=["topic", "doc"])
    few = truth.sample(300, seed=1)
    exp = fm.Experiment(few, made.runs)
    found = exp.predict(["P@10", "AP"], to_depth=60).calibrated
    assert found is not None
    assert (found.selection.name, found.selection.share) == ("sampled", 1.0)
    whole = fm.evaluate(truth, made.runs, "P@10")
    actual = dict(zip(whole["run"], whole["score"], strict=True))
    estimate = found[parse_measure("P@10")]
    off = estimate.point_means - np.array([actual[run] for run in found.runs])
    plain = estimate.score.mean(axis=1) - np.array([actual[run] for run in found.runs])
    assert np.sqrt(np.mean(off**2)) < 0.4 * np.sqrt(np.mean(plain**2))


def test_a_pool_whose_runs_are_all_given_has_no_discount() -> None:
    made = small(12, pool_depth=10, unpooled=0)
    found = fm.Experiment(made.qrels, made.runs, pooled=made.pooled).predict("AP", to_depth=40)
    assert found.calibrated is not None
    assert (found.calibrated.selection.name, found.calibrated.selection.discount) == ("pooled", 1.0)
    some = {name: made.runs[name] for name in sorted(made.runs)[:2]}
    fewer = fm.Experiment(made.qrels, some, pooled=list(some)).predict("AP", to_depth=40).calibrated
    assert fewer is not None
    assert fewer.selection.discount < 1.0  # beyond its depth some are judged that others had further up


# -- the collection's own check -----------------------------------------------------------------------------------


def missing(*shares: float, runs: int = 8, topics: int = 30) -> list[Misses]:
    """Hidden parts in which this share of the runs' means would be covered; others would be at twice the width."""
    parts_ = []
    for share in shares:
        means = np.where(np.arange(runs) < share * runs, 0.5, 2.0)
        still = np.full((runs, topics), 0.5)
        parts_.append(Misses(means, np.empty(0), still, np.ones((runs, topics), dtype=bool), 0.0))
    return parts_


@pytest.mark.parametrize(
    ("shares", "fails"),
    [
        ((0.0,), False),  # eight runs on one hidden part are one case
        ((0.0, 0.125), True),
        ((0.25, 0.25, 0.0), True),  # 17% of means
        ((0.875, 0.75, 0.75), False),
        ((1.0, 1.0, 0.0), False),
        ((1.0, 1.0, 0.0, 0.0, 1.0, 0.0), True),
    ],
)
def test_intervals_of_means_fail_by_hidden_parts_and_not_by_runs(shares: tuple[float, ...], fails: bool) -> None:
    found = margins(missing(*shares))
    assert (found.of_means > 1) == fails
    assert found.of_topics == 1
    assert found.of_means <= 2.2  # no wider than it takes


def test_failed_intervals_are_widened_until_they_hold() -> None:
    """All runs are off by the same amount in every hidden part, which no sum of independent errors has."""

    def shifted(seed: int) -> Case:
        made = case(seed, 0.9, 0.9, 1.0)
        return Case(made.predicted, made.truth + 0.2 * (-1) ** seed)

    measure = parse_measure("P@10")
    calibration = calibrate([shifted(seed) for seed in range(6)])
    check = self_check(calibration, measure)
    assert check is not None
    assert check.failed
    fresh = shifted(99)
    drawn = calibration.draws(fresh.predicted, 0)
    point = calibration.point(fresh.predicted, drawn)
    wider = check.margins(drawn)
    assert np.allclose(wider.mean(axis=0), drawn.mean(axis=0))
    truth, center = fresh.truth.mean(axis=1), point.mean(axis=1)
    for draws, covers in ((drawn, False), (wider, True)):
        low, high = interval(draws.mean(axis=2), center)
        assert ((truth >= low) & (truth <= high)).all() == covers
    sound = self_check(calibrate([case(seed, 0.9, 0.9, 1.0) for seed in range(6)]), measure)
    assert sound is not None
    assert (sound.failed, sound.too_few, sound.parts, sound.topics) == (False, False, 6, 40)


# -- names do not matter ------------------------------------------------------------------------------------------


@pytest.mark.long
def test_names_of_runs_change_no_estimate(simulated: Callable[..., Path]) -> None:
    """Lots are drawn by what runs rank, so other names, in any order, give the same figures to the last bit."""
    folder = simulated(systems=5, n_topics=12, n_docs=300, depth=40, pool_depth=8, seed=3)
    runs = dict(fm.read_runs(folder / "runs").items())
    other = dict(zip(runs, ["m", "z", "a", "k", "b"], strict=True))
    renamed = {other[name]: replace(run, name=other[name]) for name, run in reversed(runs.items())}
    first, second = (fm.Experiment(folder / "qrels.txt", given) for given in (runs, renamed))
    columns = ["estimate", "likely_low", "likely_high"]
    for measure in ("AP", "nDCG@10"):
        rows = {row[0]: row[1:] for row in first.predict(measure).frame.select("run", *columns).rows()}
        again = {row[0]: row[1:] for row in second.predict(measure).frame.select("run", *columns).rows()}
        assert {other[name]: row for name, row in rows.items()} == again
    ranks = first.rank("AP").frame, second.rank("AP").frame
    likely = [column for column in ranks[0].columns if "likely" in column]
    assert likely
    by_name = [{row[0]: row[1:] for row in frame.select("run", *likely).rows()} for frame in ranks]
    assert {other[name]: row for name, row in by_name[0].items()} == by_name[1]
    baseline, candidate = list(runs)[:2]
    gates = [
        fm.gate(folder / "qrels.txt", runs[baseline], runs[candidate], "AP"),
        fm.gate(folder / "qrels.txt", renamed[other[baseline]], renamed[other[candidate]], "AP"),
    ]
    columns = [name for name, dtype in gates[0].frame.schema.items() if dtype == pl.Float64]
    assert columns
    assert gates[0].frame.select(columns).rows() == gates[1].frame.select(columns).rows()


@pytest.mark.parametrize("name", ["P@10", "P(rel=2)@5", "Success@5", "RR@10", "RR"])
def test_intervals_of_topics_end_on_scores_that_a_topic_can_have(name: str) -> None:
    made = fm.simulate(systems=4, n_topics=12, n_docs=400, depth=40, pool_depth=4, max_grade=2, seed=3)
    found = fm.predict(made.qrels, made.runs, name, by_topic=True).filter(pl.col("topic") != "all")
    k = int(name.partition("@")[2] or 400)
    of_kind = {"P": [i / k for i in range(k + 1)], "S": [0.0, 1.0], "R": [0.0, *(1 / i for i in range(1, k + 1))]}
    can_be = of_kind[name[0]]
    for low, estimate, high in found.select("likely_low", "estimate", "likely_high").iter_rows():
        assert min(abs(low - value) for value in can_be) < 1e-12
        assert min(abs(high - value) for value in can_be) < 1e-12
        assert low - 1e-9 <= estimate <= high + 1e-9
    assert found["likely_low"].n_unique() + found["likely_high"].n_unique() > 2
