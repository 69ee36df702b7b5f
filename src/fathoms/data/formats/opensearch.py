"""Judgment lists of OpenSearch's Search Relevance Workbench: as imported, and as its API answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fathoms.base.errors import InputError
from fathoms.data.formats.base import Content, FileFormat, Match
from fathoms.data.formats.json import JsonFormat, by_topic, check_fits, member, pretty, table_of_triples

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.data.lines import Layout, Table
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run

RATINGS = "judgmentRatings"


class OpenSearch(JsonFormat):
    name = "opensearch"
    about = "a judgment list of OpenSearch's Search Relevance Workbench, `judgmentRatings`; ratings are text there"
    reads = ("qrels", "values")
    writes = ("qrels",)
    endings = (".opensearch.json",)

    def recognise(self, content: Content) -> Match:
        return Match.CERTAIN if _lists(content.json) else Match.NO

    def table(self, data: Any, layout: Layout, source: str, *, lenient: bool) -> Table:
        lists = _lists(data)
        if len(lists) != 1:
            raise InputError(f"holds {len(lists)} judgment lists, expected one; keep the one that is meant", source)
        place, judgments = lists[0]
        triples: list[tuple[str, str, Any]] = []
        for i, entry in enumerate(member(judgments, RATINGS, list, place or "the file", source)):
            at = f"{place}{RATINGS}[{i}]"
            query = member(entry, "query", str, at, source)
            for j, rating in enumerate(member(entry, "ratings", list, at, source)):
                document = member(rating, "docId", (str, int), f"{at}.ratings[{j}]", source)
                triples.append((query, str(document), rating.get("rating")))
        return table_of_triples(triples, layout, source, lenient=lenient)

    def write(self, data: Run | Qrels, rows: NDArray[np.int64] | None = None) -> bytes:
        check_fits(data, self.name)
        ratings = [
            {"query": topic, "ratings": [{"docId": id, "rating": repr(float(grade))} for id, grade in grades.items()]}
            for topic, grades in by_topic(data).items()
        ]
        about = {"name": "judgments", "description": "written by fathoms", "type": "IMPORT_JUDGMENT"}
        return pretty({**about, RATINGS: ratings})


def _lists(data: Any) -> list[tuple[str, Any]]:
    """The judgment lists, each with where it stands: the file itself, or the hits of an answer."""
    if not isinstance(data, Mapping):
        return []
    if RATINGS in data:
        return [("", data)]
    source = data.get("_source")
    if isinstance(source, Mapping) and RATINGS in source:
        return [("_source.", source)]
    hits = data["hits"] if isinstance(data.get("hits"), Mapping) else {}
    inner = hits["hits"] if isinstance(hits.get("hits"), list) else []
    return [(f"hits.hits[{i}].{at}", judgments) for i, hit in enumerate(inner) for at, judgments in _lists(hit)]


OPENSEARCH: FileFormat = OpenSearch()
