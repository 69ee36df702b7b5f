"""How well labels agree with human grades: statistics of tables of counts, and their intervals over topics.

A table counts the documents of each human grade (rows) and label (columns). Every statistic takes any number of them at
once, [..., grade, label], so that a resampling of topics is a product of matrices and no loop over documents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import Bools, Floats, Ints, distinct

RESAMPLES = 2000
CELLS = 20_000_000  # of resampled tables in memory at a time
MOST_VALUES = 1000  # of scores, when intervals are made
MOST_GRADES = 20  # different values; more are scores
MOST_FRACTIONS = 10  # different values where some are not whole, such as means of several assessors


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95% interval; what cannot be known is None."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, eq=False)
class Labelled:
    """The documents that people have judged and a source has labelled, as counts by topic."""

    grades: Floats  # human grades, ascending
    labels: Floats  # labels, ascending
    counts: NDArray[Any]  # [topic, grade, label]; topics with such documents only; weighted, if documents are
    documents: int

    @cached_property
    def total(self) -> Floats:
        """The table of all topics together."""
        return self.counts.sum(axis=0).astype(np.float64)

    def __len__(self) -> int:
        return self.documents


def counted(topic: Ints, grade: Floats, label: Floats, weight: Floats | None = None) -> Labelled:
    """Tables by topic of documents that have both a grade and a label; weights add up to as many as there are."""
    grades, labels, topics = distinct(grade), distinct(label), distinct(topic)
    shape = (len(topics), len(grades), len(labels))
    places = (np.searchsorted(topics, topic), np.searchsorted(grades, grade), np.searchsorted(labels, label))
    cells = np.ravel_multi_index(places, shape)
    scaled = None if weight is None else weight * (len(weight) / weight.sum())
    counts = np.bincount(cells, scaled, minlength=int(np.prod(shape))).reshape(shape)
    return Labelled(grades, labels, counts, len(topic))


def are_scores(labels: Floats) -> bool:
    """Whether labels are scores, of a classifier say, and no grades: many values, or several that are not whole."""
    values = distinct(labels)
    return len(values) > (MOST_GRADES if (values % 1 == 0).all() else MOST_FRACTIONS)


# -- statistics of tables [..., grade, label] ------------------------------------------------------------------------


def _ratio(above: Floats, below: Floats) -> Floats:
    """above / below, nan where below is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(np.abs(below) > 1e-12, above / below, np.nan)


def binary(table: Floats, relevant: Bools, positive: Bools) -> Floats:
    """The table of two rows and columns: not relevant and relevant, for people and for the labels."""
    rows = np.stack([~relevant, relevant]).astype(np.float64)
    columns = np.stack([~positive, positive], axis=1).astype(np.float64)
    return rows @ table @ columns


def kappa(table: Floats, weights: Floats) -> Floats:
    """Cohen's (1968) weighted kappa, 1 - (observed / expected disagreement), of disagreement weights [grade, label].

    Weights of 0 and 1 give Cohen's (1960) kappa; squared differences the quadratic one.
    """
    total = table.sum(axis=(-2, -1))
    rows, columns = table.sum(axis=-1), table.sum(axis=-2)
    observed = (table * weights).sum(axis=(-2, -1))
    expected = _ratio(np.einsum("...i,ij,...j->...", rows, weights, columns), total)
    return 1 - _ratio(observed, expected)


def squared(grades: Floats, labels: Floats) -> Floats:
    """Quadratic disagreement weights."""
    return np.subtract.outer(grades, labels) ** 2


def alpha(table: Floats, *, ordinal: bool) -> Floats:
    """Krippendorff's alpha of two coders without missing values; rows and columns stand for the same values.

    1 - (n - 1) sum o_ck d_ck / sum n_c n_k d_ck over the coincidences o, where d is 1 between different values
    (nominal), or the square of the number of values between two, half of each end counted (ordinal).
    Krippendorff (2011), Computing Krippendorff's alpha-reliability.
    """
    coincidences = table + np.swapaxes(table, -1, -2)
    n = coincidences.sum(axis=-1)
    if ordinal:
        middle = np.cumsum(n, axis=-1) - n / 2
        distance = (middle[..., :, None] - middle[..., None, :]) ** 2
    else:
        distance = np.broadcast_to(1 - np.eye(n.shape[-1]), coincidences.shape)
    observed = (coincidences * distance).sum(axis=(-2, -1))
    expected = np.einsum("...i,...ij,...j->...", n, distance, n)
    return 1 - (n.sum(axis=-1) - 1) * _ratio(observed, expected)


