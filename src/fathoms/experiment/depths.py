"""One measure at many depths in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.base.result import Result
from fathoms.base.text import valid_text
from fathoms.evidence.evidence import Evidence, Floats
from fathoms.experiment.base import BaseExperiment
from fathoms.measures.base import Measure
from fathoms.measures.parse import parse_measure

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class DepthTable(Result):
    """Scores of one measure at many depths, run by run."""

    measure: str
    depths: list[int]
    topics: list[str]
    scores: dict[str, Floats]  # by run: [topic, depth]
    by_topic: bool
    notes: list[str] = field(default_factory=list)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """Columns run, topic, measure, depth, score; the row of topic `all` is the mean."""
        import polars as pl

        parts = []
        for run, scores in self.scores.items():
            topics = [*map(valid_text, self.topics), "all"] if self.by_topic else ["all"]
            means = scores.mean(axis=0)[None, :]
            parts.append(
                pl.DataFrame(
                    {
                        "run": valid_text(run),
                        "topic": np.repeat(topics, len(self.depths)),
                        "measure": self.measure,
                        "depth": np.tile(self.depths, len(topics)),
                        "score": (np.vstack([scores, means]) if self.by_topic else means).ravel(),
                    }
                )
            )
        return pl.concat(parts)


def depth_scores(measure: Measure, evidence: Evidence, depths: Sequence[int]) -> Floats:
    """Scores of every topic (rows) at every depth (columns)."""
    return np.concatenate([measure.at_depths(chunk, depths) for chunk in evidence.chunks()])


def run_depth_table(experiment: BaseExperiment, measure: Any, depths: list[int], *, by_topic: bool) -> DepthTable:
    """Scores of a measure, given without cut-off, at many depths."""
    experiment.needs_an_order("evaluate_depths")
    if "@" in str(measure):
        raise FathomsError(f"{measure}: give the measure without its cut-off; the depths say where to cut")
    # Some measures need a cut-off to exist at all; here it is each depth.
    prepared = parse_measure(f"{measure}@{max(depths)}")
    experiment.prepare()
    notes = [*experiment.topic_notes(), *experiment.qrels.notes]
    align = experiment.alignment([prepared], notes, ranges=False)
    of_runs = experiment.map(lambda run: depth_scores(prepared, experiment.align(run, align).evidence, depths))
    scores = dict(zip(experiment.runs, of_runs, strict=True))
    return DepthTable(prepared.name.partition("@")[0], depths, experiment.qrels.topics, scores, by_topic, notes)
