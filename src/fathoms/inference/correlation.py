"""Rank and score correlation between orderings of systems, one pair of orderings or all pairs of many at once.

Orderings come as scores [ordering, system], greatest first; equal scores are ties. A matrix of orderings against
orderings is a product of matrices over pairs of systems, so hundreds of depths cost no more than a few.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from fathoms.base.arrays import Floats, ratio
from fathoms.base.tolerances import ROUNDING

Correlation = Literal["tau", "tau_a", "tau_ap", "rbo", "spearman", "pearson", "rmse"]


def correlation(x: Floats, y: Floats, kind: Correlation = "tau", p: float = 0.9) -> float:
    """Between two orderings of the same systems."""
    return float(correlation_matrix(np.stack([x, y]), kind, p)[0, 1])


def correlation_matrix(
    scores: Floats, kind: Correlation = "tau", p: float = 0.9, others: Floats | None = None
) -> Floats:
    """Between all orderings in `scores` and all in `others` (or themselves): the volatility matrix of LMC-depth eq. 7.

    tau is tau_b. tau_ap depends on which ordering is the reference; here it is the mean of both directions. rmse is no
    correlation but the distance of the scores, 0 where they are the same.
    """
    other = scores if others is None else others
    if kind in ("tau", "tau_a"):
        return _kendall(scores, other, corrected=kind == "tau")
    if kind == "tau_ap":
        return (tau_ap_matrix(scores, other) + tau_ap_matrix(other, scores).T) / 2
    if kind == "rbo":
        return _rbo_matrix(scores, other, p)
    if kind == "spearman":
        from scipy.stats import rankdata

        return _pearson(rankdata(_rounded(scores), axis=1), rankdata(_rounded(other), axis=1))
    if kind == "rmse":
        return np.stack([np.sqrt(((other - row) ** 2).mean(axis=1)) for row in scores])
    return _pearson(scores, other)


def _rounded(scores: Floats) -> Floats:
    return np.round(scores / ROUNDING) * ROUNDING


def _signs(scores: Floats) -> Floats:
    """+1, -1 or 0 for each pair of systems: is the first ahead? [ordering, pair]"""
    first, second = np.triu_indices(scores.shape[1], 1)
    difference = scores[:, first] - scores[:, second]
    return np.where(np.abs(difference) < ROUNDING, 0.0, np.sign(difference))


def _kendall(a: Floats, b: Floats, corrected: bool) -> Floats:
    x, y = _signs(a), _signs(b)
    n_pairs = x.shape[1]
    agree = x @ y.T
    if not corrected:
        return agree / max(n_pairs, 1)
    return ratio(agree, np.sqrt(np.outer((x != 0).sum(axis=1), (y != 0).sum(axis=1))))


def tau_ap_matrix(orderings: Floats, references: Floats) -> Floats:
    """Yilmaz et al.'s tau_ap: how well the references confirm what stands above each system, top places counting most.

    Without ties: 2/(N-1) sum over places i > 1 of C(i)/(i-1), minus 1, where C(i) of the systems above place i are
    ahead of its system in the reference too. As a sum over pairs, the pair's lower system at place i weighs 1/(i-1).
    With ties, the mean over their orders: pairs tied on either side add nothing, and a tied system has the mean weight
    of the places its group spans.
    """
    n = orderings.shape[1]
    if n < 2:
        return np.ones((len(orderings), len(references)))
    first, second = np.triu_indices(n, 1)
    x, y = _signs(orderings), _signs(references)
    weight = np.stack([_place_weights(row) for row in orderings])
    lower = np.where(x > 0, weight[:, second], weight[:, first])
    return (lower * x) @ y.T / (n - 1)


def _place_weights(scores: Floats) -> Floats:
    """1/(i-1) for the system at place i > 1, the mean over its group's places where it is tied."""
    n = len(scores)
    order = np.argsort(-scores, kind="stable")
    of_place = np.append(0.0, 1 / np.arange(1, n))
    tied = np.append(False, np.abs(np.diff(scores[order])) < ROUNDING)
    group = np.cumsum(~tied) - 1
    mean = np.bincount(group, weights=of_place) / np.bincount(group)
    weights = np.empty(n)
    weights[order] = mean[group]
    return weights


def _pearson(a: Floats, b: Floats) -> Floats:
    x, y = (v - v.mean(axis=1, keepdims=True) for v in (a, b))
    spread = np.outer(np.sqrt((x**2).sum(axis=1)), np.sqrt((y**2).sum(axis=1)))
    return ratio(x @ y.T, spread)


def _rbo_matrix(a: Floats, b: Floats, p: float) -> Floats:
    """RBO of full orderings of the same systems, equal ones at one place (`w` of `rank_overlap.rbo`): the agreement
    of those ranked d or better, at each depth d."""
    n = a.shape[1]
    ranks_a, ranks_b = _competition_ranks(a), _competition_ranks(b)
    total = np.zeros((len(a), len(b)))
    agree = np.zeros_like(total)
    for d in range(1, n + 1):
        top_a, top_b = (ranks_a <= d).astype(float), (ranks_b <= d).astype(float)
        agree = 2 * (top_a @ top_b.T) / np.add.outer(top_a.sum(axis=1), top_b.sum(axis=1))
        total += agree * p ** (d - 1)
    return (1 - p) * total + agree * p**n


def _competition_ranks(scores: Floats) -> Floats:
    """1 for the best; tied systems share the best place of their group, as in sports."""
    ahead = (scores[:, None, :] - scores[:, :, None]) >= ROUNDING
    return ahead.sum(axis=2) + 1


def swaps(x: Floats, y: Floats) -> list[tuple[int, int]]:
    """Pairs of systems, better one under x first, that y has the other way round."""
    first, second = np.triu_indices(len(x), 1)
    a, b = _signs(x[None])[0], _signs(y[None])[0]
    return [
        (int(first[k]), int(second[k])) if a[k] > 0 else (int(second[k]), int(first[k]))
        for k in np.flatnonzero(a * b < 0)
    ]


def rmse(X: Floats, Y: Floats) -> float:
    """Root mean square of X - Y."""
    return float(np.sqrt(np.mean((X - Y) ** 2)))
