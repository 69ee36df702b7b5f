"""Significance tests and their intervals: rounding, differences that do not vary, and intervals that agree with p."""

from __future__ import annotations

import itertools
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fathoms.inference import paired_tests
from fathoms.inference.intervals import intervals
from fathoms.inference.paired_tests import effect_interval, paired_differences
from fathoms.inference.significance import (
    CORRECTION_METHODS,
    SIGNIFICANCE_TESTS,
    Paired,
    p_corrected,
    p_values,
)

Floats = np.ndarray[Any, np.dtype[np.float64]]
PAIR = np.array([0]), np.array([1])
TESTS: Any = list(SIGNIFICANCE_TESTS)
NEED_NO_MEAN = ("wilcoxon", "sign")


def p_of(scores: Floats, test: Any) -> float:
    return float(p_values(scores, test)[0, 1])


# -- rounding -------------------------------------------------------------------------------------------------


def test_differences_equal_up_to_rounding_are_equal() -> None:
    scores = np.array([[0.4, 0.3, 0.7, 0.1 + 0.2], [0.3, 0.2, 0.6, 0.3]])
    found = paired_differences(scores, *PAIR)[0]
    assert found[0] == found[1] == found[2]
    assert found[3] == 0
    np.testing.assert_allclose(found, scores[0] - scores[1], atol=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 3.0, 1e6])
def test_what_is_rounding_follows_the_size_of_the_scores(scale: float) -> None:
    tenths = np.random.default_rng(1).integers(0, 11, size=(2, 40))
    found = paired_differences(scale * (tenths / 10), *PAIR)[0]
    whole = tenths[0] - tenths[1]
    for value in np.unique(whole):
        assert len(set(found[whole == value].tolist())) == 1
    assert (found[whole == 0] == 0).all()
    np.testing.assert_allclose(found, scale * whole / 10, atol=1e-9 * scale)


@pytest.mark.long
@pytest.mark.parametrize("test", [name for name in TESTS if name != "tukey"])
@pytest.mark.parametrize("topics", [9, 13, 14, 50, 60])
def test_p_of_tenths_is_p_of_whole_numbers(test: Any, topics: int) -> None:
    """P@10 as floats, and the same counted in documents, which no rounding touches."""
    rng = np.random.default_rng(topics)
    for _ in range(20):
        counts = rng.integers(0, 11, size=(2, topics))
        assert p_of(counts / 10, test) == pytest.approx(p_of(counts.astype(np.float64), test), abs=1e-12)


def test_wilcoxon_of_tenths_is_scipys_of_whole_numbers() -> None:
    rng, worst = np.random.default_rng(3), 0.0
    for _ in range(200):
        counts = rng.integers(0, 11, size=(2, 20))
        expected = stats.wilcoxon(counts[0] - counts[1]).pvalue
        assert p_of(counts / 10, "wilcoxon") == pytest.approx(expected, abs=1e-12)
        worst = max(worst, abs(stats.wilcoxon(counts[0] / 10 - counts[1] / 10).pvalue - expected))
    assert worst > 0.01  # what rounding does to p where nothing is done about it


# -- differences that do not vary -----------------------------------------------------------------------------


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("topics", [1, 2, 5, 13, 14, 50, 60])
def test_constant_differences(test: Any, topics: int) -> None:
    scores = np.random.default_rng(4).random((2, topics))
    scores[1] = scores[0]
    assert p_of(scores, test) == 1
    scores[1] += 1e-17
    assert p_of(scores, test) == 1
    for difference in (0.125, -0.1):
        scores[1] = scores[0] + difference
        assert p_of(scores, test) == pytest.approx(2.0 ** (1 - topics), rel=1e-12)
        low, high = intervals(scores, *PAIR, test=test)
        if 2.0 ** (1 - topics) < 0.05:
            assert low[0] == high[0] == pytest.approx(-difference, abs=1e-9)
        else:
            assert (low[0], high[0]) == (-np.inf, np.inf)


