"""How often half of the topics orders two systems the other way round from the other half, and how often they are taken
for equal.

Buckley and Voorhees (2000), Evaluating Evaluation Measure Stability, SIGIR: two systems whose means differ by less than
a fixed share of the greater one, the fuzziness value, count as tied. Their sets of queries are here the two halves of
the topics, drawn at random many times, as in the swap method of Voorhees and Buckley (2002), The Effect of Topic Set
Size on Retrieval Experiment Error, SIGIR.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fathoms.evidence.evidence import Floats

FUZZINESS = 0.05  # as in the paper's Table 1
SPLITS = 50


@dataclass(frozen=True)
class HalfTopics:
    error_rate: float  # share of pairs, over splits, that the halves order in opposite ways
    tied: float  # share of pairs, over halves, whose means are within the fuzziness value


def half_topics(scores: Floats, seed: int = 0, fuzziness: float = FUZZINESS, splits: int = SPLITS) -> HalfTopics:
    """From scores [system, topic]. With an odd number of topics one is left out of each split; nan with fewer than two
    topics or systems."""
    n_systems, n_topics = scores.shape
    half = n_topics // 2
    if half == 0 or n_systems < 2:
        return HalfTopics(float("nan"), float("nan"))
    rng = np.random.default_rng(seed)
    a, b = np.triu_indices(n_systems, 1)
    opposite = tied = 0.0
    for _ in range(splits):
        order = rng.permutation(n_topics)
        signs = []
        for part in (order[:half], order[half : 2 * half]):
            means = scores[:, part].mean(axis=1)
            difference = means[a] - means[b]
            equal = np.abs(difference) <= fuzziness * np.maximum(np.abs(means[a]), np.abs(means[b]))
            signs.append(np.where(equal, 0.0, np.sign(difference)))
            tied += float((signs[-1] == 0).mean()) / (2 * splits)
        opposite += float((signs[0] * signs[1] < 0).mean()) / splits
    return HalfTopics(opposite, tied)
