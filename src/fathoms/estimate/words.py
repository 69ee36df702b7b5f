"""What the default estimates are of, how they were checked, and where they are the score itself: in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fathoms.base.text import enumerated, pluralise
from fathoms.base.tolerances import SAME
from fathoms.estimate.backtest import DEEPER
from fathoms.estimate.sampling_frame import THIN

if TYPE_CHECKING:
    from fathoms.estimate.backtest_fit import Margins
    from fathoms.estimate.estimates import Estimates
    from fathoms.estimate.sampling_frame import SamplingFrame
    from fathoms.measures.base import Measure


class Line(NamedTuple):
    """A line about estimates, for a page that shows one measure at a time."""

    text: str
    measure: str | None  # None: about all of them


def lines_by_measure(estimates: Estimates, level: float) -> list[Line]:
    """The same as `calibrated_sentences`, with a line for each measure that was checked."""
    checks = [Line(f"{name}{text}", name) for name, text in _checks(estimates, level).items()]
    before, after = ([Line(text, None) for text in texts] for texts in _around_checks(estimates))
    return [*before, *checks, *after]


def calibrated_sentences(estimates: Estimates, level: float) -> list[str]:
    """What the default estimates, how it was checked on this collection, and where it is the score itself. What is the
    same for several measures is said once."""
    names: dict[str, list[str]] = {}
    for name, text in _checks(estimates, level).items():
        names.setdefault(text, []).append(name)
    checks = [f"{enumerated(of_text)}{text}" for text, of_text in names.items()]
    before, after = _around_checks(estimates)
    return [*before, *checks, *after]


def _around_checks(estimates: Estimates) -> tuple[list[str], list[str]]:
    """What is the same for all measures: before the checks of each, and after them."""
    lines = [_target(estimates)]
    if estimates.pool_is_assumed and estimates.hidden:  # to which the checks owe what they hid
        lines.append(f"{estimates.pool.sentence[0].upper()}{estimates.pool.sentence[1:]}.")
    if estimates.frame is not None:
        lines.append(_of_halves(estimates))
    after = [_selected(estimates)]
    plain = [measure.name for measure, estimate in estimates.by_measure.items() if not estimate.calibration.uses_model]
    if plain:
        after.append(
            f"In that check the score itself came closer than the model for {', '.join(plain)}, so there the score is "
            "the estimate."
        )
    return list(filter(None, lines)), list(filter(None, after))


def _selected(estimates: Estimates) -> str:
    """What is made of how the judged documents were chosen, where that is more than the checks say."""
    selection = estimates.selection
    if all(estimate.draws.std(axis=0).max(initial=0.0) <= SAME for estimate in estimates.by_measure.values()):
        return ""
    if estimates.frame is not None:
        return ""
    share = selection.discount if selection.share is None else selection.share
    if share > 0.95:
        return ""
    return (
        "Some judged documents seem to come from runs that are not given here. What those runs did not find is less "
        f"often relevant. So the estimates move scores by only {share:.0%} of what the model alone would, a share "
        "learned from other collections. Give all pooled runs if you have them."
    )


def _of_halves(estimates: Estimates) -> str:
    """What is made of judgments that look like a random sample."""
    if not any(np.ptp(estimate.draws, axis=0).any() for estimate in estimates.by_measure.values()):
        return ""
    covered = (
        "Where the truth is known and no run was made with the labels, 95% intervals from such samples covered 78 to "
        "99% of means and 82 to 99% of differences on average over measures, and down to 65% of means and 71% of "
        "differences by single measures"
    )
    thin = estimates.frame is not None and estimates.frame.is_thin
    no_verdict = f"; with less than {THIN:.0%} judged no verdict rests on them" if thin else ""
    return (
        "Halves of the sample were estimated from too: how far apart they lie says how wide intervals have to be. "
        f"{covered}{no_verdict}. `predict --sampled FILE` takes a stated sample."
    )


def _of_sample(estimates: Estimates, frame: SamplingFrame) -> str:
    """What was sampled, and what is estimated."""
    whole = "the labelled documents" if frame.labelled else f"the documents of {_these(estimates)}"
    which = whole if frame.labelled else f"about {frame.size:,} of {whole}"
    text = f"The judged documents look like a random sample, {frame.rate:.1%} of {which}. "
    if estimates.to_depth is None:
        return f"{text}Estimated: the score once all that were up for drawing are judged; others count as not relevant."
    return (
        f"{text}Estimated: the score once the documents of {_these(estimates)} are judged down to rank "
        f"{estimates.to_depth:,}; deeper unjudged ones count as not relevant."
    )


def _target(estimates: Estimates) -> str:
    if estimates.frame is not None:
        return _of_sample(estimates, estimates.frame)
    depths: dict[int, list[str]] = {}
    for measure, estimate in estimates.by_measure.items():
        depths.setdefault(estimate.to_depth, []).append(measure.name)
    targets = [f"{depth:,}" + (f" ({', '.join(names)})" if len(depths) > 1 else "") for depth, names in depths.items()]
    return (
        f"Estimated: the score once the documents of {_these(estimates)} are judged down to rank {' or '.join(targets)}"
        "; deeper unjudged ones count as not relevant."
    )


def _these(estimates: Estimates) -> str:
    return "this run" if len(estimates.runs) == 1 else f"these {len(estimates.runs):,} runs"


def _checks(estimates: Estimates, level: float) -> dict[str, str]:
    """How the estimates by each measure were checked: what comes after its name."""
    if estimates.frame is not None:
        return {}
    texts = {measure.name: _checked(estimates, measure, level) for measure in estimates.by_measure}
    return {name: text for name, text in texts.items() if text}


def _checked(estimates: Estimates, measure: Measure, level: float) -> str:
    """What comes after the measure's name."""
    check = estimates.checked(measure, level)
    percent = f"{100 * level:g}%"
    if check is None:
        if not np.ptp(estimates[measure].draws, axis=0).any():
            return ""  # nothing is estimated
        why = "where hiding judgments changes no score" if estimates.hidden else "which has too few judgments to hide"
        return (
            f": this could not be checked on this collection, {why}; the width of the intervals is a guess from other "
            "collections."
        )
    cases = f"{pluralise(check.topics, 'topic')} and {pluralise(check.parts, 'hidden part')}"
    hidden = f"with part of the judgments hidden ({'; '.join(_together(check.hidden))})"
    if check.failed:
        return f", checked {hidden}: intervals missed too often, so {_widened(check.margins)}."
    if check.too_few:
        return f": {cases} are too few to check the intervals on this collection."
    return (
        f", checked {hidden}: no sign that {percent} intervals are too narrow, over {cases}. Only gross errors would "
        "show."
    )


def _widened(margins: Margins) -> str:
    """By how much intervals are widened, in words."""
    factors = [(margins.of_means, "means"), (margins.of_topics, "topics")]
    wider = [f"those of {what} are {factor:.1f} times as wide here" for factor, what in factors if factor > 1]
    return f"{' and '.join(wider)}, and no verdict rests on them"


def _together(hidden: Sequence[str]) -> list[str]:
    """What was hidden, each once, and all levels of the pool in one."""
    levels = [name.removeprefix(DEEPER) for name in dict.fromkeys(hidden) if name.startswith(DEEPER)]
    others = [name for name in dict.fromkeys(hidden) if not name.startswith(DEEPER)]
    some = [f"{', '.join(levels[:-1])} or {levels[-1]}"] if len(levels) > 1 else levels
    return [*(f"{DEEPER}{level}" for level in some), *others]
