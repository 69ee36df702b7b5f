"""Every format of the registry: what its writer makes, or its example, changed in some places."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import fathoms as fm
from fathoms.base.errors import FathomsError
from fathoms.data.column_names import Kind
from fathoms.data.convert import content
from fathoms.data.document_values import read_values
from fathoms.data.formats import registry
from tests.data.test_common_formats import GRADES, SCORES, example
from tests.fuzz.case import Case, attempt, try_to_read
from tests.fuzz.mutations import changed

JUDGMENTS = b"".join(f"{t} 0 {d} {g}\n".encode() for t, of in GRADES.items() for d, g in of.items())
RUN = b"".join(f"{t} Q0 {d} 1 {s} tag\n".encode() for t, of in SCORES.items() for d, s in of.items())


@cache
def sources() -> list[tuple[str, Kind]]:
    return [(format.name, kind) for format in registry.FILES for kind in format.reads if format.container != "parquet"]


def make(rng: random.Random) -> Case:
    name, kind = rng.choice(sources())
    raw = _written(rng, name, kind) if rng.random() < 0.7 else None
    if raw is None:
        raw = example(registry.by_name(name), kind)
    if rng.random() < 0.9:
        raw = changed(rng, _shuffled_words(rng, raw))
    files = {"qrels": JUDGMENTS, "run": RUN} | ({kind: raw} if kind != "values" else {"values": raw})
    return Case(files, {"format": name, "kind": kind, "lenient": rng.random() < 0.2})


def _written(rng: random.Random, name: str, kind: Kind) -> bytes | None:
    """A small file of the format; None where it is not written, or not with these ids."""
    ids = rng.choice([["d-1", "d-2", "d-3"], ["a b", 'c"d', "e,f", "g;h"], ["é", "文", "1", "-"]])
    numbers: dict[str, dict[str, Any]] = {
        topic: {id: rng.choice([0, 1, 2]) if kind == "qrels" else rng.choice([1.5, 2.0, rng.random()]) for id in ids}
        for topic in rng.choice([["9", "10"], ["a b", "c,d"], ["é"]])
    }
    if kind == "values" or kind not in registry.by_name(name).writes:
        return None
    try:
        return content(fm.read_run(numbers) if kind == "run" else fm.read_qrels(numbers), name)
    except FathomsError:
        return None


def _shuffled_words(rng: random.Random, raw: bytes) -> bytes:
    """The same file with two of its words in each other's place, or two lines: all are of the format still."""
    if rng.random() < 0.5:
        return raw
    between = rng.choice([b"\n", b" ", b",", b'"', b"\t", b":"])
    parts = raw.split(between)
    i, j = rng.randrange(len(parts)), rng.randrange(len(parts))
    parts[i], parts[j] = parts[j], parts[i] if rng.random() < 0.5 else parts[j]
    return between.join(parts)


def check(case: Case) -> str:
    if case.facts["kind"] != "values":
        return try_to_read(case, None, None)
    return "refused" if attempt(case, lambda paths: read_values(paths["values"])) is None else "accepted"
