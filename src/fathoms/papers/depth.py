"""Lu, Moffat and Culpepper, "The Effect of Pooling and Evaluation Depth on IR Metrics" (2016), on any collection.

As in the paper's section 4, only the runs that contributed to the pool are looked at, with all judgments there are; or,
if a pool shallower than the real one is asked about, with the judgments that it would have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fathoms.comparison.audit_findings import changes, found_by_depth, pooling_outcomes
from fathoms.comparison.audit_leave_out import contributions, judgments_used, leave_out
from fathoms.comparison.correlation import correlation
from fathoms.comparison.depth import PANES, DepthScores, panes, scores_by_depth, volatility
from fathoms.errors import FathomsError
from fathoms.evidence.align import Aligned
from fathoms.evidence.evidence import Floats
from fathoms.evidence.order import Ties
from fathoms.evidence.pool import least_depths
from fathoms.experiment.base import BaseExperiment
from fathoms.measures.parse import parse_measure
from fathoms.papers.exhibits import Study, as_sentence, chart, described

PAPER = "Lu, Moffat and Culpepper (2016), The Effect of Pooling and Evaluation Depth on IR Metrics"
LADDER = (1, 4, 10, 40, 100, 400, 1000)  # the depths of Tables 7 to 9
SHALLOW = 50  # the depths of Figs. 2 to 7 go at least so far, and to the pool's depth where that is deeper
DEEPEST = 100
SIX = ("AP(variant=b)", "Q", "RBP(p=0.95)", "RR", "ERR", "RBP(p=0.8)")
CONDENSED = tuple(
    f"{name[:-1]},judged_only=True)" if name.endswith(")") else f"{name}(judged_only=True)"
    for name in ("AP(variant=b)", "Q", "RBP(p=0.95)", "RBP(p=0.8)")
)
CROSSED = (
    ("AP(variant=b)", "AP"),
    ("AP(variant=b)", "AP(variant=c)"),
    ("nDCG", "nDCG(discount=zipf)"),
    ("nDCG", "AP(variant=b)"),
    ("RBP(p=0.95)", "nDCG"),
    ("RBP(p=0.95)", "AP(variant=b)"),
)


@dataclass(frozen=True)
class DepthSettings:
    depth: int | None = None  # of the pool; measured where not given


def study(
    experiment: BaseExperiment,
    settings: DepthSettings | None = None,
    *,
    progress: Callable[[str], None] = lambda what: None,
) -> Study:
    """Tables 4 to 9 and Figs. 1 to 7 for this collection."""
    settings = settings or DepthSettings()
    experiment.prepare()
    qrels, options = experiment.qrels, experiment.options
    pool = experiment.pool_assumed()
    chosen = pool.names
    if len(chosen) < 2:
        raise FathomsError("the paper's comparisons need at least two contributing runs among the given ones")
    if settings.depth is None and not pool.known:
        raise FathomsError("the contributing runs have unjudged documents at rank 1; give the pool's depth (--depth)")
    d = settings.depth or pool.depth
    aligned = _aligned(experiment, chosen)
    kept = judgments_used(least_depths(aligned.values(), len(qrels)), settings.depth, pool)
    cut = ""
    if not kept.all():
        cut = f" (of {described(qrels).removeprefix(f'{qrels.source}: ')}, cut to it; they go to depth {pool.depth})"
        qrels = qrels.keep(kept)
        experiment = experiment.with_qrels(qrels)
        experiment.options = replace(options, pooled=tuple(chosen))
        experiment.prepare()
        aligned = _aligned(experiment, chosen)
    progress("runs aligned")
    result = Study(PAPER, f"{described(qrels)}, {len(chosen)} contributing runs, pool depth {d}{cut}")
    result.notes += [
        *([as_sentence(pool.sentence)] if options.pooled is None else []),
        f"Ties {options.ties}, scores compared as {options.used_precision}; the paper goes by file order (--ties run).",
        "The paper's own figures are for Robust04, TREC-9 and ClueWeb, and are not repeated here.",
    ]
    _pools(result, experiment, aligned, d)
    progress("pools and leave-out")
    _table_6(result, experiment)

    width = max(one.evidence.width for one in aligned.values())
    shown = min(width, max(SHALLOW, min(d, DEEPEST)))
    depths = sorted({*range(1, shown + 1), *(k for k in LADDER if k <= width), min(d, width)})
    names = list(
        dict.fromkeys([*SIX, "nDCG", *CONDENSED, "nDCG(judged_only=True)", *(n for pair in CROSSED for n in pair)])
    )
    scores = replace(scores_by_depth(experiment, names, depths, chosen), pooled=d)
    progress("scores at all depths")
    _by_depth(result, scores, d, shown)
    _table_9(result, experiment, aligned, [k for k in LADDER if k <= width])
    _matrices(result, scores, d, shown)
    progress("tables and figures")
    return result


def _aligned(experiment: BaseExperiment, names: Sequence[str]) -> dict[str, Aligned]:
    align = experiment.alignment([], [], trace=True)
    return dict(zip(names, experiment.map(lambda name: experiment.align(name, align), names), strict=True))


def _pools(result: Study, experiment: BaseExperiment, aligned: Mapping[str, Aligned], d: int) -> None:
    """Fig. 1, Tables 4 and 5."""
    qrels, options = experiment.qrels, experiment.options
    depths = least_depths(aligned.values(), len(qrels))
    found, steps = found_by_depth(qrels, depths, d)
    rates = {step.deep: step for step in steps}
    rows = [
        (k, spread.mean, rates[k].rate if k in rates else None, rates[k].judged if k in rates else None)
        for k, spread in enumerate(found, 1)
    ]
    columns = ["depth", "relevant_by_topic", "relevant_share_of_new", "new_documents"]
    shown = [("relevant per topic", k, mean) for k, mean, _, _ in rows]
    result.add(
        "fig1",
        "relevant documents found by pooling, and their share among the documents that each step of depth adds",
        columns,
        rows,
        chart=chart(
            "lines",
            shown,
            ["what", "depth", "relevant"],
            x="depth",
            y="relevant",
            group="what",
            title="Relevant documents found by pooling",
            axes=("pool depth", "relevant documents per topic"),
        ),
    )
    outcomes = pooling_outcomes(qrels, list(aligned.values()), depths, sorted({min(10, d), d}))
    cells = []
    for outcome in outcomes:
        spreads = (outcome.rel_in_pool, outcome.rank_unjudged, outcome.rel_past)
        numbers = [x for s in spreads for x in ((None, None) if s is None else (s.mean, s.deviation))]
        cells.append(("all" if outcome.depth is None else f"d = {outcome.depth}", *numbers))
    parts = [f"{name}{part}" for name in ("RelInPool", "RankUnj", "NumRelPast") for part in ("", "_sd")]
    result.add("table4", "pooling outcomes, mean and standard deviation over runs and topics", ["mode", *parts], cells)

    measures = [parse_measure(f"{name}@{d}") for name in ("AP(variant=b)", "nDCG", "RBP(p=0.8)", "RBP(p=0.95)")]
    teams: dict[str, list[str]] = {}
    for name in aligned:
        teams.setdefault((experiment.groups or {}).get(name, name), []).append(name)
    units = {"table5a": ("one run", {name: [name] for name in aligned})}
    if experiment.groups:
        units["table5b"] = ("one group of runs", teams)
    for table, (what, left) in units.items():
        brought = contributions(aligned, left, d, len(qrels))
        everything = np.ones(len(qrels), dtype=bool)
        how: dict[str, Any] = {"workers": options.workers, "scheduler": options.scheduler}
        lost = changes(leave_out(qrels, everything, aligned, brought, left, measures, options.ties, **how))
        result.add(
            table,
            f"score and rank changes from leaving out {what}, k = d = {d}",
            ["measure", "change_percent", "median_percent", "rank_change"],
            [(c.measure, None if c.percent is None else c.percent.mean, c.median, c.rank.mean) for c in lost],
        )


def _table_6(result: Study, experiment: BaseExperiment) -> None:
    """Ties in the top 20, and what the tie rule does to the order of the systems under RBP(p=0.8)."""
    measure = parse_measure("RBP(p=0.8)")
    rules: tuple[Ties, ...] = ("trec", "run")
    align = experiment.alignment([], [])

    def one(name: str) -> tuple[list[float], Floats]:
        ranked = experiment.ranked(name)
        means = []
        for ties in rules:
            evidence = align.of(experiment.reranked(ranked, ties)).evidence
            means.append(float(measure.value(evidence).mean()))
        tied = evidence.tied[:, :20]
        member = tied.copy()
        member[:, :-1] |= tied[:, 1:]
        return means, 100 * member.sum(axis=1) / 20

    found = experiment.map(one)
    share = np.concatenate([of_topics for _, of_topics in found])
    some = share[share > 0]
    tau = correlation(*np.array([means for means, _ in found]).T)
    result.add(
        "table6",
        "ties in the top 20, and tau between the system orderings of two tie rules",
        ["median_percent_of_ties", "tau", "run_topics_with_ties"],
        [(float(np.median(some)) if len(some) else 0.0, tau, len(some))],
        note="Over all given runs, as in the paper. Median over run-topics with a tie; all tied documents count.",
    )


def _by_depth(result: Study, scores: DepthScores, d: int, shown: int) -> None:
    """Figs. 2 to 4, Tables 7 and 8."""
    shallow = [k for k in scores.depths if k <= shown]
    for figure, names in (
        ("fig2", ["AP(variant=b)", "nDCG", "Q"]),
        ("fig2condensed", [CONDENSED[0], "nDCG(judged_only=True)", CONDENSED[1]]),
        ("fig3", ["RBP(p=0.95)", "ERR"]),
    ):
        rows = [
            (measure, run, k, value)
            for measure in map(_canonical, names)
            for k, means in zip(shallow, scores.means(measure)[: len(shallow)].tolist(), strict=True)
            for run, value in zip(scores.runs, means, strict=True)
        ]
        columns = ["measure", "run", "depth", "score"]
        first = [row for row in rows if row[0] == rows[0][0]]
        title = f"{rows[0][0]} of every system by evaluation depth"
        result.add(
            figure,
            f"system scores by depth: {', '.join(dict.fromkeys(row[0] for row in rows))}",
            columns,
            rows,
            chart=chart(
                "many_lines",
                first,
                columns,
                x="depth",
                y="score",
                group="run",
                title=title,
                axes=("evaluation depth k", "mean score"),
                pooled=d,
            ),
        )
    reference = min(scores.depths, key=lambda k: abs(k - d))
    rows4 = [tuple(row[name] for name in ("depth", *PANES)) for row in panes(scores, "nDCG", reference)]
    long = [(pane, int(row[0]), float(row[1 + i])) for row in rows4 for i, pane in enumerate(PANES) if row[0] <= shown]
    result.add(
        "fig4",
        f"six ways of measuring how nDCG depends on depth, reference k = {reference}",
        ["depth", *PANES],
        rows4,
        chart=chart(
            "lines",
            long,
            ["pane", "depth", "value"],
            x="depth",
            y="value",
            group="pane",
            title=f"nDCG at depth k against depth {reference}",
            axes=("evaluation depth k", "share or correlation"),
        ),
    )
    ladder = [k for k in LADDER if k in scores.depths]
    for table, metrics, what in (("table7", SIX, "six metrics"), ("table8", CONDENSED, "condensed runs")):
        found = {
            name: {row["depth"]: row for row in panes(scores, _canonical(name), reference, depths=ladder)}
            for name in metrics
        }
        kinds = ("discrimination", "coverage", "inversion")
        rows7 = [(k, *(100 * found[name][k][kind] for name in metrics for kind in kinds)) for k in ladder]
        heads = [f"{_canonical(name)} {kind}" for name in metrics for kind in kinds]
        result.add(
            table,
            f"discrimination, coverage and inversion in percent, {what}, reference {reference}",
            ["k", *heads],
            rows7,
            note=f"Coverage and inversion: of the pairs that differ significantly at k = {reference}; 0 without any.",
        )


def _canonical(name: str) -> str:
    return parse_measure(f"{name}@1").name.partition("@")[0]


def _table_9(result: Study, experiment: BaseExperiment, aligned: Mapping[str, Aligned], ladder: Sequence[int]) -> None:
    """Scores and residuals, mean over systems and topics."""
    names = ("RBP(p=0.95)", "RBP(p=0.8)", "ERR")
    measures = [parse_measure(f"{name}@{k}") for k in ladder for name in names]

    def one(name: str) -> list[float]:
        evidence = aligned[name].evidence
        cells = []
        for measure in measures:
            value = measure.value(evidence)
            high = measure.range(evidence, value)[1]
            cells += [value.mean(), 0.0 if high is None else (high - value).mean()]
        return cells

    means = [float(np.mean(values)) for values in zip(*experiment.map(one, aligned), strict=True)]
    width = 2 * len(names)
    rows = [(k, *means[i * width : (i + 1) * width]) for i, k in enumerate(ladder)]
    heads = [x for name in names for x in (name, f"{name} residual")]
    result.add("table9", "scores and residuals by depth", ["k", *heads], rows)


def _matrices(result: Study, scores: DepthScores, d: int, shown: int) -> None:
    """Volatility matrices: Figs. 5 and 6 of one measure with itself, Fig. 7 of two."""
    shallow = [k for k in scores.depths if k <= shown]
    places = [scores.depths.index(k) for k in shallow]
    panels: list[tuple[str, str, str | None]] = [
        ("fig5a", "AP(variant=b)", None),
        ("fig5b", "nDCG", None),
        ("fig6a", "ERR", None),
        ("fig6b", "RBP(p=0.95)", None),
    ]
    panels += [(f"fig7{letter}", *pair) for letter, pair in zip("abcdef", CROSSED, strict=True)]
    for figure, rows, columns in panels:
        matrix = volatility(scores, _canonical(rows), None if columns is None else _canonical(columns))
        part = matrix[np.ix_(places, places)]
        cells = [(a, b, float(part[i, j])) for i, a in enumerate(shallow) for j, b in enumerate(shallow)]
        heads = [f"{rows} depth", f"{columns or rows} depth ", "tau"]
        result.add(
            figure,
            f"tau between system orderings by depth: {rows}" + (f" against {columns}" if columns else ""),
            [heads[0], f"{heads[1].strip()}_2", "tau"],
            cells,
            chart=chart("volatility", cells, heads, x=heads[0], y=heads[1], value="tau", pooled=d),
        )
