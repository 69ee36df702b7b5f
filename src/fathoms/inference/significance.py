"""Is the difference between two systems more than chance? Paired tests for all pairs of systems at once.

Scores come as [system, topic]; p-values go as symmetric matrices [system, system], two-tailed, 1 on the diagonal. The
tests themselves are in `paired_tests`. Differences that are zero on every topic have p = 1; differences that are the
same on all n topics, and not zero, have p = 2^(1-n), that of their signs, whatever the test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fathoms.base.arrays import Bools, Floats, Ints
from fathoms.base.errors import FathomsError
from fathoms.base.tolerances import SAME
from fathoms.inference.names import CORRECTIONS as CORRECTIONS
from fathoms.inference.names import TESTS as TESTS
from fathoms.inference.names import Correction as Correction
from fathoms.inference.names import Test as Test
from fathoms.inference.paired_tests import (
    Intervals,
    bayesian_bootstrap,
    bayesian_interval,
    bootstrap,
    bootstrap_interval,
    constant,
    constant_interval,
    constant_p,
    paired_differences,
    randomization,
    randomization_interval,
    rank_direction,
    sign_interval,
    sign_test,
    student,
    student_interval,
    wilcoxon,
    wilcoxon_interval,
)
from fathoms.inference.paired_tests import effect_size as effect_size

IMPRECISE = 1e-6  # a variance this small beside its parts is taken from the differences themselves


def p_values(scores: Floats, test: Test = "t", seed: int = 0) -> Floats:
    """p of every pair of systems."""
    if test not in SIGNIFICANCE_TESTS:
        raise FathomsError(f"there is no test {test!r}; there are {', '.join(SIGNIFICANCE_TESTS)}")
    return SIGNIFICANCE_TESTS[test].p_values(scores, seed)


PairTest = Callable[[Floats, int], Floats]
PairInterval = Callable[[Floats, Floats, int], Intervals]


def _pair_by_pair(test: PairTest) -> Callable[[Floats, int], Floats]:
    """A test of differences [pair, topic] as one of scores [system, topic]."""

    def p_values(scores: Floats, seed: int) -> Floats:
        first, second = np.triu_indices(len(scores), 1)
        p = np.ones((len(scores), len(scores)))
        p[first, second] = p[second, first] = _varying_p(test, paired_differences(scores, first, second), seed)
        return p

    return p_values


def _varying_p(test: PairTest, differences: Floats, seed: int) -> Floats:
    """The test where differences vary, and what holds of all tests where they do not."""
    p = constant_p(differences[:, 0], differences.shape[1])
    varies = ~constant(differences)
    if varies.any():
        p[varies] = test(differences[varies], seed)
    return p


class Paired(NamedTuple):
    """Pairs of systems, and their differences [pair, topic]."""

    a: Ints
    b: Ints
    differences: Floats


def _pair_intervals(interval: PairInterval) -> Callable[[Floats, Paired, Floats, int], Intervals]:
    """The interval where differences vary, and what holds of all tests where they do not."""

    def intervals(scores: Floats, pairs: Paired, levels: Floats, seed: int) -> Intervals:
        differences = pairs.differences
        low, high = constant_interval(differences[:, 0], differences.shape[1], levels)
        varies = ~constant(differences)
        if varies.any():
            low[varies], high[varies] = interval(differences[varies], levels[varies], seed)
        return low, high

    return intervals


def sizes_of_t(scores: Floats, a: Ints, b: Ints) -> tuple[Floats, Bools]:
    """The t statistics of pairs without their signs, and which are rough: of differences that hardly vary."""
    n = scores.shape[1]
    mean = scores.mean(axis=1)
    centred = scores - mean[:, None]
    covariance = centred @ centred.T / (n - 1)
    spread = np.diag(covariance)
    both = spread[a] + spread[b]
    variance = both - 2 * covariance[a, b]
    rough = variance <= IMPRECISE * np.maximum(both, mean[a] ** 2)
    return np.abs(mean[a] - mean[b]) / np.sqrt(np.where(rough, 1.0, variance) / n), rough


def paired_t(scores: Floats) -> Floats:
    """The paired t-test: the variance of a difference is Var a + Var b - 2 Cov(a, b)."""
    from scipy.special import stdtr

    n_systems, n = scores.shape
    p = np.ones((n_systems, n_systems))
    if n < 2:
        return p
    first, second = np.triu_indices(n_systems, 1)
    t, rough = sizes_of_t(scores, first, second)
    values = 2 * stdtr(n - 1, -t)
    if rough.any():
        near = paired_differences(scores, first[rough], second[rough])
        values[rough] = _varying_p(lambda differences, seed: student(differences), near, 0)
    p[first, second] = p[second, first] = values
    return p


def tukey(scores: Floats) -> Floats:
    """Tukey's honestly significant difference over systems, topics as blocks (two-way, without interaction).

    The p-values are those of the largest difference among all systems, so they need no further correction. Where no
    difference varies from topic to topic, they are those of the signs, times the number of pairs.
    """
    n_systems, n = scores.shape
    first, second = np.triu_indices(n_systems, 1)
    p = np.ones((n_systems, n_systems))
    if _tukey_error(scores) > 0:
        q = np.abs(tukey_statistics(scores, first, second))
        p[first, second] = _range_survival(q, n_systems, (n_systems - 1) * (n - 1))
    elif len(first):
        signs = constant_p(paired_differences(scores, first, second)[:, 0], n)
        p[first, second] = np.minimum(signs * len(first), 1.0)
    p[second, first] = p[first, second]
    return p


def tukey_intervals(scores: Floats, pairs: Paired, levels: Floats, seed: int) -> Intervals:
    """Simultaneous over all pairs of systems: the same error for all, and the studentized range's critical value."""
    from scipy.stats import studentized_range

    n_systems, n = scores.shape
    error = _tukey_error(scores)
    if error == 0:
        all_pairs = n_systems * (n_systems - 1) / 2
        return constant_interval(pairs.differences[:, 0], n, levels / all_pairs)
    critical = [studentized_range.isf(level, n_systems, (n_systems - 1) * (n - 1)) for level in np.unique(levels)]
    half = np.array(critical)[np.searchsorted(np.unique(levels), levels)] * np.sqrt(error / n)
    diff = pairs.differences.mean(axis=1)
    return diff - half, diff + half


