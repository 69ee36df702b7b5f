"""May a candidate replace the baseline? Passes, fails or cannot tell; what `fathoms gate` and `fm.gate` do.

Differences are candidate - baseline by topic. Two one-sided questions are asked of their mean over the topics that one
cares about, of which these are a sample: is it above -max_drop (then the gate passes), and is it below 0 (a drop)? Each
p-value takes in the doubt of topics and of judging. `certain` is the worst p over every way of judging the unjudged
documents and every order of ties. `likely` is the worst of three: they are not relevant; they are as relevant as the
judged ones at the same ranks of the same run (`estimate.judged_rates`); they are as the default estimate says. That
estimate alone would not do: on simulated pairs without a difference, in which all unjudged documents were the
candidate's own, it raised an alarm in half of the cases. `labels` that cover these very documents let it decide. With
nothing unjudged that could change a score, all are the p of the paired t-test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from fathoms import choices
from fathoms.choices import checked
from fathoms.comparison.fragility import changes_by_one
from fathoms.comparison.gate_result import Gate, GateRow, ToJudge
from fathoms.comparison.non_inferiority import lower_end, mixed_p_above, p_above, worst_lower_end, worst_p_above
from fathoms.comparison.observed import (
    Observed,
    asked_universe,
    documents_by_key,
    estimates_if_quick,
    observe,
    without_pair,
)
from fathoms.comparison.paired_tests import paired_differences
from fathoms.comparison.ranges import Ranges, Universe, pairs_to_depth
from fathoms.comparison.significance import corrected
from fathoms.data.keys import Keys
from fathoms.errors import FathomsError
from fathoms.estimate.calibrated import Estimates
from fathoms.estimate.judged_rates import changes_at_judged_rates, labels_cover
from fathoms.estimate.prediction_sentences import calibrated_sentences
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.experiment.base import BaseExperiment
from fathoms.measures.base import Measure
from fathoms.parallel import parallel_map

POWER = 0.8  # chance with which the number of topics that is named would tell
MOST_TOPICS = 100_000
FIRST = 20  # documents to judge first that are listed
NOTHING = 1e-9
A, B = np.array([1]), np.array([0])  # the candidate against the baseline


def run_gate(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    *,
    max_drop: float = 0.01,
    alpha: float = 0.05,
    draws: int | None = None,
    labels: Sequence[Any] = (),
    to_depth: int | None = None,
    progress: Callable[[str], None] = lambda run: None,
) -> Gate:
    """The first run of the experiment is the baseline, the second the candidate.

    `draws`, `labels` and `to_depth` are those of `compare`, for the estimates; without draws only what is certain
    counts.
    """
    max_drop = checked("max_drop", choices.finite_from_zero, max_drop)
    alpha = checked("alpha", choices.share, alpha)
    draws = None if draws is None else checked("draws", choices.whole_number, draws, 0)
    experiment.needs_an_order("a gate")
    names = list(experiment.runs)
    if len(names) != 2:
        raise FathomsError(f"a gate has two runs, the baseline and the candidate; found {len(names)}")
    odd = next((m for m in measures if m.aggregate != "mean"), None)
    if odd is not None:
        raise FathomsError(f"{odd.name} is no mean over topics, so a gate cannot bound its drop; use another measure")
    measures = without_pair(measures)
    universe = Universe(asked_universe(measures), experiment.options.universe_depth)
    seen = observe(experiment, measures, universe, progress)
    estimates = estimates_if_quick(seen, draws, labels, to_depth)
    topics = experiment.qrels.topics
    everywhere = np.ones(len(topics), dtype=bool)
    places = {"all": everywhere}
    if experiment.topic_groups is not None:
        seen.notes.extend(experiment.topic_groups.notes(topics))
        places |= experiment.topic_groups.masks(topics)
    ranges = seen.ranges(A, B)
    labelled = len(labels) > 0 and labels_cover(experiment, seen.measures, labels, to_depth)
    if len(labels) and not labelled:
        seen.notes.append(
            "labels decide only if 90% of the unjudged documents that estimates are about have one, and 20 judged "
            "ones: these do not"
        )
    likely = _likely(seen, estimates, to_depth, labelled=labelled)
    doubts = {m: _Doubt.of(m, seen, ranges, estimates, likely.get(m, ()), labelled) for m in seen.measures}
    tested = [
        _tested(m, group, here, doubts[m].of_topics(here), max_drop, alpha)
        for m in seen.measures
        for group, here in places.items()
    ]
    rows = [_decided(*row, max_drop, alpha, len(tested)) for row in _corrected(tested)]
    open_ = next((row for row in rows if row.outcome == "cannot tell" and row.reason == "judging"), None)
    return Gate(
        rows,
        names[0],
        names[1],
        max_drop,
        alpha,
        len(topics),
        seen.notes,
        seen.universe,
        [] if open_ is None else _to_judge(experiment, doubts, places, open_),
        None if open_ is None else open_.measure,
        [] if estimates is None else calibrated_sentences(estimates, 1 - alpha),
    )


def _likely(
    seen: Observed, estimates: Estimates | None, to_depth: int | None, *, labelled: bool
) -> dict[Measure, tuple[Floats, ...]]:
    """For each measure draws [draw, topic] of the differences: the default estimate's and, without labels, those at
    the judged rates and the differences as judged."""
    if estimates is None:
        return {}
    found: dict[Measure, tuple[Floats, ...]] = {
        m: (one.draws[:, 1] - one.draws[:, 0],) for m, one in estimates.by_measure.items()
    }
    if labelled:
        return found
    draws = len(next(iter(found.values()))[0])
    changes = changes_at_judged_rates(seen.experiment, list(found), draws, to_depth)
    as_judged = {m: seen.values[m][1] - seen.values[m][0] for m in found}
    return {m: (*found[m], as_judged[m] + changes[m][:, 1] - changes[m][:, 0], as_judged[m][None, :]) for m in found}


@dataclass(frozen=True, eq=False)
class _Doubt:
    """One measure's differences candidate - baseline by topic, and what is known of them once judged."""

    scores: Floats  # [run, topic]
    differences: Floats
    low: Floats | None  # over every way of judging; None where the measure has no range
    high: Floats | None
    low_over_ties: Floats | None
    high_over_ties: Floats | None
    drawn: tuple[Floats, ...]  # [draw, topic], each what is likely: first the estimate's; empty where there is none
    point: Floats | None  # by topic: the estimate
    same: bool  # the same documents in the same order, with the same ties
    labelled: bool
    ties: tuple[Floats, Floats]  # over every order of ties, as judged
    unjudged: Ints  # documents of either run that could change the difference, by topic
    change: Floats  # of each such document: how far it could move its topic's difference
    topic: Ints  # of each such document
    key: Keys

    @classmethod
    def of(
        cls,
        measure: Measure,
        seen: Observed,
        ranges: Ranges,
        estimates: Estimates | None,
        drawn: tuple[Floats, ...],
        labelled: bool,
    ) -> _Doubt:
        values = seen.values[measure]
        differences = paired_differences(values, A, B)[0]
        means = {measure: np.array([differences.mean()])}
        found = ranges.of([measure], means, seen.scores).get(measure)
        topic, key, change = _changes(measure, ranges) if found is not None and not measure.needs_pool else _NO_CHANGES
        if found is not None:  # rounding apart, draws lie in the range
            drawn = tuple(np.clip(one, found.topic_low[0], found.topic_high[0]) for one in drawn)
        base, candidate = seen.scores[measure]
        estimate = None if estimates is None else estimates.by_measure.get(measure)
        any_order = (None, None) if found is None else (found.topic_low[0], found.topic_high[0])
        if found is not None and not measure.needs_pool:
            low, high = ranges.over_ties(measure, A, B)
            any_order = low[0], high[0]
        return cls(
            values,
            differences,
            None if found is None else found.topic_low[0],
            None if found is None else found.topic_high[0],
            any_order[0],
            any_order[1],
            drawn,
            None if estimate is None else estimate.point[1] - estimate.point[0],
            seen.systems[0].keys.alike(seen.systems[1].keys),
            labelled,
            _over_ties(base.tie_low, base.tie_high, candidate.tie_low, candidate.tie_high, differences),
            np.bincount(topic, minlength=values.shape[1]),
            change,
            topic,
            key,
        )

    def of_topics(self, here: Bools) -> _Doubt:
        """The same of some topics only, but for the documents."""
        return replace(
            self,
            scores=self.scores[:, here],
            differences=self.differences[here],
            low=None if self.low is None else self.low[here],
            high=None if self.high is None else self.high[here],
            low_over_ties=None if self.low_over_ties is None else self.low_over_ties[here],
            high_over_ties=None if self.high_over_ties is None else self.high_over_ties[here],
            drawn=tuple(one[:, here] for one in self.drawn),
            point=None if self.point is None else self.point[here],
            ties=(self.ties[0][here], self.ties[1][here]),
            unjudged=self.unjudged[here],
        )

    @property
    def is_fixed(self) -> bool:
        """Whether no judging changes any topic's difference."""
        return self.low is not None and self.high is not None and bool((self.high - self.low <= NOTHING).all())

    def likely(self, sign: float, bound: float) -> float:
        """p of the mean of sign x differences being above the bound, the greatest over what is likely; without
        estimates that over every way of judging; for measures without a range that as judged."""
        if self.drawn:
            return max(mixed_p_above(sign * one, bound) for one in self.drawn)
        return self.certain(sign, bound)

    def above(self, sign: float, alpha: float, max_drop: float) -> float | None:
        """What the mean of sign x differences is above with confidence 1 - alpha, by the same p; None for one topic."""
        if len(self.differences) < 2:
            return None
        if not self.drawn and self.low_over_ties is not None and self.high_over_ties is not None:
            ends = self.low_over_ties, self.high_over_ties
            return worst_lower_end(*(ends if sign > 0 else (-ends[1], -ends[0])), alpha)
        widest = max(1.0, *(float(np.abs(one).max()) for one in (self.differences, *self.drawn))) + max_drop
        return round(lower_end(lambda bound: self.likely(sign, bound), alpha, -widest, widest), 9) + 0.0

    def certain(self, sign: float, bound: float) -> float:
        """The same, whatever the unjudged documents are and however ties are broken; as judged for measures without a
        range."""
        if self.low_over_ties is None or self.high_over_ties is None:
            return float(p_above(sign * self.differences, bound))
        low, high = self.low_over_ties, self.high_over_ties
        if (high - low <= NOTHING).all():
            return float(p_above(sign * self.differences, bound))
        return worst_p_above(*((low, high) if sign > 0 else (-high, -low)), bound)


