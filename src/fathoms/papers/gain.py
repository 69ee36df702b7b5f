"""Lu, Moffat and Culpepper, "Modeling Relevance as a Function of Retrieval Rank" (AIRS 2016), on any collection.

Only the runs that contributed to the pool are looked at, as in the paper's section 4. Shallower pools are the judgments
of documents that a contributing run has at that depth or above.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from fathoms.base.errors import FathomsError
from fathoms.base.files import check_writable, whole_file
from fathoms.estimate.gain_models import CurveFit, HybridFit, fit_model, hybrid
from fathoms.estimate.logistic import Normal, fit_logistic
from fathoms.estimate.predictors import interpolated
from fathoms.evidence.align import Aligned
from fathoms.evidence.evidence import Evidence, Floats, Ints
from fathoms.evidence.pool import with_judgments
from fathoms.experiment.base import BaseExperiment
from fathoms.inference.significance import paired_t
from fathoms.measures.base import Measure
from fathoms.measures.parse import parse_measure
from fathoms.papers import gain_printed as in_paper
from fathoms.papers.bench import Bench
from fathoms.papers.exhibits import Drawing, Study, chart, described, panes
from fathoms.papers.gain_strata import SAMPLE_LINE, SAMPLES, STRATIFIED, draw_strata, estimates, stratified_fits
from fathoms.papers.printing import Column
from fathoms.questions.predict.gain_curves import empirical_gains

PAPER = "Lu, Moffat and Culpepper (2016), Modeling Relevance as a Function of Retrieval Rank"
PERSISTENCE = 0.95
MODELS = ("static", "constant", "linear", "zipf", "weibull")  # those of the paper; the hybrid is the best of them
EXTRAPOLATED = ("constant", "linear", "zipf", "weibull", "hybrid")
CONDITIONED = "conditioned"
LABELS = {**in_paper.LABELS, CONDITIONED: "G_w, document", SAMPLE_LINE: "G_l of the sample"}
LEGEND = "G_s static, G_c constant, G_l linear, G_z Zipfian, G_w Weibull, G_H the best of these by topic."
SIGNIFICANCE = 0.05
LEAST = 2  # ranks that a curve is fitted to
SHALLOWEST = 5  # pool that has a half and tenths to look at
INSIDE = 1e-12
NONE_BOLD = "none where more than half are as good"


@dataclass(frozen=True)
class GainSettings:
    depth: int | None = None  # of the full pool; measured where not given
    parameters: Path | None = None  # a file for the fitted parameters of every topic


def study(
    experiment: BaseExperiment,
    settings: GainSettings | None = None,
    *,
    progress: Callable[[str], None] = lambda what: None,
) -> Study:
    """All tables and figures of the paper for this collection."""
    settings = settings or GainSettings()
    if settings.parameters is not None:
        check_writable(settings.parameters)
    bench = Bench(experiment)
    if settings.depth is None and not bench.pool.known:
        raise FathomsError("the contributing runs have unjudged documents at rank 1; give the pool's depth (--depth)")
    d = settings.depth or bench.pool.depth
    if d < SHALLOWEST:
        raise FathomsError(
            f"a pool of depth {d} is too shallow: models are fitted to pools of a tenth to a half of it, and one rank "
            f"makes no curve; the paper's experiments need a depth of {SHALLOWEST} or more"
        )
    progress("runs aligned")
    fitted = [depth for depth in range(_tenth(d), d // 2 + 1, _tenth(d)) if depth >= LEAST]
    extrapolated = [depth for depth in (d * tenths // 10 for tenths in (2, 4, 6, 8)) if depth >= LEAST]
    work = Work(bench, d, fitted, extrapolated)
    result = Study(
        PAPER,
        f"{described(bench.qrels)}, {len(bench.contributing)} contributing runs, pool depth {d}",
        systems=len(bench.contributing),
        short="gain",
    )
    progress("fits")
    _fig_2(result, work)
    _fig_3(result, work)
    _table_2(result, work)
    _tests(result, work)
    _best_fits(result, work)
    _fig_4(result, work)
    _table_3(result, work)
    _tails(result, work)
    progress("extrapolations")
    _stratified(result, work)
    progress("stratified pools")
    result.notes += _notes(work)
    if settings.parameters is not None:
        _write_parameters(work, settings.parameters)
    return result


def _tenth(d: int) -> int:
    return max(1, d // 10)


def _notes(work: Work) -> list[str]:
    bench, d = work.bench, work.d
    notes = [
        *bench.assumed,
        f"Used are the {work.in_pool.sum():,} judgments of documents that a contributing run has in its first {d}.",
        "Gains are those of RBP: 1 for relevant documents.",
        _advice(work),
        bench.how_read,
    ]
    if _tenth(d) < LEAST:
        notes.append(
            "No model is fitted to a pool of depth 1, since one rank makes no curve. Curves of up to three parameters "
            "pass through two or three points: how well they fit pools of depth 2 and 3 says nothing."
        )
    return notes


# -- gains, fits and estimates ----------------------------------------------------------------------------------------


Fits = dict[str, CurveFit | HybridFit]


class Work:
    """Empirical gains and the models fitted to them at all depths wanted, and how far off their estimates are."""

    def __init__(self, bench: Bench, d: int, fitted: Sequence[int], extrapolated: Sequence[int]) -> None:
        self.bench, self.d, self.fitted, self.extrapolated = bench, d, fitted, extrapolated
        self.measure = parse_measure(f"RBP(p={PERSISTENCE})@{d}")
        self.half = math.ceil(d / 2)
        self.shallow = max(LEAST, _tenth(d))  # the d' of Figs. 2 and 4
        self.estimated = sorted({*extrapolated, self.half})
        earlier = (depth // 2 for depth in self.estimated if depth // 2 >= LEAST)
        wanted = {*fitted, *self.estimated, *earlier, self.shallow, d}
        # Documents that enter pools; what is deeper than d was not judged for this pool.
        self.in_pool = (bench.depths <= d) & bench.judged
        self.relevant = bench.qrels.grades >= 1

        def fitted_to(depth: int) -> tuple[Floats, Fits]:
            """Gains at ranks 1..depth from the pool of that depth."""
            pool = bench.depths <= depth
            counts = bench.qrels.count(pool)
            runs = bench.contributing.values()
            evidences = (with_judgments(aligned, bench.qrels, pool, counts).cut(depth) for aligned in runs)
            gains = empirical_gains(evidences, self.measure, depth)[0]
            single = {name: fit_model(name, gains) for name in MODELS}
            return gains, {**single, "hybrid": hybrid(list(single.values()))}

        deepest_first = sorted(wanted, reverse=True)  # the longest work
        by_depth = dict(zip(deepest_first, bench.parallel_map(fitted_to, deepest_first), strict=True))
        self.gains = {depth: gains for depth, (gains, _) in by_depth.items()}
        self.fits = {depth: fits for depth, (_, fits) in by_depth.items()}

    @cached_property
    def relevant_by_topic(self) -> Ints:
        qrels = self.bench.qrels
        return np.bincount(qrels.topic[self.in_pool & self.relevant], minlength=len(qrels.topics))

    @cached_property
    def drawn_topics(self) -> list[int]:
        """At the third quartile and at the median by relevant documents."""
        order = np.argsort(self.relevant_by_topic, kind="stable")
        return list(dict.fromkeys(int(order[len(order) * share // 4]) for share in (3, 2)))

    @cached_property
    def errors(self) -> dict[int, dict[str, Floats]]:
        """By depth d' and method, [system, topic]: how far an estimate is from the range that the full pool leaves (the
        epsilon of Fig. 2)."""
        bench, measure, d = self.bench, self.measure, self.d
        conditioned = {depth: model for depth in self.estimated if (model := Conditioned.of(self, depth)) is not None}
        pools = {depth: bench.depths <= depth for depth in (*self.estimated, d)}
        counts = {depth: bench.qrels.count(pool) for depth, pool in pools.items()}

        def errors_of(name: str) -> dict[int, dict[str, Floats]]:
            aligned = bench.contributing[name]
            low, high = _bounds(measure, with_judgments(aligned, bench.qrels, pools[d], counts[d]).cut(d))
            errors = {}
            for depth in self.estimated:
                evidence = with_judgments(aligned, bench.qrels, pools[depth], counts[depth]).cut(d)
                score, highest = _bounds(measure, evidence)  # RBP's lower bound is its score
                ranks = np.arange(1.0, evidence.width + 1)
                estimates = {
                    model: measure.predicted(evidence, self.fits[depth][model].predict(ranks)) for model in EXTRAPOLATED
                }
                # The residual at the same weighted rate as the judged documents: RM's interpolation with C = 1.
                estimates["RM"] = interpolated(score, highest - score, 1.0, 0.01)
                if depth in conditioned:
                    gains = conditioned[depth].gains(aligned, evidence.width)
                    estimates[CONDITIONED] = measure.predicted(evidence, gains)
                errors[depth] = {
                    model: np.maximum(np.maximum(low - X, X - high), 0.0) for model, X in estimates.items()
                }
            return errors

        by_run = bench.parallel_map(errors_of, bench.contributing)
        return {
            depth: {model: np.array([of_run[depth][model] for of_run in by_run]) for model in by_run[0][depth]}
            for depth in self.estimated
        }

    @cached_property
    def places(self) -> tuple[Ints, Ints, Ints]:
        """Judgment, topic and rank of every document in the first d of a contributing run."""
        parts = []
        for aligned in self.bench.contributing.values():
            rows = _judgments(aligned)[:, : self.d]
            topic, column = np.nonzero(rows >= 0)
            parts.append((rows[topic, column], topic, column + 1))
        rows, topic, rank = (np.concatenate(part).astype(np.int64) for part in zip(*parts, strict=True))
        return rows, topic, rank

    def mean_gains(self, depth: int) -> Floats:
        """For each judgment, the mean over the contributing runs of what the Weibull curve of its topic, fitted to the
        pool of that depth, has at the document's rank; 0 for runs that do not have it in their first d."""
        rows, topic, rank = self.places
        curve = self.fits[depth]["weibull"].predict(np.arange(1.0, self.d + 1))
        total = np.bincount(rows, weights=curve[topic, rank - 1], minlength=len(self.bench.qrels))
        return total / len(self.bench.contributing)


