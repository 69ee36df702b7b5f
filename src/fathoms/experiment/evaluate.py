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
from fathoms.data.runs import Run
from fathoms.data.topics import valid_text
from fathoms.errors import InputError
from fathoms.evidence.align import Aligned, Alignment, Ranked, reranked
from fathoms.evidence.evidence import Evidence, Floats
from fathoms.evidence.order import Ties, contradictions, default_precision
from fathoms.experiment.base import BaseExperiment, Options
from fathoms.experiment.remarks import remarks
from fathoms.experiment.result import Result
from fathoms.measures.base import Measure, Scores
from fathoms.parallel import parallel_map
from fathoms.version import __version__

if TYPE_CHECKING:
    import polars as pl

DEFAULT_MEASURES = ("AP", "nDCG@10", "P@10", "RBP(p=0.8)", "RR")
COLUMNS = ("run", "topic", "measure", *Scores.COLUMNS)
POINTS = ("score", "low", "high", "tie_low", "tie_high")
HEAVY = 100_000_000  # bytes of run files for which processes pay that take a second to start


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
class Evaluation(Result):
    """Scores of all runs, with the notes that belong to them."""

    columns: ClassVar = COLUMNS
    words: ClassVar = COLUMNS[:3]

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

    @property
    def sentences(self) -> list[str]:
        return remarks(self)

    def ranked(self, measure: Measure) -> list[RunScores]:
        """The runs by their score, best first; equal ones by name."""
        return sorted(self.runs, key=lambda run: (-(run.mean(measure)["score"] or 0.0), run.run))

    def chart(self) -> Any:
        """Each run's score of the first measure with its range, best first."""
        from fathoms import charts

        charts.require()
        return charts.ranges(self.range_points(self.measures[0]), self.measures[0].name)

    def range_points(self, measure: Measure, estimates: Mapping[str, float] | None = None) -> pl.DataFrame:
        """A row a run, best first: score, ranges, the estimate where there is one, and all of it in words."""
        import polars as pl

        estimates = estimates or {}
        points = []
        for place, run in enumerate(self.ranked(measure), 1):
            mean, estimate = run.mean(measure), estimates.get(run.run)
            values = [mean[name] for name in POINTS]
            text = f"{place}. {run.run}; {measure.name} {mean['score'] or 0.0:.4f}"
            if mean["low"] is not None and mean["high"] is not None:
                text += f"; range {mean['low']:.4f} to {mean['high']:.4f}"
            if mean["tie_low"] is not None and mean["tie_high"] is not None:
                text += f"; orders of ties {mean['tie_low']:.4f} to {mean['tie_high']:.4f}"
            text += "" if estimate is None else f"; estimate {estimate:.4f}"
            points.append((place, valid_text(run.run), *values, estimate, valid_text(text)))
        schema: Any = {"place": pl.Int64, "run": pl.String, **dict.fromkeys((*POINTS, "estimate"), pl.Float64)}
        return pl.DataFrame(points, schema=schema | {"tooltip": pl.String}, orient="row")


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
    resume: Path | None = None,
    progress: Callable[[str], None] = lambda run: None,
) -> Evaluation:
    """Score each run on its own, and large files part by part; only one part a worker is in memory.

    `scores_only` computes no ranges and no tie values; `resume` is a folder that keeps what is done, for the same call
    later.
    """
    experiment.prepare()
    measures, notes = list(measures), list(experiment.qrels.notes)
    scoring = Scoring(experiment, measures, experiment.alignment(measures, notes), scores_only)
    runs, options = experiment.runs, experiment.options
    parts = [part for name in runs for part in scoring.parts(name)]
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
    scored = []
    for name, of_run in groupby(zip(parts, found, strict=True), key=lambda pair: pair[0][0]):
        sound = _fitting([scores for _, scores in of_run])
        scored.append(scoring.whole([scoring.score(experiment.ranked(name))] if sound is None else sound))
    notes += [note for run in scored for note in run.notes]
    notes += topic_notes(scored, experiment.qrels, options)
    return Evaluation(measures, scored, by_topic, notes)


def _identity(scoring: Scoring) -> str:
    """What the scores of a run depend on beside that run."""
    runs, options, measures = scoring.experiment.runs, scoring.experiment.options, scoring.measures
    how = replace(options, workers=0, scheduler=None)
    others = None
    if any(measure.depends_on_others for measure in measures):
        others = [runs.identity(name) for name in runs]
    names = [measure.name for measure in measures]
    return repr((__version__, how, scoring.scores_only, names, scoring.experiment.qrels.identity(), others))


