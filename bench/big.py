"""Large inputs: one run of many millions of lines, and a thousand runs, in how much time and memory.

    python bench/big.py [--lines 50_000_000] [--runs 1000] [--peers pytrec_eval] [--dir DIR]

The long run is 10,000 lines for each of its topics, its judgments 100 a topic; the many runs are 50 topics of 1,000
lines. Both are evaluated from text, and the long run from parquet too, with the default measures; the many also with
`--universe all`, which takes a first pass over all runs. Memory is that of all processes together. pytrec_eval, where
asked for, reads the same text in one process. The files take some 5 GB in DIR and are used again.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from eval import OURS, SNIPPETS
from timing import best_of, show, show_header

DEEP, TOPICS_OF_MANY, SHALLOW = 10_000, 50, 1_000
JUDGED = 100
VARIANTS = 20  # different rankings, used in turn


def ranking(rng: random.Random, length: int) -> bytes:
    """Lines of one topic, its name to be put in."""
    documents = rng.sample(range(10 * length), length)
    scores = sorted((rng.gauss(10, 3) for _ in documents), reverse=True)
    return b"".join(
        b"@ Q0 DOC-%07d %d %.4f big\n" % (document, rank, score)
        for rank, (document, score) in enumerate(zip(documents, scores, strict=True), 1)
    )


def topics_of(rankings: list[bytes], topics: range) -> Iterator[bytes]:
    for topic in topics:
        yield rankings[topic % len(rankings)].replace(b"@", b"%d" % topic)


def judgments(rankings: list[bytes], topics: range, rng: random.Random) -> Iterator[bytes]:
    """Every fifth document of the first ones of each ranking."""
    documents = [[line.split()[2] for line in text.splitlines()[: 5 * JUDGED : 5]] for text in rankings]
    for topic in topics:
        for document in documents[topic % len(documents)]:
            yield b"%d 0 %b %d\n" % (topic, document, rng.choice((0, 0, 1, 2)))


def written(path: Path, parts: Iterator[bytes]) -> None:
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        file.writelines(parts)
    partial.rename(path)


def long_run(folder: Path, lines: int) -> Path:
    """A folder with qrels.txt and runs/, made on first use."""
    target = folder / f"long-{lines}"
    topics = range(1, lines // DEEP + 1)
    (target / "runs").mkdir(parents=True, exist_ok=True)
    rng = random.Random(0)
    rankings = [ranking(rng, DEEP) for _ in range(VARIANTS)]
    if not (target / "qrels.txt").exists():
        written(target / "runs" / "long.run", topics_of(rankings, topics))
        written(target / "qrels.txt", judgments(rankings, topics, rng))
    return target


def many_runs(folder: Path, runs: int) -> Path:
    target = folder / f"many-{runs}"
    topics = range(1, TOPICS_OF_MANY + 1)
    (target / "runs").mkdir(parents=True, exist_ok=True)
    if not (target / "qrels.txt").exists():
        rng = random.Random(1)
        for number in range(runs):
            rankings = [ranking(rng, SHALLOW) for _ in range(3)]
            written(target / "runs" / f"run{number:04}.txt", topics_of(rankings, topics))
        written(target / "qrels.txt", judgments(rankings, topics, rng))
    return target


def main() -> int:
    parser = argparse.ArgumentParser(description="time and memory of fathoms eval on large inputs")
    parser.add_argument("--lines", type=int, default=50_000_000, help="of the long run")
    parser.add_argument("--runs", type=int, default=1000, help="of 50 topics and 1,000 lines a topic")
    parser.add_argument("--peers", default="", help="pytrec_eval, or nothing")
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()) / "fathoms-bench")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds for one process")
    args = parser.parse_args()
    args.dir.mkdir(parents=True, exist_ok=True)
    long, many = long_run(args.dir, args.lines), many_runs(args.dir, args.runs)
    columns = long / "parquet" / "long.parquet"
    columns.parent.mkdir(exist_ok=True)

    def ours(folder: Path, runs: Path, *flags: str) -> list[str]:
        files = [str(folder / "qrels.txt"), str(runs)]
        return [*OURS, "eval", *files, "--format", "tsv", "-o", str(folder / "out.tsv"), *flags]

    show_header()
    cases = {
        f"1 run of {args.lines:,} lines": (long, ours(long, long / "runs")),
        "convert it to parquet": (None, [*OURS, "convert", str(long / "runs" / "long.run"), "-o", str(columns)]),
        "the same from parquet": (None, ours(long, columns)),
        f"{args.runs:,} runs of 50,000 lines": (many, ours(many, many / "runs")),
        "the same with --universe all": (None, ours(many, many / "runs", "--universe", "all")),
    }
    notes = []
    for case, (folder, command) in cases.items():
        commands = {"fathoms": command}
        if folder is not None:
            files = [str(folder / "qrels.txt"), str(folder / "runs")]
            commands |= {peer: [sys.executable, "-c", SNIPPETS[peer], *files] for peer in args.peers.split(",") if peer}
        timings, failures = best_of(commands, 1, args.timeout)
        notes += [f"{case}: {line}" for line in failures]
        base = timings["fathoms"].seconds if "fathoms" in timings else None
        for tool, (seconds, megabytes, *_) in timings.items():
            show(case, tool, seconds, base, megabytes)
    print(*notes, sep="\n", end="\n" if notes else "")
    return int(bool(notes))


if __name__ == "__main__":
    sys.exit(main())
