"""Tables that never change; a changed copy costs little, however long they are."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from functools import cached_property
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

MOST_CHANGES = 128  # kept beside a table; when there are more they are merged into another one


class Layered(Mapping[K, V], Generic[K, V]):
    """A table, and the changes made since; None stands for what was removed.

    >>> before = Layered({"a": 1, "b": 2})
    >>> after = before.changed({"b": None, "c": 3})
    >>> dict(before), dict(after)
    ({'a': 1, 'b': 2}, {'a': 1, 'c': 3})
    """

    def __init__(self, whole: Mapping[K, V] | None = None, changes: Mapping[K, V | None] | None = None) -> None:
        self._whole: Mapping[K, V] = whole or {}
        self._changes: Mapping[K, V | None] = changes or {}

    def changed(self, changes: Mapping[K, V | None]) -> Layered[K, V]:
        """The table with these changes; this one stays as it is."""
        after = Layered(self._whole, {**self._changes, **changes})
        return after if len(after._changes) <= MOST_CHANGES else Layered(after._joined)

    @cached_property
    def _joined(self) -> dict[K, V]:
        joined = dict(self._whole)
        for key, value in self._changes.items():
            if value is not None:
                joined[key] = value
            else:
                joined.pop(key, None)
        return joined

    def __getitem__(self, key: K) -> V:
        value = self._changes[key] if key in self._changes else self._whole[key]
        if value is None:
            raise KeyError(key)
        return value

    def __iter__(self) -> Iterator[K]:
        return iter(self._joined)

    def __len__(self) -> int:
        return len(self._joined)

    def items(self) -> ItemsView[K, V]:
        return self._joined.items()

    def values(self) -> ValuesView[V]:
        return self._joined.values()
