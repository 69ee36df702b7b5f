"""What comparisons of runs start from: each run's scores by measure and topic, and its documents, looked at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.data.keys import Keys
from fathoms.estimate.estimates import Estimates, run_estimates
from fathoms.estimate.names import DRAWS
from fathoms.estimate.score_draws import drawable
from fathoms.evidence.candidates import DocumentTable
from fathoms.evidence.evidence import Evidence, Floats, Ints
from fathoms.experiment.base import BaseExperiment
from fathoms.measures.base import Measure, Scores
from fathoms.pairs.difference_ranges import PairRanges, Ranges, Universe
from fathoms.pairs.differences import comparable

DRAWN = 10_000_000  # documents in all runs up to which estimates are drawn unless told otherwise,
DRAWN_RUNS = 500  # and so many runs, for the model learns what each run's documents are worth


@dataclass(frozen=True, eq=False)
class Observed:
    """The runs of an experiment as they are judged."""

    experiment: BaseExperiment
    measures: list[Measure]
    names: list[str]
    documents: DocumentTable
    scores: dict[Measure, list[Scores]]  # of each run
    values: dict[Measure, Floats]  # [run, topic], on the scale on which means are compared
    at_depths: dict[Measure, Floats]  # [run, depth]: means at other_depths(measure), where it has any
    universe: Universe
    notes: list[str]

    def ranges(
        self, a: Ints, b: Ints, every: bool = False, progress: Callable[[str], None] = lambda topic: None
    ) -> Ranges:
        """What ranges of the differences between these runs are made from; `every` one is made if asked, however long
        that takes, and `progress` hears of the topics."""
        options = self.experiment.options
        return Ranges(self.documents, self.experiment.qrels, a, b, self.universe, options.where, every, progress)


def observe(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    universe: Universe,
    progress: Callable[[str], None] = lambda run: None,
    *,
    depths: bool = False,
    ranges: bool = True,
) -> Observed:
    """Look at each run on its own, a few at a time; at other depths too if asked, and without the ranges of its own
    scores where these are not needed."""
    experiment.lay_out()
    experiment.release()
    qrels, options = experiment.qrels, experiment.options
    notes = list(qrels.notes)
    deeper = [m for m in measures if depths and other_depths(m)]

    def means(evidence: Evidence) -> list[Floats]:
        return [m.at_depths(evidence, other_depths(m)).mean(axis=0) for m in deeper]

    documents = experiment.documents()
    ranges = ranges or options.ties == "expected" or any(m.needs_pool for m in measures)
    scores, by_run = experiment.scored(measures, notes, means, progress, ranges=ranges)
    notes += experiment.topic_notes()
    values = {m: np.stack([_values(m, of_run, options.ties) for of_run in of]) for m, of in scores.items()}
    at_depths = {m: np.stack([of_run[i] for of_run in by_run]) for i, m in enumerate(deeper)}
    names = list(experiment.runs)
    return Observed(experiment, list(measures), names, documents, scores, values, at_depths, universe, notes)


def estimates_if_quick(
    seen: Observed, draws: int | None, labels: Sequence[Any], to_depth: int | None, most: int = DRAWN
) -> Estimates | None:
    """What `predict` estimates of the measures that can be drawn; None where nothing is to be estimated, or where it
    would take long (with more than `most` documents, or very many runs) and nobody asked for it."""
    experiment, notes = seen.experiment, seen.notes
    wanted, draws_given = [m for m in seen.measures if drawable(m)], draws is not None
    if draws == 0 or not wanted or experiment.options.ties == "expected":
        if len(labels) or to_depth is not None:
            raise FathomsError("labels and to_depth are for the estimates, of which there are none here")
        return None
    if draws is None and (seen.documents.lengths.sum() > most or len(experiment.runs) > DRAWN_RUNS):
        notes.append(
            f"estimates are left out, since they take long for {len(experiment.runs)} runs; --draws {DRAWS} adds them"
        )
        return None
    try:
        estimates = run_estimates(experiment, wanted, labels=labels, to_depth=to_depth, draws=draws or DRAWS)
    except FathomsError as error:
        if draws_given or len(labels) or to_depth is not None:
            raise
        notes.append(f"there are no estimates: {error}")
        return None
    notes += [note for note in estimates.notes if note not in notes]
    return estimates


def range_pairs(
    seen: Observed, a: Ints, b: Ints, every: bool, progress: Callable[[str], None], *, proofs_alone: bool = False
) -> PairRanges:
    """The ranges of the differences between these runs by all measures, and what they are made from; if `every` one is
    to be made, `progress` hears of the topics. With `proofs_alone` nothing is found out but what is proved."""
    ranges = seen.ranges(a, b, every=every, progress=progress if every else lambda topic: None)
    ranges = replace(ranges, proofs_alone=proofs_alone)
    means = {m: values.mean(axis=1) for m, values in seen.values.items()}
    return ranges, ranges.of(seen.measures, {m: of[a] - of[b] for m, of in means.items()}, seen.scores)


def covers(measure: Measure, universe: Universe, n_runs: int, to_depth: int | None) -> bool:
    """Whether ranges of differences are over all judgments that estimates are about: those of other runs' documents
    too, where the measure depends on them. Without estimates there is nothing but the ranges."""
    if to_depth is None:
        return True
    if universe.depth is not None and universe.depth < to_depth:
        return False
    return universe.kind != "pair" or n_runs == 2 or measure.based_on == "utility"


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
    universes = {getattr(measure, "universe", "auto") for measure in measures if "universe" in measure.params}
    wider = [universe for universe in universes if universe not in ("auto", "pair")]
    if len(wider) > 1:
        raise FathomsError("universe: measures of one comparison range over the same documents; give one of them")
    return wider[0] if wider else "pair"


def documents_by_key(
    table: DocumentTable, runs: Sequence[str], wanted: Keys
) -> tuple[dict[int, str], dict[str, dict[int, int]]]:
    """Ids of documents by their keys, as far as these runs have them, and their ranks in each run."""
    ids: dict[int, str] = {}
    ranks: dict[str, dict[int, int]] = {}
    is_wanted = np.append(np.isin(table.pair_keys, wanted), False)
    for name in runs:
        place = table.place[table.names.index(name)]
        topic, column = np.nonzero(is_wanted[place])
        number = place[topic, column]
        keys = table.pair_keys[number].tolist()
        documents = (document.decode(errors="surrogateescape") for document in table.documents[number])
        ids |= dict(zip(keys, documents, strict=True))
        ranks[name] = dict(zip(keys, (column + 1).tolist(), strict=True))
    return ids, ranks
