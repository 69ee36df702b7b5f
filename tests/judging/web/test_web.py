"""The judging page without a browser: sessions with several assessors, the desk, and what the server refuses."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

import fathoms as fm
from fathoms.base.errors import FathomsError, InputError
from fathoms.cli.app import main
from fathoms.data.texts import Entry
from fathoms.evidence.candidates import Candidates, candidates
from fathoms.judging.agreement import Rating, kappa
from fathoms.judging.engine import Engine
from fathoms.judging.events import JudgingSettings
from fathoms.judging.export import judgments, provenance
from fathoms.judging.log import Log, Point
from fathoms.judging.select import STRATEGIES
from fathoms.judging.session import Session
from fathoms.judging.session_file import LogError
from fathoms.judging.web.access import Address
from fathoms.judging.web.overview import SHOWN, thinned
from fathoms.judging.web.server import LARGEST_REQUEST, LONGEST_TEXT, PAGES, Page, PageOptions
from fathoms.judging.web.service import JudgingService, Refused, name_of

DOCUMENTS = [f"d{i:02}" for i in range(12)]
RUNS = {
    "up": {"1": {name: float(i) for i, name in enumerate(DOCUMENTS)}},
    "down": {"1": {name: float(-i) for i, name in enumerate(DOCUMENTS)}},
    "odd": {"1": {name: float(i * 7 % 12) for i, name in enumerate(DOCUMENTS)}},
}
NEVER = 0.999999999
EVIL = "<script>document.title='owned'</script><img src=x onerror=alert(1)> & dams"


def small() -> Candidates:
    return candidates(fm.read_runs(RUNS), 100, "trec", "float32")


def begin(path: Path, **how: Any) -> Session:
    return Session.begin(path, JudgingSettings(**{"until": NEVER, "max_grade": 2, **how}), small(), None)


def resume(path: Path) -> Session:
    log = Log.open(path)
    return Session.resume(log, log.settings(), small(), None)


# -- two grades ---------------------------------------------------------------------------------------------------


def slow_kappa(ratings: list[Rating]) -> float | None:
    """By the definition, for two people."""
    grades = {grade for pair in ratings for _, grade in pair}
    one, other = sorted({who for pair in ratings for who, _ in pair})
    table = [dict(pair) for pair in ratings]
    n = len(table)
    agree = sum(row[one] == row[other] for row in table) / n
    chance = sum(
        sum(row[one] == grade for row in table) / n * sum(row[other] == grade for row in table) / n for grade in grades
    )
    return None if abs(1 - chance) < 1e-12 else (agree - chance) / (1 - chance)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans()), min_size=1, max_size=30))
def test_kappa_of_two_people(grades: list[tuple[int, int, bool]]) -> None:
    ratings: list[Rating] = [
        ((("ann", a), ("bob", b)) if straight else (("bob", b), ("ann", a))) for a, b, straight in grades
    ]
    expected = slow_kappa(ratings)
    assert kappa(ratings) == (expected if expected is None else pytest.approx(expected, abs=1e-12))


def test_kappa_of_more_people() -> None:
    assert kappa([]) is None
    ann_bob: list[Rating] = [(("ann", a), ("bob", b)) for a, b in [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10]
    ann_bob += [(("ann", 0), ("bob", 0))] * 15
    assert kappa(ann_bob) == pytest.approx(0.4)  # 0.7 agree, 0.5 by chance
    # Two more who always agree, on one grade in four: 0.25 * 0.25 + 0.75 * 0.75 = 0.625 by chance.
    eve_joe: list[Rating] = [(("eve", int(i == 0)), ("joe", int(i == 0))) for i in range(4)]
    pooled = (50 * (0.7 - 0.5) + 4 * (1 - 0.625)) / (50 * (1 - 0.5) + 4 * (1 - 0.625))
    assert kappa(ann_bob + eve_joe) == pytest.approx(pooled)


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["grade", "grade", "grade", "skip", "undo", "settle", "revise", "revise"]),
        st.integers(0, 3),
        st.integers(0, 2),
        st.sampled_from(["ann", "bob", "cleo"]),
    ),
    max_size=30,
)


class Stands:
    """An answer in a plain list: what it is about, and the grades it had, each with the moment it was given."""

    def __init__(self, kind: str, document: str, who: str, moment: int, grade: int | None) -> None:
        self.kind, self.document, self.who, self.versions = kind, document, who, [(moment, grade)]

    @property
    def grade(self) -> int | None:
        return self.versions[-1][1]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=ACTIONS)
def test_two_grades_against_a_plain_model(
    actions: list[tuple[str, int, int, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Every document goes to two people, who revise and take back; the log is folded by a list and loops."""
    path = tmp_path_factory.mktemp("session") / "s.db"
    now = begin(path, judge_twice=1.0, rel=2)
    stands: list[Stands] = []

    def of(document: str, *kinds: str) -> list[Stands]:
        return [one for one in stands if one.document == document and one.kind in kinds]

    written = 0
    for moment, (kind, number, grade, who) in enumerate(actions):
        document = DOCUMENTS[number]
        grades = of(document, "grade")
        judged = of(document, "grade", "final")
        later = stands[stands.index(grades[-1]) :] if grades else []
        wants_second = len(judged) == 1 and judged == grades and grades[0].who != who
        wants_second = wants_second and not any(one.kind == "skip" and one.document == document for one in later)
        if kind == "undo":
            mine = [one for one in stands if one.who == who]
            back = now.undo(who)
            assert (back is not None) == bool(mine)
            if mine:
                written += 1
                last = max(mine, key=lambda one: one.versions[-1][0])
                last.versions.pop()
                if not last.versions:
                    stands.remove(last)
            continue
        own = [one for one in grades if one.who == who]
        skipped = of(document, "skip")
        kind_written = {"settle": "final", "revise": "grade"}.get(kind, kind)
        if kind == "settle":
            finals = of(document, "final")
            differ = len(grades) == 2 and grades[0].grade != grades[1].grade
            overruled = len(grades) == 2 and bool(finals) and finals[-1].grade != grades[0].grade
            allowed = differ or overruled
        elif kind == "skip":
            allowed = (not judged or wants_second) and not skipped
        elif kind == "revise":
            allowed = own[0].grade != grade if own else not judged and bool(skipped) and skipped[-1].who == who
        else:
            allowed = not judged or wants_second
        act: Callable[[], Any] = {
            "settle": lambda: now.settle("1", document, grade, who),  # noqa: B023
            "skip": lambda: now.skip("1", document, who),  # noqa: B023
            "grade": lambda: now.grade("1", document, grade, who),  # noqa: B023
            "revise": lambda: now.revise("1", document, grade, who),  # noqa: B023
        }[kind]
        if not allowed:
            with pytest.raises(FathomsError):
                act()
            continue
        act()
        written += 1
        if kind == "revise" and own:
            own[0].versions.append((moment, grade))
        else:
            stands.append(Stands(kind_written, document, who, moment, None if kind == "skip" else grade))
    counting = {}
    for document in dict.fromkeys(one.document for one in stands if one.kind != "skip"):
        judged = of(document, "grade", "final")
        counting[document] = judged[-1].grade if judged[-1].kind == "final" else judged[0].grade
    expected = now.engine.confidence().tolist()
    now.close()
    again = resume(path)
    assert len(again.log.events()) == written  # nothing of it is lost
    for one in (now, again):
        assert {event.document: event.grade for event in one.state.grades} == counting
        assert list({event.document: None for event in one.state.grades}) == list(counting)
        assert one.documents.judgments(one.state) == [(DOCUMENTS.index(d), g) for d, g in counting.items()]
        assert [[old.grade for old in one.state.revised(event)] for event in one.state.standing] == [
            [grade for _, grade in other.versions[:-1]] for other in stands
        ]
    assert again.engine.confidence().tolist() == expected
    assert judgments(again).to_text() == "".join(f"1 0 {d} {g}\n" for d, g in counting.items())
    again.close()
    told = begin(path.with_name("told.db"), rel=2)  # of the final grades alone
    for document, final in counting.items():
        told.grade("1", document, final or 0, "x")
    assert told.engine.confidence().tolist() == expected
    told.close()


