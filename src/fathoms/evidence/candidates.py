"""The documents that some runs retrieved, each once, with its rank in each run: one table that all analyses ask.

An experiment builds the table of its runs once (`BaseExperiment.documents`); the documents of some runs to some depth
are a part of it. Candidates are the same without judgments: what judging chooses from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base import kernel
from fathoms.base.arrays import stretches
from fathoms.base.errors import FathomsError
from fathoms.data import keys, widths
from fathoms.data.lines import Text
from fathoms.data.qrels import JUDGED, NEGATIVE, UNJUDGED, Qrels
from fathoms.data.runs import Run
from fathoms.data.topics import topic_order
from fathoms.evidence.align import Ranked, Ranking, rank
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.evidence.order import Precision, Ties, order_rows
from fathoms.evidence.universe import UnjudgedKeys

NOWHERE = 1 << 30  # the rank of a document in runs that do not have it
ROWS = 1 << 17  # documents of runs that are numbered at a time


@dataclass(frozen=True, eq=False)
class Candidates:
    """The documents of all given runs to a depth, numbered by topic."""

    names: list[str]  # systems
    topics: list[str]
    topic: NDArray[np.int32]  # one a candidate
    documents: Text  # one a candidate
    place: NDArray[np.int32]  # [system, topic, rank]: number of the candidate, -1 past the end of the ranking

    def __len__(self) -> int:
        return len(self.topic)

    @property
    def depth(self) -> int:
        return self.place.shape[2]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {topic: number for number, topic in enumerate(self.topics)}

    @cached_property
    def lookup(self) -> keys.Lookup:
        return keys.Lookup(keys.topic_keys(keys.document_keys(self.documents), self.topic), self.documents)

    def find(self, topic: str, document: str) -> int | None:
        """The number of one candidate, None if no system retrieved that document for that topic."""
        number = self._numbers.get(topic)
        try:
            raw = document.encode(errors="surrogateescape")
        except UnicodeEncodeError:  # half a character, which JSON can spell and no file can hold
            return None
        if number is None or not raw or b"\0" in raw:
            return None
        candidate = int(self.find_all(np.array([number], dtype=np.int32), np.array([raw]))[0])
        return None if candidate < 0 else candidate

    def find_all(self, topic: NDArray[np.int32], documents: Text) -> NDArray[np.int32]:
        """Numbers of candidates, -1 where there is none; topics are numbers in `topics`."""
        return self.lookup.find(keys.topic_keys(keys.document_keys(documents), topic), documents)

    def judgments(self, qrels: Qrels) -> tuple[Ints, NDArray[np.int32], NDArray[np.int32]]:
        """Rows of the qrels that are judgments on these topics, each one's topic here, and its candidate or -1."""
        of_topic = np.array([self._numbers.get(topic, -1) for topic in qrels.topics], dtype=np.int32)[qrels.topic]
        rows = np.flatnonzero((qrels.grades >= 0) & (of_topic >= 0))
        return rows, of_topic[rows], self.find_all(of_topic[rows], qrels.documents[rows])

    def relevant_elsewhere(self, qrels: Qrels, rel: float = 1.0) -> Floats:
        """Relevant documents of each topic that are no candidates."""
        rows, topic, candidate = self.judgments(qrels)
        missed = (candidate < 0) & (qrels.grades[rows] >= rel)
        return np.bincount(topic[missed], minlength=len(self.topics)).astype(np.float64)

    def judged_elsewhere(self, qrels: Qrels, grades: Floats) -> Floats:
        """Judged documents of each topic that are no candidates, [topic, grade], each at the greatest of these grades
        that it reaches."""
        rows, topic, candidate = self.judgments(qrels)
        missed = candidate < 0
        level = np.maximum(np.searchsorted(grades, qrels.grades[rows[missed]], side="right") - 1, 0)
        cells = topic[missed].astype(np.int64) * len(grades) + level
        return np.bincount(cells, minlength=len(self.topics) * len(grades)).reshape(-1, len(grades)).astype(np.float64)

    def judged_by(self, qrels: Qrels, rel: float = 1.0) -> tuple[Bools, Bools]:
        """Which candidates have judgments, and which are judged relevant."""
        rows, _, candidate = self.judgments(qrels)
        judged, relevant = np.zeros(len(self), dtype=bool), np.zeros(len(self), dtype=bool)
        judged[candidate[candidate >= 0]] = True
        relevant[candidate[(candidate >= 0) & (qrels.grades[rows] >= rel)]] = True
        return judged, relevant

    def of_topics(self, start: int, stop: int) -> tuple[int, Candidates]:
        """The candidates of the topics from start to stop, and the number here of the first of them."""
        first, last = np.searchsorted(self.topic, [start, stop]).tolist()
        place = self.place[:, start:stop]
        some = Candidates(
            self.names,
            self.topics[start:stop],
            self.topic[first:last] - np.int32(start),
            self.documents[first:last],
            np.where(place >= 0, place - np.int32(first), np.int32(-1)),
        )
        return first, some

    def least_ranks(self, systems: Bools | None = None) -> tuple[Ints, Ints]:
        """For each candidate its least rank in these systems, all by default, and the first system that has it there;
        NOWHERE where none of them has it."""
        least = np.full(len(self) + 1, NOWHERE, dtype=np.int64)
        owner = np.zeros(len(self) + 1, dtype=np.int64)
        ranks = np.arange(1, self.depth + 1)
        for system, place in enumerate(self.place):
            if systems is not None and not systems[system]:
                continue
            better = ranks[None, :] < least[place]
            rank = np.broadcast_to(ranks, place.shape)[better]
            least[place[better]], owner[place[better]] = rank, system
        return least[:-1], owner[:-1]

    @cached_property
    def held_by(self) -> Ints:
        """How many systems have each candidate."""
        return np.bincount(self.place.ravel()[self.place.ravel() >= 0], minlength=len(self))

    def block(self, systems: Sequence[int] | None = None) -> Block:
        """The candidates of some systems (all by default) as a block."""
        return Block(self, list(range(len(self.names))) if systems is None else list(systems))


