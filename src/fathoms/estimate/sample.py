"""A sample met with runs and judgments: for each document its chance of being drawn, its cell and its grade.

Documents are numbered: first those of the runs (`Candidates`), then those that only the design or the judgments have. A
document is of the population, or judged otherwise and so known; all others count as not relevant, as do documents that
no run and no judgment speaks of.

A *cell* is where a simple random sample was drawn, a topic's stratum or a stratum of all topics together. Documents
drawn independently, each with its own chance, have none; those of probability 1 are known and add no error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base.arrays import distinct, ratio, row_sums
from fathoms.base.errors import FathomsError
from fathoms.base.text import pluralise
from fathoms.data import keys, widths
from fathoms.data.lines import Text
from fathoms.data.qrels import EXCLUDED, JUDGED, PADDING, UNJUDGED, Qrels
from fathoms.data.topics import topic_order
from fathoms.estimate.design import SamplingDesign, as_design
from fathoms.evidence.candidates import Candidates
from fathoms.evidence.evidence import Bools, Evidence, Floats, Ints
from fathoms.experiment.base import BaseExperiment

CLOSE = 1e-6  # probabilities in a file have six digits or more


@dataclass(frozen=True, eq=False)
class Sample:
    """Arrays have one entry a document, unless they say otherwise."""

    candidates: Candidates
    qrels: Qrels
    topic: Ints
    codes: NDArray[np.int16]  # as in Evidence; EXCLUDED outside the population
    probability: Floats  # of being drawn; 1 where known for sure, and outside
    stratum: Ints  # numbered from 0 in each topic, -1 outside
    cell: Ints  # -1: drawn independently, known for sure, or outside
    size: Ints  # documents of each cell
    drawn: Ints  # of these, sampled
    stratum_weight: (
        Floats  # documents over sampled ones of the topic's stratum, or 1 / probability where that is stated
    )
    notes: list[str]

    @cached_property
    def judged(self) -> Bools:
        return self.codes >= JUDGED

    @cached_property
    def inside(self) -> Bools:
        return self.codes != EXCLUDED

    @cached_property
    def certain(self) -> Bools:
        """Judged whatever had been drawn."""
        return self.judged & (self.probability >= 1)

    @cached_property
    def open(self) -> Bools:
        """Documents of the population that were sampled, or might have been, with a chance below 1."""
        return self.inside & (self.probability < 1)

    @cached_property
    def chosen(self) -> Ints:
        """Sampled documents whose chance was below 1: all that estimates are uncertain about."""
        return np.flatnonzero(self.open & self.judged)

    @cached_property
    def weight(self) -> Floats:
        """What a judged document stands for: itself and those that were not drawn; 0 where not judged."""
        return np.where(self.judged, 1 / self.probability, 0.0)

    @cached_property
    def equal_chances(self) -> bool:
        """Whether every topic's strata were sampled at one rate each, as sample_eval takes it."""
        label = self.topic * (int(self.stratum.max(initial=0)) + 1) + self.stratum
        chosen = np.flatnonzero(self.judged & (self.stratum >= 0))
        order = chosen[np.argsort(label[chosen], kind="stable")]
        same = label[order][1:] == label[order][:-1]
        return bool((np.abs(np.diff(self.probability[order]))[same] < CLOSE).all())

    @cached_property
    def n_topics(self) -> int:
        return len(self.candidates.topics)

    @cached_property
    def place(self) -> dict[str, NDArray[np.int32]]:
        """By run: [topic, rank], the document there, -1 past the end of the ranking."""
        return dict(zip(self.candidates.names, self.candidates.place, strict=True))

    @cached_property
    def unjudged(self) -> Ints:
        """Unjudged documents of the population, of each topic."""
        return np.bincount(self.topic[self.inside & ~self.judged], minlength=self.n_topics)

    def evidence(self, run: str) -> Evidence:
        """What the judgments say of a run, with the population as the documents that may yet turn out relevant."""
        place = self.place[run]
        codes = np.append(self.codes, np.int16(PADDING))[place]
        lengths = (place >= 0).sum(axis=1)
        width = max(1, int(lengths.max(initial=1)))
        return Evidence(
            topics=self.candidates.topics,
            codes=codes[:, :width],
            tied=np.zeros((len(codes), width), dtype=bool),
            lengths=lengths,
            levels=self.qrels.levels,
            max_grade=self.qrels.max_grade,
            counts=self.qrels.counts,
            unjudged_in_universe=self.unjudged,
            topic_numbers=np.arange(len(codes)),
        )


