"""Few human judgments, many labels: how far off are estimates, and do their intervals fit?

    FATHOMS_DATA=... python bench/few_labels.py [--part choose] [-o docs/results/few-labels.md]

A case is a collection, some of its runs, and a part of its judgments: a random share, one that depends on depth or on a
label, or a shallow pool. Each is estimated by `Experiment.predict` as a user would call it, and compared with the
scores under all judgments. HEAD says what is printed; best constant widths cover 95% of the very cases, and interval
scores (Gneiting and Raftery 2007) are over that of the best constant width.

Estimates were chosen on `--part choose`: half of the topics and of the runs of dl20-passage. `--part report`, the
default, is the other half. Re-rankers by GPT-4 under labels of GPT-4 are apart. With the default numbers of cases it
takes some 25 minutes of one core.
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
from fathoms.base.text import enumerated
from fathoms.data.qrels import Qrels, read_qrels
from fathoms.data.simulate import simulate
from fathoms.estimate.design import SamplingDesign
from fathoms.estimate.self_check import aggregated, interval
from fathoms.evidence.evidence import Floats
from fathoms.evidence.pool import judged_depths
from fathoms.questions.predict.sampled_prediction import sampled_prediction

MEASURES = ["P@10", "nDCG@10", "nDCG@20", "RR@10", "ERR@20", "RBP(p=0.8)", "AP", "nDCG", "Q@20", "R@100"]
SHARES = [0.05, 0.1, 0.25, 0.5]
POOLS = (2, 5, 10)
SOURCES = ("umbrela-gpt4", "exam-graded", "binary-gpt4o", "binary-llama32")
NEAR, LEVEL = 1e-6, 0.95
N_RUNS = 12
CASES = {"dl20": 6, "trec8": 3, "covid": 3, "simulated": 4}
FROM_SAMPLE = ("P@10", "nDCG@10", "nDCG@20", "RBP(p=0.8)", "AP", "nDCG", "R@100")  # which `assisted` estimates take
HEAD = """# Few human judgments, many labels: results

Made by `python bench/few_labels.py {arguments}`. [Two hundred human labels](../how-to/llm-labels.md) says what to make
of it.

A case is twelve runs of a collection, a part of its judgments, and the scores under all of them. There are {cases}.
Of dl20-passage these are topics and runs on which nothing was chosen; nothing was chosen on TREC-8 and TREC-COVID
either. First the bias of runs' means, with its standard error over cases, then root mean square errors (RMSE): of the
default estimate; of the score as judged (plain); of RM's interpolated predictor; of labels taken as judgments; and of
`assisted` estimates from the same sample, for the measures that have them. Then RMSE of differences of two runs: of the
default, plain, and of labels. Then for means, differences and topics that can still change: how many per cent of 95%
intervals cover, their mean width over the best constant width, which covers 95% of these very cases, and their interval
score over that of the best constant width.

"by depth": of documents in some run's first five 40% are judged, of others 10%; "by label": of those that UMBRELA gives
2 or 3 it is 40%, of others 10%. "GPT-4 re-rankers": runs made with GPT-4 under a GPT-4 judge.
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
    design: Any = None  # None: no random sample


