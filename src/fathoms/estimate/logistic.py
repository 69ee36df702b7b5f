"""Logistic regression with priors, and how sure its coefficients are: what both models of relevance are fitted with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit

from fathoms.evidence.evidence import Floats, Ints

STEPS = 60
CLOSE = 1e-7


class Prior(Protocol):
    def terms(self, coefficients: Floats) -> tuple[float, Floats, Floats]:
        """Log density (up to a constant), its gradient, and minus its second derivatives."""


@dataclass(frozen=True, eq=False)
class Normal:
    """Independent normal priors; precision 0 is flat."""

    mean: Floats
    precision: Floats

    def terms(self, coefficients: Floats) -> tuple[float, Floats, Floats]:
        away = coefficients - self.mean
        return float(-0.5 * (self.precision * away**2).sum()), -self.precision * away, self.precision


@dataclass(frozen=True, eq=False)
class LogitBeta:
    """A beta prior (weight, weight) on the logistic scale for each coefficient (RTC section 3.1); the last one may be
    an intercept, which gets a wide normal prior instead."""

    weight: float
    has_intercept: bool
    intercept_precision: float = 0.01

    def terms(self, coefficients: Floats) -> tuple[float, Floats, Floats]:
        chance = expit(coefficients)
        value = -self.weight * (np.logaddexp(0, -coefficients) + np.logaddexp(0, coefficients))
        slope = self.weight * (1 - 2 * chance)
        curve = 2 * self.weight * chance * (1 - chance)
        if self.has_intercept:
            last = coefficients[-1]
            value[-1] = -0.5 * self.intercept_precision * last**2
            slope[-1], curve[-1] = -self.intercept_precision * last, self.intercept_precision
        return float(value.sum()), slope, curve


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """Coefficients at the maximum, and the inverse of the second derivatives there (the Laplace approximation).

    With topic effects the second derivatives are an arrow: P x P shared ones, P x T, and a diagonal of T. `shared` is
    the inverse of what is left of the shared ones once topics are solved for.
    """

    coefficients: Floats
    effects: Floats  # one a topic, all 0 without topic effects
    shared: Floats  # [P, P]
    coupling: Floats  # [P, T]: mixed derivatives over the topics' own
    effect_variance: Floats  # [T]: 1 / the topics' own derivatives, 0 without topic effects

    def covariance(self, shared: Floats, by_topic: Floats) -> Floats:
        """D C D' for directions D = (shared [s, P], by topic [s, T])."""
        reduced = shared - by_topic @ self.coupling.T
        return reduced @ self.shared @ reduced.T + (by_topic * self.effect_variance) @ by_topic.T

    def samples(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Coefficients [n, P] and topic effects [n, T] drawn from the Laplace approximation."""
        away = rng.standard_normal((n, len(self.coefficients))) @ np.linalg.cholesky(self.shared).T
        own = rng.standard_normal((n, len(self.effects))) * np.sqrt(self.effect_variance)
        return self.coefficients + away, self.effects - away @ self.coupling + own


def fit_logistic(
    X: Floats, y: Floats, prior: Prior, start: Floats, *, topic: Ints, n_topics: int, effect_precision: float = np.inf
) -> LogisticFit:
    """Maximise the posterior by Newton's method; `effect_precision` of infinity means no topic effects."""
    has_effects = np.isfinite(effect_precision)
    coefficients, effects = start.copy(), np.zeros(n_topics)

    def objective(coefficients: Floats, effects: Floats) -> tuple[float, Floats]:
        """The log posterior, and the logits it came from."""
        z = X @ coefficients + effects[topic]
        penalty = 0.5 * effect_precision * (effects**2).sum() if has_effects else 0.0
        return float((y * z - np.logaddexp(0, z)).sum() + prior.terms(coefficients)[0] - penalty), z

    value, z = objective(coefficients, effects)
    for _ in range(STEPS):
        chance = expit(z)
        shared, coupling, own = _curvature(X, chance, prior, coefficients, topic, n_topics, effect_precision)
        residual = y - chance
        slope = X.T @ residual + prior.terms(coefficients)[1]
        slope_topics = np.zeros(n_topics)
        if has_effects:
            slope_topics = np.bincount(topic, weights=residual, minlength=n_topics) - effect_precision * effects
        step = shared @ (slope - coupling @ slope_topics)
        step_topics = own * slope_topics - coupling.T @ step
        if max(np.abs(step).max(initial=0), np.abs(step_topics).max(initial=0)) < CLOSE:
            break
        # The posterior is concave; halving guards against overshooting where it is flat.
        scale = 1.0
        while True:
            new, new_effects = coefficients + scale * step, effects + scale * step_topics
            new_value, z = objective(new, new_effects)
            if new_value >= value - 1e-10 * (1 + abs(value)) or scale < 1e-6:
                break
            scale /= 2
        coefficients, effects, value = new, new_effects, new_value
    return LogisticFit(coefficients, effects, shared, coupling, own)


def _curvature(
    X: Floats, chance: Floats, prior: Prior, coefficients: Floats, topic: Ints, n_topics: int, effect_precision: float
) -> tuple[Floats, Floats, Floats]:
    """As in `LogisticFit`: shared, coupling and effect variance."""
    weight = chance * (1 - chance)
    weighted = X.T * weight
    shared = weighted @ X
    shared[np.diag_indices(len(shared))] += prior.terms(coefficients)[2]
    if not np.isfinite(effect_precision):
        return _inverse(shared), np.zeros((X.shape[1], n_topics)), np.zeros(n_topics)
    own = np.reciprocal(np.bincount(topic, weights=weight, minlength=n_topics) + effect_precision)
    mixed = np.stack([np.bincount(topic, weights=row, minlength=n_topics) for row in weighted])
    coupling = mixed * own
    return _inverse(shared - coupling @ mixed.T), coupling, own


def _inverse(matrix: Floats) -> Floats:
    return np.linalg.inv(matrix).astype(np.float64, copy=False)
