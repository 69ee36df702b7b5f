"""What changed between two runs, with judgments or without: `fathoms diff` and `fm.diff`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from fathoms import charts, choices
from fathoms.choices import checked
from fathoms.comparison.differences import comparable
from fathoms.comparison.observed import asked_universe, without_pair
from fathoms.comparison.ranges import NOTHING, Ranges, Universe
from fathoms.comparison.rank_overlap import RBO, rank_biased_overlap
from fathoms.data.arrays import frame_of_rows, ratio
from fathoms.data.file_names import stem
from fathoms.data.qrels import JUDGED, Qrels
from fathoms.data.topics import topic_order
from fathoms.errors import FathomsError
from fathoms.evidence.align import Ranked, rank
from fathoms.evidence.evidence import Bools, Evidence, Floats, Ints
from fathoms.evidence.pairs import RankedKeys
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.result import Result
from fathoms.experiment.survey import survey
from fathoms.experiment.topics import some, topic_notes
from fathoms.measures.base import Measure
from fathoms.measures.gains import Graded
from fathoms.measures.normalised import NormalisedSum
from fathoms.measures.weighted import Weighted

if TYPE_CHECKING:
    import polars as pl

Kind = Literal["topics", "scores", "documents"]
GRADED = ("relevant", "nonrelevant", "unjudged")  # what a gained or lost document may be
PARTS = ("gained", "lost", "moved", "deeper")  # what a difference may come from
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
WHOLE = {
    *("gained", "new", "lost", "gone", "largest_rise", "largest_fall", "rank_a", "rank_b", "shift"),
    *(f"{side}_{word}" for side in ("gained", "lost") for word in GRADED),
}
SHOWN_AS = {"nonrelevant": "not relevant"}
RELEVANT = 1.0  # the grade from which on a gained or lost document counts as relevant
DRAWN = 60  # topics in the chart


@dataclass(frozen=True, eq=False)
class Side:
    """One run's documents by topic and rank, and where the other run has each of them."""

    ranked: Ranked
    other: Ints  # rank in the other run, 0 where that has not got it
    ends: Ints  # topic t has places ends[t] .. ends[t+1] - 1

    @property
    def topic(self) -> Any:
        return self.ranked.topic

    @property
    def rank(self) -> Ints:
        return self.ranked.rank

    @cached_property
    def lengths(self) -> Ints:
        return np.diff(self.ends)

    def entering(self, depth: int) -> Bools:
        """Documents in this run's first places that are not in those of the other."""
        return (self.rank <= depth) & ((self.other == 0) | (self.other > depth))

    def per_topic(self, chosen: Bools) -> Ints:
        return np.bincount(self.topic[chosen], minlength=len(self.lengths))


def side_by_side(a: Ranked, b: Ranked, n_topics: int) -> tuple[Side, Side]:
    """Both runs, with where the other one has each document. A run has a key once, so that equal keys, neighbours once
    all are sorted, are one of each run; looking each key up would take many times as long."""
    keys = np.concatenate([a.keys, b.keys])
    order = np.argsort(keys)
    same = keys[order[1:]] == keys[order[:-1]]
    pairs = np.sort(np.stack([order[:-1][same], order[1:][same]]), axis=0)
    in_a, in_b = pairs[0], pairs[1] - len(a.keys)
    other_a, other_b = np.zeros(len(a.keys), dtype=np.int64), np.zeros(len(b.keys), dtype=np.int64)
    other_a[in_a], other_b[in_b] = b.rank[in_b], a.rank[in_a]
    topics = np.arange(n_topics + 1)
    return Side(a, other_a, np.searchsorted(a.topic, topics)), Side(b, other_b, np.searchsorted(b.topic, topics))


# -- without judgments ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Changes:
    """What became of the rankings, one value for each topic that a run answers."""

    shared: Ints  # documents in both first k
    overlap: Floats  # of the first k: shared over the more of the two that are there
    overlap_all: Floats
    rbo: RBO
    gained: Ints
    new: Ints  # of the gained ones, those that A has nowhere
    lost: Ints
    gone: Ints
    mean_shift: Floats  # nan where no document that counts is in both runs
    rise: Ints  # largest, in ranks
    fall: Ints
    reordered: Bools  # the same documents in the first k, in another order


