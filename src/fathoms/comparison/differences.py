"""The range of a difference between two systems over every way of judging, the judging that reaches it, and how many
documents it takes to reverse a sign.

For each topic and pair there is an upper bound on A - B (`upper_bounds`), made of the family's own bound, of the two
ranges, and where few documents are unjudged of all ways of judging them one by one; the lower bound is that of B - A.
A *witness* is a judging that was evaluated: the difference it gives is possible, so bound and witness enclose the end
of the range, and where they meet it is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations, product
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from fathoms.data.arrays import distinct
from fathoms.data.qrels import EXCLUDED, JUDGED
from fathoms.evidence.evidence import Bools, Evidence, Floats, Ints
from fathoms.evidence.pairs import ALONE, PairEvidence, TopicRankings
from fathoms.measures.base import Measure
from fathoms.measures.differences import NO_LIMIT
from fathoms.measures.gains import Binary

ENUMERATED = 4096  # ways of judging a topic up to which all are gone through
ENDLESS = 1_000_000  # documents that stand for any number of them
CELLS = 2_000_000  # ways times documents worked on at a time
WITNESSED = 200  # places of a run among which a quick witness is looked for
FEW = 1000  # pairs up to which orders of ties are gone through one by one


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


def _evidence_on(pair: PairEvidence, systems: Ints, columns: Ints) -> Evidence:
    """One side of the pairs by itself. What the pair counts as never to be judged is so here too."""
    evidence = pair.topic.evidence(systems, pair.unjudged.sum(axis=1) + pair.others).cut(columns.shape[1])
    return replace(evidence, codes=np.take_along_axis(pair.codes, columns, axis=1), _cache={})


# -- bounds ------------------------------------------------------------------------------------------------------------


def upper_bounds(measure: Measure, pair: PairEvidence, limits: Ints, over_ties: bool) -> Floats:
    """[row, limit]: the most that A - B can be with at most that many documents judged relevant."""
    best = np.full((len(pair), len(limits)), np.inf)
    if over_ties:
        pair = pair.over_ties(measure.tie_value(pair.one))
    own = measure.greatest_difference(pair, limits)
    if own is not None:
        best = np.minimum(best, own)
    alike = identical(measure, pair, over_ties)
    if measure.difference_is != "exact" or own is None:
        high = listed_range(measure, _evidence_on(pair, pair.a, pair.columns_a), over_ties)[1]
        low = listed_range(measure, _evidence_on(pair, pair.b, pair.columns_b), over_ties)[0]
        if high is not None and low is not None:
            best = np.minimum(best, (high - low)[:, None])
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
        step = max(1, CELLS // (len(ways) * pair.codes.shape[1]))
        for start in range(0, len(plain), step):
            part = plain[start : start + step]
            best[part] = _over_ways(measure, pair.rows(part), ways, limits)
        for row in rows[tied[rows]] if len(pair) <= FEW else ():
            orders = all_orders(pair.rows(np.array([row])), 8 * ENUMERATED // len(ways))
            if orders:
                best[row] = np.max([_over_ways(measure, order, ways, limits)[0] for order in orders], axis=0)
    return best


def _over_ways(measure: Measure, pair: PairEvidence, ways: NDArray[np.int16], limits: Ints) -> Floats:
    """[row, limit]: the greatest A - B if the unjudged documents of each row have the codes of any of the ways."""
    n_ways, n = ways.shape
    block = pair.rows(np.repeat(np.arange(len(pair)), n_ways))
    filled = block.codes.copy()
    if n:
        columns = np.argsort(~pair.unjudged, axis=1, kind="stable")[:, :n]
        np.put_along_axis(filled, np.repeat(columns, n_ways, axis=0), np.tile(ways, (len(pair), 1)), axis=1)
    positive = (ways > JUDGED).sum(axis=1)
    best = np.full((len(pair), len(limits)), -np.inf)
    for others in (np.zeros_like(block.others), block.others):
        found = difference(measure, block, filled, others).reshape(len(pair), n_ways)
        used = positive + others.reshape(len(pair), n_ways)
        for i, limit in enumerate(limits.tolist()):
            best[:, i] = np.maximum(best[:, i], np.where(used <= limit, found, -np.inf).max(axis=1))
        if not block.others.any():
            break
    return best


def all_orders(pair: PairEvidence, most: int) -> list[PairEvidence]:
    """A pair under every order of its tied documents, the same for both runs; none where there are more than `most`.

    In a group that both runs have in the same places, documents that are unjudged, or have the same code, may be
    swapped without changing what judging can do.
    """
    tied, shared, codes = np.flatnonzero(pair.tied[0]), pair.shared[0], pair.codes[0]
    alone = tied[shared[tied] == ALONE].tolist()
    groups = [tied[shared[tied] == group].tolist() for group in distinct(shared[tied]).tolist() if group != ALONE]
    if any(factorial(len(group)) > most for group in (alone, *groups)):
        return []
    kind = np.where(pair.unjudged[0], -1, codes)
    choices = [list(permutations(alone))]
    choices += [list({tuple(kind[list(order)]): order for order in permutations(group)}.values()) for group in groups]
    if prod(len(choice) for choice in choices) > most:
        return []
    orders = []
    priority = np.zeros((1, len(codes)))
    for chosen in product(*choices):
        for order in chosen:
            priority[0, list(order)] = -np.arange(len(order))
        orders.append(pair.reordered(priority))
    return orders


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
            found = difference(measure, pair, codes, others)
            better = found > best.value
            best = Judging(
                np.where(better[:, None], codes, best.codes),
                np.where(better, others, best.others),
                np.where(better, found, best.value),
            )
            if not pair.others.any():
                break
    return best


def plain_witness(
    measure: Measure, topic: TopicRankings, a: Ints, b: Ints, depth: int, others: Ints, universe_depth: int | None
) -> Floats:
    """What A - B is in one judging, the better one for A: all that A has above B relevant, and what neither run has in
    its first `depth` places all relevant, or not at all.

    Both rankings are looked at by themselves, for the pairs are too many to put their documents side by side.
    `others` and `universe_depth` are as in `TopicRankings.pairs`.
    """
    top, places = len(topic.levels) - 1, np.arange(1, depth + 1)
    place = topic.place[:, :depth]
    rank_in_b, rank_in_a = topic.ranks_in(b, place[a]), topic.ranks_in(a, place[b])
    codes, unjudged = topic.codes[place], topic.unjudged[place]
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
    counts = np.repeat(topic.counts[None, :], len(a), axis=0)
    counts[:, top] += helpful.sum(axis=1)

    def value(codes: NDArray[np.int16], systems: Ints, counts: Ints) -> Floats:
        evidence = topic.as_evidence(codes, np.zeros(codes.shape, dtype=bool), topic.lengths[systems], counts=counts)
        return comparable(measure, measure.value(evidence))

    found = value(codes_a, a, counts) - value(codes_b, b, counts)
    if "universe" in measure.params and depth < topic.place.shape[1]:
        only_b = open_b & ((rank_in_a == 0) | (rank_in_a > depth))
        others = others + topic.unjudged_of_both(universe_depth)[a, b] - open_a.sum(axis=1) - only_b.sum(axis=1)
    if others.any():
        counts = counts.copy()
        counts[:, top] += others
        found = np.maximum(found, value(codes_a, a, counts) - value(codes_b, b, counts))
    return found


def quick_witness(measure: Measure, topic: TopicRankings, a: Ints, b: Ints) -> Floats:
    """At most what A - B is in one judging: of the documents that only A has, those in its first places relevant.

    B's ranking stays as it is, and all that changes for it is R or the ideal. A's is cut there: what it has further
    down can only add. For measures of which that is true.
    """
    top = len(topic.levels) - 1
    place = topic.place[a][:, :WITNESSED]
    new = topic.unjudged[place] & (topic.ranks_in(b, place) == 0)
    added = new.sum(axis=1)
    counts = np.repeat(topic.counts[None, :], len(a), axis=0)
    counts[:, top] += added
    codes = np.where(new, np.int16(JUDGED + top), topic.codes[place])
    lengths = np.minimum(topic.lengths[a], place.shape[1])
    value = measure.value(topic.as_evidence(codes, np.zeros(codes.shape, dtype=bool), lengths, counts=counts))
    steps = np.append(0, 2 ** np.arange(np.ceil(np.log2(place.shape[1] + 1)))).astype(np.int64)
    # B falls with every document added: it is at most what it is with fewer.
    with_steps = np.repeat(topic.counts[None, :], len(steps), axis=0)
    with_steps[:, top] += steps
    used, row = np.unique(b, return_inverse=True)
    theirs, evidence = np.empty((len(used), len(steps))), topic.evidence(used)
    for i, counts_of in enumerate(with_steps):
        theirs[:, i] = measure.value(replace(evidence, counts=np.repeat(counts_of[None, :], len(used), axis=0)))
    step = np.searchsorted(steps, added, side="right") - 1
    return comparable(measure, value) - comparable(measure, theirs[row, step])


def tie_witness(measure: Measure, pair: PairEvidence, tied: Bools) -> Floats:
    """As great an A - B of each row that is `tied` as judging gives under some other orders of ties, the same for both
    runs.

    What is relevant, or unjudged, comes first in its group if only A has it tied, last if only B has, and where both
    have it tied once first and once last.
    """
    found = np.full(len(pair), -np.inf)
    rows = np.flatnonzero(tied)
    if not len(rows):
        return found
    some = pair.rows(rows)
    gains = measure.tie_value(some.one)
    worth = np.where(some.unjudged, 0.9 * gains.max(), gains[some.codes])  # behind what is known to be relevant
    in_a, in_b = (places[0] != places[1] for places in (some.places_a, some.places_b))
    for sign in (1, -1):
        order = some.reordered(np.where(in_a & in_b, sign, np.where(in_a, 1, -1)) * worth)
        exact = measure.difference_is == "exact"
        value = (
            upper_bounds(measure, order, NO_LIMIT, over_ties=False)[:, 0] if exact else witness(measure, order).value
        )
        found[rows] = np.maximum(found[rows], value)
    return found


def counts_up_to(n: int) -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, ... and n."""
    counts, step = [], 1.0
    while step < n:
        counts.append(int(step))
        step = max(step + 1, step * 1.4)
    return [*counts, n] if n else []
