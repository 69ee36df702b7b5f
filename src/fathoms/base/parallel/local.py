"""Work on the cores of this machine: copies of this process, or new ones."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from mmap import mmap
from pathlib import Path
from time import monotonic
from typing import Any, Generic, TypeVar

from fathoms.base.errors import FathomsError

Item = TypeVar("Item")
Result = TypeVar("Result")

ATTEMPTS = 3  # how often a batch may be running when a worker dies before it is taken to be the cause
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


LOOK_SECONDS = 1.0  # between two checks that processes are alive
END_SECONDS = 20.0  # within which a killed process ends, or its pool hears of it
TURNS = 16  # how often a fork gets some of the items: seldom, since that takes a while, but nobody should wait for long
REGIONS, REGION = 4 << 30, 1 << 30  # bytes of all and of one at the most; memory is taken as it is written to
LARGE = 1 << 16  # bytes of an array that is not sent through a pipe
ALIGNED = 64
ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
ALL = [signal.SIGINT, *ENDING]  # Ctrl-C goes to all processes, and the first one decides what it means


class _Region:
    """Memory that a fork shares with the first process, used from its start to its end."""

    def __init__(self, memory: mmap) -> None:
        self.memory = memory
        self.used = 0

    def put(self, data: memoryview) -> tuple[int, int] | None:
        """Where the bytes are now, from where to where; None where they do not fit."""
        start = self.used
        if len(data) < LARGE or start + len(data) > len(self.memory):
            return None
        self.memory[start : start + len(data)] = data
        self.used = -(-(start + len(data)) // ALIGNED) * ALIGNED
        return start, start + len(data)


def _shared_memory(workers: int) -> list[mmap]:
    """A region for each fork; none if the system has no such memory to give."""
    try:
        size = min(REGION, REGIONS // workers)
        return [mmap(-1, size) for _ in range(workers)]
    except (OSError, ValueError, OverflowError):
        return []


Sent = tuple[bytes, list[tuple[int, int]]]  # a result pickled, and where its large arrays are in the fork's region


def _sent(result: Any, region: _Region | None) -> Sent:
    import pickle

    places = list[tuple[int, int]]()

    def stays(buffer: pickle.PickleBuffer) -> bool:
        """Whether an array is pickled with the rest."""
        place = None if region is None else region.put(buffer.raw())
        if place is not None:
            places.append(place)
        return place is None

    return pickle.dumps(result, protocol=5, buffer_callback=stays), places


def _received(sent: Sent, memory: mmap | None) -> Any:
    """The result; its large arrays stay where they are, and hold on to their region."""
    import pickle

    data, places = sent
    buffers = [] if memory is None else [memoryview(memory)[start:stop] for start, stop in places]
    return pickle.loads(data, buffers=buffers)


def may_fork() -> bool:
    """Whether a copy of this process can go on working: only the thread that asks is copied, and it might wait forever
    for something that another one held.

    The system is asked, since Python does not know of all threads: importing polars starts some. Those of linear
    algebra, which bear the name of the process itself, are prepared for this and do not count.
    """
    import threading

    if sys.platform != "linux" or threading.active_count() > 1:
        return False
    try:
        names = {Path("/proc/self/task", thread, "comm").read_bytes() for thread in os.listdir("/proc/self/task")}
    except OSError:  # a thread that has just ended, or a system that does not say
        return False
    return len(names) == 1


def each_on_forks(
    work: Callable[[Item], Result], items: list[Item], workers: int, progress: Callable[[Item], None]
) -> list[Result]:
    """On copies of this process, which start in a hundredth of a second and have everything that is in memory here.

    Threads take turns at many short steps in numpy, two of them together being little faster than one. What a copy that
    died leaves undone is done here.
    """
    size = max(1, len(items) // (TURNS * workers))
    turns = [items[start : start + size] for start in range(0, len(items), size)]
    results: list[Result] = []
    forks: list[_Fork] = []
    try:
        with blocked(ALL):
            regions = _shared_memory(workers)
            for number in range(workers):
                memory = regions[number] if regions else None
                forks.append(_Fork(work, turns, memory))  # one by one: if one fails, the others are ended
        for turn, of_turn in zip(turns, _turn_by_turn(forks, len(turns)), strict=True):
            results += [work(item) for item in turn] if of_turn is None else of_turn
            for item in turn:
                progress(item)
    finally:
        with blocked(ALL):
            for fork in forks:
                fork.end()
    return results


def _turn_by_turn(forks: Sequence[_Fork], n: int) -> Iterator[list[Any] | None]:
    """The results of each turn in their order; None where its fork died. Raises the first error in that order."""
    from multiprocessing.connection import wait

    waiting = iter(range(n))
    busy: dict[Any, tuple[_Fork, int]] = {}  # by the pipe that will have the result
    ended: dict[int, list[Any] | Exception | None] = {}

    def go_on(fork: _Fork) -> None:
        turn = next(waiting, None)
        if turn is not None:
            fork.take(turn)
            busy[fork.pipe] = fork, turn

    for fork in forks:
        go_on(fork)
    for turn in range(n):
        while turn not in ended and busy:
            for pipe in wait(list(busy)):
                fork, number = busy.pop(pipe)
                ended[number] = fork.result()
                if ended[number] is not None:
                    go_on(fork)
        of_turn = ended.pop(turn, None)
        if isinstance(of_turn, Exception):
            raise of_turn
        yield of_turn


class _Fork:
    """A copy of this process that takes turns.

    It has a pipe of its own. Those of `concurrent.futures` share one, and the thread that reads it waits forever for
    the rest of what a process was sending when it was killed.
    """

    def __init__(self, work: Callable[[Any], Any], turns: Any, memory: mmap | None) -> None:
        import warnings
        from multiprocessing import get_context

        context = get_context("fork")
        self.memory = memory
        self.pipe, there = context.Pipe()
        self.process = context.Process(target=_serve, args=(work, turns, memory, there, os.getpid()))
        with warnings.catch_warnings():
            # the threads of linear algebra, which is prepared for this
            warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
            self.process.start()
        there.close()  # or its end would go unnoticed

    def take(self, turn: Any) -> None:
        with suppress(OSError):  # if it has died, there is no result either
            self.pipe.send(turn)

    def result(self) -> list[Any] | Exception | None:
        """The result of a turn; None if the fork died."""
        try:
            sent = self.pipe.recv()
        except (EOFError, OSError):
            return None
        if isinstance(sent, Exception):
            return sent
        results: list[Any] = _received(sent, self.memory)
        return results

    def end(self) -> None:
        """At once: nobody waits for what is still running."""
        self.process.kill()
        self.process.join(END_SECONDS)
        self.pipe.close()


class Aside(Generic[Item, Result]):
    """Work on one item after another in a copy of this process, while this one makes the next; here, where there can be
    no copy, or it dies."""

    def __init__(self, work: Callable[[Item], Result], *, fork: bool) -> None:
        self.work, self.waiting = work, list[Item]()  # the item that the fork has
        self.done = list[Result]()
        self.fork: _Fork | None = None
        if fork and may_fork():
            with blocked(ALL):
                self.fork = _Fork(work, _AsGiven(), None)

    def give(self, item: Item) -> None:
        self._take_back()
        if self.fork is None:
            self.done.append(self.work(item))
        else:
            self.fork.take([item])
            self.waiting = [item]

    def results(self) -> list[Result]:
        """Of all items, in their order. Then the copy ends."""
        self._take_back()
        self.end()
        return self.done

    def end(self) -> None:
        if self.fork is not None:
            with blocked(ALL):
                self.fork.end()
            self.fork = None

    def _take_back(self) -> None:
        if self.fork is None or not self.waiting:
            return
        results = self.fork.result()
        if isinstance(results, Exception):
            self.end()
            raise results
        if results is None:
            self.end()
        self.done += map(self.work, self.waiting) if results is None else results
        self.waiting = []


class _AsGiven:
    """Turns of a fork that are sent to it and not known before."""

    def __getitem__(self, turn: Any) -> Any:
        return turn


def _serve(work: Callable[[Any], Any], turns: Any, memory: mmap | None, pipe: Any, first: int) -> None:
    """What a fork does: take turns until it is ended."""
    _follow(first)
    region = None if memory is None else _Region(memory)
    while True:
        turn = pipe.recv()
        try:
            outcome: Sent | Exception = _sent([work(item) for item in turns[turn]], region)
        except Exception as error:
            outcome = _portable(error)
        pipe.send(outcome)


def _portable(error: Exception) -> Exception:
    """The error, or its text where it cannot travel."""
    import pickle

    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever its class does
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


@contextmanager
def blocked(signals: Sequence[int]) -> Iterator[None]:
    """Signals wait for the end of the block. Processes started in it never hear of them, unless they choose to."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows, where nothing is forked
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _follow(first: int) -> None:
    """If the first process is killed, it can tell nobody, and its forks would wait for work forever; so the system ends
    them with it. And other signals end a fork, whatever the first process makes of them."""
    import ctypes

    set_death_signal = 1
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
    if os.getppid() != first:  # it was too late for that
        os._exit(1)
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def on_processes(
    work: Callable[[Item], Result], batches: dict[int, Item], workers: int
) -> Iterator[tuple[int, Result]]:
    """Each batch's number and result as it ends.

    A single worker is a process of its own too: numbers must not depend on how many threads linear algebra has. When a
    process dies, the pool breaks and takes all running batches with it. Those that were running too often when it
    happened then go one by one, so that the one to blame is known.
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

    with blocked(ALL):  # the process that keeps track of what is shared is started here, and must outlive all others
        pool = get_reusable_executor(max_workers=workers, env=ONE_THREAD)
    waiting = list(reversed(batches))
    running: dict[Future[Result], int] = {}
    sound = False
    quiet_since: float | None = None  # since when a process has been dead that the pool says nothing about
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                number = waiting.pop()
                running[pool.submit(work, batches[number])] = number
            done = wait(running, LOOK_SECONDS, FIRST_COMPLETED).done
            quiet_since = _dead_since(pool, None if done else quiet_since)
            if quiet_since is not None and monotonic() - quiet_since > END_SECONDS:
                raise BrokenProcessPool("a process died, and the pool has not heard of it")
            for future in done:
                result = future.result()
                yield running.pop(future), result
        sound = True
    except BrokenProcessPool:  # reported to whoever asks next, for a result or to submit more
        lost += running.values()
    finally:
        if not sound:  # nobody waits for what is still running
            pool.shutdown(kill_workers=True)


def _dead_since(pool: Any, before: float | None) -> float | None:
    """Since when one of a pool's processes has been dead; None where all live, or have ended by themselves."""
    processes = list((getattr(pool, "_processes", None) or {}).values())
    is_dead = any(process.exitcode not in (None, 0) for process in processes)
    return (monotonic() if before is None else before) if is_dead else None


def _gave_up(number: int, of: int) -> str:
    return (
        f"batch {number + 1} of {of}: its worker died {ATTEMPTS} times, the last time with nothing else running; is "
        "there enough memory for it? What other batches found is kept where the study has a folder"
    )
