"""Which document to judge next: the strategies.

Pooling, move-to-front and the like ask which documents are likely to be relevant; MTC and RTC ask which judgment tells
the systems apart. For a document i and two rankings with c_ij = 1 / max(r_i, r_j) - 1 / max(r'_i, r'_j):

- MTC (Carterette, Allan and Sitaraman 2006; RTC Algorithm 1): max(|wR_i|, |wN_i|), where wR_i = c_ii + sum of c_ij over
  j judged relevant, and wN_i = c_ii + sum of c_ij over j not judged non-relevant;
- expected weight: |c_ii + sum_j c_ij p_j|;
- variance removed: v_i (c_ii + sum_j c_ij p_j)^2, the part of Var[dAP] that goes with the judgment.

The last two are divided by the topic's expected number of relevant documents, as AP is: what counts is MAP. For more
than two systems the square of a weight is summed over the pairs that are still open; MTC's weight is then the greater
of the two sums, of wR and of wN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from fathoms.data.arrays import ratio
from fathoms.estimate.distribution import Moments, influence
from fathoms.estimate.relevance import Experts, Fusion, Model
from fathoms.evidence.candidates import Block
from fathoms.evidence.evidence import Bools, Floats
from fathoms.judging import bandits

ModelMaker = Callable[[Block, Floats | None], Model]


@dataclass(frozen=True)
class Strategy:
    """How documents are weighed, and where probabilities of relevance come from (None: all are 1/2)."""

    name: str
    description: str
    citation: str
    weight: type[Weight]
    model: ModelMaker | None


@dataclass(eq=False)
class State:
    """What a strategy may look at."""

    block: Block
    moments: Moments
    judged: Bools  # [topic, column]
    relevant: Bools
    order: list[tuple[int, int]]  # judged documents (topic, column) in the order of their judgments
    # Laplacian of the graph of pairs that are not settled
    open_pairs: Floats = field(default_factory=lambda: np.zeros((0, 0)))


class Weight:
    """Weights of all documents, [topic, column]; the greatest is judged next, the first of equal ones.

    `start` is called when everything may have changed, `update` after one judgment, for its topic alone.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.values = np.zeros(state.judged.shape)
        self.start()

    def start(self) -> None:
        raise NotImplementedError

    def update(self, topic: int, column: int, row: Floats) -> None:
        """`row` holds a_ij of the judged document, [system, column]."""
        raise NotImplementedError


def spread(weights: Floats, laplacian: Floats) -> Floats:
    """Root of the sum over open pairs of squared differences of the systems' weights, [..., system, column]."""
    return np.sqrt(np.maximum(((laplacian @ weights) * weights).sum(axis=-2), 0.0))


class MTCWeight(Weight):
    def start(self) -> None:
        block, judged, relevant = self.state.block, self.state.judged, self.state.relevant
        self.if_relevant = influence(block, (judged & relevant).astype(np.float64))
        self.if_not = influence(block, (block.present & ~(judged & ~relevant)).astype(np.float64))
        self._weigh(slice(None))

    def update(self, topic: int, column: int, row: Floats) -> None:
        if self.state.relevant[topic, column]:
            self.if_relevant[topic] += row
        else:
            self.if_not[topic] -= row
        self._weigh(topic)

    def _weigh(self, topic: int | slice) -> None:
        both = (spread(part[topic], self.state.open_pairs) for part in (self.if_relevant, self.if_not))
        self.values[topic] = np.maximum(*both)


class ExpectedWeight(Weight):
    power = 0.0  # of v

    def start(self) -> None:
        self._weigh(slice(None))

    def update(self, topic: int, column: int, row: Floats) -> None:
        self._weigh(topic)

    def _weigh(self, topic: int | slice) -> None:
        moments = self.state.moments
        size = spread(moments.H[topic], self.state.open_pairs) * moments.v[topic] ** self.power
        self.values[topic] = ratio(size, moments.R[topic][..., None] if isinstance(topic, slice) else moments.R[topic])


class VarianceWeight(ExpectedWeight):
    power = 0.5  # the root of the variance removed orders documents as the variance does


