"""How sure is this number, what makes it unsure, and what would help most? The parts of its variance are in `parts`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.base.tolerances import SAME
from fathoms.estimate.estimates import Estimate, Estimates
from fathoms.estimate.names import LEVEL
from fathoms.estimate.self_check import interval
from fathoms.estimate.words import calibrated_sentences
from fathoms.evidence.evidence import Floats, Ints
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.topics import chosen_run, some
from fathoms.inference.topic_set_size import fewest
from fathoms.measures.base import Measure, Scores
from fathoms.pairs.difference_ranges import DifferenceRanges, Universe
from fathoms.pairs.scored_runs import (
    Observed,
    asked_universe,
    estimates_if_quick,
    observe,
    range_pairs,
    without_pair,
)
from fathoms.questions.doubt.ahead import JudgingAhead, judging_ahead
from fathoms.questions.doubt.assessors import scores_by_labels
from fathoms.questions.doubt.parts import Parts, parts_of, signed
from fathoms.questions.doubt.result import Budget, Doubt, Settling, Source, SourceName

FEWEST_TOPICS = 2  # with one, topics have no spread
STEPS = 6  # numbers of judgments to try out on the way to the one that halves the doubt


@dataclass(frozen=True, eq=False)
class _Seen:
    """What one measure says about the systems in question, by topic: one of them, or the first less the second."""

    measure: Measure
    weights: Mapping[str, float]  # of the runs in the score, or in the difference
    score: Floats
    possible: tuple[float, float] | None
    reversible: str
    ties: tuple[float, float]  # of the mean
    at_depths: Floats  # means at half and twice the cut-off; empty where there is none
    largest: float
    draws: Floats  # [draw, topic]
    point: Floats
    parts: Parts
    by_labels: Floats | None  # [source, topic], expected with each source of labels alone
    by_assessors: Floats | None  # [source, topic], with the labels in place of the judgments
    error: float | None  # root mean square error of means, in the backtests
    to_depth: int | None


@dataclass(frozen=True, eq=False)
class _Labelled:
    """What several sources of labels say, each alone."""

    expected: Sequence[Estimates] = ()
    in_place: Mapping[Measure, Floats] = field(default_factory=dict)  # [source, run, topic]


def run_doubt(
    experiment: BaseExperiment,
    measures: Sequence[Any],
    *,
    of: Sequence[str] = (),
    labels: Sequence[Any] = (),
    to_depth: int | None = None,
    draws: int | None = None,
    level: float = LEVEL,
    cost_topic: float | None = None,
    cost_judgment: float = 1.0,
    progress: Callable[[str], None] = lambda run: None,
) -> Doubt:
    """An error budget for each measure: of one run's score, or of the difference of two."""
    experiment.needs_an_order("an error budget")
    names = chosen(of, list(experiment.runs) if experiment.systems is None else experiment.systems.names)
    is_pair = len(names) == 2
    prepared = without_pair(experiment.measures(measures, of_pairs=is_pair))
    for measure in prepared:
        if measure.aggregate != "mean":
            raise FathomsError(f"doubt: {measure.name} is not a mean over topics, so its doubt has no such parts")
    seen = observe(experiment, prepared, _universe(prepared, is_pair, experiment), progress, depths=True)
    if experiment.clusters is not None:
        raise FathomsError("doubt: takes topics as independent; leave out cluster")
    if len(experiment.qrels.topics) < FEWEST_TOPICS:
        raise FathomsError("doubt: one topic says nothing about others; give judgments of two topics or more")
    estimates = estimates_if_quick(seen, draws, labels, to_depth)
    costs = _costs(experiment, cost_topic, cost_judgment)
    labelled = _Labelled()
    if labels and estimates is not None:
        alone = [estimates_if_quick(seen, draws, [source], to_depth) for source in labels] if len(labels) > 1 else []
        in_place = scores_by_labels(experiment, prepared, labels)
        labelled = _Labelled([of_source for of_source in alone if of_source is not None], in_place)
    doubt = doubt_of(seen, prepared, names, estimates, level, costs, labelled, progress)
    without_labels = estimates_if_quick(seen, draws, (), to_depth) if labels and estimates is not None else None
    if without_labels is not None:
        sides = _sides(experiment, names)
        budgets = [
            _with_labels(budget, float(signed(without_labels[budget.measure].point_means, sides)))
            if budget.measure in without_labels.by_measure
            else budget
            for budget in doubt.budgets
        ]
        doubt = replace(doubt, budgets=budgets)
    return doubt


