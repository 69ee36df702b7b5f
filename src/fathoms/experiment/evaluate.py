"""From judgments and runs to a table of scores: what `fathoms eval` and `Experiment.evaluate` do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fathoms.data.qrels import Qrels
from fathoms.data.topic_groups import TopicGroups
from fathoms.data.topics import valid_text
from fathoms.errors import FathomsError
from fathoms.evidence.align import Alignment, Ranked, reranked
from fathoms.evidence.evidence import Evidence, Floats, Ints
from fathoms.evidence.order import Ties, default_precision, in_both_orders
from fathoms.evidence.universe import UnjudgedKeys, union_counts, unjudged_keys
from fathoms.experiment.base import BaseExperiment, Part
from fathoms.experiment.remarks import answers, remarks
from fathoms.experiment.result import Result
from fathoms.experiment.topics import topic_notes, unanswered
from fathoms.measures.base import Measure, Scores
from fathoms.parallel import parallel_map
from fathoms.text import pluralise
from fathoms.version import __version__

if TYPE_CHECKING:
    import polars as pl

DEFAULT_MEASURES = ("AP", "nDCG@10", "P@10", "RBP(p=0.8)", "RR")
COLUMNS = ("run", "topic", "measure", *Scores.COLUMNS)
POINTS = ("score", "low", "high", "tie_low", "tie_high")
Likely = tuple[float | None, float | None, float | None]  # an estimate and the ends of its interval
ONE_READING = 5_000_000_000  # bytes of runs in memory, of which a tenth waits for the universe
FEW_LEVELS = 250
HEAVY = 100_000_000  # bytes of run files for which processes pay that take a second to start


@dataclass(frozen=True, eq=False)
class Waiting:
    """A run's evidence as far as ranges need it, and its unjudged documents, which are a part of the universe."""

    topics: Ints  # as numbered in the judgments
    lengths: Ints
    codes: NDArray[Any]
    keys: UnjudgedKeys


@dataclass(frozen=True, eq=False)
class RunScores:
    """One run's scores by measure and topic, and what a reader should know of them."""

    run: str
    tag: str
    topics: list[str]
    scores: dict[Measure, Scores]
    lacking: Ints  # judged topics that the run does not have, as numbered in the judgments
    unknown: list[str]
    unjudged: int  # unjudged documents in the places that any measure reads
    read: int  # documents in those places
    unjudged_anywhere: int  # unjudged documents at any rank, of those that ranges are over
    rank_order_differs: bool  # ranks contradict scores, and ordering by rank would change a score
    notes: list[str]
    waiting: Waiting | None = None  # what some ranges are made of once the universe is known

    def mean(self, measure: Measure) -> dict[str, float | None]:
        """Each column over topics: the mean, or as the measure aggregates."""
        return mean_scores(measure, self.scores[measure])

    def group_means(self, measure: Measure, groups: TopicGroups) -> dict[str, dict[str, float | None]]:
        """The same over the topics of each group."""
        masks = groups.masks(self.topics)
        return {name: mean_scores(measure, self.scores[measure].of_topics(mask)) for name, mask in masks.items()}


