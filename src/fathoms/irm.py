"""Our measures in ir_measures, and so in PyTerrier's Experiment: `from fathoms.irm import AP, RBP`.

Importing this module registers the measures with ir_measures under names that begin with `fm_`, and a provider that
computes them, so that they print, parse, compare and hash as all its measures do and mix with them in one call:

>>> import ir_measures
>>> from fathoms.irm import AP, RBP
>>> measure = AP(variant="b") @ 20
>>> measure, ir_measures.parse_measure("fm_AP(variant='b')@20") == measure
(fm_AP(variant='b')@20, True)
>>> qrels = {"q1": {"a": 1, "b": 0, "c": 1}}
>>> run = {"q1": {"a": 3.0, "x": 2.0, "c": 1.0}}
>>> measures = [ir_measures.AP, measure, RBP(p=0.5), RBP(p=0.5, value="residual")]
>>> found = ir_measures.calc_aggregate(measures, qrels, run)
>>> [round(found[measure], 4) for measure in measures]
[0.8333, 0.8333, 0.625, 0.375]

`value` asks for something else than the score: `low` and `high` (the range over all ways of judging), `residual` (high
less low), `tie_low`, `tie_high` and `tie_expected` (over all orders of tied documents). Other parameters are those of
`fathoms eval`, where a word stands in quotes.

The names do not replace those of ir_measures, because definitions differ in places: RBP is binary here unless a gain
is asked for, ties are broken as trec_eval breaks them in every measure, and one document with two grades is an error.
PyTerrier's Experiment takes the mean over topics whatever a measure says of it, so counts and GMAP are right in
ir_measures alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from fathoms.base.errors import FathomsError, warn
from fathoms.data.qrels import Qrels, read_qrels
from fathoms.data.runs import Run, Runs, read_run
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.run_scores import Scoring
from fathoms.measures.base import Measure as OurMeasure
from fathoms.measures.base import Scores
from fathoms.measures.parse import parse_measure
from fathoms.measures.registry import MEASURES

try:
    import ir_measures
except ImportError:
    raise ImportError("fathoms.irm needs the package ir_measures: pip install ir_measures") from None
from ir_measures import measures as theirs
from ir_measures import providers

PREFIX = "fm_"
RESIDUAL = "residual"
VALUES = (*Scores.COLUMNS, RESIDUAL)


class GeometricMean:
    """The aggregate of GMAP, whose topics have values above 0."""

    def __init__(self) -> None:
        self.logs: list[float] = []

    def add(self, value: float) -> None:
        self.logs.append(math.log(value))

    def result(self) -> float:
        return math.exp(math.fsum(self.logs) / len(self.logs)) if self.logs else float("nan")


class FathomsMeasure(theirs.Measure):  # type: ignore[misc]
    """One of our measures as a value of ir_measures; there is a subclass for each."""

    OURS: str  # our name
    ALWAYS: dict[str, Any]  # parameters that show in the name even where they have their default

    def __init__(self, **params: Any) -> None:
        unknown = params.keys() - self.SUPPORTED_PARAMS.keys()
        if unknown:
            raise FathomsError(
                f"{self.NAME} has no parameter {sorted(unknown)[0]!r}; it takes {', '.join(self.SUPPORTED_PARAMS)}"
            )
        # In one order, so that measures compare equal however their parameters were written.
        params = self.ALWAYS | params
        super().__init__(**{name: params[name] for name in self.SUPPORTED_PARAMS if name in params})

    def _param_repr(self, v: Any) -> str:
        if v == math.inf:
            return "'inf'"  # which ir_measures can parse
        return repr(v).replace(" ", "")  # all of a table of gains, where ir_measures leaves some out

    def validate_params(self) -> None:
        if not self.validated:
            super().validate_params()
            _ = self.measure
            self._check_value()

    @property
    def measure(self) -> OurMeasure:
        """Ours, with these parameters."""
        given = [f"{name}={value!r}" for name, value in self.params.items() if name not in ("value", self.AT_PARAM)]
        cut = f"@{self.params[self.AT_PARAM]}" if self.AT_PARAM in self.params else ""
        return parse_measure(f"{self.OURS}({','.join(given)}){cut}")

    @property
    def value(self) -> str:
        value: str = self["value"]
        return value

    def _check_value(self) -> None:
        ours, value = self.measure, self.value
        if value in ("low", "high", RESIDUAL) and ours.range_is == "none":
            raise FathomsError(f"{self}: {ours.name} has no range, so there is no {value}")
        if value in (RESIDUAL, "tie_expected") and ours.aggregate == "geometric":
            raise FathomsError(
                f"{self}: there is no geometric mean of topics' {value}; low, high, tie_low, tie_high have one"
            )
        if ours.names_other_runs:
            raise FathomsError(f"{self}: depends on other runs, and ir_measures has one at a time; use fm.evaluate")

    def aggregator(self) -> Any:
        how = {"sum": theirs.SumAgg, "geometric": GeometricMean}
        return how.get(MEASURES[self.OURS].aggregate, theirs.MeanAgg)()


class FathomsEvaluator(providers.Evaluator):  # type: ignore[misc]
    """Scores runs against one set of judgments, as often as one likes."""

    def __init__(self, measures: Iterable[FathomsMeasure], qrels: Any) -> None:
        wanted = list(measures)
        self.qrels: Qrels = read_qrels(qrels, subtopics=any(measure.measure.needs_subtopics for measure in wanted))
        _say(self.qrels.notes)
        super().__init__(wanted, set(self.qrels.topics))

    def _iter_calc(self, run: Any) -> Iterator[ir_measures.Metric]:
        ours = {measure: measure.measure for measure in self.measures}
        read = self._run(run)
        _say(read.notes)
        # A run without any of the topics is no error here: PyTerrier's may be empty.
        experiment, measures = BaseExperiment(self.qrels, Runs({read.name: read})), list(dict.fromkeys(ours.values()))
        scoring = Scoring(experiment, measures, experiment.alignment(measures, []))
        scored = scoring.whole([scoring.score(experiment.ranked(read.name))])
        for measure, our in ours.items():
            for topic, value in zip(scored.topics, _column(measure, scored.scores[our]), strict=True):
                yield ir_measures.Metric(query_id=topic, measure=measure, value=value)

    def _run(self, run: Any) -> Run:
        """A run. One without documents is no error: PyTerrier asks so what topics get for which nothing came."""
        rows = run if hasattr(run, "__len__") else list(run)
        if len(rows):
            return read_run(rows)
        no_topic = "-" + max(self.qrels.topics, key=len)
        return read_run({no_topic: {"-": 0.0}})


def _column(measure: FathomsMeasure, scores: Scores) -> list[float]:
    if measure.value == RESIDUAL:
        low, high = scores.low, scores.high
        column = None if low is None or high is None else high - low
    else:
        column = getattr(scores, measure.value)
    if column is None:
        raise FathomsError(f"{measure}: {measure.measure.name} has no {measure.value}")
    values: list[float] = column.tolist()
    return values


def _say(notes: list[str]) -> None:
    for note in notes:
        warn(note)


class FathomsProvider(providers.Provider):  # type: ignore[misc]
    """Computes our measures, and no others: those of ir_measures keep the meaning they have there."""

    NAME = "fathoms"

    def supports(self, measure: Any) -> bool:
        if not isinstance(measure, FathomsMeasure):
            return False
        measure.validate_params()
        return True

    def _evaluator(self, measures: Iterable[FathomsMeasure], qrels: Any) -> FathomsEvaluator:
        return FathomsEvaluator(measures, qrels)


def _value(name: str, ours: type[OurMeasure]) -> FathomsMeasure:
    """Our measure as a value of ir_measures."""
    at = "recall" if ours.cutoff == "recall" else "cutoff"
    params = {at: theirs.ParamInfo(desc="level of recall" if at == "recall" else "ranking cutoff threshold")}
    for parameter, param in ours.params.items():
        about = ours.about_param(parameter)
        default = {} if param.always_shown else {"default": param.default}
        params[parameter] = theirs.ParamInfo(desc=about, **default)
    params["value"] = theirs.ParamInfo(choices=VALUES, default="score", desc="score, or what else of it")
    members = {
        "__name__": PREFIX + name,
        "NAME": PREFIX + name,
        "OURS": name,
        "AT_PARAM": at,
        "SUPPORTED_PARAMS": params,
        "ALWAYS": {parameter: param.default for parameter, param in ours.params.items() if param.always_shown},
        "__doc__": ours.__doc__,
        "PRETTY_NAME": f"{name} of fathoms",
        "SHORT_DESC": ours.description(),
    }
    measure: FathomsMeasure = type(f"_{name}", (FathomsMeasure,), members)()
    return measure


provider = providers.register(FathomsProvider())
ir_measures.DefaultPipeline.providers.append(provider)
_ALL = {name: _value(name, ours) for name, ours in MEASURES.items()}
for _measure in _ALL.values():
    theirs.register(_measure)
globals().update(_ALL)
__all__ = [*_ALL, "provider"]

if TYPE_CHECKING:

    def __getattr__(name: str) -> FathomsMeasure: ...
