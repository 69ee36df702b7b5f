"""How much two rankings share: overlap, and rank-biased overlap with its bounds over what neither ranking shows.

Many pairs of rankings at once, without ties. A document that both have counts from the deeper of its two ranks on, so
all sums over depths come down to one table of sums and a look-up for each shared document.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fathoms.base.arrays import ratio, row_sums
from fathoms.evidence.evidence import Floats, Ints


class RBO(NamedTuple):
    """One value for each pair of rankings; nan where a ranking is empty."""

    extrapolated: Floats  # Webber, Moffat and Zobel (2010), eq. 32
    low: Floats  # if the unseen rest of the rankings has nothing in common with anything
    high: Floats  # if it agrees as much as it can


def rank_biased_overlap(pair: Ints, deeper: Ints, lengths_a: Ints, lengths_b: Ints, p: float) -> RBO:
    """W. Webber, A. Moffat, J. Zobel (2010). A similarity measure for indefinite rankings: eqs. 11, 30 and 32.

        RBO = (1 - p) sum_d p^(d-1) X_d / d        X_d: documents that both have in their first d

    `pair` and `deeper` have an entry for each shared document: the number of its pair of rankings, and the greater of
    its two ranks.
    """
    n = len(lengths_a)
    s, l = np.minimum(lengths_a, lengths_b), np.maximum(lengths_a, lengths_b)  # noqa: E741 - the paper's names
    depths = np.arange(1, int((s + l).max(initial=0)) + 1)
    C = np.append(0.0, np.cumsum(p**depths / depths))  # sum of p^d / d up to each depth
    G = np.append(0.0, np.cumsum(p**depths))
    endless = -np.log1p(-p)
    X = np.bincount(pair, minlength=n)  # X_l: all that are shared
    X_s = np.bincount(pair[deeper <= s[pair]], minlength=n)

    def summed(upto: Floats) -> Floats:
        """sum of X_d p^d / d up to a depth, given as C there, where no document is shared below l."""
        return row_sums(pair, upto[pair] - C[deeper - 1], n)

    scale = (1 - p) / p
    low = scale * summed(np.full(n, endless))
    f = l + s - X  # from here on everything is shared at best
    rest = s * (C[f] - C[s]) + l * (C[f] - C[l]) + X * (endless - C[f])
    high = low + p**s + p**l - p**f - scale * rest
    share = ratio(X_s, s)
    unseen = share * (G[l] - G[s] - s * (C[l] - C[s]))  # the shorter one goes on as it was
    extrapolated = scale * (summed(C[l]) + unseen) + (ratio(X - X_s, l) + share) * p**l
    low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
    values = np.clip(extrapolated, low, high), low, high
    return RBO(*(np.where(s > 0, value, np.nan) for value in values))
