"""Batches that are handed out: how many more judgments they take, and whether documents of a batch should be diverse.

    python bench/batches.py QRELS RUNS... | --simulated [--systems 2] [--trials 30] [--batches 1,10,20,50]

Each trial draws systems and judges batches, the judgments answering, until every pair is settled. `top` hands out the
documents of greatest weight. `drawn` pretends after each document that it was judged, with a relevance drawn from its
probability, before it chooses the next one. `few` takes no more than a fifth of a batch from one topic.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from staying import the_world

from fathoms.estimate.distribution import Moments
from fathoms.evidence.candidates import Candidates
from fathoms.judging.engine import Engine

WAYS = ("top", "drawn", "few")


def batch_of(engine: Engine, candidates: Candidates, made: list[tuple[int, float]], n: int, way: str) -> list[int]:
    if way == "top":
        return engine.queue(n)
    if way == "few":
        most = max(1, n // 5)
        chosen: list[int] = []
        count: dict[int, int] = {}
        for number in engine.queue(20 * n):
            topic = int(candidates.topic[number])
            count[topic] = count.get(topic, 0) + 1
            if count[topic] <= most:
                chosen.append(number)
        return chosen[:n]
    rng = np.random.default_rng(len(made))
    chosen = []
    while len(chosen) < n and (best := engine.next()) is not None:
        numbers, chances = engine.probabilities()
        engine.judge(best, float(rng.random() < chances[numbers == best][0]))
        chosen.append(best)
    engine.load(made)
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="QRELS RUNS")
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--strategy", default="fusion")
    parser.add_argument("--batches", default="1,10,20,50")
    for name, default in (("systems", 2), ("trials", 30), ("most", 1_500), ("depth", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    world = the_world(args)
    print("| batch | way | median judged | mean | settled, % | right, % |\n|---|---|---|---|---|---|")
    for n in (int(part) for part in args.batches.split(",")):
        for way in WAYS if n > 1 else WAYS[:1]:
            judged, settled, right, pairs = [], 0, 0, 0
            for number in range(args.trials):
                drawn = np.random.default_rng([0, number]).choice(len(world.candidates.names), args.systems, False)
                truth = world.map[drawn]
                moments = Moments(world.candidates.block(drawn.tolist()))
                engine = Engine(world.candidates, args.strategy, moments=moments, seed=number)
                made: list[tuple[int, float]] = []
                while not engine.settled() and len(made) < args.most:
                    batch = batch_of(engine, world.candidates, made, n, way)
                    if not batch:
                        break
                    for document in batch:
                        made.append((document, float(world.relevant[document])))
                        engine.judge(*made[-1])
                chance, still_open = engine.confidence(), set(engine.open_pairs())
                done = [pair for pair in engine.pairs() if pair not in still_open]
                judged.append(len(made))
                pairs += len(engine.pairs())
                settled += len(done)
                right += sum((chance[a, b] > 0.5) == (truth[a] > truth[b]) for a, b in done)
            cells = f"{np.median(judged):.0f} | {np.mean(judged):.0f} | {100 * settled / pairs:.0f}"
            print(f"| {n} | {way} | {cells} | {100 * right / max(settled, 1):.0f} |", flush=True)
    print(file=sys.stderr)


if __name__ == "__main__":
    main()
