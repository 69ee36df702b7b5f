"""The distribution of any measure, and of differences, when each unjudged document is relevant with a probability.

Beyond RTC, which has average precision only and divides by the expected number of relevant documents: here relevance
itself is drawn. In one draw a document is relevant or not for all systems, the number of relevant documents and ideal
rankings follow, and a relevant document gets a grade as often as judged relevant ones of the collection have it. Where
the model says how sure it is of itself, its coefficients are drawn too, a hundred times, and draws go through them in
turn. Draw i depends on the seed and on i alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base.errors import FathomsError
from fathoms.base.tolerances import ROUNDING
from fathoms.data.qrels import JUDGED, PADDING
from fathoms.estimate.probabilities import RelevanceProbabilities
from fathoms.evidence.evidence import CHUNK_CELLS, Evidence, Floats, Ints
from fathoms.measures.base import Measure
from fathoms.measures.counts import NumQ, NumRel, NumRet
from fathoms.measures.infap import infAP
from fathoms.measures.judged import Judged
from fathoms.measures.means import aggregate

SAMPLES = 100  # of the model's coefficients


class SampledJudgments:
    """Draws of what complete judgments may say: each gives all candidates a code, and topics their counts."""

    def __init__(self, probabilities: RelevanceProbabilities, seed: int) -> None:
        grades, shares = probabilities.grades
        self.seed = seed
        # The last code is where -1 points.
        self.codes = np.append(np.maximum(probabilities.codes, JUDGED), PADDING).astype(np.int16)
        self.open = np.flatnonzero(~probabilities.judged)
        believed = probabilities.samples if len(probabilities.samples) else probabilities.probability[None, :]
        self.chance = believed[:, self.open]
        self.topic = probabilities.candidates.topic[self.open].astype(np.int64)
        self.level = np.searchsorted(probabilities.levels, grades)
        self.up_to = np.cumsum(shares)[:-1]
        self.counts = probabilities.counts.copy()
        self.counts[:, 0] += np.bincount(self.topic, minlength=len(self.counts))  # not relevant until drawn

    def draw(self, first: int, last: int) -> tuple[NDArray[np.int16], Ints]:
        """Draws first..last - 1: codes [draw, candidate] and counts [draw, topic, level]."""
        codes = np.tile(self.codes, (last - first, 1))
        counts = np.tile(self.counts, (last - first, 1, 1))
        for i in range(first, last):
            lot = np.random.default_rng((self.seed, i)).random(len(self.open))
            chance = self.chance[i % len(self.chance)]
            hit = np.flatnonzero(lot < chance)
            # Below its chance the lot is uniform again, and says which grade.
            level = self.level[np.searchsorted(self.up_to, lot[hit] / chance[hit], side="right")]
            codes[i - first, self.open[hit]] = JUDGED + level
            drawn = np.zeros_like(self.counts)
            np.add.at(drawn, (self.topic[hit], level), 1)
            counts[i - first] += drawn
            counts[i - first, :, 0] -= drawn.sum(axis=1)
        return codes, counts


def check_drawable(measure: Measure) -> None:
    """Refuse what has no meaning of its own once everything is judged."""
    name, why = measure.name, ""
    if measure.needs_pool:
        why = f"{name} counts the relevant documents of a pool of depth k, which is not drawn; use another variant"
    elif isinstance(measure, Judged):
        why = f"{name} says how much is judged; once everything is judged it is 1 for every run"
    elif isinstance(measure, NumQ | NumRet | NumRel):
        why = f"{name} does not depend on how a run ranks relevant documents, so further judging tells no runs apart"
    elif isinstance(measure, infAP):
        why = f"{name} estimates AP from a sample of the judgments; once everything is judged it is AP, so use AP"
    elif measure.needs_subtopics:
        why = f"{name} has no estimate: it depends on which subtopics documents are relevant to, not on grades alone"
    elif getattr(measure, "judged_only", False):
        why = f"{name} leaves out unjudged documents; once everything is judged none is left, so drop judged_only"
    if why:
        raise FathomsError(why)


def drawable(measure: Measure) -> bool:
    try:
        check_drawable(measure)
    except FathomsError:
        return False
    return True


def drawn_scores(
    probabilities: RelevanceProbabilities,
    runs: Sequence[str],
    measures: Sequence[Measure],
    draws: int,
    seed: int = 0,
    *,
    cells: int = CHUNK_CELLS,
) -> dict[Measure, Floats]:
    """Scores [draw, run, topic] of each measure; about `cells` places are worked on at a time."""
    for measure in measures:
        check_drawable(measure)
    sampled = SampledJudgments(probabilities, seed)
    n_topics = len(probabilities.qrels.topics)
    scores = {measure: np.empty((draws, len(runs), n_topics)) for measure in measures}
    step = max(1, cells // max(1, n_topics * probabilities.candidates.depth))
    for first in range(0, draws, step):
        last = min(first + step, draws)
        codes, counts = sampled.draw(first, last)
        for number, run in enumerate(runs):
            place = probabilities.place[run]
            for measure in measures:
                width = place.shape[1]
                if measure.k is not None and measure.cutoff != "recall":
                    width = min(int(measure.k), width)
                evidence = _stacked(probabilities, place, codes[:, place[:, :width]], counts)
                scores[measure][first:last, number] = measure.value(evidence).reshape(-1, n_topics)
    return scores


def _stacked(
    probabilities: RelevanceProbabilities, place: NDArray[np.int32], codes: NDArray[np.int16], counts: Ints
) -> Evidence:
    """Several draws of a run's [draw, topic, rank] as one block, a row a draw and topic."""
    n, n_topics, width = codes.shape
    return Evidence(
        topics=probabilities.qrels.topics * n,
        codes=codes.reshape(n * n_topics, width),
        tied=np.zeros((n * n_topics, width), dtype=bool),
        lengths=np.tile((place >= 0).sum(axis=1), n),
        levels=probabilities.levels,
        max_grade=probabilities.qrels.max_grade,
        counts=counts.reshape(n * n_topics, -1),
        topic_numbers=np.tile(np.arange(n_topics), n),
    )


