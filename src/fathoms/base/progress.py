"""How far the work is: the work reports it here, and whoever shows it listens."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[str, int, int], None]  # what is being done, how many steps of it are, and of how many

_heard_by: tuple[int, Listener] | None = None  # and in which process: copies of it have nobody to show it to


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Until the end of the block the listener hears how far this process is."""
    global _heard_by
    before, _heard_by = _heard_by, (os.getpid(), listener)
    try:
        yield
    finally:
        _heard_by = before


def say(doing: str, done: int, of: int) -> None:
    if doing and _heard_by is not None and _heard_by[0] == os.getpid():
        _heard_by[1](doing, done, of)
