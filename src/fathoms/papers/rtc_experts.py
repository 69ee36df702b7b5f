"""Experts whose probabilities come from scores: what section 3.2 of Carterette (2007) names beside ranks.

"A method such as the one used by Manmatha et al. could be used to convert scores into probabilities of relevance."
Theirs is a mixture: within a topic of a run, scores of documents that are not relevant are exponential and those of
relevant ones normal. It is fitted without judgments, and the posterior is q*. Calibration and aggregation are as for
ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.estimate.relevance import Experts
from fathoms.evidence.align import Ranked
from fathoms.evidence.candidates import Block
from fathoms.evidence.evidence import Bools, Floats

STEPS = 60  # of expectation and maximisation
LEAST_SPREAD = 0.05  # of the normal part, on scores from 0 to 1
FIRST_SHARE = 0.1  # relevant, before the first step


def scores_by_rank(ranked: Sequence[Ranked], place: NDArray[np.int32]) -> Floats:
    """Scores [system, topic, rank] of the documents of `place`, NaN past the end of a ranking."""
    scores = np.full(place.shape, np.nan)
    for row, one in zip(scores, ranked, strict=True):
        kept = one.rank <= place.shape[2]
        row[one.topic[kept], one.rank[kept] - 1] = one.run.scores[one.rows[kept]]
    scores[place < 0] = np.nan
    return scores


def score_chances(scores: Floats) -> Floats:
    """The posterior of the mixture for each document of each ranking, 0 past its end.

    It may fall again at the highest scores, where the exponential has the heavier tail; a document is then given the
    greatest posterior of those below it, so that it never loses by a higher score (Manmatha and Sever: the same
    problem). A ranking without two different scores says the same of all its documents.
    """
    known = np.isfinite(scores)
    x = np.where(known, scores, np.inf)
    low = x.min(axis=-1, keepdims=True)
    high = np.where(known, scores, -np.inf).max(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        x = np.where(known & (high > low), (scores - low) / np.where(high > low, high - low, 1.0), 0.0)
    count = np.maximum(known.sum(axis=-1, keepdims=True), 1)
    share = np.full(count.shape, FIRST_SHARE)
    middle, spread = np.full(count.shape, 0.8), np.full(count.shape, 0.2)
    rate = 1 / np.maximum(np.where(known, x, 0.0).sum(axis=-1, keepdims=True) / count, 1e-3)
    posterior = np.zeros(x.shape)
    for _ in range(STEPS):
        normal = share * np.exp(-0.5 * ((x - middle) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
        exponential = (1 - share) * rate * np.exp(-rate * x)
        posterior = np.where(known, normal / np.maximum(normal + exponential, 1e-300), 0.0)
        rest = np.where(known, 1 - posterior, 0.0)
        total = np.maximum(posterior.sum(axis=-1, keepdims=True), 1e-9)
        share = np.clip(total / count, 0.01, 0.99)
        middle = (posterior * x).sum(axis=-1, keepdims=True) / total
        variance = (posterior * (x - middle) ** 2).sum(axis=-1, keepdims=True) / total
        spread = np.maximum(np.sqrt(variance), LEAST_SPREAD)
        rate = rest.sum(axis=-1, keepdims=True) / np.maximum((rest * x).sum(axis=-1, keepdims=True), 1e-3)
    risen = np.maximum.accumulate(posterior[..., ::-1], axis=-1)[..., ::-1]
    return np.where(known, np.where(high > low, risen, FIRST_SHARE), 0.0)


class ScoredExperts(Experts):
    """RTC's experts with q* from their scores: `chances` [system, topic, rank] of all systems by name."""

    def __init__(
        self, block: Block, labels: Floats | None = None, *, names: Sequence[str], chances: Floats, **reading: Any
    ) -> None:
        super().__init__(block, labels, **reading)
        systems = [list(names).index(name) for name in block.names]
        self._from_scores = block.by_column(chances[systems].transpose(1, 0, 2))

    def _reported(self, block: Block, table: Floats, labels: Floats | None) -> tuple[Floats, Bools]:
        by_rank, has_opinion = super()._reported(block, table, labels)
        reported = by_rank.copy()
        reported[:, : self._from_scores.shape[1]] = self._from_scores
        return reported, has_opinion
