"""A judging session: a log of events in one SQLite file, and what follows from it.

Nothing is remembered but the log. An answer is written there and synced to disk before it is acknowledged; what is
judged, skipped and chosen next is worked out from the events, so a session that was killed goes on where it stood.
(A table beside it keeps how confidence grew, for the picture alone.)

A share of the documents may be judged twice, by different people. The first grade counts until somebody who has seen
both sets the final one. Whoever revises a grade of their own changes nothing else: a first grade stays the first.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fathoms.data.arrays import distinct
from fathoms.data.qrels import Qrels
from fathoms.errors import FathomsError, InputError
from fathoms.evidence.candidates import Candidates
from fathoms.evidence.evidence import Floats
from fathoms.judging.agreement import Agreement, SecondGrades, agreement, drawn_by_first_grade
from fathoms.judging.engine import Engine, last_fit
from fathoms.judging.log import Event, JudgingSettings, Log, Standing, id_bytes
from fathoms.judging.other_assessors import OtherOpinion
from fathoms.judging.recall import DEFAULT_RECALL, FindAllEngine, RecallEstimate
from fathoms.judging.sampling import JudgingSample, SampleEngine
from fathoms.judging.staying import topic_to_stay_on
from fathoms.text import pluralise

Judgments = list[tuple[int, float]]  # candidates and their grades
MAY_CHANGE = ("until", "stay", "recall")  # settings that need not stay what the session was begun with


class Task(NamedTuple):
    """A document to judge, and its number among the candidates."""

    candidate: int
    topic: str
    document: str


class PairStanding(NamedTuple):
    """Two systems, the better one first, and the probability that it is, by a measure."""

    better: str
    other: str
    confidence: float
    measure: str = "AP"


@dataclass(frozen=True)
class Progress:
    """Where a session stands."""

    judged: int  # in this session
    relevant: int  # of these
    skipped: int
    imported: int
    pairs: int
    settled: int  # of these
    weakest: PairStanding | None  # the open pair of least confidence
    forecast: tuple[int, int] | None
    recall: RecallEstimate | None = None  # of the strategy find-all


class Twice(NamedTuple):
    """A document that two people judged."""

    first: Event
    second: Event
    final: Event | None  # what somebody made of it


class Session:
    """Judging as one or more assessors do it; every answer is on disk when its method returns.

    The engine is told of the answers when it is next asked for something.
    """

    def __init__(
        self,
        log: Log,
        settings: JudgingSettings,
        candidates: Candidates,
        qrels: Qrels | None,
        engine: Engine,
        first: Sequence[int] = (),
        sample: JudgingSample | None = None,
    ) -> None:
        """`first` are candidates that are asked for before those that the engine chooses, in this order; of a `sample`,
        in its own order, and nothing else."""
        self.log = log
        self.settings = settings
        self.candidates = candidates
        self.qrels = qrels
        self._imported = {} if qrels is None else known(candidates, qrels)
        self._engine = engine
        self.sample = sample
        self._drawn = frozenset(() if sample is None else sample.order)
        self._first = list(dict.fromkeys(first)) if sample is None else sample.order
        self._out = {number: time for time, numbers in log.meta().get("out", []) for number in numbers}
        self._judgments: Judgments = []  # what counts, in order; another list where more changes than its end
        self._told: tuple[Judgments, int] = (self._judgments, 0)  # the engine, up to here
        self._for_two: frozenset[int] | None = None  # see `_drawn_for_two`
        self.reload()

    @classmethod
    def begin(
        cls,
        path: Path,
        settings: JudgingSettings,
        candidates: Candidates,
        qrels: Qrels | None,
        first: Sequence[int] = (),
        labels: Floats | None = None,
        pool_depth: int = 0,
        sample: JudgingSample | None = None,
    ) -> Session:
        """A new session in a new file. `labels` [candidate, label] are what else is known of documents; `pool_depth` is
        that of the pool which the judgments so far come from, 0 where it is not known."""
        engine = engine_for(
            settings, candidates, qrels, labels, pool_depth, sample
        )  # before there is a file, for it may refuse
        meta = asdict(settings) | {"systems": candidates.names} | _checksums(candidates, qrels, labels)
        meta["first"] = list(first)  # numbers stay, since the checksum sees to it that candidates do
        if sample is not None:
            meta["sample"] = sample.meta()
        return cls(Log.create(path, meta), settings, candidates, qrels, engine, first, sample)

    @classmethod
    def resume(
        cls,
        log: Log,
        settings: JudgingSettings,
        candidates: Candidates,
        qrels: Qrels | None,
        first: Sequence[int] | None = None,
        labels: Floats | None = None,
        pool_depth: int = 0,
    ) -> Session:
        """The session of a log, refused where the files are not those it was begun with; another list of what comes
        first takes the old one's place."""
        meta = log.meta()
        if meta["systems"] != candidates.names:
            then, now = (_listed(names) for names in (meta["systems"], candidates.names))
            raise _other_files(log.path, f"the runs were {then}, and are now {now}")
        for name, checksum in _checksums(candidates, qrels, labels).items():
            if meta.get(name, NOTHING) != checksum:  # older sessions have no labels
                raise _other_files(log.path, f"the content of the {name.removeprefix('checksum_')} is another")
        for name in MAY_CHANGE:
            if getattr(settings, name) != meta.get(name):
                log.change(name, getattr(settings, name))
        if first is not None:
            log.change("first", list(first))
        first = meta.get("first", []) if first is None else first  # older sessions have none
        sample = JudgingSample.of(meta["sample"]) if "sample" in meta else None
        engine = engine_for(settings, candidates, qrels, labels, pool_depth, sample)
        return cls(log, settings, candidates, qrels, engine, first, sample)

    # -- judging

    @property
    def engine(self) -> Engine:
        """The engine, told of all answers."""
        self.tell(self._judgments, len(self._judgments))
        return self._engine

    @property
    def judgments(self) -> Judgments:
        """What the engine is to be told: candidates and their grades. It grows, or is another list."""
        return self._judgments

    def tell(self, judgments: Judgments, n: int) -> Engine:
        """Have the engine know the first n of these. Its state depends on them alone, not on how they were told."""
        told, known = self._told
        latest = last_fit(n)
        if told is judgments and known <= n and last_fit(max(latest - 1, 0)) <= known:  # one fit at most
            for index, grade in judgments[known:n]:
                self._engine.judge(index, grade)
        elif (told, known) != (judgments, n):
            self._engine.load(judgments[:n])
        self._told = (judgments, n)
        return self._engine

    def next(self, assessor: str = "") -> Task | None:
        """The document to judge next; None where nothing is left but skipped ones."""
        second = next(iter(self.waiting(assessor)), None)
        index = None if self.seconds_come_last else second
        if index is None:
            index = next(iter(self.asked_first()), None)
        if index is None and (topic := self._topic_of(assessor)) is not None:
            index = self.engine.next(skip=self.skipped, topic=topic)
        if index is None:
            index = self.engine.next(skip=self.skipped)
        if index is None:
            index = second
        return None if index is None else self.task(index)

    @property
    def seconds_come_last(self) -> bool:
        """Whether second grades wait until the first ones are there: what is drawn from all documents takes fewer than
        what is drawn while they come in."""
        return self.settings.kappa_error is not None and not self.settings.count_disagreement

    def _topic_of(self, assessor: str) -> int | None:
        """The number of the topic that this assessor stays on, None where any may come."""
        if self.settings.stay == 1:
            return None
        mine = self.latest_of(assessor)
        last = next(mine, None)
        if last is None:
            return None
        here = [last, *takewhile(lambda event: event.topic == last.topic, mine)]
        answers = [(event.topic, self.is_relevant(event.grade or 0)) for event in reversed(here)]
        stays = topic_to_stay_on(answers, self.settings.stay) is not None
        return self.candidates.topics.index(last.topic) if stays else None

    # -- documents that are handed out

    @property
    def out(self) -> dict[int, str]:
        """Candidates that are handed out and not answered yet, and since when."""
        return {
            index: time
            for index, time in self._out.items()
            if index not in self._answers and index not in self._skipped
        }

    def batch(self, n: int) -> list[Task]:
        """The n documents that are to be judged next, if all grades come back together."""
        first = self.asked_first()[:n]
        more = self.engine.queue(n - len(first), skip=[*self.skipped, *first]) if n > len(first) else []
        return [self.task(index) for index in first + more]

    def hand_out(self, tasks: Sequence[Task]) -> None:
        """Nobody is asked for these until they are answered or taken back."""
        time, numbers = datetime.now(UTC).isoformat(timespec="seconds"), [task.candidate for task in tasks]
        if numbers:
            self.log.change("out", [*self.log.meta().get("out", []), [time, numbers]])
            self._out |= dict.fromkeys(numbers, time)

    def take_back(self) -> int:
        """What is handed out and not answered may be asked for again; returns how many documents that are."""
        n = len(self.out)
        self.log.change("out", [])
        self._out = {}
        return n

    def grade_all(self, answers: Sequence[tuple[str, str, int, str, str]]) -> None:
        """Several grades (topic, document, grade, assessor, note), on disk together or not at all."""
        try:
            with self.log.together():
                for topic, document, grade, assessor, note in answers:
                    self.grade(topic, document, grade, assessor, note)
        except BaseException:
            self.reload()
            raise

    def grade_of(self, index: int) -> tuple[float, str]:
        """The grade that counts of a judged candidate, and whose it is."""
        if index in self._answers:
            event = counting(self._answers[index])
            return float(event.grade or 0), event.assessor
        return self._imported[index], "" if self.qrels is None else self.qrels.source

    def task(self, index: int) -> Task:
        topic = self.candidates.topics[self.candidates.topic[index]]
        return Task(index, topic, self.candidates.documents[index].decode(errors="surrogateescape"))

    def waiting(self, assessor: str) -> list[int]:
        """Candidates that wait for a second grade, which this assessor may give."""
        name = tidy(assessor)
        chosen = self._waiting if self.settings.kappa_error is None else self._drawn_for_two()
        return [
            index for index in self._waiting if name and index in chosen and self._answers[index][0].assessor != name
        ]

    def asked_first(self) -> list[int]:
        """Candidates that were to come first and still wait for an answer, in order."""
        return [index for index in self._first if self.is_open(index)]

    def is_double(self, topic: str, document: str) -> bool:
        """Whether two people may judge this document: decided by seed and ids, and by nothing that happens."""
        share = self.settings.double if self.settings.kappa_error is None else 1.0
        return self._lot(topic, document) < share * 2.0**64

    def _lot(self, topic: str, document: str) -> int:
        words = b"\0".join((str(self.settings.seed).encode(), id_bytes(topic), id_bytes(document)))
        return int.from_bytes(hashlib.sha256(words).digest()[:8])

    def _drawn_for_two(self) -> frozenset[int]:
        """Candidates that two people are to judge so that kappa is known as it was asked for."""
        if self._for_two is None:
            first, second = self._two_grades()
            error = self.settings.kappa_error or 0.0
            names = {index: (answers[0].topic, answers[0].document) for index, answers in self._answers.items()}
            drawn = drawn_by_first_grade(first, second, lambda index: self._lot(*names[index]), error)
            self._for_two = frozenset(drawn)
        return self._for_two

    def _two_grades(self) -> tuple[dict[int, int], dict[int, int]]:
        """First grades of the candidates judged, and second ones of those that have one."""
        answers, twice = self._answers.copy(), self._twice.copy()  # others may add to them at this moment
        given = {i: [event for event in of if event.kind == "grade"] for i, of in answers.items()}
        first = {i: events[0].grade or 0 for i, events in given.items() if events}
        return first, {i: given[i][1].grade or 0 for i in twice if len(given[i]) == 2}

    def is_open(self, index: int) -> bool:
        """Whether nobody has judged or skipped this candidate yet, nor has it been handed out."""
        return not any(index in some for some in (self._answers, self._skipped, self._imported, self._out))

    def may_grade(self, index: int, assessor: str) -> bool:
        """Whether a candidate has no grade yet, or waits for a second one that this assessor may give."""
        return not (index in self._answers or index in self._imported) or index in self.waiting(assessor)

    def grade(
        self, topic: str, document: str, grade: int, assessor: str, note: str = "", key: str | None = None
    ) -> Event:
        """`key` is one that no other answer has, so that whoever sends an answer twice can be told (`with_key`)."""
        index = self._open(topic, document, assessor)
        self._check(grade)
        who, words = tidy(assessor), tidy(note)
        return self._add(
            index, self.log.append("grade", topic, document, grade=grade, assessor=who, note=words, key=key)
        )

    def skip(self, topic: str, document: str, assessor: str, note: str = "", key: str | None = None) -> Event:
        """Leave a document out; it is not offered again unless the skip is taken back."""
        index = self._open(topic, document, assessor)
        if index in self._skipped:
            raise FathomsError(f"topic {topic}, document {document} is skipped already")
        who, words = tidy(assessor), tidy(note)
        return self._add(index, self.log.append("skip", topic, document, assessor=who, note=words, key=key))

    def settle(
        self, topic: str, document: str, grade: int, assessor: str, note: str = "", key: str | None = None
    ) -> Event:
        """The final grade of a document of which two people think differently."""
        index = self.find(topic, document)
        self._check(grade)
        if not any((one.first.topic, one.first.document) == (topic, document) for one in self.disagreements()):
            raise FathomsError(f"topic {topic}, document {document} has no two grades that differ")
        who, words = tidy(assessor), tidy(note)
        return self._add(
            index, self.log.append("final", topic, document, grade=grade, assessor=who, note=words, key=key)
        )

    def undo(self, assessor: str, key: str | None = None) -> Task | None:
        """Take back the last answer of an assessor that still stands, and return what it was about."""
        name = tidy(assessor)
        last = self._standing.last_of(name)
        if last is None:
            return None
        event = self.log.append("undo", last.topic, last.document, undone=last.number, assessor=name, key=key)
        self._remember(event)
        self._fold()
        return Task(self.find(last.topic, last.document), last.topic, last.document)

    def revise(
        self, topic: str, document: str, grade: int, assessor: str, note: str = "", key: str | None = None
    ) -> Event:
        """Another grade in the place of one that this assessor gave; the old one stays in the log. A document that the
        assessor skipped, and nobody graded, gets its first grade."""
        index = self.find(topic, document)
        self._check(grade)
        name = tidy(assessor)
        mine = [event for event in self._answers.get(index, ()) if event.kind == "grade" and event.assessor == name]
        if not mine:
            skipped = self._skipped.get(index)
            if skipped is not None and skipped.assessor == name and index not in self._answers:
                return self.grade(topic, document, grade, assessor, note, key)
            raise FathomsError(f"topic {topic}, document {document} has no grade from {name} that could be revised")
        (old,) = mine
        if (old.grade, old.note) == (grade, tidy(note)):
            raise FathomsError(f"topic {topic}, document {document} has grade {grade} from {name} already")
        event = self.log.revise(old, grade=grade, assessor=name, note=tidy(note), key=key)
        self._remember(event)
        self._fold()
        return event

    def with_key(self, key: str) -> Event | None:
        """The event that has this key, whether it stands or not."""
        return self._by_key.get(key)

    # -- what is known

    def grades(self) -> list[Event]:
        """The judgments made, one a document, in the order in which documents were first judged."""
        return [counting(answers) for answers in self._answers.values()]

    def answers(self) -> list[list[Event]]:
        """All grades and final grades of each document judged, in the same order."""
        return list(self._answers.values())

    def skips(self) -> list[Event]:
        """The documents left out, in order; not those that were graded later."""
        return list(self._left_out.values())

    def twice(self) -> list[Twice]:
        """The documents that two people judged, in order."""
        found = []
        for answers in map(self._answers.__getitem__, self._twice):
            grades = [event for event in answers if event.kind == "grade"]
            if len(grades) == 2:
                final = answers[-1] if answers[-1].kind == "final" else None
                found.append(Twice(grades[0], grades[1], final))
        return found

    def disagreements(self) -> list[Twice]:
        """Documents with two grades that differ, or with a final one that is neither, since grades were revised."""
        return [
            one
            for one in self.twice()
            if one.first.grade != one.second.grade or (one.final is not None and one.final.grade != one.first.grade)
        ]

    def agreement(self) -> float | None:
        """Cohen's kappa of the documents judged twice."""
        found = self.kappa()
        return None if found is None else found.kappa

    def kappa(self) -> Agreement | None:
        """Cohen's kappa with its standard error: of documents drawn at random, or by first grade for `kappa_error`."""
        if self.settings.kappa_error is not None:
            return self.second_grades().agreement()
        return agreement(
            ((first.assessor, first.grade or 0), (second.assessor, second.grade or 0))
            for first, second, _ in self.twice()
        )

    def kappa_interval(self, level: float = 0.95) -> tuple[float, float] | None:
        return self.second_grades().interval(level, around=self.agreement())

    def second_grades(self) -> SecondGrades:
        """Second grades by first grade, of the documents that were drawn for it."""
        first, second = self._two_grades()
        drawn = second if self.settings.kappa_error is None else self._drawn_for_two()
        return SecondGrades(Counter(first.values()), [(first[i], second[i]) for i in second if i in drawn])

    def second_judgments_left(self) -> int:
        """How many documents still wait for a second grade, of the documents judged so far."""
        chosen = self._waiting if self.settings.kappa_error is None else self._drawn_for_two()
        return sum(index in chosen for index in self._waiting)

    def with_other_assessors(self, engine: Engine | None = None) -> list[OtherOpinion] | None:
        """The pairs that matter, and what would be believed of them had another assessor judged; None where too few
        documents are judged twice to tell."""
        engine = engine or self.engine
        first, second = self._two_grades()
        names, found = self.candidates.names, []
        for place, measure in enumerate(engine.measures):
            others = engine.with_others([(first[i], second[i]) for i in second], place)
            if others is None:
                return None
            now, means = engine.confidence(place), engine.expected(place)
            for a, b in ((a, b) if now[a, b] >= 0.5 else (b, a) for a, b in engine.pairs()):
                apart = float(means[a] - means[b])
                found.append(
                    OtherOpinion(
                        names[a],
                        names[b],
                        measure.name,
                        float(now[a, b]),
                        float(others.confidence[a, b]),
                        apart,
                        apart + float(others.shift[a] - others.shift[b]),
                        float(others.deviation[a, b]),
                        float(others.with_others[a, b]),
                    )
                )
        return found

    @property
    def standing(self) -> list[Event]:
        """All answers that were not taken back, in order."""
        return list(self._standing)

    def latest_of(self, assessor: str) -> Iterator[Event]:
        """An assessor's grades and skips that stand, the last one first."""
        name = tidy(assessor)
        return (event for event in self._standing.backwards() if event.assessor == name and event.kind != "final")

    def revised(self, event: Event) -> list[Event]:
        """What an event that stands revised, in order; mostly nothing."""
        return self._standing.before(event)

    @property
    def skipped(self) -> list[int]:
        """Candidates that are not to be offered, since somebody skipped them, or has them in a batch."""
        return [*self._skipped, *self.out]

    @property
    def judged(self) -> int:
        """How many documents were judged in this session."""
        return len(self._answers)

    @property
    def imported(self) -> int:
        """How many candidates were judged before the session."""
        return len(self._imported)

    def settled(self) -> bool:
        """Whether judging may end: every pair is settled (or enough found, with find-all), and all that was to come
        first is answered."""
        return not self.asked_first() and self.settled_by(self.engine)

    def settled_by(self, engine: Engine) -> bool:
        """Whether every pair is settled, as an engine sees it that may have been told less."""
        if not engine.settled() or not self.settings.count_disagreement:
            return engine.settled()
        known = self.with_other_assessors(engine) is not None
        return known and all(pair.confidence >= self.settings.until for pair in self.pairs(engine))

    def recall(self) -> RecallEstimate | None:
        """How many relevant documents are found and left; None but for find-all, and where it is too early to say."""
        engine = self.engine
        return engine.recall_estimate() if isinstance(engine, FindAllEngine) else None

    def why_ended(self, settled: bool, budget: int | None, more: bool) -> str | None:
        """Why judging ends here, None where it does not: all is settled, or the budget used up, or no more there."""
        if settled and isinstance(self._engine, FindAllEngine):
            reached = f"The recall is estimated to be at least {self._engine.recall:g}"
            return f"{reached}; --resume with a greater --recall goes on."
        if settled:
            return f"Every pair is settled at {self.settings.until:g}; --resume with a greater --confidence goes on."
        if budget is not None and self.judged >= budget:
            return f"The budget of {budget:,} judgments is used up."
        if more:
            return None
        left = [words for words, some in (("was skipped", self.skips()), ("is handed out", self.out)) if some]
        nothing = "There is nothing left to judge" if self.sample is None else "Nothing of the sample is left to judge"
        return nothing + (f" but what {' or '.join(left)}." if left else ".")

    def progress(self) -> Progress:
        grades = self.grades()
        pairs = self.pairs()
        still_open = [pair for pair in pairs if pair.confidence < self.settings.until]
        in_all, settled = count_settled(pairs, self.settings.until)
        return Progress(
            judged=len(grades),
            relevant=sum(self.is_relevant(event.grade or 0) for event in grades),
            skipped=len(self.skips()),
            imported=self.imported,
            pairs=in_all,
            settled=settled,
            weakest=min(still_open, key=lambda pair: pair.confidence, default=None),
            forecast=self.engine.forecast(),
            recall=self.recall(),
        )

    def pairs(self, engine: Engine | None = None) -> list[PairStanding]:
        """The pairs that matter, each in the order that is more probable; as an engine sees it that was told less."""
        engine = engine or self.engine
        if self.settings.count_disagreement and (opinions := self.with_other_assessors(engine)) is not None:
            return [
                PairStanding(one.better, one.other, one.with_others, one.measure)
                if one.with_others >= 0.5
                else PairStanding(one.other, one.better, 1 - one.with_others, one.measure)
                for one in opinions
            ]
        names, found = self.candidates.names, []
        for place, measure in enumerate(engine.measures):
            confidence = engine.confidence(place)
            ordered = ((a, b) if confidence[a, b] >= 0.5 else (b, a) for a, b in engine.pairs())
            found += [PairStanding(names[a], names[b], float(confidence[a, b]), measure.name) for a, b in ordered]
        return found

    def expected(self, engine: Engine | None = None) -> list[tuple[str, float]]:
        """Systems and the mean score to expect of them by the first measure, best first."""
        values = zip(self.candidates.names, (engine or self.engine).expected().tolist(), strict=True)
        return sorted(values, key=lambda item: -item[1])

    def expected_by_measure(self) -> list[dict[str, float]]:
        """The same by all measures, in their order."""
        engine, names = self.engine, self.candidates.names
        return [dict(zip(names, engine.expected(i).tolist(), strict=True)) for i in range(len(self.settings.measures))]

    def close(self) -> None:
        self.log.close()

    def find(self, topic: str, document: str) -> int:
        """The number of a candidate."""
        index = self.candidates.find(topic, document)
        if index is None:
            raise FathomsError(
                f"topic {topic}, document {document} is in no run's top {self.settings.depth}; only what the runs "
                "retrieved can be judged"
            )
        return index

    def reload(self) -> None:
        """Take everything from the log again."""
        self._standing = Standing()
        self._by_key: dict[str, Event] = {}
        for event in self.log.events():
            self._remember(event)
        self._fold()

    # -- inside

    def is_relevant(self, grade: float) -> bool:
        """Whether a grade reaches the threshold."""
        return grade >= self.settings.rel

    def _check(self, grade: int) -> None:
        if isinstance(grade, bool) or not isinstance(grade, int) or not 0 <= grade <= self.settings.max_grade:
            raise FathomsError(f"expected a grade from 0 to {self.settings.max_grade}, found {grade!r}")

    def _open(self, topic: str, document: str, assessor: str) -> int:
        """The candidate, if it has no grade yet, or waits for a second one."""
        index = self.find(topic, document)
        if self.sample is not None and self.sample.stratum[index] >= 0 and index not in self._drawn:
            raise FathomsError(f"topic {topic}, document {document} is not in the sample that this session judges")
        answers = self._answers.get(index)
        if answers is not None and index not in self.waiting(assessor):
            event = counting(answers)
            raise FathomsError(
                f"topic {topic}, document {document} has grade {event.grade} already, from {event.assessor}; take that "
                "back first"
            )
        if self.qrels is not None and index in self._imported:
            raise FathomsError(f"topic {topic}, document {document} is judged already in {self.qrels.source}")
        return index

    def _fold(self) -> None:
        """What stands, from the events that stand."""
        before = self._judgments
        self._answers: dict[int, list[Event]] = {}  # grades and final grades by candidate, in order
        self._skipped: dict[int, Event] = {}
        self._left_out: dict[int, Event] = {}  # those of them that nobody graded later
        self._waiting: dict[int, None] = {}  # for a second grade
        self._twice: dict[int, None] = {}  # those that have one
        self._for_two = None
        self._judgments = list(self._imported.items())
        for event in self._standing:
            self._put(self.find(event.topic, event.document), event)
        if self._judgments == before:
            self._judgments = before  # nothing to tell the engine

    def _remember(self, event: Event) -> None:
        self._standing.add(event)
        if event.key is not None:
            self._by_key[event.key] = event

    def _add(self, index: int, event: Event) -> Event:
        self._remember(event)
        self._put(index, event)
        return event

    def _put(self, index: int, event: Event) -> None:
        self._for_two = None
        if event.kind == "skip":
            self._skipped[index] = self._left_out[index] = event
            self._waiting.pop(index, None)
            return
        self._left_out.pop(index, None)
        answers = self._answers.setdefault(index, [])
        answers.append(event)
        grade = counting(answers).grade or 0
        if len(answers) == 1:
            self._judgments.append((index, grade))
            if event.kind == "grade" and self.is_double(event.topic, event.document):
                self._waiting[index] = None
            return
        self._waiting.pop(index, None)
        self._twice[index] = None
        if (index, grade) not in self._judgments:
            self._judgments = [(one, grade if one == index else other) for one, other in self._judgments]


