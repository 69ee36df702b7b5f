"""Modes of choosing: topic at a time, batches in files, random samples, finding all relevant documents, bandits."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import fathoms as fm
from fathoms.base.choices import Design
from fathoms.base.errors import FathomsError, InputError
from fathoms.data.qrels import read_qrels
from fathoms.data.simulate import simulate
from fathoms.evidence.candidates import candidates
from fathoms.judging.bandits import MaxMean, RecentMaxMean
from fathoms.judging.batches import take_in
from fathoms.judging.documents_to_judge import known
from fathoms.judging.engine import EVERY, Engine, last_fit
from fathoms.judging.events import JudgingSettings
from fathoms.judging.export import export, export_sample
from fathoms.judging.log import Log
from fathoms.judging.recall import BINS, SHIFT, FindAllEngine, RecallEstimate, falling_yield, found_over_predicted
from fathoms.judging.sampling import JudgingSample, evenly, in_stays, sample_rows
from fathoms.judging.session import Session
from tests.support.commands import Command

RUNS = {
    "one": {"1": {"a": 3.0, "b": 2.0, "c": 1.0}, "2": {"x": 2.0, "y": 1.0}},
    "two": {"1": {"c": 3.0, "d": 2.0, "a": 1.0}, "2": {"z": 2.0, "x": 1.0}},
}
SIM: dict[str, Any] = {"systems": 3, "n_topics": 12, "n_docs": 600, "depth": 40, "max_grade": 1, "seed": 5}


@pytest.fixture(scope="module")
def made() -> Any:
    return simulate(**SIM)


def begun(made: Any, path: Path, **how: Any) -> Session:
    return fm.Experiment(None, made.runs).judge(path, depth=30, **how)


def judged_by_truth(session: Session, truth: Any, n: int | None = None, assessor: str = "ann") -> list[str]:
    """Have the truth answer, and return the topics in the order in which they came."""
    grades = known(session.documents.candidates, read_qrels(truth))
    topics: list[str] = []
    if session.documents.sample is not None:  # all at once: what comes next is no secret
        tasks = [session.documents.task(index) for index in session.documents.come_first(session.state)[:n]]
        answers = [(task.topic, task.document, int(grades.get(task.candidate, 0)), assessor, "") for task in tasks]
        session.grade_all(answers)
        return [task.topic for task in tasks]
    while (n is None or len(topics) < n) and (task := session.next(assessor)) is not None:
        session.grade(task.topic, task.document, int(grades.get(task.candidate, 0)), assessor)
        topics.append(task.topic)
    return topics


# -- topic at a time ------------------------------------------------------------------------------------------------


def runs_of(topics: list[str]) -> list[int]:
    lengths, last = [0], topics[0]
    for topic in topics:
        if topic != last:
            lengths.append(0)
        lengths[-1] += 1
        last = topic
    return lengths


def test_an_assessor_stays_on_a_topic(made: Any, tmp_path: Path) -> None:
    single = judged_by_truth(begun(made, tmp_path / "1.db"), made.truth, 40)
    session = begun(made, tmp_path / "4.db", stay=4)
    topics = judged_by_truth(session, made.truth, 20)
    session.close()
    again = begun_again(made, tmp_path / "4.db")
    assert again.settings.stay == 4
    topics += judged_by_truth(again, made.truth, 20)
    assert max(runs_of(single)) < 4 < len(runs_of(single))
    assert all(length % 4 == 0 for length in runs_of(topics)[:-1])  # two stays may be on one topic
    engine = Engine(
        again.documents.candidates
    )  # a stay begins with the best document of all, and goes on with the topic's best
    grades = known(again.documents.candidates, read_qrels(made.truth))
    for place, event in enumerate(again.state.grades[:20]):
        number = again.documents.find(event.topic, event.document)
        topic = None if place % 4 == 0 else int(again.documents.candidates.topic[number])
        assert number == engine.next(topic=topic)
        engine.judge(number, grades.get(number, 0))


def begun_again(made: Any, path: Path, **how: Any) -> Session:
    return fm.Experiment(None, made.runs).judge(path, resume=True, **how)


def test_assessors_have_topics_of_their_own_and_fruitless_ones_are_left(made: Any, tmp_path: Path) -> None:
    session = begun(made, tmp_path / "s.db", stay=50)
    seen: dict[str, list[str]] = {"ann": [], "bob": []}
    for _ in range(6):
        for name, topics in seen.items():
            task = session.next(name)
            assert task is not None
            session.grade(task.topic, task.document, 1 if name == "ann" else 0, name)
            topics.append(task.topic)
    assert len(set(seen["ann"])) == 1
    assert len(set(seen["bob"][:5])) == 1 < len(set(seen["bob"]))  # five in vain are enough


def test_a_session_of_before_opens_and_stay_may_change(made: Any, tmp_path: Path) -> None:
    begun(made, tmp_path / "s.db").close()
    log = Log.open(tmp_path / "s.db")
    log._connection.execute("DELETE FROM meta WHERE name IN ('stay', 'recall')")
    log._put_meta({})  # which makes their hash anew
    log.close()
    session = begun_again(made, tmp_path / "s.db", stay=7)
    assert (session.settings.stay, session.settings.recall) == (7, None)
    session.close()
    log = Log.open(tmp_path / "s.db")
    assert log.settings().stay == 7
    log.close()


def test_nothing_is_settled_before_enough_topics_are_seen(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = candidates(fm.read_runs(made.runs), 30, "trec", "float32")
    monkeypatch.setattr(Engine, "open_pairs", lambda self: [])
    engine = Engine(found)
    for number in np.flatnonzero(found.topic < 2)[:20].tolist():
        engine.judge(number, 1.0)
    for topic in range(1, EVERY):
        assert not engine.settled()
        engine.judge(int(np.flatnonzero(found.topic == topic)[-1]), 0.0)
    assert engine.settled()
    two = Engine(candidates(fm.read_runs({"a": RUNS["one"], "b": RUNS["one"]}), 3, "trec", "float32"))
    for number in range(5):
        two.judge(number, 1.0)
    assert two.settled()  # runs that are the same differ in no topic


# -- batches --------------------------------------------------------------------------------------------------------


@pytest.fixture
def small(fathoms: Command) -> Command:
    for name, topics in RUNS.items():
        lines = [f"{topic} Q0 {doc} 0 {score} {name}" for topic, docs in topics.items() for doc, score in docs.items()]
        Path(f"{name}.run").write_text("\n".join(lines) + "\n")
    return fathoms


def judge(fathoms: Command, *words: str) -> Any:
    return fathoms("judge", "none", "one.run", "two.run", "--assessor", "ann", *words)


def rows(path: str) -> list[list[str]]:
    return [line.split("\t") for line in Path(path).read_text().splitlines()]


def fill(path: str, *grades: str) -> None:
    header, *body = rows(path)
    lines = [header, *([*row[:2], grade, *row[3:]] for row, grade in zip(body, grades, strict=True))]
    Path(path).write_text("\n".join("\t".join(line) for line in lines) + "\n")


def test_a_batch_goes_out_and_comes_back(small: Command) -> None:
    done = judge(small, "--batch", "3", "--to", "b.tsv")
    assert done.status == 0
    assert "3 documents written to b.tsv; 3 are handed out now" in done.err
    assert rows("b.tsv")[0] == ["topic", "document", "grade"]
    first = [tuple(row[:2]) for row in rows("b.tsv")[1:]]
    fill("b.tsv", "1", "", "0")
    done = judge(small, "--resume", "--answers", "b.tsv", "--batch", "9", "--to", "c.tsv")
    assert "2 new grades in b.tsv, 1 without a grade" in done.err
    second = [tuple(row[:2]) for row in rows("c.tsv")[1:]]
    assert len(first) == 3
    assert len(second) == 4
    assert not set(first) & set(second)  # what is out is not handed out again
    done = judge(small, "--resume", "--answers", "b.tsv", "--take-back")
    assert "0 new grades in b.tsv, 2 known already, 1 without a grade" in done.err
    assert "5 documents taken back" in done.err
    judge(small, "--resume", "--batch", "9", "--to", "d.tsv", "--export", "q.txt")
    assert {tuple(row[:2]) for row in rows("d.tsv")[1:]} == {first[1], *second}
    graded = {(line.split()[0], line.split()[2]) for line in Path("q.txt").read_text().splitlines()}
    assert graded == {first[0], first[2]}


def test_a_batch_keeps_to_the_budget(small: Command) -> None:
    judge(small, "--batch", "3", "--to", "b.tsv")
    fill("b.tsv", "1", "", "")
    judge(small, "--resume", "--answers", "b.tsv", "--batch", "9", "--to", "c.tsv", "--budget", "4")
    assert len(rows("c.tsv")) == 1 + 4 - 3  # one is judged, two are out


def test_nobody_is_asked_for_what_is_handed_out(made: Any, tmp_path: Path) -> None:
    session = begun(made, tmp_path / "s.db")
    plain = session.engine.queue(8)
    out = session.batch(5)
    assert not session.state.out
    session.hand_out(out)
    assert [task.candidate for task in out] == plain[:5] == session.documents.numbers(session.state.out)
    task = session.next("ann")
    assert task is not None
    assert task.candidate == plain[5]
    session.grade(out[0].topic, out[0].document, 1, "bob")  # but whoever has it may answer
    assert session.documents.numbers(session.state.out) == plain[1:5]
    session.close()
    again = begun_again(made, tmp_path / "s.db")
    assert again.documents.numbers(again.state.out) == plain[1:5]
    assert again.take_back() == 4
    assert not again.state.out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("topic\tdocument\tgrade\n1\ta\t1\n1\tb\t7\n", "b.tsv:3: expected a grade from 0 to 1, or nothing, found '7'"),
        (
            "topic\tdocument\tgrade\n1\ta\t1\n1\tb\tyes\n",
            "b.tsv:3: expected a grade from 0 to 1, or nothing, found 'yes'",
        ),
        ("topic\tdocument\tgrade\n1\ta\t1\n1\tq\t1\n", "b.tsv:3: topic 1, document q is in no run's top 100"),
        (
            "topic\tdocument\tgrade\n1\ta\t1\n1\ta\t0\n",
            "b.tsv:3: topic 1, document a has grade 0, and grade 1 in line 2",
        ),
        ("topic\tdocument\tgrade\n1\ta\t1\n2\tx\t0\n", "b.tsv:3: topic 2, document x has grade 1 already, from ann"),
        ("1\ta\t1\n", "b.tsv:1: expected a first line with the columns topic, document, grade"),
        ("", "b.tsv:1: expected a first line with the columns topic, document, grade"),
    ],
)
def test_a_wrong_row_is_named_and_nothing_is_taken(small: Command, text: str, message: str) -> None:
    judge(small, "--batch", "1", "--to", "first.tsv")
    Path("first.tsv").write_text("topic\tdocument\tgrade\n2\tx\t1\n")
    judge(small, "--resume", "--answers", "first.tsv")
    Path("b.tsv").write_text(text)
    done = judge(small, "--resume", "--answers", "b.tsv")
    assert done.status == 2
    assert message in done.err
    done = judge(small, "--resume", "--batch", "1", "--to", "next.tsv")
    assert done.out.startswith("1 judged (1 relevant)")


def test_spreadsheets_may_quote_and_reorder(small: Command) -> None:
    judge(small, "--batch", "2", "--to", "b.tsv")
    (one, two) = (row[:2] for row in rows("b.tsv")[1:])
    lines = ["\ufeffgrade,note,document,topic,assessor", f'1,"good, mostly",{one[1]},{one[0]},bob']
    lines += [f"0,,{two[1]},{two[0]},", ""]
    Path("b.csv").write_bytes("\r\n".join(lines).encode())
    done = judge(small, "--resume", "--answers", "b.csv", "--export", "q.txt")
    assert "2 new grades in b.csv, 0 without a grade" in done.err
    table = [line.split("\t") for line in Path("q.txt.provenance.tsv").read_text().splitlines()[1:]]
    assert [(row[2], row[3], row[5]) for row in table] == [("1", "bob", "good, mostly"), ("0", "ann", "")]


def test_titles_go_with_the_documents(small: Command) -> None:
    Path("docs.tsv").write_text("".join(f'{doc}\t"Title of {doc}\ttext\n' for doc in "abcdxyz"))
    Path("topics.tsv").write_text("1\tfirst topic\ttext\n2\tsecond topic\ttext\n")
    judge(small, "--batch", "9", "--to", "b.tsv", "--docs", "docs.tsv", "--topic-texts", "topics.tsv")
    assert rows("b.tsv")[0] == ["topic", "document", "grade", "topic_title", "document_title"]
    assert {row[3] for row in rows("b.tsv")[1:]} == {"first topic", "second topic"}
    session = fm.Experiment(None, RUNS).judge("other.db")
    Path("c.tsv").write_text(Path("b.tsv").read_text())
    assert take_in(session, "c.tsv", "ann").empty == 7  # a quotation mark in a title swallows no lines


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--batch", "3"], "--batch N and --to FILE go together"),
        (["--to", "b.tsv"], "--batch N and --to FILE go together"),
        (["--answers", "b.tsv"], "--answers is for a session that is there; add --resume"),
        (["--take-back"], "--take-back is for a session that is there; add --resume"),
        (["--batch", "3", "--to", "b.tsv", "--oracle", "q.txt"], "--oracle does not go with --batch"),
        (["--design", "depth"], "design: says how a sample is drawn; give its size too"),
        (["--sample", "3", "--strategy", "mtc"], "strategy: with a sample chance decides"),
        (["--sample", "3", "--resume"], "the sample of a session is drawn when it begins"),
        (["--recall", "0.9"], "a recall to reach is for the strategy find-all, found fusion"),
        (["--recall", "0", "--strategy", "find-all"], "the recall to reach must lie between 0 and 1, found 0"),
    ],
)
def test_flags_that_do_not_go_together(small: Command, words: list[str], message: str) -> None:
    done = judge(small, *words)
    assert done.status == 2
    assert message in done.err


# -- samples --------------------------------------------------------------------------------------------------------


def estimates(made: Any, session: Session, path: Path, measures: list[str]) -> Any:
    export(session, path)
    design = export_sample(session, path)
    return fm.Experiment(path, made.runs).predict_sampled(measures, design)


@pytest.mark.long
def test_the_command_draws_judges_and_estimates(fathoms: Command, simulated: Callable[..., Path]) -> None:
    folder = simulated(**SIM)
    words = ["judge", "none", str(folder / "runs"), "--depth", "30", "--oracle", str(folder / "truth.txt")]
    done = fathoms(*words, "--sample", "120", "--design", "depth", "--export", "q.txt")
    assert done.out.startswith("120 judged")
    assert "fathoms predict q.txt RUNS --sampled q.txt.sample.tsv" in done.err
    done = fathoms("predict", "q.txt", str(folder / "runs"), "-m", "P@10", "--sampled", "q.txt.sample.tsv")
    assert done.status == 0
    assert len([line for line in done.out.splitlines() if line.startswith("sys")]) == SIM["systems"]
    assert [line.split(":")[0] for line in done.out.splitlines()[:2]] == ["P@10 (sampled)", "P@10 (assisted)"]


def test_what_a_sample_by_label_saves_is_said_as_pool_says_it(fathoms: Command, simulated: Callable[..., Path]) -> None:
    folder = simulated(**SIM)
    labels = [line.split() for line in (folder / "truth.txt").read_text().splitlines()]
    Path("labels.txt").write_text(
        "".join(f"{t} {d} {max(int(g), 0) ^ (len(d + t) % 7 == 0)}\n" for t, _, d, g in labels)
    )
    how = ["--sample", "60", "--design", "label", "--labels", "labels.txt", "--depth", "20"]
    runs = str(folder / "runs")
    pooled = fathoms("pool", runs, *how, "-o", "sample.tsv")
    [sentence] = [line for line in pooled.err.splitlines() if "Drawn by label" in line]
    words = ["judge", "none", runs, *how, "--oracle", str(folder / "truth.txt"), "--budget", "2"]
    begun = fathoms(*words)
    [line] = [line for line in begun.err.splitlines() if "Drawn by label" in line]
    saves, _, keep = sentence.partition(" Keep the file of the sample")
    assert line == f"{saves} --export writes the sample beside the judgments{keep}"
    assert (
        "Drawn by label"
        not in fathoms("judge", "none", runs, "--resume", "--labels", "labels.txt", "--batch", "2", "--to", "b.tsv").err
    )
    assert "Drawn by label" not in fathoms(*words, "--quiet", "--session", "quiet.db").err
    words[words.index("label")] = "depth"
    assert "Drawn by" not in fathoms(*words, "--session", "depth.db").err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "stay", "share"),
    [
        ("uniform", 1, 1.0),
        ("depth", 1, 1.0),
        ("probe", 1, 1.0),
        ("depth", 1, 0.6),
        ("depth", 5, 0.4),
        ("probe", 1, 0.5),
    ],
)
def test_estimates_are_unbiased_also_where_judging_stopped_early(
    made: Any, tmp_path: Path, design: Design, stay: int, share: float
) -> None:
    """The mean over seeds against the truth, by its own standard error."""
    pool = fm.Experiment(made.truth, made.runs)
    found = candidates(fm.read_runs(made.runs), 30, "trec", "float32")
    relevant = found.judged_by(read_qrels(made.truth))[1]
    truth = np.append(relevant, False)[found.place[:, :, :10]].mean(axis=(1, 2))
    errors = []
    for seed in range(14):
        exp = fm.Experiment(None, made.runs, seed=seed)
        session = exp.judge(tmp_path / f"{seed}.db", depth=30, sample=150, design=design, stay=stay)
        judged_by_truth(session, made.truth, round(150 * share))
        found_now = estimates(made, session, tmp_path / f"{seed}.txt", ["P@10"])
        mine = [row for row in found_now.rows() if row[6] == "sampled"]
        errors.append([row[7] for row in mine] - truth)
        session.close()
    assert [row[0] for row in mine] == list(pool.runs)
    mean, error = np.mean(errors, axis=0), np.std(errors, axis=0, ddof=1) / math.sqrt(len(errors))
    assert (np.abs(mean) < 3.3 * error).all(), (mean, error)


def test_the_order_is_kept_and_spread_evenly(made: Any, tmp_path: Path) -> None:
    session = begun(made, tmp_path / "s.db", sample=100, design="depth", stay=4)
    drawn = session.documents.sample
    assert drawn is not None
    assert len(set(drawn.order)) == len(drawn.order) == 100
    assert all(length <= 8 for length in runs_of([str(session.documents.candidates.topic[i]) for i in drawn.order]))
    first = judged_by_truth(session, made.truth, 10)
    session.close()
    again = begun_again(made, tmp_path / "s.db")
    first += judged_by_truth(again, made.truth)
    assert [again.documents.find(event.topic, event.document) for event in again.state.grades] == drawn.order
    assert again.settled() is False
    assert again.why_ended(False, None, more=False) == "Nothing of the sample is left to judge."
    other = next(i for i in range(len(again.documents.candidates)) if i not in drawn.order)
    task = again.documents.task(other)
    with pytest.raises(FathomsError, match="is not in the sample that this session judges"):
        again.grade(task.topic, task.document, 1, "ann")


def test_keys_spread_cells_evenly() -> None:
    rng = np.random.default_rng(0)
    cell = np.repeat([0, 1, 2], [50, 10, 2])
    keys = evenly(cell, rng)
    for one, size in ((0, 50), (1, 10), (2, 2)):
        inside = np.sort(keys[cell == one])
        np.testing.assert_allclose(np.diff(inside), 1 / size)
        assert 0 <= inside[0] < 1 / size
    topic = np.array([7, 3, 7, 7, 3, 7, 7])
    order = np.argsort(in_stays(topic, 2, rng), kind="stable")
    of_seven = order[topic[order] == 7]
    assert of_seven.tolist() == sorted(of_seven)  # what came first in a topic stays first


def test_the_first_part_of_a_sample_by_hand() -> None:
    """Ten documents, five of each of two strata; drawn are 0 1 2 3 and 5 6 7 8, asked in turn."""
    place = np.arange(10, dtype=np.int32)[None, None, :]
    names = np.array([f"d{i}" for i in range(10)], dtype=bytes)
    found = fm.evidence.candidates.Candidates(["a"], ["1"], np.zeros(10, dtype=np.int32), names, place)
    stratum = np.repeat([0, 1], 5)
    sample = JudgingSample("depth", ["top", "rest"], stratum, stratum, np.full(10, 0.8), [0, 5, 1, 6, 2, 7, 3, 8])

    def design(judged: list[int]) -> dict[str, tuple[str, float, int]]:
        return {row[1]: (row[2], round(row[3], 6), row[4]) for row in sample_rows(sample, found, judged)[1:]}

    whole = design(sample.order)
    assert whole["d0"] == ("top", 0.8, 1)
    assert whole["d9"] == ("rest", 0.8, 0)
    part = design([0, 5, 1])
    assert (part["d0"], part["d4"], part["d5"]) == (("top", 0.4, 1), ("top", 0.4, 0), ("rest", 0.2, 1))
    holes = design([0, 5, 2])  # 1 is missing: 2 is known, and 0 is one of the four others
    assert (holes["d0"], holes["d2"], holes["d1"]) == (("top", 0.25, 1), ("judged", 1.0, 1), ("top", 0.25, 0))
    one = design([0])  # nothing of the second stratum: one of the eight drawn, each with chance 0.8
    assert (one["d0"], one["d5"]) == (("top", 0.1, 1), ("rest", 0.1, 0))
    with pytest.raises(FathomsError, match="none of the 8 documents of the sample is judged yet"):
        design([])


def test_a_skipped_document_spoils_a_sample(made: Any, tmp_path: Path) -> None:
    session = begun(made, tmp_path / "s.db", sample=30)
    judged_by_truth(session, made.truth, 29)
    task = session.next("ann")
    assert task is not None
    session.skip(task.topic, task.document, "ann")
    with pytest.raises(FathomsError, match="1 document of the sample was skipped; judge all"):
        export_sample(session, tmp_path / "q.txt")
    session.grade(task.topic, task.document, 1, "ann")
    assert export_sample(session, tmp_path / "q.txt").exists()


def test_what_is_judged_before_is_left_out_of_the_draw(made: Any, tmp_path: Path) -> None:
    before = made.truth.head(100)
    session = fm.Experiment(before, made.runs).judge(tmp_path / "s.db", depth=30, sample=50, topics="all")
    assert session.documents.sample is not None
    imported = set(known(session.documents.candidates, read_qrels(before)))
    assert imported
    assert not imported & set(session.documents.sample.order)
    assert (session.documents.sample.probability[list(imported)] == 1).all()


# -- find all -------------------------------------------------------------------------------------------------------


def test_find_all_stops_at_the_recall_it_says(made: Any, tmp_path: Path) -> None:
    session = begun(made, tmp_path / "s.db", strategy="find-all", recall=0.8)
    grades = known(session.documents.candidates, read_qrels(made.truth))
    total = sum(grade >= 1 for grade in grades.values())
    while not session.settled() and (tasks := [session.documents.task(index) for index in session.engine.queue(20)]):
        session.grade_all(
            [(task.topic, task.document, int(grades.get(task.candidate, 0)), "ann", "") for task in tasks]
        )
    estimate = session.recall()
    assert estimate is not None
    found = session.progress().relevant
    assert found == estimate.found
    assert found / total >= 0.8
    assert session.judged < len(session.documents.candidates)
    assert estimate.recall_low >= 0.8
    assert session.why_ended(True, None, True) == (
        "The recall is estimated to be at least 0.8; --resume with a greater --recall goes on."
    )
    session.close()
    again = begun_again(made, tmp_path / "s.db", recall=0.9)
    assert again.recall() == estimate  # the same after a restart
    assert not again.settled()


def test_find_all_knows_when_all_is_judged() -> None:
    found = candidates(fm.read_runs(RUNS), 3, "trec", "float32")
    engine = FindAllEngine(found, "find-all", recall=0.99)
    while (number := engine.next()) is not None:
        assert engine.recall_estimate() is None
        assert not engine.settled()
        engine.judge(number, 1.0)
    assert engine.recall_estimate() == RecallEstimate(7, 0.0, 0.0, 0.0)
    assert engine.settled()


def test_a_recall_is_found_over_found_and_left() -> None:
    estimate = RecallEstimate(90, 10.0, 5.0, 30.0)
    assert (estimate.total, estimate.recall, estimate.recall_low) == (100.0, 0.9, 0.75)
    assert RecallEstimate(0, 0.0, 0.0, 0.0).recall == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_the_yield_is_the_likeliest_power_law(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, more = 400, 300
    relevant = rng.random(n) < np.minimum(1, 8 * (np.arange(n) + SHIFT) ** -0.8)
    edges = np.linspace(0, n, BINS + 1).round().astype(int)
    x = [math.log((a + b) / 2 + SHIFT) for a, b in pairwise(edges)]
    counts = [relevant[a:b].sum() for a, b in pairwise(edges)]

    def unlikely(theta: Any) -> float:
        rates = [(b - a) * math.exp(theta[0] + theta[1] * z) for (a, b), z in zip(pairwise(edges), x, strict=True)]
        return (
            sum(rate - count * math.log(rate) for rate, count in zip(rates, counts, strict=True))
            + 0.005 * theta[1] ** 2
        )

    a, b = minimize(
        unlikely, [0.0, -0.5], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000}
    ).x
    expected = sum(min(1.0, math.exp(a + b * math.log(n + i + 0.5 + SHIFT))) for i in range(more))
    assert falling_yield(relevant, more) == pytest.approx(expected, rel=1e-4)


def test_hidden_judgments_are_held_against_predictions(made: Any) -> None:
    found = candidates(fm.read_runs(made.runs), 30, "trec", "float32")
    truth = found.judged_by(read_qrels(made.truth))[1]
    engine = FindAllEngine(found, "find-all")
    for _ in range(100):
        number = engine.next()
        assert number is not None
        engine.judge(number, float(truth[number]))
    assert last_fit(100) == 100
    logs = []
    for first in (50, 70, 80):
        other = Engine(found, "find-all")
        other._load([(i, float(truth[i])) for i in list(engine._known)[:first]], first)
        chance = dict(zip(*(some.tolist() for some in other.probabilities()), strict=True))
        later = list(engine._known)[first:]
        logs.append(math.log((sum(truth[i] for i in later) + 1) / (sum(chance[i] for i in later) + 1)))
    ratio = found_over_predicted(engine._learner, engine._state.order, engine._state.level, np.array([False, True]))
    assert ratio == pytest.approx(math.exp(sum(logs) / 3), rel=1e-6)


# -- bandits --------------------------------------------------------------------------------------------------------


def test_maxmean_by_hand() -> None:
    """Two arms, a b c and d e f, of one topic."""
    rank = np.array([[[1, 2, 3, 0, 0, 0], [0, 0, 0, 1, 2, 3]]], dtype=np.int32)
    bandit = MaxMean(rank)
    left = dict.fromkeys(range(6))
    chosen = []
    for relevant in (False, True, False, False, True):
        weights = bandit.weights(0)
        best = max(left, key=lambda column: (weights[column], -column))
        del left[best]
        chosen.append("abcdef"[best])
        bandit.tell(0, best, relevant)
    # a: 1/3. d: 2/3. e: 2/4. f: 2/5, and the arm has no more. b: 2/4.
    assert "".join(chosen) == "adefb"
    np.testing.assert_allclose((bandit.found + 1) / (bandit.pulls + 2), [[1 / 2, 2 / 5]])


def test_recent_rewards_count_more() -> None:
    rank = np.array([[[1, 2, 3], [0, 0, 0]]], dtype=np.int32)
    bandit = RecentMaxMean(rank)
    for column, relevant in enumerate((True, True, False)):
        bandit.tell(0, column, relevant)
    assert bandit.found[0, 0] == pytest.approx(0.9**2 + 0.9)
    assert bandit.pulls[0, 0] == pytest.approx(0.9**2 + 0.9 + 1)


def test_topics_take_turns() -> None:
    found = candidates(fm.read_runs(RUNS), 3, "trec", "float32")
    engine = Engine(found, "maxmean", seed=1)
    topics = []
    for _ in range(6):
        number = engine.next()
        assert number is not None
        topics.append(int(found.topic[number]))
        engine.judge(number, 1.0)
    assert sorted(topics[:2]) == sorted(topics[2:4]) == sorted(topics[4:6]) == [0, 1]


def test_settings_say_what_they_cannot_be() -> None:
    with pytest.raises(FathomsError, match="at least 1 document, found 0"):
        JudgingSettings(stay=0)
    with pytest.raises(InputError, match="no such file"):
        take_in(None, "nowhere.tsv", "ann")  # type: ignore[arg-type]
