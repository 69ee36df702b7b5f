"""What arguments may be, said once for the command line and for Python: choices, and checks with their messages.

Nothing heavy is imported here, so that `fathoms COMMAND --help` can show the choices at once.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from fathoms.base.errors import FathomsError

Ties = Literal["trec", "run", "rank", "score-rank", "expected"]
Precision = Literal["float32", "float64"]
Topics = Literal["all", "intersect"]
JudgedTopics = Literal["judged", "all"]
Names = Literal["file", "tag"]
Bounds = Literal["exact", "rm"]
Ranges = Literal["auto", "all"]  # which ranges of differences are made: those that are quick to make, or every one
Correlation = Literal["tau", "tau_ap", "rbo", "spearman", "pearson", "rmse"]
RankTies = Literal["w", "a", "b"]  # what a group of tied items means to rank-biased overlap
PrefixOrder = Literal["file", "shuffle"]
RollUp = Literal["max", "first"]
Design = Literal["uniform", "depth", "score", "probe", "label"]
PaperForm = Literal["latex", "md", "html"]  # of a table for a paper

TIES: tuple[Ties, ...] = get_args(Ties)
JUDGED_TOPICS: tuple[JudgedTopics, ...] = get_args(JudgedTopics)
RANK_TIES: tuple[RankTies, ...] = get_args(RankTies)
ROLL_UPS: tuple[RollUp, ...] = get_args(RollUp)
DESIGNS: tuple[Design, ...] = get_args(Design)
PAPER_FORMS: tuple[PaperForm, ...] = get_args(PaperForm)
UNIVERSES = ("auto", "run", "pair", "all")
A_UNIVERSE = "auto, run, pair, all, a number or inf"
PATIENCE = 300  # seconds to wait for the workers of a cluster that has none


def one_of(choices: Sequence[str], value: Any) -> str:
    if not isinstance(value, str) or value not in choices:
        raise FathomsError(f"expected one of {', '.join(choices)}, found {value!r}")
    return value


def flag(value: Any) -> bool:
    """True or False, and not a word for it: `by_topic="no"` would mean yes."""
    if type(value).__name__ not in ("bool", "bool_"):  # numpy's is called bool_ or bool
        raise FathomsError(f"expected True or False, found {value!r}")
    return bool(value)


def path(value: Any) -> Path:
    if not is_path(value):
        raise FathomsError(f"expected the name of a file, found {value!r}")
    return Path(value)


def share(value: Any) -> float:
    """A number between 0 and 1, neither included."""
    number = _as_float(value)
    if number is None or not 0 < number < 1:
        raise FathomsError(f"expected a number between 0 and 1, found {value!r}")
    return number


def above_half(value: Any) -> float:
    number = _as_float(value)
    if number is None or not 0.5 < number < 1:
        raise FathomsError(f"expected a probability between 0.5 and 1, found {value!r}")
    return number


def percentage(value: Any) -> float:
    """A share from 0 to 1, or as text with a per cent sign."""
    in_percent = isinstance(value, str) and value.endswith("%")
    number = _as_float(value.removesuffix("%") if in_percent else value)
    if number is None or not 0 <= number <= (100 if in_percent else 1):
        raise FathomsError(f"expected a share such as 10% or 0.1, found {value!r}")
    return number / 100 if in_percent else number


def at_least_zero(value: Any) -> float:
    number = _as_float(value)
    if number is None or not number >= 0:
        raise FathomsError(f"expected a number from 0 on, found {value!r}")
    return number


def finite_from_zero(value: Any) -> float:
    number = at_least_zero(value)
    if number == float("inf"):
        raise FathomsError(f"expected a finite number from 0 on, found {value!r}")
    return number


def drop(value: Any) -> float:
    """On the measure's scale: 2% is 0.02, two points where scores go from 0 to 1."""
    in_percent = isinstance(value, str) and value.endswith("%")
    return percentage(value) if in_percent else finite_from_zero(value)


def positive(value: Any) -> float:
    number = _as_float(value)
    if number is None or not 0 < number < float("inf"):
        raise FathomsError(f"expected a number above 0, found {value!r}")
    return number


def number(value: Any) -> float:
    result = _as_float(value)
    if result is None or abs(result) == float("inf"):
        raise FathomsError(f"expected a number, found {value!r}")
    return result


def whole_number(value: Any, least: int = 1) -> int:
    number = _as_float(value)
    plain = not isinstance(value, str) or (value.isascii() and value.isdigit())  # not 1e3, 1_000 or 1.0
    if number is None or not plain or number < least or number % 1 != 0:  # inf % 1 is nan
        raise FathomsError(f"expected a whole number from {least} on, found {value!r}")
    return int(value)


def size(value: Any) -> int:
    """Bytes, as a number or as text such as 500MB, 8GB or 2GiB."""
    import re

    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?(?:([KMGT])(i?)B?|B)?", str(value), re.IGNORECASE | re.ASCII)
    if match is None or not float(match[1]):
        raise FathomsError(f"expected a size such as 500MB or 8GB, found {value!r}")
    thousand = 1024 if match[3] else 1000
    return int(float(match[1]) * thousand ** ("KMGT".index(match[2].upper()) + 1 if match[2] else 0))


def nonrelevant_grade(value: Any) -> float:
    number = _as_float(value)
    if number is None or not number < 0:
        raise FathomsError(f"expected a negative grade, such as -2, found {value!r}")
    return number


def universe(value: Any) -> str | float:
    """Which unjudged documents may turn out relevant; `given` is another word for `all`. A number is one of documents
    that no run has; it may be inf."""
    if value == "given":
        return "all"
    if value in UNIVERSES:
        return str(value)
    number = _as_float(value)
    if number is None or not number >= 0 or (number % 1 != 0 and number != float("inf")):
        raise FathomsError(f"expected {A_UNIVERSE}, found {value!r}")
    return number


def depths(value: Any) -> list[int]:
    """`1:50`, `10:100:10`, `1,5,10`, or a sequence of whole numbers, ascending and without repeats."""
    wanted = "expected depths such as 1:50, 10:100:10 or 1,5,10"
    try:
        if isinstance(value, str) and ":" in value:
            first, last, *step = (int(part) for part in value.split(":"))
            chosen = list(range(first, last + 1, *step))
        else:
            chosen = [whole_number(part) for part in (value.split(",") if isinstance(value, str) else value)]
    except (ValueError, TypeError, FathomsError):
        chosen = []
    if not chosen or min(chosen) < 1:
        raise FathomsError(f"{wanted}, found {value!r}")
    return sorted(set(chosen))


def checked(name: str, check: Any, *args: Any) -> Any:
    """What the check makes of the last argument; error messages begin with the argument's name."""
    try:
        return check(*args)
    except FathomsError as error:
        raise FathomsError(f"{name}: {error}") from None


def an_order(ties: str, what: str) -> None:
    """Refuse `expected`, a mean over orders, for work that needs a single order."""
    if ties == "expected":
        others = [rule for rule in TIES if rule != "expected"]
        raise FathomsError(
            f"ties: {what} needs one order of tied documents, and `expected` is the mean over all orders; use "
            f"{', '.join(others[:-1])} or {others[-1]}"
        )


def is_path(source: Any) -> bool:
    return isinstance(source, str | os.PathLike)


def _as_float(value: Any) -> float | None:
    """The number that a value is, or that a text spells; none for True, False, nan and everything else."""
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if number != number else number