def changes(a: Side, b: Side, depth: int, p: float) -> Changes:
    n = len(a.lengths)
    within_a, within_b = np.minimum(a.lengths, depth), np.minimum(b.lengths, depth)
    common = b.other > 0
    shared = b.per_topic(common & (b.rank <= depth) & (b.other <= depth))
    # Shifts of what somebody may see: in the first k of either run.
    counts = common & (np.minimum(b.rank, b.other) <= depth)
    topic, shift = b.topic[counts], (b.other - b.rank)[counts]
    rise, fall = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    np.maximum.at(rise, topic, shift)
    np.maximum.at(fall, topic, -shift)
    moved = np.bincount(topic, minlength=n)
    total = np.bincount(topic, weights=np.abs(shift), minlength=n)
    elsewhere = b.per_topic(common & (b.rank <= depth) & (b.other != b.rank))
    into, out = b.entering(depth), a.entering(depth)
    gained, lost = b.per_topic(into), a.per_topic(out)
    return Changes(
        shared,
        ratio(shared, np.maximum(within_a, within_b)),
        ratio(b.per_topic(common), np.maximum(a.lengths, b.lengths)),
        rank_biased_overlap(
            b.topic[common].astype(np.int64), np.maximum(b.rank, b.other)[common], a.lengths, b.lengths, p
        ),
        gained,
        b.per_topic(into & (b.other == 0)),
        lost,
        a.per_topic(out & (a.other == 0)),
        np.where(moved > 0, ratio(total, moved), np.nan),
        rise,
        fall,
        (gained == 0) & (lost == 0) & (elsewhere > 0),
    )


# -- with judgments ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScoreChange:
    """What the change did by one measure, topic by topic: B minus A."""

    measure: Measure
    score_a: Floats
    score_b: Floats
    diff: Floats  # of logarithms where the mean is geometric
    low: Floats | None  # over every way of judging
    high: Floats | None
    parts: dict[str, Floats] | None  # by PARTS; None where the measure is no sum over documents
    reversible: str  # no, yes or unknown, as in `compare`; nothing where the means are equal or there is no range
    doubt: str  # judging, ties or nothing

    @property
    def mean(self) -> float:
        return float(self.diff.mean())

    def average(self, values: Floats) -> float:
        """Of scores, as the measure is averaged."""
        return float(np.exp(np.log(values).mean()) if self.measure.aggregate == "geometric" else values.mean())


def is_sum(measure: Measure) -> bool:
    """Whether a score is a sum over documents, divided by what is the same for all runs."""
    plain = isinstance(measure, Weighted | NormalisedSum) and not measure.judged_only
    return plain and not measure.needs_pool


def contributions(measure: Measure, evidence: Evidence) -> Floats:
    """[topic, rank]: what each document adds to the score of a measure that is a sum."""
    assert isinstance(measure, Graded)
    gains = measure.table(evidence)[evidence.codes]
    effects = measure.place_effects(gains, gains, evidence)
    return ratio(effects * gains, np.repeat(measure.divisor(evidence)[:, None], gains.shape[1], axis=1))


def parts_of(measure: Measure, a: Evidence, b: Evidence, sides: tuple[Side, Side], depth: int) -> dict[str, Floats]:
    """What the documents gained, lost, in both first k, and in neither added to B - A; they sum to it."""
    found = {part: np.zeros(len(a)) for part in PARTS}
    for evidence, side, here, there in ((a, sides[0], "lost", "gained"), (b, sides[1], "gained", "lost")):
        added = contributions(measure, evidence)
        value = np.zeros(len(side.rank))
        inside = side.topic < len(evidence)
        value[inside] = added[side.topic[inside], side.rank[inside] - 1] * (1 if side is sides[1] else -1)
        mine, theirs = side.rank <= depth, (side.other > 0) & (side.other <= depth)
        for part, chosen in (
            (here, mine & ~theirs),
            (there, ~mine & theirs),
            ("moved", mine & theirs),
            ("deeper", ~mine & ~theirs),
        ):
            use = chosen & inside
            found[part] += np.bincount(side.topic[use], weights=value[use], minlength=len(a))[: len(a)]
    return found


