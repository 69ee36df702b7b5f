"""Small helpers on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def row_sums(rows: NDArray[Any], values: NDArray[Any], n: int) -> NDArray[np.float64]:
    """For each of n rows the sum of the values that belong to it."""
    sums: NDArray[Any] = np.bincount(rows, weights=values, minlength=n)
    return sums


def ratio(above: NDArray[Any], below: NDArray[Any]) -> NDArray[np.float64]:
    """above / below, 0 where below is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(below > 0, above / below, 0.0)


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """The different values, ascending. (np.unique does more, and imports masked arrays to do it.)"""
    ordered = np.sort(values)
    new = np.ones(len(ordered), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    return ordered[new]
