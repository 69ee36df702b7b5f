"""Experiment: one noun for judgments, runs and how to read them; each run is read and ranked once for all analyses."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fathoms as fm
from fathoms.base.result import Result
from fathoms.cli.app import main
from fathoms.data.simulate import write
from fathoms.evidence import align
from fathoms.evidence.align import rank, reranked
from fathoms.evidence.order import Ties, default_precision
from fathoms.experiment import base
from fathoms.signatures import Questions

MEASURES = ["AP", "nDCG@10", "P@5"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("experiment") / "sim"
    write(fm.simulate(systems=4, n_topics=6, n_docs=300, depth=50, pool_depth=8, seed=5), folder)
    return folder


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fm.Experiment, "warn", False)


def experiment(folder: Path, **options: Any) -> fm.Experiment:
    found = fm.Experiment(folder / "qrels.txt", folder / "runs", workers=1, **options)
    found.warn = False
    return found


def results(exp: fm.Experiment) -> Iterator[Result]:
    yield exp.evaluate(MEASURES)
    yield exp.compare("AP")
    yield exp.predict("AP", ["smoothed", "fusion"])
    yield exp.depth(["nDCG"], range(1, 11))
    yield exp.ties("AP")
    yield exp.audit()
    yield exp.check()
    yield exp.pool(depth=5)
    yield exp.evaluate_depths("nDCG", [1, 5])
    yield exp.tune("P@5", levels=[1, 2])
    yield exp.probabilities()
    yield exp.confidence("P@5", draws=20)
    yield exp.report(None, ["AP"])


# -- read once --------------------------------------------------------------------------------------------------------


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each run is looked up among the judgments."""
    found: Counter[str] = Counter()

    def counting(run: fm.Run, *args: Any) -> Any:
        found[run.name] += 1
        return rank(run, *args)

    monkeypatch.setattr(align, "rank", counting)
    monkeypatch.setattr(base, "rank", counting)
    return found


@pytest.mark.long
def test_each_run_is_read_and_ranked_once_for_all_methods(
    folder: Path, counted: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: Counter[str] = Counter()
    whole = fm.Runs.__getitem__

    def reading(runs: fm.Runs, name: str) -> fm.Run:
        read[name] += 1
        return whole(runs, name)

    monkeypatch.setattr(fm.Runs, "__getitem__", reading)
    exp = experiment(folder)
    monkeypatch.setattr(exp, "check", lambda: exp.evaluate("AP"))  # it is about files, and reads them itself
    for result in results(exp):
        assert len(result.frame)
    assert read == counted == dict.fromkeys(exp.runs, 1)


@pytest.mark.long
def test_without_memory_runs_are_read_again_and_results_are_the_same(folder: Path, counted: Counter[str]) -> None:
    kept, again = experiment(folder), experiment(folder, memory_mb=0)
    for one, other in zip(results(kept), results(again), strict=True):
        assert one.frame.equals(other.frame), type(one).__name__
        assert one.sentences == other.sentences
    assert min(counted.values()) > 2


def test_a_budget_keeps_the_first_runs_that_fit(folder: Path) -> None:
    whole = experiment(folder)
    need = [whole.runs.bytes_in_memory(name) for name in whole.runs]
    some = experiment(folder, memory_mb=(need[0] + need[1]) / 1e6)
    assert [some.keeps(name) for name in some.runs] == [True, True, False, False]
    one = fm.Experiment(folder / "qrels.txt", {"large": folder / "runs" / "sys1.run", "small": {"101": {"a": 1.0}}})
    least = one.runs.bytes_in_memory("small")
    assert [one.keeps(name) for name in one.runs] == [True, True]
    tight = fm.Experiment(folder / "qrels.txt", one.runs, memory_mb=least / 1e6)
    assert [tight.keeps(name) for name in tight.runs] == [False, True]


POLICIES: list[Ties] = ["trec", "run", "rank", "score-rank"]


@pytest.mark.long
@given(st.data())
def test_another_order_of_a_ranked_run_is_that_of_ranking_it_anew(data: st.DataObject) -> None:
    documents = data.draw(st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1))
    rows = [
        {"qid": topic, "docno": d, "score": float(data.draw(st.integers(0, 2))), "rank": data.draw(st.integers(0, 3))}
        for topic in ("1", "2", "9")
        for d in documents
    ]
    run, qrels = fm.read_run(pl.DataFrame(rows)), fm.read_qrels({"1": {"a": 1, "b": 0}, "2": {"c": 2}})
    first, second = data.draw(st.sampled_from(POLICIES)), data.draw(st.sampled_from(POLICIES))
    there = reranked(rank(run, qrels, first, "float64"), second, default_precision(second))
    anew = rank(run, qrels, second, default_precision(second))
    for name in ("rows", "topic", "rank", "tied", "keys", "judgment", "codes"):
        np.testing.assert_array_equal(getattr(there, name), getattr(anew, name), err_msg=name)