@dataclass(frozen=True, eq=False)
class Conditioned:
    """A model conditioned on the document, which the paper's section 5 plans: "the fact that it might be unjudged in
    multiple runs at different depths".

    Our reading. A curve gives the gain of all documents at a rank; those still unjudged are the ones that no run has
    in its first d', and other runs have them at other ranks or not at all. So the chance that an unjudged document is
    relevant is logistic in log of its mean gain over all runs by the Weibull curve (`Work.mean_gains`). The two
    coefficients are learnt on the documents that enter between the pools of depth d'/2 and d', with the curve of the
    former: documents that were unjudged in several runs then, and are judged now. Nothing deeper than d' is used.
    """

    chances: Floats  # one a judgment, whose grade has no part in it unless its document is in the pool
    alone: Floats  # [topic, rank]: of a document that no other run has

    @staticmethod
    def of(work: Work, depth: int) -> Conditioned | None:
        """None where half of the depth is too shallow to fit a curve to."""
        earlier = depth // 2
        if earlier < LEAST:
            return None
        bench = work.bench
        learnt = (bench.depths > earlier) & (bench.depths <= depth) & bench.judged
        before = _logs(work.mean_gains(earlier))[learnt]
        weak = Normal(np.array([0.0, 1.0]), np.array([0.01, 1.0]))
        fit = fit_logistic(
            np.stack([np.ones(len(before)), before], axis=1),
            work.relevant[learnt].astype(np.float64),
            weak,
            np.array([0.0, 1.0]),
            topic=bench.qrels.topic[learnt].astype(np.int64),
            n_topics=len(bench.qrels.topics),
        )
        a, b = fit.coefficients
        curve = work.fits[depth]["weibull"].predict(np.arange(1.0, work.d + 1)) / len(bench.contributing)
        return Conditioned(expit(a + b * _logs(work.mean_gains(depth))), expit(a + b * _logs(curve)))

    def gains(self, aligned: Aligned, width: int) -> Floats:
        """For the places of a run, [topic, rank]."""
        rows = _judgments(aligned)[:, :width]
        return np.where(rows >= 0, self.chances[rows], self.alone[:, : rows.shape[1]])


