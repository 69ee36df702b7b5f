"""What an audit finds: how fast pooling finds relevant documents, what it leaves unjudged, and all figures as rows.

Tables and figures are those of Lu, Moffat and Culpepper (LMC-depth).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fathoms import charts
from fathoms.data.arrays import frame_of_rows
from fathoms.data.qrels import JUDGED, PADDING, Qrels
from fathoms.evidence.align import Aligned
from fathoms.evidence.evidence import Bools, Evidence
from fathoms.evidence.pool import with_judgments
from fathoms.experiment.result import Result
from fathoms.measures.base import Measure

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("section", "item", "measure", "value", "spread")
SHARE_DEPTHS = (5, 10, 20, 50, 100, 1000)
STEPS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 400, 500, 700, 1000)
SAME_ORDER = 0.9  # Kendall's tau from which on two orders of systems are held to be equivalent (section 3)
FEW_INVERSIONS = 0.01  # "very close to zero" (section 4, of newswire), against more than 0.05 for ClueWeb

Status = Literal["pass", "warn", "not applicable"]


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
    """What becomes of one run's mean score and rank once it, or its whole group, had not contributed."""

    unit: str  # the run, or the group
    run: str
    measure: str
    removed: int  # judgments that only the unit had brought
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
    """A measure that reads below the pool, against itself cut at the pool's depth."""

    measure: str
    k: int | None
    judged: float  # share of the contributing runs' documents below the pool's depth that are judged all the same
    tau: float | None = None  # None where the measure takes no cut-off
    coverage: float | None = None
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


