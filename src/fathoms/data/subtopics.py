"""Which subtopics of its topic each judged document is relevant to, for measures of diversity.

A document has a pattern: its grades for the subtopics of its topic, which are numbered from 0. Patterns take the place
of grades in the codes of documents that these measures look at, so that whatever moves codes about (other orders of
ties, condensed runs) moves patterns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base.errors import InputError
from fathoms.data import keys
from fathoms.data.formats import registry
from fathoms.data.lines import QRELS, Table, Text
from fathoms.data.load import load
from fathoms.data.topics import topics_of

NAMES = ("subtopic", "subtopic_id", "iteration", "intent", "aspect")  # what a column of subtopics is called
MOST_PATTERNS = 32_000  # codes are 16-bit integers
SECOND_COLUMN = QRELS._replace(columns=("topic", "document", "", "grade"))  # where lines have the subtopic

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Subtopics:
    """The patterns of a collection's judgments, and its judged documents for ideal rankings."""

    grades: Floats  # [pattern, subtopic]: pattern 0 is no grade above 0 for any
    pattern: Ints  # one a judgment; 0 where the grade is negative
    counts: Ints  # [topic, pattern]: judged documents
    listed: Ints  # of each topic of the collection: subtopics with judgments
    topic: Ints  # one a judged document, in order; those of a topic by descending id
    level: Ints  # and its pattern
    _ideals: dict[Any, Floats] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, by_subtopic: Floats, listed: Ints, topic: NDArray[np.int32], documents: Text, judged: Bools
    ) -> Subtopics:
        """From grades [judgment, subtopic]."""
        grades, of_judged = patterns(by_subtopic[judged])
        if len(grades) > MOST_PATTERNS:
            raise InputError(
                f"{len(grades):,} different ways of being relevant to subtopics, expected at most {MOST_PATTERNS:,}",
                "qrels",
            )
        pattern = np.zeros(len(topic), dtype=np.int64)
        pattern[judged] = of_judged
        cells = topic[judged].astype(np.int64) * len(grades) + of_judged
        counts = np.bincount(cells, minlength=len(listed) * len(grades)).reshape(len(listed), len(grades))
        order = np.argsort(documents[judged], kind="stable")[::-1]
        order = order[np.argsort(topic[judged][order], kind="stable")]
        return cls(grades, pattern, counts, listed, topic[judged][order].astype(np.int64), of_judged[order])

    @cached_property
    def levels(self) -> Floats:
        """The best grade of each pattern, which rise with their numbers."""
        return np.asarray(self.grades.max(axis=1))

    def relevant(self, rel: float) -> Bools:
        """[level, subtopic]"""
        return np.asarray(self.grades >= rel)

    def ideal_gains(self, rel: float, alpha: float, depth: int) -> Floats:
        """[topic, rank]: what each place of the ideal ranking adds before its discount, each time the document that
        adds most; of equal ones that with the greatest id, as ndeval has it (to find the best ranking is NP-hard)."""
        key = rel, alpha, depth
        if key not in self._ideals:
            self._ideals[key] = self._greedy(self.relevant(rel), alpha, depth)
        return self._ideals[key]

    def _greedy(self, relevant: Bools, alpha: float, depth: int) -> Floats:
        useful = relevant[self.level].any(axis=1)
        topic, there = self.topic[useful], relevant[self.level[useful]]
        gains = np.zeros((len(self.listed), depth))
        if not len(topic):
            return gains
        starts = np.flatnonzero(np.append(True, topic[1:] != topic[:-1]))
        topics, sizes = topic[starts], np.diff(np.append(starts, len(topic)))
        group = np.repeat(np.arange(len(topics)), sizes)
        fresh = np.ones((len(topics), there.shape[1]))  # what another document on each subtopic adds
        left = np.ones(len(topic), dtype=bool)
        for rank in range(min(depth, int(sizes.max()))):
            worth = _in_turn(there, fresh[group])
            worth[~left] = -1.0
            best = np.maximum.reduceat(worth, starts)
            is_best = np.flatnonzero(worth == best[group])
            _, first = np.unique(group[is_best], return_index=True)
            chosen = is_best[first]
            chosen = chosen[left[chosen]]
            gains[topic[chosen], rank] = best[group[chosen]]
            fresh[group[chosen]] *= np.where(there[chosen], 1 - alpha, 1.0)
            left[chosen] = False
        return gains


