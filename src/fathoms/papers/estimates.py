"""All estimates of a score, on the same pools and against the same truth: RM's, LMC-gain's, RTC's and ours.

The papers each compare their own estimates, on their own measures and pools. Here the pool is cut to shallower ones,
every method estimates the score of every contributing run, and the truth is the score under the judgments of the whole
pool, which leave nothing of these runs unjudged down to its depth. Our readings:

    error      root mean square over runs, of means over topics
    bias       mean over runs of estimate less truth
    covered    share of runs whose truth lies in the method's 95% interval, of the mean over topics
    order      Kendall's tau_b between the runs by estimate and by truth
    reversals  share of pairs that are significant by the estimates (paired t, p < 0.05) and not by the truth, or the
               other way round in direction (RM section 4 counts the former on scores)

RM's and LMC-gain's methods give a point: their papers have no distribution for it, so they have no interval but the
range that RM calls [B, T].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.base.tolerances import SAME
from fathoms.estimate.names import DEFAULT, METHODS, RELEVANCE_MODELS
from fathoms.evidence.evidence import Floats
from fathoms.experiment.base import BaseExperiment
from fathoms.inference.correlation import correlation
from fathoms.inference.significance import paired_t, pairs
from fathoms.measures.base import Measure
from fathoms.measures.parse import parse_measure
from fathoms.papers.exhibits import Study, as_sentence, chart, described, panes
from fathoms.papers.printing import Column
from fathoms.questions.predict.analysis import run_prediction
from fathoms.questions.predict.result import PLAIN, EstimateRow
from fathoms.questions.predict.shallower_pool import ShallowerPool, shallower_pool

PAPER = "The five papers' estimates side by side"
MEASURES = ("P@10", "RBP(p=0.95)", "nDCG@10", "AP")
SHARES = (0.05, 0.1, 0.25, 0.5)  # of the pool's depth
SIGNIFICANCE = 0.05
FEWEST_RUNS = 3
ORIGIN = {
    **dict.fromkeys(METHODS[:4], "RM"),
    **dict.fromkeys(METHODS[4:10], "LMC-gain"),
    RELEVANCE_MODELS[0]: "RTC",
    PLAIN: "unjudged taken as not relevant",
}
OWN = "fathoms"
COLUMNS = ("measure", "pool", "method", "of", "error", "bias", "covered", "width", "order", "reversals")


@dataclass(frozen=True)
class EstimatesSettings:
    measures: Sequence[str] = MEASURES
    methods: Sequence[str] = METHODS


@dataclass(frozen=True, eq=False)
class Estimated:
    """What one method says of all runs by one measure."""

    by_topic: Floats  # [run, topic]
    low: Floats | None = None  # [run], of the mean; None where the method has no interval
    high: Floats | None = None


def study(
    experiment: BaseExperiment,
    settings: EstimatesSettings | None = None,
    *,
    progress: Callable[[str], None] = lambda what: None,
) -> Study:
    """A table with all methods, one with the errors side by side, and a chart of them."""
    settings = settings or EstimatesSettings()
    measures = [parse_measure(name) for name in settings.measures]
    pool = experiment.pool_assumed()
    if not pool.known:
        raise FathomsError("the contributing runs have unjudged documents at rank 1, so no shallower pool can be tried")
    if len(pool.names) < FEWEST_RUNS:
        raise FathomsError(
            f"estimates are compared over {FEWEST_RUNS} contributing runs or more, found {len(pool.names)}"
        )
    depths = sorted({max(1, int(pool.depth * share)) for share in SHARES} - {pool.depth})
    if not depths:
        raise FathomsError(f"a pool of depth {pool.depth} cannot be cut to a shallower one")
    rows: list[tuple[Any, ...]] = []
    for depth in depths:
        cut = shallower_pool(experiment, measures, depth)
        if cut is not None:
            rows += _rows(cut, measures, settings.methods)
        progress(f"pool of depth {depth}")
    if not rows:
        raise FathomsError("no shallower pool leaves a score open, so there is nothing to estimate")
    order = [measure.name for measure in measures]
    rows.sort(key=lambda row: (order.index(row[0]), row[1]))  # a stable sort: methods stay as they are
    result = Study(
        PAPER,
        f"{described(experiment.qrels)}, {len(pool.names)} contributing runs, pool depth {pool.depth}",
        systems=len(pool.names),
        short="estimates",
    )
    _table_1(result, rows)
    _table_2(result, rows)
    _figure_1(result, rows, measures)
    result.notes += _notes(experiment)
    return result


def _notes(experiment: BaseExperiment) -> list[str]:
    pool = experiment.pool_assumed()
    return [
        *([as_sentence(pool.sentence)] if experiment.options.pooled is None else []),
        f"The truth is the score under all judgments of the first {pool.depth} documents of the contributing runs.",
        "The methods of Ravana and Moffat and of Lu, Moffat and Culpepper give a point without a distribution, so they "
        "have no interval. Those of Carterette and ours draw the relevance of the unjudged documents.",
        "Reversals: pairs that are significant by the estimates (paired t-test, p < 0.05) but not by the truth, or "
        "significant by both in opposite directions.",
    ]


def _rows(cut: ShallowerPool, measures: Sequence[Measure], methods: Sequence[str]) -> list[tuple[Any, ...]]:
    prediction = run_prediction(cut.experiment, measures, methods, by_topic=True, to_depth=cut.whole_depth)
    of_method: dict[tuple[str, str], list[EstimateRow]] = {}
    for row in prediction.estimated:
        of_method.setdefault((row.measure, row.method), []).append(row)
    rows = []
    for measure in measures:
        truth = cut.truth[measure.name]
        plain = _estimated(of_method[measure.name, methods[0]], cut, "score")
        if np.abs(plain.by_topic - truth).max() <= SAME:
            continue  # nothing that this measure reads is unjudged
        by_method = {PLAIN: plain} | {m: _estimated(of_method[measure.name, m], cut, "estimate") for m in methods}
        for method, estimated in by_method.items():
            rows.append((measure.name, cut.depth, method, ORIGIN.get(method, OWN), *_scored(estimated, truth)))
    return rows


def _estimated(rows: Sequence[EstimateRow], cut: ShallowerPool, column: Literal["score", "estimate"]) -> Estimated:
    """From the rows of one measure and method. The plain score, in those of any method, has no interval."""
    run_number = {run: i for i, run in enumerate(cut.runs)}
    topic_number = {topic: i for i, topic in enumerate(cut.topics)}
    by_topic = np.zeros((len(cut.runs), len(cut.topics)))
    ends = np.full((2, len(cut.runs)), np.nan)
    for row in rows:
        if row.topic != "all":
            by_topic[run_number[row.run], topic_number[row.topic]] = getattr(row, column)
        elif column == "estimate" and row.likely_low is not None:
            ends[:, run_number[row.run]] = row.likely_low, row.likely_high
    return Estimated(by_topic) if np.isnan(ends).any() else Estimated(by_topic, ends[0], ends[1])


def _scored(estimated: Estimated, truth: Floats) -> tuple[float | None, ...]:
    """Error, bias, covered, width, order, reversals."""
    means, true_means = estimated.by_topic.mean(axis=1), truth.mean(axis=1)
    covered = width = None
    if estimated.low is not None and estimated.high is not None:
        inside = (estimated.low <= true_means + SAME) & (true_means <= estimated.high + SAME)
        covered, width = float(100 * inside.mean()), float((estimated.high - estimated.low).mean())
    tau = correlation(means, true_means)
    return (
        float(np.sqrt(((means - true_means) ** 2).mean())),
        float((means - true_means).mean()),
        covered,
        width,
        None if np.isnan(tau) else tau,
        100 * reversed_share(estimated.by_topic, truth),
    )


def reversed_share(estimates: Floats, truth: Floats, alpha: float = SIGNIFICANCE) -> float:
    """The share of pairs whose difference is significant by the estimates [run, topic], and not so by the truth."""
    claimed, true = pairs(paired_t(estimates)) < alpha, pairs(paired_t(truth)) < alpha
    by_estimate, by_truth = (_signs_of_pairs(scores) for scores in (estimates, truth))
    return float((claimed & (~true | (by_estimate != by_truth))).mean())


def _signs_of_pairs(scores: Floats) -> Floats:
    means = scores.mean(axis=1)
    return pairs(np.sign(means[:, None] - means))


# -- exhibits ---------------------------------------------------------------------------------------------------------


def _table_1(result: Study, rows: Sequence[tuple[Any, ...]]) -> None:
    result.add(
        "table1",
        "Each method against the whole pool",
        COLUMNS,
        rows,
        layout=[
            Column("Measure", "measure"),
            Column("Pool", "pool"),
            Column("Method", "method"),
            Column("Of", "of"),
            Column("Error", "error", 4),
            Column("Bias", "bias", 4, signed=True),
            Column("Covered", "covered", 0, "%"),
            Column("Width", "width", 4),
            Column("Order", "order", 3),
            Column("Reversals", "reversals", 1, "%"),
        ],
        note="Pool: its depth. Covered: runs whose true mean lies in the method's 95% interval.",
    )


def _table_2(result: Study, rows: Sequence[tuple[Any, ...]]) -> None:
    """Errors, methods as columns, so that the least of each row can be seen."""
    methods = list(dict.fromkeys(row[2] for row in rows))
    error = {(row[0], row[1], row[2]): row[4] for row in rows}
    cells = list(dict.fromkeys((row[0], row[1]) for row in rows))
    table = [
        (
            measure,
            pool,
            *(error[measure, pool, method] for method in methods),
            methods[min((error[measure, pool, method], place) for place, method in enumerate(methods))[1]],
        )
        for measure, pool in cells
    ]
    result.add(
        "table2",
        "Errors side by side: which estimate wins where",
        ("measure", "pool", *methods, "least"),
        table,
        layout=[
            Column("Measure", "measure"),
            Column("Pool", "pool"),
            *(Column(method, method, 4, best_of_row="lowest") for method in methods),
            Column("Least", "least"),
        ],
        note="Root mean square error of the runs' means; the least of each row in bold.",
    )


def _figure_1(result: Study, rows: Sequence[tuple[Any, ...]], measures: Sequence[Measure]) -> None:
    """The least error that each paper's methods reach; with all methods there would be more lines than colours."""
    least: dict[tuple[str, int, str], float] = {}
    for row in rows:
        of = row[2] if row[2] in (PLAIN, DEFAULT) else row[3]
        if of != OWN:
            cell = (row[0], row[1], f"{of}, best of its own" if of in ("RM", "LMC-gain") else of)
            least[cell] = min(least.get(cell, np.inf), row[4])
    drawings = []
    for measure in measures:
        points = [(pool, error, of) for (name, pool, of), error in least.items() if name == measure.name]
        if len({pool for pool, *_ in points}) > 1:
            drawings.append(
                chart(
                    "lines",
                    points,
                    ("pool", "error", "method"),
                    x="pool",
                    y="error",
                    group="method",
                    title=measure.name,
                    axes=("depth of the pool", "error of means"),
                )
            )
    result.add(
        "fig1",
        "Error by depth of the pool",
        ("measure", "pool", "method", "error"),
        [(*cell, error) for cell, error in least.items()],
        chart=panes(drawings, "Error by depth of the pool"),
        note="Of RM's four and LMC-gain's six methods the one that is best at that depth.",
    )
