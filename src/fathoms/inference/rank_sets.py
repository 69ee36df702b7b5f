"""What topics say of a ranking: which runs are better than which for certain, all pairs at once, and so between which
ranks each run is.

Topics are a sample of those one cares about. There are two kinds of confidence sets. Those of `rank_sets` are
simultaneous: with confidence 1 - alpha the true ranks of all runs are in their sets together. Those of `own_ranks` are
marginal: each holds the true rank of its run with that confidence, and not all need to at once. Mogstad, Romano, Shaikh
and Wilhelm (2024), Inference for Ranks with Applications to Mobility across Neighbourhoods and Academic Achievement
across Countries, Review of Economic Studies 91.
"""

from __future__ import annotations

from math import floor, log, log2, sqrt

import numpy as np

from fathoms.base.arrays import Bools, Floats, Ints
from fathoms.base.tolerances import SAME

RESAMPLES = 999
CELLS = 1 << 19  # of pairs times resamples worked on at a time
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def ranks(means: Floats) -> Ints:
    """1 + the number of runs that are strictly better; equal ones share the better rank. The last axis is of runs."""
    flat = means.reshape(-1, means.shape[-1])
    ranks_by_row = [len(row) + 1 - np.searchsorted(np.sort(row), row + SAME, side="right") for row in flat]
    return np.array(ranks_by_row, dtype=np.int64).reshape(means.shape)


def rank_sets(better: Bools) -> tuple[Ints, Ints]:
    """The first and last rank that each run can have, if better[a, b] says that a is better than b for certain."""
    return 1 + better.sum(axis=0), len(better) - better.sum(axis=1)


def own_ranks(scores: Floats, alpha: float = 0.05, seed: int = 0) -> tuple[Ints, Ints]:
    """The central part of each run's ranks when the topics of scores [run, topic] are drawn anew, and its rank here.

    The percentile bootstrap of a rank. Where runs are exactly as good it has no guarantee; how often it covers on real
    topics is in docs/results/rank.md. Two runs that differ on so few topics that no test of the two could reject may
    come in either order, whatever the resamples say.
    """
    n = scores.shape[1]
    weights = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES) / n
    drawn, own = ranks(weights @ scores.T), ranks(scores.mean(axis=1))
    low = np.quantile(drawn, alpha / 2, axis=0, method="lower")
    high = np.quantile(drawn, 1 - alpha / 2, axis=0, method="higher")
    enough = np.array([(np.abs(scores - row) > SAME).sum(axis=1) for row in scores]) >= topics_needed(2, alpha)
    means = scores.mean(axis=1)
    first, last = rank_sets(enough & (means[:, None] > means + SAME))
    return np.minimum.reduce([low, own, first]), np.maximum.reduce([high, own, last])


def topics_needed(runs: int, alpha: float) -> int:
    """On how many topics two of so many runs have to differ before anything can be said of them: even if all of these
    spoke for one run, the sign test would not reject at alpha over the number of pairs with fewer."""
    pairs = runs * (runs - 1) / 2
    return floor(log2(max(pairs, 1.0) / alpha)) + 2


def significantly_better(scores: Floats, alpha: float = 0.05, seed: int = 0) -> Bools:
    """[a, b]: whether run a is better than run b, with all such claims true at once with confidence 1 - alpha.

    Scores are [run, topic]. Each pair has a paired t statistic, and the critical value is that of the greatest of all
    pairs when topics are drawn anew, the same for all runs, and differences are centred and studentised anew. It is
    found again without the pairs that are told apart until no more are (stepdown). Claims that the data speak against,
    t < -sqrt(log topics), are left out of the greatest: moment selection, Andrews and Soares (2010), Econometrica 78.
    """
    n_runs, n = scores.shape
    better = np.zeros((n_runs, n_runs), dtype=bool)
    a, b = np.triu_indices(n_runs, 1)
    needed = topics_needed(n_runs, alpha)
    if n < needed:
        return better
    differ = np.concatenate([(np.abs(scores[run] - scores[run + 1 :]) > SAME).sum(axis=1) for run in range(n_runs - 1)])
    a, b = a[differ >= needed], b[differ >= needed]
    cosine = _cosines(scores, a, b)
    weights = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES) / n
    clear = 1 / sqrt(1 + (n - 1) / log(n))  # the cosine at which t is sqrt(log n)
    left = np.ones(len(a), dtype=bool)
    while left.any():
        critical = _critical(scores, weights, a[left], b[left], cosine[left], clear, alpha)
        told_apart = left & (np.abs(cosine) > critical + SAME)
        if not told_apart.any():
            break
        left &= ~told_apart
    ahead, behind = np.where(cosine > 0, a, b), np.where(cosine > 0, b, a)
    better[ahead[~left], behind[~left]] = True
    return better


def _cosines(scores: Floats, a: Ints, b: Ints) -> Floats:
    """The mean difference over the root of the mean squared one: c = t / sqrt(t^2 + n - 1), which rises with the t
    statistic and is 1 where that is infinite."""
    differences = scores[a] - scores[b]
    return differences.mean(axis=1) / np.sqrt((differences**2).mean(axis=1))


def _critical(scores: Floats, weights: Floats, a: Ints, b: Ints, cosine: Floats, clear: float, alpha: float) -> float:
    """The cosine that the greatest of these pairs exceeds in a share alpha of the resamples."""
    centred = scores - scores.mean(axis=1, keepdims=True)
    means = weights @ centred.T
    greatest = np.zeros(len(weights))
    step = max(1, CELLS // len(weights))
    for start in range(0, len(a), step):
        part = slice(start, start + step)
        square = weights @ ((centred[a[part]] - centred[b[part]]) ** 2).T
        mean = means[:, a[part]] - means[:, b[part]]
        still = square <= SAME**2
        square[still] = 1.0
        mean[still] = 0.0
        np.sqrt(square, out=square)
        drawn = np.divide(mean, square, out=mean)
        for_a, for_b = cosine[part] > -clear, cosine[part] < clear
        np.maximum(greatest, drawn[:, for_a].max(axis=1, initial=0.0), out=greatest)
        np.maximum(greatest, -drawn[:, for_b].min(axis=1, initial=0.0), out=greatest)
    place = min(len(weights), int(np.ceil((1 - alpha) * (len(weights) + 1))))
    return float(np.sort(greatest)[place - 1])


def letters(better: Bools, order: Ints) -> list[str]:
    """A compact letter display: two runs share a letter exactly if neither is better than the other for certain.

    Letters are given in the `order` of the runs. Empty where more would be needed than there are.
    """
    ordered = better[np.ix_(order, order)]
    alike = ~(ordered | ordered.T)
    shared = np.zeros_like(alike)
    groups: list[list[int]] = []
    for first in range(len(order)):
        while len(missing := first + np.flatnonzero(alike[first, first:] & ~shared[first, first:])):
            if len(groups) == len(LETTERS):
                return [""] * len(order)
            members = _largest_group(alike, first, int(missing[-1]))
            shared[np.ix_(members, members)] = True
            groups.append(members)
    letters_of_run = [""] * len(order)
    for letter, members in zip(LETTERS, sorted(groups), strict=False):
        for member in members:
            letters_of_run[order[member]] += letter
    return letters_of_run


def _largest_group(alike: Bools, first: int, last: int) -> list[int]:
    """Runs that are all alike, with these two among them; others join in order."""
    members = [first] if first == last else [first, last]
    may_join: Bools = np.asarray(alike[members].all(axis=0))
    for other in np.flatnonzero(may_join).tolist():
        if other not in members and may_join[other]:
            members.append(other)
            may_join &= alike[other]
    return sorted(members)
