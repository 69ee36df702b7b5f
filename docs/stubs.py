"""Write src/fathoms/functions.pyi, the signatures of the functions for a single call: `python docs/stubs.py`.

They follow from the methods of `Experiment`; editors and type checkers, which run nothing, read them there.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import fathoms
from fathoms import functions
from fathoms.base import choices
from fathoms.inference import names
from fathoms.signatures import Progress

ROOT = Path(__file__).resolve().parent.parent
STUB = ROOT / "src" / "fathoms" / "functions.pyi"
START = '''"""Written by docs/stubs.py."""

import os
from collections.abc import Sequence
from typing import Any, Unpack

import polars as pl

'''
WORDS = {  # types that stand for a few words
    type: (name, module.__name__)
    for module in (choices, names)
    for name, type in vars(module).items()
    if get_origin(type) is Literal
}
WIDTH = 120


def shown_type(annotation: Any) -> str:
    """A type as somebody would write it, without what the command line is to know of it."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, str):
        return annotation
    if annotation == Progress:
        return "Progress"
    if origin is Annotated:
        return shown_type(inside[0])
    if origin is Literal:
        return WORDS[annotation][0]
    if annotation in (Any, NoneType):
        return "Any" if annotation is Any else "None"
    if not inside:
        return str(annotation.__name__)
    parts = [shown_type(one) for one in inside]
    if isinstance(origin, type) and origin.__name__ != "UnionType":
        return f"{'os.' if origin.__module__ == 'os' else ''}{origin.__name__}[{', '.join(parts)}]"
    return " | ".join(parts)


def shown_default(default: Any) -> str:
    if isinstance(default, str):
        return f'"{default}"'
    if isinstance(default, tuple):
        return f"({', '.join(map(shown_default, default))}{',' if len(default) == 1 else ''})"
    return str(default.__name__) if inspect.isfunction(default) else repr(default)


def shown_parameter(parameter: inspect.Parameter) -> str:
    text = f"{parameter.name}: {shown_type(parameter.annotation)}"
    return text if parameter.default is parameter.empty else f"{text} = {shown_default(parameter.default)}"


def shown_parameters(signature: inspect.Signature) -> list[str]:
    parameters = [one for one in signature.parameters.values() if one.name != "self"]
    shown = [f"**{one.name}" if one.kind is one.VAR_KEYWORD else shown_parameter(one) for one in parameters]
    first = next((i for i, one in enumerate(parameters) if one.kind is one.KEYWORD_ONLY), None)
    return shown if first is None else [*shown[:first], "*", *shown[first:]]


def declaration(name: str) -> str:
    signature = inspect.signature(getattr(functions, name))
    *parameters, _ = shown_parameters(signature)
    parameters.append("**options: Unpack[ReadingOptions]")
    end = f") -> {signature.return_annotation}: ..."
    line = f"def {name}({', '.join(parameters)}{end}"
    if len(line) <= WIDTH:
        return line
    return f"def {name}(\n" + "".join(f"    {one},\n" for one in parameters) + end


def stub() -> str:
    body = "\n".join(declaration(name) for name, home in fathoms._HOMES.items() if home == "functions")
    used = set(re.findall(r"\w+", body))
    homes = {name: module for name, module in WORDS.values() if name in used}
    for node in ast.walk(ast.parse((ROOT / "src/fathoms/signatures.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module != "fathoms.estimate":
            homes |= {alias.name: node.module for alias in node.names if alias.name in used - homes.keys()}
    homes["ReadingOptions"] = "fathoms.experiment.reading"
    imports: dict[str, list[str]] = {}
    for name, module in sorted(homes.items()):
        if module.startswith("fathoms."):
            imports.setdefault(module, []).append(name)
    lines = [f"from {module} import {', '.join(imports[module])}" for module in sorted(imports)]
    return START + "\n".join(lines) + "\n\n" + body + "\n"


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
    print(STUB)
