"""Judging: the session against a plain model, killed at random moments and cut short in every way; texts; the command.

Sessions are tested with an engine that chooses by arithmetic, so that nothing here hangs on how documents are chosen;
the command is tested with the real one.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fathoms as fm
from fathoms.base.errors import FathomsError, InputError
from fathoms.data.qrels import Qrels
from fathoms.data.texts import Entry, open_texts
from fathoms.evidence.candidates import Candidates, candidates
from fathoms.evidence.evidence import Floats
from fathoms.judging import session as session_module
from fathoms.judging.documents_to_judge import known
from fathoms.judging.engine import Engine
from fathoms.judging.events import JudgingSettings
from fathoms.judging.export import export
from fathoms.judging.log import Log, check_new
from fathoms.judging.select import STRATEGIES
from fathoms.judging.session import Session
from fathoms.judging.standings import PairStanding, expected_scores
from fathoms.judging.texts import printable
from fathoms.measures.base import Measure
from tests.support.commands import Command, Done, finished
from tests.support.paths import ROOT
from tests.support.real import collection

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


# -- texts --------------------------------------------------------------------------------------------------------

SGML = b"""<DOC>
<DOCNO> FT-1 </DOCNO>
<HEADLINE>Dams &amp; fish</HEADLINE>
<TEXT>
<P>First one,
two lines.</P><P>Second one.</P>
</TEXT>
<TEXT>Third one.</TEXT>
</DOC>
<doc><docno>FT-2</docno>All &lt;there&gt; is.</doc>
<DOC><DOCNO>FT-3</DOCNO><script>x()</script><title>Only a title</title><b>Bold</b> words"""
TOPICS = b"""
<top>
<num> Number: 051
<title> Topic: Airbus subsidies

<desc> Description:
Who pays
for them?

<narr> Narrative:
Anything with a figure.
</top>

