"""A judging session: a log of events in one SQLite file, and what follows from it.

Nothing is remembered but the log. An answer is written there and synced to disk before it is acknowledged; what is
judged, skipped and chosen next is worked out from the events, so a session that was killed goes on where it stood.
(A table beside it keeps how confidence grew, for the picture alone.)

A share of the documents may be judged twice, by different people. The first grade counts until somebody who has seen
both sets the final one.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from fathoms.data.files import check_writable, whole_file
from fathoms.data.qrels import Qrels
from fathoms.errors import FathomsError, InputError
from fathoms.evidence.candidates import Candidates
from fathoms.evidence.order import Precision, Ties
from fathoms.judging.agreement import kappa
from fathoms.judging.engine import Engine, last_fit
from fathoms.judging.select import DEFAULT
from fathoms.text import pluralise

Judgments = list[tuple[int, bool]]  # candidates, and whether they are relevant
FORMAT = 1
APPLICATION = 0x6661746D  # what SQLite calls an application id: whose file this is
Kind = Literal["grade", "skip", "undo", "final"]
PROVENANCE = ("topic", "document", "grade", "who", "when", "note", "what")

SCHEMA = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE event (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN {get_args(Kind)}),
    topic TEXT NOT NULL,
    document TEXT NOT NULL,
    grade INTEGER,
    undone INTEGER REFERENCES event (number),
    assessor TEXT NOT NULL,
    time TEXT NOT NULL,
    note TEXT NOT NULL
);
CREATE TABLE trace (event INTEGER PRIMARY KEY, judged INTEGER, settled INTEGER, least REAL);
CREATE TRIGGER event_is_never_changed BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
CREATE TRIGGER event_is_never_removed BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
"""


@dataclass(frozen=True)
class JudgingSettings:
    """What a session is begun with; `until` alone may change later."""

    strategy: str = DEFAULT
    until: float = 0.95
    seed: int = 0
    depth: int = 100
    ties: Ties = "trec"
    precision: Precision = "float32"
    baseline: str | None = None
    max_grade: int = 1
    rel: int = 1
    double: float = 0.0  # share of documents that two people judge

    def __post_init__(self) -> None:
        if not 0.5 < self.until < 1:
            raise FathomsError(f"until must lie between 0.5 and 1, found {self.until:g}")
        if not 1 <= self.rel <= self.max_grade:
            raise FathomsError(f"rel must be a grade from 1 to {self.max_grade}, the greatest, found {self.rel}")
        if not 0 <= self.double <= 1:
            raise FathomsError(f"double must be a share from 0 to 1, found {self.double:g}")


@dataclass(frozen=True)
class Event:
    """Something an assessor did: graded a document, skipped it, settled two grades, or took one of these back."""

    number: int
    kind: Kind
    topic: str
    document: str
    grade: int | None  # of a grade, or a final one
    undone: int | None  # of an undo: the number of the event that it takes back
    assessor: str
    time: str  # UTC
    note: str


def standing(events: Iterable[Event]) -> dict[int, Event]:
    """What was not taken back, by number, in order."""
    left: dict[int, Event] = {}
    for event in events:
        if event.kind == "undo":
            left.pop(event.undone or 0, None)
        else:
            left[event.number] = event
    return left


class Point(NamedTuple):
    """How sure it was after an event: documents judged, pairs settled, and the confidence of the least sure pair."""

    event: int
    judged: int
    settled: int
    least: float


# -- on disk ------------------------------------------------------------------------------------------------------


class LogError(InputError):
    """The file cannot be read or written."""


