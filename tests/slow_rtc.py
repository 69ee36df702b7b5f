"""AP as a random variable, and what robust test collections need, the slow way: plain loops and enumeration.

Written from Carterette (SIGIR 2007) and the papers it cites; nothing here is fast or shared with the library. A ranking
is a list of documents, `p` gives each document of the topic its probability of relevance, and documents that a ranking
did not return count for R only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit

Ranking = Sequence[int]
Chances = Mapping[int, float]


# AP and its distribution (section 2.1)


def numerator(ranking: Ranking, relevant: set[int]) -> float:
    """S, the sum of precisions at the relevant documents."""
    total, found = 0.0, 0
    for place, doc in enumerate(ranking, start=1):
        if doc in relevant:
            found += 1
            total += found / place
    return total


def ap(ranking: Ranking, relevant: set[int]) -> float:
    return numerator(ranking, relevant) / len(relevant) if relevant else 0.0


def assignments(p: Chances) -> Iterator[tuple[set[int], float]]:
    """Every set of relevant documents, with its probability."""
    for bits in itertools.product((0, 1), repeat=len(p)):
        chance = math.prod(q if bit else 1 - q for bit, q in zip(bits, p.values(), strict=True))
        yield {doc for doc, bit in zip(p, bits, strict=True) if bit}, chance


def distribution(ranking: Ranking, p: Chances) -> dict[float, float]:
    """P(AP = x) for every x it can have."""
    found: dict[float, float] = {}
    for relevant, chance in assignments(p):
        value = round(ap(ranking, relevant), 12)
        found[value] = found.get(value, 0.0) + chance
    return found


def expectations(rankings: Sequence[Ranking], p: Chances) -> list[float]:
    """E[S] of each ranking, by enumeration."""
    return [sum(chance * numerator(ranking, relevant) for relevant, chance in assignments(p)) for ranking in rankings]


def covariances(rankings: Sequence[Ranking], p: Chances) -> list[list[float]]:
    """Cov(S_a, S_b) of each pair of rankings, by enumeration."""
    means = expectations(rankings, p)
    found = [[0.0] * len(rankings) for _ in rankings]
    for relevant, chance in assignments(p):
        off = [numerator(ranking, relevant) - mean for ranking, mean in zip(rankings, means, strict=True)]
        for a, b in itertools.product(range(len(rankings)), repeat=2):
            found[a][b] += chance * off[a] * off[b]
    return found


def weight(ranking: Ranking, i: int, j: int) -> float:
    """a_ij: one over the deeper of two ranks; 0 where one of them is not ranked."""
    if i not in ranking or j not in ranking:
        return 0.0
    return 1 / (1 + max(list(ranking).index(i), list(ranking).index(j)))


def printed_variance(ranking: Ranking, p: Chances) -> float:
    """The four sums printed above eq. (1), without their denominator."""
    total = 0.0
    for i in ranking:
        total += weight(ranking, i, i) ** 2 * p[i] * (1 - p[i])
        for j in ranking:
            if j == i:
                continue
            a_ij = weight(ranking, i, j)
            if j > i:
                total += a_ij**2 * p[i] * p[j] * (1 - p[i] * p[j])
            total += 2 * weight(ranking, i, i) * a_ij * p[i] * p[j] * (1 - p[i])
            for k in ranking:
                if k > j and k != i:
                    total += 2 * a_ij * weight(ranking, i, k) * p[i] * p[j] * p[k] * (1 - p[i])
    return total


# MTC (Carterette, Allan and Sitaraman 2006)


def mtc_weight(first: Ranking, second: Ranking, docs: Sequence[int], judged: Mapping[int, bool], i: int) -> float:
    """max(|wR|, |wN|) of document i for the difference of two rankings of a topic."""

    def c(j: int) -> float:
        return weight(first, i, j) - weight(second, i, j)

    relevant = c(i) + sum(c(j) for j in docs if j != i and judged.get(j) is True)
    not_so = c(i) + sum(c(j) for j in docs if j != i and judged.get(j) is not False)
    return max(abs(relevant), abs(not_so))


def expected_weight(first: Ranking, second: Ranking, p: Chances, i: int) -> float:
    """c_ii + sum_j c_ij p_j: by how much S_first - S_second is expected to rise if document i is relevant."""
    at = {j: weight(first, i, j) - weight(second, i, j) for j in p}
    return at[i] + sum(at[j] * p[j] for j in p if j != i)


# Probabilities of relevance (section 3)


def preference_posterior(theta: Sequence[float], relevant: int, other: int) -> float:
    """The log likelihood of section 3.2 with its beta prior, exponents |R| + 1 and |N| + 1 on the scale of theta."""
    total = 0.0
    for i, above in enumerate(theta):
        total += (relevant + 1) * float(log_expit(above)) + (other + 1) * float(log_expit(-above))
        for below in theta[i + 1 :]:
            total += float(log_expit(above - below))
    return total


def rank_probabilities(relevant: int, other: int, depth: int) -> list[float]:
    """q* at ranks 1..depth: the maximiser of that posterior."""

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        gap = theta[:, None] - theta
        above = np.triu(np.ones((depth, depth)), 1)
        value = (log_expit(gap) * above).sum()
        value += ((relevant + 1) * log_expit(theta) + (other + 1) * log_expit(-theta)).sum()
        pull = expit(-gap) * above
        slope = pull.sum(1) - pull.sum(0) + (relevant + 1) * expit(-theta) - (other + 1) * expit(theta)
        return -value, -slope

    start = np.linspace(2, -2, depth)
    found = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5_000})
    return [float(q) for q in expit(found.x)]