def test_a_share_of_documents_is_for_two(tmp_path: Path) -> None:
    with pytest.raises(FathomsError, match="share judged twice must be from 0 to 1"):
        JudgingSettings(judge_twice=1.5)
    chosen = {}
    for seed in (0, 1):
        now = begin(tmp_path / f"{seed}.db", judge_twice=0.3, seed=seed)
        chosen[seed] = {i for i in range(10_000) if now.state.is_for_two("1", f"d{i}")}
        assert 2_850 < len(chosen[seed]) < 3_150  # 3 standard deviations
        now.close()
    assert chosen[0] != chosen[1]
    none = begin(tmp_path / "none.db")
    assert not any(none.state.is_for_two("1", name) for name in DOCUMENTS)


def test_second_grades_come_first_and_from_others(tmp_path: Path) -> None:
    now = begin(tmp_path / "s.db", judge_twice=1.0)
    first = now.next("ann")
    assert first is not None
    now.grade("1", first.document, 2, "ann", "sure")
    assert now.state.waiting("ann") == []
    assert now.next("bob") == first
    assert now.next() != first
    with pytest.raises(FathomsError, match="has grade 2 already, from ann"):
        now.grade("1", first.document, 1, "ann")
    now.grade("1", first.document, 0, "bob")
    kappa_of_both = now.kappa()
    assert kappa_of_both is not None
    assert kappa_of_both.kappa == 0.0  # never alike, and by their grades never to be expected so
    assert len(now.state.disagreements) == 1
    assert now.state.grades[0].grade == 2
    with pytest.raises(FathomsError, match="expected a grade from 0 to 2"):
        now.settle("1", first.document, 3, "eve")
    now.settle("1", first.document, 1, "eve")
    assert [event.grade for event in now.state.grades] == [1]
    rows = [row[2:4] + row[6:7] for row in provenance(now)]
    assert rows == [("2", "ann", "first"), ("0", "bob", "second"), ("1", "eve", "final")]
    assert now.undo("eve") is not None
    assert [event.grade for event in now.state.grades] == [2]


# -- the desk -----------------------------------------------------------------------------------------------------