@pytest.mark.parametrize("test", ["t", "bootstrap", "bayes", "randomization"])
def test_a_constant_difference_among_others(test: Any) -> None:
    scores = np.random.default_rng(5).random((4, 20))
    scores[3] = scores[1] + 0.1
    scores[2] = scores[0]
    p = p_values(scores, test)
    assert p[1, 3] == pytest.approx(2.0**-19)
    assert p[0, 2] == 1
    assert p[0, 1] == pytest.approx(p_values(scores[:2], test)[0, 1])


def test_tukey_of_constant_differences_allows_for_all_pairs() -> None:
    scores = np.random.default_rng(6).random(12) + np.array([0, 0.1, 0.2, 0.2])[:, None]
    p = p_values(scores, "tukey")
    assert p[0, 1] == pytest.approx(6 * 2.0**-11)
    assert p[2, 3] == 1


# -- intervals ------------------------------------------------------------------------------------------------


@st.composite
def blocks(draw: Any) -> Floats:
    """Scores [system, topic], tenths (so ties and zeros abound) or any, some of them copies or moved copies."""
    systems, topics = draw(st.integers(2, 5)), draw(st.sampled_from([1, 2, 3, 6, 9, 13, 14, 20, 51]))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    scores = rng.integers(0, draw(st.sampled_from([2, 4, 11])), size=(systems, topics)) / 10
    if draw(st.booleans()):
        scores = rng.normal(size=(systems, topics))
    scores = scores + draw(st.sampled_from([0.0, 0.1, 0.5])) * np.arange(systems)[:, None]
    if draw(st.booleans()):
        scores[-1] = scores[0] + draw(st.sampled_from([0.0, 0.1]))
    return scores


@pytest.mark.long
@pytest.mark.parametrize("correction", CORRECTION_METHODS)
@pytest.mark.parametrize("test", TESTS)
@settings(max_examples=12, deadline=None)
@given(blocks(), st.sampled_from([0.01, 0.05, 0.2, 0.5]))
def test_the_interval_excludes_zero_exactly_where_p_is_small(
    test: Any, correction: Any, scores: Floats, alpha: float
) -> None:
    a, b = np.triu_indices(len(scores), 1)
    p = p_corrected(p_values(scores, test)[a, b], test, correction)
    low, high = intervals(scores, a, b, test, correction, alpha)
    assert (low <= high).all()
    outside = (low > 0) | (high < 0)
    np.testing.assert_array_equal(outside, p < alpha)
    side = SIGNIFICANCE_TESTS[test].direction(paired_differences(scores, a, b))
    np.testing.assert_array_equal(np.sign(low)[outside], side[outside])
    if test not in NEED_NO_MEAN:
        mean = scores[a].mean(axis=1) - scores[b].mean(axis=1)
        assert ((low <= mean + 1e-8) & (mean - 1e-8 <= high)).all()


@pytest.mark.long
@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("topics", [8, 20, 55])
def test_an_interval_holds_the_shifts_that_are_not_rejected(test: Any, topics: int) -> None:
    """Shift one system a little past each end, and a little less: the test rejects, and does not."""
    rng = np.random.default_rng(topics)
    for _ in range(3):
        scores = rng.normal(size=(2, topics)) * 0.3 + np.array([[0.15], [0]])
        low, high = intervals(scores, *PAIR, test, "none", 0.1)
        for end, way in ((low[0], -1), (high[0], 1)):
            for shift, rejects in ((1e-4, True), (-1e-4, False)):
                moved = scores - np.array([[end + way * shift], [0]])
                assert (p_of(moved, test) < 0.1) is rejects


def test_intervals_are_those_of_others() -> None:
    scores = np.random.default_rng(7).normal(size=(2, 30))
    d = scores[0] - scores[1]

    def found(test: Any) -> Any:
        low, high = intervals(scores, *PAIR, test, "none", 0.05)
        return pytest.approx((low[0], high[0]), abs=1e-8)

    expected = stats.ttest_rel(scores[0], scores[1]).confidence_interval(0.95)
    assert (expected.low, expected.high) == found("t")
    for end, one in zip(expected, intervals(scores, *PAIR, "tukey", "none", 0.05), strict=True):
        assert one[0] == pytest.approx(end, abs=1e-5)  # of two systems in blocks: the t-test's
    # The median: 10th and 21st of 30 (Conover, table A3).
    assert (np.sort(d)[9], np.sort(d)[20]) == found("sign")
    # Hodges and Lehmann: Walsh averages 138 and 328 of 465, for P(T <= 137) = 0.0249 of the signed ranks of 30.
    walsh = np.sort([(x + y) / 2 for x, y in itertools.combinations_with_replacement(d, 2)])
    assert (walsh[137], walsh[465 - 138]) == found("wilcoxon")


