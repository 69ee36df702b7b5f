"""Stratified pooling, which the gain paper's section 5 plans to explore: "only a subset of documents within the pool
depth are judged".

Our reading has two strata by rank and costs what a pool of depth d' does. All documents that a contributing run has in
its first d'/2 are judged. Of those that first appear below, down to the full depth d, a random sample is judged: in
each topic as many as the pool of depth d' has beyond d'/2. A sampled document stands for those of its stratum that are
not judged, so curves are fitted to gains in which it weighs as many, at all ranks down to d.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import ratio
from fathoms.data.qrels import PADDING, Qrels
from fathoms.estimate.gain_models import CurveFit, HybridFit, fit_model
from fathoms.evidence.align import Aligned
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.evidence.pool import with_judgments
from fathoms.measures.base import Measure
from fathoms.papers.bench import Bench

SAMPLES = 5
STRATIFIED = ("linear", "weibull")
SAMPLE_LINE = "sample_line"  # a line fitted to sampled documents alone


@dataclass(frozen=True, eq=False)
class Strata:
    """Which judgments are made, and how many documents of its stratum each stands for."""

    weights: Floats  # one a judgment; 0: not made
    sampled: Bools  # one a judgment: in the second stratum, and made

    counts: Ints  # made, by topic and level

    @property
    def made(self) -> Bools:
        return self.weights > 0


def draw_strata(
    qrels: Qrels, depths: NDArray[np.int32], in_pool: Bools, depth: int, rng: np.random.Generator
) -> Strata:
    topic = qrels.topic
    first = in_pool & (depths <= depth // 2)
    second = np.flatnonzero(in_pool & ~first)
    n_topics = len(qrels.topics)
    sizes = np.bincount(topic[second], minlength=n_topics)
    budget = np.bincount(topic[second][depths[second] <= depth], minlength=n_topics)
    sample_sizes = np.maximum(budget, np.minimum(sizes, 1))  # one at least, or nothing would be known of the stratum
    shuffled = rng.permutation(second)
    by_topic = shuffled[np.argsort(topic[shuffled], kind="stable")]
    place = np.arange(len(second)) - (np.cumsum(sizes) - sizes)[topic[by_topic]]
    drawn = by_topic[place < sample_sizes[topic[by_topic]]]
    weights = first.astype(np.float64)
    weights[drawn] = (sizes / np.maximum(sample_sizes, 1))[topic[drawn]]
    sampled = np.zeros(len(topic), dtype=bool)
    sampled[drawn] = True
    return Strata(weights, sampled, qrels.count(weights > 0))


def stratified_gains(bench: Bench, strata: Strata, depth: int) -> tuple[Floats, Floats]:
    """g_i of each topic at ranks 1..depth, and how many documents stand behind it, by their weights.

    A run that ends above a rank has gain 0 there.
    """
    return _mean_gains(bench, strata.weights, depth, ended=1.0)


def second_stratum_gains(bench: Bench, strata: Strata, depth: int) -> tuple[Floats, Floats]:
    """The same of the sampled documents alone, which are like those still unjudged."""
    return _mean_gains(bench, np.where(strata.sampled, strata.weights, 0.0), depth, ended=0.0)


def _mean_gains(bench: Bench, weights: Floats, depth: int, ended: float) -> tuple[Floats, Floats]:
    relevant = bench.qrels.grades >= 1
    total = np.zeros((len(bench.qrels.topics), depth))
    behind = np.zeros_like(total)
    for aligned in bench.contributing.values():
        judgment, codes = _places(aligned, depth)
        weight = np.where(judgment >= 0, weights[judgment], 0.0)
        total += weight * relevant[judgment]
        behind += np.where(codes == PADDING, ended, weight)
    return ratio(total, behind), behind


def _places(aligned: Aligned, depth: int) -> tuple[Ints, Ints]:
    """Judgment (-1: none) and code of each place, [topic, rank]."""
    if aligned.judgment is None:
        raise ValueError("align with trace=True first")
    codes = aligned.evidence.padded(depth).codes[:, :depth].astype(np.int64)
    judgment = aligned.judgment[:, :depth].astype(np.int64)
    missing = codes.shape[1] - judgment.shape[1]
    return np.pad(judgment, ((0, 0), (0, missing)), constant_values=-1), codes


def stratified_fits(bench: Bench, strata: Strata, depth: int) -> dict[str, CurveFit | HybridFit]:
    gains, behind = stratified_gains(bench, strata, depth)
    known = (behind > 0).astype(np.float64)
    fits = {name: fit_model(name, gains, weights=known) for name in STRATIFIED}
    sample_gains, behind = second_stratum_gains(bench, strata, depth)
    # A Weibull curve has no height that a computer holds where its first ranks are not known.
    fits[SAMPLE_LINE] = fit_model("linear", sample_gains, weights=(behind > 0).astype(np.float64))
    return fits


def estimates(
    bench: Bench, aligned: Aligned, strata: Strata, fits: Mapping[str, CurveFit | HybridFit], measure: Measure, d: int
) -> dict[str, Floats]:
    """A run's score of each topic by each curve, from the judgments made."""
    evidence = with_judgments(aligned, bench.qrels, strata.made, strata.counts).cut(d)
    ranks = np.arange(1.0, evidence.width + 1)
    return {name: measure.predicted(evidence, fit.predict(ranks)) for name, fit in fits.items()}
