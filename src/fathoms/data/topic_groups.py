"""Groups of topics: head and tail queries, languages, intents. A topic may be in several, of one column or of more."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base import choices
from fathoms.base.errors import FathomsError, InputError
from fathoms.base.files import read_bytes
from fathoms.base.text import pluralise
from fathoms.data.column_names import NAMES
from fathoms.data.formats.json import reason

TOPIC_NAMES = (*NAMES["topic"], "id", "_id", "number", "num")
# Columns of a topics file that say what a topic asks, and no group.
TEXTS = ("title", "text", "query", "question", "desc", "description", "narr", "narrative", "body", "metadata")
UNNAMED = "group"
MOST = 1000  # groups; a file with more probably holds something else
Row = tuple[str, dict[str, str]]  # a topic, and its group in each column


@dataclass(frozen=True)
class TopicGroups:
    """Topics by group; a group is called `column=value`."""

    topics: dict[str, frozenset[str]]
    source: str

    def masks(self, topics: Sequence[str]) -> dict[str, NDArray[np.bool_]]:
        """Which of these topics are in each group, for the groups that have any of them."""
        masks = {name: np.array([topic in of for topic in topics], dtype=bool) for name, of in self.topics.items()}
        return {name: mask for name, mask in masks.items() if mask.any()}

    def notes(self, topics: Sequence[str]) -> list[str]:
        """What does not fit together in the groups and the topics. It is an error if nothing does."""
        grouped = frozenset[str]().union(*self.topics.values())
        outside = [topic for topic in topics if topic not in grouped]
        if len(outside) == len(topics):
            raise InputError(
                f"groups none of the judged topics; it has {', '.join(sorted(grouped)[:3])}, the judgments have "
                f"{', '.join(topics[:3])}",
                self.source,
            )
        notes = []
        if outside:
            more = ", ..." if len(outside) > 3 else ""
            notes.append(
                f"{self.source}: {pluralise(len(outside), 'judged topic')} of {len(topics):,} in no group: "
                f"{', '.join(outside[:3])}{more}"
            )
        return notes


def read_topic_groups(source: Any, columns: Sequence[str] | str | None = None) -> TopicGroups:
    """Groups from a file or a dict {topic: group}, {topic: [group, ...]} or {topic: {column: group}}.

    A file has a line per topic: JSON, or fields between tabs, semicolons, commas (quoted as in CSV) or blanks. A first
    line whose first field is `topic`, `query`, `qid` or the like names the columns. `columns` chooses among them; by
    default all count that hold no text (`title`, `description` and such) and more than one topic in some group.
    """
    groups = _groups(source, columns)
    if len(groups.topics) > MOST:
        counts = f"expected at most {MOST:,} groups of topics, found {len(groups.topics):,}"
        raise InputError(f"{counts}, such as {next(iter(groups.topics))}; --group-by chooses a column", groups.source)
    return groups


def _groups(source: Any, columns: Sequence[str] | str | None = None) -> TopicGroups:
    wanted = [columns] if isinstance(columns, str) else None if columns is None else list(columns)
    if isinstance(source, TopicGroups):
        return source
    if isinstance(source, Mapping):
        name, rows = "topic_groups", [row for topic, value in source.items() for row in _of_value(str(topic), value)]
    elif choices.is_path(source):
        name = os.fspath(source)
        rows = list(_of_file(read_bytes(name).decode("utf-8-sig", errors="surrogateescape"), name))
    else:
        raise FathomsError(f"topic_groups: expected a file or a dict of groups by topic, found {source!r}")
    by_column: dict[str, dict[str, dict[str, None]]] = {}  # column, group, topics
    for topic, of in rows:
        for column, value in of.items():
            if value:
                by_column.setdefault(column, {}).setdefault(value, {})[topic] = None
    chosen = _chosen(by_column, wanted, name)
    groups = {f"{column}={value}": frozenset(of) for column in chosen for value, of in by_column[column].items()}
    return TopicGroups(groups, name)


def read_clusters(source: Any, groups: Any = None) -> dict[str, str]:
    """The cluster of each topic: from a dict, a file as for `read_topic_groups`, or a column of the topic `groups`."""
    if isinstance(source, str) and groups is not None and not os.path.exists(source):
        of_groups = _groups(groups, source)
        name = of_groups.source
    else:
        of_groups = _groups(source)
        name = of_groups.source
    clusters: dict[str, str] = {}
    for cluster, topics in of_groups.topics.items():
        for topic in topics:
            if clusters.setdefault(topic, cluster) != cluster:
                both = f"{clusters[topic]} and {cluster}"
                raise InputError(f"has topic {topic} in two clusters, {both}; expected one for each topic", name)
    return clusters


def read_topic_words(source: Any) -> dict[str, str]:
    """What each topic asks: from a dict {topic: text}, or the first column of text of a file as for
    `read_topic_groups`, or its only column."""
    if isinstance(source, Mapping):
        return {str(topic): _text(text) for topic, text in source.items()}
    name = os.fspath(source)
    words = {}
    for topic, of in _of_file(read_bytes(name).decode("utf-8-sig", errors="surrogateescape"), name):
        column = next((column for column in of if column.lower() in TEXTS), next(iter(of), None))
        if column is not None:
            words[topic] = of[column]
    return words


def _chosen(by_column: Mapping[str, Mapping[str, Any]], wanted: Sequence[str] | None, source: str) -> list[str]:
    if wanted is not None:
        absent = [column for column in wanted if column not in by_column]
        if absent:
            raise InputError(f"has no column {absent[0]!r}; it has {', '.join(by_column) or 'none'}", source)
        return list(wanted)
    columns = [column for column in by_column if column.lower() not in TEXTS]
    shared = [column for column in columns if any(len(topics) > 1 for topics in by_column[column].values())]
    if not columns:
        raise InputError("has no column of groups; expected a topic and its group on each line", source)
    return shared or columns


def _of_value(topic: str, value: Any) -> Iterator[Row]:
    if isinstance(value, Mapping):
        yield topic, {str(column): _text(group) for column, group in value.items()}
    else:
        for group in value if isinstance(value, list | tuple | set | frozenset) else [value]:
            yield topic, {UNNAMED: _text(group)}


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _of_file(text: str, source: str) -> Iterator[Row]:
    if text.lstrip()[:1] in ("{", "["):
        yield from _of_json(text, source)
        return
    import csv
    import io

    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), text)
    separator = next((character for character in "\t;," if character in first), None)
    lines: Iterator[tuple[int, list[str]]]
    if separator is None:
        numbered = enumerate(text.splitlines(), 1)
        lines = ((number, [] if line.startswith("#") else line.split()) for number, line in numbered)
    else:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        lines = ((reader.line_num, fields) for fields in reader)
    names: list[str] | None = None
    any_row = False
    for number, raw in lines:
        fields = [raw[0], *(field.strip() for field in raw[1:])] if raw else []
        if not any(fields) or (fields[0].startswith("#") and len(fields) == 1):
            continue
        if names is None:
            is_head = fields[0].lower() in TOPIC_NAMES
            several = [UNNAMED] if len(fields) == 2 else [f"{UNNAMED}{i}" for i in range(1, len(fields))]
            names = fields[1:] if is_head else several
            if is_head:
                continue
        if not fields[0] or len(fields) != len(names) + 1:
            wanted = " ".join(["topic", *names]) if len(names) > 1 else "a topic and its group"
            raise InputError(f"expected {wanted}, found {' '.join(fields)!r}", source, number)
        any_row = True
        yield fields[0], dict(zip(names, fields[1:], strict=True))
    if names is None:
        raise InputError("is empty; expected a topic and its group on each line", source)
    if not any_row:
        raise InputError("names columns, but has no topic", source)


def _of_json(text: str, source: str) -> Iterator[Row]:
    """One object {topic: group}, a list of records, or a record per line."""
    import json

    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = []
        for number, line in enumerate(text.splitlines(), 1):
            try:
                whole += [json.loads(line)] if line.strip() else []
            except (ValueError, RecursionError) as error:
                raise InputError(f"is not valid JSON: {reason(error)}", source, number) from None
    records = [whole] if isinstance(whole, dict) and _topic_name(whole) is not None else whole
    if isinstance(records, dict):
        for topic, value in records.items():
            yield from _of_value(topic, value)
        return
    for record in records:
        name = _topic_name(record) if isinstance(record, dict) else None
        if name is None:
            raise InputError(f"expected records with a topic ({', '.join(TOPIC_NAMES[:4])}), found {record!r}", source)
        plain = {column: value for column, value in record.items() if not isinstance(value, dict | list)}
        yield _text(record[name]), {column: _text(value) for column, value in plain.items() if column != name}


def _topic_name(record: Mapping[str, Any]) -> str | None:
    """The column that holds the topic's id; an id goes before the query's words."""
    ids = [name for name in TOPIC_NAMES if name != "query"]
    return next((name for name in (*ids, "query") if name in record and not isinstance(record[name], dict)), None)
