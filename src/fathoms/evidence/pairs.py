"""Pairs of rankings side by side: the documents of two runs, with the rank of each document in both.

Differences between two runs hang on which documents they share and where each run has them. A `TopicRankings` holds one
topic's rankings by all runs, documents numbered alike; a `PairEvidence` holds some pairs of them, a row for each pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.data.arrays import distinct
from fathoms.data.keys import topic_keys
from fathoms.data.qrels import EXCLUDED, JUDGED, NEGATIVE, PADDING, UNJUDGED, Qrels
from fathoms.evidence.align import Ranked
from fathoms.evidence.evidence import ALONE as ALONE
from fathoms.evidence.evidence import MANY_GRADES, Bools, Evidence, Floats, Ints

ABSENT = np.inf  # the rank of a document that the run did not retrieve
BEGINNING = 16  # documents by which two runs mostly differ already
BY_ROW = (  # what a PairEvidence holds for each row
    *("a", "b", "documents", "codes", "rank_a", "rank_b", "columns_a", "columns_b"),
    *("length_a", "length_b", "others"),
)
WORKED_OUT = ("rank", "groups", "group_marks", "unjudged")  # of a TopicRankings, when it is asked for
BOTH = "both"  # the kind of a cached table of two systems each


@dataclass(frozen=True, eq=False)
class RankedKeys:
    """What is kept of a run: its documents as keys, by topic and rank.

    Documents are told apart by their 64-bit keys alone: among the million documents that a large topic may hold, two
    share a key with a chance of about 3e-8.
    """

    keys: NDArray[np.uint64]
    codes: NDArray[np.int16]
    tied: NDArray[np.bool_]
    ends: Ints  # topic t has places ends[t] .. ends[t+1] - 1

    @classmethod
    def of(cls, ranked: Ranked, n_topics: int) -> RankedKeys:
        return cls(ranked.keys, ranked.codes, ranked.tied, np.searchsorted(ranked.topic, np.arange(n_topics + 1)))

    def unjudged(self, depth: int) -> NDArray[np.uint64]:
        """Keys, of topic and document together, of the unjudged documents in the first ranks of all topics."""
        topic = np.repeat(np.arange(len(self.ends) - 1), np.diff(self.ends))
        place = np.arange(self.ends[0], self.ends[-1])
        wanted = (self.codes[place] == UNJUDGED) & (place - self.ends[topic] < depth)
        return topic_keys(self.keys[place[wanted]], topic[wanted])

    def same_as(self, other: RankedKeys) -> bool:
        """Whether both have the same documents in the same order, topic by topic."""
        if self.keys.shape != other.keys.shape or (self.keys[:BEGINNING] != other.keys[:BEGINNING]).any():
            return False  # mostly so, and quickly seen
        return np.array_equal(self.keys, other.keys) and np.array_equal(self.ends, other.ends)

    def alike(self, other: RankedKeys) -> bool:
        """Whether they are copies: the same in the same order, and with the same ties."""
        return self.same_as(other) and np.array_equal(self.tied, other.tied)


def possible_levels(qrels: Qrels) -> tuple[Floats, NDArray[np.int16]]:
    """The grades in use and the whole grades between them, and for each code of the judgments its code among these.

    An unjudged document may get a grade that no judged one has.
    """
    between = np.arange(1.0, qrels.max_grade + 1) if qrels.max_grade <= MANY_GRADES else np.array([qrels.max_grade])
    levels = distinct(np.concatenate([qrels.levels, between]))
    recoded = np.arange(JUDGED + len(qrels.levels), dtype=np.int16)
    recoded[JUDGED:] = JUDGED + np.searchsorted(levels, qrels.levels)
    return levels, recoded


@dataclass(frozen=True, eq=False)
class TopicRankings:
    """One topic's rankings by several runs. Documents are numbered from 0; number -1 stands for none."""

    number: int  # of the topic in the judgments
    place: NDArray[np.int32]  # [system, rank]: the document there, -1 past the end
    tied: Bools  # [system, rank]: has the score of the document above
    codes: NDArray[np.int16]  # one for each document, and PADDING for number -1
    keys: NDArray[np.uint64]  # one for each document
    counts: Ints  # judged documents by level, whether retrieved or not
    levels: Floats
    max_grade: float
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, runs: Sequence[RankedKeys], qrels: Qrels, number: int) -> TopicRankings:
        parts = [slice(run.ends[number], run.ends[number + 1]) for run in runs]
        lengths = np.array([part.stop - part.start for part in parts])
        keys = np.concatenate([run.keys[part] for run, part in zip(runs, parts, strict=True)])
        known, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
        inside = np.arange(max(1, lengths.max(initial=0))) < lengths[:, None]
        place = np.full(inside.shape, -1, dtype=np.int32)
        place[inside] = numbers
        tied = np.zeros(inside.shape, dtype=bool)
        tied[inside] = np.concatenate([run.tied[part] for run, part in zip(runs, parts, strict=True)])
        codes = np.concatenate([run.codes[part] for run, part in zip(runs, parts, strict=True)])[first]
        levels, recoded = possible_levels(qrels)
        counts = np.zeros(len(levels), dtype=np.int64)
        counts[recoded[JUDGED:] - JUDGED] = qrels.counts[number]
        codes = np.append(recoded[codes], np.int16(PADDING))
        return cls(number, place, tied, codes, known, counts, levels, qrels.max_grade)

    def __len__(self) -> int:
        return len(self.place)

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be worked out again and is large."""
        return {name: value for name, value in self.__dict__.items() if name not in WORKED_OUT}

    def of_systems(self, systems: Ints) -> TopicRankings:
        """The rankings by some of the systems, of the same documents."""
        shared = {key: value[np.ix_(systems, systems)] for key, value in self._cache.items() if key[0] == BOTH}
        return TopicRankings(
            self.number,
            self.place[systems],
            self.tied[systems],
            self.codes,
            self.keys,
            self.counts,
            self.levels,
            self.max_grade,
            shared,
        )

    @property
    def n_documents(self) -> int:
        return len(self.codes) - 1

    @cached_property
    def unjudged(self) -> Bools:
        """Of each document, and False for number -1."""
        return (self.codes == UNJUDGED) | (self.codes == NEGATIVE)

    @cached_property
    def lengths(self) -> Ints:
        return (self.place >= 0).sum(axis=1)

    @cached_property
    def rank(self) -> NDArray[Any]:
        """[system, document]: from 1, and 0 where not retrieved; the last column stands for number -1."""
        width = self.place.shape[1]
        kind = np.int16 if width < np.iinfo(np.int16).max else np.int32  # small, to be looked up in at random
        rank = np.zeros((len(self), self.n_documents + 1), dtype=kind)
        ranks = np.broadcast_to(np.arange(1, width + 1, dtype=kind), self.place.shape)
        np.put_along_axis(rank, self.place, ranks, axis=1)
        rank[:, -1] = 0
        return rank

    def ranks_in(self, systems: Ints, documents: NDArray[Any]) -> NDArray[Any]:
        """[row, column]: the rank that the system of each row has given a document, 0 where it has not retrieved it."""
        # Number -1 comes to the last column of the row before, which stands for it there as well as in its own row.
        return np.take(self.rank, systems[:, None] * self.rank.shape[1] + documents)

    def unjudged_of_all(self, depth: int | None = None) -> int:
        """How many unjudged documents all systems have together, within the first `depth` places where given."""
        listed = np.zeros(len(self.codes), dtype=bool)
        listed[self.place if depth is None else self.place[:, :depth]] = True
        return int((listed & self.unjudged).sum())

    def unjudged_of_both(self, depth: int | None = None) -> Ints:
        """[system, system]: how many unjudged documents two systems have together."""
        key = (BOTH, depth)
        if key not in self._cache:
            from scipy.sparse import csr_array

            place = self.place if depth is None else self.place[:, :depth]
            system, column = np.nonzero(self.unjudged[place])
            shape = (len(self), self.n_documents)
            own = csr_array((np.ones(len(system), dtype=np.int32), (system, place[system, column])), shape=shape)
            shared = (own @ own.T).toarray().astype(np.int64)
            size = np.diag(shared)
            self._cache[key] = size[:, None] + size[None, :] - shared
        found: Ints = self._cache[key]
        return found

    @cached_property
    def groups(self) -> tuple[Ints, Ints]:
        """[system, rank]: first and last place, from 1, of the tie group that the place belongs to."""
        column = np.broadcast_to(np.arange(self.place.shape[1]), self.place.shape)
        first = np.maximum.accumulate(np.where(self.tied, 0, column), axis=1)
        starts_next = np.ones(self.place.shape, dtype=bool)
        starts_next[:, :-1] = ~self.tied[:, 1:]
        reversed_last = np.where(starts_next, column, column.shape[1])[:, ::-1]
        last = np.minimum.accumulate(reversed_last, axis=1)[:, ::-1]
        return first + 1, last + 1

    @cached_property
    def group_marks(self) -> NDArray[np.uint64]:
        """[system, rank]: the sum of the scrambled keys of the tie group that the place belongs to. Groups in the same
        places have the same one if they hold the same documents."""
        first, last = self.groups
        scrambled = np.where(self.place >= 0, self.keys[self.place], np.uint64(0))
        scrambled = (scrambled ^ (scrambled >> np.uint64(31))) * np.uint64(0x94D049BB133111EB)
        with np.errstate(over="ignore"):
            sums = np.cumsum(scrambled, axis=1, dtype=np.uint64)
            before = np.where(first > 1, np.take_along_axis(sums, np.maximum(first - 2, 0), axis=1), np.uint64(0))
            marks: NDArray[np.uint64] = np.take_along_axis(sums, last - 1, axis=1) - before
        return marks

    def extreme_ranks(self, gain: Floats, best: bool) -> Floats:
        """[system, rank]: the rank that the document in each place has at best, or at worst; see `over_ties`."""
        key = (gain.tobytes(), best)
        if key not in self._cache:
            self._cache[key] = _extreme_ranks(self, gain, best)
        found: Floats = self._cache[key]
        return found

    def evidence(self, systems: Ints | None = None, universe: Ints | None = None) -> Evidence:
        """The systems' rankings as evidence, a row for each system; `universe` counts the documents that may join R."""
        place = self.place if systems is None else self.place[systems]
        tied = self.tied if systems is None else self.tied[systems]
        return self.as_evidence(self.codes[place], tied, (place >= 0).sum(axis=1), universe)

    def as_evidence(
        self,
        codes: NDArray[np.int16],
        tied: Bools,
        lengths: Ints,
        universe: Ints | None = None,
        counts: Ints | None = None,
    ) -> Evidence:
        rows = len(codes)
        return Evidence(
            topics=[""] * rows,
            codes=codes,
            tied=tied,
            lengths=lengths,
            levels=self.levels,
            max_grade=self.max_grade,
            counts=np.broadcast_to(self.counts, (rows, len(self.counts))) if counts is None else counts,
            unjudged_in_universe=universe,
            topic_numbers=np.full(rows, self.number),
        )

    def pairs(
        self,
        a: Ints,
        b: Ints,
        depth: int | None = None,
        others: Ints | None = None,
        universe_depth: int | None = None,
    ) -> PairEvidence:
        """The pairs (a, b) of systems, with the documents of the first `depth` places of either.

        `others` counts the further unjudged documents of each pair's universe. Documents deeper than `universe_depth`
        in both runs are taken as not relevant.
        """
        width = self.place.shape[1] if depth is None else min(depth, self.place.shape[1])
        places = np.arange(1, width + 1)
        at_a, at_b = self.place[a][:, :width], self.place[b][:, :width]
        rank_in_b, rank_in_a = self.ranks_in(b, at_a), self.ranks_in(a, at_b)
        new = (rank_in_a == 0) | (rank_in_a > width)
        documents = np.hstack([at_a, np.where(new, at_b, -1)])
        rank_a = np.hstack([np.broadcast_to(places, at_a.shape), rank_in_a])
        rank_b = np.hstack([rank_in_b, np.broadcast_to(places, at_b.shape)])
        columns_b = np.where(new, width + places - 1, rank_in_a - 1)
        codes = self.codes[documents]
        if universe_depth is not None:
            shallow = ((rank_a > 0) & (rank_a <= universe_depth)) | ((rank_b > 0) & (rank_b <= universe_depth))
            codes = np.where(self.unjudged[documents] & ~shallow, np.int16(EXCLUDED), codes)
        if others is None:
            others = np.zeros(len(a), dtype=np.int64)
        return PairEvidence(
            topic=self,
            a=a,
            b=b,
            documents=documents,
            codes=codes,
            rank_a=np.where(rank_a > 0, rank_a, ABSENT),
            rank_b=np.where(rank_b > 0, rank_b, ABSENT),
            columns_a=np.broadcast_to(places - 1, at_a.shape),
            columns_b=columns_b,
            length_a=self.lengths[a],
            length_b=self.lengths[b],
            others=others,
        )


