"""What a judging session begins with, and what happens in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, get_args

from fathoms.base import choices
from fathoms.base.errors import FathomsError
from fathoms.evidence.order import Precision, Ties
from fathoms.judging.session_file import Kind
from fathoms.judging.strategy_names import DEFAULT
from fathoms.measures.base import Measure
from fathoms.measures.gains import Binary
from fathoms.measures.parse import parse_measure


@dataclass(frozen=True)
class JudgingSettings:
    """What a session begins with; `until`, `stay` and `recall` may change later."""

    strategy: str = DEFAULT
    until: float = 0.95
    seed: int = 0
    depth: int = 100
    ties: Ties = "trec"
    precision: Precision = "float32"
    baseline: str | None = None
    max_grade: int = 1
    rel: int = 1
    measures: tuple[str, ...] = ("AP",)
    judge_twice: float = 0.0  # share of documents that two people judge
    kappa_error: float | None = None  # or as many as it takes to know kappa to +- this
    count_disagreement: bool = False  # a pair is settled only if another assessor's judgments would settle it too
    stay: int = 1  # documents of a topic that an assessor judges before another topic comes
    recall: float | None = None  # share of the relevant documents to find, for the strategy find-all
    topics: str = "all"  # of the runs, or only those that are `judged`; sessions that do not say took all of the runs'

    def __post_init__(self) -> None:
        if not 0.5 < self.until < 1:
            raise FathomsError(f"the confidence must lie between 0.5 and 1, found {self.until:g}")
        if not 1 <= self.rel <= self.max_grade:
            raise FathomsError(f"rel must be a grade from 1 to {self.max_grade}, the greatest, found {self.rel}")
        if not 0 <= self.judge_twice <= 1:
            raise FathomsError(f"the share judged twice must be from 0 to 1, found {self.judge_twice:g}")
        if self.kappa_error is not None and not 0 < self.kappa_error < 1:
            raise FathomsError(f"the error of kappa must lie between 0 and 1, found {self.kappa_error:g}")
        if self.kappa_error is not None and self.judge_twice:
            raise FathomsError("either a share of the documents is judged twice or as many as kappa takes, not both")
        if self.count_disagreement and not (self.judge_twice or self.kappa_error):
            raise FathomsError("to count disagreement, two people must judge some documents: by a share or for kappa")
        if self.topics not in choices.JUDGED_TOPICS:
            raise FathomsError(f"topics: expected {' or '.join(choices.JUDGED_TOPICS)}, found {self.topics!r}")
        if self.stay < 1:
            raise FathomsError(f"an assessor stays on a topic for at least 1 document, found {self.stay}")
        if self.recall is not None and self.strategy != "find-all":
            raise FathomsError(f"a recall to reach is for the strategy find-all, found {self.strategy}")
        if self.recall is not None and not 0 < self.recall < 1:
            raise FathomsError(f"the recall to reach must lie between 0 and 1, found {self.recall:g}")
        object.__setattr__(self, "measures", tuple(measure.name for measure in self.parsed()))

    def is_relevant(self, grade: int | None) -> bool:
        """Whether a grade reaches the threshold."""
        return (grade or 0) >= self.rel

    def parsed(self) -> list[Measure]:
        """The measures; `rel` is the threshold of those that have one and do not set it themselves."""
        measures = map(parse_measure, self.measures)
        return [m.replace(rel=self.rel) if isinstance(m, Binary) and m.rel == 1 else m for m in measures]


IN_FILE = {"judge_twice": "double"}  # settings that have another name there
NEEDED = ("systems", "checksum_runs", "checksum_judgments")  # what every session was begun with


def settings_of(meta: Mapping[str, Any]) -> JudgingSettings:
    """Older sessions lack some of them; those take the values that such sessions began with."""
    missing = [name for name in NEEDED if name not in meta]
    if missing:
        raise FathomsError(f"there is no {missing[0]}")
    names = {field.name: IN_FILE.get(field.name, field.name) for field in fields(JudgingSettings)}
    return JudgingSettings(**{name: meta[in_file] for name, in_file in names.items() if in_file in meta})


def meta_of(settings: JudgingSettings) -> dict[str, Any]:
    """As a session's file has them."""
    return {IN_FILE.get(name, name): value for name, value in asdict(settings).items()}


@dataclass(frozen=True)
class Event:
    """Something an assessor did: graded a document, skipped it, settled two grades, or took one of these back.

    A grade that names another event revises it: it takes that one's place, in the order too.
    """

    number: int
    kind: Kind
    topic: str
    document: str
    grade: int | None  # of a grade, or a final one
    supersedes: int | None  # of an undo: the number of the event that it takes back; of a revision: that it revises
    assessor: str
    time: str  # UTC
    note: str
    key: str | None = None  # under which its sender would send it again, if the answer was lost on its way


def is_plausible(event: Event) -> bool:
    """Whether values have the types that events have, which is all that can be checked without hashes."""
    texts = (event.topic, event.document, event.assessor, event.time, event.note)
    numbers = (event.grade, event.supersedes)
    return (
        event.kind in get_args(Kind)
        and isinstance(event.number, int)
        and all(isinstance(text, str) for text in texts)
        and all(number is None or isinstance(number, int) for number in numbers)
        and (event.grade is None) == (event.kind in ("skip", "undo"))
    )


def id_bytes(text: str) -> bytes:
    """Ids need not be valid UTF-8; SQLite does not mind, Python's module for it does."""
    return text.encode(errors="surrogateescape")
