"""Relevance as a function of rank: a registry of models, all fitted and asked in the same way.

Those of Lu, Moffat and Culpepper (LMC-gain section 3, Table 1) are the first six. A model is a class that says its
name, what it means, where it is from and what its parameters are; `GAIN_MODELS` lists them.

Every model but the static one is a shape times a height, g(k) = height * shape(k; theta). For a given theta the best
height has a closed form, so a fit is a search over the one or two numbers of theta: first on a grid, for all topics in
one matrix product, then ever closer around each topic's best point, and last down the valley that the point lies in:
on flat gains Weibull's is long, narrow and bent. A step is taken only if it is one down, so nothing can diverge, and no
start is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fathoms.base.arrays import ratio
from fathoms.evidence.evidence import Bools, Floats

ROUNDS = 14  # of closing in, each to 0.4 of the width before: a grid step shrinks by 0.4^14, below 1e-5
CLOSER = 0.4
PARTS = 4  # of the grid along its last parameter, from the best point of each of which the search goes on too
STEPS = 200  # down the valley; most topics take fewer than ten
NUDGE = 1e-6  # of theta, for the slope
SMALL = 1e-10  # step, or share of the error, below which nothing is gained


@dataclass(frozen=True, eq=False)
class CurveFit:
    """A model fitted to each topic's empirical gains."""

    model: GainModel
    height: Floats  # [topic]
    theta: Floats  # [topic, parameter], on the scale of the search
    max_gain: float
    rmse: Floats  # [topic]: over the ranks fitted
    at_limit: Bools  # the best theta lies on the edge of what was searched

    def predict(self, ranks: Floats) -> Floats:
        """Expected gain of a document at each rank, [topic, rank], between 0 and the greatest gain."""
        shape = self.model.shape(self.theta[:, None, :], np.asarray(ranks, dtype=np.float64))[:, 0]
        return np.clip(self.height[:, None] * shape, 0.0, self.max_gain)

    def parameters(self) -> dict[str, Floats]:
        """The parameters as the paper writes them, one value a topic."""
        return self.model.named(self.height, self.theta)


LMC_GAIN = "Lu, Moffat and Culpepper (2016), Modeling Relevance as a Function of Retrieval Rank, AIRS"


