"""What stands in a judging session: a value that follows from its settings and its events, and from nothing else.

Most events are answers, as in the log. Three more are kept beside it: documents go out in a batch or are taken back,
and the page lends a document to an assessor. A state never changes; an event makes a new one.

A share of the documents may be judged twice, by different people. The first grade counts until somebody who has seen
both sets the final one. Revising one's own grade changes nothing else: a first grade stays the first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, reduce
from itertools import takewhile
from typing import NamedTuple, TypeAlias

from fathoms.base.errors import FathomsError
from fathoms.base.layered import Layered
from fathoms.judging.agreement import drawn_by_first_grade
from fathoms.judging.events import Event, JudgingSettings, id_bytes
from fathoms.judging.topic_batches import topic_to_stay_on

DocumentId: TypeAlias = tuple[str, str]  # topic and document
Chain: TypeAlias = tuple[Event, ...]  # an answer that stands, last, and before it those that it revised


class HandedOut(NamedTuple):
    """Documents went out in a batch: nobody is asked for them until they are answered or taken back."""

    time: str
    documents: tuple[DocumentId, ...]


class TakenBack(NamedTuple):
    """Whatever is handed out may be asked for again."""


class Lent(NamedTuple):
    """A document is in an assessor's hands, until a time by the clock of whoever lends it, or an answer."""

    assessor: str
    document: DocumentId
    until: float


Change: TypeAlias = Event | HandedOut | TakenBack | Lent


@dataclass(frozen=True)
class Record:
    """The answers to one document that stand, in the order in which they were first given."""

    chains: tuple[Chain, ...]

    @cached_property
    def answers(self) -> tuple[Event, ...]:
        """Grades and final grades."""
        return tuple(chain[-1] for chain in self._answered)

    @cached_property
    def _answered(self) -> tuple[Chain, ...]:
        return tuple(chain for chain in self.chains if chain[-1].kind != "skip")

    @cached_property
    def grades(self) -> tuple[Event, ...]:
        return tuple(event for event in self.answers if event.kind == "grade")

    @cached_property
    def skip(self) -> Event | None:
        return next((chain[-1] for chain in self.chains if chain[-1].kind == "skip"), None)

    def own(self, assessor: str) -> dict[int, Event]:
        """An assessor's grades and skips, by their place in the session."""
        own = (chain for chain in self.chains if chain[-1].assessor == assessor and chain[-1].kind != "final")
        return {chain[0].number: chain[-1] for chain in own}

    @property
    def is_left_out(self) -> bool:
        """Whether the last thing that anybody did was to skip it."""
        return self.chains[-1][-1].kind == "skip"

    @property
    def counting(self) -> Event:
        """The grade that counts: the last final one, else the first."""
        return self.answers[-1] if self.answers[-1].kind == "final" else self.answers[0]

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Where in the session each answer stands: a revision takes the place of what it revises."""
        return tuple(chain[0].number for chain in self._answered)

    def after(self, event: Event) -> Record:
        """With one more event."""
        if event.kind == "undo":
            kept = (chain[:-1] if chain[-1].number == event.supersedes else chain for chain in self.chains)
            chains = tuple(filter(None, kept))
        elif event.supersedes is None:
            chains = (*self.chains, (event,))
        else:
            is_revised = [any(old.number == event.supersedes for old in chain) for chain in self.chains]
            if not any(is_revised):
                raise FathomsError(f"event {event.number} revises one that is not there")
            chains = tuple(
                (*chain, event) if here else chain for chain, here in zip(self.chains, is_revised, strict=True)
            )
        return Record(chains)


class JudgedTwice(NamedTuple):
    """A document that two people judged."""

    first: Event
    second: Event
    final: Event | None  # the final grade, if somebody set one


@dataclass(frozen=True)
class OwnWork:
    """An assessor's grades and skips that stand, by their place in the session, and how many they are."""

    settings: JudgingSettings
    answers: Layered[int, Event] = field(default_factory=Layered)
    judged: int = 0
    relevant: int = 0
    skipped: int = 0

    def after(self, old: Mapping[int, Event], new: Mapping[int, Event]) -> OwnWork:
        """With other answers to one document."""
        more, less = list(new.values()), list(old.values())
        return OwnWork(
            self.settings,
            self.answers.changed({**dict.fromkeys(old), **new}),
            self.judged + _n_grades(more) - _n_grades(less),
            self.relevant + self._n_relevant(more) - self._n_relevant(less),
            self.skipped + _n_skips(more) - _n_skips(less),
        )

    def _n_relevant(self, answers: Sequence[Event]) -> int:
        return sum(self.settings.is_relevant(event.grade) for event in answers)

    @cached_property
    def stays_on(self) -> str | None:
        """The topic on which the assessor stays, None if any may come."""
        if self.settings.stay == 1:
            return None
        backwards = list(self.answers.values())[::-1]
        on_topic = takewhile(lambda event: event.topic == backwards[0].topic, backwards)
        answers = [(event.topic, self.settings.is_relevant(event.grade)) for event in on_topic]
        return topic_to_stay_on(answers[::-1], self.settings.stay)


