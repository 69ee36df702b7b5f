"""How sure is this number, what makes it unsure, and what would help most?

The error of a mean as an answer for all topics like these, once everything is judged and however ties are broken, is a
sum of parts that do not depend on each other. With D[j, t] the score of topic t in draw j of the unjudged grades, and
O[t] the score of topic t over all orders of its ties,

    topics      Var_t(E_j D) / n                    another sample of topics
    judging     Var_j(mean_t D)                     what the unjudged documents of these topics are
    both        E_j Var_t(D - E_j D) / n            judging differs from topic to topic, and so in another sample
    ties        sum_t Var(O[t]) / n^2               each topic's order by itself

and the shares are parts of their sum. For two runs D is the difference. Ties of two runs are taken as independent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from fathoms.base.errors import FathomsError
from fathoms.base.tolerances import SAME
from fathoms.estimate.document_effects import document_effects
from fathoms.estimate.estimates import Estimate, Estimates
from fathoms.estimate.names import LEVEL
from fathoms.estimate.open_documents import OpenDocuments
from fathoms.estimate.self_check import interval
from fathoms.estimate.words import calibrated_sentences
from fathoms.evidence.candidates import Candidates
from fathoms.evidence.evidence import Evidence, Floats, Ints
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
from fathoms.questions.doubt.result import Budget, Document, Doubt, Settling, Source

HALF = 0.5
FEWEST_TOPICS = 2  # with one, topics have no spread
STEPS = 6  # numbers of judgments that are tried out on the way to the one that halves the doubt


@dataclass(frozen=True, eq=False)
class _Seen:
    """What one measure says of the runs in question, by topic: of one run, or of the first less the second."""

    measure: Measure
    score: Floats
    possible: tuple[float, float] | None
    reversible: str
    ties: tuple[float, float]  # of the mean
    tie_variance: float  # of the mean
    at_depths: Floats  # means at half and twice the cut-off; empty where there is none
    largest: float
    draws: Floats  # [draw, topic]
    point: Floats
    error: float | None  # root mean square of means, in the backtests
    to_depth: int | None


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
    names = list(experiment.runs)
    runs = chosen(of, names)
    is_pair = len(runs) == 2
    prepared = without_pair(experiment.measures(measures, of_pairs=is_pair))
    for measure in prepared:
        if measure.aggregate != "mean":
            raise FathomsError(f"doubt: {measure.name} is no mean over topics, so its doubt has no such parts")
    seen = observe(experiment, prepared, _universe(prepared, is_pair, experiment), progress, depths=True)
    if experiment.clusters is not None or experiment.systems is not None:
        raise FathomsError(
            "doubt: takes topics as independent, and each run for its system; leave out cluster, replicates"
        )
    if len(experiment.qrels.topics) < FEWEST_TOPICS:
        raise FathomsError("doubt: one topic says nothing of others; give judgments of two topics or more")
    estimates = estimates_if_quick(seen, draws, labels, to_depth)
    without_labels = estimates_if_quick(seen, draws, (), to_depth) if labels and estimates is not None else None
    costs = _costs(experiment, cost_topic, cost_judgment)
    doubt = doubt_of(seen, prepared, runs, estimates, level, costs, progress)
    if without_labels is not None:
        places = [names.index(run) for run in runs]
        budgets = [
            _with_labels(budget, _signed(without_labels[budget.measure].point_means, places))
            if budget.measure in without_labels.by_measure
            else budget
            for budget in doubt.budgets
        ]
        doubt = replace(doubt, budgets=budgets)
    return doubt


def doubt_of(
    seen: Observed,
    measures: Sequence[Measure],
    runs: Sequence[str],
    estimates: Estimates | None,
    level: float,
    costs: Costs | None = None,
    progress: Callable[[str], None] = lambda run: None,
) -> Doubt:
    """The budgets of one run or two, from what a comparison has seen and estimated."""
    experiment, is_pair = seen.experiment, len(runs) == 2
    places = [seen.names.index(run) for run in runs]
    bounds = range_pairs(seen, np.array(places[:1]), np.array(places[1:]), False, progress)[1] if is_pair else {}
    aligned = experiment.alignment(measures, [])
    evidence = [experiment.align(run, aligned).evidence for run in runs]
    budgets = []
    for measure in measures:
        tie_variances = [_tie_variance(measure, of_run) for of_run in evidence]
        one = _of_measure(seen, measure, places, bounds.get(measure), estimates, tie_variances)
        ahead = _judging_ahead(measure, runs, one, estimates)
        budgets.append(_budget(experiment, one, runs, ahead, level, costs or _costs(experiment, None, 1.0)))
    return Doubt(
        runs=tuple(runs),
        budgets=budgets,
        level=level,
        company=len(seen.names) - len(runs),
        notes=seen.notes,
        about_estimates=[] if estimates is None else calibrated_sentences(estimates, level),
    )


def chosen(of: Sequence[str], names: Sequence[str]) -> list[str]:
    """The one or two runs that are asked about."""
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


def _tie_variance(measure: Measure, evidence: Evidence) -> Floats:
    return measure.tie_variance(measure.prepared(evidence))


def _signed(of_runs: Floats, places: Sequence[int]) -> Any:
    """Of the one run, or of the first less the second."""
    return of_runs[places[0]] - (of_runs[places[1]] if len(places) == 2 else 0.0)


def _of_measure(
    seen: Observed,
    measure: Measure,
    places: Sequence[int],
    bounds: DifferenceRanges | None,
    estimates: Estimates | None,
    tie_variances: Sequence[Floats],
) -> _Seen:
    by_run = [seen.scores[measure][place] for place in places]
    score = _signed(seen.values[measure], places)
    estimate = None if estimates is None else estimates.by_measure.get(measure)
    same = len(places) == 2 and seen.documents.alike(*places)
    n = len(score)
    return _Seen(
        measure=measure,
        score=score,
        possible=_possible(by_run, bounds),
        reversible="" if bounds is None else bounds.reversible[0],
        ties=(0.0, 0.0) if same else _over_ties(by_run),
        tie_variance=0.0 if same else float(sum(of_run.sum() for of_run in tie_variances)) / n**2,
        at_depths=_signed(seen.at_depths[measure], places) if measure in seen.at_depths else np.zeros(0),
        largest=1.0 if len(places) == 2 else max(1.0, float(score.max())),
        draws=np.tile(score, (2, 1)) if estimate is None else _drawn(estimate, places),
        point=score if estimate is None else _signed(estimate.point, places),
        error=_checked_error(estimate),
        to_depth=None if estimate is None else estimate.to_depth,
    )


def _drawn(estimate: Estimate, places: Sequence[int]) -> Floats:
    """[draw, topic]"""
    drawn: Floats = _signed(np.moveaxis(estimate.draws, 1, 0), places)
    return drawn


def _checked_error(estimate: Estimate | None) -> float | None:
    if estimate is None or estimate.check is None or estimate.check.too_few:
        return None
    return estimate.check.error


def _possible(by_run: Sequence[Scores], bounds: DifferenceRanges | None) -> tuple[float, float] | None:
    if bounds is not None:
        return None if np.isnan(bounds.low[0]) else (float(bounds.low[0]), float(bounds.high[0]))
    low, high = by_run[0].low, by_run[0].high
    if len(by_run) == 2 or low is None or high is None:
        return None
    return float(low.mean()), float(high.mean())


def _over_ties(by_run: Sequence[Scores]) -> tuple[float, float]:
    """Over all orders of ties, those of two runs each by itself."""
    ends = []
    for of_run in by_run:
        low, high = (of_run.score if column is None else column for column in (of_run.tie_low, of_run.tie_high))
        ends.append((float(low.mean()), float(high.mean())))
    if len(ends) == 1:
        return ends[0]
    return ends[0][0] - ends[1][1], ends[0][1] - ends[1][0]


# -- judging more ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class JudgingAhead:
    """What judging more would do to a score, or to a difference."""

    table: Candidates | None  # None where nothing is estimated
    candidates: Ints  # of the unjudged documents that could move it, the most telling first
    left: Floats  # the standard deviation that is left once the first 0, 1, 2, ... are judged, as a share of today's


def _judging_ahead(measure: Measure, runs: Sequence[str], of_runs: _Seen, estimates: Estimates | None) -> JudgingAhead:
    estimate = None if estimates is None else estimates.by_measure.get(measure)
    open_documents = None if estimates is None else estimates.open_documents
    if estimate is None or open_documents is None or measure.judging == "none":
        return JudgingAhead(None, np.zeros(0, dtype=np.int64), np.ones(1))
    share = estimate.calibration.own
    effects = document_effects(open_documents, estimate.to_depth, measure, runs, of_runs.point, share)
    left = _simulated(open_documents, estimate, runs, effects.candidate)
    return JudgingAhead(open_documents.found, effects.candidate, left)


def _simulated(open_documents: OpenDocuments, estimate: Estimate, runs: Sequence[str], candidates: Ints) -> Floats:
    """Tried out with some numbers of judgments, halving the step around the one that halves the doubt; in between on a
    line. There the model is fitted again too, and what that adds is taken to grow as the rest does."""
    today = open_documents.deviation(estimate, runs, candidates[:0])
    if today <= SAME or not len(candidates):
        return np.ones(1)
    left = {0: 1.0}
    low, tried, high = 0, len(candidates), len(candidates)
    for _ in range(STEPS):
        left[tried] = open_documents.deviation(estimate, runs, candidates[:tried]) / today
        low, high = (low, tried) if left[tried] <= HALF else (tried, high)
        if high - low <= 1:
            break
        tried = (low + high) // 2
    counts = sorted(left)
    shares = np.minimum.accumulate([left[count] for count in counts])
    by_count = np.interp(np.arange(len(candidates) + 1), counts, shares)
    at = int(np.argmax(by_count <= HALF)) or len(candidates)
    if not 0 < by_count[at] < 1:
        return by_count
    fitted = open_documents.deviation(estimate, runs, candidates[:at], fit=True) / today
    more = np.log(min(max(fitted, SAME), by_count[at])) / np.log(by_count[at])
    return np.asarray(by_count**more)


# -- the budget -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Costs:
    topic: float
    judgment: float


def _costs(experiment: BaseExperiment, topic: float | None, judgment: float) -> Costs:
    """What a topic costs: unless said, as many judgments as topics have now."""
    qrels = experiment.qrels
    return Costs(judgment * len(qrels) / len(qrels.topics) if topic is None else topic, judgment)


@dataclass(frozen=True)
class _Variances:
    """Of the mean, from each source."""

    topics: float
    judging: float
    both: float
    ties: float

    @property
    def total(self) -> float:
        return self.topics + self.judging + self.both + self.ties

    def with_judging_left(self, share: float) -> float:
        """In all, once judging has brought its standard deviation down to this share."""
        return self.topics + self.ties + share**2 * (self.judging + self.both)


def variances(draws: Floats, tie_variance: float) -> _Variances:
    """From scores [draw, topic]; see the head of this file."""
    n = draws.shape[1]
    expected = draws.mean(axis=0)
    return _Variances(
        topics=float(expected.var(ddof=1)) / n,
        judging=float(draws.mean(axis=1).var(ddof=1)),
        both=float((draws - expected).var(axis=1, ddof=1).mean()) / n,
        ties=tie_variance,
    )


def _budget(
    experiment: BaseExperiment,
    seen: _Seen,
    runs: Sequence[str],
    ahead: JudgingAhead,
    level: float,
    costs: Costs,
) -> Budget:
    n, of = len(seen.score), variances(seen.draws, seen.tie_variance)
    score, estimate = float(seen.score.mean()), float(seen.point.mean())
    t = float(stdtrit(n - 1, (1 + level) / 2))
    total = max(of.total, SAME**2)
    is_pair = len(runs) == 2

    def around(center: float, variance: float) -> tuple[float, float]:
        half = t * float(np.sqrt(variance))
        least = -seen.largest if is_pair else 0.0
        return max(least, center - half), min(seen.largest, center + half)

    drawn_low, drawn_high = interval(seen.draws.mean(axis=1), np.asarray(estimate), level)
    left = ahead.left
    halved = np.flatnonzero(left <= HALF)
    enough = int(halved[0]) if len(halved) and of.judging > SAME**2 else 0
    sources = [
        Source("topics", *around(estimate, of.topics), of.topics / total, 4 * n, "topics"),
        Source("judging", float(drawn_low), float(drawn_high), of.judging / total, enough or None, "judgments"),
        Source("both", *around(estimate, of.both), of.both / total),
        Source("ties", *seen.ties, of.ties / total),
    ]
    if seen.possible is not None:
        sources.append(Source("possible", *seen.possible))
    if len(seen.at_depths):
        sources.append(Source("depth", float(seen.at_depths.min()), float(seen.at_depths.max())))
    if seen.error is not None and not is_pair:
        sources.append(Source("estimate", estimate - seen.error, estimate + seen.error))
    low, high = around(estimate, of.total)
    budget = Budget(
        measure=seen.measure,
        score=score,
        estimate=estimate,
        low=low,
        high=high,
        topics=n,
        unjudged=len(ahead.candidates),
        sources=sources,
        to_judge=_listed(ahead, ahead.candidates[:enough], runs),
        reversible=seen.reversible,
        has_estimate=seen.to_depth is not None,
    )
    if not is_pair or budget.is_clear or abs(estimate) <= SAME:
        return budget
    return replace(budget, settling=_settling(of, left, estimate, n, level, costs))


def _settling(of: _Variances, left: Floats, difference: float, n: int, level: float, costs: Costs) -> list[Settling]:
    """The fewest topics, and the fewest judgments, with which 0 would lie outside the interval if the difference stayed
    as it is estimated; the cheapest first. Further topics are taken to be judged as these are."""
    ways: list[Settling] = []

    def clear(topics: int) -> bool:
        t = float(stdtrit(topics - 1, (1 + level) / 2))
        return bool(abs(difference) > t * np.sqrt(of.total * n / topics))

    needed = fewest(clear, start=n + 1)
    if needed is not None:
        ways.append(Settling("topics", needed - n, (needed - n) * costs.topic))
    t = float(stdtrit(n - 1, (1 + level) / 2))
    enough = np.flatnonzero(abs(difference) > t * np.sqrt([of.with_judging_left(share) for share in left]))
    if len(enough):
        ways.append(Settling("judgments", int(enough[0]), int(enough[0]) * costs.judgment))
    return sorted(ways, key=lambda way: (way.cost, way.unit))


def _with_labels(budget: Budget, without: float) -> Budget:
    """With how far the labels move the estimate."""
    ends = sorted((float(without), budget.estimate))
    return replace(budget, sources=[*budget.sources, Source("labels", ends[0], ends[1])])


def _listed(ahead: JudgingAhead, candidates: Ints, runs: Sequence[str]) -> list[Document]:
    """Documents by their ids, with their ranks in the runs."""
    table = ahead.table
    if table is None:
        return []
    ranks = np.zeros((len(runs), len(table) + 1), dtype=np.int64)
    for of_run, run in zip(ranks, runs, strict=True):
        place = table.place[table.names.index(run)]
        topic, column = np.nonzero(place >= 0)
        of_run[place[topic, column]] = column + 1
    return [
        Document(
            table.topics[table.topic[number]],
            table.documents[number].decode(errors="surrogateescape"),
            tuple(ranks[:, number].tolist()),
        )
        for number in candidates.tolist()
    ]
