"""What leaves a judging session: qrels, and a table that says who judged what and when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.base.files import whole_file
from fathoms.base.text import pluralise
from fathoms.data.convert import content
from fathoms.data.delimited import write_delimited
from fathoms.data.formats import registry
from fathoms.data.formats.text import check_ids
from fathoms.data.qrels import Qrels
from fathoms.evidence.candidates import Candidates
from fathoms.judging.events import id_bytes
from fathoms.judging.sampling import sample_rows
from fathoms.judging.session import Session
from fathoms.judging.state import JudgingState

PROVENANCE = ("topic", "document", "grade", "who", "when", "note", "what", "revised_from")


def judgments(session: Session) -> Qrels:
    """All judgments, imported and then made."""
    made = session.state.grades
    # What had a negative grade, which means none, may have been judged since.
    again = {(event.topic, id_bytes(event.document)) for event in made}
    rows = [row for row in _known(session) if row[:2] not in again]
    rows += [(event.topic, id_bytes(event.document), float(event.grade or 0)) for event in made]
    return qrels_of(rows)


def qrels_of(rows: Sequence[tuple[str, bytes, float]]) -> Qrels:
    """Judgments of rows with topic, document and grade."""
    topics = list(dict.fromkeys(topic for topic, _, _ in rows))
    number = {topic: i for i, topic in enumerate(topics)}
    return Qrels(
        topics,
        np.array([number[topic] for topic, _, _ in rows], dtype=np.int32),
        np.array([document for _, document, _ in rows], dtype="S"),
        np.array([grade for _, _, grade in rows], dtype=np.float64),
        "the judgments",
    )


def _known(session: Session) -> Iterator[tuple[str, bytes, float]]:
    """Topic, document and grade of the judgments that a session was begun with."""
    qrels = session.qrels
    if qrels is not None:
        columns = qrels.topic.tolist(), qrels.documents.tolist(), qrels.grades.tolist()
        yield from ((qrels.topics[topic], *row) for topic, *row in zip(*columns, strict=True))


def qrels_bytes(session: Session, path: Path) -> bytes:
    """All judgments in the format that a file's name asks for, TREC's if it asks for none."""
    return _written(judgments(session), path)


def _written(qrels: Qrels, path: Path) -> bytes:
    format = registry.by_ending(str(path), "qrels")
    return content(qrels, "trec" if format is None else format.name) if len(qrels) else b""


def provenance(session: Session) -> list[tuple[str, ...]]:
    """Where each judgment comes from, and why documents were skipped (they have no grade).

    A document judged twice has a row for each grade, and one for the final grade if there is one. `revised_from` has
    the grades that the assessor gave to the document before, in order.
    """
    rows: list[tuple[str, ...]] = []
    if session.qrels is not None:
        made = {(event.topic, id_bytes(event.document)) for event in session.state.grades}
        for topic, document, grade in _known(session):
            if grade >= 0 and (topic, document) not in made:
                name, number = document.decode(errors="surrogateescape"), repr(grade).removesuffix(".0")
                rows.append((topic, name, number, session.qrels.source, "", "", "known", ""))
    return rows + rows_of_events(session.state)


def rows_of_events(state: JudgingState) -> list[tuple[str, ...]]:
    """Rows of the same table for what was answered: all grades of each document, in order, and the skips."""
    made_of = [
        (event, "final" if event.kind == "final" else ("first", "second")[place])
        for record in state.judged
        for place, event in enumerate(record.answers)
    ]
    rows: list[tuple[str, ...]] = []
    for event, what in (*made_of, *((event, "skipped") for event in state.skips)):
        given = "" if event.grade is None else str(event.grade)
        before = ",".join(str(old.grade) for old in state.revised(event))
        rows.append((event.topic, event.document, given, event.assessor, event.time, event.note, what, before))
    return rows


def provenance_bytes(session: Session) -> bytes:
    return write_delimited(PROVENANCE, provenance(session), "\t")


def check_carries(documents: Candidates, path: Path) -> None:
    """Find out before the judging that the file's format can hold the ids of what is judged."""
    format = registry.by_ending(str(path), "qrels")
    if format is None or format.name == "trec":
        check_ids(
            Qrels(documents.topics, documents.topic, documents.documents, np.zeros(len(documents)), str(path)),
            "TREC's text",
        )


def export(session: Session, path: Path) -> Path:
    """Write the qrels, and beside it a table that says who judged what and when; return the table's name."""
    return write_both(path, judgments(session), provenance(session))


def write_both(path: Path, qrels: Qrels, rows: Sequence[tuple[str, ...]]) -> Path:
    beside = path.with_name(f"{path.name}.provenance.tsv")
    for target, raw in ((path, _written(qrels, path)), (beside, write_delimited(PROVENANCE, rows, "\t"))):
        with whole_file(target) as temporary:
            temporary.write_bytes(raw)
    return beside


def export_sample(session: Session, path: Path) -> Path:
    """Beside exported qrels, the sample they are, for `fathoms predict --sampled`; returns the file's name."""
    documents, state = session.documents, session.state
    if documents.sample is None:
        raise FathomsError("the session judges no sample")
    drawn = set(documents.sample.order)
    skipped = sum(documents.find(event.topic, event.document) in drawn for event in state.skips)
    if skipped:
        raise FathomsError(
            f"{pluralise(skipped, 'document')} of the sample {'was' if skipped == 1 else 'were'} skipped; judge all, "
            "since what is left out may differ from the rest"
        )
    judged = [documents.find(event.topic, event.document) for event in state.grades]
    rows = sample_rows(documents.sample, documents.candidates, judged)
    beside = path.with_name(f"{path.name}.sample.tsv")
    with whole_file(beside) as temporary:
        names, *listed = ([str(cell) for cell in row] for row in rows)
        temporary.write_bytes(write_delimited(names, listed, "\t"))
    return beside
