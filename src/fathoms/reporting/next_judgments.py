"""What to judge next for the question that a report leaves open: is the first run better than its rivals, by the
measure that is shown? What the engine of `fathoms judge` says of it, and the command that goes on from there."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fathoms.base.errors import FathomsError
from fathoms.base.text import pluralise
from fathoms.data.document_values import read_values
from fathoms.estimate.probabilities import label_columns
from fathoms.evidence.evidence import Floats
from fathoms.experiment.assumed_pool import infer_pool
from fathoms.experiment.base import BaseExperiment
from fathoms.judging.beliefs import check_judging
from fathoms.judging.documents_to_judge import known
from fathoms.judging.events import JudgingSettings
from fathoms.judging.session import engine_for
from fathoms.measures.base import Measure

FIRST = 20  # documents to judge first that are listed


@dataclass(frozen=True)
class Informative:
    """An unjudged document whose judgment would help to tell runs apart."""

    topic: str
    document: str
    chance: float  # of being relevant, as the engine believes
    max_change: float  # how far judging it could move the scores of two runs for this topic apart
    ranks: dict[str, int]  # where the runs have it


@dataclass(frozen=True, eq=False)
class Judging:
    """What the judging engine says of the first run and its rivals by one measure: whether it is ahead of them on
    these topics, and how many judgments it would take to know."""

    runs: list[str]  # the first run, and those it is compared with
    measure: Measure
    depth: int  # of the documents that may be judged
    until: float
    confidence: Floats  # [a, b]: that a has the greater mean
    open_pairs: list[tuple[int, int]]  # (0, b): not settled between the first run and b
    forecast: tuple[int, int] | None
    documents: int
    judged: int
    command: str  # that goes on there
    first: list[Informative] = field(default_factory=list)

    @property
    def whereby(self) -> str:
        """The measure, with the depth that it does not say itself."""
        documents = pluralise(self.depth, "document")
        return self.measure.name if self.measure.k is not None else f"{self.measure.name} of the first {documents}"


def judging_of(
    experiment: BaseExperiment, names: Sequence[str], measure: Measure, labels: Sequence[Any] = ()
) -> Judging:
    """What `fathoms judge --baseline` would say of the first of these runs against each of the others, with all
    judgments so far, before the first answer. An error where judging cannot go by the measure."""
    check_judging(measure)
    qrels, options = experiment.qrels, experiment.options
    deepest = JudgingSettings().depth
    settings = JudgingSettings(
        depth=deepest if measure.k is None else min(int(measure.k), deepest),
        ties=options.ties,
        precision=options.used_precision,
        seed=options.seed,
        baseline=names[0],
        max_grade=max(1, int(qrels.max_grade)),
        measures=(measure.name,),
    )
    table = experiment.documents(names, settings.depth)
    # The pool of these runs, as the command sees it, and not that of all runs.
    pool = infer_pool({name: experiment.surveys()[name].judged for name in names})
    tables = [read_values(source, lenient=experiment.lenient) for source in labels]
    values = label_columns(tables, table, table.judged, [])
    engine = engine_for(settings, table, qrels, values, pool.depth if pool.known else 0, None)
    engine.load(list(known(table, qrels).items()))
    block, max_change = engine.block, engine.max_change()
    chance = np.zeros(block.number.shape)
    chance[block.present] = engine.probabilities()[1]

    def informative(topic: int, column: int) -> Informative:
        document = table.documents[block.number[topic, column]].decode(errors="surrogateescape")
        ranks = {name: int(rank) for name, rank in zip(block.names, block.rank[topic, :, column], strict=True) if rank}
        return Informative(
            table.topics[topic], document, chance[topic, column], float(max_change[topic, column]), ranks
        )

    place = {number: divmod(at, block.number.shape[1]) for at, number in enumerate(block.number.ravel().tolist())}
    return Judging(
        runs=block.names,
        measure=measure,
        depth=settings.depth,
        until=settings.until,
        confidence=engine.confidence(),
        open_pairs=engine.open_pairs(),
        forecast=engine.forecast(),
        documents=engine.size,
        judged=engine.judged,
        command=judge_command(experiment, names, measure, settings.depth, labels),
        first=[informative(*place[number]) for number in engine.queue(FIRST)],
    )


def judge_command(
    experiment: BaseExperiment, names: Sequence[str], measure: Measure, depth: int, labels: Sequence[Any] = ()
) -> str:
    """What to type to judge for these runs; in Python where they are not in files."""
    options = experiment.options
    files = [experiment.runs.file_of(name) for name in names]
    qrels = experiment.qrels.source
    if not all(Path(file).is_file() for file in (qrels, *files)) or not all(map(_is_path, labels)):
        return (
            f"fm.Experiment(qrels, {{name: runs[name] for name in {list(names)!r}}}).judge("
            f"'judging.db', measures=[{measure.name!r}], baseline={names[0]!r}, depth={depth})"
        )
    words = ["fathoms", "judge", qrels, *files, "-m", measure.name, "--baseline", names[0], "--depth", str(depth)]
    for label in labels:
        words += ["--labels", str(label)]
    if options.ties != "trec":
        words += ["--ties", options.ties]
    if options.precision is not None:
        words += ["--score-precision", options.precision]
    if options.seed:
        words += ["--seed", str(options.seed)]
    if experiment.junk is not None:
        words += ["--nonrelevant-grade", f"{experiment.junk:g}"]
    if experiment.lenient:
        words.append("--lenient")
    if experiment.named_by != "file":
        words += ["--names", experiment.named_by]
    return shlex.join(words)


def _is_path(source: Any) -> bool:
    return isinstance(source, str | os.PathLike)


def why_not(measure: Measure) -> str:
    """Why judging cannot go by a measure; nothing where it can."""
    try:
        check_judging(measure)
    except FathomsError as error:
        return str(error)
    return ""
