"""Lu, Moffat and Culpepper's gain models: a cell of every kind again, by plain loops and scipy."""

from __future__ import annotations

import csv
import math
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import ttest_rel

import fathoms as fm
from fathoms.base import charts
from fathoms.base.errors import FathomsError
from fathoms.data.simulate import Collection, simulate, write
from fathoms.papers import gain
from fathoms.papers.bench import Bench
from fathoms.papers.exhibits import Study
from fathoms.papers.gain_strata import (
    SAMPLE_LINE,
    SAMPLES,
    Strata,
    draw_strata,
    second_stratum_gains,
    stratified_fits,
    stratified_gains,
)
from tests.questions.audit.test_audit import Grades, Ranking, plain, pooled_grades
from tests.support.commands import status
from tests.support.studies import one, rows

POOL = 40


@pytest.fixture(scope="module")
def made() -> Collection:
    return simulate(systems=9, n_topics=8, n_docs=700, depth=80, pool_depth=POOL, seed=5)


@pytest.fixture(scope="module")
def parameters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gain") / "parameters.tsv"


def experiment(made: Collection) -> fm.Experiment:
    return fm.Experiment(made.qrels, made.runs, pooled=made.pooled, score_precision="float64", workers=1)


@pytest.fixture(scope="module")
def study(made: Collection, parameters: Path) -> Study:
    return gain.study(experiment(made), gain.GainSettings(POOL, parameters))


@pytest.fixture(scope="module")
def loops(made: Collection) -> tuple[Grades, dict[str, Ranking]]:
    grades, rankings = plain(made)
    return grades, {name: rankings[name] for name in made.pooled}


def fitted(parameters: Path) -> list[dict[str, str]]:
    with parameters.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def curve(parameters: Path, depth: int, topic: str, model: str, most: float = 1.0) -> list[float]:
    """The gain at ranks 1..POOL, by the formulas of the paper's Table 1; predictions are no more than 1."""
    of = {
        row["parameter"]: float(row["value"])
        for row in fitted(parameters)
        if (row["depth"], row["topic"], row["model"]) == (str(depth), topic, model) and row["parameter"]
    }
    found = []
    for k in range(1, POOL + 1):
        if model == "static":
            g = 0.5
        elif model == "constant":
            g = of["lambda_0"] if k <= of["m"] else 0.0
        elif model == "linear":
            g = max(of["c"] - of["lambda_0"] * k, 0.0)
        elif model == "zipf":
            g = of["height"] / k ** of["c"]
        else:
            g = of["lambda_0"] * ((1 - of["lambda_1"]) ** ((k - 1) ** of["c"]) - (1 - of["lambda_1"]) ** (k ** of["c"]))
        found.append(min(max(g, 0.0), most))
    return found


def empirical(loops: tuple[Grades, dict[str, Ranking]], topic: str, depth: int) -> list[float]:
    grades, rankings = loops
    return [
        statistics.fmean(
            len(ranking[topic]) > i and grades[topic].get(ranking[topic][i], 0) >= 1 for ranking in rankings.values()
        )
        for i in range(depth)
    ]


def rmse(one: list[float], other: list[float]) -> float:
    return math.sqrt(statistics.fmean((a - b) ** 2 for a, b in zip(one, other, strict=True)))


# -- goodness of fit --------------------------------------------------------------------------------------------------


def errors(loops: tuple[Grades, dict[str, Ranking]], parameters: Path, depth: int) -> dict[str, list[float]]:
    topics = loops[0]
    return {
        model: [rmse(curve(parameters, depth, t, model, math.inf)[:depth], empirical(loops, t, depth)) for t in topics]
        for model in gain.MODELS
    }


