"""What an evaluation says in words: who scores highest, and what the numbers depend on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fathoms.base.text import pluralise, up_to
from fathoms.base.tolerances import SAME
from fathoms.version import __version__

if TYPE_CHECKING:
    from fathoms.measures.base import Measure
    from fathoms.questions.eval.analysis import Evaluation


def answers(result: Evaluation) -> list[str]:
    """By each measure: who scores highest, and the range of that score."""
    return [f"{measure.name}: {_highest(result, measure)}." for measure in result.measures]


def _highest(result: Evaluation, measure: Measure) -> str:
    means = [(run.run, run.mean(measure)) for run in result.ranked(measure)]

    def shown(value: float | None) -> str:
        return f"{value or 0.0:,.0f}" if measure.aggregate == "sum" else f"{value or 0.0:.4f}"

    top = means[0][1]
    best = [name for name, mean in means if abs((mean["score"] or 0.0) - (top["score"] or 0.0)) <= SAME]
    others = len(means) - len(best)
    low, high = result.interval(best[0], measure)
    over_topics = f" ({result.over_topics.level * 100:.4g}% interval over topics {shown(low)} to {shown(high)})"
    score = shown(top["score"]) + ("" if low is None or len(best) > 1 else over_topics)
    ranges = [range_ for range_ in (_range(mean) for _, mean in means) if range_ is not None]
    known = len(ranges) == len(means)
    fixed = known and all(high - low <= SAME for low, high in ranges)
    if len(means) == 1:
        reach = f"; its range is {shown(top['low'])} to {shown(top['high'])}" if known else ""
        return f"{best[0]} scores {score}{', and judging does not change that' if fixed else reach}"
    who = f"{best[0]} leads with {score}"
    if not others:
        who = f"{'both' if len(best) == 2 else f'all {len(best):,}'} runs score {shown(top['score'])}"
    elif len(best) > 1:
        names = " and ".join(best) if len(best) == 2 else f"{best[0]} and {len(best) - 1:,} others"
        who = f"{names} lead with {shown(top['score'])}"
    if fixed:
        return f"{who}; judging changes no score"
    if not known or len(best) > 1:
        return who
    return f"{who}; its range is {shown(top['low'])} to {shown(top['high'])}"


def _range(mean: dict[str, float | None]) -> tuple[float, float] | None:
    return None if mean["low"] is None or mean["high"] is None else (mean["low"], mean["high"])


def remarks(result: Evaluation) -> list[str]:
    """What the numbers depend on: unjudged documents, ties, ranks that contradict scores, missing topics."""
    lines = range_sentences(result) + interval_sentences(result) + system_sentences(result)
    means = [(run.run, measure.name, run.mean(measure)) for run in result.runs for measure in result.measures]
    unjudged, read = sum(run.unjudged for run in result.runs), sum(run.read for run in result.runs)
    if unjudged:
        widest = _widest(means, "low", "high")
        detail = f"; the widest range is {widest[0]:.4f}, {widest[2]} of {widest[1]}" if widest else ""
        lines.append(f"Unjudged: {unjudged / read:.1%} of the documents read ({unjudged:,} of {read:,}){detail}.")
    lines += [sentence for measure in result.measures for sentence in group_sentences(result, measure)]
    moved = [(_tie_change(mean), measure, run) for run, measure, mean in means if _tie_change(mean) > 1e-12]
    if moved:
        most, measure_name, run_name = max(moved, key=lambda effect: effect[0])
        lines.append(
            f"Ties: another order of tied documents changes {len(moved)} of {len(means)} scores, "
            f"{up_to(most)} ({measure_name} of {run_name}); see `fathoms ties`."
        )
    contradicted = [run.run for run in result.runs if run.rank_order_differs]
    if contradicted:
        shown = ", ".join(contradicted[:3]) + (f" and {len(contradicted) - 3} more" if len(contradicted) > 3 else "")
        lines.append(
            f"Ranks: in {shown} the rank column contradicts the scores, and ranking by it would change the results; "
            "see `fathoms ties`."
        )
    errors = [
        (float(scores.tie_error.max(initial=0)), measure.name)
        for run in result.runs
        for measure, scores in run.scores.items()
        if scores.tie_error is not None
    ]
    if errors and max(errors)[0] > 0:
        lines.append(
            f"Simulated: tie_expected of {max(errors)[1]} is a mean over seeded shuffles; the standard error of a "
            f"topic's is at most {max(errors)[0]:.4f}."
        )
    missing = sum(len(run.lacking) > 0 for run in result.runs)
    if missing:
        lines.append(f"Topics: {missing} of {len(result.runs)} runs lack topics of the qrels.")
    return lines


def caption(result: Evaluation) -> list[str]:
    """What stands above a paper's table of the scores."""
    topics = [len(run.topics) for run in result.runs]
    of = pluralise(max(topics), "topic") if min(topics) == max(topics) else f"{min(topics):,} to {max(topics):,} topics"
    unjudged, read = sum(run.unjudged for run in result.runs), sum(run.read for run in result.runs)
    lines = [f"Means over {of}" + ("; best in bold, second underlined." if len(result.runs) > 1 else ".")]
    if read:
        lines.append(f"{1 - unjudged / read:.1%} of the documents read are judged; the others count as not relevant.")
    return [*lines, f"fathoms {__version__}."]


