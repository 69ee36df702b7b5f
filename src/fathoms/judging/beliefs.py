"""What is believed about the runs' scores by a measure, while some documents' grades are known only by their chances.

A score is a sum over documents, divided by R or an ideal in some measures. With a_i what a unit of gain at document i
adds to a run's expected score, x(l) the gain of level l, s the score and d(l) the growth of the divisor by a document
of level l, as a share, judging document i moves the expected score by a_i (x(l) - E x) - s (d(l) - E d), which is exact
if there is no divisor. Which documents matter follows from the variance of that over l; the covariance of the runs'
scores is the sum of it over documents for weighted measures, RTC's closed form for AP, and taken from draws for all
others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from fathoms.base.arrays import ratio, row_sums
from fathoms.base.errors import FathomsError
from fathoms.data.qrels import JUDGED, PADDING
from fathoms.estimate.distribution import Moments
from fathoms.evidence.candidates import Block
from fathoms.evidence.evidence import Bools, Evidence, Floats, Ints
from fathoms.evidence.sparse_places import Listed, known_in_all
from fathoms.judging.grade_chances import GradeFit
from fathoms.measures.ap import AP
from fathoms.measures.base import Measure
from fathoms.measures.normalised import NormalisedSum
from fathoms.measures.weighted import Weighted

DRAWS = 200
DENSE = 16  # runs up to which sparse matrices are not worth it
MOST_IN_CLOSED_FORM = 30  # runs up to which the covariances of AP are computed rather than drawn


Matrix: TypeAlias = Any  # an array, or with many runs a sparse matrix


class Grading(NamedTuple):
    """What grades there are, and what is known about documents that no run has."""

    levels: Floats  # ascending from 0
    elsewhere: Floats  # [topic, level]: judged documents that are no candidates

    @property
    def max_grade(self) -> float:
        return float(self.levels[-1])


class TopicEffects(NamedTuple):
    """How a topic's expected scores depend on the grades of its documents."""

    on_sum: Matrix  # [document, run]: a before it is divided
    divisor: float
    score: Floats  # [run]: s
    growth: Floats  # [level]: d

    @property
    def by_gain(self) -> Matrix:
        """a"""
        return self.on_sum * (1 / self.divisor if self.divisor > 0 else 0.0)

    def times(self, values: Floats, growths: Floats, matrix: NDArray[Any]) -> Floats:
        """[run, ...]: see `Slopes`."""
        gained = self.by_gain.T @ (values * matrix.T).T
        return np.asarray(gained - np.multiply.outer(self.score, growths @ matrix))

    def each(self, values: Floats, growths: Floats) -> Floats:
        """[run, document]: see `Slopes`."""
        by_gain = self.by_gain.T
        gained = by_gain * values if isinstance(by_gain, np.ndarray) else by_gain.multiply(values).toarray()
        return np.asarray(gained - np.multiply.outer(self.score, growths))


