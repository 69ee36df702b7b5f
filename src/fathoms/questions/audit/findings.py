"""What an audit finds: how fast pooling finds relevant documents, and what it leaves unjudged.

Tables and figures are those of Lu, Moffat and Culpepper (LMC-depth).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fathoms.data.qrels import JUDGED, PADDING, Qrels
from fathoms.evidence.align import Aligned
from fathoms.evidence.evidence import Bools, Evidence
from fathoms.evidence.pool import with_judgments

SHARE_DEPTHS = (5, 10, 20, 50, 100, 1000)
STEPS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 400, 500, 700, 1000)
SAME_ORDER = 0.9  # Kendall's tau from which two orders of systems count as equivalent (section 3)
FEW_INVERSIONS = 0.01  # "very close to zero" (section 4, of newswire), against more than 0.05 for ClueWeb

Status = Literal["pass", "warn", "not applicable"]


@dataclass(frozen=True)
class Judged:
    """How much of a run's first documents is judged."""

    judged: int
    retrieved: int

    @property
    def share(self) -> float | None:
        return self.judged / self.retrieved if self.retrieved else None

    @staticmethod
    def of(evidence: Evidence, first: int, last: int | None) -> Judged:
        """Of the documents at ranks from `first` (from 1) to `last`."""
        codes = evidence.codes[:, first - 1 : last]
        return Judged(int((codes >= JUDGED).sum()), int((codes != PADDING).sum()))

    @staticmethod
    def total(parts: Iterable[Judged]) -> Judged:
        several = list(parts)
        return Judged(sum(judged.judged for judged in several), sum(judged.retrieved for judged in several))


@dataclass(frozen=True)
class Step:
    """The documents that a pool of depth `deep` has and one of depth `shallow` has not (Fig. 1, right)."""

    shallow: int
    deep: int
    judged: int
    relevant: int

    @property
    def rate(self) -> float | None:
        return self.relevant / self.judged if self.judged else None


@dataclass(frozen=True)
class Spread:
    """A mean and its standard deviation."""

    mean: float
    deviation: float

    @staticmethod
    def of(values: Iterable[float] | NDArray[Any]) -> Spread | None:
        array = np.asarray(values if isinstance(values, np.ndarray) else list(values), dtype=np.float64)
        return Spread(float(array.mean()), float(array.std())) if array.size else None


@dataclass(frozen=True)
class Pooling:
    """A row of Table 4; without depth it is the one of all judgments."""

    depth: int | None
    rel_in_pool: Spread | None
    rank_unjudged: Spread | None
    rel_past: Spread | None


@dataclass(frozen=True)
class LeftOut:
    """What happens to one run's mean score and rank if it, or its whole group, had not contributed."""

    unit: str  # the run, or the group
    run: str
    measure: str
    removed: int  # judgments that only the unit brought
    full: float
    without: float
    rank_full: int
    rank_without: int

    @property
    def percent(self) -> float | None:
        if self.full == 0:
            return 0.0 if self.without == 0 else None
        return 100 * (self.without - self.full) / self.full

    @property
    def rank_change(self) -> int:
        return abs(self.rank_without - self.rank_full)


@dataclass(frozen=True)
class Extended:
    """A measure that reads deeper than the pool, against itself cut at the pool's depth."""

    measure: str
    k: int | None
    judged: float | None  # share judged of the contributing runs' documents deeper than the pool, None without any
    tau: float | None = None  # None where the measure takes no cut-off
    coverage: float | None = None  # these two None where no pair of systems differs significantly at the pool's depth
    inversion: float | None = None

    @property
    def amenable(self) -> bool:
        return self.tau is not None and self.tau >= SAME_ORDER and (self.inversion or 0.0) <= FEW_INVERSIONS


@dataclass(frozen=True)
class Guideline:
    number: int
    name: str
    status: Status
    evidence: str


