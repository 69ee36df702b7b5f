"""`_rank_eval` of Elasticsearch and OpenSearch: requests hold judgments, responses the rankings and what is judged of
them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from fathoms.base.errors import InputError
from fathoms.data.column_names import Kind
from fathoms.data.formats.base import Content, FileFormat, Match
from fathoms.data.formats.json import JsonFormat, by_topic, check_fits, member, pretty, table_of_triples
from fathoms.data.formats.text import check_whole_grades

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.data.lines import Layout, Table
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run

INDEX = "index"  # to be replaced by the name of one's own
NAMED = 5  # queries that a note names


class RankEval(JsonFormat):
    name = "rank-eval"
    about = (
        "`_rank_eval` of Elasticsearch and OpenSearch: a request has judgments, a response a run and the judgments of "
        "its documents"
    )
    reads = ("run", "qrels", "values")
    writes = ("run", "qrels")
    endings = (".rank_eval.json",)
    carries = frozenset({"scores"})
    loses = "fractional grades"

    def recognise(self, content: Content) -> Match:
        return Match.CERTAIN if _is_request(content.json) or _is_response(content.json) else Match.NO

    def kinds(self, content: Content) -> frozenset[Kind]:
        return frozenset({"qrels"} if _is_request(content.json) else {"run", "qrels"})

    def table(self, data: Any, layout: Layout, source: str, *, lenient: bool) -> Table:
        if _is_request(data):
            if layout.kind == "run":
                raise InputError("is a _rank_eval request, which has no ranking; the response to it has one", source)
            return table_of_triples(list(_request(data, source)), layout, source, lenient=lenient)
        hits = list(_hits(data, source))
        rated = [(hit.topic, hit.document, hit.rating) for hit in hits]
        triples = _scored(hits) if layout.kind == "run" else rated
        table = table_of_triples(triples, layout, source, lenient=lenient)
        table.skipped += _unanswered(data, source)
        return table

    def write(self, data: Run | Qrels, rows: NDArray[np.int64] | None = None) -> bytes:
        check_fits(data, self.name)
        if data.kind == "qrels":
            check_whole_grades(data, "_rank_eval")
            requests = [
                {
                    "id": topic,
                    "request": {"query": {"simple_query_string": {"query": topic}}},
                    "ratings": [{"_index": INDEX, "_id": id, "rating": grade} for id, grade in numbers.items()],
                }
                for topic, numbers in by_topic(data).items()
            ]
            return pretty({"requests": requests, "metric": {"dcg": {"k": 10, "normalize": True}}})
        details = {
            topic: {
                "unrated_docs": [{"_index": INDEX, "_id": id} for id in numbers],
                "hits": [
                    {"hit": {"_index": INDEX, "_id": id, "_score": score}, "rating": None}
                    for id, score in sorted(numbers.items(), key=lambda hit: -hit[1])
                ],
            }
            for topic, numbers in by_topic(data).items()
        }
        return pretty({"details": details, "failures": {}})


def _is_request(data: Any) -> bool:
    requests = data.get("requests") if isinstance(data, Mapping) else None
    first = requests[0] if isinstance(requests, list) and requests else None
    return isinstance(first, Mapping) and not first.keys().isdisjoint({"request", "ratings", "template_id"})


def _is_response(data: Any) -> bool:
    details = _bare(data).get("details")
    first = next(iter(details.values()), None) if isinstance(details, Mapping) else None
    return isinstance(first, Mapping) and not first.keys().isdisjoint({"hits", "unrated_docs"})


def _bare(data: Any) -> Mapping[str, Any]:
    """A response without the object that some put around it."""
    inner = data.get("rank_eval", data) if isinstance(data, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def _request(data: Mapping[str, Any], source: str) -> Iterator[tuple[str, str, Any]]:
    for i, request in enumerate(member(data, "requests", list, "the file", source)):
        place = f"requests[{i}]"
        topic = member(request, "id", (str, int), place, source)
        for j, rating in enumerate(member(request, "ratings", list, place, source)):
            document = member(rating, "_id", (str, int), f"{place}.ratings[{j}]", source)
            yield str(topic), str(document), rating.get("rating")


class _Hit(NamedTuple):
    topic: str
    document: str
    score: Any
    rating: Any
    sorted: bool  # by something else than the score


def _hits(data: Any, source: str) -> Iterator[_Hit]:
    """The hits of all queries, each query's in order."""
    for topic, detail in member(_bare(data), "details", dict, "the file", source).items():
        for i, entry in enumerate(member(detail, "hits", list, f"details.{topic}", source)):
            place = f"details.{topic}.hits[{i}]"
            hit = member(entry, "hit", dict, place, source)
            document = member(hit, "_id", (str, int), f"{place}.hit", source)
            yield _Hit(topic, str(document), hit.get("_score"), entry.get("rating"), "sort" in hit)


def _unanswered(data: Any, source: str) -> list[str]:
    """Queries of a response that brought no documents, which nothing else in it tells of."""
    failures = _bare(data).get("failures")
    empty = [topic for topic, detail in _bare(data)["details"].items() if not detail["hits"]]
    notes = []
    for topics, what in ((list(failures) if isinstance(failures, Mapping) else [], "failed"), (empty, "had no hits")):
        if topics:
            more = f" and {len(topics) - NAMED:,} more" if len(topics) > NAMED else ""
            queries = f"{len(topics):,} quer{'y' if len(topics) == 1 else 'ies'}"
            notes.append(f"{source}: {queries} {what} and left nothing to read: {', '.join(topics[:NAMED])}{more}")
    return notes


def _scored(hits: list[_Hit]) -> list[tuple[str, str, Any]]:
    """Hits with their scores; or with their places from the end if scores do not decide the order of the hits: some
    have none, or say what they are sorted by, or score more than the hit above them."""
    numbers = all(isinstance(hit.score, int | float) and not hit.sorted for hit in hits)
    if numbers and not any(a.topic == b.topic and a.score < b.score for a, b in pairwise(hits)):
        return [(hit.topic, hit.document, hit.score) for hit in hits]
    return [(hit.topic, hit.document, float(len(hits) - i)) for i, hit in enumerate(hits)]


RANK_EVAL: FileFormat = RankEval()
