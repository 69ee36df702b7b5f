"""What will the score be once the judging is deep? `fathoms predict` and `fm.predict`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.estimate.estimates import Estimates, run_estimates
from fathoms.estimate.gain_models import MODEL_NAMES
from fathoms.estimate.names import DEFAULT, DRAWS, LEVEL
from fathoms.estimate.predictors import PREDICTORS, PUBLISHED, Constants, given_constants, rm_predict, scaled_range
from fathoms.estimate.probabilities import relevance_probabilities
from fathoms.estimate.relevance import RELEVANCE_MODELS
from fathoms.estimate.score_draws import check_drawable, drawable
from fathoms.estimate.self_check import aggregated, interval
from fathoms.evidence.evidence import Bools, Evidence, Floats
from fathoms.experiment.base import BaseExperiment
from fathoms.measures.abilities import estimates
from fathoms.measures.base import Measure, Scores
from fathoms.measures.means import aggregate
from fathoms.questions.predict.expected_scores import expectations_of
from fathoms.questions.predict.gain_curves import Curves, fitted_curves
from fathoms.questions.predict.result import PLAIN, EstimateRow, Prediction
from fathoms.questions.predict.shallower_pool import shallower_pool

METHODS = (*PREDICTORS, *MODEL_NAMES, *RELEVANCE_MODELS, DEFAULT)
FALLBACK = "interpolated"  # where the default has nothing to draw from


def check_estimable(measure: Measure, methods: Sequence[str]) -> None:
    """Refuse what a measure has no estimate by. The default draws what others need a range for."""
    can = estimates(measure)
    if can == "none" and not (set(methods) == {DEFAULT} and drawable(measure)):
        if measure.needs_subtopics:
            check_drawable(measure)
        raise FathomsError(f"{measure.name} has no range, so there is nothing to estimate inside")
    models = [method for method in methods if method in MODEL_NAMES]
    if can == "no gain models" and models:
        others = [method for method in METHODS if method not in MODEL_NAMES]
        raise FathomsError(
            f"{measure.name} has no estimate from predicted gains, so not by {', '.join(models)}; use one of "
            f"{', '.join(others)}"
        )


def estimate(
    measure: Measure,
    evidence: Evidence,
    scores: Scores,
    method: str,
    *,
    constants: Constants | None = None,
    curves: Curves | None = None,
) -> tuple[Floats, Bools] | None:
    """The estimate of a method of RM's or LMC-gain's, kept inside [low, high], and where it had to be moved there; None
    without a range."""
    if scores.low is None or scores.high is None:
        return None
    if method in PREDICTORS:
        ranged = scaled_range(measure, evidence, scores)
        if ranged is None:
            return None
        B, delta, scale = ranged
        raw = rm_predict(method, B, delta, constants or PUBLISHED[method]) * scale
    else:
        if curves is None:
            raise ValueError("a gain model needs its curves")
        raw = measure.predicted(evidence, curves.of(measure, method, evidence))
    return kept_inside(raw, scores)


def kept_inside(raw: Floats, scores: Scores) -> tuple[Floats, Bools] | None:
    if scores.low is None or scores.high is None:
        return None
    inside = np.clip(raw, scores.low, scores.high)
    return inside, np.abs(inside - raw) > 1e-9


class _Estimated(NamedTuple):
    """What one method estimates one run's scores by one measure to be."""

    values: Floats  # by topic
    low: Floats | None = None  # None: a point without an interval
    high: Floats | None = None
    mean_low: float | None = None
    mean_high: float | None = None
    moved: int = 0  # values that had to be moved into their range


def _drawn(estimates: Estimates, run: str, measure: Measure, level: float) -> _Estimated:
    place = estimates.runs.index(run)
    values, drawn = estimates[measure].point[place], estimates[measure].draws[:, place]
    low, high = measure.attainable(*interval(drawn, values, level))
    mean_low, mean_high = interval(aggregated(measure, drawn), aggregated(measure, values), level)
    return _Estimated(values, low, high, float(mean_low), float(mean_high))


