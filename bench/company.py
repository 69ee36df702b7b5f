"""Does a pair of runs keep its range and its answer, whoever else is in the table?

    FATHOMS_DATA=... python bench/company.py [--pairs 200] [--seed 0]

Random pairs of runs of trec8-adhoc and trec-covid-r1. `compare` sees each pair alone, among 9 runs and among 40, with
`--ranges auto`. Counted are the pairs whose range or whose `reversible` is another one than that of the pair alone, and
those whose range is left empty. Ranges may differ by the rounding of a sum, 1e-12. Also counted: runs whose possible
ranks, by `rank` of the 40, are not those that the pairs proved by `compare` leave.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import fathoms as fm
from fathoms.questions.compare.result import Pair

COLLECTIONS = ("trec8-adhoc", "trec-covid-r1")
MEASURES = ["AP", "nDCG", "nDCG@10", "RBP(p=0.95)", "RR"]
FEW, MANY, PAIRS_OF_NINE = 9, 40, 20
ROUNDING = 1e-12

Answers = dict[tuple[str, frozenset[str]], Pair]


def answers(experiment: fm.Experiment) -> Answers:
    """The pairs of a comparison by measure and names."""
    pairs = experiment.compare(MEASURES, draws=0).pairs
    return {(pair.measure, frozenset((pair.run_a, pair.run_b))): pair for pair in pairs}


def kind(alone: Pair, other: Pair) -> str:
    other = other if other.run_a == alone.run_a else other.turned()
    if alone.diff_low is None or alone.diff_high is None:
        return "empty alone"
    if other.diff_low is None or other.diff_high is None:
        return "empty" if other.reversible in (None, alone.reversible) else "another answer"
    if max(abs(alone.diff_low - other.diff_low), abs(alone.diff_high - other.diff_high)) > ROUNDING:
        return "another range"
    return "same" if other.reversible == alone.reversible else "another answer"


def wrong_ranks(experiment: fm.Experiment, compared: Answers) -> Counter[str]:
    """By measure, the runs whose best rank is not one more than the number of runs proved to be ahead of them."""
    behind: Counter[tuple[str, str]] = Counter()
    for (measure, _), pair in compared.items():
        if pair.reversible == "no":
            behind[measure, pair.run_b if pair.diff > 0 else pair.run_a] += 1
    ranked = experiment.rank(MEASURES, draws=0)
    return Counter(
        standing.measure
        for standing in ranked.standings
        if standing.rank_low != 1 + behind[standing.measure, standing.run]
    )


def rows(folder: Path, n_pairs: int, seed: int) -> list[str]:
    files, qrels = sorted((folder / "runs").iterdir()), folder / "qrels.txt"
    rng = np.random.default_rng(seed)
    company = [files[i] for i in rng.choice(len(files), MANY, replace=False)]
    of_40 = fm.Experiment(qrels, company, workers=1)
    among_40 = answers(of_40)
    wrong = wrong_ranks(of_40, among_40)
    counts: Counter[tuple[str, int, str]] = Counter()
    proved: Counter[tuple[str, str]] = Counter()
    first, second = np.triu_indices(FEW, 1)
    seen = 0
    while seen < n_pairs:
        nine = [company[i] for i in rng.choice(MANY, FEW, replace=False)]
        among_9 = answers(fm.Experiment(qrels, nine, workers=1))
        for i in rng.choice(len(first), min(PAIRS_OF_NINE, n_pairs - seen), replace=False).tolist():
            two = [nine[first[i]], nine[second[i]]]
            for key, alone in answers(fm.Experiment(qrels, two, workers=1)).items():
                counts[key[0], FEW, kind(alone, among_9[key])] += 1
                counts[key[0], MANY, kind(alone, among_40[key])] += 1
                proved[key[0], alone.reversible or "equal means"] += 1
            seen += 1
    lines = []
    for measure in MEASURES:
        name = fm.parse_measure(measure).name
        cells = [str(proved[name, word]) for word in ("no", "yes", "unknown")]
        for size in (FEW, MANY):
            same, empty = counts[name, size, "same"], counts[name, size, "empty"] + counts[name, size, "empty alone"]
            cells += [str(same), str(empty), str(seen - same - empty)]
        lines.append(f"| {folder.name} | {measure} | {seen} | {' | '.join(cells)} | {wrong[name]} of {MANY} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=200, help="random pairs of each collection (200)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    words = [f"{word} among {size}" for size in (FEW, MANY) for word in ("same", "empty", "other")]
    print(f"| collection | measure | pairs | no | yes | unknown | {' | '.join(words)} | ranks that differ |")
    print("|---" * 13 + "|")
    for name in COLLECTIONS:
        for line in rows(Path(os.environ["FATHOMS_DATA"]) / name, args.pairs, args.seed):
            print(line, flush=True)
    print(f"\n{time.perf_counter() - start:.0f} seconds")


if __name__ == "__main__":
    main()
