"""The judging page in a real browser: by keyboard, with undo and reload, by two people at once and an organiser, with
hostile texts and long ones, behind a proxy."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Page  # noqa: E402

from tests.judging.web.test_page import Proxy, port_of  # noqa: E402

TOKEN = "token-for-these-tests"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHANGED = """([topic, id]) => document.getElementById("task")?.hidden
  || (document.getElementById("topic-id") ?? {textContent: topic}).textContent !== topic
  || (document.getElementById("doc-id") ?? {textContent: id}).textContent !== id"""


class Served:
    """A server and its address."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = folder
        self.troubles: list[str] = []  # of the script
        self.asked: set[str] = set()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fathoms", "judge", "--web", "--port", "0", *words],
            cwd=folder,
            env={**os.environ, "FATHOMS_TOKEN": TOKEN},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        heard = ""
        while "Ctrl-C" not in heard:
            line = self.process.stderr.readline()
            assert line, heard
            heard += line
        self.links = dict(re.findall(r"fathoms: (\S+)(?: at)? +(http://\S+)", heard))
        self.url, self.organise = next(iter(self.links.values())), self.links["organise"]
        self.base = self.url.partition("/#")[0]

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=30)
        assert not self.troubles
        assert all(url.startswith(self.base) for url in self.asked), self.asked

    def port(self) -> int:
        """Where it listens, whatever its public address is."""
        return port_of(self.process)

    def events(self, path: str) -> list[tuple[Any, ...]]:
        with contextlib.closing(sqlite3.connect(self.folder / path)) as connection:
            return connection.execute("SELECT kind, document, grade, assessor, note FROM event").fetchall()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    server = Served(tmp_path, "--demo", "demo", "--confidence", "0.999999999")
    yield server
    server.stop()


def visit(browser: Browser, server: Served, name: str, **how: Any) -> Page:
    """The page as somebody sees it who comes for the first time."""
    page = browser.new_context(**how).new_page()
    page.set_default_timeout(60_000)
    page.on("pageerror", lambda error: server.troubles.append(str(error)))
    page.on("request", lambda request: server.asked.add(request.url))
    page.goto(server.url)
    page.wait_for_selector("#hello[open]")
    assert page.url == f"{server.base}/"  # the token is not to be seen
    assert page.evaluate("history.length") <= 2  # nor by going back
    page.keyboard.type(name)  # the field for it has the focus
    page.keyboard.press("Enter")
    page.wait_for_selector("#task:not([hidden])")
    return page


def come(browser: Browser, server: Served, link: str, **how: Any) -> Page:
    """The page as somebody sees it who has a link of their own."""
    page = browser.new_context(**how).new_page()
    page.set_default_timeout(60_000)
    page.on("pageerror", lambda error: server.troubles.append(str(error)))
    page.on("request", lambda request: server.asked.add(request.url))
    page.goto(link)
    page.wait_for_selector("#task:not([hidden]), .organise #matrix tbody tr")
    assert "token" not in page.url
    return page