@dataclass(frozen=True, eq=False)
class Pairs:
    """One measure's differences between systems over the draws; arrays are [a, b]."""

    diff: Floats  # mean of a - b
    sd: Floats
    p_better: Floats  # share of draws in which a is better, ties counted half
    mc_error: Floats  # standard error of that share


def pairs(measure: Measure, scores: Floats, samples: int = 1) -> Pairs:
    """From scores [draw, run, topic]: how sure is it that one system's mean is above another's?

    The error is that of a share with one draw added to each side, so that a finite number of draws never looks certain.
    Where draws go in turn through `samples` of the model, it is at least what the means of the samples say.
    """
    means = np.apply_along_axis(partial(aggregate, measure), 2, scores)
    n, k = means.shape
    diff, sd, better, of_samples = (np.zeros((k, k)) for _ in range(4))
    for a in range(k):
        differences = means[:, a, None] - means
        diff[a], sd[a] = differences.mean(axis=0), differences.std(axis=0, ddof=1 if n > 1 else 0)
        wins = (differences > ROUNDING) + 0.5 * (np.abs(differences) <= ROUNDING)
        better[a] = wins.mean(axis=0)
        if 1 < samples <= n:
            by_sample = np.stack([wins[i::samples].mean(axis=0) for i in range(samples)])
            of_samples[a] = by_sample.var(axis=0, ddof=1) / samples
    share = (better * n + 1) / (n + 2)
    return Pairs(diff, sd, better, np.sqrt(np.maximum(share * (1 - share) / (n + 2), of_samples)))


def pair_rows(
    probabilities: RelevanceProbabilities, runs: Sequence[str], measures: Sequence[Measure], draws: int, seed: int
) -> list[tuple[Any, ...]]:
    """Rows of run_a, run_b, measure, diff, sd, p_better and mc_error: measure by measure, each pair of runs once."""
    rows: list[tuple[Any, ...]] = []
    for measure in measures:
        scores = drawn_scores(probabilities, runs, [measure], draws, seed)[measure]
        rows += rows_of(measure, pairs(measure, scores, len(probabilities.samples)), runs)
    return rows


def rows_of(measure: Measure, of_pairs: Pairs, runs: Sequence[str]) -> list[tuple[Any, ...]]:
    columns = [column.tolist() for column in (of_pairs.diff, of_pairs.sd, of_pairs.p_better, of_pairs.mc_error)]
    return [
        (runs[a], runs[b], measure.name, *(column[a][b] for column in columns))
        for a, b in combinations(range(len(runs)), 2)
    ]
