"""What a gate found: a row for each measure and group of topics, the outcome, and what to judge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from fathoms.base.outcomes import EXIT_CODES, Outcome
from fathoms.base.result import Result
from fathoms.pairs.difference_ranges import Universe
from fathoms.questions.gate.sequence import Look

# certain: whatever the unjudged documents are; likely, labelled: as they probably are; as judged: they do not count
Basis = Literal["", "certain", "likely", "labelled", "as judged"]
Reason = Literal["", "judging", "topics"]  # what is missing if the gate cannot tell
COLUMNS = (
    *("measure", "group", "topics", "baseline", "candidate", "diff", "diff_low", "diff_high", "estimate"),
    *("lower", "upper", "p_beyond", "p_drop", "p_drop_corrected", "unjudged", "outcome", "basis", "reason", "needed"),
)


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
    lower: float | None  # with the asked confidence, the mean over the topics of interest is above this
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
    outcome: Outcome = "cannot tell"
    basis: Basis = ""  # of an outcome other than `cannot tell`
    reason: Reason = ""  # of `cannot tell`
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

    measured: list[GateRow]
    baseline: str
    candidate: str
    max_drop: float
    alpha: float
    topics: int
    notes: list[str] = field(default_factory=list)
    universe: Universe = Universe()  # noqa: RUF009 - it does not change
    to_judge: list[ToJudge] = field(default_factory=list)  # what would tell most, if judging would tell
    judged_for: str | None = None  # the measure that they are for
    about_estimates: list[str] = field(default_factory=list)
    clusters: int | None = None  # of topics, where these are what is drawn at random
    look: Look | None = None  # where this is one of many that share alpha
    plain_failures: int = 0  # rows that would fail if it were the only look
    repeated: int = 0  # runs, where baseline and candidate are systems of several

    def rows(self) -> list[tuple[Any, ...]]:
        return [tuple(getattr(row, name) for name in COLUMNS) for row in self.measured]

    @property
    def outcome(self) -> Outcome:
        """Fails if any measure does, on all topics or on a group of them; passes if all measures do on all topics."""
        if any(row.outcome == "fails" for row in self.measured):
            return "fails"
        return "passes" if all(row.outcome == "passes" for row in self.overall) else "cannot tell"

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.outcome]

    @property
    def overall(self) -> list[GateRow]:
        return [row for row in self.measured if row.group == "all"]

    @property
    def by_group(self) -> list[GateRow]:
        return [row for row in self.measured if row.group != "all"]

    @property
    def answer(self) -> list[str]:
        return [self.headline]

    @property
    def findings(self) -> list[str]:
        """The outcome, then each measure, groups, ties, what to judge, and what ranges are over."""
        from fathoms.questions.gate.words import findings

        return findings(self)

    @property
    def remarks(self) -> list[str]:
        return [*self.findings[1:], *self.about_estimates]

    @property
    def headline(self) -> str:
        """The outcome in a sentence."""
        from fathoms.questions.gate.words import headline

        return headline(self)

    def markdown(self) -> str:
        """A summary for a pull request: the outcome, a table, and what to do."""
        from fathoms.questions.gate.summaries import markdown

        return markdown(self)

    def junit(self) -> str:
        """JUnit's XML: a test case for each measure and group; `cannot tell` is an error there."""
        from fathoms.questions.gate.summaries import junit

        return junit(self)
