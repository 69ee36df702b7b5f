"""What formats of lines share: columns named by the first line, parts of whole topics, lines out."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from fathoms.base.errors import InputError
from fathoms.data.column_names import (
    KNOWN,
    Kind,
    choice_note,
    column_for,
    missing_column,
    plain,
    run_columns,
    several_runs,
    twins,
    two_of_a_name,
)
from fathoms.data.formats.base import HEAD, SEPARATORS, Content, FileFormat, Match, split_names
from fathoms.data.split import SPAN, read_span, topic_spans

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
        """Some of the lines. If something is wrong with them, whoever reads the file as a whole can say so better."""
        start, stop, header = place
        raw = read_span(path, (start, stop))
        part = Content(header + raw if start else raw)
        if part.container != "text" or self.recognise(part) < Match.LIKELY or self.header(part) != header:
            raise InputError("has lines of two forms", path)
        if not raw.endswith(b"\n"):  # carriage returns end lines where a whole file has nothing else that does
            part = Content(part.raw + b"\n")
        return self.read(part, layout, path, lenient=False)


# What a table with tabs holds if its fields are more than words: quotes, other blanks, no word at all, a leading #.
_MORE_THAN_WORDS = rb'[\x00-\x08\x0b\x0c\x0e-\x20"]|\t[\t\r\n]|[\r\n][#\t]'


def names_columns(content: Content) -> bool:
    """Does the first line name the columns, with blanks or tabs between them?"""
    header = content.header
    return header is not None and header[0] in (None, "\t")


def more_than_words(raw: bytes, start: int) -> bool:
    """Whether a table with tabs holds something from `start` on that lines of words cannot hold."""
    return re.compile(_MORE_THAN_WORDS).search(raw, start) is not None


def unclear_header(content: Content, kind: Kind) -> str:
    """What to say about a first line that looks like names of columns, but not those that are needed."""
    if content.line is None or content.container != "text":
        return ""
    text = content.line[0].decode(errors="replace")
    for separator in SEPARATORS:
        names = split_names(text, separator)
        if len(names) > 1 and (len(text.split()) == 1 or KNOWN & set(map(plain, names))):
            number: dict[Kind, str] = {"run": "score", "qrels": "grade", "values": "value"}
            for wanted in ("topic", "document", number[kind]):
                if column_for(wanted, names) is None:
                    return missing_column(wanted, names)
    return ""


def header_line(content: Content) -> bytes:
    return b"" if content.line is None else content.line[0] + b"\n"


def read_named(content: Content, layout: Layout, source: str, *, lenient: bool) -> Table:
    """Lines with the columns that the first one names. It is made a comment, so that lines keep their numbers."""
    from fathoms.data import lines

    raw, line, header = content.raw, content.line, content.header
    if line is None or header is None:
        return lines.parse(raw, layout, source, lenient=lenient)
    separator, names = header
    if separator == "\t" and not more_than_words(raw, line.end()):
        separator = None  # the same, and much faster
    if separator == "\t" and raw.find(b"\t", line.end()) < 0:
        separator = None  # tabs in the first line alone
    if separator is not None:
        from fathoms.data.delimited import read_delimited

        return read_delimited(raw, line.start(), separator, layout, source, lenient=lenient)
    if same := twins(layout.number, names):
        raise InputError(two_of_a_name(same, names), source, raw.count(b"\n", 0, line.start()) + 1)
    for column in run_columns(names) if layout.kind == "run" else ():
        _check_one_run(raw, line.end(), column, names, source)
    named = _named_layout(names, layout, source)
    table = lines.parse(raw[: line.start()] + b"#" + raw[line.start() :], named, source, lenient=lenient)
    table.skipped += choice_note(layout.number, names, source)
    if named.number == layout.number:
        return table
    return replace(table, number=-table.number, rank=table.number)  # a run without scores: its ranks are the order


def _check_one_run(raw: bytes, start: int, column: str, names: list[str], source: str) -> None:
    """Lines of words under the names of their columns are all of one run."""
    place = names.index(column)
    first = raw[start : start + HEAD].split(maxsplit=len(names))[place : place + 1]
    if place == len(names) - 1 and first:  # nearly always, and counted in no time
        ends = raw.count(b"\t" + first[0] + b"\n", start) + raw.count(b" " + first[0] + b"\n", start)
        if ends == raw.count(b"\n", start) - (raw[start : start + 1] == b"\n") and raw.endswith(b"\n"):
            return
    values: dict[bytes, int] = {}
    for number, text in enumerate(raw[start:].splitlines(), raw.count(b"\n", 0, start)):
        fields = text.split()
        if len(fields) > place and not fields[0].startswith(b"#"):
            values.setdefault(fields[place], number)
    if len(values) > 1:
        shown = [value.decode(errors="replace") for value in values]
        raise InputError(several_runs(column, shown), source, list(values.values())[1] + 1)


def _named_layout(names: list[str], layout: Layout, source: str) -> Layout:
    """The layout that the names of the columns say."""
    columns = ["" if name in ("topic", "document", "rank", layout.number) else name for name in names]
    ranked = column_for("rank", names)
    number = layout.number
    for wanted in ("topic", "document", number):
        name = column_for(wanted, names)
        if name is None and wanted == "score" and ranked is not None:
            number = "rank"
        elif name is None:
            raise InputError(missing_column(wanted, names), source)
        else:
            columns[names.index(name)] = wanted
    if ranked is not None and "rank" in layout.columns:
        columns[names.index(ranked)] = "rank"
    # Of a tag lines keep what follows it too, so it has to be the last.
    columns = [
        name if name.lower() != "tag" else "tag" if i == len(names) - 1 else "" for i, name in enumerate(columns)
    ]
    return layout._replace(columns=tuple(columns), number=number, rest_in_last=False)


# -- out ------------------------------------------------------------------------------------------------------


def named_rows(data: Run | Qrels, names: dict[str, str], separator: str) -> bytes:
    """Rows under a line of names, quoted where need be; `names` says which columns, and what they are called."""
    from fathoms.data.delimited import shortest, write_delimited

    columns: dict[str, list[str]] = {
        "topic": [data.topics[topic] for topic in data.topic.tolist()],
        "document": [document.decode(errors="surrogateescape") for document in data.documents.tolist()],
    }
    if data.kind == "qrels":
        columns["grade"] = shortest(data.grades)
    else:
        ranks = [] if data.ranks is None else shortest(data.ranks)
        columns |= {"score": shortest(data.scores), "tag": [data.tag] * len(data)}
        columns["rank"] = ["" if rank == "nan" else rank for rank in ranks] or [""] * len(data)
    return write_delimited(list(names.values()), zip(*(columns[name] for name in names), strict=True), separator)


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
    """Refuse ids that a line of text would cut in two, or hide."""
    import numpy as np

    names = [topic.encode(errors="surrogateescape") for topic in data.topics]
    for what, ids in (("document", data.documents), ("topic", np.array(names, dtype="S"))):
        if not len(ids):
            continue
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
    raise InputError(f"the {what} {shown!r} {why}, so {to} cannot carry it; {carriers(data.kind)} can", data.source)


def carriers(kind: Kind) -> str:
    """Formats for ids of any kind."""
    return f"{'csv, ' if kind == 'run' else 'csv, quepid, '}jsonl, json and parquet"


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
    place: NDArray[np.int64] = np.arange(len(order)) - (np.cumsum(counts) - counts)[run.topic[order]] + 1
    return place
