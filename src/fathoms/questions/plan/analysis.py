"""Before anything is judged or run: how many topics, which differences they show, and how deep to judge. What
`fathoms plan` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.base.tolerances import LEAST_AP
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.run_scores import score_runs
from fathoms.experiment.score_files import MEAN, chosen_measures, read_scores, topic_block
from fathoms.inference.replicates import Repeated
from fathoms.inference.topic_set_size import (
    detectable_by_anova,
    detectable_by_t_test,
    expected_width,
    fewest,
    least,
    power_of_anova,
    power_of_t_test,
    topics_for_anova,
    topics_for_interval,
    topics_for_t_test,
)
from fathoms.measures.base import Measure
from fathoms.questions.plan.judging_depth import DepthPlan, DepthPlanner, trimmed, with_likely
from fathoms.questions.plan.known_scores import LIKE, TopicScores
from fathoms.questions.plan.result import CurvePoint, Plan, RepetitionPoint, TopicAnswer, TopicPlan

ROUND_NUMBERS = (1, 1.5, 2, 2.5, 3, 4, 5, 7.5)  # times powers of ten: topics on the curve
MOST_RESAMPLED = 3000  # topics


def run_plan(
    experiment: BaseExperiment,
    measures: Sequence[Any] | Any | None,
    *,
    min_difference: float,
    power: float,
    alpha: float,
    systems: int | None,
    n_topics: int | None,
    variance: float | None,
    system_variance: float | None,
    from_scores: Any,
    interval_width: float | None,
    epsilon: float,
    depth: int | None,
    likely: bool,
    level: float,
    confidence: float,
    progress: Callable[[str], None],
) -> Plan:
    """Topics for a minimal difference, and depths for a residual; from scores, from runs, or from a stated variance."""
    aims = _Asked(min_difference, power, alpha, systems, n_topics, interval_width, experiment.options.seed)
    if power <= alpha:
        raise FathomsError(f"power: expected more than alpha, {alpha:g}, found {power!r}")
    stated = variance is not None or system_variance is not None
    notes: list[str] = []
    scored = experiment.has_qrels and experiment.has_runs and not stated and from_scores is None
    if experiment.clusters is not None and not scored:
        raise FathomsError("cluster: is for scores of judgments and runs; a stated variance is that of what is drawn")
    if stated and from_scores is not None:
        raise FathomsError("variance: give either a variance or scores that it is to be measured on")
    if likely and not (experiment.has_qrels and experiment.has_runs):
        raise FathomsError(
            "likely: likely intervals need judgments and runs; without them only what is possible is known"
        )
    prepared = _measures(experiment, measures, scored, from_scores)
    topics: list[TopicPlan] = []
    if stated:
        topics.append(_from_variance(aims, variance, system_variance))
    elif from_scores is not None:
        topics += [_from_scores(aims, name, scores) for name, scores in _read(from_scores, measures, notes).items()]
    elif scored:
        if len(experiment.runs if experiment.systems is None else experiment.systems.names) < 2:
            raise FathomsError("variance: one run shows nothing about differences; give at least two runs, or state it")
        scored_runs = score_runs(experiment, prepared, scores_only=True, own_topics=False, progress=progress)
        notes += scored_runs.notes
        for measure in prepared:
            scores = np.stack([run_scores.scores[measure].score for run_scores in scored_runs.runs])
            logarithms = measure.aggregate == "geometric"  # of which `compare` tests the mean
            scores = np.log(np.maximum(scores, LEAST_AP)) if logarithms else scores
            units = experiment.units(scored_runs.qrels.topics)
            drawn = scores if units is None else units.totals(scores)
            repeats = experiment.systems
            of_measure = _from_scores(
                aims, measure.name, TopicScores(drawn if repeats is None else repeats.means(drawn)), logarithms
            )
            of_measure = replace(of_measure, topics_each=None if units is None else units.topics_each)
            if repeats is not None:
                of_measure = replace(of_measure, repetitions=_repetitions(aims, Repeated.of(drawn, repeats)))
            topics.append(of_measure)
    planner = DepthPlanner(experiment, epsilon, depth, aims.width, level)
    if experiment.has_runs:
        experiment.needs_an_order("plan")
    depths: list[DepthPlan] = []
    for measure in prepared:
        plan = planner.plan(measure)
        if plan is None:
            notes.append(_why_no_depth(experiment, measure))
            continue
        if depth is not None and plan.depth is None:
            deepest = plan.points[-1].depth
            notes.append(
                f"{measure.name}: nothing is known about a pool of depth {depth:,}; the judgments' has {deepest:,}"
            )
        if likely:
            plan = with_likely(experiment, plan, level=level, confidence=confidence, progress=progress)
        depths.append(trimmed(plan))
    pool = ""
    if depths and experiment.has_qrels and experiment.has_runs and experiment.options.pooled is None:
        pool = experiment.pool_assumed().sentence
    if not topics and not depths:
        raise FathomsError(
            "; ".join(notes)
            or "nothing to plan from: state the variance of a difference per topic (variance), or give scores by topic "
            "(from_scores), judgments and runs, or a measure such as RBP(p=0.8) to say how deep to judge"
        )
    return Plan(topics, depths, level, confidence, list(dict.fromkeys(notes)), pool)


class _Asked:
    """What is asked about topics."""

    def __init__(
        self,
        difference: float,
        power: float,
        alpha: float,
        systems: int | None,
        n_topics: int | None,
        width: float | None,
        seed: int,
    ) -> None:
        self.difference, self.power, self.alpha = difference, power, alpha
        self.systems, self.n_topics, self.width, self.seed = systems, n_topics, width, seed


def _measures(experiment: BaseExperiment, measures: Any, scored: bool, from_scores: Any) -> list[Measure]:
    """Those asked for; where there are scores to work with and none is named, AP."""
    if measures is None or (isinstance(measures, Sequence) and not isinstance(measures, str) and not len(measures)):
        return experiment.measures("AP") if scored else []
    if from_scores is not None and not experiment.has_runs:
        return []  # other tools' measures need not be ours
    return experiment.measures(measures)


def _read(source: Any, measures: Any, notes: list[str]) -> dict[str, TopicScores]:
    import polars as pl

    table = source if isinstance(source, pl.DataFrame) else read_scores(source)
    table = table.filter(pl.col("topic") != MEAN, pl.col("score").is_not_null())
    runs = table["run"].unique(maintain_order=True).to_list()
    if len(runs) < 2:
        raise FathomsError(
            "from_scores: expected the scores by topic of at least two runs (trec_eval has them with -q)"
        )
    by_measure = {}
    for name in chosen_measures(measures or None, table):
        values, _ = topic_block(table.filter(pl.col("measure") == name), name, runs, notes)
        by_measure[name] = TopicScores(values)
    return by_measure


def _why_no_depth(experiment: BaseExperiment, measure: Measure) -> str:
    if measure.range_is not in ("exact", "sound"):
        return f"{measure.name} has no range of possible values, so nothing can be said about its residual"
    if measure.based_on == "utility" and not experiment.has_runs:
        return f"{measure.name} reads to the end of a run; name a cut-off, such as {measure.name}@20, to plan its depth"
    if experiment.has_qrels and experiment.has_runs:
        return (
            f"nothing shows how deep the pool was, so nothing can be said about the residual of {measure.name} by depth"
        )
    return (
        f"the residual of {measure.name} depends on how many relevant documents there are; give judgments and runs of "
        "a similar collection to plan its depth"
    )


# -- topics -----------------------------------------------------------------------------------------------------------


def _from_variance(aims: _Asked, variance: float | None, of_system: float | None) -> TopicPlan:
    """From a stated variance; what is not stated follows as if two systems' scores on a topic were not correlated."""
    stated = "variance" if of_system is None else "system_variance" if variance is None else "both"
    of_difference = variance if variance is not None else 2 * float(of_system or 0.0)
    within = of_system if of_system is not None else of_difference / 2
    d, alpha, power, n = aims.difference, aims.alpha, aims.power, aims.n_topics
    systems = aims.systems or 2
    answers = [_t_answer("t", aims, alpha, of_difference)]
    if systems > 2:
        answers.append(_t_answer("t_all_pairs", aims, alpha / (systems * (systems - 1) / 2), of_difference, systems))
    answers.append(_anova_answer(aims, within, systems))
    curve = [
        CurvePoint(
            k,
            {
                "t": float(power_of_t_test(k, d, of_difference, alpha)),
                "anova": power_of_anova(k, d, within, systems, alpha),
            },
            detectable_by_t_test(k, of_difference, alpha, power),
            expected_width(k, of_difference, alpha),
        )
        for k in _numbers(answers[0].topics, n)
    ]
    return TopicPlan(
        "", d, power, alpha, systems, answers, curve, of_difference, within, stated, n, **_widths(aims, of_difference)
    )


