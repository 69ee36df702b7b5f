"""How long `fathoms rank` takes, with and without likely ranks, beside `compare` of the same runs.

python bench/rank.py QRELS RUNS... [--repeat N]
"""

from __future__ import annotations

import argparse
import sys

from timing import best_of, show, show_header

TIMEOUT = 600
MEASURES = ("AP", "nDCG@10", "P@10", "RR")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--repeat", type=int, default=2)
    args = parser.parse_args()
    show_header()
    for measure in MEASURES:
        commands = {
            f"{name}{'' if draws else ' --draws 0'}": [
                *(sys.executable, "-m", "fathoms", name, *args.files, "-m", measure, "--quiet"),
                *([] if draws else ["--draws", "0"]),
            ]
            for draws in (False, True)
            for name in ("rank", "compare")
        }
        best, failed = best_of(commands, args.repeat, TIMEOUT)
        for tool, timing in best.items():
            show(measure, tool, timing.seconds, best["rank --draws 0"].seconds, timing.megabytes)
        if failed:
            print(*failed, sep="\n")


if __name__ == "__main__":
    main()
