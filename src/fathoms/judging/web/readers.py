"""Reading texts where nobody waits for ever: a drive that stalls holds up neither other texts nor the server's end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

AT_ONCE = 4  # texts that are read
READING_SECONDS = 10.0  # that a text may take, before it counts as one that cannot be shown
MOST_ABANDONED = 50  # threads that still wait for a text that nobody waits for; with more, none is begun


class Readers:
    """A thread for each text, a few at once. One that takes too long is abandoned and gives its place back; as a
    daemon it does not keep the process from ending."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(AT_ONCE)
        self._abandoned: list[threading.Thread] = []

    async def read(self, work: Callable[..., Any], *args: Any) -> Any:
        """What the work returns or raises; TimeoutError where it, or those before it, take too long."""
        self._abandoned = [thread for thread in self._abandoned if thread.is_alive()]
        if len(self._abandoned) >= MOST_ABANDONED:
            raise TimeoutError
        await asyncio.wait_for(self._places.acquire(), READING_SECONDS)
        try:
            future: Future[Any] = Future()
            thread = threading.Thread(target=_run, args=(future, work, *args), name="text", daemon=True)
            thread.start()
            try:
                return await asyncio.wait_for(asyncio.wrap_future(future), READING_SECONDS)
            finally:
                if not future.done():
                    self._abandoned.append(thread)
        finally:
            self._places.release()


def _run(future: Future[Any], work: Callable[..., Any], *args: Any) -> None:
    future.set_running_or_notify_cancel()  # from now on nobody can cancel it, so that its result can be set
    try:
        future.set_result(work(*args))
    except BaseException as error:
        future.set_exception(error)
