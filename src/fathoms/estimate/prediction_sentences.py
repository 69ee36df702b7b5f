"""What `fathoms predict` says in words: what further judging is expected to change, and of what that says nothing."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from fathoms.text import pluralise

if TYPE_CHECKING:
    from fathoms.estimate.predict import Prediction

SAME = 1e-9  # means that differ by less are equal
CAVEAT = (
    "Estimates are about further judging only: these topics, this order of tied documents. They are points without an "
    "interval; `low` and `high` are what is possible."
)


def sentences(result: Prediction) -> list[str]:
    """The answer for each measure, then what to know of the estimates."""
    found: dict[str, dict[str, dict[str, tuple[float, float]]]] = {}
    for run, topic, measure, score, _, _, method, estimate in result.rows():
        if topic == "all":
            found.setdefault(measure, {}).setdefault(method, {})[run] = (score, estimate)
    lines = [_of_measure(measure, methods) for measure, methods in found.items()]
    each = result.estimates // max(1, len(result.clipped))
    moved = [f"{count:,} by {method}" for method, count in result.clipped.items() if count]
    if moved:
        lines.append(
            f"Estimates outside the possible range were moved to its nearer end: {', '.join(moved)} "
            f"(of {pluralise(each, 'topic estimate')}{' each' if len(result.clipped) > 1 else ''})."
        )
    return [*lines, CAVEAT]


def _of_measure(measure: str, methods: dict[str, dict[str, tuple[float, float]]]) -> str:
    if len(methods) > 1:
        spread = {
            run: max(of[run][1] for of in methods.values()) - min(of[run][1] for of in methods.values())
            for run in next(iter(methods.values()))
        }
        widest = max(spread, key=lambda run: spread[run])
        return (
            f"{measure}: the {len(methods)} methods differ by up to {spread[widest]:.4f} in what they estimate a run's "
            f"mean to be once everything is judged ({widest})."
        )
    (method, runs), *_ = methods.items()
    if len(runs) == 1:
        ((run, (score, estimate)),) = runs.items()
        return f"{measure}: {run} scores {score:.4f} now, and an estimated {estimate:.4f} with all judged ({method})."
    change = {run: estimate - score for run, (score, estimate) in runs.items()}
    least, most = min(change, key=lambda run: change[run]), max(change, key=lambda run: change[run])
    if change[most] - change[least] <= SAME and abs(change[most]) <= SAME:
        return f"{measure}: further judging is estimated to change no mean ({method})."
    pairs = list(combinations(runs, 2))
    reversed_ = [pair for pair in pairs if _reversed(*(runs[run] for run in pair))]
    order = "to reverse no pair of runs"
    if reversed_:
        a, b = reversed_[0]
        order = f"to reverse {len(reversed_):,} of {pluralise(len(pairs), 'pair')} of runs, such as {a} and {b}"
    return (
        f"{measure}: further judging is estimated to change means by {change[least]:+.4f} ({least}) to "
        f"{change[most]:+.4f} ({most}), and {order} ({method})."
    )


def _reversed(one: tuple[float, float], other: tuple[float, float]) -> bool:
    before, after = one[0] - other[0], one[1] - other[1]
    return (before > SAME and after < -SAME) or (before < -SAME and after > SAME)
