"""Batches: the next documents to judge, in a file that is handed out, and the grades read back from it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fathoms.base.errors import InputError
from fathoms.base.files import read_bytes, whole_file
from fathoms.data.delimited import write_delimited
from fathoms.data.texts import TextSources
from fathoms.judging.documents_to_judge import Task
from fathoms.judging.session import Session, tidy

NEEDED = ("topic", "document", "grade")
COLUMNS = (*NEEDED, "topic_title", "document_title")


@dataclass(frozen=True)
class Answer:
    """A row with a grade, and where it stands."""

    candidate: int
    topic: str
    document: str
    grade: int
    assessor: str
    note: str
    line: int


@dataclass(frozen=True)
class TakenIn:
    """What reading a file did."""

    new: int
    known: int  # rows whose grade was known already
    empty: int  # rows without a grade


def write_batch(path: Path, tasks: Sequence[Task], texts: TextSources) -> None:
    """The documents as a table with an empty column for the grade, and titles where texts are known."""
    topics, documents = texts.topics is not None, texts.documents is not None
    columns = [name for name, there in zip(COLUMNS, (True, True, True, topics, documents), strict=True) if there]
    rows: list[list[str]] = []
    for task in tasks:
        titles = [
            _title(source.get(name))
            for source, name in ((texts.topics, task.topic), (texts.documents, task.document))
            if source is not None
        ]
        rows.append([task.topic, task.document, "", *titles])
    with whole_file(path) as temporary:
        temporary.write_bytes(write_delimited(columns, rows, "\t"))


def _title(entry: object) -> str:
    title = getattr(entry, "title", "") or next(iter(getattr(entry, "body", ())), "")
    return tidy(title)[:200]


def take_in(session: Session, path: str, assessor: str) -> TakenIn:
    """Read grades back: all of them, or none where a row is wrong."""
    answers: dict[int, Answer] = {}
    known = empty = 0
    for line, row in _rows(path):
        answer = _answer(session, row, assessor, path, line)
        if answer is None:
            empty += 1
            continue
        before = answers.get(answer.candidate)
        if before is not None and before.grade != answer.grade:
            raise InputError(
                f"topic {answer.topic}, document {answer.document} has grade {answer.grade}, and grade {before.grade} "
                f"in line {before.line}",
                path,
                line,
            )
        if before is None and not _is_known(session, answer, path):
            answers[answer.candidate] = answer
        else:
            known += 1
    session.grade_all([(a.topic, a.document, a.grade, a.assessor, a.note) for a in answers.values()])
    return TakenIn(len(answers), known, empty)


def _rows(path: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Rows by the names of the header, with their lines; tabs or commas stand between columns."""
    text = read_bytes(path).decode("utf-8", errors="surrogateescape").removeprefix("\ufeff")
    header = text.split("\n", 1)[0]
    table = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if "\t" in header else ",")
    names = [name.strip().lower() for name in next(table, [])]
    missing = [name for name in NEEDED if name not in names]
    if missing:
        raise InputError(
            f"expected a first line with the columns {', '.join(NEEDED)}, as --batch writes it, found {header[:80]!r}",
            path,
            1,
        )
    for cells in table:
        if any(cell.strip() for cell in cells):
            row = dict(zip(names, cells, strict=False))
            yield table.line_num, {name: cell if name in NEEDED[:2] else cell.strip() for name, cell in row.items()}


def _answer(session: Session, row: Mapping[str, str], assessor: str, path: str, line: int) -> Answer | None:
    topic, document, grade = (row.get(name, "") for name in NEEDED)
    candidate = session.documents.candidates.find(topic, document)
    if candidate is None:  # blanks that a spreadsheet or a person left around the ids
        topic, document = topic.strip(), document.strip()
        candidate = session.documents.candidates.find(topic, document)
    if candidate is None:
        raise InputError(
            f"topic {topic}, document {document} is in no run's top {session.settings.depth}; only what the runs "
            "retrieved can be judged",
            path,
            line,
        )
    sample = session.documents.sample
    if sample is not None and candidate not in sample.order:
        raise InputError(f"topic {topic}, document {document} is not in the sample of this session", path, line)
    if not grade:
        return None
    most = session.settings.max_grade
    if not (grade.isascii() and grade.isdigit() and len(grade) < 10) or int(grade) > most:
        raise InputError(f"expected a grade from 0 to {most}, or nothing, found {grade!r}", path, line)
    return Answer(
        candidate,
        topic,
        document,
        int(grade),
        tidy(row.get("assessor", "")) or assessor,
        tidy(row.get("note", "")),
        line,
    )


def _is_known(session: Session, answer: Answer, path: str) -> bool:
    """Whether the document has this grade already; an error if it has another."""
    if session.documents.may_grade(session.state, answer.candidate, tidy(answer.assessor)):
        return False
    grade, source = session.grade_of(answer.candidate)
    if grade == answer.grade:
        return True
    raise InputError(
        f"topic {answer.topic}, document {answer.document} has grade {grade:g} already, from {source}, and "
        f"{answer.grade} here; nothing of the file is taken",
        path,
        answer.line,
    )
