"""Scores and differences estimated from a sample of judgments, with intervals: rows as in `predict`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import stdtr

from fathoms.base.errors import FathomsError
from fathoms.base.result import Result
from fathoms.estimate.control_variates import Helper, cross_fitted
from fathoms.estimate.sample import Sample, draw_on
from fathoms.estimate.sampled import check_sampled, estimate_run
from fathoms.estimate.sampling_error import Errors
from fathoms.evidence.evidence import Floats
from fathoms.experiment.base import BaseExperiment
from fathoms.measures.base import Measure, Scores
from fathoms.measures.means import aggregate
from fathoms.questions.predict.result import COLUMNS, WORDS, EstimateRow

METHODS = ("sampled", "assisted")


class DifferenceRow(NamedTuple):
    """A - B by one measure and method, of a topic or (`all`) of their mean."""

    run_a: str
    run_b: str
    topic: str
    measure: str
    method: str
    estimate: float
    likely_low: float
    likely_high: float
    p_better: float


MOST_CELLS = 60_000_000  # runs times open documents for which effects of pairs are looked at together


@dataclass(frozen=True, eq=False)
class SampledScores:
    """One measure and method: estimates of all runs, and what variances of theirs and of differences are made of."""

    measure: Measure
    method: str
    scores: list[Scores]  # one a run
    value: Floats  # [run, topic]
    influence: Floats  # [run, sampled document]: on the value of its topic
    on_all: Floats  # [run, sampled document]: on the sum over topics
    below: Floats  # [run, topic]: how much too high, on average, because documents are missing from the sample
    above: Floats  # and how much too low
    more: Floats  # [run, topic]: variance beside that of influences
    own: Floats  # [run, topic]: error in the prediction of R, shared by the runs of a topic
    expected: Floats  # [topic, run, run]: variances and covariances to expect
    errors: Errors

    @property
    def divisor(self) -> float:
        """Topics, where values are averaged; 1 where they add up."""
        return 1.0 if self.measure.aggregate == "sum" else float(max(1, self.value.shape[1]))

    def topic_intervals(self, run: int, level: float) -> tuple[Floats, Floats, Floats]:
        """Estimate, low and high of each topic, kept inside what is possible."""
        spread = self.errors.by_topic(self.influence[run], self.expected[:, run, run], self._more(run))
        value, half = self.value[run], spread.half_width(level)
        columns = (value, value - half - self.below[run], value + half + self.above[run])
        low, high = self.scores[run].low, self.scores[run].high
        if low is None or high is None:
            return columns
        first, second, third = (np.clip(column, low, high) for column in columns)
        return first, second, third

    def mean_interval(self, run: int, level: float) -> tuple[float, float, float]:
        """The same of all topics together, kept inside what is possible; `value`, which is not, is what is unbiased."""
        expected = float(self.expected[:, run, run].sum())
        spread = self.errors.over_topics(self.on_all[run], expected, float(self._more(run).sum()))
        value, half = self.value[run].sum() / self.divisor, float(spread.half_width(level)[0]) / self.divisor
        scores = self.scores[run]
        low, high = aggregate(self.measure, scores.low), aggregate(self.measure, scores.high)
        least, most = (float(column[run].sum()) / self.divisor for column in (self.below, self.above))
        ends = (value - half - least, value + half + most)
        middle, first, last = (_kept(float(end), low, high) for end in (value, *ends))
        return middle, first, last

    def difference(self, a: int, b: int, level: float) -> tuple[float, float, float, float]:
        """Mean of a - b, low, high, and the probability that a is better."""
        influence, more = self.on_all[a] - self.on_all[b], float(self._more(a, b).sum())
        spread = self.errors.over_topics(influence, float(self._expected_of(a, b).sum()), more)
        value = float((self.value[a] - self.value[b]).sum()) / self.divisor
        half = float(spread.half_width(level)[0]) / self.divisor
        deviation = float(np.sqrt(spread.variance[0])) / self.divisor
        better = 0.5 if value == 0 else float(value > 0)
        if deviation > 0:
            better = float(stdtr(spread.freedom[0], value / deviation))
        least, most = (float(column.sum()) / self.divisor for column in self._bias_of(a, b))
        return value, value - half - least, value + half + most, better

    def topic_differences(self, a: int, b: int, level: float) -> tuple[Floats, Floats, Floats, Floats]:
        """The same, one a topic."""
        influence = self.influence[a] - self.influence[b]
        spread = self.errors.by_topic(influence, self._expected_of(a, b), self._more(a, b))
        value, half = self.value[a] - self.value[b], spread.half_width(level)
        deviation = np.sqrt(spread.variance)
        with np.errstate(invalid="ignore", divide="ignore"):
            better = np.where(deviation > 0, stdtr(spread.freedom, value / deviation), 0.5 + 0.5 * np.sign(value))
        least, most = self._bias_of(a, b)
        return value, value - half - least, value + half + most, better

    def _more(self, a: int, b: int | None = None) -> Floats:
        """Variance besides that of influences, of each topic. For a difference, `more` is at most that of both runs,
        and errors that both share cancel."""
        if b is None:
            return self.more[a] + self.own[a] ** 2
        return self.more[a] + self.more[b] + (self.own[a] - self.own[b]) ** 2

    def _bias_of(self, a: int, b: int) -> tuple[Floats, Floats]:
        """Runs are too high or too low together, for lack of the same documents: what remains is the difference."""
        down = np.maximum(self.below[a] - self.below[b], self.above[b] - self.above[a])
        up = np.maximum(self.above[a] - self.above[b], self.below[b] - self.below[a])
        return np.maximum(down, 0.0), np.maximum(up, 0.0)

    def _expected_of(self, a: int, b: int) -> Floats:
        G = self.expected
        return np.maximum(G[:, a, a] + G[:, b, b] - 2 * G[:, a, b], 0.0)


def _kept(value: float, low: float | None, high: float | None) -> float:
    return float(value if low is None or high is None else min(max(value, low), high))


def sampled_scores(
    sample: Sample,
    measure: Measure,
    errors: Errors,
    progress: Callable[[str], None] = lambda run: None,
    known: dict[tuple[str, Measure], Scores] | None = None,
) -> SampledScores:
    """Estimates of all runs of a sample by one measure; `known` keeps plain scores, which all methods share."""
    known = {} if known is None else known
    names = sample.candidates.names
    estimates, scores = [], []
    together = len(names) * len(errors.open) <= MOST_CELLS
    weighed = np.empty((len(names) if together else 1, len(errors.open)), dtype=np.float32)
    expected = np.zeros((sample.n_topics, len(names), len(names)))
    for number, run in enumerate(names):
        evidence = sample.evidence(run)
        of_run = estimate_run(sample, run, evidence, measure, errors)
        if (run, measure) not in known:
            known[run, measure] = measure.scores(evidence)
        scores.append(known[run, measure])
        low, high = scores[-1].low, scores[-1].high
        value = of_run.value if low is None or high is None or not of_run.bounded else np.clip(of_run.value, low, high)
        estimates.append(of_run._replace(value=value, effect=np.empty(0)))
        own = errors.weigh(of_run.effect)
        if together:
            weighed[number] = own
        else:  # covariances left out make intervals of differences wider
            expected[:, number, number] = np.bincount(errors.open_topic, own**2, sample.n_topics)
        progress(run)
    if together:
        order = np.argsort(errors.open_topic, kind="stable")
        bounds = np.searchsorted(errors.open_topic[order], np.arange(sample.n_topics + 1))
        for topic in range(sample.n_topics):
            part = weighed[:, order[bounds[topic] : bounds[topic + 1]]].astype(np.float64)
            expected[topic] = part @ part.T
    method = METHODS[errors.helper is not None]
    value, influence, on_all, _, below, above, more, own, _ = (
        np.array(column) for column in zip(*estimates, strict=True)
    )
    parts = (value, influence, on_all, below, above, more, own)
    return SampledScores(measure, method, scores, *parts, expected, errors)


@dataclass(frozen=True, eq=False)
class SampledPrediction(Result):
    """Estimates of all runs; `.differences()` has those between runs."""

    columns: ClassVar = COLUMNS
    words: ClassVar = WORDS

    by_method: list[SampledScores]  # one for each measure and method
    sample: Sample
    by_topic: bool
    level: float
    notes: list[str] = field(default_factory=list)

    def rows(self) -> list[EstimateRow]:
        return [
            row
            for number, run in enumerate(self.sample.candidates.names)
            for estimates in self.by_method
            for row in self._rows(number, run, estimates)
        ]

    def _rows(self, number: int, run: str, estimates: SampledScores) -> list[EstimateRow]:
        measure, method, scores = estimates.measure, estimates.method, estimates.scores[number]
        columns = (scores.score, scores.low, scores.high)
        rows = []
        if self.by_topic:
            topics = self.sample.candidates.topics
            known = ([None] * len(topics) if column is None else column.tolist() for column in columns)
            likely = (column.tolist() for column in estimates.topic_intervals(number, self.level))
            rows = [
                EstimateRow(run, topic, measure.name, score, low, high, method, value, likely_low, likely_high)
                for topic, score, low, high, value, likely_low, likely_high in zip(topics, *known, *likely, strict=True)
            ]
        score, low, high = (aggregate(measure, column) for column in columns)
        value, *ends = estimates.mean_interval(number, self.level)
        return [*rows, EstimateRow(run, "all", measure.name, score, low, high, method, value, *ends)]

    def differences(self, by_topic: bool = False) -> SampledDifferences:
        """Every pair of runs, each once."""
        names, topics = self.sample.candidates.names, self.sample.candidates.topics
        rows: list[DifferenceRow] = []
        for estimates in self.by_method:
            name, method = estimates.measure.name, estimates.method
            for a, b in combinations(range(len(names)), 2):
                if by_topic:
                    columns = [column.tolist() for column in estimates.topic_differences(a, b, self.level)]
                    rows += [
                        DifferenceRow(names[a], names[b], topic, name, method, *figures)
                        for topic, *figures in zip(topics, *columns, strict=True)
                    ]
                rows.append(
                    DifferenceRow(names[a], names[b], "all", name, method, *estimates.difference(a, b, self.level))
                )
        return SampledDifferences(rows, self.notes)

    @property
    def answer(self) -> list[str]:
        from fathoms.questions.predict.words import sampled_answers

        return sampled_answers(self)

    @property
    def remarks(self) -> list[str]:
        from fathoms.questions.predict.words import sampled_remarks

        return sampled_remarks(self)


@dataclass(frozen=True, eq=False)
class SampledDifferences(Result):
    """Every pair of runs, each once."""

    columns: ClassVar = DifferenceRow._fields
    words: ClassVar = DifferenceRow._fields[:5]

    pairs: list[DifferenceRow]
    notes: list[str]

    def rows(self) -> list[DifferenceRow]:
        return self.pairs


def assisted_prediction(
    experiment: BaseExperiment, measures: Sequence[Measure], design: Any, **options: Any
) -> SampledPrediction:
    """The sample's own estimates, and assisted ones beside them. `options` are those of `sampled_prediction`."""
    return sampled_prediction(experiment, measures, design, assist=True, **options)


