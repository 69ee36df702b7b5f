"""A number for each of some documents, from anywhere: labels of a person or a language model, scores of a classifier.

Text has lines `topic document value`, with a header that names the columns or without; runs and qrels files are read
too (their score or grade is the value), and so is all that runs and qrels may come as.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fathoms.base.text import pluralise
from fathoms.data import keys
from fathoms.data.file_names import stem
from fathoms.data.lines import VALUES, Table
from fathoms.data.load import load
from fathoms.data.runs import expand
from fathoms.data.topics import topics_of


def read_values(source: Any, *, lenient: bool = False, name: str = "labels") -> Table:
    """Rows of topic, document and value, each document of a topic once; `name` is used in messages about anything but a
    file."""
    table = load(source, VALUES, lenient=lenient, name=name)
    topics, topic = topics_of(table)
    first = keys.first_rows(table, keys.document_keys(table.document), topic)
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


def named_sources(labels: Any) -> dict[str, Any]:
    """Sources of labels by name: a file, folder, glob, frame or dict {topic: {document: value}}, several of these, or a
    dict of them by name."""
    if isinstance(labels, Mapping) and all(map(_is_source, labels.values())):
        return {str(name): source for name, source in labels.items()}
    sources: list[tuple[str | None, Any]] = []
    for source in labels if isinstance(labels, list | tuple) else [labels]:
        if isinstance(source, str | os.PathLike):
            sources += [("standard input" if path == "-" else path, path) for path in expand([os.fspath(source)])]
        else:
            sources.append((None, source))
    short = [None if path is None else stem(path) for path, _ in sources]
    unnamed = short.count(None)
    named: dict[str, Any] = {}
    for i, ((path, source), name) in enumerate(zip(sources, short, strict=True)):
        plain = "labels" if unnamed == 1 else f"labels {i + 1}"
        # The folder tells two files of one name apart.
        named[plain if name is None else name if short.count(name) == 1 else str(path)] = source
    return named


def _is_source(value: Any) -> bool:
    """Whether a value in a dict is a source of labels, and not the values of one topic."""
    if isinstance(value, Mapping):
        return any(isinstance(inner, Mapping) for inner in value.values())
    return isinstance(value, str | os.PathLike) or hasattr(type(value), "columns")