class Log:
    """The file. One process has it open at a time, and what `append` returns is on disk."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def create(cls, path: Path, meta: dict[str, Any]) -> Log:
        log = cls(path, _connect(path, "rwc"))
        with log._failing("cannot be written"):
            if not _is_empty(log._connection):
                log.close()
                raise _exists(path)
            log._connection.execute("BEGIN IMMEDIATE")
            log._connection.execute(f"PRAGMA application_id = {APPLICATION}")
            for statement in SCHEMA.split(";\n"):
                log._connection.execute(statement)
            rows = [(name, json.dumps(value)) for name, value in ({"format": FORMAT} | meta).items()]
            log._connection.executemany("INSERT INTO meta VALUES (?, ?)", rows)
            log._connection.execute("COMMIT")
        return log

    @classmethod
    def open(cls, path: Path) -> Log:
        not_begun = InputError("no session has been begun in this file; leave out --resume to begin one", str(path))
        if not _is_something(path):
            raise not_begun
        log = cls(path, _connect(path, "rw"))
        with log._failing("cannot be read as a session of `fathoms judge`"):
            if _is_empty(log._connection):
                log.close()
                raise not_begun
            theirs = log._connection.execute("PRAGMA application_id").fetchone()[0]
            if theirs != APPLICATION:
                log.close()
                raise InputError("is a database of another program, expected a session of `fathoms judge`", str(path))
            format = log.meta()["format"]
            if format != FORMAT:
                log.close()
                raise InputError(f"has format {format}, expected {FORMAT}; it needs another fathoms", str(path))
        return log

    def meta(self) -> dict[str, Any]:
        with self._failing("cannot be read"):
            rows = self._connection.execute("SELECT name, value FROM meta")
            return {name: json.loads(value) for name, value in rows}

    def settings(self) -> JudgingSettings:
        meta = self.meta()
        return JudgingSettings(
            **{field.name: meta[field.name] for field in fields(JudgingSettings) if field.name in meta}
        )

    def change(self, name: str, value: Any) -> None:
        with self._failing("cannot be written"):
            self._connection.execute("UPDATE meta SET value = ? WHERE name = ?", (json.dumps(value), name))

    def events(self) -> list[Event]:
        names = ", ".join(field.name for field in fields(Event))
        with self._failing("cannot be read"):
            return [Event(*row) for row in self._connection.execute(f"SELECT {names} FROM event ORDER BY number")]

    def append(
        self,
        kind: Kind,
        topic: str,
        document: str,
        *,
        grade: int | None = None,
        undone: int | None = None,
        assessor: str,
        note: str = "",
    ) -> Event:
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        words = [_raw(word) for word in (topic, document, assessor, note)]
        with self._failing("cannot be written, and the answer is not saved"):
            cursor = self._connection.execute(
                "INSERT INTO event (kind, topic, document, grade, undone, assessor, time, note) "
                "VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT), ?, ?, CAST(? AS TEXT), ?, CAST(? AS TEXT))",
                (kind, words[0], words[1], grade, undone, words[2], time, words[3]),
            )  # without BEGIN, a transaction of its own: committed when this returns
        return Event(int(cursor.lastrowid or 0), kind, topic, document, grade, undone, assessor, time, note)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Several answers, one sync: on disk when the block ends, and none of them where it fails."""
        with self._failing("cannot be written, and the answers are not saved"):
            self._connection.execute("BEGIN")
            try:
                yield
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def mark(self, points: Iterable[Point]) -> None:
        """Remember how sure we were, for the picture alone."""
        with self._failing("cannot be written"):
            self._connection.executemany("INSERT OR REPLACE INTO trace VALUES (?, ?, ?, ?)", points)

    def marks(self) -> list[Point]:
        with self._failing("cannot be read"):
            rows = self._connection.execute("SELECT event, judged, settled, least FROM trace ORDER BY event")
            return [Point(*row) for row in rows]

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _failing(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise LogError(f"{what}: {error}", str(self.path)) from None


def check_new(path: Path) -> None:
    """Find out before the work that a session cannot be begun here."""
    check_writable(path)
    if _is_something(path):
        connection = _connect(path, "rw")
        is_empty = _is_empty(connection)
        connection.close()
        if not is_empty:
            raise _exists(path)


def _is_something(path: Path) -> bool:
    return path.exists() and (not path.is_file() or path.stat().st_size > 0)


def _is_empty(connection: sqlite3.Connection) -> bool:
    """Whether nothing was ever committed, as where the making of a session was cut short."""
    return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def _exists(path: Path) -> InputError:
    return InputError("exists already; go on with --resume, or begin another session with --session FILE", str(path))


def _raw(text: str) -> bytes:
    """Ids need not be valid UTF-8; SQLite does not mind, Python's module for it does."""
    return text.encode(errors="surrogateescape")


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    """A connection that has the file for itself until it is closed or its process ends, in whatever way."""
    uri = f"{Path(os.path.abspath(path)).as_uri()}?mode={mode}"
    try:
        # One thread at a time uses it, though not always the one that opened it.
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=0, check_same_thread=False)
    except sqlite3.Error as error:
        raise InputError(f"cannot be opened: {error}", str(path)) from None
    connection.text_factory = lambda raw: raw.decode(errors="surrogateescape")
    try:
        # No write-ahead log: all that was acknowledged is in the one file, whenever somebody copies it. EXTRA syncs
        # the folder too, or a journal could come back after a power cut and undo what was committed.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        connection.close()
        if "locked" in str(error):
            message = "is in use by another process; finish there first, or begin another with --session FILE"
            raise InputError(message, str(path)) from None
        raise InputError(f"cannot be used as a session: {error}", str(path)) from None
    return connection


