"""JSON as {topic: {document: number}}, and what all dialects of JSON share: reading it while watching for repeated
keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fathoms.base.errors import InputError
from fathoms.base.text import pluralise
from fathoms.data.column_names import QRELS_NAMES, RUN_NAMES, Kind, choice_note, is_known, kinds_by_names
from fathoms.data.formats.base import HEAD, Content, FileFormat, Match

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.data.lines import Layout, Table
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run


class JsonFormat(FileFormat):
    """A dialect of JSON: it recognises its form in `content.json`, and turns what was parsed into rows."""

    container = "json"

    def table(self, data: Any, layout: Layout, source: str, *, lenient: bool) -> Table:
        """The rows of the whole value, or of a list of values where the file has one per line."""
        return table_of(data, layout, source, lenient=lenient)

    def read(self, content: Content, layout: Layout, source: str, *, lenient: bool) -> Table:
        data, skipped = parsed(content.raw, source, lenient=lenient)
        table = self.table(data, layout, source, lenient=lenient)
        if skipped:
            more = "; ..." if len(skipped) > 3 else ""
            what = pluralise(len(skipped), "bad part")
            table.skipped.append(f"{source}: skipped {what}: {'; '.join(skipped[:3])}{more}")
        return table

    def kinds(self, content: Content) -> frozenset[Kind]:
        if not {"run", "qrels"} <= set(self.reads):
            return super().kinds(content)  # there is nothing to tell apart
        head = content.raw[:HEAD].decode(errors="replace").lower()
        return kinds_by_names(name for name in RUN_NAMES | QRELS_NAMES if f'"{name}":' in head)


class Json(JsonFormat):
    name = "json"
    about = (
        "`{topic: {document: number}}`, for ranx, BEIR and pytrec_eval; a run also as `{topic: [document, ...]}`, best "
        "first"
    )
    reads = ("run", "qrels", "values")
    writes = ("run", "qrels")
    endings = (".json",)
    carries = frozenset({"scores"})

    def recognise(self, content: Content) -> Match:
        value = content.json
        return Match.LIKELY if isinstance(value, dict) and value and _is_by_topic(value) else Match.POSSIBLE

    def kinds(self, content: Content) -> frozenset[Kind]:
        return frozenset({"run"}) if are_rankings(content.json) else super().kinds(content)

    def write(self, data: Run | Qrels, rows: NDArray[np.int64] | None = None) -> bytes:
        import json

        from fathoms.data import columns

        check_fits(data, self.name)
        # Compact, but a topic a line, so that people can look into it.
        lines = (f"{json.dumps(topic)}: {json.dumps(ranking)}" for topic, ranking in columns.nested(data).items())
        return ("{" + ",\n ".join(lines) + "}\n").encode()


def member(data: Any, name: str, of: type | tuple[type, ...], place: str, source: str) -> Any:
    """What an object holds under a name; an error says where in the file it should have been."""
    value = data.get(name) if isinstance(data, Mapping) else None
    if not isinstance(value, of) or isinstance(value, bool):
        words = {dict: "an object", list: "a list", str: "text", int: "a number"}
        expected = words[of[0] if isinstance(of, tuple) else of]
        what = "nothing" if value is None else json_text(value)
        raise InputError(f"{place}: expected {name!r} with {expected}, found {what}", source)
    return value


def json_text(value: Any) -> str:
    import json

    text = json.dumps(value)
    return text if len(text) < 60 else text[:60] + "..."


def table_of_triples(triples: list[tuple[str, str, Any]], layout: Layout, source: str, *, lenient: bool) -> Table:
    """Rows of topic, document and number; a number may be written as text, and a document without a grade is not
    judged."""
    from fathoms.data import in_memory

    names = ("topic", "document", layout.number)
    by_name = dict(zip(names, map(list, zip(*triples, strict=True)), strict=True)) if triples else {}
    if not by_name:
        raise InputError(f"has no rows; expected a {layout.kind}", source)
    return in_memory.table_of_columns(by_name, layout, source, lenient=lenient, sparse=True)


def pretty(value: Any) -> bytes:
    import json

    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def by_topic(data: Run | Qrels) -> dict[str, dict[str, float]]:
    """What `json` writes, for other dialects."""
    from fathoms.data import columns

    return columns.nested(data)


def _is_by_topic(data: dict[str, Any]) -> bool:
    return _is_nested(data) or are_rankings(data)


def are_rankings(data: Any) -> bool:
    """Lists of documents by topic, best first."""
    return (
        isinstance(data, Mapping)
        and len(data) > 0
        and all(isinstance(ranking, list) for ranking in data.values())
        and all(isinstance(document, str | int) for ranking in data.values() for document in ranking)
        and not any(is_known(str(name)) for name in data)
    )


def _is_nested(data: dict[str, Any]) -> bool:
    """Rankings by topic: objects in an object, with nothing but numbers in them."""
    inner = (value for ranking in data.values() if isinstance(ranking, dict) for value in ranking.values())
    return all(isinstance(ranking, dict) for ranking in data.values()) and not any(
        isinstance(value, dict | list) for value in inner
    )


def table_of(data: Any, layout: Layout, source: str, *, lenient: bool) -> Table:
    """Rows of an object of rankings by topic, or of a list of records."""
    from fathoms.data import columns, in_memory

    if layout.kind == "run" and are_rankings(data):
        return in_memory.table_of_rankings(data, layout, source, lenient=lenient)
    if isinstance(data, Mapping) and not is_record(data):
        return in_memory.table_of_dict(data, layout, source, lenient=lenient, sparse=True)
    rows = [data] if isinstance(data, Mapping) else data
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise InputError("expected a list of records or an object {topic: {document: number}}", source)
    table = columns.table_of_rows(rows, layout, source, lenient=lenient, sparse=True)
    table.skipped += choice_note(layout.number, dict.fromkeys(name for row in rows for name in row), source)
    return table


def is_record(data: Any) -> bool:
    """A row with named columns, and not an object of rankings."""
    return (
        isinstance(data, Mapping)
        and any(is_known(str(name)) for name in data)
        and not any(isinstance(value, Mapping) for value in data.values())
    )


def parsed(raw: bytes, source: str, *, lenient: bool) -> tuple[Any, list[str]]:
    """The value of a file, or the list of them if it has one per line; and what was skipped."""
    import json

    repeated: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """An object with the first of equal keys; json itself would keep the last one and say nothing."""
        first_values: dict[str, Any] = {}
        for key, value in pairs:
            if key in first_values:
                repeated.append(key)
            else:
                first_values[key] = value
        return first_values

    skipped: list[str] = []
    try:
        data = json.loads(raw, object_pairs_hook=once)
    except (ValueError, RecursionError) as whole:
        repeated.clear()
        data = []
        for number, line in enumerate(raw.splitlines(), 1):
            try:
                data += [json.loads(line, object_pairs_hook=once)] if line.strip() else []
            except (ValueError, RecursionError) as error:
                if not data:  # not one record a line, so what was wrong with the whole counts
                    place = whole.lineno if isinstance(whole, json.JSONDecodeError) else None
                    raise InputError(f"is not valid JSON: {reason(whole)}", source, place) from None
                if not lenient:
                    raise InputError(f"is not valid JSON: {reason(error)}", source, number) from None
                skipped.append(f"line {number}: {reason(error)}")
    if repeated:
        message = f"the key {repeated[0]!r} occurs twice in one object"
        if not lenient:
            raise InputError(f"{message}; --lenient keeps the first", source)
        skipped.append(f"{pluralise(len(repeated), 'repeated key')}, kept the first ({message})")
    return data, skipped


def reason(error: Exception) -> str:
    """What is wrong with a text that is not JSON, or not JSON that Python reads."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if "integer string conversion" in str(error):
        return "it holds a whole number of thousands of digits"
    return getattr(error, "msg", None) or str(error)


def check_fits(data: Run | Qrels, to: str) -> None:
    """Refuse ids and numbers that JSON cannot express."""
    import numpy as np
    import polars as pl

    from fathoms.data import columns

    if pl.Binary in columns.exact_frame(data).dtypes:
        raise InputError(
            f"has ids that are not valid UTF-8, so {to} cannot carry them; parquet and trec can", data.source
        )
    numbers = [data.scores, data.ranks] if data.kind == "run" else []
    if any(column is not None and np.isinf(column).any() for column in numbers):
        raise InputError(f"has infinite numbers, which {to} cannot carry; parquet and trec can", data.source)


JSON: FileFormat = Json()
