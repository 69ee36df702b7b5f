"""Between polars frames and our tables, both ways; dicts and rows become frames first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathoms.base import kernel
from fathoms.base.errors import InputError
from fathoms.base.text import pluralise, valid_text
from fathoms.data.column_names import (
    NAMES,
    column_for,
    is_known,
    missing_column,
    plain,
    run_columns,
    several_runs,
    twins,
    two_of_a_name,
)
from fathoms.data.lines import Layout, Table, Text
from fathoms.data.widths import room_for, too_wide, width_for

if TYPE_CHECKING:
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run

BLOCK = 1 << 16  # rows made byte strings at a time
IDS = {*NAMES["topic"], *NAMES["document"]}
EXPECTED_ID = "expected text or whole numbers"
MOST_WHOLE = 1 << 53  # above it a float does not say which whole number it is


def checked_table_of_dict(data: Any, layout: Layout, source: str, *, lenient: bool, sparse: bool = False) -> Table:
    """Rows from {topic: {document: number}}, with a look at each: slow, and says what is wrong."""
    try:
        return table_of_frame(_from_dict(data, layout, source), layout, source, lenient=lenient, sparse=sparse)
    except UnicodeEncodeError as error:
        _not_unicode(error, source)


def table_of_rows(rows: Sequence[Any], layout: Layout, source: str, *, lenient: bool, sparse: bool = False) -> Table:
    """Rows from dicts, in which columns may be missing."""
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise InputError(f"row {number}: expected a dict or a named tuple, found {type(row).__name__}", source)
    names = dict.fromkeys(str(name) for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    return table_of_frame(frame_of_columns(columns, source), layout, source, lenient=lenient, sparse=sparse)


def frame_of(data: Any, source: str) -> pl.DataFrame:
    """A polars frame from one, lazy or not, from an Arrow table, or from a pandas frame."""
    if isinstance(data, pl.LazyFrame):
        data = data.collect()
    if isinstance(data, pl.DataFrame):
        return data
    if hasattr(data, "column_names"):
        repeated = [name for name in data.column_names if data.column_names.count(name) > 1]
        if repeated:
            _repeated_names(data.column_names, source)
        return pl.DataFrame(data)
    return frame_of_columns(pandas_columns(data, source), source)


def short_columns(frame: pl.DataFrame) -> dict[str, Any]:
    """The columns whose names are known, as lists of text and arrays of numbers; what is neither stays a column."""
    known: dict[str, Any] = {}
    for column in frame:
        if is_known(column.name):
            text, number = column.dtype == pl.String, column.dtype.is_numeric()
            known[column.name] = column.to_list() if text else column.to_numpy() if number else column
    return known


def pandas_columns(data: Any, source: str) -> dict[str, Any]:
    """The columns of a pandas frame whose names are known, as arrays and lists."""
    if not data.columns.is_unique:
        _repeated_names(data.columns, source)
    return {str(name): _pandas_values(data[name]) for name in data.columns if is_known(str(name))}


def _repeated_names(names: Iterable[Any], source: str) -> NoReturn:
    names = list(map(str, names))
    raise InputError(two_of_a_name([name for name in names if names.count(name) > 1], names), source)


def _pandas_values(column: Any) -> Any:
    """An array of numbers, or a list of anything with None where pandas has one of its missing values."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufb":
        return column.to_numpy()
    return column.to_numpy(dtype=object, na_value=None).tolist()


def frame_of_columns(columns: Mapping[str, Any], source: str) -> pl.DataFrame:
    """Each column of one type; those of mixed types (ids such as 7 and "7a") as text."""
    series = []
    for name, values in columns.items():
        if not is_known(name):
            continue
        try:
            series.append(pl.Series(name, values, strict=True))
        except UnicodeEncodeError as error:
            _not_unicode(error, source)
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            text = _id_text if plain(name) in IDS else _any_text
            try:
                series.append(pl.Series(name, [text(value, name, source) for value in values]))
            except UnicodeEncodeError as error:
                _not_unicode(error, source)
    if columns and not series:
        raise InputError(f"has no column that is known; its columns are {', '.join(columns)}", source)
    if len({len(column) for column in series}) > 1:
        lengths = ", ".join(f"{column.name} {len(column):,}" for column in series)
        raise InputError(f"has columns of different lengths: {lengths}", source)
    return pl.DataFrame(series)


def _any_text(value: Any, name: str, source: str) -> str | None:
    return None if value is None else str(value)


