"""What a first pass over the runs finds out about each, for everything that needs all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathoms.data.qrels import Qrels
from fathoms.evidence.align import Ranked
from fathoms.experiment.assumed_pool import JudgedByRank, judged_by_rank


@dataclass(frozen=True, eq=False)
class Survey:
    """A run's topics, and what is judged of it at which rank."""

    run: str
    answered: NDArray[np.int64]  # judged topics that the run has, as numbered in the qrels
    n_topics: int  # judged ones
    unknown: list[str]  # topics of the run without judgments
    judged: JudgedByRank

    @property
    def lacking(self) -> NDArray[np.int64]:
        """Judged topics the run says nothing about."""
        return np.flatnonzero(np.bincount(self.answered, minlength=self.n_topics) == 0)


def survey(ranked: Ranked, qrels: Qrels) -> Survey:
    answered = ranked.answered
    unknown = [topic for topic in ranked.run.topics if topic not in qrels.index]
    return Survey(ranked.run.name, answered, len(qrels.topics), unknown, judged_by_rank(ranked))


def joined(parts: Sequence[Survey]) -> Survey | None:
    """The survey of a run from those of its parts; None where a topic is in two of them."""
    if len(parts) == 1:
        return parts[0]
    width = max(len(part.judged.retrieved) for part in parts)
    retrieved, judged, at_best = (np.zeros(width, dtype=np.int64) for _ in range(3))
    for part in parts:
        length = len(part.judged.retrieved)
        retrieved[:length] += part.judged.retrieved
        judged[:length] += part.judged.judged
        at_best[:length] += part.judged.judged if part.judged.at_best is None else part.judged.at_best
    unknown = [topic for part in parts for topic in part.unknown]
    answered = np.sort(np.concatenate([part.answered for part in parts]))
    if (answered[1:] == answered[:-1]).any() or len(set(unknown)) < len(unknown):
        return None
    return Survey(parts[0].run, answered, parts[0].n_topics, unknown, JudgedByRank(retrieved, judged, at_best))
