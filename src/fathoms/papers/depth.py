"""Lu, Moffat and Culpepper, "The Effect of Pooling and Evaluation Depth on IR Metrics" (2016), on any collections.

Evaluation goes to the end of the runs, deeper than any of the pools ("extended evaluation").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fathoms.evidence.evidence import Floats
from fathoms.evidence.order import Ties
from fathoms.experiment.base import BaseExperiment
from fathoms.inference.correlation import Correlation, correlation
from fathoms.inference.half_topics import FUZZINESS, SPLITS
from fathoms.measures.parse import parse_measure
from fathoms.papers import depth_printed as in_paper
from fathoms.papers.bench import by_name
from fathoms.papers.depth_pools import (
    CROSSED,
    CURVE,
    DRAWN,
    FOUR,
    LADDER,
    RECALL,
    SIX,
    SQUARE,
    WITH_RESIDUALS,
    Collection,
    PoolOf,
    condensed,
    read_collection,
    scored,
    without_pool,
)
from fathoms.papers.depth_pools import DepthSettings as DepthSettings
from fathoms.papers.exhibits import Drawing, Study, chart
from fathoms.papers.exhibits import panes as figure
from fathoms.papers.printing import Column
from fathoms.questions.audit.findings import Spread, changes, found_by_depth, pooling_outcomes
from fathoms.questions.audit.leave_out import contributions, leave_out
from fathoms.questions.depth.analysis import halves_by_depth, panes, volatility

PAPER = "Lu, Moffat and Culpepper (2016), The Effect of Pooling and Evaluation Depth on IR Metrics"
DEEP = 20  # a pool deeper than this is a deep one, which Table 5 cuts to SHALLOW
FIRST = (5, 10, 20)  # depths at which the paper gives the weight of rank 1
LEFT_OUT = ("AP(variant=b)", "nDCG", "RBP(p=0.8)", "RBP(p=0.95)")
LABELS = {  # as the paper calls them
    "AP": "AP_a",
    "AP(variant=b)": "AP_b",
    "AP(variant=c)": "AP_c",
    "nDCG": "NDCG_a",
    "nDCG(discount=zipf)": "NDCG_a (Zipf)",
    "Q": "QM_a,i",
    "RBP(p=0.95)": "RBP(0.95)",
    "RBP(p=0.8)": "RBP(0.8)",
}
PANES = {  # of Fig. 4, with what is on their axes
    "median_p": "median p",
    "discrimination": "discrimination ratio",
    "coverage": "coverage ratio",
    "inversion": "inversion ratio",
    "tau": "Kendall's tau",
    "pearson": "Pearson's r",
}
CORRELATIONS: dict[Correlation, str] = {
    "tau": "τ",
    "tau_ap": "τ_ap",
    "rbo": "RBO",
    "spearman": "Spearman",
    "pearson": "Pearson",
    "rmse": "RMSE",
}


def study(
    experiments: BaseExperiment | Mapping[str, BaseExperiment],
    settings: DepthSettings | None = None,
    *,
    progress: Callable[[str], None] = lambda what: None,
) -> Study:
    """Tables 3 to 9 and Figs. 1 to 7, for one collection or side by side for several, by name."""
    settings = settings or DepthSettings()
    collections = []
    for name, experiment in by_name(experiments).items():
        collections.append(scored(read_collection(name, experiment, settings), settings))
        progress(f"{name}: runs scored at all depths")
    result = Study(PAPER, "; ".join(collection.words for collection in collections), short="depth")
    result.systems = min(len(collection.aligned) for collection in collections)
    options = collections[0].experiment.options
    result.notes += [
        *(collection.assumed for collection in collections if collection.assumed),
        f"Ties {options.ties}, scores compared as {options.used_precision}; the paper goes by file order (--ties run).",
        "A pool of a depth d below the collection's own has the judgments of the documents that some contributing run "
        "has in its first d, and no others.",
    ]
    _table_3(result, collections)
    _fig_1(result, collections)
    _table_4(result, collections, settings)
    _table_5(result, collections)
    _table_6(result, collections)
    progress("pools, leave-out and ties")
    _figs_2_and_3(result, collections)
    _fig_4(result, collections)
    _tables_7_and_8(result, collections)
    _table_9(result, collections)
    _figs_5_to_7(result, collections)
    _first_rank(result)
    progress("tables and figures")
    return result


# -- pools: Tables 3 to 6 and Fig. 1 ----------------------------------------------------------------------------------


def _table_3(result: Study, collections: Sequence[Collection]) -> None:
    rows = []
    for collection in collections:
        topics = collection.qrels.topics
        rows.append(
            (collection.name, collection.d, len(collection.aligned), len(topics), f"{topics[0]} – {topics[-1]}")
        )
    result.add(
        "table3",
        "collections used in the experiments",
        ["collection", "pool_depth", "contributing_runs", "topics", "topic_ids"],
        rows,
        layout=[
            Column("Collection", "collection"),
            Column("Pooling depth", "pool_depth"),
            Column("Contributing runs", "contributing_runs"),
            Column("Topics", "topics"),
            Column("Topic ids", "topic_ids"),
        ],
    )


def _fig_1(result: Study, collections: Sequence[Collection]) -> None:
    rows = []
    for collection in collections:
        relevant, steps = found_by_depth(collection.qrels, collection.judged_depths(), collection.d)
        rates = {step.deep: step for step in steps}
        rows += [
            (
                collection.name,
                k,
                spread.mean,
                rates[k].rate if k in rates else None,
                rates[k].judged if k in rates else None,
            )
            for k, spread in enumerate(relevant, 1)
        ]
    columns = ["collection", "depth", "relevant_by_topic", "relevant_share_of_new", "new_documents"]
    how: dict[str, Any] = {"x": "depth", "group": "collection"}
    left = chart(
        "lines",
        [row[:3] for row in rows],
        columns[:3],
        y="relevant_by_topic",
        title="Relevant documents found",
        axes=("pool depth d", "relevant documents per topic"),
        **how,
    )
    right = chart(
        "lines",
        [(*row[:2], row[3]) for row in rows if row[3] is not None],
        [*columns[:2], columns[3]],
        y="relevant_share_of_new",
        title="Rate at which they are found",
        axes=("pool depth d", "relevant share of new documents"),
        **how,
    )
    result.add(
        "fig1",
        "relevant documents found per topic (left), and their rate among the documents that each step of depth adds "
        "(right), by pool depth",
        columns,
        rows,
        chart=figure([left, right], "Relevant documents by pool depth", size=(330, 240), one_legend=True),
    )


def _table_4(result: Study, collections: Sequence[Collection], settings: DepthSettings) -> None:
    rows: list[tuple[Any, ...]] = []
    for collection in collections:
        depths = collection.judged_depths()
        at = sorted({*(shallow for shallow in settings.pools if shallow < collection.d), collection.d})
        for outcome in pooling_outcomes(collection.qrels, list(collection.aligned.values()), depths, at):
            spreads = (outcome.rel_in_pool, outcome.rank_unjudged, outcome.rel_past)
            mode = "all" if outcome.depth is None else f"d = {outcome.depth}"
            rows.append((collection.name, mode, *(x for spread in spreads for x in _both(spread))))
    names = ("RelInPool", "RankUnj", "NumRelPast")
    result.add(
        "table4",
        "pooling outcomes, mean and standard deviation over systems and topics",
        ["collection", "mode", *(f"{name}{part}" for name in names for part in ("", "_sd"))],
        rows,
        note="RelInPool: relevant documents of a run within the pool's depth. RankUnj: rank of its first unjudged "
        "document. NumRelPast: relevant documents of the topic that it does not have there.",
        layout=[
            Column("Dataset", "collection"),
            Column("Mode", "mode"),
            *(Column(name, name, 1, deviation=f"{name}_sd") for name in names),
        ],
        in_paper=in_paper.TABLE_4,
    )


def _both(spread: Spread | None) -> tuple[float | None, float | None]:
    return (None, None) if spread is None else (spread.mean, spread.deviation)


def _table_5(result: Study, collections: Sequence[Collection]) -> None:
    """Deep pools are cut to SHALLOW, as the paper does with TREC 8, and shown as they are too."""
    shown = [
        (collection, pool)
        for collection in collections
        for pool in collection.pools
        if pool.is_own or collection.d > DEEP
    ]
    grouped = [collection for collection in collections if collection.experiment.groups]
    tables = {"table5a": ("one run", collections, in_paper.TABLE_5A)}
    if grouped:
        tables["table5b"] = ("a related group of runs", grouped, in_paper.TABLE_5B)
    for table, (what, some, printed) in tables.items():
        rows = []
        for collection, pool in shown:
            if collection in some:
                rows += _left_out(collection, pool, by_group=table == "table5b")
        places = list(dict.fromkeys(row[:2] for row in rows))
        cells = {row[:3]: row[3:] for row in rows}
        arranged = [
            (LABELS[name] + "@k", *(x for place in places for x in _picked(cells[*place, name], (0, 2))))
            for name in LEFT_OUT
        ]
        heads = [f"{kind}{i}" for i in range(len(places)) for kind in ("change", "rank")]
        result.add(
            table,
            f"score and rank changes from leaving out {what}, k = d",
            ["collection", "d", "measure", "change_percent", "median_percent", "rank_change"],
            rows,
            note="Means over the runs left out. The data have the median change too, which a few runs whose documents "
            "are nearly all their own do not move as much.",
            arranged=(["measure", *heads], arranged),
            layout=[
                Column("", "measure", indexed=True),
                *(
                    Column(head, f"{kind}{i}", 2, group=f"{name}, d = {d}")
                    for i, (name, d) in enumerate(places)
                    for head, kind in (("Δ%", "change"), ("ΔRank", "rank"))
                ),
            ],
            in_paper=printed,
        )


def _picked(values: Sequence[Any], places: Sequence[int]) -> list[Any]:
    return [values[i] for i in places]


def _left_out(collection: Collection, pool: PoolOf, *, by_group: bool) -> list[tuple[Any, ...]]:
    left: dict[str, list[str]] = {}
    for name in collection.aligned:
        left.setdefault((collection.experiment.groups or {}).get(name, name) if by_group else name, []).append(name)
    plain = {name: without_pool(aligned) for name, aligned in collection.aligned.items()}
    options = collection.experiment.options
    measures = [parse_measure(f"{name}@{pool.d}") for name in LEFT_OUT]
    brought = contributions(plain, left, pool.d, len(collection.qrels))
    how: dict[str, Any] = {"workers": options.workers, "scheduler": options.scheduler}
    without = leave_out(collection.qrels, pool.kept, plain, brought, left, measures, options.ties, **how)
    return [
        (collection.name, pool.d, name, None if c.percent is None else c.percent.mean, c.median, c.rank.mean)
        for name, c in zip(LEFT_OUT, changes(without), strict=True)
    ]


def _table_6(result: Study, collections: Sequence[Collection]) -> None:
    """Ties in the top 20, and what the tie rule does to the order of the systems under RBP(p=0.8)."""
    result.add(
        "table6",
        "ties in the top 20, and Kendall's tau between the system orderings of two tie rules under RBP(0.8)",
        ["collection", "median_percent_of_ties", "tau", "run_topics_with_ties"],
        [(collection.name, *_ties(collection.experiment)) for collection in collections],
        note="Over all given runs, as in the paper. Median over run-topics with a tie; all tied documents count. The "
        "rules are trec_eval's and file order.",
        layout=[
            Column("Task", "collection"),
            Column("Med. % of ties", "median_percent_of_ties", 0),
            Column("τ", "tau", 3),
        ],
        in_paper=in_paper.TABLE_6,
    )


def _ties(experiment: BaseExperiment) -> tuple[float, float, int]:
    measure = parse_measure("RBP(p=0.8)")
    rules: tuple[Ties, ...] = ("trec", "run")
    align = experiment.alignment([], [])

    def means_and_ties(name: str) -> tuple[list[float], Floats]:
        ranked = experiment.ranked(name)
        means = []
        for ties in rules:
            evidence = align.of(experiment.reranked(ranked, ties)).evidence
            means.append(float(measure.value(evidence).mean()))
        tied = evidence.tied[:, :20]
        member = tied.copy()
        member[:, :-1] |= tied[:, 1:]
        return means, 100 * member.sum(axis=1) / 20

    by_run = experiment.map(means_and_ties)
    share = np.concatenate([of_topics for _, of_topics in by_run])
    some = share[share > 0]
    tau = correlation(*np.array([means for means, _ in by_run]).T)
    return float(np.median(some)) if len(some) else 0.0, tau, len(some)


# -- scores by depth: Figs. 2 to 4, Tables 7 to 9 ---------------------------------------------------------------------


def _lettered(name: str, n: int) -> list[str]:
    """`table7` alone, or `table7a`, `table7b`, ..."""
    return [name] if n == 1 else [f"{name}{chr(ord('a') + i)}" for i in range(n)]


def _label(name: str) -> str:
    """A measure as the paper calls it; condensed runs have a prime."""
    plain = name.removesuffix(",judged_only=True)") + ")" if name.endswith(",judged_only=True)") else name
    plain = plain.removesuffix("(judged_only=True)")
    return f"{LABELS.get(plain, plain)}{chr(39) if plain != name else ''}@k"


def emphasised(runs: Sequence[str], means: Floats) -> list[str]:
    """The minimum, first quartile, median, third quartile and maximum of the systems."""
    order = np.argsort(means, kind="stable")
    return [runs[order[round(share * (len(runs) - 1))]] for share in (0, 0.25, 0.5, 0.75, 1)]


def _figs_2_and_3(result: Study, collections: Sequence[Collection]) -> None:
    pairs = [name for plain in RECALL for name in (plain, condensed(plain))]
    for number, names, what in ((2, pairs, "recall-based measures"), (3, DRAWN[-2:], "utility-based measures")):
        for exhibit, collection in zip(_lettered(f"fig{number}", len(collections)), collections, strict=True):
            scores = collection.drawn
            rows: list[tuple[Any, ...]] = []
            drawings = []
            columns = ["collection", "d", "measure", "run", "depth", "score", "emphasised"]
            for name in names:
                means = scores.means(name)
                strong = emphasised(scores.runs, means[-1])
                lines = [
                    (collection.name, scores.pooled, name, run, k, value, run in strong)
                    for k, of_runs in zip(scores.depths, means.tolist(), strict=True)
                    for run, value in zip(scores.runs, of_runs, strict=True)
                ]
                rows += lines
                drawings.append(
                    chart(
                        "many_lines",
                        [row[3:6] for row in lines],
                        columns[3:6],
                        x="depth",
                        y="score",
                        group="run",
                        title=_label(name) + (", condensed runs" if name.endswith("judged_only=True)") else ""),
                        axes=("evaluation depth k", "mean score"),
                        pooled=scores.pooled,
                        emphasised=strong,
                    )
                )
            result.add(
                exhibit,
                f"system scores by evaluation depth, {what}, {collection.name} pooled to d = {scores.pooled}",
                columns,
                rows,
                note="Dotted: the pool's depth. Darker: minimum, quartiles and maximum at the right-hand edge"
                + (". Right: the same on condensed runs, without unjudged documents." if number == 2 else "."),
                chart=figure(
                    drawings,
                    f"Scores of each system by evaluation depth: {collection.name}, d = {scores.pooled}",
                    size=(330, 210),
                ),
            )


def _pools(collections: Iterable[Collection]) -> list[PoolOf]:
    return [pool for collection in collections for pool in collection.pools]


def _fig_4(result: Study, collections: Sequence[Collection]) -> None:
    pools = _pools(collections)
    rows: list[tuple[Any, ...]] = []
    for pool in pools:
        scores = pool.tables
        depths = [k for k in scores.depths if k in CURVE or k == pool.reference]
        rows += [
            (pool.collection, pool.d, row["depth"], *(row[name] for name in PANES))
            for row in panes(scores, "nDCG", pool.reference, depths=depths)
        ]
    columns = ["collection", "d", "depth", *PANES]
    drawings: list[Drawing | None] = []
    for i, (name, head) in enumerate(PANES.items()):
        drawings.append(
            chart(
                "lines",
                [(f"{row[0]}, d = {row[1]}", int(row[2]), float(row[3 + i])) for row in rows],
                ["pool", "depth", "value"],
                x="depth",
                y="value",
                group="pool",
                title=f"({'abcdef'[i]}) {head}",
                axes=("evaluation depth k", head),
                log_x=True,
                ticks=[k for k in LADDER if k <= max(row[2] for row in rows)],
                zero=name in ("median_p", "inversion"),
            )
        )
    result.add(
        "fig4",
        "six ways of measuring how NDCG_a depends on evaluation depth",
        columns,
        rows,
        note="In panes (c) to (f) the reference is NDCG_a at k = d, with the same judgments. Vertical scales differ.",
        chart=figure(drawings, "NDCG_a@k by evaluation depth", size=(330, 190), one_legend=True),
    )
    ladder = sorted({k for pool in pools for k in pool.tables.depths if k in LADDER})
    correlations = [
        (pool.collection, pool.d, k, *_correlations(pool, k))
        for pool in pools
        for k in ladder
        if k in pool.tables.depths
    ]
    result.add(
        "tableA",
        "NDCG_a at depth k against k = d by the correlations of section 3",
        ["collection", "d", "k", *CORRELATIONS],
        correlations,
        note="Of system means. RMSE is a distance: 0 where all scores are the same.",
        layout=[
            Column("Collection", "collection"),
            Column("d", "d"),
            Column("k", "k"),
            *(Column(head, kind, 3) for kind, head in CORRELATIONS.items()),
        ],
    )


def _correlations(pool: PoolOf, k: int) -> list[float]:
    means, depths = pool.tables.means("nDCG"), pool.tables.depths
    here, there = means[depths.index(k)], means[depths.index(pool.reference)]
    return [correlation(here, there, kind) for kind in CORRELATIONS]


def _tables_7_and_8(result: Study, collections: Sequence[Collection]) -> None:
    pools = _pools(collections)
    kinds = ("discrimination", "coverage", "inversion")
    for table, metrics, what in (
        ("table7", SIX, "for six metrics"),
        ("table8", [condensed(name) for name in FOUR], "on condensed runs"),
    ):
        for exhibit, pool in zip(_lettered(table, len(pools)), pools, strict=True):
            ladder = [k for k in LADDER if k in pool.tables.depths]
            ratios = {name: panes(pool.tables, name, pool.reference, depths=ladder) for name in metrics}
            rows = [
                (pool.collection, pool.d, k, name, *(100 * ratios[name][i][kind] for kind in kinds))
                for i, k in enumerate(ladder)
                for name in metrics
            ]
            arranged = [
                (k, *(100 * ratios[name][i][kind] for name in metrics for kind in kinds)) for i, k in enumerate(ladder)
            ]
            heads = [f"{kind}{j}" for j in range(len(metrics)) for kind in kinds]
            printed = in_paper.TABLE_8
            if table == "table7":
                printed = in_paper.TABLE_7A if pool.d > DEEP else in_paper.TABLE_7B
            result.add(
                exhibit,
                f"discrimination, coverage and inversion ratios in percent {what}, {pool.label}",
                ["collection", "d", "k", "measure", *kinds],
                rows,
                note="p = 0.05. Coverage and inversion: of the pairs that differ significantly at the reference, k = "
                f"{pool.reference}; 0 without any."
                + (
                    f" Condensed runs have {pool.lengths[0]:,.1f} documents per system and topic, the longest "
                    f"{pool.lengths[1]:,}."
                    if table == "table8"
                    else ""
                ),
                arranged=(["k", *heads], arranged),
                layout=[
                    Column("k", "k"),
                    *(
                        Column(head, f"{kind}{j}", 1, group=_label(name))
                        for j, name in enumerate(metrics)
                        for head, kind in zip(in_paper.RATIOS, kinds, strict=True)
                    ),
                ],
                in_paper=printed,
            )
    _table_d(result, pools)
    result.add(
        "tableB",
        "lengths of condensed runs, over systems and topics",
        ["collection", "d", "mean", "longest"],
        [(pool.collection, pool.d, *pool.lengths) for pool in pools],
        layout=[
            Column("Collection", "collection"),
            Column("d", "d"),
            Column("Mean length", "mean", 1),
            Column("Longest", "longest"),
        ],
        in_paper=in_paper.CONDENSED_LENGTHS,
    )


def _table_d(result: Study, pools: Sequence[PoolOf]) -> None:
    """The figures of the literature that the ratios build on: error rate and ties by halves of the topics."""
    rows = []
    for pool in pools:
        ladder = [k for k in LADDER if k in pool.tables.depths]
        for name in SIX:
            ratios = panes(pool.tables, name, pool.reference, depths=ladder)
            for k, row, halves in zip(ladder, ratios, halves_by_depth(pool.tables, name, ladder), strict=True):
                shares = (row["discrimination"], halves.error_rate, halves.tied)
                rows.append((pool.collection, pool.d, k, name, *(100 * share for share in shares)))
    result.add(
        "tableD",
        "error rate and ties by halves of the topics",
        ["collection", "d", "k", "measure", "discrimination", "error_rate", "tied"],
        rows,
        note="Percent of pairs of systems. Error rate: the halves of a random split order them in opposite ways, over "
        f"{SPLITS} splits (Voorhees and Buckley 2002). Tied: means of a half within {FUZZINESS:.0%} of each other "
        "(Buckley and Voorhees 2000); a pair that a half takes for tied is not an error.",
        layout=[
            Column("Collection", "collection"),
            Column("d", "d"),
            Column("k", "k"),
            Column("Measure", "measure"),
            Column("Disc.", "discrimination", 1),
            Column("Error rate", "error_rate", 1),
            Column("Tied", "tied", 1),
        ],
    )


def _table_9(result: Study, collections: Sequence[Collection]) -> None:
    """Scores and residuals, mean over systems and topics."""
    pools = _pools(collections)
    ladder = sorted({k for pool in pools for k in pool.tables.depths if k in LADDER})
    rows = [
        (pool.collection, pool.d, k, name, *pool.residuals[name][i])
        for pool in pools
        for i, k in enumerate(k for k in ladder if k in pool.tables.depths)
        for name in WITH_RESIDUALS
    ]
    cells = {row[:4]: row[4:] for row in rows}
    blank = (None, None)
    arranged = [
        (k, *(x for p in pools for n in WITH_RESIDUALS for x in cells.get((p.collection, p.d, k, n), blank)))
        for k in ladder
    ]
    names = [
        f"{part}{i}_{j}" for i in range(len(pools)) for j in range(len(WITH_RESIDUALS)) for part in ("score", "rest")
    ]
    result.add(
        "table9",
        "run scores and residuals by evaluation depth, averaged across contributing systems and topics",
        ["collection", "d", "k", "measure", "score", "residual"],
        rows,
        arranged=(["k", *names], arranged),
        layout=[
            Column("k", "k"),
            *(
                Column(_label(name), f"score{i}_{j}", 3, deviation=f"rest{i}_{j}", between="+", group=pool.label)
                for i, pool in enumerate(pools)
                for j, name in enumerate(WITH_RESIDUALS)
            ),
        ],
        in_paper=in_paper.TABLE_9,
    )


# -- orderings: Figs. 5 to 7 ------------------------------------------------------------------------------------------


def _figs_5_to_7(result: Study, collections: Sequence[Collection]) -> None:
    """Volatility matrices (eq. 7): Figs. 5 and 6 of one measure with itself, Fig. 7 of two."""
    contents: list[tuple[str, Sequence[tuple[str, str]], str]] = [
        ("fig5", [("AP(variant=b)",) * 2, ("nDCG",) * 2], "recall-based measures"),
        ("fig6", [("ERR",) * 2, ("RBP(p=0.95)",) * 2], "utility-based measures"),
        ("fig7", CROSSED, "two measures or variants"),
    ]
    columns = ["collection", "d", "measure", "other", "depth", "other_depth", "tau"]
    for exhibit, pairs, what in contents:
        rows: list[tuple[Any, ...]] = []
        drawings: list[Drawing | None] = []
        for first, second in pairs:
            for collection in collections:
                scores = collection.drawn
                shallow = [k for k in scores.depths if k <= SQUARE]
                matrix = volatility(scores, first, None if second == first else second)
                cells = [(a, b, float(matrix[i, j])) for i, a in enumerate(shallow) for j, b in enumerate(shallow)]
                rows += [(collection.name, scores.pooled, first, second, *cell) for cell in cells]
                first_axis, second_axis = (f"depth k of {_label(name).removesuffix('@k')}" for name in (first, second))
                heads = [first_axis, second_axis + " " * (first == second), "tau"]
                letter = f"({chr(ord('a') + len(drawings))})"
                title = f"{letter} {_label(first)}" + (f" and {_label(second)}" if second != first else "")
                drawings.append(
                    chart(
                        "volatility",
                        cells,
                        heads,
                        x=heads[0],
                        y=heads[1],
                        value="tau",
                        pooled=scores.pooled,
                        title=f"{title}, {collection.name}" if len(collections) > 1 else title,
                    )
                )
        pools = ", ".join(f"{collection.name} pooled to d = {collection.drawn.pooled}" for collection in collections)
        result.add(
            exhibit,
            f"Kendall's tau between system orderings by evaluation depth, {what}, {pools}",
            columns,
            rows,
            note="Dashed: the pool's depth. Dark green: 0.9 and more, orderings as good as equal.",
            chart=figure(
                drawings,
                f"Kendall's tau between the orderings at two depths: {what}",
                max(2, len(collections)),
                size=(260, 260),
                one_legend=True,
            ),
        )


# -- metric parameters revisited --------------------------------------------------------------------------------------


def _first_rank(result: Study) -> None:
    names = ("AP(variant=b)", "nDCG", "nDCG(discount=zipf)", "Q", "P", "RBP(p=0.95)", "RBP(p=0.8)", "RR", "ERR")
    weights = {name: [first_rank_weight(name, k) for k in FIRST] for name in names}
    result.add(
        "tableC",
        "the weight of rank 1 at evaluation depth k",
        ["measure", "k", "weight"],
        [(name, k, weight) for name, of_k in weights.items() for k, weight in zip(FIRST, of_k, strict=True)],
        note="What a ranking of k relevant documents loses if its first one is not relevant, where k or more documents "
        "are relevant. For NDCG_a that is the weight of the paper's section 4. With k the recall-based measures move "
        "weight down the ranking; RBP and RR do not, and ERR hardly does.",
        arranged=(["measure", *map(str, FIRST)], [(_label(name), *of_k) for name, of_k in weights.items()]),
        layout=[Column("", "measure", indexed=True), *(Column(f"k = {k}", str(k), 2) for k in FIRST)],
        in_paper=in_paper.FIRST_RANK,
    )


def first_rank_weight(name: str, k: int) -> float:
    """What a ranking of k relevant documents loses where the first one is not relevant."""
    documents = [f"d{i}" for i in range(k)]
    judged = {"1": dict.fromkeys(documents, 1) | {"n": 0}}
    scores = {document: float(-i) for i, document in enumerate(documents)}
    runs = {"all": {"1": scores}, "but one": {"1": {("n" if d == "d0" else d): s for d, s in scores.items()}}}
    experiment = BaseExperiment(judged, runs, workers=1)
    measure = parse_measure(f"{name}@{k}")
    align = experiment.alignment([], [])
    full, less = (float(measure.value(experiment.align(run, align).evidence)[0]) for run in runs)
    return full - less
