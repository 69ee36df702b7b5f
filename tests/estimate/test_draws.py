"""Draws of relevance against plain enumeration of every way to judge a small collection."""

from __future__ import annotations

import dataclasses
import itertools
import math
from functools import cache

import numpy as np
import pytest

import fathoms as fm
from fathoms.data.qrels import JUDGED
from fathoms.estimate.distribution import Moments, mean_of_topics
from fathoms.estimate.distribution import confidence as normal_confidence
from fathoms.estimate.logistic import Normal, fit_logistic
from fathoms.estimate.probabilities import RelevanceProbabilities, relevance_probabilities
from fathoms.estimate.score_draws import SAMPLES, SampledJudgments, drawn_scores, pairs
from fathoms.evidence.align import Alignment
from fathoms.evidence.candidates import candidates
from fathoms.evidence.evidence import Floats
from fathoms.measures.parse import parse_measure
from fathoms.questions.predict.expected_scores import expected_score
from tests.support import slow

Q = {"1": {"a": 2, "b": 0, "z": 1}, "2": {"a": 0, "c": 1, "d": 1}}
RUNS = {
    "x": {"1": ["a", "e", "b", "f", "g"], "2": ["e", "c", "f"]},
    "y": {"1": ["e", "g", "a", "h"], "2": ["d", "g", "a", "e", "c"]},
    "w": {"1": ["b", "f"], "2": ["g", "f", "d"]},
}
CHANCE = {("1", "e"): 0.7, ("1", "f"): 0.2, ("1", "g"): 0.45, ("1", "h"): 0.05} | {
    ("2", "e"): 0.5,
    ("2", "f"): 0.3,
    ("2", "g"): 0.9,
}
GRADES = {1: 0.75, 2: 0.25}  # of the four judged relevant documents three have grade 1
NAMES = list(RUNS)
MEASURES = [
    "P@3",
    "RBP(p=0.8)",
    "RBP(p=0.8,gain=linear)@4",
    "AP",
    "AP@3",
    "AP(rel=2)",
    "nDCG@3",
    "nDCG(gain=exp)",
    "RR",
    "ERR@4",
    "nERR@4",
    "Q@4",
    "Q",
    "R@3",
    "INST(T=2)@4",
    "DCG@4",
    "Rprec",
    "Bpref",
]


def scored(rankings: dict[str, dict[str, list[str]]]) -> dict[str, dict[str, dict[str, float]]]:
    return {
        name: {topic: {doc: -float(i) for i, doc in enumerate(docs)} for topic, docs in run.items()}
        for name, run in rankings.items()
    }


@cache
def small() -> RelevanceProbabilities:
    """The collection with probabilities set by hand."""
    qrels, runs = fm.read_qrels(Q), fm.read_runs(scored(RUNS))
    found = relevance_probabilities(fm.Experiment(qrels, runs), "fusion")
    documents = [document.decode() for document in found.candidates.documents]
    topics = [found.candidates.topics[i] for i in found.candidates.topic]
    keys = list(zip(topics, documents, strict=True))
    assert sum(key in CHANCE for key in keys) == len(CHANCE) == (~found.judged).sum()
    p = [CHANCE.get(key, float(old)) for key, old in zip(keys, found.probability, strict=True)]
    return RelevanceProbabilities(qrels, found.candidates, found.codes, np.array(p), [])


@cache
def every_way(measure: str, topic: str) -> tuple[list[float], list[dict[str, float]]]:
    """Each way to judge a topic's unjudged documents: its probability, and the score of each run by plain loops."""
    unknown = [doc for t, doc in CHANCE if t == topic]
    weights: list[float] = []
    scores: list[dict[str, float]] = []
    for grades in itertools.product([0, *GRADES], repeat=len(unknown)):
        known = Q[topic] | dict(zip(unknown, grades, strict=True))
        chance = [CHANCE[topic, doc] for doc in unknown]
        weights.append(math.prod(p * GRADES[g] if g else 1 - p for p, g in zip(chance, grades, strict=True)))
        scores.append({})
        for name, run in RUNS.items():
            ranking = tuple(slow.Doc(known[doc], group) for group, doc in enumerate(run[topic]))
            outside = tuple(slow.Doc(grade) for doc, grade in known.items() if doc not in run[topic])
            scores[-1][name] = slow.value(measure, slow.Case(ranking, outside, 2))
    return weights, scores


