"""Work on several cores or machines: the one place that starts threads and processes for it.

Work is cut into pieces that know nothing of each other, so the result is the same however many workers there are and in
whatever order they finish. There are two ways to go about it:

- `each` calls a function on every item: here on forks of this process where that is safe, else on threads, or on new
  processes if the work is heavy;
- `run_batches` runs a long study batch by batch: on processes here, with every finished batch kept in a folder.
  `each` does the same where it is given a folder.

With a scheduler both go to a Dask cluster instead. They talk to Dask directly and not through joblib's backend, which
never hears of a task that Dask gave up, and would wait for it for ever.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fathoms.data.files import whole_file
from fathoms.errors import FathomsError

if TYPE_CHECKING:
    import polars as pl

Item = TypeVar("Item")
Result = TypeVar("Result")

PARTS = ".unfinished"  # folder of finished batches inside a study's own
CHANCES = 3  # how often a batch may be running when a worker dies before it is taken for the cause
KEPT_TOGETHER = 16  # items whose results make one file, where they are kept
ROUNDS = 8  # pieces that each worker of a cluster gets of a list: few round trips, and still nobody waits for long
CONNECT_SECONDS = 5
WORKER_SECONDS = 30  # to wait for the first worker of a cluster
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def parallel_map(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    workers: int,
    scheduler: str | None = None,
    folder: Path | None = None,
    settings: str = "",
    identity: Callable[[Item], str] = repr,
    heavy: bool = False,
    progress: Callable[[Item], None] = lambda item: None,
) -> list[Result]:
    """`work` on every item, the results in their order; `progress` hears here of each item that is done.

    For a scheduler `work` needs to be picklable, and what it refers to is sent to each worker once. With a folder,
    results are kept there some at a time, as by `run_batches`, and those found there are not worked for again; they
    are known by `settings` and what `identity` says of each item. What is `heavy` has new processes where forks are
    not safe: they take a second to start, and what `work` refers to goes to them some times.
    """
    items = list(items)
    if folder is not None:
        return _each_kept(work, items, workers, scheduler, folder, settings, identity, progress)
    if scheduler is not None:
        return _each_on_cluster(work, items, scheduler, progress)

    def one(item: Item) -> Result:
        result = work(item)
        progress(item)
        return result

    workers = min(workers, len(items))
    if workers <= 1:
        return [one(item) for item in items]
    if _may_fork():
        return _each_on_forks(work, items, workers, progress)
    if heavy:
        pieces = _pieces(items, workers)
        return _in_order(pieces, _on_processes(_Mapped(work), pieces, workers), progress)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(one, items))


def run_batches(
    work: Callable[[Any], list[dict[str, Any]]],
    batches: Sequence[Any],
    *,
    workers: int,
    scheduler: str | None = None,
    folder: Path | None = None,
    settings: str = "",
    names: Sequence[str] | None = None,
    progress: Callable[[], None] = lambda: None,
) -> pl.DataFrame:
    """The rows of all batches, in order. `settings` says what makes them what they are, the input included: parts of
    another study do not count. Parts are known by the number of their batch, or by the names given. Call `finished`
    once the rows have been put to use.

    A batch whose worker died is run again; an error of its own ends the study.
    """
    import polars as pl

    place = None if folder is None else folder / PARTS / _hash(settings)
    names = names or [f"{n:05}" for n in range(len(batches))]
    done: dict[int, pl.DataFrame] = {}
    if place is not None:
        place.mkdir(parents=True, exist_ok=True)
        done = {n: pl.read_parquet(part) for n, name in enumerate(names) if (part := _part(place, name)).exists()}
    for _ in done:
        progress()
    missing = {n: batches[n] for n in range(len(batches)) if n not in done}
    ended = _on_processes(work, missing, workers) if scheduler is None else _on_cluster(work, missing, scheduler)
    for number, rows in ended:
        done[number] = pl.DataFrame(rows)
        if place is not None:
            with whole_file(_part(place, names[number])) as temporary:
                done[number].write_parquet(temporary)
        progress()
    return pl.concat([done[n] for n in range(len(batches))])


def _each_kept(
    work: Callable[[Item], Result],
    items: list[Item],
    workers: int,
    scheduler: str | None,
    folder: Path,
    settings: str,
    identity: Callable[[Item], str],
    progress: Callable[[Item], None],
) -> list[Result]:
    import pickle

    pieces = [items[start : start + KEPT_TOGETHER] for start in range(0, len(items), KEPT_TOGETHER)]
    waiting = iter(items)

    def step() -> None:
        for item in islice(waiting, KEPT_TOGETHER):
            progress(item)

    found = run_batches(
        _Pickled(work),
        pieces,
        workers=workers,
        scheduler=scheduler,
        folder=folder,
        settings=settings,
        progress=step,
        names=[_hash(repr([identity(item) for item in piece])) for piece in pieces],
    )
    return [pickle.loads(result) for result in found["result"]]


class _Pickled:
    """`work` on a list of items, the results as rows that a file of columns can hold."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.work = work

    def __call__(self, items: list[Any]) -> list[dict[str, Any]]:
        import pickle

        return [{"result": pickle.dumps(self.work(item))} for item in items]