# -- results ----------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_results_are_small_objects(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    for result in results(experiment(folder)):
        frame = result.to_pandas()
        assert list(frame.columns) == result.frame.columns
        assert len(frame) == len(result.frame)
        assert all(isinstance(sentence, str) for sentence in result.sentences)
        page = result._repr_html_()
        assert "<table" in page
        assert all(note.split("<")[0][:20] in page for note in result.notes)
        printed = str(result)
        assert printed == repr(result)
        assert printed.startswith("\n".join(result.answer))
        table = printed.removeprefix("\n".join([*result.answer, "", ""])).splitlines()
        assert table[0].split()[0] == result.frame.columns[0]
        assert len(table) <= 12  # its head, ten rows, and what else there is
        assert max(map(len, table)) <= 120


def test_what_is_printed_leaves_out_what_says_nothing() -> None:
    tied = fm.Experiment({"1": {"a": 1, "b": 0}}, {"x": {"1": {"a": 1.0, "b": 1.0}}}).evaluate("RR")
    clear = fm.Experiment({"1": {"a": 1, "b": 0}}, {"x": {"1": {"a": 2.0, "b": 1.0}}}).evaluate("RR")
    assert "tie_low" in str(tied)
    assert "tie_low" not in str(clear)
    assert "ci_low" not in str(tied)  # of a single topic there is no interval
    assert str(clear).endswith(".frame has more columns")


def test_numbers_for_trackers() -> None:
    qrels, runs = {"1": {"a": 1, "b": 0}}, {"x/y z": {"1": {"a": 1.0}}, "w": {"1": {"b": 1.0}}}
    result = fm.Experiment(qrels, runs).evaluate(["nDCG@10", "RBP(p=0.8)@10"])
    assert result.metrics("w") == {"nDCG_at_10": 0.0, "RBP_p_0.8_at_10": 0.0}
    assert result.metrics()["x/y_z/nDCG_at_10"] == 1.0
    assert fm.Experiment(qrels, {"x": runs["w"]}).evaluate("P@5").metrics() == {"P_at_5": 0.0}
    mlflow_takes = re.compile(r"[\w\-./ ]+")
    assert all(mlflow_takes.fullmatch(name) for name in result.metrics())


def test_a_run_is_known_by_the_end_of_its_name() -> None:
    qrels = {"1": {"a": 1, "b": 0}}
    runs = {name: {"1": {"a": 1.0}} for name in ("input.SABIR03BASE", "input.base", "x.base")}
    exp = fm.Experiment(qrels, runs)
    assert exp.compare("RR", baseline="SABIR03BASE", draws=0).baseline == "input.SABIR03BASE"
    for name in ("base", "BASE", "SABIR03BASF"):  # of two runs; not a whole part of a name; none
        with pytest.raises(fm.FathomsError, match=f"the baseline '{name}' is not among the runs"):
            exp.compare("RR", baseline=name, draws=0)
    with pytest.raises(fm.FathomsError, match=r"did you mean 'input.SABIR03BASE'\?"):
        exp.compare("RR", baseline="inputSABIR03BASF", draws=0)
    assert fm.Experiment(qrels, runs, pooled=["SABIR03BASE"]).options.pooled == ("input.SABIR03BASE",)


