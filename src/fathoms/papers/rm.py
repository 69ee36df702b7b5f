"""Ravana and Moffat, "Estimating System Effectiveness Scores With Incomplete Evidence" (ADCS 2010), on any collection.

The judgments are put in order of the least depth at which a contributing run has their document, prefixes of that order
stand for shallower pools, and the runs are scored, apart for those that contributed and those that did not (section 4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from fathoms.base import choices
from fathoms.base.errors import FathomsError
from fathoms.base.text import pluralise
from fathoms.estimate.predictors import (
    PAPERS_ALPHA,
    Alpha,
    Constants,
    Predictor,
    rm_predict,
)
from fathoms.evidence.align import Aligned
from fathoms.evidence.evidence import Floats
from fathoms.evidence.pool import NEVER, prefix, with_judgments
from fathoms.experiment.base import BaseExperiment
from fathoms.inference.correlation import rmse
from fathoms.inference.significance import paired_t, pairs, reversals, separability
from fathoms.measures.parse import parse_measure
from fathoms.papers import rm_printed as in_paper
from fathoms.papers.bench import Bench
from fathoms.papers.exhibits import Drawing, Study, chart, described, panes
from fathoms.papers.printing import Column
from fathoms.papers.rm_prefixes import SIZES, STUDIED, Prefixes, Ranges, prefixes_of, ranges_under
from fathoms.papers.rm_prefixes import RMSettings as RMSettings
from fathoms.questions.predict.tuning import CONSTANT_ALPHAS, POWERS_OF_ALPHA, Tuned, surface, tune

PAPER = "Ravana and Moffat (2010), Estimating System Effectiveness Scores With Incomplete Evidence"
LABELS = in_paper.METRICS
MEASURES = tuple(LABELS)
ADDING = MEASURES[:3]  # weighted precision, the only ones that the paper predicts
TUNED: tuple[Predictor, ...] = ("background", "interpolated", "smoothed")
BEST_ALPHA = "smoothed, best α"


# -- the study --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Systems:
    """A set of runs with their ranges by measure, and by order and number of judgments."""

    label: str  # as the paper's 46-non and 59-con
    runs: dict[str, Aligned]
    ranges: dict[str, dict[tuple[int, int], Ranges]]


@dataclass(frozen=True, eq=False)
class Work:
    """What all tables and figures are made from."""

    bench: Bench
    prefixes: Prefixes
    sets: list[Systems]  # the runs that did not contribute first, which the paper's tables are about
    chosen: dict[Predictor, Constants]
    is_published: bool
    tuned: dict[tuple[str, str], Tuned]  # by measure and predictor, on the contributing runs
    significance: float

    @property
    def contributing(self) -> Systems:
        return self.sets[-1]

    def parts(self, name: str) -> tuple[Floats, Floats, Floats]:
        """B and delta of the contributing runs [size, system, topic], and their B with all judgments."""
        ranges = self.contributing.ranges[name]
        some = [ranges[0, size] for size in self.prefixes.sizes]
        return np.stack([r.B for r in some]), np.stack([r.delta for r in some]), ranges[0, self.prefixes.n].B

    def words(self, method: Predictor) -> str:
        """C = 0.42, E = 0.01, and alpha where it is not the paper's."""
        used = self.chosen[method]
        alpha = f", α = {used.alpha}" if method == "smoothed" and used.alpha != PAPERS_ALPHA else ""
        return f"C = {used.C:.2f}, E = {used.E:.2f}{alpha}"


