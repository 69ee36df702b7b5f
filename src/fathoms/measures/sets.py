"""Measures that only count: how many relevant documents are in the first places, or in the run at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from fathoms.data.arrays import columns_at, ratio, row_sums
from fathoms.evidence.evidence import Evidence, Floats, Ints, MixedGroups
from fathoms.measures.base import Binary, Measure, code_table, param
from fathoms.measures.normalised import check_universe, from_zero, outside
from fathoms.measures.weighted import expected_sum


class Counting(Binary):
    """Relevant documents among the first places, and what they are compared with."""

    range_is: ClassVar[str] = "exact"

    def found(self, evidence: Evidence) -> Floats:
        places = evidence.codes[:, : self.depth_read(evidence)]
        return self.relevant(evidence)[places].sum(axis=1)

    def unknown(self, evidence: Evidence) -> Floats:
        """Unjudged documents among those places that could turn out relevant."""
        n = self.depth_read(evidence)
        return evidence.unjudged[:, :n].sum(axis=1) * float(self.can_be_relevant(evidence))

    def expected_found(self, evidence: Evidence, mixed: MixedGroups) -> Floats:
        weights = np.ones(self.depth_read(evidence))
        return expected_sum(evidence, self.found(evidence), mixed, self.relevant(evidence), weights)


class CountingOfAll(Counting):
    """Counting measures that depend on the number of relevant documents there are."""

    universe: str | float = param("run", order=7)

    def check(self) -> None:
        super().check()
        check_universe(self)

    def outside(self, evidence: Evidence) -> Floats:
        possible = outside(evidence, self.depth_read(evidence), self.universe)
        return possible if self.can_be_relevant(evidence) else np.zeros(len(evidence))


class R(CountingOfAll):
    """Recall: the share of all relevant documents that is among the first k places."""

    cutoff: ClassVar[str] = "required"

    def value(self, evidence: Evidence) -> Floats:
        return ratio(self.found(evidence), self.known_relevant(evidence))

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        """Least with the documents outside relevant and those inside not, greatest the other way round."""
        found, total, unknown = self.found(evidence), self.known_relevant(evidence), self.unknown(evidence)
        return ratio(found, total + self.outside(evidence)), ratio(found + unknown, total + unknown)

    def at_depths(self, evidence: Evidence, depths: Sequence[int]) -> Floats:
        evidence = self.prepared(evidence).padded(max(depths))
        found = np.cumsum(self.relevant(evidence)[evidence.codes[:, : max(depths)]], axis=1)
        return ratio(columns_at(found, depths), self.known_relevant(evidence)[:, None])

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        return ratio(self.expected_found(evidence, mixed), self.known_relevant(evidence))


class SetR(R):
    """Recall of the whole run."""

    cutoff: ClassVar[str] = "none"


class SetP(Counting):
    """Precision of the whole run: relevant documents over all retrieved."""

    cutoff: ClassVar[str] = "none"

    def value(self, evidence: Evidence) -> Floats:
        return ratio(self.found(evidence), evidence.lengths)

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        return score, ratio(self.found(evidence) + self.unknown(evidence), evidence.lengths)

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        return score


class SetF(CountingOfAll):
    """Weighted harmonic mean of SetP and SetR, (beta+1) P R / (beta P + R): trec_eval does not square beta."""

    beta: float = param(1.0, check="positive")
    cutoff: ClassVar[str] = "none"

    def value(self, evidence: Evidence) -> Floats:
        return self._mean(self.found(evidence), self.known_relevant(evidence), evidence.lengths)

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        found, total, unknown = self.found(evidence), self.known_relevant(evidence), self.unknown(evidence)
        return (
            self._mean(found, total + self.outside(evidence), evidence.lengths),
            self._mean(found + unknown, total + unknown, evidence.lengths),
        )

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        return score

    def _mean(self, found: Floats, total: Floats, retrieved: Ints) -> Floats:
        return ratio((1 + self.beta) * found, self.beta * total + retrieved)


class Success(Counting):
    """1 if any of the first k documents is relevant, else 0."""

    cutoff: ClassVar[str] = "required"

    def value(self, evidence: Evidence) -> Floats:
        return (self.found(evidence) > 0).astype(np.float64)

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        return score, ((self.found(evidence) + self.unknown(evidence)) > 0).astype(np.float64)

    def at_depths(self, evidence: Evidence, depths: Sequence[int]) -> Floats:
        evidence = self.prepared(evidence).padded(max(depths))
        found = np.cumsum(self.relevant(evidence)[evidence.codes[:, : max(depths)]], axis=1)
        return (columns_at(found, depths) > 0).astype(np.float64)

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        """A group with t relevant of s, c of its places inside: the chance of none there is C(s-t,c) / C(s,c)."""
        n = self.depth_read(evidence)
        relevant = self.relevant(evidence)
        top, row = mixed.column[mixed.start], mixed.row[mixed.start]
        t, s = mixed.totals(relevant[evidence.codes[mixed.row, mixed.column]]), mixed.size
        cut = top + s > n  # only a group across the cut can lose its relevant documents
        above = np.array(
            [relevant[evidence.codes[r, :c]].sum() for r, c in zip(row[cut], top[cut], strict=True)], dtype=float
        )
        expected = score.copy()
        inside = (n - top[cut]).astype(float)
        steps = np.arange(int(inside.max(initial=0)))
        lost = np.maximum(s[cut, None] - t[cut, None] - steps, 0) / np.maximum(s[cut, None] - steps, 1)
        none = np.prod(np.where(steps < inside[:, None], lost, 1.0), axis=1)
        expected[row[cut]] = np.where(above > 0, 1.0, 1 - none)
        return expected


class Rprec(CountingOfAll):
    """Precision at rank R, R the number of relevant documents."""

    cutoff: ClassVar[str] = "none"

    def value(self, evidence: Evidence) -> Floats:
        total = self.known_relevant(evidence)
        relevant = self.relevant(evidence)[evidence.codes]
        inside = np.arange(evidence.width) < total[:, None]
        return ratio((relevant * inside).sum(axis=1), total)

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        """Exact by a scan over M, the number of documents that turn out relevant.

        Then the cut is at R + M. At best as many of the M as fit stand above it; at worst as few as can.
        """
        if not self.can_be_relevant(evidence):
            return score, score
        n = evidence.width
        total = self.known_relevant(evidence)
        known = from_zero(np.cumsum(self.relevant(evidence)[evidence.codes], axis=1))
        unjudged = from_zero(np.cumsum(evidence.unjudged, axis=1))
        all_unjudged = unjudged[:, -1:]
        V = self.outside(evidence)[:, None]
        # M up to where the cut passes the end of the run, and for the least value all of V, past that end.
        finite = np.where(np.isinf(V), 0.0, V)
        M = np.hstack([np.broadcast_to(np.arange(n + 1.0), (len(evidence), n + 1)), finite, all_unjudged])
        at = np.minimum(total[:, None] + M, n).astype(np.int64)
        K, U = np.take_along_axis(known, at, axis=1), np.take_along_axis(unjudged, at, axis=1)
        allowed = all_unjudged + V >= M
        high = np.where(allowed, ratio(K + np.minimum(M, U), total[:, None] + M), 0.0).max(axis=1)
        forced = np.maximum(M - (all_unjudged - U) - V, 0)
        low = np.where(allowed, ratio(K + forced, total[:, None] + M), np.inf).min(axis=1)
        low[np.isinf(V[:, 0])] = 0.0
        return np.minimum(low, score), np.maximum(high, score)

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        total = self.known_relevant(evidence)
        flags = self.relevant(evidence)[evidence.codes[mixed.row, mixed.column]]
        surplus = (mixed.totals(flags) / mixed.size)[mixed.group] - flags
        inside = mixed.column < total[mixed.row]
        change = row_sums(mixed.row[inside], surplus[inside], len(evidence))
        return score + ratio(change, total)


class IPrec(Binary):
    """Interpolated precision at a level of recall: the greatest precision at any rank that reaches it.

    The relevant documents to be reached are floor(level R + 0.9), as in trec_eval 9. Its range is not computed.
    """

    cutoff: ClassVar[str] = "recall"

    def value(self, evidence: Evidence) -> Floats:
        found = np.cumsum(self.relevant(evidence)[evidence.codes], axis=1)
        total = self.known_relevant(evidence)
        reached = found >= np.floor((self.k or 0) * total + 0.9)[:, None]
        precision = found / np.arange(1, evidence.width + 1)
        return np.where(total > 0, np.where(reached, precision, 0.0).max(axis=1), 0.0)

    def depth_read(self, evidence: Evidence) -> int:
        return evidence.width


class Tally(Measure):
    """Plain counts. They add up over topics, and neither order nor further judgments are asked about."""

    cutoff: ClassVar[str] = "none"
    aggregate: ClassVar[str] = "sum"

    def tie_value(self, evidence: Evidence) -> Floats:
        return code_table(np.zeros(len(evidence.levels)))


class NumQ(Tally):
    """Number of topics."""

    def value(self, evidence: Evidence) -> Floats:
        return np.ones(len(evidence))


class NumRet(Tally):
    """Number of documents retrieved."""

    def value(self, evidence: Evidence) -> Floats:
        return evidence.lengths.astype(np.float64)


class NumRel(Tally):
    """Number of relevant documents judged."""

    rel: float = param(1.0, order=1, check="positive")

    def value(self, evidence: Evidence) -> Floats:
        return evidence.counts[:, evidence.levels >= self.rel].sum(axis=1).astype(np.float64)


class NumRelRet(Tally):
    """Number of relevant documents retrieved."""

    rel: float = param(1.0, order=1, check="positive")

    def value(self, evidence: Evidence) -> Floats:
        return code_table((evidence.levels >= self.rel).astype(np.float64))[evidence.codes].sum(axis=1)
