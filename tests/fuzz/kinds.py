"""All kinds of cases by name: modules with `make(rng)` and `check(case)`. A new kind is a module and a line here."""

from __future__ import annotations

from importlib import import_module
from random import Random
from typing import Protocol, cast

from tests.fuzz.case import Case


class Kind(Protocol):
    def make(self, rng: Random) -> Case: ...

    def check(self, case: Case) -> str: ...


KINDS = {
    "text": "tests.fuzz.text",
    "json": "tests.fuzz.json_files",
    "parquet": "tests.fuzz.parquet_files",
    "packed": "tests.fuzz.packed",
    "formats": "tests.fuzz.formats",
    "session": "tests.fuzz.sessions",
    "http": "tests.fuzz.http_requests",
}


def kind(name: str) -> Kind:
    return cast(Kind, import_module(KINDS[name]))


def made(name: str, seed: int, number: int) -> Case:
    """The case of that number, the same wherever and whenever it is made."""
    return kind(name).make(Random(f"{name}:{seed}:{number}"))
