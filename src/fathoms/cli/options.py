"""Arguments and flags that mean the same in every command."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fathoms import choices
from fathoms.choices import one_of

if TYPE_CHECKING:
    from fathoms.api import Experiment

Result = TypeVar("Result")


def group(parser: ArgumentParser, title: str) -> Any:
    """The flags under one heading of a command's help."""
    there = next((one for one in parser._action_groups if one.title == title), None)
    return there or parser.add_argument_group(title)


def add_files(parser: ArgumentParser, *, runs: str = "+") -> None:
    parser.add_argument(
        "qrels",
        metavar="QRELS",
        help="judgments, lines `topic iteration document grade`; - for stdin; irds:ID for those of ir_datasets",
    )
    parser.add_argument(
        "runs", metavar="RUN", nargs=runs, help="runs: files, folders or quoted globs; gz, zst, bz2, xz; - for stdin"
    )


def add_measures(parser: ArgumentParser, which: str = "such as AP, nDCG@10 or 'RBP(p=0.8)'") -> None:
    parser.add_argument(
        "-m",
        "--measure",
        metavar="MEASURE",
        dest="measures",
        action="append",
        help=f"{which}; may be repeated",
    )


def add_reading(parser: ArgumentParser) -> None:
    """How files are read."""
    flags = group(parser, "reading files")
    flags.add_argument("--lenient", action="store_true", help="skip bad lines and later duplicates, and say how many")
    flags.add_argument(
        "--nonrelevant-grade",
        metavar="GRADE",
        dest="junk",
        type=checker(choices.nonrelevant_grade),
        help="a negative grade that means judged and not relevant, such as -2 for spam",
    )
    add_choice(
        flags,
        "--names",
        choices=choices.NAMES,
        default="file",
        help="name runs by their file (default) or by their tag",
    )


def add_max_unpacked(parser: ArgumentParser) -> None:
    group(parser, "reading files").add_argument(
        "--max-unpacked",
        metavar="SIZE",
        type=checker(choices.size),
        help="what a compressed file may unpack to, such as 8GB (default: 256 MiB, or 100 times its size where that is "
        "more)",
    )


def add_order(parser: ArgumentParser) -> None:
    """Which order of the documents counts."""
    flags = group(parser, "order of documents")
    add_choice(
        flags,
        "--ties",
        choices=choices.TIES,
        default="trec",
        help="order of equal scores: trec (default; document id descending, as trec_eval), run (file order), "
        "score-rank (by the rank column), expected (mean over all orders; for eval, compare and audit); or rank (that "
        "column instead of scores)",
    )
    add_choice(
        flags,
        "--score-precision",
        choices=choices.PRECISIONS,
        help="how scores are compared; default float32, as trec_eval, under trec and expected, else float64",
    )


def add_band(parser: ArgumentParser) -> None:
    group(parser, "order of documents").add_argument(
        "--band",
        metavar="RHO",
        help="tie the documents of geometric bands of ranks that grow by this factor, such as 1.4",
    )


def add_ranges(parser: ArgumentParser) -> None:
    """What the ranges range over."""
    flags = group(parser, "unjudged documents, topics, pool")
    add_choice(
        flags,
        "--bounds",
        choices=choices.BOUNDS,
        help="how ranges of AP, nDCG and Q are made: exact (default), or Ravana and Moffat's approximation",
    )
    flags.add_argument(
        "--universe",
        metavar="auto|run|pair|all|N|inf",
        type=checker(choices.universe),
        help="unjudged documents that ranges are over: auto (default), those of the runs a statement is about; run, "
        "each run's own; pair, those of both runs (compare only); all, those of all given runs; N, those and N unseen "
        "ones per topic; inf, those and any number of unseen ones",
    )
    flags.add_argument(
        "--universe-depth",
        metavar="D",
        type=at_least_one,
        help="count only documents that some given run has in its first D ranks (default: at any rank)",
    )
    add_pooled(parser)


