"""Who contributed to the pool: how often is that told rightly, wrongly, or not at all?

    FATHOMS_DATA=... python bench/pools.py [--samples 200] [--seed 1]

Samples of 4 to 12 runs, of which 0, 30, 60 or 100% contributed, of collections whose contributors are known: those of
trec8-adhoc, trec-covid-r1 and dl20-passage, and simulated ones, where 30% or 60% of 24 runs contributed to pools of 5
to 50. A sample is told `exactly` if all its contributors and no others are named, to within a tenth of the depth;
`as complete` if the others that are named are judged as a contributor is, through the depth, so that nothing tells them
apart; `wrong` if another run is named or a contributor is not; or it is said that it cannot be told. The official runs
of dl20-passage are taken to have contributed.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import numpy as np

import fathoms as fm
from fathoms.data.simulate import simulate
from fathoms.experiment.assumed_pool import JudgedByRank, infer_pool, judged_by_rank

SHARES = (0.0, 0.3, 0.6, 1.0)
REAL = {"trec8-adhoc": 100, "trec-covid-r1": 7, "dl20-passage": 10}
SIMULATED = (5, 10, 20, 50)
OUTCOMES = ("exactly", "as complete", "wrong", "cannot tell")
COMPLETE = 0.985  # of the documents down to the pool's depth

Profiles = Mapping[str, JudgedByRank]


def told(profiles: Profiles, pooled: Collection[str], depth: int) -> str:
    pool = infer_pool(profiles)
    if not pool.sure:
        return "cannot tell"
    if abs(pool.depth - depth) > max(1.0, 0.1 * depth) or not set(pooled) <= set(pool.names):
        return "wrong"
    others = [profiles[name] for name in pool.names if name not in pooled]
    if all(profile.judged[:depth].sum() >= COMPLETE * profile.retrieved[:depth].sum() for profile in others):
        return "as complete" if others else "exactly"
    return "wrong"


def samples(
    profiles: Profiles, pooled: Collection[str], depth: int, share: float, times: int, rng: np.random.Generator
) -> Counter[str]:
    inside, outside = ([name for name in profiles if (name in pooled) is side] for side in (True, False))
    counts: Counter[str] = Counter()
    for _ in range(times):
        size = int(rng.integers(4, 13))
        many = round(share * size)
        chosen = [*rng.permutation(inside)[:many].tolist(), *rng.permutation(outside)[: size - many].tolist()]
        counts[told({name: profiles[name] for name in chosen}, chosen[:many], depth)] += 1
    return counts


def real(folder: Path) -> tuple[Profiles, set[str]]:
    experiment = fm.Experiment(folder / "qrels.txt", folder / "runs", lenient=True)
    listed = folder / "pooled.txt"
    if listed.exists():
        pooled = set(listed.read_text().split())
    else:
        rows = [line.split("\t") for line in (folder / "runs.tsv").read_text().splitlines()]
        pooled = {row[0] for row in rows[1:] if row[1] == "official"}
    return {name: judged_by_rank(experiment.ranked(name)) for name in experiment.runs}, pooled


def made(share: float, depth: int) -> tuple[Profiles, set[str]]:
    """A simulated collection of 24 runs, of which a share contributed."""
    world = simulate(systems=24, n_topics=40, depth=200, pool_depth=depth, unpooled=round(24 * (1 - share)), seed=depth)
    experiment = fm.Experiment(world.qrels, world.runs)
    return {name: judged_by_rank(experiment.ranked(name)) for name in experiment.runs}, set(world.pooled)


def collections(data: Path | None) -> Iterator[tuple[str, int, Profiles, set[str]]]:
    for name, depth in REAL.items():
        if data is not None and (data / name).is_dir():
            yield name, depth, *real(data / name)
    for share in (0.3, 0.6):
        for depth in SIMULATED:
            yield f"simulated, {share:.0%} contributed", depth, *made(share, depth)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=200, help="samples of each collection and share (200)")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    start, data = time.perf_counter(), os.environ.get("FATHOMS_DATA")
    rng = np.random.default_rng(args.seed)
    by_case: dict[tuple[str, float], Counter[str]] = {}
    for name, depth, profiles, pooled in collections(None if data is None else Path(data)):
        for share in SHARES:
            of = by_case.setdefault((name, share), Counter())
            of.update(samples(profiles, pooled, depth, share, args.samples, rng))
    print(f"| collection | contributors in the sample | samples | {' | '.join(OUTCOMES)} |")
    print("|---" * (3 + len(OUTCOMES)) + "|")
    for (name, share), of in by_case.items():
        print(f"| {name} | {share:.0%} | {of.total():,} | {' | '.join(f'{of[word]:,}' for word in OUTCOMES)} |")
    print(f"\n{time.perf_counter() - start:.0f} seconds")


if __name__ == "__main__":
    main()
