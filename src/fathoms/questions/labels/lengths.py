"""Does a judge agree with people on long texts as well as on short ones? By thirds of the documents."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from fathoms.base.arrays import distinct
from fathoms.base.errors import InputError
from fathoms.data.texts import Entry, open_texts
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.inference import grade_agreement as agreement
from fathoms.inference.grade_agreement import Estimate, interval

Third = Literal["shortest", "middle", "longest"]


@dataclass(frozen=True)
class LengthAgreement:
    """How far labels agree with people on a third of the documents."""

    third: Third
    documents: int
    least: int  # characters of the shortest text
    most: int  # and of the longest
    kappa: Estimate  # on what is relevant
    agreed: Estimate  # share of the documents on which both say the same


def text_lengths(path: str | os.PathLike[str], documents: Sequence[bytes]) -> Floats:
    """Characters of title and body of each document's text, nan where it has none. Each text is read once."""
    names = [document.decode(errors="surrogateescape") for document in documents]
    texts = open_texts(path, set(names))
    by_name = {name: _characters(text) for name in set(names) if (text := texts.get(name)) is not None}
    if not by_name:
        raise InputError("has a text of none of the judged documents", os.fspath(path))
    return np.array([by_name.get(name, np.nan) for name in names])


def _characters(text: Entry) -> float:
    return float(len(text.title) + sum(map(len, text.body)))


def by_length(
    lengths: Floats, topic: Ints, relevant: Bools, positive: Bools, weight: Floats | None, seed: int
) -> list[LengthAgreement]:
    """Agreement on the shortest, middle and longest third of the documents, by whether people and labels call each
    relevant. Texts of the same length are in the same third; where that leaves one empty, there are no thirds."""
    has_text = np.flatnonzero(~np.isnan(lengths))
    edges = np.quantile(lengths[has_text], (1 / 3, 2 / 3), method="lower") if len(has_text) else np.empty(0)
    third = np.searchsorted(edges, lengths[has_text], side="left")
    if len(distinct(third)) < len(get_args(Third)):
        return []
    thirds = []
    for place, name in enumerate(get_args(Third)):
        rows = has_text[third == place]
        weights = np.ones(len(rows)) if weight is None else weight[rows]
        tables = _tables(topic[rows], relevant[rows], positive[rows], weights)
        draws = agreement.resampled(len(tables), seed)
        kappa, agreed = interval(_kappa, tables, draws), interval(_agreed, tables, draws)
        least, most = int(lengths[rows].min()), int(lengths[rows].max())
        thirds.append(LengthAgreement(name, len(rows), least, most, kappa, agreed))
    return thirds


def _tables(topic: Ints, relevant: Bools, positive: Bools, weights: Floats) -> Floats:
    """By topic: not relevant and relevant, for people and for the labels."""
    topics = distinct(topic)
    tables = np.zeros((len(topics), 2, 2))
    np.add.at(tables, (np.searchsorted(topics, topic), relevant.astype(int), positive.astype(int)), weights)
    return tables


def _kappa(tables: Floats) -> Floats:
    return agreement.kappa(tables, 1 - np.eye(2))


def _agreed(tables: Floats) -> Floats:
    return np.asarray(np.trace(tables, axis1=-2, axis2=-1) / tables.sum(axis=(-2, -1)))
