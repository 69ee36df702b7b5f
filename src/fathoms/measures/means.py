"""One figure for many topics, as each measure is averaged."""

from __future__ import annotations

import numpy as np

from fathoms.evidence.evidence import Floats
from fathoms.measures.base import Measure, Scores


def mean_scores(measure: Measure, scores: Scores) -> dict[str, float | None]:
    means = {name: aggregate(measure, getattr(scores, name)) for name in Scores.COLUMNS}
    if measure.aggregate == "geometric" and means["tie_low"] != means["tie_high"]:
        means["tie_expected"] = None  # the mean of a geometric mean is not that of its topics' means
    return means


def aggregate(measure: Measure, column: Floats | None) -> float | None:
    if column is None:
        return None
    if not len(column):
        return 0.0
    if measure.aggregate == "sum":
        return float(column.sum())
    if measure.aggregate == "geometric":
        return float(np.exp(np.log(column).mean()))
    return float(column.mean())
