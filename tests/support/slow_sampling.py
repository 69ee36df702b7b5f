"""Estimates from samples as plain loops over one topic, from NIST's description of sample_eval; no code of ours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Judgments = Mapping[str, tuple[str, int]]  # document: its stratum and its grade, negative where sampled out
SMALL = 0.00001


def counts(judgments: Judgments) -> dict[str, tuple[int, int]]:
    """Documents and sampled documents of each stratum."""
    found: dict[str, tuple[int, int]] = {}
    for stratum, grade in judgments.values():
        size, drawn = found.get(stratum, (0, 0))
        found[stratum] = (size + 1, drawn + (grade >= 0))
    return found


def number_relevant(judgments: Judgments, of_grade: int | None = None) -> float:
    """Estimated documents of a grade above 0, or of one grade."""
    sizes = counts(judgments)
    total = 0.0
    for stratum, (size, drawn) in sizes.items():
        grades = [grade for one, grade in judgments.values() if one == stratum]
        hits = sum(1 for grade in grades if (grade > 0 if of_grade is None else grade == of_grade))
        if drawn:
            total += hits * size / drawn
    return total


def xinfap(ranking: Sequence[str], judgments: Judgments) -> float:
    sizes = counts(judgments)
    sums = dict.fromkeys(sizes, 0.0)
    for i, document in enumerate(ranking):
        stratum, grade = judgments.get(document, ("", -1))
        if grade <= 0:
            continue
        above = [judgments[other] for other in ranking[:i] if other in judgments]
        precision = 1 / (i + 1)
        for one in sizes:
            here = [grade for stratum, grade in above if stratum == one]
            if here:
                relevant = sum(1 for grade in here if grade > 0)
                sampled = sum(1 for grade in here if grade >= 0)
                expected = (relevant + SMALL) / (sampled + 3 * SMALL)
                precision += len(here) / len(above) * expected * len(above) / (i + 1)
        sums[stratum] += precision
    R = number_relevant(judgments)
    if R == 0:
        return 0.0
    value = 0.0
    for stratum, (size, drawn) in sizes.items():
        hits = sum(1 for one, grade in judgments.values() if one == stratum and grade > 0)
        if hits:
            share = hits * size / drawn / R  # of the relevant documents
            value += share * sums[stratum] / hits
    return value


def infndcg(ranking: Sequence[str], judgments: Judgments) -> float:
    sizes = counts(judgments)
    ideal, rank = 0.0, 0
    for grade in sorted({grade for _, grade in judgments.values() if grade > 0}, reverse=True):
        for _ in range(int(number_relevant(judgments, grade) + 0.5)):
            rank += 1
            ideal += grade / math.log2(rank + 1)
    value = 0.0
    for one in sizes:
        places = [
            (i + 1, judgments[document][1])
            for i, document in enumerate(ranking)
            if judgments.get(document, ("", 0))[0] == one
        ]
        sampled = [(rank, grade) for rank, grade in places if grade >= 0]
        if sampled:
            mean = sum(grade / math.log2(rank + 1) for rank, grade in sampled) / len(sampled)
            value += len(places) * mean
    return value / ideal if ideal else 0.0


def horvitz_thompson(
    ranking: Sequence[str], gains: Mapping[str, float], chance: Mapping[str, float], weights: Sequence[float]
) -> float:
    """Gains are known for sampled documents only."""
    total = 0.0
    for document, weight in zip(ranking, weights, strict=False):
        if document in gains:
            total += weight * gains[document] / chance[document]
    return total
