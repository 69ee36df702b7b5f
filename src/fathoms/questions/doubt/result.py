"""What is known about a doubt: where it comes from, how much comes from each source, and what would halve it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple

from fathoms.base import charts
from fathoms.base.result import Result
from fathoms.measures.base import Measure

# In the order of CLAIMS: each answers a different question, and they are never mixed.
SourceName = Literal[
    "topics",
    "judging",
    "both",
    "ties",
    "repetitions",
    "topics_repetitions",
    "judging_repetitions",
    "label_sources",
    "topics_labels",
    "possible",
    "assessors",
    "labels",
    "depth",
    "estimate",
    "all",
]
COLUMNS = ("measure", "source", "low", "high", "share", "halved_by", "unit")


class Source(NamedTuple):
    """One source of doubt about a score, or about a difference."""

    name: SourceName
    low: float
    high: float
    share: float | None = None  # of the variance; None where it has none
    halved_by: int | None = None  # this many topics in all, or this many judgments, would halve its interval
    unit: Literal["topics", "judgments", "repetitions", "sources", ""] = ""


class Document(NamedTuple):
    """An unjudged document, and where the runs have it (0: nowhere)."""

    topic: str
    document: str
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class Settling:
    """One way of making a difference clear: judge more of these topics, or take more topics."""

    unit: Literal["topics", "judgments"]
    count: int  # to be added
    cost: float


@dataclass(frozen=True)
class Budget:
    """The doubt about one measure's score, or about its difference of two runs."""

    measure: Measure
    score: float  # as judged
    estimate: float  # once judged
    low: float  # of the estimate, on topics like these: topics, judging and ties together
    high: float
    topics: int
    unjudged: int  # documents that could still move it
    sources: list[Source]
    to_judge: list[Document]  # those that halve the doubt from judging, the most telling first
    settling: list[Settling] = field(default_factory=list)  # of a difference that is not clear, the cheapest first
    reversible: str = ""  # of a difference: whether judging these two runs' documents could turn it
    has_estimate: bool = True

    def source(self, name: SourceName) -> Source | None:
        return next((source for source in self.sources if source.name == name), None)

    @property
    def shares(self) -> list[Source]:
        """The sources that make up the variance, the greatest first."""
        return sorted(
            (source for source in self.sources if source.share is not None), key=lambda source: -(source.share or 0.0)
        )

    @property
    def is_clear(self) -> bool:
        """Whether 0 lies outside the interval of a difference."""
        return self.low > 0 or self.high < 0

    def turned(self) -> Budget:
        """The same for the difference the other way round."""
        sources = [source._replace(low=-source.high, high=-source.low) for source in self.sources]
        turned = replace(self, score=-self.score, estimate=-self.estimate, sources=sources)
        return replace(turned, low=-self.high, high=-self.low)


@dataclass(frozen=True, eq=False)
class Doubt(Result):
    """An error budget for each measure."""

    words_module: ClassVar = "fathoms.questions.doubt.words"
    columns: ClassVar = COLUMNS
    words: ClassVar = ("measure", "source", "unit")
    whole_numbers: ClassVar = ("halved_by",)
    charts: ClassVar = ("sounding",)

    runs: tuple[str, ...]  # one (or one system), or two of which the second is taken from the first
    budgets: list[Budget]
    level: float
    ranked: tuple[str, ...] = ()  # the runs that the ranks of documents are of
    notes: list[str] = field(default_factory=list)
    about_estimates: list[str] = field(default_factory=list)

    def rows(self) -> list[tuple[Any, ...]]:
        return [
            (budget.measure.name, source.name, source.low, source.high, source.share, source.halved_by, source.unit)
            for budget in self.budgets
            for source in budget.sources
        ]

    def records_to_judge(self) -> list[tuple[Any, ...]]:
        """Topic, document and ranks of what to judge first, by the first measure."""
        return [(item.topic, item.document, *item.ranks) for item in self.budgets[0].to_judge]

    @property
    def measures(self) -> Sequence[str]:
        return [budget.measure.name for budget in self.budgets]

    def _draw(self, kind: str, measure: str) -> Any:
        from fathoms.questions.doubt.words import lead, shown, source_title, title_of

        [budget] = [budget for budget in self.budgets if budget.measure.name == measure]
        title, budget = title_of(self, budget), lead(budget)
        rows = [(source_title(budget, source), source.low, source.high, source.share) for source in shown(budget)]
        return charts.sounding(rows, budget.score, budget.estimate, title, difference=len(self.runs) > 1)
