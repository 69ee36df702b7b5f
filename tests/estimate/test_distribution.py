"""AP as a random variable: moments against enumeration of all assignments, confidence against draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fathoms.estimate import distribution
from fathoms.estimate.distribution import Moments, confidence, influence, mean_of_topics
from fathoms.evidence.candidates import Block, Candidates
from tests.measures.test_invariants import FEW
from tests.support import slow_rtc as slow

Floats = NDArray[np.float64]
Rankings = Sequence[Sequence[int]]  # of one system, one a topic
Chances = list[dict[int, float]]  # one a topic


def gather(systems: Sequence[Rankings]) -> Candidates:
    """Candidates from rankings of small numbers; document d of topic t is called t-d."""
    n_topics = len(systems[0])
    depth = max([1] + [len(ranking) for system in systems for ranking in system])
    place = np.full((len(systems), n_topics, depth), -1, dtype=np.int32)
    topic: list[int] = []
    documents: list[bytes] = []
    for t in range(n_topics):
        docs = sorted({doc for system in systems for doc in system[t]})
        number = {doc: len(documents) + i for i, doc in enumerate(docs)}
        topic += [t] * len(docs)
        documents += [f"{t}-{doc}".encode() for doc in docs]
        for s, system in enumerate(systems):
            for r, doc in enumerate(system[t]):
                place[s, t, r] = number[doc]
    return Candidates(
        [f"s{s}" for s in range(len(systems))],
        [str(t) for t in range(n_topics)],
        np.array(topic, dtype=np.int32),
        np.array(documents or [b""], dtype=bytes)[: len(documents)],
        place,
    )


def spread_out(found: Candidates, block: Block, chances: Sequence[Mapping[int, float]]) -> Floats:
    """Probabilities by document as the block's array."""
    p = np.zeros(block.number.shape)
    for (t, column), number in np.ndenumerate(block.number):
        if number >= 0:
            p[t, column] = chances[t][int(bytes(found.documents[number]).split(b"-")[1])]
    return p


def moments_of(systems: Sequence[Rankings], chances: Sequence[Mapping[int, float]]) -> Moments:
    found = gather(systems)
    block = found.block()
    return Moments(block, spread_out(found, block, chances))


@st.composite
def worlds(draw: st.DrawFn, most_docs: int = 7) -> tuple[list[list[list[int]]], Chances]:
    """Up to four systems, up to three topics: short and empty rankings, identical ones, ones without a common document;
    probabilities with 0 and 1 among them."""
    k, n_topics = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    systems: list[list[list[int]]] = [[] for _ in range(k)]
    chances: Chances = []
    for _ in range(n_topics):
        docs = list(range(draw(st.integers(1, most_docs))))
        for s in range(k):
            kind = draw(st.sampled_from(["any", "any", "any", "as the first", "odd or even"]))
            order = draw(st.permutations(docs))
            if kind == "as the first" and s:
                systems[s].append(list(systems[0][-1]))
            elif kind == "odd or even":
                systems[s].append([doc for doc in order if doc % 2 == s % 2])
            else:
                systems[s].append(order[: draw(st.integers(0, len(docs)))])
        some = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.01, 0.99))
        chances.append({doc: draw(some) for doc in sorted({d for system in systems for d in system[-1]})})
    return systems, chances


# The toy of section 2.1


TOY = {0: 0.4, 1: 0.8, 2: 0.7}  # A, B, C


def test_toy_distribution() -> None:
    found = slow.distribution([1, 0, 2], TOY)
    assert found[0.0] == pytest.approx(0.036)
    assert found[round(7 / 12, 12)] == pytest.approx(0.056)  # A and C; the paper prints this chance for AP = 1/2
    assert found[0.5] == pytest.approx(0.024)  # A alone
    assert sum(found.values()) == pytest.approx(1)


def test_toy_moments() -> None:
    """By hand: E[S] = 0.8 + 0.4/2 + 0.7/3 + 0.8*0.4/2 + 0.8*0.7/3 + 0.4*0.7/3, over E[R] = 1.9."""
    moments = moments_of([[[1, 0, 2]], [[1, 0, 2]]], [TOY])
    expected = 0.8 + 0.4 / 2 + 0.7 / 3 + 0.32 / 2 + 0.56 / 3 + 0.28 / 3
    assert moments.expectation[0, 0] == pytest.approx(expected / 1.9)
    enumerated = slow.covariances([[1, 0, 2]], TOY)[0][0]
    assert enumerated == pytest.approx(slow.printed_variance([1, 0, 2], TOY))
    assert moments.covariance[0, 0, 0] == pytest.approx(enumerated / 1.9**2)


