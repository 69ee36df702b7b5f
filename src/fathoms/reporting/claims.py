"""What may be written in a paper, by one measure: sentences to copy, each with its evidence, and what may not be said.

A sentence stands for itself: it names measure, topics, test and the state of judging, and quotes the comparison, the
ranking, the estimates, the audit and the study of ties, never a figure of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, floor, isfinite
from typing import TYPE_CHECKING, Literal

from fathoms.base.text import p_figure, p_words, pluralise
from fathoms.base.tolerances import SAME
from fathoms.experiment.topics import some
from fathoms.inference.names import CLAIMED, Verdict
from fathoms.inference.significance import CORRECTION_METHODS, SIGNIFICANCE_TESTS
from fathoms.measures.base import Measure
from fathoms.questions.audit import words as audit_sentences
from fathoms.questions.audit.findings import as_percent
from fathoms.questions.compare.result import Comparison, Pair
from fathoms.questions.compare.verdicts import HOLDS
from fathoms.questions.compare.words import lacking
from fathoms.questions.depth.stability import STABLE, stable_from
from fathoms.questions.rank.words import span
from fathoms.questions.ties import words as tie_sentences
from fathoms.reporting.verdicts import (
    FAR_LESS,
    TOP_PLACES,
    ahead,
    expected_ahead,
    judged_shares,
    leaders,
    of_run,
    other_run,
    rivals,
)

if TYPE_CHECKING:
    from fathoms.reporting.report import Report

MOST = 10
RIVALS = 3  # runs next to the first one that get a sentence each
NAMED = 5
NOT_CLAIMED: dict[Verdict, str] = {"open": "not significant", "fragile": "fragile", "tie": "equal"}

Evidence = tuple[tuple[str, str], ...]  # labels and values


@dataclass(frozen=True)
class Claim:
    """A sentence that may be written, or with `may_not` what may not be claimed and why."""

    about: Literal[
        "score", "rival", "all", "best", "stays", "ranks", "thin", "measures", "ties", "depth", "pool", "order"
    ]
    sentence: str
    evidence: Evidence
    may_not: bool = False

    @property
    def with_evidence(self) -> str:
        return f"{self.sentence} [{'; '.join(f'{label}: {value}' for label, value in self.evidence)}]"


def claims(report: Report, measure: Measure) -> list[Claim]:
    """Up to ten, the most useful ones; what may be written comes first."""
    made = [_score(report, measure)]
    if report.comparison is not None:
        made += [
            *_rivals(report, measure, report.comparison),
            *_all_others(report, measure, report.comparison),
            *_stays_first(report, measure),
            *_ranks(report, measure),
            *_thinly_judged(report, measure),
            *_other_measures(report, measure),
        ]
    made += [*_ties(report, measure), *_depth(report, measure), *_pool(report, measure)]
    if report.comparison is not None:
        made += _order(report, measure, report.comparison)
    return sorted(made[:MOST], key=lambda claim: claim.may_not)


# -- the first run and its score -----------------------------------------------------------------------------------


def _topics(report: Report) -> str:
    return f"On {pluralise(len(report.evaluation.runs[0].topics), 'topic')}"


def _once_judged(report: Report, measure: Measure) -> str:
    """What estimates are about, in words; nothing where there are none."""
    depth = None if report.comparison is None else report.comparison.to_depth.get(measure.name)
    runs = len(report.evaluation.runs)
    whose = "its documents" if runs == 1 else f"the documents of these {runs:,} runs"
    return f"once {whose} are judged" + ("" if depth is None else f" down to rank {depth:,}")


def _estimated(report: Report, measure: Measure, run: str) -> str:
    """The estimate with its interval; nothing where there is none."""
    if (run, measure.name) not in report.estimates:
        return ""
    estimate, low, high = report.estimates[run, measure.name]
    score = (
        next(run_scores for run_scores in report.evaluation.runs if run_scores.run == run).mean(measure)["score"] or 0.0
    )
    if max(abs(end - score) for end in (estimate, low, high)) < SAME:
        return f"{_once_judged(report, measure)} it is the same"
    interval = f"{100 * report.level:g}% interval {low:.4f} to {high:.4f}"
    return f"{_once_judged(report, measure)} it is estimated at {estimate:.4f} ({interval})"


def _score_evidence(report: Report, measure: Measure, run: str) -> Evidence:
    mean = next(run_scores for run_scores in report.evaluation.runs if run_scores.run == run).mean(measure)
    evidence = [("topics", f"{len(report.evaluation.runs[0].topics):,}"), ("score", f"{mean['score'] or 0.0:.4f}")]
    if (run, measure.name) in report.estimates:
        estimate, low, high = report.estimates[run, measure.name]
        evidence.append(("estimate", f"{estimate:.4f}, {100 * report.level:g}% interval {low:.4f} to {high:.4f}"))
    for label, low_name, high_name in (
        ("possible range over judging", "low", "high"),
        ("range over tie orders", "tie_low", "tie_high"),
    ):
        if mean[low_name] is not None and mean[high_name] is not None:
            evidence.append((label, f"{mean[low_name]:.4f} to {mean[high_name]:.4f}"))
    return (*evidence, *_judged(report, [run]))


def _judged(report: Report, runs: Sequence[str]) -> Evidence:
    """The judged share of the first documents of some runs."""
    shares = judged_shares(report)
    known = [f"{run} {as_percent(shares[run])}" for run in runs if run in shares]
    return ((f"judged of the first {TOP_PLACES}", ", ".join(known)),) if known else ()


def _score(report: Report, measure: Measure) -> Claim:
    best = report.ranked(measure)[0]
    first = leaders(report, measure)
    score = f"{best.mean(measure)['score'] or 0.0:.4f} with unjudged documents counted as not relevant"
    of = f"of the {len(report.evaluation.runs):,} runs"
    if report.comparison is None:
        words = f"{_topics(report)}, {best.run} has {measure.name} {score}"
    elif len(first) > 1:
        words = f"{_topics(report)}, {some(first)} share the highest {measure.name} {of}, {score}"
    else:
        words = f"{_topics(report)}, {best.run} has the highest {measure.name} {of}, {score}"
    estimated = _estimated(report, measure, best.run)
    if estimated and len(first) > 1:
        estimated = estimated.replace(" it is ", f" that of {best.run} is ")
    return Claim(
        "score", f"{words}; {estimated}." if estimated else f"{words}.", _score_evidence(report, measure, best.run)
    )


# -- pairs -------------------------------------------------------------------------------------------------------------


def _rivals(report: Report, measure: Measure, made: Comparison) -> list[Claim]:
    """The first run against those next to it."""
    first, *others = [run.run for run in report.ranked(measure)]
    pairs = {other_run(pair, first): pair for pair in of_run(report, measure, first)}
    return [_pair(report, measure, made, pairs[name]) for name in others[:RIVALS]]


def _pair(report: Report, measure: Measure, made: Comparison, pair: Pair) -> Claim:
    better, worse = ahead(pair)
    means = {run.run: run.mean(measure)["score"] or 0.0 for run in report.evaluation.runs}
    topics, evidence = _topics(report), _pair_evidence(report, measure, made, pair)
    scores = f"{means[better]:.4f} vs {means[worse]:.4f}"
    tested = f"{scores}; {_tested(made, measure)}, p {p_words(pair.p_corrected)}"
    if pair.verdict in CLAIMED:
        words = f"{topics}, {better} has higher {measure.name} than {worse} ({tested})"
        return Claim("rival", f"{words}; {_holds(report, measure, pair)}.", evidence)
    words = f"May not be claimed: that {better} has higher {measure.name} than {worse}. {topics} "
    if pair.verdict == "tie":
        words = f"May not be claimed: that {better} and {worse} differ by {measure.name}. {topics} "
        return Claim("rival", f"{words}their means are equal ({means[better]:.4f}).", evidence, may_not=True)
    if pair.verdict == "fragile":
        words += f"the difference is significant as judged ({tested}), but {_undone(report, measure, pair)}."
        return Claim("rival", words, evidence, may_not=True)
    words += f"the difference is not significant ({tested}). {lacking(pair)}".rstrip()
    if pair.reversible == "no":
        words += (
            f" On these topics {better} stays ahead however the documents of the two are judged, and in every order of "
            "tied documents."
        )
    return Claim("rival", words, evidence, may_not=True)


def _tested(made: Comparison, measure: Measure) -> str:
    test = SIGNIFICANCE_TESTS[made.test]
    pairs = sum(pair.measure == measure.name for pair in made.pairs)
    if test.allows_for_all_pairs or made.correction == "none" or pairs < 2:
        return test.title
    return f"{test.title}, {CORRECTION_METHODS[made.correction].title}-corrected over {pluralise(pairs, 'pair')}"


def _percent(probability: float) -> str:
    """Never more than it is."""
    return "more than 99%" if probability > 0.995 else f"{floor(100 * probability + 1e-9)}%"


def _holds(report: Report, measure: Measure, pair: Pair) -> str:
    """What becomes of a significant difference under judging and other orders of ties."""
    sign = "no judging of their documents and no order of tied documents reverses the sign"
    made = report.comparison
    if made is None or measure.name not in made.to_depth:  # nothing is estimated, so it is proved
        stays = "it stays significant however the unjudged documents of the two are judged"
    else:
        chance = _percent(pair.p_holds or 0.0)
        stays = f"with {chance} probability the difference is still significant {_once_judged(report, measure)}"
    return f"{stays}, and {sign}" if pair.verdict == "certain" else stays


def _undone(report: Report, measure: Measure, pair: Pair) -> str:
    if pair.why == "ties":
        could = "could reverse" if pair.reversible == "yes" else "may undo"
        return f"another order of tied documents {could} it"
    if pair.p_holds is None:
        return "whether it holds under further judging is not known"
    chance = floor(100 * pair.p_holds + 1e-9)
    return f"the probability that it is still significant {_once_judged(report, measure)} is only {chance}%"


def _pair_evidence(report: Report, measure: Measure, made: Comparison, pair: Pair) -> Evidence:
    better, worse = ahead(pair)
    sign = 1.0 if pair.run_a == better else -1.0

    def ends(low: float | None, high: float | None) -> str:
        if low is None or high is None or not (isfinite(low) and isfinite(high)):
            return ""
        low, high = (low, high) if sign > 0 else (-high, -low)
        return " to ".join(f"{exp(end):.4f}" if pair.log_scale else f"{end:+z.4f}" for end in (low, high))

    def signed_value(value: float) -> str:
        return f"{exp(sign * value):.4f} (ratio)" if pair.log_scale else f"{sign * value:+z.4f}"

    likely = ""
    if pair.estimate is not None:
        interval = f"{100 * made.level:g}% interval {ends(pair.likely_low, pair.likely_high)}"
        likely = f"{signed_value(pair.estimate)} ({interval}) {_once_judged(report, measure)}"
    chance = None if pair.p_better is None else pair.p_better if sign > 0 else 1 - pair.p_better
    evidence = (
        ("verdict", pair.verdict),
        ("topics", f"{made.topics:,}"),
        ("difference", signed_value(pair.diff)),
        ("test", f"{_tested(made, measure)}, alpha {made.alpha:g}"),
        ("p", f"{p_figure(pair.p_corrected)} (uncorrected {p_figure(pair.p)})"),
        ("interval over topics", ends(pair.ci_low, pair.ci_high)),
        ("effect size", f"{sign * pair.effect:+z.2f}" if isfinite(pair.effect) else ""),
        ("estimate", likely),
        (f"probability that {better} is ahead once judged (p_better)", "" if chance is None else f"{chance:.2f}"),
        (
            "probability that it is significant once judged (p_holds)",
            "" if pair.p_holds is None else f"{pair.p_holds:.2f}",
        ),
        ("possible range over judging", ends(pair.diff_low, pair.diff_high)),
        ("reversible by judging or ties", pair.reversible or ""),
        ("fragility", _fragility(pair)),
    )
    return (*((label, value) for label, value in evidence if value), *_judged(report, [better, worse]))


def _fragility(pair: Pair) -> str:
    """How many documents it takes to reverse the sign."""
    if pair.reversible == "no":
        return "no judging of the two runs' documents reverses the sign"
    if pair.fragility_low is None:
        return ""
    low, high = int(pair.fragility_low), None if pair.fragility_high is None else int(pair.fragility_high)
    if high is None:
        return f"at least {pluralise(low, 'document')} to reverse the sign"
    many = pluralise(high, "document")
    return f"{many} can reverse the sign" if low == high else f"{many} can reverse the sign, fewer than {low:,} cannot"


def _all_others(report: Report, measure: Measure, made: Comparison) -> list[Claim]:
    """How many runs the first one is better than, and whether it is the best of all."""
    best = report.ranked(measure)[0].run
    pairs = of_run(report, measure, best)
    counts = Counter(pair.verdict for pair in pairs)
    claimed, others = sum(counts[verdict] for verdict in CLAIMED), len(pairs)
    if others < 2:
        return []
    evidence: Evidence = (
        ("topics", f"{made.topics:,}"),
        ("test", f"{_tested(made, measure)}, alpha {made.alpha:g}"),
        *((verdict, f"{number:,}") for verdict, number in counts.items()),
        *_judged(report, [best]),
    )
    claims_made = []
    if claimed:
        whom = f"all {others:,} other runs" if claimed == others else f"{claimed:,} of the {others:,} other runs"
        claim = f"{_topics(report)}, {best} has higher {measure.name} than {whom} ({_tested(made, measure)}, alpha "
        claim += f"{made.alpha:g}); "
        if measure.name in made.to_depth:
            each = "each of these differences is" if claimed > 1 else "this difference is"
            claim += (
                f"with a probability of {HOLDS:.0%} or more {each} still significant {_once_judged(report, measure)}"
            )
        else:
            each = "these differences stay" if claimed > 1 else "this difference stays"
            claim += f"{each} significant however the unjudged documents of the two are judged"
        certain = counts["certain"]
        if certain:
            many = "any of them" if certain == claimed > 1 else f"{certain:,} of them" if claimed > 1 else "it"
            claim += f", and no judging of the two runs' documents and no order of tied documents reverses {many}"
        claims_made.append(Claim("all", f"{claim}.", evidence))
    if claimed < others:
        left = rivals(report, measure)
        why = [f"{counts[verdict]:,} {words}" for verdict, words in NOT_CLAIMED.items() if counts[verdict]]
        claim = (
            f"May not be claimed: that {best} is the best of the {others + 1:,} runs by {measure.name}. "
            f"{_topics(report)}, {pluralise(others - claimed, 'difference')} from other runs cannot be claimed "
            f"({', '.join(why)}; {_tested(made, measure)}, alpha {made.alpha:g}): {some([n for n, _ in left], NAMED)}."
        )
        claims_made.append(Claim("best", claim, evidence, may_not=True))
    return claims_made


def _stays_first(report: Report, measure: Measure) -> list[Claim]:
    """Runs that the estimates put ahead of the first one, as the scores of thinly judged runs often hide."""
    best = report.ranked(measure)[0].run
    ahead_of_it = expected_ahead(report, measure)
    if not ahead_of_it:
        return []
    listed = some([f"{name} ({chance:.2f})" for name, chance in ahead_of_it], NAMED)
    words = (
        f"May not be claimed: that {best} has the highest {measure.name} once more is judged. {_topics(report)}, "
        f"{_once_judged(report, measure)}, estimates put {pluralise(len(ahead_of_it), 'run')} ahead of it "
        f"(probability in brackets): {listed}."
    )
    names = [best, *(name for name, _ in ahead_of_it[:NAMED])]
    estimates = [(name, report.estimates[name, measure.name]) for name in names]
    evidence = tuple(
        (f"estimate of {name}", f"{e:.4f} ({low:.4f} to {high:.4f})") for name, (e, low, high) in estimates
    )
    return [Claim("stays", words, (*evidence, *_judged(report, names)), may_not=True)]


# -- ranks ------------------------------------------------------------------------------------------------------------


def _ranks(report: Report, measure: Measure) -> list[Claim]:
    """Which runs may be the best on topics like these, and how far down the first one may be."""
    ranking, standings = report.ranking, report.standings(measure)
    if ranking is None or not standings:
        return []
    best, n = report.ranked(measure)[0].run, len(standings)
    candidates = [run for run, standing in standings.items() if standing.rank_ci_low == 1]
    own, level = standings[best], f"{100 * (1 - ranking.alpha):g}%"
    evidence: Evidence = (
        ("topics", f"{ranking.topics:,}"),
        ("method", f"{level} confidence sets of the ranks of all {n:,} runs at once, resampled topics"),
        (f"ranks of {best} over topics", span(own.rank_ci_low, own.rank_ci_high)),
        (f"likely ranks of {best} over judging", span(own.likely_rank_low, own.likely_rank_high)),
        (f"possible ranks of {best} over judging and ties", span(own.rank_low, own.rank_high)),
        *_judged(report, [best]),
    )
    evidence = tuple((label, value) for label, value in evidence if value)
    by = f"{measure.name} as judged, {pluralise(ranking.topics, 'topic')}"
    if len(candidates) == n:
        words = f"May not be claimed: that any of the {n:,} runs is not the best on topics like these ({by}, {level} "
        return [Claim("ranks", f"{words}confidence sets of ranks).", evidence, may_not=True)]
    if len(candidates) == 1:
        words = f"With {level} confidence {best} is the best of the {n:,} runs on topics like these"
    else:
        words = (
            f"With {level} confidence the best of the {n:,} runs on topics like these is one of {len(candidates):,} "
            f"({some(candidates, NAMED)}), and {best} is among the first {own.rank_ci_high:,}"
        )
    return [Claim("ranks", f"{words} ({by}; simultaneous confidence sets of ranks).", evidence)]


def _order(report: Report, measure: Measure, made: Comparison) -> list[Claim]:
    """The ranking as a whole."""
    neighbours = {frozenset(two) for two in pairwise(run.run for run in report.ranked(measure))}
    pairs = [pair for pair in report.pairs(measure) if frozenset((pair.run_a, pair.run_b)) in neighbours]
    claimed = sum(pair.verdict in CLAIMED for pair in pairs)
    if len(pairs) < 2 or claimed == len(pairs):
        return []
    words = (
        f"May not be claimed: the ranking of the {len(pairs) + 1:,} runs by {measure.name} as a whole. "
        f"{_topics(report)}, {claimed:,} of {len(pairs):,} differences between a run and the next can be claimed "
        f"({_tested(made, measure)}, alpha {made.alpha:g})."
    )
    evidence = tuple(Counter(pair.verdict for pair in pairs).items())
    return [Claim("order", words, tuple((verdict, f"{number:,}") for verdict, number in evidence), may_not=True)]


# -- what else it depends on ------------------------------------------------------------------------------------------


def _thinly_judged(report: Report, measure: Measure) -> list[Claim]:
    """The run of which least is judged, if that is far less than of the first one."""
    best = report.ranked(measure)[0].run
    shares = judged_shares(report)
    if best not in shares:
        return []
    thin = [run for run, share in shares.items() if share < FAR_LESS * shares[best]]
    if not thin:
        return []
    least = min(thin, key=lambda run: (shares[run], run))
    mean = next(run for run in report.evaluation.runs if run.run == least).mean(measure)
    words = (
        f"{_topics(report)}, {as_percent(shares[least])} of the first {TOP_PLACES} documents of {least} are judged "
        f"({best}: {as_percent(shares[best])}); its {measure.name} of {mean['score'] or 0.0:.4f} counts the unjudged "
        "ones as not relevant"
    )
    estimated = _estimated(report, measure, least)
    if estimated:
        words += f", and {estimated}"
    return [Claim("thin", f"{words}.", _score_evidence(report, measure, least))]


def _other_measures(report: Report, measure: Measure) -> list[Claim]:
    """Another measure by which some run can be claimed better than the first one."""
    best = report.ranked(measure)[0].run
    for other in report.measures:
        pairs = [p for p in of_run(report, other, best) if p.verdict in CLAIMED and ahead(p)[0] != best]
        if pairs:
            names = [ahead(pair)[0] for pair in pairs]
            words = (
                f"May not be claimed: that {best} is best whatever the measure. {_topics(report)}, by {other.name} "
                f"{pluralise(len(names), 'run')} can be claimed better than it: {some(names, NAMED)}."
            )
            return [Claim("measures", words, tuple((ahead(p)[0], p.verdict) for p in pairs[:NAMED]), may_not=True)]
    return []


def _ties(report: Report, measure: Measure) -> list[Claim]:
    changes, could = report.ties.means[measure].verdicts()
    if not len(changes):
        return []
    words = tie_sentences.effects_of_order(report.ties, measure)
    evidence: Evidence = (
        ("topics", f"{len(report.evaluation.runs[0].topics):,}"),
        ("pairs of runs", f"{len(changes):,}"),
        ("pairs that the rule decides", f"{int(changes.sum()):,}"),
        ("further pairs that breaking ties run by run could reverse", f"{int(could.sum()):,}"),
        ("tie-breaking used", report.options.ties),
    )
    if changes.any() or could.any():
        start = f"May not be claimed: that the order of the runs by {measure.name} does not depend on tie-breaking. "
        return [Claim("ties", f"{start}{_topics(report)}, {words}", evidence, may_not=True)]
    who = "which of two runs is ahead" if len(changes) > 1 else "which run is ahead"
    return [
        Claim(
            "ties",
            f"{_topics(report)}, {who} by {measure.name} as judged does not depend on how tied documents are ordered.",
            evidence,
        )
    ]


def _depth(report: Report, measure: Measure) -> list[Claim]:
    bare, depths = measure.name.partition("@")[0], report.depths
    taus = report.volatility(bare)
    if depths is None or taus is None:
        return []
    start, last = stable_from(taus, depths.depths), depths.depths[-1]
    tau = f"Kendall's tau between the orders at any two depths is {STABLE:g} or more"
    evidence: Evidence = (
        ("topics", f"{len(report.evaluation.runs[0].topics):,}"),
        ("depths looked at", ", ".join(map(str, depths.depths))),
        ("pool", depths.pool),
    )
    if start is None:
        words = (
            f"May not be claimed: that the order of the runs by {bare} does not depend on the depth of evaluation. "
            f"{_topics(report)}, Kendall's tau between the orders at two of the deepest depths, down to {last:,}, is "
            f"below {STABLE:g}."
        )
        return [Claim("depth", words, evidence, may_not=True)]
    if measure.k is not None and measure.k < start:
        words = (
            f"May not be claimed: that the order of the runs by {measure.name} is that at other depths. "
            f"{_topics(report)}, it depends on the depth of evaluation at depths shallower than {start:,}; from there "
            f"to depth {last:,} {tau}."
        )
        return [Claim("depth", words, evidence, may_not=True)]
    where = f"from depth {start:,} to {last:,}" if start > depths.depths[0] else f"down to depth {last:,}"
    words = f"{_topics(report)}, the order of the runs by {bare} as judged hardly depends on the depth of evaluation "
    return [Claim("depth", f"{words}{where}: {tau}.", evidence)]


def _pool(report: Report, measure: Measure) -> list[Claim]:
    """How complete the judgments are."""
    if report.audit is None:
        return []
    share = report.audit.share(report.audit.shares, TOP_PLACES)
    if share is None:
        return []
    grades = report.qrels.grades
    runs = len(report.evaluation.runs)
    whose = report.evaluation.runs[0].run if runs == 1 else f"a run, on average over the {runs:,} runs,"
    words = (
        f"{measure.name} is computed from {int((grades >= 0).sum()):,} judgments on "
        f"{pluralise(len(report.qrels.topics), 'topic')} ({int((grades >= 1).sum()):,} relevant documents); "
        f"{as_percent(share.mean)} of the first {TOP_PLACES} documents of {whose} are judged, and unjudged ones count "
        "as not relevant."
    )
    return [Claim("pool", words, (("pool", audit_sentences.sentences(report.audit)[0]),))]
