"""A run's scores from a sample of judgments, and what each sampled document had to do with them.

`sampled` estimates use the judgments alone: Horvitz and Thompson's for weighted sums and counts, which under stratified
sampling is the stratified one; the ratio of two of them for recall; and for AP and nDCG what NIST's sample_eval
computes, xinfAP and infNDCG (Yilmaz, Kanoulas and Aslam 2008). `assisted` estimates use predictions as well: a document
counts as its predicted gain, plus, if it was sampled, what that was wrong by over its chance of being sampled. On
average over samples that is the document's own gain, whatever was predicted.

Every estimate comes linearised, theta = constant + sum over sampled documents of influence / probability, which is what
variances are made of; and with the effect that one relevant document more would have, at any place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import ratio, row_sums
from fathoms.base.errors import FathomsError
from fathoms.estimate.control_variates import Helper
from fathoms.estimate.sample import Sample, share_relevant
from fathoms.estimate.sampling_error import Errors
from fathoms.evidence.evidence import Evidence, Floats, Ints
from fathoms.measures.ap import AP
from fathoms.measures.base import Measure
from fathoms.measures.counts import NumRel, NumRelRet
from fathoms.measures.gains import code_table
from fathoms.measures.infap import infAP
from fathoms.measures.ndcg import nDCG
from fathoms.measures.normalised import NormalisedSum
from fathoms.measures.recall import R
from fathoms.measures.weighted import Weighted

EPSILON = 0.00001  # sample_eval's: added to sampled relevant documents, and three times to sampled ones
# Numbers of unknown relevant documents are thought to be off by these shares at least, and by such a part of the
# coefficient of variation of the known ones between topics: where a model predicts them for the topic, and where the
# other topics are all that is known.
LEAST_ERROR = {True: (0.5, 0.8), False: (0.8, 1.0)}
MOST_ERROR = 1.5
HALF = 0.5 + 1e-9  # so that what is a half but for its last digit is rounded up too
STEP = 0.01  # documents, for slopes
FEW = -3.0  # standard errors
# Five places and weights stand for a normal distribution (Gauss and Hermite).
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(5)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
Places = NDArray[np.int32]


class Estimate(NamedTuple):
    """One run and measure."""

    value: Floats  # one a topic; not kept inside any range
    influence: Floats  # one a document of `Sample.chosen`: on the value of its topic
    on_all: Floats  # the same, on the sum over topics
    effect: Floats  # one a document: what its relevance would add to the value of its topic
    below: Floats  # one a topic: how much too high the value may be for want of sampled documents, on average
    above: Floats  # and how much too low
    more: Floats  # one a topic: variance that the linear form leaves out
    own: Floats  # one a topic: error of what is predicted of R, which all runs have together
    bounded: bool = False  # a ratio near what it estimates, better kept inside what is possible topic by topic


def check_sampled(measure: Measure) -> None:
    """Refuse measures that have no estimate from a sample."""
    able = isinstance(measure, Weighted | AP | infAP | nDCG | R | NumRel | NumRelRet)
    if not able or measure.aggregate == "geometric":
        raise FathomsError(
            f"{measure.name} has no estimate from a sample; weighted sums (P, RBP, DCG, SDCG, ...), R@k, AP, nDCG, "
            "NumRel and NumRelRet have"
        )
    if measure.needs_pool:
        raise FathomsError(
            f"{measure.name} needs the pool of depth k, about which a sample says nothing; use another variant"
        )
    if getattr(measure, "judged_only", False):
        raise FathomsError(
            f"{measure.name} leaves out unjudged documents, and a sample stands for them: drop judged_only"
        )


def estimate_run(sample: Sample, run: str, evidence: Evidence, measure: Measure, errors: Errors) -> Estimate:
    """The estimate of a run by a measure, assisted where there is a helper."""
    helper = errors.helper
    work = _Work(sample, sample.place[run], evidence, helper, errors)
    if isinstance(measure, Weighted):
        return _weighted(work, measure)
    if isinstance(measure, R | NumRel | NumRelRet):
        return _counted(work, measure)
    if isinstance(measure, AP | infAP):
        as_defined = helper is None and sample.equal_chances
        return _xinfap(work, measure) if as_defined else _ap(work, measure)
    if isinstance(measure, NormalisedSum):
        as_defined = helper is None and measure.k is None and sample.equal_chances
        return _infndcg(work, measure) if as_defined else _ndcg(work, measure)
    raise FathomsError(f"{measure.name} has no estimate from a sample")


@dataclass(frozen=True, eq=False)
class _Work:
    """What all estimates of a run look at."""

    sample: Sample
    place: Places
    evidence: Evidence
    helper: Helper | None
    errors: Errors

    @property
    def topic(self) -> Ints:
        return self.sample.topic

    def gains(self, table: Floats) -> tuple[Floats, Floats]:
        """Known and predicted gains of documents: 0 where not judged, and without a helper."""
        kept = self.errors.kept  # for all runs the same
        key = ("gains", table.tobytes())
        if key not in kept:
            known = table[self.sample.codes]
            guess = np.zeros(len(known)) if self.helper is None else self.helper.gains(self.topic, table)
            kept[key] = known, guess
        known_and_predicted: tuple[Floats, Floats] = kept[key]
        return known_and_predicted

    def total(self, table: Floats) -> _Total:
        """How many documents have the gain, where gains are 0 and 1."""
        key = ("total", table.tobytes())
        if key not in self.errors.kept:
            self.errors.kept[key] = _composite(self, *self.gains(table))
        total_of_gain: _Total = self.errors.kept[key]
        return total_of_gain

    def estimated(self, known: Floats, predicted: Floats) -> Floats:
        """Each document's gain as the sample estimates it, unbiased."""
        return predicted + self.sample.weight * (known - predicted)

    def ranked(self, values: Floats, n: int) -> Floats:
        """Values of documents as [topic, rank], 0 past the end of the ranking."""
        return np.append(values, 0.0)[self.place[:, :n]]

    def by_document(self, values: Floats, elsewhere: Floats) -> Floats:
        """[topic, rank] as values of documents; a topic's others have the value `elsewhere`."""
        spread = np.append(elsewhere[self.topic], 0.0)
        spread[self.place[:, : values.shape[1]]] = values
        return spread[:-1]

    def totals(self, values: Floats) -> Floats:
        """Sums over all documents of each topic."""
        return row_sums(self.topic, values, self.sample.n_topics)

    def totals_of_open(self, values: Floats) -> Floats:
        return row_sums(self.errors.open_topic, values, self.sample.n_topics)

    def usual_gain(self, known: Floats) -> float:
        """The gain of a relevant document (root of the mean square); 1 where none is known."""
        some = known[known > 0]
        return float(np.sqrt((some**2).mean())) if len(some) else 1.0

    def finish(
        self,
        value: Floats,
        influence: Floats,
        effect: Floats,
        below: Floats | None = None,
        above: Floats | None = None,
    ) -> Estimate:
        none = np.zeros(len(value))
        bias = (none if below is None else below, none if above is None else above)
        own = influence[self.sample.chosen]
        return Estimate(value, own, own, effect * self.sample.inside, *bias, none, none)


