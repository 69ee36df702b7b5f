"""From judgments and runs to a table of scores: what `fathoms eval` and `fm.evaluate` do."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fathoms.data.arrays import frame_of_rows
from fathoms.data.qrels import Qrels, read_qrels
from fathoms.data.runs import Names, Run, RunFile, Runs, scan_runs
from fathoms.errors import FathomsError, FathomsWarning, InputError
from fathoms.evidence.align import Aligned, Alignment, rank
from fathoms.evidence.evidence import Evidence, Floats
from fathoms.evidence.order import Precision, Ties, contradictions, default_precision
from fathoms.evidence.pool import Rows, make_pool, unjudged_of_all, unjudged_rows
from fathoms.measures.base import Measure, Scores
from fathoms.measures.parse import parse_measure
from fathoms.parallel import parallel_map

if TYPE_CHECKING:
    import polars as pl

Topics = Literal["all", "intersect"]
DEFAULT_MEASURES = ("AP", "nDCG@10", "P@10", "RBP(p=0.8)", "RR")
COLUMNS = ("run", "topic", "measure", *Scores.COLUMNS)
HEAVY = 100_000_000  # bytes of run files for which processes pay that take a second to start
GROUPS = 8  # of runs, for what takes a first pass over them


@dataclass(frozen=True)
class Options:
    """How to read the evidence; the same for all runs and measures of a call."""

    ties: Ties = "trec"
    precision: Precision | None = None
    topics: Topics = "all"
    pooled: tuple[str, ...] | None = None  # names of the runs that contributed to the pool
    workers: int = 2
    seed: int = 0
    scheduler: str | None = None
    resume: Path | None = None  # folder that keeps what is done, for a run of the same command later
    scores_only: bool = False  # no ranges and no tie values


@dataclass(frozen=True, eq=False)
class RunScores:
    """One run's scores by measure and topic, and what a reader should know of them."""

    run: str
    tag: str
    topics: list[str]
    scores: dict[Measure, Scores]
    missing: list[str]
    unknown: list[str]
    unjudged: int  # unjudged documents in the places that any measure reads
    read: int  # documents in those places
    rank_order_differs: bool  # ranks contradict scores, and ordering by rank would change a score
    notes: list[str]

    def mean(self, measure: Measure) -> dict[str, float | None]:
        """Each column over topics: the mean, or as the measure aggregates."""
        scores = self.scores[measure]
        means = {name: aggregate(measure, getattr(scores, name)) for name in Scores.COLUMNS}
        if measure.aggregate == "geometric" and means["tie_low"] != means["tie_high"]:
            means["tie_expected"] = None  # the mean of a geometric mean is not that of its topics' means
        return means


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of all runs, with the notes that belong to them."""

    measures: list[Measure]
    runs: list[RunScores]
    by_topic: bool
    notes: list[str] = field(default_factory=list)

    def rows(self) -> Iterable[tuple[Any, ...]]:
        """Rows as in COLUMNS; a run's topics before its `all`."""
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
            for measure in self.measures:
                yield (run.run, "all", measure.name, *run.mean(measure).values())

    def to_frame(self) -> pl.DataFrame:
        return frame_of_rows(COLUMNS, list(self.rows()), COLUMNS[:3])


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


def evaluate(
    qrels: Any,
    runs: Any,
    measures: Sequence[Any] | Any = DEFAULT_MEASURES,
    *,
    by_topic: bool = False,
    ties: Ties = "trec",
    score_precision: Precision | None = None,
    topics: Topics = "all",
    bounds: str | None = None,
    universe: str | float | None = None,
    pooled: Sequence[str] | None = None,
    lenient: bool = False,
    junk: float | None = None,
    names: Names = "file",
    workers: int = 2,
    scheduler: str | None = None,
    seed: int = 0,
) -> pl.DataFrame:
    """Score runs against judgments, each value with the range it could have.

    Returns a polars frame with columns run, topic, measure, score, low, high, tie_low, tie_high, tie_expected;
    the row of topic `all` is the mean over topics. `bounds` and `universe` set those parameters for all measures
    that have them.

    >>> import fathoms as fm
    >>> qrels = {"1": {"a": 1, "b": 0, "c": 1}}
    >>> run = {"1": {"a": 3.0, "x": 2.0, "c": 1.0}}
    >>> fm.evaluate(qrels, run, ["P@2"]).row(0)
    ('run', 'all', 'P@2', 0.5, 0.5, 1.0, 0.5, 0.5, 0.5)
    """
    result = run_evaluation(
        read_qrels(qrels, lenient=lenient, junk=junk),
        scan_runs(runs, names=names, lenient=lenient),
        prepare_measures(measures, bounds=bounds, universe=universe),
        Options(ties, score_precision, topics, None if pooled is None else tuple(pooled), workers, seed, scheduler),
        by_topic=by_topic,
    )
    for note in result.notes:
        warnings.warn(note, FathomsWarning, stacklevel=2)
    return result.to_frame()


