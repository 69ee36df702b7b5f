"""The pairs of one measure: differences, intervals, p-values, what estimates say of them, and a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fathoms.base.parallel import Where, parallel_map
from fathoms.base.tolerances import SAME
from fathoms.data.qrels import UNJUDGED
from fathoms.estimate.estimates import Estimates
from fathoms.evidence.candidates import DocumentTable
from fathoms.evidence.evidence import Floats, Ints
from fathoms.inference.intervals import intervals, tested_levels
from fathoms.inference.names import SEEN_WITH, Verdict
from fathoms.inference.paired_tests import effect_interval, effect_size, paired_differences
from fathoms.inference.significance import SIGNIFICANCE_TESTS, Correction, Test, p_corrected, p_values
from fathoms.inference.significance_after_judging import Holding, holding
from fathoms.inference.units import Units
from fathoms.measures.base import Measure
from fathoms.pairs.difference_ranges import DifferenceRanges
from fathoms.pairs.differences import comparable
from fathoms.pairs.fragility import Fragility
from fathoms.pairs.scored_runs import other_depths
from fathoms.questions.compare.result import Pair, Why

HOLDS = 0.95  # probability of staying significant from which a difference counts as supported


@dataclass(frozen=True, eq=False)
class TestPlan:
    """Which runs are compared, and how they are tested; all measures of a comparison share it."""

    names: list[str]
    a: Ints
    b: Ints
    test: Test
    correction: Correction
    alpha: float  # of the tests of one measure and one group of topics
    asked_alpha: float
    seed: int
    over_orders: bool  # scores are means over the orders of ties
    units: Units | None = None  # clusters of topics, where topics depend on each other

    def by_unit(self, values: Floats) -> Floats:
        """Values [.., topic] as what is drawn at random, [.., topic] or [.., cluster]."""
        return values if self.units is None else self.units.totals(values)

    @property
    def topics_each(self) -> float:
        return 1.0 if self.units is None else self.units.topics_each


def compared(names: list[str], baseline: str | None) -> tuple[Ints, Ints]:
    """The places of A and B in all pairs, or of each other run and the baseline."""
    if baseline is None:
        return np.triu_indices(len(names), 1)
    place = names.index(baseline)
    others = np.array([i for i in range(len(names)) if i != place])
    return others, np.full(len(others), place)


def pairs_after_judging(
    estimates: Estimates, values: dict[Measure, Floats], plan: TestPlan, level: float, where: Where
) -> dict[Measure, Holding]:
    """What the estimates say about each pair, measure by measure. No verdict rests on those that failed their check."""

    def after_judging(measure: Measure) -> Holding:
        estimate = estimates[measure]
        held = holding(
            plan.by_unit(values[measure]),
            plan.by_unit(comparable(measure, estimate.draws)),
            plan.a,
            plan.b,
            point=comparable(measure, estimate.point),
            test=plan.test,
            correction=plan.correction,
            alpha=plan.alpha,
            seed=plan.seed,
            level=level,
        )
        if estimates.bears_a_verdict(measure):
            return held
        return replace(held, p_holds=np.full(len(held.p_holds), np.nan))

    measures = list(estimates.by_measure)
    return dict(
        zip(
            measures,
            parallel_map(after_judging, measures, **where, doing="measures, once all is judged"),
            strict=True,
        )
    )


def tested_pairs(
    measure: Measure,
    values: Floats,
    plan: TestPlan,
    ranges: DifferenceRanges | None,
    held: Holding | None,
    fragilities: Sequence[Fragility | None] | None,
    at_depths: Floats | None,
    covered: bool,
) -> list[Pair]:
    a, b = plan.a, plan.b
    by_topic, values = paired_differences(values, a, b), plan.by_unit(values)
    differences = by_topic if plan.units is None else paired_differences(values, a, b)
    diff = differences.mean(axis=1)
    p = p_values(values, plan.test, plan.seed)[a, b]
    p_all = p_corrected(p, plan.test, plan.correction)
    ci_low, ci_high = intervals(values, a, b, plan.test, plan.correction, plan.alpha, plan.seed, p)
    effect, (effect_low, effect_high) = effect_size(differences), effect_interval(differences, plan.asked_alpha)
    holds = _holds(by_topic, differences, p, ranges if covered else None, held, plan)
    other = other_depths(measure)
    direction = SIGNIFICANCE_TESTS[plan.test].direction(differences)
    pairs = []
    for i in range(len(a)):
        A, B = int(a[i]), int(b[i])
        reversed_at: tuple[int, ...] = ()
        if at_depths is not None:
            by_depth = (at_depths[A] - at_depths[B]) * np.sign(diff[i])
            reversed_at = tuple(k for k, lead in zip(other, by_depth, strict=True) if lead < -SAME)
        of_holding = ("estimate", "likely_low", "likely_high", "p_better")
        facts: dict[str, Any] = {} if held is None else {x: float(getattr(held, x)[i]) for x in of_holding}
        if ranges is not None:
            facts["reversible"] = str(ranges.reversible[i]) or None
            if not plan.over_orders and ranges.made[i]:
                facts |= {"diff_low": float(ranges.low[i]), "diff_high": float(ranges.high[i]), "exact": ranges.exact}
        pair_fragility = None if fragilities is None else fragilities[i]
        if pair_fragility is not None:
            facts |= {"fragility_low": pair_fragility.low, "fragility_high": pair_fragility.high}
        pair = Pair(
            plan.names[A],
            plan.names[B],
            measure.name,
            float(diff[i]),
            float(ci_low[i]),
            float(ci_high[i]),
            float(p[i]),
            float(p_all[i]),
            float(effect[i]),
            effect_low=float(effect_low[i]),
            effect_high=float(effect_high[i]),
            p_holds=None if holds is None else float(holds[i]),
            log_scale=measure.aggregate == "geometric",
            depths_reversed=reversed_at,
            **facts,
        )
        for_b = direction[i] * diff[i] < 0
        pairs.append(_verdict(pair, "" if ranges is None else str(ranges.doubt[i]), bool(for_b), plan))
    levels = tested_levels(p, plan.test, plan.correction, plan.alpha)
    return _with_topics_needed(pairs, differences, levels, plan.topics_each)


def _holds(
    by_topic: Floats,
    differences: Floats,
    p: Floats,
    ranges: DifferenceRanges | None,
    held: Holding | None,
    plan: TestPlan,
) -> Floats | None:
    """The probability that each difference is significant, on the same side, once judged. Differences are given by
    topic, and as they are tested.

    It is 1 where that is proved: where no judging changes a topic's difference, or where even the least favourable
    differences of all topics together would be significant at the level of Bonferroni's correction.
    """
    drawn = None if held is None else held.p_holds.copy()
    if ranges is None or plan.over_orders:
        return drawn
    low, high = ranges.topic_low, ranges.topic_high
    m, n = len(p), differences.shape[1]
    level = plan.alpha if plan.correction == "none" else plan.alpha / m
    fixed = (high - low <= SAME).all(axis=1)
    proved = fixed & (p < level)
    if fixed.all():
        proved = p_corrected(p, plan.test, plan.correction) < plan.alpha
    elif plan.test == "t" and n > 1:
        from scipy.special import stdtr

        lead = np.where(differences.mean(axis=1) > 0, low.mean(axis=1), -high.mean(axis=1))
        away = np.maximum(high - by_topic, by_topic - low)
        away = plan.by_unit(away)
        spread = differences.std(axis=1, ddof=1) + np.sqrt((away**2).sum(axis=1) / (n - 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            worst = 2 * stdtr(n - 1, -np.where(lead > 0, lead, 0.0) * np.sqrt(n) / spread)
        proved |= (lead > SAME) & (worst < level)
    if drawn is None:
        return np.where(proved, 1.0, np.nan) if proved.any() else None
    return np.where(proved, 1.0, drawn)


def _verdict(pair: Pair, doubt: str, other_side: bool, plan: TestPlan) -> Pair:
    """What may be said about a pair, tested from the strongest claim down. On the `other_side` is a test that is not
    about means and favours the run with the lower one."""
    p_holds = None if pair.p_holds is None or np.isnan(pair.p_holds) else pair.p_holds
    chance = p_holds or 0.0

    def verdict_is(verdict: Verdict, why: Why = "") -> Pair:
        return replace(pair, verdict=verdict, why=why, p_holds=p_holds)

    if abs(pair.diff) <= SAME:
        return verdict_is("tie")
    if pair.p_corrected < plan.alpha and other_side:
        return verdict_is("open", "other side")
    if pair.p_corrected >= plan.alpha:
        if chance >= HOLDS:
            return verdict_is("open", "not yet")
        return verdict_is("open", "judging" if chance >= 0.5 else "ties" if doubt == "ties" else "topics")
    by_ties = doubt == "ties" and pair.reversible == "yes"  # some order of ties does it
    if chance >= HOLDS and not by_ties:
        return verdict_is("certain" if pair.reversible == "no" else "supported")
    return verdict_is("fragile", "ties" if doubt == "ties" else "judging")


def _with_topics_needed(pairs: list[Pair], differences: Floats, levels: Floats, topics_each: float) -> list[Pair]:
    """How many topics would probably settle the pairs that are open because there are too few.

    For differences like those seen, normally distributed, and the level that each pair is tested at.
    """
    from scipy.special import ndtri

    n = differences.shape[1]
    if n < 2:
        return pairs  # one topic says nothing about how topics differ
    size = np.abs(effect_size(differences))
    with np.errstate(divide="ignore"):
        needed = ((ndtri(1 - np.minimum(levels, 0.999) / 2) + ndtri(SEEN_WITH)) / size) ** 2
    needed = topics_each * np.where(
        np.isnan(needed), np.inf, np.maximum(needed, n + 1.0)
    )  # without a size, no number is enough
    return [
        replace(pair, topics_needed=topics) if pair.why == "topics" else pair
        for pair, topics in zip(pairs, needed.tolist(), strict=True)
    ]


def with_unjudged(pairs: list[Pair], table: DocumentTable, depth: int) -> list[Pair]:
    """How many documents of the two runs are to be judged, for pairs that are open because judging is lacking."""

    def unjudged(pair: Pair) -> int:
        both = table.in_first([table.names.index(run) for run in (pair.run_a, pair.run_b)], depth)
        return int((both & (table.codes == UNJUDGED)).sum())

    return [
        replace(pair, to_judge=unjudged(pair), judged_to=depth)
        if pair.verdict == "open" and pair.why == "judging"
        else pair
        for pair in pairs
    ]
