"""Is A better than B, and will it stay so? What `fathoms compare` and `fm.compare` do."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fathoms.comparison.differences import UnjudgedWeights, sound_range, unjudged_weights, weighted_range
from fathoms.comparison.significance import Correction, Test, corrected, effect_size, interval, p_values
from fathoms.data.arrays import frame_of_rows
from fathoms.data.qrels import Qrels, read_qrels
from fathoms.data.runs import Names, Runs, scan_runs
from fathoms.errors import FathomsError, FathomsWarning
from fathoms.estimate.predict import estimate
from fathoms.evidence.align import rank
from fathoms.evidence.evidence import Evidence, Floats, Ints
from fathoms.evidence.order import Precision, Ties, default_precision
from fathoms.evidence.pool import make_pool
from fathoms.experiment.evaluate import Options, alignment, prepare_measures
from fathoms.measures.base import Measure, Scores
from fathoms.measures.weighted import Weighted
from fathoms.parallel import parallel_map

if TYPE_CHECKING:
    import polars as pl

COLUMNS = (
    "run_a",
    "run_b",
    "measure",
    "diff",
    "diff_low",
    "diff_high",
    "ci_low",
    "ci_high",
    "p",
    "p_corrected",
    "verdict",
)
WORDS = ("run_a", "run_b", "measure", "verdict")
EQUAL = 1e-12
ESTIMATE = "smoothed"  # the point estimate that a settled difference must survive


@dataclass(frozen=True)
class Pair:
    """One comparison: A against B."""

    run_a: str
    run_b: str
    measure: str
    diff: float
    diff_low: float | None  # least and greatest mean difference over all ways of judging
    diff_high: float | None
    ci_low: float
    ci_high: float
    p: float
    p_corrected: float
    verdict: str
    exact: bool  # is the range of the difference exact, or only sound?
    effect: float
    ties_turn: bool  # another order of tied documents could turn the sign
    estimate_turns: bool  # the point estimate has the other sign
    depths_turn: tuple[int, ...]  # depths at which the sign is the other

    def row(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in COLUMNS)


@dataclass(frozen=True, eq=False)
class Comparison:
    pairs: list[Pair]
    alpha: float
    test: Test
    correction: Correction
    topics: int
    notes: list[str] = field(default_factory=list)

    def to_frame(self) -> pl.DataFrame:
        rows = [pair.row() for pair in self.pairs]
        return frame_of_rows(COLUMNS, rows, WORDS)


@dataclass(frozen=True, eq=False)
class _System:
    """What is kept of a run: its scores by measure, its point estimates, its scores at other depths."""

    scores: dict[Measure, Scores]
    estimates: dict[Measure, Floats | None]
    depths: dict[Measure, Floats]  # means at other_depths(measure)
    unjudged: dict[Measure, UnjudgedWeights]  # of measures whose differences have an exact range


def other_depths(measure: Measure) -> tuple[int, ...]:
    """Depths somebody else might have chosen: half and twice the cut-off, or 10 and 100 where there is none."""
    if measure.cutoff not in ("optional", "required"):
        return ()
    if measure.k is None:
        return (10, 100)
    return tuple(dict.fromkeys((max(1, int(measure.k) // 2), int(measure.k) * 2)))


def run_comparison(
    qrels: Qrels,
    runs: Runs,
    measures: list[Measure],
    options: Options,
    *,
    test: Test = "t",
    correction: Correction = "holm",
    alpha: float = 0.05,
    baseline: str | None = None,
    progress: Callable[[str], None] = lambda run: None,
) -> Comparison:
    """Look at each run on its own, a few at a time, and then at all pairs."""
    names = list(runs)
    if len(names) < 2:
        raise FathomsError("a comparison needs at least two runs")
    if baseline is not None and baseline not in names:
        raise FathomsError(f"the baseline {baseline!r} is not among the runs: {', '.join(names[:5])}")
    notes = list(qrels.notes)
    align = alignment(qrels, runs, measures, options, notes)
    precision = options.precision or default_precision(options.ties)
    weighted = [m for m in measures if isinstance(m, Weighted) and not m.judged_only and options.ties != "expected"]
    pool = None
    if weighted:
        depth = max(int(m.k or 10**9) for m in weighted)
        pool = make_pool((rank(runs[name], qrels, options.ties, precision) for name in names), qrels, depth)

    def one(name: str) -> _System:
        run = runs[name]
        evidence = align(run).evidence
        found = _system(evidence, measures)
        if pool is None:
            return found
        ranked = rank(run, qrels, options.ties, precision)
        return replace(found, unjudged={m: unjudged_weights(ranked, pool, m, evidence) for m in weighted})

    systems = parallel_map(one, names, workers=options.workers, scheduler=options.scheduler, progress=progress)
    pairs: list[Pair] = []
    for measure in measures:
        pairs += _pairs(measure, names, systems, len(qrels.topics), test, correction, alpha, baseline, options)
    return Comparison(pairs, alpha, test, correction, len(qrels.topics), notes)


def _system(evidence: Evidence, measures: list[Measure]) -> _System:
    scores = {m: m.scores(evidence) for m in measures}
    estimates: dict[Measure, Floats | None] = {}
    depths: dict[Measure, Floats] = {}
    for m in measures:
        found = estimate(m, evidence, scores[m], ESTIMATE)
        estimates[m] = None if found is None else found[0]
        if other_depths(m):
            depths[m] = m.at_depths(evidence, other_depths(m)).mean(axis=0)
    return _System(scores, estimates, depths, {})


def compared(names: list[str], baseline: str | None) -> tuple[Ints, Ints]:
    """The places of A and B in all pairs, or of each other run and the baseline."""
    if baseline is None:
        return np.triu_indices(len(names), 1)
    place = names.index(baseline)
    others = np.array([i for i in range(len(names)) if i != place])
    return others, np.full(len(others), place)


def _pairs(
    measure: Measure,
    names: list[str],
    systems: list[_System],
    n_topics: int,
    test: Test,
    correction: Correction,
    alpha: float,
    baseline: str | None,
    options: Options,
) -> list[Pair]:
    scores = [system.scores[measure] for system in systems]
    values = np.stack([score.score for score in scores])
    if options.ties == "expected":
        values = np.stack([s.score if s.tie_expected is None else s.tie_expected for s in scores])
    p = p_values(values, test, options.seed)
    exact = measure in systems[0].unjudged
    ranged: tuple[Floats, Floats] | None
    if exact:
        ranged = weighted_range(scores, [system.unjudged[measure] for system in systems], n_topics)
    else:
        ranged = None if options.ties == "expected" else sound_range(scores)
    a, b = compared(names, baseline)
    differences = values[a] - values[b]
    diff = differences.mean(axis=1)
    ci_low, ci_high = interval(differences, alpha)
    effect = effect_size(differences)
    p_pair = p[a, b]
    # Tukey's p-values allow for all comparisons already.
    p_all = p_pair if test == "tukey" else corrected(p_pair, correction)
    tie_low = np.array([np.nan if s.tie_low is None else s.tie_low.mean() for s in scores])
    tie_high = np.array([np.nan if s.tie_high is None else s.tie_high.mean() for s in scores])
    guesses = [system.estimates[measure] for system in systems]
    guess = np.array([np.nan if g is None else g.mean() for g in guesses])
    depths = other_depths(measure)
    pairs = []
    for i in range(len(a)):
        A, B = int(a[i]), int(b[i])
        sign = np.sign(diff[i])
        least, most = (None, None) if ranged is None else (float(ranged[0][A, B]), float(ranged[1][A, B]))
        worst_tie = tie_low[A] - tie_high[B] if sign > 0 else tie_low[B] - tie_high[A]
        ties_turn = bool(worst_tie < 0)
        estimate_turns = bool(sign * (guess[A] - guess[B]) < 0)
        turned = tuple(
            k
            for j, k in enumerate(depths)
            if sign * (systems[A].depths[measure][j] - systems[B].depths[measure][j]) < -EQUAL
        )
        if abs(diff[i]) < EQUAL:
            verdict = "tie"
        elif least is not None and most is not None and (least > 0 or most < 0):
            verdict = "certain"
        elif p_all[i] < alpha and not ties_turn and not estimate_turns:
            verdict = "settled"
        else:
            verdict = "open"
        pairs.append(
            Pair(
                names[A],
                names[B],
                measure.name,
                float(diff[i]),
                least,
                most,
                float(ci_low[i]),
                float(ci_high[i]),
                float(p_pair[i]),
                float(p_all[i]),
                verdict,
                exact,
                float(effect[i]),
                ties_turn,
                estimate_turns,
                turned,
            )
        )
    return pairs


def compare(
    qrels: Any,
    runs: Any,
    measures: Sequence[Any] | Any = "AP",
    *,
    test: Test = "t",
    correction: Correction = "holm",
    alpha: float = 0.05,
    baseline: str | None = None,
    ties: Ties = "trec",
    score_precision: Precision | None = None,
    universe: str | float | None = None,
    pooled: Sequence[str] | None = None,
    lenient: bool = False,
    junk: float | None = None,
    names: Names = "file",
    workers: int = 2,
    scheduler: str | None = None,
    seed: int = 0,
) -> pl.DataFrame:
    """Compare all pairs of runs, or all with a baseline: one row a pair and measure.

    The columns are run_a, run_b, measure, diff (of the means), diff_low and diff_high (over all ways of judging),
    ci_low and ci_high, p, p_corrected, verdict: `certain` (no way of judging turns it), `settled` (significant, and
    neither ties nor the point estimate turn it), `tie`, or `open`.

    >>> import fathoms as fm
    >>> qrels = {"1": {"a": 1, "b": 0}, "2": {"c": 1, "d": 0}}
    >>> runs = {"good": {"1": {"a": 2.0}, "2": {"c": 2.0}}, "bad": {"1": {"b": 2.0}, "2": {"d": 2.0}}}
    >>> fm.compare(qrels, runs, "P@1")["verdict"].to_list()
    ['certain']
    """
    result = run_comparison(
        read_qrels(qrels, lenient=lenient, junk=junk),
        scan_runs(runs, names=names, lenient=lenient),
        prepare_measures(measures, universe=universe),
        Options(ties, score_precision, "all", None if pooled is None else tuple(pooled), workers, seed, scheduler),
        test=test,
        correction=correction,
        alpha=alpha,
        baseline=baseline,
    )
    for note in result.notes:
        warnings.warn(note, FathomsWarning, stacklevel=2)
    return result.to_frame()