@dataclass(frozen=True)
class JudgingState:
    """What stands. `fold` builds it from all events, `apply_event` from one more."""

    settings: JudgingSettings
    records: Layered[DocumentId, Record] = field(default_factory=Layered)
    events_by_key: Layered[str, Event] = field(default_factory=Layered)  # whether they stand or not
    n_judged: int = 0  # documents that have a grade
    handed_out: Mapping[DocumentId, str] = field(default_factory=dict)  # and since when
    leases: Mapping[str, Lent] = field(default_factory=dict)  # by assessor; including those that ran out
    works: Mapping[str, OwnWork] = field(default_factory=dict)  # by assessor

    # -- answers

    @cached_property
    def judged(self) -> list[Record]:
        """Of the documents that have a grade, in the order in which they were first judged."""
        return sorted(
            (record for record in self.records.values() if record.places), key=lambda record: record.places[0]
        )

    @cached_property
    def standing(self) -> list[Event]:
        """All answers that were not taken back, in order."""
        chains = [chain for record in self.records.values() for chain in record.chains]
        return [chain[-1] for chain in sorted(chains, key=lambda chain: chain[0].number)]

    @property
    def grades(self) -> list[Event]:
        """The judgments made, one a document."""
        return [record.counting for record in self.judged]

    @property
    def skips(self) -> list[Event]:
        """The documents left out, in order; not those that were graded later."""
        skips = [record.chains[-1][-1] for record in self.records.values() if record.is_left_out]
        return sorted(skips, key=lambda event: event.number)

    @property
    def out(self) -> dict[DocumentId, str]:
        """Documents that are handed out and not answered yet, and since when."""
        return {document: time for document, time in self.handed_out.items() if document not in self.records}

    @cached_property
    def withheld(self) -> list[DocumentId]:
        """Documents not to be offered, since somebody skipped them, or has them in a batch."""
        skipped = sorted(document for document, record in self.records.items() if record.skip is not None)
        return [*skipped, *self.out]

    def is_untouched(self, document: DocumentId) -> bool:
        """Whether nobody has judged or skipped a document yet, nor has it been handed out."""
        return document not in self.records and document not in self.handed_out

    def has_grade(self, document: DocumentId) -> bool:
        record = self.records.get(document)
        return record is not None and bool(record.answers)

    def stands(self, event: Event) -> bool:
        record = self.records.get(_id(event))
        return record is not None and any(chain[-1] == event for chain in record.chains)

    def revised(self, event: Event) -> list[Event]:
        """What an event that stands revised, in order; mostly nothing."""
        chains = self.records[event.topic, event.document].chains
        return next(list(chain[:-1]) for chain in chains if chain[-1].number == event.number)

    def last_of(self, assessor: str) -> Event | None:
        """The latest thing that this assessor did and that stands."""
        own = (event for event in self.standing if event.assessor == assessor)
        return max(own, key=lambda event: event.number, default=None)

    # -- assessors

    def work_of(self, assessor: str) -> OwnWork:
        return self.works.get(assessor) or OwnWork(self.settings)

    def held(self, now: float) -> dict[str, DocumentId]:
        """Documents in somebody's hands, by assessor."""
        return {name: lease.document for name, lease in self.leases.items() if lease.until > now}

    # -- second grades

    @cached_property
    def judged_twice(self) -> list[JudgedTwice]:
        """The documents that two people judged, in order."""
        several = (record for record in self.judged if len(record.answers) > 1)
        return [
            JudgedTwice(*record.grades, record.answers[-1] if record.answers[-1].kind == "final" else None)
            for record in sorted(several, key=lambda record: record.places[1])
            if len(record.grades) == 2
        ]

    @property
    def disagreements(self) -> list[JudgedTwice]:
        """Documents with two grades that differ, or with a final one that is neither, since grades were revised."""
        return [
            twice
            for twice in self.judged_twice
            if twice.first.grade != twice.second.grade
            or (twice.final is not None and twice.final.grade != twice.first.grade)
        ]

    @cached_property
    def two_grades(self) -> tuple[dict[DocumentId, int], dict[DocumentId, int]]:
        """First grades of the documents judged, and second ones of those that have one."""
        graded = [record.grades for record in self.judged if record.grades]
        first = {_id(grades[0]): grades[0].grade or 0 for grades in graded}
        return first, {_id(grades[0]): grades[1].grade or 0 for grades in graded if len(grades) == 2}

    @cached_property
    def drawn_for_two(self) -> frozenset[DocumentId]:
        """Documents that two people are to judge so that kappa is known as precisely as asked."""
        first, second = self.two_grades
        seed, error = self.settings.seed, self.settings.kappa_error or 0.0
        return frozenset(drawn_by_first_grade(first, second, lambda document: lot(seed, *document), error))

    @cached_property
    def awaiting_second(self) -> dict[DocumentId, Event]:
        """First grades of the documents that wait for a second one."""
        if not self.judges_twice:
            return {}
        alone = (record for record in self.judged if len(record.answers) == 1 and not record.is_left_out)
        first = (record.answers[0] for record in alone)
        waiting = {_id(event): event for event in first if event.kind == "grade" and self.is_for_two(*_id(event))}
        if self.settings.kappa_error is None:
            return waiting
        return {document: event for document, event in waiting.items() if document in self.drawn_for_two}

    @property
    def judges_twice(self) -> bool:
        return bool(self.settings.judge_twice or self.settings.kappa_error)

    @property
    def seconds_come_last(self) -> bool:
        """Whether second grades wait until the first ones are there: drawing from all documents takes fewer than
        drawing while they come in."""
        return self.settings.kappa_error is not None and not self.settings.count_disagreement

    def is_for_two(self, topic: str, document: str) -> bool:
        """Whether two people may judge this document: decided by seed and ids, and by nothing that happens."""
        if self.settings.kappa_error is not None:
            return True
        return lot(self.settings.seed, topic, document) < self.settings.judge_twice * 2.0**64

    def waiting(self, assessor: str) -> list[DocumentId]:
        """Documents that wait for a second grade, which this assessor may give."""
        if not assessor:
            return []
        return [document for document, first in self.awaiting_second.items() if first.assessor != assessor]

    def waits_for(self, document: DocumentId, assessor: str) -> bool:
        """Whether a document is one of these."""
        first = self.awaiting_second.get(document)
        return bool(assessor) and first is not None and first.assessor != assessor


