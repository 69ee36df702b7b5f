"""Topics that depend on each other: what is drawn at random is a cluster of them, and so that is the unit of a test.

Values [.., topic] become values [.., cluster] whose mean is that of the topics, so that intervals and tests go on with
clusters as they would with topics. With clusters of one size both ways give the means of clusters. With n topics in C
clusters, n_c of them in cluster c with sum S_c, and m the mean:

- `totals` is (C / n) S_c. For differences: where there is none, sums of clusters are independent and as often on either
  side, whatever their sizes, and tests keep their level. More of anything never makes a total less.
- `linear` is m + (C / n) (S_c - n_c m), the linear part of the mean as a ratio of sums. For scores, which are not
  around 0. Each is stretched by what its own cluster took from it, sqrt((1 - 1/C) / (1 - n_c/n)): Bell and McCaffrey
  (2002), Bias reduction in standard errors for linear regression with multi-stage samples, Survey Methodology 28.

`ratio_interval` is that of a mean of scores by the t-test of totals, which it inverts: Fieller (1954), Some problems in
interval estimation, JRSS B 16. Where clusters differ in size it covers better than t on linear parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fathoms.base.arrays import Floats, Ints
from fathoms.base.errors import FathomsError
from fathoms.base.tolerances import SAME
from fathoms.inference.mean_intervals import t_quantile


@dataclass(frozen=True, eq=False)
class Units:
    """Which cluster each topic is of, from 0 on without gaps."""

    number: Ints

    @classmethod
    def of(cls, clusters: Sequence[str]) -> Units:
        """From the name of each topic's cluster."""
        place = {name: i for i, name in enumerate(dict.fromkeys(clusters))}
        return cls(np.array([place[name] for name in clusters], dtype=np.int64))

    @classmethod
    def among(cls, topics: Sequence[str], clusters: Mapping[str, str] | None) -> Units | None:
        """From the cluster of each topic that is in one, where that was said; what is in none is one by itself."""
        if clusters is None:
            return None
        if not clusters.keys() & set(topics):
            raise FathomsError(
                f"cluster: names none of the judged topics; it has {next(iter(clusters), 'none')}, the judgments have "
                f"{topics[0]}"
            )
        return cls.of([clusters.get(topic, f"{topic} alone") for topic in topics])

    @cached_property
    def sizes(self) -> Ints:
        return np.bincount(self.number)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def topics_each(self) -> float:
        """Topics to a cluster, on average."""
        return len(self.number) / len(self)

    def of_topics(self, places: Any) -> Units:
        """The same of some of the topics."""
        return Units(np.unique(self.number[places], return_inverse=True)[1].reshape(-1))

    def totals(self, values: Floats) -> Floats:
        return self._sums(values) / self.topics_each

    def linear(self, values: Floats) -> Floats:
        mean = values.mean(axis=-1, keepdims=True)
        C, n = len(self), len(self.number)
        if C < 2:
            return mean
        own = (self._sums(values) - self.sizes * mean) / self.topics_each
        own *= np.sqrt((1 - 1 / C) / (1 - self.sizes / n))
        return np.asarray(mean + own - own.mean(axis=-1, keepdims=True))

    def ratio_interval(self, values: Floats, level: float) -> tuple[Floats, Floats]:
        """All means that the t-test of the totals of values less the mean does not reject; nan where that is no
        interval, since sizes differ too much for so few clusters."""
        C, largest = len(self), np.abs(values).max(axis=1, initial=0.0)
        low, high = np.full(len(values), np.nan), np.full(len(values), np.nan)
        if C < 2:
            return low, high
        factor = t_quantile(level, C - 1) ** 2 / C
        sums, sizes = self._sums(values) / self.topics_each, self.sizes / self.topics_each
        mean = sums.mean(axis=1)
        around = sums - mean[:, None]
        spread, shared = (around**2).sum(axis=1) / (C - 1), around @ (sizes - 1) / (C - 1)
        a = 1 - factor * float(((sizes - 1) ** 2).sum()) / (C - 1)
        if a > 0:
            b, c = mean - factor * shared, mean**2 - factor * spread
            root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
            varies = np.ptp(values, axis=1) > SAME * largest
            low, high = (np.where(varies, end, np.nan) for end in ((b - root) / a, (b + root) / a))
        return low, high

    def _sums(self, values: Floats) -> Floats:
        order = np.argsort(self.number, kind="stable")
        starts = np.append(0, np.cumsum(self.sizes)[:-1])
        return np.asarray(np.add.reduceat(values[..., order], starts, axis=-1))