def _judgments(aligned: Aligned) -> Ints:
    if aligned.judgment is None:
        raise ValueError("align with trace=True first")
    return aligned.judgment.astype(np.int64)


def _logs(gains: Floats) -> Floats:
    return np.log(np.maximum(gains, 1e-6))


def _bounds(measure: Measure, evidence: Evidence) -> tuple[Floats, Floats]:
    low, high = measure.range(evidence, measure.value(evidence))
    if low is None or high is None:
        raise FathomsError(f"{measure.name} has no range")
    return low, high


# -- Figs. 2 and 3 ----------------------------------------------------------------------------------------------------


def _fig_2(result: Study, work: Work) -> None:
    bench, d, shallow = work.bench, work.d, work.shallow
    pools = {depth: bench.depths <= depth for depth in (shallow, d)}
    counts = {depth: bench.qrels.count(pool) for depth, pool in pools.items()}

    def room(aligned: Aligned) -> Floats:
        """How far the final range is from the bounds of the shallow pool, on the narrower side, [topic]."""
        (low, high), (lowest, highest) = (
            _bounds(work.measure, with_judgments(aligned, bench.qrels, pools[depth], counts[depth]).cut(d))
            for depth in (d, shallow)
        )
        return np.minimum(highest - high, low - lowest)

    rooms = np.array(bench.parallel_map(room, bench.contributing.values()))
    place, row = np.unravel_index(int(rooms.argmax()), rooms.shape)
    name, topic = [*bench.contributing][place], bench.qrels.topics[row]
    rows: list[Sequence[Any]] = []
    ranges: dict[int, tuple[float, float]] = {}
    estimate = 0.0
    for depth, of in ((shallow, "d'"), (d, "d")):
        evidence = with_judgments(bench.contributing[name], bench.qrels, pools[depth], counts[depth]).select([row])
        for k in range(1, d + 1):
            measure = parse_measure(f"RBP(p={PERSISTENCE})@{k}")
            ranges[depth] = tuple(float(bound[0]) for bound in _bounds(measure, evidence))  # type: ignore[assignment]
            rows += [(f"{of} = {depth}", bound, k, x) for bound, x in zip(("LB", "UB"), ranges[depth], strict=True)]
            if depth == shallow:
                part = evidence.cut(k)
                curve = work.fits[shallow]["weibull"].predict(np.arange(1.0, part.width + 1))[[row]]
                estimate = float(measure.predicted(part, curve)[0])
                rows.append((f"Weibull estimate, d' = {depth}", "estimate", k, estimate))
    (low, high), (lowest, highest) = ranges[d], ranges[shallow]
    where = "A" if estimate > high else "C" if estimate < low else "B"
    columns = ["pool", "bound", "k", "score"]
    words = f"run {name}, topic {topic}"
    result.add(
        "fig2",
        f"how the bounds of a score converge, RBP({PERSISTENCE}), {words}",
        columns,
        rows,
        note=f"Bounds by evaluation depth k from pools of depth {shallow} (solid) and {d} (dotted). At k = {d} the "
        f"latter leave the final range, {low:.3f} to {high:.3f}. An estimate from the shallow pool lies above it (A), "
        f"inside (B) or below (C): that of the Weibull model (dashed) ends at {estimate:.3f}, so {where}, with ε = "
        f"{max(estimate - high, low - estimate, 0.0):.3f}. Chosen are the run and topic whose final range is furthest "
        "from both bounds of the shallow pool.",
        chart=chart(
            "score_bounds",
            rows,
            columns,
            title=f"Bounds of RBP({PERSISTENCE}) and the final range: {words}",
            axes=("evaluation depth k", f"RBP({PERSISTENCE})"),
            final=(low, high),
            points=[
                ("LB", "", d, lowest),
                ("UB", "", d, highest),
                ("A", "region", d, (high + highest) / 2),
                ("B: final range", "region", d, (low + high) / 2),
                ("C", "region", d, (low + lowest) / 2),
            ],
        ),
    )


