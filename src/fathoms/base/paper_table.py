"""A table as papers print them: runs as rows, measures as columns, the best in bold and the second underlined, marks of
significance, and a caption; as LaTeX, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

from fathoms.base.choices import PaperForm
from fathoms.base.text import latex_escape, shown_safely

HOLDS, FRAGILE = "†", "∘"  # a significant difference that may be claimed, and one that judging may undo
RAISED = {HOLDS: r"\dagger", FRAGILE: r"\circ"}
DIGITS = 4


@dataclass(frozen=True)
class Cell:
    """A number, what it is called if it is not a decimal number, and a mark."""

    value: float | None
    whole: bool = False
    mark: str = ""

    @property
    def text(self) -> str:
        if self.value is None:
            return "–"
        return f"{self.value:,.0f}" if self.whole else f"{self.value:.{DIGITS}f}"


@dataclass(frozen=True)
class PaperTable:
    """Rows of `compared` runs are ranked in each column; those of their topics and groups, which follow, are not."""

    measures: Sequence[str]
    compared: Sequence[tuple[str, Sequence[Cell]]]
    caption: Sequence[str]
    label: str
    parts: Sequence[tuple[str, Sequence[Cell]]] = field(default=())

    def text(self, form: PaperForm) -> str:
        return {"latex": self.latex, "md": self.markdown, "html": self.html}[form]()

    def places(self) -> list[list[int]]:
        """1 for the best of each column, 2 for the second, else 0; equal ones share a place, a single run has none."""
        if len(self.compared) < 2:
            return [[0] * len(self.measures) for _ in self.compared]
        columns = [_places([cells[m] for _, cells in self.compared]) for m in range(len(self.measures))]
        return [list(row) for row in zip(*columns, strict=True)]

    def _rows(self, show: Callable[[Cell, int], str]) -> list[tuple[str, list[str]]]:
        ranked = zip(self.compared, self.places(), strict=True)
        rows = [(name, [show(*pair) for pair in zip(cells, of, strict=True)]) for (name, cells), of in ranked]
        return [*rows, *((name, [show(cell, 0) for cell in cells]) for name, cells in self.parts)]

    def latex(self) -> str:
        r"""With booktabs. Decimals are aligned at their points by two columns a measure, the second without a gap."""
        heads = [rf"\multicolumn{{2}}{{c}}{{{latex_escape(name)}}}" for name in self.measures]
        rows = [" & ".join([latex_escape(name), *cells]) + r" \\" for name, cells in self._rows(_latex_cell)]
        split = len(self.compared)
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{latex_escape(' '.join(self.caption))}}}",
                rf"\label{{{self.label}}}",
                r"\medskip",
                r"\begin{tabular}{l" + "r@{}l" * len(self.measures) + "}",
                r"\toprule",
                " & ".join(["Run", *heads]) + r" \\",
                r"\midrule",
                *rows[:split],
                *([r"\midrule", *rows[split:]] if self.parts else []),
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )

    def markdown(self) -> str:
        def line(cells: Sequence[str]) -> str:
            return f"| {' | '.join(cells)} |"

        head = line(["Run", *map(_markdown_escape, self.measures)])
        rows = [line([_markdown_escape(name), *cells]) for name, cells in self._rows(_markdown_cell)]
        return "\n".join([head, "|---|" + "---:|" * len(self.measures), *rows, "", " ".join(self.caption), ""])

    def html(self) -> str:
        def row(tag: str, name: str, cells: Sequence[str]) -> str:
            numbers = "".join(f'<{tag} style="text-align: right">{cell}</{tag}>' for cell in cells)
            return f"<tr><{tag}>{_html_escape(name)}</{tag}>{numbers}</tr>"

        rows = [row("td", name, cells) for name, cells in self._rows(_html_cell)]
        head = row("th", "Run", [_html_escape(name) for name in self.measures])
        caption = _html_escape(" ".join(self.caption))
        return "\n".join(
            [
                '<table style="font-variant-numeric: tabular-nums">',
                f"<caption>{caption}</caption>",
                f"<thead>{head}</thead>",
                "<tbody>",
                *rows,
                "</tbody>",
                "</table>",
                "",
            ]
        )


def _places(cells: Sequence[Cell]) -> list[int]:
    values = sorted({cell.text: cell.value for cell in cells if cell.value is not None}.values(), reverse=True)
    best = dict(zip(values[:2], (1, 2), strict=False))

    def place(cell: Cell) -> int:
        value = cell.value
        return (
            0 if value is None else next((p for top, p in best.items() if cell.text == Cell(top, cell.whole).text), 0)
        )

    return [place(cell) for cell in cells]


def _latex_cell(cell: Cell, place: int) -> str:
    whole, point, decimals = cell.text.partition(".")
    font = {0: "{}", 1: r"\textbf{{{}}}", 2: r"\underline{{{}}}"}[place]
    left = font.format(latex_escape(whole))
    right = font.format(point + decimals) if point else ""
    return f"{left} & {right}" + (f"$^{{{RAISED[cell.mark]}}}$" if cell.mark else "")


def _markdown_cell(cell: Cell, place: int) -> str:
    font = {0: "{}", 1: "**{}**", 2: "<u>{}</u>"}[place]
    return font.format(cell.text) + cell.mark


def _html_cell(cell: Cell, place: int) -> str:
    font = {0: "{}", 1: "<b>{}</b>", 2: "<u>{}</u>"}[place]
    return font.format(cell.text) + (f"<sup>{cell.mark}</sup>" if cell.mark else "")


def _markdown_escape(text: str) -> str:
    return "".join(f"\\{character}" if character in "\\`*_|<>[]" else character for character in shown_safely(text))


def _html_escape(text: str) -> str:
    return escape(shown_safely(text).encode("utf-8", "replace").decode("utf-8"))
