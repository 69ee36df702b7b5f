"""Does the estimate hold on this very collection? What its backtests say, counted by independent cases.

Each hidden part is predicted with what the others taught. The runs of one hidden part share their error, so a part is
one case for means and differences, however many runs there are; a topic is one case for topic scores. So few cases can
show that intervals are far too narrow, but never that they are right: over 410 estimates whose truth is known, the
coverage and the error that the backtests had said nothing of the true ones (bench/coverage.py), and neither is printed.
Where the intervals covered significantly less than they should, they are widened until that is no longer so
(`Margins`), and whoever rests a verdict on them is told (`SelfCheck.failed`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import bdtr, stdtr

from fathoms.base.tolerances import LEAST_AP, SAME
from fathoms.estimate.backtest_fit import Calibration, Margins
from fathoms.estimate.names import LEVEL
from fathoms.evidence.evidence import Bools, Floats
from fathoms.measures.base import Measure
from fathoms.measures.means import aggregate

FAILS = 0.05  # probability of so low a coverage, if intervals were right, below which they fail
FEWEST_PARTS, FEWEST_TOPICS = 2, 10  # with fewer a check finds nothing
STEP, STEPS = 1.1, 35  # of the factors tried: up to 28


@dataclass(frozen=True, eq=False)
class Misses:
    """Of one hidden part: how many times as wide each interval would have to be to reach the truth."""

    means: Floats  # of the runs that the part moves
    differences: Floats
    topics: Floats  # [run, topic]
    moved: Bools  # [run, topic]
    error: float  # mean square, of the runs' means


@dataclass(frozen=True)
class SelfCheck:
    """What the backtests say of an estimate and its intervals."""

    parts: int
    topics: int
    covered: float  # share of topic scores, each topic with the same weight, widths from the other parts
    error: float  # root mean square, of runs' means
    margins: Margins
    hidden: tuple[str, ...] = ()  # what was hidden, in words

    @property
    def too_few(self) -> bool:
        return self.parts < FEWEST_PARTS or self.topics < FEWEST_TOPICS

    @property
    def failed(self) -> bool:
        """Whether the intervals had to be widened because they missed too often."""
        return self.margins != Margins()


def self_check(calibration: Calibration, measure: Measure, level: float = LEVEL) -> SelfCheck | None:
    """None where no hidden part moves a score."""
    misses = [_misses(calibration, measure, i, level) for i in range(len(calibration.cases))]
    misses = [part for part in misses if part.moved.any()]
    if not misses:
        return None
    covered, moved = np.zeros(misses[0].moved.shape[1]), np.zeros(misses[0].moved.shape[1])
    for i, part in enumerate(misses):
        others = margins([*misses[:i], *misses[i + 1 :]], level)
        covered += ((part.topics <= others.of_topics + SAME) & part.moved).sum(axis=0)
        moved += part.moved.sum(axis=0)
    some = moved > 0
    return SelfCheck(
        len(misses),
        int(some.sum()),
        float((covered[some] / moved[some]).mean()),
        float(np.sqrt(np.mean([part.error for part in misses]))),
        margins(misses, level),
    )


def margins(misses: Sequence[Misses], level: float = LEVEL) -> Margins:
    """The least factors by which coverage is no longer significantly below the level."""
    if not misses:
        return Margins()
    by_part = [[part.means for part in misses], [part.differences for part in misses]]
    means = max(_least_factor(partial(_parts_fail, of, level)) for of in by_part)
    return Margins(means, _least_factor(partial(_topics_fail, misses, level)))


def _least_factor(fails: partial[bool]) -> float:
    factors = STEP ** np.arange(STEPS)
    return float(next((factor for factor in factors if not fails(factor)), factors[-1]))


def _parts_fail(needed: Sequence[Floats], level: float, factor: float) -> bool:
    """Whether so few of the parts' intervals reach the truth that it is no chance; a part counts by its share."""
    shares = [float((part <= factor + SAME).mean()) for part in needed if len(part)]
    return bool(shares) and bool(bdtr(round(sum(shares)), len(shares), level) < FAILS)


def _topics_fail(misses: Sequence[Misses], level: float, factor: float) -> bool:
    """The same of topic scores, with topics as the independent cases."""
    inside = np.sum([(part.topics <= factor + SAME) & part.moved for part in misses], axis=(0, 1))
    moved = np.sum([part.moved for part in misses], axis=(0, 1))
    shares = (inside / np.maximum(moved, 1))[moved > 0]
    if len(shares) < 3:
        return False
    error = max(shares.std(ddof=1), np.sqrt(level * (1 - level) / moved[moved > 0].mean())) / np.sqrt(len(shares))
    return bool(stdtr(len(shares) - 1, (shares.mean() - level) / error) < FAILS)


def _misses(calibration: Calibration, measure: Measure, i: int, level: float) -> Misses:
    case, learnt = calibration.cases[i], calibration.without(i)
    predicted, fixed = case.predicted, case.predicted.fixed
    drawn = learnt.draws(predicted, i)
    point = learnt.point(predicted, drawn)
    moves = np.asarray(~fixed.all(axis=1))
    means, truth, center = (compared(measure, scores) for scores in (drawn, case.truth, point))
    a, b = np.triu_indices(len(moves), 1)
    some = moves[a] | moves[b]
    a, b = a[some], b[some]
    return Misses(
        _needed(means[:, moves], center[moves], truth[moves], level),
        _needed(means[:, a] - means[:, b], center[a] - center[b], truth[a] - truth[b], level),
        _needed(drawn, point, case.truth, level),
        ~fixed,
        float(np.mean((center - truth)[moves] ** 2)) if moves.any() else 0.0,
    )


def _needed(draws: Floats, point: Floats, truth: Floats, level: float) -> Floats:
    """How many times as wide the interval would have to be, about the mean of the draws, to reach the truth."""
    low, high = interval(draws, point, level)
    center = draws.mean(axis=0)
    error = truth - center
    width = np.where(error > 0, high - center, center - low)
    return np.where(np.abs(error) <= SAME, 0.0, np.abs(error) / np.maximum(width, SAME))


def interval(draws: Floats, point: Floats, level: float = LEVEL) -> tuple[Floats, Floats]:
    """The central part of the draws [draw, ...], which the estimate is in."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return np.minimum(low, point), np.maximum(high, point)


def aggregated(measure: Measure, scores: Floats) -> Floats:
    """Scores [..., topic] as one for all topics."""
    if measure.aggregate == "mean":
        return scores.mean(axis=-1)
    return np.apply_along_axis(partial(aggregate, measure), -1, scores)


def compared(measure: Measure, scores: Floats) -> Floats:
    """Scores [..., topic] as the mean that is compared: of logarithms where the mean is geometric."""
    if measure.aggregate == "geometric":
        return np.log(np.maximum(scores, LEAST_AP)).mean(axis=-1)
    return scores.mean(axis=-1)
