"""What if unjudged documents are as relevant as the judged ones at the same ranks of the same run?

That is the generous end of what they may be: the judged documents of a run were mostly found by others too, and are
more often relevant than what it alone found. (It is the truth where judgments are missing at random.) Together with the
other end, not relevant at all, it spans what is likely without trusting a model of relevance.

Relevance falls with the rank, so judgments further down understate it: a run with hardly any judgments at or above a
rank takes the rate of all runs there, and where nobody has any, everything counts as relevant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import distinct
from fathoms.base.parallel import parallel_map
from fathoms.data.document_values import read_values
from fathoms.estimate.documents import Documents, documents_of
from fathoms.estimate.estimates import judged_elsewhere, suggested_depth
from fathoms.estimate.names import DRAWS
from fathoms.estimate.probabilities import label_values
from fathoms.estimate.scoring import Judging
from fathoms.evidence.candidates import Candidates
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.experiment.base import BaseExperiment
from fathoms.measures.base import Measure

NEAR = 0.5  # how far, in logarithms of ranks, judged documents say something of a rank: one standard deviation
ENOUGH = 10  # judged documents at or above a rank that it takes to make a rate
PRIOR = 3.0  # expected relevant documents by which a topic's own rate is drawn towards that of all topics
PIECES = 4  # of the draws, for workers
COVERED, LEARNT = 0.9, 20  # share of unjudged documents with a label, and judged ones with one, for labels to decide


def changes_at_judged_rates(
    experiment: BaseExperiment, measures: Sequence[Measure], draws: int = DRAWS, to_depth: int | None = None
) -> dict[Measure, Floats]:
    """How much the scores [draw, run, topic] change if unjudged documents are drawn at judged rates.

    Documents deeper than `to_depth` in every run (by default as deep as the estimates go) count as not relevant.
    """
    experiment.prepare()
    qrels, names = experiment.qrels, experiment.by_content()
    given = [names.index(name) for name in experiment.runs]
    table = experiment.documents(names)
    levels = distinct(np.append(qrels.levels, qrels.max_grade))
    every = np.ones(len(table.names), dtype=bool)
    by_depth: dict[int, list[Measure]] = {}
    for measure in measures:
        by_depth.setdefault(_depth(experiment, measure, table, to_depth), []).append(measure)
    changes: dict[Measure, Floats] = {}
    for depth, here in by_depth.items():
        drawing = _Drawing(documents_of(table, table.codes, every, depth, levels), min(2 * depth, table.depth))
        known = np.flatnonzero(drawing.documents.judged)
        elsewhere = judged_elsewhere(experiment, drawing.documents, levels)
        judging = Judging(table, drawing.documents, known, drawing.open, elsewhere, qrels.max_grade)
        as_judged = judging.scores(here, np.zeros((1, len(drawing.open)), dtype=np.int16))
        _ = drawing.judged  # once, for all forks
        changed = partial(_changed, judging, drawing, here, experiment.options.seed)
        step = -(-draws // PIECES)
        parts = [range(first, min(first + step, draws)) for first in range(0, draws, step)]
        by_part = parallel_map(changed, parts, **experiment.options.where, doing="draws at judged rates")
        for measure, of_parts in zip(here, zip(*by_part, strict=True), strict=True):
            changes[measure] = (np.concatenate(of_parts) - as_judged[measure][0])[:, given]
    return changes


def _changed(judging: Judging, drawing: _Drawing, measures: list[Measure], seed: int, draws: range) -> list[Floats]:
    """The scores of each measure in some draws."""
    scores = judging.scores(measures, drawing.levels(draws, seed))
    return [scores[measure][0] for measure in measures]


def labels_cover(
    experiment: BaseExperiment, measures: Sequence[Measure], labels: Sequence[Any], to_depth: int | None = None
) -> bool:
    """Whether labels cover nearly all unjudged documents down to the rank that estimates go to, and enough judged ones
    to learn from."""
    experiment.prepare()
    table = experiment.documents()
    deepest = max(_depth(experiment, measure, table, to_depth) for measure in measures)
    tables = [read_values(source, lenient=experiment.lenient) for source in labels]
    judged = table.judged
    values = label_values(tables, table, judged, [])
    if values is None:
        return False
    known: Bools = np.asarray(np.isfinite(values).all(axis=1))
    near = np.zeros(len(table) + 1, dtype=bool)
    near[table.place[:, :, :deepest]] = True  # the last is where -1 points
    open_ = ~judged & near[:-1]
    return not open_.any() or bool(known[open_].mean() >= COVERED and known[judged].sum() >= LEARNT)


def _depth(experiment: BaseExperiment, measure: Measure, table: Candidates, to_depth: int | None) -> int:
    return to_depth or suggested_depth(measure, experiment.pool_assumed(), table.depth)


class _Judged(NamedTuple):
    """The judged documents."""

    counts: Floats  # [run, topic, rank, level]
    together: Floats  # [topic, rank, level]
    own: Floats  # [run, rank]: at a rank or above
    any_run: Floats  # [rank]
    by_rank: Floats  # [run, topic, rank]
    relevant: Floats  # [run, topic], and PRIOR


@dataclass(frozen=True, eq=False)
class _Drawing:
    """Draws the levels of unjudged documents."""

    documents: Documents
    depth: int  # judged documents count down to this rank

    @cached_property
    def open(self) -> Ints:
        return np.flatnonzero(~self.documents.judged)

    def levels(self, draws: range, seed: int) -> NDArray[np.int16]:
        """[draw, open document]. Each draw has rates of its own, from topics drawn anew, since they are a sample."""
        documents, n_topics = self.documents, self.documents.n_topics
        topic, rank, owner = (of[self.open] for of in (documents.topic, documents.reach, documents.owner))
        at, of_topic = owner * self.depth + rank - 1, owner * n_topics + topic
        generators = [np.random.default_rng((seed, i)) for i in draws]
        sampled = [rng.integers(n_topics, size=n_topics) for rng in generators]
        by_rank, by_topic, up_to = self._rates(np.stack([np.bincount(of, minlength=n_topics) for of in sampled]))
        drawn = np.zeros((len(draws), len(self.open)), dtype=np.int16)
        for of_draw, rng, *rates, bounds in zip(drawn, generators, by_rank, by_topic, up_to, strict=True):
            lot, grade = rng.random((2, len(self.open)))
            hit = np.flatnonzero(lot < np.take(rates[0], at) * np.take(rates[1], of_topic))
            at_hit, grade = np.take(at, hit), np.take(grade, hit)
            level = np.ones(len(hit), dtype=np.int16)
            for bound in bounds.T:
                level += grade > np.take(bound, at_hit)
            of_draw[hit] = level
        return drawn

    def _rates(self, weight: Floats) -> tuple[Floats, Floats, Floats]:
        """For each draw, from how often it has each topic: the rate [run and rank], how many times as often as in
        others documents are relevant in a topic [run and topic], and the share of the relevant ones up to each level
        but the last [run and rank, level]."""
        judged, near = self.judged, self._near()
        together, counts = (
            near @ np.tensordot(weight, of, axes=(1, -3)) for of in (judged.together, judged.counts)
        )  # [draw, rank, level], and [draw, run, rank, level]
        everywhere = _shares(together)
        everywhere[:, judged.any_run < ENOUGH] = np.eye(1, everywhere.shape[2], everywhere.shape[2] - 1)
        share = np.where((judged.own >= ENOUGH)[:, :, None], _shares(counts), everywhere[:, None])
        at_rank = share[..., 1:].sum(axis=-1)
        # Drawn towards 1.
        by_topic = judged.relevant / ((judged.by_rank @ at_rank[..., None])[..., 0] + PRIOR)
        up_to = np.cumsum(_shares(share[..., 1:]), axis=-1)[..., :-1]
        draws, runs, ranks, bounds = up_to.shape
        return at_rank.reshape(draws, -1), by_topic.reshape(draws, -1), up_to.reshape(draws, runs * ranks, bounds)

    @cached_property
    def judged(self) -> _Judged:
        counts = self._judged_counts()
        together = counts.sum(axis=0)
        own, any_run = (np.cumsum(of.sum(axis=(-3, -1)), axis=-1) for of in (counts, together))
        relevant = counts[:, :, :, 1:].sum(axis=(2, 3)) + PRIOR
        return _Judged(counts, together, own, any_run, counts.sum(axis=3), relevant)

    def _judged_counts(self) -> Floats:
        """[run, topic, rank, level]: the judged documents of each run."""
        documents = self.documents
        ranks = documents.ranks.tocoo()
        use = documents.judged[ranks.row] & (ranks.data <= self.depth)
        row, run, rank = ranks.row[use], ranks.col[use], ranks.data[use].astype(np.int64)
        counts = np.zeros((documents.n_runs, documents.n_topics, self.depth, len(documents.levels)))
        np.add.at(counts, (run, documents.topic[row], rank - 1, documents.level[row]), 1.0)
        return counts

    def _near(self) -> Floats:
        """[rank, rank]: how much what is judged at one rank says of another."""
        log = np.log(np.arange(1, self.depth + 1))
        return np.exp(-((log[:, None] - log[None, :]) ** 2) / (2 * NEAR**2))


def _shares(counts: Floats) -> Floats:
    """Of the levels, which are on the last axis."""
    total = counts.sum(axis=-1, keepdims=True)
    return np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
