"""What people see of a result: the answer in sentences, tables, and notes under them.

Pipes and files get all of it. A terminal gets a screenful: of long tables the first and the last rows, of wide ones the
columns that matter, and as many notes as fit. Whatever is left out is counted, and `--all` shows it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from fathoms.base.text import CONTROLS, pluralise, shown_safely

FIRST, LAST = 20, 3  # rows of a long table that a terminal shows from either end
LEAST_NOTES = 5  # lines that tables leave for notes
LEAST_ROWS = 3  # lines that a table has at least for its rows, or it is left out
NAMED = 5  # columns that are left out and named
LEAST_WORDS = 12  # characters that a column of words is folded to, if need be
GAP = "  "
SHOWN = CONTROLS  # ids may hold them
OURS = dict.fromkeys(map(ord, "·─━├┤●…±"), "-")  # letters of our own, as wide as others
BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


class Size(NamedTuple):
    """Of a terminal."""

    columns: int
    lines: int


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table. Where the terminal is narrow, columns of the highest level are left out first, all of one
    level together; those of level 0 stay."""

    name: str
    cells: Sequence[str]
    level: int = 0
    words: bool = False  # flush left, and folded where there is no room; numbers are flush right
    draw: Callable[[int], list[str]] | None = None  # a drawing: its header and cells in a width of at most so much
    widths: tuple[int, ...] = ()  # that a drawing may have, widest first

    @property
    def width(self) -> int:
        return max(map(cells_of, (self.name, *self.cells)))

    def drawn(self, width: int) -> Column:
        assert self.draw is not None
        name, *cells = self.draw(width)
        return replace(self, name=name, cells=cells)

    def of_rows(self, rows: Sequence[int]) -> Column:
        draw = self.draw
        kept = None if draw is None else lambda width: [(all_ := draw(width))[0], *(all_[1 + i] for i in rows)]
        return replace(self, cells=[self.cells[i] for i in rows], draw=kept)


def cell(value: Any, form: str = ".4f", whole: str = "") -> str:
    """A value as a cell of a table, numbers in a form of their own; empty where there is none.

    >>> cell(0.12345, ".3f"), cell(None), cell(12345, whole=","), cell(True), cell("AP", whole=",")
    ('0.123', '', '12,345', 'yes', 'AP')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return format(value, form)
    return format(value, whole) if isinstance(value, int) else str(value)


def drawing(draw: Callable[[int], list[str]], level: int, widths: tuple[int, ...] = (24, 16, 10)) -> Column:
    name, *cells = draw(widths[0])
    return Column(name, cells, level, words=True, draw=draw, widths=widths)


@dataclass(frozen=True, eq=False)
class Block:
    """A table, with a title where its columns do not say what it is about."""

    columns: list[Column]
    title: str = ""
    noun: str = "row"  # what a row is, for the line that counts those left out
    more: int = 0  # rows that are left out before the last few
    brief: Block | None = None  # what a terminal shows in its place
    under: str = ""  # a hint below it

    @property
    def height(self) -> int:
        return len(self.columns[0].cells)


def terminal() -> Size | None:
    """The size of the terminal that standard output is; None where it is none."""
    if not sys.stdout.isatty():
        return None
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except (AttributeError, ValueError, OSError):
        return Size(80, 24)
    given = os.environ.get("COLUMNS", "")
    columns = int(given) if given.isdecimal() and int(given) else size.columns
    return Size(columns or 80, max(24, size.lines))


def page(answer: Sequence[str], blocks: Sequence[Block], notes: Sequence[str], size: Size | None) -> str:
    """Everything, or with the size of a terminal what fits there; columns without a single value are no loss."""
    blocks = [
        replace(block, columns=[column for column in block.columns if any(column.cells) or not column.cells])
        for block in blocks
    ]
    answer, notes = [shown_safely(sentence) for sentence in answer], [shown_safely(note) for note in notes]
    if size is not None:
        return _fitted(answer, blocks, notes, size)
    answers = ["\n".join(answer)] if answer else []
    tables = ["\n".join(_lines(block, SHOWN)) for block in blocks]
    remarks = ["\n".join(notes)] if notes else []
    return "\n\n".join([*answers, *tables, *remarks]) + "\n"


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], words: int, title: str = "", noun: str = "row"
) -> Block:
    """A block of rows, the first columns of which hold words; none is more important than another."""
    columns = [list(column) for column in zip(header, *rows, strict=True)]
    return Block([Column(name, cells, words=i < words) for i, (name, *cells) in enumerate(columns)], title, noun)


def aligned_text(header: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> str:
    """A whole table as text."""
    return "\n".join(_lines(table(header, rows, words), SHOWN)) + "\n"


# -- text -----------------------------------------------------------------------------------------------------


def cells_of(text: str) -> int:
    """How wide a text is on a terminal, where some letters are wider than others."""
    if text.isascii() or text.translate(OURS).isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def safe(text: str) -> str:
    """A text that does nothing to a terminal but show itself."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def wrapped(text: str, width: int, indent: str = GAP) -> list[str]:
    """A sentence in lines of a terminal, all but the first indented."""
    lines, line = [], ""
    for word in safe(text).split(" "):
        while line.strip() and cells_of(line) + 1 + cells_of(word) > width:
            lines.append(line)
            line = indent
        line = f"{line}{' ' if line.strip() else ''}{word}"
        while cells_of(line) > width:  # a word longer than a line
            first, *pieces = _chopped(line, width)
            lines.append(first)
            line = indent + "".join(pieces)
    return [*lines, line]


