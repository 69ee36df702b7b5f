"""Work on a Dask cluster."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import Any, TypeVar

from fathoms.base.choices import PATIENCE
from fathoms.base.errors import FathomsError, InputError, say
from fathoms.base.parallel.local import ENDING, blocked
from fathoms.version import __version__

Item = TypeVar("Item")
Result = TypeVar("Result")

CONNECT_SECONDS = 5
CLOSE_SECONDS = 2
END_SECONDS = 20  # for the processes of a cluster that was started here
ANSWER_SECONDS = 30  # in which a running scheduler answers
FETCH_SECONDS = (30, 60, 120)  # for a result that a worker has: at first, and each time it has to be made again
LOOK_SECONDS = 1.0  # between two looks at which workers are there
SAY_SECONDS = 30  # between two lines that say that there are none
MOMENT = 0.02
LOOPBACK = "127.0.0.1"

_clients: dict[str, Any] = {}  # by the scheduler's name, so that one command connects once
_folders: list[Any] = []  # temporary ones of clusters that were started here
_patience: float = PATIENCE


def set_patience(seconds: float) -> None:
    """How long a cluster may be without workers before the work is given up."""
    global _patience
    _patience = seconds


def on_cluster(
    work: Callable[[Item], Result], batches: dict[int, Item], scheduler: str
) -> Iterator[tuple[int, Result]]:
    """Each batch's number and result as it ends.

    The work travels as the result of a task, and not scattered: where the last worker that holds it dies, the scheduler
    can make it again. What was running on a worker that died is run again elsewhere, as often as the scheduler allows
    (`distributed.scheduler.allowed-failures`). A worker that came later and has another version refuses.
    """
    if not batches:
        return
    from distributed import as_completed
    from distributed.protocol.pickle import dumps

    client = _client(scheduler)
    crew = _Crew(client, scheduler)
    call, shared = _guarded(__version__), client.submit(lambda value: value, dumps(work), pure=False)
    ended = as_completed(loop=client.loop)
    running: dict[Any, tuple[int, list[str] | None]] = {}  # the number, and the workers that may have it if not all may
    lost: Counter[int] = Counter()  # how often the worker went that had a batch's result

    def send(number: int) -> None:
        only = crew.only()
        future = client.submit(call, shared, dumps(batches[number]), pure=False, retries=0, workers=only)
        running[future] = number, only
        ended.add(future)

    try:
        crew.look()
        for number in batches:
            send(number)
        while running:
            crew.look()
            for future in [future for future, (_, only) in running.items() if crew.have_gone(only)]:
                _cancel(client, [future])
                send(running.pop(future)[0])
            for future in _some(ended):
                if future not in running:  # it was cancelled
                    continue
                number, _ = running.pop(future)
                batch = f"batch {number + 1} of {max(batches) + 1}"
                word, result, worker = _outcome(future, batch, scheduler, lost[number])
                future.release()  # else, should the worker die that still has it, it would be made again
                if word == "lost":
                    lost[number] += 1
                    send(number)
                elif word == "refused":
                    crew.leave_out(worker, result)
                    send(number)
                elif word == "failed":
                    raise _on_worker(result, worker)
                else:
                    yield number, result
    finally:
        _cancel(client, [shared, *running])


def _cancel(client: Any, futures: list[Any]) -> None:
    """Tell the scheduler, if it still listens, that nobody waits for these."""
    with suppress(OSError):  # of which a timeout is one
        client.sync(lambda: client.cancel(futures, asynchronous=True), callback_timeout=CLOSE_SECONDS)


def _some(ended: Any) -> list[Any]:
    """What has ended, after a short wait at most: somebody has to watch the workers."""
    if not ended.has_ready():
        sleep(MOMENT)
    futures: list[Any] = ended.next_batch(block=False) if ended.has_ready() else []
    return futures


# done, failed, refused or lost; the result, the error or the version; the worker
Outcome = tuple[str, Any, str]


def _guarded(expected: str) -> Callable[[bytes, bytes], Outcome]:
    """What a worker calls. It travels whole, as a function defined inside another does, and its arguments are packed:
    so a worker of another version, or without fathoms, gets far enough to say so."""

    def call(work: bytes, batch: bytes) -> Outcome:
        import pickle

        from distributed import get_worker

        worker = get_worker().address
        try:
            from fathoms.version import __version__ as version
        except ImportError:
            version = "none that can be imported"
        if version != expected:
            return "refused", version, worker
        try:
            return "done", pickle.loads(work)(pickle.loads(batch)), worker
        except Exception as error:
            return "failed", error, worker

    return call


def _outcome(future: Any, batch: str, scheduler: str, lost: int) -> Outcome:
    """How a batch ended. Its worker may die before the result is fetched, and waiting for it would never end: then it
    is lost."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker

    try:
        outcome: Outcome = future.result(timeout=FETCH_SECONDS[lost])
    except TimeoutError as error:
        if lost + 1 < len(FETCH_SECONDS):
            return "lost", None, ""
        raise FathomsError(
            f"{batch}: its result could not be fetched from the worker that had it, {len(FETCH_SECONDS)} times; are "
            "workers dying, or is the network slow? Start again to go on with the rest"
        ) from error
    except KilledWorker as error:
        raise FathomsError(
            f"{batch}: the workers it ran on died, the last of them {error.last_worker.address}; is there enough "
            "memory for it? Start again to go on with the rest"
        ) from error
    except CancelledError as error:
        raise _lost(scheduler) from error
    return outcome


