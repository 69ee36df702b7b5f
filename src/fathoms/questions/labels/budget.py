"""How many human judgments are worth having besides labels.

Two questions. How well is the source's calibration known, that is, by how much it calls too many or too few documents
relevant? And how many random human judgments of a run's documents does a score need, if all of them are labelled?
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.evidence.evidence import Bools, Floats

HALF_WIDTHS = (0.05, 0.02, 0.01)
DEPTH = 10  # the score is the share of relevant documents in a run's first places
NORMAL = 1.959963984540054  # of a 95% interval


@dataclass(frozen=True)
class Calibration:
    """How many documents are labelled relevant, and how many judged so; and how well the difference is known."""

    labelled: float  # share of the documents labelled relevant
    judged: float  # share judged relevant
    se: float  # standard error, with topics as a sample
    topic_share: float  # the part of its variance that more documents of the same topics would not reduce
    to_halve: int | None  # further judgments on the same topics that would halve it; None: none would

    @property
    def error(self) -> float:
        """By how much the labels' share is too high."""
        return self.labelled - self.judged


@dataclass(frozen=True)
class Budget:
    """Random human judgments for the share of relevant documents among `documents`, all of them labelled."""

    documents: int
    with_labels_sd: float  # of a judgment around what its label predicts
    without_sd: float  # of a judgment around the mean
    needed: dict[float, tuple[int, int]]  # by half width of the 95% interval: with labels, and without

    def to_halve(self, judged: int) -> int:
        """Further random judgments that halve the interval, where so many of the documents are judged at random."""
        if not 0 < judged < self.documents:
            raise FathomsError(f"expected a number from 1 to {self.documents - 1:,}, found {judged!r}")
        left = (1 / judged - 1 / self.documents) / 4
        return int(np.ceil(round(1 / (left + 1 / self.documents) - judged, 9)))


def calibration(counts: Floats, relevant: Bools, positive: Bools) -> Calibration | None:
    """From tables [topic, grade, label]; None where one topic is all there is.

    The error of a document, label minus judgment as 0 or 1, is that of its topic plus its own, with variances from the
    analysis of variance between and within topics.
    """
    error = positive.astype(np.float64)[None, :] - relevant.astype(np.float64)[:, None]
    n = counts.sum(axis=(1, 2))
    total, topics = float(n.sum()), len(n)
    if topics < 2 or total <= topics:
        return None
    mean_of = (counts * error).sum(axis=(1, 2)) / n
    mean = float((n * mean_of).sum() / total)
    within = float(((counts * error**2).sum(axis=(1, 2)) - n * mean_of**2).sum() / (total - topics))
    between = float((n * (mean_of - mean) ** 2).sum() / (topics - 1))
    size = (total - float((n**2).sum()) / total) / (topics - 1)
    of_topics = max(0.0, (between - within) / size) * float((n**2).sum()) / total**2
    variance = of_topics + within / total
    judged = float(counts[:, relevant].sum()) / total
    if variance <= 0:
        return Calibration(judged + mean, judged, 0.0, 0.0, None)
    room = variance / 4 - of_topics
    to_halve = int(np.ceil(within / room - total)) if room > 0 else None
    return Calibration(judged + mean, judged, float(np.sqrt(variance)), of_topics / variance, to_halve)


def budget(table: Floats, relevant: Bools, documents: int) -> Budget | None:
    """From the table [grade, label] of documents like those that the score is made of.

    Labels for all N documents and random judgments of n of them give the mean expected from the labels plus the mean
    error of the n judged ones, a difference or prediction-powered estimate (Angelopoulos et al. 2023). Its variance is
    s^2 / n (1 - n/N), where s^2 is that of judgments around the mean of those with the same label; without labels s^2
    is that of all judgments. For a half width h: n = m / (1 + m/N), m = (1.96 s / h)^2.
    """
    n_label, n_relevant = table.sum(axis=0), table[relevant].sum(axis=0)
    seen = n_label > 0
    total, used = float(n_label.sum()), int(seen.sum())
    if total <= used or total < 2:
        return None
    share = n_relevant[seen] / n_label[seen]
    left = float((n_label[seen] * share * (1 - share)).sum()) / (total - used)
    mean = float(n_relevant.sum()) / total
    alone = mean * (1 - mean) * total / (total - 1)
    needed = {h: (judgments(left, h, documents), judgments(alone, h, documents)) for h in HALF_WIDTHS}
    return Budget(documents, float(np.sqrt(left)), float(np.sqrt(alone)), needed)


def judgments(variance: float, half_width: float, documents: int) -> int:
    """Random judgments of that many documents, for a 95% interval of that half width."""
    needed = NORMAL**2 * variance / half_width**2
    return int(np.ceil(round(needed / (1 + needed / documents), 9)))