@pytest.mark.long
@pytest.mark.parametrize("depth", [8, 20])
def test_tables_2_a_and_b(depth: int, study: Study, loops: tuple[Grades, dict[str, Ranking]], parameters: Path) -> None:
    by_model = errors(loops, parameters, depth)
    hybrid = [min(of_topic) for of_topic in zip(*by_model.values(), strict=True)]
    row = one(study, "table2", depth=depth)
    for model, of_topics in by_model.items():
        assert row[model] == pytest.approx(statistics.fmean(of_topics), abs=1e-6), model
        p = float(ttest_rel(of_topics, hybrid).pvalue)
        assert row[f"{model}_mark"] == ("" if p <= 0.05 else "†")
    assert row["hybrid"] == pytest.approx(statistics.fmean(hybrid), abs=1e-6)
    pair = one(study, "tableA", depth=depth, model="zipf", other="weibull")
    assert pair["rmse_difference"] == pytest.approx(row["zipf"] - row["weibull"])
    assert pair["p"] == pytest.approx(ttest_rel(by_model["zipf"], by_model["weibull"]).pvalue, rel=1e-3)
    best = one(study, "tableB", depth=depth)
    won = [sum(by_model[model][i] <= hybrid[i] + 1e-9 for i in range(len(hybrid))) for model in gain.MODELS]
    assert [best[model] for model in gain.MODELS] == pytest.approx([100 * n / len(hybrid) for n in won])


def test_no_other_weibull_fits_better(study: Study, loops: tuple[Grades, dict[str, Ranking]], parameters: Path) -> None:
    topic = next(iter(loops[0]))
    gains = np.array(empirical(loops, topic, 20))
    k = np.arange(1, 21)

    def error(x: Any) -> float:
        height, a, c = x[0], math.exp(x[1]), math.exp(x[2])
        return float(((height * (np.exp(-a * (k - 1) ** c) - np.exp(-a * k**c)) - gains) ** 2).mean())

    starts = [(h, a, c) for h in (2.0, 20.0) for a in (-4.0, -1.0) for c in (-0.5, 0.3)]
    solved = min(minimize(error, x, method="Nelder-Mead", options={"maxiter": 4000}).fun for x in starts)
    assert rmse(curve(parameters, 20, topic, "weibull")[:20], gains.tolist()) <= math.sqrt(solved) + 1e-5


def test_figure_4_is_of_these_curves(study: Study, loops: tuple[Grades, dict[str, Ranking]], parameters: Path) -> None:
    topic = rows(study, "fig4")[0]["topic"]
    dots = [row["gain"] for row in rows(study, "fig4") if row["model"] == "empirical" and row["topic"] == topic]
    assert dots == pytest.approx(empirical(loops, topic, POOL))
    for depth in (4, POOL):
        line = [
            row["gain"]
            for row in rows(study, "fig4")
            if (row["model"], row["topic"], row["fitted_at"]) == ("weibull", topic, depth)
        ]
        assert line == pytest.approx(curve(parameters, depth, topic, "weibull"), abs=1e-5)


# -- predictive strength ----------------------------------------------------------------------------------------------


def rbp(gains: list[float | None], unknown: list[float]) -> tuple[float, float]:
    """The score with `unknown` for None, and the weight of None with the tail."""
    score = sum(0.05 * 0.95**i * (u if g is None else g) for i, (g, u) in enumerate(zip(gains, unknown, strict=True)))
    rest = sum(0.05 * 0.95**i for i, g in enumerate(gains) if g is None) + 0.95 ** len(gains)
    return score, rest


def known(grades: Grades, topic: str, ranking: list[str]) -> list[float | None]:
    judged = grades[topic]
    return [float(judged[d] >= 1) if d in judged else None for d in ranking[:POOL]]


def epsilons(loops: tuple[Grades, dict[str, Ranking]], depth: int, estimate: Any) -> tuple[float, float]:
    """The mean root mean square, and the percentage inside."""
    grades, rankings = loops
    full, few = (pooled_grades(grades, rankings, list(rankings), d) for d in (POOL, depth))
    of_systems, inside = [], []
    for ranking in rankings.values():
        squares = []
        for topic in grades:
            known_few = known(few, topic, ranking[topic])
            low, rest = rbp(known(full, topic, ranking[topic]), [0.0] * len(known_few))
            X = estimate(topic, ranking[topic], known_few)
            epsilon = max(low - X, X - low - rest, 0.0)
            squares.append(epsilon**2)
            inside.append(epsilon < 1e-12)
        of_systems.append(math.sqrt(statistics.fmean(squares)))
    return statistics.fmean(of_systems), 100 * statistics.fmean(inside)


