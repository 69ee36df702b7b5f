"""A point inside the range: the four predictors of Ravana and Moffat (RM section 3).

B is the score with unjudged documents as not relevant, T the greatest it could be, delta = T - B. All work on arrays
of scores between 0 and 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fathoms.data.arrays import ratio
from fathoms.evidence.evidence import Floats

Predictor = Literal["simplistic", "background", "interpolated", "smoothed"]
PREDICTORS: tuple[Predictor, ...] = ("simplistic", "background", "interpolated", "smoothed")


@dataclass(frozen=True)
class Constants:
    """C: how likely unjudged documents are relevant, beside judged ones. E: the background rate of relevance."""

    C: float
    E: float


# RM section 4 tuned these on P@10 over TREC-9's contributing runs; E of `background` is within its 0.01..0.05.
PUBLISHED: dict[Predictor, Constants] = {
    "simplistic": Constants(0.0, 0.0),
    "background": Constants(0.0, 0.03),
    "interpolated": Constants(0.42, 0.01),
    "smoothed": Constants(0.91, 0.05),
}


def rm_predict(method: Predictor, B: Floats, delta: Floats, constants: Constants) -> Floats:
    """The point estimate of one of the four predictors."""
    C, E = constants.C, constants.E
    if method == "simplistic":
        return B
    if method == "background":
        return background(B, delta, E)
    if method == "interpolated":
        return interpolated(B, delta, C, E)
    return smoothed(B, delta, C, E, alpha=1 - delta)


def background(B: Floats, delta: Floats, E: float) -> Floats:
    """X_B = B + delta E."""
    return B + delta * E


def interpolated(B: Floats, delta: Floats, C: float, E: float) -> Floats:
    """X_I = B + C delta B / (1 - delta); E where nothing at all is known (delta = 1).

    Their special case is written for delta = 1 exactly; a sum of weights may miss 1 by a rounding error.
    """
    unknown = delta >= 1 - 1e-12
    return np.where(unknown, E, B + C * delta * ratio(B, 1 - delta))


def smoothed(B: Floats, delta: Floats, C: float, E: float, alpha: Floats | float) -> Floats:
    """alpha X_I + (1 - alpha) X_B; with alpha = 1 - delta this is X_M = B + C delta B + delta^2 E.

    Where delta = 1 and so alpha = 0 the interpolated part drops out, and X_M = B + E.
    """
    return alpha * interpolated(B, delta, C, E) + (1 - alpha) * background(B, delta, E)
