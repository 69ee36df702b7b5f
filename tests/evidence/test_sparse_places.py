"""Sums over listed places against plain loops, with the compiled kernel and without."""

from __future__ import annotations

import numpy as np
import pytest

from fathoms.evidence.sparse_places import Listed
from tests.support.kernels import both, same


def plain(kind: str, places: list[tuple[float, float]]) -> float:
    """What weights and values of the places of one topic come to, from the top."""
    total, above, reach = 0.0, 0.0, 1.0
    for weight, value in places:
        above += value
        if kind == "running_sums":
            total += weight * value * above
        elif kind == "greatest":
            total = max(total, weight * value)
        else:
            total += weight * value * reach
            reach *= 1 - value
    return total


@pytest.mark.parametrize("kind", ["running_sums", "greatest", "stopping_sums"])
@pytest.mark.parametrize("n_draws", [1, 5, 300])
def test_sums_over_places(kind: str, n_draws: int) -> None:
    rng = np.random.default_rng(n_draws)
    topic, rank = np.nonzero(rng.random((7, 12)) < np.array([0, 0.2, 0.9, 0, 1, 0.5, 0])[:, None])
    listed = Listed(12, np.searchsorted(topic, np.arange(8)), rank + 1, rng.integers(0, 20, len(rank)))
    weights, values = rng.random(12), rng.random((20, n_draws))
    compiled, alone = both(lambda: getattr(listed, kind)(weights, values))
    assert same(compiled, alone)
    for t in range(7):
        for d in range(n_draws):
            of_topic = np.flatnonzero(topic == t)
            pairs = [(weights[rank[i]], values[listed.document[i], d]) for i in of_topic]
            assert compiled[t, d] == pytest.approx(plain(kind, pairs), abs=1e-12)
