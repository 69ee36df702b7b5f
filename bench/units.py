"""How often do tests err where topics depend on each other, runs are repeated, or one looks every week?

    python bench/units.py clusters [--repeats 4000]
    python bench/units.py repetitions [--repeats 2000]
    python bench/units.py looks [--repeats 4000]

`clusters`: differences of two equal systems on clusters of topics, a share of whose variance the topics of a cluster
have in common; errors at 5% of the plain t-test, of that of clusters and of its permutation test, and how often
intervals of one mean cover it. `repetitions`: two systems with several runs each and no difference (errors at 5%), or
one of 0.3 (power): the two-level test, the t-test of the means of runs over topics, and that of one run of each.
`looks`: years of 26 weekly looks without a change, in which the weeks have a share of the variance in common: years
with a false alarm, with alpha shared and without. Tables in Markdown.
"""

from __future__ import annotations

import argparse

import numpy as np

from fathoms.evidence.evidence import Floats
from fathoms.inference.mean_intervals import student_interval
from fathoms.inference.non_inferiority import p_above
from fathoms.inference.paired_tests import randomization, student
from fathoms.inference.replicates import Repeated, Systems
from fathoms.inference.spending import level_of_look
from fathoms.inference.units import Units

SIZES = {
    "20 of 4": np.full(20, 4),
    "25 of 1 to 8": np.tile([1, 2, 3, 6, 8], 5),
    "30 of 1 and 5 of 10": np.repeat([1, 10], [30, 5]),
}
PAIR = (np.array([0]), np.array([1]))


def clusters(repeats: int) -> None:
    print(
        "| clusters | in common | plain t | t of clusters | permutations of clusters | plain interval | of clusters |"
    )
    print("|---" * 7 + "|")
    for name, sizes in SIZES.items():
        units = Units(np.repeat(np.arange(len(sizes)), sizes))
        for share in (0.0, 0.3, 0.6):
            rng = np.random.default_rng(1)
            of_cluster = rng.normal(size=(repeats, len(units)))[:, units.number]
            values = np.sqrt(share) * of_cluster + np.sqrt(1 - share) * rng.normal(size=of_cluster.shape)
            errors = [
                (p < 0.05).mean()
                for p in (student(values), student(units.totals(values)), randomization(units.totals(values)))
            ]
            ends = student_interval(values + 1, 0.95), units.ratio_interval(values + 1, 0.95)
            covered = [((low <= 1) & (high >= 1)).mean() for low, high in ends]
            print(f"| {name} | {share:.0%} |", " | ".join(f"{share:.1%}" for share in (*errors, *covered)), "|")


def repetitions(repeats: int) -> None:
    print("| runs each | topics | spread | two-level | means of runs | one run each | power, two-level |")
    print("|---" * 7 + "|")
    for runs in (2, 3, 5, 10):
        for topics in (25, 50):
            for spread in (0.0, 0.1, 0.3):
                errors = np.array([_tested(np.random.default_rng([seed, runs]), runs, topics, spread, 0.0)
                                   for seed in range(repeats)])  # fmt: skip
                power = [
                    _tested(np.random.default_rng([seed, runs]), runs, topics, spread, 0.3)[0]
                    for seed in range(repeats // 4)
                ]
                shown = " | ".join(f"{share:.1%}" for share in (*errors.mean(axis=0), np.mean(power)))
                print(f"| {runs} | {topics} | {spread} | {shown} |")


def _tested(rng: np.random.Generator, runs: int, topics: int, spread: float, lead: float) -> list[bool]:
    system = np.repeat([0, 1], runs)
    values: Floats = rng.normal(size=topics) + (rng.normal(size=(2, topics)) * 0.5)[system]
    values += rng.normal(size=(2 * runs, topics)) * 0.3 + rng.normal(size=(2 * runs, 1)) * spread
    values += lead * (system == 0)[:, None]
    repeated = Repeated.of(values, Systems(["a", "b"], system))
    p = (
        repeated.p_values(*PAIR),
        student(repeated.means[:1] - repeated.means[1:]),
        student(values[:1] - values[runs : runs + 1]),
    )
    return [bool(of_test[0] < 0.05) for of_test in p]


def looks(repeats: int) -> None:
    print("| in common | alpha shared | each at alpha | drop of 0.8 found, shared | at alpha |")
    print("|---" * 5 + "|")
    for share in (0.0, 0.5, 0.9, 0.99):
        rng = np.random.default_rng(1)
        own = rng.normal(size=(repeats, 26, 40))
        values = np.sqrt(share) * rng.normal(size=(repeats, 1, 40)) + np.sqrt(1 - share) * own
        p, dropped = p_above(-values, 0.0), p_above(0.8 - values[:, 0], 0.0)
        levels = (level_of_look(0.05, 26), 0.05)
        shown = [*((p < level).any(axis=1).mean() for level in levels), *((dropped < level).mean() for level in levels)]
        print(f"| {share:.0%} |", " | ".join(f"{share:.1%}" for share in shown), "|")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=("clusters", "repetitions", "looks"))
    parser.add_argument("--repeats", type=int, default=2000)
    args = parser.parse_args()
    {"clusters": clusters, "repetitions": repetitions, "looks": looks}[args.study](args.repeats)
