"""How much depends on the depth of evaluation? Scores, separations, orderings at every depth (LMC-depth section 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fathoms.base import charts
from fathoms.base.errors import FathomsError
from fathoms.base.result import Result
from fathoms.base.text import valid_text
from fathoms.evidence.evidence import Floats
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.depths import depth_scores
from fathoms.inference.agreement import Evaluated, agreement
from fathoms.inference.correlation import Correlation, correlation, correlation_matrix, swaps
from fathoms.inference.half_topics import HalfTopics, half_topics
from fathoms.measures.base import Measure
from fathoms.measures.parse import parse_measure

if TYPE_CHECKING:
    import polars as pl

PANES = ("discrimination", "median_p", "coverage", "inversion", "tau", "pearson")
HALVES = ("error_rate", "tied")  # what halves of the topics say
EMPHASISED = 6  # runs that have a colour of their own in a chart of many


@dataclass(frozen=True, eq=False)
class DepthScores:
    """Scores of every system, topic and depth under each measure."""

    runs: list[str]
    depths: list[int]
    pooled: int  # the depth of the pool
    pool: str  # and who contributed to it, in words
    scores: dict[str, Floats]  # measure without cut-off: [system, topic, depth]
    notes: list[str] = field(default_factory=list)

    def means(self, measure: str) -> Floats:
        """[depth, system]"""
        return self.scores[measure].mean(axis=1).T

    def score_points(self, measure: str) -> pl.DataFrame:
        """A row a run and depth: the mean score."""
        import polars as pl

        means = self.means(measure)
        points = [
            (valid_text(run), d, float(means[at, s]), valid_text(f"{run}; depth {d}; {measure} {means[at, s]:.4f}"))
            for s, run in enumerate(self.runs)
            for at, d in enumerate(self.depths)
        ]
        return pl.DataFrame(points, schema=["run", "depth", "score", "tooltip"], orient="row")

    def volatility_points(
        self, first: str, second: str | None = None, kind: Correlation = "tau", *, matrix: Floats | None = None
    ) -> pl.DataFrame:
        """The correlation of the orderings at every two depths, of one measure or of two; `matrix` if it is known."""
        import polars as pl

        matrix = volatility(self, first, second, kind) if matrix is None else matrix
        depths = self.depths
        cells = [(a, b, float(matrix[i, j])) for i, a in enumerate(depths) for j, b in enumerate(depths)]
        return pl.DataFrame(cells, schema=[f"{first} depth", f"{second or first} depth_2", kind], orient="row")


def volatility_chart(frame: pl.DataFrame, pooled: int) -> Any:
    across, up, value = frame.columns
    label = up.removesuffix("_2") + " " * (up.removesuffix("_2") == across)  # two columns cannot have one name
    return charts.volatility(frame.rename({up: label}), across, label, value, pooled=pooled)


def measures_by_depth(names: Sequence[str], depths: Sequence[int]) -> list[Measure]:
    """Measures named without cut-off, made ready for the deepest depth."""
    prepared = []
    for name in names:
        if "@" in name:
            raise FathomsError(f"{name}: give the measure without its cut-off; --depths says where to cut")
        prepared.append(parse_measure(f"{name}@{max(depths)}"))
    return prepared


def scores_by_depth(
    experiment: BaseExperiment,
    names: Sequence[str],
    depths: Sequence[int],
    systems: Sequence[str] | None = None,
    progress: Callable[[str], None] = lambda run: None,
) -> DepthScores:
    """Scores of all runs, or of some of them."""
    systems = list(experiment.runs if systems is None else systems)
    measures = measures_by_depth(names, depths)
    experiment.prepare()
    notes = [*experiment.topic_notes(), *experiment.qrels.notes]
    align = experiment.alignment(measures, notes, ranges=False)

    def of_run(run: str) -> list[Floats]:
        evidence = experiment.align(run, align).evidence
        return [depth_scores(measure, evidence, depths) for measure in measures]

    by_run = experiment.map(of_run, systems, progress)
    pool = experiment.pool_assumed()
    scores = {
        measure.name.partition("@")[0]: np.stack([parts[i] for parts in by_run]) for i, measure in enumerate(measures)
    }
    return DepthScores(systems, list(depths), pool.depth, pool.sentence, scores, notes)


def reference_depth(result: DepthScores) -> int:
    """The depth the others are compared with: the pool's, or the nearest one looked at."""
    return min(result.depths, key=lambda depth: (abs(depth - result.pooled), depth))


def panes(
    result: DepthScores, measure: str, reference: int, alpha: float = 0.05, depths: Sequence[int] | None = None
) -> list[dict[str, float]]:
    """The six panes of LMC-depth Fig. 4 (and the columns of its Tables 7 and 8), one row a depth: all, or some."""
    scores = result.scores[measure]
    against = Evaluated.of(scores[:, :, result.depths.index(reference)])
    rows = []
    for depth in result.depths if depths is None else depths:
        here = Evaluated.of(scores[:, :, result.depths.index(depth)])
        agreed = agreement(against, here, alpha)
        rows.append(
            {
                "depth": depth,
                "discrimination": agreed.discrimination,
                "median_p": here.median_p,
                "coverage": agreed.coverage,
                "inversion": agreed.inversion,
                "tau": correlation(against.mean, here.mean, "tau"),
                "pearson": correlation(against.mean, here.mean, "pearson"),
            }
        )
    return rows


