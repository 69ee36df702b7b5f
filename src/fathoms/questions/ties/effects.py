"""What another order of tied documents could change: scores, pairs of runs, places (YMT-ties section 3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from fathoms.base import charts
from fathoms.base.arrays import frame_of_rows
from fathoms.base.result import Result
from fathoms.base.tolerances import ROUNDING
from fathoms.evidence.align import Alignment, Ranked, other_order
from fathoms.evidence.evidence import Bools, Evidence, Floats, Ints
from fathoms.evidence.order import Ties, default_precision
from fathoms.measures.base import Measure, Scores
from fathoms.measures.means import aggregate
from fathoms.questions.ties.anomalies import Anomalies

if TYPE_CHECKING:
    import polars as pl

RULES = ("trec", "file_order", "score_rank", "expected")  # ways to break ties that people use
COLUMNS = (*RULES, "pessimistic", "optimistic", "joint_low", "joint_high")
Kind = Literal["runs", "scores", "pairs", "places"]
KINDS: dict[Kind, tuple[str, ...]] = {
    "runs": tuple(field_.name for field_ in fields(Anomalies)),
    "scores": ("run", "measure", *COLUMNS),
    "pairs": ("run_a", "run_b", "measure", *(f"diff_{rule}" for rule in RULES), "diff_low", "diff_high", "verdict"),
    "places": ("run", "measure", *RULES, "best", "worst"),
}
WORDS = ("run", "run_a", "run_b", "measure", "verdict")


@dataclass(frozen=True, eq=False)
class Means:
    """One measure's means over topics: an array over the runs for each of COLUMNS, nan where there is no value.

    The orders of two runs are independent, so a difference ranges from one's pessimistic to the other's optimistic
    mean, and both ends are reached.
    """

    columns: dict[str, Floats]

    @property
    def pairs(self) -> tuple[Ints, Ints]:
        return np.triu_indices(len(self.columns["trec"]), 1)

    def differences(self, rule: str) -> Floats:
        a, b = self.pairs
        return self.columns[rule][a] - self.columns[rule][b]

    def difference_range(self) -> tuple[Floats, Floats]:
        a, b = self.pairs
        low, high = self.columns["pessimistic"], self.columns["optimistic"]
        return low[a] - high[b], high[a] - low[b]

    def verdicts(self) -> tuple[Bools, Bools]:
        """For each pair: do the rules differ on which run is ahead? And if not, do some orders of tied documents?"""
        signs = np.stack([_sign(self.differences(rule)) for rule in RULES])
        known = ~np.isnan(signs)
        changes = (known & (signs != signs[0])).any(axis=0)
        low, high = self.difference_range()
        return changes, ~changes & ((_sign(low) != signs[0]) | (_sign(high) != signs[0]))

    def places(self, rule: str) -> Ints | None:
        """Each run's place, 1 for the best and equal means sharing one; None if a run has no value under this rule."""
        means = self.columns[rule]
        return None if np.isnan(means).any() else _ahead(means, means) + 1

    def places_by_rule(self) -> list[Ints | None]:
        return [self.places(rule) for rule in RULES]

    def extreme_places(self) -> tuple[Ints, Ints]:
        """The best and the worst place each run could take, every run's tied documents in some order."""
        low, high = self.columns["pessimistic"], self.columns["optimistic"]
        # At its worst place all others that could be ahead are; a run does not count its own best order.
        return _ahead(low, high) + 1, _ahead(high, low) - (high > low + ROUNDING) + 1


def _sign(differences: Floats) -> Floats:
    return np.where(np.abs(differences) < ROUNDING, 0.0, np.sign(differences))


def _ahead(other: Floats, own: Floats) -> Ints:
    """How many of theirs are greater than each of our own."""
    return len(other) - np.searchsorted(np.sort(other), own + ROUNDING, side="right")


