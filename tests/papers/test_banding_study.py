"""YMT-ties: the share of scores that systems keep, on a simulated and on a real collection."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import fathoms as fm
from fathoms.papers import ties as papers_ties
from fathoms.papers.ties import kept_share
from tests.support.commands import status as call
from tests.support.real import collection


@pytest.fixture(scope="module")
def folder(simulated: Callable[..., Path]) -> Path:
    return simulated(systems=5, n_topics=6, n_docs=400, depth=70, pool_depth=12, unpooled=1, seed=5)


# -- the paper ------------------------------------------------------------------------------------------------


def test_systems_that_keep_a_share_of_their_score_are_those_of_scipy() -> None:
    from scipy.stats import ttest_rel

    rng = np.random.default_rng(11)
    original = rng.random((40, 25))
    after = original * rng.normal(0.98, 0.03, size=original.shape)
    for share in (0.99, 0.97, 0.95):
        p = ttest_rel(after, share * original, axis=1, alternative="greater").pvalue
        assert kept_share(original, after, share) == (p <= 0.05).sum()
    assert 0 < kept_share(original, after, 0.97) < 40
    assert kept_share(original, original, 1.0) == 0  # no difference is no evidence


@pytest.mark.long
def test_the_paper_on_a_simulated_collection(folder: Path, tmp_path: Path) -> None:
    assert call("papers", "ties", folder / "qrels.txt", folder / "runs", "-o", tmp_path / "ties", "--quiet") == 0
    written = {path.name for path in (tmp_path / "ties").iterdir()}
    tables, figures = ("table1", "table2", "table3", "tableA", "tableB"), ("fig2", "fig3", "fig4")
    assert written >= {f"{name}.{end}" for name in tables for end in ("tsv", "tex")}
    assert written >= {f"{name}.{end}" for name in figures for end in ("tsv", "svg")}
    qrels, runs = fm.read_qrels(folder / "qrels.txt"), fm.read_runs(folder / "runs")
    study = papers_ties.study(qrels, runs)
    rows = {exhibit.name: exhibit.rows for exhibit in study.exhibits}
    kept = [row[0] for row in rows["fig2"]]
    assert len(kept) == 4  # of 5, as 80 of 103
    ap = fm.evaluate(qrels, runs, "AP")
    assert kept == ap.sort("score", descending=True)["run"].to_list()[:4]
    for name, *ends, width, _, _ in rows["fig2"]:
        values = ap.filter(ap["run"] == name).select("tie_low", "score", "tie_expected", "tie_high").row(0)
        assert ends == pytest.approx(list(values), abs=1e-12)
        assert width == pytest.approx(values[3] - values[0], abs=1e-12)

    # Fig. 3's numbers from the banded runs, in file order, as a reader of the file would have them.
    call("band", *(folder / "runs" / f"{name}.run" for name in kept), "--rho", "1.4", "-o", tmp_path / "b", "--quiet")
    before, after = (
        fm.evaluate(qrels, source, "AP", ties=ties, by_topic=True).filter(pl.col("topic") != "all").sort("run", "topic")  # type: ignore[arg-type]
        for source, ties in ((runs, "run"), (tmp_path / "b", "expected"))
    )
    losses = before.filter(pl.col("run").is_in(kept))["score"].to_numpy() - after["score"].to_numpy()
    (row,) = (row for row in rows["fig3"] if row[:2] == ("AP", "1.4"))
    q1, median, q3 = np.percentile(losses, [25, 50, 75])
    near = [x for x in losses if q1 - 1.5 * (q3 - q1) <= x <= q3 + 1.5 * (q3 - q1)]
    expected = (min(near), q1, median, q3, max(near), losses.mean(), losses.min(), losses.max())
    assert row[2:10] == pytest.approx(expected, abs=1e-12)
    assert [row[1] for row in rows["tableA"]][:11] == [
        "1.0",
        "1.1",
        "1.2",
        "1.3",
        "1.4",
        "1.5",
        "1.6",
        "1.7",
        "1.8",
        "1.9",
        "2.0",
    ]
    for _, rho, _, positive, negative, *_ in rows["tableA"]:
        assert rho != "1.0" or positive == negative == 0


@pytest.mark.slow
def test_the_paper_on_trec8() -> None:
    """What docs/papers/ties.md says of TREC-8 ad hoc, beside the paper's TREC7."""
    path = collection("trec8-adhoc")
    study = papers_ties.study(fm.read_qrels(path / "qrels.txt"), fm.scan_runs(path / "runs"))
    rows = {exhibit.name: exhibit.rows for exhibit in study.exhibits}
    assert [[f"{cell:.1f}" for cell in row[1:4]] for row in rows["table1"]] == [
        ["93.8", "91.8", "11.0"],
        ["6.2", "5.6", "1.8"],
        ["87.6", "79.9", "6.5"],
    ]
    counts = {(row[0], row[1]): row[2:6] for row in rows["table3"]}
    assert counts[99, "1.4"] == (99, 55, 78, 40)
    assert counts[99, "2.0"] == (51, 11, 4, 2)
    assert counts[97, "1.7"] == (99, 83, 100, 90)
    assert counts[97, "2.0"] == (99, 78, 95, 23)
    assert counts[95, "2.0"] == (100, 99, 100, 100)
    pairs = {row[:2]: [f"{cell:.1f}" for cell in row[2:5]] for row in rows["tableA"]}
    assert pairs["AP", "1.0"] == ["57.5", "0.0", "0.0"]
    assert pairs["AP", "1.4"] == ["57.6", "0.5", "0.4"]
    assert pairs["RR", "1.4"] == ["35.2", "0.3", "0.4"]
    assert pairs["RBP(p=0.85)", "2.0"] == ["48.9", "1.1", "1.0"]
    boxes = {row[:2]: [f"{cell:.4f}" for cell in row[2:10]] for row in rows["fig3"]}
    assert boxes["AP", "1.4"] == ["-0.0056", "-0.0002", "0.0009", "0.0034", "0.0087", "0.0019", "-0.0305", "0.0436"]
    assert sum(row[5] < 1e-4 for row in rows["fig2"]) == 84
