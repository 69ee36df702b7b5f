"""Runs meet judgments: each ranked document gets its code, each topic its row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base import kernel
from fathoms.data import keys
from fathoms.data.lines import Text
from fathoms.data.qrels import EXCLUDED, JUDGED, PADDING, UNJUDGED, Qrels
from fathoms.data.runs import Run
from fathoms.evidence.evidence import Evidence
from fathoms.evidence.order import Precision, Ties, default_precision, given_ranks, order_rows

if TYPE_CHECKING:
    from fathoms.evidence.pool import Pool
    from fathoms.evidence.universe import Limit


@dataclass(frozen=True)
class Alignment:
    """How runs are aligned with judgments: everything that is the same for all runs of a call."""

    qrels: Qrels
    ties: Ties = "trec"
    precision: Precision | None = None
    unjudged_in_universe: NDArray[np.int64] | None = None  # unjudged documents of all given runs, for each topic
    pool: Pool | None = None
    seed: int = 0
    trace: bool = False  # remember which judgment each place has, so that some can be taken away again
    limit: Limit | None = None  # which unjudged documents are outside the universe; None: none

    @property
    def is_plain(self) -> bool:
        """Whether the evidence on a run depends on no other run, except through the size of the universe."""
        return self.pool is None and self.limit is None

    def __call__(self, run: Run, ties: Ties | None = None, *, present: bool = False) -> Aligned:
        """The evidence on one run, a row for each topic of the qrels, or with `present` for those that the run has
        (under another tie policy if given)."""
        return self.of(self.rank(run, ties), present=present)

    def rank(self, run: Run, ties: Ties | None = None) -> Ranked:
        policy = ties or self.ties
        return rank(run, self.qrels, policy, self.precision or default_precision(policy))

    def of(self, ranked: Ranking, *, present: bool = False) -> Aligned:
        """The evidence on a run that is ranked already."""
        lengths = ranked.lengths
        rows = ranked.answered if present else np.arange(len(lengths))
        # A row without documents is all padding, whichever run it belongs to.
        codes, tied = ranked.code_rows, ranked.tied_rows
        judgment = ranked.judgment_rows if self.trace else None
        depth = None if self.pool is None else ranked.in_rows(self.pool.depth_of(ranked), 0)
        if self.limit is not None:
            codes = ranked.in_rows(np.where(self.limit(ranked), np.int16(EXCLUDED), ranked.codes), PADDING)
        if len(rows) > len(ranked.answered):
            codes, tied = ranked.for_all_topics(codes, PADDING), ranked.for_all_topics(tied, False)
            judgment = None if judgment is None else ranked.for_all_topics(judgment, -1)
            depth = None if depth is None else ranked.for_all_topics(depth, 0)
        evidence = self._evidence(rows, lengths[rows], codes, tied, depth)
        unknown = [topic for topic in ranked.topics if topic not in self.qrels.index]
        if self.qrels.subtopics is not None:
            evidence = replace(evidence, patterns=self._patterns(ranked, codes))
        return Aligned(ranked.name, evidence, np.flatnonzero(lengths == 0), unknown, judgment)

    def _patterns(self, ranked: Ranking, codes: NDArray[np.int16]) -> NDArray[np.int16]:
        """Codes with patterns of grades by subtopic as levels."""
        assert self.qrels.subtopics is not None
        judgment = ranked.judgment_rows
        if len(judgment) < len(codes):
            judgment = ranked.for_all_topics(judgment, -1)
        pattern = np.append(self.qrels.subtopics.pattern, 0)[judgment]
        return np.where(codes >= JUDGED, JUDGED + pattern, codes).astype(np.int16)

    def completed(self, aligned: Aligned) -> Aligned:
        """A run that was aligned without pool and limit, with what this call knows about all runs added."""
        evidence = aligned.evidence
        if self.unjudged_in_universe is not None:
            evidence = replace(evidence, unjudged_in_universe=self.unjudged_in_universe)
        return replace(aligned, evidence=evidence, judgment=aligned.judgment if self.trace else None)

    def empty(self, topics: Sequence[str]) -> Evidence:
        """The evidence on a run that has nothing for these topics."""
        rows = np.array([self.qrels.index[topic] for topic in topics], dtype=np.int64)
        codes = np.full((len(rows), 1), PADDING, dtype=np.int16)
        return self._evidence(rows, np.zeros_like(rows), codes, codes != PADDING, np.zeros(codes.shape, dtype=np.int32))

    def evidence(self, rows: NDArray[np.int64], lengths: NDArray[np.int64], codes: NDArray[np.int16]) -> Evidence:
        """The evidence on rankings without ties, from their codes alone."""
        return self._evidence(rows, lengths, codes, np.zeros(codes.shape, dtype=bool), None)

    def _evidence(
        self,
        rows: NDArray[np.int64],
        lengths: NDArray[np.int64],
        codes: NDArray[np.int16],
        tied: NDArray[np.bool_],
        depth: NDArray[np.int32] | None,
    ) -> Evidence:
        qrels = self.qrels
        return Evidence(
            topics=[qrels.topics[i] for i in rows],
            codes=codes,
            tied=tied,
            lengths=lengths,
            levels=qrels.levels,
            max_grade=qrels.max_grade,
            counts=qrels.counts[rows],
            unjudged_in_universe=None if self.unjudged_in_universe is None else self.unjudged_in_universe[rows],
            pool=None if self.pool is None or depth is None else self.pool.evidence(depth),
            subtopics=qrels.subtopics,
            patterns=None if qrels.subtopics is None else codes,
            topic_numbers=rows,
            seed=self.seed,
        )


@dataclass(frozen=True, eq=False)
class Aligned:
    """Evidence on a run, and where its topics differ from those of the judgments."""

    run: str
    evidence: Evidence
    lacking: NDArray[np.int64]  # judged topics that the run does not answer, as numbered in the qrels
    unknown: list[str]  # topics of the run without judgments
    judgment: NDArray[np.int32] | None = None  # [topic, rank]: row of the qrels, -1 for none; only if traced

    @property
    def answered(self) -> Aligned:
        """The same for the topics that the run answers."""
        if not len(self.lacking):
            return self
        has = self.evidence.lengths > 0
        judgment = None if self.judgment is None else self.judgment[has]
        return replace(self, evidence=self.evidence.select(has), judgment=judgment)

    @property
    def judged(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The judgments that the run has documents of, as rows of the qrels, and the ranks of these."""
        if self.judgment is None:
            raise ValueError("align with trace=True first")
        place = np.nonzero(self.judgment >= 0)
        return self.judgment[place], place[1] + 1


