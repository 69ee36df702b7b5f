"""Quepid's ratings: CSV with names of its own, and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathoms.data.column_names import plain
from fathoms.data.formats.base import Content, FileFormat, Match
from fathoms.data.formats.csv import Csv, names_of
from fathoms.data.formats.json import JsonFormat, by_topic, check_fits, member, pretty, table_of_triples
from fathoms.data.formats.text import named_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.data.lines import Layout, Table
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run

RATINGS = {"topic": "query", "document": "docid", "grade": "rating"}
# What it exports, what it exported once, and the start of its detailed export and of its snapshots.
HEADERS = (("query", "docid", "rating"), ("query", "doc_id", "rating"))
STARTS = (
    ("team_name", "case_name", "case_id", "query_text", "doc_id"),
    ("snapshot_name", "snapshot_time", "case_id", "query_text", "doc_id", "doc_position"),
)


class Quepid(Csv):
    name = "quepid"
    about = "Quepid's ratings, `query,docid,rating`; its detailed export and its snapshots (runs) are read too"
    writes = ("qrels",)
    endings = (".quepid.csv",)
    carries = frozenset({"ranks"})

    def recognise(self, content: Content) -> Match:
        names = tuple(map(plain, names_of(content)))
        ours = names in HEADERS or any(names[: len(start)] == start for start in STARTS)
        return Match.CERTAIN if ours else Match.NO

    def write(self, data: Run | Qrels, rows: NDArray[np.int64] | None = None) -> bytes:
        return named_rows(data, RATINGS, ",")


class QuepidJson(JsonFormat):
    name = "quepid-json"
    about = 'Quepid\'s ratings as JSON, `{"queries": [{"query": ..., "ratings": {document: rating}}]}`'
    reads = ("qrels", "values")
    writes = ("qrels",)
    endings = (".quepid.json",)

    def recognise(self, content: Content) -> Match:
        queries = content.json.get("queries") if isinstance(content.json, dict) else None
        first = queries[0] if isinstance(queries, list) and queries else None
        ours = isinstance(first, dict) and "query" in first and first.keys() <= {"query", "ratings"}
        return Match.CERTAIN if ours else Match.NO

    def table(self, data: Any, layout: Layout, source: str, *, lenient: bool) -> Table:
        triples: list[tuple[str, str, Any]] = []
        for i, entry in enumerate(member(data, "queries", list, "the file", source)):
            query = member(entry, "query", str, f"queries[{i}]", source)
            ratings = entry.get("ratings") or {}
            if ratings:
                ratings = member(entry, "ratings", dict, f"queries[{i}]", source)
            triples += [(query, document, rating) for document, rating in ratings.items()]
        return table_of_triples(triples, layout, source, lenient=lenient)

    def write(self, data: Run | Qrels, rows: NDArray[np.int64] | None = None) -> bytes:
        check_fits(data, self.name)
        return pretty({"queries": [{"query": topic, "ratings": ratings} for topic, ratings in by_topic(data).items()]})


QUEPID: FileFormat = Quepid()
QUEPID_JSON: FileFormat = QuepidJson()