<top>
<num> Number: 52 <title> South Africa
</top>
"""
XML = b"""<?xml version="1.0"?><topics><topic number="7" type="x">
<query>virus origin</query><question>where did it start</question><narrative>places &amp; dates</narrative>
</topic></topics>"""
JSON = (
    b'{"id": "1", "title": "T", "text": "One.\\n\\nTwo."}\n\n'
    b'{"text": "early", "docno": 2, "body": ["late", null, {"x": 1}]}\n'
    b'{"_id":"3","other":"\\"id\\": \\"1\\""}\r\n'
    b'{"query_id": "4\\u00e9", "query": "q", "narrative": "n", "description": "d"}'
)
FORMS = {
    "tsv": (
        b"\xef\xbb\xbf1\tjust text\r\n2\ttitle\tbody\tmore\n\n3\t\n1\tsecond time\n",
        {"1": Entry("", ("just text",)), "2": Entry("title", ("body", "more")), "3": Entry("", ())},
    ),
    "json": (
        JSON,
        {
            "1": Entry("T", ("One.", "Two.")),
            "2": Entry("", ("early", "late")),
            "3": Entry("", ()),
            "4é": Entry("q", ("d", "n")),
        },
    ),
    "sgml": (
        SGML,
        {
            "FT-1": Entry("Dams & fish", ("First one, two lines.", "Second one.", "Third one.")),
            "FT-2": Entry("", ("All <there> is.",)),
            "FT-3": Entry("Only a title", ("Bold words",)),
        },
    ),
    "topics": (
        TOPICS,
        {
            "51": Entry("Airbus subsidies", ("Who pays for them?", "Anything with a figure.")),
            "051": Entry("Airbus subsidies", ("Who pays for them?", "Anything with a figure.")),
            "52": Entry("South Africa", ()),
        },
    ),
    "xml": (XML, {"7": Entry("virus origin", ("where did it start", "places & dates"))}),
}


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress], ids=["plain", "gz", "bz2"])
@pytest.mark.parametrize("form", FORMS)
def test_texts_of_every_form(form: str, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    raw, entries = FORMS[form]
    path = tmp_path / "texts"
    path.write_bytes(pack(raw))
    texts = open_texts(path, {*entries, "absent"})
    assert {name: texts.get(name) for name in entries} == entries
    assert texts.get("absent") is None
    assert len(texts) == len(entries)
    first = next(iter(entries))
    others = open_texts(path, {first})  # no more is remembered than is wanted
    assert len(others) == 1
    assert others.get(list(entries)[-1]) == (entries[first] if len(entries) == 1 else None)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "the file is empty"),
        (b" \n", "the file is empty"),
        (b"1\ttext\nno tab here\n", r"texts:2: expected `id<TAB>text`, found 'no tab here'"),
        (b'{"id": "1", "text": "x"}\n{"text": "x"}\n', r"texts:2: expected a field with the id .*found \['text'\]"),
        (b'{\n "1": "pretty"\n}\n', r"texts:1: expected a JSON object, found '\{'"),
        (b'{"id": "1"}\n[1]\n', r"texts:2: expected a JSON object, found '\[1\]'"),
        (b"<html></html>", "has neither <DOC> nor <top> nor <topic>"),
        (b"<DOC><DOCNO>1</DOCNO></DOC>\n<DOC>x</DOC>", "texts:2: this <DOC> has no <DOCNO>"),
        (b"<top>\n<title> x\n</top>", "texts:1: this topic has no number"),
        (gzip.compress(b"1\ttext", mtime=0)[:-4], "damaged or cut short"),
    ],
)
def test_texts_that_cannot_be_read(raw: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "texts").write_bytes(raw)
    with pytest.raises(InputError, match=message):
        open_texts(tmp_path / "texts", {"1"})


def test_texts_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        open_texts(tmp_path / "nothing", {"1"})


def test_a_folder_of_texts_has_no_way_out(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "sub" / "d").write_text("secret")
    (folder / "a.1.txt").write_text("of a.1\nstill\n\nnext")
    (folder / "a").write_text("of a")
    (folder / "b.html.gz").write_bytes(gzip.compress(b"<html><title>B</title><p>of b</p></html>"))
    (folder / "c").write_bytes(b"caf\xe9")
    tricks = [
        "../secret",
        "..",
        ".",
        "",
        "/",
        "sub",
        "sub/d",
        "..\\secret",
        str(tmp_path / "secret"),
        "a/../../secret",
        "a\0",
        "./a",
        "~",
    ]
    texts = open_texts(folder, {"a", "a.1", "b", "c", *tricks})
    assert texts.get("a") == Entry("", ("of a",))
    assert texts.get("a.1") == Entry("", ("of a.1 still", "next"))
    assert texts.get("b") == Entry("B", ("of b",))
    assert texts.get("c") == Entry("", ("caf�",))
    assert len(texts) == 4
    for trick in tricks:
        assert texts.get(trick) is None


def test_texts_of_cranfield() -> None:
    folder = collection("cranfield")
    documents = open_texts(folder / "docs.jsonl", {str(i) for i in range(1, 1401)})
    assert len(documents) == 1400
    entry = documents.get("1400")
    assert entry is not None
    with open(folder / "docs.jsonl", encoding="utf-8") as file:
        last = [json.loads(line) for line in file][-1]
    assert (last["id"], last["title"]) == ("1400", entry.title)
    assert " ".join(entry.body) == " ".join(last["text"].split())
    topics = open_texts(folder / "topics.tsv", {"1", "225", "365"})
    found = topics.get("1")
    assert found is not None
    assert found.body[0].startswith("what similarity laws must be obeyed")
    assert topics.get("225") is not None
    assert topics.get("365") is None  # the original number of 225


# -- the terminal -------------------------------------------------------------------------------------------------


@given(text=st.text(st.characters()))
def test_nothing_that_a_terminal_obeys_gets_through(text: str) -> None:
    shown = printable(text)
    assert len(shown) == len(text)
    for before, after in zip(text, shown, strict=True):
        assert after in (before, "�")
        assert after in "\n\t" or unicodedata.category(after) not in ("Cc", "Cs", "Zl", "Zp")
        assert unicodedata.bidirectional(after) not in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


SYSTEMS, DEPTH = 4, 20
NEVER = "0.999999999"  # a confidence that is not reached


@pytest.fixture(scope="module")
def made(simulated: Callable[..., Path]) -> Path:
    """A small simulated collection with texts."""
    return simulated(systems=SYSTEMS, n_topics=6, n_docs=200, depth=DEPTH, pool_depth=3, texts=True)


@pytest.fixture
def judge(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command, in a folder that holds a simulated collection `sim`; `stdin` is what the assessor types."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sim").symlink_to(made)
    monkeypatch.setenv("LOGNAME", "ann")

    def call(*words: str, stdin: Any = "", qrels: str = "none", runs: Sequence[str] = ("sim/runs",)) -> Done:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin) if isinstance(stdin, str) else stdin)
        return finished(capsys, "judge", qrels, *runs, *words)

    return call


def events(path: str | Path) -> list[tuple[Any, ...]]:
    """The log, read without any of our code."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT kind, topic, document, grade, undone, assessor, note FROM event").fetchall()


