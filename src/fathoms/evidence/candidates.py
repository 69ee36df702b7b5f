"""Candidates: the documents that some systems retrieved, with each system's rank of each; what judging chooses from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fathoms.data import keys, widths
from fathoms.data.lines import Text
from fathoms.data.qrels import Qrels
from fathoms.data.runs import Run
from fathoms.data.topics import topic_order
from fathoms.errors import FathomsError
from fathoms.evidence.align import Ranked, rank
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.evidence.order import Precision, Ties, order_rows


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
    def _lookup(self) -> keys.Lookup:
        return keys.Lookup(keys.topic_keys(keys.document_keys(self.documents), self.topic), self.documents)

    def find(self, topic: str, document: str) -> int | None:
        """The number of one candidate, None where no system retrieved that document for that topic."""
        number = self._numbers.get(topic)
        try:
            raw = document.encode(errors="surrogateescape")
        except UnicodeEncodeError:  # half a character, which JSON can spell and no file can hold
            return None
        if number is None or not raw or b"\0" in raw:
            return None
        found = int(self.find_all(np.array([number], dtype=np.int32), np.array([raw]))[0])
        return None if found < 0 else found

    def find_all(self, topic: NDArray[np.int32], documents: Text) -> NDArray[np.int32]:
        """Numbers of candidates, -1 where there is none; topics are numbers in `topics`."""
        return self._lookup.find(keys.topic_keys(keys.document_keys(documents), topic), documents)

    def judgments(self, qrels: Qrels) -> tuple[Ints, NDArray[np.int32], NDArray[np.int32]]:
        """Rows of the qrels that are judgments on these topics, each one's topic here, and its candidate or -1."""
        of_topic = np.array([self._numbers.get(topic, -1) for topic in qrels.topics], dtype=np.int32)[qrels.topic]
        rows = np.flatnonzero((qrels.grades >= 0) & (of_topic >= 0))
        return rows, of_topic[rows], self.find_all(of_topic[rows], qrels.documents[rows])

    def relevant_elsewhere(self, qrels: Qrels, rel: float = 1.0) -> Floats:
        """Relevant documents of each topic that are no candidates."""
        rows, topic, found = self.judgments(qrels)
        missed = (found < 0) & (qrels.grades[rows] >= rel)
        return np.bincount(topic[missed], minlength=len(self.topics)).astype(np.float64)

    def judged_elsewhere(self, qrels: Qrels, grades: Floats) -> Floats:
        """Judged documents of each topic that are no candidates, [topic, grade], each at the greatest of these grades
        that it reaches."""
        rows, topic, found = self.judgments(qrels)
        missed = found < 0
        level = np.maximum(np.searchsorted(grades, qrels.grades[rows[missed]], side="right") - 1, 0)
        cells = topic[missed].astype(np.int64) * len(grades) + level
        return np.bincount(cells, minlength=len(self.topics) * len(grades)).reshape(-1, len(grades)).astype(np.float64)

    def judged_by(self, qrels: Qrels, rel: float = 1.0) -> tuple[Bools, Bools]:
        """Which candidates the judgments speak of, and which they call relevant."""
        rows, _, found = self.judgments(qrels)
        judged, relevant = np.zeros(len(self), dtype=bool), np.zeros(len(self), dtype=bool)
        judged[found[found >= 0]] = True
        relevant[found[(found >= 0) & (qrels.grades[rows] >= rel)]] = True
        return judged, relevant

    def block(self, systems: Sequence[int] | None = None) -> Block:
        """The candidates of some systems (all by default) as a block."""
        return Block(self, list(range(len(self.names))) if systems is None else list(systems))


class Block:
    """Candidates of k systems as arrays [topic, column]; what systems say of them is [topic, system, column].

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
        """[topic, system, column], 0 where not retrieved. With many systems that is a great deal of memory."""
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
        found = list(dict.fromkeys(topic for run in read for topic in run.topics))
        topics = [found[i] for i in topic_order(found)]
    nothing = np.empty(0, dtype=np.int32)
    blank = Qrels(list(topics), nothing, np.empty(0, dtype="S8"), np.empty(0))
    return gathered(list(runs), [rank(run, blank, ties, precision) for run in read], blank.topics, depth)


def gathered(names: list[str], rankings: Sequence[Ranked], topics: list[str], depth: int | None) -> Candidates:
    """The top `depth` documents of runs that are ranked already, on these topics.

    Topic by topic: the documents of one fit into the processor's caches, where those of all would not.
    """
    first = [np.searchsorted(one.topic, np.arange(len(topics) + 1)) for one in rankings]
    lengths = np.stack([np.diff(one) for one in first])  # [system, topic]
    if depth is not None:
        lengths = np.minimum(lengths, depth)
    place = np.full((len(rankings), len(topics), int(lengths.max(initial=1))), -1, dtype=np.int32)
    found: list[Text] = []
    before = 0
    for topic in range(len(topics)):
        parts = [slice(start[topic], start[topic] + n) for start, n in zip(first, lengths[:, topic], strict=True)]
        of_runs = list(zip(rankings, parts, strict=True))
        documents, numbers = numbered(
            np.concatenate([one.keys[part] for one, part in of_runs]),
            widths.joined([one.run.documents[one.rows[part]] for one, part in of_runs]),
        )
        place[:, topic][np.arange(place.shape[2]) < lengths[:, topic, None]] = before + numbers
        before += len(documents)
        found.append(documents)
    of_topic = np.repeat(np.arange(len(topics), dtype=np.int32), [len(documents) for documents in found])
    return Candidates(names, topics, of_topic, widths.joined(found), place)


def numbered(pair_keys: keys.Keys, documents: Text) -> tuple[Text, Ints]:
    """Each document once, in order of id; and the number among these of every one given. Equal ids have equal keys."""
    order = np.argsort(pair_keys)
    ordered, shown = pair_keys[order], documents[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    if (~new[1:] & (shown[1:] != shown[:-1])).any():
        # One key for two documents: about never, and settled by the strings.
        return np.unique(documents, return_inverse=True)
    distinct = shown[new]
    by_id = np.argsort(distinct)
    number = np.empty(len(distinct), dtype=np.int64)
    number[by_id] = np.arange(len(distinct))
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = number[np.cumsum(new) - 1]
    return distinct[by_id], numbers
