"""Topics as numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fathoms.data.lines import Table, Text


def topics_of(table: Table) -> tuple[list[str], NDArray[np.int32]]:
    """The distinct topics of a table in order of appearance, and for each row the number of its topic."""
    return number_topics(table.topic) if table.numbered is None else table.numbered


def number_topics(column: Text) -> tuple[list[str], NDArray[np.int32]]:
    """The same for a column of topics, or of other ids that are few."""
    new = np.ones(len(column), dtype=bool)  # a topic's lines nearly always stand together
    parts = column.view("<u8").reshape(len(column), -1)  # words compare faster than strings
    new[1:] = (parts[1:] != parts[:-1]).any(axis=1)
    names = [name.decode(errors="surrogateescape") for name in column[new].tolist()]
    numbers = {name: i for i, name in enumerate(dict.fromkeys(names))}
    of_block = np.array([numbers[name] for name in names], dtype=np.int32)
    return list(numbers), of_block[np.cumsum(new) - 1]


def topic_order(topics: list[str]) -> list[int]:
    """An order that does not depend on the file: by number where all topics are numbers, else by their bytes."""
    if all(topic.isascii() and topic.isdigit() for topic in topics):
        # As long numbers as you like: Python's int stops at some thousand digits.
        digits = [topic.lstrip("0") for topic in topics]
        return sorted(range(len(topics)), key=lambda i: (len(digits[i]), digits[i], topics[i]))
    return sorted(range(len(topics)), key=lambda i: topics[i].encode(errors="surrogateescape"))
