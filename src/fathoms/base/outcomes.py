"""Outcomes of anything that can pass or fail: exit codes, Markdown for pull requests, JUnit for build servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fathoms.base.text import in_xml

Outcome = Literal["passes", "fails", "cannot tell"]
EXIT_CODES: dict[Outcome, int] = {"passes": 0, "fails": 1, "cannot tell": 3}  # 2 is bad input
SIGNS: dict[Outcome, str] = {"passes": "✅", "fails": "❌", "cannot tell": "❔"}


def worst(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome of all of them together: a failure decides, and then one that cannot be told."""
    order: tuple[Outcome, ...] = ("fails", "cannot tell", "passes")
    return next((outcome for outcome in order if outcome in outcomes), "passes")


def markdown_cell(text: str) -> str:
    """Names are data: nothing in them is Markdown or HTML."""
    plain = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|~" else c for c in plain)


@dataclass(frozen=True)
class CheckedCase:
    """One outcome in JUnit's terms. `cannot tell` is an error, or `skipped` if others decide."""

    name: str
    outcome: Outcome
    text: str
    message: str = ""
    kind: str = ""  # of failure
    skipped: bool = False


def junit(room: str, suite: str, cases: Sequence[CheckedCase]) -> str:
    """The outcomes of a room as a suite."""
    from xml.sax.saxutils import escape, quoteattr

    def attribute(text: str) -> str:
        return quoteattr(in_xml(text))

    lines = []
    for case in cases:
        head = f'  <testcase classname="fathoms.{room}" name={attribute(case.name)} time="0">'
        text = escape(in_xml(case.text))
        if case.outcome == "fails":
            body = f'<failure type="{case.kind}" message={attribute(case.message)}>{text}</failure>'
        elif case.outcome == "cannot tell" and not case.skipped:
            body = f'<error type="cannot tell" message={attribute(case.message)}>{text}</error>'
        elif case.outcome == "cannot tell":
            body = f"<skipped message={attribute(case.message)}/>"
        else:
            body = f"<system-out>{text}</system-out>"
        lines.append(f"{head}{body}</testcase>")
    failures = sum(case.outcome == "fails" for case in cases)
    skipped = sum(case.outcome == "cannot tell" and case.skipped for case in cases)
    errors = sum(case.outcome == "cannot tell" for case in cases) - skipped
    counts = f'tests="{len(cases)}" failures="{failures}" errors="{errors}" skipped="{skipped}"'
    whole = [f"<testsuite name={attribute(suite)} {counts}>", *lines, "</testsuite>"]
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join(whole) + "\n"
