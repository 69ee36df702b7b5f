"""From differences to outcomes: the figures of a row, p-values corrected, and what an open question lacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import NamedTuple

import numpy as np

from fathoms.base.tolerances import SAME
from fathoms.evidence.evidence import Bools, Floats
from fathoms.inference.names import SEEN_WITH, TOPICS_NAMED
from fathoms.inference.significance import corrected
from fathoms.measures.base import Measure
from fathoms.questions.gate.doubt import Doubt, RepeatedDoubt
from fathoms.questions.gate.result import Basis, GateRow, Reason


class Tested(NamedTuple):
    """A row without its outcome, what it is made from, and its topics."""

    row: GateRow
    doubt: Doubt
    here: Bools


def tested_row(measure: Measure, group: str, here: Bools, doubt: Doubt, max_drop: float, alpha: float) -> Tested:
    """One row without its outcome: scores, bounds and p-values."""
    diff = doubt.differences
    row = GateRow(
        measure=measure.name,
        group=group,
        topics=int(here.sum()),
        baseline=float(doubt.scores[0].mean()),
        candidate=float(doubt.scores[1].mean()),
        diff=float(diff.mean()),
        diff_low=None if doubt.low is None else float(doubt.low.mean()),
        diff_high=None if doubt.high is None else float(doubt.high.mean()),
        estimate=None if doubt.point is None else float(doubt.point.mean()),
        lower=doubt.above(1.0, alpha, max_drop),
        upper=None if (end := doubt.above(-1.0, alpha, max_drop)) is None else 0.0 - end,
        p_beyond=doubt.likely(1.0, -max_drop),
        p_drop=doubt.likely(-1.0, 0.0),
        p_beyond_worst=doubt.certain(1.0, -max_drop),
        p_drop_worst=doubt.certain(-1.0, 0.0),
        tie_low=float(doubt.ties[0].mean()),
        tie_high=float(doubt.ties[1].mean()),
        unjudged=int(doubt.unjudged.sum()),
        same=doubt.same,
        has_range=doubt.low is not None,
        is_fixed=doubt.is_fixed,
        has_estimate=bool(doubt.drawn),
        labelled=doubt.labelled,
    )
    return Tested(row, doubt, here)


def corrected_rows(tested: Sequence[Tested]) -> list[Tested]:
    """Rows with p of a drop corrected, so that a gate has one chance of a false alarm: for all measures on all topics,
    and for all measures in all groups (Holm). If there are groups, each of the two has half of alpha, so that a gate on
    all topics does not depend on how many groups there are.

    That several measures all pass needs no correction: each has to.
    """
    whole = [of_measure.row.group == "all" for of_measure in tested]
    halves = 1 if all(whole) else 2
    corrected_p: dict[tuple[int, str], float] = {}
    for family in (True, False):
        places = [i for i, is_whole in enumerate(whole) if is_whole is family]
        for name in ("p_drop", "p_drop_worst"):
            p = corrected(np.array([getattr(tested[i][0], name) for i in places]), "holm")
            corrected_p |= {(i, name): min(1.0, halves * float(value)) for i, value in zip(places, p, strict=True)}
    return [
        of_measure._replace(
            row=replace(
                of_measure.row, p_drop_corrected=corrected_p[i, "p_drop"], p_drop_worst=corrected_p[i, "p_drop_worst"]
            )
        )
        for i, of_measure in enumerate(tested)
    ]


def decided(tested: Tested, max_drop: float, alpha: float, alarm: float, tests: int) -> GateRow:
    """The outcome: passing has an error of alpha, failing of `alarm`, which is less where looks share alpha."""
    row = tested.row
    if row.same:
        return replace(row, outcome="passes", basis="certain")
    if row.p_beyond < alpha:
        return replace(row, outcome="passes", basis=_basis(row, row.p_beyond_worst < alpha))
    if row.p_drop_corrected < alarm:
        return replace(row, outcome="fails", basis=_basis(row, row.p_drop_worst < alarm))
    lacking = _lacking(tested, max_drop, alpha, alarm, tests)
    return replace(row, outcome="cannot tell", reason=lacking.reason, needed=lacking.needed)


def _basis(row: GateRow, certain: bool) -> Basis:
    if row.has_range and certain:
        return "certain"
    return "as judged" if not row.has_estimate else "labelled" if row.labelled else "likely"


class _Lacking(NamedTuple):
    reason: Reason
    needed: int | None  # None: nobody can say


def _lacking(tested: Tested, max_drop: float, alpha: float, alarm: float, tests: int) -> _Lacking:
    """What an open question lacks: judgments, if all of them would settle it, or if without them no number of topics
    would; otherwise topics."""
    from scipy.special import ndtri, stdtrit

    row, doubt, here = tested
    n = len(doubt.differences)
    if n < 2 or isinstance(doubt, RepeatedDoubt):
        return _Lacking("topics", None)
    drawn = doubt.drawn or (doubt.differences[None, :],)
    open_ = not doubt.is_fixed and doubt.low is not None and doubt.high is not None
    middle = row.diff if row.estimate is None else row.estimate
    ends = [float(differences.mean()) for differences in drawn]
    if not doubt.drawn and open_ and doubt.low is not None and doubt.high is not None:
        ends += [float(doubt.low.mean()), float(doubt.high.mean())]
    variance = float(np.mean([differences.var(axis=1, ddof=1).mean() for differences in drawn])) / n
    level = alarm * row.p_drop / row.p_drop_corrected if row.p_drop_corrected < 1 else alarm / tests
    judging = float(drawn[0].mean(axis=1).std()) if len(drawn[0]) > 1 else 0.0
    # For passing and for failing: how far the mean is from the bound, at which level, and how far judging may take it.
    ways = (
        (middle + max_drop, alpha, max(middle - min(ends), judging)),
        (-middle, level, max(max(ends) - middle, judging)),
    )
    error = {at: float(-stdtrit(n - 1, at)) * np.sqrt(variance) for _, at, _ in ways}
    change = doubt.change[here[doubt.topic]]
    if open_ and any(room > error[at] for room, at, _ in ways):
        needed = [_judgments(change, room - error[at], doubtful) for room, at, doubtful in ways if room > error[at]]
        return _Lacking("judging", min(needed) if doubt.drawn else row.unjudged)
    if open_ and min(ends) <= -max_drop and max(ends) >= 0:
        return _Lacking("judging", None)  # to begin with: no number of topics would tell
    each = row.topics / n
    topics = [
        each * variance * n * ((-ndtri(at) + ndtri(SEEN_WITH)) / room) ** 2 for room, at, _ in ways if room > SAME
    ]
    fewest = min(topics, default=TOPICS_NAMED + 1.0)
    return _Lacking("topics", None if fewest > TOPICS_NAMED else max(ceil(fewest), row.topics + 1))


def _judgments(change: Floats, room: float, doubtful: float) -> int:
    """How many documents, those first that could change most, have to be judged until the rest can move the mean no
    further than there is room for, if the estimate comes true; at least a twentieth of what could change."""
    left = np.cumsum(np.sort(np.abs(change)))
    if not len(left):
        return 0
    allowed = min(room / doubtful, 0.95) if doubtful > 0 else 0.95
    return len(left) - int(np.searchsorted(left, left[-1] * allowed, side="right"))
