"""How sure is it, for each pair of runs, that one is better than the other once everything is judged?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from fathoms.base.errors import FathomsError
from fathoms.base.result import Result
from fathoms.estimate.estimates import run_estimates
from fathoms.estimate.names import DEFAULT
from fathoms.estimate.probabilities import relevance_probabilities
from fathoms.estimate.relevance import RELEVANCE_MODELS
from fathoms.estimate.score_draws import SAMPLES, pair_rows, pairs, rows_of
from fathoms.experiment.base import BaseExperiment
from fathoms.measures.base import Measure

COLUMNS = ("run_a", "run_b", "measure", "diff", "sd", "p_better", "mc_error")
WORDS = COLUMNS[:3]
TOO_SURE = "{} knows only its own uncertainty, so p_better is too near to 0 or 1; the method {} was checked and is not"


@dataclass(frozen=True, eq=False)
class Confidence(Result):
    """The difference to expect between each two runs, and how likely the first is better."""

    columns: ClassVar = COLUMNS
    words: ClassVar = WORDS
    sure_from: ClassVar = 0.95  # probability from which on it is nearly sure which run is ahead

    pairs: list[tuple[Any, ...]]
    notes: list[str]

    def rows(self) -> list[tuple[Any, ...]]:
        return self.pairs

    @property
    def answer(self) -> list[str]:
        from fathoms.questions.predict.words import confidence_answers

        return confidence_answers(self)

    def sure(self, measure: str) -> list[bool]:
        """Of each pair, whether it is nearly sure which run is ahead."""
        chances = [row["p_better"] for row in self.records() if row["measure"] == measure]
        return [max(p, 1 - p) >= self.sure_from for p in chances]


def run_confidence(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    method: str,
    *,
    draws: int,
    labels: Sequence[Any],
    to_depth: int | None,
) -> Confidence:
    """The relevance of all unjudged documents drawn many times, and how often each run comes out ahead."""
    seed = experiment.options.seed
    if method not in (*RELEVANCE_MODELS, DEFAULT):
        raise FathomsError(f"{method} gives no probabilities; {DEFAULT}, {' and '.join(RELEVANCE_MODELS)} do")
    if method != DEFAULT:
        probabilities = relevance_probabilities(experiment, method, labels, to_depth, samples=SAMPLES, seed=seed)
        rows = pair_rows(probabilities, probabilities.candidates.names, measures, draws, seed)
        return Confidence(rows, [*probabilities.notes, TOO_SURE.format(method, DEFAULT)])
    estimates = run_estimates(experiment, measures, labels=labels, to_depth=to_depth, draws=draws)
    rows = [row for m in measures for row in rows_of(m, pairs(m, estimates[m].draws), estimates.runs)]
    return Confidence(rows, estimates.notes)