def add_pooled(parser: ArgumentParser) -> None:
    """What of the collection counts: the runs that made the pool, and the topics."""
    flags = group(parser, "unjudged documents, topics, pool")
    add_topics(parser)
    flags.add_argument(
        "--pooled",
        metavar="FILE",
        type=Path,
        help="names of the runs that contributed to the pool, one per line (default: those whose "
        "first documents are judged)",
    )


def add_topics(parser: ArgumentParser) -> None:
    flags = group(parser, "unjudged documents, topics, pool")
    add_choice(
        flags,
        "--topics",
        choices=choices.TOPICS,
        default="all",
        help="all topics of the qrels, where one that a run lacks counts 0 (default), or those that runs answer: in "
        "eval each run's own, as trec_eval does, elsewhere those of any run",
    )


def add_topic_groups(parser: ArgumentParser) -> None:
    flags = group(parser, "unjudged documents, topics, pool")
    flags.add_argument(
        "--topic-groups",
        metavar="FILE",
        help="groups of topics to look at too: a topic and its group (or several columns of them) per line, with tabs "
        "or commas between, or JSON; a topics file with such a column will do",
    )
    flags.add_argument(
        "--group-by",
        metavar="COLUMN",
        action="append",
        help="the column of --topic-groups that counts (default: all that hold no text); may be repeated",
    )


def add_estimates(parser: ArgumentParser, *, intervals: bool = True) -> None:
    """What the default estimate is of, and what it may use; and the level of its intervals where they are shown."""
    from fathoms.estimate.names import LEVEL

    flags = group(parser, "estimates")
    flags.add_argument(
        "--to-depth",
        metavar="D",
        type=at_least_one,
        help="judging will reach the top D of every given run, and what lies deeper counts as not relevant (default: "
        "as deep as the pool and the measure suggest, which the output says)",
    )
    flags.add_argument(
        "--labels",
        metavar="FILE",
        action="append",
        default=[],
        help="lines `topic document value`, such as labels of a language model or scores of a classifier; a run or a "
        "qrels file will do; may be repeated",
    )
    if intervals:
        flags.add_argument("--level", metavar="L", type=share, default=LEVEL, help=f"of the intervals ({LEVEL:g})")


def add_work(parser: ArgumentParser) -> None:
    flags = group(parser, "work")
    flags.add_argument("--workers", metavar="N", type=at_least_one, default=2, help="runs worked on at a time (2)")
    flags.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        type=scheduler,
        help="work on a Dask cluster: its scheduler's tcp://host:port, or local:N for one of N processes here",
    )
    flags.add_argument(
        "--patience",
        metavar="SECONDS",
        type=at_least_zero,
        default=choices.PATIENCE,
        help=f"how long to wait for workers of a cluster that has none ({choices.PATIENCE})",
    )
    flags.add_argument("--seed", metavar="N", type=at_least_zero, default=0, help="seed of all random draws (0)")
    add_talk(parser)


def add_talk(parser: ArgumentParser) -> None:
    flags = group(parser, "output")
    add_quiet(parser)
    flags.add_argument("--verbose", action="store_true", help="list all warnings, not only the first few")


def add_quiet(parser: ArgumentParser) -> None:
    flags = group(parser, "output")
    flags.add_argument("--quiet", action="store_true", help="no warnings and no progress, results only")


def add_all(parser: ArgumentParser) -> None:
    flags = group(parser, "output")
    flags.add_argument(
        "--all",
        action="store_true",
        help="show all rows, columns and notes on a terminal, as in pipes and files",
    )


def add_output(parser: ArgumentParser, formats: tuple[str, ...]) -> None:
    flags = group(parser, "output")
    add_all(parser)
    add_choice(flags, "--format", choices=formats, default="table", help="form of the output (table)")
    flags.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to FILE instead of standard output")


