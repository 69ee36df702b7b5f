"""What can be claimed, and what cannot, in plain words."""

from __future__ import annotations

from collections import Counter
from math import exp, isfinite
from typing import TYPE_CHECKING

from fathoms.comparison.significance import CORRECTION_METHODS, SIGNIFICANCE_TESTS
from fathoms.text import pluralise

if TYPE_CHECKING:
    from fathoms.comparison.compare import Comparison, Pair

ESTIMATES = (
    "Estimates (estimate, likely_low, likely_high, p_better, p_holds) come from a model that is not calibrated yet: "
    "expect their intervals to be too narrow, above all for deep measures."
)
MANY = 3  # more pairs than this are counted, not described one by one


def sentences(result: Comparison) -> list[str]:
    """One paragraph for each measure, pair by pair where there are few; then what ranges are over."""
    measures = dict.fromkeys(pair.measure for pair in result.pairs)
    told = [sentence for measure in measures for sentence in sentences_of(result, measure)]
    if any(pair.diff_low is not None for pair in result.pairs):
        told.append(range_sentence(result))
    if any(pair.estimate is not None for pair in result.pairs):
        told.append(ESTIMATES)
    return told


def sentences_of(result: Comparison, measure: str) -> list[str]:
    """What can be said by one measure."""
    pairs = [pair for pair in result.pairs if pair.measure == measure]
    if len(pairs) <= MANY:
        return [sentence(pair, result) for pair in pairs]
    return [_counted(measure, pairs, result)]


def range_sentence(result: Comparison) -> str:
    """Over which documents the ranges of differences are."""
    kind, depth = result.universe.kind, result.universe.depth
    pairs = len({(pair.run_a, pair.run_b) for pair in result.pairs})
    if kind == "pair":
        whose = "of the two runs" if pairs == 1 else "of the two runs of each pair"
    else:
        whose = "of all given runs"
        if not isinstance(kind, str):
            whose += " and " + ("any number of" if kind == float("inf") else f"{kind:,.0f}") + " unseen ones per topic"
    where = "" if depth is None else f" in the first {depth:,} ranks of either run"
    return f"Ranges: every way of judging the unjudged documents {whose}{where}; reversible covers tie-breaking too."


def sentence(pair: Pair, result: Comparison) -> str:
    """One comparison, to be quoted: the claim, the figures, then what could undo it."""
    if pair.verdict == "tie":
        return f"{pair.measure}: {pair.run_a} and {pair.run_b} have the same mean over {result.topics} topics."
    parts = [f"{pair.measure}: {_claim(pair)}", _figures(pair, result), _judging(pair), _depths(pair)]
    return " ".join(part for part in parts if part)


def _ordered(pair: Pair) -> tuple[str, str]:
    return (pair.run_a, pair.run_b) if pair.diff > 0 else (pair.run_b, pair.run_a)


def _claim(pair: Pair) -> str:
    better, worse = _ordered(pair)
    if pair.verdict == "certain":
        return (
            f"{better} is better than {worse}: the difference is significant, and no judging of their documents and no "
            "tie-breaking reverses it."
        )
    if pair.verdict == "fragile":
        why = "tie-breaking" if pair.reason == "ties" else "further judging"
        undo = "could reverse it" if pair.reversible != "no" else "could make it insignificant, though not reverse it"
        return f"{better} is significantly better than {worse} as judged, but {why} {undo}."
    if pair.verdict == "significant":
        return f"{better} is significantly better than {worse}."
    return f"{better} is not distinguishable from {worse}: the difference is not significant."


def _figures(pair: Pair, result: Comparison) -> str:
    better, _ = _ordered(pair)
    size = abs(pair.diff)
    lead = f"{better} is ahead by " + (f"a factor of {exp(size):.4f}" if pair.log_scale else f"{size:.4f}")
    parts = [f"{_tested(result)}, p {_p(pair.p_corrected)}"]
    low, high = _towards(pair, pair.ci_low, pair.ci_high)
    if isfinite(low) and isfinite(high):
        about = SIGNIFICANCE_TESTS[result.test].about
        what = "interval" if about == "mean difference" else f"interval of the {about}"
        parts.insert(0, f"{100 * (1 - result.alpha):g}% {what} {_span(pair, low, high)}")
    if pair.effect_low is not None and pair.effect_high is not None and isfinite(pair.effect_low):
        ends = _towards(pair, pair.effect_low, pair.effect_high)
        parts.append(f"effect size {abs(pair.effect):.2f} ({ends[0]:+.2f} to {ends[1]:+.2f})")
    needs = f" {_help(pair)}" if pair.verdict == "open" and _help(pair) else ""
    return f"On average over {pluralise(result.topics, 'topic')} {lead} ({'; '.join(parts)}).{needs}"


