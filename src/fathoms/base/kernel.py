"""The compiled kernel, if there is one: the only module that knows of it and chooses.

Each function here has a twin in numpy, which is the reference, and gives the same arrays as that, or None: if the
kernel was not built, if it is switched off (`FATHOMS_KERNEL=0`), and if the input is not plain, so that the twin does
the work and says what is wrong.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Text = NDArray[np.bytes_]
Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]

SWITCH = "FATHOMS_KERNEL"


def _loaded() -> ModuleType | None:
    if os.environ.get(SWITCH) == "0":
        return None
    try:
        from fathoms import _kernel
    except ImportError:
        return None
    return _kernel


compiled: ModuleType | None = _loaded()


def description() -> str:
    """What is in use, for `fathoms --version`."""
    if compiled is not None:
        return "compiled kernel"
    return f"numpy alone, {f'for {SWITCH} is 0' if os.environ.get(SWITCH) == '0' else 'no compiled kernel'}"


# -- what comes in -----------------------------------------------------------------------------------------------------


class Lines(NamedTuple):
    """The columns of plain lines, a row a line."""

    topic: Text
    document: Text
    number: Floats
    rank: Floats
    tag_at: int  # where the last column of the first line starts


def parse_lines(
    raw: bytes, start: int, stop: int, n_columns: int, rest_in_last: bool, columns: tuple[int, int, int, int], room: int
) -> Lines | None:
    """The lines from `start` to `stop`. `columns` says which hold topic, document, number and rank, -1 for no rank.

    None where a line is not plain: empty, a comment, or of another number of columns; and where the topics or documents
    are too long, or would take more than `room` bytes.
    """
    if compiled is None:
        return None
    parts = compiled.parse_lines(raw, start, stop, n_columns, rest_in_last, columns, room)
    if parts is None:
        return None
    _, topic_words, document_words, tag, topic, document, number, rank = parts
    return Lines(
        _text(topic, topic_words), _text(document, document_words), _floats(number), _floats(rank), start + tag
    )


class DictColumns(NamedTuple):
    """What a dict of dicts holds; topics without documents are left out."""

    topics: list[str]
    counts: NDArray[np.int64]  # documents of each topic
    document: Text
    number: Floats


def dict_columns(data: Any, dict_types: tuple[type, ...], number_types: tuple[type, ...]) -> DictColumns | None:
    """The rows of {topic: {document: number}}; None unless all ids are proper text, all dicts are of `dict_types`, and
    all numbers floats, ints or of `number_types`."""
    parts = None if compiled is None else compiled.dict_columns(data, dict_types, number_types)
    if parts is None:
        return None
    _, words, topics, counts, document, number = parts
    return DictColumns(topics, np.frombuffer(counts, np.int64)[: len(topics)], _text(document, words), _floats(number))


class Plan(NamedTuple):
    """Measures as sums over places: all in one array each, so that nothing is looked up when runs are scored."""

    kind: NDArray[np.int64]  # [measure]: see PLACE_SUMS
    cut: NDArray[np.int64]  # [measure]: places read
    weight: Floats  # [measure, rank]
    worth: Floats  # [measure, code]
    divisor: Floats  # [measure, topic]


def score_dict(
    data: Any,
    dict_types: tuple[type, ...],
    number_types: tuple[type, ...],
    topics: dict[str, int],
    judgments: list[dict[str, int]],
    plan: Plan,
    *,
    single: bool,
) -> tuple[Floats, int] | None:
    """Scores [measure, topic] of {topic: {document: number}}, ranked as trec_eval does (by numbers as float32 if
    `single`), and how many topics it answers; None where anything is not plain, or a ranking longer than the weights.

    `topics` has the row of each topic, and `judgments` the codes of each row's documents.
    """
    if compiled is None:
        return None
    scores = np.empty(plan.divisor.shape)
    answered = compiled.score_dict(data, dict_types, number_types, topics, judgments, single, *plan, scores)
    return None if answered is None else (scores, answered)


def list_ids(ids: list[Any]) -> Text | None:
    """Ids as texts; None unless all are proper: str, not empty and without a zero byte."""
    parts = None if compiled is None else compiled.list_ids(ids)
    return None if parts is None else _text(parts[1], parts[0])


def cut_ids(joined: bytes, lengths: NDArray[np.uint32]) -> tuple[Text, bool] | None:
    """Texts that were joined to one; and whether all are proper ids, not empty and without a zero byte."""
    if compiled is None:
        return None
    words, text, proper = compiled.cut_ids(joined, np.ascontiguousarray(lengths, dtype=np.uint32))
    return _text(text, words), bool(proper)


# -- keys --------------------------------------------------------------------------------------------------------------


def document_keys(documents: Text) -> Keys | None:
    """As `keys.document_keys`, for texts of a width that is a multiple of eight."""
    if compiled is None or documents.dtype.itemsize % 8 or not documents.dtype.itemsize:
        return None
    keys = np.empty(len(documents), dtype=np.uint64)
    compiled.document_keys(_bytes(documents), documents.dtype.itemsize // 8, keys)
    return keys


def has_repeats(documents: Keys, topic: NDArray[np.integer]) -> bool | None:
    """Whether a topic has a document twice, or two documents of one key."""
    if compiled is None:
        return None
    return bool(compiled.has_repeats(np.ascontiguousarray(documents), np.ascontiguousarray(topic, dtype=np.int32)))


def number_documents(
    document_keys: Keys, topic: NDArray[np.int32], documents: Text
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Where each document of a topic is first given, and the number in this order of every one given."""
    if compiled is None or documents.dtype.itemsize % 8:
        return None
    numbers, first = np.empty((2, len(topic)), dtype=np.int64)
    texts = _bytes(documents)
    words = documents.dtype.itemsize // 8
    n = compiled.number_documents(
        words, document_keys, np.ascontiguousarray(topic, dtype=np.int32), texts, numbers, first
    )
    return first[:n], numbers


