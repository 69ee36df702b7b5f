"""Pairs of rankings side by side: the documents of two runs, with the rank of each document in both.

Differences between two runs depend on which documents they share and where each run has them. A `RankingBlock` is a
view of the table of documents: some topics' rankings by some runs, a row for each topic and run, with the documents of
a topic numbered alike. A `PairEvidence` holds pairs of these rows, each pair about one topic.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import distinct
from fathoms.data.qrels import EXCLUDED, JUDGED, NEGATIVE, PADDING, UNJUDGED, Qrels
from fathoms.evidence.candidates import DocumentTable
from fathoms.evidence.evidence import ALONE as ALONE
from fathoms.evidence.evidence import MANY_GRADES, Bools, Evidence, Floats, Ints

ABSENT = np.inf  # the rank of a document that the run did not retrieve
BY_ROW = (  # what a PairEvidence holds for each row
    *("a", "b", "documents", "codes", "rank_a", "rank_b", "columns_a", "columns_b"),
    *("length_a", "length_b", "others"),
)


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
class RankingBlock:
    """Some topics' rankings by several runs, a row for each topic and run: first all runs of the first topic.

    The documents of each topic are numbered from 0; number -1 stands for none.
    """

    table: DocumentTable
    topics: Ints  # numbers in the judgments
    runs: Ints  # places in the table
    place: NDArray[np.int32]  # [row, rank]: the document there, -1 past the end
    tied: Bools  # [row, rank]: has the score of the document above
    lengths: Ints  # [row]
    codes: NDArray[np.int16]  # [topic, document], and PADDING for number -1
    keys: NDArray[np.uint64]  # [topic, document]
    counts: Ints  # [topic, level]: judged documents, whether retrieved or not
    levels: Floats
    max_grade: float
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, table: DocumentTable, qrels: Qrels, topics: Ints, runs: Ints | None = None) -> RankingBlock:
        """The rankings by some of the runs of a table, by default all, for topics by their numbers."""
        chosen = np.arange(len(table.names)) if runs is None else runs
        lengths = table.lengths[np.ix_(chosen, topics)].T.ravel()
        width = max(1, int(lengths.max(initial=0)))
        rankings = chosen[None, :], topics[:, None], slice(width)
        place, tied = table.place[rankings].reshape(-1, width), table.tied[rankings].reshape(-1, width)
        first = table.first_documents
        n_documents = first[topics + 1] - first[topics]
        number = np.arange(int(n_documents.max(initial=0)))
        listed = number < n_documents[:, None]
        document = np.where(listed, first[topics][:, None] + number, -1)
        levels, recoded = possible_levels(qrels)
        codes = np.full((len(topics), len(number) + 1), np.int16(PADDING))
        codes[:, :-1][listed] = recoded[table.codes[document[listed]]]
        counts = np.zeros((len(topics), len(levels)), dtype=np.int64)
        counts[:, recoded[JUDGED:] - JUDGED] = qrels.counts[topics]
        keys = np.append(table.pair_keys, np.uint64(0))[np.hstack([document, np.full((len(topics), 1), -1)])]
        before = np.repeat(first[topics], len(chosen)).astype(np.int32)[:, None]
        return cls(
            table,
            topics,
            chosen,
            np.where(place >= 0, place - before, np.int32(-1)),
            tied,
            lengths,
            codes,
            keys,
            counts,
            levels,
            qrels.max_grade,
        )

    def __len__(self) -> int:
        return len(self.place)

    @property
    def width(self) -> int:
        return self.place.shape[1]

    def rows_of(self, runs: Ints) -> Ints:
        """[topic, run]: the rows of some of the runs, by their places here."""
        rows: Ints = np.arange(len(self.topics))[:, None] * len(self.runs) + runs
        return rows

    def topic_of(self, rows: Ints) -> Ints:
        """The place in `topics` of the topic of each row."""
        return rows // len(self.runs)

    def unknown(self, codes: NDArray[np.int16]) -> Bools:
        """Which codes are those of documents that may yet be judged."""
        return (codes == UNJUDGED) | (codes == NEGATIVE)

    @cached_property
    def code_rows(self) -> NDArray[np.int16]:
        """[row, rank]: the code of the document there."""
        return self.codes_of(np.arange(len(self)), self.place)

    def codes_of(self, rows: Ints, documents: NDArray[Any]) -> NDArray[np.int16]:
        """[row, column]: the codes of documents of the topics of these rows."""
        return self._of_documents(self.codes, rows, documents)

    def keys_of(self, rows: Ints, documents: NDArray[Any]) -> NDArray[np.uint64]:
        return self._of_documents(self.keys, rows, documents)

    def _of_documents(self, values: NDArray[Any], rows: Ints, documents: NDArray[Any]) -> NDArray[Any]:
        width = values.shape[1]
        column = np.where(documents >= 0, documents, width - 1)
        return np.take(values, self.topic_of(rows)[:, None] * width + column)

    @cached_property
    def unjudged(self) -> Bools:
        """[row, rank]"""
        return self.unknown(self.code_rows)

    @cached_property
    def rank(self) -> NDArray[Any]:
        """[row, document]: from 1, and 0 where not retrieved; the last column stands for number -1."""
        kind = np.int16 if self.width < np.iinfo(np.int16).max else np.int32  # small, to be looked up in at random
        rank = np.zeros((len(self), self.codes.shape[1]), dtype=kind)
        ranks = np.broadcast_to(np.arange(1, self.width + 1, dtype=kind), self.place.shape)
        np.put_along_axis(rank, self.place, ranks, axis=1)
        rank[:, -1] = 0
        return rank

    def ranks_in(self, rows: Ints, documents: NDArray[Any]) -> NDArray[Any]:
        """[row, column]: the rank that each of these rows has given a document, 0 where it has not retrieved it."""
        # Number -1 comes to the last column of the row before, which stands for it there as well as in its own row.
        return np.take(self.rank, rows[:, None] * self.rank.shape[1] + documents)

    def unjudged_of_both(self, a: Ints, b: Ints, depth: int | None = None) -> Ints:
        """How many unjudged documents two rows of a topic have together, within the first places where given."""
        runs_a, runs_b = (self.runs[rows % len(self.runs)] for rows in (a, b))
        return self.table.open_together(depth)[self.topics[self.topic_of(a)], runs_a, runs_b].astype(np.int64)

    @cached_property
    def groups(self) -> tuple[Ints, Ints]:
        """[row, rank]: first and last place, from 1, of the tie group that the place belongs to."""
        column = np.broadcast_to(np.arange(self.width), self.place.shape)
        if not self.tied.any():
            return column + 1, column + 1
        first = np.maximum.accumulate(np.where(self.tied, 0, column), axis=1)
        starts_next = np.ones(self.place.shape, dtype=bool)
        starts_next[:, :-1] = ~self.tied[:, 1:]
        reversed_last = np.where(starts_next, column, column.shape[1])[:, ::-1]
        last = np.minimum.accumulate(reversed_last, axis=1)[:, ::-1]
        return first + 1, last + 1

    @cached_property
    def group_marks(self) -> NDArray[np.uint64]:
        """[row, rank]: the sum of the scrambled keys of the tie group that the place belongs to. Groups in the same
        places have the same one if they hold the same documents."""
        first, last = self.groups
        keys = self.keys_of(np.arange(len(self)), self.place)
        scrambled = np.where(self.place >= 0, keys, np.uint64(0))
        scrambled = (scrambled ^ (scrambled >> np.uint64(31))) * np.uint64(0x94D049BB133111EB)
        with np.errstate(over="ignore"):
            sums = np.cumsum(scrambled, axis=1, dtype=np.uint64)
            before = np.where(first > 1, np.take_along_axis(sums, np.maximum(first - 2, 0), axis=1), np.uint64(0))
            marks: NDArray[np.uint64] = np.take_along_axis(sums, last - 1, axis=1) - before
        return marks

    @cached_property
    def shared_marks(self) -> NDArray[np.uint64]:
        """[row, rank]: the same number, but 0, where two rows have the same documents tied in the same places."""
        first, last = self.groups
        places = (first * self.width + last).astype(np.uint64)
        with np.errstate(over="ignore"):
            return np.where(last > first, self.group_marks + places, np.uint64(0))

    def sorted_in_groups(self, values: NDArray[Any], place: Ints) -> NDArray[Any]:
        """Values [row, rank], those of tied documents in the order of the `place` that each value has."""
        first, last = self.groups
        row, column = np.nonzero(last > first)
        group = np.cumsum(first[row, column] == column + 1)
        sorted_values, tied_values = values.copy(), values[row, column]
        sorted_values[row, column] = tied_values[np.argsort(group * len(place) + place[tied_values], kind="stable")]
        return sorted_values

    def extreme_ranks(self, gain: Floats, best: bool) -> Floats:
        """[row, rank]: the rank that the document in each place has at best, or at worst; see `over_ties`."""
        key = (gain.tobytes(), best)
        if key not in self._cache:
            self._cache[key] = _extreme_ranks(self, gain, best)
        ranks: Floats = self._cache[key]
        return ranks

    def tied_documents(self, value: Floats, depth: int) -> Any:
        """Sparse, [row, document]: 1 for documents of a positive value, by code, in tie groups that start in the first
        `depth` places and hold documents of other values too."""
        from scipy.sparse import csr_array

        first, last = self.groups
        worth = value[self.code_rows]
        differs = np.zeros(worth.shape, dtype=np.int32)
        differs[:, 1:] = self.tied[:, 1:] & (worth[:, 1:] != worth[:, :-1])
        steps = np.cumsum(differs, axis=1)
        mixed = np.take_along_axis(steps, last - 1, axis=1) > np.take_along_axis(steps, first - 1, axis=1)
        row, column = np.nonzero(mixed & (first <= depth) & (worth > 0))
        n_documents = self.codes.shape[1]
        document = self.place[row, column] + self.topic_of(row) * n_documents
        ones = np.ones(len(row), dtype=np.int32)
        return csr_array((ones, (row, document)), shape=(len(self), len(self.topics) * n_documents))

    def evidence(self, rows: Ints | None = None, universe: Ints | None = None) -> Evidence:
        """The rankings as evidence, all or some rows; `universe` counts the documents that may join R."""
        chosen = np.arange(len(self)) if rows is None else rows
        return self.as_evidence(
            chosen, self.code_rows[chosen], self.tied[chosen], self.lengths[chosen], universe=universe
        )

    def as_evidence(
        self,
        rows: Ints,
        codes: NDArray[np.int16],
        tied: Bools | None = None,
        lengths: Ints | None = None,
        counts: Ints | None = None,
        universe: Ints | None = None,
    ) -> Evidence:
        """Evidence with these codes on the topics of some rows; without ties unless given."""
        topic = self.topic_of(rows)
        return Evidence(
            topics=[""] * len(rows),
            codes=codes,
            tied=np.zeros(codes.shape, dtype=bool) if tied is None else tied,
            lengths=self.lengths[rows] if lengths is None else lengths,
            levels=self.levels,
            max_grade=self.max_grade,
            counts=self.counts[topic] if counts is None else counts,
            unjudged_in_universe=universe,
            topic_numbers=self.topics[topic],
        )

    def pairs(
        self,
        a: Ints,
        b: Ints,
        depth: int | None = None,
        others: Ints | None = None,
        universe_depth: int | None = None,
    ) -> PairEvidence:
        """The pairs (a, b) of rows, each of one topic, with the documents of the first `depth` places of either.

        `others` counts the further unjudged documents of each pair's universe. Documents deeper than `universe_depth`
        in both runs are taken as not relevant.
        """
        width = self.width if depth is None else min(depth, self.width)
        places = np.arange(1, width + 1)
        first_places = self.place[:, :width]
        at_a, at_b = first_places[a], first_places[b]
        rank_in_b, rank_in_a = self.ranks_in(b, at_a), self.ranks_in(a, at_b)
        new = (rank_in_a == 0) | (rank_in_a > width)
        documents = np.hstack([at_a, np.where(new, at_b, -1)])
        rank_a = np.hstack([np.broadcast_to(places, at_a.shape), rank_in_a])
        rank_b = np.hstack([rank_in_b, np.broadcast_to(places, at_b.shape)])
        columns_b = np.where(new, width + places - 1, rank_in_a - 1)
        codes = self.codes_of(a, documents)
        if universe_depth is not None:
            shallow = ((rank_a > 0) & (rank_a <= universe_depth)) | ((rank_b > 0) & (rank_b <= universe_depth))
            codes = np.where(self.unknown(codes) & ~shallow, np.int16(EXCLUDED), codes)
        if others is None:
            others = np.zeros(len(a), dtype=np.int64)
        return PairEvidence(
            block=self,
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


def _same_groups(block: RankingBlock, a: Ints, b: Ints, documents: Ints) -> Ints:
    """The tie group of each document where both systems have the same documents, tied, in the same places.

    Then any order of ties gives the document the same rank in both. ALONE for all others.
    """
    first, last = block.groups
    group = np.full(documents.shape, ALONE)
    rank_a, rank_b = block.ranks_in(a, documents), block.ranks_in(b, documents)
    row, column = np.nonzero((rank_a > 0) & (rank_b > 0) & (documents >= 0))
    in_a, in_b = ((systems[row], rank[row, column] - 1) for systems, rank in ((a, rank_a), (b, rank_b)))
    # A group is told by its places and the mark of its documents.
    same = (last[in_a] > first[in_a]) & (first[in_a] == first[in_b]) & (last[in_a] == last[in_b])
    same &= block.group_marks[in_a] == block.group_marks[in_b]
    group[row[same], column[same]] = first[in_a][same]
    return group


@dataclass(frozen=True, eq=False)
class PairEvidence:
    """Pairs of rankings, a row for each pair (A, B) of one topic, a column for each document of either.

    Ranks may be those of the files, or with `over_ties` the best that A and the worst that B can give each document.
    """

    block: RankingBlock
    a: Ints  # rows of the block
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

    @property
    def width(self) -> int:
        """Places of the longest ranking."""
        return self.block.width

    @cached_property
    def unjudged(self) -> Bools:
        return self.block.unknown(self.codes)

    @cached_property
    def counts(self) -> Ints:
        """[row, level]: judged documents of the topic, whether retrieved or not."""
        return self.block.counts[self.block.topic_of(self.a)]

    @cached_property
    def shared(self) -> Ints:
        """[row, column]: a tie group that both have in the same places, or ALONE; ranks of files are their own."""
        if not self.over_all_orders or not self.block.tied.any():
            return np.broadcast_to(np.int64(ALONE), self.codes.shape)
        return _same_groups(self.block, self.a, self.b, self.documents)

    @cached_property
    def levels(self) -> Floats:
        return self.block.levels

    @cached_property
    def unranked(self) -> Evidence:
        """Evidence with a row for each pair and no ranking: what measures ask for grades and counts."""
        codes = np.zeros((len(self), 1), dtype=np.int16)
        return self.block.as_evidence(self.a, codes, lengths=np.zeros(len(self), dtype=np.int64))

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
        some = replace(self, **{name: getattr(self, name)[chosen] for name in BY_ROW})
        for name in ("places_a", "places_b"):
            if name in self.__dict__:  # which take longer to look up again
                some.__dict__[name] = tuple(places[chosen] for places in self.__dict__[name])
        return some

    # -- completions -----------------------------------------------------------------------------------------------

    def judged(self, codes: NDArray[np.int16], others: Ints | None = None) -> tuple[Evidence, Evidence]:
        """Evidence on A and on B if the documents had these codes; what is unjudged still may be anything.

        `others` says how many of the other documents have the greatest level of the judgments.
        """
        levels = len(self.levels)
        new = np.where(self.unjudged & (codes >= JUDGED), codes - JUDGED, levels)
        cells = new + np.arange(len(self))[:, None] * (levels + 1)
        added = np.bincount(cells.ravel(), minlength=len(self) * (levels + 1)).reshape(len(self), levels + 1)[:, :-1]
        counts = self.counts + added
        left = self.others
        if others is not None:
            counts[:, -1] += others
            left = left - others
        still = ((codes == UNJUDGED) | (codes == NEGATIVE)).sum(axis=1)
        sides = []
        for columns, length in ((self.columns_a, self.length_a), (self.columns_b, self.length_b)):
            side = np.take_along_axis(codes, columns, axis=1)
            sides.append(self.block.as_evidence(self.a, side, None, length, counts, still + left))
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

    def _places(self, rows: Ints, rank: Floats) -> tuple[Floats, Floats]:
        first, last = self.block.groups
        return _at_ranks(first, rows, rank), _at_ranks(last, rows, rank)

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

    def _extreme(self, rows: Ints, rank: Floats, gain: Floats, best: bool) -> Floats:
        return _at_ranks(self.block.extreme_ranks(gain, best), rows, rank)


def _at_ranks(values: NDArray[Any], rows: Ints, rank: Floats) -> Floats:
    """[row, column]: of values [row, rank] of the block that at the rank that one of its rows has there, or ABSENT."""
    retrieved = np.isfinite(rank)
    at = rows[:, None] * values.shape[1] + np.where(retrieved, rank, 1).astype(np.int64) - 1
    return np.where(retrieved, np.take(values, at), ABSENT)


def _extreme_ranks(block: RankingBlock, gain: Floats, best: bool) -> Floats:
    """[row, rank]: the rank that the document in each place has at best, or at worst, as `over_ties` says."""
    first, last = block.groups
    extreme = np.broadcast_to(np.arange(1.0, first.shape[1] + 1), first.shape).copy()
    row, column = np.nonzero(last > first)
    if not len(row):
        return extreme
    first, last = first[row, column], last[row, column]
    codes = block.code_rows[row, column]
    worth, unknown = gain[codes], block.unjudged[row, column]
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
