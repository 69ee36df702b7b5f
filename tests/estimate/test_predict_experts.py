"""Probabilities of relevance: chunks, further evidence, calibration on simulated and real judgments, the command."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import fathoms as fm
from fathoms.data.document_values import read_values
from fathoms.data.simulate import Collection, simulate
from fathoms.estimate import probabilities
from fathoms.estimate.probabilities import RelevanceProbabilities, relevance_probabilities
from fathoms.estimate.relevance import RELEVANCE_MODELS
from fathoms.evidence.evidence import Floats
from fathoms.questions.predict.analysis import METHODS
from tests.support.commands import status as run_cli

pytestmark = pytest.mark.filterwarnings("ignore::fathoms.FathomsWarning")


@pytest.fixture(scope="module")
def made() -> Collection:
    """Ten of sixteen systems came after the pool was judged."""
    return simulate(systems=16, n_topics=40, depth=200, pool_depth=10, unpooled=10, max_grade=2, seed=4)


def found_in(made: Collection, method: str, **more: object) -> RelevanceProbabilities:
    return relevance_probabilities(fm.Experiment(made.qrels, made.runs), method, **more)  # type: ignore[arg-type]


def truth_of(made: Collection, found: RelevanceProbabilities) -> Floats:
    """1 where a candidate is relevant in truth."""
    grades = {(topic, doc): grade for topic, doc, grade in made.truth.iter_rows()}
    return np.array([float(grades.get(row[:2], 0) > 0) for row in found.rows()])


# -- the probabilities ----------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("method", RELEVANCE_MODELS)
def test_a_few_topics_at_a_time_is_all_at_once(method: str, made: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is learnt from judged documents alone and applied by topics is the fit to the whole block."""
    found = found_in(made, method)
    block = found.candidates.block()
    judged, relevant = found.judged, found.judged & (found.probability == 1)
    whole = RELEVANCE_MODELS[method](block).fit(block.values(judged), block.values(relevant)).probability
    expected = np.empty(len(found.candidates))
    expected[block.number[block.present]] = whole[block.present]
    np.testing.assert_allclose(found.probability[~judged], expected[~judged], atol=1e-9)
    monkeypatch.setattr(probabilities, "CELLS", 1)
    np.testing.assert_allclose(found_in(made, method).probability, found.probability, atol=1e-12)


def test_judged_documents_have_what_was_judged(made: Collection) -> None:
    frame = fm.probabilities(made.qrels, made.runs)
    both = frame.join(made.qrels.rename({"doc": "document"}), on=["topic", "document"], how="left")
    known = both.filter(pl.col("grade").is_not_null())
    assert (known["judged"] == 1).all()
    assert ((known["grade"] > 0) == (known["probability"] == 1)).all()
    rest = both.filter(pl.col("grade").is_null())
    assert (rest["judged"] == 0).all()
    assert rest["probability"].is_between(0, 1, closed="none").all()
    retrieved = pl.concat([run.select("topic", document="doc") for run in made.runs.values()]).unique()
    assert frame.height == retrieved.height == frame.unique(["topic", "document"]).height


@pytest.mark.long
@pytest.mark.parametrize("method", RELEVANCE_MODELS)
def test_probabilities_are_about_right(method: str, made: Collection) -> None:
    """In tenths of the unjudged documents by probability: mean predicted against share that is relevant in truth.

    The greatest probabilities, of documents that only later systems rank high, are too great; no tenth is off by 0.15,
    and of fusion's no other by 0.04.
    """
    found = found_in(made, method)
    open_ = ~found.judged
    p, y = found.probability[open_], truth_of(made, found)[open_]
    tenths = np.array_split(np.argsort(p, kind="stable"), 10)
    predicted, observed = (np.array([values[rows].mean() for rows in tenths]) for values in (p, y))
    assert np.abs(predicted - observed).max() < 0.15
    if method == "fusion":
        assert np.abs(predicted - observed)[:-1].max() < 0.04
    assert (np.diff(observed[-4:]) > 0).all()
    base = y.mean()
    assert ((p - y) ** 2).mean() < base * (1 - base)  # better than to know the true rate


