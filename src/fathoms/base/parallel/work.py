"""Work cut into pieces, and where each piece goes: this process, others on this machine, or a cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from fathoms.base.files import whole_file
from fathoms.base.parallel.checkpoint_hash import seal
from fathoms.base.parallel.cluster import cores, on_cluster
from fathoms.base.parallel.local import each_on_forks, may_fork, on_processes
from fathoms.base.progress import say
from fathoms.base.text import shown_safely

if TYPE_CHECKING:
    import polars as pl

Item = TypeVar("Item")
Result = TypeVar("Result")

PARTS = ".unfinished"  # folder of finished batches inside a study's own
KEPT_TOGETHER = 16  # items whose results make one file, where they are kept
MARK = 64  # characters behind a kept part
ROUNDS = 8  # pieces that each worker of a cluster gets of a list: few round trips, and still nobody waits for long


class Where(TypedDict):
    """Who does the work: so many processes here, or a cluster."""

    workers: int
    scheduler: str | None


def one_worker() -> Where:
    return {"workers": 1, "scheduler": None}


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
    doing: str = "",
    progress: Callable[[Item], None] = lambda item: None,
) -> list[Result]:
    """`work` on every item, the results in their order; `progress` hears of each item done in this process, and whoever
    waits hears what is being done.

    For a scheduler `work` needs to be picklable, and what it refers to is sent to each worker once. With a folder,
    results are kept there some at a time, as by `run_batches`, and those found there are not computed again; they are
    known by `settings` and by `identity` of each item.

    Forks of this process do the work if they are safe. If not, `heavy` work goes to new processes, which take a second
    to start and get several copies of what `work` refers to; other work goes to threads.
    """
    items = list(items)
    progress = with_reports(progress, doing, len(items))
    if folder is not None:
        return _each_kept(work, items, workers, scheduler, folder, settings, identity, progress)
    if scheduler is not None:
        # In pieces of several items, so that a thousand of them do not take a thousand round trips.
        pieces = _pieces(items, cores(scheduler))
        return _in_order(pieces, on_cluster(_Mapped(work), pieces, scheduler), progress)

    def worked(item: Item) -> Result:
        result = work(item)
        progress(item)
        return result

    workers = min(workers, len(items))
    if workers <= 1:
        return [worked(item) for item in items]
    if may_fork():
        return each_on_forks(work, items, workers, progress)
    if heavy:
        pieces = _pieces(items, workers)
        return _in_order(pieces, on_processes(_Mapped(work), pieces, workers), progress)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(worked, items))


def with_reports(progress: Callable[[Item], None], doing: str, of: int) -> Callable[[Item], None]:
    """The same, reporting how far the work is."""
    done = count(1)

    def tell(item: Item) -> None:
        progress(item)
        say(doing, next(done), of)

    say(doing, 0, of)
    return tell


def run_batches(
    work: Callable[[Any], list[dict[str, Any]]],
    batches: Sequence[Any],
    *,
    workers: int,
    scheduler: str | None = None,
    folder: Path | None = None,
    settings: str = "",
    names: Sequence[str] | None = None,
    sealed: bool = False,
    progress: Callable[[], None] = lambda: None,
) -> pl.DataFrame:
    """The rows of all batches, in order. `settings` says what makes them what they are, including the input: parts of
    another study do not count. Parts are known by the number of their batch, or by the names given. `sealed` ones count
    only if this user has written them. Call `finished` once the rows have been used.

    A batch whose worker died is run again; an error of its own ends the study.
    """
    import polars as pl

    place = None if folder is None else folder / PARTS / _hash(settings)
    names = names or [f"{n:05}" for n in range(len(batches))]
    done: dict[int, pl.DataFrame] = {}
    if place is not None:
        place.mkdir(parents=True, exist_ok=True)
        kept = {n: _read_part(_part(place, name), sealed) for n, name in enumerate(names)}
        done = {n: part for n, part in kept.items() if part is not None}
    for _ in done:
        progress()
    missing = {n: batches[n] for n in range(len(batches)) if n not in done}
    ended = on_processes(work, missing, workers) if scheduler is None else on_cluster(work, missing, scheduler)
    for number, rows in ended:
        done[number] = pl.DataFrame(rows)
        if place is not None:
            _write_part(done[number], _part(place, names[number]), sealed)
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

    rows = run_batches(
        _Pickled(work),
        pieces,
        workers=workers,
        scheduler=scheduler,
        folder=folder,
        settings=settings,
        progress=step,
        names=[_hash(repr([identity(item) for item in piece])) for piece in pieces],
        sealed=True,
    )
    return [pickle.loads(result) for result in rows["result"]]


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
    by_start: dict[int, list[Result]] = {}
    for start, results in ended:
        by_start[start] = results
        for item in pieces[start]:
            progress(item)
    return [result for start in pieces for result in by_start[start]]


def finished(folder: Path) -> None:
    """The study is written; its parts are no longer needed."""
    import shutil

    shutil.rmtree(folder / PARTS, ignore_errors=True)


def _write_part(rows: pl.DataFrame, path: Path, sealed: bool) -> None:
    """Rows as parquet, followed by a mark that shows that they are as they were written."""
    from io import BytesIO

    buffer = BytesIO()
    rows.write_parquet(buffer)
    content = buffer.getvalue()
    with whole_file(path) as temporary:
        temporary.write_bytes(content + _mark(content, path.name, sealed).encode())


def _read_part(path: Path, sealed: bool) -> pl.DataFrame | None:
    """A part that was kept; None where there is none, or it is not as it was written."""
    import hmac

    import polars as pl

    if not path.exists():
        return None
    raw = path.read_bytes()
    content, mark = raw[:-MARK], raw[-MARK:]
    if hmac.compare_digest(_mark(content, path.name, sealed).encode(), mark):
        return pl.read_parquet(content)
    who = ", or was not written by you" if sealed else ""
    print(f"fathoms: {shown_safely(str(path))} is damaged{who}; it will be computed again", file=sys.stderr)
    return None


def _mark(content: bytes, name: str, sealed: bool) -> str:
    """Of as many characters as MARK says."""
    from hashlib import sha256

    return seal(content, name) if sealed else sha256(name.encode() + b"\0" + content).hexdigest()


def _part(place: Path, name: str) -> Path:
    return place / f"part-{name}"


def _hash(text: str) -> str:
    from hashlib import sha256

    return sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]


class _Mapped:
    """`work` on a list of items."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.work = work

    def __call__(self, items: list[Any]) -> list[Any]:
        return [self.work(item) for item in items]
