"""What an analysis gives back: a frame, sentences, a chart, and a view for notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from fathoms.base import choices
from fathoms.base.arrays import frame_of_rows, to_pandas
from fathoms.base.choices import checked
from fathoms.base.errors import FathomsError
from fathoms.base.provenance import Provenance

if TYPE_CHECKING:
    import polars as pl

SHOWN = 20  # rows of a frame in a notebook


class Result:
    """Base of all results. A result says its `columns`, which of them hold words, and its `rows`."""

    columns: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[tuple[str, ...]] = ()  # columns that hold text
    whole_numbers: ClassVar[tuple[str, ...]] = ()
    charts: ClassVar[tuple[str, ...]] = ()  # kinds of charts there are
    notes: list[str]  # what a careful reader of the numbers should know

    made_with: Callable[[], Provenance] | None = None  # what says that, where an experiment was asked

    @cached_property
    def provenance(self) -> Provenance | None:
        """What the result was made with: version, options, and fingerprints of the judgments and of each run."""
        return None if self.made_with is None else self.made_with()

    def rows(self) -> Iterable[Sequence[Any]]:
        raise NotImplementedError

    def records(self) -> list[dict[str, Any]]:
        """The rows by the names of their columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows()]

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The result as a polars frame."""
        import polars as pl

        frame = frame_of_rows(self.columns, list(self.rows()), self.words)
        return frame.cast(dict.fromkeys(self.whole_numbers, pl.Int64))

    @property
    def answer(self) -> list[str]:
        """The answer in a sentence, or one for each measure."""
        return []

    @property
    def remarks(self) -> list[str]:
        """What the answer rests on: figures, what ranges are over, assumptions, caveats."""
        return []

    @property
    def sentences(self) -> list[str]:
        """What the result says, in words: the answer, then the remarks."""
        return [*self.answer, *self.remarks]

    def to_pandas(self) -> Any:
        """The frame as a pandas one; pyarrow is not needed."""
        return to_pandas(self.frame)

    def chart(self, kind: str | None = None, *, measure: Any = None) -> Any:
        """An altair chart: of one of the kinds in `charts`, the first by default, and of the first measure unless
        another is given."""
        from fathoms.base import charts

        if not self.charts:
            raise FathomsError(f"there is no chart of a {type(self).__name__}")
        charts.require()
        chosen = self.charts[0] if kind is None else checked("kind", choices.one_of, self.charts, kind)
        names = self._charted()
        name = next(iter(names), "") if measure is None else checked("measure", choices.one_of, names, str(measure))
        return charts.drawable(self._draw(chosen, name))

    def _charted(self) -> list[str]:
        """The measures that charts can be of."""
        return [str(measure) for measure in getattr(self, "measures", ())]

    def _draw(self, kind: str, measure: str) -> Any:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        paragraphs = "".join(f"<p>{_safe(sentence)}</p>" for sentence in self.sentences)
        notes = "".join(f"<p><small>{_safe(note)}</small></p>" for note in self.notes)
        rest = len(self.frame) - SHOWN
        more = f"<p><small>and {rest:,} more rows in <code>.frame</code></small></p>" if rest > 0 else ""
        return f"{paragraphs}{_table(self.frame.head(SHOWN))}{more}{notes}"


def _table(frame: pl.DataFrame) -> str:
    """A table for people: four digits, numbers flush right, nothing where there is no value."""
    sides = ["right" if kind.is_numeric() else "left" for kind in frame.dtypes]

    def row(tag: str, cells: Iterable[Any]) -> str:
        shown = (
            f'<{tag} style="text-align: {side}">{_cell(cell)}</{tag}>' for cell, side in zip(cells, sides, strict=True)
        )
        return f"<tr>{''.join(shown)}</tr>"

    body = "".join(row("td", cells) for cells in frame.iter_rows())
    return f"<table><thead>{row('th', frame.columns)}</thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.1e}" if 0 < abs(value) < 0.00005 else f"{value:.4f}"
    return "" if value is None else _safe(str(value))


def _safe(text: str) -> str:
    from html import escape

    return escape(text.encode("utf-8", "replace").decode("utf-8"))
