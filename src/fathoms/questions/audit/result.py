"""All findings of an audit: as rows, a frame, sentences and a chart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from fathoms.base import charts
from fathoms.base.arrays import frame_of_rows
from fathoms.base.errors import FathomsError
from fathoms.base.result import Result
from fathoms.base.text import valid_text
from fathoms.data.qrels import Qrels
from fathoms.inference.outliers import outlying
from fathoms.measures.base import Measure
from fathoms.questions.audit.findings import (
    SHARE_DEPTHS,
    Extended,
    Guideline,
    Judged,
    LeftOut,
    Pooling,
    Spread,
    Step,
    changes,
)
from fathoms.questions.audit.new_run_calls import Calls

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("section", "item", "measure", "value", "spread")


@dataclass(frozen=True, eq=False)
class Audit(Result):
    """All findings on a collection."""

    words_module: ClassVar = "fathoms.questions.audit.words"
    columns: ClassVar = COLUMNS
    charts: ClassVar = ("relevant", "judged", "left_out")

    qrels: Qrels
    measures: list[Measure]
    depth: int
    depth_asked: bool
    assumed: bool  # whether the contributing runs are inferred and not listed
    pool_said: str  # in the words of all other commands
    pool_known: bool  # False: nothing shows who contributed, so all runs stand in
    pool_sure: bool  # False: the judgments cannot tell who contributed, so some runs stand in
    contributing: list[str]
    others: list[str]
    groups: dict[str, list[str]]  # contributing runs by team; empty where teams are not known
    in_pool: int  # judgments in the pool of that depth
    used: int  # judgments looked at: all, or with a shallower depth asked for those of that pool
    judged: dict[str, Judged]  # how much of each run is judged to the depth of the pool
    relevant: list[Spread]  # relevant documents per topic at depth 1, 2, ...
    steps: list[Step]
    pooling: list[Pooling]
    run_out: list[LeftOut]
    group_out: list[LeftOut]
    shares: dict[str, dict[int, float | None]]  # judged share of each run by depth
    extended: list[Extended]
    guidelines: list[Guideline]
    calls: list[Calls] = field(default_factory=list)  # of pairs with a run left out, by confidence; where asked for
    notes: list[str] = field(default_factory=list)

    @property
    def judged_in_pool(self) -> float | None:
        """The judged share of the contributing runs' documents to the depth of the pool."""
        return Judged.total(self.judged[name] for name in self.contributing).share

    def share(self, names: Iterable[str], k: int) -> Spread | None:
        """The judged share of the top k, mean over some of the runs."""
        known_shares = (self.shares[name][k] for name in names)
        return Spread.of([share for share in known_shares if share is not None])

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
                ("judgments used", float(self.used)),
                ("contributing runs judged to the pool depth", self.judged_in_pool),
            )
        ]
        rows += [("found", str(d), "relevant", s.mean, s.deviation) for d, s in enumerate(self.relevant, 1)]
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
            for run_left_out in left:
                rows.append((f"{kind}-out-percent", run_left_out.run, run_left_out.measure, run_left_out.percent, None))
                rows.append(
                    (f"{kind}-out-rank", run_left_out.run, run_left_out.measure, float(run_left_out.rank_change), None)
                )
        for name, shares in self.shares.items():
            rows += [("judged-share", name, f"Judged@{k}", share, None) for k, share in shares.items()]
        for beyond in self.extended:
            for item, value in (
                ("judged deeper than the pool", beyond.judged),
                ("tau", beyond.tau),
                ("coverage", beyond.coverage),
                ("inversion", beyond.inversion),
            ):
                rows.append(("extended", item, beyond.measure, value, None))
        for calls in self.calls:
            item = f"{calls.low:g}-{calls.high:g}"
            rows += [
                ("new-runs", item, calls.measure, float(calls.pairs), None),
                ("new-runs-right", item, calls.measure, calls.right / calls.pairs, None),
            ]
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

    def _draw(self, kind: str, measure: str) -> Any:
        """`relevant`: documents found per topic in pools of growing depth. `judged`: how much of the first k is judged.
        `left_out`: what leaving a contributing run out of the pool does to its score."""
        if kind == "judged":
            axes = ("top k (documents, log scale)", "judged, mean over runs (%)")
            return charts.curves(self.judged_points(), axes, log=True)
        if kind == "left_out":
            if not any(dot.measure == measure for dot in self.run_out):
                raise FathomsError(f"nothing is known about leaving runs out for {measure}")
            return charts.changed(self.left_out_points(measure), measure)
        return charts.curves(self.relevant_points(), ("depth of the pool (documents)", "relevant documents per topic"))

    def relevant_points(self) -> pl.DataFrame:
        points = [
            (d, s.mean, "found", f"depth {d}; {s.mean:.2f} relevant per topic") for d, s in enumerate(self.relevant, 1)
        ]
        return _points(points)

    def judged_points(self) -> pl.DataFrame:
        points = []
        for label, names in (("contributing runs", self.contributing), ("other runs", self.others)):
            means = ((k, self.share(names, k)) for k in SHARE_DEPTHS if names)
            shares = [(k, 100 * mean.mean) for k, mean in means if mean is not None]
            group = f"{label} ({len(names)})"
            points += [(k, share, group, f"{label}; {share:.1f}% of the top {k} judged") for k, share in shares]
        return _points(points)

    def left_out_points(self, measure: str) -> pl.DataFrame:
        """A row a contributing run: its score, and by how many percent it changes without what only it brought."""
        import polars as pl

        dots = [dot for dot in self.run_out if dot.measure == measure and dot.percent is not None]
        named = outlying([dot.full for dot in dots], [dot.percent or 0.0 for dot in dots])
        points = [
            (
                dot.full,
                dot.percent,
                valid_text(dot.run) if place in named else "",
                valid_text(
                    f"{dot.run}; {dot.full:.4f} to {dot.without:.4f} ({dot.percent:+z.1f}%); "
                    f"rank {dot.rank_full} to {dot.rank_without}; {dot.removed:,} judgments of its own"
                ),
            )
            for place, dot in enumerate(dots)
        ]
        schema = {"full": pl.Float64, "percent": pl.Float64, "label": pl.String, "tooltip": pl.String}
        return pl.DataFrame(points, schema=schema, orient="row")


def _points(points: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(points, schema=["x", "y", "group", "tooltip"], orient="row")