def mean_and_sd(measure: str, topic: str, name: str) -> tuple[float, float]:
    weights, scores = every_way(measure, topic)
    mean = sum(w * score[name] for w, score in zip(weights, scores, strict=True))
    square = sum(w * score[name] ** 2 for w, score in zip(weights, scores, strict=True))
    return mean, math.sqrt(max(square - mean**2, 0.0))


DRAWS = 8000


@cache
def drawn(measure: str) -> Floats:
    parsed = fm.parse_measure(measure)
    return drawn_scores(small(), NAMES, [parsed], DRAWS, seed=3)[parsed]


def test_the_enumeration_is_one() -> None:
    weights, _ = every_way("P@3", "1")
    assert len(weights) == 3**4
    assert sum(weights) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("measure", MEASURES)
def test_mean_and_spread_are_those_of_all_judgments(measure: str) -> None:
    found = drawn(measure)
    for t, topic in enumerate(Q):
        for s, name in enumerate(NAMES):
            mean, sd = mean_and_sd(measure, topic, name)
            assert abs(found[:, s, t].mean() - mean) <= 4 * sd / math.sqrt(DRAWS) + 1e-12
            assert found[:, s, t].std() == pytest.approx(sd, rel=0.1, abs=1e-7)


@pytest.mark.parametrize("measure", MEASURES)
def test_confidence_is_that_of_all_judgments(measure: str) -> None:
    found = pairs(fm.parse_measure(measure), drawn(measure))
    (first, scores_1), (second, scores_2) = (every_way(measure, topic) for topic in Q)
    weight = np.outer(first, second)
    for a, b in itertools.permutations(range(len(NAMES)), 2):
        d1 = np.array([score[NAMES[a]] - score[NAMES[b]] for score in scores_1])
        d2 = np.array([score[NAMES[a]] - score[NAMES[b]] for score in scores_2])
        difference = (d1[:, None] + d2) / 2
        chance = weight[difference > 1e-9].sum() + 0.5 * weight[np.abs(difference) <= 1e-9].sum()
        assert abs(found.p_better[a, b] - chance) <= 4 * found.mc_error[a, b]
        mean = (weight * difference).sum()
        sd = math.sqrt(max((weight * difference**2).sum() - mean**2, 0.0))
        assert abs(found.diff[a, b] - mean) <= 4 * sd / math.sqrt(DRAWS) + 1e-12
        assert found.sd[a, b] == pytest.approx(sd, rel=0.1, abs=1e-7)


def test_draws_depend_on_seed_and_number_alone() -> None:
    measures = [fm.parse_measure(name) for name in ("AP", "nDCG@3", "RR")]
    whole = drawn_scores(small(), NAMES, measures, 60, seed=1)
    for cells in (1, 37, 10**7):
        again = drawn_scores(small(), NAMES[::-1], measures, 60, seed=1, cells=cells)
        for measure in measures:
            np.testing.assert_array_equal(again[measure][:, ::-1], whole[measure])
    fewer = drawn_scores(small(), ["y"], measures[:1], 20, seed=1)
    np.testing.assert_array_equal(fewer[measures[0]][:, 0], whole[measures[0]][:20, 1])
    other = drawn_scores(small(), NAMES, measures, 60, seed=2)
    assert (other[measures[0]] != whole[measures[0]]).any()