def group_sentences(result: Evaluation, measure: Measure) -> list[str]:
    """In which group of topics scores are lowest, and for how many runs."""
    groups, lowest = result.groups, dict[str, list[tuple[float, str]]]()
    if groups is None or measure.aggregate == "sum":
        return []
    for run in result.runs:
        scores = {group: values["score"] or 0.0 for group, values in run.group_means(measure, groups).items()}
        if scores and min(scores.values()) < max(scores.values()):
            worst = min(scores, key=lambda group: scores[group])
            lowest.setdefault(worst, []).append((scores[worst], run.run))
    if not lowest:
        return []
    group = max(lowest, key=lambda group: len(lowest[group]))
    score, name = min(lowest[group])
    runs = len(result.runs)
    who = name if runs == 1 else f"{len(lowest[group])} of {runs} runs"
    least = f"{score:.4f}" if runs == 1 else f"down to {score:.4f}, {name}"
    return [f"Worst group by {measure.name}: {group}, the lowest for {who} ({least})."]


METHODS = {
    "t": "by Student's t",
    "bootstrap": "from resamples of the topics",
    "bca": "from resamples of the topics, corrected for bias and skew",
}


def interval_sentences(result: Evaluation) -> list[str]:
    """What the intervals over topics are about, and what they leave out."""
    how, several = result.over_topics, len(result.runs) > 1
    if not any(result.interval(run.run, measure)[0] is not None for run in result.runs for measure in result.measures):
        return []
    units = how.units(result.runs[0].topics)
    drawn = "these topics are" if units is None else f"these {pluralise(len(units), 'cluster')} of topics are"
    overlap = "; overlap does not mean that two runs are equally good" if several else ""
    return [
        f"Intervals over topics: {how.level * 100:.4g}%, {METHODS[how.method]}, if {drawn} a random sample of "
        f"those you care about. They leave out judging{overlap}."
    ]


def system_sentences(result: Evaluation) -> list[str]:
    """Systems of which there are several runs: their means, and how far their runs are apart."""
    if result.systems is None:
        return []
    from fathoms.pairs.repetitions import spread_sentences, spreads_of

    spreads = [
        spread
        for measure, repeated in result.repeated.items()
        for spread in spreads_of(measure, repeated, result.systems)
    ]
    return spread_sentences(spreads) if spreads else []


def combined_sentences(
    result: Evaluation, estimates: Mapping[tuple[str, str, str], Sequence[float | None]]
) -> list[str]:
    """The interval of each leader with both in it, topics and judging."""
    parts = []
    for measure in result.measures:
        leader = result.ranked(measure)[0].run
        *_, low, high = estimates.get((leader, "all", measure.name), (None, None))
        if low is not None and high is not None:
            parts.append(f"{low:.4f} to {high:.4f} for {measure.name} of {leader}")
    if not parts:
        return []
    level = f"{result.over_topics.level * 100:.4g}%"
    return [f"Combined intervals, topics and judging together at {level} (by Student's t): {', '.join(parts)}."]


def range_sentences(result: Evaluation) -> list[str]:
    """Over which documents the ranges are, measure by measure where measures differ."""
    ranged = [measure for measure in result.measures if measure.range_is in ("exact", "sound")]
    ranged = [measure for measure in ranged if any(run.scores[measure].low is not None for run in result.runs)]
    tails = [measure.name for measure in ranged if measure.has_tail]
    # Ranges over the run's own documents only are part of what the other ranges cover.
    ranged = [measure for measure in ranged if "universe" in measure.params] or ranged[:1]
    by_text: dict[str, list[str]] = {}
    for measure in ranged:
        by_text.setdefault(_ranged_over(measure, result), []).append(measure.name)
    of = {text: "" if len(by_text) == 1 else f" of {', '.join(names)}" for text, names in by_text.items()}
    sentences = [f"Ranges{names}: {text}." for text, names in of.items()]
    if tails:
        sentences.append(f"The high of {', '.join(tails)} also takes everything past the last rank read as relevant.")
    return sentences


def _ranged_over(measure: Measure, result: Evaluation) -> str:
    universe = getattr(measure, "universe", "run")
    runs, depth = result.runs, result.universe_depth
    where = "" if depth is None else f" in the first {depth:,} ranks of {'some' if len(runs) > 1 else 'the'} run"
    own = sum(run.unjudged_anywhere for run in runs)
    if measure.needs_universe and result.universe is not None:
        text = f"every way of judging the {pluralise(result.universe, 'unjudged document')} of these {len(runs)} runs"
    elif len(runs) > 1:
        text = "every way of judging each run's own unjudged documents"
    else:
        text = f"every way of judging this run's {pluralise(own, 'unjudged document')}, its own documents only"
    unseen = "" if isinstance(universe, str) else "any number of" if universe == math.inf else f"{universe:,.0f}"
    return text + where + (f", and {unseen} unseen ones per topic" if unseen else "")


def _tie_change(mean: dict[str, float | None]) -> float:
    """How far another order of tied documents moves a score at most."""
    score, low, high = mean["score"], mean["tie_low"], mean["tie_high"]
    return 0.0 if score is None or low is None or high is None else max(score - low, high - score)


Mean = tuple[str, str, dict[str, float | None]]


def _width(values: dict[str, float | None], low: str, high: str) -> float:
    least, most = values[low], values[high]
    return 0.0 if least is None or most is None else most - least


def _widest(means: list[Mean], low: str, high: str) -> tuple[float, str, str] | None:
    widths = [(_width(values, low, high), run, measure) for run, measure, values in means]
    return max(widths, default=None)
