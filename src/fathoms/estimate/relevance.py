"""Probabilities of relevance for unjudged documents, from how the systems rank them and what is judged so far.

`Experts` is RTC section 3: each system is an expert whose ranks become probabilities, are calibrated, and aggregated
by a logistic regression. `Fusion` is ours: one regression, in which systems are alike until judgments tell them apart,
with an effect for each topic. Both know how sure they are of their coefficients, and so of scores made of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import expit

from fathoms.estimate.logistic import LogisticFit, LogitBeta, Normal, fit_logistic
from fathoms.evidence.candidates import Block
from fathoms.evidence.evidence import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Relevance:
    """Probabilities [topic, column], and what is needed to count the model's own uncertainty."""

    probability: Floats
    features: Floats  # [topic, column, feature]
    fit: LogisticFit
    describe: Callable[[Block, Ints, Floats | None], Floats]  # features of other documents, as for `of`
    weight: float = 1.0  # of the model's uncertainty in variances

    def of(self, block: Block, topics: Ints, labels: Floats | None = None, samples: int = 0, seed: int = 0) -> Floats:
        """Probabilities of other documents, from a block whose rows are the topics of these numbers.

        So only judged documents need be in memory at once, to learn from, and all others a few topics at a time. With
        `samples` coefficients are drawn so many times, and the probabilities are [sample, topic, column].
        """
        features = self.describe(block, topics, labels)
        if not samples:
            return expit(features @ self.fit.coefficients + self.fit.effects[topics][:, None])
        coefficients, effects = self.fit.samples(samples, np.random.default_rng(seed))
        return expit(np.moveaxis(features @ coefficients.T, 2, 0) + effects[:, topics][:, :, None])

    def directions(self, slope: Floats, topic: int | slice = slice(None)) -> Floats:
        """How a quantity moves with the coefficients: [topic, system, feature + 1], topic effects last.

        `slope` is its derivative by probabilities times p (1 - p): [topic, system, column], or of one topic.
        """
        shared = slope @ self.features[topic]
        return np.concatenate([shared, slope.sum(axis=-1, keepdims=True)], axis=-1)

    def covariance(self, directions: Floats) -> Floats:
        """What uncertain coefficients add to covariances of the systems' scores (delta method): [system, system]."""
        return self.weight * self.fit.covariance(directions[:, :, :-1].sum(axis=0), directions[:, :, -1].T)


class Model(Protocol):
    name: ClassVar[str]
    description: ClassVar[str]
    citation: ClassVar[str]

    def fit(self, judged: Bools, relevant: Bools) -> Relevance:
        """Probabilities for all documents of the model's block from those that are judged."""


# -- RTC section 3 --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Eq2Variant:
    """How eq. 2 is read: with an intercept or without, the weight of the beta prior on each lambda, and how much of
    the aggregation's own uncertainty is counted."""

    intercept: bool
    prior: float
    uncertainty: float


LITERAL = Eq2Variant(intercept=False, prior=1.0, uncertainty=0.0)
CLOSEST_TO_PAPER = Eq2Variant(
    intercept=True, prior=100.0, uncertainty=0.0
)  # to the paper's Table 5, and what `rtc` uses
UNCERTAIN = Eq2Variant(intercept=True, prior=1.0, uncertainty=2.0)


