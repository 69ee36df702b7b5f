"""Is A better than B, and will it stay so? What `fathoms compare` and `fm.compare` do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fathoms import charts, choices
from fathoms.choices import checked
from fathoms.comparison.differences import UnjudgedWeights, sound_range, unjudged_weights, weighted_range
from fathoms.comparison.significance import (
    CORRECTIONS,
    SIGNIFICANCE_TESTS,
    TESTS,
    Correction,
    Test,
    corrected,
    effect_size,
    interval,
    p_values,
)
from fathoms.data.file_names import stem
from fathoms.errors import FathomsError
from fathoms.estimate.predict import estimate
from fathoms.evidence.evidence import Evidence, Floats, Ints
from fathoms.evidence.pool import make_pool
from fathoms.experiment.base import BaseExperiment, Options
from fathoms.experiment.result import Result
from fathoms.measures.base import Measure, Scores
from fathoms.measures.weighted import Weighted

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
class Comparison(Result):
    """All pairs compared, and how."""

    columns: ClassVar = COLUMNS
    words: ClassVar = WORDS

    pairs: list[Pair]
    alpha: float
    test: Test
    correction: Correction
    topics: int
    notes: list[str] = field(default_factory=list)

    def rows(self) -> list[tuple[Any, ...]]:
        return [pair.row() for pair in self.pairs]

    @property
    def sentences(self) -> list[str]:
        from fathoms.comparison.sentences import sentences

        return sentences(self)

    def chart(self) -> Any:
        """Which differences of the first measure can be claimed, the best runs first."""
        charts.require()
        frame, names = verdict_boxes([pair for pair in self.pairs if pair.measure == self.pairs[0].measure])
        return charts.verdict_matrix(frame, names)


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
    experiment: BaseExperiment,
    measures: Sequence[Measure],
    *,
    test: Test = "t",
    correction: Correction = "holm",
    alpha: float = 0.05,
    baseline: str | None = None,
    progress: Callable[[str], None] = lambda run: None,
) -> Comparison:
    """Look at each run on its own, a few at a time, and then at all pairs."""
    checked("test", choices.one_of, TESTS, test)
    checked("correction", choices.one_of, CORRECTIONS, correction)
    alpha = checked("alpha", choices.share, alpha)
    names, options, measures = list(experiment.runs), experiment.options, list(measures)
    if len(names) < 2:
        raise FathomsError("a comparison needs at least two runs")
    baseline = chosen_baseline(baseline, names)
    experiment.prepare()
    qrels = experiment.qrels
    notes = list(qrels.notes)
    align = experiment.alignment(measures, notes)
    weighted = [m for m in measures if isinstance(m, Weighted) and not m.judged_only and options.ties != "expected"]
    pool = None
    if weighted:
        depth = max(int(m.k or 10**9) for m in weighted)
        pool = make_pool(map(experiment.ranked, names), qrels, depth)

    def one(name: str) -> _System:
        ranked = experiment.ranked(name)
        evidence = align.of(ranked).evidence
        found = _system(evidence, measures)
        if pool is None:
            return found
        return replace(found, unjudged={m: unjudged_weights(ranked, pool, m, evidence) for m in weighted})

    systems = experiment.map(one, progress=progress)
    pairs: list[Pair] = []
    for measure in measures:
        pairs += _pairs(measure, names, systems, len(qrels.topics), test, correction, alpha, baseline, options)
    return Comparison(pairs, alpha, test, correction, len(qrels.topics), notes)


def chosen_baseline(baseline: str | None, names: Sequence[str]) -> str | None:
    """The run to compare with, given by its name or as its file."""
    if baseline is None or baseline in names:
        return baseline
    if not choices.is_path(baseline) or stem(baseline) not in names:
        raise FathomsError(f"the baseline {baseline!r} is not among the runs: {', '.join(names[:5])}")
    return stem(baseline)


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
    p_all = p_pair if SIGNIFICANCE_TESTS[test].allows_for_all_pairs else corrected(p_pair, correction)
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


def verdict_boxes(pairs: Sequence[Pair], names: Sequence[str] = ()) -> tuple[pl.DataFrame, list[str]]:
    """The verdicts of one measure as boxes of a matrix, both ways, and the runs in its order: as given, or best first.

    Neighbours with the same verdict are one box, so that 140 runs stay small.
    """
    import polars as pl

    if not names:
        wins: dict[str, float] = {name: 0.0 for pair in pairs for name in (pair.run_a, pair.run_b)}
        for pair in pairs:
            wins[pair.run_a] += pair.diff
            wins[pair.run_b] -= pair.diff
        names = sorted(wins, key=lambda name: (-wins[name], name))
    verdicts = {(pair.run_a, pair.run_b): pair.verdict for pair in pairs}
    boxes: list[tuple[int, int, int, str]] = []
    for row, a in enumerate(names, 1):
        cells = [(place, verdicts.get((a, b)) or verdicts.get((b, a))) for place, b in enumerate(names, 1)]
        for verdict, run in groupby(cells, key=lambda cell: cell[1]):
            places = [place for place, _ in run]
            if verdict is not None:
                boxes.append((row, places[0], places[-1], verdict))
    return pl.DataFrame(boxes, schema=["row", "start", "stop", "verdict"], orient="row"), list(names)