def study(
    experiment: BaseExperiment,
    settings: RMSettings | None = None,
    *,
    progress: Callable[[str], None] = lambda what: None,
) -> Study:
    """All tables and figures of the paper for this collection."""
    settings = settings or RMSettings()
    significance = choices.checked("significance", choices.share, settings.significance)
    chosen = settings.chosen()
    bench = Bench(experiment)
    prefixes = prefixes_of(bench, settings)
    measures = [parse_measure(name) for name in MEASURES]
    groups = {f"{len(runs)}-{kind}": runs for kind, runs in (("non", bench.others), ("con", bench.contributing))}
    groups = {label: runs for label, runs in groups.items() if len(runs) > 1}
    if not any(label.endswith("con") for label in groups):
        raise FathomsError("RM's comparisons need at least two contributing runs")
    masks = prefixes.masks
    sets = []
    for label, runs in groups.items():
        by_mask = ranges_under(bench, runs, measures, [*masks.values()])
        by_measure = {
            name: dict(zip(masks, ranges, strict=True)) for name, ranges in zip(MEASURES, by_mask, strict=True)
        }
        sets.append(Systems(label, runs, by_measure))
        progress(f"{label} scored")
    work = Work(bench, prefixes, sets, chosen, settings.constants is None, {}, significance)
    work = replace(work, tuned=_tuned(work))
    progress("constants tuned")
    compared = bench.others if len(bench.others) > 1 else bench.contributing
    result = Study(PAPER, _collection(bench), systems=len(compared), short="rm")
    result.notes += _notes(work, settings)
    _table_1(result, work)
    _fig_1(result, work)
    _surfaces(result, work)
    _fig_4(result, work)
    _fig_5(result, work)
    _table_2(result, work)
    _errors(result, work)
    progress("tables and figures")
    return result


def _collection(bench: Bench) -> str:
    con, non = len(bench.contributing), len(bench.others)
    others = f"{pluralise(non, 'run')} that did not contribute ({non}-non)" if non > 1 else ""
    return f"{described(bench.qrels)}; {con} contributing runs ({con}-con)" + (f" and {others}" if others else "")


def _notes(work: Work, settings: RMSettings) -> list[str]:
    bench, prefixes = work.bench, work.prefixes
    inside = "in file order"
    if settings.prefix_order == "shuffle":
        inside = f"shuffled ({settings.shuffles} times; tables have means over the shuffles, figures show the first)"
    depths = bench.depths[bench.judged]
    notes = [
        *bench.assumed,
        f"Prefixes of the judgments go by least depth, inside one depth {inside}; {int((depths == 1).sum()):,} judged "
        f"documents have least depth 1, and {int((depths == NEVER).sum()):,} that no contributing run has come last.",
    ]
    if settings.sizes is None and prefixes.sizes != list(SIZES):
        notes.append(
            f"The paper's prefixes of 1,000 to 40,000 of 69,100 judgments do not fit {prefixes.n:,}; taken are "
            f"{', '.join(f'{size:,}' for size in prefixes.sizes)}, spread in the same way."
        )
    if len(bench.others) < 2:
        notes.append(
            "Fewer than two of the runs did not contribute, so all tables and figures are about the contributing ones."
        )
    if work.chosen["smoothed"].alpha != PAPERS_ALPHA:
        notes.append(
            f"The smoothed predictor is α X_I + (1 - α) X_B with α = {work.chosen['smoothed'].alpha}, not the paper's "
            "1-delta; the paper's constants were tuned for that."
        )
    return [*notes, bench.how_read]


def _tuned(work: Work) -> dict[tuple[str, str], Tuned]:
    seed = work.bench.options.seed
    wanted: tuple[Alpha, ...] = (work.chosen["smoothed"].alpha,)
    every = dict.fromkeys(map(str, TUNED), wanted) | {BEST_ALPHA: (*POWERS_OF_ALPHA, *CONSTANT_ALPHAS)}

    def tuned_on(task: tuple[str, str]) -> Tuned:
        name, method = task
        how: Any = "smoothed" if method == BEST_ALPHA else method
        return tune(how, *work.parts(name), alphas=every[method], seed=seed)

    tasks = [(name, method) for name in MEASURES for method in every if name in ADDING or method != BEST_ALPHA]
    return dict(zip(tasks, work.bench.parallel_map(tuned_on, tasks), strict=True))


# -- Table 1 and Fig. 1: shallow pooling and uncertainty --------------------------------------------------------------


