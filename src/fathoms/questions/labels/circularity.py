"""Does a run look as if the judge itself had ordered it?

Labels reward a run that was reranked by their own source (Clarke and Dietz 2024, LLM-based relevance assessment still
can't replace human relevance assessment). Such a run follows the labels even where people see no difference. So, among
the documents of a topic that have the same human grade, labels are correlated with how high the run ranks them: the
partial correlation of label and height given the grade. Honest runs have some of it too, more the better they are,
since grades are coarse and labels tell good documents from very good ones. A run is suspected if it has more than its
agreement with people explains, judged by the other runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fathoms.base.arrays import row_sums
from fathoms.evidence.evidence import Bools, Floats, Ints

FEWEST_RUNS = 6  # it takes to tell what is usual; with fewer nothing is said
FEWEST_TOPICS = 5  # with enough documents of a run to say anything about it
FEWEST_FREE = 4  # documents of a topic beyond one for each grade that the run has there
SUSPECT = 0.05  # chance that any run is suspected where none is circular
LEAST_EXCESS = 0.25  # of correlation: a reranking by the judge has more, a system that happens to resemble it less
MOST_SUSPECTS = 1 / 3  # of the runs; if most of them were circular, the honest ones would stand out


@dataclass(frozen=True)
class Following:
    """How far a run follows the labels beyond the human grades, against the other runs."""

    run: str
    correlation: float | None  # mean over topics: label and height in the ranking, at the same human grade
    agreement: float | None  # mean over topics: human grade and height
    excess: float | None  # of that correlation over what other runs of such agreement have
    p: float | None  # the chance of such an excess without cause, corrected for the number of runs
    suspect: bool = False


def height(rank: Floats) -> Floats:
    """How high a document stands: the first places differ most, and the deeper ones still tell.

    (With nDCG's discount, which forgets the deeper ones, fewer circular runs stood out in trials.)
    """
    return -np.log(rank)


def topic_correlations(topic: Ints, rank: Floats, grade: Ints, label: Floats, n_topics: int) -> tuple[Floats, Floats]:
    """For one run, by topic: the partial correlation of label and height given the grade, and that of grade and height.

    One element a document that the run has, with the number of its grade. nan where a topic has too few of them.
    """
    h = height(rank)
    cell = topic * (int(grade.max(initial=0)) + 1) + grade
    _, cell = np.unique(cell, return_inverse=True)
    n = row_sums(topic, np.ones(len(topic)), n_topics)
    first = np.full(int(cell.max(initial=-1)) + 1, -1)
    first[cell] = topic
    free = n - row_sums(first, np.ones(len(first)), n_topics)
    partial = _correlation(topic, _centred(cell, h), _centred(cell, label), n_topics)
    plain = _correlation(topic, _centred(topic, h), _centred(topic, grade.astype(np.float64)), n_topics)
    return np.where(free >= FEWEST_FREE, partial, np.nan), np.where(free >= FEWEST_FREE, plain, np.nan)


def _centred(group: Ints, values: Floats) -> Floats:
    n = int(group.max(initial=-1)) + 1
    counts = np.maximum(row_sums(group, np.ones(len(group)), n), 1)
    return values - (row_sums(group, values, n) / counts)[group]


def _correlation(topic: Ints, x: Floats, y: Floats, n_topics: int) -> Floats:
    both, xx, yy = (row_sums(topic, v, n_topics) for v in (x * y, x * x, y * y))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((xx > 1e-12) & (yy > 1e-12), both / np.sqrt(xx * yy), np.nan)


def followings(names: Sequence[str], partial: Floats, plain: Floats) -> list[Following]:
    """Who follows the labels more than people's grades explain; correlations are [run, topic].

    Topics in which all runs follow the labels count against nobody: each topic's median over the runs is subtracted. A
    run is suspected if its excess is an outlier among the runs', and if it holds over topics at large: a t test of its
    excess topic by topic, corrected for the number of runs too. Otherwise a run with few judged documents, whose
    correlations are mostly noise, would be an outlier. Runs with few usable topics are left out altogether.
    """
    measured = [
        Following(name, _mean(c), _mean(g), None, None) for name, c, g in zip(names, partial, plain, strict=True)
    ]
    usable = (~np.isnan(partial) & ~np.isnan(plain)).sum(axis=1) >= FEWEST_TOPICS
    known = np.flatnonzero(usable)
    if len(known) < FEWEST_RUNS:
        return measured
    beyond = _beyond_median(partial[known])
    x, a = (np.nanmean(values, axis=1) for values in (beyond, _beyond_median(plain[known])))
    excess, p, suspects = outliers(x, a)
    p = np.maximum(p, np.minimum(1.0, len(known) * _topic_chances(beyond - (x - excess)[:, None])))
    suspects &= (p < SUSPECT) & (excess >= LEAST_EXCESS)
    for i, *figures in zip(known.tolist(), excess.tolist(), p.tolist(), suspects.tolist(), strict=True):
        measured[i] = Following(measured[i].run, measured[i].correlation, measured[i].agreement, *figures)
    return measured


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _beyond_median(values: Floats) -> Floats:
    """Each run's excess over the topic's median over the runs; nan where it has no value."""
    beyond = np.full(values.shape, np.nan)
    some = ~np.isnan(values).all(axis=0)
    beyond[:, some] = values[:, some] - np.nanmedian(values[:, some], axis=0)
    return beyond


def _topic_chances(values: Floats) -> Floats:
    """One-sided t tests: for each row the chance of a mean that far above 0 if its topics had none."""
    from scipy.special import stdtr

    n = (~np.isnan(values)).sum(axis=1)
    error = np.nanstd(values, axis=1, ddof=1) / np.sqrt(n)
    t = np.nanmean(values, axis=1) / np.maximum(error, 1e-12)
    chances: Floats = 1 - stdtr(n - 1, t)
    return chances


def outliers(x: Floats, a: Floats) -> tuple[Floats, Floats, Bools]:
    """Runs whose x is too great for their a: excess over the line, corrected p, and whether they are outliers.

    The slope is Siegel's (1982) repeated median, which circular runs, high in both, cannot draw towards them. Then
    Rosner's (1983) many-outlier procedure, one-sided, on what is left of x: take away the greatest, by its externally
    studentised distance from the mean of the others, then again; the outliers are those taken away up to the last step
    whose p, times the runs there were, is below SUSPECT. So several circular runs do not hide each other. The excess of
    each run is over the mean of those that are no outliers.
    """
    residual = x - _slope(x, a) * a
    order = np.argsort(-residual, kind="stable")
    most = max(1, min(int(MOST_SUSPECTS * len(x)), len(x) - FEWEST_RUNS + 1))
    steps = [_chance(residual[order[i:]])[0] for i in range(most)]
    n_out = 1 + max((i for i, p in enumerate(steps) if p < SUSPECT), default=-1)
    suspects = np.zeros(len(x), dtype=bool)
    suspects[order[:n_out]] = True
    p = np.empty(len(x))
    # A suspect is one by the best of the steps from its own on; the others' p is among themselves.
    p[order[:n_out]] = [min(steps[i:n_out]) for i in range(n_out)]
    p[order[n_out:]] = np.maximum(_chance(residual[order[n_out:]]), SUSPECT)
    return residual - residual[~suspects].mean(), p, suspects


def _slope(x: Floats, a: Floats) -> float:
    """The median over runs of the median slope from a run to each other."""
    da, dx = np.subtract.outer(a, a), np.subtract.outer(x, x)
    with np.errstate(invalid="ignore", divide="ignore"):
        slopes = np.where(np.abs(da) > 1e-12, dx / da, np.nan)
    rows = slopes[~np.isnan(slopes).all(axis=1)]
    return float(np.median(np.nanmedian(rows, axis=1))) if len(rows) else 0.0


def _chance(values: Floats) -> Floats:
    """For each value, the chance that the greatest of that many lies that far above the others; one degree of freedom
    goes to the slope.

    It is doubled: with several steps and few runs, a family would otherwise be suspected in up to 10% of cases and not
    in 5%, as trials with normal values showed.
    """
    from scipy.special import stdtr

    n = len(values)
    e = values - values.mean()
    room = 1 - 1 / n
    others = np.maximum((e**2).sum() - e**2 / room, 1e-18) / (n - 2)
    p: Floats = np.minimum(1.0, 2 * n * (1 - stdtr(n - 3, e / np.sqrt(others * room))))
    return p
