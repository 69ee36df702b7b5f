"""How near do estimates from samples come, and how often do their intervals cover?

    python bench/sampling.py [--folder FOLDER] [--runs 20] [--depth 100] [--design probe] [--taken 10] [--sample 200]

Draws many samples of a pool whose judgments are known, judges them, and prints for each measure and method a row of
markdown: bias and root-mean-square error of the means of runs, the same error of their plain scores, how often 95%
intervals covered the score by the whole pool (of means, of differences of two runs, of single topics), and how wide
they are. Without FOLDER (qrels.txt and runs/) the collection is simulated; in a real one, documents of the pool without
a judgment are taken as not relevant. --taken D judges the pool of depth D first, whatever is drawn.
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import fathoms as fm
from fathoms.estimate.sample_design import run_sample
from fathoms.questions.predict.sampled_prediction import SampledScores, sampled_prediction

MEASURES = ("P@10", "nDCG@10", "RBP(p=0.95)", "nDCG", "AP")
HEADER = (
    "| design | taken | sample | measure | method | bias | RMSE | plain | covered | differences | topics | width |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|"
)
Grades = dict[str, dict[str, int]]


def collection(
    folder: Path | None, n_runs: int, depth: int, seed: int
) -> tuple[Any, Grades, dict[tuple[str, str], int]]:
    """Runs, the grades of the pool, and each pooled document's least rank."""
    if folder is None:
        made = fm.simulate(systems=n_runs, n_topics=25, n_docs=3000, depth=100, pool_depth=100, unpooled=0, seed=seed)
        runs: Any = made.runs
        known: dict[str, dict[str, float]] = {}
        for topic, document, grade in made.truth.iter_rows():
            known.setdefault(topic, {})[document] = grade
    else:
        files = sorted((folder / "runs").iterdir())
        chosen = np.sort(np.random.default_rng(seed).permutation(len(files))[:n_runs])
        runs = fm.read_runs([str(files[i]) for i in chosen])
        known = fm.read_qrels(folder / "qrels.txt").to_dict()
    grades: Grades = {topic: {} for topic in known}
    least = {}
    for topic, document, rank in fm.pool(runs, depth=depth).iter_rows():
        if topic in known:
            grades[topic][document] = max(int(known[topic].get(document, 0)), 0)
            least[topic, document] = rank
    return runs, grades, least


class Errors:
    """What is kept of many samples, for one measure and method."""

    def __init__(self) -> None:
        self.error: list[float] = []
        self.plain: list[float] = []
        self.width: list[float] = []
        self.covered: dict[str, list[bool]] = {"means": [], "differences": [], "topics": []}

    def add(self, estimate: SampledScores, truth: np.ndarray) -> None:
        """`truth` is [run, topic]."""
        for run, score in enumerate(truth.mean(axis=1)):
            value, low, high = estimate.mean_interval(run, 0.95)
            self.error.append(value - score)
            self.plain.append(float(estimate.scores[run].score.mean()) - score)
            self.width.append(high - low)
            self.covered["means"].append(low - 1e-9 <= score <= high + 1e-9)
            _, lows, highs = estimate.topic_intervals(run, 0.95)
            uncertain = highs - lows > 1e-12  # elsewhere no document that matters is left to judge
            inside = (lows - 1e-9 <= truth[run]) & (truth[run] <= highs + 1e-9)
            self.covered["topics"] += inside[uncertain].tolist()
        for a, b in combinations(range(len(truth)), 2):
            _, low, high, _ = estimate.difference(a, b, 0.95)
            score = float((truth[a] - truth[b]).mean())
            self.covered["differences"].append(low - 1e-9 <= score <= high + 1e-9)

    def row(self) -> str:
        rmse, plain = (np.sqrt(np.mean(np.square(values))) for values in (self.error, self.plain))
        means, differences, topics = (100 * np.mean(hits) if hits else 100.0 for hits in self.covered.values())
        return (
            f"{np.mean(self.error):+.3f} | {rmse:.3f} | {plain:.3f} | {means:.0f}% | {differences:.0f}% | "
            f"{topics:.0f}% | {np.mean(self.width):.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--design", default="depth")
    parser.add_argument("--taken", type=int, default=0)
    parser.add_argument("--sample", type=int, default=500)
    parser.add_argument("--times", type=int, default=60)
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--no-header", action="store_true")
    args = parser.parse_args()
    runs, grades, least = collection(args.folder, args.runs, args.depth, args.seed)
    names = list(runs)
    scored = fm.Experiment(grades, runs).evaluate(MEASURES, by_topic=True)
    scores = {row[:3]: row[3] for row in scored.rows()}
    first = {t: {d: g for d, g in of.items() if least[t, d] <= args.taken} for t, of in grades.items()}
    errors_of: dict[tuple[str, str], Errors] = {}
    seconds = 0.0
    for seed in range(args.times):
        before = fm.Experiment(first if args.taken else None, runs, pooled=names, seed=seed)
        drawn = run_sample(before, args.sample, design=args.design, depth=args.depth)
        judged = {topic: dict(of) for topic, of in first.items()}
        for topic, document in drawn.to_judge:
            if topic in judged:
                judged[topic][document] = grades[topic][document]
        exp = fm.Experiment({topic: of for topic, of in judged.items() if of}, runs, pooled=names)
        start = time.perf_counter()
        result = sampled_prediction(exp, exp.measures(MEASURES), drawn.design, assist=True)
        seconds += time.perf_counter() - start
        topics = result.sample.candidates.topics
        for estimate in result.by_method:
            truth = np.array([[scores[run, topic, estimate.measure.name] for topic in topics] for run in names])
            errors_of.setdefault((estimate.measure.name, estimate.method), Errors()).add(estimate, truth)
    if not args.no_header:
        print(HEADER)
    taken = f"top {args.taken}" if args.taken else "-"
    for (measure, method), errors in errors_of.items():
        print(f"| {args.design} | {taken} | {args.sample} | {measure} | {method} | {errors.row()} |", flush=True)
    print(f"<!-- {len(names)} runs, pool of {sum(map(len, grades.values())):,}, {seconds / args.times:.2f} s each -->")


if __name__ == "__main__":
    main()
