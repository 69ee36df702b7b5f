"""What the report says beside the claims, by one measure: what depth does, what would help, what to trust.

Each sentence names the doubt it is about: topics, judging, ties, depth or the model. All of them quote the comparison,
so that no two disagree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fathoms.base.text import pluralise
from fathoms.experiment.topics import some
from fathoms.inference.names import SEEN_WITH
from fathoms.measures.base import Measure
from fathoms.questions.audit import words as audit_sentences
from fathoms.questions.compare.words import topics_needed
from fathoms.questions.depth.stability import STABLE, is_short, stable_from
from fathoms.reporting.next_judgments import why_not
from fathoms.reporting.verdicts import obstacle, obstacles, rivals

if TYPE_CHECKING:
    from fathoms.reporting.next_judgments import Judging
    from fathoms.reporting.report import Report

NAMED = 3  # rivals whose number of topics is given


def depth_sentences(report: Report, measure: Measure) -> list[str]:
    bare = measure.name.partition("@")[0]
    taus = report.volatility(bare)
    if report.depths is None or taus is None:
        return []
    depths = report.depths.depths
    start = stable_from(taus, depths)
    if start is None:
        return [
            f"{bare}: the order of the runs depends on the depth of evaluation, down to depth {depths[-1]} "
            f"(Kendall's tau between two of the deepest is below {STABLE:g})."
        ]
    if is_short(start, depths[-1]):
        return [
            f"{bare}: the order of the runs depends on the depth of evaluation, down to depth {depths[-1]} at least "
            f"(only from depth {start} on is Kendall's tau {STABLE:g} or more, which is too short a stretch to tell)."
        ]
    if start == depths[0]:
        return [
            f"{bare}: the depth of evaluation hardly matters (Kendall's tau between any two is {STABLE:g} or more)."
        ]
    sentence = (
        f"{bare}: at depths shallower than {start} the order of the runs depends on the depth of evaluation; from "
        f"there to depth {depths[-1]} Kendall's tau between any two is {STABLE:g} or more."
    )
    if measure.k is not None:
        sentence += (
            f" The cut-off {measure.k:,} is {'shallower than that' if measure.k < start else 'deep enough for that'}."
        )
    return [sentence]


# -- what would help -------------------------------------------------------------------------------------------------


def remedies(report: Report, measure: Measure) -> list[str]:
    pairs = report.pairs(measure)
    sentences = []
    missing = obstacles(pairs)
    if missing:
        listed = ", ".join(f"{number:,} {_for_lack_of(name)}" for name, number in missing.items())
        sentences.append(
            f"{measure.name}: {sum(missing.values()):,} of {pluralise(len(pairs), 'pair')} of runs cannot be "
            f"claimed: {listed}."
        )
        sentences += _topics_needed(report, measure)
    return sentences + judging_sentences(report, measure)


def _for_lack_of(name: str) -> str:
    return "for lack of topics" if name == "topics" else f"because of {name}"


def _topics_needed(report: Report, measure: Measure) -> list[str]:
    """The numbers of topics that `compare` gives for the closest rivals."""
    best = report.ranked(measure)[0].run
    sentences = [
        f"{name} ({topics_needed(pair.topics_needed)})"
        for name, pair in rivals(report, measure)
        if pair.topics_needed is not None
    ]
    if not sentences:
        return []
    return [
        f"More topics like these, for {best} against {some(sentences, NAMED)}; with the judgments as they are, and an "
        f"{SEEN_WITH:.0%} chance of finding the difference significant."
    ]


def judging_sentences(report: Report, measure: Measure) -> list[str]:
    """What judging can do for the open question: is the first run better than those close to it?"""
    if report.comparison is None:
        return []
    best, unclaimed = report.ranked(measure)[0].run, rivals(report, measure)
    if not unclaimed:
        return [f"Judging is not what is missing: by {measure.name}, {best} is better than all others (see above)."]
    unsure = [name for name, pair in unclaimed if obstacle(pair) == "judging"]  # whether significant once judged
    if all(pair.reversible == "no" for _, pair in unclaimed):
        proved = (
            f"by {measure.name}, no judging of the two runs' documents reverses any difference "
            f"between {best} and the runs that it cannot be "
            "claimed to be better than"
        )
        if unsure:
            return [
                f"Judging can do one thing: {proved}, but those from {some(unsure)} may become significant.",
                _to_judge(best, unsure[0], report.comparison.to_depth.get(measure.name)),
            ]
        return [f"Judging is not what is missing: {proved}."]
    judging = report.judging.get(measure.name)
    if judging is None:
        return [f"What to judge next: {why_not(measure)}."]
    advice = [_advice(judging, [name for name in unsure if name in judging.runs])]
    if judging.judged == judging.documents:
        return advice
    return [
        *advice,
        "Settled means on these topics, according to the model; a difference can be settled without being significant.",
    ]


def _to_judge(best: str, rival: str, depth: int | None) -> str:
    """Which documents that takes, and what lists them."""
    to_depth = "" if depth is None else f" down to rank {depth:,}"
    return (
        f"For {rival} judge the unjudged documents of {best} and {rival}{to_depth}. fathoms pool lists them, with "
        f"the files of the two runs and --missing --depth {depth or 'D'} --qrels FILE."
    )


def _advice(judging: Judging, unsure: Sequence[str]) -> str:
    """What the engine says; of the runs that are `unsure` judging may undo or bring the significance."""
    best, others = judging.runs[0], judging.runs[1:]
    start = f"Judging, for {best} against {some(others)}, by {judging.whereby}: "
    left = judging.documents - judging.judged
    of = f"{left:,} of {pluralise(judging.documents, 'document')}"
    if not left:
        return f"{start}all of these documents are judged; what could still reverse it are documents at deeper ranks."
    if not judging.open_pairs:
        other_question = (
            f"Whether the difference from {some(unsure)} stays or becomes significant is another question, which "
            "only judging these documents can answer."
            if unsure
            else "Whether the order holds on other topics is another question, which judging cannot answer."
        )
        answer = (
            f"{start}no more judging is needed to tell which is ahead on these topics. The model is at least "
            f"{judging.until:.0%} sure, though {of} are unjudged."
        )
        return f"{answer} {_settled(judging)}{other_question}"
    unsettled = [others[b - 1] for _, b in judging.open_pairs]
    sentence = f"{start}{some(unsettled)} {'is' if len(unsettled) == 1 else 'are'} not settled at {judging.until:.0%}. "
    if judging.forecast is None:
        return f"{sentence}Judge ten documents, and there will be a forecast. {_settled(judging)}".strip()
    low, high = judging.forecast
    sentence += f"About {low:,} to {high:,} judgments would settle {'it' if len(unsettled) == 1 else 'them'}"
    if judging.first:
        sentence += f", starting with document {judging.first[0].document} of topic {judging.first[0].topic}"
    return f"{sentence}; {of} are unjudged. {_settled(judging)}".strip()


def _settled(judging: Judging) -> str:
    """Which of the others the model puts ahead of the first run, and which behind it."""
    best, *others = judging.runs
    chances = dict(zip(others, judging.confidence[0, 1:].tolist(), strict=True))
    before = [name for name, chance in chances.items() if 1 - chance >= judging.until]
    behind = [name for name, chance in chances.items() if chance >= judging.until]
    parts = [f"{best} is ahead of {some(behind)}"] * bool(behind) + [f"{best} is behind {some(before)}"] * bool(before)
    return f"Settled: {'; '.join(parts)}. " if parts else ""


def trust(report: Report, measure: Measure) -> list[str]:
    """What the audit says of the collection, with the change of scores by this measure, and how estimates by it were
    checked."""
    checked = [line.text for line in report.about_estimates if line.measure == measure.name]
    if report.audit is None:
        return [f"The pool could not be audited: {report.audit_problem}.", *checked]
    return [*audit_sentences.sentences(replace(report.audit, measures=[measure])), *checked]


def about_estimates(report: Report, measure: Measure) -> list[str]:
    """What is said of the estimates, without the checks of other measures."""
    return [line.text for line in report.about_estimates if line.measure in (None, measure.name)]


def summary(report: Report, measure: Measure) -> list[tuple[str, Sequence[str]]]:
    """What stands beside the claims: heading and sentences."""
    return [
        ("What would help", remedies(report, measure)),
        ("Can the collection be trusted?", trust(report, measure)),
    ]
