"""Estimates from gains by rank (LMC-gain): curves fitted to the contributing runs, and the scores they predict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fathoms.base.arrays import ratio
from fathoms.base.errors import FathomsError
from fathoms.data.qrels import JUDGED, PADDING
from fathoms.estimate.gain_models import CurveFit, HybridFit, fit_model
from fathoms.evidence.align import Alignment
from fathoms.evidence.evidence import Evidence, Floats
from fathoms.experiment.base import BaseExperiment
from fathoms.measures.base import Measure
from fathoms.measures.gains import Binary, Graded


def gain_table(measure: Measure, evidence: Evidence) -> tuple[Floats, float]:
    """What each code is worth to the measure, and the most a document can be."""
    if isinstance(measure, Graded):
        return measure.table(evidence), measure.top_gain(evidence)
    if isinstance(measure, Binary):
        return measure.relevant(evidence), 1.0
    raise FathomsError(f"{measure.name} has no estimate from predicted gains")


def empirical_gains(evidences: Iterable[Evidence], measure: Measure, depth: int) -> tuple[Floats, Floats]:
    """g_i of each topic at ranks 1..depth: the mean gain there over the contributing runs (LMC-gain eq. 1).

    A run that ends above a rank has gain 0 there. Unjudged documents, which a true pool of that depth does not leave,
    are not counted; the second array is 0 where none was judged, else 1.
    """
    total = count = np.zeros((0, 0))
    for evidence in evidences:
        table, _ = gain_table(measure, evidence)
        codes = evidence.padded(depth).codes[:, :depth]
        known = (codes >= JUDGED) | (codes == PADDING)
        total = table[codes] * known + (total if total.size else 0.0)
        count = known + (count if count.size else 0.0)
    return ratio(total, count), (count > 0).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Curves:
    """The predicted gain by rank of each topic, for each model and way of valuing documents."""

    depth: int
    fits: dict[tuple[bytes, str], CurveFit | HybridFit]

    def of(self, measure: Measure, method: str, evidence: Evidence) -> Floats:
        table, _ = gain_table(measure, evidence)
        ranks = np.arange(1.0, evidence.width + 1)
        return self.fits[table.tobytes(), method].predict(ranks)


def fit_curves(
    evidences: Sequence[Evidence], measures: Sequence[Measure], methods: Sequence[str], depth: int
) -> tuple[Curves, list[str]]:
    """Fit each model to the empirical gains of the contributing runs, once for measures that value them alike."""
    fits: dict[tuple[bytes, str], CurveFit | HybridFit] = {}
    notes: list[str] = []
    topics = evidences[0].topics
    for measure in measures:
        table, top = gain_table(measure, evidences[0])
        if (table.tobytes(), methods[0]) in fits:
            continue
        gains, known = empirical_gains(evidences, measure, depth)
        without_gain = [topic for topic, row in zip(topics, gains, strict=True) if not row.any()]
        if without_gain:
            notes.append(
                f"No relevant document in the top {depth} of the contributing runs for topics "
                f"{', '.join(without_gain[:5])}{' and more' if len(without_gain) > 5 else ''}: models predict 0 there"
            )
        for method in methods:
            fit = fit_model(method, gains, top, known)
            fits[table.tobytes(), method] = fit
            if fit.at_limit.any():
                notes.append(
                    f"{method}: {int(fit.at_limit.sum())} of {len(gains)} topics fit best at the limit of the "
                    "parameters searched"
                )
    return Curves(depth, fits), notes


def fitted_curves(
    experiment: BaseExperiment,
    align: Alignment,
    measures: Sequence[Measure],
    models: Sequence[str],
    depth: int | None,
    notes: list[str],
) -> Curves | None:
    """The curves of the gain models, fitted to the contributing runs; None where no such model is asked for."""
    if not models:
        return None
    pool = experiment.pool_assumed()
    if experiment.options.pooled is None:
        notes.append(pool.sentence)
    contributing = [experiment.align(name, align).evidence for name in pool.names]
    depth = depth or max(pool.depth, 2)
    curves, fit_notes = fit_curves(contributing, measures, models, depth)
    notes += [f"Fitted at depth {depth}: {note[0].lower()}{note[1:]}" for note in fit_notes]
    return curves
