"""Judging less where the pool is deep: future work of Yang, Moffat and Turpin (section 5).

"It may be that the pooled documents can be stratified according to the groups they appear in, and less emphasis placed
on judgment quality for deeper pools." Our reading: a document's group is the band of its least depth in the runs. The
first bands are judged whole, and of each deeper one in each topic a random share. Scores are estimated from the sample
by its design, as `fathoms predict --sampled` does, and held against those of all judgments.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from fathoms.data.qrels import Qrels
from fathoms.data.runs import Runs
from fathoms.estimate.design import SamplingDesign
from fathoms.evidence.banding import band_starts, bands
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.evidence.pool import NEVER, judged_depths
from fathoms.experiment.base import BaseExperiment
from fathoms.inference.correlation import correlation
from fathoms.inference.significance import paired_t, pairs
from fathoms.measures.parse import parse_measure
from fathoms.questions.predict.sampled_prediction import sampled_prediction

JUDGED_WHOLE = 10  # bands that start in the first ranks, so many, are judged whole
AT_LEAST = 2  # documents of a topic's band are drawn, for a spread to be seen


def strata(qrels: Qrels, experiment: BaseExperiment, rho: Fraction) -> tuple[Ints, Ints]:
    """The band of each judged document's least depth, and which bands are judged whole; a last one has what no run
    retrieved."""
    depth = judged_depths((experiment.ranked(name) for name in experiment.runs), qrels)
    reached = depth < NEVER
    deepest = int(depth[reached].max(initial=1))
    band = bands(rho, deepest)
    stratum = np.where(reached, band[np.where(reached, depth, 1) - 1], band[-1] + 1)
    whole = np.flatnonzero(np.array(band_starts(rho, JUDGED_WHOLE)[:-1]) <= JUDGED_WHOLE) + 1
    return stratum, whole


def drawn(topic: Ints, stratum: Ints, whole: Ints, share: float, rng: np.random.Generator) -> Bools:
    """A random share of each topic's stratum, all of those judged whole."""
    cell = topic * (int(stratum.max(initial=0)) + 1) + stratum
    size = np.bincount(cell)
    wanted = np.minimum(size, np.maximum(AT_LEAST, np.round(share * size).astype(np.int64)))
    order = np.lexsort((rng.random(len(cell)), cell))
    place = np.empty(len(cell), dtype=np.int64)
    place[order] = np.arange(len(cell)) - (np.cumsum(size) - size)[cell[order]]
    return np.isin(stratum, whole) | (place < wanted[cell])


def stratified_rows(
    qrels: Qrels,
    runs: Runs,
    systems: Sequence[str],
    rho: Fraction,
    shares: Sequence[float],
    full: Floats,
    alpha: float,
    how: dict[str, Any],
) -> list[tuple[Any, ...]]:
    """For each share: the judgments it takes, and how AP [system, topic] estimated from them agrees with `full`."""
    qrels = qrels.keep(qrels.grades >= 0)
    stratum, whole = strata(qrels, BaseExperiment(qrels, runs, **how), rho)
    measure = parse_measure("AP")
    before = pairs(paired_t(full)) <= alpha
    rows = []
    for number, share in enumerate(shares):
        sampled = drawn(qrels.topic.astype(np.int64), stratum, whole, share, np.random.default_rng(number))
        design = SamplingDesign(
            qrels.topics,
            qrels.topic,
            qrels.documents,
            stratum.astype(np.int32),
            [str(band) for band in range(int(stratum.max()) + 1)],
            sampled=sampled,
        )
        experiment = BaseExperiment(qrels.keep(sampled), runs.only(systems), **how)
        prediction = sampled_prediction(experiment, [measure], design)
        place = {name: i for i, name in enumerate(prediction.sample.candidates.names)}
        of_topic = {topic: i for i, topic in enumerate(prediction.sample.candidates.topics)}
        estimate = prediction.by_method[0].value[
            np.ix_([place[s] for s in systems], [of_topic[t] for t in qrels.topics])
        ]
        means, full_means = estimate.mean(axis=1), full.mean(axis=1)
        now = pairs(paired_t(estimate)) <= alpha
        rows.append(
            (
                share,
                int(sampled.sum()),
                100 * (1 - float(sampled.mean())),
                correlation(means, full_means, "rmse"),
                correlation(means, full_means),
                *(100 * float(flags.mean()) for flags in (now, now & ~before, before & ~now)),
            )
        )
    return rows
