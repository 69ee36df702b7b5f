"""What assessors and the organiser get from the judging page: topics, revisions, personal links, guidelines, proxies.

Without a browser; `test_browser.py` has one.
"""

from __future__ import annotations

import contextlib
import http.client
import http.server
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

import fathoms as fm
from fathoms.base.errors import FathomsError, InputError
from fathoms.cli.app import main
from fathoms.evidence.candidates import Candidates, candidates
from fathoms.judging.assessor_stats import summaries
from fathoms.judging.documents_to_judge import Task, known
from fathoms.judging.events import JudgingSettings
from fathoms.judging.export import provenance
from fathoms.judging.guidelines import GradeName, blocks, read_grades, read_guidelines
from fathoms.judging.log import Log
from fathoms.judging.session import Session
from fathoms.judging.texts import LONG, PASSAGE, PASSAGES, passages
from fathoms.judging.topic_batches import BATCH, topic_to_stay_on
from fathoms.judging.web.access import (
    Address,
    kept_cookie_key,
    kept_organiser_token,
    kept_shared_token,
    kept_tokens,
    read_assessors,
    write_links,
)
from fathoms.judging.web.server import Page, PageOptions
from fathoms.judging.web.service import JudgingService
from tests.judging.web.test_web import BASE, NEVER, TOKEN, Clock, Place, Site, answer, begin, enter, place, resume

__all__ = ["place"]  # a fixture

# -- revisions ----------------------------------------------------------------------------------------------------


def test_a_revision_changes_the_grade_and_nothing_else(tmp_path: Path) -> None:
    now = begin(tmp_path / "s.db", judge_twice=1.0)
    now.grade("1", "d00", 0, "ann", "at first sight")
    now.grade("1", "d00", 2, "bob")
    now.grade("1", "d01", 1, "ann")
    event = now.revise("1", "d00", 2, "ann", "read it again")
    assert (event.kind, event.supersedes, event.grade) == ("grade", 1, 2)
    assert [(one.first.assessor, one.second.assessor) for one in now.state.judged_twice] == [
        ("ann", "bob")
    ]  # still the first
    assert now.state.disagreements == []
    assert now.documents.judgments(now.state) == [(0, 2), (1, 1)]
    now.revise("1", "d00", 1, "ann")
    rows = [row[1:4] + row[5:] for row in provenance(now)]
    assert rows[0] == ("d00", "1", "ann", "", "first", "0,2")
    assert rows[1] == ("d00", "2", "bob", "", "second", "")
    for words, message in (
        (("1", "d00", 1, "cleo"), "has no grade from cleo that could be revised"),
        (("1", "d05", 1, "ann"), "has no grade from ann that could be revised"),
        (("1", "d00", 1, "ann"), "has grade 1 from ann already"),
        (("1", "d00", 3, "ann"), "expected a grade from 0 to 2"),
        (("1", "d99", 1, "ann"), "is in no run's top"),
    ):
        with pytest.raises(FathomsError, match=message):
            now.revise(*words)
    assert now.undo("ann") is not None  # the last revision, not the grade of d01 that came before it
    assert [event.grade for event in now.state.grades] == [2, 1]
    assert now.undo("ann") is not None
    assert [event.grade for event in now.state.grades] == [0, 1]
    assert now.undo("ann") is not None
    assert [event.document for event in now.state.grades] == ["d00"]
    events = now.log.events()
    now.close()
    again = resume(tmp_path / "s.db")
    assert again.log.events() == events
    assert [event.grade for event in again.state.grades] == [0]
    again.close()


def test_revisions_and_final_grades(tmp_path: Path) -> None:
    now = begin(tmp_path / "s.db", judge_twice=1.0)
    now.grade("1", "d00", 0, "ann")
    now.grade("1", "d00", 2, "bob")
    now.settle("1", "d00", 1, "eve")
    now.revise("1", "d00", 2, "ann")
    assert [event.grade for event in now.state.grades] == [1]  # final is final
    assert len(now.state.disagreements) == 1  # both say 2 by now, so somebody should look again
    assert now.kappa() is None
    now.settle("1", "d00", 2, "eve")
    assert now.state.disagreements == []
    now.close()


def test_a_skip_can_become_a_grade(tmp_path: Path) -> None:
    now = begin(tmp_path / "s.db")
    now.skip("1", "d00", "ann")
    with pytest.raises(FathomsError, match="no grade from bob"):
        now.revise("1", "d00", 1, "bob")
    now.revise("1", "d00", 1, "ann")
    assert ([event.grade for event in now.state.grades], now.state.skips) == ([1], [])
    now.undo("ann")
    assert ([event.grade for event in now.state.grades], len(now.state.skips)) == ([], 1)
    now.close()


