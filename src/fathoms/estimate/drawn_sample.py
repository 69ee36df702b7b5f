"""Scores from a random sample of judgments: drawn from the model, and corrected by what halves of the sample show.

Half of a sample is a sample too, at half the rate. How much lower an estimate from half of it is says how fast the bias
grows as judgments get fewer, and so what it is at the rate at hand (half-sample jackknife; Quenouille 1956, McCarthy
1969). That holds for every measure, whatever the model is. How far two halves lie apart is what chance makes of the
estimate.

Where all documents that were up for drawing have labels, the scores under the labels are a second opinion, off by as
much as labels of such agreement usually are, and each opinion counts by the inverse of its mean square error.
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
# Bias goes with (1 / rate - 1) to this power: on half of the topics and runs of dl20-passage it did for all measures,
# with labels and without, from 5% to 40%.
POWER = 0.4
MOST_STRETCH = 1.3
UNSURE = 1.0  # of a bias that was found: its own error
PRIOR_SPLITS = 2.0  # that the draws' own width counts for
# Halves of one sample are no independent samples, and what sets runs apart is shrunk in them as in the whole: so many
# times as wide intervals of means and of differences covered on the same half.
COMMON, APART = 1.2, 1.3
# Error of runs' scores under labels, over all runs and of each, where labels explain half of the grades' variance. On
# the same half it was .05 and .02 for the four sources; elsewhere labels may be more generous.
LABELS_OFF = (0.12, 0.03)
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

    def by_labels(self, depths: dict[Measure, int]) -> list[tuple[float, ByMeasure]]:
        """For each source of labels of all documents that were up for drawing: how well it agrees with the judgments (a
        correlation), and the scores [run, topic] under its labels alone."""
        documents, known = self.documents, np.flatnonzero(self.documents.judged)
        if not self.labelled:
            return []
        top = len(documents.levels) - 1
        sources = []
        for label in documents.labels.T:
            grade = np.searchsorted(np.unique(label), label)  # from the least label, 0
            levels = np.minimum(grade, top).astype(np.int16)
            agreement = correlation(label[known], documents.level[known].astype(np.float64))
            unjudged = replace(
                self,
                documents=replace(documents, codes=np.full(len(documents), UNJUDGED, dtype=np.int16)),
                elsewhere=np.zeros_like(self.elsewhere),
            )
            scores = unjudged._completed(depths, levels[None])
            sources.append((agreement, {m: scores[m][0] for m in depths}))
        return sources

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
    sources = sorted(sample.by_labels(depths), key=lambda source: -source[0])[:1]
    scores = {}
    for m in depths:
        drawn = np.concatenate([part[m] for part in outcomes[: len(parts)]])
        of_halves = np.stack([half[m] for half in outcomes[len(parts) :]]).reshape(SPLITS, 2, -1)
        scores[m] = corrected(drawn, of_halves, sample.rate)
        for agreement, by_labels in sources:
            scores[m] = joined(scores[m], by_labels[m], agreement)
    return scores, sample.as_judged(list(depths)), model


def corrected(draws: Floats, of_halves: Floats, rate: float) -> Floats:
    """Draws [draw, run, topic] without the bias, and as wide as they should be, from the means that halves come to,
    [split, half, run]."""
    means = draws.mean(axis=2)
    whole = means.mean(axis=0)
    shift, stretch = bias(whole, of_halves, rate)
    wider = widening(means, of_halves, rate, shift)
    away = means - whole
    common = away.mean(axis=1, keepdims=True)
    moved = shift + (stretch - 1) * (whole - whole.mean())
    return _moved(draws, moved + (wider[0] - 1) * common + (stretch * wider[1] - 1) * (away - common))


def joined(draws: Floats, by_labels: Floats, agreement: float) -> Floats:
    """Draws [draw, run, topic] with what the scores under labels [run, topic] add, each with the inverse of its mean
    square error: over all runs, and of what sets them apart. Labels that do not agree with judgments add nothing."""
    unexplained = max(1 - agreement**2, 0.0) / max(agreement, 1e-3) ** 2
    means = draws.mean(axis=2)
    whole, labelled = means.mean(axis=0), by_labels.mean(axis=1)
    away = means - whole
    common = away.mean(axis=1, keepdims=True)
    moved = np.zeros_like(means)
    parts = (
        (common, (labelled - whole).mean(), LABELS_OFF[0]),
        (away - common, labelled - labelled.mean() - whole + whole.mean(), LABELS_OFF[1]),
    )
    for deviations, apart, off in parts:
        variance = float(deviations.var(axis=0).mean())
        share = variance / max(variance + off**2 * unexplained, 1e-300)
        moved = moved + share * apart + (np.sqrt(1 - share) - 1) * deviations
    return _moved(draws, moved)


def _moved(draws: Floats, means: Floats) -> Floats:
    """Draws [draw, run, topic] whose means change by [draw, run]; a topic moves by as much as its scores are unsure."""
    spread = draws.std(axis=0)
    total = spread.mean(axis=-1, keepdims=True)
    share = np.divide(spread, total, out=np.zeros_like(spread), where=total > 0)
    return np.asarray(draws + share * means[:, :, None])


def correlation(x: Floats, y: Floats) -> float:
    """Of two columns; 0 where it is not above that, or one does not vary."""
    x, y = x - x.mean(), y - y.mean()
    size = float(np.sqrt((x**2).sum() * (y**2).sum()))
    return max(0.0, float((x * y).sum()) / size) if size > 0 else 0.0


def bias(whole: Floats, of_halves: Floats, rate: float) -> tuple[float, float]:
    """What is missing from estimated means [run] on average, and by how much they are too close together, from the same
    of the halves, [split, half, run]."""
    grows = ((2 - rate) / (1 - rate)) ** POWER
    halves = of_halves.mean(axis=(0, 1))
    of_splits = (whole.mean() - of_halves.mean(axis=(1, 2))) / (grows - 1)
    size = float(of_splits.mean()) ** 2
    chance = float(of_splits.var(ddof=1)) / len(of_splits)
    shift = float(of_splits.mean()) * size / max(size + chance, 1e-300)
    apart, of_half = whole - whole.mean(), halves - halves.mean()
    size = float((apart**2).sum())
    closer = float((apart * of_half).sum()) / size if size > 0 else 1.0
    return shift, float(np.clip((grows - closer) / (grows - 1), 1.0, MOST_STRETCH))


def widening(means: Floats, of_halves: Floats, rate: float, shift: float) -> tuple[float, float]:
    """By how much draws of means [draw, run] are too narrow: what all runs share, and what sets them apart. The halves
    [split, half, run] of a split differ by four times the variance of the whole, were that not of a finite population;
    a bias that was found is itself unsure."""
    apart = of_halves[:, 0] - of_halves[:, 1]
    common, drawn = apart.mean(axis=1, keepdims=True), means.mean(axis=1, keepdims=True)
    seen = [(1 - rate) / 4 * (part**2).mean() for part in (common, apart - common)]
    thought = [part.var(axis=0).mean() for part in (drawn, means - drawn)]
    weight = len(apart) / (len(apart) + PRIOR_SPLITS)
    squares = [
        max(1.0, 1 + weight * (float(x) / float(y) - 1)) if y > 0 else 1.0 for x, y in zip(seen, thought, strict=True)
    ]
    if thought[0] > 0:
        squares[0] += (UNSURE * shift) ** 2 / float(thought[0])
    return COMMON * float(np.sqrt(squares[0])), APART * float(np.sqrt(squares[1]))
