"""What can be claimed, and what cannot, in plain words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import exp, floor, isfinite
from typing import TYPE_CHECKING

from fathoms.base.paper_table import FRAGILE as FRAGILE_MARK
from fathoms.base.paper_table import HOLDS as HOLDS_MARK
from fathoms.base.text import capitalised, p_words, pluralise
from fathoms.base.tolerances import SAME
from fathoms.inference.names import CLAIMED, SIGNIFICANT, TOPICS_NAMED, Verdict
from fathoms.inference.significance import CORRECTION_METHODS, SIGNIFICANCE_TESTS
from fathoms.version import __version__

if TYPE_CHECKING:
    from fathoms.questions.compare.result import Comparison, Pair

OUTSIDE = (
    "Some estimates lie outside the range of their pair: an estimate is about judging the documents of all given runs, "
    "a range about judging {} only."
)
# What judging or tie-breaking does to a significant difference, by `reversible`: "could" is for ways that were found.
UNDOES = {"yes": "could reverse it", "no": "may make it insignificant, though not reverse it"}
MAY = "may undo it"
HOLDS = (
    "p_holds: the probability that a difference is significant in the same direction once all documents that the "
    "estimates are about are judged."
)
PROBABLE = 0.8  # p_holds from which something is called probable, and not only quite possible
MANY = 3  # more pairs than this are counted, not described one by one


def answers(result: Comparison) -> list[str]:
    """By each measure: what can be claimed about the best run, or against the baseline."""
    measures = dict.fromkeys(pair.measure for pair in result.pairs)
    return [f"{measure}: {_claimed(result, measure)}" for measure in measures]


def remarks(result: Comparison) -> list[str]:
    """What ranges are over; then the pairs one by one if there are few; and what estimates rest on."""
    measures = dict.fromkeys(pair.measure for pair in result.pairs)
    sentences = [range_sentence(result)] if any(pair.diff_low is not None for pair in result.pairs) else []
    sentences += [sentence for measure in measures for sentence in pair_sentences(result, measure)]
    sentences += [sentence for measure in measures for sentence in group_sentences(result, measure)]
    sentences += [HOLDS] if any(pair.p_holds is not None for pair in result.pairs) else []
    return [*sentences, *result.about_estimates, *outside_sentences(result, result.pairs)]


def caption(result: Comparison) -> list[str]:
    """What stands above a paper's table of the comparison."""
    reference = result.baseline or "the best of its column"
    verdicts = {pair.verdict for pair in result.pairs}
    lines = [f"Means over {pluralise(result.topics, 'topic')}; best in bold, second underlined."]
    if "significant" in verdicts:
        lines.append(f"{HOLDS_MARK} differs significantly from {reference}")
    if verdicts & {"certain", "supported"}:
        lines.append(
            f"{HOLDS_MARK} differs significantly from {reference}, and very likely will once judging is complete"
        )
    if "fragile" in verdicts:
        lines.append(
            f"{FRAGILE_MARK} differs significantly from {reference} as judged, but judging or ties may undo it"
        )
    lines[1:] = ["; ".join(lines[1:]) + "."] if lines[1:] else [f"No run differs significantly from {reference}."]
    lines.append(f"Test: {tested(result)}, alpha {result.alpha:g}.")
    if result.judged is not None:
        share, depth = result.judged
        lines.append(f"{share:.1%} of the first {depth:,} documents are judged; the others count as not relevant.")
    return [*lines, f"fathoms {__version__}."]