def doubt_of(
    seen: Observed,
    measures: Sequence[Measure],
    names: Sequence[str],
    estimates: Estimates | None,
    level: float,
    costs: Costs | None = None,
    labelled: _Labelled | None = None,
    progress: Callable[[str], None] = lambda run: None,
) -> Doubt:
    """The budgets of one or two runs, or systems, from what a comparison has seen and estimated."""
    experiment = seen.experiment
    sides = _sides(experiment, names)
    bounds: Mapping[Measure, DifferenceRanges] = {}
    if len(sides) == 2 and all(len(side) == 1 for side in sides):
        bounds = range_pairs(seen, sides[0], sides[1], False, progress)[1]
    runs = [seen.names[place] for side in sides for place in side.tolist()]
    aligned = experiment.alignment(measures, [])
    evidence = [experiment.align(run, aligned).evidence for run in runs]
    budgets = []
    for measure in measures:
        tie_variances = [measure.tie_variance(measure.prepared(of_run)).sum() for of_run in evidence]
        of_measure = _of_measure(
            seen, measure, sides, bounds.get(measure), estimates, tie_variances, labelled or _Labelled()
        )
        ahead = judging_ahead(measure, of_measure.weights, of_measure.point, estimates)
        budgets.append(_budget(experiment, of_measure, ahead, names, level, costs or _costs(experiment, None, 1.0)))
    return Doubt(
        runs=tuple(names),
        budgets=budgets,
        level=level,
        ranked=tuple(runs),
        notes=seen.notes,
        about_estimates=[] if estimates is None else calibrated_sentences(estimates, level),
    )


def chosen(of: Sequence[str], names: Sequence[str]) -> list[str]:
    """The one or two runs, or systems, in question."""
    runs = [chosen_run("the run", run, names) for run in ([of] if isinstance(of, str) else of)] or list(names)
    if len(runs) > 2:
        raise FathomsError(
            f"doubt is about one run or the difference of two, found {len(runs)}; name them with --of (in Python of=), "
            f"such as {some(names, 2)}; the others then help the estimates"
        )
    if len(set(runs)) < len(runs):
        raise FathomsError(f"doubt: {runs[0]} is named twice")
    return runs


def _universe(measures: Sequence[Measure], is_pair: bool, experiment: BaseExperiment) -> Universe:
    return Universe(asked_universe(measures) if is_pair else "all", experiment.options.universe_depth)


def _sides(experiment: BaseExperiment, names: Sequence[str]) -> list[Ints]:
    """The places of the runs of each system; a run by itself where there are no systems."""
    systems = experiment.systems
    if systems is None:
        return [np.array([list(experiment.runs).index(name)]) for name in names]
    return [systems.runs(systems.names.index(name)) for name in names]