# Moments


@FEW
@given(worlds())
def test_moments_equal_enumeration(world: tuple[list[list[list[int]]], Chances]) -> None:
    systems, chances = world
    moments = moments_of(systems, chances)
    for t, p in enumerate(chances):
        rankings = [system[t] for system in systems]
        R = sum(p.values())
        S = np.array(slow.expectations(rankings, p))
        np.testing.assert_allclose(moments.S[t], S, atol=1e-12)
        np.testing.assert_allclose(moments.expectation[t], S / R if R else 0 * S, atol=1e-12)
        covariance = np.array(slow.covariances(rankings, p))
        np.testing.assert_allclose(moments.first[t] + moments.second[t], covariance, atol=1e-12)
        np.testing.assert_allclose(moments.covariance[t], covariance / R**2 if R else 0 * covariance, atol=1e-12)
    mean, covariance = mean_of_topics(moments)
    np.testing.assert_allclose(mean, moments.expectation.sum(axis=0) / len(chances))
    np.testing.assert_allclose(covariance, moments.covariance.sum(axis=0) / len(chances) ** 2)


@pytest.mark.long
@FEW
@given(worlds(most_docs=6))
def test_variance_equals_the_printed_triple_sum(world: tuple[list[list[list[int]]], Chances]) -> None:
    systems, chances = world
    moments = moments_of(systems, chances)
    found = moments.first + moments.second
    for t, p in enumerate(chances):
        for s, system in enumerate(systems):
            assert found[t, s, s] == pytest.approx(slow.printed_variance(system[t], p), abs=1e-12)


@pytest.mark.long
@FEW
@given(worlds(), st.data())
def test_judging_equals_starting_again(world: tuple[list[list[list[int]]], Chances], data: st.DataObject) -> None:
    systems, chances = world
    found = gather(systems)
    block = found.block()
    p = spread_out(found, block, chances)
    moments = Moments(block, p)
    open_ = [(int(t), int(c)) for t, c in np.argwhere(block.present & (p > 0) & (p < 1))]
    for t, c in data.draw(st.permutations(open_)):
        relevant = data.draw(st.booleans())
        row = moments.judge(t, c, relevant)
        p[t, c] = float(relevant)
        fresh = Moments(block, p)
        for name in ("p", "v", "H", "S", "R", "first", "second", "expectation", "covariance"):
            np.testing.assert_allclose(getattr(moments, name), getattr(fresh, name), atol=1e-12, err_msg=name)
        np.testing.assert_allclose(moments.gradient(), fresh.gradient(), atol=1e-9)
        np.testing.assert_allclose(moments.gradient(t), fresh.gradient()[t], atol=1e-9)
        ranks = block.rank[t]
        for s in range(len(systems)):
            for j in range(block.shape[2]):
                both = j != c and ranks[s, j] > 0 and ranks[s, c] > 0
                assert row[s, j] == pytest.approx(1 / max(ranks[s, j], ranks[s, c]) if both else 0)


def test_judging_long_rankings_equals_starting_again() -> None:
    """Topics that end without a relevant document among them: nothing may be left of them but zeros."""
    rng = np.random.default_rng(3)
    systems = [[list(rng.permutation(90)[:60]) for _ in range(4)] for _ in range(5)]
    found = gather(systems)
    block = found.block()
    p = np.where(block.present, rng.random(block.number.shape), 0.0)
    moments = Moments(block, p)
    for t, c in rng.permutation(np.argwhere(block.present)):
        relevant = t >= 2 and rng.random() < 0.3
        moments.judge(int(t), int(c), bool(relevant))
        p[t, c] = float(relevant)
    fresh = Moments(block, p)
    np.testing.assert_allclose(moments.expectation, fresh.expectation, atol=1e-9)
    np.testing.assert_allclose(moments.covariance, fresh.covariance, atol=1e-9)
    np.testing.assert_allclose(moments.gradient(), fresh.gradient(), atol=1e-9)


