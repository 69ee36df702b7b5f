"""Who contributed to the pool and how deep it was, seen in what is judged."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

import fathoms as fm
from fathoms.experiment.assumed_pool import JUDGED_SHARE, JudgedByRank, infer_pool, judged_by_rank, judged_through
from fathoms.experiment.base import BaseExperiment
from tests.support.commands import finished
from tests.support.real import collection

SEEDS = range(4)
# The sentence, for tests that hold it against what is so.
SAID = (
    r"[Aa]ssumed pool: (?P<cannot_tell>the judgments cannot tell which runs contributed; taken as contributors here: )?"
    r"(?P<some>\d+) of (?P<given>\d+) runs? \((?P<names>[^()]+)\), (?:(?P<percent>[\d.]+)% )?judged through rank "
    r"(?P<depth>\d+) \((?:no --pooled list given|name them with --pooled FILE)\)"
)


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


def test_ranks_judged_through_are_those_of_isotonic_regression() -> None:
    rng = np.random.default_rng(0)
    for _ in range(500):
        retrieved = rng.integers(1, 12, size=rng.integers(1, 30))
        judged = rng.binomial(retrieved, np.clip(1.1 - 0.02 * np.arange(len(retrieved)) * rng.random(), 0, 1))
        weights = retrieved.astype(np.float64)
        falling = isotonic_regression(judged / retrieved, weights=weights, increasing=False).x
        through = int((falling >= JUDGED_SHARE).sum())
        expected = np.inf if through == len(retrieved) else through
        assert judged_through(JudgedByRank(retrieved, judged)) == expected


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
    assert found.sentence == (
        "assumed pool: 4 of 9 runs (sys1, sys2, sys6, ...), judged through rank 12 (no --pooled list given)"
    )
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
        assert (
            "assumed pool: 4 of 9 runs (sys1, sys2, sys6, ...), judged through rank 12" in (done.err + done.out).lower()
        ), words


def test_judgments_taken_away_leave_the_shallower_pool(simulated: Callable[..., Path]) -> None:
    folder = simulated(systems=9, n_topics=12, n_docs=400, depth=40, pool_depth=12, seed=5)
    pooled = folder / "pooled.txt"
    shallow = fm.Experiment(folder / "qrels.txt", folder / "runs", pooled=pooled).pool(depth=5).qrels
    assert BaseExperiment(shallow, folder / "runs").pool_assumed().depth == 5


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "depth", "more"), [("trec8-adhoc", 100, 1), ("trec-covid-r1", 7, 5), ("ntcir13-www-rmit", 30, 0)]
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


# -- who contributed can be told, or not ----------------------------------------------------------------------------


def told(profiles: dict[str, JudgedByRank], pooled: Sequence[str], depth: int) -> str:
    """How the inference did: right if it has every contributor, and beside them only runs judged as completely."""
    pool = infer_pool(profiles)
    if not pool.sure:
        return "cannot tell"

    def complete(name: str, to: int) -> bool:
        return float(profiles[name].judged[:to].sum()) >= 0.985 * float(profiles[name].retrieved[:to].sum())

    missed = [name for name in pooled if name not in pool.names and complete(name, depth)]
    added = [name for name in pool.names if name not in pooled and not complete(name, pool.depth)]
    right = abs(pool.depth - depth) <= max(1, 0.1 * depth) and not missed and not added and bool(pooled)
    return "right" if right else "wrong"


def samples(
    profiles: Mapping[str, JudgedByRank], pooled: Collection[str], depth: int, share: float, times: int
) -> Counter[str]:
    """What is told of samples of 4 to 12 runs, of which a share contributed."""
    rng = np.random.default_rng(1)
    inside, outside = [n for n in profiles if n in pooled], [n for n in profiles if n not in pooled]
    outcomes: Counter[str] = Counter()
    for _ in range(times):
        size = int(rng.integers(4, 13))
        many = round(share * size)
        chosen = [*rng.permutation(inside)[:many].tolist(), *rng.permutation(outside)[: size - many].tolist()]
        outcomes[told({name: profiles[name] for name in chosen}, chosen[:many], depth)] += 1
    return outcomes


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 1.0])
def test_a_pool_of_few_runs_is_told_right_or_not_at_all(share: float) -> None:
    """Samples of 4 to 12 of 24 runs: 0.3% were wrong of those with contributors, 10% of those without any, which may
    all be judged as completely as a pool by others."""
    outcomes: Counter[str] = Counter()
    for seed, (depth, missing) in enumerate([(5, 0.0), (10, 0.0), (20, 0.0), (50, 0.02), (20, 0.04), (10, 0.01)]):
        profiles, pooled = simulated_pool(100 + seed, pooled=12, others=12, depth=depth, missing=missing)
        outcomes += samples(profiles, pooled, depth, share, 40)
    assert outcomes["wrong"] <= (0.1 if share == 0 else 0.02) * outcomes.total()
    if share == 1:
        assert outcomes["right"] >= 0.95 * outcomes.total()


@pytest.mark.long
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 1.0])
@pytest.mark.parametrize(("name", "depth"), [("trec8-adhoc", 100), ("trec-covid-r1", 7), ("dl20-passage", 10)])
def test_pools_of_few_real_runs_are_told_right_or_not_at_all(name: str, depth: int, share: float) -> None:
    profiles, pooled = real_profiles(name)
    outcomes = samples(profiles, pooled, depth, share, 60)
    assert outcomes["wrong"] <= (0.1 if share == 0 else 0.02) * outcomes.total()
    if name != "dl20-passage" and share:  # whose later runs rank nearly the same documents as its contributors
        assert outcomes["right"] >= 0.7 * outcomes.total()


@cache
def real_profiles(name: str) -> tuple[dict[str, JudgedByRank], set[str]]:
    folder = collection(name)
    exp = BaseExperiment(folder / "qrels.txt", folder / "runs", lenient=True)
    listed = folder / "pooled.txt"
    if listed.exists():
        pooled = set(listed.read_text().split())
    else:
        rows = [line.split("\t") for line in (folder / "runs.tsv").read_text().splitlines()]
        pooled = {row[0] for row in rows if row[1] == "official"}
    return {run: judged_by_rank(exp.ranked(run)) for run in exp.runs}, pooled


def test_of_a_run_of_equal_scores_it_cannot_be_told() -> None:
    """Its documents were pooled in an order that the scores do not keep, so it looks like a run that came later."""
    names = [f"run{i}" for i in range(6)]
    rng = np.random.default_rng(0)
    runs: dict[str, Any] = {
        name: {str(t): {f"{d}": 90.0 - i for i, d in enumerate(rng.permutation(300)[:90])} for t in range(30)}
        for name in names
    }
    qrels = {str(t): {d: 1 for run in runs.values() for d in list(run[str(t)])[:20]} for t in range(30)}
    found = BaseExperiment(qrels, runs).pool_assumed()
    assert found.sure
    assert sorted(found.names) == names
    runs["run5"] = {t: dict.fromkeys(of, 1.0) for t, of in runs["run5"].items()}
    assert not BaseExperiment(qrels, runs).pool_assumed().sure
    runs["run5"] = {t: {f"x{d}": s for d, s in of.items()} for t, of in runs["run5"].items()}  # ties would not help
    found = BaseExperiment(qrels, runs).pool_assumed()
    assert found.sure
    assert sorted(found.names) == names[:5]


def test_official_runs_of_equal_scores_are_not_said_to_have_come_later() -> None:
    profiles, pooled = real_profiles("dl20-passage")
    rng = np.random.default_rng(5)
    for _ in range(60):
        chosen = rng.permutation([name for name in profiles if name in pooled])[: int(rng.integers(4, 13))].tolist()
        found = infer_pool({name: profiles[name] for name in chosen})
        assert not found.sure or set(found.names) == set(chosen)


def test_what_cannot_be_told_is_said(simulated: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    profiles, _ = simulated_pool(3, pooled=0, others=6, depth=10)
    share = np.linspace(1.0, 0.3, 200)
    for profile in profiles.values():
        profile.judged[:] = np.round(share * profile.retrieved)
    found = infer_pool(profiles)
    assert not found.sure
    assert (match := re.fullmatch(SAID, found.sentence))
    assert match["cannot_tell"]
    folder = simulated(systems=9, n_topics=12, n_docs=400, depth=40, pool_depth=12, seed=5)
    outsiders = [str(folder / "runs" / f"{name}.run") for name in ("sys3", "sys4", "sys5")]
    said = finished(capsys, "audit", str(folder / "qrels.txt"), *outsiders, "-m", "AP").out
    assert said.startswith("Reuse: the judgments cannot tell which runs contributed; if it was the ")


def test_verbose_names_all_contributors(simulated: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    folder = simulated(systems=9, n_topics=12, n_docs=400, depth=40, pool_depth=12, seed=5)
    pooled = (folder / "pooled.txt").read_text().split()
    done = finished(capsys, "audit", str(folder / "qrels.txt"), str(folder / "runs"), "-m", "AP", "--verbose")
    (line,) = [line for line in done.err.splitlines() if line.startswith("fathoms: taken as contributors: ")]
    assert sorted(line.partition("contributors: ")[2].split(", ")) == sorted(pooled)
