"""The examples of the README and of the documentation, run page by page, and the reference against the code.

In a page the blocks marked `sh` and `python` run in order in a folder that holds a reader's files, those that the
tutorial makes; the Python ones share their names. Where a `text` block comes next, with nothing but blank lines
between, it is the output; a line of dots stands for lines left out. In a `console` block the first line, after `$ `, is
what is typed. Blocks that install are skipped.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import fathoms
from tests.support.paths import ROOT
from tests.support.terminals import on_terminal

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FROM_ABOVE = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")  # as in docs/site.py
TEXTS = [*PAGES, *(ROOT / page for page in FROM_ABOVE)]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)(?: +\"[^\"]*\")?\)|^\[[^\]]+\]: +(\S+)|\b(?:href|src)=\"([^\"]+)\"", re.MULTILINE)
FRACTION = re.compile(r"\d+\.\d+")
MOST_WORDS = 1000
MOST_WORDS_IN_ALL = 45000
MADE_BY_SCRIPTS = ("api.md", "flags.md", "measures.md")  # references, to be looked up and not read
MAKES_FILES = "fathoms simulate -o sim --systems 6"  # how the tutorial's block begins that makes a reader's files
LEFT_OUT = "..."
MODULES = [module.name for module in pkgutil.walk_packages(fathoms.__path__, "fathoms.")]


def with_kind(page: Path) -> Any:
    """Pages of studies, of clusters and of long stories are run with the studies."""
    takes_long = page.parent.name in ("papers", "how-to") or page.stem in ("cluster", "demo")
    return pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if takes_long else [])


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
        if language == "console":
            typed, _, shown = source.removeprefix("$ ").partition("\n")
            yield Example("sh", typed, text.count("\n", 0, block.start()) + 2, shown)
        if language not in ("sh", "python") or re.search(r"\bvenv\b|pip install", source):
            continue
        output = None
        if after is not None and after[1] == "text" and not text[block.end() : after.start()].strip():
            output = after[2]
        yield Example(language, source, text.count("\n", 0, block.start()) + 2, output)


def makes_files() -> str:
    """The block of the tutorial that makes a reader's files."""
    blocks = examples((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"))
    return next(block.source for block in blocks if block.source.startswith(MAKES_FILES))


def make_files(folder: Path) -> None:
    printed(Example("sh", makes_files(), 0, None), folder, {})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a reader's files."""
    folder = tmp_path_factory.mktemp("reader")
    make_files(folder)
    return folder


def lay_out(page: str, files: Path, folder: Path) -> None:
    """The folder as it is when a reader begins with a page: empty where the page itself makes the files."""
    if MAKES_FILES not in page:
        shutil.copytree(files, folder, dirs_exist_ok=True)


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


def shown_to_a_person(example: Example, folder: Path) -> str:
    """What a shell's example leaves on a terminal; it must end well."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    words = ["bash", "-e", "-c", example.source]
    status, shown = on_terminal(words, folder, os.environ | {"PATH": path, "PYTHONIOENCODING": "utf-8"})
    assert status == 0, f"line {example.line} ended with {status}: {shown}"
    return shown


def lines(text: str) -> list[str]:
    """Blanks at the ends of lines do not count."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


@pytest.mark.parametrize("page", [with_kind(page) for page in PAGES])
def test_examples_print_what_the_page_says(
    page: Path, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    text = page.read_text(encoding="utf-8")
    lay_out(text, files, tmp_path)
    for example in examples(text):
        output = printed(example, tmp_path, names)
        if example.output is not None:
            expected = lines(example.output)
            found = shortened(lines(output), expected)
            assert settled(found, expected) == expected, f"{page.name}, line {example.line}"


def shortened(output: list[str], expected: list[str]) -> list[str]:
    """The output with its lines left out where the page leaves them out: as many as the next line of the page is away,
    or all that follow."""
    found, at = [], 0
    for i, line in enumerate(expected):
        if line != LEFT_OUT:
            found += output[at : at + 1]
            at += 1
            continue
        found.append(line)
        following = expected[i + 1 : i + 2]
        while at < len(output) and (not following or settled([output[at]], following) != following):
            at += 1
    return found + output[at:]


def test_lines_are_left_out_only_where_the_page_says_so() -> None:
    output = ["a 0.51", "b", "c", "d"]
    assert shortened(output, ["a 0.51", "..."]) == ["a 0.51", "..."]
    assert shortened(output, ["...", "c", "d"]) == ["...", "c", "d"]
    assert shortened(output, ["a 0.51", "...", "d"]) == ["a 0.51", "...", "d"]
    assert shortened(output, ["a 0.51", "...", "x"]) == ["a 0.51", "..."]
    assert shortened(output, ["a 0.51", "b"]) == output


def settled(output: list[str], expected: list[str]) -> list[str]:
    """The output, with the expected line wherever it differs in the last digit of decimal fractions alone, by one: an
    estimate that lies between two printed values is rounded up on one machine and down on another."""
    return [
        other if same_but_for_rounding(line, other) else line
        for line, other in zip_longest(output, expected[: len(output)], fillvalue="")
    ]


def same_but_for_rounding(line: str, other: str) -> bool:
    found, wanted = FRACTION.findall(line), FRACTION.findall(other)
    return FRACTION.sub("#", line) == FRACTION.sub("#", other) and all(map(is_next, found, wanted))


def is_next(one: str, other: str) -> bool:
    """Whether two decimal fractions with as many digits differ by at most one in the last of them."""
    a, b = (int(number.replace(".", "")) for number in (one, other))
    return len(one.partition(".")[2]) == len(other.partition(".")[2]) and abs(a - b) <= 1


def test_only_the_last_digit_of_fractions_may_turn() -> None:
    page = "AP 0.3125 [0.3000, 0.4000], p = 0.0312, 25 topics"
    assert same_but_for_rounding(page, page)
    assert same_but_for_rounding(page.replace("0.3125", "0.3126"), page)
    assert same_but_for_rounding("1.0000", "0.9999")
    for other in ("0.3127", "0.3225", "0.312", "0.31250", "-0.3125", "1.3125"):
        assert not same_but_for_rounding(page.replace("0.3125", other), page)
    assert not same_but_for_rounding(page.replace("25 topics", "26 topics"), page)
    assert not same_but_for_rounding(page.replace("p =", "p <"), page)
    assert settled(["a 0.51", "b 3"], ["a 0.50", "b 2"]) == ["a 0.50", "b 3"]
    assert settled(["a 0.51", "b"], ["a 0.50"]) == ["a 0.50", "b"]
    assert settled(["a"], ["a", "b"]) == ["a"]


def shell_examples(page: Path) -> list[Example]:
    return [one for one in examples(page.read_text(encoding="utf-8")) if one.language == "sh"]


def run_at_a_terminal(page: Path, files: Path, folder: Path) -> None:
    """The examples of a page in order."""
    names: dict[str, Any] = {}
    text = page.read_text(encoding="utf-8")
    lay_out(text, files, folder)
    for example in examples(text):
        if example.language == "python":
            printed(example, folder, names)
        else:
            assert "Traceback" not in shown_to_a_person(example, folder), f"{page.name}, line {example.line}"


WITH_A_SHELL = [page for page in PAGES if shell_examples(page)]


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_A_SHELL, ids=lambda page: page.stem)
def test_all_examples_run_at_a_terminal(
    page: Path, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_at_a_terminal(page, files, tmp_path)


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


WRITTEN = [page for page in PAGES if page.name not in MADE_BY_SCRIPTS and page.parent.name != "results"]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.stem)
def test_no_page_is_long(page: Path) -> None:
    """Examples and tables are looked at, not read."""
    prose = re.sub(r"^\|.*$", "", FENCED.sub("", page.read_text(encoding="utf-8")), flags=re.MULTILINE)
    words = len(prose.split())
    assert words <= MOST_WORDS, f"{page.name} has {words} words of prose: say each thing once, or split it"


def test_the_pages_to_read_can_be_read() -> None:
    """References made by scripts and tables of results are looked up."""
    words = sum(len(FENCED.sub("", page.read_text(encoding="utf-8")).split()) for page in WRITTEN)
    assert words <= MOST_WORDS_IN_ALL, f"{words} words were written: say each thing once"


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
