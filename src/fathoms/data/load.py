"""One door for all input: whatever a run or a qrels comes as, it leaves here as a table of columns."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Any

from fathoms.data import irds, trec
from fathoms.data.files import PARQUET, read_bytes
from fathoms.data.trec import QRELS, RUN, Layout, Table

# What columns are called in frames, records and lines that name them.
NAMES = {
    "topic": ("topic", "query_id", "qid", "q_id", "query", "query-id", "topic_id"),
    "document": ("document", "doc", "doc_id", "docno", "docid", "corpus-id", "corpus_id", "pid", "passage_id"),
    "score": ("score", "sim", "similarity"),
    "rank": ("rank",),
    "grade": ("grade", "relevance", "rel", "label", "score"),
    "value": ("value", "score", "label", "grade", "relevance", "rel", "probability"),
}
# MS MARCO's runs: the order of a topic's documents, without scores.
RANKS = Layout("run", ("topic", "document", "rank"), number="rank", rest_in_last=False, finite=True)
RANKS_LINE = re.compile(rb"[^\t\s]+\t(?!Q0\t)[^\t\s]+\t[0-9]+\s*")
LINE = re.compile(rb"[^\r\n]*\S[^\r\n]*")


def load(source: Any, layout: Layout, *, lenient: bool = False, name: str | None = None) -> Table:
    """Rows of a file name, or of a frame, dict or list of tuples (`name` says what to call those in messages)."""
    if isinstance(source, str | os.PathLike):
        file = os.fspath(source)
        if layout is QRELS and irds.knows(file):
            return irds.table_of(file, lenient=lenient)
        return parse(read_bytes(source), layout, "standard input" if file == "-" else file, lenient=lenient)
    from fathoms.data import columns  # polars takes longer to import than most files to read

    return columns.table_of(source, layout, name or layout.kind, lenient=lenient)


def parse(raw: bytes, layout: Layout, source: str, *, lenient: bool = False) -> Table:
    """What the bytes are, they say themselves: parquet and JSON start as no TREC line would."""
    is_parquet = raw.startswith(PARQUET)
    if is_parquet or raw[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        from fathoms.data import columns

        reader = columns.parse_parquet if is_parquet else columns.parse_json
        return reader(raw, layout, source, lenient=lenient)
    first = first_line(raw)
    if first is not None and layout is RUN and RANKS_LINE.fullmatch(first[0]):
        table = trec.parse(raw, RANKS, source, lenient=lenient)
        return replace(table, number=-table.number)
    raw, layout = headed(raw, layout)
    return trec.parse(raw, layout, source, lenient=lenient)


def is_ranx(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "ranx"


def first_line(raw: bytes) -> re.Match[bytes] | None:
    """The first line that holds something, and no comment."""
    start = len(raw) - len(raw.removeprefix(b"\xef\xbb\xbf"))
    return next((line for line in LINE.finditer(raw, start) if not line[0].lstrip().startswith(b"#")), None)


def header(head: bytes) -> bytes:
    """The line that names the columns of a run file, from its first bytes; nothing where there is none."""
    line = first_line(head)
    return b"" if line is None or headed(line[0], RUN)[1] is RUN else line[0] + b"\n"


def headed(raw: bytes, layout: Layout) -> tuple[bytes, Layout]:
    """Text whose first line names its columns: the layout it says, and that line made a comment.

    A line that has a word where a number belongs can be nothing else, and so lines keep their numbers.
    """
    line = first_line(raw)
    if line is None or b"\0" in line[0]:
        return raw, layout
    words = line[0].decode(errors="replace").split()
    lowered = [word.lower() for word in words]
    for wanted in ("topic", "document", layout.number, "rank"):
        name = next((name for name in NAMES[wanted] if name in lowered), None)
        if name is not None:
            words[lowered.index(name)] = wanted
        elif wanted != "rank":
            return raw, layout
    columns = tuple(word if word != "tag" or i == len(words) - 1 else "" for i, word in enumerate(words))
    return raw[: line.start()] + b"#" + raw[line.start() :], replace(layout, columns=columns, rest_in_last=False)