def count_settled(pairs: Sequence[PairStanding], until: float) -> tuple[int, int]:
    """How many pairs of systems there are, and how many of them are settled by every measure."""
    everyone = {frozenset((pair.better, pair.other)) for pair in pairs}
    still_open = {frozenset((pair.better, pair.other)) for pair in pairs if pair.confidence < until}
    return len(everyone), len(everyone) - len(still_open)


def counting(answers: list[Event]) -> Event:
    """The grade that counts: the last final one, else the first."""
    return answers[-1] if answers[-1].kind == "final" else answers[0]


def engine_for(
    settings: JudgingSettings,
    candidates: Candidates,
    qrels: Qrels | None,
    labels: Floats | None,
    pool_depth: int,
    sample: JudgingSample | None,
) -> Engine:
    grades = np.arange(settings.max_grade + 1.0)
    if qrels is not None:
        grades = distinct(np.append(grades, qrels.levels[qrels.levels > 0]))
    kind, more = Engine, dict[str, Any]()
    if sample is not None:
        kind = SampleEngine
    elif settings.strategy == "find-all":
        kind, more = FindAllEngine, {"recall": settings.recall or DEFAULT_RECALL}
    return kind(
        candidates,
        settings.strategy,
        until=settings.until,
        baseline=settings.baseline,
        seed=settings.seed,
        measures=settings.parsed(),
        grades=grades.tolist(),
        rel=settings.rel,
        labels=labels,
        elsewhere=None if qrels is None else candidates.judged_elsewhere(qrels, grades),
        imported=0 if qrels is None else len(known(candidates, qrels)),
        pool_depth=pool_depth,
        **more,
    )


