"""What a plan is made of: answers on topics and on depth, as rows, sentences and charts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from fathoms.base import charts
from fathoms.base.errors import FathomsError
from fathoms.base.result import Result
from fathoms.questions.plan.judging_depth import DepthPlan

if TYPE_CHECKING:
    import polars as pl

COLUMNS = (
    *("question", "measure", "method", "systems", "alpha", "difference", "power", "topics", "detectable", "width"),
    *("depth", "cutoff", "judgments", "new", "residual", "largest", "likely", "likely_difference", "clear"),
)
TITLES = {
    "t": "paired t-test",
    "t_mean_variance": "paired t-test, mean variance",
    "resampled": "paired t-test, resampled topics",
    "t_all_pairs": "paired t-tests of all pairs",
    "anova": "one-way ANOVA",
}


@dataclass(frozen=True)
class TopicAnswer:
    """How many topics one way of testing needs."""

    method: str  # a key of TITLES
    systems: int
    alpha: float  # each test's
    topics: int | None  # needed; None: more than a million, or by resampling more than were tried
    variance: float | None = None
    power_now: float | None = None  # of the topics there are
    detectable: float | None = None  # the least difference that they find


@dataclass(frozen=True)
class CurvePoint:
    """A number of topics: the power of each method, and the least difference that the paired t-test finds."""

    topics: int
    power: dict[str, float]
    detectable: float
    width: float  # expected, of the interval of a difference


@dataclass(frozen=True)
class RepetitionPoint:
    """A number of runs of each system: the topics needed, and the least difference that the topics there are find."""

    runs: int
    topics: int | None  # None: not even a million
    detectable: float


@dataclass(frozen=True)
class TopicPlan:
    """How many topics for one measure, or for a variance that the user states."""

    measure: str  # "" where there is none
    difference: float
    power: float
    alpha: float
    systems: int
    answers: list[TopicAnswer]
    curve: list[CurvePoint]
    variance: float  # of a difference
    system_variance: float
    stated: str  # "variance" or "system_variance" where one was given, "" where both are measured
    n_topics: int | None = None  # there are
    width: float | None = None  # asked for
    topics_for_width: int | None = None
    width_now: float | None = None
    runs: int = 0  # that variances are measured on
    scored_topics: int = 0
    pairs: int = 0  # of them that are like the difference
    pair_range: tuple[float, float] = (0.0, 0.0)  # their differences
    factors: tuple[float, float] = (1.0, 1.0)  # between which the variance lies, by the bootstrap
    logarithms: bool = False  # differences are of mean logarithms, as GMAP's
    repetitions: list[RepetitionPoint] = field(default_factory=list)  # where several runs of systems are known
    topics_each: float | None = None  # to a cluster, where clusters are drawn and counted in place of topics

    @property
    def drawn(self) -> str:
        """What is drawn at random, and counted."""
        return "topic" if self.topics_each is None else "cluster"

    def answer(self, method: str) -> TopicAnswer:
        """The answer of one of the methods: t, resampled, t_mean_variance, t_all_pairs, anova."""
        chosen = next((answer for answer in self.answers if answer.method == method), None)
        if chosen is None:
            have = ", ".join(answer.method for answer in self.answers)
            raise FathomsError(f"there is no answer of {method!r} here; there are {have}")
        return chosen


@dataclass(frozen=True, eq=False)
class Plan(Result):
    """How many topics and how many judgments an experiment needs."""

    words_module: ClassVar = "fathoms.questions.plan.words"
    columns: ClassVar = COLUMNS
    words: ClassVar = ("question", "measure", "method")
    whole_numbers: ClassVar = ("systems", "topics", "depth", "cutoff", "judgments", "new")

    topics: list[TopicPlan]
    depths: list[DepthPlan]
    level: float
    confidence: float
    notes: list[str] = field(default_factory=list)
    pool: str = ""  # which pool is assumed, where depths depend on that

    def rows(self) -> list[tuple[Any, ...]]:
        """Questions `topics` (needed, by method), `curve` (power by number of topics), `repetitions` (topics needed, by
        the number of runs of each system), `interval`, `depth`,
        `sample` (random judgments for an interval) and `cutoff`."""
        records = [row for plan in self.topics for row in _topic_rows(plan)]
        records += [row for plan in self.depths for row in _depth_rows(plan)]
        return [tuple(row.get(name) for name in COLUMNS) for row in records]

    def chart(self, measure: str | None = None) -> Any:
        """Power by number of topics."""
        charts.require()
        plan = self._topics(measure)
        unit = " of logarithms" if plan.logarithms else ""
        title = f"{plan.measure + ': ' if plan.measure else ''}power to find a difference{unit} of {plan.difference:g}"
        return charts.lines(self.power_points(measure), "topics", "power", "method", title, ("topics", "power"))

    def depth_chart(self) -> Any:
        """The residual left by pools of each depth."""
        charts.require()
        if not self.depths:
            raise FathomsError("there is nothing here on depths, of which a chart could be")
        return charts.lines(
            self.depth_points(),
            "depth",
            "residual",
            "measure",
            "Residual left by a pool",
            ("depth of the pool", "residual"),
            log_x=True,
        )

    def power_points(self, measure: str | None = None) -> pl.DataFrame:
        """A row a number of topics and method: the power to find the difference asked for."""
        import polars as pl

        rows = [
            (point.topics, TITLES[method], power)
            for point in self._topics(measure).curve
            for method, power in point.power.items()
        ]
        return pl.DataFrame(rows, schema=["topics", "method", "power"], orient="row")

    def depth_points(self) -> pl.DataFrame:
        """A row a measure and depth: the residual left."""
        import polars as pl

        rows = [(plan.measure.name, point.depth, point.residual) for plan in self.depths for point in plan.points]
        return pl.DataFrame(rows, schema=["measure", "depth", "residual"], orient="row")

    def _topics(self, measure: str | None) -> TopicPlan:
        chosen = next((plan for plan in self.topics if measure in (None, plan.measure)), None)
        if chosen is None:
            have = ", ".join(plan.measure for plan in self.topics) or "none"
            raise FathomsError(f"there is nothing here on topics for {measure or 'any measure'}; there is: {have}")
        return chosen


def _topic_rows(plan: TopicPlan) -> list[dict[str, Any]]:
    about = {"measure": plan.measure or None, "difference": plan.difference}
    rows = [
        {
            "question": "topics",
            **about,
            "method": answer.method,
            "systems": answer.systems,
            "alpha": answer.alpha,
            "power": plan.power,
            "topics": answer.topics,
            "detectable": answer.detectable,
        }
        for answer in plan.answers
    ]
    for point in plan.curve:
        for method, power in point.power.items():
            of_t = {"detectable": point.detectable, "width": point.width} if method == "t" else {}
            systems = plan.systems if method == "anova" else 2
            shared = {"systems": systems, "alpha": plan.alpha, "power": power, "topics": point.topics}
            rows.append({"question": "curve", **about, "method": method, **shared, **of_t})
    for of_runs in plan.repetitions:
        method = f"{of_runs.runs} {'run' if of_runs.runs == 1 else 'runs'} each"
        needed: dict[str, Any] = {"topics": of_runs.topics, "detectable": of_runs.detectable}
        with_power = {"systems": 2, "alpha": plan.alpha, "power": plan.power}
        rows.append({"question": "repetitions", **about, "method": method, **with_power, **needed})
    if plan.width is not None:
        wanted = {"alpha": plan.alpha, "width": plan.width, "topics": plan.topics_for_width}
        rows.append({"question": "interval", "measure": plan.measure or None, "method": "t", "systems": 2, **wanted})
    return rows


def _depth_rows(plan: DepthPlan) -> list[dict[str, Any]]:
    about = {"measure": plan.measure.name, "method": plan.basis}
    names = ("depth", "judgments", "new", "residual", "largest", "likely", "likely_difference", "clear")
    rows: list[dict[str, Any]] = [
        {"question": "depth", **about, **{name: getattr(point, name) for name in names}} for point in plan.points
    ]
    if plan.sample is not None:
        sample = plan.sample
        drawn = {"width": sample.width, "depth": sample.depth, "judgments": sample.judgments}
        rows.append({"question": "sample", **about, **drawn})
    rows += [
        {"question": "cutoff", **about, "depth": plan.depth, "cutoff": point.cutoff, "residual": point.residual}
        for point in plan.cutoffs
    ]
    return rows
