"""What a terminal shows: kept as text in tests/cli/screens, for few and many runs, narrow and wide.

`python -m tests.cli.refresh_screens` writes the files anew; read the diff.
"""

from __future__ import annotations

import os
import pty
import re
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import pytest

from fathoms.cli import screen
from fathoms.cli.app import main
from fathoms.cli.screen import Block, Column, Size, drawing, page, table
from fathoms.data.simulate import simulate, write

SCREENS = Path(__file__).parent / "screens"
LINES = 40
FEW, MANY = 6, 129
WIDTHS = (80, 120)
# What each command is given beside the folder of the runs, {0}; those of fewer words take no runs of their own.
COMMANDS = {
    "eval": "eval qrels.txt {0}",
    "eval-one": "eval qrels.txt {0} -m nDCG@10",
    "compare": "compare qrels.txt {0} -m P@10 --draws 0",
    "predict": "predict qrels.txt {0} -m P@10 --draws 50",
    "depth": "depth qrels.txt {0} --depths 1:30",
    "ties": "ties qrels.txt {0}",
    "audit": "audit qrels.txt {0}",
    "check": "check qrels.txt {0}",
    "rank": "rank qrels.txt {0} -m P@10 --draws 0",
    "plan": "plan qrels.txt {0} -m P@10",
    "labels": "labels qrels.txt labels.txt --runs {0}",
    "pool": "pool {0} --depth 5",
    "band": "band {0} --qrels qrels.txt --rho 1.4 -m AP -m RR",
}
ALONE = {
    "gate": "gate qrels.txt runs/sys001.run runs/sys002.run",
    "diff": "diff qrels.txt runs/sys001.run runs/sys002.run",
    "compare-two": "compare qrels.txt runs/sys001.run runs/sys004.run",
    "measures": "measures",
}
CASES = [(name, runs, width) for name in COMMANDS for runs in (FEW, MANY) for width in WIDTHS]
CASES += [(name, 2, width) for name in ALONE for width in WIDTHS]
STYLES = re.compile("\x1b\\[[0-9;]*m")


def make(folder: Path) -> None:
    """A collection of many runs and few topics, the same each time."""
    settings = {"n_topics": 4, "n_docs": 300, "depth": 30, "pool_depth": 5, "contradictions": 0.05}
    made = simulate(systems=MANY, seed=1, **settings)  # type: ignore[arg-type]
    write(made, folder)
    (folder / "six").mkdir()
    for path in sorted((folder / "runs").iterdir())[:FEW]:
        os.link(path, folder / "six" / path.name)
    grades = (folder / "truth.txt").read_text().splitlines()
    labels = [f"{line[:-1]}{(int(line[-1]) + (i % 5 == 0)) % 3}" for i, line in enumerate(grades)]
    (folder / "labels.txt").write_text("\n".join(labels) + "\n")


@contextmanager
def terminal_of(columns: int, lines: int = LINES) -> Iterator[None]:
    with patch.object(screen, "terminal", lambda: Size(columns, lines)):
        yield


@cache
def shown(name: str, runs: int) -> dict[int, str]:
    """What a command leaves on terminals of all widths, without colours, in the current folder."""
    words = (COMMANDS | ALONE)[name].format("six" if runs == FEW else "runs").split()
    pages: dict[int, str] = {}

    def keep(answer: Sequence[str], blocks: Sequence[Block], notes: Sequence[str], size: Size | None) -> str:
        assert size is not None
        pages.update({width: page(answer, blocks, notes, Size(width, size.lines)) for width in WIDTHS})
        return ""

    talk = StringIO()
    said = redirect_stdout(StringIO()), redirect_stderr(talk)
    with (
        terminal_of(min(WIDTHS)),
        patch.object(screen, "page", keep),
        said[0],
        said[1],
        pytest.raises(SystemExit) as end,
    ):
        main(words)
    assert end.value.code in (0, 3)  # 3: the gate cannot tell
    return {width: STYLES.sub("", text) + talk.getvalue() for width, text in pages.items()}


def file_of(name: str, runs: int, width: int) -> Path:
    return SCREENS / f"{name}-{runs}-{width}.txt"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("screens") / "sim"
    make(made)
    before = Path.cwd()
    os.chdir(made)
    yield made
    os.chdir(before)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("name", "runs", "width"), CASES)
def test_screens_are_as_they_were(name: str, runs: int, width: int) -> None:
    text = shown(name, runs)[width]
    assert text == file_of(name, runs, width).read_text(encoding="utf-8"), "python -m tests.cli.refresh_screens"
    lines = text.splitlines()
    warned = sum(len(screen.wrapped(line, width)) - 1 for line in lines if line.startswith("fathoms: "))
    assert len(lines) + warned < LINES  # and the prompt
    wide = [line for line in lines if screen.cells_of(line) > width and not line.startswith("fathoms: ")]
    assert not wide
    answer = next(line for line in lines if not line.startswith("fathoms: "))
    first = " ".join(text.split("\n\n")[0].split())
    assert answer[0].isalnum()
    assert first.endswith(".")  # a sentence
    if name in COMMANDS and name not in ("check", "pool", "plan", "depth", "labels", "audit"):
        assert re.search(r"^sys\d+ ", text, re.MULTILINE)  # runs keep their names


def test_no_screen_is_left_over() -> None:
    assert sorted(SCREENS.iterdir()) == sorted(file_of(*case) for case in CASES)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["eval", "compare", "rank", "check"])
