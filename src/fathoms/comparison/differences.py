"""The range of a difference between two systems over all ways of judging what is unjudged.

For measures that add up weights, a document that both systems retrieved counts for both at once: the difference is a
sum over documents of (W(r_A) - W(r_B)) g, and each unjudged one goes to whichever extreme its sign says. So the range
is exact, and narrower than the difference of the two ranges. Tails hold no listed documents: each system may have its
own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fathoms.data.qrels import NEGATIVE, UNJUDGED
from fathoms.evidence.align import Ranked
from fathoms.evidence.evidence import Evidence, Floats
from fathoms.evidence.pool import Pool
from fathoms.measures.base import Scores
from fathoms.measures.weighted import Weighted

NEGLIGIBLE = 1e-16  # a weight below this cannot be seen in a score


@dataclass(frozen=True, eq=False)
class UnjudgedWeights:
    """What one system's unjudged documents weigh, by topic; documents numbered alike for all systems."""

    topic: NDArray[np.int32]
    document: NDArray[np.int32]
    weight: Floats
    tail: float  # of the places below its documents, mean over topics
    top: float  # the most a document can gain


def unjudged_weights(ranked: Ranked, pool: Pool, measure: Weighted, evidence: Evidence) -> UnjudgedWeights:
    weights = measure.weights(evidence)
    read = (ranked.rank <= len(weights)) & ((ranked.codes == UNJUDGED) | (ranked.codes == NEGATIVE))
    weight = weights[ranked.rank[read] - 1]
    some = weight > NEGLIGIBLE
    rows = ranked.rows[read][some]
    document = pool.lookup.find(ranked.keys[read][some], ranked.run.documents[rows])
    tail = float(np.broadcast_to(measure.tail(evidence), (len(evidence),)).mean())
    return UnjudgedWeights(ranked.topic[read][some], document, weight[some], tail, measure.top_gain(evidence))


def surplus(systems: Sequence[UnjudgedWeights], n_topics: int) -> Floats:
    """Sum over documents of max(0, W_A - W_B), mean over topics: [A, B]."""
    from scipy.spatial.distance import cdist

    system = np.repeat(np.arange(len(systems)), [len(one.topic) for one in systems])
    topic = np.concatenate([one.topic for one in systems])
    document = np.concatenate([one.document for one in systems])
    weight = np.concatenate([one.weight for one in systems])
    order = np.argsort(topic, kind="stable")
    system, topic, document, weight = system[order], topic[order], document[order], weight[order]
    ends = np.searchsorted(topic, np.arange(n_topics + 1))
    total = np.zeros((len(systems), len(systems)))
    for start, stop in pairwise(ends):
        if start == stop:
            continue
        _, column = np.unique(document[start:stop], return_inverse=True)
        block = np.zeros((len(systems), int(column.max()) + 1))
        block[system[start:stop], column] = weight[start:stop]
        sums = block.sum(axis=1)
        # max(0, x) = (|x| + x) / 2, and the sum of |x| over documents is the city-block distance.
        total += (cdist(block, block, "cityblock") + sums[:, None] - sums[None, :]) / 2
    return total / n_topics


def weighted_range(
    scores: Sequence[Scores], systems: Sequence[UnjudgedWeights], n_topics: int
) -> tuple[Floats, Floats]:
    """Least and greatest mean difference A - B for all pairs, [A, B], exact over listed documents."""
    mean = np.array([score.score.mean() for score in scores])
    top, tail = systems[0].top, np.array([one.tail for one in systems])
    more = surplus(systems, n_topics)
    difference = mean[:, None] - mean[None, :]
    return difference - top * (more.T + tail[None, :]), difference + top * (more + tail[:, None])


def sound_range(scores: Sequence[Scores]) -> tuple[Floats, Floats] | None:
    """Least and greatest mean difference from the two ranges alone; None where there are none."""
    if any(score.low is None or score.high is None for score in scores):
        return None
    low = np.array([score.low.mean() for score in scores if score.low is not None])
    high = np.array([score.high.mean() for score in scores if score.high is not None])
    return low[:, None] - high[None, :], high[:, None] - low[None, :]
