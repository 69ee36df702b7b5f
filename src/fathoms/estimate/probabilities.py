"""Each document's probability of relevance, from the judgments, the ranks of all given runs and any further evidence.

The models of `relevance` learn from all judged documents that some run retrieved. What they learnt is then applied to
all documents of the runs a few topics at a time, so that memory holds the judged documents and no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import distinct, row_sums
from fathoms.base.errors import FathomsError, InputError
from fathoms.base.result import Result
from fathoms.base.text import pluralise
from fathoms.data.document_values import read_values
from fathoms.data.lines import Table
from fathoms.data.qrels import JUDGED, Qrels
from fathoms.data.topics import topics_of
from fathoms.estimate.relevance import RELEVANCE_MODELS, Model, Scale
from fathoms.evidence.candidates import Block, Candidates
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.experiment.base import BaseExperiment

COLUMNS = ("topic", "document", "probability", "judged")
WORDS = COLUMNS[:2]
CELLS = 8_000_000  # systems times documents worked on at a time


@dataclass(frozen=True, eq=False)
class RelevanceProbabilities(Result):
    """The documents of all given runs on the judged topics, and how likely each is relevant, of a grade above 0."""

    columns: ClassVar = COLUMNS
    words: ClassVar = WORDS

    qrels: Qrels
    candidates: Candidates
    codes: NDArray[np.int16]  # one a candidate: what the judgments say of it, as in Evidence
    probability: Floats  # one a candidate: 0 or 1 where judged
    notes: list[str]
    # [sample, candidate]: the same from coefficients drawn as the model is unsure of them; empty where it is not asked
    samples: NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))

    @property
    def judged(self) -> Bools:
        return self.codes >= JUDGED

    @property
    def answer(self) -> list[str]:
        """How many of the unjudged documents are expected to be relevant."""
        unjudged = ~self.judged
        expected = float(self.probability[unjudged].sum())
        return [
            f"Of {pluralise(int(unjudged.sum()), 'unjudged document')} of these runs, about {expected:,.0f} "
            "are expected to be relevant."
        ]

    @cached_property
    def place(self) -> dict[str, NDArray[np.int32]]:
        """By run: [topic, rank], the candidate there, -1 past the end of the ranking."""
        return dict(zip(self.candidates.names, self.candidates.place, strict=True))

    @cached_property
    def grades(self) -> tuple[Floats, Floats]:
        """The positive grades, and the share of the judged relevant documents of all topics that has each.

        Where nothing is judged relevant yet: the greatest grade alone.
        """
        levels, total = self.qrels.levels[1:], self.qrels.counts.sum(axis=0)[1:]
        return (levels, total / total.sum()) if len(levels) else (np.array([self.qrels.max_grade]), np.ones(1))

    @cached_property
    def levels(self) -> Floats:
        """The grades in use, and those that a relevant document may get."""
        return distinct(np.append(self.qrels.levels, self.grades[0]))

    @cached_property
    def counts(self) -> Ints:
        """Judged documents by topic and level."""
        counts = np.zeros((len(self.qrels.topics), len(self.levels)), dtype=np.int64)
        counts[:, np.searchsorted(self.levels, self.qrels.levels)] = self.qrels.counts
        return counts

    @cached_property
    def unjudged_chance(self) -> Floats:
        """Probabilities of the unjudged candidates; 0 for the judged ones, and at the end, where -1 points."""
        return np.append(np.where(self.judged, 0.0, self.probability), 0.0)

    @cached_property
    def expected_more(self) -> Floats:
        """Relevant documents to expect among the unjudged candidates of each topic."""
        return row_sums(self.candidates.topic, self.unjudged_chance[:-1], len(self.candidates.topics))

    def rows(self) -> list[tuple[Any, ...]]:
        topics = [self.candidates.topics[i] for i in self.candidates.topic.tolist()]
        documents = [document.decode(errors="surrogateescape") for document in self.candidates.documents.tolist()]
        judged = self.judged.astype(int).tolist()
        return list(zip(topics, documents, self.probability.tolist(), judged, strict=True))


def relevance_probabilities(
    experiment: BaseExperiment,
    method: str,
    labels: Sequence[Any] = (),
    to_depth: int | None = None,
    *,
    samples: int = 0,
    seed: int = 0,
) -> RelevanceProbabilities:
    """Probabilities of relevance for all documents of the runs on the topics of the judgments.

    `labels` are files, frames or dicts of numbers for documents. With `to_depth`, judging will stop there: unjudged
    documents that no run has in its top `to_depth` count as not relevant, as they will in scores.
    """
    if method not in RELEVANCE_MODELS:
        raise FathomsError(f"{method} gives no probabilities of relevance; {' and '.join(RELEVANCE_MODELS)} do")
    experiment.needs_an_order("a model of relevance")
    tables = [read_values(source, lenient=experiment.lenient) for source in labels]
    experiment.prepare()
    qrels, candidates = experiment.qrels, experiment.documents()
    codes, judged, relevant = candidates.codes, candidates.judged, candidates.relevant
    notes: list[str] = []
    if not judged.any():
        experiment.surveys()  # which says so if it is for want of a common topic
        raise FathomsError(f"no document of the runs is judged in {qrels.source}, so there is nothing to learn from")
    values = label_values(tables, candidates, judged, notes)

    def labels_of(block: Block, first: int = 0) -> Floats | None:
        return None if values is None else np.where(block.present[:, :, None], values[block.number + first], np.nan)

    known = _only(candidates, judged).block()
    model: Model = RELEVANCE_MODELS[method](known, labels_of(known))
    learnt = model.fit(known.values(judged), known.values(relevant))
    probability = np.empty(len(candidates))
    drawn = np.empty((samples if learnt.weight else 0, len(candidates)), dtype=np.float32)
    for topics, first, part in _by_topics(candidates):
        block = part.block()
        numbers = block.number[block.present] + first
        probability[numbers] = learnt.of(block, topics, labels_of(block, first))[block.present]
        if len(drawn):
            p = learnt.of(block, topics, labels_of(block, first), len(drawn), seed)
            drawn[:, numbers] = p[:, block.present]
    reached = np.ones(len(candidates) + 1, dtype=bool)
    if to_depth is not None:
        reached[:] = False
        reached[candidates.place[:, :, :to_depth]] = True
    probability = np.where(judged, relevant, probability * reached[:-1])
    drawn = np.where(judged, relevant, drawn * reached[:-1]).astype(np.float32)
    return RelevanceProbabilities(qrels, candidates, codes, probability, notes, drawn)


def _only(candidates: Candidates, keep: Bools) -> Candidates:
    """The same rankings with holes: places of all but some candidates are empty."""
    return replace(candidates, place=np.where(np.append(keep, False)[candidates.place], candidates.place, -1))


def _by_topics(candidates: Candidates) -> list[tuple[Ints, int, Candidates]]:
    """A few topics at a time: their numbers, the number of their first candidate, and theirs alone."""
    bounds = np.searchsorted(candidates.topic, np.arange(len(candidates.topics) + 1))
    widest = max(1, int(np.diff(bounds).max(initial=1)))
    step = max(1, CELLS // (widest * len(candidates.names)))
    parts = []
    for start in range(0, len(candidates.topics), step):
        stop = min(start + step, len(candidates.topics))
        parts.append((np.arange(start, stop), *candidates.of_topics(start, stop)))
    return parts


def label_values(
    tables: Sequence[Table], candidates: Candidates, judged: Bools | None, notes: list[str]
) -> Floats | None:
    """[candidate, table]: the values of several tables, nan where they have none; None without tables."""
    if not tables:
        return None
    return np.stack([_label_column(table, candidates, judged, notes) for table in tables], axis=1)


def label_columns(
    tables: Sequence[Table], candidates: Candidates, judged: Bools | None, notes: list[str]
) -> Floats | None:
    """The same with mean 0 and deviation 1 over the candidates that have a value, and 0 where there is none."""
    return scaled(label_values(tables, candidates, judged, notes))


def scaled(values: Floats | None) -> Floats | None:
    """Columns with mean 0 and deviation 1 over the candidates that have a value, and 0 where there is none."""
    if values is None:
        return None
    present = np.ones((1, len(values)), dtype=bool)
    return Scale(values[None], present)(values[None], present)[0]


def _label_column(table: Table, candidates: Candidates, judged: Bools | None, notes: list[str]) -> Floats:
    """The values of a table by candidate, nan where it has none. Where nothing is judged yet that is not said."""
    topics, topic = topics_of(table)
    numbers = {name: number for number, name in enumerate(candidates.topics)}
    of_topic = np.array([numbers.get(name, -1) for name in topics], dtype=np.int32)[topic]
    rows = np.flatnonzero(of_topic >= 0)
    candidate = candidates.find_all(of_topic[rows], table.document[rows])
    rows, candidate = rows[candidate >= 0], candidate[candidate >= 0]
    if not len(rows):
        raise InputError(
            f"none of its {pluralise(len(table.number), 'document')} was retrieved: it has, for example, topic "
            f"{topics[0]} with document {table.document[0].decode(errors='replace')}, the runs have topic "
            f"{candidates.topics[candidates.topic[0]]} with document "
            f"{candidates.documents[0].decode(errors='replace')}",
            table.source,
        )
    label = np.full(len(candidates), np.nan)
    label[candidate] = table.number[rows]
    learnt_from = 0 if judged is None else int(judged[candidate].sum())
    notes += table.skipped
    if len(rows) < len(candidates):
        of_them = "" if judged is None else f", {learnt_from:,} of them judged"
        notes.append(
            f"{table.source}: values for {len(rows):,} of the {len(candidates):,} documents of the runs{of_them}"
        )
    if judged is not None and not learnt_from:
        notes.append(f"{table.source}: none of its documents is judged, so there is nothing to learn from its values")
    return label
