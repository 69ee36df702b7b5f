"""A study's tables as people read them: laid out once, then written as LaTeX, Markdown or HTML.

The data of a table stay as they are in its TSV, in full precision. How they are printed is said column by column, in
the layout of the paper: human heads, some of them over several columns, digits, mean and standard deviation in one
cell, the best value in bold, marks behind a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any, Literal

from fathoms.base.text import latex_escape

Best = Literal["", "highest", "lowest"]
INDEX = r"([A-Z]|[a-z]{1,2}(?:,[a-z])?)(?!\w)"  # of a measure's variant or a predictor, as b in AP_b
WIDE = 10  # columns from which on a table is set small, over both columns of a page


@dataclass(frozen=True)
class Column:
    """How a column is printed."""

    head: str
    name: str  # of the data's column
    digits: int | None = None  # after the decimal point; None: as it is, whole numbers with separators
    unit: str = ""  # behind every value, such as %
    deviation: str = ""  # the data's column with the standard deviation, printed as mean ± SD
    between: str = "±"  # what stands between the two; + before a residual
    group: str = ""  # a head over this column and its neighbours of the same group
    best_of_row: Best = ""  # which value of a row is printed in bold, among the columns that say the same
    mark: str = ""  # the data's column with marks that stand behind a value, such as †
    signed: bool = False
    wrapped: bool = False  # whether its cells are sentences, which need lines
    indexed: bool = False  # whether what follows an underscore in its cells is an index, as b in AP_b


@dataclass(frozen=True)
class Cell:
    """A value as printed: `text`, or `text` ± `deviation`."""

    text: str
    deviation: str = ""
    bold: bool = False
    mark: str = ""
    number: bool = True
    between: str = "±"

    @property
    def plain(self) -> str:
        return f"{self.text}{f' {self.between} {self.deviation}' if self.deviation else ''}{self.mark}"


@dataclass(frozen=True)
class Printed:
    """A table ready to be written."""

    columns: list[Column]
    rows: list[list[Cell]]

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Heads over neighbouring columns, with how many each is over; all empty where there are none."""
        return [(group, len(list(some))) for group, some in groupby(self.columns, key=lambda column: column.group)]

    @property
    def is_number(self) -> list[bool]:
        """Which columns hold numbers, and are flush right."""
        return [all(row[i].number for row in self.rows if row[i].text) for i in range(len(self.columns))]


def printed(names: Sequence[str], rows: Sequence[Sequence[Any]], layout: Sequence[Column] = ()) -> Printed:
    """Lay out data; where no layout is given every column is printed, with its name as its head."""
    columns = list(layout)
    if not columns:
        columns = [Column(name.replace("_", " "), name, _digits(rows, i)) for i, name in enumerate(names)]
    place = {name: i for i, name in enumerate(names)}
    laid = []
    for row in rows:
        bold = _best_of_row(columns, [row[place[column.name]] for column in columns])
        laid.append([_cell(column, row, place, i in bold) for i, column in enumerate(columns)])
    return Printed(columns, laid)


def _best_of_row(columns: Sequence[Column], values: Sequence[Any]) -> set[int]:
    """Places of the best values. What is printed alike is as good; none is the best where more than half are."""
    bold: set[int] = set()
    for which, choose in (("lowest", min), ("highest", max)):
        rivals = [i for i, column in enumerate(columns) if column.best_of_row == which and values[i] is not None]
        best = choose((values[i] for i in rivals), default=None)
        as_good = {i for i in rivals if shown(values[i], columns[i]) == shown(best, columns[i])}
        if len(as_good) <= len(rivals) / 2:
            bold |= as_good
    return bold


def _digits(rows: Sequence[Sequence[Any]], i: int) -> int | None:
    return 4 if any(isinstance(row[i], float) for row in rows) else None


def _cell(column: Column, row: Sequence[Any], place: dict[str, int], bold: bool) -> Cell:
    value = row[place[column.name]]
    if isinstance(value, Cell):  # of a column whose rows are not alike
        return value
    deviation = row[place[column.deviation]] if column.deviation else None
    mark = str(row[place[column.mark]] or "") if column.mark else ""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return Cell(
        shown(value, column) + (column.unit if value is not None else ""),
        "" if deviation is None or value is None else shown(deviation, column),
        bold,
        mark,
        number,
        column.between,
    )


def shown(value: Any, column: Column) -> str:
    """A value with the digits of its column."""
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        sign = "+" if column.signed else ""
        if column.digits is not None:
            return format(value, f"{sign}.{column.digits}f")
        return format(value, f"{sign},") if isinstance(value, int) else format(value, f"{sign}.4f")
    return str(value)


# -- LaTeX ------------------------------------------------------------------------------------------------------------

PACKAGES = ("booktabs", "graphicx")
A_PAGE = 4  # tables
WRAPPED = r"p{0.22\linewidth}"