def _in_turn(there: Bools, fresh: Floats) -> Floats:
    """Sums over subtopics, one after the other, so that equal documents have equal sums."""
    total = np.zeros(len(there))
    for number in range(there.shape[1]):
        total += np.where(there[:, number], fresh[:, number], 0.0)
    return total


def patterns(grades: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """The distinct rows of grades [document, subtopic], by their greatest grade and then by themselves, one without
    any first; and for each document the number of its row."""
    every = np.vstack([np.zeros((1, grades.shape[1])), np.maximum(grades, 0.0)])
    rows, number = np.unique(every, axis=0, return_inverse=True)
    order = np.argsort(rows.max(axis=1, initial=0.0), kind="stable")
    place = np.empty(len(rows), dtype=np.int64)
    place[order] = np.arange(len(rows))
    return rows[order], place[number.reshape(-1)[1:]]


# -- reading ------------------------------------------------------------------------------------------------------


def read_subtopics(source: Any, *, lenient: bool = False) -> tuple[Table, Text]:
    """Judgments by subtopic, a row each, and the subtopic of each row: lines `topic subtopic document grade`, a frame
    or rows with such a column, or a dict {topic: {subtopic: {document: grade}}}."""
    if registry.of_object(source, "qrels") is None:
        table, second = (load(source, layout, lenient=lenient) for layout in (QRELS, SECOND_COLUMN))
        if len(table.number) != len(second.number) or (table.number != second.number).any():
            raise InputError("expected lines `topic subtopic document grade`", table.source)
        return table, second.document
    rows = _rows(source)
    chosen = next((name for name in NAMES if rows and name in rows[0]), None)
    if chosen is None:
        raise InputError(
            f"has no column of subtopics (one of {', '.join(NAMES)}); give lines `topic subtopic document grade`, a "
            "frame, rows, or a dict {topic: {subtopic: {document: grade}}}",
            "qrels",
        )
    table = load([{name: value for name, value in row.items() if name not in NAMES} for row in rows], QRELS)
    return table, np.array([str(row[chosen]).encode() for row in rows])


def _rows(source: Any) -> list[dict[str, Any]]:
    if isinstance(source, Mapping):
        return [
            {"topic": topic, "subtopic": subtopic, "document": document, "grade": grade}
            for topic, of_topic in source.items()
            for subtopic, documents in of_topic.items()
            if isinstance(documents, Mapping)
            for document, grade in documents.items()
        ]
    if hasattr(source, "to_dicts"):
        return list(source.to_dicts())
    if hasattr(source, "to_dict"):
        return list(source.to_dict("records"))
    return [row._asdict() if hasattr(row, "_asdict") else dict(row) for row in source]


def by_document(table: Table, subtopics: Text) -> tuple[Table, Floats, dict[str, int]]:
    """One row a document, with its best grade; its grades by subtopic, 0 for those it is not judged for, [row,
    subtopic], subtopics numbered in each topic by their names; and how many each topic has."""
    names, topic = topics_of(table)
    _, subtopic = np.unique(subtopics, return_inverse=True)
    wide = int(subtopic.max(initial=0)) + 1
    cells, cell = np.unique(topic.astype(np.int64) * wide + subtopic.reshape(-1), return_inverse=True)
    of_cell = cells // wide
    number = np.arange(len(cells)) - np.searchsorted(of_cell, of_cell)
    column = number[cell.reshape(-1)]
    first = keys.first_rows(table, keys.document_keys(table.document), topic)
    first = first if first.size else np.arange(len(topic))
    kept = np.flatnonzero(first == np.arange(len(first)))
    row = np.searchsorted(kept, first)
    grades = np.full((len(kept), int(number.max(initial=0)) + 1), np.nan)
    order = np.argsort(row * grades.shape[1] + column, kind="stable")
    place = (row * grades.shape[1] + column)[order]
    again = np.flatnonzero((place[1:] == place[:-1]) & (table.number[order][1:] != table.number[order][:-1]))
    if again.size:
        raise table.error(int(order[again[0] + 1]), "another grade of this document for this subtopic than before")
    grades[row, column] = table.number
    best = np.where(np.isnan(grades), -np.inf, grades).max(axis=1)
    numbered = names, topic[kept]
    lines = None if table.lines is None else table.lines[kept]
    unique = replace(
        table, topic=table.topic[kept], document=table.document[kept], number=best, lines=lines, numbered=numbered
    )
    unique.distinct = True
    listed = dict(zip(names, np.bincount(of_cell, minlength=len(names)).tolist(), strict=True))
    return unique, np.nan_to_num(grades, nan=0.0), listed
