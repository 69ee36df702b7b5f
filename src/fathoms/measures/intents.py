"""Measures of diversity: how well a ranking serves the several subtopics, or intents, of a topic.

Only subtopics with a relevant document count, as in ndeval. Judgments without subtopics are taken as those of one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from fathoms.base.arrays import ratio
from fathoms.base.rounding import logs, powers
from fathoms.data.qrels import JUDGED
from fathoms.data.subtopics import Subtopics
from fathoms.evidence.evidence import Bools, Evidence, Floats, Ints, MixedGroups
from fathoms.measures.ap import AP
from fathoms.measures.base import Basis, Measure, RangeKind, Scores
from fathoms.measures.gains import Condensable, code_table, rel_param
from fathoms.measures.ideal import outside, universe_param
from fathoms.measures.p import P
from fathoms.measures.params import param
from fathoms.measures.success import Success

ENDLESS = 1e-18  # what is left of a sum where it is broken off
AGRAWAL = "R. Agrawal, S. Gollapudi, A. Halverson, S. Ieong (2009). Diversifying search results."
CLARKE_2008 = (
    "C. L. A. Clarke, M. Kolla, G. V. Cormack, O. Vechtomova, A. Ashkan, S. Büttcher, I. MacKinnon (2008). Novelty and "
    "diversity in information retrieval evaluation."
)
CLARKE_2009 = (
    "C. L. A. Clarke, M. Kolla, O. Vechtomova (2009). An effectiveness measure for ambiguous and underspecified "
    "queries."
)
CHAPELLE = "O. Chapelle, D. Metzler, Y. Zhang, P. Grinspan (2009). Expected reciprocal rank for graded relevance."


class OfSubtopics(Condensable):
    """What all of them share: which documents are relevant to which subtopic."""

    needs_subtopics: ClassVar[bool] = True
    difference_claim: ClassVar[RangeKind] = "none"  # pairs are made of grades alone
    sorting_is_optimal = False

    rel: float = rel_param()

    def scores(self, evidence: Evidence, *, with_range: bool = True) -> Scores:
        return super().scores(evidence.by_subtopic, with_range=with_range)

    def joint_range(self, evidence: Evidence, scores: Scores) -> tuple[Floats | None, Floats | None]:
        return None, None

    def at_depths(self, evidence: Evidence, depths: Sequence[int]) -> Floats:
        return super().at_depths(evidence.by_subtopic, depths)

    def tie_variance(self, evidence: Evidence) -> Floats:
        return super().tie_variance(evidence.by_subtopic)

    def value(self, evidence: Evidence) -> Floats:
        return self.of_patterns(evidence.by_subtopic)

    @abstractmethod
    def of_patterns(self, evidence: Evidence) -> Floats:
        """The score, where the codes are of patterns."""

    def relevant(self, evidence: Evidence) -> Bools:
        """[level, subtopic]"""
        if evidence.subtopics is None:
            return np.asarray(evidence.levels[:, None] >= self.rel)
        return evidence.subtopics.relevant(self.rel)

    def in_places(self, evidence: Evidence, n: int, unknown: bool = False) -> Bools:
        """[topic, rank, subtopic]: whether each of the first n documents is relevant, unjudged ones if `unknown`."""
        relevant = self.relevant(evidence)
        table = np.zeros((JUDGED + len(relevant), relevant.shape[1]), dtype=bool)
        table[JUDGED:] = relevant
        places = table[evidence.codes[:, :n]]
        if unknown:
            places |= evidence.unjudged[:, :n, None]
        return places

    def known_relevant(self, evidence: Evidence) -> Floats:
        """[topic, subtopic]: judged relevant documents."""
        return np.asarray(evidence.counts @ self.relevant(evidence).astype(np.float64))

    def tie_value(self, evidence: Evidence) -> Floats:
        """Documents of different patterns are different."""
        return code_table(np.arange(len(evidence.levels), dtype=np.float64))

    def _over_ties(self, evidence: Evidence, score: Floats) -> tuple[Floats, Floats, Floats, Floats | None]:
        if len(self.relevant(evidence)) == 1:  # no grade above 0
            return score, score, score, None
        return super()._over_ties(evidence, score)


class MeanOverSubtopics(OfSubtopics):
    """The mean, over the subtopics with a relevant document, of what the ranking is worth to those who want that one.

    The range is over all ways in which unjudged documents may be relevant to the subtopics that have judgments; it is
    sound, since it takes subtopics without a relevant document as served by others than those that make them count.
    """

    based_on: ClassVar[Basis] = "utility"
    range_claim: ClassVar[RangeKind] = "sound"

    @abstractmethod
    def worth(self, evidence: Evidence) -> Floats:
        """[topic, subtopic]: to each subtopic, 0 to those without a relevant document."""

    @abstractmethod
    def worth_range(self, evidence: Evidence) -> tuple[Floats, Floats, Floats]:
        """The least and the most of the same, and [topic], the most of a subtopic without judged relevant documents."""

    def of_patterns(self, evidence: Evidence) -> Floats:
        counts = self.known_relevant(evidence) > 0
        return ratio((self.worth(evidence) * counts).sum(axis=1), counts.sum(axis=1))

    def range(self, evidence: Evidence, score: Floats) -> tuple[Floats | None, Floats | None]:
        evidence = evidence.by_subtopic
        counts = self.known_relevant(evidence) > 0
        some = counts.sum(axis=1)
        open_ = (outside(evidence, 0, getattr(self, "universe", "auto")) > 0) & (evidence.max_grade >= self.rel)
        more = np.where(open_, _listed(evidence) - some, 0)
        least, most, fresh = self.worth_range(evidence)
        low, high = (least * counts).sum(axis=1), (most * counts).sum(axis=1)
        return ratio(low, some + more), np.maximum(ratio(high, some), ratio(high + more * fresh, some + more))


def _listed(evidence: Evidence) -> Any:
    """How many subtopics each topic has."""
    subtopics = evidence.subtopics
    return np.ones(len(evidence), dtype=np.int64) if subtopics is None else subtopics.listed[evidence.topic_numbers]


class MeanOfMeasure(MeanOverSubtopics):
    """The mean over subtopics of another measure."""

    @property
    @abstractmethod
    def single(self) -> Measure:
        """That measure, of documents with grade 0 or 1."""

    def worth(self, evidence: Evidence) -> Floats:
        return np.stack([self.single.value(part) for part in self._parts(evidence)], axis=1)

    def worth_range(self, evidence: Evidence) -> tuple[Floats, Floats, Floats]:
        ends = [self.single.range(part, self.single.value(part)) for part in self._parts(evidence, none=True)]
        low, high = (np.stack([np.asarray(end[side]) for end in ends], axis=1) for side in (0, 1))
        return low[:, :-1], high[:, :-1], high[:, -1]

    def expected(self, evidence: Evidence, score: Floats, mixed: MixedGroups) -> Floats | None:
        counts = self.known_relevant(evidence) > 0
        means = [self.single.scores(part, with_range=False).tie_expected for part in self._parts(evidence)]
        return ratio((np.stack([np.asarray(mean) for mean in means], axis=1) * counts).sum(axis=1), counts.sum(axis=1))

    def _parts(self, evidence: Evidence, none: bool = False) -> list[Evidence]:
        """What is known of each subtopic by itself; and, if asked, of one without any relevant document."""
        relevant: Ints = self.relevant(evidence).astype(np.int64)
        if none:
            relevant = np.hstack([relevant, np.zeros((len(relevant), 1), dtype=np.int64)])
        totals = evidence.counts @ relevant
        judged = evidence.counts.sum(axis=1)
        parts = []
        for number in range(relevant.shape[1]):
            table = np.append(np.arange(JUDGED), JUDGED + relevant[:, number]).astype(np.int16)
            parts.append(
                evidence._with(
                    codes=table[evidence.codes],
                    levels=np.array([0.0, 1.0]),
                    max_grade=float(evidence.max_grade >= self.rel),
                    counts=np.stack([judged - totals[:, number], totals[:, number]], axis=1),
                    subtopics=None,
                )
            )
        return parts


class P_IA(MeanOfMeasure):
    """Intent-aware precision: the mean of P@k over the subtopics."""

    aliases = ("precision_IA",)
    citation = AGRAWAL
    cutoff: ClassVar[str] = "required"

    @property
    def single(self) -> Measure:
        return P(k=self.k)


class AP_IA(MeanOfMeasure):
    """Intent-aware average precision: the mean of AP over the subtopics."""

    aliases = ("MAP_IA",)
    citation = AGRAWAL
    based_on: ClassVar[Basis] = "recall"
    cutoff: ClassVar[str] = "none"

    universe: str | float = universe_param()

    @property
    def single(self) -> Measure:
        return AP(universe=self.universe)


class StRecall(MeanOfMeasure):
    """Subtopic recall: the share of the subtopics that a document of the first k is relevant to."""

    aliases = ("strec", "subtopic_recall")
    examples = ("StRecall@10",)
    citation = "C. Zhai, W. W. Cohen, J. Lafferty (2003). Beyond independent relevance."
    cutoff: ClassVar[str] = "required"

    @property
    def single(self) -> Measure:
        return Success(k=self.k)


class Novelty(ABC):
    """What a further document on a subtopic is worth, and what a rank."""

    k: float | None
    alpha: float

    @abstractmethod
    def rank_worth(self, n: int) -> Floats:
        """Of ranks 1..n."""

    def fresh(self, seen: Ints) -> Floats:
        """What a document adds to a subtopic of which so many were seen."""
        return powers(1 - self.alpha, seen)

    def sums(self, places: Bools) -> Floats:
        """[topic, subtopic], from [topic, rank, subtopic]."""
        seen = np.asarray(np.cumsum(places, axis=1) - places, np.int64)
        total: Floats = np.einsum(
            "trs,r->ts", np.where(places, self.fresh(seen), 0.0), self.rank_worth(places.shape[1])
        )
        return total

    def most(self) -> float:
        """The sum of a ranking of nothing but documents on a subtopic."""
        steps = int(np.ceil(np.log(ENDLESS) / np.log(1 - self.alpha)))
        n = steps if self.k is None else min(steps, int(self.k))
        return float(self.rank_worth(n) @ self.fresh(np.arange(n)))


class NoveltyMean(Novelty, MeanOverSubtopics):
    """A sum over ranks, each document on a subtopic worth less by a share alpha than the one before, over the most that
    there could be.

    To be relevant raises a sum: what a document adds is more than what those below lose, alpha of a sum that is at most
    1/alpha of it.
    """

    def worth(self, evidence: Evidence) -> Floats:
        return self.sums(self.in_places(evidence, self.depth_read(evidence))) / self.most()

    def worth_range(self, evidence: Evidence) -> tuple[Floats, Floats, Floats]:
        n = self.depth_read(evidence)
        high = self.sums(self.in_places(evidence, n, unknown=evidence.max_grade >= self.rel)) / self.most()
        fresh = self.sums(evidence.unjudged[:, :n, None] & (evidence.max_grade >= self.rel)) / self.most()
        return self.worth(evidence), high, fresh[:, 0]

    def largest(self, evidence: Evidence) -> Floats:
        """Documents on everything at every place: at all k, or where there is no cut-off at those of the run."""
        n = self.depth_read(evidence) if self.k is None else int(self.k)
        read = np.minimum(evidence.lengths, n) if self.k is None else np.full(len(evidence), n)
        total = np.append(0.0, np.cumsum(self.rank_worth(n) * self.fresh(np.arange(n))))
        return total[np.maximum(read, 1)] / self.most()


class NormalisedNovelty(Novelty, OfSubtopics):
    """The same over the sum of an ideal ranking, made one document at a time. No range: the ideal ranking is not the
    best one, so nothing is known of how it grows."""

    based_on: ClassVar[Basis] = "recall"

    def of_patterns(self, evidence: Evidence) -> Floats:
        sums = self.sums(self.in_places(evidence, self.depth_read(evidence))).sum(axis=1)
        return ratio(sums, self._ideal(evidence))

    def _ideal(self, evidence: Evidence) -> Floats:
        known = self.known_relevant(evidence)
        most = int(evidence.counts[:, self.relevant(evidence).any(axis=1)].sum(axis=1).max(initial=0))
        depth = max(1, most if self.k is None else min(most, int(self.k)))
        worth = self.rank_worth(depth)
        subtopics: Subtopics | None = evidence.subtopics
        if subtopics is not None:
            ideal: Floats = subtopics.ideal_gains(self.rel, self.alpha, depth)[evidence.topic_numbers] @ worth
            return ideal
        sums = np.append(0.0, np.cumsum(worth * self.fresh(np.arange(depth))))
        return sums[np.minimum(known[:, 0], depth).astype(np.int64)]


def alpha_param() -> Any:
    return param(0.5, "how much less each further document on a subtopic is worth", check="share")


def beta_param() -> Any:
    return param(0.5, "the chance to go on to the next document", check="share")


class ERRWorth(Novelty):
    """1 / rank; a reader stops at a relevant document with chance 1/2."""

    alpha = 0.5

    def rank_worth(self, n: int) -> Floats:
        return 1 / np.arange(1, n + 1)


class DCGWorth(Novelty):
    def rank_worth(self, n: int) -> Floats:
        return 1 / logs(np.arange(1, n + 1) + 1, 2)


class RBPWorth(Novelty):
    beta: float

    def rank_worth(self, n: int) -> Floats:
        return powers(self.beta, np.arange(n))


class ERR_IA(ERRWorth, NoveltyMean):
    """Intent-aware ERR: the mean of ERR over the subtopics, over the most that it could be.

        ERR_IA@k = mean over subtopics of sum_{i<=k} r_i 2^(-c_i) / i  /  sum_{i<=k} 2^(1-i) / i

    r_i is 1 if the document at rank i is relevant to the subtopic, c_i how many above it are. As ndeval for k > 1; at
    k = 1 ndeval does not divide.
    """

    citation = CHAPELLE
    examples = ("ERR_IA@20",)


class nERR_IA(ERRWorth, NormalisedNovelty):
    """Normalised intent-aware ERR: that of the ranking over that of an ideal one."""

    citation = CHAPELLE
    examples = ("nERR_IA@20",)


class alpha_DCG(DCGWorth, NoveltyMean):
    """Cumulated gain with novelty: what repeats a subtopic is worth less each time by a share alpha.

        alpha_DCG@k = mean over subtopics of sum_{i<=k} r_i (1 - alpha)^c_i / log2(i+1)  /  the most that it could be

    r_i is 1 if the document at rank i is relevant to the subtopic, c_i how many above it are. As ndeval for k > 1; at
    k = 1 ndeval does not divide.
    """

    aliases = ("α_DCG",)
    citation = CLARKE_2008
    examples = ("alpha_DCG@20", "alpha_DCG(alpha=0.9)@20")

    alpha: float = alpha_param()


class alpha_nDCG(DCGWorth, NormalisedNovelty):
    """Normalised cumulated gain with novelty: that of the ranking over that of an ideal one."""

    aliases = ("α_nDCG",)
    citation = CLARKE_2008
    examples = ("alpha_nDCG@20", "alpha_nDCG(alpha=0.9)@20")

    alpha: float = alpha_param()


class NRBP(RBPWorth, NoveltyMean):
    """Novelty- and rank-biased precision: a reader goes on with chance beta, and repetition is worth less.

        NRBP = (1 - (1 - alpha) beta) mean over subtopics of sum_i r_i (1 - alpha)^c_i beta^(i-1)

    r_i is 1 if the document at rank i is relevant to the subtopic, c_i how many above it are.
    """

    citation = CLARKE_2009
    cutoff: ClassVar[str] = "none"

    alpha: float = alpha_param()
    beta: float = beta_param()

    def most(self) -> float:
        return 1 / (1 - (1 - self.alpha) * self.beta)


class nNRBP(RBPWorth, NormalisedNovelty):
    """Normalised novelty- and rank-biased precision: that of the ranking over that of an ideal one."""

    citation = CLARKE_2009
    cutoff: ClassVar[str] = "none"

    alpha: float = alpha_param()
    beta: float = beta_param()