def _same_groups(topic: TopicRankings, a: Ints, b: Ints, documents: Ints) -> Ints:
    """The tie group of each document where both systems have the same documents, tied, in the same places.

    Then any order of ties gives the document the same rank in both. ALONE for all others.
    """
    first, last = topic.groups
    found = np.full(documents.shape, ALONE)
    rank_a, rank_b = topic.ranks_in(a, documents), topic.ranks_in(b, documents)
    row, column = np.nonzero((rank_a > 0) & (rank_b > 0) & (documents >= 0))
    in_a, in_b = ((systems[row], rank[row, column] - 1) for systems, rank in ((a, rank_a), (b, rank_b)))
    # A group is told by its places and the mark of its documents.
    same = (last[in_a] > first[in_a]) & (first[in_a] == first[in_b]) & (last[in_a] == last[in_b])
    same &= topic.group_marks[in_a] == topic.group_marks[in_b]
    found[row[same], column[same]] = first[in_a][same]
    return found


@dataclass(frozen=True, eq=False)
class PairEvidence:
    """Pairs of one topic's rankings, a row for each pair (A, B), a column for each document of either.

    Ranks may be those of the files, or with `over_ties` the best that A and the worst that B can give each document.
    """

    topic: TopicRankings
    a: Ints
    b: Ints
    documents: Ints  # [row, column], -1 for none
    codes: NDArray[np.int16]  # [row, column]
    rank_a: Floats  # [row, column], ABSENT where not retrieved
    rank_b: Floats
    columns_a: Ints  # [row, rank]: A's documents in order of rank
    columns_b: Ints
    length_a: Ints  # documents retrieved
    length_b: Ints
    others: Ints  # [row]: further unjudged documents that may turn out relevant
    over_all_orders: bool = False  # ranks are the extremes over all orders of tied documents

    def __len__(self) -> int:
        return len(self.a)

    @cached_property
    def unjudged(self) -> Bools:
        return (self.codes == UNJUDGED) | (self.codes == NEGATIVE)

    @cached_property
    def shared(self) -> Ints:
        """[row, column]: a tie group that both have in the same places, or ALONE; ranks of files are their own."""
        if not self.over_all_orders or not self.topic.tied.any():
            return np.broadcast_to(np.int64(ALONE), self.codes.shape)
        return _same_groups(self.topic, self.a, self.b, self.documents)

    @cached_property
    def levels(self) -> Floats:
        return self.topic.levels

    @cached_property
    def one(self) -> Evidence:
        """Evidence with a row for each pair and no ranking: what measures ask for grades and counts."""
        rows = len(self)
        return self.topic.as_evidence(
            np.zeros((rows, 1), dtype=np.int16), np.zeros((rows, 1), dtype=bool), np.zeros(rows, dtype=np.int64)
        )

    def swapped(self) -> PairEvidence:
        """(B, A) for (A, B)."""
        return replace(
            self,
            a=self.b,
            b=self.a,
            rank_a=self.rank_b,
            rank_b=self.rank_a,
            columns_a=self.columns_b,
            columns_b=self.columns_a,
            length_a=self.length_b,
            length_b=self.length_a,
        )

    def with_others(self, others: Ints) -> PairEvidence:
        return replace(self, others=others)

    def rows(self, chosen: Ints | Bools) -> PairEvidence:
        return replace(self, **{name: getattr(self, name)[chosen] for name in BY_ROW})

    # -- completions -----------------------------------------------------------------------------------------------

    def judged(self, codes: NDArray[np.int16], others: Ints | None = None) -> tuple[Evidence, Evidence]:
        """Evidence on A and on B if the documents had these codes; what is unjudged still may be anything.

        `others` says how many of the other documents have the greatest level of the judgments.
        """
        levels = len(self.topic.levels)
        new = np.where(self.unjudged & (codes >= JUDGED), codes - JUDGED, levels)
        cells = new + np.arange(len(self))[:, None] * (levels + 1)
        added = np.bincount(cells.ravel(), minlength=len(self) * (levels + 1)).reshape(len(self), levels + 1)[:, :-1]
        counts = self.topic.counts + added
        left = self.others
        if others is not None:
            counts[:, -1] += others
            left = left - others
        still = ((codes == UNJUDGED) | (codes == NEGATIVE)).sum(axis=1)
        sides = []
        for columns, length in ((self.columns_a, self.length_a), (self.columns_b, self.length_b)):
            side = np.take_along_axis(codes, columns, axis=1)
            tied = np.zeros(side.shape, dtype=bool)
            sides.append(self.topic.as_evidence(side, tied, length, still + left, counts))
        return sides[0], sides[1]

    def reordered(self, priority: Floats) -> PairEvidence:
        """The same pairs with tied documents by falling priority, [row, column], in both runs alike."""
        ranks, columns = [], []
        for own, (first, _) in ((self.columns_a, self.places_a), (self.columns_b, self.places_b)):
            listed = np.take_along_axis(self.documents, own, axis=1) >= 0
            place = np.where(listed, np.take_along_axis(first, own, axis=1), ABSENT)
            order = np.lexsort((-np.take_along_axis(priority, own, axis=1), place), axis=1)
            own = np.take_along_axis(own, order, axis=1)
            rank = np.full(self.codes.shape, ABSENT)
            places = np.where(listed, np.arange(1.0, own.shape[1] + 1), ABSENT)  # what is listed stays in front
            np.put_along_axis(rank, own, places, axis=1)
            columns.append(own)
            ranks.append(rank)
        rank_a, rank_b = (
            np.where(np.isfinite(new), new, old) for new, old in zip(ranks, (self.rank_a, self.rank_b), strict=True)
        )
        return replace(self, rank_a=rank_a, rank_b=rank_b, columns_a=columns[0], columns_b=columns[1])

    # -- ties ------------------------------------------------------------------------------------------------------

    @cached_property
    def places_a(self) -> tuple[Floats, Floats]:
        """[row, column]: the first and the last place that A's ties allow a document."""
        return self._places(self.a, self.rank_a)

    @cached_property
    def places_b(self) -> tuple[Floats, Floats]:
        return self._places(self.b, self.rank_b)

    def _places(self, systems: Ints, rank: Floats) -> tuple[Floats, Floats]:
        first, last = self.topic.groups
        return _at_ranks(first, systems, rank), _at_ranks(last, systems, rank)

    @cached_property
    def tied(self) -> Bools:
        """[row, column]: whether the document is tied with another one in either run."""
        (first_a, last_a), (first_b, last_b) = self.places_a, self.places_b
        tied: Bools = np.logical_or(first_a != last_a, first_b != last_b)
        return tied & (self.documents >= 0)

    @cached_property
    def has_ties(self) -> Bools:
        return np.asarray(self.tied.any(axis=1))

    def over_ties(self, gain: Floats) -> PairEvidence:
        """The same with the best rank that A's ties allow each document and the worst that B's do, each on its own.

        `gain` is what a document of each code adds. In its tie group A has the known gains first, the greatest in
        front, and any unjudged document could come right behind the known ones of the greatest gain; in B the known
        gains come last, and an unjudged document could be the last but for those of the greatest gain. Whatever the
        judging, no order of A's ties gives its relevant documents better ranks, and none of B's gives worse ones.
        """
        if not self.has_ties.any():
            return replace(self, over_all_orders=True)
        return replace(
            self,
            rank_a=self._extreme(self.a, self.rank_a, gain, best=True),
            rank_b=self._extreme(self.b, self.rank_b, gain, best=False),
            over_all_orders=True,
        )

    def _extreme(self, systems: Ints, rank: Floats, gain: Floats, best: bool) -> Floats:
        return _at_ranks(self.topic.extreme_ranks(gain, best), systems, rank)


