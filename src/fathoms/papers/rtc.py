"""Carterette, "Robust Test Collections for Retrieval Evaluation" (SIGIR 2007), on any collection.

A trial (section 4.3) picks k systems at random and judges documents of the first c of them until one is better with 95%
confidence. What was judged then has to do for all k: every pair gets a confidence, and the full judgments tell which
were right. The engine is the one behind `fathoms judge`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fathoms.comparison.correlation import correlation
from fathoms.data.arrays import identity_of
from fathoms.data.qrels import Qrels
from fathoms.errors import FathomsError
from fathoms.estimate.distribution import Moments
from fathoms.estimate.relevance import LITERAL, UNCERTAIN, Experts
from fathoms.evidence.candidates import Block, Candidates, gathered
from fathoms.evidence.evidence import Bools, Floats, Ints
from fathoms.experiment.base import BaseExperiment
from fathoms.judging.engine import Engine
from fathoms.judging.models import RelevantOrNot
from fathoms.judging.select import CARTERETTE_2007, STRATEGIES, MTCWeight, Strategy
from fathoms.papers.exhibits import Study, chart
from fathoms.parallel import run_batches
from fathoms.version import __version__

if TYPE_CHECKING:
    import polars as pl

PAPER = "Carterette (2007), Robust Test Collections for Retrieval Evaluation"
BATCH = 10  # trials a worker does at a time
BINS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)  # the paper's last bin is "1.0": taken from 0.99 on
BIN_NAMES = ("0.5 - 0.6", "0.6 - 0.7", "0.7 - 0.8", "0.8 - 0.9", "0.9 - 0.95", "0.95 - 0.99", "1.0")
WORST_LOSS = 100.0  # losses are capped (section 4.4)
FEW = 100  # judgments in the sets that section 5 looks at apart
CAP = 0.95  # the paper's remedy for overfitting
BOOTSTRAPS = 2000

METHODS: dict[str, Strategy] = {
    "MTC": STRATEGIES["mtc"],
    "RTC literal": Strategy(
        "RTC literal",
        "eq. 2 as printed",
        CARTERETTE_2007,
        MTCWeight,
        partial(RelevantOrNot, model=partial(Experts, reading=LITERAL)),
    ),
    "RTC": STRATEGIES["rtc"],
    "RTC uncertain": Strategy(
        "RTC uncertain",
        "counts the model's uncertainty",
        CARTERETTE_2007,
        MTCWeight,
        partial(RelevantOrNot, model=partial(Experts, reading=UNCERTAIN)),
    ),
    "fusion": STRATEGIES["fusion"],
}

# Tables 2 and 5 of the paper: accuracy by bin in percent, W, median judged, mean tau.
PAPER_MTC = ((61.7, 73.1, 70.1, 69.0, 78.0, 70.4, 68.3), -5.34, 251, 0.393)
PAPER_RTC = ((61.9, 76.3, 78.0, 84.9, 93.1, 93.4, 98.9), -0.39, 235, 0.555)
PAPER_AD_HOC_99 = ((59.4, 74.3, 78.6, 86.8, 92.6, 92.8, 99.6), -0.44, 179, 0.532)


@dataclass(frozen=True)
class RTCSettings:
    depth: int = 100
    trials: int = 1000
    systems: int = 10  # k
    initial: int = 2  # c
    until: float = 0.95
    methods: tuple[str, ...] = tuple(METHODS)
    seed: int = 0
    # Who does the work, and where finished batches are kept, is no part of what makes a trial what it is.
    workers: int = field(default=2, repr=False)
    scheduler: str | None = field(default=None, repr=False)
    folder: Path | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class World:
    """What a trial draws from: all systems' documents, the truth about them, and each system's true MAP."""

    candidates: Candidates
    relevant: Bools  # one a candidate
    in_all: Ints  # relevant documents of each topic
    map: Floats

    def identity(self) -> str:
        """A hash of all that trials can see of runs and judgments, be it but one document that has changed."""
        found = self.candidates
        return identity_of([*found.names, *found.topics], found.topic, found.place, self.relevant, self.in_all)


def make_world(experiment: BaseExperiment, depth: int) -> World:
    """Of the runs named as contributing, or of all. Topics without relevant documents say nothing of any system and are
    left out."""
    qrels = experiment.qrels
    counts = qrels.counts[:, qrels.levels > 0].sum(axis=1)
    if not counts.all():
        topics = [topic for topic, count in zip(qrels.topics, counts, strict=True) if count]
        experiment = experiment.with_qrels(qrels.of_topics(topics))
    experiment.prepare()
    names = chosen(experiment)
    found = gathered(names, [experiment.ranked(name) for name in names], experiment.qrels.topics, depth)
    _, relevant = found.judged_by(qrels)
    in_all = counts[counts > 0]
    return World(found, relevant, in_all, average_precision(found, relevant, in_all).mean(axis=1))


def chosen(experiment: BaseExperiment) -> list[str]:
    named = experiment.options.pooled
    return list(experiment.runs if named is None else dict.fromkeys(name for name in named if name in experiment.runs))


def average_precision(found: Candidates, relevant: Bools, in_all: Ints) -> Floats:
    """AP of each system, [system, topic], documents past the depth not retrieved."""
    hits = np.append(relevant, False)[found.place]
    precision = np.cumsum(hits, axis=2) / np.arange(1, found.depth + 1)
    scores: Floats = (precision * hits).sum(axis=2) / np.maximum(in_all, 1)
    return scores


# -- trials ---------------------------------------------------------------------------------------------------


def trials(world: World, settings: RTCSettings, progress: Callable[[], None] = lambda: None) -> pl.DataFrame:
    """All methods on the same draws of systems: one row a trial and method."""
    if len(world.candidates.names) < settings.systems:
        raise FathomsError(f"trials draw {settings.systems} systems, but only {len(world.candidates.names)} are given")
    numbers = range(settings.trials)
    batches = [list(numbers[start : start + BATCH]) for start in numbers[::BATCH]]
    # Names and ids have no part in a trial, and need not travel to the workers.
    lean = Candidates(
        world.candidates.names,
        world.candidates.topics,
        world.candidates.topic,
        np.empty(0, dtype="S1"),
        world.candidates.place,
    )
    work = partial(_batch, World(lean, world.relevant, world.in_all, world.map), settings)
    return run_batches(
        work,
        batches,
        workers=settings.workers,
        scheduler=settings.scheduler,
        folder=settings.folder,
        settings=f"{__version__} {settings} {world.identity()}",
        progress=progress,
    )


def _batch(world: World, settings: RTCSettings, numbers: Sequence[int]) -> list[dict[str, Any]]:
    return [row for number in numbers for row in trial(world, settings, number)]


def trial(world: World, settings: RTCSettings, number: int) -> list[dict[str, Any]]:
    """One draw of systems, and what each method makes of it."""
    rng = np.random.default_rng([settings.seed, number])
    systems = rng.choice(len(world.candidates.names), settings.systems, replace=False)
    first, second = np.triu_indices(settings.systems, 1)
    truth = world.map[systems]
    two, all_of_them = (
        Moments(world.candidates.block(some)) for some in (systems[: settings.initial].tolist(), systems.tolist())
    )
    shared = {
        "trial": number,
        "original": ((first < settings.initial).astype(int) + (second < settings.initial)).tolist(),
        "similarity": _similarity(all_of_them.block)[first, second].tolist(),
    }
    rows = []
    for method in settings.methods:
        judged = judge_until(world, METHODS[method], two, settings.until, number)
        engine = Engine(world.candidates, METHODS[method], until=settings.until, moments=all_of_them, judgments=judged)
        expected = engine.expected()
        chance = engine.confidence()[first, second]
        rows.append(
            {
                **shared,
                "method": method,
                "judged": len(judged),
                "tau": correlation(expected, truth),
                "confidence": np.maximum(chance, 1 - chance).tolist(),
                "right": ((chance > 0.5) == (truth[first] > truth[second])).tolist(),
            }
        )
        if method == "MTC":
            rows.append({**shared, **_pooling(world, systems, len(judged), settings), "method": "IP"})
    return rows


def judge_until(world: World, strategy: Strategy, moments: Moments, until: float, seed: int) -> list[tuple[int, bool]]:
    """Judge documents of the moments' systems, the truth answering, until all their pairs are settled."""
    engine = Engine(world.candidates, strategy, until=until, moments=moments, seed=seed)
    judged: list[tuple[int, bool]] = []
    while not engine.settled():
        number = engine.next()
        if number is None:
            break
        judged.append((number, bool(world.relevant[number])))
        engine.judge(*judged[-1])
    return judged


