"""What each assessor of a session did: how much, how fast, and whether others agree."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import fmean, median

from fathoms.judging.agreement import kappa
from fathoms.judging.state import JudgingState, OwnWork

BREAK = 600.0  # seconds between two answers above which somebody was away


@dataclass(frozen=True)
class AssessorSummary:
    """One assessor's work, so far."""

    name: str
    judged: int
    relevant: int  # of these
    skipped: int
    revised: int  # documents whose grade was changed
    seconds: float | None  # median time for a document, breaks left out
    per_hour: float | None  # documents in an hour of work
    last: str | None  # time of the last answer, UTC
    twice: int  # documents that somebody else judged too
    kappa: float | None  # agreement on these


def summaries(state: JudgingState) -> dict[str, AssessorSummary]:
    """The assessors that gave answers, by name."""
    return {name: _summary(state, name, work) for name, work in sorted(state.works.items()) if work.answers}


def _summary(state: JudgingState, name: str, work: OwnWork) -> AssessorSummary:
    shared = [both for both in state.judged_twice if name in (both.first.assessor, both.second.assessor)]
    answers = list(work.answers.values())
    revised = {event.number: state.revised(event) for event in answers}
    gaps = working_seconds([(revised[event.number] or [event])[0].time for event in answers])
    return AssessorSummary(
        name=name,
        judged=work.judged,
        relevant=work.relevant,
        skipped=work.skipped,
        revised=sum(bool(revised[event.number]) for event in answers if event.kind == "grade"),
        seconds=median(gaps) if gaps else None,
        per_hour=3600 / max(fmean(gaps), 1e-3) if gaps else None,
        last=max((event.time for event in answers), default=None),
        twice=len(shared),
        kappa=kappa(
            ((first.assessor, first.grade or 0), (second.assessor, second.grade or 0)) for first, second, _ in shared
        ),
    )


def working_seconds(times: list[str]) -> list[float]:
    """Seconds from one answer to the next, without breaks.

    >>> working_seconds(["2024-01-01T10:00:00+00:00", "2024-01-01T10:00:20+00:00", "2024-01-01T12:00:00+00:00"])
    [20.0]
    """
    seconds = sorted(datetime.fromisoformat(time).timestamp() for time in times)
    gaps = [later - earlier for earlier, later in pairwise(seconds)]
    return [gap for gap in gaps if gap <= BREAK]