def _lost(scheduler: str) -> FathomsError:
    return FathomsError(f"the connection to the scheduler {scheduler} is lost; start again once it is back")


def _on_worker(error: Exception, worker: str) -> Exception:
    """An error of the work, which may affect that one worker only: files are read there."""
    missing = error.filename if isinstance(error, FileNotFoundError) else None
    if isinstance(error, InputError) and error.message.startswith("no such file"):
        missing = error.source
    if missing is None:
        return error
    return InputError(
        f"the worker {worker} has no such file; workers read runs under the path they have here, so put them where all "
        "machines can read them",
        str(missing),
    )


class _Crew:
    """The workers of a cluster that have this version; those that joined later may have another one."""

    def __init__(self, client: Any, scheduler: str) -> None:
        self.client, self.scheduler = client, scheduler
        self.watch = _Watch(scheduler)
        self.present: dict[str, int] = {}  # cores by worker
        self.refused: set[str] = set()
        self.looked = -LOOK_SECONDS

    @property
    def cores(self) -> int:
        return sum(cores for worker, cores in self.present.items() if worker not in self.refused)

    def look(self) -> None:
        """Check now and then which workers are there; raises if there have been none for too long."""
        if monotonic() - self.looked >= LOOK_SECONDS:
            self.present = _workers(self.client, self.scheduler)
            self.looked = monotonic()
            self.watch.see(self.cores)

    def leave_out(self, worker: str, version: str) -> None:
        if worker not in self.refused:
            say(f"the worker {worker} has fathoms {version}, expected {__version__}, as here; it gets no work")
        self.refused.add(worker)

    def only(self) -> list[str] | None:
        """The workers that may have work, if not all may."""
        good = [worker for worker in self.present if worker not in self.refused]
        return good if len(good) < len(self.present) else None

    def have_gone(self, workers: list[str] | None) -> bool:
        return workers is not None and not any(worker in self.present for worker in workers)


class _Watch:
    """Says that a cluster has no workers, at once and then every so often, and finally gives up."""

    def __init__(self, scheduler: str) -> None:
        self.scheduler = scheduler
        self.since: float | None = None  # when there was none for the first time
        self.told_at = 0.0

    def see(self, workers: int) -> None:
        now = monotonic()
        if workers:
            self.since = None
            return
        if self.since is None:
            self.since, self.told_at = now, -SAY_SECONDS
        gone = now - self.since
        if gone >= _patience:
            raise FathomsError(
                f"the scheduler {self.scheduler} has had no worker for {gone:.0f} seconds; start workers and then the "
                "command again, or let it wait longer with --patience"
            )
        if now - self.told_at >= SAY_SECONDS:
            self.told_at = now
            say(f"the scheduler {self.scheduler} has no worker; waiting for one, {_patience - gone:.0f} s at most")


def _workers(client: Any, scheduler: str) -> dict[str, int]:
    """The cores of each worker."""
    if client.status != "running":
        raise _lost(scheduler)
    try:
        by_address: dict[str, int] = client.ncores(callback_timeout=ANSWER_SECONDS)
    except OSError as error:
        raise _lost(scheduler) from error
    return by_address


def cores(scheduler: str) -> int:
    return max(1, sum(_workers(_client(scheduler), scheduler).values()))