def test_sessions_of_before_still_open(tmp_path: Path) -> None:
    """The form that files had before there were revisions, as SQL."""
    begin(tmp_path / "new.db").close()
    old = sqlite3.connect(tmp_path / "s.db")
    old.executescript(f"""
        PRAGMA application_id = {0x6661746D};
        CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE event (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            kind TEXT NOT NULL CHECK (kind IN ('grade', 'skip', 'undo', 'final')),
            topic TEXT NOT NULL, document TEXT NOT NULL, grade INTEGER, undone INTEGER REFERENCES event (number),
            assessor TEXT NOT NULL, time TEXT NOT NULL, note TEXT NOT NULL);
        CREATE TABLE trace (event INTEGER PRIMARY KEY, judged INTEGER, settled INTEGER, least REAL);
        ATTACH '{tmp_path / "new.db"}' AS new;
        INSERT INTO meta SELECT * FROM new.meta;
        UPDATE meta SET value = '1' WHERE name = 'format';""")
    row = "INSERT INTO event VALUES (NULL, ?, '1', ?, ?, ?, ?, ?, '')"
    for kind, document, grade, undone in (
        ("grade", "d00", 1, None),
        ("grade", "d01", 2, None),
        ("undo", "d01", None, 2),
    ):
        old.execute(row, (kind, document, grade, undone, "ann", "2024-05-01T10:00:00.000+00:00"))
    old.commit()
    old.close()
    now = resume(tmp_path / "s.db")
    assert [(event.document, event.grade) for event in now.state.grades] == [("d00", 1)]
    now.revise("1", "d00", 0, "ann")
    now.close()
    again = resume(tmp_path / "s.db")
    assert [(event.document, event.grade) for event in again.state.grades] == [("d00", 0)]
    again.close()


def test_what_each_assessor_did(tmp_path: Path) -> None:
    now = begin(tmp_path / "s.db", judge_twice=1.0)
    for i, grade in enumerate((0, 1, 2)):
        now.grade("1", f"d0{i}", grade, "ann")
        now.grade("1", f"d0{i}", max(grade, 1), "bob")
    now.skip("1", "d05", "bob")
    now.revise("1", "d02", 1, "ann")
    ann, bob = summaries(now.state).values()
    assert (ann.name, ann.judged, ann.relevant, ann.skipped, ann.revised, ann.twice) == ("ann", 3, 2, 0, 1, 3)
    assert (bob.judged, bob.relevant, bob.skipped, bob.revised) == (3, 3, 1, 0)
    together = now.kappa()
    assert together is not None
    assert ann.kappa == bob.kappa == together.kappa
    assert ann.seconds is not None
    assert ann.per_hour is not None
    assert ann.last == now.log.events()[-1].time
    now.close()


# -- one topic at a time ------------------------------------------------------------------------------------------


def several(n_topics: int = 6, depth: int = 20) -> tuple[Candidates, dict[int, float]]:
    """Candidates of several topics, and their true grades."""
    collection = fm.simulate(systems=4, n_topics=n_topics, n_docs=300, depth=depth, max_grade=1)
    found = candidates(fm.read_runs(collection.runs), depth, "trec", "float32")
    return found, known(found, fm.read_qrels(collection.truth))


class Desk(Place):
    """A service over several topics."""

    def __init__(
        self, path: Path, n_topics: int = 6, depth: int = 20, stay: int = BATCH, judge_twice: float = 0.0
    ) -> None:
        self.clock = Clock()
        found, self.truth = several(n_topics, depth)
        settings = JudgingSettings(until=NEVER, stay=stay, judge_twice=judge_twice)
        self.session = Session.begin(path, settings, found, None)
        self.service = JudgingService(self.session, clock=self.clock)
        self.service.start()

    def have(self, name: str) -> Task:
        """What somebody has in hand."""
        task: Task | None = self.do(self.service.take, name) or self.do(self.service.take, name)
        assert task is not None
        return task

    def judge(self, name: str) -> tuple[str, bool]:
        """The next document by the truth: its topic, and whether it was relevant."""
        task = self.have(name)
        grade = int(self.truth.get(task.candidate, 0))
        self.do(self.service.grade, name, task.topic, task.document, grade, "")
        return task.topic, grade > 0


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    made: list[Desk] = []

    def make(**how: Any) -> Desk:
        made.append(Desk(tmp_path / f"desk{len(made)}.db", **how))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_an_assessor_stays_on_a_topic(desk: Callable[..., Desk]) -> None:
    here = desk(stay=5)
    answers: list[tuple[str, bool]] = []
    for _ in range(40):
        stays = topic_to_stay_on(answers, batch=5)
        answers.append(here.judge("ann"))
        assert stays in (None, answers[-1][0])
    assert len({topic for topic, _ in answers}) > 2


def test_without_staying_the_most_informative_comes_next(desk: Callable[..., Desk], tmp_path: Path) -> None:
    here = desk(stay=1)
    alone = Session.begin(tmp_path / "alone.db", here.session.settings, here.session.documents.candidates, None)
    for _ in range(25):
        task = alone.next("ann")
        assert task is not None
        assert here.take("ann") == task.document
        topic, relevant = here.judge("ann")
        assert topic == task.topic
        alone.grade(task.topic, task.document, int(relevant), "ann")
    alone.close()


def test_two_assessors_are_on_two_topics(desk: Callable[..., Desk]) -> None:
    here = desk(stay=6)
    together = 0
    for _ in range(30):
        topics = {here.have(name).topic for name in ("ann", "bob", "cleo")}
        together += len(topics) < 3
        for name in ("ann", "bob", "cleo"):
            here.judge(name)
    assert together <= 2  # six topics for three people, some of them soon judged through


def test_nobody_waits_for_a_topic(desk: Callable[..., Desk]) -> None:
    here = desk(n_topics=1, stay=10)
    assert len({here.have(f"p{i}").document for i in range(6)}) == 6
    few = desk(n_topics=3, depth=3, stay=10)
    while few.take("ann") is not None:  # topics end before a stay does
        few.judge("ann")
    assert few.service.why_ended() is not None
    assert few.session.judged > 10