def latex(table: Printed, caption: str, label: str) -> str:
    """A floating table with booktabs: caption, label, heads over several columns, numbers aligned on their points."""
    numbers = table.is_number
    paired = [any(row[i].deviation for row in table.rows) for i in range(len(table.columns))]
    # A mean and its deviation are two columns around ±, so that both are aligned.
    form = "".join(
        rf"r@{{\,{_latex_between(column)}\,}}l" if pair else "r" if number else WRAPPED if column.wrapped else "l"
        for column, pair, number in zip(table.columns, paired, numbers, strict=True)
    )
    wide = len(table.columns) >= WIDE
    lines = [(r"\begin{table*}" if wide else r"\begin{table}") + "[htbp]", r"\centering"]
    lines += [rf"\caption{{{_latex_head(caption)}}}", rf"\label{{{label}}}"]
    lines += [r"\resizebox{\textwidth}{!}{%"] if wide else []
    lines += [rf"\begin{{tabular}}{{{form}}}", r"\toprule"]
    lines += _latex_groups(table, paired)
    heads = [
        rf"\multicolumn{{2}}{{c}}{{{_latex_head(column.head)}}}" if pair else _latex_head(column.head)
        for column, pair in zip(table.columns, paired, strict=True)
    ]
    lines += [" & ".join(heads) + r" \\", r"\midrule"]
    lines += [" & ".join(_latex_cells(row, table.columns, paired)) + r" \\" for row in table.rows]
    lines += [r"\bottomrule", r"\end{tabular}" + ("}" if wide else "")]
    return "\n".join([*lines, r"\end{table*}" if wide else r"\end{table}", ""])


def _latex_groups(table: Printed, paired: Sequence[bool]) -> list[str]:
    if not any(group for group, _ in table.groups):
        return []
    heads, rules = [], []
    at, column = 0, 1
    for group, n in table.groups:
        width = sum(2 if pair else 1 for pair in paired[at : at + n])
        # Also without a name over several columns: else the ± between two of them would be set here too.
        heads.append(rf"\multicolumn{{{width}}}{{c}}{{{_latex_head(group)}}}" if group or width > 1 else "")
        if group:
            rules.append(rf"\cmidrule(lr){{{column}-{column + width - 1}}}")
        at, column = at + n, column + width
    return [" & ".join(heads) + r" \\", "".join(rules)]


def _latex_cells(row: Sequence[Cell], columns: Sequence[Column], paired: Sequence[bool]) -> Iterator[str]:
    for cell, column, pair in zip(row, columns, paired, strict=True):
        value = _latex_head(cell.text) if column.indexed else latex_escape(cell.text)
        if cell.number and re.match(r"-\d", value):  # a dash is no sign
            value = f"${value[0]}${value[1:]}"
        value = rf"\textbf{{{value}}}" if cell.bold and value else value
        # Marks take no room, so that points stay in line.
        value += rf"\rlap{{$^{{{_latex_mark(cell.mark)}}}$}}" if cell.mark else ""
        if not pair:
            yield value
        elif cell.deviation:
            yield value
            yield latex_escape(cell.deviation)
        else:  # no ± between two empty cells
            yield rf"\multicolumn{{2}}{{c}}{{{value}}}"


def _latex_between(column: Column) -> str:
    return r"$\pm$" if column.between == "±" else f"${column.between}$"


def _latex_head(head: str) -> str:
    r"""A head; what follows an underscore is an index.

    >>> _latex_head("AP_b@k")
    'AP$_{\\mathrm{b}}$@k'
    """
    return re.sub(r"\\_" + INDEX, r"$_{\\mathrm{\1}}$", latex_escape(head))


def _latex_mark(mark: str) -> str:
    return mark.replace("†", r"\dagger").replace("‡", r"\ddagger").replace("*", r"\ast")


def latex_document(names: Sequence[str], title: str) -> str:
    """A document that sets all tables of a folder, to be compiled there."""
    packages = "".join(rf"\usepackage{{{package}}}" + "\n" for package in PACKAGES)
    tables = "".join(
        rf"\input{{{name}}}" + "\n" + (r"\clearpage" + "\n" if i % A_PAGE == 0 else "")
        for i, name in enumerate(names, 1)
    )
    return (
        "\\documentclass{article}\n\\usepackage[T1]{fontenc}\n\\usepackage[utf8]{inputenc}\n"
        f"\\usepackage[margin=2cm]{{geometry}}\n{packages}"
        f"\\begin{{document}}\n\\section*{{{latex_escape(title)}}}\n{tables}\\end{{document}}\n"
    )


# -- Markdown and HTML ------------------------------------------------------------------------------------------------


def markdown(table: Printed) -> str:
    heads = [f"{column.group} {column.head}".strip() for column in table.columns]
    lines = [_markdown_row(heads), "|" + "".join("---:|" if number else "---|" for number in table.is_number)]
    lines += [_markdown_row([f"**{cell.plain}**" if cell.bold else cell.plain for cell in row]) for row in table.rows]
    return "\n".join([*lines, ""])


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def html(table: Printed) -> str:
    numbers = table.is_number
    groups = ""
    if any(group for group, _ in table.groups):
        groups = "<tr>" + "".join(f'<th colspan="{n}">{_html_head(group)}</th>' for group, n in table.groups) + "</tr>"
    heads = "".join(
        f"<th{_right(number)}>{_html_head(column.head)}</th>"
        for column, number in zip(table.columns, numbers, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{_kind(number, column.wrapped)}>{_html_cell(cell, column)}</td>"
            for cell, column, number in zip(row, table.columns, numbers, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    return f'<div class="scroll"><table><thead>{groups}<tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def _html_cell(cell: Cell, column: Column) -> str:
    text = _html_head(cell.plain) if column.indexed else escape(cell.plain)
    return f"<b>{text}</b>" if cell.bold else text


def _html_head(head: str) -> str:
    return re.sub("_" + INDEX, r"<sub>\1</sub>", escape(head))


def _kind(number: bool, wrapped: bool) -> str:
    return ' class="w"' if wrapped else _right(number)


def _right(number: bool) -> str:
    return ' class="n"' if number else ""
