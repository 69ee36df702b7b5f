"""A pair of runs has one range and one answer to "can judging reverse it?", whoever else is in the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fathoms as fm
from fathoms.data.simulate import simulate
from fathoms.pairs import difference_ranges as ranges
from fathoms.questions.compare.result import Pair
from tests.support import real

MEASURES = ["AP", "nDCG@10", "RBP(p=0.8)", "RR", "ERR"]


def answers(qrels: Any, runs: Any, measure: str, **options: Any) -> dict[frozenset[str], Pair]:
    """The pairs of runs by their names."""
    result = fm.Experiment(qrels, runs, workers=1).compare(measure, draws=0, **options)
    return {frozenset((pair.run_a, pair.run_b)): pair for pair in result.pairs}


def same(one: Pair, other: Pair) -> bool:
    """The same range, but for rounding, and the same answer."""
    other = other if other.run_a == one.run_a else other.turned()
    ends = [(one.diff_low, other.diff_low), (one.diff_high, other.diff_high)]
    return one.reversible == other.reversible and all(
        a is not None and b is not None and abs(a - b) < 1e-12 for a, b in ends
    )


@pytest.mark.long
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("digits", [9, 1])
def test_company_changes_no_pair(measure: str, digits: int) -> None:
    """Of runs without ties, and with many."""
    world = simulate(systems=9, n_topics=4, depth=60, max_grade=2, seed=digits)
    runs = {name: run.with_columns(pl.col("score").round(digits)) for name, run in world.runs.items()}
    in_company = answers(world.qrels, runs, measure)
    names = list(runs)
    for i in range(len(names) - 1):
        two = {name: runs[name] for name in names[i : i + 2]}
        ((key, alone),) = answers(world.qrels, two, measure).items()
        assert same(alone, in_company[key]), (alone, in_company[key])


@pytest.mark.parametrize("measure", ["AP", "nDCG", "ERR", "Q"])
def test_among_too_many_a_range_is_left_empty_or_made_but_never_another(
    measure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = simulate(systems=6, n_topics=4, depth=40, max_grade=2, seed=3)
    few = answers(world.qrels, world.runs, measure)
    for name in ("BEST", "BEST_QUADRATIC", "PAIRS"):
        monkeypatch.setattr(ranges, name, 0)
    with pytest.warns(fm.FathomsWarning, match=f"{measure}: the ranges of .* --ranges all makes them"):
        many = answers(world.qrels, world.runs, measure)
    made = answers(world.qrels, world.runs, measure, ranges="all")
    for key, pair in few.items():
        assert same(pair, made[key])
        assert many[key].diff_low is None
        assert many[key].reversible in (None, pair.reversible)


@pytest.mark.long
def test_possible_ranks_are_what_the_pairs_leave() -> None:
    world = simulate(systems=8, n_topics=4, depth=30, max_grade=2, seed=4)
    exp = fm.Experiment(world.qrels, world.runs)
    compared, ranked = exp.compare(MEASURES, draws=0), exp.rank(MEASURES, draws=0)
    proved = 0
    for measure in MEASURES:
        pairs = [pair for pair in compared.pairs if pair.measure == measure and pair.reversible == "no"]
        proved += len(pairs)
        winners = [pair.run_a if pair.diff > 0 else pair.run_b for pair in pairs]
        losers = [pair.run_b if pair.diff > 0 else pair.run_a for pair in pairs]
        for one in ranked.of(measure):
            assert one.rank_low == 1 + losers.count(one.run)
            assert one.rank_high is not None
            assert one.rank_high <= 8 - winners.count(one.run)
    assert proved


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trec8-adhoc", "trec-covid-r1"])
@pytest.mark.parametrize("measure", MEASURES)
def test_company_changes_no_pair_of_real_runs(name: str, measure: str) -> None:
    """200 random pairs, each alone, among 9 runs and among 40."""
    folder = real.collection(name)
    files = sorted((folder / "runs").iterdir())
    rng = np.random.default_rng(0)
    first, second = np.triu_indices(9, 1)
    company: list[Path] = [files[i] for i in rng.choice(len(files), 40, replace=False)]
    among_40 = answers(folder / "qrels.txt", company, measure)
    for _ in range(10):
        nine = [company[i] for i in rng.choice(40, 9, replace=False)]
        among_9 = answers(folder / "qrels.txt", nine, measure)
        for i in rng.choice(36, 20, replace=False).tolist():
            two = [nine[first[i]], nine[second[i]]]
            ((key, alone),) = answers(folder / "qrels.txt", two, measure).items()
            assert same(alone, among_9[key]), (alone, among_9[key])
            assert same(alone, among_40[key]), (alone, among_40[key])
