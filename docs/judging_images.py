"""Screenshots of the judging page for the docs, from a simulated collection: `python docs/judging_images.py`."""

from __future__ import annotations

import contextlib
import json
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

IMAGES = Path(__file__).resolve().parent / "images"
GRADES = """0 = Not relevant: nothing about the question
1 = Related: on the subject, but no answer
2 = Relevant: answers the question, at least in part
"""
GUIDELINES = """# What to look for
Read the **whole topic** first. A document is relevant if somebody who writes a report on the topic would want to *use*
it.

- Judge each document by itself, not by those you saw before.
- If you cannot read it, skip it and say why.
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        (folder / "names.txt").write_text("Ann\nBob\n")
        (folder / "grades.txt").write_text(GRADES)
        (folder / "guide.md").write_text(GUIDELINES)
        path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        words = ["--judge-twice", "30%", "--grades", "grades.txt", "--guidelines", "guide.md"]
        server, links = start(folder, *words, "--assessors", "names.txt", "--confidence", "0.99")
        truth = grades(folder / "demo" / "truth.txt")
        try:
            for i in range(30):
                judge(links["Ann"], truth)
                judge(links["Bob"], truth, other=i % 7 == 3)
            server.send_signal(signal.SIGINT)
            server.wait()
            slow_down(folder / "demo" / "fathoms-judging.db")
            server, links = start(folder, "--resume")
            take(browser, links)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()
        browser.close()


def start(folder: Path, *words: str) -> tuple[subprocess.Popen[str], dict[str, str]]:
    server = subprocess.Popen(
        [sys.executable, "-m", "fathoms", "judge", "--demo", "demo", "--web", "--port", "0", *words],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    assert server.stderr is not None
    heard = ""
    while "Ctrl-C" not in heard:
        line = server.stderr.readline()
        if not line:
            raise SystemExit(heard)
        heard += line
    return server, dict(re.findall(r"fathoms: (\w+)(?: at)? +(http\S+)", heard))


def grades(path: Path) -> dict[tuple[str, str], int]:
    lines = [line.split() for line in path.read_text().splitlines()]
    return {(topic, document): int(grade) for topic, _, document, grade in lines}


def judge(link: str, truth: dict[tuple[str, str], int], other: bool = False) -> None:
    """One document by somebody's link, by the truth or not."""
    base, _, token = link.partition("#token=")

    def post(path: str, **body: Any) -> Any:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{base}api/{path}", json.dumps(body).encode(), headers, method="POST")
        return json.load(urllib.request.urlopen(request, timeout=60))

    task = post("next", name="")["document"]
    if task is not None:
        about = task["topic"]["id"], task["document"]["id"]
        grade = (truth.get(about, 0) + other) % 3
        post("grade", name="", topic=about[0], document=about[1], grade=grade, note="")


def slow_down(path: Path) -> None:
    """As if people had judged: nobody takes a hundredth of a second."""
    rng = random.Random(1)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        (guard,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'event_is_never_changed'").fetchone()
        connection.execute("DROP TRIGGER event_is_never_changed")
        time = datetime.now(UTC) - timedelta(minutes=20)
        for (number,) in connection.execute("SELECT number FROM event ORDER BY number").fetchall():
            time += timedelta(seconds=rng.uniform(6, 24))
            words = (time.isoformat(timespec="milliseconds"), number)
            connection.execute("UPDATE event SET time = ? WHERE number = ?", words)
        connection.execute(guard)


def visit(browser: Browser, link: str, width: int, height: int, **how: Any) -> Page:
    page = browser.new_context(viewport={"width": width, "height": height}, **how).new_page()
    page.goto(link)
    page.wait_for_selector("#task:not([hidden]), .organise #matrix tbody tr")
    page.wait_for_timeout(1000)
    return page


def take(browser: Browser, links: dict[str, str]) -> None:
    page = visit(browser, links["Ann"], 1200, 740)
    page.screenshot(path=IMAGES / "judging-page.png")
    page.click("#history-list button >> nth=2")
    page.wait_for_selector("#revising:not([hidden])")
    page.screenshot(path=IMAGES / "judging-revise.png")
    page = visit(browser, links["Bob"], 390, 760, is_mobile=True, device_scale_factor=2)
    page.screenshot(path=IMAGES / "judging-phone.png")
    page = visit(browser, links["organise"], 1200, 1000, color_scheme="dark")
    page.screenshot(path=IMAGES / "judging-organiser.png", full_page=True)


if __name__ == "__main__":
    main()