def _client(scheduler: str) -> Any:
    """The connection to a scheduler, made once; `local:N` starts a cluster of N processes on this machine."""
    known = _clients.get(scheduler)
    if known is not None and known.status == "running":
        return known
    check_scheduler(scheduler)
    try:
        from distributed import Client
    except ImportError:
        raise FathomsError(
            f"--scheduler {scheduler} needs Dask, which is not installed: pip install 'fathoms[cluster]'"
        ) from None
    local = scheduler.startswith("local:")
    if local:
        _start_tracker()
    # Otherwise Ctrl-C would leave processes that nobody knows about.
    with blocked([signal.SIGINT]), _deferred():
        address = _local_cluster(int(scheduler.removeprefix("local:"))) if local else scheduler
        try:
            client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except OSError as error:  # of which a timeout is one
            raise FathomsError(f"no scheduler answers at {scheduler}: is it running, and can it be reached?") from error
        _clients[scheduler] = client
    _check_workers(client, scheduler)
    return client


def _start_tracker() -> None:
    """Start the process that tracks what Python's processes share. It passes all signals on to those started with it,
    and must itself outlive all others."""
    from multiprocessing import resource_tracker

    with blocked(ENDING):
        resource_tracker.ensure_running()


def _local_cluster(n: int) -> Any:
    from logging import CRITICAL
    from tempfile import TemporaryDirectory

    from dask import config
    from distributed import Nanny

    from fathoms.base.parallel.unseen import PatientCluster, UnseenScheduler, UnseenWorker

    folder = TemporaryDirectory(prefix="fathoms.")
    _folders.append(folder)
    # Batches that wait for a worker, and do not run on it yet, did not cause its death.
    with config.set({"distributed.scheduler.worker-saturation": 1.0, "temporary-directory": folder.name}):
        shared = {"host": LOOPBACK, "protocol": "tcp://", "dashboard": False}
        worker = {"nthreads": 1, "memory_limit": 0, "silence_logs": CRITICAL, "worker_class": UnseenWorker}
        return PatientCluster(  # type: ignore[no-untyped-call]
            scheduler={"cls": UnseenScheduler, "options": {**shared, "port": 0, "dashboard_address": None}},
            workers={number: {"cls": Nanny, "options": {**shared, **worker}} for number in range(n)},
            silence_logs=CRITICAL,
        )


@contextmanager
def _deferred() -> Iterator[None]:
    """Signals that end a command are handled after the block. They are not blocked, since processes started in it would
    inherit that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda number, frame: came.append(number)) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in came[:1]:
            signal.raise_signal(number)


def check_scheduler(scheduler: str) -> str:
    """The name of a scheduler, if it is one."""
    kind, _, rest = scheduler.partition(":")
    if kind == "local" and rest.isascii() and rest.isdigit() and int(rest) > 0:
        return scheduler
    if kind in ("tcp", "tls", "ws", "wss", "ucx") and rest.startswith("//") and len(rest) > 2:
        return scheduler
    raise FathomsError(f"expected tcp://host:port or local:N for the scheduler, found {scheduler!r}")


def _check_workers(client: Any, scheduler: str) -> None:
    """Wait for a worker, and make sure that all of them have this version: another one may compute something else."""
    watch = _Watch(scheduler)
    while not _workers(client, scheduler):
        watch.see(0)
        sleep(LOOK_SECONDS / 4)
    try:
        versions = client.run(_version, on_error="return", callback_timeout=ANSWER_SECONDS)
    except OSError as error:
        raise _lost(scheduler) from error
    for worker, version in versions.items():
        if version != __version__:
            has = version if isinstance(version, str) else "none that can be imported"
            raise FathomsError(f"the worker {worker} has fathoms {has}, expected {__version__}, as here")


def _version() -> str:
    return __version__


@contextmanager
def _unheard() -> Iterator[None]:
    """Without what Dask logs when a process that was to be ended is gone already."""
    import logging

    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def disconnect() -> None:
    """Leave all clusters, and stop those that were started here."""
    while _clients:
        _, client = _clients.popitem()
        cluster = client.cluster
        with _unheard():
            client.close(timeout=CLOSE_SECONDS)
            if cluster is not None:
                with suppress(OSError):  # of which a timeout is one
                    cluster.close(timeout=END_SECONDS)
    while _folders:
        _folders.pop().cleanup()
