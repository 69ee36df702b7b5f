"""Do error budgets hold what they say?

    python bench/doubt.py [--collections 20] [--seed 1]

Simulated collections of 200 topics stand for all topics like these. 40 of them are taken, judged by a shallow pool of
some of the runs. Prints as rows of markdown how often the interval of `fathoms doubt` (topics, judging and ties
together) covers the mean over all 200 topics under all judgments of the runs' documents and all orders of ties, for
scores and for differences; and what became of the forecasts: the standard deviation from judging once the listed documents are judged,
and that from topics with four times as many, as a part of what it was (forecast: a half).
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np

import fathoms as fm
from fathoms.data.simulate import Collection
from fathoms.questions.doubt.result import Doubt

TOPICS, TAKEN = 200, 40
MEASURES = ("P@10", "nDCG@10", "AP", "RBP(p=0.8)")


def made(seed: int) -> Collection:
    return fm.simulate(
        systems=6, n_topics=TOPICS, n_docs=2000, depth=100, pool_depth=10, unpooled=2, ties=0.2, seed=seed
    )


def of_topics(frame: fm.Qrels, topics: set[str]) -> dict[str, dict[str, float]]:
    return {topic: grades for topic, grades in frame.to_dict().items() if topic in topics}


def of_runs(truth: fm.Qrels, collection: Collection) -> dict[str, dict[str, float]]:
    """The truth of the runs' documents alone, which estimates and intervals are about: what nobody found stays out."""
    there: dict[str, set[str]] = {}
    for run in collection.runs.values():
        for topic, document in run.select("topic", "doc").iter_rows():
            there.setdefault(topic, set()).add(document)
    return {
        topic: {document: grade for document, grade in grades.items() if document in there.get(topic, set())}
        for topic, grades in truth.to_dict().items()
    }


def deviation(doubt: Doubt, source: str) -> float:
    """The width of a source's interval by the first measure."""
    [row] = [row for row in doubt.budgets[0].sources if row.name == source]
    return float(row.high - row.low)


def main() -> None:
    warnings.simplefilter("ignore", fm.FathomsWarning)  # of the topics that are left out
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--collections", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    covered: dict[tuple[str, str], list[bool]] = {}
    halved: dict[tuple[str, str], list[float]] = {}
    for seed in range(args.seed, args.seed + args.collections):
        collection = made(seed)
        truth = of_runs(fm.read_qrels(collection.truth), collection)
        known = fm.read_qrels(collection.qrels)
        rows = fm.evaluate(truth, collection.runs, MEASURES)
        mean = {(row["run"], row["measure"]): row["tie_expected"] for row in rows.iter_rows(named=True)}
        order = np.random.default_rng(seed).permutation(known.topics).tolist()
        taken = set(order[:TAKEN])
        exp = fm.Experiment(of_topics(known, taken), collection.runs, pooled=collection.pooled)
        outside = [run for run in collection.runs if run not in collection.pooled]
        asked = [(run,) for run in (*outside, collection.pooled[0])]
        pairs = [(outside[0], collection.pooled[0]), (outside[1], collection.pooled[1]), tuple(outside)]
        for runs in [*asked, *pairs]:
            doubt = exp.doubt(MEASURES, of=runs)
            for budget in doubt.budgets:
                name = budget.measure.name
                true = mean[runs[0], name] - (mean[runs[1], name] if len(runs) == 2 else 0.0)
                kind = "score" if len(runs) == 1 else "difference"
                covered.setdefault((name, kind), []).append(budget.low <= true <= budget.high)
        for name in MEASURES:
            first = exp.doubt(name, of=outside[:1])
            judging = first.budgets[0].source("judging")
            if judging is not None and judging.halved_by and (judging.share or 0) > 0.02:
                more = of_topics(known, taken)
                for item in first.budgets[0].to_judge:
                    more[item.topic][item.document] = truth[item.topic].get(item.document, 0)
                later = fm.Experiment(more, collection.runs, pooled=collection.pooled).doubt(name, of=outside[:1])
                halved.setdefault((name, "judging"), []).append(
                    deviation(later, "judging") / deviation(first, "judging")
                )
            wider = fm.Experiment(of_topics(known, set(order[: 4 * TAKEN])), collection.runs, pooled=collection.pooled)
            later = wider.doubt(name, of=outside[:1])
            halved.setdefault((name, "topics"), []).append(deviation(later, "topics") / deviation(first, "topics"))
        print(f"{seed}", file=sys.stderr, end=" ", flush=True)
    print("| measure | of | intervals | covered |\n|---|---|---|---|")
    for (name, kind), hits in sorted(covered.items()):
        print(f"| {name} | {kind} | {len(hits)} | {np.mean(hits):.1%} |")
    print("\n| measure | halving | cases | left, median | middle half |\n|---|---|---|---|---|")
    for (name, source), parts in sorted(halved.items()):
        low, middle, high = np.quantile(parts, [0.25, 0.5, 0.75])
        print(f"| {name} | {source} | {len(parts)} | {middle:.2f} | {low:.2f} to {high:.2f} |")


if __name__ == "__main__":
    main()
