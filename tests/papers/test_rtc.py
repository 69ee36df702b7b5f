"""Trials of robust test collections: what they count, that they resume, and that workers do not matter."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import fathoms as fm
from fathoms.base import parallel
from fathoms.base.parallel import work
from fathoms.data.simulate import write
from fathoms.estimate.distribution import Moments
from fathoms.evidence.candidates import candidates
from fathoms.judging.engine import Engine
from fathoms.papers import rtc_trials as rtc
from tests.support.commands import status

SMALL = rtc.RTCSettings(depth=20, trials=4, systems=6, methods=("MTC", "fusion"), workers=1)


@pytest.fixture(scope="module")
def folder(simulated: Callable[..., Path]) -> Path:
    return simulated(systems=9, n_topics=12, n_docs=600, depth=40, seed=3)


@pytest.fixture(scope="module")
def world(folder: Path) -> rtc.World:
    return rtc.make_world(fm.Experiment(folder / "truth.txt", folder / "runs"), SMALL.depth)


def test_true_scores_are_ap_cut_at_the_depth(folder: Path, world: rtc.World) -> None:
    scores = fm.evaluate(folder / "truth.txt", folder / "runs", "AP@20", score_precision="float64")
    expected = dict(zip(scores["run"], scores["score"], strict=True))
    np.testing.assert_allclose(world.map, [expected[name] for name in world.candidates.names], atol=1e-12)


def test_winnings_are_the_bookmakers() -> None:
    """(y - P) / (1 - P) of section 4.4, losses capped at 100."""
    confidence = np.array([0.5, 0.5, 0.75, 0.75, 0.999, 0.999, 1.0, 1.0])
    right = np.array([True, False] * 4)
    expected = [(y - p) / (1 - p) if p < 1 else y - 100.0 * (1 - y) for p, y in zip(confidence, right, strict=True)]
    np.testing.assert_allclose(rtc.winnings(confidence, right), np.maximum(expected, -100))


def test_a_bookmaker_with_true_odds_breaks_even() -> None:
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 0.98, 400_000)
    won = rtc.winnings(confidence, rng.random(400_000) < confidence)
    assert abs(won.mean()) < 4 * won.std() / np.sqrt(len(won))


def test_bins_and_accuracy() -> None:
    confidence = np.array([[0.5, 0.6, 0.949, 0.95], [0.989, 0.99, 1.0, 0.55]])
    right = np.array([[True, True, False, True], [False, True, True, False]])
    assert rtc.bin_of(confidence).tolist() == [[0, 1, 4, 5], [5, 6, 6, 0]]
    bins = rtc.by_bin(confidence, right)
    share, accuracy = [one.share for one in bins[:-1]], [one.accuracy for one in bins[:-1]]
    assert share == [25.0, 12.5, 0.0, 0.0, 12.5, 25.0, 25.0]
    assert accuracy == [50.0, 100.0, None, None, 0.0, 50.0, 100.0]


def test_bootstrap_interval_of_a_mean() -> None:
    values = np.random.default_rng(1).normal(3.0, 2.0, 900)
    low, high = rtc.bootstrap(values, np.mean, seed=5)
    wide = 1.96 * values.std() / 30
    assert low == pytest.approx(values.mean() - wide, abs=0.03)
    assert high == pytest.approx(values.mean() + wide, abs=0.03)


@pytest.mark.slow
def test_workers_do_not_matter_and_methods_meet_the_same_systems(world: rtc.World) -> None:
    settings = replace(SMALL, trials=12)
    alone = rtc.trials(world, settings)
    assert alone.equals(rtc.trials(world, replace(settings, workers=2)))
    assert alone["method"].to_list() == ["MTC", "IP", "fusion"] * 12
    for name in ("original", "similarity"):
        assert (
            alone.filter(pl.col("method") == "MTC")[name].to_list()
            == alone.filter(pl.col("method") == "fusion")[name].to_list()
        )
    other = rtc.trials(world, replace(settings, seed=1))
    assert not alone["confidence"].equals(other["confidence"])


@pytest.mark.long
def test_an_interrupted_study_goes_on(world: rtc.World, tmp_path: Path) -> None:
    settings = replace(SMALL, trials=25, methods=("fusion",), folder=tmp_path)
    whole = rtc.trials(world, replace(settings, folder=None))
    ended = 0

    def interrupt() -> None:
        nonlocal ended
        ended += 1
        if ended == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rtc.trials(world, settings, interrupt)
    parts = sorted(tmp_path.rglob("part-*"))
    assert [part.name for part in parts] == ["part-00000", "part-00001"]
    kept = work._read_part(parts[1], sealed=False)
    assert kept is not None
    work._write_part(kept.with_columns(pl.lit(-1).alias("judged").cast(pl.Int64)), parts[1], sealed=False)
    rows = rtc.trials(world, replace(settings, workers=2))
    assert rows["judged"].to_list() == [*whole["judged"][:10], *[-1] * 10, *whole["judged"][20:]], "parts are used"
    assert rows.drop("judged").equals(whole.drop("judged"))

    other = rtc.trials(world, replace(settings, seed=7))
    assert (other["judged"] > 0).all(), "what another study left does not count"
    changed = replace(world, relevant=np.roll(world.relevant, 1))  # as many are relevant as before
    assert (rtc.trials(changed, settings)["judged"] > 0).all(), "nor does one of other judgments"
    parallel.finished(tmp_path)
    assert not list(tmp_path.iterdir())


def test_judging_stops_when_settled_or_exhausted(world: rtc.World) -> None:
    moments = Moments(world.candidates.block([0, 4]))  # used by one after the other, as in a trial
    for method in ("MTC", "fusion", "RTC"):
        judged = rtc.judge_until(world, rtc.METHODS[method], moments, 0.95, 0)
        engine = Engine(world.candidates, rtc.METHODS[method], runs=[0, 4])
        assert len(dict(judged)) == len(judged)
        assert all(relevant == world.relevant[number] for number, relevant in judged)
        for number, relevant in judged:
            assert not engine.settled()
            engine.judge(number, relevant)
        assert engine.settled() or len(judged) == engine.size


def test_pooling_knows_only_the_first_documents(world: rtc.World) -> None:
    """Slow version: judge rank by rank, score what is known, compare with the truth."""
    systems = np.array([2, 5, 1, 8, 0, 3])
    found = rtc._pooling(world, systems, 24, SMALL)
    place = world.candidates.place[systems]
    chosen: list[int] = []
    for rank in range(place.shape[2]):
        for topic in range(place.shape[1]):
            columns = sorted({int(place[s, topic, rank]) for s in range(2)} - {-1} - set(chosen))
            chosen += columns
        if len(chosen) >= 24:
            break
    known = np.zeros(len(world.relevant), dtype=bool)
    known[chosen[:24]] = world.relevant[chosen[:24]]
    scores = []
    for ranking in place:
        total = 0.0
        for topic, row in enumerate(ranking):
            hits = [known[n] if n >= 0 else False for n in row]
            in_all = known[world.candidates.topic == topic].sum()
            total += sum(sum(hits[: i + 1]) / (i + 1) for i, hit in enumerate(hits) if hit) / max(in_all, 1)
        scores.append(total / place.shape[1])
    truth = world.map[systems]
    pairs = [(a, b) for a in range(6) for b in range(a + 1, 6)]
    expected = [np.sign(scores[a] - scores[b]) == np.sign(truth[a] - truth[b]) for a, b in pairs]
    assert found["right"] == expected
    assert found["judged"] == 24


def test_relevant_documents_elsewhere_count(folder: Path) -> None:
    """With a shallow depth many relevant documents are no candidates; once all is judged, R is the truth's."""
    qrels, runs = fm.read_qrels(folder / "truth.txt"), fm.read_runs(folder / "runs")
    found = candidates(runs, 5, "trec", "float64", qrels.topics)
    elsewhere = found.relevant_elsewhere(qrels)
    relevant = found.judged_by(qrels)[1]
    in_all = qrels.counts[:, qrels.levels > 0].sum(axis=1)
    assert (elsewhere + np.bincount(found.topic[relevant], minlength=len(in_all)) == in_all).all()
    assert elsewhere.any()
    engine = Engine(found, "pool", elsewhere=found.judged_elsewhere(qrels, np.array([0.0, 1.0])))
    engine.load([(number, bool(relevant[number])) for number in range(len(found))])
    scores = fm.evaluate(qrels, runs, "AP@5", score_precision="float64")
    np.testing.assert_allclose(engine.expected(), scores["score"].to_numpy(), atol=1e-12)


