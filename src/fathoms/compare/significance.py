"""Is the difference between two systems more than chance?"""

from __future__ import annotations

import numpy as np

from fathoms.evidence.evidence import Floats


def paired_t(scores: Floats) -> Floats:
    """Two-tailed p of the paired t-test for every pair of systems, from scores [system, topic].

    All pairs at once: the variance of a difference is Var a + Var b - 2 Cov(a, b). Differences that are the same on
    every topic have no variance and get p = 1 (they say nothing about other topics).
    """
    from scipy.special import stdtr

    n_systems, n = scores.shape
    p = np.ones((n_systems, n_systems))
    if n < 2:
        return p
    mean = scores.mean(axis=1)
    centred = scores - mean[:, None]
    covariance = centred @ centred.T / (n - 1)
    spread = np.diag(covariance)
    variance = spread[:, None] + spread[None, :] - 2 * covariance
    # Below this, what is left is rounding error of equal numbers.
    some = variance > 1e-12 * np.maximum(spread[:, None] + spread[None, :], 1e-300)
    t = np.zeros_like(variance)
    difference = mean[:, None] - mean[None, :]
    t[some] = np.abs(difference[some]) / np.sqrt(variance[some] / n)
    p[some] = 2 * stdtr(n - 1, -t[some])
    return p


def pairs(matrix: Floats) -> Floats:
    """The entries of a symmetric matrix above its diagonal, one a pair."""
    return matrix[np.triu_indices(len(matrix), 1)]


def separability(p: Floats, alpha: float) -> float:
    """The share of system pairs with p < alpha (RM section 4; the discrimination ratio of LMC-depth section 3)."""
    return float((pairs(p) < alpha).mean())


def reversals(p_before: Floats, p_after: Floats, alpha: float) -> float:
    """The share of pairs that are significant on few judgments and not on all of them (RM section 4)."""
    return float(((pairs(p_before) < alpha) & (pairs(p_after) >= alpha)).mean())
