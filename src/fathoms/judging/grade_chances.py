"""Which grade each unjudged document may have: the models behind a strategy, in the form that the engine asks for.

The default is the model of the estimates (`estimate/grades.py`), including drift with depth: what `fathoms predict`
believes about a document, `fathoms judge` believes too. Only the errors that all documents of a run may share are left
to the runs' coefficients, since here documents of every run are judged as judging goes on. RTC's experts and MTC's even
chances say only whether a document is relevant; its grade is then drawn from the relevant documents judged so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from fathoms.data.qrels import JUDGED, UNJUDGED
from fathoms.estimate.backtest import DRIFT_MEAN, DRIFT_SPREAD, TOPIC_DRIFT, Drift, log_distance
from fathoms.estimate.documents import SLOPED, Documents
from fathoms.estimate.grades import GradeModel, chances_in_place, fit_grades
from fathoms.estimate.relevance import Experts, Fusion, Model, Relevance
from fathoms.evidence.candidates import Block
from fathoms.evidence.evidence import Bools, Floats, Ints

UNKNOWN_DRIFT = Drift(DRIFT_MEAN, DRIFT_SPREAD, float(np.sqrt(TOPIC_DRIFT)))


class Slopes(Protocol):
    """How runs' expected scores in a topic depend on what its documents are worth: [run, document], as an operator."""

    def times(self, values: Floats, growths: Floats, matrix: NDArray[Any]) -> Floats:
        """[run, ...]: the sum over documents of slope times a matrix [document, ...], for the change in what each
        document's grade is worth, and the growth of the ideal with it, both [document]."""

    def each(self, values: Floats, growths: Floats) -> Floats:
        """[run, document]: the same by document, so with the identity."""


class GradeFit(Protocol):
    """What a model says once it is fitted."""

    chance: Floats  # [level, topic, column]: of each level, where it is not judged
    certain: bool  # whether it leaves its own uncertainty out; then nobody need ask for directions

    def directions(self, topic: int, slopes: Slopes, values: Floats, growths: Floats) -> Any:
        """How expected scores in a topic move with what the model is not sure of; `values` and `growths` by level."""

    def covariance(self, directions: Sequence[Any]) -> Floats:
        """[run, run] of the sums over topics, from all topics' directions."""

    def levels(self, n: int, seed: int, wanted: Bools) -> NDArray[np.int8]:
        """[draw, topic, column]: levels drawn together for at least the documents wanted [topic, column], including the
        model's own uncertainty. What a document gets does not depend on which others are wanted."""


class GradeLearner(Protocol):
    def fit(self, judged: Bools, level: Ints) -> GradeFit:
        """From what is judged, [topic, column]."""


# From a block, labels [topic, column, label], levels, and the depth of the pool that was judged before, 0 for none.
LearnerMaker = Callable[[Block, "Floats | None", Floats, int], GradeLearner]


# -- the model of the estimates -------------------------------------------------------------------------------


class Grades:
    """`estimate/grades.py` over the documents of a block."""

    def __init__(self, block: Block, labels: Floats | None, levels: Floats, pool_depth: int = 0) -> None:
        self.block = block
        self.documents = _documents(block, labels, levels)
        self.features = self.documents.features(np.arange(len(self.documents)))
        self.cells = np.flatnonzero(block.present)  # where each document stands in the block
        self.pool_depth = pool_depth
        self.drift = UNKNOWN_DRIFT

    def fit(self, judged: Bools, level: Ints) -> DocumentGrades:
        documents = self.documents_with(judged, level)
        return DocumentGrades(self, learnt_from(documents, np.flatnonzero(documents.judged)))

    def documents_with(self, judged: Bools, level: Ints) -> Documents:
        codes = np.where(judged.ravel()[self.cells], JUDGED + level.ravel()[self.cells], UNJUDGED).astype(np.int16)
        return replace(self.documents, codes=codes)


def learnt_from(documents: Documents, known: Ints) -> GradeModel:
    """What some of the judged documents teach."""
    return fit_grades(documents, known, every_step=True)