class Experts:
    """RTC's aggregation of expert opinions over a block.

    Readings: an expert's calibration is fitted to the judged documents it ranked, with Platt's smoothed targets and a
    small ridge, so that one without judged documents says 1/2; documents it did not rank have probability 0 from
    it, before and after calibration. Labels (further columns of numbers) are calibrated as they are.
    """

    name: ClassVar = "experts"
    description: ClassVar = "the systems as experts, calibrated and aggregated by a logistic regression"
    citation: ClassVar = "Carterette (2007), Robust Test Collections for Retrieval Evaluation, SIGIR"

    RIDGE = 1e-3

    def __init__(self, block: Block, labels: Floats | None = None, reading: Eq2Variant = CLOSEST_TO_PAPER) -> None:
        self.block = block
        self.reading = reading
        self.labels = labels
        self.scale = None if labels is None else Scale(labels, block.present)

    def fit(self, judged: Bools, relevant: Bools) -> Relevance:
        block = self.block
        n_topics = len(judged)
        counts = zip((judged & relevant).sum(axis=1).tolist(), (judged & ~relevant).sum(axis=1).tolist(), strict=True)
        table = np.zeros((n_topics, block.depth + 1))  # rank 0: not ranked
        for row, (n_relevant, n_rejected) in zip(table, counts, strict=True):
            row[1:] = rank_probabilities(n_relevant, n_rejected, block.depth)
        reported, has_opinion = self._reported(block, table, self.labels)
        topic, column = np.nonzero(judged)
        y = relevant[topic, column]
        A, B = calibrate(reported[topic, :, column], y, has_opinion[topic, :, column], self.RIDGE)

        def describe(block: Block, topics: Ints, labels: Floats | None) -> Floats:
            return self._calibrated(*self._reported(block, table[topics], labels), A, B)

        features = self._calibrated(reported, has_opinion, A, B)
        fit = fit_logistic(
            features[topic, column],
            y.astype(np.float64),
            LogitBeta(self.reading.prior, self.reading.intercept),
            np.zeros(features.shape[2]),
            topic=topic,
            n_topics=n_topics,
        )
        return Relevance(expit(features @ fit.coefficients), features, fit, describe, self.reading.uncertainty)

    def _reported(self, block: Block, table: Floats, labels: Floats | None) -> tuple[Floats, Bools]:
        """What each expert says of each document, and whether it says anything: [topic, expert, column]."""
        reported = table[np.arange(len(table))[:, None, None], block.rank]
        has_opinion = block.rank > 0
        if labels is not None and self.scale is not None:
            values = np.swapaxes(self.scale(labels, block.present), 1, 2)
            reported = np.concatenate([reported, values], axis=1)
            has_opinion = np.concatenate([has_opinion, np.ones(values.shape, dtype=bool)], axis=1)
        return reported, has_opinion

    def _calibrated(self, reported: Floats, has_opinion: Bools, A: Floats, B: Floats) -> Floats:
        features = np.swapaxes(np.where(has_opinion, expit(A[:, None] + B[:, None] * reported), 0.0), 1, 2)
        if not self.reading.intercept:
            return features
        return np.concatenate([features, np.ones((*features.shape[:2], 1))], axis=2)


NODES = 64  # places at which the preference equations are solved for rankings longer than twice that


@lru_cache(maxsize=4096)  # at a depth of 1,000 that is 32 MB
def rank_probabilities(relevant: int, nonrelevant: int, depth: int) -> Floats:
    """q*: an expert's self-reported probabilities at ranks 1..depth (RTC section 3.2), the same for all experts.

    The likelihood of pairwise preferences, sigma(theta_r - theta_s) for r above s, has no maximum of its own. The beta
    prior is taken on theta's scale with exponents R_t + 1 and N_t + 1; then each theta_r solves

        depth - r + 1/2 = sum_s sigma(theta_r - theta_s) + (R_t + N_t + 2) sigma(theta_r) - (R_t + 1),

    with s = r included for its 1/2, and the mean of q* over ranks is (R_t + 1) / (R_t + N_t + 2). The right side is one
    increasing function of theta_r, so for long rankings the sum over s is taken by Gauss-Legendre quadrature (off by
    less than 1e-4) and the function is inverted at all ranks.
    """
    above, in_all = relevant + 1.0, relevant + nonrelevant + 2.0
    ranks = np.arange(1.0, depth + 1)
    nodes, weights = ranks, np.ones(depth)
    if depth > 2 * NODES:
        points, weights = _quadrature()
        nodes, weights = 0.5 + (points + 1) / 2 * depth, weights * depth / 2

    solved = np.log(above / (in_all - above)) + 0.5 * np.log((depth - nodes + 1) / nodes) * depth / (depth + in_all)
    for _ in range(100):
        chance = expit(solved[:, None] - solved)
        own = expit(solved)
        slope = chance * (1 - chance) * weights
        jacobian = np.diag(slope.sum(axis=1) + in_all * own * (1 - own)) - slope
        right_side = chance @ weights + in_all * own - above
        step = np.linalg.solve(jacobian, right_side - (depth - nodes + 0.5))
        solved = solved - np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-10:
            break
    if depth > 2 * NODES:
        grid = np.linspace(solved.min() - 3, solved.max() + 3, 2000)
        right_side = expit(grid[:, None] - solved) @ weights + in_all * expit(grid) - above
        solved = np.interp(depth - ranks + 0.5, right_side, grid)
    chances = expit(solved)
    chances.setflags(write=False)  # it is kept, and given to others
    return chances


