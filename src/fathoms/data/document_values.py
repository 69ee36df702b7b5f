"""A number for each of some documents, from anywhere: labels of a person or a language model, scores of a classifier.

Text has lines `topic document value`, with a header that names the columns or without; runs and qrels files are read
too (their score or grade is the value), and so is all that runs and qrels may come as.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from fathoms.data import keys
from fathoms.data.files import PARQUET, read_bytes
from fathoms.data.load import first_line, headed, load, parse
from fathoms.data.topics import number_topics
from fathoms.data.trec import QRELS, RUN, Layout, Table, pluralise

VALUES = Layout("file of values", ("topic", "document", "value"), number="value", rest_in_last=False, finite=True)


def read_values(source: Any, *, lenient: bool = False) -> Table:
    """Rows of topic, document and value, each document of a topic once."""
    if isinstance(source, str | os.PathLike):
        raw, layout = _layout(read_bytes(source))
        table = parse(raw, layout, os.fspath(source), lenient=lenient)
    else:
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


def _layout(raw: bytes) -> tuple[bytes, Layout]:
    """Which columns a text has, by its first line."""
    first = first_line(raw)
    if first is None or raw.startswith(PARQUET) or first[0].lstrip()[:1] in (b"{", b"["):  # parquet, JSON
        return raw, VALUES
    text, layout = headed(raw, VALUES)
    if layout is not VALUES:
        return text, layout
    count = len(first[0].split())
    if count == len(QRELS.columns):
        return raw, QRELS
    return raw, RUN if count >= len(RUN.columns) else VALUES
