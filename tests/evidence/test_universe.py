"""Over which documents ranges range: those of one run, of all runs of a table, and beyond."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fathoms as fm
from fathoms.evidence.universe import UnjudgedKeys, gathered, union
from fathoms.experiment import run_scores
from fathoms.experiment.base import BaseExperiment
from fathoms.measures.parse import parse_measure
from tests.measures.test_enumeration import EXACT, EXACT_IF_BINARY, EXACT_OF_UNIVERSE, SOUND
from tests.support import slow
from tests.support.commands import Command

TOLERANCE = 1e-9
Topics = dict[str, dict[str, Any]]

# The case of which an earlier version said that A is ahead whatever is judged.
A = {"1": {"r": 3.0, "n1": 2.0, "n2": 1.0}}
B = {"1": {"n1": 20.0, "r": 19.0} | {f"u{i}": 10.0 - i for i in range(10)}}
JUDGED = {"1": {"r": 1, "n1": 0, "n2": 0}}


def table(qrels: Any, runs: Any, measures: Any, **options: Any) -> pl.DataFrame:
    return fm.evaluate(qrels, runs, measures, **options)


def collection(seed: int, gmax: int, runs: int = 2) -> tuple[Topics, dict[str, Topics]]:
    """One topic, six documents of which at most four are unjudged, and runs of some of them."""
    rng = np.random.default_rng(seed)
    docs = list("abcdef")
    unjudged = set(rng.choice(docs, rng.integers(1, 5 if gmax == 1 else 4), replace=False))
    qrels = {"1": {doc: int(rng.integers(gmax + 1)) for doc in docs if doc not in unjudged}}
    qrels["1"]["top"] = gmax  # so that the greatest grade is in use
    found = {}
    for i in range(runs):
        order = rng.permutation(docs)[: rng.integers(1, 6)]
        found[f"run{i}"] = {"1": {doc: float(-place) for place, doc in enumerate(order)}}
    return qrels, found


def case(qrels: Topics, run: Topics, gmax: int) -> slow.Case:
    judged = qrels["1"]
    order = sorted(run["1"], key=lambda doc: -run["1"][doc])
    ranking = tuple(slow.Doc(judged.get(doc), group=i) for i, doc in enumerate(order))
    return slow.Case(ranking, tuple(slow.Doc(grade) for doc, grade in judged.items() if doc not in order), gmax)


def brute_force(measure: str, qrels: Topics, runs: dict[str, Topics], gmax: int) -> dict[str, tuple[float, float]]:
    """Each run's least and greatest score over every way of judging the documents of all runs."""
    unjudged = sorted({doc for run in runs.values() for doc in run["1"]} - qrels["1"].keys())
    values: dict[str, list[float]] = {name: [] for name in runs}
    for grades in itertools.product(range(gmax + 1), repeat=len(unjudged)):
        complete = {"1": qrels["1"] | dict(zip(unjudged, grades, strict=True))}
        for name, run in runs.items():
            values[name].append(slow.value(measure, case(complete, run, gmax)))
    return {name: (min(found), max(found)) for name, found in values.items()}


TAILED = ("RBP", "ERR", "INST")  # whose high is over documents past the end of the run too


@pytest.mark.long
@pytest.mark.parametrize("gmax", [1, 2])
@pytest.mark.parametrize("measure", [*EXACT, *EXACT_OF_UNIVERSE, *EXACT_IF_BINARY, *SOUND])
def test_a_tables_ranges_are_those_of_all_judgings_of_its_documents(measure: str, gmax: int) -> None:
    if gmax == 1 and "2:5" in measure:
        pytest.skip("gains for three grades")
    exact = measure in (*EXACT, *EXACT_OF_UNIVERSE) or (gmax == 1 and measure in EXACT_IF_BINARY)
    if "variant=c" in measure or "ideal=ii" in measure:
        pytest.skip("of the pool")
    for seed in range(12):
        qrels, runs = collection(seed, gmax, runs=2 + seed % 2)
        frame = table(qrels, runs, measure)
        assert frame["measure"].unique().to_list() == [parse_measure(measure).name]
        for name, (least, most) in brute_force(measure, qrels, runs, gmax).items():
            low, high = frame.filter(pl.col("run") == name).select("low", "high").row(0)
            assert low <= least + TOLERANCE
            assert high >= most - TOLERANCE
            if exact:
                assert low == pytest.approx(least, abs=TOLERANCE)
                if not measure.startswith(TAILED):
                    assert high == pytest.approx(most, abs=TOLERANCE)


