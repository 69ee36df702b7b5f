"""Yang, Moffat and Turpin, "How Precise Does Document Scoring Need to Be?" (AIRS 2016), on any collection.

Table 1 is of all runs, or of those that contributed to the pool; the weakest are then left out, as in section 3. Bands
are made of the runs as they stand in their files (section 4), unless another order is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.base.parallel import parallel_map
from fathoms.data.qrels import Qrels
from fathoms.data.runs import Runs
from fathoms.data.tie_keys import TieKey, read_tie_key
from fathoms.evidence.align import Alignment
from fathoms.evidence.banding import banded
from fathoms.evidence.evidence import Floats
from fathoms.evidence.order import Precision, Ties
from fathoms.experiment.base import BaseExperiment
from fathoms.inference.correlation import correlation
from fathoms.inference.significance import effect_size, paired_t, pairs
from fathoms.measures.banding import mean_over_ties, worst_loss
from fathoms.measures.parse import parse_measure
from fathoms.papers.exhibits import InPaper, Study, chart, described, panes
from fathoms.papers.printing import Column
from fathoms.papers.ties_stratified import AT_LEAST, JUDGED_WHOLE, stratified_rows
from fathoms.questions.ties.analysis import run_tie_analysis
from fathoms.questions.ties.anomalies import affected
from fathoms.questions.ties.effects import TieReport

PAPER = "Yang, Moffat and Turpin (2016), How Precise Does Document Scoring Need to Be?"
MEASURES = ("RR", "RBP(p=0.5)", "RBP(p=0.85)", "AP")
BOUNDED = (*MEASURES, "nDCG", "ERR")  # Table 2; the paper has the first three
LONGEST = 1000  # documents of a run, to which the bounds on AP and nDCG apply
LABELS = {"RBP(p=0.5)": "RBP0.5", "RBP(p=0.85)": "RBP0.85", "nDCG": "NDCG"}  # as the paper calls them
RHOS = ("1.1", "1.2", "1.4", "1.7", "2.0")  # of Tables 2 and 3
ELEVEN = tuple(f"{tenths / 10:.1f}" for tenths in range(10, 21))  # our reading of "eleven different values"
SHOWN = "1.4"  # in Fig. 4
KEPT = 80 / 103  # of the systems
ALPHA = 0.05
KINDS = ("discrimination", "false_positives", "false_negatives")  # of pairs told apart
HEADS = ("Told apart", "False positives", "False negatives")
LEAST_P = 1e-6  # smaller ones are drawn there

# TREC7's figures. Table 1: percent of systems, system-topics and documents; Table 3: systems of 80.
PAPER_TABLE_1 = (
    ("tied scores", 95.2, 91.0, 14.0),
    ("rank/score contradictions", 6.8, 4.2, 1.4),
    ("lines out of rank order", None, None, 7.3),
)
PAPER_TABLE_2 = (
    ("1.1", 0.0038, 0.0002, 0.0087),
    ("1.2", 0.0119, 0.0052, 0.0231),
    ("1.4", 0.0417, 0.0429, 0.0482),
    ("1.7", 0.0833, 0.0945, 0.0777),
    ("2.0", 0.0833, 0.1016, 0.0971),
)
PAPER_MEANS = (0.6939, 0.5556, 0.4677, 0.2311)
PAPER_TABLE_3 = {
    (99, "1.1"): (80, 80, 80, 80),
    (99, "1.2"): (80, 80, 80, 80),
    (99, "1.4"): (77, 44, 65, 44),
    (99, "1.7"): (37, 11, 14, 0),
    (99, "2.0"): (38, 10, 3, 0),
    (97, "1.1"): (80, 80, 80, 80),
    (97, "1.2"): (80, 80, 80, 80),
    (97, "1.4"): (80, 80, 80, 80),
    (97, "1.7"): (80, 67, 80, 77),
    (97, "2.0"): (80, 61, 71, 20),
    **{(95, rho): (80, 80, 80, 80) for rho in RHOS},
}
PAPER_PAIRS = (("AP", "1.0", 62.2, None, None), ("AP", "1.4", 62.1, 0.1, 0.2), ("RR", "1.0", 45.0, None, None))
TREC7 = "TREC7 ad hoc, 103 runs, of which 80 were kept"


@dataclass(frozen=True)
class TiesSettings:
    ties: Ties = "run"  # the order that is banded
    precision: Precision = "float64"
    pooled: Sequence[str] | None = None  # the runs to look at, those that contributed to the pool; all where not given
    tie_key: str | os.PathLike[str] | None = None  # a file with what ties may be broken by, as one more rule
    stratify: Sequence[float] = ()  # shares of the deeper bands to judge, in a table on judging less (section 5)
    workers: int = 2
    scheduler: str | None = None


@dataclass(frozen=True, eq=False)
class BandedScores:
    """Scores [system, topic] of the systems kept, as they were (rho 1.0) and in bands, by rho and measure."""

    systems: list[str]
    scores: Mapping[tuple[str, str], Floats]

    def original(self, measure: str) -> Floats:
        return self.scores["1.0", measure]

    def losses(self, rho: str, measure: str) -> Floats:
        return self.original(measure) - self.scores[rho, measure]


def study(
    qrels: Qrels,
    runs: Runs,
    settings: TiesSettings | None = None,
    *,
    progress: Callable[[str], None] = lambda what: None,
) -> Study:
    """Tables 1 to 3 and Figs. 2 to 4 for this collection."""
    settings = settings or TiesSettings()
    if settings.pooled is not None:
        runs = runs.only(name for name in dict.fromkeys(settings.pooled) if name in runs)
    if len(runs) < 2:
        raise FathomsError("the paper's comparisons need at least two runs")
    key = None if settings.tie_key is None else read_tie_key(settings.tie_key)
    ap = parse_measure("AP")
    experiment = BaseExperiment(qrels, runs, workers=settings.workers, scheduler=settings.scheduler)
    report = run_tie_analysis(experiment, [ap])
    progress("ties")
    ranked = np.argsort(-report.means[ap].columns["trec"], kind="stable")
    best = [report.names[i] for i in ranked[: max(2, round(KEPT * len(runs)))]]
    scored = _score(qrels, runs, best, settings)
    progress("runs banded")
    which = "runs" if settings.pooled is None else "contributing runs"
    result = Study(PAPER, f"{described(qrels)}, {len(runs)} {which}, the best {len(best)} by AP kept", short="ties")
    result.systems = len(best)
    means = ", ".join(
        f"{name} {scored.original(name).mean():.4f} ({paper:.4f})"
        for name, paper in zip(MEASURES, PAPER_MEANS, strict=True)
    )
    result.notes += [
        f"What is banded: --ties {settings.ties}; the paper goes by file order (--ties run). Unjudged is not relevant.",
        f"Means over the systems kept and all topics, and the paper's: {means}.",
        f"The paper's own figures are for {TREC7}.",
    ]
    _table_1(result, report)
    _fig_2(result, report, best)
    _table_2(result, scored, qrels.max_grade)
    _fig_3(result, scored)
    _table_3(result, scored)
    _fig_4(result, scored)
    _rules(result, report, best, key, _key_means(qrels, runs, best, key, settings))
    if settings.stratify:
        _stratified(result, qrels, runs, scored, settings)
    progress("tables and figures")
    return result


def _score(qrels: Qrels, runs: Runs, systems: list[str], settings: TiesSettings) -> BandedScores:
    align = Alignment(qrels, settings.ties, settings.precision)
    measures = [parse_measure(name) for name in BOUNDED]

    def scores_of(name: str) -> dict[tuple[str, str], Floats]:
        evidence = align(runs[name]).evidence
        scores = {(ELEVEN[0], measure.name): measure.value(evidence) for measure in measures}
        for rho in ELEVEN[1:]:
            tied = banded(evidence, Fraction(rho))  # once, for its groups are the same under all measures
            scores |= {
                (rho, measure.name): mean_over_ties(measure, tied)
                for measure in measures
                if rho in RHOS or measure.name in MEASURES
            }
        return scores

    by_run = parallel_map(scores_of, systems, workers=settings.workers, scheduler=settings.scheduler)
    return BandedScores(systems, {key: np.array([scores[key] for scores in by_run]) for key in by_run[0]})


def _label(name: str) -> str:
    return LABELS.get(name, name)


def _table_1(result: Study, report: TieReport) -> None:
    kinds = ("systems", "system_topics", "documents")
    layout = [
        Column("", "what"),
        *(
            Column(head, kind, 1, group="Percentage affected")
            for head, kind in zip(("Systems", "System-topics", "Documents"), kinds, strict=True)
        ),
    ]
    result.add(
        "table1",
        "percent of systems, system-topic combinations and documents with ties and contradictions",
        ["what", *kinds],
        [(kind.kind, *kind.percent) for kind in affected(report.by_run)],
        note="Ties and contradictions after sorting by score and then rank; scores compared as float64. A line is out "
        "of rank order if its rank is lower than that of the line above; section 3 gives their share of the documents.",
        layout=layout,
        in_paper=InPaper(TREC7, ["what", *kinds], PAPER_TABLE_1, layout=layout),
    )


def _fig_2(result: Study, report: TieReport, systems: Sequence[str]) -> None:
    (means,) = report.means.values()
    ends = ("pessimistic", "trec", "expected", "optimistic")
    of_run = {name: [float(means.columns[end][i]) for end in ends] for i, name in enumerate(report.names)}
    counts = {tied.run: tied for tied in report.by_run}
    rows = [
        (name, *of_run[name], of_run[name][3] - of_run[name][0], counts[name].tied, counts[name].documents)
        for name in systems
    ]
    columns = ["run", *ends, "width", "tied", "documents"]
    result.add(
        "fig2",
        "mean AP of each system over the orders of its tied documents",
        columns,
        rows,
        note="trec: trec_eval's order, scores as floats. tied: documents with the score of the one above them.",
        chart=chart("tie_segments", rows, columns, measure="AP"),
    )


def _table_2(result: Study, scored: BandedScores, max_grade: float) -> None:
    rows = []
    for rho in RHOS:
        for name in BOUNDED:
            worst = worst_loss(parse_measure(name), Fraction(rho), max_grade, length=LONGEST)
            rows.append((rho, name, worst, float(scored.losses(rho, name).max())))
    cells = {row[:2]: row[2:] for row in rows}
    kinds = ("worst", "seen")
    arranged = [(rho, *(cells[rho, name][i] for i in range(2) for name in BOUNDED)) for rho in RHOS]
    paper = ["rho", *(f"worst_{name}" for name in BOUNDED[:3])]
    columns = [
        Column(_label(name), f"{kind}_{name}", 4, group=group)
        for kind, group in zip(kinds, ("Worst case", "Greatest loss here"), strict=True)
        for name in BOUNDED
    ]
    result.add(
        "table2",
        "worst-case losses, and the greatest loss of any system on any topic here",
        ["rho", "measure", "worst_loss", "greatest_loss_here"],
        rows,
        note=f"Worst cases follow from the definitions. Those of AP and NDCG are over all runs of up to {LONGEST:,} "
        f"documents, which the paper does not have; ERR's is for grades of up to {max_grade:g}, sound, and at most "
        "0.001 above what can happen.",
        arranged=(["rho", *(f"{kind}_{name}" for kind in kinds for name in BOUNDED)], arranged),
        layout=[Column("ρ", "rho"), *columns],
        in_paper=InPaper("any collection", paper, PAPER_TABLE_2, None, [Column("ρ", "rho"), *columns[:3]]),
    )


def _fig_3(result: Study, scored: BandedScores) -> None:
    rows: list[tuple[Any, ...]] = []
    for name in MEASURES:
        for rho in RHOS:
            losses = scored.losses(rho, name).ravel()
            q1, median, q3 = np.percentile(losses, [25, 50, 75])
            reach = 1.5 * (q3 - q1)
            inside = losses[(losses >= q1 - reach) & (losses <= q3 + reach)]
            shares = (100 * float((losses > 1e-12).mean()), 100 * float((losses < -1e-12).mean()))
            numbers = (inside.min(), q1, median, q3, inside.max(), losses.mean(), losses.min(), losses.max())
            rows.append((name, rho, *map(float, numbers), *shares))
    columns = [
        "measure",
        "rho",
        "low",
        "q1",
        "median",
        "q3",
        "high",
        "mean",
        "min",
        "max",
        "lose_percent",
        "gain_percent",
    ]
    result.add(
        "fig3",
        "original less banded score over all systems and topics",
        columns,
        rows,
        note="low and high: whiskers, the last values within 1.5 interquartile ranges of the box. "
        "Diamonds are means, rings the extremes.",
        chart=chart(
            "boxes",
            [(_label(row[0]), *row[1:]) for row in rows],
            columns,
            x="rho",
            group="measure",
            title="What banding costs, by system and topic",
            axes=("ρ", "original less banded score"),
        ),
    )


def _table_3(result: Study, scored: BandedScores) -> None:
    percents = (99, 97, 95)
    rows: list[tuple[Any, ...]] = [
        (
            percent,
            rho,
            *(kept_share(scored.original(m), scored.scores[rho, m], percent / 100) for m in MEASURES),
        )
        for percent in percents
        for rho in RHOS
    ]
    names = ["rho", *(f"{name} {percent}" for percent in percents for name in MEASURES)]
    layout = [
        Column("ρ", "rho"),
        *(
            Column(_label(name), f"{name} {percent}", group=f"Relative to {percent}% of original score")
            for percent in percents
            for name in MEASURES
        ),
    ]

    def arranged(counts: Mapping[tuple[int, str], Sequence[int]]) -> list[tuple[Any, ...]]:
        return [(rho, *(count for percent in percents for count in counts[percent, rho])) for rho in RHOS]

    result.add(
        "table3",
        f"systems of {len(scored.systems)} whose banded score is significantly above a percentage of the original "
        "score",
        ["percent", "rho", *MEASURES],
        rows,
        note=f"One-tailed paired t-test over topics, p ≤ {ALPHA}.",
        arranged=(names, arranged({(percent, rho): counts for percent, rho, *counts in rows})),
        layout=layout,
        in_paper=InPaper(f"{TREC7}: systems of 80", names, arranged(PAPER_TABLE_3), layout=layout),
    )


def kept_share(original: Floats, after: Floats, share: float) -> int:
    """Systems for which a one-tailed paired t-test says that `after` is above `share` of `original` (Table 3).

    The paper multiplies the original scores and counts a small p as a score degraded by less than that, so the
    alternative is that the mean of after - share * original is positive. Without variance there is no evidence.
    """
    from scipy.special import stdtr

    differences = after - share * original
    topics = differences.shape[1]
    p = stdtr(topics - 1, -effect_size(differences) * np.sqrt(topics))
    return int((p <= ALPHA).sum())


def _fig_4(result: Study, scored: BandedScores) -> None:
    before = {name: pairs(paired_t(scored.original(name))) for name in MEASURES}
    rows: list[tuple[Any, ...]] = []
    for name in MEASURES:
        for rho in ELEVEN:
            p = pairs(paired_t(scored.scores[rho, name]))
            was, now = before[name] <= ALPHA, p <= ALPHA
            shares = (100 * float(flags.mean()) for flags in (now, now & ~was, was & ~now))
            rows.append((name, rho, *shares))
    shares_of = {(name, rho): percentages for name, rho, *percentages in rows}
    plain = [Column(head, kind, 1, unit="%") for head, kind in zip(HEADS, KINDS, strict=True)]
    printed = [(_label(name), *percentages) for name, *percentages in PAPER_PAIRS]
    result.add(
        "tableA",
        f"percent of system pairs that differ significantly (p ≤ {ALPHA}) by ρ, only after banding and only before",
        ["measure", "rho", *KINDS],
        rows,
        note="What Fig. 4's quadrants hold, in percent of all pairs.",
        arranged=(
            ["rho", *(f"{kind} {name}" for name in MEASURES for kind in KINDS)],
            [(rho, *(x for name in MEASURES for x in shares_of[name, rho])) for rho in ELEVEN],
        ),
        layout=[
            Column("ρ", "rho"),
            *(
                Column(head, f"{kind} {name}", 1, group=_label(name))
                for name in MEASURES
                for head, kind in zip(("Disc.", "F. pos.", "F. neg."), KINDS, strict=True)
            ),
        ],
        in_paper=InPaper(
            f"{TREC7}, from its text",
            ["measure", "rho", *KINDS],
            printed,
            layout=[Column("", "measure"), Column("ρ", "rho"), *plain],
        ),
    )
    outcomes = ("both", "false positive", "neither", "false negative")
    columns = ["measure", "p_original", "p_banded", "outcome"]
    points: list[tuple[Any, ...]] = []
    drawings = []
    for letter, name in zip("abcd", MEASURES, strict=True):
        p = pairs(paired_t(scored.scores[SHOWN, name]))
        which = np.select([(before[name] <= ALPHA) & (p <= ALPHA), p <= ALPHA, before[name] > ALPHA], [0, 1, 2], 3)
        cells = [
            (max(float(x), LEAST_P), max(float(y), LEAST_P), outcomes[i])
            for x, y, i in zip(before[name], p, which.tolist(), strict=True)
        ]
        points += [(name, *cell) for cell in cells]
        labels = {outcome: f"{outcome} {100 * (which == i).mean():.1f}%" for i, outcome in enumerate(outcomes)}
        drawings.append(
            chart(
                "p_scatter",
                [(*cell[:2], labels[cell[2]]) for cell in cells],
                columns[1:],
                x="p_original",
                y="p_banded",
                alpha=ALPHA,
                outcomes=list(labels.values()),
                title=f"({letter}) {_label(name)}",
                axes=("p, original", f"p, banded with ρ = {SHOWN}"),
            )
        )
    result.add(
        "fig4",
        f"p-values of all pairs of systems, original and banded with ρ = {SHOWN}",
        columns,
        points,
        note=f"Dashed: p = {ALPHA}; the legends have the percentage of pairs in each quadrant. p below {LEAST_P:g} is "
        f"drawn at {LEAST_P:g}.",
        chart=panes(drawings, f"Do the same pairs differ significantly? Bands with ρ = {SHOWN}", size=(250, 250)),
    )


RULES = {
    "trec": "document id, descending (trec_eval)",
    "file_order": "file order of all lines",
    "score_rank": "rank column",
    "expected": "mean over all orders",
    "pessimistic": "pessimistic",
    "optimistic": "optimistic",
}


def _rules(result: Study, report: TieReport, systems: Sequence[str], key: TieKey | None, by_key: Floats | None) -> None:
    """What each way of breaking ties (section 2) makes of the systems' means and of their order."""
    (means,) = report.means.values()
    kept = [report.names.index(name) for name in systems]
    means_by_rule = {rule: means.columns[rule][kept] for rule in RULES}
    names = dict(RULES)
    if key is not None and by_key is not None:
        means_by_rule["tie_key"], names["tie_key"] = by_key, f"by {os.path.basename(key.source)}, greatest first"
    rows = []
    for rule, values in means_by_rule.items():
        if not np.isnan(values).any():
            change = values - means_by_rule["trec"]
            tau = correlation(values, means_by_rule["trec"])
            rows.append((rule, names[rule], float(values.mean()), float(np.abs(change).max()), tau))
    result.add(
        "tableB",
        "mean AP of the systems kept under each way of breaking ties, against trec_eval's",
        ["rule", "ties_broken_by", "mean_ap", "greatest_change", "tau"],
        rows,
        note="Greatest change: of a system's mean AP. Scores are compared as doubles under the rank column, else as "
        "floats, as trec_eval does.",
        layout=[
            Column("Ties broken by", "ties_broken_by"),
            Column("Mean AP", "mean_ap", 4),
            Column("Greatest change", "greatest_change", 4),
            Column("τ", "tau", 3),
        ],
    )


