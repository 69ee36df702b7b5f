"""Plain dicts are scored by the kernel in one go, everything else as by an Experiment; values are the same."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fathoms as fm
from fathoms.base import kernel
from fathoms.questions.eval.scoring_plan import DEPTH
from tests.support.kernels import numpy_alone

needs_kernel = pytest.mark.skipif(kernel.compiled is None, reason="there is no compiled kernel here")
PLANNED = [
    *("AP", "AP@3", "AP(variant=b)@2", "nDCG", "nDCG@3", "nDCG(gain=exp)@4", "P@2", "P@2000", "RR", "RR@2", "DCG@5"),
    *("RBP(p=0.8)", "RBP(p=0.5,gain=linear)@3", "ERR@4", "SDCG@3"),
]
OTHERS = ["Bpref", "GMAP", "Q@3", "Judged@2", "NumRet", "AP(judged_only=True)", "Rprec"]
IDS = st.sampled_from(["a", "b", "ab", "é", "日本", "a b", "\U0001f600", "aa", "~"])
SCORES = st.sampled_from([1, 2, 0, -0.0, 0.5, 1e300, math.inf, -math.inf, np.float64(0.25), 0.1, 0.1 + 1e-12])
RUNS = st.dictionaries(st.sampled_from("12345"), st.dictionaries(IDS, SCORES))
QRELS = st.dictionaries(
    st.sampled_from("1234"), st.dictionaries(IDS, st.sampled_from([0, 1, 2, -1]), min_size=1), min_size=1
)


def outcome(evaluator: fm.Evaluator, run: Any) -> Any:
    try:
        return evaluator.evaluate(run)
    except fm.FathomsError as error:
        return str(error)


@needs_kernel
@settings(deadline=None)
@given(QRELS, RUNS, st.sampled_from(["float32", "float64"]))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_plain_dict_has_the_values_of_any_other_run(qrels: Any, run: Any, precision: Any) -> None:
    evaluator = fm.Evaluator(qrels, PLANNED, score_precision=precision)
    assert evaluator._plan is not None
    ours = outcome(evaluator, run)
    with numpy_alone():
        theirs = outcome(fm.Evaluator(qrels, PLANNED, score_precision=precision), run)
    if isinstance(theirs, str):
        assert ours == theirs
    else:
        assert list(ours) == list(theirs)
        for topic, values in theirs.items():
            assert ours[topic] == pytest.approx(values, abs=1e-12)


UNJUDGED: list[Any] = [
    {"1": {"a": 1.0}, "3": bad} for bad in ({"a": math.nan}, {"": 1.0}, {"a": "x"}, {"i" * 9000: 1.0})
]


@needs_kernel
def test_what_is_not_plain_goes_the_other_way() -> None:
    qrels: Any = {"1": {"a": 1, "b": 0}, "2": {"c": 1}}
    evaluator = fm.Evaluator(qrels, "AP")
    assert evaluator._plan is not None
    for odd in ({"1": {"a": "1.0"}}, {"1": {"a": np.float16(1.0), 7: 2.0}}, {"1": ["b", "a"]}, [("1", "a", 1.0)], 7):
        assert evaluator._plan.scores(odd) is None
    assert evaluator._plan.scores({"1": {f"d{n}": float(n) for n in range(DEPTH + 1)}}) is None
    assert evaluator.evaluate({"1": ["b", "a"]}) == {"1": {"AP": 0.5}, "2": {"AP": 0.0}}
    for wrong in ({"1": {"a": math.nan}}, {"1": {"a": None}}, {"1": {"": 1.0}}, {"3": {"a": 1.0}}, {}, *UNJUDGED):
        with pytest.raises(fm.FathomsError):
            evaluator.evaluate(wrong)


@needs_kernel
@pytest.mark.parametrize("name", OTHERS)
def test_measures_that_are_no_sums_have_no_plan(name: str) -> None:
    assert fm.Evaluator({"1": {"a": 1}}, [name, "AP"])._plan is None


@needs_kernel
@pytest.mark.parametrize("options", [{"ties": "rank"}, {"topics": "intersect"}, {"ranges": True}])
def test_other_options_have_no_plan(options: Any) -> None:
    assert fm.Evaluator({"1": {"a": 1}}, "AP", **options)._plan is None
