"""How far off each mean may be because the topics are a sample: `ci_low` and `ci_high`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from math import isnan

import numpy as np

from fathoms.base.tolerances import LEAST_AP
from fathoms.data.topic_groups import TopicGroups
from fathoms.estimate.names import LEVEL
from fathoms.evidence.evidence import Floats
from fathoms.experiment.run_scores import RunScores
from fathoms.inference.mean_intervals import Intervals, drawn_intervals, mean_intervals
from fathoms.inference.names import Interval
from fathoms.inference.units import Units
from fathoms.measures.abilities import largest_value
from fathoms.measures.base import Measure

Ends = tuple[float | None, float | None]
NO_ENDS: Ends = (None, None)


@dataclass(frozen=True)
class OverTopics:
    """How intervals over topics are made."""

    method: Interval = "t"
    level: float = LEVEL
    seed: int = 0
    clusters: Mapping[str, str] | None = None  # of topics that belong together

    def units(self, topics: Sequence[str]) -> Units | None:
        return Units.among(topics, self.clusters)

    def of_runs(
        self, runs: Sequence[RunScores], measure: Measure, groups: TopicGroups | None = None
    ) -> dict[tuple[str, str], Ends]:
        """By run, and `all` or the name of a group of topics."""
        ends: dict[tuple[str, str], Ends] = {}
        if self.method == "none":
            return ends
        by_topics: dict[tuple[str, ...], list[tuple[tuple[str, str], Floats]]] = {}  # of the same, one block
        for run in runs:
            for name, topics, scores in _parts(run, measure, groups):
                by_topics.setdefault(topics, []).append(((run.run, name), scores))
        for of_topics, same in by_topics.items():
            of_same = self.of_means(np.stack([scores for _, scores in same]), measure, of_topics)
            ends |= dict(zip((key for key, _ in same), of_same, strict=True))
        return ends

    def of_means(self, scores: Floats, measure: Measure, topics: Sequence[str]) -> list[Ends]:
        """For scores [mean, topic], averaged as the measure does it: for a sum, that of as many topics; for a geometric
        mean, that of the mean of logarithms."""
        values, units = _averaged(scores, measure), self.units(topics)
        if units is not None and self.method == "t":
            ends = units.ratio_interval(values, self.level)
        else:
            drawn = values if units is None else units.linear(values)
            ends = mean_intervals(drawn, self.method, self.level, self.seed)
        return _ends_of(measure, ends, len(topics))

    def of_draws(self, scores: Floats, measure: Measure, topics: Sequence[str]) -> list[Ends]:
        """For scores [draw, mean, topic], each draw being equally likely to be what judging will say."""
        values, units = _averaged(scores, measure), self.units(topics)
        drawn = values if units is None else units.linear(values)
        return _ends_of(measure, drawn_intervals(drawn, self.level), len(topics))


def _averaged(scores: Floats, measure: Measure) -> Floats:
    """What the measure takes the mean of."""
    return np.log(np.maximum(scores, LEAST_AP)) if measure.aggregate == "geometric" else scores


def _ends_of(measure: Measure, ends: Intervals, topics: int) -> list[Ends]:
    if measure.aggregate == "geometric":
        ends = np.exp(ends[0]), np.exp(ends[1])
    times = topics if measure.aggregate == "sum" else 1
    most = 1.0 if largest_value(measure) <= 1 else np.inf  # no mean is beyond it
    low, high = ((np.clip(end, 0.0, most) * times).tolist() for end in ends)
    return [NO_ENDS if isnan(pair[0]) else pair for pair in zip(low, high, strict=True)]


def _parts(
    run: RunScores, measure: Measure, groups: TopicGroups | None
) -> Iterator[tuple[str, tuple[str, ...], Floats]]:
    """Of all topics and of each group: its name, its topics and their scores."""
    scores = run.scores[measure].score
    yield "all", tuple(run.topics), scores
    for name, places in ({} if groups is None else groups.masks(run.topics)).items():
        yield name, tuple(compress(run.topics, places.tolist())), scores[places]
