"""Yang, Moffat and Turpin, "How Precise Does Document Scoring Need to Be?" (AIRS 2016), on any collection.

Table 1 is of all runs; the weakest are then left out, as in section 3. Bands are made of the runs as they stand in
their files (section 4), unless another order is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fathoms.comparison.significance import effect_size, paired_t, pairs
from fathoms.comparison.tie_anomalies import affected
from fathoms.comparison.tie_effects import TieReport
from fathoms.comparison.ties import run_tie_analysis
from fathoms.data.qrels import Qrels
from fathoms.data.runs import Runs
from fathoms.errors import FathomsError
from fathoms.evidence.align import Alignment
from fathoms.evidence.banding import banded
from fathoms.evidence.evidence import Floats
from fathoms.evidence.order import Precision, Ties
from fathoms.experiment.base import BaseExperiment
from fathoms.measures.banding import mean_over_ties, worst_loss
from fathoms.measures.parse import parse_measure
from fathoms.papers.exhibits import Study, chart, described
from fathoms.parallel import parallel_map

PAPER = "Yang, Moffat and Turpin (2016), How Precise Does Document Scoring Need to Be?"
MEASURES = ("RR", "RBP(p=0.5)", "RBP(p=0.85)", "AP")
RHOS = ("1.1", "1.2", "1.4", "1.7", "2.0")  # of Tables 2 and 3
ELEVEN = tuple(f"{tenths / 10:.1f}" for tenths in range(10, 21))  # our reading of "eleven different values"
SHOWN = "1.4"  # in Fig. 4
KEPT = 80 / 103  # of the systems
ALPHA = 0.05
LEAST_P = 1e-6  # smaller ones are drawn there

# TREC7's figures. Table 1: percent of systems, system-topics and documents; Table 3: systems of 80.
PAPER_TABLE_1 = ((95.2, 91.0, 14.0), (6.8, 4.2, 1.4))
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
PAPER_PAIRS = {("AP", "1.0"): (62.2, None, None), ("AP", "1.4"): (62.1, 0.1, 0.2), ("RR", "1.0"): (45.0, None, None)}


@dataclass(frozen=True)
class TiesSettings:
    ties: Ties = "run"  # the order that is banded
    precision: Precision = "float64"
    workers: int = 2
    scheduler: str | None = None


@dataclass(frozen=True, eq=False)
class Bench:
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
    if len(runs) < 2:
        raise FathomsError("the paper's comparisons need at least two runs")
    ap = parse_measure("AP")
    experiment = BaseExperiment(qrels, runs, workers=settings.workers, scheduler=settings.scheduler)
    report = run_tie_analysis(experiment, [ap])
    progress("ties")
    ranked = np.argsort(-report.means[ap].columns["trec"], kind="stable")
    best = [report.names[i] for i in ranked[: max(2, round(KEPT * len(runs)))]]
    bench = _score(qrels, runs, best, settings)
    progress("runs banded")
    result = Study(PAPER, f"{described(qrels)}, {len(runs)} runs, the best {len(best)} by AP kept")
    means = ", ".join(
        f"{name} {bench.original(name).mean():.4f} ({paper:.4f})"
        for name, paper in zip(MEASURES, PAPER_MEANS, strict=True)
    )
    result.notes += [
        f"What is banded: --ties {settings.ties}; the paper goes by file order (--ties run). Unjudged is not relevant.",
        f"Means over the systems kept and all topics, and the paper's: {means}.",
        "The paper's own figures are for TREC7 ad hoc, 103 runs, of which 80 were kept.",
    ]
    _table_1(result, report)
    _fig_2(result, report, best)
    _table_2(result, bench)
    _fig_3(result, bench)
    _table_3(result, bench)
    _fig_4(result, bench)
    progress("tables and figures")
    return result


def _score(qrels: Qrels, runs: Runs, systems: list[str], settings: TiesSettings) -> Bench:
    align = Alignment(qrels, settings.ties, settings.precision)
    measures = [parse_measure(name) for name in MEASURES]

    def one(name: str) -> dict[tuple[str, str], Floats]:
        evidence = align(runs[name]).evidence
        scores = {(ELEVEN[0], measure.name): measure.value(evidence) for measure in measures}
        for rho in ELEVEN[1:]:
            tied = banded(evidence, Fraction(rho))  # once, for its groups are the same under all measures
            scores |= {(rho, measure.name): mean_over_ties(measure, tied) for measure in measures}
        return scores

    found = parallel_map(one, systems, workers=settings.workers, scheduler=settings.scheduler)
    return Bench(systems, {key: np.array([scores[key] for scores in found]) for key in found[0]})


def _table_1(result: Study, report: TieReport) -> None:
    rows = [(one.kind, *one.percent, *paper) for one, paper in zip(affected(report.found), PAPER_TABLE_1, strict=True)]
    kinds = ("systems", "system_topics", "documents")
    result.add(
        "table1",
        "percent of systems, system-topic combinations and documents with ties and contradictions",
        ["what", *kinds, *(f"paper_{kind}" for kind in kinds)],
        rows,
        note="After sorting by score and then rank; scores compared as float64. The paper's columns are TREC7's.",
    )


def _fig_2(result: Study, report: TieReport, systems: Sequence[str]) -> None:
    (means,) = report.means.values()
    ends = ("pessimistic", "trec", "expected", "optimistic")
    of_run = {name: [float(means.columns[end][i]) for end in ends] for i, name in enumerate(report.names)}
    counts = {one.run: one for one in report.found}
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


def _table_2(result: Study, bench: Bench) -> None:
    bounded = MEASURES[:3]
    rows = []
    for rho in RHOS:
        worst = [worst_loss(parse_measure(name), Fraction(rho)) for name in bounded]
        rows.append((rho, *worst, *(float(bench.losses(rho, name).max()) for name in bounded)))
    result.add(
        "table2",
        "worst-case losses, and the greatest loss of any system on any topic here",
        ["rho", *bounded, *(f"seen {name}" for name in bounded)],
        rows,
        note="The first three columns are the paper's, digit by digit; they follow from the definitions.",
    )


def _fig_3(result: Study, bench: Bench) -> None:
    rows = []
    for name in MEASURES:
        for rho in RHOS:
            losses = bench.losses(rho, name).ravel()
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
            rows,
            columns,
            x="rho",
            group="measure",
            title="What banding costs, by system and topic",
            axes=("rho", "original less banded score"),
        ),
    )


def _table_3(result: Study, bench: Bench) -> None:
    rows = [
        (
            percent,
            rho,
            *(kept_share(bench.original(m), bench.scores[rho, m], percent / 100) for m in MEASURES),
            *PAPER_TABLE_3[percent, rho],
        )
        for percent in (99, 97, 95)
        for rho in RHOS
    ]
    result.add(
        "table3",
        f"systems of {len(bench.systems)} whose banded score is significantly above a percentage of the original score",
        ["percent", "rho", *MEASURES, *(f"paper {name}" for name in MEASURES)],
        rows,
        note=f"One-tailed paired t-test over topics, p <= {ALPHA}. The paper's columns are TREC7's, of 80 systems.",
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


def _fig_4(result: Study, bench: Bench) -> None:
    before = {name: pairs(paired_t(bench.original(name))) for name in MEASURES}
    rows: list[tuple[Any, ...]] = []
    for name in MEASURES:
        for rho in ELEVEN:
            p = pairs(paired_t(bench.scores[rho, name]))
            was, now = before[name] <= ALPHA, p <= ALPHA
            shares = (100 * float(flags.mean()) for flags in (now, now & ~was, was & ~now))
            rows.append((name, rho, *shares, *PAPER_PAIRS.get((name, rho), (None, None, None))))
    kinds = ("discrimination", "false_positives", "false_negatives")
    result.add(
        "tableA",
        f"percent of system pairs that differ significantly (p <= {ALPHA}) by rho, only after banding and only before",
        ["measure", "rho", *kinds, *(f"paper_{kind}" for kind in kinds)],
        rows,
        note="What Fig. 4's quadrants hold, in percent of all pairs. The paper's columns are TREC7's, from its text.",
    )
    outcomes = ("both", "false positive", "neither", "false negative")
    for letter, name in zip("abcd", MEASURES, strict=True):
        p = pairs(paired_t(bench.scores[SHOWN, name]))
        which = np.select([(before[name] <= ALPHA) & (p <= ALPHA), p <= ALPHA, before[name] > ALPHA], [0, 1, 2], 3)
        cells = [
            (max(float(x), LEAST_P), max(float(y), LEAST_P), outcomes[i])
            for x, y, i in zip(before[name], p, which.tolist(), strict=True)
        ]
        labels = {outcome: f"{outcome} {100 * (which == i).mean():.1f}%" for i, outcome in enumerate(outcomes)}
        shown = [(*cell[:2], labels[cell[2]]) for cell in cells]
        columns = ["p_original", "p_banded", "outcome"]
        result.add(
            f"fig4{letter}",
            f"p-values of all pairs of systems, original and banded with rho = {SHOWN}, {name}",
            columns,
            cells,
            note=f"p below {LEAST_P:g} is drawn at {LEAST_P:g}.",
            chart=chart(
                "p_scatter",
                shown,
                columns,
                x="p_original",
                y="p_banded",
                alpha=ALPHA,
                outcomes=list(labels.values()),
                title=f"{name}: do the same pairs differ significantly?",
                axes=("p, original", f"p, banded with rho = {SHOWN}"),
            ),
        )
