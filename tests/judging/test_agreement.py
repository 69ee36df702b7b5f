"""Whether assessors agree, how many second judgments it takes to know, and what another assessor would have changed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fathoms as fm
from fathoms.base.errors import FathomsError
from fathoms.judging.agreement import (
    Rating,
    SecondGrades,
    agreement,
    documents_for_kappa,
    drawn_by_first_grade,
    kappa,
)
from fathoms.judging.agreement_words import opinion_sentences
from fathoms.judging.events import JudgingSettings
from fathoms.judging.other_assessors import ENOUGH, doubt_of, second_chances
from fathoms.judging.session import Session
from fathoms.judging.terminal import upcoming
from tests.judging.test_beliefs import GradedWorld, World
from tests.judging.web.test_web import Place

Floats = NDArray[np.float64]
OTHERS = np.array([[0.9, 0.08, 0.02], [0.25, 0.6, 0.15], [0.05, 0.2, 0.75]])  # P(h | g)


def rated(cells: list[list[int]]) -> list[Rating]:
    """Ann's and Bob's grades, so many of each pair."""
    return [(("ann", a), ("bob", b)) for a, row in enumerate(cells) for b, n in enumerate(row) for _ in range(n)]


def fleiss_cohen_everitt(cells: list[list[int]]) -> float:
    """The standard error as printed in 1969, equation 13, for kappa without weights."""
    n = sum(map(sum, cells))
    p = [[one / n for one in row] for row in cells]
    k = range(len(p))
    rows, columns = [sum(p[i]) for i in k], [sum(p[i][j] for i in k) for j in k]
    observed, chance = sum(p[i][i] for i in k), sum(rows[i] * columns[i] for i in k)
    own = sum(p[i][i] * ((1 - chance) - (columns[i] + rows[i]) * (1 - observed)) ** 2 for i in k)
    others = (1 - observed) ** 2 * sum(p[i][j] * (columns[i] + rows[j]) ** 2 for i in k for j in k if i != j)
    last = (observed * chance - 2 * chance + observed) ** 2
    return float(((own + others - last) / (n * (1 - chance) ** 4)) ** 0.5)


@pytest.mark.parametrize(
    "cells", [[[15, 10], [5, 20]], [[50, 3, 1], [4, 20, 6], [0, 3, 9]], [[200, 5], [4, 12]], [[3, 4], [5, 2]]]
)
def test_standard_error_is_that_of_fleiss_cohen_and_everitt(cells: list[list[int]]) -> None:
    ratings = rated(cells)
    found = agreement(ratings)
    assert found is not None
    assert found.error == pytest.approx(fleiss_cohen_everitt(cells), rel=1e-9)
    assert (found.twice, found.alike) == (len(ratings), sum(cells[i][i] for i in range(len(cells))))
    without = [kappa(ratings[:i] + ratings[i + 1 :]) for i in range(len(ratings))]
    spread = np.std([one for one in without if one is not None]) * (len(ratings) - 1) / len(ratings) ** 0.5
    assert found.error == pytest.approx(spread, rel=0.15)  # the jackknife


def test_standard_error_of_more_people() -> None:
    """By the jackknife, and by drawing documents again within each two people."""
    rng = np.random.default_rng(0)
    ratings: list[Rating] = []
    for one, other in itertools.combinations(("ann", "bob", "cleo"), 2):
        true = rng.random(60) < 0.4
        a, b = ((rng.random(60) < np.where(true, 0.85, 0.1)).astype(int) for _ in range(2))
        ratings += [((one, x), (other, y)) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    found = agreement(ratings)
    assert found is not None
    without = [kappa(ratings[:i] + ratings[i + 1 :]) or 0.0 for i in range(len(ratings))]
    assert found.error == pytest.approx(np.std(without) * 179 / 180**0.5, rel=0.1)
    drawn = [kappa([ratings[i] for i in rng.integers(0, 180, 180)]) or 0.0 for _ in range(300)]
    assert found.error == pytest.approx(np.std(drawn), rel=0.15)


# Documents drawn by first grade


def second_of(first: NDArray[np.int64], chances: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    found: NDArray[np.int64] = (rng.random(len(first))[:, None] > np.cumsum(chances, axis=1)[first]).sum(axis=1)
    return found


def weighted_kappa(of_first: dict[int, int], pairs: list[tuple[int, int]]) -> float:
    """Each document judged twice stands for as many as there are of its first grade for each judged twice."""
    weight = {g: n / sum(first == g for first, _ in pairs) for g, n in of_first.items()}
    total = sum(of_first.values())
    alike = sum(weight[a] for a, b in pairs if a == b) / total
    seconds = {h: sum(weight[a] for a, b in pairs if b == h) / total for h in of_first}
    chance = sum(of_first[g] / total * seconds[g] for g in of_first)
    return (alike - chance) / (1 - chance)


def test_cells_are_weighted_by_first_grade() -> None:
    pairs = [(0, 0)] * 20 + [(0, 1)] * 3 + [(1, 1)] * 12 + [(1, 0)] * 5 + [(2, 2)] * 4 + [(2, 1)]
    of_first = {0: 400, 1: 60, 2: 5}
    found = SecondGrades(of_first, pairs).agreement()
    assert found is not None
    assert found.kappa == pytest.approx(weighted_kappa(of_first, pairs))
    assert (found.twice, found.alike) == (45, 36)
    # Where all are judged twice it is Cohen's.
    everything = SecondGrades({0: 23, 1: 17, 2: 5}, pairs).agreement()
    assert everything is not None
    assert everything.kappa == pytest.approx(kappa([(("ann", a), ("bob", b)) for a, b in pairs]))
    # A grade of which nothing is judged twice is left out.
    part = SecondGrades({**of_first, 3: 7}, pairs).agreement()
    assert part is not None
    assert part == found
    for nothing in (SecondGrades({}), SecondGrades({0: 9}), SecondGrades({0: 9}, [(0, 0)])):
        assert nothing.agreement() is None
        assert nothing.interval() is None
    assert SecondGrades({}).needed(0.1) == {}


@pytest.mark.parametrize(("shares", "level"), [((0.7, 0.3), 0.95), ((0.9, 0.1), 0.95), ((0.8, 0.15, 0.05), 0.8)])
def test_so_many_documents_give_the_error_asked_for(shares: tuple[float, ...], level: float) -> None:
    """With kappa 0.6, as is assumed: 400 samples of documents drawn by first grade."""
    share = np.array(shares)
    chances = 0.6 * np.eye(len(share)) + 0.4 * share
    n = documents_for_kappa(0.15, shares, level)
    rng = np.random.default_rng(1)
    first = np.repeat(np.arange(len(share)), n)
    of_first = {g: round(1e6 * one) for g, one in enumerate(shares)}
    found = []
    for _ in range(400):
        one = SecondGrades(of_first, zip(first.tolist(), second_of(first, chances, rng).tolist(), strict=True))
        result = one.agreement()
        assert result is not None
        found.append((result.kappa, result.error))
    values, errors = np.array(found).T
    z = {0.95: 1.96, 0.8: 1.282}[level]
    assert np.mean(values) == pytest.approx(0.6, abs=0.02)
    assert z * np.std(values) == pytest.approx(0.15, rel=0.12)
    assert np.median(errors) == pytest.approx(np.std(values), rel=0.12)
    # At random it takes more, the more so the fewer are relevant.
    cells = share[:, None] * chances
    assert sum(n) < (z * fleiss_cohen_everitt((cells * 1e9).round().tolist()) * 1e9**0.5 / 0.15) ** 2


@pytest.mark.long
def test_intervals_cover() -> None:
    """In sessions that judge twice as many as it takes, by what they have seen: 95% of 240 samples, give or take."""
    rng = np.random.default_rng(2)
    for shares, true, error in (((0.9, 0.1), 0.6, 0.2), ((0.7, 0.3), 0.85, 0.15)):
        share = np.array(shares)
        chances = true * np.eye(2) + (1 - true) * share
        covered = wide = 0.0
        for _ in range(240):
            first = rng.choice(2, 400, p=share)
            second = second_of(first, chances, rng).tolist()
            all_of = dict(enumerate(first.tolist()))
            seen: dict[int, int] = {}
            while more := [i for i in drawn_by_first_grade(all_of, seen, lambda i: i, error) if i not in seen]:
                seen |= {i: second[i] for i in more[:10]}
            of_first = {g: int((first == g).sum()) for g in range(2)}
            interval = SecondGrades(of_first, [(all_of[i], h) for i, h in seen.items()]).interval()
            assert interval is not None
            W = np.array([of_first[0], of_first[1]]) / 400
            chance = float(W @ (W @ chances))
            covered += interval[0] <= (float(W @ chances.diagonal()) - chance) / (1 - chance) <= interval[1]
            wide += (interval[1] - interval[0]) / 2
        assert 0.91 <= covered / 240 <= 0.99
        assert 0.7 * error < wide / 240 < 1.05 * error  # less where kappa is greater than was assumed


def test_those_with_the_least_lots_are_drawn() -> None:
    first = {i: int(i % 10 == 0) for i in range(1000)}
    lots: Callable[[int], int] = {
        i: int(lot) for i, lot in enumerate(np.random.default_rng(0).permutation(1000))
    }.__getitem__
    drawn = drawn_by_first_grade(first, {}, lots, 0.2)
    for grade in (0, 1):
        mine = sorted((i for i in first if first[i] == grade), key=lots)
        n = sum(first[i] == grade for i in drawn)
        assert set(mine[:n]) == {i for i in drawn if first[i] == grade}
        assert 5 <= n < len(mine)
    fewer = set(drawn_by_first_grade(first, {}, lots, 0.3))
    assert fewer < set(drawn)
    assert drawn_by_first_grade({}, {}, lots, 0.1) == []
    assert sorted(drawn_by_first_grade({1: 0, 2: 0, 3: 1}, {}, lots, 0.1)) == [1, 2, 3]  # not more than there are


def test_bad_questions() -> None:
    for error in (0.0, 1.0, -0.1):
        with pytest.raises(FathomsError, match="must lie between 0 and 1"):
            documents_for_kappa(error)
        with pytest.raises(FathomsError, match="error of kappa must lie between 0 and 1"):
            JudgingSettings(kappa_error=error)
    with pytest.raises(FathomsError, match="add up to 1"):
        documents_for_kappa(0.1, [0.5, 0.2])
    with pytest.raises(FathomsError, match="not both"):
        JudgingSettings(kappa_error=0.1, judge_twice=0.1)
    with pytest.raises(FathomsError, match="two people must judge some documents"):
        JudgingSettings(count_disagreement=True)


# Had another assessor judged


def moved(world: World, others: Floats) -> World:
    """The same world with other chances, and the same documents."""
    found = World.__new__(World)
    found.__dict__ |= world.__dict__
    found.topics = [
        type(topic)(
            topic.rankings,
            {doc: (np.array(one) @ others).tolist() for doc, one in topic.chances.items()},
            topic.elsewhere,
        )
        for topic in world.topics
    ]
    return found


@pytest.mark.parametrize("known", [1, 3, 4])
@pytest.mark.parametrize("measure", ["P@3", "RBP(p=0.5,gain=exp)@3", "DCG@4", "SDCG(gain=binary)@3"])
def test_doubt_is_exact_for_weighted_sums(measure: str, known: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fathoms.judging.beliefs.DENSE", 0 if known == 3 else 16)  # sparse matrices too
    world = World(known, known=known, n=4)
    beliefs = world.beliefs(measure)
    doubt = doubt_of(beliefs, world.chance, OTHERS)
    (before, _), (after, covariance) = world.true(measure), moved(world, OTHERS).true(measure)
    np.testing.assert_allclose(beliefs.means() + doubt.shift, after, atol=1e-12)
    np.testing.assert_allclose(doubt.shift, after - before, atol=1e-12)
    np.testing.assert_allclose(beliefs.covariance() + doubt.covariance, covariance, atol=1e-12)
    nothing = doubt_of(beliefs, world.chance, np.eye(3))
    np.testing.assert_allclose(nothing.shift, 0, atol=1e-12)
    np.testing.assert_allclose(nothing.covariance, 0, atol=1e-12)


@pytest.mark.parametrize(
    ("measure", "off"), [("ERR@4", 0.1), ("RR", 0.15), ("AP", 0.15), ("nDCG@4", 0.1), ("Q", 0.25), ("AP@3", 0.15)]
)
def test_doubt_is_close_for_others(measure: str, off: float) -> None:
    """All documents judged: standard deviations of differences, and shifts in terms of them, over random worlds."""
    ratios, shifts = [], []
    for seed in range(12):
        world = World(seed, known=0, n=4, k=2)
        for topic in world.topics:
            topic.chances.update({doc: np.eye(3)[int(np.argmax(one))].tolist() for doc, one in topic.chances.items()})
        world.chance = (world.chance == world.chance.max(axis=0)).astype(np.float64)
        beliefs = world.beliefs(measure)
        doubt = doubt_of(beliefs, world.chance, OTHERS)
        (before, _), (after, covariance) = world.true(measure), moved(world, OTHERS).true(measure)
        apart = np.array([1.0, -1.0])
        true = float(apart @ covariance @ apart) ** 0.5
        if true < 1e-9:
            continue
        ratios.append(float(apart @ doubt.covariance @ apart) ** 0.5 / true)
        shifts.append(float(apart @ (doubt.shift - (after - before))) / true)
    assert abs(float(np.median(ratios)) - 1) < off
    assert float(np.sqrt(np.mean(np.square(shifts)))) < 2 * off


def test_chances_of_second_grades() -> None:
    pairs = [(0.0, 0.0)] * 16 + [(0.0, 1.0)] * 2 + [(2.0, 1.0)]
    level: Callable[[float], int] = int
    assert second_chances(pairs, level, 3) is None  # 19 are too few
    found = second_chances([*pairs, (2.0, 2.0)], level, 3)
    assert found is not None
    assert len(pairs) + 1 == ENOUGH
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert found[0, 0] == pytest.approx((16 + 0.85 + 0.15 * 0.8) / 19)
    assert found[1, 1] == pytest.approx(0.85 + 0.15 * 0.15)  # of grade 1 nothing is known
    assert found[2, 1] > found[0, 1]


@pytest.mark.long
def test_another_assessor_against_judging_again() -> None:
    """Redraw all judged grades by P(h | g) and tell the engine: mean differences move as the formula says."""
    world = GradedWorld(3, n_topics=10, n=20, depth=12)
    rng = np.random.default_rng(0)
    engine = world.engine("fusion", "AP")
    order = rng.permutation(len(world.truth))[:90].tolist()
    engine.load([(i, world.truth[i]) for i in order])
    before = engine.expected()
    others = np.array([[0.9, 0.1], [0.2, 0.8]])
    doubt = doubt_of(engine.beliefs[0], engine.beliefs[0].chance, others)
    means = []
    for _ in range(25):
        grades = rng.random(len(order)) < others[:, 1][[int(world.truth[i] >= 1) for i in order]]
        engine.load([(i, float(grade)) for i, grade in zip(order, grades.tolist(), strict=True)])
        means.append(engine.expected() - before)
    for a, b in itertools.combinations(range(3), 2):
        drawn = np.array([one[a] - one[b] for one in means])
        expected = float(doubt.shift[a] - doubt.shift[b])
        assert abs(float(drawn.mean()) - expected) < 3 * float(drawn.std()) / 25**0.5 + 0.15 * abs(expected)


# Sessions


@pytest.fixture
def begin(tmp_path: Path) -> Callable[..., Session]:
    rng = np.random.default_rng(5)
    runs = {
        name: {str(t): {f"d{i}": float(rng.random() + (i % 3 == 0) * skill) for i in range(30)} for t in range(8)}
        for name, skill in (("good", 0.6), ("bad", 0.1))
    }

    def make(name: str = "s.db", resume: bool = False, **how: Any) -> Session:
        return fm.Experiment(None, runs).judge(tmp_path / name, resume=resume, **how)

    return make


def truth(document: str) -> int:
    return int(int(document[1:]) % 3 == 0)


def judge(session: Session, n: int) -> None:
    """Ann judges n documents; she is always right."""
    for _ in range(n):
        task = session.next("ann")
        assert task is not None
        session.grade(task.topic, task.document, truth(task.document), "ann")


def second(session: Session, wrong: int = 7) -> int:
    """Bob judges all that waits for him; he is wrong in every seventh case."""
    n = 0
    while waiting := session.state.waiting("bob"):
        topic, document = waiting[0]
        n += 1
        session.grade(topic, document, truth(document) ^ (n % wrong == 0), "bob")
    return n


@pytest.mark.long
def test_a_session_judges_twice_what_kappa_takes(begin: Callable[..., Session]) -> None:
    session = begin(kappa_error=0.25, depth=30)
    nothing = "Kappa is not known yet: no document is judged twice."
    few = "There are too few judged documents for kappa to +-0.25."
    assert opinion_sentences(session)[0] == f"{nothing} {few}"
    judge(session, 5)
    assert opinion_sentences(session)[0] == f"{nothing} 5 second judgments still to come. {few}"
    judge(session, 85)
    waiting = session.state.waiting("bob")
    assert session.state.waiting("ann") == []
    assert 20 < len(waiting) < 70
    assert len(session.state.awaiting_second) == len(waiting)
    more = f"About {len(waiting)} more second judgments would give kappa to +-0.25."
    assert opinion_sentences(session)[0] == f"{nothing} {more}"
    assert 10 < sum(truth(document) for _, document in waiting) < len(waiting) - 10
    following = session.next("bob")
    assert following is not None
    assert following.id not in waiting  # first grades come first
    session.close()
    again = begin(kappa_error=0.25, depth=30, resume=True)
    assert again.state.waiting("bob") == waiting
    outside = next(document for document in again.state.records if document not in waiting)
    with pytest.raises(FathomsError, match="already, from ann"):
        again.grade(*outside, 1, "bob")
    made = second(again)
    assert 0.8 * len(waiting) < made < 1.5 * len(waiting)  # what Bob says changes how many it takes
    assert len(again.state.awaiting_second) == 0
    found, interval = again.kappa(), again.kappa_interval()
    assert found is not None
    assert interval is not None
    assert interval[0] < found.kappa < interval[1]
    assert (interval[1] - interval[0]) / 2 < 0.3
    assert "drawn and weighted by first grade: kappa" in opinion_sentences(again)[0]
    assert opinion_sentences(again)[0].endswith(f"({interval[0]:.2f} to {interval[1]:.2f}).")
    assert again.undo("bob") is not None
    assert len(again.state.waiting("bob")) == 1
    again.close()


def test_second_grades_follow_at_the_end(begin: Callable[..., Session]) -> None:
    session = begin(kappa_error=0.3, depth=30, confidence=1 - 1e-9)
    judge(session, 40)
    task, _ = upcoming(session, 40, "bob")  # the budget is used up
    assert task is not None
    assert task.id == session.state.waiting("bob")[0]
    second(session)
    assert upcoming(session, 40, "bob") == (None, "The budget of 40 judgments is used up.")
    session.close()


def test_second_grades_come_last_on_the_page(tmp_path: Path) -> None:
    here = Place(tmp_path / "s.db", budget=4, kappa_error=0.3)
    first: list[str] = []
    for name in ("ann", "bob", "ann", "ann"):
        document = here.take(name)
        assert document is not None
        assert document not in first
        here.grade(name, document, len(first) % 2)
        first.append(document)
    again = here.take("bob")  # the budget is used up
    assert again in (first[0], first[2], first[3])
    assert here.take("ann") == first[1]
    here.service.close()


def test_what_is_said_of_agreement(begin: Callable[..., Session]) -> None:
    session = begin(judge_twice=0.5, depth=30, measures=["P@10"])
    judge(session, 12)
    second(session)
    few = len(session.state.judged_twice)
    assert 0 < few < ENOUGH
    assert session.with_other_assessors() is None
    assert f"it takes {ENOUGH} documents that were judged twice, and there are {few}." in opinion_sentences(session)[1]
    judge(session, 60)
    second(session)
    alike, others = opinion_sentences(session)
    found = re.fullmatch(
        r"Two assessors agreed on (\d+) of (\d+) documents: kappa (\d\.\d\d) \((\d\.\d\d) to (\d\.\d\d)\)\.", alike
    )
    assert found
    kappa_, interval = session.kappa(), session.kappa_interval()
    assert kappa_ is not None
    assert interval is not None
    assert [int(one) for one in found.groups()[:2]] == [kappa_.alike, len(session.state.judged_twice)]
    assert [float(one) for one in found.groups()[2:]] == pytest.approx([kappa_.kappa, *interval], abs=0.005)
    opinions = session.with_other_assessors()
    assert opinions is not None
    (one,) = opinions
    assert one.confidence == session.pairs()[0].confidence
    assert one.deviation_with_others > one.deviation
    assert one.with_others < one.confidence
    assert abs(one.difference_with_others) < abs(one.difference)
    expected = dict(session.expected())
    assert one.difference == pytest.approx(expected[one.better] - expected[one.other])
    assert others.startswith(
        f"Had another assessor judged, {one.better} would be ahead of {one.other} by P@10 with probability "
        f"{one.with_others:.2f} instead of {one.confidence:.2f}."
    )
    session.close()


def test_disagreement_counts(begin: Callable[..., Session]) -> None:
    """A pair is settled when it would be by another assessor's judgments too, and not before that is known."""
    session = begin(judge_twice=0.5, depth=30, count_disagreement=True, confidence=0.8)
    states = set()
    for _ in range(12):
        judge(session, 8)
        second(session)
        engine, opinions = session.engine, session.with_other_assessors()
        if opinions is None:
            assert not session.settled()
            assert session.pairs()[0].confidence == max(engine.confidence()[0, 1], engine.confidence()[1, 0])
        else:
            chance = opinions[0].with_others
            assert session.pairs()[0].confidence == max(chance, 1 - chance)
            assert session.settled() == (engine.settled() and max(chance, 1 - chance) >= 0.8)
        states.add((opinions is not None, engine.settled(), session.settled()))
    assert (False, True, False) in states
    assert (True, True, True) in states
    session.close()
