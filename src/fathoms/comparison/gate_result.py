"""What a gate found: its rows, the outcome, and the words for people, pull requests and build servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from fathoms.comparison.ranges import Universe
from fathoms.experiment.result import Result
from fathoms.text import in_xml, p_words, pluralise

OUTCOMES = ("passes", "fails", "cannot tell")
EXIT_CODES = {"passes": 0, "fails": 1, "cannot tell": 3}  # 2 is bad input
COLUMNS = (
    *("measure", "group", "topics", "baseline", "candidate", "diff", "diff_low", "diff_high", "estimate"),
    *("lower", "upper", "p_beyond", "p_drop", "p_drop_corrected", "unjudged", "outcome", "basis", "reason", "needed"),
)
LISTED = 10  # documents and groups that a summary names


@dataclass(frozen=True)
class GateRow:
    """One measure on all topics, or on a group of them. Differences are candidate - baseline."""

    measure: str
    group: str
    topics: int
    baseline: float
    candidate: float
    diff: float
    diff_low: float | None  # over every way of judging
    diff_high: float | None
    estimate: float | None  # once judged
    lower: float | None  # the mean over the topics one cares about is above this, with the asked confidence
    upper: float | None  # and below this; each by itself; None with one topic
    p_beyond: float  # of a drop beyond the limit: small where the candidate passes
    p_drop: float  # of no drop: small where there is one
    p_beyond_worst: float  # the same, whatever the unjudged documents are
    p_drop_worst: float
    tie_low: float  # the difference as judged, over every order of ties
    tie_high: float
    unjudged: int  # documents of the two runs that could change the difference
    same: bool  # the same documents in the same order
    has_range: bool
    is_fixed: bool  # no judging changes any difference
    has_estimate: bool
    labelled: bool  # the estimate rests on labels of nearly all unjudged documents
    p_drop_corrected: float = 1.0  # for all measures and groups
    outcome: str = "cannot tell"
    basis: str = ""  # certain: whatever the unjudged documents are; likely: as they are likely to be; as judged
    reason: str = ""  # of `cannot tell`: judging or topics
    needed: int | None = None  # judgments or topics that would probably tell; None: nobody can say


@dataclass(frozen=True)
class ToJudge:
    """An unjudged document, and how far its judgment could move the mean difference."""

    topic: str
    document: str
    rank_baseline: int | None
    rank_candidate: int | None
    change: float


@dataclass(frozen=True, eq=False)
class Gate(Result):
    """Whether a candidate may replace the baseline."""

    columns: ClassVar = COLUMNS
    words: ClassVar = ("measure", "group", "outcome", "basis", "reason")
    whole_numbers: ClassVar = ("topics", "unjudged", "needed")

    found: list[GateRow]
    baseline: str
    candidate: str
    max_drop: float
    alpha: float
    topics: int
    notes: list[str] = field(default_factory=list)
    universe: Universe = Universe()  # noqa: RUF009 - it does not change
    to_judge: list[ToJudge] = field(default_factory=list)  # what would tell most, where judging would tell
    judged_for: str | None = None  # the measure that they are for
    about_estimates: list[str] = field(default_factory=list)

    def rows(self) -> list[tuple[Any, ...]]:
        return [tuple(getattr(row, name) for name in COLUMNS) for row in self.found]

    @property
    def outcome(self) -> str:
        """Fails if any measure does, on all topics or on a group of them; passes if all measures do on all topics."""
        if any(row.outcome == "fails" for row in self.found):
            return "fails"
        return "passes" if all(row.outcome == "passes" for row in self.overall) else "cannot tell"

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.outcome]

    @property
    def overall(self) -> list[GateRow]:
        return [row for row in self.found if row.group == "all"]

    @property
    def by_group(self) -> list[GateRow]:
        return [row for row in self.found if row.group != "all"]

    @property
    def answer(self) -> list[str]:
        return [self.headline]

    @property
    def findings(self) -> list[str]:
        """The outcome, then each measure, groups, ties, what to judge, and what ranges are over."""
        return [
            self.headline,
            *(sentence(self, row) for row in self.overall),
            *group_sentences(self),
            *tie_sentences(self),
            *judging_sentences(self),
            *range_sentences(self),
        ]

    @property
    def remarks(self) -> list[str]:
        return [*self.findings[1:], *self.about_estimates]

    @property
    def headline(self) -> str:
        """The outcome in a sentence."""
        return headline(self)

    def markdown(self) -> str:
        """A summary for a pull request: the outcome, a table, and what to do."""
        return markdown(self)

    def junit(self) -> str:
        """JUnit's XML: a test case for each measure and group; what cannot be told is an error there."""
        return junit(self)


NEEDED = {"judging": "judgments", "topics": "topics"}  # by the reason of `cannot tell`

# -- sentences -------------------------------------------------------------------------------------------------