def _help(pair: Pair) -> str:
    """What an open pair lacks."""
    what, _, number = pair.reason.partition(" (")
    if what == "judging":
        return "It may well be significant once more is judged."
    if what == "ties":
        return "Which of the two is ahead may depend on the tie-breaking rule."
    many = number.removesuffix(")").partition(" would")[0]
    return f"{many[:1].upper()}{many[1:]} topics like these would be expected to settle it." if many else ""


def _span(pair: Pair, low: float, high: float) -> str:
    """Two ends as differences, or as factors where the scale is one of logarithms."""
    return f"{exp(low):.4f} to {exp(high):.4f}" if pair.log_scale else f"{low:+.4f} to {high:+.4f}"


def _towards(pair: Pair, low: float, high: float) -> tuple[float, float]:
    """Both ends of A - B as seen from the run that is ahead."""
    return (low, high) if pair.diff > 0 else (-high, -low)


def _judging(pair: Pair) -> str:
    """The range over judgments, in the tie order used, and what it takes to reverse the sign."""
    if pair.diff_low is None or pair.diff_high is None:
        return ""
    low, high = _towards(pair, pair.diff_low, pair.diff_high)
    what = "factor" if pair.log_scale else "lead"
    if high - low <= 1e-9:
        told = f"No judging changes this {what}"
    elif pair.exact:
        told = f"Judging the rest could bring this {what} anywhere from {_span(pair, low, high)}"
    else:
        told = f"Judging the rest could change this {what}, though not beyond {_span(pair, low, high)}"
    if pair.verdict == "open" and pair.reversible == "no":
        return (
            f"{told}: on these topics {_ordered(pair)[0]} stays ahead whatever is judged and however ties are broken."
        )
    if pair.fragility_low is None:
        return f"{told}."
    least = int(pair.fragility_low)
    if pair.fragility_high is None:
        return f"{told}; it takes at least {pluralise(least, 'document')} to reverse it."
    most = int(pair.fragility_high)
    return f"{told}; {pluralise(most, 'document')} could reverse it" + (
        "." if least == most else f", and fewer than {least:,} could not."
    )


def _depths(pair: Pair) -> str:
    if not pair.depths_reversed:
        return ""
    return f"At depth {' and '.join(map(str, pair.depths_reversed))} the order is the other way round."


def _tested(result: Comparison) -> str:
    test = SIGNIFICANCE_TESTS[result.test]
    if test.allows_for_all_pairs or result.correction == "none" or len(result.pairs) < 2:
        return test.title
    return f"{test.title}, {CORRECTION_METHODS[result.correction].title}-corrected"


def _p(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"= {p:.4f}"


MEANINGS = {
    "certain": "significant, and no judging and no tie-breaking reverses them",
    "significant": "significant",
    "fragile": "significant as judged, but judging or tie-breaking could undo them",
    "open": "not significant",
    "tie": "equal means",
}


def _counted(measure: str, pairs: list[Pair], result: Comparison) -> str:
    counts = Counter(pair.verdict for pair in pairs)
    parts = [f"{counts[verdict]:,} {verdict} ({MEANINGS[verdict]})" for verdict in MEANINGS if counts[verdict]]
    proved = sum(pair.verdict == "open" and pair.reversible == "no" for pair in pairs)
    told = f"{measure}: of {len(pairs):,} pairs {', '.join(parts)}; {_tested(result)}, alpha {result.alpha:g}."
    if proved:
        told += f" Of those open, {proved:,} cannot be reversed on these topics by any judging or tie-breaking."
    turned = sum(bool(pair.depths_reversed) and pair.verdict != "open" for pair in pairs)
    if turned:
        told += f" {turned:,} that are not open have the other order at another depth."
    return told