def test_an_assessor_at_work(judge: Command) -> None:
    words = ("--topic-texts", "sim/topics.jsonl", "--docs", "sim/docs.jsonl", "--max-grade", "2", "--export", "q.txt")
    lines = ["?", "2", "", "n  looks odd ", "0", "s in Dutch", "u", "1", "m", "q", "never read"]
    done = judge(*words, stdin="\n".join(lines))
    assert done.status == 0
    rows = events("fathoms-judging.db")
    assert [(row[0], row[3], row[4], row[6]) for row in rows] == [
        ("grade", 2, None, ""),
        ("grade", 0, None, "looks odd"),
        ("skip", None, None, "in Dutch"),
        ("undo", None, 3, ""),
        ("grade", 1, None, ""),
    ]
    assert rows[2][1:3] == rows[3][1:3] == rows[4][1:3]  # taken back, it comes again
    assert len({row[1:3] for row in rows}) == 3
    assert {row[5] for row in rows} == {"ann"}
    assert "0 to 2      the document's grade" in done.err
    assert f"Saved: topic {rows[0][1]}, document {rows[0][2]}: grade 2. 1 judged, " in done.err
    assert "The note will be saved" in done.err
    assert "That is all of it." in done.err
    topics = {one["id"]: one for one in map(json.loads, Path("sim/topics.jsonl").read_text().splitlines())}
    documents = {one["id"]: one for one in map(json.loads, Path("sim/docs.jsonl").read_text().splitlines())}
    assert f"Topic {rows[0][1]}: {topics[rows[0][1]]['title']}\n" in done.err
    assert f"Document {rows[0][2]}: {documents[rows[0][2]]['title']}\n" in done.err
    assert documents[rows[0][2]]["text"] in " ".join(done.err.split())
    assert done.out.startswith("3 judged (2 relevant)")
    assert "expected AP" in done.out
    assert "\x1b" not in done.err
    assert len(fm.read_qrels("q.txt")) == 3
    assert "judgments written to q.txt, who made them to q.txt.provenance.tsv" in done.err

    more = judge(*words[:4], "--resume", "--assessor", "bob", stdin="u\n0\n")
    assert more.status == 0
    assert "There is no answer of bob to take back." in more.err
    assert [row[5] for row in events("fathoms-judging.db")] == ["ann"] * 5 + ["bob"]
    assert more.out.startswith("4 judged (2 relevant)")
    assert "--resume --export FILE writes qrels" in more.err


def test_without_texts_and_quiet(judge: Command) -> None:
    done = judge("--quiet", stdin="1\n")
    assert done.status == 0
    assert done.err.count("no text available") == 4  # topic and document, twice
    assert "Saved" not in done.err
    assert "fathoms:" not in done.err


def test_where_texts_are_missing(judge: Command) -> None:
    Path("few.tsv").write_text("101\tone\nx\tnobody\n")
    done = judge("--topic-texts", "few.tsv", "--docs", "few.tsv")
    total = len({line.split()[2] for path in Path("sim/runs").iterdir() for line in path.read_text().splitlines()})
    assert "warning: 5 of 6 topics have no text" in done.err
    assert f"warning: {total} of {total} documents have no text" in done.err


@pytest.mark.parametrize(
    "flags",
    [
        ["--export", "s.db"],
        ["--export", "s.db-journal"],
        ["--export", "sim/runs/sys1.run"],
        ["--export", "link.txt"],  # another name of a run
        ["--export", "more"],  # beside which more.provenance.tsv is a text that is read
        ["--batch", "3", "--to", "s.db"],
        ["--batch", "3", "--to", "out.txt", "--export", "out.txt"],
        ["--web", "--links", "s.db"],
        ["--web", "--links", "sim/runs/sys1.run"],
    ],
)
def test_nothing_is_written_over_the_session_or_what_is_read(judge: Command, flags: list[str]) -> None:
    judge("--session", "s.db", stdin="1\n0\n")
    Path("link.txt").symlink_to("sim/runs/sys1.run")
    Path("more.provenance.tsv").write_text("101\tone\n")
    files = [Path("s.db"), Path("sim/runs/sys1.run"), Path("more.provenance.tsv")]
    before = [path.read_bytes() for path in files]
    done = judge("--session", "s.db", "--resume", "--topic-texts", "more.provenance.tsv", *flags)
    assert done.status == 2
    assert "; choose another name to write to" in done.err
    assert [path.read_bytes() for path in files] == before


