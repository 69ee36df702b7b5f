"""The report's summary in sentences, by one measure: what can be claimed, what cannot, what would help, what to trust.

Each sentence names the doubt it is about: topics, judging, ties, depth or the model. All of them quote the comparison,
so that no two disagree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from fathoms.base.text import pluralise
from fathoms.experiment.topics import some
from fathoms.inference.names import CLAIMED, SEEN_WITH, Verdict
from fathoms.measures.base import Measure
from fathoms.questions.audit import words as audit_sentences
from fathoms.questions.audit.findings import as_percent
from fathoms.questions.compare.words import MANY, sentence, topics_needed
from fathoms.questions.depth.stability import STABLE, is_short, stable_from
from fathoms.questions.eval.words import range_sentences
from fathoms.questions.ties import words as tie_sentences
from fathoms.reporting.next_judgments import why_not
from fathoms.reporting.verdicts import (
    LIKELY,
    ahead,
    ahead_by_estimate,
    chance_of_other,
    leaders,
    obstacle,
    obstacles,
    of_run,
    other_run,
    rivals,
)

if TYPE_CHECKING:
    from fathoms.reporting.next_judgments import Judging
    from fathoms.reporting.report import Report

# What each verdict means; the probability is HOLDS of `compare`.
MEANINGS: dict[Verdict, str] = {
    "certain": "significant, with a probability of 95% or more still significant in the same direction once judged, "
    "and no judging of the two systems' documents and no tie order reverses the sign",
    "supported": "significant, and with a probability of 95% or more still significant in the same direction once "
    "judged",
    "fragile": "significant as judged, but judging or ties may well undo it",
    "open": "not significant, no claim",
    "tie": "the means are equal",
}
# What keeps a pair from being claimed, by verdict and reason.
OBSTACLES = {
    ("open", "topics"): ("for lack of topics", "the difference is not significant"),
    ("open", "judging"): (
        "because of judging",
        "not significant as judged, but probably significant after further judging",
    ),
    ("open", "ties"): ("because of ties", "not significant, and tie-breaking alone could reverse it"),
    ("fragile", "judging"): ("because of judging", "significant as judged, but further judging may undo it"),
    ("fragile", "ties"): ("because of ties", "significant as judged, but tie-breaking may undo it"),
    ("tie", "equal means"): ("because of equal means", "neither is ahead"),
}
TOP_PLACES = 10
FAR_LESS = 0.8  # of the judged share of the best system
NAMED = 3  # rivals whose number of topics is given


# -- what can be claimed ----------------------------------------------------------------------------------------------


def claims(report: Report, measure: Measure) -> list[str]:
    sentences = [f"{_first(report, measure)}{_likely(report, measure)}{_range(report, measure)}"]
    if report.comparison is None:
        return [*sentences, "There is only one system, so there is nothing to compare it with."]
    return [*sentences, _better_than(report, measure), *_pair_by_pair(report, measure, claimed=True)]


def _first(report: Report, measure: Measure) -> str:
    best = report.ranked(measure)[0]
    shared = leaders(report, measure)[1:]
    score = f"{best.mean(measure)['score'] or 0.0:.4f} over {pluralise(len(best.topics), 'topic')}"
    if report.comparison is None:
        return f"{best.run} scores {score} by {measure.name}."
    has = f"shares the highest {measure.name} with {some(shared)}" if shared else f"has the highest {measure.name}"
    return f"{best.run} {has}, {score}."


def _likely(report: Report, measure: Measure) -> str:
    estimated = report.estimates.get((report.ranked(measure)[0].run, measure.name))
    if estimated is None:
        return ""
    estimate, low, high = estimated
    interval = f"{100 * report.level:g}% interval {low:.4f} to {high:.4f}"
    return f" Its estimate after further judging is {estimate:.4f} ({interval})."


def _range(report: Report, measure: Measure) -> str:
    mean = report.ranked(measure)[0].mean(measure)
    if mean["low"] is None or mean["high"] is None:
        return ""
    over = " ".join(range_sentences(replace(report.evaluation, measures=[measure])))
    return f" Its possible range is {mean['low']:.4f} to {mean['high']:.4f}. {over}"


def _better_than(report: Report, measure: Measure) -> str:
    best = report.ranked(measure)[0].run
    pairs = of_run(report, measure, best)
    sentences: list[str] = []
    for verdict in CLAIMED:
        names = [other_run(pair, best) for pair in pairs if pair.verdict == verdict]
        if names:
            every = len(names) == len(pairs) > 1
            whom = f"all {len(pairs)} others" if every else f"{len(names)} of {pluralise(len(pairs), 'other system')}"
            it_is = f"It is also better than {len(names)} more" if sentences else f"It is better than {whom}"
            listed = "" if every else f" ({some(names)})"
            sentences.append(f"{it_is}{listed}; {verdict}: {MEANINGS[verdict]}.")
    return " ".join(sentences) or "It cannot be claimed to be better than any other system."


def _pair_by_pair(report: Report, measure: Measure, *, claimed: bool) -> list[str]:
    """Pair by pair where there are few: those that can be claimed, or the others."""
    pairs = report.pairs(measure)
    if report.comparison is None or len(pairs) > MANY:
        return []
    return [sentence(pair, report.comparison) for pair in pairs if (pair.verdict in CLAIMED) == claimed]


# -- what cannot ------------------------------------------------------------------------------------------------------


def doubts(report: Report, measure: Measure) -> list[str]:
    """What should not be said."""
    sentences: list[str] = []
    if report.pairs(measure):
        ranked = [run.run for run in report.ranked(measure)]
        sentences += [
            *(_not_better(report, measure) or _best_of_all(report, measure)),
            *_expected_ahead(report, measure),
            *_other_measures(report, measure),
            *_thinly_judged(report, ranked),
            _neighbours(report, measure, ranked),
            *_pair_by_pair(report, measure, claimed=False),
        ]
    changes, could = report.ties.means[measure].verdicts()
    if changes.any() or could.any():
        sentences.append(tie_sentences.of_measure(report.ties, measure))
    return sentences + depth_sentences(report, measure)


def _not_better(report: Report, measure: Measure) -> list[str]:
    """The systems that the first one is not claimed to be better than, by what is missing."""
    best, unclaimed = report.ranked(measure)[0].run, rivals(report, measure)
    if not unclaimed:
        return []
    parts = []
    for (verdict, reason), (why, meaning) in OBSTACLES.items():
        names = [name for name, pair in unclaimed if (pair.verdict, obstacle(pair)) == (verdict, reason)]
        if names:
            parts.append(f"{len(names)} {why} ({meaning}): {some(names)}")
    others = len(report.evaluation.runs) - 1
    whom = f"{len(unclaimed)} of {pluralise(others, 'other system')}"
    sentences = [f"By {measure.name}, {best} cannot be claimed to be better than {whom}: {'; '.join(parts)}."]
    fixed = [name for name, pair in unclaimed if pair.verdict == "open" and pair.reversible == "no"]
    if fixed:
        sentences.append(
            f"Topics and judging are two questions: on these topics no judging of the two systems' documents and no "
            f"tie-breaking puts {some(fixed)} ahead of {best}; that the "
            "difference is not significant means that it might be otherwise on other topics."
        )
    return sentences


def _best_of_all(report: Report, measure: Measure) -> list[str]:
    """Nothing is missing by this measure; where the model or another measure says otherwise, that follows."""
    if _expected_ahead(report, measure) or _other_measures(report, measure):
        return []
    return [f"No comparison by {measure.name} leaves {report.ranked(measure)[0].run} in doubt."]


def expected_ahead(report: Report, measure: Measure) -> list[tuple[str, float]]:
    """Systems that the estimates put ahead of the first one, with the probability, the most probable first."""
    best = report.ranked(measure)[0].run
    sentences = [
        (other_run(pair, best), chance_of_other(pair, best))
        for pair in of_run(report, measure, best)
        if chance_of_other(pair, best) >= LIKELY and ahead_by_estimate(pair) != best
    ]
    return sorted(sentences, key=lambda run_chance: -run_chance[1])


def _expected_ahead(report: Report, measure: Measure) -> list[str]:
    best, more_probable = report.ranked(measure)[0].run, expected_ahead(report, measure)
    if not more_probable:
        return []
    listed = some([f"{name} ({chance:.2f})" for name, chance in more_probable])
    return [
        f"That {best} stays ahead under further judging: by {measure.name}, estimates put these ahead of it, with the "
        f"probability in brackets: {listed}."
    ]


def _other_measures(report: Report, measure: Measure) -> list[str]:
    """Claims by another measure against the system that is first by this one."""
    best = report.ranked(measure)[0].run
    sentences = []
    for other in report.measures:
        names = [ahead(p)[0] for p in of_run(report, other, best) if p.verdict in CLAIMED and ahead(p)[0] != best]
        if names:
            sentences.append(
                f"That {best} is best whatever the measure: by {other.name}, {some(names)} can be claimed better."
            )
    return sentences


def judged_shares(report: Report) -> dict[str, float]:
    """The judged share of each run's first documents, as far as it is known."""
    known = {} if report.audit is None else {run: shares[TOP_PLACES] for run, shares in report.audit.shares.items()}
    return {run: share for run, share in known.items() if share is not None}


