"""What can be recovered from a damaged session: every answer that is as it was written, and a list of what is lost.

Answers are found in the bytes of the file and not through SQLite, which reads nothing beyond a damaged page. Each has
its own hash, so whatever is found and fits is an answer, wherever in the file it was. Sessions of older formats have no
hashes; there, whatever has the form of an answer is taken, and reported as unproven.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import struct
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from fathoms.base.errors import FathomsError, InputError
from fathoms.base.text import pluralise
from fathoms.judging import session_file as file
from fathoms.judging.events import Event, JudgingSettings, id_bytes, is_plausible, settings_of
from fathoms.judging.export import qrels_of, rows_of_events, write_both
from fathoms.judging.log import Log
from fathoms.judging.state import fold

PAGE = 4096  # what SQLite makes them, if the file does not say
KINDS = re.compile("|".join(get_args(file.Kind)).encode())
IDENTITY = re.compile(rb'identity"([0-9a-f]{32})"')  # as the settings have it
SHORTEST_EVENT = 40  # bytes, in any format
MOST = 10_000_000  # events; a greater number is damage
LONGEST_EVENT = 1 << 20  # bytes; a chain of pages that leads back to itself is followed no further
LONGEST_HEADER = 48  # bytes before the first value of an event: sizes and types of a dozen columns
INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # bytes of integers, by type


@dataclass(frozen=True)
class Salvaged:
    """What was recovered: events in order, those that are missing, and the settings if they can be read. `sentences`
    describe it; `write_session` makes a session of it, `write_judgments` qrels."""

    events: list[Event]
    lost: list[int]  # numbers
    is_end_known: bool  # whether the file says how far the log went
    is_proven: bool  # whether events have hashes
    meta: dict[str, Any] | None
    is_meta_proven: bool

    def write_session(self, path: str | os.PathLike[str]) -> None:
        """A new session that goes on from what was found."""
        if self.meta is None:
            raise FathomsError("the settings of the session cannot be read, so it cannot go on")
        settings = {name: value for name, value in self.meta.items() if name not in ("format", "identity")}
        log = Log.create(Path(path), {**settings, "lost": _ranges(self.lost)})
        try:
            log.take_over(self.events)
        except BaseException:  # a session without any would look like one that was just begun
            Path(path).unlink()
            raise
        finally:
            log.close()

    def write_judgments(self, path: str | os.PathLike[str]) -> Path:
        """The judgments made, and beside them who made them; returns that file's name. What the session was begun with
        is not among them."""
        state = fold(JudgingSettings(), self.events)
        rows = [(event.topic, id_bytes(event.document), float(event.grade or 0)) for event in state.grades]
        return write_both(Path(path), qrels_of(rows), rows_of_events(state))

    @property
    def sentences(self) -> list[str]:
        """What was found and what was not, in words."""
        proof = "all hashes are correct" if self.is_proven else "there are no hashes to prove them"
        sentences = [f"Recovered {pluralise(len(self.events), 'event')}; {proof}."]
        if self.lost:
            many = pluralise(len(self.lost), "event")
            sentences.append(f"Lost: {many}, number{'' if len(self.lost) == 1 else 's'} {_listed(_ranges(self.lost))}.")
        else:
            sentences.append("Lost: nothing." if self.is_end_known else "Lost: nothing up to the last of these.")
        if not self.is_end_known:
            sentences.append("The file does not say where the log ended; more may be lost there.")
        if self.meta is None:
            sentences.append("The settings cannot be read: begin another session with the judgments as its QRELS.")
        elif not self.is_meta_proven:
            sentences.append("The settings may have been altered: compare them with what you began with.")
        return sentences


def salvage(path: str | os.PathLike[str]) -> Salvaged:
    """Every answer in the file of a damaged judging session that is as it was written; the file stays as it is."""
    path = Path(path)
    if not path.is_file():
        raise InputError("no such file" if not path.exists() else "is not a file", str(path))
    with tempfile.TemporaryDirectory(prefix="fathoms.") as folder:
        copy = Path(folder, "session.db")
        for ending in ("", "-journal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{path}{ending}", f"{copy}{ending}")
        head, rows = _ask_sqlite(copy)  # which also rolls back what was never committed
        raw = copy.read_bytes()
    meta = _meta(rows)
    candidates, is_proven = _events(raw, meta)
    chosen = _chosen(candidates, head)
    if not chosen and meta is None:
        raise InputError("is not a `fathoms judge` session, or nothing in it can be recovered", str(path))
    most = len(raw) // SHORTEST_EVENT  # a greater number is damage
    end = head[0] if head is not None and head[0] <= most else None
    last = max([*chosen, end or 0], default=0)
    lost = [number for number in range(1, last + 1) if number not in chosen]
    events = _without_dangling([chosen[number].event for number in sorted(chosen)])
    is_meta_proven = head is not None and file.meta_hash(rows) == head[2]
    return Salvaged(events, lost, end is not None, is_proven, meta, is_meta_proven)


# -- through SQLite, as far as it goes ----------------------------------------------------------------------------


Head = tuple[int, str, str]  # number and hash of the last event, hash of the settings


def _ask_sqlite(path: Path) -> tuple[Head | None, list[tuple[str, str]]]:
    """Where the log ends, and the rows of the settings."""
    head: Head | None = None
    rows: list[tuple[str, str]] = []
    # SQLite itself counts events too, which is what older formats have.
    ends = ("SELECT number, hash, meta FROM head", "SELECT seq, '', '' FROM sqlite_sequence WHERE name = 'event'")
    with closing(sqlite3.connect(path)) as connection, suppress(*file.FAILURES):
        connection.text_factory = file.as_text
        if not file.is_ours(connection):
            return None, []
        for query in ends:
            with suppress(*file.FAILURES):
                row = connection.execute(query).fetchone()
                if head is None and row is not None and isinstance(row[0], int) and row[0] >= 0:
                    head = row
        rows.extend(connection.execute("SELECT name, value FROM meta"))  # as many as can be read
    return head, rows


def _meta(rows: list[tuple[str, str]]) -> dict[str, Any] | None:
    """The settings, if a session can go on with them."""
    try:
        meta = {name: json.loads(value) for name, value in rows if isinstance(name, str) and name.isidentifier()}
        settings_of(meta)
    except (FathomsError, TypeError, ValueError):
        return None
    return meta


# -- in the bytes -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Recovered:
    event: Event
    previous: str = ""
    hash: str = ""


def _events(raw: bytes, meta: dict[str, Any] | None) -> tuple[list[_Recovered], bool]:
    """What was found, and whether it is proven: each event has a hash of itself in its session. The settings say which
    session that is; if they cannot be read, the name in the file that fits most events counts."""
    records = list(_records(raw))
    known = (meta or {}).get("identity")
    names = [known] if isinstance(known, str) else sorted({match[1].decode() for match in IDENTITY.finditer(raw)})
    proven = max((_proven(records, name) for name in names), key=len, default=[])
    if names:
        return proven, True
    plausible = [_Recovered(event) for event in map(_unproven, records) if event is not None and is_plausible(event)]
    return plausible, not plausible


def _proven(records: list[tuple[int, list[Any]]], identity: str) -> list[_Recovered]:
    proven = []
    for number, values in records:
        if len(values) == len(file.COLUMNS) + 2:
            *fields, previous, own = values[1:]
            if own == file.event_hash(identity, previous, (number, *fields)):
                proven.append(_Recovered(Event(number, *fields), previous, own))
    return proven


def _unproven(record: tuple[int, list[Any]]) -> Event | None:
    """An event by its form alone: as in formats 1 and 2, or if nothing says which session it belongs to."""
    number, (_, *values) = record
    fields = len(file.COLUMNS) - 1
    return Event(number, *values[:fields]) if len(values) in (fields - 1, fields + 2) else None


def _chosen(candidates: Sequence[_Recovered], head: Head | None) -> dict[int, _Recovered]:
    """Events by number. Of several with one number, which an interrupted transaction may leave, the one that others
    build on."""
    built_on = {candidate.previous for candidate in candidates} | ({head[1]} if head else set())
    chosen: dict[int, _Recovered] = {}
    for candidate in candidates:
        number = candidate.event.number
        if number not in chosen or candidate.hash in built_on:
            chosen[number] = candidate
    return chosen


def _without_dangling(events: list[Event]) -> list[Event]:
    """Events that take back or revise what is lost: the former have nothing left to do, the latter stand alone."""
    numbers = {event.number for event in events}
    kept = []
    for event in events:
        is_dangling = event.supersedes is not None and event.supersedes not in numbers
        if not is_dangling:
            kept.append(event)
        elif event.kind != "undo":
            kept.append(replace(event, supersedes=None))
    return kept


def _records(raw: bytes) -> Iterator[tuple[int, list[Any]]]:
    """The number and the values of whatever may be an event: the first value, which is the number, takes no room, so
    the kind stands right after the types of all values, and these after the size and the number."""
    size = _page_size(raw)
    for match in KINDS.finditer(raw):
        for length in range(4, LONGEST_HEADER):
            start = match.start() - length
            if start >= 2 and raw[start] == length:
                types = _types(raw[start + 1 : match.start()])
                if types is not None and types[0] == 0:
                    yield from _cells(raw, start, types, size)


def _cells(raw: bytes, start: int, types: list[int], page: int) -> Iterator[tuple[int, list[Any]]]:
    """The record that starts there, if size and number before it make sense; both may be read in several ways."""
    length = raw[start] + sum(map(_width, types))
    for before in range(2, 14):
        begin = start - before
        if begin < 0:
            return
        payload, at = _varint(raw, begin)
        number, at = _varint(raw, at)
        if at == start and payload == length < LONGEST_EVENT and 0 < number < MOST:
            content = _content(raw, start, length, page)
            if content is not None:
                yield number, _values(content[raw[start] :], types)


def _content(raw: bytes, start: int, length: int, page: int) -> bytes | None:
    """A record of this length: what does not fit into its page is in a chain of others (SQLite's file format, 1.5)."""
    most = page - 35
    if length <= most:
        return raw[start : start + length]
    least = (page - 12) * 32 // 255 - 23
    here = least + (length - least) % (page - 4)
    here = here if here <= most else least
    content, place = bytearray(raw[start : start + here]), start + here
    while len(content) < length and place + 4 <= len(raw):
        number = int.from_bytes(raw[place : place + 4])
        place = (number - 1) * page
        if number < 1 or place >= len(raw):
            return None
        content += raw[place + 4 : place + page][: length - len(content)]
    return bytes(content) if len(content) == length else None


def _page_size(raw: bytes) -> int:
    size = int.from_bytes(raw[16:18])
    size = 65536 if size == 1 else size
    return size if size >= 512 and size & (size - 1) == 0 else PAGE


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    value = 0
    for byte in raw[at : at + 8]:
        at += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
    return value << 8 | (raw[at] if at < len(raw) else 0), at + 1


def _types(header: bytes) -> list[int] | None:
    types, at = [], 0
    while at < len(header):
        code, at = _varint(header, at)
        types.append(code)
    return types if at == len(header) else None


def _width(type: int) -> int:
    return INTEGERS.get(type, 8 if type == 7 else 0 if type < 12 else (type - 12) // 2)


def _values(body: bytes, types: list[int]) -> list[Any]:
    values: list[Any] = []
    at = 0
    for type in types:
        raw = body[at : at + _width(type)]
        at += len(raw)
        if type in INTEGERS:
            values.append(int.from_bytes(raw, signed=True))
        elif type == 7:
            values.append(struct.unpack(">d", raw)[0])
        elif type in (8, 9):
            values.append(type - 8)
        elif type >= 13 and type % 2:
            values.append(raw.decode(errors="surrogateescape"))
        else:
            values.append(None if type == 0 else raw)
    return values


def _ranges(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of numbers that follow each other.

    >>> _ranges([3, 4, 5, 9])
    [(3, 5), (9, 9)]
    """
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def _listed(ranges: Sequence[tuple[int, int]], most: int = 10) -> str:
    """
    >>> _listed([(3, 5), (9, 9)])
    '3 to 5 and 9'
    """
    parts = [str(first) if first == last else f"{first} to {last}" for first, last in ranges[:most]]
    if len(ranges) > most:
        parts.append(f"{len(ranges) - most:,} more stretches")
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