def test_a_document_is_relevant_for_all_systems_or_for_none() -> None:
    """P@1 of two systems with the same first document never differ, and R counts each document once."""
    q = {"1": {"z": 1}}
    runs = scored({"x": {"1": ["a", "b"]}, "y": {"1": ["a", "c"]}})
    found = relevance_probabilities(fm.Experiment(q | {"2": {"b": 1}}, runs | scored({"w": {"2": ["b"]}})), "fusion")
    first = fm.parse_measure("P@1")
    scores = drawn_scores(found, ["x", "y"], [first], 200)[first]
    np.testing.assert_array_equal(scores[:, 0], scores[:, 1])
    assert 0 < scores[:, 0, 0].mean() < 1
    codes, counts = SampledJudgments(found, 0).draw(0, 200)
    relevant = codes[:, :-1] > JUDGED
    of_topic = found.candidates.topic == 0
    np.testing.assert_array_equal(counts[:, 0, 1:].sum(axis=1), 1 + relevant[:, of_topic].sum(axis=1))
    np.testing.assert_array_equal(counts.sum(axis=(1, 2)), 2 + int((~found.judged).sum()))


def test_a_share_of_draws_never_looks_certain() -> None:
    found = pairs(fm.parse_measure("P@1"), np.ones((100, 2, 3)) * np.array([1.0, 0.0])[:, None])
    assert found.p_better[0, 1] == 1
    assert found.p_better[1, 0] == 0
    assert found.p_better[0, 0] == 0.5
    assert found.mc_error[0, 1] == pytest.approx(math.sqrt(101 / 102 * 1 / 102 / 102))


def test_what_is_not_drawn_is_said() -> None:
    with pytest.raises(fm.FathomsError, match="pool of depth k"):
        drawn_scores(small(), NAMES, [fm.parse_measure("AP(variant=c)@3")], 5)


# -- closed forms ---------------------------------------------------------------------------------------------


def closed(measure: str) -> Floats:
    """[run, topic]"""
    found, parsed = small(), fm.parse_measure(measure)
    align = Alignment(found.qrels)
    runs = fm.read_runs(scored(RUNS))
    return np.stack([expected_score(parsed, align(runs[name]).evidence, found, name) for name in NAMES])


@pytest.mark.parametrize(
    "measure", ["P@3", "RBP(p=0.8)", "RBP(p=0.8,gain=linear)@4", "RR", "RR(rel=2)", "ERR@4", "DCG@4", "SDCG@3"]
)
def test_expected_scores_are_exact(measure: str) -> None:
    expected = [[mean_and_sd(measure, topic, name)[0] for topic in Q] for name in NAMES]
    np.testing.assert_allclose(closed(measure), expected, atol=1e-12)


@pytest.mark.parametrize("rel", [1, 2])
def test_expected_AP_divides_expectations(rel: int) -> None:
    """E[S] / E[R] (RTC section 2.1), R over the documents of all runs, by enumeration and by `Moments`."""
    for s, name in enumerate(NAMES):
        for t, topic in enumerate(Q):
            unknown = [doc for where, doc in CHANCE if where == topic]
            weights, _ = every_way("P@3", topic)
            S = R = 0.0
            for weight, grades in zip(weights, itertools.product([0, *GRADES], repeat=len(unknown)), strict=True):
                known = Q[topic] | dict(zip(unknown, grades, strict=True))
                hits = [known[doc] >= rel for doc in RUNS[name][topic]]
                S += weight * sum(sum(hits[: i + 1]) / (i + 1) for i, hit in enumerate(hits) if hit)
                R += weight * sum(grade >= rel for grade in known.values())
            assert closed(f"AP(rel={rel})")[s, t] == pytest.approx(S / R, abs=1e-12)


