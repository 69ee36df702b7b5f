"""Work on the cores of this machine: copies of this process, or new ones."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from mmap import mmap
from pathlib import Path
from typing import Any, TypeVar

from fathoms.errors import FathomsError

Item = TypeVar("Item")
Result = TypeVar("Result")

ATTEMPTS = 3  # how often a batch may be running when a worker dies before it is taken for the cause
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


_inherited: tuple[Callable[[Any], Any], Sequence[Any]] | None = None  # what forks work on, not pickled or copied
_shared: Sequence[mmap] = ()  # what forks write large arrays to, a region for each
_region: _Region | None = None  # of this process, if it is a fork

TURNS = 16  # how often a fork gets some of the items: seldom, since it takes a while, but nobody is to wait for long
REGIONS, REGION = 4 << 30, 1 << 30  # bytes of all and of one at the most; memory is taken as it is written to
LARGE = 1 << 16  # bytes of an array that is not sent through a pipe
ALIGNED = 64


class _Region:
    """Memory that a fork shares with the first process, used from its start to its end."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.used = 0

    def put(self, data: memoryview) -> tuple[int, int] | None:
        """Where the bytes are now, from where to where; None where they do not fit."""
        memory, start = _shared[self.number], self.used
        if len(data) < LARGE or start + len(data) > len(memory):
            return None
        memory[start : start + len(data)] = data
        self.used = -(-(start + len(data)) // ALIGNED) * ALIGNED
        return start, start + len(data)


def _shared_memory(workers: int) -> list[mmap]:
    """A region for each fork; none where the system has no such memory to give."""
    try:
        size = min(REGION, REGIONS // workers)
        return [mmap(-1, size) for _ in range(min(workers, 256))]  # numbered by a byte
    except (OSError, ValueError, OverflowError):
        return []


Sent = tuple[bytes, list[tuple[int, int]], int]  # a result pickled, and where its large arrays are in which region


def _sent(result: Any) -> Sent:
    import pickle

    region, places = _region, list[tuple[int, int]]()

    def stays(buffer: pickle.PickleBuffer) -> bool:
        """Whether an array is pickled with the rest."""
        place = None if region is None else region.put(buffer.raw())
        if place is not None:
            places.append(place)
        return place is None

    data = pickle.dumps(result, protocol=5, buffer_callback=stays)
    return data, places, -1 if region is None else region.number


def _received(sent: Sent, regions: Sequence[mmap]) -> Any:
    """The result; its large arrays stay where they are, and hold on to their region."""
    import pickle

    data, places, number = sent
    return pickle.loads(data, buffers=[memoryview(regions[number])[start:stop] for start, stop in places])


def may_fork() -> bool:
    """Whether a copy of this process can go on working: only the thread that asks is copied, and it might wait for ever
    for what another one held.

    The system is asked, since Python does not know of all threads: importing polars starts some. Those of linear
    algebra, which bear the name of the process itself, are prepared for this and do not count.
    """
    import threading

    if sys.platform != "linux" or threading.active_count() > 1:
        return False
    try:
        names = {Path("/proc/self/task", thread, "comm").read_bytes() for thread in os.listdir("/proc/self/task")}
    except OSError:  # a thread that ended just now, or a system that does not say
        return False
    return len(names) == 1


def each_on_forks(
    work: Callable[[Item], Result], items: list[Item], workers: int, progress: Callable[[Item], None]
) -> list[Result]:
    """On copies of this process, which start in a hundredth of a second and have all that is in memory here.

    Threads take turns at many short steps in numpy, two of them together little faster than one. What a copy that
    died leaves undone is done here.
    """
    global _inherited, _shared
    import warnings
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import active_children, get_context

    results: list[Result] = []
    before = _inherited, _shared  # of a fork that starts forks itself, and has more to do afterwards
    _inherited, _shared = (work, items), _shared_memory(workers)
    regions = _shared
    numbers, give = os.pipe()  # each fork takes a number, and with it a region
    os.write(give, bytes(range(len(regions))))
    os.close(give)
    others = active_children()
    pool = ProcessPoolExecutor(
        workers, mp_context=get_context("fork"), initializer=_follow, initargs=(os.getpid(), numbers)
    )
    try:
        with _uninterrupted(), warnings.catch_warnings():
            # of the threads of linear algebra, which is prepared for this
            warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
            # Not by `map`, which cancels what is left when it is interrupted: in Python 3.11 the pool's own thread does
            # not expect that of work whose process was killed, and would die with a traceback.
            size = max(1, len(items) // (TURNS * workers))
            ended = [pool.submit(_inherited_work, start, start + size) for start in range(0, len(items), size)]
        for future in ended:
            found = _received(future.result(), regions)
            for item in items[len(results) : len(results) + len(found)]:
                progress(item)
            results += found
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
        os.close(numbers)
        _inherited, _shared = before
    return results


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Signals wait for the end of the block, and those who press Ctrl-C twice wait no longer: Python takes a thread for
    ended whose `join` is interrupted, and would then wait for ever for the processes that the thread was to end.

    Forks made in here never hear of Ctrl-C, which goes to all processes; the first one decides what it means.
    """
    import signal

    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, *_ends_forks()])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ends_forks() -> list[int]:
    """Signals that end a fork at once, whatever the first process makes of them."""
    import signal

    return [signal.SIGTERM, signal.SIGHUP]


def _inherited_work(start: int, stop: int) -> Sent:
    assert _inherited is not None
    work, items = _inherited
    return _sent([work(item) for item in items[start:stop]])


def _follow(first: int, numbers: int) -> None:
    """Take a region. And should the first process be killed, it can tell nobody, and its forks would wait for work for
    ever; so the system ends them with it."""
    import ctypes
    import signal

    set_death_signal = 1
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
    for number in _ends_forks():
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ends_forks())
    if os.getppid() != first:  # it was too late for that
        os._exit(1)
    global _region
    number = os.read(numbers, 1)
    _region = _Region(number[0]) if number else None


def on_processes(
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
        calm = [n for n in missing if deaths[n] < ATTEMPTS - 1]
        turn = {n: missing[n] for n in calm or missing}
        lost: list[int] = []
        for number, result in _until_broken(work, turn, workers if calm else 1, lost):
            del missing[number]
            yield number, result
        for number in lost:
            deaths[number] += 1
            if deaths[number] >= ATTEMPTS:
                raise FathomsError(_gave_up(number, max(batches) + 1))


def _until_broken(
    work: Callable[[Item], Result], batches: dict[int, Item], workers: int, lost: list[int]
) -> Iterator[tuple[int, Result]]:
    """The results of one pool of processes; should one die, `lost` gets the batches that were running."""
    from concurrent.futures import FIRST_COMPLETED, Future, wait
    from concurrent.futures.process import BrokenProcessPool

    from joblib.externals.loky import get_reusable_executor

    with (
        _uninterrupted()
    ):  # the process that keeps track of what is shared is started here, and must outlive all others
        pool = get_reusable_executor(max_workers=workers, env=ONE_THREAD)
    waiting = list(reversed(batches))
    running: dict[Future[Result], int] = {}
    sound = False
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                number = waiting.pop()
                running[pool.submit(work, batches[number])] = number
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                result = future.result()
                yield running.pop(future), result
        sound = True
    except BrokenProcessPool:  # heard of by whoever asks next, for a result or to submit more
        lost += running.values()
    finally:
        if not sound:  # nobody waits for what is still running
            pool.shutdown(kill_workers=True)


def _gave_up(number: int, of: int) -> str:
    return (
        f"batch {number + 1} of {of}: its worker died {ATTEMPTS} times, the last time with nothing else running; is "
        "there enough memory for it? What other batches found is kept where the study has a folder"
    )
