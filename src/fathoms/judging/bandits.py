"""Bandit pooling: each run is an arm of a topic's bandit, and a relevant document its reward.

Losada, Parapar and Barreiro (2016), Feeling Lucky? Multi-armed Bandits for Ordering Judgements in Pooling-based
Evaluation. The next document of a topic is the first unjudged one of the arm that promises most; its judgment is the
reward of that arm alone. A document that several equally promising arms offer goes to the one that ranks it highest,
then to the one given first. Topics take turns: the one with the fewest judgments comes next.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fathoms.evidence.evidence import Floats, Ints

CITATION = (
    "Losada, Parapar and Barreiro (2016), Feeling Lucky? Multi-armed Bandits for Ordering Judgements in Pooling-based "
    "Evaluation, SAC"
)


class Bandit:
    """The rewards of all arms so far, and how much each of them wants each document."""

    rate: ClassVar[float] = 1.0  # how much an arm's earlier rewards count after one more

    def __init__(self, rank: NDArray[np.int32]) -> None:
        """`rank` is that of each document, [topic, arm, column], 0 where the arm does not have it."""
        self.rank = rank
        self.found, self.pulls = np.zeros((2, *rank.shape[:2]))  # relevant documents of each arm, and all it gave
        self.judged = np.zeros(len(rank), dtype=np.int64)
        self.promise = np.stack([self._in_order(topic) for topic in range(len(rank))])

    def tell(self, topic: int, column: int, relevant: bool) -> None:
        """The arm that asked for the document most gets the reward."""
        arm = self._asking(topic, slice(column, column + 1)).argmax()
        self.found[topic, arm] = self.rate * self.found[topic, arm] + relevant
        self.pulls[topic, arm] = self.rate * self.pulls[topic, arm] + 1
        self.judged[topic] += 1
        self.promise[topic] = self._in_order(topic)

    def weights(self, topic: int) -> Floats:
        """One a column, the greatest for the document to judge next."""
        turn = float(self.judged[topic]) * (self.rank.shape[1] + 1)
        return self._asking(topic, slice(None)).max(axis=0) - turn

    def _asking(self, topic: int, columns: slice) -> Floats:
        """How much each arm wants each document, [arm, column]: its promise decides, then the rank."""
        rank = self.rank[topic, :, columns]
        return np.where(rank > 0, self.promise[topic][:, None] + 1.0 / (rank + 2.0), -np.inf)

    def _in_order(self, topic: int) -> Ints:
        """The arms' places by what they promise, the best one last and equal ones alike."""
        return np.unique(self._value(topic), return_inverse=True)[1].reshape(-1)

    def _value(self, topic: int) -> Floats:
        """What to expect of the next document of each arm."""
        raise NotImplementedError


class MaxMean(Bandit):
    """The greatest mean of Beta(1 + relevant, 1 + not relevant)."""

    def _value(self, topic: int) -> Floats:
        mean: Floats = (self.found[topic] + 1) / (self.pulls[topic] + 2)
        return mean.round(12)  # equal but for rounding is equal


class RecentMaxMean(MaxMean):
    """The non-stationary version: an arm's earlier documents count less with each new one."""

    rate = 0.9


class Thompson(Bandit):
    """Thompson sampling: a draw from each arm's beta distribution, of which the greatest wins.

    Draws follow from the topic and from how many of its documents are judged, so a session that goes on makes the same.
    """

    def _value(self, topic: int) -> Floats:
        rng = np.random.default_rng([topic, int(self.judged[topic])])
        return rng.beta(self.found[topic] + 1, self.pulls[topic] - self.found[topic] + 1)
