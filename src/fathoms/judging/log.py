"""The log of a judging session: events in one SQLite file, on disk before they are acknowledged."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from fathoms.data.files import check_writable
from fathoms.errors import FathomsError, InputError
from fathoms.evidence.order import Precision, Ties
from fathoms.judging.names import DEFAULT
from fathoms.measures.base import Measure
from fathoms.measures.gains import Binary
from fathoms.measures.parse import parse_measure

FORMAT = 1
WITH_REVISIONS = 2  # a file becomes one of these with its first revision, of which older versions know nothing
APPLICATION = 0x6661746D  # what SQLite calls an application id: whose file this is
Kind = Literal["grade", "skip", "undo", "final"]

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
    """What a session is begun with; `until`, `stay` and `recall` may change later."""

    strategy: str = DEFAULT
    until: float = 0.95
    seed: int = 0
    depth: int = 100
    ties: Ties = "trec"
    precision: Precision = "float32"
    baseline: str | None = None
    max_grade: int = 1
    rel: int = 1
    measures: tuple[str, ...] = ("AP",)
    double: float = 0.0  # share of documents that two people judge
    kappa_error: float | None = None  # or as many as it takes to know kappa to +- this
    count_disagreement: bool = False  # a pair is settled only if it would be by another assessor's judgments
    stay: int = 1  # documents of a topic that an assessor judges before another topic comes
    recall: float | None = None  # share of the relevant documents to find, for the strategy find-all

    def __post_init__(self) -> None:
        if not 0.5 < self.until < 1:
            raise FathomsError(f"the confidence must lie between 0.5 and 1, found {self.until:g}")
        if not 1 <= self.rel <= self.max_grade:
            raise FathomsError(f"rel must be a grade from 1 to {self.max_grade}, the greatest, found {self.rel}")
        if not 0 <= self.double <= 1:
            raise FathomsError(f"the share judged twice must be from 0 to 1, found {self.double:g}")
        if self.kappa_error is not None and not 0 < self.kappa_error < 1:
            raise FathomsError(f"the error of kappa must lie between 0 and 1, found {self.kappa_error:g}")
        if self.kappa_error is not None and self.double:
            raise FathomsError("either a share of the documents is judged twice or as many as kappa takes, not both")
        if self.count_disagreement and not (self.double or self.kappa_error):
            raise FathomsError("to count disagreement, two people must judge some documents: by a share or for kappa")
        if self.stay < 1:
            raise FathomsError(f"an assessor stays on a topic for 1 document at least, found {self.stay}")
        if self.recall is not None and self.strategy != "find-all":
            raise FathomsError(f"a recall to reach is for the strategy find-all, found {self.strategy}")
        if self.recall is not None and not 0 < self.recall < 1:
            raise FathomsError(f"the recall to reach must lie between 0 and 1, found {self.recall:g}")
        object.__setattr__(self, "measures", tuple(measure.name for measure in self.parsed()))

    def parsed(self) -> list[Measure]:
        """The measures; `rel` is the threshold of those that have one and do not say it themselves."""
        found = [parse_measure(name) for name in self.measures]
        return [m.replace(rel=self.rel) if isinstance(m, Binary) and m.rel == 1 else m for m in found]


@dataclass(frozen=True)
class Event:
    """Something an assessor did: graded a document, skipped it, settled two grades, or took one of these back.

    A grade that names another event revises it: it takes that one's place, in the order too.
    """

    number: int
    kind: Kind
    topic: str
    document: str
    grade: int | None  # of a grade, or a final one
    undone: int | None  # of an undo: the number of the event that it takes back; of a revision: that it revises
    assessor: str
    time: str  # UTC
    note: str


class Standing:
    """What was not taken back, in order. A revision stands in the place of what it revises, and that comes back when
    the revision is taken back."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._chains: dict[int, list[Event]] = {}  # a grade and its revisions, by the number of the first
        self._chain_of: dict[int, int] = {}
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        if event.kind == "undo":
            self._take_back(event.undone or 0)
        elif event.undone is None:
            self._chains[event.number] = [event]
            self._chain_of[event.number] = event.number
        else:
            start = self._chain_of[event.undone]
            self._chains[start].append(event)
            self._chain_of[event.number] = start

    def _take_back(self, number: int) -> None:
        chain = self._chains.get(self._chain_of.get(number, 0))
        if chain is None or chain[-1].number != number:
            return
        chain.pop()
        if not chain:
            del self._chains[number]

    def __iter__(self) -> Iterator[Event]:
        return (chain[-1] for chain in self._chains.values())

    def backwards(self) -> Iterator[Event]:
        return (chain[-1] for chain in reversed(self._chains.values()))

    def before(self, event: Event) -> list[Event]:
        """What an event that stands revised, in order."""
        return self._chains[self._chain_of[event.number]][:-1]

    def last_of(self, assessor: str) -> Event | None:
        """The latest thing that this assessor did and that stands."""
        mine = (event for event in self if event.assessor == assessor)
        return max(mine, key=lambda event: event.number, default=None)


class Point(NamedTuple):
    """How sure it was after an event: documents judged, pairs settled, and the confidence of the least sure pair."""

    event: int
    judged: int
    settled: int
    least: float


class LogError(InputError):
    """The file cannot be read or written."""


class Log:
    """The file. One process has it open at a time, and what `append` returns is on disk."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def create(cls, path: Path, meta: dict[str, Any]) -> Log:
        _make_private(path)
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
            if format not in (FORMAT, WITH_REVISIONS):
                log.close()
                raise InputError(
                    f"has format {format}, expected {FORMAT} or {WITH_REVISIONS}; it needs another fathoms", str(path)
                )
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
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, json.dumps(value)))

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
        words = [id_bytes(word) for word in (topic, document, assessor, note)]
        with self._failing("cannot be written, and the answer is not saved"):
            cursor = self._connection.execute(
                "INSERT INTO event (kind, topic, document, grade, undone, assessor, time, note) "
                "VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT), ?, ?, CAST(? AS TEXT), ?, CAST(? AS TEXT))",
                (kind, words[0], words[1], grade, undone, words[2], time, words[3]),
            )  # without BEGIN, a transaction of its own: committed when this returns
        return Event(int(cursor.lastrowid or 0), kind, topic, document, grade, undone, assessor, time, note)

    def revise(self, old: Event, *, grade: int, assessor: str, note: str) -> Event:
        """A grade in the place of another, which stays in the log."""
        if self.meta()["format"] != WITH_REVISIONS:  # a reader that knows of none would take it for a second grade
            self.change("format", WITH_REVISIONS)
        return self.append(
            "grade", old.topic, old.document, grade=grade, undone=old.number, assessor=assessor, note=note
        )

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


def id_bytes(text: str) -> bytes:
    """Ids need not be valid UTF-8; SQLite does not mind, Python's module for it does."""
    return text.encode(errors="surrogateescape")


def _make_private(path: Path) -> None:
    """A new file that nobody else may read: it holds who judged what, and tokens. SQLite gives its journal the same
    permissions. Where it cannot be made, SQLite will say why."""
    with suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


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