def _claimed(result: Comparison, measure: str) -> str:
    pairs = [pair for pair in result.pairs if pair.measure == measure]
    if len(pairs) == 1:
        return _claim(pairs[0], result)
    claimed = [pair for pair in pairs if pair.verdict in CLAIMED]
    if result.baseline is not None:
        better = sum(pair.diff > 0 for pair in claimed)
        worse = len(claimed) - better
        return (
            f"{_none_or(better)} of {len(pairs):,} runs can be claimed to be better than {result.baseline}, "
            f"{'and ' if bool(better) == bool(worse) else 'but '}{_none_or(worse)} to be worse."
        )
    standing = result.standing(measure)
    first = [run for run, above in standing if above >= standing[0][1] - SAME]
    support = "supports" if len(claimed) < 2 else "support"
    every = f"of all {len(pairs):,} pairs, {_none_or(len(claimed))} {support} a claim."
    if len(first) > 1:
        names = " and ".join(first) if len(first) == 2 else f"{first[0]} and {len(first) - 1:,} others"
        return f"{names} share the highest mean; {every}"
    others = len(standing) - 1
    won = sum(first[0] in (pair.run_a, pair.run_b) for pair in claimed)
    if won == others:
        return f"{first[0]} can be claimed to be better than all {others:,} others; {every}"
    if not won:
        return f"{first[0]} leads, but cannot be claimed to be better than any of the {others:,} others; {every}"
    return f"{first[0]} leads, and can be claimed to be better than {won:,} of the {others:,} others; {every}"


def _none_or(n: int) -> str:
    return f"{n:,}" if n else "none"


def pair_sentences(result: Comparison, measure: str) -> list[str]:
    """The pairs of one measure: what is known of the only one, a paragraph on each of a few, or how many there are of
    each verdict."""
    pairs = [pair for pair in result.pairs if pair.measure == measure]
    if len(pairs) > 1:
        return sentences_of(result, measure)
    several = len({pair.measure for pair in result.pairs}) > 1
    details = _details(pairs[0], result)
    return [f"{measure}: {detail[0].lower()}{detail[1:]}" if several else detail for detail in details]


def outside_sentences(result: Comparison, pairs: Sequence[Pair]) -> list[str]:
    """Why some of these estimates lie outside the range of their pair; nothing if none do."""
    return [OUTSIDE.format(_narrower(result))] if any(_outside(pair) for pair in pairs) else []


def _narrower(result: Comparison) -> str:
    """The documents that a range is about, where an estimate is about more."""
    of_pair, depth = result.universe.kind == "pair", result.universe.depth
    whose = "those of its two runs" if of_pair else "those"
    return whose if depth is None else f"{whose} in the first {depth:,} ranks"


def _outside(pair: Pair) -> bool:
    if pair.estimate is None or pair.diff_low is None or pair.diff_high is None:
        return False
    return not pair.diff_low - 1e-6 <= pair.estimate <= pair.diff_high + 1e-6


def sentences_of(result: Comparison, measure: str) -> list[str]:
    """What can be said by one measure."""
    pairs = [pair for pair in result.pairs if pair.measure == measure]
    if len(pairs) <= MANY:
        return [sentence(pair, result) for pair in pairs]
    return [_counted(measure, pairs, result)]


def group_sentences(result: Comparison, measure: str) -> list[str]:
    """What groups of topics say, by one measure: where the run that leads on all topics does worst."""
    overall = [pair for pair in result.pairs if pair.measure == measure]
    by_pair: dict[tuple[str, str], list[Pair]] = {}
    for pair in result.by_group:
        if pair.measure == measure:
            by_pair.setdefault((pair.run_a, pair.run_b), []).append(pair)
    if not by_pair:
        return []
    groups = len(next(iter(by_pair.values())))
    corrected = "uncorrected" if result.correction == "none" else f"corrected for {groups}"
    head = f"{measure} by group ({pluralise(groups, 'group')}, {corrected}):"
    leads = [_in_groups(pair, by_pair[pair.run_a, pair.run_b]) for pair in overall]
    if len(overall) <= MANY:
        return [f"{head} {' '.join(sentence for sentence in leads)}"]
    claims = [pair for of in by_pair.values() for pair in of if pair.verdict in SIGNIFICANT]
    lead = {(pair.run_a, pair.run_b): pair.diff for pair in overall}
    against = sum(pair.diff * lead[pair.run_a, pair.run_b] < 0 for pair in claims)
    n = len(overall) * groups
    if not claims:
        return [f"{head} none of {n:,} comparisons within groups is significant."]
    verb = "is" if len(claims) == 1 else "are"
    return [
        f"{head} of {n:,} comparisons within groups, {len(claims):,} {verb} significant, "
        f"{against or 'none'} of them for the run that is behind on all topics."
    ]


