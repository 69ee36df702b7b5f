"""What can be done with a measure, as its class says: for `fathoms measures`, the reference page and refusals."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fathoms.evidence.evidence import Evidence
from fathoms.measures.base import Measure

Ties = Literal["closed form", "simulated", "none"]
Estimate = Literal["all methods", "no gain models", "none"]


def tie_values(measure: Measure) -> Ties:
    """How the mean over the orders of tied documents is found; none where their order changes nothing."""
    if not measure.depends_on_order:
        return "none"
    return "simulated" if type(measure).expected is Measure.expected else "closed form"


def estimates(measure: Measure) -> Estimate:
    """Which methods of `fathoms predict` there are: all need a range, models of gain by rank `predicted` too."""
    if measure.range_is == "none" or measure.needs_subtopics:
        return "none"
    return "no gain models" if type(measure).predicted is Measure.predicted else "all methods"


def largest_value(measure: Measure) -> float:
    """The most that a ranking of a thousand documents of grade 0 or 1 could have; inf where there is no bound."""
    width = 1000
    evidence = Evidence(
        topics=["1"],
        codes=np.zeros((1, width), dtype=np.int16),
        tied=np.zeros((1, width), dtype=bool),
        lengths=np.array([width]),
        levels=np.array([0.0, 1.0]),
        max_grade=1.0,
        counts=np.zeros((1, 2), dtype=np.int64),
    )
    return float(measure.largest(evidence)[0])