def prepare_measures(
    measures: Sequence[Any] | Any, *, bounds: str | None = None, universe: str | float | None = None
) -> list[Measure]:
    """Measures from names, with `bounds` and `universe` set on those that have them; each once."""
    several = measures if isinstance(measures, Sequence) and not isinstance(measures, str) else [measures]
    if not several:
        raise FathomsError("no measure given")
    prepared = []
    for measure in map(parse_measure, several):
        if bounds is not None and "bounds" in measure.params:
            measure = measure.replace(bounds=bounds)
        if universe is not None and "universe" in measure.params:
            measure = measure.replace(universe="all" if universe == "given" else universe)
        prepared.append(measure)
    return list(dict.fromkeys(prepared))


def run_evaluation(
    qrels: Qrels,
    runs: Runs,
    measures: list[Measure],
    options: Options,
    *,
    by_topic: bool = False,
    progress: Callable[[str], None] = lambda run: None,
) -> Evaluation:
    """Score each run on its own, and large files part by part; only one part a worker is in memory."""
    if not runs:
        raise FathomsError("no run given")
    notes = list(qrels.notes)
    align = alignment(qrels, runs, measures, options, notes)
    parts = [(name, part) for name in runs for part in runs.parts(name)]
    found = parallel_map(
        partial(_score_part, align=align, measures=measures, options=options),
        parts,
        workers=options.workers,
        scheduler=options.scheduler,
        folder=options.resume,
        heavy=runs.bytes_on_disk > HEAVY,
        settings="" if options.resume is None else _identity(qrels, runs, measures, options),
        identity=lambda part: repr((part[0], runs.identity(part[0]), getattr(part[1], "args", ()))),
        progress=lambda part: progress(part[0]),
    )
    scored = []
    for name, of_run in groupby(zip(parts, found, strict=True), key=lambda pair: pair[0][0]):
        sound = _fitting([scores for _, scores in of_run])
        if sound is None:
            sound = [_score(runs[name], align, measures, options)]
        scored.append(_whole(sound, align, measures, options))
    notes += [note for run in scored for note in run.notes]
    notes += topic_notes(scored, qrels, options)
    return Evaluation(measures, scored, by_topic, notes)


def _identity(qrels: Qrels, runs: Runs, measures: list[Measure], options: Options) -> str:
    """What the scores of a run depend on beside that run."""
    from fathoms import __version__

    how = replace(options, workers=0, scheduler=None, resume=None)
    others = None
    if any(measure.depends_on_others for measure in measures):
        others = [runs.identity(name) for name in runs]
    return repr((__version__, how, [measure.name for measure in measures], qrels.identity(), others))


def alignment(qrels: Qrels, runs: Runs, measures: Sequence[Measure], options: Options, notes: list[str]) -> Alignment:
    """What all runs share. Pools and the unjudged documents of all runs take a first pass over them."""
    precision = options.precision or default_precision(options.ties)
    unjudged_in_all_runs = None
    if any(measure.needs_all_runs for measure in measures):
        names = list(runs)
        groups = [names[start::GROUPS] for start in range(min(GROUPS, len(names)))]
        work = partial(_unjudged, runs=runs, qrels=qrels, ties=options.ties, precision=precision)
        found = parallel_map(work, groups, workers=options.workers, scheduler=options.scheduler)
        unjudged_in_all_runs = unjudged_of_all(found, qrels)
    pool = None
    depths = [int(m.k) for m in measures if m.needs_pool and m.k is not None]
    if depths:
        contributing = list(runs) if options.pooled is None else [name for name in options.pooled if name in runs]
        if options.pooled is None:
            notes.append(
                "no list of contributing runs was given (--pooled FILE), so all given runs make the pool "
                f"of {', '.join(m.name for m in measures if m.needs_pool)}: "
                "a run's value then depends on its company"
            )
        elif not contributing:
            raise FathomsError(
                f"none of the contributing runs is among the given ones; the list starts with {options.pooled[0]!r}, "
                f"the runs with {next(iter(runs))!r}"
            )
        rankings = (rank(runs[name], qrels, options.ties, precision) for name in contributing)
        pool = make_pool(rankings, qrels, max(depths))
    return Alignment(qrels, options.ties, options.precision, unjudged_in_all_runs, pool, options.seed)


def _unjudged(names: Sequence[str], runs: Runs, qrels: Qrels, ties: Ties, precision: Precision) -> Rows:
    return unjudged_rows((rank(runs[name], qrels, ties, precision) for name in names), qrels)


