"""How far apart two systems can be: greatest values of A - B over every way of judging their unjudged documents.

A document that both systems retrieved counts for both at once, so what they share cancels, and the range of a
difference is narrower than the difference of the two ranges. Each family has its own way:

- weights that add up (P, RBP, DCG): each document goes to the extreme that the difference of its weights says; exact;
- the same over R or an ideal (nDCG, recall): for a given number of new relevant documents those of the greatest
  difference are the best, and a scan over that number is exact;
- the best document alone counts (RR, Success): one new relevant document does all that can be done; exact;
- pairs of documents (AP, Q): for a given R the sum of precisions is a quadratic form in 0/1 variables whose
  coefficients are 0 where both systems agree; the positive parts of its rows bound it.

All functions work on PairEvidence, a row for each pair of systems, and return [row, limit]: the most that A - B can be
if at most that many documents get a grade above 0. Ranks may be extremes over tie orders (`PairEvidence.over_ties`);
then documents in a tie group that both systems have in the same places (`shared`) still cancel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import ratio
from fathoms.evidence.evidence import ALONE, Bools, Floats, Ints

if TYPE_CHECKING:
    from fathoms.evidence.pairs import PairEvidence

ANY = np.iinfo(np.int64).max // 4  # a limit that limits nothing
NO_LIMIT = np.array([ANY])
CELLS = 1_000_000  # of pairs of documents whose rows are worked on at a time
BLOCK = 100_000  # of these at once


def at_ranks(weights: Floats, rank: Floats) -> Floats:
    """The weight of each rank, 0 past the last one and for documents not retrieved."""
    places = np.minimum(rank, len(weights) + 1).astype(np.int64) - 1
    return np.append(weights, 0.0)[places]


def weight_differences(pair: PairEvidence, weights: Floats) -> Floats:
    """W(rank in A) - W(rank in B) of each document; 0 in tie groups that both have in the same places."""
    difference = at_ranks(weights, pair.rank_a) - at_ranks(weights, pair.rank_b)
    return np.where(pair.shared == ALONE, difference, 0.0)


def largest_first(values: Floats, chosen: Bools) -> Floats:
    """Running sums, from 0, of the chosen values from the greatest down; the rest of a row adds -inf."""
    ordered = -np.sort(-np.where(chosen, values, -np.inf), axis=1)
    sums = np.zeros((len(values), values.shape[1] + 1))
    np.cumsum(ordered, axis=1, out=sums[:, 1:])
    return sums


def greatest_sum(base: Floats, extra: Floats, chosen: Bools, limits: Ints) -> Floats:
    """Of `base` and any of the chosen extras, as many as each limit allows."""
    sums = largest_first(np.maximum(extra, 0.0), chosen)
    sums[~np.isfinite(sums)] = 0.0
    best = base[:, None] + np.maximum.accumulate(sums, axis=1)
    return best[:, np.minimum(limits, extra.shape[1])]


def greatest_ratio(base: Floats, sums: Floats, others: Ints, limits: Ints, below: Callable[[Floats], Floats]) -> Floats:
    """The most that (base + sums[m]) / below(m) can be, over m documents with `sums` and up to `others` without.

    Documents that add nothing only lengthen what is divided by: none of them where the sum is positive, all of them
    where it is negative. `below` takes [row, m] and never falls in m.
    """
    m = np.broadcast_to(np.arange(sums.shape[1], dtype=np.float64), sums.shape)
    above = base[:, None] + sums
    alone = np.where(np.isfinite(above), ratio(above, below(m)), -np.inf)
    greatest = np.empty((len(base), len(limits)))
    for i, limit in enumerate(limits.tolist()):
        allowed = m <= limit
        with_others = np.minimum(m + others[:, None], np.maximum(float(limit), m))
        diluted = np.where(np.isfinite(above), np.where(above < 0, ratio(above, below(with_others)), alone), -np.inf)
        greatest[:, i] = np.where(allowed, np.maximum(alone, diluted), -np.inf).max(axis=1)
    return greatest


def greatest_of_best(pair: PairEvidence, value: Floats, relevant: Floats, limits: Ints) -> Floats:
    """Where a system's value is that of its best-placed relevant document: value[rank - 1], falling with rank."""
    known = (relevant[pair.codes] > 0) & ~pair.unjudged
    a0 = np.where(known, at_ranks(value, pair.rank_a), 0.0).max(axis=1, initial=0.0)
    b0 = np.where(known, at_ranks(value, pair.rank_b), 0.0).max(axis=1, initial=0.0)
    first_a = np.where(known, pair.rank_a, np.inf).min(axis=1, initial=np.inf)
    first_b = np.where(known, pair.rank_b, np.inf).min(axis=1, initial=np.inf)
    # The first relevant document of both may lie in a tie group that both have: then it is the same one.
    both = known & (pair.shared != ALONE)
    known_together = (both & (first_a[:, None] >= pair.shared) & (first_b[:, None] >= pair.shared)).any(axis=1)
    none = np.where(known_together, 0.0, a0 - b0)
    with_it = np.maximum(a0[:, None], at_ranks(value, pair.rank_a)) - np.maximum(
        b0[:, None], at_ranks(value, pair.rank_b)
    )
    together = (pair.shared != ALONE) & (first_a[:, None] >= pair.shared) & (first_b[:, None] >= pair.shared)
    with_it = np.where(together, 0.0, with_it)
    with_one = np.maximum(none, np.where(pair.unjudged, with_it, -np.inf).max(axis=1, initial=-np.inf))
    return np.where(limits[None, :] > 0, with_one[:, None], none[:, None])


