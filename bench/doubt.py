"""Do error budgets hold what they say?

    python bench/doubt.py [--collections 20] [--seed 1]

Simulated collections of 540 topics, of which 40 are taken at a time; the other 500 stand for all topics like these, so
that no topic of the sample is among the truth. Three conditions: all documents of the runs are judged, without ties
(topics alone), with ties, and with a shallow pool of some of the runs besides. Prints as rows of markdown how often the
interval of `fathoms doubt` covers the mean over the other topics under all judgments of the runs' documents and all
orders of ties, for scores and for differences, and the mean share of each source; and what became of the forecasts: the
standard deviation from judging once the listed documents are judged, and that from topics with four times as many, as a
part of what it was (forecast: a half).
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np

import fathoms as fm
from fathoms.data.simulate import Collection
from fathoms.questions.doubt import ahead
from fathoms.questions.doubt.result import Doubt

TOPICS, TAKEN, SAMPLES = 540, 40, 3
STEPS = ahead.STEPS
MEASURES = ("P@10", "nDCG@10", "AP", "RBP(p=0.8)")
CONDITIONS = {"topics": (None, 0.0), "topics, ties": (None, 0.2), "topics, ties, judging": (10, 0.2)}
Judgments = dict[str, dict[str, float]]


def made(seed: int, ties: float) -> Collection:
    return fm.simulate(
        systems=6, n_topics=TOPICS, n_docs=2000, depth=100, pool_depth=10, unpooled=2, ties=ties, seed=seed
    )


def of_topics(judgments: Judgments, topics: set[str]) -> Judgments:
    return {topic: dict(grades) for topic, grades in judgments.items() if topic in topics}


def of_runs(collection: Collection) -> Judgments:
    """The truth of the runs' documents alone, which estimates and intervals are about: what nobody found stays out."""
    there: dict[str, set[str]] = {}
    for run in collection.runs.values():
        for topic, document in run.select("topic", "doc").iter_rows():
            there.setdefault(topic, set()).add(document)
    truth = fm.read_qrels(collection.truth).to_dict()
    # A document without a grade is not relevant; it says so, where everything is judged.
    return {
        topic: {document: truth[topic].get(document, 0.0) for document in sorted(documents)}
        for topic, documents in there.items()
    }


def width(doubt: Doubt, source: str) -> float:
    """Of a source's interval by the first measure."""
    [row] = [row for row in doubt.budgets[0].sources if row.name == source]
    return float(row.high - row.low)


def forecasts(
    collection: Collection, known: Judgments, truth: Judgments, order: list[str], run: str
) -> dict[tuple[str, str], float]:
    """What was left of two standard deviations, by measure and source."""
    left: dict[tuple[str, str], float] = {}
    mine, pooled = of_topics(known, set(order[:TAKEN])), collection.pooled
    for measure in MEASURES:
        first = fm.Experiment(mine, collection.runs, pooled=pooled).doubt(measure, of=run)
        judging = first.budgets[0].source("judging")
        if judging is not None and judging.halved_by and (judging.share or 0) > 0.02:
            more = of_topics(mine, set(mine))
            for item in first.budgets[0].to_judge:
                more[item.topic][item.document] = truth[item.topic].get(item.document, 0.0)
            later = fm.Experiment(more, collection.runs, pooled=pooled).doubt(measure, of=run)
            left[measure, "judging"] = width(later, "judging") / width(first, "judging")
        wider = fm.Experiment(of_topics(known, set(order[: 4 * TAKEN])), collection.runs, pooled=pooled)
        left[measure, "topics"] = width(wider.doubt(measure, of=run), "topics") / width(first, "topics")
    return left


def main() -> None:
    warnings.simplefilter("ignore", fm.FathomsWarning)  # of the topics that are left out
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--collections", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    covered: dict[tuple[str, str, str], list[bool]] = {}
    shares: dict[tuple[str, str, str], list[list[float]]] = {}
    halved: dict[tuple[str, str], list[float]] = {}
    for seed in range(args.seed, args.seed + args.collections):
        for condition, (pool, ties) in CONDITIONS.items():
            collection = made(seed, ties)
            truth, known = of_runs(collection), fm.read_qrels(collection.qrels).to_dict()
            order = np.random.default_rng(seed).permutation(list(known)).tolist()
            outside = [run for run in collection.runs if run not in collection.pooled]
            first, second = collection.pooled[:2]
            singles = [(run,) for run in (*outside, first)]
            pairs = [(outside[0], first), (outside[1], second), tuple(outside)]
            ahead.STEPS = 0  # how many judgments would help is not asked here, and takes most of the time
            for sample in range(SAMPLES):
                taken = set(order[sample * TAKEN : (sample + 1) * TAKEN])
                rows = fm.evaluate(of_topics(truth, set(order) - taken), collection.runs, MEASURES)
                mean = {(row["run"], row["measure"]): row["tie_expected"] for row in rows.iter_rows(named=True)}
                judgments = of_topics(truth if pool is None else known, taken)
                exp = fm.Experiment(judgments, collection.runs, pooled=None if pool is None else collection.pooled)
                for runs in [*singles, *pairs]:
                    for budget in exp.doubt(MEASURES, of=runs).budgets:
                        name = budget.measure.name
                        true = mean[runs[0], name] - (mean[runs[1], name] if len(runs) == 2 else 0.0)
                        cell = (condition, name, "score" if len(runs) == 1 else "difference")
                        covered.setdefault(cell, []).append(budget.low <= true <= budget.high)
                        of_sources = [budget.source(source) for source in ("topics", "judging", "both", "ties")]
                        shares.setdefault(cell, []).append([of.share or 0.0 for of in of_sources if of is not None])
            ahead.STEPS = STEPS
            if pool is not None:
                for key, part in forecasts(collection, known, truth, order, outside[0]).items():
                    halved.setdefault(key, []).append(part)
        print(f"{seed}", file=sys.stderr, end=" ", flush=True)
    print("| condition | measure | of | intervals | covered | topics | judging | both | ties |")
    print("|---|---|---|---|---|---|---|---|---|")
    for (condition, name, kind), hits in covered.items():
        percentages = " | ".join(f"{share:.0%}" for share in np.mean(shares[condition, name, kind], axis=0))
        print(f"| {condition} | {name} | {kind} | {len(hits)} | {np.mean(hits):.1%} | {percentages} |")
    print("\n| measure | halving | cases | left, median | middle half |\n|---|---|---|---|---|")
    for (name, source), parts in sorted(halved.items()):
        low, middle, high = np.quantile(parts, [0.25, 0.5, 0.75])
        print(f"| {name} | {source} | {len(parts)} | {middle:.2f} | {low:.2f} to {high:.2f} |")


if __name__ == "__main__":
    main()
