"""Scores of all runs under many ways of judging: from the levels that open documents get in each draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fathoms.base import kernel
from fathoms.data.qrels import JUDGED, PADDING
from fathoms.estimate.documents import Documents
from fathoms.evidence.candidates import Candidates
from fathoms.evidence.evidence import CHUNK_CELLS, Evidence, Floats, Ints
from fathoms.evidence.sparse_places import Listed, known_in_all
from fathoms.measures.base import Measure

CELLS = 1 << 21  # documents times draws that are worked on at a time,
DRAWS = 16  # and so many draws at the least


@dataclass(frozen=True, eq=False)
class Judging:
    """Some documents are judged, some are open, all others count as not relevant; judged ones that no run has too."""

    candidates: Candidates
    documents: Documents
    known: Ints  # rows of `documents` whose judgment counts
    open: Ints  # rows of `documents` that are drawn
    elsewhere: Ints  # [topic, level]: judged documents that are no candidates
    max_grade: float

    @cached_property
    def _number(self) -> Ints:
        """For each candidate its place among the known relevant and the open documents; -1 for all others."""
        number = np.full(len(self.candidates) + 1, -1)
        number[self.documents.number[self._listed_rows]] = np.arange(len(self._listed_rows))
        return number

    @cached_property
    def _listed_rows(self) -> Ints:
        relevant = self.known[self.documents.level[self.known] > 0]
        return np.concatenate([relevant, self.open])

    @cached_property
    def listed(self) -> list[Listed]:
        """The places of each run that count."""
        of_runs = []
        for place in self.candidates.place:
            here = self._number[place]
            topic, rank = np.nonzero(here >= 0)
            start = np.searchsorted(topic, np.arange(len(self.candidates.topics) + 1))
            of_runs.append(Listed(self.candidates.depth, start, rank + 1, here[topic, rank]))
        return of_runs

    @cached_property
    def known_counts(self) -> Ints:
        """Judged documents by topic and level; open ones are not relevant until they are drawn."""
        width = len(self.documents.levels)
        cells = self.documents.topic[self.known] * width + self.documents.level[self.known]
        known = np.bincount(cells, minlength=self.elsewhere.size).reshape(self.elsewhere.shape)
        return self.elsewhere + known

    def _codes(self, levels: NDArray[np.int16]) -> NDArray[np.int16]:
        """Codes [draw, listed document] from levels [draw, open document]."""
        n_known = len(self._listed_rows) - len(self.open)
        codes = np.empty((len(levels), len(self._listed_rows)), dtype=np.int16)
        codes[:, :n_known] = JUDGED + self.documents.level[self._listed_rows[:n_known]]
        codes[:, n_known:] = JUDGED + levels
        return codes

    def _counts(self, levels: NDArray[np.int16], more: Ints | int = 0) -> Ints:
        """Judged documents in all, [draw, topic, level]."""
        n, width = len(levels), len(self.documents.levels)
        topic = self.documents.topic[self.open]
        drawn = kernel.count_levels(levels, topic, *self.elsewhere.shape)
        if drawn is None:
            drawn = np.empty((n, *self.elsewhere.shape), dtype=np.int64)
            for of_draw, counts in zip(levels, drawn, strict=True):
                cells = topic * width + of_draw
                counts[:] = np.bincount(cells, minlength=self.elsewhere.size).reshape(counts.shape)
        drawn += self.known_counts + more
        return drawn

    def scores(
        self, measures: Sequence[Measure], levels: NDArray[np.int16], more: Ints | None = None
    ) -> dict[Measure, tuple[Floats, Floats]]:
        """For each measure scores [draw, run, topic], and what they would be if only R and ideal rankings changed, the
        open documents themselves being worth nothing. `more` documents [draw, topic, level] are in none of the runs."""
        shape = (len(levels), len(self.candidates.names), len(self.candidates.topics))
        by_measure = {measure: (np.empty(shape), np.empty(shape)) for measure in measures}
        none_relevant = self._codes(np.zeros((1, len(self.open)), dtype=np.int16))
        known: dict[Measure, Floats] = {}
        step = max(DRAWS, CELLS // max(1, len(self._listed_rows)))
        for first in range(0, len(levels), step):
            part = slice(first, first + step)
            codes, counts = self._codes(levels[part]), self._counts(levels[part], 0 if more is None else more[part])
            in_all = self._in_all(counts)
            for measure in measures:
                if measure.sums_listed:
                    if first == 0:  # what is known, in the same go as the first draws
                        sums = self._sums(measure, np.concatenate([none_relevant, codes]))
                        known[measure], drawn = sums[:, : shape[2]], sums[:, shape[2] :]
                    else:
                        drawn = self._sums(measure, codes)
                    for scores, sums in zip(
                        by_measure[measure], (drawn, np.tile(known[measure], len(codes))), strict=True
                    ):
                        value = measure.from_sums(sums, in_all).reshape(len(self.candidates.names), -1, shape[2])
                        scores[part] = np.moveaxis(value, 0, 1)
                else:
                    by_measure[measure][0][part] = self._whole(measure, codes, counts)
                    by_measure[measure][1][part] = self._whole(
                        measure, np.repeat(none_relevant, len(codes), axis=0), counts
                    )
        return by_measure

    def _sums(self, measure: Measure, codes: NDArray[np.int16]) -> Floats:
        """[run, draw and topic]"""
        known = self._in_all(self.known_counts[None])
        runs, documents = self._listed_to(None if measure.cutoff == "recall" else measure.k)
        values = measure.tie_value(known)[np.ascontiguousarray(codes[:, documents].T)]
        return np.stack([measure.listed_sums(listed, values, known).T.ravel() for listed in runs])

    def _listed_to(self, k: float | None) -> tuple[list[Listed], Ints]:
        """The places of each run in the first k ranks, and which of the listed documents stand there: these are
        numbered anew."""
        if k not in self._by_cutoff:
            runs = [listed.cut(k) for listed in self.listed]
            there = np.zeros(len(self._listed_rows), dtype=bool)
            for listed in runs:
                there[listed.document] = True
            number = np.cumsum(there) - 1
            runs = [replace(listed, document=number[listed.document]) for listed in runs]
            self._by_cutoff[k] = runs, np.flatnonzero(there)
        return self._by_cutoff[k]

    @cached_property
    def _by_cutoff(self) -> dict[float | None, tuple[list[Listed], Ints]]:
        return {}

    def _in_all(self, counts: Ints) -> Evidence:
        """What is known of the topics of each draw, from counts [draw, topic, level]."""
        topics = self.candidates.topics * len(counts)
        return known_in_all(topics, self.documents.levels, self.max_grade, counts.reshape(len(topics), -1))

    def _whole(self, measure: Measure, codes: NDArray[np.int16], counts: Ints) -> Floats:
        """Scores from whole rankings, a few draws at a time."""
        n, n_topics = len(codes), len(self.candidates.topics)
        # Known and not relevant, judged or not: it makes no difference once everything is judged.
        codes = np.concatenate([codes, np.full((n, 1), JUDGED, dtype=np.int16)], axis=1)
        scores = np.empty((n, len(self.candidates.names), n_topics))
        for run, place in enumerate(self.candidates.place):
            width = place.shape[1]
            if measure.k is not None and measure.cutoff != "recall":
                width = min(int(measure.k), width)
            number, past = self._number[place[:, :width]], place[:, :width] < 0
            step = max(1, CHUNK_CELLS // max(1, n_topics * width))
            for first in range(0, n, step):
                shown = np.where(past, np.int16(PADDING), codes[first : first + step][:, number])
                m = len(shown)
                evidence = Evidence(
                    topics=self.candidates.topics * m,
                    codes=shown.reshape(m * n_topics, width),
                    tied=np.zeros((m * n_topics, width), dtype=bool),
                    lengths=np.tile((place >= 0).sum(axis=1), m),
                    levels=self.documents.levels,
                    max_grade=self.max_grade,
                    counts=counts[first : first + step].reshape(m * n_topics, -1),
                    topic_numbers=np.tile(np.arange(n_topics), m),
                )
                scores[first : first + step, run] = measure.value(evidence).reshape(m, n_topics)
        return scores
