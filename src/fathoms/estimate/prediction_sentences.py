"""What `fathoms predict` says in words: what further judging is expected to change, how sure that is, and of what it
says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from fathoms.estimate.backtest import DEEPER
from fathoms.estimate.names import DEFAULT
from fathoms.text import pluralise

if TYPE_CHECKING:
    from fathoms.estimate.calibrated import Estimates
    from fathoms.estimate.predict import Prediction
    from fathoms.measures.base import Measure

SAME = 1e-9  # means that differ by less are equal
SMALL = 0.0001  # changes below this are not shown in figures
ABOUT = "Estimates are about further judging only, on these topics and in this order of tied documents."
POINTS = "Those of {} are points without an interval; `low` and `high` are what is possible."

Means = dict[str, tuple[float, float]]  # by run: score and estimate


def answers(result: Prediction) -> list[str]:
    """What further judging is estimated to change, by each measure."""
    found: dict[str, dict[str, Means]] = {}
    for run, topic, measure, score, _, _, method, estimate, *_ in result.rows():
        if topic == "all":
            found.setdefault(measure, {}).setdefault(method, {})[run] = (score, estimate)
    return [_of_measure(measure, methods) for measure, methods in found.items()]


def remarks(result: Prediction) -> list[str]:
    """What to know of the estimates: of what, how they were checked, and of what they say nothing."""
    lines = [_trusted(measure, errors, result.errors_depth) for measure, errors in result.errors.items()]
    each = result.estimates // max(1, len(result.clipped))
    moved = [f"{count:,} by {method}" for method, count in result.clipped.items() if count]
    if moved:
        lines.append(
            f"Estimates outside the possible range were moved to its nearer end: {', '.join(moved)} "
            f"(of {pluralise(each, 'topic estimate')}{' each' if len(result.clipped) > 1 else ''})."
        )
    if result.calibrated is not None:
        lines += calibrated_sentences(result.calibrated, result.level)
    lines.append(ABOUT)
    points = [method for method in result.clipped if method != DEFAULT]
    if points:
        lines[-1] += " " + POINTS.format(", ".join(points))
    return lines


def _trusted(measure: str, errors: dict[str, float], depth: int) -> str:
    """Which method came closest to what all judgments say, from fewer of them."""
    ranked = sorted(errors, key=lambda method: errors[method])
    if errors[ranked[-1]] <= SAME:
        return f"{measure}: from judgments cut to depth {depth:,} every method gives the scores under all judgments."
    first, *others = (f"{method} ({errors[method]:.4f})" for method in ranked)
    return (
        f"{measure}: trust {first} here. From judgments cut to depth {depth:,} it came closest to the contributing "
        f"runs' scores under all judgments (root mean square error over runs and topics); then {', '.join(others)}."
    )


def calibrated_sentences(estimates: Estimates, level: float) -> list[str]:
    """What the default estimates, how it was checked on this collection, and where it is the score itself."""
    measures = list(estimates.by_measure)
    lines = [_target(estimates)]
    if estimates.pool_is_assumed and estimates.hidden:  # to which the checks owe what they hid
        lines.append(f"{estimates.pool.sentence[0].upper()}{estimates.pool.sentence[1:]}.")
    lines += [*(_checked(estimates, measure, level) for measure in measures), _selected(estimates)]
    plain = [m.name for m in measures if not estimates[m].calibration.uses_model]
    if plain:
        lines.append(
            f"In that check the score itself came closer than the model for {', '.join(plain)}, so there the score is "
            "the estimate."
        )
    return [line for line in lines if line]


def _selected(estimates: Estimates) -> str:
    """What is made of how the judged documents were chosen, where that is more than the checks say."""
    selection = estimates.selection
    if all(one.draws.std(axis=0).max(initial=0.0) <= SAME for one in estimates.by_measure.values()):
        return ""
    if selection.name == "sampled":
        return "The judged documents look like a random sample; if they are one, `predict --sampled` needs no model."
    share = selection.discount if selection.share is None else selection.share
    if share > 0.95:
        return ""
    return (
        "Some judged documents seem to come from runs that are not given here. What those runs did not find is less "
        f"often relevant, so only {share:.0%} of the change that the model expects is counted, a share learned from "
        "other collections. Give all pooled runs if you have them."
    )


def _target(estimates: Estimates) -> str:
    depths: dict[int, list[str]] = {}
    for measure, estimate in estimates.by_measure.items():
        depths.setdefault(estimate.to_depth, []).append(measure.name)
    said = [f"{depth:,}" + (f" ({', '.join(names)})" if len(depths) > 1 else "") for depth, names in depths.items()]
    return (
        f"Estimated: the score once the documents of {_these(estimates)} are judged down to rank {' or '.join(said)}; "
        "deeper unjudged ones count as not relevant."
    )


def _these(estimates: Estimates) -> str:
    return "this run" if len(estimates.runs) == 1 else f"these {len(estimates.runs):,} runs"


def _checked(estimates: Estimates, measure: Measure, level: float) -> str:
    found = estimates.checked(measure, level)
    percent = f"{100 * level:g}%"
    if found is None:
        if not np.ptp(estimates[measure].draws, axis=0).any():
            return ""  # nothing is estimated
        why = "where hiding judgments changes no score" if estimates.hidden else "which has too few judgments to hide"
        return (
            f"{measure.name}: this could not be checked on this collection, {why}; the width of the intervals is a "
            "guess from other collections."
        )
    hidden = "; ".join(_together(found.hidden))
    counted = [(found.means, "mean"), (found.differences, "difference"), (found.topics, "topic score")]
    shares = [f"{_share(*of)} of {pluralise(of[1], what)}" for of, what in counted if of[1]]
    return (
        f"{measure.name}, checked on this collection with part of the judgments hidden ({hidden}): {percent} intervals "
        f"covered {', '.join(shares)}."
    )


def _together(hidden: Sequence[str]) -> list[str]:
    """What was hidden, each once, and all levels of the pool in one."""
    levels = [name.removeprefix(DEEPER) for name in dict.fromkeys(hidden) if name.startswith(DEEPER)]
    others = [name for name in dict.fromkeys(hidden) if not name.startswith(DEEPER)]
    some = [f"{', '.join(levels[:-1])} or {levels[-1]}"] if len(levels) > 1 else levels
    return [*(f"{DEEPER}{level}" for level in some), *others]


def _share(part: int, whole: int) -> str:
    return f"{100 * part / max(1, whole):.0f}%"


def _of_measure(measure: str, methods: dict[str, Means]) -> str:
    if len(methods) > 1:
        spread = {
            run: max(of[run][1] for of in methods.values()) - min(of[run][1] for of in methods.values())
            for run in next(iter(methods.values()))
        }
        widest = max(spread, key=lambda run: spread[run])
        return (
            f"{measure}: the {len(methods)} methods differ by up to {spread[widest]:.4f} in what they estimate a run's "
            f"mean to be after further judging ({widest})."
        )
    (method, runs), *_ = methods.items()
    if len(runs) == 1:
        ((run, (score, estimate)),) = runs.items()
        then = f"an estimated {estimate:.4f} after further judging"
        return f"{measure}: {run} scores {score:.4f} now, and {then} ({method})."
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
    size = f"by {change[least]:+z.4f} ({least}) to {change[most]:+z.4f} ({most})"
    if max(-change[least], change[most]) < SMALL:
        size = f"by less than {SMALL:g}"
    return f"{measure}: further judging is estimated to change means {size}, and {order} ({method})."


def _reversed(one: tuple[float, float], other: tuple[float, float]) -> bool:
    before, after = one[0] - other[0], one[1] - other[1]
    return (before > SAME and after < -SAME) or (before < -SAME and after > SAME)
