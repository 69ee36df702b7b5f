"""Where a paper's tables and figures go: table<N>.tsv and .tex, fig<N>.tsv and .svg, and index.md over them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fathoms.data.files import check_folder, whole_file
from fathoms.data.qrels import Qrels
from fathoms.parallel import may_fork, parallel_map


def described(qrels: Qrels) -> str:
    """A collection's judgments in words; a negative grade is none."""
    return f"{qrels.source}: {int((qrels.grades >= 0).sum()):,} judgments"


def as_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


@dataclass(frozen=True)
class Drawing:
    """A chart of the report's that is made when it is drawn: what draws starts threads, and after that a study's work
    could go to no forks any more."""

    kind: str  # a function of charts.py
    rows: Sequence[Sequence[Any]]
    columns: Sequence[str]
    points: Sequence[Sequence[Any]]
    how: dict[str, Any]

    def svg(self) -> str:
        import polars as pl

        from fathoms import charts

        def frame(data: Sequence[Sequence[Any]]) -> pl.DataFrame:
            return pl.DataFrame(list(data), schema=list(self.columns), orient="row")

        points = {"points": frame(self.points)} if self.points else {}
        buffer = io.StringIO()
        getattr(charts, self.kind)(frame(self.rows), **self.how, **points).save(buffer, format="svg")
        return buffer.getvalue()


@dataclass
class Exhibit:
    """One table or figure: its data as rows, what to see in it, and for a figure the chart."""

    name: str  # table1a, fig3
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""
    chart: Drawing | None = None


@dataclass
class Study:
    """The exhibits of one paper on one collection."""

    paper: str
    collection: str
    exhibits: list[Exhibit] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, name: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], **more: Any) -> None:
        self.exhibits.append(Exhibit(name, title, columns, rows, **more))


def chart(
    kind: str,
    rows: Sequence[Sequence[Any]],
    columns: Sequence[str],
    *,
    points: Sequence[Sequence[Any]] = (),
    **how: Any,
) -> Drawing | None:
    """A chart of the report's, or None where its extra is not installed."""
    from fathoms import charts

    return Drawing(kind, rows, columns, points, how) if charts.available() else None


def write_study(study: Study, folder: Path, workers: int = 1) -> list[str]:
    """Write all exhibits; the files appear in the folder one by one, each whole. Returns what could not be drawn."""
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for exhibit in study.exhibits:
        _put(folder / f"{exhibit.name}.tsv", _tsv(exhibit))
        if exhibit.name.startswith("table"):
            _put(folder / f"{exhibit.name}.tex", _latex(exhibit))
    figures = [exhibit for exhibit in study.exhibits if not exhibit.name.startswith("table")]
    _draw({one.name: one.chart for one in figures if one.chart is not None}, folder, workers)
    _put(folder / "index.md", _index(study))
    return [exhibit.name for exhibit in figures if exhibit.chart is None]


def _draw(drawings: dict[str, Drawing], folder: Path, workers: int) -> None:
    # On forks or one by one: altair keeps settings for all threads together.
    drawn = parallel_map(Drawing.svg, drawings.values(), workers=workers if may_fork() else 1)
    gradients = 0
    for name, svg in zip(drawings, drawn, strict=True):
        numbered, gradients = number_gradients(svg, gradients)
        _put(folder / f"{name}.svg", numbered)


def number_gradients(svg: str, start: int) -> tuple[str, int]:
    """A figure whose gradients are numbered from `start`, and the next number: each has an id of its own among all
    figures, in which process it may have been drawn."""
    old = list(dict.fromkeys(re.findall(r'id="gradient_(\d+)"', svg)))
    new = {number: start + place for place, number in enumerate(old)}
    return re.sub(r"(?<=gradient_)\d+", lambda found: str(new.get(found[0], found[0])), svg), start + len(old)


def _put(path: Path, text: str) -> None:
    with whole_file(path) as temporary:
        temporary.write_text(text)


def _tsv(exhibit: Exhibit) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter="\t", lineterminator="\n")
    writer.writerow(exhibit.columns)
    writer.writerows(exhibit.rows)
    return buffer.getvalue()


def show(value: Any) -> str:
    """A number as a person reads it."""
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _latex(exhibit: Exhibit) -> str:
    def cell(value: Any) -> str:
        return show(value).replace("_", r"\_").replace("%", r"\%").replace("&", r"\&").replace("#", r"\#")

    lines = [r"\begin{tabular}{" + "l" * len(exhibit.columns) + "}", r"\toprule"]
    lines += [" & ".join(map(cell, exhibit.columns)) + r" \\", r"\midrule"]
    lines += [" & ".join(map(cell, row)) + r" \\" for row in exhibit.rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _index(study: Study) -> str:
    lines = [f"# {study.paper}", "", f"On {study.collection}.", ""]
    lines += [*(f"- {note}" for note in study.notes), ""] if study.notes else []
    for exhibit in study.exhibits:
        lines += [f"## {exhibit.name}: {exhibit.title}", ""]
        lines += [exhibit.note, ""] if exhibit.note else []
        if exhibit.chart is not None:
            lines += [f"![{exhibit.title}]({exhibit.name}.svg)", ""]
        if exhibit.name.startswith("table"):
            lines += ["| " + " | ".join(exhibit.columns) + " |", "|" + "---|" * len(exhibit.columns)]
            lines += ["| " + " | ".join(show(value) for value in row) + " |" for row in exhibit.rows]
            lines.append("")
        lines += [f"Data: [{exhibit.name}.tsv]({exhibit.name}.tsv)", ""]
    return "\n".join(lines)