_NO_CHANGES: tuple[Ints, Keys, Floats] = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64), np.zeros(0))


def _over_ties(
    base_low: Floats | None,
    base_high: Floats | None,
    low: Floats | None,
    high: Floats | None,
    differences: Floats,
) -> tuple[Floats, Floats]:
    """Least and greatest difference over orders of ties, each run's by itself: never too narrow."""
    if base_low is None or base_high is None or low is None or high is None:
        return differences, differences
    return low - base_high, high - base_low


def _changes(measure: Measure, ranges: Ranges) -> tuple[Ints, Keys, Floats]:
    """Topic, key and possible change of every unjudged document that could change the difference by itself."""

    def one(place: int) -> tuple[Keys, Floats]:
        topic = ranges.topic(place)
        others = ranges.universe.others(topic, A, B)
        ((_, pair),) = pairs_to_depth(measure, topic, A, B, others, ranges.universe, over_ties=False)
        columns, change = changes_by_one(measure, pair)
        matters = np.abs(change) > NOTHING
        return pair.topic.keys[pair.documents[0, columns[matters]]], change[matters]

    found = parallel_map(one, range(len(ranges.topics)), workers=ranges.workers)
    topic = np.repeat(np.arange(len(found)), [len(change) for _, change in found])
    return topic, np.concatenate([keys for keys, _ in found]), np.concatenate([change for _, change in found])