def _from_scores(aims: _Asked, name: str, scores: TopicScores, logarithms: bool = False) -> TopicPlan:
    """From the scores of runs: variances pair by pair, and topics drawn again."""
    if scores.topics < 3:
        raise FathomsError(f"{name}: {scores.topics} topics are too few to see how differences vary; give at least 3")
    if not scores.varies:
        raise FathomsError(f"{name}: no two runs differ by more on one topic than on another, so there is no variance")
    d, alpha, power = aims.difference, aims.alpha, aims.power
    n, systems = aims.n_topics or scores.topics, aims.systems or scores.runs
    all_pairs = alpha / (systems * (systems - 1) / 2)
    answers = []
    for method, tested, level in (("t", 2, alpha), *([("t_all_pairs", systems, all_pairs)] if systems > 2 else [])):
        needed = scores.topics_needed(d, level, power)
        now, detectable = scores.power(n, d, level), scores.detectable(n, level, power)
        answers.append(TopicAnswer(method, tested, level, needed, None, now, detectable))
    most = MOST_RESAMPLED
    resampled = scores.resampled_topics(d, alpha, power, aims.seed, most) if _within(answers[0].topics, most) else None
    drawn = scores.resampled_power(n, d, alpha, aims.seed) if n <= most else None
    answers.insert(1, TopicAnswer("resampled", 2, alpha, resampled, None, drawn))
    answers.insert(2, _t_answer("t_mean_variance", aims, alpha, scores.variance, n=n))
    answers.append(_anova_answer(aims, scores.system_variance, systems, n))
    curve = []
    for k in _numbers(answers[0].topics, n):
        powers = {"t": scores.power(k, d, alpha)}
        if k <= most:
            powers["resampled"] = scores.resampled_power(k, d, alpha, aims.seed)
        powers["anova"] = power_of_anova(k, d, scores.system_variance, systems, alpha)
        curve.append(
            CurvePoint(
                k, powers, scores.detectable(k, alpha, power), expected_width(k, scores.mean_deviation**2, alpha)
            )
        )
    like = scores.pair_differences[scores.like(d)]
    return TopicPlan(
        name,
        d,
        power,
        alpha,
        systems,
        answers,
        curve,
        scores.variance,
        scores.system_variance,
        "",
        n,
        runs=scores.runs,
        scored_topics=scores.topics,
        pairs=len(like),
        pair_range=(float(like.min()), float(like.max())),
        factors=scores.variance_interval(aims.seed),
        logarithms=logarithms,
        **_widths(aims, scores.mean_deviation**2, n),
    )