def _table_1(result: Study, work: Work) -> None:
    prefixes = work.prefixes

    def mean(systems: Systems, size: int, name: str, value: Callable[[Ranges], Floats]) -> float:
        orders = range(len(prefixes.orders) if size == prefixes.few else 1)
        return float(np.mean([value(systems.ranges[name][order, size]).mean() for order in orders]))

    smoothed = "X_M" if work.chosen["smoothed"].alpha == PAPERS_ALPHA else "α X_I + (1 - α) X_B"
    contents: list[tuple[str, str, Callable[[Ranges], Floats]]] = [
        ("table1a", "base effectiveness scores, X_S = B", lambda r: r.B),
        ("table1b", "residuals resulting from unjudged documents, Δ", lambda r: r.delta),
        (
            "table1c",
            f"interpolated scores, X_I with {work.words('interpolated')}",
            lambda r: r.point("interpolated", work.chosen["interpolated"]),
        ),
        (
            "table1d",
            f"smoothed scores, {smoothed} with {work.words('smoothed')}",
            lambda r: r.point("smoothed", work.chosen["smoothed"]),
        ),
    ]
    shown = [size for size in (prefixes.few, prefixes.medium, prefixes.n) if size is not None]
    for table, title, value in contents:
        rows = [
            (systems.label, size, *(mean(systems, size, name, value) for name in MEASURES))
            for systems in work.sets
            for size in shown
        ]
        result.add(
            table,
            title,
            ["systems", "judgments", *MEASURES],
            rows,
            note="Means over topics and systems; con: the runs that contributed, non: those that did not."
            + (" The paper has no such estimates for AP and NDCG." if table in ("table1c", "table1d") else ""),
            layout=[
                Column("Systems", "systems"),
                Column("Judgments", "judgments"),
                *(Column(head, name, 4) for name, head in LABELS.items()),
            ],
            in_paper=in_paper.TABLE_1[table],
        )


def _fig_1(result: Study, work: Work) -> None:
    bench, size = work.bench, work.prefixes.few
    limits = [1, 2, 3, 4, 5, 6, 8, 11, 21, 51, 101]
    labels = [*(str(a) if b == a + 1 else f"{a}–{b - 1}" for a, b in pairwise(limits)), "101–"]
    kept = prefix(work.prefixes.orders[0], size)
    counts = bench.qrels.count(kept)
    rows: list[Sequence[Any]] = []
    for systems in work.sets[::-1]:
        first = []
        for aligned in systems.runs.values():
            evidence = with_judgments(aligned, bench.qrels, kept, counts)
            first.append(evidence.first_unjudged[evidence.lengths > 0])
        in_bins = np.histogram(np.concatenate(first), bins=[*limits, np.inf])[0]
        rows += [
            (systems.label, label, float(share))
            for label, share in zip(labels, 100 * in_bins / in_bins.sum(), strict=True)
        ]
    columns = ["systems", "rank", "percent"]
    result.add(
        "fig1",
        f"rank of the first unjudged document in each run, {size:,} judgments",
        columns,
        rows,
        note="Percent of the rankings of each set of systems; one judged to its end counts one rank past it.",
        chart=chart(
            "bars",
            rows,
            columns,
            x="rank",
            y="percent",
            group="systems",
            title=f"First unjudged document with {size:,} judgments",
            axes=("min. rank of unjudged document", "rankings (%)"),
        ),
    )


# -- Figs. 2 and 3: RMS error -----------------------------------------------------------------------------------------