class Beliefs(ABC):
    """The beliefs about one measure. `chance` [level, topic, column] is the engine's, and 0 or 1 where judged."""

    def __init__(self, measure: Measure, block: Block, grading: Grading) -> None:
        self.measure, self.block, self.grading = measure, block, grading
        self._present = block.present.sum(axis=1)  # documents of a topic stand in its first columns
        without_judgments = self._known(np.zeros((1, len(grading.levels))))
        self.values = measure.tie_value(without_judgments)[JUDGED:]
        self.relevant = (grading.levels >= getattr(measure, "rel", 1.0)).astype(np.float64)
        n_topics, k, _ = block.shape
        self.expectation: Floats = np.zeros((n_topics, k))  # of the score
        self.open_pairs = np.zeros((k, k))  # Laplacian of the graph of pairs that are not settled

    def start(self, chance: Floats, fit: GradeFit, seed: int) -> None:
        """Everything anew, as when the model is fitted."""
        self.chance, self.fit = chance, fit
        self._effects: dict[int, TopicEffects] = {}
        self._begin(seed)

    @abstractmethod
    def _begin(self, seed: int) -> None: ...

    def judge(self, topic: int, column: int, level: int) -> None:
        """One more level is known, and `chance` says so."""
        self._effects.pop(topic, None)
        self._update(topic, column, level)

    @abstractmethod
    def _update(self, topic: int, column: int, level: int) -> None: ...

    @abstractmethod
    def covariance(self) -> Floats:
        """[run, run], of mean scores."""

    def means(self) -> Floats:
        """[run]: expected mean scores."""
        return np.asarray(self.expectation.mean(axis=0))

    # -- what a judgment changes ------------------------------------------------------------------------------

    def _known(self, counts: Floats) -> Evidence:
        return known_in_all([""] * len(counts), self.grading.levels, self.grading.max_grade, counts)

    def effects(self, topic: int) -> TopicEffects:
        """With the current chances."""
        if topic not in self._effects:
            self._effects[topic] = self.effects_with(topic, self.chance[:, topic])
        return self._effects[topic]

    def effects_with(self, topic: int, chance: Floats) -> TopicEffects:
        """With other chances [level, column]."""
        divisor, growth = self._divisors(self._in_all(topic, chance)[None])
        return TopicEffects(self._on_sum(topic, chance), float(divisor[0]), self._score(topic), growth[0])

    def _divisors(self, in_all: Floats) -> tuple[Floats, Floats]:
        """[topic], and [topic, level]: by what share it grows with one document more of each level."""
        n, levels = in_all.shape
        more = np.concatenate([np.zeros((1, levels)), np.eye(levels)])
        divisors = self.measure.divisor(self._known((in_all[:, None] + more).reshape(-1, levels))).reshape(n, -1)
        return divisors[:, 0], ratio(divisors[:, 1:] - divisors[:, :1], divisors[:, :1])

    def _in_all(self, topic: int, chance: Floats) -> Floats:
        """[level]: how many documents of a topic to expect."""
        return chance[:, : self._present[topic]].sum(axis=1) + self.grading.elsewhere[topic]

    def _on_sum(self, topic: int, chance: Floats) -> Matrix:
        """[document, run]: what a unit of gain adds before it is divided, with these chances [level, column]."""
        n = self._present[topic]
        known = self._known(self._in_all(topic, chance)[None])
        chance = chance[:, :n]
        column = self.block.column[topic]
        columns = np.minimum(column, n)
        gains = np.append(self.values @ chance, 0.0)[columns]
        relevant = np.append(self.relevant @ chance, 0.0)[columns]
        return _matrix(self.measure.place_effects(gains, relevant, known), columns, n)

    def _score(self, topic: int) -> Floats:
        """[run]: expected scores of a topic."""
        return self.expectation[topic]

    def effect_sizes(self, topic: int, pairs: Floats) -> Floats:
        """[document]: the variance of what its judgment changes, summed over pairs of runs (a Laplacian)."""
        effects = self.effects(topic)
        chance = self.chance[:, topic, : self._present[topic]]
        x, d = self.values, effects.growth
        mean_x, mean_d = x @ chance, d @ chance
        by_gain = effects.by_gain
        total = _quadratic(by_gain, pairs) * np.maximum(x**2 @ chance - mean_x**2, 0.0)
        if d.any():
            of_score = float(effects.score @ pairs @ effects.score)
            of_both = by_gain @ (pairs @ effects.score)
            total += of_score * np.maximum(d**2 @ chance - mean_d**2, 0.0)
            total -= 2 * of_both * ((x * d) @ chance - mean_x * mean_d)
        return np.maximum(total, 0.0)

    def gain_sizes(self, topic: int, chance: Floats, over_divisor: bool = True) -> Floats:
        """[document]: squared effects of a unit of gain, summed over open pairs, with these chances [level, column]."""
        effects = self.effects_with(topic, chance).by_gain if over_divisor else self._on_sum(topic, chance)
        return np.maximum(_quadratic(effects, self.open_pairs), 0.0)

    def pair_sizes(self, a: int, b: int) -> Floats:
        """The same for one pair and all documents, of mean scores."""
        pairs = np.zeros(self.open_pairs.shape)
        pairs[[a, b], [a, b]], pairs[[a, b], [b, a]] = 1.0, -1.0
        n_topics = self.block.shape[0]
        return np.concatenate([self.effect_sizes(topic, pairs) for topic in range(n_topics)]) / n_topics**2


