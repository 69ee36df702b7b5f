"""The judging engine: which document next, what the judgments so far say about the runs, and how many more it may take.

Front ends (the terminal, a page, the studies) talk to this and nothing else. Everything is a function of the ordered
judgments: an engine given the same judgments again is in the same state.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from fathoms.base.arrays import distinct
from fathoms.base.errors import FathomsError
from fathoms.base.progress import say
from fathoms.estimate.distribution import Moments, confidence
from fathoms.evidence.candidates import Candidates
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.judging.beliefs import Grading, beliefs_of
from fathoms.judging.calibrating import calibrate
from fathoms.judging.grade_chances import UNKNOWN_DRIFT, Grades
from fathoms.judging.other_assessors import WithOthers, doubt_of, second_chances
from fathoms.judging.select import State, Strategy, laplacian, strategy_named
from fathoms.judging.strategy_names import DEFAULT
from fathoms.measures.ap import AP
from fathoms.measures.base import Measure
from fathoms.measures.gains import Binary

EVERY = 10  # judgments between two fits of the model (RTC section 4.2)
SHARE = 20  # later a fit waits for a twentieth of the judgments, which changes as little
GUESSES = 200  # walks behind a forecast, checked after these numbers of judgments
FORECAST_STEPS = 80
FORECAST_RANGE = (0.25, 0.85)  # quantiles reported; after 30 judgments 73% of 33 pairs of TREC-8 fell between them
CALIBRATE = 50  # judgments from which backtests say something
FORECAST_PAIRS = 5  # the least confident pairs, which decide how long it takes


class Engine:
    """State of a judging effort over the candidates of some runs (all by default)."""

    def __init__(
        self,
        candidates: Candidates,
        strategy: str | Strategy = DEFAULT,
        *,
        measures: Sequence[Measure] = (AP(),),
        until: float = 0.95,
        baseline: str | None = None,
        seed: int = 0,
        grades: Sequence[float] = (0.0, 1.0),
        rel: float = 1.0,
        runs: Sequence[int] | None = None,
        labels: Floats | None = None,
        elsewhere: Floats | None = None,
        judgments: Sequence[tuple[int, float]] | None = (),
        imported: int = 0,
        pool_depth: int = 0,
        moments: Moments | None = None,
    ) -> None:
        """`grades` are those a document may have; with `rel` or more it is relevant to strategies that need no more.
        `labels` [candidate, label] are further values for the model; `elsewhere` [topic, grade] counts judged documents
        that are no candidates. The model is fitted once to the `judgments` there are at the start, whatever their
        number; None is for those who `load` them next, of which the first `imported` were made before, from a pool of
        `pool_depth` if it had one. `moments` of the same runs, if no other engine uses them any more, save time."""
        if isinstance(strategy, str):
            strategy = strategy_named(strategy)
        if not 0.5 < until < 1:
            raise FathomsError(f"confidence to reach must lie between 0.5 and 1, found {until:g}")
        if not measures:
            raise FathomsError("judging needs a measure to go by")
        self.strategy = strategy
        self.until = until
        self.seed = seed
        self.measures = list(measures)
        self.block = candidates.block(runs) if moments is None else moments.block
        self.names = self.block.names
        if len(self.names) < 2:
            raise FathomsError("judging needs at least two runs to tell apart")
        if baseline is not None and baseline not in self.names:
            raise FathomsError(f"the baseline {baseline!r} is not among the runs: {', '.join(self.names[:5])}, ...")
        self.baseline = None if baseline is None else self.names.index(baseline)
        self._rel = rel
        self._levels, grading = _grading(self.measures, grades, elsewhere, len(self.block.number))
        self.beliefs = [beliefs_of(measure, self.block, grading, moments) for measure in self.measures]
        self._learner = strategy.learner(self.block, _gathered(labels, self.block.number), grading.levels, pool_depth)
        self._imported = imported
        self._calibrated: list[tuple[int, float]] = []  # the judgments at the last calibration
        self.widening = [1.0] * len(self.measures)  # of standard deviations
        present = np.flatnonzero(self.block.present)
        self.size = len(present)  # candidates in all
        self._flat = np.full(len(candidates), -1, dtype=np.int64)  # where each candidate stands in the block
        self._flat[self.block.number.ravel()[present]] = present
        # Documents of equal weight are judged in an order that the seed decides.
        self._lot = np.random.default_rng(seed).random(self.block.number.shape)
        self._topics = np.arange(len(self._lot))
        if judgments is not None:
            self._load(judgments, len(judgments))

    # -- judgments --------------------------------------------------------------------------------------------

    @property
    def judged(self) -> int:
        """How many candidates are judged."""
        return len(self._known)

    def load(self, judgments: Sequence[tuple[int, float]]) -> None:
        """Start again from these: (candidate number, grade), in order."""
        self._load(judgments, last_fit(len(judgments)))

    def _load(self, judgments: Sequence[tuple[int, float]], fitted: int) -> None:
        """The model is fitted to the first of them, the others follow one by one."""
        known: dict[int, float] = {}
        for number, grade in judgments:  # all before any counts: what fails changes nothing
            self._check(number, known)
            known[number] = grade
        self._calibrate(list(judgments[: self._calibration(fitted)]))
        self._known = dict(judgments[:fitted])
        places = self._flat[list(self._known)]
        judged, level = self._arrays(judgments[:fitted])
        relevant = np.zeros(judged.shape, dtype=bool)
        relevant.flat[places] = [grade >= self._rel for grade in self._known.values()]
        order = [divmod(place, judged.shape[1]) for place in places.tolist()]
        chance = np.zeros((len(self.beliefs[0].values), *judged.shape))
        self._state = State(self.block, judged, relevant, level, chance, order, self.beliefs)
        self._weight = self.strategy.weight(self._state)
        self.fit()
        for done, (number, grade) in enumerate(judgments[fitted:]):
            say("judgments taken in", fitted + done, len(judgments))
            self.judge(number, grade)
        say("judgments taken in", len(judgments), len(judgments))

    def _arrays(self, judgments: Sequence[tuple[int, float]]) -> tuple[Bools, Ints]:
        """What is judged, and each one's level, [topic, column]."""
        places = self._flat[[number for number, _ in judgments]]
        judged = np.zeros(self.block.number.shape, dtype=bool)
        level = np.zeros(judged.shape, dtype=np.int64)
        judged.flat[places] = True
        grades = np.array([grade for _, grade in judgments], dtype=np.float64)
        level.flat[places] = np.maximum(np.searchsorted(self._levels, grades, side="right") - 1, 0)
        return judged, level

    def _calibration(self, judged: int) -> int:
        """The number of judgments at the last calibration: with all that were imported, and when they have doubled."""
        latest, at = 0, max(CALIBRATE, self._imported)
        while last_fit(at) <= judged:
            latest, at = last_fit(at), 2 * at
        return latest

    def _calibrate(self, judgments: list[tuple[int, float]]) -> None:
        """Have backtests on these say how far off the model is."""
        if judgments == self._calibrated:
            return
        self._calibrated = judgments
        self.widening = [1.0] * len(self.measures)
        if isinstance(self._learner, Grades):
            self._learner.drift = UNKNOWN_DRIFT
            if judgments:
                self.widening = calibrate(self._learner, *self._arrays(judgments), self.beliefs, self.seed)

    def judge(self, index: int, grade: float) -> None:
        """One more judgment; at every tenth, and later less often, the model is fitted anew."""
        self._check(index, self._known)
        self._known[index] = grade
        state, level = self._state, self._level(grade)
        topic, column = divmod(int(self._flat[index]), state.judged.shape[1])
        state.judged[topic, column] = True
        state.relevant[topic, column] = grade >= self._rel
        state.level[topic, column] = level
        state.order.append((topic, column))
        if last_fit(self.judged) == self.judged:
            if self._calibration(self.judged) == self.judged:
                self._calibrate(list(self._known.items()))
            self.fit()
            return
        state.chance[:, topic, column] = np.arange(len(state.chance)) == level
        for beliefs in self.beliefs:
            beliefs.judge(topic, column, level)
        self._weight.update(topic, column)
        self._rank(topic)

    def _level(self, grade: float) -> int:
        """The place of the greatest grade told apart that is no greater."""
        return max(int(np.searchsorted(self._levels, grade, side="right")) - 1, 0)

    def _has(self, index: int) -> bool:
        return 0 <= index < len(self._flat) and bool(self._flat[index] >= 0)

    def _check(self, index: int, known: Collection[int]) -> None:
        if not self._has(index):
            raise FathomsError(f"there is no candidate {index}")
        if index in known:
            raise FathomsError(f"candidate {index} is judged already")

    def fit(self) -> None:
        """Fit the model to all judgments so far, see which pairs are open, and weigh all documents anew."""
        state = self._state
        self._fit = fit = self._learner.fit(state.judged, state.level)
        known = np.arange(len(state.chance))[:, None, None] == state.level
        # Anew even if no probability changed: then a state that was loaded equals one that grew, to the last bit.
        state.chance[:] = np.where(state.judged | ~self.block.present, known, fit.chance)
        for beliefs in self.beliefs:
            beliefs.start(state.chance, fit, self.seed)
        for place, beliefs in enumerate(self.beliefs):
            beliefs.open_pairs = laplacian(self._open(place) or self.pairs(), len(self.names))
        self._weight.start()
        self._top, self._greatest = self._best(slice(None), state.judged | ~self.block.present)

    # -- which document ---------------------------------------------------------------------------------------

    def next(self, skip: Collection[int] = (), topic: int | None = None) -> int | None:
        """The number of the candidate to judge next, of one topic or of any; None when nothing is left."""
        if topic is not None:
            return next(iter(self.queue(1, skip, topic)), None)
        greatest, top = self._greatest, self._top
        skipped = self._flat[[number for number in skip if self._has(number)]]
        if len(skipped):
            greatest, top = greatest.copy(), top.copy()
            without = self._state.judged | ~self.block.present
            without.flat[skipped] = True
            for row in distinct(skipped // without.shape[1]):
                top[row], greatest[row] = self._best(row, without[row])
        chosen = int(_drawn(greatest, self._lot[self._topics, top], greatest.max()))
        if not np.isfinite(greatest[chosen]):
            return None
        return int(self.block.number[chosen, top[chosen]])

    def queue(self, n: int, skip: Collection[int] = (), topic: int | None = None) -> list[int]:
        """The first n candidates, of one topic or of any, that `next` would name one after another if each were skipped
        in turn."""
        without = self._state.judged | ~self.block.present
        without.flat[self._flat[[number for number in skip if self._has(number)]]] = True
        if topic is not None:
            without[np.arange(len(without)) != topic] = True
        weights = np.where(without, -np.inf, self._weight.values).ravel()
        n = min(n, int((~without).sum()))
        if not n:
            return []
        least = np.partition(weights, -n)[-n]
        near = np.flatnonzero(weights >= least - 1e-12 * abs(least))  # including those that the lot may prefer
        values, lot = weights[near], self._lot.ravel()[near]
        numbers: list[int] = []
        for _ in range(n):
            best = int(_drawn(values, lot, values.max()))
            numbers.append(int(self.block.number.flat[near[best]]))
            values[best] = -np.inf
        return numbers

    def weights(self) -> Floats:
        """[topic, column]: the weights that documents are chosen by; 0 for those that are judged."""
        return np.where(self._state.judged | ~self.block.present, 0.0, self._weight.values)

    def max_change(self) -> Floats:
        """[topic, column]: how far judging a document relevant could move the scores of two runs apart, by the first
        measure."""
        greatest = np.zeros(self.block.number.shape)
        beliefs = self.beliefs[0]
        for topic in self._topics:
            effects = beliefs.effects(int(topic))
            everyone = np.eye(len(self.names))
            change = beliefs.values[-1] * (effects.by_gain @ everyone) - effects.growth[-1] * effects.score
            greatest[topic, : len(change)] = change.max(axis=1) - change.min(axis=1)
        return greatest

    def _rank(self, topic: int) -> None:
        without = self._state.judged[topic] | ~self.block.present[topic]
        self._top[topic], self._greatest[topic] = self._best(topic, without)

    def _best(self, topic: int | slice, without: Bools) -> tuple[Any, Any]:
        """The column of greatest weight, and that weight; -inf where nothing is left."""
        weights = np.where(without, -np.inf, self._weight.values[topic])
        most = weights.max(axis=-1)
        return _drawn(weights, self._lot[topic], most), most

    # -- what is known of the runs -------------------------------------------------------------------------

    def expected(self, measure: int = 0) -> Floats:
        """Expected mean score by one of the measures, one a run."""
        return self.beliefs[measure].means()

    def confidence(self, measure: int = 0) -> Floats:
        """[a, b]: the probability that run a has a greater mean score than run b, by one of the measures."""
        return confidence(self.beliefs[measure].means(), self._covariance(measure))

    def with_others(self, pairs: Sequence[tuple[float, float]], measure: int = 0) -> WithOthers | None:
        """The same if another assessor had judged, from the two grades of documents judged twice; None if these are too
        few to tell."""
        others = second_chances(pairs, self._level, len(self._levels))
        if others is None:
            return None
        doubt = doubt_of(self.beliefs[measure], self._state.chance, others)
        means, covariance = self.expected(measure), self._covariance(measure)
        after = covariance + doubt.covariance
        return WithOthers(
            confidence(means + doubt.shift, after), doubt.shift, _deviation(covariance), _deviation(after)
        )

    def _covariance(self, measure: int) -> Floats:
        """Covariance of mean scores, as wide as the backtests ask for."""
        return self.widening[measure] ** 2 * self.beliefs[measure].covariance()

    def probabilities(self) -> tuple[Ints, Floats]:
        """Numbers of the candidates, and each one's probability of relevance: 0 or 1 where judged."""
        present = self.block.present
        # If grades count as relevant or not by a measure's threshold, no other grade can be told.
        relevant = np.tensordot(self._levels >= min(self._rel, self._levels[-1]), self._state.chance, axes=1)
        return self.block.number[present], relevant[present]

    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of runs that matter: all, or those with the baseline."""
        runs = range(len(self.names))
        if self.baseline is not None:
            return [(self.baseline, other) for other in runs if other != self.baseline]
        return [(a, b) for a in runs for b in runs if a < b]

    def open_pairs(self) -> list[tuple[int, int]]:
        """The pairs of which, by some measure, neither run is better with the required confidence."""
        is_open = set().union(*(self._open(place) for place in range(len(self.beliefs))))
        return [pair for pair in self.pairs() if pair in is_open]

    def _open(self, measure: int) -> list[tuple[int, int]]:
        chance = self.confidence(measure)
        is_open = np.maximum(chance, chance.T) < self.until
        return [(a, b) for a, b in self.pairs() if is_open[a, b]]

    def settled(self) -> bool:
        """Whether every pair that matters has the required confidence. A model is not trusted before its first fit, nor
        ours before it has seen as many topics (or all, if runs differ in fewer)."""
        enough = not self.strategy.learns or self.judged >= min(EVERY, self.size)
        return enough and self._seen_topics() and not self.open_pairs()

    def _seen_topics(self) -> bool:
        """Whether enough of the topics in which runs differ have judgments; MTC and RTC have no such rule."""
        if not isinstance(self._learner, Grades):
            return True
        column = self.block.column
        differ = (column != column[:, :1]).any(axis=(1, 2))
        seen = self._state.judged.any(axis=1)
        return int((seen & differ).sum()) >= min(EVERY, int(differ.sum()))

    def forecast(self) -> tuple[int, int] | None:
        """How many more judgments it may take to settle every pair, from and to; None without a fitted model.

        As documents are judged, a pair's variance falls and its expected difference wanders by as much: a random walk,
        stopped when the difference is z standard deviations from 0. Walks are drawn for the least confident pairs. The
        documents' share of the variance falls as those that carry most of it are judged; the model's share falls as
        that of a mean does, with the number of judgments.
        """
        from scipy.special import ndtri

        if self.judged < EVERY or not self.strategy.learns:
            return None
        most = self.size - self.judged
        unsettled = self._least_confident()
        if not unsettled or not most:
            return 0, 0
        steps = distinct(np.geomspace(1, most, FORECAST_STEPS).round().astype(np.int64))
        fewer = self.judged / (self.judged + steps)
        rng = np.random.default_rng(0)
        need = np.zeros(GUESSES, dtype=np.int64)
        for measure, a, b in unsettled:
            beliefs = self.beliefs[measure]
            expectation, covariance = beliefs.means(), self._covariance(measure)
            carried = np.sort(beliefs.pair_sizes(a, b))[::-1]
            in_all = _of_difference(covariance, a, b)
            of_documents = min(float(carried.sum()), in_all)
            left = np.maximum(1 - np.cumsum(carried)[steps - 1] / max(float(carried.sum()), 1e-300), 0.0)
            variance = of_documents * left + (in_all - of_documents) * fewer
            variance[-1] = 0.0
            resolved = np.maximum(-np.diff(variance, prepend=in_all), 0.0)
            walks = np.cumsum(np.sqrt(resolved) * rng.standard_normal((GUESSES, len(steps))), axis=1)
            difference = expectation[a] - expectation[b] + walks
            reached = np.abs(difference) >= float(ndtri(self.until)) * np.sqrt(variance)
            need = np.maximum(need, steps[reached.argmax(axis=1)])
        low, high = np.quantile(need, FORECAST_RANGE)
        return int(low), int(np.ceil(high))

    def _least_confident(self) -> list[tuple[int, int, int]]:
        """Measure and pair of those that will take longest."""
        by_confidence = []
        for measure in range(len(self.beliefs)):
            chance = self.confidence(measure)
            by_confidence += [(abs(chance[a, b] - 0.5), measure, a, b) for a, b in self._open(measure)]
        return [(measure, a, b) for _, measure, a, b in sorted(by_confidence)[:FORECAST_PAIRS]]


def _deviation(covariance: Floats) -> Floats:
    """[run, run], of differences."""
    own = covariance.diagonal()
    return np.sqrt(np.maximum(own[:, None] + own - 2 * covariance, 0.0))


def _of_difference(covariance: Floats, a: int, b: int) -> float:
    return max(float(covariance[a, a] + covariance[b, b] - 2 * covariance[a, b]), 0.0)


def last_fit(judged: int) -> int:
    """The number of judgments at the last fit: every tenth, and from 400 on every multiple of ten that is a twentieth
    more than the one before."""
    while _FITS[-1] <= judged:
        _FITS.append(_FITS[-1] + max(EVERY, _FITS[-1] // SHARE // EVERY * EVERY))
    return _FITS[bisect_right(_FITS, judged) - 1]


_FITS = [0]


def _grading(
    measures: Sequence[Measure], grades: Sequence[float], elsewhere: Floats | None, n_topics: int
) -> tuple[Floats, Grading]:
    """The grades told apart: relevant or not, unless a measure asks for more."""
    levels = distinct(np.maximum(np.asarray([0.0, *grades], dtype=np.float64), 0.0))
    counts = np.zeros((n_topics, len(levels))) if elsewhere is None else elsewhere.astype(np.float64)
    thresholds = {float(m.rel) if isinstance(m, Binary) else -1.0 for m in measures}
    rel = max(thresholds)
    if len(thresholds) == 1 and rel > 0 and len(levels) > 2:
        counts = np.stack([counts[:, levels < rel].sum(axis=1), counts[:, levels >= rel].sum(axis=1)], axis=1)
        levels = np.array([0.0, rel])
    return levels, Grading(levels, counts)


def _gathered(labels: Floats | None, number: Ints) -> Floats | None:
    """Labels [candidate, label] as a block [topic, column, label], nan where there is no document."""
    if labels is None:
        return None
    return np.concatenate([labels, np.full((1, labels.shape[1]), np.nan)])[number]


def _drawn(weights: Floats, lot: Floats, most: Floats) -> Any:
    """The place of the greatest weight; among those that differ only by rounding, the one that the lot picks."""
    least = most - 1e-12 * np.abs(most)
    return np.where(weights >= least[..., None], lot, -1.0).argmax(axis=-1)
