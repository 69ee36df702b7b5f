"""A number for each of some documents, from anywhere: labels of a person or a language model, scores of a classifier.

Text has lines `topic document value`, with a header that names the columns or without; runs and qrels files are read
too (their score or grade is the value), and so is all that runs and qrels may come as.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fathoms.data import keys
from fathoms.data.lines import VALUES, Table
from fathoms.data.load import load
from fathoms.data.topics import number_topics
from fathoms.text import pluralise


def read_values(source: Any, *, lenient: bool = False) -> Table:
    """Rows of topic, document and value, each document of a topic once."""
    table = load(source, VALUES, lenient=lenient, name="evidence")
    topics, topic = number_topics(table.topic)
    first = keys.repeats(keys.topic_keys(keys.document_keys(table.document), topic), table.document)
    if not first.size:
        return table
    kept = first == np.arange(len(first))
    row = int((~kept).argmax())
    message = (
        f"topic {topics[topic[row]]}, document {table.document[row].decode(errors='replace')} has a value already, "
        f"in {table.place(int(first[row]))}"
    )
    if not lenient:
        raise table.error(row, f"{message}; decide on one (--lenient keeps the first)")
    twice = pluralise(int((~kept).sum()), "repeated document")
    skipped = f"{table.source}: skipped {twice} ({table.place(row)}: {message})"
    lines = np.array([table.line(i) for i in np.flatnonzero(kept).tolist()])
    return replace(
        table,
        topic=table.topic[kept],
        document=table.document[kept],
        number=table.number[kept],
        lines=lines,
        rank=None,
        skipped=[*table.skipped, skipped],
    )
