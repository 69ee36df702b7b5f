"""Other experts that Carterette (2007) names: scores in place of ranks (section 3.2), similar documents (section 6).

"A method such as the one used by Manmatha et al. could be used to convert scores into probabilities of relevance."
Theirs is a mixture: within a topic of a run, scores of documents that are not relevant are exponential and those of
relevant ones normal. It is fitted without judgments, and the posterior is q*. Calibration and aggregation are as for
ranks.

"We could estimate probabilities by looking at similarities between documents." Our reading: one more expert, who says
of a document how similar its text is (cosine of tf-idf) to the documents of its topic that are judged relevant, itself
excluded, and who is calibrated and aggregated as the others are.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base.errors import FathomsError
from fathoms.data.texts import open_texts
from fathoms.estimate.relevance import Experts, Relevance, Scale
from fathoms.evidence.align import Ranked
from fathoms.evidence.candidates import Block, Candidates
from fathoms.evidence.evidence import Bools, Floats, Ints

STEPS = 60  # of expectation and maximisation
LEAST_SPREAD = 0.05  # of the normal part, on scores from 0 to 1
FIRST_SHARE = 0.1  # relevant, before the first step


def scores_by_rank(ranked: Sequence[Ranked], place: NDArray[np.int32]) -> Floats:
    """Scores [system, topic, rank] of the documents of `place`, NaN past the end of a ranking."""
    scores = np.full(place.shape, np.nan)
    for row, of_run in zip(scores, ranked, strict=True):
        kept = of_run.rank <= place.shape[2]
        row[of_run.topic[kept], of_run.rank[kept] - 1] = of_run.run.scores[of_run.rows[kept]]
    scores[place < 0] = np.nan
    return scores


def score_chances(scores: Floats) -> Floats:
    """The posterior of the mixture for each document of each ranking, 0 past its end.

    It may fall again at the highest scores, where the exponential has the heavier tail; a document is then given the
    greatest posterior of those below it, so that it never loses by a higher score (Manmatha and Sever: the same
    problem). A ranking without two different scores says the same of all its documents.
    """
    known = np.isfinite(scores)
    x = np.where(known, scores, np.inf)
    low = x.min(axis=-1, keepdims=True)
    high = np.where(known, scores, -np.inf).max(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        x = np.where(known & (high > low), (scores - low) / np.where(high > low, high - low, 1.0), 0.0)
    count = np.maximum(known.sum(axis=-1, keepdims=True), 1)
    share = np.full(count.shape, FIRST_SHARE)
    middle, spread = np.full(count.shape, 0.8), np.full(count.shape, 0.2)
    rate = 1 / np.maximum(np.where(known, x, 0.0).sum(axis=-1, keepdims=True) / count, 1e-3)
    posterior = np.zeros(x.shape)
    for _ in range(STEPS):
        normal = share * np.exp(-0.5 * ((x - middle) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
        exponential = (1 - share) * rate * np.exp(-rate * x)
        posterior = np.where(known, normal / np.maximum(normal + exponential, 1e-300), 0.0)
        nonrelevant = np.where(known, 1 - posterior, 0.0)
        total = np.maximum(posterior.sum(axis=-1, keepdims=True), 1e-9)
        share = np.clip(total / count, 0.01, 0.99)
        middle = (posterior * x).sum(axis=-1, keepdims=True) / total
        variance = (posterior * (x - middle) ** 2).sum(axis=-1, keepdims=True) / total
        spread = np.maximum(np.sqrt(variance), LEAST_SPREAD)
        rate = nonrelevant.sum(axis=-1, keepdims=True) / np.maximum((nonrelevant * x).sum(axis=-1, keepdims=True), 1e-3)
    risen = np.maximum.accumulate(posterior[..., ::-1], axis=-1)[..., ::-1]
    return np.where(known, np.where(high > low, risen, FIRST_SHARE), 0.0)


class ScoredExperts(Experts):
    """RTC's experts with q* from their scores: `chances` [system, topic, rank] of all systems by name."""

    def __init__(
        self, block: Block, labels: Floats | None = None, *, names: Sequence[str], chances: Floats, **reading: Any
    ) -> None:
        super().__init__(block, labels, **reading)
        systems = [list(names).index(name) for name in block.names]
        self._from_scores = block.by_column(chances[systems].transpose(1, 0, 2))

    def _reported(self, block: Block, table: Floats, labels: Floats | None) -> tuple[Floats, Bools]:
        by_rank, has_opinion = super()._reported(block, table, labels)
        reported = by_rank.copy()
        reported[:, : self._from_scores.shape[1]] = self._from_scores
        return reported, has_opinion


# -- texts ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Texts:
    """Words of the candidates' documents: tf-idf vectors of length 1, and the row of each candidate."""

    vectors: Any  # a sparse matrix [document, word]
    row: Ints


def read_texts(path: str | os.PathLike[str], candidates: Candidates) -> Texts:
    """A document without a text is similar to none."""
    from scipy.sparse import csr_matrix

    distinct, row = np.unique(candidates.documents, return_inverse=True)
    names = [document.decode(errors="surrogateescape") for document in distinct.tolist()]
    source = open_texts(path, set(names))
    if not len(source):
        raise FathomsError(f"{os.fspath(path)}: has the text of no document of the runs")
    words: dict[str, int] = {}
    data, indices, starts = [], [], [0]
    for name in names:
        entry = source.get(name)
        text = "" if entry is None else " ".join((entry.title, *entry.body)).lower()
        for word, count in Counter(re.findall(r"\w+", text)).items():
            indices.append(words.setdefault(word, len(words)))
            data.append(1 + np.log(count))
        starts.append(len(data))
    shape = (len(names), max(1, len(words)))
    plain = csr_matrix((np.array(data, dtype=np.float64), indices, starts), shape=shape)
    in_documents = np.bincount(plain.indices, minlength=shape[1])
    weighted = plain.multiply(np.log(len(names) / np.maximum(in_documents, 1))[None, :]).tocsr()
    length = np.sqrt(_squared(weighted))
    scale = np.where(length > 0, 1 / np.where(length > 0, length, 1.0), 0.0)
    return Texts(weighted.multiply(scale[:, None]).tocsr(), row)


def _squared(vectors: Any) -> Floats:
    """Squared lengths of the rows."""
    squares: Floats = np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel()
    return squares


class SimilarExperts(Experts):
    """RTC's experts, and one who goes by similarity to the documents judged relevant."""

    def __init__(self, block: Block, labels: Floats | None = None, *, texts: Texts, **reading: Any) -> None:
        super().__init__(block, labels, **reading)
        self._texts = texts
        self._rows = [texts.row[block.number[topic][block.present[topic]]] for topic in range(len(block.number))]

    def fit(self, judged: Bools, relevant: Bools) -> Relevance:
        self.labels = self._similarity(judged & relevant)
        self.scale = Scale(self.labels, self.block.present)
        return super().fit(judged, relevant)

    def _similarity(self, relevant: Bools) -> Floats:
        """[topic, column, 1]: mean cosine with the documents of the topic judged relevant, other than itself."""
        similar = np.zeros((*relevant.shape, 1))
        for topic, rows in enumerate(self._rows):
            present = self.block.present[topic]
            is_relevant = relevant[topic][present]
            if is_relevant.any():
                vectors = self._texts.vectors[rows]
                total = np.asarray(vectors[is_relevant].sum(axis=0)).ravel()
                sums = vectors @ total - np.where(is_relevant, _squared(vectors), 0.0)
                similar[topic, present, 0] = sums / np.maximum(is_relevant.sum() - is_relevant, 1)
        return similar
