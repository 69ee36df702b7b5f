"""Is A better than B, and will it stay so? What `fathoms compare` and `fm.compare` do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.estimate.estimates import Estimates
from fathoms.estimate.names import LEVEL
from fathoms.estimate.self_check import interval
from fathoms.estimate.words import calibrated_sentences
from fathoms.evidence.evidence import Bools, Floats
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.run_lengths import cut_short, usual_length
from fathoms.experiment.topics import chosen_run
from fathoms.inference.significance import Correction, Test
from fathoms.measures.base import Measure, Scores
from fathoms.pairs.difference_ranges import PairRanges, Ranges, Universe, left_out
from fathoms.pairs.fragility import Fragility, fragility
from fathoms.pairs.scored_runs import (
    Observed,
    asked_universe,
    covers,
    documents_by_key,
    estimates_if_quick,
    observe,
    range_pairs,
    without_pair,
)
from fathoms.questions.compare.result import Comparison, GroupedComparison, Pair
from fathoms.questions.compare.verdicts import TestPlan, compared, pairs_after_judging, tested_pairs, with_unjudged

FIRST = 10  # documents whose judged share is reported, where measures have no cut-off
EXPLAINED = 10  # pairs that are explained at once, at most


def _cut_short(seen: Observed) -> list[str]:
    """A note where one run ends far above another, and measures read on."""
    lengths = {
        name: usual_length(of_topics) for name, of_topics in zip(seen.names, seen.documents.lengths, strict=True)
    }
    uneven = cut_short(lengths)
    if uneven is None:
        return []
    short, long = uneven
    deep = [m.name for m in seen.measures if m.k is None or m.k > lengths[short]]
    if not deep:
        return []
    reads = f"{', '.join(deep)} {'reads' if len(deep) == 1 else 'read'} deeper than that"
    return [
        f"{short} has {lengths[short]:,} documents a topic (median), {long} {lengths[long]:,}; {reads}, and what a run "
        f"leaves out counts as not relevant: compare them at a cut-off of {lengths[short]:,} or less"
    ]


def run_comparison(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    *,
    test: Test = "t",
    correction: Correction = "holm",
    alpha: float = 0.05,
    baseline: str | None = None,
    draws: int | None = None,
    labels: Sequence[Any] = (),
    to_depth: int | None = None,
    level: float = LEVEL,
    explain: bool = False,
    ranges: str = "auto",
    seen: Observed | None = None,
    estimates: Estimates | None = None,
    of_pairs: PairRanges | None = None,
    progress: Callable[[str], None] = lambda run: None,
) -> Comparison:
    """Look at each run on its own, a few at a time, and then at all pairs.

    `draws` is how often the grades of unjudged documents are drawn for the estimates: by default `DRAWS` times, and not
    at all if that would take long; `labels`, `to_depth` and `level` are those of `predict`. With `explain` each pair
    gets its fragility and the documents that decide. With `ranges="all"` every range is made, however long that takes.
    What another analysis has `seen`, at other depths, its `estimates` and its ranges `of_pairs` are used if given.
    """
    names, options = list(experiment.runs), experiment.options
    if len(names) < 2:
        raise FathomsError("a comparison needs at least two runs")
    if experiment.systems is not None and seen is None:
        from fathoms.questions.compare.repeated import compare_repeated

        if (
            test != "t"
            or explain
            or draws
            or len(labels)
            or to_depth is not None
            or experiment.topic_groups is not None
        ):
            raise FathomsError(
                "replicates: systems are compared by the t-test of topics and repetitions, as judged and on all "
                "topics; test, explain, draws, labels, to_depth and topic_groups are for single runs"
            )
        how: dict[str, Any] = {"correction": correction, "alpha": alpha, "baseline": baseline, "progress": progress}
        return compare_repeated(experiment, measures, experiment.systems, **how)
    place = None if baseline is None else chosen_run("the baseline", baseline, names)
    a, b = compared(names, place)
    if explain and len(a) * len(measures) > EXPLAINED:
        raise FathomsError(
            f"explain: {len(a) * len(measures):,} comparisons are more than can be explained at once ({EXPLAINED}); "
            "give two runs, or a baseline and a few"
        )
    measures = without_pair(measures)
    universe = Universe(asked_universe(measures), options.universe_depth)
    if seen is None:
        seen = observe(experiment, measures, universe, progress, depths=True)
    seen = replace(seen, universe=universe, notes=list(seen.notes))
    values, scores, notes = seen.values, seen.scores, seen.notes
    notes += _cut_short(seen)
    qrels, means = experiment.qrels, {m: values[m].mean(axis=1) for m in measures}
    made_from, bounds = of_pairs or range_pairs(seen, a, b, ranges == "all", progress)
    notes += left_out(bounds, "compare")
    units = experiment.units(qrels.topics)
    plan = TestPlan(names, a, b, test, correction, alpha, alpha, options.seed, options.ties == "expected", units)
    estimates = estimates or estimates_if_quick(seen, draws, labels, to_depth)
    held = {} if estimates is None else pairs_after_judging(estimates, values, plan, level, options.where)
    explained_by = [m for m in measures if m in bounds and not m.needs_pool] if explain else []
    fragilities: dict[Measure, list[Fragility | None]] = {m: [*fragility(made_from, m, means[m])] for m in explained_by}
    pairs: list[Pair] = []
    for m in measures:
        to = None if estimates is None or m not in estimates.by_measure else estimates[m].to_depth
        covered = covers(m, universe, len(names), to)
        at_depths = seen.at_depths.get(m)
        of_measure = tested_pairs(
            m, values[m], plan, bounds.get(m), held.get(m), fragilities.get(m), at_depths, covered
        )
        pairs += of_measure if to is None else with_unjudged(of_measure, seen.documents, to)
    explained = (
        [pair_fragility for m in measures for pair_fragility in fragilities.get(m, [None] * len(a))] if explain else []
    )
    groups, by_group = experiment.topic_groups, list[Pair]()
    masks: dict[str, Bools] = {}
    if groups is not None:
        notes += groups.notes(qrels.topics)
        masks = groups.masks(qrels.topics)
        by_group = [
            pair
            for group, places in masks.items()
            for pair in _of_group(group, places, len(masks), values, scores, made_from, estimates, plan, level)
        ]
    return (Comparison if groups is None else GroupedComparison)(
        pairs=pairs,
        alpha=alpha,
        test=test,
        correction=correction,
        topics=len(qrels.topics),
        notes=notes,
        universe=universe,
        explained=explained,
        topic_names=qrels.topics,
        document_names=_document_names(seen, [of_pair for of_pair in explained if of_pair is not None]),
        level=level,
        about_estimates=[] if estimates is None else calibrated_sentences(estimates, level),
        estimated={} if estimates is None else _by_run(estimates, level),
        to_depth={} if estimates is None else {m.name: of.to_depth for m, of in estimates.by_measure.items()},
        by_group=by_group,
        estimated_by_group={} if estimates is None or groups is None else estimates.by_group(groups, level),
        baseline=place,
        means={
            (name, m.name, group): float(np.exp(mean)) if m.aggregate == "geometric" else mean
            for group, of_group in {"all": means, **_group_means(values, masks)}.items()
            for m in measures
            for name, mean in zip(names, of_group[m].tolist(), strict=True)
        },
        judged=_judged_share(seen),
        clusters=None if units is None else len(units),
    )


def _group_means(values: dict[Measure, Floats], masks: dict[str, Bools]) -> dict[str, dict[Measure, Floats]]:
    return {group: {m: of[:, here].mean(axis=1) for m, of in values.items()} for group, here in masks.items()}


def _judged_share(seen: Observed) -> tuple[float, int]:
    """The share of documents judged, down to the deepest cut-off, or of the first ten if there is none."""
    depth = max((int(m.k) for m in seen.measures if m.k is not None and m.cutoff != "recall"), default=FIRST)
    place = seen.documents.place[:, :, :depth]
    there = place >= 0
    return float(seen.documents.judged[place[there]].mean()) if there.any() else 0.0, depth


def _of_group(
    group: str,
    places: Bools,
    groups: int,
    values: dict[Measure, Floats],
    scores: dict[Measure, list[Scores]],
    ranges: Ranges,
    estimates: Estimates | None,
    plan: TestPlan,
    level: float,
) -> list[Pair]:
    """The pairs on one group of topics.

    Each group is tested at alpha over the number of groups (Bonferroni), so that the chance of any false claim about a
    group is at most alpha, unless no correction is wanted.
    """
    tests = 1 if plan.correction == "none" else groups
    units = None if plan.units is None else plan.units.of_topics(places)
    plan = replace(plan, alpha=plan.alpha / tests, units=units)
    here = {m: of[:, places] for m, of in values.items()}
    means = {m: of.mean(axis=1) for m, of in here.items()}
    bounds = ranges.of_topics(np.flatnonzero(places)).of(
        list(values),
        {m: of[plan.a] - of[plan.b] for m, of in means.items()},
        {m: [run_scores.of_topics(places) for run_scores in of] for m, of in scores.items()},
    )
    estimated = None if estimates is None else estimates.of_topics(places)
    held = {} if estimated is None else pairs_after_judging(estimated, here, plan, level, ranges.where)
    pairs: list[Pair] = []
    for m, of in here.items():
        to = None if estimated is None or m not in estimated.by_measure else estimated[m].to_depth
        covered = covers(m, ranges.universe, len(plan.names), to)
        pairs += tested_pairs(m, of, plan, bounds.get(m), held.get(m), None, None, covered)
    return [replace(pair, group=group, p_corrected=min(1.0, tests * pair.p_corrected)) for pair in pairs]


def _document_names(seen: Observed, explained: Sequence[Fragility]) -> dict[int, str]:
    """Ids of the documents that are listed, by their keys."""
    wanted = np.array(
        [document.key for pair_fragility in explained for document in pair_fragility.documents], dtype=np.uint64
    )
    named = dict.fromkeys(
        seen.names[place] for pair_fragility in explained for place in (pair_fragility.a, pair_fragility.b)
    )
    return documents_by_key(seen.documents, list(named), wanted)[0]


def _by_run(estimates: Estimates, level: float) -> dict[tuple[str, str], tuple[float, float, float]]:
    """Each run's estimate and its interval."""
    by_run = {}
    for m, estimate in estimates.by_measure.items():
        point = estimate.point_means
        low, high = interval(estimate.means, point, level)
        for i, run in enumerate(estimates.runs):
            by_run[run, m.name] = (float(point[i]), float(low[i]), float(high[i]))
    return by_run
