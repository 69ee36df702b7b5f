"""Candidates, strategies and the judging engine, against plain loops over small worlds."""

from __future__ import annotations

import itertools
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit

import fathoms as fm
from fathoms.base.errors import FathomsError
from fathoms.estimate.distribution import Moments, mean_of_topics
from fathoms.estimate.documents import SLOPED
from fathoms.evidence.candidates import Candidates, candidates
from fathoms.judging.engine import EVERY, Engine
from fathoms.judging.grade_chances import Grades
from fathoms.judging.select import STRATEGIES, HedgeWeight, RBPWeight
from tests.estimate.test_distribution import Rankings, gather
from tests.measures.test_invariants import FEW
from tests.support import slow_rtc as slow

Floats = NDArray[np.float64]
Judgments = list[tuple[int, bool]]
NEARLY_ONE = 1 - 1e-12


class World:
    """Rankings [system][topic] of small numbers, candidates, and the truth of each candidate."""

    def __init__(self, seed: int, k: int = 3, n_topics: int = 4, n: int = 14, depth: int = 9) -> None:
        rng = np.random.default_rng(seed)
        truth = rng.random((n_topics, n)) < 0.35
        truth[-1] = False  # a topic without relevant documents
        self.systems: list[Rankings] = []
        for noise in rng.uniform(0.4, 1.2, k):
            order = np.argsort(rng.normal(0, noise, truth.shape) - truth, axis=1)
            self.systems.append([[int(doc) for doc in row[: rng.integers(1, depth + 1)]] for row in order])
        self.candidates = gather(self.systems)
        names = [bytes(name).decode().split("-") for name in self.candidates.documents]
        self.place = [(int(topic), int(doc)) for topic, doc in names]  # topic and document of each candidate
        self.truth = [bool(truth[place]) for place in self.place]
        self.n_topics = n_topics

    def __len__(self) -> int:
        return len(self.place)

    def rankings(self, topic: int) -> list[list[int]]:
        return [list(system[topic]) for system in self.systems]

    def docs(self, topic: int) -> list[int]:
        return [doc for t, doc in self.place if t == topic]

    def mtc(self, judgments: Judgments, number: int) -> float:
        """The weight of a candidate for the first two systems."""
        topic, doc = self.place[number]
        first, second, *_ = self.rankings(topic)
        return slow.mtc_weight(first, second, self.docs(topic), self.known(judgments, topic), doc)

    def known(self, judgments: Judgments, topic: int) -> dict[int, bool]:
        return {self.place[i][1]: yes for i, yes in judgments if self.place[i][0] == topic}

    def least_rank(self, number: int) -> int:
        topic, doc = self.place[number]
        return 1 + min(ranking.index(doc) for ranking in self.rankings(topic) if doc in ranking)

    def mean_ap(self, system: int) -> float:
        """MAP where R counts relevant candidates."""
        total = 0.0
        for t in range(self.n_topics):
            relevant = {doc for (topic, doc), yes in zip(self.place, self.truth, strict=True) if topic == t and yes}
            total += slow.ap(self.systems[system][t], relevant)
        return total / self.n_topics


def drive(engine: Engine, world: World, steps: int | None = None) -> Judgments:
    """Judge what the engine proposes, by the truth."""
    made: Judgments = []
    while (number := engine.next()) is not None and (steps is None or len(made) < steps):
        engine.judge(number, world.truth[number])
        made.append((number, world.truth[number]))
    return made


def fingerprint(engine: Engine) -> list[Any]:
    numbers, p = engine.probabilities()
    first = engine.next()
    return [
        engine.judged,
        first,
        engine.next([] if first is None else [first]),
        engine.expected().tolist(),
        engine.confidence().tolist(),
        numbers.tolist(),
        p.tolist(),
        engine.open_pairs(),
        engine.settled(),
        engine.forecast(),
    ]


# Candidates