def fits(page: Page) -> bool:
    """Whether nothing sticks out of the window."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def shows(page: Page, where: str, text: str) -> None:
    """Wait until it says so."""
    says = "([where, text]) => document.querySelector(where)?.textContent.includes(text)"
    page.wait_for_function(says, arg=[where, text])


def at_hand(page: Page) -> tuple[str, str]:
    return page.text_content("#topic-id") or "", page.text_content("#doc-id") or ""


def press(page: Page, key: str) -> tuple[str, str]:
    """Answer by a key, wait for another document, and return the one that was answered."""
    before = at_hand(page)
    page.keyboard.press(key)
    page.wait_for_function(CHANGED, arg=list(before))
    return before


def test_twenty_documents_by_keyboard(browser: Browser, served: Served) -> None:
    page = visit(browser, served, "Ann")
    given: dict[tuple[str, str], int] = {}
    for i in range(20):
        if i == 7:  # in the middle, the page is loaded anew
            before = at_hand(page)
            page.reload()
            page.wait_for_selector("#task:not([hidden])")
            assert at_hand(page) == before
            assert page.text_content("#who") == "Ann"
        if i in (5, 12):  # on second thoughts
            last = list(given)[-1]
            page.keyboard.press("u")
            shows(page, "#doc-id", last[1])
            assert at_hand(page) == last
            assert press(page, "2") == last
            given[last] = 2
        grade = i % 3
        answered = press(page, str(grade))
        assert answered not in given
        given[answered] = grade
        assert page.evaluate("document.activeElement.id") == "doc-title"  # where a screen reader goes on
        assert "New document" in (page.text_content("#live") or "")
    assert (page.text_content("#count") or "").startswith("20 judged, ")
    assert page.locator("#links").is_hidden()
    organiser = come(browser, served, served.organise)
    with organiser.expect_download() as started:
        organiser.click(".downloads a >> nth=0")
    exported = Path(started.value.path()).read_text()
    lines = {(topic, name): int(grade) for topic, _, name, grade in map(str.split, exported.splitlines())}
    assert lines == given
    with organiser.expect_download() as started:
        organiser.click(".downloads a >> nth=1")
    rows = [line.split("\t") for line in Path(started.value.path()).read_text().splitlines()]
    assert {(row[0], row[1]): int(row[2]) for row in rows[1:]} == given
    assert {row[3] for row in rows[1:]} == {"Ann"}


def test_notes_skips_and_keys_in_fields(browser: Browser, served: Served) -> None:
    page = visit(browser, served, "Ann")
    first = at_hand(page)
    page.keyboard.press("n")
    page.keyboard.type("2 of 3 users")  # digits in a field are no grades
    page.keyboard.press("Escape")
    assert at_hand(page) == first
    press(page, "1")
    second = at_hand(page)
    page.keyboard.press("Shift+S")
    page.keyboard.type("in Dutch")
    press(page, "Enter")
    page.keyboard.press("Shift+S")
    page.keyboard.press("Escape")
    page.keyboard.press("9")  # no such grade
    page.keyboard.press("Control+1")  # the browser's
    page.click("#grades button >> nth=0")
    shows(page, "#saved", "as 0")
    served.stop()
    rows = served.events("demo/fathoms-judging.db")
    assert rows[0] == ("grade", first[1], 1, "Ann", "2 of 3 users")
    assert rows[1] == ("skip", second[1], None, "Ann", "in Dutch")
    assert [row[0] for row in rows] == ["grade", "skip", "grade"]


def test_what_is_typed_after_a_skip_is_a_grade(browser: Browser, served: Served) -> None:
    """Ten of ten: a skip is done at once, and leaves no field in which the next grade would end."""
    page = visit(browser, served, "Ann")
    for i in range(10):
        before = at_hand(page)
        if i % 2:
            page.keyboard.press("s")
        else:
            page.click("#skip")
        page.wait_for_function(CHANGED, arg=list(before))
        press(page, "1")
    served.stop()
    rows = served.events("demo/fathoms-judging.db")
    assert [row[0] for row in rows] == ["skip", "grade"] * 10


def test_two_people_at_once(browser: Browser, served: Served) -> None:
    ann, bob = visit(browser, served, "Ann"), visit(browser, served, "Bob", color_scheme="dark")
    seen: dict[str, list[tuple[str, str]]] = {"Ann": [], "Bob": []}
    for i in range(12):
        assert at_hand(ann) != at_hand(bob)
        # Both at the same time, as far as one test can.
        before = [at_hand(ann), at_hand(bob)]
        for page in (ann, bob):
            page.keyboard.press(str(i % 3))
        for page, name, answered in zip((ann, bob), seen, before, strict=True):
            page.wait_for_function(CHANGED, arg=list(answered))
            seen[name].append(answered)
    assert not set(seen["Ann"]) & set(seen["Bob"])
    shows(ann, "#count", "12 judged")
    ann.wait_for_function("() => document.getElementById('count').title.includes('24 by all')")
    assert ann.locator("#people-card, .standings:visible").filter(visible=True).count() == 0
    organiser = come(browser, served, served.organise)
    shows(organiser, "#count", "24 judged")
    assert organiser.locator("#assessors tr").count() == 2
    assert organiser.evaluate("fetch('api/next', {method: 'POST'}).then((answer) => answer.status)") == 401
    assert ann.evaluate("fetch('api/organise').then((answer) => answer.status)") == 403
    light, dark = (page.evaluate("getComputedStyle(document.body).backgroundColor") for page in (ann, bob))
    assert light != dark
    served.stop()
    rows = served.events("demo/fathoms-judging.db")
    for name, documents in seen.items():
        assert [row[1] for row in rows if row[3] == name] == [document for _, document in documents]


def test_two_opinions(browser: Browser, tmp_path: Path) -> None:
    server = Served(tmp_path, "--demo", "demo", "--judge-twice", "100%")
    try:
        ann = visit(browser, server, "Ann")
        first = press(ann, "1")
        bob = visit(browser, server, "Bob")
        assert at_hand(bob) == first  # for a second grade
        press(bob, "2")
        assert bob.locator("#differ-card").is_hidden()
        eve = come(browser, server, server.organise)
        shows(eve, "#differ", f"Topic {first[0]}, document {first[1]}")
        shows(eve, "#differ", "Ann: 1, Bob: 2")
        shows(eve, "#agreement", "1 judged twice, 0 of them alike")
        eve.click("#differ button >> text=Read")
        eve.wait_for_selector("#reader[open] #reader-body p")
        eve.keyboard.press("Escape")
        eve.fill("#settler-name", "Eve")
        eve.click(f"[aria-label='Final grade 0 for document {first[1]}']")
        shows(eve, "#differ", "final 0, by Eve")
        shows(eve, "#judgments", "0 (final)")
        assert eve.inner_text("#count").startswith("1 judged, 0 relevant")
    finally:
        server.stop()
    rows = server.events("demo/fathoms-judging.db")
    assert [row[:4] for row in rows] == [
        ("grade", first[1], 1, "Ann"),
        ("grade", first[1], 2, "Bob"),
        ("final", first[1], 0, "Eve"),
    ]


def test_hostile_texts_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    evil = "<script>document.title='owned'</script><img src='/x' onerror='document.title=1'> & <b>bold</b> \u202egnp"
    for name, order in (("a", 1), ("b", -1), ("c", 3)):
        lines = [f"1 Q0 d{i} 1 {(i * order) % 7} t\n" for i in range(7)]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    long = " ".join(["word"] * 5000)
    texts = [{"id": f"d{i}", "title": evil, "text": f"{evil}\n\n{long}"} for i in range(7)]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts))
    (tmp_path / "topics.tsv").write_text(f"1\tbold words\t{evil} {'x' * 300}\n")
    server = Served(
        tmp_path,
        "none",
        "a.run",
        "b.run",
        "c.run",
        "--docs",
        "docs.jsonl",
        "--topic-texts",
        "topics.tsv",
        "--budget",
        "3",
        "--confidence",
        "0.999999",
    )
    try:
        page = visit(browser, server, "<img src=x>", viewport={"width": 360, "height": 700}, is_mobile=True)
        shown = page.text_content("#doc-body") or ""
        assert shown.startswith(evil.replace("\u202e", "\ufffd"))
        assert page.locator("#doc-body mark").first.text_content() == "bold"
        assert page.locator("#task script, #task img, #task b").count() == 0
        assert page.title() == "fathoms judge"
        assert page.text_content("#who") == "<img src=x>"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        grade = page.locator("#grades button >> nth=1")
        box = grade.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 700  # in reach, however long the text is
        assert box["height"] >= 44
        for _ in range(2):
            before = at_hand(page)
            grade.click()
            page.wait_for_function(CHANGED, arg=list(before))
        grade.click()
        page.wait_for_selector("#pause:not([hidden])")
        assert "The budget of 3 judgments is used up" in (page.text_content("#pause-text") or "")
        page.click("#undo-last")
        page.wait_for_selector("#task:not([hidden])")
        assert (page.text_content("#count") or "").startswith("2 judged")
    finally:
        server.stop()


def test_a_server_that_goes_and_comes_back(browser: Browser, tmp_path: Path) -> None:
    server = Served(tmp_path, "--demo", "demo")
    try:
        page = visit(browser, server, "Ann")
        press(page, "1")
        before = at_hand(page)
    finally:
        server.stop()
    page.keyboard.press("1")
    page.wait_for_selector("#alert:not([hidden])")
    shows(page, "#alert", "your grade may or may not have been saved. Press it again; it will not be saved twice.")
    assert at_hand(page) == before
    port = server.base.rpartition(":")[2]
    again = Served(tmp_path, "--demo", "demo", "--resume", "--port", port)
    try:
        shows(page, "#saved", "Your grade 1 was saved.")  # it is sent again by itself
        page.wait_for_selector("#alert", state="hidden")
        assert at_hand(page) != before
    finally:
        again.stop()
    assert [row[2] for row in again.events("demo/fathoms-judging.db")] == [1, 1]


GRADES = "0 = Off topic: <b>nothing</b> of it\n1 = Related: on the subject\n2 = Answers\n"
GUIDE = "# Before you begin\nRead the **topic** <img src=x onerror=alert(1)>.\n\n- one\n- two\n"


def test_two_assessors_and_an_organiser(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("Ann\nBob\nCleo\n")
    (tmp_path / "grades.txt").write_text(GRADES)
    (tmp_path / "guide.md").write_text(GUIDE)
    words = ["--demo", "demo", "--assessors", "names.txt", "--grades", "grades.txt", "--guidelines", "guide.md"]
    server = Served(tmp_path, *words, "--confidence", "0.999999", "--stay", "6")
    small = {"viewport": {"width": 375, "height": 667}, "is_mobile": True}
    try:
        ann, bob = come(browser, server, server.links["Ann"]), come(browser, server, server.links["Bob"], **small)
        organiser = come(browser, server, server.organise, color_scheme="dark")
        assert (ann.text_content("#who"), bob.text_content("#who")) == ("Ann", "Bob")
        assert ann.locator("#who").is_disabled()
        assert ann.inner_text("#grades button >> nth=1").split() == ["1", "Related"]
        assert ann.get_attribute("#grades button >> nth=0", "title") == "<b>nothing</b> of it"
        given: list[tuple[str, str]] = []
        apart = 0
        for i in range(8):  # Bob with a thumb
            apart += at_hand(ann)[0] != at_hand(bob)[0]
            given.append(press(ann, str(i % 3)))
            before = at_hand(bob)
            bob.click(f"#grades button >> nth={i % 2}")
            bob.wait_for_function(CHANGED, arg=list(before))
        assert apart >= 7  # one topic each, mostly
        assert len({topic for topic, _ in given[:6]}) == 1  # as long as the stay is
        # The guidelines: shown as text, closed by a key, and still closed after a reload.
        assert "Read the topic <img src=x" in ann.inner_text("#guidelines-body")
        assert ann.locator("#guidelines img").count() == 0
        ann.keyboard.press("g")
        ann.wait_for_function("() => localStorage.getItem('fathoms-guidelines') === 'closed'")  # a moment later
        ann.reload()
        ann.wait_for_selector("#task:not([hidden])")
        assert ann.evaluate("document.getElementById('guidelines').open") is False
        # A grade is changed, and the document at hand comes back.
        at = at_hand(ann)
        ann.wait_for_selector("#history-list button")
        ann.click("#history-list button >> nth=7")
        ann.wait_for_selector("#revising:not([hidden])")
        assert at_hand(ann) == given[0]
        assert ann.get_attribute("#grades button >> nth=0", "aria-pressed") == "true"
        assert "You gave this document grade 0 (Off topic)" in ann.inner_text("#revising")
        ann.keyboard.press("Escape")
        assert at_hand(ann) == at
        ann.click("#history-list button >> nth=7")
        ann.wait_for_selector("#revising:not([hidden])")
        ann.keyboard.press("2")
        shows(ann, "#saved", f"Changed: {given[0][1]} from 0 to 2")
        assert at_hand(ann) == at
        shows(ann, "#history-list", "changed from 0")
        # The same on a phone, where the list is below.
        assert fits(bob)
        bob.click("#history summary")
        bob.wait_for_selector("#history-list button")
        assert fits(bob)
        # The organiser sees who did what.
        shows(organiser, "#count", "16 judged")
        shows(organiser, "#assessors", "Cleo")
        rows = [row.split("\t") for row in organiser.inner_text("#assessors").splitlines()]
        assert [(row[0], row[1]) for row in rows] == [("Ann", "8"), ("Bob", "8"), ("Cleo", "0")]
        assert rows[2][-1] == "never"
        shows(organiser, "#judgments", "revised from 0")
        assert organiser.locator("#judgments tr").count() == 16
        organiser.select_option("#by-assessor", "Bob")
        organiser.wait_for_function("() => document.querySelectorAll('#judgments tr').length === 8")
        organiser.click("#judgments button >> nth=0")
        organiser.wait_for_selector("#reader[open]")
        organiser.keyboard.press("Escape")
        organiser.set_viewport_size({"width": 375, "height": 667})
        assert fits(organiser)
        # Keys.
        ann.keyboard.press("?")
        ann.wait_for_selector("#help[open]")
        assert "on the subject" in ann.inner_text("#help-grades")
        ann.keyboard.press("1")  # no grade while it is open
        ann.keyboard.press("Escape")
        assert at_hand(ann) == at
    finally:
        server.stop()
    rows_of = [row for row in server.events("demo/fathoms-judging.db") if row[3] == "Ann"]
    assert [row[:3] for row in rows_of] == [
        *(("grade", document, i % 3) for i, (_, document) in enumerate(given)),
        ("grade", given[0][1], 2),
    ]


def test_long_documents(browser: Browser, tmp_path: Path) -> None:
    filler = "Nothing of interest was said that day, by anyone at all. " * 60
    text = f"{filler}\n\n\N{GRINNING FACE} {filler} The dams of the river hold. Fish pass the dam by night. {filler}"
    for name, order in (("a", 1), ("b", -1)):
        lines = [f"1 Q0 d{i} 1 {i * order} t\n" for i in range(4)]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    documents = [{"id": f"d{i}", "title": "Rivers", "text": text} for i in range(4)]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents))
    (tmp_path / "topics.tsv").write_text("1\tdams and fish\tWhat do dams do to fish?\n")
    words = ["none", "a.run", "b.run", "--docs", "docs.jsonl", "--topic-texts", "topics.tsv", "--confidence", "0.99999"]
    server = Served(tmp_path, *words)
    try:
        page = visit(browser, server, "Ann", viewport={"width": 1000, "height": 700})
        whole = page.text_content("#doc-body") or ""
        shown = page.text_content("#passages-list button >> nth=0") or ""
        assert shown.startswith("The dams of the river hold. Fish pass the dam by night.")
        assert [word.text_content() for word in page.locator("#passages-list mark").all()[:3]] == [
            "dams",
            "Fish",
            "dam",
        ]
        page.click("#passages-list button >> nth=0")
        place = page.locator(".place.shown").first.bounding_box()
        assert place is not None
        assert 0 < place["y"] < 700
        # Find, also across words that are marked.
        page.keyboard.press("/")
        page.keyboard.type("PASS the dam by")
        shows(page, "#find-count", "1 of 1")
        page.keyboard.press("Control+a")
        page.keyboard.type("dam")
        shows(page, "#find-count", "1 of 2")
        page.keyboard.press("Enter")
        shows(page, "#find-count", "2 of 2")
        page.keyboard.press("Enter")
        shows(page, "#find-count", "1 of 2")
        page.keyboard.press("Shift+Enter")
        shows(page, "#find-count", "2 of 2")
        box = page.locator(".hit.now").first.bounding_box()
        assert box is not None
        assert 0 < box["y"] < 700
        page.keyboard.press("Control+a")
        page.keyboard.type("1 (a|b)*")  # a text, no pattern; and no grade
        shows(page, "#find-count", "not found")
        page.keyboard.press("Escape")
        assert page.locator(".hit").count() == 0
        assert page.text_content("#doc-body") == whole
        press(page, "1")
    finally:
        server.stop()


def test_standings_where_they_are_asked_for(browser: Browser, tmp_path: Path) -> None:
    server = Served(tmp_path, "--demo", "demo", "--show-standings", "--judge-twice", "100%")
    try:
        page = visit(browser, server, "Ann")
        press(page, "1")
        assert page.locator("#matrix tbody tr").count() == 5
        assert page.get_attribute("#matrix tbody th >> nth=0", "title")
        assert page.locator("#people-card").is_visible()
        assert page.locator("#links").is_visible()
    finally:
        server.stop()


def test_behind_a_proxy(browser: Browser, tmp_path: Path) -> None:
    proxy = Proxy("/deep/judge")
    server = Served(tmp_path, "--demo", "demo", "--public-url", proxy.url, "--port", "0")
    proxy.port = server.port()
    try:
        for strip in (True, False):
            proxy.strip = strip
            page = visit(browser, server, "Ann")
            press(page, "1")
            page.reload()
            page.wait_for_selector("#task:not([hidden])")
            organiser = come(browser, server, server.organise)
            shows(organiser, "#count", f"{2 - strip} judged")
    finally:
        server.stop()
        proxy.close()
    assert all(path.startswith("/deep/judge/") for path in proxy.seen if path != "/favicon.ico")


def test_responses_that_are_lost(browser: Browser, served: Served) -> None:
    """The server does its work and its response never arrives: nothing is saved twice, and nothing wrong is said."""
    page = visit(browser, served, "Ann")
    lost, held = 0, list[Any]()
    is_holding = False  # polls, after which the page would send an answer again by itself

    def drop(route: Any) -> None:
        nonlocal lost
        if is_holding and route.request.url.rpartition("/")[2].partition("?")[0] in ("keep", "state", "next"):
            held.append(route)
        elif lost:
            lost -= 1
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route("**/api/*", drop)
    first = at_hand(page)
    lost = 2  # is sent again by itself
    page.keyboard.press("2")
    shows(page, "#saved", f"Saved already: {first[1]} as 2")
    second = at_hand(page)
    page.evaluate("AGAIN.fill(10)")
    is_holding = True
    lost = 4  # more often than it is sent by itself
    page.keyboard.press("1")
    shows(page, "#alert", "your grade may or may not have been saved. Press it again; it will not be saved twice.")
    page.keyboard.press("0")
    shows(page, "#saved", f"Saved already: {second[1]} as 1")
    lost = 1
    page.keyboard.press("u")
    shows(page, "#doc-id", second[1])
    page.wait_for_function("() => !busy")
    lost = 4
    page.keyboard.press("1")
    shows(page, "#alert", "may or may not have been saved")
    page.keyboard.press("u")  # what was saved
    shows(page, "#saved", "Taken back.")
    page.keyboard.press("0")  # is a new answer
    shows(page, "#saved", f"Saved: {second[1]} as 0")
    is_holding = False
    for route in held:
        route.continue_()
    lost = 4
    page.keyboard.press("u")
    shows(page, "#alert", "may or may not have been saved")
    shows(page, "#saved", "Taken back already.")  # by itself, when the server answers
    page.unroute_all(behavior="ignoreErrors")  # polls are under way, and would fail in whichever test comes next
    served.stop()
    rows = served.events("demo/fathoms-judging.db")
    back = ("undo", second[1], None)
    grades = [("grade", second[1], grade) for grade in (1, 1, 0)]
    expected = [("grade", first[1], 2), grades[0], back, grades[1], back, grades[2], back]
    assert [row[:3] for row in rows] == expected


def test_the_entrance(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("Ann\nBob\n")
    server = Served(tmp_path, "--demo", "demo", "--assessors", "names.txt")
    try:
        page = browser.new_context().new_page()
        page.set_default_timeout(60_000)
        for path in ("/", "/organise"):
            page.goto(server.base + path)
            shows(page, "#alert", "Open this page with the full link you were given")
            page.goto(f"{server.base}{path}#token=not-the-right-token")
            shows(page, "#alert", "This link is not valid (any more). Ask whoever organises the judging for a new one.")
            assert "token" not in page.url
        page.route("**/api/enter", lambda route: route.abort())
        page.goto(server.links["Ann"])
        shows(page, "#alert", "No connection to the server; load the page again.")
        page.unroute("**/api/enter")
        page.reload()  # still has the token
        shows(page, "#who", "Ann")
        assert "token" not in page.url
        page.goto(server.links["Bob"])  # in the same tab, where nothing but the part behind the # is another
        shows(page, "#who", "Bob")
        assert "token" not in page.url
        page.goto(f"{server.base}/#token=not-the-right-token")
        shows(page, "#alert", "This link is not valid")
        assert page.text_content("#who") == "Bob"  # who is in stays in
    finally:
        server.stop()
