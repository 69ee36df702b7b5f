"""Lines of text as people really write them, parsed on whole arrays of bytes.

A `Layout` says which columns a line has. They may be separated by any blanks; ids stay the bytes they are in the file.
One pass finds where each field starts and ends; topics and documents become fixed-width byte strings, eight bytes at a
time, and numbers are computed digit by digit for all lines at once. Only lines that resist are looked at one by one.
The compiled kernel, where there is one, does the same with plain lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fathoms.base import kernel
from fathoms.base.errors import InputError
from fathoms.base.text import pluralise
from fathoms.data import widths
from fathoms.data.column_names import Kind
from fathoms.data.widths import MOST_ID, lengths_of, room_for, too_long, too_wide, width_for

Text = widths.Text  # ids as fixed-width byte strings; the width is a multiple of eight
Ints = NDArray[np.signedinteger]
Floats = NDArray[np.float64]
Words = NDArray[np.uint64]  # eight bytes of text, the first one lowest

BLANKS = [9, 10, 11, 12, 13, 32]  # what C's isspace takes for a blank
ZERO_BYTES = 64  # zero bytes kept after the text
PIECE = 1 << 24  # bytes parsed at a time, so that the index arrays stay small beside a large file


class Layout(NamedTuple):
    """The columns of a line, and what the rows are for."""

    kind: Kind
    columns: tuple[str, ...]
    number: str  # the column that must hold a number
    rest_in_last: bool  # further columns belong to the last one
    finite: bool  # that number must not be infinite

    @property
    def expected(self) -> str:
        return f"expected {len(self.columns)} columns ({' '.join(self.columns)})"

    @property
    def expected_number(self) -> str:
        return f"expected a {'finite ' if self.finite else ''}number as {self.number}"

    def bad(self, numbers: Floats) -> NDArray[np.bool_]:
        """Which numbers the column may not hold."""
        return ~np.isfinite(numbers) if self.finite else np.isnan(numbers)


RUN = Layout(
    "run", ("topic", "Q0", "document", "rank", "score", "tag"), number="score", rest_in_last=True, finite=False
)
QRELS = Layout("qrels", ("topic", "iteration", "document", "grade"), number="grade", rest_in_last=False, finite=True)
VALUES = Layout("values", ("topic", "document", "value"), number="value", rest_in_last=False, finite=True)


@dataclass(eq=False)
class Table:
    """Parsed lines (or rows of a frame), the number of the line each came from, and what was skipped on the way."""

    topic: Text
    document: Text
    number: Floats  # score or grade
    source: str
    rank: Floats | None = None  # nan where the column holds no number
    tag: str = ""
    lines: Ints | None = None  # None: row i is line i + 1
    skipped: list[str] = field(default_factory=list)
    unit: str = "line"  # or "row", where the input is no text
    numbered: tuple[list[str], NDArray[np.int32]] | None = None  # topics and each row's number, if known
    negatives: str = ""  # what negative grades mean here, where that is known
    distinct: bool = False  # whether it is known that no topic has a document twice

    def line(self, row: int) -> int:
        return row + 1 if self.lines is None else int(self.lines[row])

    def place(self, row: int) -> str:
        return f"{self.unit} {self.line(row)}"

    def error(self, row: int, message: str) -> InputError:
        if self.unit == "line":
            return InputError(message, self.source, self.line(row))
        return InputError(f"{self.place(row)}: {message}", self.source)


def parse(raw: bytes, layout: Layout, source: str, *, lenient: bool = False) -> Table:
    """The rows of a run or a qrels file; the first bad line is an error, or with `lenient` a skipped one."""
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in raw and raw.count(b"\r") != raw.count(b"\r\n"):
        # A carriage return ends a line by itself too: taken for a blank, it would hide the line that follows in a tag.
        raw = re.sub(rb"\r+\n", b"\n", raw).replace(b"\r", b"\n")
    bounds: list[tuple[int, int]] = []
    start = 0
    while start < len(raw):
        stop = len(raw) if start + PIECE >= len(raw) else raw.rfind(b"\n", start, start + PIECE) + 1
        if stop <= start:  # a line longer than a piece
            stop = raw.find(b"\n", start) + 1 or len(raw)
        bounds.append((start, stop))
        start = stop
    pieces = _parsed(raw, bounds, layout, source)
    line = 0
    for piece in pieces:
        piece.move_to(line)
        line += piece.n_lines
    complaints = [complaint for piece in pieces for complaint in piece.complaints]
    rows = sum(len(piece.number) for piece in pieces)
    skipped = report(complaints, rows, source, lenient)
    if not rows:
        what = "is empty" if not raw.strip() else "has no lines but blank ones and comments"
        raise InputError(f"the file {what}; expected a {layout.kind} file", source)
    plain = all(piece.lines is None for piece in pieces)

    def column(name: str) -> NDArray[Any]:
        parts = [getattr(piece, name) for piece in pieces]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def ids(name: str) -> Text:
        parts: list[Text] = [getattr(piece, name) for piece in pieces]
        widest = max(range(len(parts)), key=lambda i: parts[i].dtype.itemsize)
        if message := too_wide(name, rows, parts[widest].dtype.itemsize, room_for(len(raw))):
            row = int(lengths_of(parts[widest]).argmax())
            raise InputError(message, source, int(pieces[widest].row_lines()[row]))
        return column(name)

    return Table(
        topic=ids("topic"),
        document=ids("document"),
        number=column("number"),
        source=source,
        rank=column("rank") if "rank" in layout.columns else None,
        tag=next(piece.tag for piece in pieces if len(piece.number)),
        lines=None if plain else np.concatenate([piece.row_lines() for piece in pieces]),
        skipped=skipped,
    )


def _parsed(raw: bytes, bounds: list[tuple[int, int]], layout: Layout, source: str) -> list[_Piece]:
    if len(bounds) < 2:
        return [_Piece(raw, start, stop, layout, source) for start, stop in bounds]
    from concurrent.futures import ThreadPoolExecutor

    # All work is done outside the interpreter's lock, so two pieces of a large file take little longer than one.
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda bound: _Piece(raw, bound[0], bound[1], layout, source), bounds))


def report(complaints: list[tuple[int, str]], rows: int, source: str, lenient: bool) -> list[str]:
    """The first bad line as an error, or with `lenient` a note on what was skipped."""
    if not complaints:
        return []
    if not lenient or not rows:
        line, message = complaints[0]
        more = f" ({pluralise(len(complaints) - 1, 'more bad line')})" if len(complaints) > 1 else ""
        raise InputError(message + more, source, line)
    shown = "; ".join(f"line {line}: {message}" for line, message in complaints[:3])
    return [
        f"{source}: skipped {pluralise(len(complaints), 'bad line')}: {shown}"
        + ("; ..." if len(complaints) > 3 else "")
    ]


class _Piece:
    """Whole lines of a file, parsed."""

    def __init__(self, raw: bytes, start: int, stop: int, layout: Layout, source: str) -> None:
        self.layout = layout
        self.room = room_for(stop - start, len(raw))
        self.first_line = 1
        self.complaints: list[tuple[int, str]] = []
        self.lines: Ints | None = None
        if not self._take_plain(raw, start, stop):
            self._parse(raw, start, stop, source)

    def _take_plain(self, raw: bytes, start: int, stop: int) -> bool:
        """Let the kernel do it; False if there is none, or if something needs an explanation."""
        columns, layout = self.layout.columns, self.layout
        topic, document, number = (columns.index(name) for name in ("topic", "document", layout.number))
        rank = columns.index("rank") if "rank" in columns else -1
        wanted = (topic, document, number, rank)
        parts = kernel.parse_lines(raw, start, stop, len(columns), layout.rest_in_last, wanted, self.room)
        if parts is None or not len(parts.number) or layout.bad(parts.number).any():
            return False
        self.topic, self.document, self.number, self.rank = parts[:4]
        self.n_lines = len(self.number)
        self.tag = _tag(raw, parts.tag_at) if "tag" in columns else ""
        return True

    def _parse(self, raw: bytes, start: int, stop: int, source: str) -> None:
        # Zeros past the end, so that whole words may be read from any place.
        end_of_line = b"" if raw[stop - 1 : stop] == b"\n" else b"\n"
        padded = b"".join((memoryview(raw)[start:stop], end_of_line, bytes(ZERO_BYTES)))
        data = np.frombuffer(padded, np.uint8, len(padded) - ZERO_BYTES)
        blank = data <= 32
        end = np.flatnonzero(blank).astype(np.int32)  # half the memory to go through
        separators = data[end]
        self.n_lines = int(np.count_nonzero(separators == ord("\n")))
        if np.count_nonzero((separators == ord(" ")) | (separators == ord("\t"))) + self.n_lines != len(end):
            control = ~np.isin(separators, BLANKS)
            if control.any():
                at = int(end[control.argmax()])
                line = raw.count(b"\n", 0, start + at) + 1
                what = f"holds binary data (byte {data[at]:#04x})"
                raise InputError(f"{what}, expected a {self.layout.kind} file", source, line)
        fields = self._plain_fields(data, end, separators) or self._any_fields(padded, data, blank)
        self.lines = fields.lines
        self._take(padded, self._short_enough(fields), source, raw.count(b"\n", 0, start))

    def move_to(self, line: int) -> None:
        """Count lines from the start of the file, of which `line` stand before this piece."""
        self.first_line += line
        self.complaints = [(line + number, message) for number, message in self.complaints]
        if self.lines is not None:
            self.lines = self.lines + line

    def row_lines(self) -> Ints:
        return self.first_line + np.arange(len(self.number)) if self.lines is None else self.lines

    def _plain_fields(self, data: NDArray[np.uint8], end: Ints, separators: NDArray[np.uint8]) -> _Fields | None:
        """Fields if each line has its columns and one separator after each, which is nearly every file."""
        width = len(self.layout.columns)
        if len(end) != self.n_lines * width or (separators[width - 1 :: width] != ord("\n")).any():
            return None
        if end[0] == 0 or (end[1:] - end[:-1] == 1).any():  # an empty field
            return None
        fields = _Fields(None, end.reshape(-1, width), None)
        return None if (data[fields.start_of(0)] == ord("#")).any() else fields

    def _any_fields(self, padded: bytes, data: NDArray[np.uint8], blank: NDArray[np.bool_]) -> _Fields:
        """Fields between any blanks; blank lines and comments are skipped, other misfits reported."""
        edge = np.flatnonzero(np.diff(blank, prepend=True))
        start, end = edge[::2], edge[1::2]
        line_ends = np.flatnonzero(data == ord("\n"))
        of_line = np.searchsorted(line_ends, start)
        count = np.bincount(of_line, minlength=len(line_ends))
        first = np.cumsum(count) - count
        width = len(self.layout.columns)
        used = count > 0
        used[used] = data[start[first[used]]] != ord("#")
        good = used & (count >= width if self.layout.rest_in_last else count == width)
        for line in np.flatnonzero(used & ~good):
            n = int(count[line])
            hint = {("run", 4): "; this looks like a qrels file", ("qrels", 6): "; this looks like a run"}
            self._complain(
                self.first_line + int(line),
                f"{self.layout.expected}, found {n}: {_shown(padded, line_ends, int(line))}"
                + hint.get((self.layout.kind, n), ""),
            )
        lines = np.flatnonzero(good)
        places = first[lines][:, None] + np.arange(width)
        return _Fields(start[places], end[places], lines + self.first_line)

    def _complain(self, line: int, message: str) -> None:
        self.complaints.append((line, message))

    def _short_enough(self, fields: _Fields) -> _Fields:
        """The lines whose ids are not too long; the others are reported."""
        columns = self.layout.columns
        bad = np.zeros(len(fields.end), dtype=bool)
        for name in ("topic", "document"):
            length = fields.length_of(columns.index(name))
            for row in np.flatnonzero(length > MOST_ID):
                bad[row] = True
                self._complain(self._line_of(int(row)), too_long(name, int(length[row])))
        if not bad.any():
            return fields
        self.complaints.sort()
        start = np.stack([fields.start_of(column) for column in range(len(columns))], axis=1)
        self.lines = np.arange(len(bad))[~bad] + self.first_line if self.lines is None else self.lines[~bad]
        return _Fields(start[~bad], fields.end[~bad], self.lines)

    def _line_of(self, row: int) -> int:
        return self.first_line + row if self.lines is None else int(self.lines[row])

    def _take(self, padded: bytes, fields: _Fields, source: str, lines_before: int) -> None:
        columns = self.layout.columns

        def ids(name: str) -> Text:
            column = columns.index(name)
            length = fields.length_of(column)
            if message := too_wide(name, len(length), int(length.max(initial=0)), self.room):
                line = lines_before + self._line_of(int(length.argmax()))
                raise InputError(message, source, line)
            return byte_strings(padded, fields.start_of(column), length)

        def numbers(name: str) -> Floats:
            column = columns.index(name)
            return _number_column(padded, fields.start_of(column), fields.length_of(column))

        self.number = numbers(self.layout.number)
        self.topic, self.document = ids("topic"), ids("document")
        self.rank = numbers("rank") if "rank" in columns else np.empty(0)
        self.tag = ""
        if "tag" in columns and len(fields.end):
            self.tag = _tag(padded, int(fields.start_of(len(columns) - 1)[0]))

        bad = self.layout.bad(self.number)
        if bad.any():
            row_lines = self.row_lines()
            column = columns.index(self.layout.number)
            starts, lengths = fields.start_of(column), fields.length_of(column)
            for row in np.flatnonzero(bad):
                text = _shortened(padded[starts[row] : starts[row] + lengths[row]])
                expected = f"{self.layout.expected_number} (column {column + 1})"
                self._complain(int(row_lines[row]), f"{expected}, found {text}")
            self.complaints.sort()
            self.lines = row_lines[~bad]
            self.number, self.topic, self.document = self.number[~bad], self.topic[~bad], self.document[~bad]
            self.rank = self.rank[~bad] if len(self.rank) else self.rank


def _tag(raw: bytes, at: int) -> str:
    """From there to the end of the line."""
    end = raw.find(b"\n", at)
    return raw[at : len(raw) if end < 0 else end].decode(errors="replace").strip()


def _shown(padded: bytes, line_ends: Ints, line: int) -> str:
    return _shortened(padded[line_ends[line - 1] + 1 if line else 0 : line_ends[line]].strip())


def _shortened(text: bytes) -> str:
    return repr(text[:77].decode(errors="replace") + ("..." if len(text) > 77 else ""))


class _Fields:
    """Where each line's columns start and end; `start` is None where each starts one byte after the one before."""

    def __init__(self, start: Ints | None, end: Ints, lines: Ints | None) -> None:
        self.start = start
        self.end = end
        self.lines = lines

    def start_of(self, column: int) -> Ints:
        if self.start is not None:
            return np.ascontiguousarray(self.start[:, column])
        if column:
            return self.end[:, column - 1] + 1
        start = np.zeros(len(self.end), dtype=self.end.dtype)
        start[1:] = self.end[:-1, -1] + 1
        return start

    def length_of(self, column: int) -> Ints:
        length: Ints = self.end[:, column] - self.start_of(column)
        return length


