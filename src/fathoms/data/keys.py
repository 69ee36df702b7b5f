"""Documents as integers: 64-bit keys for byte strings, and a hash table of keys that works on whole arrays.

A key stands for a document only after the strings were compared too, so two documents that share a key are never
taken for one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fathoms.base import kernel
from fathoms.data.lines import Table, Text

Keys = NDArray[np.uint64]
_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


def words(text: Text) -> NDArray[np.uint64]:
    """Byte strings as rows of 64-bit words."""
    width = -(-text.dtype.itemsize // 8) * 8
    return np.ascontiguousarray(text.astype(f"S{width}", copy=False)).view("<u8").reshape(len(text), width // 8)


def document_keys(documents: Text) -> Keys:
    """One key a document, the same however wide the array is in which it stands."""
    keys = kernel.document_keys(documents)
    if keys is not None:
        return keys
    parts = words(documents)
    key = _mix(parts[:, 0])
    for i in range(1, parts.shape[1]):
        used = parts[:, i] != 0  # ids hold no zero bytes, so an empty word lies past the end
        if used.any():
            key = np.where(used, _mix(key ^ parts[:, i]), key)
    return key


def topic_keys(documents: Keys, topics: NDArray[np.integer]) -> Keys:
    """Keys of (topic, document) pairs from keys of documents and numbers of topics."""
    return _mix(documents ^ (topics.astype(np.uint64) + np.uint64(1)) * _ODD)


def _mix(key: Keys) -> Keys:
    key = key * _ODD
    key ^= key >> _SHIFT
    key *= _ODD
    return key


def scrambled(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers that look random, another one for each given (the finish of the SplitMix64 generator)."""
    numbers = numbers * _ODD
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers ^= numbers >> np.uint64(shift)
        numbers *= np.uint64(factor)
    numbers ^= numbers >> np.uint64(31)
    return numbers


class Lookup:
    """Finds (topic, document) pairs among given ones: open addressing, all queries probed at once."""

    def __init__(self, keys: Keys, documents: Text) -> None:
        self._keys = keys
        self._documents = documents
        bits = max(4, int(2 * len(keys)).bit_length())
        self._shift = np.uint64(64 - bits)
        self._mask = (1 << bits) - 1
        self._slots = np.full(1 << bits, -1, dtype=np.int32)
        pending = np.arange(len(keys), dtype=np.int32)
        place = self._place(keys)
        while pending.size:
            free = self._slots[place] < 0
            self._slots[place[free]] = pending[free]
            lost = self._slots[place] != pending
            pending, place = pending[lost], (place[lost] + 1) & self._mask

    def find(self, keys: Keys, documents: Text, rows: NDArray[np.int64] | None = None) -> NDArray[np.int32]:
        """For each query the index of its pair among the given ones, or -1.

        `rows` says where each query's document stands in `documents`, if not in the same place.
        """
        if not len(self._keys):
            return np.full(len(keys), -1, dtype=np.int32)
        place = self._place(keys)
        row = self._slots[place]
        # Most queries end at the first slot: it is empty, or holds their key.
        pending = np.flatnonzero((row >= 0) & (self._keys[row] != keys))
        place = place[pending]
        while pending.size:
            place = (place + 1) & self._mask
            candidate = self._slots[place]
            row[pending] = candidate
            on = (candidate >= 0) & (self._keys[candidate] != keys[pending])
            pending, place = pending[on], place[on]
        hits = np.flatnonzero(row >= 0)
        known = documents[hits if rows is None else rows[hits]]
        same = known == self._documents[row[hits]]
        for miss in np.flatnonzero(~same):  # one key for two documents: hardly ever, and settled by the strings
            twins = np.flatnonzero(self._keys == keys[hits[miss]])
            row[hits[miss]] = next((i for i in twins if self._documents[i] == known[miss]), -1)
        return row

    def _place(self, keys: Keys) -> NDArray[np.int64]:
        return (keys >> self._shift).astype(np.int64)


def first_rows(table: Table, documents: Keys, topic: NDArray[np.integer]) -> NDArray[np.int64]:
    """As `repeats` of a table's rows, from the keys of its documents and the numbers of its topics."""
    if table.distinct or kernel.has_repeats(documents, topic) is False:
        return np.empty(0, dtype=np.int64)
    return repeats(topic_keys(documents, topic), table.document)


def repeats(keys: Keys, documents: Text) -> NDArray[np.int64]:
    """For each row the first row of its (topic, document) pair, or an empty array where no pair occurs twice."""
    ordered = np.sort(keys)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    none = np.empty(0, dtype=np.int64)
    if not twice.size:
        return none
    first = np.arange(len(keys))
    seen: dict[tuple[int, bytes], int] = {}
    for row in np.flatnonzero(np.isin(keys, twice)):
        first[row] = seen.setdefault((int(keys[row]), documents[row]), int(row))
    return first if (first != np.arange(len(keys))).any() else none