@pytest.mark.long
def test_functions_are_the_methods(folder: Path, quiet: None) -> None:
    qrels, runs = folder / "qrels.txt", folder / "runs"
    exp = experiment(folder)
    assert fm.evaluate(qrels, runs, MEASURES).equals(exp.evaluate(MEASURES).frame)
    assert fm.compare(qrels, runs, "AP", test="wilcoxon").equals(exp.compare("AP", test="wilcoxon").frame)
    assert fm.predict(qrels, runs, "AP", "linear").equals(exp.predict("AP", "linear").frame)
    assert fm.ties(qrels, runs, "AP").frame.equals(exp.ties("AP").frame)
    assert fm.audit(qrels, runs).frame.equals(exp.audit().frame)
    assert fm.depth(qrels, runs, depths="1:5").equals(exp.depth(depths=[1, 2, 3, 4, 5]).frame)
    assert fm.pool(runs, depth=3).equals(fm.Experiment(None, runs).pool(depth=3).frame)
    assert fm.check(qrels, runs).findings == exp.check().findings


def charted(exp: fm.Experiment, name: str) -> Any:
    """A result that has charts; of two measures where it can be."""
    calls: dict[str, Callable[[], Any]] = {
        "evaluate": lambda: exp.evaluate(["AP", "P@5"], by_topic=True),
        "compare": lambda: exp.compare(["AP", "P@5"]),
        "rank": lambda: exp.rank(["AP", "P@5"]),
        "predict": lambda: exp.predict(["AP", "P@5"]),
        "depth": lambda: exp.depth(["AP", "P"], "1:5"),
        "ties": lambda: exp.ties(["AP", "P@5"]),
        "audit": lambda: exp.audit(["AP", "P@5"]),
        "diff": lambda: exp.diff("sys1", "sys2"),
        "report": lambda: exp.report(None, ["AP", "P@5"], diff=("sys1", "sys2")),
    }
    return calls[name]()


@pytest.mark.long
@pytest.mark.parametrize("name", ["evaluate", "compare", "rank", "predict", "depth", "ties", "audit", "diff", "report"])
def test_charts_are_altairs(folder: Path, name: str) -> None:
    """Of every kind and every measure that a result has, each drawn."""
    import altair as alt
    import vl_convert

    found = charted(experiment(folder), name)
    assert found.charts
    for kind in found.charts:
        chart = found.chart(kind)
        assert isinstance(chart, alt.TopLevelMixin)
        assert vl_convert.vegalite_to_svg(chart.to_json()).startswith("<svg")
    first = found.charts[0]
    assert found.chart().to_dict() == found.chart(first).to_dict()
    with pytest.raises(fm.FathomsError, match=f"kind: expected one of {first}.*, found 'pie'"):
        found.chart("pie")
    if name not in ("diff",):
        other, of_measure = "P" if name == "depth" else "P@5", "left_out" if name == "audit" else first
        assert found.chart(of_measure, measure=other).to_dict() != found.chart(of_measure).to_dict()
        with pytest.raises(fm.FathomsError, match=r"measure: expected one of AP, P(@5)?, found 'RR'"):
            found.chart(measure="RR")


@pytest.mark.long
def test_charts_of_the_report_are_those_of_its_results(folder: Path) -> None:
    found = charted(experiment(folder), "report")
    assert found.chart("verdicts", measure="P@5").to_dict() == found.comparison.chart(measure="P@5").to_dict()
    counts = found.comparison.chart("counts").to_dict()["datasets"]
    [rows] = counts.values()
    assert sum(row["pairs"] for row in rows) == len(found.comparison.pairs) // 2
    verdicts = {pair.verdict for pair in found.comparison.pairs if pair.measure == "AP"}
    assert {row["verdict"] for row in rows} == verdicts


