"""What an audit says in words: what can be trusted, and what cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathoms.comparison.audit_findings import changes
from fathoms.text import pluralise

if TYPE_CHECKING:
    from fathoms.comparison.audit_result import Audit

FEW_LEFT, MANY_LEFT = 0.05, 0.2  # relevant share of the documents last pooled; a fifth is what ClueWeb still had
# Mean change in percent, from Table 5: at most as on TREC 8, at least as on ClueWeb.
LIKE_TREC8 = {"run": 2.0, "group": 5.0}
LIKE_CLUEWEB = {"run": 12.0, "group": 30.0}


def sentences(result: Audit) -> list[str]:
    """What can be trusted and what cannot, one sentence or two a question."""
    return [_depth_said(result), _found_said(result), *_reuse_said(result), _guidelines_said(result)]


def _depth_said(result: Audit) -> str:
    how = "asked for" if result.depth_asked else "as far as they are judged"
    judged = int((result.qrels.grades >= 0).sum())
    inside = "all" if result.in_pool == judged else f"{result.in_pool:,} of {judged:,}"
    return (
        f"Pool: {pluralise(len(result.contributing), 'run')} to depth {result.depth} ({how}), with {inside} judgments. "
        "To that depth utility-based scores of the contributing runs are complete; recall-based ones depend on R."
    )


def _found_said(result: Audit) -> str:
    last = next((step for step in reversed(result.steps) if step.rate is not None), None)
    start = f"Relevant documents: {result.found[-1].mean:.1f} a topic at depth {result.depth}"
    if last is None or last.rate is None:
        return f"{start}."
    if last.rate <= FEW_LEFT:
        verdict = "few are left to find"
    elif last.rate < MANY_LEFT:
        verdict = "deeper pools would find more, so R is too small"
    else:
        verdict = "there is no reason to think that most of them have been found; do not trust R"
    return (
        f"{start}; of the documents that the last step of the pool added (depths {last.shallow + 1} to {last.deep}) "
        f"{last.rate:.1%} are relevant: {verdict}."
    )


def _reuse_said(result: Audit) -> list[str]:
    """One verdict, by whichever experiment is further from TREC 8's figures in the paper."""
    rated = {m.name for m in result.measures if m.based_on != "neither"}
    said, severity = [], 0
    for kind, left in (("run", result.run_out), ("group", result.group_out)):
        known = [
            (found.percent.mean, found)
            for found in changes(left)
            if found.percent is not None and found.measure in rated
        ]
        if not known:
            continue
        percent, worst = max(known, key=lambda pair: abs(pair[0]))
        moved = max(found.rank.mean for _, found in known)
        severity = max(severity, (abs(percent) > LIKE_TREC8[kind]) + (abs(percent) >= LIKE_CLUEWEB[kind]))
        whom = "a run that had not contributed" if kind == "run" else "one whose whole group had not"
        said.append(
            f"{whom} would see its score change by {percent:+.1f}% ({worst.measure}) and move by {moved:.1f} of "
            f"{len(result.shares)} ranks"
        )
    if not said:
        return []
    verdict = (
        "new systems can be scored",
        "score new systems with care, and with their ranges",
        "new systems cannot be compared with those that contributed",
    )[severity]
    return [f"Reuse: on average, {'; '.join(said)}: {verdict}."]


def _guidelines_said(result: Audit) -> str:
    warned = [f"{one.number} ({one.name})" for one in result.guidelines if one.status == "warn"]
    passed = sum(one.status == "pass" for one in result.guidelines)
    return f"Guidelines: {passed} hold" + (f"; look at {', '.join(warned)}." if warned else ", and none is broken.")