# -- what it means ------------------------------------------------------------------------------------------------


class Task(NamedTuple):
    """A document to judge, and its number among the candidates."""

    candidate: int
    topic: str
    document: str


class PairStanding(NamedTuple):
    """Two systems, the better one first, and the probability that it is."""

    better: str
    other: str
    confidence: float


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
        self, log: Log, settings: JudgingSettings, candidates: Candidates, qrels: Qrels | None, engine: Engine
    ) -> None:
        self.log = log
        self.settings = settings
        self.candidates = candidates
        self.qrels = qrels
        self._imported = {} if qrels is None else known(candidates, qrels)
        self._engine = engine
        self._judgments: Judgments = []  # what counts, in order; another list where more changes than its end
        self._told: tuple[Judgments, int] = (self._judgments, 0)  # the engine, up to here
        self.reload()

    @classmethod
    def begin(cls, path: Path, settings: JudgingSettings, candidates: Candidates, qrels: Qrels | None) -> Session:
        """A new session in a new file."""
        engine = _engine(settings, candidates, qrels)  # before there is a file, for it may refuse
        meta = asdict(settings) | {"systems": candidates.names} | _checksums(candidates, qrels)
        return cls(Log.create(path, meta), settings, candidates, qrels, engine)

    @classmethod
    def resume(cls, log: Log, settings: JudgingSettings, candidates: Candidates, qrels: Qrels | None) -> Session:
        """The session of a log, refused where the files are not those it was begun with."""
        meta = log.meta()
        if meta["systems"] != candidates.names:
            then, now = (_listed(names) for names in (meta["systems"], candidates.names))
            raise _other_files(log.path, f"the runs were {then}, and are now {now}")
        for name, checksum in _checksums(candidates, qrels).items():
            if meta[name] != checksum:
                raise _other_files(log.path, f"the content of the {name.removeprefix('checksum_')} is another")
        if settings.until != meta["until"]:
            log.change("until", settings.until)
        return cls(log, settings, candidates, qrels, _engine(settings, candidates, qrels))

    # -- judging

    @property
    def engine(self) -> Engine:
        """The engine, told of all answers."""
        self.tell(self._judgments, len(self._judgments))
        return self._engine

    @property
    def judgments(self) -> Judgments:
        """What the engine is to be told: candidates and whether they are relevant. It grows, or is another list."""
        return self._judgments

    def tell(self, judgments: Judgments, n: int) -> Engine:
        """Have the engine know the first n of these. Its state hangs on them alone, not on how they were told."""
        told, known = self._told
        latest = last_fit(n)
        if told is judgments and known <= n and last_fit(max(latest - 1, 0)) <= known:  # one fit at most
            for index, relevant in judgments[known:n]:
                self._engine.judge(index, relevant)
        elif (told, known) != (judgments, n):
            self._engine.load(judgments[:n])
        self._told = (judgments, n)
        return self._engine

    def next(self, assessor: str = "") -> Task | None:
        """The document to judge next; None where nothing is left but skipped ones."""
        index = next(iter(self.waiting(assessor)), None)
        if index is None:
            index = self.engine.next(skip=self._skipped)
        return None if index is None else self.task(index)

    def task(self, index: int) -> Task:
        topic = self.candidates.topics[self.candidates.topic[index]]
        return Task(index, topic, self.candidates.documents[index].decode(errors="surrogateescape"))

    def waiting(self, assessor: str) -> list[int]:
        """Candidates that wait for a second grade, which this assessor may give."""
        name = tidy(assessor)
        return [index for index in self._waiting if name and self._answers[index][0].assessor != name]

    def is_double(self, topic: str, document: str) -> bool:
        """Whether two people are to judge this document: decided by seed and ids, and by nothing that happens."""
        words = b"\0".join((str(self.settings.seed).encode(), _raw(topic), _raw(document)))
        return int.from_bytes(hashlib.sha256(words).digest()[:8]) < self.settings.double * 2.0**64

    def is_open(self, index: int) -> bool:
        """Whether nobody has judged or skipped this candidate yet."""
        return not (index in self._answers or index in self._skipped or index in self._imported)

    def may_grade(self, index: int, assessor: str) -> bool:
        """Whether a candidate has no grade yet, or waits for a second one that this assessor may give."""
        return not (index in self._answers or index in self._imported) or index in self.waiting(assessor)

    def grade(self, topic: str, document: str, grade: int, assessor: str, note: str = "") -> Event:
        index = self._open(topic, document, assessor)
        self._check(grade)
        return self._add(
            index, self.log.append("grade", topic, document, grade=grade, assessor=tidy(assessor), note=tidy(note))
        )

    def skip(self, topic: str, document: str, assessor: str, note: str = "") -> Event:
        """Leave a document out; it is not offered again unless the skip is taken back."""
        index = self._open(topic, document, assessor)
        if index in self._skipped:
            raise FathomsError(f"topic {topic}, document {document} is skipped already")
        return self._add(index, self.log.append("skip", topic, document, assessor=tidy(assessor), note=tidy(note)))

    def settle(self, topic: str, document: str, grade: int, assessor: str, note: str = "") -> Event:
        """The final grade of a document of which two people think differently."""
        index = self.find(topic, document)
        self._check(grade)
        if not any((one.first.topic, one.first.document) == (topic, document) for one in self.disagreements()):
            raise FathomsError(f"topic {topic}, document {document} has no two grades that differ")
        return self._add(
            index, self.log.append("final", topic, document, grade=grade, assessor=tidy(assessor), note=tidy(note))
        )

    def undo(self, assessor: str) -> Task | None:
        """Take back the last answer of an assessor that still stands, and return what it was about."""
        name = tidy(assessor)
        last = next((event for event in reversed(self._standing.values()) if event.assessor == name), None)
        if last is None:
            return None
        self.log.append("undo", last.topic, last.document, undone=last.number, assessor=name)
        del self._standing[last.number]
        self._fold()
        return Task(self.find(last.topic, last.document), last.topic, last.document)

    # -- what is known

    def grades(self) -> list[Event]:
        """The judgments made, one a document, in the order in which documents were first judged."""
        return [_counting(answers) for answers in self._answers.values()]

    def skips(self) -> list[Event]:
        """The documents left out, in order; not those that were graded later."""
        return [
            event
            for index, event in self._skipped.items()
            if index not in self._answers or event.number > self._answers[index][-1].number
        ]

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
        return [one for one in self.twice() if one.first.grade != one.second.grade]

    def agreement(self) -> float | None:
        """Cohen's kappa of the documents judged twice."""
        return kappa(
            ((first.assessor, first.grade or 0), (second.assessor, second.grade or 0))
            for first, second, _ in self.twice()
        )

    @property
    def standing(self) -> list[Event]:
        """All answers that were not taken back, in order."""
        return list(self._standing.values())

    @property
    def skipped(self) -> list[int]:
        """Candidates that are not to be offered, since somebody skipped them."""
        return list(self._skipped)

    @property
    def judged(self) -> int:
        """How many documents were judged in this session."""
        return len(self._answers)

    @property
    def imported(self) -> int:
        """How many candidates were judged before the session."""
        return len(self._imported)

    def settled(self) -> bool:
        return self.engine.settled()

    def why_ended(self, settled: bool, budget: int | None, more: bool) -> str | None:
        """Why judging ends here, None where it does not: all is settled, or the budget used up, or no more there."""
        if settled:
            return f"Every pair is settled at {self.settings.until:g}; --resume with a greater --confidence goes on."
        if budget is not None and self.judged >= budget:
            return f"The budget of {budget:,} judgments is used up."
        if more:
            return None
        return "There is nothing left to judge" + (" but what was skipped." if self.skips() else ".")

    def progress(self) -> Progress:
        grades = self.grades()
        pairs = self.pairs()
        still_open = [pair for pair in pairs if pair.confidence < self.settings.until]
        return Progress(
            judged=len(grades),
            relevant=sum(self._is_relevant(event.grade or 0) for event in grades),
            skipped=len(self.skips()),
            imported=self.imported,
            pairs=len(pairs),
            settled=len(pairs) - len(still_open),
            weakest=min(still_open, key=lambda pair: pair.confidence, default=None),
            forecast=self.engine.forecast(),
        )

    def pairs(self, engine: Engine | None = None) -> list[PairStanding]:
        """The pairs that matter, each in the order that is more probable; as an engine sees it that was told less."""
        engine = engine or self.engine
        names, confidence = self.candidates.names, engine.confidence()
        ordered = ((a, b) if confidence[a, b] >= 0.5 else (b, a) for a, b in engine.pairs())
        return [PairStanding(names[a], names[b], float(confidence[a, b])) for a, b in ordered]

    def expected(self, engine: Engine | None = None) -> list[tuple[str, float]]:
        """Systems and the MAP to expect of them, best first."""
        values = zip(self.candidates.names, (engine or self.engine).expected().tolist(), strict=True)
        return sorted(values, key=lambda item: -item[1])

    # -- out

    def qrels_text(self) -> str:
        """All judgments, imported and made, as a qrels file."""
        made = self.grades()
        text = ""
        if self.qrels is not None:
            # What had a negative grade, which is none, may have been judged since.
            again = {(event.topic, _raw(event.document)) for event in made}
            pairs = zip(self.qrels.topic.tolist(), self.qrels.documents.tolist(), strict=True)
            kept = [(self.qrels.topics[topic], document) not in again for topic, document in pairs]
            text = self.qrels.keep(np.array(kept, dtype=bool)).to_text()
        return text + "".join(f"{event.topic} 0 {event.document} {event.grade}\n" for event in made)

    def provenance(self) -> list[tuple[str, ...]]:
        """Where each judgment comes from, and why documents were skipped (they have no grade).

        A document judged twice has a row for each grade, and one for the final grade if there is one.
        """
        rows: list[tuple[str, ...]] = []
        if self.qrels is not None:
            made = {(event.topic, event.document) for event in self.grades()}
            for line in self.qrels.keep(self.qrels.grades >= 0).to_text().splitlines():
                topic, _, document, grade = line.split(" ")
                if (topic, document) not in made:
                    rows.append((topic, document, grade, self.qrels.source, "", "", "known"))
        made_of = [
            (event, "final" if event.kind == "final" else ("first", "second")[place])
            for answers in self._answers.values()
            for place, event in enumerate(answers)
        ]
        for event, what in (*made_of, *((event, "skipped") for event in self.skips())):
            grade = "" if event.grade is None else str(event.grade)
            rows.append((event.topic, event.document, grade, event.assessor, event.time, event.note, what))
        return rows

    def provenance_text(self) -> str:
        return "".join("\t".join(row) + "\n" for row in (PROVENANCE, *self.provenance()))

    def export(self, path: Path) -> Path:
        """Write the qrels, and beside it a table that says who judged what and when; return the table's name."""
        beside = path.with_name(f"{path.name}.provenance.tsv")
        for target, text in ((path, self.qrels_text()), (beside, self.provenance_text())):
            with whole_file(target) as temporary:
                temporary.write_text(text, encoding="utf-8", errors="surrogateescape", newline="\n")
        return beside

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
        self._standing = standing(self.log.events())
        self._fold()

    # -- inside

    def _is_relevant(self, grade: float) -> bool:
        return grade >= self.settings.rel

    def _check(self, grade: int) -> None:
        if isinstance(grade, bool) or not isinstance(grade, int) or not 0 <= grade <= self.settings.max_grade:
            raise FathomsError(f"expected a grade from 0 to {self.settings.max_grade}, found {grade!r}")

    def _open(self, topic: str, document: str, assessor: str) -> int:
        """The candidate, if it has no grade yet, or waits for a second one."""
        index = self.find(topic, document)
        answers = self._answers.get(index)
        if answers is not None and index not in self.waiting(assessor):
            event = _counting(answers)
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
        self._waiting: dict[int, None] = {}  # for a second grade
        self._twice: dict[int, None] = {}  # those that have one
        self._judgments = [(index, self._is_relevant(grade)) for index, grade in self._imported.items()]
        for event in self._standing.values():
            self._put(self.find(event.topic, event.document), event)
        if self._judgments == before:
            self._judgments = before  # nothing to tell the engine

    def _add(self, index: int, event: Event) -> Event:
        self._standing[event.number] = event
        self._put(index, event)
        return event

    def _put(self, index: int, event: Event) -> None:
        if event.kind == "skip":
            self._skipped[index] = event
            self._waiting.pop(index, None)
            return
        answers = self._answers.setdefault(index, [])
        answers.append(event)
        relevant = self._is_relevant(_counting(answers).grade or 0)
        if len(answers) == 1:
            self._judgments.append((index, relevant))
            if event.kind == "grade" and self.is_double(event.topic, event.document):
                self._waiting[index] = None
            return
        self._waiting.pop(index, None)
        self._twice[index] = None
        if (index, not relevant) in self._judgments:
            self._judgments = [(one, relevant if one == index else other) for one, other in self._judgments]


