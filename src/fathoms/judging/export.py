"""What leaves a judging session: qrels, and a table that says who judged what and when."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fathoms.data.files import whole_file
from fathoms.errors import FathomsError
from fathoms.judging.log import id_bytes
from fathoms.judging.sampling import sample_rows
from fathoms.judging.session import Session
from fathoms.text import pluralise

PROVENANCE = ("topic", "document", "grade", "who", "when", "note", "what", "revised_from")


def qrels_text(session: Session) -> str:
    """All judgments, imported and made, as a qrels file."""
    made = session.grades()
    text = ""
    if session.qrels is not None:
        # What had a negative grade, which is none, may have been judged since.
        again = {(event.topic, id_bytes(event.document)) for event in made}
        pairs = zip(session.qrels.topic.tolist(), session.qrels.documents.tolist(), strict=True)
        kept = [(session.qrels.topics[topic], document) not in again for topic, document in pairs]
        text = session.qrels.keep(np.array(kept, dtype=bool)).to_text()
    return text + "".join(f"{event.topic} 0 {event.document} {event.grade}\n" for event in made)


def provenance(session: Session) -> list[tuple[str, ...]]:
    """Where each judgment comes from, and why documents were skipped (they have no grade).

    A document judged twice has a row for each grade, and one for the final grade if there is one. `revised_from` has
    the grades that the assessor gave to the document before, in order.
    """
    rows: list[tuple[str, ...]] = []
    if session.qrels is not None:
        made = {(event.topic, event.document) for event in session.grades()}
        for line in session.qrels.keep(session.qrels.grades >= 0).to_text().splitlines():
            topic, _, document, grade = line.split(" ")
            if (topic, document) not in made:
                rows.append((topic, document, grade, session.qrels.source, "", "", "known", ""))
    made_of = [
        (event, "final" if event.kind == "final" else ("first", "second")[place])
        for answers in session.answers()
        for place, event in enumerate(answers)
    ]
    for event, what in (*made_of, *((event, "skipped") for event in session.skips())):
        grade = "" if event.grade is None else str(event.grade)
        before = ",".join(str(old.grade) for old in session.revised(event))
        rows.append((event.topic, event.document, grade, event.assessor, event.time, event.note, what, before))
    return rows


def provenance_text(session: Session) -> str:
    return "".join("\t".join(row) + "\n" for row in (PROVENANCE, *provenance(session)))


def export(session: Session, path: Path) -> Path:
    """Write the qrels, and beside it a table that says who judged what and when; return the table's name."""
    beside = path.with_name(f"{path.name}.provenance.tsv")
    for target, text in ((path, qrels_text(session)), (beside, provenance_text(session))):
        with whole_file(target) as temporary:
            temporary.write_text(text, encoding="utf-8", errors="surrogateescape", newline="\n")
    return beside


def export_sample(session: Session, path: Path) -> Path:
    """Beside exported qrels, the sample they are, for `fathoms predict --sampled`; returns the file's name."""
    if session.sample is None:
        raise FathomsError("the session judges no sample")
    drawn = set(session.sample.order)
    skipped = sum(session.find(event.topic, event.document) in drawn for event in session.skips())
    if skipped:
        raise FathomsError(
            f"{pluralise(skipped, 'document')} of the sample {'was' if skipped == 1 else 'were'} skipped; judge all, "
            "since what is left out may differ from the rest"
        )
    judged = [session.find(event.topic, event.document) for event in session.grades()]
    rows = sample_rows(session.sample, session.candidates, judged)
    beside = path.with_name(f"{path.name}.sample.tsv")
    with whole_file(beside) as temporary:
        text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
        temporary.write_text(text, encoding="utf-8", errors="surrogateescape", newline="\n")
    return beside
