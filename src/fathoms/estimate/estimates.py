"""The default estimate: what scores will be once judging has gone to a stated depth, with intervals that were checked.

Target: all documents of the given runs down to `to_depth` are judged; deeper unjudged ones count as not relevant, as
they do in any score. Levels of the open documents are drawn many times from `GradeModel`, together for all runs; what
part of the change comes true, and how far off it is, the collection's own backtests say (`backtest`, `calibration`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import distinct
from fathoms.base.errors import FathomsError
from fathoms.base.parallel import parallel_map
from fathoms.data.document_values import read_values
from fathoms.data.qrels import JUDGED
from fathoms.data.topic_groups import TopicGroups
from fathoms.estimate.backtest import Drift, Hiding, checkable_depth, fit_drift, hidings, log_distance
from fathoms.estimate.backtest_fit import (
    SAMPLED,
    Calibration,
    Case,
    Prediction,
    Selection,
    calibrate,
    pooled_with_others,
    selected,
)
from fathoms.estimate.documents import Documents, documents_of
from fathoms.estimate.drawn_sample import DrawnSample, sample_scores
from fathoms.estimate.frame_documents import FrameDocuments, documents_elsewhere, others_of
from fathoms.estimate.grades import GradeModel, fit_grades
from fathoms.estimate.names import DRAWS, LEVEL
from fathoms.estimate.open_documents import OpenDocuments
from fathoms.estimate.probabilities import label_values, scaled
from fathoms.estimate.sampling_frame import SamplingFrame, sampling_frame
from fathoms.estimate.score_draws import check_drawable
from fathoms.estimate.scoring import Judging
from fathoms.estimate.self_check import SelfCheck, aggregated, interval, self_check
from fathoms.evidence.candidates import NOWHERE, DocumentTable
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.experiment.assumed_pool import AssumedPool
from fathoms.experiment.base import BaseExperiment
from fathoms.measures.base import Measure, Scores
from fathoms.measures.normalised import NormalisedSum
from fathoms.measures.weighted import Weighted

BACKTEST_DRAWS = 60
USUAL_POOL = 100  # depth to which collections are judged for measures that need all relevant documents
READ = 0.99  # of a measure's weight: the depth that it suggests
PIECES = 8  # of the draws, for workers


def suggested_depth(measure: Measure, pool: AssumedPool, longest: int, as_deep: bool = False) -> int:
    """How deep judging is thought to go where nobody says so: as deep as the pool, and as the measure reads; for
    measures that depend on all relevant documents at least 100, the usual depth of a pool. An ideal ranking that is cut
    off has room for few documents, and those far below the pool are predicted as relevant too often: for it no deeper
    than can be checked."""
    depth = longest if as_deep else USUAL_POOL
    if isinstance(measure, NormalisedSum) and measure.k is not None and pool.known and not as_deep:
        depth = max(int(measure.k), min(depth, checkable_depth(pool.depth)))
    if measure.based_on == "utility":
        if measure.k is not None:
            depth = int(measure.k)
        elif isinstance(measure, Weighted):
            weight = np.cumsum(measure.weight(1000))
            depth = min(USUAL_POOL, int(np.searchsorted(weight, READ * weight[-1])) + 1)
    return min(max(depth, pool.depth if pool.known else 0), longest)


@dataclass(frozen=True, eq=False)
class Estimate:
    """One measure's: what was drawn, and what the backtests said of it."""

    measure: Measure
    to_depth: int
    draws: Floats  # [draw, run, topic], scores once judged
    point: Floats  # [run, topic]
    score: Floats  # [run, topic], as judged
    calibration: Calibration
    low: Floats | None = None  # [run, topic], the possible range
    high: Floats | None = None
    check: SelfCheck | None = None  # None: no hidden part moves a score
    wider: bool = False  # documents that no run has are estimated too, so that no range of the runs' own bounds it

    @property
    def method(self) -> str:
        """What the estimate is: of the model, or the plain score where that did better in the backtests."""
        return "model" if self.calibration.uses_model else "score"

    def ordered(self, runs: Sequence[int]) -> Estimate:
        """The same with the runs in another order."""
        return replace(self, draws=self.draws[:, runs], point=self.point[runs], score=self.score[runs])

    def of_topics(self, places: Bools) -> Estimate:
        """The same of some topics only."""
        return replace(
            self,
            draws=self.draws[:, :, places],
            point=self.point[:, places],
            score=self.score[:, places],
            low=None if self.low is None else self.low[:, places],
            high=None if self.high is None else self.high[:, places],
        )

    @property
    def is_bounded(self) -> bool:
        """Whether the possible range over all given documents is a bound on what is estimated."""
        of_run = getattr(self.measure, "universe", "auto") == "run"
        return not (self.wider or self.measure.range_is in ("approximate", "none") or of_run)

    def inside(self, scores: Sequence[Scores]) -> Estimate:
        """The same with the exact score of each run, and inside the range that it has over all given documents."""
        exact = np.stack([of_run.score for of_run in scores])
        moved = replace(self, draws=self.draws + (exact - self.score), point=self.point + (exact - self.score))
        if scores[0].low is None or scores[0].high is None:
            return replace(moved, score=exact)
        low, high = (np.stack([getattr(of_run, end) for of_run in scores]) for end in ("low", "high"))
        if not self.is_bounded:
            return replace(moved, score=exact, low=low, high=high)
        return replace(
            moved,
            draws=np.clip(moved.draws, low, high),
            point=np.clip(moved.point, low, high),
            score=exact,
            low=low,
            high=high,
        )

    def scores_of(self, run: int) -> Scores:
        """The scores of a run, and their range."""
        if self.low is None or self.high is None:
            return Scores(self.score[run])
        return Scores(self.score[run], self.low[run], self.high[run])

    @cached_property
    def means(self) -> Floats:
        """[draw, run]: over topics, as the measure takes it."""
        return aggregated(self.measure, self.draws)

    @cached_property
    def point_means(self) -> Floats:
        """[run]"""
        return aggregated(self.measure, self.point)