def halves_by_depth(result: DepthScores, measure: str, depths: Sequence[int] | None = None) -> list[HalfTopics]:
    """How often halves of the topics disagree about two runs, by depth: all, or some. The halves are the same ones."""
    scores = result.scores[measure]
    return [half_topics(scores[:, :, result.depths.index(d)]) for d in (result.depths if depths is None else depths)]


def volatility(result: DepthScores, rows: str, columns: str | None = None, kind: Correlation = "tau") -> Floats:
    """LMC-depth eq. 7: correlation of the orderings at all pairs of depths, of one measure or of two."""
    return correlation_matrix(result.means(rows), kind, others=None if columns is None else result.means(columns))


def _known(*figures: float) -> list[float | None]:
    """None for what a single topic cannot say."""
    return [None if np.isnan(figure) else figure for figure in figures]


@dataclass(frozen=True, eq=False)
class DepthAnalysis(Result):
    """How much depends on the depth of evaluation: for each measure the figures by depth, against a reference."""

    words_module: ClassVar = "fathoms.questions.depth.words"
    columns: ClassVar = ("measure", "depth", *PANES, *HALVES)
    words: ClassVar = ("measure",)
    charts: ClassVar = ("volatility", "cross", "scores")
    whole_numbers: ClassVar = ("depth",)

    scored: DepthScores
    reference: int
    correlation: Correlation
    alpha: float

    @property
    def notes(self) -> list[str]:  # type: ignore[override]
        return self.scored.notes

    @property
    def measures(self) -> list[str]:
        return list(self.scored.scores)

    def rows(self) -> list[tuple[Any, ...]]:
        return [
            (measure, *(row[name] for name in ("depth", *PANES)), *_known(halves.error_rate, halves.tied))
            for measure in self.measures
            for row, halves in zip(
                panes(self.scored, measure, self.reference, self.alpha),
                halves_by_depth(self.scored, measure),
                strict=True,
            )
        ]

    def correlations(self, measure: str) -> Floats:
        """How alike the orders of the runs are at every two depths."""
        return volatility(self.scored, measure, kind=self.correlation)

    def reordered(self, measure: str) -> list[tuple[str, str]]:
        """The pairs of runs that change order from the reference to the deepest depth, the better one there first."""
        means = self.scored.means(measure)
        changed = swaps(means[self.scored.depths.index(self.reference)], means[-1])
        return [(self.scored.runs[better], self.scored.runs[worse]) for better, worse in changed]

    def volatility(self, cross: bool = False) -> pl.DataFrame:
        """The correlation of the orderings at every two depths, of the first measure or of the first two."""
        if cross and len(self.measures) < 2:
            raise FathomsError("cross: two measures are needed, and there is one")
        second = self.measures[1] if cross else None
        return self.scored.volatility_points(self.measures[0], second, self.correlation)

    def scores(self) -> list[tuple[str, str, int, float]]:
        """The mean score of every run at every depth: run, measure, depth, score."""
        return [
            (run, measure, depth, float(value))
            for measure in self.measures
            for place, depth in enumerate(self.scored.depths)
            for run, value in zip(self.scored.runs, self.scored.means(measure)[place], strict=True)
        ]

    def _draw(self, kind: str, measure: str) -> Any:
        """`volatility`: correlations between the orders of the runs at two depths. `cross`: the same between two
        measures. `scores`: of each run by depth, the first ones in colour."""
        if kind == "scores":
            means = self.scored.means(measure)[-1]
            first = [valid_text(self.scored.runs[place]) for place in (-means).argsort(kind="stable")[:EMPHASISED]]
            return charts.depth_lines(self.scored.score_points(measure), first, measure, self.scored.pooled)
        if kind == "cross":
            return volatility_chart(self.volatility(cross=True), self.scored.pooled)
        return volatility_chart(self.scored.volatility_points(measure, None, self.correlation), self.scored.pooled)


def run_depth_analysis(
    experiment: BaseExperiment,
    measures: Sequence[Any] | Any,
    depths: Sequence[int],
    *,
    correlation: Correlation,
    reference: int | None,
    alpha: float,
    progress: Callable[[str], None],
) -> DepthAnalysis:
    """Scores, separations and orderings at many depths; `reference` is the depth to compare with (the pool's)."""
    experiment.needs_an_order("depth")
    if len(experiment.runs) < 2:
        raise FathomsError("depth asks about the order of runs; give two or more")
    names = [str(name) for name in ([measures] if isinstance(measures, str | Measure) else measures)]
    depth_scores = scores_by_depth(experiment, names, depths, progress=progress)
    reference = reference_depth(depth_scores) if reference is None else reference
    if reference not in depth_scores.depths:
        raise FathomsError(f"the reference depth {reference} is not among the depths")
    return DepthAnalysis(depth_scores, reference, correlation, alpha)
