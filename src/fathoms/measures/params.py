"""Parameters of measures: how a class declares them, what they may be, and how they are written and read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from fathoms.base import choices
from fathoms.base.errors import FathomsError

Check = Literal["", "positive", "share", "base", "universe", "gains"]


class Param:
    """A measure's parameter: its default, what it is for, what it may be, and how it shows in the name."""

    def __init__(
        self, default: Any, about: str, choices: Sequence[str], check: Check, order: int, always_shown: bool
    ) -> None:
        self.default = default
        self.about = about
        self.choices = choices
        self.check = check
        self.order = order
        self.always_shown = always_shown


def param(
    default: Any,
    about: str = "",
    *,
    choices: Sequence[str] = (),
    check: Check = "",
    order: int = 0,
    always_shown: bool = False,
) -> Any:
    """Declare a parameter in a measure's class.

    `about` says in a line what it is for. `order` puts the parameters that many measures share after the measure's
    own; `always_shown` keeps a parameter in the name that nobody should have to guess, such as RBP's p.
    """
    return Param(default, about, choices, check, order, always_shown)


def check_value(measure: str, name: str, parameter: Param, value: Any) -> None:
    """Raise where a parameter's value makes no sense."""
    if parameter.choices and value not in parameter.choices:
        raise FathomsError(f"{measure}: {name} must be one of {', '.join(parameter.choices)}, found {value!r}")
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if parameter.check == "positive" and value is not None and not (number and value > 0):
        raise FathomsError(f"{measure}: {name} must be a positive number, found {value!r}")
    if parameter.check == "share" and not (number and 0 < value < 1):
        raise FathomsError(f"{measure}: {name} must lie between 0 and 1, found {value!r}")
    if parameter.check == "base" and value is not None and not (number and value > 1):
        raise FathomsError(f"{measure}: {name} must be a number above 1, found {value!r}")
    if parameter.check == "universe" and value not in choices.UNIVERSES and not (number and value >= 0):
        raise FathomsError(f"{measure}: {name} must be {choices.A_UNIVERSE}, found {value!r}")
    if isinstance(parameter.default, bool) and not isinstance(value, bool):
        raise FathomsError(f"{measure}: {name} must be True or False, found {value!r}")


def normal_value(parameter: Param, value: Any) -> Any:
    """The one form of a value that may be written in several; what makes no sense stays as it is."""
    if parameter.check != "universe":
        return value
    try:
        return choices.universe(value)
    except FathomsError:
        return value


def show_value(value: Any) -> str:
    """A value as it stands in a measure's name."""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if isinstance(value, tuple):
        return "{" + ",".join(f"{show_value(a)}:{show_value(b)}" for a, b in value) + "}"
    return str(value)


def read_arguments(arguments: str, text: str) -> list[tuple[str, Any]]:
    """`p=0.8,gains={0:0,1:1}` to pairs; values are numbers, True and False, dicts, or words with or without quotes."""
    pairs = []
    for part in re.split(r",(?![^{]*\})", arguments):
        if not part.strip():
            continue
        name, equals, value = part.partition("=")
        if not equals:
            raise FathomsError(f"{text}: expected parameter=value, found {part.strip()!r}")
        pairs.append((name.strip(), _literal(value.strip())))
    return pairs


def read_value(parameter: Param, value: Any, text: str) -> Any:
    """A parameter's value from what was written; `text` is the whole name, for messages."""
    if parameter.check == "gains":
        return _gains(value, text)
    if parameter.check == "universe":
        return _universe(value, text)
    return value


def _literal(text: str) -> Any:
    if text.startswith("{") and text.endswith("}"):
        entries = [entry.partition(":") for entry in text[1:-1].split(",") if entry.strip()]
        return {_literal(grade.strip()): _literal(gain.strip()) for grade, _, gain in entries}
    if text in ("True", "False", "None"):
        return {"True": True, "False": False, "None": None}[text]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text.strip("'\"")


def _gains(value: Any, text: str) -> tuple[tuple[float, float], ...]:
    if not isinstance(value, dict) or not value:
        raise FathomsError(f"{text}: gains must be given as {{0:0,1:1,2:3}}, found {value!r}")
    try:
        return tuple(sorted((float(grade), float(gain)) for grade, gain in value.items()))
    except ValueError:
        raise FathomsError(f"{text}: gains must be numbers for numbers, such as {{0:0,1:1,2:3}}") from None


def _universe(value: Any, text: str) -> str | float:
    try:
        return choices.universe(value)
    except FathomsError:
        raise FathomsError(f"{text}: universe must be {choices.A_UNIVERSE}, found {value!r}") from None