@pytest.mark.parametrize("model", ["linear", "weibull"])
def test_table_3(model: str, study: Study, loops: tuple[Grades, dict[str, Ranking]], parameters: Path) -> None:
    row = one(study, "table3", depth=16)
    curves = {topic: curve(parameters, 16, topic, model) for topic in loops[0]}
    found = epsilons(loops, 16, lambda topic, ranking, gains: rbp(gains, curves[topic][: len(gains)])[0])
    assert row[model] == pytest.approx(found[0], abs=1e-5)
    assert row[f"{model}_inside"] == pytest.approx(found[1], abs=1.5)


def test_table_3_of_rm(study: Study, loops: tuple[Grades, dict[str, Ranking]]) -> None:
    def estimate(topic: str, ranking: list[str], gains: list[float | None]) -> float:
        score, rest = rbp(gains, [0.0] * len(gains))
        return score + rest * score / (1 - rest)

    row = one(study, "table3", depth=16)
    found = epsilons(loops, 16, estimate)
    assert (row["RM"], row["RM_inside"]) == pytest.approx(found)


def test_the_model_conditioned_on_documents(
    study: Study, loops: tuple[Grades, dict[str, Ranking]], parameters: Path
) -> None:
    """Two coefficients, fitted by scipy on the documents between the pools of half the depth and of the depth."""
    grades, rankings = loops
    depth, half = 16, 8
    pools = {d: pooled_grades(grades, rankings, list(rankings), d) for d in (half, depth)}

    def means(at: int) -> dict[tuple[str, str], float]:
        found: dict[tuple[str, str], float] = {}
        for topic in grades:
            gains = curve(parameters, at, topic, "weibull")
            for ranking in rankings.values():
                for i, d in enumerate(ranking[topic][:POOL]):
                    found[topic, d] = found.get((topic, d), 0.0) + gains[i] / len(rankings)
        return {place: math.log(max(x, 1e-6)) for place, x in found.items()}

    before = means(half)
    cases = [
        (before[topic, d], grade >= 1)
        for topic, judged in pools[depth].items()
        for d, grade in judged.items()
        if d not in pools[half][topic]
    ]
    x, y = np.array([case[0] for case in cases]), np.array([float(case[1]) for case in cases])

    def minus_log_posterior(c: Any) -> float:
        z = c[0] + c[1] * x
        return float((np.logaddexp(0, z) - y * z).sum() + 0.005 * c[0] ** 2 + 0.5 * (c[1] - 1) ** 2)

    a, b = minimize(minus_log_posterior, [0.0, 1.0]).x
    now = means(depth)
    chance = {place: 1 / (1 + math.exp(-a - b * z)) for place, z in now.items()}

    def estimate(topic: str, ranking: list[str], gains: list[float | None]) -> float:
        return rbp(gains, [chance[topic, d] for d in ranking[: len(gains)]])[0]

    found = epsilons(loops, depth, estimate)
    assert one(study, "tableC", depth=depth)["conditioned"] == pytest.approx(found[0], abs=1e-4)
    assert one(study, "tableC", depth=depth)["weibull"] == one(study, "table3", depth=depth)["weibull"]


