"""Whether people who judged the same documents agree, and how many more it takes to know."""

from __future__ import annotations

from collections import Counter

from fathoms.judging.agreement import Agreement, SecondGrades, agreement
from fathoms.judging.state import JudgingState


def kappa_of(state: JudgingState) -> Agreement | None:
    """Cohen's kappa with its standard error: of documents drawn at random, or by first grade for `kappa_error`."""
    if state.settings.kappa_error is not None:
        return second_grades(state).agreement()
    return agreement(
        ((first.assessor, first.grade or 0), (second.assessor, second.grade or 0))
        for first, second, _ in state.judged_twice
    )


def kappa_interval(state: JudgingState, level: float = 0.95) -> tuple[float, float] | None:
    kappa = kappa_of(state)
    return second_grades(state).interval(level, around=None if kappa is None else kappa.kappa)


def second_grades(state: JudgingState) -> SecondGrades:
    """Second grades by first grade, of the documents that were drawn for it."""
    first, second = state.two_grades
    drawn = second if state.settings.kappa_error is None else state.drawn_for_two
    pairs = [(first[document], grade) for document, grade in second.items() if document in drawn]
    return SecondGrades(Counter(first.values()), pairs)
