"""How likely a document has each grade, from how the runs rank it, its labels, its topic, and what is judged.

One regression for each step up: is it relevant at all, and if so, of the next grade or more? So the chance of a higher
grade is never above that of a lower one, and a topic with few top grades is expected to have few more of them. That is
the fit per grade; the mix of grades is not taken from the collection as a whole.

    P(grade >= g) = prod_{h <= g} expit(x'b_h + z't_h)

Runs are alike until judgments tell them apart; topics differ in how much is relevant and in how fast that falls off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from fathoms.base import kernel
from fathoms.estimate.backtest import Shifts
from fathoms.estimate.documents import Documents
from fathoms.estimate.mixed_logistic import MixedFit, Outcomes, fit_mixed
from fathoms.evidence.evidence import Floats, Ints

MOST_DOCUMENTS = 12_000  # that a regression learns from; of more, a part of the documents that are not relevant
MOST_STEPS = 8  # grades told apart; of more, neighbours share a step
BLOCK = 4_000_000  # features held in memory at a time
CELLS = 1 << 17  # documents times draws that a core's cache holds


@dataclass(frozen=True, eq=False)
class GradeModel:
    """What was learnt: a fit for each step up, and the level that a document at each step is given."""

    documents: Documents
    fits: list[MixedFit]
    levels: list[int]
    outcomes: list[Outcomes]

    def probabilities(self, rows: Ints) -> Floats:
        """[step, document]: the chance of being at each step or above."""
        features, topic = self.documents.features(rows), self.documents.topic[rows]
        logits = [_logits(features, topic, fit, self.documents.sloped) for fit in self.fits]
        return np.cumprod(expit(np.stack(logits)), axis=0)

    def first_logits(self, rows: Ints) -> Floats:
        """Logits of being relevant at all."""
        fit = self.fits[0]
        return _logits(self.documents.features(rows), self.documents.topic[rows], fit, self.documents.sloped)

    def sampler(self, rows: Ints, n: int, seed: int, draws: range | None = None) -> GradeSampler:
        """What draws the levels of some documents, n times, or some of these times."""
        rng = np.random.default_rng((seed, n))
        chosen = range(n) if draws is None else draws
        if self.documents.exact:
            samples = [
                fit.closer_samples(n, rng, outcomes, chosen, (seed, 5, step))
                for step, (fit, outcomes) in enumerate(zip(self.fits, self.outcomes, strict=True))
            ]
        else:
            samples = [fit.samples(n, rng, chosen) for fit in self.fits]
        return GradeSampler(self, rows, samples, seed, chosen)

    def sharpening(self, features: NDArray[np.float32], topic: Ints) -> Floats:
        """[step, document]: what is added to drawn logits so that chances are those of the fit on average over draws.

        The fit agrees with what was judged, by all features; the mean over uncertain logits is nearer to 1/2. With
        variance v it is nearly the chance of a logit sqrt(1 + pi v / 8) times smaller (MacKay 1992, eq. 10).
        """
        sloped, shifts = features[:, list(self.documents.sloped)], []
        for fit in self.fits:
            along = features - np.einsum("nj,njp->np", sloped, fit.coupling[topic])
            variance = ((along @ fit.shared) * along).sum(axis=1)
            variance += np.einsum("nj,njk,nk->n", sloped, fit.own[topic], sloped)
            wider = np.sqrt(1 + np.pi / 8 * variance)
            shifts.append((wider - 1) * _logits(features, topic, fit, self.documents.sloped))
        return np.stack(shifts)


@dataclass(frozen=True, eq=False)
class GradeSampler:
    """Draws of the levels of some documents; draw i depends on the seed and on i alone."""

    model: GradeModel
    rows: Ints
    samples: list[tuple[Floats, Floats]]  # of each step: coefficients and effects in each draw
    seed: int
    draws: range

    def chances(self, documents: tuple[NDArray[np.float32], Ints]) -> Floats:
        """[step, draw, document]: of being at each step or above, for a few documents with features and topics."""
        features, topic = documents
        slopes = list(self.model.documents.sloped)
        logits = [
            coefficients @ features.T + np.einsum("dnq,nq->dn", effects[:, topic], features[:, slopes]) + sharper
            for (coefficients, effects), sharper in zip(
                self.samples, self.model.sharpening(features, topic), strict=True
            )
        ]
        return np.cumprod(expit(np.stack(logits)), axis=0)

    def levels(self, shifts: Shifts | None = None) -> NDArray[np.int16]:
        """[draw, document]: levels, 0 for not relevant. `shifts` move the logits of being relevant."""
        documents = self.model.documents
        shifts = shifts or Shifts.none(len(self.draws), documents.n_topics, len(self.rows))
        levels = np.zeros((len(self.draws), len(self.rows)), dtype=np.int16)
        lots = [np.random.default_rng((self.seed, i)) for i in self.draws]
        effects = np.array([np.moveaxis(of_topics, 2, 0) for _, of_topics in self.samples], order="C")
        coefficients = np.array([of_step for of_step, _ in self.samples], dtype=np.float32)
        part = max(1, BLOCK // max(documents.n_features, len(self.draws)))
        step = max(1, CELLS // len(self.draws))
        for first in range(0, len(self.rows), part):
            rows = self.rows[first : first + part]
            features, topic = documents.features(rows), documents.topic[rows]
            sharper = np.zeros((len(coefficients), len(rows)))
            if documents.exact:
                sharper = self.model.sharpening(features, topic)
            for start in range(0, len(rows), step):
                here = slice(start, min(start + step, len(rows)))
                place = slice(first + here.start, first + here.stop)
                lot = np.empty((len(lots), here.stop - here.start))
                for of_draw, generator in zip(lot, lots, strict=True):
                    generator.random(out=of_draw)
                levels[:, place] = self._drawn(
                    lot,
                    coefficients @ features[here].T,
                    effects,
                    features[here][:, list(documents.sloped)].T,
                    sharper[:, here],
                    shifts.of(place),
                    documents.inside[rows[here]],
                    topic[here],
                )
        return levels

    def _drawn(
        self,
        lot: Floats,
        shared: NDArray[np.float32],
        effects: Floats,
        features: NDArray[np.float32],
        sharper: Floats,
        shifts: Shifts,
        inside: Floats,
        topic: Ints,
    ) -> NDArray[np.int16]:
        """[draw, document]; see `kernel.draw_levels`."""
        compiled = kernel.draw_levels(
            *(lot, shared, effects, features, sharper, shifts.slopes, shifts.distance, shifts.owners),
            *(inside, topic, shifts.owner, self.model.levels),
        )
        if compiled is not None:
            return compiled
        drawn, chance = np.zeros(lot.shape, dtype=np.int16), inside
        for step, level in enumerate(self.model.levels):
            logits = shared[step].astype(np.float64)
            for of_topics, feature in zip(effects[step], features, strict=True):
                logits += np.take(of_topics, topic, axis=1) * feature
            logits += sharper[step]
            if step == 0:
                logits += shifts.added()
            chance = chance * chances_in_place(logits)
            drawn[lot < chance] = level
        return drawn


def chances_in_place(logits: NDArray[Any]) -> NDArray[Any]:
    """As `expit`, which is slow."""
    with np.errstate(over="ignore"):
        np.exp(np.negative(logits, out=logits), out=logits)
    logits += 1.0
    return np.divide(1.0, logits, out=logits)


def fit_grades(
    documents: Documents, known: Ints, seed: int = 0, start: GradeModel | None = None, every_step: bool = False
) -> GradeModel:
    """Learn from the documents `known`, which are judged; `start` is a model of much the same documents. With
    `every_step` all grades are told apart from the start, as far as there is room, and not only those in use."""
    level, topic = documents.level[known], documents.topic[known]
    top = len(documents.levels) - 1
    steps = list(range(1, top + 1)) if every_step and top <= MOST_STEPS else _steps(level, top)
    bounds = [*steps, len(documents.levels)]
    fits: list[MixedFit] = []
    levels, outcomes = [], []
    for place, step in enumerate(steps):
        use = np.flatnonzero(level >= (steps[place - 1] if place else 0))
        y = (level[use] >= step).astype(np.float64)
        use, weight = _sampled(use, y, seed)
        y = (level[use] >= step).astype(np.float64)
        here = level[(level >= step) & (level < bounds[place + 1])]
        levels.append(int(np.rint(here.mean())) if len(here) else step)
        features = documents.features(known[use]).astype(np.float64)
        prior = documents.prior(fits[-1] if fits else None)
        near = start.fits[place] if start is not None and len(start.fits) == len(steps) else None
        order = np.argsort(topic[use], kind="stable")
        slopes = features[order][:, list(documents.sloped)]
        outcomes.append(Outcomes(features[order], slopes, y[order], topic[use][order], weight[order]))
        fits.append(
            fit_mixed(
                features,
                features[:, list(documents.sloped)],
                y,
                topic[use],
                documents.n_topics,
                prior,
                weight=weight,
                rounds=documents.again if near is not None else documents.rounds[min(place, 1)],
                start=near,
            )
        )
    return GradeModel(documents, fits, levels, outcomes)


def _steps(level: Ints, top: int) -> list[int]:
    """Levels from which on documents are told apart: those in use, or as many of them as have enough documents. Where
    nothing is relevant yet, the greatest."""
    used = np.unique(level[level > 0])
    if len(used) > MOST_STEPS:
        used = np.unique(np.quantile(level[level > 0], np.linspace(0, 1, MOST_STEPS, endpoint=False), method="higher"))
    return [int(level_used) for level_used in used] or [top]


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


def _logits(features: NDArray[np.float32], topic: Ints, fit: MixedFit, sloped: Sequence[int]) -> Floats:
    logits = features @ fit.coefficients.astype(np.float32)
    return logits + (features[:, list(sloped)] * fit.effects[topic]).sum(axis=1)