@pytest.mark.long
@pytest.mark.parametrize("gmax", [1, 2])
def test_more_runs_widen_and_judging_narrows(gmax: int) -> None:
    measures = ["AP", "AP@3", "nDCG@3", "R@2", "Q", "nERR", "Rprec", "SetR", "SetF", "GMAP", "P@3", "ERR"]
    for seed in range(20):
        qrels, runs = collection(seed, gmax, runs=3)
        own, every = (table(qrels, runs, measures, universe=which) for which in ("run", "all"))
        assert (every["low"] <= own["low"] + TOLERANCE).all()
        assert (every["high"] >= own["high"] - TOLERANCE).all()  # Rprec's cut moves with R
        assert table(qrels, runs, measures).select("low", "high").equals(every.select("low", "high"))
        unjudged = sorted({doc for run in runs.values() for doc in run["1"]} - qrels["1"].keys())
        for doc, grade in itertools.product(unjudged, range(gmax + 1)):
            more = table({"1": qrels["1"] | {doc: grade}}, runs, measures)
            assert (more["low"] >= every["low"] - TOLERANCE).all()
            assert (more["high"] <= every["high"] + TOLERANCE).all()


def low(runs: Any, measure: str = "AP", qrels: Any = JUDGED, **options: Any) -> float:
    found: float = fm.Experiment(qrels, runs, **options).evaluate(measure).frame["low"][0]
    return found


def test_another_runs_documents_lower_what_they_can_lower() -> None:
    """If all ten documents of B are relevant, A has one of eleven."""
    together = {"A": A, "B": B}
    assert low({"A": A}) == low(together, universe="run") == 1.0
    assert low(together) == low(together, universe="all") == low(together, universe="auto") == pytest.approx(1 / 11)
    assert low(together, universe=3) == pytest.approx(1 / 14)
    assert low({"A": A}, universe=3) == pytest.approx(1 / 4)
    assert low(together, universe="inf") == low(together, universe=float("inf")) == 0.0
    assert low(together, "AP(universe=inf)") == 0.0
    assert fm.parse_measure("AP").replace(universe="inf").name == "AP(universe=inf)"


def test_the_universe_may_be_cut_at_a_depth() -> None:
    together = {"A": A, "B": B}
    assert low(together, universe_depth=5) == pytest.approx(1 / 4)  # u0, u1, u2
    assert low(together, universe_depth=2) == 1.0
    assert low({"B": B}, universe_depth=2) == 0.5
    # What is outside stays not relevant also in the run that has it: here the best is to judge u0 relevant.
    frame = fm.Experiment(JUDGED, {"B": B}, universe_depth=3).evaluate("AP").frame
    assert frame["high"][0] == pytest.approx((1 / 2 + 2 / 3) / 2)
    # A document that B has deep counts if A has it early.
    early = {"A": {"1": {"u9": 9.0, "r": 3.0}}, "B": B}
    frame = fm.Experiment(JUDGED, early, universe_depth=2).evaluate(["AP", "P@20"]).frame
    assert frame["low"].to_list() == pytest.approx([1 / 2, 1 / 20, (1 / 2 + 2 / 12) / 2, 1 / 20])
    assert frame["high"].to_list() == pytest.approx([1, 2 / 20, 1 / 2, 2 / 20])


@pytest.mark.filterwarnings("ignore::fathoms.FathomsWarning")
def test_cutting_at_a_depth_leaves_scores_alone() -> None:
    measures = ["AP", "P(judged_only=True)@3", "Bpref", "infAP", "Judged@5", "nDCG@5"]
    qrels = {"1": JUDGED["1"] | {"u3": -1}}
    frames = [table(qrels, {"A": A, "B": B}, measures, universe_depth=depth) for depth in (None, 2)]
    assert frames[0].drop("low", "high").equals(frames[1].drop("low", "high"))


def test_pair_is_for_comparisons() -> None:
    for name in ("evaluate", "predict", "ties"):
        exp = fm.Experiment(JUDGED, {"A": A, "B": B}, universe="pair")
        with pytest.raises(fm.FathomsError, match="universe: pair is for comparisons"):
            getattr(exp, name)()
    with pytest.raises(fm.FathomsError, match="universe: pair is for comparisons"):
        fm.evaluate(JUDGED, {"A": A, "B": B}, "AP(universe=pair)")
    with pytest.raises(fm.FathomsError, match="universe: run is for single runs"):
        BaseExperiment(JUDGED, {"A": A, "B": B}, universe="run").measures("AP", of_pairs=True)
    assert BaseExperiment(JUDGED, {"A": A}, universe="pair").measures("AP", of_pairs=True)
    with pytest.raises(fm.FathomsError, match="universe: run is for single runs"):
        fm.Experiment(JUDGED, {"A": A, "B": B}, universe="run").compare("AP")
    (asked,), (default,) = (
        fm.Experiment(JUDGED, {"A": A, "B": B}, universe=kind).compare("AP", draws=0).pairs for kind in ("pair", None)
    )
    assert (asked.diff_low, asked.diff_high) == (default.diff_low, default.diff_high)


def test_an_evaluator_and_the_provider_know_one_run() -> None:
    assert fm.Evaluator(JUDGED, "AP", ranges=True).mean(A)["AP.low"] == 1.0
    assert fm.Evaluator(JUDGED, "AP", ranges=True, universe=3).mean(A)["AP(universe=3).low"] == pytest.approx(1 / 4)
    assert fm.Evaluator(JUDGED, "AP", ranges=True, universe_depth=2).mean(B)["AP.low"] == 0.5
    pytest.importorskip("ir_measures")
    import ir_measures

    from fathoms import irm

    measure = irm.AP(value="low")
    assert ir_measures.calc_aggregate([measure], JUDGED, A)[measure] == 1.0
    assert str(measure) == "fm_AP(value='low')"


