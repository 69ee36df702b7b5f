"""The leaderboard: each run's rank, and the ranks it could have. What `fathoms rank` and `fm.rank` do.

Three doubts, kept apart: *possible* ranks over every way of judging and every order of ties (proved), *likely* ranks
over further judging (estimated), and confidence sets over topics, of each run alone and of all runs at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fathoms.base import charts, choices
from fathoms.base.errors import FathomsError
from fathoms.base.result import Result
from fathoms.base.text import valid_text
from fathoms.base.tolerances import SAME
from fathoms.estimate.estimates import Estimate, Estimates
from fathoms.estimate.self_check import aggregated
from fathoms.estimate.words import calibrated_sentences
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.experiment.base import BaseExperiment
from fathoms.inference.rank_sets import letters, own_ranks, rank_sets, ranks, significantly_better
from fathoms.inference.replicates import Systems
from fathoms.measures.base import Measure
from fathoms.pairs.difference_ranges import DifferenceRanges, PairRanges, Ranges, Universe, left_out
from fathoms.pairs.differences import comparable
from fathoms.pairs.scored_runs import (
    Observed,
    asked_universe,
    covers,
    estimates_if_quick,
    observe,
    range_pairs,
    without_pair,
)
from fathoms.questions.rank.repeated import ranked_systems

if TYPE_CHECKING:
    import polars as pl

COLUMNS = (
    *("run", "measure", "score", "rank", "rank_low", "rank_high"),
    *("estimate", "likely_rank", "likely_rank_low", "likely_rank_high", "rank_ci_low", "rank_ci_high", "group"),
    *("own_rank_low", "own_rank_high"),
)

DRAWN = (
    3_000_000  # documents in all runs up to which likely ranks are drawn unless the user says otherwise: a few seconds
)


@dataclass(frozen=True)
class Standing:
    """One run by one measure."""

    run: str
    measure: str
    score: float
    rank: int
    rank_ci_low: int  # over topics, all runs at once
    rank_ci_high: int
    own_rank_low: int  # over topics, this run alone
    own_rank_high: int
    group: str = ""  # letters, shared with the runs that topics do not tell apart from it
    rank_low: int | None = None  # over judging and ties: proved
    rank_high: int | None = None
    estimate: float | None = None
    likely_rank: int | None = None
    likely_rank_low: int | None = None
    likely_rank_high: int | None = None

    def row(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in COLUMNS)


@dataclass(frozen=True, eq=False)
class Ranking(Result):
    """All runs by each measure, best first, and how the ranks were found."""

    words_module: ClassVar = "fathoms.questions.rank.words"
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
    universe: Universe = Universe()  # noqa: RUF009 - it does not change
    unjudged: int = 0  # documents of all runs that are unjudged
    tied: bool = False  # whether some run has documents with equal scores
    to_depth: dict[str, int] = field(default_factory=dict)  # by measure: the rank down to which estimates judge
    about_estimates: list[str] = field(default_factory=list)
    clusters: int | None = None  # of topics, where these are what is drawn at random
    repeated: int = 0  # runs, where those ranked are systems of several

    def rows(self) -> list[tuple[Any, ...]]:
        return [standing.row() for standing in self.standings]

    def of(self, measure: str) -> list[Standing]:
        """The runs by one measure, best first."""
        return [standing for standing in self.standings if standing.measure == measure]

    def _draw(self, kind: str, measure: str) -> Any:
        """Each run's rank, and the ranks it could have."""
        topics = f"{100 * (1 - self.alpha):g}% confidence sets over topics, all runs at once"
        return charts.rank_intervals(
            self.rank_points(measure), measure, topics, f"likely ({100 * self.level:g}%), over judging"
        )

    def rank_points(self, measure: str) -> pl.DataFrame:
        """A row a run, best first, with all of it in words."""
        import polars as pl

        from fathoms.questions.rank.words import described

        standings = self.of(measure)
        names = ("run", *(name for name in COLUMNS if "rank" in name))
        points = {name: [getattr(standing, name) for standing in standings] for name in names}
        points["run"] = list(map(valid_text, points["run"]))
        types = {name: pl.String if name == "run" else pl.Int64 for name in names}
        frame = pl.DataFrame(points, schema=types)
        return frame.with_columns(
            tooltip=pl.Series([valid_text(described(standing)) for standing in standings], dtype=pl.String)
        )