def test_documents_are_chosen_as_far_ahead_as_a_look_takes(
    desk: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quick judge goes on while the model thread takes its time over the last answer."""
    here = desk(stay=1)
    here.judge("ann")
    go_on = threading.Event()
    engine_at = here.session.engine_at
    monkeypatch.setattr(here.session, "engine_at", lambda state: go_on.wait(20) and engine_at(state))
    try:
        for _ in range(15):
            task = here.service.submit(here.service.take, "ann").result(10)
            assert task is not None
            here.service.submit(here.service.grade, "ann", task.topic, task.document, 0, "").result(10)
    finally:
        go_on.set()


def test_who_comes_back_stays_on_the_topic(desk: Callable[..., Desk]) -> None:
    here = desk(stay=8)
    task = here.have("ann")
    here.do(here.service.grade, "ann", task.topic, task.document, 1, "")
    for i in range(12):
        here.judge(f"other {i % 3}")
    here.clock.now = 4000  # long gone, and nobody kept a list for ann's topic
    here.judge("bob")
    assert here.have("ann").topic == task.topic


def test_second_grades_of_the_topic_come_first(desk: Callable[..., Desk]) -> None:
    here = desk(stay=10, judge_twice=1.0)
    first = here.have("ann")
    here.judge("ann")
    assert here.have("bob") == first
    here.judge("bob")
    for _ in range(12):
        here.judge("ann")
    waiting = {topic for topic, _ in here.session.state.waiting("bob")}
    task = here.have("bob")
    assert task.topic == first.topic or first.topic not in waiting


# -- what assessors see -------------------------------------------------------------------------------------------

OWN = {"version", "judged", "relevant", "skipped", "all_judged", "budget", "ended"}


def named(tmp_path: Path) -> tuple[Session, list[str]]:
    names = ["secret-alpha", "secret-beta", "secret-gamma"]
    runs = {name: {"1": {f"d{i}": float(i * (j + 2) % 7) for i in range(7)}} for j, name in enumerate(names)}
    found = candidates(fm.read_runs(runs), 10, "trec", "float32")
    return Session.begin(tmp_path / "named.db", JudgingSettings(until=NEVER, judge_twice=1.0), found, None), names


@pytest.mark.parametrize("shown", [False, True])
def test_nothing_about_systems_reaches_assessors(tmp_path: Path, shown: bool) -> None:
    session, names = named(tmp_path)
    service = JudgingService(session)
    service.start()
    address = Address(token=TOKEN)
    app = Page(service, None, None, address, PageOptions(show_standings=shown)).app()
    ann = TestClient(app, base_url=BASE, headers={"Authorization": f"Bearer {TOKEN}"})
    heard = [ann.get("/").text, ann.get("/api/about").text, ann.get("/api/state?name=ann").text]
    for name in ("ann", "bob"):
        for grade in (0, 1):
            response = ann.post("/api/next", json={"name": name})
            heard.append(response.text)
            task = response.json()["document"]
            heard.append(ann.post("/api/grade", json=answer(task, name=name, grade=grade)).text)
        heard.append(ann.post("/api/keep", json={"name": name}).text)
        history = ann.post("/api/history", json={"name": name, "topic": ""})
        heard.append(history.text)
        assert {one["assessor"] for one in history.json()["judgments"]} == {name}
    one = history.json()["judgments"][0]
    body = {"name": "bob", "topic": "1", "document": one["document"], "grade": 1 - one["grade"], "note": ""}
    heard.append(ann.post("/api/revise", json=body).text)
    heard.append(ann.post("/api/undo", json={"name": "bob"}).text)
    heard += [ann.get(path).text for path in ("/api/organise", "/api/judgments", "/qrels.txt", "/provenance.tsv")]
    assert any(name in text for text in heard for name in names) == shown
    state = ann.get("/api/state?name=ann").json()["state"]
    assert set(state) == OWN | ({"standings"} if shown else set())
    assert (state["judged"], state["relevant"], state["all_judged"]) == (2, 1, session.judged)
    assert ann.get("/qrels.txt").status_code == (200 if shown else 403)
    organiser = TestClient(app, base_url=BASE, headers={"Authorization": f"Bearer {address.organiser_token}"})
    assert all(name in organiser.get("/api/organise").text for name in names)
    service.close()
    session.close()


def test_the_end_says_nothing_about_systems(place: Callable[..., Place]) -> None:
    site = Site(place(until=0.51))
    while (task := site.next("ann")) is not None:
        site.post("grade", **answer(task))
    state = site.post("keep", name="ann").json()["state"]
    assert state["ended"] in ("All that is needed has been judged.", "There is nothing left to judge.")


def test_history_and_revising_over_the_wire(place: Callable[..., Place]) -> None:
    site = Site(place())
    given: list[str] = []
    for i in range(4):
        task = site.next("ann")
        given.append(task["document"]["id"])
        site.post("grade", **answer(task, grade=i % 3, note=f"note {i}"))
    at_hand = site.next("ann")
    found = site.post("history", name="ann", topic="").json()
    assert [one["document"] for one in found["judgments"]] == given[::-1]
    assert found["topics"] == [["1", "Dams and <b>fish</b>"]]
    assert site.post("history", name="ann", topic="2").json()["judgments"] == []
    assert site.post("history", name="bob", topic="").json()["judgments"] == []
    body = {"name": "ann", "topic": "1", "document": given[0], "grade": 2, "note": "on second thoughts"}
    done = site.post("revise", **body)
    assert (done.status_code, done.json()["state"]["relevant"]) == (200, 3)
    assert site.next("ann") == at_hand  # which is still hers
    latest = site.post("history", name="ann", topic="1").json()["judgments"][0]
    assert (latest["document"], latest["grade"], latest["revised_from"]) == (given[0], 2, [0])
    for change, message in (
        ({}, "has grade 2 from ann already"),
        ({"name": "bob"}, "has no grade from bob"),
        ({"document": at_hand["document"]["id"]}, "has no grade from ann"),
        ({"grade": 9}, "expected a grade from 0 to 2"),
        ({"note": "x" * 2001}, "expected a note of at most"),
    ):
        refused = site.post("revise", **(body | change))
        assert (refused.status_code, message in refused.json()["error"]) == (400, True), refused.text
    listed = site.organiser.get("/api/judgments", params={"assessor": "ann", "topic": "1"}).json()["judgments"]
    assert (listed[0]["revised_from"], listed[0]["note"]) == ([0], "on second thoughts")
    assert site.organiser.get("/api/judgments", params={"assessor": "eve"}).json()["judgments"] == []
    ann, _ = site.organiser.get("/api/organise").json()["state"]["assessors"]
    assert (ann["name"], ann["judged"], ann["revised"], ann["here"]) == ("ann", 4, 1, True)
    assert site.post("undo", name="ann").json()["document"] == at_hand  # takes the revision back, nothing else
    assert site.organiser.get("/qrels.txt").text.splitlines()[0] == f"1 0 {given[0]} 0"


def test_a_revision_that_cannot_be_saved_changes_nothing(place: Callable[..., Place]) -> None:
    here = place()
    mine = here.take("ann") or ""
    here.grade("ann", mine, 1)
    connection = here.session.log._connection
    connection.execute(f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').fetchone()[0]}")
    with pytest.raises(InputError, match="not saved"):
        here.do(here.service.revise, "ann", "1", mine, 2, "x" * 100_000)
    assert [event.grade for event in here.session.state.grades] == [1]
    connection.execute("PRAGMA max_page_count = 100000")
    here.do(here.service.revise, "ann", "1", mine, 2, "")
    assert [event.grade for event in here.session.state.grades] == [2]


# -- personal links -----------------------------------------------------------------------------------------------


def test_personal_links_fix_the_name(place: Callable[..., Place]) -> None:
    here = place()
    people = {"Ann B.": "token-of-ann-000", "Bob": "token-of-bob-000"}
    address = Address(token=TOKEN, people=people)
    app = Page(here.service, None, None, address).app()
    ann, bob, other = (TestClient(app, base_url=BASE, headers={"Origin": BASE}) for _ in range(3))
    assert enter(ann, people["Ann B."]).status_code == 200
    assert enter(bob, people["Bob"]).status_code == 200
    assert enter(other, TOKEN).status_code == 401  # no shared way in
    assert enter(other, people["Bob"], "organise").status_code == 401
    assert ann.get("/api/about").json()["name"] == "Ann B."
    task = ann.post("/api/next", json={"name": ""}).json()["document"]
    forged = ann.post("/api/grade", json=answer(task, name="Bob"))
    assert forged.status_code == 403
    assert "this link is for Ann B. alone" in forged.json()["error"]
    assert here.session.log.events() == []
    assert ann.post("/api/grade", json=answer(task, name="Ann B.")).status_code == 200
    second = bob.post("/api/next", json={"name": ""}).json()["document"]
    assert bob.post("/api/grade", json=answer(second, name="")).status_code == 200
    assert [event.assessor for event in here.session.log.events()] == ["Ann B.", "Bob"]
    assert bob.get("/api/state").json()["state"]["judged"] == 1
    assert bob.get("/api/state?name=Ann+B.").json()["state"]["judged"] == 1  # Bob's own, whatever is asked


def test_tokens_are_kept_in_the_session(tmp_path: Path) -> None:
    log = begin(tmp_path / "s.db").log
    assert kept_tokens(log, None) == {}
    first = kept_tokens(log, {"ann": None, "bob": "token-of-bob-000"})
    assert (len(first["ann"]), first["bob"]) == (32, "token-of-bob-000")
    token, key = kept_organiser_token(log), kept_cookie_key(log)
    log.close()
    log = Log.open(tmp_path / "s.db")
    assert (kept_tokens(log, None), kept_organiser_token(log), kept_cookie_key(log)) == (first, token, key)
    shared = kept_shared_token(log, None)
    assert len(shared) == 32
    assert kept_shared_token(log, None) == shared
    assert kept_shared_token(log, TOKEN) == kept_shared_token(log, None) == TOKEN
    later = kept_tokens(log, {"ann": None, "cleo": None})
    assert later["ann"] == first["ann"]
    assert set(kept_tokens(log, None)) == {"ann", "cleo"}
    log.close()


def test_a_file_of_assessors(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("# who\nAnn  Brown\n\nBob\ttoken-of-bob-000\n")
    assert read_assessors(str(path)) == {"Ann Brown": None, "Bob": "token-of-bob-000"}
    for text, message in (
        ("# nobody\n", "has no names"),
        ("ann\nann\n", "2: ann is there twice"),
        ("ann\tshort\n", "1: after the tab: expected a token of 16 to 200 characters"),
        ("ann\tabababababababab\n", "8 different characters or more, found 2"),
        ("x" * 61 + "\n", "expected a name of 1 to 60"),
        ("ann\ttoken-of-bob-000\nbob\ttoken-of-bob-000\n", "bob has the token of somebody else"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            read_assessors(str(path))


def test_a_file_of_links(tmp_path: Path) -> None:
    path = tmp_path / "links.tsv"
    path.write_text("before")
    path.chmod(0o644)
    address = Address(token=TOKEN, people={"ann": "token-of-ann-000"}, public="https://host.example/judge/")
    write_links(path, address)
    assert path.stat().st_mode & 0o777 == 0o600
    organiser = f"https://host.example/judge/organise#token={address.organiser_token}"
    expected = f"organiser\t{organiser}\nann\thttps://host.example/judge/#token=token-of-ann-000\n"
    assert path.read_text() == expected
    with pytest.raises(InputError, match="cannot be written"):
        write_links(tmp_path / "none" / "links.tsv", address)


# -- grades and guidelines ----------------------------------------------------------------------------------------


def test_names_of_grades(tmp_path: Path) -> None:
    path = tmp_path / "grades"
    expected = [GradeName(0, "off topic"), GradeName(1, "related", "no answer"), GradeName(2, "relevant")]
    for text in (
        "# ours\n0 = off topic\n1 = related: no answer\n2 = relevant\n",
        "0\toff topic\n1\trelated\tno answer\n2\trelevant\n",
        "2 relevant\n1) related: no answer\n0 off topic\n",
        '{"0": "off topic", "1": {"name": "related", "description": "no answer"}, "2": "relevant"}',
        '[{"grade": 0, "name": "off topic"}, {"grade": 1, "name": "related", "description": "no answer"}, '
        '{"grade": 2, "name": "relevant"}]',
    ):
        path.write_text(text)
        assert read_grades(str(path)) == expected
    for text, message in (
        ("", "the file is empty"),
        ("none = off topic\n", "1: expected a grade and its name"),
        ("0\n", "expected a grade and its name"),
        ("0 = a\n0 = b\n", "2: grade 0 has two names"),
        ("0 = a\n2 = b\n", r"without a gap, found \[0, 2\]"),
        ("0 = a\n", r"without a gap, found \[0\]"),
        ('{"0": 1}', "expected JSON such as"),
        ("[1]", "expected JSON such as"),
        ("0 = " + "x" * 61, "expected a name of 1 to 60 characters"),
        ("".join(f"{i} = x{i}\n" for i in range(25)), "at most 20 grades, found 25"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            read_grades(str(path))


def test_guidelines_become_blocks_and_never_html(tmp_path: Path) -> None:
    text = (
        "# Read <b>this</b>\r\nFirst line\r\nsecond *line* and `x*y*z`.\n\n- one\n  goes on\n- **two**\n\n1. a\n2) b\n"
        "See [the site](javascript:alert(1)) ![](x.png) 2 * 3 * 4 snake_case_name\u202e"
    )
    heading, paragraph, items, ordered = blocks(text)
    assert heading == {"kind": "heading", "level": 1, "words": [("Read <b>this</b>", "")]}
    assert paragraph["words"] == [
        ("First line second ", ""),
        ("line", "em"),
        (" and ", ""),
        ("x*y*z", "code"),
        (".", ""),
    ]
    assert items == {"kind": "list", "items": [[("one goes on", "")], [("two", "strong")]]}
    words = "b See the site (javascript:alert(1)) x.png 2 * 3 * 4 snake_case_name\ufffd"
    assert ordered["items"] == [[("a", "")], [(words, "")]]
    path = tmp_path / "guide.md"
    path.write_bytes(b"\xef\xbb\xbf# x")
    assert read_guidelines(str(path)) == "# x"
    path.write_text("x" * 100_001)
    with pytest.raises(InputError, match="at most 100,000 characters, found 100,001"):
        read_guidelines(str(path))


def test_the_page_is_told_of_grades_and_guidelines(place: Callable[..., Place]) -> None:
    grades = [GradeName(0, "no", "nothing"), GradeName(1, "some"), GradeName(2, "<i>all</i>")]
    site = Site(place(), PageOptions(grades, "Be *fair*.", False))
    for client in (site.client, site.organiser):
        about = client.get("/api/about").json()
        assert about["grades"] == [["no", "nothing"], ["some", ""], ["<i>all</i>", ""]]
        assert about["guidelines"] == [{"kind": "paragraph", "words": [["Be ", ""], ["fair", "em"], [".", ""]]}]
        assert (about["max_grade"], about["rel"], about["name"], about["standings"]) == (2, 1, None, False)


# -- passages -----------------------------------------------------------------------------------------------------


def test_passages_of_long_texts() -> None:
    filler = "Nothing to see here, move on. " * 40
    body = [filler, f"{filler}Dams hold water. A dam and its fish. {filler}", filler + "One dam.", "x" * LONG]
    found = passages(body, {"dam", "fish"})
    assert 0 < len(found) <= PASSAGES
    assert found == sorted(found)
    texts = [body[at.paragraph][at.start : at.end] for at in found]
    assert any("Dams hold water." in text and "its fish" in text for text in texts)
    assert any("One dam." in text for text in texts)
    assert all(len(text) <= PASSAGE and text == text.strip() for text in texts)
    assert passages(["A dam."], {"dam"}) == []  # short
    assert passages(body, set()) == []
    assert passages(["x" * 5000 + " dam " + "y" * 5000], {"dam"})


def test_places_are_counted_as_browsers_count(place: Callable[..., Place]) -> None:
    from fathoms.data.texts import Entry
    from fathoms.judging.web.server import _parts

    text = "\N{GRINNING FACE}" * 10 + " " + "word " * 700 + "end. A dam is here. " + "word " * 100
    (at,) = _parts(Entry("", (text,)), {"dam"})["passages"]
    encoded = text.encode("utf-16-le")
    assert "A dam is here." in encoded[2 * at[1] : 2 * at[2]].decode("utf-16-le")


# -- behind a proxy, and over TLS ---------------------------------------------------------------------------------

PUBLIC = "https://eval.example/deep/judge"


@pytest.mark.parametrize("prefix", ["/deep/judge", ""])  # which a proxy leaves on, or takes off
@pytest.mark.parametrize("host", ["eval.example", "127.0.0.1:8417"])  # which a proxy hands on, or sets
def test_under_a_path(place: Callable[..., Place], prefix: str, host: str) -> None:
    here = place()
    address = Address(token=TOKEN, public=PUBLIC + "/")
    assert address.url() == f"{PUBLIC}/#token={TOKEN}"
    client = TestClient(
        Page(here.service, None, None, address).app(),
        base_url=BASE,
        headers={"Host": host, "Origin": "https://eval.example"},
    )
    opened = enter(client, TOKEN, base=prefix)
    cookie = opened.headers["set-cookie"]
    assert "Secure" in cookie
    assert "Path=/deep/judge/;" in cookie
    client.headers["Cookie"] = cookie.partition(";")[0]
    assert client.get(f"{prefix}/").status_code == 200
    assert client.get(f"{prefix}/script.js").headers["content-type"].startswith("text/javascript")
    task = client.post(f"{prefix}/api/next", json={"name": "ann"}).json()["document"]
    for origin in (
        "http://eval.example",
        "https://evil.example",
        "https://eval.example:444",
        "https://eval.example.org",
    ):
        if origin.partition("://")[2] == host:
            continue
        refused = client.post(f"{prefix}/api/grade", json=answer(task), headers={"Origin": origin})
        assert refused.status_code == 403, origin
    assert client.get(f"{prefix}/", headers={"Host": "evil.example"}).status_code == 421
    assert client.get("/other/judge/").status_code == 404
    assert client.post(f"{prefix}/api/grade", json=answer(task)).status_code == 200
    assert len(here.session.log.events()) == 1


def test_the_path_without_its_slash(place: Callable[..., Place]) -> None:
    client = TestClient(Page(place().service, None, None, Address(token=TOKEN, public=PUBLIC)).app(), base_url=BASE)
    moved = client.get("/deep/judge", params={"token": TOKEN}, follow_redirects=False)
    assert (moved.status_code, moved.headers["location"]) == (307, f"/deep/judge/?token={TOKEN}")


@pytest.mark.parametrize(
    "url",
    [
        "eval.example/x",
        "ftp://eval.example",
        "https://",
        "https://a.example/?x=1",
        "https://a.example/#x",
        "https://user@a.example/",
        "https://a.example/a b",
        "https://a.example/../x",
        "https://a.example:x/",
        "https://[",
    ],
)
def test_bad_public_addresses(url: str) -> None:
    with pytest.raises(FathomsError, match="--public-url: expected"):
        Address(token=TOKEN, public=url)


class Proxy:
    """A small server in front of another, which takes a prefix off or leaves it on."""

    def __init__(self, prefix: str) -> None:
        self.prefix, self.strip, self.port, self.seen = prefix, True, 0, []  # type: tuple[str, bool, int, list[str]]
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path
                proxy.seen.append(path)
                if not path.startswith(f"{proxy.prefix}/"):
                    self.send_error(404)
                    return
                if proxy.strip:
                    path = path.removeprefix(proxy.prefix)
                length = int(self.headers.get("Content-Length", 0))
                onward = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=30)
                headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
                headers["Host"] = f"127.0.0.1:{proxy.port}" if proxy.strip else self.headers["Host"]
                onward.request(self.command, path, self.rfile.read(length), headers)
                answered = onward.getresponse()
                body = answered.read()
                self.send_response(answered.status)
                for name, value in answered.getheaders():
                    if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                onward.close()

            do_POST = do_GET

            def log_message(self, *words: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}{prefix}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Command:
    """`fathoms judge --web` as a process, and what it says."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fathoms", "judge", "--web", "--port", "0", *words],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        self.heard = ""
        while "Ctrl-C" not in self.heard:
            line = self.process.stderr.readline()
            assert line, self.heard
            self.heard += line
        self.links = dict(re.findall(r"fathoms: (\S+)(?: at)? +(https?://\S+)", self.heard))

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=30)


