"""How near do estimates from a shallow pool come to the scores of all judgments, on a real collection?

    python bench/shallow.py FOLDER --depth 10 [--to-depth 100] [-m AP] [--draws 200]

FOLDER has qrels.txt, runs/ and pooled.txt. Prints, for each measure and method, the bias (mean of estimate - score by
all judgments) and the root-mean-square error over runs and topics, runs that contributed to the pool and others apart,
and Kendall's tau of the runs' means with the order by all judgments; the time and memory of the models of relevance;
and how often a confidence was right.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

import fathoms as fm
from fathoms.data.qrels import Qrels
from fathoms.data.runs import Runs
from fathoms.estimate.probabilities import RelevanceProbabilities, relevance_probabilities
from fathoms.estimate.relevance import RELEVANCE_MODELS
from fathoms.estimate.score_draws import SAMPLES, drawn_scores, pairs
from fathoms.inference.correlation import correlation

METHODS = ("simplistic", "smoothed", "weibull", "hybrid", "experts", "fusion")
EDGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)


def errors(
    shallow: Qrels, full: Qrels, runs: Runs, pooled: list[str], measures: list[str], to_depth: int | None
) -> str:
    """Markdown: a row a measure and kind of run, `bias / rmse` (tau of the means) for each method."""
    prediction = fm.predict(shallow, runs, measures, METHODS, by_topic=True, pooled=pooled, to_depth=to_depth)
    truth = fm.evaluate(full, runs, measures, by_topic=True).select("run", "topic", "measure", truth="score")
    both = prediction.join(truth, on=["run", "topic", "measure"]).with_columns(
        error=pl.col("estimate") - pl.col("truth"), pooled=pl.col("run").is_in(pooled)
    )
    lines = ["| measure | runs | " + " | ".join(METHODS) + " |", "|" + "---|" * (len(METHODS) + 2)]
    for measure in measures:
        for kind in (True, False):
            cells = []
            for method in METHODS:
                here = both.filter(measure=fm.parse_measure(measure).name, pooled=kind, method=method)
                error = here.filter(pl.col("topic") != "all")["error"].to_numpy()
                means = here.filter(topic="all")
                tau = correlation(means["estimate"].to_numpy(), means["truth"].to_numpy())
                cells.append(f"{error.mean():+.3f} / {np.sqrt((error**2).mean()):.3f} ({tau:.3f})")
            lines.append(f"| {measure} | {'pooled' if kind else 'others'} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def accuracy(
    full: Qrels, runs: Runs, measure: str, probabilities: RelevanceProbabilities, method: str, draws: int
) -> str:
    """How often the run with the greater chance is the better one by all judgments, by confidence."""
    parsed = fm.parse_measure(measure)
    names = probabilities.candidates.names
    better = pairs(
        parsed, drawn_scores(probabilities, names, [parsed], draws)[parsed], len(probabilities.samples)
    ).p_better
    score = dict(fm.evaluate(full, runs, measure).select("run", "score").iter_rows())
    sure, right = [], []
    for a, b in combinations(range(len(names)), 2):
        above = better[a, b] >= 0.5
        sure.append(better[a, b] if above else better[b, a])
        right.append((score[names[a]] > score[names[b]]) == above)
    bins = np.digitize(sure, EDGES[1:])
    rows = [f"| {measure} | {method} |"]
    for i, least in enumerate(EDGES):
        here = np.array(right)[bins == i]
        share = f"{here.mean():.3f}" if len(here) else "-"
        rows.append(f" {least:g}: {share} ({len(here):,}) |")
    return "".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--depth", type=int, default=10)
    parser.add_argument("--to-depth", type=int)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("-m", dest="measures", action="append")
    args = parser.parse_args()
    measures = args.measures or ["AP", "nDCG@10", "P@10", "RBP(p=0.95)"]
    warnings.simplefilter("ignore", fm.FathomsWarning)
    full, runs = fm.read_qrels(args.folder / "qrels.txt"), fm.read_runs(args.folder / "runs")
    pooled = [name for name in (args.folder / "pooled.txt").read_text().split() if name in runs]
    shallow = fm.Experiment(full, runs, pooled=pooled).pool(depth=args.depth).qrels
    assert shallow is not None
    print(f"{len(shallow):,} of {len(full):,} judgments\n")
    print(errors(shallow, full, runs, pooled, measures, args.to_depth), flush=True)
    for method in RELEVANCE_MODELS:
        start = time.perf_counter()
        probabilities = relevance_probabilities(
            fm.Experiment(shallow, runs), method, to_depth=args.to_depth, samples=SAMPLES
        )
        seconds = time.perf_counter() - start
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{method}: {len(probabilities.candidates):,} documents, {seconds:.1f} s, at most {most:.1f} GB so far\n")
        for measure in measures:
            print(accuracy(full, runs, measure, probabilities, method, args.draws), flush=True)


if __name__ == "__main__":
    main()
