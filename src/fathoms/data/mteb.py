"""A run from MTEB's predictions, where they hold several subsets or splits."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from fathoms.base.errors import InputError
from fathoms.base.files import read_bytes
from fathoms.data.file_names import stem
from fathoms.data.formats.json import parsed
from fathoms.data.formats.mteb import ranking
from fathoms.data.runs import Run, read_run


def read_mteb(source: Any, *, subset: str | None = None, split: str | None = None, name: str | None = None) -> Run:
    """A run from MTEB's predictions, a file or a dict {subset: {split: {query: {document: score}}}}.

    >>> import fathoms as fm
    >>> fm.read_mteb({"en": {"dev": {"q": {"d": 1.0}}, "test": {"q": {"d": 2.0}}}}, split="test").scores.tolist()
    [2.0]
    """
    label = "predictions"
    if not isinstance(source, Mapping):
        label = os.fspath(source)
        source, _ = parsed(read_bytes(label), label, lenient=False)
        if not isinstance(source, Mapping):
            raise InputError(f"expected an object as MTEB writes, found {type(source).__name__}", label)
        name = name or stem(label)
    return read_run(ranking(source, label, subset, split), name=name or "run")
