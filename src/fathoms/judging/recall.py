"""Finding all relevant documents: how many are left, and when to stop.

The documents most probably relevant are judged first, and the model of relevance is fitted again and again (continuous
active learning). How many relevant documents are left among the unjudged ones is told in two ways that know nothing of
each other:

- the model's probabilities, summed, times what hidden judgments say of such sums: the model is fitted to the first
  half, 70% and 80% of the judgments and predicts the rest, and the ratios of found to predicted are averaged;
- the yield: relevant documents as a Poisson process over the judgments, whose rate falls as a power of their number
  (after Sneyd and Stevenson 2019), continued over all that is unjudged.

The first is the estimate. The second is mostly too great, and guards the upper end of its interval, which does not lie
below a mean of the two, geometric and with the greater weight on the second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fathoms.evidence.candidates import Candidates
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.judging.engine import Engine, last_fit
from fathoms.judging.grade_chances import GradeLearner

DEFAULT_RECALL = 0.95
SPLITS = (0.5, 0.7, 0.8)  # parts of the judgments that the model is fitted to before it has to predict the rest
# Of log(left / estimate), below it and above: measured on three collections and simulated ones (docs/results/judge.md).
SPREAD_BELOW, SPREAD_ABOVE = 0.6, 0.4
FEW = 25.0  # this many judgments add a spread of 1
GUARD = 2 / 3  # weight of the yield in the mean
Z = 1.96
ENOUGH = 50  # judgments before anything is said
BINS = 40  # of the judgments, for the yield
SHIFT = 10.0  # judgments before the first, so that the rate is finite


@dataclass(frozen=True)
class RecallEstimate:
    """Relevant documents among the candidates: found, and left by estimate, with a 95% interval."""

    found: int
    left: float
    left_low: float
    left_high: float

    @property
    def total(self) -> float:
        return self.found + self.left

    @property
    def recall(self) -> float:
        return _share(self.found, self.left)

    @property
    def recall_low(self) -> float:
        return _share(self.found, self.left_high)


def _share(found: int, left: float) -> float:
    return found / (found + left) if found + left > 0 else 1.0


def falling_yield(relevant: Bools, more: int) -> float:
    """Relevant documents among the next `more`, if their yield goes on falling as a power of the number judged:
    log rate = a - b log(t + SHIFT), by maximum likelihood over counts in bins."""
    n = len(relevant)
    edges = np.linspace(0, n, min(BINS, n) + 1).round().astype(np.int64)
    size = np.diff(edges).astype(np.float64)
    count = np.diff(np.append(0, np.cumsum(relevant))[edges]).astype(np.float64)
    x = np.log((edges[:-1] + edges[1:]) / 2 + SHIFT)
    center = float(x.mean())
    X = np.stack([np.ones(len(x)), x - center], axis=1)
    ridge = np.array([0.0, 0.01])  # a slope that nothing speaks for is 0
    beta = np.array([np.log((count.sum() + 0.5) / n), 0.0])
    for _ in range(50):
        rate = size * np.exp(np.minimum(X @ beta, 5.0))
        step = np.linalg.solve((X.T * rate) @ X + np.diag(ridge + 1e-9), X.T @ (count - rate) - ridge * beta)
        beta = beta + np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-8:
            break
    ahead = np.log(n + np.arange(0.5, more) + SHIFT) - center
    return float(np.minimum(np.exp(beta[0] + beta[1] * ahead), 1.0).sum())


def found_over_predicted(learner: GradeLearner, order: list[tuple[int, int]], level: Ints, is_relevant: Bools) -> float:
    """How many relevant documents later judgments found for each that a model of earlier ones predicted.

    `level` is [topic, column], and `is_relevant` says which levels are.
    """
    rows, columns = np.array(order).T
    logs = []
    for share in SPLITS:
        first = int(share * len(order))
        known = np.zeros(level.shape, dtype=bool)
        known[rows[:first], columns[:first]] = True
        chance = np.tensordot(is_relevant, learner.fit(known, np.where(known, level, 0)).chance, axes=1)
        rest = rows[first:], columns[first:]
        logs.append(math.log((is_relevant[level[rest]].sum() + 1) / (chance[rest].sum() + 1)))
    return math.exp(float(np.mean(logs)))


class FindAllEngine(Engine):
    """An engine that is done when, by a cautious estimate, enough of the relevant documents are found.

    Pairs of runs are compared as usual, but play no part in when it stops.
    """

    def __init__(self, candidates: Candidates, *args: Any, recall: float = DEFAULT_RECALL, **how: Any) -> None:
        self.recall = recall
        self._checked: tuple[int, float, float] | None = None
        super().__init__(candidates, *args, **how)

    def recall_estimate(self) -> RecallEstimate | None:
        """What is found and what is left; None while too little is judged."""
        state = self._state
        found, unjudged = int((state.relevant & state.judged).sum()), self.size - self.judged
        if not unjudged:
            return RecallEstimate(found, 0.0, 0.0, 0.0)
        if self.judged < ENOUGH:
            return None
        ratio, yields = self._check_against_hidden()
        chance: Floats = self.probabilities()[1]
        left = min(ratio * max(float(chance.sum()) - found, 0.0), float(unjudged))
        by_chance = FEW / self.judged + 1 / (left + 0.5)
        below, above = (math.exp(Z * math.sqrt(spread**2 + by_chance)) for spread in (SPREAD_BELOW, SPREAD_ABOVE))
        high = max(left * above, left ** (1 - GUARD) * yields**GUARD)
        return RecallEstimate(found, left, left / below, min(high, float(unjudged)))

    def _check_against_hidden(self) -> tuple[float, float]:
        """Both checks, of the judgments at the last fit: worked out once for each, and the same after a restart."""
        state, n = self._state, last_fit(self.judged)
        if self._checked is None or self._checked[0] != n:
            order = state.order[:n]
            relevant = np.array([state.relevant[place] for place in order], dtype=bool)
            ratio = found_over_predicted(self._learner, order, state.level, self._levels >= self._rel)
            self._checked = n, ratio, falling_yield(relevant, self.size - n)
        return self._checked[1:]

    def _load(self, judgments: Any, fitted: int) -> None:
        self._checked = None
        super()._load(judgments, fitted)

    def settled(self) -> bool:
        """Whether the lower end of the recall's interval has reached what was asked for."""
        estimate = self.recall_estimate()
        return estimate is not None and estimate.recall_low >= self.recall

    def forecast(self) -> tuple[int, int] | None:
        """A forecast would be about pairs, which are not the point here."""
        return None