def _counting(answers: list[Event]) -> Event:
    """The grade that counts: the last final one, else the first."""
    return answers[-1] if answers[-1].kind == "final" else answers[0]


def _engine(settings: JudgingSettings, candidates: Candidates, qrels: Qrels | None) -> Engine:
    return Engine(
        candidates,
        settings.strategy,
        until=settings.until,
        baseline=settings.baseline,
        seed=settings.seed,
        elsewhere=None if qrels is None else candidates.relevant_elsewhere(qrels, settings.rel),
    )


def known(candidates: Candidates, qrels: Qrels) -> dict[int, float]:
    """Grades of judged candidates, in the order of the file; negative grades are none."""
    rows, _, found = candidates.judgments(qrels)
    grades = qrels.grades[rows[found >= 0]]
    return dict(zip(found[found >= 0].tolist(), grades.tolist(), strict=True))


def tidy(text: str) -> str:
    """One line without tabs and control characters, as a table wants it."""
    return " ".join("".join(c if unicodedata.category(c) != "Cc" else " " for c in text).split())


def _checksums(candidates: Candidates, qrels: Qrels | None) -> dict[str, str]:
    """Of what was read from the files, whatever their names and compression."""
    runs = hashlib.sha256(json.dumps([candidates.names, candidates.topics]).encode())
    for array in (candidates.topic, candidates.documents, candidates.place):
        runs.update(np.ascontiguousarray(array).tobytes())
    judgments = b"" if qrels is None else qrels.to_text().encode(errors="surrogateescape")
    return {"checksum_runs": runs.hexdigest(), "checksum_judgments": hashlib.sha256(judgments).hexdigest()}


def _other_files(path: Path, detail: str) -> InputError:
    return InputError(
        f"was begun with other files: {detail}; give the same QRELS, runs and flags, or begin another session with "
        "--session FILE",
        str(path),
    )


def _listed(names: list[str]) -> str:
    return f"{pluralise(len(names), 'run')} ({', '.join(names[:5])}{', ...' if len(names) > 5 else ''})"