def _documents(block: Block, labels: Floats | None, levels: Floats) -> Documents:
    from scipy.sparse import csr_matrix

    topic, column = np.nonzero(block.present)
    n_topics, k, n = block.shape
    row = np.full((n_topics, n + 1), -1)
    row[topic, column] = np.arange(len(topic))
    here = row[np.arange(n_topics)[:, None, None], block.column]  # [topic, run, rank]
    _, run, rank = np.nonzero(here >= 0)
    ranks = csr_matrix((rank + 1.0, (here[here >= 0], run)), shape=(len(topic), k))
    least, owner = (part[topic, column] for part in block.least_rank)
    return Documents(
        number=block.number[topic, column],
        topic=topic,
        codes=np.full(len(topic), UNJUDGED, dtype=np.int16),
        reach=least,
        owner=owner,
        pooled=least,
        ranks=ranks,
        labels=np.zeros((len(topic), 0)) if labels is None else labels[topic, column],
        depth=block.depth,
        n_topics=n_topics,
        levels=levels,
        inside=np.ones(len(topic)),
    )


class DocumentGrades:
    """A fit of `Grades`: a chain of steps up, each a regression with effects of topics."""

    certain = False

    def __init__(self, learner: Grades, model: GradeModel) -> None:
        self.learner, self.model = learner, model
        documents, block = model.documents, learner.block
        distance = log_distance(documents.reach, learner.pool_depth)
        features, topic = learner.features, documents.topic
        self._step_chance = np.zeros((len(model.fits), *block.present.shape))
        for place, fit in enumerate(model.fits):
            logits = features @ fit.coefficients.astype(np.float32)
            logits = logits + (features[:, SLOPED] * fit.effects[topic]).sum(axis=1)
            if place == 0:
                logits = logits + learner.drift.mean * distance
            self._step_chance[place].flat[learner.cells] = expit(logits)
        reached = np.cumprod(self._step_chance, axis=0)
        self.chance = np.zeros((len(documents.levels), *block.present.shape))
        self.chance[0] = 1 - reached[0]
        for place, level in enumerate(model.levels):
            further = reached[place + 1] if place + 1 < len(reached) else 0.0
            self.chance[level] += reached[place] - further
        self._reached = reached
        start = np.searchsorted(topic, np.arange(documents.n_topics + 1))
        self._rows = [slice(a, b) for a, b in pairwise(start.tolist())]
        self._features = features
        self._distance = distance

    def directions(self, topic: int, slopes: Slopes, values: Floats, growths: Floats) -> Any:
        """Of each step the shared coefficients' and the topic's own; drift with depth goes with the first."""
        rows = self._rows[topic]
        n = rows.stop - rows.start
        features, steps = self._features[rows], [0, *self.model.levels]
        of_steps: list[tuple[Floats, Floats]] = []
        by_depth: Floats = np.zeros(0)
        for place in range(len(self.model.fits)):
            stop, reached = 1 - self._step_chance[place, topic, :n], self._reached[place:, topic, :n]
            by_logit = [stop * (np.diff(of[steps])[place:] @ reached) for of in (values, growths)]
            shared = slopes.times(by_logit[0], by_logit[1], features)
            of_steps.append((shared, shared[:, SLOPED]))
            if place == 0:
                by_depth = slopes.times(by_logit[0], by_logit[1], self._distance[rows])
        return of_steps, by_depth

    def covariance(self, directions: Sequence[Any]) -> Floats:
        total: Floats = np.zeros((len(directions[0][1]),) * 2)
        for place, fit in enumerate(self.model.fits):
            shared = sum(of_topic[0][place][0] for of_topic in directions)
            own = np.stack([of_topic[0][place][1] for of_topic in directions])  # [topic, run, q]
            reduced = shared - np.einsum("tsj,tjp->sp", own, fit.coupling)
            total += reduced @ fit.shared @ reduced.T + np.einsum("tsj,tjk,trk->sr", own, fit.own, own)
        drift = self.learner.drift
        by_depth = np.stack([of_topic[1] for of_topic in directions])  # [topic, run]
        total += drift.spread**2 * np.outer(by_depth.sum(axis=0), by_depth.sum(axis=0))
        total += drift.of_topics**2 * by_depth.T @ by_depth
        return total

    def levels(self, n: int, seed: int, wanted: Bools) -> NDArray[np.int8]:
        levels = np.zeros((n, *self.learner.block.present.shape), dtype=np.int8)
        if not wanted.any():
            return levels
        rng = np.random.default_rng(seed)
        samples = [[part.astype(np.float32) for part in fit.samples(n, rng)] for fit in self.model.fits]
        drift = self._drifts(n, rng) if self.learner.pool_depth else None
        for topic, rows in enumerate(self._rows):
            size = rows.stop - rows.start
            columns = np.flatnonzero(wanted[topic, :size])
            lot = rng.random((n, size), dtype=np.float32)[:, columns]
            features = self._features[rows][columns].T
            distance = self._distance[rows][columns]
            chance: Any = 1.0
            drawn = np.zeros(lot.shape, dtype=np.int8)
            for step, (shared, effects) in enumerate(samples):
                coefficients = shared.copy()
                coefficients[:, SLOPED] += effects[:, topic]
                logits = coefficients @ features
                if step == 0 and drift is not None:
                    logits += np.outer(drift[:, topic], distance)
                chance = chance * chances_in_place(logits)
                np.copyto(drawn, np.int8(self.model.levels[step]), where=lot < chance)
            levels[:, topic, columns] = drawn
        return levels

    def _drifts(self, n: int, rng: np.random.Generator) -> NDArray[np.float32]:
        """[draw, topic]: what draws add to the logits of being relevant, for each unit of distance from the pool."""
        drawn = [self.learner.drift.slopes(self.model.documents.n_topics, rng) for _ in range(n)]
        return np.stack(drawn).astype(np.float32)


