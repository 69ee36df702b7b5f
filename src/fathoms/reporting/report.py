"""What a report says: all analyses of a collection and its runs, gathered; `page` puts them on a page."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.base.files import check_writable, whole_file
from fathoms.base.parallel import parallel_map
from fathoms.base.result import Result
from fathoms.data.qrels import Qrels
from fathoms.data.texts import TextSources, open_texts
from fathoms.estimate.names import LEVEL
from fathoms.estimate.words import Line, lines_by_measure
from fathoms.evidence.evidence import Floats
from fathoms.experiment.base import BaseExperiment, Options
from fathoms.experiment.run_scores import RunScores
from fathoms.measures.base import Measure
from fathoms.pairs.difference_ranges import Universe
from fathoms.pairs.fragility import fragility
from fathoms.pairs.scored_runs import Observed, asked_universe, estimates_if_quick, observe, range_pairs, without_pair
from fathoms.questions.audit.analysis import run_audit
from fathoms.questions.audit.findings import STEPS
from fathoms.questions.audit.result import Audit
from fathoms.questions.compare.analysis import run_comparison
from fathoms.questions.compare.result import Comparison, Pair
from fathoms.questions.depth.analysis import DepthAnalysis, DepthScores, reference_depth, scores_by_depth, volatility
from fathoms.questions.diff.result import Diff
from fathoms.questions.doubt.analysis import FEWEST_TOPICS, doubt_of
from fathoms.questions.doubt.result import Doubt
from fathoms.questions.eval.analysis import Evaluation, run_evaluation
from fathoms.questions.predict.analysis import run_prediction
from fathoms.questions.rank.analysis import Ranking, Standing, ranking_of
from fathoms.questions.ties.analysis import run_tie_analysis
from fathoms.questions.ties.effects import TieReport
from fathoms.reporting.changes import ShownChanges, shown_diff, shown_documents
from fathoms.reporting.next_judgments import Judging, judging_of, why_not
from fathoms.reporting.topic_lists import TopicLists, topic_lists
from fathoms.reporting.verdicts import judged_between
from fathoms.version import __version__

if TYPE_CHECKING:
    import polars as pl

    from fathoms.estimate.estimates import Estimates

TOP = 5  # runs for which further judging is forecast: the first and its closest rivals, few enough to be quick
Explanation = Callable[[], Doubt | Pair]
EXPLAINED = 3  # runs next to the first one, for which the documents that decide are counted


@dataclass(frozen=True)
class Source:
    """A file that was read, and its checksum (None where the input was no file)."""

    role: str
    path: str
    sha256: str | None


@dataclass(frozen=True, eq=False)
class Report(Result):
    """Everything on the page."""

    charts: ClassVar = (
        *("ranges", "ranks", "verdicts", "counts", "topics", "volatility", "scores", "ties"),
        *("relevant", "judged", "left_out", "changes", "sounding"),
    )

    qrels: Qrels
    options: Options
    evaluation: Evaluation
    estimates: dict[tuple[str, str], tuple[float, float, float]]  # of (run, measure), with its interval
    about_estimates: list[Line]  # what is estimated, and how it was checked
    comparison: Comparison | None  # None with one run
    ties: TieReport
    depths: DepthScores | None  # None where no measure can be cut off
    audit: Audit | None
    audit_problem: str
    level: float  # of likely intervals
    ranking: Ranking | None  # None with one run, or where ranges are not over the documents of all runs
    judging: dict[str, Judging]  # by measure, where judging could change what is said of the first run
    command: str
    versions: dict[str, str]
    sources: list[Source]
    lists: TopicLists | None  # the first documents of every run; None where there are too many
    texts: TextSources  # of the topics and of the documents that are shown
    notes: list[str] = field(default_factory=list)
    changes: ShownChanges | None = None  # between two of the runs, where asked for
    doubts: dict[str, Doubt] = field(default_factory=dict)  # about the first run's score, by measure

    @property
    def frame(self) -> pl.DataFrame:
        """The scores, as `Experiment.evaluate` has them."""
        return self.evaluation.frame

    @property
    def sentences(self) -> list[str]:
        """The claims by each measure, and what would help; what is said of all measures once."""
        from fathoms.reporting.claims import claims
        from fathoms.reporting.story import summary

        sentences = dict[str, None]()
        for measure in self.measures:
            sentences |= dict.fromkeys(claim.sentence for claim in claims(self, measure))
            sentences |= dict.fromkeys(sentence for _, part in summary(self, measure) for sentence in part)
        return list(sentences)

    def _draw(self, kind: str, measure: str) -> Any:
        """What the page shows, as the results it is made of draw it."""
        parts = {
            "ranges": (self.evaluation, "ranges"),
            "ranks": (self.ranking, "ranks"),
            "verdicts": (self.comparison, "verdicts"),
            "counts": (self.comparison, "counts"),
            "topics": (self.evaluation, "topics"),
            "ties": (self.ties, "ties"),
            "sounding": (self.doubts.get(measure), "sounding"),
            "relevant": (self.audit, "relevant"),
            "judged": (self.audit, "judged"),
            "left_out": (self.audit, "left_out"),
            "changes": (None if self.changes is None else self.changes.diff, "changes"),
        }
        if kind in ("volatility", "scores"):
            if self.depths is None:
                raise FathomsError(f"there is no chart {kind} in this report: nothing was looked at by depth")
            bare = measure.partition("@")[0]
            analysis = DepthAnalysis(self.depths, reference_depth(self.depths), "tau", 0.05)
            return analysis.chart(kind, measure=bare)
        part, name = parts[kind]
        if part is None:
            raise FathomsError(f"there is no chart {kind} in this report")
        return part.chart(name, measure=None if kind in ("relevant", "judged", "changes") else measure)

    def write(self, path: str | os.PathLike[str]) -> None:
        """The page, as one HTML file that appears whole or not at all."""
        from fathoms.reporting.page import page

        text = page(self)
        with whole_file(Path(path)) as temporary:
            temporary.write_text(text, encoding="utf-8", errors="surrogateescape", newline="\n")

    @property
    def measures(self) -> list[Measure]:
        return self.evaluation.measures

    def ranked(self, measure: Measure) -> list[RunScores]:
        """The runs by their score, best first; equal ones by name."""
        return self._ranked[measure.name]

    def volatility(self, bare: str) -> Floats | None:
        """Kendall's tau between the orders of the runs at any two depths, by a measure without its cut-off; None
        where it has no depth to choose."""
        return self._volatility.get(bare)

    def pairs(self, measure: Measure) -> list[Pair]:
        return self._pairs.get(measure.name, [])

    def standings(self, measure: Measure) -> dict[str, Standing]:
        """The ranks of each run, where there is a ranking."""
        return {} if self.ranking is None else {standing.run: standing for standing in self.ranking.of(measure.name)}

    @cached_property
    def _ranked(self) -> dict[str, list[RunScores]]:
        return {measure.name: self.evaluation.ranked(measure) for measure in self.measures}

    @cached_property
    def _volatility(self) -> dict[str, Floats]:
        return {} if self.depths is None else {bare: volatility(self.depths, bare) for bare in self.depths.scores}

    @cached_property
    def _pairs(self) -> dict[str, list[Pair]]:
        by_run: dict[str, list[Pair]] = {}
        for pair in [] if self.comparison is None else self.comparison.pairs:
            by_run.setdefault(pair.measure, []).append(pair)
        return by_run


def write_report(experiment: BaseExperiment, path: Path | None, measures: Sequence[Measure], **options: Any) -> Report:
    """A report, written where there is a path. `options` are those of `run_report`."""
    if path is not None:
        check_writable(path)
    report = run_report(experiment, measures, **options)
    if path is not None:
        report.write(path)
    return report


def run_report(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    *,
    alpha: float = 0.05,
    labels: Sequence[Any] = (),
    to_depth: int | None = None,
    level: float = LEVEL,
    diff: Sequence[str] | None = None,
    docs: str | os.PathLike[str] | None = None,
    topic_texts: str | os.PathLike[str] | None = None,
    command: str = "",
    progress: Callable[[str], None] = lambda stage: None,
) -> Report:
    """All analyses, each as its command does it.

    Runs are read and ranked once. First come the analyses that need more of a run than the table of documents has, side
    by side, each with one worker; then the comparison of all pairs with all workers, for it takes longer than all
    others together; and then what explains it, side by side. On a cluster they go one after the other, each with all
    workers.
    """
    experiment.needs_an_order("report")
    measures, options = list(measures), experiment.options
    several = len(experiment.runs) > 1
    experiment.lay_out()
    compared_runs = shown_diff(experiment, diff, measures)
    progress("read")
    scored = run_evaluation(experiment, measures, by_topic=True, own_topics=False)
    progress("eval")
    judged = any(survey.judged.judged.any() for survey in experiment.surveys().values())
    drawn = None if judged else 0  # nothing judged, nothing to learn from
    lists = topic_lists(experiment, measures)
    texts = _texts(compared_runs, lists, docs, topic_texts)
    about: dict[str, Any] = {"labels": labels, "to_depth": to_depth, "level": level}
    inner, side_by_side = experiment, 1
    if options.scheduler is None:
        inner, side_by_side = experiment.with_workers(1), options.workers
    of_runs: dict[str, Callable[[], Any]] = {
        "audit": lambda: _audited(inner, measures),
        "ties": lambda: run_tie_analysis(inner, measures),
        "depth": lambda: _depths(inner, measures),
        "predict": lambda: _of_one(inner, scored, about) if drawn is None and not several else ({}, []),
    }
    (audited, problem), tied, depths, (estimates, about_estimates) = parallel_map(
        lambda name: of_runs[name](), of_runs, workers=side_by_side, doing="analyses", progress=progress
    )
    compared, ranked, doubts = None, None, dict[str, Doubt]()
    if several:
        compared, ranked, explanations, about_estimates = _compared(experiment, inner, measures, alpha, drawn, about)
        estimates = compared.estimated
        progress("compare")
        explained = parallel_map(lambda find: find(), explanations, workers=side_by_side, doing="explanations")
        doubts = {doubt.measures[0]: doubt for doubt in explained if isinstance(doubt, Doubt)}
        pairs = {(pair.run_a, pair.run_b, pair.measure): pair for pair in explained if isinstance(pair, Pair)}
        with_fragility = [pairs.get((pair.run_a, pair.run_b, pair.measure), pair) for pair in compared.pairs]
        compared = replace(compared, pairs=with_fragility)
    notes_of = (
        scored.notes,
        compared and compared.notes,
        tied.notes,
        depths and depths.notes,
        audited and audited.notes,
    )
    made = Report(
        qrels=experiment.qrels,
        options=options,
        evaluation=scored,
        estimates=estimates,
        about_estimates=about_estimates,
        comparison=compared,
        ties=tied,
        depths=depths,
        audit=audited,
        audit_problem=problem,
        level=level,
        ranking=ranked,
        judging={},
        command=command,
        versions=versions(),
        sources=sources(experiment),
        notes=list(dict.fromkeys(note for notes in notes_of for note in notes or ())),
        changes=None if compared_runs is None else ShownChanges(compared_runs, texts),
        lists=lists,
        texts=texts,
        doubts=doubts,
    )
    judging = {}
    for measure in measures:
        close_runs = judged_between(made, measure, TOP)
        if close_runs and not why_not(measure):
            judging[measure.name] = judging_of(experiment, close_runs, measure, labels)
    progress("judge")
    return replace(made, judging=judging)


def _texts(
    diff: Diff | None,
    lists: TopicLists | None,
    docs: str | os.PathLike[str] | None,
    topic_texts: str | os.PathLike[str] | None,
) -> TextSources:
    """The texts that are given of all topics and documents on the page; each file is read once."""
    topics, documents = set[str](), set[str]()
    if lists is not None:
        topics, documents = topics | set(lists.table.topics), documents | set(lists.documents())
    if diff is not None:
        topics, documents = (
            topics | set(diff.topics),
            documents | shown_documents(diff),
        )
    return TextSources(
        None if topic_texts is None else open_texts(topic_texts, topics),
        None if docs is None else open_texts(docs, documents),
    )


def _compared(
    experiment: BaseExperiment,
    inner: BaseExperiment,
    measures: Sequence[Measure],
    alpha: float,
    draws: int | None,
    about: dict[str, Any],
) -> tuple[Comparison, Ranking | None, list[Explanation], list[Line]]:
    """All pairs and the ranks that follow, by one and the same estimates, and what is said of these; and what finds
    explanations with them, in the `inner` experiment."""
    level = about["level"]
    measures = without_pair(measures)
    universe = Universe(asked_universe(measures), experiment.options.universe_depth)
    seen = observe(experiment, measures, universe, depths=True)
    estimates = estimates_if_quick(seen, draws, about["labels"], about["to_depth"])
    of_pairs = range_pairs(seen, *np.triu_indices(len(seen.names), 1), False, lambda topic: None)
    made: Any = {"seen": seen, "estimates": estimates, "of_pairs": of_pairs}
    compared = run_comparison(experiment, measures, alpha=alpha, level=level, draws=0, **made)
    universes = {experiment.universe, *(getattr(measure, "universe", None) for measure in measures)}
    ranked = None if "run" in universes else ranking_of(seen, of_pairs, estimates, alpha, level)
    about_estimates = [] if estimates is None else lines_by_measure(estimates, level)
    seen = replace(seen, experiment=inner)
    return compared, ranked, [*_doubts(seen, estimates, level), *_fragilities(compared, seen)], about_estimates


def _doubts(seen: Observed, estimates: Estimates | None, level: float) -> Iterator[Explanation]:
    """Where the doubt about the first run's score comes from, by each measure that is a mean over topics."""
    for measure in seen.measures:
        if measure.aggregate == "mean" and seen.values[measure].shape[1] >= FEWEST_TOPICS:
            leader = seen.names[_best_first(seen, measure)[0]]
            yield partial(doubt_of, seen, [measure], [leader], estimates, level)


