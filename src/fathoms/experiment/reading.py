"""How judgments and runs are read, declared once: the keywords of `Experiment`, and flags of most commands.

Nothing heavy is imported here. `base.py` beside it does the reading.
"""

# No `annotations` from `__future__`: the command line looks at those of `Reading`.

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

from fathoms.base import choices
from fathoms.base.errors import FathomsError
from fathoms.base.options import Option, answered_by

FILES = "reading files"
ORDER_OF_DOCUMENTS = "order of documents"
WHAT_COUNTS = "unjudged documents, topics, pool"
WORK = "work"
MEMORY_MB = 2000


def scheduler(address: Any) -> str:
    from fathoms.base.parallel import check_scheduler

    return check_scheduler(str(address))


def from_zero(value: Any) -> int:
    return choices.whole_number(value, 0)


def fingerprint(value: Any) -> str:
    text = str(value).strip().lower()
    if not 8 <= len(text) <= 16 or set(text) - set("0123456789abcdef"):
        raise FathomsError(f"expected 8 to 16 digits of a fingerprint, 0-9 and a-f, found {value!r}")
    return text


Pooled = Annotated[
    Sequence[str] | str | os.PathLike[str] | None,
    Option(
        "names of the runs that contributed to the pool (default: inferred, and stated)",
        "FILE",
        parse=Path,
        heading=WHAT_COUNTS,
    ),
]
Groups = Annotated[
    Mapping[str, str] | str | os.PathLike[str] | None,
    Option("lines `run<TAB>team`, to leave out whole teams", "FILE", parse=Path),
]
TopicGroups = Annotated[
    Mapping[str, Any] | str | os.PathLike[str] | None,
    Option(
        "groups of topics to look at too: a topic and its groups per line, with tabs or commas, or JSON",
        "FILE",
        heading=WHAT_COUNTS,
    ),
]
GroupBy = Annotated[
    Sequence[str] | str | None,
    Option(
        "a column of --topic-groups (default: all without text); may be repeated",
        "COLUMN",
        many=True,
        heading=WHAT_COUNTS,
    ),
]
Cluster = Annotated[
    Mapping[str, str] | str | os.PathLike[str] | None,
    Option(
        "topics that belong together, such as paraphrases: lines `topic<TAB>cluster`, or a column of --topic-groups; "
        "intervals and tests then draw clusters",
        "FILE|COLUMN",
        heading=WHAT_COUNTS,
    ),
]
Replicates = Annotated[
    Mapping[str, str] | str | os.PathLike[str] | None,
    Option(
        "several runs of one system: lines `run<TAB>system`, or how runs are named, as '{system}-seed*'; systems are "
        "compared by their means",
        "FILE|RULE",
        heading=WHAT_COUNTS,
    ),
]
Topics = Annotated[
    choices.Topics,
    Option(
        "all: a topic that a run lacks scores 0 (default); intersect: only topics with documents, in eval each run's "
        "own, as trec_eval",
        heading=WHAT_COUNTS,
    ),
]
Ties = Annotated[
    choices.Ties,
    Option(
        "order of equal scores: trec (default; id descending, as trec_eval), run (file order), score-rank (rank "
        "column), expected (mean over all orders); or rank (that column instead of scores)",
        heading=ORDER_OF_DOCUMENTS,
    ),
]
ScorePrecision = Annotated[
    choices.Precision | None,
    Option(
        "how scores are compared (float32 under trec and expected, as trec_eval; else float64)",
        heading=ORDER_OF_DOCUMENTS,
    ),
]
Bounds = Annotated[
    choices.Bounds | None,
    Option(
        "ranges of AP, nDCG and Q: exact (default), or Ravana and Moffat's approximation",
        heading=WHAT_COUNTS,
    ),
]
Universe = Annotated[
    str | float | None,
    Option(
        "whose unjudged documents ranges are over: of the runs a statement is about (auto, default), of each run, of "
        "each pair (compare), of all; N or inf add so many unseen ones per topic",
        "auto|run|pair|all|N|inf",
        choices.universe,
        heading=WHAT_COUNTS,
    ),
]
UniverseDepth = Annotated[
    int | None,
    Option(
        "ranges over documents in the first D ranks of some run (default: any rank)",
        "D",
        choices.whole_number,
        heading=WHAT_COUNTS,
    ),
]
Lenient = Annotated[bool, Option("skip bad lines and later duplicates, and say how many", heading=FILES)]
Subtopics = Annotated[
    bool,
    Option(
        "judgments are `topic subtopic document grade`, for measures such as alpha_nDCG@20",
        heading=FILES,
    ),
]
ExpectJudgments = Annotated[
    str | None,
    Option(
        "stop unless the judgments have this fingerprint, as `fathoms check` prints it",
        "HASH",
        fingerprint,
        heading=FILES,
    ),
]
Junk = Annotated[
    float | None,
    Option(
        "a negative grade that means judged and not relevant, such as -2 for spam",
        "GRADE",
        choices.nonrelevant_grade,
        flags=("--nonrelevant-grade",),
        heading=FILES,
    ),
]
Band = Annotated[
    str | float | None,
    Option(
        "tie documents in geometric bands of ranks that grow by this factor, such as 1.4",
        "RHO",
        heading=ORDER_OF_DOCUMENTS,
    ),
]
Names = Annotated[choices.Names, Option("name runs by their file (default) or by their tag", heading=FILES)]
Workers = Annotated[int, Option("runs worked on at a time", "N", choices.whole_number, heading=WORK)]
Scheduler = Annotated[
    str | None,
    Option(
        "work on a Dask cluster: tcp://host:port, or local:N for N processes here",
        "ADDRESS",
        scheduler,
        heading=WORK,
    ),
]
Patience = Annotated[
    float,
    Option("how long to wait for workers of the cluster", "SECONDS", choices.at_least_zero, heading=WORK),
]
Seed = Annotated[int, Option("seed of all random draws", "N", from_zero, heading=WORK)]