@lru_cache(maxsize=1)
def _quadrature() -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(NODES)


def calibrate(reported: Floats, relevant: Bools, has_opinion: Bools, ridge: float) -> tuple[Floats, Floats]:
    """A_j and B_j of Platt's sigmoid for each expert, from judged documents [document, expert], all at once."""
    use = has_opinion.astype(np.float64)
    positive = (use * relevant[:, None]).sum(axis=0)
    negative = use.sum(axis=0) - positive
    target = np.where(relevant[:, None], (positive + 1) / (positive + 2), 1 / (negative + 2))
    start = np.log((positive + 1) / (negative + 1))
    A, B = start.copy(), np.zeros(len(start))
    for _ in range(50):
        chance = expit(A + B * reported)
        residual, weight = (target - chance) * use, chance * (1 - chance) * use
        slope_a, slope_b = residual.sum(axis=0) - ridge * (A - start), (residual * reported).sum(axis=0) - ridge * B
        aa, ab = weight.sum(axis=0) + ridge, (weight * reported).sum(axis=0)
        bb = (weight * reported**2).sum(axis=0) + ridge
        determinant = aa * bb - ab**2
        step_a, step_b = (bb * slope_a - ab * slope_b) / determinant, (aa * slope_b - ab * slope_a) / determinant
        shorter = np.minimum(1.0, 8.0 / np.maximum(np.maximum(np.abs(step_a), np.abs(step_b)), 1e-9))
        A, B = A + shorter * step_a, B + shorter * step_b
        if max(np.abs(step_a).max(initial=0), np.abs(step_b).max(initial=0)) < 1e-7:
            break
    return A, B


# -- ours -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Heights:
    """How far up the systems have each document, [topic, system, column]: from 1 at the first rank, falling with its
    logarithm towards 0, and 0 where they do not have it."""

    ranked: Bools
    height: Floats

    @staticmethod
    def of(block: Block) -> Heights:
        ranked = block.rank > 0
        height = np.where(ranked, 1 - np.log(np.maximum(block.rank, 1)) / np.log(block.depth + 1), 0.0)
        return Heights(ranked, height)


@dataclass(frozen=True)
class Feature:
    """One number of every document, [topic, column], and what is known of its coefficient before any judgment.

    Values lie near 0 to 1, and a document's own depend on nothing but its own ranks: other documents, of which the
    block may hold few or many, have no part in them.
    """

    name: str
    description: str
    values: Callable[[Heights], Floats]
    prior_mean: float
    prior_spread: float


def _share(heights: Heights) -> Floats:
    return np.sqrt(heights.ranked.mean(axis=1))


def _mean_height(heights: Heights) -> Floats:
    return np.sqrt(heights.height.mean(axis=1))


def _one(heights: Heights) -> Floats:
    return np.ones((len(heights.ranked), heights.ranked.shape[2]))


