"""What is wrong with a run's file: ties, ranks that contradict scores, scores that rise (YMT-ties section 2)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathoms.base.files import read_bytes
from fathoms.data.runs import Run
from fathoms.evidence.order import (
    Precision,
    Rows,
    compared,
    contradicting,
    in_file_order,
    out_of_rank_order,
    rank_ties,
    risen,
    tied_with_above,
    upside_down,
)


@dataclass(frozen=True)
class Anomalies:
    """What a run's scores and ranks leave open or contradict, counted over all of its documents."""

    run: str
    topics: int
    documents: int
    tied: int  # documents with the score of the one above them in score order (Table 1)
    tied_topics: int
    tied_float32: int  # the same for scores as trec_eval 9 reads them
    tied_above: int  # tied documents among the first `depth` of their topic
    across: int  # topics in which a group of tied documents extends across place `depth`
    risen: int  # lines with a greater score than the line above ("254 instances")
    risen_topics: int
    exponents: int | None  # of the documents out of order, those where an exponent was overlooked; None: no text
    contradictions: int  # neighbours in score order whose ranks say the opposite (Table 1)
    contradicted_topics: int
    out_of_rank_order: int  # lines with a lower rank than the line above ("7.3% of the documents")
    out_of_rank_order_topics: int
    rank_ties: int  # documents with a rank that their topic already had
    upside_down: bool  # scores rise with rank nearly everywhere


def anomalies(run: Run, precision: Precision = "float64", depth: int = 10) -> Anomalies:
    """Count a run's anomalies; scores are tied as numbers of the given precision."""
    rises, wrong, fallen = risen(run), contradicting(run), out_of_rank_order(run)
    order = np.lexsort((-run.scores, run.topic)) if len(rises) else in_file_order(run)
    topic, scores = run.topic[order], run.scores[order]
    tied, single = (tied_with_above(compared(scores, kind), topic) for kind in (precision, "float32"))
    place = np.arange(len(run)) - np.searchsorted(topic, np.arange(len(run.topics)))[topic] + 1
    return Anomalies(
        run=run.name,
        topics=len(run.topics),
        documents=len(run),
        tied=int(tied.sum()),
        tied_topics=_different(topic[tied]),
        tied_float32=int(single.sum()),
        tied_above=int((tied & (place <= depth)).sum()),
        across=int((tied & (place == depth + 1)).sum()),
        risen=len(rises),
        risen_topics=_different(run.topic[rises]),
        exponents=overlooked_exponents(run, rises),
        contradictions=len(wrong),
        contradicted_topics=_different(run.topic[wrong]),
        out_of_rank_order=len(fallen),
        out_of_rank_order_topics=_different(run.topic[fallen]),
        rank_ties=len(rank_ties(run)),
        upside_down=len(wrong) > 0 and upside_down(run),
    )


def _different(numbers: NDArray[np.int32]) -> int:
    return len(set(numbers.tolist()))


def overlooked_exponents(run: Run, rises: Rows) -> int | None:
    """Documents that stand where their score would belong had it no exponent: `-7.763e-05` after `-1.37`.

    Our reading of the paper's example. A score written with an exponent counts if, in the order of the file, some score
    above it is less or some below it greater, and if none is with every exponent of the topic left out. A run keeps
    numbers only, so the file is read once more, and only if scores rise. None if there is no text to read.
    """
    if not len(rises):
        return 0
    if not os.path.isfile(run.source):
        return None
    affected = np.zeros(len(run.topics), dtype=bool)
    affected[run.topic[rises]] = True
    rows = in_file_order(run)
    rows = rows[affected[run.topic[rows]]]
    written = _written_scores(run.source)
    topics = [topic.encode(errors="surrogateescape") for topic in run.topics]
    keys = zip(run.topic[rows].tolist(), run.documents[rows].tolist(), strict=True)
    texts = [written.get((topics[topic], document)) for topic, document in keys]
    if None in texts:
        return None
    halves = [text.lower().partition(b"e") for text in texts if text is not None]
    has_exponent = np.array([bool(e) for _, e, _ in halves])
    bare = run.scores[rows].copy()
    bare[has_exponent] = [float(mantissa) for mantissa, e, _ in halves if e]
    count = 0
    for topic in np.flatnonzero(affected):
        here = run.topic[rows] == topic
        wrong = has_exponent[here] & ~_in_place(run.scores[rows][here]) & _in_place(bare[here])
        count += int(wrong.sum())
    return count


def _written_scores(source: str) -> dict[tuple[bytes, bytes], bytes]:
    """The score of each topic and document as it is written, the first one where there are two."""
    texts: dict[tuple[bytes, bytes], bytes] = {}
    for line in read_bytes(source).removeprefix(b"\xef\xbb\xbf").splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6:
            texts.setdefault((fields[0], fields[2]), fields[4])
    return texts


def _in_place(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether no score above is less and none below greater."""
    least_above = np.append(np.inf, np.minimum.accumulate(scores)[:-1])
    most_below = np.append(np.maximum.accumulate(scores[::-1])[-2::-1], -np.inf)
    return (scores <= least_above) & (scores >= most_below)


@dataclass(frozen=True)
class Affected:
    """How many systems, system-topic combinations and documents have something, of how many (a row of Table 1)."""

    kind: str
    systems: int
    system_topics: int
    documents: int
    of: tuple[int, int, int]

    @property
    def percent(self) -> tuple[float, float, float]:
        counts = (self.systems, self.system_topics, self.documents)
        systems, system_topics, documents = (
            100 * n / total if total else 0.0 for n, total in zip(counts, self.of, strict=True)
        )
        return systems, system_topics, documents


def affected(anomalies_of_runs: Sequence[Anomalies]) -> tuple[Affected, Affected, Affected]:
    """YMT-ties Table 1: tied scores, and rank/score contradictions; and lines out of rank order (section 3)."""
    of = (
        len(anomalies_of_runs),
        sum(of_run.topics for of_run in anomalies_of_runs),
        sum(of_run.documents for of_run in anomalies_of_runs),
    )
    return (
        Affected(
            "tied scores",
            sum(of_run.tied > 0 for of_run in anomalies_of_runs),
            sum(of_run.tied_topics for of_run in anomalies_of_runs),
            sum(of_run.tied for of_run in anomalies_of_runs),
            of,
        ),
        Affected(
            "rank/score contradictions",
            sum(of_run.contradictions > 0 for of_run in anomalies_of_runs),
            sum(of_run.contradicted_topics for of_run in anomalies_of_runs),
            sum(of_run.contradictions for of_run in anomalies_of_runs),
            of,
        ),
        Affected(
            "lines out of rank order",
            sum(of_run.out_of_rank_order > 0 for of_run in anomalies_of_runs),
            sum(of_run.out_of_rank_order_topics for of_run in anomalies_of_runs),
            sum(of_run.out_of_rank_order for of_run in anomalies_of_runs),
            of,
        ),
    )
