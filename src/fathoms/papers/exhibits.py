"""What a study holds: tables and figures with their data, how they are printed and drawn, and what the paper says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fathoms.base.text import valid_text
from fathoms.data.qrels import Qrels
from fathoms.papers.printing import Column, Printed, printed


def described(qrels: Qrels) -> str:
    """A collection's judgments in words; a negative grade is none."""
    return f"{qrels.source}: {int((qrels.grades >= 0).sum()):,} judgments"


def as_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


@dataclass(frozen=True)
class Drawing:
    """A chart of charts.py that is made when it is drawn: what draws starts threads, and after that a study's work
    could go to no forks any more."""

    kind: str  # a function of this folder's charts.py
    rows: Sequence[Sequence[Any]]
    columns: Sequence[str]
    points: Sequence[Sequence[Any]]
    how: dict[str, Any]

    def chart(self) -> Any:
        import polars as pl

        from fathoms.papers import charts

        def frame(data: Sequence[Sequence[Any]]) -> pl.DataFrame:
            valid = [[valid_text(cell) if isinstance(cell, str) else cell for cell in row] for row in data]
            return pl.DataFrame(valid, schema=list(self.columns), orient="row")

        points = {"points": frame(self.points)} if self.points else {}
        return getattr(charts, self.kind)(frame(self.rows), **self.how, **points)


@dataclass(frozen=True)
class Panes:
    """Several charts in rows, each with axes of its own, as the panes of a paper's figure."""

    drawings: Sequence[Drawing]
    title: str
    across: int = 2  # panes in a row
    how: dict[str, Any] = field(default_factory=dict)  # further arguments of charts.panes

    def chart(self) -> Any:
        from fathoms.papers import charts

        return charts.panes([drawing.chart() for drawing in self.drawings], self.title, self.across, **self.how)


@dataclass(frozen=True)
class InPaper:
    """What the paper itself prints in a table's place, and for which collection."""

    collection: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    same_collection: bool | None = False  # None: of several, of which this may be one
    layout: Sequence[Column] = ()

    def printed(self) -> Printed:
        return printed(self.columns, self.rows, self.layout)


@dataclass
class Exhibit:
    """One table or figure: its data as rows, what to see in it, and for a figure the chart."""

    name: str  # table1a, fig3
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""
    chart: Drawing | Panes | None = None
    layout: Sequence[Column] = ()  # of a table; by default all columns under their names
    in_paper: InPaper | None = None
    # What is laid out where that is not arranged as the data are: columns, and rows.
    arranged: tuple[Sequence[str], Sequence[Sequence[Any]]] | None = None

    @property
    def is_table(self) -> bool:
        return self.name.startswith("table")

    def printed(self) -> Printed:
        columns, rows = self.arranged or (self.columns, self.rows)
        return printed(columns, rows, self.layout)


@dataclass
class Study:
    """The exhibits of one paper on one collection."""

    paper: str
    collection: str
    exhibits: list[Exhibit] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)  # told on the terminal too
    data: list[Exhibit] = field(default_factory=list)  # what exhibits are made of, written as TSV alone
    systems: int = 0  # that are compared; 0: it does not say
    short: str = ""  # the command's name for the paper, which labels of LaTeX begin with

    def add(self, name: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], **more: Any) -> None:
        self.exhibits.append(Exhibit(name, title, columns, rows, **more))

    def __getitem__(self, name: str) -> Exhibit:
        return next(exhibit for exhibit in self.exhibits if exhibit.name == name)


def chart(
    kind: str,
    rows: Sequence[Sequence[Any]],
    columns: Sequence[str],
    *,
    points: Sequence[Sequence[Any]] = (),
    **how: Any,
) -> Drawing | None:
    """A chart of charts.py, or None where the extra `report` is not installed."""
    from fathoms.base import charts

    return Drawing(kind, rows, columns, points, how) if charts.available() else None


def panes(drawings: Sequence[Drawing | None], title: str, across: int = 2, **how: Any) -> Panes | None:
    """Several of them in one figure."""
    made = [drawing for drawing in drawings if drawing is not None]
    return Panes(made, title, across, how) if made and len(made) == len(drawings) else None
