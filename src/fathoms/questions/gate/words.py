"""What a gate says: the outcome in a sentence, each measure, groups, ties, what to judge, what ranges are over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathoms.base.tolerances import SAME
from fathoms.inference.names import TOPICS_NAMED

if TYPE_CHECKING:
    from fathoms.questions.gate.result import Basis, Gate, GateRow, Reason

from collections.abc import Sequence

from fathoms.base.text import p_words, pluralise

NEEDED: dict[Reason, str] = {"judging": "judgments", "topics": "topics"}  # by the reason of `cannot tell`


def findings(gate: Gate) -> list[str]:
    """The outcome, then each measure, groups, ties, what to judge, and what ranges are over."""
    return [
        headline(gate),
        *(sentence(gate, row) for row in gate.overall),
        *group_sentences(gate),
        *tie_sentences(gate),
        *judging_sentences(gate),
        *look_sentences(gate),
        *range_sentences(gate),
    ]


def look_sentences(gate: Gate) -> list[str]:
    """Which look of a sequence this is, and what a gate by itself would have said."""
    look = gate.look
    if look is None:
        return []
    again = ", at files that were looked at before" if look.again else ""
    alone = "would fail too" if gate.outcome == "fails" else "would fail" if gate.plain_failures else "would not fail"
    return [
        f"Look {look.number} of {look.looks}{again}: alarms are raised at {look.level:.2g}, so that over all of them "
        f"the chance of a false alarm is at most {look.alpha:g}. A gate by itself, at {look.alpha:g}, {alone} here."
    ]


def headline(gate: Gate) -> str:
    failed = [row for row in gate.measured if row.outcome == "fails"]
    confidence = f"{100 * (1 - gate.alpha):g}% confidence"
    if failed:
        verb = "drops" if len(failed) == 1 else "drop"
        names = _names([named(row) for row in failed])
        return f"Fails: {names} {verb} from {gate.baseline} to {gate.candidate}."
    if gate.outcome == "passes":
        measures = _names([row.measure for row in gate.overall])
        weakest: Basis = next((row.basis for row in gate.overall if row.basis != "certain"), "certain")
        if all(row.same for row in gate.overall):
            return f"Passes: {gate.candidate} and {gate.baseline} rank the same documents in the same order."
        return (
            f"Passes: {gate.candidate} is not more than {gate.max_drop:g} below {gate.baseline} by {measures}, with "
            f"{confidence} over {drawn(gate)}, {_basis(gate, weakest)}."
        )
    open_ = [row for row in gate.overall if row.outcome == "cannot tell"]
    why = dict.fromkeys(row.reason for row in open_)
    lacking = _names([f"more {NEEDED[reason]}" for reason in why])
    lacking += " or more runs of each" if gate.repeated else ""
    return f"Cannot tell whether {gate.candidate} is worse than {gate.baseline}: that would take {lacking}."


BASES: dict[Basis, str] = {
    "certain": "whatever the unjudged documents are and however ties are broken",
    "likely": "if the unjudged documents are no more relevant than the judged ones at the same ranks",
    "labelled": "if the unjudged documents are as the estimate from the labels says",
    "as judged": "as judged (nothing is known about the unjudged documents)",
}


def drawn(gate: Gate) -> str:
    """What counts as drawn at random."""
    return ("topics" if gate.clusters is None else "clusters of topics") + (" and repetitions" if gate.repeated else "")


def _basis(gate: Gate, basis: Basis) -> str:
    return "as judged (unjudged documents count as not relevant)" if gate.repeated else BASES[basis]


def sentence(gate: Gate, row: GateRow) -> str:
    """One measure on all topics, or on a group: the outcome, the figures, what they stand on."""
    figures = f"{row.baseline:.4f} to {row.candidate:.4f}, {row.diff:+.4f} on average over {_topics(row)}"
    if row.same:
        return f"{named(row)} passes: both runs rank the same documents in the same order."
    level = f"{100 * (1 - gate.alpha):g}%"
    estimate = ""
    if row.estimate is not None and not row.is_fixed:
        estimate = f" Estimated difference once judged: {row.estimate:+.4f}."
    if row.outcome == "passes":
        return (
            f"{named(row)} passes ({figures}): with {level} confidence the mean difference is above {row.lower:+.4f}, "
            f"{_basis(gate, row.basis)}.{estimate}"
        )
    if row.outcome == "fails":
        least = max(-(row.upper or 0.0), 0.0)
        return (
            f"{named(row)} fails ({figures}): the drop is significant ({_tested(gate, row)}), "
            f"{_basis(gate, row.basis)}; with {level} confidence it is at least {least:.4f}.{estimate}"
        )
    if row.lower is None:
        return f"{named(row)}: cannot tell ({figures}): {_one(gate)} says nothing about others."
    reach = f"a drop of up to {-row.lower:.4f} cannot be ruled out, where {gate.max_drop:g} is allowed"
    drop = f"no drop is significant{_allowing(row)} ({_tested(gate, row)})"
    about = "" if row.is_fixed or not row.has_range else f" {NOT_THAT_OF_COMPARE}"
    return f"{named(row)}: cannot tell ({figures}): {reach}; but {drop}.{about}{estimate} {_lacking(gate, row)}"


def _one(gate: Gate) -> str:
    return "one topic" if gate.clusters is None else "one cluster of topics"


NOT_THAT_OF_COMPARE = "(The p of `compare` asks another question: it takes them as not relevant, and is two-sided.)"


def _allowing(row: GateRow) -> str:
    """What a p_drop that is not small accounts for, besides topics."""
    if row.is_fixed:
        return ""
    if not row.has_range:
        return " as judged"
    if not row.has_estimate:
        return " for every way of judging the unjudged documents"
    how = "by the estimate from the labels" if row.labelled else "once doubt about the unjudged documents counts"
    return f" {how}"


def _tested(gate: Gate, row: GateRow) -> str:
    name = "p_drop" if len(gate.measured) == 1 else "p_drop_corrected"
    over = "" if gate.clusters is None else f" over {pluralise(gate.clusters, 'cluster')} of topics"
    return f"one-sided t-test{over}, {name} {p_words(row.p_drop_corrected)}"


def _lacking(gate: Gate, row: GateRow) -> str:
    if gate.repeated:
        return "More topics or more runs of each would tell more."
    if row.reason == "judging":
        unjudged = pluralise(row.unjudged, "unjudged document")
        if not row.needed:
            what = unjudged if row.unjudged else "unjudged documents"
            return f"More topics alone would not tell while {what} could change the difference."
        return f"Judging about {row.needed:,} of the {unjudged} that could change the difference would probably tell."
    if row.needed is None:
        return f"The difference is too close to the limit: not even {TOPICS_NAMED:,} topics would be likely to tell."
    return f"About {row.needed:,} topics in all would probably tell."


def group_sentences(gate: Gate) -> list[str]:
    """The worst group by each measure; what failed; what stays open."""
    sentences = []
    for measure in dict.fromkeys(row.measure for row in gate.by_group):
        rows = [row for row in gate.by_group if row.measure == measure]
        worst = min(rows, key=lambda row: row.diff)
        failed = [row for row in rows if row.outcome == "fails"]
        open_ = sum(row.outcome == "cannot tell" for row in rows)
        groups = pluralise(len(rows), "group")
        sentences.append(
            f"{measure} by group: the worst of {groups} is {worst.group} ({worst.diff:+.4f} over {_topics(worst)}); "
            f"{_failing(len(failed))}"
            + (f"; in {open_} of them a drop beyond {gate.max_drop:g} cannot be ruled out." if open_ else ".")
        )
        sentences += [sentence(gate, row) for row in failed]
    return sentences


def _failing(n: int) -> str:
    return "no group has a significant drop" if not n else f"{pluralise(n, 'group')} with a significant drop"


def tie_sentences(gate: Gate) -> list[str]:
    moved = [row for row in gate.overall if row.tie_high - row.tie_low > SAME]
    return [
        f"Ties: another order of tied documents could make the difference by {row.measure} anything from "
        f"{row.tie_low:+.4f} to {row.tie_high:+.4f}."
        for row in moved
    ]


def judging_sentences(gate: Gate) -> list[str]:
    if not gate.to_judge:
        return []
    first = ", ".join(f"{entry.document} (topic {entry.topic})" for entry in gate.to_judge[:3])
    return [f"Judge first, since they could change {gate.judged_for} most: {first}."]


def range_sentences(gate: Gate) -> list[str]:
    """Over which documents the ranges of differences are."""
    if gate.repeated:
        return [
            f"Baseline and candidate are the means of their runs, {gate.repeated:,} in all: topics and repetitions "
            "count as doubt, and unjudged documents as not relevant."
        ]
    if not any(row.has_range for row in gate.measured):
        return []
    unseen, depth = gate.universe.kind, gate.universe.depth
    more = ""
    if not isinstance(unseen, str):
        more = f" and {'any number of' if unseen == float('inf') else f'{unseen:,.0f}'} unseen ones per topic"
    where = "" if depth is None else f" in the first {depth:,} ranks of either run"
    return [f"Ranges: every way of judging the unjudged documents of the two runs{more}{where}."]


def named(row: GateRow) -> str:
    return row.measure if row.group == "all" else f"{row.measure} in {row.group}"


def _topics(row: GateRow) -> str:
    return pluralise(row.topics, "topic")


def _names(names: Sequence[str]) -> str:
    unique = list(dict.fromkeys(names))
    return unique[0] if len(unique) == 1 else f"{', '.join(unique[:-1])} and {unique[-1]}"