@pytest.mark.long
@FEW
@given(worlds())
def test_gradient_is_the_derivative(world: tuple[list[list[list[int]]], Chances]) -> None:
    systems, chances = world
    found = gather(systems)
    block = found.block()
    p = np.clip(spread_out(found, block, chances), 0.02, 0.98) * block.present
    gradient = Moments(block, p).gradient()
    step = 1e-5
    for t, c in np.argwhere(block.present):
        up, down = p.copy(), p.copy()
        up[t, c] += step
        down[t, c] -= step
        slope = (Moments(block, up).expectation - Moments(block, down).expectation) / (2 * step)
        np.testing.assert_allclose(gradient[t, :, c], slope[t], atol=1e-6)
        assert not np.delete(slope, t, axis=0).any()


@FEW
@given(worlds())
def test_influence_is_a_double_loop(world: tuple[list[list[list[int]]], Chances]) -> None:
    systems, chances = world
    found = gather(systems)
    block = found.block()
    H = influence(block, spread_out(found, block, chances))
    for t, p in enumerate(chances):
        for i, doc in enumerate(sorted(p)):  # columns are in the order of numbers, numbers in that of documents
            for s, system in enumerate(systems):
                assert H[t, s, i] == pytest.approx(slow.expected_weight(system[t], [], p, doc))


