"""Systems of which there are several runs: their scores, and how far the runs of one are apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.base.text import pluralise
from fathoms.evidence.evidence import Floats
from fathoms.experiment.base import BaseExperiment
from fathoms.inference.replicates import Repeated, Systems
from fathoms.inference.units import Units
from fathoms.measures.base import Measure
from fathoms.pairs.difference_ranges import Universe
from fathoms.pairs.scored_runs import observe

SHOWN = 3  # systems that sentences name


@dataclass(frozen=True)
class Spread:
    """How far the runs of a system are apart by a measure."""

    system: str
    measure: str
    runs: int
    mean: float
    from_run_to_run: float | None  # standard deviation of the runs' means; None for a single run
    logarithms: bool = False  # it is that of their logarithms


def repeated_scores(
    experiment: BaseExperiment, measures: Sequence[Measure], progress: Callable[[str], None]
) -> tuple[dict[Measure, Floats], Units | None, list[str]]:
    """Scores of all runs, [run, topic] or by cluster, for questions about systems of which there are several runs."""
    seen = observe(experiment, measures, Universe("pair", experiment.options.universe_depth), progress)
    units = experiment.units(experiment.qrels.topics)
    values = {m: of if units is None else units.totals(of) for m, of in seen.values.items()}
    if len(experiment.qrels.topics if units is None else units) < 2:
        raise FathomsError("replicates: one topic says nothing about how topics differ; give at least two")
    return values, units, seen.notes


def spread_sentences(spreads: Sequence[Spread]) -> list[str]:
    """Of each system and measure; of many, those that spread most."""
    several = sorted(
        (spread for spread in spreads if spread.from_run_to_run is not None),
        key=lambda spread: -(spread.from_run_to_run or 0.0),
    )
    alone = list(dict.fromkeys(spread.system for spread in spreads if spread.from_run_to_run is None))
    shown = [
        f"{spread.system} ({pluralise(spread.runs, 'run')}) {spread.measure} {spread.mean:.4f}, standard deviation "
        f"{'of logarithms ' if spread.logarithms else ''}{spread.from_run_to_run:.4f}"
        for spread in several[:SHOWN]
    ]
    more = f"; {len(several) - SHOWN:,} more spread less" if len(several) > SHOWN else ""
    sentences = [f"From run to run: {'; '.join(shown)}{more}."]
    if alone:
        names = ", ".join(alone[:SHOWN]) + (f" and {len(alone) - SHOWN} more" if len(alone) > SHOWN else "")
        sentences.append(f"There is one run of {names}: it is taken as a system that always gives the same.")
    return sentences


def spreads_of(measure: Measure, repeated: Repeated, systems: Systems) -> list[Spread]:
    columns = zip(
        systems.names, repeated.runs.tolist(), repeated.means.mean(axis=1), repeated.between_runs, strict=True
    )
    return [
        Spread(
            *(name, measure.name, runs, float(np.exp(mean) if measure.aggregate == "geometric" else mean)),
            float(np.sqrt(between)) if runs > 1 else None,
            measure.aggregate == "geometric",
        )
        for name, runs, mean, between in columns
    ]
