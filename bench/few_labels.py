"""Few human judgments, many labels: how far off are estimates, and do their intervals fit?

    FATHOMS_DATA=... python bench/few_labels.py [--cases 3] [--part choose] [-o docs/results/few-labels.md]

A case is a collection, some of its runs, and a part of its judgments: a random share, one that depends on depth or on a
label, or a shallow pool. Each is estimated by `Experiment.predict` as a user would call it, and compared with the
scores under all judgments. Printed are, for each collection, condition, labels and measure: the bias and root mean
square error of runs' means, beside those of the plain score and of labels taken as judgments;
the errors of differences of the estimate and of the labels; the share of 95% intervals that cover, of means, of
differences and of topics that can still change; their width over the best constant width, which covers 95% of these
very cases; and their interval score over that of the best constant width (Gneiting and Raftery 2007).

Estimates were chosen on `--part choose`: half of the topics and of the runs of dl20-passage. `--part report`, the
default, is the other half. Re-rankers by GPT-4 under labels of GPT-4 are apart (`circular`).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import fathoms as fm
from fathoms.data.qrels import Qrels, read_qrels
from fathoms.data.simulate import simulate
from fathoms.estimate.self_check import aggregated, interval
from fathoms.evidence.evidence import Floats
from fathoms.evidence.pool import judged_depths

MEASURES = ["P@10", "nDCG@10", "nDCG@20", "RR@10", "ERR@20", "RBP(p=0.8)", "AP", "nDCG", "Q@20", "R@100"]
SHARES = [0.05, 0.1, 0.25, 0.5]
POOLS = (2, 5, 10)
SOURCES = ("umbrela-gpt4", "exam-graded", "binary-gpt4o", "binary-llama32")
NEAR, LEVEL = 1e-6, 0.95
N_RUNS = 12
HEAD = """# Few human judgments, many labels: results

Made by `python bench/few_labels.py {arguments}`. [Two hundred human labels](../how-to/llm-labels.md) says what to make
of it.

