"""Those places of a run that may hold something, listed: what scores under many ways of judging are made from.

Of a thousand ranked documents a few hundred are relevant or may yet turn out to be; the others add nothing whatever is
judged. So a measure that is a sum over documents is quickest over a list of these alone, all draws side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.evidence.evidence import Evidence, Floats, Ints

BROAD = 10_000  # topics times draws from which on it is quicker to go place by place


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
        if (len(self.start) - 1) * values.shape[1] >= BROAD:
            return self._place_by_place(weights, values)
        here = values[self.document]
        running = np.cumsum(here, axis=0)
        some = self._some
        total = np.zeros((len(self.start) - 1, values.shape[1]))
        if not some.any():
            return total
        first = self.start[:-1][some]
        before = running[first] - here[first]
        running -= np.repeat(before, np.diff(self.start)[some], axis=0)
        running *= here
        running *= weights[self.rank - 1][:, None]
        total[some] = np.add.reduceat(running, first, axis=0)
        return total

    def _place_by_place(self, weights: Floats, values: Floats) -> Floats:
        """`running_sums` over the first places of all topics, then their second ones, and so on: no more at a time than
        the processor's caches hold."""
        length = np.diff(self.start)
        by_length = np.argsort(-length, kind="stable")
        first, longest = self.start[:-1][by_length], length[by_length]
        running, total = np.zeros((2, len(length), values.shape[1]))
        for step in range(int(longest.max(initial=0))):
            n = int(np.searchsorted(-longest, -step))  # rankings that are longer
            place = first[:n] + step
            here = values[self.document[place]]
            running[:n] += here
            here *= running[:n]
            here *= weights[self.rank[place] - 1][:, None]
            total[:n] += here
        found = np.empty_like(total)
        found[by_length] = total
        return found

    @cached_property
    def _some(self) -> NDArray[np.bool_]:
        return np.diff(self.start) > 0


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
