"""Cases whose outcome is known: what would have been seen of a run from a shallower pool, and what became of it.

The judgments are cut to those that pools of lesser depths would have had, with a run among the contributing ones or
left out; its score under all judgments is what an estimate from these should have been.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathoms.base.errors import FathomsError
from fathoms.estimate.predictors import scaled_range
from fathoms.evidence.align import Alignment
from fathoms.evidence.evidence import Bools, Evidence, Floats
from fathoms.evidence.pool import NEVER, judged_depths, with_judgments
from fathoms.experiment.base import BaseExperiment
from fathoms.measures.base import Measure

Depths = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Cases:
    """What a predictor sees and what it should have said, [level, run, topic], on RM's scale from 0 to 1."""

    B: Floats
    delta: Floats
    Y: Floats
    halfway: Floats  # the score had the judging ended half way

    def of_topics(self, topics: Bools) -> Cases:
        return Cases(*(part[..., topics] for part in (self.B, self.delta, self.Y, self.halfway)))


@dataclass(frozen=True)
class Step:
    """One step further down than the tuning: from pools of some levels to a depth half way, and from there on."""

    levels: tuple[int, ...]  # places of the levels to tune on
    at: int  # place of the level half way
    depth: int  # of that level
    to: int  # of the pool


def halved(depth: int) -> list[int]:
    """Depths that halve from one to the next, down to 1: 50, 25, 12, 6, 3 and 1 for a pool of 100.

    RM's six prefixes, of 1,000 to 40,000 of 69,100 judgments, lie as far apart.
    """
    return [depth >> i for i in range(1, depth.bit_length())]


@dataclass(frozen=True, eq=False)
class LeastDepths:
    """The least depth of each judged document over the contributing runs, whose it is, and the least without those."""

    least: Depths
    unit: Depths
    without: Depths

    def leaving_out(self, unit: int) -> Depths:
        """The least depths had one unit (a run, or all runs of a team) not contributed."""
        return np.where(self.unit == unit, self.without, self.least)


def least_depths(experiment: BaseExperiment, units: Mapping[str, int]) -> LeastDepths:
    """Of runs in units that contribute, or do not, together."""
    n = len(experiment.qrels)

    def of_run(name: str) -> Depths:
        return judged_depths([experiment.ranked(name)], experiment.qrels)

    least, without = np.full(n, NEVER, dtype=np.int32), np.full(n, NEVER, dtype=np.int32)
    unit = np.full(n, -1, dtype=np.int32)
    for name, own in zip(units, experiment.map(of_run, units), strict=True):
        number = units[name]
        nearer = own < least
        others = np.where(unit == number, without, least)  # what the units but this one have
        without = np.where(nearer, others, np.where(unit == number, without, np.minimum(without, own)))
        least, unit = np.where(nearer, own, least), np.where(nearer, np.int32(number), unit)
    return LeastDepths(least, unit, without)


def together(names: Sequence[str], teams: Mapping[str, str]) -> dict[str, int]:
    """A number for each run, the same for all of a team; a run without a team is on its own."""
    units = [("team", teams[name]) if name in teams else ("run", name) for name in names]
    numbers = {unit: number for number, unit in enumerate(dict.fromkeys(units))}
    return {name: numbers[unit] for name, unit in zip(names, units, strict=True)}


def last_step(depths: Sequence[int], pool_depth: int, left_out: bool) -> Step | None:
    """Half way is the deepest pool but the real one; of a run that is left out it is a case to tune on too."""
    shallower = [depth for depth in depths if depth < pool_depth]
    if not shallower:
        return None
    half = max(shallower)
    levels = tuple(i for i, depth in enumerate(depths) if depth < half or (left_out and depth == half))
    return Step(levels, list(depths).index(half), half, pool_depth) if levels else None


def _of_run(measures: Sequence[Measure], full: Evidence, halfway: Evidence, parts: Sequence[Evidence]) -> Floats:
    """B, delta and the scores under all judgments and half of the depth of one run, [measure, 4, level, topic]."""
    by_measure = []
    for measure in measures:
        # T is that of bounds=rm where there is one, and then nobody need wait for the exact range.
        rough = measure.replace(bounds="rm") if "bounds" in measure.params else measure
        score, half = measure.value(full), measure.value(halfway)
        of_levels = []
        for part in parts:
            ranged = scaled_range(rough, part, rough.scores(part))
            if ranged is None:
                raise FathomsError(f"{measure.name} has no range, so there is nothing to estimate inside")
            B, delta, scale = ranged
            of_levels.append((B, delta, score / scale, half / scale))
        by_measure.append(np.array(of_levels).swapaxes(0, 1))
    return np.array(by_measure)


def known_cases(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    names: Sequence[str],
    kept: Callable[[str], Sequence[Bools]],
    halfway: Bools,
    align: Alignment,
    progress: Callable[[str], None] = lambda run: None,
) -> list[Cases]:
    """For each measure, the cases of the runs under the judgments that are `kept` of each, level by level."""
    qrels = experiment.qrels
    everything = np.ones(len(qrels), dtype=bool)

    def cases_of_run(name: str) -> Floats:
        aligned = experiment.align(name, align)
        full, half, *parts = (with_judgments(aligned, qrels, some) for some in (everything, halfway, *kept(name)))
        return _of_run(measures, full, half, parts)

    values = np.array(experiment.map(cases_of_run, names, progress=progress))  # [run, measure, 4, level, topic]
    cases = [Cases(*np.moveaxis(values[:, m], 0, 2)) for m in range(len(measures))]
    # A topic for which a score is not defined has nothing to compare.
    return [
        of_measure.of_topics(np.asarray(np.isfinite(of_measure.B + of_measure.delta + of_measure.Y).all(axis=(0, 1))))
        for of_measure in cases
    ]
