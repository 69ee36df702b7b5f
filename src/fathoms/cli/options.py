"""Arguments and flags that mean the same in every command."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fathoms.data.qrels import Qrels
    from fathoms.data.runs import Runs
    from fathoms.experiment.evaluate import Options
    from fathoms.measures.base import Measure


def add_files(parser: ArgumentParser) -> None:
    parser.add_argument(
        "qrels",
        metavar="QRELS",
        help="judgments, lines `topic iteration document grade`; - for stdin; irds:ID for those of ir_datasets",
    )
    parser.add_argument(
        "runs", metavar="RUN", nargs="+", help="runs: files, folders or quoted globs; gz, zst, bz2, xz; - for stdin"
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
    parser.add_argument("--lenient", action="store_true", help="skip bad lines and later duplicates, and say how many")
    parser.add_argument(
        "--nonrelevant-grade",
        metavar="GRADE",
        dest="junk",
        type=float,
        help="a negative grade that means judged and not relevant, such as -2 for spam",
    )
    parser.add_argument(
        "--names", choices=("file", "tag"), default="file", help="name runs by their file (default) or by their tag"
    )


def add_order(parser: ArgumentParser) -> None:
    """Which order of the documents counts."""
    parser.add_argument(
        "--ties",
        choices=("trec", "run", "rank", "score-rank", "expected"),
        default="trec",
        help="order of equal scores: trec (default; document id descending, as trec_eval), run (file order), "
        "score-rank (by the rank column), expected (mean over all orders); or rank (that column instead of scores)",
    )
    parser.add_argument(
        "--score-precision",
        choices=("float32", "float64"),
        help="how scores are compared; default float32, as trec_eval, under trec and expected, else float64",
    )


def add_ranges(parser: ArgumentParser) -> None:
    """What the ranges range over."""
    parser.add_argument(
        "--bounds",
        choices=("exact", "rm"),
        help="how ranges of AP, nDCG and Q are made: exact (default), or Ravana and Moffat's approximation",
    )
    parser.add_argument(
        "--universe",
        metavar="run|all|N|inf",
        type=universe,
        help="unjudged documents outside the places read that may turn out relevant: the run's own (default), those "
        "of all given runs, a number of them, or any number",
    )
    add_pooled(parser)


def add_pooled(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--pooled",
        metavar="FILE",
        type=Path,
        help="names of the runs that contributed to the pool, one a line (default: all given runs)",
    )


def add_work(parser: ArgumentParser) -> None:
    parser.add_argument("--workers", metavar="N", type=at_least_one, default=2, help="runs worked on at a time (2)")
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        type=scheduler,
        help="work on a Dask cluster: its scheduler's tcp://host:port, or local:N for one of N processes here",
    )
    parser.add_argument(
        "--seed", metavar="N", type=at_least_zero, default=0, help="seed of all that is drawn at random (0)"
    )
    add_quiet(parser)


def add_quiet(parser: ArgumentParser) -> None:
    parser.add_argument("--quiet", action="store_true", help="no warnings and no progress, results only")


def add_output(parser: ArgumentParser, formats: tuple[str, ...]) -> None:
    parser.add_argument("--format", choices=formats, default="table", help="form of the output (table)")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to FILE instead of standard output")


def universe(text: str) -> str | float:
    if text in ("run", "all", "given"):
        return "all" if text == "given" else text
    try:
        return float(text)
    except ValueError:
        raise ArgumentTypeError(f"expected run, all, a number or inf, found {text!r}") from None


def scheduler(text: str) -> str:
    from fathoms.errors import FathomsError
    from fathoms.parallel import check_scheduler

    try:
        return check_scheduler(text)
    except FathomsError as error:
        raise ArgumentTypeError(str(error)) from None


def at_least_one(text: str) -> int:
    return _whole(text, least=1)


def at_least_zero(text: str) -> int:
    return _whole(text, least=0)


def _whole(text: str, least: int) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) < least:
        raise ArgumentTypeError(f"expected a whole number from {least} on, found {text!r}")
    return int(text)


def check_sources(args: Namespace) -> None:
    from fathoms.data.files import check_not_read
    from fathoms.data.runs import expand
    from fathoms.errors import FathomsError

    if args.qrels == "-" and "-" in args.runs:
        raise FathomsError("QRELS and RUN cannot both be standard input")
    output = getattr(args, "output", None)
    if output is not None and os.path.isfile(output):
        check_not_read(output, [*filter(None, [args.qrels]), *expand(args.runs)])


def run_files(args: Namespace) -> list[str]:
    """The runs as given; with their whole path where workers of a cluster, which are elsewhere, are to read them."""
    if getattr(args, "scheduler", None) is None:
        return list(args.runs)
    return [path if path == "-" else os.path.abspath(path) for path in args.runs]


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the arguments and flags that all scoring commands share come to."""

    qrels: Qrels
    runs: Runs
    measures: list[Measure]
    settings: Options
    notes: list[str]


