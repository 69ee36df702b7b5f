"""How likely a document has each grade, from how the runs rank it, its labels, its topic, and what is judged.

One regression for each step up: is it relevant at all, and if so, of the next grade or more? So the chance of a higher
grade is never above that of a lower one, and a topic with few top grades is expected to have few more of them. That is
the fit per grade; the mix of grades is not taken from the collection as a whole.

    P(grade >= g) = prod_{h <= g} expit(x'b_h + z't_h)

Runs are alike until judgments tell them apart; topics differ in how much is relevant and in how fast that falls off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from fathoms.estimate.documents import OWN, SLOPED, Documents
from fathoms.estimate.mixed_logistic import MixedFit, MixedPrior, fit_mixed
from fathoms.evidence.evidence import Floats, Ints

# Rounded from fits to whole judgments: of the first step up, and of further ones, which say less.
PRIOR_MEAN = (2.0, 2.0, -5.0)
PRIOR_SPREAD = (3.0, 3.0, 3.0)
RUN_SPREAD, LABEL_SPREAD = 1.0, 2.0
FURTHER_MEAN = (0.5, 0.5, -1.0)
FURTHER_SPREAD = (1.0, 1.0, 2.0)
FURTHER_RUN_SPREAD = 1.0
TOPIC_SPREAD, FURTHER_TOPIC_SPREAD = 0.5, 0.3  # variances
MOST_DOCUMENTS = 12_000  # that a regression learns from; of more, a part of the documents that are not relevant
MOST_STEPS = 8  # grades told apart; of more, neighbours share a step
BLOCK = 20_000_000  # features held in memory at a time

Shift = Callable[[int], Floats]  # of the first step's logits in one draw


@dataclass(frozen=True, eq=False)
class GradeModel:
    """What was learnt: a fit for each step up, and the level that a document at each step is given."""

    documents: Documents
    fits: list[MixedFit]
    levels: list[int]

    def probabilities(self, rows: Ints) -> Floats:
        """[step, document]: the chance of being at each step or above."""
        features, topic = self.documents.features(rows), self.documents.topic[rows]
        logits = [_logits(features, topic, fit.coefficients, fit.effects) for fit in self.fits]
        return np.cumprod(expit(np.stack(logits)), axis=0)

    def first_logits(self, rows: Ints) -> Floats:
        """Logits of being relevant at all."""
        fit = self.fits[0]
        return _logits(self.documents.features(rows), self.documents.topic[rows], fit.coefficients, fit.effects)

    def sampler(self, rows: Ints, n: int, seed: int) -> GradeSampler:
        """What draws the levels of some documents, n times."""
        rng = np.random.default_rng((seed, n))
        return GradeSampler(self, rows, [fit.samples(n, rng) for fit in self.fits], seed)


@dataclass(frozen=True, eq=False)
class GradeSampler:
    """Draws of the levels of some documents; draw i depends on the seed and on i alone."""

    model: GradeModel
    rows: Ints
    samples: list[tuple[Floats, Floats]]
    seed: int

    def levels(self, draws: range, shift: Shift | None = None) -> NDArray[np.int16]:
        """[draw, document]: levels, 0 for not relevant. `shift` moves the logits of being relevant."""
        documents, rows = self.model.documents, self.rows
        found = np.zeros((len(draws), len(rows)), dtype=np.int16)
        moved = None if shift is None else [shift(i) for i in draws]
        lots = [np.random.default_rng((self.seed, i)).random(len(rows)) for i in draws]
        width = OWN + documents.n_runs + documents.labels.shape[1]
        part = max(1, BLOCK // max(width, len(draws)))
        for first in range(0, len(rows), part):
            here = slice(first, first + part)
            features, topic = documents.features(rows[here]), documents.topic[rows[here]]
            chance = np.ones((len(draws), len(topic)))
            for step, (coefficients, effects) in enumerate(self.samples):
                chosen = coefficients[draws.start : draws.stop].astype(np.float32)
                logits = (features @ chosen.T).T.astype(np.float64)
                of_topics = effects[draws.start : draws.stop]
                for column, feature in enumerate(SLOPED):
                    logits += of_topics[:, topic, column] * features[:, feature]
                if step == 0 and moved is not None:
                    logits += np.stack([one[here] for one in moved])
                chance *= expit(logits)
                for i, lot in enumerate(lots):
                    found[i, here][lot[here] < chance[i]] = self.model.levels[step]
        return found


def fit_grades(
    documents: Documents, known: Ints, seed: int = 0, start: GradeModel | None = None, every_step: bool = False
) -> GradeModel:
    """Learn from the documents `known`, which are judged; `start` is a model of much the same documents. With
    `every_step` all grades are told apart from the start, as far as there is room, and not only those in use."""
    level, topic = documents.level[known], documents.topic[known]
    top = len(documents.levels) - 1
    steps = list(range(1, top + 1)) if every_step and top <= MOST_STEPS else _steps(level, top)
    bounds = [*steps, len(documents.levels)]
    fits, levels = [], []
    for place, step in enumerate(steps):
        use = np.flatnonzero(level >= (steps[place - 1] if place else 0))
        y = (level[use] >= step).astype(np.float64)
        use, weight = _sampled(use, y, seed)
        y = (level[use] >= step).astype(np.float64)
        here = level[(level >= step) & (level < bounds[place + 1])]
        levels.append(int(np.rint(here.mean())) if len(here) else step)
        features = documents.features(known[use]).astype(np.float64)
        prior = _prior(documents, first=place == 0)
        near = start.fits[place] if start is not None and len(start.fits) == len(steps) else None
        fits.append(
            fit_mixed(
                features,
                features[:, SLOPED],
                y,
                topic[use],
                documents.n_topics,
                prior,
                weight=weight,
                rounds=2 if near is not None else 10 if place == 0 else 4,
                start=near,
            )
        )
    return GradeModel(documents, fits, levels)


def _steps(level: Ints, top: int) -> list[int]:
    """Levels from which on documents are told apart: those in use, or as many of them as have enough documents. Where
    nothing is relevant yet, the greatest."""
    used = np.unique(level[level > 0])
    if len(used) > MOST_STEPS:
        used = np.unique(np.quantile(level[level > 0], np.linspace(0, 1, MOST_STEPS, endpoint=False), method="higher"))
    return [int(one) for one in used] or [top]


def _sampled(use: Ints, y: Floats, seed: int) -> tuple[Ints, Floats]:
    """All documents where they are not too many; else the relevant ones and a part of the others, which weigh more."""
    weight = np.ones(len(use))
    relevant, others = use[y > 0], use[y == 0]
    most = max(MOST_DOCUMENTS - len(relevant), MOST_DOCUMENTS // 2)
    if len(others) <= most:
        return use, weight
    chosen = np.random.default_rng((seed, len(use))).choice(others, most, replace=False)
    kept = np.sort(np.concatenate([relevant, chosen]))
    return kept, np.where(np.isin(kept, relevant), 1.0, len(others) / most)


def _prior(documents: Documents, first: bool) -> MixedPrior:
    n_runs, n_labels = documents.n_runs, documents.labels.shape[1]
    mean = (*(PRIOR_MEAN if first else FURTHER_MEAN), *([0.0] * (n_runs + n_labels)))
    run = RUN_SPREAD if first else FURTHER_RUN_SPREAD
    spread = (*(PRIOR_SPREAD if first else FURTHER_SPREAD), *([run] * n_runs), *([LABEL_SPREAD] * n_labels))
    of_topics = np.eye(len(SLOPED)) * (TOPIC_SPREAD if first else FURTHER_TOPIC_SPREAD)
    return MixedPrior(np.array(mean), 1 / np.square(spread), of_topics)


def _logits(features: NDArray[np.float32], topic: Ints, coefficients: Floats, effects: Floats) -> Floats:
    logits = features @ coefficients.astype(np.float32)
    return logits + (features[:, SLOPED] * effects[topic]).sum(axis=1)
