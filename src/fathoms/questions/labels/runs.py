"""What labels in place of human judgments do to runs: scores, their order, and who follows the labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fathoms.data.qrels import PADDING, UNJUDGED, Qrels
from fathoms.evidence.align import Aligned
from fathoms.evidence.evidence import Bools, Evidence, Floats, Ints
from fathoms.evidence.pool import with_judgments
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.scoring import judgments_of, topic_scores
from fathoms.inference.agreement import Evaluated
from fathoms.inference.correlation import correlation, rmse, swaps
from fathoms.inference.grade_agreement import Estimate
from fathoms.inference.mean_intervals import mean_intervals
from fathoms.measures.base import Measure
from fathoms.measures.means import aggregate
from fathoms.questions.labels.budget import DEPTH
from fathoms.questions.labels.circularity import Following, followings, topic_correlations

TOP = 100  # places in which a run may follow the labels; a reranking seldom goes deeper


@dataclass(frozen=True, eq=False)
class LabelGrades:
    """A source's labels in the place of judgments: the same documents with other grades."""

    known: Bools  # one a judgment: judged by people and labelled
    values: Floats  # one a judgment: the label as it was given, nan where there is none
    qrels: Qrels  # the labels as judgments
    codes: NDArray[np.int16]  # one a judgment, as in Evidence
    topics: Ints  # those that have such documents

    @staticmethod
    def of(qrels: Qrels, grades: Floats, values: Floats) -> LabelGrades:
        """From a label for each judgment as a grade and as it was given, nan where there is none."""
        known = ~np.isnan(grades)
        labels = Qrels(qrels.topics, qrels.topic[known], qrels.documents[known], grades[known], qrels.source)
        codes = np.full(len(qrels), UNJUDGED, dtype=np.int16)
        codes[known] = labels.codes
        counts = np.bincount(qrels.topic[known], minlength=len(qrels.topics))
        return LabelGrades(known, values, labels, codes, np.flatnonzero(counts))

    def evidence(self, aligned: Aligned) -> Evidence:
        """The evidence on a run if the labels were the judgments."""
        judgment, evidence = judgments_of(aligned), aligned.evidence
        codes = np.where(judgment >= 0, self.codes[judgment], np.int16(UNJUDGED))
        return replace(
            evidence,
            codes=np.where(evidence.codes == PADDING, np.int16(PADDING), codes),
            levels=self.qrels.levels,
            max_grade=max(evidence.max_grade, self.qrels.max_grade),
            counts=self.qrels.counts,
            unjudged_in_universe=None,
            _cache={},
        )


@dataclass(frozen=True)
class Swap:
    """Two runs that the labels put in the other order."""

    ahead: str  # by human judgments
    behind: str
    human: float  # by how much
    labels: float  # below 0
    p: float  # of the human difference: t test, not corrected


@dataclass(frozen=True, eq=False)
class Effect:
    """The order of the runs by one measure, with human judgments and with the labels of the same documents."""

    measure: str
    human: Floats  # one a run
    labels: Floats
    tau: float | None
    tau_ap: float | None
    rmse: float
    swaps: list[Swap]
    bias: Estimate  # labels' score less people's, on average over runs, with an interval over topics

    @property
    def gains(self) -> Floats:
        """What each run gains from labels, beyond the median over the runs."""
        gain = self.labels - self.human
        return np.asarray(gain - np.median(gain))


@dataclass(frozen=True, eq=False)
class OfRun:
    """What one run has for one source."""

    human: list[Floats]  # by measure: scores of the topics
    labels: list[Floats]
    partial: Floats  # by topic, as in topic_correlations
    plain: Floats
    top: Ints  # judged and labelled documents in its first places, as rows of the judgments


@dataclass(frozen=True, eq=False)
class RunEffects:
    effects: list[Effect]
    followings: list[Following]
    top: Ints  # judged and labelled documents in the first places of any run


def run_effects(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    sources: Sequence[LabelGrades],
    notes: list[str],
    progress: Callable[[str], None],
) -> list[RunEffects]:
    """For each source; each run is read once."""
    experiment.prepare()
    qrels, ties = experiment.qrels, experiment.options.ties
    align = experiment.alignment([], notes, trace=True, ranges=False)
    level = np.searchsorted(qrels.levels, np.maximum(qrels.grades, 0))

    def of_run(name: str) -> tuple[list[str], list[OfRun]]:
        ranked = experiment.ranked(name)
        aligned = align.of(ranked)
        human: dict[bytes, list[Floats]] = {}  # sources mostly label the same documents
        effects = []
        for source in sources:
            key = source.known.tobytes()
            if key not in human:
                kept = with_judgments(aligned, qrels, source.known).select(source.topics)
                human[key] = [topic_scores(kept, measure, ties) for measure in measures]
            labelled = source.evidence(aligned).select(source.topics)
            scores = [topic_scores(labelled, measure, ties) for measure in measures]
            used = (ranked.judgment >= 0) & source.known[ranked.judgment] & (ranked.rank <= TOP)
            row, rank = ranked.judgment[used], ranked.rank[used]
            partial, plain = topic_correlations(
                ranked.topic[used].astype(np.int64),
                rank.astype(np.float64),
                level[row],
                source.values[row],
                len(qrels.topics),
            )
            effects.append(OfRun(human[key], scores, partial, plain, row[rank <= DEPTH].astype(np.int64)))
        return ranked.run.notes, effects

    results = experiment.map(of_run, progress=progress)
    names = list(experiment.runs)
    notes += [note for run_notes, _ in results for note in run_notes]
    return [_combined(names, measures, [effects[i] for _, effects in results]) for i in range(len(sources))]


def _combined(names: Sequence[str], measures: Sequence[Measure], runs: Sequence[OfRun]) -> RunEffects:
    partial, plain = np.stack([run.partial for run in runs]), np.stack([run.plain for run in runs])
    return RunEffects(
        [
            effect(names, measure, np.stack([run.human[m] for run in runs]), np.stack([run.labels[m] for run in runs]))
            for m, measure in enumerate(measures)
        ],
        followings(names, partial, plain),
        np.unique(np.concatenate([run.top for run in runs])),
    )


def effect(names: Sequence[str], measure: Measure, human: Floats, labels: Floats) -> Effect:
    """From scores [run, topic]."""
    x = np.array([aggregate(measure, row) or 0.0 for row in human])
    y = np.array([aggregate(measure, row) or 0.0 for row in labels])
    several = len(names) > 1
    p = Evaluated.of(human).p if several and human.shape[1] > 1 else np.ones((len(names), len(names)))
    return Effect(
        measure.name,
        x,
        y,
        correlation(x, y, "tau") if several else None,
        correlation(x, y, "tau_ap") if several else None,
        rmse(x, y),
        [
            Swap(names[i], names[j], float(x[i] - x[j]), float(y[i] - y[j]), float(p[i, j]))
            for i, j in (swaps(x, y) if several else ())
        ],
        _bias(x, y, human, labels),
    )


def _bias(x: Floats, y: Floats, human: Floats, labels: Floats) -> Estimate:
    low, high = mean_intervals((labels - human).mean(axis=0, keepdims=True)) if human.shape[1] > 1 else ([np.nan],) * 2
    value = float((y - x).mean())
    if np.isnan(low[0]):
        return Estimate(value, value, value) if human.shape[1] > 1 else Estimate(value)
    return Estimate(value, float(low[0]), float(high[0]))
