"""Files of judging sessions: bits that flip, sectors and pages that are lost, moved or stale, files cut short.

A session that opens has the same answers and settings as before; one that does not is refused with a message. What
salvage takes out is what was written. Older formats have no hashes, so of them only the former is asked.
"""

from __future__ import annotations

import random
import tempfile
from functools import cache
from pathlib import Path
from unittest.mock import patch

import fathoms as fm
from fathoms.judging import session as session_module
from fathoms.judging import session_file
from fathoms.judging.events import Event
from fathoms.judging.log import KeptLease, Log, Point
from fathoms.judging.salvage import salvage
from fathoms.judging.session import Session
from tests.fuzz.case import Case, Failure, attempt
from tests.judging.test_judge import Arithmetic, begin, small
from tests.judging.test_session_file import BEFORE, old_session

PAGE, SECTOR = 4096, 512
NAME = "session.db"
BASES = ("empty", "short", "long", "format1", "format2")


def make(rng: random.Random) -> Case:
    name = rng.choice(BASES)
    raw = bytearray(base(name))
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        raw = _changed(rng, raw)
    return Case({NAME: bytes(raw)}, {"base": name})


def _changed(rng: random.Random, raw: bytearray) -> bytearray:
    if not raw:
        return raw
    size = rng.choice([SECTOR, PAGE])
    here, there = (rng.randrange(0, len(raw), size) for _ in range(2))
    match rng.choice(["bit", "bit", "bit", "byte", "bytes", "digit", "lost", "noise", "moved", "cut", "longer", "old"]):
        case "bit":
            raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
        case "byte":
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        case "bytes":
            at = rng.randrange(len(raw))
            raw[at : at + 8] = rng.randbytes(8)
        case "digit":  # of a grade, a setting or a hash
            places = [i for i, byte in enumerate(raw) if byte in b"0123456789"]
            if places:
                raw[rng.choice(places)] = rng.choice(b"0123456789")
        case "lost":
            raw[here : here + size] = rng.choice([b"\0", b"\xff"]) * len(raw[here : here + size])
        case "noise":
            raw[here : here + size] = rng.randbytes(len(raw[here : here + size]))
        case "moved":
            raw[here : here + size] = raw[there : there + size].ljust(len(raw[here : here + size]), b"\0")
        case "cut":
            del raw[rng.randrange(len(raw)) :]
        case "longer":
            raw += rng.randbytes(rng.choice([1, SECTOR, PAGE]))
        case "old":  # a sector as it was when the session was shorter
            before = base("short")[here : here + size]
            raw[here : here + len(before)] = before
    return raw


@cache
def base(name: str) -> bytes:
    """A session, the same bytes each time."""
    with tempfile.TemporaryDirectory(prefix="fuzz.") as folder:
        path = Path(folder, NAME)
        if name.startswith("format"):
            old_session(path, name)
        else:
            _write(path, {"empty": 0, "short": 7, "long": 60}[name])
        return path.read_bytes()


def _write(path: Path, n: int) -> None:
    with (
        patch.object(session_file, "new_identity", lambda: "0" * 32),
        patch.object(session_module, "Engine", Arithmetic),
    ):
        session = begin(path, max_grade=2)
    session.log.take_over(_events(n))
    session.log.mark([Point(i, i, 0, i / 100) for i in range(n)])
    session.log.keep_leases([KeptLease("ann", "1", "a", 1.8e9)])
    session.close()


def _events(n: int) -> list[Event]:
    documents = [("1", name) for name in "abcd"] + [("2", name) for name in "xyz"]
    events = []
    for i in range(n):
        topic, document = documents[i // 2 % len(documents)]
        number, note = i + 1, "x" * (i * 37 % 400)
        time = f"2026-01-01T00:00:{i:02}.000+00:00"
        key = f"key-{i}"
        if i % 2:
            events.append(Event(number, "undo", topic, document, None, i, "ann", time, ""))
        else:
            events.append(Event(number, "grade", topic, document, i % 3, None, "ann", time, note, key))
    return events


def check(case: Case) -> str:
    expected = case.facts["base"]
    is_proven = not expected.startswith("format")
    outcome = attempt(case, lambda paths: _open(paths[NAME], expected if is_proven else None))
    taken = attempt(case, lambda paths: _salvage(paths[NAME], expected if is_proven else None))
    return f"{'opened' if outcome else 'refused'}, {'salvaged' if taken else 'nothing found'}"


def _open(path: Path, expected: str | None) -> bool:
    log = Log.open(path)
    try:
        with patch.object(session_module, "Engine", Arithmetic):
            known = fm.read_qrels(BEFORE) if expected is None else None
            session = Session.resume(log, log.settings(), small(), known)
        log.marks()
        log.leases()
        if expected is None:
            return True
        if log.events() != _events(_length(expected)):
            raise Failure("other answers than were given")
        if session.settings.max_grade != 2 or session.settings.seed != 0 or session.settings.until != 0.95:
            raise Failure("other settings than there were")
    finally:
        log.close()
    return True


def _length(name: str) -> int:
    return {"empty": 0, "short": 7, "long": 60}[name]


def _salvage(path: Path, expected: str | None) -> bool:
    found = salvage(path)
    if expected is not None and found.is_proven:
        given = {event.number: event for event in _events(60)}  # also those that an old sector has
        for event in found.events:
            if event != given[event.number]:
                raise Failure(f"event {event.number} is none that was written")
    if found.meta is not None:
        target = path.with_name("new.db")
        found.write_session(target)
        log = Log.open(target)
        if log.events() != found.events:
            raise Failure("the new session has other events than were taken out")
        log.close()
    return bool(found.events)
