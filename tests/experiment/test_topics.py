"""Topics that runs and judgments do not share: what counts, what is said, what is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fathoms as fm
from fathoms.data.qrels import read_qrels
from fathoms.experiment.base import BaseExperiment
from fathoms.measures.parse import parse_measure
from tests.support.commands import Command, finished

pytestmark = pytest.mark.filterwarnings("ignore::fathoms.FathomsWarning")

TOPICS = [str(number) for number in range(101, 107)]
QRELS = {topic: {f"d{i}": int(i % 3 == 0) for i in range(8)} for topic in TOPICS}


def ranking(first: int) -> dict[str, float]:
    return {f"d{(first + i) % 12}": float(-i) for i in range(8)}


# 101 to 103 in both runs, 104 in one of them, 105 and 106 in none.
RUNS = {
    "long": {topic: ranking(int(topic) % 3) for topic in TOPICS[:4]},
    "short": {topic: ranking(int(topic) % 2) for topic in TOPICS[:3]},
}
ANSWERED = {topic: QRELS[topic] for topic in TOPICS[:4]}
METHODS: dict[str, dict[str, Any]] = {
    "compare": {"measures": "AP"},
    "predict": {"measures": "AP", "method": "linear"},
    "depth": {"measures": "P", "depths": "1:5"},
    "ties": {"measures": "AP"},
    "audit": {"measures": "AP"},
    "probabilities": {},
    "confidence": {},
}


def call(qrels: Any, method: str, runs: Any = RUNS, **options: Any) -> Any:
    exp = fm.Experiment(qrels, runs, **options)
    exp.warn = False
    return getattr(exp, method)(**METHODS.get(method, {}))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("memory_mb", [0, 2000])
def test_intersect_leaves_out_what_no_run_answers(method: str, memory_mb: float) -> None:
    """The same as with judgments of the other topics only, so a topic of one run counts 0 for the other."""
    ours = call(QRELS, method, topics="intersect", memory_mb=memory_mb)
    theirs = call(ANSWERED, method)
    assert ours.frame.equals(theirs.frame)


def test_eval_takes_each_runs_own_topics() -> None:
    frame = fm.evaluate(QRELS, RUNS, "AP", topics="intersect", by_topic=True, universe="run")
    assert frame.filter(pl.col("run") == "short")["topic"].to_list() == [*TOPICS[:3], "all"]
    for name, topics in (("long", TOPICS[:4]), ("short", TOPICS[:3])):
        alone = fm.evaluate({topic: QRELS[topic] for topic in topics}, {name: RUNS[name]}, "AP", universe="run")
        assert frame.filter((pl.col("run") == name) & (pl.col("topic") == "all"))["score"][0] == alone["score"][0]


def test_eval_before_and_after_another_analysis() -> None:
    exp = fm.Experiment(QRELS, RUNS, topics="intersect")
    first, compared, again = exp.evaluate("AP").frame, exp.ties("AP").frame, exp.evaluate("AP").frame
    assert first.equals(again)
    assert compared.equals(call(ANSWERED, "ties").frame)


def test_judgments_of_some_topics() -> None:
    qrels = read_qrels({"1": {"a": 1}, "2": {"b": 0, "c": 2}, "3": {"d": 1}})
    some = qrels.of_topics({"3", "2", "9"})
    assert some.topics == ["2", "3"]
    assert [
        (some.topics[t], d.decode(), g) for t, d, g in zip(some.topic, some.documents, some.grades, strict=True)
    ] == [
        ("2", "b", 0.0),
        ("2", "c", 2.0),
        ("3", "d", 1.0),
    ]


# -- what is said -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["evaluate", "predict", "depth", "ties", "audit"])
def test_topics_in_no_run_come_first(method: str) -> None:
    notes = call(QRELS, method).notes
    assert notes[0].startswith("judged topics in no run, 2 of 6, count 0")
    assert notes[0].endswith("; --topics intersect leaves them out: 105, 106")
    assert notes[1] == "topics without documents count 0: short lacks 104"


def test_eval_says_what_the_mean_would_be() -> None:
    found = fm.Experiment(QRELS, RUNS, universe="run").evaluate("P@5")
    best = max(found.runs, key=lambda run: run.mean(parse_measure("P@5"))["score"] or 0.0)
    total = found.frame.filter(pl.col("run") == best.run)["score"][0]
    means = f"P@5 of {best.run} is {total:.4f}, but {total * 6 / 4:.4f} over the 4 answered topics"
    assert f"count 0 ({means}); --topics intersect leaves them out" in found.notes[0]


def test_intersect_says_what_it_left_out() -> None:
    found = fm.Experiment(QRELS, RUNS, topics="intersect")
    notes = found.evaluate("AP").notes
    assert notes[0] == "judged topics in no run, 2 of 6, were left out (--topics intersect): 105, 106"
    assert notes[1] == "topics without documents are left out of the mean (--topics intersect): short lacks 104"
    found.ties("AP")
    assert found.notes == ["judged topics in no run, 2 of 6, were left out (--topics intersect): 105, 106"]


# -- nothing matches ----------------------------------------------------------------------------------------------

ELSEWHERE = {"a": {"1": ranking(0), "2": ranking(1)}, "b": {"2": ranking(2)}}


@pytest.mark.parametrize("method", ["evaluate", *METHODS])
@pytest.mark.parametrize("topics", ["all", "intersect"])
def test_no_matching_topic_is_an_error_with_both_sides(method: str, topics: Any) -> None:
    with pytest.raises(fm.FathomsError) as caught:
        call(QRELS, method, ELSEWHERE, topics=topics)
    assert "the runs have 1, 2; qrels has 101, 102, 103 and 3 more" in str(caught.value)


def test_an_evaluator_refuses_a_run_of_other_topics() -> None:
    with pytest.raises(fm.FathomsError, match="the runs have 1, 2; qrels has 101"):
        fm.Evaluator(QRELS, "AP").mean(ELSEWHERE["a"])


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "qrels.txt").write_text("".join(f"{t} 0 {d} {g}\n" for t in QRELS for d, g in QRELS[t].items()))
    (tmp_path / "runs").mkdir()
    for name, run in ELSEWHERE.items():
        lines = (f"{t} Q0 {d} 0 {s} x\n" for t in run for d, s in run[t].items())
        (tmp_path / "runs" / f"{name}.run").write_text("".join(lines))
    return str(tmp_path / "qrels.txt"), str(tmp_path / "runs")


@pytest.mark.parametrize(
    "words",
    ["eval", "compare -m AP", "predict", "depth -m P", "ties", "audit", "report -o report.html", "pool --depth 3"],
)
def test_every_command_ends_with_status_2(
    words: str, files: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    command, *flags = words.split()
    given = [files[1], "--qrels", files[0]] if command == "pool" else files
    done = finished(capsys, command, *given, *flags)
    assert done.status == 2
    assert "the runs have 1, 2; " in done.err


def test_depths_refuse_a_measure_with_its_cutoff(fathoms: Command) -> None:
    exp = BaseExperiment(QRELS, RUNS)
    assert exp.has_qrels
    with pytest.raises(fm.FathomsError, match="nDCG@10: give the measure without its cut-off"):
        fm.Experiment(QRELS, RUNS).evaluate_depths("nDCG@10", "1:5")
    done = fathoms("depth", "qrels.txt", "good.run", "-m", "nDCG@10")
    assert done.status == 2