def _chopped(text: str, width: int) -> list[str]:
    if text.isascii():
        return [text[i : i + width] for i in range(0, len(text), width)]
    from rich.cells import chop_cells

    return chop_cells(text, width)


def _padded(text: str, width: int, left: bool) -> str:
    blanks = " " * (width - cells_of(text))
    return text + blanks if left else blanks + text


def _styled(lines: Iterable[str], style: str) -> list[str]:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return list(lines)
    return [f"{style}{line}{PLAIN}" for line in lines]


# -- tables ---------------------------------------------------------------------------------------------------


def _lines(block: Block, shown: dict[int, str]) -> list[str]:
    """A whole table as text: title, header, rows."""
    columns = [
        _padded_column([column.name, *(cell.translate(shown) for cell in column.cells)], column.words)
        for column in block.columns
    ]
    rows = [GAP.join(cells).rstrip() for cells in zip(*columns, strict=True)]
    return [*filter(None, [block.title]), *rows, *filter(None, [block.under])]


def _padded_column(cells: Sequence[str], left: bool) -> list[str]:
    """Cells, all as wide as the widest."""
    if "".join(cells).isascii():  # a letter is a cell
        width = max(map(len, cells))
        return [cell.ljust(width) if left else cell.rjust(width) for cell in cells]
    width = max(map(cells_of, cells))
    return [_padded(cell, width, left) for cell in cells]


def _flat(rows: Iterable[list[str]]) -> list[str]:
    return [line for lines in rows for line in lines]


def _rows(columns: Sequence[Column], widths: Sequence[int]) -> list[list[str]]:
    """The header and each row as lines; words that are wider than their column go on in the next line."""
    rows = []
    for cells in zip(*((column.name, *column.cells) for column in columns), strict=True):
        parts = [
            wrapped(cell, width, "") if column.words and cells_of(cell) > width else [cell]
            for column, cell, width in zip(columns, cells, widths, strict=True)
        ]
        lines = []
        for i in range(max(map(len, parts))):
            line = (
                _padded(part[i] if i < len(part) else "", width, column.words)
                for column, part, width in zip(columns, parts, widths, strict=True)
            )
            lines.append(GAP.join(line).rstrip())
        rows.append(lines)
    return rows


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _narrowed(columns: Sequence[Column], width: int) -> tuple[list[Column], list[str]]:
    """The columns that fit in a width, level by level, and the names of those that do not."""
    kept = {i: column for i, column in enumerate(columns) if column.level == 0}
    left_out: list[str] = []
    for level in sorted({column.level for column in columns} - {0}):
        more = {i: column for i, column in enumerate(columns) if column.level == level}
        sizes = next((column.widths for column in more.values() if column.draw is not None), (0,))
        tried = ({i: of_level.drawn(size) if size else of_level for i, of_level in more.items()} for size in sizes)
        fits = next(
            (
                level_columns
                for level_columns in tried
                if _total([c.width for c in (kept | level_columns).values()]) <= width
            ),
            None,
        )
        if fits is not None:
            kept |= fits
        elif sizes == (0,):
            left_out += [column.name for column in more.values()]
    return [kept[i] for i in sorted(kept)], left_out


