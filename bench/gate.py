"""How often does `fathoms gate` pass a drop beyond the limit, raise a false alarm, or catch a drop?

Topics are drawn from a simulated population of which every judgment is known, so the true mean difference is known
exactly. In a topic the baseline has one of two systems' rankings and the candidate the other's: with probability 1/2
each way there is no difference, with another probability a drop of any size up to the difference of the systems. A
share of the documents in the first ten ranks of the two runs is then left without judgment: at random, or among what
the baseline does not have (a new system, whose own finds nobody has judged), or among what two other systems, the
only ones that were pooled, do not have in their first ten.

With `--groups` everything is judged, topics are in five groups of 40, and in one of them the candidate answers a share
of the topics with another topic's documents: how often is that group found, and how often does any group fail where
nothing is planted?

    python bench/gate.py [--trials 150] [--measures nDCG@10] [--groups]
"""

from __future__ import annotations

import argparse
from collections import Counter
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import fathoms as fm
from fathoms.base.parallel import parallel_map
from fathoms.inference.non_inferiority import p_above
from fathoms.inference.significance import corrected

POPULATION, DEPTH, TOPICS = 800, 20, 100
SYSTEMS = 12  # of which two are taken whose scores go together, as a change of one system does
LIMIT, ALPHA = 0.01, 0.05
CONDITIONS = (
    *((0.0, "random"), (0.25, "random"), (0.55, "random")),
    *((0.1, "new"), (0.3, "new"), (0.6, "new"), (0.5, "others"), (1.0, "others")),
)


class Population(NamedTuple):
    """Rankings of the better and the worse system by topic, the grades of all documents, and true scores."""

    rankings: list[tuple[list[str], list[str]]]
    pools: list[set[str]]  # what two other systems have in their first ten
    grades: list[dict[str, int]]
    scores: dict[str, Any]  # by measure, [system, topic]


def population(measures: list[str], seed: int) -> Population:
    made = fm.simulate(systems=SYSTEMS, n_topics=POPULATION, n_docs=800, depth=DEPTH, ties=0.0, unpooled=0, seed=seed)
    truth = fm.read_qrels(made.truth)
    table = fm.Experiment(truth, dict(made.runs), workers=1).evaluate(measures, by_topic=True, scores_only=True).frame
    order = table.filter(topic="all", measure=measures[0]).sort("score", descending=True)["run"].to_list()
    by_run = {run: table.filter(run=run, measure=measures[0]).filter(a_topic())["score"].to_numpy() for run in order}
    pairs = [(a, b) for i, a in enumerate(order[:8]) for b in order[i + 1 : 8]]
    apart = {(a, b): by_run[a] - by_run[b] for a, b in pairs}
    able = [pair for pair in pairs if apart[pair].mean() > 0.05]
    chosen = min(able, key=lambda pair: float(apart[pair].std()))
    others = [run for run in order if run not in chosen][:2]
    scores = {}
    for measure in measures:
        rows = [table.filter(run=run, measure=measure).filter(a_topic())["score"].to_numpy() for run in chosen]
        scores[measure] = np.stack(rows)
    lists = []
    for run in (*chosen, *others):
        by_topic = made.runs[run].partition_by("topic", as_dict=True)
        lists.append({topic: frame.sort("rank")["doc"].to_list() for (topic,), frame in by_topic.items()})
    topics = [row for row in table.filter(run=order[0], measure=measures[0])["topic"].to_list() if row != "all"]
    grades = {
        str(topic): dict(zip(f["doc"], f["grade"], strict=True))
        for (topic,), f in made.truth.partition_by("topic", as_dict=True).items()
    }
    judged = [{str(topic): docs for topic, docs in of.items()} for of in lists]
    pools = [set(judged[2][t][:10]) | set(judged[3][t][:10]) for t in topics]
    return Population([(judged[0][t], judged[1][t]) for t in topics], pools, [grades[t] for t in topics], scores)


def a_topic() -> Any:
    import polars as pl

    return pl.col("topic") != "all"


class Case(NamedTuple):
    measure: str
    drop: float  # true, on the measure's scale
    unjudged: float
    how: str  # random, new, or others
    trial: int


def one(made: Population, case: Case) -> tuple[str, str, float]:
    """The outcome of one trial, what it stands on, and the share of the first ten that is unjudged."""
    rng = np.random.default_rng([case.trial, int(case.drop * 1e4), int(case.unjudged * 100), len(case.how)])
    gap = float(np.subtract(*made.scores[case.measure]).mean())
    worse = 0.5 + case.drop / gap / 2  # chance that the candidate has the worse of the two
    chosen = rng.choice(len(made.rankings), TOPICS, replace=True)
    runs: dict[str, dict[str, dict[str, float]]] = {"baseline": {}, "candidate": {}}
    qrels: dict[str, dict[str, int]] = {}
    open_ = read = 0
    for number, topic in enumerate(chosen):
        name = f"t{number}"
        pair = made.rankings[topic] if rng.random() < worse else made.rankings[topic][::-1]
        for run, docs in zip(runs.values(), pair, strict=True):
            run[name] = {doc: float(DEPTH - i) for i, doc in enumerate(docs)}
        tops = [set(docs[:10]) for docs in pair]
        able = tops[0] | tops[1] if case.how == "random" else tops[1] - tops[0]
        # As many of the first ten ranks as asked for, on average over both runs.
        wanted = case.unjudged * len(tops[0] | tops[1]) / max(1, len(able))
        hidden = {doc for doc in sorted(able) if rng.random() < wanted}
        if case.how == "random":  # deeper ones alike
            hidden |= {doc for docs in pair for doc in docs[10:] if rng.random() < case.unjudged}
        elif case.how == "new" and case.unjudged:
            hidden |= set(pair[1][10:]) - set(pair[0])
        elif case.how == "others":  # as much of what only others have not found is judged as it takes
            hidden = {doc for docs in pair for doc in docs if doc not in made.pools[topic]}
            hidden -= {doc for doc in sorted(hidden) if rng.random() > case.unjudged}
        qrels[name] = {doc: grade for doc, grade in made.grades[topic].items() if doc not in hidden}
        open_, read = open_ + len(hidden & (tops[0] | tops[1])), read + len(tops[0] | tops[1])
    experiment = fm.Experiment(qrels, runs, workers=1)
    experiment.warn = False
    row = experiment.gate(case.measure, max_drop=LIMIT, alpha=ALPHA).overall[0]
    return row.outcome, row.basis or row.reason, open_ / read


