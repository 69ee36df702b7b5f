"""What staying on a topic costs: judgments until pairs are settled, by how many documents of a topic come in a row.

    python bench/staying.py QRELS RUNS... [--systems 2] [--trials 60] [--most 1500] [--stays 1,2,5,10,20,50]
    python bench/staying.py --simulated [--systems 10] ...

Each trial draws systems and judges, the judgments answering, until every pair of them is settled; it is given up at
--most. All numbers have the same draws. How many pairs are in the right order after so many judgments, settled or not,
is told too, since whoever stays on few topics may be sure too early. A stay ends early when nothing relevant was found
for a while (`PATIENCE` of judging/staying.py; --patience changes that). Written as a table in Markdown.

With --strategy it compares strategies: `--stays 1 --strategy maxmean`.
"""

from __future__ import annotations

import argparse
import sys
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fathoms.data.simulate import simulate
from fathoms.estimate.distribution import Moments
from fathoms.experiment.base import BaseExperiment
from fathoms.judging.engine import Engine
from fathoms.judging.topic_batches import PATIENCE, topic_to_stay_on
from fathoms.papers.rtc_trials import World, make_world

BUDGETS = (50, 100, 200, 400)


class Trial(NamedTuple):
    judged: int  # until all pairs were settled, or --most
    changes: int  # of topic, until then
    settled: int
    right: int  # of the settled pairs
    pairs: int
    after: list[int]  # pairs in the right order after each of BUDGETS judgments, settled or not


def one_trial(world: World, engine: Engine, truth: list[float], stay: int, patience: int, most: int) -> Trial:
    """Judge as an assessor does who stays on a topic; the world answers."""
    topics = world.candidates.topic
    answers: list[tuple[str, bool]] = []
    end: list[int] = []
    after: list[int] = []
    while len(answers) < max(most, BUDGETS[-1]):
        if not end and (engine.settled() or len(answers) == most):
            end = standing(engine, answers, truth)
        if len(answers) in BUDGETS:
            after.append(in_order(engine, truth))
        if end and len(after) == len(BUDGETS):
            break
        topic = topic_to_stay_on(answers, stay, patience)
        number = None if topic is None else engine.next(topic=int(topic))
        if number is None:
            number = engine.next()
        if number is None:
            break
        relevant = bool(world.relevant[number])
        engine.judge(number, relevant)
        answers.append((str(topics[number]), relevant))
    after += [in_order(engine, truth)] * (len(BUDGETS) - len(after))
    judged, changes, settled, right, pairs = end or standing(engine, answers, truth)
    return Trial(judged, changes, settled, right, pairs, after)


def standing(engine: Engine, answers: list[tuple[str, bool]], truth: list[float]) -> list[int]:
    chance, still_open = engine.confidence(), set(engine.open_pairs())
    settled = [pair for pair in engine.pairs() if pair not in still_open]
    right = sum((chance[a, b] > 0.5) == (truth[a] > truth[b]) for a, b in settled)
    changes = sum(before != after for (before, _), (after, _) in pairwise(answers))
    return [len(answers), changes, len(settled), right, len(engine.pairs())]


def in_order(engine: Engine, truth: list[float]) -> int:
    chance = engine.confidence()
    return sum((chance[a, b] > 0.5) == (truth[a] > truth[b]) for a, b in engine.pairs())


def study(
    world: World,
    stays: list[int],
    *,
    systems: int,
    trials: int,
    patience: int,
    most: int,
    strategy: str,
) -> dict[int, list[Trial]]:
    trials_by_stay: dict[int, list[Trial]] = {stay: [] for stay in stays}
    for number in range(trials):
        rng = np.random.default_rng([0, number])
        drawn = rng.choice(len(world.candidates.names), systems, replace=False)
        moments = Moments(world.candidates.block(drawn.tolist()))
        for stay in stays:
            engine = Engine(world.candidates, strategy, moments=moments, seed=number)
            trials_by_stay[stay].append(one_trial(world, engine, world.map[drawn].tolist(), stay, patience, most))
        print(f"\r{number + 1} of {trials} trials", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return trials_by_stay


def table(trials_by_stay: dict[int, list[Trial]]) -> str:
    budgets = " | ".join(f"right after {n}, %" for n in BUDGETS)
    lines = [
        f"| stay | median judged | ratio | mean | ratio | changes of topic | settled, % | right, % | {budgets} |",
        "|---" * (8 + len(BUDGETS)) + "|",
    ]
    first = np.array([trial.judged for trial in next(iter(trials_by_stay.values()))])
    for stay, trials in trials_by_stay.items():
        judged = np.array([trial.judged for trial in trials])
        settled, right = sum(trial.settled for trial in trials), sum(trial.right for trial in trials)
        pairs = sum(trial.pairs for trial in trials)
        after = 100 * np.array([trial.after for trial in trials]).sum(axis=0) / pairs
        cells = [
            f"{stay}",
            f"{np.median(judged):.0f}",
            f"{np.median(judged) / np.median(first):.2f}",
            f"{judged.mean():.0f}",
            f"{judged.mean() / first.mean():.2f}",
            f"{np.median([trial.changes for trial in trials]):.0f}",
            f"{100 * settled / pairs:.0f}",
            f"{100 * right / max(settled, 1):.0f}",
            *(f"{share:.0f}" for share in after),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def the_world(args: argparse.Namespace) -> World:
    if args.simulated:
        collection = simulate(systems=30, n_topics=50, n_docs=5000, depth=100, max_grade=1, seed=4)
        experiment = BaseExperiment(collection.truth, collection.runs, score_precision="float64")
    else:
        experiment = BaseExperiment(args.files[0], args.files[1:], score_precision="float64", lenient=True)
    return make_world(experiment, args.depth)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="QRELS RUNS")
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--strategy", default="fusion")
    parser.add_argument("--stays", default="1,2,5,10,20,50")
    numbers = {"systems": 2, "trials": 60, "most": 1_500, "depth": 100, "patience": PATIENCE}
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    stays = [int(part) for part in args.stays.split(",")]
    how = {name: getattr(args, name) for name in ("systems", "trials", "patience", "most", "strategy")}
    print(table(study(the_world(args), stays, **how)))


if __name__ == "__main__":
    main()
