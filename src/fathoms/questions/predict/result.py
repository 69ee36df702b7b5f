"""What a prediction found: estimates, how they were checked, and how likely a score is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from fathoms.base import charts
from fathoms.base.errors import FathomsError
from fathoms.base.result import Result
from fathoms.base.text import valid_text
from fathoms.estimate.estimates import Estimate, Estimates
from fathoms.estimate.names import DEFAULT, LEVEL
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
    errors: dict[str, dict[str, float]] = field(default_factory=dict)  # of methods, by measure, on shallower judgments
    errors_depth: int = 0  # of these judgments

    def rows(self) -> list[EstimateRow]:
        return self.estimated

    def draws(self, measure: Any) -> Floats:
        """Scores once judged, [draw, run, topic], in the order of `runs` and `topics` of `.calibrated`."""
        return self._drawn(measure).draws

    def at_most(self, x: float) -> AtMost:
        """How likely each score is at most x once judged."""
        if self.calibrated is None:
            raise FathomsError(f"only the method {DEFAULT} says how likely a score is")
        return AtMost(self.calibrated, float(x), self.notes)

    def _drawn(self, measure: Any) -> Estimate:
        wanted = parse_measure(measure)
        if self.calibrated is None or wanted not in self.calibrated.by_measure:
            raise FathomsError(f"{wanted.name} was not estimated by the method {DEFAULT}")
        return self.calibrated[wanted]

    def _charted(self) -> list[str]:
        return list(dict.fromkeys(row.measure for row in self.estimated))

    def _draw(self, kind: str, measure: str) -> Any:
        """The estimates inside the ranges of the runs, by the first method."""
        method = self.estimated[0].method
        rows = [row for row in self.estimated if (row.topic, row.measure, row.method) == ("all", measure, method)]
        return charts.ranges(_points(sorted(rows, key=lambda row: -(row.estimate or 0.0))), measure)


@dataclass(frozen=True, eq=False)
class AtMost(Result):
    """How likely each mean, and each topic's score, is at most some number once judged."""

    columns: ClassVar = ("run", "topic", "measure", "at_most", "probability")
    words: ClassVar = ("run", "topic", "measure")

    estimates: Estimates
    x: float
    notes: list[str] = field(default_factory=list)

    def rows(self) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        for measure, estimate in self.estimates.by_measure.items():
            topics = (estimate.draws <= self.x).mean(axis=0)
            means = (estimate.means <= self.x).mean(axis=0)
            for number, run in enumerate(self.estimates.runs):
                of_run = [*zip(self.estimates.topics, topics[number].tolist(), strict=True), ("all", means[number])]
                rows += [(run, topic, measure.name, self.x, float(chance)) for topic, chance in of_run]
        return rows

    @property
    def answer(self) -> list[str]:
        from fathoms.questions.predict.words import at_most_sentences

        return at_most_sentences(self)

    def runs_probably(self, measure: Measure) -> int:
        """How many runs will probably score at most that on average."""
        return int(((self.estimates[measure].means <= self.x).mean(axis=0) > 0.5).sum())


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
