"""Judgments: which documents of which topics are known, and with which grade."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fathoms.base import kernel
from fathoms.base.arrays import distinct, identity_of
from fathoms.base.errors import FathomsError, InputError
from fathoms.base.text import pluralise
from fathoms.data import keys
from fathoms.data.export import Exported
from fathoms.data.lines import QRELS, Text
from fathoms.data.load import load
from fathoms.data.subtopics import Subtopics, by_document, read_subtopics
from fathoms.data.topics import topic_order, topics_of

# Codes of documents without a usable grade; codes from JUDGED on are places in the table of grades.
# EXCLUDED: unjudged too, but outside the universe that ranges range over.
PADDING, UNJUDGED, NEGATIVE, EXCLUDED, JUDGED = 0, 1, 2, 3, 4
MOST_LEVELS = 32_000  # codes are 16-bit integers


@dataclass(frozen=True, eq=False)
class Qrels(Exported):
    """Judgments in the order of their file. A negative grade means unjudged, as in trec_eval."""

    kind: ClassVar[Literal["qrels"]] = "qrels"

    topics: list[str]
    topic: NDArray[np.int32]
    documents: Text
    grades: NDArray[np.float64]
    source: str = "qrels"
    notes: list[str] = field(default_factory=list)
    scale: NDArray[np.float64] | None = None  # grades of the whole collection, where these are some of its topics
    by_subtopic: NDArray[np.float64] | None = None  # [judgment, subtopic]; `grades` has the best of each row
    listed: NDArray[np.int64] | None = None  # how many subtopics each topic has

    @cached_property
    def subtopics(self) -> Subtopics | None:
        """What documents are relevant to, where there are subtopics."""
        if self.by_subtopic is None or self.listed is None:
            return None
        return Subtopics.of(self.by_subtopic, self.listed, self.topic, self.documents, self.grades >= 0)

    @cached_property
    def levels(self) -> NDArray[np.float64]:
        """The grades in use, ascending, 0 always among them; negative ones are not grades."""
        scale = np.zeros(1) if self.scale is None else self.scale
        return distinct(np.append(self.grades[self.grades >= 0], scale))

    @property
    def max_grade(self) -> float:
        """The greatest grade in use; 1 where nothing is relevant yet, since something could be."""
        return float(max(self.levels[-1], 1.0))

    @cached_property
    def codes(self) -> NDArray[np.int16]:
        """For each judgment its place in `levels` plus JUDGED, or NEGATIVE."""
        places = np.searchsorted(self.levels, self.grades) + JUDGED
        return np.where(self.grades >= 0, places, NEGATIVE).astype(np.int16)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Judged documents by topic and level."""
        return self.count(np.ones(len(self.topic), dtype=bool))

    def count(self, rows: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Judged documents by topic and level among some of the judgments."""
        use = rows & (self.codes >= JUDGED)
        width = len(self.levels)
        cells = self.topic[use].astype(np.int64) * width + (self.codes[use] - JUDGED)
        return np.bincount(cells, minlength=len(self.topics) * width).reshape(len(self.topics), width)

    @cached_property
    def index(self) -> dict[str, int]:
        return {topic: i for i, topic in enumerate(self.topics)}

    @cached_property
    def lookup(self) -> keys.Lookup:
        return keys.Lookup(keys.topic_keys(keys.document_keys(self.documents), self.topic), self.documents)

    @cached_property
    def tables(self) -> kernel.Tables | None:
        """The same for the compiled kernel, if there is one."""
        return kernel.judgment_tables(self.topic, self.documents, self.codes, len(self.topics))

    def prepare_lookup(self) -> None:
        """Build what documents are looked up in; done before a fork, so that its copies need not each build it."""
        if self.tables is None:
            _ = self.lookup

    def identity(self) -> str:
        """A hash of all topics and judgments."""
        return identity_of(self.topics, self.topic, self.documents, self.grades, self.by_subtopic)

    def keep(self, rows: NDArray[np.bool_]) -> Qrels:
        """The same with some of the judgments only; every topic stays, with or without judgments."""
        by_subtopic = None if self.by_subtopic is None else self.by_subtopic[rows]
        return Qrels(
            *(self.topics, self.topic[rows], self.documents[rows], self.grades[rows], self.source),
            by_subtopic=by_subtopic,
            listed=self.listed,
        )

    def of_topics(self, wanted: Collection[str]) -> Qrels:
        """The same with some of the topics only, in their order; the scale of grades stays that of all topics."""
        chosen = [topic for topic in self.topics if topic in wanted]
        number = np.full(len(self.topics), -1, dtype=np.int32)
        number[[self.index[topic] for topic in chosen]] = np.arange(len(chosen))
        rows = number[self.topic] >= 0
        return Qrels(
            chosen,
            number[self.topic[rows]],
            self.documents[rows],
            self.grades[rows],
            self.source,
            self.notes,
            self.levels,
            None if self.by_subtopic is None else self.by_subtopic[rows],
            None if self.listed is None else self.listed[[self.index[topic] for topic in chosen]],
        )

    def to_text(self) -> str:
        """As a qrels file, in the order of the judgments; ids that such a file cannot hold are an error."""
        from fathoms.data.formats.text import check_ids

        check_ids(self, "TREC's text")
        return self.lines()

    def lines(self) -> str:
        """The same, whatever the ids are; others than those of a file may not come back."""
        documents = (document.decode(errors="surrogateescape") for document in self.documents.tolist())
        rows = zip(self.topic.tolist(), documents, self.grades.tolist(), strict=True)
        return "".join(
            f"{self.topics[topic]} 0 {document} {repr(grade).removesuffix('.0')}\n" for topic, document, grade in rows
        )

    def __len__(self) -> int:
        return len(self.topic)

    def __repr__(self) -> str:
        return f"<Qrels {self.source}: {len(self.topics)} topics, {len(self):,} judgments>"


def read_qrels(source: Any, *, lenient: bool = False, junk: float | None = None, subtopics: bool = False) -> Qrels:
    """Judgments from a file (TREC text, parquet, JSON; compressed or not), a frame, a dict or ir_measures tuples.

    `irds:ID`, or a plain ID where no such file exists, takes them from ir_datasets if that is installed.

    `junk` names a negative grade that means judged and not relevant (ClueWeb's -2 for spam). One document with
    two different grades is an error; with `lenient` the first one counts. With `subtopics` judgments are by subtopic,
    as the second column of lines says, or a column `subtopic` of a frame, or {topic: {subtopic: {document: grade}}};
    for measures that know no subtopics a document has the best of its grades.
    """
    if junk is not None and not junk < 0:
        raise FathomsError(f"junk must be a negative grade, such as -2, found {junk:g}")
    if isinstance(source, Qrels):
        return source
    by_subtopic: NDArray[np.float64] | None = None
    listed: dict[str, int] = {}
    if subtopics:
        table, by_subtopic, listed = by_document(*read_subtopics(source, lenient=lenient))
    else:
        table = load(source, QRELS, lenient=lenient)
    notes = list(table.skipped)
    topics, topic = topics_of(table)
    documents, grades = table.document, table.number
    if "all" in topics:
        row = int((topic == topics.index("all")).argmax())
        message = "a topic is named `all`, which in the output names the mean over topics"
        if not lenient:
            raise table.error(row, f"{message}; rename it (--lenient goes on)")
        notes.append(f"{table.source}: {message}")

    first = keys.first_rows(table, keys.document_keys(documents), topic)
    if first.size:
        conflict = np.flatnonzero(grades != grades[first])
        if conflict.size:
            row = int(conflict[0])
            message = (
                f"topic {topics[topic[row]]}, document {documents[row].decode(errors='replace')} has grade "
                f"{grades[row]:g}, but {grades[first[row]]:g} in {table.place(int(first[row]))}"
            )
            if not lenient:
                raise table.error(
                    row,
                    f"{message}; decide on one (--lenient keeps the first; --subtopics reads judgments by subtopic)",
                )
            notes.append(
                f"{table.source}: skipped {pluralise(conflict.size, 'judgment')} that another one contradicts, kept "
                f"the first ({table.place(row)}: {message})"
            )
        kept = first == np.arange(len(first))
        same = int((~kept).sum()) - conflict.size
        if same:
            notes.append(
                f"{table.source}: {pluralise(same, 'judgment')} repeated with the same grade; each counts once"
            )
        topic, documents, grades = topic[kept], documents[kept], grades[kept]

    if junk is not None:
        grades[grades == junk] = 0.0
    negative = int((grades < 0).sum())
    if negative:
        notes.append(
            table.negatives
            or f"{table.source}: {pluralise(negative, 'judgment')} with a negative grade, which means unjudged "
            "(--nonrelevant-grade GRADE makes that grade judged and not relevant)"
        )
    order = topic_order(topics)
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    names = [topics[i] for i in order]
    qrels = Qrels(names, place[topic], documents, grades, table.source, notes)
    if by_subtopic is not None:
        by_subtopic = np.where(by_subtopic == junk, 0.0, by_subtopic) if junk is not None else by_subtopic
        counts = np.array([listed[name] for name in names], dtype=np.int64)
        qrels = replace(qrels, by_subtopic=by_subtopic, listed=counts)
    if len(qrels.levels) > MOST_LEVELS:
        raise InputError(f"{len(qrels.levels):,} different grades, expected at most {MOST_LEVELS:,}", table.source)
    notes += scale_notes(grades, table.source)
    return qrels


def scale_notes(grades: NDArray[np.float64], source: str) -> list[str]:
    """What measures make of grades that are no 0, 1, ..., k.

    Fractions between 0 and 1 are below the default rel=1. Where no grade is 0, all that is judged is relevant: that is
    so in the many old qrels that list relevant documents only, which have one to three grades; from four on, and three
    in use, a scale that starts at 1 is more likely, and worth a line.
    """
    used = distinct(grades[grades >= 0])
    fractions = (used > 0) & (used < 1)
    if fractions.any():
        relevant, positive = int((grades >= 1).sum()), int((grades > 0).sum())
        return [
            f"{source}: some grades are fractions between 0 and 1. Binary measures (AP, P, R, RR, ...) count grades "
            f"from rel=1 on as relevant, here {relevant:,} of the {positive:,} above 0; -m 'P(rel=0.5)@10' moves the "
            "line. nDCG and DCG take the grade itself as gain"
        ]
    if len(used) >= 3 and used[0] >= 1 and used[-1] >= 4:
        middle = int(np.ceil((used[0] + used[-1]) / 2))
        return [
            f"{source}: grades go from {used[0]:g} to {used[-1]:g}, and no document has grade 0. Binary measures (AP, "
            "P, R, RR, ...) count grades from rel=1 on as relevant, so all that is judged; if low grades mean not "
            f"relevant, say where relevance starts, as in -m 'P(rel={middle})@10'. nDCG and DCG take the grade itself "
            "as gain"
        ]
    return []