def of_pool(measure: str, found: RelevanceProbabilities) -> Floats:
    """[run, topic], where only x and y contributed to the pool."""
    exp, parsed = fm.Experiment(found.qrels, scored(RUNS), pooled=["x", "y"]), fm.parse_measure(measure)
    align = exp.alignment([parsed], [])
    return np.stack([expected_score(parsed, exp.align(n, align).evidence, found, n, ["x", "y"]) for n in NAMES])


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_only_the_pool_joins_R_k(k: int) -> None:
    """E[S] / E[R_k]: of the unjudged documents only those in the top k of x or y count below the line."""
    found = small()
    for s, name in enumerate(NAMES):
        for t, topic in enumerate(Q):
            pool = {doc for run in ("x", "y") for doc in RUNS[run][topic][:k]}
            unknown = [doc for where, doc in CHANCE if where == topic]
            S = R = 0.0
            for weight, grades in zip(
                every_way("P@3", topic)[0], itertools.product([0, *GRADES], repeat=len(unknown)), strict=True
            ):
                known = Q[topic] | dict(zip(unknown, grades, strict=True))
                hits = [known[doc] > 0 for doc in RUNS[name][topic][:k]]
                S += weight * sum(sum(hits[: i + 1]) / (i + 1) for i, hit in enumerate(hits) if hit)
                R += weight * sum(known.get(doc, 0) > 0 for doc in pool)
            assert of_pool(f"AP(variant=c)@{k}", found)[s, t] == pytest.approx(S / R if R else 0.0, abs=1e-12)


@pytest.mark.parametrize(
    "measure",
    [
        "AP(variant=c)@{k}",
        "nDCG(variant=b,gain=binary)@{k}",
        "Q(variant=c,gain=binary)@{k}",
        "Q(ideal=ii,gain=binary)@{k}",
        "Q(variant=c,ideal=ii,gain=binary)@{k}",
    ],
)
def test_a_sure_expectation_is_the_score_with_these_judgments(measure: str) -> None:
    rng = np.random.default_rng(4)
    q = {topic: {doc: min(grade, 1) for doc, grade in known.items()} for topic, known in Q.items()}
    for k in (1, 2, 3, 5):
        name = measure.format(k=k)
        for _ in range(5):
            found = relevance_probabilities(fm.Experiment(q, scored(RUNS)), "fusion")
            sure = np.where(found.judged, found.probability, rng.integers(0, 2, len(found.probability)))
            found = dataclasses.replace(found, probability=sure.astype(np.float64))
            complete = {topic: dict(known) for topic, known in q.items()}
            for topic, doc, value in zip(
                found.candidates.topic.tolist(), found.candidates.documents.tolist(), sure.tolist(), strict=True
            ):
                complete[found.candidates.topics[topic]][doc.decode()] = int(value)
            frame = fm.evaluate(complete, scored(RUNS), name, by_topic=True, pooled=["x", "y"])
            expected = frame.filter(frame["topic"] != "all")["score"].to_numpy().reshape(len(NAMES), len(Q))
            np.testing.assert_allclose(of_pool(name, found), expected, atol=1e-12, err_msg=name)


def test_expected_AP_is_that_of_moments() -> None:
    """Where no judged relevant document is outside the runs, the two count the same R."""
    q = {topic: {doc: grade for doc, grade in known.items() if doc != "z"} for topic, known in Q.items()}
    qrels, runs = fm.read_qrels(q), fm.read_runs(scored(RUNS))
    found = relevance_probabilities(fm.Experiment(qrels, runs), "fusion")
    block = found.candidates.block()
    moments = Moments(block, np.append(found.probability, 0.0)[block.number])
    align = Alignment(qrels)
    measure = fm.parse_measure("AP")
    mine = np.stack([expected_score(measure, align(runs[name]).evidence, found, name) for name in NAMES])
    np.testing.assert_allclose(mine.T, moments.expectation, atol=1e-12)


# -- the normal approximation of AP ---------------------------------------------------------------------------


def spread(found: RelevanceProbabilities) -> tuple[Floats, Floats, Floats, Floats]:
    """Expected MAP and P(a better than b), by moments and by draws."""
    block = found.candidates.block()
    moments = Moments(block, np.append(found.probability, 0.0)[block.number])
    expectation, covariance = mean_of_topics(moments)
    measure = fm.parse_measure("AP")
    scores = drawn_scores(found, found.candidates.names, [measure], 4000)[measure]
    return (
        expectation,
        normal_confidence(expectation, covariance),
        scores.mean(axis=(0, 2)),
        pairs(measure, scores).p_better,
    )


