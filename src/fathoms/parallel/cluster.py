"""Work on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from fathoms.errors import FathomsError
from fathoms.version import __version__

Item = TypeVar("Item")
Result = TypeVar("Result")

CONNECT_SECONDS = 5
WORKER_SECONDS = 30  # to wait for the first worker of a cluster


_clients: dict[str, Any] = {}  # by the scheduler's name, so that one command connects once


def on_cluster(
    work: Callable[[Item], Result], batches: dict[int, Item], scheduler: str
) -> Iterator[tuple[int, Result]]:
    """Each batch's number and result as it ends.

    The work travels as the result of a task, and not scattered: where the last worker that holds it dies, the scheduler
    can make it again. What was running on a worker that died is run again elsewhere, as often as the scheduler allows
    (`distributed.scheduler.allowed-failures`).
    """
    if not batches:
        return
    from concurrent.futures import CancelledError

    from distributed import KilledWorker, as_completed

    client = _client(scheduler)
    shared = client.submit(_same, work, pure=False)
    futures = {client.submit(_call, shared, batch, pure=False, retries=0): n for n, batch in batches.items()}
    try:
        for future in as_completed(futures, loop=client.loop):
            try:
                result = future.result()
            except KilledWorker as error:
                raise FathomsError(
                    f"batch {futures[future] + 1} of {max(batches) + 1}: the workers it ran on died, the last of them "
                    f"{error.last_worker.address}; is there enough memory for it? Start again to go on with the rest"
                ) from error
            except CancelledError as error:
                raise FathomsError(
                    f"the connection to the scheduler {scheduler} is lost; start again once it is back"
                ) from error
            number = futures.pop(future)
            future.release()  # else, should the worker die that still has it, it would be made again
            yield number, result
    finally:
        client.cancel([shared, *futures])


def _same(work: Result) -> Result:
    return work


def _call(work: Callable[[Item], Result], batch: Item) -> Result:
    return work(batch)


def cores(scheduler: str) -> int:
    return max(1, sum(_client(scheduler).ncores().values()))


def _client(scheduler: str) -> Any:
    """The connection to a scheduler, made once; `local:N` starts a cluster of N processes on this machine."""
    known = _clients.get(scheduler)
    if known is not None and known.status == "running":
        return known
    check_scheduler(scheduler)
    from logging import CRITICAL

    try:
        from dask import config
        from distributed import Client, LocalCluster
    except ImportError:
        raise FathomsError(
            f"--scheduler {scheduler} needs Dask, which is not installed: pip install 'fathoms[cluster]'"
        ) from None
    address: Any = scheduler
    if scheduler.startswith("local:"):
        # Batches that wait for a worker, and do not run on it yet, have no part in its death.
        with config.set({"distributed.scheduler.worker-saturation": 1.0}):
            address = LocalCluster(
                n_workers=int(scheduler.removeprefix("local:")),
                threads_per_worker=1,
                processes=True,
                memory_limit=0,
                dashboard_address=None,  # it would listen on all interfaces, without a login
                silence_logs=CRITICAL,
            )
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except OSError as error:  # of which a timeout is one
        raise FathomsError(f"no scheduler answers at {scheduler}: is it running, and can it be reached?") from error
    _clients[scheduler] = client
    _check_workers(client, scheduler)
    return client


def check_scheduler(scheduler: str) -> str:
    """The name of a scheduler, if it is one."""
    kind, _, rest = scheduler.partition(":")
    if kind == "local" and rest.isascii() and rest.isdigit() and int(rest) > 0:
        return scheduler
    if kind in ("tcp", "tls", "ws", "wss", "ucx") and rest.startswith("//") and len(rest) > 2:
        return scheduler
    raise FathomsError(f"expected tcp://host:port or local:N for the scheduler, found {scheduler!r}")


def _check_workers(client: Any, scheduler: str) -> None:
    """Wait for a worker, and see that all of them have this version: another one may count otherwise."""
    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except TimeoutError:
        raise FathomsError(f"the scheduler {scheduler} has had no worker for {WORKER_SECONDS} seconds") from None
    for worker, version in client.run(_version, on_error="return").items():
        if version != __version__:
            has = version if isinstance(version, str) else "none that can be imported"
            raise FathomsError(f"the worker {worker} has fathoms {has}, expected {__version__}, as here")


def _version() -> str:
    return __version__


def disconnect() -> None:
    """Leave all clusters, and stop those that were started here."""
    while _clients:
        _, client = _clients.popitem()
        cluster = client.cluster
        client.close()
        if cluster is not None:
            cluster.close()