@dataclass(frozen=True, eq=False)
class Audit(Result):
    """All findings on a collection."""

    columns: ClassVar = COLUMNS

    qrels: Qrels
    measures: list[Measure]
    depth: int
    depth_asked: bool
    contributing: list[str]
    others: list[str]
    groups: dict[str, list[str]]  # contributing runs by team; empty where teams are not known
    in_pool: int  # judgments in the pool of that depth
    found: list[Spread]  # relevant documents a topic at depth 1, 2, ...
    steps: list[Step]
    pooling: list[Pooling]
    run_out: list[LeftOut]
    group_out: list[LeftOut]
    shares: dict[str, dict[int, float | None]]  # judged share of each run by depth
    extended: list[Extended]
    guidelines: list[Guideline]
    notes: list[str] = field(default_factory=list)

    def share(self, names: Iterable[str], k: int) -> Spread | None:
        """The judged share of the top k, mean over some of the runs."""
        found = (self.shares[name][k] for name in names)
        return Spread.of([share for share in found if share is not None])

    def rows(self) -> list[tuple[str, str, str, float | str | None, float | None]]:
        """Everything, one row a figure, as in COLUMNS; `value` is text for guidelines and their evidence."""
        rows: list[tuple[str, str, str, float | str | None, float | None]] = [
            ("collection", item, "", value, None)
            for item, value in (
                ("topics", float(len(self.qrels.topics))),
                ("judgments", float((self.qrels.grades >= 0).sum())),
                ("relevant", float((self.qrels.grades >= 1).sum())),
                ("contributing runs", float(len(self.contributing))),
                ("other runs", float(len(self.others))),
                ("groups", float(len(self.groups))),
                ("pool depth", float(self.depth)),
                ("judgments in the pool", float(self.in_pool)),
            )
        ]
        rows += [("found", str(d), "relevant", s.mean, s.deviation) for d, s in enumerate(self.found, 1)]
        for step in self.steps:
            span = str(step.deep) if step.deep == step.shallow + 1 else f"{step.shallow + 1}-{step.deep}"
            rows += [("rate", span, "judged", float(step.judged), None), ("rate", span, "share", step.rate, None)]
        for pool in self.pooling:
            depth = "all" if pool.depth is None else str(pool.depth)
            for name, spread in (
                ("RelInPool", pool.rel_in_pool),
                ("RankUnj", pool.rank_unjudged),
                ("NumRelPast", pool.rel_past),
            ):
                if spread is not None:
                    rows.append(("pooling", depth, name, spread.mean, spread.deviation))
        for kind, left in (("run", self.run_out), ("group", self.group_out)):
            for one_change in changes(left):
                name, percent, moved = one_change.measure, one_change.percent, one_change.rank
                if percent is not None:
                    rows.append((f"{kind}-out-percent", "all", name, percent.mean, percent.deviation))
                    rows.append((f"{kind}-out-percent", "median", name, one_change.median, None))
                rows.append((f"{kind}-out-rank", "all", name, moved.mean, moved.deviation))
            for one in left:
                rows.append((f"{kind}-out-percent", one.run, one.measure, one.percent, None))
                rows.append((f"{kind}-out-rank", one.run, one.measure, float(one.rank_change), None))
        for name, shares in self.shares.items():
            rows += [("judged-share", name, f"Judged@{k}", share, None) for k, share in shares.items()]
        for beyond in self.extended:
            for item, value in (
                ("judged below the pool", beyond.judged),
                ("tau", beyond.tau),
                ("coverage", beyond.coverage),
                ("inversion", beyond.inversion),
            ):
                rows.append(("extended", item, beyond.measure, value, None))
        for guideline in self.guidelines:
            item = f"{guideline.number} {guideline.name}"
            rows += [
                ("guideline", item, "", guideline.status, None),
                ("evidence", item, "", guideline.evidence, None),
            ]
        return rows

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The figures as a frame; guidelines, which are words, are in `guidelines`."""
        rows = [row for row in self.rows() if not isinstance(row[3], str)]
        return frame_of_rows(COLUMNS, rows, COLUMNS[:3])

    def to_frame(self) -> pl.DataFrame:
        """What `frame` was called; it goes in the next version."""
        warnings.warn("to_frame() is now called frame", DeprecationWarning, stacklevel=2)
        return self.frame

    @property
    def sentences(self) -> list[str]:
        from fathoms.comparison.audit_sentences import sentences

        return sentences(self)

    def chart(self) -> Any:
        """Relevant documents that a topic has in pools of growing depth."""
        import polars as pl

        charts.require()
        points = [(d, s.mean, "relevant", f"depth {d}: {s.mean:.2f}") for d, s in enumerate(self.found, 1)]
        frame = pl.DataFrame(points, schema=["x", "y", "group", "tooltip"], orient="row")
        return charts.curves(frame, ("depth of the pool", "relevant documents per topic"))


@dataclass(frozen=True)
class Change:
    """A column of Table 5: mean change in percent and mean absolute change of rank over the runs left out.

    The median is there because a few bad runs, of which nearly every document is new, make most of the mean.
    """

    measure: str
    percent: Spread | None
    median: float | None
    rank: Spread


def changes(left: Sequence[LeftOut]) -> list[Change]:
    """One for each measure."""
    found = []
    for measure in dict.fromkeys(one.measure for one in left):
        chosen = [one for one in left if one.measure == measure]
        percents = [one.percent for one in chosen if one.percent is not None]
        moved = Spread.of([float(one.rank_change) for one in chosen])
        assert moved is not None
        found.append(Change(measure, Spread.of(percents), float(np.median(percents)) if percents else None, moved))
    return found


def found_by_depth(qrels: Qrels, depths: NDArray[np.int32], depth: int) -> tuple[list[Spread], list[Step]]:
    """Relevant documents a topic at each depth, and how many of those judged last are relevant (Fig. 1)."""
    relevant = qrels.grades >= 1
    found = []
    for d in range(1, depth + 1):
        spread = Spread.of(np.bincount(qrels.topic[relevant & (depths <= d)], minlength=len(qrels.topics)))
        assert spread is not None
        found.append(spread)
    steps = []
    for shallow, deep in pairwise([0, *(d for d in STEPS if d < depth), depth]):
        new = (depths > shallow) & (depths <= deep) & (qrels.grades >= 0)
        steps.append(Step(shallow, deep, int(new.sum()), int((new & relevant).sum())))
    return found, steps


def pooling_outcomes(
    qrels: Qrels, aligned: Sequence[Aligned], depths: NDArray[np.int32], at: Sequence[int]
) -> list[Pooling]:
    """Table 4: what pools of some depths hold of the contributing runs, over all runs and topics; last, all judgments.

    A run without unjudged documents has its first one just past its end; topics a run lacks do not count there.
    """
    rows = []
    for depth in (*at, None):
        kept = np.ones(len(qrels), dtype=bool) if depth is None else depths <= depth
        relevant = qrels.counts if depth is None else qrels.count(kept)
        R = relevant[:, qrels.levels >= 1].sum(axis=1)
        inside, first = [], []
        for one in aligned:
            evidence = with_judgments(one, qrels, kept)
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
    shares: dict[int, float | None] = {}
    for k in SHARE_DEPTHS:
        top = evidence.codes[:, :k]
        retrieved = int((top != PADDING).sum())
        shares[k] = float((top >= JUDGED).sum() / retrieved) if retrieved else None
    return shares
