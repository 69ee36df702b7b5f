"""Rank-biased overlap with ties, against the paper's own example, all orders of the ties, and all that may follow."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fathoms as fm
from fathoms.base.choices import RANK_TIES, RankTies
from fathoms.inference.rank_overlap import RBO, rank_biased_overlap, rbo

Ranking = list[list[str]]


def orders(ranking: Ranking) -> Iterator[list[str]]:
    """All rankings without ties that it may stand for."""
    for groups in itertools.product(*map(itertools.permutations, ranking)):
        yield [item for group in groups for item in group]


def random_rankings(seed: int, many: int, items: str = "abcdefgh") -> Iterator[tuple[Ranking, Ranking]]:
    rng = np.random.default_rng(seed)

    def ranking() -> Ranking:
        listed = list(rng.permutation(list(items))[: rng.integers(1, 7)])
        groups: Ranking = [[listed[0]]]
        for item in listed[1:]:
            if rng.random() < 0.4 and len(groups[-1]) < 3:
                groups[-1].append(item)
            else:
                groups.append([item])
        return groups

    for _ in range(many):
        yield ranking(), ranking()


def untied(a: list[str], b: list[str], p: float) -> tuple[float, float]:
    """Extrapolated and least RBO by Webber, Moffat and Zobel (2010), eqs. 32 and 11, depth by depth."""
    if len(a) > len(b):
        a, b = b, a
    s, length = len(a), len(b)
    X = [len(set(a[:d]) & set(b[:d])) for d in range(length + 1)]
    first = sum(X[d] / d * p**d for d in range(1, length + 1))
    second = sum(X[s] * (d - s) / (s * d) * p**d for d in range(s + 1, length + 1))
    ext = (1 - p) / p * (first + second) + ((X[length] - X[s]) / length + X[s] / s) * p**length
    further = sum(X[length] / d * p**d for d in range(length + 1, 2000))
    return ext, (1 - p) / p * (first + further)


def above(ranking: Ranking, item: str, depth: int, rule: RankTies) -> float:
    """How much of an item stands at this depth or above, by counting the orders of all ties."""
    if rule == "w":
        before = itertools.takewhile(lambda group: item not in group, ranking)
        listed = any(item in group for group in ranking)
        return float(listed and sum(map(len, before)) < depth)
    ways = [item in order[:depth] for order in orders(ranking)]
    return sum(ways) / len(ways)


def agreements(x: Ranking, y: Ranking, rule: RankTies) -> list[float]:
    """At each depth of two rankings of one length: Corsi and Urbano's definitions item by item."""
    items = {item for group in x + y for item in group}
    by_depth = []
    for d in range(1, sum(map(len, x)) + 1):
        of_x, of_y = ([above(ranking, item, d, rule) for item in items] for ranking in (x, y))
        both = sum(i * j for i, j in zip(of_x, of_y, strict=True))
        size = {
            "w": (sum(of_x) + sum(of_y)) / 2,
            "a": d,
            "b": math.sqrt(sum(i * i for i in of_x) * sum(j * j for j in of_y)),
        }[rule]
        by_depth.append(both / size)
    return by_depth


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("a", (0.6922853, 0.3310519, 0.8930692)),
        ("w", (0.7068257, 0.3429684, 0.9049857)),
        ("b", (0.7207131, 0.3509163, 0.9129336)),
    ],
)
def test_the_authors_own_example(rule: RankTies, expected: tuple[float, ...]) -> None:
    x: list[Any] = ["red", {"blue", "green"}, "yellow", "pink"]
    y: list[Any] = [{"blue", "red"}, "white", {"yellow", "black", "purple"}, "green"]
    value = fm.rbo(x, y, p=0.95, ties=rule)
    assert (*value,) == pytest.approx(expected, abs=5e-8)
    assert value.res == pytest.approx(0.5620173, abs=5e-8)
    assert (*fm.rbo(y, x, p=0.95, ties=rule),) == pytest.approx((*value,))


