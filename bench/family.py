"""Which paper's estimate wins where: a page from `fathoms papers estimates` on several collections.

    python bench/family.py FOLDER [FOLDER ...]

Each folder is what `fathoms papers estimates QRELS RUNS -o FOLDER` wrote. Prints a table in markdown for each: by
measure and depth of the pool the error of the plain score and the least error that each paper's methods reach, the
least of all in bold, with the bias of that and the share of runs' means that lie in the 95% intervals of the methods
that have any.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

FAMILIES = {"RM": "RM", "LMC-gain": "LMC-gain", "experts": "RTC", "fusion": "fusion", "calibrated": "calibrated"}
PLAIN = "the plain score"
Row = dict[str, str]


def family(row: Row) -> str:
    return FAMILIES.get(row["of"], FAMILIES.get(row["method"], row["method"]))


def lines(rows: list[Row]) -> Iterator[str]:
    heads = [PLAIN, *FAMILIES.values()]
    yield "| measure | pool | " + " | ".join(heads) + " | bias of the least | covered: RTC, fusion, calibrated |"
    yield "|---" * (len(heads) + 4) + "|"
    for measure, pool in dict.fromkeys((row["measure"], row["pool"]) for row in rows):
        here = [row for row in rows if (row["measure"], row["pool"]) == (measure, pool)]
        best = {of: min((r for r in here if family(r) == of), key=lambda r: float(r["error"])) for of in heads}
        least = min(best.values(), key=lambda row: float(row["error"]))
        cells = []
        for of in heads:
            row = best[of]
            error = f"{float(row['error']):.4f}"
            shown = f"**{error}**" if row is least else error
            cells.append(f"{shown} {row['method']}" if of in ("RM", "LMC-gain") else shown)
        covered = ", ".join(f"{float(best[of]['covered']):.0f}%" for of in heads[3:] if best[of]["covered"])
        yield f"| {measure} | {pool} | {' | '.join(cells)} | {float(least['bias']):+.4f} | {covered} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("folders", nargs="+", type=Path)
    for folder in parser.parse_args().folders:
        with (folder / "table1.tsv").open(newline="") as table:
            print(f"## {folder.name}\n\n" + "\n".join(lines(list(csv.DictReader(table, delimiter="\t")))) + "\n")


if __name__ == "__main__":
    main()