def _thinly_judged(report: Report, ranked: Sequence[str]) -> list[str]:
    """Systems whose scores may be too low, for the best one has much more judged."""
    shares = judged_shares(report)
    own = shares.get(ranked[0])
    if own is None:
        return []
    thin = sorted((run for run in shares if shares[run] < FAR_LESS * own), key=lambda run: shares[run])
    if not thin:
        return []
    listed = some([f"{run} ({as_percent(shares[run])})" for run in thin])
    return [
        f"Judging is uneven: far less of the top {TOP_PLACES} is judged for {listed} than for {ranked[0]} "
        f"({as_percent(own)}). Their scores may be too low; see their ranges."
    ]


def _neighbours(report: Report, measure: Measure, ranked: Sequence[str]) -> str:
    neighbours = {frozenset(two) for two in pairwise(ranked)}
    claimed = sum(frozenset((p.run_a, p.run_b)) in neighbours and p.verdict in CLAIMED for p in report.pairs(measure))
    return (
        f"The ranking as a whole: of {pluralise(len(neighbours), 'difference')} between one system and the next, "
        f"{claimed} can be claimed."
    )


def depth_sentences(report: Report, measure: Measure) -> list[str]:
    bare = measure.name.partition("@")[0]
    taus = report.volatility(bare)
    if report.depths is None or taus is None:
        return []
    depths = report.depths.depths
    start = stable_from(taus, depths)
    if start is None:
        return [
            f"{bare}: the order of the systems depends on the depth of evaluation, down to depth {depths[-1]} "
            f"(Kendall's tau between two of the deepest is below {STABLE:g})."
        ]
    if is_short(start, depths[-1]):
        return [
            f"{bare}: the order of the systems depends on the depth of evaluation, down to depth {depths[-1]} at least "
            f"(only from depth {start} on is Kendall's tau {STABLE:g} or more, which is too short a stretch to tell)."
        ]
    if start == depths[0]:
        return [
            f"{bare}: the depth of evaluation hardly matters (Kendall's tau between any two is {STABLE:g} or more)."
        ]
    sentence = (
        f"{bare}: at depths shallower than {start} the order of the systems depends on the depth of evaluation; from "
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
            f"{measure.name}: {sum(missing.values()):,} of {pluralise(len(pairs), 'pair')} of systems cannot be "
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
    """What judging can do for the open question: is the first system better than those close to it?"""
    if report.comparison is None:
        return []
    best, unclaimed = report.ranked(measure)[0].run, rivals(report, measure)
    if not unclaimed:
        return [f"Judging is not what is missing: by {measure.name}, {best} is better than all others (see above)."]
    unsure = [name for name, pair in unclaimed if obstacle(pair) == "judging"]  # whether significant once judged
    if all(pair.reversible == "no" for _, pair in unclaimed):
        proved = (
            f"by {measure.name}, no judging of the two systems' documents reverses any difference "
            f"between {best} and the systems that it cannot be "
            "claimed to be better than"
        )
        if unsure:
            return [f"Judging can do one thing: {proved}, but those from {some(unsure)} may become significant."]
        return [f"Judging is not what is missing: {proved}."]
    judging = report.judging.get(measure.name)
    if judging is None:
        return [f"What to judge next: {why_not(measure)}."]
    advice = [_advice(judging, [name for name in unsure if name in judging.systems])]
    if judging.judged == judging.documents:
        return advice
    return [
        *advice,
        "Settled means on these topics, according to the model; a difference can be settled without being significant.",
    ]


def _advice(judging: Judging, unsure: Sequence[str]) -> str:
    """What the engine says; of the systems that are `unsure` judging may undo or bring the significance."""
    best, others = judging.systems[0], judging.systems[1:]
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
    """Which of the others the model puts ahead of the first system, and which behind it."""
    best, *others = judging.systems
    chances = dict(zip(others, judging.confidence[0, 1:].tolist(), strict=True))
    before = [name for name, chance in chances.items() if 1 - chance >= judging.until]
    behind = [name for name, chance in chances.items() if chance >= judging.until]
    parts = [f"{best} is ahead of {some(behind)}"] * bool(behind) + [f"{best} is behind {some(before)}"] * bool(before)
    return f"Settled: {'; '.join(parts)}. " if parts else ""


def trust(report: Report, measure: Measure) -> list[str]:
    """What the audit says of the collection, with the change of scores by this measure, and how estimates by it were
    checked."""
    checked = [line for line in about_estimates(report, measure) if line.startswith(_about(measure))]
    if report.audit is None:
        return [f"The pool could not be audited: {report.audit_problem}.", *checked]
    return [*audit_sentences.sentences(replace(report.audit, measures=[measure])), *checked]


def about_estimates(report: Report, measure: Measure) -> list[str]:
    """What is said of the estimates, without the checks of other measures."""
    others = tuple(start for other in report.measures if other.name != measure.name for start in _about(other))
    return [line for line in report.about_estimates if not line.startswith(others)]


def _about(measure: Measure) -> tuple[str, ...]:
    """How lines about the estimates by one measure begin."""
    return (f"{measure.name},", f"{measure.name}:")


def summary(report: Report, measure: Measure) -> list[tuple[str, Sequence[str]]]:
    """The parts of the summary: heading and sentences."""
    return [
        ("What can be claimed", claims(report, measure)),
        ("What cannot", doubts(report, measure)),
        ("What would help", remedies(report, measure)),
        ("Can the collection be trusted?", trust(report, measure)),
    ]