def tukey_statistics(scores: Floats, a: Ints, b: Ints) -> Floats:
    """Each pair's difference over the standard error of a mean; infinite where nothing varies, 0 for no difference."""
    mean = scores.mean(axis=1)
    diff = mean[a] - mean[b]
    diff[np.abs(diff) <= SAME * np.abs(scores).max()] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(diff == 0, 0.0, diff / np.sqrt(_tukey_error(scores) / scores.shape[1]))


def _tukey_error(scores: Floats) -> float:
    """The mean square of what neither system nor topic explains; 0 where it is rounding error, or one topic."""
    n_systems, n = scores.shape
    if n_systems < 2 or n < 2:
        return 0.0
    residual = scores - scores.mean(axis=1, keepdims=True) - scores.mean(axis=0) + scores.mean()
    if np.abs(residual).max() <= SAME * np.abs(scores).max():
        return 0.0
    return float((residual**2).sum() / ((n_systems - 1) * (n - 1)))


def _range_survival(q: Floats, n_systems: int, freedom: int) -> Floats:
    """The studentized range's chance to exceed each q. It takes milliseconds a value: many are read off a table."""
    from scipy.interpolate import PchipInterpolator
    from scipy.stats import studentized_range

    if len(q) <= 300:
        return np.clip(studentized_range.sf(q, n_systems, freedom), 0.0, 1.0)
    table = np.linspace(0, min(float(q.max()), 60.0) + 0.05, 250)
    survival = np.clip(studentized_range.sf(table, n_systems, freedom), 1e-16, 1.0)
    return np.exp(PchipInterpolator(table, np.log(survival))(np.minimum(q, table[-1])))


def mean_direction(differences: Floats) -> Floats:
    return np.sign(differences.sum(axis=1))


