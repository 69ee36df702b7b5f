"""How much each unjudged document may still move a score, or the difference of two.

With a what a unit of gain at a document adds to the expected score, x(l) the gain of level l, s the score and d(l) the
growth of the divisor by one document of that level, by share, a judgment moves the expected score by

    a (x(l) - E x) - s (d(l) - E d),

exactly where there is no divisor. The variance of that over the levels is the document's own doubt. Divisors and their
growth are means over draws of what is unjudged: an ideal ranking that is full on average may have room in some.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fathoms.base.arrays import ratio
from fathoms.data.qrels import JUDGED
from fathoms.estimate.open_documents import OpenDocuments
from fathoms.evidence.evidence import Floats, Ints
from fathoms.evidence.sparse_places import known_in_all
from fathoms.measures.base import Measure


@dataclass(frozen=True, eq=False)
class DocumentEffects:
    """Of the unjudged documents that could move a mean over topics, the most telling first."""

    candidate: Ints
    variance: Floats  # of the mean, that the document's grade has a part in


def document_effects(
    open_documents: OpenDocuments,
    depth: int,
    measure: Measure,
    weights: Mapping[str, float],
    scores: Floats,
    share: float = 1.0,
) -> DocumentEffects:
    """For the sum of runs' scores with these weights; `scores` are what is expected of it by topic, and `share` is the
    part of what the model expects that comes true. Documents of other runs count too: they can grow R and ideal
    rankings."""
    candidates, levels, max_grade = open_documents.candidates, open_documents.documents.levels, open_documents.max_grade
    systems = [candidates.names.index(run) for run in weights]
    signs = np.array(list(weights.values()))
    block = candidates.block()
    unjudged = np.append(open_documents.unjudged(depth), False)
    chances = open_documents.chances_to(depth, share)
    expected, drawn = open_documents.expected_counts(chances), open_documents.drawn_counts(depth)
    relevant = (levels >= getattr(measure, "rel", 1.0)).astype(np.float64)
    steps = np.concatenate([np.zeros((1, len(levels))), np.eye(len(levels))])
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
        counts = (drawn[:, topic, None] + steps).reshape(-1, len(levels))
        more = measure.divisor(known_in_all([""] * len(counts), levels, max_grade, counts)).reshape(len(drawn), -1)
        growth = ratio(more[:, 1:] - more[:, :1], more[:, :1]).mean(axis=0)
        a = np.zeros(len(here) + 1)
        np.add.at(a, column, slopes * signs[:, None])
        moved = ratio(np.outer(values, a[:-1]), more[:, 0].mean()) - scores[topic] * growth[:, None]
        mean = (moved * chance).sum(axis=0)
        variance = (moved**2 * chance).sum(axis=0) - mean**2
        # What is not likely to change the ideal may all together.
        chosen = unjudged[here] & ((variance > 0) | (measure.based_on == "recall"))
        parts.append((here[chosen], variance[chosen], 1 - chance[0, chosen]))
    empty = (np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
    candidate, variance, relevance = (np.concatenate(columns) for columns in zip(empty, *parts, strict=True))
    # Rounded, so that equal documents stay in their order on every machine.
    telling = np.round(ratio(variance, variance.max(initial=0.0)), 9)
    first = np.lexsort((-np.round(relevance, 9), -telling))
    return DocumentEffects(candidate[first], variance[first] / len(candidates.topics) ** 2)
