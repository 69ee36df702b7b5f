"""What changed between two runs, with or without judgments: `fathoms diff` and `fm.diff`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.data.qrels import Qrels
from fathoms.data.topics import topic_order
from fathoms.evidence.align import Ranked, rank
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.survey import survey
from fathoms.experiment.topics import chosen_run, some, topic_notes
from fathoms.pairs.difference_ranges import Universe
from fathoms.pairs.scored_runs import asked_universe, without_pair
from fathoms.questions.diff.rankings import changes, side_by_side
from fathoms.questions.diff.result import Diff
from fathoms.questions.diff.score_changes import score_changes


def run_diff(
    experiment: BaseExperiment,
    a: str | None = None,
    b: str | None = None,
    measures: Sequence[Any] | Any = None,
    *,
    depth: int = 10,
    p: float = 0.9,
) -> Diff:
    """What changed from run `a` to run `b`, which may be left out where there are two runs. `depth` is that of the
    first places, `p` the persistence of RBO."""
    experiment.needs_an_order("diff")
    names = _two_runs(experiment, a, b)
    experiment.runs.read_streams()
    notes: list[str] = []
    if not experiment.has_qrels:
        if measures is not None:
            raise FathomsError(
                "measures need judgments, and there are none; without them only the rankings are compared"
            )
        ranked, topics = _ranked_on_all_topics(experiment, names, None)
        sides = side_by_side(ranked[0], ranked[1], len(topics))
        return Diff(*names, depth, p, topics, sides, changes(*sides, depth, p), None, [], Universe(), notes)
    qrels = experiment.qrels
    chosen = without_pair(experiment.measures(measures or (f"nDCG@{depth}", f"P@{depth}"), of_pairs=True))
    ranked, topics = _ranked_on_all_topics(experiment, names, qrels)
    sides = side_by_side(ranked[0], ranked[1], len(topics))
    notes += qrels.notes
    surveys = [survey(experiment.ranked(name), qrels) for name in names]
    notes += topic_notes(surveys, qrels, "all", lenient=experiment.lenient)
    universe = Universe(asked_universe(chosen), experiment.options.universe_depth)
    scored = score_changes(experiment, names, chosen, sides, depth, universe, notes)
    return Diff(*names, depth, p, topics, sides, changes(*sides, depth, p), qrels, scored, universe, notes)


def _two_runs(experiment: BaseExperiment, a: str | None, b: str | None) -> tuple[str, str]:
    names = list(experiment.runs)
    if a is None and b is None:
        if len(names) != 2:
            raise FathomsError(f"diff takes two runs, found {len(names)}: {', '.join(names[:5])}; name two of them")
        return names[0], names[1]
    if a is None or b is None:
        raise FathomsError("diff takes two runs; name both, or none where there are two")
    chosen = [chosen_run("the run", name, names) for name in (a, b)]
    if chosen[0] == chosen[1]:
        raise FathomsError(f"diff takes two runs, and both are {chosen[0]}")
    return chosen[0], chosen[1]


def _ranked_on_all_topics(
    experiment: BaseExperiment, names: Sequence[str], qrels: Qrels | None
) -> tuple[list[Ranked], list[str]]:
    """The runs on the judged topics and then on all others that they answer."""
    judged = [] if qrels is None else qrels.topics
    known = set(judged)
    runs = [experiment.run(name) for name in names]
    if set(runs[0].topics).isdisjoint(runs[1].topics):
        shown = "; ".join(f"{run.name} has {some(run.topics, 3)}" for run in runs)
        raise FathomsError(f"the two runs have no topic in common: {shown}; give runs on the same topics")
    more = [topic for topic in dict.fromkeys(topic for run in runs for topic in run.topics) if topic not in known]
    if qrels is not None and not more:
        return [experiment.ranked(name) for name in names], judged
    topics = [*judged, *(more[i] for i in topic_order(more))]
    empty = np.empty(0, dtype=np.int32), np.empty(0, dtype="S8"), np.empty(0)
    rows = empty if qrels is None else (qrels.topic, qrels.documents, qrels.grades)
    wider, options = Qrels(topics, *rows), experiment.options
    return [rank(run, wider, options.ties, options.used_precision) for run in runs], topics
