"""Small helpers on arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base.errors import FathomsError

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


def frame_of_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]], words: Collection[str]) -> pl.DataFrame:
    """Result rows as a polars frame: text in the columns named in `words`, numbers in the others."""
    import polars as pl

    from fathoms.base.text import valid_text

    text = [name in words for name in columns]
    valid = [[valid_text(v) if t and v is not None else v for v, t in zip(row, text, strict=True)] for row in rows]
    types = {name: pl.String if t else pl.Float64 for name, t in zip(columns, text, strict=True)}
    return pl.DataFrame(valid, schema=types, orient="row")


def to_pandas(frame: pl.DataFrame) -> Any:
    """A pandas frame with the same columns; pyarrow, which polars would need for it, is not needed.

    >>> import fathoms as fm
    >>> table = fm.evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, "RR")
    >>> fm.to_pandas(table).loc[0, "score"] == 1
    np.True_
    """
    try:
        import pandas
    except ImportError:
        raise FathomsError("the package pandas is not installed; `pip install pandas` adds it") from None
    return pandas.DataFrame({name: frame[name].to_numpy() for name in frame.columns})


def identity_of(names: Sequence[str], *arrays: NDArray[Any] | None) -> str:
    """A hash of names and arrays, another one where anything differs."""
    from hashlib import sha256

    digest = sha256(repr(names).encode())
    for array in arrays:
        digest.update(b"none" if array is None else repr((array.dtype.str, array.shape)).encode() + array.tobytes())
    return digest.hexdigest()


def row_sums(rows: NDArray[Any], values: NDArray[Any], n: int) -> NDArray[np.float64]:
    """For each of n rows the sum of the values that belong to it."""
    sums: NDArray[Any] = np.bincount(rows, weights=values, minlength=n)
    return sums


def ratio(above: NDArray[Any], below: NDArray[Any] | np.float64) -> NDArray[np.float64]:
    """above / below, 0 where below is 0."""
    if not below.ndim:  # one number, which is quick to look at
        return above / below if below > 0 else np.zeros(above.shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(below > 0, above / below, 0.0)


def stretches(sizes: NDArray[Any], most: int) -> Iterator[tuple[int, int]]:
    """Stretches of items in order, each with at most that size in all, and at least one item."""
    total = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        before = int(total[start]) - int(sizes[start])
        stop = max(start + 1, int(np.searchsorted(total, before + most, side="right")))
        yield start, stop
        start = stop


def columns_at(values: NDArray[Any], depths: Sequence[int]) -> NDArray[Any]:
    """The columns of these depths, counted from 1; no copy where they follow each other, as all depths do."""
    first, last = depths[0], depths[-1]
    if last - first + 1 == len(depths) and (isinstance(depths, range) or list(depths) == [*range(first, last + 1)]):
        return values[:, first - 1 : last]
    return values[:, np.asarray(depths) - 1]


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """The different values, ascending. (np.unique does more, and imports masked arrays to do it.)"""
    ordered = np.sort(values)
    new = np.ones(len(ordered), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    return ordered[new]
