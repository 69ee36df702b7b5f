"""Chunks of documents rolled up: a ranking of chunks as one of documents, judgments of chunks as those of documents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from fathoms.base import choices
from fathoms.base.choices import RollUp, checked
from fathoms.base.errors import FathomsError
from fathoms.data.keys import document_keys, topic_keys
from fathoms.data.lines import Text
from fathoms.data.qrels import Qrels
from fathoms.data.runs import Run, read_run
from fathoms.evidence.order import Ties, default_precision, in_order, order_rows

Data = TypeVar("Data", Run, Qrels)
SEPARATOR = "#"


def parents(chunks: Text, separator: str) -> Text:
    """Ids without their last separator and what follows; those that have none, or nothing before it, as they are."""
    mark = np.frombuffer(separator.encode(errors="surrogateescape"), dtype=np.uint8)
    letters = np.ascontiguousarray(chunks).view(np.uint8).reshape(len(chunks), -1)
    width = letters.shape[1]
    if width <= len(mark):
        return chunks
    starts = np.ones((len(chunks), width - len(mark) + 1), dtype=bool)
    for i, letter in enumerate(mark.tolist()):
        starts &= letters[:, i : i + starts.shape[1]] == letter
    starts[:, 0] = False
    last = np.where(starts.any(axis=1), starts.shape[1] - 1 - starts[:, ::-1].argmax(axis=1), width)
    cut: Text = np.where(np.arange(width) < last[:, None], letters, np.uint8(0)).view(chunks.dtype).ravel()
    return cut


def roll_up(data: Any, how: RollUp = "max", *, separator: str = SEPARATOR, ties: Ties = "trec") -> Any:
    """A run of chunks as a run of documents, each document once; or judgments of chunks as judgments of documents.

    A document's id is that of its chunks without the last `separator` and what follows. With `max` it gets the score
    of its best chunk, and documents are ranked by score (equal ones by id, as trec_eval does). With `first` it gets the
    score and the place of its chunk that comes first in the order of `ties`. Judgments get the greatest grade of a
    document's chunks. `data` is a run, judgments (`Qrels`), or whatever `fm.read_run` reads.

    >>> import fathoms as fm
    >>> fm.roll_up({"1": {"d1#0": 2.0, "d2#4": 3.0, "d1#7": 5.0}}).to_dict()
    {'1': {'d1': 5.0, 'd2': 3.0}}
    """
    checked("how", choices.one_of, choices.ROLL_UPS, how)
    checked("ties", choices.one_of, choices.TIES, ties)
    choices.an_order(ties, "roll_up")
    if not separator:
        raise FathomsError("separator: expected what stands between document and chunk, such as #, found nothing")
    if isinstance(data, Qrels):
        return _judgments(_checked(data, separator), separator)
    run = _checked(data if isinstance(data, Run) else read_run(data), separator)
    return _best(run, separator) if how == "max" else _first(run, separator, ties)


def _checked(data: Data, separator: str) -> Data:
    if not np.array_equal(parents(data.documents, separator), data.documents):
        return data
    shown = data.documents[0].decode(errors="replace")
    raise FathomsError(
        f"{data.source}: no document id has {separator!r} in it, found {shown!r}; name another separator"
    )


def _best(run: Run, separator: str) -> Run:
    documents = parents(run.documents, separator)
    keys = document_keys(documents)
    _, first, group = np.unique(topic_keys(keys, run.topic), return_index=True, return_inverse=True)
    scores = np.full(len(first), -np.inf)
    np.maximum.at(scores, group, run.scores)
    kept = np.sort(first)  # topics stay in their order
    rolled = replace(
        run,
        topic=run.topic[kept],
        documents=documents[kept],
        keys=keys[kept],
        scores=scores[group[kept]],
        ranks=None,
    )
    return in_order(rolled, "trec", default_precision("trec"))[0]


def _first(run: Run, separator: str, ties: Ties) -> Run:
    rows, _ = order_rows(run, np.arange(len(run)), run.topic, ties, default_precision(ties))
    documents = parents(run.documents[rows], separator)
    keys = document_keys(documents)
    _, first = np.unique(topic_keys(keys, run.topic[rows]), return_index=True)
    kept = np.sort(first)
    rolled = replace(
        run,
        topic=run.topic[rows[kept]],
        documents=documents[kept],
        keys=keys[kept],
        scores=run.scores[rows[kept]],
        ranks=None,
    )
    ordered, _, _ = in_order(rolled, "run", "float64")
    falls = (ordered.topic[1:] != ordered.topic[:-1]) | (ordered.scores[1:] < ordered.scores[:-1])
    if falls.all():
        return ordered
    note = f"{run.source}: documents in the order of first chunks have equal or rising scores; read it with --ties rank"
    return replace(ordered, notes=[*run.notes, note])


def _judgments(qrels: Qrels, separator: str) -> Qrels:
    documents = parents(qrels.documents, separator)
    keys = topic_keys(document_keys(documents), qrels.topic)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    grades = np.full(len(first), -np.inf)
    np.maximum.at(grades, group, qrels.grades)
    kept = np.sort(first)
    return Qrels(qrels.topics, qrels.topic[kept], documents[kept], grades[group[kept]], qrels.source, qrels.notes)
