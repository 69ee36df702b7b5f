"""A judging session: a log of events in one SQLite file, and what follows from it.

Nothing is remembered but the log. An answer is written there and synced to disk before it is acknowledged; what is
judged, skipped and chosen next is worked out from the events, so a session that was killed goes on where it stood.
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
from fathoms.data.trec import counted
from fathoms.errors import FathomsError, InputError
from fathoms.evidence.candidates import Candidates
from fathoms.evidence.order import Precision, Ties
from fathoms.judge.engine import Engine
from fathoms.judge.select import DEFAULT

FORMAT = 1
APPLICATION = 0x6661746D  # what SQLite calls an application id: whose file this is
Kind = Literal["grade", "skip", "undo"]
PROVENANCE = ("topic", "document", "grade", "who", "when", "note")

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
CREATE TRIGGER event_is_never_changed BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
CREATE TRIGGER event_is_never_removed BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
"""


@dataclass(frozen=True)
class Settings:
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

    def __post_init__(self) -> None:
        if not 0.5 < self.until < 1:
            raise FathomsError(f"until must lie between 0.5 and 1, found {self.until:g}")
        if not 1 <= self.rel <= self.max_grade:
            raise FathomsError(f"rel must be a grade from 1 to {self.max_grade}, the greatest, found {self.rel}")


@dataclass(frozen=True)
class Event:
    """Something an assessor did: graded a document, skipped it, or took one of these back."""

    number: int
    kind: Kind
    topic: str
    document: str
    grade: int | None  # of a grade
    undone: int | None  # of an undo: the number of the event that it takes back
    assessor: str
    time: str  # UTC
    note: str


def standing(events: Iterable[Event]) -> dict[int, Event]:
    """Grades and skips that were not taken back, by number, in order."""
    left: dict[int, Event] = {}
    for event in events:
        if event.kind == "undo":
            left.pop(event.undone or 0, None)
        else:
            left[event.number] = event
    return left


# -- on disk ------------------------------------------------------------------------------------------------------


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

    def settings(self) -> Settings:
        meta = self.meta()
        return Settings(**{field.name: meta[field.name] for field in fields(Settings)})

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

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _failing(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise InputError(f"{what}: {error}", str(self.path)) from None


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
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=0)
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


class Pair(NamedTuple):
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
    weakest: Pair | None  # the open pair of least confidence
    forecast: tuple[int, int] | None


