"""What files are read as, and what columns are called in frames, records and lines that name them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Kind = Literal["run", "qrels", "values"]  # values: a number for each of some documents, of whatever meaning

NAMES = {
    "topic": ("topic", "query_id", "qid", "q_id", "query", "query-id", "topic_id"),
    "document": ("document", "doc", "doc_id", "docno", "docid", "corpus-id", "corpus_id", "pid", "passage_id"),
    "score": ("score", "sim", "similarity"),
    "rank": ("rank",),
    "grade": ("grade", "relevance", "rel", "label", "score"),
    "value": ("value", "score", "label", "grade", "relevance", "rel", "probability"),
}
KNOWN = {name for names in NAMES.values() for name in names} | {"run", "tag"}
# Names that only one of the two has.
RUN_NAMES = {"rank", "tag", "sim", "similarity"}
QRELS_NAMES = set(NAMES["grade"]) - {"score"}


def kinds_by_names(names: Iterable[str]) -> frozenset[Kind]:
    """Run or qrels, or both where the names of the columns leave it open."""
    found = set(names)
    run, qrels = bool(found & RUN_NAMES), bool(found & QRELS_NAMES)
    if run == qrels:
        return frozenset({"run", "qrels"})
    return frozenset({"run"}) if run else frozenset({"qrels"})
