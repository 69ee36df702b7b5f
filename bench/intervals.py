"""Do the intervals of single scores contain the mean over all topics?

    python bench/intervals.py [--data DIR] [--samples 200] [-o docs/results/intervals.md]

Topics are drawn with replacement from those of a collection, 25 or 50 of them, and the interval of each run's mean is
held against the mean over all its topics; for five measures and three methods, at 95%. With replacement, since the
intervals are of topics without number. `simulated` has 2,000 topics. The table
is in Markdown; the same arguments give the same table.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import fathoms as fm
from fathoms.data.simulate import simulate
from fathoms.evidence.evidence import Floats
from fathoms.inference.mean_intervals import MEAN_INTERVALS, mean_intervals

MEASURES = ("AP", "nDCG@10", "P@10", "RBP(p=0.8)", "RR")
COLLECTIONS = ("trec8-adhoc", "trec-covid-r1", "dl20-passage")
SIZES = (25, 50)
LEVEL = 0.95
RUNS = 6  # of a collection, spread evenly over its list


def scores_by_topic(qrels: Any, runs: Any) -> Floats:
    """[measure, run, topic]"""
    result = fm.Experiment(qrels, runs).evaluate(MEASURES, scores_only=True)
    chosen = np.unique(np.linspace(0, len(result.runs) - 1, RUNS).astype(int)).tolist()
    return np.array([[result.runs[i].scores[measure].score for i in chosen] for measure in result.measures])


def coverage(population: Floats, topics: int, samples: int) -> dict[str, tuple[Floats, Floats]]:
    """By method, for each measure: how often the mean of the population is inside, and the mean width."""
    truth = population.mean(axis=2)
    inside = {method: np.zeros(len(MEASURES)) for method in MEAN_INTERVALS}
    width = {method: np.zeros(len(MEASURES)) for method in MEAN_INTERVALS}
    rng = np.random.default_rng(1)
    for seed in range(samples):
        drawn = population[:, :, rng.choice(population.shape[2], topics)]
        for method in MEAN_INTERVALS:
            ends = mean_intervals(drawn.reshape(-1, topics), method, LEVEL, seed)
            low, high = (end.reshape(truth.shape) for end in ends)
            inside[method] += ((low <= truth) & (truth <= high)).mean(axis=1) / samples
            width[method] += np.nan_to_num(high - low).mean(axis=1) / samples
    return {method: (inside[method], width[method]) for method in MEAN_INTERVALS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the real collections")
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("-o", "--output", type=Path, help="a page, of which the table is written anew")
    args = parser.parse_args()
    populations = {}
    for name in COLLECTIONS if args.data is not None else ():
        folder = args.data / name
        populations[name] = scores_by_topic(folder / "qrels.txt", sorted(map(str, (folder / "runs").iterdir())))
    made = simulate(systems=12, n_topics=2000, n_docs=500, depth=50, pool_depth=20, seed=3)
    populations["simulated"] = scores_by_topic(made.qrels, made.runs)
    methods = list(MEAN_INTERVALS)
    lines = [
        f"| collection (its topics) | measure | topics drawn | {' | '.join(methods)} | "
        f"{' | '.join(f'width, {method}' for method in methods)} |",
        "|---" * (3 + 2 * len(methods)) + "|",
    ]
    for name, population in populations.items():
        of_size = {topics: coverage(population, topics, args.samples) for topics in SIZES}
        for i, measure in enumerate(MEASURES):
            for topics, by_method in of_size.items():
                cells = [f"{by_method[method][0][i]:.1%}" for method in methods]
                cells += [f"{by_method[method][1][i]:.3f}" for method in methods]
                lines.append(f"| {name} ({population.shape[2]:,}) | {measure} | {topics} | {' | '.join(cells)} |")
    table = "\n".join(lines) + "\n"
    print(table, end="")
    if args.output is not None:
        begin, end = "<!-- table -->\n", "<!-- end of table -->"
        before, _, after = args.output.read_text(encoding="utf-8").partition(begin)
        args.output.write_text(before + begin + table + end + after.partition(end)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