def follow(client: httpx.Client, link: str) -> httpx.Response:
    """Open a link as the entrance does it: what is behind the # is sent by its script alone."""
    base, _, token = link.partition("#token=")
    assert client.get(base).status_code == 401
    page = "organise" if base.endswith("organise") else "judge"
    assert enter(client, token, page, base.removesuffix("organise").rstrip("/")).status_code == 200
    return client.get(base)


def test_a_proxy_and_a_restart(tmp_path: Path) -> None:
    """Personal links by way of a proxy under a path; after a restart they are the same."""
    proxy = Proxy("/deep/judge")
    (tmp_path / "names.txt").write_text("ann\nbob\n")
    (tmp_path / "grades.txt").write_text("0 = no\n1 = some\n2 = all\n3 = more than all\n")
    (tmp_path / "guide.md").write_text("# Be fair\n")
    words = ["--demo", "demo", "--public-url", proxy.url]
    links: list[dict[str, str]] = []
    try:
        for more in (
            ["--assessors", "names.txt", "--grades", "grades.txt", "--guidelines", "guide.md"],
            ["--resume", "--links", "links.tsv"],
        ):
            server = Command(tmp_path, *words, *more)
            if "--links" in more:
                assert "the links for assessors and for the organiser are in links.tsv" in server.heard
                assert "token=" not in server.heard
                rows = [line.split("\t") for line in (tmp_path / "links.tsv").read_text().splitlines()]
                server.links |= {"organise": rows[0][1], **dict(rows[1:])}
            links.append(server.links)
            proxy.strip = not proxy.strip
            proxy.port = port_of(server.process)
            with httpx.Client(
                follow_redirects=True, headers={"Origin": proxy.url.removesuffix("/deep/judge")}
            ) as client:
                page = follow(client, server.links["ann"])
                assert (page.status_code, str(page.url)) == (200, f"{proxy.url}/")
                for link in re.findall(r"(?:src|href)=\"([^\"]+)\"", page.text):
                    if link not in ("qrels.txt", "provenance.tsv"):
                        assert client.get(urllib.parse.urljoin(str(page.url), link)).status_code == 200
                about = client.get(f"{proxy.url}/api/about").json()
                assert (about["name"], about["max_grade"]) == ("ann", 3)
                assert about["grades"][3] == ["more than all", ""]
                assert about["guidelines"][0]["words"] == [["Be fair", ""]]
                task = client.post(f"{proxy.url}/api/next", json={"name": ""}).json()["document"]
                done = client.post(f"{proxy.url}/api/grade", json=answer(task, grade=3))
                assert done.json()["state"]["judged"] == len(links)
                page = follow(client, server.links["organise"])
                assert (page.status_code, str(page.url)) == (200, f"{proxy.url}/organise")
                names = [one["name"] for one in client.get(f"{proxy.url}/api/organise").json()["state"]["assessors"]]
                assert names == ["ann", "bob"]
            server.stop()
    finally:
        proxy.close()
    assert links[0] == links[1]
    assert all(link.startswith(proxy.url) for link in links[0].values())