def count_distinct(parts: list[Keys], bounds: NDArray[np.int64]) -> int | None:
    """How many distinct keys are in parts of lists of keys: in each from the first to the second of its bounds."""
    return None if compiled is None else int(compiled.count_distinct(parts, np.ascontiguousarray(bounds)))


# -- runs and judgments ------------------------------------------------------------------------------------------------


class Tables(NamedTuple):
    """Judgments to look documents up in, a table for each topic."""

    starts: bytes
    slots: bytes
    keys: Keys
    documents: Text
    codes: NDArray[np.int16]


def judgment_tables(
    topic: NDArray[np.int32], documents: Text, codes: NDArray[np.int16], n_topics: int
) -> Tables | None:
    keys = document_keys(documents)
    if compiled is None or keys is None:
        return None
    starts, slots = compiled.index_judgments(np.ascontiguousarray(topic), keys, n_topics)
    return Tables(bytes(starts), bytes(slots), keys, np.ascontiguousarray(documents), np.ascontiguousarray(codes))


class RankedRows(NamedTuple):
    """Rows of a run by topic and rank, and what the judgments say of each."""

    rows: NDArray[np.int64]
    tied: NDArray[np.bool_]
    keys: Keys
    judgment: NDArray[np.int32]
    codes: NDArray[np.int16]


TIE_BREAKS = {"none": 0, "documents": 1, "second": 2}


def rank_rows(
    tables: Tables,
    topic: NDArray[np.int32],
    primary: Floats,
    documents: Text,
    keys: Keys,
    *,
    sorts: bool,
    descending: bool,
    single: bool,
    break_ties: str,
    second: Floats | None = None,
) -> RankedRows | None:
    """The rows whose topic is not negative, by topic and, where it `sorts`, by `primary` (as float32 if `single`), ties
    broken as TIE_BREAKS says; and each looked up among the judgments."""
    if compiled is None or documents.dtype.itemsize % 8:
        return None
    n = len(topic)
    types = (np.int64, np.bool_, np.uint64, np.int32, np.int16)
    out: list[NDArray[Any]] = [np.empty(n, dtype=kind) for kind in types]
    known = compiled.rank_rows(
        documents.dtype.itemsize // 8,
        tables.documents.dtype.itemsize // 8,
        sorts,
        descending,
        single,
        TIE_BREAKS[break_ties],
        np.ascontiguousarray(topic),
        np.ascontiguousarray(primary),
        b"" if second is None else np.ascontiguousarray(second),
        _bytes(documents),
        np.ascontiguousarray(keys),
        tables.starts,
        tables.slots,
        tables.keys,
        _bytes(tables.documents),
        tables.codes,
        *out,
    )
    return RankedRows(*(array if known == n else array[:known].copy() for array in out))


# -- scores under many draws -------------------------------------------------------------------------------------------

PLACE_SUMS = {"running": 0, "greatest": 1, "stopping": 2, "weighted": 3}


def place_sums(
    kind: str,
    start: NDArray[np.int64],
    rank: NDArray[np.int64],
    document: NDArray[np.int64],
    weights: Floats,
    values: Floats,
) -> Floats | None:
    """[topic, draw]: what `sparse_places.Listed` sums over the places of a topic, in the order of the places."""
    if compiled is None or not values.size:
        return None
    total = np.empty((len(start) - 1, values.shape[1]))
    places = [np.ascontiguousarray(array, dtype=np.int64) for array in (start, rank, document)]
    factors = [np.ascontiguousarray(array, dtype=np.float64) for array in (weights, values)]
    compiled.place_sums(PLACE_SUMS[kind], values.shape[1], *places, *factors, total)
    return total


