"""What is known of one measure's differences once the documents are judged, and the p-values that follow."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fathoms.base.parallel import parallel_map
from fathoms.base.tolerances import SAME
from fathoms.data.keys import Keys
from fathoms.estimate.estimates import Estimates
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.inference.non_inferiority import Sample, lower_end, mixed_p_above, p_above, worst_lower_end, worst_p_above
from fathoms.inference.paired_tests import paired_differences
from fathoms.inference.replicates import Repeated, Systems
from fathoms.inference.units import Units
from fathoms.measures.base import Measure
from fathoms.pairs.difference_ranges import Ranges, pairs_to_depth
from fathoms.pairs.differences import changes_by_one
from fathoms.pairs.scored_runs import Observed

A, B = np.array([1]), np.array([0])  # the candidate against the baseline


@dataclass(frozen=True, eq=False)
class Doubt:
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
    ) -> Doubt:
        values = seen.values[measure]
        differences = paired_differences(values, A, B)[0]
        low = high = low_over_ties = high_over_ties = None
        topic, key, change = _NO_CHANGES
        ends = ranges.ends([measure], seen.scores).get(measure)
        if ends is not None:
            low, high = low_over_ties, high_over_ties = ends[:, 0]
            drawn = tuple(np.clip(draws, low, high) for draws in drawn)  # rounding apart, draws lie in the range
            if not measure.needs_pool:
                topic, key, change = _changes(measure, ranges)
                low_over_ties, high_over_ties = (end[0] for end in ranges.over_ties(measure, A, B))
        base, candidate = seen.scores[measure]
        estimate = None if estimates is None else estimates.by_measure.get(measure)
        return cls(
            values,
            differences,
            low,
            high,
            low_over_ties,
            high_over_ties,
            drawn,
            None if estimate is None else estimate.point[1] - estimate.point[0],
            seen.documents.alike(0, 1),
            labelled,
            _over_ties(base.tie_low, base.tie_high, candidate.tie_low, candidate.tie_high, differences),
            np.bincount(topic, minlength=values.shape[1]),
            change,
            topic,
            key,
        )

    def of_topics(self, here: Bools) -> Doubt:
        """The same for some of the topics, but without the documents."""
        return replace(
            self,
            scores=self.scores[:, here],
            differences=self.differences[here],
            low=None if self.low is None else self.low[here],
            high=None if self.high is None else self.high[here],
            low_over_ties=None if self.low_over_ties is None else self.low_over_ties[here],
            high_over_ties=None if self.high_over_ties is None else self.high_over_ties[here],
            drawn=tuple(draws[:, here] for draws in self.drawn),
            point=None if self.point is None else self.point[here],
            ties=(self.ties[0][here], self.ties[1][here]),
            unjudged=self.unjudged[here],
        )

    def of_units(self, units: Units) -> Doubt:
        """The same with clusters of topics in place of topics, but without the documents."""

        def totals(values: Floats | None) -> Floats | None:
            return None if values is None else units.totals(values)

        return replace(
            self,
            scores=units.totals(self.scores),
            differences=units.totals(self.differences),
            low=totals(self.low),
            high=totals(self.high),
            low_over_ties=totals(self.low_over_ties),
            high_over_ties=totals(self.high_over_ties),
            drawn=tuple(map(units.totals, self.drawn)),
            point=totals(self.point),
            ties=(units.totals(self.ties[0]), units.totals(self.ties[1])),
        )

    @property
    def is_fixed(self) -> bool:
        """Whether no judging changes any topic's difference."""
        return self.low is not None and self.high is not None and bool((self.high - self.low <= SAME).all())

    def likely(self, sign: float, bound: float) -> float:
        """p that the mean of sign x differences is above the bound, the greatest over what is likely; without
        estimates, over every way of judging; for measures without a range, as judged."""
        if self.drawn:
            return mixed_p_above(self._samples(sign), bound)
        return self.certain(sign, bound)

    def above(self, sign: float, alpha: float, max_drop: float) -> float | None:
        """What the mean of sign x differences is above with confidence 1 - alpha, by the same p; None for one topic."""
        if len(self.differences) < 2:
            return None
        if not self.drawn and self.low_over_ties is not None and self.high_over_ties is not None:
            ends = self.low_over_ties, self.high_over_ties
            return worst_lower_end(*(ends if sign > 0 else (-ends[1], -ends[0])), alpha)
        widest = max(1.0, *(float(np.abs(values).max()) for values in (self.differences, *self.drawn))) + max_drop
        samples = self._samples(sign)

        def p(bound: float) -> float:
            return mixed_p_above(samples, bound) if samples else self.certain(sign, bound)

        return round(lower_end(p, alpha, -widest, widest), 9) + 0.0

    def _samples(self, sign: float) -> list[Sample]:
        return [Sample.of(sign * draws) for draws in self.drawn]

    def certain(self, sign: float, bound: float) -> float:
        """The same, whatever the unjudged documents are and however ties are broken; as judged for measures without a
        range."""
        if self.low_over_ties is None or self.high_over_ties is None:
            return float(p_above(sign * self.differences, bound))
        low, high = self.low_over_ties, self.high_over_ties
        if (high - low <= SAME).all():
            return float(p_above(sign * self.differences, bound))
        return worst_p_above(*((low, high) if sign > 0 else (-high, -low)), bound)


