"""The compiled kernel and its twin in numpy, side by side: the same call with one and with the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from fathoms.base import kernel
from fathoms.base.errors import FathomsError
from fathoms.data.lines import Table


@contextmanager
def numpy_alone() -> Iterator[None]:
    """As if no kernel had been built."""
    compiled = kernel.compiled
    kernel.compiled = None
    try:
        yield
    finally:
        kernel.compiled = compiled


def outcome(work: Callable[[], Any]) -> Any:
    """What a call gives, or the words of its error."""
    try:
        return work()
    except FathomsError as error:
        return type(error).__name__, str(error)


def both(work: Callable[[], Any]) -> tuple[Any, Any]:
    """The outcome with the kernel, and with numpy alone."""
    ours = outcome(work)
    with numpy_alone():
        return ours, outcome(work)


def content(table: Table) -> dict[str, Any]:
    """All that a table holds, with the line of each row."""
    found = {field.name: getattr(table, field.name) for field in fields(table)}
    return found | {"lines": [table.line(row) for row in range(len(table.number))]}


def same(a: Any, b: Any) -> bool:
    """Whether two outcomes are equal in all they hold: types, bits of numbers. Texts may be of any width."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
            return False
        if a.dtype.kind == "S":
            return bool(np.array_equal(a, b))
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if is_dataclass(a):
        return all(same(getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)