def test_a_session_that_is_gone_at_the_end_is_said(judge: Command, tmp_path: Path) -> None:
    class Removing(io.StringIO):
        def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
            line = super().readline()
            if not line:
                (tmp_path / "s.db").unlink()
            return line

    done = judge("--session", "s.db", "--export", "q.txt", stdin=Removing("1\n"))
    assert Path("q.txt").read_text().endswith(" 1\n")
    assert "s.db: no longer exists" in done.err
    assert (done.status, "the answers are in" in done.err) == (2, False)


def test_a_text_that_cannot_be_read_can_be_skipped(judge: Command) -> None:
    """It would come again each time the session is resumed, and end it each time."""
    Path("docs").mkdir()
    for path in Path("sim/runs").iterdir():
        for line in path.read_text().splitlines():
            Path("docs", f"{line.split()[2]}.gz").write_bytes(b"\x1f\x8b is no gzip")
    done = judge("--docs", "docs", stdin="s cannot read it\n1\n")
    assert done.status == 0
    assert done.err.count("This text cannot be read: docs/DOC-") == 3
    assert done.err.count("Saved: ") == 2


def test_long_and_hostile_texts(judge: Command) -> None:
    names = {line.split()[2] for path in Path("sim/runs").iterdir() for line in path.read_text().splitlines()}
    words = " ".join(f"word{i}" for i in range(2000))
    evil = f"start \x1b[2J\x1b]0;owned\x07 \x9b31m \r over \u202egnp {words} end"
    Path("docs.jsonl").write_text("".join(json.dumps({"id": name, "text": evil}) + "\n" for name in names))
    Path("topics.tsv").write_text("".join(f"{i}\tT\x1b[5m\ttext\n" for i in range(101, 107)))
    short = judge("--docs", "docs.jsonl", "--topic-texts", "topics.tsv", stdin="")
    assert "start �[2J�]0;owned� �31m" in " ".join(short.err.split())
    assert "word2 " in short.err
    assert " end\n" not in short.err
    assert "more lines: m shows them]" in short.err
    long = judge("--docs", "docs.jsonl", "--session", "b.db", stdin="m\n" * 100)
    assert long.err.count(" end\n") == 1
    assert "That is all of it." in long.err
    for text in (short.err, long.err):
        assert not set(text) & set("\x1b\x07\x9b\r\u202e")


def test_end_by_budget_by_confidence_and_by_nothing_left(judge: Command) -> None:
    done = judge("--budget", "2", stdin="0\n0\n0\n")
    assert "The budget of 2 judgments is used up." in done.err
    assert len(events("fathoms-judging.db")) == 2
    more = judge("--budget", "3", "--resume", stdin="0\n0\n0\n")
    assert more.out.startswith("3 judged (0 relevant)")
    Path("a.run").write_text("1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n")
    Path("b.run").write_text("1 Q0 b 1 3 t\n1 Q0 a 2 2 t\n")
    few = judge(
        "--session", "few.db", "--confidence", NEVER, "--strategy", "pool", stdin="s\n1\n", runs=("a.run", "b.run")
    )
    assert "There is nothing left to judge but what was skipped." in few.err
    assert few.out.startswith("1 judged (1 relevant), 1 skipped; 0 of 1 pairs settled at 1.")


def grades_in(path: str) -> dict[tuple[str, str], int]:
    rows = [line.split() for line in Path(path).read_text().splitlines()]
    return {(topic, document): int(grade) for topic, _, document, grade in rows}


@pytest.mark.long
def test_answers_from_a_file(judge: Command) -> None:
    truth = grades_in("sim/truth.txt")
    done = judge("--oracle", "sim/truth.txt", "--export", "q.txt", "--budget", "30")
    assert done.status == 0
    rows = events("fathoms-judging.db")
    assert [row[3] for row in rows] == [truth[row[1], row[2]] for row in rows]
    assert {row[5] for row in rows} == {"oracle"}
    assert len(rows) == 30 or "all settled" in done.out or " 6 of 6 pairs settled" in done.out
    assert "count as grade 0" not in done.err
    assert Path("q.txt").read_text() == "".join(f"{row[1]} 0 {row[2]} {row[3]}\n" for row in rows)
    partial = judge("--oracle", "sim/qrels.txt", "--session", "p.db", "--confidence", NEVER)
    assert partial.err.count("documents that sim/qrels.txt does not judge count as grade 0") == 1
    known = grades_in("sim/qrels.txt")
    assert [row[3] for row in events("p.db")] == [known.get((row[1], row[2]), 0) for row in events("p.db")]