def _pooling(world: World, systems: Ints, budget: int, settings: RTCSettings) -> dict[str, Any]:
    """Incremental pooling of the same systems with as many judgments, unjudged documents taken as not relevant."""
    block = world.candidates.block(systems[: settings.initial].tolist())
    least = np.where(block.rank > 0, block.rank, np.iinfo(np.int32).max).min(axis=1)
    chosen = block.number.ravel()[np.argsort(least, axis=None, kind="stable")[:budget]]
    known = np.zeros(len(world.relevant), dtype=bool)
    known[chosen] = world.relevant[chosen]
    found = np.bincount(world.candidates.topic[known], minlength=len(world.in_all))
    place = Candidates(
        [], world.candidates.topics, world.candidates.topic, world.candidates.documents, world.candidates.place[systems]
    )
    scores = average_precision(place, known, found).mean(axis=1)
    first, second = np.triu_indices(settings.systems, 1)
    truth = world.map[systems]
    right = np.sign(scores[first] - scores[second]) == np.sign(truth[first] - truth[second])
    # No confidence comes with it.
    return {
        "judged": budget,
        "tau": correlation(scores, truth),
        "confidence": [0.5] * len(first),
        "right": right.tolist(),
    }


def _similarity(block: Block) -> Floats:
    """Share of documents two systems have in common, mean over topics."""
    retrieved = (block.rank > 0).astype(np.float64)
    common = retrieved @ np.swapaxes(retrieved, 1, 2)
    length = retrieved.sum(axis=2)
    return (common / np.maximum((length[:, :, None] + length[:, None, :]) / 2, 1)).mean(axis=0)


