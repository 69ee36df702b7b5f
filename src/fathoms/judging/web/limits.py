"""What strangers may use up: guesses of tokens, connections, and lines on the organiser's terminal."""

from __future__ import annotations

import ipaddress
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from fathoms.base.errors import say

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
OTHER_FILES = 64  # open files that are no connections: the session, texts, libraries


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


class WrongTokens:
    """Wrong tokens of this minute, by address and in all; after too many, those who bring one wait for its end.

    Behind a proxy everybody has the proxy's address, so `shared` ones count only among all.
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


def within_open_files(limits: ConnectionLimits) -> ConnectionLimits:
    """The limits with no more connections than there can be open files, some of which are kept for everything else. If
    the system allows, we get as many as it takes."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return limits
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.in_all + OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return limits
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    in_all = max(1, min(limits.in_all, soft - OTHER_FILES))
    return replace(limits, in_all=in_all, of_one=min(limits.of_one, in_all))


class Connections:
    """How many there are, by address and in all.

    If there are too many, the one that has been silent longest makes room: opening connections and sending nothing
    keeps nobody out.
    """

    def __init__(self, limits: ConnectionLimits, shared: Callable[[str], bool]) -> None:
        self.limits, self._shared = limits, shared
        self._open: Counter[str] = Counter()
        self._silent: dict[object, tuple[str, Callable[[], None]]] = {}  # its address and what ends it, oldest first

    def admit(self, address: str) -> bool:
        if self._open[address] >= self.limits.of_one and not self._shared(address) and not self._make_way(address):
            return False
        if self._open.total() >= self.limits.in_all and not self._make_way():
            return False
        self._open[address] += 1
        return True

    def is_silent(self, connection: object, address: str, end: Callable[[], None]) -> None:
        """Nothing has been heard of this one yet, or since its last answer."""
        self._silent.setdefault(connection, (address, end))

    def is_heard(self, connection: object) -> None:
        self._silent.pop(connection, None)

    def _make_way(self, address: str | None = None) -> bool:
        """Whether a silent connection, of this address if one is given, could be ended; it leaves at once."""
        for connection, (its, end) in self._silent.items():
            if address in (None, its):
                del self._silent[connection]
                end()
                return True
        return False

    def leave(self, address: str) -> None:
        self._open[address] -= 1
        if not self._open[address]:
            del self._open[address]


@dataclass
class _Kind:
    """Lines of a kind in this minute."""

    since: float
    shown: int = 0
    held_back: int = 0


class Talk(logging.Handler):
    """Lines on standard error, ours and the server's: the first few of each kind, then once a minute how many more
    there were."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(logging.WARNING)
        self._clock, self._guard = clock, threading.Lock()
        self._kinds: dict[str, _Kind] = {}

    def say(self, kind: str, text: str, first: int = FIRST) -> None:
        with self._guard:
            of_kind = self._kinds.setdefault(kind, _Kind(self._clock()))
            is_shown = of_kind.shown < first
            if is_shown:
                of_kind.shown += 1
            else:
                of_kind.held_back += 1
        if is_shown:
            say(text)

    def emit(self, record: logging.LogRecord) -> None:
        """Messages of the server are few, each with a text of its own; those of asyncio are not."""
        if "WebSocket" not in str(record.msg):  # advice to install a library that is of no use here
            self.say(str(record.msg) if record.name.startswith("uvicorn") else record.name, self.format(record))

    @contextmanager
    def hearing(self, *loggers: str) -> Iterator[None]:
        """Have what these would write come here."""
        heard = [logging.getLogger(name) for name in loggers]
        before = [logger.propagate for logger in heard]
        for logger in heard:
            logger.addHandler(self)
            logger.propagate = False
        try:
            yield
        finally:
            for logger, passes_on in zip(heard, before, strict=True):
                logger.removeHandler(self)
                logger.propagate = passes_on
            self.tell_counts(at_once=True)

    def tell_counts(self, at_once: bool = False) -> None:
        """For each kind whose minute is over, say how many were not shown."""
        with self._guard:
            over = [kind for kind, of_kind in self._kinds.items() if at_once or of_kind.since + MINUTE <= self._clock()]
            counts = {kind: self._kinds.pop(kind).held_back for kind in over}
        for kind, n in counts.items():
            if n > 0:
                say(f"{n:,} more of: {kind.strip()}")
