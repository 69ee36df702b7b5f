"""What ranks and labels say of documents where the judged ones are a random sample of them.

Such judgments teach about documents of all kinds, but there are few of them. So features are few, what all runs say
comes first, and priors are what fits to all judgments of several collections found. Documents that no run has are
described too: they count in R and in ideal rankings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fathoms.data.lines import Table
from fathoms.data.qrels import JUDGED, UNJUDGED, Qrels
from fathoms.data.topics import topics_of
from fathoms.estimate.documents import Documents
from fathoms.estimate.mixed_logistic import MixedFit, MixedPrior
from fathoms.estimate.probabilities import scaled
from fathoms.evidence.candidates import NOWHERE, Candidates
from fathoms.evidence.evidence import Bools, Floats, Ints

TOP = 10.0  # rank at which a document counts half as far up as at the very first
SHARED = 7  # features that do not depend on how many runs and labels there are
CENTRES = (0.0, 0.4, 0.4, 0.5, 0.0, 0.0, 0.2)
# Of the first step up: means of the shared coefficients. Of it and of further ones: standard deviations of these, of a
# label's and a run's, and variances over topics (of intercept, depth and labels).
MEANS = (-1.2, 1.0, 5.0, 0.3, 0.0, 0.0, 0.0)
SPREADS = ((3.0, 3.0, 5.0, 3.0, 3.0, 2.0, 3.0), (2.0, 2.0, 3.0, 3.0, 3.0, 1.0, 3.0))
LABEL_SPREADS, BY_DEPTH_SPREAD, RUN_SPREADS = (1.5, 1.0), 1.0, (3.0, 2.0)
FOLLOWS = 0.7  # share of a coefficient that is expected at the next step
OF_TOPICS = ((3.5, 4.5, 3.0, 0.7), (2.5, 3.0, 2.0, 0.7))
TOPICS = 40.0
MOST_SHAPE = 100.0  # of the gamma distribution: topics differ by a tenth at least


@dataclass(frozen=True, eq=False)
class FrameDocuments(Documents):
    """Documents that were up for being drawn, those that no run has at the end."""

    exact: ClassVar = True
    rounds: ClassVar = (12, 12)
    again: ClassVar = 5

    @property
    def outside(self) -> Bools:
        """Which documents no run has."""
        return self.reach >= NOWHERE

    @property
    def typical_others(self) -> tuple[NDArray[np.float32], Ints]:
        """Features of a document of each topic that no run has, and nobody labelled; and the topics."""
        shown = np.zeros((self.n_topics, self.n_features), dtype=np.float32)
        shown[:, :SHARED] = (1.0, -CENTRES[1], -CENTRES[2], 1 - CENTRES[3], 0.5, 1.0, -CENTRES[6])
        return shown, np.arange(self.n_topics)

    @property
    def n_features(self) -> int:
        return SHARED + 2 * self.labels.shape[1] + self.n_runs

    @property
    def sloped(self) -> tuple[int, ...]:
        return (0, 1, 3, SHARED) if self.labels.shape[1] else (0, 1, 3)

    def features(self, rows: Ints) -> NDArray[np.float32]:
        ranks = self.ranks[rows]
        n_labels = self.labels.shape[1]
        shown = np.zeros((len(rows), self.n_features), dtype=np.float32)
        held = np.diff(ranks.indptr)
        top = ranks.copy()
        top.data = 1 / (1 + (ranks.data - 1) / TOP)
        depth = np.log(np.minimum(self.reach[rows], self.depth + 1)) / np.log(self.depth + 1)
        shown[:, 0] = 1.0
        shown[:, 1] = np.sqrt(held / self.n_runs) - CENTRES[1]
        shown[:, 2] = np.sqrt(np.asarray(top.sum(axis=1)).ravel() / self.n_runs) - CENTRES[2]
        shown[:, 3] = depth - CENTRES[3]
        shown[:, 4] = np.maximum(depth - 0.5, 0.0)
        shown[:, 5] = self.outside[rows]
        steep = ranks.copy()
        steep.data = 1 / ranks.data
        shown[:, 6] = np.sqrt(np.asarray(steep.sum(axis=1)).ravel() / self.n_runs) - CENTRES[6]
        shown[:, SHARED : SHARED + n_labels] = self.labels[rows]
        shown[:, SHARED + n_labels : SHARED + 2 * n_labels] = self.labels[rows] * shown[:, 3:4]
        shown[:, SHARED + 2 * n_labels :] = top.toarray() / np.sqrt(self.n_runs)
        return shown

    def prior(self, before: MixedFit | None) -> MixedPrior:
        """Of the first step up, or of a further one: what raises a document by one step raises it by the next."""
        n_labels, step = self.labels.shape[1], 0 if before is None else 1
        spreads = [*SPREADS[step], *[LABEL_SPREADS[step]] * n_labels, *[BY_DEPTH_SPREAD] * n_labels]
        spreads += [RUN_SPREADS[step]] * self.n_runs
        mean = np.zeros(len(spreads))
        if before is None:
            mean[:SHARED] = MEANS
        else:
            mean[1:] = FOLLOWS * before.coefficients[1:]
        of_topics = np.diag(OF_TOPICS[step][: len(self.sloped)])
        return MixedPrior(mean, 1 / np.square(spreads), of_topics, TOPICS)


def documents_elsewhere(
    documents: Documents,
    candidates: Candidates,
    qrels: Qrels,
    values: Floats | None,
    tables: Sequence[Table],
    labelled: bool,
) -> FrameDocuments:
    """The same documents, and those that no run has: the judged ones, and all `labelled` ones if so."""
    from scipy.sparse import csr_matrix, vstack

    rows, judged_topic, candidate = candidates.judgments(qrels)
    beside = candidate < 0
    level = np.searchsorted(documents.levels, qrels.grades[rows[beside]])
    named = zip(judged_topic[beside].tolist(), qrels.documents[rows[beside]].tolist(), strict=True)
    codes = dict(zip(named, (JUDGED + level).tolist(), strict=True))
    labels: dict[tuple[int, bytes], Floats] = {}
    for column, table in enumerate(tables):
        for key, value in _labels_elsewhere(table, candidates):
            if labelled:
                codes.setdefault(key, UNJUDGED)
            if key in codes:
                labels.setdefault(key, np.full(len(tables), np.nan))[column] = value
    numbers = {name: number for number, name in enumerate(codes)}
    of_others = np.full((len(codes), len(tables)), np.nan)
    for key, of_document in labels.items():
        of_others[numbers[key]] = of_document
    n = len(codes)
    nowhere, none = np.full(n, NOWHERE), np.zeros(n, dtype=np.int64)
    own = np.empty((len(candidates), 0)) if values is None else values
    both = scaled(np.concatenate([own[documents.number], of_others]))
    assert both is not None
    return FrameDocuments(
        np.concatenate([documents.number, np.full(n, -1)]),
        np.concatenate([documents.topic, np.array([topic for topic, _ in codes], dtype=np.int64)]),
        np.concatenate([documents.codes, np.array(list(codes.values()), dtype=np.int16)]),
        np.concatenate([documents.reach, nowhere]),
        np.concatenate([documents.owner, none]),
        np.concatenate([documents.pooled, nowhere]),
        vstack([documents.ranks, csr_matrix((n, documents.n_runs))]).tocsr(),
        both,
        documents.depth,
        documents.n_topics,
        documents.levels,
        np.concatenate([documents.inside, np.ones(n)]),
    )


def others_of(documents: FrameDocuments, judged: Ints) -> FrameDocuments:
    """The same documents of the runs, with other judged ones that no run has, [topic, level], without labels."""
    from scipy.sparse import csr_matrix, vstack

    own = np.flatnonzero(~documents.outside)
    topic, level = np.divmod(np.repeat(np.arange(judged.size), judged.ravel()), judged.shape[1])
    n = len(topic)
    nowhere, none = np.full(n, NOWHERE), np.zeros(n, dtype=np.int64)
    return replace(
        documents,
        number=np.concatenate([documents.number[own], np.full(n, -1)]),
        topic=np.concatenate([documents.topic[own], topic]),
        codes=np.concatenate([documents.codes[own], (JUDGED + level).astype(np.int16)]),
        reach=np.concatenate([documents.reach[own], nowhere]),
        owner=np.concatenate([documents.owner[own], none]),
        pooled=np.concatenate([documents.pooled[own], nowhere]),
        ranks=vstack([documents.ranks[own], csr_matrix((n, documents.n_runs))]).tocsr(),
        labels=np.concatenate([documents.labels[own], np.zeros((n, documents.labels.shape[1]))]),
        inside=np.concatenate([documents.inside[own], np.ones(n)]),
    )


def _labels_elsewhere(table: Table, candidates: Candidates) -> Iterator[tuple[tuple[int, bytes], float]]:
    """Topics and documents that no run has, and their labels."""
    topics, topic = topics_of(table)
    numbers = {name: number for number, name in enumerate(candidates.topics)}
    of_topic = np.array([numbers.get(name, -1) for name in topics], dtype=np.int32)[topic]
    rows = np.flatnonzero(of_topic >= 0)
    rows = rows[candidates.find_all(of_topic[rows], table.document[rows]) < 0]
    names = zip(of_topic[rows].tolist(), table.document[rows].tolist(), strict=True)
    return zip(names, table.number[rows].tolist(), strict=True)


# -- documents that neither a run nor a label names --------------------------------------------------------------------


def undrawn(judged: Ints, rate: float, seed: int, draws: range) -> Ints:
    """[draw, topic]: documents of no run that were up for drawing and not drawn, from how many were, [topic].

    A topic has so many by a Poisson distribution of its own, whose mean has a gamma distribution over topics (Clayton
    and Kaldor 1987); drawn ones are a share `rate` of them.
    """
    mean = float(judged.mean())
    if not mean:
        return np.zeros((len(draws), len(judged)), dtype=np.int64)
    shape = mean / max(float(judged.var()) / mean - 1, mean / MOST_SHAPE)
    scale = (1 - rate) / rate / (shape / mean + 1)
    lots = [np.random.default_rng((seed, i, 2)) for i in draws]
    return np.stack([lot.poisson(lot.gamma(shape + judged) * scale) for lot in lots])


def graded(number: Ints, chances: Floats, levels: Sequence[int], n_levels: int, seed: int, draws: range) -> Ints:
    """[draw, topic, level]: a number [draw, topic] of documents with chances [step, draw, topic] of each step up."""
    left = np.zeros((*number.shape, n_levels), dtype=np.int64)
    for place, i in enumerate(draws):
        lot = np.random.default_rng((seed, i, 3))
        reached, before, below = number[place], 0, np.ones(number.shape[1])
        for level, chance in zip(levels, chances[:, place], strict=True):
            further = lot.binomial(reached, np.divide(chance, below, out=np.zeros_like(below), where=below > 0))
            left[place, :, before] = reached - further
            reached, before, below = further, level, chance
        left[place, :, before] = reached
    return left


def counted(levels: NDArray[np.int16], topic: Ints, shape: tuple[int, ...]) -> Ints:
    """[draw, topic, level]: how many documents have each level, from levels [draw, document]."""
    cells = topic * shape[1]
    counts = [np.bincount(cells + of_draw, minlength=shape[0] * shape[1]).reshape(shape) for of_draw in levels]
    return np.stack(counts).astype(np.int64)
