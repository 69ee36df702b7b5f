"""What an estimate knows of the documents that nobody has judged, one by one: how likely each grade is, and how much
doubt would be left once some of them were judged.

The second is found by doing so: grades of the documents to be judged are taken from one draw, all others are drawn as
before, and the estimate is made again with what the backtests said. The model may be fitted again with what was judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fathoms.data.qrels import JUDGED, NEGATIVE, PADDING, UNJUDGED
from fathoms.estimate.backtest import Drift, Hiding, log_distance
from fathoms.estimate.backtest_fit import Margins, Prediction
from fathoms.estimate.documents import Documents
from fathoms.estimate.grades import GradeModel, fit_grades
from fathoms.estimate.scoring import Judging
from fathoms.evidence.candidates import DocumentTable
from fathoms.evidence.evidence import Bools, Evidence, Floats, Ints
from fathoms.measures.base import Measure

if TYPE_CHECKING:
    from fathoms.estimate.estimates import Estimate

TRUTHS, DRAWS = 3, 100  # of what judging finds, and of what it leaves open
FITTED = 2  # of those truths, with which the model is fitted again
COUNTED = 20  # draws by which divisors are looked at


@dataclass(frozen=True, eq=False)
class OpenDocuments:
    """The documents of the runs, and the model by which those that are not judged were drawn."""

    candidates: DocumentTable
    documents: Documents
    elsewhere: Ints  # [topic, level]: judged documents that are no candidates
    max_grade: float
    model: GradeModel
    drift: Drift | None
    target: Hiding
    seed: int

    def reached(self, depth: int) -> Ints:
        """Rows of the unjudged documents that some run has in its first `depth`."""
        rows = self.target.hidden
        return rows[self.documents.reach[rows] <= depth]

    @cached_property
    def chances(self) -> Floats:
        """[level, document]: 0 and 1 where judged."""
        documents, rows = self.documents, self.target.hidden
        chances = np.zeros((len(documents.levels), len(documents)))
        chances[documents.level, np.arange(len(documents))] = documents.judged
        if len(rows):
            steps = self.model.probabilities(rows)
            if self.drift is not None:
                odds = steps[0] / (1 - steps[0])
                odds *= np.exp(self.drift.mean * log_distance(documents.reach[rows], self.target.depth))
                steps *= np.where(steps[0] > 0, odds / (1 + odds) / np.where(steps[0] > 0, steps[0], 1.0), 0.0)
            steps *= documents.inside[rows]
            chances[0, rows] = 1 - steps[0]
            for level, at_least, above in zip(self.model.levels, steps, [*steps[1:], 0.0], strict=True):
                chances[level, rows] += at_least - above
        return chances

    def drawn_counts(self, depth: int) -> Ints:
        """[draw, topic, level]: documents by level in some draws, deeper ones being not relevant."""
        documents, rows, width = self.documents, self.target.hidden, len(self.documents.levels)
        levels = np.where(documents.reach[rows] <= depth, self._levels[:COUNTED], 0)
        counts = np.empty((len(levels), *self.elsewhere.shape), dtype=np.int64)
        known = documents.topic[self.target.known] * width + documents.level[self.target.known]
        for of_draw, of_documents in zip(counts, levels, strict=True):
            cells = np.concatenate([known, documents.topic[rows] * width + of_documents])
            of_draw[:] = np.bincount(cells, minlength=self.elsewhere.size).reshape(self.elsewhere.shape)
        return self.elsewhere + counts

    @cached_property
    def _levels(self) -> NDArray[np.int16]:
        """[draw, unjudged document]"""
        return self._drawn(self.model, self.documents, self.target.hidden)

    def _drawn(self, model: GradeModel, documents: Documents, rows: Ints) -> NDArray[np.int16]:
        """[draw, document]"""
        draws = range(DRAWS)
        shift = None if self.drift is None else self.drift.shifts(documents, rows, self.target.depth, self.seed, draws)
        return replace(model, documents=documents).sampler(rows, DRAWS, self.seed, draws).levels(shift)

    def deviation(self, estimate: Estimate, weights: Mapping[str, float], judged: Ints, fit: bool = False) -> float:
        """The standard deviation from judging of the sum of runs' scores with these weights, with some more candidates
        judged: the mean over what judging may find. With `fit` the model learns from them too, which takes longer."""
        truths = 1 if not len(judged) else FITTED if fit else TRUTHS
        return float(np.mean([self._deviation(estimate, weights, judged, truth, fit) for truth in range(truths)]))

    def _deviation(
        self, estimate: Estimate, weights: Mapping[str, float], judged: Ints, truth: int, fit: bool
    ) -> float:
        """With these candidates judged as one draw has them."""
        measure, calibration = estimate.measure, estimate.calibration
        margins = Margins() if estimate.check is None else estimate.check.margins
        documents, rows = self.documents, self.target.hidden
        among = np.zeros(len(self.candidates), dtype=bool)
        among[judged] = True
        is_judged = among[documents.number[rows]]
        codes = documents.codes.copy()
        codes[rows[is_judged]] = JUDGED + self._levels[truth, is_judged]
        later = replace(documents, codes=codes)
        use = ~is_judged & (documents.reach[rows] <= estimate.to_depth)
        places = [self.candidates.names.index(run) for run in weights]
        candidates = replace(self.candidates, names=list(weights), place=self.candidates.place[places])
        known = np.concatenate([self.target.known, rows[is_judged]])
        now = Judging(candidates, later, known, rows[:0], self._with_deeper(), self.max_grade)
        score = now.scores([measure], np.zeros((1, 0), dtype=np.int16))[measure][0][0]
        if not use.any():
            return 0.0
        open_ = Judging(candidates, later, known, rows[use], self._with_deeper(), self.max_grade)
        drawn_levels = self._levels[:, use]
        if fit:
            drawn_levels = self._drawn(fit_grades(later, known, self.seed, self.model), later, rows[use])
        scores, ideal_alone = open_.scores([measure], drawn_levels)[measure]
        mean, ideal = scores.mean(axis=0), ideal_alone.mean(axis=0)
        distance = float(log_distance(documents.reach[rows[use]], self.target.depth).mean())
        predicted = Prediction(score, mean - ideal, ideal - score, scores - mean, distance)
        drawn = calibration.draws(predicted, self.seed)
        drawn = np.where(predicted.fixed, score, margins(drawn))
        if estimate.is_bounded:
            ranges = [self._range(measure, codes, place, now.known_counts) for place in candidates.place]
            drawn = np.clip(drawn, *np.moveaxis(np.array(ranges), 1, 0))
        return float((drawn.mean(axis=2) @ np.array(list(weights.values()))).std(ddof=1))

    def _range(
        self, measure: Measure, codes: NDArray[np.int16], place: NDArray[np.int32], counts: Ints
    ) -> tuple[Floats, Floats]:
        """The possible range of a run's score by topic, with the documents judged as these codes say."""
        of_all = np.append(self.candidates.codes, np.int16(PADDING))
        of_all[self.documents.number] = codes
        n_topics = len(self.candidates.topics)
        unjudged = self.candidates.topic[np.flatnonzero((of_all[:-1] == UNJUDGED) | (of_all[:-1] == NEGATIVE))]
        evidence = Evidence(
            topics=self.candidates.topics,
            codes=of_all[place],
            tied=np.zeros(place.shape, dtype=bool),
            lengths=(place >= 0).sum(axis=1),
            levels=self.documents.levels,
            max_grade=self.max_grade,
            counts=counts,
            unjudged_in_universe=np.bincount(unjudged, minlength=n_topics),
            topic_numbers=np.arange(n_topics),
        )
        score = measure.value(evidence)
        low, high = measure.range(evidence, score)
        return (score if low is None else low), (score if high is None else high)

    def _with_deeper(self) -> Ints:
        """Deeper documents are taken as not relevant."""
        beyond = np.bincount(self.candidates.topic, minlength=len(self.elsewhere))
        beyond -= np.bincount(self.documents.topic, minlength=len(self.elsewhere))
        elsewhere: Ints = self.elsewhere.copy()
        elsewhere[:, 0] += beyond
        return elsewhere

    def unjudged(self, depth: int) -> Bools:
        """One a candidate: whether it is unjudged and reached."""
        unjudged = np.zeros(len(self.candidates), dtype=bool)
        unjudged[self.documents.number[self.reached(depth)]] = True
        return unjudged

    def chances_to(self, depth: int, share: float) -> Floats:
        """[level, candidate]: the same, deeper documents being not relevant, and a share of what is expected true."""
        documents, rows = self.documents, self.target.hidden
        chances = self.chances.copy()
        chances[1:, rows] *= np.where(documents.reach[rows] <= depth, min(1.0, share), 0.0)
        chances[0, rows] = 1 - chances[1:, rows].sum(axis=0)
        by_candidate = np.zeros((len(chances), len(self.candidates)))
        by_candidate[0] = 1.0
        by_candidate[:, documents.number] = chances
        return by_candidate

    def expected_counts(self, chances: Floats) -> Floats:
        """[topic, level]: judged documents, and how many more of each level are to be expected among the candidates."""
        n_topics = len(self.elsewhere)
        of_levels = [np.bincount(self.candidates.topic, of_level, n_topics) for of_level in chances]
        return np.asarray(self.elsewhere + np.stack(of_levels, axis=1))