Tested = tuple[GateRow, _Doubt, Bools]


def _tested(measure: Measure, group: str, here: Bools, doubt: _Doubt, max_drop: float, alpha: float) -> Tested:
    """One row without its outcome: scores, bounds and p-values."""
    diff = doubt.differences
    row = GateRow(
        measure=measure.name,
        group=group,
        topics=len(diff),
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
    return row, doubt, here


def _corrected(tested: Sequence[Tested]) -> list[Tested]:
    """With p of a drop corrected, so that a gate has one chance of a false alarm: for all measures on all topics, and
    for all measures in all groups (Holm). Where there are groups, each of the two has half of alpha, so that a gate on
    all topics does not depend on how many groups there are.

    That all of several measures pass needs no correction: each has to."""
    whole = [row.group == "all" for row, _, _ in tested]
    halves = 1 if all(whole) else 2
    found: dict[tuple[int, str], float] = {}
    for family in (True, False):
        places = [i for i, one in enumerate(whole) if one is family]
        for name in ("p_drop", "p_drop_worst"):
            p = corrected(np.array([getattr(tested[i][0], name) for i in places]), "holm")
            found |= {(i, name): min(1.0, halves * float(one)) for i, one in zip(places, p, strict=True)}
    return [
        (
            replace(row, p_drop_corrected=found[i, "p_drop"], p_drop_worst=found[i, "p_drop_worst"]),
            doubt,
            here,
        )
        for i, (row, doubt, here) in enumerate(tested)
    ]


def _decided(row: GateRow, doubt: _Doubt, here: Bools, max_drop: float, alpha: float, tests: int) -> GateRow:
    if row.same:
        return replace(row, outcome="passes", basis="certain")
    if row.p_beyond < alpha:
        return replace(row, outcome="passes", basis=_basis(row, row.p_beyond_worst < alpha))
    if row.p_drop_corrected < alpha:
        return replace(row, outcome="fails", basis=_basis(row, row.p_drop_worst < alpha))
    return replace(row, outcome="cannot tell", **_lacking(row, doubt, here, max_drop, alpha, tests))


def _basis(row: GateRow, certain: bool) -> str:
    if row.has_range and certain:
        return "certain"
    return "as judged" if not row.has_estimate else "labelled" if row.labelled else "likely"


def _lacking(row: GateRow, doubt: _Doubt, here: Bools, max_drop: float, alpha: float, tests: int) -> dict[str, Any]:
    """What an open question lacks: judgments, if with all of them it would be told, or if without them no number of
    topics would tell; else topics."""
    from scipy.special import ndtri, stdtrit

    n = row.topics
    if n < 2:
        return {"reason": "topics", "needed": None}
    drawn = doubt.drawn or (doubt.differences[None, :],)
    open_ = not doubt.is_fixed and doubt.low is not None and doubt.high is not None
    middle = row.diff if row.estimate is None else row.estimate
    ends = [float(one.mean()) for one in drawn]
    if not doubt.drawn and open_ and doubt.low is not None and doubt.high is not None:
        ends += [float(doubt.low.mean()), float(doubt.high.mean())]
    variance = float(np.mean([one.var(axis=1, ddof=1).mean() for one in drawn])) / n
    level = alpha * row.p_drop / row.p_drop_corrected if row.p_drop_corrected < 1 else alpha / tests
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
        return {"reason": "judging", "needed": min(needed) if doubt.drawn else row.unjudged}
    if open_ and min(ends) <= -max_drop and max(ends) >= 0:
        return {"reason": "judging", "needed": None}  # for a start: no number of topics would tell
    topics = [variance * n * ((-ndtri(at) + ndtri(POWER)) / room) ** 2 for room, at, _ in ways if room > NOTHING]
    fewest = min(topics, default=MOST_TOPICS + 1.0)
    return {"reason": "topics", "needed": None if fewest > MOST_TOPICS else max(ceil(fewest), n + 1)}


def _judgments(change: Floats, room: float, doubtful: float) -> int:
    """How many documents, those first that could change most, have to be judged until what is left takes the mean no
    further than there is room, if the estimate comes true; at least a twentieth of what there is to change."""
    left = np.cumsum(np.sort(np.abs(change)))
    if not len(left):
        return 0
    allowed = min(room / doubtful, 0.95) if doubtful > 0 else 0.95
    return len(left) - int(np.searchsorted(left, left[-1] * allowed, side="right"))


def _to_judge(
    experiment: BaseExperiment, doubts: dict[Measure, _Doubt], places: dict[str, Bools], row: GateRow
) -> list[ToJudge]:
    """The documents whose judgment could change a measure's difference most, by at most so much of the mean."""
    measure = next(m for m in doubts if m.name == row.measure)
    doubt, here = doubts[measure], places[row.group]
    used = np.flatnonzero(here[doubt.topic])
    order = used[np.argsort(-np.abs(doubt.change[used]), kind="stable")][: max(FIRST, row.needed or 0)]
    wanted = doubt.key[order]
    ids, ranks = documents_by_key(experiment, list(experiment.runs), wanted)
    (base, candidate), topics = ranks.values(), experiment.qrels.topics
    return [
        ToJudge(topics[topic], ids[key], base.get(key), candidate.get(key), change / row.topics)
        for topic, key, change in zip(
            doubt.topic[order].tolist(), wanted.tolist(), doubt.change[order].tolist(), strict=True
        )
    ]
