"""What a comparison found: its pairs, and what is known about each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from fathoms.base import charts, choices
from fathoms.base.choices import PAPER_FORMS, PaperForm, checked
from fathoms.base.paper_table import FRAGILE, HOLDS, Cell, PaperTable
from fathoms.base.result import Result
from fathoms.base.text import pluralise
from fathoms.estimate.names import LEVEL
from fathoms.inference.names import SIGNIFICANT, VERDICTS, Verdict
from fathoms.inference.significance import Correction, Test
from fathoms.pairs.difference_ranges import Universe
from fathoms.pairs.fragility import Fragility

if TYPE_CHECKING:
    import polars as pl


COLUMNS = (
    *("run_a", "run_b", "measure", "diff", "diff_low", "diff_high", "ci_low", "ci_high", "p", "p_corrected", "effect"),
    *("estimate", "likely_low", "likely_high", "p_better", "p_holds", "fragility_low", "fragility_high"),
    *("reversible", "verdict", "reason"),
)


PRINTED = (  # those of these that exist
    *("run_a", "run_b", "group", "measure", "diff", "ci_low", "ci_high", "p_corrected", "estimate", "p_holds"),
    *("verdict", "reason"),
)
WORDS = ("run_a", "run_b", "measure", "reversible", "verdict", "reason")


# Why a pair cannot be claimed. other side: the test, which is not about means, speaks for the run with the lower one;
# not yet: not significant, but likely to be once judged.
Why = Literal["", "topics", "judging", "ties", "other side", "not yet"]
Lack = Literal["", "topics", "judging", "ties"]
LACKS: dict[Why, Lack] = {
    **{"": "", "topics": "topics", "judging": "judging", "ties": "ties"},
    **{"other side": "topics", "not yet": "judging"},
}


@dataclass(frozen=True)
class Pair:
    """One comparison: A against B."""

    run_a: str
    run_b: str
    measure: str
    diff: float
    ci_low: float
    ci_high: float
    p: float
    p_corrected: float
    effect: float
    verdict: Verdict = "open"
    why: Why = ""  # it cannot be claimed
    topics_needed: float | None = None  # topics that would probably settle it, if topics are lacking
    to_judge: int | None = None  # unjudged documents of the two runs, if judging is lacking,
    judged_to: int | None = None  # down to this rank
    diff_low: float | None = None  # least and greatest mean difference over every way of judging
    diff_high: float | None = None
    estimate: float | None = None
    likely_low: float | None = None
    likely_high: float | None = None
    p_better: float | None = None
    p_holds: float | None = None
    fragility_low: float | None = None  # fewest documents that bring the difference to 0: at least, and at most
    fragility_high: float | None = None
    reversible: str | None = None  # no, yes, unknown
    exact: bool = False  # are diff_low and diff_high reached by some judging, or only bounds?
    effect_low: float | None = None
    effect_high: float | None = None
    log_scale: bool = False  # differences are of logarithms
    depths_reversed: tuple[int, ...] = ()  # depths at which the other run is ahead
    group: str = "all"  # of topics

    @property
    def lacks(self) -> Lack:
        """What a claim lacks, in a word."""
        return LACKS[self.why]

    @property
    def reason(self) -> str:
        """Why it cannot be claimed, as the column says it."""
        from fathoms.questions.compare.words import reason

        return reason(self)

    def turned(self) -> Pair:
        """The same pair seen from B."""

        def minus(value: float | None) -> float | None:
            return None if value is None else -value

        return replace(
            self,
            run_a=self.run_b,
            run_b=self.run_a,
            diff=-self.diff,
            ci_low=-self.ci_high,
            ci_high=-self.ci_low,
            effect=-self.effect,
            effect_low=minus(self.effect_high),
            effect_high=minus(self.effect_low),
            diff_low=minus(self.diff_high),
            diff_high=minus(self.diff_low),
            estimate=minus(self.estimate),
            likely_low=minus(self.likely_high),
            likely_high=minus(self.likely_low),
            p_better=None if self.p_better is None else 1 - self.p_better,
        )


@dataclass(frozen=True, eq=False)
class Comparison(Result):
    """All pairs compared, and how."""

    words_module: ClassVar = "fathoms.questions.compare.words"
    columns: ClassVar[tuple[str, ...]] = COLUMNS
    words: ClassVar[tuple[str, ...]] = WORDS
    charts: ClassVar = ("verdicts", "counts")

    pairs: list[Pair]
    alpha: float
    test: Test
    correction: Correction
    topics: int
    notes: list[str] = field(default_factory=list)
    universe: Universe = Universe()  # noqa: RUF009 - it does not change
    explained: list[Fragility | None] = field(default_factory=list)  # one for each pair, if asked for; None: no range
    topic_names: list[str] = field(default_factory=list)
    document_names: dict[int, str] = field(default_factory=dict)  # by key, of the documents in `explained`
    level: float = LEVEL  # of likely_low and likely_high
    about_estimates: list[str] = field(default_factory=list)  # what is estimated, and how it was checked
    estimated: dict[tuple[str, str], tuple[float, float, float]] = field(default_factory=dict)  # by run and measure
    to_depth: dict[str, int] = field(default_factory=dict)  # by measure: the rank down to which estimates judge
    by_group: list[Pair] = field(default_factory=list)  # the same pairs on each group of topics, group by group
    estimated_by_group: dict[tuple[str, str, str], tuple[float, float, float]] = field(default_factory=dict)
    baseline: str | None = None  # the run that the others are compared with, if only with that one
    # By run, measure and group of topics, the runs as given; "all" of them first.
    means: dict[tuple[str, str, str], float] = field(default_factory=dict)
    judged: tuple[float, int] | None = None  # share of the runs' first documents that is judged, and how many these are
    clusters: int | None = None  # of topics, where these are what is drawn at random

    def rows(self) -> list[tuple[Any, ...]]:
        return [tuple(getattr(pair, name) for name in self.columns) for pair in (*self.pairs, *self.by_group)]

    def in_order(self, measure: str) -> list[Pair]:
        """The pairs by one measure as people ask for them: those of the best run, the closest rival first and the
        better run always on the left, then those of the next; with one baseline, by their difference. Each is followed
        by its groups of topics."""
        pairs = [pair for pair in self.pairs if pair.measure == measure]
        if self.baseline is not None:
            ordered = sorted(pairs, key=lambda pair: (-pair.diff, pair.run_a))
        else:
            rank = {run: place for place, (run, _) in enumerate(self.standing(measure))}
            turned = [pair if rank[pair.run_a] < rank[pair.run_b] else pair.turned() for pair in pairs]
            ordered = sorted(turned, key=lambda pair: (rank[pair.run_a], rank[pair.run_b]))
        if not self.by_group:
            return ordered
        of_pair: dict[frozenset[str], list[Pair]] = {}
        for pair in self.by_group:
            if pair.measure == measure:
                of_pair.setdefault(frozenset((pair.run_a, pair.run_b)), []).append(pair)
        with_groups = []
        for pair in ordered:
            with_groups.append(pair)
            groups = of_pair.get(frozenset((pair.run_a, pair.run_b)), [])
            with_groups += [of_group if of_group.run_a == pair.run_a else of_group.turned() for of_group in groups]
        return with_groups

    def standing(self, measure: str) -> list[tuple[str, float]]:
        """The runs by their mean, best first, with how far it is above that of one of them; equal ones by name."""
        pairs = [pair for pair in self.pairs if pair.measure == measure]
        origin = self.baseline or pairs[0].run_a
        above = {origin: 0.0}
        for pair in pairs:
            if origin in (pair.run_a, pair.run_b):
                other = pair.run_b if pair.run_a == origin else pair.run_a
                above[other] = -pair.diff if pair.run_a == origin else pair.diff
        return sorted(above.items(), key=lambda run_above: (-run_above[1], run_above[0]))

    @property
    def shown_frame(self) -> pl.DataFrame:
        frame = super().shown_frame
        return frame.select([name for name in PRINTED if name in frame.columns])

    def table(self, form: PaperForm = "latex") -> str:
        """A table for a paper: runs as rows, measures as columns, with a mark for what differs from the baseline, or
        from the best of its column; `latex` (booktabs), `md` or `html`."""
        from fathoms.questions.compare.words import caption

        checked("form", choices.one_of, PAPER_FORMS, form)
        names, measures, groups = (list(dict.fromkeys(each[i] for each in self.means)) for i in range(3))
        if self.baseline is not None:
            names.sort(key=lambda name: name != self.baseline)  # it comes first
        marks = dict(self._marks())

        def cells(name: str, group: str) -> list[Cell]:
            keys = [(name, measure, group) for measure in measures]
            return [Cell(self.means.get(key), mark=marks.get(key, "")) for key in keys]

        rows = [(name, cells(name, "all")) for name in names]
        parts = [(f"{name}, {group}", cells(name, group)) for group in groups[1:] for name in names]
        return PaperTable(measures, rows, caption(self), "tab:comparison", parts).text(form)

    def _marks(self) -> Iterator[tuple[tuple[str, str, str], str]]:
        """Of the runs that differ significantly from the baseline, or from the best run by a measure."""
        best = {measure: self.baseline or self.standing(measure)[0][0] for _, measure, _ in self.means}
        for pair in (*self.pairs, *self.by_group):
            reference = best[pair.measure]
            if reference in (pair.run_a, pair.run_b) and pair.verdict in SIGNIFICANT:
                other = pair.run_b if pair.run_a == reference else pair.run_a
                yield (other, pair.measure, pair.group), FRAGILE if pair.verdict == "fragile" else HOLDS

    def _charted(self) -> list[str]:
        return list(dict.fromkeys(pair.measure for pair in self.pairs))

    def _draw(self, kind: str, measure: str) -> Any:
        """`verdicts`: which differences can be claimed, the best runs first. `counts`: how many pairs have which
        verdict, and what keeps them from being claimed."""
        pairs = [pair for pair in self.pairs if pair.measure == measure]
        if kind == "counts":
            return charts.counts(verdict_counts(pairs), f"Verdicts on {pluralise(len(pairs), 'pair')} by {measure}")
        return charts.verdict_matrix(*verdict_boxes(pairs))


class GroupedComparison(Comparison):
    """The same by groups of topics too; the rows of all topics come first."""

    columns: ClassVar[tuple[str, ...]] = (*COLUMNS, "group")
    words: ClassVar[tuple[str, ...]] = (*WORDS, "group")


def verdict_counts(pairs: Sequence[Pair]) -> pl.DataFrame:
    """How many pairs have each verdict, and for what reason where they cannot be claimed."""
    import polars as pl

    counts = Counter((pair.verdict, pair.lacks) for pair in pairs)
    ordered = sorted(counts.items(), key=lambda item: (VERDICTS.index(item[0][0]), -item[1]))
    rows = [(verdict, lack or "claimed", n) for (verdict, lack), n in ordered]
    return pl.DataFrame(rows, schema=["verdict", "reason", "pairs"], orient="row")


def verdict_boxes(pairs: Sequence[Pair], names: Sequence[str] = ()) -> tuple[pl.DataFrame, list[str]]:
    """The verdicts of one measure as boxes of a matrix, both ways, and the runs in its order: as given, or best first.

    Neighbours with the same verdict are one box, so that 140 runs stay small.
    """
    import polars as pl

    if not names:
        wins: dict[str, float] = {name: 0.0 for pair in pairs for name in (pair.run_a, pair.run_b)}
        for pair in pairs:
            wins[pair.run_a] += pair.diff
            wins[pair.run_b] -= pair.diff
        names = sorted(wins, key=lambda name: (-wins[name], name))
    verdicts = {(pair.run_a, pair.run_b): pair.verdict for pair in pairs}
    boxes: list[tuple[int, int, int, str]] = []
    for row, a in enumerate(names, 1):
        cells = [(place, verdicts.get((a, b)) or verdicts.get((b, a))) for place, b in enumerate(names, 1)]
        for verdict, run in groupby(cells, key=lambda cell: cell[1]):
            places = [place for place, _ in run]
            if verdict is not None:
                boxes.append((row, places[0], places[-1], verdict))
    return pl.DataFrame(boxes, schema=["row", "start", "stop", "verdict"], orient="row"), list(names)
