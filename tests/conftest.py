"""Fixtures that several files of tests use."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from fathoms.data.simulate import simulate, write
from tests.commands import Command, Done, finished
from tests.test_reading import QRELS, RUN

settings.register_profile("fathoms", deadline=None)  # a busy machine is no failure; timings live in bench/
settings.load_profile("fathoms")


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
