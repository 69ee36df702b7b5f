"""Estimates from a shallower pool, against what the whole pool then said: a check that any collection allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fathoms.evidence.evidence import Floats
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.pooling import run_pool
from fathoms.experiment.run_scores import score_runs
from fathoms.measures.base import Measure


@dataclass(frozen=True, eq=False)
class ShallowerPool:
    """The contributing runs with the judgments of a shallower pool, and their scores under those of the whole one,
    which leave nothing of these runs unjudged down to its depth."""

    experiment: BaseExperiment
    depth: int
    whole_depth: int
    runs: list[str]
    topics: list[str]
    truth: dict[str, Floats]  # [run, topic], by measure


def shallower_pool(experiment: BaseExperiment, measures: Sequence[Measure], depth: int) -> ShallowerPool | None:
    """None if no pool can be told, or a pool of that depth has no relevant document."""
    pool = experiment.pool_assumed()
    if not pool.known or depth < 1:
        return None
    judged = run_pool(experiment, depth=depth).qrels
    if judged is None or not judged.counts[:, 1:].any():
        return None
    whole = run_pool(experiment, depth=pool.depth).qrels
    options, runs = experiment.options, {name: experiment.run(name) for name in pool.names}
    reading: dict[str, Any] = {
        "pooled": pool.names,
        "ties": options.ties,
        "score_precision": options.precision,
        "workers": options.workers,
        "seed": options.seed,
    }
    deep = score_runs(BaseExperiment(whole, runs, **reading), measures, scores_only=True).runs
    return ShallowerPool(
        BaseExperiment(judged, runs, **reading),
        depth,
        pool.depth,
        [run.run for run in deep],
        list(deep[0].topics),
        {m.name: np.stack([run.scores[m].score for run in deep]) for m in measures},
    )
