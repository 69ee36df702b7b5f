"""Runs and judgments in the forms of other tools: frames, dicts, and files in every format that is read.

What a format cannot carry is said in a note (`losses`), and what would come back as something else is an error.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathoms.data import metadata
from fathoms.data.files import PACKED_ENDINGS, read_bytes
from fathoms.data.load import first_line, headed
from fathoms.data.qrels import Qrels
from fathoms.data.runs import Run, RunFile
from fathoms.data.topics import valid_text
from fathoms.data.trec import QRELS, Text
from fathoms.errors import FathomsError, InputError

Format = Literal["trec", "parquet", "json", "jsonl", "msmarco", "beir"]
ROW_GROUP = 1 << 16  # rows packed together: large files are read some groups at a time
ITERATION = re.compile(rb"^[ \t]*[^\s#]\S*[ \t]+(?!Q?0[ \t])(\S+)[ \t]", re.MULTILINE)  # other than 0 and Q0
BEIR_HEADER = b"query-id\tcorpus-id\tscore\n"

# -- in memory ------------------------------------------------------------------------------------------------


def ids_column(ids: Text) -> pl.Series:
    """Ids as text, or as bytes where some are no UTF-8."""
    column = pl.Series(ids, dtype=pl.Binary)
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError:
        return column


def _topics(data: Run | Qrels) -> pl.Series:
    names = [topic.encode(errors="surrogateescape") for topic in data.topics]
    return ids_column(np.array(names, dtype="S")).gather(data.topic)


def exact_frame(data: Run | Qrels) -> pl.DataFrame:
    """All there is of a run or of judgments; ids are bytes where some are no UTF-8."""
    ids = {"topic": _topics(data), "document": ids_column(data.documents)}
    if isinstance(data, Qrels):
        return pl.DataFrame(ids | {"grade": data.grades})
    numbers = {"rank": _ranks(data.ranks, len(data)), "score": data.scores}
    return pl.DataFrame(ids | numbers).with_columns(tag=pl.lit(data.tag))


def frame(data: Run | Qrels) -> pl.DataFrame:
    """The same for people and other programs: ids are text, a byte that is no UTF-8 stands as `\\\\xe9`."""
    found = exact_frame(data)
    for name in ("topic", "document"):
        if found[name].dtype == pl.Binary:
            text = [id.decode(errors="backslashreplace") for id in found[name].to_list()]
            found = found.with_columns(pl.Series(name, text))
    return found


def pandas_frame(data: Run | Qrels) -> Any:
    """As `frame`, by way of plain arrays, since polars itself needs pyarrow for it."""
    try:
        import pandas
    except ImportError:
        raise FathomsError("the package pandas is not installed; `pip install pandas` adds it") from None
    found = frame(data)
    return pandas.DataFrame({name: found[name].to_numpy() for name in found.columns})


def _ranks(ranks: NDArray[np.float64] | None, n: int) -> pl.Series:
    """Whole numbers where they are, and null where the column held no number."""
    if ranks is None:
        return pl.Series([None] * n, dtype=pl.Int64)
    column = pl.Series(ranks).fill_nan(None)
    known = ranks[~np.isnan(ranks)]
    whole = (np.abs(known) < 1 << 53).all() and (known == np.round(known)).all()
    return column.cast(pl.Int64) if whole else column


def nested(data: Run | Qrels) -> dict[str, dict[str, float]]:
    """{topic: {document: number}}, documents in the order of the rows: what BEIR, pytrec_eval and ranx take."""
    numbers = data.grades if isinstance(data, Qrels) else data.scores
    order = np.argsort(data.topic, kind="stable")
    documents = [id.decode(errors="backslashreplace") for id in data.documents[order].tolist()]
    values = numbers[order].tolist()
    if isinstance(data, Qrels):
        values = [int(value) if value.is_integer() else value for value in values]
    ends = np.cumsum(np.bincount(data.topic, minlength=len(data.topics))).tolist()
    found = {}
    for topic, start, end in zip(data.topics, [0, *ends], ends, strict=False):
        found[valid_text(topic)] = dict(zip(documents[start:end], values[start:end], strict=True))
    return found


def check_whole(qrels: Qrels, what: str) -> None:
    """Some take whole grades only."""
    broken = np.flatnonzero(qrels.grades != np.round(qrels.grades))
    if broken.size:
        row = int(broken[0])
        raise InputError(
            f"topic {qrels.topics[qrels.topic[row]]}, document {qrels.documents[row].decode(errors='replace')}: "
            f"{what} takes whole grades only, found {qrels.grades[row]:g}",
            qrels.source,
        )


def ranx_object(data: Run | Qrels) -> Any:
    """ranx's Run or Qrels. It orders equal scores in a way of its own, and has neither ranks nor tags."""
    try:
        import ranx
    except ImportError:
        raise FathomsError("the package ranx is not installed; `pip install ranx` adds it") from None
    if isinstance(data, Run):
        return ranx.Run(nested(data), name=data.name)
    check_whole(data, "ranx")
    return ranx.Qrels({topic: found for topic, found in nested(data).items() if found})


