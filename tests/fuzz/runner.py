"""Runs cases in processes of their own, which may hang or crash, and keeps what failed."""

from __future__ import annotations

import os
import shlex
import signal
import threading
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from queue import Empty, SimpleQueue

from tests.fuzz.kinds import KINDS, kind, made

SECONDS = 5.0  # of a processor that a case may take
IMPORTS = 60.0  # seconds for what the first case needs
GRACE = (
    60.0  # by the clock, until a process is killed that does not hear of that, or waits; other work may keep it waiting
)
TOGETHER = 500  # cases that a process gets at a time
MEMORY = 8 << 30  # bytes of a process


@dataclass
class Found:
    """Outcomes by kind, and where failures are."""

    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    failures: list[Path] = field(default_factory=list)


class TooLong(BaseException):
    pass


def try_case(name: str, seed: int, number: int) -> str:
    """The outcome of one case, in this process; raises where it is a failure."""
    return kind(name).check(made(name, seed, number))


def run(names: list[str], cases: int, seed: int, jobs: int, keep: Path) -> Found:
    """So many cases, shared out among the kinds."""
    each = -(-cases // len(names))
    chunks: SimpleQueue[tuple[str, int, int]] = SimpleQueue()
    for start in range(0, each, TOGETHER):
        for name in names:
            chunks.put((name, start, min(start + TOGETHER, each)))
    found = Found()
    threads = [threading.Thread(target=_drive, args=(chunks, seed, keep, found)) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def _drive(chunks: SimpleQueue[tuple[str, int, int]], seed: int, keep: Path, found: Found) -> None:
    """Hand chunks to one process after another; a new one takes over where one dies."""
    child = _Child()
    try:
        while True:
            try:
                name, start, stop = chunks.get_nowait()
            except Empty:
                return
            while start < stop:
                for word, at, text in child.work(name, seed, start, stop):
                    found.outcomes.setdefault(name, Counter())[word] += 1
                    if text:
                        found.failures.append(_keep(keep, name, seed, at, text))
                    start = at + 1
                if start < stop:
                    child = _Child()
    finally:
        child.end()


class _Child:
    """A process that tries cases."""

    def __init__(self) -> None:
        context = get_context("spawn")
        self.here, there = context.Pipe()
        self.process = context.Process(target=_serve, args=(there, SECONDS, KINDS), daemon=True)
        self.process.start()
        there.close()

    def work(self, name: str, seed: int, start: int, stop: int) -> Iterator[tuple[str, int, str]]:
        """Each case's outcome in a word, its number, and what went wrong if something did; ends early where the process
        does."""
        self.here.send((name, seed, start, stop))
        if wait([self.here, self.process.sentinel], IMPORTS):
            self.here.recv()
        for at in range(start, stop):
            ready = wait([self.here, self.process.sentinel], SECONDS + GRACE)
            try:
                word, text = self.here.recv() if self.here in ready else ("", "")
            except EOFError:
                word = ""
            if not word:
                self.end()
                word = "crash" if ready else "hang"
                text = f"the process ended with status {self.process.exitcode}; -9 is one that was killed here"
            yield word, at, text
            if self.process.exitcode is not None:
                return

    def end(self) -> None:
        self.process.kill()
        self.process.join()


def _serve(there: Connection, seconds: float, kinds: dict[str, str]) -> None:
    import resource

    KINDS.update(kinds)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # where polars says that it panics

    def too_long(number: int, frame: object) -> None:
        raise TooLong(f"took more than {seconds:g} seconds of a processor")

    signal.signal(signal.SIGPROF, too_long)
    while True:
        try:
            name, seed, start, stop = there.recv()
        except EOFError:
            return
        kind(name)
        there.send("imported")
        for number in range(start, stop):
            there.send(_outcome(name, seed, number, seconds))


def _outcome(name: str, seed: int, number: int, seconds: float) -> tuple[str, str]:
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        word = try_case(name, seed, number)
        signal.setitimer(signal.ITIMER_PROF, 0)
        return word, ""
    except BaseException as error:  # also a panic of polars, which is no Exception
        signal.setitimer(signal.ITIMER_PROF, 0)
        return "hang" if isinstance(error, TooLong) else "failure", traceback.format_exc()


def _keep(folder: Path, name: str, seed: int, number: int, text: str) -> Path:
    """The files of a case, what went wrong, and how to repeat it."""
    place = folder / f"{name}-{seed}-{number}"
    place.mkdir(parents=True, exist_ok=True)
    case = made(name, seed, number)
    for file, content in case.files.items():
        (place / file).write_bytes(content)
    (place / "facts.txt").write_text(f"{case.facts!r}\n", encoding="utf-8", errors="backslashreplace")
    command = shlex.join(["python", "-m", "tests.fuzz", "--only", name, "--seed", str(seed), "--case", str(number)])
    (place / "failure.txt").write_text(f"{command}\n\n{text}\n", encoding="utf-8", errors="backslashreplace")
    return place
