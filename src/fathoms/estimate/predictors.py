"""A point inside the range: the four predictors of Ravana and Moffat (RM section 3).

B is the score with unjudged documents as not relevant, T the greatest it could be, delta = T - B. All work on arrays
of scores between 0 and 1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from fathoms.base.arrays import ratio
from fathoms.base.errors import FathomsError
from fathoms.evidence.evidence import Evidence, Floats
from fathoms.measures.base import Measure, Scores

Predictor = Literal["simplistic", "background", "interpolated", "smoothed"]
PREDICTORS: tuple[Predictor, ...] = ("simplistic", "background", "interpolated", "smoothed")


@dataclass(frozen=True)
class Alpha:
    """How far `smoothed` trusts X_I: alpha = weight (1 - delta)^power.

    RM section 3 leaves alpha open, "a parameter that reflects the level of confidence in the Interpolated prediction",
    greater the lower delta is, and goes on with 1 - delta. A power is the plainest family of that kind: 0 gives X_I, 1
    the paper's X_M, and ever greater ones X_B. With power 0, alpha is the constant `weight`, which falls with nothing.
    """

    weight: float = 1.0
    power: float = 1.0

    def __call__(self, delta: Floats) -> Floats:
        # A sum of weights may miss 1 by a rounding error; 0^0 is 1.
        return np.asarray(self.weight * np.maximum(1 - delta, 0.0) ** self.power)

    def __str__(self) -> str:
        """As `chosen_alpha` reads it: 0.4, 1-delta, (1-delta)^2.5 or 0.4(1-delta)^2.5."""
        if self.power == 0:
            return f"{self.weight:g}"
        if self.power == 1 and self.weight == 1:
            return "1-delta"
        weight = "" if self.weight == 1 else f"{self.weight:g}"
        return f"{weight}(1-delta)" + ("" if self.power == 1 else f"^{self.power:g}")


PAPERS_ALPHA = Alpha()


@dataclass(frozen=True)
class Constants:
    """C: how likely unjudged documents are relevant, beside judged ones. E: the background rate of relevance. alpha:
    for `smoothed` alone."""

    C: float
    E: float
    alpha: Alpha = field(default=PAPERS_ALPHA, kw_only=True)


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
    return smoothed(B, delta, C, E, alpha=constants.alpha(delta))


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


# -- constants that users give ----------------------------------------------------------------------------------------

_NUMBER = r"[0-9.]+(?:e-?[0-9]+)?"
_ALPHA = re.compile(rf"(?P<constant>{_NUMBER})|1-delta|(?P<weight>{_NUMBER})?\*?\(1-delta\)(\^(?P<power>{_NUMBER}))?")


def chosen_alpha(alpha: Any) -> Alpha:
    """Alpha from what a user writes: a number, 1-delta, or (1-delta)^2.5.

    >>> str(chosen_alpha("(1 - delta)^2.5")), chosen_alpha(0.4)
    ('(1-delta)^2.5', Alpha(weight=0.4, power=0.0))
    """
    if isinstance(alpha, Alpha):
        return alpha
    match = _ALPHA.fullmatch(str(alpha).replace(" ", ""))
    try:
        if match is None:
            raise ValueError
        weight = float(match["constant"] or match["weight"] or 1.0)
        power = 0.0 if match["constant"] else float(match["power"] or 1.0)
        if not 0 <= weight <= 1:
            raise ValueError
    except ValueError:
        raise FathomsError(
            f"alpha: expected a number from 0 to 1, 1-delta or a power of it such as (1-delta)^2.5, found {alpha!r}"
        ) from None
    return Alpha(weight, power)


def given_constants(constants: Sequence[Any] | None) -> Constants | None:
    """C and E, and an alpha for `smoothed` where there is a third."""
    if constants is None or isinstance(constants, Constants):
        return constants
    try:
        C, E, *alpha = constants
        if len(alpha) > 1:
            raise ValueError
        numbers = float(C), float(E)
    except (TypeError, ValueError):
        raise FathomsError(f"constants: expected two numbers such as (0.42, 0.01), found {constants!r}") from None
    return Constants(*numbers, alpha=chosen_alpha(alpha[0]) if alpha else PAPERS_ALPHA)


def scaled_range(measure: Measure, evidence: Evidence, scores: Scores) -> tuple[Floats, Floats, Floats] | None:
    """B, delta and the scale they were divided by, for RM's predictors, which think of scores from 0 to 1.

    AP, nDCG and Q take T from `bounds=rm`. Weighted sums, whose unit is that of the gains, and whatever else can exceed
    1, are divided by the most they could be, as the paper does with DCG (RM section 3).
    """
    if scores.high is None:
        return None
    B, T = scores.score, scores.high
    if "bounds" in measure.params:
        rough: Floats | None = T
        if getattr(measure, "bounds", None) != "rm":
            rough = measure.replace(bounds="rm").range(evidence, scores.score)[1]
        T = T if rough is None else np.maximum(rough, B)
    largest = measure.largest(evidence)
    least = 0.0 if measure.linear_in_gains else 1.0  # ERR cannot reach 1 either, but that is not for its unit
    scale = np.where(np.isfinite(largest) & (largest > least), largest, 1.0)
    return B / scale, (T - B) / scale, scale