@dataclass(frozen=True)
class Change:
    """A column of Table 5: mean change in percent and mean absolute change of rank over the runs left out.

    The median is there because a few bad runs, nearly all of whose documents are new, make up most of the mean; the
    mean absolute change because rises and falls cancel in the mean (with fewer relevant documents the divisor falls
    too).
    """

    measure: str
    percent: Spread | None
    median: float | None
    absolute: float | None
    most: LeftOut | None  # the run that changes most
    rank: Spread


def changes(left: Sequence[LeftOut]) -> list[Change]:
    """One for each measure."""
    by_measure = []
    for measure in dict.fromkeys(run_left_out.measure for run_left_out in left):
        chosen = [run_left_out for run_left_out in left if run_left_out.measure == measure]
        known = [
            (abs(run_left_out.percent), run_left_out.percent, run_left_out)
            for run_left_out in chosen
            if run_left_out.percent is not None
        ]
        percents = [percent for _, percent, _ in known]
        moved = Spread.of([float(run_left_out.rank_change) for run_left_out in chosen])
        assert moved is not None
        by_measure.append(
            Change(
                measure,
                Spread.of(percents),
                float(np.median(percents)) if known else None,
                float(np.mean([size for size, _, _ in known])) if known else None,
                max(known, key=lambda row: row[0])[2] if known else None,
                moved,
            )
        )
    return by_measure


def found_by_depth(qrels: Qrels, depths: NDArray[np.int32], depth: int) -> tuple[list[Spread], list[Step]]:
    """Relevant documents per topic at each depth, and how many of those judged last are relevant (Fig. 1)."""
    relevant = qrels.grades >= 1
    spreads = []
    for d in range(1, depth + 1):
        spread = Spread.of(np.bincount(qrels.topic[relevant & (depths <= d)], minlength=len(qrels.topics)))
        assert spread is not None
        spreads.append(spread)
    steps = []
    for shallow, deep in pairwise([0, *(d for d in STEPS if d < depth), depth]):
        new = (depths > shallow) & (depths <= deep) & (qrels.grades >= 0)
        steps.append(Step(shallow, deep, int(new.sum()), int((new & relevant).sum())))
    return spreads, steps


def pooling_outcomes(
    qrels: Qrels, aligned: Sequence[Aligned], depths: NDArray[np.int32], at: Sequence[int]
) -> list[Pooling]:
    """Table 4: what pools of some depths hold of the contributing runs, over all runs and topics; last, all judgments.

    A run without unjudged documents has its first one just past its end; topics that a run lacks do not count there.
    """
    rows = []
    for depth in (*at, None):
        kept = np.ones(len(qrels), dtype=bool) if depth is None else depths <= depth
        counts = qrels.counts if depth is None else qrels.count(kept)
        R = counts[:, qrels.levels >= 1].sum(axis=1)
        inside, first = [], []
        for run_alignment in aligned:
            evidence = with_judgments(run_alignment, qrels, kept, counts)
            if depth is not None:
                codes = evidence.codes[:, :depth]
                inside.append(((codes >= JUDGED) & _is_relevant(qrels, codes)).sum(axis=1))
            first.append(evidence.first_unjudged[evidence.lengths > 0])
        held = np.array(inside)
        rows.append(
            Pooling(
                depth,
                None if depth is None else Spread.of(held),
                Spread.of(np.concatenate(first)),
                None if depth is None else Spread.of(R - held),
            )
        )
    return rows


def _is_relevant(qrels: Qrels, codes: NDArray[np.int16]) -> Bools:
    return np.concatenate([np.zeros(JUDGED, dtype=bool), qrels.levels >= 1])[codes]


def judged_shares(evidence: Evidence) -> dict[int, float | None]:
    """The share of a run's top k that is judged, of what it has there."""
    return {k: Judged.of(evidence, 1, k).share for k in SHARE_DEPTHS}


def as_percent(share: float) -> str:
    """A share in percent, where only all is 100% and only nothing is 0%."""
    shown = f"{share:.1%}"
    if shown == "100.0%":
        return "100%" if share == 1 else "more than 99.9%"
    return "less than 0.1%" if shown == "0.0%" and share > 0 else shown