def auc(two_rows: Floats) -> Floats:
    """The chance that a relevant document has the greater label than one that is not; half where they are equal."""
    not_relevant, relevant = two_rows[..., 0, :], two_rows[..., 1, :]
    below = np.cumsum(not_relevant, axis=-1) - not_relevant / 2
    return _ratio((relevant * below).sum(axis=-1), relevant.sum(axis=-1) * not_relevant.sum(axis=-1))


def spearman(table: Floats) -> Floats:
    """Spearman's rank correlation of grades and labels, equal ones at their mean rank."""
    rows, columns = table.sum(axis=-1), table.sum(axis=-2)
    total = rows.sum(axis=-1)[..., None]
    x = np.cumsum(rows, axis=-1) - rows / 2 - total / 2
    y = np.cumsum(columns, axis=-1) - columns / 2 - total / 2
    both = np.einsum("...i,...ij,...j->...", x, table, y)
    return _ratio(both, np.sqrt((rows * x**2).sum(axis=-1) * (columns * y**2).sum(axis=-1)))


def labelled_relevant(table: Floats, rows: Bools, positive: Bools) -> Floats:
    """The share of the documents of some human grades that is labelled relevant."""
    chosen = table[..., rows, :].sum(axis=-2)
    return _ratio(chosen[..., positive].sum(axis=-1), chosen.sum(axis=-1))


def bias(table: Floats, grades: Floats, labels: Floats) -> Floats:
    """Mean label minus mean grade."""
    differences = np.subtract.outer(labels, grades).T
    return _ratio((table * differences).sum(axis=(-2, -1)), table.sum(axis=(-2, -1)))


def with_all_values(labelled: Labelled) -> Labelled:
    """The same with rows and columns for the same values, those of either side."""
    values = distinct(np.append(labelled.grades, labelled.labels))
    square = np.zeros((len(labelled.counts), len(values), len(values)), dtype=labelled.counts.dtype)
    rows, columns = np.searchsorted(values, labelled.grades), np.searchsorted(values, labelled.labels)
    square[:, rows[:, None], columns[None, :]] = labelled.counts
    return Labelled(values, values, square, labelled.documents)


