"""AP as a random variable, and what robust test collections need, the slow way: plain loops and enumeration.

Written from Carterette (SIGIR 2007) and the papers it cites; nothing here is fast or shared with the library. A ranking
is a list of documents, `p` gives each document of the topic its probability of relevance, and documents that a ranking
did not return count for R only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, root
from scipy.special import expit, log_expit

Ranking = Sequence[int]
Chances = Mapping[int, float]
Floats = NDArray[np.float64]
PATIENT = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 10_000, "maxfev": 20_000}


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


def mtc_parts(first: Ranking, second: Ranking, docs: Sequence[int], judged: Mapping[int, bool], i: int) -> list[float]:
    """wR and wN of document i for the difference of two rankings of a topic."""

    def c(j: int) -> float:
        return weight(first, i, j) - weight(second, i, j)

    relevant = c(i) + sum(c(j) for j in docs if j != i and judged.get(j) is True)
    not_so = c(i) + sum(c(j) for j in docs if j != i and judged.get(j) is not False)
    return [relevant, not_so]


def mtc_weight(first: Ranking, second: Ranking, docs: Sequence[int], judged: Mapping[int, bool], i: int) -> float:
    return max(abs(part) for part in mtc_parts(first, second, docs, judged, i))


def expected_numerator(ranking: Ranking, p: Chances) -> float:
    """E[S] by the double sum, documents independent."""
    total = 0.0
    for i in ranking:
        total += weight(ranking, i, i) * p[i]
        total += sum(weight(ranking, i, j) * p[i] * p[j] for j in ranking if j < i)
    return total


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


def rank_probabilities(relevant: int, other: int, depth: int, start: Floats | None = None) -> Floats:
    """q* at ranks 1..depth: where that posterior, which is concave, has slope 0; looked for from `start` on."""
    above = np.triu(np.ones((depth, depth)), 1)

    def slope(theta: Floats) -> Floats:
        pull = expit(theta - theta[:, None]) * above
        return pull.sum(1) - pull.sum(0) + (relevant + 1) * expit(-theta) - (other + 1) * expit(theta)

    def curve(theta: Floats) -> Floats:
        between = expit(theta[:, None] - theta) * expit(theta - theta[:, None])
        np.fill_diagonal(between, 0.0)
        own = (relevant + other + 2) * expit(theta) * expit(-theta)
        return between - np.diag(between.sum(axis=1) + own)

    if start is None:
        start = np.linspace(2.0, -2.0, depth) + np.log((relevant + 1) / (other + 1))
    found = root(slope, start, jac=curve, tol=1e-12).x
    if np.abs(slope(found)).max() > 1e-7:
        # Newton's steps, halved until the slope gets smaller, which they must where a function is concave.
        found = start
        for _ in range(100):
            step, size = np.linalg.solve(curve(found), slope(found)), 1.0
            while size > 1e-9 and np.linalg.norm(slope(found - size * step)) > np.linalg.norm(slope(found)):
                size /= 2
            found = found - size * step
    assert np.abs(slope(found)).max() < 1e-7
    return expit(found)


def platt(reported: Sequence[float], relevant: Sequence[bool], ridge: float) -> Callable[[float, float], float]:
    """What the calibration of one expert minimises: cross entropy to Platt's smoothed targets, and a ridge that draws
    A to the logit of the smoothed share of relevant documents and B to 0."""
    positive = sum(relevant)
    negative = len(relevant) - positive
    rest = math.log((positive + 1) / (negative + 1))

    def loss(A: float, B: float) -> float:
        total = ridge / 2 * ((A - rest) ** 2 + B**2)
        for q, is_relevant in zip(reported, relevant, strict=True):
            target = (positive + 1) / (positive + 2) if is_relevant else 1 / (negative + 2)
            z = A + B * q
            total -= target * float(log_expit(z)) + (1 - target) * float(log_expit(-z))
        return total

    return loss


def calibrated(reported: Sequence[float], relevant: Sequence[bool], ridge: float) -> tuple[float, float]:
    loss = platt(reported, relevant, ridge)
    found = minimize(lambda x: loss(*x), [0.0, 0.0], method="Nelder-Mead", options=PATIENT)
    A, B = minimize(lambda x: loss(*x), found.x, method="Nelder-Mead", options=PATIENT).x
    return float(A), float(B)


def log_posterior(x: Floats, X: Floats, y: Floats, log_prior: Callable[[Floats], float]) -> float:
    """Of a logistic regression."""
    z = X @ x
    return float(sum(log_expit(a if b else -a) for a, b in zip(z, y, strict=True))) + log_prior(x)


def beta_prior(weight: float, *, intercept: bool, precision: float = 0.0) -> Callable[[Floats], float]:
    """Beta(weight, weight) for sigma(lambda), as a density of lambda; an intercept comes last, normal."""

    def log_prior(x: Floats) -> float:
        own = x[:-1] if intercept else x
        total = sum(weight * float(log_expit(v) + log_expit(-v)) for v in own)
        return total - (precision / 2 * float(x[-1]) ** 2 if intercept else 0.0)

    return log_prior


def normal_prior(mean: Floats, precision: Floats) -> Callable[[Floats], float]:
    def log_prior(x: Floats) -> float:
        return -sum(float(w) / 2 * float(v - m) ** 2 for v, m, w in zip(x, mean, precision, strict=True))

    return log_prior


def logistic(X: Floats, y: Floats, log_prior: Callable[[Floats], float]) -> Floats:
    """The maximiser, by scipy and numerical derivatives alone."""
    found = np.zeros(X.shape[1])
    for _ in range(3):
        found = minimize(lambda x: -log_posterior(x, X, y, log_prior), found, method="BFGS", options={"gtol": 1e-7}).x
    return found


def hessian(function: Callable[[Floats], float], x: Floats, step: float = 1e-3) -> Floats:
    """Second derivatives by central differences."""
    n = len(x)
    found = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            a, b = np.eye(n)[i] * step, np.eye(n)[j] * step
            corners = function(x + a + b) - function(x + a - b) - function(x - a + b) + function(x - a - b)
            found[i, j] = corners / (4 * step**2)
    return found


# Other ways to choose documents


def hedge_weight(rankings: Sequence[Ranking], depth: int, judged: Mapping[int, bool], rate: float, i: int) -> float:
    """Hedge (Aslam, Pavlu and Savell 2003): the loss of document i at its ranks, systems weighed by what they lost."""

    def loss(ranking: Ranking, doc: int) -> float:
        if doc not in ranking:
            return 0.0
        return 0.5 * sum(1 / place for place in range(list(ranking).index(doc) + 1, depth + 1))

    lost = [sum(loss(r, doc) * (-1 if yes else 1) for doc, yes in judged.items()) for r in rankings]
    trust = [math.exp(-rate * (total - min(lost))) for total in lost]
    return sum(w * loss(r, i) for w, r in zip(trust, rankings, strict=True)) / sum(trust)


class MoveToFront:
    """Move-to-front pooling of one topic (Cormack, Palmer and Clarke 1998), with a list of priorities.

    The system in front is read on as long as it yields relevant documents. One that did not goes behind, and a system
    of the then highest priority is next.
    """

    def __init__(self, rankings: Sequence[Ranking]) -> None:
        self.rankings = rankings
        self.priority = [0] * len(rankings)
        self.front: int | None = None
        self.judged: set[int] = set()

    def _first(self, system: int) -> int | None:
        return next((doc for doc in self.rankings[system] if doc not in self.judged), None)

    def allowed(self) -> set[int]:
        """Documents that may be judged next."""
        asking = [s for s in range(len(self.rankings)) if self._first(s) is not None]
        if self.front in asking:
            asking = [s for s in asking if s == self.front]
        most = max((self.priority[s] for s in asking), default=0)
        return {doc for s in asking if self.priority[s] == most and (doc := self._first(s)) is not None}

    def judge(self, doc: int, relevant: bool) -> None:
        """The system that asked for it: the front, or of highest priority, then of the highest rank, then the first."""
        having = [s for s, ranking in enumerate(self.rankings) if doc in ranking]
        asked = max(having, key=lambda s: (self.priority[s], s == self.front, -list(self.rankings[s]).index(doc), -s))
        self.judged.add(doc)
        if relevant:
            self.front = asked
        else:
            self.priority[asked] -= 1
            self.front = None
