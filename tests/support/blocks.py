"""Random small cases, and the block of evidence that holds them, one case a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fathoms.data.qrels import JUDGED, NEGATIVE, PADDING, UNJUDGED
from fathoms.evidence.evidence import Evidence, PoolEvidence
from fathoms.evidence.pool import NEVER
from tests.support.slow import Case, Doc


def random_case(
    rng: np.random.Generator,
    *,
    gmax: int = 1,
    most: int = 8,
    unjudged: int = 4,
    ties: float = 0.0,
    outside: int = 3,
    negative: bool = True,
) -> Case:
    """A ranking of up to `most` documents, at most `unjudged` documents without a grade in all."""
    budget = unjudged
    group = 0
    ranking = []

    def grade() -> float | None:
        nonlocal budget
        if budget and rng.random() < 0.4:
            budget -= 1
            return -1.0 if negative and rng.random() < 0.3 else None
        return float(rng.integers(0, gmax + 1)) if rng.random() < 0.5 else 0.0

    for place in range(int(rng.integers(0, most + 1))):
        if place and rng.random() >= ties:
            group += 1
        # A run that contributed has each document pooled at its own rank or above.
        pooled_at = int(rng.integers(1, place + 2)) if rng.random() < 0.7 else None
        ranking.append(Doc(grade(), group, pooled_at))
    others = [
        Doc(grade(), 0, int(rng.integers(1, 9)) if rng.random() < 0.7 else None)
        for _ in range(int(rng.integers(0, outside + 1)))
    ]
    return Case(tuple(ranking), tuple(others), gmax)


def block(cases: Sequence[Case]) -> Evidence:
    """The cases as evidence; they must share their greatest grade."""
    everything = [doc for case in cases for doc in case.ranking + case.outside]
    levels = np.unique([0.0] + [doc.grade for doc in everything if doc.grade is not None and doc.grade >= 0])
    width = max([1] + [len(case.ranking) for case in cases])
    codes = np.full((len(cases), width), PADDING, dtype=np.int16)
    tied = np.zeros((len(cases), width), dtype=bool)
    depth = np.zeros((len(cases), width), dtype=np.int32)
    counts = np.zeros((len(cases), len(levels)), dtype=np.int64)
    judged: list[tuple[int, int, int]] = []
    unknown: list[tuple[int, int]] = []

    def code(doc: Doc) -> int:
        if doc.grade is None:
            return UNJUDGED
        return NEGATIVE if doc.grade < 0 else JUDGED + int(np.searchsorted(levels, doc.grade))

    for row, case in enumerate(cases):
        for column, doc in enumerate(case.ranking):
            codes[row, column] = code(doc)
            tied[row, column] = column > 0 and doc.group == case.ranking[column - 1].group
            depth[row, column] = NEVER if doc.pooled_at is None else doc.pooled_at
        for doc in case.ranking + case.outside:
            pooled_at = NEVER if doc.pooled_at is None else doc.pooled_at
            if doc.judged:
                counts[row, code(doc) - JUDGED] += 1
                judged.append((row, pooled_at, code(doc)))
            elif doc.pooled_at is not None:
                unknown.append((row, pooled_at))
    judged_rows = np.array(judged, dtype=np.int32).reshape(-1, 3)
    unknown_rows = np.array(unknown, dtype=np.int32).reshape(-1, 2)
    return Evidence(
        topics=[str(row) for row in range(len(cases))],
        codes=codes,
        tied=tied,
        lengths=np.array([len(case.ranking) for case in cases]),
        levels=levels,
        max_grade=float(cases[0].gmax),
        counts=counts,
        unjudged_in_universe=np.array([sum(not doc.judged for doc in case.ranking + case.outside) for case in cases]),
        pool=PoolEvidence(
            depth=depth,
            judged_depth=judged_rows[:, 1],
            judged_topic=judged_rows[:, 0],
            judged_code=judged_rows[:, 2].astype(np.int16),
            unjudged_depth=unknown_rows[:, 1],
            unjudged_topic=unknown_rows[:, 0],
        ),
        topic_numbers=np.arange(len(cases)),
    )
