"""Where a paper's tables and figures go: table<N>.tsv and .tex, fig<N>.tsv and .svg, and index.md over them."""

from __future__ import annotations

import csv
import io
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fathoms.data.files import check_folder, whole_file
from fathoms.data.qrels import Qrels


def described(qrels: Qrels) -> str:
    """A collection's judgments in words; a negative grade is none."""
    return f"{qrels.source}: {int((qrels.grades >= 0).sum()):,} judgments"


def as_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


@dataclass
class Exhibit:
    """One table or figure: its data as rows, what to see in it, and for a figure the chart."""

    name: str  # table1a, fig3
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""
    chart: Any = None


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
) -> Any:
    """A chart of the report's, or None where its extra is not installed."""
    from fathoms import charts

    if not charts.available():
        return None
    import polars as pl

    def frame(data: Sequence[Sequence[Any]]) -> pl.DataFrame:
        return pl.DataFrame(list(data), schema=list(columns), orient="row")

    if points:
        how["points"] = frame(points)
    return getattr(charts, kind)(frame(rows), **how)


def write_study(study: Study, folder: Path) -> list[str]:
    """Write all exhibits; the files appear in the folder one by one, each whole. Returns what could not be drawn."""
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    undrawn = []
    for exhibit in study.exhibits:
        _put(folder / f"{exhibit.name}.tsv", _tsv(exhibit))
        if exhibit.name.startswith("table"):
            _put(folder / f"{exhibit.name}.tex", _latex(exhibit))
        elif exhibit.chart is not None:
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                drawn = Path(scratch) / "chart.svg"
                exhibit.chart.save(drawn)
                shutil.move(drawn, folder / f"{exhibit.name}.svg")
        else:
            undrawn.append(exhibit.name)
    _put(folder / "index.md", _index(study))
    return undrawn


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
