"""Small collections, and every way of judging them: what ranges of differences and verdicts are held against.

A topic is {document: grade or None}, and two or three rankings of (document, tie group). Values come from `slow`, one
completion and one order of ties at a time.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.support import slow


@dataclass(frozen=True)
class Topic:
    """Grades of all documents (None: unjudged) and each run's ranking as (document, tie group)."""

    grades: dict[str, int | None]
    rankings: dict[str, list[tuple[str, int]]]


def random_topic(
    rng: np.random.Generator, runs: Sequence[str], gmax: int, unjudged: int, ties: float, most: int = 7
) -> Topic:
    """Rankings of a few documents, some of them copies of each other or with two documents swapped."""
    documents = [f"d{i}" for i in range(int(rng.integers(3, most + 4)))]
    rankings: dict[str, list[tuple[str, int]]] = {}
    for run in runs:
        order = list(rng.permutation(documents)[: int(rng.integers(1, most + 1))])
        if rankings and rng.random() < 0.4:
            order = [document for document, _ in next(iter(rankings.values()))]
            if len(order) > 1 and rng.random() < 0.7:
                i, j = rng.choice(len(order), 2, replace=False)
                order[i], order[j] = order[j], order[i]
        group = np.cumsum(rng.random(len(order)) >= ties, dtype=np.int64)
        if len(_tied([list(zip(order, group, strict=True)), *rankings.values()])) > 4:
            group = np.arange(len(order))  # so that orders of ties stay few enough to go through
        rankings[run] = [(str(document), int(number)) for document, number in zip(order, group, strict=True)]
    listed = sorted({document for ranking in rankings.values() for document, _ in ranking})
    open_ = set(rng.permutation(listed)[: int(rng.integers(0, unjudged + 1))])
    grades: dict[str, int | None] = {
        document: None if document in open_ else int(rng.integers(0, gmax + 1)) for document in documents
    }
    grades["elsewhere"] = gmax  # so that the greatest grade is known, and R is never 0
    return Topic(grades, rankings)


def collection(topics: Sequence[Topic]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Judgments and runs as dicts; tied documents have one score, and ids put the ranking's order first."""
    qrels: dict[str, Any] = {}
    runs: dict[str, Any] = {run: {} for run in topics[0].rankings}
    for number, topic in enumerate(topics):
        qrels[str(number)] = {name: grade for name, grade in topic.grades.items() if grade is not None}
        for run, ranking in topic.rankings.items():
            runs[run][str(number)] = {document: -float(group) for document, group in ranking}
    return qrels, runs


def completions(topic: Topic, run_a: str, run_b: str, gmax: int) -> Iterator[dict[str, int]]:
    """Every way of judging the documents of two runs; what neither has stays unjudged, and is of no use."""
    listed = {document for run in (run_a, run_b) for document, _ in topic.rankings[run]}
    open_ = [document for document, grade in topic.grades.items() if grade is None and document in listed]
    known = {document: grade for document, grade in topic.grades.items() if grade is not None}
    for grades in itertools.product(range(gmax + 1), repeat=len(open_)):
        yield known | dict(zip(open_, grades, strict=True))


def orders(topic: Topic, *runs: str) -> Iterator[dict[str, int]]:
    """Every total order of the documents that any of the runs has tied: one order for all of them."""
    for order in itertools.permutations(sorted(_tied([topic.rankings[run] for run in runs]))):
        yield {document: place for place, document in enumerate(order)}


def _tied(rankings: Sequence[Sequence[tuple[Any, Any]]]) -> set[str]:
    tied: set[str] = set()
    for ranking in rankings:
        for _, group in itertools.groupby(ranking, key=lambda pair: pair[1]):
            members = [str(document) for document, _ in group]
            tied |= set(members) if len(members) > 1 else set()
    return tied


def arranged(ranking: list[tuple[str, int]], order: dict[str, int]) -> list[str]:
    return [document for document, group in sorted(ranking, key=lambda pair: (pair[1], order.get(pair[0], 0)))]


def trec_order(ranking: list[tuple[str, int]]) -> list[str]:
    """Equal scores by document id, descending, as trec_eval has them."""
    by_id = sorted(ranking, key=lambda pair: pair[0], reverse=True)
    return [document for document, _ in sorted(by_id, key=lambda pair: pair[1])]


def difference(measure: str, a: list[str], b: list[str], grades: dict[str, int], gmax: int) -> float:
    values = []
    for ranking in (a, b):
        docs = [slow.Doc(float(grades[name])) for name in ranking]
        known = [slow.Doc(float(grade)) for grade in grades.values()]
        case = slow.Case(tuple(docs), (), gmax)
        values.append(slow.evaluate(slow.parse(measure), case, docs, known))
    if measure == "GMAP":
        values = [math.log(value) for value in values]
    return values[0] - values[1]


def extremes(measure: str, topic: Topic, run_a: str, run_b: str, gmax: int, over_ties: bool) -> tuple[float, float]:
    """Least and greatest A - B of one topic over all completions, and over all orders of ties or in trec_eval's."""
    rankings = [topic.rankings[run] for run in (run_a, run_b)]
    if over_ties:
        pairs = [[arranged(ranking, order) for ranking in rankings] for order in orders(topic, run_a, run_b)]
    else:
        pairs = [[trec_order(ranking) for ranking in rankings]]
    found = [
        difference(measure, a, b, grades, gmax) for grades in completions(topic, run_a, run_b, gmax) for a, b in pairs
    ]
    return min(found), max(found)
