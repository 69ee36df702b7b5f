"""What will the score be once the judging is deep? `fathoms predict` and `fm.predict`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from fathoms.base.errors import FathomsError
from fathoms.base.tolerances import SAME
from fathoms.estimate.estimates import Estimates, run_estimates
from fathoms.estimate.gain_models import MODEL_NAMES
from fathoms.estimate.names import DEFAULT, DRAWS, LEVEL
from fathoms.estimate.predictors import PREDICTORS, PUBLISHED, Constants, given_constants, rm_predict, scaled_range
from fathoms.estimate.probabilities import relevance_probabilities
from fathoms.estimate.relevance import RELEVANCE_MODELS
from fathoms.estimate.score_draws import SAMPLES, check_drawable, drawable, drawn_scores
from fathoms.estimate.self_check import aggregated, interval
from fathoms.evidence.evidence import Bools, Evidence, Floats
from fathoms.experiment.base import BaseExperiment
from fathoms.measures.abilities import estimates
from fathoms.measures.base import Measure, Scores
from fathoms.measures.means import aggregate
from fathoms.questions.predict.expected_scores import average_precision_moments, expectations_of, has_closed_form
from fathoms.questions.predict.gain_curves import Curves, fitted_curves
from fathoms.questions.predict.result import PLAIN, EstimateRow, MethodCheck, Prediction, RelevanceDraws
from fathoms.questions.predict.shallower_pool import shallower_pool

METHODS = (*PREDICTORS, *MODEL_NAMES, *RELEVANCE_MODELS, DEFAULT)
RTC = (next(iter(RELEVANCE_MODELS)), "AP")  # of which the paper has the distribution
FALLBACK = "interpolated"  # where the default has nothing to draw from


def check_estimable(measure: Measure, methods: Sequence[str]) -> None:
    """Refuse a measure that has nothing to estimate by. The default draws grades; other methods need a range."""
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
    """The estimate by a method of RM's or LMC-gain's, kept inside [low, high], and where it had to be moved there; None
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
    """One method's estimates of one run's scores by one measure."""

    values: Floats  # by topic
    low: Floats | None = None  # None: a point without an interval
    high: Floats | None = None
    mean_low: float | None = None
    mean_high: float | None = None
    moved: int = 0  # values that had to be moved into their range


def _drawn(estimates: Estimates, run: str, measure: Measure, level: float) -> _Estimated:
    place = estimates.runs.index(run)
    return _inside_draws(measure, estimates[measure].draws[:, place], estimates[measure].point[place], level)


def _inside_draws(measure: Measure, drawn: Floats, values: Floats, level: float) -> _Estimated:
    """With the intervals that draws [draw, topic] of one run give."""
    low, high = measure.attainable(*interval(drawn, values, level))
    mean_low, mean_high = interval(aggregated(measure, drawn), aggregated(measure, values), level)
    return _Estimated(values, low, high, float(mean_low), float(mean_high))


def _normal(scores: Scores, values: Floats, deviation: Floats, level: float) -> _Estimated:
    """From standard deviations by topic, that of the mean last; inside the possible range."""
    half = float(ndtri((1 + level) / 2)) * deviation
    least, most = (np.append(end, end.mean()) for end in (scores.low, scores.high) if end is not None)
    center = np.append(values, values.mean())
    low, high = np.clip(center - half, least, most), np.clip(center + half, least, most)
    return _Estimated(values, low[:-1], high[:-1], float(low[-1]), float(high[-1]))


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
    of_relevance = (*RELEVANCE_MODELS, DEFAULT)
    if (level, draws) != (LEVEL, DRAWS) and not set(methods) & set(of_relevance):
        raise FathomsError(
            f"level and draws are for the methods {' and '.join(of_relevance)}, found {', '.join(methods)}"
        )
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
    expectations: dict[str, Callable[[str, Evidence, Measure], Floats]] = {}
    relevance: dict[str, RelevanceDraws] = {}
    contributing = experiment.contributing() if any(measure.needs_pool for measure in measures) else ()
    for method in dict.fromkeys(method for method in methods if method in RELEVANCE_MODELS):
        seed = options.seed
        probabilities = relevance_probabilities(experiment, method, labels, to_depth, samples=SAMPLES, seed=seed)
        names = probabilities.candidates.names
        drawn = drawn_scores(probabilities, names, [m for m in measures if _to_draw(m)], draws, seed)
        moments = {m: average_precision_moments(probabilities) for m in drawn if (method, m.name) == RTC}
        relevance[method] = RelevanceDraws(names, experiment.qrels.topics, drawn, moments)
        expectations[method] = expectations_of(probabilities, drawn, notes, contributing)

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
        if method not in relevance or measure not in relevance[method].draws:
            return _Estimated(values, moved=int(moved.sum()))
        if measure in relevance[method].moments:
            place = relevance[method].runs.index(run)
            of_method = _normal(scores, values, relevance[method].moments[measure][1][place], level)
        else:
            of_method = _inside_draws(measure, relevance[method].of_run(measure, run), values, level)
        return of_method._replace(moved=int(moved.sum()))

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
        *(_checks(experiment, measures, methods, constants, labels) if check_methods else ({}, 0)),
        relevance,
    )


def _to_draw(measure: Measure) -> bool:
    """Others are refused, unless their estimate has a closed form; then it has no interval."""
    return drawable(measure) or not has_closed_form(measure)


def _checks(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    methods: Sequence[str],
    constants: Constants | None,
    labels: Sequence[Any],
) -> tuple[dict[str, dict[str, MethodCheck]], int]:
    """How each method did for the contributing runs, by measure, from judgments cut to half the depth of the pool, or
    of the shallowest measure; and that depth, 0 where there is no such pool. The truth is the score under all judgments
    of the pool, which leave nothing of these runs unjudged down to its depth."""
    pool = experiment.pool_assumed()
    depth = min([pool.depth, *(int(m.k) for m in measures if m.k is not None and m.cutoff != "recall")]) // 2
    cut = shallower_pool(experiment, measures, depth)
    if cut is None:
        return {}, 0
    drawn = set(methods) & {*RELEVANCE_MODELS, DEFAULT}
    more: dict[str, Any] = {"labels": labels, "to_depth": pool.depth} if drawn else {}
    predicted = run_prediction(cut.experiment, measures, methods, by_topic=True, constants=constants, **more)
    rows = {(row.run, row.topic, row.measure, row.method): row for row in predicted.estimated}

    def check(measure: str, truth: Floats, method: str, column: str) -> MethodCheck:
        values = [
            [getattr(rows[run, topic, measure, method], column) for topic in (*cut.topics, "all")] for run in cut.runs
        ]
        errors = np.array(values, dtype=np.float64) - np.column_stack([truth, truth.mean(axis=1)])
        means = [rows[run, "all", measure, method] for run in cut.runs]
        covered = None
        if column == "estimate" and all(row.likely_low is not None for row in means):
            inside = [
                row.likely_low - SAME <= true <= row.likely_high + SAME
                for row, true in zip(means, truth.mean(axis=1).tolist(), strict=True)
            ]
            covered = float(np.mean(inside))
        return MethodCheck(float(np.sqrt((errors[:, :-1] ** 2).mean())), float(errors[:, -1].mean()), covered)

    return {
        measure: {PLAIN: check(measure, truth, methods[0], "score")}
        | {method: check(measure, truth, method, "estimate") for method in methods}
        for measure, truth in cut.truth.items()
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
