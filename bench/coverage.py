"""How far can estimates be trusted? Intervals, probabilities and errors against judgments that were held back.

    FATHOMS_DATA=... python bench/coverage.py [--samples 4] [--quick] [-o docs/results/trust.md]

A case is a collection, some of its runs, and judgments of which part is hidden: the deeper part of the pool, what one
run or one team alone brought in, or all but 200 random ones where labels of language models are there for all. Each is
estimated by `Experiment.predict` as a user would call it, and compared with the scores under all judgments. Printed
are, by measure and condition, the share of 95% intervals that cover the truth (of means, of differences, of topics that
can still change), with a bootstrap interval over cases, since runs of one case share their errors; root mean square
errors beside those of the plain score, RM's interpolated and Weibull; and how often the run said to be better is.

The model and its constants were chosen while looking at the 71 pooled runs of trec8-adhoc at depths 5, 10 and 20, the
56 pooled runs of trec-covid-r1 and the 4 runs of ntcir13-www-rmit; the simulated collections, llmjudge-dl23-labels,
runs that were left out of trec-covid-r1, and samples of few runs had no part in it.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import fathoms as fm
from fathoms.data.qrels import Qrels, read_qrels
from fathoms.data.simulate import simulate
from fathoms.estimate.backtest_fit import Margins
from fathoms.estimate.estimates import Estimate
from fathoms.estimate.self_check import SelfCheck, interval
from fathoms.evidence.pool import judged_depths
from fathoms.questions.predict.result import Prediction

MEASURES = ["P@10", "nDCG@10", "RBP(p=0.95)", "nDCG", "AP"]
ADDITIVE = ("P@10", "RBP(p=0.95)")
OTHERS = ("interpolated", "weibull")
DEEP = 100
NEAR = 1e-6
HEAD = """# Coverage and error of the estimates

Made by `python bench/coverage.py -o docs/results/trust.md`. [How far can these numbers be trusted](../trust.md) says
what a case is and what the model was chosen on.
"""
COVERED = """## Intervals

Share of 95% intervals that cover the truth, in per cent, with a 95% bootstrap interval over cases: of runs' means, of
differences between two of them, and of single topics that can still change; and how wide those of means are.
"""
ERRORS = """## Errors

Root mean square error of single topics / of runs' means: the default estimate, the plain score, and two other methods
for measures that add up; and the share of cases in which the model was used, not the score itself.
"""
STATED = """## Which run is better

By `p_better` of the run named: how often that run is ahead by all judgments, of how many pairs.
"""
CHECKED = """## What the check says, and what is so

Each line is a case and a measure. Error: that of runs' means, as the check on the collection states it and as it is, on
a logarithmic scale. Coverage: of the scores of topics that can still change. Widened: the check found intervals too
narrow and widened them; rightly if, without that, fewer than 90% of the means or of the topic scores would have been
covered.
"""
BINS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0 + 1e-9)


@dataclass(frozen=True)
class Trial:
    """Judgments with a part hidden, and all of them."""

    collection: str
    condition: str
    known: Any
    truth: Any
    runs: dict[str, Any]
    pooled: list[str] | None
    to_depth: int | None
    about: list[str] | None = None  # the runs that count, all if None
    labels: Any = ()
    groups: dict[str, str] | None = None


# -- trials ---------------------------------------------------------------------------------------------------


def _files(folder: Path) -> dict[str, Any]:
    return dict(fm.read_runs(str(folder / "runs"), lenient=True).items())


def _names(path: Path, runs: dict[str, Any]) -> list[str]:
    listed = [line.strip() for line in path.read_text().splitlines()]
    return [name for name in runs if name in listed or any(entry.startswith(name + ".") for entry in listed)]


def _teams(path: Path) -> dict[str, str]:
    rows = (line.split("\t") for line in path.read_text().splitlines())
    return {row[0]: row[1] for row in rows if len(row) == 2}


def depths(qrels: Qrels, runs: dict[str, Any]) -> dict[str, Any]:
    """For each run, the rank at which it has each judgment's document."""
    exp = fm.Experiment(qrels, runs)
    exp.prepare()
    return {name: judged_depths([exp.ranked(name)], qrels) for name in runs}