def count_levels(
    levels: NDArray[np.int16], topic: NDArray[np.int64], n_topics: int, n_levels: int
) -> NDArray[np.int64] | None:
    """[draw, topic, level]: how many documents have each level, from levels [draw, document]."""
    if compiled is None:
        return None
    counts = np.zeros((len(levels), n_topics, n_levels), dtype=np.int64)
    documents = np.ascontiguousarray(topic, dtype=np.int64)
    compiled.count_levels(n_topics, n_levels, np.ascontiguousarray(levels, dtype=np.int16), documents, counts)
    return counts


def draw_levels(
    lots: Floats,
    shared: NDArray[np.float32],
    effects: Floats,
    features: NDArray[np.float32],
    sharper: Floats,
    drifts: Floats,
    distances: Floats,
    of_owners: Floats,
    inside: Floats,
    topic: NDArray[np.int64],
    owner: NDArray[np.int64],
    levels: list[int],
) -> NDArray[np.int16] | None:
    """[draw, document]: the level of the last step whose chance is above the lot, and 0 where there is none.

    The chance of the first step is that of being `inside`, of which each step leaves a share. Its logit is the sum of
    what is `shared` [step, draw, document], of the effects [step, slope, draw, topic] times `features` [slope,
    document], and of what is `sharper` [step, document]; the first step's also of the drifts [draw, topic] times
    distances and of what is added for each owner [draw, owner].
    """
    if compiled is None:
        return None
    drawn = np.empty(lots.shape, dtype=np.int16)
    if drawn.size:
        doubles = [np.ascontiguousarray(array) for array in (sharper, drifts, distances, of_owners, inside)]
        numbers = [np.ascontiguousarray(array, dtype=np.int64) for array in (topic, owner, levels)]
        gathered = lots, np.ascontiguousarray(shared), effects, np.ascontiguousarray(features)
        compiled.draw_levels(effects.shape[-1], of_owners.shape[1], *gathered, *doubles, *numbers, drawn)
    return drawn


# -- pairs of runs -----------------------------------------------------------------------------------------------------


class Orders(NamedTuple):
    """Each ranking twice, first in the best order that its ties allow, then in the worst one."""

    group: NDArray[np.uint64]  # [ranking, rank]: the mark of a tie group, 0 where there is none
    ranks: NDArray[np.int32]  # [row, rank]: the rank, from 0, that the document there has at best, or at worst
    holds: NDArray[np.uint8]  # [row, rank]: what stands there in that order


def precision_pairs(
    ranks: NDArray[Any],
    place: NDArray[np.int32],
    holds: NDArray[np.uint8],
    R: Floats,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    others: NDArray[np.int64],
    *,
    witnesses: bool = False,
    orders: Orders | None = None,
) -> Floats | None:
    """[end, pair], end 0 the most that A - B can be and end 1 the most that B - A can be: as `differences.upper_bounds`
    of AP for pairs (a, b) of rankings, but for rounding and without a look at the ways of judging one by one. With
    `witnesses` [pair], as `differences.plain_witness`. With `orders` [pair], the most that A - B can be over all orders
    of ties, and nan where both have a tie group in common.

    `ranks` are by row and document, `place` and `holds` by row and rank: which document is there, and whether it is not
    relevant (0), relevant (1) or unjudged (2). `R` counts the relevant documents of each row's topic, `others` those
    that may turn out relevant: of the pair, and others; with `witnesses` those that neither ranking has.
    """
    if compiled is None or ranks.dtype != np.int16:
        return None
    holds = np.ascontiguousarray(holds, dtype=np.uint8)
    ties = (b"", b"", holds) if orders is None else orders
    if orders is not None:
        b = b + len(place)
    bounds = np.empty(len(a) if witnesses else (2, len(a)))
    plain = np.ascontiguousarray(ranks), np.ascontiguousarray(place), holds, np.ascontiguousarray(R, dtype=np.float64)
    numbers = [np.ascontiguousarray(rows, dtype=np.int64) for rows in (a, b, others)]
    compiled.precision_pairs(witnesses, ranks.shape[1], *plain, *ties, *numbers, bounds)
    return bounds if orders is None else bounds[0]


# -- buffers -----------------------------------------------------------------------------------------------------------


def _text(raw: bytearray, words: int) -> Text:
    text: Text = np.frombuffer(raw, dtype=f"S{8 * words}")
    return text


def _floats(raw: bytearray) -> Floats:
    return np.frombuffer(raw, dtype=np.float64)


def _bytes(text: Text) -> NDArray[np.uint8]:
    """Texts as what they are made of; arrays of text are no buffers that C could read."""
    return np.ascontiguousarray(text).view(np.uint8)
