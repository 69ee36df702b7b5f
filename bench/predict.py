"""How good and how fast are the estimates? On simulated collections the truth is known.

    python bench/predict.py [--seeds 3] [--systems 40] [--n-topics 50] [--pool-depth 20]

Prints, for each measure and method, the bias (mean of estimate - truth) and the root-mean-square error over runs and
topics, runs that contributed to the pool and others apart; then the time to fit six models at ten depths.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import polars as pl

import fathoms as fm
from fathoms.data.simulate import Collection, simulate
from fathoms.estimate.gain_models import Hybrid
from fathoms.evidence.align import Alignment
from fathoms.questions.predict.analysis import METHODS
from fathoms.questions.predict.gain_curves import empirical_gains

MEASURES = ["P@10", "P@100", "RBP(p=0.95)", "SDCG@100", "ERR@20", "AP", "nDCG@100", "Q@100"]


def errors(collection: Collection) -> pl.DataFrame:
    """Estimate and truth of every run, topic, measure and method."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fm.FathomsWarning)
        prediction = fm.predict(
            collection.qrels, collection.runs, MEASURES, "all", by_topic=True, pooled=collection.pooled
        )
        truth = fm.evaluate(collection.truth, collection.runs, MEASURES, by_topic=True)
    both = prediction.join(truth.select("run", "topic", "measure", truth="score"), on=["run", "topic", "measure"])
    return both.filter(pl.col("topic") != "all").with_columns(
        error=pl.col("estimate") - pl.col("truth"),
        runs=pl.when(pl.col("run").is_in(collection.pooled)).then(pl.lit("pooled")).otherwise(pl.lit("others")),
    )


def table(frame: pl.DataFrame) -> str:
    """Markdown: a row a measure and kind of run, a column a method, `bias / rmse` in each cell."""
    cells = frame.group_by("measure", "runs", "method").agg(
        bias=pl.col("error").mean(), rmse=(pl.col("error") ** 2).mean().sqrt()
    )
    values = {(m, r, how): (bias, rmse) for m, r, how, bias, rmse in cells.iter_rows()}
    lines = ["| measure | runs | " + " | ".join(METHODS) + " |", "|" + "---|" * (len(METHODS) + 2)]
    for measure in MEASURES:
        for runs in ("pooled", "others"):
            row = [values[measure, runs, method] for method in METHODS]
            best = min(rmse for _, rmse in row)
            shown = [f"{b:+.3f} / {'**' if r == best else ''}{r:.3f}{'**' if r == best else ''}" for b, r in row]
            lines.append(f"| {measure} | {runs} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def fit_seconds(collection: Collection) -> float:
    """Six models (the hybrid is the best of five), every topic, ten depths, from runs in memory to fitted curves."""
    align = Alignment(fm.read_qrels(collection.truth))
    evidences = [align(run).evidence for run in fm.read_runs(collection.runs).values()]
    measure = fm.parse_measure("RBP(p=0.95)")
    start = time.perf_counter()
    for depth in range(10, 101, 10):
        gains, known = empirical_gains((evidence.cut(depth) for evidence in evidences), measure, depth)
        np.stack([model.fit(gains, 1.0, known).rmse for model in Hybrid.models]).argmin(axis=0)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("seeds", 3), ("systems", 40), ("n-topics", 50), ("pool-depth", 20)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    sizes = {"systems": args.systems, "n_topics": args.n_topics, "pool_depth": args.pool_depth}
    frames = [errors(simulate(**sizes, max_grade=1, seed=seed)) for seed in range(args.seeds)]
    print(
        f"bias / RMSE over runs and topics, {args.seeds} collections of {args.systems} runs, pool {args.pool_depth}\n"
    )
    print(table(pl.concat(frames)))
    seconds = fit_seconds(simulate(systems=129, n_topics=50, depth=100, max_grade=1))
    print(f"\nsix models, 50 topics, 10 depths, 129 runs: {seconds:.1f} s")


if __name__ == "__main__":
    main()