@dataclass(frozen=True, eq=False)
class Estimates:
    """The estimates of all measures, of the same runs and topics."""

    runs: list[str]
    topics: list[str]
    by_measure: dict[Measure, Estimate]
    pool: AssumedPool
    pool_is_assumed: bool  # not named by anybody
    selection: Selection  # of the judged documents
    hidden: tuple[Hiding, ...]
    notes: list[str]
    frame: SamplingFrame | None = None  # what the judged documents are a random sample of, by all signs
    to_depth: int | None = None  # that was asked for
    open_documents: OpenDocuments | None = None  # None where everything is judged

    def __getitem__(self, measure: Measure) -> Estimate:
        return self.by_measure[measure]

    def bears_a_verdict(self, measure: Measure) -> bool:
        """Whether the intervals held where they were checked, and are of a kind that holds."""
        check = self.by_measure[measure].check
        return not (check is not None and check.failed) and not (self.frame is not None and self.frame.is_thin)

    def of_topics(self, places: Bools) -> Estimates:
        """The same of some topics only: what was learnt from all, looked at there."""
        topics = [topic for topic, use in zip(self.topics, places.tolist(), strict=True) if use]
        return replace(
            self, topics=topics, by_measure={m: estimate.of_topics(places) for m, estimate in self.by_measure.items()}
        )

    def by_group(
        self, groups: TopicGroups, level: float = LEVEL
    ) -> dict[tuple[str, str, str], tuple[float, float, float]]:
        """By run, group of topics and measure: the estimate and the ends of its interval."""
        by_run_group_measure: dict[tuple[str, str, str], tuple[float, float, float]] = {}
        for group, places in groups.masks(self.topics).items():
            for measure, estimate in self.of_topics(places).by_measure.items():
                point = estimate.point_means
                low, high = interval(estimate.means, point, level)
                for run, *values in zip(self.runs, point.tolist(), low.tolist(), high.tolist(), strict=True):
                    by_run_group_measure[run, group, measure.name] = (values[0], values[1], values[2])
        return by_run_group_measure

    def checked(self, measure: Measure, level: float = LEVEL) -> SelfCheck | None:
        """What the backtests say of this estimate; None where no hidden part moves a score."""
        estimate = self[measure]
        if level == LEVEL or estimate.check is None:
            return estimate.check
        again = self_check(estimate.calibration, measure, level)
        return again and replace(again, hidden=estimate.check.hidden)


