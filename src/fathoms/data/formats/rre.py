"""Ratings of the Rated Ranking Evaluator: topics, groups of queries, queries, and the documents relevant to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fathoms.base.errors import InputError
from fathoms.data.formats.base import Content, FileFormat, Match
from fathoms.data.formats.json import JsonFormat, by_topic, check_fits, json_text, member, pretty, table_of_triples

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.data.lines import Layout, Table
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run

LEVELS = ("topics", "query_groups", "queries")  # any of the first two may be missing
RELEVANT, PLACEHOLDERS = "relevant_documents", "placeholders"
QUERY = "$query"


class Rre(JsonFormat):
    name = "rre"
    about = (
        "ratings of the Rated Ranking Evaluator: `topics`, `query_groups`, `queries` and `relevant_documents`, by "
        "document (`gain`) or by gain"
    )
    reads = ("qrels", "values")
    writes = ("qrels",)
    endings = (".rre.json",)

    def recognise(self, content: Content) -> Match:
        return Match.CERTAIN if _has_queries(content.json) else Match.NO

    def table(self, data: Any, layout: Layout, source: str, *, lenient: bool) -> Table:
        name = data.get("query_placeholder", QUERY) if isinstance(data, Mapping) else QUERY
        gain_of: dict[tuple[str, str], Any] = {}
        first: dict[str, tuple[Any, dict[str, Any]]] = {}  # by query: its placeholders and gains where it stands first
        for query, relevant, place, placeholders in _queries(data, None, "", source, str(name)):
            gains = list(_gains(relevant, place, source))
            others, judged = first.setdefault(query, (placeholders, dict(gains)))
            if others != placeholders and judged != dict(gains) and not lenient:
                raise InputError(
                    f"{place}: query {query!r} has the placeholders {json_text(placeholders)}, but "
                    f"{json_text(others)} where it occurs before, with other documents; the topic is what the query's "
                    "placeholder holds, so give the two different words (--lenient reads them as one query)",
                    source,
                )
            for document, gain in gains:
                before = gain_of.setdefault((query, document), gain)
                if before != gain and not lenient:
                    raise InputError(
                        f"{place}: query {query!r}, document {document!r} has gain {json_text(gain)}, but "
                        f"{json_text(before)} where the query occurs before; decide on one (--lenient keeps the first)",
                        source,
                    )
        return table_of_triples([(*pair, gain) for pair, gain in gain_of.items()], layout, source, lenient=lenient)

    def write(self, data: Run | Qrels, rows: NDArray[np.int64] | None = None) -> bytes:
        check_fits(data, self.name)
        groups = [
            {
                "name": topic,
                "queries": [{"template": "query.json", PLACEHOLDERS: {QUERY: topic}}],
                RELEVANT: {document: {"gain": gain} for document, gain in grades.items()},
            }
            for topic, grades in by_topic(data).items()
        ]
        topics = [{"description": "judgments", "query_groups": groups}]
        return pretty({"index": "index", "id_field": "id", "topics": topics})


def _has_queries(data: Any) -> bool:
    """Whether the first entry of the first list, of the first list in it, and so on, is a query with placeholders."""
    while isinstance(data, dict) and PLACEHOLDERS not in data:
        lists = (data[level] for level in LEVELS if level in data)
        data = next((entries[0] for entries in lists if isinstance(entries, list) and entries), None)
    return isinstance(data, dict)


def _queries(
    data: Any, relevant: Any, place: str, source: str, name: str
) -> Iterator[tuple[str, Mapping[str, Any], str, Mapping[str, Any]]]:
    """Each query's text, the relevant documents of it or of the group it is in, where it stands, and all its
    placeholders."""
    if not isinstance(data, Mapping):
        raise InputError(f"{place or 'the file'}: expected an object, found {json_text(data)}", source)
    relevant = data.get(RELEVANT, relevant)
    level = next((level for level in LEVELS if level in data), None)
    if level is not None:
        for i, entry in enumerate(member(data, level, list, place or "the file", source)):
            yield from _queries(entry, relevant, f"{place}{'.' if place else ''}{level}[{i}]", source, name)
    elif PLACEHOLDERS in data or relevant is not None:
        placeholders = member(data, PLACEHOLDERS, dict, place, source)
        text = _text(placeholders, place, source, name)
        yield text, member({RELEVANT: relevant or {}}, RELEVANT, dict, place, source), place, placeholders


def _text(placeholders: Mapping[str, Any], place: str, source: str, name: str) -> str:
    if name not in placeholders and len(placeholders) == 1:
        name = next(iter(placeholders))
    if name not in placeholders:
        names = ", ".join(placeholders) or "none"
        raise InputError(f"{place}: expected a placeholder {name} with the words of the query, found {names}", source)
    return str(placeholders[name])


def _gains(relevant: Mapping[str, Any], place: str, source: str) -> Iterator[tuple[str, Any]]:
    for key, value in relevant.items():
        if isinstance(value, list):
            yield from ((str(document), key) for document in value)
        elif isinstance(value, Mapping) and "gain" in value:
            yield key, value["gain"]
        else:
            raise InputError(
                f"{place}: expected {RELEVANT} as {{document: {{'gain': number}}}} or {{gain: [document, ...]}}, found "
                f"{json_text({key: value})}",
                source,
            )


RRE: FileFormat = Rre()
