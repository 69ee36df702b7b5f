"""What an error budget says in words: how sure the number is, what makes it unsure, and what would help most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fathoms.base.text import pluralise
from fathoms.base.tolerances import SAME

if TYPE_CHECKING:
    from fathoms.questions.doubt.result import Budget, Doubt, Settling, Source, SourceName

TITLES: dict[SourceName, str] = {
    "topics": "other topics like these",
    "judging": "judging, likely",
    "both": "topics and judging",
    "ties": "ties, any order",
    "repetitions": "repetitions, other runs",
    "topics_repetitions": "topics and repetitions",
    "judging_repetitions": "judging and repetitions",
    "label_sources": "each source of labels",
    "topics_labels": "topics and labels",
    "possible": "judging, possible",
    "assessors": "labels for judgments",
    "labels": "with, without labels",
    "depth": "half, twice the cut-off",
    "estimate": "estimate, as checked",
    "all": "all with a share",
}
MOST = 0.5  # share of the variance from which one source is called most of it
NEARLY_ALL = 0.995  # which would be printed as 100%
SMALLEST = 0.00005  # width that is seen with four decimals
SEEN = 0.005  # share below which a source is not mentioned,
WORTH = 0.1  # and below which nothing is said about halving it


def title_of(doubt: Doubt, budget: Budget) -> str:
    """What the number is."""
    name = budget.measure.name
    if len(doubt.runs) == 1:
        return f"{name} of {doubt.runs[0]}"
    first, second = _in_order(doubt, budget)
    return f"{name}, {first} less {second}"


def lead(budget: Budget) -> Budget:
    """The difference as shown: by how much the run that is ahead leads."""
    return budget.turned() if budget.score < 0 else budget


def _in_order(doubt: Doubt, budget: Budget) -> Sequence[str]:
    """The two runs, the one that is ahead first."""
    return doubt.runs if budget.score >= 0 else doubt.runs[::-1]


def source_title(budget: Budget, source: Source) -> str:
    if source.name == "depth" and budget.measure.k is None:
        return "cut off at 10, at 100"
    return TITLES[source.name]


def shown(budget: Budget) -> list[Source]:
    """The sources from the inside out: the narrowest first."""
    kept = [
        source
        for source in budget.sources
        if source.share is None or source.share >= SEEN or source.high - source.low >= SMALLEST
    ]
    return sorted(kept, key=lambda source: (round(source.high - source.low, 9), source.name))


def answers(doubt: Doubt) -> list[str]:
    """How sure the number is, and why it is no surer."""
    return [_of_pair(doubt, budget) if len(doubt.runs) == 2 else _of_run(doubt, budget) for budget in doubt.budgets]


def _of_run(doubt: Doubt, budget: Budget) -> str:
    return (
        f"{title_of(doubt, budget)} is {budget.score:.4f} as judged. {_where(budget)} it would be {budget.low:.4f} to "
        f"{budget.high:.4f} ({100 * doubt.level:g}% interval){_because(budget)}."
    )


def _where(budget: Budget) -> str:
    """On which topics, and by which judgments."""
    open_documents = budget.has_estimate and budget.unjudged != 0
    return f"On topics like these{', with the unjudged documents judged,' if open_documents else ''}"


def _of_pair(doubt: Doubt, budget: Budget) -> str:
    first, second = _in_order(doubt, budget)
    budget = lead(budget)
    if abs(budget.score) <= SAME:
        ahead = f"{budget.measure.name}: {first} and {second} have the same mean as judged."
    else:
        ahead = f"{budget.measure.name}: {first} is ahead of {second} by {abs(budget.score):.4f} as judged."
    low, high = budget.low, budget.high
    interval = f"{_where(budget)} the lead would be {low:+.4f} to {high:+.4f} ({100 * doubt.level:g}% interval)"
    why = _because(budget)
    width = f". It is this wide {why.removeprefix(', ')}" if why else ""
    if low > 0:
        return f"{ahead} {interval}, all of it above 0{width}."
    if high < 0:
        return f"{ahead} {interval}, all of it below 0: the estimate reverses the order{width}."
    return f"{ahead} {interval}: the order is in doubt{why}."


def _because(budget: Budget) -> str:
    """Where most of the doubt comes from."""
    shares = [source for source in budget.shares if (source.share or 0.0) >= SEEN]
    if not shares:
        return ""
    why = {
        "topics": f"because there are only {pluralise(budget.topics, 'topic')}",
        "judging": "because of unjudged documents",
        "both": "because unjudged documents matter more on some topics than on others",
        "ties": "because of tied scores",
        "repetitions": "because the runs of a system differ",
        "topics_repetitions": "because the runs of a system differ more on some topics than on others",
        "judging_repetitions": "because unjudged documents matter more in some runs of a system than in others",
        "label_sources": "because the labels disagree",
        "topics_labels": "because the labels disagree more on some topics than on others",
    }
    first = shares[0]
    share = first.share or 0.0
    much = "mostly" if share >= MOST else "above all"
    part = "nearly all" if NEARLY_ALL <= share < 1 else _percent(share)
    return f", {much} {why[first.name]} ({part} of the variance)"


def remarks(doubt: Doubt) -> list[str]:
    """What would help, what the parts are, and how the estimates were checked."""
    sentences = [sentence for budget in doubt.budgets for sentence in _help(doubt, budget)]
    return [*sentences, _parts(doubt), *doubt.about_estimates]


def _help(doubt: Doubt, budget: Budget) -> list[str]:
    """What would halve the greatest doubts, and, for a difference that is not clear, the cheapest way to settle it."""
    name = f"{budget.measure.name}: " if len(doubt.budgets) > 1 else ""
    sentences = []
    if budget.settling:
        ways = " or ".join(f"{_way(budget, way)} (cost {way.cost:,.0f})" for way in budget.settling)
        sentences.append(
            f"{name}If the lead is {abs(budget.estimate):.4f}, as estimated, it takes {ways} to put 0 outside the "
            "interval."
        )
    elif not budget.is_clear and len(doubt.runs) == 2 and abs(budget.estimate) > SAME:
        sentences.append(
            f"{name}If the difference is {abs(budget.estimate):.4f}, as estimated, neither more topics alone nor "
            "more judgments alone would put 0 outside the interval."
        )
    topics, judging = budget.source("topics"), budget.source("judging")
    if topics is not None and (topics.share or 0.0) >= WORTH:
        sentences.append(
            f"{name}To halve the doubt from topics takes four times as many: {topics.halved_by:,} topics like these."
        )
    if judging is not None and (judging.share or 0.0) >= WORTH:
        sentences.append(f"{name}{_judging(budget, judging)}")
    several_of: tuple[tuple[SourceName, str], ...] = (
        ("repetitions", "runs of each system"),
        ("label_sources", "sources of labels"),
    )
    for source, what in several_of:
        several = budget.source(source)
        if several is not None and (several.share or 0.0) >= WORTH:
            of = "repetitions" if source == "repetitions" else "labels"
            sentences.append(
                f"{name}To halve the doubt from {of} takes four times as many: {several.halved_by:,} {what}."
            )
    ties = budget.source("ties")
    if ties is not None and (ties.share or 0.0) >= WORTH:
        sentences.append(f"{name}Scores with more digits, or a rule for ties, would end the doubt from ties.")
    if budget.reversible == "no" and abs(budget.score) > SAME:
        sentences.append(
            f"{name}Whatever the unjudged documents of these two runs turn out to be, and however ties are broken, the "
            "order on these topics stays the same."
        )
    return sentences


def _way(budget: Budget, way: Settling) -> str:
    if way.unit == "topics":
        return f"{way.count:,} more {'topic' if way.count == 1 else 'topics'}"
    return f"{pluralise(way.count, 'judgment')} of these topics' documents"


def _judging(budget: Budget, judging: Source) -> str:
    if not budget.unjudged:
        return "There is no unjudged document whose judgment would settle the doubt from judging."
    if judging.halved_by is None:
        return "No number of judgments is expected to halve the doubt from judging."
    judgments = pluralise(judging.halved_by, "judgment")
    return f"To halve the doubt from judging takes about {judgments}, of the {_unjudged(budget)} that could matter."


def _unjudged(budget: Budget) -> str:
    return pluralise(budget.unjudged, "unjudged document")


def _parts(doubt: Doubt) -> str:
    what = "score" if len(doubt.runs) == 1 else "difference"
    return (
        f"Share: how much of the variance of the {what} comes from each source, if it is to hold for all "
        "topics like these. Possible ranges and other cut-offs have no share: nothing says how likely they are."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"


def bar(source: Source, score: float, ends: Sequence[float], width: int) -> str:
    """`··├──●────┤··`: a source's interval and the score, between these ends; `|` is 0 where it lies between them."""
    span = max(ends[1] - ends[0], SAME)
    at = [
        min(width - 1, max(0, int((value - ends[0]) / span * (width - 1) + 0.5)))
        for value in (source.low, score, source.high)
    ]
    cells = ["·"] * width
    zero = int(-ends[0] / span * (width - 1) + 0.5) if ends[0] < 0 < ends[1] else None
    cells[at[0] : at[2] + 1] = "─" * (at[2] + 1 - at[0])
    if at[0] < at[2]:
        cells[at[0]], cells[at[2]] = "├", "┤"
    if zero is not None:
        cells[zero] = "|"
    cells[at[1]] = "●"
    return "".join(cells)
