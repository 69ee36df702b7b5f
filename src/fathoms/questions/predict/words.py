"""What `fathoms predict` says in words: what further judging is expected to change, how sure that is, and what it
leaves open."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from fathoms.base.text import pluralise
from fathoms.base.tolerances import SAME
from fathoms.estimate.names import DEFAULT, RELEVANCE_MODELS
from fathoms.estimate.words import calibrated_sentences

if TYPE_CHECKING:
    from fathoms.questions.predict.confidence import Confidence
    from fathoms.questions.predict.result import AtMost, MethodCheck, Prediction
    from fathoms.questions.predict.sampled_prediction import SampledPrediction, SampledScores

OWN_DOUBT = "Intervals of {} know only that model's own uncertainty, and are too narrow where it is wrong."
SHOWN_BIASES = 3  # of the methods that came closest
SMALL = 0.0001  # changes below this are not shown in figures
ABOUT = "Estimates are about further judging only, on these topics and in this order of tied documents."
POINTS = (
    "Those of {} are points without an interval, since their papers have no distribution; `low` and `high` are what is "
    "possible."
)

Means = dict[str, tuple[float, float]]  # by run: score and estimate


def answers(result: Prediction) -> list[str]:
    """What further judging is estimated to change, by each measure."""
    by_measure: dict[str, dict[str, Means]] = {}
    for row in result.estimated:
        if row.topic == "all":
            by_measure.setdefault(row.measure, {}).setdefault(row.method, {})[row.run] = (row.score, row.estimate)
    return [_of_measure(measure, methods) for measure, methods in by_measure.items()]


def at_most_sentences(result: AtMost) -> list[str]:
    """How many runs will probably score at most that, by each measure."""
    runs = pluralise(len(result.drawn.runs), "run")
    return [
        f"{measure.name}: {result.runs_probably(measure):,} of {runs} will probably score at most {result.x:g} on "
        "average once judged."
        for measure in result.drawn.draws
    ]


def remarks(result: Prediction) -> list[str]:
    """What to know about the estimates: what they are of, how they were checked, and what they leave open."""
    lines = [_trusted(measure, checks, result.checks_depth) for measure, checks in result.checks.items()]
    each = result.estimates // max(1, len(result.clipped))
    moved = [f"{count:,} by {method}" for method, count in result.clipped.items() if count]
    if moved:
        lines.append(
            f"Estimates outside the possible range were moved to its nearer end: {', '.join(moved)} "
            f"(of {pluralise(each, 'topic estimate')}{' each' if len(result.clipped) > 1 else ''})."
        )
    if result.calibrated is not None:
        lines += calibrated_sentences(result.calibrated, result.level)
    lines.append(ABOUT)
    points = [method for method in result.clipped if method not in (DEFAULT, *RELEVANCE_MODELS)]
    if result.relevance:
        lines[-1] += " " + OWN_DOUBT.format(" and ".join(result.relevance))
    if points:
        lines[-1] += " " + POINTS.format(", ".join(points))
    return lines


def _trusted(measure: str, checks: dict[str, MethodCheck], depth: int) -> str:
    """Which method came closest to what all judgments say, from fewer of them, and whether its intervals held."""
    ranked = sorted(checks, key=lambda method: checks[method].error)
    if checks[ranked[-1]].error <= SAME:
        return f"{measure}: from judgments cut to depth {depth:,} every method gives the scores under all judgments."
    first, *others = (f"{method} ({checks[method].error:.4f})" for method in ranked)
    intervals = [
        f"{method} {100 * covered:.0f}%" for method in ranked if (covered := checks[method].covered) is not None
    ]
    held = f" Share of the runs' means inside the 95% interval: {', '.join(intervals)}." if intervals else ""
    biases = ", ".join(f"{method} {checks[method].bias:+z.4f}" for method in ranked[:SHOWN_BIASES])
    return (
        f"{measure}: trust {first} here. From judgments cut to depth {depth:,} it came closest to the contributing "
        f"runs' scores under all judgments (root mean square error over runs and topics); then {', '.join(others)}. "
        f"Means were too high by (bias): {biases}.{held}"
    )


def _of_measure(measure: str, methods: dict[str, Means]) -> str:
    if len(methods) > 1:
        spread = {
            run: max(of[run][1] for of in methods.values()) - min(of[run][1] for of in methods.values())
            for run in next(iter(methods.values()))
        }
        widest = max(spread, key=lambda run: spread[run])
        return (
            f"{measure}: the {len(methods)} methods differ by up to {spread[widest]:.4f} in what they estimate a run's "
            f"mean to be after further judging ({widest})."
        )
    (method, runs), *_ = methods.items()
    if len(runs) == 1:
        ((run, (score, estimate)),) = runs.items()
        then = f"an estimated {estimate:.4f} after further judging"
        return f"{measure}: {run} scores {score:.4f} now, and {then} ({method})."
    change = {run: estimate - score for run, (score, estimate) in runs.items()}
    least, most = min(change, key=lambda run: change[run]), max(change, key=lambda run: change[run])
    if change[most] - change[least] <= SAME and abs(change[most]) <= SAME:
        return f"{measure}: further judging is estimated to change no mean ({method})."
    pairs = list(combinations(runs, 2))
    reversed_ = [pair for pair in pairs if _reversed(*(runs[run] for run in pair))]
    order = "to reverse no pair of runs"
    if reversed_:
        a, b = reversed_[0]
        order = f"to reverse {len(reversed_):,} of {pluralise(len(pairs), 'pair')} of runs, such as {a} and {b}"
    size = f"by {change[least]:+z.4f} ({least}) to {change[most]:+z.4f} ({most})"
    if max(-change[least], change[most]) < SMALL:
        size = f"by less than {SMALL:g}"
    return f"{measure}: further judging is estimated to change means {size}, and {order} ({method})."


def _reversed(run: tuple[float, float], other: tuple[float, float]) -> bool:
    before, after = run[0] - other[0], run[1] - other[1]
    return (before > SAME and after < -SAME) or (before < -SAME and after > SAME)


def confidence_answers(result: Confidence) -> list[str]:
    """For how many pairs it is nearly sure which run is ahead on these topics once everything is judged."""
    sure = {measure: result.sure(measure) for measure in dict.fromkeys(row["measure"] for row in result.records())}
    return [
        f"{measure}: for {sum(of_pairs):,} of {pluralise(len(of_pairs), 'pair')} of runs it is at least "
        f"{result.sure_from:.0%} sure which is ahead on these topics once judged."
        for measure, of_pairs in sure.items()
    ]


# -- from a sample of judgments --------------------------------------------------------------------------------


def sampled_answers(result: SampledPrediction) -> list[str]:
    """Whose estimate is highest by each measure."""
    return [_highest(result, estimates) for estimates in result.by_method]


def _highest(result: SampledPrediction, estimates: SampledScores) -> str:
    names = result.sample.candidates.names
    intervals = [estimates.mean_interval(i, result.level) for i in range(len(names))]
    best = max(range(len(names)), key=lambda i: intervals[i][0])
    estimate, low, high = intervals[best]
    interval = f"{estimate:.4f} ({low:.4f} to {high:.4f})"
    several = sum(other.measure == estimates.measure for other in result.by_method) > 1
    measure = f"{estimates.measure.name} ({estimates.method})" if several else estimates.measure.name
    if len(names) == 1:
        return f"{measure}: {names[best]} has an estimated score of {interval}."
    return f"{measure}: {names[best]} has the highest estimate, {interval}."


def sampled_remarks(result: SampledPrediction) -> list[str]:
    """What was sampled, and what the intervals are for."""
    sample = result.sample
    population, certain = int(sample.open.sum()), int(sample.certain.sum())
    sampled = f"{pluralise(len(sample.chosen), 'document')} sampled from {population:,} stand for them"
    if certain:
        sampled += f"; {pluralise(certain, 'document')} judged for sure count once"
    return [
        f"{sampled}. Documents outside this population count as not relevant.",
        f"{100 * result.level:g}% intervals are for what judging the whole population would give.",
    ]
