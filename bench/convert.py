"""Time reading one run of 7,000 x 1,000 documents as text, compressed text and parquet, beside what peers need.

    python bench/convert.py [--topics 7000] [--depth 1000] [--repeat 3] [--dir DIR]

Ours ends in a run that is ready to be ranked: ids as bytes, topics numbered, repeated documents looked for. A peer's
time is that of a frame with the same columns and nothing checked; peers that are not installed are left out. All read
in this process, after imports, the best of the repeats counts. The files are kept in DIR and used again.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from timing import show, show_header

import fathoms as fm
from fathoms.data.convert import content

NAMES = ["topic", "q0", "document", "rank", "score", "tag"]


def make(folder: Path, topics: int, depth: int) -> None:
    """A run with ids such as MS MARCO's, as text, gz and parquet."""
    rng = np.random.default_rng(1)
    folder.mkdir(parents=True, exist_ok=True)
    text = folder / "run.txt"
    if not text.exists():
        with text.open("w") as file:
            for topic in range(topics):
                documents = rng.choice(8_841_823, depth, replace=False).tolist()
                scores = np.sort(30 * rng.random(depth))[::-1].tolist()
                rows = zip(documents, scores, strict=True)
                lines = (f"{1_048_585 + 13 * topic} Q0 {d} {i} {s:.6f} bm25\n" for i, (d, s) in enumerate(rows, 1))
                file.writelines(lines)
    if not (folder / "run.gz").exists():
        (folder / "run.gz").write_bytes(gzip.compress(text.read_bytes(), 6))
    if not (folder / "run.parquet").exists():
        (folder / "run.parquet").write_bytes(content(fm.read_run(text), "parquet"))


def readers(folder: Path) -> dict[str, Callable[[], Any]]:
    by_name: dict[str, Callable[[], Any]] = {
        "fathoms, text": lambda: fm.read_run(folder / "run.txt"),
        "fathoms, gz": lambda: fm.read_run(folder / "run.gz"),
        "fathoms, parquet": lambda: fm.read_run(folder / "run.parquet"),
    }
    if find_spec("pandas"):
        import pandas as pd

        kinds: dict[str, Any] = {"topic": str, "document": str, "tag": str}
        by_name["pandas, text"] = lambda: pd.read_csv(folder / "run.txt", sep=" ", names=NAMES, dtype=kinds)
        if find_spec("pyarrow"):
            by_name["pandas, parquet"] = lambda: pd.read_parquet(folder / "run.parquet")
    if find_spec("pyarrow"):
        import pyarrow.csv as arrow_csv
        import pyarrow.parquet as arrow_parquet

        options = {
            "read_options": arrow_csv.ReadOptions(column_names=NAMES),
            "parse_options": arrow_csv.ParseOptions(delimiter=" "),
        }
        by_name["pyarrow, text"] = lambda: arrow_csv.read_csv(folder / "run.txt", **options)
        by_name["pyarrow, parquet"] = lambda: arrow_parquet.read_table(folder / "run.parquet")
    return by_name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, default=7000)
    parser.add_argument("--depth", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--dir", type=Path, help="where the files are kept (a temporary folder)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.dir or Path(temporary)
        make(folder, args.topics, args.depth)
        best: dict[str, float] = {}
        for _ in range(args.repeat):  # in turns, so that a busy moment meets all
            for name, read in readers(folder).items():
                start = time.perf_counter()
                read()
                best[name] = min(best.get(name, float("inf")), time.perf_counter() - start)
    show_header()
    for form in ("text", "gz", "parquet"):
        for name, seconds in best.items():
            if name.endswith(form):
                tool = name.partition(",")[0]
                show(f"{args.topics * args.depth:,} rows, {form}", tool, seconds, best[f"fathoms, {form}"])


if __name__ == "__main__":
    main()