def _id_text(value: Any, name: str, source: str) -> str | None:
    """An id that stands among others of other types; what is not an id is refused, and not made one by its spelling."""
    if isinstance(value, float | np.floating):
        if value != value:
            return None
        return str(int(_whole(float(value), name, source)))
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise InputError(
                f"column {name!r} holds {value!r:.60}, which is not UTF-8; a frame with ids of bytes alone may hold it",
                source,
            ) from None
    if isinstance(value, bool) or not isinstance(value, str | int | np.integer | None):
        raise InputError(f"column {name!r} holds {value!r:.60}, {EXPECTED_ID}", source)
    return _any_text(value, name, source)


def _whole(number: float, name: str, source: str) -> float:
    if not abs(number) <= MOST_WHOLE or number != round(number):
        raise InputError(f"column {name!r} holds the number {number!r}, {EXPECTED_ID}", source)
    return number


def _not_unicode(error: UnicodeEncodeError, source: str) -> NoReturn:
    around = ascii(error.object[max(0, error.start - 20) : error.end + 20])
    raise InputError(
        f"holds an id that is not valid Unicode text, with a lone surrogate at {around}; write the character itself",
        source,
    ) from None


def _from_dict(data: Any, layout: Layout, source: str) -> pl.DataFrame:
    if not isinstance(data, Mapping):
        raise InputError(f"expected {{topic: {{document: {layout.number}}}}}, found {type(data).__name__}", source)
    topics: list[str] = []
    documents: list[str] = []
    numbers: list[Any] = []
    for topic, ranking in data.items():
        if not isinstance(ranking, Mapping) or any(isinstance(number, Mapping) for number in ranking.values()):
            raise InputError(
                f"expected {{topic: {{document: {layout.number}}}}}, found {type(ranking).__name__} for {topic!r}",
                source,
            )
        topics += [_id_text(topic, "topic", source) or ""] * len(ranking)
        documents += [_id_text(document, "document", source) or "" for document in ranking]
        numbers += ranking.values()
    try:
        column = pl.Series(numbers, dtype=pl.Float64, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        # As text, so that a message can say what was found where a number was expected.
        column = pl.Series(
            [str(float(n)) if isinstance(n, np.number) else None if n is None else str(n) for n in numbers]
        )
    return pl.DataFrame({"topic": topics, "document": documents, layout.number: column})


def given_columns(layout: Layout, names: Sequence[str], source: str) -> dict[str, str]:
    """What the columns for topic, document and number are called; ranks serve if there are no scores."""
    given: dict[str, str] = {}
    if same := twins(layout.number, names):
        raise InputError(two_of_a_name(same, names), source)
    for wanted in ("topic", "document", layout.number):
        name = column_for(wanted, names) or (column_for("rank", names) if wanted == "score" else None)
        if name is None:
            raise InputError(missing_column(wanted, names), source)
        given[wanted] = name
    return given


def table_of_frame(
    frame: pl.DataFrame,
    layout: Layout,
    source: str,
    *,
    lenient: bool,
    tag: pl.DataFrame | None = None,
    sparse: bool = False,
) -> Table:
    """Rows from a frame, checked; `tag` has that column if the frame was read without it. In `sparse` tables a row
    without a grade is a document that nobody judged."""
    if frame.is_empty():
        raise InputError(f"has no rows; expected a {layout.kind}", source)
    named = given_columns(layout, frame.columns, source)
    if layout.kind == "run":
        for part in (frame, tag) if tag is not None else (frame,):
            _check_one_run(part, source)
    columns = {wanted: frame[name] for wanted, name in named.items()}
    ranked = column_for("rank", frame.columns)
    if "rank" in layout.columns and ranked is not None and not _is_empty(frame[ranked]):
        columns["rank"] = frame[ranked]
    ids = {name: _ids(columns[name], source) for name in ("topic", "document")}
    for name, column in ids.items():
        check_lengths(name, column, source)
    # Topics stand together, so that they are few once equal neighbours are one.
    topics = ids["topic"].rle().struct
    of_topics, topics_proper = fixed_width(topics.field("value"))
    documents, documents_proper = fixed_width(ids["document"])
    text = {"topic": np.repeat(of_topics, topics.field("len").to_numpy()), "document": documents}
    proper = {"topic": topics_proper, "document": documents_proper}
    number = _numbers(columns[layout.number], source)
    if columns[layout.number].name == ranked:  # a run without scores: its ranks are the order
        number = -number
    rank = _ranks_of(columns["rank"]) if "rank" in columns else None

    given = columns[layout.number]
    complaints = {
        row: f"topic {_shown(ids['topic'][row])}, document {_shown(ids['document'][row])}: {layout.expected_number}, "
        f"found {given[row]!r}"
        for row in np.flatnonzero(layout.bad(number)).tolist()
    }
    unrated = _unrated(given) if sparse and layout.kind != "run" else set()
    for name, column in ids.items():
        for row in () if proper[name] else _no_ids(column, text[name]):
            complaints[row] = f"expected a {name}, found {_shown(column[row])}"
    complaints = {row: message for row, message in complaints.items() if row not in unrated}
    if len(unrated) == len(frame):
        raise InputError(f"has no row with a {layout.number}; expected a {layout.kind} file", source)
    skipped = []
    lines = None
    if complaints:
        row = min(complaints)
        message = f"row {row + 1}: {complaints[row]}"
        if not lenient or len(complaints) + len(unrated) == len(frame):
            more = f"; {pluralise(len(complaints) - 1, 'more bad row')}" if len(complaints) > 1 else ""
            raise InputError(f"{message}{more}", source)
        skipped.append(f"{source}: skipped {pluralise(len(complaints), 'bad row')}: {message}")
    if unrated:
        skipped.append(f"{source}: {pluralise(len(unrated), 'row')} without a {layout.number} left out: not judged")
    if complaints or unrated:
        good = np.setdiff1d(np.arange(len(frame)), [*complaints, *unrated])
        text = {name: column[good] for name, column in text.items()}
        number, rank = number[good], None if rank is None else rank[good]
        lines = good + 1
    if tag is None:
        tag = frame
    first_tag = tag["tag"][0] if "tag" in layout.columns and "tag" in tag.columns else None
    return Table(
        topic=text["topic"],
        document=text["document"],
        number=number,
        source=source,
        rank=rank,
        tag="" if first_tag is None else str(first_tag),
        lines=lines,
        skipped=skipped,
        unit="row",
    )


def _check_one_run(frame: pl.DataFrame, source: str) -> None:
    for name in run_columns(frame.columns):
        if frame[name].dtype != pl.Object and frame[name].n_unique() > 1:
            raise InputError(several_runs(name, frame[name].unique(maintain_order=True)), source)


def _ids(column: pl.Series, source: str) -> pl.Series:
    """Ids as text (or bytes), empty if there is none."""
    kind = column.dtype
    if kind.is_float():  # what pandas makes of whole numbers once one of them is missing
        known = column.drop_nulls().drop_nans()
        for number in known.filter((known != known.round()) | (known.abs() > MOST_WHOLE)).head(1):
            _whole(number, column.name, source)
        column = column.fill_nan(None).cast(pl.Int64)
    elif kind.is_nested() or kind.is_temporal() or kind in (pl.Object, pl.Boolean):
        raise InputError(f"column {column.name!r} holds {kind}, {EXPECTED_ID}", source)
    if kind == pl.Binary:
        return column.fill_null(b"")
    return column.cast(pl.String).fill_null("")


def check_lengths(name: str, column: pl.Series, source: str) -> None:
    lengths = byte_lengths(column)
    longest = int(lengths.max(initial=0))
    if message := too_wide(name, len(lengths), longest, room_for(int(lengths.sum(dtype=np.int64)))):
        raise InputError(f"row {int(lengths.argmax()) + 1}: {message}", source)


def byte_lengths(column: pl.Series) -> NDArray[np.uint32]:
    return (column.bin.size() if column.dtype == pl.Binary else column.str.len_bytes()).to_numpy()


def fixed_width(column: pl.Series) -> tuple[Text, bool]:
    """Text or bytes as byte strings of a width that is a multiple of eight; and whether all are known to be proper ids.

    The ids of many rows are joined into one text and cut again by their lengths, so that Python never handles a single
    one; a block of rows at a time stays in the processor's cache.
    """
    lengths = byte_lengths(column)
    cut = kernel.cut_ids(_joined(column), lengths) if kernel.compiled is not None else None
    if cut is not None:
        return cut
    width = width_for(int(lengths.max(initial=0)))
    out = np.zeros((len(column), width), dtype=np.uint8)
    places = np.arange(width, dtype=lengths.dtype)
    for start in range(0, len(column), BLOCK):
        rows = slice(start, start + BLOCK)
        out[rows][places < lengths[rows, None]] = np.frombuffer(_joined(column[rows]), dtype=np.uint8)
    text: Text = out.view(f"S{width}").ravel()
    return text, False


def _joined(column: pl.Series) -> bytes:
    if column.dtype == pl.Binary:
        return b"".join(column.to_list())
    joined: str = column.str.join("").item()
    return joined.encode()


def _no_ids(column: pl.Series, text: Text) -> list[int]:
    """Rows with an empty id, or one that holds a zero byte: byte strings of a fixed width end in zeros."""
    characters = text.view(np.uint8).reshape(len(text), -1)
    bad = characters[:, 0] == 0
    lengths = byte_lengths(column)
    if int(lengths.sum()) != np.count_nonzero(characters):
        bad |= np.count_nonzero(characters, axis=1) != lengths
    rows: list[int] = np.flatnonzero(bad).tolist()
    return rows


def _is_empty(column: pl.Series) -> bool:
    """A column that is there only for form's sake: pandas writes nan if a whole column is missing."""
    return column.null_count() == len(column) or (column.dtype.is_float() and bool(column.is_nan().all()))


def _numbers(column: pl.Series, source: str) -> NDArray[np.float64]:
    """Numbers, nan where there is none."""
    if not _may_hold_numbers(column):
        raise InputError(f"column {column.name!r} holds {column.dtype}, expected numbers", source)
    return _as_floats(column)


def _may_hold_numbers(column: pl.Series) -> bool:
    return column.dtype.is_numeric() or column.dtype in (pl.String, pl.Boolean, pl.Null)


def _as_floats(column: pl.Series) -> NDArray[np.float64]:
    return column.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy().copy()


def _ranks_of(column: pl.Series) -> NDArray[np.float64]:
    """Ranks, nan where there is none: most orders never look at them, so odd values are not an error."""
    return _as_floats(column) if _may_hold_numbers(column) else np.full(len(column), np.nan)


def _unrated(column: pl.Series) -> set[int]:
    """Rows that hold nothing."""
    empty = column.is_null()
    if column.dtype == pl.String:
        empty |= (column.str.strip_chars() == "").fill_null(False)
    return set(empty.arg_true().to_list())


def _shown(text: bytes | str) -> str:
    shown = text.decode(errors="replace") if isinstance(text, bytes) else text
    return shown.replace("\0", "\\0") or "none"


# -- out ------------------------------------------------------------------------------------------------------


def exact_frame(data: Run | Qrels) -> pl.DataFrame:
    """Everything in a run or in judgments; ids are bytes if some are not UTF-8."""
    topics = [topic.encode(errors="surrogateescape") for topic in data.topics]
    ids = {"topic": _ids_column(topics).gather(data.topic), "document": _ids_column(data.documents)}
    if data.kind == "qrels":
        return pl.DataFrame(ids | {"grade": data.grades})
    numbers = {"rank": _ranks(data.ranks, len(data)), "score": data.scores}
    return pl.DataFrame(ids | numbers).with_columns(tag=pl.lit(data.tag))


def _ids_column(ids: Text | list[bytes]) -> pl.Series:
    """Ids as text, or as bytes where some are no UTF-8."""
    column = pl.Series(ids, dtype=pl.Binary)
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError:
        return column


def _ranks(ranks: NDArray[np.float64] | None, n: int) -> pl.Series:
    """Whole numbers where they are, and null where the column held no number."""
    if ranks is None:
        return pl.Series([None] * n, dtype=pl.Int64)
    column = pl.Series(ranks).fill_nan(None)
    known = ranks[~np.isnan(ranks)]
    whole = (np.abs(known) < 1 << 53).all() and (known == np.round(known)).all()
    return column.cast(pl.Int64) if whole else column


def nested(data: Run | Qrels) -> dict[str, dict[str, float]]:
    """{topic: {document: number}}, documents in the order of the rows: what BEIR, pytrec_eval and ranx take."""
    numbers = data.grades if data.kind == "qrels" else data.scores
    order = np.argsort(data.topic, kind="stable")
    documents = [id.decode(errors="backslashreplace") for id in data.documents[order].tolist()]
    values = numbers[order].tolist()
    if data.kind == "qrels":
        values = [int(value) if value.is_integer() else value for value in values]
    ends = np.cumsum(np.bincount(data.topic, minlength=len(data.topics))).tolist()
    by_topic = {}
    for topic, start, end in zip(data.topics, [0, *ends], ends, strict=False):
        by_topic[valid_text(topic)] = dict(zip(documents[start:end], values[start:end], strict=True))
    return by_topic
