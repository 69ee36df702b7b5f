"""Probabilities of relevance: each fit against scipy's maximiser, and what must hold where judgments are few or odd."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit, logit

from fathoms.estimate.logistic import LogitBeta, Normal, fit_logistic
from fathoms.estimate.relevance import (
    CLOSEST_TO_PAPER,
    LITERAL,
    UNCERTAIN,
    Eq2Variant,
    Experts,
    Fusion,
    Model,
    calibrate,
    rank_probabilities,
)
from fathoms.evidence.candidates import Block
from tests.estimate.test_distribution import gather
from tests.measures.test_invariants import FEW
from tests.support import slow_rtc as slow

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

READINGS = {"literal": LITERAL, "closest": CLOSEST_TO_PAPER, "uncertain": UNCERTAIN}


def experts(reading: Eq2Variant) -> Callable[[Block, Floats | None], Model]:
    return lambda block, labels: Experts(block, labels=labels, reading=reading)


MODELS: dict[str, Callable[[Block, Floats | None], Model]] = {
    "fusion": lambda block, labels: Fusion(block, labels),
    **{name: experts(reading) for name, reading in READINGS.items()},
}


def world(rng: np.random.Generator, k: int = 3, n_topics: int = 4, n: int = 14, depth: int = 8) -> tuple[Block, Bools]:
    """Rankings that prefer relevant documents, and which documents are relevant, as a block's array."""
    truth = rng.random((n_topics, n)) < rng.uniform(0.2, 0.6, (n_topics, 1))
    systems = []
    for noise in rng.uniform(0.3, 1.5, k):
        seen = rng.normal(0, noise, truth.shape) - truth
        systems.append([[int(doc) for doc in row[: rng.integers(2, depth + 1)]] for row in np.argsort(seen, axis=1)])
    found = gather(systems)
    block = found.block()
    relevant = np.zeros(block.number.shape, dtype=bool)
    for (t, column), number in np.ndenumerate(block.number):
        if number >= 0:
            relevant[t, column] = truth[t, int(bytes(found.documents[number]).split(b"-")[1])]
    return block, relevant


def some(rng: np.random.Generator, block: Block, share: float) -> Bools:
    """Judged documents, none in the first topic."""
    judged = block.present & (rng.random(block.number.shape) < share)
    judged[0] = False
    return judged


# Ranks to probabilities


@FEW
@given(st.integers(0, 30), st.integers(0, 60), st.integers(1, 25))
def test_rank_probabilities_maximise_the_likelihood(relevant: int, other: int, depth: int) -> None:
    found = rank_probabilities(relevant, other, depth)
    np.testing.assert_allclose(found, slow.rank_probabilities(relevant, other, depth), atol=1e-9)
    theta = logit(found)
    best = slow.preference_posterior(theta, relevant, other)
    for r in range(depth):
        for step in (-0.01, 0.01):
            assert slow.preference_posterior(theta + step * np.eye(depth)[r], relevant, other) < best


@FEW
@given(st.integers(0, 400), st.integers(0, 400), st.integers(1, 400))
def test_rank_probabilities_fall_and_have_the_mean(relevant: int, other: int, depth: int) -> None:
    found = rank_probabilities(relevant, other, depth)
    assert found.shape == (depth,)
    assert (np.diff(found) <= 0).all()  # past 36 on theta's scale they are 1 but for rounding
    assert (np.diff(found[found < 1 - 1e-9]) < 0).all()
    assert found.min() > 0
    assert found.mean() == pytest.approx((relevant + 1) / (relevant + other + 2), abs=1e-10 if depth <= 128 else 1e-5)


@pytest.mark.parametrize(("relevant", "other", "depth"), [(0, 0, 300), (5, 20, 300), (0, 200, 300), (200, 3, 129)])
def test_rank_probabilities_by_quadrature(relevant: int, other: int, depth: int) -> None:
    found = rank_probabilities(relevant, other, depth)
    np.testing.assert_allclose(found, slow.rank_probabilities(relevant, other, depth), atol=1e-4)


def test_rank_probabilities_of_a_thousand_ranks() -> None:
    found = rank_probabilities(3, 10, 1000)
    np.testing.assert_allclose(found, slow.rank_probabilities(3, 10, 1000, start=logit(found)), atol=1e-4)


