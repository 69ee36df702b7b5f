"""The collection itself says how wrong a model is: hide part of what is judged as the rest is hidden, and predict it.

What is hidden follows what is unknown. Where judging will go deeper than the pool, deeper levels of it are hidden;
where runs did not contribute, the documents that only some contributing runs brought in; where nobody can tell how
documents were chosen, a random third.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fathoms.estimate.documents import Documents
from fathoms.estimate.mixed_logistic import MixedPrior, fit_mixed
from fathoms.evidence.evidence import Bools, Floats, Ints

DEEPER = "those deeper than rank "
LEFT_OUT = "those found only by runs left out one by one"
LEVELS = (0.25, 0.5, 0.7)  # of the pool's depth, from which its deeper part is predicted
FOLDS = 3
FEWEST_RELEVANT = 3  # known documents to learn from, in a backtest
# How predictions go wrong with depth, before the collection has said anything: logits by the logarithm of depth over
# that of the pool. Relevance falls off a little faster than the model thinks, and by topic quite differently.
DRIFT_MEAN, DRIFT_SPREAD = -0.2, 0.25
LEAST_DRIFT_SPREAD = 0.2  # what one collection's backtest says of its deeper part is no surer than this
TOPIC_DRIFT, TOPIC_DRIFT_TOPICS = 0.3, 10.0  # variance over topics, and how many topics' worth that is
HEAVY = 4  # degrees of freedom of the drift over topics: some have nothing more, whatever the model thinks
OWNER_SPREAD = 0.35  # documents that a single run brings in are all better or all worse than the model thinks


@dataclass(frozen=True, eq=False)
class Hiding:
    """A backtest: what is left of the judgments, and what is hidden."""

    name: str  # in words
    known: Ints  # rows of the documents
    hidden: Ints
    depth: int  # of what is left of the pool; 0 where depth has nothing to do with it
    is_target: bool = False  # no backtest: what is hidden is what nobody has judged

    def distance(self, documents: Documents) -> Floats:
        """How far beyond the depth of what is left each hidden document lies: the logarithm of the ratio."""
        return log_distance(documents.reach[self.hidden], self.depth)


def log_distance(reach: Ints, depth: int) -> Floats:
    if depth <= 0:
        return np.zeros(len(reach))
    return np.log(np.maximum(reach, depth) / depth)


def hidings(
    documents: Documents,
    pool_depth: int,
    contributing: Bools,
    teams: Sequence[str],
    *,
    deeper: bool,
    outsiders: bool,
    seed: int = 0,
) -> list[Hiding]:
    """The backtests that fit what is unknown. `pool_depth` is 0 where it is not known; `teams` has one a run."""
    judged = documents.judged
    all_hidings: list[Hiding] = []
    if pool_depth >= 2 and deeper:
        for level in levels_below(pool_depth):
            hidden = judged & (documents.pooled > level) & (documents.pooled <= pool_depth)
            all_hidings.append(_hiding(f"{DEEPER}{level}", judged, hidden, level))
    if pool_depth >= 1 and outsiders:
        for fold in folds(contributing, teams, seed):
            rank_without_fold = _least_rank(documents, contributing & ~fold)
            hidden = judged & (documents.pooled <= pool_depth) & (rank_without_fold > pool_depth)
            all_hidings.append(_hiding(LEFT_OUT, judged, hidden, pool_depth))
    if not all_hidings:
        rows = np.flatnonzero(judged)
        third = np.random.default_rng((seed, len(rows))).permutation(len(rows)) % FOLDS
        for fold_number in range(FOLDS):
            hidden = np.zeros(len(documents), dtype=bool)
            hidden[rows[third == fold_number]] = True
            all_hidings.append(_hiding("a random third", judged, hidden, 0))
    level_of = documents.level
    return [
        hiding for hiding in all_hidings if len(hiding.hidden) and (level_of[hiding.known] > 0).sum() >= FEWEST_RELEVANT
    ]


def levels_below(pool_depth: int) -> list[int]:
    """Depths from which the deeper part of a pool is predicted."""
    return sorted({max(1, round(share * pool_depth)) for share in LEVELS} - {pool_depth})


def checkable_depth(pool_depth: int) -> int:
    """How deep estimates can be checked: as many times the pool's depth as that is the shallowest of the levels."""
    return pool_depth * pool_depth // min(levels_below(pool_depth), default=1)


def _hiding(name: str, judged: Bools, hidden: Bools, depth: int) -> Hiding:
    return Hiding(name, np.flatnonzero(judged & ~hidden), np.flatnonzero(hidden), depth)