def _widths(columns: Sequence[Column], width: int) -> list[int]:
    """As wide as their cells; columns of words give way if that is too much, the widest first."""
    widths = [column.width for column in columns]
    while (over := _total(widths) - width) > 0:
        words = [i for i, column in enumerate(columns) if column.words and widths[i] > LEAST_WORDS]
        if not words:
            break
        widest = max(words, key=lambda i: widths[i])
        others = [widths[i] for i in words if i != widest]
        floor = max([LEAST_WORDS, *(other for other in others if other < widths[widest])])
        widths[widest] = max(floor, widths[widest] - over) if floor < widths[widest] else widths[widest] - 1
    return widths


# -- a screenful ----------------------------------------------------------------------------------------------


def _fitted(answer: Sequence[str], blocks: Sequence[Block], notes: Sequence[str], size: Size) -> str:
    width, height = size.columns, size.lines - 1  # the last line is for the prompt
    lines_shown, unsaid = _within([wrapped(sentence, width) for sentence in answer], height // 2 if blocks else height)
    lines = [*lines_shown, *_counted(unsaid, "sentence")]
    note_lines = [wrapped(note, width) for note in notes]
    if blocks:
        narrow = [_on_terminal(block.brief or block, width) for block in blocks]
        left_out = list(dict.fromkeys(name for _, names in narrow for name in names))
        hint = wrapped(_left_out(left_out), width) if left_out else []
        shown = [block for block, _ in narrow]
        room = height - len(lines) - 1 - len(hint)
        full = sum(_head(block) + _height(block, width) for block in shown) + len(shown) - 1
        first = (
            len(note_lines[0]) + 1 + (len(note_lines) > 1) if note_lines else 0
        )  # with a blank line and the count of the others
        kept = min(sum(map(len, note_lines)) + 1, max(LEAST_NOTES, first, room - full)) if note_lines else 0
        lines += ["", *_tables(shown, width, room - kept), *_styled(hint, DIM)]
    if note_lines:
        note_shown, more = _within(note_lines, height - len(lines) - 1)
        lines += ["", *note_shown, *_counted(more, "note")]
    return "\n".join(lines) + "\n"


def _left_out(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
    return f"Not shown: {shown} (--all or a wider terminal)."


def _within(texts: Sequence[list[str]], room: int) -> tuple[list[str], int]:
    """Those texts that fit in so many lines, in order, and how many do not; the first one is always there."""
    lines: list[str] = []
    for i, text in enumerate(texts):
        last = i == len(texts) - 1
        if i and len(lines) + len(text) + (not last) > room:
            return lines, len(texts) - i
        lines += text
    return lines, 0


def _counted(more: int, noun: str) -> list[str]:
    return _styled([f"{_more(more, noun)}."], DIM) if more else []


def _more(n: int, noun: str) -> str:
    return f"{pluralise(n, f'more {noun}')}; --all shows {'it' if n == 1 else 'them'}"


def _on_terminal(block: Block, width: int) -> tuple[Block, list[str]]:
    """A table of the rows that a terminal may show and the columns that fit, and the names of those that do not."""
    columns, more = block.columns, max(0, block.height - FIRST - LAST)
    if more:
        rows = [*range(FIRST), *range(block.height - LAST, block.height)]
        columns = [column.of_rows(rows) for column in columns]
    columns = [
        replace(column, name=safe(column.name), cells=[safe(cell) for cell in column.cells]) for column in columns
    ]
    columns, left_out = _narrowed(columns, width)
    return replace(block, columns=columns, title=safe(block.title), more=more), left_out


def _head(block: Block) -> int:
    """The lines that a table has beside its rows."""
    return bool(block.title) + 1 + bool(block.under)


def _height(block: Block, width: int) -> int:
    """The lines that all its rows take, and the one that counts others."""
    _, *rows = _rows(block.columns, _widths(block.columns, width))
    return sum(map(len, rows)) + bool(block.more)


def _tables(blocks: Sequence[Block], width: int, room: int) -> list[str]:
    """As many tables as there is room for with a few rows each; these share it."""
    heights = [_height(block, width) for block in blocks]
    heads = [_head(block) for block in blocks]
    least = [head + min(height, LEAST_ROWS) for head, height in zip(heads, heights, strict=True)]
    shown = len(blocks)
    while shown > 1 and sum(least[:shown]) + (shown < len(blocks)) > room:
        shown -= 1
    more = len(blocks) - shown
    blank = room >= sum(heads[:shown]) + min(sum(heights[:shown]), 2 * LEAST_ROWS * shown) + shown - 1
    shares = _shares(heights[:shown], room - sum(heads[:shown]) - (shown - 1 if blank else 0) - bool(more))
    lines: list[str] = []
    for block, share in zip(_in_line(blocks[:shown], width), shares, strict=True):
        lines += ["", *_cut(block, width, share)] if lines and blank else _cut(block, width, share)
    return [*lines, *_counted(more, "table")]


def _in_line(blocks: Sequence[Block], width: int) -> list[Block]:
    """Tables without titles, which follow on each other, with first columns of one width, if there is room."""
    most = max((block.columns[0].width for block in blocks if not block.title), default=0)

    def of_width(block: Block) -> Block:
        first, *others = block.columns
        name = first.name + " " * (most - cells_of(first.name))
        wider = replace(block, columns=[replace(first, name=name), *others])
        return block if block.title or _total([column.width for column in wider.columns]) > width else wider

    return [of_width(block) for block in blocks]


def _shares(needs: Sequence[int], room: int) -> list[int]:
    """What each of some may have of a room that may be too small: who needs little gets all of it."""
    shares = [0] * len(needs)
    for done, i in enumerate(sorted(range(len(needs)), key=lambda i: needs[i])):
        shares[i] = min(needs[i], max(2, room // (len(needs) - done)))
        room -= shares[i]
    return shares


def _cut(block: Block, width: int, room: int) -> list[str]:
    """A table in so many lines below its header: its first and last rows, and how many there are between."""
    first, last = _ends(room - 1) if block.more or block.height > room else (block.height, 0)
    while True:
        rows = [*range(first), *range(block.height - last, block.height)]
        columns = [column.of_rows(rows) for column in block.columns]
        head, *body = _rows(columns, _widths(columns, width))
        more = block.more + block.height - len(rows)
        if sum(map(len, body)) + bool(more) <= room or len(rows) == 1:
            break
        first, last = _ends(len(rows) - 1)
    between = _styled([f"… {_more(more, block.noun)}"], DIM) if more else []
    title = _styled([_clipped(block.title, width)], BOLD) if block.title else []
    under = _styled([_clipped(block.under, width)], DIM) if block.under else []
    return [*title, *_styled(head, BOLD), *_flat(body[:first]), *between, *_flat(body[first:]), *under]


def _clipped(text: str, width: int) -> str:
    first, *cut_off = _chopped(text, width)
    return f"{first[:-1]}…" if cut_off else first


def _ends(rows: int) -> tuple[int, int]:
    """How many rows from the start and from the end make so many."""
    rows = max(1, min(rows, FIRST + LAST))
    last = LAST if rows >= 10 else int(rows >= 4)
    return rows - last, last
