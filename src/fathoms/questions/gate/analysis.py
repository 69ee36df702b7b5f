"""May a candidate replace the baseline? Passes, fails or cannot tell; what `fathoms gate` and `fm.gate` do.

Differences are candidate - baseline by topic. Two one-sided questions are asked of their mean over the topics of
interest, of which these are a sample: is it above -max_drop (then the gate passes), and is it below 0 (a drop)? Each
p-value accounts for both topics and judging. `certain` is the worst p over every way of judging the unjudged documents
and every order of ties. `likely` is the worst of three: they are not relevant; they are as relevant as the judged ones
at the same ranks of the same run (`estimate.judged_rates`); they are as the default estimate says. That estimate alone
would not do: on simulated pairs without a difference, in which all unjudged documents were the candidate's own, it
raised an alarm in half of the cases. `labels` that cover these very documents let it decide. If nothing unjudged could
change a score, all three are the p of the paired t-test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.estimate.estimates import Estimates
from fathoms.estimate.words import calibrated_sentences
from fathoms.evidence.evidence import Bools, Floats
from fathoms.experiment.base import BaseExperiment
from fathoms.measures.base import Measure
from fathoms.pairs.difference_ranges import Universe
from fathoms.pairs.scored_runs import (
    Observed,
    asked_universe,
    documents_by_key,
    estimates_if_quick,
    observe,
    without_pair,
)
from fathoms.questions.gate.broken import refuse_broken
from fathoms.questions.gate.decisions import corrected_rows, decided, tested_row
from fathoms.questions.gate.doubt import A, B, Doubt, RepeatedDoubt
from fathoms.questions.gate.judged_rates import changes_at_judged_rates, labels_cover
from fathoms.questions.gate.result import Gate, GateRow, ToJudge
from fathoms.questions.gate.sequence import keep_look, next_look

FIRST = 20  # documents to judge first that are listed


def run_gate(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    *,
    max_drop: float,
    alpha: float,
    draws: int | None,
    sequence: Path | None,
    looks: int,
    labels: Sequence[Any],
    to_depth: int | None,
    progress: Callable[[str], None],
) -> Gate:
    """The first run of the experiment is the baseline, the second the candidate.

    `draws`, `labels` and `to_depth` are those of `compare`, for the estimates; without draws only what is certain
    counts.
    """
    experiment.needs_an_order("a gate")
    systems = experiment.systems
    names = list(experiment.runs) if systems is None else systems.names
    if len(names) != 2:
        what = "runs" if systems is None else "systems"
        raise FathomsError(f"a gate has two {what}, the baseline and the candidate; found {len(names)}")
    no_mean = next((m for m in measures if m.aggregate != "mean"), None)
    if no_mean is not None:
        raise FathomsError(
            f"{no_mean.name} is not a mean over topics, so a gate cannot bound its drop; use another measure"
        )
    measures = without_pair(measures)
    labelled = len(labels) > 0 and labels_cover(experiment, measures, labels, to_depth)
    if systems is not None and (len(labels) or draws or to_depth is not None):
        raise FathomsError(
            "replicates: systems of several runs are gated as judged; draws, labels and to_depth are not"
        )
    if not labelled and systems is None:
        refuse_broken(experiment, *names)
    universe = Universe(asked_universe(measures), experiment.options.universe_depth)
    seen = observe(experiment, measures, universe, progress)
    estimates = None if systems is not None else estimates_if_quick(seen, draws, labels, to_depth)
    topics = experiment.qrels.topics
    everywhere = np.ones(len(topics), dtype=bool)
    places = {"all": everywhere}
    if experiment.topic_groups is not None:
        seen.notes.extend(experiment.topic_groups.notes(topics))
        places |= experiment.topic_groups.masks(topics)
    if len(labels) and not labelled:
        seen.notes.append(
            "labels decide only if 90% of the unjudged documents that estimates are about have one, and 20 judged "
            "ones: these do not"
        )
    likely = _likely(seen, estimates, to_depth, labelled=labelled)
    if systems is None:
        ranges = seen.ranges(A, B)
        doubts = {m: Doubt.of(m, seen, ranges, estimates, likely.get(m, ()), labelled) for m in seen.measures}
    else:
        doubts = {m: RepeatedDoubt.of_runs(seen.values[m], systems) for m in seen.measures}
    units = experiment.units(topics)

    def drawn(measure: Measure, here: Bools) -> Doubt:
        """The doubt about some topics, by what is drawn at random."""
        doubt = doubts[measure].of_topics(here)
        return doubt if units is None else doubt.of_units(units.of_topics(here))

    tested = [
        tested_row(m, group, here, drawn(m, here), max_drop, alpha)
        for m in seen.measures
        for group, here in places.items()
    ]
    look = None if sequence is None else next_look(sequence, experiment, alpha, looks)
    corrected = corrected_rows(tested)
    rows = [decided(row, max_drop, alpha, alpha if look is None else look.level, len(tested)) for row in corrected]
    open_ = next((row for row in rows if row.outcome == "cannot tell" and row.reason == "judging"), None)
    result = Gate(
        measured=rows,
        baseline=names[0],
        candidate=names[1],
        max_drop=max_drop,
        alpha=alpha,
        topics=len(topics),
        clusters=None if units is None else len(units),
        repeated=0 if systems is None else len(systems.number),
        notes=seen.notes,
        universe=seen.universe,
        to_judge=[] if open_ is None else _to_judge(experiment, doubts, places, open_),
        judged_for=None if open_ is None else open_.measure,
        about_estimates=[] if estimates is None else calibrated_sentences(estimates, 1 - alpha),
        look=look,
        plain_failures=sum(decided(row, max_drop, alpha, alpha, len(tested)).outcome == "fails" for row in corrected),
    )
    if sequence is not None and look is not None:
        keep_look(sequence, look, result.outcome, min(row.p_drop_corrected for row in rows))
    return result


def _likely(
    seen: Observed, estimates: Estimates | None, to_depth: int | None, *, labelled: bool
) -> dict[Measure, tuple[Floats, ...]]:
    """For each measure draws [draw, topic] of the differences: the default estimate's and, without labels, those at
    the judged rates and the differences as judged."""
    if estimates is None:
        return {}
    estimated = {m: of_measure.draws[:, 1] - of_measure.draws[:, 0] for m, of_measure in estimates.by_measure.items()}
    if labelled:
        return {m: (drawn,) for m, drawn in estimated.items()}
    draws = len(next(iter(estimated.values())))
    changes = changes_at_judged_rates(seen.experiment, list(estimated), draws, to_depth)
    as_judged = {m: seen.values[m][1] - seen.values[m][0] for m in estimated}
    return {
        m: (drawn, as_judged[m] + changes[m][:, 1] - changes[m][:, 0], as_judged[m][None, :])
        for m, drawn in estimated.items()
    }


def _to_judge(
    experiment: BaseExperiment, doubts: dict[Measure, Doubt], places: dict[str, Bools], row: GateRow
) -> list[ToJudge]:
    """The documents whose judgment could change a measure's difference most, and by how much of the mean at most."""
    measure = next(m for m in doubts if m.name == row.measure)
    doubt, here = doubts[measure], places[row.group]
    used = np.flatnonzero(here[doubt.topic])
    order = used[np.argsort(-np.abs(doubt.change[used]), kind="stable")][: max(FIRST, row.needed or 0)]
    wanted = doubt.key[order]
    ids, ranks = documents_by_key(experiment.documents(), list(experiment.runs), wanted)
    (base, candidate), topics = ranks.values(), experiment.qrels.topics
    return [
        ToJudge(topics[topic], ids[key], base.get(key), candidate.get(key), change / row.topics)
        for topic, key, change in zip(
            doubt.topic[order].tolist(), wanted.tolist(), doubt.change[order].tolist(), strict=True
        )
    ]
