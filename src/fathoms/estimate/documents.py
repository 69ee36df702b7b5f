"""The documents that estimates are about: those judged, and those that judging would reach; and what ranks say of them.

Everything here is one number a document, whatever the number of runs, but for the heights in the runs' rankings, which
the regression takes a document at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fathoms.data.qrels import JUDGED
from fathoms.estimate.mixed_logistic import MixedFit, MixedPrior
from fathoms.evidence.candidates import Candidates
from fathoms.evidence.evidence import Bools, Floats, Ints

SHARE_OF_RANKED = 0.5  # of a document's height in a run that is for being there at all
OWN = 3  # features before those of single runs: share, height, intercept
# Rounded from fits to whole judgments: of the first step up, and of further ones, which say less.
PRIOR_MEAN = (2.0, 2.0, -5.0)
PRIOR_SPREAD = (3.0, 3.0, 3.0)
RUN_SPREAD, LABEL_SPREAD = 1.0, 2.0
FURTHER_MEAN = (0.5, 0.5, -1.0)
FURTHER_SPREAD = (1.0, 1.0, 2.0)
FURTHER_RUN_SPREAD = 1.0
TOPIC_SPREAD, FURTHER_TOPIC_SPREAD = 0.5, 0.3  # variances
SLOPED = (2, 1)  # features whose coefficients topics have of their own: intercept, height


@dataclass(frozen=True, eq=False)
class Documents:
    """Some candidates, by topic."""

    exact: ClassVar = False  # effects of topics are drawn from their posterior itself
    rounds: ClassVar = (10, 4)  # of learning how much topics differ, at most: first step up, and further ones
    again: ClassVar = 2  # the same where much the same was learnt before

    number: Ints  # of the candidate
    topic: Ints
    codes: NDArray[np.int16]  # what the judgments say, as in Evidence
    reach: Ints  # least rank in any given run
    owner: Ints  # the run that has it there
    pooled: Ints  # least rank in any contributing run, NOWHERE if none has it
    ranks: Any  # sparse [document, run]: rank, from 1
    labels: Floats  # [document, label], scaled; a missing one is 0
    depth: int  # of the longest ranking
    n_topics: int
    levels: Floats  # grades a document may have, ascending from 0
    inside: Floats  # chance of being one of those that are estimated, 1 where judged

    def __len__(self) -> int:
        return len(self.number)

    @property
    def n_runs(self) -> int:
        return int(self.ranks.shape[1])

    @property
    def judged(self) -> Bools:
        return self.codes >= JUDGED

    @cached_property
    def level(self) -> Ints:
        """Place of the grade among those in use; 0 where not judged."""
        return np.maximum(self.codes.astype(np.int64) - JUDGED, 0)

    @property
    def n_features(self) -> int:
        return OWN + self.n_runs + self.labels.shape[1]

    @property
    def sloped(self) -> tuple[int, ...]:
        """Features whose coefficients topics have of their own."""
        return SLOPED

    def prior(self, before: MixedFit | None) -> MixedPrior:
        """Of the coefficients of the first step up, or of the one that follows `before`."""
        first = before is None
        own, spread = (PRIOR_MEAN, PRIOR_SPREAD) if first else (FURTHER_MEAN, FURTHER_SPREAD)
        of_runs, n_labels = RUN_SPREAD if first else FURTHER_RUN_SPREAD, self.labels.shape[1]
        spreads = [*spread, *([of_runs] * self.n_runs), *([LABEL_SPREAD] * n_labels)]
        mean = np.zeros(len(spreads))
        mean[: len(own)] = own
        of_topics = np.eye(len(SLOPED)) * (TOPIC_SPREAD if first else FURTHER_TOPIC_SPREAD)
        return MixedPrior(mean, 1 / np.square(spreads), of_topics)

    def features(self, rows: Ints) -> NDArray[np.float32]:
        """[document, feature]: square roots of the share of the runs that have it and of its mean height in them, 1,
        its height in each run's ranking, its labels. Height falls from 1 with the logarithm of the rank."""
        ranks = self.ranks[rows]
        height = ranks.copy()
        height.data = 1 - np.log(ranks.data) / np.log(self.depth + 1)
        shown = np.zeros((len(rows), self.n_features), dtype=np.float32)
        shown[:, 0] = np.sqrt(np.diff(ranks.indptr) / self.n_runs)
        shown[:, 1] = np.sqrt(np.asarray(height.sum(axis=1)).ravel() / self.n_runs)
        shown[:, 2] = 1.0
        height.data = SHARE_OF_RANKED + (1 - SHARE_OF_RANKED) * height.data
        shown[:, OWN : OWN + self.n_runs] = height.toarray()
        shown[:, OWN + self.n_runs :] = self.labels[rows]
        return shown


def documents_of(
    candidates: Candidates,
    codes: NDArray[np.int16],
    contributing: Bools,
    to_depth: int,
    levels: Floats,
    labels: Floats | None = None,
    inside: Floats | None = None,
) -> Documents:
    """The judged candidates and those with a rank of at most `to_depth` in some run; `labels` are by candidate, and so
    is the chance of being `inside` what is estimated, 1 by default."""
    from scipy.sparse import csc_matrix

    reach, owner = candidates.least_ranks()
    pooled, _ = candidates.least_ranks(contributing)
    inside = np.ones(len(candidates)) if inside is None else inside
    number = np.flatnonzero((codes >= JUDGED) | ((reach <= to_depth) & (inside > 0)))
    row = np.full(len(candidates) + 1, -1, dtype=np.int32)
    row[number] = np.arange(len(number), dtype=np.int32)
    rows, ranks = [], []
    for place in candidates.place:
        here = row[place]
        shown = here >= 0
        rows.append(here[shown])
        ranks.append(np.nonzero(shown)[1] + 1.0)
    ends = np.cumsum([0, *map(len, rows)])
    shape = (len(number), len(candidates.names))
    matrix = csc_matrix((np.concatenate(ranks), np.concatenate(rows), ends), shape=shape).tocsr()
    return Documents(
        number,
        candidates.topic[number].astype(np.int64),
        codes[number],
        reach[number],
        owner[number],
        pooled[number],
        matrix,
        np.zeros((len(number), 0)) if labels is None else labels[number],
        candidates.depth,
        len(candidates.topics),
        levels,
        inside[number],
    )
