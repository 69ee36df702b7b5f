"""The judging page in a real browser: by keyboard, with undo and reload, by two people at once, with hostile texts."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Error, Page, sync_playwright  # noqa: E402

TOKEN = "token-for-these-tests"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHANGED = """([topic, id]) => document.getElementById("task").hidden
  || document.getElementById("topic-id").textContent !== topic
  || document.getElementById("doc-id").textContent !== id"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        try:
            found = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except Error as error:
            pytest.skip(f"no browser can be started, install chromium to run this: {str(error).splitlines()[0]}")
        yield found
        found.close()


class Served:
    """A server and its address."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = folder
        self.troubles: list[str] = []  # of the script
        self.asked: set[str] = set()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fathoms", "judge", "--web", "--port", "0", "--token", TOKEN, *words],
            cwd=folder,
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
        self.url, self.watch = re.findall(r"http://\S+", heard)
        self.base = self.url.partition("/?")[0]

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=30)
        assert not self.troubles
        assert all(url.startswith(self.base) for url in self.asked), self.asked

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
    page.set_default_timeout(10_000)
    page.on("pageerror", lambda error: server.troubles.append(str(error)))
    page.on("request", lambda request: server.asked.add(request.url))
    page.goto(server.url)
    assert page.url == f"{server.base}/"  # the token is not to be seen
    page.keyboard.type(name)  # the field for it has the focus
    page.keyboard.press("Enter")
    page.wait_for_selector("#task:not([hidden])")
    return page


def shows(page: Page, where: str, text: str) -> None:
    """Wait until it says so."""
    says = "([where, text]) => document.querySelector(where).textContent.includes(text)"
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
    with page.expect_download() as started:
        page.click("#links a >> nth=0")
    exported = Path(started.value.path()).read_text()
    lines = {(topic, name): int(grade) for topic, _, name, grade in map(str.split, exported.splitlines())}
    assert lines == given
    with page.expect_download() as started:
        page.click("#links a >> nth=1")
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
    page.keyboard.press("s")
    page.keyboard.type("in Dutch")
    press(page, "Enter")
    page.keyboard.press("s")
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
    shows(ann, "#count", "24 judged")
    assert ann.locator("#people li").count() == 2
    watcher = browser.new_context().new_page()
    watcher.goto(served.watch)
    shows(watcher, "#count", "24 judged")
    assert watcher.locator("#task").is_hidden()
    assert watcher.evaluate("fetch('/api/next', {method: 'POST'}).then((answer) => answer.status)") == 401
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
        shows(bob, "#differ", f"Topic {first[0]}, document {first[1]}")
        shows(bob, "#differ", "Ann: 1, Bob: 2")
        shows(bob, "#agreement", "1 judged twice, 0 of them alike")
        bob.click("#differ button >> text=Read")
        bob.wait_for_selector("#reader[open] #reader-body p")
        bob.keyboard.press("0")  # no grade for what lies behind
        bob.keyboard.press("Escape")
        bob.click(f"[aria-label='Final grade 0 for document {first[1]}']")
        shows(bob, "#differ", "final 0, by Bob")
        assert bob.inner_text("#count").startswith("1 judged, 0 relevant")
    finally:
        server.stop()
    rows = server.events("demo/fathoms-judging.db")
    assert [row[:4] for row in rows] == [
        ("grade", first[1], 1, "Ann"),
        ("grade", first[1], 2, "Bob"),
        ("final", first[1], 0, "Bob"),
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
    assert "not saved" in (page.text_content("#alert") or "")
    assert at_hand(page) == before
    port = server.base.rpartition(":")[2]
    again = Served(tmp_path, "--demo", "demo", "--resume", "--port", port)
    try:
        page.wait_for_selector("#alert", state="hidden")
        page.reload()
        page.wait_for_selector("#task:not([hidden])")
        assert at_hand(page) == before
        press(page, "1")
    finally:
        again.stop()
    assert [row[2] for row in again.events("demo/fathoms-judging.db")] == [1, 1]
