"""C and E of RM's predictors, tuned on runs whose full scores are known (RM section 4, "RMS error").

B and delta come as arrays [prefix size, system, topic] from partial judgments, Y as [system, topic] from all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fathoms.estimate.predictors import Constants, Predictor, rm_predict
from fathoms.evidence.evidence import Floats


def rmse(X: Floats, Y: Floats) -> float:
    """Root mean square of X - Y."""
    return float(np.sqrt(np.mean((X - Y) ** 2)))


def surface(method: Predictor, B: Floats, delta: Floats, Y: Floats, Cs: Floats, Es: Floats) -> Floats:
    """RMSE at each C (rows) and E (columns): RM's Figs. 2 and 3.

    Every predictor is linear in its constants, X = B + C u + E v, so the squared error is a quadratic in them and
    the whole surface follows from six sums.
    """
    a, b, c, d, e, f = _quadratic(method, B, delta, Y)
    C, E = np.meshgrid(Cs, Es, indexing="ij")
    squares = a + 2 * (b * C + c * E) + d * C**2 + 2 * e * C * E + f * E**2
    return np.sqrt(np.maximum(squares, 0.0))


def _quadratic(method: Predictor, B: Floats, delta: Floats, Y: Floats) -> tuple[float, ...]:
    start = rm_predict(method, B, delta, Constants(0.0, 0.0))
    u = rm_predict(method, B, delta, Constants(1.0, 0.0)) - start
    v = rm_predict(method, B, delta, Constants(0.0, 1.0)) - start
    r = start - Y
    return tuple(float(np.mean(x * y)) for x, y in ((r, r), (r, u), (r, v), (u, u), (u, v), (v, v)))


@dataclass(frozen=True)
class Tuned:
    """Constants of least RMSE, that RMSE, and the RMSE on topics that had no part in the tuning."""

    constants: Constants
    rmse: float
    held_out: float


def tune(
    method: Predictor, B: Floats, delta: Floats, Y: Floats, *, folds: int = 5, step: float | None = None, seed: int = 0
) -> Tuned:
    """The best constants in 0 <= C, E <= 1, on a grid of that step or continuous.

    The held-out figure tunes on all topics but those of a fold and measures on these, so that nobody is tempted to
    report the fit.
    """
    best = _least(method, B, delta, Y, step)
    topics = np.random.default_rng(seed).permutation(Y.shape[-1])
    squares = []
    for fold in np.array_split(topics, min(folds, len(topics))):
        rest = np.setdiff1d(topics, fold)
        if not len(rest):
            continue
        chosen = _least(method, B[..., rest], delta[..., rest], Y[..., rest], step)
        X = rm_predict(method, B[..., fold], delta[..., fold], chosen)
        squares.append(((X - Y[..., fold]) ** 2).ravel())
    held_out = float(np.sqrt(np.concatenate(squares).mean())) if squares else float("nan")
    return Tuned(best, rmse(rm_predict(method, B, delta, best), Y), held_out)


def _least(method: Predictor, B: Floats, delta: Floats, Y: Floats, step: float | None) -> Constants:
    if step is not None:
        axis = np.arange(0, 1 + step / 2, step)
        place = surface(method, B, delta, Y, axis, axis).argmin()
        return Constants(float(axis[place // len(axis)]), float(axis[place % len(axis)]))
    _, b, c, d, e, f = _quadratic(method, B, delta, Y)
    # A convex quadratic in a square: its own least point if inside, else the best on the four edges.
    candidates = [(C, E) for C in (0.0, 1.0) for E in _edge(c + e * C, f)]
    candidates += [(C, E) for E in (0.0, 1.0) for C in _edge(b + e * E, d)]
    determinant = d * f - e * e
    if determinant > 1e-15:
        inner = ((e * c - f * b) / determinant, (e * b - d * c) / determinant)
        if all(0 <= x <= 1 for x in inner):
            candidates.append(inner)
    C, E = min(
        candidates, key=lambda x: 2 * (b * x[0] + c * x[1]) + d * x[0] ** 2 + 2 * e * x[0] * x[1] + f * x[1] ** 2
    )
    return Constants(C, E)


def _edge(slope: float, curve: float) -> tuple[float, ...]:
    """Where slope x + curve x^2 / 2 may be least in 0..1."""
    if curve <= 1e-15:
        return (0.0, 1.0)
    return (0.0, 1.0, min(1.0, max(0.0, -slope / curve)))
