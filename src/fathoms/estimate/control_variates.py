"""Probabilities of relevance that help an estimate from a sample, none of them fitted to the document it is for.

The difference estimator (Cochran 1977, section 7; "prediction-powered" in Angelopoulos and others 2023) is the sum of
predictions over the population, plus what the sample says they are wrong by. It is unbiased whatever the predictions
are, provided that the judgment of a sampled document had no part in its own. So topics are dealt into folds, and the
model for the topics of a fold learns from all judgments of the other topics, and of these from the documents that were
judged for sure and would have been whatever was drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from fathoms.data.document_values import read_values
from fathoms.data.qrels import JUDGED
from fathoms.estimate.probabilities import _by_topics, _label_column, _only
from fathoms.estimate.relevance import RELEVANCE_MODELS, Model
from fathoms.estimate.sample import Sample
from fathoms.evidence.candidates import Block, Candidates
from fathoms.evidence.evidence import Bools, Floats, Ints

FOLDS = 5


@dataclass(frozen=True, eq=False)
class Helper:
    """What is expected of each document before its own judgment is looked at."""

    probability: Floats  # of a grade above 0; 0 outside the population
    shares: Floats  # [topic, level]: how often a relevant document has each grade

    def gains(self, topic: Ints, table: Floats) -> Floats:
        """The gain to expect of each document, from the gain of each code."""
        return self.probability * (self.shares @ table[JUDGED:])[topic]


def model_probabilities(
    candidates: Candidates,
    judged: Bools,
    relevant: Bools,
    labels: Floats | None,
    *,
    between: tuple[int, int] | None = None,
    method: str = "fusion",
) -> Floats:
    """Probabilities for the candidates of all topics, or of some that follow each other (0 for the others), learnt from
    the judged ones; without any, what the model thinks before it has seen judgments. `labels` has a column a source."""

    def labels_of(block: Block, first: int = 0) -> Floats | None:
        return None if labels is None else np.where(block.present[:, :, None], labels[block.number + first], np.nan)

    known = _only(candidates, judged).block()
    model: Model = RELEVANCE_MODELS[method](known, labels_of(known))
    learnt = model.fit(known.values(judged), known.values(relevant))
    probability = np.zeros(len(candidates))
    start, stop = between or (0, len(candidates.topics))
    before, some = candidates.of_topics(start, stop)
    for topics, first, part in _by_topics(some):
        block = part.block()
        guess = learnt.of(block, topics + start, labels_of(block, first + before))
        probability[block.number[block.present] + first + before] = guess[block.present]
    return probability


def read_labels(
    sources: Sequence[Any], candidates: Candidates, judged: Bools | None, notes: list[str]
) -> Floats | None:
    """Labels of candidates, a column a source, nan where it has none."""
    tables = [read_values(source) for source in sources]
    return np.stack([_label_column(table, candidates, judged, notes) for table in tables], axis=1) if tables else None


def cross_fitted(sample: Sample, labels: Sequence[Any] = (), *, method: str = "fusion") -> Helper:
    """Probabilities and mixes of grades, each topic's from the judgments of other folds and from what is certain.

    Folds are topics that follow each other. Documents that no run has are expected not to be relevant: nothing is known
    of them but that.
    """
    candidates, notes = sample.candidates, sample.notes
    n, n_topics = len(candidates), sample.n_topics
    judged, certain, relevant = sample.judged[:n], sample.certain[:n], sample.codes[:n] > JUDGED
    values = read_labels(labels, candidates, judged, notes)
    bounds = np.linspace(0, n_topics, min(FOLDS, n_topics) + 1).astype(int).tolist()
    probability = np.zeros(len(sample.topic))
    shares = np.zeros((n_topics, len(sample.qrels.levels)))
    for start, stop in pairwise(bounds):
        use = certain | (judged & ((candidates.topic < start) | (candidates.topic >= stop)))
        probability[:n] += model_probabilities(candidates, use, relevant, values, between=(start, stop), method=method)
        counts = np.bincount(sample.codes[:n][use & relevant] - JUDGED, minlength=shares.shape[1])
        counts[-1] += not counts.sum()  # nothing relevant yet: the greatest grade
        shares[start:stop] = counts / counts.sum()
    return Helper(np.where(sample.inside, probability, 0.0), shares)
