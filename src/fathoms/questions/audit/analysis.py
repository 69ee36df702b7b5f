"""Can a collection be trusted, and reused for systems that did not contribute to its pool? What `fathoms audit` does.

The checks are those of Lu, Moffat and Culpepper, "The Effect of Pooling and Evaluation Depth on IR Metrics"
(LMC-depth): how fast pooling finds relevant documents (Fig. 1), what it leaves unjudged (Table 4), how a system would
fare if it, or its whole team, had not contributed (Table 5), and the guidelines of section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.evidence.align import Aligned, Ranked
from fathoms.evidence.evidence import Bools
from fathoms.evidence.pool import judged_depths, with_judgments
from fathoms.experiment.base import BaseExperiment
from fathoms.measures.base import Measure
from fathoms.questions.audit.findings import LeftOut, found_by_depth, judged_shares, pooling_outcomes
from fathoms.questions.audit.guidelines import Guide, listed
from fathoms.questions.audit.leave_out import contributions, judgments_used, leave_out
from fathoms.questions.audit.new_run_calls import new_run_calls
from fathoms.questions.audit.result import Audit

MEASURES = ("AP(variant=b)@{d}", "nDCG@{d}", "RBP(p=0.8)@{d}", "RBP(p=0.95)@{d}")  # those of Table 5, with k = d


def run_audit(
    experiment: BaseExperiment,
    measures: Sequence[Any] | Any | None = None,
    *,
    depth: int | None = None,
    new_runs: bool = False,
    progress: Callable[[str], None] = lambda run: None,
) -> Audit:
    """Audit a collection. Each run is read once and stays in memory, aligned with the judgments.

    Without `depth` the pool is as deep as the contributing runs are judged. A smaller `depth` asks what a shallower
    pool would have been worth, and uses only its judgments; otherwise all judgments count.
    """
    prepared = None if measures is None else experiment.measures(measures)
    qrels, options = experiment.qrels, experiment.options
    for measure in prepared or ():
        if measure.needs_pool:
            raise FathomsError(
                f"{measure.name} takes R or its ideal from the pool of depth k, which is another one for each run left "
                "out; audit a variant that uses all judgments"
            )
    aligned, in_file_order, align_notes = _align_all(experiment, progress)
    notes = [*experiment.topic_notes(), *qrels.notes, *align_notes]
    pool = experiment.pool_assumed()
    if options.pooled is None:
        notes.append(pool.sentence)
    if depth is None and not pool.known:
        raise FathomsError(
            "the contributing runs are not judged through their first rank, so the pool has no depth to measure; "
            "name them (--pooled FILE) or the depth (--depth D)"
        )
    contributing, d = pool.names, depth or pool.depth
    chosen = prepared or experiment.measures([name.format(d=d) for name in MEASURES])
    pooled = [aligned[name] for name in contributing]
    depths = judged_depths(pooled, qrels)
    in_pool = depths <= d
    kept = judgments_used(depths, depth, pool)
    relevant, steps = found_by_depth(qrels, depths, d)
    teams = _teams(contributing, experiment.groups, notes)
    alone = {name: [name] for name in contributing}
    left = {
        kind: _left_out(experiment, aligned, kept, kind, units, chosen, d, notes)
        for kind, units in (("run", alone), ("group", teams))
    }
    counts = qrels.count(kept)
    evidence = {name: with_judgments(in_order, qrels, kept, counts) for name, in_order in aligned.items()}
    filed = evidence | {name: with_judgments(in_order, qrels, kept, counts) for name, in_order in in_file_order.items()}
    guide = Guide(chosen, prepared is not None, d, evidence, filed, contributing, options.pooled is None, options.ties)
    return Audit(
        qrels=qrels,
        measures=chosen,
        depth=d,
        depth_asked=depth is not None,
        assumed=options.pooled is None,
        pool_said=pool.sentence,
        pool_known=pool.known,
        pool_sure=pool.sure,
        contributing=contributing,
        others=guide.others,
        groups=teams,
        in_pool=int((in_pool & (qrels.grades >= 0)).sum()),
        used=int((kept & (qrels.grades >= 0)).sum()),
        judged=guide.judged,
        relevant=relevant,
        steps=steps,
        pooling=pooling_outcomes(qrels, pooled, depths, [*([10] if d > 10 else []), d]),
        run_out=left["run"],
        group_out=left["group"],
        shares={name: judged_shares(of_run) for name, of_run in evidence.items()},
        extended=guide.extended,
        guidelines=guide.all(),
        calls=new_run_calls(experiment, aligned, contributing, chosen, d) if new_runs else [],
        notes=notes,
    )


def _left_out(
    experiment: BaseExperiment,
    aligned: Mapping[str, Aligned],
    kept: Bools,
    kind: str,
    units: Mapping[str, Sequence[str]],
    measures: list[Measure],
    depth: int,
    notes: list[str],
) -> list[LeftOut]:
    """How each run would fare if it, or its whole team, had not contributed."""
    if len(units) == 1:
        notes.append(f"only one {kind} contributed to the pool, so without it there is none: no {kind} is left out")
        units = {}
    qrels, options = experiment.qrels, experiment.options
    brought = contributions(aligned, units, depth, len(qrels))
    return leave_out(
        qrels,
        kept,
        aligned,
        brought,
        units,
        measures,
        options.ties,
        workers=options.workers,
        scheduler=options.scheduler,
    )


def _align_all(
    experiment: BaseExperiment, progress: Callable[[str], None]
) -> tuple[dict[str, Aligned], dict[str, Aligned], list[str]]:
    """Every run in the order asked for; the runs that file order would rank differently, in that order; and notes on
    the files."""
    experiment.prepare()
    run_notes: list[str] = []
    align = experiment.alignment([], run_notes, trace=True)

    def aligned_run(ranked: Ranked) -> tuple[list[str], Aligned, Aligned | None]:
        in_file_order = experiment.reranked(ranked, "run")
        same = np.array_equal(in_file_order.judgment, ranked.judgment)
        return ranked.run.notes, experiment.aligned(ranked, align), None if same else align.of(in_file_order)

    by_run = dict(zip(experiment.runs, experiment.map_ranked(aligned_run, progress=progress), strict=True))
    run_notes += [note for notes, _, _ in by_run.values() for note in notes]
    return (
        {name: in_requested_order for name, (_, in_requested_order, _) in by_run.items()},
        {name: filed for name, (_, _, filed) in by_run.items() if filed is not None},
        run_notes,
    )


def _teams(contributing: Sequence[str], groups: Mapping[str, str] | None, notes: list[str]) -> dict[str, list[str]]:
    """Contributing runs by team; a run whose team is not known is a team of its own."""
    if groups is None:
        return {}
    teams: dict[str, list[str]] = {}
    unknown = [name for name in contributing if name not in groups]
    for name in contributing:
        teams.setdefault(groups.get(name, f"{name} (no group)"), []).append(name)
    if unknown:
        notes.append(f"{len(unknown)} of {len(contributing)} contributing runs have no group: {listed(unknown)}")
    return teams
