"""Is the difference between two systems more than chance? Paired tests for all pairs of systems at once.

Scores come as [system, topic]; p-values go as symmetric matrices [system, system], two-tailed, 1 on the diagonal.
Differences that are the same on every topic say nothing about other topics: without variance, p = 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fathoms.comparison.names import CORRECTIONS as CORRECTIONS
from fathoms.comparison.names import TESTS as TESTS
from fathoms.comparison.names import Correction as Correction
from fathoms.comparison.names import Test as Test
from fathoms.errors import FathomsError
from fathoms.evidence.evidence import Floats

DRAWS = 10_000  # of the randomization and bootstrap tests
EXACT_FLIPS = 13  # topics up to which all 2^n sign changes are gone through
PAIRS_AT_A_TIME = 64  # so that pairs times draws stay in cache
ROUNDING = 1e-12


def p_values(scores: Floats, test: Test = "t", seed: int = 0) -> Floats:
    """p of every pair of systems."""
    if test not in SIGNIFICANCE_TESTS:
        raise FathomsError(f"there is no test {test!r}; there are {', '.join(SIGNIFICANCE_TESTS)}")
    return SIGNIFICANCE_TESTS[test].p_values(scores, seed)


def _pair_by_pair(test: Callable[[Floats, int], Floats]) -> Callable[[Floats, int], Floats]:
    """A test of differences [pair, topic] as one of scores [system, topic]."""

    def p_values(scores: Floats, seed: int) -> Floats:
        first, second = np.triu_indices(len(scores), 1)
        p = np.ones((len(scores), len(scores)))
        differences = scores[first] - scores[second]
        differences[np.abs(differences) < ROUNDING] = 0.0
        p[first, second] = p[second, first] = test(differences, seed)
        return p

    return p_values


def paired_t(scores: Floats) -> Floats:
    """The paired t-test: the variance of a difference is Var a + Var b - 2 Cov(a, b)."""
    from scipy.special import stdtr

    n_systems, n = scores.shape
    p = np.ones((n_systems, n_systems))
    if n < 2:
        return p
    mean = scores.mean(axis=1)
    centred = scores - mean[:, None]
    covariance = centred @ centred.T / (n - 1)
    first, second = np.triu_indices(n_systems, 1)
    spread = np.diag(covariance)
    both = spread[first] + spread[second]
    variance = both - 2 * covariance[first, second]
    # Below this, what is left is rounding error of equal numbers.
    some = variance > ROUNDING * np.maximum(both, 1e-300)
    t = np.abs(mean[first] - mean[second])[some] / np.sqrt(variance[some] / n)
    values = np.ones(len(first))
    values[some] = 2 * stdtr(n - 1, -t)
    p[first, second] = p[second, first] = values
    return p


def wilcoxon(differences: Floats) -> Floats:
    """Wilcoxon's signed ranks, [pair, topic] to [pair]; zeros dropped.

    As scipy: exact up to 50 differences without ties and zeros, by all sign patterns up to 13 of any kind, else the
    normal approximation with tie correction.
    """
    from scipy.special import ndtr
    from scipy.stats import rankdata

    size = np.abs(differences)
    used = size > 0
    n = used.sum(axis=1)
    # Zeros rank below all others, so taking their number off leaves the ranks of the rest.
    zeros = (~used).sum(axis=1, keepdims=True)
    ranks = np.where(used, rankdata(size, axis=1) - zeros, 0.0)
    plus = (ranks * (differences > 0)).sum(axis=1)
    mean = n * (n + 1) / 4
    ordered = np.sort(size, axis=1)
    tied = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] > 0)
    exact = ~tied.any(axis=1) & (n == size.shape[1]) & (n <= 50)
    variance = n * (n + 1) * (2 * n + 1) / 24 - _tie_term(ordered, zeros[:, 0]) / 48
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(variance > 0, (plus - mean) / np.sqrt(variance), 0.0)
    p = 2 * ndtr(-np.abs(z))
    if size.shape[1] <= EXACT_FLIPS:
        sums = ranks @ (_sign_patterns(size.shape[1]) > 0)
        few, many = sums <= plus[:, None] + 1e-9, sums >= plus[:, None] - 1e-9
        p = 2 * np.minimum(few.mean(axis=1), many.mean(axis=1))
    for row in np.flatnonzero(exact):
        below, total = _signed_rank_counts(int(n[row]))
        least = round(min(plus[row], n[row] * (n[row] + 1) / 2 - plus[row]))
        p[row] = min(1.0, 2 * below[least] / total)
    return np.where(n > 0, np.minimum(p, 1.0), 1.0)


def _tie_term(ordered: Floats, zeros: Floats) -> Floats:
    """sum of t^3 - t over groups of equal values in each row, leaving out the zeros in front."""
    new = np.ones(ordered.shape, dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    width = ordered.shape[1]
    group = np.cumsum(new, axis=1) - 1 + np.arange(len(ordered))[:, None] * width
    counts = np.bincount(group.ravel(), minlength=ordered.size).reshape(ordered.shape).astype(np.float64)
    return (counts**3 - counts).sum(axis=1) - (zeros**3.0 - zeros)


@lru_cache(maxsize=64)
def _signed_rank_counts(n: int) -> tuple[Floats, float]:
    """How many of the 2^n sign patterns have a rank sum of at most each value."""
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1
    for rank in range(1, n + 1):
        counts[rank:] = counts[rank:] + counts[:-rank]
    return np.cumsum(counts), float(2**n)


def randomization(differences: Floats, seed: int = 0) -> Floats:
    """Fisher's randomization test: how often would random signs give a mean difference as large?"""
    n = differences.shape[1]
    if n <= EXACT_FLIPS:
        signs, extra = _sign_patterns(n), 0
    else:
        flips = np.random.default_rng(seed).integers(0, 2, size=(n, DRAWS))
        signs, extra = (1 - 2 * flips).astype(np.float64), 1  # the pattern observed is one of those possible
    return _share_as_large(differences, signs, extra)


