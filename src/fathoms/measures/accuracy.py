"""Accuracy of the order of documents."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fathoms.base.arrays import ratio
from fathoms.evidence.evidence import Evidence, Floats, Ints
from fathoms.measures.base import Basis
from fathoms.measures.counting import Counting
from fathoms.measures.ideal import from_zero


class Accuracy(Counting):
    """The chance that a relevant document of the first k is ranked before one that is not relevant.

        Accuracy@k = pairs in the right order / (r (n - r)),   n documents read, r of them relevant

    1 where all are relevant, 0 where none is; ir_measures leaves out topics of the latter kind, and fails on the
    former. Made for diagnosis.
    """

    examples = ("Accuracy", "Accuracy@100")
    citation = "S. MacAvaney, C. Macdonald, I. Ounis (2022). Streamlining evaluation with ir-measures."
    based_on: ClassVar[Basis] = "utility"

    @property
    def sorting_is_optimal(self) -> bool:  # type: ignore[override]
        """A cut through tied documents may be better off with one that is not relevant."""
        return self.k is None

    def value(self, evidence: Evidence) -> Floats:
        n = self.depth_read(evidence)
        relevant = self.relevant(evidence)[evidence.codes[:, :n]]
        return self._accuracy(relevant @ np.arange(n), relevant.sum(axis=1), self._read(evidence))

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        """For a number of new relevant documents the shallowest places are best and the deepest worst."""
        n, read = self.depth_read(evidence), self._read(evidence)[:, None]
        relevant = self.relevant(evidence)[evidence.codes[:, :n]]
        places, count = (relevant @ np.arange(n))[:, None], relevant.sum(axis=1)[:, None]
        unknown = evidence.unjudged[:, :n] & self.can_be_relevant(evidence)
        m = np.arange(int(unknown.sum(axis=1).max(initial=0)) + 1)
        possible = m <= unknown.sum(axis=1)[:, None]
        order = np.argsort(~unknown, axis=1, kind="stable")  # the unjudged places first, from the top down
        last = np.take_along_axis(order, np.maximum(unknown.sum(axis=1)[:, None] - 1 - np.arange(n), 0), axis=1)
        low, high = (
            self._accuracy(places + from_zero(np.cumsum(ranks, axis=1))[:, : len(m)], count + m, read)
            for ranks in (last, order)
        )
        return np.where(possible, low, np.inf).min(axis=1), np.where(possible, high, -np.inf).max(axis=1)

    def _read(self, evidence: Evidence) -> Ints:
        return np.minimum(evidence.lengths, self.depth_read(evidence))

    @staticmethod
    def _accuracy(places: Floats, relevant: Floats, read: Ints) -> Floats:
        """From the sum of the places of the relevant documents, counted from 0."""
        wrong = places - relevant * (relevant - 1) / 2
        return np.where(relevant > 0, 1 - ratio(wrong, relevant * (read - relevant)), 0.0)
