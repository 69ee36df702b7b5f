"""The leaderboard of systems of which there are several runs: ranks over topics and repetitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.evidence.evidence import Bools
from fathoms.experiment.base import BaseExperiment
from fathoms.inference.rank_sets import letters, rank_sets, ranks
from fathoms.inference.replicates import Repeated, Systems, own_ranks_over_both
from fathoms.inference.significance import corrected
from fathoms.measures.base import Measure
from fathoms.pairs.repetitions import repeated_scores
from fathoms.pairs.scored_runs import without_pair
from fathoms.questions.rank.analysis import Ranking, Standing


def rank_repeated(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    systems: Systems,
    *,
    alpha: float,
    level: float,
    progress: Callable[[str], None],
) -> Ranking:
    """Confidence sets of all systems at once by the pairs that are told apart (Holm), and of each alone by resamples of
    topics and runs."""
    if len(systems.names) < 2:
        raise FathomsError(f"replicates: all runs are of one system, {systems.names[0]}; a ranking needs at least two")
    values, units, notes = repeated_scores(experiment, without_pair(measures), progress)
    standings: list[Standing] = []
    better: dict[str, Bools] = {}
    for measure, scores in values.items():
        repeated = Repeated.of(scores, systems)
        better[measure.name] = told_apart(repeated, alpha)
        own = own_ranks_over_both(scores, systems, alpha, experiment.options.seed)
        standings += _standings(measure, repeated, systems, better[measure.name], own)
    return Ranking(
        standings,
        list(values),
        alpha,
        level,
        len(experiment.qrels.topics),
        better,
        systems.names,
        notes,
        clusters=None if units is None else len(units),
        repeated=len(systems.number),
    )


def told_apart(repeated: Repeated, alpha: float) -> Bools:
    """[a, b]: whether system a is better than b, all such claims true at once with confidence 1 - alpha."""
    n = len(repeated.runs)
    a, b = np.triu_indices(n, 1)
    claimed = corrected(repeated.p_values(a, b), "holm") < alpha
    ahead = repeated.means.mean(axis=1)
    better = np.zeros((n, n), dtype=bool)
    better[a[claimed], b[claimed]] = ahead[a[claimed]] > ahead[b[claimed]]
    better[b[claimed], a[claimed]] = ahead[b[claimed]] > ahead[a[claimed]]
    return better


def _standings(
    measure: Measure, repeated: Repeated, systems: Systems, better: Bools, own: tuple[np.ndarray, np.ndarray]
) -> list[Standing]:
    from fathoms.estimate.self_check import aggregated

    means, names = repeated.means.mean(axis=1), systems.names
    values = np.exp(repeated.means) if measure.aggregate == "geometric" else repeated.means
    order = np.array(sorted(range(len(names)), key=lambda i: (-round(means[i], 9), names[i])))
    columns = (aggregated(measure, values), ranks(means), *rank_sets(better), *own)
    scores, places, lows, highs, own_lows, own_highs = (np.asarray(column).tolist() for column in columns)
    shared = letters(better, order)
    return [
        Standing(
            *(names[i], measure.name, scores[i], places[i], lows[i], highs[i], own_lows[i], own_highs[i]),
            group=shared[i],
        )
        for i in order.tolist()
    ]