def run_estimates(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    *,
    labels: Sequence[Any] = (),
    to_depth: int | None = None,
    draws: int = DRAWS,
) -> Estimates:
    """Estimates of all runs by these measures, which `check_drawable` admits."""
    for measure in measures:
        check_drawable(measure)
    experiment.needs_an_order("an estimate")
    tables = [read_values(source, lenient=experiment.lenient) for source in labels]
    experiment.prepare()
    qrels, names = experiment.qrels, experiment.by_content()  # so that neither their order nor their names matter
    candidates = experiment.documents(names)
    experiment.release()
    codes = candidates.codes
    if not (codes >= JUDGED).any():
        experiment.surveys()  # which says so if it is for want of a common topic
        raise FathomsError(f"no document of the runs is judged in {qrels.source}, so there is nothing to learn from")
    pool, notes = experiment.pool_assumed(), list[str]()
    contributing = np.isin(names, pool.names)
    levels = distinct(np.append(qrels.levels, qrels.max_grade))
    values = label_values(tables, candidates, codes >= JUDGED, notes)
    frame = None
    if not pool.known:
        frame = sampling_frame(candidates, None if values is None else np.asarray(~np.isnan(values).all(axis=1)))
    longest = candidates.depth if frame is None else frame.depth
    depths = {m: to_depth or suggested_depth(m, pool, longest, as_deep=frame is not None) for m in measures}
    deepest = max(depths.values())
    inside = None if frame is None or to_depth is not None else frame.inside
    documents = documents_of(candidates, codes, contributing, deepest, levels, scaled(values), inside)
    elsewhere = judged_elsewhere(experiment, documents, levels)
    if frame is not None:
        documents = documents_elsewhere(documents, candidates, qrels, values, tables, frame.labelled)
    work = _Work(
        experiment,
        candidates,
        documents,
        pool,
        contributing,
        elsewhere,
        deepest,
        frame,
    )
    given = list(experiment.runs)
    scores, _ = experiment.scored(measures, [])
    order = [names.index(name) for name in given]
    estimates, open_documents = work.estimates(depths, draws)
    for m in depths:  # one by one, since there are many draws
        estimates[m] = estimates[m].ordered(order).inside(scores[m])
    assumed = experiment.options.pooled is None
    hidden = tuple(work.hidden) if frame is None else ()
    return Estimates(
        *(
            given,
            candidates.topics,
            estimates,
            pool,
            assumed,
            work.selection,
            hidden,
            notes,
            frame,
            to_depth,
            open_documents,
        )
    )


def judged_elsewhere(experiment: BaseExperiment, documents: Documents, levels: Floats) -> Ints:
    """Judged documents that no run has, by topic and level."""
    qrels = experiment.qrels
    counts = np.zeros((len(qrels.topics), len(levels)), dtype=np.int64)
    counts[:, np.searchsorted(levels, qrels.levels)] = qrels.counts
    judged = np.flatnonzero(documents.judged)
    np.subtract.at(counts, (documents.topic[judged], documents.level[judged]), 1)
    return counts


