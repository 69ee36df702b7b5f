"""Is A better than B, and will it stay so? What `fathoms compare` and `fm.compare` do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fathoms import charts, choices
from fathoms.choices import checked
from fathoms.comparison.differences import comparable
from fathoms.comparison.fragility import Fragility, fragility
from fathoms.comparison.holding import Holding, holding
from fathoms.comparison.intervals import intervals, tested_levels
from fathoms.comparison.names import VERDICTS
from fathoms.comparison.observed import (
    Observed,
    System,
    asked_universe,
    documents_by_key,
    estimates_if_quick,
    observe,
    other_depths,
    without_pair,
)
from fathoms.comparison.paired_tests import effect_interval, effect_size, paired_differences
from fathoms.comparison.ranges import NOTHING, DifferenceRanges, Ranges, Universe
from fathoms.comparison.sentences import OTHER_SIDE
from fathoms.comparison.significance import (
    CORRECTIONS,
    SIGNIFICANCE_TESTS,
    TESTS,
    Correction,
    Test,
    p_corrected,
    p_values,
)
from fathoms.data.file_names import stem
from fathoms.errors import FathomsError
from fathoms.estimate.calibrated import Estimates, interval
from fathoms.estimate.names import LEVEL
from fathoms.estimate.prediction_sentences import calibrated_sentences
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.result import Result
from fathoms.experiment.topics import some
from fathoms.measures.base import Measure, Scores
from fathoms.parallel import parallel_map
from fathoms.text import pluralise

if TYPE_CHECKING:
    import polars as pl

COLUMNS = (
    *("run_a", "run_b", "measure", "diff", "diff_low", "diff_high", "ci_low", "ci_high", "p", "p_corrected", "effect"),
    *("estimate", "likely_low", "likely_high", "p_better", "p_holds", "fragility_low", "fragility_high"),
    *("reversible", "verdict", "reason"),
)
WORDS = ("run_a", "run_b", "measure", "reversible", "verdict", "reason")
HOLDS = 0.95  # probability that a significant difference stays significant, from which on it is supported
EXPLAINED = 10  # pairs that are explained at once, at most
MOST_TOPICS = 100_000
POWER = 0.8  # chance to find a difference of the observed size with the number of topics given for an open pair


@dataclass(frozen=True)
class Pair:
    """One comparison: A against B."""

    run_a: str
    run_b: str
    measure: str
    diff: float
    ci_low: float
    ci_high: float
    p: float
    p_corrected: float
    effect: float
    verdict: str
    reason: str = ""
    diff_low: float | None = None  # least and greatest mean difference over every way of judging
    diff_high: float | None = None
    estimate: float | None = None
    likely_low: float | None = None
    likely_high: float | None = None
    p_better: float | None = None
    p_holds: float | None = None
    fragility_low: float | None = None  # fewest documents that bring the difference to 0: at least, and at most
    fragility_high: float | None = None
    reversible: str | None = None  # no, yes, unknown
    exact: bool = False  # are diff_low and diff_high reached by some judging, or only bounds?
    effect_low: float | None = None
    effect_high: float | None = None
    log_scale: bool = False  # differences are of logarithms
    depths_reversed: tuple[int, ...] = ()  # depths at which the other run is ahead
    group: str = "all"  # of topics

    def turned(self) -> Pair:
        """The same pair seen from B."""

        def minus(value: float | None) -> float | None:
            return None if value is None else -value

        return replace(
            self,
            run_a=self.run_b,
            run_b=self.run_a,
            diff=-self.diff,
            ci_low=-self.ci_high,
            ci_high=-self.ci_low,
            effect=-self.effect,
            effect_low=minus(self.effect_high),
            effect_high=minus(self.effect_low),
            diff_low=minus(self.diff_high),
            diff_high=minus(self.diff_low),
            estimate=minus(self.estimate),
            likely_low=minus(self.likely_high),
            likely_high=minus(self.likely_low),
            p_better=None if self.p_better is None else 1 - self.p_better,
        )


@dataclass(frozen=True, eq=False)
class Comparison(Result):
    """All pairs compared, and how."""

    columns: ClassVar[tuple[str, ...]] = COLUMNS
    words: ClassVar[tuple[str, ...]] = WORDS
    charts: ClassVar = ("verdicts", "counts")

    pairs: list[Pair]
    alpha: float
    test: Test
    correction: Correction
    topics: int
    notes: list[str] = field(default_factory=list)
    universe: Universe = Universe()  # noqa: RUF009 - it does not change
    explained: list[Fragility | None] = field(default_factory=list)  # one for each pair, if asked for; None: no range
    topic_names: list[str] = field(default_factory=list)
    document_names: dict[int, str] = field(default_factory=dict)  # by key, of the documents in `explained`
    level: float = LEVEL  # of likely_low and likely_high
    about_estimates: list[str] = field(default_factory=list)  # what is estimated, and how it was checked
    estimated: dict[tuple[str, str], tuple[float, float, float]] = field(default_factory=dict)  # by run and measure
    to_depth: dict[str, int] = field(default_factory=dict)  # by measure: the rank down to which estimates judge
    by_group: list[Pair] = field(default_factory=list)  # the same pairs on each group of topics, group by group
    estimated_by_group: dict[tuple[str, str, str], tuple[float, float, float]] = field(default_factory=dict)
    baseline: str | None = None  # the run that the others are compared with, if only with that one

    def rows(self) -> list[tuple[Any, ...]]:
        return [tuple(getattr(pair, name) for name in self.columns) for pair in (*self.pairs, *self.by_group)]

    def in_order(self, measure: str) -> list[Pair]:
        """The pairs by one measure as people ask for them: those of the best run, the closest rival first and the
        better run always on the left, then those of the next; where all are with one baseline, by their difference.
        Each is followed by its groups of topics."""
        pairs = [pair for pair in self.pairs if pair.measure == measure]
        if self.baseline is not None:
            ordered = sorted(pairs, key=lambda pair: (-pair.diff, pair.run_a))
        else:
            rank = {run: place for place, (run, _) in enumerate(self.standing(measure))}
            turned = [pair if rank[pair.run_a] < rank[pair.run_b] else pair.turned() for pair in pairs]
            ordered = sorted(turned, key=lambda pair: (rank[pair.run_a], rank[pair.run_b]))
        if not self.by_group:
            return ordered
        of_pair: dict[frozenset[str], list[Pair]] = {}
        for pair in self.by_group:
            if pair.measure == measure:
                of_pair.setdefault(frozenset((pair.run_a, pair.run_b)), []).append(pair)
        found = []
        for pair in ordered:
            found.append(pair)
            groups = of_pair.get(frozenset((pair.run_a, pair.run_b)), [])
            found += [one if one.run_a == pair.run_a else one.turned() for one in groups]
        return found

    def standing(self, measure: str) -> list[tuple[str, float]]:
        """The runs by their mean, best first, with how far it is above that of one of them; equal ones by name."""
        pairs = [pair for pair in self.pairs if pair.measure == measure]
        origin = self.baseline or pairs[0].run_a
        above = {origin: 0.0}
        for pair in pairs:
            if origin in (pair.run_a, pair.run_b):
                other = pair.run_b if pair.run_a == origin else pair.run_a
                above[other] = -pair.diff if pair.run_a == origin else pair.diff
        return sorted(above.items(), key=lambda one: (-one[1], one[0]))

    @property
    def answer(self) -> list[str]:
        from fathoms.comparison.sentences import answers

        return answers(self)

    @property
    def remarks(self) -> list[str]:
        from fathoms.comparison.sentences import remarks

        return remarks(self)

    def _charted(self) -> list[str]:
        return list(dict.fromkeys(pair.measure for pair in self.pairs))

    def _draw(self, kind: str, measure: str) -> Any:
        """`verdicts`: which differences can be claimed, the best runs first. `counts`: how many pairs have which
        verdict, and what keeps them from being claimed."""
        pairs = [pair for pair in self.pairs if pair.measure == measure]
        if kind == "counts":
            return charts.counts(verdict_counts(pairs), f"Verdicts on {pluralise(len(pairs), 'pair')} by {measure}")
        return charts.verdict_matrix(*verdict_boxes(pairs))


class GroupedComparison(Comparison):
    """The same by groups of topics too; the rows of all topics come first."""

    columns: ClassVar[tuple[str, ...]] = (*COLUMNS, "group")
    words: ClassVar[tuple[str, ...]] = (*WORDS, "group")


def run_comparison(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    *,
    test: Test = "t",
    correction: Correction = "holm",
    alpha: float = 0.05,
    baseline: str | None = None,
    draws: int | None = None,
    labels: Sequence[Any] = (),
    to_depth: int | None = None,
    level: float = LEVEL,
    explain: bool = False,
    seen: Observed | None = None,
    estimates: Estimates | None = None,
    progress: Callable[[str], None] = lambda run: None,
) -> Comparison:
    """Look at each run on its own, a few at a time, and then at all pairs.

    `draws` is how often the grades of unjudged documents are drawn for the estimates: by default `DRAWS` times, and
    not at all where that would take long; `labels`, `to_depth` and `level` are those of `predict`. With `explain` each
    pair gets its fragility and the documents that decide. What another analysis has `seen`, with other depths, and its
    `estimates` are used where they are given.
    """
    checked("test", choices.one_of, TESTS, test)
    checked("correction", choices.one_of, CORRECTIONS, correction)
    alpha = checked("alpha", choices.share, alpha)
    draws = None if draws is None else checked("draws", choices.whole_number, draws, 0)
    level = checked("level", choices.share, level)
    names, options = list(experiment.runs), experiment.options
    if len(names) < 2:
        raise FathomsError("a comparison needs at least two runs")
    place = chosen_baseline(baseline, names)
    a, b = compared(names, place)
    if explain and len(a) * len(measures) > EXPLAINED:
        raise FathomsError(
            f"explain: {len(a) * len(measures):,} comparisons are more than can be explained at once ({EXPLAINED}); "
            "give two runs, or a baseline and a few"
        )
    measures = without_pair(measures)
    universe = Universe(asked_universe(measures), options.universe_depth)
    if seen is None:
        seen = observe(experiment, measures, universe, progress, depths=True)
    seen = replace(seen, universe=universe, notes=list(seen.notes))
    systems, values, scores, notes = seen.systems, seen.values, seen.scores, seen.notes
    qrels, ranges = experiment.qrels, seen.ranges(a, b)
    means = {m: values[m].mean(axis=1) for m in measures}
    found = ranges.of(measures, {m: means[m][a] - means[m][b] for m in measures}, scores)
    how = _How(names, a, b, test, correction, alpha, alpha, options.seed, options.ties == "expected")
    estimates = estimates or estimates_if_quick(seen, draws, labels, to_depth)
    held = {} if estimates is None else _held(estimates, values, how, level, options.workers)
    explained_by = [m for m in measures if m in found and not m.needs_pool] if explain else []
    told: dict[Measure, list[Fragility | None]] = {m: [*fragility(ranges, m, means[m])] for m in explained_by}
    pairs: list[Pair] = []
    for m in measures:
        to = None if estimates is None or m not in estimates.by_measure else estimates[m].to_depth
        covers = _covers(m, universe, len(names), to)
        at_depths = [system.depths.get(m) for system in systems]
        of_measure = _pairs(m, values[m], how, found.get(m), held.get(m), told.get(m), at_depths, covers)
        pairs += of_measure if to is None else _with_unjudged(of_measure, dict(zip(names, systems, strict=True)), to)
    explained = [one for m in measures for one in told.get(m, [None] * len(a))] if explain else []
    groups, by_group = experiment.topic_groups, list[Pair]()
    if groups is not None:
        notes += groups.notes(qrels.topics)
        masks = groups.masks(qrels.topics)
        by_group = [
            pair
            for group, places in masks.items()
            for pair in _of_group(group, places, len(masks), values, scores, ranges, estimates, how, level)
        ]
    return (Comparison if groups is None else GroupedComparison)(
        pairs,
        alpha,
        test,
        correction,
        len(qrels.topics),
        notes,
        universe,
        explained,
        qrels.topics,
        _document_names(experiment, [one for one in explained if one is not None]),
        level,
        [] if estimates is None else calibrated_sentences(estimates, level),
        {} if estimates is None else _by_run(estimates, level),
        {} if estimates is None else {m.name: one.to_depth for m, one in estimates.by_measure.items()},
        by_group,
        {} if estimates is None or groups is None else estimates.by_group(groups, level),
        place,
    )


def _of_group(
    group: str,
    places: Bools,
    groups: int,
    values: dict[Measure, Floats],
    scores: dict[Measure, list[Scores]],
    ranges: Ranges,
    estimates: Estimates | None,
    how: _How,
    level: float,
) -> list[Pair]:
    """The pairs on one group of topics.

    Each of the groups is tested at a level of alpha over their number (Bonferroni), so that the chance of any false
    claim about a group is at most alpha, unless nobody wants a correction.
    """
    tests = 1 if how.correction == "none" else groups
    how = replace(how, alpha=how.alpha / tests)
    here = {m: of[:, places] for m, of in values.items()}
    means = {m: of.mean(axis=1) for m, of in here.items()}
    found = ranges.of_topics(np.flatnonzero(places)).of(
        list(values),
        {m: of[how.a] - of[how.b] for m, of in means.items()},
        {m: [one.of_topics(places) for one in of] for m, of in scores.items()},
    )
    estimated = None if estimates is None else estimates.of_topics(places)
    held = {} if estimated is None else _held(estimated, here, how, level, ranges.workers)
    pairs: list[Pair] = []
    for m, of in here.items():
        to = None if estimated is None or m not in estimated.by_measure else estimated[m].to_depth
        covers = _covers(m, ranges.universe, len(how.names), to)
        pairs += _pairs(m, of, how, found.get(m), held.get(m), None, [None] * len(how.names), covers)
    return [replace(pair, group=group, p_corrected=min(1.0, tests * pair.p_corrected)) for pair in pairs]


def _document_names(experiment: BaseExperiment, explained: Sequence[Fragility]) -> dict[int, str]:
    """Ids of the documents that are listed, by their keys."""
    wanted = np.array([document.key for one in explained for document in one.documents], dtype=np.uint64)
    runs = list(experiment.runs)
    named = dict.fromkeys(runs[place] for one in explained for place in (one.a, one.b))
    return documents_by_key(experiment, list(named), wanted)[0]


def chosen_baseline(baseline: str | None, names: Sequence[str]) -> str | None:
    """The run to compare with, given by its name or as its file."""
    if baseline is None or baseline in names:
        return baseline
    if not choices.is_path(baseline) or stem(baseline) not in names:
        raise FathomsError(f"the baseline {baseline!r} is not among the runs: {some(names)}")
    return stem(baseline)


def compared(names: list[str], baseline: str | None) -> tuple[Ints, Ints]:
    """The places of A and B in all pairs, or of each other run and the baseline."""
    if baseline is None:
        return np.triu_indices(len(names), 1)
    place = names.index(baseline)
    others = np.array([i for i in range(len(names)) if i != place])
    return others, np.full(len(others), place)


@dataclass(frozen=True, eq=False)
class _How:
    """What all measures of a comparison share."""

    names: list[str]
    a: Ints
    b: Ints
    test: Test
    correction: Correction
    alpha: float  # of the tests of one measure and one group of topics
    asked_alpha: float
    seed: int
    over_orders: bool  # scores are means over the orders of ties


def _held(
    estimates: Estimates, values: dict[Measure, Floats], how: _How, level: float, workers: int
) -> dict[Measure, Holding]:
    """What the estimates say of each pair, measure by measure."""

    def one(measure: Measure) -> Holding:
        estimate = estimates[measure]
        return holding(
            values[measure],
            comparable(measure, estimate.draws),
            how.a,
            how.b,
            point=comparable(measure, estimate.point),
            test=how.test,
            correction=how.correction,
            alpha=how.alpha,
            seed=how.seed,
            level=level,
        )

    measures = list(estimates.by_measure)
    return dict(zip(measures, parallel_map(one, measures, workers=workers), strict=True))


def _by_run(estimates: Estimates, level: float) -> dict[tuple[str, str], tuple[float, float, float]]:
    """Each run's estimate and its interval."""
    found = {}
    for m, estimate in estimates.by_measure.items():
        point = estimate.point_means
        low, high = interval(estimate.means, point, level)
        for i, run in enumerate(estimates.runs):
            found[run, m.name] = (float(point[i]), float(low[i]), float(high[i]))
    return found


