"""Lu, Moffat and Culpepper, "Modeling Relevance as a Function of Retrieval Rank" (AIRS 2016), on any collection.

Only the runs that contributed to the pool are looked at, as in the paper's section 4. Shallower pools are the judgments
of documents that a contributing run has at that depth or above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fathoms.comparison.significance import paired_t
from fathoms.data.qrels import Qrels
from fathoms.errors import FathomsError
from fathoms.estimate.gain_models import CurveFit, HybridFit, fit_model, hybrid
from fathoms.estimate.predict import empirical_gains
from fathoms.estimate.predictors import interpolated
from fathoms.evidence.evidence import Floats, Ints
from fathoms.evidence.pool import with_judgments
from fathoms.experiment.base import BaseExperiment
from fathoms.measures.base import Measure
from fathoms.measures.parse import parse_measure
from fathoms.papers.exhibits import Study, chart, described
from fathoms.papers.rm import Bench

PAPER = "Lu, Moffat and Culpepper (2016), Modeling Relevance as a Function of Retrieval Rank"
PERSISTENCE = 0.95
MODELS = ("static", "constant", "linear", "zipf", "weibull")  # those of the paper; the hybrid is the best of them
EXTRAPOLATED = ("constant", "linear", "zipf", "weibull", "hybrid")

# Table 3 of the paper, Robust04 with k = d = 100: root-mean-square error and percent inside.
PAPER_TABLE_3 = {
    20: ((0.020, 33), (0.015, 33), (0.027, 15), (0.018, 31), (0.018, 31), (0.040, 9)),
    40: ((0.004, 60), (0.003, 65), (0.005, 56), (0.004, 65), (0.004, 65), (0.010, 31)),
    60: ((0.001, 78), (0.001, 84), (0.001, 89), (0.001, 88), (0.001, 88), (0.002, 71)),
    80: ((0.000, 92), (0.000, 95), (0.000, 99), (0.000, 97), (0.000, 97), (0.000, 98)),
}


@dataclass(frozen=True)
class GainSettings:
    depth: int | None = None  # of the full pool; measured where not given


def study(
    experiment: BaseExperiment,
    settings: GainSettings | None = None,
    *,
    progress: Callable[[str], None] = lambda what: None,
) -> Study:
    """All tables and figures of the paper for this collection."""
    settings = settings or GainSettings()
    bench = Bench(experiment)
    qrels = bench.qrels
    if settings.depth is None and not bench.pool.known:
        raise FathomsError("the contributing runs have unjudged documents at rank 1; give the pool's depth (--depth)")
    d = settings.depth or bench.pool.depth
    if d < 5:
        raise FathomsError(f"a pool of depth {d} is too shallow for the paper's experiments, which need 5 or more")
    progress("runs aligned")
    measure = parse_measure(f"RBP(p={PERSISTENCE})@{d}")
    fitted = range(_tenth(d), d // 2 + 1, _tenth(d))
    extrapolated = [depth for depth in (d * tenths // 10 for tenths in (2, 4, 6, 8)) if depth >= 2]
    curves = Curves(bench, measure, [*fitted, *extrapolated, d])
    result = Study(
        PAPER,
        f"{described(qrels)}, {len(bench.contributing)} contributing runs, pool depth {d}",
    )
    in_pool = (bench.depths <= d) & (qrels.grades >= 0)
    result.notes += [
        *bench.assumed,
        f"Used are the {int(in_pool.sum()):,} judgments of documents that a contributing run has in its first {d}.",
        "Gains are those of RBP: 1 for relevant documents. The paper used Robust04 and Terabyte06.",
        bench.how_read,
    ]
    _fig_2(result, bench, d, _tenth(d))
    relevant, judged = _counts(qrels, bench, d)
    _fig_3(result, qrels, bench, d, relevant, judged)
    _table_2(result, curves, fitted)
    progress("fits")
    _fig_4(result, qrels, curves, d, relevant)
    _table_3(result, bench, curves, measure, d, extrapolated)
    progress("extrapolations")
    return result


def _tenth(d: int) -> int:
    return max(1, d // 10)


class Curves:
    """Empirical gains, and the models fitted to them, at some depths: `gains[depth]`, `fits[depth]`."""

    def __init__(self, bench: Bench, measure: Measure, depths: Iterable[int]) -> None:
        def one(depth: int) -> tuple[Floats, dict[str, CurveFit | HybridFit]]:
            """Gains at ranks 1..depth from the pool of that depth."""
            pool = bench.depths <= depth
            evidences = (with_judgments(a, bench.qrels, pool).cut(depth) for a in bench.contributing.values())
            gains = empirical_gains(evidences, measure, depth)[0]
            single = {name: fit_model(name, gains) for name in MODELS}
            return gains, {**single, "hybrid": hybrid(list(single.values()))}

        different = sorted(set(depths), reverse=True)  # the longest work first
        found = dict(zip(different, bench.parallel_map(one, different), strict=True))
        self.gains = {depth: gains for depth, (gains, _) in found.items()}
        self.fits = {depth: fits for depth, (_, fits) in found.items()}


def _fig_2(result: Study, bench: Bench, d: int, shallow: int) -> None:
    name = sorted(bench.contributing)[len(bench.contributing) // 2]
    row = len(bench.qrels.topics) // 2
    topic = bench.qrels.topics[row]
    rows: list[Sequence[Any]] = []
    for depth in (shallow, d):
        evidence = with_judgments(bench.contributing[name], bench.qrels, bench.depths <= depth).select([row])
        for k in range(1, d + 1):
            measure = parse_measure(f"RBP(p={PERSISTENCE})@{k}")
            low, high = measure.range(evidence, measure.value(evidence))
            if low is not None and high is not None:
                rows += [(f"minimum, pool {depth}", k, float(low[0])), (f"maximum, pool {depth}", k, float(high[0]))]
    columns = ["bound", "depth", "score"]
    result.add(
        "fig2",
        f"RBP({PERSISTENCE}) range of run {name}, topic {topic}, by evaluation depth",
        columns,
        rows,
        chart=chart(
            "lines",
            rows,
            columns,
            x="depth",
            y="score",
            group="bound",
            axes=("evaluation depth k", "RBP"),
            title=f"The range of a score under two pools ({name}, topic {topic})",
        ),
    )


def _counts(qrels: Qrels, bench: Bench, d: int) -> tuple[Ints, Ints]:
    """Relevant and judged documents of each topic in the pool."""
    counts = qrels.count(bench.depths <= d)
    return counts[:, qrels.levels > 0].sum(axis=1), counts.sum(axis=1)


def _fig_3(result: Study, qrels: Qrels, bench: Bench, d: int, relevant: Ints, judged: Ints) -> None:
    rows: list[Sequence[Any]] = [
        (topic, int(a), int(b)) for topic, a, b in zip(qrels.topics, judged, relevant, strict=True)
    ]
    names = ["topic", "judged", "relevant"]
    result.add(
        "fig3a",
        "judged and relevant documents by topic",
        names,
        rows,
        chart=chart(
            "dots",
            rows,
            names,
            x="judged",
            y="relevant",
            title="Judged and relevant documents of each topic",
            axes=("judged documents", "relevant documents"),
        ),
    )
    step = _tenth(d)
    bands: list[Sequence[Any]] = []
    for start in range(1, d + 1, step):
        end = min(start + step - 1, d)
        inside = (bench.depths >= start) & (bench.depths <= end) & (qrels.grades >= 0)
        share = 100 * float((qrels.grades[inside] > 0).mean()) if inside.any() else 0.0
        bands.append(("all topics", end, share, int(inside.sum())))
    columns = ["topics", "depth", "percent_relevant", "documents"]
    result.add(
        "fig3",
        "relevant documents among those that enter the pool, by depth",
        columns,
        bands,
        chart=chart(
            "lines",
            [band for band in bands if band[2] > 0],
            columns,
            x="depth",
            y="percent_relevant",
            group="topics",
            log_y=True,
            title="Relevant share of the documents that each band of the pool adds",
            axes=("pool depth", "relevant (%)"),
        ),
    )


def _table_2(result: Study, curves: Curves, depths: Sequence[int]) -> None:
    names = [*MODELS, "hybrid"]
    rows: list[Sequence[Any]] = []
    for depth in depths:
        fits = curves.fits[depth]
        errors = np.stack([fits[name].rmse for name in names])
        p = paired_t(errors)[:, names.index("hybrid")]
        cells = []
        for i, name in enumerate(names):
            cells += [float(errors[i].mean()), "dagger" if name != "hybrid" and p[i] > 0.05 else ""]
        rows.append((depth, *cells))
    columns = ["depth", *(part for name in names for part in (name, f"{name}_mark"))]
    result.add(
        "table2",
        "RMSE of the fitted models to the empirical gains, mean over topics",
        columns,
        rows,
        note="dagger: not significantly different from the hybrid (two-tailed paired t-test over topics, 0.05).",
    )


def _fig_4(result: Study, qrels: Qrels, curves: Curves, d: int, relevant: Ints) -> None:
    topic = int(np.argsort(relevant, kind="stable")[3 * len(relevant) // 4])
    ranks = np.arange(1.0, d + 1)
    rows: list[Sequence[Any]] = [
        ("empirical", d, int(k), float(g)) for k, g in zip(ranks, curves.gains[d][topic], strict=True)
    ]
    for depth in (d, _tenth(d)):
        for name, fit in curves.fits[depth].items():
            if name != "hybrid":
                rows += [(name, depth, int(k), float(g)) for k, g in zip(ranks, fit.predict(ranks)[topic], strict=True)]
    columns = ["model", "fitted_at", "rank", "gain"]
    for part, depth in (("fig4", d), ("fig4b", _tenth(d))):
        drawn = [row for row in rows if row[1] == depth and row[0] != "empirical"]
        title = f"Gain by rank, topic {qrels.topics[topic]}, fitted to the top {depth}"
        result.add(
            part,
            title,
            columns,
            rows if part == "fig4" else drawn,
            chart=chart(
                "lines",
                drawn,
                columns,
                x="rank",
                y="gain",
                group="model",
                title=title,
                axes=("rank", "mean gain"),
                points=[row for row in rows if row[0] == "empirical"],
            ),
        )


def _table_3(result: Study, bench: Bench, curves: Curves, measure: Measure, d: int, depths: Sequence[int]) -> None:
    """Scores extrapolated from the pool of depth d', against the range that the full pool leaves (Fig. 2's A, B, C)."""
    qrels = bench.qrels
    k = int(measure.k or d)
    rows: list[Sequence[Any]] = []

    def one(name: str) -> list[list[Floats]]:
        """By depth and method, how far outside of the final range the run's estimates are."""
        aligned = bench.contributing[name]
        full = measure.scores(with_judgments(aligned, qrels, bench.depths <= d).cut(k))
        errors = []
        for depth in depths:
            evidence = with_judgments(aligned, qrels, bench.depths <= depth).cut(k)
            known = measure.scores(evidence)
            if known.high is None or full.low is None or full.high is None:
                raise FathomsError(f"{measure.name} has no range")
            ranks = np.arange(1.0, evidence.width + 1)
            estimates = [measure.predicted(evidence, curves.fits[depth][m].predict(ranks)) for m in EXTRAPOLATED]
            # The residual at the same weighted rate as the judged documents: RM's interpolation with C = 1.
            estimates.append(interpolated(known.score, known.high - known.score, 1.0, 0.01))
            errors.append([np.maximum(np.maximum(full.low - X, X - full.high), 0.0) for X in estimates])
        return errors

    found = bench.parallel_map(one, bench.contributing)
    for place, depth in enumerate(depths):
        cells: list[Any] = []
        for method in range(len(EXTRAPOLATED) + 1):
            epsilon = np.array([of_run[place][method] for of_run in found])
            inside = 100 * float((epsilon < 1e-12).mean())
            cells += [float(np.sqrt((epsilon**2).mean(axis=1)).mean()), inside]
        paper: list[float | None] = [x for pair in PAPER_TABLE_3.get(depth, ()) for x in pair] if d == 100 else []
        rows.append((depth, *cells, *(paper or [None] * 12)))
    methods = (*EXTRAPOLATED, "RM")
    columns = ["depth", *(x for m in methods for x in (m, f"{m}_inside"))]
    columns += [x for m in methods for x in (f"paper_{m}", f"paper_{m}_inside")]
    result.add(
        "table3",
        f"root-mean-square error of extrapolated {measure.name}, and percent inside the final range",
        columns,
        rows,
        note="Mean over systems of the root-mean-square over topics. The paper's columns are Robust04's.",
    )
