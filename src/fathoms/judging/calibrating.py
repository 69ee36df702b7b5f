"""How far off the model is, by backtests on the judgments made: part of them is hidden and predicted from the rest.

These are the backtests of the estimates (`estimate/backtest.py`). Below a pool, its deeper levels are hidden, and show
how predictions drift with depth; documents chosen one by one are hidden a third at a time. Covariances of the runs'
scores are then widened until they explain what was seen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fathoms.estimate.backtest import fit_drift, hidings
from fathoms.estimate.backtest_fit import MOST
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.judging.beliefs import Beliefs
from fathoms.judging.grade_chances import UNKNOWN_DRIFT, DocumentGrades, Grades, learnt_from

PRIOR_CASES = 10.0  # backtests of a run's mean that count as much as what other collections show, which is no widening


def calibrate(learner: Grades, judged: Bools, level: Ints, beliefs: Sequence[Beliefs], seed: int) -> list[float]:
    """Factors by which to widen standard deviations, one a measure; the learner learns its drift. The beliefs must be
    started anew afterwards."""
    documents = learner.documents_with(judged, level)
    tests = hidings(
        documents,
        learner.pool_depth,
        np.ones(documents.n_runs, dtype=bool),
        [str(run) for run in range(documents.n_runs)],
        deeper=True,
        outsiders=False,
        seed=seed,
    )
    models = [learnt_from(documents, hiding.known) for hiding in tests]
    learner.drift = UNKNOWN_DRIFT
    if learner.pool_depth:
        logits = [model.first_logits(hiding.hidden) for hiding, model in zip(tests, models, strict=True)]
        learner.drift = fit_drift(documents, list(zip(tests, logits, strict=True)))
    known = (np.arange(len(documents.levels))[:, None, None] == np.where(judged, level, 0)).astype(np.float64)
    squares: list[list[float]] = [[] for _ in beliefs]
    means_known: list[Floats] = []
    for hiding, model in zip(tests, models, strict=True):
        hidden = np.zeros(judged.shape, dtype=bool)
        hidden.flat[learner.cells[hiding.hidden]] = True
        fit = DocumentGrades(learner, model)
        for place, of_measure in enumerate(beliefs):
            if len(means_known) == place:  # whatever is hidden, in the end all is known
                of_measure.start(known, fit, seed)
                means_known.append(of_measure.means())
            of_measure.start(np.where(hidden, fit.chance, known), fit, seed)
            squares[place] += _squares(means_known[place] - of_measure.means(), of_measure.covariance())
    means = [(sum(of_one) + PRIOR_CASES) / (len(of_one) + PRIOR_CASES) for of_one in squares]
    return [float(np.sqrt(max(1.0, mean))) for mean in means]


def _squares(error: Floats, covariance: Floats) -> list[float]:
    """Squared errors of the runs' mean scores, less what they share, in standard deviations."""
    error = error - error.mean()
    center = np.eye(len(error)) - 1 / len(error)
    variance = np.maximum(np.diag(center @ covariance @ center), 0.0)
    some = variance > 1e-18
    squares = np.minimum(error[some] ** 2 / variance[some], MOST)
    # Deviations from a mean over runs: one of them follows from the others.
    return squares.tolist()[: max(len(error) - 1, 0)]