def _pairs(
    measure: Measure,
    values: Floats,
    how: _How,
    ranges: DifferenceRanges | None,
    held: Holding | None,
    told: Sequence[Fragility | None] | None,
    depths: Sequence[Floats | None],
    covers: bool,
) -> list[Pair]:
    a, b = how.a, how.b
    differences = paired_differences(values, a, b)
    diff = differences.mean(axis=1)
    p = p_values(values, how.test, how.seed)[a, b]
    p_all = p_corrected(p, how.test, how.correction)
    ci_low, ci_high = intervals(values, a, b, how.test, how.correction, how.alpha, how.seed, p)
    effect, (effect_low, effect_high) = effect_size(differences), effect_interval(differences, how.asked_alpha)
    holds = _holds(differences, p, ranges if covers else None, held, how)
    other = other_depths(measure)
    direction = SIGNIFICANCE_TESTS[how.test].direction(differences)
    pairs = []
    for i in range(len(a)):
        A, B = int(a[i]), int(b[i])
        reversed_at: tuple[int, ...] = ()
        if depths[A] is not None and depths[B] is not None:
            by_depth = (depths[A] - depths[B]) * np.sign(diff[i])  # type: ignore[operator]
            reversed_at = tuple(k for k, lead in zip(other, by_depth, strict=True) if lead < -NOTHING)
        of_holding = ("estimate", "likely_low", "likely_high", "p_better")
        found: dict[str, Any] = {} if held is None else {x: float(getattr(held, x)[i]) for x in of_holding}
        if ranges is not None:
            found["reversible"] = ranges.reversible[i] or None
            if not how.over_orders:
                found |= {"diff_low": float(ranges.low[i]), "diff_high": float(ranges.high[i]), "exact": ranges.exact}
        of_pair = None if told is None else told[i]
        if of_pair is not None:
            found |= {"fragility_low": of_pair.low, "fragility_high": of_pair.high}
            if of_pair.high is not None:
                found["reversible"] = "yes"  # by the documents listed, which were evaluated
        pair = Pair(
            how.names[A],
            how.names[B],
            measure.name,
            float(diff[i]),
            float(ci_low[i]),
            float(ci_high[i]),
            float(p[i]),
            float(p_all[i]),
            float(effect[i]),
            verdict="",
            effect_low=float(effect_low[i]),
            effect_high=float(effect_high[i]),
            p_holds=None if holds is None else float(holds[i]),
            log_scale=measure.aggregate == "geometric",
            depths_reversed=reversed_at,
            **found,
        )
        for_b = direction[i] * diff[i] < 0
        pairs.append(replace(pair, **_verdict(pair, "" if ranges is None else ranges.doubt[i], bool(for_b), how)))
    return _with_reasons(pairs, differences, tested_levels(p, how.test, how.correction, how.alpha))