def _at_ranks(values: NDArray[Any], systems: Ints, rank: Floats) -> Floats:
    """[row, column]: of values [system, rank] that at the rank that the system of each row has there, or ABSENT."""
    retrieved = np.isfinite(rank)
    at = systems[:, None] * values.shape[1] + np.where(retrieved, rank, 1).astype(np.int64) - 1
    return np.where(retrieved, np.take(values, at), ABSENT)


def _extreme_ranks(topic: TopicRankings, gain: Floats, best: bool) -> Floats:
    """[system, rank]: the rank that the document in each place has at best, or at worst, as `over_ties` says."""
    first, last = topic.groups
    extreme = np.broadcast_to(np.arange(1.0, first.shape[1] + 1), first.shape).copy()
    row, column = np.nonzero(last > first)
    if not len(row):
        return extreme
    first, last = first[row, column], last[row, column]
    codes = topic.codes[topic.place[row, column]]
    worth, unknown = gain[codes], topic.unjudged[topic.place[row, column]]
    # Known documents of a group in order of their gain, greatest first for the best; unjudged ones behind.
    number = np.cumsum(np.append(True, (row[1:] != row[:-1]) | (first[1:] != first[:-1]))) - 1
    order = np.lexsort((np.where(unknown, np.inf, -worth), number))
    start = np.searchsorted(number, number)  # a group's places follow each other
    inside = np.empty(len(row), dtype=np.int64)
    inside[order] = np.arange(len(row)) - start
    full = (worth >= gain.max()) & ~unknown & (gain.max() > 0)
    in_front = np.bincount(number, weights=full)[number]
    step = np.where(unknown, in_front, inside)
    extreme[row, column] = first + step if best else last - step
    return extreme
