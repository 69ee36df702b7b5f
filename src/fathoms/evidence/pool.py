"""Pools: the documents that stand in the top k of any contributing run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fathoms.base.choices import PrefixOrder as PrefixOrder
from fathoms.data import keys
from fathoms.data.qrels import JUDGED, PADDING, UNJUDGED, Qrels
from fathoms.data.runs import Run
from fathoms.evidence.candidates import DocumentTable, candidates
from fathoms.evidence.evidence import Evidence, PoolEvidence
from fathoms.evidence.order import Precision, Ties

if TYPE_CHECKING:
    from fathoms.evidence.align import Aligned, Ranked, Ranking

NEVER = np.iinfo(np.int32).max  # the depth of a document that no contributing run retrieved


@dataclass(frozen=True, eq=False)
class Pool:
    """The least depth at which any contributing run has each document."""

    qrels: Qrels
    lookup: keys.Lookup
    depth: NDArray[np.int32]  # one a pooled document
    judged_depth: NDArray[np.int32]  # one a judgment
    unjudged_topic: NDArray[np.int32]  # one a pooled document without judgment
    unjudged_depth: NDArray[np.int32]

    def depth_of(self, ranked: Ranking) -> NDArray[np.int32]:
        pool_row = self.lookup.find(ranked.keys, ranked.documents)
        return np.where(pool_row >= 0, self.depth[pool_row], NEVER).astype(np.int32)

    def evidence(self, depth: NDArray[np.int32]) -> PoolEvidence:
        return PoolEvidence(
            depth=depth,
            judged_depth=self.judged_depth,
            judged_topic=self.qrels.topic,
            judged_code=self.qrels.codes,
            unjudged_depth=self.unjudged_depth,
            unjudged_topic=self.unjudged_topic,
        )


def make_pool(pooled: DocumentTable, qrels: Qrels) -> Pool:
    """The pool that these documents are, those of the contributing runs to some depth."""
    least = pooled.least_ranks()[0].astype(np.int32)
    judged = pooled.judgment >= 0
    judged_depth = np.full(len(qrels), NEVER, dtype=np.int32)
    judged_depth[pooled.judgment[judged]] = least[judged]
    unknown = ~pooled.judged  # a negative grade leaves its document unjudged
    return Pool(
        qrels=qrels,
        lookup=pooled.lookup,
        depth=least,
        judged_depth=judged_depth,
        unjudged_topic=pooled.topic[unknown],
        unjudged_depth=least[unknown],
    )


def judged_depths(rankings: Iterable[Ranked | Aligned], qrels: Qrels) -> NDArray[np.int32]:
    """For each judgment the least depth of its document in any of the rankings, NEVER where none has it."""
    depth = np.full(len(qrels), NEVER, dtype=np.int32)
    for ranking in rankings:
        row, rank = ranking.judged
        depth[row] = np.minimum(depth[row], rank)
    return depth


# -- fewer judgments ------------------------------------------------------------------------------------------


def with_judgments(
    aligned: Aligned, qrels: Qrels, kept: NDArray[np.bool_], counts: NDArray[np.int64] | None = None
) -> Evidence:
    """The evidence on a run if only some of the judgments (True in `kept`) had been made.

    `counts` are those of the kept judgments, `qrels.count(kept)`: for many runs they need counting only once.
    """
    if aligned.judgment is None:
        raise ValueError("align with trace=True first")
    known = kept[aligned.judgment] & (aligned.judgment >= 0)
    evidence = aligned.evidence
    codes = np.where(known | (evidence.codes == PADDING), evidence.codes, np.int16(UNJUDGED))
    pool = None if evidence.pool is None else _pool_with_judgments(evidence.pool, kept)
    if counts is None:
        counts = qrels.count(kept)
    # Other runs have unjudged documents too then; how many is not known here, and ranges are over the run's own.
    return replace(evidence, codes=codes, counts=counts, unjudged_in_universe=None, pool=pool, _cache={})


def _pool_with_judgments(pool: PoolEvidence, kept: NDArray[np.bool_]) -> PoolEvidence:
    """The pool has the same documents; those whose judgments are gone are unjudged in it."""
    gone = ~kept & (pool.judged_code >= JUDGED)
    return replace(
        pool,
        judged_depth=np.where(kept, pool.judged_depth, np.int32(NEVER)),
        unjudged_depth=np.append(pool.unjudged_depth, pool.judged_depth[gone]),
        unjudged_topic=np.append(pool.unjudged_topic, pool.judged_topic[gone]),
    )


def prefix_order(depth: NDArray[np.int32], rng: np.random.Generator | None = None) -> NDArray[np.int64]:
    """Judgments in order of the least depth of their document over the contributing runs (RM section 4).

    Inside one depth by position in the file, or shuffled if there is a generator: on real data one depth holds more
    documents than a small prefix.
    """
    inside = np.arange(len(depth)) if rng is None else rng.permutation(len(depth))
    return np.lexsort((inside, depth))


def prefix(order: NDArray[np.int64], n: int) -> NDArray[np.bool_]:
    """The first n judgments of an order, as a mask."""
    kept = np.zeros(len(order), dtype=bool)
    kept[order[:n]] = True
    return kept


def prefix_by_topic(order: NDArray[np.int64], topic: NDArray[np.int32], n: int) -> NDArray[np.bool_]:
    """The first n judgments of each topic, as a mask."""
    kept = np.zeros(len(order), dtype=bool)
    by_topic = order[np.argsort(topic[order], kind="stable")]
    counts = np.bincount(topic)
    place = np.arange(len(order)) - (np.cumsum(counts) - counts)[topic[by_topic]]
    kept[by_topic[place < n]] = True
    return kept


# -- pools as a tool ------------------------------------------------------------------------------------------


def _chosen(
    order: NDArray[np.int64],
    topic: NDArray[np.int32],
    depth: NDArray[np.int32],
    limit: int | None,
    budget: int | None,
    per_topic: bool,
) -> NDArray[np.bool_]:
    if limit is not None:
        return depth <= limit
    pooled = order[depth[order] < NEVER]
    chosen = np.zeros(len(order), dtype=bool)
    if per_topic:
        kept = prefix_by_topic(order, topic, budget or 0)
        chosen[pooled] = kept[pooled]
    else:
        chosen[pooled[:budget]] = True
    return chosen


def pool_judgments(
    rankings: Iterable[Ranked],
    qrels: Qrels,
    *,
    depth: int | None = None,
    budget: int | None = None,
    per_topic: bool = False,
    seed: int | None = None,
) -> NDArray[np.bool_]:
    """Which judgments a pool of that depth, or of that many documents, would have had."""
    depths = judged_depths(rankings, qrels)
    rng = None if seed is None else np.random.default_rng(seed)
    return _chosen(prefix_order(depths, rng), qrels.topic, depths, depth, budget, per_topic)


def pool_documents(
    runs: Sequence[Run],
    ties: Ties,
    precision: Precision,
    *,
    depth: int | None = None,
    budget: int | None = None,
    per_topic: bool = False,
    seed: int | None = None,
) -> list[tuple[str, str, int]]:
    """Topic, document and least depth of what is to be judged, topic by topic and shallowest first."""
    table = candidates(dict(zip(map(str, range(len(runs))), runs, strict=True)), depth, ties, precision)
    topic, least = table.topic, table.least_ranks()[0].astype(np.int32)
    rng = None if seed is None else np.random.default_rng(seed)
    order = prefix_order(least, rng)
    order = order[_chosen(order, topic, least, depth, budget, per_topic)[order]]
    order = order[np.argsort(topic[order], kind="stable")]
    return [(table.topics[topic[i]], table.documents[i].decode(errors="surrogateescape"), int(least[i])) for i in order]
