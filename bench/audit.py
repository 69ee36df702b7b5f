"""How long an audit takes, and what becomes of it with one worker: this tree beside another one.

    python bench/audit.py FOLDER [--before SRC] [--repeat N]

FOLDER holds qrels.txt and runs/, and may hold pooled.txt and groups.tsv, the runs that contributed and their teams. SRC
is the `src` folder of an older checkout. The two take turns, so that a busy machine is busy for both, and what they
print is compared.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from timing import Timing, best_of, show, show_header

OURS = Path(__file__).resolve().parent.parent / "src"
TIMEOUT = 600
LISTS = {"--pooled": "pooled.txt", "--groups": "groups.tsv"}


def command(source: Path, folder: Path, workers: int, *flags: str) -> list[str]:
    words = ["audit", str(folder / "qrels.txt"), str(folder / "runs"), "--quiet", "--workers", str(workers), *flags]
    return ["env", f"PYTHONPATH={source}", sys.executable, "-m", "fathoms", *words]


def compared(best: dict[str, Timing]) -> str:
    printed = {timing.output for timing in best.values()}
    return "" if len(best) < 2 else "they print the same" if len(printed) == 1 else "THEY PRINT DIFFERENT THINGS"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    trees = {"ours": OURS} | ({} if args.before is None else {"before": args.before.resolve()})
    n = len(list((args.folder / "runs").iterdir()))
    listed = [
        word for flag, name in LISTS.items() if (path := args.folder / name).exists() for word in (flag, str(path))
    ]
    cases: dict[str, tuple[int, list[str]]] = {f"audit of {n} runs": (2, []), f"audit of {n} runs, one worker": (1, [])}
    if listed:
        cases["the same, pool and teams named"] = (2, listed)
    show_header()
    notes = []
    for case, (workers, flags) in cases.items():
        commands = {name: command(source, args.folder, workers, *flags) for name, source in trees.items()}
        best, failed = best_of(commands, args.repeat, TIMEOUT)
        for name, timing in best.items():
            show(case, name, timing.seconds, best["ours"].seconds if "ours" in best else None, timing.megabytes)
        notes += [*failed, *filter(None, [compared(best)])]
    print(*dict.fromkeys(notes), sep="\n")


if __name__ == "__main__":
    main()