def _in_groups(pair: Pair, groups: Sequence[Pair]) -> str:
    """Where the run that is ahead on all topics does worst, and whether it loses anywhere."""
    sign = 1.0 if pair.diff >= 0 else -1.0
    ahead, behind = (pair.run_a, pair.run_b) if sign > 0 else (pair.run_b, pair.run_a)
    worst = min(groups, key=lambda of_group: of_group.diff * sign)
    leads = sum(of_group.diff * sign > SAME for of_group in groups)
    lost = [of_group.group for of_group in groups if of_group.diff * sign < 0 and of_group.verdict in SIGNIFICANT]
    where = f"{worst.group}, {_lead_in(worst, sign)}"
    summary = f"{ahead} leads {behind} in {leads} of {len(groups)}; worst for {ahead} is {where}."
    return summary + (f" {behind} is significantly better in {', '.join(lost)}." if lost else "")


def _lead_in(pair: Pair, sign: float) -> str:
    size = f"{exp(pair.diff * sign):.4f} times" if pair.log_scale else f"{pair.diff * sign:+z.4f}"
    return f"{size} ({pair.verdict})"


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
    """One comparison, ready to be quoted: the claim, the figures, then what could undo it."""
    return " ".join([f"{pair.measure}: {_claim(pair, result)}", *_details(pair, result)])


def _details(pair: Pair, result: Comparison) -> list[str]:
    """What a claim rests on, and what could undo it."""
    if pair.verdict == "tie":
        return []
    parts = [_figures(pair, result), _estimate(pair, result), _judging(pair, result), _depths(pair)]
    return [part for part in parts if part]


def _ordered(pair: Pair) -> tuple[str, str]:
    return (pair.run_a, pair.run_b) if pair.diff > 0 else (pair.run_b, pair.run_a)


def _claim(pair: Pair, result: Comparison) -> str:
    if pair.verdict == "tie":
        return f"{pair.run_a} and {pair.run_b} have the same mean over {pluralise(result.topics, 'topic')}."
    better, worse = _ordered(pair)
    if pair.verdict == "certain":
        return (
            f"{better} is better than {worse}: the difference is significant, and no judging of their documents and no "
            "tie-breaking reverses it."
        )
    if pair.verdict == "supported":
        return (
            f"{better} is better than {worse}: the difference is significant, and very likely still significant once "
            f"judged{_down_to(pair, result)} (p_holds {pair.p_holds:.2f})."
        )
    if pair.verdict == "fragile":
        why = "tie-breaking" if pair.why == "ties" else "further judging"
        undo = UNDOES.get(pair.reversible or "", MAY)
        return f"{better} is significantly better than {worse} as judged, but {why} {undo}."
    if pair.verdict == "significant":
        return f"{better} is significantly better than {worse}."
    if pair.why == "other side":
        return f"no claim: {better} has the higher mean, but the test, which is not about means, speaks for {worse}."
    return f"{better} is not distinguishable from {worse}: the difference is not significant."


def _figures(pair: Pair, result: Comparison) -> str:
    better, _ = _ordered(pair)
    size = abs(pair.diff)
    lead = f"{better} is ahead by " + (f"a factor of {exp(size):.4f}" if pair.log_scale else f"{size:.4f}")
    figures = [f"p {p_words(pair.p_corrected)}"]
    low, high = _towards(pair, pair.ci_low, pair.ci_high)
    level = f"{100 * (1 - result.alpha):g}%"
    if isfinite(low) and isfinite(high):
        about = SIGNIFICANCE_TESTS[result.test].about
        what = "interval over topics" if about == "mean difference" else f"interval of the {about} over topics"
        figures.insert(0, f"{level} {what} {_span(pair, low, high)}")
    size_of_it = ""
    if pair.effect_low is not None and pair.effect_high is not None and isfinite(pair.effect_low):
        low, high = _towards(pair, pair.effect_low, pair.effect_high)
        size_of_it = f" The effect size is {abs(pair.effect):.2f} (uncorrected {level} interval {low:+z.2f} to "
        size_of_it += f"{high:+z.2f})."
    start = f"On average over {pluralise(result.topics, 'topic')} {lead} ({', '.join(figures)}; {tested(result)})."
    needs = lacking(pair)
    return f"{start}{size_of_it}{f' {needs}' if needs else ''}"