@dataclass(frozen=True, eq=False)
class Evaluation(Result):
    """Scores of all runs, with the notes that belong to them."""

    columns: ClassVar = COLUMNS
    words: ClassVar = COLUMNS[:3]
    charts: ClassVar = ("ranges", "topics")

    measures: list[Measure]
    runs: list[RunScores]
    by_topic: bool
    notes: list[str] = field(default_factory=list)
    universe: int | None = None  # unjudged documents of all runs, where ranges are over them
    universe_depth: int | None = None  # only those that some run has in its first places
    groups: TopicGroups | None = None

    def rows(self) -> Iterable[tuple[Any, ...]]:
        """Rows as in COLUMNS; a run's topics before its groups of topics, and these before its `all`."""
        for run in self.runs:
            if self.by_topic:
                columns = {
                    measure: [
                        [None] * len(run.topics) if column is None else column.tolist()
                        for column in (getattr(scores, name) for name in Scores.COLUMNS)
                    ]
                    for measure, scores in run.scores.items()
                }
                for i, topic in enumerate(run.topics):
                    for measure in self.measures:
                        yield (run.run, topic, measure.name, *(column[i] for column in columns[measure]))
            if self.groups is not None:
                of_groups = {measure: run.group_means(measure, self.groups) for measure in self.measures}
                for group in of_groups[self.measures[0]]:
                    for measure in self.measures:
                        yield (run.run, group, measure.name, *of_groups[measure][group].values())
            for measure in self.measures:
                yield (run.run, "all", measure.name, *run.mean(measure).values())

    @property
    def answer(self) -> list[str]:
        return answers(self)

    @property
    def remarks(self) -> list[str]:
        return remarks(self)

    def ranked(self, measure: Measure) -> list[RunScores]:
        """The runs by their score, best first; equal ones by name."""
        return sorted(self.runs, key=lambda run: (-(run.mean(measure)["score"] or 0.0), run.run))

    def _draw(self, kind: str, measure: str) -> Any:
        """`ranges`: each run's score with its range, best first. `topics`: how much the runs differ on each topic."""
        from fathoms import charts

        [chosen] = [one for one in self.measures if one.name == measure]
        if kind == "topics":
            return charts.topic_spread(self.topic_points(chosen), measure)
        return charts.ranges(self.range_points(chosen), measure)

    @property
    def same_topics(self) -> bool:
        """Whether all runs were scored on the same topics."""
        return all(run.topics == self.runs[0].topics for run in self.runs)

    def topic_points(self, measure: Measure) -> pl.DataFrame:
        """A row a topic, that of the highest median first: quartiles and standard deviation over the runs."""
        import polars as pl

        if not self.same_topics:
            raise FathomsError("the runs were scored on different topics, so there is no chart by topic")
        names = self.runs[0].topics
        scores = np.stack([run.scores[measure].score for run in self.runs])
        quartiles, spread = np.quantile(scores, [0, 0.25, 0.5, 0.75, 1], axis=0), scores.std(axis=0)
        points = []
        for place, t in enumerate(np.argsort(-quartiles[2], kind="stable").tolist(), 1):
            low, q1, median, q3, high = quartiles[:, t].tolist()
            text = f"topic {names[t]}; median {median:.4f}; from {low:.4f} to {high:.4f}"
            numbers = (low, q1, median, q3, high, float(spread[t]))
            points.append((place, valid_text(names[t]), *numbers, valid_text(text), ""))
        schema = ["place", "topic", "low", "q1", "median", "q3", "high", "spread", "tooltip", "link"]
        return pl.DataFrame(points, schema=schema, orient="row")

    def range_points(self, measure: Measure, estimates: Mapping[str, Likely] | None = None) -> pl.DataFrame:
        """A row a run, best first: score, ranges, the estimate and its interval where there is one, and all of it in
        words."""
        import polars as pl

        estimates = estimates or {}
        points = []
        for place, run in enumerate(self.ranked(measure), 1):
            mean, likely = run.mean(measure), estimates.get(run.run, (None, None, None))
            values = [mean[name] for name in POINTS]
            text = f"{place}. {run.run}; {measure.name} {mean['score'] or 0.0:.4f}"
            if mean["low"] is not None and mean["high"] is not None:
                text += f"; range {mean['low']:.4f} to {mean['high']:.4f}"
            if mean["tie_low"] is not None and mean["tie_high"] is not None:
                text += f"; orders of ties {mean['tie_low']:.4f} to {mean['tie_high']:.4f}"
            if likely[0] is not None:
                text += f"; estimate {likely[0]:.4f}"
            if likely[1] is not None and likely[2] is not None:
                text += f", likely {likely[1]:.4f} to {likely[2]:.4f}"
            points.append((place, valid_text(run.run), *values, *likely, valid_text(text)))
        numbers = (*POINTS, "estimate", "likely_low", "likely_high")
        schema: Any = {"place": pl.Int64, "run": pl.String, **dict.fromkeys(numbers, pl.Float64)}
        return pl.DataFrame(points, schema=schema | {"tooltip": pl.String}, orient="row")