# -- sums and counts ------------------------------------------------------------------------------------------


def _weighted(work: _Work, measure: Weighted) -> Estimate:
    n = measure.depth_read(work.evidence)
    weights = measure.weights(work.evidence)
    known, predicted = work.gains(measure.table(work.evidence))
    value = work.ranked(work.estimated(known, predicted), n) @ weights
    slope = work.by_document(np.broadcast_to(weights, (len(value), n)), np.zeros(len(value)))
    return work.finish(value, slope * (known - predicted), slope * work.usual_gain(known))


def _counted(work: _Work, measure: R | NumRel | NumRelRet) -> Estimate:
    """How many are relevant: in all, in the run, or in its first k as a share of all."""
    table = code_table((work.evidence.levels >= measure.rel).astype(np.float64))
    known, predicted = work.gains(table)
    gain = work.estimated(known, predicted)
    n = measure.depth_read(work.evidence)
    none, ones = np.zeros(work.sample.n_topics), np.ones((work.sample.n_topics, n))
    if isinstance(measure, NumRel):
        value, slope = work.totals(gain), np.ones(len(known))
    elif isinstance(measure, NumRelRet):
        value, slope = work.ranked(gain, n).sum(axis=1), work.by_document(ones, none)
    else:
        slope = work.by_document(ones, none)
        relevant = work.ranked(gain, n).sum(axis=1)
        return _divided(
            work, relevant, slope * (known - predicted), slope, [work.total(table)], lambda totals: totals[0]
        )
    return work.finish(value, slope * (known - predicted), slope)


