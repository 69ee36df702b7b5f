"""Judgments by their id in ir_datasets, where that package is installed: `irds:trec-robust04`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fathoms.base.errors import InputError
from fathoms.data.formats.base import ObjectFormat

if TYPE_CHECKING:
    from fathoms.data.lines import Layout, Table

PREFIX = "irds:"


class Irds(ObjectFormat):
    name = "irds"
    about = "`irds:ID` for judgments of ir_datasets"
    reads = ("qrels",)
    in_python = False

    def recognise(self, data: Any) -> bool:
        """Is this an id: with the prefix, or without it but known to the package? What is a file is none."""
        if not isinstance(data, str) or data == "-" or os.path.exists(data):
            return False
        return data.startswith(PREFIX) or _is_known(data)

    def read(self, data: Any, layout: Layout, source: str, *, lenient: bool) -> Table:
        """The judgments of a dataset; the package fetches them the first time."""
        from fathoms.data.formats.frames import ROWS

        id = data.removeprefix(PREFIX)
        try:
            rows: list[Any] = list(_dataset(id, data).qrels_iter())
        except InputError:
            raise
        except Exception as error:  # whatever goes wrong with a connection, a disk or an archive
            raise InputError(
                f"ir_datasets could not fetch the judgments ({type(error).__name__}: {error}); its page on {id} may "
                "say what they need, or give a qrels file",
                data,
            ) from None
        return ROWS.read(rows, layout, data, lenient=lenient)


def _is_known(name: str) -> bool:
    try:
        import ir_datasets
    except ImportError:
        return False
    try:
        return ir_datasets.registry[name] is not None
    except Exception:  # it knows whole families of ids by a pattern, and each has objections of its own
        return False


def _dataset(id: str, name: str) -> Any:
    try:
        import ir_datasets
    except ImportError:
        raise InputError("the package ir_datasets is not installed; `pip install ir_datasets` adds it", name) from None
    try:
        dataset = ir_datasets.load(id)
    except KeyError:
        import difflib

        near = difflib.get_close_matches(id, list(ir_datasets.registry), n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else "; `ir_datasets list` shows those it knows"
        raise InputError(f"ir_datasets knows no dataset {id!r}{hint}", name) from None
    if not dataset.has_qrels():
        inside = [known for known in ir_datasets.registry if known.startswith(f"{id}/") and _has_qrels(known)]
        hint = f"; these have: {', '.join(inside[:5])}{', ...' if len(inside) > 5 else ''}" if inside else ""
        raise InputError(f"the dataset {id} has no judgments{hint}", name)
    return dataset


def _has_qrels(id: str) -> bool:
    import ir_datasets

    return bool(ir_datasets.load(id).has_qrels())


IRDS: ObjectFormat = Irds()
