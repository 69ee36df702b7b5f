"""Common checks over every command and every flag: described, documented, and to be had from Python too."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import pytest

import fathoms as fm
from fathoms.cli.app import COMMANDS
from tests.support.paths import ROOT

EXPERIMENT = fm.Experiment  # before it is replaced
# The method of Experiment that a command calls. Others make or convert files, or are of the command line itself.
METHODS = {
    "eval": "evaluate",
    "compare": "compare",
    "diff": "diff",
    "doubt": "doubt",
    "rank": "rank",
    "depth": "depth",
    "audit": "audit",
    "labels": "labels",
    "ties": "ties",
    "predict": "predict",
    "plan": "plan",
    "pool": "pool",
    "judge": "judge",
    "report": "report",
    "check": "check",
}
# What a flag is called in Python, where that is not its own name.
CALLED = {
    ("", "--measure"): "measures",
    ("", "--nonrelevant-grade"): "junk",
    ("", "--corr"): "correlation",
    ("judge", "--session"): "path",
}
# Parameters of methods that functions do without: these make an experiment of their own, and return a frame.
ONLY_METHODS = {"resume", "scores_only", "command", "path", "measures", "qrels"}
# Values that are not a 3, and flags without which another has no sense.
VALUES = {
    "--alpha": "0.2",
    "--min-kappa": "0.2",
    "--nonrelevant-grade": "-3",
    "--scheduler": "tcp://127.0.0.1:9",
    "--pooled": "names.txt",
    "--groups": "teams.tsv",
    "--measure": "P@3",
    "--constants": "0.1,0.2",
    "--level": "0.8",
    "--power": "0.7",
    "--confidence": "0.9",
    "--kappa-error": "0.2",
    "--from-scores": "scores.tsv",
    "--labels": "labels.tsv",
    "--resume": "folder",
    "--corpus-ids": "ids.txt",
    "--train-qrels": "train.txt",
    "--expect-judgments": "0123456789abcdef",
    "--cluster": "clusters.tsv",
    "--replicates": "{system}-*",
}
GOES_WITH = {
    ("ties", "--ties"): ["--fix", "fixed"],
}
# Flags that say what to do with a result, for which Python has the result itself.
OF_THE_RESULT = {
    "--format",
    "--output",
    "--quiet",
    "--verbose",
    "--all",
    "--show",
    "--fix",
    "--cross",
    "--scores",
    "--strict",
    "--judge-first",
    "--markdown",
    "--junit",
    "--probabilities",
    "--at-most",
    "--likely",
    "--sampled",
    "--tune",
    "--left-out",
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
    "--token-file",
    "--lease",
    "--assessors",
    "--links",
    "--show-standings",
    "--grades",
    "--guidelines",
    "--public-url",
    "--certificate",
    "--key",
    "--batch",
    "--to",
    "--answers",
    "--take-back",
    "--help",
    "--oracle",
    "--explain-to",
    "--provenance",
    "--chart",
    "--topic",
}


def parser_of(command: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"fathoms {command}")
    import_module(f"fathoms.questions.{command}.command").add_arguments(parser)
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


UTILITIES = ("papers", "measures", "demo", "completion")  # told in a line each

PAGES = "\n".join(
    page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_what_it_is_for(command: str) -> None:
    module = import_module(f"fathoms.questions.{command}.command")
    assert inspect.getdoc(module), (
        f"write a docstring for src/fathoms/questions/{command}/command.py: it is what --help shows"
    )
    assert len(module.EXAMPLES) == 2, (
        f"EXAMPLES of src/fathoms/questions/{command}/command.py are two: what it answers, and how"
    )
    for answers, example in module.EXAMPLES:
        assert answers
        assert f"fathoms {command}" in example
    assert f"fathoms {command}" in PAGES, f"no page of docs/ has an example of `fathoms {command}`"


@pytest.mark.parametrize(("command", "flag"), FLAGS)
def test_every_flag_has_help(command: str, flag: str) -> None:
    """The page of all flags is made of it."""
    assert (dict(flags(command))[flag].help or "").strip(), f"{flag} of `fathoms {command}` has no help text"


@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in ("trec_eval", *UTILITIES)])
def test_a_page_leads_to_the_flags_of_each_command(command: str) -> None:
    assert f"flags.md#fathoms-{command})" in PAGES, f"link to docs/flags.md#fathoms-{command} on the page of {command}"


def keyword(command: str, flag: str) -> str:
    return CALLED.get((command, flag)) or CALLED.get(("", flag)) or flag.removeprefix("--").replace("-", "_")


def keywords(command: str) -> set[str]:
    """What Experiment and the command's method take."""
    taken = set(inspect.signature(EXPERIMENT.__init__).parameters)
    return taken | set(inspect.signature(getattr(EXPERIMENT, METHODS[command])).parameters)