def _fig_3(result: Study, work: Work) -> None:
    qrels, depths, d = work.bench.qrels, work.bench.depths, work.d
    judged = np.bincount(qrels.topic[work.in_pool], minlength=len(qrels.topics))
    rows: list[Sequence[Any]] = [
        ("topic", topic, None, int(a), int(b), _percent(b, a))
        for topic, a, b in zip(qrels.topics, judged, work.relevant_by_topic, strict=True)
    ]
    left = chart(
        "dots",
        [(row[1], row[3], row[4]) for row in rows],
        ["topic", "judged", "relevant"],
        x="judged",
        y="relevant",
        title="(a) Judged and relevant documents of each topic",
        axes=("judged documents", "relevant documents"),
    )
    bands: list[Sequence[Any]] = []
    for start in range(1, d + 1, _tenth(d)):
        end = min(start + _tenth(d) - 1, d)
        inside = (depths >= start) & (depths <= end) & work.in_pool
        n, good = int(inside.sum()), int((inside & work.relevant).sum())
        bands.append(("band", None, end, n, good, _percent(good, n)))
    right = chart(
        "lines",
        [("", row[2], row[5]) for row in bands if row[4] > 0],
        ["topics", "depth", "percent"],
        x="depth",
        y="percent",
        group="topics",
        log_y=True,
        title="(b) Relevant share of what each band adds",
        axes=("pool depth", "relevant (%)"),
    )
    result.add(
        "fig3",
        "judged and relevant documents by topic (left); relevant share of the documents that first enter the pool in "
        "each band of depths (right)",
        ["row", "topic", "depth", "judged", "relevant", "percent_relevant"],
        [*rows, *bands],
        chart=panes([left, right], "Relevant documents in the pool", size=(320, 240)),
    )