def port_of(process: subprocess.Popen[str]) -> int:
    """The port on which a process listens, as Linux has it."""
    inodes = set()
    for file in Path(f"/proc/{process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            found = re.match(r"socket:\[(\d+)\]", str(file.readlink()))
            if found:
                inodes.add(found[1])
    for line in Path(f"/proc/{process.pid}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and fields[9] in inodes:
            return int(fields[1].partition(":")[2], 16)
    raise AssertionError("listens nowhere")


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_over_tls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-keyout",
            "key.pem",
            "-out",
            "cert.pem",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=IP:127.0.0.1,DNS:localhost",
        ],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    server = Command(tmp_path, "--demo", "demo", "--certificate", "cert.pem", "--key", "key.pem")
    try:
        trust = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        with httpx.Client(verify=trust) as client:
            assert server.links["judge"].startswith("https://127.0.0.1:")
            base, _, token = server.links["judge"].partition("/#token=")
            client.headers["Origin"] = base
            assert "Secure" in enter(client, token, base=base).headers["set-cookie"]
            task = client.post(f"{base}/api/next", json={"name": "ann"}).json()["document"]
            assert task["document"]["id"]
    finally:
        server.stop()
    subprocess.run(
        ["openssl", "rsa", "-aes256", "-passout", "pass:secret", "-in", "key.pem", "-out", "locked.pem"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    for key, message in (
        ("locked.pem", "is protected by a passphrase"),
        ("cert.pem", "cannot be used"),
        ("no", "No such"),
    ):
        with pytest.raises(SystemExit):
            main(
                ["judge", "--demo", "--web", "--certificate", str(tmp_path / "cert.pem"), "--key", str(tmp_path / key)]
            )
        assert message in capsys.readouterr().err


def test_bad_usage_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("grades.txt").write_text("0 = no\n1 = yes\n")
    Path("bad.txt").write_text("\n")
    web = ("--demo", "d", "--web")
    for words, message in (
        (("--demo", "--show-standings"), "--show-standings is for the page; add --web"),
        (("--demo", "--grades", "grades.txt"), "--grades is for the page; add --web"),
        ((*web, "--certificate", "x"), "--certificate and --key go together"),
        ((*web, "--public-url", "eval.example"), "--public-url: expected an address such as https://host/path"),
        ((*web, "--assessors", "bad.txt"), "bad.txt: has no names"),
        ((*web, "--guidelines", "bad.txt"), "bad.txt: the file is empty"),
        ((*web, "--guidelines", "none.txt"), "none.txt"),
        ((*web, "--links", "no/where.tsv"), "no/where.tsv"),
        ((*web, "--grades", "grades.txt", "--max-grade", "3"), "has the grades 0 to 1, but those to give are 0 to 3"),
    ):
        shutil.rmtree("d", ignore_errors=True)
        with pytest.raises(SystemExit) as exit:
            main(["judge", *words])
        assert exit.value.code == 2, words
        assert message in capsys.readouterr().err, words
        assert not Path("d/fathoms-judging.db").exists(), words


# -- killed -------------------------------------------------------------------------------------------------------

KILLS = int(
    os.environ.get("FATHOMS_KILLS", "4")
)  # a long run: FATHOMS_KILLS=200 pytest tests/judging/web/test_page.py -k killed
Row = tuple[str, str, str, int | None, bool]  # kind, topic, document, grade, and whether it revises another


class Hand:
    """An assessor who never pauses: grades, skips, revises and takes back, and knows what was acknowledged."""

    def __init__(self, name: str, rng: random.Random) -> None:
        self.name, self.rng = name, rng
        self.saved: list[Row] = []  # acknowledged, or found in the log after a kill
        self.sent: Row | None = None  # on its way

    def work(self, port: int) -> None:
        """Until the server is gone."""
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            while True:
                self.act(connection)

    def post(self, connection: http.client.HTTPConnection, path: str, **body: Any) -> dict[str, Any] | None:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        connection.request("POST", f"/api/{path}", json.dumps({"name": self.name, **body}), headers)
        response = connection.getresponse()
        found: dict[str, Any] = json.loads(response.read())
        return found if response.status == 200 else None

    def act(self, connection: http.client.HTTPConnection) -> None:
        kind = self.rng.choice(["grade", "grade", "grade", "skip", "undo", "revise", "revise", "revise"])
        if kind == "revise":
            listed = self.post(connection, "history", topic="")
            mine = [one for one in (listed or {"judgments": []})["judgments"] if one["kind"] == "grade"]
            if not mine:
                return
            one = self.rng.choice(mine)
            grade = (one["grade"] + self.rng.randint(1, 2)) % 3
            self.sent = ("grade", one["topic"], one["document"], grade, True)
            done = self.post(connection, "revise", topic=one["topic"], document=one["document"], grade=grade, note="")
        elif kind == "undo":
            self.sent = ("undo", "", "", None, False)
            done = self.post(connection, "undo")
        else:
            task = (self.post(connection, "next") or {"document": None})["document"]
            if task is None:  # all are judged
                return
            about = {"topic": task["topic"]["id"], "document": task["document"]["id"], "note": ""}
            grade = self.rng.randint(0, 2)
            self.sent = (kind, about["topic"], about["document"], grade if kind == "grade" else None, False)
            done = self.post(connection, kind, **about, **({"grade": grade} if kind == "grade" else {}))
        if done is not None:
            self.saved.append(self.sent)
        self.sent = None

    def compare(self, rows: list[Row]) -> None:
        """What is in the log is what was acknowledged, and at most the one that was on its way."""
        mine = [("undo", "", "", None, False) if row[0] == "undo" else row for row in rows]
        assert mine[: len(self.saved)] == self.saved
        assert mine[len(self.saved) :] in ([], [self.sent])
        self.saved, self.sent = mine, None


def is_begun(path: Path) -> bool:
    if not path.exists():
        return False
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def log_of(path: Path) -> list[tuple[Any, ...]]:
    if not is_begun(path):
        return []
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(
            "SELECT number, kind, topic, document, grade, undone, assessor FROM event ORDER BY number"
        ).fetchall()


def counting(rows: list[tuple[Any, ...]]) -> dict[tuple[str, str], int]:
    """Grades that stand, by a plain loop over the log."""
    chains: list[list[tuple[Any, ...]]] = []
    for row in rows:
        if row[1] == "undo":
            chain = next(chain for chain in chains if chain and chain[-1][0] == row[5])
            chain.pop()
        elif row[5] is None:
            chains.append([row])
        else:
            next(chain for chain in chains if chain and chain[-1][0] == row[5]).append(row)
    return {(chain[-1][2], chain[-1][3]): chain[-1][4] for chain in chains if chain and chain[-1][1] == "grade"}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for ports as Linux has them")
def test_nothing_acknowledged_is_lost_whenever_the_server_is_killed(tmp_path: Path) -> None:
    """Two people judge and revise; the server is killed at random moments, and started again with what is on disk."""
    rng = random.Random(11)
    hands = [Hand("ann", random.Random(1)), Hand("bob", random.Random(2))]
    path = tmp_path / "demo" / "fathoms-judging.db"
    words = [sys.executable, "-m", "fathoms", "judge", "--demo", "demo", "--web", "--port", "0"]
    words += ["--confidence", "0.999999999", "--quiet"]
    on_its_way = early = 0
    rows: list[tuple[Any, ...]] = []
    for _ in range(KILLS):
        process = subprocess.Popen(
            [*words, *(["--resume"] if is_begun(path) else [])],
            cwd=tmp_path,
            env={**os.environ, "FATHOMS_TOKEN": TOKEN},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        threads: list[threading.Thread] = []
        if rng.random() < 0.1:  # while it starts
            early += 1
            time.sleep(rng.uniform(0, 1.5))
        else:
            heard = ""
            while "Ctrl-C" not in heard:
                line = process.stderr.readline()
                assert line, heard
                heard += line
            port = int(re.findall(r":(\d+)/#token", heard)[0])
            threads = [threading.Thread(target=hand.work, args=(port,)) for hand in hands]
            for thread in threads:
                thread.start()
            time.sleep(rng.uniform(0, 0.6))
        process.send_signal(signal.SIGKILL)
        process.wait()
        for thread in threads:
            thread.join(30)
        process.stderr.close()
        rows = log_of(path)
        for hand in hands:
            before = len(hand.saved)
            hand.compare([(*row[1:5], row[1] != "undo" and row[5] is not None) for row in rows if row[6] == hand.name])
            on_its_way += len(hand.saved) - before
    session_rows = sum(len(hand.saved) for hand in hands)
    assert session_rows == len(rows)
    revisions = sum(row[4] for hand in hands for row in hand.saved)
    found = candidates(fm.read_runs(str(tmp_path / "demo" / "runs")), 100, "trec", "float32")
    log = Log.open(path)
    session = Session.resume(log, log.settings(), found, None)
    assert {(event.topic, event.document): event.grade for event in session.state.grades} == counting(rows)
    session.close()
    print(
        f"{KILLS} kills ({early} while starting), {len(rows)} events, {revisions} revisions, {on_its_way} on their way"
    )
    assert revisions or KILLS < 5
