"""The report's summary in sentences: what can be claimed, what cannot, what would settle it, what to trust."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from fathoms.comparison import audit_sentences, tie_sentences
from fathoms.comparison.compare import Pair
from fathoms.comparison.depth import stable_from, volatility
from fathoms.comparison.sentences import MANY, sentences_of
from fathoms.experiment.topics import some
from fathoms.measures.base import Measure
from fathoms.text import pluralise

if TYPE_CHECKING:
    from fathoms.reporting.report import Judging, Report

CLAIMED = ("certain", "supported")
TOP_PLACES = 10
FAR_LESS = 0.8  # of the judged share of the best system


def ahead(pair: Pair) -> tuple[str, str]:
    """The better run of a pair by its mean, and the other."""
    return (pair.run_a, pair.run_b) if pair.diff >= 0 else (pair.run_b, pair.run_a)


def claims(report: Report) -> list[str]:
    measure = report.measures[0]
    best = report.ranked(measure)[0]
    mean = best.mean(measure)
    sentence = f"{best.run} has the highest {measure.name}, {mean['score'] or 0.0:.4f} over {len(best.topics)} topics"
    if mean["low"] is not None and mean["high"] is not None:
        sentence += f"; with all of its documents judged it would lie between {mean['low']:.4f} and {mean['high']:.4f}"
    if report.comparison is None:
        return [f"{sentence}.", "There is one system only, so there is nothing to compare it with."]
    found = [sentence + "."]
    against = Counter(pair.verdict for pair in _with(report, measure, best.run) if ahead(pair)[0] == best.run)
    others = len(report.evaluation.runs) - 1
    claimed = sum(against[verdict] for verdict in CLAIMED)
    if claimed:
        found.append(
            f"That it is better can be claimed against {claimed} of the {pluralise(others, 'other system')}: "
            f"{against['certain']} certain (no judgment can turn it), {against['supported']} settled (significant, and "
            "neither ties nor the estimate of unjudged documents turn it)."
        )
    for other in report.measures[1:]:
        run = report.ranked(other)[0]
        pairs = _with(report, other, run.run)
        claimed = sum(pair.verdict in CLAIMED and ahead(pair)[0] == run.run for pair in pairs)
        score = run.mean(other)["score"] or 0.0
        found.append(f"By {other.name} {run.run} is first with {score:.4f}, and better than {claimed} of {others}.")
    if others < MANY:
        found += sentences_of(report.comparison, measure.name)
    return found


def doubts(report: Report) -> list[str]:
    """What should not be said, for the first measure."""
    measure = report.measures[0]
    ranked = [run.run for run in report.ranked(measure)]
    pairs = report.pairs(measure)
    found = []
    if pairs:
        rivals = [pair for pair in _with(report, measure, ranked[0]) if pair.verdict not in CLAIMED]
        names = sorted(
            (other for pair in rivals for other in (pair.run_a, pair.run_b) if other != ranked[0]), key=ranked.index
        )
        found.append(
            f"That {ranked[0]} is the best: it cannot be told from {pluralise(len(names), 'system')}, {some(names)}."
            if names
            else f"Nothing speaks against {ranked[0]} as the best by {measure.name}; see the other measures, though."
        )
        found += [*_expected_ahead(report), *_thinly_judged(report, ranked)]
        neighbours = {frozenset(two) for two in pairwise(ranked)}
        told_apart = sum(frozenset((p.run_a, p.run_b)) in neighbours and p.verdict in CLAIMED for p in pairs)
        found.append(
            f"The order of neighbours: of {pluralise(len(neighbours), 'pair')} next to each other in the ranking "
            f"{told_apart} can be told apart."
        )
    changes, could = report.ties.means[measure].verdicts()
    if changes.any() or could.any():
        found.append(tie_sentences.of_measure(report.ties, measure))
    return found + depth_sentences(report, measure)


def _expected_ahead(report: Report) -> list[str]:
    """Systems that the judging engine expects to overtake the first one, as the scores of unjudged runs often hide."""
    judging = report.judging
    if judging is None:
        return []
    behind = judging.confidence[:, 0] >= judging.until
    names = [name for name, passes in zip(judging.systems, behind, strict=True) if passes]
    if not names:
        return []
    return [
        f"That {judging.systems[0]} will stay ahead: with everything judged, the judging engine expects {some(names)} "
        f"to have the higher AP of the first {judging.depth} documents ({judging.until:.0%} confidence or more)."
    ]


def _thinly_judged(report: Report, ranked: Sequence[str]) -> list[str]:
    """Systems whose scores are too low by an unknown amount, for the best one has much more judged."""
    if report.audit is None:
        return []
    shares = {run: report.audit.shares[run][TOP_PLACES] or 0.0 for run in ranked}
    own = shares[ranked[0]]
    thin = sorted((run for run in ranked if shares[run] < FAR_LESS * own), key=lambda run: shares[run])
    if not thin:
        return []
    listed = some([f"{run} ({shares[run]:.0%})" for run in thin])
    return [
        f"Much about {pluralise(len(thin), 'system')} of whose top {TOP_PLACES} far less is judged than of that of "
        f"{ranked[0]} ({own:.0%}): {listed}. Their scores are too low, nobody knows by how much."
    ]


def _with(report: Report, measure: Measure, run: str) -> list[Pair]:
    return [pair for pair in report.pairs(measure) if run in (pair.run_a, pair.run_b)]


def depth_sentences(report: Report, measure: Measure) -> list[str]:
    bare = measure.name.partition("@")[0]
    if report.depths is None or bare not in report.depths.scores:
        return []
    start = stable_from(volatility(report.depths, bare), report.depths.depths)
    if start is None or start == report.depths.depths[-1]:
        return [f"{bare}: the order of the systems depends on the depth of evaluation all the way down."]
    if start == report.depths.depths[0]:
        return [f"{bare}: the depth of evaluation hardly matters: Kendall's tau of any two depths is 0.9 or more."]
    return [
        f"{bare}: above depth {start} the order of the systems depends on the depth of evaluation; from there on "
        "Kendall's tau of any two depths is 0.9 or more."
    ]


def remedies(report: Report) -> list[str]:
    measure = report.measures[0]
    unsettled = [pair for pair in report.pairs(measure) if pair.verdict == "open"]
    found = []
    if unsettled and report.comparison is not None:
        alpha = report.comparison.alpha
        reasons = ((sum(p.p_corrected >= alpha for p in unsettled), "not significant (more topics might help)"),)
        listed = "; ".join(f"{number:,} {why}" for number, why in reasons if number)
        many = pluralise(len(unsettled), "pair")
        found.append(f"{measure.name}: why {many} of systems cannot be told apart: {listed}.")
    return found + ([] if report.judging is None else judging_sentences(report.judging))


def judging_sentences(judging: Judging) -> list[str]:
    whom = f"the first {len(judging.systems)} systems ({some(judging.systems)})"
    left = judging.documents - judging.judged
    start = f"Judging, between {whom}, by AP of the first {judging.depth} documents: "
    pairs = len(judging.systems) * (len(judging.systems) - 1) // 2
    if not left:
        return [f"{start}everything they retrieved is judged."]
    if not judging.open_pairs:
        return [
            f"{start}on these topics the model knows with {judging.until:.0%} confidence or more which one is ahead in "
            f"{'the pair' if pairs == 1 else f'all {pairs} pairs'}, though {left:,} of their {judging.documents:,} "
            "documents are not judged; no further judging is needed."
        ]
    sentence = (
        f"{start}{len(judging.open_pairs)} of {pluralise(pairs, 'pair')} "
        f"{'is' if len(judging.open_pairs) == 1 else 'are'} open at {judging.until:.0%} confidence. "
    )
    if judging.forecast is None:
        return [f"{sentence}Judge ten documents, and there will be a forecast."]
    low, high = judging.forecast
    sentence += f"About {low:,} to {high:,} judgments would settle {'it' if len(judging.open_pairs) == 1 else 'them'}"
    if judging.first:
        sentence += f", first of all topic {judging.first[0].topic}, document {judging.first[0].document}"
    return [f"{sentence}; {left:,} of their {judging.documents:,} documents are unjudged."]


def trust(report: Report) -> list[str]:
    if report.audit is None:
        return [f"The pool could not be audited: {report.audit_problem}."]
    return audit_sentences.sentences(report.audit)


def summary(report: Report) -> list[tuple[str, Sequence[str]]]:
    """The parts of the summary: heading and sentences."""
    return [
        ("What can be claimed", claims(report)),
        ("What cannot", doubts(report)),
        ("What would settle it", remedies(report)),
        ("Can the collection be trusted?", trust(report)),
    ]
