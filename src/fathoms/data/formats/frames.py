"""What Python programs have in memory: frames of polars, pandas and Arrow, dicts by topic, columns, rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from fathoms.data.column_names import Kind, column_for
from fathoms.data.formats.base import ObjectFormat

if TYPE_CHECKING:
    import polars as pl

    from fathoms.data.lines import Layout, Table
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run

BOTH: tuple[Kind, ...] = ("run", "qrels")
ALL: tuple[Kind, ...] = ("run", "qrels", "values")
FEW_ROWS = 5_000  # up to this length, a column of a polars frame becomes a list before anything else


def package_of(data: Any) -> str:
    """The package that an object's class comes from, found without importing that package."""
    return type(data).__module__.partition(".")[0]


class Polars(ObjectFormat):
    name = "polars"
    about = "a polars frame, lazy or not"
    reads = ALL
    writes = BOTH

    def recognise(self, data: Any) -> bool:
        return package_of(data) == "polars" and hasattr(type(data), "columns")

    def read(self, data: Any, layout: Layout, source: str, *, lenient: bool) -> Table:
        from fathoms.data import columns, in_memory

        frame = columns.frame_of(data, source)
        if len(frame) <= FEW_ROWS:
            table = in_memory.plain_table(columns.short_columns(frame), layout, source)
            if table is not None:
                return table
        return columns.table_of_frame(frame, layout, source, lenient=lenient)

    def write(self, data: Run | Qrels) -> pl.DataFrame:
        """Ids are text, a byte that is no UTF-8 is written as `\\xe9`."""
        import polars as pl

        from fathoms.data import columns

        frame = columns.exact_frame(data)
        for name in ("topic", "document"):
            if frame[name].dtype == pl.Binary:
                text = [id.decode(errors="backslashreplace") for id in frame[name].to_list()]
                frame = frame.with_columns(pl.Series(name, text))
        return frame


class Arrow(Polars):
    name = "arrow"
    about = "an Arrow table or record batch"

    def recognise(self, data: Any) -> bool:
        return package_of(data) == "pyarrow" and hasattr(type(data), "column_names")

    def write(self, data: Run | Qrels) -> Any:
        return super().write(data).to_arrow()


class Pandas(Polars):
    name = "pandas"
    about = "a pandas frame"

    def recognise(self, data: Any) -> bool:
        return hasattr(type(data), "columns") and package_of(data) not in ("polars", "pyarrow")

    def read(self, data: Any, layout: Layout, source: str, *, lenient: bool) -> Table:
        from fathoms.data import columns, in_memory

        columns.given_columns(layout, list(map(str, data.columns)), source)
        named = columns.pandas_columns(data, source)
        return in_memory.table_of_columns(named, layout, source, lenient=lenient)

    def write(self, data: Run | Qrels) -> Any:
        from fathoms.base.arrays import to_pandas

        return to_pandas(super().write(data))


class Dict(ObjectFormat):
    name = "dict"
    about = "a dict {topic: {document: number}}"
    reads = ALL
    writes = BOTH

    def recognise(self, data: Any) -> bool:
        from fathoms.data.formats.mteb import is_mteb

        return isinstance(data, Mapping) and not is_mteb(data) and not _holds_lists(data)

    def read(self, data: Any, layout: Layout, source: str, *, lenient: bool) -> Table:
        from fathoms.data import in_memory

        return in_memory.table_of_dict(data, layout, source, lenient=lenient)

    def write(self, data: Run | Qrels) -> dict[str, dict[str, float]]:
        from fathoms.data import columns

        return columns.nested(data)


class Rankings(ObjectFormat):
    name = "rankings"
    about = "a dict {topic: [document, ...]}, best first"
    reads = ("run",)
    carries = frozenset({"ranks"})

    def recognise(self, data: Any) -> bool:
        return isinstance(data, Mapping) and _holds_lists(data) and not _names_columns(data)

    def read(self, data: Any, layout: Layout, source: str, *, lenient: bool) -> Table:
        from fathoms.data import in_memory

        return in_memory.table_of_rankings(data, layout, source, lenient=lenient)


class Columns(ObjectFormat):
    name = "columns"
    about = "a dict of columns by name, each a list or an array; or an array with named fields"
    reads = ALL

    def recognise(self, data: Any) -> bool:
        if package_of(data) == "numpy":
            return bool(getattr(getattr(data, "dtype", None), "names", None))
        return isinstance(data, Mapping) and _holds_lists(data) and _names_columns(data)

    def read(self, data: Any, layout: Layout, source: str, *, lenient: bool) -> Table:
        from fathoms.data import in_memory

        names = data if isinstance(data, Mapping) else data.dtype.names
        columns = {name: data[name] for name in names}
        return in_memory.table_of_columns(columns, layout, source, lenient=lenient)


def _holds_lists(data: Mapping[Any, Any]) -> bool:
    """Whether there are lists or arrays where a dict of rankings has dicts; the first value tells."""
    first = next(iter(data.values()), None)
    return isinstance(first, list | tuple) or package_of(first) in ("numpy", "polars", "pandas", "pyarrow")


def _names_columns(data: Mapping[Any, Any]) -> bool:
    return column_for("topic", data) is not None and column_for("document", data) is not None


class Rows(ObjectFormat):
    name = "rows"
    about = "rows as dicts or named tuples, such as those of ir_measures, or as tuples (topic, document, number)"
    reads = ALL

    def recognise(self, data: Any) -> bool:
        return (
            isinstance(data, Iterable)
            and not isinstance(data, str | bytes | Mapping)
            and not hasattr(type(data), "columns")
            and package_of(data) not in ("ranx", "numpy")
            and (not isinstance(data, list | tuple) or all(map(_is_row, data)))
        )

    def read(self, data: Any, layout: Layout, source: str, *, lenient: bool) -> Table:
        from fathoms.data import columns

        rows = [_record(row, layout) for row in data]
        return columns.table_of_rows(rows, layout, source, lenient=lenient)


def _is_row(row: Any) -> bool:
    return isinstance(row, Mapping) or hasattr(row, "_asdict") or _is_triple(row)


def _is_triple(row: Any) -> bool:
    return isinstance(row, list | tuple) and len(row) == 3


def _record(row: Any, layout: Layout) -> Any:
    if hasattr(row, "_asdict"):
        return row._asdict()
    return dict(zip(("topic", "document", layout.number), row, strict=True)) if _is_triple(row) else row


POLARS = Polars()
ARROW = Arrow()
PANDAS = Pandas()
DICT = Dict()
RANKINGS: ObjectFormat = Rankings()
COLUMNS: ObjectFormat = Columns()
ROWS: ObjectFormat = Rows()
