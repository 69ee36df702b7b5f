"""What judging more would do to a score, or to a difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fathoms.base.tolerances import SAME
from fathoms.estimate.document_effects import document_effects
from fathoms.estimate.estimates import Estimate, Estimates
from fathoms.estimate.open_documents import OpenDocuments
from fathoms.evidence.candidates import Candidates
from fathoms.evidence.evidence import Floats, Ints
from fathoms.measures.base import Measure
from fathoms.questions.doubt.result import Document

HALF = 0.5
STEPS = 6  # numbers of judgments to try out on the way to the one that halves the doubt


@dataclass(frozen=True, eq=False)
class JudgingAhead:
    table: Candidates | None  # None where nothing is estimated
    candidates: Ints  # unjudged documents that could move it, the most telling first
    left: Floats  # the standard deviation left once the first 0, 1, 2, ... are judged, as a share of today's

    @property
    def to_halve(self) -> int | None:
        """How many judgments bring the standard deviation to a half; None if no number does."""
        halved = np.flatnonzero(self.left <= HALF)
        return int(halved[0]) if len(halved) else None

    def documents(self, count: int, runs: Mapping[str, float]) -> list[Document]:
        """The first of them by their ids, with their ranks in the runs."""
        table, first = self.table, self.candidates[:count]
        if table is None:
            return []
        ranks = np.zeros((len(runs), len(table) + 1), dtype=np.int64)
        for of_run, run in zip(ranks, runs, strict=True):
            place = table.place[table.names.index(run)]
            topic, column = np.nonzero(place >= 0)
            of_run[place[topic, column]] = column + 1
        return [
            Document(
                table.topics[table.topic[number]],
                table.documents[number].decode(errors="surrogateescape"),
                tuple(ranks[:, number].tolist()),
            )
            for number in first.tolist()
        ]


def judging_ahead(
    measure: Measure, weights: Mapping[str, float], expected: Floats, estimates: Estimates | None
) -> JudgingAhead:
    """For the sum of runs' scores with these weights, which is `expected` by topic."""
    estimate = None if estimates is None else estimates.by_measure.get(measure)
    open_documents = None if estimates is None else estimates.open_documents
    if estimate is None or open_documents is None or measure.judging == "none":
        return JudgingAhead(None, np.zeros(0, dtype=np.int64), np.ones(1))
    effects = document_effects(open_documents, estimate.to_depth, measure, weights, expected, estimate.calibration.own)
    left = _tried_out(open_documents, estimate, weights, effects.candidate)
    return JudgingAhead(open_documents.candidates, effects.candidate, left)


def _tried_out(
    open_documents: OpenDocuments, estimate: Estimate, weights: Mapping[str, float], candidates: Ints
) -> Floats:
    """Tries some numbers of judgments, halving the step around the one that halves the doubt, and takes a line in
    between. There the model is fitted again too, and what that adds is taken to grow as the rest does."""
    today = open_documents.deviation(estimate, weights, candidates[:0])
    if today <= SAME or not len(candidates):
        return np.ones(1)
    left = {0: 1.0}
    low, tried, high = 0, len(candidates), len(candidates)
    for _ in range(STEPS):
        left[tried] = open_documents.deviation(estimate, weights, candidates[:tried]) / today
        low, high = (low, tried) if left[tried] <= HALF else (tried, high)
        if high - low <= 1:
            break
        tried = (low + high) // 2
    counts = sorted(left)
    shares = np.minimum.accumulate([left[count] for count in counts])
    by_count = np.interp(np.arange(len(candidates) + 1), counts, shares)
    at = int(np.argmax(by_count <= HALF)) or len(candidates)
    if not 0 < by_count[at] < 1:
        return by_count
    fitted = open_documents.deviation(estimate, weights, candidates[:at], fit=True) / today
    more = np.log(min(max(fitted, SAME), by_count[at])) / np.log(by_count[at])
    return np.asarray(by_count**more)
