"""The analysis of ties: ours against five evaluations by pytrec_eval.

    python bench/ties.py FOLDER [--sample 10]

FOLDER holds qrels.txt and runs/. Ours is all of `fathoms ties` with its five measures. Nobody else does the same; the
nearest is to score each run five times, once for each order a tie rule or limit asks for. pytrec_eval is timed on every
SAMPLE-th run, its reader once and its evaluation five times, and multiplied up. Making the five orders is not counted,
nor is the mean over all orders, which would take thousands of evaluations, nor what unjudged documents could change.
"""

from __future__ import annotations

import argparse
import gzip
import time
from pathlib import Path

import pytrec_eval
from timing import show, show_header

import fathoms as fm

THEIRS = {"map", "ndcg_cut_10", "P_10", "recip_rank"}  # it has no RBP
ORDERS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=10)
    args = parser.parse_args()
    start = time.perf_counter()
    experiment = fm.Experiment(args.folder / "qrels.txt", args.folder / "runs", workers=2)
    report = experiment.ties()
    rows = {kind: sum(1 for _ in report.rows(kind)) for kind in ("runs", "scores", "pairs", "places")}
    ours = time.perf_counter() - start

    with (args.folder / "qrels.txt").open() as lines:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(lines), THEIRS)
    paths = sorted((args.folder / "runs").iterdir())
    sample = paths[:: args.sample]
    start = time.perf_counter()
    for path in sample:
        with gzip.open(path, "rt", encoding="latin-1") if path.suffix == ".gz" else path.open() as lines:
            run = pytrec_eval.parse_run(lines)
        for _ in range(ORDERS):
            evaluator.evaluate(run)
    loop_seconds = (time.perf_counter() - start) / len(sample) * len(paths)
    case = f"ties of {len(paths)} runs, {rows['pairs']:,} pairs"
    show_header()
    show(case, "fathoms, two cores", ours, ours)
    show(case, f"{ORDERS} x pytrec_eval, one core", loop_seconds, ours)


if __name__ == "__main__":
    main()