class _OpenOnly(NamedTuple):
    """Slopes of the documents that are not judged."""

    effects: TopicEffects
    is_open: Bools

    def times(self, values: Floats, growths: Floats, matrix: NDArray[Any]) -> Floats:
        return self.effects.times(values * self.is_open, growths * self.is_open, matrix)

    def each(self, values: Floats, growths: Floats) -> Floats:
        return self.effects.each(values * self.is_open, growths * self.is_open)


def _matrix(by_rank: Floats, document: Ints, n: int) -> Matrix:
    """[document, run] from values [run, rank] and whose they are, n past the end of a ranking; sparse where there
    are many runs, each of which has a small part of the documents."""
    k = len(document)
    if k > DENSE:
        run, rank = np.nonzero((document < n) & (by_rank != 0))
        return csr_matrix((by_rank[run, rank], (document[run, rank], run)), shape=(n, k))
    matrix = np.zeros((n + 1, k))
    matrix[document, np.arange(k)[:, None]] = by_rank
    return matrix[:n]


def _quadratic(matrix: Matrix, pairs: Floats) -> Floats:
    """[document]: a'La for each row a."""
    product = matrix @ pairs
    if isinstance(matrix, np.ndarray):
        return np.asarray((matrix * product).sum(axis=1))
    document = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return row_sums(document, matrix.data * product[document, matrix.indices], matrix.shape[0])


def sandwich(matrix: Matrix, variance: Floats) -> Floats:
    """[run, run]: A'VA."""
    if isinstance(matrix, np.ndarray):
        return np.asarray((matrix.T * variance) @ matrix)
    product: Floats = (matrix.T @ matrix.multiply(variance[:, None])).toarray()
    return product


class ClosedForm(Beliefs):
    """Expectation and covariance by formulas; what the model does not know of itself by the delta method."""

    def _begin(self, seed: int) -> None:
        n_topics, k, _ = self.block.shape
        self._of_topics: Floats = np.zeros((n_topics, k, k))
        self._set()
        self._directions = [] if self.fit.certain else [self._direct(topic) for topic in range(n_topics)]

    def _update(self, topic: int, column: int, level: int) -> None:
        self._learn(topic, column, level)
        self._redirect(topic)

    def _redirect(self, topic: int) -> None:
        if not self.fit.certain:
            self._directions[topic] = self._direct(topic)

    def _direct(self, topic: int) -> Any:
        effects = self.effects(topic)
        # What is known does not depend on the model.
        is_open = self.chance[:, topic, : self._present[topic]].max(axis=0) < 1
        return self.fit.directions(topic, _OpenOnly(effects, is_open), self.values, effects.growth)

    def covariance(self) -> Floats:
        n_topics = self.block.shape[0]
        total: Floats = self._of_topics.sum(axis=0)
        if not self.fit.certain:
            total += self.fit.covariance(self._directions)
        return total / n_topics**2

    @abstractmethod
    def _set(self) -> None: ...

    @abstractmethod
    def _learn(self, topic: int, column: int, level: int) -> None: ...


class WeightedBeliefs(ClosedForm):
    """A weighted sum of gains: all is exact."""

    def _set(self) -> None:
        for topic in range(self.block.shape[0]):
            self._topic(topic)

    def _learn(self, topic: int, column: int, level: int) -> None:
        self._topic(topic)

    def _topic(self, topic: int) -> None:
        by_gain = self.effects(topic).by_gain
        chance = self.chance[:, topic, : self._present[topic]]
        mean = self.values @ chance
        variance = np.maximum(self.values**2 @ chance - mean**2, 0.0)
        self.expectation[topic] = by_gain.T @ mean
        self._of_topics[topic] = sandwich(by_gain, variance)