def mean_scores(measure: Measure, scores: Scores) -> dict[str, float | None]:
    means = {name: aggregate(measure, getattr(scores, name)) for name in Scores.COLUMNS}
    if measure.aggregate == "geometric" and means["tie_low"] != means["tie_high"]:
        means["tie_expected"] = None  # the mean of a geometric mean is not that of its topics' means
    return means


def aggregate(measure: Measure, column: Floats | None) -> float | None:
    if column is None:
        return None
    if not len(column):
        return 0.0
    if measure.aggregate == "sum":
        return float(column.sum())
    if measure.aggregate == "geometric":
        return float(np.exp(np.log(column).mean()))
    return float(column.mean())


def run_evaluation(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    *,
    by_topic: bool = False,
    scores_only: bool = False,
    own_topics: bool = True,
    resume: Path | None = None,
    progress: Callable[[str], None] = lambda run: None,
) -> Evaluation:
    """Score each run on its own, and large files part by part; only one part a worker is in memory.

    `scores_only` computes no ranges and no tie values; `resume` is a folder that keeps what is done, for the same call
    later. With `topics=intersect` a run's mean is over the topics that it answers itself, or without `own_topics` over
    those that any run does.
    """
    intersect = own_topics and experiment.options.topics == "intersect"
    experiment = experiment.with_all_topics() if intersect else experiment
    experiment.prepare()
    measures, notes = list(measures), list(experiment.qrels.notes)
    runs, options = experiment.runs, experiment.options
    # Under `expected` only measures have ranges that do not depend on other runs.
    several = not scores_only and options.ties != "expected" and experiment.has_universe(measures)
    waits = several and _one_reading(experiment)
    limited = not scores_only and options.universe_depth is not None
    align = experiment.alignment(measures, notes, ranges=limited or (several and not waits))
    scoring = Scoring(experiment, measures, align, scores_only, waits, intersect)
    parts = [part for name in runs for part in experiment.parts(name)]
    found = parallel_map(
        scoring.part,
        parts,
        workers=options.workers,
        scheduler=options.scheduler,
        folder=resume,
        heavy=runs.bytes_on_disk > HEAVY and not all(map(experiment.keeps, runs)),
        settings="" if resume is None else _identity(scoring),
        identity=lambda part: repr((part[0], runs.identity(part[0]), getattr(part[1], "args", ()))),
        progress=lambda part: progress(part[0]),
    )
    by_run: list[list[RunScores]] = []
    for name, of_run in groupby(zip(parts, found, strict=True), key=lambda pair: pair[0][0]):
        sound = _fitting([scores for _, scores in of_run])
        by_run.append([scoring.score(experiment.ranked(name))] if sound is None else sound)
    universe = align.unjudged_in_universe
    if waits:
        universe = union_counts([part.waiting.keys for of_run in by_run for part in of_run if part.waiting])
        by_run = scoring.with_ranges(by_run, universe)
    scored = [scoring.whole(of_run) for of_run in by_run]
    notes += [note for run in scored for note in run.notes]
    lenient = experiment.lenient
    means = "" if intersect else _mean_of_answered(scored, measures, experiment.qrels, lenient=lenient)
    chosen = options.topics if intersect else "all"
    about = topic_notes(scored, experiment.qrels, chosen, means, lenient=lenient)
    notes = [*about, *notes]
    size = None if universe is None else int(universe.sum())
    groups = experiment.topic_groups
    if groups is not None:
        notes += groups.notes(experiment.qrels.topics)
    return Evaluation(measures, scored, by_topic, notes, size, options.universe_depth, groups)


