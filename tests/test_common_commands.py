"""Common checks over every command and every flag: described, documented, and to be had from Python too."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import fathoms as fm
from fathoms.cli.app import COMMANDS, RENAMED
from fathoms.judging.log import JudgingSettings

ROOT = Path(__file__).resolve().parent.parent
# The method of Experiment that a command calls. Others make or convert files, or are of the command line itself.
METHODS = {
    "eval": "evaluate",
    "compare": "compare",
    "depth": "depth",
    "audit": "audit",
    "ties": "ties",
    "predict": "predict",
    "pool": "pool",
    "judge": "judge",
    "report": "report",
    "check": "check",
}
# What a flag is called in Python, where that is not its own name.
CALLED = {
    "--measure": "measures",
    "--nonrelevant-grade": "junk",
    "--corr": "correlation",
    "--confidence": "until",
    "--judge-twice": "double",
    "--session": "path",
}
# Flags that say what to do with a result, for which Python has the result itself.
OF_THE_RESULT = {
    "--format",
    "--output",
    "--quiet",
    "--show",
    "--fix",
    "--cross",
    "--scores",
    "--strict",
    "--probabilities",
    "--draws",
    "--qrels",
    "--export",
    "--assessor",
    "--budget",
    "--demo",
    "--docs",
    "--topic-texts",
    "--web",
    "--host",
    "--port",
    "--token",
    "--lease",
    "--help",
}


def parser_of(command: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"fathoms {command}")
    import_module(f"fathoms.cli.{command}").add_arguments(parser)
    return parser


def flags(command: str) -> Iterator[tuple[str, argparse.Action]]:
    for action in parser_of(command)._actions:
        for name in action.option_strings:
            if name.startswith("--") and name != "--help":
                yield name, action


FLAGS = [
    pytest.param(command, flag, id=f"{command} {flag}")
    for command in COMMANDS
    if command != "trec_eval"  # whose flags are trec_eval's, and documented as a table
    for flag, _ in flags(command)
]


PAGES = "\n".join(
    page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_what_it_is_for(command: str) -> None:
    module = import_module(f"fathoms.cli.{command}")
    assert inspect.getdoc(module), f"write a docstring for src/fathoms/cli/{command}.py: it is what --help shows"
    assert f"fathoms {command}" in module.EXAMPLES, f"EXAMPLES of src/fathoms/cli/{command}.py need one"
    assert f"fathoms {command}" in PAGES, f"no page of docs/ has an example of `fathoms {command}`"


@pytest.mark.parametrize(("command", "flag"), FLAGS)
def test_every_flag_has_help_and_is_documented(command: str, flag: str) -> None:
    action = dict(flags(command))[flag]
    assert action.help, f"{flag} of `fathoms {command}` has no help text"
    written = any(re.search(rf"{name}(?![\w-])", PAGES) for name in action.option_strings)
    assert written, f"no page of docs/ speaks of {flag}; add it to the table of flags of docs/{command}.md"


def keywords(command: str) -> set[str]:
    """What Experiment and the command's method take."""
    taken = set(inspect.signature(fm.Experiment.__init__).parameters)
    taken |= set(inspect.signature(getattr(fm.Experiment, METHODS[command])).parameters)
    if command == "judge":
        taken |= set(JudgingSettings.__dataclass_fields__)
    return taken


@pytest.mark.parametrize(("command", "flag"), [one for one in FLAGS if one.values[0] in METHODS])
def test_python_can_do_what_the_command_line_can(command: str, flag: str) -> None:
    if flag in OF_THE_RESULT or (command, flag) == ("predict", "--confidence"):  # a method of its own
        return
    keyword = CALLED.get(flag, flag.removeprefix("--").replace("-", "_"))
    assert keyword in keywords(command), (
        f"{flag} of `fathoms {command}` has no keyword in Experiment or Experiment.{METHODS[command]}: add one, name "
        "it in CALLED if it is called otherwise, or in OF_THE_RESULT if it only says what to do with the result"
    )


@pytest.mark.parametrize(
    ("command", "old", "new"), [(command, old, new) for command, names in RENAMED.items() for old, new in names.items()]
)
def test_old_spellings_lead_to_flags_that_exist(command: str, old: str, new: str) -> None:
    there = dict(flags(command or "eval"))
    assert new in there
    assert old not in there
