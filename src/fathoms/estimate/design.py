"""Which documents a sample was drawn from, and with what chance each of them: what estimates from samples stand on.

A design lists the *population*, the pool that the sample comes from. For each of its documents it says the stratum, the
probability of being drawn, or both, and which were drawn; where it does not say so, those that are judged were. Without
a file, a design may be `uniform`: of each topic every document of the given runs had the same chance.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fathoms.base import choices
from fathoms.base.errors import FathomsError, InputError
from fathoms.base.files import read_bytes
from fathoms.data import keys
from fathoms.data.column_names import column_for
from fathoms.data.delimited import byte_ids, rows_of
from fathoms.data.formats.base import BOM, Content, as_utf8, split_names
from fathoms.data.formats.text import check_ids, more_than_words
from fathoms.data.lines import Layout, Table, Text, number_of, parse
from fathoms.data.qrels import Qrels
from fathoms.data.topics import number_topics, topic_order, topics_of
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
    raw = as_utf8(read_bytes(path)).removeprefix(BOM)
    separator, columns = _columns(raw, path)
    parsed = _parser(raw, separator, columns, path)
    last = "probability" if "probability" in columns else "grade" if "grade" in columns else "stratum"
    table = parsed("" if last == "stratum" else last)
    topics, topic = topics_of(table)
    _check_once(table, topics, topic)
    stratum, strata = None, [""]
    if "stratum" in columns:
        strata, stratum = number_topics(parsed(text="stratum").document)
    grades = parsed("grade").number if "grade" in columns else None
    sampled = None if grades is None else grades >= 0
    if "sampled" in columns:
        drawn = parsed("sampled")
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


def sample_eval_lines(design: SamplingDesign, qrels: Qrels) -> bytes:
    """The population as sample_eval reads it, `topic 0 document stratum grade`, -1 for what was not drawn.

    sample_eval counts a topic's stratum for the chance of being drawn, so it has to be one chance in each. Documents
    that are judged and not of the population are certain: they have a stratum of their own.
    """
    numbers = {topic: i for i, topic in enumerate(qrels.topics)}
    number = np.array([numbers.get(topic, -1) for topic in design.topics], dtype=np.int32)[design.topic]
    sought = keys.topic_keys(keys.document_keys(design.documents), number)
    at = qrels.lookup.find(sought, design.documents)
    grades = np.append(np.where(qrels.grades >= 0, qrels.grades, -1.0), -1.0)[np.where(number >= 0, at, -1)]
    drawn = grades >= 0 if design.sampled is None else design.sampled
    if (drawn & (grades < 0)).any():
        row = int((drawn & (grades < 0)).argmax())
        raise InputError(
            f"topic {design.topics[design.topic[row]]}, document {design.documents[row].decode(errors='replace')} was "
            f"drawn and is not judged in {qrels.source}; judge all of the sample",
            design.source,
        )
    stratum = np.zeros(len(design), dtype=np.int64) if design.stratum is None else design.stratum.astype(np.int64)
    if design.probability is not None:
        _check_one_chance(design, stratum)
    # Judged though not drawn, or beside the population: known for certain.
    certain = len(design.strata)
    stratum = np.where((grades >= 0) & ~drawn, certain, stratum)
    listed = np.zeros(len(qrels), dtype=bool)
    listed[at[(number >= 0) & (at >= 0)]] = True
    beside = np.flatnonzero(~listed & (qrels.grades >= 0))
    check_ids(qrels, "sample_eval's text")
    rows = zip(
        [design.topics[i] for i in design.topic.tolist()] + [qrels.topics[i] for i in qrels.topic[beside].tolist()],
        [
            id.decode(errors="surrogateescape")
            for ids in (design.documents, qrels.documents[beside])
            for id in ids.tolist()
        ],
        np.append(stratum, np.full(len(beside), certain)).tolist(),
        np.append(grades, qrels.grades[beside]).tolist(),
        strict=True,
    )
    lines = (f"{topic} 0 {document} {i + 1} {repr(grade).removesuffix('.0')}\n" for topic, document, i, grade in rows)
    return "".join(lines).encode(errors="surrogateescape")


def _check_one_chance(design: SamplingDesign, stratum: NDArray[np.int64]) -> None:
    assert design.probability is not None
    label = design.topic.astype(np.int64) * (len(design.strata) + 1) + stratum
    order = np.argsort(label, kind="stable")
    same = label[order][1:] == label[order][:-1]
    apart = same & (np.abs(np.diff(design.probability[order])) > 1e-6)
    if apart.any():
        row = int(order[1:][apart][0])
        raise InputError(
            f"topic {design.topics[design.topic[row]]} has documents of one stratum with different chances of being "
            "drawn, which sample_eval's qrels cannot say; `predict --sampled` takes the design as it is",
            design.source,
        )


def _columns(raw: bytes, path: str) -> tuple[str | None, tuple[str, ...]]:
    """What stands between the columns (None: any blanks, and the first line does not name them), and what they are."""
    content = Content(raw)
    if content.line is None:
        raise InputError(f"the file is empty; {EXPECTED}", path)
    text = content.line[0].decode(errors="replace")
    for separator in ("\t", ",", " "):
        words = [name.lower() for name in split_names(text, None if separator == " " else separator)]
        topic, document = (column_for(of, words) for of in ("topic", "document"))
        if topic is not None and document is not None:
            break
    else:
        if len(words) not in COLUMNS:
            raise InputError(f"{EXPECTED}, found {len(words)} columns", path, _line_of(raw, content))
        return None, COLUMNS[len(words)]
    named = tuple({topic: "topic", document: "document"}.get(word, word) for word in words)
    if not {"stratum", "probability"} & set(named):
        raise InputError(f"{EXPECTED}; found the columns {' '.join(words)}", path, _line_of(raw, content))
    return separator, named


def _line_of(raw: bytes, content: Content) -> int:
    return 1 if content.line is None else raw.count(b"\n", 0, content.line.start()) + 1


class _Parser(Protocol):
    def __call__(self, number: str = "", text: str = "document") -> Table:
        """The rows with one of the columns of numbers, if any, and one of the columns of words, as `document`."""


def _parser(raw: bytes, separator: str | None, columns: tuple[str, ...], path: str) -> _Parser:
    line = Content(raw).line
    assert line is not None
    if separator == "," or (separator == "\t" and more_than_words(raw, line.end())):
        places, rows = zip(*rows_of(raw[line.start() :], separator, path), strict=True)
        above = raw.count(b"\n", 0, line.start())
        ragged = next((place for place, row in zip(places, rows, strict=True) if len(row) != len(columns)), None)
        if ragged is not None:
            raise InputError(f"expected {len(columns)} fields ({', '.join(columns)})", path, above + ragged)
        cells = dict(zip(columns, map(list, zip(*rows[1:], strict=True)), strict=True))
        return partial(_of_cells, cells, [above + place for place in places[1:]], path)
    start = line.start() if separator is not None else len(raw)
    # A line of names is made a comment, so that lines keep their numbers.
    return partial(_parsed, raw if separator is None else raw[:start] + b"#" + raw[start:], columns, path)


def _of_cells(
    cells: dict[str, list[str]], places: list[int], path: str, number: str = "", text: str = "document"
) -> Table:
    numbers = np.array(
        [number_of(cell.encode(errors="replace")) for cell in cells[number]] if number else [0.0] * len(places)
    )
    topics, names = (byte_ids(cells[name], name, path, places) for name in ("topic", text))
    table = Table(topics, names, numbers, path, lines=np.array(places))
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if wrong.size:
        row = int(wrong[0])
        raise table.error(row, f"expected a finite number as {number}, found {cells[number][row]!r}")
    return table


def _parsed(raw: bytes, columns: tuple[str, ...], path: str, number: str = "", text: str = "document") -> Table:
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
