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
    for requirement in audit.requirements:
        figure = Estimate(requirement.value, requirement.low, requirement.high)
        cells = (
            markdown_cell(requirement.source),
            _criterion(requirement),
            f"{requirement.limit:g}",
            with_interval(figure, 0 if requirement.criterion == "labels" else 3),
            f"{SIGNS[requirement.outcome]} {requirement.outcome}",
            "" if requirement.more is None else f"{requirement.more:,}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", "Intervals: 95%, over topics."]) + "\n"


def junit(audit: LabelAudit) -> str:
    cases = [
        CheckedCase(
            f"{requirement.source}: {_criterion(requirement)}",
            requirement.outcome,
            sentence(requirement),
            sentence(requirement),
            requirement.criterion,
        )
        for requirement in audit.requirements
    ]
    return outcomes.junit("labels", f"labels against {audit.qrels}", cases)


def _criterion(requirement: Requirement) -> str:
    return (
        f"{requirement.criterion} of {markdown_cell(requirement.measure)}"
        if requirement.measure
        else requirement.criterion
    )
