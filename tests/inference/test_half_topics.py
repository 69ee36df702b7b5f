"""Halves of the topics against a plain count, pair by pair, and against what is known without counting."""

from __future__ import annotations

import numpy as np
import pytest

from fathoms.inference.half_topics import half_topics


def test_against_a_count_pair_by_pair() -> None:
    """Buckley and Voorhees (2000), section 3: tied where the difference is within 5% of the greater score."""
    scores = np.random.default_rng(4).beta(2, 3, (5, 11))
    scores[1] = scores[0] + 0.02
    rng, opposite, tied, compared, judged = np.random.default_rng(9), 0, 0, 0, 0
    for _ in range(30):
        order = rng.permutation(11)
        for a in range(5):
            for b in range(a + 1, 5):
                better = []
                for half in (order[:5], order[5:10]):
                    x, y = float(np.mean(scores[a, half])), float(np.mean(scores[b, half]))
                    better.append("=" if abs(x - y) <= 0.05 * max(x, y) else "a" if x > y else "b")
                tied += better.count("=")
                judged += 2
                opposite += set(better) == {"a", "b"}
                compared += 1
    found = half_topics(scores, 9, splits=30)
    assert (found.error_rate, found.tied) == pytest.approx((opposite / compared, tied / judged))


def test_systems_that_are_apart_everywhere_are_never_turned() -> None:
    scores = np.array([[0.1], [0.5], [0.9]]) + np.random.default_rng(0).uniform(0, 0.01, (3, 20))
    found = half_topics(scores)
    assert (found.error_rate, found.tied) == (0.0, 0.0)


def test_alike_systems_are_turned_half_the_time_or_tied() -> None:
    scores = np.random.default_rng(1).normal(10, 1, (40, 50))
    assert half_topics(scores, fuzziness=0.0).error_rate == pytest.approx(0.5, abs=0.05)
    assert half_topics(scores, fuzziness=0.5).tied == pytest.approx(1.0)


def test_one_topic_has_no_halves() -> None:
    assert np.isnan(half_topics(np.ones((3, 1))).error_rate)
