"""The file of a judging session: SQLite tables, a hash chain over all answers, and checks before they are trusted.

Each event has a hash of its own content and of the hash before it; the table `head` has the last one, and the hash of
all settings. So a row that was changed, lost or put in, by a fault of the disk or by hand, is found when it is read.
The hashes need no key, so anybody who can write the file can recompute them: where that matters, keep the last hash,
which the command prints, in another place.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args

from fathoms.base.errors import InputError

FORMAT = 3
LONGEST_VALUE = 64 << 20  # bytes of a value, such as all settings of a large session
OLD_FORMATS = (1, 2)  # without hashes; 2 has revisions
APPLICATION = 0x6661746D  # what SQLite calls an application id: whose file this is
Kind = Literal["grade", "skip", "undo", "final"]
COLUMNS = ("number", "kind", "topic", "document", "grade", "undone", "assessor", "time", "note", "key")

TRIGGERS = """
CREATE TRIGGER event_is_never_changed BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
CREATE TRIGGER event_is_never_removed BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
"""
OLD_SCHEMA = f"""
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
{TRIGGERS}"""
BESIDE = """
CREATE TABLE head (place INTEGER PRIMARY KEY CHECK (place = 1), number INTEGER NOT NULL, hash TEXT NOT NULL,
    meta TEXT NOT NULL);
CREATE TABLE lease (assessor TEXT PRIMARY KEY, topic TEXT NOT NULL, document TEXT NOT NULL, until REAL NOT NULL,
    hash TEXT NOT NULL);
CREATE UNIQUE INDEX event_key ON event (key);
"""
UPGRADE = f"""
DROP TRIGGER IF EXISTS event_is_never_changed;
DROP TRIGGER IF EXISTS event_is_never_removed;
ALTER TABLE trace ADD COLUMN hash TEXT;
ALTER TABLE event ADD COLUMN key TEXT;
ALTER TABLE event ADD COLUMN previous TEXT NOT NULL DEFAULT '';
ALTER TABLE event ADD COLUMN hash TEXT NOT NULL DEFAULT '';
{BESIDE}"""


# What SQLite raises; if its message quotes a damaged file, Python cannot even decode that.
FAILURES = (sqlite3.Error, UnicodeError)


class LogError(InputError):
    """The file cannot be read or written."""


class Damaged(LogError):
    """The file holds something that nobody wrote there, or lacks something."""

    def __init__(self, what: str, path: Path) -> None:
        super().__init__(
            f"is damaged: {what}; `fathoms judge --salvage {path}` takes out every good answer and says what is lost",
            str(path),
        )


# -- whose file it is -----------------------------------------------------------------------------------------------


def glance(path: Path) -> tuple[int, int] | None:
    """Whose database a file is and how many tables and the like it has, as it is on disk: nothing is locked, written or
    rolled back. None if it is not a database."""
    uri = f"{Path(os.path.abspath(path)).as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            application = connection.execute("PRAGMA application_id").fetchone()[0]
            return application, connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    except FAILURES:
        return None


@cache
def _known_schema() -> frozenset[tuple[str, str, str]]:
    """All tables, indexes and triggers that a session may have: type, name and SQL."""
    schema: set[tuple[str, str, str]] = set()
    with closing(sqlite3.connect(":memory:")) as connection:
        for script in (OLD_SCHEMA, UPGRADE, TRIGGERS):
            connection.executescript(script)
            schema |= _schema(connection)
    return frozenset(schema)


def _schema(connection: sqlite3.Connection) -> set[tuple[str, str, str]]:
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    return {(str(type), str(name), re.sub(r"\s", "", str(sql or ""))) for type, name, sql in rows}


def is_ours(connection: sqlite3.Connection) -> bool:
    """Whether a session has the tables that fathoms makes and nothing else: no view that never ends, no trigger that
    makes answers vanish."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    return _schema(connection) <= _known_schema()


# -- hashes -------------------------------------------------------------------------------------------------------


def digest(*values: Any) -> str:
    """The hash of some values; for values that no version of fathoms writes, something that is not a hash."""
    try:
        return sha256(json.dumps(values).encode()).hexdigest()
    except TypeError:  # a blob, as damage leaves it
        return "none"


def new_identity() -> str:
    """Where the chain of a session starts, so that no event of another session fits into it."""
    return secrets.token_hex(16)


