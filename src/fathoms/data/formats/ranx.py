"""Runs and judgments of ranx, where that package is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathoms.base.errors import FathomsError
from fathoms.data.formats.base import ObjectFormat
from fathoms.data.formats.frames import package_of
from fathoms.data.formats.text import check_whole_grades

if TYPE_CHECKING:
    from fathoms.data.lines import Layout, Table
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run


class Ranx(ObjectFormat):
    name = "ranx"
    about = "a run or qrels of ranx"
    reads = ("run", "qrels", "values")
    writes = ("run", "qrels")

    def recognise(self, data: Any) -> bool:
        return package_of(data) == "ranx"

    def read(self, data: Any, layout: Layout, source: str, *, lenient: bool) -> Table:
        from fathoms.data import in_memory

        return in_memory.table_of_dict(data.to_dict(), layout, source, lenient=lenient)

    def write(self, data: Run | Qrels) -> Any:
        """It orders equal scores in a way of its own, and has neither ranks nor tags."""
        from fathoms.data import columns

        try:
            import ranx
        except ImportError:
            raise FathomsError("the package ranx is not installed; `pip install ranx` adds it") from None
        if data.kind == "run":
            return ranx.Run(columns.nested(data), name=data.name)
        check_whole_grades(data, "ranx")
        return ranx.Qrels({topic: grades for topic, grades in columns.nested(data).items() if grades})


RANX: ObjectFormat = Ranx()
