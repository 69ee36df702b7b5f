"""The variance of a mean as an answer for all topics like these, once everything is judged and however ties are broken:
one part for each source of doubt, and for sources that work together.

With X[j, r, t] the score of topic t by repetition r of a system in draw j of the unjudged grades, n topics and R
repetitions, and v the variance components of X (inference.variance_components),

    topics                          v(t) / n          another sample of topics
    judging                         v(j)              what unjudged documents are, all topics alike
    topics and judging              v(jt) / n         the same, from topic to topic
    repetitions                     v(r) / R          other runs of the system
    topics and repetitions          v(rt) / (n R)
    judging and repetitions         v(jr) / R + v(jrt) / (n R)
    ties                            sum_t Var(O[t]) / n^2, O[t] the score over all orders of the topic's ties
    labels                          v(l) / L          of the estimates with each of L sources of labels alone
    topics and labels               v(lt) / (n L)

For two systems X is the difference, and their repetitions and ties are independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtrit

from fathoms.evidence.evidence import Floats, Ints
from fathoms.inference.variance_components import variance_components
from fathoms.questions.doubt.result import SourceName

OF_TOPICS: tuple[SourceName, ...] = ("topics", "both", "ties", "topics_repetitions", "topics_labels")  # less with more
OF_JUDGING: tuple[SourceName, ...] = ("judging", "both", "judging_repetitions")  # less once more is judged


@dataclass(frozen=True)
class Parts:
    """Variances of the mean by source, and what they were seen by."""

    variance: Mapping[SourceName, float]
    topics: int
    repetitions: tuple[int, ...] = ()  # of each system that has several
    label_sources: int = 0

    @property
    def total(self) -> float:
        return sum(self.variance.values())

    def freedom(self, source: SourceName) -> float:
        if source == "repetitions":
            return max(1.0, float(sum(runs - 1 for runs in self.repetitions)))
        if source == "label_sources":
            return max(1.0, self.label_sources - 1.0)
        return self.topics - 1.0 if source in OF_TOPICS else np.inf

    def half_width(self, level: float, sources: Sequence[SourceName] | None = None) -> float:
        """Of the interval with these sources (all by default): Student's t with Satterthwaite's degrees of freedom."""
        variance = {source: part for source, part in self.variance.items() if sources is None or source in sources}
        total = sum(variance.values())
        if total <= 0:
            return 0.0
        squares = sum(part**2 / self.freedom(source) for source, part in variance.items())
        freedom = total**2 / squares if squares > 0 else 1e9
        return float(stdtrit(min(max(freedom, 1.0), 1e9), (1 + level) / 2) * np.sqrt(total))

    def with_topics(self, n: int) -> Parts:
        """With so many topics like these."""
        variance = {
            source: part * (self.topics / n if source in OF_TOPICS else 1.0) for source, part in self.variance.items()
        }
        return replace(self, variance=variance, topics=n)

    def with_judging_left(self, share: float) -> Parts:
        """Once judging has brought its standard deviation down to this share."""
        variance = {
            source: part * (share**2 if source in OF_JUDGING else 1.0) for source, part in self.variance.items()
        }
        return replace(self, variance=variance)


def parts_of(draws: Floats, sides: Sequence[Ints], tie_variance: float, by_labels: Floats | None = None) -> Parts:
    """From scores [draw, run, topic], and the runs of the one system or of each of two. `by_labels` are the expected
    scores, or differences, with each source of labels alone, [source, topic]."""
    n = draws.shape[2]
    of = variance_components(signed(draws, sides, axis=1), ("judging", "topics"))
    topics, judging, both = (
        of.get(frozenset(chosen), 0.0) for chosen in ({"topics"}, {"judging"}, {"judging", "topics"})
    )
    topics, both = topics / n, both / n
    variance: dict[SourceName, float] = {}
    several = [side for side in sides if len(side) > 1]
    if several:
        repetitions = with_topics = with_judging = 0.0
        for side in several:
            runs = len(side)
            of = variance_components(draws[:, side], ("judging", "repetitions", "topics"))
            of_topics = of[frozenset({"repetitions", "topics"})] / (n * runs)
            of_judging = of[frozenset({"judging", "repetitions"})] / runs
            of_all = of[frozenset({"judging", "repetitions", "topics"})] / (n * runs)
            repetitions += of[frozenset({"repetitions"})] / runs
            with_topics, with_judging = with_topics + of_topics, with_judging + of_judging + of_all
            topics, judging, both = topics - of_topics, judging - of_judging, both - of_all
        variance |= {
            "repetitions": repetitions,
            "topics_repetitions": with_topics,
            "judging_repetitions": with_judging,
        }
    variance |= {"topics": max(0.0, topics), "judging": max(0.0, judging), "both": max(0.0, both), "ties": tie_variance}
    if by_labels is not None:
        sources = len(by_labels)
        of = variance_components(by_labels, ("labels", "topics"))
        variance |= {
            "label_sources": of.get(frozenset({"labels"}), 0.0) / sources,
            "topics_labels": of.get(frozenset({"labels", "topics"}), 0.0) / (n * sources),
        }
    return Parts(variance, n, tuple(len(side) for side in several), 0 if by_labels is None else len(by_labels))


def signed(values: Floats, sides: Sequence[Ints], axis: int = 0) -> Floats:
    """The mean over the runs of the one system, or that of the first less that of the second."""
    means = [np.take(values, side, axis=axis).mean(axis=axis) for side in sides]
    return np.asarray(means[0] - means[1] if len(means) == 2 else means[0])
