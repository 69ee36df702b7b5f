"""What runs and judgments share: they leave as frames, dicts and objects of other packages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import polars as pl

    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run


class Exported:
    """A run or judgments in the forms of other tools."""

    def to_frame(self) -> pl.DataFrame:
        """A polars frame in the order of the rows: topic, document, rank, score, tag of a run; topic, document, grade
        of judgments."""
        from fathoms.data.formats.frames import POLARS

        return POLARS.write(self._data)

    def to_pandas(self) -> Any:
        """The same as a pandas frame."""
        from fathoms.data.formats.frames import PANDAS

        return PANDAS.write(self._data)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """{topic: {document: number}}, as BEIR, pytrec_eval and ranx have them; whole grades are integers."""
        from fathoms.data.formats.frames import DICT

        return DICT.write(self._data)

    def to_ranx(self) -> Any:
        """A `ranx.Run` or `ranx.Qrels`, where that package is installed; ranx orders equal scores in a way of its
        own."""
        from fathoms.data.formats.ranx import RANX

        return RANX.write(self._data)

    @property
    def _data(self) -> Run | Qrels:
        return cast("Run | Qrels", self)
