"""Reading texts without waiting forever: a drive that stalls holds up neither other texts nor the end of the server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

AT_ONCE = 4  # texts that are read
READING_SECONDS = 10.0  # that a text may take, before it counts as one that cannot be shown
MOST_ABANDONED = 50  # threads still waiting for a text that nobody wants any more; if there are more, none is started


class Readers:
    """Threads that read texts, a few at once. One that takes too long is abandoned and replaced; as daemons they do not
    keep the process from ending."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(AT_ONCE)
        self._idle: list[_Reader] = []
        self._abandoned: list[_Reader] = []

    async def read(self, work: Callable[..., Any], *args: Any) -> Any:
        """What the work returns or raises; TimeoutError if it, or those before it, take too long."""
        self._idle += [reader for reader in self._abandoned if reader.is_idle]
        self._abandoned = [reader for reader in self._abandoned if not reader.is_idle]
        if len(self._abandoned) >= MOST_ABANDONED:
            raise TimeoutError
        await asyncio.wait_for(self._places.acquire(), READING_SECONDS)
        reader = self._idle.pop() if self._idle else _Reader()
        try:
            return await asyncio.wait_for(asyncio.wrap_future(reader.begin(work, *args)), READING_SECONDS)
        finally:
            (self._idle if reader.is_idle else self._abandoned).append(reader)
            self._places.release()


class _Reader:
    """A thread, for one thing after another."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = SimpleQueue()
        self._last: Future[Any] | None = None
        threading.Thread(target=self._run, name="text", daemon=True).start()

    @property
    def is_idle(self) -> bool:
        return self._last is None or self._last.done()

    def begin(self, work: Callable[..., Any], *args: Any) -> Future[Any]:
        self._last = Future()
        self._last.set_running_or_notify_cancel()  # nobody can cancel it, so that its result can be set
        self._tasks.put((self._last, work, args))
        return self._last

    def _run(self) -> None:
        while True:
            future, work, args = self._tasks.get()
            try:
                future.set_result(work(*args))
            except BaseException as error:
                future.set_exception(error)
