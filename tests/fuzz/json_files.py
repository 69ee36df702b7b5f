"""JSON: objects of rankings, lists of records, a record a line; odd keys and values, and bytes that are no JSON."""

from __future__ import annotations

import json
import math
import random
from typing import Any

from tests.fuzz.case import Case, Plain, comparable, try_to_read
from tests.fuzz.mutations import changed
from tests.fuzz.text import Odd

ODD = [None, True, "1", "x", "", "NaN", math.nan, math.inf, 10**400, -0.0, 1e-320, 2**63, [1], {}, {"d": 1}, [], "1.5"]
KEYS = ["", "all", "\0", "\ud800", "é", "a b", "a\nb", "topic", "score", "#", "x" * 400, "1", "01", "null"]
NAMES = {"qrels": ("topic", "document", "grade"), "run": ("topic", "document", "score")}


def make(rng: random.Random) -> Case:
    forms = {kind: rng.choice(["rankings"] * 5 + ["records", "lines", "columns"]) for kind in NAMES}
    files = {kind: _file(rng, kind, form) for kind, form in forms.items()}
    return Case(files, {"lenient": rng.random() < 0.2})


def _file(rng: random.Random, kind: str, form: str) -> bytes:
    odd = Odd(rng, rough=True)
    rows = [
        [odd(KEYS, str(topic)), odd(KEYS, f"d{document}"), odd(ODD, _number(rng, kind))]
        for topic in range(1, rng.randint(2, 4))
        for document in rng.sample(range(12), rng.randint(1, 8))
    ]
    names = [odd(KEYS, name) for name in NAMES[kind]]
    nested: dict[str, dict[str, Any]] = {}
    for topic, document, number in rows:
        nested.setdefault(topic, {})[document] = number
    records = [dict(zip(names, row, strict=True)) for row in rows]
    if rng.random() < 0.05:
        records.insert(rng.randint(0, len(records)), rng.choice(ODD))  # type: ignore[arg-type]
    values: dict[str, Any] = {
        "rankings": odd(ODD, nested),
        "records": records,
        "columns": dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)),
    }
    ascii, indent = rng.random() < 0.5, rng.choice([None, None, 1])
    if form == "lines":
        text = "\n".join(json.dumps(record, ensure_ascii=ascii) for record in records)
    else:
        text = json.dumps(values[form], ensure_ascii=ascii, indent=indent)
    raw = text.encode(errors="surrogatepass")
    return changed(rng, raw) if rng.random() < 0.3 else raw


def _number(rng: random.Random, kind: str) -> float:
    return (
        rng.choice([0, 1, 1, 2, -1]) if kind == "qrels" else rng.choice([rng.gauss(3, 4), round(rng.gauss(3, 4), 1), 2])
    )


def check(case: Case) -> str:
    grades, scores = (_naive(case.files[kind]) for kind in NAMES)
    return try_to_read(case, grades if grades is not None and comparable(grades) else None, scores)


def _naive(raw: bytes) -> Plain | None:
    """{topic: {document: number}} where the file is just that, with no key twice."""
    try:
        found = json.loads(raw, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not all(isinstance(topic, dict) for topic in found.values()):
        return None
    if any("\0" in name or not name for topic, of_topic in found.items() for name in (topic, *of_topic)):
        return None
    numbers = [number for of_topic in found.values() for number in of_topic.values()]
    if not all(type(number) in (int, float) and abs(number) < 1e300 for number in numbers):
        return None
    try:
        json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return None
    return {topic: {id: float(n) for id, n in of_topic.items()} for topic, of_topic in found.items()}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)
