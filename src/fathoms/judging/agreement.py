"""Do two people who judge the same documents agree, and how many documents does it take to know?

Relevant documents are few, so most documents drawn at random for a second opinion are not relevant, and say little
about kappa. It takes fewer if they are drawn by their first grade, as many of each grade as its part in the error asks
for (Neyman 1934). A second grade then stands for all documents of its first grade.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.evidence.evidence import Floats

Document = TypeVar("Document")  # whatever names one
Rating = tuple[tuple[str, int], tuple[str, int]]  # who gave which grade, twice

ASSUMED_KAPPA = 0.6  # before anything is known about it
ASSUMED_RELEVANT = 0.3
PRIOR = 30.0  # documents of each first grade that the assumption is worth when it decides how many to judge
UNSEEN = 0.5  # for each pair of grades: Jeffreys' prior of what may happen
DRAWS = 4000
FEWEST = 5  # documents of each first grade to judge twice, if there are as many


class Agreement(NamedTuple):
    """Cohen's kappa of documents that were judged twice."""

    kappa: float
    error: float  # standard error
    twice: int  # documents judged twice
    alike: int  # of these with the same grade


def kappa(ratings: Iterable[Rating]) -> float | None:
    """Cohen's kappa (1960), (p_o - p_e) / (1 - p_e), of documents with two grades each; None if it is undefined.

    For more than two people the agreements of each two of them, observed and by chance, are averaged by their numbers
    of documents before the quotient is taken, so that chance agreement reflects each person's own way of grading.

    >>> ann_and_bob = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    >>> round(kappa((("ann", a), ("bob", b)) for a, b in ann_and_bob), 4)
    0.4
    """
    agreed = agreement(ratings)
    return None if agreed is None else agreed.kappa


def agreement(ratings: Iterable[Rating]) -> Agreement | None:
    """`kappa` of documents drawn at random, with the standard error for large samples of Fleiss, Cohen and Everitt
    (1969). It is written as the sum over documents of the square of what each one does to kappa, which is the same for
    two people and holds for more."""
    of_two: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for rating in ratings:
        (former, a), (other, b) = sorted(rating)
        of_two[former, other].append((a, b))
    observed = chance = 0.0
    parts: list[tuple[Floats, Floats]] = []  # of each document: whether the grades are the same, and its part in chance
    for grades in of_two.values():
        first, second = np.array(grades).T
        same = (first[:, None] == second).astype(np.float64)
        n = len(grades)
        both = float(same.sum()) / n  # p_e n = sum over grades of n_first(grade) n_second(grade) / n
        observed += float(same.trace())
        chance += both
        parts.append((same.diagonal(), (same.sum(axis=0) + same.sum(axis=1) - both) / n))
    if not parts:
        return None
    alike, by_chance = (np.concatenate(part) for part in zip(*parts, strict=True))
    total = len(alike)
    if total - chance < 1e-9:
        return None
    value = (observed - chance) / (total - chance)
    change = (alike - value - (1 - value) * by_chance) / (total - chance)
    return Agreement(value, float(np.sqrt((change**2).sum())), total, int(observed))


# -- documents drawn by their first grade ---------------------------------------------------------------------


