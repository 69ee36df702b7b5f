"""The documents that estimates are about: those judged, and those that judging would reach; and what ranks say of them.

Everything here is one number a document, whatever the number of runs, but for the heights in the runs' rankings, which
the regression takes a document at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.data.qrels import JUDGED
from fathoms.evidence.candidates import Candidates
from fathoms.evidence.evidence import Bools, Floats, Ints

SHARE_OF_RANKED = 0.5  # of a document's height in a run that is for being there at all
OWN = 3  # features before those of single runs: share, height, intercept
SLOPED = (2, 1)  # features whose coefficients topics have of their own: intercept, height


@dataclass(frozen=True, eq=False)
class Documents:
    """Some candidates, by topic."""

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

    def features(self, rows: Ints) -> NDArray[np.float32]:
        """[document, feature]: square roots of the share of the runs that have it and of its mean height in them, 1,
        its height in each run's ranking, its labels. Height falls from 1 with the logarithm of the rank."""
        ranks = self.ranks[rows]
        height = ranks.copy()
        height.data = 1 - np.log(ranks.data) / np.log(self.depth + 1)
        shown = np.zeros((len(rows), OWN + self.n_runs + self.labels.shape[1]), dtype=np.float32)
        shown[:, 0] = np.sqrt(np.diff(ranks.indptr) / self.n_runs)
        shown[:, 1] = np.sqrt(np.asarray(height.sum(axis=1)).ravel() / self.n_runs)
        shown[:, 2] = 1.0
        height.data = SHARE_OF_RANKED + (1 - SHARE_OF_RANKED) * height.data
        shown[:, OWN : OWN + self.n_runs] = height.toarray()
        shown[:, OWN + self.n_runs :] = self.labels[rows]
        return shown


def documents_of(
    found: Candidates,
    codes: NDArray[np.int16],
    contributing: Bools,
    to_depth: int,
    levels: Floats,
    labels: Floats | None = None,
) -> Documents:
    """The judged candidates and those with a rank of at most `to_depth` in some run. `labels` are by candidate."""
    from scipy.sparse import csr_matrix

    reach, owner = found.least_ranks()
    pooled, _ = found.least_ranks(contributing)
    number = np.flatnonzero((codes >= JUDGED) | (reach <= to_depth))
    row = np.full(len(found) + 1, -1)
    row[number] = np.arange(len(number))
    rows, systems, ranks = [], [], []
    for system, place in enumerate(found.place):
        here = row[place]
        _, at = np.nonzero(here >= 0)
        rows.append(here[here >= 0])
        systems.append(np.full(len(at), system))
        ranks.append(at + 1.0)
    shape = (len(number), len(found.names))
    matrix = csr_matrix((np.concatenate(ranks), (np.concatenate(rows), np.concatenate(systems))), shape=shape)
    return Documents(
        number,
        found.topic[number].astype(np.int64),
        codes[number],
        reach[number],
        owner[number],
        pooled[number],
        matrix,
        np.zeros((len(number), 0)) if labels is None else labels[number],
        found.depth,
        len(found.topics),
        levels,
    )