def test_without_altair_a_chart_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fathoms.base.charts.available", lambda: False)
    with pytest.raises(fm.FathomsError, match=r"pip install 'fathoms\[report\]'"):
        experiment(folder).evaluate("AP").chart()
    with pytest.raises(fm.FathomsError, match="there is no chart of a Check"):
        experiment(folder).check().chart()


TWO_TOPICS = ({"1": {"a": 1}, "2": {"a": 1}}, {"1": {"a": 1.0}})


def test_notes_are_warnings_unless_nobody_wants_them() -> None:
    exp = fm.Experiment(*TWO_TOPICS)
    for call in (partial(exp.evaluate, "P@1"), partial(fm.evaluate, *TWO_TOPICS, "P@1")):
        with pytest.warns(fm.FathomsWarning, match="judged topics in no run, 1 of 2, count 0") as caught:
            call()
        assert [one.filename for one in caught] == [__file__]  # and not a line of ours


def test_judging_by_an_experiment(folder: Path, tmp_path: Path) -> None:
    exp = experiment(folder)
    session = exp.judge(tmp_path / "s.db", depth=20)
    task = session.next()
    assert task is not None
    session.grade(task.topic, task.document, 1, "me")
    session.close()
    again = exp.judge(tmp_path / "s.db", resume=True)
    assert again.judged == 1
    again.close()
    with pytest.raises(fm.FathomsError, match=r"confidence: expected a probability between 0\.5 and 1"):
        exp.judge(tmp_path / "other.db", confidence=2)
    with pytest.raises(fm.FathomsError, match="was begun with --depth 20, found 30"):
        exp.judge(tmp_path / "s.db", resume=True, depth=30)


@pytest.mark.long
def test_a_report_is_written_whole(folder: Path, tmp_path: Path) -> None:
    experiment(folder).report(tmp_path / "r.html", "AP")
    assert (tmp_path / "r.html").read_text(encoding="utf-8").rstrip().endswith("</html>")


# -- arguments --------------------------------------------------------------------------------------------------------

BAD_OPTIONS = [
    ({"ties": "Trec"}, "ties: expected one of trec, run, rank, score-rank, expected, found 'Trec'"),
    ({"topics": "intersection"}, "topics: expected one of all, intersect, found 'intersection'"),
    ({"junk": "a"}, "junk: expected a negative grade, such as -2, found 'a'"),
    ({"junk": 2}, "junk: expected a negative grade, such as -2, found 2"),
    ({"band": 1}, "band: rho must be above 1 (at 1 nothing is banded) and at most 1,000,000, found '1'"),
    ({"band": 1.4, "ties": "rank"}, "band: bands tie documents by score, and ties=rank does not go by scores"),
    ({"score_precision": "double"}, "score_precision: expected one of float32, float64"),
    ({"names": "path"}, "names: expected one of file, tag"),
    ({"bounds": "tight"}, "bounds: expected one of exact, rm"),
    ({"universe": "many"}, "universe: expected auto, run, pair, all, a number or inf, found 'many'"),
    ({"universe_depth": 0}, "universe_depth: expected a whole number from 1 on, found 0"),
    ({"universe": 1.5}, "universe: expected auto, run, pair, all, a number or inf, found 1.5"),
    ({"universe": -1}, "universe: expected auto, run, pair, all, a number or inf, found -1"),
    ({"workers": 0}, "workers: expected a whole number from 1 on, found 0"),
    ({"workers": 1.5}, "workers: expected a whole number from 1 on, found 1.5"),
    ({"seed": -1}, "seed: expected a whole number from 0 on, found -1"),
    ({"scheduler": "nowhere"}, "nowhere"),
    ({"pooled": []}, "names no run"),
    ({"memory_mb": "x"}, "memory_mb: expected a number from 0 on, found 'x'"),
    ({"groups": 3}, "groups: expected a dict of teams by run, or a file, found 3"),
    ({"scheduler": 3}, "3"),
    ({"lenient": "no"}, "lenient: expected True or False, found 'no'"),
    ({"pooled": 5}, "pooled: expected names of runs, or a file that lists them, found 5"),
]


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS)
def test_bad_options_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(fm.FathomsError) as caught:
        fm.Experiment({"1": {"a": 1}}, {"1": {"a": 1.0}}, **options)
    assert message in str(caught.value)
    if "memory_mb" not in options:
        with pytest.raises(fm.FathomsError):
            fm.evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, "P@1", **options)