def checker(check: Callable[..., Result], *args: Any) -> Callable[[str], Result]:
    """A check of `fathoms.choices` as the type of a flag, with the same message."""

    def convert(text: str) -> Result:
        from fathoms.errors import FathomsError

        try:
            return check(*args, text)
        except FathomsError as error:
            raise ArgumentTypeError(str(error)) from None

    return convert


def add_choice(parser: Any, *names: str, choices: Sequence[str], **more: Any) -> None:
    """A flag that takes one of some words; a wrong one gets the message that Python's functions give."""
    parser.add_argument(*names, choices=tuple(choices), type=checker(one_of, choices), **more)


def scheduler(text: str) -> str:
    from fathoms.parallel import check_scheduler

    return checker(check_scheduler)(text)


share = checker(choices.share)
at_least_one = checker(choices.whole_number)
at_least_zero = checker(lambda text: choices.whole_number(text, 0))


def check_sources(args: Namespace) -> None:
    from fathoms.data.files import check_not_read
    from fathoms.data.runs import expand
    from fathoms.errors import FathomsError

    if args.qrels == "-" and "-" in (args.runs or ()):
        raise FathomsError("QRELS and RUN cannot both be standard input")
    output = getattr(args, "output", None)
    if output is not None and os.path.isfile(output):
        check_not_read(output, [*filter(None, [args.qrels]), *expand(args.runs or ())])


def check_different(files: Sequence[str], expected: str) -> None:
    """One file by two names, or twice by one, is a slip where runs are set against each other."""
    from fathoms.errors import FathomsError

    seen: dict[str, str] = {}
    for path in files:
        other = seen.get(os.path.realpath(path))
        if other is not None and os.path.isfile(path):
            said = f"{path} is given twice" if other == path else f"{other} and {path} are the same file"
            raise FathomsError(f"{said}; {expected}")
        seen[os.path.realpath(path)] = path


def run_files(args: Namespace) -> list[str] | None:
    """The runs as given; with their whole path where workers of a cluster, which are elsewhere, are to read them."""
    if args.runs is None:
        return None
    if getattr(args, "scheduler", None) is None:
        return list(args.runs)
    return [path if path == "-" else os.path.abspath(path) for path in args.runs]


def experiment(
    args: Namespace, *, memory_mb: float | None = None, runs: Any = None, into_folder: bool = False
) -> Experiment:
    """What the arguments and flags that commands share come to. Where one pass over the runs is all that the command
    makes, it gives no memory to keep them in; `runs` are the runs where they are not simply all files given. What goes
    `into_folder` has looked at that itself."""
    from fathoms.api import Experiment
    from fathoms.cli.output import check_target
    from fathoms.experiment.base import MEMORY_MB

    check_sources(args)
    if not into_folder:
        check_target(getattr(args, "format", "tsv"), args.output)
    found = Experiment(
        args.qrels,
        run_files(args) if runs is None else runs,
        pooled=getattr(args, "pooled", None),
        groups=getattr(args, "groups", None),
        topic_groups=getattr(args, "topic_groups", None),
        group_by=getattr(args, "group_by", None),
        topics=getattr(args, "topics", "all"),
        ties=getattr(args, "ties", "trec"),
        score_precision=getattr(args, "score_precision", None),
        bounds=getattr(args, "bounds", None),
        universe=getattr(args, "universe", None),
        universe_depth=getattr(args, "universe_depth", None),
        lenient=getattr(args, "lenient", False),
        junk=args.junk,
        band=getattr(args, "band", None),
        names=getattr(args, "names", "file"),
        workers=getattr(args, "workers", 2),
        scheduler=getattr(args, "scheduler", None),
        patience=getattr(args, "patience", choices.PATIENCE),
        seed=getattr(args, "seed", 0),
        memory_mb=MEMORY_MB if memory_mb is None else memory_mb,
    )
    found.warn = False
    return found