Part = tuple[str, Callable[[], Run] | None]  # a run's name, and what reads some of its topics; None: all of it


@dataclass(frozen=True, eq=False)
class Scoring:
    """How the runs of an experiment are scored."""

    experiment: BaseExperiment
    measures: list[Measure]
    align: Alignment
    scores_only: bool = False

    def parts(self, name: str) -> list[Part]:
        """The run as a whole where it is in memory or small, else parts of its file."""
        if self.experiment.keeps(name):
            return [(name, None)]
        readers = self.experiment.runs.parts(name)
        return [(name, reader if len(readers) > 1 else None) for reader in readers]

    def part(self, part: Part) -> RunScores | None:
        """Scores of the topics in a part of a run; None where the run has to be looked at as a whole."""
        name, read = part
        if read is None:
            return self.score(self.experiment.ranked(name))
        try:
            run = read()
        except (InputError, OSError):
            return None
        return self.score(self.align.rank(run))

    def score(self, ranked: Ranked) -> RunScores:
        """Scores of the topics that the run has."""
        run, options = ranked.run, self.experiment.options
        aligned = self.align.of(ranked, present=True)
        evidence, measures = aligned.evidence, self.measures
        scores = score_all(evidence, measures, options.ties, scores_only=self.scores_only)
        differs = False
        if options.ties not in ("rank", "run") and not self.scores_only and contradictions(run).any():
            by_rank = reranked(ranked, "rank", options.precision or default_precision("rank"))
            others = score_all(self.align.of(by_rank, present=True).evidence, measures, options.ties)
            differs = any(not np.allclose(scores[m].score, others[m].score, atol=1e-9) for m in measures)
        depth = max(
            (evidence.width if m.k is None or m.cutoff == "recall" else m.depth_read(evidence)) for m in measures
        )
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

    def whole(self, parts: list[RunScores]) -> RunScores:
        """A run as a whole: its topics in the order of the qrels, with those it lacks where they count."""
        qrels, options = self.align.qrels, self.experiment.options
        present = {topic for part in parts for topic in part.topics}
        missing = [topic for topic in qrels.topics if topic not in present]
        topics = [topic for part in parts for topic in part.topics]
        blocks = [part.scores for part in parts]
        if missing and options.topics == "all":
            topics += missing
            empty = self.align.empty(missing)
            blocks.append(score_all(empty, self.measures, options.ties, scores_only=self.scores_only))
        order = np.argsort([qrels.index[topic] for topic in topics], kind="stable")
        return RunScores(
            run=parts[0].run,
            tag=parts[0].tag,
            topics=[topics[i] for i in order],
            scores={measure: _joined([block[measure] for block in blocks], order) for measure in self.measures},
            missing=missing,
            unknown=[topic for part in parts for topic in part.unknown],
            unjudged=sum(part.unjudged for part in parts),
            read=sum(part.read for part in parts),
            rank_order_differs=any(part.rank_order_differs for part in parts),
            notes=[note for part in parts for note in part.notes],
        )


def _fitting(parts: Sequence[RunScores | None]) -> list[RunScores] | None:
    """The parts of a run, if all could be scored and no topic is in two of them."""
    scored = [part for part in parts if part is not None]
    topics = [topic for part in scored for topic in (*part.topics, *part.unknown)]
    return scored if len(scored) == len(parts) and len(set(topics)) == len(topics) else None


def score_all(
    evidence: Evidence, measures: list[Measure], ties: Ties, *, scores_only: bool = False
) -> dict[Measure, Scores]:
    """All measures on one run, chunk by chunk so that the arrays stay in cache."""
    parts = [_score_chunk(chunk, measures, ties, scores_only) for chunk in evidence.chunks()]
    return {measure: _joined([part[i] for part in parts]) for i, measure in enumerate(measures)}


def _score_chunk(chunk: Evidence, measures: list[Measure], ties: Ties, scores_only: bool) -> list[Scores]:
    if scores_only and ties != "expected":
        return [Scores(measure.value(measure.prepared(chunk))) for measure in measures]
    found = []
    for measure in measures:
        scores = measure.scores(chunk)
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