def _down_to(pair: Pair, result: Comparison) -> str:
    """How far the judging goes that estimates are about."""
    depth = result.to_depth.get(pair.measure)
    return "" if depth is None else f" down to rank {depth:,}"


def reason(pair: Pair) -> str:
    """Why a pair cannot be claimed, as a cell of a table says it: what is lacking, and how much of it."""
    if pair.why == "other side":
        return "topics (the test speaks for the other run)"
    if pair.why == "not yet":
        return f"not significant yet; likely to be once judged ({floor(100 * (pair.p_holds or 0.0))}%)"
    amount = _amount(pair)
    return f"{pair.why} ({amount})" if amount else pair.why


def _amount(pair: Pair) -> str:
    """How many topics, or which judgments, would probably settle it, as far as that is known."""
    if pair.topics_needed is not None:
        return topics_needed(pair.topics_needed)
    if pair.to_judge is not None and pair.judged_to is not None:
        unjudged = pluralise(pair.to_judge, "unjudged document")
        return f"{unjudged} of the two runs down to rank {pair.judged_to:,}"
    return ""


def topics_needed(topics: float) -> str:
    return f"more than {TOPICS_NAMED:,} in all" if topics >= TOPICS_NAMED else f"about {topics:,.0f} in all"


def lacking(pair: Pair) -> str:
    """What an open comparison needs to be significant."""
    if pair.verdict != "open" or pair.why in ("", "other side"):
        return ""
    if pair.why == "not yet":
        return capitalised(f"{reason(pair)}.")
    if pair.why == "ties":
        return f"Breaking ties differently {'could' if pair.reversible == 'yes' else 'may'} reverse the difference."
    needs = f"more {reason(pair)}"
    if pair.why == "judging":
        likely = "will probably" if (pair.p_holds or 0.0) >= PROBABLE else "may well"
        then = f"judged that far, the difference {likely} be significant (p_holds {pair.p_holds:.2f})"
        return f"A claim needs {needs}: {then}."
    return f"A claim would probably need {needs}."


def _span(pair: Pair, low: float, high: float, link: str = " to ") -> str:
    """Two ends as differences, or as factors where the scale is one of logarithms."""
    return link.join(f"{exp(end):.4f}" if pair.log_scale else f"{end:+z.4f}" for end in (low, high))


def _towards(pair: Pair, low: float, high: float) -> tuple[float, float]:
    """Both ends of A - B as seen from the run that is ahead."""
    return (low, high) if pair.diff > 0 else (-high, -low)


def _judging(pair: Pair, result: Comparison) -> str:
    """The range over judgments, in the tie order used, and what it takes to reverse the sign."""
    if pair.diff_low is None or pair.diff_high is None:
        return ""
    low, high = _towards(pair, pair.diff_low, pair.diff_high)
    what = "factor" if pair.log_scale else "lead"
    whose = f"the unjudged documents of {'these two runs' if result.universe.kind == 'pair' else 'all runs'}"
    if high - low <= 1e-9:
        outcome = f"No judging of {whose} changes this {what}"
    elif pair.exact:
        outcome = f"Judging {whose} could bring this {what} down to {_span(pair, low, high, ' or up to ')}"
    else:
        outcome = f"Whatever {whose} turn out to be, this {what} stays between {_span(pair, low, high, ' and ')}"
    if pair.verdict == "open" and pair.reversible == "no":
        ahead = _ordered(pair)[0]
        return f"{outcome}. On these topics {ahead} then stays ahead, whatever tie-breaking rule both runs share."
    if pair.fragility_low is None:
        return f"{outcome}."
    least = int(pair.fragility_low)
    if pair.fragility_high is None:
        return f"{outcome}; it would take at least {pluralise(least, 'document')} to reverse it."
    most = int(pair.fragility_high)
    fewer = (
        "" if least == most else ", and perhaps fewer could" if least == 1 else f", and fewer than {least:,} could not"
    )
    return f"{outcome}; {pluralise(most, 'document')} could reverse it{fewer}."


