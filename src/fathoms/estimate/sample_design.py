"""Drawing a sample of documents to judge: which, and with what chance each might have been drawn.

Judged documents stay as they are, a stratum that was taken whole. From the others of the pool a simple random sample is
drawn in every stratum, or (`probe`) each document with a chance of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import row_sums
from fathoms.base.choices import Design, PrefixOrder
from fathoms.base.errors import FathomsError
from fathoms.base.result import Result
from fathoms.estimate.control_variates import model_probabilities, read_labels
from fathoms.estimate.design import SamplingDesign
from fathoms.evidence.candidates import Candidates, candidates
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.pooling import PooledDocuments, run_pool
from fathoms.inference.grade_agreement import kappa

COLUMNS = ("topic", "document", "stratum", "probability", "sampled")
TAKEN = "judged"  # the stratum of what is judged already
FIRST_BAND = 10  # ranks of the first band of `depth`; every further one goes twice as deep
BANDS = (0.02, 0.05, 0.1, 0.2, 0.5)  # of probabilities, for `score`
LABELLED = ("score", "probe", "label")  # designs that take labels
MOST_LABELS, FIFTHS = 10, 5  # different labels that are strata of their own; parts of more
LEAST_EXPECTED, GUESSED = 0.1, 4.0  # share of relevant documents in the strata at either end, and how many judged
# documents that guess counts for
NO_LABEL = "no label"
KEEP = "Keep the file of the sample"
STEP = 1e-6  # of shares, for slopes
LEAST = 2  # sampled documents of a stratum, without which its variance is unknown


@dataclass(frozen=True, eq=False)
class SampledDocuments(Result):
    """The pool that a sample was drawn from: the documents to judge first, by topic, then all others."""

    columns: ClassVar = COLUMNS
    words: ClassVar = COLUMNS[:3]
    whole_numbers: ClassVar = ("sampled",)
    qrels: ClassVar[None] = None  # which a pool that is not sampled may have

    topics: list[str]
    topic: Ints
    documents: NDArray[np.bytes_]
    stratum: list[str]
    probability: Floats
    sampled: Bools
    n_to_judge: int  # the first so many rows
    pooled_from: int  # runs
    notes: list[str] = field(default_factory=list)
    saving: str = ""  # what strata by label save, in words

    def rows(self) -> list[tuple[Any, ...]]:
        return list(
            zip(
                [self.topics[i] for i in self.topic.tolist()],
                [document.decode(errors="surrogateescape") for document in self.documents.tolist()],
                self.stratum,
                self.probability.tolist(),
                self.sampled.astype(int).tolist(),
                strict=True,
            )
        )

    @cached_property
    def to_judge(self) -> list[tuple[str, str]]:
        """Topic and document of those that were drawn and have no judgment yet."""
        return [(row[0], row[1]) for row in self.rows()[: self.n_to_judge]]

    @cached_property
    def design(self) -> SamplingDesign:
        """For estimates, without a file between."""
        names = list(dict.fromkeys(self.stratum))
        numbers = {name: i for i, name in enumerate(names)}
        stratum = np.array([numbers[name] for name in self.stratum], dtype=np.int32)
        return SamplingDesign(
            self.topics,
            self.topic.astype(np.int32),
            self.documents,
            stratum,
            names,
            self.probability,
            self.sampled,
            source="the sample drawn",
        )


def pool_or_sample(
    experiment: BaseExperiment,
    *,
    depth: int | None,
    budget: int | None,
    per_topic: bool,
    prefix_order: PrefixOrder,
    missing: bool,
    sample: int | None,
    design: Design | None,
    labels: Sequence[Any],
) -> PooledDocuments | SampledDocuments:
    """The documents of a pool, or so many drawn from it."""
    if sample is not None:
        if budget is not None:
            raise FathomsError("a sample takes a depth, and no budget")
        if missing:
            raise FathomsError("missing: is for a pool; a sample leaves out what is judged anyway")
        return run_sample(
            experiment, sample, design=design or "uniform", depth=depth, per_topic=per_topic, labels=labels
        )
    if design is not None or len(labels):
        raise FathomsError(f"{'labels' if design is None else 'design'}: is for a sample; say how many with sample")
    return run_pool(
        experiment, depth=depth, budget=budget, per_topic=per_topic, prefix_order=prefix_order, missing=missing
    )


def run_sample(
    experiment: BaseExperiment,
    sample: int,
    *,
    design: str = "uniform",
    depth: int | None = None,
    per_topic: bool = False,
    labels: Sequence[Any] = (),
) -> SampledDocuments:
    """Draw `sample` documents in all, or of each topic, from the top `depth` of the contributing runs."""
    if len(labels) and design not in LABELLED:
        raise FathomsError(f"labels are for the designs score, probe and label, found {design}")
    experiment.needs_an_order("a sample")
    names, notes = list(experiment.contributing()), list[str]()
    population, judged, relevant = _pool(experiment, names, depth)
    rng = np.random.default_rng(experiment.options.seed)
    learnt_from = None if design == "label" and not judged.any() else judged
    values = read_labels(labels, population, learnt_from, notes) if design in LABELLED else None
    drawn = draw(population, judged, relevant, sample, design=design, per_topic=per_topic, rng=rng, labels=values)
    if experiment.has_qrels and experiment.options.pooled is None:
        notes.append(experiment.pool_assumed().sentence)
    order = _order(population, judged, drawn.sampled, rng)
    return SampledDocuments(
        population.topics,
        population.topic[order].astype(np.int64),
        population.documents[order],
        drawn.names()[order].tolist(),
        drawn.probability[order],
        drawn.sampled[order],
        int((drawn.sampled & ~judged).sum()),
        len(names),
        notes,
        saving_sentence(drawn, judged, KEEP) if design == "label" else "",
    )


@dataclass(frozen=True, eq=False)
class Draw:
    """A sample of candidates: arrays have one entry a candidate."""

    strata: list[str]
    stratum: Ints  # numbers in `strata`; -1 where judged already
    cell: Ints  # where a simple random sample was drawn; -1 where judged already, or drawn with a chance of its own
    probability: Floats
    sampled: Bools  # drawn, or judged already
    chance: Floats | None = None  # of relevance, that is expected in each stratum; of the design `label` alone

    def names(self) -> NDArray[np.object_]:
        return np.array([*self.strata, TAKEN], dtype=object)[self.stratum]


def draw(
    population: Candidates,
    judged: Bools,
    relevant: Bools,
    n: int,
    *,
    design: str,
    per_topic: bool,
    rng: np.random.Generator,
    labels: Floats | None = None,
) -> Draw:
    """Draw n unjudged candidates, in all or of each topic; what is judged has probability 1."""
    open_ = np.flatnonzero(~judged)
    if not len(open_):
        raise FathomsError("every document of the pool is judged already, so there is nothing to sample")
    topic = population.topic[open_].astype(np.int64)
    cell = np.full(len(open_), -1, dtype=np.int64)
    expected: Floats | None = None
    if design in ("score", "probe"):
        p = model_probabilities(population, judged, relevant, labels)[open_]
    if design == "probe":
        chance = _proportional(np.sqrt(p * (1 - p) * _mean_inverse(population)[open_]), topic, n, per_topic)
        drawn = _systematic(chance, topic, rng, per_topic)
        label, bands = np.zeros(len(open_), dtype=np.int64), ["probe"]
    else:
        if design == "uniform":
            label, bands, rate = np.zeros(len(open_), dtype=np.int64), ["all"], np.ones(1)
        elif design == "depth":
            label, bands, rate = depth_bands(population.least_ranks()[0][open_])
        elif design == "label":
            if labels is None:
                raise FathomsError("design label: draws by machine labels; give them with --labels FILE")
            whole, bands = label_strata(labels)
            expected = expected_relevant(whole, len(bands), judged, relevant, bands[-1] == NO_LABEL)
            label, rate = whole[open_], np.sqrt(expected * (1 - expected))
        else:
            label, bands, rate = score_bands(p)
        cell, chance, drawn = _stratified(topic, label, rate, len(population.topics), n, per_topic, rng)
    probability, sampled = np.ones(len(population)), judged.copy()
    probability[open_], sampled[open_] = chance, drawn
    strata, cells = np.full((2, len(population)), -1, dtype=np.int64)
    strata[open_], cells[open_] = label, cell
    return Draw(bands, strata, cells, probability, sampled, expected)


def _pool(experiment: BaseExperiment, names: list[str], depth: int | None) -> tuple[Candidates, Bools, Bools]:
    """The documents to draw from, which of them are judged, and which relevant."""
    if not experiment.has_qrels:
        runs = {name: experiment.run(name) for name in names}
        population = candidates(runs, depth, experiment.options.ties, experiment.options.used_precision)
        none = np.zeros(len(population), dtype=bool)
        return population, none, none
    experiment.prepare()
    population = experiment.documents(names, depth)
    return population, *population.judged_by(experiment.qrels)


def _ranks(population: Candidates) -> tuple[Ints, Ints]:
    """For every place of a ranking that holds a document: its number and its rank."""
    _, _, column = np.nonzero(population.place >= 0)
    return population.place[population.place >= 0].astype(np.int64), column + 1


def _mean_inverse(population: Candidates) -> Floats:
    """The mean over runs of 1 / rank, 0 where a run does not have the document."""
    number, rank = _ranks(population)
    return row_sums(number, 1 / rank, len(population)) / len(population.names)


def depth_bands(best: Ints) -> tuple[Ints, list[str], Floats]:
    """Strata by the least rank: 1-10, 11-20, 21-40, 41-80, ..., and how much each counts: as 1 / sqrt(rank) does."""
    edges = [0, FIRST_BAND]
    while edges[-1] < int(best.max(initial=1)):
        edges.append(2 * edges[-1])
    label = np.searchsorted(edges, best) - 1
    names = [f"{low + 1}-{high}" for low, high in pairwise(edges)]
    middle = (np.array(edges[:-1]) + np.array(edges[1:]) + 1) / 2
    return label, names, 1 / np.sqrt(middle)


def score_bands(p: Floats) -> tuple[Ints, list[str], Floats]:
    """Strata by the probability of relevance, and how much each counts: as its spread, sqrt(p (1 - p))."""
    label = np.searchsorted(BANDS, p, side="right")
    edges = (0.0, *BANDS, 1.0)
    names = [f"p{low:g}-{high:g}" for low, high in pairwise(edges)]
    mean = np.array([(low + high) / 2 for low, high in pairwise(edges)])
    return label, names, np.sqrt(mean * (1 - mean))


# -- by label ---------------------------------------------------------------------------------------------------------


def label_strata(labels: Floats) -> tuple[Ints, list[str]]:
    """Strata by what sources [document, source] say, from the least relevant on.

    Of one source they are its labels, of many different ones a fifth of the documents each. Of several they are how
    many call a document more relevant than they call documents on average: none, some, all. Some are where they
    disagree.
    """
    if labels.shape[1] > 1:
        known = np.isfinite(labels)
        mean = np.where(known, labels, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        votes = (np.where(known, labels, -np.inf) > mean).sum(axis=1)
        stratum = (votes > 0).astype(np.int64) + (votes == labels.shape[1])
        return stratum, ["no source", "sources disagree", "every source"]
    value = labels[:, 0]
    known = np.isfinite(value)
    used = np.unique(value[known])
    if len(used) > MOST_LABELS:
        used = np.unique(np.quantile(value[known], np.linspace(0, 1, FIFTHS + 1)[:-1], method="higher"))
    stratum = np.where(known, np.searchsorted(used, np.where(known, value, 0.0), side="right") - 1, len(used))
    names = [f"label {place} of {len(used)}" for place in range(1, len(used) + 1)]
    return stratum, names if known.all() else [*names, NO_LABEL]


def expected_relevant(stratum: Ints, n: int, judged: Bools, relevant: Bools, not_labelled: bool = False) -> Floats:
    """The share of relevant documents to expect in each stratum: by its place, and by what is judged of it. The last
    may be of documents that are `not_labelled`."""
    guess = LEAST_EXPECTED + (1 - 2 * LEAST_EXPECTED) * (np.arange(n) + 0.5) / n
    if not_labelled:
        guess[:-1], guess[-1] = LEAST_EXPECTED + (1 - 2 * LEAST_EXPECTED) * (np.arange(n - 1) + 0.5) / (n - 1), 0.5
    seen, hits = (np.bincount(stratum[chosen], minlength=n) for chosen in (judged, judged & relevant))
    return np.asarray((hits + GUESSED * guess) / (seen + GUESSED))


def as_good_as(sizes: Ints, drawn: Ints, chance: Floats) -> tuple[int, int]:
    """So many documents drawn at random from all would say as much of how many are relevant, and of kappa of labels
    that call the strata relevant of which most documents are; if a share `chance` of each stratum is.

    Variances are those of stratified and of simple random samples (Cochran 1977, 5.3 and 3.2), of kappa by the delta
    method.
    """
    total, n_strata = float(sizes.sum()), len(sizes)
    weight, positive = sizes / total, chance > 0.5
    mean = float(weight @ chance)
    left = np.maximum(1 / np.maximum(drawn, 1) - 1 / np.maximum(sizes, 1), 0.0)

    def equivalent(slope: Floats, variance: float) -> int:
        own = float((slope**2 * chance * (1 - chance) * left)[sizes > 0].sum())
        rate = own / variance + 1 / total if variance > 0 else 1 / total
        return int(np.rint(1 / rate))

    table = np.zeros((2, 2))
    np.add.at(table, (np.zeros(n_strata, dtype=int), positive.astype(int)), weight * (1 - chance))
    np.add.at(table, (np.ones(n_strata, dtype=int), positive.astype(int)), weight * chance)
    slopes = np.empty((2, 2))  # of kappa, by a cell's share
    for cell in np.ndindex(2, 2):
        more = table.copy()
        more[cell] += STEP
        slopes[cell] = (float(kappa(more, 1 - np.eye(2))) - float(kappa(table, 1 - np.eye(2)))) / STEP
    of_stratum = weight * (slopes[1] - slopes[0])[positive.astype(int)]
    influence = float((table * slopes**2).sum() - (table * slopes).sum() ** 2)
    return equivalent(weight, mean * (1 - mean)), equivalent(of_stratum, influence)


def saving_sentence(drawn: Draw, judged: Bools, keep: str) -> str:
    """What strata by label save, in words; `keep` says how to keep the file of the sample."""
    assert drawn.chance is not None
    n = len(drawn.strata)
    open_ = drawn.stratum >= 0
    sizes = np.bincount(drawn.stratum[open_], minlength=n)
    taken = np.bincount(drawn.stratum[open_ & drawn.sampled], minlength=n)
    share, of_kappa = as_good_as(sizes, taken, drawn.chance)
    counts = zip(drawn.strata, taken.tolist(), sizes.tolist(), strict=True)
    parts = [f"{name}: {some:,} of {whole:,}" for name, some, whole in counts]
    known = "judged documents" if judged.any() else "the order of the labels alone"
    return (
        f"Drawn by label, {'; '.join(parts)}. By what {known} let one expect, these {int(taken.sum()):,} say as much "
        f"of how many documents are relevant as {share:,} drawn from all at random, and as much of kappa as "
        f"{of_kappa:,}. {keep}: `labels --sampled` and `predict --sampled` need its probabilities."
    )


# -- simple random samples of strata --------------------------------------------------------------------------


def _stratified(
    topic: Ints, label: Ints, rate: Floats, n_topics: int, n: int, per_topic: bool, rng: np.random.Generator
) -> tuple[Ints, Floats, Bools]:
    """Where each document was drawn from, its chance, and what was drawn. Strata are those of each topic where all of
    these can have LEAST documents, else those of all topics together."""
    table = np.bincount(topic * len(rate) + label, minlength=n_topics * len(rate)).reshape(n_topics, -1)
    budgets = np.where(table.sum(axis=1) > 0, n, 0) if per_topic else _shared_out(n, table.sum(axis=1), rng)
    if per_topic or (budgets >= np.minimum(table, LEAST).sum(axis=1)).all():
        counts = np.concatenate([allocate(int(budgets[i]), table[i], rate) for i in range(n_topics)])
        cell, sizes = topic * len(rate) + label, table.ravel()
        if per_topic and ((counts == 0) & (sizes > 0)).any():
            raise FathomsError(
                f"sample: {n} documents of a topic are fewer than its strata; take more, or design uniform, or a "
                "number for all topics together"
            )
    else:
        sizes = table.sum(axis=0)
        cell, counts = label, allocate(n, sizes, rate)
    if ((counts == 0) & (sizes > 0)).any():
        raise FathomsError(
            f"sample: {n} documents are fewer than the {int((sizes > 0).sum())} strata; take more, or design uniform"
        )
    key = rng.random(len(cell))
    order = np.lexsort((key, cell))
    starts = np.cumsum(sizes) - sizes
    drawn = np.zeros(len(cell), dtype=bool)
    drawn[order] = np.arange(len(cell)) - starts[cell[order]] < counts[cell[order]]
    return cell, counts[cell] / sizes[cell], drawn


def _shared_out(n: int, sizes: Ints, rng: np.random.Generator) -> Ints:
    """A budget in equal parts, as far as topics have documents; what is left over goes to topics by lot."""
    budgets = np.zeros(len(sizes), dtype=np.int64)
    left = min(n, int(sizes.sum()))
    while left:
        able = rng.permutation(np.flatnonzero(budgets < sizes))
        more = np.full(len(able), left // len(able))
        more[: left % len(able)] += 1
        more = np.minimum(more, (sizes - budgets)[able])
        budgets[able] += more
        left -= int(more.sum())
    return budgets


def allocate(n: int, sizes: Ints, rate: Floats) -> Ints:
    """Documents to draw from each stratum: LEAST of each where there are as many, the rest in proportion to size times
    rate (Neyman's allocation, with the rate for the spread inside), and never more than there are."""
    counts = np.minimum(sizes, LEAST)
    if counts.sum() > n:
        counts = np.minimum(sizes, 1)
    left = min(n, int(sizes.sum())) - int(counts.sum())
    if left < 0:
        return np.zeros(len(sizes), dtype=np.int64)
    while left:
        wanted = np.where(counts < sizes, sizes * rate, 0.0)
        part = left * wanted / wanted.sum()
        more = np.minimum(np.floor(part).astype(np.int64), sizes - counts)
        if not more.any():  # one each to those with the greatest claims
            best = np.argsort(-(part - 1e9 * (counts >= sizes)), kind="stable")[:left]
            more = np.zeros(len(sizes), dtype=np.int64)
            more[best] = (counts < sizes)[best]
        counts = counts + more
        left -= int(more.sum())
    return counts


# -- chances of their own -------------------------------------------------------------------------------------


def _proportional(size: Floats, topic: Ints, n: int, per_topic: bool) -> Floats:
    """Chances in proportion to size that add up to n, in all or in each topic; none is above 1."""
    if not per_topic:
        return inclusion(size, n)
    chance = np.zeros(len(size))
    for number in range(int(topic.max(initial=0)) + 1):
        here = topic == number
        chance[here] = inclusion(size[here], n)
    return chance


def inclusion(size: Floats, n: int) -> Floats:
    """Chances in proportion to size that add up to n; what would have more than 1 is drawn for sure."""
    n = min(n, len(size))
    size = np.maximum(size, size.max(initial=0.0) * 1e-3) + 1e-12  # none is left out altogether
    chance = np.zeros(len(size))
    free = np.ones(len(size), dtype=bool)
    while free.any():
        chance[free] = (n - int((~free).sum())) * size[free] / size[free].sum()
        over = free & (chance >= 1)
        if not over.any():
            break
        chance[over] = 1.0
        free &= ~over
    return np.minimum(chance, 1.0)


def _systematic(chance: Floats, topic: Ints, rng: np.random.Generator, per_topic: bool) -> Bools:
    """One document at every whole step of the cumulated chances, topics one after another, documents of a topic in a
    random order: as many as planned, and every topic near its share."""
    order = np.lexsort((rng.random(len(chance)), topic))
    if per_topic:  # each topic starts anew, at a whole number
        first = np.searchsorted(topic[order], np.arange(int(topic.max(initial=0)) + 1))
        rounded = np.cumsum(chance[order])
        starts = np.append(0.0, rounded)[first]
        ends = rounded - starts[topic[order]] + np.round(starts)[topic[order]]
        offset = rng.random(len(first))[topic[order]]
    else:
        ends, offset = np.cumsum(chance[order]), np.full(len(chance), rng.random())
    begins = ends - chance[order]
    # Rounding must not lose a document that is drawn for sure.
    hits = (np.floor(ends - offset + 1e-9) > np.floor(begins - offset + 1e-9)) | (chance[order] >= 1)
    drawn = np.zeros(len(chance), dtype=bool)
    drawn[order[hits]] = True
    return drawn


def _order(population: Candidates, judged: Bools, sampled: Bools, rng: np.random.Generator) -> Ints:
    """Documents to judge first, topic by topic and in a random order there, so that judges cannot tell strata; then
    those that are judged, then the rest."""
    kind = np.where(sampled & ~judged, 0, np.where(judged, 1, 2))
    inside = np.where(kind == 0, rng.random(len(population)), 0.0)
    return np.lexsort((population.documents, inside, population.topic, kind))