def test_a_misspelt_argument_is_named() -> None:
    with pytest.raises(TypeError, match=r"unknown argument 'tie'; did you mean 'ties'\?"):
        fm.evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, "P@1", tie="trec")  # type: ignore[call-arg]


@pytest.mark.parametrize("runs", [[], {}, ()])
def test_no_runs_at_all(runs: Any) -> None:
    with pytest.raises(fm.FathomsError, match="no run given"):
        fm.evaluate({"1": {"a": 1}}, runs)


def test_a_pandas_frame_goes_in_and_comes_out() -> None:
    pandas = pytest.importorskip("pandas")
    qrels = pandas.DataFrame({"qid": ["1", "1"], "docno": ["a", "b"], "label": [1, 0]})
    run = pandas.DataFrame({"qid": ["1", "1"], "docno": ["a", "x"], "score": [2.0, 1.0]})
    result = fm.Experiment(qrels, run).evaluate(["P@2", "NumRet"]).to_pandas()
    found = fm.to_pandas(fm.evaluate(qrels, run, ["P@2", "NumRet"]))
    assert isinstance(found, pandas.DataFrame)
    assert found.equals(result)
    assert found.loc[0, ["score", "low", "high"]].tolist() == [0.5, 0.5, 1.0]
    with pytest.raises(fm.InputError, match=r"has no column for the topic .* its columns are foo, docno"):
        fm.evaluate(pandas.DataFrame({"foo": [1], "docno": ["a"]}), run)


def test_help_tells_the_story() -> None:
    """Every method of an experiment that gives a result is in the text that `help(fm)` opens with."""
    told = fm.__doc__ or ""
    methods = {name for name in vars(Questions) if not name.startswith("_")}
    special = {"evaluate_depths", "predict_sampled", "tune", "probabilities", "confidence"}
    assert {name for name in methods if f"exp.{name}(" in told} == methods - special


