"""Scores from a random sample of judgments: drawn from the model, and as wide as halves of the sample are apart.

Half of a sample is a sample too, at half the rate. How far apart the estimates from two halves lie is what chance makes
of the estimate (half-sample replication; McCarthy 1969), whatever the model is, and for every measure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.data.qrels import UNJUDGED
from fathoms.estimate.frame_documents import FrameDocuments, counted, graded, others_of, undrawn
from fathoms.estimate.grades import GradeModel, fit_grades
from fathoms.estimate.sampling_frame import pool_sampled
from fathoms.estimate.scoring import Judging
from fathoms.evidence.candidates import DocumentTable
from fathoms.evidence.evidence import Floats, Ints
from fathoms.measures.base import Measure

SPLITS, HALF_DRAWS = 5, 40  # into two halves, and draws from each
PARTS = 4  # of the draws, for workers
# Chosen on half of the topics and runs of dl20-passage and on simulated collections; each where labels say what was up
# for drawing (True), and where that is inferred. Variance of what all runs share, over that of the draws: what is
# expected before halves are looked at, and how many splits that counts for.
USUAL, PRIOR_SPLITS = {True: 1.5, False: 2.5}, 3.0
# What sets runs apart, and single topics, are shrunk in halves even more than in the whole, so that these do not show
# how far off they are: intervals widened by these factors covered there.
APART, TOPICS = {True: 1.3, False: 1.5}, 1.2
Map = Callable[[Any, Sequence[Any]], list[Any]]
ByMeasure = dict[Measure, Floats]


@dataclass(frozen=True, eq=False)
class DrawnSample:
    """A random sample, the documents it was drawn from, and those of the runs."""

    candidates: DocumentTable
    reach: Ints  # least rank of each of its documents
    documents: FrameDocuments
    elsewhere: Ints  # [topic, level]: judged documents that no run has
    rate: float
    labelled: bool  # all documents that were up for drawing are listed
    max_grade: float
    seed: int

    def fitted(self, start: GradeModel | None = None) -> GradeModel:
        return fit_grades(self.documents, np.flatnonzero(self.documents.judged), self.seed, start)

    def scores(self, depths: dict[Measure, int], model: GradeModel, n: int, draws: range) -> ByMeasure:
        """Some of n draws: [draw, run, topic]."""
        documents = self.documents
        rows = np.flatnonzero(~documents.judged)
        sampler = model.sampler(rows, n, self.seed, draws)
        more: Ints | int = 0
        if not self.labelled:
            number = undrawn(self.elsewhere.sum(axis=1), self.rate, self.seed, draws)
            chances = sampler.chances(documents.typical_others)
            more = graded(number, chances, model.levels, self.elsewhere.shape[1], self.seed, draws)
        return self._completed(depths, sampler.levels(), more)

    def _completed(self, depths: dict[Measure, int], levels: NDArray[np.int16], more: Ints | int = 0) -> ByMeasure:
        """Scores under levels [draw, unjudged document]; `more` documents [draw, topic, level] are in no list."""
        documents = self.documents
        rows = np.flatnonzero(~documents.judged)
        outside = documents.outside[rows]
        beside = more + counted(levels[:, outside], documents.topic[rows[outside]], self.elsewhere.shape)
        scores_of: ByMeasure = {}
        for depth in sorted(set(depths.values())):
            use = (documents.reach[rows] <= depth) & ~outside
            here = [m for m in depths if depths[m] == depth]
            scores = self._judging(rows[use]).scores(here, levels[:, use], beside)
            scores_of |= {m: of_draws for m, (of_draws, _) in scores.items()}
        return scores_of

    def as_judged(self, measures: Sequence[Measure]) -> ByMeasure:
        """[run, topic]: the scores without any further judgment."""
        none = np.zeros((1, 0), dtype=np.int16)
        scores = self._judging(np.empty(0, dtype=np.int64)).scores(measures, none)
        return {m: scores[m][0][0] for m in measures}

    def _judging(self, open_: Ints) -> Judging:
        documents = self.documents
        own = ~documents.outside
        elsewhere = self.elsewhere.copy()
        # Deeper documents are taken as not relevant.
        n_topics = len(elsewhere)
        elsewhere[:, 0] += np.bincount(self.candidates.topic, minlength=n_topics)
        elsewhere[:, 0] -= np.bincount(documents.topic[own], minlength=n_topics)
        known = np.flatnonzero(documents.judged & own)
        return Judging(self.candidates, documents, known, open_, elsewhere, self.max_grade)

    def halves(self, split: int) -> tuple[DrawnSample, DrawnSample]:
        """Two that together are the whole; of each topic half of what is judged."""
        documents = self.documents
        rows = np.flatnonzero(documents.judged)
        rng = np.random.default_rng((self.seed, len(rows), split))
        order = rows[np.lexsort((rng.random(len(rows)), documents.topic[rows]))]
        first = (np.arange(len(order)) + split) % 2 == 0  # in turn, within topics
        first_half, second_half = (self._of(chosen) for chosen in (order[first], order[~first]))
        return first_half, second_half

    def _of(self, judged: Ints) -> DrawnSample:
        documents = self.documents
        codes = np.full(len(documents), UNJUDGED, dtype=np.int16)
        codes[judged] = documents.codes[judged]
        outside = judged[documents.outside[judged]]
        elsewhere = np.zeros_like(self.elsewhere)
        np.add.at(elsewhere, (documents.topic[outside], documents.level[outside]), 1)
        part = replace(documents, codes=codes)
        if self.labelled:
            return replace(self, documents=part, elsewhere=elsewhere, rate=self.rate / 2)
        known = np.zeros(len(self.candidates), dtype=bool)
        known[documents.number[judged[~documents.outside[judged]]]] = True
        frame = pool_sampled(self.candidates, self.reach, known)
        if frame is None:
            return replace(self, documents=others_of(part, elsewhere), elsewhere=elsewhere, rate=self.rate / 2)
        inside = documents.inside.copy()
        own = ~documents.outside
        inside[own] = frame.inside[documents.number[own]]
        part = others_of(replace(part, inside=inside), elsewhere)
        return replace(self, documents=part, elsewhere=elsewhere, rate=frame.rate)


def sample_scores(
    sample: DrawnSample, depths: dict[Measure, int], draws: int, parallel: Map
) -> tuple[ByMeasure, ByMeasure, GradeModel]:
    """Scores [draw, run, topic] once judged, those as judged, [run, topic], and the model."""
    model = sample.fitted()

    def work(piece: range | tuple[int, int]) -> ByMeasure:
        if isinstance(piece, range):
            return sample.scores(depths, model, draws, piece)
        split, side = piece
        half = sample.halves(split)[side]
        scores = half.scores(depths, half.fitted(model), HALF_DRAWS, range(HALF_DRAWS))
        return {m: of_draws.mean(axis=(0, 2)) for m, of_draws in scores.items()}

    step = -(-draws // PARTS)
    parts = [range(first, min(first + step, draws)) for first in range(0, draws, step)]
    sides = [(split, side) for split in range(SPLITS) for side in (0, 1)]
    outcomes = parallel(work, [*parts, *sides])
    scores = {}
    for m in depths:
        drawn = np.concatenate([part[m] for part in outcomes[: len(parts)]])
        of_halves = np.stack([half[m] for half in outcomes[len(parts) :]]).reshape(SPLITS, 2, -1)
        scores[m] = widened(drawn, of_halves, sample.rate, sample.labelled)
    return scores, sample.as_judged(list(depths)), model


def widened(draws: Floats, of_halves: Floats, rate: float, labelled: bool) -> Floats:
    """Draws [draw, run, topic] that are as wide as they should be, from the means that halves come to, [split, half,
    run]: what all runs share, and what sets them apart. A topic moves by as much as its scores are unsure."""
    means = draws.mean(axis=2)
    away = means - means.mean(axis=0)
    shared = away.mean(axis=1, keepdims=True)
    wider = common_widening(shared, of_halves, rate, USUAL[labelled])
    moved = (wider - TOPICS) * shared + (APART[labelled] - TOPICS) * (away - shared)
    spread, center = draws.std(axis=0), draws.mean(axis=0)
    total = spread.mean(axis=-1, keepdims=True)
    share = np.divide(spread, total, out=np.zeros_like(spread), where=total > 0)
    return np.asarray(center + TOPICS * (draws - center) + share * moved[:, :, None])


def common_widening(shared: Floats, of_halves: Floats, rate: float, usual: float) -> float:
    """By how much deviations [draw, 1] that all runs share are too narrow. The halves [split, half, run] of a split
    differ by four times the variance of the whole, were that not of a finite population."""
    apart = of_halves.mean(axis=2) @ np.array([1.0, -1.0])
    thought = float(shared.var())
    seen = (1 - rate) / 4 * float((apart**2).mean())
    if not thought:
        return 1.0
    n_splits = len(apart)
    return float(np.sqrt(max(1.0, (n_splits * seen / thought + PRIOR_SPLITS * usual) / (n_splits + PRIOR_SPLITS))))