Part = tuple[str, Callable[[], Run]]  # a run's name, and what reads it or some of its topics


def _score_part(part: Part, align: Alignment, measures: list[Measure], options: Options) -> RunScores | None:
    """Scores of the topics in a part of a run; None where the run has to be looked at as a whole."""
    _, read = part
    try:
        run = read()
    except (InputError, OSError):
        if isinstance(read, RunFile):  # this was the whole
            raise
        return None
    return _score(run, align, measures, options)


def _fitting(parts: Sequence[RunScores | None]) -> list[RunScores] | None:
    """The parts of a run, if all could be scored and no topic is in two of them."""
    scored = [part for part in parts if part is not None]
    topics = [topic for part in scored for topic in (*part.topics, *part.unknown)]
    return scored if len(scored) == len(parts) and len(set(topics)) == len(topics) else None


def _score(run: Run, align: Alignment, measures: list[Measure], options: Options) -> RunScores:
    """Scores of the topics that the run has."""
    aligned = align(run, present=True)
    evidence = aligned.evidence
    scores = score_all(evidence, measures, options)
    differs = False
    if options.ties not in ("rank", "run") and not options.scores_only and contradictions(run).any():
        by_rank = score_all(align(run, ties="rank", present=True).evidence, measures, options)
        differs = any(not np.allclose(scores[m].score, by_rank[m].score, atol=1e-9) for m in measures)
    depth = max((evidence.width if m.k is None or m.cutoff == "recall" else m.depth_read(evidence)) for m in measures)
    return RunScores(
        run=run.name,
        tag=run.tag,
        topics=evidence.topics,
        scores=scores,
        missing=aligned.missing,
        unknown=aligned.unknown,
        unjudged=int(evidence.unjudged[:, :depth].sum()),
        read=int(np.minimum(evidence.lengths, depth).sum()),
        rank_order_differs=differs,
        notes=run.notes,
    )


def _whole(parts: list[RunScores], align: Alignment, measures: list[Measure], options: Options) -> RunScores:
    """A run as a whole: its topics in the order of the qrels, with those it lacks where they count."""
    present = {topic for part in parts for topic in part.topics}
    missing = [topic for topic in align.qrels.topics if topic not in present]
    topics = [topic for part in parts for topic in part.topics]
    blocks = [part.scores for part in parts]
    if missing and options.topics == "all":
        topics += missing
        blocks.append(score_all(align.empty(missing), measures, options))
    order = np.argsort([align.qrels.index[topic] for topic in topics], kind="stable")
    return RunScores(
        run=parts[0].run,
        tag=parts[0].tag,
        topics=[topics[i] for i in order],
        scores={measure: _joined([block[measure] for block in blocks], order) for measure in measures},
        missing=missing,
        unknown=[topic for part in parts for topic in part.unknown],
        unjudged=sum(part.unjudged for part in parts),
        read=sum(part.read for part in parts),
        rank_order_differs=any(part.rank_order_differs for part in parts),
        notes=[note for part in parts for note in part.notes],
    )


def score_all(evidence: Evidence, measures: list[Measure], options: Options) -> dict[Measure, Scores]:
    """All measures on one run, chunk by chunk so that the arrays stay in cache."""
    parts = [_score_chunk(chunk, measures, options) for chunk in evidence.chunks()]
    return {measure: _joined([part[i] for part in parts]) for i, measure in enumerate(measures)}


def _score_chunk(chunk: Evidence, measures: list[Measure], options: Options) -> list[Scores]:
    if options.scores_only and options.ties != "expected":
        return [Scores(measure.value(measure.prepared(chunk))) for measure in measures]
    found = []
    for measure in measures:
        scores = measure.scores(chunk)
        if options.ties == "expected":
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


def topic_notes(runs: Sequence[RunScores | Aligned], qrels: Qrels, options: Options) -> list[str]:
    """Which topics runs and judgments do not share."""
    notes = []
    without = [run for run in runs if run.missing]
    if without:
        effect = "count 0" if options.topics == "all" else "are left out of the mean (--topics intersect)"
        shown = "; ".join(f"{run.run} lacks {some(run.missing)}" for run in without[:3])
        more = f"; and {len(without) - 3} more runs" if len(without) > 3 else ""
        notes.append(f"topics without documents {effect}: {shown}{more}")
    strange = [run for run in runs if run.unknown]
    if strange:
        shown = "; ".join(f"{some(run.unknown)} of {run.run}" for run in strange[:3])
        more = f"; and {len(strange) - 3} more runs" if len(strange) > 3 else ""
        notes.append(f"topics not in {qrels.source} are ignored: {shown}{more}")
    return notes


def some(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
