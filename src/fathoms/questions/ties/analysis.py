"""Who has ties and contradictions, and what could they change? What `fathoms ties` does.

The counts, the limits and the question are those of Yang, Moffat and Turpin, "How Precise Does Document Scoring Need to
Be?" (YMT-ties), sections 2 and 3.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fathoms.base import choices
from fathoms.base.errors import FathomsError
from fathoms.base.files import check_folder, whole_file
from fathoms.data.runs import scan_runs
from fathoms.evidence.align import Aligned
from fathoms.evidence.order import Precision, Ties, canonical, default_precision
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.scoring import score_all
from fathoms.experiment.topics import topic_notes
from fathoms.measures.base import Measure
from fathoms.questions.ties.anomalies import Anomalies, anomalies
from fathoms.questions.ties.effects import COLUMNS, Means, TieReport, means_of


def run_tie_analysis(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    *,
    depth: int | None = None,
    progress: Callable[[str], None] = lambda run: None,
) -> TieReport:
    """Look at each run on its own, a few at a time; `depth` defaults to the deepest cut-off, or 10.

    Other rules are compared with trec_eval's, whatever the experiment's is.
    """
    measures, qrels, options = list(measures), experiment.qrels, experiment.options
    if depth is None:
        depth = max((int(m.k) for m in measures if m.k is not None and m.cutoff != "recall"), default=10)
    experiment.prepare()
    notes = list(qrels.notes)
    align = replace(experiment.alignment(measures, notes), ties="trec")
    in_order = options.ties == "trec"  # the experiment's own rule, whose evidence and scores can be reused

    def analysed(name: str) -> tuple[Anomalies, dict[Measure, dict[str, float]], Aligned, list[str]]:
        ranked = experiment.reranked(experiment.ranked(name), "trec")
        run_anomalies = anomalies(ranked.run, options.precision or "float64", depth)
        aligned = experiment.aligned(ranked, align) if in_order else align.of(ranked)
        known = experiment.known_scores(name, measures) if in_order else None
        scores = known or score_all(aligned.evidence, measures, "trec")
        means = means_of(ranked, align, aligned.evidence, scores)
        without = replace(aligned, evidence=aligned.evidence.select([]))  # only the names are still needed
        return run_anomalies, means, without, ranked.run.notes

    results = experiment.map(analysed, progress=progress)
    notes += [note for _, _, _, of_run in results for note in of_run]
    known = [aligned for _, _, aligned, _ in results]
    notes = [*topic_notes(known, qrels, "all", lenient=experiment.lenient), *notes]
    return TieReport(
        measures,
        [run_anomalies for run_anomalies, _, _, _ in results],
        {
            m: Means({name: np.array([means[m][name] for _, means, _, _ in results]) for name in COLUMNS})
            for m in measures
        },
        depth,
        notes,
    )


def fix_runs(
    runs: Any,
    folder: str | os.PathLike[str],
    ties: Ties = "trec",
    precision: Precision | None = None,
    *,
    keep: Sequence[str | os.PathLike[str]] = (),
) -> list[Path]:
    """Write each run as `folder/<name>.run` in the policy's order, with ranks and scores that leave no choice.

    A file that a run was read from, or that `keep` names, is never overwritten.
    """
    choices.an_order(ties, "ties --fix")
    check_folder(folder)
    given = scan_runs(runs)
    targets = {name: Path(folder) / f"{name.replace(os.sep, '_')}.run" for name in given}
    if len(set(targets.values())) < len(targets):
        raise FathomsError("two of the runs would be written to the same file; give them names that differ")
    if any(target.exists() for target in targets.values()):
        sources = {os.path.realpath(path) for path in (*keep, *(given[name].source for name in given))}
        for target in targets.values():
            if os.path.realpath(target) in sources:
                raise FathomsError(f"{target} is one of the files that were read; choose another folder to write to")
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, target in targets.items():
        text = canonical(given[name], ties, precision or default_precision(ties)).to_bytes()
        with whole_file(target) as path:
            path.write_bytes(text)
    return list(targets.values())
