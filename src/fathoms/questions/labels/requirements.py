"""May this judge be trusted? What is asked of a source of labels, and whether it is known to meet it.

A requirement is met if the whole 95% interval over topics lies on the right side, and missed if all of it lies on the
wrong side. In between there are too few human judgments to tell. An interval shrinks with the square root of their
number, so bringing its end from where it is to the limit takes (distance of the end / distance of the limit)^2 times as
many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fathoms.base.outcomes import Outcome
from fathoms.inference.grade_agreement import Estimate
from fathoms.questions.labels.circularity import Following

if TYPE_CHECKING:
    from fathoms.questions.labels.result import SourceAudit

Criterion = Literal["kappa", "labels", "bias", "circularity"]


@dataclass(frozen=True)
class Requirements:
    """The least or most that is asked; None asks nothing."""

    min_kappa: float | None = None
    min_labels: int | None = None
    max_bias: float | None = None
    max_circularity: float | None = None


@dataclass(frozen=True)
class Requirement:
    """One thing that is asked of one source."""

    source: str
    criterion: Criterion
    measure: str  # of a bias; otherwise empty
    limit: float
    value: float | None
    low: float | None
    high: float | None
    outcome: Outcome
    judged: int  # human judgments that it rests on
    more: int | None = None  # human judgments that would probably tell; None: already told, or nobody can say
    run: str = ""  # that looks most circular


def required(source: SourceAudit, wanted: Requirements) -> list[Requirement]:
    """What is asked of a source, in the order of the options."""
    n = len(source.labelled)
    requirements: list[Requirement] = []
    if wanted.min_kappa is not None:
        requirements.append(_within(source, "kappa", "", source.figures["kappa"], wanted.min_kappa, np.inf))
    if wanted.min_labels is not None:
        more = wanted.min_labels - n
        outcome: Outcome = "passes" if more <= 0 else "cannot tell"
        requirements.append(
            Requirement(
                source.name, "labels", "", wanted.min_labels, n, None, None, outcome, n, more if more > 0 else None
            )
        )
    if wanted.max_bias is not None:
        requirements += [
            _within(source, "bias", effect.measure, effect.bias, -wanted.max_bias, wanted.max_bias)
            for effect in source.effects
        ]
    if wanted.max_circularity is not None:
        requirements.append(_circular(source, source.followings, wanted.max_circularity))
    return requirements


def _within(
    source: SourceAudit, criterion: Criterion, measure: str, figure: Estimate, least: float, most: float
) -> Requirement:
    """Whether a figure lies between two limits, as far as its interval tells."""
    n, limit = len(source.labelled), most if np.isfinite(most) else least
    value, low, high = figure.value, figure.low, figure.high
    outcome: Outcome = "cannot tell"
    more = None
    if value is not None and low is not None and high is not None:
        if low >= least and high <= most:
            outcome = "passes"
        elif high < least or low > most:
            outcome = "fails"
        else:
            more = _more(n, value, low, high, least, most)
    return Requirement(source.name, criterion, measure, limit, value, low, high, outcome, n, more)


def _more(n: int, value: float, low: float, high: float, least: float, most: float) -> int | None:
    """How many more judgments would bring the interval to one side of each limit that it holds."""
    times = 1.0
    for limit in (least, most):
        if low < limit < high:
            end = low if value > limit else high
            if value == limit:
                return None
            times = max(times, ((end - value) / (limit - value)) ** 2)
    return max(1, int(np.ceil(n * (times - 1))))


def _circular(source: SourceAudit, followings: Sequence[Following], limit: float) -> Requirement:
    """Whether some run follows the labels more than allowed, and more than chance and the other runs explain."""
    tested = [following for following in followings if following.p is not None]
    most = max(tested, key=_excess, default=None)
    outcome: Outcome = "cannot tell"
    if most is not None:
        beyond = [following for following in tested if _excess(following) > limit]
        if not beyond:
            outcome = "passes"
        elif any(following.suspect for following in beyond):
            outcome = "fails"
    n = len(source.labelled)
    value, run = (None, "") if most is None else (most.excess, most.run)
    return Requirement(source.name, "circularity", "", limit, value, None, None, outcome, n, run=run)


_excess: Callable[[Following], float] = lambda following: following.excess or 0.0  # noqa: E731
