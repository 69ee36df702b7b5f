"""`fathoms eval --likely`: scores, and beside them what `fathoms predict` estimates."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fathoms.base.provenance import Provenance
from fathoms.base.result import Result
from fathoms.cli.output import LIKELY
from fathoms.estimate.score_draws import drawable
from fathoms.questions.eval.analysis import COLUMNS, Evaluation
from fathoms.questions.eval.intervals import Ends
from fathoms.questions.eval.words import combined_sentences
from fathoms.questions.predict.result import Prediction

if TYPE_CHECKING:
    from fathoms.api import Experiment
    from fathoms.estimate.estimates import Estimates


@dataclass(frozen=True, eq=False)
class WithEstimates(Result):
    """Scores, and what `fathoms predict` estimates for the measures that can be estimated."""

    columns: ClassVar = (*COLUMNS, *LIKELY)
    words: ClassVar = COLUMNS[:3]

    evaluation: Evaluation
    prediction: Prediction | None
    estimates: dict[tuple[str, str, str], tuple[float | None, ...]]  # by run, topic or group, and measure
    notes: list[str]

    @property
    def provenance(self) -> Provenance | None:
        return self.evaluation.provenance

    def rows(self) -> list[tuple[Any, ...]]:
        none = (None,) * len(LIKELY)
        return [(*row, *self.estimates.get(tuple(row[:3]), none)) for row in self.evaluation.rows()]

    @property
    def answer(self) -> list[str]:
        return [*self.evaluation.answer, *([] if self.prediction is None else self.prediction.answer)]

    @property
    def remarks(self) -> list[str]:
        remarks = [*self.evaluation.remarks, *([] if self.prediction is None else self.prediction.remarks)]
        return [*remarks, *combined_sentences(self.evaluation, self.estimates)]


def with_estimates(exp: Experiment, result: Evaluation) -> WithEstimates:
    measures = [measure for measure in result.measures if measure.range_is != "none" and drawable(measure)]
    if not measures:
        return WithEstimates(result, None, {}, result.notes)
    prediction = exp.predict(measures, by_topic=result.by_topic, level=result.over_topics.level)
    estimates: dict[tuple[str, str, str], tuple[float | None, ...]] = {
        (row.run, row.topic, row.measure): (row.estimate, row.likely_low, row.likely_high, None, None)
        for row in prediction.estimated
    }
    if prediction.calibrated is not None:
        if result.groups is not None:
            by_group = prediction.calibrated.by_group(result.groups, prediction.level)
            estimates |= {key: (*values, None, None) for key, values in by_group.items()}
        combined = combined_intervals(prediction.calibrated, result)
        estimates |= {key: (*estimates[key][:3], *ends) for key, ends in combined.items()}
    return WithEstimates(result, prediction, estimates, result.notes)


def combined_intervals(estimates: Estimates, result: Evaluation) -> dict[tuple[str, str, str], Ends]:
    """By run, `all` or group, and measure: where the mean over topics like these will be once they are judged."""
    combined: dict[tuple[str, str, str], Ends] = {}
    if result.over_topics.method == "none":
        return combined
    parts = {"all": np.ones(len(estimates.topics), dtype=bool)}
    parts |= {} if result.groups is None else result.groups.masks(estimates.topics)
    for measure, estimate in estimates.by_measure.items():
        for name, places in parts.items():
            topics = list(compress(estimates.topics, places.tolist()))
            ends = result.over_topics.of_draws(estimate.draws[:, :, places], measure, topics)
            combined |= {(run, name, measure.name): pair for run, pair in zip(estimates.runs, ends, strict=True)}
    return combined