class Clock:
    """Time that stands still unless told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Place:
    """A desk over a small session, and the clock it goes by."""

    def __init__(self, path: Path, lease: float = 60.0, budget: int | None = None, **how: Any) -> None:
        self.clock = Clock()
        self.session = begin(path, **how)
        self.service = JudgingService(self.session, lease=lease, budget=budget, clock=self.clock)
        self.service.start()

    def do(self, work: Callable[..., Any], *args: Any) -> Any:
        result = self.service.submit(work, *args).result(10)
        self.service.fresh().result(10)
        return result

    def take(self, name: str) -> str | None:
        task = self.do(self.service.take, name) or self.do(self.service.take, name)
        return None if task is None else task.document

    def grade(self, name: str, document: str, grade: int = 0) -> None:
        self.do(self.service.grade, name, "1", document, grade, "")

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.do(self.service.state))
        return found

    def close(self) -> None:
        self.service.close()
        self.session.close()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Callable[..., Place]]:
    made: list[Place] = []

    def make(**how: Any) -> Place:
        made.append(Place(tmp_path / f"{len(made)}.db", **how))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_document_is_with_one_person_at_a_time(place: Callable[..., Place]) -> None:
    here = place()
    people = [f"p{i}" for i in range(len(DOCUMENTS))]
    held = {name: here.take(name) for name in people}
    assert sorted(filter(None, held.values())) == DOCUMENTS
    assert here.take("late") is None
    assert {name: here.take(name) for name in people} == held  # who asks again gets the same
    here.grade("p3", held["p3"] or "")
    assert here.take("p3") is None
    here.clock.now = 61
    assert here.take("late") in set(held.values()) - {held["p3"]}


def test_many_pairs_are_all_counted(tmp_path: Path) -> None:
    collection = fm.simulate(systems=30, n_topics=3, n_docs=100, depth=10, max_grade=1)
    found = candidates(fm.read_runs(collection.runs), 10, "trec", "float32")
    session = Session.begin(tmp_path / "s.db", JudgingSettings(until=NEVER), found, None)
    desk = JudgingService(session)
    desk.start()
    desk.fresh().result(10)
    now = json.loads(desk.submit(desk.state).result(10))
    desk.close()
    assert (now["pairs"], now["settled"]) == (435, session.progress().settled)
    assert now["settled"] < 435 - SHOWN
    session.close()


def test_a_queue_is_what_next_would_name() -> None:
    collection = fm.simulate(systems=4, n_topics=6, n_docs=200, depth=20, max_grade=1)
    found = candidates(fm.read_runs(collection.runs), 20, "trec", "float32")
    relevant = found.judged_by(fm.read_qrels(collection.truth))[1]
    for strategy in STRATEGIES:
        engine = Engine(found, strategy)
        for _ in range(12):
            named: list[int] = [3, 5]
            while len(named) < 27 and (index := engine.next(skip=named)) is not None:
                named.append(index)
            assert engine.queue(25, skip=[3, 5]) == named[2:]
            engine.judge(named[2], bool(relevant[named[2]]))
        assert engine.queue(0) == []
        assert sorted(engine.queue(10**6)) == sorted(set(range(len(found))) - set(engine._known))


def test_one_person_gets_what_the_terminal_would_show(place: Callable[..., Place], tmp_path: Path) -> None:
    here = place()
    alone = begin(tmp_path / "alone.db")
    for i in range(9):  # up to the first fit
        task = alone.next("ann")
        assert task is not None
        assert here.take("ann") == task.document
        here.grade("ann", task.document, i % 3)
        alone.grade("1", task.document, i % 3, "ann")


def test_answers_without_a_lease(place: Callable[..., Place]) -> None:
    here = place()
    mine, other = here.take("ann") or "", here.take("bob") or ""
    for name, document, message in (
        ("ann", other, "is with somebody else now"),
        ("ann", "d99", "is in no run's top 100"),
        ("eve", DOCUMENTS[-1] if DOCUMENTS[-1] not in (mine, other) else "d05", "is no longer assigned to you"),
    ):
        with pytest.raises(FathomsError, match=message):
            here.grade(name, document)
        with pytest.raises(FathomsError, match=message):
            here.do(here.service.skip, name, "1", document, "")
    here.clock.now = 59
    here.do(here.service.keep, "bob")
    assert here.session.log.events() == []
    here.clock.now = 61
    here.grade("bob", other)  # who gave a sign of life kept it
    here.grade("ann", mine)  # nobody else took it, late as it is
    assert here.state()["judged"] == 2


def test_a_late_answer_counts_unless_somebody_else_has_the_document(place: Callable[..., Place]) -> None:
    here = place()
    mine = here.take("ann") or ""
    here.clock.now = 61
    here.do(here.service.keep, "ann")  # late, and it is hers again
    assert mine not in {here.take(f"p{i}") for i in range(len(DOCUMENTS))}
    here.clock.now = 200
    while mine not in (took := {name: here.take(name) for name in ("bob", "cleo", "dan")}).values():
        for name, document in took.items():
            here.grade(name, document or "")
    with pytest.raises(Refused, match=r"is with somebody else now; your answer was not saved"):
        here.grade("ann", mine)
    here.do(here.service.keep, "ann")  # takes nothing from anybody
    holder = next(name for name, document in took.items() if document == mine)
    here.grade(holder, mine)
    for late in (lambda: here.grade("ann", mine), lambda: here.do(here.service.skip, "ann", "1", mine, "")):
        with pytest.raises(Refused, match=r"somebody else has judged topic 1, document .* in the meantime"):
            late()


def test_the_desk_takes_back(place: Callable[..., Place]) -> None:
    here = place(judge_twice=1.0)
    with pytest.raises(Refused, match="there is no answer of ann to take back"):
        here.do(here.service.undo, "ann")
    first = here.take("ann") or ""
    here.grade("ann", first, 2)
    assert here.take("bob") == first  # for the second grade
    here.do(here.service.undo, "ann")
    assert here.take("ann") != first  # which is in bob's hands, and will be the first
    here.grade("bob", first, 1)
    here.do(here.service.undo, "bob")
    assert here.take("bob") == first
    assert here.state()["judged"] == 0


def test_state(place: Callable[..., Place]) -> None:
    here = place(judge_twice=1.0, until=0.95)
    first = here.take("ann") or ""
    here.grade("ann", first, 2)
    here.take("bob")
    here.grade("bob", first, 1)
    second = here.take("ann") or ""
    here.do(here.service.skip, "ann", "1", second, "torn")
    now = here.state()
    assert (now["judged"], now["relevant"], now["skipped"], now["twice"], now["agreed"]) == (1, 1, 1, 1, 0)
    assert now["kappa"] == 0.0
    progress = here.session.progress()
    assert (now["pairs"], now["settled"]) == (progress.pairs, progress.settled)
    assert tuple(now["weakest"]) == progress.weakest
    assert [one["name"] for one in now["assessors"]] == ["ann", "bob"]
    assert [one["judged"] for one in now["assessors"]] == [1, 1]
    assert now["disagreements"] == [
        {"topic": "1", "document": first, "grades": [["ann", 2, ""], ["bob", 1, ""]], "final": None}
    ]
    names = [one["name"] for one in now["runs"]]
    assert sorted(names) == ["down", "odd", "up"]
    sure = here.session.engine.confidence()
    order = [here.session.documents.candidates.names.index(name) for name in names]
    for i, j in itertools.permutations(range(3), 2):
        assert now["confidence"][i][j] == pytest.approx(sure[order[i], order[j]])
    assert [now["confidence"][i][i] for i in range(3)] == [None] * 3
    assert now["trace"][-1][0] == 1
    here.do(here.service.settle, "eve", "1", first, 0)
    assert here.state()["relevant"] == 0
    assert here.state()["disagreements"][0]["final"] == ["eve", 0]


def test_the_end_by_budget_and_by_nothing_left(place: Callable[..., Place]) -> None:
    here = place(budget=3)
    for _ in range(2):
        here.grade("ann", here.take("ann") or "")
    last = here.take("ann") or ""
    assert here.take("bob") is None  # with what ann has in hand, the budget is used up
    here.grade("ann", last)
    assert here.take("ann") is None
    assert here.state()["ended"] == "The budget of 3 judgments is used up."
    whole = place()
    for _ in DOCUMENTS:
        whole.grade("ann", whole.take("ann") or "", 1)
    assert whole.take("ann") is None
    assert whole.state()["ended"] in (
        "There is nothing left to judge.",
        f"Every pair is settled at {NEVER:g}; --resume with a greater --confidence goes on.",
    )


def test_a_full_disk_saves_none_of_a_batch_and_says_so(place: Callable[..., Place]) -> None:
    here = place()
    mine, other = here.take("ann") or "", here.take("bob") or ""
    connection = here.session.log._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    answers: list[Future[Any]] = []

    def both() -> None:  # so that the two are served together
        answers.append(here.service.submit(here.service.grade, "ann", "1", mine, 1, "short"))
        answers.append(here.service.submit(here.service.grade, "bob", "1", other, 1, "x" * 100_000))

    here.do(both)
    for answer in answers:
        with pytest.raises(InputError, match="not saved"):
            answer.result(10)
    assert here.session.log.events() == here.session.state.grades == []
    connection.execute("PRAGMA max_page_count = 100000")
    here.grade("ann", mine)  # it is still theirs
    here.grade("bob", other)
    assert [event.document for event in here.session.log.events()] == [mine, other]


def test_the_curve_is_there_after_a_restart(tmp_path: Path) -> None:
    here = Place(tmp_path / "s.db")
    for i in range(5):
        here.grade("ann", here.take("ann") or "", i % 2)
    before = here.state()["trace"]
    here.close()
    assert [point[0] for point in before] == list(range(6))
    session = resume(tmp_path / "s.db")
    assert [[point.judged, point.least, point.settled] for point in session.log.marks()] == before
    session.close()
    points = [Point(i, i, 0, 0.5) for i in range(SHOWN * 3 + 1)]
    assert len(thinned(points)) <= SHOWN
    assert thinned(points)[-1] == points[-1]


def test_names() -> None:
    assert name_of(" Ann\tB.\n") == "Ann B."
    for bad in ("", " ", "\x00", "x" * 61, 3, None):
        with pytest.raises(FathomsError, match="expected a name of 1 to 60 characters"):
            name_of(bad)


# -- the server ---------------------------------------------------------------------------------------------------

TOKEN = "token-for-these-tests"
ADDRESS = Address(token=TOKEN)
BASE = f"http://127.0.0.1:{ADDRESS.port}"


class Words:
    """Texts of some documents."""

    def __init__(self, entries: dict[str, Entry]) -> None:
        self.entries = entries

    def get(self, name: str) -> Entry | None:
        return self.entries.get(name)

    def __len__(self) -> int:
        return len(self.entries)


TOPICS = Words({"1": Entry("Dams and <b>fish</b>", ("What do they do?", "Only rivers."))})
TEXTS = Words({name: Entry("", (EVIL,)) for name in DOCUMENTS[:6]} | {"d06": Entry("t", ("x" * (LONGEST_TEXT + 5),))})


def enter(client: httpx.Client, token: str, page: str = "judge", base: str = "") -> httpx.Response:
    """As the entrance does it."""
    return client.post(f"{base}/api/enter", json={"page": page, "token": token})


class Site:
    """A page over a small session, with browsers that have opened it: an assessor's, the organiser's, a stranger's."""

    def __init__(self, here: Place, options: PageOptions | None = None) -> None:
        self.here = here
        app = Page(here.service, TOPICS, TEXTS, ADDRESS, options).app()
        self.client, self.organiser, self.stranger = (
            TestClient(app, base_url=BASE, headers={"Origin": BASE}) for _ in range(3)
        )
        assert enter(self.client, TOKEN).status_code == 200
        assert enter(self.organiser, ADDRESS.organiser_token, "organise").status_code == 200

    def post(self, path: str, **body: Any) -> httpx.Response:
        return self.client.post(f"/api/{path}", json=body)

    def next(self, name: str) -> dict[str, Any]:
        document: dict[str, Any] = self.post("next", name=name).json()["document"]
        return document

    def untouched(self) -> bool:
        return not self.here.session.log.events()