def headline(gate: Gate) -> str:
    rows = [row for row in gate.found if row.outcome == "fails"]
    confidence = f"{100 * (1 - gate.alpha):g}% confidence"
    if rows:
        verb = "drops" if len(rows) == 1 else "drop"
        names = _names([_named(row) for row in rows])
        return f"Fails: {names} {verb} from {gate.baseline} to {gate.candidate}."
    if gate.outcome == "passes":
        measures = _names([row.measure for row in gate.overall])
        weakest = next((row.basis for row in gate.overall if row.basis != "certain"), "certain")
        if all(row.same for row in gate.overall):
            return f"Passes: {gate.candidate} and {gate.baseline} rank the same documents in the same order."
        return (
            f"Passes: {gate.candidate} is not more than {gate.max_drop:g} below {gate.baseline} by {measures}, with "
            f"{confidence} over topics, {BASES[weakest]}."
        )
    open_ = [row for row in gate.overall if row.outcome == "cannot tell"]
    why = dict.fromkeys(row.reason for row in open_)
    lacking = _names([f"more {NEEDED[reason]}" for reason in why])
    return f"Cannot tell whether {gate.candidate} is worse than {gate.baseline}: that would take {lacking}."


BASES = {
    "certain": "whatever the unjudged documents are and however ties are broken",
    "likely": "if the unjudged documents are no more relevant than the judged ones at the same ranks",
    "labelled": "if the unjudged documents are as the estimate from the labels says",
    "as judged": "as judged (nothing is known of the unjudged documents)",
}


def sentence(gate: Gate, row: GateRow) -> str:
    """One measure on all topics, or on a group: the outcome, the figures, what they stand on."""
    figures = f"{row.baseline:.4f} to {row.candidate:.4f}, {row.diff:+.4f} on average over {_topics(row)}"
    if row.same:
        return f"{_named(row)} passes: both runs rank the same documents in the same order."
    level = f"{100 * (1 - gate.alpha):g}%"
    estimate = ""
    if row.estimate is not None and not row.is_fixed:
        estimate = f" Estimated difference once judged: {row.estimate:+.4f}."
    if row.outcome == "passes":
        return (
            f"{_named(row)} passes ({figures}): with {level} confidence the mean difference is above {row.lower:+.4f}, "
            f"{BASES[row.basis]}.{estimate}"
        )
    if row.outcome == "fails":
        return (
            f"{_named(row)} fails ({figures}): the drop is significant (one-sided t-test, {_tested(gate, row)}), "
            f"{BASES[row.basis]}; with {level} confidence it is at least {max(-(row.upper or 0.0), 0.0):.4f}.{estimate}"
        )
    if row.lower is None:
        return f"{_named(row)}: cannot tell ({figures}): one topic says nothing about others."
    reach = f"a drop of up to {-row.lower:.4f} cannot be ruled out, where {gate.max_drop:g} is allowed"
    drop = f"no drop is significant ({_tested(gate, row)})"
    return f"{_named(row)}: cannot tell ({figures}): {reach}; but {drop}.{estimate} {_lacking(row)}"


def _tested(gate: Gate, row: GateRow) -> str:
    several = ", corrected" if len(gate.found) > 1 else ""
    return f"p {p_words(row.p_drop_corrected)}{several}"


def _lacking(row: GateRow) -> str:
    if row.reason == "judging":
        unjudged = pluralise(row.unjudged, "unjudged document")
        if not row.needed:
            what = unjudged if row.unjudged else "unjudged documents"
            return f"More topics alone would not tell while {what} could change the difference."
        return f"Judging about {row.needed:,} of the {unjudged} that could change the difference would probably tell."
    if row.needed is None:
        return "The difference is too close to the limit: not even 100,000 topics would be likely to tell."
    return f"About {row.needed:,} topics in all would probably tell."


def group_sentences(gate: Gate) -> list[str]:
    """The worst group by each measure; what failed; what stays open."""
    said = []
    for measure in dict.fromkeys(row.measure for row in gate.by_group):
        rows = [row for row in gate.by_group if row.measure == measure]
        worst = min(rows, key=lambda row: row.diff)
        failed = [row for row in rows if row.outcome == "fails"]
        open_ = sum(row.outcome == "cannot tell" for row in rows)
        groups = pluralise(len(rows), "group")
        said.append(
            f"{measure} by group: the worst of {groups} is {worst.group} ({worst.diff:+.4f} over {_topics(worst)}); "
            f"{_failing(len(failed))}"
            + (f"; in {open_} of them a drop beyond {gate.max_drop:g} cannot be ruled out." if open_ else ".")
        )
        said += [sentence(gate, row) for row in failed]
    return said


def _failing(n: int) -> str:
    return "no group has a significant drop" if not n else f"{pluralise(n, 'group')} with a significant drop"


