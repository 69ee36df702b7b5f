"""What every registered measure must have and hold, one check a test; a new measure needs no test of its own for these.

Each measure is tried with its defaults, the examples that its class names, and other values of its parameters, one at a
time. Where something is missing, the message says what and where to add it.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import math
import pkgutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import pytrec_eval

import fathoms as fm
import fathoms.measures
from fathoms.cli.app import main
from fathoms.data.simulate import Collection, simulate
from fathoms.estimate.gain_models import MODEL_NAMES
from fathoms.estimate.names import DEFAULT
from fathoms.estimate.predictors import PREDICTORS
from fathoms.estimate.relevance import RELEVANCE_MODELS
from fathoms.estimate.score_draws import drawable
from fathoms.evidence.align import Alignment
from fathoms.evidence.evidence import Evidence, Floats
from fathoms.measures.abilities import estimates, tie_values
from fathoms.measures.base import Measure
from fathoms.measures.cascade import Cascade
from fathoms.measures.gains import Graded
from fathoms.measures.normalised import NormalisedSum
from fathoms.measures.parse import parse_measure, trec_eval_name
from fathoms.measures.registry import MEASURES
from fathoms.measures.rr import RR
from fathoms.measures.weighted import Weighted
from fathoms.questions.predict.analysis import METHODS, estimate, run_prediction
from fathoms.questions.predict.gain_curves import fit_curves
from tests.support import slow
from tests.support.blocks import block, random_case
from tests.support.paths import ROOT

TOLERANCE = 1e-9
K = 3  # a cut-off that small rankings have on both sides
DEEP = 10  # one that small rankings do not reach, and long ones pass
CUT = ("required", "optional")  # what `cutoff` says of measures that are cut at a rank
HIDDEN = ("universe", "bounds")  # parameters of the range, of which the slow versions know nothing
CLASSES = [pytest.param(cls, id=name) for name, cls in MEASURES.items()]
GRADED = [pytest.param(cls, id=name) for name, cls in MEASURES.items() if issubclass(cls, Graded)]
IN_TREC_EVAL = [pytest.param(cls, id=name) for name, cls in MEASURES.items() if cls.trec_eval or cls.trec_eval_at]


# -- settings ---------------------------------------------------------------------------------------------------------


def settings(cls: type[Measure], k: int = K) -> list[Measure]:
    """Defaults, with and without a cut-off; other values of each parameter; the examples, cut at k."""
    all_cuts: dict[str, list[float | None]] = {"required": [k], "optional": [None, k], "none": [None], "recall": [0.3]}
    cuts = all_cuts[cls.cutoff]
    wanted: list[dict[str, Any]] = [{"k": cut} for cut in cuts]
    for name, parameter in cls.params.items():
        others: list[Any] = [choice for choice in parameter.choices if choice != parameter.default]
        if name == "rel":
            others = [2.0]
        elif parameter.check == "share":
            others = [0.5]
        elif parameter.check == "positive" and parameter.default is not None:
            others = [2 * parameter.default]
        elif isinstance(parameter.default, bool):
            others = [not parameter.default]
        wanted += [{"k": cuts[-1], name: other} for other in others if name not in HIDDEN]
    if issubclass(cls, Graded):
        wanted.append({"k": cuts[-1], "gain": "binary", "rel": 2.0})
    found = [made for values in wanted if (made := _made(cls, values)) is not None]
    for name in cls.names():
        example = parse_measure(name)
        found.append(example.replace(k=k) if example.k is not None and cls.cutoff != "recall" else example)
    return list(dict.fromkeys(found))


def _made(cls: type[Measure], values: dict[str, Any]) -> Measure | None:
    """None where the values do not go together."""
    try:
        measure = cls(**values)
        measure.value(block([slow.Case((slow.Doc(2.0),), (), 2)]))
    except fm.FathomsError:
        return None
    return measure


def of_all(measure: Measure) -> Measure:
    """The same, where all documents of a case may turn out relevant, as in its completions."""
    return measure.replace(universe="all") if "universe" in measure.params else measure


def plain_name(measure: Measure) -> str:
    """As the slow versions know it, for whom a case says which documents there are."""
    return measure.replace(universe="auto").name if "universe" in measure.params else measure.name


def cases(seed: int, count: int, **shape: Any) -> list[slow.Case]:
    rng = np.random.default_rng(seed)
    return [random_case(rng, **shape) for _ in range(count)]


def short_cases(seed: int, ties: float = 0.0) -> list[slow.Case]:
    """Rankings of 2 to 4 documents, so that a block is narrower than DEEP."""
    return [case for case in cases(seed, 60, gmax=2, most=4, ties=ties) if len(case.ranking) >= 2]


def long_cases(seed: int, ties: float = 0.0) -> list[slow.Case]:
    """Rankings of 12 to 30 documents, with few orders of those that are tied."""

    def orders(case: slow.Case) -> int:
        return math.prod(math.factorial(n) for n in Counter(doc.group for doc in case.ranking).values())

    found = cases(seed, 60, gmax=2, most=30, unjudged=8, ties=ties, outside=8)
    return [case for case in found if len(case.ranking) >= 12 and orders(case) <= 24]


def has_slow_version(cls: type[Measure]) -> None:
    name = cls.__name__
    if name not in slow.FUNCTIONS:
        pytest.fail(
            f"{name} has no slow version: write it as a plain loop in tests/support/slow.py and add it to FUNCTIONS"
        )
    if name not in slow.PARAMETERS:
        pytest.fail(f"tests/support/slow.py does not know the parameters of {name}: add it to PARAMETERS")
    unknown = sorted(cls.params.keys() - slow.PARAMETERS[name] - {*HIDDEN, "judged_only", "max_grade"})
    if unknown:
        pytest.fail(
            f"tests/support/slow.py: PARAMETERS[{name!r}] lacks {', '.join(unknown)}; Spec needs each as a field"
        )


def differs(cls: type[Measure], what: str, measure: Measure) -> str:
    module = cls.__module__.rpartition(".")[2]
    return f"{measure.name}: {what}; compare src/fathoms/measures/{module}.py with tests/support/slow.py"


# -- what a class states ----------------------------------------------------------------------------------------------


def classes() -> Iterator[type[Measure]]:
    """Every class in the package that can be made a measure; families have something abstract."""
    for module in pkgutil.iter_modules(fathoms.measures.__path__, "fathoms.measures."):
        for _, found in inspect.getmembers(import_module(module.name), inspect.isclass):
            if found.__module__ == module.name and issubclass(found, Measure) and not inspect.isabstract(found):
                yield found


def test_every_measure_is_registered() -> None:
    for cls in classes():
        place = cls.__module__.replace(".", "/")
        if MEASURES.get(cls.__name__) is not cls:
            pytest.fail(
                f"{cls.__name__} of src/{place}.py is not registered: add it to MEASURES in measures/registry.py"
            )


@pytest.mark.parametrize("cls", CLASSES)
def test_class_says_what_it_is(cls: type[Measure]) -> None:
    where = f"in the class {cls.__name__}"
    if not vars(cls).get("__doc__") or not cls.description().endswith("."):
        pytest.fail(f"add a docstring {where} that starts with a sentence for users")
    for name in cls.params:
        if not cls.about_param(name):
            pytest.fail(f"say {where} what {name} is for: {name} = param(default, 'what it is for', ...)")
    if not cls.citation and cls.based_on != "neither":
        pytest.fail(f"say {where} where the measure is from: citation = 'Authors (year). Title.'")
    assert getattr(cls, "aggregate", None) in ("mean", "sum", "geometric")
    for name in cls.names():
        assert type(parse_measure(name)) is cls, f"examples {where} has {name}, which is another measure"


@pytest.mark.parametrize("cls", CLASSES)
def test_audit_knows_its_kind(cls: type[Measure]) -> None:
    # A family may say it for its measures, but one measure does not say it for another.
    others = [parent for parent in cls.__mro__[1:] if parent in MEASURES.values()]
    said = vars(cls).get("based_on") if others else getattr(cls, "based_on", None)
    if said not in ("recall", "utility", "neither"):
        pytest.fail(
            f"audit cannot tell what {cls.__name__} is based on: state based_on in the class: 'recall' if it needs R "
            "or an ideal ranking, 'utility' if only what the user sees counts, 'neither' if it does not compare systems"
        )


def test_no_name_has_two_meanings() -> None:
    seen: dict[str, str] = {}
    for name, cls in MEASURES.items():
        for spelling in (name, *cls.aliases, *filter(None, [cls.trec_eval, cls.trec_eval_at])):
            plain = spelling.lower().replace("_", "").replace("-", "")
            assert seen.setdefault(plain, name) == name, f"{spelling} means {name} and {seen[plain]}"


@pytest.mark.parametrize("cls", CLASSES)
def test_name_reads_back(cls: type[Measure]) -> None:
    for measure in settings(cls):
        assert parse_measure(measure.name) == measure
        assert parse_measure(measure.name.replace(cls.__name__, cls.__name__.upper())) == measure
        for alias in cls.aliases:
            assert parse_measure(measure.name.replace(cls.__name__, alias)) == measure


# -- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("cls", CLASSES)
def test_score_is_that_of_the_slow_version(cls: type[Measure]) -> None:
    has_slow_version(cls)
    for k, sample in ((K, cases(1, 100, gmax=2)), (DEEP, short_cases(1)), (DEEP, long_cases(1))):
        for measure in settings(cls, k):
            expected = [slow.value(measure.name, case) for case in sample]
            found = measure.scores(block(sample)).score
            what = differs(cls, f"another score in a block of {block(sample).width} places", measure)
            np.testing.assert_allclose(found, expected, atol=TOLERANCE, err_msg=what)


@pytest.mark.parametrize("cls", CLASSES)
def test_weights_do_not_depend_on_how_many_are_asked_for(cls: type[Measure]) -> None:
    for measure in settings(cls):
        if isinstance(measure, Weighted | NormalisedSum):
            few, many = measure.weight(5), measure.weight(9)[:5]
            what = "weight(5) is not weight(9)[:5]; do not divide by the sum there, `normaliser` does that"
        elif isinstance(measure, Cascade):
            few, many = (measure.effort(np.arange(1, n + 1))[:5] for n in (5, 9))
            what = "the effort of a rank depends on how many ranks are asked for"
        else:
            return
        np.testing.assert_allclose(few, many, rtol=1e-12, err_msg=f"{measure.name}: {what}")


@pytest.mark.parametrize("cls", [pytest.param(c, id=n) for n, c in MEASURES.items() if c.cutoff in CUT])
def test_scores_by_depth_are_those_of_each_cut_off(cls: type[Measure]) -> None:
    for sample in (short_cases(8), long_cases(8)):
        evidence, depths = block(sample), [1, 2, 5, 10]
        for measure in settings(cls):
            found = measure.at_depths(evidence, depths)
            for column, k in enumerate(depths):
                what = f"{measure.name}: at_depths gives other scores at depth {k} than the measure cut there"
                expected = measure.replace(k=k).scores(evidence).score
                np.testing.assert_allclose(found[:, column], expected, atol=TOLERANCE, err_msg=what)


@pytest.mark.long
@pytest.mark.parametrize("cls", CLASSES)
def test_predicted_gains_of_nothing_and_of_the_most(cls: type[Measure]) -> None:
    """Predicted gains of 0 give the score, and the greatest ones that of a ranking judged so."""
    has_slow_version(cls)
    for k, sample in ((K, cases(9, 30, gmax=2)), (DEEP, short_cases(9)), (DEEP, long_cases(9))):
        evidence = block(sample)
        for measure in settings(cls, k):
            if estimates(measure) != "all methods":
                continue
            most = np.full(evidence.codes.shape, measure.top_gain(evidence) if isinstance(measure, Graded) else 1.0)
            none, all_ = (measure.predicted(evidence, gains) for gains in (np.zeros_like(most), most))
            what = f"{measure.name}: predicted gains of 0 do not give the score; mend `predicted`"
            np.testing.assert_allclose(none, measure.value(evidence), atol=TOLERANCE, err_msg=what)
            expected = [slow.value(measure.name, judged_best(measure, case)) for case in sample]
            what = f"{measure.name}: the greatest gains predicted are not the score with the greatest grades"
            np.testing.assert_allclose(all_, expected, atol=TOLERANCE, err_msg=what)
            if measure.linear_in_gains:
                what = f"{measure.name} says linear_in_gains, and `predicted` is not"
                half = measure.predicted(evidence, most / 2)
                np.testing.assert_allclose(half, (none + all_) / 2, atol=TOLERANCE, err_msg=what)


def judged_best(measure: Measure, case: slow.Case) -> slow.Case:
    grade = slow.greatest_grade(slow.parse(measure.name), case)
    return replace(case, ranking=tuple(doc if doc.judged else replace(doc, grade=grade) for doc in case.ranking))


@dataclass(frozen=True)
class Sample:
    """Cases whose judgings are all gone through, and at which cut-off; who may turn out relevant."""

    count: int
    gmax: int
    unjudged: int
    most: int = 6
    k: int = K
    universe: str = "all"

    def cases(self) -> list[slow.Case]:
        return cases(2, self.count, gmax=self.gmax, unjudged=self.unjudged, most=self.most, outside=2)

    def setting(self, measure: Measure) -> Measure:
        return measure.replace(universe=self.universe) if "universe" in measure.params else measure

    def bounds(self, measure: Measure, case: slow.Case) -> tuple[float, float]:
        if self.universe == "run":
            case = replace(case, outside=tuple(doc for doc in case.outside if doc.judged or self.joins(measure, doc)))
        return slow.bounds(plain_name(measure), case)

    def joins(self, measure: Measure, doc: slow.Doc) -> bool:
        """What is pooled may join R in any universe, if R is made of the pool."""
        return measure.needs_pool and doc.pooled_at is not None and doc.pooled_at <= self.k


SAMPLES = {
    "1": Sample(60, gmax=1, unjudged=4),
    "2": Sample(40, gmax=2, unjudged=3),
    "1-run-long": Sample(40, gmax=1, unjudged=3, most=14, k=DEEP, universe="run"),
    "2-run": Sample(30, gmax=2, unjudged=3, k=5, universe="run"),
}


@pytest.mark.long
@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("which", SAMPLES)
def test_range_is_what_it_claims(cls: type[Measure], which: str) -> None:
    has_slow_version(cls)
    chosen, sample = SAMPLES[which], SAMPLES[which].cases()
    for measure in map(chosen.setting, settings(cls, chosen.k)):
        if _made(cls, vars(measure)) is None or "gains" in measure.name:
            continue
        scores = measure.scores(block(sample))
        if measure.range_is == "none":
            assert scores.low is None, f"{measure.name} has a range: state range_claim in the class {cls.__name__}"
            continue
        if scores.low is None or scores.high is None:
            if "rel=2" in measure.name and measure.range_claim == "sound":
                continue  # gain without relevance, of which Q claims nothing
            pytest.fail(f"{measure.name} claims {measure.range_is} and has no range: override range in the class")
        low, high = np.array([chosen.bounds(measure, case) for case in sample]).T
        largest = measure.largest(block(sample))
        if measure.range_is == "exact":
            what = "the range is not that of all judgings, so it is not exact; claim sound, or mend it"
            np.testing.assert_allclose(scores.low, low, atol=TOLERANCE, err_msg=differs(cls, what, measure))
            np.testing.assert_allclose(scores.high, high, atol=TOLERANCE, err_msg=differs(cls, what, measure))
        else:
            what = differs(cls, "some judging gives a value outside the range, so it is not sound", measure)
            assert (scores.low <= low + TOLERANCE).all(), what
            assert (scores.high >= high - TOLERANCE).all(), what
        assert (scores.low <= scores.score + TOLERANCE).all(), f"{measure.name}: low exceeds the score"
        assert (scores.high >= scores.score - TOLERANCE).all(), f"{measure.name}: the score exceeds high"
        assert (scores.low >= -TOLERANCE).all(), f"{measure.name}: low is negative"
        assert (scores.high <= largest + TOLERANCE).all(), f"{measure.name}: high exceeds {cls.__name__}.largest"


@pytest.mark.parametrize("cls", CLASSES)
def test_largest_value_is_reached(cls: type[Measure]) -> None:
    """By a ranking of nothing but unjudged documents, where the measure has a range."""
    evidence = block([slow.Case((slow.Doc(None),) * 8, (), 2), slow.Case((slow.Doc(2.0),), (), 2)])
    for measure in settings(cls):
        largest = measure.largest(evidence)[0]
        high = measure.scores(evidence).high
        if high is not None and np.isfinite(largest):
            assert high[0] == pytest.approx(largest), (
                f"{measure.name}: unjudged documents give up to {high[0]:g}, and largest says {largest:g}; mend "
                f"{cls.__name__}.largest, by which predict scales, or the range"
            )


@pytest.mark.long
@pytest.mark.parametrize("cls", CLASSES)
def test_tie_values_are_those_of_all_orders(cls: type[Measure]) -> None:
    has_slow_version(cls)
    for measure in settings(cls):
        check_ties(cls, measure, cases(3, 40, gmax=2, most=5, ties=0.6))
    for measure in settings(cls, DEEP)[:2]:
        check_ties(cls, measure, short_cases(3, ties=0.6))
        check_ties(cls, measure, long_cases(3, ties=0.15)[:6])


def check_ties(cls: type[Measure], measure: Measure, sample: list[slow.Case]) -> None:
    scores = measure.scores(block(sample))
    assert scores.tie_low is not None
    assert scores.tie_high is not None
    assert scores.tie_expected is not None
    low, high, mean = np.array([slow.tie_values(measure.name, case) for case in sample]).T
    what = differs(cls, "other values over the orders of tied documents", measure)
    atol = TOLERANCE if measure.sorting_is_optimal else 0.02  # 200 shuffles meet each order or come close
    np.testing.assert_allclose(scores.tie_low, low, atol=atol, err_msg=what)
    np.testing.assert_allclose(scores.tie_high, high, atol=atol, err_msg=what)
    if tie_values(measure) == "simulated":
        assert scores.tie_error is not None
        assert (np.abs(scores.tie_expected - mean) <= 5 * np.maximum(scores.tie_error, 1e-9)).all(), what
    else:
        np.testing.assert_allclose(scores.tie_expected, mean, atol=TOLERANCE, err_msg=what)


@pytest.mark.long
@pytest.mark.parametrize("cls", CLASSES)
def test_joint_range_holds_all_judgings_and_orders(cls: type[Measure]) -> None:
    has_slow_version(cls)
    sample = cases(6, 25, gmax=2, most=4, unjudged=2, ties=0.6, outside=1)
    for measure in map(of_all, settings(cls)):
        joint = measure.joint_range(block(sample), measure.scores(block(sample)))
        plain = plain_name(measure)
        if joint[0] is None or joint[1] is None or "gains" in plain:
            continue
        low, high = np.array([slow.joint_bounds(plain, case) for case in sample]).T
        what = differs(cls, "some judging and order of tied documents give a value outside the joint range", measure)
        assert (joint[0] <= low + TOLERANCE).all(), what
        assert (joint[1] >= high - TOLERANCE).all(), what


# -- trec_eval --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", IN_TREC_EVAL)
def test_trec_eval_name_means_the_same(cls: type[Measure]) -> None:
    rng = np.random.default_rng(4)
    grades = {f"q{t}": {f"d{i}": int(rng.integers(-1, 3)) for i in range(12)} for t in range(20)}
    run = {topic: {f"d{i}": float(score) for i, score in enumerate(rng.permutation(15))} for topic in grades}
    cuts = [0.1, 0.5] if cls.cutoff == "recall" else [5, 10]
    measures = [cls(k=k) for k in cuts if cls.trec_eval_at] + ([cls()] if cls.trec_eval else [])
    for measure in measures:
        theirs = trec_eval_name(measure)
        assert theirs != measure.name or cls.trec_eval == cls.__name__
        assert parse_measure(theirs) == measure
        if theirs == "num_q":  # which pytrec_eval gives in another way
            continue
        stem = theirs if measure.k is None else theirs.rpartition("_")[0]
        if measure.k is not None:
            assert parse_measure(f"{stem}.{theirs.rpartition('_')[2]}") == measure
        found = pytrec_eval.RelevanceEvaluator(grades, {stem}).evaluate(run)
        evidence = Alignment(fm.read_qrels(grades))(fm.read_run(run)).evidence
        for topic, score in zip(evidence.topics, measure.value(evidence), strict=True):
            expected = np.exp(found[topic][theirs]) if cls.aggregate == "geometric" else found[topic][theirs]
            assert score == pytest.approx(expected, abs=1e-6), f"{measure.name} and trec_eval's {theirs} differ"


# -- predict ----------------------------------------------------------------------------------------------------------


@cache
def collection() -> Collection:
    return simulate(systems=4, n_topics=5, n_docs=300, depth=40, pool_depth=6, max_grade=3, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("cls", CLASSES)
def test_predict_estimates_it_or_says_why_not(cls: type[Measure]) -> None:
    experiment = fm.Experiment(collection().qrels, collection().runs, workers=1)
    measure = parse_measure(cls.names()[0])
    can = {"all methods": METHODS, "no gain models": [m for m in METHODS if m not in MODEL_NAMES], "none": []}
    methods = can[estimates(measure)]
    if not methods and drawable(measure):
        frame = run_prediction(experiment, [measure]).frame  # which needs no range
        assert frame["low"].null_count() == len(frame)
        assert frame["likely_low"].null_count() == 0
    for method in METHODS:
        if method not in methods and not (method == DEFAULT and drawable(measure)):
            with pytest.raises(fm.FathomsError, match=r"has no (range|estimate)"):
                run_prediction(experiment, [measure], [method])
    if methods:
        rows = run_prediction(experiment, [measure], methods, by_topic=True).estimated
        assert {row.method for row in rows} == set(methods)
        for row in rows:
            where = f"{measure.name}: {row.method} leaves the range in topic {row.topic}"
            assert row.low is not None, where
            assert row.high is not None, where
            low, high = row.low - TOLERANCE, row.high + TOLERANCE
            assert low <= row.estimate <= high, where
            if row.method == DEFAULT or (row.method in RELEVANCE_MODELS and drawable(measure)):
                assert row.likely_low is not None, where
                assert row.likely_high is not None, where
                assert low <= row.likely_low <= row.estimate <= row.likely_high <= high, where
            else:
                assert (row.likely_low, row.likely_high) == (None, None)


def scaled_estimates(measure: Measure) -> tuple[Floats, list[Floats]] | None:
    """Scores and the estimates of all quick methods, as shares of the largest value."""
    known = collection()
    align, runs = Alignment(fm.read_qrels(known.qrels)), fm.read_runs(known.runs)
    evidence = align(runs["sys4"]).evidence
    try:
        scores, scale = measure.scores(evidence), measure.largest(evidence)
        curves, _ = fit_curves([align(runs[name]).evidence for name in known.pooled], [measure], MODEL_NAMES, depth=6)
    except fm.FathomsError:
        return None
    found = [estimate(measure, evidence, scores, method, curves=curves) for method in (*PREDICTORS, *MODEL_NAMES)]
    return scores.score / scale, [one[0] / scale for one in found if one is not None]


def same_on_another_scale(one: Measure, other: Measure) -> bool | None:
    """Whether estimates agree; None where the two are not the same measure on two scales."""
    a, b = scaled_estimates(one), scaled_estimates(other)
    if a is None or b is None or not np.allclose(a[0], b[0], atol=1e-12):
        return None
    return len(a[1]) == len(b[1]) > 0 and all(np.allclose(x, y, atol=1e-6) for x, y in zip(a[1], b[1], strict=True))


@pytest.mark.long
@pytest.mark.parametrize("cls", GRADED)
def test_estimates_do_not_depend_on_the_scale_of_gains(cls: type[Measure]) -> None:
    k = None if cls.cutoff == "none" else 5
    same = same_on_another_scale(cls(k=k, gain="raw"), cls(k=k, gain="linear"))
    assert same is not False, f"{cls.__name__}(gain=raw) and (gain=linear) are estimated differently: see largest"
    assert same or not issubclass(cls, Weighted)


class CG(Weighted):
    """Cumulated gain, as somebody new might write it."""

    def weight(self, n: int) -> Floats:
        return np.ones(n)


def test_estimates_of_a_sum_are_those_of_the_mean() -> None:
    """CG@k is P@k times k; gains of up to 3 at ten places were estimated as if all scores were at most 1."""
    assert same_on_another_scale(CG(k=10), MEASURES["P"](k=10, gain="raw"))
    evidence = block([slow.Case((slow.Doc(3.0),) * 2 + (slow.Doc(None),) * 8, (), 3)])
    found = estimate(CG(k=10), evidence, CG(k=10).scores(evidence), "smoothed")
    assert found is not None
    B, delta = 6 / 30, 24 / 30  # X_M = B + C delta B + delta^2 E on a scale from 0 to 1 (RM section 3)
    assert found[0][0] == pytest.approx(30 * (B + 0.91 * delta * B + delta**2 * 0.05))


class TwiceRR(RR):
    """A measure that is no weighted sum and can exceed 1."""

    def value(self, evidence: Evidence) -> Floats:
        return np.asarray(2 * super().value(evidence))

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        low, high = super().range(evidence, score / 2)
        assert low is not None
        assert high is not None
        return 2 * low, 2 * high

    def largest(self, evidence: Evidence) -> Floats:
        return np.full(len(evidence), 2.0)


def test_estimates_of_what_exceeds_one_are_scaled() -> None:
    evidence = block(cases(7, 40, gmax=1, unjudged=5))
    once, twice = RR(), TwiceRR()
    for method in PREDICTORS:
        half, whole = (estimate(m, evidence, m.scores(evidence), method) for m in (once, twice))
        assert half is not None
        assert whole is not None
        np.testing.assert_allclose(whole[0], 2 * half[0])


# -- names that people write ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("hit@5", "Success@5"),
        ("Hits@1", "Success@1"),
        ("HitRate@10", "Success@10"),
        ("hit_rate@10", "Success@10"),
        ("MRR@10", "RR@10"),
        ("mrr", "RR"),
        ("MAP", "AP"),
        ("map@100", "AP@100"),
        ("recall@10", "R@10"),
        ("recall.100", "R@100"),
        ("precision@5", "P@5"),
        ("P.10", "P@10"),
        ("ndcg_cut.10", "nDCG@10"),
        ("ndcg_cut@10", "nDCG@10"),
        ("recip_rank@10", "RR@10"),
        ("iprec_at_recall.0.10", "IPrec@0.1"),
        ("set_F", "SetF"),
        ("f1", "SetF"),
        ("F1(rel=2)", "SetF(rel=2)"),
    ],
)
def test_other_spellings_are_understood(written: str, meant: str) -> None:
    assert parse_measure(written).name == meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("NDGC@10", "nDCG@10"),
        ("ndgc", "nDCG"),
        ("nDCG10", "nDCG@10"),
        ("nDCGG(gain=exp)@20", "nDCG(gain=exp)@20"),
        ("P10", "P@10"),
        ("P@10;", "P@10"),
        ("precison@5", "P@5"),
        ("hit_ratio@10", "Success@10"),
        ("sucess", "Success@10"),
        ("map_cuts_20", "AP@20"),
        ("RPB(p=0.95)", "RBP(p=0.95)"),
        ("bprefs@10", "Bpref"),
    ],
)
def test_misspelt_names_get_the_right_hint(written: str, meant: str) -> None:
    with pytest.raises(fm.FathomsError) as caught:
        parse_measure(written)
    assert f"Did you mean {meant}?" in str(caught.value)


def test_no_hint_is_better_than_a_wrong_one() -> None:
    with pytest.raises(fm.FathomsError, match=r"unknown measure 'xyzzy'\. Known measures: P, R,"):
        parse_measure("xyzzy")


# -- the reference page and the command -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    """The script that fills the page."""
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "measures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("cls", CLASSES)
def test_reference_page_has_it(cls: type[Measure]) -> None:
    page = (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")
    if f"\n### {cls.__name__}\n\n{cls.description()}\n" not in page:
        pytest.fail(f"docs/measures.md does not describe {cls.__name__}: run `python docs/measures.py`, read the diff")


def test_reference_page_is_what_the_code_says(reference: ModuleType) -> None:
    page = reference.PAGE.read_text(encoding="utf-8")
    assert page == reference.filled(page), "run `python docs/measures.py`"


@pytest.mark.parametrize("cls", CLASSES)
def test_command_shows_it(cls: type[Measure], capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, cls.__name__).startswith(f"{cls.__name__}: {cls.description()}\n")
    facts = json.loads(call(capsys, cls.__name__, "--format", "json"))[0]
    assert {f"parameter {name}" for name in cls.params} <= facts.keys()
    assert facts["kind"] == cls.based_on
    assert facts["citation"] == cls.citation
    for name in facts["names"].split(", "):
        assert call(capsys, name, "--format", "tsv").splitlines()[1] == f"measure\t{cls.__name__}"


def call(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as end:
        main(["measures", *words])
    assert end.value.code == 0
    return capsys.readouterr().out


def test_command_lists_all(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [line.split("\t") for line in call(capsys, "--format", "tsv").splitlines()]
    assert [row[0] for row in rows[1:]] == list(MEASURES)
    found = {row[0]: dict(zip(rows[0], row, strict=True)) for row in rows[1:]}
    assert found["RBP"] | {"description": ""} == {
        "measure": "RBP",
        "kind": "utility",
        "range": "exact",
        "ties": "closed form",
        "estimate": "all methods",
        "difference": "exact",
        "judging": "closed form",
        "description": "",
    }
    assert [found["Q"]["range"], found["INST"]["ties"]] == ["sound (exact)", "simulated"]
    ways = {name: row["judging"] for name, row in found.items()}
    assert {name for name, way in ways.items() if way == "closed form"} == {*("P", "AP", "RBP", "DCG", "SDCG", "INSQ")}
    assert {name for name, way in ways.items() if way == "draws"} == {"RR", "nDCG", "ERR", "Q"}
    assert [found["R"]["estimate"], found["R"]["difference"], found["NumQ"]["ties"]] == [
        "no gain models",
        "exact",
        "none",
    ]
    assert json.loads(call(capsys, "--format", "json"))[0]["measure"] == "P"
    answer, _, header, *_ = call(capsys).splitlines()
    assert answer == f"{len(MEASURES)} measures; `fathoms measures NAME` says everything about one."
    assert sorted(header.split()) == sorted(rows[0])
