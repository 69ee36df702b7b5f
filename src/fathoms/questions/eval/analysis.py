"""From judgments and runs to a table of scores: what `fathoms eval` and `Experiment.evaluate` do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fathoms.base import choices
from fathoms.base.choices import PAPER_FORMS, PaperForm, checked
from fathoms.base.errors import FathomsError
from fathoms.base.paper_table import Cell, PaperTable
from fathoms.base.result import Result
from fathoms.base.text import valid_text
from fathoms.data.topic_groups import TopicGroups
from fathoms.estimate.names import LEVEL
from fathoms.evidence.evidence import Floats
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.run_scores import (
    RunScores,
    score_runs,
)
from fathoms.experiment.topics import chosen_run
from fathoms.inference.names import Interval
from fathoms.inference.replicates import Repeated, Systems
from fathoms.measures.base import Measure, Scores
from fathoms.questions.eval.intervals import NO_ENDS, Ends, OverTopics
from fathoms.questions.eval.words import caption

if TYPE_CHECKING:
    import polars as pl

ENDS = ("ci_low", "ci_high")  # of the interval over topics
COLUMNS = ("run", "topic", "measure", *Scores.COLUMNS, *ENDS)
POINTS = ("score", "low", "high", "tie_low", "tie_high")
Means = dict[str, float | None]  # by column of the scores
Likely = tuple[float | None, float | None, float | None]  # an estimate and the ends of its interval


def _cell(measure: Measure, score: float | None) -> Cell:
    return Cell(score, whole=measure.aggregate == "sum")


def tracked_name(name: str) -> str:
    """A name made of letters, digits and what else experiment trackers allow."""
    return re.sub(r"[^\w./-]+|_{2,}", "_", re.sub(r"\W*@", "_at_", name)).strip("_")


@dataclass(frozen=True, eq=False)
class Evaluation(Result):
    """Scores of all runs, with the notes that belong to them."""

    words_module: ClassVar = "fathoms.questions.eval.words"
    columns: ClassVar = COLUMNS
    words: ClassVar = COLUMNS[:3]
    charts: ClassVar = ("ranges", "topics")

    measures: list[Measure]
    runs: list[RunScores]
    by_topic: bool
    notes: list[str] = field(default_factory=list)
    universe: int | None = None  # unjudged documents of all runs, where ranges are over them
    universe_depth: int | None = None  # only those that some run has in its first places
    groups: TopicGroups | None = None
    over_topics: OverTopics = field(default_factory=OverTopics)
    systems: Systems | None = None  # of which the runs are repetitions

    def rows(self) -> Iterable[tuple[Any, ...]]:
        """Rows as in COLUMNS; a run's topics before its groups of topics, and these before its `all`."""
        for run in self.runs:
            if self.by_topic:
                columns = {
                    measure: [
                        [None] * len(run.topics) if column is None else column.tolist()
                        for column in (getattr(scores, name) for name in Scores.COLUMNS)
                    ]
                    for measure, scores in run.scores.items()
                }
                for i, topic in enumerate(run.topics):
                    for measure in self.measures:
                        yield (run.run, topic, measure.name, *(column[i] for column in columns[measure]), *NO_ENDS)
            if self.groups is not None:
                of_groups = {measure: run.group_means(measure, self.groups) for measure in self.measures}
                for group in of_groups[self.measures[0]]:
                    for measure in self.measures:
                        yield self._mean_row(run, group, measure, of_groups[measure][group])
            for measure in self.measures:
                yield self._mean_row(run, "all", measure, run.mean(measure))
        for measure, repeated in self.repeated.items():
            yield from self._system_rows(measure, repeated)

    @cached_property
    def repeated(self) -> dict[Measure, Repeated]:
        """The scores of systems over repetitions, by measures whose scores are averaged, if the runs have the same
        topics."""
        if self.systems is None or not self.same_topics or len(self.runs[0].topics) < 2:
            return {}
        units = self.over_topics.units(self.runs[0].topics)

        def drawn(measure: Measure) -> Floats:
            scores = np.stack([run.scores[measure].score for run in self.runs])
            return scores if units is None else units.linear(scores)

        return {
            measure: Repeated.of(drawn(measure), self.systems)
            for measure in self.measures
            if measure.aggregate == "mean"
        }

    def _system_rows(self, measure: Measure, repeated: Repeated) -> Iterable[tuple[Any, ...]]:
        """A row for each system of several runs: the means of its runs' figures, and the interval over topics and
        repetitions."""
        assert self.systems is not None
        lows, highs = repeated.mean_intervals(self.over_topics.level)
        for system, name in enumerate(self.systems.names):
            of_runs = [self.runs[run].mean(measure) for run in self.systems.runs(system).tolist()]
            if len(of_runs) > 1:
                columns = ([mean[column] for mean in of_runs] for column in Scores.COLUMNS)
                known = [[value for value in column if value is not None] for column in columns]
                means = [sum(column) / len(column) if len(column) == len(of_runs) else None for column in known]
                ends = NO_ENDS if self.over_topics.method == "none" else (float(lows[system]), float(highs[system]))
                yield (f"{name} ({len(of_runs)} runs)", "all", measure.name, *means, *ends)

    @property
    def shown_frame(self) -> pl.DataFrame:
        """Leaves out the tie columns if no order of tied documents changes a score that is shown."""
        frame = super().shown_frame
        ties = [name for name in ("tie_low", "tie_high", "tie_expected") if name in frame.columns]
        return frame.drop(ties) if all(np.allclose(frame["score"], frame[name]) for name in ties) else frame

    def metrics(self, run: str | None = None) -> dict[str, float]:
        """The means under names that MLflow and W&B accept, such as `nDCG_at_10`: of one run, or of all, each name
        after its run's and a slash."""
        names = [each.run for each in self.runs]
        chosen = names if run is None else [chosen_run("the run", run, names)]
        return {
            tracked_name(measure.name if len(names) == 1 or run is not None else f"{each.run}/{measure.name}"): score
            for each in self.runs
            if each.run in chosen
            for measure in self.measures
            if (score := each.mean(measure)["score"]) is not None
        }

    def table(self, form: PaperForm = "latex") -> str:
        """A table for a paper: runs as rows, measures as columns; `latex` (booktabs), `md` or `html`."""
        checked("form", choices.one_of, PAPER_FORMS, form)
        compared, parts = [], []
        for run in self.runs:
            compared.append((run.run, [_cell(m, run.mean(m)["score"]) for m in self.measures]))
            if self.by_topic:
                scores = [run.scores[m].score.tolist() for m in self.measures]
                for topic, *values in zip(run.topics, *scores, strict=True):
                    parts.append((f"{run.run}, topic {topic}", list(map(_cell, self.measures, values))))
            if self.groups is not None:
                means = [run.group_means(m, self.groups) for m in self.measures]
                for group in means[0]:
                    cells = [_cell(m, of[group]["score"]) for m, of in zip(self.measures, means, strict=True)]
                    parts.append((f"{run.run}, {group}", cells))
        return PaperTable([m.name for m in self.measures], compared, caption(self), "tab:scores", parts).text(form)

    def _mean_row(
        self, run: RunScores, topic: str, measure: Measure, means: dict[str, float | None]
    ) -> tuple[Any, ...]:
        return (run.run, topic, measure.name, *means.values(), *self.interval(run.run, measure, topic))

    @cached_property
    def _intervals(self) -> dict[Measure, dict[tuple[str, str], Ends]]:
        return {measure: self.over_topics.of_runs(self.runs, measure, self.groups) for measure in self.measures}

    def interval(self, run: str, measure: Measure, topic: str = "all") -> Ends:
        """The ends of the interval over topics, of all of them or of a group; None where there is no interval."""
        return self._intervals[measure].get((run, topic), NO_ENDS)

    def ranked(self, measure: Measure) -> list[RunScores]:
        """The runs by their score, best first; equal ones by name."""
        return sorted(self.runs, key=lambda run: (-(run.mean(measure)["score"] or 0.0), run.run))

    def _draw(self, kind: str, measure: str) -> Any:
        """`ranges`: each run's score with its range, best first. `topics`: how much the runs differ on each topic."""
        from fathoms.base import charts

        [chosen] = [known for known in self.measures if known.name == measure]
        if kind == "topics":
            return charts.topic_spread(self.topic_points(chosen), measure)
        return charts.ranges(self.range_points(chosen), measure)

    @property
    def same_topics(self) -> bool:
        """Whether all runs were scored on the same topics."""
        return all(run.topics == self.runs[0].topics for run in self.runs)

    def topic_points(self, measure: Measure) -> pl.DataFrame:
        """A row a topic, that of the highest median first: quartiles and standard deviation over the runs."""
        import polars as pl

        if not self.same_topics:
            raise FathomsError("the runs were scored on different topics, so there is no chart by topic")
        names = self.runs[0].topics
        scores = np.stack([run.scores[measure].score for run in self.runs])
        quartiles, spread = np.quantile(scores, [0, 0.25, 0.5, 0.75, 1], axis=0), scores.std(axis=0)
        points = []
        for place, t in enumerate(np.argsort(-quartiles[2], kind="stable").tolist(), 1):
            low, q1, median, q3, high = quartiles[:, t].tolist()
            text = f"topic {names[t]}; median {median:.4f}; from {low:.4f} to {high:.4f}"
            numbers = (low, q1, median, q3, high, float(spread[t]))
            points.append((place, valid_text(names[t]), *numbers, valid_text(text), ""))
        schema = ["place", "topic", "low", "q1", "median", "q3", "high", "spread", "tooltip", "link"]
        return pl.DataFrame(points, schema=schema, orient="row")

    def range_points(self, measure: Measure, estimates: Mapping[str, Likely] | None = None) -> pl.DataFrame:
        """A row a run, best first: score, ranges, the estimate and its interval where there is one, and all of it in
        words."""
        import polars as pl

        estimates = estimates or {}
        points = []
        for place, run in enumerate(self.ranked(measure), 1):
            mean, likely = run.mean(measure), estimates.get(run.run, (None, None, None))
            values = [mean[name] for name in POINTS]
            text = f"{place}. {run.run}; {measure.name} {mean['score'] or 0.0:.4f}"
            if mean["low"] is not None and mean["high"] is not None:
                text += f"; range {mean['low']:.4f} to {mean['high']:.4f}"
            if mean["tie_low"] is not None and mean["tie_high"] is not None:
                text += f"; orders of ties {mean['tie_low']:.4f} to {mean['tie_high']:.4f}"
            if likely[0] is not None:
                text += f"; estimate {likely[0]:.4f}"
            if likely[1] is not None and likely[2] is not None:
                text += f", likely {likely[1]:.4f} to {likely[2]:.4f}"
            points.append((place, valid_text(run.run), *values, *likely, valid_text(text)))
        numbers = (*POINTS, "estimate", "likely_low", "likely_high")
        schema: Any = {"place": pl.Int64, "run": pl.String, **dict.fromkeys(numbers, pl.Float64)}
        return pl.DataFrame(points, schema=schema | {"tooltip": pl.String}, orient="row")


def run_evaluation(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    *,
    by_topic: bool = False,
    scores_only: bool = False,
    own_topics: bool = True,
    interval: Interval = "t",
    level: float = LEVEL,
    resume: Path | None = None,
    progress: Callable[[str], None] = lambda run: None,
) -> Evaluation:
    """Score all runs, each value with the range it could have, and each mean with its interval over topics."""
    measures = list(measures)
    scored = score_runs(
        experiment, measures, scores_only=scores_only, own_topics=own_topics, resume=resume, progress=progress
    )
    notes, groups = list(scored.notes), experiment.topic_groups
    if groups is not None:
        notes += groups.notes(scored.qrels.topics)
    depth = experiment.options.universe_depth
    over_topics = OverTopics(interval, level, experiment.options.seed, experiment.clusters)
    return Evaluation(
        *(measures, scored.runs, by_topic, notes, scored.universe, depth, groups, over_topics, experiment.systems)
    )
