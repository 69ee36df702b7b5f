"""How far off is an estimate from a random sample, and which way? Halves of the sample say it.

Half of a sample is a sample too, at half the rate. Whatever an estimate owes to single judgments in proportion falls
out between the two halves' mean and the whole: what is left is how the bias grows as judgments get fewer, and so what
it is at the rate at hand (half-sample jackknife; Quenouille 1956, McCarthy 1969). That holds for every measure,
whatever the model is. How far the two halves lie apart is what chance alone makes of the estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fathoms.estimate.documents import Documents
from fathoms.evidence.evidence import Floats, Ints

SPLITS = 3
PRIOR_SPLITS, PRIOR_SPLITS_APART = 3.0, 1.0  # that the draws' own width counts for
# What sets runs apart is shrunk too, in halves as in the whole, so that halves do not show all of it: so many times as
# wide intervals of differences covered on half of the topics and runs of dl20-passage.
APART = 1.35
UNSURE = 0.7  # of a bias that was found: its own error
DRAWS = 40  # of each half
POWER = 0.6  # bias goes with (1 / rate - 1) to this power, as on half of the topics and runs of dl20-passage


@dataclass(frozen=True, eq=False)
class SamplePart:
    """A sample, or half of one."""

    known: Ints  # rows of the documents
    open: Ints
    elsewhere: Ints  # [topic, level]: judged documents that no run has
    rate: float  # at which they were drawn


def halves(documents: Documents, elsewhere: Ints, rate: float, seed: int) -> list[SamplePart]:
    """Two by two that together are the whole; of each topic half of what is judged."""
    judged = documents.judged
    rows = np.flatnonzero(judged)
    parts = []
    for split in range(SPLITS):
        rng = np.random.default_rng((seed, len(rows), split))
        order = rows[np.lexsort((rng.random(len(rows)), documents.topic[rows]))]
        first = (np.arange(len(order)) + split) % 2 == 0  # in turn, within topics
        some = rng.binomial(elsewhere, 0.5)
        for chosen, counts in ((order[first], some), (order[~first], elsewhere - some)):
            known = np.sort(chosen)
            left = np.ones(len(documents), dtype=bool)
            left[known] = False
            parts.append(SamplePart(known, np.flatnonzero(left), counts, rate / 2))
    return parts


def bias(whole: Floats, of_halves: Floats, rate: float) -> Floats:
    """The bias of estimated means, [run], from the same of the halves, [split, half, run].

    What all runs share, and what sets each apart, counts as far as it is larger than the splits' own disagreement
    (James and Stein's factor).
    """
    grows = ((2 - rate) / (1 - rate)) ** POWER - 1
    found = (of_halves.mean(axis=1) - whole) / grows
    common = found.mean(axis=1, keepdims=True)
    return np.asarray(_shrunk(common) + _shrunk(found - common))


def _shrunk(found: Floats) -> Floats:
    """The mean over splits [split, ...], less what chance alone would make of it."""
    mean = found.mean(axis=0)
    chance = float((found.var(axis=0, ddof=1) / len(found)).mean())
    size = float((mean**2).mean())
    return np.asarray(mean * max(0.0, 1 - chance / size)) if size > 0 else mean


def widening(draws: Floats, of_halves: Floats, rate: float, off: float = 0.0) -> tuple[float, float]:
    """By how much draws of means [draw, run] are too narrow: what all runs share, and what sets them apart. The halves
    [split, half, run] of a split differ by four times the variance of the whole, were that not of a finite
    population. `off` is a bias of all runs that is about as large as its own error."""
    apart = of_halves[:, 0] - of_halves[:, 1]
    common, drawn = apart.mean(axis=1, keepdims=True), draws.mean(axis=1, keepdims=True)
    seen = [(1 - rate) / 4 * (part**2).mean() for part in (common, apart - common)]
    thought = [part.var(axis=0).mean() for part in (drawn, draws - drawn)]
    weights = [len(apart) / (len(apart) + prior) for prior in (PRIOR_SPLITS, PRIOR_SPLITS_APART)]
    squares = [
        max(1.0, 1 + weight * (float(x) / float(y) - 1)) if y > 0 else 1.0
        for weight, x, y in zip(weights, seen, thought, strict=True)
    ]
    if thought[0] > 0:
        squares[0] += (UNSURE * off) ** 2 / float(thought[0])
    return float(np.sqrt(squares[0])), APART * float(np.sqrt(squares[1]))


def moved(draws: Floats, shift: Floats, wider: tuple[float, float]) -> Floats:
    """Draws [draw, run, topic] whose means over topics are moved by a shift [run], a topic by as much as its scores
    are unsure, and made wider."""
    spread = draws.std(axis=0)
    total = spread.mean(axis=-1, keepdims=True)
    share = np.divide(spread, total, out=np.zeros_like(spread), where=total > 0)
    means = draws.mean(axis=-1)
    away = means - means.mean(axis=0)
    common = away.mean(axis=1, keepdims=True)
    more = (wider[0] - 1) * common + (wider[1] - 1) * (away - common)
    return np.asarray(draws + share * (shift + more)[:, :, None])