def known(candidates: Candidates, qrels: Qrels) -> dict[int, float]:
    """Grades of judged candidates, in the order of the file; negative grades are none."""
    rows, _, found = candidates.judgments(qrels)
    grades = qrels.grades[rows[found >= 0]]
    return dict(zip(found[found >= 0].tolist(), grades.tolist(), strict=True))


def tidy(text: str) -> str:
    """One line without tabs and control characters, as a table wants it."""
    return " ".join("".join(c if unicodedata.category(c) != "Cc" else " " for c in text).split())


NOTHING = hashlib.sha256().hexdigest()


def _checksums(candidates: Candidates, qrels: Qrels | None, labels: Floats | None) -> dict[str, str]:
    """Of what was read from the files, whatever their names and compression."""
    runs = hashlib.sha256(json.dumps([candidates.names, candidates.topics]).encode())
    for array in (candidates.topic, candidates.documents, candidates.place):
        runs.update(np.ascontiguousarray(array).tobytes())
    judgments = b"" if qrels is None else qrels.lines().encode(errors="surrogateescape")
    values = b"" if labels is None else np.ascontiguousarray(labels).tobytes()
    return {
        "checksum_runs": runs.hexdigest(),
        "checksum_judgments": hashlib.sha256(judgments).hexdigest(),
        "checksum_labels": hashlib.sha256(values).hexdigest(),
    }


def _other_files(path: Path, detail: str) -> InputError:
    return InputError(
        f"was begun with other files: {detail}; give the same QRELS, runs and flags, or begin another session with "
        "--session FILE",
        str(path),
    )


def _listed(names: list[str]) -> str:
    return f"{pluralise(len(names), 'run')} ({', '.join(names[:5])}{', ...' if len(names) > 5 else ''})"