def test_nobody_judges_below_the_depth_given(made: Collection) -> None:
    found, cut = found_in(made, "fusion"), found_in(made, "fusion", to_depth=20)
    reached = np.zeros(len(found.candidates), dtype=bool)
    for system in found.candidates.place:
        for ranking in system:
            reached[ranking[:20][ranking[:20] >= 0]] = True
    expected = np.where(found.judged | reached, found.probability, 0.0)
    np.testing.assert_array_equal(cut.probability, expected)
    assert (~reached & ~found.judged).any()


def test_odd_collections() -> None:
    runs = {"x": {"1": {"a": 2.0, "b": 1.0}}, "y": {"1": {"c": 2.0}, "2": {"d": 1.0}}}
    nothing_relevant = fm.predict(
        {"1": {"a": 0}, "2": {"e": 0}}, runs, ["AP", "nDCG@2", "Rprec", "ERR"], list(RELEVANCE_MODELS)
    )
    assert nothing_relevant["estimate"].is_finite().all()
    assert (nothing_relevant.filter(measure="AP")["estimate"] > 0).all()
    with pytest.raises(fm.FathomsError, match="nothing to learn from"):
        fm.probabilities({"1": {"z": 1}}, runs)
    with pytest.raises(fm.FathomsError, match="smoothed gives no probabilities"):
        fm.probabilities({"1": {"a": 1}}, runs, "smoothed")


# -- estimates ------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("method", RELEVANCE_MODELS)
@pytest.mark.parametrize("measure", ["AP", "P@10", "RBP(p=0.95)", "nDCG@10", "R@50"])
def test_estimates_are_nearer_to_the_truth(method: str, measure: str, made: Collection) -> None:
    """Than the plain score, for runs that did not contribute."""
    frame = fm.predict(made.qrels, made.runs, measure, method, by_topic=True)
    truth = fm.evaluate(made.truth, made.runs, measure, by_topic=True).select("run", "topic", truth="score")
    both = frame.join(truth, on=["run", "topic"]).filter((pl.col("topic") != "all") & ~pl.col("run").is_in(made.pooled))

    def rmse(column: str) -> float:
        return float(np.sqrt(((both[column] - both["truth"]) ** 2).to_numpy().mean()))

    if (method, measure) == ("experts", "AP"):
        # It expects too many relevant documents down the rankings, so R is too large and AP too low (docs/predict.md).
        assert (both["estimate"] - both["truth"]).to_numpy().mean() < 0
        assert rmse("score") < rmse("estimate") < 1.25 * rmse("score")
    else:
        assert rmse("estimate") < rmse("score")
    assert both.filter(
        (pl.col("estimate") < pl.col("low") - 1e-9) | (pl.col("estimate") > pl.col("high") + 1e-9)
    ).is_empty()


@pytest.mark.long
def test_all_has_the_models_of_relevance_and_the_default_last(made: Collection) -> None:
    assert METHODS[-3:] == ("experts", "fusion", "calibrated")
    frame = fm.predict(made.qrels, made.runs, "P@10", "all", pooled=made.pooled)
    assert frame["method"].to_list()[: len(METHODS)] == list(METHODS)


def test_fully_judged_scores_stay_what_they_are() -> None:
    runs = {"x": {"1": {"a": 2.0, "b": 1.0}}, "y": {"1": {"b": 2.0}}}
    frame = fm.predict({"1": {"a": 1, "b": 0, "c": 1}}, runs, ["AP", "nDCG@2", "R@1", "Q"], list(RELEVANCE_MODELS))
    np.testing.assert_allclose(frame["estimate"], frame["score"], atol=1e-12)


# -- further evidence -----------------------------------------------------------------------------------------


def noisy_labels(made: Collection, wrong: float, seed: int = 0) -> pl.DataFrame:
    """Grades of the truth as somebody would see them who is wrong with this probability."""
    rng = np.random.default_rng(seed)
    flip = rng.random(made.truth.height) < wrong
    value = np.where(flip, rng.integers(0, 3, made.truth.height), made.truth["grade"].to_numpy())
    return made.truth.select("topic", document="doc").with_columns(value=pl.Series(value.astype(float)))


@pytest.mark.long
@pytest.mark.parametrize("method", RELEVANCE_MODELS)
def test_labels_help_as_much_as_they_are_worth(method: str, made: Collection) -> None:
    """Squared error of probabilities without labels, with bad ones, with good ones; noise alone does no harm."""
    plain = found_in(made, method)
    open_, y = ~plain.judged, truth_of(made, plain)

    def brier(wrong: float) -> float:
        found = found_in(made, method, labels=[noisy_labels(made, wrong)])
        return float(((found.probability - y)[open_] ** 2).mean())

    without = float(((plain.probability - y)[open_] ** 2).mean())
    assert brier(0.2) < brier(0.6) < without
    assert brier(1.0) < 1.02 * without