# -- what the trials say --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Outcome:
    """One method's pairs [trial, pair] and trials."""

    confidence: Floats
    right: Bools
    original: Ints
    similarity: Floats
    judged: Floats
    tau: Floats

    @classmethod
    def of(cls, rows: pl.DataFrame, method: str) -> Outcome:
        mine = rows.filter(rows["method"] == method)
        return cls(*(np.array(mine[name].to_list()) for name in cls.__dataclass_fields__))

    @property
    def winnings(self) -> Floats:
        return winnings(self.confidence, self.right)


def winnings(confidence: Floats, right: Bools) -> Floats:
    """W_i of section 4.4: a bookmaker's win on each pair, losses capped."""
    chance = np.minimum(confidence, 1 - 1e-15)
    return np.where(right, 1.0, -np.minimum(chance / (1 - chance), WORST_LOSS))


def bin_of(confidence: Floats) -> Ints:
    return np.clip(np.searchsorted(BINS, confidence, side="right") - 1, 0, len(BIN_NAMES) - 1)


def accuracy_by_bin(confidence: Floats, right: Bools) -> tuple[list[float], list[float | None]]:
    """Percent of the pairs in each bin, and percent right among them."""
    bins = bin_of(confidence).ravel()
    counts = np.bincount(bins, minlength=len(BIN_NAMES))
    hits = np.bincount(bins, weights=right.ravel(), minlength=len(BIN_NAMES))
    share = 100 * counts / max(1, counts.sum())
    return share.tolist(), [
        100 * float(hit / count) if count else None for hit, count in zip(hits, counts, strict=True)
    ]


