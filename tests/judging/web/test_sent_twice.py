"""Answers that are sent twice, servers that are killed while somebody has a document, files that go and come back."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from fathoms.judging.log import KeptLease
from fathoms.judging.web.service import JudgingService
from tests.judging.web.test_page import Command
from tests.judging.web.test_web import DOCUMENTS, TOKEN, Clock, Place, Site, answer, begin, place, resume

__all__ = ["place"]  # a fixture

KEYS = [f"key-of-an-answer-{i}" for i in range(9)]


def test_an_answer_that_is_sent_twice_is_saved_once(place: Callable[..., Place]) -> None:
    site = Site(place())
    first = site.next("ann")
    body = answer(first, grade=2) | {"key": KEYS[0]}
    done, again = site.post("grade", **body).json(), site.post("grade", **body).json()
    assert "already" not in done
    assert again["already"] == {"kind": "grade", "grade": 2}
    assert again["document"] == done["document"]
    assert (
        site.post("grade", **(body | {"grade": 1})).json()["already"]["grade"] == 2
    )  # what is saved, not what is sent
    second = {name: value for name, value in answer(done["document"]).items() if name != "grade"} | {"key": KEYS[1]}
    for is_again in (False, True):
        assert (site.post("skip", **second).json().get("already") == {"kind": "skip", "grade": None}) == is_again
    revision = body | {"grade": 0, "key": KEYS[2]}
    for is_again in (False, True):
        found = site.post("revise", **revision).json()
        assert (found.get("already"), found["state"]["judged"]) == (
            {"kind": "grade", "grade": 0} if is_again else None,
            1,
        )
    for is_again in (False, True):  # the revision is taken back, and not the skip before it
        assert ("already" in site.post("undo", name="ann", key=KEYS[3]).json()) == is_again
    assert [event.kind for event in site.here.session.log.events()] == ["grade", "skip", "grade", "undo"]
    assert [event.grade for event in site.here.session.state.grades] == [2]


def test_keys_of_others_and_bad_ones(place: Callable[..., Place]) -> None:
    site = Site(place(judge_twice=1.0))
    task = site.next("ann")
    assert site.post("grade", **answer(task, grade=0), key=KEYS[0]).status_code == 200
    assert site.next("bob") == task
    stolen = site.post("grade", **answer(task, name="bob"), key=KEYS[0])
    assert (stolen.status_code, "was already used for another answer" in stolen.json()["error"]) == (409, True)
    other = site.post("grade", **answer(site.next("ann")), key=KEYS[0])
    assert other.status_code == 409
    for bad in ("short", "x" * 65, "with blanks in between", 3, ["key-of-an-answer"]):
        refused = site.post("grade", **answer(task, name="bob"), key=bad)
        assert (refused.status_code, "expected a key of 16 to 64" in refused.json()["error"]) == (400, True)
    assert site.post("grade", **answer(task, name="bob", grade=2)).status_code == 200  # programs may do without
    settled = {"name": "eve", "topic": "1", "document": task["document"]["id"], "grade": 1, "key": KEYS[1]}
    for is_again in (False, True):
        found = site.organiser.post("/api/settle", json=settled).json()
        assert ("already" in found) == is_again
        assert found["state"]["disagreements"][0]["final"] == ["eve", 1]


def test_keys_survive_a_restart(tmp_path: Path) -> None:
    here = Place(tmp_path / "s.db")
    mine = here.take("ann") or ""
    here.do(here.service.grade, "ann", "1", mine, 2, "", KEYS[0])
    here.close()
    session = resume(tmp_path / "s.db")
    service = JudgingService(session)
    service.start()
    done = service.submit(service.grade, "ann", "1", mine, 2, "", KEYS[0]).result(10)
    assert (done.grade, len(session.log.events())) == (2, 1)
    service.close()
    session.close()


def test_leases_survive_a_restart(tmp_path: Path) -> None:
    here = Place(tmp_path / "s.db")
    mine, other = here.take("ann") or "", here.take("bob") or ""
    skipped = here.take("cleo") or ""
    here.do(here.service.skip, "cleo", "1", skipped, "")
    here.close()
    session = resume(tmp_path / "s.db")
    clock = Clock()
    service = JudgingService(session, lease=60, clock=clock)
    service.start()

    def take(name: str) -> str | None:
        service.fresh().result(10)
        task = service.submit(service.take, name).result(10)
        return None if task is None else str(task.document)

    others = {take(f"p{i}") for i in range(len(DOCUMENTS))}
    assert not others & {mine, other, skipped}
    assert (take("ann"), take("bob")) == (mine, other)
    clock.now = 61
    assert {take(f"q{i}") for i in range(len(DOCUMENTS))} >= {mine, other}  # time is up for all
    service.close()
    session.close()


def test_a_kept_lease_whose_document_is_gone_or_judged_is_left(tmp_path: Path) -> None:
    session = begin(tmp_path / "s.db")
    soon = time.time() + 30
    session.log.keep_leases(
        [
            KeptLease("ann", "1", "d99", soon),
            KeptLease("bob", "1", "d00", soon),
            KeptLease("cleo", "1", "d01", soon + 1e9),
        ]
    )
    session.grade("1", "d00", 1, "dan")
    clock = Clock()
    service = JudgingService(session, lease=60, clock=clock)
    service.start()
    assert {name: lease.document[1] for name, lease in session.state.leases.items()} == {"cleo": "d01"}
    clock.now = 61  # whatever the other clock said
    assert session.state.held(clock()) == {}
    service.close()
    session.close()


def test_a_sign_of_life_is_not_written_each_time(place: Callable[..., Place], monkeypatch: pytest.MonkeyPatch) -> None:
    here = place()
    here.take("ann")
    written = []
    monkeypatch.setattr(here.session.log, "keep_leases", lambda leases: written.append(list(leases)))
    for i in range(1, 13):
        here.clock.now = float(i)
        here.do(here.service.keep, "ann")
    assert len(written) == 2  # every tenth of the lease, which is 60 s


def test_the_file_goes_and_comes_back(place: Callable[..., Place], tmp_path: Path) -> None:
    site = Site(place())
    task = site.next("ann")
    path, away = Path(site.here.session.log.path), tmp_path / "away.db"
    path.rename(away)
    for _ in range(2):
        lost = site.post("grade", **answer(task), key=KEYS[0])
        assert lost.status_code == 500
        assert "Nothing can be saved at the moment" in lost.json()["error"]
    away.rename(path)
    done = site.post("grade", **answer(task), key=KEYS[0])
    assert (done.status_code, "already" in done.json()) == (200, False)
    assert [event.document for event in site.here.session.log.events()] == [task["document"]["id"]]


@pytest.mark.skipif(not Path("/proc").exists(), reason="kills as Linux does")
def test_killed_with_a_document_in_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOMS_TOKEN", TOKEN)
    held: dict[str, str] = {}
    for more in ([], ["--resume"]):
        server = Command(tmp_path, "--demo", "demo", *more)
        base, _, token = server.links["judge"].partition("/#token=")
        with httpx.Client(base_url=base, headers={"Authorization": f"Bearer {token}"}, timeout=30) as client:

            def take(name: str, client: httpx.Client = client) -> str:
                shown = client.post("/api/next", json={"name": name}).json()["document"]
                return f"{shown['topic']['id']} {shown['document']['id']}"

            if not more:
                held = {name: take(name) for name in ("ann", "bob")}
                os.kill(server.process.pid, 9)
                server.process.communicate(timeout=30)
            else:
                assert not {take(f"p{i}") for i in range(8)} & set(held.values())
                assert {name: take(name) for name in held} == held
                server.stop()