def draw_on(experiment: BaseExperiment, design: Any, depth: int | None = None) -> Sample:
    """The sample that the judgments of an experiment are, as the design says; `depth` is for a uniform one."""
    experiment.needs_an_order("an estimate from a sample")
    listed = as_design(design)
    if listed is not None and depth is not None:
        raise FathomsError("depth: a design that lists its population has its depth; depth is for uniform")
    if listed is not None and listed.sampled is not None:
        experiment = _with_all_topics(experiment, listed)
    experiment.prepare()
    qrels, candidates = experiment.qrels, experiment.documents()
    notes: list[str] = []
    documents, topic, row = _together(candidates, qrels, listed, notes)
    judgment = qrels.lookup.find(keys.topic_keys(keys.document_keys(documents), topic.astype(np.int32)), documents)
    codes = np.append(qrels.codes, np.int16(UNJUDGED))[judgment]
    codes = np.where(codes >= JUDGED, codes, np.int16(UNJUDGED))
    if listed is None:
        return _uniform(candidates, qrels, topic, codes, depth, notes)
    return _listed(candidates, qrels, topic, codes, listed, row, notes)


def _with_all_topics(experiment: BaseExperiment, listed: SamplingDesign) -> BaseExperiment:
    """Topics of which no document was drawn are of the population too, though no judgment names them."""
    qrels = experiment.qrels
    missing = [topic for topic in listed.topics if topic not in qrels.index]
    if not missing or len(missing) == len(listed.topics):
        return experiment
    names = [*qrels.topics, *missing]
    order = topic_order(names)
    place = np.empty(len(names), dtype=np.int32)
    place[order] = np.arange(len(names), dtype=np.int32)
    topics = [names[i] for i in order]
    return experiment.with_qrels(
        Qrels(topics, place[qrels.topic], qrels.documents, qrels.grades, qrels.source, qrels.notes)
    )


def _together(
    candidates: Candidates, qrels: Qrels, listed: SamplingDesign | None, notes: list[str]
) -> tuple[Text, Ints, Ints]:
    """Documents and topics of the runs, and then of the design and the judgments that no run has; and for each its row
    in the design, -1 where it is not listed."""
    documents, topics = [candidates.documents], [candidates.topic.astype(np.int64)]
    rows = [np.full(len(candidates), -1)]
    if listed is not None:
        number = np.array([qrels.index.get(topic, -1) for topic in listed.topics], dtype=np.int32)[listed.topic]
        missing = int((number < 0).sum())
        if missing == len(listed):
            raise FathomsError(
                f"{listed.source}: none of its topics, such as {listed.topics[0]}, is judged in {qrels.source}"
            )
        if missing:
            notes.append(f"{listed.source}: {pluralise(missing, 'document')} of topics without judgments left out")
        of_topic = np.flatnonzero(number >= 0)
        at = candidates.find_all(number[of_topic], listed.documents[of_topic])
        rows[0][at[at >= 0]] = of_topic[at >= 0]
        more = of_topic[at < 0]
        documents.append(listed.documents[more])
        topics.append(number[more].astype(np.int64))
        rows.append(more)
    judged, topic, at = candidates.judgments(qrels)
    new = np.flatnonzero(at < 0)
    if listed is not None and len(new):
        numbers = {name: i for i, name in enumerate(listed.topics)}
        listed_topic = np.array([numbers.get(name, -1) for name in qrels.topics], dtype=np.int32)[topic[new]]
        document_keys = keys.document_keys(qrels.documents[judged[new]])
        known = listed.lookup.find(keys.topic_keys(document_keys, listed_topic), qrels.documents[judged[new]])
        new = new[(known < 0) | (listed_topic < 0)]
    documents.append(qrels.documents[judged[new]])
    topics.append(topic[new].astype(np.int64))
    rows.append(np.full(len(new), -1))
    return widths.joined(documents), np.concatenate(topics), np.concatenate(rows)


