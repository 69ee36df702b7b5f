"""What will the score be once the judging is deep? `fathoms predict` and `fm.predict`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fathoms import charts, choices
from fathoms.choices import checked
from fathoms.data.arrays import ratio, row_sums
from fathoms.data.qrels import JUDGED, PADDING, UNJUDGED
from fathoms.data.topics import valid_text
from fathoms.errors import FathomsError
from fathoms.estimate.calibrated import Estimate, Estimates, aggregated, interval, run_estimates
from fathoms.estimate.draws import check_drawable, drawable, drawn_scores
from fathoms.estimate.gain_models import MODEL_NAMES, CurveFit, HybridFit, fit_model
from fathoms.estimate.names import DEFAULT, DRAWS, LEVEL
from fathoms.estimate.predictors import PREDICTORS, PUBLISHED, Constants, rm_predict
from fathoms.estimate.probabilities import RelevanceProbabilities, relevance_probabilities
from fathoms.estimate.relevance import RELEVANCE_MODELS
from fathoms.evidence.align import Alignment
from fathoms.evidence.evidence import Bools, Evidence, Floats
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.evaluate import aggregate, run_evaluation
from fathoms.experiment.pooling import run_pool
from fathoms.experiment.result import Result
from fathoms.measures.abilities import estimates
from fathoms.measures.base import Measure, Scores
from fathoms.measures.gains import Binary, Graded
from fathoms.measures.parse import parse_measure
from fathoms.text import pluralise

if TYPE_CHECKING:
    import polars as pl

METHODS = (*PREDICTORS, *MODEL_NAMES, *RELEVANCE_MODELS, DEFAULT)
COLUMNS = ("run", "topic", "measure", "score", "low", "high", "method", "estimate", "likely_low", "likely_high")
WORDS = ("run", "topic", "measure", "method")
PLAIN = "the plain score"
FALLBACK = "interpolated"  # where the default has nothing to draw from
ESTIMATE_DRAWS = 200  # behind the estimate of a measure that has no closed form


# -- from scores and ranges: RM -------------------------------------------------------------------------------


def scaled_range(measure: Measure, evidence: Evidence, scores: Scores) -> tuple[Floats, Floats, Floats] | None:
    """B, delta and the scale they were divided by, for RM's predictors, which think of scores from 0 to 1.

    AP, nDCG and Q take T from `bounds=rm`. Weighted sums, whose unit is that of the gains, and whatever else can exceed
    1, are divided by the most they could be, as the paper does with DCG (RM section 3).
    """
    if scores.high is None:
        return None
    B, T = scores.score, scores.high
    if "bounds" in measure.params:
        rough: Floats | None = T
        if getattr(measure, "bounds", None) != "rm":
            rough = measure.replace(bounds="rm").range(evidence, scores.score)[1]
        T = T if rough is None else np.maximum(rough, B)
    largest = measure.largest(evidence)
    least = 0.0 if measure.linear_in_gains else 1.0  # ERR cannot reach 1 either, but that is not for its unit
    scale = np.where(np.isfinite(largest) & (largest > least), largest, 1.0)
    return B / scale, (T - B) / scale, scale


# -- from gains by rank: LMC-gain -----------------------------------------------------------------------------


def gain_table(measure: Measure, evidence: Evidence) -> tuple[Floats, float]:
    """What each code is worth to the measure, and the most a document can be."""
    if isinstance(measure, Graded):
        return measure.table(evidence), measure.top_gain(evidence)
    if isinstance(measure, Binary):
        return measure.relevant(evidence), 1.0
    raise FathomsError(f"{measure.name} has no estimate from predicted gains")


def check_estimable(measure: Measure, methods: Sequence[str]) -> None:
    """Refuse what a measure has no estimate by. The default draws what others need a range for."""
    can = estimates(measure)
    if can == "none" and not (set(methods) == {DEFAULT} and drawable(measure)):
        raise FathomsError(f"{measure.name} has no range, so there is nothing to estimate inside")
    models = [method for method in methods if method in MODEL_NAMES]
    if can == "no gain models" and models:
        others = [method for method in METHODS if method not in MODEL_NAMES]
        raise FathomsError(
            f"{measure.name} has no estimate from predicted gains, so not by {', '.join(models)}; use one of "
            f"{', '.join(others)}"
        )


def empirical_gains(evidences: Iterable[Evidence], measure: Measure, depth: int) -> tuple[Floats, Floats]:
    """g_i of each topic at ranks 1..depth: the mean gain there over the contributing runs (LMC-gain eq. 1).

    A run that ends above a rank has gain 0 there. Unjudged documents, which a true pool of that depth does not leave,
    are not counted; the second array is 0 where none was judged, else 1.
    """
    total = count = np.zeros((0, 0))
    for evidence in evidences:
        table, _ = gain_table(measure, evidence)
        codes = evidence.padded(depth).codes[:, :depth]
        known = (codes >= JUDGED) | (codes == PADDING)
        total = table[codes] * known + (total if total.size else 0.0)
        count = known + (count if count.size else 0.0)
    return ratio(total, count), (count > 0).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Curves:
    """The predicted gain by rank of each topic, for each model and way of valuing documents."""

    depth: int
    fits: dict[tuple[bytes, str], CurveFit | HybridFit]

    def of(self, measure: Measure, method: str, evidence: Evidence) -> Floats:
        table, _ = gain_table(measure, evidence)
        ranks = np.arange(1.0, evidence.width + 1)
        return self.fits[table.tobytes(), method].predict(ranks)


def fit_curves(
    evidences: Sequence[Evidence], measures: Sequence[Measure], methods: Sequence[str], depth: int
) -> tuple[Curves, list[str]]:
    """Fit each model to the empirical gains of the contributing runs, once for measures that value them alike."""
    fits: dict[tuple[bytes, str], CurveFit | HybridFit] = {}
    notes: list[str] = []
    topics = evidences[0].topics
    for measure in measures:
        table, top = gain_table(measure, evidences[0])
        if (table.tobytes(), methods[0]) in fits:
            continue
        gains, known = empirical_gains(evidences, measure, depth)
        nothing = [topic for topic, row in zip(topics, gains, strict=True) if not row.any()]
        if nothing:
            notes.append(
                f"No relevant document in the top {depth} of the contributing runs for topics "
                f"{', '.join(nothing[:5])}{' and more' if len(nothing) > 5 else ''}: models predict 0 there"
            )
        for method in methods:
            fit = fit_model(method, gains, top, known)
            fits[table.tobytes(), method] = fit
            if fit.at_limit.any():
                notes.append(
                    f"{method}: {int(fit.at_limit.sum())} of {len(gains)} topics fit best at the limit of the "
                    "parameters searched"
                )
    return Curves(depth, fits), notes


# -- from each document's probability: RTC, and ours ----------------------------------------------------------


def has_closed_form(measure: Measure) -> bool:
    """Whether the expected score is known from expected gains."""
    return type(measure).predicted is not Measure.predicted and not measure.needs_whole_documents


def expected_score(
    measure: Measure,
    evidence: Evidence,
    found: RelevanceProbabilities,
    run: str,
    contributing: Sequence[str] | None = None,
) -> Floats:
    """The score to expect when each unjudged document is relevant with its own probability.

    A relevant document has the mean gain of the judged relevant documents of the collection. R and ideal rankings count
    what is expected of all given runs, not of this one alone. The mean is exact where documents add up or are read one
    after another (P, RBP, DCG, RR, ERR); AP is E[S] / E[R] (RTC section 2.1); nDCG, Q and INST are of the same kind.
    R_k counts what the runs `contributing` (all, if they are not named) have in their top k.
    """
    grades, shares = found.grades
    at = np.searchsorted(found.levels, grades)
    chance = found.unjudged_chance[found.place[run][:, : evidence.width]]
    others = np.maximum(found.expected_more - chance.sum(axis=1), 0.0)
    if measure.needs_pool:
        evidence, in_pool = _with_pooled_others(measure, evidence, found, run, contributing)
        chance = np.pad(chance, ((0, 0), (0, evidence.width - chance.shape[1])))
        chance[:, -1] = in_pool
        others = np.maximum(others - in_pool, 0.0)
    elsewhere = np.zeros(found.counts.shape)
    elsewhere[:, at] = others[:, None] * shares
    # Counts of documents are whole elsewhere; here they are expectations.
    counts: Any = found.counts + elsewhere
    completed = replace(evidence, levels=found.levels, counts=counts, _cache={})
    table, _ = gain_table(measure, completed)
    return measure.predicted(completed, chance * float(table[JUDGED + at] @ shares))


def _with_pooled_others(
    measure: Measure,
    evidence: Evidence,
    found: RelevanceProbabilities,
    run: str,
    contributing: Sequence[str] | None,
) -> tuple[Evidence, Floats]:
    """One place more, deeper than the measure reads, for all unjudged documents of the pool of depth k that the run
    does not have; and how many relevant ones to expect among them, by topic."""
    k = int(measure.k or 0)
    in_pool = np.zeros(len(found.unjudged_chance), dtype=bool)
    for name in contributing or found.candidates.names:
        in_pool[found.place[name][:, :k]] = True
    in_pool[found.place[run][:, : evidence.width]] = False
    expected = row_sums(found.candidates.topic, (found.unjudged_chance * in_pool)[:-1], len(evidence))
    wider = evidence.padded(max(k, evidence.width) + 1)
    codes = wider.codes.copy()
    codes[:, -1] = UNJUDGED
    pool = wider.pool
    if pool is not None:
        depth = pool.depth.copy()
        depth[:, -1] = 1
        pool = replace(pool, depth=depth)
    return replace(wider, codes=codes, pool=pool, _cache={}), expected


# -- together -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Prediction(Result):
    """Rows as in COLUMNS, how often an estimate had to be moved into its range, and what else to know."""

    columns: ClassVar = COLUMNS
    words: ClassVar = WORDS
    charts: ClassVar = ("ranges",)

    estimates_found: list[tuple[Any, ...]]
    clipped: dict[str, int]
    estimates: int
    notes: list[str] = field(default_factory=list)
    calibrated: Estimates | None = None  # what was drawn, for the default method
    level: float = LEVEL
    errors: dict[str, dict[str, float]] = field(default_factory=dict)  # of methods, by measure, on shallower judgments
    errors_depth: int = 0  # of these judgments

    def rows(self) -> list[tuple[Any, ...]]:
        return self.estimates_found

    @property
    def answer(self) -> list[str]:
        from fathoms.estimate.prediction_sentences import answers

        return answers(self)

    @property
    def remarks(self) -> list[str]:
        from fathoms.estimate.prediction_sentences import remarks

        return remarks(self)

    def draws(self, measure: Any) -> Floats:
        """Scores once judged, [draw, run, topic], in the order of `runs` and `topics` of `.calibrated`."""
        return self._drawn(measure).draws

    def at_most(self, x: float) -> AtMost:
        """How likely each score is at most x once judged."""
        if self.calibrated is None:
            raise FathomsError(f"only the method {DEFAULT} says how likely a score is")
        return AtMost(self.calibrated, float(x), self.notes)

    def _drawn(self, measure: Any) -> Estimate:
        wanted = parse_measure(measure)
        if self.calibrated is None or wanted not in self.calibrated.by_measure:
            raise FathomsError(f"{wanted.name} was not estimated by the method {DEFAULT}")
        return self.calibrated[wanted]

    def _charted(self) -> list[str]:
        return list(dict.fromkeys(row[2] for row in self.estimates_found))

    def _draw(self, kind: str, measure: str) -> Any:
        """The estimates inside the ranges of the runs, by the first method."""
        method = self.estimates_found[0][6]
        rows = [row for row in self.estimates_found if (row[1], row[2], row[6]) == ("all", measure, method)]
        return charts.ranges(_points(sorted(rows, key=lambda row: -(row[7] or 0.0))), measure)


@dataclass(frozen=True, eq=False)
class AtMost(Result):
    """How likely each mean, and each topic's score, is at most some number once judged."""

    columns: ClassVar = ("run", "topic", "measure", "at_most", "probability")
    words: ClassVar = ("run", "topic", "measure")

    estimates: Estimates
    x: float
    notes: list[str] = field(default_factory=list)

    def rows(self) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        for measure, estimate in self.estimates.by_measure.items():
            topics = (estimate.draws <= self.x).mean(axis=0)
            means = (estimate.means <= self.x).mean(axis=0)
            for number, run in enumerate(self.estimates.runs):
                of_run = [*zip(self.estimates.topics, topics[number].tolist(), strict=True), ("all", means[number])]
                found += [(run, topic, measure.name, self.x, float(chance)) for topic, chance in of_run]
        return found

    @property
    def answer(self) -> list[str]:
        """How many runs will probably score at most that."""
        said = []
        for measure, estimate in self.estimates.by_measure.items():
            probably = int(((estimate.means <= self.x).mean(axis=0) > 0.5).sum())
            said.append(
                f"{measure.name}: {probably:,} of {pluralise(len(self.estimates.runs), 'run')} will probably score at "
                f"most {self.x:g} on average once judged."
            )
        return said