@pytest.mark.parametrize("rule", RANK_TIES)
def test_without_ties_it_is_webbers(rule: RankTies) -> None:
    for x, y in random_rankings(1, 60):
        a, b = ([item for group in ranking for item in group] for ranking in (x, y))
        value = rbo(a, b, 0.8, rule)
        assert (value.ext, value.min) == pytest.approx(untied(a, b, 0.8))


def test_a_is_the_mean_over_all_orders_of_the_ties() -> None:
    for x, y in random_rankings(2, 60):
        means = np.mean([untied(a, b, 0.8) for a in orders(x) for b in orders(y)], axis=0)
        value = rbo(x, y, 0.8, "a")
        assert value.min == pytest.approx(means[1])
        if sum(map(len, x)) == sum(map(len, y)):  # else an agreement is extrapolated, and not each order's own
            assert value.ext == pytest.approx(means[0])


@pytest.mark.parametrize("rule", RANK_TIES)
def test_rankings_of_one_length_are_summed_over_their_agreements(rule: RankTies) -> None:
    p = 0.8
    for x, y in random_rankings(3, 120):
        if sum(map(len, x)) != sum(map(len, y)):
            continue
        by_depth = agreements(x, y, rule)
        total = (1 - p) / p * sum(agreement * p**d for d, agreement in enumerate(by_depth, 1))
        assert rbo(x, y, p, rule).ext == pytest.approx(total + by_depth[-1] * p ** len(by_depth))


@pytest.mark.parametrize("rule", RANK_TIES)
def test_whatever_follows_stays_within_the_bounds(rule: RankTies) -> None:
    rng = np.random.default_rng(4)
    for x, y in random_rankings(4, 40):
        bounds = rbo(x, y, 0.8, rule)
        assert bounds.min <= bounds.ext + 1e-12
        assert bounds.ext <= bounds.max + 1e-12
        for _ in range(20):
            longer = []
            for ranking in (x, y):
                listed = {item for group in ranking for item in group}
                more = [item for item in rng.permutation(list("abcdefghijkl")) if item not in listed]
                longer.append([*ranking, *([item] for item in more)])
            value = rbo(longer[0], longer[1], 0.8, rule)
            assert bounds.min - 1e-12 <= value.min
            assert value.max <= bounds.max + 1e-12


def test_a_ranking_agrees_with_itself_but_for_what_its_ties_hide() -> None:
    for x, _ in random_rankings(5, 20):
        assert rbo(x, x, 0.9, "b").ext == pytest.approx(1)
        assert rbo(x, x, 0.9, "w").ext == pytest.approx(1)
        assert rbo(x, x, 0.9, "a").ext <= 1 + 1e-12
    assert rbo([["a", "b"]], [["b", "a"]], 0.9, "a").ext < 1


def test_many_pairs_at_once_are_the_same_as_each() -> None:
    for x, y in random_rankings(6, 40):
        a, b = ([item for group in ranking for item in group] for ranking in (x, y))
        deeper = np.array([max(a.index(item), b.index(item)) + 1 for item in a if item in b], dtype=np.int64)
        pair = np.zeros(len(deeper), dtype=np.int64)
        many = rank_biased_overlap(pair, deeper, np.array([len(a)]), np.array([len(b)]), 0.8)
        assert [value[0] for value in many] == pytest.approx([*rbo(a, b, 0.8)])


def test_what_is_no_ranking_is_refused() -> None:
    assert rbo([], [], 0.9)[1:] == RBO(math.nan, 0.0, 1.0)[1:]
    with pytest.raises(fm.FathomsError, match="y: 'a' stands there twice"):
        fm.rbo(["a"], ["a", {"b", "a"}])
    with pytest.raises(fm.FathomsError, match="x: expected a list of items, best first, found str"):
        fm.rbo("abc", ["a"])
    with pytest.raises(fm.FathomsError, match="p: expected a number between 0 and 1, found 1"):
        fm.rbo(["a"], ["a"], p=1)
    with pytest.raises(fm.FathomsError, match="ties: expected one of w, a, b, found 'c'"):
        fm.rbo(["a"], ["a"], ties="c")  # type: ignore[arg-type]
