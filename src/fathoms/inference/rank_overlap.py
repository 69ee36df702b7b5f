"""How much two rankings share: rank-biased overlap, with its bounds over what neither ranking shows.

Many pairs of rankings at once, without ties: a document that both have counts from the deeper of its two ranks on, so
all sums over depths come down to one table of sums and a look-up for each shared document. And one pair with ties.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from fathoms.base.arrays import Floats, Ints, ratio, row_sums
from fathoms.base.choices import RANK_TIES, RankTies, checked, one_of, share
from fathoms.base.errors import FathomsError

V = TypeVar("V", float, Floats)


class RBO(NamedTuple, Generic[V]):
    """Of one pair of rankings, or an array with a value for each of many."""

    ext: V  # if what follows agrees as much as what is seen: Webber, Moffat and Zobel (2010), eq. 32
    min: V  # if what follows has nothing in common with anything
    max: V  # if what follows agrees as much as it can

    @property
    def res(self) -> V:
        """How far what follows could move it."""
        return self.max - self.min


def rbo(x: Sequence[Any], y: Sequence[Any], p: float = 0.9, ties: RankTies = "a") -> RBO[float]:
    """Rank-biased overlap of two rankings: `.ext`, `.min`, `.max` and `.res`. A list, tuple or set among the items of a
    ranking is a group of tied items.

    `ties="a"` is the mean over all ways of breaking the ties, for ties that mean that the order is not known; `"b"`
    corrects it for what the ties hide, so that a ranking agrees with itself; `"w"` takes tied items as equals that all
    stand at the first place of their group, as in sports. M. Corsi and J. Urbano (2024), The treatment of ties in
    rank-biased overlap.

    >>> import fathoms as fm
    >>> x = ["red", {"blue", "green"}, "yellow", "pink"]
    >>> y = [{"blue", "red"}, "white", {"yellow", "black", "purple"}, "green"]
    >>> fm.rbo(x, y, p=0.95).ext.__round__(4), fm.rbo(x, y, p=0.95, ties="w").ext.__round__(4)
    (0.6923, 0.7068)
    """
    checked("p", share, p)
    checked("ties", partial(one_of, RANK_TIES), ties)
    short, long = sorted((_spans("x", x), _spans("y", y)), key=len)
    s, l = len(short), len(long)  # noqa: E741 - the papers' names
    if s == 0:
        return RBO(float("nan"), 0.0, 1.0)
    items = [*short, *(item for item in long if item not in short)]
    d = np.arange(1, l + 1)
    in_short, in_long = (_contributions([of.get(item) for item in items], d, ties) for of in (short, long))
    seen = (in_short * in_long).sum(axis=0)  # X_d over what both lists show
    # What the shorter list would show from place s + 1 on: untied items, of which each may be one that only L has.
    missing = np.maximum(d - s, 0)
    only_long = in_long[s:]
    at_most = np.where(np.arange(len(only_long))[:, None] < missing, only_long, 0.0).sum(axis=0)
    size_long = _size(in_long, d, ties)
    size_short = np.where(d <= s, _size(in_short, d, ties), d)
    union = (size_short + size_long) / 2 if ties == "w" else np.sqrt(size_short * size_long)
    share_at_s = seen[s - 1] / union[s - 1]
    mean_long = ratio(only_long.sum(axis=0), (only_long > 0).sum(axis=0))
    weights = p**d
    low, high, ext = (
        float((weights * (seen + unseen) / union).sum()) for unseen in (0.0, at_most, share_at_s * missing * mean_long)
    )
    X = float(seen[-1])
    f = round(l + s - X)  # from here on everything is shared at best
    further = np.arange(l + 1, f + 1)
    low += X * (-np.log1p(-p) - (weights / d).sum())
    high += ((2 * further - l - s + X) / further * p**further).sum() + p ** (f + 1) / (1 - p)
    ext += (X + (l - s) * share_at_s) / l * p ** (l + 1) / (1 - p)
    return RBO(*(float((1 - p) / p * total) for total in (ext, low, high)))


def _spans(name: str, ranking: Sequence[Any]) -> dict[Hashable, tuple[int, int]]:
    """The first and the last place of each item's group of tied items."""
    if isinstance(ranking, str | bytes) or not isinstance(ranking, Sequence):
        raise FathomsError(f"{name}: expected a list of items, best first, found {type(ranking).__name__}")
    spans: dict[Hashable, tuple[int, int]] = {}
    for place in ranking:
        group = list(place) if isinstance(place, list | tuple | set | frozenset) else [place]
        span = len(spans) + 1, len(spans) + len(group)
        for item in group:
            if item in spans:
                raise FathomsError(f"{name}: {item!r} stands there twice")
            spans[item] = span
    return spans


def _contributions(spans: list[tuple[int, int] | None], d: Ints, ties: RankTies) -> Floats:
    """How much of each item stands at a depth or above it, [item, depth]: the share of the orders of its group in which
    it does, or under `w` whether its group has begun."""
    first, last = np.array([(0, 0) if span is None else span for span in spans], dtype=float).T[:, :, None]
    share_above = (d - first + 1) / (1.0 if ties == "w" else last - first + 1)
    return np.where(first > 0, np.clip(share_above, 0.0, 1.0), 0.0)


def _size(contributions: Floats, d: Ints, ties: RankTies) -> Floats:
    """How many items a list has down to each depth, as the agreement at that depth counts them."""
    if ties == "a":
        return d.astype(float)
    return (contributions if ties == "w" else contributions**2).sum(axis=0)


def rank_biased_overlap(pair: Ints, deeper: Ints, lengths_a: Ints, lengths_b: Ints, p: float) -> RBO[Floats]:
    """W. Webber, A. Moffat, J. Zobel (2010). A similarity measure for indefinite rankings: eqs. 11, 30 and 32.

        RBO = (1 - p) sum_d p^(d-1) X_d / d        X_d: documents that both have in their first d

    `pair` and `deeper` have an entry for each shared document: the number of its pair of rankings, and the greater of
    its two ranks. nan where a ranking is empty.
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
    overcounted = s * (C[f] - C[s]) + l * (C[f] - C[l]) + X * (endless - C[f])
    high = low + p**s + p**l - p**f - scale * overcounted
    share = ratio(X_s, s)
    unseen = share * (G[l] - G[s] - s * (C[l] - C[s]))  # the shorter one goes on as it was
    extrapolated = scale * (summed(C[l]) + unseen) + (ratio(X - X_s, l) + share) * p**l
    low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
    values = np.clip(extrapolated, low, high), low, high
    return RBO(*(np.where(s > 0, value, np.nan) for value in values))
