"""Intervals of single means, against scipy, against enumeration, and against simulated truth."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fathoms.inference.mean_intervals import MEAN_INTERVALS, drawn_intervals, mean_intervals, t_quantile

METHODS: Any = list(MEAN_INTERVALS)
VALUES = np.random.default_rng(4).beta(0.5, 1.0, (6, 40))


@pytest.mark.parametrize("freedom", [1, 2, 3, 9, 49, 999, 123_456])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.999])
def test_the_quantile_of_t_is_that_of_scipy(freedom: int, level: float) -> None:
    assert t_quantile(level, freedom) == pytest.approx(stats.t.ppf((1 + level) / 2, freedom), rel=1e-10)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_t_is_that_of_scipy(level: float) -> None:
    expected = stats.t.interval(level, VALUES.shape[1] - 1, VALUES.mean(axis=1), stats.sem(VALUES, axis=1))
    np.testing.assert_allclose(mean_intervals(VALUES, "t", level), expected, rtol=1e-10)


@pytest.mark.parametrize(("method", "theirs"), [("bootstrap", "percentile"), ("bca", "BCa")])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_resampled_ones_are_those_of_scipy_but_for_chance(method: Any, theirs: Any, level: float) -> None:
    low, high = mean_intervals(VALUES, method, level, seed=1)
    for row, *ends in zip(VALUES, low, high, strict=True):
        other = stats.bootstrap((row,), np.mean, confidence_level=level, method=theirs, n_resamples=9999, rng=2)
        np.testing.assert_allclose(ends, other.confidence_interval, atol=0.06 * row.std() / np.sqrt(len(row)) * 2)


def test_the_bootstrap_of_three_values_against_all_resamples() -> None:
    values = np.array([0.0, 0.25, 1.0])
    means = np.sort([np.mean(drawn) for drawn in product(values, repeat=3)])
    low, high = mean_intervals(values[None], "bootstrap", 0.8)
    # A mean is an end if the share below it and the share up to it have the level's share between them.
    for end, share in ((low[0], 0.1), (high[0], 0.9)):
        below, up_to = (means < end - 1e-9).mean(), (means < end + 1e-9).mean()
        assert below - 0.02 <= share <= up_to + 0.02


def test_the_skew_and_the_bias_of_bca_by_hand() -> None:
    row = VALUES[0]
    rng = np.random.default_rng(0)
    sums = np.sort((rng.multinomial(40, np.full(40, 1 / 40), size=9999) * row).sum(axis=1))
    bias = stats.norm.ppf((sums < row.sum()).mean())
    left_out = np.array([np.delete(row, i).mean() for i in range(40)])
    away = left_out.mean() - left_out
    skew = (away**3).sum() / (6 * (away**2).sum() ** 1.5)
    ends = []
    for end in stats.norm.ppf([0.025, 0.975]):
        share = stats.norm.cdf(bias + (bias + end) / (1 - skew * (bias + end)))
        ends.append(sums[round(share * 10_000) - 1] / 40)
    np.testing.assert_allclose(np.ravel(mean_intervals(row[None], "bca", 0.95, seed=0)), ends, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("values", [np.full((1, 10), 0.3), np.full((1, 1), 0.3), np.empty((1, 0))])
def test_what_does_not_vary_has_no_interval(method: Any, values: Any) -> None:
    assert np.isnan(mean_intervals(values, method)).all()


@pytest.mark.parametrize("method", METHODS)
def test_rows_do_not_depend_on_each_other_and_blocks_do_not_show(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    together = mean_intervals(VALUES, method, seed=3)
    monkeypatch.setattr("fathoms.inference.mean_intervals.CELLS", 7_000)
    np.testing.assert_array_equal(mean_intervals(VALUES, method, seed=3), together)
    np.testing.assert_array_equal(np.ravel(mean_intervals(VALUES[2:3], method, seed=3)), [end[2] for end in together])


@pytest.mark.parametrize("method", METHODS)
def test_they_cover_what_they_are_drawn_from(method: Any) -> None:
    """200 samples of 50 from a skewed population with mean 1/3; far from 95% would be a wrong formula."""
    values = np.random.default_rng(8).beta(0.5, 1.0, (1000, 50))
    low, high = mean_intervals(values, method)
    assert 0.92 <= ((low <= 1 / 3) & (high >= 1 / 3)).mean() <= 0.97


def test_draws_that_agree_give_the_interval_of_t() -> None:
    drawn = np.repeat(VALUES[None], 5, axis=0)
    np.testing.assert_allclose(drawn_intervals(drawn), mean_intervals(VALUES, "t"), atol=1e-6)


def test_draws_that_differ_add_their_doubt() -> None:
    """Means that differ from draw to draw by a normal error: the interval is that of the sum of both."""
    rng = np.random.default_rng(5)
    values = rng.normal(0.5, 0.1, (1, 1, 400))
    drawn = values + rng.normal(0.0, 0.02, (4000, 1, 1))
    both = np.sqrt(0.02**2 + values.var(ddof=1) / 400)
    expected = values.mean() + np.array([-1.96, 1.96]) * both
    np.testing.assert_allclose(np.ravel(drawn_intervals(drawn)), expected, atol=0.0015)
    assert np.isnan(drawn_intervals(drawn[:, :, :1])).all()


def test_the_default_does_without_scipy() -> None:
    code = "import sys, numpy; from fathoms.inference.mean_intervals import mean_intervals as m; " + (
        "m(numpy.eye(3)); print(any(name.startswith('scipy') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