@pytest.mark.long
def test_the_paper_on_a_simulated_collection(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "rtc"
    words = ["papers", "rtc", folder / "truth.txt", folder / "runs", "--trials", "2", "--depth", "20", "-o", target]
    assert status(*words, "--quiet", "--workers", "1") == 2  # ten systems a trial, and only nine are there
    write(fm.simulate(systems=11, n_topics=8, n_docs=400, depth=30, seed=4), tmp_path / "more")
    words = ["papers", "rtc", tmp_path / "more" / "truth.txt", tmp_path / "more" / "runs", *words[4:]]
    assert status(*words, "--quiet", "--workers", "1") == 0
    names = {path.name for path in target.iterdir()}
    assert {f"table{n}.tsv" for n in (1, 2, 3, 4, 5)} | {"fig2.tsv", "tableA.tsv", "tableB.tsv", "index.md"} <= names
    assert work.PARTS not in names
    table = pl.read_csv(target / "table3b.tsv", separator="\t")
    pairs = table.filter((pl.col("method") == "fusion") & (pl.col("confidence") == "all"))
    assert pairs["pairs"].to_list() == [2, 32, 56]


@pytest.mark.slow
@pytest.mark.skipif("FATHOMS_DATA" not in os.environ, reason="needs the TREC-8 ad hoc runs (FATHOMS_DATA)")
def test_confidence_can_be_trusted_on_trec8() -> None:
    """A few of the thousand trials in docs/papers/rtc.md, with three standard errors for being so few."""
    place = Path(os.environ["FATHOMS_DATA"]) / "trec8-adhoc"
    settings = rtc.RTCSettings(trials=40, methods=("fusion",), workers=1)
    world = rtc.make_world(
        fm.Experiment(place / "qrels.txt", place / "runs", score_precision="float64"), settings.depth
    )
    outcome = rtc.Outcome.of(rtc.trials(world, settings), "fusion")
    by_trial = outcome.winnings(100).mean(axis=1)
    assert abs(by_trial.mean() + 0.05) < 3 * by_trial.std() / np.sqrt(40)
    assert abs(outcome.tau.mean() - 0.669) < 3 * outcome.tau.std() / np.sqrt(40)
    assert np.median(outcome.judged) <= 120
