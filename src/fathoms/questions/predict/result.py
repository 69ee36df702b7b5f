"""What a prediction found: estimates, how they were checked, and how likely a score is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import ndtr

from fathoms.base import charts
from fathoms.base.errors import FathomsError
from fathoms.base.result import Result
from fathoms.base.text import valid_text
from fathoms.estimate.estimates import Estimates
from fathoms.estimate.names import DEFAULT, LEVEL, RELEVANCE_MODELS
from fathoms.estimate.self_check import aggregated
from fathoms.evidence.evidence import Floats
from fathoms.measures.base import Measure
from fathoms.measures.parse import parse_measure

if TYPE_CHECKING:
    import polars as pl


PLAIN = "the plain score"


class EstimateRow(NamedTuple):
    """One run, topic (`all` for the mean), measure and method: the score as judged, its range, and its estimate."""

    run: str
    topic: str
    measure: str
    score: Any  # a number, or None; so are low, high, estimate, likely_low and likely_high
    low: Any
    high: Any
    method: str
    estimate: Any
    likely_low: Any
    likely_high: Any


COLUMNS = EstimateRow._fields


WORDS = ("run", "topic", "measure", "method")


class MethodCheck(NamedTuple):
    """How a method did where the truth is known."""

    error: float  # root mean square, over runs and topics
    bias: float  # of the runs' means, on average
    covered: float | None  # share of the runs' means that lie in its interval; None where it has none


@dataclass(frozen=True, eq=False)
class RelevanceDraws:
    """Scores once judged, drawn from each document's probability of relevance: [draw, run, topic] by measure. Where a
    paper has expectation and standard deviation in closed form, these instead, [run, topic] with the mean last."""

    runs: list[str]
    topics: list[str]
    draws: Mapping[Measure, Floats]
    moments: Mapping[Measure, tuple[Floats, Floats]] = field(default_factory=dict)

    def of_run(self, measure: Measure, run: str) -> Floats:
        return self.draws[measure][:, self.runs.index(run)]


@dataclass(frozen=True, eq=False)
class Prediction(Result):
    """Rows as in COLUMNS, how often an estimate had to be moved into its range, and what else to know."""

    words_module: ClassVar = "fathoms.questions.predict.words"
    columns: ClassVar = COLUMNS
    words: ClassVar = WORDS
    charts: ClassVar = ("ranges",)

    estimated: list[EstimateRow]
    clipped: dict[str, int]
    estimates: int
    notes: list[str] = field(default_factory=list)
    calibrated: Estimates | None = None  # what was drawn, for the default method
    level: float = LEVEL
    checks: dict[str, dict[str, MethodCheck]] = field(default_factory=dict)  # by measure, on shallower judgments
    checks_depth: int = 0  # of these judgments
    relevance: dict[str, RelevanceDraws] = field(default_factory=dict)  # by method that draws relevance

    def rows(self) -> list[EstimateRow]:
        return self.estimated

    def draws(self, measure: Any, method: str | None = None) -> Floats:
        """Scores once judged, [draw, run, topic], by one of the methods that draw (the first that was asked for)."""
        wanted, drawn = parse_measure(measure), self._drawn(method)
        if wanted not in drawn.draws:
            raise FathomsError(f"{wanted.name} was not drawn by the method {method or self._drawing[0]}")
        return drawn.draws[wanted]

    def at_most(self, x: float, method: str | None = None) -> AtMost:
        """How likely each score is at most x once judged, and its standard deviation, by one of the methods that draw
        (the first that was asked for)."""
        return AtMost(self._drawn(method), float(x), self.notes)

    @property
    def _drawing(self) -> list[str]:
        """The methods that draw."""
        return [*([DEFAULT] if self.calibrated is not None else []), *self.relevance]

    def _drawn(self, method: str | None) -> RelevanceDraws:
        drawing = self._drawing
        if not drawing or method not in (None, *drawing):
            raise FathomsError(
                f"how likely a score is, say only methods that draw: {', '.join((DEFAULT, *RELEVANCE_MODELS))}; drawn "
                f"here: {', '.join(drawing) or 'nothing'}"
            )
        chosen = method or drawing[0]
        if chosen == DEFAULT and self.calibrated is not None:
            draws = {measure: estimate.draws for measure, estimate in self.calibrated.by_measure.items()}
            return RelevanceDraws(self.calibrated.runs, self.calibrated.topics, draws)
        return self.relevance[chosen]

    def _charted(self) -> list[str]:
        return list(dict.fromkeys(row.measure for row in self.estimated))

    def _draw(self, kind: str, measure: str) -> Any:
        """The estimates inside the ranges of the runs, by the first method."""
        method = self.estimated[0].method
        rows = [row for row in self.estimated if (row.topic, row.measure, row.method) == ("all", measure, method)]
        return charts.ranges(_points(sorted(rows, key=lambda row: -(row.estimate or 0.0))), measure)


@dataclass(frozen=True, eq=False)
class AtMost(Result):
    """How likely each mean, and each topic's score, is at most some number once judged, and its standard deviation."""

    columns: ClassVar = ("run", "topic", "measure", "at_most", "probability", "sd")
    words: ClassVar = ("run", "topic", "measure")

    drawn: RelevanceDraws
    x: float
    notes: list[str] = field(default_factory=list)

    def rows(self) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        for measure, draws in self.drawn.draws.items():
            chance, sd = self._spread(measure, draws)
            rows += [
                (run, topic, measure.name, self.x, float(chance[number, place]), float(sd[number, place]))
                for number, run in enumerate(self.drawn.runs)
                for place, topic in enumerate((*self.drawn.topics, "all"))
            ]
        return rows

    def _spread(self, measure: Measure, draws: Floats) -> tuple[Floats, Floats]:
        """Probability and standard deviation, [run, topic] with the mean last."""
        if measure in self.drawn.moments:  # RTC: the normal distribution is close
            expectation, sd = self.drawn.moments[measure]
            above = np.where(sd > 0, (self.x - expectation) / np.where(sd > 0, sd, 1.0), 0.0)
            return np.where(sd > 0, ndtr(above), expectation <= self.x), sd
        scores = np.concatenate([draws, aggregated(measure, draws)[:, :, None]], axis=2)
        return (scores <= self.x).mean(axis=0), scores.std(axis=0, ddof=1)

    @property
    def answer(self) -> list[str]:
        from fathoms.questions.predict.words import at_most_sentences

        return at_most_sentences(self)

    def runs_probably(self, measure: Measure) -> int:
        """How many runs will probably score at most that on average."""
        chance, _ = self._spread(measure, self.drawn.draws[measure])
        return int((chance[:, -1] > 0.5).sum())


def _points(rows: Sequence[EstimateRow]) -> pl.DataFrame:
    """Estimates as the points of a chart of ranges, which has no orders of ties here."""
    import polars as pl

    points = []
    for place, row in enumerate(rows, 1):
        name = valid_text(row.run)
        likely = row.estimate, row.likely_low, row.likely_high
        points.append(
            (place, name, row.score, row.low, row.high, None, None, *likely, f"{place}. {name}: {row.estimate:.4f}")
        )
    numbers = ("score", "low", "high", "tie_low", "tie_high", "estimate", "likely_low", "likely_high")
    schema: Any = {"place": pl.Int64, "run": pl.String, **dict.fromkeys(numbers, pl.Float64), "tooltip": pl.String}
    return pl.DataFrame(points, schema=schema, orient="row")
