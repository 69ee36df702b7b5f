"""What a first pass over the runs finds out of each, for all that has to look at them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fathoms.data.qrels import Qrels
from fathoms.evidence.align import Ranked
from fathoms.experiment.assumed_pool import JudgedByRank, judged_by_rank


@dataclass(frozen=True)
class Survey:
    """A run's topics, and what is judged of it at which rank."""

    run: str
    missing: list[str]  # judged topics the run says nothing of
    unknown: list[str]  # topics of the run without judgments
    judged: JudgedByRank
    answered: int  # judged topics that the run has


def survey(ranked: Ranked, qrels: Qrels) -> Survey:
    lengths = np.bincount(ranked.topic, minlength=len(qrels.topics))
    missing = [qrels.topics[i] for i in np.flatnonzero(lengths == 0)]
    unknown = [topic for topic in ranked.run.topics if topic not in qrels.index]
    return Survey(ranked.run.name, missing, unknown, judged_by_rank(ranked), len(lengths) - len(missing))


def joined(parts: Sequence[Survey]) -> Survey | None:
    """The survey of a run from those of its parts; None where a topic is in two of them."""
    if len(parts) == 1:
        return parts[0]
    width = max(len(part.judged.retrieved) for part in parts)
    retrieved, judged = np.zeros(width, dtype=np.int64), np.zeros(width, dtype=np.int64)
    for part in parts:
        retrieved[: len(part.judged.retrieved)] += part.judged.retrieved
        judged[: len(part.judged.judged)] += part.judged.judged
    unknown = [topic for part in parts for topic in part.unknown]
    everywhere = set(parts[0].missing).intersection(*(part.missing for part in parts[1:]))
    missing = [topic for topic in parts[0].missing if topic in everywhere]
    # Each part lacks all topics but its own, so these counts tell whether any topic was had twice.
    n_topics = len(parts[0].missing) + parts[0].answered
    if sum(part.answered for part in parts) != n_topics - len(missing) or len(set(unknown)) < len(unknown):
        return None
    return Survey(parts[0].run, missing, unknown, JudgedByRank(retrieved, judged), n_topics - len(missing))
