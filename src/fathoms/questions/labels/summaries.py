"""What was asked of labels, in Markdown for pull requests, and as JUnit's XML for build servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathoms.base import outcomes
from fathoms.base.outcomes import SIGNS, CheckedCase, markdown_cell
from fathoms.inference.grade_agreement import Estimate
from fathoms.questions.labels.words import headline, sentence, with_interval

if TYPE_CHECKING:
    from fathoms.questions.labels.requirements import Requirement
    from fathoms.questions.labels.result import LabelAudit


def markdown(audit: LabelAudit) -> str:
    first = headline(audit) if audit.requirements else "Nothing was asked of these labels."
    lines = [
        f"### {SIGNS[audit.outcome]} {markdown_cell(first)}",
        "",
        "| labels | asked | limit | found | outcome | more human labels |",
        "|---|---|---:|---:|---|---:|",
    ]
    for one in audit.requirements:
        found = with_interval(Estimate(one.value, one.low, one.high), 0 if one.asked == "labels" else 3)
        lines.append(
            f"| {markdown_cell(one.source)} | {_asked(one)} | {one.limit:g} | {found} | {SIGNS[one.outcome]} "
            f"{one.outcome} | {'' if one.more is None else f'{one.more:,}'} |"
        )
    return "\n".join([*lines, "", "Intervals: 95%, over topics."]) + "\n"


def junit(audit: LabelAudit) -> str:
    cases = [
        CheckedCase(f"{one.source}: {_asked(one)}", one.outcome, sentence(one), sentence(one), one.asked)
        for one in audit.requirements
    ]
    return outcomes.junit("labels", f"labels against {audit.qrels}", cases)


def _asked(one: Requirement) -> str:
    return f"{one.asked} of {markdown_cell(one.measure)}" if one.measure else one.asked
