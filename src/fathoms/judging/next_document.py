"""Which document comes next, for whoever judges: alone at a terminal, on the page with others, or in a batch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Protocol

from fathoms.judging.documents_to_judge import DocumentsToJudge
from fathoms.judging.engine import Engine
from fathoms.judging.state import JudgingState


class Choices(Protocol):
    """Candidates that the engine would have judged, the best first; some may be judged or skipped by now."""

    def of_topic(self, topic: int) -> Iterable[int]: ...

    def of_other_topics(self, taken: Collection[int]) -> Iterable[int]:
        """Of topics on which nobody is."""

    def of_any_topic(self) -> Iterable[int]: ...


def offers(
    documents: DocumentsToJudge,
    state: JudgingState,
    assessor: str,
    choices: Choices,
    *,
    taken: Collection[int] = (),
    only_second: bool = False,
) -> Iterator[int]:
    """Candidates for an assessor, the best first.

    Second grades come first (unless they come last), then what was asked for first, what the engine wants of the topic
    on which the assessor stays, of topics on which nobody else is (others are `taken`), and of any. With `only_second`
    no document gets its first grade.
    """
    topic = documents.candidates.topic
    stays_on = state.work_of(assessor).stays_on
    own = None if stays_on is None else documents.candidates.topics.index(stays_on)
    second = sorted(documents.numbers(state.waiting(assessor)), key=lambda number: topic[number] in taken)
    if not state.seconds_come_last:
        yield from (number for number in second if own in (None, topic[number]))
    if not only_second:
        yield from documents.come_first(state)
        if own is not None:
            yield from (number for number in choices.of_topic(own) if documents.is_open(state, number))
        yield from (number for number in choices.of_other_topics(taken) if documents.is_open(state, number))
        yield from (number for number in choices.of_any_topic() if documents.is_open(state, number))
    yield from second


class EngineChoices:
    """The next n documents, as the engine wants them at this moment."""

    def __init__(self, engine: Engine, withheld: Sequence[int], n: int = 1) -> None:
        self._engine, self._withheld, self._n = engine, withheld, n

    def of_topic(self, topic: int) -> list[int]:
        return self._engine.queue(self._n, self._withheld, topic)

    def of_other_topics(self, taken: Collection[int]) -> list[int]:
        """None: topics are taken by people who judge at the same time, and here nobody else does."""
        return []

    def of_any_topic(self) -> list[int]:
        if self._n > 1:
            return self._engine.queue(self._n, self._withheld)
        best = self._engine.next(skip=self._withheld)
        return [] if best is None else [best]