def test_figure_2(study: Study, loops: tuple[Grades, dict[str, Ranking]], parameters: Path) -> None:
    grades, rankings = loops
    name, topic = study["fig2"].title.split("run ")[1].split(", topic ")
    found = {(row["pool"], row["bound"], row["k"]): row["score"] for row in rows(study, "fig2")}
    ends = {}
    for depth, of in ((4, "d'"), (POOL, "d")):
        pool = pooled_grades(grades, rankings, list(rankings), depth)
        for k in (1, 10, POOL):
            gains = known(pool, topic, rankings[name][topic])[:k]
            low, rest = rbp(gains, [0.0] * len(gains))
            ends[depth] = low, low + rest
            assert found[f"{of} = {depth}", "LB", k] == pytest.approx(low)
            assert found[f"{of} = {depth}", "UB", k] == pytest.approx(low + rest)
            if depth == 4:
                estimate = rbp(gains, curve(parameters, 4, topic, "weibull")[: len(gains)])[0]
                assert found["Weibull estimate, d' = 4", "estimate", k] == pytest.approx(estimate, abs=1e-5)
    low, high = ends[POOL]
    region = "A" if estimate > high else "C" if estimate < low else "B"
    assert f"so {region}, with ε = {max(low - estimate, estimate - high, 0):.3f}" in study["fig2"].note
    assert min(ends[4][1] - high, low - ends[4][0]) > 0


def test_figure_3_counts(study: Study, loops: tuple[Grades, dict[str, Ranking]]) -> None:
    grades, rankings = loops
    pool, before = (pooled_grades(grades, rankings, list(rankings), d) for d in (8, 4))
    topic = next(iter(grades))
    whole = pooled_grades(grades, rankings, list(rankings), POOL)[topic]
    row = one(study, "fig3", row="topic", topic=topic)
    assert (row["judged"], row["relevant"]) == (len(whole), sum(g >= 1 for g in whole.values()))
    new = [g for t in grades for d, g in pool[t].items() if d not in before[t]]
    band = one(study, "fig3", row="band", depth=8)
    assert (band["judged"], band["relevant"]) == (len(new), sum(g >= 1 for g in new))
    assert band["percent_relevant"] == pytest.approx(100 * sum(g >= 1 for g in new) / len(new))


# -- stratified pooling -----------------------------------------------------------------------------------------------


def least_depths(grades: Grades, rankings: dict[str, Ranking], topic: str) -> dict[str, int]:
    """The least rank of each judged document of the pool."""
    ranks: dict[str, int] = {}
    for ranking in rankings.values():
        for rank, d in enumerate(ranking[topic][:POOL], 1):
            if d in grades[topic]:
                ranks[d] = min(rank, ranks.get(d, rank))
    return ranks


def weighted_documents(bench: Bench, strata: Strata) -> dict[str, dict[str, float]]:
    """How many documents each judged one stands for, by topic."""
    weights: dict[str, dict[str, float]] = {topic: {} for topic in bench.qrels.topics}
    for row in np.flatnonzero(strata.made):
        document = bench.qrels.documents[row].decode()
        weights[bench.qrels.topics[bench.qrels.topic[row]]][document] = float(strata.weights[row])
    return weights


@pytest.fixture(scope="module")
def stratified(made: Collection) -> tuple[Bench, Strata]:
    bench = Bench(experiment(made))
    in_pool = (bench.depths <= POOL) & bench.judged
    return bench, draw_strata(bench.qrels, bench.depths, in_pool, 16, np.random.default_rng(3))


def test_two_strata_cost_what_the_pool_costs(
    stratified: tuple[Bench, Strata], loops: tuple[Grades, dict[str, Ranking]]
) -> None:
    by_topic = weighted_documents(*stratified)
    for topic in loops[0]:
        depths, weights = least_depths(*loops, topic), by_topic[topic]
        assert len(weights) == sum(depth <= 16 for depth in depths.values())
        assert {d for d in depths if depths[d] <= 8} == {d for d, w in weights.items() if w == 1.0}
        sampled = [w for d, w in weights.items() if depths[d] > 8]
        assert sum(sampled) == pytest.approx(sum(depth > 8 for depth in depths.values()))
        assert len(set(sampled)) == 1
        assert any(depths[d] > 16 for d in weights)