def power(made: Population, measure: str, drop: float) -> float:
    """Of the one-sided t-test with everything judged."""
    from scipy.stats import nct, t

    difference = np.subtract(*made.scores[measure])
    variance = (difference**2).mean() - drop**2
    shift = drop / np.sqrt(variance / TOPICS)
    return float(nct.sf(t.isf(ALPHA, TOPICS - 1), TOPICS - 1, shift))


GROUPS, GROUP_TOPICS = 5, 40


def one_of_groups(made: Population, broken: float, trial: int) -> tuple[bool, bool, float]:
    """Whether the planted group is found, whether any other part of the gate fails, and how large the drop was."""
    rng = np.random.default_rng([trial, int(100 * broken)])
    runs: dict[str, dict[str, dict[str, float]]] = {"baseline": {}, "candidate": {}}
    qrels, groups = {}, {}
    for number, topic in enumerate(rng.choice(len(made.rankings), GROUPS * GROUP_TOPICS, replace=True)):
        name = f"t{number}"
        qrels[name] = dict(made.grades[topic])
        pair = made.rankings[topic] if rng.random() < 0.5 else made.rankings[topic][::-1]
        groups[name] = f"g{number % GROUPS}"
        if groups[name] == "g0" and rng.random() < broken:
            pair = pair[0], made.rankings[topic - 1][0]
            qrels[name] |= {doc: qrels[name].get(doc, 0) for doc in pair[1]}
        for run, docs in zip(runs.values(), pair, strict=True):
            run[name] = {doc: float(DEPTH - i) for i, doc in enumerate(docs)}
    experiment = fm.Experiment(qrels, runs, workers=1, topic_groups=groups)
    experiment.warn = False
    outcome = experiment.gate("nDCG@10", max_drop=LIMIT, alpha=ALPHA, draws=0)
    failed = {row.group for row in outcome.measured if row.outcome == "fails"}
    drop = next(-row.diff for row in outcome.measured if row.group == "group=g0")
    return "group=g0" in failed, bool(failed - {"group=g0", "all"}), drop


def false_alarms(made: Population, trials: int = 20_000) -> float:
    """How often any of the groups, or all topics together, fail where there is no difference; from the scores alone."""
    difference, rng, alarms = np.subtract(*made.scores["nDCG@10"]), np.random.default_rng(0), 0
    for _ in range(trials):
        drawn = rng.choice(difference, (GROUPS, GROUP_TOPICS)) * rng.choice([-1, 1], (GROUPS, GROUP_TOPICS))
        rows = [drawn.ravel(), *drawn]
        p = np.array([float(p_above(-row, 0.0)) for row in rows])
        p = 2 * np.concatenate([p[:1], corrected(p[1:], "holm")])  # as the gate corrects
        alarms += any(p_value < ALPHA <= float(p_above(row, -LIMIT)) for p_value, row in zip(p, rows, strict=True))
    return alarms / trials


def study_of_groups(made: Population, trials: int, workers: int) -> None:
    print(f"False alarms in any group without a difference, from the scores alone: {false_alarms(made):.1%}\n")
    print("| topics broken | drop in the group | group found | any other group fails |")
    print("|---|---|---|---|")
    for broken in (0.1, 0.25, 0.5):
        outcomes = parallel_map(partial(one_of_groups, made, broken), range(trials), workers=workers)
        planted, others, drop = (float(np.mean(column)) for column in zip(*outcomes, strict=True))
        print(f"| {broken:.0%} | {drop:.4f} | {planted:.1%} | {others:.1%} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=150)
    parser.add_argument("--measures", nargs="+", default=["nDCG@10"])
    parser.add_argument("--groups", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    made = population(args.measures, args.seed)
    if args.groups:
        study_of_groups(made, args.trials, args.workers)
        return
    print("| measure | true drop | unjudged | where | passes | fails | cannot tell | of these certain | power |")
    print("|---|---|---|---|---|---|---|---|---|")
    for measure in args.measures:
        level = float(made.scores[measure].mean())
        for drop in (0.0, LIMIT, 0.05 * level, 0.1 * level):
            for unjudged, how in CONDITIONS if drop <= LIMIT else CONDITIONS[::3]:
                cases = [Case(measure, drop, unjudged, how, trial) for trial in range(args.trials)]
                results = parallel_map(lambda case: one(made, case), cases, workers=args.workers)
                counts = Counter(outcome for outcome, _, _ in results)
                certain = sum(basis == "certain" for _, basis, _ in results)
                share = np.mean([share for _, _, share in results])
                cells = [f"{counts[outcome] / len(results):.1%}" for outcome in ("passes", "fails", "cannot tell")]
                cells += [f"{certain / len(results):.1%}", f"{power(made, measure, drop):.1%}"]
                print(f"| {measure} | {drop:.4f} | {share:.0%} | {how} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