def _sign_patterns(n: int) -> Floats:
    """All 2^n of them, [topic, pattern]."""
    return (1 - 2 * ((np.arange(2**n)[None, :] >> np.arange(n)[:, None]) & 1)).astype(np.float64)


def bootstrap(differences: Floats, seed: int = 0) -> Floats:
    """How often does a resample of the topics, of differences moved to mean 0, have a mean as large?"""
    n = differences.shape[1]
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=DRAWS).T.astype(np.float64)
    centred = differences - differences.mean(axis=1, keepdims=True)
    p = _share_as_large(centred, drawn, 1, observed=np.abs(differences.sum(axis=1)))
    flat = np.ptp(differences, axis=1) < ROUNDING
    return np.where(flat, 1.0, p)


def _share_as_large(values: Floats, weights: Floats, extra: int, observed: Floats | None = None) -> Floats:
    observed = np.abs(values.sum(axis=1)) if observed is None else observed
    p = np.empty(len(values))
    for start in range(0, len(values), PAIRS_AT_A_TIME):
        part = slice(start, start + PAIRS_AT_A_TIME)
        sums = values[part] @ weights
        count = np.count_nonzero(np.abs(sums, out=sums) >= observed[part, None] - 1e-9, axis=1)
        p[part] = (count + extra) / (weights.shape[1] + extra)
    flat = ~values.any(axis=1) if extra == 0 else np.zeros(len(values), dtype=bool)
    return np.where(flat, 1.0, p)


def tukey(scores: Floats) -> Floats:
    """Tukey's honestly significant difference over systems, topics as blocks (two-way, without interaction).

    The p-values are those of the largest difference among all systems, so they need no further correction.
    """
    n_systems, n = scores.shape
    p = np.ones((n_systems, n_systems))
    if n_systems < 2 or n < 2:
        return p
    residual = scores - scores.mean(axis=1, keepdims=True) - scores.mean(axis=0) + scores.mean()
    freedom = (n_systems - 1) * (n - 1)
    error = (residual**2).sum() / freedom
    if error < ROUNDING**2:
        return p
    mean = scores.mean(axis=1)
    q = np.abs(mean[:, None] - mean[None, :]) / np.sqrt(error / n)
    first, second = np.triu_indices(n_systems, 1)
    p[first, second] = p[second, first] = _range_survival(q[first, second], n_systems, freedom)
    return p


def _range_survival(q: Floats, n_systems: int, freedom: int) -> Floats:
    """The studentized range's chance to exceed each q. It takes milliseconds a value: many are read off a table."""
    from scipy.interpolate import PchipInterpolator
    from scipy.stats import studentized_range

    if len(q) <= 300:
        return np.clip(studentized_range.sf(q, n_systems, freedom), 0.0, 1.0)
    table = np.linspace(0, min(float(q.max()), 60.0) + 0.05, 250)
    survival = np.clip(studentized_range.sf(table, n_systems, freedom), 1e-16, 1.0)
    return np.exp(PchipInterpolator(table, np.log(survival))(np.minimum(q, table[-1])))


@dataclass(frozen=True)
class SignificanceTest:
    """A paired test for all pairs of systems, and what is to be said of it."""

    name: str
    title: str  # as sentences have it
    description: str
    citation: str
    p_values: Callable[[Floats, int], Floats]  # scores [system, topic] and a seed to p [system, system]
    allows_for_all_pairs: bool = False  # its p-values need no further correction