class PoolWeight(Weight):
    """Incremental pooling: rank by rank over all topics (RTC section 4.2)."""

    def start(self) -> None:
        rank = self.state.block.rank
        self.values = 1.0 / np.where(rank > 0, rank, np.iinfo(np.int32).max).min(axis=1)

    def update(self, topic: int, column: int, row: Floats) -> None:
        """Ranks do not change."""


class DepthWeight(PoolWeight):
    """Depth pooling as tracks do it: topic by topic, each to the whole depth."""

    def start(self) -> None:
        super().start()
        self.values += np.arange(len(self.values), 0, -1)[:, None]


class RBPWeight(Weight):
    """The document's RBP weight summed over systems (Moffat, Webber and Zobel 2007, method A)."""

    p = 0.8

    def start(self) -> None:
        rank = self.state.block.rank
        self.values = np.where(rank > 0, self.p ** (rank - 1.0), 0.0).sum(axis=1)

    def update(self, topic: int, column: int, row: Floats) -> None:
        """Ranks do not change."""


class MoveToFrontWeight(Weight):
    """Move-to-front pooling (Cormack, Palmer and Clarke 1998): judge down one system's ranking of a topic while it
    yields relevant documents; a document that is not relevant puts the system behind the others."""

    def start(self) -> None:
        n_topics, k, _ = self.state.block.shape
        self.priority = np.zeros((n_topics, k))
        self.front = np.zeros((n_topics, k))  # 1/2 for the system that yielded the last document, if it was relevant
        for topic, column in self.state.order:
            self._tell(topic, column)
        for topic in range(n_topics):
            self._weigh(topic)

    def update(self, topic: int, column: int, row: Floats) -> None:
        self._tell(topic, column)
        self._weigh(topic)

    def _asking(self, topic: int, columns: slice) -> Floats:
        """How much each system wants each document, [system, column]: priority, then front, then rank decide."""
        rank = self.state.block.rank[topic, :, columns]
        return np.where(rank > 0, (self.priority[topic] + self.front[topic])[:, None] + 1.0 / (rank + 2.0), -np.inf)

    def _tell(self, topic: int, column: int) -> None:
        """The system that asked for the document most gets the credit or the blame."""
        asked = self._asking(topic, slice(column, column + 1)).argmax()
        self.front[topic] = 0.0
        if self.state.relevant[topic, column]:
            self.front[topic, asked] = 0.5
        else:
            self.priority[topic, asked] -= 1

    def _weigh(self, topic: int) -> None:
        self.values[topic] = self._asking(topic, slice(None)).max(axis=0)


class HedgeWeight(Weight):
    """Hedge-style (Aslam, Pavlu and Savell 2003): systems lose weight by the loss of what they ranked high, and the
    document with the greatest weighted loss to be expected is judged."""

    rate = 0.1

    def start(self) -> None:
        block = self.state.block
        # The loss of rank r in a ranking of depth n is half the sum of 1/i over ranks i from r to n.
        harmonic = np.cumsum(1.0 / np.arange(1, block.depth + 1))
        losses = np.append(0.0, 0.5 * (harmonic[-1] - harmonic + 1.0 / np.arange(1, block.depth + 1)))
        self.loss = losses[block.rank]
        sign = np.where(self.state.relevant, -1.0, 1.0) * self.state.judged
        self.total = (self.loss * sign[:, None, :]).sum(axis=2)
        for topic in range(len(self.values)):
            self._weigh(topic)

    def update(self, topic: int, column: int, row: Floats) -> None:
        self.total[topic] += self.loss[topic, :, column] * (-1.0 if self.state.relevant[topic, column] else 1.0)
        self._weigh(topic)

    def _weigh(self, topic: int) -> None:
        weight = np.exp(-self.rate * (self.total[topic] - self.total[topic].min()))
        self.values[topic] = (weight / weight.sum()) @ self.loss[topic]


