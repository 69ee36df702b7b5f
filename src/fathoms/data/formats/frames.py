"""What Python programs have in memory: polars and pandas frames, dicts by topic, rows as dicts or named tuples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from fathoms.data.column_names import Kind
from fathoms.data.formats.base import ObjectFormat

if TYPE_CHECKING:
    import polars as pl

    from fathoms.data.lines import Layout, Table
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run

BOTH: tuple[Kind, ...] = ("run", "qrels")
ALL: tuple[Kind, ...] = ("run", "qrels", "values")


def package_of(data: Any) -> str:
    """Where an object's class is from, found without importing that package."""
    return type(data).__module__.partition(".")[0]


class Polars(ObjectFormat):
    name = "polars"
    about = "a polars frame, lazy or not"
    reads = ALL
    writes = BOTH

    def recognise(self, data: Any) -> bool:
        return package_of(data) == "polars" and hasattr(type(data), "columns")

    def read(self, data: Any, layout: Layout, source: str, *, lenient: bool) -> Table:
        from fathoms.data import columns

        return columns.table_of_frame(columns.frame_of(data, source), layout, source, lenient=lenient)

    def write(self, data: Run | Qrels) -> pl.DataFrame:
        """Ids are text, a byte that is no UTF-8 is written as `\\xe9`."""
        import polars as pl

        from fathoms.data import columns

        found = columns.exact_frame(data)
        for name in ("topic", "document"):
            if found[name].dtype == pl.Binary:
                text = [id.decode(errors="backslashreplace") for id in found[name].to_list()]
                found = found.with_columns(pl.Series(name, text))
        return found


class Pandas(Polars):
    name = "pandas"
    about = "a pandas frame"

    def recognise(self, data: Any) -> bool:
        return hasattr(type(data), "columns") and package_of(data) != "polars"

    def write(self, data: Run | Qrels) -> Any:
        from fathoms.data.arrays import pandas_frame

        return pandas_frame(super().write(data))


class Dict(ObjectFormat):
    name = "dict"
    about = "a dict {topic: {document: number}}"
    reads = ALL
    writes = BOTH

    def recognise(self, data: Any) -> bool:
        from fathoms.data.formats.mteb import is_mteb

        return isinstance(data, Mapping) and not is_mteb(data)

    def read(self, data: Any, layout: Layout, source: str, *, lenient: bool) -> Table:
        from fathoms.data import columns

        return columns.table_of_dict(data, layout, source, lenient=lenient)

    def write(self, data: Run | Qrels) -> dict[str, dict[str, float]]:
        from fathoms.data import columns

        return columns.nested(data)


class Rows(ObjectFormat):
    name = "rows"
    about = "rows as dicts or named tuples, such as those of ir_measures"
    reads = ALL

    def recognise(self, data: Any) -> bool:
        return (
            isinstance(data, Iterable)
            and not isinstance(data, str | bytes | Mapping)
            and not hasattr(type(data), "columns")
            and package_of(data) != "ranx"
            and (not isinstance(data, list | tuple) or all(map(_is_row, data)))
        )

    def read(self, data: Any, layout: Layout, source: str, *, lenient: bool) -> Table:
        from fathoms.data import columns

        rows = [row._asdict() if hasattr(row, "_asdict") else row for row in data]
        return columns.table_of_rows(rows, layout, source, lenient=lenient)


def _is_row(row: Any) -> bool:
    return isinstance(row, Mapping) or hasattr(row, "_asdict")


POLARS = Polars()
PANDAS = Pandas()
DICT = Dict()
ROWS: ObjectFormat = Rows()