@pytest.mark.long
def test_tukeys_intervals_are_simultaneous() -> None:
    scores = np.random.default_rng(8).normal(size=(5, 15))
    a, b = np.triu_indices(5, 1)
    low, high = intervals(scores, a, b, "tukey", "holm", 0.05)
    residual = scores - scores.mean(axis=1, keepdims=True) - scores.mean(axis=0) + scores.mean()
    half = stats.studentized_range.ppf(0.95, 5, 56) * np.sqrt((residual**2).sum() / 56 / 15)
    np.testing.assert_allclose((high - low) / 2, half, rtol=1e-5)
    np.testing.assert_allclose((high + low) / 2, (scores[a] - scores[b]).mean(axis=1), atol=1e-12)


def test_levels_by_hand() -> None:
    p = np.array([0.04, 0.001, 0.3, 0.015])
    levels = {name: method.levels(p, 0.05) for name, method in CORRECTION_METHODS.items()}
    np.testing.assert_allclose(levels["none"], 0.05)
    np.testing.assert_allclose(levels["bonferroni"], 0.0125)
    # 0.001 at 0.05/4, 0.015 at 0.05/3, 0.04 at 0.05/2: not rejected, and there Holm stops.
    np.testing.assert_allclose(levels["holm"], [0.025, 0.0125, 0.025, 0.05 / 3])
    # Two claims: 0.015 <= 2/4 of 0.05, 0.04 > 3/4 of it.
    np.testing.assert_allclose(levels["bh"], [0.0375, 0.025, 0.0375, 0.025])


def test_averages_without_a_list_of_them() -> None:
    rng = np.random.default_rng(9)
    differences = np.round(rng.normal(size=(20, 60)) * 8) / 8
    differences[:5] = rng.normal(size=(5, 60))
    n = (differences != 0).sum(axis=1)
    for needed in (0, 1, 7, 200, 500):
        count = np.full(20, needed)
        expected = paired_tests._between_averages(differences, n, count)
        found = paired_tests._between_many_averages(differences, n, count)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_small_p_of_ranks_may_contradict_the_mean() -> None:
    """Ahead on most topics and far behind on a few: Wilcoxon's p is small, and the mean has the other sign."""
    d = np.append(np.full(40, 0.02) + np.arange(40) / 10**4, np.full(6, -0.5))
    scores = np.vstack([d, np.zeros(46)])
    assert d.mean() < 0
    assert p_of(scores, "wilcoxon") < 0.05
    assert SIGNIFICANCE_TESTS["wilcoxon"].direction(d[None])[0] == 1
    assert intervals(scores, *PAIR, "wilcoxon", "none", 0.05)[0][0] > 0
    assert p_of(scores, "t") > 0.05


@pytest.mark.long
def test_what_the_docs_say_of_false_claims() -> None:
    rng = np.random.default_rng(13)
    skewed = rng.exponential(size=(400, 500)) - 1
    assert (paired_tests.wilcoxon(skewed) < 0.05).mean() == pytest.approx(0.96, abs=0.03)
    assert (paired_tests.student(skewed) < 0.05).mean() == pytest.approx(0.05, abs=0.035)
    for topics, expected in ((20, 0.08), (50, 0.06)):
        differences = rng.normal(size=(1500, topics))
        for test in (paired_tests.bootstrap, paired_tests.bayesian_bootstrap):
            assert (test(differences, 1) < 0.05).mean() == pytest.approx(expected, abs=0.02)