def test_covariances_left_out_stay_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Past MOST_SHARED, covariances of order two are 0, before and after judgments; the rest is as ever."""
    rng = np.random.default_rng(0)
    systems = [[list(rng.permutation(8)[:6])] for _ in range(3)]
    chances = [dict.fromkeys(range(8), 0.4)]
    exact = moments_of(systems, chances)
    monkeypatch.setattr(distribution, "MOST_SHARED", 0)
    rough = moments_of(systems, chances)
    off = ~np.eye(3, dtype=bool)
    for moments in (exact, rough):
        moments.judge(0, 2, True)
        moments.judge(0, 5, False)
    np.testing.assert_allclose(rough.expectation, exact.expectation)
    np.testing.assert_allclose(np.diagonal(rough.covariance[0]), np.diagonal(exact.covariance[0]))
    np.testing.assert_allclose(rough.second[0][off], 0, atol=1e-15)
    np.testing.assert_allclose(rough.first, exact.first)


# Confidence


def test_confidence_is_the_normal_of_the_difference() -> None:
    expectation = np.array([0.3, 0.25, 0.25])
    covariance = np.array([[4.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]]) * 1e-4
    found = confidence(expectation, covariance)
    assert found[0, 1] == pytest.approx(1 - NormalDist(0.05, (4e-4 + 2e-4 - 2e-4) ** 0.5).cdf(0))
    assert found[2, 0] == pytest.approx(1 - NormalDist(-0.05, (1e-4 + 4e-4) ** 0.5).cdf(0))
    assert found[1, 2] == 0.5
    assert confidence(expectation, 0 * covariance)[:2, :2].tolist() == [[0.5, 1.0], [0.0, 0.5]]


@pytest.mark.long
@FEW
@given(worlds())
def test_confidence_is_symmetric(world: tuple[list[list[list[int]]], Chances]) -> None:
    systems, chances = world
    found = confidence(*mean_of_topics(moments_of(systems, chances)))
    np.testing.assert_allclose(found + found.T, 1)
    assert (np.diagonal(found) == 0.5).all()
    for a, first in enumerate(systems):
        for b, second in enumerate(systems):
            if first == second:
                assert found[a, b] == 0.5


@pytest.mark.parametrize("k", [2, 3, 5, 7, 9, 13])
def test_identical_runs_are_even(k: int) -> None:
    """Wherever two equal systems stand among the others, rounding must not tell them apart."""
    rng = np.random.default_rng(k)
    for _ in range(20):
        systems = [[list(rng.permutation(150)[:100]) for _ in range(3)] for _ in range(k)]
        systems.append(systems[0])
        found = gather(systems)
        block = found.block()
        moments = Moments(block, np.where(block.present, rng.random(block.number.shape), 0.0))
        for _ in range(4):
            assert confidence(*mean_of_topics(moments))[0, -1] == 0.5
            t = int(rng.integers(3))
            moments.judge(t, int(rng.choice(np.flatnonzero(moments.v[t]))), bool(rng.random() < 0.5))


# Where the model's assumption holds


def draws(block: Block, p: Floats, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """S [draw, topic, system] and R [draw, topic] under assignments drawn from p, by the definition of precision."""
    S = np.empty((n, block.shape[0], block.shape[1]))
    R = np.empty((n, block.shape[0]))
    for t in range(block.shape[0]):
        x = rng.random((n, block.shape[2])) < p[t]
        R[:, t] = x.sum(axis=1)
        padded = np.concatenate([x, np.zeros((n, 1), dtype=bool)], axis=1)
        for s in range(block.shape[1]):
            ranked = padded[:, block.column[t, s]]
            S[:, t, s] = (ranked * np.cumsum(ranked, axis=1) / np.arange(1, block.depth + 1)).sum(axis=1)
    return S, R


def true_world(rng: np.random.Generator, n_topics: int, depth: int, mean_relevant: float) -> tuple[Block, Floats]:
    """Two systems that see the same probabilities through noise; about `mean_relevant` relevant documents a topic."""
    n = depth * 3 // 2
    chances: Chances = []
    systems: list[list[list[int]]] = [[], []]
    for _ in range(n_topics):
        p = rng.beta(0.3, 2.0, n)
        for system, noise in zip(systems, (0.5, 0.6), strict=True):
            system.append([int(doc) for doc in np.argsort(rng.normal(0, noise, n) - np.sqrt(p))[:depth]])
        seen = sorted(set(systems[0][-1]) | set(systems[1][-1]))
        scale = mean_relevant / p[seen].sum()
        chances.append({doc: min(0.95, float(p[doc] * scale)) for doc in seen})
    found = gather(systems)
    block = found.block()
    return block, spread_out(found, block, chances)


@pytest.mark.long
def test_confidence_is_calibrated_where_probabilities_are_true() -> None:
    """P(dMAP > 0) by the normal against the share among draws; 50 topics of ten relevant documents."""
    rng = np.random.default_rng(7)
    off = []
    for _ in range(3):
        block, p = true_world(rng, n_topics=50, depth=40, mean_relevant=10.0)
        S, R = draws(block, p, 20_000, rng)
        with np.errstate(invalid="ignore"):
            ap = np.where(R[:, :, None] > 0, S / R[:, :, None], 0.0)
        difference = (ap[:, :, 0] - ap[:, :, 1]).mean(axis=1)
        said = confidence(*mean_of_topics(Moments(block, p)))[0, 1]
        off.append(said - (difference > 0).mean())
    assert np.abs(off).max() < 0.02, off


def test_moments_of_the_numerator_equal_those_of_draws() -> None:
    """Long rankings, where enumeration ends: E[S] and Cov(S, S') within a few standard errors."""
    rng = np.random.default_rng(11)
    block, p = true_world(rng, n_topics=3, depth=60, mean_relevant=8.0)
    S, _ = draws(block, p, 40_000, rng)
    moments = Moments(block, p)
    for t in range(3):
        covariance = np.cov(S[:, t].T)
        error = np.sqrt(np.diagonal(covariance) / len(S))
        assert (np.abs(S[:, t].mean(axis=0) - moments.S[t]) < 4 * error).all()
        np.testing.assert_allclose(covariance, moments.first[t] + moments.second[t], rtol=0.05)


@pytest.mark.parametrize(("relevant", "least", "most"), [(0.5, 1.0, 3.0), (10.0, 0.0, 0.06), (25.0, 0.0, 0.04)])
def test_dividing_by_the_expected_number_of_relevant_documents(relevant: float, least: float, most: float) -> None:
    """The paper's footnote calls the error of E[S] / E[R] negligible. It is where many relevant documents are expected;
    where less than one is, R = 0 is likely and expected AP comes out more than twice too large, its deviation too.
    """
    rng = np.random.default_rng(13)
    block, p = true_world(rng, n_topics=20, depth=60, mean_relevant=relevant)
    S, R = draws(block, p, 10_000, rng)
    ap = S / np.maximum(R, 1)[:, :, None]
    moments = Moments(block, p)
    covariance = moments.covariance
    of_difference = np.sqrt(covariance[:, 0, 0] + covariance[:, 1, 1] - 2 * covariance[:, 0, 1])
    assert least < moments.expectation.mean() / ap.mean() - 1 < most
    assert least - 0.05 < of_difference.mean() / (ap[:, :, 0] - ap[:, :, 1]).std(axis=0).mean() - 1 < most
