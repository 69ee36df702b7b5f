"""A gate for pull requests, in Markdown, and for build servers, as JUnit's XML."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fathoms.questions.gate.result import Gate, GateRow

from fathoms.base import outcomes
from fathoms.base.outcomes import SIGNS, CheckedCase, markdown_cell
from fathoms.questions.gate.words import NEEDED, drawn, named, sentence

LISTED = 10  # documents and groups that a summary names


def markdown(gate: Gate) -> str:
    runs = " | ".join(markdown_cell(run) for run in (gate.baseline, gate.candidate))
    head = [
        f"### {SIGNS[gate.outcome]} {markdown_cell(gate.headline)}",
        "",
        f"| measure | topics | {runs} | difference | bounds | outcome |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    table = [
        f"| {markdown_cell(named(row))} | {row.topics} | {row.baseline:.4f} | {row.candidate:.4f} | {row.diff:+.4f} | "
        f"{_bounds(row)} | {SIGNS[row.outcome]} {row.outcome}"
        f"{f' ({row.basis})' if row.basis else ''} |"
        for row in gate.measured
    ]
    level = f"{100 * (1 - gate.alpha):g}%"
    about = (
        f"A drop of up to {gate.max_drop:g} is allowed. Bounds: one-sided, {level} confidence each, over "
        f"{drawn(gate)}{'' if gate.repeated else ' and judging'}."
    )
    items = [f"- {markdown_cell(text)}" for text in gate.findings[1:]]
    lines = [*head, *table, "", about, "", *items]
    if gate.to_judge:
        lines += ["", "| judge first: topic | document | rank in baseline | in candidate | could move the mean by |"]
        lines += ["|---|---|---:|---:|---:|"]
        lines += [
            f"| {markdown_cell(entry.topic)} | {markdown_cell(entry.document)} | {entry.rank_baseline or '–'} | "
            f"{entry.rank_candidate or '–'} | {entry.change:+.4f} |"
            for entry in gate.to_judge[:LISTED]
        ]
    return "\n".join(lines) + "\n"


def _bounds(row: GateRow) -> str:
    return "" if row.lower is None or row.upper is None else f"{row.lower:+.4f} to {row.upper:+.4f}"


def junit(gate: Gate) -> str:
    cases = []
    for row in gate.measured:
        message = ""
        if row.outcome == "fails":
            message = f"{named(row)} drops by {-row.diff:.4f}"
        elif row.outcome == "cannot tell":
            needs = f"needs more {NEEDED[row.reason]}"
            message = needs if row.group == "all" else f"cannot tell: {needs}"
        text = sentence(gate, row)
        cases.append(CheckedCase(named(row), row.outcome, text, message, "drop", skipped=row.group != "all"))
    return outcomes.junit("gate", f"{gate.candidate} against {gate.baseline}", cases)
