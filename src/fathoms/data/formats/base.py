"""What a format is: facts about it, and four functions (recognise, read, split into parts, write).

The facts are there without numpy and polars, since the command line shows them: a format's file imports those inside
its functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from fathoms.base.errors import FathomsError
from fathoms.data.column_names import NEEDED, Kind, plain

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from fathoms.data.lines import Layout, Table
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run

BOM = b"\xef\xbb\xbf"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
PARQUET = b"PAR1"
HEAD = 1 << 16  # bytes at the start of a file that are enough to recognise it

Container = Literal["text", "json", "parquet"]
# What a run may have besides its documents, and the words for it when a format loses it.
RUN_PARTS = {
    "scores": "scores, and with them ties (documents are written in the order that --ties makes of them)",
    "ranks": "ranks",
    "tag": "the tag",
    "metadata": "ir_metadata",
}

# As text, since `re` compiles each when it is first needed.
_LINE = rb"[^\r\n]*\S[^\r\n]*"
_JSON_TOKEN = rb'(?s)"(?:[^"\\]|\\.)*"|["{}\[\],]'
SEPARATORS = ("\t", ",", ";", "|")
_SEP_LINE = rb'(?i)"?sep=[^\r\n\w]"?[\r\n]'
_CLOSING = {b"{": b"}", b"[": b"]"}


def split_names(text: str, separator: str | None) -> list[str]:
    """The names in a line, quoted or not."""
    return [name.strip().strip('"').strip() for name in text.split(separator)]


class Match(IntEnum):
    """How well some bytes fit a format. The best match wins, and among equals the first of the registry."""

    NO = 0
    POSSIBLE = 1  # nothing speaks for it: this format says what is wrong, if no other fits
    LIKELY = 2  # the content has its form
    CERTAIN = 3  # and a mark that no other format has


def as_utf8(raw: bytes) -> bytes:
    """What Excel writes, in the form that others use: UTF-16 as UTF-8, and a first line `sep=;` as a comment."""
    if raw.startswith(UTF16) and b"\0" in raw[:HEAD]:
        raw = raw.decode("utf-16", errors="replace").encode()
    start = len(BOM) if raw.startswith(BOM) else 0
    if re.compile(_SEP_LINE).match(raw, start):
        raw = raw[:start] + b"#" + raw[start:]
    return raw


class Content:
    """The bytes of a file, or the first ones, looked at once on behalf of all formats."""

    def __init__(self, raw: bytes, path: str | None = None) -> None:
        self.raw = as_utf8(raw)
        self.path = path  # of the file they are from, if it can be read again

    @cached_property
    def container(self) -> Container:
        if self.raw.startswith(PARQUET):
            return "parquet"
        return "json" if self.raw[:64].lstrip(BOM + b" \t\r\n")[:1] in (b"{", b"[") else "text"

    @cached_property
    def line(self) -> re.Match[bytes] | None:
        """The first line that is neither blank nor a comment."""
        start = len(BOM) if self.raw.startswith(BOM) else 0
        lines = re.compile(_LINE).finditer(self.raw, start)
        return next((line for line in lines if not line[0].lstrip().startswith(b"#")), None)

    @cached_property
    def fields(self) -> list[str]:
        """The words of that line, between the blanks of ASCII: others, such as those of Japanese, are part of ids."""
        return [] if self.line is None else [word.decode(errors="replace") for word in self.line[0].split()]

    @cached_property
    def header(self) -> tuple[str | None, list[str]] | None:
        """The names of columns in that line, and what stands between them (None: any blanks); None if it has none. A
        line that has a word where a number belongs must be such a line."""
        if self.line is None or self.container != "text":
            return None
        text = self.line[0].decode(errors="replace")
        for separator in (*(character for character in SEPARATORS if character in text), None):
            names = split_names(text, separator)
            words = set(map(plain, names))
            if all(words & needed for needed in NEEDED):
                return separator, names
        return None

    @cached_property
    def json(self) -> Any:
        """As much as the first bytes hold of the JSON value that starts there, cut where they end; None if that is not
        JSON. With one record a line it is the first."""
        import json

        text = self.raw[:HEAD].removeprefix(BOM)
        open_brackets: list[bytes] = []
        end = 0
        for token in re.finditer(_JSON_TOKEN, text):
            if token[0] == b'"':  # a string that the first bytes do not hold to its end
                break
            if token[0] in _CLOSING:
                open_brackets.append(_CLOSING[token[0]])
                end = token.end()
            elif token[0] in (b"}", b"]"):
                if not open_brackets or open_brackets.pop() != token[0]:
                    return None
                end = token.end()
                if not open_brackets:
                    break
            elif token[0] == b",":
                end = token.start()
        try:
            return json.loads(text[:end] + b"".join(reversed(open_brackets)))
        except (ValueError, RecursionError):
            return None


class Format:
    """Facts that files and Python objects share."""

    name: ClassVar[str]
    about: ClassVar[str]  # one line for the docs
    reads: ClassVar[tuple[Kind, ...]] = ()
    writes: ClassVar[tuple[Kind, ...]] = ()
    carries: ClassVar[frozenset[str]] = frozenset(RUN_PARTS)  # of a run, beside its documents


class FileFormat(Format):
    """A format of files. What it cannot do it declares: no `writes`, or no `part_bytes` if it cannot be split."""

    container: ClassVar[Container] = "text"
    endings: ClassVar[tuple[str, ...]] = ()  # that ask for it when something is written; the first is the usual one
    part_bytes: ClassVar[int | None] = None  # of a part with some whole topics; None: only read as a whole
    loses: ClassVar[str] = ""  # of judgments
    fills: ClassVar[frozenset[str]] = frozenset()  # what is always written of a run, made up if it is missing
    no_iteration: ClassVar[str] = "does not carry it"  # what happens to the second column of judgments
    compressed: ClassVar[bool] = False  # in itself, so that .gz behind it makes no sense
    in_order: ClassVar[bool] = False  # lines stand in the order of a tie policy
    run_as: ClassVar[str | None] = None  # the format of its runs, if that is another one

    def recognise(self, content: Content) -> Match:
        """Are these bytes of this format? They are of its container."""
        raise NotImplementedError

    def kinds(self, content: Content) -> frozenset[Kind]:
        """What such bytes may be read as."""
        return frozenset(self.reads)

    def read(self, content: Content, layout: Layout, source: str, *, lenient: bool) -> Table:
        raise NotImplementedError

    def split(self, path: str, content: Content) -> list[tuple[Any, ...]]:
        """Places of parts that hold whole topics; they are small tuples that `read_part` understands."""
        return []

    def read_part(self, path: str, place: tuple[Any, ...], layout: Layout) -> Table:
        """One of the parts; an InputError if the file should rather be read as a whole."""
        raise NotImplementedError

    def write(self, data: Run | Qrels, rows: NDArray[np.int64] | None = None) -> bytes:
        """The bytes of a file. `rows` is the order of the lines if the format is `in_order`."""
        raise FathomsError(f"{self.name} can be read, but not written")

    def write_parts(self, parts: Sequence[Callable[[], Run]], target: Path) -> tuple[int, int, Run] | None:
        """The same from a run's parts, with only one in memory at a time: how many rows and topics there are, and one
        of the parts. None if that cannot be done."""
        return None

    def ending(self, kind: Kind) -> str:
        """Of the files that are written to a folder."""
        return self.endings[0]


class ObjectFormat(Format):
    """A format of Python objects, or of names that stand for data. They cannot be split."""

    in_python: ClassVar[bool] = True  # and not on the command line

    def recognise(self, data: Any) -> bool:
        raise NotImplementedError

    def read(self, data: Any, layout: Layout, source: str, *, lenient: bool) -> Table:
        raise NotImplementedError

    def write(self, data: Run | Qrels) -> Any:
        raise FathomsError(f"{self.name} can be read, but not written")
