"""Runs meet judgments: each ranked document gets its code, each topic its row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathoms.data import keys
from fathoms.data.qrels import PAST, UNJUDGED, Qrels
from fathoms.data.runs import Run
from fathoms.evidence.evidence import Evidence
from fathoms.evidence.order import Precision, Ties, default_precision, order_rows
from fathoms.evidence.pool import Pool


@dataclass(frozen=True)
class Alignment:
    """How runs are brought into line with judgments: everything that is the same for all runs of a call."""

    qrels: Qrels
    ties: Ties = "trec"
    precision: Precision | None = None
    given: NDArray[np.int64] | None = None  # unjudged documents of all given runs, a number a topic
    pool: Pool | None = None
    seed: int = 0
    trace: bool = False  # remember which judgment each place has, so that some can be taken away again

    def __call__(self, run: Run, ties: Ties | None = None) -> Aligned:
        """The evidence on one run, a row for each topic of the qrels (under another tie policy where given)."""
        policy = ties or self.ties
        ranked = rank(run, self.qrels, policy, self.precision or default_precision(policy))
        qrels = self.qrels
        lengths = np.bincount(ranked.topic, minlength=len(qrels.topics))
        width = max(1, int(lengths.max(initial=0)))
        codes = _block(ranked.codes, ranked.topic, lengths, width, PAST)
        tied = _block(ranked.tied, ranked.topic, lengths, width, False)
        pool = None
        if self.pool is not None:
            depth = _block(self.pool.depth_of(ranked), ranked.topic, lengths, width, 0)
            pool = self.pool.evidence(depth)
        evidence = Evidence(
            topics=qrels.topics,
            codes=codes,
            tied=tied,
            lengths=lengths,
            levels=qrels.levels,
            max_grade=qrels.max_grade,
            counts=qrels.counts,
            given=self.given,
            pool=pool,
            topic_numbers=np.arange(len(qrels.topics)),
            seed=self.seed,
        )
        judgment = _block(ranked.judgment, ranked.topic, lengths, width, -1) if self.trace else None
        unknown = [topic for topic in run.topics if topic not in qrels.index]
        missing = [topic for topic, length in zip(qrels.topics, lengths, strict=True) if not length]
        return Aligned(run.name, evidence, missing, unknown, judgment)


@dataclass(frozen=True, eq=False)
class Aligned:
    """Evidence on a run, and where its topics and those of the judgments differ."""

    run: str
    evidence: Evidence
    missing: list[str]  # judged topics the run says nothing of
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
    rows = np.flatnonzero(topic >= 0)
    rows, tied = order_rows(run, rows, topic[rows], ties, precision)
    topic = topic[rows]
    pair_keys = keys.topic_keys(run.keys[rows], topic)
    judgment = qrels.lookup.find(pair_keys, run.documents, rows)
    # The last code answers for index -1: not judged.
    codes = np.append(qrels.codes, np.int16(UNJUDGED))[judgment]
    starts = np.searchsorted(topic, np.arange(len(qrels.topics)))
    return Ranked(run, rows, topic, np.arange(len(rows)) - starts[topic] + 1, tied, pair_keys, judgment, codes)


def _block(values: NDArray, topic: NDArray, lengths: NDArray, width: int, fill: object) -> NDArray:  # type: ignore[type-arg]
    """Values in order of topic and rank as rows of one width."""
    if len(values) == len(lengths) * width:
        return values.reshape(len(lengths), width)
    block = np.full((len(lengths), width), fill, dtype=values.dtype)
    block[np.arange(width) < lengths[:, None]] = values
    return block