def run_ranking(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    *,
    alpha: float,
    draws: int | None,
    labels: Sequence[Any],
    to_depth: int | None,
    level: float,
    ranges: choices.Ranges,
    progress: Callable[[str], None],
) -> Ranking:
    """Look at each run on its own, then at the order of all. `draws`, `labels`, `to_depth`, `level` and `ranges` are
    those of `compare`; `alpha` is that of the confidence sets over topics."""
    if len(experiment.runs) < 2:
        raise FathomsError("a ranking needs at least two runs")
    if experiment.systems is not None:
        if draws or len(labels) or to_depth is not None:
            raise FathomsError(
                "replicates: systems are ranked as judged; draws, labels and to_depth are for single runs"
            )
        return _ranking_of_systems(experiment, measures, experiment.systems, alpha, level, progress)
    measures = without_pair(measures)
    universe = Universe(asked_universe(measures), experiment.options.universe_depth)
    seen = observe(experiment, measures, universe, progress, ranges=False)
    estimates = estimates_if_quick(seen, draws, labels, to_depth, most=DRAWN)
    of_pairs = range_pairs(seen, *np.triu_indices(len(seen.names), 1), ranges == "all", progress, proofs_alone=True)
    seen.notes.extend(left_out(of_pairs[1], "rank"))
    return ranking_of(seen, of_pairs, estimates, alpha, level)


def ranking_of(
    seen: Observed, of_pairs: PairRanges, estimates: Estimates | None, alpha: float, level: float
) -> Ranking:
    """The order of runs that were looked at, with the possible ranks that the ranges of all pairs allow, and the likely
    ranks from the estimates."""
    names, options, measures, universe = seen.names, seen.experiment.options, seen.measures, seen.universe
    ranges, bounds = of_pairs
    qrels, notes = seen.experiment.qrels, seen.notes
    units = seen.experiment.units(qrels.topics)
    standings: list[Standing] = []
    better: dict[str, Bools] = {}
    for m in measures:
        values = seen.values[m]
        drawn = values if units is None else units.totals(values)
        better[m.name] = significantly_better(drawn, alpha, options.seed)
        possible = possible_ranks(ranges, bounds[m], values.mean(axis=1)) if m in bounds else None
        estimate = None if estimates is None else estimates.by_measure.get(m)
        own = own_ranks(drawn, alpha, options.seed)
        standings += _standings(names, m, values, better[m.name], own, possible, estimate, level, universe)
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
        int(seen.documents.open_counts(universe.depth).sum()) if ranged else 0,
        bool(seen.documents.tied.any()),
        {} if estimates is None else {m.name: estimate.to_depth for m, estimate in estimates.by_measure.items()},
        [] if estimates is None else calibrated_sentences(estimates, level),
        None if units is None else len(units),
    )


def _ranking_of_systems(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    systems: Systems,
    alpha: float,
    level: float,
    progress: Callable[[str], None],
) -> Ranking:
    """The order of systems of which there are several runs, as judged."""
    notes: list[str] = []
    standings: list[Standing] = []
    better: dict[str, Bools] = {}
    for by in ranked_systems(experiment, measures, systems, alpha, notes, progress):
        better[by.measure.name] = by.better
        standings += _standings(
            systems.names, by.measure, by.means, by.better, by.own, None, None, level, Universe("pair")
        )
    units, topics = experiment.units(experiment.qrels.topics), len(experiment.qrels.topics)
    return Ranking(
        *(standings, list(measures), alpha, level, topics, better, systems.names, notes),
        clusters=None if units is None else len(units),
        repeated=len(systems.number),
    )


def possible_ranks(ranges: Ranges, of_pairs: DifferenceRanges, means: Floats) -> tuple[Ints, Ints]:
    """The first and the last rank that the ranges of all pairs allow each run: behind all that are proved to be ahead
    of it, and before all that are proved never to be."""
    n, a, b = len(means), ranges.a, ranges.b
    front, back = np.where(means[a] > means[b], a, b), np.where(means[a] > means[b], b, a)
    above, not_below = np.zeros((n, n), dtype=bool), np.zeros((n, n), dtype=bool)
    above[front, back] = of_pairs.reversible == "no"
    not_below[front, back] = of_pairs.least >= -SAME
    first = ranges.documents.place[:, :, 0]
    equal = np.flatnonzero(np.abs(means[front] - means[back]) <= SAME)
    for i in equal[(first[front[equal]] == first[back[equal]]).all(axis=1)].tolist():  # the others are not copies
        if ranges.documents.alike(int(front[i]), int(back[i])):
            not_below[front[i], back[i]] = not_below[back[i], front[i]] = True
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
    own: tuple[Ints, Ints],
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
    columns["own_rank_low"], columns["own_rank_high"] = own
    if possible is not None:
        columns["rank_low"], columns["rank_high"] = possible
    if estimate is not None:
        columns["estimate"] = estimate.point_means
        likely = [*likely_ranks(estimate, level)]
        if possible is not None and covers(measure, universe, len(names), estimate.to_depth):
            likely = [np.clip(ranks, *possible) for ranks in likely]  # what is judged then is a part of the universe
        columns["likely_rank"], columns["likely_rank_low"], columns["likely_rank_high"] = likely
    listed = {name: column if isinstance(column, list) else column.tolist() for name, column in columns.items()}
    return [
        Standing(run=names[i], measure=measure.name, **{name: column[i] for name, column in listed.items()})
        for i in order.tolist()
    ]