@dataclass(frozen=True, eq=False)
class _Work:
    """What the steps of an estimate share."""

    experiment: BaseExperiment
    candidates: DocumentTable
    documents: Documents
    pool: AssumedPool
    contributing: Bools
    elsewhere: Ints
    to_depth: int  # the greatest
    frame: SamplingFrame | None = None  # what the judged documents are a random sample of

    @property
    def seed(self) -> int:
        return self.experiment.options.seed

    @property
    def pool_depth(self) -> int:
        return self.pool.depth if self.pool.known else 0

    @cached_property
    def open(self) -> Ints:
        return np.flatnonzero(~self.documents.judged)

    @cached_property
    def hidden(self) -> list[Hiding]:
        documents, open_ = self.documents, self.open
        within = documents.reach[open_] <= self.pool_depth
        teams = self.experiment.groups or {}
        return hidings(
            documents,
            self.pool_depth,
            self.contributing,
            [teams.get(name, name) for name in self.candidates.names],
            deeper=bool((~within).any()),
            outsiders=bool(within.any()),
            seed=self.seed,
        )

    @cached_property
    def selection(self) -> Selection:
        """How the judged documents were chosen: backtests follow the pool, or there is none to follow."""
        if self.frame is not None:
            return SAMPLED
        followed = all(hiding.depth for hiding in self.hidden) if self.hidden else self.pool_depth > 0
        if followed and self.contributing.sum() > 1:  # one run may look pooled for what others had judged
            beyond = self.documents.pooled > self.pool_depth
            beyond &= self.documents.reach <= self.to_depth
            return pooled_with_others(float(self.documents.judged[beyond].mean()) if beyond.any() else 0.0)
        elsewhere = self.elsewhere.sum()
        return selected(float(elsewhere / (elsewhere + self.documents.judged.sum())))

    def estimates(self, depths: dict[Measure, int], draws: int) -> tuple[dict[Measure, Estimate], OpenDocuments | None]:
        documents = self.documents
        if not len(self.open):
            return self._unchanged(depths, draws), None
        if self.frame is not None:
            return self._of_sample(self.frame, depths, draws)
        known = np.flatnonzero(documents.judged)
        target = Hiding("what is unjudged", known, self.open, self.pool_depth, is_target=True)
        trials = [*self.hidden, target]
        whole = fit_grades(documents, known, self.seed)
        models = [*self._map(partial(self._fit, whole), self.hidden), (whole, np.empty(0))]
        drift = fit_drift(
            documents, [(hiding, logits) for hiding, (_, logits) in zip(self.hidden, models, strict=False)]
        )
        pieces = _pieces(len(self.hidden), draws)
        measures = list(depths)

        def score(piece: tuple[int, range]) -> list[tuple[Floats, Floats]]:
            place, part = piece
            trial, model = trials[place], models[place][0]
            return self._scores(measures, depths, trial, model, drift, part, draws)

        scored = self._map(score, pieces)
        of_trial: list[dict[Measure, Prediction]] = []
        for place, trial in enumerate(trials):
            parts = [of_piece for (at, _), of_piece in zip(pieces, scored, strict=True) if at == place]
            of_trial.append(self._predictions(measures, depths, trial, parts))
            for part in parts:
                part.clear()  # there is a copy now, and there are many draws
        truths = [self._truth(measures, trial) for trial in self.hidden]
        estimates = {}
        for measure in measures:
            cases = [
                (Case(predicted.pop(measure), truth[measure]), trial.name)
                for predicted, truth, trial in zip(of_trial[:-1], truths, self.hidden, strict=True)
            ]
            informative = [(case, name) for case, name in cases if not case.predicted.fixed.all()]
            calibration = calibrate([case for case, _ in informative], self.selection)
            predicted = of_trial[-1].pop(measure)
            drawn = calibration.draws(predicted, self.seed)
            point = calibration.point(predicted, drawn)
            check = self_check(calibration, measure)
            if check is not None:
                check = replace(check, hidden=tuple(name for _, name in informative))
                drawn = np.where(predicted.fixed, predicted.score, check.margins(drawn))
            estimates[measure] = Estimate(
                measure, depths[measure], drawn, point, predicted.score, calibration, check=check
            )
        return estimates, self._open_documents(whole, drift, target)

    def _open_documents(self, model: GradeModel, drift: Drift | None, target: Hiding) -> OpenDocuments:
        max_grade = self.experiment.qrels.max_grade
        return OpenDocuments(
            self.candidates, self.documents, self.elsewhere, max_grade, model, drift, target, self.seed
        )

    def _of_sample(
        self, frame: SamplingFrame, depths: dict[Measure, int], draws: int
    ) -> tuple[dict[Measure, Estimate], OpenDocuments]:
        """From a random sample."""
        documents = self.documents
        assert isinstance(documents, FrameDocuments)
        max_grade, none = self.experiment.qrels.max_grade, calibrate([], SAMPLED)
        sample = DrawnSample(
            self.candidates,
            self.candidates.least_ranks()[0],
            documents,
            self.elsewhere,
            frame.rate,
            frame.labelled,
            max_grade,
            self.seed,
        )
        drawn, now, model = sample_scores(sample, depths, draws, self._map)
        beside = bool(self.elsewhere[:, 1:].any())
        estimates = {
            m: Estimate(
                m, depths[m], drawn[m], drawn[m].mean(axis=0), now[m], none, wider=beside and m.based_on != "utility"
            )
            for m in depths
        }
        own = others_of(documents, np.zeros_like(self.elsewhere))
        target = Hiding("what is unjudged", np.flatnonzero(own.judged), np.flatnonzero(~own.judged), 0, is_target=True)
        model = replace(model, documents=own)
        return estimates, OpenDocuments(self.candidates, own, self.elsewhere, max_grade, model, None, target, self.seed)

    def _unchanged(self, depths: dict[Measure, int], draws: int) -> dict[Measure, Estimate]:
        """Everything is judged: the scores."""
        known = np.flatnonzero(self.documents.judged)
        scores = self._judging(known, self.open).scores(list(depths), _none(1, 0))
        none = calibrate([])
        return {
            m: Estimate(m, depths[m], np.repeat(score, draws, axis=0), score[0], score[0], none)
            for m, (score, _) in scores.items()
        }

    def _map(self, work: Any, items: Sequence[Any]) -> list[Any]:
        return parallel_map(work, items, **self.experiment.options.where, doing="parts of the estimates")

    def _fit(self, whole: GradeModel, trial: Hiding) -> tuple[GradeModel, Floats]:
        model = fit_grades(self.documents, trial.known, self.seed, whole)
        # Only what was learnt goes from one process to another.
        return replace(model, documents=_NOWHERE), model.first_logits(trial.hidden)

    def _judging(self, known: Ints, open_: Ints) -> Judging:
        elsewhere = self.elsewhere.copy()
        # Deeper documents are taken as not relevant.
        beyond = np.bincount(self.candidates.topic, minlength=len(elsewhere))
        beyond -= np.bincount(self.documents.topic[self.documents.reach < NOWHERE], minlength=len(elsewhere))
        elsewhere[:, 0] += beyond
        return Judging(self.candidates, self.documents, known, open_, elsewhere, self.experiment.qrels.max_grade)

    def _open(self, trial: Hiding, depth: int) -> Bools:
        """Which of a trial's hidden documents a measure's target reaches: in backtests all."""
        if not trial.is_target:
            return np.ones(len(trial.hidden), dtype=bool)
        return self.documents.reach[trial.hidden] <= depth

    def _scores(
        self,
        measures: Sequence[Measure],
        depths: dict[Measure, int],
        trial: Hiding,
        model: GradeModel,
        drift: Drift,
        part: range,
        draws: int,
    ) -> list[tuple[Floats, Floats]]:
        """For each measure scores of some draws, and the sum of what they were if only the ideal changed."""
        documents, seed = self.documents, self.seed
        n = draws if trial.is_target else BACKTEST_DRAWS
        sampler = replace(model, documents=documents).sampler(trial.hidden, n, seed, part)
        levels = sampler.levels(drift.shifts(documents, trial.hidden, trial.depth, seed, part))
        by_measure: dict[Measure, tuple[Floats, Floats]] = {}
        for depth in sorted(set(depths.values())):
            use = np.flatnonzero(self._open(trial, depth))
            here = [m for m in measures if depths[m] == depth]
            judging = self._judging(trial.known, trial.hidden[use])
            reached = levels if len(use) == len(trial.hidden) else np.take(levels, use, axis=1)
            for m, (scores, ideal_alone) in judging.scores(here, reached).items():
                by_measure[m] = (scores, ideal_alone.sum(axis=0))
        return [by_measure[m] for m in measures]

    def _predictions(
        self,
        measures: Sequence[Measure],
        depths: dict[Measure, int],
        trial: Hiding,
        parts: Sequence[list[tuple[Floats, Floats]]],
    ) -> dict[Measure, Prediction]:
        """What the draws of a trial come to."""
        predictions = {}
        documents = self.documents
        now = self._judging(trial.known, np.empty(0, dtype=np.int64)).scores(measures, _none(1, 0))
        for place, measure in enumerate(measures):
            scores = np.concatenate([part[place][0] for part in parts])
            ideal_alone = np.asarray(sum(part[place][1] for part in parts) / len(scores))
            mean = scores.mean(axis=0)
            use = self._open(trial, depths[measure])
            distance = log_distance(documents.reach[trial.hidden[use]], trial.depth)
            predictions[measure] = Prediction(
                now[measure][0][0],
                mean - ideal_alone,
                ideal_alone - now[measure][0][0],
                np.subtract(scores, mean, out=scores),
                float(distance.mean()) if len(distance) else 0.0,
            )
        return predictions

    def _truth(self, measures: Sequence[Measure], trial: Hiding) -> dict[Measure, Floats]:
        levels = self.documents.level[trial.hidden].astype(np.int16)[None, :]
        scores = self._judging(trial.known, trial.hidden).scores(measures, levels)
        return {m: scores[m][0][0] for m in measures}


def _none(draws: int, documents: int) -> NDArray[np.int16]:
    return np.zeros((draws, documents), dtype=np.int16)


def _pieces(backtests: int, draws: int) -> list[tuple[int, range]]:
    """Trials and draws, for workers: each backtest by itself, the target in a few parts."""
    step = max(1, -(-draws // PIECES))
    parts = [(backtests, range(first, min(first + step, draws))) for first in range(0, draws, step)]
    return [*parts, *((i, range(BACKTEST_DRAWS)) for i in range(backtests))]


_NOWHERE: Any = None  # documents of a model that is under way from one process to another
