"""Average precision as a random variable (RTC section 2.1).

Each unjudged document is relevant with a probability of its own. With a_ij = 1 / max(r_i, r_j) the numerator of AP is
the quadratic form S = sum_i a_ii X_i + sum_{i<j} a_ij X_i X_j, and AP is about S / sum_i p_i: the paper divides by the
expected number of relevant documents. Its variance is a triple sum, for which the paper cut rankings at 100. By
Hoeffding's decomposition, with v_i = p_i (1 - p_i),

    Cov(S, S') = sum_i v_i H_i H'_i + sum_{i<j} v_i v_j a_ij a'_ij,    H_i = a_ii + sum_{j != i} a_ij p_j,

for two rankings of the same documents. H and the second sum for one ranking are cumulative sums; for two rankings it
is a sum over pairs in which both agree on the order plus one over those in which they do not (`PairSums`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import ratio
from fathoms.base.tolerances import ROUNDING
from fathoms.evidence.candidates import Block
from fathoms.evidence.evidence import Floats, Ints

MOST_SHARED = 400_000  # documents of all pairs of systems together for which covariances of order two are kept


def influence(block: Block, p: Floats) -> Floats:
    """H of each system: [topic, system, column], what one more relevant document adds to S; 0 where not retrieved."""
    chance = block.by_rank(p)
    inverse = 1.0 / np.arange(1, block.depth + 1)
    above = np.cumsum(chance, axis=2) - chance
    weighted = chance * inverse
    below = np.cumsum(weighted[:, :, ::-1], axis=2)[:, :, ::-1] - weighted
    return block.by_column(inverse * (1.0 + above) + below)


class PairSums:
    """Sums over pairs of documents that two systems both retrieved, for all pairs of systems of a block.

    For i below j in system A's order, min(b_i, b_j) is b_i or b_j as B's order says, so what is needed are dominance
    sums: for each document the sum over those that are above it in A and in B. They are made as in merge sort, one pass
    over all pairs of systems and topics a level. Which document goes where depends on the ranks only, and is kept.
    """

    def __init__(self, block: Block) -> None:
        n_topics, k, _ = block.shape
        self.pairs = [(a, b) for a in range(k) for b in range(a)]
        self.n_topics = n_topics
        by_run: list[tuple[NDArray[Any], ...]] = []
        ranks = np.pad(block.rank, ((0, 0), (0, 0), (0, 1)))
        for a in range(1, k):
            column = block.column[:, a]
            ranks_b = np.take_along_axis(ranks[:, :a], column[:, None], axis=2).transpose(1, 0, 2)
            b, topic, place = np.nonzero(ranks_b)
            number = a * (a - 1) // 2 + b  # of the pair
            by_run.append((number * n_topics + topic, topic, column[topic, place], place + 1, ranks_b[b, topic, place]))
        columns: list[Ints] = [np.empty(0, dtype=np.int64)] * 5
        if by_run:
            columns = [np.concatenate(parts) for parts in zip(*by_run, strict=True)]
        self.problem, self.topic, self.column, rank_a, rank_b = columns
        self.a, self.b = 1.0 / rank_a, 1.0 / rank_b
        counts = np.bincount(self.problem, minlength=max(1, len(self.pairs) * n_topics))
        self.start = (np.cumsum(counts) - counts)[self.problem]
        self.levels = _levels(self.problem, np.arange(len(self.problem)) - self.start, rank_b)

    def __len__(self) -> int:
        return len(self.problem)

    def cross(self, v: Floats) -> Floats:
        """sum_{i<j} v_i v_j a_ij b_ij: [topic, system, system], its diagonal empty."""
        k = max(max(pair) for pair in self.pairs) + 1 if self.pairs else 1
        result = np.zeros((self.n_topics, k, k))
        if not len(self):
            return result
        values = v[self.topic, self.column]
        weighted = values * self.b
        total = np.concatenate([[0.0], np.cumsum(weighted)])
        above = total[:-1] - total[self.start]
        inner = self.b * self._dominance(values) + above - self._dominance(weighted)
        sums = np.bincount(self.problem, weights=values * self.a * inner, minlength=len(self.pairs) * self.n_topics)
        first, second = np.array(self.pairs).T
        result[:, first, second] = result[:, second, first] = sums.reshape(len(self.pairs), self.n_topics).T
        return result

    def _dominance(self, values: Floats) -> Floats:
        """For each document the sum over those above it in A and B."""
        sums = np.zeros(len(values))
        running = np.zeros(len(values) + 1)
        for left, right, before, before_group in self.levels:
            np.cumsum(values[left], out=running[1 : len(left) + 1])
            sums[right] += running[before] - running[before_group]
        return sums


def _levels(problem: Ints, place: Ints, rank_b: Ints) -> list[tuple[Ints, Ints, Ints, Ints]]:
    """How documents in A's order are merged by B's: at each level the left half of a group comes before its right.

    A level has the documents of the left halves and those of the right ones, and for each of these the left ones that B
    has before it, and before its group, both counted over all groups.
    """
    levels = []
    if not len(problem):
        return []
    here = np.arange(len(problem))
    origin = here - place  # where the problem starts, for all of its places
    order = np.argsort(problem * (int(rank_b.max()) + 1) + rank_b)
    for level in reversed(range(int(place.max()).bit_length())):
        half = place[order] >> level
        start = origin + (half >> 1 << level + 1)
        is_left = half & 1 == 0
        right = np.flatnonzero(~is_left)
        left = np.cumsum(is_left) - is_left
        levels.append((order[is_left], order[right], left[right], left[start[right]]))
        # The halves, each still in B's order, are the groups of the next level. A left one is full if it has a right.
        before = left - left[start]
        halves = np.empty_like(order)
        halves[start + np.where(is_left, before, (1 << level) + here - start - before)] = order
        order = halves
    return levels[::-1]


class Moments:
    """Expectation and covariance of the systems' AP for given probabilities, kept up to date as documents are judged.

    A judgment costs work in its topic only: one row of a_ij changes H, and covariances follow from matrix products.
    """

    def __init__(self, block: Block, p: Floats | None = None, elsewhere: Floats | None = None) -> None:
        """Without `p` nothing can be asked before `set`. `elsewhere` counts each topic's relevant documents that no
        system retrieved: they belong to R."""
        self.block = block
        self.elsewhere = np.zeros(block.shape[0]) if elsewhere is None else elsewhere
        # Beyond some number of systems the covariances of order two are left out: variances of differences are then
        # a little too large, and confidence a little too low.
        having = (block.rank > 0).sum(axis=1)
        shared = int((having * (having - 1) // 2).sum())
        self.pair_sums = PairSums(block) if shared <= MOST_SHARED else None
        if p is not None:
            self.set(p)

    def set(self, p: Floats) -> None:
        """Other probabilities for all documents: 0 or 1 where judged, 0 where there is no document."""
        block = self.block
        self.p = p.copy()
        self.v = self.p * (1.0 - self.p)
        self.H = influence(block, self.p)
        self.S = 0.5 * ((self.H + block.inverse) @ self.p[:, :, None])[:, :, 0]
        self.R = self.p.sum(axis=1) + self.elsewhere
        chance = block.by_rank(self.v)
        above = np.cumsum(chance, axis=2) - chance
        inverse = 1.0 / np.arange(1, block.depth + 1)
        self.second = _nothing(block) if self.pair_sums is None else self.pair_sums.cross(self.v)
        own = np.arange(block.shape[1])
        self.second[:, own, own] = (chance * inverse**2 * above).sum(axis=2)
        self.first = np.empty_like(self.second)
        self._first(slice(None))
        self.expectation = np.empty(self.S.shape)  # expected AP, [topic, system]: E[S] over the expected R
        self.covariance = np.empty(self.first.shape)  # covariances of AP, [topic, system, system]
        self._of_topics(slice(None))

    def judge(self, topic: int, column: int, relevant: bool) -> Floats:
        """One document's relevance is known now. Returns its row of a_ij, [system, column], own place 0."""
        inverse = self.block.inverse[topic]
        row: Floats = np.minimum(inverse, inverse[:, column : column + 1])
        row[:, column] = 0.0
        change = float(relevant) - self.p[topic, column]
        self.H[topic] += change * row
        lost = self.v[topic, column] * ((row * self.v[topic]) @ row.T)
        self.second[topic] -= lost if self.pair_sums is not None else np.diag(np.diag(lost))
        self.p[topic, column] = float(relevant)
        self.v[topic, column] = 0.0
        self.S[topic] = 0.5 * ((self.H[topic] + inverse) @ self.p[topic])
        # A running sum would leave rounding where nothing is relevant.
        self.R[topic] = self.p[topic].sum() + self.elsewhere[topic]
        self._first(topic)
        self._of_topics(topic)
        return row

    def _first(self, topic: int | slice) -> None:
        H, v = self.H[topic], self.v[topic]
        self.first[topic] = (H * v[..., None, :]) @ np.swapaxes(H, -1, -2)

    def _of_topics(self, topic: int | slice) -> None:
        self.expectation[topic] = ratio(self.S[topic], self._over(topic, 1))
        self.covariance[topic] = ratio(self.first[topic] + self.second[topic], np.square(self._over(topic, 2)))

    def _over(self, topic: int | slice, more: int) -> Any:
        """R to divide by: a number for one topic, for several an array with more axes."""
        return self.R[topic] if isinstance(topic, int) else self.R[topic].reshape(-1, *[1] * more)

    def gradient(self, topic: int | slice = slice(None)) -> Floats:
        """dE[AP]/dp_i, [topic, system, column] (or of one topic)."""
        return ratio(self.H[topic] - self.expectation[topic][..., None], self._over(topic, 2))


def _nothing(block: Block) -> Floats:
    n_topics, k, _ = block.shape
    return np.zeros((n_topics, k, k))


def confidence(expectation: Floats, covariance: Floats) -> Floats:
    """[a, b]: P(system a's mean is greater than b's) from the normal distribution; 0.5 where both are the same."""
    from scipy.special import ndtr

    own = covariance.diagonal()
    variance = np.maximum(own[:, None] + own - 2 * covariance, 0.0)
    difference = expectation[:, None] - expectation
    with np.errstate(divide="ignore", invalid="ignore"):
        z = difference / np.sqrt(variance)
    z[np.abs(difference) < ROUNDING] = 0.0
    return ndtr(z)


def mean_of_topics(moments: Moments) -> tuple[Floats, Floats]:
    """Expectation [system] and covariance [system, system] of MAP (RTC eq. 1): topics are independent."""
    n_topics = moments.block.shape[0]
    expectation, covariance = (np.add.reduce(part, axis=0) for part in (moments.expectation, moments.covariance))
    return expectation / n_topics, covariance / n_topics**2
