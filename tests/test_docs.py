"""The examples of the README and of the documentation, run page by page, and the reference against the code.

In a page the blocks marked `sh` and `python` run in order in an empty folder; the Python ones share their names. Where
a `text` block comes next, with nothing but blank lines between, it is the output. Blocks that install are skipped.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import fathoms
from fathoms.cli.app import RENAMED

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FROM_ABOVE = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")  # as in docs/site.py
TEXTS = [*PAGES, *(ROOT / page for page in FROM_ABOVE)]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)(?: +\"[^\"]*\")?\)|^\[[^\]]+\]: +(\S+)|\b(?:href|src)=\"([^\"]+)\"", re.MULTILINE)
MOST_WORDS = 1000
MADE_BY_SCRIPTS = ("api.md", "measures.md")  # references, to be looked up and not read
MODULES = [module.name for module in pkgutil.walk_packages(fathoms.__path__, "fathoms.")]


class Example(NamedTuple):
    """A block to run, where it stands, and what it prints, if the page says so."""

    language: str
    source: str
    line: int
    output: str | None


def examples(text: str) -> Iterator[Example]:
    blocks = list(FENCED.finditer(text))
    for block, after in zip_longest(blocks, blocks[1:]):
        language, source = block[1], block[2]
        if language not in ("sh", "python") or re.search(r"\bvenv\b|pip install", source):
            continue
        output = None
        if after is not None and after[1] == "text" and not text[block.end() : after.start()].strip():
            output = after[2]
        yield Example(language, source, text.count("\n", 0, block.start()) + 2, output)


def printed(example: Example, folder: Path, names: dict[str, Any]) -> str:
    """What an example prints to standard output; it must end well."""
    if example.language == "python":
        buffer = io.StringIO()
        with contextlib.redirect_stdout(buffer):
            exec(compile(example.source, f"<line {example.line}>", "exec"), names)
        return buffer.getvalue()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        ["bash", "-e", "-c", example.source],
        cwd=folder,
        env=os.environ | {"PATH": path, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"line {example.line} ended with {done.returncode}: {done.stderr}"
    return done.stdout


def lines(text: str) -> list[str]:
    """Blanks at the ends of lines do not count."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_print_what_the_page_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for example in examples(page.read_text(encoding="utf-8")):
        output = printed(example, tmp_path, names)
        if example.output is not None:
            assert lines(output) == lines(example.output), f"{page.name}, line {example.line}"


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])
def test_docstrings_hold(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0


def anchors(text: str) -> set[str]:
    """What a forge makes of headings."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def dead_links(page: Path) -> list[str]:
    """Links and pictures of a page that lead to no file, or to no heading of one."""
    text = re.sub(r"`[^`\n]*`", "", FENCED.sub("", page.read_text(encoding="utf-8")))
    dead = []
    for found in LINK.finditer(text):
        target = found[1] or found[2] or found[3]
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        other = page.parent / file if file else page
        if not other.exists() or (anchor and anchor not in anchors(other.read_text(encoding="utf-8"))):
            dead.append(target)
    return dead


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    assert dead_links(page) == []


def test_dead_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# What is `k`?\n\n```sh\n# no heading\n```\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md) [b](other.md#what-is-k) [c](https://example.org) `[d](no.md)`\n"
        '[e](no.md) ![f](no.png "a picture") [g](other.md#no-heading) [h][ref] <img src="none.svg">\n\n[ref]: gone.md\n'
    )
    assert dead_links(page) == ["no.md", "no.png", "other.md#no-heading", "none.svg", "gone.md"]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in MADE_BY_SCRIPTS], ids=lambda page: page.stem
)
def test_no_page_is_long(page: Path) -> None:
    """Examples and tables are looked at, not read."""
    prose = re.sub(r"^\|.*$", "", FENCED.sub("", page.read_text(encoding="utf-8")), flags=re.MULTILINE)
    words = len(prose.split())
    assert words <= MOST_WORDS, f"{page.name} has {words} words of prose: say each thing once, or split it"


def test_the_site_is_built_without_warnings(tmp_path: Path) -> None:
    """mkdocs.yml is strict, and a dead link, a dead anchor or a page that is in no menu is a warning."""
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {page.relative_to(ROOT / "docs").with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")}
    assert all(
        (tmp_path / "site" / page).exists()
        for page in [*pages, *(Path(page).with_suffix(".html") for page in FROM_ABOVE)]
    )
    parts = re.findall(r"<(?:script|link|img)[^>]* (?:src|href)=\"(\S+)\"", (tmp_path / "site/index.html").read_text())
    assert parts
    assert [part for part in parts if part.startswith(("http", "//"))] == [], "the site loads something from elsewhere"


def test_the_site_has_every_page_once() -> None:
    listed = re.findall(r"^ +- .*: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in PAGES if page != ROOT / "README.md"]
    assert sorted(listed) == sorted([*pages, *FROM_ABOVE])


def test_the_page_on_versions_has_every_old_flag() -> None:
    page = (ROOT / "docs" / "versions.md").read_text(encoding="utf-8")
    for command, names in RENAMED.items():
        where = f"`fathoms {command}`" if command else "all commands"
        for old, new in names.items():
            assert f"| {where} | `{old}` | `{new}` |" in page
