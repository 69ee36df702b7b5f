"""How time grows with topics, runs and documents: each command on one collection, and on others ten times as large.

    python bench/growth.py [--commands compare,rank] [--repeat N] [--dir DIR]

Seconds are without start-up, and `to ours` is the time over that on the small collection: 10 where time grows as the
input does.
More runs are more pairs, so what is asked of pairs grows by a hundred at the most.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from timing import best_of, show, show_header
from waiting import OURS, simulated

TIMEOUT = 600
SMALL = {"systems": 8, "n-topics": 40, "n-docs": 5_000, "depth": 100, "pool-depth": 10}
LARGER = {
    "small": SMALL,
    "topics x 10": SMALL | {"n-topics": 400},
    "runs x 10": SMALL | {"systems": 80},
    "documents x 10": SMALL | {"depth": 1_000},
}
COMMANDS = {
    "compare": ["-m", "AP", "-m", "nDCG@10", "--format", "tsv"],
    "rank": ["-m", "AP", "-m", "nDCG@10", "--format", "tsv"],
    "predict": ["-m", "AP", "-m", "nDCG@10", "--format", "tsv"],
    "gate": ["-m", "nDCG@10", "--format", "tsv"],
    "report": ["-m", "AP", "-m", "nDCG@10"],
    "judge": ["--batch", "20"],
}


def command(name: str, folder: Path, target: str) -> list[str]:
    runs = [str(folder / "runs")]
    if name == "gate":
        runs = sorted(str(path) for path in (folder / "runs").iterdir())[:2]
    words = [*OURS, name, str(folder / "qrels.txt"), *runs, *COMMANDS[name], "--quiet"]
    if name == "gate":
        return ["sh", "-c", '"$@" > /dev/null; status=$?; [ $status -ne 2 ] && [ $status -lt 4 ]', "sh", *words]
    if name == "judge":
        return ["sh", "-c", 'exec "$@" --session "$0/$$.db" --to "$0/$$.csv"', target, *words]
    return [*words, "-o", f"{target}/out.{'html' if name == 'report' else 'tsv'}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()) / "fathoms-bench")
    args = parser.parse_args()
    show_header()
    folders = {name: simulated(args.dir, sizes) for name, sizes in LARGER.items()}
    with tempfile.TemporaryDirectory() as target:
        for name in args.commands.split(","):
            start = [sys.executable, "-c", f"import fathoms.questions.{name}.command, fathoms.estimate.estimates"]
            commands = {size: command(name, folder, target) for size, folder in folders.items()}
            best, failed = best_of({"start": start, **commands}, args.repeat, TIMEOUT)
            for size in folders:
                if size in best:
                    seconds, least = (best[of].seconds - best["start"].seconds for of in (size, "small"))
                    show(name, size, seconds, least, best[size].megabytes)
            if failed:
                print(*failed, sep="\n")


if __name__ == "__main__":
    main()