# Priors are rounded from fits to all judgments of simulated collections and of TREC-COVID's pool.
FEATURES: dict[str, Feature] = {
    feature.name: feature
    for feature in (
        Feature("share", "square root of the share of the systems that have the document", _share, 4.0, 2.0),
        Feature("height", "square root of its mean height in their rankings", _mean_height, 1.0, 1.0),
        Feature("intercept", "1 for every document", _one, -3.5, 3.0),
    )
}


class Fusion:
    """One regression over all topics: how many systems have the document, how far up, which ones, and the topic.

    logit p = sum_f b_f f + sum_j d_j x_j + u_t + labels, with f over FEATURES; x_j is the document's height in the
    ranking of system j, scaled to end at SHARE_OF_RANKED, and 0 where j did not retrieve it. Systems are alike until
    judgments say otherwise (d_j is near 0), topics differ (u_t).
    """

    name: ClassVar = "fusion"
    description: ClassVar = "one logistic regression over all topics, in which systems are alike until judgments differ"
    citation: ClassVar = "our own; docs/predict.md describes it"

    SYSTEM_SPREAD = 1.0
    TOPIC_SPREAD = 1.0
    LABEL_SPREAD = 2.0
    SHARE_OF_RANKED = 0.5

    def __init__(self, block: Block, labels: Floats | None = None) -> None:
        n_topics, k, _ = block.shape
        self.scale = None if labels is None else Scale(labels, block.present)
        self.features = self._describe(block, np.arange(n_topics), labels)
        own = list(FEATURES.values())
        n_labels = 0 if labels is None else labels.shape[2]
        mean = [feature.prior_mean for feature in own] + [0.0] * (k + n_labels)
        spread = [feature.prior_spread for feature in own] + [self.SYSTEM_SPREAD] * k + [self.LABEL_SPREAD] * n_labels
        self.prior = Normal(np.array(mean), 1 / np.square(spread))

    def _describe(self, block: Block, topics: Ints, labels: Floats | None) -> Floats:
        """Features [topic, column, feature], which come from a document's own ranks and labels."""
        heights = Heights.of(block)
        by_system = np.where(heights.ranked, self.SHARE_OF_RANKED + (1 - self.SHARE_OF_RANKED) * heights.height, 0.0)
        parts = [feature.values(heights)[:, :, None] for feature in FEATURES.values()]
        parts.append(np.swapaxes(by_system, 1, 2))
        if labels is not None and self.scale is not None:
            parts.append(self.scale(labels, block.present))
        return np.concatenate(parts, axis=2)

    def fit(self, judged: Bools, relevant: Bools) -> Relevance:
        topic, column = np.nonzero(judged)
        fit = fit_logistic(
            self.features[topic, column],
            relevant[topic, column].astype(np.float64),
            self.prior,
            self.prior.mean,
            topic=topic,
            n_topics=len(judged),
            effect_precision=1 / self.TOPIC_SPREAD**2,
        )
        probability = expit(self.features @ fit.coefficients + fit.effects[:, None])
        return Relevance(probability, self.features, fit, self._describe)


class Scale:
    """Brings labels [topic, column, label] to mean 0 and deviation 1 over some documents; a missing one is the mean."""

    def __init__(self, labels: Floats, present: Bools) -> None:
        known = present[:, :, None] & np.isfinite(labels)
        count = np.maximum(known.sum(axis=(0, 1)), 1)
        self.mean = np.where(known, labels, 0.0).sum(axis=(0, 1)) / count
        deviation = np.sqrt((np.where(known, labels - self.mean, 0.0) ** 2).sum(axis=(0, 1)) / count)
        self.deviation = np.where(deviation > 0, deviation, 1.0)

    def __call__(self, labels: Floats, present: Bools) -> Floats:
        known = present[:, :, None] & np.isfinite(labels)
        return np.where(known, (labels - self.mean) / self.deviation, 0.0)


RELEVANCE_MODELS: dict[str, type[Experts] | type[Fusion]] = {model.name: model for model in (Experts, Fusion)}