@pytest.fixture
def site(place: Callable[..., Place]) -> Site:
    return Site(place())


def answer(task: dict[str, Any], name: str = "ann", **more: Any) -> dict[str, Any]:
    """A grade for a document at hand."""
    about = {"topic": task["topic"]["id"], "document": task["document"]["id"]}
    return {"name": name, **about, "grade": 1, "note": "", **more}


def test_a_judge_at_work(site: Site) -> None:
    task = site.next("ann")
    done = site.post("grade", **answer(task, grade=2, note="well\tdone"))
    assert done.status_code == 200
    following = done.json()["document"]
    assert following["document"]["id"] != task["document"]["id"]
    assert done.json()["state"]["judged"] == 1
    skipped = {name: value for name, value in answer(following, note="torn").items() if name != "grade"}
    after = site.post("skip", **skipped).json()
    assert after["state"]["skipped"] == 1
    back = site.post("undo", name="ann").json()
    assert back["document"] == following
    assert site.organiser.get("/qrels.txt").text == f"1 0 {task['document']['id']} 2\n"
    table = site.organiser.get("/provenance.tsv")
    assert table.headers["content-disposition"] == 'attachment; filename="qrels.txt.provenance.tsv"'
    row = table.text.splitlines()[1].split("\t")
    assert row[:4] + row[5:] == ["1", task["document"]["id"], "2", "ann", "well done", "first", ""]
    event = site.here.session.log.events()[0]
    assert (event.assessor, event.grade, event.note) == ("ann", 2, "well done")


def test_texts_leave_as_text(site: Site) -> None:
    shown = {}
    for i in range(len(DOCUMENTS)):
        response = site.post("next", name=f"p{i}")
        assert response.headers["content-type"] == "application/json"
        task = response.json()["document"]
        shown[task["document"]["id"]] = task["document"]
        assert task["topic"]["title"] == ["Dams and <b>fish</b>"]
        assert task["topic"]["body"] == [["What do they do?"], ["Only rivers."]]
    assert shown["d00"]["body"] == [[EVIL.removesuffix("dams"), "dams", ""]]
    assert shown["d06"]["cut"] == 5
    assert len(shown["d06"]["body"][0][0]) == LONGEST_TEXT
    assert shown["d07"]["body"] is None
    again = site.post("text", topic="1", document="d00").json()
    assert again["document"] == shown["d00"]