def fold(settings: JudgingSettings, events: Iterable[Change]) -> JudgingState:
    """What stands after all of these."""
    return reduce(apply_event, events, JudgingState(settings))


def apply_event(state: JudgingState, event: Change) -> JudgingState:
    """What stands after one more event; the state given stays as it is."""
    match event:
        case HandedOut():
            return replace(state, handed_out={**state.handed_out, **dict.fromkeys(event.documents, event.time)})
        case TakenBack():
            return replace(state, handed_out={})
        case Lent():
            return replace(state, leases={**state.leases, event.assessor: event})
        case Event():
            return _answered(state, event)


def _answered(state: JudgingState, event: Event) -> JudgingState:
    document, assessor = _id(event), event.assessor
    before = state.records.get(document, NO_RECORD)
    after = before.after(event)
    work = state.work_of(assessor).after(before.own(assessor), after.own(assessor))
    keys, leases = state.events_by_key, state.leases
    if event.key is not None:
        keys = keys.changed({event.key: event})
    if _is_what_was_lent(event, leases.get(assessor)):
        leases = {name: lease for name, lease in leases.items() if name != assessor}
    return replace(
        state,
        records=state.records.changed({document: after if after.chains else None}),
        events_by_key=keys,
        n_judged=state.n_judged + bool(after.places) - bool(before.places),
        leases=leases,
        works={**state.works, assessor: work},
    )


NO_RECORD = Record(())


def _n_grades(answers: Iterable[Event]) -> int:
    return sum(event.kind == "grade" for event in answers)


def _n_skips(answers: Iterable[Event]) -> int:
    return sum(event.kind == "skip" for event in answers)


def _is_what_was_lent(event: Event, lease: Lent | None) -> bool:
    """Whether an event is what a document was lent for."""
    is_new = event.kind in ("grade", "skip") and event.supersedes is None
    return is_new and lease is not None and lease.document == _id(event)


def _id(event: Event) -> DocumentId:
    return event.topic, event.document


@lru_cache(maxsize=1 << 16)
def lot(seed: int, topic: str, document: str) -> int:
    """A number from 0 to 2^64 that depends on these alone."""
    words = b"\0".join((str(seed).encode(), id_bytes(topic), id_bytes(document)))
    return int.from_bytes(hashlib.sha256(words).digest()[:8])
