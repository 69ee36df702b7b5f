"""Which document to judge next: the strategies.

Pooling, move-to-front and the like ask which documents are likely to be relevant; MTC and RTC ask which judgment tells
the runs apart. With a_i what a unit of gain at document i adds to the expected difference between two runs
(`beliefs.py`; for AP that is c_ii + sum_j c_ij p_j with c_ij = 1 / max(r_i, r_j) - 1 / max(r'_i, r'_j)):

- MTC (Carterette, Allan and Sitaraman 2006; RTC Algorithm 1): the greater of |a_i| where nothing unjudged is relevant,
  and |a_i| where all of it is; for AP these are their wR_i and wN_i;
- expected weight: |a_i| with the probabilities there are, over the divisor, for what counts is the score;
- variance removed: the part of the variance of the difference that goes with the judgment.

For more than two runs the square of a weight is summed over the pairs that are still open; MTC's weight is then the
greater of the two sums. For several measures the squares are summed too, each over the variance that is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fathoms.evidence.candidates import Block
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.judging import bandits
from fathoms.judging.beliefs import Beliefs
from fathoms.judging.grade_chances import Grades, LearnerMaker, by_ranks, even_chances, experts
from fathoms.judging.strategy_names import RBP, strategy_name


@dataclass(frozen=True)
class Strategy:
    """How documents are weighed, and where the chances of grades come from."""

    name: str
    description: str
    citation: str
    weight: type[Weight]
    learner: LearnerMaker

    @property
    def learns(self) -> bool:
        """Whether chances follow the judgments."""
        return self.learner is not even_chances


@dataclass(eq=False)
class State:
    """What a strategy may look at."""

    block: Block
    judged: Bools  # [topic, column]
    relevant: Bools
    level: Ints
    chance: Floats  # [level, topic, column], 0 or 1 where judged
    order: list[tuple[int, int]]  # judged documents (topic, column) in the order of their judgments
    beliefs: list[Beliefs]  # one a measure


class Weight:
    """Weights of all documents, [topic, column]; the greatest is judged next, the first of equal ones.

    `start` is called before any other and when everything may have changed, `update` after one judgment, for its topic
    alone.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.values = np.zeros(state.judged.shape)

    def start(self) -> None:
        raise NotImplementedError

    def update(self, topic: int, column: int) -> None:
        raise NotImplementedError


class InformativeWeight(Weight):
    """By what a judgment says about the difference between runs, for each measure."""

    def start(self) -> None:
        beliefs = self.state.beliefs
        self.scale = [1.0] * len(beliefs) if len(beliefs) == 1 else [1 / _variance(belief) for belief in beliefs]
        for topic in self._changed():
            self.update(topic, 0)

    def _changed(self) -> Iterable[int]:
        """The topics whose weights may have changed since the last start."""
        return range(len(self.values))

    def update(self, topic: int, column: int) -> None:
        sizes = [
            scale * self._sizes(belief, topic) for belief, scale in zip(self.state.beliefs, self.scale, strict=True)
        ]
        total = np.sum(sizes, axis=0)
        self.values[topic, : len(total)] = np.sqrt(total)

    def _sizes(self, beliefs: Beliefs, topic: int) -> Floats:
        """[document]: squared weights, summed over open pairs."""
        raise NotImplementedError


def _variance(beliefs: Beliefs) -> float:
    """Of the differences of all open pairs together."""
    return max(float((beliefs.open_pairs * beliefs.covariance()).sum()), 1e-12)