def test_texts_that_cannot_be_read(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    class Torn(Words):
        def get(self, name: str) -> Entry | None:
            raise InputError("the compressed data is damaged", f"{name}.gz")

    app = Page(site.here.service, Torn({}), Torn({}), ADDRESS).app()
    client = TestClient(app, base_url=BASE, headers={"Authorization": f"Bearer {TOKEN}"})
    task = client.post("/api/next", json={"name": "ann"}).json()["document"]
    assert task["document"]["body"] is task["topic"]["body"] is None
    assert f"{task['document']['id']}.gz: the compressed data is damaged" in capsys.readouterr().err
    assert client.post("/api/grade", json=answer(task)).status_code == 200
    assert len(site.here.session.log.events()) == 1


def test_nobody_waits_any_more(place: Callable[..., Place]) -> None:
    here = place()
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        go_on.wait(10)

    here.service.submit(slow)
    begun.wait(10)
    gone = here.service.submit(here.service.take, "ann")
    assert gone.cancel()
    go_on.set()
    assert here.take("ann")  # the desk is still at work


def test_ids_that_are_no_utf8_come_back(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_bytes(b"t\xe9 Q0 d\xff 1 2 t\nt\xe9 Q0 e 2 1 t\n")
    (tmp_path / "b.run").write_bytes(b"t\xe9 Q0 e 1 2 t\nt\xe9 Q0 d\xff 2 1 t\n")
    found = candidates(fm.read_runs(str(tmp_path / "*.run")), None, "trec", "float32")
    session = Session.begin(tmp_path / "s.db", JudgingSettings(until=NEVER), found, None)
    desk = JudgingService(session)
    desk.start()
    client = TestClient(Page(desk, None, None, ADDRESS).app(), base_url=BASE)
    client.headers = httpx.Headers({"Authorization": f"Bearer {TOKEN}"})
    task = client.post("/api/next", json={"name": "ann"}).json()["document"]
    for _ in range(2):
        body = json.dumps(answer(task))
        headers = {"Content-Type": "application/json"}
        task = client.post("/api/grade", content=body, headers=headers).json()["document"]
    client.headers = httpx.Headers({"Authorization": f"Bearer {ADDRESS.organiser_token}"})
    assert sorted(client.get("/qrels.txt").content.splitlines()) == [b"t\xe9 0 d\xff 1", b"t\xe9 0 e 1"]
    desk.close()
    session.close()


def test_ids_with_blanks_leave_as_csv(tmp_path: Path) -> None:
    """TREC's lines cannot hold them, so the link for the judgments gives a file that can."""
    runs = {name: fm.read_run({"star wars": {"a b": 2.0 - i, 'c "d", e': 1.0 + i}}) for i, name in enumerate("ab")}
    found = candidates(runs, None, "trec", "float32")
    session = Session.begin(tmp_path / "s.db", JudgingSettings(until=NEVER), found, None)
    desk = JudgingService(session)
    desk.start()
    client = TestClient(Page(desk, None, None, ADDRESS).app(), base_url=BASE)
    client.headers = httpx.Headers({"Authorization": f"Bearer {TOKEN}"})
    task = client.post("/api/next", json={"name": "ann"}).json()["document"]
    for _ in range(2):
        task = client.post("/api/grade", json=answer(task)).json()["document"]
    client.headers = httpx.Headers({"Authorization": f"Bearer {ADDRESS.organiser_token}"})
    told = client.get("/qrels.txt")
    assert told.headers["content-disposition"] == 'attachment; filename="qrels.csv"'
    (tmp_path / "qrels.csv").write_bytes(told.content)
    assert fm.read_qrels(tmp_path / "qrels.csv").to_dict() == {"star wars": {"a b": 1, 'c "d", e': 1}}
    rows = csv.DictReader(io.StringIO(client.get("/provenance.tsv").text, newline=""), delimiter="\t")
    assert {(row["topic"], row["document"]) for row in rows} == {("star wars", "a b"), ("star wars", 'c "d", e')}
    desk.close()
    session.close()


EXPORTS = ("/qrels.txt", "/provenance.tsv")
CHANGES = ("next", "grade", "skip", "undo", "revise", "history", "settle", "keep", "text")


@pytest.fixture
def no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """On wrong tokens."""
    for name in ("WRONG_OF_ONE", "WRONG_OF_ALL"):
        monkeypatch.setattr(f"fathoms.judging.web.limits.{name}", 10**6)


@pytest.mark.usefixtures("no_limit")
def test_wrong_tokens(site: Site) -> None:
    task = site.next("ann")
    outside = site.stranger
    for path in ("/", "/organise"):
        entrance = outside.get(path)
        assert (entrance.status_code, "entrance.js" in entrance.text) == (401, True)
        assert outside.get(path, params={"token": "wrong"}).status_code == 401
        assert outside.get(path, headers={"Authorization": "Bearer wrong"}).status_code == 401
    for page in ("judge", "organise"):
        refused = enter(outside, "wrong", page)
        assert (refused.status_code, "set-cookie" in refused.headers) == (401, False)
        assert "Ask whoever organises the judging for a new one" in refused.json()["error"]
    for path in ("/api/about", "/api/state", "/api/organise", "/api/judgments", *EXPORTS):
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}):
            response = outside.get(path, headers=headers)
            assert response.status_code == 401, path
            valid = "not valid" if "wrong" in str(headers) else "#token="
            assert valid in response.json()["error"]
    for path in CHANGES:
        outside.cookies.set("fathoms-judge-8417", "wrong")
        refused = outside.post(f"/api/{path}", json=answer(task))
        assert (refused.status_code, "This link no longer works." in refused.text) == (401, True)
    assert site.untouched()