def _mean_of_answered(runs: Sequence[RunScores], measures: Sequence[Measure], qrels: Qrels, *, lenient: bool) -> str:
    """The best mean, and what it is without the topics that no run answers."""
    nowhere = set(unanswered(runs, qrels, lenient))
    chosen = next((measure for measure in measures if measure.aggregate == "mean"), None)
    if not nowhere or chosen is None:
        return ""
    best = max(runs, key=lambda run: run.mean(chosen)["score"] or 0.0)
    answered = np.array([topic not in nowhere for topic in best.topics])
    mean = float(best.scores[chosen].score[answered].mean())
    return (
        f" ({chosen.name} of {best.run} is {best.mean(chosen)['score']:.4f}, but {mean:.4f} over the "
        f"{pluralise(int(answered.sum()), 'answered topic')})"
    )


def _one_reading(experiment: BaseExperiment) -> bool:
    """Whether runs are read once, and ranges that depend on all of them made at the end from what was kept of each.

    Runs in memory can be looked at twice; more than fits there has to be read twice; and a universe that is cut at some
    depth must be known first, since it says which documents of a run count.
    """
    runs = experiment.runs
    if experiment.options.universe_depth is not None:
        return False
    return not all(map(experiment.keeps, runs)) and sum(map(runs.bytes_in_memory, runs)) <= ONE_READING


def _identity(scoring: Scoring) -> str:
    """What the scores of a run depend on beside that run."""
    runs, options, measures = scoring.experiment.runs, scoring.experiment.options, scoring.measures
    how = replace(options, workers=0, scheduler=None), scoring.waits
    others = None
    if any(measure.needs_pool or (measure.needs_universe and not scoring.waits) for measure in measures):
        others = [runs.identity(name) for name in runs]
    names = [measure.name for measure in measures]
    return repr((__version__, how, scoring.scores_only, names, scoring.experiment.qrels.identity(), others))


