"""Scores of one run after another against the same judgments, as plain dicts: for training loops and notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from typing import Any, Literal, Unpack, get_args

from fathoms.base import choices
from fathoms.base.choices import checked
from fathoms.base.errors import FathomsError, warn
from fathoms.data.in_memory import DICTS
from fathoms.data.runs import Run, read_run, scan_runs
from fathoms.estimate.names import LEVEL
from fathoms.evidence.evidence import Floats, Ints
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.reading import ReadingOptions
from fathoms.experiment.scoring import score_all
from fathoms.experiment.topics import no_topic_matches
from fathoms.inference.mean_intervals import MEAN_INTERVALS
from fathoms.inference.names import Interval
from fathoms.measures.base import Measure, Scores
from fathoms.measures.means import mean_scores
from fathoms.measures.parse import parse_measure
from fathoms.questions.eval.intervals import Ends, OverTopics
from fathoms.questions.eval.scoring_plan import ScoringPlan

MeasureNames = Literal["canonical", "asked"]
Values = dict[str, float | None]
ScoredTopics = tuple[list[str], dict[Measure, Scores]]
NO_RUN = {"none": {"none": 0.0}}  # an experiment is about runs; here they come later


class Evaluator:
    """Judgments and measures, prepared once; then runs are scored, one or several a call, as in pytrec_eval.

    Values are under the canonical names of the measures; `names="asked"` keeps those given, such as `map` or `MRR@10`.
    With `ranges`, each measure's value is followed by its other columns, `P@10.low` and so on; the ranges are over the
    run's own documents. `options` are those of `Experiment`. A topic of the judgments that a run does not have counts
    0, unless `topics="intersect"`.

    >>> import fathoms as fm
    >>> ev = fm.Evaluator({"1": {"a": 1, "b": 0}}, ["P@2", "RR"])
    >>> ev.evaluate({"1": {"b": 2.0, "a": 1.0}})
    {'1': {'P@2': 0.5, 'RR': 0.5}}
    >>> ev.mean({"1": {"b": 2.0, "a": 1.0}})
    {'P@2': 0.5, 'RR': 0.5}
    >>> ev.means({"A": {"1": {"b": 2.0, "a": 1.0}}, "B": {"1": {"a": 2.0}}})
    {'A': {'P@2': 0.5, 'RR': 0.5}, 'B': {'P@2': 0.5, 'RR': 1.0}}
    """

    def __init__(  # type: ignore[misc]
        self,
        qrels: Any,
        measures: Sequence[Any] | Any,
        *,
        ranges: bool = False,
        names: MeasureNames = "canonical",
        **options: Unpack[ReadingOptions],  # those about runs mean nothing here
    ) -> None:
        self.ranges = ranges
        self._experiment = BaseExperiment(qrels, NO_RUN, memory_mb=0, **options).with_all_topics()
        self.measures = self._experiment.measures(measures)
        asked = checked("names", choices.one_of, get_args(MeasureNames), names) == "asked"
        self._names = names_asked(measures, self.measures) if asked else {each: each.name for each in self.measures}
        for measure in self.measures:
            if measure.names_other_runs:
                raise FathomsError(
                    f"{measure.name} depends on other runs, and an Evaluator sees one at a time; use an Experiment"
                )
        for note in self._experiment.qrels.notes:
            warn(note)
        self._align = self._experiment.alignment(self.measures, [])
        self._experiment.qrels.prepare_lookup()
        self._columns = [(measure, *column) for measure in self.measures for column in self._named_columns(measure)]
        self._keys = [key for _, _, key in self._columns]

    def evaluate(self, run: Any) -> dict[str, Values]:
        """{topic: {measure: value}} of one run: a dict {topic: {document: score}}, a file, a frame, ..."""
        return self._values(self._scored(run))

    def mean(self, run: Any) -> Values:
        """{measure: value}, the mean over topics (a sum for counts, a geometric mean for GMAP)."""
        return self._means(self._scored(run))

    def interval(self, run: Any, *, method: Interval = "t", level: float = LEVEL) -> dict[str, Ends]:
        """{measure: (low, high)}: where the mean over all topics like these is with confidence `level`, if these are a
        random sample of them; (None, None) where topics cannot say."""
        checked("method", choices.one_of, MEAN_INTERVALS, method)
        seed, level = self._experiment.options.seed, checked("level", choices.share, level)
        over_topics = OverTopics(method, level, seed, self._experiment.clusters)
        topics, scores = self._scored(run)
        return {
            self._names[measure]: over_topics.of_means(of.score[None], measure, topics)[0]
            for measure, of in scores.items()
        }

    def evaluate_all(self, runs: Any) -> dict[str, dict[str, Values]]:
        """{run: {topic: {measure: value}}} of several runs: a dict of runs by name, files, folders, frames, ..."""
        return {name: self._values(self._scored(run)) for name, run in self._several(runs)}

    def means(self, runs: Any) -> dict[str, Values]:
        """{run: {measure: value}} of several runs, the means over topics."""
        return {name: self._means(self._scored(run)) for name, run in self._several(runs)}

    def _several(self, runs: Any) -> Iterator[tuple[str, Any]]:
        scanned: Mapping[str, Any] = scan_runs(runs, lenient=self._experiment.lenient)  # one in memory at a time
        yield from scanned.items()

    def _scored(self, run: Any) -> ScoredTopics:
        """Topics in their order, and the scores of each measure."""
        align, options = self._align, self._experiment.options
        planned = self._plan.scores(run) if type(run) in DICTS and self._plan is not None else None
        if planned is not None:
            values, answered = planned
            if answered:
                return align.qrels.topics, {m: Scores(of) for m, of in zip(self.measures, values, strict=True)}
        read = run if isinstance(run, Run) else read_run(run, name="run", lenient=self._experiment.lenient)
        aligned = align.of(align.rank(read), present=True)
        evidence = aligned.evidence
        if not len(evidence):
            raise no_topic_matches(aligned.unknown, align.qrels)
        scores = score_all(evidence, self.measures, options.ties, scores_only=not self.ranges)
        if not len(aligned.lacking) or options.topics == "intersect":
            return evidence.topics, scores
        whole = {m: _put(self._empty[m], scores[m], evidence.topic_numbers) for m in self.measures}
        return align.qrels.topics, whole

    @cached_property
    def _plan(self) -> ScoringPlan | None:
        """For plain dicts, where no more than scores of all topics are asked for."""
        if self.ranges or self._experiment.options.topics != "all":
            return None
        return ScoringPlan.of(self._align, self.measures)

    @cached_property
    def _empty(self) -> dict[Measure, Scores]:
        """The value of a topic for which a run has nothing."""
        no_topics = self._align.empty(self._align.qrels.topics)
        return score_all(no_topics, self.measures, self._experiment.options.ties, scores_only=not self.ranges)

    def _values(self, measured: ScoredTopics) -> dict[str, Values]:
        topics, scores = measured
        columns = [getattr(scores[measure], column) for measure, column, _ in self._columns]
        values = [repeat(None) if numbers is None else numbers.tolist() for numbers in columns]
        keys = self._keys
        return {topic: dict(zip(keys, row, strict=True)) for topic, *row in zip(topics, *values, strict=False)}

    def _means(self, measured: ScoredTopics) -> Values:
        means = {measure: mean_scores(measure, scores) for measure, scores in measured[1].items()}
        return {key: means[measure][column] for measure, column, key in self._columns}

    def _named_columns(self, measure: Measure) -> list[tuple[str, str]]:
        """Columns of the scores, and what they are called in the results."""
        others = Scores.COLUMNS[1:] if self.ranges else ()
        name = self._names[measure]
        return [("score", name), *((column, f"{name}.{column}") for column in others)]


def names_asked(asked: Sequence[Any] | Any, measures: Sequence[Measure]) -> dict[Measure, str]:
    """Each measure under the first name it was asked for."""
    each = [asked] if isinstance(asked, str) or not isinstance(asked, Sequence) else asked
    names: dict[str, str] = {}
    for name in each:
        names.setdefault(parse_measure(name).name, str(name))
    return {measure: names.get(measure.name, measure.name) for measure in measures}


def _put(all_topics: Scores, some: Scores, places: Ints) -> Scores:
    """The scores of all topics, with those of some filled in."""

    def column(name: str) -> Floats | None:
        whole, part = getattr(all_topics, name), getattr(some, name)
        if whole is None or part is None:
            return None
        values: Floats = whole.copy()
        values[places] = part
        return values

    score = column("score")
    assert score is not None
    return Scores(score, *(column(name) for name in Scores.COLUMNS[1:]))