BAD_ARGUMENTS = [
    ("compare", {"correction": "foo"}, "correction: expected one of none, bonferroni, holm, bh, found 'foo'"),
    (
        "compare",
        {"test": "ttest"},
        "test: expected one of t, wilcoxon, sign, randomization, bootstrap, bayes, tukey, found 'ttest'",
    ),
    ("evaluate", {"by_topic": "no"}, "by_topic: expected True or False, found 'no'"),
    ("evaluate", {"measures": None}, "expected the name of a measure, such as nDCG@10, found None"),
    ("evaluate", {"measures": "nDGC@10"}, "unknown measure 'nDGC@10'. Did you mean nDCG@10? Known measures: P, R, "),
    ("evaluate_depths", {"measure": "P", "depths": [1], "by_topic": 1}, "by_topic: expected True or False, found 1"),
    ("compare", {"explain": "yes"}, "explain: expected True or False, found 'yes'"),
    ("predict", {"by_topic": None}, "by_topic: expected True or False, found None"),
    ("pool", {"depth": 3, "per_topic": "x"}, "per_topic: expected True or False, found 'x'"),
    ("report", {"path": 5}, "path: expected the name of a file, found 5"),
    ("compare", {"alpha": 5}, "alpha: expected a number between 0 and 1, found 5"),
    ("rank", {"alpha": 0}, "alpha: expected a number between 0 and 1, found 0"),
    ("rank", {"draws": -1}, "draws: expected a whole number from 0 on, found -1"),
    ("rank", {"level": "high"}, "level: expected a number between 0 and 1, found 'high'"),
    ("compare", {"baseline": "nobody"}, "the baseline 'nobody' is not among the runs"),
    ("diff", {"a": "sys1", "b": "sys2", "p": 1}, "p: expected a number between 0 and 1, found 1"),
    ("diff", {"a": "sys1", "b": "sys2", "depth": 0}, "depth: expected a whole number from 1 on, found 0"),
    ("report", {"diff": ["sys1"]}, "diff: expected the names of two runs, found 1"),
    ("report", {"docs": "corpus.jsonl"}, "corpus.jsonl: no such file"),
    ("predict", {"method": "magic"}, "unknown method 'magic'"),
    ("predict", {"method": 3}, "unknown method '3'"),
    ("predict", {"method": []}, "no method given"),
    ("predict", {"labels": {"101": {"DOC-1": 1}}}, "none of its 1 document was retrieved"),
    (
        "predict",
        {"to_depth": 5, "method": "smoothed"},
        "labels and to_depth are for the methods experts and fusion and calibrated, found smoothed",
    ),
    ("predict", {"level": 1}, "level: expected a number between 0 and 1, found 1"),
    ("compare", {"level": "high"}, "level: expected a number between 0 and 1, found 'high'"),
    ("compare", {"draws": 0, "to_depth": 5}, "labels and to_depth are for the estimates, of which there are none here"),
    ("predict", {"depth": "x"}, "depth: expected a whole number from 1 on, found 'x'"),
    ("predict", {"constants": 5}, "constants: expected two numbers such as (0.42, 0.01), found 5"),
    ("compare", {"baseline": 3}, "the baseline 3 is not among the runs"),
    ("depth", {"reference": 0}, "the reference depth 0 is not among the depths"),
    ("predict", {"method": "fusion", "to_depth": 0}, "to_depth: expected a whole number from 1 on, found 0"),
    ("depth", {"depths": "deep"}, "depths: expected depths such as 1:50, 10:100:10 or 1,5,10, found 'deep'"),
    (
        "depth",
        {"correlation": "kappa"},
        "correlation: expected one of tau, tau_ap, rbo, spearman, pearson, rmse, found 'kappa'",
    ),
    ("depth", {"reference": 77}, "the reference depth 77 is not among the depths"),
    ("audit", {"depth": 0}, "depth: expected a whole number from 1 on, found 0"),
    ("labels", {"labels": {"101": {"DOC-1": 1}}, "rel": 0}, "rel: expected a number above 0, found 0"),
    ("labels", {"labels": {"101": {"DOC-1": 1}}, "label_rel": "x"}, "label_rel: expected a number, found 'x'"),
    ("plan", {"min_difference": 0}, "min_difference: expected a number above 0, found 0"),
    ("plan", {"power": 1.5}, "power: expected a number between 0 and 1, found 1.5"),
    ("plan", {"systems": 1}, "systems: expected a whole number from 2 on, found 1"),
    ("plan", {"n_topics": 1.5}, "n_topics: expected a whole number from 2 on, found 1.5"),
    ("plan", {"variance": -1}, "variance: expected a number above 0, found -1"),
    ("plan", {"system_variance": "x"}, "system_variance: expected a number above 0, found 'x'"),
    ("plan", {"interval_width": 0}, "interval_width: expected a number above 0, found 0"),
    ("plan", {"epsilon": "x"}, "epsilon: expected a number above 0, found 'x'"),
    ("plan", {"depth": 0}, "depth: expected a whole number from 1 on, found 0"),
    ("plan", {"level": 2}, "level: expected a number between 0 and 1, found 2"),
    ("plan", {"confidence": 0}, "confidence: expected a number between 0 and 1, found 0"),
    ("ties", {"depth": "x"}, "depth: expected a whole number from 1 on, found 'x'"),
    ("pool", {}, "either a depth or a budget"),
    ("pool", {"depth": 3, "prefix_order": "random"}, "prefix_order: expected one of file, shuffle, found 'random'"),
    ("report", {"alpha": 0}, "alpha: expected a number between 0 and 1, found 0"),
    ("judge", {"path": "s.db", "kappa_error": 2}, "kappa_error: expected a number between 0 and 1, found 2"),
    ("judge", {"path": "s.db", "count_disagreement": True}, "two people must judge some documents"),
    ("judge", {"path": "s.db", "kappa_error": 0.1, "judge_twice": 0.1}, "not both"),
    ("judge", {"path": "s.db", "stay": 0}, "stay: expected a whole number from 1 on, found 0"),
    ("judge", {"path": "s.db", "recall": 0.9}, "a recall to reach is for the strategy find-all, found fusion"),
    (
        "judge",
        {"path": "s.db", "sample": 2, "design": "guess"},
        "design: expected one of uniform, depth, score, probe, label",
    ),
    ("judge", {"path": "s.db", "per_topic": True}, "per-topic: says how a sample is drawn; give its size too"),
    ("judge", {"path": "s.db", "first": 3}, "first: expected a file or pairs (topic, document), found 3"),
    ("judge", {"path": "s.db", "first": [("1", "nowhere")]}, "document nowhere is in no run's top 100"),
    ("predict_sampled", {"level": 1.0}, "level: expected a number between 0 and 1, found 1.0"),
    ("tune", {"levels": [0]}, "levels: expected depths such as 1:50, 10:100:10 or 1,5,10, found [0]"),
    ("confidence", {"draws": 0}, "draws: expected a whole number from 1 on, found 0"),
]


