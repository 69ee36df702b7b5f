"""What can be claimed, and what cannot, in plain words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fathoms.comparison.significance import CORRECTION_METHODS, SIGNIFICANCE_TESTS

if TYPE_CHECKING:
    from fathoms.comparison.compare import Comparison, Pair

MANY = 3  # more pairs than this are counted, not described one by one


def sentences(result: Comparison) -> list[str]:
    """One paragraph a measure; pair by pair where there are few."""
    measures = dict.fromkeys(pair.measure for pair in result.pairs)
    return [sentence for measure in measures for sentence in sentences_of(result, measure)]


def sentences_of(result: Comparison, measure: str) -> list[str]:
    """What can be said by one measure."""
    pairs = [pair for pair in result.pairs if pair.measure == measure]
    if len(pairs) <= MANY:
        return [sentence(pair, result) for pair in pairs]
    return [_counted(measure, pairs, result)]


def sentence(pair: Pair, result: Comparison) -> str:
    """One comparison, to be quoted."""
    if pair.verdict == "tie":
        return f"{pair.measure}: {pair.run_a} and {pair.run_b} have the same mean over {result.topics} topics."
    better, worse = (pair.run_a, pair.run_b) if pair.diff > 0 else (pair.run_b, pair.run_a)
    low, high = sorted((abs(pair.ci_low), abs(pair.ci_high))) if pair.ci_low * pair.ci_high > 0 else (None, None)
    level = f"{100 * (1 - result.alpha):g}%"
    interval = (
        f"{level} interval {low:.4f} to {high:.4f}"
        if low is not None
        else f"{level} interval {pair.ci_low:+.4f} to {pair.ci_high:+.4f} for {pair.run_a} - {pair.run_b}"
    )
    start = (
        f"{pair.measure}: {better} is ahead of {worse} by {abs(pair.diff):.4f} over {result.topics} topics "
        f"({interval}; {_tested(result)}, p {_p(pair.p_corrected)})."
    )
    return f"{start} {_claim(pair, better, worse, result)}"


def _claim(pair: Pair, better: str, worse: str, result: Comparison) -> str:
    kind = "the" if pair.exact else "a bound on the"
    ranged = ""
    if pair.diff_low is not None and pair.diff_high is not None:
        low, high = (pair.diff_low, pair.diff_high) if pair.diff > 0 else (-pair.diff_high, -pair.diff_low)
        ranged = f"{kind} range of the difference over all ways of judging is {low:+.4f} to {high:+.4f}"
    if pair.verdict == "certain":
        also = "" if pair.p_corrected < result.alpha else ", though on other topics it might not (not significant)"
        return f"On these topics no further judgment can turn this: {ranged}{also}."
    if pair.verdict == "settled":
        more = f", but it is not certain: {ranged}" if ranged else ""
        return (
            f"It can be claimed that {better} is better: significant, and neither another order of ties nor an "
            f"estimate of the unjudged documents turns it{more}.{_depths(pair)}"
        )
    why = []
    if pair.p_corrected >= result.alpha:
        why.append("the difference is not significant")
    if pair.ties_turn:
        why.append("another order of tied documents could turn it")
    if pair.estimate_turns:
        why.append("an estimate of the unjudged documents turns it")
    more = f"; {ranged}" if ranged else ""
    return f"It cannot be claimed that {better} is better than {worse}: {' and '.join(why)}{more}.{_depths(pair)}"


def _depths(pair: Pair) -> str:
    if not pair.depths_turn:
        return ""
    return f" At depth {' and '.join(map(str, pair.depths_turn))} the order is the other way round."


def _tested(result: Comparison) -> str:
    test = SIGNIFICANCE_TESTS[result.test]
    if test.allows_for_all_pairs or result.correction == "none" or len(result.pairs) < 2:
        return test.title
    return f"{test.title}, {CORRECTION_METHODS[result.correction].title}-corrected"


def _p(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"= {p:.4f}"


def _counted(measure: str, pairs: list[Pair], result: Comparison) -> str:
    counts = Counter(pair.verdict for pair in pairs)
    parts = []
    if counts["certain"]:
        parts.append(f"{counts['certain']} are certain (no judgment of the unjudged documents can turn them)")
    if counts["settled"]:
        parts.append(
            f"{counts['settled']} are settled (significant, and neither ties nor the estimate turn them; more judging "
            "still could)"
        )
    if counts["open"]:
        parts.append(f"{counts['open']} are open")
    if counts["tie"]:
        parts.append(f"{counts['tie']} are ties")
    turned = sum(bool(pair.depths_turn) and pair.verdict != "open" for pair in pairs)
    depth = f" Of those not open, {turned} have the other order at another depth." if turned else ""
    return f"{measure}: of {len(pairs)} pairs {', '.join(parts)} ({_tested(result)}, alpha {result.alpha:g}).{depth}"