def _key_means(
    qrels: Qrels, runs: Runs, systems: Sequence[str], key: TieKey | None, settings: TiesSettings
) -> Floats | None:
    """Each system's mean AP with ties broken by the key; documents of equal value stay as in the file."""
    if key is None:
        return None
    align, ap = Alignment(qrels, "score-rank", "float32"), parse_measure("AP")

    def mean_of(name: str) -> float:
        run = runs[name]
        return float(ap.value(align(replace(run, ranks=key.ranks(run))).evidence).mean())

    return np.array(parallel_map(mean_of, systems, workers=settings.workers, scheduler=settings.scheduler))


def _stratified(result: Study, qrels: Qrels, runs: Runs, scored: BandedScores, settings: TiesSettings) -> None:
    how: dict[str, Any] = {
        "ties": settings.ties,
        "score_precision": settings.precision,
        "workers": settings.workers,
        "scheduler": settings.scheduler,
    }
    rows = stratified_rows(
        qrels, runs, scored.systems, Fraction(SHOWN), settings.stratify, scored.original("AP"), ALPHA, how
    )
    columns = ["share", "judgments", "saved_percent", "rmse", "tau", *KINDS]
    result.add(
        "tableC",
        f"AP from judging a share of each deeper band of the pool (ρ = {SHOWN}), against all judgments",
        columns,
        rows,
        note=f"Bands that start in the first {JUDGED_WHOLE} ranks are judged whole; of the others a random share, and "
        f"at least {AT_LEAST} documents of a topic's band, one draw for each row. Scores are estimated from the sample "
        "by its design. False positives and negatives: pairs of systems told apart only with the sample, only with all "
        "judgments.",
        layout=[
            Column("Share judged", "share", 2),
            Column("Judgments", "judgments"),
            Column("Saved", "saved_percent", 1, unit="%"),
            Column("RMSE", "rmse", 4),
            Column("τ", "tau", 3),
            *(Column(head, kind, 1, unit="%") for head, kind in zip(HEADS, KINDS, strict=True)),
        ],
    )
