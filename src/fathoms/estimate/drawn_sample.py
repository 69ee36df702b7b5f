"""Scores from a random sample of judgments: drawn from the model, and corrected by samples of which the truth is known.

A draw completes the judgments; a sample as large as the one at hand, drawn from that, is estimated in the same way, and
its truth is the draw. How far off such estimates are, and which way, is what a model owes to few judgments: priors,
shrinkage, divisors of which little is known (parametric bootstrap; Efron and Tibshirani 1993, chapters 6 and 10). The
bias is taken out, and where the estimates lie farther from the truth than they say, intervals are widened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.data.qrels import JUDGED, UNJUDGED
from fathoms.estimate.grades import GradeModel, fit_grades
from fathoms.estimate.sampled_documents import SampledDocuments, counted, graded, others_of, undrawn
from fathoms.estimate.scoring import Judging
from fathoms.evidence.candidates import Candidates
from fathoms.evidence.evidence import Floats, Ints
from fathoms.measures.base import Measure

REPETITIONS, DRAWS = int(__import__("os").environ.get("REPS", "12")), 30  # samples of which the truth is known, and draws from each
PARTS = 4  # of the draws, for workers
Map = Callable[[Any, Sequence[Any]], list[Any]]
ByMeasure = dict[Measure, Floats]


@dataclass(frozen=True, eq=False)
class Completed:
    """Draws of what all judgments would say."""

    rows: Ints  # of the documents
    levels: NDArray[np.int16]  # [draw, row]
    beside: Ints  # [draw, topic, level]: documents that neither a run nor a label names


@dataclass(frozen=True, eq=False)
class DrawnSample:
    """A random sample, the documents it was drawn from, and those of the runs."""

    found: Candidates
    documents: SampledDocuments
    elsewhere: Ints  # [topic, level]: judged documents that no run has
    rate: float
    labelled: bool  # all documents that were up for drawing are listed
    max_grade: float
    seed: int

    @cached_property
    def open(self) -> Ints:
        return np.flatnonzero(~self.documents.judged)

    def fitted(self, start: GradeModel | None = None) -> GradeModel:
        return fit_grades(self.documents, np.flatnonzero(self.documents.judged), self.seed, start)

    def completed(self, model: GradeModel, n: int, draws: range) -> Completed:
        sampler = model.sampler(self.open, n, self.seed, draws)
        beside = np.zeros((len(draws), *self.elsewhere.shape), dtype=np.int64)
        if not self.labelled:
            number = undrawn(self.elsewhere.sum(axis=1), self.rate, self.seed, draws)
            chances = sampler.chances(self.documents.typical_others)
            beside = graded(number, chances, model.levels, self.elsewhere.shape[1], self.seed, draws)
        return Completed(self.open, sampler.levels(), beside)

    def scores(self, depths: dict[Measure, int], completed: Completed) -> ByMeasure:
        """[draw, run, topic]"""
        documents, rows = self.documents, completed.rows
        outside = documents.outside[rows]
        more = completed.beside + counted(
            completed.levels[:, outside], documents.topic[rows[outside]], self.elsewhere.shape
        )
        scores_of: ByMeasure = {}
        for depth in sorted(set(depths.values())):
            use = (documents.reach[rows] <= depth) & ~outside
            here = [m for m in depths if depths[m] == depth]
            scores = self._judging(rows[use]).scores(here, completed.levels[:, use], more)
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
        elsewhere[:, 0] += np.bincount(self.found.topic, minlength=n_topics)
        elsewhere[:, 0] -= np.bincount(documents.topic[own], minlength=n_topics)
        known = np.flatnonzero(documents.judged & own)
        return Judging(self.found, documents, known, open_, elsewhere, self.max_grade)

    def again(self, truth: Completed, number: int) -> tuple[DrawnSample, Completed]:
        """Another sample at the same rate from a completed draw, and what is left of that."""
        rng = np.random.default_rng((self.seed, number, 4))
        documents, own = self.documents, ~self.documents.outside
        codes = documents.codes.copy()
        codes[truth.rows] = JUDGED + truth.levels[0]
        within = documents.judged | (codes > JUDGED) | (rng.random(len(codes)) < documents.inside)
        chosen = within & (rng.random(len(codes)) < self.rate)
        if self.labelled:
            drawn = replace(documents, codes=np.where(chosen, codes, UNJUDGED).astype(np.int16))
            beside, left = np.zeros_like(self.elsewhere), truth.beside
            listed = chosen & ~own
            np.add.at(beside, (drawn.topic[listed], drawn.level[listed]), 1)
        else:
            total = self.elsewhere + truth.beside[0]
            beside = rng.binomial(total, self.rate)
            left = (total - beside)[None]
            drawn = others_of(replace(documents, codes=np.where(chosen, codes, UNJUDGED).astype(np.int16)), beside)
        sample = replace(self, documents=drawn, elsewhere=beside)
        rows = np.flatnonzero(~drawn.judged)
        return sample, Completed(rows, (codes[rows] - JUDGED).astype(np.int16)[None], left)


def sample_scores(
    sample: DrawnSample, depths: dict[Measure, int], draws: int, parallel: Map
) -> tuple[ByMeasure, ByMeasure]:
    """Scores [draw, run, topic] once judged, and those as judged, [run, topic]."""
    model = sample.fitted()

    def work(piece: int | range) -> Any:
        if isinstance(piece, range):
            return sample.scores(depths, sample.completed(model, draws, piece))
        truth = sample.completed(model, REPETITIONS, range(piece, piece + 1))
        other, left = sample.again(truth, piece)
        learnt = other.fitted(model)
        estimated = other.scores(depths, other.completed(learnt, DRAWS, range(DRAWS)))
        true = other.scores(depths, left)
        return {m: (estimated[m].mean(axis=0) - true[m][0], estimated[m].mean(axis=2).var(axis=0)) for m in depths}

    step = -(-draws // PARTS)
    parts = [range(first, min(first + step, draws)) for first in range(0, draws, step)]
    outcomes = parallel(work, [*parts, *range(REPETITIONS)])
    drawn = {m: np.concatenate([part[m] for part in outcomes[: len(parts)]]) for m in depths}
    errors = {m: np.stack([one[m][0] for one in outcomes[len(parts) :]]) for m in depths}
    DEBUG[:] = [errors]
    if REPETITIONS < 2:
        return drawn, sample.as_judged(list(depths))
    return {m: corrected(drawn[m], errors[m]) for m in depths}, sample.as_judged(list(depths))


DEBUG: list[Any] = []


def corrected(drawn: Floats, errors: Floats) -> Floats:
    """Draws [draw, run, topic] less the bias of repetitions [repetition, run, topic]."""
    off = errors.mean(axis=2)
    common = off.mean(axis=1, keepdims=True)
    shift = shrunk(common) + shrunk(off - common)
    spread = drawn.std(axis=0)
    total = spread.mean(axis=-1, keepdims=True)
    share = np.divide(spread, total, out=np.zeros_like(spread), where=total > 0)
    return np.asarray(drawn - share * shift[:, None])


def shrunk(of_repetitions: Floats) -> Floats:
    """The mean over repetitions [repetition, ...], less what chance alone would make of it (James and Stein)."""
    mean = of_repetitions.mean(axis=0)
    chance = float((of_repetitions.var(axis=0, ddof=1) / len(of_repetitions)).mean())
    size = float((mean**2).mean())
    return np.asarray(mean * max(0.0, 1 - chance / size)) if size > 0 else mean
