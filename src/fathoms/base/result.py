"""What an analysis returns: a frame, sentences, a chart, and a view for notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from fathoms.base import choices
from fathoms.base.arrays import frame_of_rows, to_pandas
from fathoms.base.choices import checked
from fathoms.base.errors import FathomsError
from fathoms.base.provenance import Provenance
from fathoms.base.text import shown_safely

if TYPE_CHECKING:
    import polars as pl

WIDTH, CUT = 120, 60  # of what is printed, and of words there
SHOWN = 10  # rows of a frame, printed or in a notebook


class Result:
    """Base of all results. A result says its `columns`, which of them hold words, and its `rows`."""

    columns: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[tuple[str, ...]] = ()  # columns that hold text
    whole_numbers: ClassVar[tuple[str, ...]] = ()
    charts: ClassVar[tuple[str, ...]] = ()  # kinds of charts there are
    words_module: ClassVar[str] = ""  # whose `answers` and `remarks` make sentences of the result
    notes: list[str]  # what a careful reader of the numbers should know

    made_with: Callable[[], Provenance] | None = None  # what says that, where an experiment was asked

    @cached_property
    def provenance(self) -> Provenance | None:
        """What the result was made with: version, options, and fingerprints of the judgments and of each run."""
        return None if self.made_with is None else self.made_with()

    def __init_subclass__(cls, **named: Any) -> None:
        """A data class would print every field."""
        super().__init_subclass__(**named)
        cls.__repr__ = Result.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """The answer and the first rows."""
        frame = self.shown_frame
        lines, columns = _columns_that_fit(frame)
        rest = len(self.frame) - SHOWN
        left_out = [
            *([f"{rest:,} more rows"] if rest > 0 else []),
            *(["more columns"] if columns < len(self.frame.columns) else []),
        ]
        more = [f".frame has {' and '.join(left_out)}"] if left_out else []
        return "\n".join([*self.answer, "", *lines, *more])

    @property
    def shown_frame(self) -> pl.DataFrame:
        """What is printed of the frame: its first rows, without columns that say nothing there."""
        first = self.frame.head(SHOWN)
        return first.select([name for name in first.columns if first[name].null_count() < len(first) or not len(first)])

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
        return import_module(self.words_module).answers(self) if self.words_module else []

    @property
    def remarks(self) -> list[str]:
        """What the answer rests on: figures, what ranges are over, assumptions, caveats."""
        return import_module(self.words_module).remarks(self) if self.words_module else []

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
        answer = "".join(f"<p>{_safe(sentence)}</p>" for sentence in self.answer)
        rest = len(self.frame) - SHOWN
        more = f"<p><small>and {rest:,} more rows in <code>.frame</code></small></p>" if rest > 0 else ""
        below = "".join(f"<p><small>{_safe(sentence)}</small></p>" for sentence in (*self.remarks, *self.notes))
        rests_on = f"<details><summary>what this rests on</summary>{below}</details>" if below else ""
        return f"{answer}{_table(self.shown_frame)}{more}{rests_on}"


def _columns_that_fit(frame: pl.DataFrame) -> tuple[list[str], int]:
    """A frame as lines of text: words flush left and cut, numbers flush right, as many columns as fit; and how many
    these are."""
    lines, width, n = [""] * (len(frame) + 1), 0, 0
    for name, kind in frame.schema.items():
        cells = [name, *(_plain(value) for value in frame[name])]
        wide = max(map(len, cells))
        width += wide + 2
        if width > WIDTH:
            break
        n += 1
        pad = str.rjust if kind.is_numeric() else str.ljust
        lines = [f"{line}{pad(cell, wide)}  " for line, cell in zip(lines, cells, strict=True)]
    return [line.rstrip() for line in lines], n


def _plain(value: Any) -> str:
    text = f"{value:.4f}" if isinstance(value, float) else "" if value is None else shown_safely(str(value))
    return text if len(text) <= CUT else f"{text[: CUT - 1]}…"


def _table(frame: pl.DataFrame) -> str:
    """A table for people: four digits, numbers flush right, blanks where there is no value."""
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
