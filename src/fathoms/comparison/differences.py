"""The range of a difference between two systems over all ways of judging what is unjudged.

For measures that add up weights, a document that both systems retrieved counts for both at once: the difference is a
sum over documents of (W(r_A) - W(r_B)) g, and each unjudged one goes to whichever extreme its sign says. So the range
is exact, and narrower than the difference of the two ranges. Tails hold no listed documents: each system may have its
own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from fathoms.data.qrels import NEGATIVE, UNJUDGED, Qrels
from fathoms.evidence.align import Ranked
from fathoms.evidence.evidence import Evidence, Floats, Ints
from fathoms.evidence.pool import Pool
from fathoms.measures.base import Scores
from fathoms.measures.weighted import Weighted

NEGLIGIBLE = 1e-16  # a weight below this cannot be seen in a score


class UnjudgedWeights:
    """What each system's unjudged documents weigh, by topic; documents numbered alike for all systems."""

    def __init__(self, n_systems: int, qrels: Qrels) -> None:
        self.n_systems = n_systems
        self.n_topics = len(qrels.topics)
        self._parts: list[tuple[Ints, Ints, Ints, Floats]] = []  # system, topic, document, weight

    def add(self, system: int, ranked: Ranked, pool: Pool, measure: Weighted, evidence: Evidence) -> None:
        weights = measure.weights(evidence)
        read = (ranked.rank <= len(weights)) & ((ranked.codes == UNJUDGED) | (ranked.codes == NEGATIVE))
        weight = weights[ranked.rank[read] - 1]
        some = weight > NEGLIGIBLE
        rows = ranked.rows[read][some]
        document = pool.lookup.find(ranked.keys[read][some], ranked.run.documents[rows])
        topic = ranked.topic[read][some].astype(np.int64)
        self._parts.append((np.full(len(topic), system), topic, document.astype(np.int64), weight[some]))

    def surplus(self) -> Floats:
        """Sum over documents of max(0, W_A - W_B), mean over topics: [A, B]."""
        from scipy.spatial.distance import cdist

        system, topic, document, weight = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        order = np.argsort(topic, kind="stable")
        system, topic, document, weight = system[order], topic[order], document[order], weight[order]
        ends = np.searchsorted(topic, np.arange(self.n_topics + 1))
        total = np.zeros((self.n_systems, self.n_systems))
        for start, stop in pairwise(ends):
            if start == stop:
                continue
            _, column = np.unique(document[start:stop], return_inverse=True)
            block = np.zeros((self.n_systems, int(column.max()) + 1))
            block[system[start:stop], column] = weight[start:stop]
            sums = block.sum(axis=1)
            # max(0, x) = (|x| + x) / 2, and the sum of |x| over documents is the city-block distance.
            total += (cdist(block, block, "cityblock") + sums[:, None] - sums[None, :]) / 2
        return total / self.n_topics


def weighted_range(
    measure: Weighted, scores: Sequence[Scores], evidences: Sequence[Evidence], surplus: Floats
) -> tuple[Floats, Floats]:
    """Least and greatest mean difference A - B for all pairs, [A, B], exact over listed documents."""
    mean = np.array([score.score.mean() for score in scores])
    top = measure.top_gain(evidences[0])
    tail = np.array([np.broadcast_to(measure.tail(e), (len(e),)).mean() for e in evidences])
    difference = mean[:, None] - mean[None, :]
    return difference - top * (surplus.T + tail[None, :]), difference + top * (surplus + tail[:, None])


def sound_range(scores: Sequence[Scores]) -> tuple[Floats, Floats] | None:
    """Least and greatest mean difference from the two ranges alone; None where there are none."""
    if any(score.low is None or score.high is None for score in scores):
        return None
    low = np.array([score.low.mean() for score in scores if score.low is not None])
    high = np.array([score.high.mean() for score in scores if score.high is not None])
    return low[:, None] - high[None, :], high[:, None] - low[None, :]