def test_pipes_and_all_have_everything(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = COMMANDS[name].format("runs").split()
    texts = []
    for size, flags in ((None, []), (Size(80, LINES), ["--all"])):
        with patch.object(screen, "terminal", lambda size=size: size), pytest.raises(SystemExit):
            main([*words, *flags])
        texts.append(capsys.readouterr().out)
    piped, everything = texts
    assert "--all" not in piped
    assert piped == everything
    least = {"eval": 5 * MANY, "compare": MANY * (MANY - 1) // 2, "rank": MANY, "check": MANY}[name]
    assert len(piped.splitlines()) > least


@pytest.mark.usefixtures("folder")
def test_a_real_terminal(folder: Path) -> None:
    """Its size is asked for, and paths are short there."""
    import fcntl
    import termios

    main_end, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, 100, 0, 0))
    words = [sys.executable, "-m", "fathoms", "eval", str(folder / "qrels.txt"), str(folder / "runs"), "-m", "AP"]
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"TERM": "xterm"}
    process = subprocess.Popen(words, stdout=other, stderr=subprocess.PIPE, env=environment)
    os.close(other)
    found = b""
    try:
        while chunk := os.read(main_end, 65536):
            found += chunk
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(main_end)
    assert process.wait() == 0
    text = STYLES.sub("", found.decode()).replace("\r\n", "\n")
    assert text.startswith("AP: sys")
    assert "more runs; --all shows them" in text
    assert max(map(screen.cells_of, text.splitlines())) <= 100
    assert b"\x1b[1m" in found


# -- the layout -------------------------------------------------------------------------------------------------------


def plain(text: str) -> list[str]:
    return STYLES.sub("", text).splitlines()


def block(names: list[str], draw: Callable[[int], list[str]] | None = None) -> Block:
    columns = [
        Column("AP", names, words=True),
        Column("score", ["0.1234"] * len(names)),
        Column("low", ["0.0000"] * len(names), 1),
        Column("high", ["1.0000"] * len(names), 1),
        Column("tie_low", ["0.1200"] * len(names), 9),
    ]
    return Block(columns if draw is None else [*columns, drawing(draw, 8)], noun="run")


def test_ties_go_first_then_the_drawing_shrinks_then_other_columns() -> None:
    def draw(width: int) -> list[str]:
        return ["-" * width, "=" * width]

    def at(width: int) -> list[str]:
        return plain(page(["It is so."], [block(["x" * 20], draw)], [], Size(width, LINES)))

    full = at(81)
    assert "tie_low" in full[2]
    assert full[2].endswith("  " + "-" * 24)
    narrow = at(70)
    assert "tie_low" not in narrow[2]
    assert narrow[2].endswith("  " + "-" * 24)
    assert narrow[4] == "Not shown: tie_low (--all or a wider terminal)."
    assert at(62)[2].endswith("high  " + "-" * 16)
    assert at(50)[2].endswith("  high")
    least = at(30)
    assert least[2].split() == ["AP", "score"]
    assert least[3].startswith("x" * 20 + "  0.1234")


def test_long_names_are_folded_and_never_cut() -> None:
    name = "a-very-long-name-of-a-run-" * 4
    lines = plain(page(["It is so."], [block([name, "short"])], [], Size(40, LINES)))
    assert all(len(line) <= 40 for line in lines)
    body = lines[lines.index("") + 2 :]
    assert "".join(line.split("  ")[0].strip() for line in body[:-1]).startswith(name)
    assert all(not line.endswith("…") for line in body)


def test_wide_letters_and_control_characters() -> None:
    lines = plain(page(["It is so."], [block(["日本語の検索", "esc\x1b[2Jape", "tab\there"])], [], Size(80, LINES)))
    assert max(map(screen.cells_of, lines)) <= 80
    assert "\\x1b[2Jape" in "\n".join(lines)
    scores = [screen.cells_of(line[: line.index("0.1234")]) for line in lines if "0.1234" in line]
    assert len(set(scores)) == 1


def test_many_tables_share_the_screen() -> None:
    """Those that need few rows get them; where there are too many tables the last ones are counted."""
    few = table(["x", "y"], [["a", "1"]] * 2, 1, noun="run")
    many = table(["x", "y"], [[f"r{i}", "1"] for i in range(200)], 1, noun="run")
    lines = plain(page(["It is so."], [many, few, many], ["A note."], Size(80, LINES)))
    assert len(lines) < LINES
    assert sum("more runs; --all shows them" in line for line in lines) == 2
    assert lines[-1] == "A note."
    assert sum(line.split() == ["a", "1"] for line in lines) == 2
    crowd = plain(page(["It is so."], [many] * 20, ["A note."], Size(80, LINES)))
    assert len(crowd) < LINES
    assert any(re.fullmatch(r"\d+ more tables; --all shows them\.", line) for line in crowd)


def test_rows_between_the_first_and_the_last_are_counted() -> None:
    rows = [[f"r{i}", "1"] for i in range(129)]
    lines = plain(page(["It is so."], [table(["x", "y"], rows, 1, noun="run")], [], Size(80, LINES)))
    assert [line.split()[0] for line in lines[3:23]] == [f"r{i}" for i in range(20)]
    assert lines[23] == "… 106 more runs; --all shows them"
    assert [line.split()[0] for line in lines[24:]] == ["r126", "r127", "r128"]


def test_notes_that_do_not_fit_are_counted() -> None:
    rows = [[f"r{i}", "1"] for i in range(129)]
    notes = [f"Note {i} " + "word " * 40 + "end." for i in range(9)]
    lines = plain(page(["It is so."], [table(["x", "y"], rows, 1)], notes, Size(80, LINES)))
    assert len(lines) < LINES
    assert re.fullmatch(r"\d more notes; --all shows them\.", lines[-1])
    assert any(line.startswith("Note 0") for line in lines)
