"""How far off the model is, by backtests on the judgments made: part of them is hidden and predicted from the rest.

The same backtests as those of the estimates (`estimate/backtest.py`). Below a pool, its deeper levels are hidden, and
say how predictions drift with depth; documents that were chosen one by one are hidden a third at a time. Covariances of
the systems' scores are then widened until they explain what was seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fathoms.data.qrels import JUDGED, UNJUDGED
from fathoms.estimate.backtest import Hiding, fit_drift, hidings
from fathoms.estimate.calibration import MOST
from fathoms.estimate.grades import fit_grades
from fathoms.evidence.evidence import Bools, Ints
from fathoms.judging.beliefs import Beliefs
from fathoms.judging.models import UNKNOWN_DRIFT, Grades

PRIOR_CASES = 10.0  # backtests of a run's mean that are as good as what other collections say: no widening


def calibrate(learner: Grades, judged: Bools, level: Ints, beliefs: Sequence[Beliefs], seed: int) -> list[float]:
    """Factors by which standard deviations are to be widened, one a measure; the learner learns its drift. The beliefs
    are to be started anew afterwards."""
    codes = np.where(judged.ravel()[learner.cells], JUDGED + level.ravel()[learner.cells], UNJUDGED).astype(np.int16)
    documents = replace(learner.documents, codes=codes)
    found = hidings(
        documents,
        learner.pool_depth,
        np.ones(documents.n_runs, dtype=bool),
        [str(run) for run in range(documents.n_runs)],
        deeper=True,
        outsiders=False,
        seed=seed,
    )
    learner.drift = UNKNOWN_DRIFT
    if learner.pool_depth:
        models = [fit_grades(documents, one.known, seed, every_step=True) for one in found]
        logits = [model.first_logits(one.hidden) for one, model in zip(found, models, strict=True)]
        learner.drift = fit_drift(documents, list(zip(found, logits, strict=True)))
    squares: list[list[float]] = [[] for _ in beliefs]
    for hiding in found:
        for place, one in enumerate(beliefs):
            squares[place] += _squares(learner, one, judged, level, hiding, seed)
    means = [(sum(of_one) + PRIOR_CASES) / (len(of_one) + PRIOR_CASES) for of_one in squares]
    return [float(np.sqrt(max(1.0, mean))) for mean in means]


def _squares(learner: Grades, beliefs: Beliefs, judged: Bools, level: Ints, hiding: Hiding, seed: int) -> list[float]:
    """Squared errors of the runs' mean scores, less what they share, in standard deviations."""
    hidden = np.zeros(judged.shape, dtype=bool)
    hidden.flat[learner.cells[hiding.hidden]] = True
    fit = learner.fit(judged & ~hidden, level)
    known = (np.arange(len(fit.chance))[:, None, None] == np.where(judged, level, 0)).astype(np.float64)
    beliefs.start(np.where(hidden, fit.chance, known), fit, seed)
    expected, covariance = beliefs.means(), beliefs.covariance()
    beliefs.start(known, fit, seed)
    error = beliefs.means() - expected
    error = error - error.mean()
    center = np.eye(len(error)) - 1 / len(error)
    variance = np.maximum(np.diag(center @ covariance @ center), 0.0)
    some = variance > 1e-18
    squares = np.minimum(error[some] ** 2 / variance[some], MOST)
    # Deviations from a mean over runs: one of them follows from the others.
    return squares.tolist()[: max(len(error) - 1, 0)]
