"""Runs scored one by one, and large files part by part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base.parallel import parallel_map
from fathoms.base.text import pluralise
from fathoms.data.fingerprint import Content, content_of_run
from fathoms.data.qrels import Qrels
from fathoms.data.topic_groups import TopicGroups
from fathoms.evidence.align import Aligned, Alignment, Ranked, reranked
from fathoms.evidence.evidence import Evidence, Floats, Ints
from fathoms.evidence.order import default_precision, in_both_orders
from fathoms.evidence.universe import UnjudgedKeys, union_counts, unjudged_keys
from fathoms.experiment.base import BaseExperiment, Part
from fathoms.experiment.scoring import joined, score_all
from fathoms.experiment.topics import topic_notes, unanswered
from fathoms.measures.base import Measure, Scores
from fathoms.measures.means import mean_scores
from fathoms.version import __version__

ONE_READING = 5_000_000_000  # bytes of runs in memory, of which a tenth waits for the universe
FEW_LEVELS = 250
HEAVY = 100_000_000  # bytes of run files above which processes, which take a second to start, pay off


@dataclass(frozen=True, eq=False)
class Waiting:
    """A run's evidence as far as ranges need it, and its unjudged documents, which are part of the universe."""

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
    content: Content  # what the run says, including unjudged topics
    waiting: Waiting | None = None  # what some ranges are made of once the universe is known

    def mean(self, measure: Measure) -> dict[str, float | None]:
        """Each column over topics: the mean, or as the measure aggregates."""
        return mean_scores(measure, self.scores[measure])

    def group_means(self, measure: Measure, groups: TopicGroups) -> dict[str, dict[str, float | None]]:
        """The same over the topics of each group."""
        masks = groups.masks(self.topics)
        return {name: mean_scores(measure, self.scores[measure].of_topics(mask)) for name, mask in masks.items()}


@dataclass(frozen=True, eq=False)
class ScoredRuns:
    """The scores of all runs, and what ranges that depend on all of them range over."""

    runs: list[RunScores]
    notes: list[str]
    universe: int | None  # unjudged documents of all runs, where ranges are over them
    qrels: Qrels  # with the topics that they were scored on


