"""Options are said once: what a signature declares is what Python, the command line, its help, its completion and the
docs have."""

# No `annotations` from `__future__`: the declarations below are looked at.
# mypy: disable-error-code="empty-body"

import argparse
import inspect
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from types import ModuleType
from typing import Annotated, Any, Literal

import pytest

import fathoms as fm
from fathoms import functions
from fathoms.base import choices
from fathoms.base.options import Option, Parameter, answered_by, parameters
from fathoms.cli import options
from fathoms.experiment.reading import Reading, ReadingOptions
from fathoms.questions.completion.command import offered
from fathoms.signatures import Questions
from tests.support.scripts import script

QUESTIONS = [name for name in vars(Questions) if not name.startswith("_")]


# -- a question made up ---------------------------------------------------------------------------------------------


def listed(made: object, names: Any) -> list[str]:
    return list(names)


class Made:
    """Has a question that `answer` answers."""

    @answered_by(f"{__name__}:answer", notes=False)
    def ask(
        self,
        word: Annotated[Literal["yes", "no"], Option("a word")] = "yes",
        *,
        size: Annotated[int | None, Option("how large", "N", choices.whole_number, flags=("-s", "--how-large"))] = None,
        share: Annotated[float, Option("under 100%", "X", choices.share)] = 0.5,
        names: Annotated[Any, Option("may be repeated", "NAME", many=True, prepare=listed)] = (),
        loud: Annotated[bool, Option("loudly")] = False,
        hidden: bool = False,
        progress: Callable[[str], None] = print,
    ) -> dict[str, Any]:
        """What was asked with."""


def answer(made: Made, **given: Any) -> dict[str, Any]:
    return given


