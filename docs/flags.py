"""Write docs/flags.md, the flags of all commands, from the code: `python docs/flags.py`.

Those that Python has too are declared in the signatures of `Experiment` and its methods.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from fathoms.base.options import Parameter, parameters
from fathoms.cli import options
from fathoms.cli.app import COMMANDS, add_arguments
from fathoms.experiment.reading import Reading
from fathoms.signatures import Questions

PAGE = Path(__file__).resolve().parent / "flags.md"
START = """# Flags and keywords

Every flag of every command, and the keyword that Python has for it; a default follows in brackets. The pages of the
commands explain what matters. This page is made from the code by `docs/flags.py`.

A flag that says how judgments and runs are read is a keyword of [`Experiment`](experiment.md), and listed once, at the
[end](#in-most-commands). Any other with a keyword is an argument of the method that is named. The rest is about the
command line itself, and has none: Python has the [result](api.md#results).
"""
HEAD = "| flag | in Python | meaning |\n|---|---|---|"
QUESTIONS = {"eval": ("evaluate",), "predict": ("predict", "tune")}  # others are called as the command is
OF_MOST = ("--all", "--quiet", "--verbose", "--max-unpacked")
WITHOUT = ("trec_eval",)  # which has the flags of another tool


def questions(command: str) -> tuple[str, ...]:
    """The methods of `Experiment` that declare flags of a command."""
    return QUESTIONS.get(command) or ((command,) if hasattr(Questions, command) else ())


def declared(command: str) -> dict[str, Parameter]:
    """By flag, what the signature of the command's question says."""
    return by_flag(each for name in questions(command) for each in parameters(getattr(Questions, name)).values())


def read_with() -> dict[str, Parameter]:
    return by_flag(parameters(Reading.__init__).values())


def by_flag(several: Iterable[Parameter]) -> dict[str, Parameter]:
    return {each.flags[-1]: each for each in several if each.is_flag}


def flags(command: str) -> Iterator[argparse.Action]:
    parser = argparse.ArgumentParser(prog=f"fathoms {command}")
    add_arguments(command, parser)
    return (one for one in parser._actions if one.option_strings and one.dest != "help" and one.help != "==SUPPRESS==")


def row(action: argparse.Action, parameter: Parameter | None) -> str:
    meaning = (action.help or "").replace("%%", "%").replace("|", "\\|")
    value = action.metavar or ("" if action.choices is None else "|".join(map(str, action.choices)))
    values = [value] if isinstance(value, str) else value
    shown = " ".join(filter(None, [action.option_strings[-1], *values])).replace("|", "\\|")
    names = [*action.option_strings[:-1], shown]
    keyword = "" if parameter is None else f"`{parameter.name}`"
    return f"| {', '.join(f'`{name}`' for name in names)} | {keyword} | {meaning} |"


def section(command: str) -> str:
    own, reading = declared(command), read_with()
    rows, shared = [], []
    for action in flags(command):
        flag = action.option_strings[-1]
        if flag in own or flag not in (*reading, *OF_MOST):
            rows.append(row(action, own.get(flag)))
        else:
            shared.append(f"`{flag}`")
    asked = " and ".join(f"`Experiment.{name}`" for name in questions(command))
    parts = [f"## fathoms {command}\n", *([f"In Python: {asked}.\n"] if asked else [])]
    parts += [HEAD, *rows, ""] if rows else []
    parts += [f"Also {', '.join(shared)}.\n"] if shared else []
    return "\n".join(parts)


def page() -> str:
    reading = read_with()
    parser = argparse.ArgumentParser(add_help=False)
    options.add_reading(parser, *(one.name for one in reading.values()))
    options.add_all(parser)
    options.add_talk(parser)
    options.add_max_unpacked(parser)
    rows = [row(one, reading.get(one.option_strings[-1])) for one in parser._actions]
    sections = [section(command) for command in COMMANDS if command not in WITHOUT]
    return "\n".join([START, *sections, "## In most commands\n", HEAD, *rows]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