def _percent(part: int, whole: int) -> float:
    return 100 * float(part) / float(whole) if whole else 0.0


# -- Table 2 and Fig. 4: goodness of fit ------------------------------------------------------------------------------


def _table_2(result: Study, work: Work) -> None:
    rows: list[Sequence[Any]] = []
    for depth in work.fitted:
        errors = _fit_errors(work, depth)
        p = paired_t(errors)[:, -1]
        marks = ["†" if p[i] > SIGNIFICANCE else "" for i in range(len(MODELS))]
        rows.append(
            (depth, *(x for pair in zip(errors.mean(axis=1).tolist(), [*marks, ""], strict=True) for x in pair))
        )
    names = in_paper.SIX
    result.add(
        "table2",
        "RMSE of models fitted to the pool of depth d, mean over topics",
        ["depth", *(part for name in names for part in (name, f"{name}_mark"))],
        rows,
        note=f"{LEGEND} †: not significantly worse than the hybrid (two-tailed paired t-test over topics, p > "
        f"{SIGNIFICANCE:g}). The hybrid is never worse than another by its making.",
        layout=[
            Column("d", "depth"),
            *(Column(LABELS[name], name, 3, mark=f"{name}_mark") for name in names),
        ],
        in_paper=in_paper.TABLE_2,
    )