@dataclass(frozen=True, eq=False)
class DocumentTable(Candidates):
    """The documents of all given runs, with their judgments."""

    pair_keys: keys.Keys  # one a document, of topic and document together
    judgment: NDArray[np.int32]  # rows of the qrels, -1 for none
    codes: NDArray[np.int16]  # as Evidence has them
    tied: Bools  # [system, topic, rank]: has the score of the document above
    _counts: dict[Any, NDArray[Any]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def lookup(self) -> keys.Lookup:
        return keys.Lookup(self.pair_keys, self.documents)

    @property
    def judged(self) -> Bools:
        return self.codes >= JUDGED

    @property
    def relevant(self) -> Bools:
        """Judged, with a grade above 0."""
        return self.codes > JUDGED

    def of_runs(self, names: Sequence[str], depth: int | None = None) -> DocumentTable:
        """The documents that some of the runs have, or have in their first `depth` places."""
        if list(names) == self.names and (depth is None or depth >= self.depth):
            return self
        systems = [self.names.index(name) for name in names]
        if sorted(systems) == list(range(len(self.names))) and (depth is None or depth >= self.depth):
            return replace(self, names=list(names), place=self.place[systems], tied=self.tied[systems])
        longest = int(self.lengths[systems].max(initial=1))
        width = longest if depth is None else min(depth, longest)
        place = self.place[systems, :, :width]
        kept = np.flatnonzero(self.in_first(systems, width))
        number = np.full(len(self) + 1, -1, dtype=np.int32)
        number[kept] = np.arange(len(kept), dtype=np.int32)
        return DocumentTable(
            list(names),
            self.topics,
            self.topic[kept],
            self.documents[kept],
            number[place],
            self.pair_keys[kept],
            self.judgment[kept],
            self.codes[kept],
            self.tied[systems, :, :width],
        )

    def ranking(self, name: str, topics: list[str]) -> ListedRanking:
        """A run without what only its file says; `topics` are those without judgments at least."""
        system = self.names.index(name)
        listed = self.place[system] >= 0
        number = self.place[system][listed]
        columns = (self.pair_keys[number], self.judgment[number], self.codes[number])
        return ListedRanking(name, topics, self.lengths[system], self.tied[system][listed], *columns, self, number)

    @cached_property
    def lengths(self) -> Ints:
        """[system, topic]: documents retrieved."""
        return np.asarray((self.place >= 0).sum(axis=2))

    @cached_property
    def first_documents(self) -> Ints:
        """Where the documents of each topic start, and where those of the last one end."""
        return np.searchsorted(self.topic, np.arange(len(self.topics) + 1))

    @property
    def open(self) -> Bools:
        """Which documents may yet be judged."""
        return (self.codes == UNJUDGED) | (self.codes == NEGATIVE)

    def same_order(self, a: int, b: int) -> bool:
        """Whether two runs have the same documents in the same order, topic by topic."""
        first = np.array_equal(self.place[a, :, 0], self.place[b, :, 0])  # mostly not, and quickly seen
        return first and np.array_equal(self.place[a], self.place[b])

    def alike(self, a: int, b: int) -> bool:
        """Whether two runs are copies: the same in the same order, and with the same ties."""
        return self.same_order(a, b) and np.array_equal(self.tied[a], self.tied[b])

    def in_first(self, systems: Sequence[int] | None = None, depth: int | None = None) -> Bools:
        """Which documents some of the systems, by default any, have in their first `depth` places."""
        place = self.place if systems is None else self.place[list(systems)]
        listed = np.zeros(len(self) + 1, dtype=bool)
        listed[place[:, :, :depth]] = True
        return listed[:-1]  # where -1 points comes last

    def open_counts(self, depth: int | None = None) -> Ints:
        """Documents of each topic that may yet be judged, and that some run has in its first `depth` places."""
        key = ("each", depth)
        if key not in self._counts:
            listed = self.open & self.in_first(depth=depth)
            self._counts[key] = np.bincount(self.topic[listed], minlength=len(self.topics))
        return self._counts[key]

    def open_together(self, depth: int | None = None) -> NDArray[np.int32]:
        """[topic, run, run]: how many documents that may yet be judged two runs have together, in their first `depth`
        places where given."""
        key = ("both", depth)
        if key not in self._counts:
            topics = np.arange(len(self.topics))
            batches = topic_batches(self, topics, len(self.names), ROWS)
            self._counts[key] = np.concatenate([_open_together(self, topics[part], depth) for part in batches])
        return self._counts[key]

    def universe(self, depth: int | None = None) -> UnjudgedKeys:
        """The unjudged documents, those that some run has in its first `depth` places where given."""
        chosen = ((self.codes == UNJUDGED) & self.in_first(depth=depth)) | (self.codes == NEGATIVE)
        return UnjudgedKeys(self.pair_keys[chosen], np.bincount(self.topic[chosen], minlength=len(self.topics)))


@dataclass(frozen=True, eq=False)
class ListedRanking(Ranking):
    """A run as the table of documents has it."""

    table: DocumentTable
    number: NDArray[np.int32]  # of each document

    @property
    def documents(self) -> Text:
        return self.table.documents[self.number]


class Block:
    """Candidates of k systems as arrays [topic, column]; what systems say about them is [topic, system, column].

    Columns have no order. Rows are as wide as the topic with the most candidates, and `present` tells the real ones.
    """

    def __init__(self, candidates: Candidates, systems: list[int]) -> None:
        place = candidates.place[systems]
        k, n_topics, depth = place.shape
        seen = np.zeros(len(candidates) + 1, dtype=bool)
        seen[place] = True
        seen[-1] = False  # where -1 points
        chosen = np.flatnonzero(seen)  # by topic, as candidates are numbered so
        topic = candidates.topic[chosen]
        counts = np.bincount(topic, minlength=n_topics)
        n = max(1, int(counts.max(initial=0)))
        column = np.arange(len(chosen)) - (np.cumsum(counts) - counts)[topic]
        column_of = np.full(len(candidates) + 1, n, dtype=np.int64)
        column_of[chosen] = column

        self.names = [candidates.names[system] for system in systems]
        self.shape = (n_topics, k, n)
        self.depth = depth
        self.number: Ints = np.full((n_topics, n), -1, dtype=np.int64)  # the candidate in each place
        self.number[topic, column] = chosen
        self.present: Bools = self.number >= 0
        # [topic, system, rank]: the column that stands there, n past the end of the ranking
        self.column: Ints = np.ascontiguousarray(column_of[place].transpose(1, 0, 2))

    @cached_property
    def rank(self) -> NDArray[np.int32]:
        """[topic, system, column], 0 where not retrieved. With many systems that takes a great deal of memory."""
        n_topics, k, n = self.shape
        ranks = np.zeros((n_topics, k, n + 1), dtype=np.int32)
        np.put_along_axis(ranks, self.column, np.arange(1, self.depth + 1, dtype=np.int32)[None, None, :], axis=2)
        return np.ascontiguousarray(ranks[:, :, :n])

    @cached_property
    def inverse(self) -> Floats:
        """One over each rank, 0 where not retrieved."""
        with np.errstate(divide="ignore"):
            return np.where(self.rank > 0, 1.0 / self.rank, 0.0)

    @cached_property
    def least_rank(self) -> tuple[Ints, Ints]:
        """[topic, column]: the least rank in any system, and the first system that has it there; 0 where there is no
        document."""
        n_topics, k, n = self.shape
        least = np.full((n_topics, n + 1), np.iinfo(np.int64).max)
        owner = np.zeros((n_topics, n + 1), dtype=np.int64)
        rows = np.arange(n_topics)[:, None]
        ranks = np.broadcast_to(np.arange(1, self.depth + 1), (n_topics, self.depth))
        for system in range(k):
            column = self.column[:, system]
            better = ranks < least[rows, column]
            least[rows, column] = np.where(better, ranks, least[rows, column])
            owner[rows, column] = np.where(better, system, owner[rows, column])
        return np.where(self.present, least[:, :n], 0), owner[:, :n]

    def values(self, per_candidate: NDArray[np.bool_]) -> Bools:
        """A property of candidates as a block, False where there is none."""
        return np.append(per_candidate, False)[self.number]

    def by_rank(self, values: Floats) -> Floats:
        """[topic, column] to [topic, system, rank], 0 past the end of a ranking."""
        padded = np.concatenate([values, np.zeros((len(values), 1))], axis=1)
        return padded[np.arange(len(values))[:, None, None], self.column]

    def by_column(self, values: Floats) -> Floats:
        """[topic, system, rank] to [topic, system, column], 0 where not retrieved."""
        n_topics, k, n = self.shape
        spread = np.zeros((n_topics, k, n + 1))
        np.put_along_axis(spread, self.column, values, axis=2)
        return np.ascontiguousarray(spread[:, :, :n])


def only_top(run: Run, depth: int, ties: Ties, precision: Precision) -> Run:
    """The run with the first `depth` documents of each topic, still in the order of its file."""
    rows, _ = order_rows(run, np.arange(len(run)), run.topic, ties, precision)
    topic = run.topic[rows]
    kept = np.sort(rows[np.arange(len(rows)) - np.searchsorted(topic, topic) < depth])
    return replace(
        run,
        topic=run.topic[kept],
        documents=run.documents[kept],
        keys=run.keys[kept],
        scores=run.scores[kept],
        ranks=None if run.ranks is None else run.ranks[kept],
    )


def candidates(
    runs: Mapping[str, Run], depth: int | None, ties: Ties, precision: Precision, topics: Sequence[str] | None = None
) -> Candidates:
    """Gather the top `depth` documents of each run (all by default), for the given topics or all those of the runs."""
    if not runs:
        raise FathomsError("no run given")
    read = [runs[name] for name in runs]
    if topics is None:
        answered = list(dict.fromkeys(topic for run in read for topic in run.topics))
        topics = [answered[i] for i in topic_order(answered)]
    no_rows = np.empty(0, dtype=np.int32)
    blank = Qrels(list(topics), no_rows, np.empty(0, dtype="S8"), np.empty(0))
    return document_table(list(runs), [rank(run, blank, ties, precision) for run in read], blank.topics, depth)


def document_table(
    names: list[str], rankings: Sequence[Ranked], topics: list[str], depth: int | None = None
) -> DocumentTable:
    """The documents of runs that are ranked already, all of them or the top `depth` of each, on these topics.

    It takes a few topics at a time: their documents fit into the processor's caches, where those of all would not.
    """
    lengths = np.stack([ranked.lengths for ranked in rankings])  # [system, topic]
    first = np.cumsum(lengths, axis=1) - lengths
    if depth is not None:
        lengths = np.minimum(lengths, depth)
    shape = (len(rankings), len(topics), int(lengths.max(initial=1)))
    place, tied = np.full(shape, -1, dtype=np.int32), np.zeros(shape, dtype=bool)
    parts: list[list[NDArray[Any]]] = []
    before = 0
    for start, stop in stretches(lengths.sum(axis=0), ROWS):
        rows = [_first_rows(of[start:stop], n[start:stop]) for of, n in zip(first, lengths, strict=True)]
        of_runs = list(zip(rankings, rows, strict=True))
        pair_keys = np.concatenate([ranked.keys[at] for ranked, at in of_runs])
        each_topic = np.tile(np.arange(start, stop, dtype=np.int32), len(rankings))
        topic = np.repeat(each_topic, lengths[:, start:stop].ravel())
        ids = widths.joined([ranked.run.documents[ranked.rows[at]] for ranked, at in of_runs])
        first_place, numbers = numbered(pair_keys, topic, ids)
        inside = np.arange(shape[2]) < lengths[:, start:stop, None]
        place[:, start:stop][inside] = before + numbers
        tied[:, start:stop][inside] = np.concatenate([ranked.tied[at] for ranked, at in of_runs])
        before += len(first_place)
        judgment = np.concatenate([ranked.judgment[at] for ranked, at in of_runs])
        codes = np.concatenate([ranked.codes[at] for ranked, at in of_runs])
        parts.append([column[first_place] for column in (topic, pair_keys, judgment, codes, ids)])
    topic, pair_keys, judgment, codes = (np.concatenate([part[i] for part in parts]) for i in range(4))
    documents = widths.joined([part[4] for part in parts])
    return DocumentTable(names, topics, topic, documents, place, pair_keys, judgment, codes, tied)


def _first_rows(first: Ints, lengths: Ints) -> Ints:
    """So many rows from each of some places on."""
    inside = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows: Ints = np.repeat(first, lengths) + inside
    return rows


def topic_batches(table: DocumentTable, topics: Ints, n_runs: int, cells: int) -> Iterator[slice]:
    """Stretches of topics, as many at a time as make a block [topic, run, rank] of at most so many cells, and one at
    least."""
    longest = table.lengths.max(axis=0)[topics] * n_runs
    start = 0
    while start < len(topics):
        widest = np.maximum.accumulate(longest[start : start + cells])
        stop = start + max(1, int((widest * np.arange(1, len(widest) + 1) <= cells).sum()))
        yield slice(start, stop)
        start = stop


def _open_together(table: DocumentTable, topics: Ints, depth: int | None) -> NDArray[np.int32]:
    from scipy.sparse import csr_array

    place = table.place[:, topics, :depth].swapaxes(0, 1)
    first, stop = table.first_documents[[topics[0], topics[-1] + 1]]
    topic, run, rank = np.nonzero(np.append(table.open, False)[place])
    n_topics, n_runs = place.shape[:2]
    cells = (topic * n_runs + run, place[topic, run, rank] - first)
    own = csr_array((np.ones(len(topic), dtype=np.int32), cells), shape=(n_topics * n_runs, stop - first))
    pairs = (own @ own.T).tocoo()
    shared = np.zeros((n_topics, n_runs, n_runs), dtype=np.int32)
    shared[pairs.row // n_runs, pairs.row % n_runs, pairs.col % n_runs] = pairs.data
    size = np.diagonal(shared, axis1=1, axis2=2)
    return np.asarray(size[:, :, None] + size[:, None, :] - shared)


def numbered(pair_keys: keys.Keys, topic: NDArray[np.int32], documents: Text) -> tuple[Ints, Ints]:
    """Where each document is first given, in order of topic and id; and the number in this order of every one given.
    The same document of the same topic has the same key."""
    first, numbers = kernel.number_documents(pair_keys, topic, documents) or _first_given(pair_keys, topic, documents)
    by_id = np.lexsort((documents[first], topic[first]))
    number = np.empty(len(first), dtype=np.int64)
    number[by_id] = np.arange(len(first))
    return first[by_id], number[numbers]


def _first_given(pair_keys: keys.Keys, topic: NDArray[np.int32], documents: Text) -> tuple[Ints, Ints]:
    """Where each document is first given, in any order, and the number in this order of every one given."""
    order = np.argsort(pair_keys, kind="stable")
    if _shared_by_others(pair_keys[order], topic[order], documents[order]):
        # One key for two documents: hardly ever, and settled by the strings.
        order = np.lexsort((documents, topic))
        same = (topic[order[1:]] == topic[order[:-1]]) & (documents[order[1:]] == documents[order[:-1]])
    else:
        same = pair_keys[order[1:]] == pair_keys[order[:-1]]
    new = np.append(True, ~same)[: len(order)]
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(new) - 1
    return order[new], numbers


def _shared_by_others(ordered: keys.Keys, topic: NDArray[np.int32], documents: Text) -> bool:
    """Whether different documents stand under one key."""
    differ = (documents[1:] != documents[:-1]) | (topic[1:] != topic[:-1])
    return bool((differ & (ordered[1:] == ordered[:-1])).any())
