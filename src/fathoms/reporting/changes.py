"""The report's section on what changed from one run to another: topics, and their two rankings side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fathoms.base.errors import FathomsError
from fathoms.data.texts import TextSources
from fathoms.experiment.base import BaseExperiment
from fathoms.judging.texts import printable, terms
from fathoms.measures.base import Measure
from fathoms.questions.diff.analysis import run_diff
from fathoms.questions.diff.result import Diff, DocumentChange
from fathoms.questions.diff.words import signed
from fathoms.reporting.parts import by_measure, details, drawn, figure, number, paragraphs, table, text
from fathoms.reporting.snippets import snippet, words_of

if TYPE_CHECKING:
    from fathoms.reporting.report import Report

DEPTH = 10
LISTED = 100  # topics in the table; `fathoms diff` has all
SHOWN = 8  # topics whose rankings are shown, each with twenty documents at most


@dataclass(frozen=True, eq=False)
class ShownChanges:
    """A diff, and the words of the topics and documents that are shown of it."""

    diff: Diff
    texts: TextSources

    @property
    def shown(self) -> list[int]:
        return shown_topics(self.diff)


def shown_topics(diff: Diff) -> list[int]:
    return [i for i in diff.order[:SHOWN] if diff.changed[i]]


def shown_documents(diff: Diff) -> set[str]:
    return {change.document for i in shown_topics(diff) for change in diff.documents_of(i, DEPTH)}


def shown_diff(experiment: BaseExperiment, runs: Sequence[str] | None, measures: Sequence[Measure]) -> Diff | None:
    """What changed between two of the runs; None where nobody asks for it."""
    if runs is None:
        return None
    names = [runs] if isinstance(runs, str) else list(runs)
    if len(names) != 2:
        raise FathomsError(f"diff: expected the names of two runs, found {len(names)}")
    return run_diff(experiment, names[0], names[1], list(measures), depth=DEPTH)


def changes(shown_changes: ShownChanges, report: Report) -> str:
    """The body of the section: sentences and scores by the measure chosen; rankings, the same by all, stand once."""

    def of_measure(_: Report, i: int, measure: Measure) -> str:
        scores = [change for change in shown_changes.diff.scores_of if change.measure.name == measure.name]
        if not scores:
            return paragraphs([f"The changes are not scored by {measure.name}."])
        diff = replace(shown_changes.diff, scores_of=scores)
        return paragraphs(map(printable, diff.sentences)) + _table(diff, i)

    title = f"Documents gained and lost in the first {shown_changes.diff.depth} of each topic"
    chart = figure(drawn(shown_changes.diff.chart) if shown_changes.diff.changed.any() else None, "gained-lost", title)
    topics = "".join(
        details(_heading(shown_changes, i), _topic(shown_changes, i)).replace(
            "<details>", "<details open>", 1 if place < 2 else 0
        )
        for place, i in enumerate(shown_changes.shown)
    )
    return f"{by_measure(report, of_measure)}{chart}{topics}"


def _table(diff: Diff, i: int) -> str:
    rows = []
    assert diff.main is not None  # a report has judgments
    measure = diff.main.measure.name
    scores = {row["topic"]: row for row in diff.records("scores") if row["measure"] == measure}
    *topics, _ = diff.records()  # the last is for all topics
    for row in topics[:LISTED]:
        score = scores.get(row["topic"])
        values: list[Any] = [None if score is None else score[name] for name in ("diff", "diff_low", "diff_high")]
        rows.append(
            [
                printable(row["topic"]),
                number(row["overlap"], ".2f"),
                number(row["rbo"], ".3f"),
                *(f"{row[name]:,}" for name in ("gained", "gained_relevant", "gained_unjudged")),
                *(f"{row[name]:,}" for name in ("lost", "lost_relevant", "lost_unjudged")),
                *("" if value is None else signed(value) for value in values),
            ]
        )
    header = [
        "topic",
        f"overlap@{diff.depth}",
        "RBO",
        *("gained", "relevant", "unjudged", "lost", "relevant", "unjudged"),
        *(f"{measure} B-A", "low", "high"),
    ]
    left_out = len(topics) - len(rows)
    more = f" {left_out:,} more topics are in fathoms diff." if left_out > 0 else ""
    note = f"Most changed topics first; low and high over every way of judging.{more}"
    return table(f"changes-table-{i}", header, rows, note=note)


def _heading(shown_changes: ShownChanges, topic: int) -> str:
    diff = shown_changes.diff
    entry = None if shown_changes.texts.topics is None else shown_changes.texts.topics.get(diff.topics[topic])
    words = words_of(entry)
    title = f"Topic {diff.topics[topic]}" + (f": {words[:100]}{'...' if len(words) > 100 else ''}" if words else "")
    return printable(f"{title} ({diff.rankings.gained[topic]} gained, {diff.rankings.lost[topic]} lost)")


def _topic(shown_changes: ShownChanges, topic: int) -> str:
    """The first places of both runs, side by side."""
    diff = shown_changes.diff
    entry = None if shown_changes.texts.topics is None else shown_changes.texts.topics.get(diff.topics[topic])
    rows = diff.documents_of(topic, diff.depth)
    wanted = terms(entry)
    lists = []
    for name, which in ((diff.run_a, "A"), (diff.run_b, "B")):
        ranks = [(change.rank_a if which == "A" else change.rank_b, change) for change in rows]
        here = sorted(((rank, change) for rank, change in ranks if rank is not None and rank <= diff.depth))
        items = "".join(_item(shown_changes, change, rank, which, wanted) for rank, change in here)
        body = f"<ol>{items}</ol>" if items else '<p class="note">No documents for this topic.</p>'
        lists.append(f"<div><h4>{which}: {text(printable(name))}</h4>{body}</div>")
    return f'<div class="rankings">{"".join(lists)}</div>'


def _item(shown_changes: ShownChanges, change: DocumentChange, rank: int, which: str, wanted: set[str]) -> str:
    other, other_run = (change.rank_b, "B") if which == "A" else (change.rank_a, "A")
    shift, grade, crosses = change.shift, change.grade, change.change in ("gained", "lost")
    kind = change.change if crosses else "moved" if shift else "same"
    if crosses:
        where = f"in {other_run} at {other:,}" if other else f"not in {other_run}"
        mark = f"{change.change}, {where}"
    elif shift:
        mark = f"{'up' if shift > 0 else 'down'} {abs(shift):,}"
    else:
        mark = "same rank"
    known = (
        '<span class="unjudged">unjudged</span>' if grade is None else f'<span class="graded">grade {grade:g}</span>'
    )
    return (
        f'<li value="{rank}" class="{kind}"><span class="doc">{text(printable(change.document))}</span> '
        f'<span class="mark">{text(mark)}</span> {known}{_snippet(shown_changes, change.document, wanted)}</li>'
    )


def _snippet(shown_changes: ShownChanges, document: str, wanted: set[str]) -> str:
    """The part of a text where the topic's words begin, with these marked."""
    if shown_changes.texts.documents is None:
        return ""
    pieces = snippet(shown_changes.texts.documents.get(document), wanted)
    if not pieces:
        return '<p class="note">no text</p>'
    shown = "".join(f"<mark>{text(piece)}</mark>" if i % 2 else text(piece) for i, piece in enumerate(pieces))
    return f"<p>{shown}</p>"
