"""The range of a difference between two systems over every way of judging, the judging that reaches it, and how many
documents it takes to reverse a sign.

For each topic and pair there is an upper bound on A - B (`upper_bounds`), made of the family's own bound, of the two
ranges, and where few documents are unjudged of all ways of judging them one by one; the lower bound is that of B - A.
A *witness* is a judging that was evaluated: the difference it gives is possible, so bound and witness enclose the end
of the range, and where they meet it is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations, product
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import distinct, stretches
from fathoms.data.qrels import EXCLUDED, JUDGED
from fathoms.evidence.evidence import Bools, Evidence, Floats, Ints
from fathoms.evidence.pairs import ABSENT, ALONE, PairEvidence, RankingBlock
from fathoms.measures.base import Measure
from fathoms.measures.differences import NO_LIMIT
from fathoms.measures.gains import Binary

ENUMERATED = 4096  # ways of judging a topic up to which all are gone through
ENDLESS = 1_000_000  # documents that stand for any number of them
CELLS = 500_000  # ways times documents worked on at a time
WITNESSED = 200  # places of a run among which a quick witness is looked for
LISTED = 200  # documents of a topic that are looked at one at a time


# -- values ------------------------------------------------------------------------------------------------------------


def comparable(measure: Measure, values: Floats) -> Floats:
    """Scores on the scale on which means are compared: logarithms where the mean is geometric."""
    return np.log(values) if measure.aggregate == "geometric" else values


def difference(measure: Measure, pair: PairEvidence, codes: NDArray[np.int16], others: Ints | None = None) -> Floats:
    """A - B if the documents had these codes, unjudged ones not relevant."""
    a, b = pair.judged(codes, others)
    return comparable(measure, measure.value(a)) - comparable(measure, measure.value(b))


def in_universe(measure: Measure) -> Measure:
    """The measure with a range over the documents that the evidence counts."""
    return measure.replace(universe="auto") if "universe" in measure.params else measure


def listed_range(measure: Measure, evidence: Evidence, over_ties: bool) -> tuple[Floats | None, Floats | None]:
    """Least and greatest value of each row over every way of judging its listed documents, and with `over_ties` over
    every order of tied ones too: without the tails that `eval` counts."""
    measure = in_universe(measure)
    low: Floats | None
    high: Floats | None
    if measure.has_tail:
        # Such measures rise with every gain.
        top = _unjudged_as(evidence, JUDGED + len(evidence.levels) - 1)
        if over_ties:
            low, high = measure.scores(evidence).tie_low, measure.scores(top).tie_high
        else:
            low, high = measure.value(evidence), measure.value(top)
    elif over_ties and evidence.tied.any():
        low, high = measure.joint_range(evidence, measure.scores(evidence))
    else:
        low, high = measure.range(evidence, measure.value(evidence))
    return (None if low is None else comparable(measure, low)), (None if high is None else comparable(measure, high))


def _unjudged_as(evidence: Evidence, code: int) -> Evidence:
    return replace(evidence, codes=np.where(evidence.unjudged, np.int16(code), evidence.codes), _cache={})


def _evidence_on(pair: PairEvidence, rows: Ints, columns: Ints) -> Evidence:
    """One side of the pairs by itself. What the pair counts as never to be judged is so here too."""
    evidence = pair.block.evidence(rows, pair.unjudged.sum(axis=1) + pair.others).cut(columns.shape[1])
    return replace(evidence, codes=np.take_along_axis(pair.codes, columns, axis=1), _cache={})


# -- bounds ------------------------------------------------------------------------------------------------------------


def upper_bounds(
    measure: Measure, pair: PairEvidence, limits: Ints, over_ties: bool, one_by_one: bool = True
) -> Floats:
    """[row, limit]: the most that A - B can be with at most that many documents judged relevant; where they are few, by
    a look at all ways of judging `one_by_one`."""
    best = np.full((len(pair), len(limits)), np.inf)
    if over_ties:
        pair = pair.over_ties(measure.tie_value(pair.unranked))
    own = measure.greatest_difference(pair, limits)
    if own is not None:
        best = np.minimum(best, own)
    alike = identical(measure, pair, over_ties)
    if measure.difference_is != "exact" or own is None or over_ties:
        high = listed_range(measure, _evidence_on(pair, pair.a, pair.columns_a), over_ties)[1]
        low = listed_range(measure, _evidence_on(pair, pair.b, pair.columns_b), over_ties)[0]
        if high is not None and low is not None:
            best = np.minimum(best, (high - low)[:, None])
    if one_by_one and (measure.difference_is != "exact" or own is None):
        best = np.minimum(best, enumerated(measure, pair, limits, over_ties))
    best[alike] = 0.0
    if (pair.others >= ENDLESS).any() and "universe" in measure.params:
        best = np.maximum(best, 0.0)  # without end, what one divides by makes any difference vanish
    return best


def identical(measure: Measure, pair: PairEvidence, over_ties: bool) -> Bools:
    """Whether both systems have the same documents in the same places, as far as the measure reads.

    With `over_ties`: in the same places whatever the order of ties.
    """
    depth = np.inf if measure.k is None or measure.cutoff == "recall" else measure.k
    first = np.minimum(pair.places_a[0], pair.places_b[0]) if over_ties else np.minimum(pair.rank_a, pair.rank_b)
    same = pair.rank_a == pair.rank_b
    if over_ties:
        same = (same & ~pair.tied) | (pair.shared != ALONE)
    whole = (pair.length_a == pair.length_b) | np.isfinite(depth)
    return (same | (first > depth) | (pair.documents < 0)).all(axis=1) & whole


# -- all ways of judging, one by one -----------------------------------------------------------------------------------


def possible_codes(measure: Measure, pair: PairEvidence) -> list[int]:
    """Codes that an unjudged document may get: of grades that the measure tells apart."""
    last = len(pair.levels) - 1
    if isinstance(measure, Binary) or measure.multilinear:
        return [JUDGED, JUDGED + last]
    return [JUDGED + level for level in range(last + 1)]


def enumerated(measure: Measure, pair: PairEvidence, limits: Ints, over_ties: bool) -> Floats:
    """[row, limit]: the greatest A - B over all ways of judging, and with `over_ties` all orders; inf for rows in which
    there are too many of them."""
    best = np.full((len(pair), len(limits)), np.inf)
    if getattr(measure, "max_grade", None) is not None or measure.needs_pool:
        return best
    codes, unjudged = possible_codes(measure, pair), pair.unjudged.sum(axis=1)
    free = np.zeros(len(pair), dtype=bool) if measure.falls_with_others else pair.others > 0
    tied = pair.has_ties & over_ties
    for n in range(int(np.log(ENUMERATED) / np.log(len(codes))) + 1):
        rows = np.flatnonzero((unjudged == n) & ~free)
        if not len(rows):
            continue
        ways = np.array(list(product(codes, repeat=n)), dtype=np.int16).reshape(len(codes) ** n, n)
        plain = rows[~tied[rows]]
        best[plain] = _over_ways(measure, pair.rows(plain), ways, limits)
        for of_part, counts, orders in _in_all_orders(pair, rows[tied[rows]], 8 * ENUMERATED // len(ways)):
            greatest = _over_ways(measure, orders, ways, limits)
            best[of_part] = np.maximum.reduceat(greatest, np.cumsum(counts) - counts, axis=0)
    return best


def _over_ways(measure: Measure, pair: PairEvidence, ways: NDArray[np.int16], limits: Ints) -> Floats:
    """[row, limit]: the greatest A - B if the unjudged documents of each row have the codes of any of the ways."""
    n = ways.shape[1]
    columns = np.argsort(~pair.unjudged, axis=1, kind="stable")[:, :n]
    best = np.full((len(pair), len(limits)), -np.inf)
    for others in (np.zeros_like(pair.others), pair.others):
        values, positive = measure.greatest_by_count(pair, columns, others), np.arange(n + 1)
        if values is None:
            values, positive = _of_each_way(measure, pair, columns, ways, others), (ways > JUDGED).sum(axis=1)
        used = positive + others[:, None]
        for i, limit in enumerate(limits.tolist()):
            best[:, i] = np.maximum(best[:, i], np.where(used <= limit, values, -np.inf).max(axis=1))
        if not pair.others.any():
            break
    return best


def _of_each_way(measure: Measure, pair: PairEvidence, columns: Ints, ways: NDArray[np.int16], others: Ints) -> Floats:
    """[row, way]: A - B if the documents in these columns have the codes of a way."""
    values, n_ways = np.empty((len(pair), len(ways))), len(ways)
    step = max(1, CELLS // (n_ways * pair.codes.shape[1]))
    for start in range(0, len(pair), step):
        rows = np.arange(start, min(start + step, len(pair)))
        block = pair.rows(np.repeat(rows, n_ways))
        filled = block.codes.copy()
        if ways.size:
            np.put_along_axis(filled, np.repeat(columns[rows], n_ways, axis=0), np.tile(ways, (len(rows), 1)), axis=1)
        values[rows] = difference(measure, block, filled, np.repeat(others[rows], n_ways)).reshape(-1, n_ways)
    return values


def _in_all_orders(pair: PairEvidence, rows: Ints, most: int) -> Iterator[tuple[Ints, Ints, PairEvidence]]:
    """Some rows of pairs, in how many orders each, and these pairs in all orders of their tied documents, a few at a
    time; without the rows that have more orders than `most`."""
    kinds = np.where(pair.unjudged, -1, pair.codes)
    waiting: list[tuple[int, Floats]] = []
    for row in rows.tolist():
        priorities = all_orders(pair.tied[row], pair.shared[row], kinds[row], most)
        if len(priorities):
            waiting.append((row, priorities))
        if waiting and (row == rows[-1] or sum(of_row.size for _, of_row in waiting) >= CELLS):
            of_part = np.array([waited for waited, _ in waiting])
            counts = np.array([len(of_row) for _, of_row in waiting])
            orders = pair.rows(np.repeat(of_part, counts)).reordered(np.concatenate([of_row for _, of_row in waiting]))
            yield of_part, counts, orders
            waiting = []


def all_orders(tied: Bools, shared: Ints, kind: NDArray[np.int16], most: int) -> Floats:
    """[order, document]: priorities that bring the tied documents of a pair into every order, the same for both runs;
    none where there are more than `most`.

    In a group that both runs have in the same places, documents of one kind, unjudged or of the same code, may be
    swapped without changing what judging can do.
    """
    alone = np.flatnonzero(tied & (shared == ALONE)).tolist()
    numbers = distinct(shared[tied & (shared != ALONE)]).tolist()
    groups = [np.flatnonzero(tied & (shared == number)).tolist() for number in numbers]
    none = np.zeros((0, len(tied)))
    if any(factorial(len(group)) > most for group in (alone, *groups)):
        return none
    choices = [list(permutations(alone))]
    choices += [list({tuple(kind[list(order)]): order for order in permutations(group)}.values()) for group in groups]
    counts = [len(choice) for choice in choices]
    if prod(counts) > most:
        return none
    priorities = np.zeros((prod(counts), len(tied)))
    for choice, chosen in zip(choices, np.unravel_index(np.arange(prod(counts)), counts), strict=True):
        order = np.array(choice, dtype=np.int64)[chosen]
        np.put_along_axis(priorities, order, -np.arange(float(order.shape[1]))[None, :], axis=1)
    return priorities


# -- witnesses ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Judging:
    """A way of judging, and the difference it gives: one row for each row of a PairEvidence."""

    codes: NDArray[np.int16]  # [row, column]
    others: Ints  # [row]: how many of the documents that neither run has are relevant
    value: Floats  # A - B


def witness(measure: Measure, pair: PairEvidence) -> Judging:
    """A judging of each row with as great an A - B as a search finds.

    Documents in order of how much better A has them, the first m of them relevant, for m on a grid; what neither run
    has all relevant, or not at all.
    """
    advantage = np.where(pair.unjudged, 1 / pair.rank_a - 1 / pair.rank_b, -np.inf)
    helpful = advantage > 0
    top = np.int16(JUDGED + len(pair.levels) - 1)
    best = Judging(pair.codes, np.zeros(len(pair), dtype=np.int64), difference(measure, pair, pair.codes))
    most = int(helpful.sum(axis=1).max(initial=0))
    place = np.argsort(np.argsort(-advantage, axis=1, kind="stable"), axis=1)
    for m in counts_up_to(most):
        codes = np.where(helpful & (place < m), top, pair.codes)
        for others in (np.zeros_like(pair.others), pair.others):
            value = difference(measure, pair, codes, others)
            better = value > best.value
            best = Judging(
                np.where(better[:, None], codes, best.codes),
                np.where(better, others, best.others),
                np.where(better, value, best.value),
            )
            if not pair.others.any():
                break
    return best


def plain_witness(
    measure: Measure, block: RankingBlock, a: Ints, b: Ints, depth: int, others: Ints, universe_depth: int | None
) -> Floats:
    """What A - B is in one judging, the better one for A: all that A has above B relevant, and what neither run has in
    its first `depth` places all relevant, or not at all.

    Both rankings are looked at by themselves, for the pairs are too many to put their documents side by side.
    `others` and `universe_depth` are as in `RankingBlock.pairs`.
    """
    top, places = len(block.levels) - 1, np.arange(1, depth + 1)
    place = block.place[:, :depth]
    rank_in_b, rank_in_a = block.ranks_in(b, place[a]), block.ranks_in(a, place[b])
    codes, unjudged = block.code_rows[:, :depth], block.unjudged[:, :depth]
    codes_a, codes_b, open_a, open_b = codes[a], codes[b], unjudged[a], unjudged[b]
    if universe_depth is not None:
        near_a, near_b = (
            (places <= universe_depth) | ((rank > 0) & (rank <= universe_depth)) for rank in (rank_in_b, rank_in_a)
        )
        codes_a = np.where(open_a & ~near_a, np.int16(EXCLUDED), codes_a)
        codes_b = np.where(open_b & ~near_b, np.int16(EXCLUDED), codes_b)
        open_a, open_b = open_a & near_a, open_b & near_b
    helpful = open_a & ((rank_in_b == 0) | (rank_in_b > places))
    harmful = open_b & (rank_in_a > 0) & (rank_in_a < places)
    codes_a, codes_b = (
        np.where(new, np.int16(JUDGED + top), codes) for new, codes in ((helpful, codes_a), (harmful, codes_b))
    )
    counts = block.counts[block.topic_of(a)]
    counts[:, top] += helpful.sum(axis=1)

    def lead(counts: Ints) -> Floats:
        of_a, of_b = (
            comparable(measure, measure.value(block.as_evidence(rows, codes, counts=counts)))
            for rows, codes in ((a, codes_a), (b, codes_b))
        )
        return of_a - of_b

    greatest = lead(counts)
    if "universe" in measure.params and depth < block.width:
        only_b = open_b & ((rank_in_a == 0) | (rank_in_a > depth))
        others = others + block.unjudged_of_both(a, b, universe_depth) - open_a.sum(axis=1) - only_b.sum(axis=1)
    if others.any():
        counts = counts.copy()
        counts[:, top] += others
        greatest = np.maximum(greatest, lead(counts))
    return greatest


def quick_witness(measure: Measure, block: RankingBlock, a: Ints, b: Ints) -> Floats:
    """At most what A - B is in one judging: of the documents that only A has, those in its first places relevant.

    B's ranking stays as it is, and all that changes for it is R or the ideal. A's is cut there: what it has further
    down can only add. For measures of which that is true.
    """
    top = len(block.levels) - 1
    place = block.place[a, :WITNESSED]
    new = block.unjudged[a, :WITNESSED] & (block.ranks_in(b, place) == 0)
    added = new.sum(axis=1)
    counts = block.counts[block.topic_of(a)]
    counts[:, top] += added
    codes = np.where(new, np.int16(JUDGED + top), block.code_rows[a, :WITNESSED])
    lengths = np.minimum(block.lengths[a], place.shape[1])
    of_a = measure.value(block.as_evidence(a, codes, lengths=lengths, counts=counts))
    steps = np.append(0, 2 ** np.arange(np.ceil(np.log2(place.shape[1] + 1)))).astype(np.int64)
    # B falls with every document added: it is at most what it is with fewer.
    used, row = np.unique(b, return_inverse=True)
    of_b, evidence = np.empty((len(used), len(steps))), block.evidence(used)
    for i, more in enumerate(steps.tolist()):
        with_more = evidence.counts.copy()
        with_more[:, top] += more
        of_b[:, i] = measure.value(replace(evidence, counts=with_more))
    step = np.searchsorted(steps, added, side="right") - 1
    return comparable(measure, of_a) - comparable(measure, of_b[row, step])


def tie_witness(measure: Measure, pair: PairEvidence, tied: Bools) -> Floats:
    """As great an A - B of each row that is `tied` as judging gives under some other orders of ties, the same for both
    runs.

    What is relevant, or unjudged, comes first in its group if only A has it tied, last if only B has, and where both
    have it tied once first and once last.
    """
    greatest = np.full(len(pair), -np.inf)
    rows = np.flatnonzero(tied)
    if not len(rows):
        return greatest
    some = pair.rows(rows)
    gains = measure.tie_value(some.unranked)
    worth = np.where(some.unjudged, 0.9 * gains.max(), gains[some.codes])  # behind what is known to be relevant
    in_a, in_b = (places[0] != places[1] for places in (some.places_a, some.places_b))
    for sign in (1, -1):
        order = some.reordered(np.where(in_a & in_b, sign, np.where(in_a, 1, -1)) * worth)
        exact = measure.difference_is == "exact"
        value = (
            upper_bounds(measure, order, NO_LIMIT, over_ties=False)[:, 0] if exact else witness(measure, order).value
        )
        greatest[rows] = np.maximum(greatest[rows], value)
    return greatest


def listed(measure: Measure, pair: PairEvidence, now: Floats) -> tuple[Ints, Floats]:
    """[row, place]: columns of the documents by how much each alone, with the greatest grade, raises A - B from what it
    is now, then -1; and how far the first 1, 2, .. of them together raise it.

    Only those that A has further up than B are looked at, and of these the ones it has furthest up.
    """
    columns = _greatest_first(np.where(pair.unjudged, 1 / pair.rank_a - 1 / pair.rank_b, 0.0))
    values = with_relevant(measure, pair, columns, together=False)
    order = np.argsort(np.where(columns >= 0, -values, np.inf), axis=1, kind="stable")
    helps = (columns >= 0) & (values > now[:, None])
    columns = np.take_along_axis(np.where(helps, columns, -1), order, axis=1)
    return columns, with_relevant(measure, pair, columns, together=True) - now[:, None]


def changes_by_one(measure: Measure, pair: PairEvidence) -> tuple[Ints, Floats]:
    """[row, place]: columns of the unjudged documents that the two runs have at different ranks, then -1; and how far
    each alone, with the greatest grade, moves A - B. Of many those whose ranks differ most."""
    columns = _greatest_first(np.where(pair.unjudged, np.abs(1 / pair.rank_a - 1 / pair.rank_b), 0.0))
    now = difference(measure, pair, pair.codes)
    return columns, with_relevant(measure, pair, columns, together=False) - now[:, None]


def _greatest_first(values: Floats) -> Ints:
    """[row, place]: the columns of the greatest values above 0, then -1."""
    n = min(LISTED, int((values > 0).sum(axis=1).max(initial=0)))
    columns = np.argsort(-values, axis=1, kind="stable")[:, :n]
    return np.where(np.take_along_axis(values, columns, axis=1) > 0, columns, -1)


def with_relevant(measure: Measure, pair: PairEvidence, columns: Ints, *, together: bool) -> Floats:
    """[row, place]: A - B if the document of one of these columns had the greatest grade, or `together` with it those
    of all columns before it.

    As `difference`, for many ways of judging that have most of their documents in common.
    """
    values = np.empty(columns.shape)
    if not values.size:
        return values
    for start, stop in stretches(np.full(len(pair), columns.shape[1] * pair.codes.shape[1]), CELLS):
        rows = np.arange(start, stop)
        values[rows] = _with_relevant(measure, pair.rows(rows), columns[rows], together)
    return values


def _with_relevant(measure: Measure, pair: PairEvidence, columns: Ints, together: bool) -> Floats:
    rows, n = columns.shape
    top, ways, given = np.int16(JUDGED + len(pair.levels) - 1), np.arange(n)[:, None], columns >= 0
    counts = np.repeat(pair.counts[:, None, :], n, axis=1)
    counts[:, :, -1] += np.cumsum(given, axis=1) if together else given
    block_rows, sides = np.repeat(pair.a, n), []
    for own, rank, length in (
        (pair.columns_a, pair.rank_a, pair.length_a),
        (pair.columns_b, pair.rank_b, pair.length_b),
    ):
        width = own.shape[1]
        at = np.where(given, np.take_along_axis(rank, np.maximum(columns, 0), axis=1), ABSENT)
        first_way = np.full((rows, width + 1), n)  # in which the document of a place is relevant; the last is nowhere
        np.put_along_axis(first_way, np.minimum(at - 1, width).astype(np.int64), ways.T, axis=1)
        first_way = first_way[:, None, :width]
        relevant = first_way <= ways if together else first_way == ways
        codes = np.where(relevant, top, np.take_along_axis(pair.codes, own, axis=1)[:, None, :])
        evidence = pair.block.as_evidence(
            block_rows,
            codes.reshape(rows * n, width),
            lengths=np.repeat(length, n),
            counts=counts.reshape(rows * n, -1),
        )
        sides.append(comparable(measure, measure.value(evidence)).reshape(rows, n))
    return sides[0] - sides[1]


def counts_up_to(n: int) -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, ... and n."""
    counts, step = [], 1.0
    while step < n:
        counts.append(int(step))
        step = max(step + 1, step * 1.4)
    return [*counts, n] if n else []
