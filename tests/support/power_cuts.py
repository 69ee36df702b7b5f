"""Power cuts: what is on the disk of a judging session when the power goes, at any moment, and what of it can be read.

    python -m tests.support.power_cuts [--cuts 5000] [--seed 1]

A session is written under strace, with every kind of answer, alone and several at once. Each system call that changes
a file or has it synced is replayed up to a random moment. What was synced by then is on the disk; of what was not, some
is there, some is not, and some in part, sector by sector. Then the session is opened: every answer that was
acknowledged before that moment must be there, nothing that nobody gave, and the chain of hashes whole.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from fathoms.base.errors import FathomsError, InputError
from fathoms.judging import session as session_module
from fathoms.judging.events import Event
from fathoms.judging.log import KeptLease, Log, Point
from tests.judging.test_judge import Arithmetic, begin

SECTOR = 512
CALLS = "openat,open,creat,write,pwrite64,lseek,fsync,fdatasync,ftruncate,unlink,unlinkat,rename,close"
ANSWERS = 60


# -- a session, written --------------------------------------------------------------------------------------------


def write(folder: Path, seed: int) -> None:
    """A session with all kinds of answers; what is acknowledged is told on standard output, call by call."""
    setattr(session_module, "Engine", Arithmetic)  # noqa: B010 - mypy would want another name
    rng = random.Random(seed)
    session = begin(folder / "s.db", max_grade=2, judge_twice=0.5)
    said(0)
    documents = [("1", name) for name in "abcd"] + [("2", name) for name in "xyz"]
    while session.log.last[0] < ANSWERS:
        topic, document = rng.choice(documents)
        who, note = rng.choice(["ann", "bob"]), "x" * rng.choice([0, 5, 200, 9_000])
        act = rng.choice(["grade", "grade", "grade", "skip", "undo", "revise", "settle", "several", "meta"])
        try:
            if act == "grade":
                session.grade(topic, document, rng.randrange(3), who, note, key=f"key-{rng.random()}")
            elif act == "skip":
                session.skip(topic, document, who, note)
            elif act == "undo":
                session.undo(who)
            elif act == "revise":
                session.revise(topic, document, rng.randrange(3), who, note)
            elif act == "settle":
                session.settle(topic, document, rng.randrange(3), "eve")
            elif act == "several":
                with session.log.together():
                    session.undo("ann")
                    session.undo("bob")
                    session.log.mark([Point(session.log.last[0], 1, 0, rng.random())])
                    session.log.keep_leases([KeptLease(who, topic, document, rng.random())])
            else:
                session.log.change("guidelines", note)
        except FathomsError:
            continue
        said(session.log.last[0])
    session.close()


def said(number: int) -> None:
    os.write(1, b"acknowledged %d\n" % number)


# -- what the disk was told ----------------------------------------------------------------------------------------


class Call(NamedTuple):
    """A system call that matters: a file is created, written, cut, synced or removed, or an answer acknowledged."""

    what: str
    path: str = ""
    place: int = 0  # of a write; the length of a cut; the number of an answer
    content: bytes = b""


LINE = re.compile(r"^(?:\d+\s+)?(\w+)\((.*)\)\s+=\s+(-?\d+)")


def recorded(folder: Path, seed: int) -> list[Call]:
    trace = folder / "trace.txt"
    command = ["strace", "-f", "-xx", "-s", "1000000", "-e", f"trace={CALLS}", "-o", str(trace)]
    writer = [sys.executable, "-m", "tests.support.power_cuts", "--write", str(folder), "--seed", str(seed)]
    subprocess.run([*command, *writer], check=True, stdout=subprocess.DEVNULL, timeout=300)
    return list(_calls(trace.read_text(), folder))


def _calls(trace: str, folder: Path) -> Iterator[Call]:
    paths: dict[int, str] = {}
    offsets: dict[int, int] = {}
    for line in trace.splitlines():
        match = LINE.match(line)
        if match is None or int(match[3]) < 0:
            continue
        name, result = match[1], int(match[3])
        words = [word.strip() for word in match[2].split(", ")]
        if name in ("open", "openat", "creat"):
            path = _bytes(next(word for word in words if word.startswith('"'))).decode()
            if Path(path) == folder or Path(path).parent == folder:
                paths[result], offsets[result] = path, 0
                if "O_CREAT" in match[2]:
                    yield Call("create", path)
        elif name in ("unlink", "unlinkat"):
            path = _bytes(next(word for word in words if word.startswith('"'))).decode()
            if Path(path).parent == folder:
                yield Call("unlink", path)
        elif name == "write" and words[0] == "1":
            yield Call("acknowledge", place=int(_bytes(words[1]).split()[1]))
        elif name == "rename":
            assert str(folder) not in _bytes(words[0]).decode(), "a rename, of which this knows nothing"
        elif (number := int(words[0])) in paths:
            if name == "close":
                del paths[number]
            elif name == "lseek":
                offsets[number] = result
            elif name == "ftruncate":
                yield Call("cut", paths[number], int(words[1]))
            elif name in ("fsync", "fdatasync"):
                yield Call("sync", paths[number])
            else:
                place = int(words[3]) if name == "pwrite64" else offsets[number]
                yield Call("write", paths[number], place, _bytes(words[1])[:result])
                offsets[number] += 0 if name == "pwrite64" else result


def _bytes(quoted: str) -> bytes:
    assert not quoted.endswith("..."), "strace cut it short"
    return bytes.fromhex(quoted.strip('"').replace("\\x", ""))


# -- what is on the disk ---------------------------------------------------------------------------------------------


@dataclass
class _File:
    content: bytearray = field(default_factory=bytearray)  # that was synced
    since: list[Call] = field(default_factory=list)

    def apply(self, call: Call, content: bytes | None = None) -> None:
        data = call.content if content is None else content
        if call.what == "cut":
            self.content[:] = self.content[: call.place].ljust(call.place, b"\0")
            return
        self.content.extend(b"\0" * (call.place - len(self.content)))
        self.content[call.place : call.place + len(data)] = data


class Disk:
    """Files and the folder they are in, as the last syncs left them, and what was done since."""

    def __init__(self) -> None:
        self.names: dict[str, _File] = {}
        self.synced: dict[str, _File] = {}
        self.changes: list[dict[str, _File]] = []  # the folder after each change of it since it was synced

    def do(self, call: Call) -> None:
        if call.what == "create" and call.path not in self.names:
            self.names = {**self.names, call.path: _File()}
            self.changes.append(self.names)
        elif call.what == "unlink":
            self.names = {path: file for path, file in self.names.items() if path != call.path}
            self.changes.append(self.names)
        elif call.what == "sync" and call.path not in self.names:  # the folder
            self.synced, self.changes = self.names, []
        elif call.what == "sync":
            file = self.names[call.path]
            for one in file.since:
                file.apply(one)
            file.since = []
        elif call.what in ("write", "cut"):
            self.names[call.path].since.append(call)

    def cut_off(self, rng: random.Random, folder: Path) -> None:
        """Write what may be there after a power cut now."""
        names = rng.choice([self.synced, *self.changes])
        for path, file in names.items():
            left = _File(bytearray(file.content))
            how = rng.choice(["none", "all", "some", "sectors"])
            for call in file.since:
                if how == "none" or (how != "all" and rng.random() < 0.5):
                    continue
                if how == "sectors" and call.what == "write":
                    for start in range(0, len(call.content), SECTOR):
                        if rng.random() < 0.5:
                            part = call.content[start : start + SECTOR]
                            left.apply(call._replace(place=call.place + start), part)
                else:
                    left.apply(call)
            Path(folder, Path(path).name).write_bytes(left.content)


# -- and what of it can be read --------------------------------------------------------------------------------------


@dataclass
class Counts:
    cuts: int = 0
    before: int = 0  # before there was a session
    more: int = 0  # with an answer on disk that was not acknowledged yet


def survives(calls: list[Call], events: list[Event], rng: random.Random, folder: Path, counts: Counts) -> None:
    """Cut the power at a random moment, and open what is left."""
    moment = rng.randrange(len(calls) + 1)
    disk, acknowledged = Disk(), -1  # no session yet
    for call in calls[:moment]:
        if call.what == "acknowledge":
            acknowledged = call.place
        else:
            disk.do(call)
    upcoming = next((call.place for call in calls[moment:] if call.what == "acknowledge"), acknowledged)
    disk.cut_off(rng, folder)
    counts.cuts += 1
    try:
        log = Log.open(folder / "s.db")
    except InputError as error:
        if acknowledged >= 0 or "no session has been begun" not in str(error):
            raise
        counts.before += 1
        return
    found = log.events()
    log.close()
    assert acknowledged <= len(found) <= max(upcoming, 0), (acknowledged, len(found), upcoming)
    assert found == events[: len(found)]
    counts.more += len(found) > max(acknowledged, 0)


def run(cuts: int, seed: int, *, without: str = "", keep: bool = False) -> Counts:
    """`without` leaves calls of some kind out of what was recorded, to see that it is noticed; `keep` copies what a
    session was lost in."""
    counts = Counts()
    with tempfile.TemporaryDirectory(prefix="fathoms.") as name:
        written = Path(name, "written")
        written.mkdir()
        calls = [call for call in recorded(written, seed) if call.what != without]
        log = Log.open(written / "s.db")
        events = log.events()
        log.close()
        assert len(events) >= ANSWERS
        for number in range(cuts):
            folder = Path(name, "cut")
            folder.mkdir()
            rng = random.Random(f"{seed} {number}")
            try:
                survives(calls, events, rng, folder, counts)
            except BaseException:
                if keep:
                    kept = Path(tempfile.mkdtemp(prefix="fathoms-cut-"), "cut")
                    shutil.copytree(folder, kept)
                    print(f"cut {number} of seed {seed}: what was left on the disk is in {kept}", file=sys.stderr)
                raise
            shutil.rmtree(folder)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuts", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.write is not None:
        write(args.write, args.seed)
        return
    done = run(args.cuts, args.seed, keep=True)
    print(
        f"{done.cuts:,} power cuts: no acknowledged answer lost; {done.before:,} before there was a session, "
        f"{done.more:,} with answers on disk that were not acknowledged yet"
    )


if __name__ == "__main__":
    main()
