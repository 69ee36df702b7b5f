"""What a file is called once folder, compression and format are left out."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from fathoms.base.files import PACKED_ENDINGS
from fathoms.data.formats import registry


def stem(path: str | os.PathLike[str]) -> str:
    """The file's name without folder, compression and endings of formats: `runs/bm25.run.gz` is `bm25`."""
    name = Path(path).name
    known = (*PACKED_ENDINGS, *registry.endings())
    while True:
        for ending in known:
            if name.lower().endswith(ending) and len(name) > len(ending):
                name = name[: -len(ending)]
                break
        else:
            return name


def run_named(name: str, names: Collection[str]) -> str | None:
    """The run that somebody means: by its name, its file, or the end of its name if no other ends so."""
    for whole in (name, stem(name)):
        if whole in names:
            return whole
    ends = [other for other in names if other.endswith(name) and not other.removesuffix(name)[-1:].isalnum()]
    return ends[0] if name and len(ends) == 1 else None
