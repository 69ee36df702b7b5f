"""Can labels stand in for human judgments? Sources of labels against people, one by one. What `fathoms labels` does."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fathoms.base.arrays import distinct, ratio
from fathoms.base.errors import FathomsError, InputError
from fathoms.base.text import pluralise
from fathoms.data import keys
from fathoms.data.document_values import named_sources, read_values
from fathoms.data.lines import Table
from fathoms.data.qrels import JUDGED, Qrels
from fathoms.data.topics import topics_of
from fathoms.estimate.design import SamplingDesign, as_design
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.experiment.base import BaseExperiment
from fathoms.inference import grade_agreement as agreement
from fathoms.inference.grade_agreement import Estimate, Labelled, counted, interval, with_all_values
from fathoms.questions.labels.between import between, labels_of
from fathoms.questions.labels.budget import DEPTH, budget, calibration
from fathoms.questions.labels.lengths import by_length, text_lengths
from fathoms.questions.labels.mixed import OddGrade, odd_grades
from fathoms.questions.labels.requirements import Requirements, required
from fathoms.questions.labels.result import LabelAudit, SourceAudit
from fathoms.questions.labels.runs import LabelGrades, RunEffects, run_effects


@dataclass(frozen=True, eq=False)
class Source:
    """A source's labels beside the judgments."""

    name: str
    file: str
    values: Floats  # one a judgment: the label as it was given, nan where there is none
    grades: Floats  # the same as grades
    scores: bool
    thresholds: Floats
    relevant_from: float  # the least label, as it was given, that counts as relevant
    least_relevant: float  # the same as a grade
    others: keys.Keys  # labelled documents of judged topics that are not judged
    given: Floats  # all its labels, in the order of its file, nan where there is none


def run_label_audit(
    experiment: BaseExperiment,
    labels: Any,
    measures: Sequence[Any] | Any,
    *,
    rel: float,
    label_rel: float | None,
    sampled: Any = None,
    docs: str | os.PathLike[str] | None = None,
    min_kappa: float | None = None,
    min_labels: int | None = None,
    max_bias: float | None = None,
    max_circularity: float | None = None,
    progress: Callable[[str], None],
) -> LabelAudit:
    """Audit sources of labels, by name. Documents of grade `rel` and above are relevant, and so are those with a label
    of `label_rel` and above; by default that is `rel`, or for scores the threshold that agrees best with people."""
    named = named_sources(labels)
    if not named:
        raise FathomsError("no labels given; name files with lines `topic document value`")
    if experiment.has_runs:
        experiment.needs_an_order("labels")
    prepared = experiment.measures(measures)
    for measure in prepared:
        if measure.needs_pool:
            raise FathomsError(
                f"{measure.name} takes R or its ideal from the pool, which labels do not change; use a variant that "
                "takes them from all judgments"
            )
    tables = {name: read_values(path, lenient=experiment.lenient, name=name) for name, path in named.items()}
    wanted = Requirements(min_kappa, min_labels, max_bias, max_circularity)
    if not experiment.has_runs:
        for option, limit in (("max_bias", max_bias), ("max_circularity", max_circularity)):
            if limit is not None:
                raise FathomsError(f"{option}: is about what labels do to runs; give some")
    qrels = experiment.qrels
    notes = list(qrels.notes)
    weight = None if sampled is None else stated_weights(as_design(sampled), qrels)
    if not (qrels.grades >= 0).any():
        raise InputError("no document is judged, so there is nothing to hold labels against", qrels.source)
    if not (qrels.levels >= rel).any():
        raise FathomsError(
            f"no document of {qrels.source} has grade {rel:g} or above; the greatest is {qrels.levels[-1]:g}"
        )
    lengths = None if docs is None else text_lengths(docs, qrels.documents.tolist())
    sources = [_source(name, table, qrels, rel, label_rel, experiment.junk, notes) for name, table in tables.items()]
    effects: Sequence[RunEffects | None] = [None] * len(sources)
    if experiment.has_runs:
        notes += experiment.topic_notes()
        graded = [LabelGrades.of(qrels, source.grades, source.values) for source in sources]
        effects = run_effects(experiment, prepared, graded, notes, progress)
    seed = experiment.options.seed
    audits = [
        _audited(experiment, qrels, source, of_runs, rel, seed, weight, lengths)
        for source, of_runs in zip(sources, effects, strict=True)
    ]
    whole = [
        labels_of(source.name, table, source.given, source.relevant_from)
        for source, table in zip(sources, tables.values(), strict=True)
    ]
    odd: list[OddGrade] = []
    if experiment.has_runs:
        documents = experiment.documents()
        odd = odd_grades(documents, qrels.levels.tolist(), documents.codes.astype(np.int64) - JUDGED)
    return LabelAudit(
        qrels.source,
        rel,
        list(experiment.runs) if experiment.has_runs else [],
        audits,
        notes,
        between(whole, seed),
        [requirement for audit in audits for requirement in required(audit, wanted)],
        odd,
        weight is not None,
    )