# -- the result ----------------------------------------------------------------------------------------------------


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
    topics: list[str]  # that a run answers
    sides: tuple[Side, Side]
    found: Changes
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
        """Topics that one of the runs alone answers: 0 for A, 1 for B."""
        alone = self.answered & (self.sides[1 - side].lengths == 0)
        return [self.topics[i] for i in np.flatnonzero(alone)]

    @cached_property
    def changed(self) -> Bools:
        return (self.found.gained > 0) | (self.found.lost > 0) | self.found.reordered

    @cached_property
    def main(self) -> ScoreChange | None:
        """The measure of the first sentence: the first of those given that sees the change, for P@10 does not see
        another order of the first 10."""
        first = [
            *(one for one in self.scores_of if abs(one.mean) > NOTHING),
            *(one for one in self.scores_of if np.abs(one.diff).max(initial=0.0) > NOTHING),
            *self.scores_of,
        ]
        return first[0] if first else None

    @cached_property
    def order(self) -> list[int]:
        """The topics that a run answers, most changed first: those whose first k change, by overlap there, then by
        RBO."""
        rbo = np.nan_to_num(self.found.rbo.extrapolated)
        answered = np.flatnonzero(self.answered)
        keys = rbo[answered], self.found.overlap[answered], ~self.changed[answered]
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

    def _topic_rows(self) -> Iterator[tuple[Any, ...]]:
        one, both = self.found, self.both
        means = [one.overlap, one.overlap_all, *one.rbo]
        counts = [one.gained, one.new, one.lost, one.gone]
        graded = [None] * 6 if self.qrels is None else list(self.judged_as.values())
        for i in self.order:
            yield (
                self.topics[i],
                *(_number(values[i]) for values in means),
                *(int(values[i]) for values in counts),
                _number(one.mean_shift[i]),
                int(one.rise[i]),
                int(one.fall[i]),
                *(None if values is None else int(values[i]) for values in graded),
            )
        yield (
            "all",
            *(_mean(values[both]) for values in means),
            *(int(values.sum()) for values in counts),
            _mean(one.mean_shift[both]),
            int(one.rise.max(initial=0)),
            int(one.fall.max(initial=0)),
            *(None if values is None else int(values.sum()) for values in graded),
        )

    def _score_rows(self) -> Iterator[tuple[Any, ...]]:
        judged = 0 if self.qrels is None else len(self.qrels.topics)
        left = sorted(set(range(judged)) - set(self.order))  # that no run answers
        for one in self.scores_of:
            name = one.measure.name
            ends = (one.low, one.high)
            parts = [None] * len(PARTS) if one.parts is None else list(one.parts.values())
            for i in [*(i for i in self.order if i < judged), *left]:
                yield (
                    self.topics[i],
                    name,
                    *(float(values[i]) for values in (one.score_a, one.score_b, one.diff)),
                    *(None if values is None else float(values[i]) for values in (*ends, *parts)),
                )
            yield (
                "all",
                name,
                one.average(one.score_a),
                one.average(one.score_b),
                one.mean,
                *(None if values is None else float(values.mean()) for values in (*ends, *parts)),
            )

    def _document_rows(self) -> Iterator[tuple[Any, ...]]:
        for i in self.order:
            for document in self.documents_of(i, self.depth):
                yield (self.topics[i], *document)

    def documents_of(self, topic: int, depth: int | None = None) -> list[tuple[Any, ...]]:
        """Documents of both runs, or those in the first `depth` of either, by the better of their two ranks: document,
        change, rank in A, rank in B, shift, score in A, score in B, grade."""
        a, b = self.sides
        found: dict[str, list[Any]] = {}
        for side, at in ((a, 0), (b, 1)):
            run = side.ranked.run
            places = np.arange(side.ends[topic], side.ends[topic + 1])
            if depth is not None:
                rank, other = side.rank[places], side.other[places]
                places = places[(rank <= depth) | ((other > 0) & (other <= depth))]
            for place in places.tolist():
                row = side.ranked.rows[place]
                document = run.documents[row].decode(errors="surrogateescape")
                entry = found.setdefault(document, [None, None, None, None, self._grade(side.ranked, place)])
                entry[at], entry[2 + at] = int(side.rank[place]), float(run.scores[row])
        rows = [
            (document, *self._moved(first, second), score_a, score_b, grade)
            for document, (first, second, score_a, score_b, grade) in found.items()
        ]
        return sorted(rows, key=lambda row: (min(r for r in row[2:4] if r is not None), row[3] is None, row[3]))

    def _grade(self, ranked: Ranked, place: int) -> float | None:
        code = int(ranked.codes[place])
        return None if self.qrels is None or code < JUDGED else float(self.qrels.levels[code - JUDGED])

    def _moved(self, a: int | None, b: int | None) -> tuple[str, int | None, int | None, int | None]:
        in_a, in_b = (rank is not None and rank <= self.depth for rank in (a, b))
        shift = None if a is None or b is None else a - b
        if in_a and in_b:
            word = "same" if not shift else "up" if shift > 0 else "down"
        else:
            word = "gained" if in_b else "lost" if in_a else "deeper"
        return word, a, b, shift

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

        whole = [pl.col(name).cast(pl.Int64) for name in KINDS[kind] if name in WHOLE]
        return frame_of_rows(KINDS[kind], rows, WORDS).with_columns(whole)

    @property
    def answer(self) -> list[str]:
        from fathoms.comparison.diff_sentences import headline

        return [headline(self)]

    @property
    def remarks(self) -> list[str]:
        from fathoms.comparison.diff_sentences import remarks

        return remarks(self)

    def _draw(self, kind: str, measure: str) -> Any:
        """Documents gained and lost by topic, most changed first, and what is known of them."""
        import polars as pl

        rows = []
        for place, i in enumerate(self.order[:DRAWN], 1):
            for word, sign, total in (("gained", 1, self.found.gained), ("lost", -1, self.found.lost)):
                split = (
                    {kind: int(self.judged_as[f"{word}_{kind}"][i]) for kind in GRADED}
                    if self.qrels is not None
                    else {}
                )
                at = 0
                for kind, count in (split or {word: int(total[i])}).items():
                    shown = SHOWN_AS.get(kind, kind)
                    told = f"topic {self.topics[i]}: {count} {word}" + (f", {shown}" if split else "")
                    rows.append((place, self.topics[i], shown, sign * at, sign * (at + count), told))
                    at += count
        kinds = [SHOWN_AS.get(kind, kind) for kind in (GRADED if self.qrels is not None else ("gained", "lost"))]
        columns = ("place", "topic", "kind", "start", "stop", "tooltip")
        frame = frame_of_rows(columns, rows, ("topic", "kind", "tooltip"))
        names = [self.topics[i] for i in self.order[:DRAWN]]
        return charts.gained_and_lost(frame.filter(pl.col("start") != pl.col("stop")), kinds, names)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