class SecondGrades:
    """Second grades by first grade, of documents drawn within first grades.

    Chance goes here by the first grades and the second ones, whoever gave them. With W_g the share of first grade g,
    and s_h that of second grade h, p_e = sum_g W_g s_g, and a second grade h moves kappa by

        z_gh = ([g = h] - (1 - kappa) W_h) / (1 - p_e)

    so that its variance is sum_g W_g^2 Var(z_gh | g) / n_g with n_g documents of first grade g.
    """

    def __init__(self, of_first: Mapping[int, int], pairs: Iterable[tuple[int, int]] = ()) -> None:
        """`of_first` counts all documents judged by first grade; `pairs` are two grades of those judged twice."""
        pair_counts = Counter(pairs)
        self.grades = sorted({*(grade for grade, n in of_first.items() if n), *(h for _, h in pair_counts)})
        self.judged = np.array([of_first.get(grade, 0) for grade in self.grades], dtype=np.float64)
        self.cells = np.array(
            [[pair_counts[g, h] for h in self.grades] for g in self.grades], dtype=np.float64
        ).reshape(len(self.grades), len(self.grades))

    def agreement(self) -> Agreement | None:
        """None if kappa is undefined. First grades of which nobody judged a document twice are left out."""
        n, share = self._seen()
        chances = self.cells / np.maximum(n, 1.0)[:, None]
        value, _ = _kappa(share, chances)
        if value is None or not n.any():
            return None
        variance = share**2 * _spread(share, chances) ** 2 / np.maximum(n, 1.0)
        return Agreement(value, float(np.sqrt(variance.sum())), int(n.sum()), int(self.cells.trace()))

    def interval(self, level: float = 0.95, around: float | None = None) -> tuple[float, float] | None:
        """From draws of the chances of second grades (Jeffreys' prior), since a rare disagreement may have been missed:
        standard errors are too small then. None if kappa is undefined. `around` is kappa computed another way, around
        which the interval is placed."""
        estimate = self.agreement()
        if estimate is None:
            return None
        away = 0.0 if around is None else around - estimate.kappa
        _, share = self._seen()
        rng = np.random.default_rng(0)
        drawn = rng.standard_gamma(self.cells + UNSEEN, size=(DRAWS, *self.cells.shape))
        chances = drawn / drawn.sum(axis=2, keepdims=True)
        expected = np.einsum("g,dhg,h->d", share, chances, share)
        alike = np.einsum("g,dgg->d", share, chances)
        low, high = np.quantile((alike - expected) / (1 - expected), [(1 - level) / 2, (1 + level) / 2])
        low, high = (float(np.clip(end + away, -1.0, 1.0)) for end in (low, high))
        return min(low, estimate.kappa + away), max(high, estimate.kappa + away)

    def _seen(self) -> tuple[Floats, Floats]:
        """Documents judged twice by first grade, and the shares of those first grades among all."""
        n = self.cells.sum(axis=1)
        known = np.where(n > 0, self.judged, 0.0)
        return n, known / max(known.sum(), 1.0)

    def needed(self, error: float, level: float = 0.95) -> dict[int, int]:
        """How many documents of each first grade to judge twice so that kappa is known to +- `error`: as few as
        possible in all, and no more than there are.

        It uses the chances seen, and at first those assumed. The assumption counts for a good deal: whoever stops as
        soon as the data look sure stops too early.
        """
        wanted = np.where(self.judged > 0, np.maximum(self._wanted(error, level), FEWEST), 0.0)
        return dict(zip(self.grades, np.minimum(wanted, self.judged).astype(int).tolist(), strict=True))

    def is_within_reach(self, error: float) -> bool:
        """Whether as many documents of each first grade are judged as are to be judged twice, and two grades occur,
        without which there is no kappa."""
        return int((self.judged > 0).sum()) > 1 and bool((self._wanted(error) <= self.judged).all())

    def _wanted(self, error: float, level: float = 0.95) -> Floats:
        if not self.judged.any():
            return np.zeros(len(self.grades))
        share = self.judged / self.judged.sum()
        assumed = ASSUMED_KAPPA * np.eye(len(share)) + (1 - ASSUMED_KAPPA) * share
        chances = (self.cells + PRIOR * assumed) / (self.cells.sum(axis=1, keepdims=True) + PRIOR)
        part = share * _spread(share, chances)
        return np.asarray(np.ceil(part * part.sum() * (_quantile(level) / error) ** 2 - 1e-9))


def _spread(share: Floats, chances: Floats) -> Floats:
    """[first]: the standard deviation of z."""
    value, expected = _kappa(share, chances)
    if value is None:
        return np.zeros(len(share))
    z = (np.eye(len(share)) - (1 - value) * share) / (1 - expected)
    return np.sqrt(np.maximum((chances * z**2).sum(axis=1) - (chances * z).sum(axis=1) ** 2, 0.0))


def drawn_by_first_grade(
    first: Mapping[Document, int], second: Mapping[Document, int], lot: Callable[[Document], int], error: float
) -> list[Document]:
    """The documents for two people, so that kappa is known to +- `error`: of each first grade those with the least
    lots, as many as it takes. `first` and `second` are the grades that documents have.

    However many documents are judged later, those drawn are a random sample of all of a grade, so each one's
    probability of being drawn is known: how many are drawn over how many there are.
    """
    needed = SecondGrades(
        Counter(first.values()), ((first[document], grade) for document, grade in second.items())
    ).needed(error)
    drawn: list[Document] = []
    for grade, n in needed.items():
        drawn += sorted((document for document, given in first.items() if given == grade), key=lot)[:n]
    return drawn


def _kappa(share: Floats, chances: Floats) -> tuple[float | None, float]:
    """Kappa and p_e from the shares of first grades and the chances of second ones."""
    expected = float(share @ (share @ chances))
    if 1 - expected < 1e-9:
        return None, expected
    return (float(share @ chances.diagonal()) - expected) / (1 - expected), expected


def documents_for_kappa(
    error: float, shares: Sequence[float] = (1 - ASSUMED_RELEVANT, ASSUMED_RELEVANT), level: float = 0.95
) -> list[int]:
    """How many documents of each first grade two people must judge so that kappa is known to +- `error`, before
    anything is known about it: it is assumed to be 0.6, and the share of each grade as given, here 0.3 relevant.

    >>> documents_for_kappa(0.1)
    [145, 119]
    >>> documents_for_kappa(0.1, [0.95, 0.05])
    [428, 166]
    """
    share = np.asarray(shares, dtype=np.float64)
    if not 0 < error < 1 or not 0 < level < 1:
        raise FathomsError(f"the error of kappa must lie between 0 and 1, found {error:g}")
    if not len(share) or (share < 0).any() or abs(share.sum() - 1) > 1e-6:
        raise FathomsError(f"shares of grades must add up to 1, found {list(shares)}")
    many = 10**9
    of_first = {grade: round(many * part) for grade, part in enumerate(share.tolist())}
    needed = SecondGrades(of_first).needed(error, level)
    return [needed.get(grade, 0) for grade in of_first]


def _quantile(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))
