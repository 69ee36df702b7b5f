"""How far an estimate from a sample may be off, from the sample itself.

The variance is that of the design: in a cell of N documents, n of them sampled, N (N - n) / n times the variance of the
influences there (Yates and Grundy's estimator, and the stratified one); for documents drawn independently, and for the
only one of a cell, the sum of (1 - p) / p^2 times the square, which is never too small on average. For a topic the
influences of other topics' documents are 0.

Such a variance is itself a guess where few sampled documents had any influence, and 0 where none was relevant. So it is
joined by the variance to expect from what is known of *all* documents: the effect that each would have if relevant, and
how often documents of its stratum are, all topics together. It counts as much as PRIOR documents; the estimate's own
counts as much as the number of documents that it rests on, (sum v)^2 / sum v^2 with v each one's part of it. Student's
t has that many degrees of freedom together, less one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from fathoms.base.arrays import ratio, row_sums
from fathoms.data.qrels import JUDGED
from fathoms.estimate.control_variates import Helper
from fathoms.estimate.sample import Sample, share_relevant
from fathoms.evidence.evidence import Floats, Ints

PRIOR = 4.0  # documents that the variance to expect counts for
LEAST_CHANCE = 0.002  # no document is surer than this not to be relevant


@dataclass(frozen=True, eq=False)
class Spread:
    """Variances of some estimates, and the degrees of freedom that go with them."""

    variance: Floats
    freedom: Floats

    def half_width(self, level: float) -> Floats:
        return stdtrit(self.freedom, (1 + level) / 2) * np.sqrt(self.variance)


class Errors:
    """Turns influences and effects into variances, for one sample."""

    def __init__(self, sample: Sample, helper: Helper | None) -> None:
        chosen = sample.chosen
        self.helper = helper
        self.kept: dict[Any, Any] = {}  # what estimates of all runs share
        self.n_topics = sample.n_topics
        self.topic: Ints = sample.topic[chosen]
        p = sample.probability[chosen]
        self.single: Floats = (1 - p) / p**2
        cell = sample.cell[chosen]
        drawn = np.append(sample.drawn, 1)[cell]
        self.in_cell = np.flatnonzero((cell >= 0) & (drawn > 1))
        self.alone = np.flatnonzero((cell < 0) | (drawn < 2))
        self.cell: Ints = cell[self.in_cell]
        size, drawn_f = sample.size.astype(np.float64), sample.drawn.astype(np.float64)
        self.drawn = drawn_f
        self.factor = np.where(drawn_f > 1, size * (size - drawn_f) / np.maximum(drawn_f * (drawn_f - 1), 1.0), 0.0)
        self.open = np.flatnonzero(sample.open)
        self.open_topic: Ints = sample.topic[self.open]
        self.expected = self._expected(sample, helper)

    def _expected(self, sample: Sample, helper: Helper | None) -> Floats:
        """(1 - p) / p times the mean square error to expect of each open document's relevance."""
        p = sample.probability[self.open]
        relevant = (sample.codes > JUDGED).astype(np.float64)
        if helper is None:
            square = share_relevant(sample, relevant)[sample.stratum[self.open]]
        else:
            guess = helper.probability
            spread = np.maximum(guess * (1 - guess), LEAST_CHANCE)
            chosen, weight = sample.chosen, sample.weight[sample.chosen]
            usual = float((weight * spread[chosen]).mean()) if len(chosen) else 1.0
            error = float((weight * (relevant - guess)[chosen] ** 2).sum())
            square = spread[self.open] * (error + usual) / (float((weight * spread[chosen]).sum()) + usual)
        return (1 - p) / p * square

    def weigh(self, effect: Floats) -> Floats:
        """Effects of all documents as those of open ones, scaled so that squares and products add up to the variance to
        expect."""
        return effect[self.open] * np.sqrt(self.expected)

    def by_topic(self, influence: Floats, expected: Floats, more: Floats | float = 0.0) -> Spread:
        """One a topic; `expected` is the variance to expect, `more` what is to be added to both."""
        inside = influence[self.in_cell]
        key = self.cell * self.n_topics + self.topic[self.in_cell]
        used, group = np.unique(key, return_inverse=True)
        S1, S2 = row_sums(group, inside, len(used)), row_sums(group, inside**2, len(used))
        cell, topic = used // self.n_topics, used % self.n_topics
        of_cells = row_sums(topic, self.factor[cell] * (S2 - S1**2 / self.drawn[cell]), self.n_topics)
        part = self.single * influence**2
        alone = row_sums(self.topic[self.alone], part[self.alone], self.n_topics)
        rests_on = ratio(row_sums(self.topic, part, self.n_topics) ** 2, row_sums(self.topic, part**2, self.n_topics))
        return joined(np.maximum(of_cells, 0.0) + alone, rests_on, expected, more)

    def over_topics(self, influence: Floats, expected: float, more: float = 0.0) -> Spread:
        """Of the sum over topics."""
        inside = influence[self.in_cell]
        n = len(self.drawn)
        S1, S2 = row_sums(self.cell, inside, n), row_sums(self.cell, inside**2, n)
        of_cells = float((self.factor * (S2 - ratio(S1**2, self.drawn))).sum())
        part = self.single * influence**2
        rests_on = ratio(np.array([part.sum() ** 2]), np.array([(part**2).sum()]))
        variance = max(of_cells, 0.0) + float(part[self.alone].sum())
        return joined(np.array([variance]), rests_on, np.array([expected]), more)


def joined(variance: Floats, rests_on: Floats, expected: Floats, more: Floats | float = 0.0) -> Spread:
    """The design's variance and the one to expect, each with its weight, and what comes on top of them."""
    both = (rests_on * variance + PRIOR * expected) / (rests_on + PRIOR) + more
    return Spread(both, rests_on + PRIOR - 1)
