"""The command; what it does is in the package's own words."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import tests.fuzz
from tests.fuzz.kinds import KINDS
from tests.fuzz.runner import run, try_case


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description=tests.fuzz.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--cases", type=int, default=200_000, help="in all, shared out among the kinds (200000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default=",".join(KINDS), metavar="KINDS", help=f"some of {', '.join(KINDS)}")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"), help="folder for failures (fuzz-failures)")
    parser.add_argument("--case", type=int, help="repeat the case of this number, with its traceback")
    args = parser.parse_args()
    names = args.only.split(",")
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        parser.error(f"there is no kind {unknown[0]!r}; the kinds are {', '.join(KINDS)}")
    if args.case is not None:
        print(*(f"{name}: {try_case(name, args.seed, args.case)}" for name in names), sep="\n")
        return 0
    start = time.monotonic()
    found = run(names, args.cases, args.seed, args.jobs, args.keep)
    for name, outcomes in found.outcomes.items():
        counts = ", ".join(f"{count:,} {word}" for word, count in sorted(outcomes.items()))
        print(f"{name}: {outcomes.total():,} cases: {counts}")
    print(f"{time.monotonic() - start:.0f} s, seed {args.seed}")
    for place in found.failures:
        print(f"failed: {place}, see {place / 'failure.txt'}", file=sys.stderr)
    return 1 if found.failures else 0


if __name__ == "__main__":
    sys.exit(main())