@dataclass(frozen=True, eq=False)
class TieReport(Result):
    """Anomalies of all runs, and for each measure what the order of tied documents does to scores, pairs and places."""

    words_module: ClassVar = "fathoms.questions.ties.words"
    columns: ClassVar = KINDS["scores"]
    words: ClassVar = WORDS
    charts: ClassVar = ("ties",)

    measures: list[Measure]
    by_run: list[Anomalies]
    means: dict[Measure, Means]
    depth: int  # place that `tied_above` and `across` speak of
    notes: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        return [of_run.run for of_run in self.by_run]

    def rows(self, kind: Kind = "scores", measures: Sequence[Measure] | None = None) -> Iterator[tuple[Any, ...]]:
        """The rows of one of KINDS, those of all measures or of some."""
        if kind == "runs":
            yield from map(astuple, self.by_run)
            return
        for measure in self.measures if measures is None else measures:
            yield from getattr(self, f"_{kind}")(measure)

    def records(self, kind: Kind = "scores", measures: Sequence[Measure] | None = None) -> list[dict[str, Any]]:
        """The same rows by the names of their columns."""
        return [dict(zip(KINDS[kind], row, strict=True)) for row in self.rows(kind, measures)]

    def table(self, kind: Kind) -> pl.DataFrame:
        """`runs`, `scores`, `pairs` or `places` as a polars frame."""
        import polars as pl

        frame = frame_of_rows(KINDS[kind], list(self.rows(kind)), WORDS)
        if kind in ("scores", "pairs"):
            return frame
        whole = frame.with_columns(pl.col(pl.Float64).cast(pl.Int64))
        return whole.cast({"upside_down": pl.Boolean}) if kind == "runs" else whole

    @property
    def anomalies(self) -> pl.DataFrame:
        """Ties and contradictions counted, a row per run."""
        return self.table("runs")

    @property
    def scores(self) -> pl.DataFrame:
        """Each run's mean under each rule, and in the worst and the best order."""
        return self.table("scores")

    @property
    def pairs(self) -> pl.DataFrame:
        """For each pair of runs the differences, and whether the order of tied documents decides it."""
        return self.table("pairs")

    @property
    def places(self) -> pl.DataFrame:
        """Each run's rank among the runs under each rule, and the best and worst it could take."""
        return self.table("places")

    def _draw(self, kind: str, measure: str) -> Any:
        """Each run from its worst to its best order of tied documents."""
        scores = self.scores
        return charts.tie_segments(scores.filter(scores["measure"] == measure).join(self.anomalies, on="run"), measure)

    def _scores(self, measure: Measure) -> Iterator[tuple[Any, ...]]:
        columns = [_values(self.means[measure].columns[name]) for name in COLUMNS]
        for run, *values in zip(self.names, *columns, strict=True):
            yield (run, measure.name, *values)

    def _pairs(self, measure: Measure) -> Iterator[tuple[Any, ...]]:
        means, names = self.means[measure], self.names
        changes, could = means.verdicts()
        columns = [_values(d) for d in (*map(means.differences, RULES), *means.difference_range())]
        verdicts = np.select([changes, could], ["changes", "could change"], "same").tolist()
        places, name = (place.tolist() for place in means.pairs), measure.name
        for a, b, *figures in zip(*places, *columns, verdicts, strict=True):
            yield (names[a], names[b], name, *figures)

    def _places(self, measure: Measure) -> Iterator[tuple[Any, ...]]:
        means = self.means[measure]
        taken = means.places_by_rule()
        columns = [[None] * len(self.names) if p is None else p.tolist() for p in (*taken, *means.extreme_places())]
        for run, *places in zip(self.names, *columns, strict=True):
            yield (run, measure.name, *places)


def _values(numbers: Floats) -> list[float | None]:
    return [None if number != number else number for number in numbers.tolist()]


def means_of(
    ranked: Ranked, align: Alignment, evidence: Evidence, scores: Mapping[Measure, Scores]
) -> dict[Measure, dict[str, float]]:
    """Each measure's mean under each rule and at each limit; nan where there is none."""
    others = _other_orders(ranked, align, evidence)
    means = {}
    for m, of in scores.items():
        joint = _joint_ranges(m, evidence, of)
        score = of.score
        topics: dict[str, Floats | None] = {
            "trec": score,
            "expected": of.tie_expected,
            "pessimistic": of.tie_low,
            "optimistic": of.tie_high,
            "joint_low": _joined([low for low, _ in joint]),
            "joint_high": _joined([high for _, high in joint]),
        }
        topics |= {rule: _reordered(m, evidence, other, score) for rule, other in others.items()}
        mean = {name: aggregate(m, topics.get(name)) for name in COLUMNS}
        if m.aggregate == "geometric" and mean["pessimistic"] != mean["optimistic"]:
            mean["expected"] = None  # the mean of a geometric mean is not that of its topics' means
        means[m] = {name: np.nan if value is None else value for name, value in mean.items()}
    return means


def _joint_ranges(measure: Measure, evidence: Evidence, scores: Scores) -> list[tuple[Floats | None, Floats | None]]:
    """Limits over judging and orders of ties together, chunk by chunk."""
    ranges = []
    start = 0
    for chunk in evidence.chunks():
        here = np.zeros(len(evidence), dtype=bool)
        here[start : start + len(chunk)] = True
        ranges.append(measure.joint_range(chunk, scores.of_topics(here)))
        start += len(chunk)
    return ranges


def _joined(parts: list[Floats | None]) -> Floats | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def _other_orders(ranked: Ranked, align: Alignment, evidence: Evidence) -> dict[str, Evidence]:
    """The evidence in the order of the other rules: the same documents, so nothing has to be looked up again."""
    policies: dict[str, Ties] = {"file_order": "run"}
    ranks = ranked.run.ranks
    if ranks is not None and not np.isnan(ranks).any():
        policies["score_rank"] = "score-rank"
    held = np.arange(evidence.width) < evidence.lengths[:, None]
    others = {}
    for rule, policy in policies.items():
        place, _ = other_order(ranked, policy, align.precision or default_precision(policy))
        codes = evidence.codes.copy()
        codes[held] = ranked.codes[place]
        others[rule] = replace(evidence, codes=codes, _cache={})
    return others


def _reordered(measure: Measure, evidence: Evidence, other: Evidence, score: Floats | None) -> Floats | None:
    """Scores in another order, computed only for the topics whose order differs."""
    rows = np.flatnonzero((evidence.codes != other.codes).any(axis=1))
    if score is None or not len(rows):
        return score
    scores = score.copy()
    scores[rows] = measure.value(measure.prepared(other.select(rows)))
    return scores
