"""Geometric bands (YMT-ties section 4): documents only need to be scored well enough to land in the right band.

b_1 = 1 and b_{g+1} = ceil(rho b_g); band g holds the ranks b_g .. b_{g+1} - 1. rho is an exact fraction: in floating
point 1.1 * 170 is a little more than 187, which would end a band too late.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.data.runs import Run
from fathoms.evidence.evidence import Evidence, Ints
from fathoms.evidence.order import Precision, Ties, default_precision, in_order

LARGEST = 1_000_000  # so that ranks fit into 64 bits


def parse_rho(text: str) -> Fraction:
    """rho as it is written, `1.4` or `7/5`.

    >>> parse_rho("1.1")
    Fraction(11, 10)
    """
    try:
        rho = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise FathomsError(f"rho must be a number above 1, such as 1.4, found {text!r}") from None
    if not 1 < rho <= LARGEST:
        raise FathomsError(f"rho must be above 1 (at 1 nothing is banded) and at most {LARGEST:,}, found {text!r}")
    return rho


def band_starts(rho: Fraction, n: int) -> list[int]:
    """The first ranks of the bands that start in ranks 1..n, and of the one after them.

    >>> band_starts(Fraction("1.62"), 11)
    [1, 2, 4, 7, 12]
    """
    starts = [1]
    while starts[-1] <= n:
        starts.append(-(-starts[-1] * rho.numerator // rho.denominator))
    return starts


def bands(rho: Fraction, n: int) -> Ints:
    """The band of each rank 1..n, from 1."""
    starts = band_starts(rho, n)
    return np.repeat(np.arange(1, len(starts)), np.diff(np.minimum(starts, n + 1)))


def safe_depth(rho: Fraction) -> int:
    """Ranks 1..v-1 are bands of one document, v = 1 + floor(1/(rho-1)): they stay as they are."""
    return int(1 / (rho - 1))


def banded(evidence: Evidence, rho: Fraction) -> Evidence:
    """The same rankings with the documents of each band tied, and no others; a run's end ends its last band."""
    band = bands(rho, evidence.width)
    tied = np.zeros_like(evidence.tied)
    tied[:, 1:] = (band[1:] == band[:-1]) & (np.arange(1, evidence.width) < evidence.lengths[:, None])
    return replace(evidence, tied=tied, _cache={})


def banded_run(run: Run, rho: Fraction, ties: Ties = "run", precision: Precision | None = None) -> Run:
    """The run by topic in the policy's order, with score 1/g for the documents of band g, as in the paper."""
    ordered, rank, _ = in_order(run, ties, precision or default_precision(ties))
    return replace(ordered, scores=(1 / bands(rho, int(rank.max(initial=1))))[rank - 1])