# -- files ----------------------------------------------------------------------------------------------------


def format_of(path: str, kind: str) -> Format | None:
    """The format that a file's ending asks for, if it does."""
    name = path.lower()
    for ending in PACKED_ENDINGS:
        name = name.removesuffix(ending)
    endings: dict[str, Format] = {
        ".parquet": "parquet",
        ".json": "json",
        ".jsonl": "jsonl",
        ".run": "trec",
        ".trec": "trec",
        ".txt": "trec",
        ".res": "trec",
        ".qrels": "trec",
        ".tsv": "msmarco" if kind == "run" else "beir",
    }
    return next((format for ending, format in endings.items() if name.endswith(ending)), None)


def ending_of(to: Format, kind: str) -> str:
    plain = {"parquet": ".parquet", "json": ".json", "jsonl": ".jsonl", "msmarco": ".tsv"}
    if to == "beir":
        return ".tsv" if kind == "qrels" else ".json"
    return plain.get(to, ".run" if kind == "run" else ".txt")


def losses(data: Run | Qrels, to: Format) -> list[str]:
    """What a format does not carry."""
    if isinstance(data, Qrels):
        iteration = _iteration(data.source)
        end = "has 0 in its place" if to == "trec" else "does not carry it"
        return [f"{data.source}: the iteration column is not kept (found {iteration}); {to} {end}"] if iteration else []
    run = data
    lost = []
    no_ranks = to in ("json", "beir") and run.ranks is not None
    no_tag = to in ("json", "beir", "msmarco") and bool(run.tag)
    if to == "msmarco":
        lost.append("scores, and with them ties (documents are written in the order that --ties makes of them)")
    if no_ranks:
        lost.append("ranks")
    if no_tag:
        lost.append("the tag")
    if to != "trec" and metadata.header(run.path):
        lost.append("ir_metadata")
    notes = [f"{run.source}: {to} does not carry {', '.join(lost)}"] if lost else []
    if to == "trec" and run.ranks is None:
        notes.append(f"{run.source}: has no ranks; places by descending score are written")
    if to == "trec" and not run.tag:
        notes.append(f"{run.source}: has no tag; the name {run.name} is written")
    return notes


def _iteration(path: str) -> str:
    """The first iteration in a qrels file that is not the usual 0; nothing where there is none. No other part of
    fathoms looks at that column, so the file is read once more."""
    if not os.path.isfile(path):
        return ""
    raw = read_bytes(path)
    line = first_line(raw)
    if line is None or len(line[0].split()) != len(QRELS.columns) or headed(line[0], QRELS)[1] is not QRELS:
        return ""
    found = ITERATION.search(raw, line.start())
    return found[1].decode(errors="replace") if found else ""


def content(data: Run | Qrels, to: Format, rows: NDArray[np.int64] | None = None) -> bytes:
    """The file's bytes. `rows` is the order for formats that have nothing else to say it with (MS MARCO's)."""
    if to == "msmarco":
        if isinstance(data, Qrels):
            raise FathomsError("msmarco is a format of runs; MS MARCO's judgments are trec")
        return _msmarco(data, rows)
    if to == "beir" and isinstance(data, Qrels):
        return _beir(data)
    how: dict[str, Callable[[Run | Qrels], bytes]] = {
        "trec": _trec,
        "parquet": _parquet,
        "jsonl": _jsonl,
        "json": _json,
        "beir": _json,  # which is what BEIR takes as results
    }
    return how[to](data)


def _trec(data: Run | Qrels) -> bytes:
    found = exact_frame(data)
    _fit_for_text(data, "trec")
    if isinstance(data, Qrels):
        return _lines(found.select("topic", pl.lit("0").alias("iteration"), "document", _whole("grade")), " ")
    run = data
    if run.ranks is None:
        order = _by_score(run)
        places = np.empty(len(run), dtype=np.int64)
        places[order] = _places(run, order)
        found = found.with_columns(rank=pl.Series(places))
    tag = " ".join((run.tag or run.name).split()) or "run"
    table = found.select("topic", pl.lit("Q0").alias("Q0"), "document", "rank", "score", pl.lit(tag).alias("tag"))
    return metadata.header(run.path) + _lines(table, " ")