def test_gains_of_strata(stratified: tuple[Bench, Strata], loops: tuple[Grades, dict[str, Ranking]]) -> None:
    bench, strata = stratified
    grades, rankings = loops
    by_topic = weighted_documents(bench, strata)
    gains, behind = stratified_gains(bench, strata, POOL)
    sample_gains, sample_behind = second_stratum_gains(bench, strata, POOL)
    for row, topic in enumerate(bench.qrels.topics):
        depths, weights = least_depths(grades, rankings, topic), by_topic[topic]
        for i in (0, 7, 8, 20, POOL - 1):
            at_rank = [ranking[topic][i] for ranking in rankings.values() if len(ranking[topic]) > i]
            ended = len(rankings) - len(at_rank)
            known_at_rank = [(weights[d], grades[topic][d] >= 1, depths[d]) for d in at_rank if d in weights]
            total = sum(w for w, _, _ in known_at_rank)
            assert behind[row, i] == pytest.approx(total + ended)
            assert gains[row, i] == pytest.approx(sum(w * g for w, g, _ in known_at_rank) / (total + ended or 1))
            deep = [(w, g) for w, g, depth in known_at_rank if depth > 8]
            assert sample_behind[row, i] == pytest.approx(sum(w for w, _ in deep))
            assert sample_gains[row, i] == pytest.approx(sum(w * g for w, g in deep) / (sum(w for w, _ in deep) or 1))
    assert gains[:, :8] == pytest.approx(np.array([empirical(loops, t, 8) for t in bench.qrels.topics]))


def test_samples_weigh_right_on_the_average(stratified: tuple[Bench, Strata]) -> None:
    """Over many samples the weights of every document of the pool average to 1."""
    bench, _ = stratified
    in_pool = (bench.depths <= POOL) & bench.judged
    rng = np.random.default_rng(8)
    weights = np.array([draw_strata(bench.qrels, bench.depths, in_pool, 16, rng).weights for _ in range(400)])
    errors = weights.std(axis=0, ddof=1)[in_pool] / 20
    away = np.abs(weights.mean(axis=0)[in_pool] - 1)
    assert (away <= 5 * errors + 1e-9).all()
    assert not weights[:, ~in_pool].any()


def test_table_e(study: Study, made: Collection, loops: tuple[Grades, dict[str, Ranking]]) -> None:
    """The same samples again, their errors by plain loops; the curves are those of the fits."""
    grades, rankings = loops
    bench = Bench(experiment(made))
    in_pool = (bench.depths <= POOL) & bench.judged
    row, pool = one(study, "tableE", depth=16), one(study, "table3", depth=16)
    assert (row["pool_weibull"], row["pool_linear_inside"]) == (pool["weibull"], pool["linear_inside"])
    assert row["judgments"] == sum(map(len, pooled_grades(grades, rankings, list(rankings), 16).values()))
    full = pooled_grades(grades, rankings, list(rankings), POOL)
    of_samples: dict[str, list[float]] = {"weibull": [], SAMPLE_LINE: []}
    for sample in range(SAMPLES):
        strata = draw_strata(bench.qrels, bench.depths, in_pool, 16, np.random.default_rng([0, 16, sample]))
        fits = stratified_fits(bench, strata, POOL)
        few = {t: {d: grades[t][d] for d in weights} for t, weights in weighted_documents(bench, strata).items()}
        for method, of_sample in of_samples.items():
            curves = dict(zip(bench.qrels.topics, fits[method].predict(np.arange(1.0, POOL + 1)), strict=True))

            def root_mean_square(ranking: Ranking, curves: Any = curves, few: Grades = few) -> float:
                squares = []
                for topic in grades:
                    known_few = known(few, topic, ranking[topic])
                    low, residual = rbp(known(full, topic, ranking[topic]), [0.0] * len(known_few))
                    X = rbp(known_few, list(curves[topic][: len(known_few)]))[0]
                    squares.append(max(low - X, X - low - residual, 0.0) ** 2)
                return math.sqrt(statistics.fmean(squares))

            of_sample.append(statistics.fmean(map(root_mean_square, rankings.values())))
    for method, of_sample in of_samples.items():
        assert row[f"strata_{method}"] == pytest.approx(statistics.fmean(of_sample)), method