class Session:
    """Judging as one or more assessors do it; every answer is on disk when its method returns."""

    def __init__(
        self, log: Log, settings: Settings, candidates: Candidates, qrels: Qrels | None, engine: Engine
    ) -> None:
        self.log = log
        self.engine = engine
        self.settings = settings
        self.candidates = candidates
        self.qrels = qrels
        self._imported = {} if qrels is None else known(candidates, qrels)
        self._standing = standing(log.events())
        self._graded: dict[int, Event] = {}  # by candidate, in order
        self._skipped: dict[int, Event] = {}
        for event in self._standing.values():
            self._add(self._find(event.topic, event.document), event)
        if self._imported or self._graded:  # a new engine has nothing loaded, and loading may take it a while
            self._load()

    @classmethod
    def begin(cls, path: Path, settings: Settings, candidates: Candidates, qrels: Qrels | None) -> Session:
        """A new session in a new file."""
        engine = _engine(settings, candidates, qrels)  # before there is a file, for it may refuse
        meta = asdict(settings) | {"systems": candidates.names} | _checksums(candidates, qrels)
        return cls(Log.create(path, meta), settings, candidates, qrels, engine)

    @classmethod
    def resume(cls, log: Log, settings: Settings, candidates: Candidates, qrels: Qrels | None) -> Session:
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

    def next(self) -> Task | None:
        """The document to judge next; None where nothing is left but skipped ones."""
        index = self.engine.next(skip=self._skipped)
        if index is None:
            return None
        return Task(
            index,
            self.candidates.topics[self.candidates.topic[index]],
            self.candidates.documents[index].decode(errors="surrogateescape"),
        )

    def grade(self, topic: str, document: str, grade: int, assessor: str, note: str = "") -> Event:
        index = self._open(topic, document)
        if isinstance(grade, bool) or not isinstance(grade, int) or not 0 <= grade <= self.settings.max_grade:
            raise FathomsError(f"expected a grade from 0 to {self.settings.max_grade}, found {grade!r}")
        event = self.log.append("grade", topic, document, grade=grade, assessor=_tidy(assessor), note=_tidy(note))
        self._standing[event.number] = event
        self._add(index, event)
        self.engine.judge(index, self._is_relevant(grade))
        return event

    def skip(self, topic: str, document: str, assessor: str, note: str = "") -> Event:
        """Leave a document out; it is not offered again unless the skip is taken back."""
        index = self._open(topic, document)
        if index in self._skipped:
            raise FathomsError(f"topic {topic}, document {document} is skipped already")
        event = self.log.append("skip", topic, document, assessor=_tidy(assessor), note=_tidy(note))
        self._standing[event.number] = event
        self._add(index, event)
        return event

    def undo(self, assessor: str) -> Task | None:
        """Take back the last answer of an assessor that still stands, and return what it was about."""
        name = _tidy(assessor)
        last = next((event for event in reversed(self._standing.values()) if event.assessor == name), None)
        if last is None:
            return None
        self.log.append("undo", last.topic, last.document, undone=last.number, assessor=name)
        del self._standing[last.number]
        index = self._find(last.topic, last.document)
        if last.kind == "skip":
            del self._skipped[index]
        else:
            is_latest = index == next(reversed(self._graded))
            del self._graded[index]
            if is_latest:
                self.engine.undo()
            else:  # somebody else has judged since
                self._load()
        return Task(index, last.topic, last.document)

    # -- what is known

    def grades(self) -> list[Event]:
        """The judgments made, in order."""
        return list(self._graded.values())

    def skips(self) -> list[Event]:
        """The documents left out, in order; not those that were graded later."""
        return [event for index, event in self._skipped.items() if index not in self._graded]

    def settled(self) -> bool:
        return self.engine.settled()

    def progress(self) -> Progress:
        grades = self.grades()
        pairs = self.pairs()
        still_open = [pair for pair in pairs if pair.confidence < self.settings.until]
        return Progress(
            judged=len(grades),
            relevant=sum(self._is_relevant(event.grade or 0) for event in grades),
            skipped=len(self.skips()),
            imported=len(self._imported),
            pairs=len(pairs),
            settled=len(pairs) - len(still_open),
            weakest=min(still_open, key=lambda pair: pair.confidence, default=None),
            forecast=self.engine.forecast(),
        )

    def pairs(self) -> list[Pair]:
        """The pairs that matter, each in the order that is more probable."""
        names, confidence = self.candidates.names, self.engine.confidence()
        ordered = ((a, b) if confidence[a, b] >= 0.5 else (b, a) for a, b in self.engine.pairs())
        return [Pair(names[a], names[b], float(confidence[a, b])) for a, b in ordered]

    def expected(self) -> list[tuple[str, float]]:
        """Systems and the MAP to expect of them, best first."""
        values = zip(self.candidates.names, self.engine.expected().tolist(), strict=True)
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
        """Where each judgment comes from, and why documents were skipped (they have no grade)."""
        rows: list[tuple[str, ...]] = []
        if self.qrels is not None:
            made = {(event.topic, event.document) for event in self.grades()}
            for line in self.qrels.keep(self.qrels.grades >= 0).to_text().splitlines():
                topic, _, document, grade = line.split(" ")
                if (topic, document) not in made:
                    rows.append((topic, document, grade, self.qrels.source, "", ""))
        for event in (*self.grades(), *self.skips()):
            grade = "" if event.grade is None else str(event.grade)
            rows.append((event.topic, event.document, grade, event.assessor, event.time, event.note))
        return rows

    def export(self, path: Path) -> Path:
        """Write the qrels, and beside it a table that says who judged what and when; return the table's name."""
        beside = path.with_name(f"{path.name}.provenance.tsv")
        table = "".join("\t".join(row) + "\n" for row in (PROVENANCE, *self.provenance()))
        for target, text in ((path, self.qrels_text()), (beside, table)):
            with whole_file(target) as temporary:
                temporary.write_text(text, encoding="utf-8", errors="surrogateescape", newline="\n")
        return beside

    def close(self) -> None:
        self.log.close()

    # -- inside

    def _is_relevant(self, grade: float) -> bool:
        return grade >= self.settings.rel

    def _find(self, topic: str, document: str) -> int:
        index = self.candidates.find(topic, document)
        if index is None:
            raise FathomsError(
                f"topic {topic}, document {document} is in no run's top {self.settings.depth}; only what the runs "
                "retrieved can be judged"
            )
        return index

    def _open(self, topic: str, document: str) -> int:
        """The candidate, if it has no grade yet."""
        index = self._find(topic, document)
        event = self._graded.get(index)
        if event is not None:
            raise FathomsError(
                f"topic {topic}, document {document} has grade {event.grade} already, from {event.assessor}; take that "
                "back first"
            )
        if self.qrels is not None and index in self._imported:
            raise FathomsError(f"topic {topic}, document {document} is judged already in {self.qrels.source}")
        return index

    def _add(self, index: int, event: Event) -> None:
        (self._graded if event.kind == "grade" else self._skipped)[index] = event

    def _load(self) -> None:
        imported = [(index, self._is_relevant(grade)) for index, grade in self._imported.items()]
        made = [(index, self._is_relevant(event.grade or 0)) for index, event in self._graded.items()]
        self.engine.load(imported + made)


def _engine(settings: Settings, candidates: Candidates, qrels: Qrels | None) -> Engine:
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


def _tidy(text: str) -> str:
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
    return f"{counted(len(names), 'run')} ({', '.join(names[:5])}{', ...' if len(names) > 5 else ''})"