class APBeliefs(ClosedForm):
    """RTC section 2.1, by `Moments`: the variance of the sum of precisions over the expected R."""

    def __init__(self, measure: Measure, block: Block, grading: Grading, moments: Moments | None = None) -> None:
        super().__init__(measure, block, grading)
        self._nothing = self._known(np.zeros((1, len(grading.levels))))
        self._moments = moments or Moments(block, elsewhere=grading.elsewhere @ self.relevant)

    def _set(self) -> None:
        self._moments.set(np.where(self.block.present, np.tensordot(self.relevant, self.chance, axes=1), 0.0))
        self.expectation, self._of_topics = self._moments.expectation, self._moments.covariance
        if self.block.shape[1] <= DENSE and not self.fit.certain:  # directions will ask for all of them
            self._effects = self._all_effects()

    def _all_effects(self) -> dict[int, TopicEffects]:
        """Of all topics at once: H of the moments is what a unit of gain adds to the sum."""
        # Topic by topic, since sums must be the same to the last bit as when one topic is looked at again.
        in_all = [self._in_all(topic, self.chance[:, topic]) for topic in range(len(self._present))]
        divisor, growth = self._divisors(np.array(in_all))
        on_sum = np.ascontiguousarray(np.swapaxes(self._moments.H, 1, 2))
        return {
            topic: TopicEffects(on_sum[topic, :n], float(divisor[topic]), self._score(topic), growth[topic])
            for topic, n in enumerate(self._present.tolist())
        }

    def _on_sum(self, topic: int, chance: Floats) -> Matrix:
        """AP needs nothing but the chances of relevance, which are its gains."""
        n = self._present[topic]
        columns = np.minimum(self.block.column[topic], n)
        gains = np.append(self.relevant @ chance[:, :n], 0.0)[columns]
        return _matrix(self.measure.place_effects(gains, gains, self._nothing), columns, n)

    def _learn(self, topic: int, column: int, level: int) -> None:
        self._moments.judge(topic, column, bool(self.relevant[level]))


