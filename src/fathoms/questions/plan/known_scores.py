"""What per-topic scores of some runs say about how many topics another experiment will need.

The variance of a difference is not the same for all pairs of runs: those that differ little vary little. Power is
therefore worked out pair by pair, for pairs whose observed difference is like the one to be found, and averaged; one
power for the mean variance of all pairs, as in Sakai's design, is too low on TREC-8.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fathoms.base.tolerances import SAME
from fathoms.evidence.evidence import Floats, Ints
from fathoms.inference.topic_set_size import fewest, least, power_of_t_test

LIKE = 2.0  # a pair is like a difference if its own is at least half and at most twice as large
LEAST_PAIRS = 10  # if there are fewer, others are taken too, the nearest ones
MOST_PAIRS = 300  # if there are more, the nearest ones are taken
DRAWS = 400  # resamples of the topics
CELLS = 4_000_000  # differences resampled at a time
BOOTSTRAPS = 400  # of the topics, for the uncertainty of a variance
WIDENED = 1.1


@dataclass(frozen=True, eq=False)
class TopicScores:
    """Scores of a measure, [run, topic]."""

    scores: Floats

    @property
    def runs(self) -> int:
        return len(self.scores)

    @property
    def topics(self) -> int:
        return int(self.scores.shape[1])

    @cached_property
    def _pairs(self) -> tuple[Ints, Ints]:
        """Pairs that differ; copies of one run do not."""
        a, b = np.triu_indices(self.runs, 1)
        near = SAME * max(float(np.abs(self.scores).max()), 1e-300)
        spread = np.sqrt(np.maximum(self._variances(a, b), 0.0))
        kept = spread > near
        return a[kept], b[kept]

    def _variances(self, a: Ints, b: Ints) -> Floats:
        """Of the differences, without a table of all pairs and topics."""
        covariance = np.atleast_2d(np.cov(self.scores))
        own = np.diag(covariance)
        return own[a] + own[b] - 2 * covariance[a, b]

    @cached_property
    def pair_variances(self) -> Floats:
        return self._variances(*self._pairs)

    @cached_property
    def pair_differences(self) -> Floats:
        a, b = self._pairs
        mean = self.scores.mean(axis=1)
        return np.abs(mean[a] - mean[b])

    @property
    def varies(self) -> bool:
        return len(self._pairs[0]) > 0

    @cached_property
    def variance(self) -> float:
        """Of a difference, the mean over all pairs: twice the residual variance of a two-way analysis of runs and
        topics."""
        m, n = self.scores.shape
        residual = self.scores - self.scores.mean(axis=1, keepdims=True) - self.scores.mean(axis=0) + self.scores.mean()
        return float(2 * (residual**2).sum() / ((m - 1) * (n - 1)))

    @cached_property
    def mean_deviation(self) -> float:
        """The mean over pairs of the standard deviation of a difference, which mean widths of intervals depend on."""
        return float(np.sqrt(self.pair_variances).mean())

    @cached_property
    def system_variance(self) -> float:
        """Of one run's scores over topics, the mean over runs: the residual variance of a one-way analysis, which
        Sakai takes for ANOVA."""
        return float(self.scores.var(axis=1, ddof=1).mean())

    def variance_interval(self, seed: int, level: float = 0.95) -> tuple[float, float]:
        """By a bootstrap over topics: how much smaller or larger, as factors, the mean variance may be with others.

        The standard deviation of the logarithm of a resample's variance, times a quantile of t, widened by a tenth:
        percentiles held the true variance in 84% to 95% of trials, with normal and other scores of 12 to 100 topics
        and resampled ones of TREC-8; these in 90% to 97%.
        """
        from scipy.special import stdtrit

        rng = np.random.default_rng(seed)
        n = self.topics
        centred = self.scores - self.scores.mean(axis=0)
        weight = rng.multinomial(n, np.full(n, 1 / n), size=BOOTSTRAPS) / n  # [draw, topic]
        square = weight @ (centred**2).sum(axis=0)
        means = centred @ weight.T  # [run, draw]
        drawn = square - (means**2).sum(axis=0)
        spread = float(np.log(np.maximum(drawn / drawn.mean(), SAME)).std()) * np.sqrt(n / (n - 1))
        factor = float(np.exp(WIDENED * float(stdtrit(n - 1, (1 + level) / 2)) * spread))
        return 1 / factor, factor

    # -- pairs like a difference ------------------------------------------------------------------------------------

    def like(self, difference: float) -> Ints:
        """Numbers of the pairs whose observed difference is like this one, or of the nearest ones."""
        with np.errstate(divide="ignore"):
            far = np.abs(np.log(self.pair_differences / difference))
        nearest = np.argsort(far, kind="stable")
        within = int((far <= np.log(LIKE) + 1e-12).sum())
        chosen: Ints = np.sort(nearest[: min(max(within, LEAST_PAIRS), MOST_PAIRS)])
        return chosen

    def power(self, topics: int, difference: float, alpha: float) -> float:
        """The mean over these pairs of the chance that the paired t-test finds the difference."""
        return float(power_of_t_test(topics, difference, self.pair_variances[self.like(difference)], alpha).mean())

    def topics_needed(self, difference: float, alpha: float, power: float) -> int | None:
        variances = self.pair_variances[self.like(difference)]
        return fewest(lambda n: float(power_of_t_test(n, difference, variances, alpha).mean()) >= power)

    def detectable(self, topics: int, alpha: float, power: float) -> float:
        """The least difference that so many topics find with that power. Other differences have other pairs, so the
        pairs for the last answer give the next, until it stays."""
        difference = float(np.sqrt(self.variance / topics)) * 3
        tried = np.empty(0, dtype=np.int64)
        for turn in range(20):
            like = self.like(difference)
            if np.array_equal(like, tried):
                break
            variances, tried = self.pair_variances[like], like
            again = least(
                lambda d, variances=variances: (  # type: ignore[misc]
                    float(power_of_t_test(topics, d, variances, alpha).mean()) >= power
                ),
                difference,
                tolerance=1e-5,
            )
            if abs(again - difference) <= 1e-3 * difference:
                return again
            difference = again if turn < 3 else (again + difference) / 2  # pairs taking turns would go on forever
        return difference

    # -- resampling -------------------------------------------------------------------------------------------------

    def shifted(self, difference: float) -> Floats:
        """Differences [pair, topic] of the pairs like it, moved so that each pair's mean is exactly that difference."""
        a, b = (side[self.like(difference)] for side in self._pairs)
        values = self.scores[a] - self.scores[b]
        mean = values.mean(axis=1, keepdims=True)
        return np.where(mean < 0, -1.0, 1.0) * (values - mean) + difference

    def resampled_power(self, topics: int, difference: float, alpha: float, seed: int, draws: int = DRAWS) -> float:
        """How often the paired t-test finds the difference on so many topics, drawn with replacement from these."""
        return significant_share(self.shifted(difference), topics, alpha, seed, draws)

    def resampled_topics(self, difference: float, alpha: float, power: float, seed: int, most: int) -> int | None:
        """The fewest topics with that power by resampling; None where `most` are not enough."""
        values = self.shifted(difference)
        return fewest(lambda n: significant_share(values, n, alpha, seed) >= power, start=3, most=most)


def significant_share(differences: Floats, topics: int, alpha: float, seed: int, draws: int = DRAWS) -> float:
    """The share of resamples, over all pairs, in which the mean difference is significant (paired t, two-sided).

    All pairs see the same resampled topics. How often each topic was drawn is all that sums depend on.
    """
    from scipy.special import stdtrit

    rng = np.random.default_rng([seed, topics])
    n = differences.shape[1]
    critical = float(-stdtrit(topics - 1, alpha / 2))
    count = rng.multinomial(topics, np.full(n, 1 / n), size=draws).T.astype(np.float64)  # [topic, draw]
    significant, step = 0, max(1, CELLS // draws)
    for start in range(0, len(differences), step):
        part = differences[start : start + step]
        mean = part @ count / topics
        square = np.maximum(part**2 @ count / topics - mean**2, 0.0) * topics / (topics - 1)
        # t > critical, without dividing by a variance of 0; equal differences are significant if there are any.
        significant += int((mean**2 * topics > critical**2 * square + 1e-15).sum())
    return significant / (len(differences) * draws)
