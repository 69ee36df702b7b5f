"""Systems with several runs each: is A better than B, over topics and repetitions alike?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.base.text import pluralise
from fathoms.base.tolerances import SAME
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.topics import chosen_run
from fathoms.inference.intervals import tested_levels
from fathoms.inference.names import Verdict
from fathoms.inference.replicates import Repeated, Systems
from fathoms.inference.significance import Correction, p_corrected
from fathoms.measures.base import Measure
from fathoms.pairs.repetitions import Spread, repeated_scores, spread_sentences, spreads_of
from fathoms.pairs.scored_runs import without_pair
from fathoms.questions.compare.result import Pair
from fathoms.questions.compare.score_files import ScoreComparison
from fathoms.questions.compare.verdicts import compared
from fathoms.questions.compare.words import tested


@dataclass(frozen=True, eq=False)
class RepeatedComparison(ScoreComparison):
    """A comparison of systems, each the mean of its runs."""

    spreads: list[Spread] = field(default_factory=list)

    @property
    def remarks(self) -> list[str]:
        return [
            f"Tested: {tested(self)}, alpha {self.alpha:g}, over {pluralise(self.topics, 'topic')}. Topics and the "
            "repetitions of each system both count as drawn at random.",
            *spread_sentences(self.spreads),
            "Unjudged documents count as not relevant here; comparing single runs says what judging could change.",
        ]


def compare_repeated(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    systems: Systems,
    *,
    correction: Correction,
    alpha: float,
    baseline: str | None,
    progress: Callable[[str], None],
) -> RepeatedComparison:
    names = systems.names
    if len(names) < 2:
        raise FathomsError(f"replicates: all runs are of one system, {names[0]}; a comparison needs at least two")
    place = None if baseline is None else chosen_run("the baseline", baseline, names)
    values, units, notes = repeated_scores(experiment, without_pair(measures), progress)
    pairs: list[Pair] = []
    spreads: list[Spread] = []
    for measure, scores in values.items():
        repeated = Repeated.of(scores, systems)
        spreads += spreads_of(measure, repeated, systems)
        pairs += _pairs(measure, repeated, systems, correction, alpha, place)
    topics = len(experiment.qrels.topics)
    clusters = None if units is None else len(units)
    return RepeatedComparison(
        *(pairs, alpha, "t", correction, topics, notes),
        baseline=place,
        clusters=clusters,
        spreads=spreads,
        means={(spread.system, spread.measure, "all"): spread.mean for spread in spreads},
    )


def _pairs(
    measure: Measure, repeated: Repeated, systems: Systems, correction: Correction, alpha: float, baseline: str | None
) -> list[Pair]:
    a, b = compared(systems.names, baseline)
    diff, error, _ = repeated.differences(a, b)
    p = repeated.p_values(a, b)
    p_all = p_corrected(p, "t", correction)
    low, high = repeated.intervals(a, b, tested_levels(p, "t", correction, alpha))
    effect = np.where(error > 0, diff / np.where(error > 0, error * np.sqrt(repeated.topics), 1.0), 0.0)
    pairs = []
    for i in range(len(a)):
        verdict: Verdict = "tie" if abs(diff[i]) <= SAME else "significant" if p_all[i] < alpha else "open"
        numbers: dict[str, Any] = {
            name: float(column[i])
            for name, column in (
                *(("diff", diff), ("ci_low", low), ("ci_high", high)),
                *(("p", p), ("p_corrected", p_all), ("effect", effect)),
            )
        }
        of_pair = systems.names[a[i]], systems.names[b[i]], measure.name
        pairs.append(Pair(*of_pair, **numbers, verdict=verdict, log_scale=measure.aggregate == "geometric"))
    return pairs
