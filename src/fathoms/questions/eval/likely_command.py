"""`fathoms eval --likely`: scores, and beside them what `fathoms predict` estimates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from fathoms.base.result import Result
from fathoms.cli.output import LIKELY
from fathoms.estimate.score_draws import drawable
from fathoms.questions.eval.analysis import COLUMNS, Evaluation
from fathoms.questions.predict.result import Prediction

if TYPE_CHECKING:
    from fathoms.api import Experiment


@dataclass(frozen=True, eq=False)
class WithEstimates(Result):
    """Scores and what `fathoms predict` estimates, where the measure can be estimated."""

    columns: ClassVar = (*COLUMNS, *LIKELY)
    words: ClassVar = COLUMNS[:3]

    evaluation: Evaluation
    prediction: Prediction | None
    estimates: dict[tuple[str, str, str], tuple[float | None, ...]]  # by run, topic or group, and measure
    notes: list[str]

    def rows(self) -> list[tuple[Any, ...]]:
        none = (None,) * len(LIKELY)
        return [(*row, *self.estimates.get(tuple(row[:3]), none)) for row in self.evaluation.rows()]

    @property
    def answer(self) -> list[str]:
        return [*self.evaluation.answer, *([] if self.prediction is None else self.prediction.answer)]

    @property
    def remarks(self) -> list[str]:
        return [*self.evaluation.remarks, *([] if self.prediction is None else self.prediction.remarks)]


def with_estimates(exp: Experiment, result: Evaluation) -> WithEstimates:
    measures = [measure for measure in result.measures if measure.range_is != "none" and drawable(measure)]
    if not measures:
        return WithEstimates(result, None, {}, result.notes)
    prediction = exp.predict(measures, by_topic=result.by_topic)
    estimates: dict[tuple[str, str, str], tuple[float | None, ...]] = {
        (row.run, row.topic, row.measure): (row.estimate, row.likely_low, row.likely_high)
        for row in prediction.estimated
    }
    if prediction.calibrated is not None and result.groups is not None:
        estimates |= prediction.calibrated.by_group(result.groups, prediction.level)
    return WithEstimates(result, prediction, estimates, result.notes)
