"""What an audit says in words: what can be trusted, and what cannot.

All of it is about judging: what is judged, and what further judging could change. Whether differences would hold on
other topics, their significance, is for `compare` to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fathoms.base.text import capitalised, pluralise
from fathoms.questions.audit.findings import Change, Judged, LeftOut, Step, as_percent, changes
from fathoms.questions.audit.guidelines import ENOUGH_JUDGED, OUTSIDE, few_judged
from fathoms.questions.audit.new_run_calls import SURE

if TYPE_CHECKING:
    from fathoms.questions.audit.result import Audit

FEW_LEFT, MANY_LEFT = 0.05, 0.2  # relevant share of the documents last pooled; a fifth is what ClueWeb still had
ENOUGH_TO_TELL = 30  # documents in that last step that it takes to conclude anything from their share
# Mean change in percent, from Table 5: at most as on TREC 8, at least as on ClueWeb.
FEW_ELSEWHERE = 0.05  # of the judgments; above this, other runs than the given ones contributed
LIKE_TREC8 = {"run": 2.0, "group": 5.0}
LIKE_CLUEWEB = {"run": 12.0, "group": 30.0}
REUSE = (
    "new systems can probably be scored as fairly as the runs that contributed",
    "score new systems with care, and look at their ranges",
    "do not compare scores of new systems with those of the runs that contributed",
)


def answers(result: Audit) -> list[str]:
    """Whether new systems can be scored with these judgments, and the figure that shows it."""
    if not result.pool_known:
        return ["Reuse: nothing shows which runs contributed, so look at how much of each run is judged."]
    reasons = _reuse(result)
    if not reasons:
        return ["Reuse: unknown, as no run can be left out of the pool to see what would become of its scores."]
    severity, reason = max(reasons, key=lambda reason_given: reason_given[0])
    given = "if the pool is the one assumed, " if result.assumed else ""
    if not result.pool_sure:
        runs = pluralise(len(result.contributing), "run")
        given = f"the judgments cannot tell which runs contributed; if it was the {runs} taken here, "
    return [f"Reuse: {given}{REUSE[severity]}. {reason}"]


def remarks(result: Audit) -> list[str]:
    """The pool, what else bears on reuse, what pooling found, and the guidelines, which come last."""
    reasons = _reuse(result) if result.pool_known else []
    first = max(reasons, key=lambda reason: reason[0], default=None)
    more = [reason[1] for reason in reasons if reason is not first]
    return [
        _contributing_said(result),
        *more,
        *_new_runs_said(result),
        _pool_said(result),
        _found_said(result),
        _guidelines_said(result),
    ]


def sentences(result: Audit) -> list[str]:
    return [*answers(result), *remarks(result)]


def _contributing_said(result: Audit) -> str:
    given_words, seen = "as asked for", "inferred from what is judged"
    n, given = len(result.contributing), len(result.shares)
    if not result.assumed:
        how = given_words if result.depth_asked else seen
        return f"Pool: the {pluralise(n, 'run')} listed, to depth {result.depth} ({how})."
    if not result.depth_asked:
        return f"{capitalised(result.pool_said)}."
    if not result.pool_known:
        return (
            "No pool is known: no run is judged through its first ranks, and no --pooled list was given. Taken "
            f"instead: the first {result.depth} documents of {pluralise(given, 'run')}."
        )
    seen += "" if result.pool_sure else ", which cannot tell for sure"
    return (
        f"Assumed pool: {n} of {pluralise(given, 'run')} ({seen}, as no --pooled list was given), "
        f"to depth {result.depth} ({given_words})."
    )


def _new_runs_said(result: Audit) -> list[str]:
    """How often pairs with a left-out run were called with confidence, and how often rightly."""
    sentences = []
    for measure in dict.fromkeys(calls.measure for calls in result.calls):
        of_measure = [calls for calls in result.calls if calls.measure == measure]
        pairs, right = sum(calls.pairs for calls in of_measure), sum(calls.right for calls in of_measure)
        sure = [calls for calls in of_measure if calls.low >= SURE]
        n_sure, right_sure = sum(calls.pairs for calls in sure), sum(calls.right for calls in sure)
        rightly = f", and {as_percent(right_sure / n_sure)} of these were right" if n_sure else ""
        sentences.append(
            f"New runs by {measure}: had a third of the contributing runs not been there, "
            f"{as_percent(n_sure / pairs)} of {pairs:,} pairs with one of them would have been called with at least "
            f"{SURE:.0%} confidence{rightly}. Of all pairs, {as_percent(right / pairs)} would have been called rightly."
        )
    return sentences


def _pool_said(result: Audit) -> str:
    d, parts = result.depth, list[str]()
    everything = int((result.qrels.grades >= 0).sum())
    if result.used < everything:
        parts.append(f"Only the {result.used:,} of {everything:,} judgments that such a pool has are used.")
    elif result.in_pool < everything:
        parts.append(
            f"{result.in_pool:,} of {everything:,} judgments are of documents that these runs retrieved to that depth; "
            "the others are kept."
        )
    judged = {name: result.judged[name] for name in result.contributing}
    share = Judged.total(judged.values()).share
    if share is None or share == 1:
        parts.append(
            f"All of the runs' first {d} documents are judged, so further judging cannot change scores that depend on "
            f"these alone, such as P@{d}; measures that need R can change."
        )
    else:
        least = min(judged, key=lambda name: (1.0 if judged[name].share is None else judged[name].share, name))
        few = as_percent(share)
        parts.append(
            f"{capitalised(few)} of the runs' first {d} documents are judged (lowest: {least}, "
            f"{as_percent(judged[least].share or 0.0)}), so further judging can change even their P@{d}."
        )
    return " ".join(parts)


def _found_said(result: Audit) -> str:
    if not result.pool_known:
        return (
            f"Relevant documents: {result.relevant[-1].mean:.1f} per topic in the runs' first {result.depth} documents."
        )
    last = _last_pooled(result.steps)
    start = f"Relevant documents: {result.relevant[-1].mean:.1f} per topic in the pool of depth {result.depth}"
    if last.rate is None:
        return f"{start}."
    unless = "unless other runs have found them already" if _elsewhere(result) else ""
    if last.judged < ENOUGH_TO_TELL:
        verdict = "too few documents to tell whether a deeper pool would find more"
    elif last.rate <= FEW_LEFT:
        verdict = "a deeper pool would probably find few more for what it costs"
    elif last.rate < MANY_LEFT:
        verdict = f"a deeper pool would probably find more, {unless or 'so R is too small'}"
    else:
        verdict = f"a deeper pool would probably find many more, {unless or 'so do not trust measures that need R'}"
    depths = f"depth {last.deep}" if last.deep == last.shallow + 1 else f"depths {last.shallow + 1} to {last.deep}"
    return (
        f"{start}; of the {pluralise(last.judged, 'judged document')} that {depths} added, {last.rate:.1%} "
        f"{'is' if last.relevant == 1 else 'are'} relevant: {verdict}."
    )


def _elsewhere(result: Audit) -> int:
    """Judgments that the contributing runs do not explain, if there are more than a few."""
    elsewhere = result.used - result.in_pool
    return elsewhere if elsewhere > FEW_ELSEWHERE * result.used else 0


def _last_pooled(steps: Sequence[Step]) -> Step:
    """The last step of the pool, or as many of the last steps as hold enough documents to judge by."""
    *before, last = steps
    while before and last.judged < ENOUGH_TO_TELL:
        name = before.pop()
        last = Step(name.shallow, last.deep, name.judged + last.judged, name.relevant + last.relevant)
    return last


def _reuse(result: Audit) -> list[tuple[int, str]]:
    """What bears on reuse, each with how bad it is, measured by its distance from TREC 8's figures in the paper."""
    reasons: list[tuple[int, str]] = []
    for kind, left in (("run", result.run_out), ("group", result.group_out)):
        change = _worst(result, left)
        if change is None or change.absolute is None or change.most is None:
            continue
        size = change.absolute
        severity = (size > LIKE_TREC8[kind]) + (size >= LIKE_CLUEWEB[kind])
        whom = "a contributing run" if kind == "run" else "a run's whole team"
        text = (
            f"Had {whom} not contributed, the run's {change.measure} would change by {size:.1f}% on average and "
            f"{abs(change.most.percent or 0.0):.1f}% at most ({change.most.run}); it would move by "
            f"{change.rank.mean:.1f} ranks on average, among {len(result.shares)} runs."
        )
        reasons.append((severity, text))
    elsewhere = _elsewhere(result)
    if reasons and elsewhere:
        text = (
            f"The true change may be smaller: {elsewhere:,} of {result.used:,} judgments come from runs that are not "
            "given here, which may have found the same documents."
        )
        reasons.append((0, text))
    outside = {name: result.judged[name].share for name in result.others}
    thin = sorted((share, name) for name, share in outside.items() if share is not None and share < ENOUGH_JUDGED)
    if thin:
        few = few_judged(OUTSIDE[result.assumed], len(thin), len(outside), result.depth, thin[0][1], thin[0][0])
        reasons.append((1, f"{few}."))
    return reasons


def _worst(result: Audit, left: list[LeftOut]) -> Change | None:
    """The measure that compares systems and changes most."""
    rated = {m.name for m in result.measures if m.based_on != "neither"}
    known = [change for change in changes(left) if change.absolute is not None and change.measure in rated]
    return max(known, key=lambda change: change.absolute or 0.0, default=None)


def _guidelines_said(result: Audit) -> str:
    passed = sum(guideline.status == "pass" for guideline in result.guidelines)
    warned = [f"{guideline.number} ({guideline.name})" for guideline in result.guidelines if guideline.status == "warn"]
    apply = sum(guideline.status != "not applicable" for guideline in result.guidelines)
    look = f"; look at {', '.join(warned)}." if warned else "."
    return f"Guidelines: {passed} of the {apply} that apply hold{look}"
