"""What the page tells about a session: everything to whoever organises it, their own part to assessors."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

from fathoms.judging.assessor_stats import AssessorSummary
from fathoms.judging.events import Event
from fathoms.judging.judged_twice import kappa_interval, kappa_of
from fathoms.judging.log import Point
from fathoms.judging.session import Session
from fathoms.judging.standings import count_settled
from fathoms.judging.state import JudgedTwice, JudgingState
from fathoms.judging.web.look_ahead import View

SHOWN = 200  # points of the curve, and judgments in a list
OPEN_PAIRS = 50  # in the list of those


def overview(session: Session, view: View, trace: list[Point]) -> dict[str, Any]:
    """Everything except who is here and whether it goes on."""
    state, settings = session.state, session.settings
    names = [name for name, _ in view.expected]
    shown = [pair for pair in view.pairs if pair.measure == settings.measures[0]]
    chance = {(pair.better, pair.other): pair.confidence for pair in shown}
    chance |= {(other, better): 1 - sure for (better, other), sure in chance.items()}
    in_all, settled = count_settled(view.pairs, settings.until)
    open_pairs = sorted(
        (pair for pair in view.pairs if pair.confidence < settings.until), key=lambda pair: pair.confidence
    )
    kappa = kappa_of(state)
    return {
        "judged": state.n_judged,
        "relevant": sum(settings.is_relevant(event.grade) for event in state.grades),
        "skipped": len(state.skips),
        "imported": len(session.documents.imported),
        "until": settings.until,
        "max_grade": settings.max_grade,
        "rel": settings.rel,
        "measures": list(settings.measures),  # runs are shown by the first
        "runs": [{"name": name, "expected": value} for name, value in view.expected],
        "confidence": [[chance.get((better, other)) for other in names] for better in names],
        "pairs": in_all,
        "settled": settled,
        "open": open_pairs[:OPEN_PAIRS],
        "weakest": open_pairs[0] if open_pairs else None,
        "forecast": view.forecast,
        "trace": [[point.judged, point.least, point.settled] for point in thinned(trace)],
        "double": settings.judge_twice,
        "twice": len(state.judged_twice),
        "agreed": sum(twice.first.grade == twice.second.grade for twice in state.judged_twice),
        "kappa": None if kappa is None else kappa.kappa,
        "kappa_interval": kappa_interval(state),
        "disagreements": [_disagreement(twice) for twice in state.disagreements],
    }


def _disagreement(twice: JudgedTwice) -> dict[str, Any]:
    first, second, final = twice
    return {
        "topic": first.topic,
        "document": first.document,
        "grades": [[event.assessor, event.grade, event.note] for event in (first, second)],
        "final": None if final is None else [final.assessor, final.grade],
    }


def person(
    name: str, summaries: Mapping[str, AssessorSummary], *, topic: str | None, is_here: bool, seen: float | None
) -> dict[str, Any]:
    """An assessor's work, where the assessor is, and seconds since the last sign of life."""
    summary = summaries.get(name) or AssessorSummary(name, 0, 0, 0, 0, None, None, None, 0, None)
    return asdict(summary) | {
        "here": is_here,
        "seen": None if seen is None else round(seen),
        "topic": topic if is_here else None,
    }


def recent(state: JudgingState, assessor: str | None, topic: str | None) -> list[Event]:
    """The last answers that stand, the latest first, of one assessor or topic if that is asked for."""
    wanted = (event for event in state.standing if assessor in (None, event.assessor) and topic in (None, event.topic))
    return sorted(wanted, key=lambda event: -event.number)[:SHOWN]


def topics_judged(state: JudgingState, topics: Collection[str], assessor: str | None = None) -> list[str]:
    """Topics of which something is judged, in the order given."""
    judged = {event.topic for event in state.standing if assessor in (None, event.assessor)}
    return [topic for topic in topics if topic in judged]


def thinned(points: list[Point]) -> list[Point]:
    """So many points at most, the last one among them."""
    step = -(-len(points) // SHOWN) or 1
    return points[::-1][::step][::-1]