def coarse(labelled: Labelled, most: int = MOST_VALUES) -> Labelled:
    """The same with at most so many different labels: neighbours together, in groups of about as many documents.

    Order counts, so a group goes by the number of its place. For intervals of scores: the figures change in the fourth
    digit, and the time by far more.
    """
    if len(labelled.labels) <= most:
        return labelled
    seen = np.cumsum(labelled.counts.sum(axis=(0, 1)))
    group = np.minimum((seen - 1) * most // seen[-1], most - 1)
    first = np.flatnonzero(np.diff(group, prepend=-1))
    return Labelled(
        labelled.grades, labelled.labels[first], np.add.reduceat(labelled.counts, first, axis=2), labelled.documents
    )


# -- intervals --------------------------------------------------------------------------------------------------------


def resampled(n_topics: int, seed: int, resamples: int = RESAMPLES) -> Ints:
    """[resample, topic]: how often each topic was drawn, of as many draws as there are topics."""
    return np.random.default_rng(seed).multinomial(n_topics, np.full(n_topics, 1 / n_topics), size=resamples)


def drawn(statistic: Callable[[Floats], Floats], counts: NDArray[Any], draws: Ints) -> Floats:
    """The statistic of each resample of the topics' tables."""
    flat = counts.reshape(len(counts), -1).astype(np.float64)
    step = max(1, CELLS // max(1, flat.shape[1]))
    parts = [
        statistic((draws[start : start + step] @ flat).reshape(-1, *counts.shape[1:]))
        for start in range(0, len(draws), step)
    ]
    return np.concatenate(parts)


def interval(statistic: Callable[[Floats], Floats], counts: NDArray[Any], draws: Ints) -> Estimate:
    """A statistic of all topics' tables together, with its interval by a bootstrap over whole topics.

    Documents of a topic are judged by the same people and labelled from the same words, so topics are what is drawn.
    The ends are Efron's (1987) BCa percentiles, with the acceleration from leaving out one topic at a time.
    """
    total = counts.sum(axis=0).astype(np.float64)
    value = float(statistic(total))
    if np.isnan(value):
        return Estimate(None)
    if len(counts) < 2:
        return Estimate(value)
    of_resamples = drawn(statistic, counts, draws)
    known = of_resamples[~np.isnan(of_resamples)]
    if len(known) < len(of_resamples) / 2:  # the statistic hangs on a topic or two
        return Estimate(value)
    below = float((known < value).mean() + (known == value).mean() / 2)
    ends = bca_shares(len(counts), below, statistic(total - counts))
    low, high = np.quantile(known, ends)
    return Estimate(value, float(low), float(high))


def bca_shares(n: int, below: float, without_one: Floats) -> tuple[float, float]:
    """Between which shares of the resamples the 95% interval lies.

    `below` is the share of resamples below the figure itself, `without_one` the figure without each of the n topics.
    """
    from scipy.special import ndtr, ndtri

    z = expanded_normal(n)
    shift = float(ndtri(min(max(below, 0.001), 0.999)))
    influence = without_one[~np.isnan(without_one)]
    influence = influence.mean() - influence if len(influence) else np.zeros(1)
    size = float((influence**2).sum())
    acceleration = float((influence**3).sum()) / (6 * size**1.5) if size > 1e-24 else 0.0

    def share(end: float) -> float:
        moved = shift + end
        return float(ndtr(shift + moved / max(1 - acceleration * moved, 1e-3)))

    return share(-z), share(z)


def percentiles(of_resamples: Floats, n: int) -> tuple[float | None, float | None]:
    """The ends of the plain percentile interval from resamples of n topics, None where there is but one or most
    resamples leave it undefined."""
    from scipy.special import ndtr

    known = of_resamples[~np.isnan(of_resamples)]
    if n < 2 or len(known) < len(of_resamples) / 2:
        return None, None
    tail = float(ndtr(-expanded_normal(n)))
    low, high = np.quantile(known, [tail, 1 - tail])
    return float(low), float(high)


def expanded_normal(n: int, level: float = 0.95) -> float:
    """In place of the normal's 1.96, Student's t times sqrt(n / (n - 1)) for n topics (Hesterberg 2015).

    Percentiles of the bootstrap are else too narrow where topics are few.
    """
    from scipy.special import stdtrit

    return float(np.sqrt(n / (n - 1)) * stdtrit(n - 1, (1 + level) / 2))


# -- scores -----------------------------------------------------------------------------------------------------------


def best_thresholds(labelled: Labelled) -> Floats:
    """For scores: from which score on each human grade but the lowest is reached, by the greatest kappa.

    For each grade g all scores are tried as the least one of documents of grade g or more, and the thresholds are made
    not to fall from grade to grade. They are chosen on the judgments that agreement is then measured on.
    """
    table = labelled.total
    thresholds = []
    for g in range(1, len(labelled.grades)):
        two = np.stack([table[:g].sum(axis=0), table[g:].sum(axis=0)])
        # [threshold, person's no/yes, label's no/yes]: documents with that score or a greater one are labelled yes.
        yes = np.cumsum(two[:, ::-1], axis=1)[:, ::-1]
        tables = np.stack([two.sum(axis=1)[:, None] - yes, yes], axis=-1).transpose(1, 0, 2)
        agreement = np.nan_to_num(kappa(tables, 1 - np.eye(2)), nan=-1.0)
        thresholds.append(labelled.labels[int(agreement.argmax())])
    return np.maximum.accumulate(np.array(thresholds))


def as_grades(scores: Floats, thresholds: Floats, grades: Floats) -> Floats:
    """Scores as the human grades that they reach."""
    return grades[np.searchsorted(thresholds, scores, side="right")]