def bootstrap(values: Floats, statistic: Callable[..., Any], seed: int) -> tuple[float, float]:
    """95% interval of a statistic of one value a trial, trials drawn anew."""
    rng = np.random.default_rng(seed)
    drawn = statistic(values[rng.integers(0, len(values), (BOOTSTRAPS, len(values)))], axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def summary(outcome: Outcome, seed: int = 0) -> dict[str, Any]:
    """W, median and mean judged, mean tau, each with a bootstrap interval over trials."""
    by_trial = outcome.winnings.mean(axis=1)
    figures: dict[str, tuple[Floats, Callable[..., Any]]] = {
        "W": (by_trial, np.mean),
        "median judged": (outcome.judged, np.median),
        "mean judged": (outcome.judged, np.mean),
        "mean tau": (outcome.tau, np.mean),
    }
    return {
        name: (float(statistic(values)), *bootstrap(values, statistic, seed))
        for name, (values, statistic) in figures.items()
    }


# -- tables and figures ---------------------------------------------------------------------------------------


def study(
    experiment: BaseExperiment,
    settings: RTCSettings | None = None,
    *,
    progress: Callable[[str], None] = lambda what: None,
    step: Callable[[], None] = lambda: None,
) -> Study:
    """All tables and figures of the paper for this collection; `step` is called for each batch of trials."""
    settings = settings or RTCSettings()
    qrels = experiment.qrels
    world = make_world(experiment, settings.depth)
    progress("runs gathered")
    rows = trials(world, settings, step)
    outcomes = {method: Outcome.of(rows, method) for method in settings.methods}
    pooled = Outcome.of(rows, "IP") if "MTC" in settings.methods else None
    result = Study(
        PAPER,
        f"{qrels.source}: {settings.trials:,} trials of {settings.systems} of {len(world.candidates.names)} systems, "
        f"{settings.initial} of them judged to {settings.until:.0%} confidence, {len(world.candidates.topics)} topics, "
        f"depth {settings.depth}",
    )
    result.notes += [
        "RTC literal: eq. 2 as printed, no intercept, beta prior (1, 1). RTC: with an intercept and prior (100, 100), "
        "the reading closest to the paper's figures. RTC uncertain: prior (1, 1), intercept, the model's own "
        "uncertainty counted twice. fusion: our model and selection, the default of `fathoms judge`.",
        f"The last bin holds confidence from {BINS[-2]} on. Losses are capped at {WORST_LOSS:g}. Seed {settings.seed}.",
        f"A pair is right if it agrees with AP of the first {settings.depth} documents under all judgments given; what "
        "these leave unjudged counts as not relevant.",
    ]
    _table_1(result, qrels, len(world.candidates.names))
    _table_2(result, outcomes, settings)
    _table_3(result, outcomes)
    _table_4(result, outcomes)
    _table_5(result, outcomes)
    _fig_2(result, outcomes)
    _side_results(result, outcomes, pooled)
    _tests(result, outcomes)
    return result


def _table_1(result: Study, qrels: Qrels, runs: int) -> None:
    judged = int((qrels.grades >= 0).sum())
    rows = [(qrels.source, len(qrels.topics), runs, judged, int((qrels.grades > 0).sum()))]
    result.add("table1", "the collection", ("track", "topics", "runs", "judged", "relevant"), rows)


def _table_2(result: Study, outcomes: dict[str, Outcome], settings: RTCSettings) -> None:
    columns: dict[str, list[Any]] = {
        "paper's MTC accuracy": list(PAPER_MTC[0]),
        "paper's RTC accuracy": list(PAPER_RTC[0]),
    }
    for method, outcome in outcomes.items():
        share, accuracy = accuracy_by_bin(outcome.confidence, outcome.right)
        columns |= {f"{method} % in bin": share, f"{method} accuracy": list(accuracy)}
    rows: list[list[Any]] = [[name, *(column[i] for column in columns.values())] for i, name in enumerate(BIN_NAMES)]
    figures = {method: summary(outcome, settings.seed) for method, outcome in outcomes.items()}
    for place, name in enumerate(("W", "median judged", "mean tau"), 1):
        own = [cell for method in outcomes for cell in (None, figures[method][name][0])]
        rows.append([name, PAPER_MTC[place], PAPER_RTC[place], *own])
    result.add(
        "table2",
        "confidence and accuracy of pairs, by method",
        ("confidence", *columns),
        rows,
        note="The paper's figures are from TREC 3 and 5 to 8 together.",
    )
    intervals = [
        (method, name, *figures[method][name])
        for method in outcomes
        for name in ("W", "median judged", "mean judged", "mean tau")
    ]
    result.add(
        "table2b",
        "the same in short, with 95% bootstrap intervals over trials",
        ("method", "figure", "value", "low", "high"),
        intervals,
    )


def _by_group(outcomes: dict[str, Outcome], groups: dict[str, Callable[[Outcome], Bools]]) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for method, outcome in outcomes.items():
        masks = [mask(outcome) for mask in groups.values()]
        parts = [accuracy_by_bin(outcome.confidence[mask], outcome.right[mask])[1] for mask in masks]
        rows += [[method, name, *(part[i] for part in parts)] for i, name in enumerate(BIN_NAMES)]
        means = [float(outcome.winnings[mask].mean()) if mask.any() else None for mask in masks]
        rows.append([method, "W", *means])
        rows.append([method, "pairs", *(int(mask.sum()) for mask in masks)])
    return rows


def _table_3(result: Study, outcomes: dict[str, Outcome]) -> None:
    groups: dict[str, Callable[[Outcome], Bools]] = {
        "two original": lambda outcome: outcome.original == 2,
        "one original": lambda outcome: outcome.original == 1,
        "no original": lambda outcome: outcome.original == 0,
    }
    rows = _by_group(outcomes, groups)
    result.add(
        "table3", "accuracy by how many systems of a pair were judged first", ("method", "confidence", *groups), rows
    )


def _table_4(result: Study, outcomes: dict[str, Outcome]) -> None:
    most = max(int(_tenths(outcome).max()) for outcome in outcomes.values())
    groups: dict[str, Callable[[Outcome], Bools]] = {
        f"{tenth / 10:.1f} - {(tenth + 1) / 10:.1f}": partial(_alike, tenth) for tenth in range(max(most, 2) + 1)
    }
    rows = _by_group(outcomes, groups)
    result.add(
        "table4",
        "accuracy of pairs by the share of documents in common",
        ("method", "confidence", *groups),
        rows,
        note="The paper's table has the first three groups; the others cover what else is found here.",
    )


def _tenths(outcome: Outcome) -> Ints:
    """Into which tenth each pair's share of documents in common falls; all in common belongs to the last."""
    return np.minimum(np.floor(outcome.similarity * 10 + 1e-9), 9).astype(np.int64)


def _alike(tenth: int, outcome: Outcome) -> Bools:
    return _tenths(outcome) == tenth


def _table_5(result: Study, outcomes: dict[str, Outcome]) -> None:
    accuracies = {method: accuracy_by_bin(outcome.confidence, outcome.right)[1] for method, outcome in outcomes.items()}
    rows: list[list[Any]] = [
        [name, PAPER_AD_HOC_99[0][i], *(accuracy[i] for accuracy in accuracies.values())]
        for i, name in enumerate(BIN_NAMES)
    ]
    figures = [
        ("W", PAPER_AD_HOC_99[1], [float(outcome.winnings.mean()) for outcome in outcomes.values()]),
        ("median judged", PAPER_AD_HOC_99[2], [float(np.median(outcome.judged)) for outcome in outcomes.values()]),
        ("mean tau", PAPER_AD_HOC_99[3], [float(outcome.tau.mean()) for outcome in outcomes.values()]),
    ]
    rows += [[name, paper, *ours] for name, paper, ours in figures]
    result.add(
        "table5",
        "accuracy, W, judgments and tau on this collection",
        ("confidence", "paper, ad hoc 99", *outcomes),
        rows,
        note="The paper's column is TREC-8 ad hoc: compare it on that collection only.",
    )


def _fig_2(result: Study, outcomes: dict[str, Outcome]) -> None:
    rows: list[Sequence[Any]] = []
    for method, outcome in outcomes.items():
        order = np.argsort(outcome.confidence, axis=None, kind="stable")
        points = max(1, min(25, len(order) // 500))  # at least 500 pairs a point, as in the paper
        for part in np.array_split(order, points):
            hits = outcome.right.ravel()[part]
            rows.append((method, float(outcome.confidence.ravel()[part].mean()), float(hits.mean()), len(part)))
    rows += [("ideal", 0.5, 0.5, 0), ("ideal", 1.0, 1.0, 0)]
    columns = ["method", "confidence", "accuracy", "pairs"]
    result.add(
        "fig2",
        "confidence against accuracy",
        columns,
        rows,
        note="On the ideal line pairs are right as often as the confidence says, above it more often.",
        chart=chart(
            "lines",
            rows,
            columns,
            x="confidence",
            y="accuracy",
            group="method",
            title="How often pairs are right, by the confidence in them",
            axes=("confidence", "accuracy"),
        ),
    )


def _side_results(result: Study, outcomes: dict[str, Outcome], pooled: Outcome | None) -> None:
    """What section 5 says beside its tables."""
    rows: list[list[Any]] = []
    for method, outcome in outcomes.items():
        few = outcome.judged <= FEW
        sure = outcome.confidence >= 0.9
        unlike = _alike(0, outcome)
        high = outcome.confidence >= CAP
        before = np.broadcast_to(outcome.judged[:, None], high.shape)
        wrong, right = high & ~outcome.right, high & outcome.right
        capped = winnings(np.minimum(outcome.confidence, CAP), outcome.right)
        figures = {
            f"trials with at most {FEW} judgments, %": 100 * float(few.mean()),
            "W of those": _mean(outcome.winnings[few]),
            "their accuracy at confidence 0.9 and above, %": _percent(outcome.right[few][sure[few]]),
            "accuracy at confidence 0.9 and above in the others, %": _percent(outcome.right[~few][sure[~few]]),
            "accuracy of pairs with less than 10% in common, %": _percent(outcome.right[unlike]),
            f"mean judgments before wrong predictions at {CAP} and above": _mean(before[wrong]),
            "mean judgments before right ones": _mean(before[right]),
            f"W with confidence capped at {CAP}": float(capped.mean()),
        }
        rows += [[method, name, value] for name, value in figures.items()]
    if pooled is not None:
        rows += [
            ["IP", "mean tau at MTC's number of judgments", float(pooled.tau.mean())],
            ["IP", "accuracy of pairs with less than 10% in common, %", _percent(pooled.right[_alike(0, pooled)])],
        ]
    result.add("tableA", "section 5's side results", ("method", "figure", "value"), rows)


def _mean(values: NDArray[Any]) -> float | None:
    return float(values.mean()) if values.size else None


def _percent(right: Bools) -> float | None:
    return 100 * float(right.mean()) if right.size else None


def _tests(result: Study, outcomes: dict[str, Outcome]) -> None:
    """Paired tests between methods on the same trials (section 4.4.1)."""
    from scipy.stats import ttest_rel, wilcoxon

    rows: list[list[Any]] = []
    for a, b in combinations(outcomes, 2):
        for name, test in (("judged", wilcoxon), ("judged", ttest_rel), ("tau", ttest_rel)):
            one, two = getattr(outcomes[a], name), getattr(outcomes[b], name)
            if (one != two).any():
                middle = np.median if test is wilcoxon else np.mean
                # Differences that are all alike have no variance to test with; then it is the signs that are tested.
                alike = test is ttest_rel and np.ptp(one - two) < 1e-9
                p = 2.0 ** (1 - len(one)) if alike else float(test(one, two).pvalue)
                rows.append([a, b, name, test.__name__, float(middle(one - two)), p])
    columns = ("method", "other", "figure", "test", "difference", "p")
    result.add("tableB", "paired tests between methods on the same trials", columns, rows)