@pytest.mark.usefixtures("no_limit")
def test_who_organises_does_not_judge_and_who_judges_does_not_organise(site: Site) -> None:
    task = site.next("ann")
    organiser = site.stranger
    assert enter(organiser, ADDRESS.organiser_token).status_code == 401
    assert enter(organiser, TOKEN, "organise").status_code == 401
    opened = organiser.get("/organise", params={"token": ADDRESS.organiser_token}, follow_redirects=False)
    assert (opened.status_code, opened.headers["location"]) == (303, "organise")
    for path in ("/organise", "/api/about", "/api/organise", "/api/judgments", *EXPORTS):
        assert organiser.get(path).status_code == 200
    for path in ("/", "/api/state"):
        assert organiser.get(path).status_code == 401
    for path in CHANGES:
        if path not in ("settle", "text"):
            assert organiser.post(f"/api/{path}", json=answer(task)).status_code == 401
    for path in ("/api/organise", "/api/judgments", *EXPORTS):
        refused = site.client.get(path)
        assert refused.status_code == 403
        assert "for whoever organises" in refused.json()["error"]
    assert site.client.get("/organise").status_code == 401
    about = {"topic": "1", "document": task["document"]["id"], "grade": 1, "name": "ann"}
    assert site.post("settle", **about).status_code == 403
    assert ADDRESS.organiser_token != Address(token=TOKEN).organiser_token  # it does not follow from the other
    with pytest.raises(FathomsError, match="must not be an assessor's"):
        Address(token=TOKEN, organiser_token=TOKEN)
    assert site.untouched()


def test_links_of_before_lose_their_token_at_once(site: Site) -> None:
    response = site.stranger.get("/", params={"token": TOKEN}, follow_redirects=False)
    assert (response.status_code, response.headers["location"]) == (303, "./")
    assert site.stranger.get("/api/about").status_code == 200


def test_a_cookie_is_not_the_token(site: Site) -> None:
    response = enter(site.stranger, TOKEN)
    cookie = response.headers["set-cookie"]
    assert TOKEN not in cookie
    assert re.match(r"fathoms-judge-8417=[0-9a-f]{64}; HttpOnly; Path=/; SameSite=lax$", cookie)
    value = cookie.partition(";")[0].partition("=")[2]
    same, withdrawn = (Address(token=token, cookie_key=ADDRESS.cookie_key) for token in (TOKEN, f"{TOKEN}-2"))
    assert same.by_cookie("judge", value) is not None  # after a restart
    assert same.by_cookie("organise", value) is None
    assert withdrawn.by_cookie("judge", value) is None
    assert Address(token=TOKEN).by_cookie("judge", value) is None  # another session
    site.stranger.cookies.clear()
    site.stranger.cookies.set("fathoms-judge-8417", TOKEN)
    assert site.stranger.get("/api/about").status_code == 401


def test_every_answer_has_the_headers(site: Site) -> None:
    for path in ("/", *PAGES, "/api/state", "/none", "/api/grade", "/api/organise"):
        headers = site.client.get(path).headers
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "*" not in policy


def test_the_page_asks_nobody_else(site: Site) -> None:
    for path in ("/", "/organise", *(path for path in PAGES if path != "/icon.svg")):
        text = (site.organiser if path == "/organise" else site.client).get(path).text
        addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"']*", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}, path  # a name, not a place
    for html in (site.client.get("/").text, site.organiser.get("/organise").text):
        assert not re.search(r"<script(?![^>]*\bsrc=)|\bon\w+\s*=|\bstyle\s*=|javascript:", html)
        assert not re.search(r"(?:href|src)=\"[/\w]*:?/", html)  # relative, so that any path will do


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8417",
        "127.0.0.1:9",
        "127.0.0.1",
        "localhost.evil.example:8417",
        "",
        "[",
        "a:b",
        "127.0.0.1:8417?x",
        "a@127.0.0.1:8417",
        "127.0.0.1:98417",
        "[::x]",
    ],
)
def test_wrong_hosts(site: Site, host: str) -> None:
    task = site.next("ann")
    headers = {"Host": host, "Origin": f"http://{host}"}
    for path in ("/", "/none", "/style.css/", "/api/grade"):  # be it an error
        assert site.client.get(path, headers=headers, follow_redirects=False).status_code == 421
    assert site.client.post("/api/grade", json=answer(task), headers=headers).status_code == 421
    assert site.untouched()


def test_which_hosts_are_ours() -> None:
    assert Address(token=TOKEN).knows("localhost")
    assert not Address(token=TOKEN).knows("192.168.1.5")
    assert Address(host="192.168.1.5", token=TOKEN).knows("192.168.1.5")
    everywhere = Address(host="0.0.0.0", token=TOKEN)
    assert everywhere.knows("10.0.0.7")
    assert everywhere.knows(socket.gethostname().lower())
    assert not everywhere.knows("evil.example")
    assert Address(host="::1", port=80, token=TOKEN).url().startswith("http://[::1]:80/#token=")
    assert len({Address().token for _ in range(10)}) == 10


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1:9",
        "http://127.0.0.1",
        "//",
        "http://[",
        "https://127.0.0.1:8417",
    ],
)
def test_forged_origins(site: Site, origin: str) -> None:
    task = site.next("ann")
    response = site.client.post("/api/grade", json=answer(task), headers={"Origin": origin})
    assert response.status_code == 403
    assert "are not accepted" in response.json()["error"]
    assert site.untouched()


def test_requests_without_an_origin(site: Site) -> None:
    task = site.next("ann")
    del site.client.headers["Origin"]
    assert site.post("grade", **answer(task)).status_code == 403  # a cookie alone may be another page's doing
    assert site.untouched()
    basic = {"Authorization": f"Basic {TOKEN}"}  # which a browser may send by itself
    assert site.client.post("/api/grade", json=answer(task), headers=basic).status_code == 403
    wrong = {"Authorization": "Bearer wrong"}  # with a good cookie
    assert site.client.post("/api/grade", json=answer(task), headers=wrong).status_code == 401
    assert site.untouched()
    headers = {"Authorization": f"Bearer {TOKEN}"}  # which no other page can know
    assert site.client.post("/api/grade", json=answer(task), headers=headers).status_code == 200


