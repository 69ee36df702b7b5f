"""Which documents a pool has: those to judge, or the judgments that such a pool would have had."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from fathoms.base.errors import FathomsError
from fathoms.base.result import Result
from fathoms.data.qrels import Qrels
from fathoms.evidence.pool import PrefixOrder, pool_documents, pool_judgments
from fathoms.experiment.base import BaseExperiment

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class PooledDocuments(Result):
    """The documents of a pool: those to judge, or their judgments."""

    columns: ClassVar = ("topic", "document", "depth")
    words: ClassVar = ("topic", "document")
    whole_numbers: ClassVar = ("depth",)

    documents: list[tuple[str, str, int]]  # topic, document and the least rank at which a run has it
    qrels: Qrels | None  # the judgments of such a pool, where the experiment has judgments
    pooled_from: int  # runs
    notes: list[str] = field(default_factory=list)

    def rows(self) -> list[tuple[Any, ...]]:
        return list(self.documents)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """Columns topic, document, depth; or topic, document, grade where there are judgments."""
        return super().frame if self.qrels is None else self.qrels.to_frame()


def run_pool(
    experiment: BaseExperiment,
    *,
    depth: int | None = None,
    budget: int | None = None,
    per_topic: bool = False,
    prefix_order: PrefixOrder = "file",
    missing: bool = False,
) -> PooledDocuments:
    """The top `depth` of the contributing runs, or the `budget` shallowest documents of all topics or of each. With
    `missing`, what is unjudged in the pool of all runs, or of those that are said to be pooled."""
    if (depth is None) == (budget is None):
        raise FathomsError("a pool takes either a depth or a budget")
    experiment.needs_an_order("pool")
    options, names = experiment.options, experiment.contributing()
    how: dict[str, Any] = {
        **({"depth": depth} if budget is None else {"budget": budget}),
        "per_topic": per_topic,
        "seed": options.seed if prefix_order == "shuffle" else None,
    }
    if missing:
        if not experiment.has_qrels:
            raise FathomsError("missing: there are no judgments (--qrels) of which documents could be missing")
        names = names if options.pooled is not None else list(experiment.runs)
        documents = pool_documents(
            [experiment.run(name) for name in names], options.ties, options.used_precision, **how
        )
        return PooledDocuments(unjudged(documents, experiment.qrels), None, len(names))
    if not experiment.has_qrels:
        runs = [experiment.run(name) for name in names]
        pool = pool_documents(runs, options.ties, options.used_precision, **how)
        return PooledDocuments(pool, None, len(names))
    qrels = experiment.qrels
    kept = pool_judgments(map(experiment.ranked, names), qrels, **how)
    notes = [experiment.pool_assumed().sentence] if options.pooled is None else []
    return PooledDocuments([], qrels.keep(kept), len(names), notes)


def unjudged(documents: list[tuple[str, str, int]], qrels: Qrels) -> list[tuple[str, str, int]]:
    """Those documents of a pool that have no judgment."""
    judged = {(row["topic"], row["document"]) for row in qrels.to_frame().iter_rows(named=True) if row["grade"] >= 0}
    return [each for each in documents if each[:2] not in judged]
