"""What if somebody else had judged? How much assessors' errors add to the doubt about which run is ahead.

From documents judged twice we know P(h | g), the chance that another assessor gives grade h where the first gives g. A
document has then grade h with chance p'(h) = sum_g p(g) P(h | g), whether it is judged (one p(g) is 1) or not. With a_i
what a unit of gain at document i adds to a run's score, x(h) the gain of grade h, s the score and d(h) the growth of
its divisor, as in `beliefs.py`, grade h at document i adds

    a_i x(h) - s d(h)

to the score. The sum over documents of its expectation under p' less that under p is the shift of the score; that of
its variance, documents independent, the doubt that is added. This is exact where a score is a weighted sum. For others
a_i depends on the other documents' grades, and the shift takes it midway between p and p', which is exact for the sum
of precisions of AP.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fathoms.evidence.evidence import Floats
from fathoms.judging.beliefs import Beliefs, TopicEffects, sandwich

ENOUGH = 20  # documents judged twice, before anything is said
PRIOR = 1.0  # prior: documents of each first grade that agree, or not, as all do


class Doubt(NamedTuple):
    """What other assessors would change, of mean scores."""

    shift: Floats  # [run]
    covariance: Floats  # [run, run]


class WithOthers(NamedTuple):
    """What is believed about two runs if another assessor had judged, [run, run] except the shift."""

    confidence: Floats
    shift: Floats  # [run], of mean scores
    deviation: Floats  # of mean differences: as judged
    with_others: Floats  # and had another assessor judged


class OtherOpinion(NamedTuple):
    """Two runs, the better one first, and the probability that it is: as judged, and if another assessor had judged."""

    better: str
    other: str
    measure: str
    confidence: float
    with_others: float
    difference: float  # to be expected, of mean scores
    difference_with_others: float
    deviation: float  # its standard deviation
    deviation_with_others: float


def second_chances(pairs: Sequence[tuple[float, float]], level: Callable[[float], int], n: int) -> Floats | None:
    """[level, level]: P(h | g) of two grades of each document, as levels; None if too few were judged twice."""
    if len(pairs) < ENOUGH:
        return None
    cells = np.zeros((n, n))
    for first, second in pairs:
        cells[level(first), level(second)] += 1
    alike = float(cells.trace() / cells.sum())
    seconds = cells.sum(axis=0) / cells.sum()
    # A grade that nobody judged twice agrees as often as all do; otherwise it gets a grade as others do.
    assumed = alike * np.eye(n) + (1 - alike) * seconds
    return (cells + PRIOR * assumed) / (cells.sum(axis=1, keepdims=True) + PRIOR)


def doubt_of(beliefs: Beliefs, chance: Floats, others: Floats) -> Doubt:
    """The doubt about one measure, with the current chances [level, topic, column], and P(h | g)."""
    n_topics, k, _ = beliefs.block.shape
    shift, covariance = np.zeros(k), np.zeros((k, k))
    for topic in range(n_topics):
        before = chance[:, topic]
        after = others.T @ before
        effects, moved = beliefs.effects(topic), beliefs.effects_with(topic, after)
        n = effects.on_sum.shape[0]
        before, after = before[:, :n], after[:, :n]
        shift += (_shift(effects, beliefs.values, after - before) + _shift(moved, beliefs.values, after - before)) / 2
        covariance += _covariance(moved, beliefs.values, after) - _covariance(effects, beliefs.values, before)
    return Doubt(shift / n_topics, covariance / n_topics**2)


def _shift(effects: TopicEffects, values: Floats, change: Floats) -> Floats:
    return np.asarray(effects.by_gain.T @ (values @ change) - effects.score * float((effects.growth @ change).sum()))


def _covariance(effects: TopicEffects, values: Floats, chance: Floats) -> Floats:
    """Of the sum over documents, which are independent."""
    x, d = values, effects.growth
    mean_x, mean_d = x @ chance, d @ chance
    rows = effects.by_gain
    covariance = sandwich(rows, np.maximum(x**2 @ chance - mean_x**2, 0.0))
    if d.any():
        crossed = np.outer(rows.T @ ((x * d) @ chance - mean_x * mean_d), effects.score)
        covariance += float(np.maximum(d**2 @ chance - mean_d**2, 0.0).sum()) * np.outer(effects.score, effects.score)
        covariance -= crossed + crossed.T
    return covariance
