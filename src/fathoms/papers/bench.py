"""What several studies stand on: collections by name, and a collection made ready."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath
from typing import Any

from fathoms.base.parallel import parallel_map
from fathoms.evidence.pool import judged_depths
from fathoms.experiment.base import BaseExperiment
from fathoms.papers.exhibits import as_sentence


def by_name(experiments: BaseExperiment | Mapping[str, BaseExperiment]) -> Mapping[str, BaseExperiment]:
    """A single collection under its own name."""
    if isinstance(experiments, BaseExperiment):
        return {collection_name(experiments.qrels.source): experiments}
    return experiments


def collection_name(source: str) -> str:
    """What a collection is called: its file of judgments, or where that is just `qrels` its folder.

    >>> collection_name("data/trec8-adhoc/qrels.txt"), collection_name("robust04.qrels")
    ('trec8-adhoc', 'robust04')
    """
    path = PurePath(source)
    plain = path.name.split(".")[0]
    return path.parent.name or plain if plain == "qrels" else plain


class Bench:
    """A collection made ready: contributing and other runs aligned, and the judgments by least depth."""

    def __init__(self, experiment: BaseExperiment) -> None:
        self.qrels, self.options = experiment.qrels, experiment.options
        align = experiment.alignment([], [], trace=True)
        experiment.runs.read_streams()
        aligned = dict(zip(experiment.runs, experiment.map_ranked(align.of), strict=True))
        self.pool = experiment.pool_assumed()
        self.assumed = [as_sentence(self.pool.sentence)] if self.options.pooled is None else []
        chosen = set(self.pool.names)
        self.contributing = {name: aligned[name] for name in self.pool.names}
        self.others = {name: run for name, run in aligned.items() if name not in chosen}
        self.depths = judged_depths(self.contributing.values(), self.qrels)
        self.judged = self.qrels.grades >= 0  # a negative grade is no judgment

    def parallel_map(self, work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        return parallel_map(work, items, workers=self.options.workers, scheduler=self.options.scheduler)

    @property
    def how_read(self) -> str:
        return f"Ties {self.options.ties}, scores compared as {self.options.used_precision}."
