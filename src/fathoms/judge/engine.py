"""The judging engine: which document next, what the judgments so far say of the systems, and how many more it may take.

Front ends (the terminal, a page, the studies) talk to this and nothing else. Everything is a function of the ordered
judgments: an engine that is told the same judgments again is in the same state.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from fathoms.data.arrays import distinct
from fathoms.errors import FathomsError
from fathoms.estimate.distribution import Moments, confidence, mean_of_topics
from fathoms.estimate.relevance import Relevance
from fathoms.evidence.candidates import Candidates
from fathoms.evidence.evidence import Floats, Ints
from fathoms.judge.select import DEFAULT, STRATEGIES, State, Strategy, laplacian

EVERY = 10  # judgments between two fits of the model (RTC section 4.2)
GUESSES = 200  # walks behind a forecast, looked at after so many numbers of judgments
FORECAST_STEPS = 80
FORECAST_PAIRS = 5  # the least confident pairs, which decide how long it takes


class Engine:
    """State of a judging effort over the candidates of some systems (all by default)."""

    def __init__(
        self,
        candidates: Candidates,
        strategy: str | Strategy = DEFAULT,
        *,
        until: float = 0.95,
        baseline: str | None = None,
        seed: int = 0,
        systems: Sequence[int] | None = None,
        clues: Floats | None = None,
    ) -> None:
        if isinstance(strategy, str):
            if strategy not in STRATEGIES:
                raise FathomsError(f"there is no strategy {strategy!r}; there are {', '.join(STRATEGIES)}")
            strategy = STRATEGIES[strategy]
        if not 0.5 < until < 1:
            raise FathomsError(f"confidence to reach must lie between 0.5 and 1, found {until:g}")
        self.strategy = strategy
        self.until = until
        self.block = candidates.block(systems)
        self.names = self.block.names
        if len(self.names) < 2:
            raise FathomsError("judging needs at least two runs to tell apart")
        if baseline is not None and baseline not in self.names:
            raise FathomsError(f"the baseline {baseline!r} is not among the runs: {', '.join(self.names[:5])}, ...")
        self.baseline = None if baseline is None else self.names.index(baseline)
        self._model = None
        if strategy.model is not None:
            self._model = strategy.model(self.block, _gathered(clues, self.block.number))
        present = np.flatnonzero(self.block.present)
        self.size = len(present)  # candidates in all
        self._flat = np.full(len(candidates), -1, dtype=np.int64)  # where each candidate stands in the block
        self._flat[self.block.number.ravel()[present]] = present
        # Documents of equal weight are judged in an order that the seed decides.
        self._lot = np.random.default_rng(seed).random(self.block.number.shape)
        self._known: dict[int, bool] = {}
        self._moments: Moments | None = None
        self.load([])

    # -- judgments --------------------------------------------------------------------------------------------

    @property
    def judged(self) -> int:
        """How many candidates are judged."""
        return len(self._known)

    def load(self, judgments: Sequence[tuple[int, bool]]) -> None:
        """Start again from these: (candidate number, relevant), in order."""
        known: dict[int, bool] = {}
        for number, relevant in judgments:  # all before any counts: what fails changes nothing
            self._check(number, known)
            known[number] = relevant
        fitted = len(judgments) - len(judgments) % EVERY
        self._known = dict(judgments[:fitted])
        self.fit()
        for number, relevant in judgments[fitted:]:
            self.judge(number, relevant)

    def judge(self, index: int, relevant: bool) -> None:
        """One more judgment. Every tenth has the model fitted anew."""
        self._check(index, self._known)
        self._known[index] = relevant
        if len(self._known) % EVERY == 0:
            self.fit()
            return
        topic, column = self._place(index)
        state = self._state
        state.judged[topic, column] = True
        state.relevant[topic, column] = relevant
        state.order.append((topic, column))
        row = state.moments.judge(topic, column, relevant)
        self._weight.update(topic, column, row)
        if self._relevance is not None:
            self._directions[topic] = self._relevance.directions(self._slope(topic), topic)
        self._rank(topic)

    def undo(self) -> None:
        """Take the last judgment back."""
        if not self._known:
            raise FathomsError("there is no judgment to take back")
        self.load(list(self._known.items())[:-1])

    def _has(self, index: int) -> bool:
        return 0 <= index < len(self._flat) and bool(self._flat[index] >= 0)

    def _place(self, index: int) -> tuple[int, int]:
        topic, column = divmod(int(self._flat[index]), self.block.number.shape[1])
        return topic, column

    def _check(self, index: int, known: Collection[int]) -> None:
        if not self._has(index):
            raise FathomsError(f"there is no candidate {index}")
        if index in known:
            raise FathomsError(f"candidate {index} is judged already")

    def fit(self) -> None:
        """Fit the model to all judgments so far, as every tenth judgment does."""
        block = self.block
        judged, relevant = (np.zeros(block.number.shape, dtype=bool) for _ in range(2))
        order = [self._place(number) for number in self._known]
        if order:
            topics, columns = np.array(order).T
            judged[topics, columns] = True
            relevant[topics, columns] = list(self._known.values())
        self._relevance: Relevance | None = None
        chance: Floats | float = 0.5
        if self._model is not None:
            self._relevance = self._model.fit(judged, relevant)
            chance = self._relevance.probability
        p = np.where(judged, relevant, np.where(block.present, chance, 0.0))
        if self._moments is None:
            self._moments = Moments(block, p)
        else:
            self._moments.set(p)
        if self._relevance is not None:
            self._directions = self._relevance.directions(self._slope(slice(None)))
        everything = laplacian(self.pairs(), len(self.names))
        self._state = State(block, self._moments, judged, relevant, order, everything)
        unsettled = self.open_pairs()
        if unsettled:
            self._state.open_pairs = laplacian(unsettled, len(self.names))
        self._weight = self.strategy.weight(self._state)
        self._top = np.empty(len(judged), dtype=np.int64)
        self._greatest = np.empty(len(judged))
        for topic in range(len(judged)):
            self._rank(topic)

    def _slope(self, topic: int | slice) -> Floats:
        """dE[MAP]/dp times p (1 - p), which is dE[MAP] by the logit of p."""
        moments = self._state_moments
        return moments.gradient(topic) * moments.v[topic][..., None, :] / self.block.shape[0]

    @property
    def _state_moments(self) -> Moments:
        assert self._moments is not None
        return self._moments

    # -- which document ---------------------------------------------------------------------------------------

    def next(self, skip: Collection[int] = ()) -> int | None:
        """The number of the candidate to judge next, None when nothing is left."""
        greatest, top = self._greatest, self._top
        places = [self._place(number) for number in skip if self._has(number)]
        if places:
            greatest, top = greatest.copy(), top.copy()
            for topic in {topic for topic, _ in places}:
                top[topic], greatest[topic] = self._best(topic, [column for t, column in places if t == topic])
        topic = self._first_of(greatest, self._lot[np.arange(len(top)), top])
        if not np.isfinite(greatest[topic]):
            return None
        return int(self.block.number[topic, top[topic]])

    def _rank(self, topic: int) -> None:
        self._top[topic], self._greatest[topic] = self._best(topic, [])

    def _best(self, topic: int, without: list[int]) -> tuple[int, float]:
        state = self._state
        weights = np.where(state.judged[topic] | ~self.block.present[topic], -np.inf, self._weight.values[topic])
        weights[without] = -np.inf
        column = self._first_of(weights, self._lot[topic])
        return column, float(weights[column])

    @staticmethod
    def _first_of(weights: Floats, lot: Floats) -> int:
        """The greatest weight; among those that differ by rounding only, the one on which the lot falls."""
        most = weights.max()
        if not np.isfinite(most):
            return 0
        return int(np.where(weights >= most - 1e-12 * abs(most), lot, -1.0).argmax())

    # -- what is known of the systems -------------------------------------------------------------------------

    def _beliefs(self) -> tuple[Floats, Floats]:
        """Expectation and covariance of the systems' MAP, the model's own uncertainty counted."""
        expectation, covariance = mean_of_topics(self._state_moments)
        if self._relevance is not None:
            covariance = covariance + self._relevance.covariance(self._directions)
        return expectation, covariance

    def expected(self) -> Floats:
        """Expected MAP, one a system."""
        return self._beliefs()[0]

    def confidence(self) -> Floats:
        """[a, b]: the probability that system a has a greater MAP than system b."""
        return confidence(*self._beliefs())

    def probabilities(self) -> tuple[Ints, Floats]:
        """Numbers of the candidates, and each one's probability of relevance: 0 or 1 where judged."""
        present = self.block.present
        return self.block.number[present], self._state_moments.p[present]

    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of systems that matter: all, or those with the baseline."""
        systems = range(len(self.names))
        if self.baseline is not None:
            return [(self.baseline, other) for other in systems if other != self.baseline]
        return [(a, b) for a in systems for b in systems if a < b]

    def open_pairs(self) -> list[tuple[int, int]]:
        """Those pairs of which neither system is the better one with the confidence asked for."""
        chance = self.confidence()
        return [(a, b) for a, b in self.pairs() if max(chance[a, b], chance[b, a]) < self.until]

    def settled(self) -> bool:
        """Whether every pair that matters has the confidence asked for. A model is not trusted before its first fit."""
        enough = self._model is None or self.judged >= min(EVERY, self.size)
        return enough and not self.open_pairs()

    def forecast(self) -> tuple[int, int] | None:
        """How many more judgments it may take to settle every pair: quartiles of a guess; None before a first fit.

        As documents are judged, a pair's variance falls (that of the documents judged, the model's own in proportion)
        and its expected difference wanders by as much: a random walk, stopped when the difference is z standard
        deviations from 0. Walks are drawn for the least confident pairs, documents taken as their variance says.
        """
        from scipy.special import ndtri

        if self.judged < EVERY or self._model is None:
            return None
        expectation, covariance = self._beliefs()
        chance = confidence(expectation, covariance)
        unsettled = sorted(self.open_pairs(), key=lambda pair: max(chance[pair], 1 - chance[pair]))[:FORECAST_PAIRS]
        most = self.size - self.judged
        if not unsettled or not most:
            return 0, 0
        moments = self._state_moments
        scale = np.maximum(moments.R, 1e-9)[:, None] ** 2
        steps = distinct(np.geomspace(1, most, FORECAST_STEPS).round().astype(np.int64))
        rng = np.random.default_rng(0)
        need = np.zeros(GUESSES, dtype=np.int64)
        for a, b in unsettled:
            carried = np.sort((moments.v * (moments.H[:, a] - moments.H[:, b]) ** 2 / scale).ravel())[::-1]
            left = np.maximum(1 - np.cumsum(carried)[steps - 1] / max(float(carried.sum()), 1e-300), 0.0)
            left[-1] = 0.0
            variance = max(covariance[a, a] + covariance[b, b] - 2 * covariance[a, b], 0.0)
            moved = np.sqrt(variance * np.maximum(-np.diff(left, prepend=1.0), 0.0)) * rng.standard_normal(
                (GUESSES, len(steps))
            )
            difference = expectation[a] - expectation[b] + np.cumsum(moved, axis=1)
            reached = np.abs(difference) >= float(ndtri(self.until)) * np.sqrt(variance * left)
            need = np.maximum(need, steps[reached.argmax(axis=1)])
        low, high = np.quantile(need, [0.25, 0.75])
        return int(low), int(np.ceil(high))


def _gathered(clues: Floats | None, number: Ints) -> Floats | None:
    """Clues [candidate, clue] as a block [topic, column, clue], nan where there is no document."""
    if clues is None:
        return None
    return np.concatenate([clues, np.full((1, clues.shape[1]), np.nan)])[number]
