"""What a plan says: one answer a question, first the number, then what it rests on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fathoms.base.text import capitalised, pluralise
from fathoms.inference.topic_set_size import MOST_TOPICS
from fathoms.measures.rbp import RBP
from fathoms.measures.weighted import Weighted
from fathoms.questions.plan.judging_depth import DepthPlan, DepthPoint

if TYPE_CHECKING:
    from fathoms.questions.plan.result import Plan, TopicPlan

MODELLED = "`fathoms predict --method weibull` or linear"
CLEAR = 0.9  # of the pairs of runs: a share that is called nearly all


def answers(plan: Plan) -> list[str]:
    """How many topics it takes, and how deep a pool, by each measure."""
    return [
        *(of_topics(of_measure)[0] for of_measure in plan.topics),
        *(of_depth(of_measure)[0] for of_measure in plan.depths),
    ]


def remarks(plan: Plan) -> list[str]:
    """What the numbers rest on, what the topics there are can show, and what else was asked for."""
    sentences = [line for of_measure in plan.topics for line in of_topics(of_measure)[1:]]
    for of_measure in plan.depths:
        sentences += of_depth(of_measure)[1:]
        sentences += of_sample(of_measure, plan.level)
        sentences += of_likely(of_measure, plan.level, plan.confidence, plan.topics[0].width if plan.topics else None)
    return [*sentences, *([f"{capitalised(plan.pool)}."] if plan.pool else [])]


# -- topics -----------------------------------------------------------------------------------------------------------


def of_topics(plan: TopicPlan) -> list[str]:
    sentences = [_needed(plan)]
    if plan.runs:
        sentences.append(_behind(plan))
    if plan.n_topics is not None:
        sentences.append(_present(plan))
    if plan.systems > 2:
        sentences.append(_all_systems(plan))
    if plan.width is not None:
        sentences.append(_interval(plan))
    if plan.repetitions:
        sentences.append(_repetitions(plan))
    if plan.topics_each is not None:
        sentences.append(f"clusters of topics are counted, which hold {plan.topics_each:.3g} topics each on average.")
    if not plan.runs:
        sentences.append(_stated(plan))
    start = f"{plan.measure}: " if plan.measure else ""
    return [f"{start}{line}" if start else capitalised(line) for line in sentences]


def _topics(n: int | None, plan: TopicPlan) -> str:
    return f"more than {MOST_TOPICS:,} {plan.drawn}s" if n is None else pluralise(n, plan.drawn)


def _percent(share: float) -> str:
    """A power as text: 69%, 99.7%; never 100%, which it is not."""
    if share >= 0.9995:
        return "more than 99.9%"
    return f"{100 * share:.0f}%" if share < 0.995 else f"{100 * share:.1f}%"


def _size(plan: TopicPlan, difference: float, digits: str = "g") -> str:
    """A difference; of logarithms, as GMAP has them, the ratio of the means."""
    if plan.logarithms:
        return f"a ratio of {math.exp(difference):.4g}"
    return f"a difference of {difference:{digits}}"


def _needed(plan: TopicPlan) -> str:
    answer = plan.answer("t")
    return (
        f"it takes {_topics(answer.topics, plan)} to find {_size(plan, plan.difference)} between two systems with "
        f"power {100 * plan.power:g}% (paired t-test, alpha {plan.alpha:g})."
    )


def _behind(plan: TopicPlan) -> str:
    """What the number rests on: pairs, resampling, and how well the variance is known."""
    exact, drawn, mean = (plan.answer(method) for method in ("t", "resampled", "t_mean_variance"))
    pairs = (
        f"that is the mean over {pluralise(plan.pairs, 'pair')} of these runs, {plan.pair_range[0]:.4f} to "
        f"{plan.pair_range[1]:.4f} apart, each with its own variance"
        if plan.pairs > 1
        else "that is for the variance of the one pair of runs that differ"
    )
    resampled = (
        f"; resampling these {plan.scored_topics} {plan.drawn}s says {drawn.topics:,}"
        if drawn.topics is not None
        else ""
    )
    known = ""
    if exact.topics is not None:
        low, high = (exact.topics * factor for factor in plan.factors)
        least = max(2, round(low))
        span = f"{least:,} or more" if high > MOST_TOPICS else f"{least:,} to {max(2, round(high)):,}"
        known = f", and other {plan.drawn}s like them could make it {span} (95% interval)"
    sakai = _topics(mean.topics, plan)
    return f"{pairs}{resampled}{known}. Sakai's design, with one variance for all pairs, says {sakai}."


def _present(plan: TopicPlan) -> str:
    answer = plan.answer("t")
    here = "these " if plan.n_topics == plan.scored_topics else ""
    other = _size(plan, plan.difference).replace("a difference", "one")
    return (
        f"{here}{pluralise(plan.n_topics or 0, plan.drawn)} find {_size(plan, answer.detectable or 0.0, '.4f')} with "
        f"power {100 * plan.power:g}%, and {other} with power {_percent(answer.power_now or 0.0)}."
    )


def _all_systems(plan: TopicPlan) -> str:
    tests, anova = plan.answer("t_all_pairs"), plan.answer("anova")
    pairs = plan.systems * (plan.systems - 1) // 2
    return (
        f"among {plan.systems:,} systems, with each of {pairs:,} pairs tested at {tests.alpha:.2g} (Holm's first step, "
        f"as in `fathoms compare`), it takes {_topics(tests.topics, plan)}; a one-way ANOVA, which only asks whether "
        f"all are equal and does not pair topics, takes {_topics(anova.topics, plan)}."
    )


def _interval(plan: TopicPlan) -> str:
    now = (
        ""
        if plan.width_now is None
        else f"; with {pluralise(plan.n_topics or 0, plan.drawn)} it is {plan.width_now:.4f}"
    )
    return (
        f"it takes {_topics(plan.topics_for_width, plan)} for the {100 * (1 - plan.alpha):g}% confidence interval of a "
        f"difference{' of logarithms' if plan.logarithms else ''} to be {plan.width:g} wide on average{now}."
    )


def _repetitions(plan: TopicPlan) -> str:
    """How many runs of each system are worth having beside how many topics."""
    numbers = [
        f"{_topics(point.topics, plan)} with {pluralise(point.runs, 'run')} of each system"
        for point in plan.repetitions
    ]
    first, last = plan.repetitions[0], plan.repetitions[-1]
    there = (
        f"on {pluralise(plan.n_topics or 0, plan.drawn)} a single run of each finds "
        f"{_size(plan, first.detectable, '.4f')}, and {last.runs} of each one of {last.detectable:.4f}"
    )
    return f"repetitions count too: it takes {', '.join(numbers)}; {there}."


def _stated(plan: TopicPlan) -> str:
    if plan.stated == "variance":
        return (
            f"this holds if the difference between two systems has variance {plan.variance:g} from topic to topic; for "
            f"ANOVA a system's own variance is taken as half of that, {plan.system_variance:g}."
        )
    if plan.stated == "system_variance":
        return (
            f"this holds if a system's scores have variance {plan.system_variance:g} from topic to topic; that of a "
            f"difference is taken as twice that, {plan.variance:g}, which is too much where topics are hard for both."
        )
    return (
        f"this holds if the difference between two systems has variance {plan.variance:g} from topic to topic, and a "
        f"system's scores {plan.system_variance:g}."
    )


# -- depth ------------------------------------------------------------------------------------------------------------


def of_depth(plan: DepthPlan) -> list[str]:
    name = plan.measure.name
    sentences = [f"{name}: {_enough(plan)}"]
    if plan.depth is not None:
        sentences += [f"{name}: {line}" for line in _planned(plan)]
    elif plan.measure.k is not None and plan.measure.cutoff != "recall":
        sentences.append(f"{name}: {_advice(int(plan.measure.k))}")
    return sentences


def _cost(point: DepthPoint, plan: DepthPlan) -> str:
    if point.judgments is None:
        return ""
    new = "" if point.new in (0, point.judgments) else f", {point.new:,} of them new"
    return f"{pluralise(point.judgments, 'judgment')} for {pluralise(plan.runs, 'run')}{new}"


def _left(plan: DepthPlan, point: DepthPoint) -> str:
    """The residual, and whether it is exact."""
    if isinstance(plan.measure, RBP) and plan.basis == "formula" and plan.measure.k is None:
        return f"{point.residual:.4f} ({plan.measure.p:g}^{point.depth})"
    if plan.basis == "judgments":
        return f"{point.residual:.4f} on average, with the judgments there are"
    where = "" if plan.basis == "formula" else " on average"
    return (
        f"{point.residual:.4f}{where}" if isinstance(plan.measure, Weighted) else f"at most {point.residual:.4f}{where}"
    )


def _enough(plan: DepthPlan) -> str:
    if plan.enough is None:
        last = plan.points[-1]
        return (
            f"no pool up to depth {last.depth:,} keeps the residual at {plan.epsilon:g} or less; depth {last.depth:,} "
            f"leaves {_left(plan, last)}."
        )
    cost = _cost(plan.enough, plan)
    most = ""
    if plan.enough.largest is not None and plan.runs > 1:
        most = f", and {plan.enough.largest:.4f} for the run with the largest"
    return (
        f"a pool of depth {plan.enough.depth:,}{f' ({cost})' if cost else ''} keeps the residual at {plan.epsilon:g} "
        f"or less: it leaves {_left(plan, plan.enough)}{most}."
    )


def _planned(plan: DepthPlan) -> list[str]:
    sentences, depth = [], plan.depth or 0
    if plan.at_depth is not None:
        cost = _cost(plan.at_depth, plan)
        sentences.append(
            f"a pool of depth {depth:,}{f' ({cost})' if cost else ''} leaves {_left(plan, plan.at_depth)}."
        )
    if not plan.cutoffs:
        return sentences
    base = type(plan.measure).__name__
    if plan.reach is None:
        sentences.append(
            f"with a pool of depth {depth:,} no cut-off of {base} keeps the residual at {plan.epsilon:g} or less."
        )
    elif plan.measure.has_tail:
        sentences.append(
            f"with a pool of depth {depth:,} the residual is {plan.epsilon:g} or less at cut-offs from {plan.reach:,} "
            "on."
        )
    else:
        more = ", the greatest one tried" if plan.reach == plan.cutoffs[-1].cutoff else ""
        sentences.append(
            f"with a pool of depth {depth:,} the residual is {plan.epsilon:g} or less at cut-offs up to {plan.reach:,}"
            f"{more}."
        )
    sentences.append(
        f"Lu, Moffat and Culpepper (2016) advise d' >= k/2: a pool of depth {depth:,} for cut-offs up to "
        f"{2 * depth:,}, with the gain below it modelled ({MODELLED})."
    )
    return sentences


def _advice(k: int) -> str:
    return (
        f"Lu, Moffat and Culpepper (2016) advise d' >= k/2: for rank {k:,} a pool of at least depth {-(-k // 2):,}, "
        f"with the gain below it modelled ({MODELLED})."
    )


def of_sample(plan: DepthPlan, level: float) -> list[str]:
    sample = plan.sample
    if sample is None:
        return []
    what = "whatever turns out relevant" if sample.worst else "with the judgments there are"
    return [
        f"{plan.measure.name}: {sample.judgments:,} random judgments of the {pluralise(sample.documents, 'document')} "
        f"in a pool of depth {sample.depth:,} are enough, {what}, for {100 * level:g}% intervals of a run's mean score "
        f"down to that depth that are {sample.width:g} wide on average (`fathoms pool --sample`, `fathoms predict "
        "--sampled`)."
    ]


# -- likely intervals -------------------------------------------------------------------------------------------------


def of_likely(plan: DepthPlan, level: float, confidence: float, width: float | None) -> list[str]:
    """Intervals that come from incomplete judging, on these topics."""
    points = [point for point in plan.points if point.likely is not None]
    if not points:
        return []
    target = f"on these topics once they are judged down to rank {plan.to_depth:,}"
    sentences = []
    if width is not None:
        narrow = next((point for point in points if point.likely is not None and point.likely <= width), None)
        intervals = f"{100 * level:g}% likely intervals of a run's mean score {target}"
        last = points[-1]
        sentences.append(
            f"none of these pools leaves {intervals} that are {width:g} wide or less on average; that of depth "
            f"{last.depth:,} leaves {last.likely:.4f}."
            if narrow is None
            else f"a pool of depth {narrow.depth:,} ({pluralise(narrow.judgments or 0, 'judgment')}) leaves "
            f"{intervals} that are {narrow.likely:.4f} wide on average, {width:g} or less."
        )
    shares = [(point, point.clear) for point in points if point.clear is not None]
    enough = next(((point, share) for point, share in shares if share >= CLEAR), None)
    sure = f"it {100 * confidence:g}% sure who is ahead {target}"
    if enough is not None:
        cost = pluralise(enough[0].judgments or 0, "judgment")
        sentences.append(
            f"a pool of depth {enough[0].depth:,} ({cost}) makes {sure}, for {100 * enough[1]:.0f}% of the pairs of "
            "runs."
        )
    elif shares:
        sentences.append(
            f"none of these pools makes {sure}, for {100 * CLEAR:.0f}% of the pairs of runs; that of depth "
            f"{shares[-1][0].depth:,} does for {100 * shares[-1][1]:.0f}%."
        )
    return [f"{plan.measure.name}: {line}" for line in sentences]
