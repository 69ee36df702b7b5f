"""Which dots of a chart get their names: those far from the others, and no two in the same place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fathoms.base.arrays import Floats

MOST = 6
FAR = 3.0  # robust standard deviations
APART = (0.16, 0.05)  # shares of the width and the height that a name takes


def outlying(x: Sequence[float], y: Sequence[float], most: int = MOST) -> set[int]:
    """The places of the dots to name, the furthest first; all of them where they are few."""
    if not len(x):
        return set()
    across, up = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    distance = np.maximum(_distance(across), _distance(up))
    chosen: list[int] = []
    for place in np.argsort(-distance, kind="stable").tolist():
        far = len(x) <= most or distance[place] >= FAR
        if len(chosen) == most or not far:
            break
        if all(_apart(across, place, other, APART[0]) or _apart(up, place, other, APART[1]) for other in chosen):
            chosen.append(place)
    return set(chosen)


def _distance(values: Floats) -> Floats:
    """From the median, in robust standard deviations."""
    away = np.abs(values - np.median(values))
    spread = 1.4826 * np.median(away)
    return away / spread if spread > 0 else np.where(away > 0, np.inf, 0.0)


def _apart(values: Floats, place: int, other: int, share: float) -> bool:
    return bool(abs(values[place] - values[other]) >= share * max(float(np.ptp(values)), 1e-300))