def score_runs(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    *,
    scores_only: bool = False,
    own_topics: bool = True,
    resume: Path | None = None,
    progress: Callable[[str], None] = lambda run: None,
) -> ScoredRuns:
    """Score each run on its own, and large files part by part; each worker has only one part in memory.

    `scores_only` computes no ranges and no tie values; `resume` is a folder that keeps what is done, for the same call
    later. With `topics=intersect` a run's mean is over the topics that it answers itself, or without `own_topics` over
    those that any run answers.
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
    scored_parts = parallel_map(
        scoring.part,
        parts,
        workers=options.workers,
        scheduler=options.scheduler,
        folder=resume,
        heavy=runs.bytes_on_disk > HEAVY and not all(map(experiment.keeps, runs)),
        settings="" if resume is None else _identity(scoring),
        doing="parts of runs",
        identity=lambda part: repr((part[0], runs.identity(part[0]), getattr(part[1], "args", ()))),
        progress=lambda part: progress(part[0]),
    )
    by_run: list[list[RunScores]] = []
    for name, of_run in groupby(zip(parts, scored_parts, strict=True), key=lambda pair: pair[0][0]):
        sound = _fitting([scores for _, scores in of_run])
        by_run.append([scoring.score(experiment.ranked(name))] if sound is None else sound)
    universe = align.unjudged_in_universe
    if waits:
        universe = union_counts([part.waiting.keys for of_run in by_run for part in of_run if part.waiting])
        by_run = scoring.with_ranges(by_run, universe)
    scored = [scoring.whole(of_run) for of_run in by_run]
    experiment.keep_contents({run.run: run.content for run in scored})
    if scoring.shares:
        for run in scored:
            experiment.keep_scores(run.run, run.scores)
    notes += [note for run in scored for note in run.notes]
    qrels, lenient = experiment.qrels, experiment.lenient
    means = "" if intersect else _mean_of_answered(scored, measures, qrels, lenient=lenient)
    about = topic_notes(scored, qrels, options.topics if intersect else "all", means, lenient=lenient)
    return ScoredRuns(scored, [*about, *notes], None if universe is None else int(universe.sum()), qrels)


def _one_reading(experiment: BaseExperiment) -> bool:
    """Whether runs are read once, and ranges that depend on all of them made at the end from what was kept of each.

    Runs in memory can be looked at twice; what does not fit there has to be read twice; and a universe cut at some
    depth must be known first, since it says which documents of a run count.
    """
    runs = experiment.runs
    if experiment.options.universe_depth is not None:
        return False
    return not all(map(experiment.keeps, runs)) and sum(map(runs.bytes_in_memory, runs)) <= ONE_READING


def _identity(scoring: Scoring) -> str:
    """What the scores of a run depend on, apart from that run."""
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
        """Scores of the topics in a part of a run; None if the run has to be scored as a whole."""
        name, read = part
        if read is None and self.experiment.keeps(name):
            return self.score(self.experiment.ranked(name), self.experiment.align(name, self.align).answered)
        ranked = self.experiment.ranked_part(part)
        return None if ranked is None else self.score(ranked)

    @property
    def shares(self) -> bool:
        """Whether the scores are those that all analyses of the experiment start from."""
        return not self.scores_only and not self.own_topics and self.experiment.options.ties != "expected"

    @property
    def _late(self) -> frozenset[Measure]:
        """The measures whose ranges are left for later."""
        return frozenset(measure for measure in self.measures if self.waits and measure.needs_universe)

    def score(self, ranked: Ranked, aligned: Aligned | None = None) -> RunScores:
        """Scores of the topics that the run has, whether it is aligned yet or not."""
        run, options = ranked.run, self.experiment.options
        aligned = aligned or self.align.of(ranked, present=True)
        evidence, measures = aligned.evidence, self.measures
        known = self.experiment.known_scores(run.name, measures) if self.shares else None
        if known is None:
            scores = score_all(evidence, measures, options.ties, scores_only=self.scores_only, late=self._late)
        else:
            scores = {m: of.of_topics(ranked.lengths > 0) for m, of in known.items()}
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
            content=content_of_run(run),
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
        ranges_of_parts = parallel_map(
            ranges, parts, workers=options.workers, scheduler=options.scheduler, doing="ranges of runs"
        )
        ranged = iter(
            replace(part, waiting=None, scores=part.scores | _with_range(part.scores, late, of_part))
            for part, of_part in zip(parts, ranges_of_parts, strict=True)
        )
        return [[next(ranged) for _ in of_run] for of_run in by_run]

    def whole(self, parts: list[RunScores]) -> RunScores:
        """A run as a whole: its topics in the order of the qrels, including those it lacks if they count."""
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
            scores={measure: joined([block[measure] for block in blocks], order) for measure in self.measures},
            lacking=lacking,
            unknown=[topic for part in parts for topic in part.unknown],
            unjudged=sum(part.unjudged for part in parts),
            read=sum(part.read for part in parts),
            unjudged_anywhere=sum(part.unjudged_anywhere for part in parts),
            rank_order_differs=any(part.rank_order_differs for part in parts),
            notes=[note for part in parts for note in part.notes],
            content=reduce(Content.plus, (part.content for part in parts)),
        )


def _fitting(parts: Sequence[RunScores | None]) -> list[RunScores] | None:
    """The parts of a run, if all could be scored and no topic is in two of them."""
    scored = [part for part in parts if part is not None]
    topics = [topic for part in scored for topic in (*part.topics, *part.unknown)]
    return scored if len(scored) == len(parts) and len(set(topics)) == len(topics) else None


def _contradicts_itself(ranked: Ranked) -> bool:
    """Whether, by the rank column, a document of a judged topic stands above one with a greater score."""
    run = ranked.run
    if run.ranks is None:
        return False
    ranks = run.ranks[ranked.rows]
    if np.isnan(ranks).any():
        return False  # a column that is not all numbers is no order
    topic = ranked.topic
    same_topic = topic[1:] == topic[:-1]
    if ((ranks[1:] > ranks[:-1]) | ~same_topic).all():
        return False  # as most runs are: in the order of both
    if in_both_orders(run):
        return False  # and so are the others if they have ties
    tied = ranked.tied[1:]
    in_group = np.append(False, tied) | np.append(tied, False)
    if (same_topic & (ranks[1:] < ranks[:-1]) & ~in_group[1:] & ~in_group[:-1]).any():
        return True
    # Equal scores go by rank; and scores tied as float32 may still differ.
    places = np.flatnonzero(in_group)
    group, scores = np.cumsum(~ranked.tied[places]), run.scores[ranked.rows[places]]
    ranks[places] = ranks[places[np.lexsort((ranks[places], -scores, group))]]
    return bool((same_topic & (ranks[1:] < ranks[:-1])).any())


Range = tuple[Floats | None, Floats | None]


def _ranges(measures: list[Measure], evidence: Evidence, scores: list[Floats]) -> list[Range]:
    """Each measure's range on each topic, chunk by chunk, as scores are made."""
    by_measure: list[list[Scores]] = [[] for _ in measures]
    start = 0
    for chunk in evidence.chunks():
        part = slice(start, start + len(chunk))
        for measure, score, ranges in zip(measures, scores, by_measure, strict=True):
            ranges.append(Scores(score[part], *measure.range(chunk, score[part])))
        start += len(chunk)
    return [(of.low, of.high) for of in map(joined, by_measure)]


def _with_range(scores: dict[Measure, Scores], late: list[Measure], ranges: list[Range]) -> dict[Measure, Scores]:
    return {
        measure: replace(scores[measure], low=low, high=high) for measure, (low, high) in zip(late, ranges, strict=True)
    }


def _mean_of_answered(runs: Sequence[RunScores], measures: Sequence[Measure], qrels: Qrels, *, lenient: bool) -> str:
    """The best mean, and what it would be without the topics that no run answers."""
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
