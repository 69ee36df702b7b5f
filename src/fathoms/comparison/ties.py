"""Who has ties and contradictions, and what could they change? What `fathoms ties` does.

The counts, the limits and the question are those of Yang, Moffat and Turpin, "How Precise Does Document Scoring Need to
Be?" (YMT-ties), sections 2 and 3.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fathoms.comparison.tie_anomalies import Anomalies, anomalies
from fathoms.comparison.tie_effects import COLUMNS, Means, TieReport, means_of
from fathoms.data.files import check_folder, whole_file
from fathoms.data.qrels import Qrels, read_qrels
from fathoms.data.runs import Names, Runs, scan_runs
from fathoms.errors import FathomsError, FathomsWarning
from fathoms.evidence.align import Aligned
from fathoms.evidence.order import (
    Precision,
    Ties,
    canonical,
    default_precision,
)
from fathoms.experiment.evaluate import (
    DEFAULT_MEASURES,
    Options,
    alignment,
    prepare_measures,
    topic_notes,
)
from fathoms.measures.base import Measure
from fathoms.parallel import parallel_map

if TYPE_CHECKING:
    pass


def tie_analysis(
    qrels: Qrels,
    runs: Runs,
    measures: list[Measure],
    options: Options,
    *,
    depth: int | None = None,
    progress: Callable[[str], None] = lambda run: None,
) -> TieReport:
    """Look at each run on its own, a few at a time; `depth` defaults to the deepest cut-off, or 10."""
    if not runs:
        raise FathomsError("no run given")
    options = replace(options, ties="trec")
    if depth is None:
        depth = max((int(m.k) for m in measures if m.k is not None and m.cutoff != "recall"), default=10)
    notes = list(qrels.notes)
    align = alignment(qrels, runs, measures, options, notes)

    def one(name: str) -> tuple[Anomalies, dict[Measure, dict[str, float]], Aligned, list[str]]:
        run = runs[name]
        found = anomalies(run, options.precision or "float64", depth)
        aligned = align(run)
        means = means_of(run, align, aligned.evidence, measures)
        without = replace(aligned, evidence=aligned.evidence.select([]))  # the names are all that is still needed
        return found, means, without, run.notes

    results = parallel_map(one, runs, workers=options.workers, scheduler=options.scheduler, progress=progress)
    notes += [note for _, _, _, of_run in results for note in of_run]
    notes += topic_notes([aligned for _, _, aligned, _ in results], qrels, options)
    return TieReport(
        measures,
        [found for found, _, _, _ in results],
        {
            m: Means({name: np.array([means[m][name] for _, means, _, _ in results]) for name in COLUMNS})
            for m in measures
        },
        depth,
        notes,
    )


def ties(
    qrels: Any,
    runs: Any,
    measures: Sequence[Any] | Any = DEFAULT_MEASURES,
    *,
    depth: int | None = None,
    score_precision: Precision | None = None,
    universe: str | float | None = None,
    pooled: Sequence[str] | None = None,
    lenient: bool = False,
    junk: float | None = None,
    names: Names = "file",
    workers: int = 2,
    scheduler: str | None = None,
    seed: int = 0,
) -> TieReport:
    """Who has ties and contradictions, and what they could change.

    The report has four polars frames: `anomalies` of each run, `scores` under each rule and at the limits, `pairs` of
    runs and whether the rule decides who is ahead, and the `places` each run takes and could take.

    >>> import fathoms as fm
    >>> report = fm.ties({"1": {"a": 1, "b": 0}}, {"1": {"a": 1.0, "b": 1.0}}, "RR")
    >>> report.scores.select("trec", "expected", "pessimistic", "optimistic").row(0)
    (0.5, 0.75, 0.5, 1.0)
    """
    report = tie_analysis(
        read_qrels(qrels, lenient=lenient, junk=junk),
        scan_runs(runs, names=names, lenient=lenient),
        prepare_measures(measures, universe=universe),
        Options("trec", score_precision, "all", None if pooled is None else tuple(pooled), workers, seed, scheduler),
        depth=depth,
    )
    for note in report.notes:
        warnings.warn(note, FathomsWarning, stacklevel=2)
    return report


def fix_runs(
    runs: Any,
    folder: str | os.PathLike[str],
    ties: Ties = "trec",
    precision: Precision | None = None,
    *,
    keep: Sequence[str | os.PathLike[str]] = (),
) -> list[Path]:
    """Write each run as `folder/<name>.run` in the policy's order, with ranks and scores that leave no choice.

    No file that a run was read from, or that `keep` names, is written on.
    """
    if ties == "expected":
        raise FathomsError("`expected` is a mean over orders and no order; choose trec, run, rank or score-rank")
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
