"""The documents of a session: which there are, what was judged before, and what comes first.

The engine uses numbers of candidates, events use the ids of topics and documents; here they meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fathoms.base.errors import FathomsError
from fathoms.data.qrels import Qrels
from fathoms.evidence.candidates import Candidates
from fathoms.judging.sampling import JudgingSample
from fathoms.judging.state import DocumentId, JudgingState


class Task(NamedTuple):
    """A document to judge, and its number among the candidates."""

    candidate: int
    topic: str
    document: str

    @property
    def id(self) -> DocumentId:
        return self.topic, self.document


class DocumentsToJudge:
    """Candidates, those among them judged before, and what is asked for before the engine chooses."""

    def __init__(
        self,
        candidates: Candidates,
        depth: int,
        imported: Mapping[int, float],
        first: Sequence[int] = (),
        sample: JudgingSample | None = None,
    ) -> None:
        """`first` are candidates that are asked for before those that the engine chooses, in this order; of a `sample`,
        in its own order, and nothing else."""
        self.candidates, self.depth, self.imported, self.sample = candidates, depth, imported, sample
        self.first = list(dict.fromkeys(first)) if sample is None else sample.order
        self._drawn = frozenset(() if sample is None else sample.order)
        self._numbers: dict[DocumentId, int] = {}  # of those that were looked up

    def find(self, topic: str, document: str) -> int:
        """The number of a candidate."""
        number = self._numbers.get((topic, document))
        if number is None:
            number = self.candidates.find(topic, document)
            if number is None:
                raise FathomsError(
                    f"topic {topic}, document {document} is in no run's top {self.depth}; only what the runs "
                    "retrieved can be judged"
                )
            self._numbers[topic, document] = number
        return number

    def numbers(self, documents: Iterable[DocumentId]) -> list[int]:
        return [self.find(*document) for document in documents]

    def topic(self, number: int) -> str:
        return self.candidates.topics[self.candidates.topic[number]]

    def task(self, number: int) -> Task:
        return Task(number, self.topic(number), self.candidates.documents[number].decode(errors="surrogateescape"))

    def is_outside_sample(self, number: int) -> bool:
        """Whether there is a sample, and a document that nobody judged before is not in it."""
        return self.sample is not None and self.sample.stratum[number] >= 0 and number not in self._drawn

    def is_open(self, state: JudgingState, number: int) -> bool:
        """Whether nobody has judged or skipped this candidate yet, nor has it been handed out."""
        return number not in self.imported and state.is_untouched(self.task(number).id)

    def may_grade(self, state: JudgingState, number: int, assessor: str) -> bool:
        """Whether a candidate has no grade yet, or waits for a second one that this assessor may give."""
        document = self.task(number).id
        has_grade = state.has_grade(document) or number in self.imported
        return not has_grade or state.waits_for(document, assessor)

    def come_first(self, state: JudgingState) -> list[int]:
        """Candidates that were to come first and still wait for an answer, in order."""
        return [number for number in self.first if self.is_open(state, number)]

    def withheld(self, state: JudgingState) -> list[int]:
        """Candidates not to be offered, since somebody skipped them, or has them in a batch."""
        return self.numbers(state.withheld)

    def judgments(self, state: JudgingState) -> list[tuple[int, float]]:
        """What the engine must know: candidates and the grades that count, in the order in which they were judged."""
        made = ((self.find(event.topic, event.document), event.grade or 0) for event in state.grades)
        return [*self.imported.items(), *made]


def known(candidates: Candidates, qrels: Qrels) -> dict[int, float]:
    """Grades of judged candidates, in the order of the file; negative grades are none."""
    rows, _, numbers = candidates.judgments(qrels)
    grades = qrels.grades[rows[numbers >= 0]]
    return dict(zip(numbers[numbers >= 0].tolist(), grades.tolist(), strict=True))
