"""A judging session against a plain model.

Sessions are tested with an engine that chooses by arithmetic, so that nothing here hangs on how documents are chosen.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import unicodedata
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fathoms as fm
from fathoms.base.errors import FathomsError, InputError
from fathoms.data.qrels import Qrels
from fathoms.evidence.candidates import Candidates, candidates
from fathoms.evidence.evidence import Floats
from fathoms.judging import session as session_module
from fathoms.judging.documents_to_judge import known
from fathoms.judging.engine import Engine
from fathoms.judging.events import JudgingSettings
from fathoms.judging.export import export
from fathoms.judging.log import Log, check_new
from fathoms.judging.session import Session
from fathoms.judging.standings import PairStanding
from fathoms.judging.texts import printable
from fathoms.measures.base import Measure

RUNS = {
    "one": {"1": {"a": 3.0, "b": 2.0, "c": 1.0}, "2": {"x": 2.0, "y": 1.0}},
    "two": {"1": {"c": 3.0, "d": 2.0, "a": 1.0}, "2": {"z": 2.0, "x": 1.0}},
}


class Arithmetic:
    """An engine that is a pure function of the ordered judgments, and of nothing that a real one would look at."""

    def __init__(
        self,
        candidates: Candidates,
        strategy: str = "rtc",
        *,
        until: float = 0.95,
        baseline: str | None = None,
        seed: int = 0,
        measures: Sequence[Measure] = (),
        grades: Sequence[float] = (),
        rel: float = 1.0,
        labels: Floats | None = None,
        elsewhere: Floats | None = None,
        judgments: Sequence[tuple[int, float]] | None = None,
        imported: int = 0,
        pool_depth: int = 0,
    ) -> None:
        self.candidates, self.until, self.measures = candidates, until, measures
        self.names = candidates.names
        self.judgments: list[tuple[int, float]] = []

    def load(self, judgments: Sequence[tuple[int, float]]) -> None:
        self.judgments = list(judgments)

    def judge(self, index: int, grade: float) -> None:
        self.judgments.append((index, grade))

    def next(self, skip: Collection[int] = ()) -> int | None:
        gone = {index for index, _ in self.judgments} | set(skip)
        left = [index for index in range(len(self.candidates)) if index not in gone]
        total = sum(place * (2 * index + int(grade)) for place, (index, grade) in enumerate(self.judgments, 1))
        return left[total % len(left)] if left else None

    def confidence(self, measure: int = 0) -> Floats:
        return np.array([[0.5, 0.7], [0.3, 0.5]])

    def expected(self, measure: int = 0) -> Floats:
        return np.array([0.2, 0.3])

    def pairs(self) -> list[tuple[int, int]]:
        return [(0, 1)]

    def settled(self) -> bool:
        return self.until <= 0.7

    def forecast(self) -> tuple[int, int] | None:
        return None


@pytest.fixture
def plain_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "Engine", Arithmetic)


def small() -> Candidates:
    return candidates(fm.read_runs(RUNS), 3, "trec", "float32")


def begin(path: Path, qrels: Qrels | None = None, **how: Any) -> Session:
    return Session.begin(path, JudgingSettings(**how), small(), qrels)


def resume(path: Path, qrels: Qrels | None = None) -> Session:
    log = Log.open(path)
    return Session.resume(log, log.settings(), small(), qrels)


# -- the session --------------------------------------------------------------------------------------------------

DOCUMENTS = [("1", "a"), ("1", "b"), ("1", "c"), ("1", "d"), ("2", "x"), ("2", "y"), ("2", "z")]
ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["grade", "grade", "skip", "undo"]),
        st.integers(0, 6),
        st.integers(0, 2),
        st.sampled_from(["ann", "bob"]),
    ),
    max_size=25,
)


@pytest.mark.long
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=ACTIONS, imported=st.lists(st.sampled_from(DOCUMENTS), unique=True, max_size=2))
def test_what_stands_is_what_a_plain_model_says(
    actions: list[tuple[str, int, int, str]],
    imported: list[tuple[str, str]],
    plain_engine: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("session") / "s.db"
    grades_of = {topic: {d: 1 for t, d in imported if t == topic} for topic, _ in imported}
    qrels = fm.read_qrels(grades_of or {"1": {"q": 1}})
    now = begin(path, qrels, max_grade=2, rel=2)
    done: list[tuple[str, tuple[str, str], int | None, str]] = []  # what stands, in order
    written = 0
    for kind, number, grade, who in actions:
        pair = DOCUMENTS[number]
        judged = [*imported, *(p for k, p, _, _ in done if k == "grade")]
        skipped = [p for k, p, _, _ in done if k == "skip"]
        if kind == "undo":
            mine = [i for i, (_, _, _, by) in enumerate(done) if by == who]
            back = now.undo(who)
            assert (back is not None) == bool(mine)
            if mine:
                assert back is not None
                assert (back.topic, back.document) == done.pop(mine[-1])[1]
                written += 1
        elif pair in judged or (kind == "skip" and pair in skipped):
            with pytest.raises(FathomsError, match="already"):
                now.grade(*pair, grade, who) if kind == "grade" else now.skip(*pair, who)
        else:
            now.grade(*pair, grade, who) if kind == "grade" else now.skip(*pair, who)
            done.append((kind, pair, grade if kind == "grade" else None, who))
            written += 1
    now_next = now.next()
    now.close()

    again = resume(path, qrels)
    grades = [(p, g) for k, p, g, _ in done if k == "grade"]
    for one in (now, again):
        assert [((e.topic, e.document), e.grade, e.assessor) for e in one.state.grades] == [
            (p, g, by) for k, p, g, by in done if k == "grade"
        ]
        assert [(e.topic, e.document) for e in one.state.skips] == [
            p for k, p, _, _ in done if k == "skip" and p not in dict(grades)
        ]
    known = {(topic, document): i for i, (topic, document) in enumerate(DOCUMENTS)}  # numbered as candidates are
    engine = again.engine
    assert isinstance(engine, Arithmetic)
    order = [(topic, document) for topic, found in grades_of.items() for document in found]
    assert engine.judgments == [(known[p], 1) for p in order] + [(known[p], g) for p, g in grades]
    assert again.next() == now_next
    assert len(again.log.events()) == written
    again.close()


def test_candidates_are_numbered_as_the_model_takes_them_to_be() -> None:
    found = small()
    assert [(found.topics[t], d.decode()) for t, d in zip(found.topic, found.documents, strict=True)] == DOCUMENTS


@pytest.mark.usefixtures("plain_engine")
class TestSession:
    def test_bad_answers_change_nothing(self, tmp_path: Path) -> None:
        now = begin(tmp_path / "s.db", fm.read_qrels({"1": {"a": 1, "b": -1}}), max_grade=2)
        for topic, document, grade, message in (
            ("1", "x", 1, "topic 1, document x is in no run's top 100"),
            ("9", "a", 1, "topic 9, document a is in no run"),
            ("1", "", 1, "is in no run"),
            ("1", "c", 3, "expected a grade from 0 to 2, found 3"),
            ("1", "c", -1, "expected a grade from 0 to 2, found -1"),
            ("1", "c", True, "expected a grade from 0 to 2, found True"),
            ("1", "c", 1.0, "expected a grade from 0 to 2, found 1.0"),
            ("1", "a", 1, "topic 1, document a is judged already in qrels"),
        ):
            with pytest.raises(FathomsError, match=message):
                now.grade(topic, document, grade, "ann")  # type: ignore[arg-type]
        now.grade("1", "b", 2, "ann")  # its negative grade was none
        with pytest.raises(FathomsError, match="has grade 2 already, from ann; take that back first"):
            now.grade("1", "b", 2, "bob")
        with pytest.raises(FathomsError, match="already"):
            now.skip("1", "b", "bob")
        assert now.undo("bob") is None
        assert [event.kind for event in now.log.events()] == ["grade"]

    def test_everything_left_is_skipped(self, tmp_path: Path) -> None:
        now = begin(tmp_path / "s.db")
        while (task := now.next()) is not None:
            now.skip(task.topic, task.document, "ann")
        assert len(now.state.skips) == len(DOCUMENTS)
        now.grade("1", "a", 1, "ann")  # one may come back to it
        assert len(now.state.skips) == len(DOCUMENTS) - 1
        assert now.undo("ann") is not None
        assert len(now.state.skips) == len(DOCUMENTS)
        assert now.next() is None

    def test_undo_of_an_answer_that_is_not_the_latest(self, tmp_path: Path) -> None:
        now = begin(tmp_path / "s.db")
        now.grade("1", "a", 1, "ann")
        now.grade("1", "b", 0, "bob")
        back = now.undo("ann")
        assert back is not None
        assert (back.candidate, back.topic, back.document) == (0, "1", "a")
        assert isinstance(now.engine, Arithmetic)
        assert now.engine.judgments == [(1, False)]

    def test_progress_says_where_it_stands(self, tmp_path: Path) -> None:
        now = begin(tmp_path / "s.db", fm.read_qrels({"1": {"a": 1, "q": 1}, "9": {"a": 0}}), max_grade=2, rel=2)
        now.grade("1", "b", 1, "ann")
        now.grade("1", "c", 2, "ann")
        now.skip("1", "d", "ann")
        state = now.progress()
        assert (state.judged, state.relevant, state.skipped, state.imported) == (2, 1, 1, 1)
        assert (state.pairs, state.settled, state.weakest) == (1, 0, PairStanding("one", "two", 0.7, "AP(rel=2)"))
        assert now.expected() == [("two", 0.3), ("one", 0.2)]
        now.close()
        log = Log.open(tmp_path / "s.db")
        lower = Session.resume(log, JudgingSettings(max_grade=2, rel=2, until=0.7), small(), now.qrels)
        assert (lower.progress().settled, lower.progress().weakest, lower.settled()) == (1, None, True)
        lower.close()
        assert Log.open(tmp_path / "s.db").settings().until == 0.7

    def test_export(self, tmp_path: Path) -> None:
        qrels = fm.read_qrels({"1": {"q": 2, "b": -1, "a": 0, "c": -1}})
        now = begin(tmp_path / "s.db", qrels, max_grade=2)
        now.grade("1", "b", 1, "ann", "an\taside\n\x1b[31mred ")
        now.grade("2", "x", 0, "bob")
        now.skip("2", "y", "bob", "in  Dutch")
        now.grade("2", "z", 0, "bob")
        now.undo("bob")
        out = tmp_path / "out.txt"
        assert export(now, out) == tmp_path / "out.txt.provenance.tsv"
        assert out.read_text() == "1 0 q 2\n1 0 a 0\n1 0 c -1\n1 0 b 1\n2 0 x 0\n"
        rows = [line.split("\t") for line in (tmp_path / "out.txt.provenance.tsv").read_text().splitlines()]
        assert [[*row[:4], row[5]] for row in rows] == [
            ["topic", "document", "grade", "who", "note"],
            ["1", "q", "2", "qrels", ""],
            ["1", "a", "0", "qrels", ""],
            ["1", "b", "1", "ann", "an aside [31mred"],
            ["2", "x", "0", "bob", ""],
            ["2", "y", "", "bob", "in Dutch"],
        ]
        assert [bool(row[4]) for row in rows[1:]] == [False, False, True, True, True]
        assert rows[3][4].endswith("+00:00")
        known = fm.read_qrels(out)
        now.close()
        later = begin(tmp_path / "t.db", known, max_grade=2)  # what was exported is where the next one starts
        assert later.progress().imported == 3
        with pytest.raises(FathomsError, match="is judged already in"):
            later.grade("1", "b", 1, "ann")

    def test_ids_that_are_no_utf8(self, tmp_path: Path) -> None:
        (tmp_path / "r.run").write_bytes(b"t\xe9 Q0 d\xff 1 2 t\nt\xe9 Q0 \xc3\xa9 2 1 t\n")
        found = candidates(fm.read_runs(str(tmp_path / "r.run")), None, "trec", "float32")
        now = Session.begin(tmp_path / "s.db", JudgingSettings(), found, None)
        now.grade("t\udce9", "d\udcff", 1, "J\udcf6rg", "\udce9")
        now.grade("t\udce9", "é", 0, "Jörg")
        now.close()
        log = Log.open(tmp_path / "s.db")
        again = Session.resume(log, log.settings(), found, None)
        assert [event.document for event in again.state.grades] == ["d\udcff", "é"]
        export(again, tmp_path / "out.txt")
        assert (tmp_path / "out.txt").read_bytes() == b"t\xe9 0 d\xff 1\nt\xe9 0 \xc3\xa9 0\n"
        assert b"J\xf6rg" in (tmp_path / "out.txt.provenance.tsv").read_bytes()

    def test_the_log_only_grows(self, tmp_path: Path) -> None:
        now = begin(tmp_path / "s.db")
        now.grade("1", "a", 1, "ann")
        now.close()
        with sqlite3.connect(tmp_path / "s.db") as connection:
            for statement in ("UPDATE event SET grade = 0", "DELETE FROM event"):
                with pytest.raises(sqlite3.IntegrityError, match="only grows"):
                    connection.execute(statement)

    def test_one_process_at_a_time(self, tmp_path: Path) -> None:
        now = begin(tmp_path / "s.db")
        with pytest.raises(InputError, match="is in use by another process"):
            Log.open(tmp_path / "s.db")
        now.close()
        Log.open(tmp_path / "s.db").close()

    def test_a_full_disk_loses_the_answer_and_says_so(self, tmp_path: Path) -> None:
        now = begin(tmp_path / "s.db")
        now.grade("1", "a", 1, "ann")
        pages = now.log._connection.execute("PRAGMA page_count").fetchone()[0]
        now.log._connection.execute(f"PRAGMA max_page_count = {pages}")
        before = now.next()
        with pytest.raises(InputError, match="the answer is not saved: database or disk is full"):
            now.grade("1", "b", 1, "ann", "x" * 100_000)
        assert now.next() == before
        assert len(now.state.grades) == 1
        now.grade("1", "b", 0, "ann")  # a short one has room
        now.close()
        assert [event.document for event in resume(tmp_path / "s.db").state.grades] == ["a", "b"]

    def test_what_is_acknowledged_is_synced(self, tmp_path: Path) -> None:
        now = begin(tmp_path / "s.db")
        for pragma, value in (("synchronous", 3), ("journal_mode", "delete"), ("locking_mode", "exclusive")):
            assert now.log._connection.execute(f"PRAGMA {pragma}").fetchone()[0] == value

    def test_settings_that_make_no_sense(self) -> None:
        for how, message in (
            ({"until": 0.5}, "confidence must lie between 0.5 and 1"),
            ({"until": 1.0}, "confidence must lie between 0.5 and 1"),
            ({"rel": 2}, "rel must be a grade from 1 to 1"),
            ({"rel": 0}, "rel must be a grade from 1 to 1"),
        ):
            with pytest.raises(FathomsError, match=message):
                JudgingSettings(**how)


@pytest.mark.usefixtures("plain_engine")
class TestResuming:
    def test_with_other_files(self, tmp_path: Path) -> None:
        path = tmp_path / "s.db"
        qrels = fm.read_qrels({"1": {"a": 1, "b": 0}})
        begin(path, qrels).close()
        swapped = {"one": RUNS["one"], "two": RUNS["two"] | {"2": {"z": 1.0, "x": 2.0}}}
        for runs, judged, message in (
            ({"one": RUNS["one"], "three": RUNS["two"]}, qrels, r"the runs were 2 runs \(one, two\), and are now"),
            (swapped, qrels, "the content of the runs has changed"),
            (RUNS, fm.read_qrels({"1": {"b": 0, "a": 1}}), "the content of the judgments has changed"),
            (RUNS, None, "the content of the judgments has changed"),
        ):
            log = Log.open(path)
            with pytest.raises(InputError, match=f"was begun with other files: {message}"):
                Session.resume(log, log.settings(), candidates(fm.read_runs(runs), 3, "trec", "float32"), judged)
            log.close()
        resume(path, qrels).close()

    def test_what_is_no_session(self, tmp_path: Path) -> None:
        path = tmp_path / "s.db"
        with pytest.raises(InputError, match="no session has been begun"):
            Log.open(path)
        path.write_bytes(b"")  # killed before the first transaction
        with pytest.raises(InputError, match="no session has been begun"):
            Log.open(path)
        begin(path).close()
        with pytest.raises(InputError, match="exists already; go on with --resume"):
            begin(path)
        path.write_bytes(b"1 0 a 1\n" * 500)
        with pytest.raises(InputError, match="cannot be used as a session: file is not a database"):
            Log.open(path)
        path.unlink()
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE mine (x)")
        connection.close()
        with pytest.raises(InputError, match="is a database of another program"):
            Log.open(path)
        with pytest.raises(InputError, match="exists already"):
            begin(path)

    def test_a_session_whose_making_was_cut_short(self, tmp_path: Path) -> None:
        """Pages of a transaction that was never committed are in the file, and its journal beside it."""
        connection = sqlite3.connect(tmp_path / "cut.db", isolation_level=None)
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN")
        connection.execute("CREATE TABLE meta (x)")
        connection.executemany("INSERT INTO meta VALUES (?)", [("x" * 3000,)] * 50)
        for ending in ("", "-journal"):
            shutil.copy(tmp_path / f"cut.db{ending}", tmp_path / f"s.db{ending}")
        connection.close()
        path = tmp_path / "s.db"
        assert path.stat().st_size > 0
        with pytest.raises(InputError, match="no session has been begun"):
            Log.open(path)
        check_new(path)
        begin(path).close()
        with pytest.raises(InputError, match="exists already"):
            check_new(path)
        resume(path).close()

    def test_a_format_of_the_future(self, tmp_path: Path) -> None:
        begin(tmp_path / "s.db").close()
        with sqlite3.connect(tmp_path / "s.db") as connection:
            connection.execute("UPDATE meta SET value = '4' WHERE name = 'format'")
        connection.close()
        with pytest.raises(InputError, match="has format 4, expected one from 1 to 3; it needs another fathoms"):
            Log.open(tmp_path / "s.db")


# -- what may be shown --------------------------------------------------------------------------------------------


@given(text=st.text(st.characters()))
def test_nothing_that_a_terminal_obeys_gets_through(text: str) -> None:
    shown = printable(text)
    assert len(shown) == len(text)
    for before, after in zip(text, shown, strict=True):
        assert after in (before, "�")
        assert after in "\n\t" or unicodedata.category(after) not in ("Cc", "Cs", "Zl", "Zp")
        assert unicodedata.bidirectional(after) not in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


OTHER_MEASURES = ("AP", "ERR@10", "P@5", "RBP(p=0.8)", "DCG@10", "SDCG@10", "RR", "Q")


@pytest.mark.parametrize("name", ["nDCG@10", *(pytest.param(name, marks=pytest.mark.slow) for name in OTHER_MEASURES)])
def test_settled_pairs_are_right(name: str) -> None:
    """Of pairs of simulated systems that are settled at 0.95, at least 85% are right: a level at which 40 of them would
    fail once in a hundred times if 95% were right in truth."""
    measure = fm.parse_measure(name)
    right = []
    for seed in range(20):
        made = fm.simulate(systems=4, n_topics=15, n_docs=400, depth=30, pool_depth=3, max_grade=2, seed=seed)
        qrels, runs = fm.read_qrels(made.truth), fm.read_runs(made.runs)
        found = candidates(runs, 30, "trec", "float32")
        grades = known(found, qrels)
        scored = {row["run"]: row["score"] for row in fm.evaluate(qrels, runs, [measure]).rows(named=True)}
        for pair in ((0, 1), (2, 3)):
            engine = Engine(found, measures=[measure], grades=[0, 1, 2], runs=pair, seed=seed)
            while not engine.settled() and (number := engine.next()) is not None:
                engine.judge(number, grades.get(number, 0.0))
            truth = scored[engine.names[0]] - scored[engine.names[1]]
            if engine.settled() and truth:
                right.append((engine.confidence()[0, 1] > 0.5) == (truth > 0))
    assert len(right) >= 30
    assert np.mean(right) >= 0.85


def test_a_session_is_for_its_owner_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        path = tmp_path / "s.db"
        fm.Experiment(None, {"a": {"1": {"x": 1.0}}, "b": {"1": {"y": 1.0}}}).judge(path).close()
        assert path.stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(old)


def test_half_a_character_is_a_sign_of_replacement_in_notes_and_no_document(plain_engine: None, tmp_path: Path) -> None:
    """JSON can spell it, and neither a file nor the database can hold it."""
    now = begin(tmp_path / "s.db")
    now.grade("1", "a", 1, "ann\ud800", "note \udfff")
    assert (now.state.grades[0].assessor, now.state.grades[0].note) == ("ann\ufffd", "note \ufffd")
    with pytest.raises(FathomsError, match="is in no run's top"):
        now.grade("1", "\ud800", 1, "ann")


def test_topics_without_judgments_are_left_out(tmp_path: Path) -> None:
    """A run of 200 topics beside judgments of 43 is usual; what is judged of the others helps nobody."""
    runs = {
        name: {topic: {f"{d}{i}": 10.0 - i for i in range(5)} for topic in "abc"}
        for name, d in (("A", "x"), ("B", "y"))
    }
    exp = fm.Experiment({"b": {"x0": 1, "y0": 0}}, runs)

    def topics(name: str, exp: fm.Experiment = exp, **options: Any) -> list[str]:
        session = exp.judge(tmp_path / name, **options)
        session.close()
        return session.documents.candidates.topics

    assert topics("judged.db") == ["b"]
    assert topics("judged.db", resume=True) == ["b"]
    assert topics("all.db", topics="all") == ["a", "b", "c"]
    assert topics("all.db", resume=True) == ["a", "b", "c"]
    with pytest.raises(FathomsError, match="topics all, found judged"):
        topics("all.db", resume=True, topics="judged")
    assert topics("none.db", fm.Experiment(None, runs)) == ["a", "b", "c"]
    with pytest.raises(FathomsError, match="no topic is judged"):
        topics("other.db", fm.Experiment(None, runs), topics="judged")
    with pytest.raises(FathomsError, match="topics: expected one of judged, all, found 'some'"):
        topics("some.db", topics="some")
