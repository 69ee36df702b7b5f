"""Judgments by their id in ir_datasets, where that package is installed: `irds:trec-robust04`."""

from __future__ import annotations

import os
from typing import Any

from fathoms.data.trec import QRELS, Table
from fathoms.errors import InputError

PREFIX = "irds:"


def knows(name: str) -> bool:
    """Is this an id: with the prefix, or without it but known to the package? What is a file is none."""
    if name == "-" or os.path.exists(name):
        return False
    if name.startswith(PREFIX):
        return True
    try:
        import ir_datasets
    except ImportError:
        return False
    try:
        return ir_datasets.registry[name] is not None
    except Exception:  # it knows whole families of ids by a pattern, and each has objections of its own
        return False


def table_of(name: str, *, lenient: bool = False) -> Table:
    """The judgments of a dataset; the package fetches them the first time."""
    from fathoms.data import columns

    id = name.removeprefix(PREFIX)
    try:
        rows: list[Any] = list(_dataset(id, name).qrels_iter())
    except InputError:
        raise
    except Exception as error:  # whatever goes wrong with a connection, a disk or an archive
        raise InputError(
            f"ir_datasets could not fetch the judgments ({type(error).__name__}: {error}); its page on {id} may say "
            "what they need, or give a qrels file",
            name,
        ) from None
    return columns.table_of(rows, QRELS, name, lenient=lenient)


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
