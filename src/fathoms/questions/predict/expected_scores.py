"""Estimates from each document's probability of relevance: RTC, and ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fathoms.base.arrays import row_sums
from fathoms.data.qrels import JUDGED, UNJUDGED
from fathoms.estimate.distribution import Moments
from fathoms.estimate.probabilities import RelevanceProbabilities
from fathoms.evidence.evidence import Evidence, Floats
from fathoms.measures.base import Measure
from fathoms.questions.predict.gain_curves import gain_table


def has_closed_form(measure: Measure) -> bool:
    """Whether the expected score is known from expected gains."""
    return type(measure).predicted is not Measure.predicted and not measure.needs_whole_documents


def expected_score(
    measure: Measure,
    evidence: Evidence,
    probabilities: RelevanceProbabilities,
    run: str,
    contributing: Sequence[str] | None = None,
) -> Floats:
    """The score to expect when each unjudged document is relevant with its own probability.

    A relevant document has the mean gain of the judged relevant documents of the collection. R and ideal rankings count
    what is expected of all given runs, not of this one alone. The mean is exact where documents add up or are read one
    after another (P, RBP, DCG, RR, ERR); AP is E[S] / E[R] (RTC section 2.1); nDCG, Q and INST are of the same kind.
    R_k counts what the runs `contributing` (all, if they are not named) have in their top k.
    """
    grades, shares = probabilities.grades
    at = np.searchsorted(probabilities.levels, grades)
    chance = probabilities.unjudged_chance[probabilities.place[run][:, : evidence.width]]
    others = np.maximum(probabilities.expected_more - chance.sum(axis=1), 0.0)
    if measure.needs_pool:
        evidence, in_pool = _with_pooled_others(measure, evidence, probabilities, run, contributing)
        chance = np.pad(chance, ((0, 0), (0, evidence.width - chance.shape[1])))
        chance[:, -1] = in_pool
        others = np.maximum(others - in_pool, 0.0)
    elsewhere = np.zeros(probabilities.counts.shape)
    elsewhere[:, at] = others[:, None] * shares
    # Counts of documents are whole elsewhere; here they are expectations.
    counts: Any = probabilities.counts + elsewhere
    completed = replace(evidence, levels=probabilities.levels, counts=counts, _cache={})
    table, _ = gain_table(measure, completed)
    return measure.predicted(completed, chance * float(table[JUDGED + at] @ shares))


def _with_pooled_others(
    measure: Measure,
    evidence: Evidence,
    probabilities: RelevanceProbabilities,
    run: str,
    contributing: Sequence[str] | None,
) -> tuple[Evidence, Floats]:
    """One place more, deeper than the measure reads, for all unjudged documents of the pool of depth k that the run
    does not have; and how many relevant ones to expect among them, by topic."""
    k = int(measure.k or 0)
    in_pool = np.zeros(len(probabilities.unjudged_chance), dtype=bool)
    for name in contributing or probabilities.candidates.names:
        in_pool[probabilities.place[name][:, :k]] = True
    in_pool[probabilities.place[run][:, : evidence.width]] = False
    expected = row_sums(probabilities.candidates.topic, (probabilities.unjudged_chance * in_pool)[:-1], len(evidence))
    wider = evidence.padded(max(k, evidence.width) + 1)
    codes = wider.codes.copy()
    codes[:, -1] = UNJUDGED
    pool = wider.pool
    if pool is not None:
        depth = pool.depth.copy()
        depth[:, -1] = 1
        pool = replace(pool, depth=depth)
    return replace(wider, codes=codes, pool=pool, _cache={}), expected


def average_precision_moments(probabilities: RelevanceProbabilities) -> tuple[Floats, Floats]:
    """Expectation and standard deviation of AP as RTC section 2.1 has them, [run, topic], the mean over topics last:
    what is random is the numerator, and the expected number of relevant documents divides it."""
    candidates = probabilities.candidates
    p = np.append(probabilities.probability, 0.0)
    found_anywhere = row_sums(candidates.topic, p[:-1], len(candidates.topics))
    elsewhere = candidates.relevant_elsewhere(probabilities.qrels) + found_anywhere
    expectations, variances = [], []
    for system in range(len(candidates.names)):
        block = candidates.block([system])
        chance = p[block.number]
        of_run = Moments(block, chance, elsewhere - chance.sum(axis=1))
        expectations.append(of_run.expectation[:, 0])
        variances.append(of_run.covariance[:, 0, 0])
    expectation, variance = np.stack(expectations), np.maximum(np.stack(variances), 0.0)
    mean, of_mean = expectation.mean(axis=1), variance.sum(axis=1) / variance.shape[1] ** 2
    return np.column_stack([expectation, mean]), np.sqrt(np.column_stack([variance, of_mean]))


def expectations_of(
    probabilities: RelevanceProbabilities,
    drawn: Mapping[Measure, Floats],
    notes: list[str],
    contributing: Sequence[str],
) -> Callable[[str, Evidence, Measure], Floats]:
    """What a model of relevance expects of a run, its evidence and a measure: in closed form, or by what was drawn."""
    notes += [note for note in probabilities.notes if note not in notes]
    names = probabilities.candidates.names

    def expected(run: str, known: Evidence, measure: Measure) -> Floats:
        if not has_closed_form(measure):
            return drawn[measure][:, names.index(run)].mean(axis=0)
        return expected_score(measure, known, probabilities, run, contributing)

    return expected
