"""How much each unjudged document may still move a score, or the difference of two, and how much doubt is left once the
most telling ones are judged.

With a what a unit of gain at a document adds to the expected score, x(l) the gain of level l, s the score and d(l) the
growth of the divisor by one document of that level, by share, a judgment moves the expected score by

    a (x(l) - E x) - s (d(l) - E d),

exactly where there is no divisor. The variance of that over the levels is the document's own doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fathoms.base.arrays import ratio
from fathoms.data.qrels import JUDGED
from fathoms.estimate.probabilities import RelevanceProbabilities
from fathoms.evidence.evidence import Floats, Ints
from fathoms.evidence.sparse_places import known_in_all
from fathoms.measures.base import Measure


@dataclass(frozen=True, eq=False)
class DocumentEffects:
    """Of the unjudged documents that could move a mean over topics, the most telling first."""

    candidate: Ints
    variance: Floats  # of the mean, that the document's grade has a part in
    shift: Floats  # how far from "not relevant" its expected grade moves the mean; all err together if the model does

    def doubt_left(self, variance: float) -> Floats:
        """The standard deviation that is left once the first 0, 1, 2, ... documents are judged, as a share of today's.

        `variance` is that of the estimate. What the documents' own doubt does not account for is an error that they
        share, in proportion to what is expected of them.
        """
        own = np.append(np.cumsum(self.variance[::-1])[::-1], 0.0)
        shared = np.append(np.cumsum(np.abs(self.shift)[::-1])[::-1], 0.0) ** 2
        common = max(0.0, variance - own[0]) / shared[0] if shared[0] > 0 else 0.0
        left = own + common * shared
        return np.sqrt(left / left[0]) if left[0] > 0 else np.zeros(len(left))


def document_effects(
    probabilities: RelevanceProbabilities, measure: Measure, runs: Sequence[str], scores: Floats
) -> DocumentEffects:
    """For the first of the runs, or the first less the second; `scores` are its expected scores by topic. Documents of
    other runs count too: they can grow R and ideal rankings."""
    candidates, levels = probabilities.candidates, probabilities.levels
    systems = [candidates.names.index(run) for run in runs]
    signs = np.array([1.0, -1.0][: len(runs)])
    block = candidates.block()
    chances = _chances(probabilities)
    expected = _expected_counts(probabilities, chances)
    relevant = (levels >= getattr(measure, "rel", 1.0)).astype(np.float64)
    steps = np.concatenate([np.zeros((1, len(levels))), np.eye(len(levels))])
    unjudged = np.append(~probabilities.judged & (probabilities.probability > 0), False)
    max_grade = probabilities.qrels.max_grade
    parts: list[tuple[Ints, Floats, Floats]] = []
    for topic in np.flatnonzero(unjudged[block.number].any(axis=1)):
        here = block.number[topic][block.present[topic]]
        known = known_in_all([""], levels, max_grade, expected[[topic]])
        values = measure.tie_value(known)[JUDGED:]
        chance = chances[:, here]
        column = np.minimum(block.column[topic, systems], len(here))
        slopes = measure.place_effects(
            np.append(values @ chance, 0.0)[column], np.append(relevant @ chance, 0.0)[column], known
        )
        more = measure.divisor(known_in_all([""] * len(steps), levels, max_grade, expected[topic] + steps))
        growth = ratio(more[1:] - more[:1], more[:1])
        a = np.zeros(len(here) + 1)
        np.add.at(a, column, slopes * signs[:, None])
        moved = ratio(np.outer(values, a[:-1]), more[0]) - scores[topic] * growth[:, None]
        mean = (moved * chance).sum(axis=0)
        variance = (moved**2 * chance).sum(axis=0) - mean**2
        chosen = unjudged[here] & (variance > 0)
        parts.append((here[chosen], variance[chosen], (mean - moved[0])[chosen]))
    empty = (np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
    candidate, variance, shift = (np.concatenate(columns) for columns in zip(empty, *parts, strict=True))
    n = len(candidates.topics)
    variance, shift = variance / n**2, shift / n
    # Rounded, so that equal documents stay in their order on every machine.
    telling = np.round(ratio(variance, variance.max(initial=0.0)), 9)
    first = np.argsort(-telling, kind="stable")
    return DocumentEffects(candidate[first], variance[first], shift[first])


def _chances(probabilities: RelevanceProbabilities) -> Floats:
    """[level, candidate]"""
    grades, shares = probabilities.grades
    levels, codes = probabilities.levels, probabilities.codes
    chances = np.zeros((len(levels), len(codes)))
    chances[0] = 1 - probabilities.probability
    chances[np.searchsorted(levels, grades)] = np.outer(shares, probabilities.probability)
    judged = np.flatnonzero(probabilities.judged)
    chances[:, judged] = 0.0
    chances[np.searchsorted(levels, probabilities.qrels.levels[codes[judged] - JUDGED]), judged] = 1.0
    return chances


def _expected_counts(probabilities: RelevanceProbabilities, chances: Floats) -> Floats:
    """[topic, level]: judged documents, and how many more of each level are to be expected."""
    unjudged = np.flatnonzero(~probabilities.judged)
    expected = probabilities.counts.astype(np.float64)
    np.add.at(expected, probabilities.candidates.topic[unjudged], chances[:, unjudged].T)
    return expected
