"""Paired tests of differences [pair, topic], each with the confidence interval that inverts it.

Differences come from `paired_differences`, which makes equal what is equal but for rounding. An interval holds every
shift of the differences that the test, at that pair's level, would not reject: it excludes 0 exactly where p is below
the level. All are two-tailed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from fathoms.base.arrays import Bools, Floats, Ints
from fathoms.base.tolerances import SAME

DRAWS = 10_000  # of the randomization test and the two bootstraps
EXACT_FLIPS = 13  # topics up to which all 2^n sign changes are gone through
EXACT_RANKS = 50  # topics up to which the signed-rank distribution is exact, as in scipy
CELLS = 1 << 20  # of the blocks worked on at a time
ALL_WALSH = 1000  # topics up to which the averages of all pairs of differences are listed

Intervals = tuple[Floats, Floats]


def paired_differences(scores: Floats, a: Ints, b: Ints) -> Floats:
    """Differences [pair, topic] between systems a and b of scores [system, topic], equal ones made equal.

    0.4 - 0.3 and 0.3 - 0.2 are the same difference and not the same float. Sizes whose neighbours are within 1e-9 of
    the larger of the two systems' scores get one value, their mean, and those next to 0 are 0. (On a grid they would be
    equal too, but 0.1 + 0.2 would not be 0.3, which tests of sums need.)
    """
    largest = np.abs(scores).max(axis=1)
    near = SAME * np.maximum(largest[a], largest[b])
    differences = np.empty((len(a), scores.shape[1]))
    for part in _parts(len(a), scores.shape[1]):
        differences[part] = _equal_made_equal(scores[a[part]] - scores[b[part]], near[part])
    return differences


def _equal_made_equal(raw: Floats, near: Floats) -> Floats:
    size = np.abs(raw)
    order = np.argsort(size, axis=1)
    ordered = np.take_along_axis(size, order, axis=1)
    new = np.ones(size.shape, dtype=bool)
    new[:, 1:] = np.diff(ordered, axis=1) > near[:, None]
    group = np.cumsum(new.ravel()) - 1
    value = np.bincount(group, ordered.ravel()) / np.bincount(group)
    value[value <= np.repeat(near, new.sum(axis=1))] = 0.0
    np.put_along_axis(size, order, value[group].reshape(size.shape), axis=1)
    return np.copysign(size, raw) * (size > 0)  # not -0.0


def constant(differences: Floats) -> Bools:
    return differences.min(axis=1) == differences.max(axis=1)


def constant_p(value: Floats, n: int) -> Floats:
    """p of a difference that is the same on all n topics: that of the signs alone, 2^(1-n); 1 if it is zero."""
    return np.where(value == 0, 1.0, 2.0 ** (1 - n))


def constant_interval(value: Floats, n: int, levels: Floats) -> Intervals:
    """The difference itself, or everything where so few topics cannot reject anything."""
    anything = 2.0 ** (1 - n) >= levels
    return np.where(anything, -np.inf, value), np.where(anything, np.inf, value)


def student(differences: Floats) -> Floats:
    """The paired t-test."""
    from scipy.special import stdtr

    n = differences.shape[1]
    error = differences.std(axis=1, ddof=1) / np.sqrt(n)
    p: Floats = 2 * stdtr(n - 1, -np.abs(differences.mean(axis=1)) / error)
    return p


def student_interval(differences: Floats, levels: Floats) -> Intervals:
    from scipy.special import stdtrit

    n = differences.shape[1]
    mean = differences.mean(axis=1)
    half = -stdtrit(n - 1, levels / 2) * differences.std(axis=1, ddof=1) / np.sqrt(n)
    return mean - half, mean + half


def effect_size(differences: Floats) -> Floats:
    """Mean over standard deviation of paired differences (Cohen's d_z); nan where they are equal and not zero."""
    if differences.shape[1] < 2:
        return np.zeros(len(differences))
    spread, largest = differences.std(axis=1, ddof=1), np.abs(differences).max(axis=1)
    flat = spread <= SAME * largest
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.where(flat, np.nan, differences.mean(axis=1) / spread)
    return np.where(largest == 0, 0.0, size)


def effect_interval(differences: Floats, alpha: float = 0.05) -> Intervals:
    """The 1 - alpha confidence interval of d_z: the effects under which a t as large, or as small, has probability
    alpha / 2 (noncentral t). It excludes 0 where the t-test of that pair alone has p < alpha."""
    from scipy.special import nctdtrinc

    n = differences.shape[1]
    if n < 2:
        return np.full(len(differences), -np.inf), np.full(len(differences), np.inf)
    t = effect_size(differences) * np.sqrt(n)
    low, high = (nctdtrinc(n - 1, share, t) / np.sqrt(n) for share in (1 - alpha / 2, alpha / 2))
    return low, high


# -- signs and ranks ----------------------------------------------------------------------------------------------


def sign_test(differences: Floats) -> Floats:
    """The exact sign test; zeros are dropped."""
    from scipy.special import bdtr

    plus, minus = (differences > 0).sum(axis=1), (differences < 0).sum(axis=1)
    return np.minimum(2 * bdtr(np.minimum(plus, minus).astype(np.float64), plus + minus, 0.5), 1.0)


def sign_interval(differences: Floats, levels: Floats) -> Intervals:
    """Of the median of the differences that are not zero: two of them, as far from both ends."""
    n = (differences != 0).sum(axis=1)
    needed = np.zeros(len(n), dtype=np.int64)
    for size in np.unique(n):
        at_most = _binomial_counts(int(size))
        here = n == size
        needed[here] = np.searchsorted(at_most, levels[here])
    ordered = np.sort(np.where(differences == 0, np.nan, differences), axis=1)
    return _between(ordered, n, needed)


@lru_cache(maxsize=512)
def _binomial_counts(n: int) -> Floats:
    """p of the sign test for 0, 1, .. differences on the rarer side."""
    from scipy.special import bdtr

    p: Floats = np.minimum(2 * bdtr(np.arange(n // 2 + 1, dtype=np.float64), n, 0.5), 1.0)
    return p


def _between(ordered: Floats, size: Ints, needed: Ints) -> Intervals:
    """From the value with `needed` values up to it to the one with as many from it on; all, where none is needed."""
    rows = np.arange(len(ordered))
    last = ordered.shape[1] - 1
    low = ordered[rows, np.clip(needed - 1, 0, last)]
    high = ordered[rows, np.clip(size - needed, 0, last)]
    return np.where(needed <= 0, -np.inf, low), np.where(needed <= 0, np.inf, high)


def _partly_ordered(values: Floats, needed: Ints) -> Intervals:
    """The same for values in any order."""
    width = values.shape[1]
    places = np.unique(np.clip(np.concatenate([needed - 1, width - needed]), 0, width - 1))
    return _between(np.partition(values, places, axis=1), np.full(len(values), width), needed)


def wilcoxon(differences: Floats) -> Floats:
    """Wilcoxon's signed ranks; zeros dropped.

    As scipy: exact up to 50 differences without ties and zeros, by all sign patterns up to 13 of any kind, else the
    normal approximation with tie correction.
    """
    from scipy.special import ndtr

    ranks, n, variance, exact = _signed_ranks(differences)
    plus = (ranks * (differences > 0)).sum(axis=1)
    least = np.minimum(plus, n * (n + 1) / 2 - plus)
    p = 2 * ndtr((least - n * (n + 1) / 4) / np.sqrt(variance))
    if differences.shape[1] <= EXACT_FLIPS:
        p = 2 * _by_pattern(ranks, lambda sums, rows: (sums <= least[rows, None]).mean(axis=1))
    if exact.any():
        p[exact] = _signed_rank_p(differences.shape[1])[least[exact].astype(np.int64)]
    return np.minimum(p, 1.0)


def wilcoxon_interval(differences: Floats, levels: Floats) -> Intervals:
    """Of the pseudo-median (Hodges and Lehmann 1963): a rank sum counts the averages of two differences (Walsh
    averages) on one side of 0, so its critical value says how many are left out at either end. Zeros are dropped, as in
    the test."""
    from scipy.special import ndtri

    width = differences.shape[1]
    ranks, n, variance, exact = _signed_ranks(differences)
    # The test rejects where the lesser rank sum is below this.
    critical = n * (n + 1) / 4 + ndtri(levels / 2) * np.sqrt(variance)
    if width <= EXACT_FLIPS:
        place = np.ceil(levels / 2 * 2.0**width).astype(np.int64) - 1
        critical = _by_pattern(ranks, lambda sums, rows: np.sort(sums, axis=1)[np.arange(len(sums)), place[rows]])
    if exact.any():
        critical[exact] = np.searchsorted(_signed_rank_p(width), levels[exact])
    needed = np.ceil(critical).astype(np.int64)
    between = _between_averages if width <= ALL_WALSH else _between_many_averages
    return _by_part(lambda rows: between(differences[rows], n[rows], needed[rows]), len(n), width**2)


def _between_averages(differences: Floats, n: Ints, needed: Ints) -> Intervals:
    first, second = np.triu_indices(differences.shape[1])
    used = np.where(differences == 0, np.nan, differences)
    return _between(np.sort((used[:, first] + used[:, second]) / 2, axis=1), n * (n + 1) // 2, needed)


def _between_many_averages(differences: Floats, n: Ints, needed: Ints) -> Intervals:
    """The same without a list of the averages: how many are at most x is quickly counted, so bisect."""

    def end(values: Floats, needed: int) -> float:
        if needed <= 0:
            return -np.inf
        values = np.sort(values)
        few, enough = values[0] - 1.0, values[-1]
        while few < (middle := (few + enough) / 2) < enough and enough - few > 1e-15:
            partners = np.searchsorted(values, 2 * middle - values, side="right") - np.arange(len(values))
            few, enough = (few, middle) if np.maximum(partners, 0).sum() >= needed else (middle, enough)
        return float(enough)

    used = [row[row != 0] for row in differences]
    low = [end(row, count) for row, count in zip(used, needed.tolist(), strict=True)]
    high = [-end(-row, count) for row, count in zip(used, needed.tolist(), strict=True)]
    return np.array(low), np.array(high)


def rank_direction(differences: Floats) -> Floats:
    """On which side of 0 the greater rank sum is."""
    ranks = _signed_ranks(differences)[0]
    return np.sign((ranks * np.sign(differences)).sum(axis=1))


def _signed_ranks(differences: Floats) -> tuple[Floats, Ints, Floats, Bools]:
    """Ranks of the sizes (0 for zeros), how many are not zero, the rank sum's variance, and whether scipy is exact."""
    from scipy.stats import rankdata

    size = np.abs(differences)
    n = (size > 0).sum(axis=1)
    # Zeros rank below all others, so taking their number off leaves the ranks of the rest.
    zeros = size.shape[1] - n
    ranks = np.where(size > 0, rankdata(size, axis=1) - zeros[:, None], 0.0)
    ordered = np.sort(size, axis=1)
    tied = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] > 0)).any(axis=1)
    variance = n * (n + 1) * (2 * n + 1) / 24 - _tie_term(ordered, zeros) / 48
    return ranks, n, variance, ~tied & (zeros == 0) & (n <= EXACT_RANKS)


def _tie_term(ordered: Floats, zeros: Ints) -> Floats:
    """sum of t^3 - t over groups of equal values in each row, leaving out the zeros in front."""
    new = np.ones(ordered.shape, dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    width = ordered.shape[1]
    group = np.cumsum(new, axis=1) - 1 + np.arange(len(ordered))[:, None] * width
    counts = np.bincount(group.ravel(), minlength=ordered.size).reshape(ordered.shape).astype(np.float64)
    return (counts**3 - counts).sum(axis=1) - (zeros**3.0 - zeros)


@lru_cache(maxsize=64)
def _signed_rank_p(n: int) -> Floats:
    """p of each lesser rank sum of n differences without ties and zeros."""
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1
    for rank in range(1, n + 1):
        counts[rank:] = counts[rank:] + counts[:-rank]
    p: Floats = np.minimum(2 * np.cumsum(counts)[: n * (n + 1) // 4 + 1] / 2.0**n, 1.0)
    return p


def _by_pattern(ranks: Floats, of_sums: Callable[[Floats, slice], Floats]) -> Floats:
    """What `of_sums` makes of the rank sums of all sign patterns, [pair, pattern], some pairs at a time."""
    patterns = (sign_patterns(ranks.shape[1]) > 0).astype(np.float64)
    rows = _parts(len(ranks), patterns.shape[1])
    return np.concatenate([np.empty(0), *(of_sums(ranks[part] @ patterns, part) for part in rows)])


def _parts(pairs: int, cells: int) -> list[slice]:
    """So many pairs at a time that pairs times cells stay in cache."""
    step = max(1, CELLS // max(1, cells))
    return [slice(start, start + step) for start in range(0, pairs, step)]


def _by_part(of_part: Callable[[slice], Intervals], pairs: int, cells: int) -> Intervals:
    low, high = np.empty(pairs), np.empty(pairs)
    for part in _parts(pairs, cells):
        low[part], high[part] = of_part(part)
    return low, high


# -- signs and topics drawn anew ----------------------------------------------------------------------------------


def randomization(differences: Floats, seed: int = 0) -> Floats:
    """Fisher's randomization test: how often would random signs give a mean difference as large?"""
    signs, extra = _signs(differences.shape[1], seed)
    near = SAME * np.abs(differences).max(axis=1)
    least = np.abs(differences.sum(axis=1)) - 2 * near
    p = np.empty(len(differences))
    for part in _parts(len(p), signs.shape[1]):
        sums = differences[part] @ signs
        count = np.count_nonzero(np.abs(sums, out=sums) >= least[part, None], axis=1)
        p[part] = (count + extra) / (signs.shape[1] + extra)
    return p


def randomization_interval(differences: Floats, levels: Floats, seed: int = 0) -> Intervals:
    """The shifts that the test does not reject, exactly.

    Flipping the signs of some topics leaves the mean of d - x as large if and only if x lies between the mean of those
    topics and that of the others. All such stretches hold the mean of d, so the number of them that hold x falls to
    both sides, and each limit is one of their ends.
    """
    signs, extra = _signs(differences.shape[1], seed)
    n = (signs < 0).sum(axis=0)
    never = (n == 0) | (n == len(signs))  # as large wherever x is
    needed = least_count(levels, signs.shape[1], extra)

    def of_part(rows: slice) -> Intervals:
        flipped, kept = _split_sums(differences[rows], signs)
        flipped /= np.maximum(n, 1)
        kept /= np.maximum(len(signs) - n, 1)
        left = np.where(never, -np.inf, np.minimum(flipped, kept))
        right = np.where(never, np.inf, np.maximum(flipped, kept))
        return _partly_ordered(left, needed[rows])[0], _partly_ordered(right, needed[rows])[1]

    return _by_part(of_part, len(differences), signs.shape[1])


def _split_sums(differences: Floats, signs: Floats) -> tuple[Floats, Floats]:
    """Sums over the topics whose sign is flipped, and over the others, [pair, pattern]; 0 where only rounding is left.

    With D the sum over both and F that over those flipped, |D - 2F| >= |D| is F (D - F) <= 0.
    """
    flipped = differences @ (signs < 0).astype(np.float64)
    kept = differences.sum(axis=1, keepdims=True) - flipped
    near = SAME * np.abs(differences).max(axis=1, keepdims=True)
    for sums in (flipped, kept):
        sums[np.abs(sums) <= near] = 0.0
    return flipped, kept


def _signs(n: int, seed: int) -> tuple[Floats, int]:
    """Signs [topic, pattern], and how many patterns to add: the one observed, where they are drawn."""
    if n <= EXACT_FLIPS:
        return sign_patterns(n), 0
    return (1 - 2 * np.random.default_rng(seed).integers(0, 2, size=(n, DRAWS))).astype(np.float64), 1


def sign_patterns(n: int) -> Floats:
    """All 2^n of them, [topic, pattern]."""
    return (1 - 2 * ((np.arange(2**n)[None, :] >> np.arange(n)[:, None]) & 1)).astype(np.float64)


def bootstrap(differences: Floats, seed: int = 0) -> Floats:
    """How often does a resample of the topics, of differences moved to mean 0, have a mean as large?"""
    drawn = _resamples(differences.shape[1], seed)
    p = np.empty(len(differences))
    for part in _parts(len(p), DRAWS):
        total = differences[part].sum(axis=1, keepdims=True)
        count = np.count_nonzero(_away(differences[part], drawn) >= np.abs(total), axis=1)
        p[part] = (count + 1) / (DRAWS + 1)
    return p


def bootstrap_interval(differences: Floats, levels: Floats, seed: int = 0) -> Intervals:
    """As far to both sides of the mean as the means of so many resamples reach."""
    drawn = _resamples(differences.shape[1], seed)
    needed = least_count(levels, DRAWS, 1)

    def of_part(rows: slice) -> Intervals:
        total = differences[rows].sum(axis=1)
        half = _partly_ordered(_away(differences[rows], drawn), needed[rows])[1]
        return (total - half) / differences.shape[1], (total + half) / differences.shape[1]

    return _by_part(of_part, len(differences), DRAWS)


def _away(differences: Floats, drawn: Floats) -> Floats:
    """How far the sum of each resample is from that of all topics, and a little more, so that rounding is no matter."""
    away = np.abs(differences @ drawn - differences.sum(axis=1, keepdims=True))
    away += SAME * np.abs(differences).max(axis=1, keepdims=True)
    return away


def _resamples(n: int, seed: int) -> Floats:
    """How often each topic is drawn, [topic, resample]."""
    return np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=DRAWS).T.astype(np.float64)


def least_count(levels: Floats, n: int, extra: int, tails: int = 1) -> Ints:
    """The least count whose share of n, `extra` added to both, is not below the level; for so many tails."""
    count = np.ceil(levels * (n + extra) / tails - extra)
    # The division that p comes from may round another way.
    count += tails * (count + extra) / (n + extra) < levels
    count -= tails * (count - 1 + extra) / (n + extra) >= levels
    return np.maximum(count, 0).astype(np.int64)


def bayesian_bootstrap(differences: Floats, seed: int = 0) -> Floats:
    """Twice the smaller posterior probability of a mean difference on one side of 0 (Rubin 1981).

    The topics are a sample of a population of which nothing is assumed; its shares of the values seen have the
    posterior Dirichlet(1, .., 1). (With a normal population and the usual vague prior the posterior of the mean is
    Student's t, and twice its smaller tail is the p of the t-test: nothing new.)
    """
    drawn = _shares(differences.shape[1], seed)
    p = np.empty(len(differences))
    for part in _parts(len(differences), DRAWS):
        means = differences[part] @ drawn
        tail = np.minimum((means >= 0).sum(axis=1), (means <= 0).sum(axis=1))
        p[part] = np.minimum(2 * (tail + 1) / (DRAWS + 1), 1.0)
    return p


def bayesian_interval(differences: Floats, levels: Floats, seed: int = 0) -> Intervals:
    """The equal-tailed credible interval."""
    drawn = _shares(differences.shape[1], seed)
    needed = least_count(levels, DRAWS, 1, tails=2)

    def of_part(rows: slice) -> Intervals:
        return _partly_ordered(differences[rows] @ drawn, needed[rows])

    return _by_part(of_part, len(differences), DRAWS)


def _shares(n: int, seed: int) -> Floats:
    """Posterior draws of the topics' shares, [topic, draw]."""
    drawn = np.random.default_rng(seed).standard_exponential((n, DRAWS))
    shares: Floats = drawn / drawn.sum(axis=0)
    return shares