class DrawnBeliefs(Beliefs):
    """Scores from many draws of all grades, in which known ones are fixed."""

    def _begin(self, seed: int) -> None:
        n_topics, k, _ = self.block.shape
        known = self.chance.max(axis=0) == 1
        self._levels = self.fit.levels(DRAWS, seed, ~known)
        level = np.where(known, self.chance.argmax(axis=0), 0)
        topic, column = np.nonzero(level)  # all others are at 0
        self._levels[:, topic, column] = level[topic, column]
        self._scores = np.zeros((n_topics, DRAWS, k))
        self._changed = set(range(n_topics))
        self._look()
        self._at_start = self.expectation.copy()

    def _score(self, topic: int) -> Floats:
        """As it was at the start, so that choosing documents need not wait for scores of draws."""
        return self._at_start[topic]

    def _update(self, topic: int, column: int, level: int) -> None:
        self._levels[:, topic, column] = level
        self._changed.add(topic)

    def means(self) -> Floats:
        self._look()
        return super().means()

    def _look(self) -> None:
        """Scores of the topics in which something has changed."""
        for topic in sorted(self._changed):
            self._topic(topic)
        self._changed.clear()

    def _topic(self, topic: int) -> None:
        n = self._present[topic]
        levels = self._levels[:, topic, :n]
        drawn: Bools = np.asarray(levels.any(axis=0))  # above level 0 in some draw
        above = levels[:, drawn]
        if (above == above[0]).all():
            levels, above = levels[:1], above[:1]  # all draws agree
        counts = np.stack([(above == level).sum(axis=1) for level in range(len(self.values))], axis=1)
        counts[:, 0] += n - above.shape[1]
        counts = counts + self.grading.elsewhere[topic]
        if isinstance(self.measure, NormalisedSum):
            known = self._known(self.grading.elsewhere[[topic]])
            column = self.block.column[topic]
            shown = np.zeros(column.shape)
            weights = self.measure.place_effects(shown, shown, known)
            by_gain = _matrix(weights, np.minimum(column, n), n)
            sums = by_gain.T @ self.values[levels].T
            scores = self.measure.from_sums(sums, self._known(counts)).T
        elif self.measure.sums_listed:
            known = self._known(self.grading.elsewhere[[topic]])
            places = self._listed[topic]
            if self.values[0] == 0:  # other documents add nothing
                places, levels = _places_of(places, drawn), above
            sums = self.measure.listed_sums(places, self.values[levels].T, known)
            scores = self.measure.from_sums(sums, self._known(counts)).T
        else:
            scores = self._whole(topic, levels, counts)
        self._scores[topic] = scores
        self.expectation[topic] = self._scores[topic].mean(axis=0)

    @cached_property
    def _listed(self) -> list[Listed]:
        """Of each topic the places of all runs, run by run."""
        of_topics = []
        for column, n in zip(self.block.column, self._present, strict=True):
            run, rank = np.nonzero(column < n)
            start = np.searchsorted(run, np.arange(len(column) + 1))
            of_topics.append(Listed(self.block.depth, start, rank + 1, column[run, rank]))
        return of_topics

    def _whole(self, topic: int, levels: NDArray[np.int8], counts: Floats) -> Floats:
        """Scores [draw, run] from whole rankings."""
        column = self.block.column[topic]
        if self.measure.k is not None:
            column = column[:, : int(self.measure.k)]
        k, width = column.shape
        n = levels.shape[1]
        draws = len(levels)
        codes = np.full((draws, n + 1), PADDING, dtype=np.int16)
        codes[:, :n] = JUDGED + levels.astype(np.int16)
        rows = draws * k
        lengths = (self.block.column[topic] < self.block.shape[2]).sum(axis=1)
        evidence = Evidence(
            topics=[""] * rows,
            codes=codes[:, np.minimum(column, n)].reshape(rows, width),
            tied=np.zeros((rows, width), dtype=bool),
            lengths=np.tile(lengths, draws),
            levels=self.grading.levels,
            max_grade=self.grading.max_grade,
            counts=np.repeat(counts, k, axis=0).astype(np.int64),
        )
        return self.measure.value(evidence).reshape(draws, k)

    def covariance(self) -> Floats:
        self._look()
        means = self._scores.mean(axis=0)
        away = means - means.mean(axis=0)
        return away.T @ away / (len(means) - 1)


def _places_of(listed: Listed, documents: Bools) -> Listed:
    """The places of these documents, which are numbered anew."""
    keep = documents[listed.document]
    number = np.cumsum(documents) - 1
    kept = np.append(0, np.cumsum(keep))
    return Listed(listed.depth, kept[listed.start], listed.rank[keep], number[listed.document[keep]])


def check_judging(measure: Measure) -> None:
    """Refuse measures that judging cannot follow."""
    from fathoms.measures.registry import MEASURES

    if measure.judging == "none" or getattr(measure, "judged_only", False) or measure.needs_pool:
        able = ", ".join(name for name, cls in MEASURES.items() if cls.judging != "none")
        raise FathomsError(f"judging cannot go by {measure.name}; it can go by {able}, without judged_only or a pool")


def beliefs_of(measure: Measure, block: Block, grading: Grading, moments: Moments | None = None) -> Beliefs:
    """The kind that fits the measure. `moments` of the same block, if nobody uses them any more, save time."""
    check_judging(measure)
    if isinstance(measure, Weighted):
        return WeightedBeliefs(measure, block, grading)
    whole = measure.k is None or measure.k >= block.depth
    if isinstance(measure, AP) and whole and block.shape[1] <= MOST_IN_CLOSED_FORM:
        return APBeliefs(measure, block, grading, moments)
    return DrawnBeliefs(measure, block, grading)
