"""What is believed of systems' scores while grades are known by their chances only, the slow way: every way of grading
all documents of a topic is listed, with its probability.

Scores are those of `tests/support/slow.py`; nothing here is shared with the library. Documents are small numbers,
grades 0, 1 and 2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tests.support import slow

Grades = Mapping[int, int]
Score = Callable[[Sequence[int], Grades], float]  # of a ranking


@dataclass(frozen=True)
class Topic:
    """Each system's ranking, the chances of each document's grades, and grades of documents that no system has."""

    rankings: list[list[int]]
    chances: dict[int, list[float]]
    elsewhere: list[int]

    def assignments(self, fixed: Grades | None = None) -> Iterator[tuple[dict[int, int], float]]:
        """Every way of grading, with its probability, given what some documents' grades are."""
        fixed = fixed or {}
        docs = list(self.chances)
        options = [[fixed[doc]] if doc in fixed else range(len(self.chances[doc])) for doc in docs]
        for grades in itertools.product(*options):
            chance = math.prod(
                1.0 if doc in fixed else self.chances[doc][grade] for doc, grade in zip(docs, grades, strict=True)
            )
            if chance > 0:
                yield dict(zip(docs, grades, strict=True)), chance

    def score(self, measure: str, gmax: int = 2) -> Score:
        """The measure's score of a ranking, all documents of the topic judged."""
        spec = slow.parse(measure)
        outside = [slow.Doc(grade) for grade in self.elsewhere]

        def of(ranking: Sequence[int], grades: Grades) -> float:
            ranked = tuple(slow.Doc(grades[doc]) for doc in ranking)
            others = [slow.Doc(grade) for doc, grade in grades.items() if doc not in ranking]
            case = slow.Case(ranked, (*others, *outside), gmax)
            return slow.evaluate(spec, case, ranked, slow.judged_of((*case.ranking, *case.outside)))

        return of

    def expectations(self, score: Score, fixed: Grades | None = None) -> list[float]:
        """E[score] of each system."""
        found = [0.0] * len(self.rankings)
        for grades, chance in self.assignments(fixed):
            for system, ranking in enumerate(self.rankings):
                found[system] += chance * score(ranking, grades)
        return found

    def covariances(self, score: Score) -> list[list[float]]:
        """Of the systems' scores."""
        k = len(self.rankings)
        means = self.expectations(score)
        found = [[0.0] * k for _ in range(k)]
        for grades, chance in self.assignments():
            off = [score(ranking, grades) - mean for ranking, mean in zip(self.rankings, means, strict=True)]
            for a, b in itertools.product(range(k), repeat=2):
                found[a][b] += chance * off[a] * off[b]
        return found

    def judgment_variance(self, score: Score, doc: int, a: int, b: int) -> float:
        """The variance, over a document's grade, of E[score of a - score of b | that grade]."""
        mean = square = 0.0
        for grade, chance in enumerate(self.chances[doc]):
            if chance > 0:
                given = self.expectations(score, {doc: grade})
                mean += chance * (given[a] - given[b])
                square += chance * (given[a] - given[b]) ** 2
        return square - mean**2

    def slopes(self, score: Score, doc: int, gains: Sequence[float]) -> list[float]:
        """By how much each system's expectation rises with the document's expected gain: the greatest grade for sure
        against grade 0 for sure, over the difference of gains. Exact where the expectation is linear in it."""
        top = len(self.chances[doc]) - 1
        most, least = self.expectations(score, {doc: top}), self.expectations(score, {doc: 0})
        return [(x - y) / (gains[top] - gains[0]) for x, y in zip(most, least, strict=True)]


def mean_covariance(topics: Sequence[Topic], scores: Sequence[Score]) -> tuple[list[float], list[list[float]]]:
    """Expectations and covariances of the mean over topics, which are independent."""
    n, k = len(topics), len(topics[0].rankings)
    means, covariance = [0.0] * k, [[0.0] * k for _ in range(k)]
    for topic, score in zip(topics, scores, strict=True):
        expected, of_topic = topic.expectations(score), topic.covariances(score)
        for a in range(k):
            means[a] += expected[a] / n
            for b in range(k):
                covariance[a][b] += of_topic[a][b] / n**2
    return means, covariance


def sum_of_precisions(k: int | None = None, rel: int = 1) -> Score:
    """AP before it is divided by R."""

    def of(ranking: Sequence[int], grades: Grades) -> float:
        total, found = 0.0, 0
        for place, doc in enumerate(ranking[:k], start=1):
            if grades[doc] >= rel:
                found += 1
                total += found / place
        return total

    return of


def random_topic(rng: np.random.Generator, k: int, n: int, known: int = 1, elsewhere: int = 2) -> Topic:
    """Rankings of some of n documents, of which so many are judged."""
    docs = range(n)
    rankings = [rng.permutation(n)[: rng.integers(n - 2, n + 1)].tolist() for _ in range(k)]
    some = sorted(set().union(*rankings))
    chances = {doc: rng.dirichlet([1.5, 1.0, 0.7]).tolist() for doc in docs if doc in some}
    for doc in rng.choice(some, known, replace=False).tolist():
        chances[doc] = np.eye(3)[rng.integers(3)].tolist()
    return Topic(rankings, chances, rng.integers(0, 3, elsewhere).tolist())
