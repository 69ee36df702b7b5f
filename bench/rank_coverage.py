"""Do the ranks that `fathoms rank` gives contain the true ones?

    python bench/rank_coverage.py topics QRELS RUNS... [--repeats 400] [--repeats-all 40]
    python bench/rank_coverage.py simulated [--repeats 400]
    python bench/rank_coverage.py likely [--collections 20]

`topics`: confidence sets from topics drawn from those of a collection, against the ranks by all of them: half of them
(each once), as many with replacement, and with replacement after each run's scores were moved to the same mean, so that
all runs are equally good and any claim is false. For all runs, and for 20 drawn at random. `simulated`: the same with
topics from a population of 2,000, in which runs come in pairs that are exactly as good (each topic is there twice, the
second time with the scores of each pair exchanged). Beside the sets in use, those of paired t-tests with Holm's
correction. Covered means that all runs are in their sets at once; for the sets of each run alone, `own`, it is the
share of runs that are in theirs. `likely`: likely ranks of simulated collections with
shallow pools, against the ranks once everything is judged down to the estimates' depth. Tables in Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

import fathoms as fm
from fathoms.data.simulate import simulate
from fathoms.evidence.evidence import Bools, Floats
from fathoms.inference.rank_sets import own_ranks, rank_sets, ranks, significantly_better
from fathoms.inference.significance import corrected, paired_t

MEASURES = ["AP", "nDCG@10", "P@10", "RR"]


def by_holm(scores: Floats, seed: int) -> Bools:
    a, b = np.triu_indices(len(scores), 1)
    means = scores.mean(axis=1)
    claimed = corrected(paired_t(scores)[a, b], "holm") < 0.05
    better = np.zeros((len(scores), len(scores)), dtype=bool)
    ahead = means[a] > means[b]
    better[np.where(ahead, a, b)[claimed], np.where(ahead, b, a)[claimed]] = True
    return better


OWN = "own"
METHODS: dict[str, Callable[[Floats, int], Bools]] = {
    "sets": lambda scores, seed: significantly_better(scores, 0.05, seed),
    "Holm": by_holm,
}


def study(name: str, samples: Iterator[tuple[Floats, Floats]], repeats: int) -> None:
    """A row of the table: samples are scores and the means of their population."""
    covered, width = dict.fromkeys([*METHODS, OWN], 0.0), dict.fromkeys([*METHODS, OWN], 0.0)
    for seed, (scores, means) in zip(range(repeats), samples, strict=False):
        true = ranks(means)
        for method, find in METHODS.items():
            low, high = rank_sets(find(scores, seed))
            covered[method] += bool(((low <= true) & (true <= high)).all())
            width[method] += float((high - low + 1).mean()) / repeats
        low, high = own_ranks(scores, 0.05, seed)
        covered[OWN] += float(((low <= true) & (true <= high)).mean())
        width[OWN] += float((high - low + 1).mean()) / repeats
    cells = [f"{covered[method] / repeats:.1%} | {width[method]:.1f}" for method in covered]
    print(f"| {name} | {repeats} | {' | '.join(cells)} |", flush=True)


def header(first: str) -> None:
    print(f"| {first} | samples | {' | '.join(f'{name}: covered | width' for name in (*METHODS, OWN))} |")
    print("|---|" + "---|" * (3 + 2 * len(METHODS)))


def drawn(population: Floats, runs: int, topics: int, how: str, seed: int = 1) -> Iterator[tuple[Floats, Floats]]:
    rng = np.random.default_rng(seed)
    while True:
        scores = population[rng.choice(len(population), runs, replace=False)]
        if how == "equal means":
            scores = scores - scores.mean(axis=1, keepdims=True)
        some = rng.choice(scores.shape[1], topics, replace=how != "half")
        yield scores[:, some], scores.mean(axis=1)


def scores_by_topic(qrels: object, runs: object, measure: str) -> Floats:
    evaluation = fm.Experiment(qrels, runs).evaluate(measure, by_topic=True, scores_only=True)
    return np.stack([run.scores[evaluation.measures[0]].score for run in evaluation.runs])


def topics_study(qrels: str, runs: list[str], repeats: int, repeats_all: int) -> None:
    header("measure, runs, topics, how drawn")
    for measure in MEASURES:
        population = scores_by_topic(qrels, runs, measure)
        n_runs, n = population.shape
        for some, times in ((20, repeats), (n_runs, repeats_all)):
            for topics, how in ((n // 2, "half"), (n // 2, "replaced"), (n // 2, "equal means"), (n, "equal means")):
                study(f"{measure}, {some}, {topics}, {how}", drawn(population, some, topics, how), times)


def twins(population: Floats) -> Floats:
    """Every topic twice, the second time with the scores of runs 0 and 1, 2 and 3, ... exchanged."""
    other = np.arange(len(population)) ^ 1
    return np.concatenate([population, population[other]], axis=1)


def simulated_study(repeats: int) -> None:
    header("measure, runs, topics")
    made = simulate(systems=20, n_topics=1000, n_docs=1000, depth=100, pool_depth=100, seed=5)
    for measure in MEASURES:
        population = scores_by_topic(made.truth, made.runs, measure)
        for runs in (6, 20):
            equal = twins(population[:runs])
            for topics in (10, 25, 50):
                rng = np.random.default_rng(2)
                samples = ((equal[:, rng.choice(equal.shape[1], topics)], equal.mean(axis=1)) for _ in range(repeats))
                study(f"{measure}, {runs}, {topics}", samples, repeats)


def likely_study(collections: int) -> None:
    print("| measure | pool | runs | covered | width |\n|---|---|---|---|---|")
    for depth, systems in ((5, 8), (10, 20)):
        counted: dict[str, list[tuple[bool, int]]] = {measure: [] for measure in MEASURES}
        for seed in range(collections):
            made = simulate(systems=systems, n_topics=25, n_docs=2000, depth=200, pool_depth=depth, seed=seed)
            result = fm.Experiment(made.qrels, made.runs).rank(MEASURES)
            for measure, to_depth in result.to_depth.items():
                true = true_ranks(made, measure, to_depth)
                for standing in result.of(measure):
                    if standing.likely_rank_low is not None and standing.likely_rank_high is not None:
                        inside = standing.likely_rank_low <= true[standing.run] <= standing.likely_rank_high
                        counted[measure].append((inside, standing.likely_rank_high - standing.likely_rank_low + 1))
        for measure, cases in counted.items():
            covered, width = np.mean([inside for inside, _ in cases]), np.mean([wide for _, wide in cases])
            print(f"| {measure} | {depth} | {len(cases)} of {systems} | {covered:.1%} | {width:.1f} |", flush=True)


def true_ranks(made: object, measure: str, to_depth: int) -> dict[str, int]:
    """The ranks once all documents down to a rank of any run are judged; judged ones stay judged."""
    runs, qrels, truth = (getattr(made, name) for name in ("runs", "qrels", "truth"))
    pool = fm.pool(runs, depth=to_depth).select("topic", doc="document")
    judged = pl.concat([pool, qrels.select("topic", "doc")]).unique()
    scores = fm.evaluate(truth.join(judged, on=["topic", "doc"], how="semi"), runs, measure)
    return dict(zip(scores["run"], ranks(scores["score"].to_numpy()).tolist(), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=("topics", "simulated", "likely"))
    parser.add_argument("files", nargs="*")
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--repeats-all", type=int, default=40)
    parser.add_argument("--collections", type=int, default=20)
    args = parser.parse_args()
    if args.study == "topics":
        topics_study(args.files[0], args.files[1:], args.repeats, args.repeats_all)
    elif args.study == "simulated":
        simulated_study(args.repeats)
    else:
        likely_study(args.collections)


if __name__ == "__main__":
    main()