def _points(rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    """Estimates as the points of a chart of ranges, which has no orders of ties here."""
    import polars as pl

    points = [
        (place, valid_text(run), score, low, high, None, None, *likely, f"{place}. {valid_text(run)}: {likely[0]:.4f}")
        for place, (run, _, _, score, low, high, _, *likely) in enumerate(rows, 1)
    ]
    numbers = ("score", "low", "high", "tie_low", "tie_high", "estimate", "likely_low", "likely_high")
    schema: Any = {"place": pl.Int64, "run": pl.String, **dict.fromkeys(numbers, pl.Float64), "tooltip": pl.String}
    return pl.DataFrame(points, schema=schema, orient="row")


def estimate(
    measure: Measure,
    evidence: Evidence,
    scores: Scores,
    method: str,
    *,
    constants: Constants | None = None,
    curves: Curves | None = None,
) -> tuple[Floats, Bools] | None:
    """The estimate of a method of RM's or LMC-gain's, kept inside [low, high], and where it had to be moved there; None
    without a range."""
    if scores.low is None or scores.high is None:
        return None
    if method in PREDICTORS:
        ranged = scaled_range(measure, evidence, scores)
        if ranged is None:
            return None
        B, delta, scale = ranged
        raw = rm_predict(method, B, delta, constants or PUBLISHED[method]) * scale
    else:
        if curves is None:
            raise ValueError("a gain model needs its curves")
        raw = measure.predicted(evidence, curves.of(measure, method, evidence))
    return kept_inside(raw, scores)


def kept_inside(raw: Floats, scores: Scores) -> tuple[Floats, Bools] | None:
    if scores.low is None or scores.high is None:
        return None
    inside = np.clip(raw, scores.low, scores.high)
    return inside, np.abs(inside - raw) > 1e-9


def _fitted(
    experiment: BaseExperiment,
    align: Alignment,
    measures: Sequence[Measure],
    models: Sequence[str],
    depth: int | None,
    notes: list[str],
) -> Curves | None:
    """The curves of the gain models, fitted to the contributing runs; None where no such model is asked for."""
    if not models:
        return None
    pool = experiment.pool_assumed()
    if experiment.options.pooled is None:
        notes.append(pool.sentence)
    contributing = [experiment.align(name, align).evidence for name in pool.names]
    depth = depth or max(pool.depth, 2)
    curves, fit_notes = fit_curves(contributing, measures, models, depth)
    notes += [f"Fitted at depth {depth}: {note[0].lower()}{note[1:]}" for note in fit_notes]
    return curves


def run_prediction(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    methods: Sequence[str] = (DEFAULT,),
    *,
    by_topic: bool = False,
    depth: int | None = None,
    constants: Constants | None = None,
    labels: Sequence[Any] = (),
    to_depth: int | None = None,
    draws: int = DRAWS,
    level: float = LEVEL,
    check_methods: bool = False,
    progress: Callable[[str], None] = lambda run: None,
) -> Prediction:
    """Estimates of every run, measure and method; `labels` are numbers for documents, for models of relevance. With
    `check_methods` all are tried on a shallower pool, to see which to trust."""
    if not methods:
        raise FathomsError(f"no method given; known are {', '.join(METHODS)} and all")
    for method in methods:
        if method not in METHODS:
            raise FathomsError(f"unknown method {method!r}; known are {', '.join(METHODS)} and all")
    if depth is not None:
        depth = checked("depth", choices.whole_number, depth)
    draws, level = checked("draws", choices.whole_number, draws), checked("level", choices.share, level)
    if (level, draws) != (LEVEL, DRAWS) and DEFAULT not in methods:
        raise FathomsError(f"level and draws are for the method {DEFAULT}, found {', '.join(methods)}")
    of_relevance = (*RELEVANCE_MODELS, DEFAULT)
    if (len(labels) or to_depth is not None) and not set(methods) & set(of_relevance):
        raise FathomsError(
            f"labels and to_depth are for the methods {' and '.join(of_relevance)}, found {', '.join(methods)}"
        )
    experiment.needs_an_order("predict")
    measures, options = list(measures), experiment.options
    for measure in measures:
        check_estimable(measure, methods)
    experiment.prepare()
    notes = list(experiment.qrels.notes)
    align = experiment.alignment(measures, notes)
    notes = [*experiment.topic_notes(), *notes]
    estimates = None
    if DEFAULT in methods:
        estimates = _calibrated(experiment, measures, labels, to_depth, draws, notes)
    curves = _fitted(experiment, align, measures, [m for m in methods if m in MODEL_NAMES], depth, notes)
    expectations = {
        method: _expectations(
            relevance_probabilities(experiment, method, labels, to_depth),
            measures,
            options.seed,
            notes,
            experiment.contributing() if any(measure.needs_pool for measure in measures) else (),
        )
        for method in methods
        if method in RELEVANCE_MODELS
    }

    others = [method for method in methods if method != DEFAULT]
    all_drawn = estimates is not None and all(measure in estimates.by_measure for measure in measures)

    def one(name: str) -> tuple[list[tuple[Any, ...]], dict[str, int], int]:
        rows: list[tuple[Any, ...]] = []
        clipped = dict.fromkeys(methods, 0)
        total = 0
        if estimates is not None and all_drawn and not others:  # which knows all scores
            known = align.empty(experiment.qrels.topics)
        else:
            known = experiment.align(name, align).evidence
        for measure in measures:
            if estimates is not None and measure in estimates.by_measure:
                scores = estimates[measure].scores_of(estimates.runs.index(name))
            else:
                scores = measure.scores(known)
            for method in methods:
                likely: tuple[Floats, Floats] | None = None
                means: tuple[float | None, ...] = (None, None)
                if method == DEFAULT and estimates is not None and measure in estimates.by_measure:
                    of_run = estimates.runs.index(name)
                    values = estimates[measure].point[of_run]
                    drawn = estimates[measure].draws[:, of_run]
                    likely = interval(drawn, values, level)
                    of_mean = interval(aggregated(measure, drawn), aggregated(measure, values), level)
                    means = (float(of_mean[0]), float(of_mean[1]))
                else:
                    if method in expectations:
                        found = kept_inside(expectations[method](name, known, measure), scores)
                    else:
                        used = FALLBACK if method == DEFAULT else method
                        found = estimate(measure, known, scores, used, constants=constants, curves=curves)
                    if found is None:
                        raise FathomsError(f"{measure.name} has no range, so there is nothing to estimate inside")
                    values, moved = found
                    clipped[method] += int(moved.sum())
                total += len(values)
                columns = (scores.score, scores.low, scores.high)
                if by_topic:
                    ends = [[None] * len(values)] * 2 if likely is None else [end.tolist() for end in likely]
                    rows += [
                        (name, topic, measure.name, *(_at(c, i) for c in columns), method, v, ends[0][i], ends[1][i])
                        for i, (topic, v) in enumerate(zip(known.topics, values.tolist(), strict=True))
                    ]
                of_all = [aggregate(measure, column) for column in columns]
                rows.append((name, "all", measure.name, *of_all, method, aggregate(measure, values), *means))
        return rows, clipped, total

    results = experiment.map(one, progress=progress)
    return Prediction(
        [row for rows, _, _ in results for row in rows],
        {method: sum(clipped[method] for _, clipped, _ in results) for method in methods},
        sum(total for _, _, total in results),
        notes,
        estimates,
        level,
        *(_errors(experiment, measures, methods, constants, labels) if check_methods else ({}, 0)),
    )


def _errors(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    methods: Sequence[str],
    constants: Constants | None,
    labels: Sequence[Any],
) -> tuple[dict[str, dict[str, float]], int]:
    """The root mean square error of each method over contributing runs and topics, by measure, from judgments cut to
    half the depth of the pool, or of the shallowest measure; and that depth, 0 where there is no such pool. The truth
    is the score under all judgments of the pool, which leave nothing of these runs unjudged down to its depth."""
    pool = experiment.pool_assumed()
    depth = min([pool.depth, *(int(m.k) for m in measures if m.k is not None and m.cutoff != "recall")]) // 2
    if not pool.known or depth < 1:
        return {}, 0
    judged = run_pool(experiment, depth=depth).qrels
    if judged is None or not judged.counts[:, 1:].any():
        return {}, 0
    whole = run_pool(experiment, depth=pool.depth).qrels
    options, runs = experiment.options, {name: experiment.run(name) for name in pool.names}
    how: dict[str, Any] = {
        "pooled": pool.names,
        "ties": options.ties,
        "score_precision": options.precision,
        "workers": options.workers,
        "seed": options.seed,
    }
    deep = run_evaluation(BaseExperiment(whole, runs, **how), measures, by_topic=True, scores_only=True)
    truth = {row[:3]: row[3] for row in deep.rows()}
    cut = BaseExperiment(judged, runs, **how)
    drawn = set(methods) & {*RELEVANCE_MODELS, DEFAULT}
    more: dict[str, Any] = {"labels": labels, "to_depth": pool.depth} if drawn else {}
    found = run_prediction(cut, measures, methods, by_topic=True, constants=constants, **more)
    squares: dict[str, dict[str, list[float]]] = {}
    for run, topic, measure, score, _, _, method, value, *_ in found.rows():
        if topic == "all":
            continue
        actual = truth[run, topic, measure]
        of_measure = squares.setdefault(measure, {})
        of_measure.setdefault(method, []).append((value - actual) ** 2)
        if method == methods[0]:
            of_measure.setdefault(PLAIN, []).append((score - actual) ** 2)
    return {m: {how: float(np.sqrt(np.mean(all_))) for how, all_ in of.items()} for m, of in squares.items()}, depth


def _at(column: Floats | None, i: int) -> float | None:
    return None if column is None else float(column[i])


def _calibrated(
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    labels: Sequence[Any],
    to_depth: int | None,
    draws: int,
    notes: list[str],
) -> Estimates | None:
    """The default's estimates of the measures that can be drawn; others fall back, which a note says."""
    drawn = []
    for measure in measures:
        try:
            check_drawable(measure)
            drawn.append(measure)
        except FathomsError as error:
            notes.append(f"{error}; here its estimate is RM's {FALLBACK}, without an interval")
    if not drawn:
        return None
    found = run_estimates(experiment, drawn, labels=labels, to_depth=to_depth, draws=draws)
    notes += [note for note in found.notes if note not in notes]
    return found


def _expectations(
    found: RelevanceProbabilities,
    measures: Sequence[Measure],
    seed: int,
    notes: list[str],
    contributing: Sequence[str],
) -> Callable[[str, Evidence, Measure], Floats]:
    """What a model of relevance expects of a run, its evidence and a measure: in closed form, or by draws."""
    notes += [note for note in found.notes if note not in notes]
    names = found.candidates.names
    drawn = drawn_scores(found, names, [m for m in measures if not has_closed_form(m)], ESTIMATE_DRAWS, seed)

    def expected(run: str, known: Evidence, measure: Measure) -> Floats:
        if measure in drawn:
            return drawn[measure][:, names.index(run)].mean(axis=0)
        return expected_score(measure, known, found, run, contributing)

    return expected


def chosen_methods(method: str | Sequence[str]) -> tuple[str, ...]:
    several = method if isinstance(method, list | tuple) else [method]
    return METHODS if method == "all" else tuple(map(str, several))
