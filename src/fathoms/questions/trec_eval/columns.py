"""What `-m` asks for, as columns in the order in which trec_eval prints them, and their values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base.errors import FathomsError
from fathoms.base.tolerances import LEAST_AP
from fathoms.evidence.evidence import Evidence
from fathoms.questions.trec_eval.measures import GROUPS, KNOWN, Known
from fathoms.questions.trec_eval.rankings import Gains, Rankings

PREFERENCES = "needs preferences between documents (-R prefs or -R qrels_prefs), which fathoms does not read"
GROUPED = "needs judgments of several assessors side by side (-R qrels_jg), which fathoms does not read"
UNSUPPORTED = dict.fromkeys(("qrels_jg", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg"), GROUPED) | dict.fromkeys(
    (
        *("all_prefs", "prefs", "prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret"),
        *("prefs_simp", "prefs_simp_ret", "prefs_simp_imp", "prefs_pair", "prefs_pair_ret", "prefs_pair_imp"),
        *("prefs_avgjg", "prefs_avgjg_ret", "prefs_avgjg_imp", "prefs_avgjg_Rnonrel", "prefs_avgjg_Rnonrel_ret"),
    ),
    PREFERENCES,
)


@dataclass(frozen=True)
class Column:
    """One line of the output for each topic: a measure with its parameter."""

    name: str
    known: Known
    parameter: Any = None


def columns_of(words: Sequence[str], notes: list[str]) -> list[Column]:
    """What `-m` asks for, as `P.5,10` or `official`, in the order in which trec_eval prints.

    Of parameters given twice for one measure the first count, and those given to a measure that takes none count for
    nothing, as there; `notes` gets a word on that.
    """
    given: dict[str, str] = {}
    wanted: set[str] = set()
    for word in words:
        name, dot, text = word.partition(".")
        if name in UNSUPPORTED:
            raise FathomsError(f"the measure {name} {UNSUPPORTED[name]}")
        if name not in KNOWN and name not in GROUPS:
            raise _unknown(name)
        if dot and not text:
            raise FathomsError(f"-m {word}: expected parameters after the point, such as -m P.5,10")
        if dot and (name in GROUPS or KNOWN[name].parameters == "none"):
            notes.append(f"-m {word}: {name} takes no parameters; they are ignored, as trec_eval does")
        elif dot and given.setdefault(name, text) != text:
            notes.append(f"-m {word}: ignored, as trec_eval does, since -m {name}.{given[name]} stands before it")
        wanted.update(GROUPS.get(name, (name,)))
    return [column for name in KNOWN if name in wanted for column in _columns(KNOWN[name], given.get(name))]


def _unknown(name: str) -> FathomsError:
    import difflib

    near = difflib.get_close_matches(name, [*KNOWN, *GROUPS], n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]}?" if near else "."
    hint += " (`fathoms eval` takes names such as nDCG@10)" if "@" in name else ""
    return FathomsError(f"trec_eval 9.0.8 has no measure {name!r}{hint} The list is in `fathoms trec_eval --help`")


def _columns(known: Known, text: str | None) -> list[Column]:
    name = known.name
    if known.parameters == "none":
        return [Column(name, known)]
    if known.parameters == "gains":
        gains = () if text is None else _gains(name, text)
        return [Column(name if text is None else f"{name}_{text}", known, gains)]
    values = known.default if text is None else tuple(_parameter(name, part) for part in text.split(","))
    if known.parameters == "numbers":
        if name == "utility" and len(values) != 4:
            raise FathomsError(f"-m {name}.{text}: expected four numbers, found {len(values)}")
        if name == "11pt_avg" and list(values) != sorted(values):
            raise FathomsError(f"-m {name}.{text}: expected levels of recall in ascending order")
        return [Column(name if text is None else f"{name}_{text}", known, values)]
    if len(set(values)) < len(values):
        raise FathomsError(f"-m {name}.{text}: expected each cut-off once")
    if known.parameters == "levels":
        return [Column(f"{name}_{value:.2f}", known, value) for value in sorted(values)]
    if any(value < 1 or value != int(value) for value in values):
        raise FathomsError(f"-m {name}.{text}: expected ranks, whole numbers from 1 on")
    return [Column(f"{name}_{int(value)}", known, int(value)) for value in sorted(values)]


def _parameter(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FathomsError(f"-m {name}: expected numbers with commas between, such as -m {name}.1,2; found {text!r}")
    return value


def _gains(name: str, text: str) -> Gains:
    pairs = []
    for part in text.split(","):
        grade, equals, gain = part.partition("=")
        if not equals or not grade.removeprefix("-").isdecimal():
            raise FathomsError(f"-m {name}: expected grade=gain, such as -m {name}.1=3.5,2=9; found {part!r}")
        pairs.append((int(grade), _parameter(f"{name}.{grade}=", gain)))
    if len(dict(pairs)) < len(pairs):
        raise FathomsError(f"-m {name}.{text}: expected each grade once")
    return tuple(pairs)


def values_of(
    evidence: Evidence,
    columns: Sequence[Column],
    *,
    level: int = 1,
    judged_only: bool = False,
    most: int | None = None,
    collection: int = 0,
) -> list[NDArray[Any]]:
    """Each column's value for each topic; of a ranking the first `most` documents, and of those the judged ones."""
    parts: list[list[NDArray[Any]]] = []
    for chunk in evidence.chunks():
        if most is not None:
            chunk = replace(chunk.cut(most), lengths=np.minimum(chunk.lengths, most))
        rankings = Rankings(chunk.condensed if judged_only else chunk, level, collection)
        parts.append([column.known.value(rankings, column.parameter) for column in columns])
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def over_topics(column: Column, values: NDArray[Any], n: int) -> float:
    """One value for n topics, those that are not in the run (`-c`) with nothing in all measures."""
    total = float(np.cumsum(values)[-1])
    if column.known.over == "sum":
        return total
    if column.known.over == "topics":
        return n
    if column.known.over == "geometric":
        return math.exp((total + (n - len(values)) * math.log(LEAST_AP)) / n)
    return total / n