SIGNIFICANCE_TESTS: dict[str, SignificanceTest] = {
    test.name: test
    for test in (
        SignificanceTest(
            "t",
            "paired t-test",
            "is the mean difference larger than its standard error explains?",
            "Student (1908), The Probable Error of a Mean, Biometrika 6",
            lambda scores, seed: paired_t(scores),
        ),
        SignificanceTest(
            "wilcoxon",
            "Wilcoxon signed-rank test",
            "do the ranks of the differences sum to the same on both sides? Exact where scipy is",
            "Wilcoxon (1945), Individual Comparisons by Ranking Methods, Biometrics Bulletin 1",
            _pair_by_pair(lambda differences, seed: wilcoxon(differences)),
        ),
        SignificanceTest(
            "randomization",
            "randomization test",
            "how often do random signs give a mean difference as large? All signs up to 13 topics, else 10,000 seeded "
            "draws",
            "Smucker, Allan and Carterette (2007), A Comparison of Statistical Significance Tests for Information "
            "Retrieval Evaluation, CIKM",
            _pair_by_pair(lambda differences, seed: randomization(differences, seed)),
        ),
        SignificanceTest(
            "bootstrap",
            "bootstrap test",
            "how often does a resample of the topics, moved to mean 0, have a mean as large? 10,000 seeded resamples",
            "Sakai (2006), Evaluating Evaluation Metrics Based on the Bootstrap, SIGIR",
            _pair_by_pair(lambda differences, seed: bootstrap(differences, seed)),
        ),
        SignificanceTest(
            "tukey",
            "Tukey's HSD",
            "is the difference larger than the largest among all systems would be? Topics are blocks",
            "Carterette (2012), Multiple Testing in Statistical Analysis of Systems-Based Information Retrieval "
            "Experiments, TOIS 30(1)",
            lambda scores, seed: tukey(scores),
            allows_for_all_pairs=True,
        ),
    )
}


@dataclass(frozen=True)
class CorrectionMethod:
    """How p-values change because many comparisons are made, and what is to be said of it."""

    name: str
    title: str  # as sentences have it
    description: str
    citation: str
    adjust: Callable[[Floats], Floats]  # p-values, one a comparison, to those of all comparisons together


def _bonferroni(p: Floats) -> Floats:
    return np.minimum(p * len(p), 1.0)


def _holm(p: Floats) -> Floats:
    order = np.argsort(p, kind="stable")
    out = np.empty(len(p))
    out[order] = np.maximum.accumulate(np.minimum(p[order] * (len(p) - np.arange(len(p))), 1.0))
    return out


def _benjamini_hochberg(p: Floats) -> Floats:
    order = np.argsort(p, kind="stable")
    out = np.empty(len(p))
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    out[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return out


CORRECTION_METHODS: dict[str, CorrectionMethod] = {
    method.name: method
    for method in (
        CorrectionMethod("none", "no", "p-values as they are", "", np.copy),
        CorrectionMethod(
            "bonferroni",
            "Bonferroni",
            "p times the number of comparisons: the chance of any false claim is at most alpha",
            "Dunn (1961), Multiple Comparisons among Means, JASA 56",
            _bonferroni,
        ),
        CorrectionMethod(
            "holm",
            "Holm",
            "the smallest p times that number, the next times one less, ...: the same promise, and more power",
            "Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure, Scand. J. Statistics 6",
            _holm,
        ),
        CorrectionMethod(
            "bh",
            "Benjamini-Hochberg",
            "of the claims made, the expected share of false ones is at most alpha",
            "Benjamini and Hochberg (1995), Controlling the False Discovery Rate, JRSS B 57",
            _benjamini_hochberg,
        ),
    )
}


def corrected(p: Floats, correction: Correction) -> Floats:
    """p-values, one a comparison, for making all these comparisons together."""
    if correction not in CORRECTION_METHODS:
        raise FathomsError(f"there is no correction {correction!r}; there are {', '.join(CORRECTION_METHODS)}")
    return CORRECTION_METHODS[correction].adjust(p)


def interval(differences: Floats, alpha: float = 0.05) -> tuple[Floats, Floats]:
    """The 1 - alpha confidence interval of the mean of each row of differences, by Student's t."""
    from scipy.special import stdtrit

    n = differences.shape[1]
    mean = differences.mean(axis=1)
    if n < 2:
        return np.full_like(mean, -np.inf), np.full_like(mean, np.inf)
    half = stdtrit(n - 1, 1 - alpha / 2) * differences.std(axis=1, ddof=1) / np.sqrt(n)
    return mean - half, mean + half


def effect_size(differences: Floats) -> Floats:
    """Mean over standard deviation of paired differences (Cohen's d_z); 0 where nothing varies."""
    if differences.shape[1] < 2:
        return np.zeros(len(differences))
    spread = differences.std(axis=1, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > ROUNDING, differences.mean(axis=1) / spread, 0.0)


def pairs(matrix: Floats) -> Floats:
    """The entries of a symmetric matrix above its diagonal, one a pair."""
    return matrix[np.triu_indices(len(matrix), 1)]


def separability(p: Floats, alpha: float) -> float:
    """The share of system pairs with p < alpha (RM section 4; the discrimination ratio of LMC-depth section 3)."""
    return float((pairs(p) < alpha).mean())


def reversals(p_before: Floats, p_after: Floats, alpha: float) -> float:
    """The share of pairs that are significant on few judgments and not on all of them (RM section 4)."""
    return float(((pairs(p_before) < alpha) & (pairs(p_after) >= alpha)).mean())