def test_bad_bodies(site: Site) -> None:
    task = site.next("ann")
    good = answer(task)
    bodies: list[tuple[Any, int, str]] = [
        (b"", 400, "not JSON"),
        (b"{", 400, "not JSON"),
        (b"[" * 20_000, 400, "not JSON"),
        (b"\xff", 400, "not JSON"),
        ([], 400, "expected an object with the fields name, topic, document, grade, note"),
        ({}, 400, "expected an object"),
        (good | {"more": 1}, 400, "expected an object"),
        (good | {"name": ""}, 400, "expected a name"),
        (good | {"name": ["ann"]}, 400, "expected name to be of type str"),
        (good | {"grade": 3}, 400, "expected a grade from 0 to 2, found 3"),
        (good | {"grade": -1}, 400, "expected a grade from 0 to 2, found -1"),
        (good | {"grade": 1.0}, 400, "expected grade to be of type int"),
        (good | {"grade": True}, 400, "expected grade to be of type int"),
        (good | {"grade": "1"}, 400, "expected grade to be of type int"),
        (good | {"grade": 10**30}, 400, "expected a grade"),
        (good | {"note": "x" * 3000}, 400, "expected a note of at most 2,000 characters"),
        (good | {"note": "x" * LARGEST_REQUEST}, 413, "expected a request of at most 32,768 bytes"),
        (good | {"topic": "2"}, 400, "is in no run's top 100"),
        (good | {"document": "d99"}, 400, "is in no run's top 100"),
        (good | {"document": ""}, 400, "is in no run's top 100"),
        (good | {"document": "d\0"}, 400, "is in no run's top 100"),
        (good | {"document": "../../etc/passwd"}, 400, "is in no run's top 100"),
        (good | {"document": "%2e%2e/d00"}, 400, "is in no run's top 100"),
        (good | {"document": "d00\n"}, 400, "is in no run's top 100"),
        (good | {"name": "bob"}, 409, "is with somebody else now"),
    ]
    for body, status, message in bodies:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        response = site.client.post("/api/grade", content=raw, headers={"Content-Type": "application/json"})
        assert response.status_code == status, body
        assert message in response.json()["error"]
        assert site.untouched()
    form = site.client.post("/api/grade", data=good)
    assert (form.status_code, site.untouched()) == (415, True)
    for path in ("/../../etc/passwd", "/%2e%2e/server.py", "/server.py", "/judge.html", "/static/../server.py", "/api"):
        assert site.client.get(path).status_code == 404
    assert site.client.get("/api/grade").status_code == 405
    assert site.post("grade", **good).status_code == 200  # after all that, it is still ann's


def test_origins_behind_a_proxy() -> None:
    for public in ("https://ex.org/j", "https://EX.org:443/j"):
        address = Address(token=TOKEN, public=public)
        for host in ("ex.org", "ex.org:443", "127.0.0.1:8417"):
            assert address.is_at(host)
            assert address.is_own("https://ex.org", host)
            assert not address.is_own("http://ex.org", host)
            assert not address.is_own("https://127.0.0.1:8417", host)
        assert address.is_own("http://127.0.0.1:8417", "127.0.0.1:8417")


def test_no_redirect_takes_a_token_elsewhere(place: Callable[..., Place]) -> None:
    address = Address(token=TOKEN, public="https://ex.org/j")
    client = TestClient(Page(place().service, None, None, address).app(), base_url="http://ex.org:443")
    for path in ("/j/organise/?token=X", "/j/style.css/", "/organise/"):
        found = client.get(path, headers={"Host": "ex.org"}, follow_redirects=False)
        assert (found.status_code, "location" in found.headers) == (404, False)


def test_a_key_is_for_one_answer(site: Site) -> None:
    key = "key-of-this-answer"
    task = site.next("ann")
    mine = answer(task, key=key)
    assert site.post("grade", **mine).status_code == 200
    assert site.post("grade", **mine).json()["already"] == {"kind": "grade", "grade": 1}
    for path, body in (
        ("undo", {"name": "ann", "key": key}),
        ("skip", {name: value for name, value in mine.items() if name != "grade"}),
        ("revise", mine),
    ):
        refused = site.post(path, **body)
        assert refused.status_code == 409, path
        assert "this key was already used for another answer" in refused.json()["error"]
    back = {"name": "ann", "key": "another-key-of-ann"}
    assert "already" not in site.post("undo", **back).json()
    assert site.post("undo", **back).json()["already"] == {"kind": "undo", "grade": None}
    refused = site.post("grade", **mine | {"grade": 0})  # the first does not stand any more
    assert refused.status_code == 409
    assert "a new answer needs a new key" in refused.json()["error"]
    assert site.post("grade", **mine | {"grade": 0, "key": "the-third-key-of-ann"}).status_code == 200
    assert [event.kind for event in site.here.session.log.events()] == ["grade", "undo", "grade"]