def first_hash(identity: str) -> str:
    return digest("fathoms judge", identity)


def meta_hash(rows: Iterable[tuple[str, str]]) -> str:
    return digest(*sorted(map(list, rows), key=str))  # damaged ones may have no names to sort by


def event_hash(identity: str, previous: str, values: Iterable[Any]) -> str:
    """The hash of an event in its place, in its session: it fits nowhere else."""
    return digest(identity, previous, *values)


def check_chain(rows: Sequence[Sequence[Any]], identity: str, head: tuple[int, str], path: Path) -> None:
    """Check that events, each with the hash before it and its own, are those that were written, and all of them."""
    last = first_hash(identity)
    for *values, previous, own in rows:
        if own != event_hash(identity, previous, values):
            raise Damaged(f"event {values[0]} has been altered", path)
        if previous != last:
            raise Damaged(f"something is missing before event {values[0]}", path)
        last = own
    if (rows[-1][0] if rows else 0, last) != head:
        raise Damaged(f"the last events are missing; the log went on to number {head[0]}", path)


# -- opening ------------------------------------------------------------------------------------------------------


def keep_private(path: Path) -> bool:
    """Make a file that others may read, as a copy may be, private to its owner; returns whether it was not."""
    try:
        is_open = bool(os.stat(path).st_mode & 0o077)
        if is_open:
            os.chmod(path, 0o600)
    except OSError:  # somebody else's
        return False
    return is_open


def make_private(path: Path) -> None:
    """A new file that nobody else may read: it holds who judged what, and tokens. SQLite gives its journal the same
    permissions. If it cannot be made, SQLite will say why."""
    with suppress(OSError):
        os.close(os.open(os.path.realpath(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def as_text(raw: bytes) -> str:
    """Ids need not be valid UTF-8."""
    return raw.decode(errors="surrogateescape")


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """A connection that has the file to itself until it is closed or its process ends, one way or another."""
    uri = f"{Path(os.path.abspath(path)).as_uri()}?mode={mode}"
    try:
        # One thread at a time uses it, though not always the one that opened it.
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=0, check_same_thread=False)
    except FAILURES as error:
        raise InputError(f"cannot be opened: {error}", str(path)) from None
    connection.text_factory = as_text
    try:
        # No write-ahead log: all that was acknowledged is in the one file, whenever somebody copies it. EXTRA syncs
        # the folder too, or a journal could come back after a power cut and undo what was committed.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA trusted_schema = OFF")  # the file may not be ours
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
    except FAILURES as error:
        connection.close()
        if "locked" in str(error):
            message = "is in use by another process; finish there first, or begin another with --session FILE"
            raise InputError(message, str(path)) from None
        raise InputError(f"cannot be used as a session: {error}", str(path)) from None
    return connection


def execute_all(connection: sqlite3.Connection, script: str) -> None:
    """Statements in the transaction that is open, which `executescript` would end."""
    for statement in script.split(";\n"):
        connection.execute(statement)


def check_pages(connection: sqlite3.Connection, path: Path) -> None:
    """Check that the tables are ours, and whatever damage SQLite itself can see."""
    if not is_ours(connection):
        raise Damaged("it has tables, views or triggers that fathoms does not make", path)
    answer = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    if answer != "ok":
        raise Damaged(" ".join(answer.split()), path)


class Place:
    """Where the file was when it was opened. SQLite goes on writing to a file that was removed or moved, and nobody
    would find the answers."""

    def __init__(self, path: Path) -> None:
        self._path = Path(os.path.abspath(path))
        self._file = self._now()

    def check(self) -> None:
        """Raise if the file is no longer there, or nobody may write to it."""
        now = self._now()
        if now is None or self._file is None or now[:2] != self._file[:2]:
            gone = "no longer exists" if now is None else "has been replaced"
            raise LogError(
                f"{gone}: the session file was moved, removed or replaced while in use, so nothing more is saved; put "
                "it back, or stop and --resume it where it is now",
                str(self._path),
            )
        if not now[2] & 0o222:
            raise LogError("is read-only now, so nothing more is saved; make it writable again", str(self._path))

    def _now(self) -> tuple[int, int, int] | None:
        try:
            status = os.stat(self._path)
        except OSError:
            return None
        return status.st_dev, status.st_ino, status.st_mode
