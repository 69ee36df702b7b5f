"""Power predicted by `fathoms plan` against power achieved, on any collection: a table of measures, differences and
numbers of topics.

Achieved is the share of resampled topic sets on which the paired t-test separates two runs, over all pairs of runs
whose means differ by the difference asked for, give or take a tenth. Predicted is from all topics (pair by pair, and
with one mean variance as in Sakai's design), and from random halves of them, which did not see the other half.

    python bench/plan.py COLLECTION [MEASURE...]     (a folder with qrels.txt and runs/)
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

import fathoms as fm
from fathoms.inference.topic_set_size import power_of_t_test
from fathoms.questions.plan.known_scores import TopicScores, significant_share

MEASURES = ("AP", "nDCG@10", "P@10", "RBP(p=0.8)")
DIFFERENCES = (0.03, 0.05, 0.1)
TOPICS = (25, 50, 100)
ALPHA = 0.05
HALVES = 20
DRAWS = 2000


def main(folder: Path, measures: list[str]) -> None:
    exp = fm.Experiment(folder / "qrels.txt", folder / "runs")
    exp.warn = False
    evaluation = exp.evaluate(measures or list(MEASURES), scores_only=True)
    rng = np.random.default_rng(0)
    heads = ("measure", "difference", "topics", "pairs", "achieved", "pair by pair", "off", "halves", "off")
    print(f"| {' | '.join((*heads, 'mean variance', 'off'))} |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    worst = {"pair by pair": 0.0, "halves": 0.0, "mean variance": 0.0}
    for measure in evaluation.measures:
        values = np.stack([run.scores[measure].score for run in evaluation.runs])
        a, b = np.triu_indices(len(values), 1)
        differences = values[a] - values[b]
        size = np.abs(differences.mean(axis=1))
        whole, n_topics = TopicScores(values), values.shape[1]
        halves = [TopicScores(values[:, rng.permutation(n_topics)[: n_topics // 2]]) for _ in range(HALVES)]
        for d in DIFFERENCES:
            near = differences[(size > 0.9 * d) & (size < 1.1 * d)]
            if not len(near):
                continue
            for n in TOPICS:
                achieved = significant_share(near, n, ALPHA, 1, DRAWS)
                words = {
                    "pair by pair": whole.power(n, d, ALPHA),
                    "halves": float(np.mean([half.power(n, d, ALPHA) for half in halves])),
                    "mean variance": float(power_of_t_test(n, d, whole.variance, ALPHA)),
                }
                cells = " | ".join(f"{power:.3f} | {100 * (power - achieved):+.1f}" for power in words.values())
                print(f"| {measure.name} | {d:g} | {n} | {len(near):,} | {achieved:.3f} | {cells} |")
                for name, power in words.items():
                    worst[name] = max(worst[name], abs(100 * (power - achieved)))
    print("\nFurthest off, in points: " + ", ".join(f"{name} {points:.1f}" for name, points in worst.items()))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    started = time.perf_counter()
    main(Path(sys.argv[1]), sys.argv[2:])
    print(f"{time.perf_counter() - started:.1f} s")