@dataclass(frozen=True, eq=False)
class RepeatedDoubt(Doubt):
    """The same for two systems with several runs each, as judged: the doubt is from topics and repetitions."""

    runs: Floats  # scores [run, topic]
    systems: Systems

    @classmethod
    def of_runs(cls, values: Floats, systems: Systems) -> RepeatedDoubt:
        means = systems.means(values)
        differences = paired_differences(means, A, B)[0]
        return cls(
            *(means, differences, None, None, None, None, (), None, False, False, (differences, differences)),
            np.zeros(len(differences), dtype=np.int64),
            *(_NO_CHANGES[2], _NO_CHANGES[0], _NO_CHANGES[1]),
            runs=values,
            systems=systems,
        )

    def of_topics(self, here: Bools) -> RepeatedDoubt:
        return self.of_runs(self.runs[:, here], self.systems)

    def of_units(self, units: Units) -> RepeatedDoubt:
        return self.of_runs(units.totals(self.runs), self.systems)

    def likely(self, sign: float, bound: float) -> float:
        return self.certain(sign, bound)

    def certain(self, sign: float, bound: float) -> float:
        from scipy.special import stdtr

        if len(self.differences) < 2:
            return 1.0
        (diff,), (error,), (freedom,) = Repeated.of(self.runs, self.systems).differences(A, B)
        above = sign * float(diff) - bound
        if error <= SAME:
            return 2.0 ** -len(self.differences) if above > SAME else 1.0
        return float(stdtr(freedom, -above / error))

    def above(self, sign: float, alpha: float, max_drop: float) -> float | None:
        from scipy.special import stdtrit

        if len(self.differences) < 2:
            return None
        (diff,), (error,), (freedom,) = Repeated.of(self.runs, self.systems).differences(A, B)
        return float(sign * diff + stdtrit(freedom, alpha) * error)


_NO_CHANGES: tuple[Ints, Keys, Floats] = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64), np.zeros(0))


def _over_ties(
    base_low: Floats | None,
    base_high: Floats | None,
    low: Floats | None,
    high: Floats | None,
    differences: Floats,
) -> tuple[Floats, Floats]:
    """Least and greatest difference over orders of ties, each run's independent of the other's: never too narrow."""
    if base_low is None or base_high is None or low is None or high is None:
        return differences, differences
    return low - base_high, high - base_low


def _changes(measure: Measure, ranges: Ranges) -> tuple[Ints, Keys, Floats]:
    """Topic, key and possible change of every unjudged document that could change the difference by itself."""

    def of_batch(topics: Ints) -> tuple[Ints, Keys, Floats]:
        block, of_a, of_b = ranges.block(topics, A, B)
        a, b = block.rows_of(of_a).ravel(), block.rows_of(of_b).ravel()
        others = ranges.universe.others(block, a, b)
        parts = []
        for rows, pair in pairs_to_depth(measure, block, a, b, others, ranges.universe, over_ties=False):
            columns, change = changes_by_one(measure, pair)
            row, place = np.nonzero((columns >= 0) & (np.abs(change) > SAME))
            documents = pair.documents[row, columns[row, place]]
            keys = block.keys_of(pair.a[row], documents[:, None])[:, 0]
            parts.append((topics[rows[row]], keys, change[row, place]))
        topic, keys, change = (np.concatenate(column) for column in zip(*parts, strict=True))
        return topic, keys, change

    ranges.count_shared([measure])
    parts = parallel_map(of_batch, ranges.batches(ranges.topics, 2), **ranges.where, doing="topics, at worst")
    topic, keys, change = (np.concatenate(column) for column in zip(*parts, strict=True))
    return topic, keys, change
