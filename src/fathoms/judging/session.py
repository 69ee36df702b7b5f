"""A judging session: a log of events in one SQLite file, the state that follows from it, and an engine.

Nothing is remembered but the log. An answer is written there and synced to disk before it is acknowledged; what is
judged, skipped and chosen next is a function of the events (`state.py`), so a session that was killed goes on where it
stood. (A table beside it keeps how confidence grew, only for the picture.)
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from fathoms.base.arrays import distinct
from fathoms.base.errors import FathomsError, InputError
from fathoms.base.text import pluralise
from fathoms.data.qrels import Qrels
from fathoms.evidence.candidates import Candidates
from fathoms.evidence.evidence import Floats
from fathoms.judging.agreement import Agreement
from fathoms.judging.documents_to_judge import DocumentsToJudge, Task, known
from fathoms.judging.engine import Engine, last_fit
from fathoms.judging.events import Event, JudgingSettings, meta_of
from fathoms.judging.judged_twice import kappa_interval, kappa_of
from fathoms.judging.log import Log
from fathoms.judging.next_document import EngineChoices, offers
from fathoms.judging.other_assessors import OtherOpinion
from fathoms.judging.recall import DEFAULT_RECALL, FindAllEngine, RecallEstimate
from fathoms.judging.sampling import JudgingSample, SampleEngine
from fathoms.judging.session_file import Kind
from fathoms.judging.standings import (
    PairStanding,
    count_settled,
    expected_scores,
    is_settled,
    other_opinions,
    pair_standings,
)
from fathoms.judging.state import Change, HandedOut, JudgingState, TakenBack, apply_event, fold

MAY_CHANGE = ("until", "stay", "recall")  # settings that may differ from those the session was begun with


@dataclass(frozen=True)
class Progress:
    """Where a session stands."""

    judged: int  # in this session
    relevant: int  # of these
    skipped: int
    imported: int
    pairs: int
    settled: int  # of these
    weakest: PairStanding | None  # the open pair of least confidence
    forecast: tuple[int, int] | None
    recall: RecallEstimate | None = None  # of the strategy find-all


class Session:
    """Judging as one or more assessors do it; every answer is on disk when its method returns.

    The engine is told about the answers when it is next asked for something.
    """

    def __init__(
        self, log: Log, settings: JudgingSettings, documents: DocumentsToJudge, qrels: Qrels | None, engine: Engine
    ) -> None:
        self.log, self.settings, self.documents, self.qrels = log, settings, documents, qrels
        self._engine = engine
        self._known_to_engine: list[tuple[int, float]] | None = None  # before it was told of any
        self.state = JudgingState(settings)
        self.reload()

    @classmethod
    def begin(
        cls,
        path: Path,
        settings: JudgingSettings,
        candidates: Candidates,
        qrels: Qrels | None,
        first: Sequence[int] = (),
        labels: Floats | None = None,
        pool_depth: int = 0,
        sample: JudgingSample | None = None,
    ) -> Session:
        """A new session in a new file. `labels` [candidate, label] are what else is known about documents; `pool_depth`
        is that of the pool behind the judgments so far, 0 if it is not known."""
        engine = engine_for(
            settings, candidates, qrels, labels, pool_depth, sample
        )  # before there is a file, since it may refuse
        meta = meta_of(settings) | {"systems": candidates.names} | _checksums(candidates, qrels, labels)
        meta["first"] = list(first)  # numbers are stable, since the checksum guards the candidates
        if sample is not None:
            meta["sample"] = sample.meta()
        documents = documents_of(settings, candidates, qrels, first, sample)
        return cls(Log.create(path, meta), settings, documents, qrels, engine)

    @classmethod
    def resume(
        cls,
        log: Log,
        settings: JudgingSettings,
        candidates: Candidates,
        qrels: Qrels | None,
        first: Sequence[int] | None = None,
        labels: Floats | None = None,
        pool_depth: int = 0,
    ) -> Session:
        """The session of a log, refused if the files are not those it was begun with; a new list of what comes first
        replaces the old one."""
        meta = log.meta()
        if meta["systems"] != candidates.names:
            then, now = (_listed(names) for names in (meta["systems"], candidates.names))
            raise _other_files(log.path, f"the runs were {then}, and are now {now}")
        for name, checksum in _checksums(candidates, qrels, labels).items():
            if meta.get(name, NOTHING) != checksum:  # older sessions have no labels
                raise _other_files(log.path, f"the content of the {name.removeprefix('checksum_')} has changed")
        for name in MAY_CHANGE:
            if getattr(settings, name) != meta.get(name):
                log.change(name, getattr(settings, name))
        if first is not None:
            log.change("first", list(first))
        first = meta.get("first", []) if first is None else first  # older sessions have none
        sample = JudgingSample.of(meta["sample"]) if "sample" in meta else None
        engine = engine_for(settings, candidates, qrels, labels, pool_depth, sample)
        return cls(log, settings, documents_of(settings, candidates, qrels, first, sample), qrels, engine)

    def reload(self) -> None:
        """Take everything from the log again, except who has which document, which is not in it."""
        events: list[Change] = [*self._batches_out(), *self.log.events()]
        self.state = replace(fold(self.settings, events), leases=self.state.leases)

    def _batches_out(self) -> Iterator[HandedOut]:
        """What was handed out since anything was last taken back, from the settings."""
        for time, numbers in self.log.meta().get("out", []):
            yield HandedOut(time, tuple(self.documents.task(number).id for number in numbers))

    def close(self) -> None:
        self.log.close()

    # -- which document

    def next(self, assessor: str = "", *, only_second: bool = False) -> Task | None:
        """The document to judge next; None if only skipped ones are left. With `only_second`, none that is to get its
        first grade."""
        state = self.state
        choices = EngineChoices(self.engine, self.documents.withheld(state))
        numbers = offers(self.documents, state, tidy(assessor), choices, only_second=only_second)
        return next(map(self.documents.task, numbers), None)

    def batch(self, n: int) -> list[Task]:
        """The n documents to judge next, if all grades come back together."""
        choices = EngineChoices(self.engine, self.documents.withheld(self.state), n)
        numbers = dict.fromkeys(offers(self.documents, self.state, "", choices))
        return [self.documents.task(number) for number in list(numbers)[:n]]

    def hand_out(self, tasks: Sequence[Task]) -> None:
        """Nobody is asked for these until they are answered or taken back."""
        time = datetime.now(UTC).isoformat(timespec="seconds")
        if tasks:
            self.log.change("out", [*self.log.meta().get("out", []), [time, [task.candidate for task in tasks]]])
            self.apply(HandedOut(time, tuple(task.id for task in tasks)))

    def take_back(self) -> int:
        """What is handed out and not answered may be asked for again; returns how many documents that are."""
        n = len(self.state.out)
        self.log.change("out", [])
        self.apply(TakenBack())
        return n

    # -- answers

    def grade(
        self, topic: str, document: str, grade: int, assessor: str, note: str = "", key: str | None = None
    ) -> Event:
        """`key` is one that no other answer has, so that an answer sent twice can be recognised."""
        self._check_open(topic, document, assessor)
        self._check_grade(grade)
        who, words = tidy(assessor), tidy(note)
        return self._write("grade", topic, document, grade=grade, assessor=who, note=words, key=key)

    def grade_all(self, answers: Sequence[tuple[str, str, int, str, str]]) -> None:
        """Several grades (topic, document, grade, assessor, note), on disk together or not at all."""
        try:
            with self.log.together():
                for topic, document, grade, assessor, note in answers:
                    self.grade(topic, document, grade, assessor, note)
        except BaseException:
            self.reload()
            raise

    def skip(self, topic: str, document: str, assessor: str, note: str = "", key: str | None = None) -> Event:
        """Leave a document out; it is not offered again unless the skip is taken back."""
        self._check_open(topic, document, assessor)
        record = self.state.records.get((topic, document))
        if record is not None and record.skip is not None:
            raise FathomsError(f"topic {topic}, document {document} is skipped already")
        return self._write("skip", topic, document, assessor=tidy(assessor), note=tidy(note), key=key)

    def settle(
        self, topic: str, document: str, grade: int, assessor: str, note: str = "", key: str | None = None
    ) -> Event:
        """The final grade of a document on which two people disagree."""
        self.documents.find(topic, document)
        self._check_grade(grade)
        if not any(
            (twice.first.topic, twice.first.document) == (topic, document) for twice in self.state.disagreements
        ):
            raise FathomsError(f"topic {topic}, document {document} has no two grades that differ")
        who, words = tidy(assessor), tidy(note)
        return self._write("final", topic, document, grade=grade, assessor=who, note=words, key=key)

    def undo(self, assessor: str, key: str | None = None) -> Task | None:
        """Take back the last answer of an assessor that still stands, and return what it was about."""
        name = tidy(assessor)
        last = self.state.last_of(name)
        if last is None:
            return None
        self._write("undo", last.topic, last.document, supersedes=last.number, assessor=name, key=key)
        return Task(self.documents.find(last.topic, last.document), last.topic, last.document)

    def revise(
        self, topic: str, document: str, grade: int, assessor: str, note: str = "", key: str | None = None
    ) -> Event:
        """Another grade in place of one that this assessor gave; the old one stays in the log. A document that the
        assessor skipped, and nobody graded, gets its first grade."""
        self.documents.find(topic, document)
        self._check_grade(grade)
        name, words = tidy(assessor), tidy(note)
        record = self.state.records.get((topic, document))
        own = [] if record is None else [event for event in record.grades if event.assessor == name]
        if not own:
            if record is not None and not record.answers and record.skip is not None and record.skip.assessor == name:
                return self.grade(topic, document, grade, assessor, note, key)
            raise FathomsError(f"topic {topic}, document {document} has no grade from {name} that could be revised")
        (old,) = own
        if (old.grade, old.note) == (grade, words):
            raise FathomsError(f"topic {topic}, document {document} has grade {grade} from {name} already")
        return self._write(
            "grade", topic, document, grade=grade, supersedes=old.number, assessor=name, note=words, key=key
        )

    def apply(self, event: Change) -> None:
        """What happened, and is on disk or need not be."""
        self.state = apply_event(self.state, event)

    def _write(self, kind: Kind, topic: str, document: str, **fields: Any) -> Event:
        event = self.log.append(kind, topic, document, **fields)
        self.apply(event)
        return event

    def _check_grade(self, grade: int) -> None:
        if isinstance(grade, bool) or not isinstance(grade, int) or not 0 <= grade <= self.settings.max_grade:
            raise FathomsError(f"expected a grade from 0 to {self.settings.max_grade}, found {grade!r}")

    def _check_open(self, topic: str, document: str, assessor: str) -> None:
        """Refuse a document that has a grade, unless it waits for a second one."""
        number = self.documents.find(topic, document)
        if self.documents.is_outside_sample(number):
            raise FathomsError(f"topic {topic}, document {document} is not in the sample that this session judges")
        if self.documents.may_grade(self.state, number, tidy(assessor)):
            return
        _, source = self.grade_of(number)
        if not self.state.has_grade((topic, document)):
            raise FathomsError(f"topic {topic}, document {document} is judged already in {source}")
        grade = self.state.records[topic, document].counting.grade
        raise FathomsError(
            f"topic {topic}, document {document} has grade {grade} already, from {source}; take that back first"
        )

    def grade_of(self, number: int) -> tuple[float, str]:
        """The grade that counts of a judged candidate, and whose it is."""
        record = self.state.records.get(self.documents.task(number).id)
        if record is not None and record.answers:
            return float(record.counting.grade or 0), record.counting.assessor
        return self.documents.imported[number], "" if self.qrels is None else self.qrels.source

    # -- what is known

    @property
    def judged(self) -> int:
        """How many documents were judged in this session."""
        return self.state.n_judged

    @property
    def engine(self) -> Engine:
        """The engine, told about all answers."""
        return self.engine_at(self.state)

    def engine_at(self, state: JudgingState) -> Engine:
        """The engine, told the answers of a state. What it knows depends on them alone, not on how it was told."""
        judgments, n_known = self.documents.judgments(state), len(self._known_to_engine or ())
        grew = judgments[:n_known] == self._known_to_engine
        if grew and last_fit(max(last_fit(len(judgments)) - 1, 0)) <= n_known:  # one fit at most
            for number, grade in judgments[n_known:]:
                self._engine.judge(number, grade)
        else:
            self._engine.load(judgments)
        self._known_to_engine = judgments
        return self._engine

    def settled(self) -> bool:
        """Whether judging may end: every pair is settled (or enough found, with find-all), and everything that was to
        come first is answered."""
        return not self.documents.come_first(self.state) and is_settled(self.engine, self.state)

    def recall(self) -> RecallEstimate | None:
        """How many relevant documents are found and left; None without find-all, and while it is too early to say."""
        engine = self.engine
        return engine.recall_estimate() if isinstance(engine, FindAllEngine) else None

    def why_ended(self, settled: bool, budget: int | None, more: bool) -> str | None:
        """Why judging ends here, None if it does not: all is settled, or the budget used up, or nothing left."""
        if settled and isinstance(self._engine, FindAllEngine):
            reached = f"The recall is estimated to be at least {self._engine.recall:g}"
            return f"{reached}; --resume with a greater --recall goes on."
        if settled:
            return f"Every pair is settled at {self.settings.until:g}; --resume with a greater --confidence goes on."
        if budget is not None and self.judged >= budget:
            return f"The budget of {budget:,} judgments is used up."
        if more:
            return None
        left = [words for words, some in (("was skipped", self.state.skips), ("is handed out", self.state.out)) if some]
        is_sample = self.documents.sample is not None
        end = "Nothing of the sample is left to judge" if is_sample else "There is nothing left to judge"
        return end + (f" but what {' or '.join(left)}." if left else ".")

    def progress(self) -> Progress:
        grades, pairs, until = self.state.grades, self.pairs(), self.settings.until
        still_open = [pair for pair in pairs if pair.confidence < until]
        in_all, settled = count_settled(pairs, until)
        return Progress(
            judged=len(grades),
            relevant=sum(self.settings.is_relevant(event.grade) for event in grades),
            skipped=len(self.state.skips),
            imported=len(self.documents.imported),
            pairs=in_all,
            settled=settled,
            weakest=min(still_open, key=lambda pair: pair.confidence, default=None),
            forecast=self.engine.forecast(),
            recall=self.recall(),
        )

    def pairs(self) -> list[PairStanding]:
        """The pairs that matter, each with the probably better run first."""
        return pair_standings(self.engine, self.state)

    def expected(self) -> list[tuple[str, float]]:
        """Systems and the mean score to expect of them by the first measure, best first."""
        return expected_scores(self.engine)

    def with_other_assessors(self) -> list[OtherOpinion] | None:
        """The pairs that matter, and what would be believed about them if another assessor had judged; None if too few
        documents are judged twice to tell."""
        return other_opinions(self.engine, self.state)

    def kappa(self) -> Agreement | None:
        """Cohen's kappa of the documents judged twice, with its standard error."""
        return kappa_of(self.state)

    def kappa_interval(self, level: float = 0.95) -> tuple[float, float] | None:
        return kappa_interval(self.state, level)


