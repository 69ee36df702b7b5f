"""A run or judgments? Decided by content, where that is safe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathoms.base.files import opened, read_bytes
from fathoms.data.formats import registry
from fathoms.data.formats.base import HEAD, Content, Match
from fathoms.data.formats.values import VALUES

if TYPE_CHECKING:
    from fathoms.data.column_names import Kind


def kind_of(path: str) -> Kind | None:
    """By the number of columns or by their names; None where both are possible."""
    return _kind(_head(path))


def is_run_not_labels(path: str) -> bool:
    """Whether a file is a run, if it could also hold labels: lines of three columns are labels then, and not MS MARCO's
    ranks."""
    content = _head(path)
    return _kind(content) == "run" and not (content.container == "text" and VALUES.recognise(content) > Match.POSSIBLE)


def _head(path: str) -> Content:
    try:
        with opened(path) as file:
            raw = file.read(HEAD)
    except Exception:  # each codec has exceptions of its own
        raw = read_bytes(path)  # which says what is wrong
    return Content(raw, path)


def _kind(content: Content) -> Kind | None:
    if content.line is None:
        return None
    format, _ = registry.recognise(content, ("run", "qrels"))
    kinds = format.kinds(content) & {"run", "qrels"}
    return next(iter(kinds)) if len(kinds) == 1 else None
