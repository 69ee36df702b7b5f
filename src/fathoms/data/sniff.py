"""A run or judgments? Decided by content, where that is safe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathoms.data.files import opened, read_bytes
from fathoms.data.formats import registry
from fathoms.data.formats.base import HEAD, Content

if TYPE_CHECKING:
    from fathoms.data.column_names import Kind


def kind_of(path: str) -> Kind | None:
    """By the number of columns or by their names; None where both are possible."""
    try:
        with opened(path) as file:
            raw = file.read(HEAD)
    except Exception:  # each codec has exceptions of its own
        raw = read_bytes(path)  # which says what is wrong
    content = Content(raw, path)
    if content.line is None:
        return None
    format, _ = registry.recognise(content, ("run", "qrels"))
    found = format.kinds(content) & {"run", "qrels"}
    return next(iter(found)) if len(found) == 1 else None