def _estimate(pair: Pair, result: Comparison) -> str:
    """Where the difference will probably end up, as seen from the run that is ahead now."""
    if pair.estimate is None or pair.likely_low is None or pair.likely_high is None:
        return ""
    if pair.likely_high - pair.likely_low <= 1e-9 and abs(pair.estimate - pair.diff) <= 1e-9:
        return ""
    low, high = _towards(pair, pair.likely_low, pair.likely_high)
    _, middle = _towards(pair, pair.estimate, pair.estimate)
    what = "factor" if pair.log_scale else "lead"
    shown = f"{exp(middle):.4f}" if pair.log_scale else f"{middle:+z.4f}"
    interval = f"{100 * result.level:g}% interval {_span(pair, low, high)}"
    return f"Estimated {what} once judged{_down_to(pair, result)}: {shown} ({interval})."


def _depths(pair: Pair) -> str:
    if not pair.depths_reversed:
        return ""
    depths = "depth" if len(pair.depths_reversed) == 1 else "depths"
    return f"At {depths} {' and '.join(map(str, pair.depths_reversed))} the order is reversed."


def tested(result: Comparison) -> str:
    """The test, and how it was corrected."""
    test = SIGNIFICANCE_TESTS[result.test]
    pairs = sum(pair.measure == result.pairs[0].measure for pair in result.pairs)  # corrected for together
    title = test.title + ("" if result.clusters is None else f" over {pluralise(result.clusters, 'cluster')} of topics")
    if test.allows_for_all_pairs or result.correction == "none" or pairs < 2:
        return title
    return f"{title}, {CORRECTION_METHODS[result.correction].title}-corrected"


MEANINGS: dict[Verdict, str] = {
    "certain": "significant, very likely to remain so, and irreversible by judging or tie-breaking",
    "supported": "significant, and very likely to remain so under further judging",
    "significant": "significant",
    "fragile": "significant as judged, but not safe from further judging or tie-breaking",
    "open": "not significant",
    "tie": "equal means",
}


def _counted(measure: str, pairs: list[Pair], result: Comparison) -> str:
    counts = Counter(pair.verdict for pair in pairs)
    parts = [_are(counts[verdict], verdict, meaning) for verdict, meaning in MEANINGS.items() if counts[verdict]]
    proved = sum(pair.verdict == "open" and pair.reversible == "no" for pair in pairs)
    how = f"{tested(result)}, alpha {result.alpha:g}"
    counted = f"{measure}: of {len(pairs):,} pairs, {', '.join(parts)}; {how}."
    if proved:
        counted += (
            f" Of the open ones, {proved:,} cannot be reversed on these topics by judging the documents of their two"
        )
        counted += " runs, nor by tie-breaking."
    reversed_ = sum(bool(pair.depths_reversed) and pair.verdict not in ("open", "tie") for pair in pairs)
    if reversed_:
        counted += f" In {reversed_:,} of the significant ones the other run leads at another depth."
    return counted


def _are(count: int, verdict: Verdict, meaning: str) -> str:
    named: tuple[str, str] = {"tie": ("a tie", "ties")}.get(verdict, (verdict, verdict))
    return f"{count:,} {_be(count)} {named[count != 1]} ({meaning})"


def _be(count: int) -> str:
    return "is" if count == 1 else "are"
