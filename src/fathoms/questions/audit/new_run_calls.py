"""If these runs had not been there, how surely, and how rightly, would a new run have been called better or worse?

RTC section 5 asks this of a few judged runs; here it is asked of the collection at hand. A third of the contributing
runs (whole teams) is left out, with the judgments that only they brought; the estimates then say, for each left-out run
and each other contributing run, how likely the first is better. The truth is the order of their scores under all
judgments given. Each third has its turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fathoms.base.tolerances import SAME
from fathoms.estimate.backtest import folds
from fathoms.estimate.estimates import run_estimates
from fathoms.estimate.score_draws import drawable
from fathoms.estimate.self_check import compared
from fathoms.evidence.align import Aligned
from fathoms.evidence.evidence import Bools, Floats
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.scoring import topic_scores
from fathoms.measures.base import Measure
from fathoms.questions.audit.leave_out import contributions

EDGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)  # of bins of confidence; the last holds 1 itself
SURE = 0.95
FEWEST_RUNS = 4  # that contributed: fewer leave nothing to compare with


@dataclass(frozen=True)
class Calls:
    """Pairs with a left-out run that were called with about the same confidence."""

    measure: str
    low: float  # confidence from here
    high: float
    pairs: int
    confidence: float  # mean
    right: int  # pairs that all judgments order as they were called


def new_run_calls(
    experiment: BaseExperiment,
    aligned: Mapping[str, Aligned],
    contributing: Sequence[str],
    measures: Sequence[Measure],
    depth: int,
) -> list[Calls]:
    """By measure and bin of confidence, the surest bin last; empty where too few runs contributed."""
    experiment.needs_an_order("audit with new runs")
    drawn = [measure for measure in measures if drawable(measure)]
    if len(contributing) < FEWEST_RUNS or not drawn:
        return []
    options = experiment.options
    names = [name for name in experiment.by_content() if name in set(contributing)]
    teams = [(experiment.groups or {}).get(name, name) for name in names]
    runs = {name: experiment.run(name) for name in names}
    truth = {
        m: compared(m, np.stack([topic_scores(aligned[n].evidence, m, options.ties) for n in names])) for m in drawn
    }
    confidences: dict[Measure, list[Floats]] = {m: [] for m in drawn}
    right: dict[Measure, list[Bools]] = {m: [] for m in drawn}
    for left in folds(np.ones(len(names), dtype=bool), teams, options.seed):
        qrels = experiment.qrels.keep(_kept(experiment, aligned, names, left, depth))
        if not (qrels.grades > 0).any():
            continue
        reading: dict[str, Any] = {
            "pooled": [name for name, gone in zip(names, left.tolist(), strict=True) if not gone],
            "ties": options.ties,
            "score_precision": options.precision,
            "workers": options.workers,
            "seed": options.seed,
            "topics": "all",
        }
        estimates = run_estimates(BaseExperiment(qrels, runs, **reading), drawn)
        order = [estimates.runs.index(name) for name in names]
        a, b = _pairs(left)
        for measure in drawn:
            means = compared(measure, estimates[measure].draws[:, order])
            difference, true = means[:, a] - means[:, b], truth[measure][a] - truth[measure][b]
            better = (difference > SAME).mean(axis=0) + 0.5 * (np.abs(difference) <= SAME).mean(axis=0)
            decided = np.abs(true) > SAME
            confidences[measure].append(np.maximum(better, 1 - better)[decided])
            right[measure].append(((better > 0.5) == (true > 0))[decided])
    return [
        calls
        for m in drawn
        if confidences[m]
        for calls in binned(m.name, np.concatenate(confidences[m]), np.concatenate(right[m]))
    ]


def _kept(
    experiment: BaseExperiment, aligned: Mapping[str, Aligned], names: Sequence[str], left: Bools, depth: int
) -> Bools:
    """The judgments without those that only left-out runs brought to the pool."""
    units = {
        unit: [name for name, gone in zip(names, left.tolist(), strict=True) if gone == (unit == "left")]
        for unit in ("left", "others")
    }
    return ~contributions(aligned, units, depth, len(experiment.qrels)).of("left")


def _pairs(left: Bools) -> tuple[Any, Any]:
    """Each pair once of which the first, at least, was left out."""
    a, b = np.triu_indices(len(left), 1)
    some = left[a] | left[b]
    a, b = a[some], b[some]
    return np.where(left[a], a, b), np.where(left[a], b, a)


def binned(measure: str, confidence: Floats, right: Bools) -> list[Calls]:
    """
    >>> import numpy as np
    >>> [(c.low, c.pairs, c.right) for c in binned("AP", np.array([0.5, 0.96, 1.0]), np.array([True, False, True]))]
    [(0.5, 1, 1), (0.95, 2, 1)]
    """
    number = np.clip(np.searchsorted(EDGES, confidence, side="right") - 1, 0, len(EDGES) - 2)
    return [
        Calls(
            measure,
            EDGES[i],
            EDGES[i + 1],
            int((number == i).sum()),
            float(confidence[number == i].mean()),
            int(right[number == i].sum()),
        )
        for i in range(len(EDGES) - 1)
        if (number == i).any()
    ]