LONGEST_NUMBER = 40  # characters that are looked at for all lines at once


def _number_column(padded: bytes, start: Ints, length: Ints) -> Floats:
    """Numbers from where they start and how long they are. Very long ones, which would make the whole array as wide,
    are read one by one."""
    short = np.minimum(length, LONGEST_NUMBER)
    numbers = _numbers(byte_strings(padded, start, short), short)
    for row in np.flatnonzero(length > LONGEST_NUMBER):
        numbers[row] = number_of(padded[start[row] : start[row] + length[row]])
    return numbers


_KEEP = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype="<u8")  # masks for the first n bytes of a word


def byte_strings(padded: bytes, start: Ints, length: Ints) -> Text:
    """Byte strings from where they start and how long they are, gathered in words of eight bytes."""
    longest = int(length.max(initial=0))
    n_words = width_for(longest) // 8
    # A word at every byte: unaligned, but never copied as a whole.
    words = np.ndarray((len(padded) - 7,), dtype="<u8", buffer=padded, strides=(1,))
    out = np.empty((len(start), n_words), dtype="<u8")
    for i in range(n_words):
        at = start + 8 * i if i else start
        if 8 * i + 8 > ZERO_BYTES:
            at = np.minimum(at, len(padded) - 8)
        used = length - 8 * i if i else length
        if i or longest > 8:
            used = np.maximum(np.minimum(used, 8), 0)
        np.bitwise_and(words[at], _KEEP[used], out=out[:, i])
    text: Text = out.view(f"S{8 * n_words}").ravel()
    return text


