"""One line on a terminal for whoever waits longer than a second: what is being done, and how far it is."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from fathoms.base import progress

SHORT = 1.0  # seconds without a word
BETWEEN = 0.1  # seconds from one change of the line to the next
WIDTH = 79  # where the terminal does not say


class Line:
    """The last line of the terminal, while there is work; it goes as it came."""

    def __init__(self) -> None:
        self.started = monotonic()
        self.changed = 0.0
        self.doing = ""  # what the line says

    def show(self, doing: str, done: int, of: int) -> None:
        now = monotonic()
        if done >= of:
            self.clear()
        elif now - self.started >= SHORT and (now - self.changed >= BETWEEN or doing != self.doing):
            self.changed, self.doing = now, doing
            self._write(f"\r{f'{doing}: {done:,} of {of:,}'[: _width() - 1]}\x1b[K")

    def clear(self, *, anyway: bool = False) -> None:
        if self.doing or anyway:
            self.doing = ""
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


def _width() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or WIDTH
    except (OSError, ValueError):
        return WIDTH


@contextmanager
def shown(quiet: bool) -> Iterator[None]:
    """How far the work of the block is, on a terminal; nothing elsewhere."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    line = Line()
    try:
        with progress.heard_by(line.show):
            yield
    finally:
        # A copy of this process that was ended may have left a line.
        line.clear(anyway=sys.exc_info()[0] is not None and monotonic() - line.started >= SHORT)
