"""The report's section on the pool: how much is judged, how fast relevant documents were found, what leaving a run or
a team out of it does to scores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fathoms.measures.base import Measure
from fathoms.questions.audit import words as audit_sentences
from fathoms.questions.audit.findings import SHARE_DEPTHS, as_percent, changes
from fathoms.questions.audit.result import Audit
from fathoms.reporting.parts import by_measure, details, drawn, figure, number, paragraphs, table, text

if TYPE_CHECKING:
    from fathoms.reporting.report import Report


def pool(report: Report) -> str:
    audit = report.audit
    if audit is None:
        return f"<p>{text(report.audit_problem)}</p>"

    def of_measure(_: Report, i: int, measure: Measure) -> str:
        sentences = audit_sentences.sentences(replace(audit, measures=[measure]))[:-1]
        return paragraphs(sentences) + _left_out(audit, i, measure)

    return by_measure(report, of_measure) + _judged(audit)


def _judged(audit: Audit) -> str:
    """What is judged and found, whatever the measure."""
    last = next((step for step in reversed(audit.steps) if step.rate is not None), None)
    at_ten = audit.share(audit.others or audit.contributing, 10)
    whom = "runs that did not contribute" if audit.others else "runs"
    judged = (
        "Judged share of the top k"
        if at_ten is None
        else f"{as_percent(at_ten.mean)} of the top 10 of the {whom} is judged"
    )
    body = '<div class="two">'
    body += figure(
        drawn(audit.chart, "judged"),
        "judged-share",
        judged,
    )
    body += figure(
        drawn(audit.chart, "relevant"),
        "found-by-depth",
        "Relevant documents by pool depth"
        + ("" if last is None or last.rate is None else f": of those judged last, {last.rate:.1%} are relevant"),
    )
    rows = [
        [name, *((as_percent(share), share) if share is not None else ("", -1) for share in by.values())]
        for name, by in sorted(
            audit.shares.items(), key=lambda item: (-1.0 if item[1][10] is None else item[1][10], item[0])
        )
    ]
    header = ["run", *(f"top {k}" for k in SHARE_DEPTHS)]
    shown = table("shares", header, rows, note="The least judged first.")
    return body + "</div>" + details("Judged share of every run", shown)


def _left_out(audit: Audit, i: int, measure: Measure) -> str:
    if not audit.run_out:
        return ""
    if measure.name not in {left_out.measure for left_out in audit.run_out}:
        return paragraphs([f"Leaving runs out of the pool: nothing is known for {measure.name}."])
    rows = []
    for kind, left in (("one run", audit.run_out), ("a whole team", audit.group_out)):
        for change in changes([gone for gone in left if gone.measure == measure.name]):
            percent = "" if change.percent is None else f"{change.percent.mean:+z.2f}"
            rows.append([kind, percent, number(change.median, "+.2f"), f"{change.rank.mean:.2f}"])
    dots = [left_out for left_out in audit.run_out if left_out.measure == measure.name and left_out.percent is not None]
    worst = max((abs(left_out.percent or 0.0) for left_out in dots), default=0.0)
    return (
        '<div class="two">'
        + figure(
            drawn(audit.chart, "left_out", measure=measure.name),
            f"left-out-{i}",
            f"Had it not contributed, a run would see its {measure.name} change by up to {worst:.1f}%",
            "One dot per contributing run, scored again without the judgments that only it had brought.",
        )
        + f"<div><h3>Leaving out: change of {text(measure.name)}, and of rank</h3>"
        + table(f"left-out-table-{i}", ["left out", "mean (%)", "median (%)", "ranks"], rows)
        + "</div></div>"
    )