@dataclass
class Tally:
    """What is kept of all cases of a line."""

    errors: dict[str, list[Floats]] = field(default_factory=dict)  # by method: of runs' means
    of_differences: dict[str, list[Floats]] = field(default_factory=dict)
    covered: dict[str, list[float]] = field(default_factory=dict)
    half: dict[str, list[Floats]] = field(default_factory=dict)  # widths, by kind
    score: dict[str, list[Floats]] = field(default_factory=dict)  # interval scores, by kind
    off: dict[str, list[Floats]] = field(default_factory=dict)  # errors about the middle, by kind
    methods: list[str] = field(default_factory=list)

    def add(self, kind: str, low: Floats, high: Floats, truth: Floats) -> None:
        inside = (low - NEAR <= truth) & (truth <= high + NEAR)
        if inside.size:
            self.covered.setdefault(kind, []).append(float(inside.mean()))
            self.half.setdefault(kind, []).append((high - low).ravel())
            missed = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
            self.score.setdefault(kind, []).append((high - low + 2 / (1 - LEVEL) * missed).ravel())
            self.off.setdefault(kind, []).append((truth - (low + high) / 2).ravel())

    def join(self, other: Tally) -> None:
        for mine, theirs in (
            (self.errors, other.errors),
            (self.of_differences, other.of_differences),
            (self.covered, other.covered),
            (self.half, other.half),
            (self.score, other.score),
            (self.off, other.off),
        ):
            for name, values in theirs.items():
                mine.setdefault(name, []).extend(values)  # type: ignore[arg-type]
        self.methods += other.methods

    def facts(self) -> dict[str, float]:
        """What a row shows, by column."""
        biases = np.array([of_case.mean() for of_case in self.errors["default"]])
        facts = {"cases": float(len(biases)), "bias": float(biases.mean()), "error": np.nan}
        if len(biases) > 1:
            facts["error"] = float(biases.std(ddof=1) / np.sqrt(len(biases)))
        for prefix, of in (("", self.errors), ("differences ", self.of_differences)):
            for method, values in of.items():
                facts[prefix + method] = float(np.sqrt(np.mean(np.concatenate(values) ** 2)))
        for kind in self.covered:
            width, score = np.concatenate(self.half[kind]), np.concatenate(self.score[kind])
            off = np.abs(np.concatenate(self.off[kind]))
            best = max(2 * float(np.quantile(off, LEVEL)), 1e-9)
            of_best = best + float((2 / (1 - LEVEL) * np.maximum(off - best / 2, 0.0)).mean())
            facts[f"{kind} %"] = 100 * float(np.mean(self.covered[kind]))
            facts[f"{kind} width"], facts[f"{kind} score"] = float(width.mean()) / best, float(score.mean()) / of_best
        return facts


METHODS = ("default", "plain", "interpolated", "labels", "assisted")
OF_DIFFERENCES = ("default", "plain", "labels")
KINDS = ("means", "differences", "topics")
COLUMNS = (
    "cases",
    *METHODS,
    *(f"differences {method}" for method in OF_DIFFERENCES),
    *(f"{kind} {fact}" for kind in KINDS for fact in ("%", "width", "score")),
)


def cells(facts: Mapping[str, float]) -> list[str]:
    shown = []
    for column in COLUMNS:
        digits = 0 if column.endswith(("%", "cases")) else 2 if column.endswith(("width", "score")) else 3
        shown.append(f"{facts[column]:.{digits}f}" if column in facts else "")
    return shown