def cut_pools(
    collection: str, qrels: Qrels, runs: dict[str, Any], levels: Sequence[int], deep: int, sizes: Sequence[int], n: int
) -> Iterator[Trial]:
    """Pools of some of the runs, cut to shallower ones."""
    least, rng = depths(qrels, runs), np.random.default_rng(0)
    for size in sizes:
        for _ in range(n if size < len(runs) else 1):
            names = sorted(rng.choice(list(runs), min(size, len(runs)), replace=False).tolist())
            reached = np.min([least[name] for name in names], axis=0)
            truth = qrels.keep(reached <= deep)
            for level in levels:
                known = qrels.keep(reached <= level)
                if known.counts[:, 1:].sum() < 5:
                    continue
                chosen = {name: runs[name] for name in names}
                yield Trial(collection, f"pool cut to {level}", known, truth, chosen, names, deep)


def left_out(
    collection: str, qrels: Qrels, runs: dict[str, Any], teams: dict[str, str], depth: int, by: str, size: int, n: int
) -> Iterator[Trial]:
    """A run, or a team, that did not contribute: what it alone brought in is hidden."""
    least, rng = depths(qrels, runs), np.random.default_rng(1)
    units = sorted({teams.get(name, name) for name in runs} if by == "team" else runs)
    for unit in rng.permutation(units)[:n].tolist():
        out = [name for name in runs if (teams.get(name, name) if by == "team" else name) == unit]
        rest = [name for name in runs if name not in out]
        chosen = sorted(rng.choice(rest, min(size, len(rest)), replace=False).tolist())
        known = qrels.keep(np.min([least[name] for name in chosen], axis=0) <= depth)
        truth = qrels.keep(np.min([least[name] for name in (*chosen, *out)], axis=0) <= depth)
        shown = {name: runs[name] for name in (*chosen, *out)}
        groups = {name: teams.get(name, name) for name in shown}
        yield Trial(collection, f"{by} left out", known, truth, shown, chosen, depth, out, groups=groups)


def simulated(seed: int, grades: int, n: int) -> Iterator[Trial]:
    made = simulate(systems=24, n_topics=50, seed=seed, depth=300, max_grade=grades)
    truth = read_qrels(made.truth)
    runs = dict(fm.read_runs(made.runs).items())
    name = f"simulated, {grades + 1} grades" if grades > 1 else "simulated, binary"
    yield from cut_pools(name, truth, runs, (5, 10, 20), DEEP, (12,), n)
    yield from left_out(name, truth, runs, made.groups, 20, "run", 16, n)
    yield from left_out(name, truth, runs, made.groups, 20, "team", 16, n)


def labelled(folder: Path, n: int) -> Iterator[Trial]:
    """200 random human labels, and those of a language model for all documents. There are no runs, so they are made:
    the labels of another model plus noise; one is circular, reranked by the very labels that help to estimate."""
    human = read_qrels(str(folder / "llmjudge_test_qrel_idx.txt"))
    sets = sorted((folder / "llm_labels").iterdir())
    rng = np.random.default_rng(2)
    for place in rng.permutation(len(sets))[:n].tolist():
        judge, others = place, rng.choice([i for i in range(len(sets)) if i != place], 8, replace=False).tolist()
        runs = {}
        for number, other in enumerate(others):
            noise = rng.uniform(0.3, 1.5)
            runs[f"run{number}"] = _ranked(read_qrels(str(sets[other])), noise, rng)
        runs["circular"] = _ranked(read_qrels(str(sets[judge])), 0.05, rng)
        keep = np.zeros(len(human), dtype=bool)
        keep[rng.choice(len(human), 200, replace=False)] = True
        labels = str(sets[judge])
        known = human.keep(keep)
        for condition, about in (
            ("200 human labels, LLM for all", [name for name in runs if name != "circular"]),
            ("the same, circular run", ["circular"]),
        ):
            yield Trial("llmjudge-dl23-labels", condition, known, human, runs, None, DEEP, about, labels)


def _ranked(labels: Qrels, noise: float, rng: np.random.Generator) -> dict[str, dict[str, float]]:
    """A run of all labelled documents, by label and noise."""
    scores = labels.grades + noise * rng.standard_normal(len(labels))
    run: dict[str, dict[str, float]] = {}
    for topic, document, score in zip(labels.topic.tolist(), labels.documents.tolist(), scores.tolist(), strict=True):
        run.setdefault(labels.topics[topic], {})[document.decode()] = score
    return {t: dict(sorted(of.items(), key=lambda item: -item[1])[:DEEP]) for t, of in run.items()}