def parser_of(declared: dict[str, Parameter]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(exit_on_error=False)
    for parameter in declared.values():
        if parameter.is_flag:
            options.add_flag(parser, parameter)
    return parser


def test_a_question_is_answered_with_its_arguments_checked() -> None:
    asked: dict[str, Any] = {
        "word": "yes",
        "size": None,
        "share": 0.5,
        "names": [],
        "loud": False,
        "hidden": False,
        "progress": print,
    }
    assert Made().ask() == asked
    assert Made().ask("no", size=3, names="ab") == asked | {"word": "no", "size": 3, "names": ["a", "b"]}
    for wrong, message in (
        ({"word": "maybe"}, "word: expected one of yes, no, found 'maybe'"),
        ({"size": 0}, "size: expected a whole number from 1 on, found 0"),
        ({"share": None}, "share: expected a number between 0 and 1, found None"),
        ({"hidden": "no"}, "hidden: expected True or False, found 'no'"),
    ):
        with pytest.raises(fm.FathomsError, match=message):
            Made().ask(**wrong)
    with pytest.raises(TypeError, match="unexpected keyword argument 'sise'"):
        Made().ask(sise=3)  # type: ignore[call-arg]


def test_its_flags_are_those_of_the_signature() -> None:
    parser = parser_of(parameters(Made.ask))
    flags = {name: value for action in parser._actions for name in action.option_strings for value in [action]}
    assert set(flags) == {"-h", "--help", "--word", "-s", "--how-large", "--share", "--names", "--loud"}
    assert [flags[name].help for name in ("--word", "--share", "--how-large")] == [
        "a word (yes)",
        "under 100%% (0.5)",
        "how large",
    ]
    assert "under 100% (0.5)" in parser.format_help()
    assert offered(parser)["--word"] == ["yes", "no"]
    plain = vars(parser.parse_args([]))
    assert plain == {"word": "yes", "size": None, "share": 0.5, "names": [], "loud": False}
    given = parser.parse_args(["--word", "no", "-s", "3", "--names", "a", "--names", "b", "--loud"])
    assert options.arguments_of(given, Made.ask) == {
        "word": "no",
        "size": 3,
        "share": 0.5,
        "names": ["a", "b"],
        "loud": True,
    }
    assert options.changed(given, Made.ask, "names") == ["--word", "-s", "--loud"]
    assert options.changed(parser.parse_args([]), Made.ask) == []
    with pytest.raises(argparse.ArgumentError, match="expected a number between 0 and 1, found '5'"):
        parser.parse_args(["--share", "5"])


# -- all that are declared ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def flags() -> ModuleType:
    """The script that writes the page of all flags."""
    return script("flags")


def test_the_page_of_flags_is_what_the_code_says(flags: ModuleType) -> None:
    assert flags.PAGE.read_text(encoding="utf-8") == flags.page(), "run `python docs/flags.py`"


def test_the_stubs_are_what_the_code_says() -> None:
    stubs = script("stubs")
    assert stubs.STUB.read_text(encoding="utf-8") == stubs.stub(), "run `python docs/stubs.py`"


OTHER_DEFAULTS = {  # that depend on other flags, or on a session
    ("predict", "--method"),
    ("predict", "--draws"),
}


def test_every_flag_of_a_question_is_on_the_command_line_with_its_default(flags: ModuleType) -> None:
    for command in [name for name in flags.COMMANDS if flags.questions(name)]:
        actions = {name: action for action in flags.flags(command) for name in action.option_strings}
        for flag, parameter in flags.declared(command).items():
            action = actions[flag]
            assert action.dest == parameter.name
            assert list(parameter.words) == options.words_of(action)
            assert action.help == parameter.help.replace("%", "%%")
            if (command, flag) not in OTHER_DEFAULTS and not isinstance(parameter.default, range):
                several = parameter.option.many
                assert action.default == parameter.default or (several and not action.default), (command, flag)


def test_every_command_asks_with_the_defaults_of_python(flags: ModuleType) -> None:
    for command in [name for name in flags.COMMANDS if flags.questions(name)]:
        plain = argparse.Namespace(**{action.dest: action.default for action in flags.flags(command)})
        for name in flags.questions(command):
            declared = parameters(getattr(Questions, name))
            asked = {name: value for name, value in options.arguments(plain, name).items() if value != []}
            assert asked == {name: declared[name].default for name in asked}


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_option_is_declared_whole(name: str) -> None:
    for parameter in parameters(getattr(Questions, name)).values():
        option = parameter.option
        if option is None or not parameter.is_flag:
            continue
        if not parameter.is_switch and not parameter.words:
            assert option.metavar, f"{parameter.flags[-1]} of {name} says no metavar"
        plain = isinstance(parameter.default, str | int | float) and option.prepare is None
        if plain and parameter.check is not None:
            assert parameter.used(parameter.default) == parameter.default, "a default passes its own check"


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_function_that_answers_takes_what_is_asked(name: str) -> None:
    """All arguments under their names; where it has a default for one, it is the one that is declared."""
    question = getattr(Questions, name)
    module, _, function = vars(question)["answered_by"].partition(":")
    taken = inspect.signature(attrgetter(function)(import_module(module))).parameters
    declared = parameters(question)
    rest = any(one.kind is one.VAR_KEYWORD for one in taken.values())
    assert rest or not declared.keys() - taken.keys()
    for one in declared.keys() & taken.keys():
        default = taken[one].default
        if default is not inspect.Parameter.empty and not callable(default):
            assert default == declared[one].default, f"{function} has another default for {one}"


def test_functions_take_the_arguments_of_methods() -> None:
    for name, home in fm._HOMES.items():
        if home != "functions":
            continue
        function = inspect.signature(getattr(functions, name)).parameters
        for argument, parameter in parameters(getattr(Questions, name)).items():
            if argument in function and function[argument].default is not inspect.Parameter.empty:
                assert function[argument].default == parameter.default


def test_help_shows_plain_types() -> None:
    for found in (fm.Experiment.compare, fm.compare, fm.Experiment):
        assert "Option(" not in str(inspect.signature(found))
    assert "alpha: float = 0.05" in str(inspect.signature(fm.compare))


def test_reading_options_are_those_of_an_experiment() -> None:
    declared = list(parameters(Reading.__init__))
    assert ["qrels", "runs", *ReadingOptions.__annotations__, "memory_mb"] == declared
    types = Reading.__init__.__annotations__
    assert {name: one.__origin__ for name, one in ReadingOptions.__annotations__.items()} == {
        name: types[name] for name in ReadingOptions.__annotations__
    }
