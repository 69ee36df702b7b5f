"""MTEB's predictions of retrieval tasks: {subset: {split: {query: {document: score}}}}, beside the model's name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fathoms.base.errors import InputError
from fathoms.base.text import pluralise
from fathoms.data.formats.base import Content, FileFormat, Match, ObjectFormat
from fathoms.data.formats.json import JsonFormat, by_topic, check_fits, pretty

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.data.lines import Layout, Table
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run

MODEL = "mteb_model_meta"


class Mteb(JsonFormat):
    name = "mteb"
    about = "MTEB's predictions, `{subset: {split: {query: {document: score}}}}`, of one split of one subset"
    reads = ("run", "values")
    writes = ("run",)
    endings = (".mteb.json",)
    carries = frozenset({"scores"})

    def recognise(self, content: Content) -> Match:
        value = content.json
        if not isinstance(value, dict):
            return Match.NO
        return Match.CERTAIN if MODEL in value else Match.LIKELY if is_mteb(value) else Match.NO

    def table(self, data: Any, layout: Layout, source: str, *, lenient: bool) -> Table:
        return super().table(ranking(data, source), layout, source, lenient=lenient)

    def write(self, data: Run | Qrels, rows: NDArray[np.int64] | None = None) -> bytes:
        check_fits(data, self.name)
        assert data.kind == "run"
        model = {"model_name": data.tag or data.name, "revision": None}
        return pretty({MODEL: model, "default": {"test": by_topic(data)}})


class MtebDict(ObjectFormat):
    name = "mteb-dict"
    about = "a dict of MTEB's predictions"
    reads = ("run", "values")

    def recognise(self, data: Any) -> bool:
        return isinstance(data, Mapping) and is_mteb(data)

    def read(self, data: Any, layout: Layout, source: str, *, lenient: bool) -> Table:
        from fathoms.data import in_memory

        return in_memory.table_of_dict(ranking(data, source), layout, source, lenient=lenient)


def is_mteb(data: Mapping[Any, Any]) -> bool:
    """Four levels deep, whatever they are called; runs have two, and several runs three."""
    depth, inner = 1, next((part for name, part in data.items() if name != MODEL), None)
    while isinstance(inner, Mapping) and inner:
        depth, inner = depth + 1, next(iter(inner.values()))
    return depth == 4


def ranking(data: Mapping[Any, Any], source: str, subset: str | None = None, split: str | None = None) -> Any:
    """One split of one subset; if there are several, the user has to say which."""
    splits = _chosen({str(name): inner for name, inner in data.items() if name != MODEL}, subset, "subset", source)
    if not isinstance(splits, Mapping):
        raise InputError(f"expected {{subset: {{split: ...}}}} as MTEB writes, found {type(splits).__name__}", source)
    return _chosen({str(name): inner for name, inner in splits.items()}, split, "split", source)


def _chosen(parts: Mapping[str, Any], wanted: str | None, what: str, source: str) -> Any:
    names = ", ".join(parts) or "none"
    if wanted is not None and wanted not in parts:
        raise InputError(f"has no {what} {wanted!r}; those it has: {names}", source)
    if wanted is None and len(parts) != 1:
        raise InputError(
            f"holds {pluralise(len(parts), what)} of MTEB's predictions ({names}), expected one; choose with "
            f"`fathoms convert --{what}` or fm.read_mteb(..., {what}=...)",
            source,
        )
    return parts[wanted if wanted is not None else next(iter(parts))]


MTEB: FileFormat = Mteb()
MTEB_DICT: ObjectFormat = MtebDict()
