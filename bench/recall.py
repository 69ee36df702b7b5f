"""Finding all relevant documents: when `find-all` stops against the truth, and how soon strategies find what there is.

    python bench/recall.py QRELS RUNS... | --simulated  [--systems 10] [--trials 8] [--depth 100] [--found]

Each trial draws systems, and the judgments answer. By default `find-all` judges until the lower end of its interval of
recall reaches 0.8, 0.9 and 0.95: told are the recall that was then reached and the share of the documents judged, and
how often intervals of the number left held, at every fit from a recall of 0.3 on. With --found: the share of the
relevant documents that each strategy has found after so many judgments.
"""

from __future__ import annotations

import argparse

import numpy as np
from staying import the_world

from fathoms.judging.engine import Engine, last_fit
from fathoms.judging.recall import FindAllEngine
from fathoms.papers.rtc_trials import World

TARGETS = (0.8, 0.9, 0.95)
STRATEGIES = ("find-all", "maxmean", "maxmean-ns", "thompson", "mtf", "hedge", "pool", "fusion")
BUDGETS = (250, 500, 1000, 2000)


def draws(world: World, systems: int, trials: int) -> list[list[int]]:
    n = len(world.candidates.names)
    return [np.random.default_rng([2, t]).choice(n, min(systems, n), False).tolist() for t in range(trials)]


def stopping(world: World, systems: list[int], seed: int) -> tuple[list[tuple[float, float]], list[tuple[bool, bool]]]:
    """Recall and share judged at each target, and whether the lower and the upper end held at each fit."""
    engine = FindAllEngine(world.candidates, "find-all", systems=systems, seed=seed)
    total = int(world.relevant[engine.block.number[engine.block.present]].sum())
    reached: list[tuple[float, float]] = []
    held: list[tuple[bool, bool]] = []
    n_found = 0
    while len(reached) < len(TARGETS) and (number := engine.next()) is not None:
        n_found += int(world.relevant[number])
        engine.judge(number, float(world.relevant[number]))
        estimate = engine.recall_estimate() if last_fit(engine.judged) == engine.judged else None
        if estimate is None:
            continue
        if n_found >= 0.3 * total:
            left = total - n_found
            held.append((np.floor(estimate.left_low) <= left, left <= np.ceil(estimate.left_high)))
        while len(reached) < len(TARGETS) and estimate.recall_low >= TARGETS[len(reached)]:
            reached.append((n_found / total, engine.judged / engine.size))
    return reached + [(1.0, 1.0)] * (len(TARGETS) - len(reached)), held


def finding(world: World, strategy: str, systems: list[int], seed: int) -> list[float]:
    engine = Engine(world.candidates, strategy, runs=systems, seed=seed)
    total = int(world.relevant[engine.block.number[engine.block.present]].sum())
    shares, n_found = [], 0
    while engine.judged < BUDGETS[-1] and (number := engine.next()) is not None:
        n_found += int(world.relevant[number])
        engine.judge(number, float(world.relevant[number]))
        if engine.judged in BUDGETS:
            shares.append(n_found / total)
    return shares + [n_found / total] * (len(BUDGETS) - len(shares))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="QRELS RUNS")
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--found", action="store_true")
    for name, default in (("systems", 10), ("trials", 8), ("depth", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    world = the_world(args)
    drawn = draws(world, args.systems, args.trials)
    if args.found:
        print("| strategy | " + " | ".join(f"{n:,}" for n in BUDGETS) + " |\n" + "|---" * (len(BUDGETS) + 1) + "|")
        for strategy in STRATEGIES:
            shares = np.mean([finding(world, strategy, systems, t) for t, systems in enumerate(drawn)], axis=0)
            print(f"| `{strategy}` | " + " | ".join(f"{share:.2f}" for share in shares) + " |", flush=True)
        return
    results = [stopping(world, systems, t) for t, systems in enumerate(drawn)]
    print("| target | recall: mean | least | reached it, % | judged, % |\n|---|---|---|---|---|")
    for place, target in enumerate(TARGETS):
        recall, judged = np.array([reached[place] for reached, _ in results]).T
        share = 100 * np.mean(recall >= target)
        print(f"| {target} | {recall.mean():.3f} | {recall.min():.3f} | {share:.0f} | {100 * judged.mean():.0f} |")
    held = np.array([value for _, some in results for value in some])
    low, high, both = 100 * held[:, 0].mean(), 100 * held[:, 1].mean(), 100 * held.all(axis=1).mean()
    print(f"\nintervals held: {both:.1f}% of {len(held)} (lower end {low:.1f}%, upper end {high:.1f}%)")


if __name__ == "__main__":
    main()