class ReadingOptions(TypedDict, total=False):
    """The keywords of an Experiment, for functions that pass them on."""

    pooled: Pooled
    groups: Groups
    topic_groups: TopicGroups
    group_by: GroupBy
    cluster: Cluster
    replicates: Replicates
    topics: Topics
    ties: Ties
    score_precision: ScorePrecision
    bounds: Bounds
    universe: Universe
    universe_depth: UniverseDepth
    lenient: Lenient
    junk: Junk
    subtopics: Subtopics
    expect_judgments: ExpectJudgments
    band: Band
    names: Names
    workers: Workers
    scheduler: Scheduler
    patience: Patience
    seed: Seed


class Reading:
    """What an experiment is made with."""

    @answered_by("fathoms.experiment.base:BaseExperiment.set_up", notes=False)
    def __init__(
        self,
        qrels: Any,
        runs: Any,
        *,
        pooled: Pooled = None,
        groups: Groups = None,
        topic_groups: TopicGroups = None,
        group_by: GroupBy = None,
        cluster: Cluster = None,
        replicates: Replicates = None,
        topics: Topics = "all",
        ties: Ties = "trec",
        score_precision: ScorePrecision = None,
        bounds: Bounds = None,
        universe: Universe = None,
        universe_depth: UniverseDepth = None,
        lenient: Lenient = False,
        junk: Junk = None,
        subtopics: Subtopics = False,
        expect_judgments: ExpectJudgments = None,
        band: Band = None,
        names: Names = "file",
        workers: Workers = 2,
        scheduler: Scheduler = None,
        patience: Patience = choices.PATIENCE,
        seed: Seed = 0,
        memory_mb: float = MEMORY_MB,
    ) -> None:
        """
        Parameters
        ----------
        qrels
            judgments: a file, a frame, a dict {topic: {document: grade}}, `irds:ID`, or None where there are none yet
        runs
            files, folders, globs, frames, dicts, or a dict of these by name; None where there are none, for `labels`
        pooled
            names of the runs that contributed to the pool, or a file that lists them; by default inferred from what is
            judged
        groups
            the team of each run, as a dict or a file of lines `run<TAB>team`
        topic_groups, group_by
            groups of topics, by which `evaluate`, `compare`, `gate` and `report` look too: a dict {topic: group} or
            {topic: {column: group}}, or a file with a topic per line; `group_by` names the columns that count
        cluster
            topics that belong together, such as paraphrases or turns of a conversation: a dict {topic: cluster}, a file
            of lines `topic<TAB>cluster`, or a column of `topic_groups`. Intervals and tests of `evaluate`, `compare`,
            `rank`, `gate` and `plan` then take clusters for what is drawn at random; a topic of none is one by itself
        replicates
            runs that are of one system, such as those of several seeds: a dict {run: system}, a file of lines
            `run<TAB>system`, or how runs are named, as `{system}-seed*`. `compare`, `rank` and `gate` are then about
            systems, with topics and repetitions both drawn at random; `evaluate` adds a row for each system, and `plan`
            says how many runs of each are worth having
        topics
            `all` topics of the judgments (a missing one scores 0), or with `intersect` only topics with documents:
            `evaluate` then averages over each run's own topics, other methods over those that any run has
        ties
            the order of equal scores: `trec`, `run`, `rank`, `score-rank` or `expected`
        score_precision
            how scores are compared: `float32` or `float64`; by default as trec_eval does under `trec`
        bounds, universe
            set these parameters for all measures that have them; `universe` says which unjudged documents ranges are
            over: `auto` (those of all runs of a table), `run` (each run's own), `all` (those of all given runs), a
            number (so many unseen ones per topic beside those) or `inf` (any number of them)
        universe_depth
            only documents that some given run has in its first places, so many, belong to the universe
        lenient
            skip bad lines and later duplicates, and say how many
        junk
            a negative grade that means judged and not relevant, such as -2 for spam
        subtopics
            judgments are by subtopic: in a file the second column names it, in a frame the column `subtopic`, and a
            dict is {topic: {subtopic: {document: grade}}}
        expect_judgments
            the fingerprint that the judgments must have, or its first 8 digits; others are an error
        band
            put each run's documents into geometric bands of ranks that grow by this factor, such as 1.4, in the order
            of `ties` (under `expected` that of the file); inside a band they are tied
        names
            name runs by their `file` or by their `tag`
        workers, scheduler, patience
            how many runs are worked on at a time; the address of a Dask cluster, and for how many seconds to wait while
            it has no workers: one setting for the whole process, so the last one given counts
        seed
            seed of everything drawn at random
        memory_mb
            how much of the runs may be kept in memory between calls; larger ones are read again
        """
