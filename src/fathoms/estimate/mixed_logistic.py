"""Logistic regression in which topics differ, also in how fast relevance falls off: what estimates are drawn from.

    logit p = offset + x'b + z'u_t,        b ~ Normal(mean, 1 / precision),  u_t ~ Normal(0, S)

S is learnt from the topics themselves (EM, with a few topics' worth of prior), so that topics are told apart as much as
they differ and no more. Both b and u are drawn from the Laplace approximation of their posterior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from fathoms.evidence.evidence import Floats, Ints

STEPS = 25  # Newton's, for given S
CLOSE, NEAR = 1e-4, 0.05  # steps that are small enough: at the end, and while S is still to be learnt
LONGEST = 3.0  # a step on the scale of logits; longer ones are shortened, for the fit may be flat at first
PRIOR_TOPICS = 3.0  # topics' worth of prior on S
PROPOSALS, HEAVY = 24, 5.0  # of a topic's effects for each draw, and degrees of freedom of their distribution
CELLS = 1 << 22  # documents times proposals looked at together
SETTLED = 0.03  # change of S, by share, from which on it is left alone


@dataclass(frozen=True, eq=False)
class MixedPrior:
    """What is known before any judgment: of shared coefficients, and of how much topics differ."""

    mean: Floats  # [P]
    precision: Floats  # [P]
    spread: Floats  # [q, q]: S to start from, and its prior
    topics: float = PRIOR_TOPICS  # how many topics' worth that prior is


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What a fit is to: features X [n, P] and Z [n, q], of which `topic` is the number, y the outcome."""

    X: Floats
    Z: Floats
    y: Floats
    topic: Ints
    weight: Floats

    def likelihoods(self, coefficients: Floats, effects: Floats) -> Floats:
        """Log likelihoods [draw, proposal, topic], from coefficients [draw, P] and effects [draw, proposal, topic, q];
        documents are in the order of their topics."""
        shared = (coefficients @ self.X.T).astype(np.float32)
        starts = np.flatnonzero(np.diff(self.topic, prepend=-1))
        by_topic = np.zeros(effects.shape[:-1])
        Z, y, weight = (values.astype(np.float32) for values in (self.Z, self.y, self.weight))
        for draw, here in enumerate(effects.astype(np.float32)):
            logits = shared[draw] + np.einsum("knq,nq->kn", here[:, self.topic], Z)
            terms = weight * (y * logits - np.logaddexp(np.float32(0), logits))
            by_topic[draw][:, self.topic[starts]] = np.add.reduceat(terms, starts, axis=1)
        return by_topic


