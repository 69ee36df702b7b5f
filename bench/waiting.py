"""The commands that people wait for: how long each takes and how much memory, beside an older version.

    FATHOMS_DATA=... python bench/waiting.py [--before FATHOMS] [--only compare,rank] [--repeat N] [--dir DIR]

FATHOMS is the command of the older version, with an environment of its own. The two take turns, so that a busy machine
is busy for both; there processor time, that of a command and all its processes, is the better measure. Collections are
simulated in DIR and used again; the 129 runs are those of trec8-adhoc where FATHOMS_DATA has them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from timing import best_of, show, show_header

TIMEOUT = 900
OURS = [sys.executable, "-m", "fathoms"]
THREE = ["-m", "AP", "-m", "nDCG@10", "-m", "P@10"]
FIVE = [*THREE, "-m", "RBP", "-m", "RR"]
MANY = {"systems": 129, "n-topics": 50, "n-docs": 20_000, "depth": 1_000, "pool-depth": 50}  # as trec8-adhoc


class Case(NamedTuple):
    name: str
    command: str
    collection: dict[str, int]  # of `simulate`
    words: list[str]  # after the files
    runs: int | None = None  # of the collection; None: all


def cases() -> list[Case]:
    two = {"systems": 2, "n-topics": 10_000, "n-docs": 1_000, "depth": 50, "pool-depth": 10}
    nine = {"systems": 9, "n-topics": 100, "n-docs": 20_000, "depth": 1_000, "pool-depth": 50}
    thirteen = {"systems": 13, "n-topics": 43, "n-docs": 20_000, "depth": 1_000, "pool-depth": 50}
    thousands = {"systems": 2_000, "n-topics": 5, "n-docs": 5_000, "depth": 100, "pool-depth": 20}
    batch = {"systems": 61, "n-topics": 200, "n-docs": 20_000, "depth": 100, "pool-depth": 10}
    return [
        Case("compare nDCG@10, 2 x 10,000 x 50", "compare", two, ["-m", "nDCG@10"]),
        Case("the same, AP, no estimates", "compare", two, ["-m", "AP", "--draws", "0"]),
        Case("gate nDCG@10, the same runs", "gate", two, ["-m", "nDCG@10"]),
        Case("compare AP, 9 x 100 x 1,000", "compare", nine, ["-m", "AP"]),
        Case("compare 40 runs, 3 measures", "compare", MANY, THREE, 40),
        Case("compare 129 runs, no estimates", "compare", MANY, [*THREE, "--draws", "0"]),
        Case("compare 129 runs, 3 measures", "compare", MANY, THREE),
        Case("predict 129 runs, 5 measures", "predict", MANY, FIVE),
        Case("report of 13 runs", "report", thirteen, []),
        Case("report of 129 runs", "report", MANY, []),
        Case("rank 2,000 runs x 5 topics", "rank", thousands, []),
        Case("judge, first batch of 61 x 200", "judge", batch, []),
    ]


def simulated(folder: Path, sizes: dict[str, int]) -> Path:
    """A folder with qrels.txt and runs/, made on first use."""
    target = folder / "-".join(f"{name}{number}" for name, number in sizes.items())
    if not (target / "qrels.txt").exists():
        options = [f"--{name}={number}" for name, number in sizes.items()]
        subprocess.run([*OURS, "simulate", "-o", str(target), *options, "--quiet"], check=True, capture_output=True)
    return target


def collection(folder: Path, case: Case) -> list[str]:
    """Judgments and runs."""
    kept = os.environ.get("FATHOMS_DATA")
    here = Path(kept, "trec8-adhoc") if kept and case.collection is MANY else simulated(folder, case.collection)
    runs = sorted(str(path) for path in (here / "runs").iterdir())
    return [str(here / "qrels.txt"), *runs[: case.runs]]


def command(tool: list[str], case: Case, files: list[str], target: Path) -> list[str]:
    words = [*tool, case.command, *files, *case.words, "--quiet"]
    if case.command == "gate":  # says by its exit status what it found
        return ["sh", "-c", '"$@" > /dev/null; status=$?; [ $status -ne 2 ] && [ $status -lt 4 ]', "sh", *words]
    if case.command == "report":
        return [*words, "-o", str(target / "report.html")]
    if case.command == "judge":  # a session for each time it is asked
        return ["sh", "-c", 'exec "$@" --session "$0/$$.db" --batch 20 --to "$0/$$.csv"', str(target), *words]
    return [*words, "--format", "tsv", "-o", str(target / "out.tsv")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", help="the command of an older version")
    parser.add_argument("--only", help="words in the names of cases, separated by commas")
    parser.add_argument("--repeat", type=int, default=2, help="0: once, memory and all")
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()) / "fathoms-bench")
    args = parser.parse_args()
    show_header()
    for case in cases():
        if args.only and not any(word in f"{case.command} {case.name}" for word in args.only.split(",")):
            continue
        files = collection(args.dir, case)
        with tempfile.TemporaryDirectory() as folder:
            tools = {"fathoms": OURS} | ({} if args.before is None else {"before": [args.before]})
            commands = {name: command(tool, case, files, Path(folder)) for name, tool in tools.items()}
            best, failed = best_of(commands, args.repeat, TIMEOUT)
        ours = best["fathoms"].seconds if "fathoms" in best else None
        for name, timing in best.items():
            show(case.name, name, timing.seconds, ours, timing.megabytes)
        if best:
            words = ", before ".join(f"{timing.processor:.1f} s" for timing in best.values())
            ratio = best["before"].processor / best["fathoms"].processor if len(best) > 1 else 1.0
            print(f"{case.name}: processor time {words}{f', {ratio:.1f} times' if len(best) > 1 else ''}", flush=True)
        if failed:
            print(*failed, sep="\n")


if __name__ == "__main__":
    main()
