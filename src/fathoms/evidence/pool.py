"""Pools: the documents that stand in the top k of any contributing run, and what all given runs leave unjudged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fathoms.data import keys
from fathoms.data.qrels import Qrels
from fathoms.data.trec import Text
from fathoms.evidence.evidence import PoolEvidence

if TYPE_CHECKING:
    from fathoms.evidence.align import Ranked

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
    topic = np.empty(0, dtype=np.int32)
    pair_keys = np.empty(0, dtype=np.uint64)
    documents = np.empty(0, dtype="S8")
    least = np.empty(0, dtype=np.int32)
    for ranked in rankings:
        top = ranked.rank <= depth
        topic = np.concatenate([topic, ranked.topic[top]])
        pair_keys = np.concatenate([pair_keys, ranked.keys[top]])
        documents = np.concatenate([documents, ranked.run.documents[ranked.rows[top]]])
        least = np.concatenate([least, ranked.rank[top].astype(np.int32)])
        kept = _shallowest(pair_keys, documents, least)
        topic, pair_keys, documents, least = topic[kept], pair_keys[kept], documents[kept], least[kept]
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


def _shallowest(pair_keys: keys.Keys, documents: Text, depth: NDArray[np.int32]) -> NDArray[np.int64]:
    """Of the rows of each document the one of least depth."""
    order = np.lexsort((depth, pair_keys))
    ordered = pair_keys[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = ordered[1:] != ordered[:-1]
    strangers = ~first[1:] & (documents[order[1:]] != documents[order[:-1]])
    if strangers.any():  # one key for two documents: about never, and settled by the strings
        order = np.lexsort((depth, documents, pair_keys))
        ordered_documents = documents[order]
        first[1:] = (pair_keys[order[1:]] != pair_keys[order[:-1]]) | (ordered_documents[1:] != ordered_documents[:-1])
    return order[first]


def unjudged_of_all(rankings: Iterable[Ranked], qrels: Qrels) -> NDArray[np.int64]:
    """How many distinct documents of any given run are unjudged, a number a topic (for universe=given)."""
    pool = make_pool(rankings, qrels, np.iinfo(np.int32).max)
    return np.bincount(pool.unjudged_topic, minlength=len(qrels.topics))
