"""One door for all input: whatever form a run or qrels comes in, it leaves here as a table of columns."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NoReturn

from fathoms.base.errors import InputError, memory_for
from fathoms.base.files import read_bytes
from fathoms.data.formats import registry
from fathoms.data.formats.base import Content, Match
from fathoms.data.formats.text import unclear_header

if TYPE_CHECKING:
    from fathoms.data.column_names import Kind
    from fathoms.data.lines import Layout, Table

WORDS: dict[Kind, str] = {"run": "a run", "qrels": "judgments", "values": "values"}
BETWEEN_TABS = (
    "if tabs stand between the columns and blanks are part of ids, put a first line with the names of the columns "
    "above, such as topic<TAB>document<TAB>grade"
)


def load(source: Any, layout: Layout, *, lenient: bool = False, name: str | None = None) -> Table:
    """Rows of a file name, or of a frame, dict or list of tuples (`name` says what to call those in messages)."""
    if isinstance(source, os.PathLike):
        source = os.fspath(source)
    with memory_for(f"reading {source if isinstance(source, str) else name or layout.kind}"):
        return _loaded(source, layout, lenient, name)


def _loaded(source: Any, layout: Layout, lenient: bool, name: str | None) -> Table:
    format = registry.of_object(source, layout.kind)
    if format is not None:
        return format.read(source, layout, name or layout.kind, lenient=lenient)
    if not isinstance(source, str):
        _refuse_object(source, layout.kind, name)
    return parse(read_bytes(source), layout, "standard input" if source == "-" else source, lenient=lenient)


def parse(raw: bytes, layout: Layout, source: str, *, lenient: bool = False) -> Table:
    """The bytes themselves say what they are; if they fit no format, the error lists those that can be read."""
    content = Content(raw)
    format, match = registry.recognise(content, [layout.kind])
    try:
        return format.read(content, layout, source, lenient=lenient)
    except InputError as error:
        if match > Match.POSSIBLE or content.line is None:
            raise
        if unclear := unclear_header(content, layout.kind):
            raise InputError(unclear, source) from None
        names = ", ".join(format.name for format in registry.readable(layout.kind))
        if _has_blanks_between_tabs(content):
            raise InputError(f"{error.message}; {BETWEEN_TABS}", error.source, error.line) from None
        message = f"{error.message}; formats that are read as {WORDS[layout.kind]}: {names}"
        raise InputError(message, error.source, error.line) from None


def _has_blanks_between_tabs(content: Content) -> bool:
    fields = content.line[0].split(b"\t") if content.line is not None and content.container == "text" else []
    return len(fields) > 2 and any(b" " in field.strip() for field in fields)


def _refuse_object(data: Any, kind: Kind, name: str | None) -> NoReturn:
    able = "; ".join(format.about for format in registry.objects() if kind in format.reads)
    raise InputError(
        f"cannot read {WORDS[kind]} from {type(data).__name__}; give the name of a file, or one of these: {able}",
        name or kind,
    )