def documents_of(
    settings: JudgingSettings,
    candidates: Candidates,
    qrels: Qrels | None,
    first: Sequence[int],
    sample: JudgingSample | None,
) -> DocumentsToJudge:
    imported = {} if qrels is None else known(candidates, qrels)
    return DocumentsToJudge(candidates, settings.depth, imported, first, sample)


def engine_for(
    settings: JudgingSettings,
    candidates: Candidates,
    qrels: Qrels | None,
    labels: Floats | None,
    pool_depth: int,
    sample: JudgingSample | None,
) -> Engine:
    """An engine that knows no judgments yet, not even those of `qrels`: `load` tells it."""
    grades = np.arange(settings.max_grade + 1.0)
    if qrels is not None:
        grades = distinct(np.append(grades, qrels.levels[qrels.levels > 0]))
    kind, more = Engine, dict[str, Any]()
    if sample is not None:
        kind = SampleEngine
    elif settings.strategy == "find-all":
        kind, more = FindAllEngine, {"recall": settings.recall or DEFAULT_RECALL}
    return kind(
        candidates,
        settings.strategy,
        until=settings.until,
        baseline=settings.baseline,
        seed=settings.seed,
        measures=settings.parsed(),
        grades=grades.tolist(),
        rel=settings.rel,
        labels=labels,
        elsewhere=None if qrels is None else candidates.judged_elsewhere(qrels, grades),
        imported=0 if qrels is None else len(known(candidates, qrels)),
        judgments=None,
        pool_depth=pool_depth,
        **more,
    )


