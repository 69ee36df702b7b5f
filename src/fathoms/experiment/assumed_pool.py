"""Which runs contributed to the pool, and how deep it was, where nobody says so: seen in what is judged.

A pool of depth d leaves an edge. Down to rank d the documents of a contributing run are judged; below it only those are
that another run has further up, so the judged share drops from one rank to the next. Runs that did not contribute have
a share that falls smoothly. So the depth is where the drops of all nearly complete runs, taken together, are greatest.
That the judged share dips somewhere above says nothing: documents may be missing at random, from the judgments or
because ties were broken in another order. How complete the pool is, the runs with the sharpest edge say; a run that is
as complete as they are is taken to have contributed, also where it is too short to have an edge itself.

Where there is no edge (all documents are judged, or so many per topic), the depth is what most runs are judged through.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathoms.data.arrays import ratio
from fathoms.data.qrels import JUDGED, PADDING
from fathoms.evidence.align import Ranked
from fathoms.evidence.evidence import Bools, Evidence, Floats
from fathoms.text import pluralise

NEARLY_COMPLETE = 0.85  # of the documents above an edge; fewer would be a sample, and no pool
JUDGED_SHARE = 0.9  # without an edge: ranks at which this share is judged
EDGE_DROP = 0.1  # in the judged share, of a typical run with an edge
EDGE_Z = 3.0  # standard errors of the drop, over all runs together
WINDOW = 10  # an edge at rank d is looked for in d / WINDOW ranks on either side
TOLERANCE = 0.01  # in the share of the first d documents, beside two standard errors
UNKNOWN_DEPTH = 10  # where no run is judged through its first ranks


@dataclass(frozen=True)
class JudgedByRank:
    """How many documents a run has at each rank over all topics, and how many of them are judged."""

    retrieved: NDArray[np.int64]
    judged: NDArray[np.int64]


def judged_by_rank(ranked: Ranked) -> JudgedByRank:
    retrieved = np.bincount(ranked.rank)[1:]
    judged = np.bincount(ranked.rank[ranked.codes >= JUDGED], minlength=len(retrieved) + 1)[1:]
    return JudgedByRank(retrieved, judged)


def pooled_depth(evidences: Iterable[Evidence]) -> int:
    """The depth to which runs that all contributed were pooled."""
    profiles = [
        JudgedByRank((one.codes != PADDING).sum(axis=0), (one.codes >= JUDGED).sum(axis=0)) for one in evidences
    ]
    names = list(map(str, range(len(profiles))))
    found = infer_pool(dict(zip(names, profiles, strict=True)), names)
    return found.depth if found.known else 0


@dataclass(frozen=True)
class AssumedPool:
    """The runs that contributed to the pool, its depth, and how sure that is, in words."""

    names: list[str]
    depth: int
    share: float  # of the first `depth` documents of these runs that is judged
    sentence: str
    known: bool = True  # False: no run is judged through its first ranks, and the depth stands for nothing


def infer_pool(profiles: Mapping[str, JudgedByRank], named: Sequence[str] | None = None) -> AssumedPool:
    """The pool that best explains what is judged: of the runs named, or of those that look like it."""
    names = list(profiles if named is None else named)
    retrieved, judged = _cumulated([profiles[name] for name in names])
    edge = _edge(retrieved, judged)
    if edge is None:
        depth, chosen, known = _without_edge([profiles[name] for name in names])
    else:
        depth, complete = edge
        known = True
        count = retrieved[:, depth]
        error = np.sqrt(ratio(np.full(len(count), complete * (1 - complete)), count))
        chosen = (count > 0) & (ratio(judged[:, depth], count) >= complete - TOLERANCE - 2 * error)
    found = names if named is not None else [name for name, one in zip(names, chosen, strict=True) if one]
    at = [names.index(name) for name in found]
    share = float(judged[at, depth].sum() / max(1, retrieved[at, depth].sum()))
    return AssumedPool(found, depth, share, _sentence(found, depth, share, len(profiles), named is None, known), known)


def _cumulated(profiles: Sequence[JudgedByRank]) -> tuple[Floats, Floats]:
    """Documents retrieved and judged in the first 0, 1, 2, ... ranks; a row for each run."""
    width = 1 + max([UNKNOWN_DEPTH, *(len(profile.retrieved) for profile in profiles)])
    retrieved, judged = np.zeros((len(profiles), width)), np.zeros((len(profiles), width))
    for row, profile in enumerate(profiles):
        retrieved[row, 1 : len(profile.retrieved) + 1] = profile.retrieved
        judged[row, 1 : len(profile.judged) + 1] = profile.judged
    return np.cumsum(retrieved, axis=1), np.cumsum(judged, axis=1)


def _edge(retrieved: Floats, judged: Floats) -> tuple[int, float] | None:
    """The depth of the sharpest edge, and the share judged above it; None where there is none to speak of."""
    last = retrieved.shape[1] - 1
    depth = np.arange(1, last)
    window = np.maximum(1, depth // WINDOW)
    start, end = depth - window, np.minimum(depth + window, last)
    n_above, n_below = retrieved[:, depth] - retrieved[:, start], retrieved[:, end] - retrieved[:, depth]
    j_above, j_below = judged[:, depth] - judged[:, start], judged[:, end] - judged[:, depth]
    share = ratio(judged[:, depth], retrieved[:, depth])
    weight = np.minimum(n_above, n_below) / window * (share >= NEARLY_COMPLETE)
    drop = (ratio(j_above, n_above) - ratio(j_below, n_below)) * (weight > 0)
    total = (weight * drop).sum(axis=0)
    if not total.size or total.max() <= 0:
        return None
    best = int(total.argmax())
    weight, drop, share = weight[:, best], drop[:, best], share[:, best]
    n_above, n_below = n_above[:, best], n_below[:, best]
    p = ratio(j_above[:, best] + j_below[:, best], n_above + n_below)
    one = np.ones(len(p))
    variance = (weight**2 * p * (1 - p) * (ratio(one, n_above) + ratio(one, n_below))).sum()
    typical = (weight * drop**2).sum() / (weight * np.abs(drop)).sum()
    if typical < EDGE_DROP or total[best] < EDGE_Z * np.sqrt(variance):
        return None
    return int(depth[best]), _weighted_median(share, weight * drop**2)


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2)])


def _without_edge(profiles: Sequence[JudgedByRank]) -> tuple[int, Bools, bool]:
    """The depth that most runs are judged through, those runs, and whether there are any.

    A run judged to its end fits any depth; where most are, the depth is that of the longest of them.
    """
    depths = np.array([judged_through(profile) for profile in profiles])
    deep = depths[depths >= 2]
    if not len(deep):
        return UNKNOWN_DEPTH, np.ones(len(profiles), dtype=bool), False
    depth = float(np.median(deep))
    if np.isinf(depth):
        depth = max(len(profile.retrieved) for profile, own in zip(profiles, depths, strict=True) if np.isinf(own))
    return int(depth), depths >= depth, True


def judged_through(profile: JudgedByRank) -> float:
    """Through how many ranks (nearly) all of a run's documents are judged, whatever single ranks have by chance: the
    share is taken to fall with the rank. inf where the run ends first."""
    from scipy.optimize import isotonic_regression

    some = profile.retrieved > 0
    if not some.any():
        return 0.0
    retrieved = profile.retrieved[some].astype(np.float64)
    falling = isotonic_regression(profile.judged[some] / retrieved, weights=retrieved, increasing=False).x
    short = falling < JUDGED_SHARE
    return float(short.argmax()) if short.any() else np.inf


def _sentence(names: Sequence[str], depth: int, share: float, given: int, assumed: bool, known: bool) -> str:
    if not known:
        return (
            f"assumed pool: unknown, since no run is judged through its first ranks; all {pluralise(given, 'run')} and "
            f"their first {depth} documents stand in for it (name the contributing runs with --pooled FILE)"
        )
    judged = f"{'' if share > 0.995 else f'{share:.1%} '}judged through rank {depth:,}"
    if not assumed:
        return f"pool: {pluralise(len(names), 'contributing run')} given, {judged}"
    return f"assumed pool: {len(names):,} of {pluralise(given, 'run')}, {judged} (no --pooled list given)"