REPETITIONS = (1, 2, 3, 5, 10)


def _repetitions(aims: _Asked, repeated: Repeated) -> list[RepetitionPoint]:
    """Topics for the difference with so many runs of each system: the mean power over all pairs of systems."""
    a, b = np.triu_indices(len(repeated.runs), 1)
    if not len(a):
        return []
    of_topics, there = repeated.topic_variances(a, b), aims.n_topics or repeated.topics

    def power(n: int, difference: float, runs: int) -> float:
        variances = repeated.variance_of_difference(n, runs, of_topics, a, b)
        return float(power_of_t_test(n, difference, variances * n, aims.alpha).mean())

    def point(runs: int) -> RepetitionPoint:
        needed = fewest(lambda n: power(n, aims.difference, runs) >= aims.power)
        return RepetitionPoint(runs, needed, least(lambda d: power(there, d, runs) >= aims.power, aims.difference))

    return [point(runs) for runs in REPETITIONS]


def _within(topics: int | None, most: int) -> bool:
    return topics is not None and LIKE * topics <= most


def _t_answer(
    method: str, aims: _Asked, level: float, variance: float, systems: int = 2, n: int | None = None
) -> TopicAnswer:
    needed = topics_for_t_test(aims.difference, variance, level, aims.power)
    n = n or aims.n_topics
    if n is None:
        return TopicAnswer(method, systems, level, needed, variance)
    now = float(power_of_t_test(n, aims.difference, variance, level))
    detectable = detectable_by_t_test(n, variance, level, aims.power)
    return TopicAnswer(method, systems, level, needed, variance, now, detectable)


def _anova_answer(aims: _Asked, variance: float, systems: int, n: int | None = None) -> TopicAnswer:
    d, alpha, power = aims.difference, aims.alpha, aims.power
    needed = topics_for_anova(d, variance, systems, alpha, power)
    n = n or aims.n_topics
    if n is None:
        return TopicAnswer("anova", systems, alpha, needed, variance)
    now, detectable = (
        power_of_anova(n, d, variance, systems, alpha),
        detectable_by_anova(n, variance, systems, alpha, power),
    )
    return TopicAnswer("anova", systems, alpha, needed, variance, now, detectable)


def _widths(aims: _Asked, variance: float, n: int | None = None) -> dict[str, Any]:
    n = n or aims.n_topics
    return {
        "width": aims.width,
        "topics_for_width": None if aims.width is None else topics_for_interval(aims.width, variance, aims.alpha),
        "width_now": None if n is None else expected_width(n, variance, aims.alpha),
    }


def _numbers(needed: int | None, there: int | None) -> list[int]:
    """Round numbers of topics on both sides of the one needed, that one, and the one there is."""
    middle = needed or there or 1000
    every = {round(step * 10**power) for power in range(6) for step in ROUND_NUMBERS}
    near = [number for number in every if max(3, middle / 6) <= number <= max(10, 2.2 * middle)]
    return sorted({*near, *(number for number in (needed, there) if number is not None and number >= 3)})