def tidy(text: str) -> str:
    """One line without tabs and control characters, as a table wants it, and without what no file can hold.

    >>> tidy(" a\\tb\\ud800 ")
    'a b\N{REPLACEMENT CHARACTER}'
    """
    whole = _NO_BYTES.sub("\N{REPLACEMENT CHARACTER}", text)
    return " ".join("".join(c if unicodedata.category(c) != "Cc" else " " for c in whole).split())


_NO_BYTES = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # surrogates except those that stand for bytes


NOTHING = hashlib.sha256().hexdigest()


def _checksums(candidates: Candidates, qrels: Qrels | None, labels: Floats | None) -> dict[str, str]:
    """Checksums of what was read from the files, whatever their names and compression."""
    runs = hashlib.sha256(json.dumps([candidates.names, candidates.topics]).encode())
    for array in (candidates.topic, candidates.documents, candidates.place):
        runs.update(np.ascontiguousarray(array).tobytes())
    judgments = b"" if qrels is None else qrels.lines().encode(errors="surrogateescape")
    values = b"" if labels is None else np.ascontiguousarray(labels).tobytes()
    return {
        "checksum_runs": runs.hexdigest(),
        "checksum_judgments": hashlib.sha256(judgments).hexdigest(),
        "checksum_labels": hashlib.sha256(values).hexdigest(),
    }


def _other_files(path: Path, detail: str) -> InputError:
    return InputError(
        f"was begun with other files: {detail}; give the same QRELS, runs and flags, or begin another session with "
        "--session FILE",
        str(path),
    )


def _listed(names: list[str]) -> str:
    return f"{pluralise(len(names), 'run')} ({', '.join(names[:5])}{', ...' if len(names) > 5 else ''})"
