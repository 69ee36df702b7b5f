"""From a measure's name to the measure: our notation, that of ir_measures, and trec_eval's names."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from fathoms.base.errors import FathomsError
from fathoms.measures.base import Measure
from fathoms.measures.params import read_arguments, read_value
from fathoms.measures.registry import MEASURES

_CUT = r"[0-9.]+(?:[eE][-+]?[0-9]+)?"
_FORM = re.compile(rf"\s*([A-Za-zα_][A-Za-z0-9_-]*)\s*(?:\((.*)\))?\s*(?:@\s*({_CUT}))?\s*", re.DOTALL)
_LOOSE = re.compile(rf"\s*([A-Za-z_-]*[A-Za-z])\s*(\(.*\))?\W*?_?({_CUT})?\W*", re.DOTALL)  # for hints only


def parse_measure(text: Any) -> Measure:
    """A measure from its name, such as `nDCG@10` or `AP(variant=b)@20`; measures of ir_measures are taken too."""
    if isinstance(text, Measure):
        return text
    if text is None or isinstance(text, bool | int | float | bytes):
        raise FathomsError(f"expected the name of a measure, such as nDCG@10, found {text!r}")
    text = str(text)  # as measures of ir_measures write themselves
    measure = _read(text)
    if measure is None:
        hint = _hint(text)
        hint = f" Did you mean {hint}?" if hint else ""
        raise FathomsError(f"unknown measure {text!r}.{hint} Known measures: {', '.join(MEASURES)}")
    return measure


def find_class(text: str) -> type[Measure]:
    """The class of a measure's name, which may lack a cut-off or whatever else a measure needs."""
    match = _FORM.fullmatch(text)
    return (_spelt(match[1]) if match else None) or type(parse_measure(text))


def trec_eval_name(measure: Measure) -> str:
    """trec_eval's name of a measure it has too, else our own."""
    cls = type(measure)
    template = cls.trec_eval if measure.k is None else cls.trec_eval_at
    if not template or measure != cls(k=measure.k):
        return measure.name
    return template.format(k=f"{measure.k:.2f}" if cls.cutoff == "recall" else f"{int(measure.k or 0)}")


def in_trec_eval(measure: Measure) -> bool:
    """Whether trec_eval has the measure, with or without a cut-off."""
    return bool(measure.trec_eval or measure.trec_eval_at)


def _read(text: str) -> Measure | None:
    match = _FORM.fullmatch(text)
    cls = None if match is None else _spelt(match[1])
    if match is None or cls is None:
        return _from_trec_eval(text)
    arguments = match[2] or ""
    if cls.__name__ == "NumRet" and "rel" in arguments:
        cls = MEASURES["NumRelRet"]  # as ir_measures prints it, and the next one too
    if cls.__name__ == "SetP" and (relative := re.search(r"relative\s*=\s*(True|False)\s*,?", arguments)):
        cls = MEASURES["SetRelP"] if relative[1] == "True" else cls
        arguments = arguments.replace(relative[0], "")
    return _build(cls, arguments, match[3], text)


def _spelt(name: str) -> type[Measure] | None:
    """The class of a name; our own spelling is found without looking at all classes."""
    return MEASURES[name] if name in MEASURES else _spellings().get(_plain(name))


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


@cache
def _spellings() -> dict[str, type[Measure]]:
    """Every name without a cut-off. A measure's own name goes before another's alias."""
    spellings: dict[str, type[Measure]] = {}
    for cls in MEASURES.values():
        spellings |= {_plain(alias): cls for alias in (*cls.aliases, *filter(None, [cls.trec_eval]))}
    return spellings | {_plain(name): cls for name, cls in MEASURES.items()}


def _from_trec_eval(text: str) -> Measure | None:
    """From trec_eval's name with a cut-off, as it prints it (`P_10`) or is asked for it (`-m P.10`)."""
    for name, cls in MEASURES.items():
        stem = cls.trec_eval_at.removesuffix("_{k}")
        match = re.fullmatch(rf"{re.escape(stem)}[_.@]({_CUT})", text) if stem else None
        if match:
            return _build(cls, "", match[1], f"{name}@{match[1]}")
    return None


def _build(cls: type[Measure], arguments: str, cutoff: str | None, text: str) -> Measure:
    known = cls.params
    values: dict[str, Any] = {}
    for name, value in read_arguments(arguments, text):
        if name in ("cutoff", "k"):
            cutoff = str(value)
            continue
        if name == "dcg":  # this and max_rel are spellings of ir_measures
            name, value = "gain", {"log2": "raw", "exp-log2": "exp"}.get(value, value)
        elif name == "max_rel":
            name = "max_grade"
        elif name == "min_rel" and value == 0:  # where scales start here
            continue
        if name not in known:
            takes = f"takes {', '.join(known)}" if known else "takes no parameters"
            raise FathomsError(f"{text}: {cls.__name__} has no parameter {name!r}; it {takes}")
        values[name] = read_value(known[name], value, text)
    if cutoff is not None:
        try:
            values["k"] = float(cutoff) if cls.cutoff == "recall" else _whole(cutoff)
        except (ValueError, OverflowError):
            raise FathomsError(f"{text}: the cut-off must be a number, found {cutoff!r}") from None
    return cls(**values)


def _whole(text: str) -> int:
    number = float(text)
    if number != int(number):
        raise ValueError(text)
    return int(number)


def _hint(text: str) -> str | None:
    """The measure that a misspelt name may mean, with its parameters and its cut-off where it takes them."""
    import difflib

    match = _LOOSE.fullmatch(text)
    if match is None:
        return None
    known = _spellings() | {
        _plain(cls.trec_eval_at.removesuffix("_{k}")): cls for cls in MEASURES.values() if cls.trec_eval_at
    }
    near = difflib.get_close_matches(_plain(match[1]), known, n=1, cutoff=0.5)
    if not near:
        return None
    cls = known[near[0]]
    name, arguments, cut = cls.__name__, match[2] or "", f"@{match[3]}" if match[3] else ""
    for guess in (name + arguments + cut, name + cut, name, *cls.names()):
        try:
            return parse_measure(guess).name
        except FathomsError:
            continue
    return name
