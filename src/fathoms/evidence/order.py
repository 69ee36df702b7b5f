"""In which order a run's documents count, and which of them are tied.

The policies are those people use: trec_eval's (score, then document id, both descending), the file's order
(what LMC-depth recommends), the rank column, and score with rank (YMT-ties section 3).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base.choices import Precision as Precision
from fathoms.base.choices import Ties as Ties
from fathoms.base.errors import InputError
from fathoms.data.keys import words
from fathoms.data.lines import Text
from fathoms.data.runs import Run

Rows = NDArray[np.int64]

NEARLY_ALL = 0.9  # of the neighbours by rank have rising scores in a run that is upside down


def default_precision(ties: Ties) -> Precision:
    """trec_eval 9 keeps scores as C floats, and so ties more of them; matching it needs the same."""
    return "float32" if ties in ("trec", "expected") else "float64"


def compared(scores: NDArray[np.float64], precision: Precision) -> NDArray[Any]:
    """Scores as they are compared with each other."""
    if precision == "float64":
        return scores
    with np.errstate(over="ignore"):  # past float32's range it is infinite, for trec_eval too
        return scores.astype(np.float32)


def order_rows(
    run: Run, rows: Rows, topic: NDArray[np.int32], ties: Ties, precision: Precision
) -> tuple[Rows, NDArray[np.bool_]]:
    """The given rows of a run by topic and then in the policy's order; and which are tied with the one before.

    `topic` holds the rows' topics as numbers in the order wanted.
    """
    scores = compared(run.scores[rows], precision)
    keys: tuple[NDArray[Any], ...]
    primary: NDArray[Any]
    if ties == "rank":
        primary = given_ranks(run)[rows]
        keys = (primary, topic)
    elif ties == "run":
        keys, primary = (topic,), -scores
    else:
        keys, primary = (-scores, topic), -scores

    if not _sorted(keys):
        order = np.lexsort(keys)
        rows, topic, primary = rows[order], topic[order], primary[order]
    tied = tied_with_above(primary, topic)
    if ties in ("trec", "expected") and tied.any():
        rows = _documents_descending(run.documents, rows, tied)
    elif ties == "score-rank":
        rows = _ranks_ascending(given_ranks(run), rows, tied)
    return rows, tied


def tied_with_above(values: NDArray[Any], topic: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which rows have the value of the row above and its topic."""
    tied = np.zeros(len(values), dtype=bool)
    tied[1:] = (values[1:] == values[:-1]) & (topic[1:] == topic[:-1])
    return tied


def given_ranks(run: Run) -> NDArray[np.float64]:
    """The rank column, all of which has to hold numbers."""
    if run.ranks is None:
        raise InputError("has no rank column, so --ties rank and score-rank do not apply", run.source)
    bad = np.isnan(run.ranks)
    if bad.any():
        row = int(bad.argmax())
        document = run.documents[row].decode(errors="replace")
        where = f"{run.no_rank}: topic {run.topics[run.topic[row]]}, document {document}"
        raise InputError(
            f"{where}: the rank is not a number, so --ties rank and score-rank do not apply; use --ties trec",
            run.source,
        )
    return run.ranks


def _sorted(keys: tuple[NDArray[Any], ...]) -> bool:
    """Whether rows are already in order; keys as for lexsort, the last one the most important."""
    in_order: NDArray[np.bool_] | bool = True
    for key in keys:
        above, below = key[:-1], key[1:]
        in_order = (above < below) | ((above == below) & in_order)
    return bool(np.all(in_order))


def _documents_descending(documents: Text, rows: Rows, tied: NDArray[np.bool_]) -> Rows:
    """Sort each group of tied rows by document id, greatest bytes first."""
    rows = rows.copy()
    after = np.append(tied[1:], False)  # tied with the row after
    before = np.append(False, tied[:-1])  # the row before is tied with the one before it
    # Most groups are pairs, and a pair is sorted by at most one swap.
    second = np.flatnonzero(tied & ~after & ~before)
    upper, lower = (_big_endian(documents[rows[second - shift]]) for shift in (1, 0))
    wrong = second[_less(upper, lower)]
    rows[wrong - 1], rows[wrong] = rows[wrong], rows[wrong - 1]
    larger = tied & (after | before)
    member = larger | np.append(larger[1:] & tied[1:], False)
    places = np.flatnonzero(member)
    if len(places):
        groups = np.cumsum(~tied)[places]
        ids = ~_big_endian(documents[rows[places]])  # complements order the other way round
        order = np.lexsort((*(ids[:, i] for i in reversed(range(ids.shape[1]))), groups))
        rows[places] = rows[places[order]]
    return rows


def _ranks_ascending(ranks: NDArray[np.float64], rows: Rows, tied: NDArray[np.bool_]) -> Rows:
    """Sort each group of tied rows by rank; rows of equal rank stay as they are."""
    rows = rows.copy()
    places = np.flatnonzero(tied | np.append(tied[1:], False))
    order = np.lexsort((ranks[rows[places]], np.cumsum(~tied)[places]))
    rows[places] = rows[places[order]]
    return rows