def _fragilities(compared: Comparison, seen: Observed) -> Iterator[Explanation]:
    """How many documents decide between the first run by each measure and those next to it, if any judging can."""
    by_pair = {(pair.run_a, pair.run_b, pair.measure): pair for pair in compared.pairs}
    for measure in seen.measures:
        if measure.difference_is == "none" or measure.needs_pool:
            continue
        first, *rivals = _best_first(seen, measure)[: EXPLAINED + 1]
        for a, b in sorted(tuple(sorted((first, rival))) for rival in rivals):
            pair = by_pair[seen.names[a], seen.names[b], measure.name]
            if pair.reversible not in (None, "no"):
                yield partial(_with_fragility, pair, seen, measure, a, b)


def _with_fragility(pair: Pair, seen: Observed, measure: Measure, a: int, b: int) -> Pair:
    [found] = fragility(seen.ranges(np.array([a]), np.array([b])), measure, seen.values[measure].mean(axis=1))
    return replace(pair, fragility_low=found.low, fragility_high=found.high)


def _best_first(seen: Observed, measure: Measure) -> list[int]:
    """The places of the runs by their mean, equal ones by name."""
    means = seen.values[measure].mean(axis=1)
    return sorted(range(len(means)), key=lambda place: (-means[place], seen.names[place]))