class _Total(NamedTuple):
    """Relevant documents of each topic: those that are known, and how many more there may be."""

    known: Floats
    more: Floats
    error: Floats  # relative, of `more`
    share: Floats  # what the topic's own sample counts in `more`
    answer: Floats  # how `more` grows where the samples of all topics together find one more
    residual: Floats  # one a document: known less predicted

    def at(self, node: float, step: float = 0.0) -> Floats:
        """The number so many errors away, with `step` more; on the average over errors it is the one estimated."""
        away = np.exp(node * self.error - self.error**2 / 2)
        return self.known + np.maximum(self.more + step, 0.0) * away


def _composite(work: _Work, known: Floats, predicted: Floats) -> _Total:
    """How many documents are relevant, for what is divided by, where an unbiased but wild estimate does harm.

    What a topic's own sample says of the unjudged documents joins the number predicted for them, each with the inverse
    of its mean square error (Fay and Herriot 1979), and predictions are scaled so that over all topics they agree with
    the unbiased estimate. Where the whole population is judged, there are no more than the known ones.
    """
    sample, errors = work.sample, work.errors
    sure = work.totals(known)
    direct = work.totals(work.estimated(known, predicted)) - sure
    guess = predicted if work.helper is not None else share_relevant(sample, known)[sample.stratum] * sample.inside
    model = work.totals(np.where(sample.judged, 0.0, guess))
    expected = work.totals_of_open(errors.weigh(np.ones(len(known))) ** 2)
    variance = errors.by_topic((known - predicted)[sample.chosen], expected).variance
    off = ((direct - model) ** 2 - variance).sum() / max(float((model**2).sum()), 1e-300)
    least, part = LEAST_ERROR[work.helper is not None]
    varies = part * float(sure.std() / sure.mean()) if sure.any() else 0.0
    square = min(max(float(off), least**2, varies**2), MOST_ERROR**2) * model**2
    share = np.where(variance > 0, ratio(square, square + variance), 1.0)
    from_model = (1 - share) * model
    agreed = ((1 - share) * direct).sum() / max(float(from_model.sum()), 1e-300)
    both = np.maximum(share * direct + from_model * min(max(agreed, 0.25), 4.0), 0.1 * model)
    error = np.minimum(ratio(np.sqrt(share * variance), both), MOST_ERROR)
    answer = from_model / from_model.sum() if from_model.any() else from_model
    return _Total(sure, both, error, share, answer, known - predicted)