def tie_sentences(gate: Gate) -> list[str]:
    moved = [row for row in gate.overall if row.tie_high - row.tie_low > 1e-9]
    return [
        f"Ties: another order of tied documents could make the difference by {row.measure} anything from "
        f"{row.tie_low:+.4f} to {row.tie_high:+.4f}."
        for row in moved
    ]


def judging_sentences(gate: Gate) -> list[str]:
    if not gate.to_judge:
        return []
    first = ", ".join(f"{one.document} (topic {one.topic})" for one in gate.to_judge[:3])
    return [f"Judge first, since they could change {gate.judged_for} most: {first}."]


def range_sentences(gate: Gate) -> list[str]:
    """Over which documents the ranges of differences are."""
    if not any(row.has_range for row in gate.found):
        return []
    unseen, depth = gate.universe.kind, gate.universe.depth
    more = ""
    if not isinstance(unseen, str):
        more = f" and {'any number of' if unseen == float('inf') else f'{unseen:,.0f}'} unseen ones per topic"
    where = "" if depth is None else f" in the first {depth:,} ranks of either run"
    return [f"Ranges: every way of judging the unjudged documents of the two runs{more}{where}."]


def _named(row: GateRow) -> str:
    return row.measure if row.group == "all" else f"{row.measure} in {row.group}"


def _topics(row: GateRow) -> str:
    return pluralise(row.topics, "topic")


def _names(names: Sequence[str]) -> str:
    unique = list(dict.fromkeys(names))
    return unique[0] if len(unique) == 1 else f"{', '.join(unique[:-1])} and {unique[-1]}"


# -- for pull requests and build servers -----------------------------------------------------------------------

SIGNS = {"passes": "✅", "fails": "❌", "cannot tell": "❔"}


def markdown(gate: Gate) -> str:
    head = [
        f"### {SIGNS[gate.outcome]} {_cell(gate.headline)}",
        "",
        f"| measure | topics | {_cell(gate.baseline)} | {_cell(gate.candidate)} | difference | bounds | outcome |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    table = [
        f"| {_cell(_named(row))} | {row.topics} | {row.baseline:.4f} | {row.candidate:.4f} | {row.diff:+.4f} | "
        f"{_bounds(row)} | {SIGNS[row.outcome]} {row.outcome}"
        f"{f' ({row.basis})' if row.basis else ''} |"
        for row in gate.found
    ]
    level = f"{100 * (1 - gate.alpha):g}%"
    about = (
        f"A drop of up to {gate.max_drop:g} is allowed. Bounds: one-sided, {level} confidence each, over topics and "
        "judging."
    )
    said = [f"- {_cell(text)}" for text in gate.findings[1:]]
    lines = [*head, *table, "", about, "", *said]
    if gate.to_judge:
        lines += ["", "| judge first: topic | document | rank in baseline | in candidate | could move the mean by |"]
        lines += ["|---|---|---:|---:|---:|"]
        lines += [
            f"| {_cell(one.topic)} | {_cell(one.document)} | {one.rank_baseline or '–'} | "
            f"{one.rank_candidate or '–'} | {one.change:+.4f} |"
            for one in gate.to_judge[:LISTED]
        ]
    return "\n".join(lines) + "\n"


def _bounds(row: GateRow) -> str:
    return "" if row.lower is None or row.upper is None else f"{row.lower:+.4f} to {row.upper:+.4f}"


def _cell(text: str) -> str:
    """Names are data: nothing in them is Markdown or HTML."""
    plain = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|~" else c for c in plain)


def junit(gate: Gate) -> str:
    from xml.sax.saxutils import escape, quoteattr

    def attribute(text: str) -> str:
        return quoteattr(in_xml(text))

    cases = []
    for row in gate.found:
        head = f'  <testcase classname="fathoms.gate" name={attribute(_named(row))} time="0">'
        text = escape(in_xml(sentence(gate, row)))
        if row.outcome == "fails":
            body = (
                f'<failure type="drop" message={attribute(f"{_named(row)} drops by {-row.diff:.4f}")}>{text}</failure>'
            )
        elif row.outcome == "cannot tell" and row.group == "all":
            body = f'<error type="cannot tell" message={attribute(f"needs more {NEEDED[row.reason]}")}>{text}</error>'
        elif row.outcome == "cannot tell":
            body = f"<skipped message={attribute(f'cannot tell: needs more {NEEDED[row.reason]}')}/>"
        else:
            body = f"<system-out>{text}</system-out>"
        cases.append(f"{head}{body}</testcase>")
    failures = sum(row.outcome == "fails" for row in gate.found)
    errors = sum(row.outcome == "cannot tell" for row in gate.overall)
    skipped = sum(row.outcome == "cannot tell" for row in gate.by_group)
    name = attribute(f"{gate.candidate} against {gate.baseline}")
    counts = f'tests="{len(gate.found)}" failures="{failures}" errors="{errors}" skipped="{skipped}"'
    suite = [f"<testsuite name={name} {counts}>", *cases, "</testsuite>"]
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join(suite) + "\n"