# -- models that know relevant from not -----------------------------------------------------------------------


class RelevantOrNot:
    """A model of `estimate/relevance.py`, or without one even chances; grades are as those judged so far."""

    def __init__(
        self,
        block: Block,
        labels: Floats | None,
        levels: Floats,
        pool_depth: int = 0,
        model: Callable[[Block, Floats | None], Model] | None = None,
    ) -> None:
        self.block, self.n_levels = block, len(levels)
        self.model = None if model is None else model(block, labels)

    def fit(self, judged: Bools, level: Ints) -> RelevantGrades:
        seen = np.bincount(level[judged & (level > 0)], minlength=self.n_levels)
        if not seen.any():
            seen[-1] = 1
        relevance = None if self.model is None else self.model.fit(judged, level > 0)
        return RelevantGrades(self.block, seen / seen.sum(), relevance)


def even_chances(block: Block, labels: Floats | None, levels: Floats, pool_depth: int) -> RelevantOrNot:
    """MTC's: every document is relevant with probability 1/2."""
    return RelevantOrNot(block, labels, levels)


def experts(block: Block, labels: Floats | None, levels: Floats, pool_depth: int) -> RelevantOrNot:
    """RTC's, in the reading closest to the paper."""
    return RelevantOrNot(block, labels, levels, model=Experts)


def by_ranks(block: Block, labels: Floats | None, levels: Floats, pool_depth: int) -> RelevantOrNot:
    """One regression on ranks and labels, for which `recall.py` was measured."""
    return RelevantOrNot(block, labels, levels, model=Fusion)


class RelevantGrades:
    def __init__(self, block: Block, shares: Floats, relevance: Relevance | None) -> None:
        self.shares, self.relevance, self.block = shares, relevance, block
        self.certain = relevance is None or relevance.weight == 0
        self.probability = np.full(block.present.shape, 0.5) if relevance is None else relevance.probability
        self.chance = shares[:, None, None] * self.probability
        self.chance[0] = 1 - self.probability

    def directions(self, topic: int, slopes: Slopes, values: Floats, growths: Floats) -> Any:
        assert self.relevance is not None
        p = self.probability[topic]
        spread = p * (1 - p)
        n = int(self.block.present[topic].sum())
        by_logit = [(spread * float(of @ self.shares))[:n] for of in (values, growths)]
        slope = np.zeros((self.block.shape[1], len(p)))
        slope[:, :n] = slopes.each(*by_logit)
        return self.relevance.directions(slope, topic)

    def covariance(self, directions: Sequence[Any]) -> Floats:
        assert self.relevance is not None
        return self.relevance.covariance(np.stack(directions))

    def levels(self, n: int, seed: int, wanted: Bools) -> NDArray[np.int8]:
        levels = np.zeros((n, *self.probability.shape), dtype=np.int8)
        up_to = np.cumsum(self.shares[1:])[:-1]
        for i in range(n):
            lot = np.random.default_rng((seed, i)).random(self.probability.shape)
            hit = (lot < self.probability) & wanted
            # Below its chance the lot is uniform again, and says which grade.
            levels[i][hit] = 1 + np.searchsorted(up_to, (lot / np.maximum(self.probability, 1e-300))[hit])
        return levels
