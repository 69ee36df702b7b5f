"""compare, predict and rank on a Dask cluster of 1, 2 and 4 processes here, and what they would take on a large one.

    python bench/cluster.py [--repeat N] [--dir DIR]

Each command is run on forks of one process and on clusters, and all have to print the same bytes. What 1,000 runs of
10,000 topics would take is reckoned from one worker's times on four collections: a + b runs topics + c pairs topics.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from pathlib import Path

import numpy as np
from timing import best_of, show, show_header
from waiting import OURS, simulated

TIMEOUT = 900
BASE = {"systems": 20, "n-topics": 100, "n-docs": 5_000, "depth": 100, "pool-depth": 10}
SIZES = ((10, 50), (10, 100), (20, 100), (40, 100))  # runs and topics
LARGE_RUNS, LARGE_TOPICS = 1_000, 10_000
MEASURES = ["-m", "AP", "-m", "nDCG@10"]
WHERE = {
    "1 fork": ["--workers", "1"],
    **{f"cluster of {n}": ["--scheduler", f"local:{n}"] for n in (1, 2, 4)},
}


def command(name: str, folder: Path, target: Path, where: list[str]) -> list[str]:
    files = [str(folder / "qrels.txt"), str(folder / "runs")]
    every = ["--ranges", "all"] if name != "predict" else []
    return [*OURS, name, *files, *MEASURES, *every, *where, "--quiet", "--format", "tsv", "-o", str(target)]


def projection(seconds: list[float]) -> float:
    """Hours of one core for the large collection, by least squares without negative parts."""
    from scipy.optimize import nnls

    def terms(runs: int, topics: int) -> list[float]:
        return [1.0, runs * topics, runs * (runs - 1) / 2 * topics]

    rows = np.array([terms(*size) for size in SIZES])
    scale = rows.max(axis=0)
    parts = nnls(rows / scale, np.array(seconds))[0] / scale
    return float(parts @ terms(LARGE_RUNS, LARGE_TOPICS) / 3600)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()) / "fathoms-bench")
    args = parser.parse_args()
    show_header()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out.tsv"
        for name in ("compare", "predict", "rank"):
            outputs = {where: target.with_name(f"{place}.tsv") for place, where in enumerate(WHERE)}
            here = simulated(args.dir, BASE)
            commands = {where: command(name, here, outputs[where], words) for where, words in WHERE.items()}
            best, failed = best_of(commands, args.repeat, TIMEOUT)
            for where, timing in best.items():
                show(name, where, timing.seconds, best["1 fork"].seconds, timing.megabytes)
            printed = {hashlib.sha256(path.read_bytes()).hexdigest() for path in outputs.values() if path.exists()}
            same = "the same bytes everywhere" if len(printed) == 1 else "THE BYTES DIFFER"
            print(f"{name}: {same}", *failed, sep="\n", flush=True)
            sized = {
                str(size): command(
                    name,
                    simulated(args.dir, BASE | {"systems": size[0], "n-topics": size[1]}),
                    target,
                    WHERE["1 fork"],
                )
                for size in SIZES
            }
            timings, failed = best_of(sized, args.repeat, TIMEOUT)
            print(*failed, sep="\n", end="\n" if failed else "")
            if len(timings) == len(SIZES):
                hours = projection([timings[str(size)].processor for size in SIZES])
                print(f"{name}: 1,000 runs x 10,000 topics would take one core {hours:,.1f} hours", flush=True)


if __name__ == "__main__":
    main()