@dataclass(frozen=True, eq=False)
class Scoring:
    """How the runs of an experiment are scored."""

    experiment: BaseExperiment
    measures: list[Measure]
    align: Alignment
    scores_only: bool = False
    waits: bool = False  # ranges that depend on all runs are left for `with_ranges`
    own_topics: bool = False  # a run's mean is over the topics that it answers

    def part(self, part: Part) -> RunScores | None:
        """Scores of the topics in a part of a run; None where the run has to be looked at as a whole."""
        ranked = self.experiment.ranked_part(part)
        return None if ranked is None else self.score(ranked)

    @property
    def _late(self) -> frozenset[Measure]:
        """The measures whose ranges are left for later."""
        return frozenset(measure for measure in self.measures if self.waits and measure.needs_universe)

    def score(self, ranked: Ranked) -> RunScores:
        """Scores of the topics that the run has."""
        run, options = ranked.run, self.experiment.options
        aligned = self.align.of(ranked, present=True)
        evidence, measures = aligned.evidence, self.measures
        scores = score_all(evidence, measures, options.ties, scores_only=self.scores_only, late=self._late)
        differs = False
        if options.ties not in ("rank", "run") and not self.scores_only and _contradicts_itself(ranked):
            by_rank = reranked(ranked, "rank", options.precision or default_precision("rank"))
            by_ranks = self.align.of(by_rank, present=True).evidence
            others = score_all(by_ranks, measures, options.ties, scores_only=True)
            differs = any(not np.allclose(scores[m].score, others[m].score, atol=1e-9) for m in measures)
        depth = max(
            (evidence.width if m.k is None or m.cutoff == "recall" else m.depth_read(evidence)) for m in measures
        )
        return RunScores(
            run=run.name,
            tag=run.tag,
            topics=evidence.topics,
            scores=scores,
            lacking=np.empty(0, dtype=np.int64),  # known of the whole only; a part lacks all topics but its own
            unknown=aligned.unknown,
            unjudged=int(np.count_nonzero(evidence.not_judged[:, :depth])),
            read=int(np.minimum(evidence.lengths, depth).sum()),
            unjudged_anywhere=int(np.count_nonzero(evidence.unjudged)),
            rank_order_differs=differs,
            notes=run.notes,
            waiting=self._waiting(ranked, evidence) if self._late else None,
        )

    def _waiting(self, ranked: Ranked, evidence: Evidence) -> Waiting:
        # Eight bits will do for the codes, unless somebody graded from 0 to 250 or more.
        codes = evidence.codes.astype(np.uint8) if len(evidence.levels) < FEW_LEVELS else evidence.codes
        keys = unjudged_keys(ranked, len(self.align.qrels.topics))
        return Waiting(evidence.topic_numbers, evidence.lengths, codes, keys)

    def with_ranges(self, by_run: list[list[RunScores]], universe: Ints) -> list[list[RunScores]]:
        """The same parts of runs, with the ranges that had to wait for the universe."""
        options = self.experiment.options
        align, late = replace(self.align, unjudged_in_universe=universe), list(self._late)

        def ranges(part: RunScores) -> list[Range]:
            assert part.waiting is not None
            evidence = align.evidence(part.waiting.topics, part.waiting.lengths, part.waiting.codes)
            return _ranges(late, evidence, [part.scores[measure].score for measure in late])

        parts = [part for of_run in by_run for part in of_run]
        found = parallel_map(ranges, parts, workers=options.workers, scheduler=options.scheduler)
        ranged = iter(
            replace(part, waiting=None, scores=part.scores | _with_range(part.scores, late, of_part))
            for part, of_part in zip(parts, found, strict=True)
        )
        return [[next(ranged) for _ in of_run] for of_run in by_run]

    def whole(self, parts: list[RunScores]) -> RunScores:
        """A run as a whole: its topics in the order of the qrels, with those it lacks where they count."""
        qrels, options = self.align.qrels, self.experiment.options
        topics = [topic for part in parts for topic in part.topics]
        place = np.array([qrels.index[topic] for topic in topics], dtype=np.int64)
        lacking = np.flatnonzero(np.bincount(place, minlength=len(qrels.topics)) == 0)
        blocks = [part.scores for part in parts]
        if len(lacking) and not self.own_topics:
            missing = [qrels.topics[i] for i in lacking]
            topics, place = topics + missing, np.append(place, lacking)
            empty = self.align.empty(missing)
            blocks.append(score_all(empty, self.measures, options.ties, scores_only=self.scores_only))
        order = None
        if (place[1:] < place[:-1]).any():
            order = np.argsort(place, kind="stable")
            topics = [topics[i] for i in order.tolist()]
        return RunScores(
            run=parts[0].run,
            tag=parts[0].tag,
            topics=topics,
            scores={measure: _joined([block[measure] for block in blocks], order) for measure in self.measures},
            lacking=lacking,
            unknown=[topic for part in parts for topic in part.unknown],
            unjudged=sum(part.unjudged for part in parts),
            read=sum(part.read for part in parts),
            unjudged_anywhere=sum(part.unjudged_anywhere for part in parts),
            rank_order_differs=any(part.rank_order_differs for part in parts),
            notes=[note for part in parts for note in part.notes],
        )


def _fitting(parts: Sequence[RunScores | None]) -> list[RunScores] | None:
    """The parts of a run, if all could be scored and no topic is in two of them."""
    scored = [part for part in parts if part is not None]
    topics = [topic for part in scored for topic in (*part.topics, *part.unknown)]
    return scored if len(scored) == len(parts) and len(set(topics)) == len(topics) else None


