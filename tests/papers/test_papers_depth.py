"""Lu, Moffat and Culpepper's tables and figures: a cell of every kind again, by plain loops and by scipy."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr, ttest_rel

import fathoms as fm
from fathoms.base import charts
from fathoms.data.simulate import Collection, simulate, write
from fathoms.inference.correlation import correlation_matrix
from fathoms.papers import depth
from fathoms.papers.exhibits import Study
from tests.questions.audit.test_audit import plain, pooled_grades
from tests.support.commands import status
from tests.support.studies import one, rows

POOL, CUT, DRAWN = 30, 10, 20
Grades = dict[str, dict[str, float]]
Score = Callable[[Sequence[float], Sequence[float], int], float]  # of the grades of a ranking and of all judged, at k


@pytest.fixture(scope="module")
def made() -> Collection:
    return simulate(systems=8, n_topics=7, n_docs=500, depth=70, pool_depth=POOL, seed=3)


@pytest.fixture(scope="module")
def study(made: Collection) -> Study:
    experiment = fm.Experiment(
        made.qrels, made.runs, pooled=made.pooled, groups=made.groups, score_precision="float64", workers=1
    )
    return depth.study({"sim": experiment})


# -- measures as plain loops ------------------------------------------------------------------------------------------


def ap_b(ranking: Sequence[float], judged: Sequence[float], k: int) -> float:
    total = sum(sum(g >= 1 for g in ranking[: i + 1]) / (i + 1) for i in range(min(k, len(ranking))) if ranking[i] >= 1)
    R = min(k, sum(g >= 1 for g in judged))
    return total / R if R else 0.0


def ap_c_of(R_k: int) -> Score:
    return lambda ranking, judged, k: ap_b(ranking, [1.0] * R_k, 10**6) if R_k else 0.0


def dcg(grades: Sequence[float]) -> float:
    return sum(g / math.log2(i + 2) for i, g in enumerate(grades))


def ndcg(ranking: Sequence[float], judged: Sequence[float], k: int) -> float:
    ideal = dcg(sorted(judged, reverse=True)[:k])
    return dcg(ranking[:k]) / ideal if ideal else 0.0


def rbp(p: float) -> Score:
    return lambda ranking, judged, k: (1 - p) * sum(p**i for i, g in enumerate(ranking[:k]) if g >= 1)


class Plain:
    """Scores [run][topic] with the judgments of a pool, unjudged documents not relevant or left out."""

    def __init__(self, made: Collection, d: int) -> None:
        grades, rankings = plain(made)
        self.names = made.pooled
        self.grades = grades if d == POOL else pooled_grades(grades, rankings, made.pooled, d)
        self.rankings = rankings

    def ranking(self, run: str, topic: str, condensed: bool = False) -> list[float]:
        known = self.grades[topic]
        return [known.get(doc, 0.0) for doc in self.rankings[run].get(topic, []) if doc in known or not condensed]

    def scores(self, score: Score, k: int, condensed: bool = False) -> list[list[float]]:
        return [
            [score(self.ranking(run, topic, condensed), list(self.grades[topic].values()), k) for topic in self.grades]
            for run in self.names
        ]

    def means(self, score: Score, k: int, condensed: bool = False) -> list[float]:
        return [statistics.fmean(of_run) for of_run in self.scores(score, k, condensed)]


def ratios(reference: list[list[float]], here: list[list[float]]) -> tuple[float, float, float]:
    """Discrimination, coverage and inversion in percent (eqs. 5 and 6)."""
    separated = covered = inverted = now = 0
    pairs = list(combinations(range(len(here)), 2))
    for i, j in pairs:
        then, a, b = (ttest_rel(s[i], s[j]).pvalue for s in (reference, here, here))
        difference = statistics.fmean(reference[i]) - statistics.fmean(reference[j])
        other = statistics.fmean(here[i]) - statistics.fmean(here[j])
        now += a < 0.05
        if then < 0.05:
            separated += 1
            covered += b < 0.05 and difference * other > 0
            inverted += difference * other < 0
    return 100 * now / len(pairs), 100 * covered / max(separated, 1), 100 * inverted / max(separated, 1)


# -- pools ------------------------------------------------------------------------------------------------------------


def test_fig_1_and_table_3_count_the_pool(study: Study, made: Collection) -> None:
    grades, rankings = plain(made)
    assert rows(study, "table3") == [
        {"collection": "sim", "pool_depth": POOL, "contributing_runs": len(made.pooled), "topics": len(grades)}
        | {"topic_ids": f"{min(grades, key=int)} – {max(grades, key=int)}"}
    ]
    at = {d: pooled_grades(grades, rankings, made.pooled, d) for d in (7, 10)}
    sizes = {d: sum(map(len, pool.values())) for d, pool in at.items()}
    found = {d: sum(g >= 1 for judged in pool.values() for g in judged.values()) for d, pool in at.items()}
    row = one(study, "fig1", depth=10)
    assert row["relevant_by_topic"] == pytest.approx(found[10] / len(grades))
    assert row["new_documents"] == sizes[10] - sizes[7]
    assert row["relevant_share_of_new"] == pytest.approx((found[10] - found[7]) / (sizes[10] - sizes[7]))
    chart = study["fig1"].chart
    assert chart is not None
    titles = [pane["encoding"]["y"]["title"] for pane in chart.chart().to_dict()["concat"]]
    assert titles == ["relevant documents per topic", "relevant share of new documents"]


@pytest.mark.parametrize("d", [CUT, POOL])
def test_table_4_by_hand(d: int, study: Study, made: Collection) -> None:
    pool = Plain(made, d)
    inside, first, past = [], [], []
    for run in made.pooled:
        for topic, judged in pool.grades.items():
            docs = pool.rankings[run].get(topic, [])
            relevant = sum(judged.get(doc, 0) >= 1 for doc in docs[:d])
            inside.append(relevant)
            past.append(sum(g >= 1 for g in judged.values()) - relevant)
            if docs:
                first.append(next((i for i, doc in enumerate(docs, 1) if doc not in judged), len(docs) + 1))
    row = one(study, "table4", mode=f"d = {d}")
    for name, values in (("RelInPool", inside), ("RankUnj", first), ("NumRelPast", past)):
        assert row[name] == pytest.approx(statistics.fmean(values))
        assert row[f"{name}_sd"] == pytest.approx(statistics.pstdev(values))


def test_table_5_takes_away_what_only_one_brought(study: Study, made: Collection) -> None:
    pool = Plain(made, CUT)
    full = pool.means(ap_b, CUT)
    changes, moved = [], []
    for i, run in enumerate(made.pooled):
        less = Plain(made, CUT)
        less.grades = {
            topic: {
                doc: grade
                for doc, grade in judged.items()
                if doc not in pool.rankings[run].get(topic, [])[:CUT]
                or any(doc in pool.rankings[other].get(topic, [])[:CUT] for other in made.pooled if other != run)
            }
            for topic, judged in pool.grades.items()
        }
        without = less.means(ap_b, CUT)[i]
        changes.append(100 * (without - full[i]) / full[i])
        moved.append(abs(sum(x > without + 1e-12 for x in full) - sum(x > full[i] + 1e-12 for x in full)))
    # The run itself is among those it is compared with by its old score, which is never below its new one here.
    moved = [m - (c < 0) for m, c in zip(moved, changes, strict=True)]
    row = one(study, "table5a", d=CUT, measure="AP(variant=b)")
    assert row["change_percent"] == pytest.approx(statistics.fmean(changes))
    assert row["median_percent"] == pytest.approx(statistics.median(changes))
    assert row["rank_change"] == pytest.approx(statistics.fmean(moved))
    assert [column.group for column in study["table5a"].layout[1:]] == ["sim, d = 30"] * 2 + ["sim, d = 10"] * 2
    laid = study["table5b"].printed()
    assert laid.rows[0][0].text == "AP_b@k"
    assert float(laid.rows[0][3].text) == pytest.approx(
        one(study, "table5b", d=CUT, measure="AP(variant=b)")["change_percent"], abs=0.005
    )


# -- scores by depth --------------------------------------------------------------------------------------------------


def test_figs_2_and_3_go_on_past_the_cut_pool(study: Study, made: Collection) -> None:
    pool = Plain(made, DRAWN)
    for figure, name, score, condensed in (
        ("fig2", "AP(variant=b)", ap_b, False),
        ("fig2", "nDCG(judged_only=True)", ndcg, True),
        ("fig3", "RBP(p=0.95)", rbp(0.95), False),
    ):
        for k in (5, 45):
            found = {r["run"]: r["score"] for r in rows(study, figure) if (r["measure"], r["depth"]) == (name, k)}
            assert found == pytest.approx(dict(zip(made.pooled, pool.means(score, k, condensed), strict=True)))
    assert {row["d"] for row in rows(study, "fig2")} == {DRAWN}
    last = [row for row in rows(study, "fig3") if row["measure"] == "ERR" and row["depth"] == 70]
    ordered = sorted(last, key=lambda row: row["score"])
    n = len(ordered) - 1
    assert {row["run"] for row in last if row["emphasised"]} == {
        ordered[round(share * n)]["run"] for share in (0, 0.25, 0.5, 0.75, 1)
    }


def test_fig_4_and_its_correlations_by_scipy(study: Study, made: Collection) -> None:
    for d, k in ((CUT, 40), (POOL, 4)):
        pool = Plain(made, d)
        reference, here = pool.scores(ndcg, d), pool.scores(ndcg, k)
        x, y = ([statistics.fmean(of_run) for of_run in scores] for scores in (reference, here))
        row = one(study, "fig4", d=d, depth=k)
        discrimination, coverage, inversion = ratios(reference, here)
        assert 100 * row["discrimination"] == pytest.approx(discrimination)
        assert 100 * row["coverage"] == pytest.approx(coverage)
        assert 100 * row["inversion"] == pytest.approx(inversion)
        p = [ttest_rel(here[i], here[j]).pvalue for i, j in combinations(range(len(here)), 2)]
        assert row["median_p"] == pytest.approx(statistics.median(p))
        assert row["tau"] == pytest.approx(kendalltau(x, y).statistic)
        assert row["pearson"] == pytest.approx(pearsonr(x, y).statistic)
        others = one(study, "tableA", d=d, k=k)
        assert others["spearman"] == pytest.approx(spearmanr(x, y).statistic)
        assert others["rmse"] == pytest.approx(
            math.sqrt(statistics.fmean((a - b) ** 2 for a, b in zip(x, y, strict=True)))
        )
    chart = study["fig4"].chart
    assert chart is not None
    assert len(chart.chart().concat) == 6


@pytest.mark.parametrize(("letter", "d"), [("a", POOL), ("b", CUT)])
def test_tables_7_and_8_by_scipy(letter: str, d: int, study: Study, made: Collection) -> None:
    pool = Plain(made, d)
    for table, name, condensed in (
        ("table7", "AP(variant=b)", False),
        ("table8", "AP(variant=b,judged_only=True)", True),
    ):
        expected = ratios(pool.scores(ap_b, d, condensed), pool.scores(ap_b, 40, condensed))
        row = one(study, f"{table}{letter}", k=40, measure=name)
        assert (row["d"], row["discrimination"], row["coverage"], row["inversion"]) == pytest.approx((d, *expected))
    lengths = [
        len(pool.ranking(run, t, condensed=True)) for run in made.pooled for t in pool.grades if t in pool.rankings[run]
    ]
    row = one(study, "tableB", d=d)
    assert (row["mean"], row["longest"]) == (pytest.approx(statistics.fmean(lengths)), max(lengths))


def test_table_9_by_hand(study: Study, made: Collection) -> None:
    pool = Plain(made, CUT)
    for k in (4, 40):
        score = statistics.fmean(pool.means(rbp(0.8), k))
        residuals = []
        for run in made.pooled:
            for topic, judged in pool.grades.items():
                docs = pool.rankings[run].get(topic, [])[:k]
                unknown = sum(0.2 * 0.8**i for i in range(k) if i >= len(docs) or docs[i] not in judged)
                residuals.append(unknown + 0.8**k)
        row = one(study, "table9", d=CUT, k=k, measure="RBP(p=0.8)")
        assert row["score"] == pytest.approx(score)
        assert row["residual"] == pytest.approx(statistics.fmean(residuals))


def test_figs_5_to_7_by_scipy(study: Study, made: Collection) -> None:
    pool = Plain(made, DRAWN)
    row = one(study, "fig5", measure="AP(variant=b)", depth=5, other_depth=45)
    assert row["tau"] == pytest.approx(kendalltau(pool.means(ap_b, 5), pool.means(ap_b, 45)).statistic)
    row = one(study, "fig6", measure="RBP(p=0.95)", depth=3, other_depth=30)
    assert row["tau"] == pytest.approx(kendalltau(pool.means(rbp(0.95), 3), pool.means(rbp(0.95), 30)).statistic)
    for k in (7, 45):  # R of what is in the pool of depth k, and at most of that of depth DRAWN
        grades, rankings = plain(made)
        at = pooled_grades(grades, rankings, made.pooled, min(k, DRAWN))
        ap_c = []
        for run in made.pooled:
            of_topics = []
            for topic in pool.grades:
                R = sum(g >= 1 for g in at[topic].values())
                of_topics.append(ap_c_of(R)(pool.ranking(run, topic)[:k], [], k))
            ap_c.append(statistics.fmean(of_topics))
        row = one(study, "fig7", measure="AP(variant=b)", other="AP(variant=c)", depth=12, other_depth=k)
        assert row["tau"] == pytest.approx(kendalltau(pool.means(ap_b, 12), ap_c).statistic)


def test_the_weight_of_rank_1(study: Study) -> None:
    weights = {(row["measure"], row["k"]): row["weight"] for row in rows(study, "tableC")}
    for k, printed in ((5, "0.34"), (10, "0.22"), (20, "0.14")):
        assert f"{weights['nDCG', k]:.2f}" == printed
        assert weights["nDCG", k] == pytest.approx(1 / sum(1 / math.log2(1 + i) for i in range(1, k + 1)))
        assert weights["AP(variant=b)", k] == pytest.approx(sum(1 / i for i in range(1, k + 1)) / k)
        assert (weights["RBP(p=0.8)", k], weights["P", k]) == (pytest.approx(0.2), pytest.approx(1 / k))


# -- collections and correlations -------------------------------------------------------------------------------------


@pytest.mark.long
def test_collections_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "available", lambda: False)  # drawing takes most of the time
    for name, pool in (("deep", 25), ("flat", 5)):
        write(simulate(systems=5, n_topics=4, n_docs=200, depth=40, pool_depth=pool, seed=pool), tmp_path / name)
    (tmp_path / "flat" / "groups.tsv").unlink()
    folders = [tmp_path / "deep", tmp_path / "flat"]
    assert status("papers", "depth", *folders, "-o", tmp_path / "out", "--pools", "10,15", "--quiet") == 0
    table = [line.split("\t") for line in (tmp_path / "out" / "table9.tsv").read_text().splitlines()[1:]]
    assert list(dict.fromkeys((row[0], row[1]) for row in table)) == [
        ("deep", "25"),
        ("deep", "15"),
        ("deep", "10"),
        ("flat", "5"),
    ]
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written >= {"table7d.tex", "table8d.tsv", "fig2a.tsv", "fig2b.tsv", "fig4.tsv"}
    assert {line.split("\t")[0] for line in (tmp_path / "out" / "table5b.tsv").read_text().splitlines()[1:]} == {"deep"}
    capsys.readouterr()
    assert status("papers", "depth", tmp_path / "deep", tmp_path, "-o", tmp_path / "o2") == 2
    assert "expected a folder with qrels.txt and runs/" in capsys.readouterr().err
    assert status("papers", "depth", *folders, "--pooled", "x", "-o", tmp_path / "o2") == 2
    assert status("papers", "rm", tmp_path / "deep" / "qrels.txt", "-o", tmp_path / "o2") == 2


def test_spearman_and_rmse_are_scipys() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.random((3, 9)), np.round(rng.random((4, 9)), 1)  # with ties
    spearman, rmse = (correlation_matrix(a, kind, others=b) for kind in ("spearman", "rmse"))
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            assert spearman[i, j] == pytest.approx(spearmanr(x, y).statistic)
            assert rmse[i, j] == pytest.approx(math.sqrt(statistics.fmean((x - y) ** 2)))


def test_depth_by_spearman_and_rmse(made: Collection) -> None:
    experiment = fm.Experiment(made.qrels, made.runs, workers=1)
    by = {kind: experiment.depth("nDCG", [1, 5, 20], correlation=kind) for kind in ("spearman", "rmse")}
    means = by["rmse"].scored.means("nDCG")
    assert by["spearman"].volatility()["spearman"][1] == pytest.approx(spearmanr(means[0], means[1]).statistic)
    assert by["rmse"].volatility()["rmse"][1] == pytest.approx(math.sqrt(((means[0] - means[1]) ** 2).mean()))
    (said,) = (line for line in by["rmse"].sentences if "RMSE" in line)
    assert said == (
        "nDCG: the means of the runs differ most between depth 1 and depth 5, with an RMSE of "
        f"{math.sqrt(((means[0] - means[1]) ** 2).mean()):.4f}."
    )
    assert "below 0.01" in by["rmse"].chart().title
