"""The report as one HTML file: text, tables, charts, a little script, and nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from fathoms.base import charts
from fathoms.base.text import pluralise
from fathoms.questions.ties import words as tie_sentences
from fathoms.reporting import sections, summary
from fathoms.reporting.changes import changes
from fathoms.reporting.groups import groups
from fathoms.reporting.parts import by_measure, drawing, paragraphs, section, text
from fathoms.reporting.pool import pool
from fathoms.reporting.script_data import as_json, data

if TYPE_CHECKING:
    from fathoms.reporting.report import Report

NO_CHARTS = "Charts are missing: they need the extra <code>report</code>, <code>pip install 'fathoms[report]'</code>."


STYLES = ("page.css", "rankings.css", "topic_lists.css")
# In the order they need.
SCRIPTS = ("shared.js", "tables.js", "charts.js", "pairs.js", "topic_lists.js", "board.js", "switch.js")


SUMMARY = ("summary", "Summary")
CLOSED = ("claims", "depth", "ties", "pool", "guidelines", "judge", "method")  # one click down


class Section(NamedTuple):
    """A part of the page: its anchor, its link, its heading, a line under that, and what makes its body."""

    name: str
    label: str
    title: str
    lead: str
    body: Callable[[Report], str]


def _comparisons(report: Report) -> str:
    return by_measure(report, sections.comparisons) + (sections.PAIRS if report.comparison is not None else "")


def _topics(report: Report) -> str:
    # The script puts the topic that is chosen into the last part.
    return by_measure(report, sections.topics) + '<div id="topic-detail"></div>'


def _ties(report: Report) -> str:
    answer = by_measure(report, lambda _, i, measure: paragraphs([tie_sentences.of_measure(report.ties, measure)]))
    return answer + paragraphs(tie_sentences.of_files(report.ties)) + by_measure(report, sections.tied)


SECTIONS = (
    Section(
        "claims",
        "Claims",
        "What you may write",
        summary.LEAD,
        lambda report: by_measure(report, summary.may_be_written),
    ),
    Section(
        "runs",
        "Runs",
        "The runs, their ranges and ranks",
        "Estimates first, then scores and what is possible.",
        lambda report: by_measure(report, sections.runs),
    ),
    Section(
        "comparisons",
        "Comparisons",
        "Comparisons",
        "Which differences can be claimed, and what the others lack.",
        _comparisons,
    ),
    Section(
        "topics",
        "Topics",
        "Topics",
        "Where the runs differ, and which unjudged documents matter there.",
        _topics,
    ),
    Section(
        "doubt",
        "Doubt",
        "Where the doubt comes from",
        "How sure the first run's score is, and what makes it unsure.",
        lambda report: by_measure(report, sections.doubt),
    ),
    Section(
        "depth",
        "Depth",
        "Depth of evaluation",
        "How much depends on how far down the rankings are read.",
        lambda report: by_measure(report, sections.depth),
    ),
    Section("ties", "Ties", "Ties", "What another order of documents with equal scores could change.", _ties),
    Section(
        "pool",
        "Pool",
        "The pool and its reuse",
        "How complete the judgments are, and whether new runs can be scored.",
        pool,
    ),
    Section(
        "guidelines",
        "Guidelines",
        "Guidelines",
        "Seven rules for sound reporting (Lu, Moffat and Culpepper 2016), checked for all measures together.",
        sections.guidelines,
    ),
    Section(
        "judge",
        "Judging",
        "What to judge next",
        "What judging can do for the first run and its closest rivals, by the measure chosen.",
        lambda report: by_measure(report, sections.judge),
    ),
    Section("method", "Method", "Method", "How to make this report again.", sections.method),
)


def sections_of(report: Report) -> list[Section]:
    """Those of every report, and those that were asked for."""
    shown = list(SECTIONS)
    if report.changes is not None:
        shown_changes, diff = report.changes, report.changes.diff
        title, lead = f"What changed from {diff.run_a} to {diff.run_b}", "The first 10 of both, topic by topic."
        shown.insert(4, Section("changes", "Changes", title, lead, partial(changes, shown_changes)))
    if report.evaluation.groups is not None:
        lead = "How the runs do on each group of topics, and what can be claimed there."
        body = partial(by_measure, part=groups)
        shown.insert(4, Section("groups", "Groups", "Groups of topics", lead, body))
    return shown


def page(report: Report) -> str:
    """The whole file; its charts are drawn while it is written."""
    here = files("fathoms.reporting")
    style, script = (
        "".join((here / name).read_text(encoding="utf-8") for name in names) for names in (STYLES, SCRIPTS)
    )
    title = f"{pluralise(len(report.evaluation.runs), 'run')} on {pluralise(len(report.qrels.topics), 'topic')}"
    measures = "".join(
        f'<button data-measure="{i}" aria-pressed="{"false" if i else "true"}">{text(measure.name)}</button>'
        for i, measure in enumerate(report.measures)
    )
    shown = sections_of(report)
    links = "".join(
        f'<a href="#{name}">{label}</a>' for name, label in (SUMMARY, *(shown_section[:2] for shown_section in shown))
    )
    missing = "" if charts.available() else f'<p class="missing">{NO_CHARTS}</p>'
    first = summary.summary(report)  # before the others, which then need not work out the same again
    with drawing(aside=report.options.workers > 1) as pictures:
        bodies = [shown_section.body(report) for shown_section in shown]
        parts = [
            f'<section id="{SUMMARY[0]}">{missing}{first}</section>',
            *(
                section(*shown_section[:1], *shown_section[2:4], body, closed=shown_section.name in CLOSED)
                for shown_section, body in zip(shown, bodies, strict=True)
            ),
        ]
        main = pictures.put_into("".join(parts))
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="fathoms {text(report.versions["fathoms"])}">
<title>{text(title)}: fathoms report</title>
<style>
{style}</style>
</head>
<body>
<nav><div class="inner"><div class="links">{links}</div>
<div class="measures" role="group" aria-label="Measure">{measures}</div></div></nav>
<main>
<header><h1>{text(title)}</h1>
<p class="lead">{text(summary.size(report))}</p></header>
{main}
</main>
<footer><p>Made with fathoms {text(report.versions["fathoms"])}. Everything is in this file.</p></footer>
<div id="tip" role="status"></div>
<script type="application/json" id="data">{as_json(data(report))}</script>
<script>
{script}</script>
</body>
</html>
"""
