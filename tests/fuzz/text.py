"""TREC's text: judgments and a run, of which some lines are bad or odd."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from tests.fuzz.case import Case, Plain, comparable, try_to_read
from tests.fuzz.mutations import NUMBERS, changed

SEPARATORS = [" ", "\t", "  ", " \t ", "\x0b", "\x0c", "\u00a0", "\u3000", ",", ";", "", "\r", "\0"]
ENDS = ["\n", "\r\n", "\n\n", " \n", "\t\r\n", "\r", "\n# a comment\n", "\n#\n", "\x0b\n", "\x85", "\u2028"]
IDS = ["all", "#", "#1", "{", "[1", '"q"', "'", "é", "文", "\u00a0", "x" * 300, "0", "00", "-1", "NULL", "topic", "a,b"]
FIRST = [
    "",
    "\ufeff",
    "\n",
    "# comment\n",
    "topic Q0 document rank score tag\n",
    "query\tdocid\tgrade\n",
    "\0",
    "sep=,\n",
]


def make(rng: random.Random) -> Case:
    rough = rng.choice([("qrels",), ("run",), ("qrels", "run")])
    files = {"qrels": judgments(rng, "qrels" in rough), "run": ranking(rng, "run" in rough)}
    return Case(files, {"lenient": rng.random() < 0.2})


def judgments(rng: random.Random, rough: bool) -> bytes:
    rows = []
    odd = Odd(rng, rough)
    for topic in topics(odd):
        for document in rng.sample(range(25), rng.randint(1, 12)):
            grade = odd(NUMBERS, str(rng.choice([0, 0, 1, 1, 2, 3, -1])))
            rows.append([topic, odd(IDS, "0"), odd(IDS, f"d{document}"), grade])
    return lines(rng, rows, rough)


def ranking(rng: random.Random, rough: bool) -> bytes:
    rows = []
    odd, digits = Odd(rng, rough), rng.choice([0, 1, 3, 9])
    for topic in topics(odd):
        for rank, document in enumerate(rng.sample(range(25), rng.randint(1, 15)), 1):
            score = odd(NUMBERS, f"{rng.gauss(3, 4):.{digits}f}")
            rank_ = odd(NUMBERS, str(rank))
            rows.append([topic, "Q0", odd(IDS, f"d{document}"), rank_, score, odd(IDS, "tag")])
    return lines(rng, rows, rough)


def topics(odd: Odd) -> list[str]:
    return [odd(IDS, str(topic)) for topic in range(1, odd.rng.randint(2, 5))]


class Odd:
    """What is usual, and rarely something else; in some files never."""

    def __init__(self, rng: random.Random, rough: bool) -> None:
        self.rng = rng
        self.rate = rng.choice([0, 0, 0.001, 0.005, 0.03]) if rough else 0

    def __call__(self, choices: Sequence[Any], usual: Any) -> Any:
        return self.rng.choice(choices) if self.rng.random() < self.rate else usual


def lines(rng: random.Random, rows: list[list[str]], rough: bool) -> bytes:
    """The rows as text. Most files have one kind of separator and of line end, as files do."""
    rare = rng.choice([0, 0, 0.02, 0.1]) if rough else 0
    separator, end = rng.choice(SEPARATORS[:4]), rng.choice(ENDS[:3])
    if rng.random() < 0.1:
        rng.shuffle(rows)
    text = rng.choice(FIRST) if rough and rng.random() < 0.05 else ""
    for row in rows:
        if rng.random() < rare:
            row = rng.choice([row[:-1], [*row, "more"], [], row[::-1], [*row, *row], row[1:]])
        between = rng.choice(SEPARATORS) if rng.random() < rare else separator
        text += between.join(row) + (rng.choice(ENDS) if rng.random() < rare else end)
        if rng.random() < rare / 4:
            text += between.join(row) + end
    raw = text.encode()
    return changed(rng, raw) if rough and rng.random() < 0.3 else raw


def check(case: Case) -> str:
    return try_to_read(case, naive_judgments(case.files["qrels"]), naive_run(case.files["run"]))


# -- what trec_eval makes of the same text ----------------------------------------------------------------------------

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
WHOLE = re.compile(r"[+-]?\d+", re.ASCII)


def naive_judgments(raw: bytes) -> Plain | None:
    found = _columns(raw, 4, 3, WHOLE)
    return found if found is not None and comparable(found) else None


def naive_run(raw: bytes) -> Plain | None:
    return _columns(raw, 6, 4, NUMBER)


def _columns(raw: bytes, columns: int, number: int, form: re.Pattern[str]) -> Plain | None:
    """{topic: {document: number}} of lines with so many columns between blanks; None where a line is otherwise, and
    where something is in it that ends lines for some programs only, or text in C."""
    found: Plain = {}
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    if "\0" in text or "\ufeff" in text or "\r" in text.replace("\r\n", "\n"):
        return None
    for line in text.split("\n"):
        fields = re.split("[ \t\r\x0b\x0c]+", line.strip(" \t\r\x0b\x0c"))
        if len(fields) != columns or not form.fullmatch(fields[number]) or fields[0].startswith("#"):
            if fields == [""]:
                continue
            return None
        topic = found.setdefault(fields[0], {})
        if fields[2] in topic:
            return None
        topic[fields[2]] = float(fields[number])
    return found or None