# -- how it is made ------------------------------------------------------------------------------------------------


def run_diff(
    experiment: BaseExperiment,
    a: str | None = None,
    b: str | None = None,
    measures: Sequence[Any] | Any = None,
    *,
    depth: int = 10,
    p: float = 0.9,
) -> Diff:
    """What changed from run `a` to run `b`, which may be left out where there are two runs. `depth` is that of the
    first places, `p` the persistence of RBO."""
    depth, p = checked("depth", choices.whole_number, depth), checked("p", choices.share, p)
    experiment.needs_an_order("diff")
    names = _two_runs(experiment, a, b)
    experiment.runs.read_streams()
    notes: list[str] = []
    if not experiment.has_qrels:
        if measures is not None:
            raise FathomsError(
                "measures need judgments, and there are none; without them only the rankings are compared"
            )
        ranked, topics = _ranked_on_all_topics(experiment, names, None)
        sides = side_by_side(ranked[0], ranked[1], len(topics))
        found = changes(*sides, depth, p)
        return Diff(*names, depth, p, topics, sides, found, None, [], Universe(), notes)
    qrels = experiment.qrels
    chosen = without_pair(experiment.measures(measures or (f"nDCG@{depth}", f"P@{depth}"), of_pairs=True))
    ranked, topics = _ranked_on_all_topics(experiment, names, qrels)
    sides = side_by_side(ranked[0], ranked[1], len(topics))
    notes += qrels.notes
    surveys = [survey(experiment.ranked(name), qrels) for name in names]
    notes += topic_notes(surveys, qrels, "all", lenient=experiment.lenient)
    universe = Universe(asked_universe(chosen), experiment.options.universe_depth)
    scored = _scores(experiment, names, chosen, sides, depth, universe, notes)
    return Diff(*names, depth, p, topics, sides, changes(*sides, depth, p), qrels, scored, universe, notes)


