"""Bandit pooling of one topic as plain loops (Losada, Parapar and Barreiro 2016), to check the library's against."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np


class SlowBandit:
    """Arms keep the list of their rewards; `value` says what an arm promises, from its rewards, oldest first."""

    def __init__(
        self, rankings: Sequence[Sequence[int]], values: Callable[[list[list[bool]], int], list[float]]
    ) -> None:
        self.rankings = rankings
        self.values = values
        self.rewards: list[list[bool]] = [[] for _ in rankings]
        self.judged: list[int] = []

    def allowed(self) -> set[int]:
        """The next documents of the arms that promise most, those of the least rank."""
        promise = self.values(self.rewards, len(self.judged))
        offers = []
        for arm, ranking in enumerate(self.rankings):
            left = [(rank, doc) for rank, doc in enumerate(ranking, 1) if doc not in self.judged]
            if left:
                offers.append((-round(promise[arm], 12), *left[0]))
        return {doc for value, rank, doc in offers if (value, rank) == min(offers)[:2]}

    def judge(self, doc: int, relevant: bool) -> None:
        promise = self.values(self.rewards, len(self.judged))
        having = [arm for arm, ranking in enumerate(self.rankings) if doc in ranking]
        arm = min(having, key=lambda arm: (-round(promise[arm], 12), list(self.rankings[arm]).index(doc), arm))
        self.rewards[arm].append(relevant)
        self.judged.append(doc)


def maxmean(rewards: list[list[bool]], judged: int) -> list[float]:
    return [(1 + sum(some)) / (2 + len(some)) for some in rewards]


def recent(rate: float) -> Callable[[list[list[bool]], int], list[float]]:
    def values(rewards: list[list[bool]], judged: int) -> list[float]:
        found = []
        for some in rewards:
            weights = [rate**age for age in range(len(some))][::-1]
            hits = sum(weight for weight, relevant in zip(weights, some, strict=True) if relevant)
            found.append((1 + hits) / (2 + sum(weights)))
        return found

    return values


def thompson(topic: int) -> Callable[[list[list[bool]], int], list[float]]:
    def values(rewards: list[list[bool]], judged: int) -> list[float]:
        hits, misses = ([sum(r is kind for r in some) for some in rewards] for kind in (True, False))
        return list(np.random.default_rng([topic, judged]).beta(np.add(hits, 1.0), np.add(misses, 1.0)))

    return values
