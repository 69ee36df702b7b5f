"""Fixtures that several files of tests use."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from fathoms.data.simulate import simulate, write
from tests.data.test_reading import QRELS, RUN
from tests.support.commands import Command, Done, finished
from tests.support.paths import TESTS

settings.register_profile("fathoms", deadline=None)  # a busy machine is no failure; timings live in bench/
settings.load_profile("fathoms")

ERRORS = pytest.StashKey[int]()  # standard error, past what is captured
LIMIT, SLOW_LIMIT = 600, 7200  # seconds for a test, and for one marked slow; a hang ends there and shows its stack
AROUND = {"cli", "docs", "fuzz", "project", "reporting", "web"}  # folders of tests that try it through something else
GRACE = 60  # then the whole process ends, should the test not have heard


class TookTooLong(BaseException):
    """Not an Exception: a test that waits for errors must not take it for one."""


def pytest_configure(config: pytest.Config) -> None:
    capture = config.pluginmanager.getplugin("capturemanager")
    with contextlib.nullcontext() if capture is None else capture.global_and_fixture_disabled():
        config.stash[ERRORS] = os.dup(2)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The inner loop, `-m fast`: what tries the library itself, and takes less than a second."""
    for item in items:
        direct = AROUND.isdisjoint(item.path.parts[len(TESTS.parts) :])
        if direct and not any(map(item.get_closest_marker, ("long", "slow"))):
            item.add_marker("fast")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """With its fixtures, which can hang too. Some tests set the alarm for themselves, and the last limit holds."""
    seconds = limit_of(item)
    faulthandler.dump_traceback_later(seconds + GRACE, exit=True, file=item.config.stash[ERRORS])
    try:
        with alarm(seconds):
            return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def limit_of(item: pytest.Item) -> float:
    long_run = "FATHOMS_KILLS" in os.environ  # which says how often a process is killed
    return SLOW_LIMIT if long_run or item.get_closest_marker("slow") else LIMIT


@contextlib.contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raises in the main thread when the time is over; where there are no alarms, the last limit alone holds."""

    def stop(number: int, frame: object) -> None:
        raise TookTooLong(f"the test took more than {seconds:g} seconds")

    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`simulated(systems=5, seed=2)` is the folder of such a collection, written once for all who ask for the same.

    Whoever wants to change files in it writes one of their own.
    """
    folders: dict[str, Path] = {}

    def folder(**settings: Any) -> Path:
        asked = repr(sorted(settings.items()))
        if asked not in folders:
            folders[asked] = tmp_path_factory.mktemp("simulated") / "sim"
            write(simulate(**settings), folders[asked])
        return folders[asked]

    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A browser for all tests of pages; they are skipped where none can be started."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    path = next(filter(None, map(shutil.which, names)), None)
    with api.sync_playwright() as playwright:
        try:
            found = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except api.Error as error:
            pytest.skip(f"no browser can be started, install chromium to run this: {str(error).splitlines()[0]}")
        yield found
        found.close()


@pytest.fixture
def fathoms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command, called in a folder that holds qrels.txt and good.run."""
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_bytes(QRELS)
    Path("good.run").write_bytes(RUN)

    def call(*words: str) -> Done:
        return finished(capsys, *words)

    return call