def _divided(
    work: _Work,
    above: Floats,
    influence: Floats,
    effect: Floats,
    totals: Sequence[_Total],
    below: Callable[[list[Floats]], Floats],
    cut: bool = False,
) -> Estimate:
    """An estimated sum over what follows from numbers of relevant documents (`below`), which are uncertain: the mean of
    the quotient over what they may be. Influence and effect are those of the sum.

    Where `below` is `cut` at k documents, most of what they may be makes no difference, and rare cases do: then the
    error is what it is if there are as few as they may be.
    """
    mean, spread = _inverse(totals, below, [0.0] * len(totals))
    if cut:
        few = below([np.maximum(total.at(FEW), totals[0].more > 0) for total in totals])
        spread = np.maximum(spread, ratio(np.ones_like(few), few) - mean)
    on_topic, on_all = influence * mean[work.topic], influence * mean[work.topic]
    own = np.zeros(len(mean))
    for i, total in enumerate(totals):
        steps = [STEP * (j == i) for j in range(len(totals))]
        more, fewer = (_inverse(totals, below, [sign * step for step in steps])[0] for sign in (1.0, -1.0))
        slope = above * (more - fewer) / (2 * STEP)
        on_topic = on_topic + (slope * total.share)[work.topic] * total.residual
        together = float((slope * total.answer).sum())
        on_all = on_all + (slope * total.share + (1 - total.share) * together)[work.topic] * total.residual
        own = np.maximum(own, np.abs(above) * spread * np.sqrt(1 - total.share))
    estimate = work.finish(above * mean, on_topic, effect * mean[work.topic])
    return estimate._replace(on_all=on_all[work.sample.chosen], own=own, bounded=work.helper is not None)


def _inverse(
    totals: Sequence[_Total], below: Callable[[list[Floats]], Floats], steps: Sequence[float]
) -> tuple[Floats, Floats]:
    """Mean and standard deviation of 1 / below over what the totals may be; where anything may be relevant, something
    is."""
    some = totals[0].more > 0
    inverse = []
    for node in NODES.tolist():
        numbers = [total.at(node, step) for total, step in zip(totals, steps, strict=True)]
        numbers[0] = np.maximum(numbers[0], some)
        x = below(numbers)
        inverse.append(ratio(np.ones_like(x), x))
    mean: Floats = WEIGHTS @ np.stack(inverse)
    return mean, np.sqrt(WEIGHTS @ (np.stack(inverse) - mean) ** 2)


# -- as sample_eval has them ----------------------------------------------------------------------------------


def _xinfap(work: _Work, measure: AP | infAP) -> Estimate:
    """xinfAP: relevant documents stand for those of their stratum that were not drawn, and the precision at each is

        1/i (1 + sum over strata of documents above x (relevant + e) / (sampled + 3e) above)        e = 0.00001

    Where documents of a stratum had different chances, they are counted by 1 / chance.
    """
    sample, n = work.sample, measure.depth_read(work.evidence)
    known = code_table((work.evidence.levels >= measure.rel).astype(np.float64))[sample.codes]
    weight = sample.stratum_weight
    rank = np.arange(1, n + 1)
    y, w = work.ranked(known, n), work.ranked(weight, n)
    strata = _ranked_strata(work, n)
    above, unseen = np.zeros(y.shape), np.zeros(y.shape)
    parts = []
    for number in range(int(sample.stratum.max(initial=0)) + 1):
        here = strata == number
        small = EPSILON * _usual_weight(work, number)[:, None]
        docs, hits, seen = (_above(values * here) for values in (np.ones(y.shape), w * y, w))
        share = (hits + small) / (seen + 3 * small)
        above += docs * share
        parts.append((here, docs, seen + 3 * small, share))
        unseen += docs * (seen == 0)
    precision = (1 + above) / rank
    total = work.totals(weight * known)
    norm = _norm(measure, total)
    value = ratio((w * y * precision).sum(axis=1), norm)
    # Documents above which none of the stratum was sampled count as one third relevant, and may be none or all.
    guessed = ratio((w * y * unseen / rank).sum(axis=1), norm)
    bias = guessed / 3, 2 * guessed / 3 + _of_empty(work, value, total)
    return work.finish(value, *_xinfap_influence(work, measure, known, y, w, precision, parts, value, total), *bias)


def _of_empty(work: _Work, value: Floats, total: Floats) -> Floats:
    """Topics where no relevant document was sampled count 0; those where some was are what they may be."""
    some = total > 0
    unknown = ~some & (work.totals(work.sample.open.astype(np.float64)) > 0)
    return np.where(unknown, value[some].mean() if some.any() else 0.5, 0.0)


