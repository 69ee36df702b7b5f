"""Do two people who judge the same documents agree?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

Rating = tuple[tuple[str, int], tuple[str, int]]  # who gave which grade, twice


def kappa(ratings: Iterable[Rating]) -> float | None:
    """Cohen's kappa (1960), (p_o - p_e) / (1 - p_e), of documents with two grades each; None where it is undefined.

    For more than two people the agreements of each two of them, observed and by chance, are averaged by their numbers
    of documents before the quotient is taken, so that each person's own way of grading is what chance goes by.

    >>> ann_and_bob = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    >>> round(kappa((("ann", a), ("bob", b)) for a, b in ann_and_bob), 4)
    0.4
    """
    of_two: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for rating in ratings:
        (one, a), (other, b) = sorted(rating)
        of_two[one, other].append((a, b))
    observed = chance = total = 0.0
    for grades in of_two.values():
        first, second = np.array(grades).T
        observed += float((first == second).sum())
        # p_e n = sum over grades of n_first(grade) n_second(grade) / n
        chance += float((first[:, None] == second).sum()) / len(grades)
        total += len(grades)
    return None if total - chance < 1e-9 else (observed - chance) / (total - chance)