@pytest.mark.parametrize(("method", "arguments", "message"), BAD_ARGUMENTS)
def test_bad_arguments_are_errors(folder: Path, method: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(fm.FathomsError) as caught:
        getattr(experiment(folder), method)(**arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--ties Trec", "expected one of trec, run, rank, score-rank, expected, found 'Trec'"),
        ("--topics intersection", "expected one of all, intersect, found 'intersection'"),
        ("--nonrelevant-grade 2", "expected a negative grade, such as -2, found '2'"),
        ("--universe many", "expected auto, run, pair, all, a number or inf, found 'many'"),
        ("--workers 0", "expected a whole number from 1 on, found '0'"),
    ],
)
def test_the_command_line_says_the_same(
    folder: Path, flags: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["eval", str(folder / "qrels.txt"), str(folder / "runs"), *flags.split()])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_given_is_another_word_for_all(folder: Path) -> None:
    both = [experiment(folder, universe=word).evaluate("AP") for word in ("given", "all")]
    assert both[0].frame.equals(both[1].frame)
    assert both[0].measures[0].name == "AP(universe=all)"


def test_contributing_runs_and_teams_from_files(folder: Path, tmp_path: Path) -> None:
    exp = experiment(folder, pooled=folder / "pooled.txt", groups=folder / "groups.tsv")
    assert exp.contributing() == (folder / "pooled.txt").read_text().split()
    assert exp.groups is not None
    assert set(exp.groups) == set(exp.runs)
    (tmp_path / "other.txt").write_text("sys1\nsys99\n")
    assert "1 of 2 contributing runs are not given: sys99" in experiment(folder, pooled=tmp_path / "other.txt").notes[0]


@pytest.mark.long
def test_sources_may_be_one_or_many_and_of_any_kind(folder: Path, tmp_path: Path) -> None:
    exp = experiment(folder)
    labels = {"101": {"DOC-0000003": 1.0}}
    assert exp.probabilities(labels=labels).frame.equals(exp.probabilities(labels=[labels]).frame)
    assert exp.evaluate({"P@5", "AP"}).frame.shape == exp.evaluate(["AP", "P@5"]).frame.shape
    assert len(exp.evaluate("AP", resume=str(tmp_path / "parts")).frame) == 4
    frame = fm.read_qrels(folder / "qrels.txt").to_frame()
    for kind in (frame, frame.to_pandas()):
        assert fm.check(kind, folder / "runs").count("error") == 0
    assert "4 runs" in repr(exp)
