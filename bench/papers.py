"""How long each paper's tables and figures take: this tree beside another one.

    python bench/papers.py FOLDER [--before SRC] [--paper NAME ...] [--trials N] [--repeat N]

FOLDER holds qrels.txt and runs/. SRC is the `src` folder of an older checkout. The two take turns, so that a busy
machine is busy for both. A line at the end of each paper says which files the two have written differently.
"""

from __future__ import annotations

import argparse
import filecmp
import sys
import tempfile
from pathlib import Path

from timing import best_of, show, show_header

OURS = Path(__file__).resolve().parent.parent / "src"
PAPERS = ("rm", "gain", "depth", "ties", "rtc")
TIMEOUT = 3600


def command(source: Path, paper: str, folder: Path, target: Path, trials: int) -> list[str]:
    files = [str(folder / "qrels.txt"), str(folder / "runs")]
    words = ["papers", paper, *files, "-o", str(target), "--quiet", "--trials", str(trials)]
    return ["env", f"PYTHONPATH={source}", sys.executable, "-m", "fathoms", *words]


def different(folder: Path, other: Path) -> list[str]:
    """Names of the files that only one of the folders has, or that are not the same in both."""
    compared = filecmp.dircmp(folder, other)
    _, mismatch, errors = filecmp.cmpfiles(folder, other, compared.common_files, shallow=False)
    return sorted([*compared.left_only, *compared.right_only, *mismatch, *errors])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--paper", nargs="+", choices=PAPERS, default=PAPERS)
    parser.add_argument("--trials", type=int, default=20, help="of rtc (20)")
    parser.add_argument("--repeat", type=int, default=2)
    args = parser.parse_args()
    trees = {"ours": OURS} | ({} if args.before is None else {"before": args.before.resolve()})
    n = len(list((args.folder / "runs").iterdir()))
    show_header()
    for paper in args.paper:
        with tempfile.TemporaryDirectory() as folder:
            targets = {name: Path(folder) / name for name in trees}
            commands = {
                name: command(source, paper, args.folder, targets[name], args.trials) for name, source in trees.items()
            }
            best, failed = best_of(commands, args.repeat, TIMEOUT)
            what = f"{paper} of {n} runs" + (f", {args.trials} trials" if paper == "rtc" else "")
            ours = best["ours"].seconds if "ours" in best else None
            for name, timing in best.items():
                show(what, name, timing.seconds, ours, timing.megabytes)
            for line in failed:
                print(line)
            if len(best) > 1:
                print(f"  files that differ: {', '.join(different(*targets.values())) or 'none'}")


if __name__ == "__main__":
    main()
