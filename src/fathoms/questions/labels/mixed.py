"""Does one file of judgments mix people and a model?

If a model judged what people had not, its grades are on documents of the runs that came later, and often on a scale of
their own. So a grade that only some runs' documents have is suspected: if grades were dealt out by chance, it would
hardly ever happen that all documents of one grade were found by these runs alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fathoms.evidence.candidates import DocumentTable
from fathoms.evidence.evidence import Bools, Ints

FEWEST = 10  # documents of a grade
CHANCE = 1e-6
MOST_RUNS = 0.5  # of the runs; more than this are not a special kind
DEPTH = 100  # ranks in which a run counts as having found a document


@dataclass(frozen=True)
class OddGrade:
    """A grade that only some runs' documents have."""

    grade: float
    documents: int
    runs: tuple[str, ...]


def odd_grades(documents: DocumentTable, levels: list[float], level: Ints) -> list[OddGrade]:
    """`level` is the place of each document's grade in `levels`, -1 where not judged."""
    width = min(DEPTH, documents.depth)
    has = np.zeros((len(documents.names), len(documents) + 1), dtype=bool)
    for system, place in enumerate(documents.place):
        has[system, place[:, :width]] = True
    has = has[:, :-1]
    retrieved = (level >= 0) & has.any(axis=0)
    odd = []
    for number, grade in enumerate(levels):
        of_grade = retrieved & (level == number)
        n = int(of_grade.sum())
        if n < FEWEST:
            continue
        runs: Bools = np.asarray(has[:, of_grade].any(axis=1))
        if not 0 < runs.sum() <= MOST_RUNS * len(runs):
            continue
        alone: Bools = retrieved & ~has[~runs].any(axis=0)
        if (alone & of_grade).sum() < n:  # others have them too
            continue
        if float(alone[retrieved].mean()) ** n < CHANCE:
            names = tuple(name for name, use in zip(documents.names, runs.tolist(), strict=True) if use)
            odd.append(OddGrade(float(grade), n, names))
    return odd
