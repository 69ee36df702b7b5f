"""The pools of Lu, Moffat and Culpepper (2016): collections read, cut to shallower pools, and scored at all depths.

As in the paper's section 4, only the runs that contributed to the pool are looked at. A pool of depth d is made of all
judgments where d is the collection's own depth, and where d is less of those of documents that some contributing run
has in its first d.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.base.errors import FathomsError
from fathoms.data.qrels import JUDGED, Qrels
from fathoms.evidence.align import Aligned
from fathoms.evidence.evidence import Bools, Evidence, Floats
from fathoms.evidence.pool import judged_depths, with_judgments
from fathoms.experiment.base import BaseExperiment
from fathoms.experiment.depths import depth_scores
from fathoms.measures.base import Measure
from fathoms.measures.parse import parse_measure
from fathoms.papers.exhibits import as_sentence, described
from fathoms.questions.audit.leave_out import judgments_used
from fathoms.questions.depth.analysis import DepthScores

LADDER = (1, 4, 10, 40, 100, 400, 1000)  # the depths of Tables 7 to 9
CURVE = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 400, 500, 700, 1000)  # those of Fig. 4
LINES = 100  # Figs. 2 and 3 go so deep
SQUARE = 50  # and Figs. 5 to 7
SHALLOW = 10  # a pool of this depth beside the collection's own: Fig. 4, Tables 4, 5 and 7
FIGURES = 20  # the pool's depth in Figs. 2, 3 and 5 to 7
SIX = ("AP(variant=b)", "Q", "RBP(p=0.95)", "RR", "ERR", "RBP(p=0.8)")
FOUR = ("AP(variant=b)", "Q", "RBP(p=0.95)", "RBP(p=0.8)")  # of condensed runs
CROSSED = (
    ("AP(variant=b)", "AP"),
    ("AP(variant=b)", "AP(variant=c)"),
    ("nDCG", "nDCG(discount=zipf)"),
    ("nDCG", "AP(variant=b)"),
    ("RBP(p=0.95)", "nDCG"),
    ("RBP(p=0.95)", "AP(variant=b)"),
)
WITH_RESIDUALS = ("RBP(p=0.95)", "RBP(p=0.8)", "ERR")


def condensed(name: str) -> str:
    return f"{name[:-1]},judged_only=True)" if name.endswith(")") else f"{name}(judged_only=True)"


RECALL = ("AP(variant=b)", "nDCG", "Q")  # the rows of Fig. 2
DRAWN = (*RECALL, *map(condensed, RECALL), "RBP(p=0.95)", "ERR")  # Figs. 2 and 3
IN_FIGURES = tuple(dict.fromkeys([*DRAWN, *(name for pair in CROSSED for name in pair)]))
IN_TABLES = (*SIX, *map(condensed, FOUR), "nDCG")


@dataclass(frozen=True)
class DepthSettings:
    depth: int | None = None  # of the pool; measured where not given
    pools: Sequence[int] = (SHALLOW,)  # shallower ones of Fig. 4 and Tables 4, 7, 8 and 9, where the pool is deeper
    figure_pool: int = FIGURES  # that of Figs. 2, 3 and 5 to 7, if the collection's is as deep


@dataclass(frozen=True, eq=False)
class PoolOf:
    """A pool of depth d on one collection, and what is scored with its judgments."""

    collection: str
    d: int
    kept: Bools  # of the collection's judgments
    is_own: bool
    tables: DepthScores  # IN_TABLES at LADDER, CURVE and d
    residuals: Mapping[str, list[tuple[float, float]]]  # score and residual at each depth of LADDER, by measure
    lengths: tuple[float, int]  # of condensed runs: mean, longest

    @property
    def label(self) -> str:
        return f"{self.collection}, d = {self.d}"

    @property
    def reference(self) -> int:
        """k = d, or the end of the runs if that comes first."""
        return min(self.d, self.tables.depths[-1])


@dataclass(eq=False)
class Collection:
    """Judgments and contributing runs, with the pools that are looked at."""

    name: str
    experiment: BaseExperiment
    qrels: Qrels  # those of the pool asked for
    d: int
    aligned: dict[str, Aligned]  # the contributing runs
    words: str
    assumed: str
    pools: list[PoolOf] = field(default_factory=list)  # the collection's own first
    figures: DepthScores | None = None  # IN_FIGURES at 1, 2, ..., LINES: means only, as of one topic

    @property
    def drawn(self) -> DepthScores:
        assert self.figures is not None
        return self.figures

    def judged_depths(self) -> NDArray[np.int32]:
        """For each judgment the least depth at which a contributing run has its document."""
        return judged_depths(self.aligned.values(), self.qrels)

    @property
    def width(self) -> int:
        return max(aligned.evidence.width for aligned in self.aligned.values())


def read_collection(name: str, experiment: BaseExperiment, settings: DepthSettings) -> Collection:
    experiment.prepare()
    qrels, options = experiment.qrels, experiment.options
    pool = experiment.pool_assumed()
    chosen = pool.names
    if len(chosen) < 2:
        raise FathomsError("the paper's comparisons need at least two contributing runs among the given ones")
    if settings.depth is None and not pool.known:
        raise FathomsError("the contributing runs have unjudged documents at rank 1; give the pool's depth (--depth)")
    d = settings.depth or pool.depth
    kept = judgments_used(judged_depths(map(experiment.ranked, chosen), qrels), settings.depth, pool)
    cut = ""
    if not kept.all():
        cut = f" (of {described(qrels).removeprefix(f'{qrels.source}: ')}, cut to it; they go to depth {pool.depth})"
        qrels = qrels.keep(kept)
        experiment = experiment.with_qrels(qrels)
        experiment.options = replace(options, pooled=tuple(chosen))
        experiment.prepare()
    aligned = _aligned(experiment, chosen)
    words = f"{described(qrels)}, {len(chosen)} contributing runs, pool depth {d}{cut}"
    assumed = as_sentence(pool.sentence) if options.pooled is None else ""
    return Collection(name, experiment, qrels, d, aligned, words, assumed)


def _aligned(experiment: BaseExperiment, names: Sequence[str]) -> dict[str, Aligned]:
    """Traced, so that judgments can be taken away again, and with the pool, from which AP_c has its R."""
    align = experiment.alignment([parse_measure(f"AP(variant=c)@{LINES}")], [], trace=True, ranges=False)
    return dict(zip(names, experiment.map(lambda name: experiment.align(name, align), names), strict=True))


def scored(collection: Collection, settings: DepthSettings) -> Collection:
    """Score every contributing run with the judgments of each pool, each once."""
    experiment, qrels, d, width = collection.experiment, collection.qrels, collection.d, collection.width
    least = collection.judged_depths()
    drawn_at = min(settings.figure_pool, d)
    pools = [d, *sorted({shallow for shallow in settings.pools if shallow < d}, reverse=True)]
    kept = {at: np.ones(len(qrels), dtype=bool) if at == d else least <= at for at in {*pools, drawn_at}}
    counts = {at: qrels.count(some) for at, some in kept.items()}
    depths = {at: sorted({k for k in (*LADDER, *CURVE) if k <= width} | {min(at, width)}) for at in pools}
    lines = list(range(1, min(LINES, width) + 1))
    ladder = [k for k in LADDER if k <= width]
    of_tables = {name: parse_measure(f"{name}@{LADDER[-1]}") for name in IN_TABLES}
    of_figures = {name: parse_measure(f"{name}@{LINES}") for name in IN_FIGURES}
    with_residuals = {name: [parse_measure(f"{name}@{k}") for k in ladder] for name in WITH_RESIDUALS}

    def scores_of(name: str) -> tuple[list[Any], list[Floats]]:
        aligned = collection.aligned[name]
        of_pools = []
        for at in pools:
            evidence = with_judgments(without_pool(aligned), qrels, kept[at], counts[at])
            judged = (evidence.codes >= JUDGED).sum(axis=1)
            scores = [depth_scores(measure, evidence, depths[at]) for measure in of_tables.values()]
            residuals = [[_with_residual(m, evidence) for m in several] for several in with_residuals.values()]
            of_pools.append((scores, residuals, judged[evidence.lengths > 0]))
        evidence = with_judgments(aligned, qrels, kept[drawn_at], counts[drawn_at])
        return of_pools, [depth_scores(m, evidence, lines).mean(axis=0) for m in of_figures.values()]

    runs = list(collection.aligned)
    of_runs = experiment.map(scores_of, runs)
    for i, at in enumerate(pools):
        parts = [of_pools[i] for of_pools, _ in of_runs]
        scores = {name: np.stack([scores[j] for scores, _, _ in parts]) for j, name in enumerate(of_tables)}
        means = np.mean([residuals for _, residuals, _ in parts], axis=0)
        lengths = np.concatenate([judged for _, _, judged in parts])
        collection.pools.append(
            PoolOf(
                collection.name,
                at,
                kept[at],
                at == d,
                DepthScores(runs, depths[at], at, "", scores),
                {name: [tuple(pair) for pair in means[j].tolist()] for j, name in enumerate(with_residuals)},
                (float(lengths.mean()), int(lengths.max())),
            )
        )
    drawn = {name: np.stack([means[j] for _, means in of_runs])[:, None, :] for j, name in enumerate(of_figures)}
    collection.figures = DepthScores(runs, lines, drawn_at, "", drawn)
    return collection


def without_pool(aligned: Aligned) -> Aligned:
    return replace(aligned, evidence=replace(aligned.evidence, pool=None, _cache={}))


def _with_residual(measure: Measure, evidence: Evidence) -> tuple[float, float]:
    value = measure.value(evidence)
    high = measure.range(evidence, value)[1]
    return float(value.mean()), 0.0 if high is None else float((high - value).mean())
