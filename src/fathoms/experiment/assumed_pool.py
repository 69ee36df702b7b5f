"""Which runs contributed to the pool, and how deep it was, inferred from the judgments where nobody says.

A pool of depth d leaves an edge. Down to rank d all documents of a contributing run are judged; below it only those
that another run ranks higher, so the judged share drops from one rank to the next. For runs that did not contribute,
that share falls smoothly. The depth is where the drops of all nearly complete runs, taken together, are greatest. A dip
higher up means nothing: documents may be missing at random, from the judgments or because ties were broken in another
order. How complete the pool is, the runs with the sharpest edge say; a run as complete as they are is taken to have
contributed, even if it is too short to have an edge itself.

Where there is no edge (all documents are judged, or a fixed number per topic), the depth is the one that most runs are
judged through.

A handful of runs judged by chance may look like a pool. Contributors can be told apart (`AssumedPool.sure`) only where
several runs have an edge of their own at the common depth, and no run is judged half as completely as they are: then
every run either clearly fits the pool or clearly does not. A run that would fit in another order of its ties cannot be
told apart either, since the pool may have been made in that order. Elsewhere the runs named are a stand-in, and the
sentence says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import ratio
from fathoms.base.text import pluralise
from fathoms.base.tolerances import SAME
from fathoms.data.qrels import JUDGED
from fathoms.evidence.align import Ranked
from fathoms.evidence.evidence import Bools, Floats

NEARLY_COMPLETE = 0.85  # of the documents above an edge; fewer would be a sample, and no pool
JUDGED_SHARE = 0.9  # without an edge: ranks at which this share is judged
EDGE_DROP = 0.1  # in the judged share, of a typical run with an edge
EDGE_Z = 3.0  # standard errors of the drop, over all runs together
WINDOW = 10  # an edge at rank d is looked for in d / WINDOW ranks on either side
TOLERANCE = 0.01  # in the share of the first d documents, beside two standard errors
UNKNOWN_DEPTH = 10  # where no run is judged through its first ranks
OWN_EDGES = 2  # runs with an edge of their own, to be sure of a pool
SHARPER = 4.0  # times as many unjudged documents just below a run's own edge as just above it
APART = 2.0  # times as many unjudged documents in any run outside as in any run of the pool
CLEARLY = 2.5  # standard errors of both differences
SHOWN_NAMES = 3


@dataclass(frozen=True)
class JudgedByRank:
    """How many documents a run has at each rank over all topics, and how many of them are judged."""

    retrieved: NDArray[np.int64]
    judged: NDArray[np.int64]
    at_best: NDArray[np.int64] | None = None  # judged, if of equal scores those that are judged came first


def judged_by_rank(ranked: Ranked) -> JudgedByRank:
    rank = ranked.rank
    retrieved = np.bincount(rank)[1:]
    judged = np.bincount(rank[ranked.codes >= JUDGED], minlength=len(retrieved) + 1)[1:]
    return JudgedByRank(retrieved, judged, _judged_first(ranked, rank, len(retrieved)) if ranked.tied.any() else judged)


def _judged_first(ranked: Ranked, rank: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """How many documents at each rank would be judged if, of equal scores, the judged ones came first."""
    scores, judged = ranked.run.scores[ranked.rows].astype(np.float32), ranked.codes >= JUDGED
    starts = (rank == 1) | ~ranked.tied | (scores != np.roll(scores, 1))
    group = np.cumsum(starts)
    return np.bincount(rank[judged[np.lexsort((~judged, group))]], minlength=length + 1)[1:]


@dataclass(frozen=True)
class AssumedPool:
    """The runs that contributed to the pool, its depth, and how sure that is, in words."""

    names: list[str]
    depth: int
    share: float  # of the first `depth` documents of these runs that is judged
    sentence: str
    known: bool = True  # False: no run is judged through its first ranks, so the depth means nothing
    sure: bool = True  # False: the judgments cannot tell, and these runs stand in for the contributors


def infer_pool(profiles: Mapping[str, JudgedByRank], named: Sequence[str] | None = None) -> AssumedPool:
    """The pool that best explains what is judged: of the runs named, or of those that look like it."""
    names = list(profiles if named is None else named)
    retrieved, judged = _cumulated([profiles[name] for name in names])
    edge = _edge(retrieved, judged)
    if edge is None:
        depth, chosen, known = _without_edge([profiles[name] for name in names])
        sure = bool((judged[:, -1] >= retrieved[:, -1]).all())  # then all depths are alike
    else:
        (depth, complete), known = edge, True
        at_best = np.array([_judged_at_best(profiles[name], depth) for name in names])
        clear = _clearly_pooled(retrieved, judged, depth, at_best)
        sure = clear is not None
        chosen = _as_complete(retrieved[:, depth], judged[:, depth], complete) if clear is None else clear
    if named is not None:
        chosen, sure = np.ones(len(names), dtype=bool), True
    share = float(judged[chosen, depth].sum() / max(1, retrieved[chosen, depth].sum()))
    contributors = [name for name, is_chosen in zip(names, chosen.tolist(), strict=True) if is_chosen]
    sentence = _sentence(contributors, depth, share, len(profiles), named is None, known, sure)
    return AssumedPool(contributors, depth, share, sentence, known, sure)


def _as_complete(retrieved: Floats, judged: Floats, complete: float) -> Bools:
    """The runs with as great a share of their first documents judged as the pool."""
    error = np.sqrt(ratio(np.full(len(retrieved), complete * (1 - complete)), retrieved))
    return np.asarray((retrieved > 0) & (ratio(judged, retrieved) >= complete - TOLERANCE - 2 * error))


def _judged_at_best(profile: JudgedByRank, depth: int) -> int:
    """How many of the first documents are judged, in the order of ties that makes it most."""
    return int((profile.judged if profile.at_best is None else profile.at_best)[:depth].sum())


def _clearly_pooled(retrieved: Floats, judged: Floats, depth: int, at_best: Floats) -> Bools | None:
    """The runs that contributed to a pool of this depth; None where some run could be either, for instance because so
    many of its documents are judged `at_best`, in another order of ties."""
    rate, n = _unjudged_rates(retrieved, judged, 0, depth)
    width = max(2, depth // 5)
    above, n_above = _unjudged_rates(retrieved, judged, depth // 2, depth)
    below, n_below = _unjudged_rates(retrieved, judged, depth, min(depth + width, retrieved.shape[1] - 1))
    own_edge = (below > SHARPER * above) & (below - above >= CLEARLY * _spread(above, n_above, below, n_below))
    if own_edge.sum() < OWN_EDGES:
        return None
    typical = float(np.median(rate[own_edge]))
    inside = rate <= typical + np.maximum(min(typical, TOLERANCE), 3 * np.sqrt(typical * (1 - typical) / n))
    outside = ~inside & (retrieved[:, depth] > 0)
    if (inside & own_edge).sum() < OWN_EDGES:
        return None
    if outside.any():
        worst = int(np.where(inside, rate, -1.0).argmax())
        least = (retrieved[:, depth] - at_best + 0.5) / n  # that another order of ties could make it
        nearest = int(np.where(outside, least, 2.0).argmin())
        error = _spread(rate[worst], n[worst], least[nearest], n[nearest])
        if least[nearest] < APART * rate[worst] or least[nearest] - rate[worst] < CLEARLY * error:
            return None
    return np.asarray(inside & (retrieved[:, depth] > 0))


def _unjudged_rates(retrieved: Floats, judged: Floats, start: int, end: int) -> tuple[Floats, Floats]:
    """The share of the documents at ranks after `start` and up to `end` that is not judged, with half a document of
    prior for each outcome, and how many documents that counts."""
    n = retrieved[:, end] - retrieved[:, start]
    return (n - (judged[:, end] - judged[:, start]) + 0.5) / (n + 1), n + 1


def _spread(p: Floats, n: Floats, q: Floats, m: Floats) -> Floats:
    """The standard error of the difference of two shares."""
    return np.asarray(np.sqrt(p * (1 - p) / n + q * (1 - q) / m))


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
    ones = np.ones(len(p))
    variance = (weight**2 * p * (1 - p) * (ratio(ones, n_above) + ratio(ones, n_below))).sum()
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

    A run judged to its end fits any depth; where most runs are, the depth is that of the longest of them.
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
    """Through how many ranks (nearly) all of a run's documents are judged, smoothing out chance at single ranks: the
    share is taken to fall with the rank. inf where the run ends first."""
    some = profile.retrieved > 0
    if not some.any():
        return 0.0
    # The falling shares that fit best (isotonic regression) are up to the threshold just down to the rank at which what
    # is judged beyond it, summed from the first rank on, is most: the last such rank.
    beyond = np.cumsum(profile.judged[some] - JUDGED_SHARE * profile.retrieved[some])
    most = max(float(beyond.max()), 0.0)
    through = int(np.flatnonzero(np.append(0.0, beyond) >= most - SAME * profile.retrieved.sum())[-1])
    return np.inf if through == len(beyond) else float(through)


def _sentence(
    names: Sequence[str], depth: int, share: float, given: int, assumed: bool, known: bool, sure: bool
) -> str:
    if not known:
        runs = "the one run and its" if given == 1 else f"all {pluralise(given, 'run')} and their"
        return (
            f"assumed pool: unknown, since no run is judged through its first ranks; {runs} first {depth} documents "
            "stand in for it (name the contributing runs with --pooled FILE)"
        )
    judged = f"{'' if share > 0.995 else f'{share:.1%} '}judged through rank {depth:,}"
    if not assumed:
        return f"pool: {pluralise(len(names), 'contributing run')} given, {judged}"
    who = f"{len(names):,} of {pluralise(given, 'run')} ({', '.join(names[:SHOWN_NAMES])}"
    who += ", ...)" if len(names) > SHOWN_NAMES else ")"
    if sure:
        return f"assumed pool: {who}, {judged} (no --pooled list given)"
    return (
        "assumed pool: the judgments cannot tell which runs contributed; taken as contributors here: "
        f"{who}, {judged} (name them with --pooled FILE)"
    )