def trials(data: Path | None, n: int, quick: bool) -> Iterator[Trial]:
    for seed in range(1 if quick else 2):
        yield from simulated(seed, 1, n)
        yield from simulated(10 + seed, 3, n)
    if data is None:
        return
    folder = data / "trec8-adhoc"
    if folder.is_dir():
        runs, qrels = _files(folder), read_qrels(str(folder / "qrels.txt"))
        pooled = {name: runs[name] for name in _names(folder / "pooled.txt", runs)}
        teams = _teams(folder / "groups.tsv")
        yield from cut_pools("trec8-adhoc", qrels, pooled, (5, 10, 20), DEEP, (12,) if quick else (6, 20, 71), n)
        yield from left_out("trec8-adhoc", qrels, pooled, teams, DEEP, "run", 15, n)
        yield from left_out("trec8-adhoc", qrels, pooled, teams, DEEP, "team", 15, n)
    folder = data / "trec-covid-r1"
    if folder.is_dir():
        runs, qrels = _files(folder), read_qrels(str(folder / "qrels.txt"))
        pooled = {name: runs[name] for name in _names(folder / "pooled.txt", runs)}
        teams = _teams(folder / "groups.tsv")
        yield from cut_pools("trec-covid-r1", qrels, pooled, (3, 5), 7, (12,) if quick else (8, 20, 56), n)
        yield from left_out("trec-covid-r1", qrels, pooled, teams, 7, "run", 20, n)
        yield from left_out("trec-covid-r1", qrels, pooled, teams, 7, "team", 20, n)
    folder = data / "ntcir13-www-rmit"
    if folder.is_dir():
        yield from cut_pools(
            "ntcir13-www-rmit", read_qrels(str(folder / "qrels.txt")), _files(folder), (5, 10, 20), 30, (4,), 1
        )
    if (data / "llmjudge-dl23-labels").is_dir():
        yield from labelled(data / "llmjudge-dl23-labels", n)


# -- outcomes -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    collection: str
    condition: str
    measure: str
    covered: dict[str, tuple[int, int]]  # of means, differences, topics
    width: float  # mean width of the intervals of means
    squares: dict[str, tuple[float, float]]  # by method: mean square error of topics, of means
    stated: list[tuple[float, bool]]  # probability that the run named is better, and whether it is
    used: str  # model, or score where that did better in the backtests
    check: SelfCheck | None
    unwidened: tuple[float, float]  # share of means and of topic scores covered without what the check widened


def outcomes(trial: Trial) -> list[Outcome]:
    exp = fm.Experiment(trial.known, trial.runs, pooled=trial.pooled, groups=trial.groups)
    result = exp.predict(MEASURES, to_depth=trial.to_depth, labels=trial.labels)
    points = exp.predict(ADDITIVE, OTHERS, by_topic=True).frame
    whole = fm.evaluate(trial.truth, trial.runs, MEASURES, by_topic=True)
    return [_outcome(trial, result, points, whole, measure) for measure in MEASURES]


def _outcome(trial: Trial, result: Prediction, points: Any, whole: Any, measure: str) -> Outcome:
    estimates = result.calibrated
    assert estimates is not None
    estimate = estimates[fm.parse_measure(measure)]
    runs, topics = estimates.runs, estimates.topics
    truth = _table(whole, measure, runs, topics, "score")
    about = np.isin(runs, trial.about or runs)
    a, b = np.triu_indices(len(runs), 1)
    use = about[a] | about[b]
    a, b = a[use], b[use]
    draws, means, center = estimate.draws, estimate.draws.mean(axis=2), estimate.point.mean(axis=1)
    of_means = interval(means[:, about], center[about])
    of_differences = interval(means[:, a] - means[:, b], center[a] - center[b])
    of_topics = interval(draws[:, about], estimate.point[about])
    true = truth.mean(axis=1)
    can_change = (of_topics[1] - of_topics[0] > 1e-9) | (np.abs(truth - estimate.score)[about] > NEAR)
    difference = means[:, a] - means[:, b]
    better = ((difference > 1e-12) + 0.5 * (np.abs(difference) <= 1e-12)).mean(axis=0)
    actual = true[a] - true[b]
    stated = [
        (max(p, 1 - p), (d > 0) == (p > 0.5)) for p, d in zip(better.tolist(), actual.tolist(), strict=True) if d != 0
    ]
    squares = {"score": _squares(estimate.score, truth, about), "calibrated": _squares(estimate.point, truth, about)}
    if measure in ADDITIVE:
        for method in OTHERS:
            rows = points.filter(points["method"] == method)
            squares[method] = _squares(_table(rows, measure, runs, topics, "estimate"), truth, about)
    return Outcome(
        trial.collection,
        trial.condition,
        measure,
        {
            "means": _covered(of_means, true[about]),
            "differences": _covered(of_differences, actual),
            "topics": _covered([end[can_change] for end in of_topics], truth[about][can_change]),
        },
        float((of_means[1] - of_means[0]).mean()),
        squares,
        stated,
        estimate.method,
        estimate.check,
        _unwidened(estimate, truth, about, can_change),
    )