def _fit_errors(work: Work, depth: int) -> Floats:
    """[model, topic], the hybrid last."""
    return np.stack([work.fits[depth][name].rmse for name in in_paper.SIX])


def _tests(result: Study, work: Work) -> None:
    """Section 4: G_w has the smallest RMSE "compared to the other four models, at a significance level p <= 0.05"."""
    depths = sorted({*work.fitted, work.d})
    rows: list[tuple[Any, ...]] = []
    for depth in depths:
        errors = _fit_errors(work, depth)[:-1]
        p = paired_t(errors)
        rows += [
            (depth, MODELS[a], MODELS[b], float(errors[a].mean() - errors[b].mean()), float(p[a, b]))
            for a, b in combinations(range(len(MODELS)), 2)
        ]
    pairs = list(dict.fromkeys(row[1:3] for row in rows))
    cells = {row[:3]: (row[3], "*" if row[4] <= SIGNIFICANCE else "") for row in rows}
    arranged = [(f"{LABELS[a]} – {LABELS[b]}", *(x for depth in depths for x in cells[depth, a, b])) for a, b in pairs]
    result.add(
        "tableA",
        "differences of RMSE between the five models by pool depth, with paired t-tests over topics",
        ["depth", "model", "other", "rmse_difference", "p"],
        rows,
        note=f"Below 0: the first one fits better. *: p ≤ {SIGNIFICANCE:g}, two-tailed, not corrected for the number "
        f"of tests, as in the paper. d = {work.d}: all judgments of the pool.",
        arranged=(["pair", *(part for depth in depths for part in (f"d{depth}", f"d{depth}_mark"))], arranged),
        layout=[
            Column("Models", "pair", indexed=True),
            *(Column(f"d = {depth}", f"d{depth}", 3, signed=True, mark=f"d{depth}_mark") for depth in depths),
        ],
    )


def _best_fits(result: Study, work: Work) -> None:
    rows = []
    for depth in sorted({*work.fitted, work.d}):
        of_topics = work.fits[depth]["hybrid"]
        chosen = np.bincount(of_topics.parameters()["model"].astype(np.int64), minlength=len(MODELS))
        rows.append((depth, *(100 * float(n) / float(chosen.sum()) for n in chosen)))
    result.add(
        "tableB",
        "percent of topics that each model fits best",
        ["depth", *MODELS],
        rows,
        note="The choices of the hybrid G_H; of models that fit a topic equally well, the first.",
        layout=[
            Column("d", "depth"),
            *(Column(LABELS[name], name, 1, unit="%", best_of_row="highest") for name in MODELS),
        ],
        in_paper=in_paper.BEST,
    )


def _fig_4(result: Study, work: Work) -> None:
    d = work.d
    ranks = np.arange(1.0, d + 1)
    columns = ["topic", "fitted_at", "model", "rank", "gain"]
    rows: list[Sequence[Any]] = []
    drawings: list[Drawing | None] = []
    for topic in work.drawn_topics:
        empirical = zip(ranks, work.gains[d][topic], strict=True)
        rows += [(work.bench.qrels.topics[topic], None, "empirical", int(k), float(g)) for k, g in empirical]
    for depth in (d, work.shallow):
        for topic in work.drawn_topics:
            name = work.bench.qrels.topics[topic]
            dots = [row[2:] for row in rows if row[0] == name and row[2] == "empirical"]
            curves = [
                (name, depth, model, int(k), float(g))
                for model in MODELS
                for k, g in zip(ranks, work.fits[depth][model].predict(ranks)[topic], strict=True)
            ]
            rows += curves
            letter = f"({chr(ord('a') + len(drawings))})"
            fitted = f"all judgments, d = {d}" if depth == d else f"fitted to d' = {depth}"
            drawings.append(
                chart(
                    "lines",
                    [row[2:] for row in curves],
                    columns[2:],
                    x="rank",
                    y="gain",
                    group="model",
                    title=f"{letter} Topic {name}, {fitted}",
                    axes=("rank k", "gain"),
                    points=dots,
                )
            )
    result.add(
        "fig4",
        f"empirical gain by rank and the models fitted to it, from pools of depth {d} and {work.shallow}",
        columns,
        rows,
        note="Dots: empirical gain, from all judgments. The topics at the third quartile and at the median by relevant "
        f"documents ({' and '.join(f'{work.relevant_by_topic[t]:,}' for t in work.drawn_topics)}).",
        chart=panes(drawings, "Gain by rank", len(work.drawn_topics), size=(320, 210), one_legend=True),
    )


