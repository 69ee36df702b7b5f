"""The report's section on groups of topics: scores, ranges, intervals and verdicts in each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathoms.data.topic_groups import TopicGroups
from fathoms.inference.names import SIGNIFICANT
from fathoms.measures.base import Measure
from fathoms.questions.compare.words import group_sentences
from fathoms.questions.eval import words as remarks
from fathoms.reporting.parts import number, paragraphs, table

if TYPE_CHECKING:
    from fathoms.reporting.report import Report

SHOWN = 200  # rows of the table of verdicts; `fathoms compare` has all


def groups(report: Report, i: int, measure: Measure) -> str:
    """The worst group in a sentence, then each run in each group, then what can be claimed there."""
    of = report.evaluation.groups
    assert of is not None
    sentences = remarks.group_sentences(report.evaluation, measure)
    sentences += [] if report.comparison is None else group_sentences(report.comparison, measure.name)
    return paragraphs(sentences) + _scores(report, i, measure, of) + _verdicts(report, i, measure)


def _scores(report: Report, i: int, measure: Measure, of: TopicGroups) -> str:
    likely = {} if report.comparison is None else report.comparison.estimated_by_group
    rows = []
    for run in report.ranked(measure):
        overall = run.mean(measure)["score"] or 0.0
        sizes = {group: int(places.sum()) for group, places in of.masks(run.topics).items()}
        for group, mean in run.group_means(measure, of).items():
            estimate = likely.get((run.run, group, measure.name), (None, None, None))
            score = mean["score"] or 0.0
            rows.append(
                [
                    run.run,
                    group,
                    sizes[group],
                    number(score),
                    number(score - overall, "+.4f"),
                    *map(number, (mean["low"], mean["high"], *estimate)),
                ]
            )
    header = ["run", "group", "topics", "score", "against its mean", "low", "high"]
    header += ["estimate", "likely low", "likely high"]
    note = "Against its mean: how far the score in the group is from the run's score on all topics."
    return table(f"groups-{i}", header, rows, words=2, note=note)


def _verdicts(report: Report, i: int, measure: Measure) -> str:
    if report.comparison is None:
        return ""
    pairs = [pair for pair in report.comparison.by_group if pair.measure == measure.name]
    pairs.sort(key=lambda pair: (pair.verdict not in SIGNIFICANT, pair.p_corrected))
    rows = [
        [
            *(pair.run_a, pair.run_b, pair.group, pair.verdict),
            *(number(value, "+.4f") for value in (pair.diff, pair.diff_low, pair.diff_high, pair.ci_low, pair.ci_high)),
            number(pair.p_corrected),
        ]
        for pair in pairs[:SHOWN]
    ]
    header = ["A", "B", "group", "verdict", "A - B", "low", "high", "CI low", "CI high", "p corrected"]
    more = f" The first {SHOWN} of {len(pairs):,} are shown, claims first." if len(pairs) > SHOWN else ""
    note = f"Each group is tested at alpha over the number of groups; low and high: over every way of judging.{more}"
    return table(f"group-pairs-{i}", header, rows, words=4, note=note)
