"""Who contributed to the pool and how deep it was, seen in what is judged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fathoms as fm
from fathoms.experiment.assumed_pool import JudgedByRank, infer_pool
from fathoms.experiment.base import BaseExperiment
from tests.commands import finished
from tests.real import collection

SEEDS = range(4)


def simulated_pool(
    seed: int, *, pooled: int, others: int, depth: int, missing: float = 0.0, length: int = 200, short: int = 0
) -> tuple[dict[str, JudgedByRank], list[str]]:
    """Runs over 40 topics that share documents the more the further up, a pool of the first ones, and judgments of
    which some are missing at random; the last `short` contributing runs end above the depth of the pool."""
    rng = np.random.default_rng(seed)
    n_topics, n_docs = 40, 4 * length
    profiles: dict[str, JudgedByRank] = {}
    judged = np.zeros((pooled + others, length), dtype=np.int64)
    retrieved = np.zeros_like(judged)
    for _ in range(n_topics):
        quality = np.log(np.arange(1, n_docs + 1))
        runs = np.argsort(quality + 0.7 * rng.gumbel(size=(pooled + others, n_docs)), axis=1)[:, :length]
        lengths = np.full(pooled + others, length)
        lengths[pooled - short : pooled] = depth // 2
        pool = {doc for run in runs[:pooled] for doc in run[:depth]}
        known = np.zeros(n_docs, dtype=bool)
        known[[doc for doc in sorted(pool) if rng.random() >= missing]] = True
        there = np.arange(length) < lengths[:, None]
        judged += known[runs] & there
        retrieved += there
    for i in range(pooled + others):
        end = int((retrieved[i] > 0).sum())
        profiles[f"{'pooled' if i < pooled else 'other'}{i}"] = JudgedByRank(retrieved[i, :end], judged[i, :end])
    return profiles, [f"pooled{i}" for i in range(pooled)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"pooled": 10, "others": 0, "depth": 20}, 0),
        ({"pooled": 10, "others": 10, "depth": 20}, 0),
        ({"pooled": 3, "others": 20, "depth": 20}, 0),
        ({"pooled": 10, "others": 10, "depth": 50, "missing": 0.057}, 3),
        ({"pooled": 10, "others": 10, "depth": 5, "missing": 0.057}, 5),
        ({"pooled": 10, "others": 5, "depth": 20, "short": 3}, 0),
        ({"pooled": 10, "others": 5, "depth": 20, "short": 3, "missing": 0.03}, 2),
    ],
)
def test_depth_and_runs_of_a_known_pool_are_found(seed: int, settings: dict[str, Any], wrong: int) -> None:
    profiles, pooled = simulated_pool(seed, **settings)
    found = infer_pool(profiles)
    assert found.depth == settings["depth"]
    assert len(set(found.names) ^ set(pooled)) <= wrong
    assert found.share == pytest.approx(1 - settings.get("missing", 0.0), abs=0.04)


def test_one_missing_document_does_not_end_the_pool() -> None:
    """A share that dips at rank 5 once made 5 the depth."""
    profiles, _ = simulated_pool(0, pooled=10, others=0, depth=50)
    for profile in profiles.values():
        profile.judged[4] -= 3
    assert infer_pool(profiles).depth == 50


def test_where_all_is_judged_the_pool_is_as_deep_as_the_runs() -> None:
    profiles = {f"run{n}": JudgedByRank(np.full(n, 30), np.full(n, 30)) for n in (20, 50, 100)}
    found = infer_pool(profiles)
    assert (found.names, found.depth, found.known) == (list(profiles), 100, True)


def test_where_nothing_is_judged_no_depth_is_claimed() -> None:
    found = infer_pool({"a": JudgedByRank(np.full(30, 20), np.full(30, 5))})
    assert not found.known
    assert (found.names, found.depth) == (["a"], 10)
    assert found.sentence.startswith("assumed pool: unknown, since no run is judged through its first ranks")


def test_an_even_decline_is_no_edge() -> None:
    """Runs are then taken to be pooled as deep as most of them are nearly all judged: here 90% to rank 11."""
    retrieved = np.full(100, 1000)
    judged = 1000 - 10 * np.arange(100)
    assert infer_pool({name: JudgedByRank(retrieved, judged) for name in "abc"}).depth == 11


def test_the_sentence_says_who_and_how_deep(simulated: Callable[..., Path]) -> None:
    folder = simulated(systems=9, n_topics=12, n_docs=400, depth=40, pool_depth=12, seed=5)
    exp = BaseExperiment(folder / "qrels.txt", folder / "runs")
    pooled = (folder / "pooled.txt").read_text().split()
    found = exp.pool_assumed()
    assert found.sentence == "assumed pool: 4 of 9 runs, judged through rank 12 (no --pooled list given)"
    assert sorted(found.names) == sorted(exp.contributing()) == sorted(pooled)
    assert exp.pool_assumed() is found
    named = BaseExperiment(folder / "qrels.txt", folder / "runs", pooled=pooled[:3]).pool_assumed()
    assert named.names == pooled[:3]
    assert named.sentence == "pool: 3 contributing runs given, judged through rank 12"


def test_every_command_states_the_same_pool(simulated: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    folder = simulated(systems=9, n_topics=12, n_docs=400, depth=40, pool_depth=12, seed=5)
    files = (str(folder / "qrels.txt"), str(folder / "runs"))
    for words in (
        ("eval", *files, "-m", "AP(variant=c)@10"),
        ("predict", *files, "-m", "AP", "--method", "linear"),
        ("depth", *files, "-m", "P", "--depths", "1:20"),
        ("audit", *files, "-m", "AP"),
    ):
        done = finished(capsys, *words)
        assert "assumed pool: 4 of 9 runs, judged through rank 12" in (done.err + done.out).lower(), words


def test_judgments_taken_away_leave_the_shallower_pool(simulated: Callable[..., Path]) -> None:
    folder = simulated(systems=9, n_topics=12, n_docs=400, depth=40, pool_depth=12, seed=5)
    pooled = folder / "pooled.txt"
    shallow = fm.Experiment(folder / "qrels.txt", folder / "runs", pooled=pooled).pool(depth=5).qrels
    assert BaseExperiment(shallow, folder / "runs").pool_assumed().depth == 5


@pytest.mark.parametrize(
    ("name", "depth", "more"), [("trec8-adhoc", 100, 5), ("trec-covid-r1", 7, 5), ("ntcir13-www-rmit", 30, 0)]
)
def test_pools_of_real_collections(name: str, depth: int, more: int) -> None:
    """All contributing runs are found; the others that are taken for such are as completely judged."""
    folder = collection(name)
    found = BaseExperiment(folder / "qrels.txt", folder / "runs", lenient=True).pool_assumed()
    assert found.depth == depth
    listed = folder / "pooled.txt"
    pooled = set(listed.read_text().split()) if listed.exists() else set(found.names)
    assert pooled <= set(found.names)
    assert len(found.names) == len(pooled) + more
