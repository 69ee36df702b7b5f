"""What geometric bands can cost a score at worst, and what they cost it on average (YMT-ties section 4)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from fathoms.errors import FathomsError
from fathoms.evidence.banding import band_starts, banded, safe_depth
from fathoms.evidence.evidence import Evidence, Floats
from fathoms.measures.base import Measure
from fathoms.measures.rbp import RBP
from fathoms.measures.rr import RR
from fathoms.measures.weighted import Weighted

REST = 1e-12  # weight below which the places that follow are left out
MOST_PLACES = 10_000_000
FINEST = 1000  # values of rho to a unit in `largest_rho`
LARGEST = 10  # at which `largest_rho` stops looking


def banded_score(measure: Measure, evidence: Evidence, rho: Fraction) -> Floats:
    """Each topic's score after banding: the mean over all orders inside the bands."""
    return mean_over_ties(measure, banded(evidence, rho))


def mean_over_ties(measure: Measure, evidence: Evidence) -> Floats:
    """`tie_expected` of the scores, without the ranges beside it, which take four times as long."""
    if measure.aggregate != "mean":
        raise FathomsError(f"{measure.name} is not a mean over topics, so bands are not studied under it")
    if type(measure).expected is not Measure.expected:
        evidence = measure.prepared(evidence)
        score = measure.value(evidence)
        mixed = evidence.mixed(measure.tie_value(evidence), measure._tie_places(evidence))
        expected = score if mixed is None else measure.expected(evidence, score, mixed)
    else:
        expected = measure.scores(evidence).tie_expected
    assert expected is not None
    return expected


def worst_loss(measure: Measure, rho: Fraction, max_grade: float | None = None) -> float | None:
    """The most that banding can take from a topic's score, over all runs and judgments; None where nothing is known.

    For a weighted sum: a band's documents lose sum (W(k) - mean W) gain(k), at worst with the greatest gain wherever
    the weight is above the band's mean, and every band for itself. That is the paper's choice of t_g; and what W gains
    below the mean it loses above it, so that it is the greatest rise too. RBP without a cut-off is summed until the
    places that follow weigh less than REST; other sums without a cut-off have no bound.

    For RR: one relevant document at the top of a band, and none above it. More of them in the band would bring the
    expected first one forward. Without a cut-off it is the first band of several documents that loses most, as
    printed: a band [b..e] loses less than (rho-1) / ((rho+1) b) by Jensen's inequality and e < rho b, which for
    v >= 2 and b >= v + 2 is less than the first band's 1 / (2v(v+1)); and for rho > 2 less than 1 - H_m/m, m its
    size. With a cut-off the band that it cuts may lose more, and all are looked at.

    A run that ends inside a band loses less than one that goes on.
    """
    places = _places(measure, rho)
    if places is None:
        return None
    if isinstance(measure, Weighted):
        nobody = _no_topics(places, max_grade or _known_grade(measure))
        weights = measure.weights(nobody) * measure.top_gain(nobody)
    else:
        weights = 1 / np.arange(1, places + 1)
    starts = np.array(band_starts(rho, places))
    tops = starts[:-1] - 1
    mean = np.add.reduceat(weights, tops) / np.diff(starts)  # places past the last one count, and weigh nothing
    if isinstance(measure, RR):
        return float((weights[tops] - mean).max())
    return float(np.maximum(weights - np.repeat(mean, np.diff(np.append(tops, places))), 0).sum())


def largest_rho(measure: Measure, loss: float, max_grade: float | None = None) -> Fraction:
    """The largest rho of three decimals such that it and all smaller ones keep the worst loss at or below `loss`.

    The worst loss is a step function of rho and may fall from one step to the next (RR@5: 0.1 at 1.25, 0.025 at 1.3),
    so the search goes up from 1, where nothing is lost, and ends at the first step that is too high, or at LARGEST.
    """
    good = Fraction(1)
    for step in range(FINEST + 1, LARGEST * FINEST + 1):
        rho = Fraction(step, FINEST)
        worst = worst_loss(measure, rho, max_grade)
        if worst is None:
            raise FathomsError(f"{measure.name} has no bound on what bands cost it; RR and weighted sums at a depth do")
        if worst > loss + REST:
            break
        good = rho
    return good


def _places(measure: Measure, rho: Fraction) -> int | None:
    """How many places can matter; None where there is no bound. Condensing a run moves the borders of its bands."""
    if not isinstance(measure, RR | Weighted) or measure.judged_only:
        return None
    if measure.k is not None:
        places = int(measure.k)
    elif isinstance(measure, RR):
        places = band_starts(rho, safe_depth(rho) + 1)[-1] - 1
    elif isinstance(measure, RBP):
        places = math.ceil(math.log(REST) / math.log(measure.p))
    else:
        return None
    if places > MOST_PLACES:
        raise FathomsError(f"{measure.name}: bands of {places:,} places are too many to look at; give it a cut-off @k")
    return places


def _known_grade(measure: Weighted) -> float:
    """The greatest grade as far as the measure itself says; else judgments are taken to be 0 and 1."""
    return measure.max_grade or (measure.gains[-1][0] if measure.gains else 1.0)


def _no_topics(width: int, max_grade: float) -> Evidence:
    """Evidence of the right width and grades, from which a measure can tell its weights and greatest gain."""
    return Evidence(
        topics=[],
        codes=np.empty((0, width), dtype=np.int16),
        tied=np.empty((0, width), dtype=bool),
        lengths=np.empty(0, dtype=np.int64),
        levels=np.array([0.0, max_grade]),
        max_grade=max_grade,
        counts=np.empty((0, 2), dtype=np.int64),
    )
