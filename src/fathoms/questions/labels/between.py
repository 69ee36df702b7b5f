"""Sources of labels side by side: two models, or one and its own repetition, another prompt, last month's version.

All documents that both label count, judged or not. A source that answers differently when asked again has drifted, or
was never sure; how far two askings agree is as far as either can agree with people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fathoms.data import keys
from fathoms.data.lines import Table
from fathoms.data.topics import topics_of
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.inference import grade_agreement as agreement
from fathoms.inference.grade_agreement import Estimate, counted, interval


@dataclass(frozen=True)
class Between:
    """Two sources on the documents that both label."""

    first: str
    second: str
    documents: int
    topics: int
    kappa: Estimate  # on what is relevant
    changed: Estimate  # share of the documents on which they differ, relevant or not
    shift: Estimate  # of the shares called relevant: the other's less the first's


@dataclass(frozen=True, eq=False)
class Labels:
    """All labels of a source, judged or not."""

    name: str
    topics: list[str]
    topic: Ints
    table: Table
    positive: Bools
    known: Bools


def labels_of(name: str, table: Table, number: Floats, relevant_from: float) -> Labels:
    topics, topic = topics_of(table)
    known = ~np.isnan(number)
    return Labels(name, topics, topic.astype(np.int64), table, np.where(known, number, -np.inf) >= relevant_from, known)


def between(sources: Sequence[Labels], seed: int) -> list[Between]:
    """Every pair of sources that label the same documents."""
    pairs = [_pair(first, second, seed) for first, second in combinations(sources, 2)]
    return [pair for pair in pairs if pair is not None]


def _pair(first: Labels, second: Labels, seed: int) -> Between | None:
    numbers = {name: number for number, name in enumerate(first.topics)}
    topic = np.array([numbers.get(name, -1) for name in second.topics], dtype=np.int32)[second.topic]
    rows = np.flatnonzero((topic >= 0) & second.known)
    mine = keys.Lookup(
        keys.topic_keys(keys.document_keys(first.table.document), first.topic.astype(np.int32)), first.table.document
    )
    at = mine.find(
        keys.topic_keys(keys.document_keys(second.table.document[rows]), topic[rows]), second.table.document, rows
    )
    both = (at >= 0) & first.known[at]
    if not both.any():
        return None
    x, y, of = first.positive[at[both]], second.positive[rows[both]], topic[rows[both]].astype(np.int64)
    labelled = counted(of, x.astype(np.float64), y.astype(np.float64))
    table = np.zeros((len(labelled.counts), 2, 2))
    places = labelled.grades.astype(int)[:, None], labelled.labels.astype(int)[None, :]
    table[:, places[0], places[1]] = labelled.counts
    draws = agreement.resampled(len(table), seed)

    def changed(tables: Floats) -> Floats:
        return np.asarray((tables[..., 0, 1] + tables[..., 1, 0]) / tables.sum(axis=(-2, -1)))

    def shift(tables: Floats) -> Floats:
        return np.asarray((tables[..., 0, 1] - tables[..., 1, 0]) / tables.sum(axis=(-2, -1)))

    figures = [
        interval(statistic, table, draws)
        for statistic in (lambda tables: agreement.kappa(tables, 1 - np.eye(2)), changed, shift)
    ]
    return Between(first.name, second.name, int(both.sum()), len(table), *figures)