_TEN = 10.0 ** np.arange(23)  # powers that a double holds exactly
_TEN_LONG = np.array([np.longdouble(10) ** i for i in range(23)])
_TEN_WHOLE = 10 ** np.arange(20, dtype=np.uint64)
_BYTE, _WORD = np.uint64(8), np.uint64(64)
_ALL, _ONES, _HIGH = (np.uint64(n) for n in (0xFFFFFFFFFFFFFFFF, 0x0101010101010101, 0x8080808080808080))
_ZEROS, _POINTS = (np.uint64(ord(c)) * _ONES for c in "0.")
_MOST_DIGITS = 19  # of a whole number below 2^64
_MOST_WORDS = 3  # sign, point and digits
_DOUBLE_WHOLE = np.uint64(1 << 53)


def _numbers(text: Text, length: Ints) -> Floats:
    """Decimal numbers, nan where there is none. Correctly rounded, as `float` would.

    Eight characters of all lines are worked on at once, as words of eight bytes. A quotient of an integer below 2^53
    and a power of ten up to 10^22 is rounded once, so it is right; so is one of more digits where a wider type is at
    hand, unless it falls half way. All else (exponents, infinities, more digits) is left to `float`.
    """
    if not len(text):
        return np.empty(0)
    parts = text.view("<u8").reshape(len(text), -1)
    words = [parts[:, i] for i in range(min(parts.shape[1], _MOST_WORDS))]
    negative = (words[0] & np.uint64(0xFF)) == ord("-")
    signed = bool(negative.any())
    if signed:
        before = np.where(negative, np.uint64(0), _ALL)
        words, length = _without_byte(words, [before] * len(words)), length - negative
    masks = _before_point(words)
    has_point = masks[-1] != _ALL
    decimals = None
    if has_point.any():
        words = _without_byte(words, masks)
        length = length - has_point
        decimals = length - np.add.reduce([np.bitwise_count(mask) for mask in masks], dtype=np.int32) // 8
        decimals[~has_point] = 0
    mantissa, fits = _whole(words[0], length if len(words) == 1 else np.minimum(length, 8))
    for i, word in enumerate(words[1:], 1):
        here = np.clip(length - 8 * i, 0, 8)
        more, fit = _whole(word, here)
        mantissa = mantissa * _TEN_WHOLE[here] + more
        fits &= fit
    fits &= length > 0
    if len(words) == _MOST_WORDS:
        fits &= length <= _MOST_DIGITS
    if decimals is None:
        decimals = np.zeros_like(length)
        numbers: Floats = mantissa.astype(np.float64)
    else:
        numbers = mantissa / _TEN.take(decimals, mode="clip")
    large = np.flatnonzero(fits & (mantissa >= _DOUBLE_WHOLE)) if len(words) > 1 else ()
    if len(large):
        numbers[large], fits[large] = _from_long(mantissa[large], decimals[large])
    if signed:
        numbers[negative] *= -1
    if not fits.all():
        hard = np.flatnonzero(~fits)
        numbers[hard] = [number_of(number) for number in text[hard].tolist()]
    return numbers