def stated_weights(design: SamplingDesign | None, qrels: Qrels) -> Floats:
    """How many documents each judgment stands for, by the design of the sample; 1 if it was not left to chance."""
    if design is None:
        raise FathomsError(
            "sampled: a file that lists strata or probabilities is needed; where all documents had the "
            "same chance, no weights are"
        )
    number = np.array([qrels.index.get(topic, -1) for topic in design.topics], dtype=np.int32)[design.topic]
    listed = np.flatnonzero(number >= 0)
    row = qrels.lookup.find(
        keys.topic_keys(keys.document_keys(design.documents[listed]), number[listed]), design.documents, listed
    )
    judged = (row >= 0) & (qrels.grades[row] >= 0)
    weight = np.ones(len(qrels))
    if design.probability is not None:
        chance = design.probability[listed]
    else:
        stratum = np.zeros(len(listed), dtype=np.int64) if design.stratum is None else design.stratum[listed]
        drawn = judged if design.sampled is None else design.sampled[listed]
        chance = ratio(np.bincount(stratum, drawn), np.bincount(stratum).astype(np.float64))[stratum]
    if not judged.any():
        raise FathomsError(f"{design.source}: lists none of the judged documents of {qrels.source}")
    weight[row[judged]] = 1 / chance[judged]
    return weight


# -- labels meet judgments --------------------------------------------------------------------------------------------


def _source(
    name: str, table: Table, qrels: Qrels, rel: float, label_rel: float | None, junk: float | None, notes: list[str]
) -> Source:
    scores = agreement.are_scores(table.number)
    number = table.number
    if not scores:
        number = _without_negative(table, junk, notes)
    notes += table.skipped
    values, others = _beside(table, number, qrels)
    known = ~np.isnan(values)
    empty = np.empty(0)
    if not scores:
        above = known & (values > qrels.levels[-1])
        if above.any():
            notes.append(
                f"{table.source}: {pluralise(int(above.sum()), 'label')} above the greatest human grade, "
                f"{qrels.levels[-1]:g} (up to {values[above].max():g})"
            )
        least = rel if label_rel is None else label_rel
        return Source(name, table.source, values, values, False, empty, least, least, others, number)
    labelled = counted(qrels.topic[known].astype(np.int64), qrels.grades[known], values[known])
    used = labelled.grades
    if used[0] >= rel or used[-1] < rel:
        which = "are relevant" if used[0] >= rel else "are not relevant"
        raise InputError(
            f"these are scores, and all judged documents that have one {which}, so no threshold can be found",
            table.source,
        )
    thresholds = agreement.best_thresholds(labelled)
    place = int(np.searchsorted(used[1:], rel))
    if label_rel is not None:
        thresholds[place] = label_rel
        thresholds[:place] = np.minimum(thresholds[:place], label_rel)
        thresholds[place:] = np.maximum(thresholds[place:], label_rel)
    grades = np.full(len(values), np.nan)
    grades[known] = agreement.as_grades(values[known], thresholds, used)
    notes.append(f"{table.source}: these are scores and not grades ({len(distinct(number)):,} different values)")
    return Source(
        name,
        table.source,
        values,
        grades,
        True,
        thresholds,
        float(thresholds[place]),
        float(used[1:][place]),
        others,
        number,
    )