def test_judgments_there_are_count_from_the_start(judge: Command) -> None:
    known = fm.read_qrels("sim/qrels.txt")
    done = judge("--oracle", "sim/truth.txt", "--export", "q.txt", "--budget", "10", qrels="sim/qrels.txt")
    before, after = (Path(name).read_text().splitlines() for name in ("sim/qrels.txt", "q.txt"))
    assert after[: len(before)] == before
    judged = {(row[1], row[2]) for row in events("fathoms-judging.db")}
    assert judged
    assert not judged & grades_in("sim/qrels.txt").keys()
    assert len(after) == len(before) + len(judged)
    assert f"{len(known):,} known before" in done.out
    refused = judge("--resume", qrels="none")
    assert refused.status == 2
    assert "the content of the judgments has changed" in refused.err


@pytest.mark.long
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_resuming_chooses_as_if_never_interrupted(judge: Command, strategy: str) -> None:
    words = ("--strategy", strategy, "--oracle", "sim/truth.txt", "--confidence", NEVER)
    judge(*words, "--budget", "12", "--session", "whole.db")
    for budget in range(0, 13, 3):
        judge(*words, "--budget", str(budget), "--session", "parts.db", *(["--resume"] if budget else []))
    assert events("parts.db") == events("whole.db")


def test_ends_at_a_line_that_is_no_answer(judge: Command) -> None:
    for line in ("3", "-1", "yes", "1 0", "s", "n", "٣"):
        Path("fathoms-judging.db").unlink(missing_ok=True)
        done = judge("--budget", "5", stdin=f"1\n{line}\n0\n")
        if line == "s":  # which is one
            assert done.status == 0
            continue
        assert done.status == 2
        assert "fathoms: standard input:2: expected a grade from 0 to 1, s, u, n TEXT, m, q or ?, found " in done.err
        assert [row[3] for row in events("fathoms-judging.db")] == [1]


def test_bad_usage(judge: Command) -> None:
    Path("bad.txt").write_text("101 0 DOC-0000001 0.5\n")
    Path("folder").mkdir()
    run = "sim/runs/sys1.run"
    for words, more, message in (
        ((), {"qrels": "-"}, "standard input is for the answers"),
        ((), {"runs": ("-",)}, "standard input is for the answers"),
        ((), {"runs": (run,)}, "it takes two runs or more"),
        ((), {"qrels": "absent.txt"}, "absent.txt: no such file"),
        (("--resume",), {}, "no session has been begun in this file; leave out --resume"),
        (("--session", "no/s.db"), {}, "there is no folder no"),
        (("--session", "folder"), {}, "is a folder"),
        (("--export", "no/q.txt"), {}, "there is no folder no"),
        (("--confidence", "0.5"), {}, "expected a probability between 0.5 and 1"),
        (("--confidence", "x"), {}, "expected a probability between 0.5 and 1"),
        (("--strategy", "best"), {}, "found 'best'"),
        (("--rel", "2"), {}, "rel must be a grade from 1 to 1"),
        (("--baseline", "sys9"), {}, "the baseline 'sys9' is not among the runs: sys1, sys2"),
        (("--docs", "absent"), {}, "absent: no such file"),
        (("--oracle", "absent"), {}, "absent: no such file"),
    ):
        done = judge(*words, stdin="1\n", **more)
        assert done.status == 2, words
        assert message in done.err
        assert not Path("fathoms-judging.db").exists()
    name = next(Path("sim/runs").iterdir()).read_text().split()[2]
    Path("bad.txt").write_text(f"101 0 {name} 0.5\n")
    assert "has fractional grades" in judge("--oracle", "bad.txt").err