def _pieces(items: list[Item], workers: int) -> dict[int, list[Item]]:
    """Items in pieces, by the number of the first."""
    size = max(1, len(items) // (ROUNDS * workers))
    return {start: items[start : start + size] for start in range(0, len(items), size)}


def _in_order(
    pieces: dict[int, list[Item]],
    ended: Iterable[tuple[int, list[Result]]],
    progress: Callable[[Item], None],
) -> list[Result]:
    """The results of all pieces in the order of the items, once they have ended in theirs."""
    found: dict[int, list[Result]] = {}
    for start, results in ended:
        found[start] = results
        for item in pieces[start]:
            progress(item)
    return [result for start in pieces for result in found[start]]


def finished(folder: Path) -> None:
    """The study is written; its parts are not needed any more."""
    import shutil

    shutil.rmtree(folder / PARTS, ignore_errors=True)


def _part(place: Path, name: str) -> Path:
    return place / f"part-{name}.parquet"


def _hash(text: str) -> str:
    from hashlib import sha256

    return sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]


# -- processes on this machine ----------------------------------------------------------------------------------

_inherited: tuple[Callable[[Any], Any], Sequence[Any]] | None = None  # what forks work on, not pickled or copied


def _may_fork() -> bool:
    """Whether a copy of this process can go on working: one with threads, such as polars starts, might wait for ever
    for what another thread held."""
    return sys.platform == "linux" and "polars" not in sys.modules and threading.active_count() == 1