LINES = [("101", "DOC-1", 0.5), ("101", "DOC-2", 2.0), ("102", "DOC-1", -1.0)]


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{t}\t{d}\t{v}\n" for t, d, v in LINES),
        "\n# labels\n" + "".join(f"{t} {d} {v}\n" for t, d, v in LINES),
        "\ufefftopic\tdocument\tvalue\n" + "".join(f"{t}\t{d}\t{v}\n" for t, d, v in LINES),
        "topic\tdocument\tprobability\tjudged\n" + "".join(f"{t}\t{d}\t{v}\t0\n" for t, d, v in LINES),
        "label qid docno\n" + "".join(f"{v} {t} {d}\n" for t, d, v in LINES),
        "".join(f"{t} 0 {d} {v}\n" for t, d, v in LINES),
        "".join(f"{t} Q0 {d} 1 {v} tag\n" for t, d, v in LINES),
        json.dumps([{"topic": t, "document": d, "value": v} for t, d, v in LINES]),
        json.dumps({"101": {"DOC-1": 0.5, "DOC-2": 2.0}, "102": {"DOC-1": -1.0}}),
    ],
    ids=["plain", "comment", "header", "ours", "named", "qrels", "run", "records", "dict"],
)
def test_values_are_read_from_what_people_have(text: str, tmp_path: Path) -> None:
    (tmp_path / "values").write_text(text, encoding="utf-8")
    table = read_values(tmp_path / "values")
    rows = zip(table.topic.tolist(), table.document.tolist(), table.number.tolist(), strict=True)
    assert [(t.decode(), d.decode(), v) for t, d, v in rows] == LINES


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("topic document value\n1 a 0.5\n1 b high\n", r"values:3: expected a finite number as value .*found 'high'"),
        ("1 a 0.5\n1 b nan\n", r"values:2: expected a finite number"),
        ("1 a 0.5\n1 b\n", r"values:2: expected 3 columns \(topic document value\), found 2"),
        ("1 a 0.5\n2 a 1\n1 a 0.7\n", r"values:3: topic 1, document a has a value already, in line 1"),
        ("", "is empty"),
    ],
)
def test_bad_values_are_errors(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "values").write_text(text)
    with pytest.raises(fm.InputError, match=message):
        read_values(tmp_path / "values")


def test_lenient_keeps_the_first_value(tmp_path: Path) -> None:
    (tmp_path / "values").write_text("1 a 0.5\n1 b x\n1 a 0.7\n1 c 2\n")
    table = read_values(tmp_path / "values", lenient=True)
    assert table.number.tolist() == [0.5, 2.0]
    assert [table.line(row) for row in range(2)] == [1, 4]
    assert len(table.skipped) == 2


def test_ids_that_match_nothing_are_shown(made: Collection) -> None:
    with pytest.raises(fm.InputError, match=r"none of its 2 documents was retrieved.*topic q1 .*D7.*DOC-"):
        fm.probabilities(made.qrels, made.runs, labels=[{"q1": {"D7": 1.0}, "q2": {"D8": 0.0}}])


@pytest.mark.long
def test_evidence_on_unjudged_documents_alone_is_said(made: Collection) -> None:
    found = fm.probabilities(made.qrels, made.runs).filter(judged=0).head(5)
    labels = {found["topic"][0]: dict.fromkeys(found.filter(topic=found["topic"][0])["document"], 1.0)}
    with pytest.warns(fm.FathomsWarning, match="nothing to learn from its values"):
        fm.probabilities(made.qrels, made.runs, labels=[labels])


