"""RM's constants for the collection at hand: `fathoms predict --tune` and `Experiment.tune`.

The judgments are cut to what shallower pools would have had, the scores of the contributing runs are predicted from
these, and compared with their scores under all judgments (RM section 4, "RMS error"). Two errors are of cases that had
no part in the tuning: that on other topics, and that one step further down, with constants tuned as if the judging had
ended half way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from fathoms.base.errors import FathomsError
from fathoms.base.result import Result
from fathoms.base.text import pluralise
from fathoms.estimate.known_cases import Cases, Step, halved, known_cases, last_step, least_depths, together
from fathoms.estimate.predictors import PAPERS_ALPHA, PREDICTORS, PUBLISHED, Alpha, Constants, Predictor
from fathoms.evidence.evidence import Bools, Floats
from fathoms.experiment.base import BaseExperiment
from fathoms.measures.abilities import estimates
from fathoms.measures.base import Measure
from fathoms.questions.predict.tuning import (
    CONSTANT_ALPHAS,
    POWERS_OF_ALPHA,
    SAME_ERROR,
    Tuned,
    least,
    mean_squares,
    moments,
    root_mean_square,
    tune,
)

TUNABLE: tuple[Predictor, ...] = ("background", "interpolated", "smoothed")


# -- what they say ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TunedMethod:
    """A method tuned for a measure, beside what it is compared with: mean square errors of each topic."""

    measure: str
    method: Predictor
    tuned: Tuned
    published: Floats = field(repr=False)
    plain: Floats = field(repr=False)
    cases: int
    carried: Floats | None = field(default=None, repr=False)  # one step further down
    carried_plain: Floats | None = field(default=None, repr=False)

    @property
    def constants(self) -> Constants:
        return self.tuned.constants

    @property
    def label(self) -> str:
        """`smoothed with C = 0.91, E = 0.050 and alpha = 1-delta`."""
        C, E, alpha = f"C = {self.constants.C:.2f}", f"E = {self.constants.E:.3f}", f"alpha = {self.constants.alpha}"
        constants = {"background": E, "interpolated": f"{C} and {E}", "smoothed": f"{C}, {E} and {alpha}"}
        return f"{self.method} with {constants[self.method]}"

    @property
    def row(self) -> tuple[Any, ...]:
        constants, tuned = self.constants, self.tuned
        return (
            self.measure,
            self.method,
            None if self.method == "background" else constants.C,
            constants.E,
            str(constants.alpha) if self.method == "smoothed" else None,
            tuned.rmse,
            tuned.held_out,
            root_mean_square(self.published),
            root_mean_square(self.plain),
            None if self.carried is None else root_mean_square(self.carried),
            None if self.carried_plain is None else root_mean_square(self.carried_plain),
            self.cases,
        )


@dataclass(frozen=True, eq=False)
class TunedConstants(Result):
    """The constants of least error for each measure and method, with that error and the error on held-out topics.

    Columns: measure, method, C, E, alpha, rmse (of the fit), held_out (on topics that had no part in the tuning),
    published (RMSE of the method with RM's own constants), plain (RMSE of the plain score), carried (RMSE, one step
    further down, of constants tuned as if the judging had ended half way), carried_plain (of the plain score there),
    cases.
    """

    columns: ClassVar = (
        *("measure", "method", "C", "E", "alpha", "rmse", "held_out", "published", "plain"),
        *("carried", "carried_plain", "cases"),
    )
    words: ClassVar = ("measure", "method", "alpha")
    whole_numbers: ClassVar = ("cases",)

    methods: list[TunedMethod]
    tried_on: str  # which cases, in words
    step: Step | None = None
    notes: list[str] = field(default_factory=list)

    def rows(self) -> list[tuple[Any, ...]]:
        return [method.row for method in self.methods]

    def best(self, measure: Any) -> TunedMethod:
        """The method and constants with the least error on held-out topics."""
        several = [method for method in self.methods if method.measure == str(getattr(measure, "name", measure))]
        if not several:
            tuned = ", ".join(dict.fromkeys(method.measure for method in self.methods))
            raise FathomsError(f"nothing was tuned for {measure}, only for {tuned}")
        lowest = min(method.tuned.held_out for method in several)
        return next(
            method for method in several if method.tuned.held_out <= lowest + SAME_ERROR
        )  # of equals the simplest

    @property
    def answer(self) -> list[str]:
        from fathoms.questions.predict.tune_words import answers

        return answers(self)

    @property
    def remarks(self) -> list[str]:
        return [self.tried_on]


def tunable_methods(methods: str | Sequence[str]) -> tuple[Predictor, ...]:
    """RM's methods that have constants; `all` and `simplistic`, which has none, are taken for what they are."""
    several = [methods] if isinstance(methods, str) else list(methods)
    several = list(TUNABLE) if "all" in several else several
    wrong = [method for method in several if method not in PREDICTORS]
    if wrong:
        raise FathomsError(f"only {', '.join(TUNABLE)} have constants to tune, found {', '.join(map(str, wrong))}")
    tunable = tuple(method for method in TUNABLE if method in several)
    if not tunable:
        raise FathomsError(f"no method to tune; {', '.join(TUNABLE)} have constants")
    return tunable


