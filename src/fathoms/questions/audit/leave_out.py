"""If a run, or its whole group, had not contributed to the pool, how would its scores change (LMC-depth Table 5)?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathoms.base.parallel import parallel_map
from fathoms.base.tolerances import ROUNDING
from fathoms.data.qrels import Qrels
from fathoms.evidence.align import Aligned
from fathoms.evidence.evidence import Bools, Evidence, Floats, Ints
from fathoms.evidence.order import Ties
from fathoms.evidence.pool import with_judgments
from fathoms.experiment.assumed_pool import AssumedPool
from fathoms.experiment.scoring import judgments_of, topic_scores
from fathoms.measures.base import Measure
from fathoms.measures.means import aggregate
from fathoms.questions.audit.findings import LeftOut


@dataclass(frozen=True, eq=False)
class Contributions:
    """Which judgments only one unit (a run, or a group of runs) has brought to the pool."""

    sole: NDArray[np.int32]  # the number of the only unit that has the document, -1 where there are more or none
    units: list[str]

    def of(self, unit: str) -> Bools:
        return self.sole == self.units.index(unit) if unit in self.units else np.zeros(len(self.sole), dtype=bool)


def judgments_used(depths: NDArray[np.int32], depth_given: int | None, pool: AssumedPool) -> Bools:
    """Which judgments count: all, or, for a pool shallower than the real one, those it would have.

    `depths` are the least depths of the judged documents over the contributing runs.
    """
    if depth_given is not None and pool.known and depth_given < pool.depth:
        return depths <= depth_given
    return np.ones(len(depths), dtype=bool)


def contributions(
    aligned: Mapping[str, Aligned], units: Mapping[str, Sequence[str]], depth: int, n_judgments: int
) -> Contributions:
    """Who brings which judged document to a pool of that depth: counts and one owner, not a table of all runs."""
    count = np.zeros(n_judgments, dtype=np.int32)
    owner = np.full(n_judgments, -1, dtype=np.int32)
    for number, runs in enumerate(units.values()):
        brought = np.zeros(n_judgments, dtype=bool)
        for run in runs:
            top = judgments_of(aligned[run])[:, :depth]
            brought[top[top >= 0]] = True
        count += brought
        owner[brought] = number
    return Contributions(np.where(count == 1, owner, np.int32(-1)), list(units))


def leave_out(
    qrels: Qrels,
    kept: Bools,
    aligned: Mapping[str, Aligned],
    brought: Contributions,
    left: Mapping[str, Sequence[str]],
    measures: Sequence[Measure],
    ties: Ties = "trec",
    *,
    workers: int = 1,
    scheduler: str | None = None,
) -> list[LeftOut]:
    """Score the runs of each unit again without the judgments that only the unit brought (LMC-depth Table 5).

    `kept` are the judgments that count. Those that no unit brought stay. All other runs keep their scores, and ranks
    are among all of `aligned`.
    """
    if not left:
        return []
    place = {name: i for i, name in enumerate(aligned)}
    counts = qrels.count(kept)

    def scored(task: tuple[str, str | None]) -> list[float]:
        """The run's means, without what only the unit brought."""
        run, unit = task
        if unit is None:
            return _means(with_judgments(aligned[run], qrels, kept, counts), measures, ties)
        return _means(with_judgments(aligned[run], qrels, kept & ~brought.of(unit)), measures, ties)

    whole: list[tuple[str, str | None]] = [(run, None) for run in aligned]
    partial: list[tuple[str, str | None]] = [
        (run, unit) for unit, runs in left.items() if brought.of(unit).any() for run in runs
    ]
    means = parallel_map(scored, [*whole, *partial], workers=workers, scheduler=scheduler, doing="runs left out")
    full = np.array(means[: len(whole)])
    without = dict(zip(partial, means[len(whole) :], strict=True))
    results = []
    for unit, runs in left.items():
        gone = brought.of(unit) & kept & (qrels.grades >= 0)
        scores = full.copy()
        for run in runs:
            scores[place[run]] = without.get((run, unit), full[place[run]])
        for run in runs:
            i = place[run]
            before, after = _rank(full, i), _rank(scores, i)
            results += [
                LeftOut(
                    unit,
                    run,
                    measure.name,
                    int(gone.sum()),
                    float(full[i, m]),
                    float(scores[i, m]),
                    int(before[m]),
                    int(after[m]),
                )
                for m, measure in enumerate(measures)
            ]
    return results


def _rank(scores: Floats, i: int) -> Ints:
    """The rank of run i under each measure; runs of equal score share the best rank."""
    return 1 + (scores > scores[i] + ROUNDING).sum(axis=0)


def _means(evidence: Evidence, measures: Sequence[Measure], ties: Ties) -> list[float]:
    return [aggregate(measure, topic_scores(evidence, measure, ties)) or 0.0 for measure in measures]