@pytest.mark.long
def test_language_models_labels_are_worth_something() -> None:
    """LLMJudge: half of the human judgments of 25 topics teach what labels mean, the other half is predicted.

    No runs exist, so one that lists the documents in no order stands for them.
    """
    root = Path(os.environ.get("FATHOMS_DATA", "")) / "llmjudge-dl23-labels"
    if "FATHOMS_DATA" not in os.environ or not root.is_dir():
        pytest.skip("FATHOMS_DATA has no collection llmjudge-dl23-labels")
    human = fm.read_qrels(root / "llmjudge_test_qrel_idx.txt").to_frame()
    rng = np.random.default_rng(0)
    human = human.with_columns(lot=pl.Series(rng.random(human.height)))
    run = {
        str(topic): dict(zip(part["document"], part["lot"], strict=True)) for (topic,), part in human.group_by("topic")
    }
    teach = human.filter(pl.col("lot") < 0.5).select("topic", "document", "grade")

    def brier(files: list[Path]) -> float:
        found = fm.probabilities(teach, run, "fusion", labels=files).filter(judged=0)
        both = found.join(human, on=["topic", "document"])
        assert both.height == human.height - teach.height
        return float(((both["probability"] - (both["grade"] > 0)) ** 2).to_numpy().mean())

    labels = sorted(path for path in (root / "llm_labels").iterdir() if path.is_file())
    without = brier([])
    each = np.array([brier([path]) for path in labels])
    assert np.median(each) < 0.95 * without
    assert each.max() < 1.02 * without
    assert brier(labels) < each.min()


# -- the command ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(simulated: Callable[..., Path]) -> Path:
    return simulated(systems=4, n_topics=4, n_docs=500, depth=50, pool_depth=5, seed=2)


