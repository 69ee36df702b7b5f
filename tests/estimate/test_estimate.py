"""Point estimates: RM's predictors and tuning, gain models, expected scores, and the pools they start from."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import least_squares, minimize
from scipy.stats import ttest_rel

import fathoms as fm
from fathoms.data.qrels import JUDGED, PADDING
from fathoms.estimate.gain_models import GAIN_MODELS, MODEL_NAMES, Hybrid, fit_model
from fathoms.estimate.predictors import (
    PREDICTORS,
    PUBLISHED,
    Constants,
    Predictor,
    interpolated,
    rm_predict,
    smoothed,
)
from fathoms.evidence.align import Alignment, rank
from fathoms.evidence.candidates import document_table
from fathoms.evidence.evidence import Floats
from fathoms.evidence.pool import judged_depths, make_pool, prefix, prefix_by_topic, prefix_order, with_judgments
from fathoms.experiment.assumed_pool import JudgedByRank, infer_pool
from fathoms.inference.correlation import rmse
from fathoms.inference.significance import paired_t, reversals, separability
from fathoms.measures.gains import Graded
from fathoms.papers.bench import Bench
from fathoms.papers.gain import Work
from fathoms.questions.predict.analysis import METHODS, estimate
from fathoms.questions.predict.gain_curves import fit_curves
from fathoms.questions.predict.tuning import surface, tune
from tests.support import real, slow
from tests.support.blocks import block, random_case
from tests.support.commands import status as run_cli

# -- RM's predictors ------------------------------------------------------------------------------------------


def test_smoothed_with_alpha_one_minus_delta_is_the_papers_formula() -> None:
    B, delta = np.array([0.0, 0.1, 0.3, 0.5]), np.array([0.4, 0.5, 0.2, 0.0])
    expected = B + 0.91 * delta * B + delta**2 * 0.05
    np.testing.assert_allclose(smoothed(B, delta, 0.91, 0.05, alpha=1 - delta), expected)
    np.testing.assert_allclose(rm_predict("smoothed", B, delta, PUBLISHED["smoothed"]), expected)


def test_interpolation_takes_the_background_rate_where_nothing_is_known() -> None:
    values = interpolated(np.array([0.0, 0.2]), np.array([1.0, 0.5]), 0.42, 0.01)
    np.testing.assert_allclose(values, [0.01, 0.2 + 0.42 * 0.5 * 0.2 / 0.5])


@pytest.mark.parametrize("method", ["background", "interpolated", "smoothed"])
def test_tuning_finds_the_least_error(method: Predictor) -> None:
    rng = np.random.default_rng(0)
    B = rng.uniform(0, 0.5, (3, 6, 20))
    delta = rng.uniform(0, 1, B.shape) * (1 - B)
    delta[0, 0, 0], B[0, 0, 0] = 1.0, 0.0
    Y = np.clip(B[0] + 0.4 * delta[0] + rng.normal(0, 0.02, B[0].shape), 0, 1)
    best = tune(method, B, delta, Y)
    search = minimize(
        lambda x: rmse(rm_predict(method, B, delta, Constants(*x)), Y), [0.3, 0.3], bounds=[(0, 1), (0, 1)]
    )
    assert best.rmse <= search.fun + 1e-6
    axis = np.linspace(0, 1, 11)
    errors = surface(method, B, delta, Y, axis, axis)
    for i, j in itertools.product((0, 3, 10), (0, 7)):
        direct = rmse(rm_predict(method, B, delta, Constants(axis[i], axis[j])), Y)
        assert errors[i, j] == pytest.approx(direct, abs=1e-9)
    assert errors.min() >= best.rmse - 1e-9
    on_grid = tune(method, B, delta, Y, step=0.1)
    assert on_grid.rmse == pytest.approx(errors.min(), abs=1e-9)


def test_held_out_error_is_not_the_fit() -> None:
    """On noise alone the fit looks better than it is."""
    rng = np.random.default_rng(1)
    B, delta, Y = rng.uniform(0, 0.3, (1, 2, 8)), rng.uniform(0, 0.7, (1, 2, 8)), rng.uniform(0, 1, (2, 8))
    tuned = tune("smoothed", B, delta, Y)
    assert tuned.held_out > tuned.rmse


# -- significance ---------------------------------------------------------------------------------------------


def test_all_pairs_t_is_scipys() -> None:
    scores = np.random.default_rng(2).normal(size=(7, 12))
    scores[3] = scores[2]  # the same run twice
    scores[4] = scores[5] + 0.25  # the same difference on every topic
    p = paired_t(scores)
    for i, j in itertools.combinations(range(7), 2):
        constant = {(2, 3): 1.0, (4, 5): 2.0**-11}
        expected = constant.get((i, j)) or ttest_rel(scores[i], scores[j]).pvalue
        assert p[i, j] == pytest.approx(expected, abs=1e-10)
    np.testing.assert_allclose(p, p.T)


def test_separability_and_reversals_count_pairs() -> None:
    before = np.array([[1, 0.001, 0.2], [0.001, 1, 0.005], [0.2, 0.005, 1]])
    after = np.array([[1, 0.001, 0.2], [0.001, 1, 0.05], [0.2, 0.05, 1]])
    assert separability(before, 0.01) == pytest.approx(2 / 3)
    assert reversals(before, after, 0.01) == pytest.approx(1 / 3)
    assert reversals(after, before, 0.01) == 0


# -- gain models ----------------------------------------------------------------------------------------------


def noisy_gains(topics: int, depth: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    rng = np.random.default_rng(3)
    k = np.arange(1.0, depth + 1)
    a, c = 10 ** rng.uniform(-2.5, -0.5, (topics, 1)), rng.uniform(0.4, 1.6, (topics, 1))
    curves = rng.uniform(2, 30, (topics, 1)) * (np.exp(-a * (k - 1) ** c) - np.exp(-a * k**c))
    return np.clip(curves + rng.normal(0, 0.03, curves.shape), 0, 1)


CURVES: dict[str, tuple[Callable[[Any, Any], Any], list[tuple[float, ...]]]] = {
    "linear": (lambda p, k: np.maximum(p[1] - p[0] * k, 0), [(0.001, 0.3), (0.02, 0.8), (0.1, 1.0)]),
    "zipf": (lambda p, k: p[0] * k ** -p[1], [(0.3, 0.2), (1.0, 1.0)]),
    "weibull": (
        lambda p, k: p[0] * (np.exp(-np.exp(p[1]) * (k - 1) ** p[2]) - np.exp(-np.exp(p[1]) * k ** p[2])),
        [(5, -2, 1), (20, -4, 0.8), (20, -1, 0.5)],
    ),
}


@pytest.mark.parametrize("name", CURVES)
def test_fits_are_no_worse_than_scipys_from_several_starts(name: str) -> None:
    gains = noisy_gains(12, 40)
    k = np.arange(1.0, 41)
    curve, starts = CURVES[name]
    limits = (-np.inf, np.inf) if name == "weibull" else (0, np.inf)  # the paper's lambda_0 >= 0 and c >= 0
    fit = GAIN_MODELS[name].fit(gains, max_gain=np.inf)
    for topic, g in enumerate(gains):
        with np.errstate(all="ignore"):
            best = min(least_squares(lambda p, g=g: curve(p, k) - g, start, bounds=limits).cost for start in starts)
        assert fit.rmse[topic] <= np.sqrt(2 * best / 40) + 1e-6
    np.testing.assert_allclose(fit.rmse, np.sqrt(((fit.predict(k) - gains) ** 2).mean(axis=1)), atol=1e-6)


def densest(gains: Floats, points: int = 500) -> float:
    """The least RMSE of a Weibull curve for one topic: a dense grid of its own, then Nelder and Mead from the best."""
    k = np.arange(1.0, len(gains) + 1)

    def errors(a: Floats, c: Floats) -> Floats:
        a, c = np.exp(a)[..., None], np.exp(c)[..., None]
        curve = np.exp(-a * (k - 1) ** c) * -np.expm1(-a * (k**c - (k - 1) ** c))
        norm = (curve**2).sum(axis=-1)
        height = np.divide((curve * gains).sum(axis=-1), norm, out=np.zeros_like(norm), where=norm > 0)
        return np.asarray(((gains - np.maximum(height, 0)[..., None] * curve) ** 2).mean(axis=-1))

    low, high = GAIN_MODELS["weibull"].box(len(gains))
    grid = np.meshgrid(*(np.linspace(a, b, points) for a, b in zip(low, high, strict=True)), indexing="ij")
    error = errors(*grid)
    least = float(error.min())
    for place in np.argsort(error, axis=None)[:3]:
        start = [float(axis.ravel()[place]) for axis in grid]
        found = minimize(
            lambda x: float(errors(*np.clip(x, low, high))),
            start,
            method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-18, "maxiter": 2000},
        )
        least = min(least, float(found.fun))
    return float(np.sqrt(least))


def flat_gains() -> Floats:
    """Ten ranks on which hardly anything changes, as where nearly all that systems retrieve is relevant."""
    rng = np.random.default_rng(2)
    slope = rng.uniform(0.0, 0.03, 12)[:, None]
    gains: Floats = np.clip(rng.uniform(0.3, 0.95, 12)[:, None] - slope * np.arange(10), 0, 1)
    return np.clip(gains + rng.normal(0, 0.02, gains.shape), 0, 1)


@pytest.mark.long
def test_weibull_reaches_the_optimum_on_flat_gains() -> None:
    gains = flat_gains()
    fit = GAIN_MODELS["weibull"].fit(gains)
    for topic, of_topic in enumerate(gains):
        assert fit.rmse[topic] <= densest(of_topic) * 1.001 + 1e-9


@pytest.mark.long
def test_weibull_reaches_the_optimum_on_a_graded_collection() -> None:
    folder = real.collection("dl20-passage")
    exp = fm.Experiment(str(folder / "qrels.txt"), str(folder / "runs"))
    exp.warn = False
    gains = Work(Bench(exp), 10, [10], [5]).gains[10][::3]
    fit = GAIN_MODELS["weibull"].fit(gains)
    beyond = [t for t, of_topic in enumerate(gains) if fit.rmse[t] > densest(of_topic, 300) * 1.001 + 1e-9]
    assert not beyond


def test_models_find_the_curve_they_are() -> None:
    k = np.arange(1.0, 61)
    linear = GAIN_MODELS["linear"].fit(np.maximum(0.8 - 0.02 * k, 0)[None]).parameters()
    assert linear["lambda_0"][0] == pytest.approx(0.02, rel=1e-3)
    assert linear["c"][0] == pytest.approx(0.8, rel=1e-3)
    constant = GAIN_MODELS["constant"].fit(np.where(k <= 17, 0.3, 0.0)[None]).parameters()
    assert (constant["lambda_0"][0], constant["m"][0]) == (pytest.approx(0.3), 17)
    assert GAIN_MODELS["zipf"].fit(np.asarray(0.9 / k**0.7, dtype=np.float64)[None]).parameters()["c"][
        0
    ] == pytest.approx(0.7, rel=1e-3)
    curve = np.asarray(12 * (0.95 ** ((k - 1) ** 0.9) - 0.95 ** (k**0.9)), dtype=np.float64)
    weibull = GAIN_MODELS["weibull"].fit(curve[None]).parameters()
    assert weibull["lambda_1"][0] == pytest.approx(0.05, rel=1e-2)
    assert weibull["c"][0] == pytest.approx(0.9, rel=1e-2)


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_a_topic_without_relevant_documents_predicts_nothing_and_breaks_nothing(name: str) -> None:
    gains = np.vstack([np.zeros(10), np.ones(10), np.eye(10)[9]])
    fit = fit_model(name, gains)
    curve = fit.predict(np.arange(1.0, 1001))
    assert np.isfinite(curve).all()
    assert ((curve >= 0) & (curve <= 1)).all()
    if name != "static":
        np.testing.assert_allclose(curve[0], 0, atol=1e-9)


def test_hybrid_is_the_best_of_all_on_each_topic() -> None:
    gains = noisy_gains(20, 30)
    each = [model.fit(gains).rmse for model in Hybrid.models]
    np.testing.assert_allclose(fit_model("hybrid", gains).rmse, np.min(each, axis=0))


# -- expected scores ------------------------------------------------------------------------------------------

EXPECTED = ["P@3", "RBP(p=0.7)", "RBP(p=0.7)@4", "DCG@4", "RR", "RR@3", "SDCG@3"]


@pytest.mark.parametrize("measure", [*EXPECTED, "ERR(gain=binary)@4"])
def test_predicted_score_is_the_expectation_over_judgments(measure: str) -> None:
    """Unjudged documents relevant with their chances, independently: sum over all completions."""
    rng = np.random.default_rng(4)
    sample = [random_case(rng, gmax=1, unjudged=4, outside=0) for _ in range(40)]
    evidence = block(sample)
    chances = rng.uniform(0, 1, (len(sample), evidence.width))
    predicted = fm.parse_measure(measure).predicted(evidence, chances)
    for row, case in enumerate(sample):
        unknown = [i for i, doc in enumerate(case.ranking) if not doc.judged]
        total = 0.0
        for grades in itertools.product((0, 1), repeat=len(unknown)):
            ranking = list(case.ranking)
            weight = 1.0
            for place, grade in zip(unknown, grades, strict=True):
                ranking[place] = slow.Doc(grade)
                weight *= chances[row, place] if grade else 1 - chances[row, place]
            total += weight * slow.value(measure, slow.Case(tuple(ranking), case.outside, 1))
        assert predicted[row] == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize(
    "measure", ["AP", "AP@4", "AP(variant=b)@3", "nDCG", "nDCG@4", "Q", "Q@3", "INST(T=2)@4", "nERR@3"]
)
@pytest.mark.parametrize("certain", [0.0, 1.0])
def test_certain_predictions_give_the_score_of_those_judgments(measure: str, certain: float) -> None:
    rng = np.random.default_rng(5)
    sample = [random_case(rng, gmax=1, unjudged=4, outside=2, negative=False) for _ in range(60)]
    evidence = block(sample)
    parsed = fm.parse_measure(measure)
    top = parsed.top_gain(evidence) if isinstance(parsed, Graded) else 1.0
    predicted = parsed.predicted(evidence, np.full((len(sample), evidence.width), certain * top))
    for row, case in enumerate(sample):
        ranking = tuple(slow.Doc(certain) if not doc.judged else doc for doc in case.ranking)
        assert predicted[row] == pytest.approx(slow.value(measure, slow.Case(ranking, case.outside, 1)), abs=1e-9)


@pytest.mark.long
@pytest.mark.parametrize(
    "measure",
    [
        "P@3",
        "RBP(p=0.8)",
        "RBP(p=0.8,gain=linear)@4",
        "DCG@4",
        "DCG",
        "SDCG@4",
        "RR",
        "ERR@4",
        "nERR@4",
        "INST(T=2)",
        "AP",
        "AP(universe=given)@4",
        "AP(variant=b)@3",
        "nDCG@4",
        "nDCG(gain=exp)",
        "Q@4",
        "Q",
    ],
)
def test_no_estimate_leaves_its_range(measure: str) -> None:
    rng = np.random.default_rng(6)
    sample = [random_case(rng, gmax=2, unjudged=6, most=8) for _ in range(50)]
    evidence = block(sample)
    parsed = fm.parse_measure(measure)
    scores = parsed.scores(evidence)
    curves, _ = fit_curves([evidence], [parsed], MODEL_NAMES, depth=4)
    assert scores.low is not None
    assert scores.high is not None
    for method in (*PREDICTORS, *MODEL_NAMES):
        found = estimate(parsed, evidence, scores, method, curves=curves)
        assert found is not None
        assert np.isfinite(found[0]).all()
        assert (found[0] >= scores.low - 1e-12).all()
        assert (found[0] <= scores.high + 1e-12).all()


# -- pools ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def collection(simulated: Callable[..., Path]) -> Path:
    return simulated(systems=8, n_topics=6, n_docs=800, depth=100, pool_depth=10, seed=5)


def test_depths_and_prefixes_are_those_of_a_plain_loop(collection: Path) -> None:
    qrels = fm.read_qrels(collection / "qrels.txt")
    runs = fm.read_runs(collection / "runs")
    least: dict[tuple[str, bytes], int] = {}
    for run in runs.values():
        ranked = rank(run, qrels, "trec", "float32")
        for topic, row, place in zip(ranked.topic, ranked.rows, ranked.rank, strict=True):
            key = (qrels.topics[topic], run.documents[row])
            least[key] = min(int(place), least.get(key, 10**9))
    rankings = [rank(run, qrels, "trec", "float32") for run in runs.values()]
    depths = judged_depths(rankings, qrels)
    expected = [least[qrels.topics[t], d] for t, d in zip(qrels.topic, qrels.documents, strict=True)]
    assert depths.tolist() == expected
    table = document_table(list(runs), rankings, qrels.topics)
    np.testing.assert_array_equal(make_pool(table, qrels).judged_depth, depths)

    order = prefix_order(depths)
    assert order.tolist() == sorted(range(len(qrels)), key=lambda i: (expected[i], i))
    assert prefix(order, 7).sum() == 7
    shuffled = prefix_order(depths, np.random.default_rng(1))
    assert depths[shuffled].tolist() == sorted(expected)
    assert shuffled.tolist() != order.tolist()
    by_topic = prefix_by_topic(order, qrels.topic, 3)
    assert np.bincount(qrels.topic[by_topic]).tolist() == [3] * 6
    for topic in range(6):
        inside = [i for i in order if qrels.topic[i] == topic][:3]
        assert sorted(inside) == np.flatnonzero(by_topic & (qrels.topic == topic)).tolist()


def test_evidence_under_fewer_judgments_is_that_of_a_smaller_file(collection: Path) -> None:
    qrels = fm.read_qrels(collection / "qrels.txt")
    kept = np.random.default_rng(2).random(len(qrels)) < 0.4
    smaller = qrels.keep(kept)
    for run in fm.read_runs(collection / "runs").values():
        ours = with_judgments(Alignment(qrels, trace=True)(run), qrels, kept)
        theirs = Alignment(smaller)(run).evidence
        for name in ("AP", "nDCG@10", "P@10"):
            a, b = fm.parse_measure(name).scores(ours), fm.parse_measure(name).scores(theirs)
            np.testing.assert_allclose(a.score, b.score)
            np.testing.assert_allclose(a.high, b.high)  # type: ignore[arg-type]


def test_pooled_depth_is_seen(collection: Path) -> None:
    align = Alignment(fm.read_qrels(collection / "qrels.txt"))
    runs = fm.read_runs(collection / "runs")
    pooled = (collection / "pooled.txt").read_text().split()
    profiles = {}
    for name in pooled:
        codes = align(runs[name]).evidence.codes
        profiles[name] = JudgedByRank((codes != PADDING).sum(axis=0), (codes >= JUDGED).sum(axis=0))
    assert infer_pool(profiles, pooled).depth == 10


# -- the function and the commands ----------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::fathoms.FathomsWarning")
def test_predict_gives_the_contract_columns_and_all_methods(collection: Path) -> None:
    pooled = (collection / "pooled.txt").read_text().split()
    frame = fm.predict(
        collection / "qrels.txt", collection / "runs", ["P@10", "AP"], "all", by_topic=True, pooled=pooled
    )
    columns = ["run", "topic", "measure", "score", "low", "high", "method", "estimate", "likely_low", "likely_high"]
    assert frame.columns == columns
    assert frame["method"].unique().sort().to_list() == sorted(METHODS)
    assert frame.height == 8 * 7 * 2 * len(METHODS)
    assert frame.filter(
        (pl.col("estimate") < pl.col("low") - 1e-9) | (pl.col("estimate") > pl.col("high") + 1e-9)
    ).is_empty()
    full = frame.filter(pl.col("method") == "simplistic")
    np.testing.assert_allclose(full["estimate"], full["score"])


def test_predict_says_what_it_cannot_estimate(collection: Path) -> None:
    with pytest.raises(fm.FathomsError, match="Bpref has no range"):
        fm.predict(collection / "qrels.txt", collection / "runs", "Bpref", "smoothed")
    with pytest.raises(fm.FathomsError, match="SetP has no estimate from predicted gains"):
        fm.predict(collection / "qrels.txt", collection / "runs", "SetP", "linear", depth=5)


@pytest.mark.long
def test_predict_command(collection: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli("predict", collection / "qrels.txt", collection / "runs", "-m", "P@10", "--format", "tsv") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "run\ttopic\tmeasure\tscore\tlow\thigh\tmethod\testimate\tlikely_low\tlikely_high"
    assert len(lines) == 9
    assert run_cli("predict", collection / "qrels.txt", collection / "runs", "--method", "all") == 0
    assert any("weibull" in line for line in capsys.readouterr().out.splitlines() if line.startswith("P@10  "))
    assert run_cli("predict", collection / "qrels.txt", collection / "runs", "--constants", "0.4") == 2


def test_pool_command(collection: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pooled = ["--pooled", collection / "pooled.txt"]
    assert run_cli("pool", collection / "runs", "--qrels", collection / "qrels.txt", "--depth", 10, *pooled) == 0
    whole = capsys.readouterr().out
    lines = sorted(tuple(line.split()) for line in (collection / "qrels.txt").read_text().splitlines())
    assert sorted(tuple(line.split()) for line in whole.splitlines()) == lines
    assert run_cli("pool", collection / "runs", "--depth", 10, *pooled, "-o", tmp_path / "pool.tsv") == 0
    documents = [tuple(line.split("\t")) for line in (tmp_path / "pool.tsv").read_text().splitlines()[1:]]
    assert sorted((topic, document) for topic, document, _ in documents) == [(t, d) for t, _, d, _ in lines]
    assert run_cli("pool", collection / "runs", "--budget", 20) == 0
    assert len(capsys.readouterr().out.splitlines()) == 21
    assert run_cli("pool", collection / "runs", "--budget", 2, "--per-topic") == 0
    assert len(capsys.readouterr().out.splitlines()) == 13
    assert run_cli("pool", collection / "runs") == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("paper", "exhibits"),
    [
        ("rm", ["table1a", "table1b", "table1c", "table1d", "table2", "fig1", "fig2", "fig3", "fig4", "fig5"]),
        ("gain", ["table2", "table3", "fig2", "fig3", "fig4"]),
        ("depth", ["table4", "table5a", "table5b", "table6", "table7a", "table8b", "table9", "fig1", "fig4", "fig7"]),
    ],
)
def test_papers_write_their_tables_and_figures(paper: str, exhibits: list[str], tmp_path: Path) -> None:
    from fathoms.data.simulate import simulate, write

    write(simulate(systems=10, n_topics=8, n_docs=1500, depth=200, pool_depth=40, seed=1), tmp_path / "sim")
    sim = tmp_path / "sim"
    out = tmp_path / "out"
    groups = ["--groups", sim / "groups.tsv"] if paper == "depth" else []
    files = [sim / "qrels.txt", sim / "runs", "--pooled", sim / "pooled.txt"]
    assert run_cli("papers", paper, *files, *groups, "-o", out) == 0
    for exhibit in exhibits:
        assert len((out / f"{exhibit}.tsv").read_text().splitlines()) > 1
        if exhibit.startswith("table"):
            assert r"\toprule" in (out / f"{exhibit}.tex").read_text()
        else:
            assert (out / f"{exhibit}.svg").read_text().startswith("<svg")
    assert "| --- |" in (out / "index.md").read_text().replace("---|", " --- |")