def _xinfap_influence(
    work: _Work,
    measure: AP | infAP,
    known: Floats,
    y: Floats,
    w: Floats,
    precision: Floats,
    parts: list[tuple[NDArray[np.bool_], Floats, Floats, Floats]],
    value: Floats,
    total: Floats,
) -> tuple[Floats, Floats]:
    """A sampled document counts at its own rank, in R, and in the precision at relevant documents below it."""
    n = y.shape[1]
    norm = np.maximum(_norm(measure, total), 1.0)[:, None]
    falls = _falls(measure, total)  # how much R counts in what is divided by
    later = np.zeros(y.shape)
    judged = work.ranked(work.sample.judged.astype(np.float64), n)
    for here, docs, seen, share in parts:
        term = w * y * docs / (np.arange(1, n + 1) * seen * norm)
        later += here * judged * (y * _below(term) - _below(term * share))
    elsewhere = -(value * falls)[:, None] / norm
    own = y * (precision / norm + elsewhere)
    influence = work.by_document(own + later, np.zeros(len(value)))
    outside = work.by_document(np.zeros(y.shape), np.ones(len(value)))
    influence += outside * known * elsewhere[:, 0][work.topic]
    reached = precision / norm + _below(w * y / np.arange(1, n + 1)) / norm + elsewhere
    return influence, work.by_document(reached, elsewhere[:, 0])


def _infndcg(work: _Work, measure: NormalisedSum) -> Estimate:
    """infNDCG: the mean discounted gain of a stratum's sampled documents in the run stands for all of its documents
    there; the ideal is made of the estimated numbers of documents of each grade, rounded."""
    sample, n = work.sample, measure.depth_read(work.evidence)
    known, _ = work.gains(measure.table(work.evidence))
    discounts = measure.weight(n)
    w, gain = work.ranked(sample.stratum_weight, n), work.ranked(known, n) * discounts
    strata = _ranked_strata(work, n)
    gained, influence = np.zeros(len(gain)), np.zeros(gain.shape)
    for number in range(int(sample.stratum.max(initial=0)) + 1):
        here = strata == number
        docs, seen = here.sum(axis=1), (w * here).sum(axis=1)
        mean = ratio((w * gain * here).sum(axis=1), seen)
        gained += docs * mean
        influence += here * ratio(docs.astype(np.float64), seen)[:, None] * (gain - mean[:, None])
    steps = measure.steps(work.evidence).tolist()
    of_gain = np.stack([work.totals(sample.stratum_weight * (known == step)) for step in steps], axis=1)
    layers = np.cumsum(np.floor(of_gain + HALF)[:, ::-1], axis=1)[:, ::-1]  # rounded gain by gain, as sample_eval does
    ideal = _ideal(measure, layers) @ measure.thickness(work.evidence)
    value, usual = ratio(gained, ideal), work.usual_gain(known)
    floor = np.where(ideal > 0, ideal, measure.weight(1)[0] * usual)
    # One document more of a gain is one more in each layer up to it.
    each = measure.weight(int(layers.max(initial=0.0)) + 1)[np.maximum(layers.astype(np.int64) - 1, 0)]
    each = each * measure.thickness(work.evidence)
    lowered = (value / floor)[work.topic]
    in_ideal = ((known[:, None] >= steps) * each[work.topic]).sum(axis=1)
    of_usual = (each * (np.array(steps) <= usual + 1e-9)).sum(axis=1)[work.topic]
    none = np.zeros(len(value))
    influence = work.by_document(influence * (w > 0) / floor[:, None], none) - lowered * in_ideal
    reached = work.by_document(np.broadcast_to(discounts * usual, gain.shape) / floor[:, None], none)
    return work.finish(value, influence, reached - lowered * of_usual, above=_of_empty(work, value, ideal))


# -- with predictions -----------------------------------------------------------------------------------------


