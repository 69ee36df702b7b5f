"""A gate for pull requests, in Markdown, and for build servers, as JUnit's XML."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fathoms.questions.gate.result import Gate, GateRow, Outcome


from fathoms.base.text import in_xml
from fathoms.questions.gate.words import NEEDED, named, sentence

LISTED = 10  # documents and groups that a summary names


SIGNS: dict[Outcome, str] = {"passes": "✅", "fails": "❌", "cannot tell": "❔"}


def markdown(gate: Gate) -> str:
    head = [
        f"### {SIGNS[gate.outcome]} {_cell(gate.headline)}",
        "",
        f"| measure | topics | {_cell(gate.baseline)} | {_cell(gate.candidate)} | difference | bounds | outcome |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    table = [
        f"| {_cell(named(row))} | {row.topics} | {row.baseline:.4f} | {row.candidate:.4f} | {row.diff:+.4f} | "
        f"{_bounds(row)} | {SIGNS[row.outcome]} {row.outcome}"
        f"{f' ({row.basis})' if row.basis else ''} |"
        for row in gate.measured
    ]
    level = f"{100 * (1 - gate.alpha):g}%"
    about = (
        f"A drop of up to {gate.max_drop:g} is allowed. Bounds: one-sided, {level} confidence each, over topics and "
        "judging."
    )
    items = [f"- {_cell(text)}" for text in gate.findings[1:]]
    lines = [*head, *table, "", about, "", *items]
    if gate.to_judge:
        lines += ["", "| judge first: topic | document | rank in baseline | in candidate | could move the mean by |"]
        lines += ["|---|---|---:|---:|---:|"]
        lines += [
            f"| {_cell(entry.topic)} | {_cell(entry.document)} | {entry.rank_baseline or '–'} | "
            f"{entry.rank_candidate or '–'} | {entry.change:+.4f} |"
            for entry in gate.to_judge[:LISTED]
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
    for row in gate.measured:
        head = f'  <testcase classname="fathoms.gate" name={attribute(named(row))} time="0">'
        text = escape(in_xml(sentence(gate, row)))
        if row.outcome == "fails":
            body = (
                f'<failure type="drop" message={attribute(f"{named(row)} drops by {-row.diff:.4f}")}>{text}</failure>'
            )
        elif row.outcome == "cannot tell" and row.group == "all":
            body = f'<error type="cannot tell" message={attribute(f"needs more {NEEDED[row.reason]}")}>{text}</error>'
        elif row.outcome == "cannot tell":
            body = f"<skipped message={attribute(f'cannot tell: needs more {NEEDED[row.reason]}')}/>"
        else:
            body = f"<system-out>{text}</system-out>"
        cases.append(f"{head}{body}</testcase>")
    failures = sum(row.outcome == "fails" for row in gate.measured)
    errors = sum(row.outcome == "cannot tell" for row in gate.overall)
    skipped = sum(row.outcome == "cannot tell" for row in gate.by_group)
    name = attribute(f"{gate.candidate} against {gate.baseline}")
    counts = f'tests="{len(gate.measured)}" failures="{failures}" errors="{errors}" skipped="{skipped}"'
    suite = [f"<testsuite name={name} {counts}>", *cases, "</testsuite>"]
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join(suite) + "\n"