class GainModel:
    """A family of curves. A model declares what it is, its shape, and the box in which theta is searched."""

    name: ClassVar[str]
    description: ClassVar[str]
    citation: ClassVar[str]
    parameters: ClassVar[Mapping[str, str]]  # the meaning of each of the numbers that `CurveFit.parameters` gives
    never_rises: ClassVar[bool]  # whether the predicted gain of a deeper rank is never greater
    steps: ClassVar[tuple[int, ...]]  # points of the first grid along each parameter

    def shape(self, theta: Floats, ranks: Floats) -> Floats:
        """Curves for theta [.., point, parameter] at ranks [rank]: [.., point, rank]."""
        raise NotImplementedError

    def box(self, depth: int) -> tuple[Floats, Floats]:
        """Least and greatest theta to search when ranks 1..depth are known."""
        raise NotImplementedError

    def named(self, height: Floats, theta: Floats) -> dict[str, Floats]:
        raise NotImplementedError

    def fit(self, gains: Floats, max_gain: float = 1.0, weights: Floats | None = None) -> CurveFit | HybridFit:
        """Least squares on gains [topic, rank]; ranks of weight 0 are not known."""
        depth = gains.shape[1]
        known = np.ones_like(gains) if weights is None else weights
        ranks = np.arange(1.0, depth + 1)
        low, high = self.box(depth)
        axes = [np.linspace(a, b, n) for a, b, n in zip(low, high, self.steps, strict=True)]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        shapes = self.shape(grid, ranks)[None]
        theta = grid[_best(shapes, gains, known)[0]]
        parts = np.array_split(np.argsort(grid[:, -1], kind="stable"), PARTS)
        starts = [grid[part[_best(shapes[:, part], gains, known)[0]]] for part in parts]
        width = np.array([(b - a) / max(n - 1, 1) for a, b, n in zip(low, high, self.steps, strict=True)])
        near = np.stack(np.meshgrid(*[np.linspace(-1, 1, 9)] * len(axes), indexing="ij"), axis=-1)
        near = near.reshape(-1, len(axes))
        for _ in range(ROUNDS):
            around = np.clip(theta[:, None, :] + near * width, low, high)
            theta = around[np.arange(len(theta)), _best(self.shape(around, ranks), gains, known)[0]]
            width = width * CLOSER
        many = [np.tile(rows, (PARTS + 1, 1)) for rows in (gains, known)]
        lowest = self._descend(np.concatenate([theta, *starts]), many[0], many[1], low, high)
        errors = self._residuals(lowest, many[0], many[1])[1].reshape(PARTS + 1, -1)
        theta = lowest.reshape(PARTS + 1, *theta.shape)[errors.argmin(axis=0), np.arange(len(theta))]
        return self._result(gains, known, theta, max_gain, (theta <= low + 1e-9) | (theta >= high - 1e-9))

    def _descend(self, theta: Floats, gains: Floats, known: Floats, low: Floats, high: Floats) -> Floats:
        """The least point downhill of each topic's, by Levenberg and Marquardt's steps inside the box."""
        theta, damping = theta.copy(), np.full(len(theta), 1e-3)
        rows = np.arange(len(theta))  # topics that still move
        unit = np.eye(theta.shape[1])
        for _ in range(STEPS):
            if not rows.size:
                break
            here, (g, w) = theta[rows], (gains[rows], known[rows])
            residual, error = self._residuals(here, g, w)
            towards = np.where(here + NUDGE * 2 > high, -NUDGE, NUDGE)  # never out of the box
            slopes = [
                (self._residuals(here + towards * axis, g, w)[0] - residual) / towards[:, [i]]
                for i, axis in enumerate(unit)
            ]
            J = np.stack(slopes, axis=-1)
            down = np.einsum("trp,tr->tp", J, residual)
            free = ~(((here <= low) & (down > 0)) | ((here >= high) & (down < 0)))
            normal = np.einsum("trp,trq->tpq", J, J) * free[:, :, None] * free[:, None, :]
            diagonal = np.einsum("tpp->tp", normal)
            normal = (
                normal + unit * (damping[rows, None] * diagonal + np.where(free & (diagonal > 0), 0.0, 1.0))[:, None]
            )
            step = -np.einsum("tpq,tq->tp", np.linalg.pinv(normal, hermitian=True), down * free)
            there = np.clip(here + step, low, high)
            after = self._residuals(there, g, w)[1]
            better = after < error
            theta[rows[better]] = there[better]
            damping[rows] = np.where(better, damping[rows] / 8, damping[rows] * 8)
            ended = (error - after <= SMALL * error) & better
            rows = rows[~ended & (damping[rows] < 1e12) & (np.abs(step).max(axis=1) > SMALL)]
        return theta

    def _residuals(self, theta: Floats, gains: Floats, known: Floats) -> tuple[Floats, Floats]:
        """What each topic's curve of the best height leaves at each rank, and the sum of its squares."""
        shape = self.shape(theta[:, None, :], np.arange(1.0, gains.shape[1] + 1))
        _, height, _ = _best(shape, gains, known)
        left = np.sqrt(known) * (gains - height[:, None] * shape[:, 0])
        return left, (left**2).sum(axis=1)

    def _result(self, gains: Floats, known: Floats, theta: Floats, max_gain: float, edge: Bools) -> CurveFit:
        shape = self.shape(theta[:, None, :], np.arange(1.0, gains.shape[1] + 1))
        _, height, error = _best(shape, gains, known)
        rmse = np.sqrt(ratio(np.maximum(error, 0.0), known.sum(axis=1)))
        return CurveFit(self, height, theta, max_gain, rmse, edge.any(axis=1) & (height > 0))