def _of_one(
    experiment: BaseExperiment, scored: Evaluation, about: dict[str, Any]
) -> tuple[dict[tuple[str, str], tuple[float, float, float]], list[Line]]:
    """The estimates of a single run, which is compared with none, for the measures that have one."""
    ranged = [m for m in scored.measures if all(run.scores[m].high is not None for run in scored.runs)]
    if not ranged:
        return {}, []
    prediction = run_prediction(experiment, ranged, **about)
    about_them = [] if prediction.calibrated is None else lines_by_measure(prediction.calibrated, prediction.level)
    estimates = {
        (row.run, row.measure): (float(row.estimate), row.likely_low, row.likely_high)
        for row in prediction.estimated
        if row.likely_low is not None and row.likely_high is not None
    }
    return estimates, about_them


def _depths(experiment: BaseExperiment, measures: Sequence[Measure]) -> DepthScores | None:
    """Scores at depths from 1 to that of the longest ranking, spaced as the audit spaces them."""
    names = dict.fromkeys(m.name.partition("@")[0] for m in measures if m.cutoff in ("optional", "required"))
    runs = experiment.runs
    longest = max(len(survey.judged.retrieved) for survey in experiment.surveys().values())
    depths = [depth for depth in STEPS if depth <= longest]
    if not names or len(runs) < 2 or len(depths) < 2:
        return None
    return scores_by_depth(experiment, list(names), depths)


def _audited(experiment: BaseExperiment, measures: Sequence[Measure]) -> tuple[Audit | None, str]:
    """The audit, or why there is none: a pool may have no depth to measure."""
    fit = [m for m in measures if not m.needs_pool]
    try:
        return run_audit(experiment, fit or None), ""
    except FathomsError as error:
        return None, str(error)


# -- how to make it again ---------------------------------------------------------------------------------------


def versions() -> dict[str, str]:
    """Of all that numbers and pictures depend on."""
    by_package = {"fathoms": __version__, "Python": platform.python_version()}
    for name in ("numpy", "scipy", "polars", "altair", "vl-convert-python"):
        try:
            by_package[name] = version(name)
        except PackageNotFoundError:
            by_package[name] = "not installed"
    return by_package


def sources(experiment: BaseExperiment) -> list[Source]:
    runs = ((f"run {name}", experiment.runs.file_of(name)) for name in experiment.runs)
    read = [("judgments", experiment.qrels.source), *runs]
    return [Source(role, path, checksum(path)) for role, path in read]


def checksum(path: str) -> str | None:
    file = Path(path)
    if not file.is_file():
        return None
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
