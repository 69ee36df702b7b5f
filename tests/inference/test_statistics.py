"""Significance tests against scipy; agreement and correlations against slow code."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from fathoms.inference.agreement import Evaluated, agreement, discrimination
from fathoms.inference.correlation import correlation, correlation_matrix, rmse, swaps, tau_ap_matrix
from fathoms.inference.intervals import intervals
from fathoms.inference.rank_overlap import rbo
from fathoms.inference.significance import corrected, effect_size, p_values, tukey

# -- significance ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("topics", "steps"),
    [(20, 0), (20, 5), (60, 0), (60, 7), (10, 5), (10, 0), pytest.param(13, 3, marks=pytest.mark.slow)],
)
def test_wilcoxon_is_scipys(topics: int, steps: int) -> None:
    scores = np.random.default_rng(topics).random((6, topics))
    exact = np.round(scores * steps) if steps else scores  # whole numbers: their ties and zeros are scipy's too
    p = p_values(exact / (steps or 1), "wilcoxon")
    for i, j in itertools.combinations(range(6), 2):
        assert p[i, j] == pytest.approx(stats.wilcoxon(exact[i] - exact[j]).pvalue, abs=1e-9)


def test_randomization_is_exact_for_few_topics_and_near_the_t_test_for_many() -> None:
    few = np.random.default_rng(1).random((4, 9))
    p = p_values(few, "randomization")
    for i, j in itertools.combinations(range(4), 2):
        difference = few[i] - few[j]
        sums = [
            abs(sum(s * d for s, d in zip(signs, difference, strict=True)))
            for signs in itertools.product((1, -1), repeat=9)
        ]
        expected = sum(x >= abs(difference.sum()) - 1e-12 for x in sums) / 2**9
        assert p[i, j] == pytest.approx(expected, abs=1e-12)
    many = np.random.default_rng(2).normal(size=(5, 60))
    np.testing.assert_allclose(p_values(many, "randomization", seed=3), p_values(many, "t"), atol=0.02)
    np.testing.assert_allclose(p_values(many, "bootstrap", seed=3), p_values(many, "t"), atol=0.03)
    np.testing.assert_array_equal(p_values(many, "bootstrap", seed=3), p_values(many, "bootstrap", seed=3))


def test_tukey_is_the_studentized_range_of_a_two_way_layout() -> None:
    scores = np.random.default_rng(5).normal(size=(5, 15)) + np.arange(5)[:, None] * 0.4
    p = tukey(scores)
    grand, rows, columns = scores.mean(), scores.mean(axis=1), scores.mean(axis=0)
    error = sum((scores[i, t] - rows[i] - columns[t] + grand) ** 2 for i in range(5) for t in range(15)) / (4 * 14)
    for i, j in itertools.combinations(range(5), 2):
        q = abs(rows[i] - rows[j]) / math.sqrt(error / 15)
        assert p[i, j] == pytest.approx(stats.studentized_range.sf(q, 5, 56), abs=1e-9)


def test_corrections_are_the_textbooks() -> None:
    p = np.array([0.01, 0.04, 0.03, 0.005])
    np.testing.assert_allclose(corrected(p, "bonferroni"), [0.04, 0.16, 0.12, 0.02])
    np.testing.assert_allclose(corrected(p, "holm"), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(corrected(p, "bh"), stats.false_discovery_control(p))
    np.testing.assert_allclose(corrected(p, "none"), p)


def test_interval_and_effect_are_those_of_the_t_test() -> None:
    a, b = np.random.default_rng(6).normal(size=(2, 30))
    low, high = intervals(np.stack([a, b]), np.array([0]), np.array([1]), "t", "none", 0.1)
    expected = stats.ttest_rel(a, b).confidence_interval(0.9)
    assert (low[0], high[0]) == (pytest.approx(expected.low), pytest.approx(expected.high))
    assert effect_size((a - b)[None])[0] == pytest.approx((a - b).mean() / (a - b).std(ddof=1))
    assert effect_size(np.zeros((1, 5)))[0] == 0
    assert np.isnan(effect_size(np.ones((1, 5)))[0])


# -- agreement ------------------------------------------------------------------------------------------------


def test_worked_example_of_coverage_and_inversion() -> None:
    """LMC-depth section 3: 10 systems, 45 pairs; the reference separates 35, the new one 28 of them; 6 turn round."""
    pairs = list(itertools.combinations(range(10), 2))
    reference_p, new_p = np.ones((10, 10)), np.ones((10, 10))
    mean = np.arange(10.0, 0.0, -1)
    # Swapping a system with neighbours below it turns exactly as many pairs round: 6 = 3 + 3.
    new_mean = mean.copy()
    new_mean[0:4] = [mean[3] - 0.1, mean[0], mean[1], mean[2]]
    new_mean[5:9] = [mean[8] - 0.1, mean[5], mean[6], mean[7]]
    turned = [(i, j) for i, j in pairs if new_mean[i] < new_mean[j]]
    assert len(turned) == 6
    separated = turned + [pair for pair in pairs if pair not in turned][:29]
    kept = [pair for pair in separated if pair not in turned][:28]
    for i, j in separated:
        reference_p[i, j] = reference_p[j, i] = 0.01
    for i, j in kept:
        new_p[i, j] = new_p[j, i] = 0.01
    found = agreement(Evaluated(mean, reference_p), Evaluated(new_mean, new_p), 0.05)
    assert found.discrimination_reference == pytest.approx(35 / 45)
    assert found.discrimination == pytest.approx(28 / 45)
    assert found.coverage == pytest.approx(28 / 35)
    assert found.inversion == pytest.approx(6 / 35)
    assert found.reversals == 0
    assert discrimination(Evaluated(mean, reference_p), 0.05) == pytest.approx(35 / 45)


# -- correlation ----------------------------------------------------------------------------------------------


def orderings(ties: bool) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    scores = np.random.default_rng(7).random((5, 12))
    return np.round(scores * 5) / 5 if ties else scores


@pytest.mark.parametrize("ties", [False, True])
def test_tau_spearman_and_pearson_are_scipys(ties: bool) -> None:
    x = orderings(ties)
    references = {"tau": stats.kendalltau, "spearman": stats.spearmanr, "pearson": stats.pearsonr}
    for kind, function in references.items():
        found = correlation_matrix(x, kind)  # type: ignore[arg-type]
        for i, j in itertools.product(range(5), repeat=2):
            assert found[i, j] == pytest.approx(function(x[i], x[j])[0], abs=1e-9)


def slow_tau_ap(order: list[int], reference: list[int]) -> float:
    """Yilmaz, Aslam and Robertson 2008, without ties."""
    n = len(order)
    total = 0.0
    for i in range(1, n):
        above = sum(reference.index(other) < reference.index(order[i]) for other in order[:i])
        total += above / i
    return 2 * total / (n - 1) - 1


def test_tau_ap_is_its_definition_and_with_ties_the_mean_over_orders() -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        x, y = rng.random(7), rng.random(7)
        expected = slow_tau_ap(np.argsort(-x).tolist(), np.argsort(-y).tolist())
        assert tau_ap_matrix(x[None], y[None])[0, 0] == pytest.approx(expected)
    x, y = np.array([3.0, 2.0, 2.0, 2.0, 1.0]), np.array([5.0, 5.0, 3.0, 1.0, 1.0])

    def orders(scores: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[list[int]]:
        return [
            list(o)
            for o in itertools.permutations(range(5))
            if all(scores[a] >= scores[b] for a, b in itertools.pairwise(o))
        ]

    mean = np.mean([slow_tau_ap(a, b) for a in orders(x) for b in orders(y)])
    assert tau_ap_matrix(x[None], y[None])[0, 0] == pytest.approx(mean)
    both = (tau_ap_matrix(x[None], y[None])[0, 0] + tau_ap_matrix(y[None], x[None])[0, 0]) / 2
    assert correlation(x, y, "tau_ap") == pytest.approx(both)


def test_rbo_matrix_is_that_of_the_lists() -> None:
    x = orderings(ties=True)

    def groups(scores: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[list[str]]:
        return [[str(i) for i in np.flatnonzero(scores == s)] for s in sorted(set(scores), reverse=True)]

    found = correlation_matrix(x, "rbo", p=0.9)
    for i, j in itertools.combinations(range(5), 2):
        assert found[i, j] == pytest.approx(rbo(groups(x[i]), groups(x[j]), 0.9, "w").ext)


def test_swaps_are_the_pairs_that_change_places() -> None:
    assert swaps(np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 2.0])) == [(1, 2)]
    assert swaps(np.array([3.0, 2.0, 1.0]), np.array([1.0, 1.0, 1.0])) == []
    assert rmse(np.array([1.0, 2.0]), np.array([2.0, 4.0])) == pytest.approx(math.sqrt(2.5))
