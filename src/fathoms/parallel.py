"""Work on several cores: the one place where processes are started.

A study is cut into batches that know nothing of each other, so the result is the same however many workers there are.
With a folder, each finished batch is kept there, and a study that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathoms.data.files import whole_file

if TYPE_CHECKING:
    import polars as pl

PARTS = ".unfinished"  # folder of finished batches inside a study's own


def run_batches(
    work: Callable[[Any], list[dict[str, Any]]],
    batches: Sequence[Any],
    *,
    workers: int,
    folder: Path | None = None,
    settings: str = "",
    progress: Callable[[], None] = lambda: None,
) -> pl.DataFrame:
    """The rows of all batches, in order. `settings` says what makes them what they are: parts of another study do not
    count. Call `finished` once the rows have been put to use."""
    import polars as pl
    from joblib import Parallel, delayed

    place = None if folder is None else folder / PARTS / sha256(settings.encode()).hexdigest()[:16]
    done: dict[int, pl.DataFrame] = {}
    if place is not None:
        place.mkdir(parents=True, exist_ok=True)
        done = {n: pl.read_parquet(part) for n in range(len(batches)) if (part := _part(place, n)).exists()}
    for _ in done:
        progress()
    missing = [n for n in range(len(batches)) if n not in done]
    results = Parallel(n_jobs=workers, return_as="generator")(delayed(work)(batches[n]) for n in missing)
    for number, rows in zip(missing, results, strict=True):
        done[number] = pl.DataFrame(rows)
        if place is not None:
            with whole_file(_part(place, number)) as temporary:
                done[number].write_parquet(temporary)
        progress()
    return pl.concat([done[n] for n in range(len(batches))])


def finished(folder: Path) -> None:
    """The study is written; its parts are not needed any more."""
    shutil.rmtree(folder / PARTS, ignore_errors=True)


def _part(place: Path, number: int) -> Path:
    return place / f"part-{number:05}.parquet"
