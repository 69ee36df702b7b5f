"""What can go wrong with input or usage: one family of exceptions that the command line turns into exit status 2."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class FathomsError(Exception):
    """Bad usage or bad input; the message says what was found, what was expected and what to do next."""


class InputError(FathomsError):
    """A file (or frame, or dict) that cannot be trusted, with the place where the trouble starts."""

    def __init__(self, message: str, source: str | None = None, line: int | None = None) -> None:
        place = "" if source is None else f"{source}:{line}: " if line is not None else f"{source}: "
        super().__init__(place + message)
        self.message = message
        self.source = source
        self.line = line


class OutOfMemory(FathomsError, MemoryError):
    """There is not enough memory; the message says for what, and what to do."""


def say(text: str) -> None:
    """A line on standard error; its reader may be gone, and the work goes on."""
    with suppress(OSError, ValueError):
        print(f"fathoms: {text}", file=sys.stderr, flush=True)


MORE_MEMORY = "give fewer or smaller files at a time, or --workers 1, or use a machine with more memory"


@contextmanager
def memory_for(what: str) -> Iterator[None]:
    """If memory runs out in the block, the message says for what."""
    try:
        yield
    except OutOfMemory:
        raise
    except MemoryError as error:
        detail = f" ({error})" if str(error) else ""
        raise OutOfMemory(f"not enough memory for {what}{detail}; {MORE_MEMORY}") from None


class FathomsWarning(UserWarning):
    """Something a careful reader of the numbers should know; the numbers are still correct as defined."""


def warn(note: str, category: type[Warning] = FathomsWarning) -> None:
    """A warning at the line outside this package that led to it."""
    package = os.path.dirname(os.path.dirname(__file__))
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        level, frame = level + 1, frame.f_back
    warnings.warn(note, category, stacklevel=level)