def test_flags_that_contradict_the_session(judge: Command) -> None:
    judge("--depth", "10", "--baseline", "sim/runs/sys2.run", "--ties", "run", stdin="1\n")
    again = judge(stdin="1\n")
    assert again.status == 2
    assert "fathoms-judging.db: exists already; go on with --resume" in again.err
    for words, message in (
        (("--depth", "11"), "was begun with --depth 10, found 11"),
        (("--max-grade", "2"), "was begun with --max-grade 1, found 2"),
        (("--baseline", "sys1"), "was begun with --baseline sys2, found sys1"),
        (("--strategy", "mtc"), "was begun with --strategy"),
        (("--ties", "trec"), "was begun with --ties run, found trec"),
        (("--score-precision", "float32"), "was begun with --score-precision float64, found float32"),
        (("--seed", "4"), "was begun with --seed 0, found 4"),
    ):
        done = judge("--resume", *words, stdin="1\n")
        assert done.status == 2
        assert message in done.err
    assert len(events("fathoms-judging.db")) == 1
    done = judge("--resume", "--depth", "10", "--confidence", "0.99", stdin="1\n")
    assert done.status == 0
    assert "of 3 pairs settled at 0.99" in done.out
    other = judge("--resume", stdin="1\n", runs=("sim/runs/sys1.run", "sim/runs/sys2.run"))
    assert other.status == 2
    assert "the runs were 4 runs (sys1, sys2, sys3, sys4), and are now 2 runs (sys1, sys2)" in other.err


def test_topics_without_judgments_are_told(judge: Command) -> None:
    Path("q.txt").write_text("101 0 DOC-0000001 1\n101 0 DOC-0000002 -1\n")
    done = judge("--topics", "all", qrels="q.txt")
    assert "warning: 5 of 6 topics of the runs have no judgments yet: 102, 103, 104, 105, 106" in done.err
    assert "1 judgment with a negative grade" in done.err


def test_interrupted(judge: Command) -> None:
    class Keyboard:
        lines: ClassVar = ["1\n"]

        def isatty(self) -> bool:
            return False

        def readline(self) -> str:
            if not self.lines:
                raise KeyboardInterrupt
            return self.lines.pop()

    done = judge(stdin=Keyboard())
    assert done.status == 130
    assert "all answers are saved in fathoms-judging.db; go on with --resume" in done.err
    assert len(events("fathoms-judging.db")) == 1


@pytest.mark.long
def test_at_a_terminal(judge: Command, tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    Path("topics.tsv").write_text("".join(f"{i}\tWhat are solar panels?\n" for i in range(101, 107)))
    names = {line.split()[2] for path in Path("sim/runs").iterdir() for line in path.read_text().splitlines()}
    Path("docs.tsv").write_text("".join(f"{name}\tA Solar\x1b[2J panel, PANELS, what are these?\n" for name in names))
    words = ("--topic-texts", "topics.tsv", "--docs", "docs.tsv", "--budget", "1")
    process = start(tmp_path, *words, stdin=theirs, stderr=theirs, TERM="xterm-256color", COLUMNS="90")
    os.close(theirs)

    def until_asked() -> str:
        text = ""
        while not text.endswith(" > "):
            text += os.read(ours, 4096).decode()
        return text

    first = until_asked()
    assert set(re.findall("\x1b.?[^m]*.", first)) == {"\x1b[1m", "\x1b[1;33m", "\x1b[0m"}
    assert re.findall(r"\x1b\[1;33m(\w+)\x1b\[0m", first) == ["Solar", "panel", "PANELS"]
    os.write(ours, b"what?\n")
    assert "Expected a grade from 0 to 1" in until_asked()
    os.write(ours, b"1\n")
    assert "The budget of 1 judgments is used up.\r\nEnter finishes, u takes the last answer back > " in until_asked()
    os.write(ours, b"u\n")
    assert until_asked().endswith(first[first.index("Topic") :])  # the same document as before
    os.write(ours, b"0\n")
    until_asked()
    os.write(ours, b"\n")
    out, _ = process.communicate()
    os.close(ours)
    assert process.returncode == 0
    assert out.startswith("1 judged (0 relevant)")
    assert [row[3] for row in events("fathoms-judging.db")] == [1, None, 0]


# -- processes ----------------------------------------------------------------------------------------------------


def start(
    folder: Path, *words: str, stdin: int = subprocess.PIPE, stderr: int = subprocess.PIPE, **env: str
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "fathoms", "judge", "none", "sim/runs", "--confidence", NEVER, *words],
        cwd=folder,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env=os.environ | env,
    )


