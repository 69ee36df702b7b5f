"""What other orders of tied documents do: the best and the worst order, means over all orders, and shuffles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import distinct, row_sums
from fathoms.data.keys import scrambled
from fathoms.evidence.evidence import Evidence, Floats, MixedGroups

DRAWS = 200  # seeded shuffles of tied documents where no closed form is known


# -- the best and the worst order ---------------------------------------------------------------------------------


def arranged(evidence: Evidence, tie_value: Floats, mixed: MixedGroups, *, best: bool) -> Evidence:
    """The topics that mixed groups concern, tied documents sorted by their value (YMT-ties section 2)."""
    both, half = worst_and_best(evidence, tie_value, mixed), len(mixed.rows)
    return both.select(slice(half, None) if best else slice(half))


def worst_and_best(evidence: Evidence, tie_value: Floats, mixed: MixedGroups) -> Evidence:
    """The topics that mixed groups concern, twice: first in their worst order, then in their best one."""
    key = ("worst and best", id(mixed))
    if key not in evidence._cache:
        twice = evidence.select(np.concatenate([mixed.rows, mixed.rows]))  # with codes of its own
        flat, at = twice.codes.reshape(-1), mixed.local * twice.width + mixed.column
        place = np.searchsorted(np.sort(tie_value), tie_value)
        for shift, ascending in ((0, place), (flat.size // 2, len(place) - place)):
            order = np.argsort(mixed.group * (len(place) + 1) + ascending[mixed.code], kind="stable")
            flat[at + shift] = mixed.code[order]
        evidence._cache[key] = twice
    kept: Evidence = evidence._cache[key]
    return kept


def sorted_codes(evidence: Evidence, tie_value: Floats, k: int, *, best: bool) -> NDArray[np.int16]:
    """The codes of all topics, tied documents of groups that start above place k sorted by their value."""
    mixed = evidence.mixed(tie_value, k)
    if mixed is None:
        return evidence.codes
    codes = evidence.codes.copy()
    codes[mixed.rows] = arranged(evidence, tie_value, mixed, best=best).codes
    return codes


# -- means over all orders, in closed form ------------------------------------------------------------------------


def expected_sum(evidence: Evidence, total: Floats, mixed: MixedGroups, table: Floats, weights: Floats) -> Floats:
    """A weighted sum's mean over tie orders: each place of a group gets the group's mean gain."""
    gains = table[mixed.code]
    surplus = (mixed.totals(gains) / mixed.size)[mixed.group] - gains
    read = mixed.column < len(weights)
    change = surplus[read] * weights[mixed.column[read]]
    return total + row_sums(mixed.row[read], change, len(evidence))


def pair_change(evidence: Evidence, mixed: MixedGroups, n: int, flag: Floats, gain: Floats) -> Floats:
    """At each place of mixed groups: the mean over tie orders of b_i sum_{j<=i} g_j, less its value as ranked.

    b = `flag`, g = `gain`, tables over codes. Two places of a group of s hold an ordered pair of different
    documents, so E[b_i g_j] = (sum b sum g - sum b g) / (s (s-1)). Places past n count nothing.
    """
    b, g = flag[mixed.code], gain[mixed.code]
    known = evidence.holding(gain, evidence.width)
    top = mixed.start
    before = known.sums_above(gain[known.code], mixed.row[top], mixed.column[top], evidence.width)
    size = mixed.size.astype(np.float64)
    sum_b, sum_g, sum_bg = mixed.totals(b), mixed.totals(g), mixed.totals(b * g)
    pair = (sum_b * sum_g - sum_bg) / np.maximum(size * (size - 1), 1)
    expected = ((sum_b * before + sum_bg) / size)[mixed.group] + mixed.within * pair[mixed.group]
    as_ranked = b * (before[mixed.group] + mixed.running(g))
    return np.where(mixed.column < n, expected - as_ranked, 0.0)


def mean_products(factors: Floats, mixed: MixedGroups) -> Floats:
    """For place i (from 0) of each group: the mean over all (i+1)-subsets of the group of the product of factors."""
    out = np.empty(len(factors))
    for size in distinct(mixed.size):
        groups = np.flatnonzero(mixed.size == size)
        places = mixed.start[groups][:, None] + np.arange(size)
        members = factors[places]
        means = np.zeros((len(groups), size + 1))
        means[:, 0] = 1.0
        for m in range(1, size + 1):
            share = np.arange(1, m + 1) / m
            means[:, 1 : m + 1] = (1 - share) * means[:, 1 : m + 1] + share * members[:, m - 1 : m] * means[:, :m]
        out[places] = means[:, 1:]
    return out


# -- shuffles -----------------------------------------------------------------------------------------------------


def simulated(
    value: Callable[[Evidence], Floats], evidence: Evidence, score: Floats, mixed: MixedGroups
) -> tuple[Floats, Floats, Floats, Floats]:
    """Mean, its standard error, least and greatest value over seeded shuffles of the tied documents."""
    rows = mixed.rows
    affected = evidence.select(rows)
    draws = np.empty((DRAWS, len(rows)))
    for number, draw in enumerate(draws):
        shuffled = affected.codes.copy()
        keys = _shuffle_keys(evidence.seed, number, evidence.topic_numbers[mixed.row], mixed.column)
        shuffled[mixed.local, mixed.column] = mixed.code[np.lexsort((keys, mixed.group))]
        draw[:] = value(affected._with(codes=shuffled))
    mean, error, least, most = (score.copy() for _ in range(4))
    mean[rows], least[rows], most[rows] = draws.mean(axis=0), draws.min(axis=0), draws.max(axis=0)
    error[:] = 0.0
    error[rows] = draws.std(axis=0, ddof=1) / np.sqrt(DRAWS)
    return mean, error, least, most


def _shuffle_keys(seed: int, draw: int, topic: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Random numbers to sort tied documents by: the same for a place of a topic, whatever is worked on beside it."""
    start = np.random.SeedSequence((seed, draw)).generate_state(1, np.uint64)
    return scrambled(scrambled(topic.astype(np.uint64) + start) + place.astype(np.uint64))