class MTCWeight(InformativeWeight):
    """Chances play no part here: weights change with what is judged, which pairs are open, and scales."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._weighed: tuple[Bools, Ints] | None = None  # what was judged, at which level, when topics were weighed
        self._shared: list[Floats] = []  # what the weights of all topics rested on then

    def _changed(self) -> Iterable[int]:
        shared = [np.array(self.scale), *(belief.open_pairs for belief in self.state.beliefs)]
        same = len(shared) == len(self._shared) and all(map(np.array_equal, shared, self._shared))
        before, self._shared = self._weighed if same else None, shared
        self._weighed = self.state.judged.copy(), self.state.level.copy()
        if before is None:
            return super()._changed()
        changed = (self.state.judged != before[0]) | (self.state.level != before[1])
        return np.flatnonzero(changed.any(axis=1)).tolist()

    def _sizes(self, beliefs: Beliefs, topic: int) -> Floats:
        sizes = [beliefs.gain_sizes(topic, self._assumed(topic, level), over_divisor=False) for level in (0, -1)]
        return np.maximum(*sizes)

    def _assumed(self, topic: int, level: int) -> Floats:
        """Chances [level, column] with all that is not judged at one level."""
        chance = self.state.chance[:, topic]
        open_ = ~self.state.judged[topic] & self.state.block.present[topic]
        assumed = np.zeros((len(chance), 1))
        assumed[level] = 1.0
        return np.where(open_, assumed, chance)


class ExpectedWeight(InformativeWeight):
    def _sizes(self, beliefs: Beliefs, topic: int) -> Floats:
        return beliefs.gain_sizes(topic, self.state.chance[:, topic])


class VarianceWeight(InformativeWeight):
    def _sizes(self, beliefs: Beliefs, topic: int) -> Floats:
        return beliefs.effect_sizes(topic, beliefs.open_pairs)


class PoolWeight(Weight):
    """Incremental pooling: rank by rank over all topics (RTC section 4.2)."""

    def start(self) -> None:
        rank = self.state.block.rank
        self.values = 1.0 / np.where(rank > 0, rank, np.iinfo(np.int32).max).min(axis=1)

    def update(self, topic: int, column: int) -> None:
        """Ranks do not change."""


class DepthWeight(PoolWeight):
    """Depth pooling as tracks do it: topic by topic, each to the whole depth."""

    def start(self) -> None:
        super().start()
        self.values += np.arange(len(self.values), 0, -1)[:, None]


class RBPWeight(Weight):
    """The document's RBP weight summed over runs (Moffat, Webber and Zobel 2007, method A)."""

    p = 0.8

    def start(self) -> None:
        rank = self.state.block.rank
        self.values = np.where(rank > 0, self.p ** (rank - 1.0), 0.0).sum(axis=1)

    def update(self, topic: int, column: int) -> None:
        """Ranks do not change."""


class MoveToFrontWeight(Weight):
    """Move-to-front pooling (Cormack, Palmer and Clarke 1998): judge down one run's ranking of a topic while it
    yields relevant documents; a document that is not relevant puts the run behind the others."""

    def start(self) -> None:
        n_topics, k, _ = self.state.block.shape
        self.priority = np.zeros((n_topics, k))
        self.front = np.zeros((n_topics, k))  # 1/2 for the run that yielded the last document, if it was relevant
        for topic, column in self.state.order:
            self._tell(topic, column)
        for topic in range(n_topics):
            self._weigh(topic)

    def update(self, topic: int, column: int) -> None:
        self._tell(topic, column)
        self._weigh(topic)

    def _asking(self, topic: int, columns: slice) -> Floats:
        """How much each run wants each document, [run, column]: priority, then front, then rank decide."""
        rank = self.state.block.rank[topic, :, columns]
        return np.where(rank > 0, (self.priority[topic] + self.front[topic])[:, None] + 1.0 / (rank + 2.0), -np.inf)

    def _tell(self, topic: int, column: int) -> None:
        """The run that asked for the document most gets the credit or the blame."""
        run = self._asking(topic, slice(column, column + 1)).argmax()
        self.front[topic] = 0.0
        if self.state.relevant[topic, column]:
            self.front[topic, run] = 0.5
        else:
            self.priority[topic, run] -= 1

    def _weigh(self, topic: int) -> None:
        self.values[topic] = self._asking(topic, slice(None)).max(axis=0)


class HedgeWeight(Weight):
    """Hedge-style (Aslam, Pavlu and Savell 2003): runs lose weight by the loss of what they ranked high, and the
    document with the greatest weighted loss to be expected is judged."""

    rate = 0.1

    def start(self) -> None:
        block = self.state.block
        # The loss of rank r in a ranking of depth n is half the sum of 1/i over ranks i from r to n.
        harmonic = np.cumsum(1.0 / np.arange(1, block.depth + 1))
        losses = np.append(0.0, 0.5 * (harmonic[-1] - harmonic + 1.0 / np.arange(1, block.depth + 1)))
        self.loss = losses[block.rank]
        self.total = np.zeros(self.loss.shape[:2])
        for topic in range(len(self.values)):
            self._weigh(topic)

    def update(self, topic: int, column: int) -> None:
        self._weigh(topic)

    def _weigh(self, topic: int) -> None:
        # Summed anew, since a running sum would keep the rounding of what was taken back.
        sign = np.where(self.state.relevant[topic], -1.0, 1.0) * self.state.judged[topic]
        self.total[topic] = (self.loss[topic] * sign).sum(axis=1)
        weight = np.exp(-self.rate * (self.total[topic] - self.total[topic].min()))
        self.values[topic] = (weight / weight.sum()) @ self.loss[topic]


