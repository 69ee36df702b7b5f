"""Runs cut far above where others end: measures that read deeper do not compare like with like."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

TIMES = 10  # as many documents a topic as the shortest run has, from which on a run is far longer


def usual_length(counts: NDArray[np.integer]) -> int:
    """The median number of documents of the topics that a run answers."""
    answered = counts[counts > 0]
    return int(np.median(answered)) if len(answered) else 0


def cut_short(lengths: Mapping[str, int]) -> tuple[str, str] | None:
    """The shortest and the longest of some runs, where one is far longer than the other."""
    known = {name: length for name, length in lengths.items() if length}
    if len(known) < 2:
        return None
    short, long = min(known, key=lambda name: known[name]), max(known, key=lambda name: known[name])
    return (short, long) if TIMES * known[short] <= known[long] else None