@pytest.mark.long
def test_a_second_process_is_refused(judge: Command, tmp_path: Path) -> None:
    first = start(tmp_path)
    assert first.stdin is not None
    assert first.stderr is not None
    first.stdin.write("1\n")
    first.stdin.flush()
    assert any(line.startswith("Saved") for line in first.stderr)
    second = judge("--resume", stdin="0\n")
    assert second.status == 2
    assert "fathoms-judging.db: is in use by another process" in second.err
    first.communicate("0\n")
    assert first.returncode == 0
    assert [row[3] for row in events("fathoms-judging.db")] == [1, 0]


def is_begun(path: str) -> bool:
    if not os.path.exists(path):
        return False
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def script(rng: random.Random, n: int) -> list[str]:
    """Answers of all kinds, each of which makes one event."""
    lines: list[str] = []
    stands = 0
    for _ in range(n):
        line = rng.choice(["0", "0", "0", "1", "1", "s why not", "u"]) if stands else "1"
        stands += -1 if line == "u" else 1
        lines.append(line)
    return lines


@pytest.mark.long
def test_no_acknowledged_answer_is_lost_whenever_the_process_is_killed(judge: Command, tmp_path: Path) -> None:
    """Kill the command at random moments of its life, and go on each time with what is on disk."""
    rng = random.Random(7)
    answers = script(rng, 200)
    whole = start(tmp_path, "--session", "whole.db", "--export", "whole.txt")
    _, heard = whole.communicate("".join(f"{line}\n" for line in answers))
    expected = events("whole.db")
    assert heard.count("Saved: ") + heard.count("Taken back: ") == len(expected) == len(answers)

    kills = session = 0
    most = int(os.environ.get("FATHOMS_KILLS", "5"))
    while kills < most:
        session += 1
        name = f"{session}.db"
        on_disk: list[tuple[Any, ...]] = []
        while True:
            resumed = ["--resume"] if is_begun(name) else []
            process = start(tmp_path, "--session", name, "--export", f"{session}.txt", *resumed)
            assert process.stdin is not None
            assert process.stderr is not None
            process.stdin.write("".join(f"{line}\n" for line in answers[len(on_disk) :]))
            process.stdin.close()
            acknowledged, wait_for = 0, rng.choice([0, 1, 2, 3, 5])
            while acknowledged < wait_for and (line := process.stderr.readline()):
                acknowledged += line.startswith(("Saved: ", "Taken back: "))
            # Some die while they start, the others in the middle of an answer or between two.
            time_left = rng.uniform(0, 0.6) if not wait_for else rng.uniform(0, 0.02)
            try:
                process.wait(time_left)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
            acknowledged += sum(line.startswith(("Saved: ", "Taken back: ")) for line in process.stderr)
            status = process.wait()
            before = len(on_disk)
            on_disk = events(name) if is_begun(name) else []
            assert on_disk == expected[: len(on_disk)]  # the same documents, in the same order
            assert before + acknowledged <= len(on_disk) <= before + acknowledged + 1
            if status == 0:
                break
            assert status == -signal.SIGKILL
            kills += 1
            if kills == most:
                break
    if on_disk != expected:  # and once more, to the end
        resumed = ["--resume"] if is_begun(name) else []
        last = start(tmp_path, "--session", name, "--export", f"{session}.txt", *resumed)
        last.communicate("".join(f"{line}\n" for line in answers[len(on_disk) :]))
        assert last.returncode == 0
    assert events(name) == expected
    assert Path(f"{session}.txt").read_text() == Path("whole.txt").read_text()


def test_the_page_has_every_strategy() -> None:
    page = (ROOT / "docs" / "judge.md").read_text(encoding="utf-8")
    table = page.split("## Strategies")[1].split("##")[0]
    assert re.findall(r"^\| `(\w[\w-]*)` \|", table, re.MULTILINE) == list(STRATEGIES)


# -- measures and labels --------------------------------------------------------------------------------------------