PASSED_ON = [one for one in FLAGS if one.values[0] in METHODS and one.values[1] not in OF_THE_RESULT]


@pytest.mark.parametrize(("command", "flag"), PASSED_ON)
def test_python_can_do_what_the_command_line_can(command: str, flag: str) -> None:
    if (command, flag) in (("predict", "--confidence"), ("judge", "--salvage")):  # a method or function of its own
        return
    assert keyword(command, flag) in keywords(command), (
        f"{flag} of `fathoms {command}` has no keyword in Experiment or Experiment.{METHODS[command]}: add one, name "
        "it in CALLED if it is called otherwise, or in OF_THE_RESULT if it only says what to do with the result"
    )


FUNCTIONS = [name for name in METHODS.values() if hasattr(fm, name)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_what_methods_take(name: str) -> None:
    method = inspect.signature(getattr(EXPERIMENT, name)).parameters.keys()
    function = inspect.signature(getattr(fm, name)).parameters.keys()
    lacking = method - function - {"self", "progress"} - ONLY_METHODS
    assert not lacking, f"fm.{name} lacks {', '.join(sorted(lacking))} of Experiment.{name}"


# -- a flag reaches the work ------------------------------------------------------------------------------------------


class ReachedError(Exception):
    """The command has called its method."""


class Recorder:
    """Stands for Experiment, and keeps what it and its method are called with."""

    said: ClassVar[dict[str, Any]] = {}

    def __init__(self, qrels: Any, runs: Any, **options: Any) -> None:
        Recorder.said = dict(options)
        self.runs = {} if runs is None else fm.scan_runs(runs)

    def __getattr__(self, method: str) -> Any:
        def call(*args: Any, **more: Any) -> None:
            names = list(inspect.signature(getattr(EXPERIMENT, method)).parameters)[1:]
            Recorder.said |= dict(zip(names, args, strict=False)) | more
            raise ReachedError

        return call


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n")
    (tmp_path / "x.run").write_text("1 Q0 a 1 2 t\n")
    return str(tmp_path / "qrels.txt"), str(tmp_path / "x.run")


def words_for(flag: str, action: argparse.Action) -> list[str]:
    """The flag with a value that is not its default."""
    if action.nargs == 0:
        return [flag]
    if action.choices is not None:
        return [flag, next(str(choice) for choice in action.choices if choice != action.default)]
    return [flag, *[VALUES.get(flag, "3")] * (action.nargs if isinstance(action.nargs, int) else 1)]


@pytest.mark.parametrize(("command", "flag"), PASSED_ON)
def test_every_flag_reaches_the_work(
    command: str, flag: str, files: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if command == "judge" or (command, flag) in (("predict", "--confidence"), ("labels", "--runs")):
        pytest.skip("has a way of its own, and tests of it")
    monkeypatch.setattr("fathoms.api.Experiment", Recorder)
    monkeypatch.chdir(tmp_path)
    action = dict(flags(command))[flag]
    words = [*GOES_WITH.get((command, flag), ()), *words_for(flag, action)]
    given = [files[1], "--qrels", files[0]] if command == "pool" else files
    if command == "labels":  # of which a run is none
        given = (files[0], files[0])
    if command == "pool" and flag not in ("--depth", "--budget"):
        words += ["--depth", "2"]
    parser = parser_of(command)
    try:
        parsed = getattr(parser.parse_intermixed_args([*given, *words]), action.dest)
        import_module(f"fathoms.questions.{command}.command").run(parser.parse_intermixed_args([*given, *words]))
    except ReachedError:
        pass
    assert Recorder.said.get(keyword(command, flag)) == parsed, f"`fathoms {command}` does not pass {flag} on"