class MaxMeanWeight(Weight):
    """Bandit pooling (`bandits`): MaxMean, and its kin with other arms."""

    arms: ClassVar[type[bandits.Bandit]] = bandits.MaxMean

    def start(self) -> None:
        self.bandit = self.arms(self.state.block.rank)
        for topic, column in self.state.order:
            self.bandit.tell(topic, column, bool(self.state.relevant[topic, column]))
        for topic in range(len(self.values)):
            self.values[topic] = self.bandit.weights(topic)

    def update(self, topic: int, column: int) -> None:
        self.bandit.tell(topic, column, bool(self.state.relevant[topic, column]))
        self.values[topic] = self.bandit.weights(topic)


class RecentMaxMeanWeight(MaxMeanWeight):
    arms = bandits.RecentMaxMean


class ThompsonWeight(MaxMeanWeight):
    arms = bandits.Thompson


class ProbabilityWeight(Weight):
    """The document that is most probably relevant: continuous active learning."""

    def start(self) -> None:
        self.values = 1 - self.state.chance[0]

    def update(self, topic: int, column: int) -> None:
        """Probabilities change with the next fit."""


OUR_OWN = "our own; docs/judge.md describes it"
CARTERETTE_2006 = "Carterette, Allan and Sitaraman (2006), Minimal Test Collections for Retrieval Evaluation, SIGIR"
CARTERETTE_2007 = "Carterette (2007), Robust Test Collections for Retrieval Evaluation, SIGIR"
SPARCK_JONES = (
    "Spärck Jones and van Rijsbergen (1975), Report on the Need for and Provision of an Ideal Test Collection"
)

MOFFAT_2007 = "Moffat, Webber and Zobel (2007), Strategic System Comparisons via Targeted Relevance Judgments, SIGIR"
STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy
    for strategy in (
        Strategy(
            "fusion",
            "removes most variance, probabilities from our model (default)",
            OUR_OWN,
            VarianceWeight,
            Grades,
        ),
        Strategy("expected", "greatest expected weight, probabilities from our model", OUR_OWN, ExpectedWeight, Grades),
        Strategy(
            "rtc",
            "robust test collections: MTC with probabilities from experts",
            CARTERETTE_2007,
            MTCWeight,
            experts,
        ),
        Strategy(
            "mtc",
            "minimal test collections: every document relevant with probability 1/2",
            CARTERETTE_2006,
            MTCWeight,
            even_chances,
        ),
        Strategy("pool", "incremental pooling: rank by rank over all topics", CARTERETTE_2007, PoolWeight, Grades),
        Strategy("depth", "depth pooling: topic by topic, shallow documents first", SPARCK_JONES, DepthWeight, Grades),
        Strategy(
            "mtf",
            "move-to-front pooling",
            "Cormack, Palmer and Clarke (1998), Efficient Construction of Large Test Collections, SIGIR",
            MoveToFrontWeight,
            Grades,
        ),
        Strategy(
            "hedge",
            "hedge: runs that ranked relevant documents high decide",
            "Aslam, Pavlu and Savell (2003), A Unified Model for Metasearch, Pooling, and Run Evaluation, CIKM",
            HedgeWeight,
            Grades,
        ),
        Strategy("rbp", "summed RBP weights", MOFFAT_2007, RBPWeight, Grades),
        Strategy("maxmean", "bandits: the run of the best record", bandits.CITATION, MaxMeanWeight, Grades),
        Strategy(
            "maxmean-ns", "bandits: the run of the best recent record", bandits.CITATION, RecentMaxMeanWeight, Grades
        ),
        Strategy("thompson", "bandits: Thompson sampling", bandits.CITATION, ThompsonWeight, Grades),
        Strategy(
            "find-all",
            "the most probably relevant document, until a share of them is found (--recall)",
            "Cormack and Grossman (2014), Evaluation of Machine-Learning Protocols for Technology-Assisted Review",
            ProbabilityWeight,
            by_ranks,
        ),
    )
}


def strategy_named(name: str) -> Strategy:
    """One of STRATEGIES, or `rbp(p=0.95)`, which has another p."""
    given = RBP.fullmatch(strategy_name(name))
    if given is None:
        return STRATEGIES[name]
    weight = type("RBPWeight", (RBPWeight,), {"p": float(given[1])})
    return replace(STRATEGIES["rbp"], name=name, weight=weight)


def laplacian(pairs: Sequence[tuple[int, int]], k: int) -> Floats:
    """Of the graph whose edges are these pairs of runs: x'Lx is the sum over them of squared differences."""
    edges = np.zeros((k, k))
    for a, b in pairs:
        edges[a, b] += 1
    edges += edges.T
    return np.diag(edges.sum(axis=1)) - edges