def _surfaces(result: Study, work: Work) -> None:
    figures: tuple[tuple[str, Predictor], ...] = (("fig2", "interpolated"), ("fig3", "smoothed"))
    sizes = work.prefixes.sizes
    columns = ["metric", "C", "E", "rmse", "is_minimum"]
    for figure, predictor in figures:
        rows: list[Sequence[Any]] = []
        drawings: list[Drawing | None] = []
        minima = []
        for letter, name in zip("abc", ADDING, strict=True):
            best = work.tuned[name, predictor]
            C, E = best.constants.C, best.constants.E
            # The paper draws E to 0.2; here further where the minimum lies further.
            E_top = min(1.0, max(0.2, E + 0.05))
            Cs, Es = np.round(np.arange(0, 1.001, 0.04), 2), np.round(np.arange(0, E_top + 0.001, 0.01), 2)
            errors = surface(predictor, *work.parts(name), Cs, Es, best.constants.alpha)
            cells = [(float(c), float(e), float(errors[i, j])) for i, c in enumerate(Cs) for j, e in enumerate(Es)]
            rows += [(name, *cell, False) for cell in cells] + [(name, C, E, best.rmse, True)]
            limit = ", at a limit" if any(x in (0.0, 1.0) for x in (C, E)) else ""
            minima.append(f"{LABELS[name]} {best.rmse:.3f} at C = {C:.2f}, E = {E:.2f}{limit}")
            drawings.append(
                chart(
                    "surface",
                    cells,
                    ["C", "E", "RMSE"],
                    x="C",
                    y="E",
                    value="RMSE",
                    title=f"({letter}) {LABELS[name]}: {best.rmse:.3f} at C = {C:.2f}, E = {E:.2f}",
                    best=(C, E),
                )
            )
        alpha = work.chosen["smoothed"].alpha
        as_asked = f" with α = {alpha}" if predictor == "smoothed" and alpha != PAPERS_ALPHA else ""
        result.add(
            figure,
            f"RMSE of {predictor} scores{as_asked} by C and E; minima: {'; '.join(minima)}",
            columns,
            rows,
            note=f"{work.contributing.label}, {pluralise(len(sizes), 'prefix size')} together. A cross marks the "
            "minimum of the error, a quadratic in C and E, for both from 0 to 1; it need not be a point of the grid.",
            chart=panes(drawings, f"RMSE of {predictor} scores{as_asked}", 3, size=(240, 200), one_legend=True),
            in_paper=in_paper.MINIMA[predictor],
        )


# -- Figs. 4 and 5, Table 2: separability and reversals ---------------------------------------------------------------


def _fig_4(result: Study, work: Work) -> None:
    sizes = [*work.prefixes.sizes, work.prefixes.n]
    rows: list[Sequence[Any]] = []
    for systems in work.sets:
        for name in MEASURES:
            for method in STUDIED if name in ADDING else STUDIED[:1]:
                for size in sizes:
                    p = paired_t(systems.ranges[name][0, size].point(method, work.chosen[method]))
                    rows.append((systems.label, name, method, size, 100 * separability(p, work.significance)))
    drawings = []
    for place, (systems, name) in enumerate((systems, name) for systems in work.sets for name in ADDING):
        lines = [
            (row[2] if row[1] == name else f"{LABELS[row[1]]}, {row[2]}", *row[3:])
            for row in rows
            if row[0] == systems.label and row[1] in (name, "AP", "nDCG")
        ]
        drawings.append(
            chart(
                "lines",
                lines,
                ["curve", "judgments", "separability"],
                x="judgments",
                y="separability",
                group="curve",
                log_x=True,
                ticks=sizes[:1] + sizes[3::3] + ([] if len(sizes) % 3 == 1 else sizes[-1:]),
                zero=False,
                title=f"({'abcdef'[place]}) {LABELS[name]}, {systems.label}",
                axes=("judgments", "separable pairs (%)"),
            )
        )
    result.add(
        "fig4",
        "separability as a function of the number of judgments",
        ["systems", "metric", "predictor", "judgments", "separability_percent"],
        rows,
        note=f"Percent of all pairs of systems with p < {work.significance:g} by a paired t-test; "
        f"interpolated with {work.words('interpolated')}, smoothed with {work.words('smoothed')}. "
        "Vertical scales differ.",
        chart=panes(drawings, "Separable pairs of systems as judgments are added", 3, size=(240, 190), one_legend=True),
    )


