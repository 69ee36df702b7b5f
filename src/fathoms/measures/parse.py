"""From a measure's name to the measure: our notation, that of ir_measures, and trec_eval's names."""

from __future__ import annotations

import re
from typing import Any

from fathoms.errors import FathomsError
from fathoms.measures.base import Measure
from fathoms.measures.cascade import ERR, INST, RR, nERR
from fathoms.measures.normalised import AP, GMAP, Q, nDCG
from fathoms.measures.preference import Bpref, infAP
from fathoms.measures.sets import IPrec, NumQ, NumRel, NumRelRet, NumRet, R, Rprec, SetF, SetP, SetR, Success
from fathoms.measures.weighted import DCG, RBP, SDCG, Judged, P

MEASURES: dict[str, type[Measure]] = {
    cls.__name__: cls
    for cls in (
        P,
        R,
        RR,
        AP,
        nDCG,
        RBP,
        ERR,
        nERR,
        DCG,
        SDCG,
        Q,
        Bpref,
        infAP,
        INST,
        Judged,
        Rprec,
        Success,
        SetP,
        SetR,
        SetF,
        NumQ,
        NumRet,
        NumRel,
        NumRelRet,
        IPrec,
        GMAP,
    )
}
ALIASES = {"map": "AP", "mrr": "RR", "precision": "P", "prec": "P", "recall": "R", "ndcg": "nDCG", "gm_map": "GMAP"}

# trec_eval's name for what our name (without cut-off) is; {k} stands for the cut-off.
TREC_EVAL = {
    "AP": "map",
    "AP@": "map_cut_{k}",
    "nDCG": "ndcg",
    "nDCG@": "ndcg_cut_{k}",
    "P@": "P_{k}",
    "R@": "recall_{k}",
    "RR": "recip_rank",
    "Rprec": "Rprec",
    "Bpref": "bpref",
    "infAP": "infAP",
    "Success@": "success_{k}",
    "SetP": "set_P",
    "SetR": "set_recall",
    "SetF": "set_F",
    "NumQ": "num_q",
    "NumRet": "num_ret",
    "NumRel": "num_rel",
    "NumRelRet": "num_rel_ret",
    "IPrec@": "iprec_at_recall_{k}",
    "GMAP": "gm_map",
}

_FORM = re.compile(r"\s*([A-Za-z_]+)\s*(?:\((.*)\))?\s*(?:@\s*([0-9.]+(?:[eE][-+]?[0-9]+)?))?\s*", re.DOTALL)


def parse_measure(text: Any) -> Measure:
    """A measure from its name, such as `nDCG@10` or `AP(variant=b)@20`; measures of ir_measures are taken too."""
    if isinstance(text, Measure):
        return text
    text = str(text)
    found = _FORM.fullmatch(text)
    measure = None
    if found is not None:
        cls = _class(found[1])
        if cls is NumRet and "rel" in (found[2] or ""):
            cls = NumRelRet  # as ir_measures prints it
        if cls is not None:
            measure = _build(cls, found[2] or "", found[3], text)
    if measure is None:
        measure = _from_trec_eval(text)
    if measure is None:
        import difflib

        near = difflib.get_close_matches(text.split("@")[0].split("(")[0], [*MEASURES, *ALIASES], n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise FathomsError(f"unknown measure {text!r}; {hint}Known are {', '.join(MEASURES)}")
    return measure


def trec_eval_name(measure: Measure) -> str:
    """trec_eval's name of a measure it has too, else our own."""
    bare = type(measure)(k=measure.k) if measure.k is not None else type(measure)()
    if measure == bare:
        cls = type(measure).__name__
        if measure.k is None and cls in TREC_EVAL:
            return TREC_EVAL[cls]
        if measure.k is not None and cls + "@" in TREC_EVAL:
            k = f"{measure.k:.2f}" if measure.cutoff == "recall" else f"{int(measure.k)}"
            return TREC_EVAL[cls + "@"].format(k=k)
    return measure.name


def _class(name: str) -> type[Measure] | None:
    if name in MEASURES:
        return MEASURES[name]
    by_case = {known.lower(): known for known in MEASURES} | ALIASES
    known = by_case.get(name.lower())
    return MEASURES[known] if known else None


def _build(cls: type[Measure], arguments: str, cutoff: str | None, text: str) -> Measure:
    known = cls.params
    values: dict[str, Any] = {}
    for name, value in _arguments(arguments, text):
        if name in ("cutoff", "k"):
            cutoff = str(value)
            continue
        if name == "dcg":
            name, value = "gain", {"log2": "raw", "exp-log2": "exp"}.get(value, value)
        elif name in ("max_rel", "max_grade"):
            name = "max_grade"
        if name not in known:
            takes = f"takes {', '.join(known)}" if known else "takes no parameters"
            raise FathomsError(f"{text}: {cls.__name__} has no parameter {name!r}; it {takes}")
        if name == "gains":
            if not isinstance(value, dict) or not value:
                raise FathomsError(f"{text}: gains must be given as {{0:0,1:1,2:3}}, found {value!r}")
            try:
                value = tuple(sorted((float(grade), float(gain)) for grade, gain in value.items()))
            except ValueError:
                raise FathomsError(f"{text}: gains must be numbers for numbers, such as {{0:0,1:1,2:3}}") from None
        elif name == "universe":
            value = _universe(value, text)
        values[name] = value
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


def _universe(value: Any, text: str) -> str | float:
    if value in ("run", "all", "given"):
        return "all" if value == "given" else str(value)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise FathomsError(
            f"{text}: universe must be run, all, a number of documents or inf, found {value!r}"
        ) from None


def _arguments(arguments: str, text: str) -> list[tuple[str, Any]]:
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


def _from_trec_eval(text: str) -> Measure | None:
    for ours, theirs in TREC_EVAL.items():
        pattern = re.escape(theirs).replace(re.escape("{k}"), r"([0-9.]+)")
        found = re.fullmatch(pattern, text)
        if found:
            return parse_measure(ours + found[1] if ours.endswith("@") else ours)
    return None
