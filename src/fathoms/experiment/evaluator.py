"""Scores of one run after another against the same judgments, as plain dicts: for training loops and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from fathoms.data.runs import read_run
from fathoms.errors import FathomsError, warn
from fathoms.experiment.base import BaseExperiment, ReadingOptions
from fathoms.experiment.evaluate import RunScores, Scoring
from fathoms.experiment.topics import unanswered
from fathoms.measures.base import Scores

Values = dict[str, float | None]
NO_RUN = {"none": {"none": 0.0}}  # an experiment is of runs; here they come later


class Evaluator:
    """Judgments and measures, prepared once; runs are scored one at a time, as pytrec_eval does it.

    With `ranges`, each measure's value is followed by its other columns, `P@10.low` and so on; the ranges are over the
    run's own documents. `options` are those of `Experiment`. A topic of the judgments that a run does not have counts
    0, unless `topics="intersect"`.

    >>> import fathoms as fm
    >>> ev = fm.Evaluator({"1": {"a": 1, "b": 0}}, ["P@2", "RR"])
    >>> ev.evaluate({"1": {"b": 2.0, "a": 1.0}})
    {'1': {'P@2': 0.5, 'RR': 0.5}}
    >>> ev.mean({"1": {"b": 2.0, "a": 1.0}})
    {'P@2': 0.5, 'RR': 0.5}
    """

    def __init__(
        self, qrels: Any, measures: Sequence[Any] | Any, *, ranges: bool = False, **options: Unpack[ReadingOptions]
    ) -> None:
        self.ranges = ranges
        self._experiment = BaseExperiment(qrels, NO_RUN, memory_mb=0, **options).with_all_topics()
        self.measures = self._experiment.measures(measures)
        for measure in self.measures:
            if measure.names_other_runs:
                raise FathomsError(
                    f"{measure.name} depends on other runs, and an Evaluator sees one at a time; use an Experiment"
                )
        for note in self._experiment.qrels.notes:
            warn(note)
        align = self._experiment.alignment(self.measures, [])
        own_topics = self._experiment.options.topics == "intersect"
        self._scoring = Scoring(self._experiment, self.measures, align, not ranges, own_topics=own_topics)

    def evaluate(self, run: Any) -> dict[str, Values]:
        """{topic: {measure: value}} of one run: a dict {topic: {document: score}}, a file, a frame, ..."""
        found = self._scored(run)
        values: list[Values] = [{} for _ in found.topics]
        for measure in self.measures:
            for column, key in self._columns(measure.name):
                numbers = getattr(found.scores[measure], column)
                for place, of_topic in enumerate(values):
                    of_topic[key] = None if numbers is None else float(numbers[place])
        return dict(zip(found.topics, values, strict=True))

    def mean(self, run: Any) -> Values:
        """{measure: value}, the mean over topics (a sum for counts, a geometric mean for GMAP)."""
        found = self._scored(run)
        means = {measure: found.mean(measure) for measure in self.measures}
        return {key: means[measure][column] for measure in self.measures for column, key in self._columns(measure.name)}

    def _scored(self, run: Any) -> RunScores:
        scoring = self._scoring
        read = read_run(run, name="run", lenient=self._experiment.lenient)
        found = scoring.whole([scoring.score(scoring.align.rank(read))])
        unanswered([found], self._experiment.qrels)  # an error where that is all topics
        return found

    def _columns(self, measure: str) -> list[tuple[str, str]]:
        """Columns of the scores, and what they are called in the results."""
        others = Scores.COLUMNS[1:] if self.ranges else ()
        return [("score", measure), *((column, f"{measure}.{column}") for column in others)]
