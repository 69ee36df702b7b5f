"""One measure at many depths in one pass."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fathoms.data.qrels import read_qrels
from fathoms.data.runs import scan_runs
from fathoms.errors import FathomsError, FathomsWarning
from fathoms.evidence.evidence import Evidence, Floats
from fathoms.evidence.order import Precision, Ties
from fathoms.experiment.evaluate import Options, alignment
from fathoms.measures.base import Measure
from fathoms.measures.parse import parse_measure
from fathoms.parallel import parallel_map

if TYPE_CHECKING:
    import polars as pl


def depth_scores(measure: Measure, evidence: Evidence, depths: Sequence[int]) -> Floats:
    """Scores of every topic (rows) at every depth (columns)."""
    return np.concatenate([measure.at_depths(chunk, depths) for chunk in evidence.chunks()])


def evaluate_depths(
    qrels: Any,
    runs: Any,
    measure: Any,
    depths: Sequence[int],
    *,
    by_topic: bool = False,
    ties: Ties = "trec",
    score_precision: Precision | None = None,
    pooled: Sequence[str] | None = None,
    lenient: bool = False,
    junk: float | None = None,
    workers: int = 2,
    scheduler: str | None = None,
) -> pl.DataFrame:
    """Scores of one measure, given without cut-off, at many depths: columns run, topic, measure, depth, score.

    >>> import fathoms as fm
    >>> fm.evaluate_depths({"1": {"a": 1}}, {"1": {"x": 2.0, "a": 1.0}}, "RR", [1, 2])["score"].to_list()
    [0.0, 0.5]
    """
    import polars as pl

    depths = [int(depth) for depth in depths]
    if not depths or min(depths) < 1:
        raise FathomsError(f"depths must be whole numbers from 1 on, found {list(depths)}")
    text = str(measure).partition("@")[0]
    # Some measures need a cut-off to exist at all; here the depths are it.
    prepared = parse_measure(f"{text}@{max(depths)}")
    judgments = read_qrels(qrels, lenient=lenient, junk=junk)
    given = scan_runs(runs, lenient=lenient)
    options = Options(ties, score_precision, pooled=None if pooled is None else tuple(pooled))
    notes = list(judgments.notes)
    align = alignment(judgments, given, [prepared], options, notes)
    for note in notes:
        warnings.warn(note, FathomsWarning, stacklevel=2)
    parts = []
    found = parallel_map(
        lambda run: depth_scores(prepared, align(given[run]).evidence, depths),
        given,
        workers=workers,
        scheduler=scheduler,
    )
    for run, scores in zip(given, found, strict=True):
        topics = [*judgments.topics, "all"] if by_topic else ["all"]
        rows = np.vstack([scores, scores.mean(axis=0)]) if by_topic else scores.mean(axis=0)[None, :]
        parts.append(
            pl.DataFrame(
                {
                    "run": run,
                    "topic": np.repeat(topics, len(depths)),
                    "measure": prepared.name.partition("@")[0],
                    "depth": np.tile(depths, len(topics)),
                    "score": rows.ravel(),
                }
            )
        )
    return pl.concat(parts)