def _big_endian(text: Text) -> NDArray[np.uint64]:
    """Words that order as the bytes do."""
    return words(text).byteswap()


def _less(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether a's row comes before b's, the first word that differs deciding."""
    less = np.zeros(len(a), dtype=bool)
    for i in reversed(range(a.shape[1])):
        less = (a[:, i] < b[:, i]) | ((a[:, i] == b[:, i]) & less)
    return less


def in_order(run: Run, ties: Ties, precision: Precision) -> tuple[Run, Rows, Rows]:
    """The run with its rows by topic and in the policy's order, ranks from 1; those ranks, and each topic's length."""
    rows, _ = order_rows(run, np.arange(len(run)), run.topic, ties, precision)
    topic = run.topic[rows]
    length = np.bincount(topic, minlength=len(run.topics))
    rank = np.arange(len(rows)) - (np.cumsum(length) - length)[topic] + 1
    ordered = replace(
        run,
        topic=topic,
        documents=run.documents[rows],
        keys=run.keys[rows],
        scores=run.scores[rows],
        ranks=rank.astype(np.float64),
    )
    return ordered, rank, length


def canonical(run: Run, ties: Ties, precision: Precision) -> Run:
    """The run as everybody reads it in one order, that of the policy, once it is written to a file.

    Ranks start at 1, and the score of rank r of n is n - r + 1: whole numbers that no two documents of a topic share,
    exact as float32 too up to sixteen million. Topics come as in the file, and the tag is the run's.
    """
    ordered, rank, length = in_order(run, ties, precision)
    return replace(ordered, scores=(length[ordered.topic] - rank + 1).astype(np.float64))


# -- what a file says against itself (YMT-ties section 3) ------------------------------------------------------


def in_both_orders(run: Run) -> bool:
    """Whether the rows are by topic, falling score and rising rank as they are."""
    assert run.ranks is not None
    return _sorted((-run.scores, run.topic)) and _sorted((run.ranks, run.topic))


def contradicting(run: Run) -> Rows:
    """Rows whose rank is less than that of the row above them in score order, where equal scores go by rank."""
    if run.ranks is None:
        return np.empty(0, dtype=np.int64)
    if in_both_orders(run):
        return np.empty(0, dtype=np.int64)
    rows = np.arange(len(run))
    if not _sorted((-run.scores, run.topic)):
        rows = np.lexsort((-run.scores, run.topic))
    rows = _ranks_ascending(run.ranks, rows, tied_with_above(run.scores[rows], run.topic[rows]))
    ranks, topic = run.ranks[rows], run.topic[rows]
    return rows[1:][(topic[1:] == topic[:-1]) & (ranks[1:] < ranks[:-1])]


def contradictions(run: Run) -> NDArray[np.bool_]:
    """For each topic of the run: does the rank column contradict the scores anywhere?"""
    affected = np.zeros(len(run.topics), dtype=bool)
    affected[run.topic[contradicting(run)]] = True
    return affected


def risen(run: Run) -> Rows:
    """Rows with a greater score than the line before them that is of the same topic."""
    order = in_file_order(run)
    scores, topic = run.scores[order], run.topic[order]
    return order[1:][(topic[1:] == topic[:-1]) & (scores[1:] > scores[:-1])]


def out_of_rank_order(run: Run) -> Rows:
    """Rows with a lower rank than the line before them that is of the same topic."""
    if run.ranks is None:
        return np.empty(0, dtype=np.int64)
    order = in_file_order(run)
    ranks, topic = run.ranks[order], run.topic[order]
    return order[1:][(topic[1:] == topic[:-1]) & (ranks[1:] < ranks[:-1])]


def in_file_order(run: Run) -> Rows:
    """All rows by topic, each topic's as they stand in the file."""
    if _sorted((run.topic,)):
        return np.arange(len(run))
    return np.argsort(run.topic, kind="stable")


def rank_ties(run: Run) -> Rows:
    """Rows with a rank that another row of their topic has too; the first of each rank does not count."""
    if run.ranks is None:
        return np.empty(0, dtype=np.int64)
    order = np.arange(len(run)) if _sorted((run.ranks, run.topic)) else np.lexsort((run.ranks, run.topic))
    ranks, topic = run.ranks[order], run.topic[order]
    return order[1:][(topic[1:] == topic[:-1]) & (ranks[1:] == ranks[:-1])]


def upside_down(run: Run) -> bool:
    """Whether scores rise with rank nearly everywhere, so that one of the two columns probably is upside down."""
    if run.ranks is None:
        return False
    order = np.lexsort((run.ranks, run.topic))
    scores, topic = run.scores[order], run.topic[order]
    differs = (topic[1:] == topic[:-1]) & (scores[1:] != scores[:-1])
    return bool(differs.any() and (scores[1:] > scores[:-1])[differs].mean() > NEARLY_ALL)