def test_assessors_hear_nothing_of_files_and_other_people(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    task = site.next("ann")
    taken = site.post("grade", **answer(task, name="bob"))
    assert (taken.status_code, "ann" in taken.text) == (409, False)

    def fail(*_: Any) -> None:
        raise LogError("cannot be written", "/secret/session.db")

    monkeypatch.setattr(site.here.service, "grade", fail)
    for _ in range(3):
        failed = site.post("grade", **answer(task))
        assert failed.status_code == 500
        assert failed.json()["error"].startswith("Nothing can be saved at the moment. Please tell whoever organises")
        assert "secret" not in failed.text
    assert capsys.readouterr().err == "fathoms: /secret/session.db: cannot be written\n"


def test_a_damaged_session_is_not_exported_twice(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Path] = []

    def fail(_: Session, path: Path) -> bytes:
        tried.append(path)
        raise LogError("is damaged", "s.db")

    monkeypatch.setattr("fathoms.judging.web.server.qrels_bytes", fail)
    assert site.organiser.get("/qrels.txt").status_code == 500
    assert tried == [Path("qrels.txt")]


def test_leases_over_the_wire(site: Site) -> None:
    mine, other = site.next("ann"), site.next("bob")
    assert mine["document"] != other["document"]
    refused = site.post("grade", **answer(other, name="ann"))
    assert refused.status_code == 409
    assert "is with somebody else now" in refused.json()["error"]
    assert site.untouched()
    site.here.clock.now = 61
    assert site.post("grade", **answer(mine)).status_code == 200  # late, and still hers
    twice = site.post("grade", **answer(mine))
    assert twice.status_code == 409
    assert len(site.here.session.log.events()) == 1
    assert site.post("undo", name="eve").status_code == 409


def test_settling_over_the_wire(place: Callable[..., Place]) -> None:
    site = Site(place(judge_twice=1.0))
    task = site.next("ann")
    site.post("grade", **answer(task, grade=0))
    about = {"topic": "1", "document": task["document"]["id"], "grade": 2, "name": "eve"}
    early = site.organiser.post("/api/settle", json=about)
    assert early.status_code == 400
    assert "has no two grades that differ" in early.json()["error"]
    assert site.next("bob") == task
    site.post("grade", **answer(task, name="bob", grade=2))
    settled = site.organiser.post("/api/settle", json=about)
    assert settled.json()["state"]["disagreements"][0]["final"] == ["eve", 2]
    assert site.organiser.get("/qrels.txt").text.startswith(f"1 0 {task['document']['id']} 2\n")


# -- the command --------------------------------------------------------------------------------------------------


def test_bad_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("weak.txt").write_text("secret-word\n")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for words, message in (
            ((), "the arguments QRELS and RUN are missing"),
            (("none",), "the arguments QRELS and RUN are missing"),
            (("--demo", "--port", "1"), "--port is for the page; add --web"),
            (
                ("--demo", "d", "--web", "--host", "0.0.0.0"),
                "choose what opens the page with --token-file FILE or --assessors",
            ),
            (("--demo", "d", "--web", "--token", "short"), "--token: expected a token of 16 to 200 characters"),
            (("--demo", "d", "--web", "--token", "aaaabbbbaaaabbbb"), "could be guessed"),
            (("--demo", "d", "--web", "--token-file", "weak.txt"), "weak.txt: expected a token of 16 to 200"),
            (("--demo", "d", "--web", "--token-file", "none.txt"), "none.txt: no such file"),
            (("--demo", "d", "--web", "--token", "x", "--token-file", "y"), "do not go together"),
            (("--demo", "--token-file", "y"), "--token-file is for the page; add --web"),
            (("--demo", "d", "--web", "--oracle", "x"), "--oracle does not go with --web"),
            (("--demo", "d", "--web", "--port", port), f"cannot listen on 127.0.0.1, port {port}"),
            (
                ("--demo", "d", "--web", "--host", "no.such.name.invalid", "--token", TOKEN),
                "choose another with --host",
            ),
            (("--demo", "d", "--docs", "x"), "--demo brings runs and texts of its own; leave out --docs"),
            (("--demo", "d", "--judge-twice", "150%"), "expected a share such as 10% or 0.1, found '150%'"),
        ):
            Path("d/fathoms-judging.db").unlink(missing_ok=True)
            with pytest.raises(SystemExit) as exit:
                main(["judge", *words])
            assert exit.value.code == 2, words
            said = capsys.readouterr().err
            assert message in said
            assert "secret-word" not in said
    monkeypatch.setenv("FATHOMS_TOKEN", "secret-word")
    with pytest.raises(SystemExit):
        main(["judge", "--demo", "d", "--web"])
    said = capsys.readouterr().err
    assert "FATHOMS_TOKEN: expected a token of 16 to 200 characters" in said
    assert "secret-word" not in said
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        main(["judge", "--demo", "--web"])
    assert "install them with pip install 'fathoms[web]'" in capsys.readouterr().err


def test_the_demo_in_a_terminal(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "fathoms", "judge", "--demo"]
    done = subprocess.run(words, cwd=tmp_path, input="1\n0\nq\n", capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith("2 judged (1 relevant)")
    assert not list(tmp_path.iterdir())


def test_a_final_grade_taken_back_in_the_terminal(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "fathoms", "judge", "--demo", "demo", "--judge-twice", "100%", "--resume"]
    subprocess.run([word for word in words if word != "--resume"], cwd=tmp_path, input="", check=True, text=True)
    for name, grade in (("ann", "1\n"), ("bob", "0\n")):
        subprocess.run([*words, "--assessor", name], cwd=tmp_path, input=grade, check=True, text=True)
    folder = tmp_path / "demo"
    log = Log.open(folder / "fathoms-judging.db")
    found = candidates(fm.read_runs(str(folder / "runs")), 100, "trec", "float32")
    session = Session.resume(log, log.settings(), found, None)
    (one,) = session.state.disagreements
    session.settle(one.first.topic, one.first.document, 2, "eve")
    session.close()
    back = subprocess.run(
        [*words, "--assessor", "eve"], cwd=tmp_path, input="u\n1\n", capture_output=True, text=True, check=True
    )
    assert f"Taken back: topic {one.first.topic}, document {one.first.document}." in back.stderr
    assert back.stdout.startswith("2 judged (2 relevant)")


def test_the_whole_command(tmp_path: Path) -> None:
    """Begun, judged, stopped by Ctrl-C with an export, and resumed where it stood."""
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    words = [
        sys.executable,
        "-m",
        "fathoms",
        "judge",
        "--demo",
        "demo",
        "--web",
        "--port",
        "0",
        "--token-file",
        "token",
    ]
    documents: list[dict[str, Any]] = []
    for resumed in ([], ["--resume"]):
        server = subprocess.Popen(
            [*words, "--export", "q.txt", *resumed],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert server.stderr is not None
        heard = ""
        while "Ctrl-C" not in heard:
            heard += server.stderr.readline()
        found = re.search(r"judge at +http://127.0.0.1:(\d+)/#token=", heard)
        assert found, heard
        assert re.search(r"organise at +http://127.0.0.1:\d+/organise#token=[\w-]+\n", heard)

        def post(path: str, body: dict[str, Any], port: str = found[1]) -> dict[str, Any]:
            headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/api/{path}", json.dumps(body).encode(), headers, method="POST"
            )
            with urllib.request.urlopen(request, timeout=30) as response:
                answered: dict[str, Any] = json.load(response)
            return answered

        task = post("next", {"name": "ann"})["document"]
        assert not documents or task == documents[-1]
        task = post("grade", answer(task, grade=1))["document"]
        documents.append(task)
        server.send_signal(signal.SIGINT)
        out, _ = server.communicate(timeout=30)
        assert server.returncode == 0
        assert out.startswith(f"{len(documents)} judged ({len(documents)} relevant)")
        assert len((tmp_path / "q.txt").read_text().splitlines()) == len(documents)
    connection = sqlite3.connect(tmp_path / "demo" / "fathoms-judging.db")
    assert connection.execute("SELECT assessor, grade FROM event").fetchall() == [("ann", 1)] * 2
    connection.close()