def sampled_prediction(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    design: Any = "uniform",
    *,
    depth: int | None = None,
    assist: bool = False,
    plain: bool = True,
    labels: Sequence[Any] = (),
    by_topic: bool = False,
    level: float = 0.95,
    progress: Callable[[str], None] = lambda run: None,
) -> SampledPrediction:
    """Estimates of all runs from judgments that are a sample of a population.

    `design` is `uniform` (each document of the runs, with `depth` of their first places, had the same chance in its
    topic), a file, or a `SamplingDesign`. `assist` adds estimates that use predictions (and `labels`, if any) as
    helpers; `plain=False` leaves out those without.
    """
    if not (assist or plain):
        raise FathomsError("assist and plain are both off, so there is nothing to estimate by")
    if len(labels) and not assist:
        raise FathomsError("labels are for assisted estimates; add assist=True")
    for measure in measures:
        check_sampled(measure)
    sample = draw_on(experiment, design, depth)
    helpers: list[Helper | None] = [None] if plain else []
    if assist:
        helpers.append(cross_fitted(sample, labels))
    errors = [Errors(sample, helper) for helper in helpers]
    known: dict[tuple[str, Measure], Scores] = {}
    by_method = [
        sampled_scores(sample, measure, of_helper, progress, known) for measure in measures for of_helper in errors
    ]
    notes = [*experiment.topic_notes(), *experiment.qrels.notes, *sample.notes]
    return SampledPrediction(by_method, sample, by_topic, level, notes)