@dataclass(frozen=True, eq=False)
class MixedFit:
    """The maximum of the posterior and its curvature, an arrow: shared [P, P], mixed, and a block for each topic."""

    coefficients: Floats  # [P]
    effects: Floats  # [T, q]
    spread: Floats  # S, [q, q]
    shared: Floats  # covariance of the coefficients
    coupling: Floats  # [T, q, P]: how a topic's effects follow the coefficients
    own: Floats  # [T, q, q]: covariance of a topic's effects, given the coefficients

    def samples(self, n: int, rng: np.random.Generator, draws: range | None = None) -> tuple[Floats, Floats]:
        """Coefficients [draw, P] and effects [draw, T, q] of n draws, or of some of them."""
        part = slice(None) if draws is None else slice(draws.start, draws.stop)
        away = (rng.standard_normal((n, len(self.coefficients))) @ np.linalg.cholesky(self.shared).T)[part]
        lots = rng.standard_normal((n, *self.effects.shape))[part]
        root, n_topics, q = np.linalg.cholesky(self.own), *self.effects.shape
        own = np.zeros(lots.shape)
        for k in range(q):
            own += root[:, :, k] * lots[:, :, k, None]
        following = (away @ self.coupling.reshape(n_topics * q, -1).T).reshape(own.shape)
        return self.coefficients + away, self.effects + own - following

    def closer_samples(
        self, n: int, rng: np.random.Generator, outcomes: Outcomes, draws: range, seed: tuple[int, ...]
    ) -> tuple[Floats, Floats]:
        """The same, effects drawn from their posterior itself given the coefficients, by importance: of few outcomes it
        is skewed, and a topic with nothing relevant among its judged documents may have far less than a normal
        distribution says."""
        coefficients, _ = self.samples(n, rng, draws)
        n_topics, q = self.effects.shape
        following = (coefficients - self.coefficients) @ self.coupling.reshape(n_topics * q, -1).T
        center = self.effects - following.reshape(len(draws), n_topics, q)
        root, inverse = np.linalg.cholesky(self.own), _inverse(self.spread)
        effects = np.empty_like(center)
        step = max(1, CELLS // (PROPOSALS * max(1, len(outcomes.y))))
        for first in range(0, len(draws), step):
            here = slice(first, min(first + step, len(draws)))
            lots = [np.random.default_rng((*seed, i)) for i in draws[here]]
            unit = np.stack([lot.standard_normal((PROPOSALS, n_topics, q)) for lot in lots])
            unit *= np.sqrt(HEAVY / np.stack([lot.chisquare(HEAVY, (PROPOSALS, n_topics)) for lot in lots]))[..., None]
            proposed = center[here][:, None] + np.einsum("tij,dktj->dkti", root, unit)
            log_weight = outcomes.likelihoods(coefficients[here], proposed)
            log_weight -= 0.5 * np.einsum("dkti,ij,dktj->dkt", proposed, inverse, proposed)
            log_weight += 0.5 * (HEAVY + q) * np.log1p((unit**2).sum(axis=-1) / HEAVY)
            total = np.cumsum(np.exp(log_weight - log_weight.max(axis=1, keepdims=True)), axis=1)
            lot = np.stack([lot.random((1, n_topics)) for lot in lots])
            chosen = (lot * total[:, -1:] > total).sum(axis=1)
            effects[here] = np.take_along_axis(proposed, chosen[:, None, :, None], axis=1)[:, 0]
        return coefficients, effects


def fit_mixed(
    X: Floats,
    Z: Floats,
    y: Floats,
    topic: Ints,
    n_topics: int,
    prior: MixedPrior,
    *,
    offset: Floats | None = None,
    weight: Floats | None = None,
    rounds: int = 10,
    start: MixedFit | None = None,
) -> MixedFit:
    """The fit to documents with features X [n, P] and Z [n, q], of which `topic` is the number and y the outcome. It
    takes few steps from the `start` of a fit to much the same documents."""
    order = np.argsort(topic, kind="stable")
    X, Z, y, topic = X[order], Z[order], y[order], topic[order]
    offset = np.zeros(len(y)) if offset is None else offset[order]
    weight = np.ones(len(y)) if weight is None else weight[order]
    coefficients, effects, spread = prior.mean.copy(), np.zeros((n_topics, Z.shape[1])), prior.spread
    if start is not None:
        coefficients, effects, spread = start.coefficients, start.effects, start.spread
    settled = rounds <= 1
    for round_ in range(rounds):
        inverse = _inverse(spread)
        close = CLOSE if settled or round_ == rounds - 1 else NEAR
        for _ in range(STEPS):
            chance = expit(offset + X @ coefficients + (Z * effects[topic]).sum(axis=1))
            residual, curve = weight * (y - chance), weight * chance * (1 - chance)
            slope = X.T @ residual - prior.precision * (coefficients - prior.mean)
            slope_topics = _by_topic(Z * residual[:, None], topic, n_topics) - effects @ inverse
            shared, coupling, own = _curvature(X, Z, curve, topic, n_topics, prior, inverse)
            followed = slope_topics.ravel() @ coupling.reshape(slope_topics.size, -1)
            step = np.linalg.solve(shared, slope - followed)
            step_topics = np.einsum("tjk,tk->tj", own, slope_topics) - coupling @ step
            size = max(np.abs(step).max(initial=0.0), np.abs(step_topics).max(initial=0.0))
            scale = min(1.0, LONGEST / max(size, 1e-12))
            coefficients, effects = coefficients + scale * step, effects + scale * step_topics
            if size < close:
                break
        covariance = _inverse(shared)
        of_effects = own + (coupling @ covariance) @ coupling.transpose(0, 2, 1)
        if settled or round_ == rounds - 1:
            break
        sums = np.einsum("tj,tk->jk", effects, effects) + of_effects.sum(axis=0) + prior.topics * prior.spread
        new = sums / (n_topics + prior.topics)
        settled = bool(np.abs(new - spread).max() < SETTLED * np.abs(spread).max())
        spread = new
    return MixedFit(coefficients, effects, spread, (covariance + covariance.T) / 2, coupling, own)


def _by_topic(values: Floats, topic: Ints, n_topics: int) -> Floats:
    """Sums of rows [n, q] by topic."""
    return np.stack([np.bincount(topic, weights=column, minlength=n_topics) for column in values.T], axis=1)


def _curvature(
    X: Floats, Z: Floats, curve: Floats, topic: Ints, n_topics: int, prior: MixedPrior, inverse: Floats
) -> tuple[Floats, Floats, Floats]:
    """Minus the second derivatives, the topics solved for; coupling and own as in `MixedFit`."""
    root = X * np.sqrt(curve)[:, None]
    shared = root.T @ root
    shared[np.diag_indices(len(shared))] += prior.precision
    start, documents = np.searchsorted(topic, np.arange(n_topics + 1)), np.arange(len(topic))
    weighted = [csr_array((z * curve, documents, start), shape=(n_topics, len(topic))) for z in Z.T]
    blocks, mixed = (np.stack([of_topics @ features for of_topics in weighted], axis=1) for features in (Z, X))
    own = _inverse(blocks + inverse)
    coupling = own @ mixed
    flat = mixed.reshape(-1, X.shape[1]).T @ coupling.reshape(-1, X.shape[1])
    return shared - flat, coupling, own


def _inverse(matrices: Floats) -> Floats:
    """Of symmetric matrices; those of one and of two rows, of which there is one a topic, all together."""
    if matrices.shape[-1] == 1:
        return np.asarray(1 / matrices)
    if matrices.shape[-1] > 2:
        return np.linalg.inv(matrices).astype(np.float64, copy=False)
    a, b, d = matrices[..., 0, 0], matrices[..., 0, 1], matrices[..., 1, 1]
    inverse = np.empty_like(matrices)
    inverse[..., 0, 0], inverse[..., 1, 1] = d, a
    inverse[..., 0, 1] = inverse[..., 1, 0] = -b
    inverse /= (a * d - b**2)[..., None, None]
    return inverse