def _covers(measure: Measure, universe: Universe, n_runs: int, to_depth: int | None) -> bool:
    """Whether ranges of differences are over all judgments that estimates are about: those of other runs' documents
    too, where the measure depends on them. Without estimates there is nothing but the ranges."""
    if to_depth is None:
        return True
    if universe.depth is not None and universe.depth < to_depth:
        return False
    return universe.kind != "pair" or n_runs == 2 or measure.based_on == "utility"


def _holds(
    differences: Floats, p: Floats, ranges: DifferenceRanges | None, held: Holding | None, how: _How
) -> Floats | None:
    """The probability that each difference is significant, on the same side, once judged.

    It is 1 where that is proved: where no judging changes a topic's difference, or where even the least favourable
    differences of all topics together would be significant at the level of Bonferroni's correction.
    """
    drawn = None if held is None else held.p_holds.copy()
    if ranges is None or how.over_orders:
        return drawn
    low, high = ranges.topic_low, ranges.topic_high
    m, n = len(p), differences.shape[1]
    level = how.alpha if how.correction == "none" else how.alpha / m
    fixed = (high - low <= NOTHING).all(axis=1)
    proved = fixed & (p < level)
    if fixed.all():
        proved = p_corrected(p, how.test, how.correction) < how.alpha
    elif how.test == "t" and n > 1:
        from scipy.special import stdtr

        lead = np.where(differences.mean(axis=1) > 0, low.mean(axis=1), -high.mean(axis=1))
        away = np.maximum(high - differences, differences - low)
        spread = differences.std(axis=1, ddof=1) + np.sqrt((away**2).sum(axis=1) / (n - 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            worst = 2 * stdtr(n - 1, -np.where(lead > 0, lead, 0.0) * np.sqrt(n) / spread)
        proved |= (lead > NOTHING) & (worst < level)
    if drawn is None:
        return np.where(proved, 1.0, np.nan) if proved.any() else None
    return np.where(proved, 1.0, drawn)


def _verdict(pair: Pair, doubt: str, other_side: bool, how: _How) -> dict[str, Any]:
    """What may be said of a pair, tested from the strongest claim down. On the `other_side` is a test that is not about
    means and speaks for the run with the lower one."""
    holds = None if pair.p_holds is None or np.isnan(pair.p_holds) else pair.p_holds
    if abs(pair.diff) <= NOTHING:
        return {"verdict": "tie", "p_holds": holds}
    if pair.p_corrected < how.alpha and other_side:
        return {"verdict": "open", "reason": OTHER_SIDE, "p_holds": holds}
    if pair.p_corrected >= how.alpha:
        reason = "judging" if (holds or 0.0) >= 0.5 else "ties" if doubt == "ties" else "topics"
        return {"verdict": "open", "reason": reason, "p_holds": holds}
    by_ties = doubt == "ties" and pair.reversible == "yes"  # an order of ties was found that does it
    if (holds or 0.0) >= HOLDS and not by_ties:
        return {"verdict": "certain" if pair.reversible == "no" else "supported", "p_holds": holds}
    return {"verdict": "fragile", "reason": doubt or "judging", "p_holds": holds}


def _with_reasons(pairs: list[Pair], differences: Floats, levels: Floats) -> list[Pair]:
    """How many topics would be expected to settle the pairs that are open for lack of them.

    For differences like those seen, normally distributed, and the level that each pair is tested at.
    """
    from scipy.special import ndtri

    if differences.shape[1] < 2:
        return pairs  # one topic says nothing of how topics differ
    size = np.abs(effect_size(differences))
    with np.errstate(divide="ignore"):
        needed = ((ndtri(1 - np.minimum(levels, 0.999) / 2) + ndtri(POWER)) / size) ** 2
    told = []
    for pair, topics in zip(pairs, needed.tolist(), strict=True):
        if pair.reason == "topics" and topics < MOST_TOPICS:
            pair = replace(
                pair,
                reason=f"topics (about {max(topics, differences.shape[1] + 1):,.0f} in all)",
            )
        elif pair.reason == "topics":
            pair = replace(pair, reason=f"topics (more than {MOST_TOPICS:,} in all)")
        told.append(pair)
    return told


def _with_unjudged(pairs: list[Pair], systems: dict[str, System], depth: int) -> list[Pair]:
    """How many documents of the two runs are to be judged, of pairs that are open for lack of judging."""
    told = []
    for pair in pairs:
        if pair.reason == "judging" and pair.verdict == "open":
            both = [systems[run].keys.unjudged(depth) for run in (pair.run_a, pair.run_b)]
            count = pluralise(len(np.union1d(*both)), "unjudged document")
            pair = replace(pair, reason=f"judging ({count} of the two runs down to rank {depth:,})")
        told.append(pair)
    return told


def verdict_counts(pairs: Sequence[Pair]) -> pl.DataFrame:
    """How many pairs have each verdict, and for what reason where they cannot be claimed."""
    import polars as pl

    found = Counter((pair.verdict, pair.reason.partition(" ")[0]) for pair in pairs)
    rows = [(verdict, reason or "claimed", n) for (verdict, reason), n in found.items()]
    rows.sort(key=lambda row: (VERDICTS.index(row[0]), -row[2]))
    return pl.DataFrame(rows, schema=["verdict", "reason", "pairs"], orient="row")


def verdict_boxes(pairs: Sequence[Pair], names: Sequence[str] = ()) -> tuple[pl.DataFrame, list[str]]:
    """The verdicts of one measure as boxes of a matrix, both ways, and the runs in its order: as given, or best first.

    Neighbours with the same verdict are one box, so that 140 runs stay small.
    """
    import polars as pl

    if not names:
        wins: dict[str, float] = {name: 0.0 for pair in pairs for name in (pair.run_a, pair.run_b)}
        for pair in pairs:
            wins[pair.run_a] += pair.diff
            wins[pair.run_b] -= pair.diff
        names = sorted(wins, key=lambda name: (-wins[name], name))
    verdicts = {(pair.run_a, pair.run_b): pair.verdict for pair in pairs}
    boxes: list[tuple[int, int, int, str]] = []
    for row, a in enumerate(names, 1):
        cells = [(place, verdicts.get((a, b)) or verdicts.get((b, a))) for place, b in enumerate(names, 1)]
        for verdict, run in groupby(cells, key=lambda cell: cell[1]):
            places = [place for place, _ in run]
            if verdict is not None:
                boxes.append((row, places[0], places[-1], verdict))
    return pl.DataFrame(boxes, schema=["row", "start", "stop", "verdict"], orient="row"), list(names)
