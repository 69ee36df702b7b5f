"""Batches of work that ends well, dies or errs; apart from the tests, so that processes that run them start quickly."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any


def squares(numbers: list[int]) -> list[dict[str, Any]]:
    return [{"number": number, "square": number * number} for number in numbers]


BATCHES = [[3 * n, 3 * n + 1, 3 * n + 2] for n in range(8)]
EXPECTED = [number * number for batch in BATCHES for number in batch]


class Noted:
    """`squares` that leaves a file for each time a batch is started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, numbers: list[int]) -> list[dict[str, Any]]:
        (self.folder / f"{numbers[0]}-{time.time_ns()}-{os.getpid()}").touch()
        self.before(numbers)
        return squares(numbers)

    def before(self, numbers: list[int]) -> None:
        pass

    def started(self, number: int) -> int:
        return len(list(self.folder.glob(f"{number}-*")))

    def processes(self) -> set[int]:
        """Those that have started a batch."""
        return {int(path.name.rpartition("-")[2]) for path in self.folder.iterdir()}


class Held(Noted):
    """All batches but the first wait for a file beside the notes."""

    def before(self, numbers: list[int]) -> None:
        limit = time.monotonic() + 30
        while numbers[0] and not (self.folder.parent / "go").exists() and time.monotonic() < limit:
            time.sleep(0.01)


class DiesOnce(Noted):
    def before(self, numbers: list[int]) -> None:
        if numbers[0] == 9 and self.started(9) == 1:
            time.sleep(0.2)  # so that others have ended
            os.kill(os.getpid(), signal.SIGKILL)


class Deadly(Noted):
    def before(self, numbers: list[int]) -> None:
        if numbers[0] == 9:
            os.kill(os.getpid(), signal.SIGKILL)


class Wrong(Noted):
    def before(self, numbers: list[int]) -> None:
        if numbers[0] == 9:
            raise ZeroDivisionError("not mine to mend")


class Patient(Noted):
    """The first batch ends only after another one is in the store."""

    def before(self, numbers: list[int]) -> None:
        limit = time.monotonic() + 20
        while numbers[0] == 0 and not list(self.folder.parent.rglob("part-00007")):
            if time.monotonic() > limit:
                raise TimeoutError("the last batch was never stored")
            time.sleep(0.01)