@pytest.mark.long
def test_by_several_measures(judge: Command) -> None:
    """What the summary expects is what the engine does, and nothing is settled before it is by both."""
    done = judge("-m", "nDCG@5", "-m", "P@5", "--oracle", "sim/truth.txt", "--depth", str(DEPTH))
    assert done.status == 0
    head = re.match(r"(\d+) judged \((\d+) relevant\); (\d+) of (\d+) pairs settled at 0\.95\.\n", done.out)
    assert head is not None
    judged, _, settled, pairs = map(int, head.groups())
    assert pairs == SYSTEMS * (SYSTEMS - 1) // 2
    log = Log.open(Path("fathoms-judging.db"))
    assert log.settings().measures == ("nDCG@5", "P@5")
    log.close()
    exp = fm.Experiment(None, "sim/runs")
    session = exp.judge("fathoms-judging.db", resume=True)
    assert session.judged == judged
    by_pair: dict[frozenset[str], list[float]] = {}
    for pair in session.pairs():
        by_pair.setdefault(frozenset((pair.better, pair.other)), []).append(pair.confidence)
    assert {len(sure) for sure in by_pair.values()} == {2}
    assert sum(min(sure) >= 0.95 for sure in by_pair.values()) == settled
    for measure, column in enumerate((1, 2)):
        of_one = dict(expected_scores(session.engine, measure))
        shown = {line.split()[0]: line.split()[column] for line in done.out.split("\n\n")[1].splitlines()[1:]}
        assert shown == {name: f"{value:.4f}" for name, value in of_one.items()}
    session.close()


def test_measures_that_judging_cannot_go_by(judge: Command) -> None:
    for name in ("Bpref", "infAP", "AP(judged_only=True)", "nERR@10"):
        done = judge("-m", name, "--session", "no.db")
        assert done.status == 2
        assert "judging cannot go by" in done.err
        assert "P, RR, AP, nDCG, RBP, ERR, DCG, SDCG, Q" in done.err
        assert not Path("no.db").exists()


def test_another_measure_on_resuming(judge: Command) -> None:
    assert judge("-m", "RBP(p=0.8)", stdin="0\n").status == 0
    assert judge("-m", "RBP", "--resume", stdin="0\n").status == 0  # the same by another name
    done = judge("-m", "P@10", "--resume", stdin="0\n")
    assert done.status == 2
    assert "was begun with --measure RBP(p=0.8), found P@10;" in done.err


def test_labels(judge: Command) -> None:
    """The truth as a label says which documents are relevant; a session wants the same labels again."""
    truth = [line.split() for line in Path("sim/truth.txt").read_text().splitlines()]
    Path("labels.txt").write_text("".join(f"{topic} {document} {grade}\n" for topic, _, document, grade in truth))
    alone = judge("--oracle", "sim/truth.txt", "--budget", "30", "--confidence", NEVER, "--session", "alone.db")
    told = judge(
        *("--oracle", "sim/truth.txt", "--budget", "30", "--confidence", NEVER, "--session", "told.db"),
        *("--labels", "labels.txt"),
    )
    assert (alone.status, told.status) == (0, 0)
    exp = fm.Experiment(None, "sim/runs")
    relevant = {(topic, document) for topic, _, document, grade in truth if int(grade) > 0}
    errors = []
    for name, labels in (("alone.db", ()), ("told.db", ("labels.txt",))):
        session = exp.judge(name, resume=True, labels=labels)
        numbers, chance = session.engine.probabilities()
        tasks = [session.documents.task(int(number)) for number in numbers]
        true = np.array([(task.topic, task.document) in relevant for task in tasks])
        errors.append(float(((chance - true) ** 2).mean()))
        session.close()
    assert errors[1] < 0.5 * errors[0]
    done = judge("--resume", "--session", "told.db", stdin="0\n")
    assert done.status == 2
    assert "the content of the labels has changed" in done.err
    done = judge("--labels", "nowhere.txt", "--session", "other.db", stdin="0\n")
    assert done.status == 2


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


def test_the_command_says_which_topics_are_left_out(fathoms: Command) -> None:
    Path("a.run").write_text("1 Q0 a 1 2 t\n1 Q0 u 2 1 t\n9 Q0 v 1 1 t\n")
    Path("b.run").write_text("1 Q0 w 1 2 t\n8 Q0 v 1 1 t\n")
    done = fathoms("judge", "qrels.txt", "a.run", "b.run", "--batch", "9", "--to", "batch.tsv")
    assert done.status == 0, done.err
    assert (
        "2 topics of the runs without judgments are left out; begin with --topics all to judge all topics" in done.err
    )
    assert {line.split("\t")[0] for line in Path("batch.tsv").read_text().splitlines()[1:]} == {"1"}
    more = ("--topics", "all", "--session", "all.db", "--batch", "9", "--to", "all.tsv")
    assert fathoms("judge", "qrels.txt", "a.run", "b.run", *more).status == 0
    assert {line.split("\t")[0] for line in Path("all.tsv").read_text().splitlines()[1:]} == {"1", "8", "9"}
