"""How deep to judge: the residual that a pool of each depth leaves, and how many judgments it takes.

The residual is the width of a score's possible range, `high` - `low` (Moffat and Zobel 2008; Lu, Moffat and Culpepper
2016 under Judgment Cost). RBP's is p^d after depth d, whatever is found there. That of any weighted sum follows from
the runs alone, since it does not matter what the judged documents turn out to be. All others depend on the grades: they
are measured with the judgments there are, cut back to pools of each depth; or, for measures of what the user sees, as
the residual left if nothing relevant has been found yet, which is the most it can be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.data.qrels import PADDING, UNJUDGED, Qrels
from fathoms.estimate.estimates import run_estimates, suggested_depth
from fathoms.evidence.evidence import Evidence, Floats
from fathoms.evidence.pool import judged_depths, pool_documents, with_judgments
from fathoms.experiment.base import BaseExperiment
from fathoms.inference.topic_set_size import fewest
from fathoms.measures.base import Measure
from fathoms.measures.means import aggregate
from fathoms.measures.weighted import Weighted

DEPTHS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000)
USUAL = 100  # the deepest pool looked at, unless a deeper one is asked for
LONGEST = 1000  # documents of a ranking that is only imagined
LIKELY_DEPTHS = 6  # at which likely intervals are worked out
DRAWS = 200
Basis = Literal["formula", "runs", "judgments"]


@dataclass(frozen=True)
class DepthPoint:
    """A pool of some depth and what it leaves unknown."""

    depth: int
    residual: float  # the mean over runs
    largest: float | None = None  # and the run with the most
    judgments: int | None = None
    new: int | None = None  # those among them that are not judged yet
    likely: float | None = None  # width of the likely interval of a mean score, the mean over runs
    likely_difference: float | None = None  # the same of the difference between two runs, over all pairs
    clear: float | None = None  # share of the pairs of runs of which it is clear who is ahead


@dataclass(frozen=True)
class CutoffPoint:
    """A cut-off and what a pool of one depth leaves unknown there."""

    cutoff: int
    residual: float


@dataclass(frozen=True)
class SamplePlan:
    """Random judgments of a pool that are enough for an interval."""

    depth: int
    documents: int  # in the pool
    judgments: int
    width: float  # of the interval of a run's mean score
    worst: bool  # every document of a run was taken for relevant, since nothing is judged


@dataclass(frozen=True)
class DepthPlan:
    """How deep to judge for one measure."""

    measure: Measure
    basis: Basis
    epsilon: float
    points: list[DepthPoint]
    enough: DepthPoint | None  # the shallowest pool that leaves at most epsilon, None where none looked at does
    runs: int = 0
    depth: int | None = None  # of the pool that is planned
    cutoffs: list[CutoffPoint] = field(default_factory=list)  # at that depth
    reach: int | None = None  # the cut-off at which that pool still leaves at most epsilon; None: none of them
    to_depth: int | None = None  # what the likely intervals are of
    at_depth: DepthPoint | None = None  # of the pool that is planned
    sample: SamplePlan | None = None


def residual_of(measure: Measure, evidence: Evidence) -> float:
    """The width of the range of the mean score."""
    parts = [measure.scores(chunk) for chunk in evidence.chunks()]
    ends = []
    for end in ("low", "high"):
        columns = [getattr(part, end) for part in parts]
        if any(column is None for column in columns):
            raise FathomsError(f"{measure.name} has no range, so nothing can be said about its residual")
        ends.append(aggregate(measure, np.concatenate(columns)) or 0.0)
    return ends[1] - ends[0]


Residuals = Callable[[Measure, Sequence[int]], Floats]  # to [run, depth]


# -- where to get residuals from --------------------------------------------------------------------------------------


def imagined_residuals(measure: Measure, depths: Sequence[int]) -> Floats:
    """For one long ranking whose first documents are judged and not relevant."""
    n = LONGEST if measure.k is None else max(int(measure.k), 1)
    run = {str(i): float(-i) for i in range(n)}
    wanted = [min(depth, n) for depth in depths]
    names = [f"t{i}" for i in range(len(wanted))]
    qrels = {name: {str(i): 0 for i in range(depth)} for name, depth in zip(names, wanted, strict=True)}
    experiment = BaseExperiment(qrels, {"run": dict.fromkeys(names, run)}, workers=1)
    alignment = experiment.alignment([measure], [], ranges=False)
    scores = measure.scores(experiment.align("run", alignment).evidence)
    if scores.low is None or scores.high is None:
        raise FathomsError(f"{measure.name} has no range, so nothing can be said about its residual")
    place = [experiment.qrels.index[name] for name in names]
    return (scores.high - scores.low)[None, place]


@dataclass(eq=False)
class Pools:
    """Runs, and judgments of what is in the first places of the contributing ones."""

    experiment: BaseExperiment
    names: list[str]  # contributing runs
    deepest: int
    unjudged: int = 0  # documents still to be judged; they come last

    def __post_init__(self) -> None:
        self.experiment.prepare()
        self.depths = judged_depths(map(self.experiment.ranked, self.names), self.experiment.qrels)
        self.judged = self.experiment.qrels.grades >= 0

    def residuals(self, measure: Measure, depths: Sequence[int]) -> Floats:
        experiment, qrels = self.experiment, self.experiment.qrels
        alignment = experiment.alignment([measure], [], trace=True, ranges=False)

        def of_run(name: str) -> list[float]:
            aligned = experiment.align(name, alignment)
            return [residual_of(measure, with_judgments(aligned, qrels, self.depths <= depth)) for depth in depths]

        return np.array(experiment.map(of_run, self.names))

    def judgments(self, depth: int) -> tuple[int, int]:
        """Judgments in a pool of that depth: all of them, and those that do not exist yet."""
        inside = (self.depths <= depth) & self.judged
        return int(inside.sum()), int(inside[len(inside) - self.unjudged :].sum()) if self.unjudged else 0


def as_if_judged(experiment: BaseExperiment, deepest: int) -> Pools:
    """The pool of the runs as if it had been judged and nothing were relevant; judged documents count as known from now
    on."""
    options, names = experiment.options, experiment.contributing()
    runs = [experiment.run(name) for name in names]
    documents = pool_documents(runs, options.ties, options.used_precision, depth=deepest)
    if experiment.has_qrels:
        documents = [document for document in documents if document[0] in experiment.qrels.index]
    judged: list[tuple[str, str, float]] = []
    top = 1.0
    if experiment.has_qrels:
        qrels = experiment.qrels
        top = qrels.max_grade
        known = {
            (qrels.topics[topic], document.decode(errors="surrogateescape"))
            for topic, document, grade in zip(qrels.topic.tolist(), qrels.documents.tolist(), qrels.grades, strict=True)
            if grade >= 0
        }
        judged = [(topic, document, 0.0) for topic, document, _ in documents if (topic, document) in known]
        documents = [document for document in documents if document[:2] not in known]
    rows = [*judged, *((topic, document, 0.0) for topic, document, _ in documents)]
    if not rows:
        raise FathomsError("the runs have no documents to pool")
    rows[0] = (
        *rows[0][:2],
        top,
    )  # so that the greatest grade is that of the judgments; a weighted sum does not depend on it
    topics = experiment.qrels.topics if experiment.has_qrels else list(dict.fromkeys(row[0] for row in rows))
    number = {topic: i for i, topic in enumerate(topics)}  # every judged topic counts
    imagined = Qrels(
        topics,
        np.array([number[row[0]] for row in rows], dtype=np.int32),
        np.array([row[1].encode("utf-8", "surrogateescape") for row in rows]),
        np.array([row[2] for row in rows]),
    )
    return Pools(experiment.with_qrels(imagined), names, deepest, len(documents))


# -- plans ------------------------------------------------------------------------------------------------------------


class DepthPlanner:
    """Plans depths for several measures; the work on the runs is done once for all of them."""

    def __init__(
        self,
        experiment: BaseExperiment,
        epsilon: float,
        depth: int | None,
        width: float | None = None,
        level: float = 0.95,
    ) -> None:
        self.experiment, self.epsilon, self.depth = experiment, epsilon, depth
        self.width, self.level = width, level
        self._pools: dict[Basis, Pools] = {}

    def basis(self, measure: Measure) -> Basis | None:
        """Where a measure's residuals can be taken from; None if from nowhere."""
        if measure.range_is not in ("exact", "sound"):
            return None
        weighted = isinstance(measure, Weighted)
        utility = measure.based_on == "utility"
        if not self.experiment.has_runs:
            ends = measure.k is not None or measure.has_tail
            return "formula" if utility and ends else None
        if weighted or (utility and not self.experiment.has_qrels):
            return "runs"
        if not self.experiment.has_qrels or not self.experiment.pool_assumed().known:
            return None
        return "judgments"

    def pools(self, basis: Basis) -> Pools:
        if basis not in self._pools:
            exp = self.experiment
            if basis == "runs":
                self._pools[basis] = as_if_judged(exp, max(USUAL, self.depth or 0))
            else:
                pool = exp.pool_assumed()
                self._pools[basis] = Pools(exp, pool.names, pool.depth)
        return self._pools[basis]

    def plan(self, measure: Measure) -> DepthPlan | None:
        basis = self.basis(measure)
        if basis is None:
            return None
        pools = None if basis == "formula" else self.pools(basis)
        residuals: Residuals = imagined_residuals if pools is None else pools.residuals
        deepest = LONGEST if pools is None else pools.deepest
        if measure.k is not None and basis != "judgments":
            deepest = min(deepest, int(measure.k))
        depths = [depth for depth in DEPTHS if depth < deepest] + [deepest]

        def point(depth: int, residuals: Floats) -> DepthPoint:
            largest = None if pools is None else float(residuals.max())
            count, new = (None, None) if pools is None else pools.judgments(depth)
            exp = self.experiment
            return DepthPoint(depth, float(residuals.mean()), largest, count, new if exp.has_qrels else count)

        def at(depth: int) -> DepthPoint:
            return point(depth, residuals(measure, [depth])[:, 0])

        table = residuals(measure, depths)
        points = [point(depth, table[:, i]) for i, depth in enumerate(depths)]
        enough = self._enough(points, at)
        if enough is not None and enough.depth not in [point.depth for point in points]:
            points = sorted([*points, enough], key=lambda point: point.depth)
        depth_plan = DepthPlan(measure, basis, self.epsilon, points, enough, 0 if pools is None else len(pools.names))
        if self.width is not None and pools is not None and isinstance(measure, Weighted):
            depth_plan = replace(depth_plan, sample=self._sample(measure, pools, depth_plan))
        if self.depth is None:
            return depth_plan
        if self.depth > (LONGEST if pools is None else pools.deepest):
            return depth_plan
        depth_plan = replace(depth_plan, depth=self.depth, at_depth=at(self.depth))
        if measure.cutoff in ("optional", "required"):
            cutoffs, reach = self._cutoffs(measure, residuals, self.depth)
            depth_plan = replace(depth_plan, cutoffs=cutoffs, reach=reach)
        return depth_plan

    def _sample(self, measure: Weighted, pools: Pools, plan: DepthPlan) -> SamplePlan:
        """How many random judgments of the pool give intervals of a run's mean score no wider than asked for.

        Each document is judged with probability q, and the score is estimated by Horvitz and Thompson's sum. Its
        variance is (1 - q) / q times the sum, over topics and ranks, of (W(i) gain)^2, over the squared number of
        topics; unjudged documents count with the greatest gain. A sample of fixed size has no more.
        """
        from scipy.special import ndtri

        assert self.width is not None
        enough = plan.points[-1].depth if plan.enough is None else plan.enough.depth
        depth = self.depth or (enough if measure.k is None else int(measure.k))
        depth = min(depth, pools.deepest, depth if measure.k is None else int(measure.k))
        judged = self.experiment.has_qrels
        experiment = self.experiment if judged else pools.experiment
        alignment = experiment.alignment([measure], [], ranges=False)

        def squares(name: str) -> float:
            evidence = experiment.align(name, alignment).evidence
            n = min(depth, measure.depth_read(evidence))
            codes, top = evidence.codes[:, :n], measure.top_gain(evidence)
            gains = np.where(codes == UNJUDGED, top, measure.table(evidence)[codes])
            if not judged:
                gains = np.where(codes == PADDING, 0.0, top)
            return float(((gains * measure.weights(evidence)[:n]) ** 2).sum()) / len(evidence) ** 2

        square = float(np.mean(experiment.map(squares, pools.names)))
        documents, _ = pools.judgments(depth)
        error = (self.width / (2 * float(ndtri((1 + self.level) / 2)))) ** 2
        needed = int(np.ceil(round(documents * square / (square + error), 9)))
        return SamplePlan(depth, documents, needed, self.width, not judged)

    def _enough(self, points: list[DepthPoint], at: Callable[[int], DepthPoint]) -> DepthPoint | None:
        """The shallowest pool that leaves at most epsilon; more judging never leaves more."""
        for shallower, point in zip([None, *points], points, strict=False):
            if self._small(point.residual):
                low, best = 0 if shallower is None else shallower.depth, point
                while best.depth - low > 1:
                    middle = at((low + best.depth) // 2)
                    low, best = (low, middle) if self._small(middle.residual) else (middle.depth, best)
                return best
        return None

    def _small(self, residual: float) -> bool:
        return residual <= self.epsilon + 1e-12

    def _cutoffs(self, measure: Measure, residuals: Residuals, depth: int) -> tuple[list[CutoffPoint], int | None]:
        """Residuals at many cut-offs that a pool of this depth leaves; the greatest cut-off with a small one, or, if
        what lies past it counts as unknown, the least."""

        def at(k: int) -> float:
            return float(residuals(measure.replace(k=k), [min(depth, k) if measure.has_tail else depth]).mean())

        chosen = sorted({k for k in DEPTHS if k <= max(4 * depth, 10)} | {depth, 2 * depth})
        points = [CutoffPoint(k, at(k)) for k in chosen]
        small = [self._small(point.residual) for point in points]
        if not any(small):
            return points, None
        if measure.has_tail:
            first = small.index(True)
            low = points[first - 1].cutoff if first else 0
            return points, fewest(lambda k: self._small(at(k)), start=low + 1, most=points[first].cutoff)
        last = (small.index(False) if False in small else len(small)) - 1
        if last < 0 or last == len(small) - 1:
            return points, points[last].cutoff if last >= 0 else None
        low, high = points[last].cutoff, points[last + 1].cutoff
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._small(at(middle)) else (low, middle)
        return points, low


# -- likely intervals -------------------------------------------------------------------------------------------------


def with_likely(
    experiment: BaseExperiment, plan: DepthPlan, *, level: float, confidence: float, progress: Callable[[str], None]
) -> DepthPlan:
    """The same with the likely intervals that pools of several depths would have left, up to that of the real pool.

    The judgments are cut back to each depth, and what is then estimated, with intervals, is the score once judging has
    reached the depth of the real pool, or the one that the measure suggests.
    """
    measure, pool = plan.measure, experiment.pool_assumed()
    if not pool.known:
        raise FathomsError("likely: nothing shows how deep the pool was, so it cannot be cut back to shallower ones")
    depths = [point.depth for point in plan.points if point.depth <= pool.depth]
    if len(depths) > LIKELY_DEPTHS:
        depths = [depths[i] for i in np.linspace(0, len(depths) - 1, LIKELY_DEPTHS).round().astype(int)]
    known = judged_depths(map(experiment.ranked, pool.names), experiment.qrels)
    longest = max(int(survey.judged.retrieved.size) for survey in experiment.surveys().values())
    to_depth = suggested_depth(measure, pool, max(longest, pool.depth))
    points = {point.depth: point for point in plan.points}
    for depth in depths:
        shallower = experiment.with_qrels(experiment.qrels.keep(known <= depth))
        shallower.options = replace(experiment.options, pooled=tuple(pool.names))
        estimate = run_estimates(shallower, [measure], to_depth=to_depth, draws=DRAWS)[measure]
        means = estimate.means  # [draw, run]
        ends = [(1 - level) / 2, (1 + level) / 2]
        widths = np.diff(np.quantile(means, ends, axis=0), axis=0)[0]
        of_pairs, clear = _of_pairs(means, ends, confidence)
        points[depth] = replace(points[depth], likely=float(widths.mean()), likely_difference=of_pairs, clear=clear)
        progress(str(depth))
    ordered = [points[depth] for depth in sorted(points)]
    return replace(plan, points=ordered, to_depth=to_depth)


def trimmed(plan: DepthPlan) -> DepthPlan:
    """Without pools more than twice as deep as need be, unless more is known about them."""
    enough = plan.enough
    if enough is None:
        return plan
    kept = [point for point in plan.points if point.depth <= 2 * enough.depth or point.likely is not None]
    return replace(plan, points=kept)


def _of_pairs(means: Floats, ends: list[float], confidence: float) -> tuple[float | None, float | None]:
    """Of all pairs of runs: the mean width of the interval of a difference, and the share with a clear winner."""
    runs = means.shape[1]
    if runs < 2:
        return None, None
    widths, clear, pairs = 0.0, 0, runs * (runs - 1) // 2
    for i in range(runs - 1):
        differences = means[:, i + 1 :] - means[:, i : i + 1]
        widths += float(np.diff(np.quantile(differences, ends, axis=0), axis=0).sum())
        ahead = (differences > 0).mean(axis=0)
        behind = (differences < 0).mean(axis=0)
        clear += int((np.maximum(ahead, behind) >= confidence).sum())
    return widths / pairs, clear / pairs