def folds(contributing: Bools, teams: Sequence[str], seed: int) -> list[Bools]:
    """Contributing runs in a few groups, those of one team together; none where only one team contributed."""
    names = list(dict.fromkeys(team for team, contributes in zip(teams, contributing, strict=True) if contributes))
    if len(names) < 2:
        return []
    folds = min(FOLDS, len(names))
    order = np.random.default_rng((seed, len(names))).permutation(len(names))
    chosen = [{names[place] for place in order[fold::folds]} for fold in range(folds)]
    return [contributing & np.array([team in fold for team in teams]) for fold in chosen]


def _least_rank(documents: Documents, runs: Bools) -> Ints:
    """The least rank of each document in some runs; a great number where none has it."""
    ranks = documents.ranks[:, np.flatnonzero(runs)]
    least = np.full(len(documents), np.iinfo(np.int64).max)
    some = np.diff(ranks.indptr) > 0
    if some.any():
        least[some] = np.minimum.reduceat(ranks.data, ranks.indptr[:-1][some])
    return least


# -- how predictions drift with depth -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Drift:
    """How far off logits are by depth, over all topics and for single ones: per unit of the distance in logarithms."""

    mean: float
    spread: float  # of that mean
    of_topics: float  # standard deviation over topics

    def shifts(self, documents: Documents, rows: Ints, depth: int, seed: int, draws: range) -> Shifts:
        """What each draw adds to the logits of these documents: the drift, all of a topic alike, and the error of what
        a single run brings in."""
        slopes, owners = np.empty((len(draws), documents.n_topics)), np.empty((len(draws), documents.n_runs))
        for place, i in enumerate(draws):
            rng = np.random.default_rng((seed, i, 1))
            slopes[place] = self.slopes(documents.n_topics, rng)
            owners[place] = OWNER_SPREAD * rng.standard_normal(documents.n_runs)
        distance = log_distance(documents.reach[rows], depth)
        return Shifts(slopes, owners, documents.topic[rows], distance, documents.owner[rows])

    def slopes(self, n_topics: int, rng: np.random.Generator) -> Floats:
        """The drift of each topic, drawn."""
        shared = self.mean + self.spread * rng.standard_normal()
        return shared + self.of_topics * rng.standard_t(HEAVY, n_topics) * np.sqrt((HEAVY - 2) / HEAVY)


@dataclass(frozen=True, eq=False)
class Shifts:
    """What some draws add to the logits of some documents."""

    slopes: Floats  # [draw, topic]
    owners: Floats  # [draw, run]
    topic: Ints  # one a document
    distance: Floats
    owner: Ints

    @classmethod
    def none(cls, n_draws: int, n_topics: int, n_documents: int) -> Shifts:
        """Nothing is added."""
        owner = np.zeros(n_documents, dtype=np.int64)
        return cls(np.zeros((n_draws, n_topics)), np.zeros((n_draws, 1)), owner, np.zeros(n_documents), owner)

    def of(self, part: slice) -> Shifts:
        """Those of some of the documents."""
        return Shifts(self.slopes, self.owners, self.topic[part], self.distance[part], self.owner[part])

    def added(self) -> Floats:
        """[draw, document]"""
        moved = np.take(self.slopes, self.topic, axis=1) * self.distance
        return np.asarray(moved + np.take(self.owners, self.owner, axis=1))


def fit_drift(documents: Documents, cases: Sequence[tuple[Hiding, Floats]]) -> Drift:
    """From backtests that hid deeper levels, and the logits that they gave to the hidden documents."""
    deep = [(hiding, logits) for hiding, logits in cases if hiding.distance(documents).max(initial=0.0) > 0]
    if not deep:
        return Drift(DRIFT_MEAN, DRIFT_SPREAD, float(np.sqrt(TOPIC_DRIFT)))
    n_topics = documents.n_topics
    distance = np.concatenate([hiding.distance(documents) for hiding, _ in deep])
    # A topic may drift otherwise from another level, so each has its own.
    group = np.concatenate([documents.topic[hiding.hidden] + i * n_topics for i, (hiding, _) in enumerate(deep)])
    prior = MixedPrior(
        np.array([DRIFT_MEAN]), np.array([DRIFT_SPREAD**-2]), np.eye(1) * TOPIC_DRIFT, TOPIC_DRIFT_TOPICS
    )
    fit = fit_mixed(
        distance[:, None],
        distance[:, None],
        np.concatenate([(documents.level[hiding.hidden] > 0).astype(np.float64) for hiding, _ in deep]),
        group,
        len(deep) * n_topics,
        prior,
        offset=np.concatenate([logits for _, logits in deep]),
        rounds=20,
    )
    spread = max(float(np.sqrt(fit.shared[0, 0])), LEAST_DRIFT_SPREAD)
    return Drift(float(fit.coefficients[0]), spread, float(np.sqrt(fit.spread[0, 0])))
