"""Options: what a question may be asked with, declared once in the signature of its method.

    alpha: Annotated[float, Option("significance level", "A", choices.share)] = 0.05

says the name, type, default, check and meaning of an argument, for Python and as a flag of the command line. Nothing
heavy is imported here: the method names the function that answers it, which is loaded when the question is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from importlib import import_module
from operator import attrgetter
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar, get_args, get_origin

from fathoms.base.choices import checked, flag, one_of

P = ParamSpec("P")
R = TypeVar("R")


class Option(NamedTuple):
    """What there is to know about an argument besides its type and default. The words of a `Literal`, and True and
    False, are checked by the type.

    `meaning` is the help of the flag; if it is empty there is no flag. A plain default follows it in brackets, unless
    the text mentions the default itself.
    """

    meaning: str
    metavar: str | tuple[str, ...] | None = None
    check: Callable[[Any], Any] | None = None  # what the value becomes; takes text as well
    flags: tuple[str, ...] = ()  # if they are not `--name`
    many: bool = False  # the flag may be repeated
    values: int | str | None = None  # how many values follow the flag, as argparse's nargs
    heading: str = ""  # in the help, under which the flag is listed
    words: tuple[str, ...] = ()  # that the flag takes, if the type does not list them
    parse: Callable[[str], Any] | None = None  # what a text stands for, if `check` does not take it
    prepare: Callable[[Any, Any], Any] | None = None  # what the experiment makes of a value


class Parameter(NamedTuple):
    """An argument of a question, as its signature declares it."""

    name: str
    type: Any
    option: Option | None
    default: Any = ...  # ...: required

    @property
    def is_flag(self) -> bool:
        """Whether the command line has it too."""
        return self.option is not None and bool(self.option.meaning)

    @property
    def is_switch(self) -> bool:
        return bool in (self.type, *get_args(self.type))

    @property
    def words(self) -> tuple[str, ...]:
        """The words that a flag takes; empty if it is not a choice of words."""
        return _words(self.type) or (() if self.option is None else self.option.words)

    @property
    def flags(self) -> tuple[str, ...]:
        return (self.option and self.option.flags) or ("--" + self.name.replace("_", "-"),)

    @property
    def help(self) -> str:
        meaning = "" if self.option is None else self.option.meaning
        plain = isinstance(self.default, str | int | float) and not isinstance(self.default, bool)
        if not plain or "default" in meaning:
            return meaning
        return f"{meaning} ({self.default:g})" if isinstance(self.default, float) else f"{meaning} ({self.default})"

    @property
    def check(self) -> Callable[[Any], Any] | None:
        """The checked value, or an error that says what was expected."""
        if self.is_switch:
            return flag
        if words := _words(self.type):
            return partial(one_of, words)
        return None if self.option is None else self.option.check

    def used(self, value: Any) -> Any:
        """The value after its check; error messages begin with the argument's name."""
        if self.check is None or (value is None and self.default is None):
            return value
        return checked(self.name, self.check, value)


def _words(type: Any) -> tuple[str, ...]:
    if get_origin(type) is Literal:
        return get_args(type)
    return next(filter(None, map(_words, get_args(type))), ())


def parameters(question: Callable[..., Any]) -> dict[str, Parameter]:
    """The arguments of a question by name, without `self`."""
    return vars(question)["declared"]


def answered_by(place: str, *, notes: bool = True) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A method without a body is answered by the function at `package.module:name`, which gets the object and all
    arguments by name, checked. Its notes are raised as warnings, unless it takes no `notes`."""

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        declared = _declared(method)
        method.__annotations__ |= {
            name: parameter.type for name, parameter in declared.items()
        }  # as `help` is to show them

        @wraps(method)
        def ask(*args: P.args, **named: P.kwargs) -> R:
            method(*args, **named)  # which says what is wrong with the call itself
            asker: Any = args[0]
            given = dict(zip(declared, args[1:], strict=False)) | named
            values = {name: parameter.used(given.get(name, parameter.default)) for name, parameter in declared.items()}
            for name, parameter in declared.items():
                if parameter.option is not None and parameter.option.prepare is not None:
                    values[name] = parameter.option.prepare(asker, values[name])
            module, _, function = place.partition(":")
            answer = attrgetter(function)(import_module(module))(asker, **values)
            return asker.noted(answer, ask, given) if notes else answer

        vars(ask).update(declared=declared, answered_by=place)
        return ask

    return decorate


def _declared(method: Any) -> dict[str, Parameter]:
    """The declarations in a method's own code, since `inspect` takes longer to load than to use."""
    code, annotations = method.__code__, method.__annotations__
    positional = code.co_varnames[: code.co_argcount]
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    late = method.__defaults__ or ()
    defaults = dict(zip(positional[len(positional) - len(late) :], late, strict=True))
    defaults |= method.__kwdefaults__ or {}
    return {name: _parameter(name, annotations[name], defaults.get(name, ...)) for name in names[1:]}


def _parameter(name: str, annotation: Any, default: Any) -> Parameter:
    option = next((data for data in getattr(annotation, "__metadata__", ()) if isinstance(data, Option)), None)
    return Parameter(name, annotation if option is None else annotation.__origin__, option, default)
