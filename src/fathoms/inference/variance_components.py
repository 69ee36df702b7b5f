"""What crossed factors have to do with the variance of a value, one part for each set of factors.

A value X[i, j, ...] is the sum of an effect for each set of factors, all independent. The mean square of a set has the
expectation

    E MS(S) = sum over U that hold S of  v(U) * (product of the sizes of the factors outside U),

from which the v follow, the largest set first (Searle, Casella and McCulloch 1992, Variance Components, ch. 4). What
comes out below 0 is taken as 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from fathoms.evidence.evidence import Floats

Components = dict[frozenset[str], float]


def variance_components(values: Floats, factors: Sequence[str]) -> Components:
    """The variance of each set of factors, from values with an axis for each; a factor of one level has none."""
    size = dict(zip(factors, values.shape, strict=True))
    varied = [factor for factor in factors if size[factor] > 1]
    sets = [frozenset(chosen) for n in range(1, len(varied) + 1) for chosen in combinations(varied, n)]
    components: Components = {}
    for chosen in reversed(sets):
        outside = np.prod([size[factor] for factor in factors if factor not in chosen])
        freedom = np.prod([size[factor] - 1 for factor in chosen])
        square = outside * (_effect(values, factors, chosen) ** 2).sum() / freedom
        above = sum(
            component * np.prod([size[factor] for factor in factors if factor not in larger])
            for larger, component in components.items()
            if chosen < larger
        )
        components[chosen] = max(0.0, float((square - above) / outside))
    return components


def _effect(values: Floats, factors: Sequence[str], chosen: frozenset[str]) -> Floats:
    """What the chosen factors add together: means over all others, less what fewer of them add."""
    others = tuple(axis for axis, factor in enumerate(factors) if factor not in chosen)
    effect = values.mean(axis=others, keepdims=True)
    for axis, factor in enumerate(factors):
        if factor in chosen:
            effect = effect - effect.mean(axis=axis, keepdims=True)
    return effect