def _topic_rows(
    run: str, topics: Sequence[str], measure: Measure, method: str, scores: Scores, of_method: _Estimated
) -> list[EstimateRow]:
    columns = [scores.score, scores.low, scores.high, of_method.values, of_method.low, of_method.high]
    cells = zip(*([None] * len(topics) if column is None else column.tolist() for column in columns), strict=True)
    return [
        EstimateRow(run, topic, measure.name, score, low, high, method, value, likely_low, likely_high)
        for topic, (score, low, high, value, likely_low, likely_high) in zip(topics, cells, strict=True)
    ]


def _mean_row(run: str, measure: Measure, method: str, scores: Scores, of_method: _Estimated) -> EstimateRow:
    score, low, high, value = (
        aggregate(measure, column) for column in (scores.score, scores.low, scores.high, of_method.values)
    )
    ends = of_method.mean_low, of_method.mean_high
    return EstimateRow(run, "all", measure.name, score, low, high, method, value, *ends)


class _RunEstimates(NamedTuple):
    """The estimates of one run by all measures and methods."""

    rows: list[EstimateRow]
    clipped: dict[str, int]  # by method: estimates that had to be moved into their range
    total: int


def predict_scores(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    method: str | Sequence[str],
    *,
    constants: Sequence[Any] | None,
    **options: Any,
) -> Prediction:
    """Estimates by one method, several, or all. `options` are those of `run_prediction`."""
    chosen, given = chosen_methods(method), given_constants(constants)
    return run_prediction(experiment, measures, chosen, constants=given, check_methods=method == "all", **options)


def run_prediction(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    methods: Sequence[str] = (DEFAULT,),
    *,
    by_topic: bool = False,
    depth: int | None = None,
    constants: Constants | None = None,
    labels: Sequence[Any] = (),
    to_depth: int | None = None,
    draws: int = DRAWS,
    level: float = LEVEL,
    check_methods: bool = False,
    progress: Callable[[str], None] = lambda run: None,
) -> Prediction:
    """Estimates of every run, measure and method; `labels` are numbers for documents, for models of relevance. With
    `check_methods` all are tried on a shallower pool, to see which to trust."""
    if not methods:
        raise FathomsError(f"no method given; known are {', '.join(METHODS)} and all")
    for method in methods:
        if method not in METHODS:
            raise FathomsError(f"unknown method {method!r}; known are {', '.join(METHODS)} and all")
    if (level, draws) != (LEVEL, DRAWS) and DEFAULT not in methods:
        raise FathomsError(f"level and draws are for the method {DEFAULT}, found {', '.join(methods)}")
    of_relevance = (*RELEVANCE_MODELS, DEFAULT)
    if (len(labels) or to_depth is not None) and not set(methods) & set(of_relevance):
        raise FathomsError(
            f"labels and to_depth are for the methods {' and '.join(of_relevance)}, found {', '.join(methods)}"
        )
    experiment.needs_an_order("predict")
    measures, options = list(measures), experiment.options
    for measure in measures:
        check_estimable(measure, methods)
    experiment.prepare()
    notes = list(experiment.qrels.notes)
    align = experiment.alignment(measures, notes)
    notes = [*experiment.topic_notes(), *notes]
    estimates = None
    if DEFAULT in methods:
        estimates = _calibrated(experiment, measures, labels, to_depth, draws, notes)
    curves = fitted_curves(experiment, align, measures, [m for m in methods if m in MODEL_NAMES], depth, notes)
    expectations = {
        method: expectations_of(
            relevance_probabilities(experiment, method, labels, to_depth),
            measures,
            options.seed,
            notes,
            experiment.contributing() if any(measure.needs_pool for measure in measures) else (),
        )
        for method in methods
        if method in RELEVANCE_MODELS
    }

    others = [method for method in methods if method != DEFAULT]
    all_drawn = estimates is not None and all(measure in estimates.by_measure for measure in measures)

    def estimated(run: str, known: Evidence, scores: Scores, measure: Measure, method: str) -> _Estimated:
        if method == DEFAULT and estimates is not None and measure in estimates.by_measure:
            return _drawn(estimates, run, measure, level)
        if method in expectations:
            inside = kept_inside(expectations[method](run, known, measure), scores)
        else:
            used = FALLBACK if method == DEFAULT else method
            inside = estimate(measure, known, scores, used, constants=constants, curves=curves)
        if inside is None:
            raise FathomsError(f"{measure.name} has no range, so there is nothing to estimate inside")
        values, moved = inside
        return _Estimated(values, moved=int(moved.sum()))

    def of_run(run: str) -> _RunEstimates:
        rows: list[EstimateRow] = []
        clipped = dict.fromkeys(methods, 0)
        total = 0
        if estimates is not None and all_drawn and not others:  # which knows all scores
            known = align.empty(experiment.qrels.topics)
        else:
            known = experiment.align(run, align).evidence
        for measure in measures:
            if estimates is not None and measure in estimates.by_measure:
                scores = estimates[measure].scores_of(estimates.runs.index(run))
            else:
                scores = measure.scores(known)
            for method in methods:
                of_method = estimated(run, known, scores, measure, method)
                clipped[method] += of_method.moved
                total += len(of_method.values)
                if by_topic:
                    rows += _topic_rows(run, known.topics, measure, method, scores, of_method)
                rows.append(_mean_row(run, measure, method, scores, of_method))
        return _RunEstimates(rows, clipped, total)

    by_run = experiment.map(of_run, progress=progress)
    return Prediction(
        [row for run_estimates in by_run for row in run_estimates.rows],
        {method: sum(run_estimates.clipped[method] for run_estimates in by_run) for method in methods},
        sum(run_estimates.total for run_estimates in by_run),
        notes,
        estimates,
        level,
        *(_errors(experiment, measures, methods, constants, labels) if check_methods else ({}, 0)),
    )


