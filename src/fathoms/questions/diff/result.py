"""What changed from one run to another: by topic, by score, by document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from fathoms.base import charts, choices
from fathoms.base.arrays import frame_of_rows
from fathoms.base.choices import checked
from fathoms.base.errors import FathomsError
from fathoms.base.result import Result
from fathoms.base.tolerances import SAME
from fathoms.data.qrels import JUDGED, Qrels
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.pairs.difference_ranges import Universe
from fathoms.questions.diff.rankings import Changes, Side
from fathoms.questions.diff.score_changes import PARTS, ScoreChange

if TYPE_CHECKING:
    import polars as pl


Kind = Literal["topics", "scores", "documents"]


GRADED = ("relevant", "nonrelevant", "unjudged")  # what a gained or lost document may be


KINDS: dict[Kind, tuple[str, ...]] = {
    "topics": (
        *("topic", "overlap", "overlap_all", "rbo", "rbo_min", "rbo_max", "gained", "new", "lost", "gone"),
        *("mean_shift", "largest_rise", "largest_fall"),
        *(f"{side}_{word}" for side in ("gained", "lost") for word in GRADED),
    ),
    "scores": (
        "topic",
        "measure",
        "score_a",
        "score_b",
        "diff",
        "diff_low",
        "diff_high",
        *(f"from_{p}" for p in PARTS),
    ),
    "documents": ("topic", "document", "change", "rank_a", "rank_b", "shift", "score_a", "score_b", "grade"),
}


WORDS = ("topic", "measure", "document", "change")


WHOLE_NUMBERS = {
    *("gained", "new", "lost", "gone", "largest_rise", "largest_fall", "rank_a", "rank_b", "shift"),
    *(f"{side}_{word}" for side in ("gained", "lost") for word in GRADED),
}


SHOWN_AS = {"nonrelevant": "not relevant"}


RELEVANT = 1.0  # the grade from which on a gained or lost document counts as relevant


DRAWN = 60  # topics in the chart


What = Literal["gained", "lost", "up", "down", "same", "deeper"]  # deeper: in the first places of neither run


class DocumentChange(NamedTuple):
    """What happened to a document; the columns of `documents`, except the topic."""

    document: str
    change: What
    rank_a: int | None
    rank_b: int | None
    shift: int | None  # in ranks; up is positive
    score_a: float | None
    score_b: float | None
    grade: float | None

    def by_rank(self) -> tuple[int, bool, int]:
        """The better of the two ranks, then that in B."""
        ranks = [rank for rank in (self.rank_a, self.rank_b) if rank is not None]
        return min(ranks), self.rank_b is None, self.rank_b or 0


class _Place(NamedTuple):
    """A document in one run."""

    document: str
    rank: int
    score: float
    grade: float | None


@dataclass(frozen=True, eq=False)
class Diff(Result):
    """What changed from run A to run B. Differences are B minus A."""

    columns: ClassVar = KINDS["topics"]
    words: ClassVar = WORDS
    charts: ClassVar = ("changes",)

    run_a: str
    run_b: str
    depth: int
    p: float
    topics: list[str]  # that some run answers
    sides: tuple[Side, Side]
    rankings: Changes
    qrels: Qrels | None
    scores_of: list[ScoreChange]
    universe: Universe
    notes: list[str] = field(default_factory=list)

    @cached_property
    def both(self) -> Bools:
        """The topics that both runs answer, of which overlap, RBO and shifts are averaged."""
        return (self.sides[0].lengths > 0) & (self.sides[1].lengths > 0)

    @cached_property
    def answered(self) -> Bools:
        return (self.sides[0].lengths > 0) | (self.sides[1].lengths > 0)

    def only(self, side: int) -> list[str]:
        """Topics that only one of the runs answers: 0 for A, 1 for B."""
        alone = self.answered & (self.sides[1 - side].lengths == 0)
        return [self.topics[i] for i in np.flatnonzero(alone)]

    @cached_property
    def changed(self) -> Bools:
        return (self.rankings.gained > 0) | (self.rankings.lost > 0) | self.rankings.reordered

    @cached_property
    def main(self) -> ScoreChange | None:
        """The measure of the first sentence: the first of those given that can see the change; P@10, for instance, is
        blind to another order of the first 10."""
        first = [
            *(change for change in self.scores_of if abs(change.mean) > SAME),
            *(change for change in self.scores_of if np.abs(change.diff).max(initial=0.0) > SAME),
            *self.scores_of,
        ]
        return first[0] if first else None

    @cached_property
    def order(self) -> list[int]:
        """The topics that a run answers, most changed first: those whose first k change, by overlap there, then by
        RBO."""
        rbo = np.nan_to_num(self.rankings.rbo.ext)
        answered = np.flatnonzero(self.answered)
        keys = rbo[answered], self.rankings.overlap[answered], ~self.changed[answered]
        order: list[int] = answered[np.lexsort(keys)].tolist()
        return order

    @cached_property
    def judged_as(self) -> dict[str, Ints]:
        """By topic, how many of the gained and lost documents are relevant, not relevant and unjudged."""
        assert self.qrels is not None
        table: dict[str, Ints] = {}
        for side, word in ((self.sides[1], "gained"), (self.sides[0], "lost")):
            entering, codes = side.entering(self.depth), side.ranked.codes
            judged = codes >= JUDGED
            grades = np.append(self.qrels.levels, 0.0)[np.where(judged, codes - JUDGED, -1)]
            relevant = judged & (grades >= RELEVANT)
            for kind, chosen in zip(GRADED, (relevant, judged & ~relevant, ~judged), strict=True):
                table[f"{word}_{kind}"] = side.per_topic(entering & chosen)
        return table

    def rows(self, kind: Kind = "topics") -> list[tuple[Any, ...]]:
        """Rows of one kind, topics in order of change; `all` comes last, with means, or sums of what is counted."""
        checked("kind", choices.one_of, tuple(KINDS), kind)
        return list({"topics": self._topic_rows, "scores": self._score_rows, "documents": self._document_rows}[kind]())

    def records(self, kind: Kind = "topics") -> list[dict[str, Any]]:
        """The same rows by the names of their columns."""
        return [dict(zip(KINDS[kind], row, strict=True)) for row in self.rows(kind)]

    def _topic_rows(self) -> Iterator[tuple[Any, ...]]:
        rankings, both = self.rankings, self.both
        means = [rankings.overlap, rankings.overlap_all, *rankings.rbo]
        counts = [rankings.gained, rankings.new, rankings.lost, rankings.gone]
        graded = [None] * 6 if self.qrels is None else list(self.judged_as.values())
        for i in self.order:
            yield (
                self.topics[i],
                *(_known(values[i]) for values in means),
                *(int(values[i]) for values in counts),
                _known(rankings.mean_shift[i]),
                int(rankings.rise[i]),
                int(rankings.fall[i]),
                *(None if values is None else int(values[i]) for values in graded),
            )
        yield (
            "all",
            *(_mean(values[both]) for values in means),
            *(int(values.sum()) for values in counts),
            _mean(rankings.mean_shift[both]),
            int(rankings.rise.max(initial=0)),
            int(rankings.fall.max(initial=0)),
            *(None if values is None else int(values.sum()) for values in graded),
        )

    def _score_rows(self) -> Iterator[tuple[Any, ...]]:
        judged = 0 if self.qrels is None else len(self.qrels.topics)
        left = sorted(set(range(judged)) - set(self.order))  # that no run answers
        for change in self.scores_of:
            name = change.measure.name
            ends = (change.low, change.high)
            parts = [None] * len(PARTS) if change.parts is None else list(change.parts.values())
            for i in [*(i for i in self.order if i < judged), *left]:
                yield (
                    self.topics[i],
                    name,
                    *(float(values[i]) for values in (change.score_a, change.score_b, change.diff)),
                    *(None if values is None else float(values[i]) for values in (*ends, *parts)),
                )
            yield (
                "all",
                name,
                change.average(change.score_a),
                change.average(change.score_b),
                change.mean,
                *(None if values is None else float(values.mean()) for values in (*ends, *parts)),
            )

    def _document_rows(self) -> Iterator[tuple[Any, ...]]:
        for i in self.order:
            for document in self.documents_of(i, self.depth):
                yield (self.topics[i], *document)

    def documents_of(self, topic: int, depth: int | None = None) -> list[DocumentChange]:
        """Documents of both runs, or those in the first `depth` of either, by the better of their two ranks."""
        entries: dict[str, list[_Place | None]] = {}
        for number, side in enumerate(self.sides):
            places = np.arange(side.ends[topic], side.ends[topic + 1])
            if depth is not None:
                rank, other = side.rank[places], side.other[places]
                places = places[(rank <= depth) | ((other > 0) & (other <= depth))]
            for place in places.tolist():
                entry = self._place(side, place)
                entries.setdefault(entry.document, [None, None])[number] = entry
        return sorted((self._document_change(a, b) for a, b in entries.values()), key=DocumentChange.by_rank)

    def _place(self, side: Side, place: int) -> _Place:
        ranked = side.ranked
        run, row, code = ranked.run, ranked.rows[place], int(ranked.codes[place])
        document = run.documents[row].decode(errors="surrogateescape")
        grade = None if self.qrels is None or code < JUDGED else float(self.qrels.levels[code - JUDGED])
        return _Place(document, int(side.rank[place]), float(run.scores[row]), grade)

    def _document_change(self, a: _Place | None, b: _Place | None) -> DocumentChange:
        either = a or b
        assert either is not None
        shift = None if a is None or b is None else a.rank - b.rank
        in_a, in_b = (place is not None and place.rank <= self.depth for place in (a, b))
        change: What
        if in_a and in_b:
            change = "same" if not shift else "up" if shift > 0 else "down"
        else:
            change = "gained" if in_b else "lost" if in_a else "deeper"
        return DocumentChange(
            either.document,
            change,
            None if a is None else a.rank,
            None if b is None else b.rank,
            shift,
            None if a is None else a.score,
            None if b is None else b.score,
            either.grade,
        )

    def topic_number(self, topic: str) -> int:
        """Where a topic is in `topics`; an error that names some where it is in neither run."""
        answered = [self.topics[i] for i in self.order]
        if topic not in answered:
            shown = ", ".join(answered[:5]) + (", ..." if len(answered) > 5 else "")
            raise FathomsError(f"topic {topic!r} is in neither run; they have {shown}")
        return self.topics.index(topic)

    def topic_frame(self, topic: str) -> pl.DataFrame:
        """All documents of one topic side by side."""
        rows = [(topic, *row) for row in self.documents_of(self.topic_number(topic))]
        return self._frame("documents", rows)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row per topic, most changed first, then `all`."""
        return self._frame("topics", self.rows())

    @cached_property
    def scores(self) -> pl.DataFrame:
        """One row per topic and measure, then `all`; empty without judgments."""
        return self._frame("scores", self.rows("scores"))

    @cached_property
    def documents(self) -> pl.DataFrame:
        """The documents in the first k of either run, topic by topic."""
        return self._frame("documents", self.rows("documents"))

    @staticmethod
    def _frame(kind: Kind, rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
        import polars as pl

        whole = [pl.col(name).cast(pl.Int64) for name in KINDS[kind] if name in WHOLE_NUMBERS]
        return frame_of_rows(KINDS[kind], rows, WORDS).with_columns(whole)

    @property
    def answer(self) -> list[str]:
        from fathoms.questions.diff.words import headline

        return [headline(self)]

    @property
    def remarks(self) -> list[str]:
        from fathoms.questions.diff.words import remarks

        return remarks(self)

    def _draw(self, kind: str, measure: str) -> Any:
        """Documents gained and lost by topic, most changed first, and what is known of them."""
        import polars as pl

        rows = []
        for place, i in enumerate(self.order[:DRAWN], 1):
            for word, sign, total in (("gained", 1, self.rankings.gained), ("lost", -1, self.rankings.lost)):
                split = (
                    {kind: int(self.judged_as[f"{word}_{kind}"][i]) for kind in GRADED}
                    if self.qrels is not None
                    else {}
                )
                at = 0
                for kind, count in (split or {word: int(total[i])}).items():
                    shown = SHOWN_AS.get(kind, kind)
                    tooltip = f"topic {self.topics[i]}: {count} {word}" + (f", {shown}" if split else "")
                    rows.append((place, self.topics[i], shown, sign * at, sign * (at + count), tooltip))
                    at += count
        kinds = [SHOWN_AS.get(kind, kind) for kind in (GRADED if self.qrels is not None else ("gained", "lost"))]
        columns = ("place", "topic", "kind", "start", "stop", "tooltip")
        frame = frame_of_rows(columns, rows, ("topic", "kind", "tooltip"))
        names = [self.topics[i] for i in self.order[:DRAWN]]
        return charts.gained_and_lost(frame.filter(pl.col("start") != pl.col("stop")), kinds, names)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None
