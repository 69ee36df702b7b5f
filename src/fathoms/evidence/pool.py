"""Pools: the documents that stand in the top k of any contributing run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from fathoms.data import keys, widths
from fathoms.data.lines import Text
from fathoms.data.qrels import JUDGED, PADDING, UNJUDGED, Qrels
from fathoms.data.runs import Run
from fathoms.data.topics import topic_order
from fathoms.evidence.evidence import Evidence, PoolEvidence
from fathoms.evidence.order import Precision, Ties

if TYPE_CHECKING:
    from fathoms.evidence.align import Aligned, Ranked

NEVER = np.iinfo(np.int32).max  # the depth of a document that no contributing run retrieved
BATCH = 4_000_000  # rows gathered before those of one document are made one


@dataclass(frozen=True, eq=False)
class Pool:
    """The least depth at which any contributing run has each document."""

    qrels: Qrels
    lookup: keys.Lookup
    depth: NDArray[np.int32]  # one a pooled document
    judged_depth: NDArray[np.int32]  # one a judgment
    unjudged_topic: NDArray[np.int32]  # one a pooled document without judgment
    unjudged_depth: NDArray[np.int32]

    def depth_of(self, ranked: Ranked) -> NDArray[np.int32]:
        found = self.lookup.find(ranked.keys, ranked.run.documents[ranked.rows])
        return np.where(found >= 0, self.depth[found], NEVER).astype(np.int32)

    def evidence(self, depth: NDArray[np.int32]) -> PoolEvidence:
        return PoolEvidence(
            depth=depth,
            judged_depth=self.judged_depth,
            judged_topic=self.qrels.topic,
            judged_code=self.qrels.codes,
            unjudged_depth=self.unjudged_depth,
            unjudged_topic=self.unjudged_topic,
        )


def make_pool(rankings: Iterable[Ranked], qrels: Qrels, depth: int) -> Pool:
    """Pool the top `depth` of each ranking; what lies deeper is not looked at."""
    topic, pair_keys, documents, least = _gathered(_rows(ranked, ranked.rank <= depth) for ranked in rankings)
    judgment = qrels.lookup.find(pair_keys, documents)
    judged_depth = np.full(len(qrels), NEVER, dtype=np.int32)
    judged_depth[judgment[judgment >= 0]] = least[judgment >= 0]
    # A negative grade leaves its document unjudged.
    unknown = (judgment < 0) | (qrels.grades[judgment] < 0)
    return Pool(
        qrels=qrels,
        lookup=keys.Lookup(pair_keys, documents),
        depth=least,
        judged_depth=judged_depth,
        unjudged_topic=topic[unknown],
        unjudged_depth=least[unknown],
    )


Rows = tuple[NDArray[np.int32], keys.Keys, Text, NDArray[np.int32]]  # topic, key, document, depth


def _rows(ranked: Ranked, chosen: NDArray[np.bool_]) -> Rows:
    at = np.flatnonzero(chosen)
    documents = ranked.run.documents[ranked.rows[at]]
    return ranked.topic[at], ranked.keys[at], documents, ranked.rank[at].astype(np.int32)


def _gathered(parts: Iterable[Rows]) -> Rows:
    """The union of many parts, made whenever enough of them have come."""
    waiting: list[Rows] = []
    for part in parts:
        waiting.append(part)
        if sum(len(one[0]) for one in waiting[1:]) > BATCH:
            waiting = [union(waiting)]
    return union(waiting)


def union(parts: list[Rows]) -> Rows:
    """Each document once, at its least depth."""
    topics, keys_of_pairs, ids, depths = zip(*parts, strict=True)
    topic, pair_keys, depth = (np.concatenate(column) for column in (topics, keys_of_pairs, depths))
    documents = widths.joined(ids)
    order = np.argsort(pair_keys)
    ordered = pair_keys[order]
    again = 1 + np.flatnonzero(ordered[1:] == ordered[:-1])
    first = np.ones(len(order), dtype=bool)
    first[again] = False
    if (documents[order[again]] != documents[order[again - 1]]).any():
        # One key for two documents: about never, and settled by the strings.
        order = np.lexsort((documents, pair_keys))
        first[1:] = pair_keys[order[1:]] != pair_keys[order[:-1]]
        first[1:] |= documents[order[1:]] != documents[order[:-1]]
    start = np.flatnonzero(first)
    kept = order[start]
    least = np.minimum.reduceat(depth[order], start) if len(start) else depth
    return topic[kept], pair_keys[kept], documents[kept], least


def judged_depths(rankings: Iterable[Ranked], qrels: Qrels) -> NDArray[np.int32]:
    """For each judgment the least depth of its document in any of the rankings, NEVER where none has it."""
    depth = np.full(len(qrels), NEVER, dtype=np.int32)
    for ranked in rankings:
        found = ranked.judgment >= 0
        row = ranked.judgment[found]
        depth[row] = np.minimum(depth[row], ranked.rank[found])
    return depth


def least_depths(aligned: Iterable[Aligned], n_judgments: int) -> NDArray[np.int32]:
    """For each judgment the least depth at which any of the runs has its document, NEVER where none has it."""
    depths = np.full(n_judgments, NEVER, dtype=np.int32)
    for one in aligned:
        judgment = one.judgment
        if judgment is None:
            raise ValueError("align with trace=True first")
        column = np.broadcast_to(np.arange(1, judgment.shape[1] + 1, dtype=np.int32), judgment.shape)
        found = judgment >= 0
        depths[judgment[found]] = np.minimum(depths[judgment[found]], column[found])
    return depths


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


PrefixOrder = Literal["file", "shuffle"]


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
    found = order[depth[order] < NEVER]
    chosen = np.zeros(len(order), dtype=bool)
    if per_topic:
        kept = prefix_by_topic(order, topic, budget or 0)
        chosen[found] = kept[found]
    else:
        chosen[found[:budget]] = True
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
    from fathoms.evidence.align import rank

    names = list(dict.fromkeys(topic for run in runs for topic in run.topics))
    topics = [names[i] for i in topic_order(names)]
    nothing = np.empty(0, dtype=np.int32)
    blank = Qrels(topics, nothing, np.empty(0, dtype="S8"), np.empty(0))
    parts = []
    for run in runs:
        ranked = rank(run, blank, ties, precision)
        top = np.flatnonzero(ranked.rank <= (depth or NEVER))
        documents = run.documents[ranked.rows[top]]
        parts.append((ranked.topic[top], ranked.keys[top], documents, ranked.rank[top].astype(np.int32)))
    topic, _, documents, least = union(parts)
    by_id = np.lexsort((documents, topic))
    topic, documents, least = topic[by_id], documents[by_id], least[by_id]
    rng = None if seed is None else np.random.default_rng(seed)
    order = prefix_order(least, rng)
    order = order[_chosen(order, topic, least, depth, budget, per_topic)[order]]
    order = order[np.argsort(topic[order], kind="stable")]
    return [(topics[topic[i]], documents[i].decode(errors="surrogateescape"), int(least[i])) for i in order]