def _ap(work: _Work, measure: AP | infAP) -> Estimate:
    """The sum over pairs of relevant documents, y_i y_j / max(rank), with estimated gains in the place of y; over the
    estimated R."""
    n = measure.depth_read(work.evidence)
    table = code_table((work.evidence.levels >= measure.rel).astype(np.float64))
    known, predicted = work.gains(table)
    gain = work.estimated(known, predicted)
    y, rank = work.ranked(gain, n), np.arange(1, n + 1)
    precision = (1 + _above(y)) / rank
    slope = work.by_document(precision + _below(y / rank), np.zeros(len(y)))
    above = (y * precision).sum(axis=1)
    totals = [work.total(table)]
    estimate = _divided(
        work, above, slope * (known - predicted), slope, totals, lambda numbers: _norm(measure, numbers[0])
    )
    # Pairs of sampled documents: by Hoeffding's decomposition, the products of their own variances.
    p = work.sample.probability
    alone = work.ranked(np.where(work.sample.judged, (1 - p) / p**2 * (known - predicted) ** 2, 0.0), n)
    inverse = _inverse(totals, lambda numbers: _norm(measure, numbers[0]), [0.0])[0]
    return estimate._replace(more=(alone * _above(alone) / rank**2).sum(axis=1) * inverse**2)


def _ndcg(work: _Work, measure: NormalisedSum) -> Estimate:
    """The estimated sum over the ideal of estimated numbers of documents; with or without predictions."""
    n = measure.depth_read(work.evidence)
    known, predicted = work.gains(measure.table(work.evidence))
    slope = work.by_document(
        np.broadcast_to(measure.weight(n), (work.sample.n_topics, n)), np.zeros(work.sample.n_topics)
    )
    gained = (work.ranked(work.estimated(known, predicted), n) * measure.weight(n)).sum(axis=1)
    levels, thickness = measure.level_gains(work.evidence), measure.thickness(work.evidence)
    layers = [
        work.total(code_table((levels >= step).astype(np.float64))) for step in measure.steps(work.evidence).tolist()
    ]

    def ideal(numbers: list[Floats]) -> Floats:
        # A lower layer holds those above it.
        nested = np.maximum.accumulate(np.stack(numbers[::-1], axis=1), axis=1)[:, ::-1]
        return _ideal(measure, nested) @ thickness

    return _divided(
        work, gained, slope * (known - predicted), slope * work.usual_gain(known), layers, ideal, measure.k is not None
    )


# -- small parts ----------------------------------------------------------------------------------------------


def _above(values: Floats) -> Floats:
    return np.cumsum(values, axis=1) - values


def _below(values: Floats) -> Floats:
    return np.cumsum(values[:, ::-1], axis=1)[:, ::-1] - values


def _ranked_strata(work: _Work, n: int) -> Ints:
    """The stratum at each place, -1 for documents of none."""
    return np.append(work.sample.stratum, -1)[work.place[:, :n]]


def _usual_weight(work: _Work, stratum: int) -> Floats:
    """The mean weight of the sampled documents of a stratum, of each topic; 1 where there are none."""
    sample = work.sample
    chosen = sample.judged & (sample.stratum == stratum)
    seen = row_sums(sample.topic[chosen], np.ones(int(chosen.sum())), sample.n_topics)
    return np.where(
        seen > 0, ratio(row_sums(sample.topic[chosen], sample.stratum_weight[chosen], len(seen)), seen), 1.0
    )


def _norm(measure: AP | infAP, total: Floats) -> Floats:
    """What AP divides by: R, or min(R, k)."""
    if getattr(measure, "variant", "a") == "b" and measure.k is not None:
        return np.minimum(total, measure.k)
    return total


def _falls(measure: AP | infAP, total: Floats) -> Floats:
    """1 where one relevant document more is divided by, 0 where it is not."""
    return (_norm(measure, total) == total).astype(np.float64)


def _ideal(measure: NormalisedSum, numbers: Floats) -> Floats:
    """[topic, layer]: discounts of the first places, as many as there are documents, cut at k."""
    cut = np.minimum(numbers, np.inf if measure.k is None else float(measure.k))
    weights = measure.weight(int(np.ceil(cut.max(initial=0.0))) + 1)
    cumulated = np.append(0.0, np.cumsum(weights))
    return np.interp(cut, np.arange(len(cumulated)), cumulated)
