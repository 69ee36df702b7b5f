"""How sure is it, for each pair of runs, that one is better than the other once everything is judged?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from fathoms import choices
from fathoms.choices import checked
from fathoms.errors import FathomsError
from fathoms.estimate.calibrated import run_estimates
from fathoms.estimate.draws import SAMPLES, pair_rows, pairs, rows_of
from fathoms.estimate.names import DEFAULT
from fathoms.estimate.probabilities import relevance_probabilities
from fathoms.estimate.relevance import RELEVANCE_MODELS
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.result import Result
from fathoms.measures.base import Measure
from fathoms.text import pluralise

COLUMNS = ("run_a", "run_b", "measure", "diff", "sd", "p_better", "mc_error")
WORDS = COLUMNS[:3]
DRAWS = 1000
SURE = 0.95
TOO_SURE = "{} knows only its own uncertainty, so p_better is too near to 0 or 1; the method {} was checked and is not"


@dataclass(frozen=True, eq=False)
class Confidence(Result):
    """The difference to expect between each two runs, and how likely the first is better."""

    columns: ClassVar = COLUMNS
    words: ClassVar = WORDS

    pairs: list[tuple[Any, ...]]
    notes: list[str]

    def rows(self) -> list[tuple[Any, ...]]:
        return self.pairs

    @property
    def answer(self) -> list[str]:
        """For how many pairs it is nearly sure which run is ahead on these topics once everything is judged."""
        said = []
        for measure in dict.fromkeys(pair[2] for pair in self.pairs):
            chances = [pair[5] for pair in self.pairs if pair[2] == measure]
            sure = sum(max(p, 1 - p) >= SURE for p in chances)
            said.append(
                f"{measure}: for {sure:,} of {pluralise(len(chances), 'pair')} of runs it is at least {SURE:.0%} sure "
                "which is ahead on these topics once judged."
            )
        return said


def run_confidence(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    method: str = DEFAULT,
    *,
    draws: int = DRAWS,
    labels: Sequence[Any] = (),
    to_depth: int | None = None,
) -> Confidence:
    """The relevance of all unjudged documents drawn many times, and how often each run comes out ahead."""
    draws, seed = checked("draws", choices.whole_number, draws), experiment.options.seed
    if method not in (*RELEVANCE_MODELS, DEFAULT):
        raise FathomsError(f"{method} gives no probabilities; {DEFAULT}, {' and '.join(RELEVANCE_MODELS)} do")
    if method != DEFAULT:
        found = relevance_probabilities(experiment, method, labels, to_depth, samples=SAMPLES, seed=seed)
        rows = pair_rows(found, found.candidates.names, measures, draws, seed)
        return Confidence(rows, [*found.notes, TOO_SURE.format(method, DEFAULT)])
    estimates = run_estimates(experiment, measures, labels=labels, to_depth=to_depth, draws=draws)
    rows = [row for m in measures for row in rows_of(m, pairs(m, estimates[m].draws), estimates.runs)]
    return Confidence(rows, estimates.notes)