def _unwidened(estimate: Estimate, truth: Any, about: Any, can_change: Any) -> tuple[float, float]:
    """The coverage that intervals would have if the check had widened none of them."""
    margins = Margins() if estimate.check is None else estimate.check.margins
    draws = Margins(1 / margins.of_means, 1 / margins.of_topics)(estimate.draws)
    means = _covered(
        interval(draws.mean(axis=2)[:, about], estimate.point.mean(axis=1)[about]), truth.mean(axis=1)[about]
    )
    ends = interval(draws[:, about], estimate.point[about])
    topics = _covered([end[can_change] for end in ends], truth[about][can_change])
    return tuple(part / whole if whole else 1.0 for part, whole in (means, topics))  # type: ignore[return-value]


def _table(frame: Any, measure: str, runs: list[str], topics: list[str], column: str) -> Any:
    of_run, of_topic = {run: i for i, run in enumerate(runs)}, {topic: i for i, topic in enumerate(topics)}
    table = np.zeros((len(runs), len(topics)))
    rows = frame.filter((frame["measure"] == measure) & (frame["topic"] != "all"))
    for run, topic, value in rows.select("run", "topic", column).iter_rows():
        if topic in of_topic:
            table[of_run[run], of_topic[topic]] = value
    return table


def _squares(values: Any, truth: Any, about: Any) -> tuple[float, float]:
    error = (values - truth)[about]
    return float(np.mean(error**2)), float(np.mean(error.mean(axis=1) ** 2))


def _covered(ends: Sequence[Any], truth: Any) -> tuple[int, int]:
    return int(((truth >= ends[0] - NEAR) & (truth <= ends[1] + NEAR)).sum()), int(truth.size)


# -- tables ---------------------------------------------------------------------------------------------------


def share(cases: Sequence[Outcome], what: str, rng: np.random.Generator) -> str:
    """Coverage in per cent, each case with the same weight, and a bootstrap interval over cases."""
    rates = np.array([part / whole for part, whole in (case.covered[what] for case in cases) if whole])
    if not len(rates):
        return ""
    again = rng.choice(rates, (2000, len(rates))).mean(axis=1)
    low, high = np.quantile(again, [0.025, 0.975])
    return f"{100 * rates.mean():.0f} ({100 * low:.0f}-{100 * high:.0f})"


def rmse(cases: Sequence[Outcome], method: str, place: int) -> float:
    return float(np.sqrt(np.mean([case.squares[method][place] for case in cases])))


def summary(results: Sequence[Outcome]) -> list[str]:
    """All collections together, by kind of condition: coverage, and the errors of means."""
    rng = np.random.default_rng(0)
    lines = ["| condition | measure | cases | means | differences | topics | error of a mean | of the plain score |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    kinds = {
        outcome.condition: "pool cut" if outcome.condition.startswith("pool cut") else outcome.condition
        for outcome in results
    }
    for kind in dict.fromkeys(kinds.values()):
        for measure in MEASURES:
            cases = [c for c in results if kinds[c.condition] == kind and c.measure == measure]
            row = [share(cases, what, rng) for what in ("means", "differences", "topics")]
            row += [f"{rmse(cases, method, 1):.4f}" for method in ("calibrated", "score")]
            lines.append(f"| {kind} | {measure} | {len(cases)} | {' | '.join(row)} |")
    return lines


