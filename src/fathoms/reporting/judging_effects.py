"""What the judgment of one document would change: a run's score if that document turned out to be relevant."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fathoms.data.qrels import JUDGED
from fathoms.evidence.evidence import Evidence, Floats, Ints
from fathoms.measures.base import Measure

MOST_CELLS = 1 << 22  # of a block of rankings that differ in one judgment each


class JudgingEffects(NamedTuple):
    """One a document that is unjudged."""

    topic: Ints  # row of the evidence
    rank: Ints  # from 1
    change: Floats  # of the topic's score if the document were judged at the highest grade, and nothing else


def judging_effects(measure: Measure, evidence: Evidence, depth: int) -> JudgingEffects | None:
    """The effect of judging each unjudged document among the first `depth` relevant, at the highest grade there is.

    Every ranking is scored again with that one judgment more, so R and the ideal ranking change too. None for measures
    that take R from the pool, where it depends on who had the document, and for those of subtopics.
    """
    if measure.needs_pool or measure.needs_subtopics:
        return None
    if evidence.levels[-1] < evidence.max_grade:  # nothing is relevant yet
        none = np.zeros((len(evidence), 1), dtype=evidence.counts.dtype)
        levels, counts = np.append(evidence.levels, evidence.max_grade), np.hstack([evidence.counts, none])
        evidence = replace(evidence, levels=levels, counts=counts)
    topic, column = np.nonzero(evidence.unjudged[:, :depth])
    before = measure.value(measure.prepared(evidence))
    change = np.empty(len(topic))
    step = max(1, MOST_CELLS // evidence.width)
    for start in range(0, len(topic), step):
        part = slice(start, start + step)
        block = evidence.select(topic[part])
        codes, counts = block.codes.copy(), block.counts.copy()
        codes[np.arange(len(block)), column[part]] = JUDGED + len(evidence.levels) - 1
        counts[:, -1] += 1
        after = measure.value(measure.prepared(replace(block, codes=codes, counts=counts)))
        change[part] = after - before[topic[part]]
    return JudgingEffects(topic, column + 1, change)
