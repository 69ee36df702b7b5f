"""What each assessor of a session did: how much, how fast, and whether others agree."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import fmean, median

from fathoms.judging.agreement import kappa
from fathoms.judging.log import Event
from fathoms.judging.session import Session, Twice

BREAK = 600.0  # seconds between two answers from which on somebody was away


@dataclass(frozen=True)
class AssessorSummary:
    """One assessor's work, as far as it stands."""

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


def summaries(session: Session) -> dict[str, AssessorSummary]:
    """The assessors that gave answers, by name."""
    events: dict[str, list[Event]] = defaultdict(list)
    for event in session.standing:
        if event.kind != "final":
            events[event.assessor].append(event)
    twice = session.twice()
    return {name: _summary(session, name, events[name], twice) for name in sorted(events)}


def _summary(session: Session, name: str, events: list[Event], twice: list[Twice]) -> AssessorSummary:
    grades = [event for event in events if event.kind == "grade"]
    shared = [one for one in twice if name in (one.first.assessor, one.second.assessor)]
    gaps = working_seconds([(session.revised(event) or [event])[0].time for event in events])
    return AssessorSummary(
        name=name,
        judged=len(grades),
        relevant=sum((event.grade or 0) >= session.settings.rel for event in grades),
        skipped=len(events) - len(grades),
        revised=sum(bool(session.revised(event)) for event in grades),
        seconds=median(gaps) if gaps else None,
        per_hour=3600 / max(fmean(gaps), 1e-3) if gaps else None,
        last=max((event.time for event in events), default=None),
        twice=len(shared),
        kappa=kappa(
            ((one.first.assessor, one.first.grade or 0), (one.second.assessor, one.second.grade or 0)) for one in shared
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