def tables(results: Sequence[Outcome]) -> str:
    rng = np.random.default_rng(0)
    lines = ["## All collections together", "", *summary(results), ""]
    lines += [
        COVERED,
        "| condition | collection | measure | cases | means | differences | topics | width of a mean's |",
    ]
    lines.append("|---|---|---|---|---|---|---|---|")
    groups = dict.fromkeys((outcome.condition, outcome.collection) for outcome in results)
    for condition, collection in sorted(groups):
        for measure in MEASURES:
            cases = [c for c in results if (c.condition, c.collection, c.measure) == (condition, collection, measure)]
            row = [share(cases, what, rng) for what in ("means", "differences", "topics")]
            width = np.mean([case.width for case in cases])
            lines.append(f"| {condition} | {collection} | {measure} | {len(cases)} | {' | '.join(row)} | {width:.4f} |")
    lines += [
        "",
        ERRORS,
        "| condition | collection | measure | estimate | score | interpolated | weibull | model used |",
    ]
    lines.append("|---|---|---|---|---|---|---|---|")
    for condition, collection in sorted(groups):
        for measure in MEASURES:
            cases = [c for c in results if (c.condition, c.collection, c.measure) == (condition, collection, measure)]
            methods = ("calibrated", "score", *(OTHERS if measure in ADDITIVE else ()))
            cells = [f"{rmse(cases, m, 0):.4f} / {rmse(cases, m, 1):.4f}" for m in methods]
            cells += [""] * (4 - len(cells))
            used = np.mean([case.used == "model" for case in cases])
            lines.append(f"| {condition} | {collection} | {measure} | {' | '.join(cells)} | {100 * used:.0f}% |")
    lines += ["", STATED, "| measure | pairs | " + " | ".join(f"{low:g}-{high:.2f}" for low, high in _bins()) + " |"]
    lines.append("|---|---|" + "---|" * len(_bins()))
    for circular in (False, True):
        for measure in MEASURES:
            stated = [
                outcome
                for case in results
                if case.measure == measure and ("circular" in case.condition) == circular
                for outcome in case.stated
            ]
            cells = []
            for low, high in _bins():
                here = [right for p, right in stated if low <= p < high]
                cells.append(f"{100 * np.mean(here):.0f}% of {len(here):,}" if here else "")
            lines.append(f"| {measure} | {'with the circular run' if circular else 'others'} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *checked_table(results)]) + "\n"


def checked_table(results: Sequence[Outcome]) -> list[str]:
    """What the checks state against the truth, by measure and over all."""
    columns = "lines", "error: stated", "is", "correlation", "topics covered: stated", "are", "correlation"
    lines = [CHECKED, f"| measure | {' | '.join(columns)} | widened | rightly | should be widened |"]
    lines.append("|---" * (len(columns) + 4) + "|")
    for measure in (*MEASURES, "all"):
        cases = [c for c in results if measure in (c.measure, "all") and c.check is not None]
        checks = [c.check for c in cases if c.check is not None]
        cells = [f"{len(cases)}"]
        stated = np.array([[check.error, check.covered] for check in checks])
        topics = [c.covered["topics"] for c in cases]
        true = np.array(
            [[np.sqrt(c.squares["calibrated"][1]), x / max(1, n)] for c, (x, n) in zip(cases, topics, strict=True)]
        )
        for place, scale in ((0, np.log), (1, np.asarray)):
            use = (np.array([n for _, n in topics]) > 0) & (stated[:, place] > 0) & (true[:, place] > 0)
            a, b = stated[use, place], true[use, place]
            cells += [f"{a.mean():.4f}", f"{b.mean():.4f}", f"{np.corrcoef(scale(a), scale(b))[0, 1]:.2f}"]
        widened = np.array([check.failed for check in checks])
        narrow = np.array([min(c.unwidened) < 0.9 for c in cases])
        cells += [f"{widened.sum()}", f"{(widened & narrow).sum()}", f"{narrow.sum()}"]
        lines.append(f"| {measure} | {' | '.join(cells)} |")
    return lines


def _bins() -> list[tuple[float, float]]:
    return list(pairwise(BINS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=4, help="random choices of runs for each condition (4)")
    parser.add_argument("--quick", action="store_true", help="few runs and collections")
    parser.add_argument("--labels-only", action="store_true", help="nothing but labels of language models")
    parser.add_argument("-o", "--output", type=Path, help="write the tables there too")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    data = os.environ.get("FATHOMS_DATA")
    results: list[Outcome] = []
    folder = None if data is None else Path(data)
    if args.labels_only and folder is not None:
        chosen = labelled(folder / "llmjudge-dl23-labels", args.samples)
    else:
        chosen = trials(folder, args.samples, args.quick)
    for trial in chosen:
        results += outcomes(trial)
        print(f"{trial.collection}, {trial.condition}: {len(results) // len(MEASURES)} cases", flush=True)
    text = tables(results)
    print(text)
    if args.output is not None:
        args.output.write_text(f"{HEAD}\n{text}")


if __name__ == "__main__":
    main()
