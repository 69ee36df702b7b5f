"""What the benchmarks share: a command's time and memory, the best of several, and one form of row for all of them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

HEADER = ("case", "tool", "seconds", "to ours", "peak MB")
SAMPLES_A_SECOND = 10


class Timing(NamedTuple):
    seconds: float
    megabytes: float
    output: str
    processor: float  # seconds, of the command and all its processes


def timed(command: list[str], timeout: float, *, watched: bool = True) -> Timing:
    """Run a command to its end; its wall time, its peak memory, and what it printed. Where it is `watched`, memory is
    that of all its processes, and time is a little longer for it."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        timer = threading.Timer(timeout, process.kill)
        timer.start()
        ended = threading.Event()
        peak = [0.0]
        watcher = threading.Thread(target=_watch, args=(process.pid, ended, peak))
        if watched:
            watcher.start()
        # wait4 gives the usage of this one child; getrusage only the greatest of all children so far.
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        ended.set()
        if watched:
            watcher.join()
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            why = f"killed after {timeout:g} s" if seconds >= timeout else f"exit status {process.returncode}"
            raise RuntimeError(f"{why}: {err.read().strip()[-500:]}")
        unit = 1e6 if sys.platform == "darwin" else 1e6 / 1024  # ru_maxrss: bytes there, KiB elsewhere
        return Timing(seconds, max(usage.ru_maxrss / unit, peak[0]), out.read(), usage.ru_utime + usage.ru_stime)


def _watch(pid: int, ended: threading.Event, peak: list[float]) -> None:
    """The greatest sum over a process and its children, pages that several have counted once; on Linux."""
    while not ended.wait(1 / SAMPLES_A_SECOND):
        peak[0] = max(peak[0], sum(_megabytes(process) for process in (pid, *_children(pid))))


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _megabytes(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024 / 1e6


def best_of(commands: dict[str, list[str]], repeat: int, timeout: float) -> tuple[dict[str, Timing], list[str]]:
    """The fastest of the repeats of each command, run in turn, with the memory of one more, which is all there is where
    there are no repeats; and a line for each command that failed."""
    best: dict[str, Timing] = {}
    failed: dict[str, str] = {}
    for number in range(repeat + 1):
        for tool, command in commands.items():
            if tool not in failed:
                try:
                    timing = timed(command, timeout, watched=number == repeat)
                    if number == repeat and number:
                        best[tool] = best[tool]._replace(megabytes=timing.megabytes)
                    else:
                        best[tool] = min(best.get(tool, timing), timing)
                except (RuntimeError, OSError) as error:
                    failed[tool] = str(error)
    return {t: v for t, v in best.items() if t not in failed}, [f"{t} FAILED: {e}" for t, e in failed.items()]


def show(case: str, tool: str, seconds: float | None, ours: float | None, megabytes: float | None = None) -> None:
    """A row: the case, who did it, its seconds and how often ours fit into them, its memory; dashes where unknown."""
    ratio = None if seconds is None or not ours else seconds / ours
    numbers = (
        "-" if seconds is None else f"{seconds:.3g}" if seconds < 100 else f"{seconds:,.0f}",
        "-" if ratio is None else f"{ratio:.2f}" if ratio < 100 else f"{ratio:,.0f}",
        "-" if megabytes is None else f"{megabytes:.0f}",
    )
    print(f"{case:<34}", f"{tool:<24}", *(f"{number:>9}" for number in numbers), sep="  ", flush=True)


def show_header() -> None:
    print(f"{HEADER[0]:<34}", f"{HEADER[1]:<24}", *(f"{name:>9}" for name in HEADER[2:]), sep="  ", flush=True)
