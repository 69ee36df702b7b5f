"""The leaderboard: each run's rank, and the ranks it could have. What `fathoms rank` and `fm.rank` do.

Three doubts, kept apart: *possible* ranks over every way of judging and every order of ties (proved), *likely* ranks
over further judging (estimated), and a confidence set over topics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fathoms import charts, choices
from fathoms.choices import checked
from fathoms.comparison.differences import comparable
from fathoms.comparison.observed import Observed, estimates_if_quick, observe
from fathoms.comparison.ranges import NOTHING, Ranges, Universe
from fathoms.comparison.rank_sets import letters, rank_sets, ranks, significantly_better
from fathoms.data.topics import valid_text
from fathoms.errors import FathomsError
from fathoms.estimate.calibrated import Estimate, Estimates, aggregated
from fathoms.estimate.names import LEVEL
from fathoms.estimate.prediction_sentences import calibrated_sentences
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.experiment.base import BaseExperiment, prepare_measures
from fathoms.experiment.result import Result
from fathoms.measures.base import Measure, Scores

if TYPE_CHECKING:
    import polars as pl

COLUMNS = (
    *("run", "measure", "score", "rank", "rank_low", "rank_high"),
    *("estimate", "likely_rank", "likely_rank_low", "likely_rank_high", "rank_ci_low", "rank_ci_high", "group"),
)

DRAWN = 3_000_000  # documents in all runs up to which likely ranks are drawn unless told otherwise: a few seconds


@dataclass(frozen=True)
class Standing:
    """One run by one measure."""

    run: str
    measure: str
    score: float
    rank: int
    rank_ci_low: int  # over topics
    rank_ci_high: int
    group: str = ""  # letters, shared with the runs that topics do not tell apart from it
    rank_low: int | None = None  # over judging and ties: what is proved
    rank_high: int | None = None
    estimate: float | None = None
    likely_rank: int | None = None
    likely_rank_low: int | None = None
    likely_rank_high: int | None = None

    def row(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in COLUMNS)


@dataclass(frozen=True, eq=False)
class Ranking(Result):
    """All runs by each measure, best first, and how that was found out."""

    columns: ClassVar = COLUMNS
    words: ClassVar = ("run", "measure", "group")
    charts: ClassVar = ("ranks",)
    whole_numbers: ClassVar = tuple(name for name in COLUMNS if "rank" in name)

    standings: list[Standing]
    measures: list[Measure]
    alpha: float
    level: float  # of the likely ranks
    topics: int
    better: dict[str, Bools]  # by measure: [a, b], whether topics show that a is better than b; runs as in `runs`
    runs: list[str]
    notes: list[str] = field(default_factory=list)
    universe: Universe = Universe("all")  # noqa: RUF009 - it does not change
    unjudged: int = 0  # documents that possible ranks are over
    tied: bool = False  # whether some run has documents with equal scores
    to_depth: dict[str, int] = field(default_factory=dict)  # by measure: the rank down to which estimates judge
    about_estimates: list[str] = field(default_factory=list)

    def rows(self) -> list[tuple[Any, ...]]:
        return [standing.row() for standing in self.standings]

    def of(self, measure: str) -> list[Standing]:
        """The runs by one measure, best first."""
        return [standing for standing in self.standings if standing.measure == measure]

    @property
    def answer(self) -> list[str]:
        """Who is first by each measure, and who else might be over topics."""
        from fathoms.comparison.rank_sentences import answers

        return answers(self)

    @property
    def remarks(self) -> list[str]:
        """What judging and ties could change, what the ranks are over, and how the estimates were checked."""
        from fathoms.comparison.rank_sentences import remarks

        return remarks(self)

    def _draw(self, kind: str, measure: str) -> Any:
        """Each run's rank, and the ranks it could have."""
        topics = f"{100 * (1 - self.alpha):g}% confidence set, over topics"
        return charts.rank_intervals(
            self.rank_points(measure), measure, topics, f"likely ({100 * self.level:g}%), over judging"
        )

    def rank_points(self, measure: str) -> pl.DataFrame:
        """A row a run, best first, with all of it in words."""
        import polars as pl

        from fathoms.comparison.rank_sentences import described

        found = self.of(measure)
        names = ("run", *(name for name in COLUMNS if "rank" in name))
        points = {name: [getattr(one, name) for one in found] for name in names}
        points["run"] = list(map(valid_text, points["run"]))
        types = {name: pl.String if name == "run" else pl.Int64 for name in names}
        frame = pl.DataFrame(points, schema=types)
        return frame.with_columns(tooltip=pl.Series([valid_text(described(one)) for one in found], dtype=pl.String))


def run_ranking(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    *,
    alpha: float = 0.05,
    draws: int | None = None,
    labels: Sequence[Any] = (),
    to_depth: int | None = None,
    level: float = LEVEL,
    progress: Callable[[str], None] = lambda run: None,
) -> Ranking:
    """Look at each run on its own, then at the order of all. `draws`, `labels`, `to_depth` and `level` are those of
    `compare`; `alpha` is that of the confidence sets over topics."""
    alpha = checked("alpha", choices.share, alpha)
    draws = None if draws is None else checked("draws", choices.whole_number, draws, 0)
    level = checked("level", choices.share, level)
    if len(experiment.runs) < 2:
        raise FathomsError("a ranking needs at least two runs")
    seen = observe(experiment, measures, ranked_universe(experiment, measures), progress)
    return ranking_of(seen, estimates_if_quick(seen, draws, labels, to_depth, most=DRAWN), alpha, level)


