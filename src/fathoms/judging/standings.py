"""How runs compare, according to an engine that knows the answers of a session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fathoms.judging.engine import Engine
from fathoms.judging.other_assessors import OtherOpinion
from fathoms.judging.state import JudgingState


class PairStanding(NamedTuple):
    """Two runs, the better one first, and the probability that it is, by a measure."""

    better: str
    other: str
    confidence: float
    measure: str = "AP"


def pair_standings(engine: Engine, state: JudgingState) -> list[PairStanding]:
    """The pairs that matter, each with the probably better run first."""
    if state.settings.count_disagreement and (opinions := other_opinions(engine, state)) is not None:
        return [
            PairStanding(pair.better, pair.other, pair.with_others, pair.measure)
            if pair.with_others >= 0.5
            else PairStanding(pair.other, pair.better, 1 - pair.with_others, pair.measure)
            for pair in opinions
        ]
    standings = []
    for place, measure in enumerate(engine.measures):
        confidence = engine.confidence(place)
        for a, b in _better_first(engine, place):
            standings.append(PairStanding(engine.names[a], engine.names[b], float(confidence[a, b]), measure.name))
    return standings


def other_opinions(engine: Engine, state: JudgingState) -> list[OtherOpinion] | None:
    """The pairs that matter, and what would be believed about them if another assessor had judged; None if too few
    documents are judged twice to tell."""
    first, second = state.two_grades
    grades = [(first[document], grade) for document, grade in second.items()]
    opinions = []
    for place, measure in enumerate(engine.measures):
        others = engine.with_others(grades, place)
        if others is None:
            return None
        confidence, means = engine.confidence(place), engine.expected(place)
        for a, b in _better_first(engine, place):
            apart = float(means[a] - means[b])
            opinions.append(
                OtherOpinion(
                    engine.names[a],
                    engine.names[b],
                    measure.name,
                    float(confidence[a, b]),
                    float(others.confidence[a, b]),
                    apart,
                    apart + float(others.shift[a] - others.shift[b]),
                    float(others.deviation[a, b]),
                    float(others.with_others[a, b]),
                )
            )
    return opinions


def _better_first(engine: Engine, measure: int) -> Iterator[tuple[int, int]]:
    confidence = engine.confidence(measure)
    return ((a, b) if confidence[a, b] >= 0.5 else (b, a) for a, b in engine.pairs())


def expected_scores(engine: Engine, measure: int = 0) -> list[tuple[str, float]]:
    """Runs and the mean score to expect of them by a measure, best first."""
    values = zip(engine.names, engine.expected(measure).tolist(), strict=True)
    return sorted(values, key=lambda item: -item[1])


def is_settled(engine: Engine, state: JudgingState) -> bool:
    """Whether every pair is settled, or enough found, with find-all."""
    if not engine.settled() or not state.settings.count_disagreement:
        return engine.settled()
    is_known = other_opinions(engine, state) is not None
    return is_known and all(pair.confidence >= state.settings.until for pair in pair_standings(engine, state))


def count_settled(pairs: Sequence[PairStanding], until: float) -> tuple[int, int]:
    """How many pairs of runs there are, and how many of them are settled by every measure."""
    everyone = {frozenset((pair.better, pair.other)) for pair in pairs}
    still_open = {frozenset((pair.better, pair.other)) for pair in pairs if pair.confidence < until}
    return len(everyone), len(everyone) - len(still_open)
