"""Systems with several runs each: what their ranks over topics and repetitions are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.experiment.base import BaseExperiment
from fathoms.inference.replicates import Repeated, Systems, own_ranks_over_both
from fathoms.inference.significance import corrected
from fathoms.measures.base import Measure
from fathoms.pairs.repetitions import repeated_scores
from fathoms.pairs.scored_runs import without_pair


class RankedSystems(NamedTuple):
    """By one measure: the systems' means [system, topic], which is better than which, and the ranks each could have."""

    measure: Measure
    means: Floats
    better: Bools
    own: tuple[Ints, Ints]


def ranked_systems(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    systems: Systems,
    alpha: float,
    notes: list[str],
    progress: Callable[[str], None],
) -> Iterator[RankedSystems]:
    """Confidence sets of all systems at once come from the pairs that are told apart (Holm); those of each system alone
    come from resamples of topics and runs."""
    if len(systems.names) < 2:
        raise FathomsError(f"replicates: all runs are of one system, {systems.names[0]}; a ranking needs at least two")
    values, _, of_runs = repeated_scores(experiment, without_pair(measures), progress)
    notes += of_runs
    for measure, scores in values.items():
        repeated = Repeated.of(scores, systems)
        own = own_ranks_over_both(scores, systems, alpha, experiment.options.seed)
        yield RankedSystems(measure, repeated.means, told_apart(repeated, alpha), own)


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