def lines(rows: Sequence[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(row) + " |" for row in [rows[0], ["---"] * len(rows[0]), *rows[1:]]]


def page(tallies: Mapping[tuple[str, ...], Tally]) -> list[str]:
    """A table on average over measures, and one for each collection."""
    by_key = {key: tally.facts() for key, tally in sorted(tallies.items())}
    conditions = list(dict.fromkeys(key[:3] for key in by_key))
    averages = [["collection", "judged", "labels", "estimate", "bias from", "to", *COLUMNS]]
    for condition in conditions:
        of_measures = [facts for key, facts in by_key.items() if key[:3] == condition]
        methods = [method for key, tally in sorted(tallies.items()) if key[:3] == condition for method in tally.methods]
        mean = {
            c: float(np.mean([f[c] for f in of_measures if c in f]))
            for c in COLUMNS
            if any(c in f for f in of_measures)
        }
        ends = [f"{end(f['bias'] for f in of_measures):+.3f}" for end in (min, max)]
        averages.append([*condition, ", ".join(dict.fromkeys(methods)), *ends, *cells(mean)])
    shown = ["## On average over measures", "", *lines(averages)]
    for collection in dict.fromkeys(key[0] for key in by_key):
        rows = [["judged", "labels", "measure", "bias", *COLUMNS]]
        for key, facts in by_key.items():
            if key[0] == collection:
                rows.append([*key[1:], f"{facts['bias']:+.3f} ±{facts['error']:.3f}", *cells(facts)])
        shown += ["", f"## {collection}", "", *lines(rows)]
    return shown


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
        yield from by_rate(name, f"{share:.0%} at random", truth, runs, files, np.full(len(truth), share), rng)


def by_rate(
    name: str, condition: str, truth: Qrels, runs: Any, files: Mapping[str, Sequence[Any]], rate: Floats, rng: Any
) -> Iterator[Trial]:
    drawn = rng.random(len(truth)) < rate
    known = part(truth, drawn)
    here = np.isin(np.array(truth.topics), known.topics)[truth.topic]
    topics = np.array([known.topics.index(topic) if topic in known.topics else -1 for topic in truth.topics])
    of_topic = topics[truth.topic[here]].astype(np.int32)
    design = SamplingDesign(
        known.topics, of_topic, truth.documents[here], probability=rate[here], sampled=drawn[here], source="the sample"
    )
    for labels, paths in files.items():
        yield Trial(name, condition, labels, paths, known, truth, runs, design)


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


def other_methods(trial: Trial, exp: Any, runs: Sequence[str]) -> dict[tuple[str, str], Floats]:
    """By method and measure: means [run] of estimates that are no default."""
    frames = [exp.predict(MEASURES, method="interpolated").frame]
    if trial.design is not None:
        measures = [measure for measure in exp.measures(MEASURES) if measure.name in FROM_SAMPLE]
        sampled = sampled_prediction(exp, measures, trial.design, assist=True, plain=False, labels=list(trial.files))
        frames.append(sampled.frame)
    means: dict[tuple[str, str], Floats] = {}
    for frame in frames:
        for run, measure, method, value in frame.select("run", "measure", "method", "estimate").iter_rows():
            means.setdefault((method, measure), np.zeros(len(runs)))[runs.index(run)] = value
    return means


def outcome(trial: Trial, tallies: dict[tuple[str, ...], Tally], whole: Any, by_labels: dict[str, Any]) -> float:
    exp = fm.Experiment(trial.known, trial.runs, workers=1)
    start = time.process_time()
    result = exp.predict(MEASURES, labels=list(trial.files))
    seconds = time.process_time() - start
    estimates = result.calibrated
    assert estimates is not None
    runs, topics = estimates.runs, estimates.topics
    others = other_methods(trial, exp, runs)
    for name in MEASURES:
        estimate = estimates[fm.parse_measure(name)]
        truth = table(whole, name, runs, topics)
        tally = tallies.setdefault((trial.collection, trial.condition, trial.labels, name), Tally())
        tally.methods.append(f"{estimates.selection.name} {estimate.method}")
        a, b = np.triu_indices(len(runs), 1)
        means, center, true = estimate.means, estimate.point_means, truth.mean(axis=1)
        values = {"default": center, "plain": aggregated(estimate.measure, estimate.score)}
        values |= {method: others[method, name] for method in ("interpolated", "assisted") if (method, name) in others}
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
    parser.add_argument("--cases", type=int, help="of each collection")
    parser.add_argument("--minutes", type=float, help="to take at most; what is finished by then is shown")
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
    numbers = {which: args.cases or CASES[which] for which in args.only}
    cases = [(case, which) for which in args.only for case in range(numbers[which])]
    with ProcessPoolExecutor(args.jobs) as executor:
        started = [executor.submit(of_case, args, which, case) for case, which in sorted(cases)]
        try:
            for finished in as_completed(started, timeout=args.minutes and 60 * args.minutes):
                of, took = finished.result()
                seconds += took
                for key, tally in of.items():
                    tallies.setdefault(key, Tally()).join(tally)
                write(args, tallies, seconds)
        except TimeoutError:
            executor.shutdown(wait=False, cancel_futures=True)
            for process in list(executor._processes.values()):
                process.terminate()


def write(args: argparse.Namespace, tallies: Mapping[tuple[str, ...], Tally], seconds: Sequence[float]) -> None:
    """What is known so far."""
    shown = [*page(tallies), "", f"{len(seconds):,} estimates, {np.mean(seconds):.1f} s of one core each."]
    if args.output is None:
        print("\n".join(shown), flush=True)
        return
    done: dict[str, int] = {}
    for key, tally in tallies.items():
        done[key[0]] = max(done.get(key[0], 0), len(tally.errors["default"]))
    cases = enumerated([f"{number} of {collection}" for collection, number in sorted(done.items())])
    args.output.write_text("\n".join([HEAD.format(arguments=" ".join(sys.argv[1:]), cases=cases), *shown]) + "\n")


if __name__ == "__main__":
    main()