# -- Table 3 and what follows from it: predictive strength ------------------------------------------------------------


def _rms(work: Work, depth: int, method: str) -> tuple[float | None, float | None]:
    """Mean over systems of the root mean square over topics of epsilon, and the percentage of epsilons that are 0."""
    epsilon = work.errors[depth].get(method)
    return (None, None) if epsilon is None else _rms_of(epsilon)


def _rms_of(epsilon: Floats) -> tuple[float, float]:
    return float(np.sqrt((epsilon**2).mean(axis=1)).mean()), 100 * float((epsilon < INSIDE).mean())


def _table_3(result: Study, work: Work) -> None:
    name = work.measure.name
    for table, methods, what in (
        ("table3", in_paper.EXTRAPOLATED, ""),
        ("tableC", (*in_paper.EXTRAPOLATED, CONDITIONED), ", with a model conditioned on the document"),
    ):
        rows = [
            (depth, *(x for method in methods for x in _rms(work, depth, method)))
            for depth in (work.extrapolated if table == "table3" else work.estimated)
        ]
        reading = (
            " G_w, document: the chance that an unjudged document is relevant given the Weibull gains at its ranks in "
            "all contributing runs, learnt on the documents that enter between the pools of depth d'/2 and d' (empty "
            "where d'/2 is one rank); our reading of the paper's section 5."
        )
        result.add(
            table,
            f"root mean square of ε prediction errors of {name} from pools of depth d', k = d = {work.d}{what}",
            ["depth", *(part for method in methods for part in (method, f"{method}_inside"))],
            rows,
            note="ε: distance to the score range of the full pool; mean over systems of the root mean square over "
            "topics, and the percentage inside (ε = 0). RM: interpolation of Ravana and Moffat with C = 1. Bold: best, "
            f"as printed; {NONE_BOLD}." + (reading if table == "tableC" else ""),
            layout=[Column("d'", "depth"), *in_paper.errors_layout(methods, LABELS)],
            in_paper=in_paper.TABLE_3 if table == "table3" else None,
        )


def _advice(work: Work) -> str:
    """Section 4, "As a broad guidance"."""
    errors = [(f"the {word} model", *_rms(work, work.half, word.lower())) for word in ("Weibull", "linear")]
    words = " and ".join(f"{error:.3f} ({inside:.0f}% inside) with {model}" for model, error, inside in errors)
    return (
        f"Evaluation to depth k = {work.d} leaves a weight of p^k = {PERSISTENCE**work.d:.3f} to what is deeper. The "
        f"paper advises to pool to d' ≥ k/2; here d' = {work.half} gives a root-mean-square ε of {words}."
    )


def _tails(result: Study, work: Work) -> None:
    tail = PERSISTENCE**work.d
    rows = []
    for p in (PERSISTENCE, 0.9, 0.8, 0.5):
        k = math.ceil(round(math.log(tail) / math.log(p), 9))
        rows.append((p, work.d, p**work.d, k, math.ceil(k / 2)))
    result.add(
        "tableD",
        f"weight of RBP beyond k = {work.d}, and the k of each p beyond which it is that of p = {PERSISTENCE}",
        ["p", "k", "tail", "same_tail_k", "pool_depth"],
        rows,
        note="The paper's advice: judgments pooled to d' ≥ k/2 where evaluation is to depth k, with the Weibull or the "
        "linear model in between.",
        layout=[
            Column("p", "p", 2),
            Column(f"Weight beyond k = {work.d}", "tail", 4),
            Column("k of the same weight", "same_tail_k"),
            Column("Pool d' ≥ k/2", "pool_depth"),
        ],
        in_paper=in_paper.TAILS,
    )


