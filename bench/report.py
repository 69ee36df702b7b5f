"""How long a report takes, and how often each run is read and looked up for it: this tree beside another one.

    python bench/report.py FOLDER [--before SRC] [--repeat N]

FOLDER holds qrels.txt and runs/. SRC is the `src` folder of an older checkout. The two take turns, so that a busy
machine is busy for both, and their pages are compared.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from timing import best_of, show, show_header

OURS = Path(__file__).resolve().parent.parent / "src"
TIMEOUT = 900
# Commands are imported when they are used, so that they meet the functions that count. One worker does all of it here.
COUNT = """
import collections, json, sys
import fathoms.data.runs as runs
import fathoms.evidence.align as align

counts = collections.Counter()

def counting(what, function):
    def count(*args, **more):
        counts[what] += 1
        return function(*args, **more)
    return count

align.rank, runs.read_run = counting("looked up", align.rank), counting("read", runs.read_run)
from fathoms.cli.app import main
try:
    main(sys.argv[1:])
finally:
    print(json.dumps(counts), file=sys.stderr)
"""


def command(source: Path, folder: Path, target: Path, workers: int, *start: str) -> list[str]:
    files = [str(folder / "qrels.txt"), str(folder / "runs")]
    words = ["report", *files, "-o", str(target), "--quiet", "--workers", str(workers)]
    return ["env", f"PYTHONPATH={source}", sys.executable, *start, *words]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--repeat", type=int, default=2)
    args = parser.parse_args()
    trees = {"ours": OURS} | ({} if args.before is None else {"before": args.before.resolve()})
    n = len(list((args.folder / "runs").iterdir()))
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "report.html"
        commands = {name: command(source, args.folder, target, 2, "-m", "fathoms") for name, source in trees.items()}
        best, failed = best_of(commands, args.repeat, TIMEOUT)
        show_header()
        for name, timing in best.items():
            show(f"report of {n} runs", name, timing.seconds, best["ours"].seconds, timing.megabytes)
        pages = set()
        for name, source in trees.items():
            counted = command(source, args.folder, target, 1, "-c", COUNT)
            done = subprocess.run(counted, check=False, capture_output=True, text=True)
            counts: dict[str, int] = json.loads(done.stderr.splitlines()[-1])
            words = ", ".join(f"{what} {number / n:.1f} times" for what, number in sorted(counts.items()))
            print(f"{name}: each run is {words}")
            pages.add(hashlib.sha256(target.read_bytes()).hexdigest())
        if len(trees) > 1:
            print("the pages are the same" if len(pages) == 1 else "THE PAGES DIFFER")
    print(*failed, sep="\n")


if __name__ == "__main__":
    main()
