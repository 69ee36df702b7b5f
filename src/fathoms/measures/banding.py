"""What geometric bands can cost a score at worst, and what they cost it on average (YMT-ties section 4)."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.evidence.banding import band_starts, banded, safe_depth
from fathoms.evidence.evidence import Evidence, Floats
from fathoms.measures.ap import AP
from fathoms.measures.base import Measure
from fathoms.measures.cascade import Cascade
from fathoms.measures.gains import Graded
from fathoms.measures.normalised import NormalisedSum
from fathoms.measures.rbp import RBP
from fathoms.measures.rr import RR
from fathoms.measures.weighted import Weighted

REST = 1e-12  # weight below which the places that follow are left out
MOST_PLACES = 10_000_000
MOST_SQUARED = 10_000  # places where the work grows with their square
TAIL = 1000  # ranks after which a cascade without a cut-off is bounded by what it could still give
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


def worst_loss(
    measure: Measure, rho: Fraction, max_grade: float | None = None, *, length: int | None = None
) -> float | None:
    """The most that banding can take from a topic's score, over all runs and judgments; None where nothing is known.

    The bound is reached, except by a cascade without a cut-off, where it is sound. The paper has it for RR and RBP, and
    finds none for AP; with a cut-off, or for runs of at most `length` documents, there is one too (below).

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
    if getattr(measure, "judged_only", False):
        return None  # condensing a run moves the borders of its bands
    if type(measure) is AP:
        return _worst_of_ap(measure, rho, length)
    if isinstance(measure, NormalisedSum):
        return _worst_of_ratio(measure, rho, length)
    if isinstance(measure, Cascade):
        return _worst_of_cascade(measure, rho, max_grade)
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


def _worst_of_ap(measure: AP, rho: Fraction, length: int | None) -> float | None:
    """R AP is the sum, over pairs of relevant documents and each with itself, of 1 / the deeper one's rank. Over the
    orders inside bands that is the mean of 1/i over the deeper one's band, or of 1/max(i, j) over pairs of places if
    they share it. So with t_g relevant documents in band g the loss is greatest if they come first in it, and is

        sum_g (1 + t_1 + ... + t_{g-1}) A_g(t_g) + B_g(t_g)

    over R, at best t_1 + t_2 + ...; band by band, V[n] is the most with n of them so far.
    """
    k = length if measure.k is None else int(measure.k)
    if k is None or (measure.variant == "c" and measure.k is not None):
        return None  # R_k depends on a pool
    starts = _starts(measure, rho, length)
    inverse = np.where(np.arange(1, starts[-1]) <= k, 1 / np.arange(1, starts[-1]), 0.0)
    V = np.full(starts[-1], -np.inf)
    V[0] = 0.0
    for start, stop in pairwise(starts):
        here, size = inverse[start - 1 : stop - 1], stop - start
        taken = np.arange(size + 1)
        alone = np.append(0.0, np.cumsum(here))
        paired = np.append(0.0, np.cumsum(np.arange(size) * here))
        pairs = taken * (taken - 1) / 2
        A = alone - taken * alone[-1] / size
        B = paired - pairs * (paired[-1] / pairs[-1] if size > 1 else 0.0)
        before = V[:start].copy()
        for t in range(1, size + 1):
            here_too = before + np.arange(1, start + 1) * A[t] + B[t]
            V[t : t + start] = np.maximum(V[t : t + start], here_too)
    R = np.arange(1, len(V))
    return float((V[1:] / (np.minimum(R, k) if measure.variant == "b" else R)).max())


def _worst_of_ratio(measure: NormalisedSum, rho: Fraction, length: int | None) -> float | None:
    """Gains of 0 and 1, since graded ones are sums of such layers, above and below. With m of them the loss is at most
    the sum of the m greatest differences of a rank's weight and the mean weight of its band, and the ideal is that of
    m documents or more."""
    k = length if measure.k is None else int(measure.k)
    if k is None or (measure.needs_pool and measure.k is not None):
        return None
    starts = np.array(_starts(measure, rho, length))
    weights = np.zeros(starts[-1] - 1)
    weights[:k] = measure.weight(k)
    means = np.add.reduceat(weights, starts[:-1] - 1) / np.diff(starts)
    lost = np.sort(weights - np.repeat(means, np.diff(starts)))[::-1]
    return float((np.cumsum(lost) / np.cumsum(weights)).max())


