"""What judging believes of scores, against every way of grading small worlds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import spearmanr

from fathoms.judging.beliefs import DRAWS, APBeliefs, Beliefs, DrawnBeliefs, Grading, WeightedBeliefs, beliefs_of
from fathoms.judging.engine import EVERY, Engine
from fathoms.judging.select import STRATEGIES, laplacian
from fathoms.measures.parse import parse_measure
from tests import slow_beliefs as slow
from tests.test_distribution import gather

Floats = NDArray[np.float64]
LEVELS = np.array([0.0, 1.0, 2.0])
GAINS = {"raw": [0, 1, 2], "binary": [0, 1, 1], "exp": [0, 1, 3], "scaled": [0, 0.25, 0.75], "linear": [0, 0.5, 1]}
WEIGHTED = [
    "P@3",
    "P(rel=2)@4",
    "P(gain=linear)@4",
    "RBP(p=0.8)",
    "RBP(p=0.5,gain=exp)@3",
    "DCG@3",
    "DCG(gain=exp)@4",
    "DCG(gain=binary,rel=2)@5",
    "SDCG@3",
    "SDCG(gain=exp)@4",
    "SDCG(gain=binary)@10",
]


class Sure:
    """A fit that doubts nothing but the grades themselves."""

    def __init__(self, chance: Floats, systems: int) -> None:
        self.chance, self._k = chance, systems

    def directions(self, topic: int, slopes: Any, values: Floats, growths: Floats) -> None: ...

    def covariance(self, directions: Sequence[Any]) -> Floats:
        return np.zeros((self._k, self._k))

    def levels(self, n: int, seed: int) -> NDArray[np.int8]:
        lots = np.random.default_rng(seed).random((n, *self.chance.shape[1:]))
        found: NDArray[np.int8] = (lots[:, None] >= np.cumsum(self.chance[:-1], axis=0)).sum(axis=1).astype(np.int8)
        return found


class World:
    def __init__(self, seed: int, *, k: int = 3, n_topics: int = 2, n: int = 5, known: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.topics = [slow.random_topic(rng, k, n, known) for _ in range(n_topics)]
        self.candidates = gather([[topic.rankings[system] for topic in self.topics] for system in range(k)])
        self.block = self.candidates.block()
        self.chance = np.zeros((3, *self.block.present.shape))
        self.chance[0] = 1.0
        self.docs: list[list[int]] = []  # of each topic, in the order of columns
        for t, topic in enumerate(self.topics):
            names = self.candidates.documents[self.block.number[t][self.block.present[t]]]
            self.docs.append([int(bytes(name).decode().split("-")[1]) for name in names])
            for column, doc in enumerate(self.docs[t]):
                self.chance[:, t, column] = topic.chances[doc]
        counts = [[topic.elsewhere.count(grade) for grade in range(3)] for topic in self.topics]
        self.grading = Grading(LEVELS, np.array(counts, dtype=np.float64))
        self.k = k

    def beliefs(self, measure: str, seed: int = 0) -> Beliefs:
        found = beliefs_of(parse_measure(measure), self.block, self.grading)
        self.start(found, seed)
        return found

    def start(self, beliefs: Beliefs, seed: int = 0) -> None:
        beliefs.start(self.chance.copy(), Sure(self.chance, self.k), seed)

    def true(self, measure: str) -> tuple[Floats, Floats]:
        """Expectation and covariance of mean scores, by enumeration."""
        found = slow.mean_covariance(self.topics, [topic.score(measure) for topic in self.topics])
        return np.array(found[0]), np.array(found[1])


@pytest.mark.parametrize("measure", WEIGHTED)
@pytest.mark.parametrize("seed", range(2))
def test_weighted_sums_are_exact(measure: str, seed: int) -> None:
    """Expectation, covariance, and the variance of what each judgment changes."""
    world = World(seed, k=2 + seed)
    beliefs = world.beliefs(measure)
    assert isinstance(beliefs, WeightedBeliefs)
    means, covariance = world.true(measure)
    np.testing.assert_allclose(beliefs.means(), means, atol=1e-12)
    np.testing.assert_allclose(beliefs.covariance(), covariance, atol=1e-12)
    for a, b in itertools.combinations(range(world.k), 2):
        sizes = [beliefs.effect_sizes(t, laplacian([(a, b)], world.k)) for t in range(2)]
        for t, topic in enumerate(world.topics):
            score = topic.score(measure)
            true = [topic.judgment_variance(score, doc, a, b) for doc in world.docs[t]]
            np.testing.assert_allclose(sizes[t], true, atol=1e-9)
        np.testing.assert_allclose(beliefs.pair_sizes(a, b), np.concatenate(sizes) / 4, atol=1e-12)


@pytest.mark.parametrize("measure", ["DCG@3", "RBP(p=0.5,gain=exp)@3"])
def test_a_judgment_and_its_undoing(measure: str) -> None:
    """A judgment leaves what enumeration with that grade gives, and undoing it what there was."""
    world = World(5)
    beliefs = world.beliefs(measure)
    before = (beliefs.means(), beliefs.covariance())
    topic, column = 1, 2
    old, doc = beliefs.chance[:, topic, column].copy(), world.docs[topic][column]
    for level in range(3):
        beliefs.chance[:, topic, column] = world.topics[topic].chances[doc] = np.eye(3)[level].tolist()
        beliefs.judge(topic, column, level)
        means, covariance = world.true(measure)
        np.testing.assert_allclose(beliefs.means(), means, atol=1e-12)
        np.testing.assert_allclose(beliefs.covariance(), covariance, atol=1e-12)
        beliefs.chance[:, topic, column] = world.topics[topic].chances[doc] = old.tolist()
        assert beliefs.undo(topic, column)
        assert (beliefs.means() == before[0]).all()
        assert (beliefs.covariance() == before[1]).all()


@pytest.mark.parametrize(
    ("measure", "gains"),
    [
        ("ERR", "scaled"),
        ("ERR@3", "scaled"),
        ("ERR(gain=linear)@2", "linear"),
        ("RR", "binary"),
        ("RR@3", "binary"),
    ],
)
@pytest.mark.parametrize("seed", range(2))
def test_effects_of_cascades_are_derivatives(measure: str, gains: str, seed: int) -> None:
    """Their expectation is linear in each document's expected gain."""
    world = World(seed)
    beliefs = world.beliefs(measure)
    for t, topic in enumerate(world.topics):
        score = topic.score(measure)
        true = [topic.slopes(score, doc, GAINS[gains]) for doc in world.docs[t]]
        np.testing.assert_allclose(beliefs.effects(t).by_gain.toarray(), true, atol=1e-9)
        for a, b in itertools.combinations(range(3), 2):
            variances = [topic.judgment_variance(score, doc, a, b) for doc in world.docs[t]]
            np.testing.assert_allclose(beliefs.effect_sizes(t, laplacian([(a, b)], 3)), variances, atol=1e-9)


@pytest.mark.parametrize(("measure", "k", "rel"), [("AP", None, 1), ("AP(rel=2)", None, 2), ("AP@3", 3, 1)])
@pytest.mark.parametrize("seed", range(2))
def test_effects_of_ap_are_derivatives_of_the_sum_of_precisions(
    measure: str, k: int | None, rel: int, seed: int
) -> None:
    world = World(seed)
    beliefs = world.beliefs(measure)
    assert isinstance(beliefs, APBeliefs if k is None else DrawnBeliefs)
    for t, topic in enumerate(world.topics):
        score = slow.sum_of_precisions(k, rel)
        true = [topic.slopes(score, doc, [0, rel == 1, 1]) for doc in world.docs[t]]
        effects = beliefs.effects(t)
        np.testing.assert_allclose(effects.on_sum.toarray(), true, atol=1e-9)
        R = sum(sum(chances[rel:]) for chances in topic.chances.values())
        assert effects.divisor == pytest.approx(R + sum(grade >= rel for grade in topic.elsewhere))
