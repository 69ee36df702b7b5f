"""What if unjudged documents are as relevant as the judged ones at the same ranks of the same run?

That is the generous end of what they may be: what is judged of a run was mostly found by others too, and is more often
relevant than what it found alone. (It is the truth where judgments are missing at random.) Together with the other
end, not relevant at all, it spans what is likely without trusting a model of relevance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fathoms.data import keys
from fathoms.data.arrays import distinct
from fathoms.data.qrels import UNJUDGED
from fathoms.estimate.calibrated import judged_elsewhere, suggested_depth
from fathoms.estimate.documents import Documents, documents_of
from fathoms.estimate.names import DRAWS
from fathoms.estimate.scoring import Judging
from fathoms.evidence.candidates import Candidates, gathered
from fathoms.evidence.evidence import Floats, Ints
from fathoms.experiment.base import BaseExperiment
from fathoms.measures.base import Measure

NEAR = 0.5  # how far, in logarithms of ranks, judged documents say something of a rank: one standard deviation
PRIOR = 3.0  # expected relevant documents by which a topic's own rate is drawn towards that of all topics


def changes_at_judged_rates(
    experiment: BaseExperiment, measures: Sequence[Measure], draws: int = DRAWS, to_depth: int | None = None
) -> dict[Measure, Floats]:
    """How much the scores [draw, run, topic] change if unjudged documents are drawn at judged rates.

    Documents deeper than `to_depth` in every run (by default as deep as the estimates go) count as not relevant.
    """
    experiment.prepare()
    qrels, names = experiment.qrels, list(experiment.runs)
    found = gathered(names, [experiment.ranked(name) for name in names], qrels.topics, None)
    judgment = qrels.lookup.find(keys.topic_keys(keys.document_keys(found.documents), found.topic), found.documents)
    codes = np.append(qrels.codes, np.int16(UNJUDGED))[judgment]
    levels = distinct(np.append(qrels.levels, qrels.max_grade))
    every = np.ones(len(names), dtype=bool)
    by_depth: dict[int, list[Measure]] = {}
    for measure in measures:
        depth = to_depth or suggested_depth(measure, experiment.pool_assumed(), found.depth)
        by_depth.setdefault(depth, []).append(measure)
    changes: dict[Measure, Floats] = {}
    for depth, here in by_depth.items():
        drawing = _Drawing(found, documents_of(found, codes, every, depth, levels))
        known = np.flatnonzero(drawing.documents.judged)
        elsewhere = judged_elsewhere(experiment, drawing.documents, levels)
        judging = Judging(found, drawing.documents, known, drawing.open, elsewhere, qrels.max_grade)
        drawn = drawing.levels(draws, experiment.options.seed)
        nothing = judging.scores(here, np.zeros((1, drawn.shape[1]), dtype=np.int16))
        for measure, (scores, _) in judging.scores(here, drawn).items():
            changes[measure] = scores - nothing[measure][0]
    return changes


@dataclass(frozen=True, eq=False)
class _Drawing:
    """Draws the levels of unjudged documents."""

    found: Candidates
    documents: Documents

    @cached_property
    def open(self) -> Ints:
        return np.flatnonzero(~self.documents.judged)

    def levels(self, draws: int, seed: int) -> NDArray[np.int16]:
        """[draw, open document]. Each draw has rates of its own, from topics drawn anew, since they are a sample."""
        drawn = np.zeros((draws, len(self.open)), dtype=np.int16)
        documents, n_topics = self.documents, self.documents.n_topics
        topic, rank, owner = (of[self.open] for of in (documents.topic, documents.reach, documents.owner))
        judged = self._judged_counts()
        near = self._near()
        for i in range(draws):
            rng = np.random.default_rng((seed, i))
            weight = np.bincount(rng.integers(n_topics, size=n_topics), minlength=n_topics)
            lot, grade = rng.random((2, len(self.open)))
            for run, counts in enumerate(judged):
                rows = np.flatnonzero(owner == run)
                share = _shares(near @ np.tensordot(weight, counts, axes=1))
                rate = share[:, 1:].sum(axis=1)[rank[rows] - 1] * _of_topics(share, counts)[topic[rows]]
                hit = rows[lot[rows] < rate]
                up_to = np.cumsum(_shares(share[:, 1:]), axis=1)[rank[hit] - 1]
                drawn[i, hit] = 1 + (grade[hit, None] > up_to[:, :-1]).sum(axis=1)
        return drawn

    def _judged_counts(self) -> list[Floats]:
        """For each run [topic, rank, level]: its judged documents; those of all runs where it has none."""
        documents = self.documents
        ranks = documents.ranks.tocoo()
        use = documents.judged[ranks.row]
        row, run, rank = ranks.row[use], ranks.col[use], ranks.data[use].astype(np.int64)
        counts = np.zeros((documents.n_runs, documents.n_topics, self.found.depth, len(documents.levels)))
        np.add.at(counts, (run, documents.topic[row], rank - 1, documents.level[row]), 1.0)
        return [of if of.any() else counts.sum(axis=0) for of in counts]

    def _near(self) -> Floats:
        """[rank, rank]: how much what is judged at one rank says of another."""
        log = np.log(np.arange(1, self.found.depth + 1))
        return np.exp(-((log[:, None] - log[None, :]) ** 2) / (2 * NEAR**2))


def _of_topics(share: Floats, judged: Floats) -> Floats:
    """How much more often than in others documents are relevant in each topic, drawn towards 1."""
    expected = (judged.sum(axis=2) * share[:, 1:].sum(axis=1)).sum(axis=1)
    return (judged[:, :, 1:].sum(axis=(1, 2)) + PRIOR) / (expected + PRIOR)


def _shares(counts: Floats) -> Floats:
    total = counts.sum(axis=1, keepdims=True)
    return np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