def _uniform(
    candidates: Candidates, qrels: Qrels, topic: Ints, codes: NDArray[np.int16], depth: int | None, notes: list[str]
) -> Sample:
    """Of each topic all documents of the runs, down to a depth, had the same chance."""
    inside = np.zeros(len(topic) + 1, dtype=bool)
    inside[candidates.place[:, :, :depth]] = True
    population = inside[:-1]
    judged = codes >= JUDGED
    _known_beside(judged & ~population, notes)
    size = np.bincount(topic[population], minlength=len(candidates.topics))
    drawn = np.bincount(topic[population & judged], minlength=len(candidates.topics))
    stratum = np.where(population, 0, np.where(judged, 1, -1))
    return _finished(
        candidates, qrels, topic, codes, population, stratum, np.where(population, topic, -1), size, drawn, None, notes
    )


def _known_beside(beside: Bools, notes: list[str]) -> None:
    if beside.any():
        notes.append(
            f"{pluralise(int(beside.sum()), 'judged document')} outside the population the sample was drawn from: they "
            "count as they are judged"
        )


def _listed(
    candidates: Candidates,
    qrels: Qrels,
    topic: Ints,
    codes: NDArray[np.int16],
    design: SamplingDesign,
    row: Ints,
    notes: list[str],
) -> Sample:
    """The population that a file lists; where it lists judged documents alone, all documents of the runs."""
    judged, listed = codes >= JUDGED, row >= 0
    sampled = judged & listed
    if design.sampled is not None:
        wanted = np.zeros(len(topic), dtype=bool)
        wanted[listed] = design.sampled[row[listed]]
        _check_judged(wanted & ~judged, wanted, topic, candidates, design)
        extra = sampled & ~wanted
        sampled = wanted
    else:
        extra = np.zeros(len(topic), dtype=bool)
    population = listed
    if design.sampled is None and design.probability is not None and not (listed & ~judged).any():
        population = listed | (np.arange(len(topic)) < len(candidates))
        notes.append(
            f"{design.source} lists judged documents only: the population is taken to be all documents of the runs"
        )
    _known_beside(judged & ~listed, notes)
    label = np.zeros(len(topic), dtype=np.int64)
    if design.stratum is not None:
        label[listed] = design.stratum[row[listed]]
    # Judged though not drawn: known, whatever was drawn.
    label = np.where(population & ~extra, label, -1)
    pairs = np.where(label >= 0, topic * max(1, len(design.strata)) + label, -1)
    cell, n_cells = _renumbered(pairs)
    size, drawn = _counts(cell, label >= 0, n_cells), _counts(cell, sampled, n_cells)
    own = None
    if design.probability is None:
        own = _share(cell, size, drawn)
        cell, size, drawn = _merged(cell, size, drawn, topic, notes)
        probability = None
    else:
        probability = np.ones(len(topic))
        probability[listed] = design.probability[row[listed]]
        if design.sampled is not None or (listed & ~judged).any():
            cell, size, drawn = _cells(cell, size, drawn, label, sampled, probability)
        else:
            cell = np.full(len(topic), -1)  # how large the strata were is not known
        # Documents that were not drawn, of which the file says nothing; only widths of intervals depend on it.
        probability[population & ~listed] = len(design) / (1 / design.probability).sum()
    stratum = _by_topic(topic, np.where(judged & (label < 0), len(design.strata), label))
    population = population & ~extra
    return _finished(candidates, qrels, topic, codes, population, stratum, cell, size, drawn, probability, notes, own)


def _check_judged(missing: Bools, wanted: Bools, topic: Ints, candidates: Candidates, design: SamplingDesign) -> None:
    if missing.any():
        at = int(missing.argmax())
        raise FathomsError(
            f"{design.source}: {int(missing.sum()):,} of the {pluralise(int(wanted.sum()), 'sampled document')} "
            f"{'is' if missing.sum() == 1 else 'are'} not judged yet, of topic {candidates.topics[topic[at]]} for "
            "example; judge all of them, since those left out may differ from the others"
        )


def _renumbered(labels: Ints) -> tuple[Ints, int]:
    """Numbers from 0 for the labels that are not negative, in their order."""
    used = distinct(labels[labels >= 0])
    numbers = np.searchsorted(used, labels)
    return np.where(labels >= 0, numbers, -1), len(used)


def _counts(cell: Ints, chosen: Bools, n: int) -> Ints:
    return np.bincount(cell[chosen & (cell >= 0)], minlength=n)


def _share(cell: Ints, size: Ints, drawn: Ints) -> Floats:
    """Of each document's cell, the share that was drawn; 1 where it has none."""
    return np.append(ratio(drawn.astype(np.float64), size.astype(np.float64)), 1.0)[cell]