def greatest_pairwise(
    pair: PairEvidence,
    relevant: Bools,
    coefficients: Callable[[Ints, Ints, Ints], Floats],
    limits: Ints,
    below: Callable[[Ints, Floats], tuple[Floats, Floats]],
    depth: float,
) -> Floats:
    """An upper bound where the sum is a quadratic form: c_ij for each pair i, j of relevant documents, c_ii for each.

    A new relevant document adds its own coefficient and those with the known ones, and half of each positive one with
    another new document; the m documents for which that is most bound what any m of them can add. `coefficients` takes
    rows and two lists of columns of each, and gives at least c_ij between the two; it is 0 for column -1, and where A
    lacks a document in its first `depth` places it is 0 at most. `below` takes rows and m and gives the least and
    greatest value of what is divided by.
    """
    known_at, new_at = _needed(relevant & ~pair.unjudged), _needed(pair.unjudged)
    helping_at = _needed(pair.unjudged & (pair.rank_a <= depth))  # no others have positive coefficients
    width = max(known_at.shape[1], new_at.shape[1])
    greatest = np.empty((len(pair), len(limits)))
    step = max(1, CELLS // (width * width))
    for start in range(0, len(pair), step):
        rows = np.arange(start, min(start + step, len(pair)))
        known, new, helping = known_at[rows], new_at[rows], helping_at[rows]
        among_known = coefficients(rows, known, known)
        base = (among_known.sum(axis=(1, 2)) + np.einsum("rii->r", among_known)) / 2
        alone = coefficients(rows, new, known).sum(axis=2) + _own(coefficients, rows, new)
        total, largest = (
            _at_columns(values, helping, pair.codes.shape[1], new) for values in _together(coefficients, rows, helping)
        )
        for i, limit in enumerate(limits.tolist()):
            most = np.minimum(total, largest * max(0, limit - 1))
            sums = largest_first(alone + most / 2, new >= 0)
            greatest[rows, i] = _greatest_between(base, sums, pair.others[rows], limit, partial(below, rows))
    return greatest


def greatest_of_minima(
    pair: PairEvidence, relevant: Bools, below: Callable[[Ints, Floats], tuple[Floats, Floats]], depth: int
) -> Floats:
    """As `greatest_pairwise` without a limit, where c_ij = min(a_i, a_j) - min(b_i, b_j) with a and b one over the
    ranks, and 0 past `depth`: without a look at each pair of documents.

    The positive part of c_ij is the length of all t with t < a_i and t < a_j that are not below both b_i and b_j, so
    that its sum over j is sum_j min(a_j, a_i) - sum_j min(a_j, b_j, a_i, b_i).
    """
    inverse = 1 / np.arange(1, depth + 1)
    known, new = relevant & ~pair.unjudged, pair.unjudged
    own = at_ranks(inverse, pair.rank_a) - at_ranks(inverse, pair.rank_b)
    with_known = _sums_of_minima(pair.rank_a, known, inverse) - _sums_of_minima(pair.rank_b, known, inverse)
    base = np.where(known, with_known + own, 0.0).sum(axis=1) / 2
    in_both = np.maximum(pair.rank_a, pair.rank_b)
    positive = _sums_of_minima(pair.rank_a, new, inverse) - _sums_of_minima(in_both, new, inverse)
    positive = np.maximum(positive - np.maximum(own, 0.0), 0.0)  # without the document itself
    sums = largest_first(with_known + own + positive / 2, new)
    return _greatest_between(base, sums, pair.others, ANY, partial(below, np.arange(len(pair))))


def _sums_of_minima(rank: Floats, chosen: Bools, inverse: Floats) -> Floats:
    """[row, i]: the sum over the chosen documents j of a row of min(1/rank_i, 1/rank_j), nothing past the last rank."""
    depth, rows = len(inverse), np.arange(len(rank))[:, None]
    place = np.minimum(rank, depth + 1).astype(np.int64) - 1
    cells = (rows * (depth + 1) + place)[chosen]
    count = np.bincount(cells, minlength=len(rank) * (depth + 1)).reshape(len(rank), depth + 1)[:, :-1]
    deeper = np.cumsum((count * inverse)[:, ::-1], axis=1)[:, ::-1]
    sums = np.zeros((len(rank), depth + 1))
    sums[:, :-1] = np.cumsum(count, axis=1) * inverse
    sums[:, :-2] += deeper[:, 1:]
    return np.take_along_axis(sums, place, axis=1)


@cache
def _subsets(n: int) -> tuple[Bools, Ints]:
    """All subsets of n documents, [subset, document], in order of their size, and where those of each size start."""
    bits = np.arange(1 << n)[:, None] >> np.arange(n) & 1
    sizes = bits.sum(axis=1)
    order = np.argsort(sizes, kind="stable")
    return bits[order] > 0, np.searchsorted(sizes[order], np.arange(n + 1))


def greatest_quadratic(of_a: Floats, of_b: Floats, known: Bools, columns: Ints) -> Floats:
    """[row, m]: the greatest sum over pairs i, j of relevant documents, i = j among them, of min(a_i, a_j) -
    min(b_i, b_j), where the known ones are relevant and just m of those in some columns; found by trying all ways."""
    rows, n = columns.shape
    subsets, starts = _subsets(n)
    i, j = np.triu_indices(n, 1)
    chosen = np.hstack([subsets, subsets[:, i] & subsets[:, j]]).astype(np.float64).T
    base, coefficients = np.zeros(rows), np.zeros((rows, len(chosen)))
    place = np.arange(of_a.shape[1])
    for sign, values in ((1, of_a), (-1, of_b)):
        new = np.take_along_axis(values, columns, axis=1)
        of_known = np.where(known, values, 0.0)
        largest = -np.sort(-of_known, axis=1)
        base += sign * (largest * (place + 1)).sum(axis=1)  # the pth largest is the smaller one of p pairs
        for document, value in enumerate(new.T):
            with_known = np.minimum(of_known, value[:, None]).sum(axis=1)
            coefficients[:, document] += sign * (value + with_known)
        coefficients[:, n:] += sign * np.minimum(new[:, i], new[:, j])
    greatest = np.empty((rows, n + 1))
    step = max(1, BLOCK // len(subsets))
    for start in range(0, rows, step):
        part = slice(start, start + step)
        greatest[part] = np.maximum.reduceat(coefficients[part] @ chosen, starts, axis=1)
    return greatest + base[:, None]


def _own(coefficients: Callable[[Ints, Ints, Ints], Floats], rows: Ints, columns: Ints) -> Floats:
    """c_ii of the columns of each row."""
    each = columns.reshape(-1, 1)
    return coefficients(np.repeat(rows, columns.shape[1]), each, each).reshape(columns.shape)


def _together(coefficients: Callable[[Ints, Ints, Ints], Floats], rows: Ints, columns: Ints) -> tuple[Floats, Floats]:
    """Sum and maximum of the positive coefficients of each document with the others; in blocks that a cache holds."""
    n = columns.shape[1]
    total, largest = np.empty((2, *columns.shape))
    step = max(1, BLOCK // (len(rows) * n))
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        c = np.maximum(coefficients(rows, columns[:, part], columns), 0.0)
        c[:, np.arange(c.shape[1]), np.arange(n)[part]] = 0.0
        total[:, part], largest[:, part] = c.sum(axis=2), c.max(axis=2)
    return total, largest


def _at_columns(values: Floats, columns: Ints, width: int, wanted: Ints) -> Floats:
    """Values that stand at some columns of each row, at other columns of it; 0 where there is none."""
    spread = np.zeros((len(values), width + 1))
    np.put_along_axis(spread, columns, values, axis=1)  # column -1 takes what belongs nowhere
    spread[:, -1] = 0.0
    return np.take_along_axis(spread, wanted, axis=1)


def _greatest_between(
    base: Floats, sums: Floats, others: Ints, limit: int, below: Callable[[Floats], tuple[Floats, Floats]]
) -> Floats:
    """As `greatest_ratio` with one limit, where what is divided by is only known to lie between two values."""
    m = np.broadcast_to(np.arange(sums.shape[1], dtype=np.float64), sums.shape)
    above = base[:, None] + sums
    with_others = np.minimum(m + others[:, None], np.maximum(float(limit), m))
    value = np.where(above < 0, ratio(above, below(with_others)[1]), ratio(above, below(m)[0]))
    return np.where(np.isfinite(above) & (m <= limit), value, -np.inf).max(axis=1)


def _needed(wanted: Bools) -> Ints:
    """[row, n]: the columns wanted in each row, then -1."""
    n = max(1, int(wanted.sum(axis=1).max(initial=0)))
    order = np.argsort(~wanted, axis=1, kind="stable")[:, :n]
    return np.where(np.take_along_axis(wanted, order, axis=1), order, -1)


def taken(values: NDArray[Any], rows: Ints, columns: Ints, fill: float = 0.0) -> NDArray[Any]:
    """Values at the columns of each of the rows, `fill` for column -1."""
    return np.where(columns >= 0, values[rows[:, None], columns], fill)


def same_group(pair: PairEvidence, rows: Ints, left: Ints, right: Ints) -> Bools:
    """[row, i, j]: whether in both systems the deeper of documents i and j is in the same shared tie group.

    Then its rank is the same in both, whatever the order of ties, and the pair's coefficient is 0.
    """
    shared = [taken(pair.shared, rows, columns, ALONE) for columns in (left, right)]
    deeper = []
    for rank in (pair.rank_a, pair.rank_b):
        # In a shared group all places count as its first one, so that members stay together.
        i, j = (
            np.where(group == ALONE, taken(rank, rows, columns, np.inf), group)
            for group, columns in zip(shared, (left, right), strict=True)
        )
        deeper.append(np.where(i[:, :, None] >= j[:, None, :], shared[0][:, :, None], shared[1][:, None, :]))
    same: Bools = (deeper[0] == deeper[1]) & (deeper[0] != ALONE)
    return same
