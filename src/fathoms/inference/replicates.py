"""Several runs of one system: topics and repetitions are both drawn at random, and a difference is of both.

A score is that of its system, its topic, the two together, its repetition, and what is left. With R repetitions of a
system on T topics, the variance of its mean over both from the repetition is the variance of the runs' means, less what
is left of a score over T, over R; never below 0. A difference of two systems has that of both, and the variance of the
mean difference over topics. The sum has no exact distribution; Student's t with Satterthwaite's degrees of freedom
comes near (1946, An approximate distribution of estimates of variance components, Biometrics Bulletin 2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fathoms.base.arrays import Floats, Ints
from fathoms.base.tolerances import SAME
from fathoms.inference.paired_tests import Intervals, paired_differences
from fathoms.inference.rank_sets import ranks

RESAMPLES = 999


@dataclass(frozen=True, eq=False)
class Systems:
    """Which system each run is of."""

    names: list[str]
    number: Ints  # one a run

    @classmethod
    def of(cls, runs: Sequence[str], system: Mapping[str, str]) -> Systems:
        """From the system of each run; a run of none is one by itself."""
        of_run = [system.get(run, run) for run in runs]
        names = list(dict.fromkeys(of_run))
        place = {name: i for i, name in enumerate(names)}
        return cls(names, np.array([place[name] for name in of_run], dtype=np.int64))

    def runs(self, system: int) -> Ints:
        return np.flatnonzero(self.number == system)

    def means(self, values: Floats) -> Floats:
        """Values [.., run, topic] as means [.., system, topic]."""
        shares = np.zeros((len(self.names), len(self.number)))
        shares[self.number, np.arange(len(self.number))] = 1.0
        return np.asarray((shares / shares.sum(axis=1, keepdims=True)) @ values)


@dataclass(frozen=True, eq=False)
class Repeated:
    """The scores of systems over repetitions."""

    means: Floats  # [system, topic]
    runs: Ints  # of each system
    between_runs: Floats  # variance of the runs' means, 0 for a single run
    left: Floats  # variance of a score that neither topic nor repetition explains

    @classmethod
    def of(cls, values: Floats, systems: Systems) -> Repeated:
        """From scores [run, topic]."""
        T = values.shape[1]
        runs = np.bincount(systems.number)
        between, left = np.zeros(len(runs)), np.zeros(len(runs))
        for system in np.flatnonzero(runs > 1).tolist():
            of_system = values[systems.runs(system)]
            of_run = of_system.mean(axis=1)
            between[system] = of_run.var(ddof=1)
            residual = of_system - of_run[:, None] - of_system.mean(axis=0) + of_run.mean()
            left[system] = (residual**2).sum() / ((runs[system] - 1) * max(T - 1, 1))
        return cls(systems.means(values), runs, between, left)

    @property
    def topics(self) -> int:
        return self.means.shape[1]

    @property
    def of_repetition(self) -> Floats:
        """The variance of one run's mean that comes from its repetition alone."""
        return np.maximum(self.between_runs - self.left / self.topics, 0.0)

    def errors(self, variance: Floats, *systems: Ints) -> tuple[Floats, Floats]:
        """Standard error and degrees of freedom of means over topics whose variance is given, and the repetitions of
        these systems."""
        T = self.topics
        total, squares = variance.copy(), variance**2 / (T - 1)
        for system in systems:
            runs, many = self.runs[system], self.of_repetition[system] > 0
            total += self.of_repetition[system] / runs
            for part, freedom in (
                (self.between_runs[system] / runs, runs - 1),
                (self.left[system] / T / runs, (runs - 1) * (T - 1)),
            ):
                squares += np.where(many, part**2 / np.maximum(freedom, 1), 0.0)
        freedom = np.where(squares > 0, total**2 / np.where(squares > 0, squares, 1.0), T - 1.0)
        return np.sqrt(total), np.clip(freedom, 1.0, None)

    def differences(self, a: Ints, b: Ints) -> tuple[Floats, Floats, Floats]:
        """Of each pair of systems: the mean difference, its standard error and degrees of freedom."""
        by_topic = paired_differences(self.means, a, b)
        return by_topic.mean(axis=1), *self.errors(by_topic.var(axis=1, ddof=1) / self.topics, a, b)

    def p_values(self, a: Ints, b: Ints) -> Floats:
        """Two-sided; 1 where there is no difference at all."""
        from scipy.special import stdtr

        diff, error, freedom = self.differences(a, b)
        flat = error <= SAME * np.abs(self.means).max()
        p = 2 * stdtr(freedom, -np.abs(diff) / np.where(flat, 1.0, error))
        return np.where(flat, np.where(np.abs(diff) <= SAME, 1.0, 2.0 ** (1 - self.topics)), p)

    def intervals(self, a: Ints, b: Ints, levels: Floats) -> Intervals:
        from scipy.special import stdtrit

        diff, error, freedom = self.differences(a, b)
        half = -stdtrit(freedom, levels / 2) * error
        return diff - half, diff + half

    def mean_intervals(self, level: float) -> Intervals:
        """Of each system's mean over topics and repetitions."""
        from scipy.special import stdtrit

        every = np.arange(len(self.runs))
        error, freedom = self.errors(self.means.var(axis=1, ddof=1) / self.topics, every)
        half, mean = stdtrit(freedom, (1 + level) / 2) * error, self.means.mean(axis=1)
        return mean - half, mean + half

    def variance_of_difference(self, topics: int, runs: int, of_topics: Floats, a: Ints, b: Ints) -> Floats:
        """With so many topics and runs of each system; `of_topics` is the variance of differences from topic to topic
        that would be left with any number of runs."""
        left = (self.left[a] + self.left[b]) / runs
        return (of_topics + left) / topics + (self.of_repetition[a] + self.of_repetition[b]) / runs

    def topic_variances(self, a: Ints, b: Ints) -> Floats:
        """The variance of differences from topic to topic that is left with any number of runs."""
        seen = paired_differences(self.means, a, b).var(axis=1, ddof=1)
        return np.maximum(seen - self.left[a] / self.runs[a] - self.left[b] / self.runs[b], 0.0)


def own_ranks_over_both(values: Floats, systems: Systems, alpha: float, seed: int) -> tuple[Ints, Ints]:
    """The central part of each system's ranks when topics, and the runs of each system, are drawn anew.

    The runs' part of a resample is stretched by sqrt(R / (R - 1)), which a bootstrap of R lacks.
    """
    rng = np.random.default_rng(seed)
    T = values.shape[1]
    topics = rng.multinomial(T, np.full(T, 1 / T), size=RESAMPLES) / T
    of_topics = values @ topics.T  # [run, resample]
    drawn = np.empty((RESAMPLES, len(systems.names)))
    for system in range(len(systems.names)):
        places = systems.runs(system)
        R = len(places)
        weights = rng.multinomial(R, np.full(R, 1 / R), size=RESAMPLES) / R
        mean = of_topics[places].mean(axis=0)
        away = (weights * of_topics[places].T).sum(axis=1) - mean
        drawn[:, system] = mean + away * np.sqrt(R / max(R - 1, 1))
    own, drawn_ranks = ranks(systems.means(values).mean(axis=1)), ranks(drawn)
    low = np.quantile(drawn_ranks, alpha / 2, axis=0, method="lower")
    high = np.quantile(drawn_ranks, 1 - alpha / 2, axis=0, method="higher")
    return np.minimum(low, own), np.maximum(high, own)