# Calibration


@FEW
@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-3, 0.1]))
def test_calibration_is_platts(seed: int, ridge: float) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(0, 25)), 4
    reported = rng.random((n, k)) ** rng.uniform(0.3, 3)
    has_opinion = rng.random((n, k)) < [1.0, 0.6, 0.1, 0.0]
    reported[~has_opinion] = 0.0
    relevant = rng.random(n) < reported[:, 0] if n and rng.random() < 0.7 else np.full(n, rng.random() < 0.5)
    A, B = calibrate(reported, relevant, has_opinion, ridge)
    for j in range(k):
        has = has_opinion[:, j]
        data = (reported[has, j].tolist(), relevant[has].tolist(), ridge)
        best = slow.calibrated(*data)
        assert slow.platt(*data)(A[j], B[j]) <= slow.platt(*data)(*best) + 1e-7
        np.testing.assert_allclose([A[j], B[j]], best, rtol=2e-3, atol=2e-3)
    assert A[3] == B[3] == 0  # no judged document: 1/2 for everything


@pytest.mark.parametrize("width", [1.0, 0.1, 0.01])
@pytest.mark.parametrize("n", [4, 40, 120])
def test_calibration_of_separable_judgments(width: float, n: int) -> None:
    """All relevant documents reported above all others, in a narrow band: the hardest case for Newton's method."""
    reported = 0.5 + width * (np.arange(n) / (n - 1) - 0.5)
    relevant = np.arange(n) >= n // 2
    A, B = calibrate(reported[:, None], relevant, np.ones((n, 1), dtype=bool), 1e-3)
    data = (reported.tolist(), relevant.tolist(), 1e-3)
    best = slow.platt(*data)(*slow.calibrated(*data))
    assert slow.platt(*data)(float(A[0]), float(B[0])) <= best + 1e-6 * (1 + abs(best))


# Logistic regression


def regression(seed: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(30, 3)), np.ones(30)])
    y = (rng.random(30) < expit(X @ rng.normal(size=4))).astype(np.float64)
    return X, y, rng.integers(0, 5, 30)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weight", [1.0, 100.0])
def test_beta_prior_equals_scipy(seed: int, intercept: bool, weight: float) -> None:
    X, y, topic = regression(seed)
    prior = LogitBeta(weight, intercept)
    fit = fit_logistic(X, y, prior, np.zeros(4), topic=topic, n_topics=5)
    log_prior = slow.beta_prior(weight, intercept=intercept, precision=prior.intercept_precision)
    np.testing.assert_allclose(fit.coefficients, slow.logistic(X, y, log_prior), atol=2e-5)
    second = slow.hessian(lambda x: slow.log_posterior(x, X, y, log_prior), fit.coefficients)
    found = fit.covariance(np.eye(4), np.zeros((4, 5)))
    np.testing.assert_allclose(found, -np.linalg.inv(second), rtol=1e-3, atol=1e-6)
    assert not fit.effects.any()


@pytest.mark.parametrize("seed", range(4))
def test_topic_effects_equal_scipy(seed: int) -> None:
    """Effects are dummy variables with normal priors; one topic (the sixth) has no judgment."""
    X, y, topic = regression(seed)
    mean, precision = np.array([0.5, 0.0, -1.0, 0.0]), np.array([1.0, 4.0, 0.25, 0.1])
    fit = fit_logistic(X, y, Normal(mean, precision), mean, topic=topic, n_topics=6, effect_precision=2.0)
    wide = np.concatenate([X, np.eye(6)[topic]], axis=1)
    log_prior = slow.normal_prior(np.append(mean, np.zeros(6)), np.append(precision, np.full(6, 2.0)))
    best = slow.logistic(wide, y, log_prior)
    np.testing.assert_allclose(np.append(fit.coefficients, fit.effects), best, atol=2e-5)
    assert fit.effects[5] == 0
    second = slow.hessian(lambda x: slow.log_posterior(x, wide, y, log_prior), best)
    everything = np.eye(10)
    found = fit.covariance(everything[:, :4], everything[:, 4:])
    np.testing.assert_allclose(found, -np.linalg.inv(second), rtol=1e-3, atol=1e-5)