def _without_byte(words: list[Words], before: list[Words]) -> list[Words]:
    """The characters with one taken out: those that `before` masks stay, all others move one place to the front."""
    after = [*words[1:], np.zeros_like(words[0])]
    return [
        (word & mask) | (((word >> _BYTE) | (next_word << (_WORD - _BYTE))) & ~mask)
        for word, next_word, mask in zip(words, after, before, strict=True)
    ]


def _before_point(words: list[Words]) -> list[Words]:
    """Masks of the characters before the first point, or of all where there is none."""
    masks: list[Words] = []
    for word in words:
        other = word ^ _POINTS
        points = (other - _ONES) & ~other & _HIGH  # the lowest bit set is at the first point
        mask = ((points & (~points + np.uint64(1))) >> np.uint64(7)) - np.uint64(1)
        masks.append(np.where(masks[-1] == _ALL, mask, np.uint64(0)) if masks else mask)
    return masks


def _whole(word: Words, length: Ints) -> tuple[Words, NDArray[np.bool_]]:
    """The number that the first `length` characters of each word are, and whether they are digits."""
    # The last digit to the highest byte, and zeros below the first; then neighbours are put together, three times.
    digits = (word - _ZEROS) << (_WORD - (length.astype(np.uint64) << np.uint64(3)))
    fits = (((digits + _ONES * np.uint64(0x76)) | digits) & _HIGH) == 0
    for tens, bits, mask in ((10, 8, 0x00FF00FF00FF00FF), (100, 16, 0x0000FFFF0000FFFF), (10_000, 32, 0xFFFFFFFF)):
        digits = (digits * np.uint64(tens) + (digits >> np.uint64(bits))) & np.uint64(mask)
    return digits, fits


def _from_long(mantissa: Words, decimals: Ints) -> tuple[Floats, NDArray[np.bool_]]:
    """Quotients of integers that are too long for a double, and which of them are surely rounded right.

    They are rounded twice. That matters only where the first rounding ends half way between two doubles, which are a
    quarter of the spacing away from a power of two.
    """
    with np.errstate(over="ignore"):
        quotient = mantissa.astype(np.longdouble) / _TEN_LONG[decimals]
        numbers = quotient.astype(np.float64)
        off = np.abs(quotient - numbers) / np.spacing(numbers)
    wide = np.finfo(np.longdouble).nmant >= 63
    return numbers, wide & (off != 0.5) & (off != 0.25)


def number_of(text: bytes) -> float:
    """The number that a text is, nan where it is none."""
    try:
        return float("nan") if b"_" in text else float(text)
    except ValueError:
        return float("nan")
