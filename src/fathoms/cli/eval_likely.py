"""`fathoms eval --likely`: scores, and beside them what `fathoms predict` estimates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from fathoms.cli.output import LIKELY
from fathoms.estimate.draws import drawable
from fathoms.estimate.predict import Prediction
from fathoms.experiment.evaluate import COLUMNS, Evaluation
from fathoms.experiment.result import Result

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
    found = exp.predict(measures, by_topic=result.by_topic) if measures else None
    estimates = {} if found is None else {row[:3]: row[7:] for row in found.rows()}
    if found is not None and found.calibrated is not None and result.groups is not None:
        estimates |= found.calibrated.by_group(result.groups, found.level)
    return WithEstimates(result, found, estimates, result.notes)
