"""How much hangs on the depth of evaluation? Scores, separations and orderings at every depth (LMC-depth section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fathoms.comparison.agreement import Evaluated, agreement
from fathoms.comparison.correlation import Correlation, correlation, correlation_matrix
from fathoms.data.qrels import Qrels
from fathoms.data.runs import Runs
from fathoms.errors import FathomsError
from fathoms.estimate.predict import judged_depth
from fathoms.evidence.evidence import Floats
from fathoms.experiment.depths import depth_scores
from fathoms.experiment.evaluate import Options, alignment
from fathoms.measures.base import Measure
from fathoms.measures.parse import parse_measure
from fathoms.parallel import parallel_map

PANES = ("discrimination", "median_p", "coverage", "inversion", "tau", "pearson")
STABLE = 0.9  # two orderings with a tau of this are taken for equivalent (Voorhees 2001)


@dataclass(frozen=True, eq=False)
class DepthScores:
    """Scores of every system, topic and depth under each measure."""

    runs: list[str]
    depths: list[int]
    pooled: int  # how deep the runs are judged
    scores: dict[str, Floats]  # measure without cut-off: [system, topic, depth]
    notes: list[str] = field(default_factory=list)

    def means(self, measure: str) -> Floats:
        """[depth, system]"""
        return self.scores[measure].mean(axis=1).T


def measures_by_depth(names: Sequence[str], depths: Sequence[int]) -> list[Measure]:
    """Measures named without cut-off, made ready for the deepest depth."""
    prepared = []
    for name in names:
        if "@" in name:
            raise FathomsError(f"{name}: give the measure without its cut-off; --depths says where to cut")
        prepared.append(parse_measure(f"{name}@{max(depths)}"))
    return prepared


def scores_by_depth(
    qrels: Qrels,
    runs: Runs,
    names: Sequence[str],
    depths: Sequence[int],
    options: Options,
    systems: Sequence[str] | None = None,
) -> DepthScores:
    """Scores of all runs, or of some of them."""
    systems = list(runs if systems is None else systems)
    measures = measures_by_depth(names, depths)
    notes = list(qrels.notes)
    align = alignment(qrels, runs, measures, options, notes)

    def one(run: str) -> tuple[int, list[Floats]]:
        evidence = align(runs[run]).evidence
        return judged_depth(evidence), [depth_scores(measure, evidence, depths) for measure in measures]

    found = parallel_map(one, systems, workers=options.workers, scheduler=options.scheduler)
    judged = [
        depth for run, (depth, _) in zip(systems, found, strict=True) if options.pooled is None or run in options.pooled
    ]
    pooled = int(np.median(judged)) if judged else 0
    scores = {
        measure.name.partition("@")[0]: np.stack([parts[i] for _, parts in found]) for i, measure in enumerate(measures)
    }
    return DepthScores(systems, list(depths), pooled, scores, notes)


def reference_depth(result: DepthScores) -> int:
    """The depth the others are compared with: the pool's, or the nearest one looked at."""
    return min(result.depths, key=lambda depth: (abs(depth - result.pooled), depth))


def panes(result: DepthScores, measure: str, reference: int, alpha: float = 0.05) -> list[dict[str, float]]:
    """The six panes of LMC-depth Fig. 4 (and the columns of its Tables 7 and 8), one row a depth."""
    scores = result.scores[measure]
    against = Evaluated.of(scores[:, :, result.depths.index(reference)])
    rows = []
    for place, depth in enumerate(result.depths):
        here = Evaluated.of(scores[:, :, place])
        agreed = agreement(against, here, alpha)
        rows.append(
            {
                "depth": depth,
                "discrimination": agreed.discrimination,
                "median_p": here.median_p,
                "coverage": agreed.coverage,
                "inversion": agreed.inversion,
                "tau": correlation(against.mean, here.mean, "tau"),
                "pearson": correlation(against.mean, here.mean, "pearson"),
            }
        )
    return rows


def volatility(result: DepthScores, rows: str, columns: str | None = None, kind: Correlation = "tau") -> Floats:
    """LMC-depth eq. 7: correlation of the orderings at all pairs of depths, of one measure or of two."""
    return correlation_matrix(result.means(rows), kind, others=None if columns is None else result.means(columns))


def stable_from(matrix: Floats, depths: Sequence[int]) -> int | None:
    """The least depth from which on all orderings agree with a correlation of 0.9 or more."""
    for place, depth in enumerate(depths):
        if (matrix[place:, place:] >= STABLE).all():
            return depth
    return None
