"""An Evaluator against pytrec_eval; names, ranges and missing topics."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval

import fathoms as fm


@pytest.fixture(scope="module")
def folder(simulated: Callable[..., Path]) -> Path:
    return simulated(systems=4, n_topics=6, n_docs=300, depth=50, pool_depth=8, seed=5)


def test_names_as_they_were_asked() -> None:
    qrels, run = {"1": {"a": 1}}, {"1": {"b": 2.0, "a": 1.0}}
    asked = fm.Evaluator(qrels, ["map", "mrr@10", "P@2"], names="asked", ranges=True)
    assert [name for name in asked.mean(run) if "." not in name] == ["map", "mrr@10", "P@2"]
    assert asked.interval(run).keys() == {"map", "mrr@10", "P@2"}
    assert asked.mean(run)["mrr@10.low"] == 0.5
    assert list(fm.Evaluator(qrels, "map").mean(run)) == ["AP"]
    with pytest.raises(fm.FathomsError, match="names: expected one of canonical, asked, found 'x'"):
        fm.Evaluator(qrels, "map", names="x")  # type: ignore[arg-type]


def test_an_evaluator_agrees_with_pytrec_eval(folder: Path) -> None:
    qrels, runs = fm.read_qrels(folder / "qrels.txt"), fm.read_runs(folder / "runs")
    ours = fm.Evaluator(qrels, ["AP", "nDCG@10", "RR"])
    whole = {topic: {doc: int(grade) for doc, grade in found.items()} for topic, found in qrels.to_dict().items()}
    theirs = pytrec_eval.RelevanceEvaluator(whole, {"map", "ndcg_cut_10", "recip_rank"})
    names = {"AP": "map", "nDCG@10": "ndcg_cut_10", "RR": "recip_rank"}
    for name in runs:
        run = runs[name].to_dict()
        found, expected = ours.evaluate(run), theirs.evaluate(run)
        assert found.keys() == expected.keys()
        for topic, values in found.items():
            assert values == pytest.approx({m: expected[topic][names[m]] for m in names})
        means = {m: np.mean([values[names[m]] for values in expected.values()]) for m in names}
        assert ours.mean(run) == pytest.approx(means)


def test_an_evaluator_has_ranges_where_asked(folder: Path) -> None:
    evaluator = fm.Evaluator(folder / "qrels.txt", ["P@5"], ranges=True)
    path = folder / "runs" / "sys4.run"
    frame = fm.evaluate(folder / "qrels.txt", path, "P@5")
    mean = evaluator.mean(path)
    assert list(mean) == ["P@5", "P@5.low", "P@5.high", "P@5.tie_low", "P@5.tie_high", "P@5.tie_expected"]
    assert list(mean.values()) == list(frame.row(0)[3:9])
    assert set(evaluator.evaluate(path)["101"]) == set(mean)


def test_an_evaluator_counts_missing_topics_unless_asked_not_to() -> None:
    qrels, run = {"1": {"a": 1}, "2": {"b": 1}}, {"1": {"a": 1.0}}
    assert fm.Evaluator(qrels, "P@1").mean(run) == {"P@1": 0.5}
    assert fm.Evaluator(qrels, "P@1", topics="intersect").evaluate(run) == {"1": {"P@1": 1.0}}
    with pytest.raises(fm.FathomsError, match="depends on other runs"):
        fm.Evaluator(qrels, "AP(universe=all)")