def _whole(column: str) -> pl.Expr:
    """1 and not 1.0, where a number is whole."""
    return pl.col(column).cast(pl.String).str.strip_suffix(".0")


def _places(run: Run, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """For rows in an order by topic: the place of each in its topic."""
    counts = np.bincount(run.topic, minlength=len(run.topics))
    places: NDArray[np.int64] = np.arange(len(order)) - (np.cumsum(counts) - counts)[run.topic[order]] + 1
    return places


def _by_score(run: Run) -> NDArray[np.int64]:
    """Rows by topic and descending score; those of equal scores in their order."""
    return np.lexsort((-run.scores, run.topic))


def _lines(table: pl.DataFrame, separator: str) -> bytes:
    """Rows as text; numbers are the shortest text that reads back as the same, a missing rank is `nan`."""
    if pl.Binary not in table.dtypes:
        text: str = table.write_csv(
            separator=separator, include_header=False, quote_style="never", null_value="nan", line_terminator="\n"
        )
        return text.encode()
    others = [name for name, kind in table.schema.items() if kind != pl.Binary]
    table = table.with_columns(pl.col(others).cast(pl.String).fill_null("nan").cast(pl.Binary))
    between = separator.encode()
    return b"".join(between.join(row) + b"\n" for row in table.iter_rows())


def _fit_for_text(data: Run | Qrels, to: str) -> None:
    """Ids that a line of text would cut in two, or hide."""
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


def _parquet(data: Run | Qrels) -> bytes:
    from io import BytesIO

    buffer = BytesIO()
    # Less tight than zstd, but read in half the time: files to be read again and again.
    exact_frame(data).write_parquet(buffer, compression="lz4", row_group_size=ROW_GROUP)
    return buffer.getvalue()


def pack_in_parts(file: RunFile, target: Path) -> tuple[int, int, list[str]] | None:
    """A large run file as a parquet file, with only a part of it in memory at a time; how many rows and topics it has,
    and what was lost. None where the file is small, or has to be looked at as a whole."""
    if len(file.parts) == 1:
        return None
    rows, topics, tag = 0, set[str](), None
    with TemporaryDirectory(dir=target.parent, prefix=".fathoms.") as folder:
        packed: list[Path] = []
        schemas = set()
        for part in file.parts:
            try:
                run = part()
            except (InputError, OSError):
                return None
            if topics & set(run.topics):
                return None
            tag = run.tag if tag is None else tag
            topics.update(run.topics)
            rows += len(run)
            found = exact_frame(replace(run, tag=tag))
            schemas.add(tuple(found.schema.items()))
            packed.append(Path(folder) / f"{len(packed):06}.parquet")
            found.write_parquet(packed[-1], compression="lz4")
        if len(schemas) > 1:  # ids that are no UTF-8, or odd ranks, in some parts only
            return None
        pl.scan_parquet(packed).sink_parquet(target, compression="lz4", row_group_size=ROW_GROUP)
    return rows, len(topics), losses(replace(run, path=file.path), "parquet")


def _json(data: Run | Qrels) -> bytes:
    _fit_for_json(data, "json")
    # Compact, but a topic a line, so that people can look into it.
    lines = (f"{json.dumps(topic)}: {json.dumps(found)}" for topic, found in nested(data).items())
    return ("{" + ",\n ".join(lines) + "}\n").encode()


def _jsonl(data: Run | Qrels) -> bytes:
    _fit_for_json(data, "jsonl")
    text: str = exact_frame(data).write_ndjson()
    return text.encode()


def _fit_for_json(data: Run | Qrels, to: str) -> None:
    if pl.Binary in exact_frame(data).dtypes:
        raise InputError(f"has ids that are no UTF-8, so {to} cannot carry them; parquet and trec can", data.source)
    numbers = [data.scores, data.ranks] if isinstance(data, Run) else []
    if any(column is not None and np.isinf(column).any() for column in numbers):
        raise InputError(f"has infinite numbers, which {to} cannot carry; parquet and trec can", data.source)


def _msmarco(run: Run, rows: NDArray[np.int64] | None) -> bytes:
    _fit_for_text(run, "msmarco")
    order = _by_score(run) if rows is None else rows
    ids = exact_frame(run).select(pl.col("topic", "document").gather(order))
    return _lines(ids.with_columns(rank=pl.Series(_places(run, order))), "\t")


def _beir(qrels: Qrels) -> bytes:
    _fit_for_text(qrels, "beir")
    check_whole(qrels, "BEIR")
    return BEIR_HEADER + _lines(exact_frame(qrels).select("topic", "document", _whole("grade")), "\t")
