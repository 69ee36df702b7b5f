"""The report's section on what changed from one run to another: topics, and their two rankings side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fathoms.comparison.diff import Diff, run_diff
from fathoms.comparison.diff_sentences import signed
from fathoms.errors import FathomsError
from fathoms.experiment.base import BaseExperiment
from fathoms.judging.texts import TextSources, printable, terms
from fathoms.measures.base import Measure
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
    return {row[0] for i in shown_topics(diff) for row in diff.documents_of(i, DEPTH)}


def shown_diff(experiment: BaseExperiment, runs: Sequence[str] | None, measures: Sequence[Measure]) -> Diff | None:
    """What changed between two of the runs; None where nobody asks for it."""
    if runs is None:
        return None
    names = [runs] if isinstance(runs, str) else list(runs)
    if len(names) != 2:
        raise FathomsError(f"diff: expected the names of two runs, found {len(names)}")
    return run_diff(experiment, names[0], names[1], list(measures), depth=DEPTH)


def changes(found: ShownChanges, report: Report) -> str:
    """The body of the section: sentences and scores by the measure chosen; rankings, the same by all, stand once."""

    def of_measure(_: Report, i: int, measure: Measure) -> str:
        scores = [one for one in found.diff.scores_of if one.measure.name == measure.name]
        if not scores:
            return paragraphs([f"The changes are not scored by {measure.name}."])
        diff = replace(found.diff, scores_of=scores)
        return paragraphs(map(printable, diff.sentences)) + _table(diff, i)

    title = f"Documents gained and lost in the first {found.diff.depth} of each topic"
    chart = figure(drawn(found.diff.chart) if found.diff.changed.any() else None, "gained-lost", title)
    topics = "".join(
        details(_heading(found, i), _topic(found, i)).replace("<details>", "<details open>", 1 if place < 2 else 0)
        for place, i in enumerate(found.shown)
    )
    return f"{by_measure(report, of_measure)}{chart}{topics}"


def _table(diff: Diff, i: int) -> str:
    rows = []
    one = diff.main
    assert one is not None  # a report has judgments
    scores = {row[0]: row for row in diff.rows("scores") if row[1] == one.measure.name}
    found = [dict(zip(diff.columns, row, strict=True)) for row in diff.rows()[:-1]]
    for row in found[:LISTED]:
        score = scores.get(row["topic"])
        values: list[Any] = [None if score is None else score[i] for i in (4, 5, 6)]
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
        *(f"{one.measure.name} B-A", "low", "high"),
    ]
    rest = len(found) - len(rows)
    more = f" {rest:,} more topics are in fathoms diff." if rest > 0 else ""
    note = f"Most changed topics first; low and high over every way of judging.{more}"
    return table(f"changes-table-{i}", header, rows, note=note)


def _heading(found: ShownChanges, topic: int) -> str:
    diff = found.diff
    entry = None if found.texts.topics is None else found.texts.topics.get(diff.topics[topic])
    words = words_of(entry)
    title = f"Topic {diff.topics[topic]}" + (f": {words[:100]}{'...' if len(words) > 100 else ''}" if words else "")
    return printable(f"{title} ({diff.found.gained[topic]} gained, {diff.found.lost[topic]} lost)")


def _topic(found: ShownChanges, topic: int) -> str:
    """The first places of both runs, side by side."""
    diff = found.diff
    entry = None if found.texts.topics is None else found.texts.topics.get(diff.topics[topic])
    rows = diff.documents_of(topic, diff.depth)
    wanted = terms(entry)
    lists = []
    for name, at in ((diff.run_a, 2), (diff.run_b, 3)):
        here = sorted((row for row in rows if row[at] is not None and row[at] <= diff.depth), key=lambda row: row[at])
        items = "".join(_item(found, row, at, wanted) for row in here)
        body = f"<ol>{items}</ol>" if items else '<p class="note">No documents for this topic.</p>'
        which = "A" if at == 2 else "B"
        lists.append(f"<div><h4>{which}: {text(printable(name))}</h4>{body}</div>")
    return f'<div class="rankings">{"".join(lists)}</div>'


def _item(found: ShownChanges, row: tuple[Any, ...], at: int, wanted: set[str]) -> str:
    document, change, rank_a, rank_b, shift, _, _, grade = row
    other = rank_b if at == 2 else rank_a
    kind = change if change in ("gained", "lost") else "moved" if shift else "same"
    if change in ("gained", "lost"):
        run = "B" if at == 2 else "A"
        mark = f"{change}, in {run} at {other:,}" if other else f"{change}, not in {run}"
    elif shift:
        mark = f"{'up' if shift > 0 else 'down'} {abs(shift):,}"
    else:
        mark = "same rank"
    known = (
        '<span class="unjudged">unjudged</span>' if grade is None else f'<span class="graded">grade {grade:g}</span>'
    )
    return (
        f'<li value="{row[at]}" class="{kind}"><span class="doc">{text(printable(document))}</span> '
        f'<span class="mark">{text(mark)}</span> {known}{_snippet(found, document, wanted)}</li>'
    )


def _snippet(found: ShownChanges, document: str, wanted: set[str]) -> str:
    """The part of a text where the topic's words begin, with these marked."""
    if found.texts.documents is None:
        return ""
    pieces = snippet(found.texts.documents.get(document), wanted)
    if not pieces:
        return '<p class="note">no text</p>'
    shown = "".join(f"<mark>{text(piece)}</mark>" if i % 2 else text(piece) for i, piece in enumerate(pieces))
    return f"<p>{shown}</p>"