def _of_measure(
    seen: Observed,
    measure: Measure,
    sides: Sequence[Ints],
    bounds: DifferenceRanges | None,
    estimates: Estimates | None,
    tie_variances: Sequence[float],
    labelled: _Labelled,
) -> _Seen:
    score = signed(seen.values[measure], sides)
    estimate = None if estimates is None else estimates.by_measure.get(measure)
    same = (
        len(sides) == 2
        and all(len(side) == 1 for side in sides)
        and seen.documents.alike(*map(int, (*sides[0], *sides[1])))
    )
    weights = {
        seen.names[place]: sign / len(side)
        for side, sign in zip(sides, (1.0, -1.0), strict=False)
        for place in side.tolist()
    }
    squares = zip(weights.values(), tie_variances, strict=True)
    tie_variance = 0.0 if same else float(sum(weight**2 * variance for weight, variance in squares)) / len(score) ** 2
    by_labels = [of[measure] for of in labelled.expected if measure in of.by_measure]
    expected = np.stack([signed(of.point, sides) for of in by_labels]) if len(by_labels) > 1 else None
    in_place = labelled.in_place.get(measure)
    draws = np.tile(seen.values[measure], (2, 1, 1)) if estimate is None else estimate.draws
    return _Seen(
        measure=measure,
        weights=weights,
        score=score,
        possible=_possible(seen.scores[measure], sides, bounds),
        reversible="" if bounds is None else bounds.reversible[0],
        ties=(0.0, 0.0) if same else _over_ties(seen.scores[measure], sides),
        at_depths=signed(seen.at_depths[measure], sides) if measure in seen.at_depths else np.zeros(0),
        largest=1.0 if len(sides) == 2 else max(1.0, float(score.max())),
        draws=signed(draws, sides, axis=1),
        point=score if estimate is None else signed(estimate.point, sides),
        parts=parts_of(draws, sides, tie_variance, expected),
        by_labels=expected,
        by_assessors=None if in_place is None else signed(in_place, sides, axis=1),
        error=_checked_error(estimate),
        to_depth=None if estimate is None else estimate.to_depth,
    )


def _checked_error(estimate: Estimate | None) -> float | None:
    if estimate is None or estimate.check is None or estimate.check.too_few:
        return None
    return estimate.check.error


def _possible(
    scores: Sequence[Scores], sides: Sequence[Ints], bounds: DifferenceRanges | None
) -> tuple[float, float] | None:
    if bounds is not None:
        return None if np.isnan(bounds.low[0]) else (float(bounds.low[0]), float(bounds.high[0]))
    ends = [(of_run.low, of_run.high) for of_run in (scores[place] for place in sides[0].tolist())]
    if len(sides) == 2 or any(low is None or high is None for low, high in ends):
        return None
    low, high = np.array(ends, dtype=np.float64).mean(axis=(0, 2))
    return float(low), float(high)


def _over_ties(scores: Sequence[Scores], sides: Sequence[Ints]) -> tuple[float, float]:
    """Over all orders of ties, each run's independent of the others'."""

    def end(side: Ints, name: str) -> float:
        columns = [(getattr(scores[place], name), scores[place].score) for place in side.tolist()]
        return float(np.mean([score if column is None else column for column, score in columns]))

    low, high = (end(sides[0], name) for name in ("tie_low", "tie_high"))
    if len(sides) == 1:
        return low, high
    return low - end(sides[1], "tie_high"), high - end(sides[1], "tie_low")


# -- the budget -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Costs:
    topic: float
    judgment: float


def _costs(experiment: BaseExperiment, topic: float | None, judgment: float) -> Costs:
    """What a topic costs: unless stated, as many judgments as topics have now."""
    qrels = experiment.qrels
    return Costs(judgment * len(qrels) / len(qrels.topics) if topic is None else topic, judgment)


