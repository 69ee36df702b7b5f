"""Connections with deadlines: nobody who sends nothing, sends slowly or does not read keeps one for long."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol
from uvicorn.server import ServerState

from fathoms.judging.web.limits import LEAST_READ, Connections

LINGER = 1.0  # seconds in which a last answer can be read


class GuardedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 with deadlines, a limit on connections, and our headers on what it answers by itself."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        connections: Connections,
        headers: Mapping[str, str],
    ) -> None:
        super().__init__(config, server_state, app_state)
        self._counted, self._limits = connections, connections.limits
        self.timeout_keep_alive = connections.limits.idle  # type: ignore[assignment]
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        self._address = ""
        self._is_admitted = False
        self._awaited: str | None = None  # what the client has yet to send: headers, a body
        self._deadline: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None  # whether it reads is looked at then

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        self._is_admitted = self._counted.admit(self._address)
        if self._is_admitted:
            self._watch()
        else:
            self._finish(503, "there are too many connections; try again in a moment")

    def _give_way(self) -> None:
        """Make room for somebody who may have something to say."""
        self._leave()
        self.transport.abort()

    def _leave(self) -> None:
        if self._is_admitted:
            self._counted.leave(self._address)
        self._is_admitted = False

    def connection_lost(self, exc: Exception | None) -> None:
        self._counted.is_heard(self)
        self._leave()
        for timer in (self._deadline, self._reading):
            if timer is not None:
                timer.cancel()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self.transport.is_closing():
            super().data_received(data)
            self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()
        self._watch_reading()

    # -- the client sends

    def _watch(self) -> None:
        """Start the deadline for what has to come next, unless it is running."""
        awaited = self._waits_for()
        if self._is_between_requests():
            self._counted.is_silent(self, self._address, self._give_way)
        else:
            self._counted.is_heard(self)
        if awaited == self._awaited:
            return
        self._awaited = awaited
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if awaited is not None:
            seconds = self._limits.body if awaited == "body" else self._limits.headers
            self._deadline = self.loop.call_later(seconds, self._too_late)

    def _waits_for(self) -> str | None:
        """Headers of the first request, and of another one that has begun; the body of one."""
        if self.conn.their_state is h11.SEND_BODY:
            return "body"
        has_begun = self.cycle is None or bool(self.conn.trailing_data[0])
        return "headers" if self.conn.their_state is h11.IDLE and has_begun else None

    def _is_between_requests(self) -> bool:
        """Nothing of a request has come, and no answer is under way."""
        is_answered = self.cycle is None or self.cycle.response_complete
        return is_answered and self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]

    def _too_late(self) -> None:
        if self._awaited == "body" and self.conn.our_state is h11.SEND_RESPONSE:
            self._finish(408, "the request did not arrive in time")
        else:
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        self._finish(400, msg)

    def _finish(self, status: int, text: str) -> None:
        """Send a last answer, if one can be given."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close"), *self._headers]
            events = (
                h11.Response(status_code=status, headers=headers, reason=STATUS_PHRASES[status]),
                h11.Data(data=text.encode()),
                h11.EndOfMessage(),
            )
            for event in events:
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        self.loop.call_later(LINGER, self.transport.abort)

    # -- the client reads

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reading()

    def _watch_reading(self) -> None:
        """Look later whether what waits for the client has been read."""
        waiting = self.transport.get_write_buffer_size()
        if waiting and self._reading is None:
            self._reading = self.loop.call_later(self._limits.unread, self._check_reading, waiting)

    def _check_reading(self, before: int) -> None:
        self._reading = None
        waiting = self.transport.get_write_buffer_size()
        if waiting > max(before - LEAST_READ, 0):
            self.transport.abort()
        else:
            self._watch_reading()