def sign_direction(differences: Floats) -> Floats:
    return np.sign(np.sign(differences).sum(axis=1))


@dataclass(frozen=True)
class SignificanceTest:
    """A paired test for all pairs of systems, and what is to be said of it."""

    name: str
    title: str  # as sentences have it
    description: str
    citation: str
    p_values: Callable[[Floats, int], Floats]  # scores [system, topic] and a seed to p [system, system]
    # Scores, some pairs of systems, the level each is tested at and a seed to the ends of their intervals.
    intervals: Callable[[Floats, Paired, Floats, int], Intervals]
    direction: Callable[[Floats], Floats] = mean_direction  # differences to -1, 0, 1: the side a small p speaks for
    allows_for_all_pairs: bool = False  # its p-values need no further correction
    resamples: bool = False
    about: str = "mean difference"  # what its interval is of


SIGNIFICANCE_TESTS: dict[str, SignificanceTest] = {
    test.name: test
    for test in (
        SignificanceTest(
            "t",
            "paired t-test",
            "is the mean difference larger than its standard error explains?",
            "Student (1908), The Probable Error of a Mean, Biometrika 6",
            lambda scores, seed: paired_t(scores),
            _pair_intervals(lambda differences, levels, seed: student_interval(differences, levels)),
        ),
        SignificanceTest(
            "wilcoxon",
            "Wilcoxon signed-rank test",
            "are the differences spread evenly around 0? Zeros are dropped; exact where scipy is. It tests symmetry, "
            "not the mean: with many topics it finds a skew where the means are equal",
            "Wilcoxon (1945), Individual Comparisons by Ranking Methods, Biometrics Bulletin 1",
            _pair_by_pair(lambda differences, seed: wilcoxon(differences)),
            _pair_intervals(lambda differences, levels, seed: wilcoxon_interval(differences, levels)),
            direction=rank_direction,
            about="pseudo-median of the differences that are not zero",
        ),
        SignificanceTest(
            "sign",
            "sign test",
            "is each run ahead on half of the topics on which they differ? Exact; topics without a difference are "
            "dropped; how large a difference is does not count",
            "Conover (1999), Practical Nonparametric Statistics, section 3.4",
            _pair_by_pair(lambda differences, seed: sign_test(differences)),
            _pair_intervals(lambda differences, levels, seed: sign_interval(differences, levels)),
            direction=sign_direction,
            about="median of the differences that are not zero",
        ),
        SignificanceTest(
            "randomization",
            "randomization test",
            "how often do random signs give a mean difference as large? All signs up to 13 topics, else 10,000 seeded "
            "draws",
            "Smucker, Allan and Carterette (2007), A Comparison of Statistical Significance Tests for Information "
            "Retrieval Evaluation, CIKM",
            _pair_by_pair(randomization),
            _pair_intervals(randomization_interval),
            resamples=True,
        ),
        SignificanceTest(
            "bootstrap",
            "bootstrap test",
            "how often does a resample of the topics, moved to mean 0, have a mean as large? 10,000 seeded resamples",
            "Sakai (2006), Evaluating Evaluation Metrics Based on the Bootstrap, SIGIR",
            _pair_by_pair(bootstrap),
            _pair_intervals(bootstrap_interval),
            resamples=True,
        ),
        SignificanceTest(
            "bayes",
            "Bayesian bootstrap",
            "how probable is it that the mean difference has the other sign? p is twice that posterior probability, "
            "from 10,000 seeded draws; the interval is a credible interval",
            "Rubin (1981), The Bayesian Bootstrap, Annals of Statistics 9",
            _pair_by_pair(bayesian_bootstrap),
            _pair_intervals(bayesian_interval),
            resamples=True,
        ),
        SignificanceTest(
            "tukey",
            "Tukey's HSD",
            "is the difference larger than the largest among all systems would be? Topics are blocks",
            "Carterette (2012), Multiple Testing in Statistical Analysis of Systems-Based Information Retrieval "
            "Experiments, TOIS 30(1)",
            lambda scores, seed: tukey(scores),
            tukey_intervals,
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
    # p-values and alpha to the level each comparison is tested at: p is below it where the adjusted p is below alpha
    levels: Callable[[Floats, float], Floats]


def _bonferroni(p: Floats) -> Floats:
    return np.minimum(p * len(p), 1.0)


def _holm(p: Floats) -> Floats:
    order = np.argsort(p, kind="stable")
    out = np.empty(len(p))
    out[order] = np.maximum.accumulate(np.minimum(p[order] * (len(p) - np.arange(len(p))), 1.0))
    return out


def _holm_levels(p: Floats, alpha: float) -> Floats:
    """alpha over the number of comparisons left when a pair's turn comes, which for equal p is that of the first of
    them; for those whose turn never comes, the level at which the procedure stopped."""
    rejected = int((_holm(p) < alpha).sum())
    turn = np.searchsorted(np.sort(p), p)
    return np.asarray(alpha / (len(p) - np.minimum(turn, rejected)))


def _benjamini_hochberg(p: Floats) -> Floats:
    order = np.argsort(p, kind="stable")
    out = np.empty(len(p))
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    out[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return out


def _benjamini_hochberg_levels(p: Floats, alpha: float) -> Floats:
    """r alpha / m for the r claims made, so that at most a share alpha of their intervals is expected to miss
    (Benjamini and Yekutieli 2005); for the others (r + 1) alpha / m, the level at which another claim would begin."""
    claimed = _benjamini_hochberg(p) < alpha
    return np.where(claimed, claimed.sum(), claimed.sum() + 1) * alpha / max(1, len(p))


CORRECTION_METHODS: dict[str, CorrectionMethod] = {
    method.name: method
    for method in (
        CorrectionMethod("none", "no", "p-values as they are", "", np.copy, lambda p, alpha: np.full(len(p), alpha)),
        CorrectionMethod(
            "bonferroni",
            "Bonferroni",
            "p times the number of comparisons: the chance of any false claim is at most alpha",
            "Dunn (1961), Multiple Comparisons among Means, JASA 56",
            _bonferroni,
            lambda p, alpha: np.full(len(p), alpha / max(1, len(p))),
        ),
        CorrectionMethod(
            "holm",
            "Holm",
            "the smallest p times that number, the next times one less, ...: the same promise, and more power",
            "Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure, Scand. J. Statistics 6",
            _holm,
            _holm_levels,
        ),
        CorrectionMethod(
            "bh",
            "Benjamini-Hochberg",
            "of the claims made, the expected share of false ones is at most alpha",
            "Benjamini and Hochberg (1995), Controlling the False Discovery Rate, JRSS B 57",
            _benjamini_hochberg,
            _benjamini_hochberg_levels,
        ),
    )
}


def corrected(p: Floats, correction: Correction) -> Floats:
    """p-values, one a comparison, for making all these comparisons together."""
    if correction not in CORRECTION_METHODS:
        raise FathomsError(f"there is no correction {correction!r}; there are {', '.join(CORRECTION_METHODS)}")
    return CORRECTION_METHODS[correction].adjust(p)


def p_corrected(p: Floats, test: Test, correction: Correction) -> Floats:
    """p-values, one a comparison, after the correction, or as they are if the test itself allows for all pairs."""
    return p if SIGNIFICANCE_TESTS[test].allows_for_all_pairs else corrected(p, correction)


def pairs(matrix: Floats) -> Floats:
    """The entries of a symmetric matrix above its diagonal, one a pair."""
    return matrix[np.triu_indices(len(matrix), 1)]


def separability(p: Floats, alpha: float) -> float:
    """The share of system pairs with p < alpha (RM section 4; the discrimination ratio of LMC-depth section 3)."""
    return float((pairs(p) < alpha).mean())


def reversals(p_before: Floats, p_after: Floats, alpha: float) -> float:
    """The share of pairs that are significant on few judgments and not on all of them (RM section 4)."""
    return float(((pairs(p_before) < alpha) & (pairs(p_after) >= alpha)).mean())