# Models


def experts_by_loops(
    block: Block, judged: Bools, relevant: Bools, reading: Eq2Variant = CLOSEST_TO_PAPER
) -> tuple[Floats, Floats, Callable[[Floats], float]]:
    """RTC section 3 from end to end: preferences, Platt, aggregation, each by scipy, document by document.

    Features [topic, column, feature], their coefficients, and the prior of these.
    """
    n_topics, k, n = block.shape
    features = np.zeros((n_topics, n, k))
    for j in range(k):
        reported = np.zeros((n_topics, n))
        for t in range(n_topics):
            yes, no = int((judged & relevant)[t].sum()), int((judged & ~relevant)[t].sum())
            q = slow.rank_probabilities(yes, no, block.depth)
            for c in range(n):
                reported[t, c] = q[block.rank[t, j, c] - 1] if block.rank[t, j, c] else 0.0
        use = judged & (block.rank[:, j] > 0)
        A, B = slow.calibrated(reported[use].tolist(), relevant[use].tolist(), Experts.RIDGE)
        features[:, :, j] = np.where(block.rank[:, j] > 0, expit(A + B * reported), 0.0)
    if reading.intercept:
        features = np.concatenate([features, np.ones((n_topics, n, 1))], axis=2)
    precision = LogitBeta(1.0, True).intercept_precision
    log_prior = slow.beta_prior(reading.prior, intercept=reading.intercept, precision=precision)
    return features, slow.logistic(features[judged], relevant[judged].astype(np.float64), log_prior), log_prior


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", list(READINGS))
def test_experts_equal_three_regressions(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    reading = READINGS[name]
    block, relevant = world(rng)
    judged = some(rng, block, 0.4)
    found = Experts(block, reading=reading).fit(judged, relevant)
    features, coefficients, log_prior = experts_by_loops(block, judged, relevant, reading)
    np.testing.assert_allclose(found.probability, expit(features @ coefficients), atol=1e-3)
    n_topics, _, n = block.shape
    X, y = features[judged], relevant[judged].astype(np.float64)
    slopes = rng.normal(size=(n_topics, 2, n)) * block.present[:, None]
    D = sum(slopes[t] @ features[t] for t in range(n_topics))
    second = slow.hessian(lambda x: slow.log_posterior(x, X, y, log_prior), coefficients)
    expected = reading.uncertainty * D @ -np.linalg.inv(second) @ D.T
    np.testing.assert_allclose(found.covariance(found.directions(slopes)), expected, rtol=0.02, atol=0.02)


def fusion_by_one_regression(
    block: Block, judged: Bools, relevant: Bools
) -> tuple[Floats, Floats, Callable[[Floats], float]]:
    """The model's own features and priors, topic effects as dummy variables: columns, coefficients, and the prior."""
    model = Fusion(block)
    n_topics, _, n = block.shape
    topic = np.broadcast_to(np.arange(n_topics)[:, None], (n_topics, n))
    wide = np.concatenate([model.features, np.eye(n_topics)[topic]], axis=2)
    effects = np.full(n_topics, 1 / model.TOPIC_SPREAD**2)
    log_prior = slow.normal_prior(np.append(model.prior.mean, 0 * effects), np.append(model.prior.precision, effects))
    return wide, slow.logistic(wide[judged], relevant[judged].astype(np.float64), log_prior), log_prior


@pytest.mark.parametrize("seed", range(3))
def test_fusion_equals_one_regression(seed: int) -> None:
    rng = np.random.default_rng(seed)
    block, relevant = world(rng)
    judged = some(rng, block, 0.5)
    found = Fusion(block).fit(judged, relevant)
    wide, best, log_prior = fusion_by_one_regression(block, judged, relevant)
    np.testing.assert_allclose(found.probability, expit(wide @ best), atol=1e-5)

    n_topics, _, n = block.shape
    X, y = wide[judged], relevant[judged].astype(np.float64)
    slopes = rng.normal(size=(n_topics, 2, n)) * block.present[:, None]
    D = sum(slopes[t] @ wide[t] for t in range(n_topics))
    second = slow.hessian(lambda x: slow.log_posterior(x, X, y, log_prior), best)
    expected = found.weight * D @ -np.linalg.inv(second) @ D.T
    np.testing.assert_allclose(found.covariance(found.directions(slopes)), expected, rtol=1e-3)
    for t in range(n_topics):
        np.testing.assert_allclose(found.directions(slopes[t], t), found.directions(slopes)[t])


def test_fusion_reads_ranks_as_it_says() -> None:
    """sqrt of the share that has the document, sqrt of the mean height, 1, and each system's own height, scaled."""
    block = gather([[[0, 1, 2, 3]], [[3, 0]], [[5]]]).block()
    features = Fusion(block).features[0]
    least = Fusion.SHARE_OF_RANKED

    def height(r: int) -> float:
        return 1 - float(np.log(r) / np.log(5))

    def own(r: int) -> float:
        return least + (1 - least) * height(r)

    third = 1 / 3
    expected = {
        0: [(2 * third) ** 0.5, ((height(1) + height(2)) / 3) ** 0.5, 1, own(1), own(2), 0],
        3: [(2 * third) ** 0.5, ((height(4) + height(1)) / 3) ** 0.5, 1, own(4), own(1), 0],
        4: [third**0.5, third**0.5, 1, 0, 0, own(1)],
    }
    for column, row in expected.items():
        np.testing.assert_allclose(features[column], row)


@pytest.mark.parametrize("name", list(READINGS))
def test_unranked_documents_get_nothing_from_an_expert(name: str) -> None:
    rng = np.random.default_rng(5)
    block, relevant = world(rng)
    features = Experts(block, reading=READINGS[name]).fit(some(rng, block, 0.5), relevant).features
    opinions = np.swapaxes(features[:, :, : block.shape[1]], 1, 2)
    assert not opinions[block.rank == 0].any()
    assert (opinions[block.rank > 0] > 0).all()


@pytest.mark.parametrize("model", list(MODELS))
@pytest.mark.parametrize("with_labels", [False, True])
def test_what_was_learnt_applies_to_other_blocks(model: str, with_labels: bool) -> None:
    """The same documents, topic by topic."""
    rng = np.random.default_rng(3)
    found = gather([[[int(doc) for doc in rng.permutation(12)[:7]] for _ in range(4)] for _ in range(3)])
    block = found.block()
    relevant = rng.random(block.number.shape) < 0.4
    labels = rng.normal(size=(*block.number.shape, 2)) if with_labels else None
    learnt = MODELS[model](block, labels).fit(some(rng, block, 0.6), relevant)
    for t in (3, 1):
        first, last = np.flatnonzero(found.topic == t)[[0, -1]]
        place = found.place[:, t : t + 1]
        part = replace(
            found,
            topics=found.topics[t : t + 1],
            topic=np.zeros(last + 1 - first, dtype=np.int32),
            documents=found.documents[first : last + 1],
            place=np.where(place >= 0, place - np.int32(first), np.int32(-1)),
        ).block()
        n = part.shape[2]
        p = learnt.of(part, np.array([t]), None if labels is None else labels[t : t + 1, :n])
        np.testing.assert_allclose(p[0], learnt.probability[t, :n], rtol=1e-12)


@pytest.mark.parametrize("model", list(MODELS))
class TestOddCases:
    """Probabilities stay finite and strictly between 0 and 1, and so do variances."""

    def sound(self, model: str, block: Block, judged: Bools, relevant: Bools, labels: Floats | None = None) -> Floats:
        found = MODELS[model](block, labels).fit(judged, relevant)
        p = found.probability[block.present]
        assert np.isfinite(p).all()
        assert (p > 0).all()
        assert (p < 1).all()
        v = found.probability * (1 - found.probability) * block.present
        covariance = found.covariance(found.directions(np.repeat(v[:, None], 2, axis=1)))
        assert np.isfinite(covariance).all()
        assert (np.diagonal(covariance) >= 0).all()
        return found.probability

    def test_nothing_judged(self, model: str) -> None:
        block, relevant = world(np.random.default_rng(0))
        self.sound(model, block, np.zeros_like(relevant), relevant)

    @pytest.mark.parametrize("answer", [True, False])
    def test_all_judgments_agree(self, model: str, answer: bool) -> None:
        block, relevant = world(np.random.default_rng(1))
        before = self.sound(model, block, np.zeros_like(relevant), relevant)
        p = self.sound(model, block, block.present, np.full_like(relevant, answer))
        moved = (p - before)[block.present]
        assert (moved > 0).all() if answer else (moved < 0).all()

    def test_an_expert_without_judged_documents(self, model: str) -> None:
        block, relevant = world(np.random.default_rng(2))
        judged = block.present & (block.rank[:, 0] == 0)
        assert judged.any()
        self.sound(model, block, judged, relevant)

    def test_one_topic(self, model: str) -> None:
        block, relevant = world(np.random.default_rng(3), n_topics=1)
        judged = block.present & (np.arange(block.shape[2]) % 2 == 0)
        self.sound(model, block, judged, relevant)

    def test_empty_topics(self, model: str) -> None:
        block = gather([[[], [0, 1, 2], []], [[], [2, 1], [4]]]).block()
        judged = np.zeros(block.number.shape, dtype=bool)
        judged[1, 0] = True
        self.sound(model, block, judged, judged)

    def test_129_identical_runs(self, model: str) -> None:
        rng = np.random.default_rng(4)
        ranking = [[int(doc) for doc in rng.permutation(30)] for _ in range(3)]
        block = gather([ranking] * 129).block()
        relevant = rng.random(block.number.shape) < 0.8 / block.rank[:, 0] ** 0.5
        judged = some(rng, block, 0.5)
        p = self.sound(model, block, judged, relevant)
        by_rank = np.take_along_axis(p, np.argsort(block.rank[:, 0], axis=1), axis=1)
        # Without an intercept, probabilities below 1/2 take negative lambdas, and those turn the order around.
        sign = -1 if model == "literal" else 1
        assert (sign * np.diff(by_rank, axis=1) < 0).all()

    def test_clues_with_gaps(self, model: str) -> None:
        rng = np.random.default_rng(6)
        block, relevant = world(rng)
        labels = np.stack(
            [
                np.where(rng.random(relevant.shape) < 0.5, np.nan, relevant + rng.normal(size=relevant.shape)),
                np.full(relevant.shape, np.nan),  # nobody has it
                np.full(relevant.shape, 7.0),  # all the same
                np.where(rng.random(relevant.shape) < 0.1, np.inf, 1e9 * relevant),
            ],
            axis=2,
        )
        self.sound(model, block, some(rng, block, 0.5), relevant, labels)

    def test_a_clue_without_content_changes_nothing(self, model: str) -> None:
        """A label that nobody has must not move the probabilities of Fusion; an expert that always says 1/2 may."""
        rng = np.random.default_rng(8)
        block, relevant = world(rng)
        judged = some(rng, block, 0.5)
        with_it = self.sound(model, block, judged, relevant, np.full((*relevant.shape, 1), np.nan))
        if model == "fusion":
            np.testing.assert_allclose(with_it, self.sound(model, block, judged, relevant), atol=1e-9)

    def test_the_truth_as_a_clue_helps(self, model: str) -> None:
        rng = np.random.default_rng(7)
        block, relevant = world(rng, n_topics=12, n=40, depth=30)
        judged = some(rng, block, 0.3)
        rest = block.present & ~judged

        def held_out(labels: Floats | None) -> float:
            p = self.sound(model, block, judged, relevant, labels)[rest]
            return float(np.log(np.where(relevant[rest], p, 1 - p)).mean())

        assert held_out(relevant[:, :, None].astype(np.float64)) > held_out(None) + 0.01

    def test_a_clue_s_unit_does_not_matter(self, model: str) -> None:
        rng = np.random.default_rng(9)
        block, relevant = world(rng)
        judged = some(rng, block, 0.5)
        label = relevant[:, :, None] + rng.normal(size=(*relevant.shape, 1))
        found = self.sound(model, block, judged, relevant, label)
        np.testing.assert_allclose(found, self.sound(model, block, judged, relevant, 1000 * label - 3), atol=1e-6)