def _fig_5(result: Study, work: Work) -> None:
    few, n, level = work.prefixes.few, work.prefixes.n, work.significance
    columns = ["p_few", "p_all", "outcome"]
    rows: list[Sequence[Any]] = []
    drawings = []
    for letter, systems in zip("ab", work.sets, strict=False):
        ranges = systems.ranges["P@10"]
        before, after = pairs(paired_t(ranges[0, few].B)), pairs(paired_t(ranges[0, n].B))
        outcome = np.where(
            before < level, np.where(after < level, "stays", "reversed"), np.where(after < level, "gained", "never")
        )
        names = [*systems.runs]
        first, second = np.triu_indices(len(names), 1)
        rows += [
            (systems.label, names[a], names[b], float(x), float(y), str(o))
            for a, b, x, y, o in zip(first, second, before, after, outcome, strict=True)
        ]
        drawn = [(max(row[3], 1e-6), max(row[4], 1e-6), row[5]) for row in rows if row[0] == systems.label]
        title = f"({letter}) {systems.label}: {pluralise(len(drawn), 'pair')}" if len(work.sets) > 1 else systems.label
        drawings.append(
            chart(
                "p_scatter",
                drawn,
                columns,
                x="p_few",
                y="p_all",
                alpha=level,
                title=title,
                axes=(f"p, {few:,} judgments", f"p, all {n:,} judgments"),
            )
        )
    result.add(
        "fig5",
        f"p-values of all pairs of systems with {few:,} judgments and with all, P@10 and X_S",
        ["systems", "run_a", "run_b", *columns],
        rows,
        note=f"Dashed: {level:g}. Upper left: significant on few judgments and not on all, the reversals; lower right: "
        "gained by judging. p below 1e-6 is drawn at 1e-6.",
        chart=panes(drawings, "Does significance survive more judging?", size=(320, 320), one_legend=True),
    )


def _table_2(result: Study, work: Work) -> None:
    """How many pairs of systems a predictor separates on few and on all judgments, and loses in between."""
    orders = range(len(work.prefixes.orders))

    def compared(task: tuple[Systems, str, Predictor, Constants]) -> tuple[float, ...]:
        """On few, on all, reversals; then the deviations of the first and the third over the orders."""
        systems, name, method, constants = task
        ranges = systems.ranges[name]
        p_all = paired_t(ranges[0, work.prefixes.n].point(method, constants))
        p_few = [paired_t(ranges[order, work.prefixes.few].point(method, constants)) for order in orders]
        few = [100 * separability(p, work.significance) for p in p_few]
        back = [100 * reversals(p, p_all, work.significance) for p in p_few]
        means = np.mean(few), 100 * separability(p_all, work.significance), np.mean(back)
        return tuple(float(x) for x in (*means, np.std(few), np.std(back)))

    given = "published" if work.is_published else "given"
    used = {
        given: {(name, method): work.chosen[method] for name in MEASURES for method in STUDIED},
        "tuned": {(name, method): work.tuned[name, method].constants for name in ADDING for method in STUDIED[1:]},
    }
    whose = {"published": "the paper's constants", "given": "the constants given", "tuned": "constants tuned here"}
    for table, which in (("table2", given), ("tableA", "tuned")):
        tasks = [(systems, *what, constants) for what, constants in used[which].items() for systems in work.sets]
        rows = [
            (systems.label, name, method, *((None, None) if method == "simplistic" else (C.C, C.E)), *figures)
            for (systems, name, method, C), figures in zip(tasks, work.bench.parallel_map(compared, tasks), strict=True)
        ]
        _separability_table(result, work, table, whose[which], rows)