def test_probabilities_command(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = (folder / "qrels.txt", folder / "runs")
    assert run_cli("predict", *files, "--probabilities", "--format", "tsv", "-o", tmp_path / "p.tsv") == 0
    lines = [line.split("\t") for line in (tmp_path / "p.tsv").read_text().splitlines()]
    assert lines[0] == ["topic", "document", "probability", "judged"]
    assert {line[3] for line in lines[1:]} == {"0", "1"}
    frame = fm.probabilities(*files)
    assert [float(line[2]) for line in lines[1:]] == frame["probability"].to_list()
    assert run_cli("predict", *files, "--probabilities", "--format", "parquet", "-o", tmp_path / "p.parquet") == 0
    assert pl.read_parquet(tmp_path / "p.parquet").equals(frame)
    assert run_cli("predict", *files, "--probabilities", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)[0].keys() == {"topic", "document", "probability", "judged"}
    # What one call wrote, another may take as evidence.
    assert run_cli("predict", *files, "--method", "experts", "--labels", tmp_path / "p.tsv") == 0
    assert "values for" not in capsys.readouterr().err
    some = (tmp_path / "p.tsv").read_text().splitlines(keepends=True)[:50]
    (tmp_path / "some.tsv").write_text("".join(some))
    assert run_cli("predict", *files, "--method", "experts", "--labels", tmp_path / "some.tsv") == 0
    assert f"values for 49 of the {frame.height:,} documents" in capsys.readouterr().err


@pytest.mark.long
def test_confidence_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = (folder / "qrels.txt", folder / "runs")
    words = ("predict", *files, "-m", "nDCG@5", "--confidence", "--draws", 50, "--format", "tsv")
    outputs = []
    for seed in (0, 0, 1):
        assert run_cli(*words, "--seed", seed) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] != outputs[2]
    lines = [line.split("\t") for line in outputs[0].splitlines()]
    assert lines[0] == ["run_a", "run_b", "measure", "diff", "sd", "p_better", "mc_error"]
    assert len(lines) == 1 + 4 * 3 // 2
    frame = fm.confidence(*files, "nDCG@5", draws=50)
    assert [float(line[5]) for line in lines[1:]] == frame["p_better"].to_list()
    assert run_cli(*words[:-2]) == 0
    answer, _, header, *_ = capsys.readouterr().out.splitlines()
    sure = sum(max(p, 1 - p) >= 0.95 for p in frame["p_better"])
    assert answer.startswith(f"nDCG@5: for {sure} of 6 pairs of runs it is at least 95% sure which is ahead")
    assert header.split()[:3] == ["run_a", "run_b", "measure"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--probabilities", "--method", "smoothed"], "needs --method experts or fusion"),
        (["--confidence", "--method", "all"], "needs --method experts or fusion or calibrated"),
        (["--labels", "nowhere.tsv"], "no such file"),
        (["--labels", "x.tsv", "--method", "linear"], "--labels is for --method experts or fusion or calibrated"),
        (["--method", "fusion", "--labels", "nowhere.tsv"], "no such file"),
        (["--to-depth", "5", "--method", "smoothed"], "--to-depth is for --method experts or fusion or calibrated"),
        (["--draws", "5", "--method", "experts"], "--draws is for --method calibrated and --confidence"),
        (["--at-most", "0.3", "--method", "experts"], "--at-most is for --method calibrated"),
        (["--left-out"], "--left-out is for --tune"),
        (["--confidence", "--draws", "0"], "whole number from 1"),
        (["--confidence", "--probabilities"], "not allowed with"),
        (["--confidence", "-m", "AP(variant=c)@5"], "pool of depth k"),
    ],
)
def test_what_does_not_go_together(
    words: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli("predict", folder / "qrels.txt", folder / "runs", *words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in " ".join(captured.err.split())


def test_a_single_run_has_the_distribution_that_rtc_derives() -> None:
    """Section 2.1 by all completions of a topic: the numerator of AP varies, the expected R divides it."""
    made = simulate(systems=3, n_topics=4, n_docs=60, depth=6, pool_depth=2, unpooled=1, max_grade=1, seed=6)
    exp = fm.Experiment(made.qrels, made.runs, pooled=made.pooled)
    found = relevance_probabilities(exp, "experts", samples=100)
    candidates, p = found.candidates, found.probability
    elsewhere = candidates.relevant_elsewhere(exp.qrels)
    result = exp.predict("AP", "experts", by_topic=True)
    at_most = result.at_most(0.4).frame
    for number, run in enumerate(candidates.names):
        variances = []
        for topic, name in enumerate(candidates.topics):
            documents = candidates.place[number, topic]
            documents = documents[documents >= 0]
            expected_r = p[candidates.topic == topic].sum() + elsewhere[topic]
            values, chances = [], []
            for relevant in itertools.product((0, 1), repeat=len(documents)):
                hits = np.cumsum(relevant)
                values.append((hits / np.arange(1, len(documents) + 1) * relevant).sum() / expected_r)
                chances.append(np.prod(np.where(np.array(relevant) == 1, p[documents], 1 - p[documents])))
            mean = np.dot(values, chances)
            variances.append(np.dot(np.square(values), chances) - mean**2)
            [row] = at_most.filter(run=run, topic=name).to_dicts()
            assert row["sd"] == pytest.approx(np.sqrt(max(variances[-1], 0.0)), abs=1e-7)
            if variances[-1] > 1e-9:
                assert row["probability"] == pytest.approx(norm.cdf(0.4, mean, np.sqrt(variances[-1])), abs=1e-6)
        [row] = at_most.filter(run=run, topic="all").to_dicts()
        assert row["sd"] == pytest.approx(np.sqrt(sum(variances)) / len(variances), abs=1e-7)
        [mean_row] = [row for row in result.estimated if (row.run, row.topic) == (run, "all")]
        assert mean_row.likely_low < mean_row.estimate < mean_row.likely_high


def test_models_of_relevance_give_intervals_of_what_they_draw() -> None:
    made = simulate(systems=3, n_topics=12, n_docs=200, depth=20, pool_depth=3, unpooled=1, seed=6)
    exp = fm.Experiment(made.qrels, made.runs, pooled=made.pooled)
    for method in RELEVANCE_MODELS:
        result = exp.predict("P@10", method)
        for row in result.estimated:
            draws = result.draws("P@10", method)[:, list(exp.runs).index(row.run)].mean(axis=1)
            low, high = np.quantile(draws, [0.025, 0.975])
            assert (row.likely_low, row.likely_high) == pytest.approx((min(low, row.estimate), max(high, row.estimate)))
            [chance] = result.at_most(row.score, method).frame.filter(run=row.run, topic="all").to_dicts()
            assert chance["sd"] == pytest.approx(draws.std(ddof=1))
            assert chance["probability"] == pytest.approx((draws <= row.score).mean())


def test_methods_that_draw_nothing_say_so() -> None:
    made = simulate(systems=3, n_topics=6, n_docs=100, depth=20, pool_depth=5, seed=1)
    result = fm.Experiment(made.qrels, made.runs).predict("AP", "simplistic")
    with pytest.raises(fm.FathomsError, match="only methods that draw"):
        result.at_most(0.5)
    assert any("their papers have no distribution" in remark for remark in result.remarks)