def test_candidates_are_the_tops_of_rankings() -> None:
    rng = np.random.default_rng(0)
    runs: dict[str, dict[str, dict[str, float]]] = {
        name: {
            topic: {f"d{doc:02}": float(rng.integers(0, 6)) for doc in rng.permutation(20)[: rng.integers(1, 12)]}
            for topic in ("10", "2", "3")
            if (name, topic) != ("b", "10")
        }
        for name in ("a", "b", "c")
    }
    found = candidates(fm.read_runs(runs), 5, "trec", "float32")
    assert (found.names, found.topics, found.depth) == (["a", "b", "c"], ["2", "3", "10"], 5)
    seen = set()
    for s, name in enumerate(found.names):
        for t, topic in enumerate(found.topics):
            ranking = sorted(runs[name].get(topic, {}).items(), key=lambda item: (item[1], item[0]), reverse=True)[:5]
            got = [bytes(found.documents[number]).decode() for number in found.place[s, t] if number >= 0]
            assert got == [doc for doc, _ in ranking]
            assert (found.place[s, t, len(got) :] == -1).all()
            seen |= {(t, doc) for doc in got}
    assert len(found) == len(seen)
    for number, (t, doc) in enumerate(sorted(seen)):  # by topic, then by name
        assert (found.topic[number], bytes(found.documents[number]).decode()) == (t, doc)
        assert found.find(found.topics[t], doc) == number
    assert found.find("2", "nowhere") is found.find("no topic", "d01") is found.find("2", "") is None