def _best(shapes: Floats, gains: Floats, known: Floats) -> tuple[Floats, Floats, Floats]:
    """For each topic the best of its shapes [topic or 1, point, rank]: its place, height and squared error."""
    weighted = shapes * known[:, None, :] if len(shapes) > 1 or (known != 1).any() else shapes
    if len(weighted) == 1:
        product = gains @ weighted[0].T
        norm = np.broadcast_to((weighted[0] ** 2).sum(axis=1), product.shape)
    else:
        product = np.einsum("tpr,tr->tp", weighted, gains * known)
        norm = np.einsum("tpr,tpr->tp", weighted, shapes)
    height = np.maximum(ratio(product, norm), 0.0)
    error = ((gains * known) * gains).sum(axis=1)[:, None] - 2 * height * product + height**2 * norm
    place = error.argmin(axis=1)
    rows = np.arange(len(gains))
    return place, height[rows, place], error[rows, place]


class Static(GainModel):
    """G_s(k) = half of the greatest gain, whatever topic and rank."""

    name = "static"
    description = "half of the greatest gain at every rank"
    citation = LMC_GAIN
    parameters: ClassVar = {}
    never_rises = True
    steps = ()

    def shape(self, theta: Floats, ranks: Floats) -> Floats:
        return np.ones((*theta.shape[:-1], len(ranks)))

    def fit(self, gains: Floats, max_gain: float = 1.0, weights: Floats | None = None) -> CurveFit:
        known = np.ones_like(gains) if weights is None else weights
        error = (known * (gains - max_gain / 2) ** 2).sum(axis=1)
        none = np.zeros((len(gains), 0))
        rmse = np.sqrt(ratio(error, known.sum(axis=1)))
        return CurveFit(self, np.full(len(gains), max_gain / 2), none, max_gain, rmse, np.zeros(len(gains), dtype=bool))

    def named(self, height: Floats, theta: Floats) -> dict[str, Floats]:
        return {}


class Constant(GainModel):
    """G_c(k) = lambda_0 for k <= m, else 0; m is at most the depth known."""

    name = "constant"
    description = "the same gain through a rank m, nothing below it"
    citation = LMC_GAIN
    parameters: ClassVar = {"lambda_0": "the gain through rank m", "m": "the last rank with a gain"}
    never_rises = True
    steps = ()

    def shape(self, theta: Floats, ranks: Floats) -> Floats:
        return (ranks <= theta[..., 0, None]).astype(np.float64)

    def fit(self, gains: Floats, max_gain: float = 1.0, weights: Floats | None = None) -> CurveFit:
        known = np.ones_like(gains) if weights is None else weights
        cuts = np.arange(1.0, gains.shape[1] + 1)[:, None]
        place, _, _ = _best(self.shape(cuts, cuts[:, 0])[None], gains, known)
        return self._result(gains, known, cuts[place], max_gain, np.zeros((len(gains), 1), dtype=bool))

    def named(self, height: Floats, theta: Floats) -> dict[str, Floats]:
        return {"lambda_0": height, "m": theta[:, 0]}


class Linear(GainModel):
    """G_l(k) = max(c - lambda_0 k, 0). Searched by the rank m = c / lambda_0 where it meets zero (log m)."""

    name = "linear"
    description = "falls by the same amount from rank to rank, down to 0"
    citation = LMC_GAIN
    parameters: ClassVar = {"lambda_0": "what the gain falls by from rank to rank", "c": "the gain at rank 0"}
    never_rises = True
    steps = (400,)

    def shape(self, theta: Floats, ranks: Floats) -> Floats:
        return np.maximum(1 - ranks / np.exp(theta[..., 0, None]), 0.0)

    def box(self, depth: int) -> tuple[Floats, Floats]:
        return np.log([1.05]), np.log([1000.0 * depth])

    def named(self, height: Floats, theta: Floats) -> dict[str, Floats]:
        return {"lambda_0": height / np.exp(theta[:, 0]), "c": height}


