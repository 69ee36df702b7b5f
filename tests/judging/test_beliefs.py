"""What judging believes of scores, against every way of grading small worlds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import spearmanr

from fathoms.evidence.evidence import Bools
from fathoms.judging.beliefs import DRAWS, APBeliefs, Beliefs, DrawnBeliefs, Grading, WeightedBeliefs, beliefs_of
from fathoms.judging.calibrating import calibrate
from fathoms.judging.engine import EVERY, Engine
from fathoms.judging.grade_chances import Grades
from fathoms.judging.select import STRATEGIES, laplacian
from fathoms.measures.parse import parse_measure
from tests.estimate.test_distribution import gather
from tests.support import slow_beliefs as slow

Floats = NDArray[np.float64]
LEVELS = np.array([0.0, 1.0, 2.0])
GAINS: dict[str, list[float]] = {
    "raw": [0, 1, 2],
    "binary": [0, 1, 1],
    "exp": [0, 1, 3],
    "scaled": [0, 0.25, 0.75],
    "linear": [0, 0.5, 1],
}
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

    certain = True

    def __init__(self, chance: Floats, systems: int) -> None:
        self.chance, self._k = chance, systems

    def directions(self, topic: int, slopes: Any, values: Floats, growths: Floats) -> None: ...

    def covariance(self, directions: Sequence[Any]) -> Floats:
        return np.zeros((self._k, self._k))

    def levels(self, n: int, seed: int, wanted: Bools) -> NDArray[np.int8]:
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


def dense(matrix: Any) -> Floats:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.todense())


@pytest.mark.parametrize("measure", WEIGHTED)
@pytest.mark.parametrize("seed", range(2))
def test_weighted_sums_are_exact(measure: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expectation, covariance, and the variance of what each judgment changes."""
    monkeypatch.setattr("fathoms.judging.beliefs.DENSE", [0, 16][seed])  # sparse matrices, as with many systems, or not
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
def test_what_is_believed_after_a_judgment(measure: str) -> None:
    """What enumeration with that grade gives."""
    world = World(5)
    beliefs = world.beliefs(measure)
    topic, column = 1, 2
    doc = world.docs[topic][column]
    for level in range(3):
        beliefs.chance[:, topic, column] = world.topics[topic].chances[doc] = np.eye(3)[level].tolist()
        beliefs.judge(topic, column, level)
        means, covariance = world.true(measure)
        np.testing.assert_allclose(beliefs.means(), means, atol=1e-12)
        np.testing.assert_allclose(beliefs.covariance(), covariance, atol=1e-12)


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
def test_effects_of_cascades_are_derivatives(
    measure: str, gains: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their expectation is linear in each document's expected gain."""
    monkeypatch.setattr("fathoms.judging.beliefs.DENSE", [0, 16][seed])
    world = World(seed)
    beliefs = world.beliefs(measure)
    for t, topic in enumerate(world.topics):
        score = topic.score(measure)
        true = [topic.slopes(score, doc, GAINS[gains]) for doc in world.docs[t]]
        np.testing.assert_allclose(dense(beliefs.effects(t).by_gain), true, atol=1e-9)
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
        np.testing.assert_allclose(dense(effects.on_sum), true, atol=1e-9)
        R = sum(sum(chances[rel:]) for chances in topic.chances.values())
        assert effects.divisor == pytest.approx(R + sum(grade >= rel for grade in topic.elsewhere))


CLOSE = {  # the least rank correlation, and how far the median of standard deviations may be off
    "nDCG@3": (0.95, 0.05),
    "nDCG(gain=exp)@4": (0.95, 0.1),
    "AP": (0.95, 0.05),
    "AP(variant=b)@3": (0.95, 0.05),
    "Q": (0.85, 0.2),
    "Q(beta=0.5)@4": (0.85, 0.2),
}


@pytest.mark.parametrize("measure", list(CLOSE))
def test_effects_over_a_divisor_are_close(measure: str) -> None:
    """What a judgment changes is of first order there; documents stand nearly in the true order, and the document that
    is chosen is nearly the best."""
    found: list[Floats] = []
    spread, chosen = [], []
    for seed in range(10):
        world = World(seed, k=2, n_topics=1)
        sizes = world.beliefs(measure).effect_sizes(0, laplacian([(0, 1)], 2))
        topic, docs = world.topics[0], world.docs[0]
        score = topic.score(measure)
        true = np.array([topic.judgment_variance(score, doc, 0, 1) for doc in docs])
        is_open = np.array([max(topic.chances[doc]) < 1 for doc in docs])
        assert (sizes[~is_open] == 0).all()
        found.append(np.stack([true, sizes])[:, is_open])
        if true.max() > 1e-9:  # else both systems have the same score whatever is judged
            spread.append(float(sizes.sum() / true.sum()) ** 0.5)
            chosen.append(true[sizes.argmax()] / true.max())
    correlation, off = CLOSE[measure]
    assert spearmanr(*np.concatenate(found, axis=1))[0] > correlation
    assert abs(float(np.median(spread)) - 1) < off
    assert np.mean(chosen) > correlation


@pytest.mark.long
@pytest.mark.parametrize("measure", ["nDCG@3", "ERR@4", "RR", "Q", "AP@3"])
def test_draws_agree_with_enumeration(measure: str) -> None:
    """Within their own error, in many worlds: the draws of one are the same each time."""
    off, ratios = [], []
    for seed in range(8):
        world = World(seed, known=0)
        beliefs = world.beliefs(measure, seed)
        assert isinstance(beliefs, DrawnBeliefs)
        means, covariance = world.true(measure)
        for a, b in itertools.combinations(range(world.k), 2):
            apart = np.zeros(world.k)
            apart[a], apart[b] = 1, -1
            true = float(apart @ covariance @ apart)
            if true > 1e-9:
                off.append(float(apart @ (beliefs.means() - means)) / (true / DRAWS) ** 0.5)
                ratios.append(float(apart @ beliefs.covariance() @ apart) / true)
    assert len(off) > 20
    assert max(np.abs(off)) < 4
    assert 0.6 < float(np.std(off)) < 1.4
    # A variance from 200 draws is off by a tenth, and by more with long tails.
    assert abs(float(np.mean(ratios)) - 1) < 0.1
    assert 0.5 < min(ratios) < max(ratios) < 1.7


# Several measures, several grades


class GradedWorld:
    """Systems of different quality, and every candidate's true grade."""

    def __init__(self, seed: int, *, k: int = 3, n_topics: int = 4, n: int = 14, depth: int = 9) -> None:
        rng = np.random.default_rng(seed)
        grade = rng.choice(3, size=(n_topics, n), p=[0.6, 0.25, 0.15])
        systems = []
        for noise in rng.uniform(0.5, 1.5, k):
            order = np.argsort(rng.normal(0, noise, grade.shape) - grade, axis=1)
            systems.append([row[:depth].tolist() for row in order])
        self.candidates = gather(systems)
        places = [bytes(name).decode().split("-") for name in self.candidates.documents]
        self.truth = [int(grade[int(topic), int(doc)]) for topic, doc in places]

    def engine(self, strategy: str, *measures: str, **options: Any) -> Engine:
        return Engine(
            self.candidates,
            strategy,
            measures=[parse_measure(measure) for measure in measures],
            grades=(0, 1, 2),
            **options,
        )


def fingerprint(engine: Engine) -> list[Any]:
    places = range(len(engine.measures))
    return [
        engine.judged,
        engine.queue(5),
        engine.weights().tolist(),
        [engine.expected(place).tolist() for place in places],
        [engine.confidence(place).tolist() for place in places],
        [part.tolist() for part in engine.probabilities()],
        engine.open_pairs(),
        engine.settled(),
        engine.widening,
        engine.forecast(),
    ]


SETS = [("nDCG@5",), ("DCG@5", "RBP"), ("AP", "ERR@5"), ("RR", "Q", "AP(rel=2)")]


@pytest.mark.long
@pytest.mark.parametrize(
    ("strategy", "measures"),
    [(name, one) for name in STRATEGIES for one in (SETS if name in ("fusion", "mtc", "rtc") else SETS[:1])],
    ids=lambda value: value if isinstance(value, str) else "+".join(value),
)
def test_loading_leads_to_the_same_state(strategy: str, measures: tuple[str, ...]) -> None:
    """To the last bit, in the middle between two fits, at a fit and just after one."""
    world = GradedWorld(1, n_topics=3, n=10, depth=6)
    engine = world.engine(strategy, *measures, until=0.8)
    states = [fingerprint(engine)]
    made: list[tuple[int, float]] = []
    while len(made) < EVERY + 2:
        number = engine.next()
        assert number is not None
        made.append((number, world.truth[number]))
        engine.judge(*made[-1])
        states.append(fingerprint(engine))
        if len(made) in (EVERY - 5, EVERY, EVERY + 2):
            loaded = world.engine(strategy, *measures, until=0.8)
            loaded.load(made)
            assert fingerprint(loaded) == states[-1]
    while made:
        made.pop()
        engine.load(made)
        assert fingerprint(engine) == states[len(made)]


def test_all_measures_have_to_be_settled() -> None:
    seen = set()
    for seed in range(4):
        world = GradedWorld(seed)
        both = world.engine("fusion", "DCG@9", "RR", until=0.8)
        for step, number in enumerate(np.random.default_rng(seed).permutation(len(world.truth)).tolist()):
            both.judge(number, world.truth[number])
            chances = [both.confidence(place) for place in range(2)]
            settled = [all(max(c[a, b], c[b, a]) >= 0.8 for a, b in both.pairs()) for c in chances]
            assert both.settled() == (all(settled) and step + 1 >= EVERY)
            seen.add(tuple(settled))
            for a, b in both.pairs():
                least = min(max(c[a, b], c[b, a]) for c in chances)
                assert ((a, b) in both.open_pairs()) == (least < 0.8)
    assert len(seen) == 4  # both, neither, and either one alone


@pytest.mark.parametrize("measures", [("AP(rel=2)",), ("AP(rel=2)", "RR(rel=2)")], ids="+".join)
@pytest.mark.parametrize("strategy", ["fusion", "rtc", "mtf"])
def test_binary_measures_know_relevant_from_not(strategy: str, measures: tuple[str, ...]) -> None:
    """Grades 0, 1, 2 with a threshold of 2 are as good as 0 and 1 with a threshold of 1."""
    world = GradedWorld(3)
    graded = world.engine(strategy, *measures, rel=2)
    plain = Engine(world.candidates, strategy, measures=[parse_measure(one.replace("(rel=2)", "")) for one in measures])
    for _ in range(2 * EVERY + 3):
        number = graded.next()
        assert number is not None
        graded.judge(number, world.truth[number])
        plain.judge(number, world.truth[number] >= 2)
        assert fingerprint(graded) == fingerprint(plain)


def test_probabilities_of_relevance_where_thresholds_differ() -> None:
    """A measure's threshold above or below that of the session."""
    world = GradedWorld(4)
    for rel, measure in ((2, "AP"), (1, "AP(rel=2)"), (2, "nDCG"), (3, "AP(rel=2)")):
        engine = world.engine("fusion", measure, rel=rel)
        least = 2 if "rel=2" in measure else 1 if measure == "AP" else rel
        for number in range(EVERY):
            engine.judge(number, world.truth[number])
        numbers, p = engine.probabilities()
        at = dict(zip(numbers.tolist(), p.tolist(), strict=True))
        assert [at[number] for number in range(EVERY)] == [grade >= least for grade in world.truth[:EVERY]]
        assert all(0 < at[number] < 1 for number in at if number >= EVERY)


def test_labels_move_chances_of_grades() -> None:
    """The true grade as a label lifts the expected grade of documents that deserve it, and lowers that of others."""
    world = GradedWorld(12, k=4, n_topics=8)
    labels = np.array(world.truth, dtype=np.float64)[:, None]
    told = world.engine("fusion", "nDCG@5", labels=labels)
    plain = world.engine("fusion", "nDCG@5")
    order = np.random.default_rng(0).permutation(len(world.truth))
    made = [(int(number), world.truth[number]) for number in order[: 3 * EVERY]]
    told.load(made)
    plain.load(made)
    better = (LEVELS @ (told.beliefs[0].chance - plain.beliefs[0].chance).transpose(1, 0, 2))[told.block.present]
    numbers = told.block.number[told.block.present]
    rest = ~np.isin(numbers, order[: 3 * EVERY])
    truth = np.array(world.truth)[numbers]
    means = [float(better[rest & (truth == grade)].mean()) for grade in range(3)]
    assert means[0] < 0 < means[1] < means[2]


# How far off the model is


def widened(seed: int, turning: bool) -> float:
    """The widening of P@10 below a pool of depth 10: judgments drawn from the model itself, or such that labels say
    what is relevant in the first five ranks, and what is not below them."""
    world = GradedWorld(seed, k=4, n_topics=12, n=60, depth=30)
    block, rng = world.candidates.block(), np.random.default_rng(seed)
    levels = np.array([0.0, 1.0])
    least = block.least_rank[0]
    judged = block.present & (least <= 10)
    labels = rng.random((*block.present.shape, 1))
    learner = Grades(block, labels, levels, 10)
    nothing = np.zeros(block.present.shape, dtype=np.int64)
    level = learner.fit(nothing > 0, nothing).levels(1, seed, block.present)[0].astype(np.int64)
    if turning:
        level = (np.where(least <= 5, labels[..., 0], 1 - labels[..., 0]) > 0.6).astype(np.int64)
    beliefs = beliefs_of(parse_measure("P@10"), block, Grading(levels, np.zeros((12, 2))))
    return calibrate(learner, judged, np.where(judged, level, 0), [beliefs], 0)[0]


def test_backtests_widen_what_was_too_sure() -> None:
    right, wrong = ([widened(seed, turning) for seed in range(4)] for turning in (False, True))
    assert all(factor >= 1 for factor in right + wrong)
    assert np.mean(right) < 1.15
    assert np.mean(wrong) > 1.25


# -- short cuts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_effects_of_all_topics_at_once_are_those_of_each(seed: int) -> None:
    """To the last bit; and for AP without counting documents, as for any measure."""
    world = World(seed, n_topics=4)
    beliefs = world.beliefs("AP(rel=2)")
    assert isinstance(beliefs, APBeliefs)
    for topic in range(4):
        at_once, alone = beliefs.effects(topic), beliefs.effects_with(topic, beliefs.chance[:, topic])
        assert at_once.divisor == alone.divisor
        for name in ("on_sum", "score", "growth"):
            np.testing.assert_array_equal(getattr(at_once, name), getattr(alone, name))
        np.testing.assert_array_equal(alone.on_sum, Beliefs._on_sum(beliefs, topic, beliefs.chance[:, topic]))


@pytest.mark.parametrize("dense", [0, 16])
@pytest.mark.parametrize("measure", ["AP", "nDCG@4", "DCG@3"])
def test_slopes_of_each_document_are_those_with_the_identity(
    measure: str, dense: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fathoms.judging.beliefs.DENSE", dense)
    world = World(3)
    rng = np.random.default_rng(1)
    for topic, docs in enumerate(world.docs):
        effects = world.beliefs(measure).effects(topic)
        values, growths = rng.random((2, len(docs)))
        expected = effects.times(values, growths, np.eye(len(docs)))
        np.testing.assert_allclose(effects.each(values, growths), expected, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("strategy", ["mtc", "rtc"])
def test_weights_kept_from_fit_to_fit_are_those_made_anew(strategy: str) -> None:
    """Over several fits, with pairs that are settled on the way and judgments taken back."""
    rng = np.random.default_rng(2)
    candidates = gather([[rng.permutation(30).tolist() for _ in range(3)] for _ in range(4)])
    engine = Engine(candidates, strategy, until=0.6)
    settled = set()
    made: list[tuple[int, float]] = []
    for step in range(45):
        number = engine.next()
        assert number is not None
        made.append((number, float(number % 3 == 0)))
        engine.judge(*made[-1])
        if step % 7 == 6:
            engine.load(made[:-1])
            made.pop()
        anew = type(engine._weight)(engine._state)
        anew.start()
        np.testing.assert_array_equal(engine._weight.values, anew.values)
        settled.add(len(engine.open_pairs()))
    assert len(settled) > 1