@pytest.mark.long
def test_coverage_of_the_mean() -> None:
    """With skewed differences of mean 0.1 over 50 topics: near 95% for all tests about the mean."""
    rng = np.random.default_rng(10)
    d = rng.exponential(size=(400, 50)) - 0.9
    scores = np.concatenate([d, np.zeros((1, 50))])
    a, b = np.arange(400), np.full(400, 400)
    pairs = Paired(a, b, paired_differences(scores, a, b))
    for test in ("t", "randomization", "bootstrap", "bayes"):
        used = SIGNIFICANCE_TESTS[test]
        low, high = used.intervals(scores, pairs, np.full(400, 0.05), 0)
        covered = ((low <= 0.1) & (high >= 0.1)).mean()
        assert 0.88 < covered < 0.98, (test, covered)


@pytest.mark.parametrize(("systems", "test", "seconds"), [(129, "t", 0.1), (30, "wilcoxon", 2.0)])
def test_intervals_are_quick(systems: int, test: Any, seconds: float) -> None:
    scores = np.random.default_rng(11).random((systems, 50)) + np.arange(systems)[:, None] / 200
    a, b = np.triu_indices(systems, 1)
    p = p_values(scores, test)[a, b]
    taken = []
    for _ in range(5):
        start = time.process_time()
        intervals(scores, a, b, test, "holm", 0.05, 0, p)
        taken.append(time.process_time() - start)
    assert min(taken) < seconds


# -- effects --------------------------------------------------------------------------------------------------


def test_effect_interval_is_that_of_the_noncentral_t() -> None:
    rng = np.random.default_rng(12)
    differences = rng.normal(size=(12, 25)) + np.linspace(-3, 3, 12)[:, None]
    low, high = effect_interval(differences, 0.1)
    t = stats.ttest_1samp(differences, 0, axis=1)
    for i in range(12):
        assert stats.nct.sf(t.statistic[i], 24, low[i] * 5) == pytest.approx(0.05, abs=1e-4)
        assert stats.nct.cdf(t.statistic[i], 24, high[i] * 5) == pytest.approx(0.05, abs=1e-4)
        assert bool(low[i] > 0 or high[i] < 0) is bool(t.pvalue[i] < 0.1)
    assert np.isnan(effect_interval(np.ones((1, 5)))).all()


@pytest.mark.long
def test_randomization_interval_against_every_sign_pattern() -> None:
    """p as a function of the shift, in exact fractions, on a fine grid."""
    d = [Fraction(x, 16) for x in (3, -1, 4, 4, 9, -2, 6)]
    scores = np.vstack([[float(x) for x in d], np.zeros(7)])
    low, high = intervals(scores, *PAIR, "randomization", "none", 0.1)

    def p(shift: Fraction) -> Fraction:
        moved = [x - shift for x in d]
        patterns = list(itertools.product((1, -1), repeat=7))
        sums = [abs(sum((s * x for s, x in zip(signs, moved, strict=True)), Fraction())) for signs in patterns]
        return Fraction(sum(one >= abs(sum(moved, Fraction())) for one in sums), len(sums))

    kept = [x for x in (Fraction(k, 320) for k in range(-160, 320)) if p(x) >= Fraction(1, 10)]
    assert float(kept[0]) - 1 / 320 < low[0] <= float(kept[0])
    assert float(kept[-1]) <= high[0] < float(kept[-1]) + 1 / 320


@pytest.mark.long
@pytest.mark.parametrize("correction", CORRECTION_METHODS)
@pytest.mark.parametrize("test", TESTS)
def test_the_order_of_systems_changes_no_interval(test: Any, correction: Any) -> None:
    """Nor where many pairs have the same p, as the least that draws can give."""
    scores = np.random.default_rng(2).random((5, 40)) * 0.1 + np.arange(5)[:, None] * 0.15
    a, b = np.triu_indices(5, 1)
    low, high = intervals(scores, a, b, test, correction)
    order = np.array([3, 0, 4, 2, 1])
    other_low, other_high = intervals(scores[order], a, b, test, correction)
    found = {(order[i], order[j]): ends for i, j, *ends in zip(a, b, other_low, other_high, strict=True)}
    for i, j, *ends in zip(a.tolist(), b.tolist(), low, high, strict=True):
        same = found[i, j] if (i, j) in found else [-end for end in reversed(found[j, i])]
        np.testing.assert_allclose(ends, same, rtol=1e-9, atol=1e-12)
