"""What formats of lines share: columns named by the first line, parts of whole topics, lines out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from fathoms.data.column_names import NAMES
from fathoms.data.formats.base import Content, FileFormat, Match
from fathoms.data.split import SPAN, read_span, topic_spans
from fathoms.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from fathoms.data.lines import Layout, Table
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run


class TextFormat(FileFormat):
    """Lines of text. Every part starts like the whole: with the line that names the columns, if there is one."""

    part_bytes = SPAN

    def header(self, content: Content) -> bytes:
        """The line that names the columns, in formats that have one."""
        return b""

    def split(self, path: str, content: Content) -> list[tuple[Any, ...]]:
        assert self.part_bytes is not None
        header = self.header(content)
        spans = topic_spans(path, self.part_bytes)
        return [(start, stop, header) for start, stop in spans] if len(spans) > 1 else []

    def read_part(self, path: str, place: tuple[Any, ...], layout: Layout) -> Table:
        """Some of the lines. What is wrong with them is said better by whoever reads the file as a whole."""
        start, stop, header = place
        raw = read_span(path, (start, stop))
        part = Content(header + raw if start else raw)
        if part.container != "text" or self.recognise(part) < Match.LIKELY or self.header(part) != header:
            raise InputError("has lines of two forms", path)
        if not raw.endswith(b"\n"):  # carriage returns end lines where a whole file has nothing else that does
            part = Content(part.raw + b"\n")
        return self.read(part, layout, path, lenient=False)


def names_columns(content: Content) -> bool:
    """Does the first line name the columns? One that has a word where a number belongs can be nothing else."""
    words = {word.lower() for word in content.fields}
    wanted = (NAMES["topic"], NAMES["document"], {*NAMES["score"], *NAMES["grade"], *NAMES["value"]})
    return all(words & set(names) for names in wanted)


def header_line(content: Content) -> bytes:
    return b"" if content.line is None else content.line[0] + b"\n"


def read_named(content: Content, layout: Layout, source: str, *, lenient: bool) -> Table:
    """Lines with the columns that the first one names. That is made a comment, so that lines keep their numbers."""
    from fathoms.data import lines

    raw, line = content.raw, content.line
    said = None if line is None else _named_layout(content.fields, layout)
    if line is None or said is None:
        return lines.parse(raw, layout, source, lenient=lenient)
    return lines.parse(raw[: line.start()] + b"#" + raw[line.start() :], said, source, lenient=lenient)


def _named_layout(words: list[str], layout: Layout) -> Layout | None:
    """The layout that the names of the columns say; None where one is missing."""
    names = list(words)
    lowered = [word.lower() for word in words]
    for wanted in ("topic", "document", layout.number, "rank"):
        name = next((name for name in NAMES[wanted] if name in lowered), None)
        if name is not None:
            names[lowered.index(name)] = wanted
        elif wanted != "rank":
            return None
    columns = tuple(name if name != "tag" or i == len(names) - 1 else "" for i, name in enumerate(names))
    return layout._replace(columns=columns, rest_in_last=False)


# -- out ------------------------------------------------------------------------------------------------------


def lines_of(table: pl.DataFrame, separator: str) -> bytes:
    """Rows as text; numbers are the shortest text that reads back as the same, a missing rank is `nan`."""
    import polars as pl

    if pl.Binary not in table.dtypes:
        text: str = table.write_csv(
            separator=separator, include_header=False, quote_style="never", null_value="nan", line_terminator="\n"
        )
        return text.encode()
    others = [name for name, kind in table.schema.items() if kind != pl.Binary]
    table = table.with_columns(pl.col(others).cast(pl.String).fill_null("nan").cast(pl.Binary))
    between = separator.encode()
    return b"".join(between.join(row) + b"\n" for row in table.iter_rows())


def whole(column: str) -> pl.Expr:
    """1 and not 1.0, where a number is whole."""
    import polars as pl

    return pl.col(column).cast(pl.String).str.strip_suffix(".0")


def check_ids(data: Run | Qrels, to: str) -> None:
    """Ids that a line of text would cut in two, or hide."""
    import numpy as np

    names = [topic.encode(errors="surrogateescape") for topic in data.topics]
    for what, ids in (("document", data.documents), ("topic", np.array(names, dtype="S"))):
        characters = ids.view(np.uint8).reshape(len(ids), -1)
        blank = ((characters > 0) & (characters <= 32)).any(axis=1)
        if blank.any():
            _refuse(data, to, what, ids[int(blank.argmax())], "has a blank in it")
    first = names[int(data.topic[0])] if len(data) else b""
    for name in names:
        if name.startswith(b"#"):
            _refuse(data, to, "topic", name, "would be read as a comment")
    if first.startswith((b"{", b"[", b"\xef\xbb\xbf")):
        _refuse(data, to, "topic", first, "would be read as the start of JSON or as a byte order mark")


def _refuse(data: Run | Qrels, to: str, what: str, id: bytes, why: str) -> NoReturn:
    shown = id.decode(errors="replace")
    raise InputError(f"the {what} {shown!r} {why}, so {to} cannot carry it; parquet can", data.source)


def check_whole_grades(qrels: Qrels, what: str) -> None:
    """Some take whole grades only."""
    import numpy as np

    broken = np.flatnonzero(qrels.grades != np.round(qrels.grades))
    if broken.size:
        row = int(broken[0])
        raise InputError(
            f"topic {qrels.topics[qrels.topic[row]]}, document {qrels.documents[row].decode(errors='replace')}: "
            f"{what} takes whole grades only, found {qrels.grades[row]:g}",
            qrels.source,
        )


def by_score(run: Run) -> NDArray[np.int64]:
    """Rows by topic and descending score; those of equal scores in their order."""
    import numpy as np

    return np.lexsort((-run.scores, run.topic))


def places(run: Run, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """For rows in an order by topic: the place of each in its topic."""
    import numpy as np

    counts = np.bincount(run.topic, minlength=len(run.topics))
    found: NDArray[np.int64] = np.arange(len(order)) - (np.cumsum(counts) - counts)[run.topic[order]] + 1
    return found
