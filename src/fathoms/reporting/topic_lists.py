"""The first documents of every run on every topic, for the report's view of two runs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from fathoms.data.qrels import JUDGED
from fathoms.data.texts import TextSources
from fathoms.evidence.candidates import Candidates
from fathoms.experiment.base import BaseExperiment
from fathoms.judging.texts import printable, terms
from fathoms.measures.base import Measure
from fathoms.reporting.judging_effects import judging_effects
from fathoms.reporting.snippets import snippet, words_of

DEPTHS = (20, 10, 5)  # documents of each ranking that are listed: the first of these that fits
MOST_PLACES = 400_000  # of all rankings together, which a page still opens quickly with
MOST_EFFECTS = 400_000  # numbers of what a judgment would change: more, and later measures do without
MOST_TEXT = 3_000_000  # characters of snippets
TITLE = 300  # characters of a topic's text


@dataclass(frozen=True, eq=False)
class TopicLists:
    """Rankings as far as they are listed, and what the script needs to lay two of them side by side."""

    table: Candidates
    codes: list[Any]  # one a run: [topic, rank], as Evidence has them
    tied: list[Any]
    levels: Any
    effects: list[list[list[list[float]]] | None]  # [measure][run][topic]: one an unjudged document, from the top

    @property
    def depth(self) -> int:
        return self.table.depth

    def documents(self) -> list[str]:
        return [document.decode(errors="surrogateescape") for document in self.table.documents.tolist()]

    def as_data(self, texts: TextSources) -> dict[str, Any]:
        """For the script: ranked lists as places among the documents of a topic."""
        table = self.table
        start = np.searchsorted(table.topic, np.arange(len(table.topics) + 1)).tolist()
        of_topics = [slice(*ends) for ends in pairwise(start)]
        documents = self.documents()
        grades = self._grades()
        data: dict[str, Any] = {
            "depth": self.depth,
            "documents": [list(map(printable, documents[of])) for of in of_topics],
            "grades": [grades[of] for of in of_topics],
            "places": [
                [(row[row >= 0] - first).tolist() for row, first in zip(of_run, start[:-1], strict=True)]
                for of_run in table.place
            ],
            "ties": [[np.flatnonzero(row).tolist() for row in of_run] for of_run in self.tied],
            "effects": self.effects,
        }
        wanted = [set[str]()] * len(table.topics)
        if texts.topics is not None:
            entries = [texts.topics.get(topic) for topic in table.topics]
            wanted = [terms(entry) for entry in entries]
            data["titles"] = [printable(words_of(entry))[:TITLE] for entry in entries]
        if texts.documents is not None:
            data["texts"], data["textless"] = self._snippets(texts, documents, wanted, of_topics)
        return data

    def _grades(self) -> list[float | None]:
        """The grade of each document listed, None for those that are unjudged."""
        code = np.full(len(self.table), JUDGED - 1, dtype=np.int64)
        for place, codes in zip(self.table.place, self.codes, strict=True):
            there = place >= 0
            code[place[there]] = codes[there]
        return [None if code_ < JUDGED else float(self.levels[code_ - JUDGED]) for code_ in code.tolist()]

    def _snippets(
        self, texts: TextSources, documents: list[str], wanted: Sequence[set[str]], of_topics: Sequence[slice]
    ) -> tuple[list[list[list[str]]], bool]:
        """The snippet of each document, those that some run has further up first as long as there is room; and whether
        there was room for all."""
        assert texts.documents is not None
        least = np.full(len(self.table), self.depth)
        for place in self.table.place:
            rank = np.broadcast_to(np.arange(place.shape[1]), place.shape)
            np.minimum.at(least, place[place >= 0], rank[place >= 0])
        shown: list[list[str]] = [[] for _ in documents]
        left = MOST_TEXT
        for number in np.argsort(least, kind="stable").tolist():
            pieces = snippet(texts.documents.get(documents[number]), wanted[self.table.topic[number]])
            left -= sum(map(len, pieces))
            if left < 0:
                break
            shown[number] = pieces
        return [shown[of] for of in of_topics], left < 0


def topic_lists(experiment: BaseExperiment, measures: Sequence[Measure]) -> TopicLists | None:
    """The first documents of all runs; None where even the first few of each are too many for a page."""
    names, topics = list(experiment.runs), experiment.qrels.topics
    depth = next((depth for depth in DEPTHS if depth * len(names) * len(topics) <= MOST_PLACES), None)
    if depth is None:
        return None
    table = experiment.documents(names, depth)
    alignment = experiment.alignment(list(measures), [], ranges=False)

    def of_run(name: str) -> tuple[Any, Any, list[list[list[float]] | None]]:
        evidence = experiment.align(name, alignment).evidence.padded(table.depth)
        first = evidence.cut(table.depth)
        effects: list[list[list[float]] | None] = []
        for measure in measures:
            measured = judging_effects(measure, evidence, table.depth)
            if measured is None:
                effects.append(None)
                continue
            ends = np.searchsorted(measured.topic, np.arange(1, len(topics)))
            effects.append([[round(x, 4) + 0.0 for x in part.tolist()] for part in np.split(measured.change, ends)])
        return first.codes, first.tied, effects

    codes, tied, effects = zip(*experiment.map(of_run), strict=True)
    by_measure = [list(of_runs) for of_runs in zip(*effects, strict=True)]
    return TopicLists(table, list(codes), list(tied), experiment.qrels.levels, _fitting(by_measure))


def _fitting(effects: list[list[Any]]) -> list[Any]:
    """The same, without those of later measures where they are too many."""
    kept: list[Any] = []
    left = MOST_EFFECTS
    for of_measure in effects:
        if None in of_measure:
            kept.append(None)
            continue
        left -= sum(len(of_topic) for of_run in of_measure for of_topic in of_run)
        kept.append(of_measure if left >= 0 or not kept else None)
    return kept