class MaxMeanWeight(Weight):
    """Bandit pooling (`bandits`): MaxMean, and with other arms its kin."""

    arms: ClassVar[type[bandits.Bandit]] = bandits.MaxMean

    def start(self) -> None:
        self.bandit = self.arms(self.state.block.rank)
        for topic, column in self.state.order:
            self.bandit.tell(topic, column, bool(self.state.relevant[topic, column]))
        for topic in range(len(self.values)):
            self.values[topic] = self.bandit.weights(topic)

    def update(self, topic: int, column: int, row: Floats) -> None:
        self.bandit.tell(topic, column, bool(self.state.relevant[topic, column]))
        self.values[topic] = self.bandit.weights(topic)


class RecentMaxMeanWeight(MaxMeanWeight):
    arms = bandits.RecentMaxMean


class ThompsonWeight(MaxMeanWeight):
    arms = bandits.Thompson


class ProbabilityWeight(Weight):
    """The document that is most probably relevant: continuous active learning."""

    def start(self) -> None:
        self.values = self.state.moments.p.copy()

    def update(self, topic: int, column: int, row: Floats) -> None:
        """Probabilities change with the next fit."""


OUR_OWN = "our own; docs/judge.md describes it"
CARTERETTE_2006 = "Carterette, Allan and Sitaraman (2006), Minimal Test Collections for Retrieval Evaluation, SIGIR"
CARTERETTE_2007 = "Carterette (2007), Robust Test Collections for Retrieval Evaluation, SIGIR"
SPARCK_JONES = (
    "Spärck Jones and van Rijsbergen (1975), Report on the Need for and Provision of an Ideal Test Collection"
)

STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy
    for strategy in (
        Strategy(
            "fusion",
            "removes most variance, probabilities from our model (default)",
            OUR_OWN,
            VarianceWeight,
            Fusion,
        ),
        Strategy("expected", "greatest expected weight, probabilities from our model", OUR_OWN, ExpectedWeight, Fusion),
        Strategy(
            "rtc",
            "robust test collections: MTC with probabilities from experts",
            CARTERETTE_2007,
            MTCWeight,
            Experts,
        ),
        Strategy(
            "mtc",
            "minimal test collections: every document relevant with probability 1/2",
            CARTERETTE_2006,
            MTCWeight,
            None,
        ),
        Strategy("pool", "incremental pooling: rank by rank over all topics", CARTERETTE_2007, PoolWeight, Fusion),
        Strategy("depth", "depth pooling: topic by topic, shallow documents first", SPARCK_JONES, DepthWeight, Fusion),
        Strategy(
            "mtf",
            "move-to-front pooling",
            "Cormack, Palmer and Clarke (1998), Efficient Construction of Large Test Collections, SIGIR",
            MoveToFrontWeight,
            Fusion,
        ),
        Strategy(
            "hedge",
            "hedge: systems that ranked relevant documents high decide",
            "Aslam, Pavlu and Savell (2003), A Unified Model for Metasearch, Pooling, and System Evaluation, CIKM",
            HedgeWeight,
            Fusion,
        ),
        Strategy(
            "rbp",
            "summed RBP weights",
            "Moffat, Webber and Zobel (2007), Strategic System Comparisons via Targeted Relevance Judgments, SIGIR",
            RBPWeight,
            Fusion,
        ),
        Strategy("maxmean", "bandits: the system of the best record", bandits.CITATION, MaxMeanWeight, Fusion),
        Strategy(
            "maxmean-ns", "bandits: the system of the best recent record", bandits.CITATION, RecentMaxMeanWeight, Fusion
        ),
        Strategy("thompson", "bandits: Thompson sampling", bandits.CITATION, ThompsonWeight, Fusion),
        Strategy(
            "find-all",
            "the most probably relevant document, until a share of them is found (--recall)",
            "Cormack and Grossman (2014), Evaluation of Machine-Learning Protocols for Technology-Assisted Review",
            ProbabilityWeight,
            Fusion,
        ),
    )
}


def laplacian(pairs: Sequence[tuple[int, int]], k: int) -> Floats:
    """Of the graph whose edges are these pairs of systems: x'Lx is the sum over them of squared differences."""
    matrix = np.zeros((k, k))
    for a, b in pairs:
        matrix[[a, b], [a, b]] += 1
        matrix[[a, b], [b, a]] -= 1
    return matrix