# -- advice, refusals, flags ------------------------------------------------------------------------------------------


def test_the_weight_beyond_and_the_advice(study: Study) -> None:
    row = one(study, "tableD", p=0.8)
    assert row["tail"] == pytest.approx(0.8**POOL)
    assert 0.8 ** row["same_tail_k"] <= 0.95**POOL < 0.8 ** (row["same_tail_k"] - 1)
    assert row["pool_depth"] == math.ceil(row["same_tail_k"] / 2)
    assert one(study, "tableD", p=0.95)["same_tail_k"] == POOL
    half = one(study, "tableC", depth=POOL // 2)
    (said,) = [note for note in study.notes if "p^k" in note]
    assert f"p^k = {0.95**POOL:.3f}" in said
    assert f"d' = {POOL // 2} gives a root-mean-square ε of {half['weibull']:.3f}" in said


@pytest.mark.long
def test_nothing_is_fitted_to_one_rank(made: Collection) -> None:
    for depth in (1, 4):
        with pytest.raises(FathomsError, match=f"a pool of depth {depth} is too shallow.*one rank makes no curve"):
            gain.study(experiment(made), gain.GainSettings(depth))
    shallow = gain.study(experiment(made), gain.GainSettings(7))
    assert [row["depth"] for row in rows(shallow, "table2")] == [2, 3]
    assert sum("No model is fitted to a pool of depth 1" in note for note in shallow.notes) == 1
    assert [row["conditioned"] is None for row in rows(shallow, "tableC")] == [True, False, False]


@pytest.mark.long
def test_parameters_by_flag(tmp_path: Path, made: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "available", lambda: False)
    write(made, tmp_path / "sim")
    files = [tmp_path / "sim" / "qrels.txt", tmp_path / "sim" / "runs", "--pooled", tmp_path / "sim" / "pooled.txt"]
    file = tmp_path / "parameters.tsv"
    assert status("papers", "gain", *files, "--depth", "10", "--parameters", file, "-o", tmp_path / "out") == 0
    nowhere = tmp_path / "none" / "parameters.tsv"
    assert status("papers", "gain", *files, "--parameters", nowhere, "-o", tmp_path / "other") == 2
    assert not (tmp_path / "other").exists()
    found = fitted(file)
    assert {row["model"] for row in found} == set(gain.MODELS)
    assert {row["topic"] for row in found} == set(plain(made)[0])
    for topic in plain(made)[0]:
        best = {
            row["model"] for row in found if row["depth"] == "10" and row["topic"] == topic and row["is_best"] == "True"
        }
        assert len(best) == 1


def test_tables_are_laid_out_as_in_the_paper(study: Study) -> None:
    assert [column.head for column in study["table2"].printed().columns] == [
        "d",
        "G_s",
        "G_c",
        "G_l",
        "G_z",
        "G_w",
        "G_H",
    ]
    assert not any(cell.bold for cells in study["table2"].printed().rows for cell in cells)  # as in the paper
    for row, cells in zip(rows(study, "table3"), study["table3"].printed().rows, strict=True):
        shown = [f"{row[name]:.3f}" for name in (*gain.EXTRAPOLATED, "RM")]
        none_bold = shown.count(min(shown)) > len(shown) / 2
        assert [cell.bold for cell in cells[1::2]] == [text == min(shown) and not none_bold for text in shown]
    theirs = study["table3"].in_paper
    assert theirs is not None
    bold = [cell.plain for cell in theirs.printed().rows[0] if cell.bold]
    assert bold == ["33", "0.015", "33"]  # as in the paper
    for exhibit in study.exhibits:
        assert len(set(exhibit.columns)) == len(exhibit.columns)
        assert exhibit.layout or not exhibit.is_table
    titles = [exhibit.title for exhibit in study.exhibits]
    assert len(set(titles)) == len(titles)