def forms_of_alpha(method: Predictor) -> list[tuple[Alpha, ...]]:
    """The alphas to choose among, form by form: the paper's own, constants, powers of 1 - delta."""
    return [(PAPERS_ALPHA,), CONSTANT_ALPHAS, POWERS_OF_ALPHA] if method == "smoothed" else [(PAPERS_ALPHA,)]


def tuned_methods(
    measure: str, cases: Cases, methods: Sequence[Predictor], seed: int, step: Step | None = None
) -> list[TunedMethod]:
    """Each method with each form of alpha, and what it is compared with."""
    B, delta, Y = cases.B, cases.delta, cases.Y
    if Y.shape[-1] < 2:
        raise FathomsError(f"{measure}: tuning needs two topics at least, one to tune on and one to try on")
    plain = errors_by_topic("simplistic", PUBLISHED["simplistic"], B, delta, Y)
    tuned = []
    for method in methods:
        published = errors_by_topic(method, PUBLISHED[method], B, delta, Y)
        for alphas in forms_of_alpha(method):
            best = tune(method, B, delta, Y, alphas=alphas, seed=seed)
            further = _one_step_further(cases, method, alphas, step) if step else (None, None)
            tuned.append(TunedMethod(measure, method, best, published, plain, B.size, *further))
    return tuned


def errors_by_topic(method: Predictor, constants: Constants, B: Floats, delta: Floats, Y: Floats) -> Floats:
    """Mean square errors."""
    return mean_squares(moments(method, B, delta, Y, constants.alpha), constants.C, constants.E)


def _one_step_further(cases: Cases, method: Predictor, alphas: Sequence[Alpha], step: Step) -> tuple[Floats, Floats]:
    """Errors by topic of the method and of the plain score, with all known that was known half way and no more."""
    at, levels = [step.at], list(step.levels)
    constants = least(method, cases.B[levels], cases.delta[levels], cases.halfway[levels], alphas)
    B, delta, Y = cases.B[at], cases.delta[at], cases.Y[at]
    plain = errors_by_topic("simplistic", PUBLISHED["simplistic"], B, delta, Y)
    return errors_by_topic(method, constants, B, delta, Y), plain


def tune_predictors(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    methods: str | Sequence[str],
    *,
    levels: Sequence[int] | None,
    left_out: bool,
    progress: Callable[[str], None],
) -> TunedConstants:
    """C, E and alpha of RM's methods, tuned on the contributing runs.

    `levels` are depths of pools, those of `halved` unless given. With `left_out` each run is scored as one that did
    not contribute: without the judgments that only it, or its team where teams are known, has brought; then the pool's
    own depth is a level too.
    """
    chosen = tunable_methods(methods)
    for measure in measures:
        if estimates(measure) == "none":
            raise FathomsError(f"{measure.name} has no range, so there is nothing to estimate inside")
    experiment.needs_an_order("tune")
    experiment.prepare()
    pool = experiment.pool_assumed()
    depths = levels or [*reversed(halved(pool.depth)), *([pool.depth] if left_out else [])]
    if not depths:
        raise FathomsError(f"the contributing runs are judged to depth {pool.depth}; there is no shallower pool to try")
    teams = (experiment.groups or {}) if left_out else {}
    units = together(pool.names, teams)
    found_at = least_depths(experiment, units)

    def kept(name: str) -> list[Bools]:
        seen = found_at.leaving_out(units[name]) if left_out else found_at.least
        return [seen <= depth for depth in depths]

    step = last_step(depths, pool.depth, left_out)
    align = experiment.alignment(measures, [], trace=True, ranges=False)
    halfway = found_at.least <= (step.depth if step else pool.depth)
    cases = known_cases(experiment, measures, pool.names, kept, halfway, align, progress)
    by_measure = [
        method
        for measure, case in zip(measures, cases, strict=True)
        for method in tuned_methods(measure.name, case, chosen, experiment.options.seed, step)
    ]
    as_if = f", each as if it{' and its team' if teams else ''} had not contributed" if left_out else ""
    tried_on = (
        f"Tried on the scores of {pluralise(len(pool.names), 'contributing run')}{as_if}, from pools of depth "
        f"{_listed(depths)}, against those under all judgments; judging deeper than there is cannot be tried."
    )
    return TunedConstants(by_measure, tried_on, step, _notes(experiment, pool.sentence))


def _notes(experiment: BaseExperiment, pool: str) -> list[str]:
    notes = [*experiment.topic_notes(), *experiment.qrels.notes]
    if experiment.options.pooled is None:
        notes.append(pool)
    if experiment.options.universe_depth is not None:
        notes.append("tuning takes no notice of universe_depth: what a shallower pool leaves unjudged may be relevant")
    return notes


def _listed(numbers: Sequence[int]) -> str:
    *others, last = (f"{number:,}" for number in numbers)
    return f"{', '.join(others)} and {last}" if others else last