# -- the sentence ---------------------------------------------------------------------------------------------------


def ranges(measures: Any, runs: Any, **options: Any) -> list[str]:
    said = fm.Experiment(JUDGED, runs, **options).evaluate(measures).sentences
    return [sentence for sentence in said if sentence.startswith("Ranges")]


def test_a_table_says_what_its_ranges_are_over() -> None:
    both = {"A": A, "B": B}
    every = "Ranges: every way of judging the 10 unjudged documents of these 2 runs"
    assert ranges(["AP", "P@5"], both) == [f"{every}."]
    assert ranges("AP", both, universe=3) == [f"{every}, and 3 unseen ones per topic."]
    assert ranges("P@5", both) == ["Ranges: every way of judging each run's own unjudged documents."]
    assert ranges("AP", both, universe="run") == ["Ranges: every way of judging each run's own unjudged documents."]
    own = "Ranges: every way of judging this run's 10 unjudged documents, its own documents only"
    assert ranges("AP", {"B": B}) == [f"{own}."]
    assert ranges("AP", {"B": B}, universe="inf") == [f"{own}, and any number of unseen ones per topic."]
    assert ranges("AP", both, universe_depth=5) == [
        "Ranges: every way of judging the 3 unjudged documents of these 2 runs in the first 5 ranks of some run."
    ]
    assert ranges(["AP", "AP(universe=run)@3", "P@5"], both) == [
        every.replace("Ranges", "Ranges of AP") + ".",
        "Ranges of AP(universe=run)@3: every way of judging each run's own unjudged documents.",
    ]
    assert ranges("Bpref", both) == ranges("AP", both, ties="expected") == []


def test_the_command_prints_the_sentence_and_plain_names(fathoms: Command) -> None:
    done = fathoms("eval", "qrels.txt", "good.run", "-m", "AP")
    assert "Ranges: every way of judging this run's " in done.out
    assert "universe" not in done.out


# -- one reading --------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(3)
    docs = [f"document-{i}" for i in range(60)]
    lines = [f"{topic} 0 {doc} {rng.integers(3)}" for topic in range(5) for doc in rng.choice(docs, 15, replace=False)]
    (tmp_path / "qrels.txt").write_text("\n".join(lines))
    (tmp_path / "runs").mkdir()
    for run in range(4):
        lines = [
            f"{topic} Q0 {doc} 0 {-place // 2} x"
            for topic in range(5 - run % 2)
            for place, doc in enumerate(rng.permutation(docs)[:30])
        ]
        (tmp_path / "runs" / f"run{run}.txt").write_text("\n".join(lines))
    return tmp_path / "qrels.txt", tmp_path / "runs"


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("measures", [["AP", "nDCG@10", "Q", "P@5", "GMAP", "AP(universe=run)"], ["R@3"]])
def test_one_reading_gives_what_two_give(
    files: tuple[Path, Path], measures: list[str], workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def evaluated(memory_mb: float) -> pl.DataFrame:
        exp = fm.Experiment(*files, memory_mb=memory_mb, workers=workers)
        exp.warn = False
        return exp.evaluate(measures, by_topic=True).frame

    in_memory, once = evaluated(2000), evaluated(0)
    monkeypatch.setattr(run_scores, "ONE_READING", 0)
    assert in_memory.equals(once)
    assert in_memory.equals(evaluated(0))
    sizes = {len(set(in_memory.filter(pl.col("measure") == name)["low"].is_null())) for name in measures}
    assert sizes == {1}


def test_documents_of_all_runs_are_counted_once(files: tuple[Path, Path]) -> None:
    exp = BaseExperiment(*files)
    judged = {tuple(line.split()[::2]) for line in files[0].read_text().splitlines()}
    retrieved = {
        (line.split()[0], line.split()[2]) for run in files[1].iterdir() for line in run.read_text().splitlines()
    }
    unjudged = retrieved - judged
    expected = [sum(topic == one for one, _ in unjudged) for topic in exp.qrels.topics]
    assert exp.universe_keys().counts.tolist() == expected


def test_union_of_parts_in_any_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    parts, expected = [], [set(), set(), set()]  # type: ignore[var-annotated]
    for _ in range(20):
        topics = [np.unique(rng.integers(0, 50, rng.integers(0, 9))).astype(np.uint64) for _ in range(3)]
        for own, keys in zip(expected, topics, strict=True):
            own |= set(keys.tolist())
        parts.append(UnjudgedKeys(np.concatenate(topics), np.array([len(keys) for keys in topics])))
    assert union(parts).counts.tolist() == list(map(len, expected))
    monkeypatch.setattr("fathoms.evidence.universe.BATCH", 10)
    found = gathered(parts)
    assert found.counts.tolist() == list(map(len, expected))
    assert found.has(np.array([49, 50], dtype=np.uint64)).tolist() == [49 in set().union(*expected), False]
