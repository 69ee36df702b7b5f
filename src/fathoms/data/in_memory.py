"""Tables of what Python programs hold in memory: dicts of dicts, and columns that are lists or arrays.

Plain input (ids that are text, numbers that are numbers) is taken in as a whole, without looking at each item in
Python. Everything else goes through frames (`columns.py`), where ids and numbers may be of any kind, and where errors
are explained.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from fathoms.base import kernel
from fathoms.base.errors import InputError
from fathoms.data.column_names import column_for, run_columns, twins
from fathoms.data.lines import Floats, Layout, Table, Text
from fathoms.data.widths import room_for, too_wide, width_for

DICTS = (dict, defaultdict)  # others may have an order of their own, or make up what they hold
NUMBERS = (np.float64, np.float32, np.float16, np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32)


def table_of_dict(data: Any, layout: Layout, source: str, *, lenient: bool, sparse: bool = False) -> Table:
    """The rows of {topic: {document: number}}."""
    parts = kernel.dict_columns(data, DICTS, NUMBERS) or _dict_columns(data)
    if parts is None or not len(parts.number) or layout.bad(parts.number).any():
        return _explained(data, layout, source, lenient, sparse)
    topics = ids_of(parts.topics)
    room = room_for(parts.document.nbytes)
    if topics is None or too_wide("topic", len(parts.number), topics.dtype.itemsize, room):
        return _explained(data, layout, source, lenient, sparse)
    return Table(
        topic=np.repeat(topics, parts.counts),
        document=parts.document,
        number=parts.number,
        source=source,
        unit="row",
        numbered=(parts.topics, np.repeat(np.arange(len(parts.topics), dtype=np.int32), parts.counts)),
        distinct=True,
    )


def _explained(data: Any, layout: Layout, source: str, lenient: bool, sparse: bool) -> Table:
    """Through a frame, which explains what is wrong."""
    from fathoms.data import columns

    return columns.checked_table_of_dict(data, layout, source, lenient=lenient, sparse=sparse)


def _dict_columns(data: Any) -> kernel.DictColumns | None:
    """What the kernel finds, if there is no kernel."""
    if type(data) not in DICTS or not _all_of(data.values(), DICTS) or ids_of(list(data)) is None:
        return None
    rankings = {topic: ranking for topic, ranking in data.items() if ranking}
    documents = ids_of([document for ranking in rankings.values() for document in ranking])
    numbers = _numbers([number for ranking in rankings.values() for number in ranking.values()])
    if documents is None or numbers is None:
        return None
    counts = np.array([len(ranking) for ranking in rankings.values()], dtype=np.int64)
    return kernel.DictColumns(list(rankings), counts, documents, numbers)


def table_of_rankings(data: Mapping[Any, Any], layout: Layout, source: str, *, lenient: bool) -> Table:
    """The rows of {topic: [document, ...]}, best first: of n documents the first has score n, the last 1."""
    for topic, ranking in data.items():
        if not isinstance(ranking, list | tuple | np.ndarray):
            other = f"found {type(ranking).__name__} for {topic!r}"
            raise InputError(f"expected {{topic: [document, ...]}}, {other}", source)
    lengths = [len(ranking) for ranking in data.values()]
    columns = {
        "topic": [topic for topic, n in zip(data, lengths, strict=True) for _ in range(n)],
        "document": [document for ranking in data.values() for document in ranking],
        "score": [float(n - i) for n in lengths for i in range(n)],
        "rank": [i + 1 for n in lengths for i in range(n)],
    }
    return table_of_columns(columns, layout, source, lenient=lenient)


def table_of_columns(
    data: Mapping[str, Any], layout: Layout, source: str, *, lenient: bool, sparse: bool = False
) -> Table:
    """Rows from columns by their names, each a list or an array."""
    return plain_table(data, layout, source) or _frame_table(data, layout, source, lenient, sparse)


def _frame_table(data: Mapping[str, Any], layout: Layout, source: str, lenient: bool, sparse: bool) -> Table:
    from fathoms.data import columns

    frame = columns.frame_of_columns(data, source)
    return columns.table_of_frame(frame, layout, source, lenient=lenient, sparse=sparse)


def plain_table(data: Mapping[str, Any], layout: Layout, source: str) -> Table | None:
    """The same where all ids and numbers are plain, and None elsewhere."""
    names = [column_for(wanted, data) for wanted in ("topic", "document", layout.number)]
    if None in names or twins(layout.number, data):
        return None
    if layout.kind == "run" and any(len(set(map(str, data[name]))) > 1 for name in run_columns(data)):
        return None
    topic, document = (ids_of(data[name or ""]) for name in names[:2])
    number = _numbers(data[names[2] or ""])
    rank_name = column_for("rank", data) if "rank" in layout.columns else None
    has_rank = rank_name is not None
    rank = None if rank_name is None else _numbers(data[rank_name])
    if topic is None or document is None or number is None or (has_rank and rank is None):
        return None
    columns = [topic, document, number] + ([] if rank is None else [rank])
    if not len(number) or {len(column) for column in columns} != {len(number)} or layout.bad(number).any():
        return None
    if rank is not None and np.isnan(rank).any():
        return None
    tags = data["tag"] if "tag" in layout.columns and "tag" in data else [""]
    return Table(topic, document, number, source, rank=rank, tag=str(tags[0]), unit="row")


def ids_of(values: Any) -> Text | None:
    """Ids as text of a width that is a multiple of eight; None unless all are proper ones."""
    if isinstance(values, np.ndarray):
        if values.ndim != 1 or values.dtype.kind not in "OUiu":
            return None
        values = list(map(str, values.tolist())) if values.dtype.kind in "iu" else values.tolist()
    if type(values) is not list:
        return None
    return _joined_ids(values) if kernel.compiled is None else kernel.list_ids(values)


def _joined_ids(ids: list[Any]) -> Text | None:
    """The ids as one text, cut again by their lengths."""
    if not _all_of(ids, [str]):
        return None
    try:
        joined = "".join(ids).encode()
    except UnicodeEncodeError:
        return None
    lengths = list(map(len, ids))
    if sum(lengths) != len(joined):  # some characters take more than a byte
        lengths = [len(id.encode()) for id in ids]
    size = np.array(lengths, dtype=np.int64)
    longest = int(size.max(initial=0))
    if 0 in joined or not size.all() or too_wide("document", len(size), longest, room_for(len(joined))):
        return None
    width = width_for(longest)
    out = np.zeros((len(size), width), dtype=np.uint8)
    out[np.arange(width) < size[:, None]] = np.frombuffer(joined, dtype=np.uint8)
    text: Text = out.view(f"S{width}").ravel()
    return text


def _numbers(values: Any) -> Floats | None:
    """Numbers as floats; None where some are something else."""
    if isinstance(values, np.ndarray):
        return values.astype(np.float64) if values.ndim == 1 and values.dtype.kind in "iuf" else None
    if type(values) is not list or not _all_of(values, (float, int, *NUMBERS)):
        return None
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:
        return None


def _all_of(values: Any, types: Collection[type]) -> bool:
    return set(map(type, values)) <= set(types)