class Zipf(GainModel):
    """G_z(k) = lambda_0 / (k^c H), falling, never zero. The norm H is part of the height here."""

    name = "zipf"
    description = "falls as a power of the rank, and is never 0"
    citation = LMC_GAIN
    parameters: ClassVar = {"height": "the gain at rank 1, lambda_0 / H", "c": "the power; 0 is a level line"}
    never_rises = True
    steps = (200,)

    def shape(self, theta: Floats, ranks: Floats) -> Floats:
        return ranks ** -theta[..., 0, None]

    def box(self, depth: int) -> tuple[Floats, Floats]:
        return np.array([0.0]), np.array([8.0])

    def named(self, height: Floats, theta: Floats) -> dict[str, Floats]:
        return {"height": height, "c": theta[:, 0]}


class Weibull(GainModel):
    """G_w(k) = lambda_0 ((1-lambda_1)^((k-1)^c) - (1-lambda_1)^(k^c)), may rise before it falls.

    Searched by log a and log c with a = -log(1 - lambda_1), so that (1-lambda_1)^(k^c) = exp(-a k^c).
    """

    name = "weibull"
    description = "the discrete Weibull distribution, which may rise before it falls"
    citation = LMC_GAIN
    parameters: ClassVar = {
        "lambda_0": "the sum of the gains of all ranks",
        "lambda_1": "the share of that sum at rank 1",
        "c": "the form: falling from rank 1 where it is at most 1, else rising first",
    }
    never_rises = False
    steps = (45, 45)

    def shape(self, theta: Floats, ranks: Floats) -> Floats:
        a, c = np.exp(theta[..., 0, None]), np.exp(theta[..., 1, None])
        return np.exp(-a * (ranks - 1) ** c) - np.exp(-a * ranks**c)

    def box(self, depth: int) -> tuple[Floats, Floats]:
        return np.log([1e-7, 0.05]), np.log([20.0, 6.0])

    def named(self, height: Floats, theta: Floats) -> dict[str, Floats]:
        return {"lambda_0": height, "lambda_1": -np.expm1(-np.exp(theta[:, 0])), "c": np.exp(theta[:, 1])}


@dataclass(frozen=True, eq=False)
class HybridFit:
    """For each topic the fit of the model that fitted best."""

    fits: Sequence[CurveFit | HybridFit]
    choice: Floats  # [topic]: place in `fits`

    @property
    def rmse(self) -> Floats:
        return np.stack([fit.rmse for fit in self.fits])[self.choice, np.arange(len(self.choice))]

    @property
    def at_limit(self) -> Bools:
        return np.stack([fit.at_limit for fit in self.fits])[self.choice, np.arange(len(self.choice))]

    def predict(self, ranks: Floats) -> Floats:
        curves = np.stack([fit.predict(ranks) for fit in self.fits])
        return curves[self.choice, np.arange(len(self.choice))]

    def parameters(self) -> dict[str, Floats]:
        return {"model": self.choice}


class Hybrid(GainModel):
    """G_H(k): for each topic the curve, of the five above, that fits it best (LMC-gain section 4)."""

    name = "hybrid"
    description = "of the five models above, the one that fits the topic best"
    citation = LMC_GAIN
    parameters: ClassVar = {"model": "which one it is: 0 for static to 4 for weibull"}
    never_rises = False
    models: ClassVar[tuple[GainModel, ...]] = (Static(), Constant(), Linear(), Zipf(), Weibull())  # the paper's

    def fit(self, gains: Floats, max_gain: float = 1.0, weights: Floats | None = None) -> HybridFit:
        return hybrid([model.fit(gains, max_gain, weights) for model in self.models])


GAIN_MODELS: dict[str, GainModel] = {
    model.name: model for model in (Static(), Constant(), Linear(), Zipf(), Weibull(), Hybrid())
}
MODEL_NAMES = tuple(GAIN_MODELS)


def fit_model(name: str, gains: Floats, max_gain: float = 1.0, weights: Floats | None = None) -> CurveFit | HybridFit:
    """Fit one model by its name to gains [topic, rank]."""
    return GAIN_MODELS[name].fit(gains, max_gain, weights)


def hybrid(fits: Sequence[CurveFit | HybridFit]) -> HybridFit:
    return HybridFit(fits, np.stack([fit.rmse for fit in fits]).argmin(axis=0))