A case is runs of a collection, a random part of its judgments, and the scores under all of them; of dl20-passage only
topics and runs on which nothing was chosen. Bias and root mean square error (RMSE) are of runs' means: of the estimate,
beside the plain score and the labels taken as judgments. Then the RMSE of differences of two runs. Then, of means,
differences and topics that can still change: how many per cent of 95% intervals cover, and their width over the best
constant width, which covers 95% of these very cases. Behind the bias stands its standard error over cases.
"""


@dataclass(frozen=True)
class Trial:
    """A part of the judgments, and all of them."""

    collection: str
    condition: str
    labels: str  # in words
    files: Sequence[Any]
    known: Qrels
    truth: Qrels
    runs: Any
    pooled: Any = None
    design: Any = None


@dataclass
class Tally:
    """What is kept of all cases of a line."""

    errors: dict[str, list[Floats]] = field(default_factory=dict)  # by method: of runs' means
    of_differences: dict[str, list[Floats]] = field(default_factory=dict)
    covered: dict[str, list[float]] = field(default_factory=dict)
    half: dict[str, list[Floats]] = field(default_factory=dict)  # widths, by kind
    off: dict[str, list[Floats]] = field(default_factory=dict)  # errors about the middle, by kind
    methods: list[str] = field(default_factory=list)

    def add(self, kind: str, low: Floats, high: Floats, truth: Floats) -> None:
        inside = (low - NEAR <= truth) & (truth <= high + NEAR)
        if inside.size:
            self.covered.setdefault(kind, []).append(float(inside.mean()))
            self.half.setdefault(kind, []).append((high - low).ravel())
            self.off.setdefault(kind, []).append((truth - (low + high) / 2).ravel())

    def join(self, other: Tally) -> None:
        for mine, theirs in (
            (self.errors, other.errors),
            (self.of_differences, other.of_differences),
            (self.covered, other.covered),
            (self.half, other.half),
            (self.off, other.off),
        ):
            for name, values in theirs.items():
                mine.setdefault(name, []).extend(values)  # type: ignore[arg-type]
        self.methods += other.methods

    def rmse(self, method: str, differences: bool = False) -> str:
        of = self.of_differences if differences else self.errors
        return f"{np.sqrt(np.mean(np.concatenate(of[method]) ** 2)):.3f}" if method in of else ""

    def row(self) -> list[str]:
        biases = np.array([of_case.mean() for of_case in self.errors["estimate"]])
        error = biases.std(ddof=1) / np.sqrt(len(biases)) if len(biases) > 1 else np.nan
        cells = [f"{len(biases)}", f"{biases.mean():+.3f} ±{error:.3f}"]
        cells += [self.rmse(method) for method in ("estimate", "plain", "labels")]
        cells += [self.rmse(method, True) for method in ("estimate", "plain", "labels")]
        for kind in ("means", "differences", "topics"):
            if kind not in self.covered:
                cells += ["", ""]
                continue
            width, off = np.concatenate(self.half[kind]), np.abs(np.concatenate(self.off[kind]))
            best = 2 * float(np.quantile(off, LEVEL))
            cells.append(f"{100 * np.mean(self.covered[kind]):.0f}")
            cells.append(f"{width.mean() / max(best, 1e-9):.2f}")
        return [*cells, "/".join(dict.fromkeys(self.methods))]


COLUMNS = (
    *("collection", "condition", "labels", "measure", "cases", "bias", "RMSE", "plain", "labels'"),
    *("diff.", "plain", "labels'", "means %", "width", "diffs %", "width", "topics %", "width", "estimate is"),
)


# -- trials -----------------------------------------------------------------------------------------------------------


def part(qrels: Qrels, chosen: Any) -> Qrels:
    """Some of the judgments, as a file would have them: topics without any are not named."""
    kept = qrels.keep(chosen)
    used, topic = np.unique(kept.topic, return_inverse=True)
    topics = [kept.topics[i] for i in used.tolist()]
    return Qrels(topics, topic.astype(np.int32), kept.documents, kept.grades, kept.source)


def random_parts(
    name: str,
    truth: Qrels,
    runs: Any,
    files: Mapping[str, Sequence[Any]],
    rng: np.random.Generator,
    shares: Sequence[float],
) -> Iterator[Trial]:
    for share in shares:
        known = part(truth, rng.random(len(truth)) < share)
        for labels, paths in files.items():
            yield Trial(name, f"{share:.0%} at random", labels, paths, known, truth, runs)


def by_rate(
    name: str, condition: str, truth: Qrels, runs: Any, files: Mapping[str, Sequence[Any]], rate: Floats, rng: Any
) -> Iterator[Trial]:
    known = part(truth, rng.random(len(truth)) < rate)
    for labels, paths in files.items():
        yield Trial(name, condition, labels, paths, known, truth, runs)


def depths_in(runs: Any, truth: Qrels) -> Any:
    exp = fm.Experiment(truth, runs)
    exp.prepare()
    return judged_depths(map(exp.ranked, runs), truth)


def cut(
    name: str, truth: Qrels, runs: Any, files: Mapping[str, Sequence[Any]], depths: Sequence[int]
) -> Iterator[Trial]:
    depth = depths_in(runs, truth)
    for most in depths:
        known = part(truth, depth <= most)
        for labels, paths in files.items():
            yield Trial(name, f"pool cut to {most}", labels, paths, known, truth, runs)


def dl20(folder: Path, half: str, case: int, rng: np.random.Generator, quick: bool) -> Iterator[Trial]:
    """`quick`: random samples only, without labels, with each of two sources, and with all four."""
    paths = {source: folder / "labels" / f"{source}.txt" for source in SOURCES}
    whole = read_qrels(str(folder / "qrels.txt"))
    halves = np.random.default_rng(20)
    topics = halves.permutation(len(whole.topics)) % 2 == (half == "report")
    truth = part(whole, topics[whole.topic])
    files = sorted((folder / "runs").iterdir())
    mine = halves.permutation(len(files)) % 2 == (half == "report")
    names = [file for file, use in zip(files, mine, strict=True) if use]
    honest = [file for file in names if not circular(file.name)]
    none: dict[str, tuple[str, ...]] = {"none": ()}
    each: dict[str, tuple[str, ...]] = {source: (str(path),) for source, path in paths.items()}
    every: dict[str, tuple[str, ...]] = {"all four": tuple(map(str, paths.values()))}
    runs = fm.read_runs([str(honest[i]) for i in np.sort(rng.permutation(len(honest))[:N_RUNS])])
    some = {name: each[name] for name in ("umbrela-gpt4", "binary-gpt4o")}
    yield from random_parts("dl20", truth, runs, none | (some if quick else each) | every, rng, SHARES)
    if quick:
        return
    two = none | {"umbrela-gpt4": each["umbrela-gpt4"]}
    depth = depths_in(runs, truth)
    yield from by_rate("dl20", "by depth", truth, runs, two, np.where(depth <= 5, 0.4, 0.1), rng)
    label = read_qrels(str(paths["umbrela-gpt4"]))
    of = label.to_dict()
    grade = np.array(
        [
            of.get(truth.topics[t], {}).get(d.decode(), 0)
            for t, d in zip(truth.topic.tolist(), truth.documents.tolist(), strict=True)
        ]
    )
    yield from by_rate("dl20", "by label", truth, runs, two, np.where(grade >= 2, 0.4, 0.1), rng)
    yield from cut("dl20", truth, runs, two, POOLS)
    if not case:
        gpt = [file for file in names if circular(file.name)]
        again = fm.read_runs([str(file) for file in [*gpt, *honest[:6]]])
        some = {"umbrela-gpt4": each["umbrela-gpt4"]}
        yield from random_parts("dl20, GPT-4 re-rankers", truth, again, some, rng, (0.1, 0.25))


def circular(name: str) -> bool:
    return "gpt4" in name.lower() or "gpt-4" in name.lower()


def pooled_runs(folder: Path, n: int, rng: np.random.Generator) -> Any:
    wanted = set((folder / "pooled.txt").read_text().split())
    files = [f for f in sorted((folder / "runs").iterdir()) if wanted & {f.name, f.stem, f.name.split(".", 1)[-1]}]
    files = files or [f for f in sorted((folder / "runs").iterdir()) if any(name in f.name for name in wanted)]
    return fm.read_runs([str(files[i]) for i in np.sort(rng.permutation(len(files))[:n])])


def trec(folder: Path, name: str, case: int, rng: np.random.Generator, quick: bool) -> Iterator[Trial]:
    truth = read_qrels(str(folder / "qrels.txt"))
    runs = pooled_runs(folder, 12, rng)
    yield from random_parts(name, truth, runs, {"none": ()}, rng, SHARES)
    if not quick:
        yield from cut(name, truth, runs, {"none": ()}, POOLS)


def simulated(case: int, rng: np.random.Generator, quick: bool) -> Iterator[Trial]:
    made = simulate(
        systems=12,
        n_topics=30,
        n_docs=2000,
        depth=100,
        pool_depth=30,
        unpooled=0,
        seed=case,
        max_grade=1 + 2 * (case % 2),
    )
    truth = read_qrels(made.qrels)
    yield from random_parts("simulated", truth, made.runs, {"none": ()}, rng, SHARES)
    if not quick:
        yield from cut("simulated", truth, made.runs, {"none": ()}, POOLS)


# -- outcomes ---------------------------------------------------------------------------------------------------------


def table(frame: Any, measure: str, runs: Sequence[str], topics: Sequence[str], column: str = "score") -> Floats:
    """[run, topic]"""
    of_run, of_topic = ({name: i for i, name in enumerate(names)} for names in (runs, topics))
    values = np.zeros((len(runs), len(topics)))
    rows = frame.filter((frame["measure"] == measure) & (frame["topic"] != "all"))
    for run, topic, value in rows.select("run", "topic", column).iter_rows():
        if topic in of_topic:
            values[of_run[run], of_topic[topic]] = value
    return values


def outcome(trial: Trial, tallies: dict[tuple[str, ...], Tally], whole: Any, by_labels: dict[str, Any]) -> float:
    exp = fm.Experiment(trial.known, trial.runs, pooled=trial.pooled, workers=1)
    start = time.perf_counter()
    result = exp.predict(MEASURES, labels=list(trial.files))
    seconds = time.perf_counter() - start
    estimates = result.calibrated
    assert estimates is not None
    runs, topics = estimates.runs, estimates.topics
    for name in MEASURES:
        estimate = estimates[fm.parse_measure(name)]
        truth = table(whole, name, runs, topics)
        tally = tallies.setdefault((trial.collection, trial.condition, trial.labels, name), Tally())
        tally.methods.append(f"{estimates.selection.name} {estimate.method}")
        a, b = np.triu_indices(len(runs), 1)
        means, center, true = estimate.means, estimate.point_means, truth.mean(axis=1)
        values = {"estimate": center, "plain": aggregated(estimate.measure, estimate.score)}
        if trial.labels in by_labels:
            values["labels"] = table(by_labels[trial.labels], name, runs, topics).mean(axis=1)
        for method, value in values.items():
            tally.errors.setdefault(method, []).append(value - true)
            tally.of_differences.setdefault(method, []).append((value[a] - value[b]) - (true[a] - true[b]))
        tally.add("means", *interval(means, center, LEVEL), true)
        pairs = interval(means[:, a] - means[:, b], center[a] - center[b], LEVEL)
        tally.add("differences", *pairs, true[a] - true[b])
        low, high = estimate.measure.attainable(*interval(estimate.draws, estimate.point, LEVEL))
        can = (high - low > 1e-9) | (np.abs(truth - estimate.score) > NEAR)
        tally.add("topics", low[can], high[can], truth[can])
    return seconds


def of_case(args: argparse.Namespace, which: str, case: int) -> tuple[dict[tuple[str, ...], Tally], list[float]]:
    warnings.simplefilter("ignore")
    MEASURES[:], SHARES[:] = args.measures, args.shares
    data = Path(os.environ["FATHOMS_DATA"])
    trials: dict[str, Callable[..., Iterator[Trial]]] = {
        "dl20": partial(dl20, data / "dl20-passage", args.part),
        "trec8": partial(trec, data / "trec8-adhoc", "trec8"),
        "covid": partial(trec, data / "trec-covid-r1", "trec-covid"),
        "simulated": simulated,
    }
    tallies: dict[tuple[str, ...], Tally] = {}
    seconds = []
    whole, by_labels = None, dict[str, Any]()
    runs = None
    for trial in trials[which](case, np.random.default_rng((args.seed, len(which), case)), args.quick):
        if runs is not trial.runs:
            runs, by_labels = trial.runs, {}
            whole = fm.evaluate(trial.truth, runs, MEASURES, by_topic=True, workers=1)
        if len(trial.files) == 1 and trial.labels not in by_labels:
            by_labels[trial.labels] = fm.evaluate(trial.files[0], runs, MEASURES, by_topic=True, workers=1)
        seconds.append(outcome(trial, tallies, whole, by_labels))
    return tallies, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=12)
    parser.add_argument("--part", choices=("choose", "report"), default="report")
    parser.add_argument("--only", nargs="*", default=("dl20", "trec8", "covid", "simulated"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--shares", nargs="*", type=float, default=SHARES)
    parser.add_argument("--measures", nargs="*", default=MEASURES)
    args = parser.parse_args()
    tallies: dict[tuple[str, ...], Tally] = {}
    seconds: list[float] = []
    with ProcessPoolExecutor(args.jobs) as executor:
        cases = [executor.submit(of_case, args, which, case) for case in range(args.cases) for which in args.only]
        for finished in as_completed(cases):
            of, took = finished.result()
            seconds += took
            for key, tally in of.items():
                tallies.setdefault(key, Tally()).join(tally)
            lines = ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
            lines += ["| " + " | ".join([*key, *tallies[key].row()]) + " |" for key in sorted(tallies)]
            lines.append(f"\n<!-- {len(seconds)} estimates, {np.mean(seconds):.1f} s each -->")
            if args.output is not None:
                head = HEAD.format(arguments=" ".join(sys.argv[1:]))
                args.output.write_text("\n".join([head, *lines]) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