def ranking_of(seen: Observed, estimates: Estimates | None, alpha: float, level: float) -> Ranking:
    """The order of runs that were looked at, with the likely ranks that estimates give."""
    names, options, measures, universe = seen.names, seen.experiment.options, seen.measures, seen.universe
    qrels, systems, notes = seen.experiment.qrels, seen.systems, seen.notes
    ranges = seen.ranges(*np.triu_indices(len(names), 1))
    standings: list[Standing] = []
    better: dict[str, Bools] = {}
    for m in measures:
        scores, values = [system.scores[m] for system in systems], seen.values[m]
        better[m.name] = significantly_better(values, alpha, options.seed)
        possible = possible_ranks(ranges, m, values.mean(axis=1), scores)
        estimate = None if estimates is None else estimates.by_measure.get(m)
        standings += _standings(names, m, values, better[m.name], possible, estimate, level, universe)
    ranged = any(standing.rank_low is not None for standing in standings)
    return Ranking(
        standings,
        list(measures),
        alpha,
        level,
        len(qrels.topics),
        better,
        names,
        notes,
        universe,
        sum(topic.unjudged_of_all(universe.depth) for topic in ranges.topics) if ranged else 0,
        any(bool(system.keys.tied.any()) for system in systems),
        {} if estimates is None else {m.name: one.to_depth for m, one in estimates.by_measure.items()},
        [] if estimates is None else calibrated_sentences(estimates, level),
    )


def ranked_measures(experiment: BaseExperiment, measures: Sequence[Any] | Any) -> list[Measure]:
    """Measures of a ranking. It is over the documents of all runs, so that `all` is what `auto` means there, and
    defaults do not show in a name."""
    found = prepare_measures(measures, bounds=experiment.bounds, universe=experiment.universe)
    asked = {experiment.universe, *(getattr(measure, "universe", None) for measure in found)}
    for narrow, whose in (("run", "single runs"), ("pair", "comparisons")):
        if narrow in asked:
            raise FathomsError(
                f"universe: {narrow} is for {whose}; a ranking is over the documents of all runs (use all)"
            )
    plain = [m.replace(universe="auto") if getattr(m, "universe", "") == "all" else m for m in found]
    return list(dict.fromkeys(plain))


def ranked_universe(experiment: BaseExperiment, measures: Sequence[Measure]) -> Universe:
    """The universe that was asked for; the documents of all runs unless a measure says more."""
    asked = {getattr(measure, "universe", "auto") for measure in measures if "universe" in measure.params}
    wider = [universe for universe in asked if universe not in ("auto", "all")]
    if len(wider) > 1 or (wider and len(asked) > 1):
        raise FathomsError("universe: measures of one ranking range over the same documents; give one of them")
    return Universe(wider[0] if wider else "all", experiment.options.universe_depth)


def possible_ranks(
    ranges: Ranges, measure: Measure, means: Floats, scores: Sequence[Scores]
) -> tuple[Ints, Ints] | None:
    """First and last rank over every way of judging and every order of ties, as far as is proved; None for measures
    without a range."""
    a, b = np.triu_indices(len(means), 1)
    front, back = np.where(means[a] >= means[b], a, b), np.where(means[a] >= means[b], b, a)
    lead = ranges.least_leads(measure, front, back, scores)
    if lead is None:
        return None
    n = len(means)
    above, not_below = np.zeros((n, n), dtype=bool), np.zeros((n, n), dtype=bool)
    above[front, back] = lead > NOTHING
    not_below[front, back] = lead >= -NOTHING
    copies = (np.abs(means[front] - means[back]) <= NOTHING) & (lead >= -NOTHING)
    not_below[back[copies], front[copies]] = [
        ranges.runs[i].alike(ranges.runs[j]) for i, j in zip(front[copies], back[copies], strict=True)
    ]
    return 1 + above.sum(axis=0), n - not_below.sum(axis=1)


def likely_ranks(estimate: Estimate, level: float) -> tuple[Ints, Ints, Ints]:
    """The rank by the estimates, and the central part of the ranks in the draws, which it is in."""
    measure = estimate.measure
    middle = ranks(comparable(measure, estimate.point).mean(axis=1))
    drawn = ranks(comparable(measure, estimate.draws).mean(axis=2))
    low = np.quantile(drawn, (1 - level) / 2, axis=0, method="lower")
    high = np.quantile(drawn, (1 + level) / 2, axis=0, method="higher")
    return middle, np.minimum(low, middle), np.maximum(high, middle)


def _standings(
    names: Sequence[str],
    measure: Measure,
    values: Floats,
    better: Bools,
    possible: tuple[Ints, Ints] | None,
    estimate: Estimate | None,
    level: float,
    universe: Universe,
) -> list[Standing]:
    """One measure's, best first; equal scores in the order of names."""
    means = values.mean(axis=1)
    order = np.array(sorted(range(len(names)), key=lambda i: (-round(means[i], 9), names[i])))
    columns: dict[str, Ints | Floats | list[str]] = {
        "score": aggregated(measure, np.exp(values) if measure.aggregate == "geometric" else values),
        "rank": ranks(means),
        "group": letters(better, order),
    }
    columns["rank_ci_low"], columns["rank_ci_high"] = rank_sets(better)
    if possible is not None:
        columns["rank_low"], columns["rank_high"] = possible
    if estimate is not None:
        columns["estimate"] = estimate.point_means
        found = [*likely_ranks(estimate, level)]
        if possible is not None and (universe.depth is None or universe.depth >= estimate.to_depth):
            found = [np.clip(one, *possible) for one in found]  # what is judged then is a part of the universe
        columns["likely_rank"], columns["likely_rank_low"], columns["likely_rank_high"] = found
    listed = {name: column if isinstance(column, list) else column.tolist() for name, column in columns.items()}
    return [
        Standing(run=names[i], measure=measure.name, **{name: column[i] for name, column in listed.items()})
        for i in order.tolist()
    ]