def _without_negative(table: Table, junk: float | None, notes: list[str]) -> Floats:
    """Grades with nan for negative ones, which mean that there is no label, as in judgments."""
    number = table.number if junk is None else np.where(table.number == junk, 0.0, table.number)
    negative = int((number < 0).sum())
    if negative:
        notes.append(
            f"{table.source}: {pluralise(negative, 'negative label')}, which as in judgments means that there is none "
            "(--nonrelevant-grade GRADE makes that one not relevant)"
        )
    return np.where(number < 0, np.nan, number)


def _beside(table: Table, number: Floats, qrels: Qrels) -> tuple[Floats, keys.Keys]:
    """The label of each judged document, nan where there is none, and keys of the labelled documents not judged."""
    topics, topic = topics_of(table)
    of_topic = np.array([qrels.index.get(name, -1) for name in topics], dtype=np.int32)[topic]
    rows = np.flatnonzero((of_topic >= 0) & ~np.isnan(number))
    pair_keys = keys.topic_keys(keys.document_keys(table.document[rows]), of_topic[rows])
    judgment = qrels.lookup.find(pair_keys, table.document, rows)
    judged = (judgment >= 0) & (qrels.grades[judgment] >= 0)
    if not judged.any():
        raise InputError(
            f"none of its {pluralise(len(table.number), 'document')} is judged: it has, for example, topic {topics[0]} "
            f"with document {table.document[0].decode(errors='replace')}, {qrels.source} has topic "
            f"{qrels.topics[qrels.topic[0]]} with document {qrels.documents[0].decode(errors='replace')}",
            table.source,
        )
    values = np.full(len(qrels), np.nan)
    values[judgment[judged]] = number[rows[judged]]
    return values, pair_keys[~judged]


# -- figures ----------------------------------------------------------------------------------------------------------


def _audited(
    experiment: BaseExperiment,
    qrels: Qrels,
    source: Source,
    effects: RunEffects | None,
    rel: float,
    seed: int,
    weight: Floats | None,
    lengths: Floats | None,
) -> SourceAudit:
    known = ~np.isnan(source.grades)
    topic, grade = qrels.topic[known].astype(np.int64), qrels.grades[known]
    stands_for = None if weight is None else weight[known]
    labelled = counted(topic, grade, source.grades[known], stands_for)
    relevant, positive = labelled.grades >= rel, labelled.labels >= source.least_relevant
    draws = agreement.resampled(len(labelled.counts), seed)
    figures = agreement_figures(labelled, relevant, positive, draws)
    raw = counted(topic, grade, source.values[known], stands_for) if source.scores else labelled
    figures |= order_figures(raw, relevant, draws)
    by_grade = {
        float(value): interval(
            lambda table, row=row: agreement.labelled_relevant(table, row, positive),  # type: ignore[misc]
            labelled.counts,
            draws,
        )
        for value, row in zip(labelled.grades, np.eye(len(labelled.grades), dtype=bool), strict=True)
    }
    judged = qrels.grades >= 0
    by_group: dict[str, Estimate] = {}
    if experiment.topic_groups is not None:
        of_topics = [qrels.topics[i] for i in distinct(topic).tolist()]
        for group, places in experiment.topic_groups.masks(of_topics).items():
            some = labelled.counts[places]
            by_group[group] = interval(_kappa_of(relevant, positive), some, agreement.resampled(len(some), seed))
    return SourceAudit(
        name=source.name,
        file=source.file,
        scores=source.scores,
        thresholds=source.thresholds,
        relevant_from=source.relevant_from,
        judged=int(judged.sum()),
        topics=len(labelled.counts),
        judged_topics=len(distinct(qrels.topic[judged])),
        labelled=labelled,
        relevant=relevant,
        positive=positive,
        figures=figures,
        by_grade=by_grade,
        kappas=agreement.drawn(_kappa_of(relevant, positive), labelled.counts, draws),
        where=tuple(distinct(topic).tolist()),
        calibration=calibration(labelled.counts.astype(np.float64), relevant, positive),
        budget=budget(_in_first_places(qrels, source, labelled, effects), relevant, len(labelled.counts) * DEPTH),
        unjudged=None if effects is None else len(experiment.universe_keys().keys),
        unjudged_labelled=None if effects is None else int(experiment.universe_keys().has(source.others).sum()),
        effects=[] if effects is None else effects.effects,
        followings=[] if effects is None else effects.followings,
        by_group=by_group,
        by_length=None
        if lengths is None
        else by_length(
            lengths[known], topic, grade >= rel, source.grades[known] >= source.least_relevant, stands_for, seed
        ),
        with_text=None if lengths is None else int((~np.isnan(lengths[known])).sum()),
    )


