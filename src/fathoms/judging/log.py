"""The log of a judging session: events in one SQLite file, on disk before they are acknowledged."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import astuple
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from fathoms.base.errors import FathomsError, InputError
from fathoms.base.files import check_writable
from fathoms.judging import session_file as file
from fathoms.judging.events import Event, JudgingSettings, id_bytes, is_plausible, settings_of
from fathoms.judging.state import fold


class Point(NamedTuple):
    """How sure it was after an event: documents judged, pairs settled, and the confidence of the least sure pair."""

    event: int
    judged: int
    settled: int
    least: float


class KeptLease(NamedTuple):
    """A document in somebody's hands, until a time in seconds since 1970."""

    assessor: str
    topic: str
    document: str
    until: float


class Log:
    """The file. One process has it open at a time, and what `append` returns is on disk.

    Everything that is read is checked against its hashes first (see `session_file`).
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.notes: list[str] = []  # notes on how it was opened
        self._connection = connection
        self._place = file.Place(path)
        self._last: tuple[int, str] | None = None  # number and hash of the last event, once known
        self._named: str | None = None  # the session's identity, likewise

    @classmethod
    def create(cls, path: Path, meta: Mapping[str, Any]) -> Log:
        file.make_private(path)
        log = cls(path, file.connect(path, "rwc"))
        with log._writing(), log._closing_on_error():
            if not _is_empty(log._connection):
                raise _exists(path)
            with log._transaction():
                log._connection.execute(f"PRAGMA application_id = {file.APPLICATION}")
                for script in (file.OLD_SCHEMA, file.UPGRADE, file.TRIGGERS):
                    file.execute_all(log._connection, script)
                log._begin_chain(meta)
        return log

    @classmethod
    def open(cls, path: Path) -> Log:
        """The log of a session; one of an older format is brought up to date."""
        not_begun = InputError("no session has been begun in this file; leave out --resume to begin one", str(path))
        if not _is_something(path):
            raise not_begun
        others = InputError("is a database of another program, expected a session of `fathoms judge`", str(path))
        seen = file.glance(path)
        if seen is not None and seen[0] != file.APPLICATION and seen[1] and not _is_cut_short(path):
            raise others
        log = cls(path, file.connect(path, "rw"))
        with log._reading(), log._closing_on_error():
            if _is_empty(log._connection):
                raise not_begun
            if log._connection.execute("PRAGMA application_id").fetchone()[0] != file.APPLICATION:
                raise others
            file.check_pages(log._connection, path)
            format = log._format()
            if format in file.OLD_FORMATS:
                log._upgrade()
            elif format != file.FORMAT:
                raise InputError(
                    f"has format {format}, expected one from {file.OLD_FORMATS[0]} to {file.FORMAT}; it needs another "
                    "fathoms",
                    str(path),
                )
            log.events()
        if file.keep_private(path):
            log.notes.append(
                f"{path} could be read by others, and now only by you: it holds who judged what, and tokens"
            )
        return log

    # -- settings

    def meta(self) -> dict[str, Any]:
        with self._reading():
            rows = self._connection.execute("SELECT name, value FROM meta").fetchall()
            if file.meta_hash(rows) != self._head()[2]:
                raise file.Damaged("the settings are not as they were written", self.path)
            return {name: json.loads(value) for name, value in rows}

    def settings(self) -> JudgingSettings:
        return settings_of(self.meta())

    def change(self, name: str, value: Any) -> None:
        with self._writing(), self._transaction():
            self.meta()  # a new hash must not cover up damage
            self._put_meta({name: value})

    def _put_meta(self, values: Mapping[str, Any]) -> None:
        rows = [(name, json.dumps(value)) for name, value in values.items()]
        self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)
        own = file.meta_hash(self._connection.execute("SELECT name, value FROM meta"))
        self._connection.execute("UPDATE head SET meta = ?", (own,))

    # -- events

    @property
    def last(self) -> tuple[int, str]:
        """Number and hash of the last event; whoever keeps them elsewhere can tell if a log was rewritten."""
        if self._last is None:
            self._last = self._head()[:2]
        return self._last

    def events(self) -> list[Event]:
        with self._reading():
            names = ", ".join(file.COLUMNS)
            rows = self._connection.execute(f"SELECT {names}, previous, hash FROM event ORDER BY number").fetchall()
            file.check_chain(rows, self._identity(), self._head()[:2], self.path)
            return [Event(*row[:-2]) for row in rows]

    def append(
        self,
        kind: file.Kind,
        topic: str,
        document: str,
        *,
        grade: int | None = None,
        supersedes: int | None = None,
        assessor: str,
        note: str = "",
        key: str | None = None,
    ) -> Event:
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        event = Event(self.last[0] + 1, kind, topic, document, grade, supersedes, assessor, time, note, key)
        with self._writing(", and the answer is not saved"), self._transaction():
            self._put(event)
        return event

    def take_over(self, events: Iterable[Event]) -> None:
        """Events as another log has them, with their numbers and times."""
        with self._writing(), self._transaction():
            for event in events:
                self._put(event)

    def _put(self, event: Event) -> None:
        values = astuple(event)
        previous = self.last[1]
        own = file.event_hash(self._identity(), previous, values)
        # As bytes, since Python's module for SQLite does not take text that is not UTF-8; SQLite does not mind.
        words = [id_bytes(value) if isinstance(value, str) else value for value in (*values, previous, own)]
        marks = ", ".join("CAST(? AS TEXT)" if isinstance(word, bytes) else "?" for word in words)
        names = ", ".join(file.COLUMNS)
        done = self._connection.execute(f"INSERT INTO event ({names}, previous, hash) VALUES ({marks})", words)
        if done.rowcount != 1:
            raise file.Damaged("an answer was not taken", self.path)
        self._connection.execute("UPDATE head SET number = ?, hash = ?", (event.number, own))
        self._last = event.number, own

    @contextmanager
    def together(self) -> Iterator[None]:
        """Several answers, one sync: on disk when the block ends, and none of them if it fails."""
        with self._writing(", and the answers are not saved"), self._transaction():
            yield

    # -- beside the log: how sure we were, for the picture alone, and documents in somebody's hands

    def mark(self, points: Iterable[Point]) -> None:
        rows = [(*point, file.digest(*point)) for point in points]
        with self._writing(), self._transaction():
            self._connection.executemany("INSERT OR REPLACE INTO trace VALUES (?, ?, ?, ?, ?)", rows)

    def marks(self) -> list[Point]:
        return [Point(*values) for values in self._good("trace", "event, judged, settled, least")]

    def keep_leases(self, leases: Iterable[KeptLease]) -> None:
        """These, and no others."""
        rows = [
            [id_bytes(value) if isinstance(value, str) else value for value in (*lease, file.digest(*lease))]
            for lease in leases
        ]
        with self._writing(), self._transaction():
            self._connection.execute("DELETE FROM lease")
            text = "CAST(? AS TEXT)"
            self._connection.executemany(f"INSERT INTO lease VALUES ({text}, {text}, {text}, ?, {text})", rows)

    def leases(self) -> list[KeptLease]:
        return [KeptLease(*values) for values in self._good("lease", "assessor, topic, document, until")]

    def _good(self, table: str, names: str) -> list[list[Any]]:
        """Rows that are as they were written; the others are left out."""
        with self._reading():
            rows = self._connection.execute(f"SELECT {names}, hash FROM {table} ORDER BY 1").fetchall()
            return [values for *values, own in rows if own == file.digest(*values)]

    def check_place(self) -> None:
        """Raise if nobody would find the answers: the file was moved, removed or replaced."""
        self._place.check()

    def close(self) -> None:
        self._connection.close()

    # -- inside

    def _head(self) -> tuple[int, str, str]:
        """Number and hash of the last event, and the hash of the settings."""
        head: tuple[int, str, str] | None = self._connection.execute("SELECT number, hash, meta FROM head").fetchone()
        if head is None:
            raise file.Damaged("it does not say where the log ends", self.path)
        return head

    def _identity(self) -> str:
        if self._named is None:
            self._named = self.meta().get("identity", "")
        return self._named

    def _format(self) -> Any:
        row = self._connection.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
        try:
            return json.loads(row[0])
        except (TypeError, ValueError):
            raise file.Damaged("it does not say which format it has", self.path) from None

    def _upgrade(self) -> None:
        """Bring a file without hashes up to date, in one transaction."""
        with self._transaction():
            before = self._format()
            file.execute_all(self._connection, file.UPGRADE)
            self._begin_chain({})
            events, points = self._old_events(), self._connection.execute("SELECT * FROM trace").fetchall()
            try:
                fold(settings_of(self.meta()), events)
            except (FathomsError, TypeError, ValueError, KeyError) as error:
                raise file.Damaged(f"its settings or answers make no sense ({error})", self.path) from None
            self._connection.execute("DELETE FROM event")
            for event in events:
                self._put(event)
            self.mark(Point(*values) for *values, _ in points)
            file.execute_all(self._connection, file.TRIGGERS)
        self.notes.append(
            f"{self.path} had format {before} and has {file.FORMAT} now, which fathoms 0.2.0 and older cannot read"
        )

    def _begin_chain(self, meta: Mapping[str, Any]) -> None:
        identity = file.new_identity()
        self._connection.execute("INSERT INTO head VALUES (1, 0, ?, '')", (file.first_hash(identity),))
        self._put_meta({"format": file.FORMAT, "identity": identity, **meta})

    def _old_events(self) -> list[Event]:
        names = ", ".join(file.COLUMNS)
        rows = self._connection.execute(f"SELECT {names} FROM event ORDER BY number").fetchall()
        events = [Event(*row) for row in rows]
        for event in events:
            if not is_plausible(event):
                raise file.Damaged(f"event {event.number} makes no sense", self.path)
        return events

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All of the block on disk when it ends, or nothing; inside another transaction, a part of that."""
        if self._connection.in_transaction:
            yield
            return
        self._connection.execute("BEGIN")
        try:
            yield
            self._place.check()
            self._connection.execute("COMMIT")
        except BaseException:
            self._last = None
            if (
                self._connection.in_transaction
            ):  # else SQLite has done it already, for instance because the disk is full
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _closing_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except file.FAILURES as error:
            raise file.Damaged(f"it cannot be read ({error})", self.path) from None

    @contextmanager
    def _writing(self, what: str = "") -> Iterator[None]:
        try:
            yield
        except file.FAILURES as error:
            raise file.LogError(f"cannot be written{what}: {error}", str(self.path)) from None


def check_new(path: Path) -> None:
    """Find out before the work that a session cannot be begun here."""
    check_writable(path)
    if _is_something(path) and not _is_blank(path):
        raise _exists(path)


def _is_blank(path: Path) -> bool:
    """Whether nothing was ever committed to a file, as when the making of a session was cut short. A file of another
    program is left as it is."""
    if not _is_cut_short(path):
        seen = file.glance(path)
        return seen is not None and seen[1] == 0
    with closing(file.connect(path, "rw")) as connection:
        return _is_empty(connection)


def _is_cut_short(path: Path) -> bool:
    """Whether a transaction was left in the middle, so that it has to be rolled back before anything is known."""
    return path.with_name(f"{path.name}-journal").exists()


def _is_something(path: Path) -> bool:
    return path.exists() and (not path.is_file() or path.stat().st_size > 0)


def _is_empty(connection: sqlite3.Connection) -> bool:
    """Whether nothing was ever committed, as when the making of a session was cut short."""
    return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def _exists(path: Path) -> InputError:
    return InputError("exists already; go on with --resume, or begin another session with --session FILE", str(path))