def _separability_table(result: Study, work: Work, table: str, constants: str, rows: Sequence[tuple[Any, ...]]) -> None:
    prefixes = work.prefixes
    cells = {row[:3]: row for row in rows}
    values = ("few", "few_sd", "all", "reversals", "reversals_sd")
    names = ["metric", "predictor", "C", "E", *(f"{value}{i}" for i in range(len(work.sets)) for value in values)]
    arranged = [
        (
            LABELS[name],
            method,
            *cells[work.sets[0].label, name, method][3:5],
            *(cells[systems.label, name, method][i] for systems in work.sets for i in (5, 8, 6, 7, 9)),
        )
        for name, method in dict.fromkeys(row[1:3] for row in rows)
    ]
    several = len(prefixes.orders) > 1
    layout = [Column("Metric", "metric"), Column("Predictor", "predictor")]
    if table == "tableA":
        layout += [Column("C", "C", 2), Column("E", "E", 2)]
    for i, systems in enumerate(work.sets):
        group = f"{systems.label} (%)"
        layout += [
            Column(f"Sep. {prefixes.few:,}", f"few{i}", 1, deviation=f"few_sd{i}" if several else "", group=group),
            Column(f"Sep. {prefixes.n:,}", f"all{i}", 1, group=group),
            Column("Rev.", f"reversals{i}", 1, deviation=f"reversals_sd{i}" if several else "", group=group),
        ]
    result.add(
        table,
        f"separability of metrics and predictors, and reversals from {prefixes.few:,} to all judgments; {constants}",
        [
            "systems",
            "metric",
            "predictor",
            "C",
            "E",
            "separability_few",
            "separability_all",
            "reversals",
            "separability_few_sd",
            "reversals_sd",
        ],
        rows,
        note=f"Percent of all pairs of systems; p < {work.significance:g}, paired t-test."
        + (f" Mean ± SD over {len(prefixes.orders)} shuffles inside a depth." if several else ""),
        arranged=(names, arranged),
        layout=layout,
        in_paper=in_paper.TABLE_2 if table == "table2" else None,
    )


def _errors(result: Study, work: Work) -> None:
    """Not a table of the paper: each predictor's error against the full judgments at each prefix size (section 4, "RMS
    error"), with the constants chosen and with those tuned."""
    given = "published" if work.is_published else "given"
    sizes = work.prefixes.sizes
    rows: list[tuple[Any, ...]] = []
    arranged = []
    for name in MEASURES:
        B, delta, Y = work.parts(name)
        candidates: list[tuple[str, str, Constants, float | None]] = [
            ("simplistic", "", work.chosen["simplistic"], None),
            *((method, given, work.chosen[method], None) for method in STUDIED[1:]),
        ]
        for method in (*TUNED, *((BEST_ALPHA,) if name in ADDING else ())):
            best = work.tuned[name, method]
            candidates.append((method, "tuned", best.constants, best.held_out))
        for method, which, constants, held_out in candidates:
            how: Any = "smoothed" if method == BEST_ALPHA else method
            errors = [rmse(rm_predict(how, b, d, constants), Y) for b, d in zip(B, delta, strict=True)]
            together = rmse(rm_predict(how, B, delta, constants), Y)
            facts = (
                None if how in ("simplistic", "background") else constants.C,
                None if how == "simplistic" else constants.E,
                str(constants.alpha) if how == "smoothed" else None,
            )
            start = (name, method, which, *facts)
            rows += [(*start, size, error, None) for size, error in zip(sizes, errors, strict=True)]
            rows.append((*start, "all sizes", together, held_out))
            arranged.append((LABELS[name], *start[1:], *errors, together, held_out))
    names = ["metric", "predictor", "constants", "C", "E", "alpha"]
    result.add(
        "tableB",
        f"RMSE of the predictors against the scores of all judgments, {work.contributing.label}",
        [*names, "judgments", "rmse", "held_out_rmse"],
        rows,
        note="Held out: tuned on four fifths of the topics and measured on the fifth, five times. Best α: that of a "
        "constant or a power of 1-delta with least error.",
        arranged=([*names, *(f"rmse{size}" for size in sizes), "together", "held_out"], arranged),
        layout=[
            Column("Metric", "metric"),
            Column("Predictor", "predictor"),
            Column("Constants", "constants"),
            Column("C", "C", 2),
            Column("E", "E", 2),
            Column("α", "alpha"),
            *(Column(f"{size:,}", f"rmse{size}", 3, group="Judgments") for size in sizes),
            Column("all sizes", "together", 3),
            Column("held out", "held_out", 3),
        ],
        in_paper=in_paper.MINIMA["both"],
    )
