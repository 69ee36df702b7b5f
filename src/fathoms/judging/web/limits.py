"""What strangers may use up: guesses of tokens, connections, and lines on the organiser's terminal."""

from __future__ import annotations

import ipaddress
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fathoms.errors import say

MINUTE = 60.0
WRONG_OF_ONE = 10  # wrong tokens from an address in a minute, before none is looked at until the minute is over
WRONG_OF_ALL = 100  # the same from all addresses together
FIRST = 5  # lines of a kind in a minute that are shown


@dataclass(frozen=True)
class ConnectionLimits:
    """Seconds that a client may take, and how many connections there may be."""

    headers: float = 10.0  # until a request's headers are there
    body: float = 10.0  # and its body
    idle: float = 15.0  # between two requests
    unread: float = 30.0  # in which a client must have read LEAST_READ bytes of what waits for it, or all
    in_all: int = 500
    of_one: int = 200  # from one address


LEAST_READ = 65_536


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


class WrongTokens:
    """Wrong tokens of this minute, by address and in all; after too many, those who bring one wait for its end.

    Behind a proxy everybody has the proxy's address, so `shared` ones count among all alone.
    """

    def __init__(self, shared: Callable[[str], bool], clock: Callable[[], float] = time.monotonic) -> None:
        self._shared, self._clock = shared, clock
        self._begun = clock()
        self._counts: Counter[str] = Counter()
        self._in_all = 0

    def wait(self, address: str) -> int:
        """Seconds until a token from this address is looked at again; 0 if it is now."""
        now = self._clock()
        if now >= self._begun + MINUTE:
            self._begun, self._counts, self._in_all = now, Counter(), 0
        is_late = self._in_all >= WRONG_OF_ALL or self._counts[address] >= WRONG_OF_ONE
        return int(self._begun + MINUTE - now) + 1 if is_late else 0

    def count(self, address: str) -> None:
        self._in_all += 1
        if not self._shared(address):
            self._counts[address] += 1


class Connections:
    """How many there are, by address and in all."""

    def __init__(self, limits: ConnectionLimits, shared: Callable[[str], bool]) -> None:
        self.limits, self._shared = limits, shared
        self._open: Counter[str] = Counter()

    def admit(self, address: str) -> bool:
        if self._open.total() >= self.limits.in_all:
            return False
        if self._open[address] >= self.limits.of_one and not self._shared(address):
            return False
        self._open[address] += 1
        return True

    def leave(self, address: str) -> None:
        self._open[address] -= 1
        if not self._open[address]:
            del self._open[address]


@dataclass
class _Kind:
    """Lines of a kind in this minute."""

    since: float
    said: int = 0
    unsaid: int = 0


class Talk(logging.Handler):
    """Lines on standard error, ours and the server's: the first few of each kind, then once a minute how many more
    there were."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(logging.WARNING)
        self._clock, self._guard = clock, threading.Lock()
        self._kinds: dict[str, _Kind] = {}

    def say(self, kind: str, text: str, first: int = FIRST) -> None:
        with self._guard:
            found = self._kinds.setdefault(kind, _Kind(self._clock()))
            is_said = found.said < first
            if is_said:
                found.said += 1
            else:
                found.unsaid += 1
        if is_said:
            say(text)

    def emit(self, record: logging.LogRecord) -> None:
        """Messages of the server are few, each with a text of its own; those of asyncio are not."""
        if "WebSocket" not in str(record.msg):  # advice to install a library that is of no use here
            self.say(str(record.msg) if record.name.startswith("uvicorn") else record.name, self.format(record))

    @contextmanager
    def hearing(self, *loggers: str) -> Iterator[None]:
        """Have what these would write come here."""
        found = [logging.getLogger(name) for name in loggers]
        before = [one.propagate for one in found]
        for one in found:
            one.addHandler(self)
            one.propagate = False
        try:
            yield
        finally:
            for one, passes_on in zip(found, before, strict=True):
                one.removeHandler(self)
                one.propagate = passes_on
            self.tell_counts(at_once=True)

    def tell_counts(self, at_once: bool = False) -> None:
        """Of each kind whose minute is over, what was not shown."""
        with self._guard:
            over = [kind for kind, one in self._kinds.items() if at_once or one.since + MINUTE <= self._clock()]
            counts = {kind: self._kinds.pop(kind).unsaid for kind in over}
        for kind, n in counts.items():
            if n > 0:
                say(f"{n:,} more of: {kind.strip()}")
