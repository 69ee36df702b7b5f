"""Scores and differences estimated from a sample of judgments, with intervals: rows as `predict` has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from scipy.stats import t as student

from fathoms import choices
from fathoms.choices import checked
from fathoms.errors import FathomsError
from fathoms.estimate.helpers import Helper, cross_fitted
from fathoms.estimate.sample import Sample, draw_on
from fathoms.estimate.sampled import check_sampled, estimate_run
from fathoms.estimate.sampling_error import Errors
from fathoms.evidence.evidence import Floats
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.evaluate import aggregate
from fathoms.experiment.result import Result
from fathoms.measures.base import Measure, Scores
from fathoms.text import pluralise

METHODS = ("sampled", "assisted")
COLUMNS = (
    "run",
    "topic",
    "measure",
    "score",
    "low",
    "high",
    "method",
    "estimate",
    "likely_low",
    "likely_high",
)  # fmt: skip
DIFFERENCES = ("run_a", "run_b", "topic", "measure", "method", "estimate", "likely_low", "likely_high", "p_better")
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
    below: Floats  # [run, topic]: how much too high, on average, for want of sampled documents
    above: Floats  # and how much too low
    more: Floats  # [run, topic]: variance beside that of influences
    own: Floats  # [run, topic]: error of what is predicted of R, which runs of a topic have together
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
        middle, first, last = (_kept(float(one), low, high) for one in (value, *ends))
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
            better = float(student.cdf(value / deviation, spread.freedom[0]))
        least, most = (float(column.sum()) / self.divisor for column in self._bias_of(a, b))
        return value, value - half - least, value + half + most, better

    def topic_differences(self, a: int, b: int, level: float) -> tuple[Floats, Floats, Floats, Floats]:
        """The same, one a topic."""
        influence = self.influence[a] - self.influence[b]
        spread = self.errors.by_topic(influence, self._expected_of(a, b), self._more(a, b))
        value, half = self.value[a] - self.value[b], spread.half_width(level)
        deviation = np.sqrt(spread.variance)
        with np.errstate(invalid="ignore", divide="ignore"):
            better = np.where(deviation > 0, student.cdf(value / deviation, spread.freedom), 0.5 + 0.5 * np.sign(value))
        least, most = self._bias_of(a, b)
        return value, value - half - least, value + half + most, better

    def _more(self, a: int, b: int | None = None) -> Floats:
        """Variance beside that of influences, of each topic. Of a difference, `more` is at most that of both runs, and
        errors that both have fall out."""
        if b is None:
            return self.more[a] + self.own[a] ** 2
        return self.more[a] + self.more[b] + (self.own[a] - self.own[b]) ** 2

    def _bias_of(self, a: int, b: int) -> tuple[Floats, Floats]:
        """Runs are too high or too low together, for the same want of documents: what is left is the difference."""
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
        found = estimate_run(sample, run, evidence, measure, errors)
        if (run, measure) not in known:
            known[run, measure] = measure.scores(evidence)
        scores.append(known[run, measure])
        low, high = scores[-1].low, scores[-1].high
        value = found.value if low is None or high is None or not found.bounded else np.clip(found.value, low, high)
        estimates.append(found._replace(value=value, effect=np.empty(0)))
        own = errors.weigh(found.effect)
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
    """Rows as in COLUMNS; `.differences()` has those between runs."""

    columns: ClassVar = COLUMNS
    words: ClassVar = ("run", "topic", "measure", "method")

    found: list[SampledScores]
    sample: Sample
    by_topic: bool
    level: float
    notes: list[str] = field(default_factory=list)

    def rows(self) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        for number, run in enumerate(self.sample.candidates.names):
            for one in self.found:
                rows += self._rows(number, run, one)
        return rows

    def _rows(self, number: int, run: str, one: SampledScores) -> list[tuple[Any, ...]]:
        scores, name = one.scores[number], one.measure.name
        known = (scores.score, scores.low, scores.high)
        rows: list[tuple[Any, ...]] = []
        if self.by_topic:
            intervals = one.topic_intervals(number, self.level)
            for i, topic in enumerate(self.sample.candidates.topics):
                columns = (None if column is None else float(column[i]) for column in known)
                rows.append((run, topic, name, *columns, one.method, *(float(column[i]) for column in intervals)))
        means = (aggregate(one.measure, column) for column in known)
        rows.append((run, "all", name, *means, one.method, *one.mean_interval(number, self.level)))
        return rows

    def differences(self, by_topic: bool = False) -> SampledDifferences:
        """Every pair of runs, each once."""
        names, topics = self.sample.candidates.names, self.sample.candidates.topics
        rows: list[tuple[Any, ...]] = []
        for one in self.found:
            for a, b in combinations(range(len(names)), 2):
                of = (names[a], names[b])
                if by_topic:
                    columns = one.topic_differences(a, b, self.level)
                    rows += [
                        (*of, topic, one.measure.name, one.method, *(float(column[i]) for column in columns))
                        for i, topic in enumerate(topics)
                    ]
                rows.append((*of, "all", one.measure.name, one.method, *one.difference(a, b, self.level)))
        return SampledDifferences(rows, self.notes)

    @property
    def answer(self) -> list[str]:
        """Whose estimate is highest by each measure, and of how many others it is clear of."""
        said = []
        for one in self.found:
            found = [one.mean_interval(i, self.level) for i in range(len(self.sample.candidates.names))]
            best = max(range(len(found)), key=lambda i: found[i][0])
            name, (estimate, low, high) = self.sample.candidates.names[best], found[best]
            interval = f"{estimate:.4f} ({low:.4f} to {high:.4f})"
            several = sum(other.measure == one.measure for other in self.found) > 1
            of = f"{one.measure.name} ({one.method})" if several else one.measure.name
            if len(found) == 1:
                said.append(f"{of}: {name} has an estimated score of {interval}.")
                continue
            reach = sum(other[2] >= low and other[1] <= high for i, other in enumerate(found) if i != best)
            others = f"its interval overlaps {reach:,} of {len(found) - 1:,} others"
            said.append(f"{of}: {name} has the highest estimate, {interval}; {others}.")
        return said

    @property
    def remarks(self) -> list[str]:
        sample = self.sample
        population, drawn = int(sample.open.sum()), len(sample.chosen)
        certain = int(sample.certain.sum())
        first = f"{pluralise(drawn, 'document')} sampled from {population:,} stand for them"
        if certain:
            first += f"; {pluralise(certain, 'document')} judged for sure count once"
        return [
            f"{first}. Documents outside this population count as not relevant.",
            f"{100 * self.level:g}% intervals are for what judging the whole population would give.",
        ]


@dataclass(frozen=True, eq=False)
class SampledDifferences(Result):
    """Rows as in DIFFERENCES."""

    columns: ClassVar = DIFFERENCES
    words: ClassVar = DIFFERENCES[:5]

    pairs: list[tuple[Any, ...]]
    notes: list[str]

    def rows(self) -> list[tuple[Any, ...]]:
        return self.pairs


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
    level = checked("level", choices.share, level)
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
    found = [sampled_scores(sample, measure, one, progress, known) for measure in measures for one in errors]
    notes = [*experiment.topic_notes(), *experiment.qrels.notes, *sample.notes]
    return SampledPrediction(found, sample, by_topic, level, notes)
