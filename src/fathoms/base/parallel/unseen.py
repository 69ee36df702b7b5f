"""Dask's scheduler and worker without the pages they serve over HTTP: what runs, with what, and the state of all; and a
cluster of them that waits for its own workers."""

from __future__ import annotations

from typing import Any

from distributed import Scheduler, SpecCluster, Worker
from distributed.deploy.cluster import Cluster


class UnseenScheduler(Scheduler):
    def start_http_server(self, *args: Any, **kwargs: Any) -> None:
        """Listen nowhere."""


class UnseenWorker(Worker):
    def start_http_server(self, *args: Any, **kwargs: Any) -> None:
        """Listen nowhere."""


class PatientCluster(SpecCluster):
    def _update_worker_status(self, op: Any, msg: Any) -> None:
        """A worker that died is started again by its nanny, however long that takes; SpecCluster would end the
        nanny after 15 seconds, and nobody would come back."""
        Cluster._update_worker_status(self, op, msg)