def _by_topic(topic: Ints, label: Ints) -> Ints:
    """The place of each label among those of its topic, from 0."""
    width = int(label.max(initial=0)) + 1
    pairs, n = _renumbered(np.where(label >= 0, topic * width + label, -1))
    of_pair = np.zeros(n, dtype=np.int64)
    of_pair[pairs[label >= 0]] = topic[label >= 0]
    first = np.searchsorted(of_pair, of_pair)
    return np.where(label >= 0, pairs - np.append(first, 0)[pairs], -1)


def _merged(cell: Ints, size: Ints, drawn: Ints, topic: Ints, notes: list[str]) -> tuple[Ints, Ints, Ints]:
    """Strata from which nothing was drawn join the nearest one of their topic from which something was."""
    empty = np.flatnonzero(drawn == 0)
    if not len(empty):
        return cell, size, drawn
    of_cell = np.zeros(len(size), dtype=np.int64)
    of_cell[cell[cell >= 0]] = topic[cell >= 0]
    target = np.arange(len(size))
    full = np.flatnonzero(drawn > 0)
    for stratum in empty.tolist():  # strata, and few of them
        same = full[of_cell[full] == of_cell[stratum]]
        if len(same):
            target[stratum] = same[np.abs(same - stratum).argmin()]
    notes.append(
        f"nothing was sampled from {pluralise(len(empty), 'stratum').replace('stratums', 'strata')} of a topic: what "
        "the nearest stratum of the topic says stands for them; where a topic has no sampled document at all, its "
        "unjudged documents count as not relevant"
    )
    moved = np.append(target, -1)[cell]
    return moved, np.bincount(target, weights=size, minlength=len(size)).astype(np.int64), drawn


def _cells(
    cell: Ints, size: Ints, drawn: Ints, label: Ints, sampled: Bools, probability: Floats
) -> tuple[Ints, Ints, Ints]:
    """Where the stated probabilities are those of a simple random sample: of a topic's strata, of strata of all topics
    together, or nowhere (then documents were drawn independently, or it is safe to think so)."""
    over_all, n = _renumbered(label)
    whole = _counts(over_all, label >= 0, n), _counts(over_all, sampled, n)
    for cells, sizes, counts in ((cell, size, drawn), (over_all, *whole)):
        inside = (cells >= 0) & (probability < 1)
        share = ratio(counts.astype(np.float64), sizes.astype(np.float64))
        if (np.abs(share[cells[inside]] - probability[inside]) < CLOSE).all():
            return cells, sizes, counts
    return np.full(len(cell), -1), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)


def _finished(
    candidates: Candidates,
    qrels: Qrels,
    topic: Ints,
    codes: NDArray[np.int16],
    population: Bools,
    stratum: Ints,
    cell: Ints,
    size: Ints,
    drawn: Ints,
    probability: Floats | None,
    notes: list[str],
    own: Floats | None = None,
) -> Sample:
    judged = codes >= JUDGED
    if probability is None:
        probability = _share(cell, size, drawn)
    # Where nothing was drawn, intervals are as wide as if it had been one document.
    one_of = np.append(1 / np.maximum(size, 2.0), 0.5)[cell]
    probability = np.where(population, np.where(probability > 0, probability, one_of), 1.0)
    if not (population & judged).any():
        raise FathomsError(
            f"no document of the population is judged in {qrels.source}, so there is nothing to estimate from"
        )
    codes = np.where(population | judged, codes, np.int16(EXCLUDED))
    cell = np.where(probability < 1, cell, -1)
    own = probability if own is None else own
    weight = np.where(judged, 1 / np.where(own > 0, own, 1.0), 0.0)
    return Sample(candidates, qrels, topic, codes, probability, stratum, cell, size, drawn, weight, notes)


def share_relevant(sample: Sample, rel: Floats) -> Floats:
    """How many of the open documents of each stratum (numbered as in topics) are relevant, all topics together.

    The sample gets one document more, half of it relevant, and each stratum one like the whole sample, so that no share
    is 0.
    """
    n = int(sample.stratum.max(initial=0)) + 1
    chosen = sample.chosen
    weight = sample.weight[chosen]
    usual = weight.mean() if len(chosen) else 1.0
    seen = row_sums(sample.stratum[chosen], weight, n)
    hits = row_sums(sample.stratum[chosen], weight * rel[chosen], n)
    overall = (hits.sum() + 0.5 * usual) / (seen.sum() + usual)
    return (hits + overall * usual) / (seen + usual)
