"""Labels of umbrela and of language models that answer in its form: a record a line, with query, passage, the model's
answer and the label found in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fathoms.base.errors import InputError
from fathoms.base.text import pluralise
from fathoms.data.column_names import column_for
from fathoms.data.formats.base import Content, FileFormat, Match
from fathoms.data.formats.json import JsonFormat, check_fits, json_text, table_of_triples

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.data.lines import Layout, Table
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run

LABEL, STATUS = "judgment", "result_status"
MARKS = ({LABEL, "prediction"}, {LABEL, STATUS})


class Umbrela(JsonFormat):
    name = "umbrela"
    about = (
        "umbrela's labels, records with `query` or `qid`, `docid` or `passage`, and `judgment`; those of "
        "`result_status` 0 are left out"
    )
    reads = ("qrels", "values")
    writes = ("qrels",)
    endings = (".umbrela.jsonl",)

    def recognise(self, content: Content) -> Match:
        value = content.json
        first = value[0] if isinstance(value, list) and value else value
        return Match.CERTAIN if isinstance(first, dict) and any(mark <= first.keys() for mark in MARKS) else Match.NO

    def table(self, data: Any, layout: Layout, source: str, *, lenient: bool) -> Table:
        triples: list[tuple[str, str, Any]] = []
        failed = texts = 0
        for number, record in enumerate([data] if isinstance(data, Mapping) else data, 1):
            if not isinstance(record, Mapping) or LABEL not in record:
                raise InputError(f"record {number}: expected {LABEL!r}, found {json_text(record)}", source)
            if not _has_label(record, number, source):
                failed += 1
                continue
            topic, document = _topic(record), _document(record)
            if topic is None or document is None:
                missing = "`qid` or `query`" if topic is None else "`docid` or `passage`"
                raise InputError(f"record {number}: expected {missing}, found {', '.join(map(str, record))}", source)
            texts += column_for("document", record) is None
            triples.append((topic, document, record[LABEL]))
        table = table_of_triples(triples, layout, source, lenient=lenient)
        if failed:
            table.skipped.append(
                f"{source}: {pluralise(failed, 'record')} with {STATUS} 0 left out: no label was found in the answer, "
                "and the 0 there is none"
            )
        if texts:
            table.skipped.append(
                f"{source}: {pluralise(texts, 'record')} without a document's id; the text of the passage is taken as "
                "its id. Add `docid` (and `qid`) to the records, so that they are of the documents of runs"
            )
        return table

    def write(self, data: Run | Qrels, rows: NDArray[np.int64] | None = None) -> bytes:
        import json

        check_fits(data, self.name)
        assert data.kind == "qrels"
        records = (
            {"model": "", "query": topic, "qid": topic, "docid": document, "prediction": "", LABEL: grade, STATUS: 1}
            for topic, document, grade in data.to_frame().iter_rows()
        )
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def _has_label(record: Mapping[str, Any], number: int, source: str) -> bool:
    """What the status says, written as a number or as text; a record without one has a label."""
    status = str(record.get(STATUS, 1)).strip()
    try:
        return float({"True": "1", "False": "0"}.get(status, status)) != 0
    except ValueError:
        shown = json_text(record[STATUS])
        raise InputError(f"record {number}: expected {STATUS!r} of 0 or 1, found {shown}", source) from None


def _topic(record: Mapping[str, Any]) -> str | None:
    """The query's id, or its words where it has none."""
    query = record.get("query")
    if isinstance(query, Mapping):
        query = query.get("qid", query.get("text"))
    name = column_for("topic", (str(key) for key in record if key != "query"))
    id = query if name is None else record[name]
    return None if id is None else str(id)


def _document(record: Mapping[str, Any]) -> str | None:
    """The document's id, or the words of the passage where it has none."""
    name = column_for("document", map(str, record))
    id = record.get("passage") if name is None else record[name]
    return None if id is None else str(id)


UMBRELA: FileFormat = Umbrela()