@pytest.mark.long
def test_with_many_relevant_documents_the_normal_approximation_holds() -> None:
    made = fm.simulate(systems=5, n_topics=25, depth=100, pool_depth=10, seed=1)
    found = relevance_probabilities(fm.Experiment(made.qrels, made.runs), "fusion")
    assert (found.counts[:, 1:].sum(axis=1) + found.expected_more).min() > 4
    expectation, normal, mean, drawn = spread(found)
    np.testing.assert_allclose(expectation, mean, atol=0.005)
    np.testing.assert_allclose(normal, drawn, atol=0.03)


def test_with_few_it_does_not() -> None:
    """One document, relevant with probability 0.1: AP is 1 or 0, 0.1 on average; E[S] / E[R] is 1."""
    q = {"1": {"b": 0}}
    runs = fm.read_runs(scored({"x": {"1": ["a", "b"]}, "y": {"1": ["b", "a"]}}))
    found = candidates(runs, None, "trec", "float32", ["1"])
    one = RelevanceProbabilities(
        fm.read_qrels(q), found, np.array([1, JUDGED], dtype=np.int16), np.array([0.1, 0.0]), []
    )
    expectation, _, mean, drawn = spread(one)
    np.testing.assert_allclose(expectation, [1.0, 0.5])
    np.testing.assert_allclose(mean, [0.1, 0.05], atol=4 * math.sqrt(0.09 / 4000))
    assert abs(drawn[0, 1] - 0.55) < 4 * math.sqrt(0.09 / 4000)  # a tie unless the document is relevant


def test_the_models_own_uncertainty_is_drawn_too() -> None:
    """Few judgments leave coefficients uncertain: differences spread more than with probabilities taken for given."""
    made = fm.simulate(systems=5, n_topics=8, n_docs=400, depth=40, seed=6)
    few = fm.read_qrels(made.qrels)
    few = few.keep(np.arange(len(few)) % 12 == 0)
    runs = fm.read_runs(made.runs)
    sampled = relevance_probabilities(fm.Experiment(few, runs), "fusion", samples=SAMPLES, seed=1)
    assert sampled.samples.shape == (SAMPLES, len(sampled.candidates))
    given = relevance_probabilities(fm.Experiment(few, runs), "fusion")
    np.testing.assert_array_equal(sampled.probability, given.probability)
    assert (sampled.samples[:, sampled.judged] == sampled.probability[sampled.judged]).all()
    middle = np.median(sampled.samples[:, ~sampled.judged], axis=0)  # the logit is symmetric, so its median stays
    assert np.abs(middle - sampled.probability[~sampled.judged]).mean() < 0.02
    measure = parse_measure("AP")
    names = sampled.candidates.names
    spread = [
        pairs(measure, drawn_scores(one, names, [measure], 400, 3)[measure], max(1, len(one.samples)))
        for one in (sampled, given)
    ]
    above = np.triu_indices(len(names), 1)
    assert (spread[0].sd[above] > 1.2 * spread[1].sd[above]).all()
    assert (spread[0].mc_error[above] >= 0.99 * spread[1].mc_error[above]).mean() > 0.5


def test_samples_of_a_fit_have_its_covariance() -> None:
    rng = np.random.default_rng(0)
    X, topic = rng.normal(size=(80, 3)), rng.integers(0, 5, 80)
    y = (rng.random(80) < 0.4).astype(float)
    prior = Normal(np.zeros(3), np.ones(3))
    fit = fit_logistic(X, y, prior, np.zeros(3), topic=topic, n_topics=5, effect_precision=2.0)
    coefficients, effects = fit.samples(200_000, rng)
    both = np.concatenate([coefficients, effects], axis=1)
    directions = np.eye(8)
    expected = fit.covariance(directions[:, :3], directions[:, 3:])
    np.testing.assert_allclose(np.cov(both.T), expected, atol=0.02 * expected.max())
    np.testing.assert_allclose(both.mean(axis=0), np.concatenate([fit.coefficients, fit.effects]), atol=0.01)
