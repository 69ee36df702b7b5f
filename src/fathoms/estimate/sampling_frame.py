"""Do the judged documents look like a random sample, and of which documents?

A pool leaves nearly all of the first documents of its runs judged. A random sample of a pool leaves a share of them,
the same for those that many runs have as for those that few have; further down the share falls, where the pool ends. So
the share among the first documents is the rate at which the sample was drawn, and how much smaller the share is
elsewhere says how many documents there the sample was drawn from at all. Where labels are there for some documents
only, nearly all judged ones among them, and they are no mere first ranks, the labelled documents are what was sampled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from fathoms.base.arrays import ratio
from fathoms.evidence.candidates import DocumentTable
from fathoms.evidence.evidence import Bools, Floats, Ints

SEVERAL = 5  # runs that show whether what is judged is a random sample
MOST = 0.85  # of the first documents; if more are judged it is a pool
FIRST, EARLIER = 5, 2  # ranks whose documents are compared
# Times as many judged that a sample of a pool may have, of documents of many runs and of few, and of earlier ranks and
# of later ones: 1.5 and 1.2 in most samples of TREC-8, TREC-COVID and DL20; in pools to which none of the runs
# contributed, one of the two is mostly greater.
EVEN_BY_RUNS, EVEN_BY_RANK, SURE = 2.2, 1.3, 3.0  # or so many standard errors
MOST_RUNS = 3  # documents of 1, 2, 4 or 8 runs and more are told apart
NEARLY_ALL = 0.95  # of the judged documents have a label, where labelled documents are what was sampled
RARELY = 10.0  # times as many judged on average as of the deeper half, where that was hardly drawn from
SAME_SHARE = 1.92  # log likelihood that may be lost where bands are taken to have one share (a test at 5%)
NEGLIGIBLE = 0.01  # chance of having been up for drawing, below which a document is left out
THIN = 0.2  # rate below which estimates are too rough for verdicts (docs/results/few-labels.md)
EDGES = np.unique(np.rint(1.4 ** np.arange(1, 40)).astype(np.int64))  # of bands of ranks


@dataclass(frozen=True, eq=False)
class SamplingFrame:
    """What a random sample was drawn from, as far as it shows."""

    rate: float  # share of it that is judged
    inside: Floats  # one a candidate: the chance that it could have been drawn; 1 where judged
    depth: int  # least rank that the deepest of its documents have in some run
    labelled: bool  # it is the labelled documents

    @property
    def is_thin(self) -> bool:
        """Whether so little is judged that intervals often cover less than they say."""
        return self.rate < THIN

    @property
    def size(self) -> int:
        """How many documents of the runs were up for drawing, about."""
        return round(float(self.inside.sum()))


def sampling_frame(table: DocumentTable, has_label: Bools | None) -> SamplingFrame | None:
    """None where what is judged does not look like a random sample, or too little is known to say."""
    judged = table.judged
    reach, _ = table.least_ranks()
    if has_label is None and len(table.names) < SEVERAL:
        return None
    if has_label is not None:
        beside = ~has_label & (reach <= np.max(reach[has_label], initial=0))
        if has_label[judged].mean() >= NEARLY_ALL and beside.sum() >= (1 - NEARLY_ALL) * len(reach):
            rate = float(judged[has_label].mean())
            deeper = has_label & (reach > np.median(reach[has_label]))
            if judged[has_label & ~deeper].mean() > MOST or judged[deeper].mean() < rate / RARELY:
                return None
            inside = np.where(judged | has_label, 1.0, 0.0)
            return SamplingFrame(rate, inside, int(reach[inside > 0].max()), True)
    if not _even(table, judged, np.ones(len(reach), dtype=bool), reach):
        return None
    return pool_sampled(table, reach, judged)


def pool_sampled(table: DocumentTable, reach: Ints, judged: Bools) -> SamplingFrame | None:
    """The pool of which judged documents look like a random sample, from the least ranks and judged shares of all."""
    band = np.searchsorted(EDGES, reach, side="left")
    n_bands = int(band.max()) + 1
    of_runs = np.minimum(np.log2(table.held_by).astype(np.int64), MOST_RUNS)
    cells = of_runs * n_bands + band
    n, y = (
        np.bincount(cells[chosen], minlength=(MOST_RUNS + 1) * n_bands).reshape(-1, n_bands).astype(np.float64)
        for chosen in (np.ones(len(reach), dtype=bool), judged)
    )
    rate = _flat_share(n[1:].sum(axis=0), y[1:].sum(axis=0))
    if not rate:
        return None
    inside = np.stack([_inside(*row, rate) for row in zip(n, y, strict=True)])[of_runs, band]
    unjudged = ratio(inside * (1 - rate), 1 - inside * rate)
    inside = np.where(judged, 1.0, np.where(unjudged < NEGLIGIBLE, 0.0, unjudged))
    return SamplingFrame(rate, inside, int(reach[inside > 0].max()), False)


def _even(table: DocumentTable, judged: Bools, among: Bools, reach: Ints) -> bool:
    """Whether a share of the first documents is judged, no more of those that many runs have than of those that few
    have, and no more of the very first than of the next."""
    shared = among & (table.held_by > 1)  # what a single run has may never have been in a pool
    first = shared & (reach <= FIRST)
    if not first.any():
        return False
    held, size = np.unique(table.held_by[first], return_counts=True)
    many = table.held_by >= held[np.abs(np.cumsum(size[::-1])[::-1] - first.sum() / 2).argmin()]  # half of them, about
    earlier = first & (reach <= EARLIER)
    return _alike(judged[first & many], judged[first & ~many], EVEN_BY_RUNS) and _alike(
        judged[earlier], judged[first & ~earlier], EVEN_BY_RANK
    )


def _alike(some: Bools, others: Bools, even: float) -> bool:
    """Whether a share of some documents is judged, and about as large a share of the others."""
    if not len(some) or not len(others):  # all are alike
        return True
    p, q = some.mean(), others.mean()
    error = np.sqrt(p * (1 - p) / len(some) + q * (1 - q) / len(others))
    return bool(p <= MOST and (p <= even * q or p - q <= SURE * error))


def _falling(n: Floats, y: Floats) -> Floats:
    """Shares y / n that never rise (isotonic regression: the least concave majorant of the cumulated counts)."""
    blocks: list[list[float]] = []  # n, y, bands
    for size, hits in zip(n.tolist(), y.tolist(), strict=True):
        blocks.append([size, hits, 1])
        while len(blocks) > 1 and blocks[-1][1] * blocks[-2][0] >= blocks[-2][1] * blocks[-1][0]:
            size, hits, bands = blocks.pop()
            blocks[-1] = [blocks[-1][0] + size, blocks[-1][1] + hits, blocks[-1][2] + bands]
    shares = [hits / size if size else 0.0 for size, hits, _ in blocks]
    return np.repeat(shares, [int(bands) for *_, bands in blocks])


def _flat_share(n: Floats, y: Floats) -> float:
    """The share of the first bands, as many of them as may well have the same one."""
    best = _likelihood(n, y, _falling(n, y))
    share = 0.0
    for last in range(1, len(n) + 1):
        together = [np.append(counts[:last].sum(), counts[last:]) for counts in (n, y)]
        first, *deeper = _falling(*together)
        if share and best - _likelihood(n, y, np.append(np.full(last, first), deeper)) > SAME_SHARE:
            break
        share = float(first)
    return share


def _inside(n: Floats, y: Floats, rate: float) -> Floats:
    """The share of each band that was up for drawing: the whole of the first ones, as many of them as may well be."""
    best = _likelihood(n, y, np.minimum(_falling(n, y), rate))
    for last in range(len(n), -1, -1):
        shares = np.append(np.full(last, rate), np.minimum(_falling(n[last:], y[last:]), rate))
        if best - _likelihood(n, y, shares) <= SAME_SHARE:
            break
    return np.asarray(shares / rate)


def _likelihood(n: Floats, y: Floats, share: Floats) -> float:
    return float((xlogy(y, share) + xlogy(n - y, 1 - share)).sum())
