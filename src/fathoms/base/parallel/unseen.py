"""Dask's scheduler and worker without the pages they serve over HTTP: what runs, with what, and the state of all."""

from __future__ import annotations

from typing import Any

from distributed import Scheduler, Worker


class UnseenScheduler(Scheduler):
    def start_http_server(self, *args: Any, **kwargs: Any) -> None:
        """Listen nowhere."""


class UnseenWorker(Worker):
    def start_http_server(self, *args: Any, **kwargs: Any) -> None:
        """Listen nowhere."""