def _each_on_forks(
    work: Callable[[Item], Result], items: list[Item], workers: int, progress: Callable[[Item], None]
) -> list[Result]:
    """On copies of this process, which start in a hundredth of a second and have all that is in memory here.

    Threads take turns at many short steps in numpy, two of them together little faster than one. What a copy that
    died leaves undone is done here.
    """
    global _inherited
    import warnings
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import active_children, get_context

    results: list[Result] = []
    _inherited = (work, items)
    others = active_children()
    pool = ProcessPoolExecutor(workers, mp_context=get_context("fork"), initializer=_follow, initargs=(os.getpid(),))
    try:
        with _uninterrupted(), warnings.catch_warnings():
            # of the threads of linear algebra, which is prepared for this
            warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
            # Not by `map`, which cancels what is left when it is interrupted: in Python 3.11 the pool's own thread does
            # not expect that of work whose process was killed, and would die with a traceback.
            ended = [pool.submit(_inherited_work, number) for number in range(len(items))]
        for item, future in zip(items, ended, strict=True):
            results.append(future.result())
            progress(item)
    except BrokenProcessPool:
        for item in items[len(results) :]:
            results.append(work(item))
            progress(item)
    except BaseException:  # nobody waits for what is still running
        for process in active_children():
            if process not in others:
                process.kill()
        raise
    finally:
        with _uninterrupted():
            pool.shutdown(cancel_futures=True)
        _inherited = None
    return results


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits for the end of the block, and those who press it twice wait no longer: Python takes a thread for
    ended whose `join` is interrupted, and would then wait for ever for the processes that the thread was to end.

    Forks made in here never hear of Ctrl-C, which goes to all processes; the first one decides what it means.
    """
    import signal

    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _inherited_work(number: int) -> Any:
    assert _inherited is not None
    work, items = _inherited
    return work(items[number])


def _follow(first: int) -> None:
    """Should the first process be killed, it can tell nobody, and its forks would wait for work for ever; so the system
    ends them with it."""
    import ctypes
    import signal

    set_death_signal = 1
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
    if os.getppid() != first:  # it was too late for that
        os._exit(1)


def _on_processes(
    work: Callable[[Item], Result], batches: dict[int, Item], workers: int
) -> Iterator[tuple[int, Result]]:
    """Each batch's number and result as it ends.

    One worker is a process of its own too: numbers must not depend on how many threads linear algebra has. When a
    process dies, the pool breaks and takes all running batches with it. Those that saw it happen too often then go one
    by one, so that the one to blame is known.
    """
    missing = dict(batches)
    deaths = dict.fromkeys(missing, 0)
    while missing:
        calm = [n for n in missing if deaths[n] < CHANCES - 1]
        turn = {n: missing[n] for n in calm or missing}
        lost: list[int] = []
        for number, result in _until_broken(work, turn, workers if calm else 1, lost):
            del missing[number]
            yield number, result
        for number in lost:
            deaths[number] += 1
            if deaths[number] >= CHANCES:
                raise FathomsError(_gave_up(number, max(batches) + 1))


def _until_broken(
    work: Callable[[Item], Result], batches: dict[int, Item], workers: int, lost: list[int]
) -> Iterator[tuple[int, Result]]:
    """The results of one pool of processes; should one die, `lost` gets the batches that were running."""
    from concurrent.futures import FIRST_COMPLETED, Future, wait
    from concurrent.futures.process import BrokenProcessPool

    from joblib.externals.loky import get_reusable_executor

    pool = get_reusable_executor(max_workers=workers, env=ONE_THREAD)
    waiting = list(reversed(batches))
    running: dict[Future[Result], int] = {}
    sound = False
    try:
        while (waiting or running) and not lost:
            while waiting and len(running) < workers:
                number = waiting.pop()
                running[pool.submit(work, batches[number])] = number
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                try:
                    result = future.result()
                except BrokenProcessPool:
                    lost += running.values()
                    break
                yield running.pop(future), result
        sound = not lost
    finally:
        if not sound:  # nobody waits for what is still running
            pool.shutdown(kill_workers=True)


def _gave_up(number: int, of: int) -> str:
    return (
        f"batch {number + 1} of {of}: its worker died {CHANCES} times, the last time with nothing else running; is "
        "there enough memory for it? What other batches found is kept where the study has a folder"
    )


# -- a Dask cluster ---------------------------------------------------------------------------------------------

_clients: dict[str, Any] = {}  # by the scheduler's name, so that one command connects once


def _each_on_cluster(
    work: Callable[[Item], Result], items: list[Item], scheduler: str, progress: Callable[[Item], None]
) -> list[Result]:
    """In pieces of several items, so that a thousand of them do not take a thousand round trips."""
    pieces = _pieces(items, _cores(_client(scheduler)))
    return _in_order(pieces, _on_cluster(_Mapped(work), pieces, scheduler), progress)


class _Mapped:
    """`work` on a list of items."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.work = work

    def __call__(self, items: list[Any]) -> list[Any]:
        return [self.work(item) for item in items]


def _on_cluster(
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


def _cores(client: Any) -> int:
    return max(1, sum(client.ncores().values()))


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
                dashboard_address=":0",
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
    from fathoms import __version__

    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except TimeoutError:
        raise FathomsError(f"the scheduler {scheduler} has had no worker for {WORKER_SECONDS} seconds") from None
    for worker, version in client.run(_version, on_error="return").items():
        if version != __version__:
            has = version if isinstance(version, str) else "none that can be imported"
            raise FathomsError(f"the worker {worker} has fathoms {has}, expected {__version__}, as here")


def _version() -> str:
    from fathoms import __version__

    return __version__


def disconnect() -> None:
    """Leave all clusters, and stop those that were started here."""
    while _clients:
        _, client = _clients.popitem()
        cluster = client.cluster
        client.close()
        if cluster is not None:
            cluster.close()