def read_inputs(args: Namespace, default_measures: Sequence[str] = ()) -> Inputs:
    """Check what can be checked before the work, and read the judgments; runs are read when their turn comes."""
    from fathoms.cli.output import check_target
    from fathoms.data.qrels import read_qrels
    from fathoms.data.runs import scan_runs
    from fathoms.experiment.evaluate import Options, prepare_measures

    check_sources(args)
    check_target(args.format, args.output)
    measures = []
    if default_measures:
        measures = prepare_measures(args.measures or default_measures, bounds=args.bounds, universe=args.universe)
    qrels = read_qrels(args.qrels, lenient=args.lenient, junk=args.junk)
    runs = scan_runs(run_files(args), names=args.names, lenient=args.lenient)
    notes: list[str] = []
    settings = Options(
        ties=args.ties,
        precision=args.score_precision,
        topics=getattr(args, "topics", "all"),
        pooled=pooled_names(args, runs, notes),
        workers=getattr(args, "workers", 2),
        seed=getattr(args, "seed", 0),
        scheduler=getattr(args, "scheduler", None),
    )
    return Inputs(qrels, runs, measures, settings, notes)


def pooled_names(args: Namespace, runs: Collection[str], notes: list[str]) -> tuple[str, ...] | None:
    """Run names from the list of contributing runs, whether written as names or as files."""
    if args.pooled is None:
        return None
    from fathoms.data.file_names import stem
    from fathoms.data.files import read_bytes
    from fathoms.errors import InputError

    names = [line.strip() for line in read_bytes(args.pooled).decode(errors="surrogateescape").splitlines()]
    chosen = tuple(name if name in runs else stem(name) for name in names if name and not name.startswith("#"))
    if not chosen:
        raise InputError("names no run; expected the contributing runs, one a line", str(args.pooled))
    absent = [name for name in chosen if name not in runs]
    if absent:
        shown = ", ".join(absent[:5]) + (", ..." if len(absent) > 5 else "")
        notes.append(f"{args.pooled}: {len(absent)} of {len(chosen)} contributing runs are not given: {shown}")
    return chosen


def read_groups(path: Path, runs: Collection[str]) -> dict[str, str]:
    """The team of each run, whether runs are written as names or as files."""
    from fathoms.data.file_names import stem
    from fathoms.data.files import read_bytes
    from fathoms.errors import InputError

    groups: dict[str, str] = {}
    for number, line in enumerate(read_bytes(path).decode(errors="surrogateescape").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split("\t")]
        if len(parts) != 2 or not all(parts):
            raise InputError(f"expected `run<TAB>team`, found {line!r}", str(path), number)
        name = parts[0] if parts[0] in runs else stem(parts[0])
        if groups.setdefault(name, parts[1]) != parts[1]:
            raise InputError(f"run {name} has two teams, {groups[name]!r} and {parts[1]!r}", str(path), number)
    if not groups.keys() & set(runs):
        raise InputError(f"names none of the given runs, of which the first is {next(iter(runs), '')!r}", str(path))
    return groups
