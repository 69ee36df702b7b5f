"""What a change did to scores, topic by topic, and which documents did it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fathoms.base.arrays import ratio
from fathoms.evidence.evidence import Evidence, Floats
from fathoms.experiment.base import BaseExperiment
from fathoms.measures.base import Measure, Scores
from fathoms.measures.gains import Graded
from fathoms.measures.normalised import NormalisedSum
from fathoms.measures.weighted import Weighted
from fathoms.pairs.difference_ranges import DifferenceRanges, Ranges, Universe
from fathoms.pairs.differences import comparable
from fathoms.questions.diff.rankings import Side

PARTS = ("gained", "lost", "moved", "deeper")  # where a difference may come from


@dataclass(frozen=True, eq=False)
class ScoreChange:
    """What the change did by one measure, topic by topic: B minus A."""

    measure: Measure
    score_a: Floats
    score_b: Floats
    diff: Floats  # of logarithms where the mean is geometric
    low: Floats | None  # over every way of judging
    high: Floats | None
    parts: dict[str, Floats] | None  # by PARTS; None where the measure is no sum over documents
    reversible: str  # no, yes or unknown, as in `compare`; nothing where the means are equal or there is no range
    doubt: str  # judging, ties or nothing

    @property
    def mean(self) -> float:
        return float(self.diff.mean())

    def average(self, values: Floats) -> float:
        """Of scores, as the measure is averaged."""
        return float(np.exp(np.log(values).mean()) if self.measure.aggregate == "geometric" else values.mean())


def is_sum(measure: Measure) -> bool:
    """Whether a score is a sum over documents, divided by what is the same for all runs."""
    plain = isinstance(measure, Weighted | NormalisedSum) and not measure.judged_only
    return plain and not measure.needs_pool


def contributions(measure: Measure, evidence: Evidence) -> Floats:
    """[topic, rank]: what each document adds to the score, for a measure that is a sum."""
    assert isinstance(measure, Graded)
    gains = measure.table(evidence)[evidence.codes]
    effects = measure.place_effects(gains, gains, evidence)
    return ratio(effects * gains, np.repeat(measure.divisor(evidence)[:, None], gains.shape[1], axis=1))


def parts_of(measure: Measure, a: Evidence, b: Evidence, sides: tuple[Side, Side], depth: int) -> dict[str, Floats]:
    """What the documents gained, lost, in both first k, and in neither added to B - A; the parts sum to it."""
    added_by = {part: np.zeros(len(a)) for part in PARTS}
    for evidence, side, here, there in ((a, sides[0], "lost", "gained"), (b, sides[1], "gained", "lost")):
        added = contributions(measure, evidence)
        value = np.zeros(len(side.rank))
        inside = side.topic < len(evidence)
        value[inside] = added[side.topic[inside], side.rank[inside] - 1] * (1 if side is sides[1] else -1)
        in_own, in_other = side.rank <= depth, (side.other > 0) & (side.other <= depth)
        for part, chosen in (
            (here, in_own & ~in_other),
            (there, ~in_own & in_other),
            ("moved", in_own & in_other),
            ("deeper", ~in_own & ~in_other),
        ):
            use = chosen & inside
            added_by[part] += np.bincount(side.topic[use], weights=value[use], minlength=len(a))[: len(a)]
    return added_by


def score_changes(
    experiment: BaseExperiment,
    names: Sequence[str],
    measures: Sequence[Measure],
    sides: tuple[Side, Side],
    depth: int,
    universe: Universe,
    notes: list[str],
) -> list[ScoreChange]:
    """B - A by each measure, with its range and what it came from."""
    qrels = experiment.qrels
    align = experiment.alignment(measures, notes, ranges=False)
    a, b = (experiment.align(name, align).evidence for name in names)
    of_all, _ = experiment.scored(measures, [])
    places = [list(experiment.runs).index(name) for name in names]
    scores = {m: [of_all[m][place] for place in places] for m in measures}
    values = {m: [comparable(m, run_scores.score) for run_scores in scores[m]] for m in measures}
    counted = [*names, *(name for name in experiment.runs if universe.kind != "pair" and name not in names)]
    second, first = np.array([1]), np.array([0])  # B - A
    ranges = Ranges(experiment.documents(counted), qrels, second, first, universe, experiment.options.where)
    diffs = {m: values[m][1] - values[m][0] for m in measures}
    bounds = ranges.of(measures, {m: np.array([diffs[m].mean()]) for m in measures}, scores)
    return [
        _score_change(m, scores[m], diffs[m], bounds.get(m), parts_of(m, a, b, sides, depth) if is_sum(m) else None)
        for m in measures
    ]


def _score_change(
    measure: Measure,
    scores: Sequence[Scores],
    diff: Floats,
    bounds: DifferenceRanges | None,
    parts: dict[str, Floats] | None,
) -> ScoreChange:
    a, b = scores
    if bounds is None:
        return ScoreChange(measure, a.score, b.score, diff, None, None, parts, "", "")
    # The observed value is one way of judging, and rounding must not say otherwise.
    low, high = np.minimum(bounds.topic_low[0], diff), np.maximum(bounds.topic_high[0], diff)
    return ScoreChange(
        measure, a.score, b.score, diff, low, high, parts, str(bounds.reversible[0]), str(bounds.doubt[0])
    )
