"""All measures on one run: scores with their ranges and their values over ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fathoms.evidence.align import Aligned
from fathoms.evidence.evidence import Evidence, Floats
from fathoms.evidence.order import Ties
from fathoms.measures.base import Measure, Scores


def score_all(
    evidence: Evidence,
    measures: list[Measure],
    ties: Ties,
    *,
    scores_only: bool = False,
    late: frozenset[Measure] = frozenset(),
) -> dict[Measure, Scores]:
    """All measures on one run, chunk by chunk so that the arrays stay in cache; no ranges of those in `late`."""
    parts = [_score_chunk(chunk, measures, ties, scores_only, late) for chunk in evidence.chunks()]
    return {measure: joined([part[i] for part in parts]) for i, measure in enumerate(measures)}


def _score_chunk(
    chunk: Evidence, measures: list[Measure], ties: Ties, scores_only: bool, late: frozenset[Measure]
) -> list[Scores]:
    if scores_only and ties != "expected":
        return [Scores(measure.value(measure.prepared(chunk))) for measure in measures]
    scored = []
    for measure in measures:
        scores = measure.scores(chunk, with_range=not late or measure not in late)
        if ties == "expected":
            low, high = (None, None)
            if scores.low is not None:
                low, high = measure.expected_range(measure.prepared(chunk))
            expected = scores.score if scores.tie_expected is None else scores.tie_expected
            scores = replace(scores, score=expected, low=low, high=high)
        scored.append(scores)
    return scored


def joined(parts: Sequence[Scores], order: NDArray[np.int64] | None = None) -> Scores:
    """Scores of several blocks of topics as one, in another order of topics where given."""
    if len(parts) == 1 and order is None:
        return parts[0]

    def column(name: str) -> Floats | None:
        columns = [getattr(part, name) for part in parts]
        if name == "tie_error" and any(column is not None for column in columns):  # elsewhere nothing was simulated
            columns = [np.zeros(len(p.score)) if c is None else c for p, c in zip(parts, columns, strict=True)]
        if any(column is None for column in columns):
            return None
        joined: Floats = np.concatenate(columns)
        return joined if order is None else joined[order]

    return Scores(**{name: column(name) for name in (*Scores.COLUMNS, "tie_error")})  # type: ignore[arg-type]


def topic_scores(evidence: Evidence, measure: Measure, ties: Ties) -> Floats:
    if ties == "expected":
        scores = measure.scores(evidence)
        return scores.score if scores.tie_expected is None else scores.tie_expected
    return measure.value(measure.prepared(evidence))


def judgments_of(aligned: Aligned) -> NDArray[np.int32]:
    if aligned.judgment is None:
        raise ValueError("align with trace=True first")
    return aligned.judgment
