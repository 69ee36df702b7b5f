"""Judging a random sample: documents are drawn when the session begins, and their probabilities are kept in it.

The order in which they are asked for is drawn with them. Inside each stratum it is random, and strata are spread evenly
over it, so that the first part of it is a sample too, with smaller probabilities: whoever stops early, for reasons
unrelated to the grades, has a smaller sample and not a wrong one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fathoms.base.arrays import distinct
from fathoms.base.errors import FathomsError
from fathoms.base.text import pluralise
from fathoms.data.qrels import Qrels
from fathoms.estimate.sample_design import COLUMNS, TAKEN, draw, saving_sentence
from fathoms.evidence.candidates import Candidates
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.judging.engine import Engine

KEEP_BY_EXPORT = "--export writes the sample beside the judgments"


@dataclass(frozen=True, eq=False)
class JudgingSample:
    """What was drawn; arrays have one entry a candidate, and `order` are candidates in the order they are asked for.

    A *cell* is where a simple random sample was drawn, a topic's stratum or a stratum of all topics together; -1 is
    for what was judged before, and with the design `probe` for all.
    """

    design: str
    strata: list[str]
    stratum: Ints
    cell: Ints
    probability: Floats
    order: list[int]
    saving: str = ""  # what strata by label save, in words; reported once, when the session begins

    def meta(self) -> dict[str, Any]:
        """For the session's file."""
        return {
            "design": self.design,
            "strata": self.strata,
            "stratum": self.stratum.tolist(),
            "cell": self.cell.tolist(),
            "probability": self.probability.tolist(),
            "order": self.order,
        }

    @classmethod
    def of(cls, meta: Mapping[str, Any]) -> JudgingSample:
        return cls(
            meta["design"],
            meta["strata"],
            np.array(meta["stratum"], dtype=np.int64),
            np.array(meta["cell"], dtype=np.int64),
            np.array(meta["probability"]),
            meta["order"],
        )


class SampleEngine(Engine):
    """Compares runs as usual, but chooses nothing: what to judge was drawn beforehand."""

    def next(self, skip: Collection[int] = (), topic: int | None = None) -> int | None:
        return None

    def queue(self, n: int, skip: Collection[int] = (), topic: int | None = None) -> list[int]:
        return []

    def settled(self) -> bool:
        """Only when all of the sample is judged, which the session checks."""
        return False

    def forecast(self) -> tuple[int, int] | None:
        """Documents chosen by chance may settle pairs or not."""
        return None


def draw_sample(
    documents: Candidates,
    qrels: Qrels | None,
    n: int,
    *,
    design: str,
    per_topic: bool,
    rel: float,
    seed: int,
    stay: int,
    labels: Floats | None = None,
) -> JudgingSample:
    """Draw documents that are not judged yet, and the order in which to ask for them."""
    judged, relevant = np.zeros((2, len(documents)), dtype=bool)
    if qrels is not None:
        judged, relevant = documents.judged_by(qrels, rel)
    rng = np.random.default_rng(seed)
    drawn = draw(documents, judged, relevant, n, design=design, per_topic=per_topic, rng=rng, labels=labels)
    chosen = np.flatnonzero(drawn.sampled & ~judged)
    order = chosen[np.argsort(evenly(drawn.cell[chosen], rng), kind="stable")]
    if stay > 1:
        order = order[np.argsort(in_stays(documents.topic[order].astype(np.int64), stay, rng), kind="stable")]
    saving = saving_sentence(drawn, judged, KEEP_BY_EXPORT) if design == "label" else ""
    return JudgingSample(design, drawn.strata, drawn.stratum, drawn.cell, drawn.probability, order.tolist(), saving)


def evenly(cell: Ints, rng: np.random.Generator) -> Floats:
    """Keys that put documents into a random order inside their cell, each cell spread evenly from 0 to 1."""
    shuffled = np.lexsort((rng.random(len(cell)), cell))
    first = np.searchsorted(cell[shuffled], cell[shuffled])
    size = np.searchsorted(cell[shuffled], cell[shuffled], side="right") - first
    offset = rng.random(int(cell.max(initial=0)) + 2)[cell[shuffled]]  # of cell -1 the last one
    keys = np.empty(len(cell))
    keys[shuffled] = (np.arange(len(cell)) - first + offset) / size
    return keys


def in_stays(topic: Ints, stay: int, rng: np.random.Generator) -> Floats:
    """Keys that put documents of a topic together in batches, each topic's batches spread evenly; what comes first in a
    topic stays first."""
    by_topic = np.argsort(topic, kind="stable")
    place = np.arange(len(topic)) - np.searchsorted(topic[by_topic], topic[by_topic])
    size = np.bincount(topic)[topic[by_topic]]
    offset = rng.random(int(topic.max(initial=0)) + 1)[topic[by_topic]]
    keys = np.empty(len(topic))
    keys[by_topic] = (place // stay + offset) / -(-size // stay)
    return keys


def sample_rows(sample: JudgingSample, documents: Candidates, judged: Collection[int]) -> list[tuple[Any, ...]]:
    """The design as `fathoms predict --sampled` reads it, for those of the sample that are judged.

    Where not all of it is, each cell's part is what was judged before the first document of the cell that was not, and
    its probabilities are smaller; what was judged after that one counts as known. Where a cell has no such part, all of
    the order counts as one: a document's chance is that of being drawn, times the share of the order that was judged.
    """
    done = np.zeros(len(documents), dtype=bool)
    done[list(judged)] = True
    order = np.array(sample.order, dtype=np.int64)
    first = _before_the_first_gap(sample.cell[order], done[order])
    probability, strata = sample.probability.copy(), list(sample.strata)
    stratum, sampled = sample.stratum.copy(), sample.stratum < 0
    if not done[order].all():
        known = order[done[order] & ~first]
        stratum[known], sampled[known] = -1, True
        cell = np.where(stratum < 0, -2, sample.cell) + 1  # 0: chances of their own
        size, taken = (np.bincount(cell[some], minlength=int(cell.max()) + 1) for some in (cell >= 0, order[first]))
        if not taken.any():
            raise FathomsError(f"none of the {pluralise(len(order), 'document')} of the sample is judged yet")
        if (taken[distinct(sample.cell[order]) + 1] == 0).any():
            return sample_rows(replace(sample, cell=np.full_like(sample.cell, -1)), documents, judged)
        share = taken / np.maximum(size, 1)
        # A chance of its own: drawn, and then among the first ones, given that it is none of those that are known.
        own = probability * taken[0] / len(order) / (1 - probability * len(known) / len(order)).clip(1e-9)
        probability = np.where(cell > 0, share[cell], np.minimum(own, 1.0))
        probability[stratum < 0] = 1.0
    sampled[order[first]] = True
    names = [*strata, TAKEN]
    rows = zip(
        [documents.topics[t] for t in documents.topic.tolist()],
        [document.decode(errors="surrogateescape") for document in documents.documents.tolist()],
        [names[i] for i in stratum.tolist()],
        probability.tolist(),
        sampled.astype(int).tolist(),
        strict=True,
    )
    return [COLUMNS, *rows]


def _before_the_first_gap(cell: Ints, done: Bools) -> Bools:
    """For documents in order: whether it and all before it in its cell are judged."""
    by_cell = np.argsort(cell, kind="stable")
    missing = np.cumsum(~done[by_cell])
    start = np.searchsorted(cell[by_cell], cell[by_cell])
    before = np.append(0, missing)[start]  # missing ones of earlier cells
    first = np.empty(len(cell), dtype=bool)
    first[by_cell] = missing == before
    return first