def _stratified(result: Study, work: Work) -> None:
    """Pools of depth d' beside as many judgments in two strata of ranks (section 5's plan)."""
    drawn = (*STRATIFIED, SAMPLE_LINE)
    rows = []
    for depth in work.extrapolated:
        judgments = int((work.in_pool & (work.bench.depths <= depth)).sum())
        of_pool = (x for method in STRATIFIED for x in _rms(work, depth, method))
        of_samples = np.mean([_stratified_rms(work, depth, sample) for sample in range(SAMPLES)], axis=0)
        rows.append((depth, judgments, *of_pool, *of_samples.tolist()))
    names = [f"pool_{name}" for name in STRATIFIED] + [f"strata_{name}" for name in drawn]
    labels = {f"{way}_{name}": LABELS[name] for way in ("pool", "strata") for name in drawn}
    labels = {name: f"{'Pool' if name.startswith('pool') else 'Strata'}: {label}" for name, label in labels.items()}
    result.add(
        "tableE",
        f"stratified pooling: root mean square of ε of {work.measure.name}, k = d = {work.d}, from pools of depth d' "
        "and from as many judgments in two strata",
        ["depth", "judgments", *(part for name in names for part in (name, f"{name}_inside"))],
        rows,
        note="Two strata: every document of the pool of depth d'/2, and in each topic a random sample of those that "
        f"enter from there down to {work.d}, as many as enter down to d'. Curves are fitted to gains in which a "
        "sampled document stands for its stratum; the line of the sample, to sampled documents alone. Means of "
        f"{SAMPLES} samples (--seed); our reading of the paper's section 5. Bold: best, as printed; "
        f"{NONE_BOLD}.",
        layout=[
            Column("d'", "depth"),
            Column("Judgments", "judgments"),
            *in_paper.errors_layout(tuple(names), labels),
        ],
    )


def _stratified_rms(work: Work, depth: int, sample: int) -> Floats:
    """Error and percentage inside of each curve, one after the other."""
    bench, d = work.bench, work.d
    rng = np.random.default_rng([bench.options.seed, depth, sample])
    strata = draw_strata(bench.qrels, bench.depths, work.in_pool, depth, rng)
    fits = stratified_fits(bench, strata, d)
    whole = bench.depths <= d
    counts = bench.qrels.count(whole)

    def errors_of(aligned: Aligned) -> Floats:
        low, high = _bounds(work.measure, with_judgments(aligned, bench.qrels, whole, counts).cut(d))
        of_run = estimates(bench, aligned, strata, fits, work.measure, d)
        return np.array([np.maximum(np.maximum(low - X, X - high), 0.0) for X in of_run.values()])

    by_run = np.array(bench.parallel_map(errors_of, bench.contributing.values()))
    return np.array([x for i in range(by_run.shape[1]) for x in _rms_of(by_run[:, i])])


def _write_parameters(work: Work, path: Path) -> None:
    """One line a topic, pool depth, model and parameter."""
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["depth", "topic", "model", "rmse", "is_best", "at_limit", "parameter", "value"])
        for depth in sorted(work.fits):
            best = work.fits[depth]["hybrid"].parameters()["model"]
            for place, model in enumerate(MODELS):
                fit = work.fits[depth][model]
                values = fit.parameters() or {"": [""] * len(best)}
                for row, topic in enumerate(work.bench.qrels.topics):
                    facts = (depth, topic, model, float(fit.rmse[row]), best[row] == place, bool(fit.at_limit[row]))
                    for name, of_topics in values.items():
                        value = of_topics[row]
                        writer.writerow([*facts, name, value if isinstance(value, str) else float(value)])
