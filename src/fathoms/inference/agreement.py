"""Do two evaluations of the same systems agree? Two measures, two depths, two qrels, two tie rules.

An evaluation is its scores [system, topic] and the p-values of all pairs; the first one is the reference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fathoms.base.arrays import Bools, Floats
from fathoms.inference.significance import Test, p_values, pairs


@dataclass(frozen=True, eq=False)
class Evaluated:
    """Mean scores of systems and the p-values of their pairs."""

    mean: Floats
    p: Floats

    @staticmethod
    def of(scores: Floats, test: Test = "t", seed: int = 0) -> Evaluated:
        return Evaluated(scores.mean(axis=1), p_values(scores, test, seed))

    def better(self, alpha: float) -> Bools:
        """D: [i, j] where system i is significantly better than j."""
        return (self.mean[:, None] > self.mean[None, :]) & (self.p < alpha)

    @property
    def median_p(self) -> float:
        """Over all pairs; the lower, the more a metric tells systems apart (LMC-depth section 3)."""
        return float(np.median(pairs(self.p)))


@dataclass(frozen=True)
class Agreement:
    """How a new evaluation relates to a reference (LMC-depth eqs. 5 and 6; RM section 4)."""

    discrimination_reference: float
    discrimination: float
    coverage: float  # of the pairs the reference separates, the share the new one separates the same way
    inversion: float  # and the share for which the new one has the other system ahead
    reversals: float  # of all pairs: separated by the new one and not by the reference


def discrimination(evaluated: Evaluated, alpha: float) -> float:
    """The share of system pairs that are told apart."""
    return float((pairs(evaluated.p) < alpha).mean())


def agreement(reference: Evaluated, new: Evaluated, alpha: float = 0.05) -> Agreement:
    """Ratios are 0 where the reference separates no pair."""
    D = reference.better(alpha)
    total = max(int(D.sum()), 1)
    ahead = new.mean[:, None] < new.mean[None, :]
    return Agreement(
        discrimination_reference=discrimination(reference, alpha),
        discrimination=discrimination(new, alpha),
        coverage=float((D & new.better(alpha)).sum() / total),
        inversion=float((D & ahead).sum() / total),
        reversals=float(((pairs(new.p) < alpha) & (pairs(reference.p) >= alpha)).mean()),
    )
