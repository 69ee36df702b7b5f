"""What comparisons of runs start from: each run's scores by measure and topic, and its documents, looked at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fathoms.comparison.differences import comparable
from fathoms.comparison.ranges import Ranges, Universe
from fathoms.data.keys import Keys
from fathoms.errors import FathomsError
from fathoms.estimate.calibrated import Estimates, run_estimates
from fathoms.estimate.draws import drawable
from fathoms.estimate.names import DRAWS
from fathoms.evidence.evidence import Floats, Ints
from fathoms.evidence.pairs import RankedKeys, TopicRankings
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.survey import Survey, survey
from fathoms.experiment.topics import topic_notes
from fathoms.measures.base import Measure, Scores

DRAWN = 10_000_000  # documents in all runs up to which estimates are drawn unless told otherwise


@dataclass(frozen=True, eq=False)
class System:
    """What is kept of a run: its documents, its scores by measure, and its scores at other depths."""

    keys: RankedKeys
    scores: dict[Measure, Scores]
    depths: dict[Measure, Floats]  # means at other_depths(measure)
    survey: Survey


@dataclass(frozen=True, eq=False)
class Observed:
    """The runs of an experiment as they are judged."""

    experiment: BaseExperiment
    measures: list[Measure]
    names: list[str]
    systems: list[System]
    values: dict[Measure, Floats]  # [run, topic], on the scale on which means are compared
    universe: Universe
    notes: list[str]
    rankings: list[TopicRankings] = field(default_factory=list)  # of each topic, once somebody has needed them

    @property
    def scores(self) -> dict[Measure, list[Scores]]:
        return {m: [system.scores[m] for system in self.systems] for m in self.measures}

    @property
    def documents(self) -> int:
        """How many there are in all runs together."""
        return sum(len(system.keys.keys) for system in self.systems)

    def ranges(self, a: Ints, b: Ints) -> Ranges:
        """What ranges of the differences between these runs are made from."""
        keys = [system.keys for system in self.systems]
        found = Ranges(keys, self.experiment.qrels, a, b, self.universe, workers=self.experiment.options.workers)
        if not self.rankings:
            self.rankings.extend(found.topics)
        return found.with_topics(self.rankings)


def observe(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    universe: Universe,
    progress: Callable[[str], None] = lambda run: None,
    *,
    depths: bool = False,
) -> Observed:
    """Look at each run on its own, a few at a time; at other depths too if asked."""
    experiment.prepare()
    qrels, options = experiment.qrels, experiment.options
    notes = list(qrels.notes)
    align = experiment.alignment(measures, notes, ranges=False)

    def one(name: str) -> System:
        ranked = experiment.ranked(name)
        evidence = align.of(ranked).evidence
        scores = {m: m.scores(evidence) for m in measures}
        at_depths = {
            m: m.at_depths(evidence, other_depths(m)).mean(axis=0) for m in measures if depths and other_depths(m)
        }
        return System(RankedKeys.of(ranked, len(qrels.topics)), scores, at_depths, survey(ranked, qrels))

    systems = experiment.map(one, progress=progress)
    notes += topic_notes([system.survey for system in systems], qrels, "all", lenient=experiment.lenient)
    values = {m: np.stack([_values(m, system.scores[m], options.ties) for system in systems]) for m in measures}
    return Observed(experiment, list(measures), list(experiment.runs), systems, values, universe, notes)


def estimates_if_quick(
    seen: Observed, draws: int | None, labels: Sequence[Any], to_depth: int | None, most: int = DRAWN
) -> Estimates | None:
    """What `predict` estimates of the measures that can be drawn; None where nothing is to be estimated, or where it
    would take long (with more than `most` documents) and nobody asked for it."""
    experiment, notes = seen.experiment, seen.notes
    wanted, asked = [m for m in seen.measures if drawable(m)], draws is not None
    if draws == 0 or not wanted or experiment.options.ties == "expected":
        if len(labels) or to_depth is not None:
            raise FathomsError("labels and to_depth are for the estimates, of which there are none here")
        return None
    if draws is None and seen.documents > most:
        notes.append(
            f"estimates are left out, since they take long for {len(experiment.runs)} runs; --draws {DRAWS} adds them"
        )
        return None
    try:
        found = run_estimates(experiment, wanted, labels=labels, to_depth=to_depth, draws=draws or DRAWS)
    except FathomsError as error:
        if asked or len(labels) or to_depth is not None:
            raise
        notes.append(f"there are no estimates: {error}")
        return None
    notes += [note for note in found.notes if note not in notes]
    return found


def other_depths(measure: Measure) -> tuple[int, ...]:
    """Depths somebody else might have chosen: half and twice the cut-off, or 10 and 100 where there is none."""
    if measure.cutoff not in ("optional", "required"):
        return ()
    if measure.k is None:
        return (10, 100)
    return tuple(dict.fromkeys((max(1, int(measure.k) // 2), int(measure.k) * 2)))


def _values(measure: Measure, scores: Scores, ties: str) -> Floats:
    """The scores that are compared: means over the orders of ties where that is asked for."""
    used = scores.tie_expected if ties == "expected" and scores.tie_expected is not None else scores.score
    return comparable(measure, used)


def without_pair(measures: Sequence[Measure]) -> list[Measure]:
    """The pair is what `auto` means in a comparison, and defaults do not show in a name."""
    return [m.replace(universe="auto") if getattr(m, "universe", "") == "pair" else m for m in measures]


def asked_universe(measures: Sequence[Measure]) -> str | float:
    """The universe that was asked for; of the pair unless a measure says otherwise."""
    asked = {getattr(measure, "universe", "auto") for measure in measures if "universe" in measure.params}
    wider = [universe for universe in asked if universe not in ("auto", "pair")]
    if len(wider) > 1:
        raise FathomsError("universe: measures of one comparison range over the same documents; give one of them")
    return wider[0] if wider else "pair"


def documents_by_key(
    experiment: BaseExperiment, runs: Sequence[str], wanted: Keys
) -> tuple[dict[int, str], dict[str, dict[int, int]]]:
    """Ids of documents by their keys, as far as these runs have them, and their ranks in each run."""
    ids: dict[int, str] = {}
    ranks: dict[str, dict[int, int]] = {}
    for name in runs:
        ranked = experiment.ranked(name)
        at = np.flatnonzero(np.isin(ranked.keys, wanted))
        keys = ranked.keys[at].tolist()
        documents = (document.decode(errors="surrogateescape") for document in ranked.run.documents[ranked.rows[at]])
        ids |= dict(zip(keys, documents, strict=True))
        ranks[name] = dict(zip(keys, ranked.rank[at].tolist(), strict=True))
    return ids, ranks