def _budget(
    experiment: BaseExperiment, seen: _Seen, ahead: JudgingAhead, names: Sequence[str], level: float, costs: Costs
) -> Budget:
    parts, of, n = seen.parts, seen.parts.variance, seen.parts.topics
    score, estimate = float(seen.score.mean()), float(seen.point.mean())
    total = max(parts.total, SAME**2)
    is_pair = len(names) == 2
    least = -seen.largest if is_pair else 0.0

    def around(source: SourceName) -> tuple[float, float]:
        half = parts.half_width(level, [source])
        return max(least, estimate - half), min(seen.largest, estimate + half)

    drawn_low, drawn_high = interval(seen.draws.mean(axis=1), np.asarray(estimate), level)
    enough = ahead.to_halve if of["judging"] + of["both"] > SAME**2 else None
    sources = [
        Source("topics", *around("topics"), of["topics"] / total, 4 * n, "topics"),
        Source("judging", float(drawn_low), float(drawn_high), of["judging"] / total, enough, "judgments"),
        Source("both", *around("both"), of["both"] / total),
        Source("ties", *seen.ties, of["ties"] / total),
    ]
    if parts.repetitions:
        enough_runs = 4 * max(parts.repetitions)
        sources.append(
            Source("repetitions", *around("repetitions"), of["repetitions"] / total, enough_runs, "repetitions")
        )
        together: tuple[SourceName, ...] = ("topics_repetitions", "judging_repetitions")
        sources += [Source(both, *around(both), of[both] / total) for both in together]
    if seen.by_labels is not None:
        means, share = seen.by_labels.mean(axis=1), of["label_sources"] / total
        sources += [
            Source("label_sources", float(means.min()), float(means.max()), share, 4 * len(means), "sources"),
            Source("topics_labels", *around("topics_labels"), of["topics_labels"] / total),
        ]
    if seen.possible is not None:
        sources.append(Source("possible", *seen.possible))
    if seen.by_assessors is not None:
        means = seen.by_assessors.mean(axis=1)
        sources.append(Source("assessors", float(means.min()), float(means.max())))
    if len(seen.at_depths):
        sources.append(Source("depth", float(seen.at_depths.min()), float(seen.at_depths.max())))
    if seen.error is not None and not is_pair:
        sources.append(Source("estimate", estimate - seen.error, estimate + seen.error))
    low, high = _ends(parts, estimate, (drawn_low, drawn_high), level)
    low, high = max(least, low), min(seen.largest, high)
    sources.append(Source("all", low, high))
    budget = Budget(
        measure=seen.measure,
        score=score,
        estimate=estimate,
        low=low,
        high=high,
        topics=n,
        unjudged=len(ahead.candidates),
        sources=sources,
        to_judge=ahead.documents(enough or 0, seen.weights),
        reversible=seen.reversible,
        has_estimate=seen.to_depth is not None,
    )
    if not is_pair or budget.is_clear or abs(estimate) <= SAME:
        return budget

    def clear_with(parts: Parts) -> bool:
        low, high = _ends(parts, estimate, (drawn_low, drawn_high), level)
        return bool(low > 0 or high < 0)

    return replace(budget, settling=_settling(parts, ahead.left, clear_with, costs))


def _ends(parts: Parts, estimate: float, drawn: tuple[Floats, Floats], level: float) -> tuple[float, float]:
    """The ends with all sources together. Where judging can move the mean further to one side than to the other, so can
    they."""
    half = parts.half_width(level)
    low, high = (float(estimate - drawn[0]), float(drawn[1] - estimate))
    if low + high <= 2 * SAME:
        return estimate - half, estimate + half
    others = half**2 * (1 - parts.variance["judging"] / parts.total)
    of_judging = half**2 - others
    shift = [2 * side / (low + high) for side in (low, high)]
    below, above = (float(np.sqrt(others + of_judging * side**2)) for side in shift)
    return estimate - below, estimate + above


def _settling(parts: Parts, left: Floats, clear_with: Callable[[Parts], bool], costs: Costs) -> list[Settling]:
    """The fewest topics, and the fewest judgments, with which 0 would lie outside the interval if the difference stayed
    as it is estimated; the cheapest first. Further topics are taken to be judged as these are."""
    ways: list[Settling] = []
    needed = fewest(lambda n: clear_with(parts.with_topics(n)), start=parts.topics + 1)
    if needed is not None:
        more = needed - parts.topics
        ways.append(Settling("topics", more, more * costs.topic))
    shares = np.unique(left)
    clear = [share for share in shares if clear_with(parts.with_judging_left(share))]
    if clear:
        count = int(np.argmax(left <= max(clear)))
        ways.append(Settling("judgments", count, count * costs.judgment))
    return sorted(ways, key=lambda way: (way.cost, way.unit))


def _with_labels(budget: Budget, without: float) -> Budget:
    """With how far the labels move the estimate."""
    ends = sorted((float(without), budget.estimate))
    return replace(budget, sources=[*budget.sources, Source("labels", ends[0], ends[1])])
