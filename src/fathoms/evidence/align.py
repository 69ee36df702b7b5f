"""Runs meet judgments: each ranked document gets its code, each topic its row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fathoms import kernel
from fathoms.data import keys
from fathoms.data.qrels import EXCLUDED, PADDING, UNJUDGED, Qrels
from fathoms.data.runs import Run
from fathoms.evidence.evidence import Evidence
from fathoms.evidence.order import Precision, Ties, default_precision, given_ranks, order_rows

if TYPE_CHECKING:
    from fathoms.evidence.pool import Pool
    from fathoms.evidence.universe import Limit


@dataclass(frozen=True)
class Alignment:
    """How runs are brought into line with judgments: everything that is the same for all runs of a call."""

    qrels: Qrels
    ties: Ties = "trec"
    precision: Precision | None = None
    unjudged_in_universe: NDArray[np.int64] | None = None  # unjudged documents of all given runs, for each topic
    pool: Pool | None = None
    seed: int = 0
    trace: bool = False  # remember which judgment each place has, so that some can be taken away again
    limit: Limit | None = None  # which unjudged documents are outside the universe; None: none

    def __call__(self, run: Run, ties: Ties | None = None, *, present: bool = False) -> Aligned:
        """The evidence on one run, a row for each topic of the qrels, or with `present` for those that the run has
        (under another tie policy where given)."""
        return self.of(self.rank(run, ties), present=present)

    def rank(self, run: Run, ties: Ties | None = None) -> Ranked:
        policy = ties or self.ties
        return rank(run, self.qrels, policy, self.precision or default_precision(policy))

    def of(self, ranked: Ranked, *, present: bool = False) -> Aligned:
        """The evidence on a run that is ranked already."""
        qrels, run = self.qrels, ranked.run
        lengths = np.bincount(ranked.topic, minlength=len(qrels.topics))
        lacking = np.flatnonzero(lengths == 0)
        unknown = [topic for topic in run.topics if topic not in qrels.index]
        rows = np.flatnonzero(lengths) if present else np.arange(len(lengths))
        lengths = lengths[rows]
        width = max(1, int(lengths.max(initial=0)))
        depth = None if self.pool is None else _block(self.pool.depth_of(ranked), lengths, width, 0)
        known = ranked.codes
        if self.limit is not None:
            known = np.where(self.limit(ranked), np.int16(EXCLUDED), known)
        codes, tied = _block(known, lengths, width, PADDING), _block(ranked.tied, lengths, width, False)
        judgment = _block(ranked.judgment, lengths, width, -1) if self.trace else None
        return Aligned(run.name, self._evidence(rows, lengths, codes, tied, depth), lacking, unknown, judgment)

    def empty(self, topics: Sequence[str]) -> Evidence:
        """What is known of a run that has nothing for these topics."""
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
            topic_numbers=rows,
            seed=self.seed,
        )


@dataclass(frozen=True, eq=False)
class Aligned:
    """Evidence on a run, and where its topics and those of the judgments differ."""

    run: str
    evidence: Evidence
    lacking: NDArray[np.int64]  # judged topics the run says nothing of, as numbered in the qrels
    unknown: list[str]  # topics of the run without judgments
    judgment: NDArray[np.int32] | None = None  # [topic, rank]: row of the qrels, -1 for none; only if traced


@dataclass(frozen=True, eq=False)
class Ranked:
    """A run's documents of judged topics, by topic and rank, with their codes."""

    run: Run
    rows: NDArray[np.int64]  # rows of the run
    topic: NDArray[np.int32]  # topics as numbered in the qrels
    rank: NDArray[np.int64]  # from 1
    tied: NDArray[np.bool_]
    keys: keys.Keys
    judgment: NDArray[np.int32]  # rows of the qrels, -1 for none
    codes: NDArray[np.int16]


def rank(run: Run, qrels: Qrels, ties: Ties, precision: Precision) -> Ranked:
    of_topic = np.array([qrels.index.get(topic, -1) for topic in run.topics], dtype=np.int32)
    topic = of_topic[run.topic]
    found = _compiled_rank(run, qrels, topic, ties, precision)
    if found is not None:
        return Ranked(run, *found)
    rows = np.flatnonzero(topic >= 0)
    rows, tied = order_rows(run, rows, topic[rows], ties, precision)
    topic = topic[rows]
    pair_keys = keys.topic_keys(run.keys[rows], topic)
    judgment = qrels.lookup.find(pair_keys, run.documents, rows)
    # The last code answers for index -1: not judged.
    codes = np.append(qrels.codes, np.int16(UNJUDGED))[judgment]
    return Ranked(run, rows, topic, _from_one(topic, len(qrels.topics)), tied, pair_keys, judgment, codes)


def _compiled_rank(
    run: Run, qrels: Qrels, topic: NDArray[np.int32], ties: Ties, precision: Precision
) -> kernel.RankedRows | None:
    """What `rank` finds, in one pass of the kernel; None where there is none."""
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


def _from_one(topic: NDArray[np.int32], n_topics: int) -> NDArray[np.int64]:
    """Ranks from 1 for rows in order of topic."""
    starts = np.searchsorted(topic, np.arange(n_topics))
    ranks: NDArray[np.int64] = np.arange(len(topic)) - starts[topic] + 1
    return ranks


def _block(values: NDArray[Any], lengths: NDArray[np.int64], width: int, fill: object) -> NDArray[Any]:
    """Values in order of topic and rank as rows of one width."""
    if len(values) == len(lengths) * width:
        return values.reshape(len(lengths), width)
    block = np.full((len(lengths), width), fill, dtype=values.dtype)
    block[np.arange(width) < lengths[:, None]] = values
    return block
