"""The estimates of all papers side by side: figures made again with the functions users have."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau, ttest_rel

import fathoms as fm
from fathoms.base.errors import FathomsError
from fathoms.data.simulate import Collection, simulate, write
from fathoms.estimate.names import METHODS
from fathoms.papers.estimates import EstimatesSettings, reversed_share, study
from fathoms.papers.exhibits import Study
from tests.support.commands import status

pytestmark = pytest.mark.filterwarnings("ignore::fathoms.FathomsWarning")  # curves at the limits of what is searched

CHOSEN = ("interpolated", "weibull", "experts", "calibrated")


@pytest.fixture(scope="module")
def made() -> Collection:
    return simulate(systems=6, n_topics=8, depth=60, pool_depth=20, unpooled=2, seed=3)


@pytest.fixture(scope="module")
def result(made: Collection) -> Study:
    exp = fm.Experiment(made.qrels, made.runs, pooled=made.pooled)
    return study(exp, EstimatesSettings(["P@10", "AP"], CHOSEN))


def pooled_to(made: Collection, depth: int) -> dict[str, dict[str, float]]:
    """Judgments of documents that a contributing run has at that depth, by a loop."""
    known = fm.read_qrels(made.qrels).to_dict()
    kept: dict[str, dict[str, float]] = {topic: {} for topic in known}
    for run in made.pooled:
        for topic, scores in fm.read_runs({run: made.runs[run]})[run].to_dict().items():
            for document in sorted(sorted(scores, reverse=True), key=lambda d: -scores[d])[:depth]:
                if document in known[topic]:
                    kept[topic][document] = known[topic][document]
    return kept


def test_figures_are_those_of_predict_and_evaluate(made: Collection, result: Study) -> None:
    rows = [dict(zip(result["table1"].columns, row, strict=True)) for row in result["table1"].rows]
    runs = {run: made.runs[run] for run in made.pooled}
    truth = fm.evaluate(pooled_to(made, 20), runs, ["P@10", "AP"], by_topic=True)
    cut = pooled_to(made, 5)
    for measure in ("P@10", "AP"):
        true = {
            run: truth.filter((truth["run"] == run) & (truth["measure"] == measure) & (truth["topic"] != "all"))
            for run in runs
        }
        true_means = np.array([true[run]["score"].mean() for run in runs], dtype=float)
        for method in CHOSEN:
            [row] = [r for r in rows if (r["measure"], r["pool"], r["method"]) == (measure, 5, method)]
            drawn = {"to_depth": 20} if method in ("experts", "calibrated") else {}
            found = fm.predict(cut, runs, measure, method, by_topic=True, pooled=made.pooled, **drawn)  # type: ignore[arg-type]
            of_run = {run: found.filter(found["run"] == run) for run in runs}
            means = np.array([of["estimate"].filter(of["topic"] == "all")[0] for of in of_run.values()])
            assert row["error"] == pytest.approx(np.sqrt(((means - true_means) ** 2).mean()))
            assert row["bias"] == pytest.approx((means - true_means).mean())
            assert row["order"] == pytest.approx(kendalltau(means.round(12), true_means.round(12)).statistic)
            ends = [
                of.filter(of["topic"] == "all").select("likely_low", "likely_high").row(0) for of in of_run.values()
            ]
            if ends[0][0] is None:
                assert row["covered"] is None
            else:
                inside = [low <= true <= high for (low, high), true in zip(ends, true_means.tolist(), strict=True)]
                assert row["covered"] == pytest.approx(100 * np.mean(inside))
            assert row["of"] == {"interpolated": "RM", "weibull": "LMC-gain", "experts": "RTC"}.get(method, "fathoms")


def test_reversals_are_claims_that_the_truth_does_not_bear_out() -> None:
    rng = np.random.default_rng(4)
    truth = rng.normal(size=(7, 12)) + np.arange(7)[:, None] * 0.3
    estimates = truth + rng.normal(size=(7, 1)) * 0.6 + rng.normal(size=(7, 12)) * 0.2
    wrong = 0
    for a, b in combinations(range(7), 2):
        claimed = ttest_rel(estimates[a], estimates[b])
        true = ttest_rel(truth[a], truth[b])
        borne_out = true.pvalue < 0.05 and np.sign(true.statistic) == np.sign(claimed.statistic)
        wrong += claimed.pvalue < 0.05 and not borne_out
    assert wrong > 0
    assert reversed_share(estimates, truth) == pytest.approx(wrong / 21)


def test_the_least_error_of_each_row_is_named(result: Study) -> None:
    table = result["table2"]
    for row in table.rows:
        by_method = dict(zip(table.columns, row, strict=True))
        errors = {name: by_method[name] for name in table.columns[2:-1]}
        assert errors[by_method["least"]] == min(errors.values())
    assert {row[1] for row in result["table1"].rows} == {1, 2, 5, 10}
    assert not [row for row in result["table1"].rows if (row[0], row[1]) == ("P@10", 10)]  # nothing is unjudged


def test_the_command(made: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FathomsError, match="3 contributing runs or more, found 2"):
        study(fm.Experiment(made.qrels, made.runs, pooled=made.pooled[:2]))
    write(made, tmp_path)
    files = [str(tmp_path / "qrels.txt"), str(tmp_path / "runs"), "--pooled", str(tmp_path / "pooled.txt")]
    assert status("papers", "estimates", *files, "-o", str(tmp_path / "out")) == 0
    text = (tmp_path / "out" / "table1.tsv").read_text()
    assert all(f"\t{method}\t" in text for method in METHODS)
    assert "no interval" in (tmp_path / "out" / "index.md").read_text()