def _contradicts_itself(ranked: Ranked) -> bool:
    """Whether a document stands above one with a greater score, by the rank column, in a topic that is judged."""
    run = ranked.run
    if run.ranks is None:
        return False
    ranks = run.ranks[ranked.rows]
    if np.isnan(ranks).any():
        return False  # a column that is not all numbers is no order
    same_topic = ranked.topic[1:] == ranked.topic[:-1]
    if ((ranks[1:] > ranks[:-1]) | ~same_topic).all():
        return False  # as most runs are: in the order of both
    if in_both_orders(run):
        return False  # and as the others are that have ties
    tied = ranked.tied[1:]
    in_group = np.append(False, tied) | np.append(tied, False)
    if (same_topic & (ranks[1:] < ranks[:-1]) & ~in_group[1:] & ~in_group[:-1]).any():
        return True
    # Equal scores go by rank; and what is tied as float32 may have different scores still.
    places = np.flatnonzero(in_group)
    group, scores = np.cumsum(~ranked.tied[places]), run.scores[ranked.rows[places]]
    ranks[places] = ranks[places[np.lexsort((ranks[places], -scores, group))]]
    return bool((same_topic & (ranks[1:] < ranks[:-1])).any())


Range = tuple[Floats | None, Floats | None]


def _ranges(measures: list[Measure], evidence: Evidence, scores: list[Floats]) -> list[Range]:
    """Each measure's range of each topic, chunk by chunk as scores are made."""
    found: list[list[Scores]] = [[] for _ in measures]
    start = 0
    for chunk in evidence.chunks():
        part = slice(start, start + len(chunk))
        for measure, score, ranges in zip(measures, scores, found, strict=True):
            ranges.append(Scores(score[part], *measure.range(chunk, score[part])))
        start += len(chunk)
    joined = map(_joined, found)
    return [(one.low, one.high) for one in joined]


def _with_range(scores: dict[Measure, Scores], late: list[Measure], ranges: list[Range]) -> dict[Measure, Scores]:
    return {
        measure: replace(scores[measure], low=low, high=high) for measure, (low, high) in zip(late, ranges, strict=True)
    }


def score_all(
    evidence: Evidence,
    measures: list[Measure],
    ties: Ties,
    *,
    scores_only: bool = False,
    late: frozenset[Measure] = frozenset(),
) -> dict[Measure, Scores]:
    """All measures on one run, chunk by chunk so that the arrays stay in cache; no ranges of those in `late`."""
    parts = [_score_chunk(chunk, measures, ties, scores_only, late) for chunk in evidence.chunks()]
    return {measure: _joined([part[i] for part in parts]) for i, measure in enumerate(measures)}


def _score_chunk(
    chunk: Evidence, measures: list[Measure], ties: Ties, scores_only: bool, late: frozenset[Measure]
) -> list[Scores]:
    if scores_only and ties != "expected":
        return [Scores(measure.value(measure.prepared(chunk))) for measure in measures]
    found = []
    for measure in measures:
        scores = measure.scores(chunk, with_range=not late or measure not in late)
        if ties == "expected":
            low, high = (None, None)
            if scores.low is not None:
                low, high = measure.expected_range(measure.prepared(chunk))
            expected = scores.score if scores.tie_expected is None else scores.tie_expected
            scores = replace(scores, score=expected, low=low, high=high)
        found.append(scores)
    return found


def _joined(parts: list[Scores], order: NDArray[np.int64] | None = None) -> Scores:
    """Scores of several blocks of topics as one, in another order of topics where given."""
    if len(parts) == 1 and order is None:
        return parts[0]

    def column(name: str) -> Floats | None:
        columns = [getattr(part, name) for part in parts]
        if name == "tie_error" and any(column is not None for column in columns):  # elsewhere nothing was simulated
            columns = [np.zeros(len(p.score)) if c is None else c for p, c in zip(parts, columns, strict=True)]
        if any(column is None for column in columns):
            return None
        joined: Floats = np.concatenate(columns)
        return joined if order is None else joined[order]

    return Scores(**{name: column(name) for name in (*Scores.COLUMNS, "tie_error")})  # type: ignore[arg-type]
