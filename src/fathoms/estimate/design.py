"""Which documents a sample was drawn from, and with what chance each of them: what estimates from samples stand on.

A design lists the *population*, the pool that the sample comes from. For each of its documents it says the stratum, the
probability of being drawn, or both, and which were drawn; where it does not say so, those that are judged were. Without
a file, a design may be `uniform`: of each topic every document of the given runs had the same chance.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms import choices
from fathoms.data import keys
from fathoms.data.column_names import NAMES
from fathoms.data.files import read_bytes
from fathoms.data.formats.base import BOM, Content
from fathoms.data.lines import Layout, Table, Text, parse
from fathoms.data.qrels import Qrels
from fathoms.data.topics import number_topics, topic_order, topics_of
from fathoms.errors import FathomsError, InputError
from fathoms.evidence.evidence import Bools, Floats

UNIFORM = "uniform"
# What a file of so many columns has, where its first line does not name them. Five are sample_eval's qrels.
COLUMNS = {
    3: ("topic", "document", "probability"),
    4: ("topic", "document", "stratum", "probability"),
    5: ("topic", "iteration", "document", "stratum", "grade"),
}
EXPECTED = (
    "expected lines `topic document probability`, `topic document stratum probability` or `topic 0 document stratum "
    "grade`, or a first line that names the columns (topic, document, and stratum or probability or both; sampled, "
    "grade)"
)


@dataclass(frozen=True, eq=False)
class SamplingDesign:
    """Rows are documents of the population, or of the sample alone; one array each for what is said of them."""

    topics: list[str]
    topic: NDArray[np.int32]
    documents: Text
    stratum: NDArray[np.int32] | None = None  # numbers in `strata`
    strata: list[str] = field(default_factory=list)
    probability: Floats | None = None  # None: by counting, sampled / listed documents of a topic's stratum
    sampled: Bools | None = None  # None: those that are judged
    grades: Floats | None = None  # negative: not sampled
    source: str = "design"

    def __len__(self) -> int:
        return len(self.topic)

    @cached_property
    def lookup(self) -> keys.Lookup:
        return keys.Lookup(keys.topic_keys(keys.document_keys(self.documents), self.topic), self.documents)

    @property
    def qrels(self) -> Qrels:
        """The judgments, where the file has them, as sample_eval's do: a negative grade means sampled out."""
        if self.grades is None:
            raise FathomsError(f"{self.source}: has no grades; give the judgments in a file of their own")
        order = topic_order(self.topics)
        place = np.empty(len(order), dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        topics = [self.topics[i] for i in order]
        return Qrels(topics, place[self.topic], self.documents, self.grades, self.source)


def read_design(source: str | os.PathLike[str]) -> SamplingDesign:
    """A design from a file; an error names the file and the line."""
    path = os.fspath(source)
    raw = read_bytes(path).removeprefix(BOM)
    columns, raw = _columns(raw, path)
    last = "probability" if "probability" in columns else "grade" if "grade" in columns else "stratum"
    table = _parsed(raw, columns, path, number="" if last == "stratum" else last)
    topics, topic = topics_of(table)
    _check_once(table, topics, topic)
    stratum, strata = None, [""]
    if "stratum" in columns:
        strata, stratum = number_topics(_parsed(raw, columns, path, text="stratum").document)
    grades = _parsed(raw, columns, path, number="grade").number if "grade" in columns else None
    sampled = None if grades is None else grades >= 0
    if "sampled" in columns:
        drawn = _parsed(raw, columns, path, number="sampled")
        wrong = np.flatnonzero((drawn.number != 0) & (drawn.number != 1))
        if wrong.size:
            raise drawn.error(int(wrong[0]), f"expected 1 or 0 as sampled, found {drawn.number[wrong[0]]:g}")
        sampled = drawn.number == 1
    probability = None
    if last == "probability":
        probability = table.number
        wrong = np.flatnonzero(~((probability > 0) & (probability <= 1)))
        if wrong.size:
            row = int(wrong[0])
            hint = "" if "stratum" in columns else "; strata need a first line that names the columns"
            raise table.error(row, f"expected a probability above 0 and up to 1, found {probability[row]:g}{hint}")
    return SamplingDesign(topics, topic, table.document, stratum, strata, probability, sampled, grades, path)


def _columns(raw: bytes, path: str) -> tuple[tuple[str, ...], bytes]:
    """What the columns are, and the text with a line that names them made a comment."""
    content = Content(raw)
    if content.line is None:
        raise InputError(f"the file is empty; {EXPECTED}", path)
    words = [word.lower() for word in content.fields]
    topic, document = (next((name for name in NAMES[of] if name in words), None) for of in ("topic", "document"))
    if topic is None or document is None:
        if len(words) not in COLUMNS:
            raise InputError(f"{EXPECTED}, found {len(words)} columns", path, _line_of(raw, content))
        return COLUMNS[len(words)], raw
    named = tuple({topic: "topic", document: "document"}.get(word, word) for word in words)
    if not {"stratum", "probability"} & set(named):
        raise InputError(f"{EXPECTED}; found the columns {' '.join(words)}", path, _line_of(raw, content))
    start = content.line.start()
    return named, raw[:start] + b"#" + raw[start:]


def _line_of(raw: bytes, content: Content) -> int:
    return 1 if content.line is None else raw.count(b"\n", 0, content.line.start()) + 1


def _parsed(raw: bytes, columns: tuple[str, ...], path: str, *, number: str = "", text: str = "document") -> Table:
    """The rows with one of the columns of numbers, if any, and one of the columns of words, as `document`."""
    named = tuple("document" if name == text else "other" if name == "document" else name for name in columns)
    if number:
        return parse(raw, Layout("values", named, number, rest_in_last=False, finite=True), path)
    return parse(raw, _NoNumber("values", named, "topic", rest_in_last=False, finite=False), path)


class _NoNumber(Layout):
    """Lines of words alone: what is read as a number need not be one."""

    def bad(self, numbers: Floats) -> Bools:
        return np.zeros(len(numbers), dtype=bool)


def _check_once(table: Table, topics: list[str], topic: NDArray[np.int32]) -> None:
    first = keys.first_rows(table, keys.document_keys(table.document), topic)
    if first.size:
        row = int((first != np.arange(len(first))).argmax())
        document = table.document[row].decode(errors="replace")
        raise table.error(
            row, f"topic {topics[topic[row]]}, document {document} is listed already, in {table.place(int(first[row]))}"
        )


def as_design(source: Any) -> SamplingDesign | None:
    """A design as it is, from a file, or None for `uniform`."""
    if source is None or (isinstance(source, str) and source == UNIFORM):
        return None
    if isinstance(source, SamplingDesign):
        return source
    if not choices.is_path(source):
        raise FathomsError(f"design: expected {UNIFORM!r}, a file or a SamplingDesign, found {source!r:.80}")
    return read_design(source)
