"""C, E and alpha of RM's predictors, tuned on runs whose full scores are known (RM section 4, "RMS error").

B and delta come as arrays [level, system, topic] from partial judgments, a level being a size or depth of them; Y from
all judgments, as [system, topic], or with a level in front where it had to be scaled by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fathoms.base.tolerances import SAME
from fathoms.estimate.predictors import PAPERS_ALPHA, Alpha, Constants, Predictor, rm_predict
from fathoms.evidence.evidence import Floats

FOLDS = 5
# Where alpha is searched. Errors hardly change from one step to the next, and X_B is what lies beyond the last power.
CONSTANT_ALPHAS = tuple(Alpha(round(i / 50, 2), 0.0) for i in range(51))
POWERS_OF_ALPHA = tuple(Alpha(1.0, round(i / 10, 1)) for i in range(81))
SAME_ERROR = 1e-6  # errors that differ by less are equal
SURE = 2.0  # standard errors, over topics, at which one error is said to be less than another


# -- the error as a quadratic -----------------------------------------------------------------------------------------


def surface(
    method: Predictor,
    B: Floats,
    delta: Floats,
    Y: Floats,
    Cs: Floats,
    Es: Floats,
    alpha: Alpha = PAPERS_ALPHA,
) -> Floats:
    """RMSE at each C (rows) and E (columns): RM's Figs. 2 and 3."""
    C, E = np.meshgrid(Cs, Es, indexing="ij")
    return np.sqrt(mean_squares(moments(method, B, delta, Y, alpha).mean(axis=1), C, E))


def moments(method: Predictor, B: Floats, delta: Floats, Y: Floats, alpha: Alpha = PAPERS_ALPHA) -> Floats:
    """Six means for each topic, [6, topic], from which its mean square error follows at any C and E.

    Every predictor is linear in its constants for a given alpha, X = B + C u + E v, so the squared error is a quadratic
    in them. Topics have as many cases each, and so the six numbers of several topics are the means of theirs.
    """
    start = rm_predict(method, B, delta, Constants(0.0, 0.0, alpha=alpha))
    u = rm_predict(method, B, delta, Constants(1.0, 0.0, alpha=alpha)) - start
    v = rm_predict(method, B, delta, Constants(0.0, 1.0, alpha=alpha)) - start
    r = start - Y
    return np.array(
        [(x * y).reshape(-1, x.shape[-1]).mean(axis=0) for x, y in ((r, r), (r, u), (r, v), (u, u), (u, v), (v, v))]
    )


def mean_squares(six: Floats, C: Floats | float, E: Floats | float) -> Floats:
    """The mean square error at C and E; rounding does not leave it below 0."""
    a, b, c, d, e, f = six
    return np.asarray(np.maximum(a + 2 * (b * C + c * E) + d * C**2 + 2 * e * C * E + f * E**2, 0.0))


# -- the least error --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tuned:
    """Constants of least RMSE, that RMSE, and the RMSE on topics that had no part in the tuning."""

    constants: Constants
    rmse: float
    held_out: float
    by_topic: Floats = field(repr=False, compare=False)  # held-out mean square error of each topic


def tune(
    method: Predictor,
    B: Floats,
    delta: Floats,
    Y: Floats,
    *,
    alphas: Sequence[Alpha] = (PAPERS_ALPHA,),
    folds: int = FOLDS,
    step: float | None = None,
    seed: int = 0,
) -> Tuned:
    """The best constants in 0 <= C, E <= 1, on a grid of that step or continuous, and the best of the alphas.

    The held-out figure tunes on all topics but those of a fold and measures on these, so that nobody is tempted to
    report the fit.
    """
    of_alpha = np.array([moments(method, B, delta, Y, alpha) for alpha in alphas])
    best, at = _least_of_all(of_alpha.mean(axis=2), alphas, step)
    by_topic = np.full(Y.shape[-1], np.nan)
    for fold, others in parted(Y.shape[-1], folds, seed):
        chosen, place = _least_of_all(of_alpha[..., others].mean(axis=2), alphas, step)
        by_topic[fold] = mean_squares(of_alpha[place][:, fold], chosen.C, chosen.E)
    fit = float(np.sqrt(mean_squares(of_alpha[at].mean(axis=1), best.C, best.E)))
    return Tuned(best, fit, float(np.sqrt(by_topic.mean())), by_topic)


def least(
    method: Predictor, B: Floats, delta: Floats, Y: Floats, alphas: Sequence[Alpha] = (PAPERS_ALPHA,)
) -> Constants:
    """The constants of least error alone."""
    of_alpha = np.array([moments(method, B, delta, Y, alpha).mean(axis=1) for alpha in alphas])
    return _least_of_all(of_alpha, alphas, None)[0]


def parted(n_topics: int, folds: int, seed: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Topics in random parts of about the same size, each with all others; none where there is but one topic."""
    topics = np.random.default_rng(seed).permutation(n_topics)
    parts = np.array_split(topics, min(folds, n_topics)) if n_topics > 1 else []
    return [(part, np.setdiff1d(topics, part)) for part in parts]


def _least_of_all(six: Floats, alphas: Sequence[Alpha], step: float | None) -> tuple[Constants, int]:
    """The best constants of all alphas, [alpha, 6], and the place of their alpha.

    With a constant alpha only alpha C and (1 - alpha) E matter where anything is judged, so many alphas do equally
    well; the first of them is taken, with the least E and the greatest C.
    """
    pairs = [_least(squares, step) for squares in six]
    errors = np.array([float(mean_squares(squares, C, E)) for squares, (C, E) in zip(six, pairs, strict=True)])
    at = int(np.argmax(errors <= errors.min() + SAME))
    return Constants(*pairs[at], alpha=alphas[at]), at


def _least(six: Floats, step: float | None) -> tuple[float, float]:
    """C and E of least error, each from 0 to 1."""
    if step is not None:
        axis = np.arange(0, 1 + step / 2, step)
        C, E = np.meshgrid(axis, axis, indexing="ij")
        place = mean_squares(six, C, E).argmin()
        return float(axis[place // len(axis)]), float(axis[place % len(axis)])
    _, b, c, d, e, f = (float(x) for x in six)
    # A convex quadratic in a square: its own least point if inside, else the best on the four edges.
    candidates = [(C, E) for C in (0.0, 1.0) for E in _edge(c + e * C, f)]
    candidates += [(C, E) for E in (0.0, 1.0) for C in _edge(b + e * E, d)]
    determinant = d * f - e * e
    if determinant > 1e-15:
        inner = ((e * c - f * b) / determinant, (e * b - d * c) / determinant)
        if all(0 <= x <= 1 for x in inner):
            candidates.append(inner)
    return min(
        candidates, key=lambda x: 2 * (b * x[0] + c * x[1]) + d * x[0] ** 2 + 2 * e * x[0] * x[1] + f * x[1] ** 2
    )


def _edge(slope: float, curve: float) -> tuple[float, ...]:
    """Where slope x + curve x^2 / 2 may be least in 0..1."""
    if curve <= 1e-15:
        return (0.0, 1.0)
    return (0.0, 1.0, min(1.0, max(0.0, -slope / curve)))


def root_mean_square(squares: Floats) -> float:
    return float(np.sqrt(squares.mean()))


def sure_difference(first: Floats, other: Floats) -> int:
    """-1 where the first errors are less beyond what topics differ by, 1 where they are greater, else 0."""
    difference = first - other
    if len(difference) < 2:
        return 0
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    mean = difference.mean()
    return int(np.sign(mean)) if abs(mean) > SURE * error else 0
