"""Plain counts of topics and documents."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fathoms.evidence.evidence import Evidence, Floats
from fathoms.measures.base import Basis, Measure
from fathoms.measures.gains import code_table, rel_param


class Tally(Measure):
    """Plain counts. They add up over topics, and neither order nor further judgments are asked about."""

    based_on: ClassVar[Basis] = "neither"
    cutoff: ClassVar[str] = "none"
    aggregate: ClassVar[str] = "sum"
    depends_on_order: ClassVar[bool] = False

    def largest(self, evidence: Evidence) -> Floats:
        return np.full(len(evidence), np.inf)


class NumQ(Tally):
    """Number of topics.

    Like all counts, the row `all` is the sum over topics.
    """

    trec_eval = "num_q"

    def value(self, evidence: Evidence) -> Floats:
        return np.ones(len(evidence))


class NumRet(Tally):
    """Number of documents retrieved for the topics of the qrels."""

    trec_eval = "num_ret"

    def value(self, evidence: Evidence) -> Floats:
        return evidence.lengths.astype(np.float64)


class NumRel(Tally):
    """Number of documents judged relevant."""

    trec_eval = "num_rel"

    rel: float = rel_param()

    def value(self, evidence: Evidence) -> Floats:
        return evidence.counts[:, evidence.levels >= self.rel].sum(axis=1).astype(np.float64)


class NumRelRet(Tally):
    """Number of relevant documents retrieved."""

    trec_eval = "num_rel_ret"

    rel: float = rel_param()

    def value(self, evidence: Evidence) -> Floats:
        return code_table((evidence.levels >= self.rel).astype(np.float64))[evidence.codes].sum(axis=1)