def _two_runs(experiment: BaseExperiment, a: str | None, b: str | None) -> tuple[str, str]:
    names = list(experiment.runs)
    if a is None and b is None:
        if len(names) != 2:
            raise FathomsError(f"diff takes two runs, found {len(names)}: {', '.join(names[:5])}; name two of them")
        return names[0], names[1]
    if a is None or b is None:
        raise FathomsError("diff takes two runs; name both, or none where there are two")
    chosen = []
    for name in (str(a), str(b)):
        known = name if name in names else stem(name)
        if known not in names:
            raise FathomsError(f"{name!r} is not among the runs: {', '.join(names[:5])}")
        chosen.append(known)
    if chosen[0] == chosen[1]:
        raise FathomsError(f"diff takes two runs, and both are {chosen[0]}")
    return chosen[0], chosen[1]


def _ranked_on_all_topics(
    experiment: BaseExperiment, names: Sequence[str], qrels: Qrels | None
) -> tuple[list[Ranked], list[str]]:
    """The runs on the judged topics and then on all others that they answer."""
    judged = [] if qrels is None else qrels.topics
    known = set(judged)
    runs = [experiment.run(name) for name in names]
    if set(runs[0].topics).isdisjoint(runs[1].topics):
        shown = "; ".join(f"{run.name} has {some(run.topics, 3)}" for run in runs)
        raise FathomsError(f"the two runs have no topic in common: {shown}; give runs on the same topics")
    more = [topic for topic in dict.fromkeys(topic for run in runs for topic in run.topics) if topic not in known]
    if qrels is not None and not more:
        return [experiment.ranked(name) for name in names], judged
    topics = [*judged, *(more[i] for i in topic_order(more))]
    empty = np.empty(0, dtype=np.int32), np.empty(0, dtype="S8"), np.empty(0)
    rows = empty if qrels is None else (qrels.topic, qrels.documents, qrels.grades)
    wider, options = Qrels(topics, *rows), experiment.options
    return [rank(run, wider, options.ties, options.used_precision) for run in runs], topics


def _scores(
    experiment: BaseExperiment,
    names: Sequence[str],
    measures: Sequence[Measure],
    sides: tuple[Side, Side],
    depth: int,
    universe: Universe,
    notes: list[str],
) -> list[ScoreChange]:
    qrels = experiment.qrels
    align = experiment.alignment(measures, notes, ranges=False)
    a, b = (experiment.align(name, align).evidence for name in names)
    scores = {m: [m.scores(a), m.scores(b)] for m in measures}
    values = {m: [comparable(m, one.score) for one in scores[m]] for m in measures}
    counted = [*names, *(name for name in experiment.runs if universe.kind != "pair" and name not in names)]
    ranked = [RankedKeys.of(experiment.ranked(name), len(qrels.topics)) for name in counted]
    second, first = np.array([1]), np.array([0])  # B - A
    ranges = Ranges(ranked, qrels, second, first, universe, workers=experiment.options.workers)
    diffs = {m: values[m][1] - values[m][0] for m in measures}
    found = ranges.of(measures, {m: np.array([diffs[m].mean()]) for m in measures}, scores)
    changed = []
    for m in measures:
        one = found.get(m)
        changed.append(
            ScoreChange(
                m,
                scores[m][0].score,
                scores[m][1].score,
                diffs[m],
                # What is observed is one of the judgings, and rounding shall not say otherwise.
                None if one is None else np.minimum(one.topic_low[0], diffs[m]),
                None if one is None else np.maximum(one.topic_high[0], diffs[m]),
                parts_of(m, a, b, sides, depth) if is_sum(m) else None,
                "" if one is None else one.reversible[0],
                "" if one is None else one.doubt[0],
            )
        )
    return changed
