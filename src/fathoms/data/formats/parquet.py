"""Parquet files with named columns: the fastest to read, and nothing is lost but comments."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathoms.base.errors import InputError
from fathoms.base.files import most_unpacked, unpacks_to_too_much
from fathoms.data.column_names import Kind, column_for, is_known, kinds_by_names, missing_column
from fathoms.data.formats.base import Content, FileFormat, Match

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from fathoms.data.lines import Layout, Table
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Run

CELL = 8  # bytes of a cell at the least, once it is unpacked
ROW_GROUP = 1 << 16  # rows packed together: large files are read some groups at a time


class Parquet(FileFormat):
    name = "parquet"
    about = "columns topic, document, rank, score, tag, or topic, document, grade"
    container = "parquet"
    reads = ("run", "qrels", "values")
    writes = ("run", "qrels")
    endings = (".parquet",)
    part_bytes = 1 << 20  # some hundred thousand rows
    carries = frozenset({"scores", "ranks", "tag"})
    compressed = True

    def recognise(self, content: Content) -> Match:
        return Match.CERTAIN  # its first bytes make it the container

    def kinds(self, content: Content) -> frozenset[Kind]:
        import polars as pl

        try:
            names = set(pl.read_parquet_schema(content.path)) if content.path else set()
        except (pl.exceptions.PolarsError, OSError):
            names = set()
        return kinds_by_names(names)

    def read(self, content: Content, layout: Layout, source: str, *, lenient: bool) -> Table:
        from io import BytesIO

        import polars as pl

        from fathoms.data import columns

        raw = content.raw
        try:
            names = [name for name in pl.read_parquet_schema(BytesIO(raw)) if is_known(name)]
            rows = pl.scan_parquet(BytesIO(raw)).select(pl.len()).collect().item()
            if rows * len(names) * CELL > (limit := most_unpacked(len(raw))):
                raise unpacks_to_too_much(len(raw), limit, source)
            # Of the tag only the different ones are wanted, so the column is not unpacked with the others.
            frame = pl.read_parquet(raw, columns=[name for name in names if name != "tag"])
            tags = pl.scan_parquet(BytesIO(raw)).select(pl.col("tag").unique(maintain_order=True))
            tag = tags.collect() if "tag" in names else None
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise InputError(f"is not a readable parquet file ({error})", source) from None
        return columns.table_of_frame(frame, layout, source, lenient=lenient, tag=tag)

    def split(self, path: str, content: Content) -> list[tuple[Any, ...]]:
        assert self.part_bytes is not None
        n = os.path.getsize(path) // self.part_bytes
        return [(i, n) for i in range(n)] if n > 1 else []

    def read_part(self, path: str, place: tuple[Any, ...], layout: Layout) -> Table:
        """The rows of one of several parts, cut where the topic changes."""
        import polars as pl

        from fathoms.data import columns

        number, of = place
        try:
            rows = pl.scan_parquet(path)
            names = [name for name in rows.collect_schema().names() if is_known(name)]
            topic = column_for("topic", names)
            if topic is None:
                raise InputError(missing_column("topic", names), path)
            topics = rows.select(topic)
            length = rows.select(pl.len()).collect().item()
            start, stop = (_next_topic(topics, length * n // of, length) for n in (number, number + 1))
            frame = rows.select(names).slice(start, stop - start).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise InputError(f"is not a readable parquet file ({error})", path) from None
        return columns.table_of_frame(frame, layout, path, lenient=False)

    def write(self, data: Run | Qrels, rows: NDArray[np.int64] | None = None) -> bytes:
        from io import BytesIO

        from fathoms.data import columns

        buffer = BytesIO()
        # Less tight than zstd, but read in half the time: files to be read again and again.
        columns.exact_frame(data).write_parquet(buffer, compression="lz4", row_group_size=ROW_GROUP)
        return buffer.getvalue()

    def write_parts(self, parts: Sequence[Callable[[], Run]], target: Path) -> tuple[int, int, Run] | None:
        from tempfile import TemporaryDirectory

        import polars as pl

        from fathoms.data import columns

        rows, topics, tag = 0, set[str](), None
        with _errors_of_files(), TemporaryDirectory(dir=target.parent, prefix=".fathoms.") as folder:
            packed: list[Path] = []
            schemas = set()
            for part in parts:
                try:
                    run = part()
                except (InputError, OSError):
                    return None
                if topics & set(run.topics):
                    return None
                tag = run.tag if tag is None else tag
                topics.update(run.topics)
                rows += len(run)
                frame = columns.exact_frame(replace(run, tag=tag))
                schemas.add(tuple(frame.schema.items()))
                packed.append(Path(folder) / f"{len(packed):06}.parquet")
                frame.write_parquet(packed[-1], compression="lz4")
            if len(schemas) > 1:  # ids that are no UTF-8, or odd ranks, in some parts only
                return None
            pl.scan_parquet(packed).sink_parquet(target, compression="lz4", row_group_size=ROW_GROUP)
        return rows, len(topics), run


@contextmanager
def _errors_of_files() -> Iterator[None]:
    """What polars says about a file that it cannot write, for instance on a full disk, is an error of the system."""
    import polars as pl

    try:
        yield
    except pl.exceptions.PolarsError as error:
        raise OSError(str(error)) from None


def _next_topic(topics: pl.LazyFrame, row: int, length: int) -> int:
    """The first row from `row` on whose topic is not that of the row before it; all rows, where there is none."""
    import numpy as np

    look = ROW_GROUP
    while 0 < row < length:
        some = topics.slice(row - 1, look).collect().to_series()
        if (changes := np.flatnonzero((some != some[0]).to_numpy())).size:
            return row - 1 + int(changes[0])
        row, look = row - 1 + len(some), 4 * look
    return row


PARQUET: FileFormat = Parquet()