@dataclass(frozen=True, eq=False)
class Ranking:
    """A run's documents of judged topics, by topic and rank, with their codes.

    What is laid out in rows, one for each topic that the run answers, is laid out once.
    """

    name: str  # of the run
    topics: list[str]  # of the run, those without judgments at least
    lengths: NDArray[np.int64]  # documents of each topic of the qrels
    tied: NDArray[np.bool_]
    keys: keys.Keys
    judgment: NDArray[np.int32]  # rows of the qrels, -1 for none
    codes: NDArray[np.int16]

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be laid out again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def documents(self) -> Text:
        raise NotImplementedError

    @property
    def n_topics(self) -> int:
        """Topics of the qrels."""
        return len(self.lengths)

    @property
    def topic(self) -> NDArray[np.int32]:
        """Of each document the topic as numbered in the qrels."""
        return np.repeat(np.arange(self.n_topics, dtype=np.int32), self.lengths)

    @property
    def rank(self) -> NDArray[np.int64]:
        """Of each document, from 1."""
        return np.arange(1, len(self.codes) + 1) - np.repeat(np.cumsum(self.lengths) - self.lengths, self.lengths)

    @property
    def judged(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The judgments that the run has documents of, as rows of the qrels, and the ranks of these."""
        place = np.flatnonzero(self.judgment >= 0)
        return self.judgment[place], self.rank[place]

    @cached_property
    def answered(self) -> NDArray[np.int64]:
        """The topics with documents."""
        return np.flatnonzero(self.lengths)

    @cached_property
    def code_rows(self) -> NDArray[np.int16]:
        return self.in_rows(self.codes, PADDING)

    @cached_property
    def tied_rows(self) -> NDArray[np.bool_]:
        return self.in_rows(self.tied, False)

    @cached_property
    def judgment_rows(self) -> NDArray[np.int32]:
        return self.in_rows(self.judgment, -1)

    def in_rows(self, values: NDArray[Any], fill: object) -> NDArray[Any]:
        """[topic answered, rank]: values of the documents, and `fill` past the end of a ranking."""
        lengths = self.lengths[self.answered]
        width = max(1, int(lengths.max(initial=0)))
        if len(values) == len(lengths) * width:
            return values.reshape(len(lengths), width)
        rows = np.full((len(lengths), width), fill, dtype=values.dtype)
        rows[np.arange(width) < lengths[:, None]] = values
        return rows

    def for_all_topics(self, rows: NDArray[Any], fill: object) -> NDArray[Any]:
        """The same with a row of `fill` for each topic without documents."""
        wide = np.full((self.n_topics, rows.shape[1]), fill, dtype=rows.dtype)
        wide[self.answered] = rows
        return wide


@dataclass(frozen=True, eq=False)
class Ranked(Ranking):
    """A run in the order of a policy."""

    run: Run
    rows: NDArray[np.int64]  # rows of the run

    @property
    def documents(self) -> Text:
        return self.run.documents[self.rows]


def rank(run: Run, qrels: Qrels, ties: Ties, precision: Precision) -> Ranked:
    of_topic = np.array([qrels.index.get(topic, -1) for topic in run.topics], dtype=np.int32)
    topic = of_topic[run.topic]
    lengths = np.bincount(topic + 1, minlength=len(qrels.topics) + 1)[1:]
    columns = _compiled_rank(run, qrels, topic, ties, precision)
    if columns is not None:
        rows, tied, pair_keys, judgment, codes = columns
        return Ranked(run.name, run.topics, lengths, tied, pair_keys, judgment, codes, run, rows)
    rows = np.flatnonzero(topic >= 0)
    rows, tied = order_rows(run, rows, topic[rows], ties, precision)
    topic = topic[rows]
    pair_keys = keys.topic_keys(run.keys[rows], topic)
    judgment = qrels.lookup.find(pair_keys, run.documents, rows)
    # The last code answers for index -1: not judged.
    codes = np.append(qrels.codes, np.int16(UNJUDGED))[judgment]
    return Ranked(run.name, run.topics, lengths, tied, pair_keys, judgment, codes, run, rows)


def _compiled_rank(
    run: Run, qrels: Qrels, topic: NDArray[np.int32], ties: Ties, precision: Precision
) -> kernel.RankedRows | None:
    """What `rank` finds, in one pass of the kernel; None if there is none."""
    tables = qrels.tables
    if tables is None:
        return None
    by_rank = ties == "rank"
    return kernel.rank_rows(
        tables,
        topic,
        given_ranks(run) if by_rank else run.scores,
        run.documents,
        run.keys,
        sorts=ties != "run",
        descending=not by_rank,
        single=not by_rank and precision == "float32",
        break_ties="documents" if ties in ("trec", "expected") else "second" if ties == "score-rank" else "none",
        second=given_ranks(run) if ties == "score-rank" else None,
    )


def reranked(ranked: Ranked, ties: Ties, precision: Precision) -> Ranked:
    """The same documents in the order of another policy; nothing is looked up again."""
    place, tied = other_order(ranked, ties, precision)
    return replace(
        ranked,
        rows=ranked.rows[place],
        tied=tied,
        keys=ranked.keys[place],
        judgment=ranked.judgment[place],
        codes=ranked.codes[place],
    )


def other_order(ranked: Ranked, ties: Ties, precision: Precision) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """For each place under another policy, where its document stands now; and which are tied with the one before."""
    at = np.empty(len(ranked.run), dtype=np.int64)  # by row of the run
    at[ranked.rows] = np.arange(len(ranked.rows))
    rows = np.sort(ranked.rows)
    rows, tied = order_rows(ranked.run, rows, ranked.topic[at[rows]], ties, precision)
    return at[rows], tied