def _errors(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    methods: Sequence[str],
    constants: Constants | None,
    labels: Sequence[Any],
) -> tuple[dict[str, dict[str, float]], int]:
    """The root mean square error of each method over contributing runs and topics, by measure, from judgments cut to
    half the depth of the pool, or of the shallowest measure; and that depth, 0 where there is no such pool. The truth
    is the score under all judgments of the pool, which leave nothing of these runs unjudged down to its depth."""
    pool = experiment.pool_assumed()
    depth = min([pool.depth, *(int(m.k) for m in measures if m.k is not None and m.cutoff != "recall")]) // 2
    cut = shallower_pool(experiment, measures, depth)
    if cut is None:
        return {}, 0
    drawn = set(methods) & {*RELEVANCE_MODELS, DEFAULT}
    more: dict[str, Any] = {"labels": labels, "to_depth": pool.depth} if drawn else {}
    predicted = run_prediction(cut.experiment, measures, methods, by_topic=True, constants=constants, **more)
    truth = {
        (run, topic, measure): score
        for measure, scores in cut.truth.items()
        for run, of_run in zip(cut.runs, scores.tolist(), strict=True)
        for topic, score in zip(cut.topics, of_run, strict=True)
    }
    squares: dict[str, dict[str, list[float]]] = {}
    for row in predicted.estimated:
        if row.topic == "all":
            continue
        actual = truth[row.run, row.topic, row.measure]
        of_measure = squares.setdefault(row.measure, {})
        of_measure.setdefault(row.method, []).append((row.estimate - actual) ** 2)
        if row.method == methods[0]:
            of_measure.setdefault(PLAIN, []).append((row.score - actual) ** 2)
    return {
        m: {method: float(np.sqrt(np.mean(of_method))) for method, of_method in of.items()} for m, of in squares.items()
    }, depth


def _calibrated(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    labels: Sequence[Any],
    to_depth: int | None,
    draws: int,
    notes: list[str],
) -> Estimates | None:
    """The default's estimates of the measures that can be drawn; others fall back, which a note says."""
    drawn = []
    for measure in measures:
        try:
            check_drawable(measure)
            drawn.append(measure)
        except FathomsError as error:
            notes.append(f"{error}; here its estimate is RM's {FALLBACK}, without an interval")
    if not drawn:
        return None
    estimates = run_estimates(experiment, drawn, labels=labels, to_depth=to_depth, draws=draws)
    notes += [note for note in estimates.notes if note not in notes]
    return estimates


def chosen_methods(method: str | Sequence[str]) -> tuple[str, ...]:
    several = method if isinstance(method, list | tuple) else [method]
    return METHODS if method == "all" else tuple(map(str, several))
