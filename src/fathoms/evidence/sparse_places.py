"""Those places of a run that may hold something, listed: what scores under many ways of judging are made from.

Of a thousand ranked documents a few hundred are relevant or may yet turn out to be; the others add nothing whatever is
judged. So a measure that is a sum over documents is quickest over a list of these alone, all draws side by side: the
first places of all topics, then their second ones, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base import kernel
from fathoms.evidence.evidence import Evidence, Floats, Ints


@dataclass(frozen=True, eq=False)
class Listed:
    """Places of one run, by topic and rank. Documents are numbered as the rows of the values that are summed."""

    depth: int  # of the longest ranking
    start: Ints  # where each topic's places start, and where the last one's end
    rank: Ints  # one a place, from 1
    document: Ints  # one a place

    def cut(self, k: float | None) -> Listed:
        """The places of the first k ranks."""
        if k is None or k >= self.depth:
            return self
        keep = self.rank <= k
        kept = np.append(0, np.cumsum(keep))
        return Listed(int(k), kept[self.start], self.rank[keep], self.document[keep])

    def weighted_sums(self, weights: Floats, values: Floats) -> Floats:
        """For each topic and draw the sum over places of weight [rank] times value [document, draw]."""
        from scipy.sparse import csr_matrix

        places = weights[self.rank - 1]
        matrix = csr_matrix((places, self.document, self.start), shape=(len(self.start) - 1, len(values)))
        total: Floats = matrix @ values
        return total

    def running_sums(self, weights: Floats, values: Floats) -> Floats:
        """For each topic and draw the sum over places of weight times value times the sum of values down to there."""
        compiled = self._compiled("running", weights, values)
        if compiled is not None:
            return compiled
        running, total = np.zeros((2, len(self.start) - 1, values.shape[1]))
        for n, place in self._layers:
            here = values[self.document[place]]
            running[:n] += here
            here *= running[:n]
            here *= weights[self.rank[place] - 1][:, None]
            total[:n] += here
        return self._in_order(total)

    def greatest(self, weights: Floats, values: Floats) -> Floats:
        """For each topic and draw the greatest weight times value of a place, at least 0."""
        compiled = self._compiled("greatest", weights, values)
        if compiled is not None:
            return compiled
        greatest = np.zeros((len(self.start) - 1, values.shape[1]))
        for n, place in self._layers:
            here = values[self.document[place]] * weights[self.rank[place] - 1][:, None]
            np.maximum(greatest[:n], here, out=greatest[:n])
        return self._in_order(greatest)

    def stopping_sums(self, weights: Floats, chances: Floats) -> Floats:
        """For each topic and draw the sum over places of weight times the chance to stop there, having passed all those
        above."""
        compiled = self._compiled("stopping", weights, chances)
        if compiled is not None:
            return compiled
        total = np.zeros((len(self.start) - 1, chances.shape[1]))
        reach = np.ones_like(total)
        for n, place in self._layers:
            chance = chances[self.document[place]]
            total[:n] += reach[:n] * chance * weights[self.rank[place] - 1][:, None]
            reach[:n] *= 1 - chance
        return self._in_order(total)

    def _compiled(self, kind: str, weights: Floats, values: Floats) -> Floats | None:
        return kernel.place_sums(kind, self.start, self.rank, self.document, weights, values)

    @cached_property
    def _by_length(self) -> Ints:
        """The topics, those with the most places first."""
        return np.argsort(-np.diff(self.start), kind="stable")

    @cached_property
    def _layers(self) -> list[tuple[int, Ints]]:
        """The first places of all topics, then their second ones, and so on; and how many of `_by_length` have one."""
        length = np.diff(self.start)[self._by_length]
        first = self.start[:-1][self._by_length]
        counts = np.searchsorted(-length, -np.arange(int(length.max(initial=0)))).tolist()
        return [(n, first[:n] + step) for step, n in enumerate(counts)]

    def _in_order(self, by_length: Floats) -> Floats:
        """Rows by length of ranking, as the topics are given."""
        in_order = np.empty_like(by_length)
        in_order[self._by_length] = by_length
        return in_order


def known_in_all(topics: list[str], levels: Floats, max_grade: float, counts: NDArray[Any]) -> Evidence:
    """What is known of topics without a ranking: a row a topic, judged documents by level."""
    n = len(topics)
    return Evidence(
        topics=topics,
        codes=np.zeros((n, 1), dtype=np.int16),
        tied=np.zeros((n, 1), dtype=bool),
        lengths=np.zeros(n, dtype=np.int64),
        levels=levels,
        max_grade=max_grade,
        counts=counts,
    )