def _worst_of_cascade(measure: Cascade, rho: Fraction, max_grade: float | None) -> float:
    """The loss is linear in each gain, so the worst gains are 0 and the greatest, G; and t of these come first in their
    band. A reader gets past it with chance (1-G)^t in any order, to lose at most V of the next band on.

    W[t] is what the orders of a band's last places give on average with t such documents in them.
    """
    starts = _starts(measure, rho, None) if measure.k is not None else band_starts(rho, TAIL)
    G = measure.top_gain(_no_topics(1, max_grade or _known_grade(measure)))
    ranks = np.arange(1, starts[-1] + 1)
    inverse = 1 / measure.effort(ranks)
    V = float(inverse[-1])  # more than what the first rank past these can give is not to be had there
    if measure.k is not None:
        inverse = np.where(ranks <= measure.k, inverse, 0.0)
        V = 0.0
    for start, stop in reversed(list(pairwise(starts))):
        here, size = inverse[start - 1 : stop - 1], stop - start
        taken = np.arange(size + 1)
        goes_on = (1 - G) ** taken
        first = np.append(0.0, np.cumsum(G * goes_on[:-1] * here))
        W = np.zeros(size + 1)
        for left in range(1, size + 1):
            share = taken[: left + 1] / left
            before = np.append(0.0, W[:left])
            W[: left + 1] = share * (G * here[size - left] + (1 - G) * before) + (1 - share) * W[: left + 1]
        V = float((first - W + goes_on * V).max())
    return V


def _starts(measure: AP | NormalisedSum | Cascade, rho: Fraction, length: int | None) -> list[int]:
    """The first ranks of the bands down to the cut-off, or to the end of the longest run, and of the one after."""
    starts = band_starts(rho, int(measure.k or length or 0))
    if length is not None:  # a run's end ends its last band
        starts = [*(start for start in starts if start <= length), length + 1]
    _check_places(measure, starts[-1], MOST_SQUARED)
    return starts


def largest_rho(measure: Measure, loss: float) -> Fraction:
    """The largest rho of three decimals such that it and all smaller ones keep the worst loss at or below `loss`.

    The worst loss is a step function of rho and may fall from one step to the next (RR@5: 0.1 at 1.25, 0.025 at 1.3),
    so the search goes up from 1, where nothing is lost, and ends at the first step that is too high, or at LARGEST.
    """
    good = Fraction(1)
    for step in range(FINEST + 1, LARGEST * FINEST + 1):
        rho = Fraction(step, FINEST)
        worst = worst_loss(measure, rho)
        if worst is None:
            raise FathomsError(f"{measure.name} has no bound on what bands cost it; RR, ERR, AP@k and nDCG@k do")
        if worst > loss + REST:
            break
        good = rho
    return good


def _places(measure: Measure, rho: Fraction) -> int | None:
    """How many places can matter; None where there is no bound."""
    if not isinstance(measure, RR | Weighted):
        return None
    if measure.k is not None:
        places = int(measure.k)
    elif isinstance(measure, RR):
        places = band_starts(rho, safe_depth(rho) + 1)[-1] - 1
    elif isinstance(measure, RBP):
        places = math.ceil(math.log(REST) / math.log(measure.p))
    else:
        return None
    _check_places(measure, places, MOST_PLACES)
    return places


def _check_places(measure: Measure, places: int, most: int) -> None:
    if places > most:
        less = "a lower cut-off" if measure.k is not None else "a cut-off @k"
        raise FathomsError(f"{measure.name}: bands of {places:,} places are too many to look at; give it {less}")


def _known_grade(measure: Graded) -> float:
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