def test_candidates_judged_by_qrels() -> None:
    runs = fm.read_runs({"a": {"1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}, "b": {"1": {"d4": 1.0}, "2": {"d1": 1.0}}})
    found = candidates(runs, None, "trec", "float32")
    qrels = fm.read_qrels({"1": {"d1": 2, "d2": 1, "d3": 0, "d9": 1}, "3": {"d1": 1}})
    judged, relevant = found.judged_by(qrels, rel=2)
    names = [(int(t), bytes(doc).decode()) for t, doc in zip(found.topic, found.documents, strict=True)]
    assert {name for name, yes in zip(names, judged, strict=True) if yes} == {(0, "d1"), (0, "d2"), (0, "d3")}
    assert {name for name, yes in zip(names, relevant, strict=True) if yes} == {(0, "d1")}


def test_candidates_without_runs() -> None:
    with pytest.raises(FathomsError, match="no run"):
        candidates(fm.Runs({}), None, "trec", "float32")


@pytest.mark.parametrize("systems", [None, [2, 0], [1]])
def test_blocks_hold_the_ranks(systems: list[int] | None) -> None:
    world = World(1)
    block = world.candidates.block(systems)
    chosen = range(3) if systems is None else systems
    assert block.names == [f"s{s}" for s in chosen]
    values = np.random.default_rng(0).random(block.number.shape)
    by_rank = block.by_rank(values)
    for t in range(world.n_topics):
        mine = {doc for s in chosen for doc in world.systems[s][t]}
        columns = {world.place[number][1]: c for c, number in enumerate(block.number[t]) if number >= 0}
        assert set(columns) == mine
        assert block.present[t].sum() == len(mine)
        for i, s in enumerate(chosen):
            ranking = list(world.systems[s][t])
            for doc, c in columns.items():
                rank = ranking.index(doc) + 1 if doc in ranking else 0
                assert block.rank[t, i, c] == rank
                assert block.inverse[t, i, c] == (1 / rank if rank else 0)
            assert by_rank[t, i].tolist() == [
                values[t, columns[ranking[r]]] if r < len(ranking) else 0.0 for r in range(block.depth)
            ]
            back = block.by_column(by_rank)[t, i]
            assert back.tolist() == [v if r else 0.0 for v, r in zip(values[t], block.rank[t, i], strict=True)]


# A function of the ordered judgments


@pytest.mark.long
@FEW
@given(st.sampled_from(list(STRATEGIES)), st.integers(0, 50), st.integers(0, 33), st.booleans())
def test_state_follows_from_the_judgments(strategy: str, seed: int, n: int, proposed: bool) -> None:
    """One by one, loaded at once, and loaded over something else: the same to the last bit."""
    world = World(seed)
    rng = np.random.default_rng(seed)
    engine = Engine(world.candidates, strategy, seed=seed)
    if proposed:
        made = drive(engine, world, n)
    else:
        made = [(int(i), world.truth[i]) for i in rng.permutation(len(world))[:n]]
        for number, relevant in made:
            engine.judge(number, relevant)
    expected = fingerprint(engine)
    loaded = Engine(world.candidates, strategy, seed=seed)
    loaded.load([(int(i), bool(rng.random() < 0.5)) for i in rng.permutation(len(world))[:7]])
    loaded.load(made)
    assert fingerprint(loaded) == expected
    if (following := engine.next()) is not None:
        engine.judge(following, not world.truth[following])
        engine.load(made)
        assert fingerprint(engine) == expected
        assert drive(engine, world) == drive(loaded, world)


@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_every_candidate_is_proposed_once(strategy: str) -> None:
    """And when all are judged, confidence is the sign of the difference of MAP."""
    for seed in range(4):
        world = World(seed)
        world.systems.append(world.systems[0])  # one is there twice
        world.candidates = gather(world.systems)
        engine = Engine(world.candidates, strategy, seed=seed)
        numbers = []
        for _ in range(len(world)):
            number = engine.next()
            assert number is not None
            engine.judge(number, world.truth[number])
            numbers.append(number)
        assert sorted(numbers) == list(range(len(world)))
        assert engine.next() is None
        assert engine.judged == len(world)
        true = np.array([world.mean_ap(s) for s in range(4)])
        np.testing.assert_allclose(engine.expected(), true, atol=1e-12)
        sign = np.sign(np.round(true[:, None] - true, 12))
        np.testing.assert_allclose(engine.confidence(), (1 + sign) / 2, atol=1e-12)
        assert engine.open_pairs() == [(0, 3)]  # the same run twice stays open


@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_skipped_documents_are_not_proposed(strategy: str) -> None:
    world = World(3)
    engine = Engine(world.candidates, strategy)
    made = [number for number, _ in drive(engine, world, 12)]
    skip: list[int] = []
    while (number := engine.next(skip)) is not None:
        assert number not in skip
        assert number not in made
        skip.append(number)
    assert sorted(skip + made) == list(range(len(world)))
    assert engine.next() == skip[0]
    assert engine.next([10**6]) == skip[0]  # no candidate


def test_seeds_decide_among_equal_weights_only() -> None:
    differ = 0
    for seed in range(6):
        world = World(seed, k=2)
        one, two, other = (Engine(world.candidates, "mtc", seed=s) for s in (1, 1, 2))
        made: Judgments = []
        while (number := one.next()) is not None:
            assert two.next() == number
            choice = other.next()
            assert choice is not None
            differ += choice != number
            assert world.mtc(made, number) == pytest.approx(world.mtc(made, choice), rel=1e-9)
            for engine in (one, two, other):
                engine.judge(number, world.truth[number])
            made.append((number, world.truth[number]))
    assert differ


# Strategies by their definitions


def check_greatest(engine: Engine, weights: dict[int, float]) -> None:
    number = engine.next()
    assert number is not None
    assert weights[number] == pytest.approx(max(weights.values()), rel=1e-9, abs=1e-12)


def pair_weights(
    world: World, made: Judgments, pairs: list[tuple[int, int]], which: str, p: Floats
) -> dict[int, float]:
    """The root of the sum over pairs of squared weights, for each unjudged candidate, by double loops."""
    found = {}
    for number, (t, doc) in enumerate(world.place):
        if number in dict(made):
            continue
        rankings, docs, known = world.rankings(t), world.docs(t), world.known(made, t)
        chances = {d: float(p[i]) for i, (topic, d) in enumerate(world.place) if topic == t}
        R = sum(chances.values())
        parts: list[list[float]] = []
        for a, b in pairs:
            if which == "mtc":
                pair = rankings[a], rankings[b]
                parts.append(slow.mtc_parts(*pair, docs, known, doc))
            else:
                parts.append([slow.expected_weight(rankings[a], rankings[b], chances, doc) / R])
                if which == "variance":  # a relevant document also lowers what was found so far, for R grows
                    sums = [slow.expected_numerator(rankings[system], chances) for system in (a, b)]
                    parts[-1][0] -= (sums[0] - sums[1]) / R / R
        size = max(sum(part**2 for part in column) ** 0.5 for column in zip(*parts, strict=True))
        found[number] = size * ((p[number] * (1 - p[number])) ** 0.5 if which == "variance" else 1.0)
    return found


@pytest.mark.parametrize(
    ("strategy", "which"), [("mtc", "mtc"), ("rtc", "mtc"), ("expected", "expected"), ("fusion", "variance")]
)
@pytest.mark.parametrize("seed", range(5))
def test_weights_of_two_systems_are_double_loops(strategy: str, which: str, seed: int) -> None:
    """After every judgment, of documents proposed and others in turn."""
    world = World(seed, k=2)
    rng = np.random.default_rng(seed)
    engine = Engine(world.candidates, strategy, seed=seed)
    made: Judgments = []
    while (number := engine.next()) is not None:
        numbers, chances = engine.probabilities()
        p = np.zeros(len(world))
        p[numbers] = chances
        weights = pair_weights(world, made, [(0, 1)], which, p)
        if which == "mtc":
            assert weights[number] == pytest.approx(world.mtc(made, number))
        check_greatest(engine, weights)
        if rng.random() < 0.5:
            number = int(rng.choice(list(weights)))
        engine.judge(number, world.truth[number])
        made.append((number, world.truth[number]))


@pytest.mark.parametrize(
    ("strategy", "which"), [("mtc", "mtc"), ("rtc", "mtc"), ("expected", "expected"), ("fusion", "variance")]
)
@pytest.mark.parametrize("baseline", [None, "s1"])
def test_weights_of_more_systems_are_sums_over_open_pairs(strategy: str, which: str, baseline: str | None) -> None:
    world = World(8, k=4)
    rng = np.random.default_rng(8)
    engine = Engine(world.candidates, strategy, until=0.8, baseline=baseline)
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    if baseline is not None:
        pairs = [(1, 0), (1, 2), (1, 3)]
    assert engine.pairs() == pairs
    made: Judgments = []
    counts = set()
    for step in range(len(world)):
        if step % EVERY == 0:
            still = engine.open_pairs() or pairs
            counts.add(len(still))
        numbers, chances = engine.probabilities()
        p = np.zeros(len(world))
        p[numbers] = chances
        check_greatest(engine, pair_weights(world, made, still, which, p))
        number = int(rng.choice([i for i in range(len(world)) if i not in dict(made)]))
        engine.judge(number, world.truth[number])
        made.append((number, world.truth[number]))
    assert len(counts) > 1  # some pairs were settled on the way


def test_pool_goes_by_least_rank_and_depth_topic_by_topic() -> None:
    world = World(4)
    for strategy in ("pool", "depth"):
        keys = [
            (world.place[i][0] if strategy == "depth" else 0, world.least_rank(i))
            for i, _ in drive(Engine(world.candidates, strategy, seed=4), world)
        ]
        assert keys == sorted(keys)


def test_rbp_goes_by_summed_weights() -> None:
    world = World(5)

    def weight(number: int) -> float:
        topic, doc = world.place[number]
        return sum(RBPWeight.p ** ranking.index(doc) for ranking in world.rankings(topic) if doc in ranking)

    weights = [weight(i) for i, _ in drive(Engine(world.candidates, "rbp", seed=5), world)]
    assert all(a >= b - 1e-12 for a, b in itertools.pairwise(weights))


def test_hedge_weighs_systems_by_their_losses() -> None:
    world = World(6)
    engine = Engine(world.candidates, "hedge", seed=6)
    made: Judgments = []
    while (number := engine.next()) is not None:
        weights = {
            i: slow.hedge_weight(world.rankings(t), world.candidates.depth, world.known(made, t), HedgeWeight.rate, doc)
            for i, (t, doc) in enumerate(world.place)
            if i not in dict(made)
        }
        check_greatest(engine, weights)
        engine.judge(number, world.truth[number])
        made.append((number, world.truth[number]))


@pytest.mark.parametrize("seed", range(8))
def test_move_to_front_stays_with_a_system_that_yields(seed: int) -> None:
    world = World(seed, k=4)
    topics = [slow.MoveToFront(world.rankings(t)) for t in range(world.n_topics)]
    engine = Engine(world.candidates, "mtf", seed=seed)
    stayed = 0
    while (number := engine.next()) is not None:
        topic, doc = world.place[number]
        stayed += topics[topic].front is not None
        assert doc in topics[topic].allowed()
        topics[topic].judge(doc, world.truth[number])
        engine.judge(number, world.truth[number])
    assert stayed


# What is known of the systems


@pytest.mark.parametrize("steps", [0, EVERY, EVERY + 4, 2 * EVERY + 9])
def test_confidence_counts_the_model_s_uncertainty(steps: int) -> None:
    """The delta method with numerical derivatives of expected MAP by each coefficient."""
    world = World(9, n_topics=5, n=20, depth=14)
    engine = Engine(world.candidates, "fusion")
    made = drive(engine, world, steps)
    block = world.candidates.block()
    place = {int(number): at for at, number in np.ndenumerate(block.number) if number >= 0}
    judged, relevant = (np.zeros(block.number.shape, dtype=bool) for _ in range(2))
    for number, yes in made[: steps - steps % EVERY]:
        judged[place[number]], relevant[place[number]] = True, yes
    model = Grades(block, None, np.array([0.0, 1.0])).fit(judged, relevant.astype(int)).model
    fit, documents = model.fits[0], model.documents
    for number, yes in made:
        judged[place[number]], relevant[place[number]] = True, yes
    P, (T, q) = len(fit.coefficients), fit.effects.shape
    features = documents.features(np.arange(len(documents))).astype(np.float64)

    def moments(x: Floats) -> Moments:
        logits = features @ x[:P] + (features[:, SLOPED] * x[P:].reshape(T, q)[documents.topic]).sum(axis=1)
        p = np.zeros(block.number.shape)
        p[block.present] = expit(logits)
        return Moments(block, np.where(judged, relevant, p))

    best = np.append(fit.coefficients, fit.effects)
    h = 1e-5
    D = np.stack(
        [
            (moments(best + h * axis).expectation - moments(best - h * axis).expectation).mean(axis=0) / (2 * h)
            for axis in np.eye(P + T * q)
        ],
        axis=1,
    )
    # The covariance of coefficients and effects together: effects follow the coefficients, and vary of their own.
    follow = np.concatenate([np.eye(P), -fit.coupling.reshape(T * q, P)])
    joint = follow @ fit.shared @ follow.T
    for topic in range(T):
        own = slice(P + topic * q, P + (topic + 1) * q)
        joint[own, own] += fit.own[topic]
    expectation, covariance = mean_of_topics(moments(best))
    covariance = covariance + D @ joint @ D.T
    np.testing.assert_allclose(engine.expected(), expectation, atol=1e-6)
    found = engine.confidence()
    for a, b in itertools.permutations(range(3), 2):
        deviation = float(covariance[a, a] + covariance[b, b] - 2 * covariance[a, b]) ** 0.5
        expected = NormalDist().cdf(float(expectation[a] - expectation[b]) / deviation)
        assert found[a, b] == pytest.approx(expected, abs=1e-5)


def test_mtc_gives_every_document_one_half() -> None:
    world = World(2)
    engine = Engine(world.candidates, "mtc")
    made = dict(drive(engine, world, 13))
    numbers, p = engine.probabilities()
    assert sorted(numbers.tolist()) == list(range(len(world)))
    for number, chance in zip(numbers.tolist(), p.tolist(), strict=True):
        assert chance == (float(made[number]) if number in made else 0.5)


def test_open_pairs_and_settled() -> None:
    world = World(7)
    engine = Engine(world.candidates, "fusion", until=0.6)
    for step in range(len(world) + 1):
        chance = engine.confidence()
        expected = [(a, b) for a in range(3) for b in range(a + 1, 3) if 0.4 < chance[a, b] < 0.6]
        assert engine.open_pairs() == expected
        assert engine.settled() == (not expected and step >= EVERY)
        if (number := engine.next()) is not None:
            engine.judge(number, world.truth[number])


def test_few_candidates_can_be_settled_before_a_first_fit() -> None:
    engine = Engine(gather([[[0, 1]], [[1, 0]]]), "fusion")
    engine.judge(0, True)
    assert not engine.settled()
    engine.judge(1, False)
    assert engine.settled()
    assert engine.confidence()[0, 1] == 1


@pytest.mark.long
def test_forecast() -> None:
    """None before a first fit, nothing when all is settled, else a range of so many documents as there are."""
    kinds = set()
    for until in (0.6, 0.9, NEARLY_ONE):
        world = World(10, n_topics=6, n=30, depth=20)
        engine = Engine(world.candidates, "fusion", until=until)
        for step in range(len(world) + 1):
            forecast = engine.forecast()
            if step < EVERY:
                assert forecast is None
            elif not engine.open_pairs() or step == len(world):
                assert forecast == (0, 0)
                kinds.add("settled")
            else:
                assert forecast is not None
                assert 1 <= forecast[0] <= forecast[1] <= len(world) - step
                kinds.add("open")
            if (number := engine.next()) is not None:
                engine.judge(number, world.truth[number])
    assert kinds == {"settled", "open"}
    mtc = Engine(World(10).candidates, "mtc")
    drive(mtc, World(10), 12)
    assert mtc.forecast() is None


def test_forecast_grows_with_the_confidence_asked_for() -> None:
    world = World(10, n_topics=6, n=30, depth=20)
    made = drive(Engine(world.candidates, "fusion"), world, EVERY)
    found = []
    for until in (0.8, 0.95, 0.999):
        engine = Engine(world.candidates, "fusion", until=until)
        engine.load(made)
        forecast = engine.forecast()
        assert forecast is not None
        found.append(forecast)
    assert found == sorted(found)
    assert found[0] < found[-1]


def test_some_systems_only() -> None:
    """Candidates of the others are no candidates then."""
    world = World(11, k=4)
    engine = Engine(world.candidates, "fusion", runs=[3, 1])
    assert engine.names == ["s3", "s1"]
    mine = {i for i, (t, doc) in enumerate(world.place) if doc in world.systems[3][t] or doc in world.systems[1][t]}
    assert {number for number, _ in drive(engine, world)} == mine
    outside = next(i for i in range(len(world)) if i not in mine)
    with pytest.raises(FathomsError, match=f"no candidate {outside}"):
        engine.judge(outside, True)


def test_clues_reach_the_model() -> None:
    """Labels are by candidate, in whichever block they end up: the truth as a label lifts what is relevant."""
    world = World(12, k=4, n_topics=8)
    labels = np.array(world.truth, dtype=np.float64)[:, None]
    for systems in (None, [2, 0]):
        engine = Engine(world.candidates, "fusion", labels=labels, runs=systems)
        plain = Engine(world.candidates, "fusion", runs=systems)
        made = drive(engine, world, 2 * EVERY)
        plain.load(made)
        numbers, p = engine.probabilities()
        rest = ~np.isin(numbers, [number for number, _ in made])
        truth = np.array(world.truth)[numbers][rest]
        better = p[rest] - plain.probabilities()[1][rest]
        assert better[truth].mean() > 0.05
        assert better[~truth].mean() < 0


# Errors


def test_errors() -> None:
    world = World(0)
    found: Candidates = world.candidates
    with pytest.raises(FathomsError, match=r"expected one of fusion, .*found 'best'"):
        Engine(found, "best")
    for until in (0.5, 1.0, 0.2, float("nan")):
        with pytest.raises(FathomsError, match=r"between 0\.5 and 1"):
            Engine(found, until=until)
    with pytest.raises(FathomsError, match="at least two runs"):
        Engine(found, runs=[1])
    with pytest.raises(FathomsError, match="baseline 's9' is not among the runs: s0"):
        Engine(found, baseline="s9")
    engine = Engine(found)
    engine.judge(2, True)
    before = fingerprint(engine)
    with pytest.raises(FathomsError, match="candidate 2 is judged already"):
        engine.judge(2, False)
    for number in (-1, len(world)):
        with pytest.raises(FathomsError, match=f"no candidate {number}"):
            engine.judge(number, False)
    assert fingerprint(engine) == before


@pytest.mark.parametrize("bad", [[(1, True), (1, True)], [(10**6, True)]])
@pytest.mark.parametrize("extra", [0, 12])
def test_a_load_that_fails_changes_nothing(bad: Judgments, extra: int) -> None:
    world = World(0)
    engine = Engine(world.candidates)
    drive(engine, world, 5)
    before = fingerprint(engine)
    with pytest.raises(FathomsError, match="candidate"):
        engine.load([(i, True) for i in range(20, 20 + extra)] + bad)
    assert fingerprint(engine) == before