def _kappa_of(relevant: Bools, positive: Bools) -> Callable[[Floats], Floats]:
    return lambda table: agreement.kappa(agreement.binary(table, relevant, positive), 1 - np.eye(2))


def agreement_figures(labelled: Labelled, relevant: Bools, positive: Bools, draws: Ints) -> dict[str, Estimate]:
    """Figures of labels as grades, each with its interval."""
    square = with_all_values(labelled)
    weights = agreement.squared(labelled.grades, labelled.labels)
    statistics: dict[str, tuple[Callable[[Floats], Floats], Labelled]] = {
        "kappa": (_kappa_of(relevant, positive), labelled),
        "kappa_quadratic": (lambda table: agreement.kappa(table, weights), labelled),
        "alpha_ordinal": (lambda table: agreement.alpha(table, ordinal=True), square),
        "alpha_nominal": (lambda table: agreement.alpha(table, ordinal=False), square),
        "sensitivity": (lambda table: agreement.labelled_relevant(table, relevant, positive), labelled),
        "specificity": (lambda table: 1 - agreement.labelled_relevant(table, ~relevant, positive), labelled),
        "bias": (lambda table: agreement.bias(table, labelled.grades, labelled.labels), labelled),
    }
    return {name: interval(statistic, of.counts, draws) for name, (statistic, of) in statistics.items()}


def order_figures(labelled: Labelled, relevant: Bools, draws: Ints) -> dict[str, Estimate]:
    """Figures for which only the order of the labels counts; for scores, intervals group neighbouring values."""

    def by_relevance(table: Floats) -> Floats:
        rows = [table[..., chosen, :].sum(axis=-2) for chosen in (~relevant, relevant)]
        return agreement.auc(np.stack(rows, axis=-2))

    grouped = agreement.coarse(labelled)
    figures = {}
    for name, statistic in (("auc", by_relevance), ("spearman", agreement.spearman)):
        exact, near = float(statistic(labelled.total)), interval(statistic, grouped.counts, draws)
        if near.value is None or near.low is None or near.high is None:
            figures[name] = Estimate(None if np.isnan(exact) else exact)
        else:
            figures[name] = Estimate(exact, near.low + exact - near.value, near.high + exact - near.value)
    return figures


def _in_first_places(qrels: Qrels, source: Source, labelled: Labelled, effects: RunEffects | None) -> Floats:
    """The table of the documents in the runs' first places, or of all documents if there are no runs."""
    if effects is None or not len(effects.top):
        return labelled.total
    rows = effects.top
    table = np.zeros(labelled.total.shape)
    places = np.searchsorted(labelled.grades, qrels.grades[rows]), np.searchsorted(labelled.labels, source.grades[rows])
    np.add.at(table, places, 1.0)
    return table
