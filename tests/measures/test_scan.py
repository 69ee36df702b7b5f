"""Extremes over a number of documents by intervals, against a look at every number."""

from __future__ import annotations

import numpy as np
import pytest

from fathoms.evidence.evidence import Floats, Ints
from fathoms.measures.parse import parse_measure
from fathoms.measures.scan import greatest, least
from tests.support import slow
from tests.support.blocks import block, random_case


@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("tolerance", [1e-12, 0.05])
@pytest.mark.parametrize("slack", [0.0, 0.3])
def test_extremes_of_any_values(at_end: bool, tolerance: float, slack: float) -> None:
    rng = np.random.default_rng(1)
    last = rng.integers(0, 200, 40)
    values = np.cumsum(rng.normal(size=(40, 200)), axis=1)
    looked_at = 0

    def bound(row: Ints, first: Ints, end: Ints) -> tuple[Floats, Floats]:
        nonlocal looked_at
        looked_at += len(row)
        most = [values[r, a : b + 1].max() + slack * (b > a) for r, a, b in zip(row, first, end, strict=True)]
        return values[row, end if at_end else first], np.array(most)

    def below(row: Ints, first: Ints, end: Ints) -> tuple[Floats, Floats]:
        low = [values[r, a : b + 1].min() - slack * (b > a) for r, a, b in zip(row, first, end, strict=True)]
        return values[row, end if at_end else first], np.array(low)

    most = np.array([values[r, : n + 1].max() for r, n in enumerate(last)])
    fewest = np.array([values[r, : n + 1].min() for r, n in enumerate(last)])
    found = greatest(last, bound, 200, tolerance, at_end=at_end)
    assert (found >= most - 1e-12).all()
    assert (found <= most + tolerance).all()
    assert looked_at < last.sum() / 2
    found = least(last, below, 200, tolerance, at_end=at_end)
    assert (found <= fewest + 1e-12).all()
    assert (found >= fewest - tolerance).all()


def judged_as(case: slow.Case, chosen: set[int]) -> slow.Case:
    """The unjudged documents at these places of the ranking relevant, all others not."""
    ranking = tuple(
        doc if doc.judged else slow.Doc(float(i in chosen), doc.group) for i, doc in enumerate(case.ranking)
    )
    return slow.Case(ranking, tuple(doc for doc in case.outside if doc.judged), 1)


@pytest.mark.parametrize("measure", ["Q", "Q@30", "Q(variant=b)@20", "Q(beta=3)"])
def test_range_of_q_on_long_rankings(measure: str) -> None:
    """With one gain the extremes are at the m shallowest or the m deepest; here every m is tried."""
    rng = np.random.default_rng(2)
    cases = [random_case(rng, gmax=1, unjudged=40, most=60, outside=3) for _ in range(12)]
    cases = [slow.Case(c.ranking, tuple(d for d in c.outside if d.judged), 1) for c in cases]
    scores = parse_measure(measure).replace(universe="run").scores(block(cases))
    assert scores.low is not None
    assert scores.high is not None
    for row, case in enumerate(cases):
        unjudged = [i for i, doc in enumerate(case.ranking) if not doc.judged]
        k = int(measure.partition("@")[2] or len(case.ranking))
        read, below = [i for i in unjudged if i < k], {i for i in unjudged if i >= k}
        lows = [slow.value(measure, judged_as(case, {*read[len(read) - m :], *below})) for m in range(len(read) + 1)]
        highs = [slow.value(measure, judged_as(case, {*read[:m]})) for m in range(len(read) + 1)]
        known = slow.value(measure, case)
        assert scores.low[row] == pytest.approx(min(*lows, known), abs=1e-9)
        assert scores.high[row] == pytest.approx(max(*highs, known), abs=1e-9)
